//! The sidebar of the preview: stretch and gamma, histogram with limits, values of the pixel under the pointer.

use egui::{CursorIcon, Frame, Margin, Rect, RichText, ScrollArea, Sense, Shape, Stroke, Ui, pos2, vec2};
use egui_plot::{Line, PlotPoints, PlotTransform, Span, VLine};

use super::names::{band_name, band_names, classes_of, number};
use crate::gui::icons;
use crate::gui::panel_context::PanelContext;
use crate::gui::theme::{self, Tokens, font, text_style};
use crate::gui::widgets::plot::{self, Axes};
use crate::gui::widgets::{self, Button, TextField, paint};
use crate::model::Value;
use crate::raster::{Histogram, Limits, PixelValue, PreviewImage, Probe, RasterInfo, Stretch, indices_of};
use crate::studio::{Document, RowRef};

/// Draws the sidebar.
pub fn side_ui(ui: &mut Ui, cx: &mut PanelContext<'_>, document: &Document, at: RowRef) {
    let t = theme::tokens(ui);
    let rect = ui.max_rect();
    ui.painter().vline(rect.left() + 0.5, rect.y_range(), Stroke::new(1.0, t.line));
    let known = band_names(Some(document));
    ScrollArea::vertical().id_salt("preview-side").auto_shrink(false).show(ui, |ui| {
        ui.spacing_mut().item_spacing.y = 0.0;
        widgets::section_header(ui, tr!("Stretch"), |_| {});
        block(ui, |ui| {
            stretch_ui(ui, cx);
            ui.horizontal(|ui| {
                ui.label(RichText::new(tr!("Gamma")).text_style(text_style("small12")).color(t.tx2));
                let width = ui.available_width();
                widgets::slider(ui, tr!("Gamma"), &mut cx.session.preview.options.gamma, 0.2..=3.0, 1.0, width);
            });
            widgets::checkbox(ui, &mut cx.session.preview.options.nodata_transparent, tr!("Nodata is transparent"));
        });
        if let Some(whole) = &cx.session.preview.whole {
            let (answer, limits) = (whole.answer.clone(), whole.limits.clone());
            widgets::section_header(ui, tr!("Histogram"), |ui| {
                ui.label(RichText::new(tr!("square root of count")).text_style(text_style("small12")).color(t.tx3));
            });
            block(ui, |ui| {
                histogram_ui(ui, cx, &answer.1, &limits, &known);
                let side = &mut cx.session.preview.side;
                let mut locked = side.locked.is_some();
                if widgets::checkbox(ui, &mut locked, tr!("Lock limits")).changed() {
                    side.locked = locked.then(|| limits.clone());
                }
            });
            nodata_ui(ui, &answer.1);
        }
        let pinned = cx.session.preview.side.pinned;
        widgets::section_header(ui, tr!("Pixel"), |ui| {
            let name = if pinned.is_some() { tr!("Unpin") } else { tr!("Pin") };
            let nothing = cx
                .session
                .preview
                .pixel
                .is_none()
                .then_some(tr!("Select a pixel with Pin while the pointer is over the picture: press P"));
            if ui.add(Button::ghost(name).icon(icons::PUSH_PIN).name(tr!("Pin the pixel")).blocked(nothing)).clicked() {
                cx.session.preview.side.pinned = if pinned.is_some() { None } else { cx.session.preview.pixel };
            }
        });
        // The button pins, because the pointer can't be on the picture at the same time.
        if !ui.ctx().egui_wants_keyboard_input() && ui.input(|input| input.key_pressed(egui::Key::P)) {
            cx.session.preview.side.pinned = if pinned.is_some() { None } else { cx.session.preview.pixel };
        }
        block(ui, |ui| match cx.session.preview.probe.latest().filter(|_| cx.session.preview.pixel.is_some()).cloned() {
            Some(probe) => pixel_ui(ui, cx, document, at, &probe, &known),
            None => {
                let text = RichText::new(tr!("Move the pointer over the picture.")).text_style(text_style("small12")).color(t.tx3);
                ui.label(text);
            }
        });
        super::chunks::side_ui(ui, cx, document, at);
    });
}

