//! The jobs panel: running jobs with throughput, ended jobs, and samples for which an extension
//! failed.

mod sidebar;
pub mod state;

use std::time::Duration;

use egui::{Frame, Margin, ScrollArea, Ui, UiBuilder};

use crate::gui::icons;
use crate::gui::panel_context::PanelContext;
use crate::gui::panels::panel::Panel;
use crate::gui::theme::{self, font};
use crate::gui::widgets::{self, Button, Tone, paint};
use crate::jobs::Progress;
use crate::studio::{Command, JobView};
use state::End;

#[derive(Default)]
pub struct JobsPanel;

impl Panel for JobsPanel {
    fn contents_ui(&mut self, ui: &mut Ui, cx: &mut PanelContext<'_>) {
        let t = theme::tokens(ui);
        let running: Vec<JobView> = cx.session.jobs.running().cloned().collect();
        if running.is_empty() && cx.session.jobs.ended.is_empty() {
            widgets::draw_empty_state(
                ui,
                icons::QUEUE,
                tr!("No jobs"),
                tr!("Opening, checking and writing show here while they run."),
            );
            return;
        }
        let area = ui.available_rect_before_wrap();
        let side = if area.width() > 620.0 && sidebar::has_content(cx, &running) {
            (area.width() * 0.36).min(420.0)
        } else {
            0.0
        };
        let (left, right) = area.split_left_right_at_x(area.right() - side);
        if side > 0.0 {
            ui.painter().vline(
                right.left() + 0.5,
                area.y_range(),
                egui::Stroke::new(1.0, t.line),
            );
            ui.scope_builder(UiBuilder::new().max_rect(right).id_salt("side"), |ui| {
                sidebar::ui(ui, cx, &running)
            });
        }
        let mut child = ui.new_child(UiBuilder::new().max_rect(left).id_salt("list"));
        let ui = &mut child;
        ScrollArea::vertical().auto_shrink(false).show(ui, |ui| {
            ui.spacing_mut().item_spacing.y = 0.0;
            for job in &running {
                job_ui(ui, cx, job);
            }
            for ended in &cx.session.jobs.ended {
                Frame::NONE
                    .inner_margin(Margin::symmetric(12, 5))
                    .show(ui, |ui| {
                        ui.horizontal(|ui| {
                            let (icon, color) = match ended.end {
                                End::Done => (icons::CHECK_CIRCLE, t.ok),
                                End::Cancelled => (icons::STOP, t.tx3),
                                End::Failed => (icons::WARNING_OCTAGON, t.err),
                            };
                            ui.label(theme::rich_text(icon).font(font::icon(15.0)).color(color));
                            ui.label(theme::rich_text(&ended.label).font(font::medium(12.0)));
                            ui.label(
                                theme::rich_text(time_text(ended.took))
                                    .font(font::mono(11.0))
                                    .color(t.tx3),
                            );
                            let detail = match ended.end {
                                End::Cancelled => tr!("Cancelled; nothing was changed"),
                                End::Done | End::Failed => ended.detail.as_str(),
                            };
                            ui.add(
                                egui::Label::new(
                                    theme::rich_text(detail)
                                        .font(font::regular(12.0))
                                        .color(t.tx2),
                                )
                                .truncate(),
                            );
                        });
                    });
                widgets::line_below(ui);
            }
        });
    }

    fn tab_count(&self, cx: &PanelContext<'_>) -> Option<(u64, Tone)> {
        let running = cx.session.jobs.running().count() as u64;
        (running > 0).then_some((running, Tone::Neutral))
    }

    fn bar_right_ui(&mut self, ui: &mut Ui, cx: &mut PanelContext<'_>) {
        ui.add_space(8.0);
        if cx.session.jobs.has_ended() && ui.add(Button::ghost(tr!("Clear finished"))).clicked() {
            cx.session.jobs.clear_ended();
        }
    }
}

