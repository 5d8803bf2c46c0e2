//! The histogram of the preview, with handles on the limits of the stretch.

use egui::{CursorIcon, Sense, Shape, Stroke, Ui, pos2, vec2};
use egui_plot::{Line, PlotPoints, PlotTransform, Span, VLine};

use super::names::{mark_text, name_band_at, number_apart, numbers_apart};
use super::scaling::Scaling;
use super::state::PreviewPanel;
use crate::gui::theme::{self, ThemeTokens, font, text_style};
use crate::gui::widgets::paint;
use crate::gui::widgets::plot::{self, Axes};
use crate::raster::{Histogram, PixelNumber, PreviewImage, Stretch, StretchLimits};

/// Height of a line of text, in points.
const LINE: f32 = 16.0;

fn band_colors(t: &ThemeTokens, bands: usize) -> Vec<egui::Color32> {
    if bands == 3 {
        vec![t.err, t.ok, t.info]
    } else {
        vec![t.tx2; bands]
    }
}

/// The lowest and the highest of several limits.
pub fn outermost(limits: &[StretchLimits]) -> Option<StretchLimits> {
    let low = limits.iter().map(|limits| limits.low).reduce(f64::min)?;
    Some(StretchLimits {
        low,
        high: limits.iter().map(|limits| limits.high).reduce(f64::max)?,
    })
}

/// Texts of the lowest and the highest of the ranges of the bands: stored values in full, or
/// physical ones.
fn ends_text(
    image: &PreviewImage,
    ranges: impl Iterator<Item = Option<[f64; 2]>>,
    scaling: Scaling,
) -> [String; 2] {
    let number = |position: usize, value: f64| image.prepared.number(position, value);
    let ends = ranges
        .enumerate()
        .filter_map(|(position, range)| Some(range?.map(|value| number(position, value))));
    let Some([low, high]) =
        ends.reduce(|[low, high], [lower, higher]| [low.min(lower), high.max(higher)])
    else {
        return [String::new(), String::new()];
    };
    if scaling == Scaling::STORED {
        return numbers_apart([low, high]);
    }
    numbers_apart(
        scaling
            .physical_pair(low.to_f64(), high.to_f64())
            .map(PixelNumber::Real),
    )
}