fn block(ui: &mut Ui, contents: impl FnOnce(&mut Ui)) {
    Frame::NONE.inner_margin(Margin::symmetric(12, 8)).show(ui, |ui| {
        ui.spacing_mut().item_spacing.y = 6.0;
        contents(ui);
    });
}

/// Draws the stretch kind and its parameters.
fn stretch_ui(ui: &mut Ui, cx: &mut PanelContext<'_>) {
    let kinds = [tr!("Percentile"), tr!("Min to max"), tr!("Standard deviations"), tr!("Fixed limits")];
    let now: Vec<Limits> = cx.session.preview.whole.iter().flat_map(|whole| whole.limits.iter().flatten().copied()).collect();
    let state = &mut cx.session.preview;
    let stretch = &mut state.options.stretch;
    let kind = match stretch {
        Stretch::Percentile { .. } => 0,
        Stretch::MinMax => 1,
        Stretch::StdDev(_) => 2,
        Stretch::Manual { .. } => 3,
    };
    let outer = outermost(&now).unwrap_or(Limits { low: 0.0, high: 1.0 });
    ui.horizontal(|ui| {
        ui.spacing_mut().item_spacing.x = 5.0;
        let fields = if kind == 1 {
            0
        } else if kind == 2 {
            1
        } else {
            2
        };
        let width = ui.available_width() - fields as f32 * 55.0;
        if let Some(index) = widgets::combo(ui, tr!("Stretch"), kinds[kind], width.max(96.0), false, &kinds) {
            *stretch = match index {
                0 => Stretch::default(),
                1 => Stretch::MinMax,
                2 => Stretch::StdDev(2.0),
                _ => Stretch::Manual { low: outer.low, high: outer.high },
            };
        }
        let mut pair = match *stretch {
            Stretch::Percentile { low, high } | Stretch::Manual { low, high } => [low, high],
            Stretch::StdDev(factor) => [f64::from(factor), 0.0],
            Stretch::MinMax => [0.0, 0.0],
        };
        let names = if kind == 2 { [mark!("Standard deviations"), ""] } else { [mark!("Lower limit"), mark!("Upper limit")] };
        let mut changed = false;
        for (index, name) in names.into_iter().enumerate().take(fields) {
            changed |= number_field(ui, name, &mut state.side.typed[index], &mut pair[index]);
        }
        if changed {
            *stretch = match *stretch {
                Stretch::Percentile { .. } => {
                    Stretch::Percentile { low: pair[0].clamp(0.0, 100.0), high: pair[1].clamp(0.0, 100.0) }
                }
                Stretch::StdDev(_) => Stretch::StdDev((pair[0] as f32).clamp(0.1, 20.0)),
                _ => Stretch::Manual { low: pair[0], high: pair[1] },
            };
        }
    });
}

/// A small number field. True when the number has changed.
fn number_field(ui: &mut Ui, name: &'static str, typed: &mut String, value: &mut f64) -> bool {
    let id = egui::Id::unique(("preview-number", name));
    if !ui.memory(|memory| memory.has_focus(id)) {
        *typed = plain_number(*value);
    }
    let response = TextField::new(crate::text::of(name), typed).id(id).hide_label().mono().width(50.0).show(ui);
    match typed.trim().parse::<f64>() {
        Ok(number) if response.changed() && number.is_finite() && number != *value => {
            *value = number;
            true
        }
        _ => false,
    }
}

/// Formats a number so that parsing gives it back.
fn plain_number(value: f64) -> String {
    if value.fract() == 0.0 && value.abs() < 1e9 {
        format!("{value:.0}")
    } else {
        format!("{value:.4}").trim_end_matches('0').to_owned()
    }
}

fn band_colors(t: &Tokens, bands: usize) -> Vec<egui::Color32> {
    if bands == 3 { vec![t.err, t.ok, t.info] } else { vec![t.tx2; bands] }
}

fn outermost(limits: &[Limits]) -> Option<Limits> {
    let low = limits.iter().map(|limits| limits.low).reduce(f64::min)?;
    Some(Limits { low, high: limits.iter().map(|limits| limits.high).reduce(f64::max)? })
}