fn job_ui(ui: &mut Ui, cx: &mut PanelContext<'_>, job: &JobView) {
    let t = theme::tokens(ui);
    Frame::NONE
        .inner_margin(Margin::symmetric(12, 6))
        .show(ui, |ui| {
            ui.horizontal(|ui| {
                widgets::spinner(ui, 15.0);
                ui.label(theme::rich_text(&job.label).font(font::medium(12.0)));
                ui.label(
                    theme::rich_text(&job.progress.stage.name)
                        .font(font::regular(12.0))
                        .color(t.tx2),
                );
                ui.with_layout(egui::Layout::right_to_left(egui::Align::Center), |ui| {
                    let stopping = job
                        .progress
                        .cancelling
                        .then_some(tr!("Stopping at the next safe place"));
                    let button = Button::danger(tr!("Cancel"))
                        .icon(icons::X)
                        .name(tr!("Cancel {job}", job = job.label));
                    if ui.add(button.with_disabled_reason(stopping)).clicked() {
                        cx.run(Command::Cancel { job: job.id });
                    }
                    if job.progress.pausable && !job.progress.cancelling {
                        let (icon, text, name) = if job.progress.paused {
                            (
                                icons::PLAY,
                                tr!("Go on"),
                                tr!("Go on {job}", job = job.label),
                            )
                        } else {
                            (
                                icons::PAUSE,
                                tr!("Pause"),
                                tr!("Pause {job}", job = job.label),
                            )
                        };
                        if ui
                            .add(Button::secondary(text).icon(icon).name(name))
                            .clicked()
                        {
                            cx.run(Command::Pause {
                                job: job.id,
                                on: !job.progress.paused,
                            });
                        }
                    }
                    ui.label(
                        theme::rich_text(detail(&job.progress, job.elapsed))
                            .font(font::mono(11.0))
                            .color(t.tx3),
                    );
                    if let Some(fraction) = job.progress.fraction() {
                        ui.label(
                            theme::rich_text(format!("{:.0} %", fraction * 100.0))
                                .font(font::mono(12.0)),
                        );
                        widgets::progress_bar(ui, &job.label, fraction, 160.0, 6.0);
                    }
                });
            });
        });
    widgets::line_below(ui);
}

/// Count, rate, remaining and elapsed time as text.
pub fn detail(progress: &Progress, elapsed: Duration) -> String {
    let mut parts = Vec::new();
    let seconds = elapsed.as_secs_f64();
    match progress.total {
        Some(total) => {
            parts.push(tr!(
                "{done} of {total}",
                done = paint::format_grouped_number(progress.done),
                total = paint::format_grouped_number(total)
            ));
        }
        None if progress.done > 0 => parts.push(paint::format_grouped_number(progress.done)),
        None => {}
    }
    if progress.bytes > 0 && seconds > 0.5 {
        parts.push(format!(
            "{}/s",
            paint::format_bytes((progress.bytes as f64 / seconds) as u64)
        ));
    }
    if let Some(fraction) = progress
        .fraction()
        .filter(|fraction| *fraction > 0.05 && seconds > 1.0)
    {
        let left = seconds * f64::from(1.0 - fraction) / f64::from(fraction);
        parts.push(tr!(
            "ETA {time}",
            time = time_text(Duration::from_secs_f64(left))
        ));
    }
    parts.push(time_text(elapsed));
    parts.join("   ")
}

/// `0.4 s`, `51 s`, `2 min 51 s`.
pub fn time_text(time: Duration) -> String {
    let seconds = time.as_secs_f64();
    match seconds {
        s if s < 10.0 => format!("{s:.1} s"),
        s if s < 60.0 => format!("{s:.0} s"),
        s => format!("{} min {} s", s as u64 / 60, s as u64 % 60),
    }
}

#[cfg(test)]
mod tests {
    use super::state::JobRates;
    use super::*;

    #[test]
    fn rates_are_bytes_where_there_are_any() {
        let mut rates = JobRates::default();
        let look = |rates: &mut JobRates, at: f64, done: u64, bytes: u64| {
            rates.look(
                Duration::from_secs_f64(at),
                &Progress {
                    done,
                    bytes,
                    ..Progress::default()
                },
            );
        };
        look(&mut rates, 0.0, 0, 0);
        look(&mut rates, 0.1, 5, 0);
        assert!(rates.points.is_empty(), "too early for a point");
        look(&mut rates, 1.0, 20, 0);
        assert_eq!(rates.points, [(1.0, 20.0)]);
        look(&mut rates, 2.0, 30, 4000);
        assert_eq!((rates.of_bytes, rates.points[1]), (true, (2.0, 4000.0)));
        look(&mut rates, 100.0, 0, 4000);
        assert_eq!(rates.points.len(), 1, "old points are removed");
    }

    #[test]
    fn progress_reads_like_a_sentence() {
        let mut progress = Progress {
            done: 5962,
            total: Some(9624),
            bytes: 842_000_000,
            ..Progress::default()
        };
        let text = detail(&progress, Duration::from_secs(10));
        assert_eq!(
            text,
            "5\u{2009}962 of 9\u{2009}624   84.2 MB/s   ETA 6.1 s   10 s"
        );
        progress.total = None;
        assert!(!detail(&progress, Duration::from_secs(171)).contains("ETA"));
        assert_eq!(time_text(Duration::from_secs(171)), "2 min 51 s");
    }
}
