//! Preview of a run: a job runs the chosen extensions over one root, and every column to be added
//! shows its type and an example. Below it the cost and the button that starts the run.

use std::sync::Arc;
use std::time::Instant;

use egui::{Frame, Margin, Rect, Role, Sense, Stroke, Ui, WidgetInfo, pos2, vec2};

use super::state::{AddedColumn, ExtensionPreview, ExtensionsPanel, PreviewKey};
use super::targets::TargetGroup;
use crate::error::Result;
use crate::extensions::{self, ExtensionCall, ExtensionEntry, builtin};
use crate::gui::action::Action;
use crate::gui::counted_texts;
use crate::gui::icons;
use crate::gui::panel_context::{PanelContext, Request};
use crate::gui::theme::{self, font, text_style};
use crate::gui::widgets::{self, Button, FieldNote, Tone, note_ui, paint};
use crate::jobs::JobContext;
use crate::model::{Dataset, Payload, Tortilla, dtype_name};
use crate::studio::{Command, Document};
use crate::table::value_text;

/// Runs these calls over the first root that is not padding.
pub fn example_of(
    dataset: &Dataset,
    calls: &[ExtensionCall],
    ctx: &JobContext,
) -> Result<ExtensionPreview> {
    let Some(root) = dataset
        .root
        .samples
        .iter()
        .find(|sample| !sample.is_padding())
    else {
        return Ok(ExtensionPreview::default());
    };
    let one = Tortilla {
        schema: dataset.root.schema.clone(),
        samples: vec![root.clone()],
    };
    let small = Dataset {
        collection: dataset.collection.clone(),
        root: Arc::new(one),
    };
    let registry = builtin();
    // Of the whole dataset: other roots may have columns that the first one lacks.
    let clashes = extensions::find_column_clashes(dataset, calls, &registry)?;
    let started = Instant::now();
    // Programs that the user has not agreed to are not started for the preview; their columns show
    // nulls. Others try one sample.
    let mut shown = calls.to_vec();
    for call in &mut shown {
        call.schema_only |= !extensions::programs_in(std::slice::from_ref(call)).is_empty();
        if extensions::starts_program(call)
            && let Some(path) = first_target(&small, call)
        {
            call.target.positions = vec![path];
        }
    }
    let run = extensions::run(&small, &shown, &registry, ctx)?;
    let seconds_per_root = started.elapsed().as_secs_f64();
    let mut columns = Vec::new();
    for (level, made) in run.columns.iter().enumerate() {
        for column in made {
            let value = column.values.iter().find(|value| !value.is_null());
            columns.push(AddedColumn {
                level: Some(level),
                name: column.field.name.clone(),
                type_name: dtype_name(&column.field.dtype),
                example: value.map_or("null".into(), |value| {
                    value_text(value, &column.field.dtype)
                }),
                exists: clashes
                    .iter()
                    .any(|clash| clash.level == level && clash.column == column.field.name),
            });
        }
    }
    for (key, value) in &run.collection {
        let exists = dataset.collection.get(key).is_some();
        columns.push(AddedColumn {
            level: None,
            name: key.clone(),
            type_name: "JSON".into(),
            example: value.to_string(),
            exists,
        });
    }
    let failures = run
        .failures
        .iter()
        .map(|failure| format!("{}: {}", failure.path, failure.error))
        .collect();
    let bytes = targeted_bytes(dataset, calls, ctx)?;
    Ok(ExtensionPreview {
        columns,
        root: root.id.to_string(),
        failures,
        bytes,
        seconds_per_root,
    })
}

/// Path of ids of the first FILE that a call of a sample extension targets.
fn first_target(dataset: &Dataset, call: &ExtensionCall) -> Option<String> {
    fn find_target_below<'a>(
        tortilla: &'a Tortilla,
        level: usize,
        ids: &mut Vec<&'a str>,
        call: &ExtensionCall,
    ) -> Option<String> {
        for sample in &tortilla.samples {
            ids.push(&sample.id);
            let found = match &sample.payload {
                Payload::Folder(children) if level < call.target.level => {
                    find_target_below(children, level + 1, ids, call)
                }
                Payload::Folder(_) => None,
                _ if level == call.target.level
                    && !sample.is_padding()
                    && call.target.names(ids) =>
                {
                    Some(ids.join("/"))
                }
                _ => None,
            };
            ids.pop();
            if found.is_some() {
                return found;
            }
        }
        None
    }
    find_target_below(&dataset.root, 0, &mut Vec::new(), call)
}