/// The bands' histograms on one axis of values, with square roots of counts so that rare values show, and handles on the limits.
fn histogram_ui(ui: &mut Ui, cx: &mut PanelContext<'_>, image: &PreviewImage, limits: &[Option<Limits>], known: &[String]) {
    let t = theme::tokens(ui);
    let shown: Vec<&Histogram> = image.histograms.iter().filter(|histogram| histogram.valid > 0).collect();
    let (Some(min), Some(max)) = (
        shown.iter().map(|histogram| histogram.min).reduce(f64::min),
        shown.iter().map(|histogram| histogram.max).reduce(f64::max),
    ) else {
        ui.label(RichText::new(tr!("No values")).text_style(text_style("small12")).color(t.tx3));
        return;
    };
    let max = if max > min { max } else { min + 1.0 };
    let colors = band_colors(t, image.histograms.len());
    let names: Vec<String> = image
        .band_indices
        .iter()
        .map(|band| image.info.band(*band).map_or(band.to_string(), |band| band_name(band, known)))
        .collect();
    let highest = shown.iter().flat_map(|histogram| &histogram.counts).copied().max().unwrap_or(1).max(1) as f64;
    let top = highest.sqrt() * 1.04;
    let axes = Axes {
        x_bounds: min..=max,
        x_ticks: plot::decimal_ticks(min, max, 4),
        x_text: Box::new(number),
        x_title: "",
        y_top: top,
        y_ticks: plot::square_root_ticks(highest),
        y_text: Box::new(|root| plot::short_count(root * root)),
        y_width: 38.0,
    };
    let counts_at = |value: f64| {
        let mut lines = vec![number(value)];
        for (histogram, name) in image.histograms.iter().zip(&names) {
            let count = histogram.count_at(value);
            lines.push(tr_n!(count, "{name}: {n} pixel", "{name}: {n} pixels", name, n = paint::grouped(count)));
        }
        Some(lines.join("\n"))
    };
    // Several bands have a tick at each of their limits; the handles are on the outermost.
    let list: Vec<Limits> = limits.iter().flatten().copied().collect();
    let outer = outermost(&list);
    let drawn = plot::show_next(ui, "histogram", 100.0, Sense::click_and_drag(), axes, counts_at, |plot| {
        for (histogram, color) in image.histograms.iter().zip(&colors) {
            let width = (histogram.max - histogram.min) / histogram.counts.len().max(1) as f64;
            let point = |(bin, &count): (usize, &u64)| [histogram.min + (bin as f64 + 0.5) * width, (count as f64).sqrt()];
            let points: PlotPoints<'_> = histogram.counts.iter().enumerate().map(point).collect();
            plot.line(Line::new("", points).stroke(Stroke::new(1.2, *color)).fill(0.0).fill_alpha(0.12).allow_hover(false));
        }
        if list.len() > 1 {
            for (limits, color) in limits.iter().zip(&colors) {
                for value in limits.iter().flat_map(|limits| [limits.low, limits.high]) {
                    let tick = Line::new("", vec![[value, 0.0], [value, top * 0.12]]);
                    plot.line(tick.stroke(Stroke::new(1.5, *color)).allow_hover(false));
                }
            }
        }
        if let Some(Limits { low, high }) = outer {
            let fill = t.input.gamma_multiply(0.6);
            for outside in [min..=low.max(min), high.min(max)..=max] {
                plot.span(Span::new("", outside).fill(fill).border_width(0.0));
            }
            for limit in [low, high] {
                plot.vline(VLine::new("", limit.clamp(min, max)).stroke(Stroke::new(1.5, t.accfill)).allow_hover(false));
            }
        }
    });
    drawn.response.widget_info(|| egui::WidgetInfo::labeled(egui::Role::Slider, true, tr!("Histogram")));
    paint::focus_ring(ui, &drawn.response, 2);
    if let Some(outer) = outer {
        handles_ui(ui, cx, &drawn.response, &drawn.transform, outer);
        let text = format!("{} – {}", number(outer.low), number(outer.high));
        let (row, _) = ui.allocate_exact_size(vec2(ui.available_width(), 16.0), Sense::hover());
        paint::text_center(ui.painter(), row, &text, font::mono(11.0), t.tx);
    }
    ui.horizontal_wrapped(|ui| {
        for (name, color) in names.iter().zip(colors) {
            let (square, _) = ui.allocate_exact_size(vec2(9.0, 9.0), Sense::hover());
            ui.painter().rect_filled(square, 1, color);
            ui.label(RichText::new(name).font(font::mono(11.0)).color(t.tx2));
        }
    });
}

