//! The sidebar of the jobs panel: throughput of the running job, and samples for which an extension
//! failed.

use egui::{Frame, Margin, Role, ScrollArea, Sense, Stroke, Ui, WidgetInfo, vec2};
use egui_plot::{Line, PlotPoints};

use super::state::JobRates;
use crate::extensions::{CallTarget, ExtensionCall, Failure};
use crate::gui::icons;
use crate::gui::panel_context::PanelContext;
use crate::gui::theme::{self, font};
use crate::gui::widgets::plot::{self, Axes};
use crate::gui::widgets::{Button, paint};
use crate::studio::{Command, JobView};

/// Most failures listed.
const MAX_LISTED: usize = 100;

/// True when the sidebar has content.
pub fn has_content(cx: &PanelContext<'_>, running: &[JobView]) -> bool {
    cx.session.jobs.failed.is_some() || find_plotted_rates(cx, running).is_some()
}

/// The throughput of the first running job that has enough points for a line.
fn find_plotted_rates<'a>(cx: &'a PanelContext<'_>, running: &[JobView]) -> Option<&'a JobRates> {
    let rates = running.iter().map(|job| cx.session.jobs.rates(job.id));
    rates.flatten().find(|rates| rates.points.len() > 1)
}

/// Draws the sidebar.
pub fn ui(ui: &mut Ui, cx: &mut PanelContext<'_>, running: &[JobView]) {
    ui.spacing_mut().item_spacing = vec2(6.0, 6.0);
    Frame::NONE
        .inner_margin(Margin::symmetric(12, 8))
        .show(ui, |ui| {
            if let Some(rates) = find_plotted_rates(cx, running) {
                throughput_ui(ui, rates);
            }
            failures_ui(ui, cx);
        });
}

fn throughput_ui(ui: &mut Ui, rates: &JobRates) {
    let t = theme::tokens(ui);
    let most = rates
        .points
        .iter()
        .map(|(_, rate)| *rate)
        .fold(1.0, f64::max);
    let mean =
        rates.points.iter().map(|(_, rate)| *rate).sum::<f64>() / rates.points.len().max(1) as f64;
    ui.horizontal(|ui| {
        ui.label(theme::rich_text(tr!("Throughput")).font(font::semibold(12.0)));
        ui.with_layout(egui::Layout::right_to_left(egui::Align::Center), |ui| {
            ui.label(
                theme::rich_text(tr!("mean {rate}", rate = format_rate(mean, rates.of_bytes)))
                    .font(font::regular(11.0))
                    .color(t.tx3),
            );
        });
    });
    let Some((&(from, _), &(to, _))) = rates.points.first().zip(rates.points.last()) else {
        return;
    };
    let points: Vec<[f64; 2]> = rates
        .points
        .iter()
        .map(|&(at, rate)| [at - to, rate])
        .collect();
    let axes = Axes {
        x_bounds: (from - to).min(-1e-9)..=0.0,
        x_ticks: plot::decimal_ticks(from - to, 0.0, 4),
        x_text: Box::new(|seconds| {
            if seconds == 0.0 {
                tr!("now").to_owned()
            } else {
                format!("{} s", plot::format_one_decimal(seconds))
            }
        }),
        x_title: "",
        y_bounds: 0.0..=most * 1.1,
        y_ticks: plot::decimal_ticks(0.0, most * 1.1, 3),
        y_text: Box::new(|rate| format_rate(rate, rates.of_bytes)),
        y_width: 64.0,
    };
    let drawn = plot::show_next(
        ui,
        "throughput",
        96.0,
        Sense::hover(),
        axes,
        |seconds| describe_nearest_rate(&points, rates.of_bytes, seconds),
        |plot| {
            let line = Line::new("rate", PlotPoints::from(points.clone()))
                .stroke(Stroke::new(1.5, t.accfill));
            plot.line(line.fill(0.0).fill_alpha(0.15).allow_hover(false));
        },
    );
    drawn.response.widget_info(|| {
        WidgetInfo::labeled(
            Role::Image,
            true,
            tr!(
                "Throughput, mean {rate}",
                rate = format_rate(mean, rates.of_bytes)
            ),
        )
    });
}

fn format_rate(rate: f64, of_bytes: bool) -> String {
    if of_bytes {
        format!("{}/s", paint::format_bytes(rate as u64))
    } else {
        format!("{}/s", paint::format_grouped_number(rate as u64))
    }
}

/// The point nearest to `seconds`, as text.
fn describe_nearest_rate(points: &[[f64; 2]], of_bytes: bool, seconds: f64) -> Option<String> {
    let [at, rate] = *points
        .iter()
        .min_by(|a, b| (a[0] - seconds).abs().total_cmp(&(b[0] - seconds).abs()))?;
    Some(format!("{at:.0} s: {}", format_rate(rate, of_bytes)))
}

