//! The write dialog: options, estimate and checks, files to write; then progress, result and
//! comparison. Its columns are in the files beside this one.

mod checks;
mod choices;
mod options;
mod result;

use std::collections::HashSet;
use std::path::PathBuf;

use egui::{Frame, Margin, Rect, Stroke, Ui, UiBuilder, vec2};

use super::view::{DialogEvent, DialogView, Reply, written_dataset};
use crate::container::{BuildOptions, Built};
use crate::error::Error;
use crate::gui::dialogs::frame::{Next, foot_ui, head_ui};
use crate::gui::icons;
use crate::gui::panel_context::{PanelContext, Request};
use crate::gui::theme::{self, font, text_style};
use crate::gui::widgets::{Button, paint};
use crate::jobs::{AsyncValue, JobId};
use crate::ops::{Depth, Verified, verify, written_paths};
use crate::studio::{Command, Document};
use crate::table::{Compression, ParquetOptions};
use checks::{CheckLine, Checks};
use choices::{Choices, CodeKind, PartSplit, WriteContainer};

/// Stage of the dialog.
pub enum WriteStage {
    /// Nothing was written yet.
    Choosing,
    /// The job that writes.
    Running(JobId),
    /// Failed with this error.
    Failed(String),
    Cancelled,
    /// Written, with the state of the comparison.
    Done(Built, Proof),
}

/// State of the comparison of a written dataset.
pub enum Proof {
    /// Not requested.
    None,
    /// To be requested in the next frame.
    Wanted,
    /// The comparison runs.
    Running(AsyncValue<(), Verified>),
    /// The comparison failed.
    Failed(String),
    /// Result of the comparison.
    Found(Box<Verified>),
}

/// An error with its hints, a line each.
fn format_with_hints(error: &Error) -> String {
    let hints = error.hints().iter().map(|hint| format!("\n{hint}"));
    format!("{error}{}", hints.collect::<String>())
}

/// The name, with a number appended if the draft reads from an archive or folder of that name.
fn free_name(folder: &std::path::Path, name: &str, own: &HashSet<PathBuf>) -> String {
    let is_own = |name: &str| {
        own.contains(&folder.join(name)) || own.contains(&folder.join(format!("{name}.tacozip")))
    };
    let mut names =
        std::iter::once(name.to_owned()).chain((2..).map(|number| format!("{name}-{number}")));
    names.find(|name| !is_own(name)).unwrap_or_default()
}

pub struct WriteDialog {
    pub(super) choices: Choices,
    pub(super) stage: WriteStage,
    pub(super) checks: Checks,
    /// What the code of the result is for.
    code_kind: CodeKind,
    /// The training loop for the written dataset; `None` without rasters.
    training: AsyncValue<PathBuf, Option<String>>,
    /// Duration of the write job.
    pub(super) took: std::time::Duration,
    /// Paths that the draft reads from; never proposed.
    own: HashSet<PathBuf>,
}

impl WriteDialog {
    /// Proposes a file named after the dataset's id, excluding paths that the draft reads from.
    pub fn new(folder: PathBuf, id: &str, own: HashSet<PathBuf>) -> Self {
        let name = free_name(&folder, if id.is_empty() { "dataset" } else { id }, &own);
        let choices = Choices {
            container: WriteContainer::Zip,
            target: folder.join(format!("{name}.tacozip")).display().to_string(),
            split: PartSplit::Size,
            size: "4GB".into(),
            column: String::new(),
            compression: Compression::default(),
            level: String::new(),
            rows: ParquetOptions::default().row_group_rows.to_string(),
            collection_file: true,
            verify: true,
            depth: Depth::default(),
            replace: false,
        };
        Self {
            choices,
            stage: WriteStage::Choosing,
            checks: Checks::default(),
            code_kind: CodeKind::Python,
            training: AsyncValue::default(),
            took: Default::default(),
            own,
        }
    }

    /// Records the written dataset.
    pub fn show_written(&mut self, built: Built) {
        let proof = if self.choices.verify {
            Proof::Wanted
        } else {
            Proof::None
        };
        // The path may have had another dataset before.
        self.training = AsyncValue::default();
        self.stage = WriteStage::Done(built, proof);
    }

