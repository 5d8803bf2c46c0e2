//! A chart of a query's rows: bars, a line or points of two columns. The values are read in a job;
//! the interface thread draws at most [`POINTS_MOST`] of them.

use std::collections::HashMap;
use std::sync::Arc;

use arrow::array::{Array, Float64Array};
use egui::{Color32, Frame, Margin, Rect, Role, Sense, Stroke, Ui, WidgetInfo};
use egui_plot::{Bar, BarChart, GridMark, Line, PlotPoints, Points};

use super::chart_state::{ChartData, ChartKind, ChartState};
use super::state::QueryPanel;
use crate::error::Result;
use crate::gui::panel_context::PanelContext;
use crate::gui::theme;
use crate::gui::widgets::plot::{self, Axes};
use crate::gui::widgets::{self, Segment, TableColumn, paint};
use crate::jobs::JobContext;
use crate::ops::{as_numbers, bar_text};
use crate::query::QueryResult;

/// Most bars of a chart.
const BARS_MOST: usize = 60;
/// Most points of a line or a cloud; more are thinned evenly.
const POINTS_MOST: usize = 20_000;
/// Rows between two checks of cancellation.
const STRIDE: usize = 16_384;

/// Draws the choice between the table and the charts. A result without rows has no chart.
pub fn shape_ui(ui: &mut Ui, panel: &mut QueryPanel) {
    let segments = [
        Segment::new(
            ChartKind::Rows,
            tr!("Rows" in "of a query, shown as a table"),
        ),
        Segment::new(ChartKind::Bars, tr!("Bars" in "chart")),
        Segment::new(ChartKind::Line, tr!("Line" in "chart")),
        Segment::new(ChartKind::Points, tr!("Points" in "chart")),
    ];
    let shape = &mut panel.chart.shape;
    if ui.available_width() > widgets::segmented_width(ui, &segments) + 8.0 {
        widgets::draw_segments(ui, "query-shape", shape, &segments);
        return;
    }
    let names = segments.each_ref().map(|segment| segment.text);
    let current = segments
        .iter()
        .find(|segment| segment.value == *shape)
        .map_or("", |segment| segment.text);
    if let Some(index) = widgets::combo(ui, tr!("Rows or a chart"), current, 84.0, false, &names) {
        *shape = segments
            .get(index)
            .map_or(ChartKind::Rows, |segment| segment.value);
    }
}

fn is_number(column: &TableColumn) -> bool {
    let kind = column.type_name.as_str();
    column.right || kind.starts_with("timestamp") || kind.starts_with("date")
}

/// The columns of the chart: those that were chosen if the result has them, else the first text or
/// time and the first number beside it.
fn columns_of(state: &ChartState, columns: &[TableColumn]) -> (usize, Option<usize>) {
    let text = || columns.iter().position(|column| !column.right);
    let x = find_column(columns, state.x.as_deref())
        .or_else(text)
        .unwrap_or(0);
    let y = match &state.y {
        // An empty name is the number of rows.
        Some(name) if name.is_empty() && state.shape == ChartKind::Bars => None,
        _ => find_column(columns, state.y.as_deref())
            .filter(|&index| is_number(&columns[index]))
            .or_else(|| find_number_column(columns, x)),
    };
    (x, y)
}

fn find_column(columns: &[TableColumn], name: Option<&str>) -> Option<usize> {
    name.and_then(|name| columns.iter().position(|column| column.name == *name))
}

/// The first column of numbers other than `x`.
fn find_number_column(columns: &[TableColumn], x: usize) -> Option<usize> {
    columns
        .iter()
        .enumerate()
        .position(|(index, column)| index != x && column.right)
}

