//! The plan panels. A plan splits a dataset into parts that several processes or machines build
//! ([`crate::ops::plan`]). This one shows the progress of a plan: its parts, throughput, and
//! equivalent command lines. [`engine`] shows the engine with its options, and the form that writes
//! a plan of the draft; [`part`] shows the selected part.

pub mod engine;
pub mod part;
mod parts;
pub mod state;
mod throughput;

use std::path::Path;
use std::sync::Arc;

use egui::{Frame, Label, Margin, ScrollArea, Ui, vec2};

use crate::consent;
use crate::gui::file_dialog::FileRequest;
use crate::gui::icons;
use crate::gui::panel_context::{PanelContext, Request};
use crate::gui::panels::panel::Panel;
use crate::gui::theme::{self, font};
use crate::gui::widgets::{self, Button, EmptyState, paint};
use crate::ops::plan::{Engine, PlanStatus, SubmitRequest, plan_status};
use crate::ops::{Operation, join_for_shell};
use crate::studio::Command;
use state::{EngineChoice, ShownPlan};
use throughput::Throughput;

/// Seconds between two reads of the status while parts are built.
const AGAIN_S: f64 = 2.0;

#[derive(Default)]
pub struct PlanPanel;

impl Panel for PlanPanel {
    fn contents_ui(&mut self, ui: &mut Ui, cx: &mut PanelContext<'_>) {
        let Some(folder) = cx.session.plan.folder() else {
            let state = EmptyState {
                icon: icons::STACK,
                title: tr!("No plan is open"),
                why: tr!(
                    "Choose the folder of a plan to follow it, or a new folder that every worker \
                        can reach to write a plan of the draft."
                ),
                actions: &[tr!("Choose a folder…")],
            };
            if widgets::draw_empty_state_with_actions(ui, &state).is_some() {
                choose_folder(cx);
            }
            return;
        };
        let building = cx.studio.is_building_plan();
        read(ui, cx, &folder, building);
        let key = (folder.clone(), cx.session.plan.reading);
        if let Some(Err(error)) = cx.session.plan.status.get(&key) {
            let text = error.to_string();
            return widgets::remark(ui, 12, &text);
        }
        let is_read = cx
            .session
            .plan
            .status
            .latest()
            .is_some_and(|found| found.0 == folder);
        let shown = cx.session.plan.shown_plan().cloned();
        ScrollArea::vertical()
        .id_salt("plan")
        .auto_shrink(false)
        .show(ui, |ui| {
            ui.spacing_mut().item_spacing.y = 0.0;
            match shown {
                None if !is_read => drop(widgets::spinner(ui, 20.0)),
                None => {
                    let state = EmptyState {
                        icon: icons::STACK,
                        title: tr!("This folder has no plan"),
                        why: tr!(
                            "Write a plan of the draft into it with the form in Engine, or choose \
                                the folder of a plan."
                        ),
                        actions: &[tr!("Choose a folder…")],
                    };
                    if widgets::draw_empty_state_with_actions(ui, &state).is_some() {
                        choose_folder(cx);
                    }
                }
                Some(shown) => status_ui(ui, cx, &folder, &shown, building),
            }
        });
    }
}

fn choose_folder(cx: &mut PanelContext<'_>) {
    cx.request(Request::ChooseFiles(FileRequest::Plan));
}

/// Requests the status, every few seconds while parts are built.
fn read(ui: &Ui, cx: &mut PanelContext<'_>, folder: &Path, building: bool) {
    let state = &mut cx.session.plan;
    let running = state
        .shown_plan()
        .is_some_and(|shown| shown.status.running > 0);
    let now = ui.input(|input| input.time);
    if building || running {
        if now - state.asked_at >= AGAIN_S && !state.status.is_pending() {
            state.read_again();
        }
        ui.ctx()
            .request_repaint_after(std::time::Duration::from_secs_f64(AGAIN_S));
    }
    let key = (folder.to_owned(), state.reading);
    if state.status.key() != Some(&key) {
        state.asked_at = now;
    }
    let folder = folder.to_owned();
    state
        .status
        .update(cx.jobs, key, tr!("Read the plan"), move |_| {
            let shown = if folder.join("plan.json").exists() {
                let status = Arc::new(plan_status(&folder)?);
                let throughput = Arc::new(Throughput::from_status(&status));
                Some(ShownPlan { status, throughput })
            } else {
                None
            };
            Ok((folder, shown))
        });
}