    /// Compares the written dataset with the draft, where that was chosen.
    fn update_proof(&mut self, cx: &PanelContext<'_>) {
        let WriteStage::Done(built, proof) = &mut self.stage else {
            return;
        };
        match proof {
            Proof::Wanted => {
                let Some(draft) = cx.document().and_then(Document::draft) else {
                    *proof = Proof::None;
                    return;
                };
                let (dataset, paths) = (draft.dataset().clone(), written_paths(built));
                let (depth, label) = (self.choices.depth, tr!("Verify what was written"));
                let mut comparison = AsyncValue::default();
                comparison.update(cx.jobs, (), label, move |ctx| {
                    verify(&dataset, &paths, depth, ctx)
                });
                *proof = Proof::Running(comparison);
            }
            Proof::Running(comparison) => match comparison.take() {
                Some(Ok(found)) => *proof = Proof::Found(Box::new(found)),
                Some(Err(error)) => *proof = Proof::Failed(format_with_hints(&error)),
                None => {}
            },
            Proof::None | Proof::Failed(_) | Proof::Found(_) => {}
        }
    }

    /// Records that writing failed. True when it is this dialog's job.
    fn record_failure(&mut self, job: Option<JobId>, error: &Error) -> bool {
        let is_own = self.is_own_job(job);
        if is_own {
            self.stage = WriteStage::Failed(format_with_hints(error));
        }
        is_own
    }

    fn is_own_job(&self, job: Option<JobId>) -> bool {
        matches!(self.stage, WriteStage::Running(own) if Some(own) == job)
    }

    /// Moves the target into another folder.
    pub fn set_folder(&mut self, folder: PathBuf) {
        let path = PathBuf::from(&self.choices.target);
        let name = path
            .file_name()
            .map(|name| name.to_string_lossy().into_owned())
            .unwrap_or_default();
        let (bare, ending) = match name.strip_suffix(".tacozip") {
            Some(bare) => (bare, ".tacozip"),
            None => (name.as_str(), ""),
        };
        let name = format!("{}{ending}", free_name(&folder, bare, &self.own));
        self.choices.target = folder.join(name).display().to_string();
    }

    pub(super) fn set_container(&mut self, container: WriteContainer) {
        let path = PathBuf::from(self.choices.target.trim_end_matches('/'));
        let bare = if path.extension().is_some_and(|ending| ending == "tacozip") {
            path.with_extension("")
        } else {
            path
        };
        self.choices.container = container;
        self.choices.target = match container {
            WriteContainer::Zip => format!("{}.tacozip", bare.display()),
            _ => bare.display().to_string(),
        };
    }

    fn take_asks(&mut self, cx: &mut PanelContext<'_>) {
        for ask in self.checks.requests.drain(..) {
            cx.request(ask);
        }
    }

    fn buttons_ui(
        &mut self,
        ui: &mut Ui,
        cx: &mut PanelContext<'_>,
        close: bool,
        lines: &[CheckLine],
        options: Result<BuildOptions, String>,
        fresh: bool,
    ) -> Next {
        let t = theme::tokens(ui);
        if let WriteStage::Running(job) = self.stage {
            let cancelling = cx
                .studio
                .jobs()
                .iter()
                .any(|running| running.id == job && running.progress.cancelling);
            let reason = cancelling.then_some(tr!("Stopping at the next safe place"));
            let cancel = foot_ui(ui, |ui| {
                ui.add(
                    Button::danger(tr!("Cancel writing"))
                        .large()
                        .with_disabled_reason(reason),
                )
                .clicked()
            });
            return if cancel {
                Next::Also(Request::Run(Command::Cancel { job }))
            } else {
                Next::Stay
            };
        }
        if let WriteStage::Done(..) = self.stage {
            let (done, again) = foot_ui(ui, |ui| {
                let done = ui.add(Button::primary(tr!("Done")).large()).clicked();
                let again = ui.add(Button::ghost(tr!("Write again…")).large()).clicked();
                let text = tr!("Further edits do not change the written dataset.");
                ui.label(
                    theme::rich_text(text)
                        .text_style(text_style("small12"))
                        .color(t.tx2),
                );
                (done, again)
            });
            if again {
                self.stage = WriteStage::Choosing;
                self.checks.look_again();
            }
            return if done || close {
                Next::Close
            } else {
                Next::Stay
            };
        }
        let blocking: Vec<&CheckLine> = lines.iter().filter(|line| line.blocks).collect();
        let blocked = match blocking.as_slice() {
            [] => None,
            [one] => Some(tr!(
                "1 check blocks writing: {reason}",
                reason = one.reason()
            )),
            [first, ..] => Some(tr!(
                "{n} checks block writing. First: {reason}",
                n = blocking.len(),
                reason = first.reason()
            )),
        };
        let text = match cx.session.totals().bytes {
            Some(bytes) => tr!("Write {size}", size = paint::bytes(bytes)),
            None => tr!("Write").to_owned(),
        };
        let keyed =
            ui.input_mut(|input| input.consume_key(egui::Modifiers::COMMAND, egui::Key::Enter));
        let (write, cancel) = foot_ui(ui, |ui| {
            let button = Button::primary(text)
                .large()
                .name(tr!("Write now"))
                .with_disabled_reason(blocked.clone());
            let write = ui.add(button).clicked() || (keyed && blocked.is_none());
            let cancel = ui.add(Button::ghost(tr!("Cancel")).large()).clicked();
            if let Some(reason) = &blocked {
                ui.with_layout(egui::Layout::left_to_right(egui::Align::Center), |ui| {
                    ui.label(
                        theme::rich_text(icons::WARNING_OCTAGON)
                            .font(font::icon(15.0))
                            .color(t.err),
                    );
                    let text = theme::rich_text(reason)
                        .text_style(text_style("small12"))
                        .color(t.err);
                    ui.add(egui::Label::new(text).truncate());
                });
            }
            (write, cancel)
        });
        match (write && fresh, cancel || close, options) {
            (true, _, Ok(options)) => Next::Also(Request::Run(Command::Write { options })),
            (_, true, _) => Next::Close,
            _ => Next::Stay,
        }
    }
}