/// Draws the chart and the choice of its columns.
pub fn ui(
    ui: &mut Ui,
    panel: &mut QueryPanel,
    cx: &mut PanelContext<'_>,
    result: &Arc<QueryResult>,
) {
    let columns = panel.rows.columns.clone();
    if columns.is_empty() {
        return;
    }
    let shape = panel.chart.shape;
    let (x, y) = columns_of(&panel.chart, &columns);
    let serial = panel.rows.serial;
    let rows = result.clone();
    let chart = &mut panel.chart;
    if y.is_some() || shape == ChartKind::Bars {
        chart
            .data
            .update(cx.jobs, (serial, shape, x, y), tr!("Chart"), move |ctx| {
                values(&rows, shape, x, y, ctx).map(Arc::new)
            });
    }
    let data = chart.data.get(&(serial, shape, x, y)).map(|data| {
        data.as_ref()
            .map(Arc::clone)
            .map_err(|error| error.summary().to_owned())
    });
    choice_ui(
        ui,
        panel,
        &columns,
        x,
        y,
        data.as_ref().and_then(|data| data.as_ref().ok()),
    );
    let rect = ui
        .available_rect_before_wrap()
        .shrink2(egui::vec2(10.0, 4.0));
    match data {
        _ if y.is_none() && shape != ChartKind::Bars => widgets::remark(
            ui,
            12,
            tr!("A line and points need a column of numbers beside the first."),
        ),
        Some(Ok(data)) if data.points.is_empty() => {
            widgets::remark(ui, 12, tr!("No row has both values."))
        }
        Some(Ok(data)) => plot_ui(ui, shape, &columns[x], y.map(|y| &columns[y]), &data, rect),
        Some(Err(why)) => widgets::remark(ui, 12, &why),
        None => drop(widgets::spinner(ui, 20.0)),
    }
}

fn choice_ui(
    ui: &mut Ui,
    panel: &mut QueryPanel,
    columns: &[TableColumn],
    x: usize,
    y: Option<usize>,
    data: Option<&Arc<ChartData>>,
) {
    let t = theme::tokens(ui);
    let chart = &mut panel.chart;
    Frame::NONE
        .inner_margin(Margin::symmetric(10, 4))
        .show(ui, |ui| {
            ui.horizontal(|ui| {
                ui.spacing_mut().item_spacing.x = 8.0;
                ui.label(theme::style_small_text(tr!("x axis"), t.tx2));
                let names: Vec<&str> = columns.iter().map(|column| column.name.as_str()).collect();
                if let Some(index) = widgets::combo(
                    ui,
                    tr!("Column of the x axis"),
                    names[x],
                    150.0,
                    true,
                    &names,
                ) {
                    chart.x = Some(names[index].to_owned());
                }
                ui.label(theme::style_small_text(tr!("y axis"), t.tx2));
                let count = tr!("number of rows");
                let numbers: Vec<&str> = columns
                    .iter()
                    .filter(|column| is_number(column))
                    .map(|column| column.name.as_str())
                    .collect();
                let offered: Vec<&str> = (chart.shape == ChartKind::Bars)
                    .then_some(count)
                    .into_iter()
                    .chain(numbers)
                    .collect();
                let current = y.map_or(count, |y| columns[y].name.as_str());
                if let Some(index) = widgets::combo(
                    ui,
                    tr!("Column of the y axis"),
                    current,
                    150.0,
                    true,
                    &offered,
                ) {
                    let counts = chart.shape == ChartKind::Bars && index == 0;
                    chart.y = Some(if counts {
                        String::new()
                    } else {
                        offered[index].to_owned()
                    });
                }
                let mut said = Vec::new();
                if let Some(data) = data {
                    if data.points.len() < data.all {
                        let (n, all) = (
                            paint::format_grouped_number(data.points.len() as u64),
                            paint::format_grouped_number(data.all as u64),
                        );
                        said.push(match chart.shape {
                            ChartKind::Bars => tr!("first {n} of {all}", n, all),
                            _ => tr!(
                                "one in {step} of {all}",
                                step = data.all.div_ceil(data.points.len().max(1)),
                                all
                            ),
                        });
                    }
                    if data.without > 0 {
                        let n = paint::format_grouped_number(data.without as u64);
                        said.push(tr_n!(
                            data.without,
                            "{n} row without a value",
                            "{n} rows without a value",
                            n
                        ));
                    }
                    if data.numbered {
                        said.push(tr!("x is the number of the row").to_owned());
                    }
                }
                ui.add(
                    egui::Label::new(theme::style_small_text(said.join(", "), t.tx2)).truncate(),
                );
            });
        });
}

