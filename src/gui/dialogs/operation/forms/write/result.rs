//! The report of Write dataset: what was written, the comparison with the draft, and code that
//! reads it.

use std::path::{Path, PathBuf};
use std::time::Duration;

use egui::{Frame, Margin, Stroke, Ui};

use super::files::{FileLine, file_list_ui, name_of_file};
use crate::container::{self, Built, Format, OpenOptions};
use crate::export::{ModuleOpening, module_code, python_code};
use crate::gui::dialogs::operation::report::{OperationReport, ReportPage, ReportTexts};
use crate::gui::dropped_paths::display_path;
use crate::gui::file_dialog::is_table;
use crate::gui::icons;
use crate::gui::panel_context::{PanelContext, Request};
use crate::gui::panels::jobs::time_text;
use crate::gui::theme::{self, font, text_style};
use crate::gui::widgets::{self, Button, FieldNote, Segment, note_ui, paint};
use crate::jobs::AsyncValue;
use crate::model::is_remote;
use crate::ops::{Depth, Verified, training_code_of, verify, written_paths};
use crate::studio::{Command, Document, DocumentId};

/// Least width in points at which the code is beside the result.
const TWO_COLUMNS: f32 = 640.0;

/// What the code of the result is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum CodeKind {
    /// The official reader.
    Python,
    /// The official reader with a statement.
    Sql,
    /// The module `taco_studio`.
    Module,
    /// A training loop.
    PyTorch,
}

impl CodeKind {
    const ALL: [Self; 4] = [Self::Python, Self::Sql, Self::Module, Self::PyTorch];

    fn name(self) -> &'static str {
        match self {
            Self::Python => "Python",
            Self::Sql => "SQL",
            Self::Module => "taco_studio",
            Self::PyTorch => "PyTorch",
        }
    }
}

/// State of the comparison of a written dataset.
#[derive(Debug)]
enum Proof {
    /// Not requested.
    None,
    /// To be requested in the next frame.
    Wanted,
    Running(AsyncValue<(), Verified>),
    /// The comparison failed.
    Failed(String),
    /// Result of the comparison.
    Found(Box<Verified>),
}

/// The comparison to make.
#[derive(Clone, Copy, Debug)]
pub struct WantedProof {
    pub depth: Depth,
    /// The document that was written; `None` for the open one.
    pub document: Option<DocumentId>,
}

/// A written dataset with its comparison.
#[derive(Debug)]
struct WrittenPage {
    built: Built,
    /// Duration of the job.
    took: Duration,
    wanted: Option<WantedProof>,
    proof: Proof,
    /// Bytes of indexes and parts, in this order; `None` for a folder or an address.
    sizes: AsyncValue<(), Vec<Option<u64>>>,
    /// The training loop; `None` without rasters.
    training: AsyncValue<PathBuf, Option<String>>,
}

/// The report of a written dataset, which is compared with the open draft as `wanted` says.
pub fn report_written_draft(
    built: Built,
    took: Duration,
    wanted: Option<WantedProof>,
) -> OperationReport {
    let texts = ReportTexts {
        sound: tr!("Written"),
        close: tr!("Done"),
        close_name: tr!("Done"),
        again: Some(tr!("Write again…")),
        ..ReportTexts::default()
    };
    let page = WrittenPage {
        built,
        took,
        proof: if wanted.is_some() {
            Proof::Wanted
        } else {
            Proof::None
        },
        wanted,
        sizes: AsyncValue::default(),
        training: AsyncValue::default(),
    };
    let title = display_path(&page.built.path);
    OperationReport::with_page(title, Box::new(page), texts)
}

