//! The time histogram below the map: all and matching rows, a brush for the filter's time range,
//! playback.

use std::sync::Arc;
use std::time::Duration;

use egui::{
    Color32, CursorIcon, Frame, Margin, Pos2, Rect, Role, Sense, Stroke, Ui, UiBuilder, WidgetInfo,
    pos2, vec2,
};
use egui_plot::{Bar, BarChart, GridMark, PlotResponse, Span, VLine};

use super::state::{Brush, BrushDrag, MapPanel, RowTimes};
use crate::error::Result;
use crate::gui::filters::{self, FilterKey};
use crate::gui::icons;
use crate::gui::map::{TimeBars, axis_labels, count_by_day, day_text, parse_day};
use crate::gui::panel_context::PanelContext;
use crate::gui::theme::{self, font};
use crate::gui::value_id::ValueId;
use crate::gui::widgets::plot::{self, Axes};
use crate::gui::widgets::{self, Button, TextField, paint};
use crate::ops::times_of;
use crate::query::Filter;
use crate::studio::Document;

/// Height of the strip.
pub const HEIGHT: f32 = 128.0;
/// Seconds between two steps of playback.
const STEP_S: f64 = 0.8;
const GRIP_WIDTH: f32 = 6.0;

/// Draws the strip into `rect`. `columns` are the level's columns of times.
pub fn ui(
    ui: &mut Ui,
    panel: &mut MapPanel,
    cx: &mut PanelContext<'_>,
    document: &Document,
    columns: &[String],
    rect: Rect,
) {
    let t = theme::tokens(ui);
    ui.painter().rect_filled(rect, 0, t.bg1);
    ui.painter()
        .hline(rect.x_range(), rect.top() + 0.5, Stroke::new(1.0, t.line));
    let Some(open) = document.opened_dataset() else {
        return;
    };
    let key = cx.document_key();
    let chosen = panel
        .time_column
        .clone()
        .filter(|name| columns.contains(name));
    let (reader, level, asked) = (open.reader.clone(), panel.level, chosen.clone());
    let ordered = put_usual_first(columns);
    panel.times.update(
        cx.jobs,
        (key, level, chosen.clone()),
        tr!("Times"),
        move |ctx| match asked {
            Some(column) => Ok((
                column.clone(),
                Arc::new(times_of(reader.levels(), level, &column, ctx)?),
            )),
            None => read_first_with_times(&ordered, |column| {
                times_of(reader.levels(), level, column, ctx)
            }),
        },
    );
    let (column, times) = match panel.times.get(&(key, level, chosen.clone())) {
        Some(Ok((column, times))) => (column.clone(), Some(times.clone())),
        _ => (
            chosen
                .or_else(|| put_usual_first(columns).into_iter().next())
                .unwrap_or_default(),
            None,
        ),
    };
    if let Some(times) = times {
        let kept = cx.studio.filtered_rows().cloned();
        let kept_id = kept.as_ref().map(ValueId::from_arc);
        panel.bars.update(
            cx.jobs,
            (key, level, column.clone(), kept_id),
            tr!("Bars"),
            move |ctx| Ok(count_by_day(level, &times, kept.as_deref(), ctx)?.map(Arc::new)),
        );
    }
    let bars = panel.bars.latest().cloned().flatten();
    let (head, body) = rect.split_top_bottom_at_y(rect.top() + 34.0);
    ui.scope_builder(UiBuilder::new().max_rect(head), |ui| {
        head_ui(ui, panel, cx, columns, &column, bars.as_deref())
    });
    match bars {
        Some(bars) => bars_ui(ui, panel, cx, &bars, &column, body.shrink2(vec2(12.0, 4.0))),
        None => {
            let text = if panel.bars.is_pending() || panel.times.is_pending() {
                tr!("Reading times…")
            } else {
                tr!("No sample has a time")
            };
            paint::text_center(ui.painter(), body, text, font::regular(12.0), t.tx3);
        }
    }
}

