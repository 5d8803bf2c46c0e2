//! The right column of the write dialog: files to write, progress, result, comparison, and a Python
//! snippet that reads the dataset.

use std::path::Path;

use egui::{Frame, Margin, Rect, Role, Sense, Stroke, StrokeKind, Ui, WidgetInfo, pos2, vec2};

use super::checks::index_names;
use super::choices::{CodeKind, WriteContainer};
use super::{Proof, WriteDialog, WriteStage};
use crate::container::{self, Built, Format, OpenOptions};
use crate::export::{ModuleOpening, module_code, python_code};
use crate::gui::dropped_paths;
use crate::gui::file_dialog::is_table;
use crate::gui::icons;
use crate::gui::panel_context::{PanelContext, Request};
use crate::gui::panels::jobs::{detail, time_text};
use crate::gui::theme::{self, font, text_style};
use crate::gui::widgets::{self, Button, FieldNote, Segment, note_ui, paint};
use crate::ops::{Verified, training_code_of};
use crate::studio::{Command, Document};

/// Most files listed.
const LISTED: usize = 10;

impl WriteDialog {
    pub(super) fn outcome_ui(&mut self, ui: &mut Ui, cx: &mut PanelContext<'_>) {
        let t = theme::tokens(ui);
        match &self.stage {
            WriteStage::Running(id) => {
                widgets::heading(ui, tr!("Writing"));
                let Some(job) = cx.studio.jobs().into_iter().find(|job| job.id == *id) else {
                    return;
                };
                ui.label(theme::rich_text(&job.progress.stage.name).font(font::medium(12.5)));
                let width = ui.available_width();
                match job.progress.fraction() {
                    Some(fraction) => drop(widgets::progress_bar(
                        ui,
                        tr!("Writing"),
                        fraction,
                        width,
                        8.0,
                    )),
                    None => drop(widgets::spinner(ui, 16.0)),
                }
                let text = theme::rich_text(detail(&job.progress, job.elapsed))
                    .font(font::mono(11.0))
                    .color(t.tx2);
                ui.add(egui::Label::new(text).wrap());
                let text = tr!(
                    "You can cancel at any time: partial files are removed, and earlier files stay."
                );
                note_ui(ui, &FieldNote::Info(text.into()));
            }
            WriteStage::Failed(why) => {
                note_ui(ui, &FieldNote::Error(why.clone()));
                self.planned_ui(ui, cx);
            }
            WriteStage::Cancelled => {
                note_ui(
                    ui,
                    &FieldNote::Info(tr!("Cancelled. Nothing was left at the destination.").into()),
                );
                self.planned_ui(ui, cx);
            }
            WriteStage::Choosing => self.planned_ui(ui, cx),
            WriteStage::Done(built, _) => {
                let built = built.clone();
                self.written_ui(ui, cx, &built);
            }
        }
    }

    fn planned_ui(&self, ui: &mut Ui, cx: &PanelContext<'_>) {
        let t = theme::tokens(ui);
        let mut files: Vec<(&str, String, String)> = Vec::new();
        let data = cx.session.totals().bytes.unwrap_or(0);
        let name = display_file_name(&dropped_paths::parse_path(&self.choices.target));
        match self.choices.container {
            WriteContainer::Zip => {
                files.push((icons::FILE_ZIP, name, format!("~ {}", paint::bytes(data))))
            }
            WriteContainer::Folder => {
                files.push((
                    icons::FOLDER_SIMPLE,
                    format!("{name}/DATA"),
                    format!("~ {}", paint::bytes(data)),
                ));
                files.push((
                    icons::FOLDER_SIMPLE,
                    format!("{name}/METADATA"),
                    String::new(),
                ));
                files.push((
                    icons::BRACKETS_CURLY,
                    format!("{name}/COLLECTION.json"),
                    String::new(),
                ));
            }
            WriteContainer::Parts => {
                if let Ok(options) = self.choices.options() {
                    for name in index_names(&options) {
                        let icon = if name.ends_with(".json") {
                            icons::BRACKETS_CURLY
                        } else {
                            icons::DATABASE
                        };
                        files.push((icon, name.to_owned(), String::new()));
                    }
                }
                for part in self.checks.planned_parts().into_iter().flatten() {
                    files.push((
                        icons::FILE_ZIP,
                        part.name.clone(),
                        format!("~ {}", paint::bytes(part.data_bytes)),
                    ));
                }
            }
        }
        ui.horizontal(|ui| {
            widgets::heading(ui, tr!("Will be written"));
            ui.with_layout(egui::Layout::right_to_left(egui::Align::Center), |ui| {
                let count = tr_n!(files.len(), "{n} file", "{n} files", n = files.len());
                ui.label(
                    theme::rich_text(count)
                        .font(font::regular(11.0))
                        .color(t.tx3),
                );
            });
        });
        files_ui(ui, &files);
        if self.choices.container != WriteContainer::Folder {
            widgets::heading(
                ui,
                if self.choices.container == WriteContainer::Zip {
                    tr!("Layout")
                } else {
                    tr!("Layout of one part")
                },
            );
            layout_ui(ui);
            let text = tr!(
                "STORE only, no compression: any sample can be read with one byte-range request."
            );
            ui.label(
                theme::rich_text(text)
                    .text_style(text_style("small12"))
                    .color(t.tx2),
            );
        }
        let text = tr!(
            "Files get their final names when the dataset is complete. Cancel removes partial \
                files."
        );
        note_ui(ui, &FieldNote::Info(text.into()));
    }