fn failures_ui(ui: &mut Ui, cx: &mut PanelContext<'_>) {
    let t = theme::tokens(ui);
    let Some(failed) = &cx.session.jobs.failed else {
        return;
    };
    let count = failed.failures.len();
    let retry = list_retry_calls(&failed.calls, &failed.failures);
    let title = tr_n!(
        count,
        "{n} sample failed",
        "{n} samples failed",
        n = paint::format_grouped_number(count as u64)
    );
    let (mut again, mut leave) = (false, false);
    ui.horizontal(|ui| {
        ui.label(
            theme::rich_text(icons::WARNING_OCTAGON)
                .font(font::icon(15.0))
                .color(t.err),
        );
        ui.label(theme::rich_text(title).font(font::semibold(12.0)));
        ui.with_layout(egui::Layout::right_to_left(egui::Align::Center), |ui| {
            let kept = crate::extensions::count_kept_failures(&failed.failures) > 0;
            let tip = tr!("They keep the values from before the run, or null");
            let text = if kept {
                tr!("Leave as they were")
            } else {
                tr!("Leave null")
            };
            leave = ui.add(Button::ghost(text).tooltip(tip)).clicked();
            let text = tr!("Retry {n}", n = paint::format_grouped_number(count as u64));
            again = ui
                .add(
                    Button::secondary(text)
                        .icon(icons::ARROW_CLOCKWISE)
                        .name(tr!("Retry the failed samples")),
                )
                .clicked();
        });
    });
    failure_list_ui(ui, &failed.failures);
    if again {
        cx.run(Command::Extend {
            calls: retry,
            replace: true,
        });
    }
    if again || leave {
        cx.session.jobs.failed = None;
    }
}

fn failure_list_ui(ui: &mut Ui, failures: &[Failure]) {
    let t = theme::tokens(ui);
    ScrollArea::vertical()
        .id_salt("failures")
        .auto_shrink(false)
        .show(ui, |ui| {
            ui.spacing_mut().item_spacing.y = 0.0;
            for failure in failures.iter().take(MAX_LISTED) {
                let (row, response) =
                    ui.allocate_exact_size(vec2(ui.available_width(), 22.0), Sense::hover());
                let text = format!("{}: {}", failure.path, failure.error);
                response.widget_info(|| WidgetInfo::labeled(Role::ListItem, true, &text));
                let painter = ui.painter();
                painter.hline(row.x_range(), row.bottom() - 0.5, Stroke::new(1.0, t.line));
                let (left, right) = row.split_left_right_at_fraction(0.4);
                paint::text_left(
                    painter,
                    left,
                    &failure.path.to_string(),
                    font::mono(11.5),
                    t.tx,
                );
                paint::text_left(painter, right, &failure.error, font::regular(11.5), t.tx2);
                response.on_hover_text(theme::rich_text(text));
            }
        });
}

/// The calls for a retry, each limited to the samples that failed in it; computed values stay.
fn list_retry_calls(calls: &[ExtensionCall], failures: &[Failure]) -> Vec<ExtensionCall> {
    let mut again: Vec<ExtensionCall> = Vec::new();
    for failure in failures {
        let Some(level) = failure.path.0.len().checked_sub(1) else {
            continue;
        };
        let position = failure
            .path
            .0
            .iter()
            .map(|id| &**id)
            .collect::<Vec<_>>()
            .join("/");
        let same = |call: &&mut ExtensionCall| {
            call.extension == failure.extension && call.target.level == level
        };
        match again.iter_mut().find(same) {
            Some(call) if !call.target.positions.contains(&position) => {
                call.target.positions.push(position)
            }
            Some(_) => {}
            None => {
                let Some(call) = calls
                    .iter()
                    .find(|call| call.extension == failure.extension && call.target.level == level)
                else {
                    continue;
                };
                again.push(ExtensionCall {
                    target: CallTarget {
                        level,
                        positions: vec![position],
                    },
                    ..call.clone()
                });
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
            target: CallTarget {
                level,
                positions: Vec::new(),
            },
            ..ExtensionCall::default()
        };
        let failure = |extension: &str, ids: &[&str]| Failure {
            extension: extension.into(),
            path: SamplePath(ids.iter().map(|id| (*id).into()).collect()),
            error: "gone".into(),
            kept: false,
        };
        let failures = [
            failure("stats", &["a", "x"]),
            failure("stats", &["b", "x"]),
            failure("stac", &["a"]),
        ];
        let again = list_retry_calls(
            &[call("stac", 0), call("stats", 1), call("histogram", 1)],
            &failures,
        );
        assert_eq!(again.len(), 2);
        assert_eq!(
            again[0].target,
            CallTarget {
                level: 1,
                positions: vec!["a/x".into(), "b/x".into()]
            }
        );
        assert!(again[0].target.names(&["b", "x"]) && !again[0].target.names(&["c", "x"]));
    }

    #[test]
    fn the_throughput_has_a_name_and_the_rate_under_the_pointer() {
        use egui_kittest::kittest::Queryable;
        for (theme, word) in [(egui::Theme::Dark, "dark"), (egui::Theme::Light, "light")] {
            let mut harness = egui_kittest::Harness::builder()
                .with_size(vec2(336.0, 150.0))
                .with_theme(theme)
                .with_context_setup(theme::install)
                .with_render_cursor(false)
                .build_ui(|ui| {
                    ui.painter()
                        .rect_filled(ui.max_rect(), 0, theme::tokens(ui).bg1);
                    let points = (0..120)
                        .map(|n| (f64::from(n) / 2.0, 4e7 + 2e7 * (f64::from(n) / 9.0).sin()))
                        .collect();
                    let rates = JobRates {
                        of_bytes: true,
                        points,
                        ..JobRates::default()
                    };
                    throughput_ui(ui, &rates);
                });
            let plot = harness.get_by_label_contains("Throughput, mean 4").rect();
            harness.hover_at(plot.center());
            harness.run_steps(4);
            assert!(
                harness.query_by_label_contains(" s: ").is_some(),
                "the tooltip has time and rate"
            );
            if let Some(folder) = std::env::var_os("TACO_STUDIO_SHEETS") {
                let image = harness.render().expect("a software adapter renders");
                image
                    .save(std::path::Path::new(&folder).join(format!("plot-throughput-{word}.png")))
                    .expect("is written");
            }
        }
    }
}
