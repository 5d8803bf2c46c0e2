//! The part panel: the selected part of a plan with its failure, its attempts and the end of its
//! log.

use egui::{Frame, Margin, ScrollArea, Stroke, Ui, vec2};

use super::duration;
use super::parts::look;
use super::throughput::format_time_of_day;
use crate::gui::icons;
use crate::gui::panel_context::{PanelContext, Request};
use crate::gui::panels::panel::Panel;
use crate::gui::theme::{self, font};
use crate::gui::widgets::{self, Button, paint};
use crate::model::SamplePath;
use crate::ops::join_for_shell;
use crate::ops::plan::{AttemptState, PartState, PartStatus, RunRequest, log_tail};
use crate::studio::{Command, RowRef};

/// Maximum number of listed attempts.
const ATTEMPTS: usize = 8;
/// Maximum number of shown log lines.
const LINES: usize = 12;

#[derive(Default)]
pub struct PartPanel;

impl Panel for PartPanel {
    fn contents_ui(&mut self, ui: &mut Ui, cx: &mut PanelContext<'_>) {
        let folder = cx.session.plan.folder();
        let status = cx
            .session
            .plan
            .shown_plan()
            .map(|shown| shown.status.clone());
        let selected = cx.session.plan.selected;
        let part = status.as_ref().and_then(|status| {
            status
                .parts
                .iter()
                .find(|part| Some(part.number) == selected)
        });
        let (Some(folder), Some(part)) = (folder, part) else {
            widgets::draw_empty_state(
                ui,
                icons::FILE_ZIP,
                tr!("No part is selected"),
                tr!("Select a part of the plan to see its attempts, its log and why it failed."),
            );
            return;
        };
        let (jobs, state) = (cx.jobs, &mut cx.session.plan);
        let (of, at) = (part.clone(), folder.clone());
        let key = (folder.clone(), part.number, state.reading);
        state
            .log
            .update(jobs, key, tr!("Read the log of a part"), move |_| {
                log_tail(&at, &of, LINES)
            });
        let lines = state.log.latest().cloned().unwrap_or_default();
        ScrollArea::vertical()
            .id_salt("part")
            .auto_shrink(false)
            .show(ui, |ui| {
                ui.spacing_mut().item_spacing.y = 0.0;
                Frame::NONE
                    .inner_margin(Margin::symmetric(12, 10))
                    .show(ui, |ui| {
                        ui.spacing_mut().item_spacing = vec2(8.0, 6.0);
                        head_ui(ui, part);
                        failure_ui(ui, cx, part);
                    });
                widgets::line_below(ui);
                Frame::NONE
                    .inner_margin(Margin::symmetric(12, 10))
                    .show(ui, |ui| {
                        ui.spacing_mut().item_spacing = vec2(8.0, 6.0);
                        facts_ui(ui, part);
                    });
                widgets::line_below(ui);
                Frame::NONE
                    .inner_margin(Margin::symmetric(12, 10))
                    .show(ui, |ui| {
                        ui.spacing_mut().item_spacing = vec2(8.0, 6.0);
                        attempts_ui(ui, part);
                        log_ui(ui, cx, &lines);
                        let command = format!(
                            "taco-studio plan run {} --part {}",
                            join_for_shell([folder.display().to_string().as_str()]),
                            part.number
                        );
                        ui.horizontal(|ui| {
                            let blocked = if cx.studio.is_building_plan() {
                                Some(tr!("Another plan is being built."))
                            } else if part.state == PartState::Done {
                                Some(tr!("The part is written."))
                            } else if part.state == PartState::Running {
                                Some(tr!("A process is working on the part."))
                            } else {
                                None
                            };
                            if ui
                                .add(
                                    Button::secondary(tr!("Run here"))
                                        .icon(icons::MONITOR)
                                        .with_disabled_reason(blocked),
                                )
                                .clicked()
                            {
                                cx.run(Command::operate(RunRequest {
                                    folder: folder.clone(),
                                    part: part.number,
                                    ..RunRequest::default()
                                }));
                            }
                            if ui
                                .add(Button::ghost(tr!("Copy the command")).icon(icons::COPY))
                                .clicked()
                            {
                                cx.request(Request::Copy(command));
                            }
                        });
                    });
            });
    }
}

fn head_ui(ui: &mut Ui, part: &PartStatus) {
    let t = theme::tokens(ui);
    let (name, tone, icon) = look(part.state);
    ui.horizontal(|ui| {
        ui.label(
            theme::rich_text(tr!("Part {number}", number = part.number))
                .font(font::semibold(14.0))
                .color(t.tx),
        );
        widgets::badge(ui, tone, Some(icon), name);
        let attempts = part.attempts.len();
        if attempts > 1 {
            ui.label(
                theme::rich_text(tr!("attempt {n}", n = attempts))
                    .font(font::regular(12.0))
                    .color(t.tx2),
            );
        }
    });
    ui.label(
        theme::rich_text(&part.name)
            .font(font::mono(12.0))
            .color(t.tx2),
    );
}