/// The columns with the names that specifications define first.
fn put_usual_first(columns: &[String]) -> Vec<String> {
    let usual = filters::DEFAULT_TIME_COLUMNS
        .iter()
        .filter_map(|name| columns.iter().find(|column| column == name));
    let others = columns
        .iter()
        .filter(|column| !filters::DEFAULT_TIME_COLUMNS.contains(&column.as_str()));
    usual.chain(others).cloned().collect()
}

/// The first column that has a time, with the times of its rows; the first column when none has.
fn read_first_with_times(
    columns: &[String],
    read: impl Fn(&str) -> Result<Vec<Option<i64>>>,
) -> Result<(String, RowTimes)> {
    let mut first = None;
    for column in columns {
        let times = read(column)?;
        if times.iter().any(Option::is_some) {
            return Ok((column.clone(), Arc::new(times)));
        }
        first.get_or_insert_with(|| (column.clone(), Arc::new(times)));
    }
    Ok(first.unwrap_or_default())
}

/// The first and last day of the filter; an open end is that of the bars.
fn filtered_days(cx: &PanelContext<'_>, bars: Option<&TimeBars>) -> Option<(i64, i64)> {
    let text = cx
        .studio
        .filters()
        .iter()
        .find_map(|filter| filter.datetime.clone())?;
    let (from, to) = text.split_once('/').unwrap_or((&text, &text));
    let first = parse_day(from).or(bars.map(|bars| bars.first))?;
    let last = parse_day(to).or(bars.map(|bars| bars.end() - 1))?;
    Some((first, last))
}

fn set_filtered_days(
    panel: &mut MapPanel,
    cx: &mut PanelContext<'_>,
    column: &str,
    (from, to): (i64, i64),
) {
    let text = format!("{}/{}", day_text(from.min(to)), day_text(from.max(to)));
    let level = panel.level;
    let filter = Filter {
        time_column: Some(column.to_owned()),
        ..Filter::datetime(text)
    };
    filters::set(cx, FilterKey::Time, Some(filter.at_level(level)));
}

fn head_ui(
    ui: &mut Ui,
    panel: &mut MapPanel,
    cx: &mut PanelContext<'_>,
    columns: &[String],
    column: &str,
    bars: Option<&TimeBars>,
) {
    let t = theme::tokens(ui);
    Frame::NONE
        .inner_margin(Margin::symmetric(10, 4))
        .show(ui, |ui| {
            ui.horizontal(|ui| {
                ui.spacing_mut().item_spacing.x = 6.0;
                let now = panel
                    .brush
                    .map(|brush| (brush.from, brush.to))
                    .or_else(|| filtered_days(cx, bars));
                ui.label(
                    theme::rich_text(icons::CLOCK)
                        .font(font::icon(15.0))
                        .color(t.tx3),
                );
                if let Some(index) =
                    widgets::combo(ui, tr!("Column of times"), column, 150.0, true, columns)
                {
                    panel.time_column = Some(columns[index].clone());
                }
                if ui.available_width() > 330.0 {
                    day_fields_ui(ui, panel, cx, column, bars, now);
                }
                let playing = panel.next_step_s.is_some();
                let (icon, name) = if playing {
                    (icons::PAUSE, tr!("Pause"))
                } else {
                    (icons::PLAY, tr!("Play the range through time"))
                };
                let blocked = now
                    .is_none()
                    .then_some(tr!("Drag over the bars to choose a range first"));
                if ui
                    .add(Button::icon_only(icon, name).with_disabled_reason(blocked))
                    .clicked()
                {
                    panel.next_step_s = (!playing).then(|| ui.input(|input| input.time) + STEP_S);
                }
                ui.with_layout(egui::Layout::right_to_left(egui::Align::Center), |ui| {
                    if now.is_some() && widgets::link(ui, tr!("Clear range")).clicked() {
                        panel.next_step_s = None;
                        filters::set(cx, FilterKey::Time, None);
                    }
                    if let Some((from, to)) = now {
                        let days = (to - from).unsigned_abs() + 1;
                        let text = tr_n!(
                            days,
                            "{n} day",
                            "{n} days",
                            n = paint::format_grouped_number(days)
                        );
                        ui.label(
                            theme::rich_text(text)
                                .font(font::regular(12.0))
                                .color(t.tx2),
                        );
                    }
                });
            });
        });
}