/// Reads the values of a chart.
fn values(
    result: &QueryResult,
    shape: ChartKind,
    x: usize,
    y: Option<usize>,
    ctx: &JobContext,
) -> Result<ChartData> {
    let rows = result.row_count;
    let column =
        |index: usize| -> Result<Option<Float64Array>> { as_numbers(&result.table.column(index)?) };
    let heights = match y {
        Some(y) => column(y)?,
        None => None,
    };
    let mut data = ChartData::default();
    if shape == ChartKind::Bars {
        match heights {
            Some(heights) => {
                for row in 0..rows {
                    let Some(height) = read_finite_number(&heights, row) else {
                        data.without += 1;
                        continue;
                    };
                    data.all += 1;
                    if data.points.len() < BARS_MOST {
                        data.labels.push(result.table.text(row, x));
                        data.points.push([data.points.len() as f64, height]);
                    }
                }
            }
            None => {
                let mut counts: HashMap<String, (usize, u64)> = HashMap::new();
                for row in 0..rows {
                    if row % STRIDE == 0 {
                        ctx.check()?;
                    }
                    counts
                        .entry(result.table.text(row, x))
                        .or_insert((row, 0))
                        .1 += 1;
                }
                data.all = counts.len();
                let mut list: Vec<(String, (usize, u64))> = counts.into_iter().collect();
                // The most frequent first; equal counts in the order of the rows.
                list.sort_by(|(_, a), (_, b)| b.1.cmp(&a.1).then(a.0.cmp(&b.0)));
                for (place, (label, (_, count))) in list.into_iter().take(BARS_MOST).enumerate() {
                    data.labels.push(label);
                    data.points.push([place as f64, count as f64]);
                }
            }
        }
        return Ok(data);
    }
    let Some(heights) = heights else {
        return Ok(data);
    };
    let places = column(x)?;
    data.numbered = places.is_none();
    let mut points: Vec<[f64; 2]> = Vec::new();
    for row in 0..rows {
        if row % STRIDE == 0 {
            ctx.check()?;
        }
        let place = places.as_ref().map_or(Some(row as f64 + 1.0), |places| {
            read_finite_number(places, row)
        });
        match place.zip(read_finite_number(&heights, row)) {
            Some((place, height)) => points.push([place, height]),
            None => data.without += 1,
        }
    }
    if shape == ChartKind::Line {
        points.sort_by(|a, b| a[0].total_cmp(&b[0]));
    }
    data.all = points.len();
    let step = points.len().div_ceil(POINTS_MOST).max(1);
    data.points = points.into_iter().step_by(step).collect();
    Ok(data)
}

fn read_finite_number(numbers: &Float64Array, row: usize) -> Option<f64> {
    numbers
        .is_valid(row)
        .then(|| numbers.value(row))
        .filter(|value| value.is_finite())
}

/// Smallest and largest of these values, with a margin of 1/20 on each side, and room around a
/// single value.
fn bounds(values: impl Iterator<Item = f64>) -> [f64; 2] {
    let (low, high) = values.fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), value| {
        (low.min(value), high.max(value))
    });
    let span = high - low;
    let margin = if span > 0.0 && span.is_finite() {
        span / 20.0
    } else {
        (low.abs() / 20.0).max(0.5)
    };
    [low - margin, high + margin]
}

/// Marks of an axis: round numbers, or dates at equal distances.
fn ticks_of(low: f64, high: f64, kind: &str, most: usize) -> Vec<GridMark> {
    if !(kind.starts_with("timestamp") || kind.starts_with("date")) {
        return plot::decimal_ticks(low, high, most);
    }
    let step_size = (high - low) / (most as f64 + 1.0);
    (1..=most)
        .map(|n| GridMark {
            value: low + n as f64 * step_size,
            step_size,
        })
        .collect()
}

