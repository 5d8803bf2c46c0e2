//! Exports the rows of the filter and the statement as a dataset: container, destination, options.

use std::path::{Path, PathBuf};

use egui::{Frame, Margin, Ui};

use super::dialog_job::{DialogJob, nothing_written};
use super::frame::{Next, foot_ui, head_ui, lacking_ui};
use super::view::{DialogEvent, DialogView, Reply, written_dataset};
use crate::container::{BuildOptions, Built, Format, OnDamage, OpenOptions, output_exists};
use crate::gui::filters::{chip_text, tally_text};
use crate::gui::panel_context::{PanelContext, Request};
use crate::gui::sql::chooses_rows;
use crate::gui::theme::{self, font, text_style};
use crate::gui::widgets::{self, Button, FieldNote, Segment, TextField, Tone, paint};
use crate::gui::{dropped_paths, icons};
use crate::jobs::AsyncValue;
use crate::ops::{ExportRequest, RowChoice};
use crate::studio::{Command, Document};
use crate::table::ParquetOptions;

/// The dialog.
pub struct ExportSubset {
    input: PathBuf,
    open: OpenOptions,
    sql: Option<String>,
    with_sql: bool,
    format: Format,
    target: String,
    keep_padding: bool,
    keep_siblings: bool,
    /// Put the dataset's name before ids that several joined datasets share.
    prefix_ids: bool,
    replace: bool,
    /// Continue without missing parts.
    allow_missing_parts: bool,
    /// True when the destination exists.
    there: AsyncValue<PathBuf, bool>,
    job: DialogJob<Built>,
}

impl ExportSubset {
    /// Proposes a name beside the dataset, which was opened with `open`.
    pub fn new(
        input: PathBuf,
        open: OpenOptions,
        folder: &Path,
        id: &str,
        sql: Option<String>,
    ) -> Self {
        let name = if id.is_empty() { "dataset" } else { id };
        let target = folder
            .join(format!("{name}-subset.tacozip"))
            .display()
            .to_string();
        let with_sql = sql.as_deref().is_some_and(chooses_rows);
        Self {
            input,
            open,
            sql,
            with_sql,
            format: Format::Zip,
            target,
            keep_padding: false,
            keep_siblings: true,
            prefix_ids: false,
            replace: false,
            allow_missing_parts: false,
            there: AsyncValue::default(),
            job: DialogJob::Idle,
        }
    }

    fn request(&self, cx: &PanelContext<'_>) -> ExportRequest {
        let target = dropped_paths::parse_path(&self.target);
        ExportRequest {
            input: self.input.clone(),
            open: self.open.clone(),
            options: BuildOptions {
                text_columns: false,
                target,
                format: self.format,
                parquet: ParquetOptions::default(),
                overwrite: self.replace,
                parts: None,
                on_damage: OnDamage::Stop,
            },
            rows: RowChoice {
                filters: cx.studio.filters().to_vec(),
                sql: self.sql.clone().filter(|_| self.with_sql),
                ..RowChoice::default()
            },
            keep_padding: self.keep_padding,
            keep_siblings: self.keep_siblings,
            prefix_ids: self.prefix_ids && !self.open.with.is_empty(),
            allow_missing_parts: self.allow_missing_parts,
        }
    }
}