fn day_fields_ui(
    ui: &mut Ui,
    panel: &mut MapPanel,
    cx: &mut PanelContext<'_>,
    column: &str,
    bars: Option<&TimeBars>,
    now: Option<(i64, i64)>,
) {
    let names = [tr!("First day"), tr!("Last day")];
    let mut entered = None;
    for (side, name) in names.into_iter().enumerate() {
        let id = egui::Id::unique(("map-day", side));
        let focused = ui.memory(|memory| memory.has_focus(id));
        if !focused {
            panel.typed[side] = now.map_or(String::new(), |now| {
                day_text(if side == 0 { now.0 } else { now.1 })
            });
        }
        // Actual first and last time of the data.
        let hint = bars.map_or("2023-05-01".to_owned(), |bars| {
            day_text(if side == 0 {
                bars.first
            } else {
                bars.end() - 1
            })
        });
        let field = TextField::new(name, &mut panel.typed[side])
            .id(id)
            .hide_label()
            .mono()
            .width(96.0)
            .hint(&hint);
        let response = field.show(ui);
        if response.lost_focus()
            && let Some(day) = parse_day(&panel.typed[side])
        {
            entered = Some((side, day));
        }
    }
    if let Some((side, day)) = entered {
        let open = bars.map_or((day, day), |bars| (bars.first, bars.end() - 1));
        let mut range = now.unwrap_or(open);
        if side == 0 {
            range.0 = day
        } else {
            range.1 = day
        }
        set_filtered_days(panel, cx, column, range);
    }
}

/// Bars of counts over days with the range of the filter as a brush: a drag on an end moves it,
/// inside moves the range, elsewhere draws a new one. With the focus on the plot the arrow keys
/// move the range by a bar, with Shift its last day.
fn bars_ui(
    ui: &mut Ui,
    panel: &mut MapPanel,
    cx: &mut PanelContext<'_>,
    bars: &TimeBars,
    column: &str,
    rect: Rect,
) {
    let t = theme::tokens(ui);
    let (first, end) = (bars.first, bars.end());
    let now = filtered_days(cx, Some(bars));
    let brush = panel.brush.map(|brush| (brush.from, brush.to)).or(now);
    let most = bars.all.iter().copied().max().unwrap_or(1).max(1) as f64;
    // A count that is not 0 has a bar of 1.5 points at least.
    let least = most * 1.5 / f64::from(rect.height().max(32.0) - 16.0);
    // Gap between two bars: 1 point where they are wider than 2.
    let day_points = rect.width() / (end - first).max(1) as f32;
    let gap = if day_points * bars.step as f32 > 2.0 {
        f64::from(1.0 / day_points)
    } else {
        0.0
    };
    let words = axis_labels(first, end, (rect.width() / 72.0) as usize);
    let apart = words
        .windows(2)
        .map(|pair| pair[1].0 - pair[0].0)
        .min()
        .unwrap_or(end - first);
    let axes = Axes {
        x_bounds: first as f64..=end as f64,
        x_ticks: words
            .iter()
            .map(|(day, _)| GridMark {
                value: *day as f64,
                step_size: apart as f64,
            })
            .collect(),
        x_text: Box::new(|day| {
            words
                .iter()
                .find(|(at, _)| *at as f64 == day)
                .map_or(String::new(), |(_, word)| word.clone())
        }),
        x_title: "",
        y_bounds: 0.0..=most * 1.05,
        y_ticks: plot::decimal_ticks(0.0, most, 3)
            .into_iter()
            .filter(|mark| mark.value.fract() == 0.0)
            .collect(),
        y_text: Box::new(plot::short_count),
        y_width: 34.0,
    };
    let drawn = plot::show(
        ui,
        "time-bars",
        rect,
        Sense::click_and_drag(),
        axes,
        |day| describe_bar_at(bars, day),
        |plot| {
            if let Some((from, to)) = brush {
                plot.span(
                    Span::new("", from as f64..=(to + 1) as f64)
                        .fill(t.accbg)
                        .border_width(0.0),
                );
            }
            plot.bar_chart(make_bar_chart(bars, "all", &bars.all, t.bg4, [gap, least]));
            plot.bar_chart(make_bar_chart(
                bars,
                "matching",
                &bars.matching,
                t.accfill,
                [gap, least],
            ));
            for day in brush.into_iter().flat_map(|(from, to)| [from, to + 1]) {
                plot.vline(
                    VLine::new("", day as f64)
                        .stroke(Stroke::new(1.5, t.accfill))
                        .allow_hover(false),
                );
            }
        },
    );
    drawn
        .response
        .widget_info(|| WidgetInfo::labeled(Role::Slider, true, tr!("Range of time")));
    paint::focus_ring(ui, &drawn.response, 2);
    brush_ui(ui, panel, cx, bars, column, now, &drawn);
    play_range(ui, panel, cx, bars, column, now);
}