/// Bytes of the samples targeted by sample extensions, each sample counted once.
fn targeted_bytes(dataset: &Dataset, calls: &[ExtensionCall], ctx: &JobContext) -> Result<u64> {
    fn sum_bytes_below<'a>(
        tortilla: &'a Tortilla,
        level: usize,
        ids: &mut Vec<&'a str>,
        calls: &[ExtensionCall],
    ) -> u64 {
        let mut bytes = 0;
        for sample in &tortilla.samples {
            ids.push(&sample.id);
            bytes += match &sample.payload {
                Payload::Folder(children) => sum_bytes_below(children, level + 1, ids, calls),
                _ if calls
                    .iter()
                    .any(|call| call.target.level == level && call.target.names(ids)) =>
                {
                    sample.size_bytes()
                }
                _ => 0,
            };
            ids.pop();
        }
        bytes
    }
    ctx.check()?;
    Ok(sum_bytes_below(&dataset.root, 0, &mut Vec::new(), calls))
}

/// The calls, their preview, and the error of the preview.
type ShownExample = (
    Vec<ExtensionCall>,
    Option<Arc<ExtensionPreview>>,
    Option<String>,
);

fn find_shown_example(
    panel: &mut ExtensionsPanel,
    cx: &mut PanelContext<'_>,
    document: &Document,
) -> std::result::Result<ShownExample, String> {
    let calls = panel.calls()?;
    let Some(draft) = document.draft() else {
        return Ok((calls, None, None));
    };
    let key = PreviewKey {
        document: cx.document_key(),
        calls: calls.clone(),
        programs_agreed: extensions::programs_in(&calls).is_empty(),
    };
    let preview = &mut panel.preview;
    if !calls.is_empty() {
        let (dataset, calls) = (draft.dataset().clone(), calls.clone());
        preview.update(
            cx.jobs,
            key.clone(),
            tr!("Example of the columns"),
            move |ctx| Ok(Arc::new(example_of(&dataset, &calls, ctx)?)),
        );
    }
    Ok(match preview.get(&key) {
        Some(Ok(example)) => (calls, Some(example.clone()), None),
        Some(Err(error)) => (calls, None, Some(error.to_string())),
        None => (calls, None, None),
    })
}

/// Number of samples that the calls process.
fn count_target_samples(groups: &[TargetGroup], calls: &[ExtensionCall]) -> u64 {
    // A sample targeted by several extensions counts once.
    let mut any = vec![false; groups.len()];
    for call in calls {
        let ticked = super::targets::select_target_groups(groups, &call.target);
        any.iter_mut().zip(ticked).for_each(|(any, on)| *any |= on);
    }
    groups
        .iter()
        .zip(any)
        .filter(|(_, on)| *on)
        .map(|(group, _)| group.samples)
        .sum()
}