    fn written_ui(&mut self, ui: &mut Ui, cx: &mut PanelContext<'_>, built: &Built) {
        let WriteStage::Done(_, proof) = &self.stage else {
            return;
        };
        let container = match built.parts.len() {
            0 => built.format.badge().to_owned(),
            parts => tr_n!(parts, "{n} part", "{n} parts", n = parts),
        };
        let samples = tr_n!(
            built.samples,
            "{n} sample",
            "{n} samples",
            n = paint::format_grouped_number(built.samples)
        );
        let what = tr!("{container} with {samples}", container, samples);
        let (size, time) = (paint::bytes(built.bytes), time_text(self.took));
        let text = if self.took.as_secs_f64() > 0.5 {
            let rate = paint::bytes((built.bytes as f64 / self.took.as_secs_f64()) as u64);
            tr!(
                "{what}. {size} in {time}, {rate}/s.",
                what,
                size,
                time,
                rate
            )
        } else {
            tr!("{what}. {size} in {time}.", what, size, time)
        };
        let (title, sound) = match proof {
            Proof::Found(found) if found.is_sound() => (tr!("Written and verified"), true),
            Proof::Found(_) => (tr!("Written, but it differs from the draft"), false),
            Proof::Failed(_) => (tr!("Written, but it can't be opened"), false),
            _ => (tr!("Written"), true),
        };
        card_ui(ui, title, &text, sound);
        match proof {
            Proof::None => {}
            Proof::Wanted | Proof::Running(_) => {
                ui.horizontal(|ui| {
                    widgets::spinner(ui, 14.0);
                    ui.label(
                        theme::rich_text(tr!("Opening it again and comparing"))
                            .font(font::regular(12.0)),
                    );
                });
            }
            Proof::Failed(why) => note_ui(ui, &FieldNote::Error(why.clone())),
            Proof::Found(found) => found_ui(ui, found),
        }
        let mut files: Vec<(&str, String, String)> = Vec::new();
        files.extend(
            built
                .indexes
                .iter()
                .map(|path| (icons::DATABASE, display_file_name(path), String::new())),
        );
        files.extend(
            built
                .parts
                .iter()
                .map(|path| (icons::FILE_ZIP, display_file_name(path), String::new())),
        );
        if files.is_empty() {
            let icon = if built.format == Format::Folder {
                icons::FOLDER_SIMPLE
            } else {
                icons::FILE_ZIP
            };
            files.push((
                icon,
                dropped_paths::display_path(&built.path),
                paint::bytes(built.bytes),
            ));
        }
        files_ui(ui, &files);
        let code = self.snippet(built, cx);
        ui.horizontal(|ui| {
            widgets::heading(ui, tr!("Read it"));
            ui.with_layout(egui::Layout::right_to_left(egui::Align::Center), |ui| {
                let missing = match &code {
                    Some(Ok(_)) => None,
                    Some(Err(why)) => Some(why.as_str()),
                    None => Some(tr!("The input is being read")),
                };
                let button = Button::secondary(tr!("Copy snippet")).icon(icons::COPY);
                if ui.add(button.with_disabled_reason(missing)).clicked()
                    && let Some(Ok(code)) = &code
                {
                    cx.request(Request::Copy(code.clone()));
                }
                let segments = CodeKind::ALL.map(|kind| Segment::new(kind, kind.name()));
                widgets::draw_segments(ui, "snippet", &mut self.code_kind, &segments);
            });
        });
        match &code {
            Some(Ok(code)) => widgets::code_ui(ui, code),
            Some(Err(why)) => note_ui(ui, &FieldNote::Info(why.clone())),
            None => drop(widgets::spinner(ui, 16.0)),
        }
        ui.horizontal_wrapped(|ui| {
            let keyed =
                ui.input_mut(|input| input.consume_key(egui::Modifiers::COMMAND, egui::Key::Enter));
            if ui
                .add(Button::secondary(tr!("Open dataset")).icon(icons::EYE))
                .clicked()
                || keyed
            {
                let open = Request::Run(Command::Open {
                    path: built.path.clone(),
                });
                // The dataset has all of a draft that was not changed since, except its history and
                // the tables that were joined.
                let draft = cx.document().and_then(Document::draft);
                let has_all = draft.is_some_and(|draft| {
                    draft.is_written() && draft.tray().iter().all(|file| is_table(&file.path))
                });
                self.checks.leave = Some(if has_all {
                    Request::Anyway(Box::new(open))
                } else {
                    open
                });
            }
            if ui
                .add(Button::ghost(tr!("Publish…")).icon(icons::CLOUD))
                .clicked()
            {
                self.checks.leave = Some(Request::Publish(built.path.clone()));
            }
            if ui
                .add(Button::ghost(tr!("Copy path")).icon(icons::COPY))
                .clicked()
            {
                cx.request(Request::Copy(built.path.display().to_string()));
            }
            if ui
                .add(Button::ghost(tr!("Copy report")).icon(icons::CLIPBOARD_TEXT))
                .clicked()
            {
                let found = if let WriteStage::Done(_, Proof::Found(found)) = &self.stage {
                    Some(&**found)
                } else {
                    None
                };
                cx.request(Request::Copy(report_of(built, found)));
            }
        });
    }
}

