//! The engine panel: the engine that builds the parts with its options, and the form that writes a
//! plan of the draft.

use std::path::{Path, PathBuf};

use egui::{Frame, Label, ScrollArea, Ui, vec2};

use super::choose_folder;
use super::state::{EngineChoice, PlanState};
use crate::container::{BuildOptions, Format, OnDamage, PartOptions};
use crate::gui::icons;
use crate::gui::panel_context::{PanelContext, Request};
use crate::gui::panels::panel::Panel;
use crate::gui::theme::{self, font};
use crate::gui::widgets::{self, Button, ChoiceCard, TextField, paint};
use crate::ops::plan::{default_dataset, default_indexes, slurm_version};
use crate::studio::{Command, Document, PlanDraft};
use crate::table::ParquetOptions;

/// Width of the field names in points.
const NAME: f32 = 96.0;

#[derive(Default)]
pub struct EnginePanel;

impl Panel for EnginePanel {
    fn contents_ui(&mut self, ui: &mut Ui, cx: &mut PanelContext<'_>) {
        ScrollArea::vertical()
            .id_salt("engine")
            .auto_shrink(false)
            .show(ui, |ui| {
                Frame::NONE.inner_margin(12).show(ui, |ui| {
                    ui.spacing_mut().item_spacing = vec2(8.0, 8.0);
                    let cores =
                        std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
                    let here = tr_n!(cores, "{n} core", "{n} cores", n = cores);
                    let choices = [
                        (
                            EngineChoice::Local,
                            tr!("This machine"),
                            here.as_str(),
                            icons::MONITOR,
                        ),
                        (
                            EngineChoice::Slurm,
                            "Slurm",
                            tr!("array of jobs, shared folder"),
                            icons::HARD_DRIVES,
                        ),
                        (
                            EngineChoice::Dask,
                            "Dask",
                            tr!("a scheduler that is running"),
                            icons::LINK,
                        ),
                    ];
                    for (choice, name, what, icon) in choices {
                        let card = ChoiceCard {
                            name,
                            ending: "",
                            what,
                            icon,
                        };
                        if widgets::choice_card(ui, cx.session.plan.engine == choice, &card) {
                            cx.session.plan.engine = choice;
                        }
                    }
                    options_ui(ui, cx);
                });
                widgets::line_below(ui);
                Frame::NONE.inner_margin(12).show(ui, |ui| {
                    ui.spacing_mut().item_spacing = vec2(8.0, 8.0);
                    plan_ui(ui, cx);
                });
            });
    }
}

fn options_ui(ui: &mut Ui, cx: &mut PanelContext<'_>) {
    let t = theme::tokens(ui);
    if cx.session.plan.engine == EngineChoice::Slurm {
        cx.session
            .plan
            .slurm
            .update(cx.jobs, (), tr!("Look for Slurm"), |_| Ok(slurm_version()));
        let found = match cx.session.plan.slurm.latest() {
            None => String::new(),
            Some(None) => tr!("sbatch is not on this machine").to_owned(),
            Some(Some(version)) => tr!("{version} found", version),
        };
        ui.label(
            theme::rich_text(found)
                .font(font::regular(11.5))
                .color(t.tx3),
        );
    }
    let state = &mut cx.session.plan;
    match state.engine {
        EngineChoice::Local => row(
            ui,
            tr!("Run at once"),
            &mut state.workers,
            56.0,
            "",
            tr!("processes"),
        ),
        EngineChoice::Slurm => {
            row(
                ui,
                tr!("Partition"),
                &mut state.partition,
                140.0,
                tr!("the default one"),
                "",
            );
            row(
                ui,
                tr!("Run at once"),
                &mut state.at_once,
                56.0,
                tr!("all"),
                tr!("parts"),
            );
            row(
                ui,
                tr!("Memory"),
                &mut state.memory,
                84.0,
                tr!("estimate"),
                tr!("GB a part"),
            );
            row(
                ui,
                tr!("Time limit"),
                &mut state.minutes,
                84.0,
                tr!("estimate"),
                tr!("minutes"),
            );
        }
        EngineChoice::Dask => {
            row(
                ui,
                tr!("Scheduler"),
                &mut state.scheduler,
                150.0,
                "tcp://HOST:8786",
                "",
            );
            row(ui, "Python", &mut state.python, 150.0, "python3", "");
        }
    }
    row(
        ui,
        tr!("Program"),
        &mut state.program,
        150.0,
        tr!("this one"),
        "",
    );
    row(
        ui,
        tr!("If it fails"),
        &mut state.tries,
        56.0,
        "",
        tr!("attempts"),
    );
}

/// A field with its name on the left and its unit on the right.
fn row(ui: &mut Ui, name: &str, value: &mut String, width: f32, hint: &str, unit: &str) {
    let t = theme::tokens(ui);
    ui.horizontal(|ui| {
        ui.allocate_ui(vec2(NAME, 24.0), |ui| {
            ui.set_min_size(vec2(NAME, 24.0));
            ui.centered_and_justified(|ui| {
                ui.with_layout(egui::Layout::left_to_right(egui::Align::Center), |ui| {
                    ui.label(
                        theme::rich_text(name)
                            .font(font::regular(12.0))
                            .color(t.tx2),
                    );
                });
            });
        });
        // In a narrow panel the field is narrowed to keep its unit visible.
        let beside = match unit {
            "" => 0.0,
            unit => {
                paint::measure_text_width(ui.painter(), unit, font::regular(12.0), t.tx2)
                    + ui.spacing().item_spacing.x
            }
        };
        let width = width.min((ui.available_width() - beside).max(36.0));
        TextField::new(name, value)
            .hide_label()
            .mono()
            .hint(hint)
            .width(width)
            .show(ui);
        if !unit.is_empty() {
            ui.add(
                Label::new(
                    theme::rich_text(unit)
                        .font(font::regular(12.0))
                        .color(t.tx2),
                )
                .truncate(),
            );
        }
    });
}