fn plot_ui(
    ui: &mut Ui,
    shape: ChartKind,
    x: &TableColumn,
    y: Option<&TableColumn>,
    data: &Arc<ChartData>,
    rect: Rect,
) {
    let t = theme::tokens(ui);
    let y_kind = y.map_or(String::new(), |y| y.type_name.clone());
    let x_kind = if data.numbered {
        String::new()
    } else {
        x.type_name.clone()
    };
    let is_bars = shape == ChartKind::Bars;
    let [low, high] = bounds(data.points.iter().map(|[_, y]| *y));
    // Bars begin at 0.
    let [low, high] = match is_bars {
        true if low >= 0.0 || data.points.iter().all(|[_, y]| *y >= 0.0) => [0.0, high.max(1e-300)],
        true => [low, high.max(0.0)],
        false => [low, high],
    };
    let [left, right] = if is_bars {
        [-0.6, data.points.len() as f64 - 0.4]
    } else {
        bounds(data.points.iter().map(|[x, _]| *x))
    };
    let room = (rect.width() / 96.0).max(2.0) as usize;
    let x_ticks = if is_bars {
        let step = data.points.len().div_ceil(room).max(1);
        (0..data.points.len())
            .step_by(step)
            .map(|at| GridMark {
                value: at as f64,
                step_size: step as f64,
            })
            .collect()
    } else {
        ticks_of(left, right, &x_kind, room.min(8))
    };
    let (for_ticks, for_hover, points) = (data.clone(), data.clone(), data.points.clone());
    let (tick_kind, hover_kinds) = (x_kind.clone(), (x_kind, y_kind.clone()));
    let axes = Axes {
        x_bounds: left..=right,
        x_ticks,
        x_text: Box::new(move |at| {
            if is_bars {
                cut_label(&find_label(&for_ticks, at))
            } else {
                bar_text(at, &tick_kind)
            }
        }),
        x_title: if data.numbered { "" } else { &x.name },
        y_bounds: low..=high,
        y_ticks: ticks_of(
            low,
            high,
            &y_kind,
            ((rect.height() / 40.0) as usize).clamp(2, 8),
        ),
        y_text: Box::new(move |value| bar_text(value, &y_kind)),
        y_width: 64.0,
    };
    let drawn = plot::show(
        ui,
        "query-chart",
        rect,
        Sense::hover(),
        axes,
        move |at| {
            let kinds = [hover_kinds.0.as_str(), hover_kinds.1.as_str()];
            describe_chart_at(&for_hover, shape, kinds, at)
        },
        |plot| match shape {
            ChartKind::Bars => {
                plot.bar_chart(
                    BarChart::new(
                        "values",
                        points
                            .iter()
                            .map(|point| make_bar(*point, t.accfill))
                            .collect(),
                    )
                    .color(t.accfill)
                    .allow_hover(false),
                );
            }
            ChartKind::Line => {
                let line = Line::new("values", PlotPoints::from(points))
                    .stroke(Stroke::new(1.5, t.accfill));
                plot.line(line.allow_hover(false));
            }
            ChartKind::Points | ChartKind::Rows => {
                let cloud = Points::new("values", PlotPoints::from(points))
                    .radius(2.0)
                    .color(t.accfill);
                plot.points(cloud.allow_hover(false));
            }
        },
    );
    drawn.response.widget_info(|| {
        let n = paint::format_grouped_number(data.points.len() as u64);
        let y = y.map_or(tr!("number of rows"), |y| y.name.as_str());
        let said = tr_n!(
            data.points.len(),
            "Chart of {y} by {x}: {n} value",
            "Chart of {y} by {x}: {n} values",
            y,
            x = &x.name,
            n
        );
        WidgetInfo::labeled(Role::Image, true, said)
    });
    ui.advance_cursor_after_rect(rect);
}

fn find_label(data: &ChartData, at: f64) -> String {
    data.labels
        .get(at.round().max(0.0) as usize)
        .cloned()
        .unwrap_or_default()
}