impl WriteDialog {
    /// Python code that reads the dataset, or why there is none; `None` while it is made.
    fn snippet(
        &mut self,
        built: &Built,
        cx: &PanelContext<'_>,
    ) -> Option<std::result::Result<String, String>> {
        let addresses = [built.path.display().to_string()];
        let statement = "SELECT id, type FROM data LIMIT 5";
        let code = match self.code_kind {
            CodeKind::Python => python_code(&addresses, built.format, None),
            CodeKind::Sql => python_code(&addresses, built.format, Some(statement)),
            CodeKind::Module => module_code(
                &ModuleOpening::from_addresses(&addresses),
                Some(statement),
                &[],
            ),
            CodeKind::PyTorch => {
                let path = built.path.clone();
                let read = path.clone();
                self.training
                    .update(cx.jobs, path.clone(), tr!("Read it"), move |ctx| {
                        let reader = container::open_with(&read, &OpenOptions::default(), ctx)?;
                        training_code_of(reader.as_ref(), ctx)
                    });
                match self.training.get(&path)? {
                    Ok(Some(code)) => code.clone(),
                    Ok(None) => {
                        return Some(Err(
                            tr!("The first sample has no raster to train on.").into()
                        ));
                    }
                    Err(error) => return Some(Err(error.report())),
                }
            }
        };
        Some(Ok(code.trim_end().to_owned()))
    }
}

fn display_file_name(path: &Path) -> String {
    path.file_name()
        .map(|name| name.to_string_lossy().into_owned())
        .unwrap_or_default()
}

fn card_ui(ui: &mut Ui, title: &str, text: &str, sound: bool) {
    let t = theme::tokens(ui);
    let (fill, line, color, icon) = if sound {
        (t.okbg, t.okline, t.ok, icons::CHECK_CIRCLE)
    } else {
        (t.errbg, t.errline, t.err, icons::WARNING_OCTAGON)
    };
    Frame::NONE
        .fill(fill)
        .stroke(Stroke::new(1.0, line))
        .corner_radius(4)
        .inner_margin(Margin::same(12))
        .show(ui, |ui| {
            ui.set_width(ui.available_width());
            ui.horizontal(|ui| {
                ui.label(theme::rich_text(icon).font(font::icon(18.0)).color(color));
                ui.label(theme::rich_text(title).font(font::semibold(15.0)));
            });
            ui.add(
                egui::Label::new(theme::rich_text(text).text_style(text_style("small12"))).wrap(),
            );
        });
}