fn failure_ui(ui: &mut Ui, cx: &mut PanelContext<'_>, part: &PartStatus) {
    let t = theme::tokens(ui);
    let Some(error) = &part.error else { return };
    Frame::NONE
        .fill(t.errbg)
        .stroke(Stroke::new(1.0, t.errline))
        .corner_radius(4)
        .inner_margin(10)
        .show(ui, |ui| {
            ui.set_width(ui.available_width());
            ui.label(
                theme::rich_text(&error.message)
                    .font(font::regular(12.0))
                    .color(t.err),
            );
            if let Some(place) = &error.place {
                ui.label(theme::rich_text(place).font(font::mono(12.0)).color(t.tx));
            }
            let sample = error
                .place
                .as_deref()
                .and_then(|place| sample_at(cx, place));
            ui.horizontal(|ui| {
                if let Some(sample) = sample
                    && ui
                        .add(Button::secondary(tr!("Show sample")).icon(icons::CROSSHAIR))
                        .clicked()
                {
                    cx.request(Request::Select(Some(sample)));
                }
                if ui
                    .add(Button::ghost(tr!("Copy the report")).icon(icons::COPY))
                    .clicked()
                {
                    cx.request(Request::Copy(error.report.clone()));
                }
            });
        });
}

/// The sample of the open document at `place`, a path of sample ids.
fn sample_at(cx: &PanelContext<'_>, place: &str) -> Option<RowRef> {
    let ids = SamplePath(place.split('/').map(|id| id.trim().into()).collect());
    let (level, row) = cx.document()?.tree().find(&ids)?;
    Some(RowRef { level, row })
}

fn facts_ui(ui: &mut Ui, part: &PartStatus) {
    let t = theme::tokens(ui);
    let last = part.attempts.last();
    let mut facts = vec![
        (tr!("Roots"), paint::format_grouped_number(part.roots)),
        (tr!("Size"), paint::format_bytes(part.data_bytes)),
    ];
    facts.extend(part.host.clone().map(|host| (tr!("Host"), host)));
    facts.extend(
        last.filter(|last| !last.job.is_empty())
            .map(|last| (tr!("Job"), last.job.clone())),
    );
    facts.extend(part.seconds.map(|seconds| (tr!("Time"), duration(seconds))));
    facts.push((
        "SHA-256",
        part.sha256
            .clone()
            .unwrap_or_else(|| tr!("none yet").to_owned()),
    ));
    if part.failures > 0 {
        facts.push((
            tr!("Samples that failed"),
            paint::format_grouped_number(part.failures),
        ));
    }
    for (name, value) in facts {
        ui.horizontal(|ui| {
            ui.allocate_ui(vec2(120.0, 18.0), |ui| {
                ui.set_min_width(120.0);
                ui.label(
                    theme::rich_text(name)
                        .font(font::regular(12.0))
                        .color(t.tx2),
                );
            });
            let label =
                egui::Label::new(theme::rich_text(&value).font(font::mono(12.0)).color(t.tx))
                    .truncate();
            ui.add(label).on_hover_text(theme::rich_text(value));
        });
    }
}

fn attempts_ui(ui: &mut Ui, part: &PartStatus) {
    let t = theme::tokens(ui);
    if part.attempts.is_empty() {
        return;
    }
    ui.label(
        theme::rich_text(tr!("Attempts"))
            .font(font::semibold(12.0))
            .color(t.tx),
    );
    let first = part.attempts.len().saturating_sub(ATTEMPTS);
    for (number, attempt) in part.attempts.iter().enumerate().skip(first) {
        let what = match (&attempt.error, attempt.state) {
            (Some(error), _) => error.message.clone(),
            (None, AttemptState::Done) => look(PartState::Done).0.to_owned(),
            (None, AttemptState::Running) if part.state == PartState::Lost => {
                look(PartState::Lost).0.to_owned()
            }
            (None, AttemptState::Running) => look(PartState::Running).0.to_owned(),
            (None, AttemptState::Stopped) => tr!("stopped" in "part").to_owned(),
            (None, AttemptState::Failed) => look(PartState::Failed).0.to_owned(),
        };
        ui.horizontal_wrapped(|ui| {
            ui.label(
                theme::rich_text((number + 1).to_string())
                    .font(font::mono(12.0))
                    .color(t.tx3),
            );
            ui.label(
                theme::rich_text(&attempt.host)
                    .font(font::mono(12.0))
                    .color(t.tx),
            );
            ui.label(
                theme::rich_text(format_time_of_day(attempt.started_ms))
                    .font(font::mono(12.0))
                    .color(t.tx3),
            );
            ui.label(
                theme::rich_text(what)
                    .font(font::regular(12.0))
                    .color(t.tx2),
            );
        });
    }
    ui.add_space(6.0);
}

fn log_ui(ui: &mut Ui, cx: &mut PanelContext<'_>, lines: &[String]) {
    let t = theme::tokens(ui);
    if lines.is_empty() {
        return;
    }
    ui.horizontal(|ui| {
        ui.label(
            theme::rich_text(tr!("Log"))
                .font(font::semibold(12.0))
                .color(t.tx),
        );
        let text = tr_n!(
            lines.len(),
            "last {n} line",
            "last {n} lines",
            n = lines.len()
        );
        ui.label(
            theme::rich_text(text)
                .font(font::regular(12.0))
                .color(t.tx3),
        );
        if ui
            .add(Button::icon_only(icons::COPY, tr!("Copy the log")))
            .clicked()
        {
            cx.request(Request::Copy(lines.join("\n")));
        }
    });
    for line in lines {
        ui.label(theme::rich_text(line).font(font::mono(11.5)).color(t.tx2));
    }
    ui.add_space(6.0);
}