/// The handles of the limits. A drag moves the nearer one; with the focus on the plot the arrow keys move the lower limit, with Shift
/// the upper one, by 1/100 of the axis. The stretch then has fixed limits; a double click brings the percentiles back.
fn handles_ui(
    ui: &Ui,
    cx: &mut PanelContext<'_>,
    response: &egui::Response,
    transform: &PlotTransform,
    Limits { low, high }: Limits,
) {
    let t = theme::tokens(ui);
    let frame = *transform.frame();
    let [min, max] = [transform.bounds().min()[0], transform.bounds().max()[0]];
    let [low_x, high_x] = [low, high].map(|limit| transform.position_from_point_x(limit.clamp(min, max)));
    let painter = ui.painter_at(frame.expand2(vec2(6.0, 0.0)));
    for x in [low_x, high_x] {
        let (tip, base) = (pos2(x, frame.bottom() - 8.0), frame.bottom());
        painter.add(Shape::convex_polygon(vec![tip, pos2(x + 5.0, base), pos2(x - 5.0, base)], t.accfill, Stroke::NONE));
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
        moved = Some(if upper { (low, value.max(low)) } else { (value.min(high), high) });
    }
    let (lower, upper) = plot::arrow_steps(ui, response);
    if (lower, upper) != (0, 0) {
        let step = |limit: f64, steps: i32| (limit + f64::from(steps) * (max - min) / 100.0).clamp(min, max);
        let low = step(low, lower).min(high);
        moved = Some((low, step(high, upper).max(low)));
    }
    if let Some((low, high)) = moved {
        cx.session.preview.options.stretch = Stretch::Manual { low, high };
        cx.session.preview.side.locked = None;
    }
    if response.double_clicked() {
        cx.session.preview.options.stretch = Stretch::default();
    }
    if let Some(pointer) = response.hover_pos() {
        let near = [low_x, high_x].iter().any(|x| (pointer.x - x).abs() < 6.0);
        ui.ctx().set_cursor_icon(if near { CursorIcon::ResizeHorizontal } else { CursorIcon::Default });
    }
}

/// Draws the nodata value and its share.
fn nodata_ui(ui: &mut Ui, image: &PreviewImage) {
    let t = theme::tokens(ui);
    let (missing, total) =
        image.histograms.iter().fold((0, 0), |(missing, total), h| (missing + h.total - h.valid, total + h.total));
    let share = 100.0 * missing as f64 / (total as f64).max(1.0);
    widgets::section_header(ui, tr!("Nodata"), |ui| {
        let text = tr!("{share} % of pixels", share = format!("{share:.1}"));
        ui.label(RichText::new(text).text_style(text_style("small12")).color(t.tx3));
    });
    block(ui, |ui| {
        let value = image.band_indices.first().and_then(|band| image.info.band(*band)).and_then(|band| band.nodata);
        let text = match value {
            Some(value) => tr!("Value {value}", value = number(value)),
            None => tr!("The file names no value for missing data.").to_owned(),
        };
        ui.label(RichText::new(text).text_style(text_style("small12")).color(t.tx2));
    });
}

/// Scale and offset of a band, from the file or from the sample's fields.
fn scaling_of(document: &Document, at: RowRef, info: &RasterInfo, value: &PixelValue) -> Option<(f64, f64)> {
    let band = info.band(value.band)?;
    if band.scale.is_some() || band.offset.is_some() {
        return Some((band.scale.unwrap_or(1.0), band.offset.unwrap_or(0.0)));
    }
    let field = |name: &str| match document.value(at, name).0 {
        Value::Float(number) => Some(number),
        Value::Int(number) => Some(number as f64),
        Value::List(list) => match list.get(value.band.position()).or(list.first()) {
            Some(Value::Float(number)) => Some(*number),
            Some(Value::Int(number)) => Some(*number as f64),
            _ => None,
        },
        _ => None,
    };
    let factor = field("scaling:scale_factor")?;
    Some((factor, field("scaling:scale_offset").unwrap_or(0.0)))
}