/// The text for the pointer at `at` on the x axis; `kinds` are the types of x and y.
fn describe_chart_at(
    data: &ChartData,
    shape: ChartKind,
    kinds: [&str; 2],
    at: f64,
) -> Option<String> {
    if shape == ChartKind::Bars {
        let point = data
            .points
            .get((at.round() >= 0.0).then_some(at.round() as usize)?)?;
        return Some(format!(
            "{}: {}",
            find_label(data, at),
            bar_text(point[1], kinds[1])
        ));
    }
    // The nearest point of a cloud depends on y too, so that it has no tooltip.
    let nearest = data.points.iter().filter(|_| shape == ChartKind::Line);
    let [x, y] = nearest.min_by(|a, b| (a[0] - at).abs().total_cmp(&(b[0] - at).abs()))?;
    Some(format!(
        "{}: {}",
        bar_text(*x, kinds[0]),
        bar_text(*y, kinds[1])
    ))
}

fn make_bar([at, height]: [f64; 2], color: Color32) -> Bar {
    Bar::new(at, height)
        .width(0.8)
        .fill(color)
        .stroke(Stroke::NONE)
}

/// A label of at most 14 characters.
fn cut_label(text: &str) -> String {
    if text.chars().count() > 14 {
        text.chars().take(13).chain(['…']).collect()
    } else {
        text.to_owned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use arrow::array::{ArrayRef, Float64Array, RecordBatch, StringArray};

    use crate::table::LevelTable;

    fn result() -> QueryResult {
        let names: ArrayRef = Arc::new(StringArray::from(vec!["po", "ebro", "po", "danube"]));
        let clouds: ArrayRef = Arc::new(Float64Array::from(vec![
            Some(3.0),
            None,
            Some(1.0),
            Some(f64::NAN),
        ]));
        let depth: ArrayRef = Arc::new(Float64Array::from(vec![9.0, 8.0, 7.0, 6.0]));
        let batch = RecordBatch::try_from_iter_with_nullable([
            ("river", names, true),
            ("clouds", clouds, true),
            ("depth", depth, true),
        ]);
        let batch = batch.expect("is a batch");
        let table = LevelTable::new(batch.schema(), vec![batch]);
        QueryResult {
            row_count: table.rows(),
            table: Arc::new(table),
            truncated: false,
        }
    }

    fn of(shape: ChartKind, x: usize, y: Option<usize>) -> ChartData {
        values(&result(), shape, x, y, &JobContext::default()).expect("reads")
    }

    #[test]
    fn bars_are_rows_with_a_value_or_counts_of_distinct_values() {
        let rows = of(ChartKind::Bars, 0, Some(1));
        assert_eq!(
            (rows.points, rows.labels, rows.without),
            (
                vec![[0.0, 3.0], [1.0, 1.0]],
                vec!["po".into(), "po".into()],
                2
            )
        );
        let counts = of(ChartKind::Bars, 0, None);
        assert_eq!(counts.labels, ["po", "ebro", "danube"]);
        assert_eq!(counts.points, [[0.0, 2.0], [1.0, 1.0], [2.0, 1.0]]);
    }

    #[test]
    fn a_line_ascends_in_x_and_points_keep_the_order_of_the_rows() {
        assert_eq!(
            of(ChartKind::Line, 2, Some(1)).points,
            [[7.0, 1.0], [9.0, 3.0]]
        );
        assert_eq!(
            of(ChartKind::Points, 2, Some(1)).points,
            [[9.0, 3.0], [7.0, 1.0]]
        );
        let numbered = of(ChartKind::Line, 0, Some(2));
        assert!(numbered.numbered);
        assert_eq!(
            numbered.points[3],
            [4.0, 6.0],
            "a text has no place on an axis: the rows are counted"
        );
    }

    #[test]
    fn bounds_hold_all_values_and_one_value_has_room() {
        assert_eq!(bounds([0.0, 20.0].into_iter()), [-1.0, 21.0]);
        let [low, high] = bounds([5.0].into_iter());
        assert!(low < 5.0 && high > 5.0);
    }
}