/// Draws the columns to be added.
pub fn columns_ui(
    ui: &mut Ui,
    panel: &mut ExtensionsPanel,
    cx: &mut PanelContext<'_>,
    document: &Document,
) {
    let t = theme::tokens(ui);
    let found = find_shown_example(panel, cx, document);
    let example = found
        .as_ref()
        .ok()
        .and_then(|(_, example, _)| example.clone());
    widgets::section_header(ui, tr!("Columns to be added"), |ui| {
        if let Some(example) = &example {
            let text = tr!("example from {root}", root = example.root);
            ui.label(
                theme::rich_text(text)
                    .font(font::regular(11.0))
                    .color(t.tx3),
            );
            widgets::count_badge(ui, example.columns.len() as u64, Tone::Neutral);
        }
    });
    let note = match &found {
        Err(why) => Some(FieldNote::Error(why.clone())),
        Ok((calls, _, _)) if calls.is_empty() => Some(FieldNote::Info(
            tr!("Tick an extension to see what it adds.").into(),
        )),
        Ok((_, _, Some(error))) => Some(FieldNote::Error(error.clone())),
        Ok((_, None, None)) => Some(FieldNote::Info(tr!("Looking at one root…").into())),
        Ok(_) => None,
    };
    if let Some(note) = note {
        Frame::NONE
            .inner_margin(Margin::symmetric(12, 6))
            .show(ui, |ui| note_ui(ui, &note));
    }
    let Some(example) = example else { return };
    let groups = panel.groups.clone();
    let calls = found.map(|(calls, _, _)| calls).unwrap_or_default();
    let registry = panel.registry.entries();
    if let Some(call) = calls.iter().find(|call| call_lacks_times(registry, call)) {
        let extension = registry
            .iter()
            .find(|entry| entry.name == call.extension)
            .map_or("", |entry| crate::text::translate_text(entry.title));
        Frame::NONE
            .inner_margin(Margin::symmetric(12, 4))
            .show(ui, |ui| {
                let text = tr!(
                    "{extension} has no source of times: its columns of times hold null. Set time \
                    pattern, time column or time start.",
                    extension
                );
                note_ui(ui, &FieldNote::Warning(text));
            });
    }
    let width = ui.available_width();
    for added in &example.columns {
        let (row, response) = ui.allocate_exact_size(vec2(width, 25.0), Sense::hover());
        let name = match added.level {
            Some(level) => {
                tr!(
                    "Column {name} of level {level}: {example}",
                    name = added.name,
                    level,
                    example = added.example
                )
            }
            None => tr!("Field {name}", name = added.name),
        };
        response.widget_info(|| WidgetInfo::labeled(Role::Label, true, &name));
        let painter = ui.painter();
        painter.hline(row.x_range(), row.bottom() - 0.5, Stroke::new(1.0, t.line));
        let level = added
            .level
            .map_or("C".to_owned(), |level| format!("L{level}"));
        paint::text_left(
            painter,
            cut_row(row, 0.0, 0.07),
            &level,
            font::mono(11.0),
            t.tx3,
        );
        let color = if added.exists { t.warn } else { t.tx };
        paint::text_left(
            painter,
            cut_row(row, 0.07, 0.42),
            &added.name,
            font::mono(12.0),
            color,
        );
        paint::text_left(
            painter,
            cut_row(row, 0.42, 0.62),
            &added.type_name,
            font::mono(11.0),
            t.tx3,
        );
        paint::text_left(
            painter,
            cut_row(row, 0.62, 0.88),
            &added.example,
            font::mono(12.0),
            t.tx2,
        );
        let filled: u64 = added.level.map_or(0, |level| {
            let of: Vec<ExtensionCall> = calls
                .iter()
                .filter(|call| call.target.level == level)
                .take(1)
                .cloned()
                .collect();
            count_target_samples(&groups, &of)
        });
        if filled > 0 {
            paint::text_right(
                painter,
                cut_row(row, 0.88, 1.02),
                &paint::format_grouped_number(filled),
                font::mono(11.0),
                t.tx2,
            );
        }
        response.on_hover_text(theme::rich_text(format!(
            "{} {}: {}",
            added.name, added.type_name, added.example
        )));
    }
    let programs = extensions::programs_in(&calls);
    if !programs.is_empty() {
        Frame::NONE
            .inner_margin(Margin::symmetric(12, 6))
            .show(ui, |ui| {
                let text = tr!("The program has not run yet: its columns have no example.");
                note_ui(ui, &FieldNote::Info(text.into()));
                let button = Button::secondary(tr!("Try one sample…")).icon(icons::PLAY);
                if ui
                    .add(button.tooltip(tr!(
                        "Start the program for the first sample alone, after asking"
                    )))
                    .clicked()
                {
                    cx.request(Request::TryPrograms(programs));
                }
            });
    }
    for failure in example.failures.iter().take(3) {
        Frame::NONE
            .inner_margin(Margin::symmetric(12, 4))
            .show(ui, |ui| note_ui(ui, &FieldNote::Warning(failure.clone())));
    }
}

fn call_lacks_times(entries: &[ExtensionEntry], call: &ExtensionCall) -> bool {
    entries.iter().any(|entry| {
        entry.name == call.extension && super::targets::lacks_times(entry, &call.options)
    })
}

/// The part of a row between two shares of its width.
fn cut_row(row: Rect, from: f32, to: f32) -> Rect {
    Rect::from_min_max(
        pos2(row.left() + 12.0 + (row.width() - 24.0) * from, row.top()),
        pos2(row.left() + 6.0 + (row.width() - 24.0) * to, row.bottom()),
    )
}

/// Width of the button that runs the extensions, with its margin, in points.
const BESIDE_RUN: f32 = 96.0;