/// The bands' histograms on one axis of values, with square roots of counts so that rare values
/// show, and handles on the limits. The values are written as `scaling` says.
pub fn ui(
    ui: &mut Ui,
    panel: &mut PreviewPanel,
    image: &PreviewImage,
    limits: &[Option<StretchLimits>],
    known: &[String],
    scaling: Scaling,
) {
    let t = theme::tokens(ui);
    let shown: Vec<&Histogram> = image
        .histograms
        .iter()
        .filter(|histogram| histogram.valid > 0)
        .collect();
    let (Some(min), Some(max)) = (
        shown.iter().map(|histogram| histogram.min).reduce(f64::min),
        shown.iter().map(|histogram| histogram.max).reduce(f64::max),
    ) else {
        ui.label(
            theme::rich_text(tr!("No values"))
                .text_style(text_style("small12"))
                .color(t.tx3),
        );
        return;
    };
    let max = if max > min { max } else { min + 1.0 };
    let colors = band_colors(t, image.histograms.len());
    let names: Vec<String> = image
        .band_indices
        .iter()
        .map(|band| name_band_at(&image.info, *band, known))
        .collect();
    let highest = shown
        .iter()
        .flat_map(|histogram| &histogram.counts)
        .copied()
        .max()
        .unwrap_or(1)
        .max(1) as f64;
    let top = highest.sqrt() * 1.04;
    let x_ticks = scaling.ticks(min, max, 4);
    let tick_step = x_ticks
        .first()
        .map_or(0.0, |mark| mark.step_size * scaling.factor.abs());
    let axes = Axes {
        x_bounds: min..=max,
        x_ticks,
        x_text: Box::new(move |value| mark_text(scaling.physical(value), tick_step)),
        x_title: "",
        y_bounds: 0.0..=top,
        y_ticks: plot::square_root_ticks(highest),
        y_text: Box::new(|root| plot::short_count(root * root)),
        y_width: 38.0,
    };
    // Several bands have a tick at each of their limits; the handles are on the outermost.
    let list: Vec<StretchLimits> = limits.iter().flatten().copied().collect();
    let outer = outermost(&list);
    let drawn = plot::show_next(
        ui,
        "histogram",
        100.0,
        Sense::click_and_drag(),
        axes,
        |value| Some(describe_counts_at(image, &names, scaling, tick_step, value)),
        |plot| {
            for (histogram, color) in image.histograms.iter().zip(&colors) {
                plot.line(
                    Line::new("", make_count_curve(histogram))
                        .stroke(Stroke::new(1.2, *color))
                        .fill(0.0)
                        .fill_alpha(0.12)
                        .allow_hover(false),
                );
            }
            if list.len() > 1 {
                for (limits, color) in limits.iter().zip(&colors) {
                    for value in limits.iter().flat_map(|limits| [limits.low, limits.high]) {
                        let tick = Line::new("", vec![[value, 0.0], [value, top * 0.12]]);
                        plot.line(tick.stroke(Stroke::new(1.5, *color)).allow_hover(false));
                    }
                }
            }
            if let Some(StretchLimits { low, high }) = outer {
                let fill = t.input.gamma_multiply(0.6);
                for outside in [min..=low.max(min), high.min(max)..=max] {
                    plot.span(Span::new("", outside).fill(fill).border_width(0.0));
                }
                for limit in [low, high] {
                    plot.vline(
                        VLine::new("", limit.clamp(min, max))
                            .stroke(Stroke::new(1.5, t.accfill))
                            .allow_hover(false),
                    );
                }
            }
        },
    );
    drawn
        .response
        .widget_info(|| egui::WidgetInfo::labeled(egui::Role::Slider, true, tr!("Histogram")));
    paint::focus_ring(ui, &drawn.response, 2);
    if let Some(outer) = outer {
        handles_ui(ui, panel, &drawn.response, &drawn.transform, outer);
        let [low, high] = ends_text(
            image,
            limits
                .iter()
                .map(|limits| limits.map(|limits| [limits.low, limits.high])),
            scaling,
        );
        let text = format!("{low} – {high}");
        let width = ui.available_width();
        let fits = paint::measure_text_width(ui.painter(), &text, font::mono(11.0), t.tx) <= width;
        let lines = if fits {
            vec![text.clone()]
        } else {
            vec![format!("{low} –"), high]
        };
        let (rows, response) =
            ui.allocate_exact_size(vec2(width, LINE * lines.len() as f32), Sense::hover());
        response.widget_info(|| {
            egui::WidgetInfo::labeled(egui::Role::Label, true, tr!("Limits: {text}", text))
        });
        for (number, line) in (0u8..).zip(&lines) {
            let top = rows.top() + f32::from(number) * LINE;
            let row = egui::Rect::from_min_size(pos2(rows.left(), top), vec2(width, LINE));
            paint::text_center(ui.painter(), row, line, font::mono(11.0), t.tx);
        }
    }
    let beyond: u64 = image
        .histograms
        .iter()
        .flat_map(|histogram| histogram.outside)
        .sum();
    if beyond > 0 {
        let ranges = image
            .histograms
            .iter()
            .map(|histogram| (histogram.valid > 0).then_some(histogram.range));
        let ([low, high], n) = (
            ends_text(image, ranges, scaling),
            paint::format_grouped_number(beyond),
        );
        let text = tr_n!(
            beyond,
            "{n} value beyond the axis; all are from {low} to {high}",
            "{n} values beyond the axis; all are from {low} to {high}",
            n,
            low,
            high
        );
        ui.label(
            theme::rich_text(text)
                .text_style(text_style("small12"))
                .color(t.tx3),
        );
    }
    ui.horizontal_wrapped(|ui| {
        for (name, color) in names.iter().zip(colors) {
            let (square, _) = ui.allocate_exact_size(vec2(9.0, 9.0), Sense::hover());
            ui.painter().rect_filled(square, 1, color);
            ui.label(theme::rich_text(name).font(font::mono(11.0)).color(t.tx2));
        }
    });
}