impl ReportPage for WrittenPage {
    fn ui(&mut self, ui: &mut Ui, cx: &mut PanelContext<'_>) -> Option<Request> {
        self.update_proof(cx);
        self.update_sizes(cx);
        let mut leaving = None;
        ui.spacing_mut().item_spacing = egui::vec2(8.0, 7.0);
        if ui.available_width() < TWO_COLUMNS {
            self.outcome_ui(ui);
            self.code_ui(ui, cx);
            return self.buttons_ui(ui, cx);
        }
        ui.columns(2, |columns| {
            if let [left, right] = columns {
                self.outcome_ui(left);
                leaving = self.buttons_ui(left, cx);
                self.code_ui(right, cx);
            }
        });
        leaving
    }

    fn footer_note(&self) -> &'static str {
        tr!("Further edits do not change the written dataset.")
    }

    fn is_sound(&self) -> bool {
        match &self.proof {
            Proof::Found(found) => found.is_sound(),
            Proof::Failed(_) => false,
            Proof::None | Proof::Wanted | Proof::Running(_) => true,
        }
    }
}

impl WrittenPage {
    /// Starts the comparison once, and takes its result.
    fn update_proof(&mut self, cx: &PanelContext<'_>) {
        match &mut self.proof {
            Proof::Wanted => self.proof = self.start_comparison(cx).unwrap_or(Proof::None),
            Proof::Running(comparison) => match comparison.take() {
                Some(Ok(found)) => self.proof = Proof::Found(Box::new(found)),
                Some(Err(error)) => self.proof = Proof::Failed(error.report()),
                None => {}
            },
            Proof::None | Proof::Failed(_) | Proof::Found(_) => {}
        }
    }

    fn start_comparison(&self, cx: &PanelContext<'_>) -> Option<Proof> {
        let wanted = self.wanted?;
        let open = cx.session.serial;
        if wanted.document.is_some_and(|written| written != open) {
            // Another draft can't be compared with it.
            return None;
        }
        let draft = cx.document().and_then(Document::draft)?;
        let (dataset, paths) = (draft.dataset().clone(), written_paths(&self.built));
        let mut comparison = AsyncValue::default();
        let label = tr!("Verify what was written");
        comparison.update(cx.jobs, (), label, move |ctx| {
            verify(&dataset, &paths, wanted.depth, ctx)
        });
        Some(Proof::Running(comparison))
    }

    /// Draws the result of the job and of the comparison, and the files.
    fn outcome_ui(&self, ui: &mut Ui) {
        let (built, proof) = (&self.built, &self.proof);
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
        let (size, time) = (paint::format_bytes(built.bytes), time_text(self.took));
        let text = if self.took.as_secs_f64() > 0.5 {
            let rate = paint::format_bytes((built.bytes as f64 / self.took.as_secs_f64()) as u64);
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
        file_list_ui(ui, &self.written_files());
    }

    /// The files that were written, with their sizes as far as they are known.
    fn written_files(&self) -> Vec<FileLine> {
        let built = &self.built;
        let indexes = built.indexes.iter().map(|path| (icons::DATABASE, path));
        let parts = built.parts.iter().map(|path| (icons::FILE_ZIP, path));
        let mut files: Vec<FileLine> = indexes
            .chain(parts)
            .zip(self.sizes())
            .map(|((icon, path), size)| {
                let file = FileLine::new(icon, name_of_file(path));
                file.with_size(size.map(paint::format_bytes).unwrap_or_default())
            })
            .collect();
        if files.is_empty() {
            let icon = if built.format == Format::Folder {
                icons::FOLDER_SIMPLE
            } else {
                icons::FILE_ZIP
            };
            let file = FileLine::new(icon, display_path(&built.path));
            files.push(file.with_size(paint::format_bytes(built.bytes)));
        }
        files
    }

    /// Bytes of indexes and parts, in this order; endless `None` while they are not known.
    fn sizes(&self) -> impl Iterator<Item = Option<u64>> + '_ {
        let known = self.sizes.get(&()).and_then(|sizes| sizes.as_ref().ok());
        let known = known.into_iter().flatten().copied();
        known.chain(std::iter::repeat(None))
    }

