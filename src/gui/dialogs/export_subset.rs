//! Writing what the filter and the statement leave as a dataset of its own: container, destination, what comes along.

use std::path::{Path, PathBuf};

use egui::{Frame, Margin, RichText, Ui};

use super::{Next, foot_ui, head_ui};
use crate::container::{BuildOptions, Format};
use crate::gui::cx::{Ask, Cx};
use crate::gui::filters::chip_text;
use crate::gui::icons;
use crate::gui::intake;
use crate::gui::theme::{self, font, text_style};
use crate::gui::widgets::{self, Button, Segment, TextField};
use crate::studio::{Command, ExportRequest, RowChoice};
use crate::table::ParquetOptions;

/// The dialog.
pub struct ExportSubset {
    input: PathBuf,
    sql: Option<String>,
    with_sql: bool,
    format: Format,
    target: String,
    keep_padding: bool,
    keep_siblings: bool,
    replace: bool,
}

impl ExportSubset {
    /// Proposes a name beside that of the dataset.
    pub fn new(input: PathBuf, folder: &Path, id: &str, sql: Option<String>) -> Self {
        let name = if id.is_empty() { "dataset" } else { id };
        let target = folder.join(format!("{name}-subset.tacozip")).display().to_string();
        let with_sql = sql.as_ref().is_some_and(|sql| sql.to_ascii_lowercase().contains("where"));
        Self { input, sql, with_sql, format: Format::Zip, target, keep_padding: false, keep_siblings: true, replace: false }
    }

    /// Draws the dialog.
    pub fn ui(&mut self, ui: &mut Ui, cx: &mut Cx<'_>) -> Next {
        let t = theme::tokens(ui);
        ui.set_width((ui.ctx().content_rect().width() - 64.0).min(620.0));
        ui.spacing_mut().item_spacing.y = 0.0;
        let title = cx.document().map(|document| document.title().into_owned()).unwrap_or_default();
        let close = head_ui(ui, icons::EXPORT, "Export subset", &title);
        Frame::NONE.inner_margin(Margin::same(16)).show(ui, |ui| {
            ui.spacing_mut().item_spacing.y = 10.0;
            let filters: Vec<String> = cx.studio.filters().iter().map(|filter| chip_text(filter).1).collect();
            let what = if filters.is_empty() { "No filter is set.".to_owned() } else { format!("Filter: {}.", filters.join("; ")) };
            ui.label(RichText::new(what).text_style(text_style("small12")).color(t.tx2));
            if let Some(sql) = &self.sql {
                widgets::checkbox(ui, &mut self.with_sql, "Only samples whose id the query gives");
                if self.with_sql {
                    let line = sql.split_whitespace().collect::<Vec<_>>().join(" ");
                    ui.add(egui::Label::new(RichText::new(line).font(font::mono(11.0)).color(t.tx3)).truncate());
                }
            }
            let before = self.format;
            widgets::segmented(
                ui,
                "subset-format",
                &mut self.format,
                &[Segment::new(Format::Zip, "ZIP"), Segment::new(Format::Folder, "FOLDER")],
            );
            if before != self.format {
                let bare = self.target.trim_end_matches('/').trim_end_matches(".tacozip").to_owned();
                self.target = if self.format == Format::Zip { format!("{bare}.tacozip") } else { bare };
            }
            TextField::new("Destination", &mut self.target).mono().name("Destination of the subset").show(ui);
            widgets::checkbox(ui, &mut self.keep_siblings, "Keep all children of the samples that stay");
            widgets::checkbox(ui, &mut self.keep_padding, "Keep placeholders");
            widgets::checkbox(ui, &mut self.replace, "Replace what is there");
            let note = "The subset notes what it is a part of and when it was taken.";
            ui.label(RichText::new(note).text_style(text_style("small12")).color(t.tx3));
        });
        let blocked = self.target.trim().is_empty().then_some("Name the file to write");
        let (stay, act) = foot_ui(ui, |ui| {
            let act = ui.add(Button::primary("Export now").large().blocked(blocked)).clicked();
            (ui.add(Button::ghost("Cancel").large()).clicked(), act)
        });
        match (act, stay || close) {
            (true, _) => Next::Do(Ask::Run(Command::Export { request: Box::new(self.request(cx)) })),
            (_, true) => Next::Close,
            _ => Next::Stay,
        }
    }

    fn request(&self, cx: &Cx<'_>) -> ExportRequest {
        let target = intake::path_of(&self.target);
        ExportRequest {
            input: self.input.clone(),
            open: Default::default(),
            options: BuildOptions {
                target,
                format: self.format,
                parquet: ParquetOptions::default(),
                overwrite: self.replace,
                parts: None,
            },
            rows: RowChoice {
                filters: cx.studio.filters().to_vec(),
                sql: self.sql.clone().filter(|_| self.with_sql),
                ..RowChoice::default()
            },
            keep_padding: self.keep_padding,
            keep_siblings: self.keep_siblings,
        }
    }
}