/// The folder of the plan; a summary of its plan, or the form that writes one.
fn plan_ui(ui: &mut Ui, cx: &mut PanelContext<'_>) {
    let t = theme::tokens(ui);
    ui.label(
        theme::rich_text(tr!("Plan"))
            .font(font::semibold(13.0))
            .color(t.tx),
    );
    let width = ui.available_width();
    let before = cx.session.plan.folder.clone();
    let field = TextField::new(tr!("Folder of the plan"), &mut cx.session.plan.folder);
    field
        .mono()
        .hint(tr!("folder that every worker reaches"))
        .width(width)
        .show(ui);
    if before != cx.session.plan.folder {
        // Parts of another plan have the same numbers.
        cx.session.plan.selected = None;
    }
    ui.horizontal_wrapped(|ui| {
        if ui
            .add(Button::secondary(tr!("Choose…")).icon(icons::FOLDER_OPEN))
            .clicked()
        {
            choose_folder(cx);
        }
        if ui
            .add(Button::ghost(tr!("Read the state again")).icon(icons::ARROW_CLOCKWISE))
            .clicked()
        {
            cx.session.plan.read_again();
        }
        let state = &cx.session.plan;
        let plan = state.folder().filter(|_| state.shown_plan().is_some());
        let show = Button::ghost(tr!("Show in folder")).icon(icons::FOLDER_OPEN);
        if let Some(folder) = plan
            && ui.add(show).clicked()
        {
            cx.request(Request::ShowInFolder(folder.join("plan.json")));
        }
    });
    let Some(folder) = cx.session.plan.folder() else {
        return;
    };
    if let Some(shown) = cx.session.plan.shown_plan() {
        let status = &shown.status;
        let (least, most) = sizes(status);
        let text = match status.total {
            0 | 1 => tr!("1 part of {size}", size = paint::format_bytes(most)),
            total => tr!(
                "{total} parts of {least} to {most}",
                total,
                least = paint::format_bytes(least),
                most = paint::format_bytes(most)
            ),
        };
        ui.label(
            theme::rich_text(text)
                .font(font::regular(12.0))
                .color(t.tx2),
        );
        let dataset = status.dataset.display().to_string();
        ui.add(
            Label::new(
                theme::rich_text(&dataset)
                    .font(font::mono(11.5))
                    .color(t.tx2),
            )
            .truncate(),
        )
        .on_hover_text(theme::rich_text(dataset));
        return;
    }
    make_ui(ui, cx, &folder);
}

/// Sizes of the smallest and the largest part in bytes.
fn sizes(status: &crate::ops::plan::PlanStatus) -> (u64, u64) {
    let sizes = || status.parts.iter().map(|part| part.data_bytes);
    (
        sizes().min().unwrap_or_default(),
        sizes().max().unwrap_or_default(),
    )
}

/// The form that writes a plan of the draft.
fn make_ui(ui: &mut Ui, cx: &mut PanelContext<'_>, folder: &Path) {
    let building = cx.studio.is_building_plan();
    let Some(Document::Draft(draft)) = cx.document() else {
        return widgets::remark(
            ui,
            0,
            tr!(
                "This folder has no plan. Open a draft to write one, or name the folder of a plan."
            ),
        );
    };
    let calls = draft.recipe.len();
    let id = draft.draft.dataset().collection.id().to_owned();
    let empty = draft.draft.dataset().root.samples.is_empty();
    let usual = default_dataset(folder, &id);
    let hint = usual.display().to_string();
    let state: &mut PlanState = &mut cx.session.plan;
    let width = ui.available_width();
    TextField::new(tr!("Dataset to write"), &mut state.dataset)
        .mono()
        .hint(&hint)
        .width(width)
        .show(ui);
    row(ui, tr!("Parts"), &mut state.parts, 56.0, "", tr!("at most"));
    if calls > 0 {
        let text = tr_n!(
            calls,
            "Run {n} stored extension",
            "Run {n} stored extensions",
            n = calls
        );
        widgets::checkbox(ui, &mut state.recipe, &text);
    }
    let parts = state
        .parts
        .trim()
        .parse::<usize>()
        .ok()
        .filter(|parts| *parts > 0);
    let blocked = if empty {
        Some(tr!("The draft has no samples."))
    } else if parts.is_none() {
        Some(tr!("The number of parts is not a number."))
    } else if building {
        Some(tr!("Another plan is being built."))
    } else {
        None
    };
    let typed = state.dataset.trim();
    let target = if typed.is_empty() {
        usual
    } else {
        PathBuf::from(typed)
    };
    let recipe = state.recipe && calls > 0;
    if ui
        .add(
            Button::primary(tr!("Write plan"))
                .icon(icons::EXPORT)
                .with_disabled_reason(blocked),
        )
        .clicked()
    {
        let options = BuildOptions {
            target,
            format: Format::Zip,
            parquet: ParquetOptions::default(),
            overwrite: false,
            text_columns: false,
            align_blocks: false,
            parts: Some(default_indexes(&PartOptions::default(), Format::Zip)),
            on_damage: OnDamage::Stop,
        };
        let request = PlanDraft {
            folder: folder.to_owned(),
            options,
            most_parts: parts,
            recipe,
        };
        cx.run(Command::PlanDraft {
            request: Box::new(request),
        });
    }
    widgets::remark(
        ui,
        0,
        tr!(
            "The plan is a folder of small files. A window on another machine that opens this \
                folder shows the same state."
        ),
    );
}