fn pixel_ui(ui: &mut Ui, cx: &mut PanelContext<'_>, document: &Document, at: RowRef, probe: &Probe, known: &[String]) {
    let t = theme::tokens(ui);
    let Some(info) = cx.session.preview.info().cloned() else { return };
    ui.spacing_mut().item_spacing.y = 2.0;
    let line = |ui: &mut Ui, name: &str, text: &str| {
        let (row, response) = ui.allocate_exact_size(vec2(ui.available_width(), 18.0), Sense::hover());
        response.widget_info(|| egui::WidgetInfo::labeled(egui::Role::Label, true, format!("{name}: {text}")));
        paint::text_left(ui.painter(), row, name, font::regular(12.0), t.tx3);
        paint::text_right(ui.painter(), row, text, font::mono(11.5), t.tx);
    };
    line(ui, tr!("row, col"), &format!("{}, {}", paint::grouped(probe.row as u64), paint::grouped(probe.column as u64)));
    let scaled = |value: &PixelValue| match scaling_of(document, at, &info, value) {
        Some((factor, offset)) => value.value * factor + offset,
        None => value.value,
    };
    for index in indices_of(&info, known) {
        let value = |band| probe.values.iter().find(|value| value.band == band).filter(|value| !value.missing).map(&scaled);
        if let Some((high, low)) = value(index.high).zip(value(index.low)).filter(|(high, low)| high + low != 0.0) {
            line(ui, index.name, &format!("{:.3}", (high - low) / (high + low)));
        }
    }
    if let [value] = probe.values.as_slice()
        && let Some((_, name)) = classes_of(document).names.iter().find(|(number, _)| *number as f64 == value.value)
    {
        line(ui, tr!("class"), name);
    }
    let with_scale = probe.values.iter().any(|value| scaling_of(document, at, &info, value).is_some());
    if with_scale {
        widgets::checkbox(ui, &mut cx.session.preview.side.scaled, tr!("Scaled values"));
    }
    let scaled_shown = with_scale && cx.session.preview.side.scaled;
    let highest = probe.values.iter().filter(|value| !value.missing).map(|value| value.value.abs()).fold(0.0, f64::max);
    // The names take what they need, up to half of the width.
    let name_of = |value: &PixelValue| info.band(value.band).map_or(value.band.to_string(), |band| band_name(band, known));
    let longest = probe.values.iter().map(|value| name_of(value).chars().count()).max();
    let names = (longest.unwrap_or(3) as f32 * 6.7 + 6.0).clamp(40.0, ui.available_width() * 0.42);
    for value in &probe.values {
        let (row, response) = ui.allocate_exact_size(vec2(ui.available_width(), 18.0), Sense::hover());
        let name = name_of(value);
        let text = match value {
            value if value.missing => tr!("nodata").to_owned(),
            value if scaled_shown => number(scaled(value)),
            value => match value.imaginary {
                Some(imaginary) => format!("{}{:+}i", number(value.value), imaginary),
                None => number(value.value),
            },
        };
        response.widget_info(|| egui::WidgetInfo::labeled(egui::Role::Label, true, format!("{name}: {text}")));
        let painter = ui.painter();
        paint::text_left(painter, row.with_max_x(row.left() + names), &name, font::mono(11.0), t.tx2);
        let track = Rect::from_min_max(
            pos2(row.left() + names + 6.0, row.center().y - 4.0),
            pos2(row.right() - 70.0, row.center().y + 4.0),
        );
        if track.width() > 12.0 {
            painter.rect_filled(track, 1, t.input);
            if !value.missing && highest > 0.0 {
                let part = (value.value.abs() / highest) as f32;
                painter.rect_filled(track.with_max_x(track.left() + track.width() * part), 1, t.ctl);
            }
        }
        paint::text_right(painter, row, &text, font::mono(11.0), if value.missing { t.tx3 } else { t.tx });
        if with_scale && !value.missing {
            let other = if scaled_shown { number(value.value) } else { number(scaled(value)) };
            response.on_hover_text(match scaled_shown {
                true => tr!("stored {value}", value = other),
                false => tr!("scaled {value}", value = other),
            });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_show_the_shortest_decimal() {
        assert_eq!((plain_number(2.0).as_str(), plain_number(0.25).as_str()), ("2", "0.25"));
    }
}
