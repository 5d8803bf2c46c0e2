//! Beside the jobs: how fast the running one is, and the samples for which an extension failed.

use egui::{Frame, Margin, Mesh, Rect, RichText, Role, ScrollArea, Sense, Shape, Stroke, Ui, WidgetInfo, pos2, vec2};

use super::Rates;
use crate::extensions::{ExtensionCall, Failure, Target};
use crate::gui::icons;
use crate::gui::panel_context::PanelContext;
use crate::gui::theme::{self, font};
use crate::gui::widgets::{Button, paint};
use crate::studio::{Command, JobView};

/// True when there is something to show.
pub fn has_content(cx: &PanelContext<'_>, running: &[JobView]) -> bool {
    cx.session.jobs.failed.is_some()
        || running.iter().any(|job| cx.session.jobs.rates(job.id).is_some_and(|rates| rates.points.len() > 1))
}

/// Draws the side.
pub fn ui(ui: &mut Ui, cx: &mut PanelContext<'_>, running: &[JobView]) {
    ui.spacing_mut().item_spacing = vec2(6.0, 6.0);
    Frame::NONE.inner_margin(Margin::symmetric(12, 8)).show(ui, |ui| {
        let job = running.iter().find(|job| cx.session.jobs.rates(job.id).is_some_and(|rates| rates.points.len() > 1));
        if let Some(rates) = job.and_then(|job| cx.session.jobs.rates(job.id)) {
            throughput_ui(ui, rates);
        }
        failures_ui(ui, cx);
    });
}

fn throughput_ui(ui: &mut Ui, rates: &Rates) {
    let t = theme::tokens(ui);
    let text = |rate: f64| match rates.of_bytes {
        true => format!("{}/s", paint::bytes(rate as u64)),
        false => format!("{}/s", paint::grouped(rate as u64)),
    };
    let most = rates.points.iter().map(|(_, rate)| *rate).fold(1.0, f64::max);
    let mean = rates.points.iter().map(|(_, rate)| *rate).sum::<f64>() / rates.points.len().max(1) as f64;
    ui.horizontal(|ui| {
        ui.label(RichText::new(tr!("Throughput")).font(font::semibold(12.0)));
        ui.with_layout(egui::Layout::right_to_left(egui::Align::Center), |ui| {
            ui.label(RichText::new(tr!("mean {rate}", rate = text(mean))).font(font::regular(11.0)).color(t.tx3));
        });
    });
    let (rect, response) = ui.allocate_exact_size(vec2(ui.available_width(), 80.0), Sense::hover());
    response.widget_info(|| WidgetInfo::labeled(Role::Image, true, tr!("Throughput, mean {rate}", rate = text(mean))));
    let painter = ui.painter_at(rect);
    painter.rect_filled(rect, 2, t.input);
    for line in 1..4 {
        painter.hline(rect.x_range(), rect.top() + rect.height() * line as f32 / 4.0, Stroke::new(1.0, t.line));
    }
    let Some((&(from, _), &(to, _))) = rates.points.first().zip(rates.points.last()) else { return };
    let place = |(at, rate): (f64, f64)| {
        let x = rect.left() + rect.width() * ((at - from) / (to - from).max(1e-9)) as f32;
        pos2(x, rect.bottom() - (rect.height() - 14.0) * (rate / most) as f32)
    };
    let line: Vec<egui::Pos2> = rates.points.iter().map(|&point| place(point)).collect();
    // The area below a line that goes up and down is not convex: a strip of triangles.
    let mut mesh = Mesh::default();
    for (index, point) in line.iter().enumerate() {
        mesh.colored_vertex(*point, t.accbg);
        mesh.colored_vertex(pos2(point.x, rect.bottom()), t.accbg);
        if index > 0 {
            let first = 2 * index as u32 - 2;
            mesh.add_triangle(first, first + 1, first + 2);
            mesh.add_triangle(first + 1, first + 2, first + 3);
        }
    }
    painter.add(Shape::mesh(mesh));
    painter.add(Shape::line(line, Stroke::new(1.5, t.accfill)));
    let corner = Rect::from_min_size(rect.min + vec2(4.0, 1.0), vec2(rect.width() - 8.0, 14.0));
    paint::text_left(&painter, corner, &text(most), font::mono(10.5), t.tx3);
    let (below, _) = ui.allocate_exact_size(vec2(rect.width(), 14.0), Sense::hover());
    paint::text_left(ui.painter(), below, &format!("-{:.0} s", to - from), font::mono(10.5), t.tx3);
    paint::text_right(ui.painter(), below, tr!("now"), font::mono(10.5), t.tx3);
}