fn status_ui(
    ui: &mut Ui,
    cx: &mut PanelContext<'_>,
    folder: &Path,
    shown: &ShownPlan,
    building: bool,
) {
    let status = &*shown.status;
    let t = theme::tokens(ui);
    Frame::NONE
        .inner_margin(Margin::symmetric(12, 10))
        .show(ui, |ui| {
            ui.spacing_mut().item_spacing = vec2(8.0, 8.0);
            ui.horizontal_wrapped(|ui| {
                let (roots, bytes) = (
                    paint::format_grouped_number(status.roots),
                    paint::format_bytes(status.data_bytes),
                );
                let text = tr_n!(
                    status.total,
                    "{roots} roots, {bytes} in {n} part",
                    "{roots} roots, {bytes} in {n} parts",
                    n = status.total,
                    roots,
                    bytes
                );
                ui.label(theme::rich_text(text).font(font::medium(13.0)).color(t.tx));
                ui.add_space(12.0);
                submit_ui(ui, cx, folder, status, building);
            });
            let share = status.share();
            ui.horizontal(|ui| {
                let width = (ui.available_width() - 56.0).max(80.0);
                widgets::progress_bar(ui, tr!("Progress of the plan"), share as f32, width, 8.0);
                ui.label(
                    theme::rich_text(format!("{:.0} %", share * 100.0))
                        .font(font::mono_semibold(12.0))
                        .color(t.tx),
                );
            });
            ui.horizontal_wrapped(|ui| {
                ui.spacing_mut().item_spacing.x = 18.0;
                let mut facts = vec![tr!(
                    "{done} of {total} parts written",
                    done = status.done,
                    total = status.total
                )];
                if status.bytes_per_second > 0.0 {
                    facts.push(tr!(
                        "{rate}/s",
                        rate = paint::format_bytes(status.bytes_per_second as u64)
                    ));
                    facts.push(tr!(
                        "{rate} roots/s",
                        rate = format!("{:.0}", status.roots_per_second)
                    ));
                }
                if let Some(eta) = status.eta_seconds {
                    facts.push(tr!("{time} to go", time = duration(eta)));
                }
                if status.elapsed_seconds > 0.0 {
                    facts.push(tr!(
                        "{time} so far",
                        time = duration(status.elapsed_seconds)
                    ));
                }
                for fact in facts {
                    ui.label(
                        theme::rich_text(fact)
                            .font(font::regular(12.0))
                            .color(t.tx2),
                    );
                }
            });
        });
    parts::ui(ui, &mut cx.session.plan, status);
    if shown
        .throughput
        .bytes_per_second
        .iter()
        .any(|rate| *rate > 0.0)
    {
        widgets::line_below(ui);
        Frame::NONE
            .inner_margin(Margin::symmetric(12, 8))
            .show(ui, |ui| {
                ui.horizontal(|ui| {
                    ui.label(
                        theme::rich_text(tr!("Throughput"))
                            .font(font::semibold(12.0))
                            .color(t.tx),
                    );
                    let text = tr!("line: bytes written per second, bars: parts being built");
                    ui.label(
                        theme::rich_text(text)
                            .font(font::regular(12.0))
                            .color(t.tx3),
                    );
                });
                throughput::ui(ui, &shown.throughput);
            });
    }
    widgets::line_below(ui);
    commands_ui(ui, cx, folder, status);
}

/// The buttons that submit the missing parts and finish the plan.
fn submit_ui(
    ui: &mut Ui,
    cx: &mut PanelContext<'_>,
    folder: &Path,
    status: &PlanStatus,
    building: bool,
) {
    let missing = status.missing().len();
    let state = &cx.session.plan;
    let (engine, tries, program) = (state.engine(), state.tries(), state.program());
    let busy = building.then_some(tr!("The parts are being built."));
    let blocked = match (&engine, tries) {
        _ if missing == 0 && status.done < status.total => {
            Some(tr!("Other processes are working on the parts."))
        }
        _ if missing == 0 => Some(tr!("All parts are written.")),
        (Err(wrong), _) => Some(*wrong),
        (_, None) => Some(tr!("The number of tries is not a number.")),
        _ => busy,
    };
    let text = if missing == status.total {
        tr!("Submit").to_owned()
    } else {
        tr!("Submit missing parts: {missing}", missing)
    };
    let submit = match missing {
        0 => Button::secondary(tr!("Submit")),
        _ => Button::primary(text),
    };
    if ui
        .add(submit.icon(icons::PLAY).with_disabled_reason(blocked))
        .clicked()
        && let (Ok(engine), Some(tries)) = (engine, tries)
    {
        let request = SubmitRequest {
            tries,
            program,
            ..SubmitRequest::new(folder.to_owned(), engine)
        };
        // The user typed these programs, and allows them with this click.
        request
            .programs()
            .iter()
            .for_each(|program| consent::allow_program(program));
        cx.run(Command::operate(request));
    }
    if let Some(finished) = &status.finished
        && let Some(path) = finished
            .indexes
            .first()
            .map(|index| &index.path)
            .or(finished.parts.first())
    {
        if ui
            .add(Button::primary(tr!("Open the dataset")).icon(icons::FOLDER_OPEN))
            .clicked()
        {
            cx.run(Command::Open { path: path.clone() });
        }
        return;
    }
    let left = status.total - status.done;
    let waits = tr_n!(
        left,
        "{n} part is not written yet.",
        "{n} parts are not written yet.",
        n = left
    );
    let blocked = if left > 0 { Some(waits.as_str()) } else { busy };
    let text = tr!("Write index and collection");
    let finish = if left == 0 {
        Button::primary(text)
    } else {
        Button::secondary(text)
    };
    if ui
        .add(
            finish
                .icon(icons::CHECK_CIRCLE)
                .with_disabled_reason(blocked),
        )
        .clicked()
    {
        cx.run(Command::operate(SubmitRequest::new(
            folder.to_owned(),
            Engine::Local { workers: 1 },
        )));
    }
}