impl DialogView for ExportSubset {
    fn ui(&mut self, ui: &mut Ui, cx: &mut PanelContext<'_>) -> Next {
        let t = theme::tokens(ui);
        ui.set_width((ui.ctx().content_rect().width() - 64.0).min(620.0));
        ui.spacing_mut().item_spacing.y = 0.0;
        let title = cx
            .document()
            .map(|document| document.title().into_owned())
            .unwrap_or_default();
        let close = head_ui(ui, icons::EXPORT, tr!("Export subset"), &title);
        if let DialogJob::Done(built) = &self.job {
            return done_ui(ui, built, close);
        }
        let lacking = match cx.document() {
            Some(Document::Opened(open)) => open.lacking.as_ref(),
            _ => None,
        };
        let mut taken = false;
        Frame::NONE.inner_margin(Margin::same(16)).show(ui, |ui| {
            ui.spacing_mut().item_spacing.y = 10.0;
            let filters: Vec<String> = cx
                .studio
                .filters()
                .iter()
                .map(|filter| chip_text(filter).1)
                .collect();
            let what = match filters.as_slice() {
                [] => tr!("No filter is set.").to_owned(),
                filters => tr!("Filter: {filters}.", filters = filters.join("; ")),
            };
            ui.label(
                theme::rich_text(what)
                    .text_style(text_style("small12"))
                    .color(t.tx2),
            );
            if let Some(document) = cx.document() {
                let left = tally_text(cx, document, 0);
                ui.label(
                    theme::rich_text(left)
                        .text_style(text_style("small12"))
                        .color(t.tx2),
                );
            }
            if let Some(sql) = &self.sql {
                widgets::checkbox(
                    ui,
                    &mut self.with_sql,
                    tr!("Only samples whose id the query gives"),
                );
                if self.with_sql {
                    let line = sql.split_whitespace().collect::<Vec<_>>().join(" ");
                    ui.add(
                        egui::Label::new(
                            theme::rich_text(line).font(font::mono(11.0)).color(t.tx3),
                        )
                        .truncate(),
                    );
                }
            }
            let before = self.format;
            widgets::draw_segments(
                ui,
                "subset-format",
                &mut self.format,
                &[
                    Segment::new(Format::Zip, "ZIP"),
                    Segment::new(Format::Folder, "FOLDER"),
                ],
            );
            if before != self.format {
                let bare = self
                    .target
                    .trim_end_matches('/')
                    .trim_end_matches(".tacozip")
                    .to_owned();
                self.target = if self.format == Format::Zip {
                    format!("{bare}.tacozip")
                } else {
                    bare
                };
            }
            let target = dropped_paths::parse_path(&self.target);
            let place = target.clone();
            self.there.update(
                cx.jobs,
                target.clone(),
                tr!("Check the destination"),
                move |_| output_exists(&place),
            );
            taken = matches!(self.there.get(&target), Some(Ok(true))) && !self.replace;
            let note = match (taken, self.there.get(&target)) {
                (true, _) => FieldNote::Warning(
                    tr!("The destination exists already. Choose another name, or replace it.")
                        .into(),
                ),
                (false, Some(Err(error))) => FieldNote::Error(error.report()),
                (false, _) => FieldNote::None,
            };
            TextField::new(tr!("Destination"), &mut self.target)
                .mono()
                .name(tr!("Destination of the subset"))
                .note(note)
                .show(ui);
            widgets::checkbox(
                ui,
                &mut self.keep_siblings,
                tr!("Keep all children of the samples that stay"),
            );
            widgets::checkbox(ui, &mut self.keep_padding, tr!("Keep placeholders"));
            if !self.open.with.is_empty() {
                let text = tr!("Prefix ids that several datasets share with the dataset's name");
                widgets::checkbox(ui, &mut self.prefix_ids, text);
            }
            widgets::checkbox(ui, &mut self.replace, tr!("Replace an existing output"));
            let note = tr!("The subset records its source dataset and the date of the export.");
            ui.label(
                theme::rich_text(note)
                    .text_style(text_style("small12"))
                    .color(t.tx3),
            );
            if let Some(lacking) = lacking {
                lacking_ui(ui, lacking, &mut self.allow_missing_parts);
            }
            self.job.ended_ui(ui);
        });
        let nothing = cx
            .studio
            .filtered_rows()
            .and_then(|kept| kept.rows(0))
            .is_some_and(<[u32]>::is_empty);
        let blocked = if self.target.trim().is_empty() {
            Some(tr!("Name the file to write"))
        } else if taken {
            Some(tr!("The destination exists already"))
        } else if lacking.is_some() && !self.allow_missing_parts {
            Some(tr!("Parts of the dataset are missing"))
        } else if nothing {
            Some(tr!("The filter leaves no sample"))
        } else if cx.studio.is_filtering() {
            Some(tr!("The filter is being applied"))
        } else {
            None
        };
        let request = self.request(cx);
        let command = || Command::operate(request);
        self.job.foot_ui(
            ui,
            [tr!("Stop the export"), tr!("Export now")],
            blocked,
            close,
            command,
        )
    }

    fn receive(&mut self, event: &DialogEvent<'_>) -> Reply {
        match event {
            DialogEvent::Finished(job, event, _) if self.job.has_run(*job) => {
                // It is not compared, because it is a subset.
                match written_dataset(event) {
                    Some(built) => self.job = DialogJob::Done(built.clone()),
                    None => return Reply::Ignored,
                }
                Reply::Taken(Vec::new())
            }
            DialogEvent::DocumentChanged if !self.is_running() => Reply::Close,
            event => self.job.receive(event, nothing_written),
        }
    }

    fn is_running(&self) -> bool {
        self.job.is_running()
    }
}

/// Draws the written dataset with a button to open it.
fn done_ui(ui: &mut Ui, built: &Built, close: bool) -> Next {
    let t = theme::tokens(ui);
    Frame::NONE.inner_margin(Margin::same(16)).show(ui, |ui| {
        ui.spacing_mut().item_spacing.y = 10.0;
        ui.horizontal(|ui| {
            widgets::badge(ui, Tone::Ok, Some(icons::CHECK), tr!("Written"));
            ui.add(
                egui::Label::new(
                    theme::rich_text(dropped_paths::display_path(&built.path))
                        .font(font::mono(12.0))
                        .color(t.tx),
                )
                .truncate(),
            );
        });
        let samples = tr_n!(
            built.samples,
            "{n} sample",
            "{n} samples",
            n = paint::format_grouped_number(built.samples)
        );
        let text = format!("{samples}, {}", paint::bytes(built.bytes));
        ui.label(
            theme::rich_text(text)
                .text_style(text_style("small12"))
                .color(t.tx2),
        );
    });
    let (open, leave) = foot_ui(ui, |ui| {
        let open = ui
            .add(Button::primary(tr!("Open dataset")).large())
            .clicked();
        (
            open,
            ui.add(
                Button::ghost(tr!("Close"))
                    .large()
                    .name(tr!("Close the export")),
            )
            .clicked(),
        )
    });
    match (open, leave || close) {
        (true, _) => Next::Do(Request::Run(Command::Open {
            path: built.path.clone(),
        })),
        (_, true) => Next::Close,
        _ => Next::Stay,
    }
}