fn failures_ui(ui: &mut Ui, cx: &mut PanelContext<'_>) {
    let t = theme::tokens(ui);
    let Some(failed) = &cx.session.jobs.failed else { return };
    let count = failed.failures.len();
    let retry = retry_of(&failed.calls, &failed.failures);
    let title = tr_n!(count, "{n} sample failed", "{n} samples failed", n = paint::grouped(count as u64));
    let (mut again, mut leave) = (false, false);
    ui.horizontal(|ui| {
        ui.label(RichText::new(icons::WARNING_OCTAGON).font(font::icon(15.0)).color(t.err));
        ui.label(RichText::new(title).font(font::semibold(12.0)));
        ui.with_layout(egui::Layout::right_to_left(egui::Align::Center), |ui| {
            let tip = tr!("They hold null, as every sample does that has no value");
            leave = ui.add(Button::ghost(tr!("Leave null")).tooltip(tip)).clicked();
            let text = tr!("Retry {n}", n = paint::grouped(count as u64));
            again = ui.add(Button::secondary(text).icon(icons::ARROW_CLOCKWISE).name(tr!("Retry the failed samples"))).clicked();
        });
    });
    ScrollArea::vertical().id_salt("failures").auto_shrink(false).show(ui, |ui| {
        ui.spacing_mut().item_spacing.y = 0.0;
        for failure in failed.failures.iter().take(100) {
            let (row, response) = ui.allocate_exact_size(vec2(ui.available_width(), 22.0), Sense::hover());
            let text = format!("{}: {}", failure.path, failure.error);
            response.widget_info(|| WidgetInfo::labeled(Role::ListItem, true, &text));
            let painter = ui.painter();
            painter.hline(row.x_range(), row.bottom() - 0.5, Stroke::new(1.0, t.line));
            let (left, right) = row.split_left_right_at_fraction(0.4);
            paint::text_left(painter, left, &failure.path.to_string(), font::mono(11.5), t.tx);
            paint::text_left(painter, right, &failure.error, font::regular(11.5), t.tx2);
            response.on_hover_text(text);
        }
    });
    if again {
        cx.run(Command::Extend { calls: retry, replace: true });
    }
    if again || leave {
        cx.session.jobs.failed = None;
    }
}

/// The calls again, each for the samples that failed in it: values that were computed stay.
fn retry_of(calls: &[ExtensionCall], failures: &[Failure]) -> Vec<ExtensionCall> {
    let mut again: Vec<ExtensionCall> = Vec::new();
    for failure in failures {
        let Some(level) = failure.path.0.len().checked_sub(1) else { continue };
        let position = failure.path.0.iter().map(|id| &**id).collect::<Vec<_>>().join("/");
        let same = |call: &&mut ExtensionCall| call.extension == failure.extension && call.target.level == level;
        match again.iter_mut().find(same) {
            Some(call) if !call.target.positions.contains(&position) => call.target.positions.push(position),
            Some(_) => {}
            None => {
                let Some(call) = calls.iter().find(|call| call.extension == failure.extension && call.target.level == level) else {
                    continue;
                };
                again.push(ExtensionCall { target: Target { level, positions: vec![position] }, ..call.clone() });
            }
        }
    }
    again
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::SamplePath;

    #[test]
    fn only_what_failed_is_tried_again() {
        let call = |extension: &str, level| ExtensionCall {
            extension: extension.into(),
            target: Target { level, positions: Vec::new() },
            ..ExtensionCall::default()
        };
        let failure = |extension: &str, ids: &[&str]| Failure {
            extension: extension.into(),
            path: SamplePath(ids.iter().map(|id| (*id).into()).collect()),
            error: "gone".into(),
        };
        let failures = [failure("stats", &["a", "x"]), failure("stats", &["b", "x"]), failure("stac", &["a"])];
        let again = retry_of(&[call("stac", 0), call("stats", 1), call("histogram", 1)], &failures);
        assert_eq!(again.len(), 2);
        assert_eq!(again[0].target, Target { level: 1, positions: vec!["a/x".into(), "b/x".into()] });
        assert!(again[0].target.names(&["b", "x"]) && !again[0].target.names(&["c", "x"]));
    }
}