/// Draws the cost and the button.
pub fn foot_ui(
    ui: &mut Ui,
    panel: &mut ExtensionsPanel,
    cx: &mut PanelContext<'_>,
    document: &Document,
) {
    let t = theme::tokens(ui);
    let rect = ui.max_rect();
    ui.painter().rect_filled(rect, 0, t.bg2);
    ui.painter()
        .hline(rect.x_range(), rect.top() + 0.5, Stroke::new(1.0, t.line));
    let found = find_shown_example(panel, cx, document);
    let clash = found
        .as_ref()
        .ok()
        .and_then(|(_, example, _)| example.as_ref())
        .is_some_and(|example| {
            example
                .columns
                .iter()
                .any(|added| added.exists && added.level.is_some())
        });
    let replace = panel.replace;
    let running = cx.studio.is_extending();
    let blocked = match &found {
        Err(why) => Some(why.clone()),
        Ok((calls, _, _)) if calls.is_empty() => Some(tr!("Tick an extension first").to_owned()),
        Ok((_, _, Some(error))) => Some(error.clone()),
        Ok((_, None, None)) => Some(tr!("Looking at one root").to_owned()),
        Ok(_) if clash && !replace => {
            Some(tr!("Columns of the same name are there already").to_owned())
        }
        Ok(_) if running => Some(tr!("Extensions are running already").to_owned()),
        Ok(_) => None,
    };
    Frame::NONE
        .inner_margin(Margin::symmetric(12, 8))
        .show(ui, |ui| {
            ui.horizontal_centered(|ui| {
                ui.vertical(|ui| {
                    ui.set_width((ui.available_width() - BESIDE_RUN).max(40.0));
                    ui.spacing_mut().item_spacing.y = 2.0;
                    if let Ok((calls, Some(example), _)) = &found {
                        let roots = document.rows(0) as f64;
                        let samples = count_target_samples(&panel.groups, calls);
                        // Duration of one root times the roots, divided by the processors.
                        let cores =
                            std::thread::available_parallelism().map_or(1, usize::from) as f64;
                        let time = std::time::Duration::from_secs_f64(
                            (example.seconds_per_root * roots / cores).clamp(0.0, 1e9),
                        );
                        let (samples, time) = (
                            counted_texts::format_samples(samples),
                            crate::gui::panels::jobs::time_text(time),
                        );
                        let head = tr!("{samples}, about {time}", samples, time);
                        ui.label(theme::rich_text(head).font(font::medium(12.0)));
                        let text = tr!(
                            "Up to {size} to read. Undo takes the columns out.",
                            size = paint::format_bytes(example.bytes)
                        );
                        // The foot has room for two lines.
                        if !clash {
                            let text = theme::rich_text(text)
                                .text_style(text_style("small12"))
                                .color(t.tx2);
                            ui.add(egui::Label::new(text).truncate());
                        }
                    }
                    if clash {
                        widgets::checkbox(
                            ui,
                            &mut panel.replace,
                            tr!("Replace columns of the same name"),
                        );
                    }
                });
                ui.with_layout(egui::Layout::right_to_left(egui::Align::Center), |ui| {
                    let button = Button::primary(tr!("Run"))
                        .icon(icons::PLAY)
                        .large()
                        .name(tr!("Run extensions"));
                    let (is_pending, is_blocked) =
                        (matches!(found, Ok((_, None, None))), blocked.is_some());
                    let keyed = panel.run_when_ready && !is_blocked;
                    panel.run_when_ready &= is_pending;
                    if (ui.add(button.with_disabled_reason(blocked)).clicked() || keyed)
                        && let Ok((calls, _, _)) = found
                    {
                        cx.run(Command::Extend {
                            calls,
                            replace: clash && replace,
                        });
                        cx.request(Request::Do(Action::ShowJobs));
                    }
                });
            });
        });
}

#[cfg(test)]
mod tests {
    use arrow::datatypes::DataType;

    use super::*;
    use crate::model::{FieldSpec, Sample, Value};

    #[test]
    fn a_column_that_only_a_later_root_has_exists_in_the_preview() {
        let mut image = Sample::new_file("image", "/x", 1);
        let first = Sample::new_folder("a", Tortilla::new(vec![image.clone()]));
        image.values = Arc::from([Value::text("test")]);
        let with_split = Tortilla {
            schema: Arc::from([FieldSpec::new("split", DataType::Utf8)]),
            samples: vec![image],
        };
        let later = Sample::new_folder("b", with_split);
        let dataset = Dataset {
            root: Tortilla::new(vec![first, later]).into(),
            ..Dataset::default()
        };
        let calls: Vec<ExtensionCall> = serde_json::from_value(serde_json::json!([
            { "extension": "split", "options": { "value": "train" }, "target": { "level": 1 } }
        ]))
        .expect("calls");
        let preview = example_of(&dataset, &calls, &JobContext::default()).expect("a preview");
        let columns: Vec<_> = preview
            .columns
            .iter()
            .map(|added| (added.level, added.name.as_str(), added.exists))
            .collect();
        assert_eq!(columns, [(Some(1), "split", true)]);
    }
}