impl DialogView for WriteDialog {
    fn ui(&mut self, ui: &mut Ui, cx: &mut PanelContext<'_>) -> Next {
        let t = theme::tokens(ui);
        let screen = ui.ctx().content_rect();
        let size = vec2(
            (screen.width() - 64.0).min(1180.0),
            (screen.height() - 120.0).min(660.0),
        );
        ui.set_width(size.x);
        ui.spacing_mut().item_spacing.y = 0.0;
        let title = cx
            .document()
            .map(|document| document.title().into_owned())
            .unwrap_or_default();
        let close = head_ui(ui, icons::EXPORT, tr!("Write dataset"), &title) && !self.is_running();
        self.update_proof(cx);
        if let WriteStage::Running(id) = self.stage
            && let Some(job) = cx.studio.jobs().into_iter().find(|job| job.id == id)
        {
            self.took = job.elapsed;
        }
        let options = self.choices.options();
        let checked = (self.choices.target.clone(), options.clone().ok());
        self.checks
            .refresh(cx, &self.choices, options.as_ref().ok());
        let lines = self.checks.lines(
            cx,
            &self.choices,
            options.as_ref().err().map(String::as_str),
        );
        let body = Rect::from_min_size(ui.cursor().min, vec2(size.x, size.y - 100.0));
        ui.advance_cursor_after_rect(body);
        let left = body.left() + (size.x * 0.33).floor();
        let right = left + (size.x * 0.295).floor();
        let columns = [(body.left(), left), (left, right), (right, body.right())];
        ui.painter().rect_filled(
            Rect::from_x_y_ranges(left..=right, body.y_range()),
            0,
            t.bg2,
        );
        for (index, (from, to)) in columns.into_iter().enumerate() {
            let column = Rect::from_x_y_ranges(from..=to, body.y_range());
            if index > 0 {
                ui.painter()
                    .vline(from, body.y_range(), Stroke::new(1.0, t.line));
            }
            ui.scope_builder(
                UiBuilder::new().max_rect(column).id_salt(("write", index)),
                |ui| {
                    egui::ScrollArea::vertical()
                        .id_salt(("write-scroll", index))
                        .auto_shrink(false)
                        .show(ui, |ui| {
                            Frame::NONE.inner_margin(Margin::same(14)).show(ui, |ui| {
                                ui.set_width(to - from - 28.0);
                                ui.spacing_mut().item_spacing = vec2(8.0, 7.0);
                                match index {
                                    0 => self.choices_ui(ui, cx),
                                    1 => self.checks.ui(ui, cx, &lines),
                                    _ => self.outcome_ui(ui, cx),
                                }
                            });
                        });
                },
            );
        }
        ui.painter().hline(
            body.x_range(),
            body.bottom() - 0.5,
            Stroke::new(1.0, t.line),
        );
        self.take_asks(cx);
        if let Some(ask) = self.checks.leave.take() {
            return Next::Do(ask);
        }
        // A choice that changed in this frame is not checked yet: the next frame writes, if at all.
        let options = self.choices.options();
        let fresh = checked == (self.choices.target.clone(), options.clone().ok());
        self.buttons_ui(ui, cx, close, &lines, options, fresh)
    }