/// The days of the bar under `day` and its numbers of rows.
fn describe_bar_at(bars: &TimeBars, day: f64) -> Option<String> {
    let index = usize::try_from((day.floor() as i64 - bars.first).div_euclid(bars.step)).ok()?;
    let (all, matching) = bars.all.get(index).zip(bars.matching.get(index))?;
    let from = bars.first + index as i64 * bars.step;
    let days = if bars.step > 1 {
        format!("{} – {}", day_text(from), day_text(from + bars.step - 1))
    } else {
        day_text(from)
    };
    Some(tr!(
        "{days}: {matching} of {all} match",
        days,
        matching = paint::format_grouped_number(*matching),
        all = paint::format_grouped_number(*all)
    ))
}

/// `gap` is in days, `least` the height of a count that is not 0.
fn make_bar_chart(
    bars: &TimeBars,
    name: &str,
    counts: &[u64],
    color: Color32,
    [gap, least]: [f64; 2],
) -> BarChart {
    let (first, step) = (bars.first as f64, bars.step as f64);
    let mut drawn = Vec::with_capacity(counts.len());
    for (index, &count) in counts.iter().enumerate() {
        let middle = first + (index as f64 + 0.5) * step - gap / 2.0;
        let height = if count == 0 {
            0.0
        } else {
            (count as f64).max(least)
        };
        let bar = Bar::new(middle, height).width(step - gap);
        drawn.push(bar.fill(color).stroke(Stroke::NONE));
    }
    BarChart::new(name, drawn).color(color).allow_hover(false)
}