/// The value under the pointer and the number of pixels of each band there.
fn describe_counts_at(
    image: &PreviewImage,
    names: &[String],
    scaling: Scaling,
    tick_step: f64,
    value: f64,
) -> String {
    let mut lines = vec![number_apart(scaling.physical(value), tick_step / 100.0)];
    for (histogram, name) in image.histograms.iter().zip(names) {
        let count = histogram.count_at(value);
        lines.push(tr_n!(
            count,
            "{name}: {n} pixel",
            "{name}: {n} pixels",
            name,
            n = paint::format_grouped_number(count)
        ));
    }
    lines.join("\n")
}

/// The middles of the bins, and the square roots of their counts.
fn make_count_curve<'a>(histogram: &Histogram) -> PlotPoints<'a> {
    let width = (histogram.max - histogram.min) / histogram.counts.len().max(1) as f64;
    let mut points = Vec::with_capacity(histogram.counts.len());
    for (bin, &count) in histogram.counts.iter().enumerate() {
        let middle = histogram.min + (bin as f64 + 0.5) * width;
        points.push([middle, (count as f64).sqrt()]);
    }
    points.into()
}

/// The handles of the limits. A drag moves the nearer one; with the focus on the plot the arrow
/// keys move the lower limit, with Shift the upper one, by 1/100 of the axis. The stretch then has
/// fixed limits; a double click brings the percentiles back.
fn handles_ui(
    ui: &Ui,
    panel: &mut PreviewPanel,
    response: &egui::Response,
    transform: &PlotTransform,
    StretchLimits { low, high }: StretchLimits,
) {
    let t = theme::tokens(ui);
    let frame = *transform.frame();
    let [min, max] = [transform.bounds().min()[0], transform.bounds().max()[0]];
    let [low_x, high_x] =
        [low, high].map(|limit| transform.position_from_point_x(limit.clamp(min, max)));
    let painter = ui.painter_at(frame.expand2(vec2(6.0, 0.0)));
    for x in [low_x, high_x] {
        let (tip, base) = (pos2(x, frame.bottom() - 8.0), frame.bottom());
        painter.add(Shape::convex_polygon(
            vec![tip, pos2(x + 5.0, base), pos2(x - 5.0, base)],
            t.accfill,
            Stroke::NONE,
        ));
    }
    let held = response.id.with("held");
    if response.drag_started()
        && let Some(start) = ui.input(|input| input.pointer.press_origin())
    {
        let upper = (start.x - high_x).abs() < (start.x - low_x).abs();
        ui.data_mut(|data| data.insert_temp(held, upper));
    }
    let mut moved = None;
    if response.dragged()
        && let Some(pointer) = response.interact_pointer_pos()
    {
        let value = transform.value_from_position(pointer).x.clamp(min, max);
        let upper = ui.data(|data| data.get_temp::<bool>(held)).unwrap_or(false);
        moved = Some(if upper {
            (low, value.max(low))
        } else {
            (value.min(high), high)
        });
    }
    let (lower, upper) = plot::arrow_steps(ui, response);
    if (lower, upper) != (0, 0) {
        let step = |limit: f64, steps: i32| {
            (limit + f64::from(steps) * (max - min) / 100.0).clamp(min, max)
        };
        let low = step(low, lower).min(high);
        moved = Some((low, step(high, upper).max(low)));
    }
    if let Some((low, high)) = moved {
        panel.options.stretch = Stretch::Manual { low, high };
        panel.side.locked = None;
    }
    if response.double_clicked() {
        panel.options.stretch = Stretch::default();
    }
    if let Some(pointer) = response.hover_pos() {
        let near = [low_x, high_x].iter().any(|x| (pointer.x - x).abs() < 6.0);
        ui.ctx().set_cursor_icon(if near {
            CursorIcon::ResizeHorizontal
        } else {
            CursorIcon::Default
        });
    }
}