    fn receive(&mut self, event: &DialogEvent<'_>) -> Reply {
        match event {
            DialogEvent::Started(job) => self.stage = WriteStage::Running(*job),
            DialogEvent::Finished(job, event, _) => {
                if let Some(built) = written_dataset(event).filter(|_| self.is_own_job(*job)) {
                    self.show_written(built.clone());
                    return Reply::Taken(Vec::new());
                }
            }
            DialogEvent::Failed(job, error) if self.record_failure(*job, error) => {
                return Reply::Taken(Vec::new());
            }
            DialogEvent::Cancelled(job) if self.is_own_job(Some(*job)) => {
                self.stage = WriteStage::Cancelled;
            }
            DialogEvent::Picked([folder, ..]) => self.set_folder(folder.clone()),
            DialogEvent::DocumentChanged => {
                // The result can't be compared with another draft.
                self.choices.verify = false;
                if !self.is_running() {
                    return Reply::Close;
                }
            }
            _ => {}
        }
        Reply::Ignored
    }

    /// True while bytes are being written.
    fn is_running(&self) -> bool {
        matches!(self.stage, WriteStage::Running(_))
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;
    use crate::container::Format;

    #[test]
    fn the_destination_follows_the_container() {
        let mut dialog = WriteDialog::new("/data".into(), "peru-s2", HashSet::new());
        assert_eq!(
            Path::new(&dialog.choices.target),
            Path::new("/data/peru-s2.tacozip")
        );
        dialog.set_container(WriteContainer::Folder);
        assert_eq!(
            dialog.choices.options().expect("is right").target,
            PathBuf::from("/data/peru-s2")
        );
        dialog.set_container(WriteContainer::Parts);
        let options = dialog.choices.options().expect("is right");
        assert_eq!(
            options.target,
            PathBuf::from("/data/peru-s2/peru-s2.tacozip")
        );
        let parts = options.parts.expect("has parts");
        assert_eq!(
            (parts.size_bytes, parts.consolidate),
            (Some(4 << 30), vec![Format::Tacocat, Format::Tacollection])
        );
        dialog.set_container(WriteContainer::Zip);
        dialog.set_folder("/mnt/out".into());
        let options = dialog.choices.options().expect("is right");
        assert_eq!(
            (options.target, options.format),
            (PathBuf::from("/mnt/out/peru-s2.tacozip"), Format::Zip)
        );
    }

    #[test]
    fn what_the_draft_reads_is_never_proposed() {
        let own = [
            "/data/peru-s2.tacozip",
            "/data/peru-s2-2",
            "/mnt/peru-s2-3.tacozip",
            "/data",
        ]
        .map(PathBuf::from);
        let mut dialog = WriteDialog::new("/data".into(), "peru-s2", own.into());
        assert_eq!(
            Path::new(&dialog.choices.target),
            Path::new("/data/peru-s2-3.tacozip")
        );
        dialog.set_folder("/mnt".into());
        assert_eq!(
            Path::new(&dialog.choices.target),
            Path::new("/mnt/peru-s2-3-2.tacozip")
        );
    }

    #[test]
    fn what_is_typed_wrong_is_told() {
        let mut dialog = WriteDialog::new("/data".into(), "x", HashSet::new());
        dialog.choices.level = "99".into();
        assert!(dialog.choices.options().is_err());
        dialog.choices.level.clear();
        dialog.choices.rows = "122 880".into();
        assert_eq!(
            dialog
                .choices
                .options()
                .expect("spaces group digits")
                .parquet
                .row_group_rows,
            122_880
        );
        dialog.set_container(WriteContainer::Parts);
        dialog.choices.size = "big".into();
        assert!(dialog.choices.options().is_err());
        dialog.choices.split = PartSplit::Column;
        assert!(
            dialog
                .choices
                .options()
                .expect_err("which column")
                .contains("column")
        );
    }
}