    /// Asks for the sizes of indexes and parts.
    fn update_sizes(&mut self, cx: &PanelContext<'_>) {
        if self.sizes.key().is_some() {
            return;
        }
        let (indexes, parts) = (self.built.indexes.iter(), self.built.parts.iter());
        let paths: Vec<PathBuf> = indexes.chain(parts).cloned().collect();
        self.sizes.update(cx.jobs, (), tr!("Sizes"), move |_| {
            Ok(paths.iter().map(|path| size_of_file(path)).collect())
        });
    }

    /// Draws code that reads the dataset.
    fn code_ui(&mut self, ui: &mut Ui, cx: &mut PanelContext<'_>) {
        // Kept for the next result.
        let chosen = egui::Id::unique("code-kind");
        let kind = ui.data(|data| data.get_temp(chosen));
        let mut kind = kind.unwrap_or(CodeKind::Python);
        let code = self.snippet(kind, cx);
        ui.horizontal(|ui| {
            widgets::heading(ui, tr!("Read it"));
            ui.with_layout(egui::Layout::right_to_left(egui::Align::Center), |ui| {
                let missing = match &code {
                    Some(Ok(_)) => None,
                    Some(Err(why)) => Some(why.as_str()),
                    None => Some(tr!("The input is being read")),
                };
                let button = Button::primary(tr!("Copy snippet")).icon(icons::COPY);
                if ui.add(button.with_disabled_reason(missing)).clicked()
                    && let Some(Ok(code)) = &code
                {
                    cx.request(Request::Copy(code.clone()));
                }
            });
        });
        let segments = CodeKind::ALL.map(|kind| Segment::new(kind, kind.name()));
        widgets::draw_segments(ui, "snippet", &mut kind, &segments);
        ui.data_mut(|data| data.insert_temp(chosen, kind));
        match &code {
            Some(Ok(code)) => widgets::code_ui(ui, code),
            Some(Err(why)) => note_ui(ui, &FieldNote::Info(why.clone())),
            None => drop(widgets::spinner(ui, 16.0)),
        }
    }

    /// Draws what follows; returns a request that closes the dialog.
    fn buttons_ui(&self, ui: &mut Ui, cx: &mut PanelContext<'_>) -> Option<Request> {
        let (built, mut leaving) = (&self.built, None);
        ui.horizontal_wrapped(|ui| {
            if !is_remote(&built.path)
                && ui
                    .add(Button::secondary(tr!("Show in folder")).icon(icons::FOLDER_OPEN))
                    .clicked()
            {
                cx.request(Request::ShowInFolder(built.path.clone()));
            }
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
                leaving = Some(if has_all {
                    Request::Anyway(Box::new(open))
                } else {
                    open
                });
            }
            if ui
                .add(Button::ghost(tr!("Publish…")).icon(icons::CLOUD))
                .clicked()
            {
                leaving = Some(Request::Publish(built.path.clone()));
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
                let found = match &self.proof {
                    Proof::Found(found) => Some(&**found),
                    _ => None,
                };
                cx.request(Request::Copy(describe_written(built, found)));
            }
        });
        leaving
    }

    /// Python code that reads the dataset, or why there is none; `None` while it is made.
    fn snippet(&mut self, kind: CodeKind, cx: &PanelContext<'_>) -> Option<Result<String, String>> {
        let built = &self.built;
        let addresses = [built.path.display().to_string()];
        let statement = "SELECT id, type FROM data LIMIT 5";
        let code = match kind {
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

/// Bytes of a file of this machine.
fn size_of_file(path: &Path) -> Option<u64> {
    let about = path.metadata().ok()?;
    about.is_file().then_some(about.len())
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
            size = paint::format_bytes(found.bytes)
        ));
        lines.push(tr!(
            "First read: {time} ms",
            time = format!("{:.0}", found.first_read.as_secs_f64() * 1000.0)
        ));
    }
    for line in lines {
        ui.horizontal_top(|ui| {
            ui.spacing_mut().interact_size.y = 16.0;
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

/// The report as text.
fn describe_written(built: &Built, found: Option<&Verified>) -> String {
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