/// Equivalent command lines, for this machine or with an engine.
fn commands_ui(ui: &mut Ui, cx: &mut PanelContext<'_>, folder: &Path, status: &PlanStatus) {
    let t = theme::tokens(ui);
    let place = join_for_shell([folder.display().to_string().as_str()]);
    let part = cx
        .session
        .plan
        .selected
        .or_else(|| status.missing().first().copied())
        .unwrap_or(1);
    let commands = [
        (
            tr!("Submit"),
            format!("taco-studio plan submit {place}{}", engine_words(cx)),
        ),
        (
            tr!("By hand"),
            format!("taco-studio plan run {place} --part {part}"),
        ),
        (tr!("State"), format!("taco-studio plan status {place}")),
        (tr!("Finish"), format!("taco-studio plan finish {place}")),
    ];
    Frame::NONE
        .inner_margin(Margin::symmetric(12, 10))
        .show(ui, |ui| {
            ui.spacing_mut().item_spacing = vec2(8.0, 6.0);
            ui.horizontal(|ui| {
                ui.label(
                    theme::rich_text(tr!("Commands"))
                        .font(font::semibold(12.0))
                        .color(t.tx),
                );
                ui.label(
                    theme::rich_text(tr!("each can be run again safely"))
                        .font(font::regular(12.0))
                        .color(t.tx3),
                );
            });
            for (name, command) in commands {
                ui.horizontal(|ui| {
                    ui.allocate_ui(vec2(96.0, 20.0), |ui| {
                        ui.set_min_width(96.0);
                        ui.label(
                            theme::rich_text(name)
                                .font(font::regular(12.0))
                                .color(t.tx2),
                        );
                    });
                    if ui
                        .add(Button::icon_only(
                            icons::COPY,
                            tr!("Copy the command: {name}", name),
                        ))
                        .clicked()
                    {
                        cx.request(Request::Copy(command.clone()));
                    }
                    ui.add(
                        Label::new(
                            theme::rich_text(&command)
                                .font(font::mono(12.0))
                                .color(t.tx),
                        )
                        .truncate(),
                    );
                });
            }
        });
}

/// Options of `plan submit` for the chosen engine; empty fields add none.
fn engine_words(cx: &PanelContext<'_>) -> String {
    let state = &cx.session.plan;
    let mut words = String::new();
    match state.engine {
        EngineChoice::Local => append_option(&mut words, "--workers", &state.workers),
        EngineChoice::Slurm => {
            append_option(&mut words, "--engine", "slurm");
            append_option(&mut words, "--partition", &state.partition);
            append_option(&mut words, "--at-once", &state.at_once);
            let memory = if state.memory.trim().is_empty() {
                String::new()
            } else {
                format!("{}GB", state.memory.trim())
            };
            append_option(&mut words, "--memory", &memory);
            append_option(&mut words, "--time", &state.minutes);
        }
        EngineChoice::Dask => {
            append_option(&mut words, "--engine", "dask");
            append_option(&mut words, "--scheduler", &state.scheduler);
            append_option(&mut words, "--python", &state.python);
        }
    }
    append_option(&mut words, "--tries", &state.tries);
    append_option(&mut words, "--program", &state.program);
    words
}

/// Appends an option of the command line unless its value is empty.
fn append_option(words: &mut String, option: &str, value: &str) {
    if !value.trim().is_empty() {
        words.push_str(&format!(" {option} {}", join_for_shell([value.trim()])));
    }
}

/// Formats a duration in seconds, such as `2 min 5 s`.
fn duration(seconds: f64) -> String {
    let whole = seconds.round().max(0.0) as u64;
    match (whole / 3600, whole / 60 % 60, whole % 60) {
        (0, 0, s) => tr!("{s} s", s),
        (0, m, s) => tr!("{m} min {s} s", m, s),
        (h, m, _) => tr!("{h} h {m} min", h, m),
    }
}