fn found_ui(ui: &mut Ui, found: &Verified) {
    let t = theme::tokens(ui);
    let opened = match found.parts {
        1 => tr!("Opened again").to_owned(),
        parts => tr!("All {n} parts opened again", n = parts),
    };
    let roots = tr_n!(
        found.roots,
        "{n} root",
        "{n} roots",
        n = paint::format_grouped_number(found.roots)
    );
    let samples = tr_n!(
        found.samples,
        "{n} sample",
        "{n} samples",
        n = paint::format_grouped_number(found.samples)
    );
    let mut lines = vec![tr!(
        "{opened}, {roots} and {samples} counted",
        opened,
        roots,
        samples
    )];
    if found.compared > 0 {
        lines.push(tr_n!(
            found.compared,
            "{n} sample compared with its source, {size}",
            "{n} samples compared with their sources, {size}",
            n = paint::format_grouped_number(found.compared),
            size = paint::bytes(found.bytes)
        ));
        lines.push(tr!(
            "First read: {time} ms",
            time = format!("{:.0}", found.first_read.as_secs_f64() * 1000.0)
        ));
    }
    for line in lines {
        ui.horizontal(|ui| {
            ui.label(
                theme::rich_text(icons::CHECK)
                    .font(font::icon(14.0))
                    .color(t.ok),
            );
            ui.label(theme::rich_text(line).font(font::regular(12.0)));
        });
    }
    for difference in found.differences.iter().take(4) {
        note_ui(ui, &FieldNote::Error(difference.clone()));
    }
}

fn files_ui(ui: &mut Ui, files: &[(&str, String, String)]) {
    let t = theme::tokens(ui);
    let rows = files.len().min(LISTED) + usize::from(files.len() > LISTED);
    let (rect, response) = ui.allocate_exact_size(
        vec2(ui.available_width(), rows as f32 * 24.0 + 2.0),
        Sense::hover(),
    );
    let names: Vec<&str> = files
        .iter()
        .take(LISTED)
        .map(|(_, name, _)| name.as_str())
        .collect();
    response.widget_info(|| WidgetInfo::labeled(Role::List, true, names.join(", ")));
    let painter = ui.painter();
    painter.rect(
        rect,
        4,
        t.bg1,
        Stroke::new(1.0, t.line2),
        StrokeKind::Inside,
    );
    for row in 0..rows {
        let line = Rect::from_min_size(
            pos2(rect.left() + 10.0, rect.top() + 1.0 + row as f32 * 24.0),
            vec2(rect.width() - 20.0, 24.0),
        );
        if row > 0 {
            painter.hline(rect.x_range(), line.top(), Stroke::new(1.0, t.line));
        }
        match files.get(row).filter(|_| row < LISTED) {
            Some((icon, name, size)) => {
                paint::icon(
                    painter,
                    pos2(line.left() + 6.0, line.center().y),
                    icon,
                    13.0,
                    t.tx3,
                );
                let end = paint::text_right(painter, line, size, font::mono(11.0), t.tx2);
                let room = Rect::from_min_max(
                    pos2(line.left() + 20.0, line.top()),
                    pos2(end - 8.0, line.bottom()),
                );
                paint::text_left(painter, room, name, font::mono(12.0), t.tx);
            }
            None => {
                let more = tr!(
                    "{n} more",
                    n = paint::format_grouped_number((files.len() - LISTED) as u64)
                );
                paint::text_left(
                    painter,
                    line.with_min_x(line.left() + 20.0),
                    &more,
                    font::regular(12.0),
                    t.tx2,
                );
            }
        }
    }
}

fn layout_ui(ui: &mut Ui) {
    let t = theme::tokens(ui);
    let (rect, response) = ui.allocate_exact_size(vec2(ui.available_width(), 25.0), Sense::hover());
    response.widget_info(|| {
        WidgetInfo::labeled(Role::Image, true, "TACO_HEADER, DATA, METADATA, COLLECTION")
    });
    let parts = [
        ("TACO_HEADER", 0.25, t.accfill, t.onacc),
        ("DATA/", 0.37, t.bg4, t.tx),
        ("METADATA/", 0.2, t.bg3, t.tx),
        ("COLLECTION", 0.18, t.sel, t.tx),
    ];
    let mut left = rect.left();
    for (word, share, fill, color) in parts {
        let width = rect.width() * share;
        let piece = Rect::from_min_size(pos2(left, rect.top()), vec2(width - 1.0, rect.height()));
        ui.painter().rect_filled(piece, 2, fill);
        paint::text_center(ui.painter(), piece, word, font::mono(10.5), color);
        left += width;
    }
}

fn report_of(built: &Built, found: Option<&Verified>) -> String {
    let mut lines = vec![
        format!("Written: {}", built.path.display()),
        format!(
            "{} samples, {} files, {} bytes",
            built.samples, built.files, built.bytes
        ),
    ];
    lines.extend(
        built
            .parts
            .iter()
            .map(|part| format!("Part: {}", part.display())),
    );
    if let Some(found) = found {
        lines.push(format!(
            "Verified: {} roots and {} samples counted, {} compared ({} bytes)",
            found.roots, found.samples, found.compared, found.bytes
        ));
        lines.extend(
            found
                .differences
                .iter()
                .map(|difference| format!("Differs: {difference}")),
        );
    }
    lines.join("\n")
}