/// Moves the brush over the bars with pointer and keys, and draws its grips.
fn brush_ui(
    ui: &Ui,
    panel: &mut MapPanel,
    cx: &mut PanelContext<'_>,
    bars: &TimeBars,
    column: &str,
    now: Option<(i64, i64)>,
    drawn: &PlotResponse<()>,
) {
    let t = theme::tokens(ui);
    let (response, transform) = (&drawn.response, &drawn.transform);
    let last = bars.end() - 1;
    let screen_x = |day: i64| transform.position_from_point_x(day as f64);
    let day_at =
        |at: Pos2| (transform.value_from_position(at).x.floor() as i64).clamp(bars.first, last);
    if response.drag_started()
        && let Some(start) = ui.input(|input| input.pointer.press_origin())
    {
        let day = day_at(start);
        let drag = match now {
            Some((from, _)) if (screen_x(from) - start.x).abs() < GRIP_WIDTH => BrushDrag::From,
            Some((_, to)) if (screen_x(to + 1) - start.x).abs() < GRIP_WIDTH => BrushDrag::To,
            Some((from, to)) if (from..=to).contains(&day) => BrushDrag::Whole(day),
            _ => BrushDrag::New(day),
        };
        let (from, to) = now.unwrap_or((day, day));
        panel.brush = Some(Brush { from, to, drag });
        panel.next_step_s = None;
    }
    if let Some(brush) = &mut panel.brush
        && let Some(pointer) = response.interact_pointer_pos()
    {
        let day = day_at(pointer);
        let (from, to) = now.unwrap_or((day, day));
        (brush.from, brush.to) = match brush.drag {
            BrushDrag::New(start) => (start.min(day), start.max(day)),
            BrushDrag::From => (day.min(to), to),
            BrushDrag::To => (from, day.max(from)),
            BrushDrag::Whole(start) => (from + day - start, to + day - start),
        };
    }
    if response.drag_stopped()
        && let Some(brush) = panel.brush.take()
    {
        set_filtered_days(panel, cx, column, (brush.from, brush.to));
    }
    let (whole, end) = plot::arrow_steps(ui, response);
    if (whole, end) != (0, 0) {
        let (from, to) = now.unwrap_or((bars.first, last));
        let by =
            (i64::from(whole) * bars.step).clamp((bars.first - from).min(0), (last - to).max(0));
        set_filtered_days(
            panel,
            cx,
            column,
            (
                from + by,
                (to + by + i64::from(end) * bars.step).clamp(from + by, last.max(from + by)),
            ),
        );
    }
    let shown = panel.brush.map(|brush| (brush.from, brush.to)).or(now);
    let ends = shown.map(|(from, to)| [screen_x(from), screen_x(to + 1)]);
    let painter = ui.painter_at(transform.frame().expand2(vec2(GRIP_WIDTH, 0.0)));
    for x in ends.iter().flatten() {
        let grip = Rect::from_center_size(pos2(*x, transform.frame().center().y), vec2(7.0, 18.0));
        painter.rect(
            grip,
            2,
            t.bg1,
            Stroke::new(1.5, t.accfill),
            egui::StrokeKind::Inside,
        );
    }
    if let Some(pointer) = response.hover_pos() {
        let near = ends
            .iter()
            .flatten()
            .any(|x| (x - pointer.x).abs() < GRIP_WIDTH);
        ui.ctx().set_cursor_icon(if near {
            CursorIcon::ResizeHorizontal
        } else {
            CursorIcon::Default
        });
    }
}

/// Moves the range on by its own length; past the end it begins anew.
fn play_range(
    ui: &Ui,
    panel: &mut MapPanel,
    cx: &mut PanelContext<'_>,
    bars: &TimeBars,
    column: &str,
    now: Option<(i64, i64)>,
) {
    let Some((next, (from, to))) = panel.next_step_s.zip(now) else {
        panel.next_step_s = None;
        return;
    };
    let time = ui.input(|input| input.time);
    // A filter that takes longer than a step is waited for.
    if time >= next && !cx.studio.is_filtering() {
        let length = to - from + 1;
        let from = if from + length >= bars.end() {
            bars.first
        } else {
            from + length
        };
        set_filtered_days(panel, cx, column, (from, from + length - 1));
        panel.next_step_s = Some(time + STEP_S);
    }
    ui.ctx().request_repaint_after(Duration::from_millis(100));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_column_without_values_gives_way_to_one_that_has_some() {
        let names = [
            "acquired".to_owned(),
            "stac:time_start".to_owned(),
            "empty".to_owned(),
        ];
        let read = |column: &str| Ok(vec![None, (column == "acquired").then_some(5)]);
        assert_eq!(put_usual_first(&names)[0], "stac:time_start");
        let (column, times) = read_first_with_times(&put_usual_first(&names), read).expect("reads");
        assert_eq!((column.as_str(), times[1]), ("acquired", Some(5)));
        let (column, times) =
            read_first_with_times(&names[1..], |_| Ok(vec![None])).expect("reads");
        assert_eq!((column.as_str(), times.len()), ("stac:time_start", 1));
    }
}
