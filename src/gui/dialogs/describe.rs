//! Writes a catalogue description of the dataset: STAC, GeoParquet, Croissant, DataCite or a data
//! card.

use std::path::{Path, PathBuf};

use egui::{Frame, Margin, Ui};

use super::dialog_job::{DialogJob, nothing_written};
use super::frame::{Next, head_ui};
use super::view::{DialogEvent, DialogView, Reply};
use crate::container::OpenOptions;
use crate::export::Catalogue;
use crate::gui::panel_context::PanelContext;
use crate::gui::theme::{self, text_style};
use crate::gui::widgets::{self, FieldNote, TextField};
use crate::gui::{dropped_paths, icons};
use crate::jobs::AsyncValue;
use crate::ops::DescribeRequest;
use crate::studio::Command;

/// The dialog.
pub struct Describe {
    input: PathBuf,
    open: OpenOptions,
    folder: PathBuf,
    id: String,
    form: Catalogue,
    target: String,
    url: String,
    level: Option<usize>,
    replace: bool,
    /// True when the destination exists.
    there: AsyncValue<(PathBuf, bool), bool>,
    job: DialogJob<()>,
}

/// Purpose of a format.
fn purpose(form: Catalogue) -> &'static str {
    match form {
        Catalogue::Stac => {
            tr!("A folder with collection.json and an Item for each sample that has a time")
        }
        Catalogue::Geoparquet => {
            tr!("The samples of a level with their outlines, for GIS programs and DuckDB")
        }
        Catalogue::StacGeoparquet => tr!("The STAC Items as one Parquet file"),
        Catalogue::Croissant => tr!(
            "JSON-LD for machine-learning catalogues, with sources, checksums and responsible use"
        ),
        Catalogue::Datacite => tr!("JSON to register a DOI with"),
        Catalogue::Markdown => tr!("A README for a repository or a hub"),
        Catalogue::Html => {
            tr!("A page with map, structure and fields that needs nothing from elsewhere")
        }
        Catalogue::Training => {
            tr!("Python code with splits, bands, statistics and class weights of this dataset")
        }
    }
}

/// File name of a format.
fn name_of(form: Catalogue, id: &str) -> String {
    match form {
        Catalogue::Stac => format!("{id}-stac"),
        Catalogue::Geoparquet => format!("{id}.parquet"),
        Catalogue::StacGeoparquet => format!("{id}-items.parquet"),
        Catalogue::Croissant => format!("{id}-croissant.json"),
        Catalogue::Datacite => format!("{id}-datacite.json"),
        Catalogue::Markdown => format!("{id}-card.md"),
        Catalogue::Html => format!("{id}-card.html"),
        Catalogue::Training => format!("{id}-train.py"),
    }
}

impl Describe {
    /// Proposes a name in `folder`.
    pub fn new(
        input: PathBuf,
        open: OpenOptions,
        folder: &Path,
        id: &str,
        form: Catalogue,
    ) -> Self {
        let id = if id.is_empty() { "dataset" } else { id };
        let target = folder.join(name_of(form, id)).display().to_string();
        let folder = folder.to_owned();
        Self {
            input,
            open,
            folder,
            id: id.to_owned(),
            form,
            target,
            url: String::new(),
            level: None,
            replace: false,
            there: AsyncValue::default(),
            job: DialogJob::Idle,
        }
    }

    /// True when the destination exists.
    fn look(&mut self, cx: &PanelContext<'_>) -> bool {
        let key = (
            dropped_paths::parse_path(&self.target),
            self.form == Catalogue::Stac,
        );
        if !self.is_running() {
            let (place, folder) = key.clone();
            self.there.update(
                cx.jobs,
                key.clone(),
                tr!("Check the destination"),
                move |_| {
                    Ok(match folder {
                        true => {
                            place.join("collection.json").exists() || place.join("items").exists()
                        }
                        // A path without extension is a folder; the document gets its default name
                        // in it.
                        false => place.exists() && place.extension().is_some(),
                    })
                },
            );
        }
        matches!(self.there.get(&key), Some(Ok(true))) && !self.replace
    }

    fn choose(&mut self, form: Catalogue) {
        if self.form == form {
            return;
        }
        // A typed folder is kept; the name follows the format.
        let folder = dropped_paths::parse_path(&self.target)
            .parent()
            .map_or_else(|| self.folder.clone(), Path::to_owned);
        self.form = form;
        self.target = folder.join(name_of(form, &self.id)).display().to_string();
    }

    fn request(&self) -> DescribeRequest {
        DescribeRequest {
            input: self.input.clone(),
            open: self.open.clone(),
            form: self.form,
            output: dropped_paths::parse_path(&self.target),
            url: Some(self.url.trim().to_owned()).filter(|url| !url.is_empty()),
            level: self.level,
            overwrite: self.replace,
        }
    }
}

impl DialogView for Describe {
    fn ui(&mut self, ui: &mut Ui, cx: &mut PanelContext<'_>) -> Next {
        let t = theme::tokens(ui);
        ui.set_width((ui.ctx().content_rect().width() - 64.0).min(620.0));
        ui.spacing_mut().item_spacing.y = 0.0;
        let title = cx
            .document()
            .map(|document| document.title().into_owned())
            .unwrap_or_default();
        let close = head_ui(ui, icons::FILE_TEXT, tr!("Describe for catalogues"), &title);
        let taken = self.look(cx);
        Frame::NONE.inner_margin(Margin::same(16)).show(ui, |ui| {
            if self.is_running() {
                ui.disable();
            }
            ui.spacing_mut().item_spacing.y = 4.0;
            for form in Catalogue::ALL {
                if widgets::radio(
                    ui,
                    self.form == form,
                    crate::text::translate_text(form.title()),
                )
                .clicked()
                {
                    self.choose(form);
                }
            }
            ui.label(
                theme::rich_text(purpose(self.form))
                    .text_style(text_style("small12"))
                    .color(t.tx2),
            );
            ui.spacing_mut().item_spacing.y = 10.0;
            let levels = cx
                .document()
                .map_or(0, |document| document.tree().levels.len());
            if levels > 1
                && matches!(
                    self.form,
                    Catalogue::Stac | Catalogue::Geoparquet | Catalogue::StacGeoparquet
                )
            {
                ui.horizontal(|ui| {
                    ui.label(
                        theme::rich_text(tr!("Samples of"))
                            .text_style(text_style("small12"))
                            .color(t.tx2),
                    );
                    let mut names = vec![tr!("the first level with places").to_owned()];
                    names.extend((0..levels).map(|level| tr!("level {level}", level)));
                    let current =
                        names[self.level.map_or(0, |level| (level + 1).min(levels))].clone();
                    if let Some(index) =
                        widgets::combo(ui, tr!("Level to describe"), &current, 220.0, false, &names)
                    {
                        self.level = index.checked_sub(1);
                    }
                });
            }
            TextField::new(tr!("Address of the dataset on the web"), &mut self.url)
                .mono()
                .hint(tr!("where the dataset is downloaded; optional"))
                .show(ui);
            let note = if taken {
                FieldNote::Warning(
                    tr!("The destination exists already. Choose another name, or replace it.")
                        .into(),
                )
            } else {
                FieldNote::None
            };
            let field = TextField::new(tr!("Destination"), &mut self.target)
                .mono()
                .name(tr!("Destination of the description"));
            field.note(note).show(ui);
            widgets::checkbox(ui, &mut self.replace, tr!("Replace an existing output"));
            self.job.ended_ui(ui);
        });
        let blocked = if self.target.trim().is_empty() {
            Some(tr!("Name the file to write"))
        } else if taken {
            Some(tr!("The destination exists already"))
        } else {
            None
        };
        let request = self.request();
        let command = || Command::operate(request);
        self.job.foot_ui(
            ui,
            [tr!("Stop the description"), tr!("Write description")],
            blocked,
            close,
            command,
        )
    }

    fn receive(&mut self, event: &DialogEvent<'_>) -> Reply {
        match event {
            // What was written is told as for a description without a dialog.
            DialogEvent::Finished(job, ..) if self.job.has_run(*job) => Reply::Close,
            DialogEvent::DocumentChanged if !self.is_running() => Reply::Close,
            event => self.job.receive(event, nothing_written),
        }
    }

    fn is_running(&self) -> bool {
        self.job.is_running()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_name_follows_the_form_in_the_folder_that_was_typed() {
        let mut dialog = Describe::new(
            "/in.tacozip".into(),
            OpenOptions::default(),
            Path::new("/home"),
            "set",
            Catalogue::Html,
        );
        assert_eq!(Path::new(&dialog.target), Path::new("/home/set-card.html"));
        dialog.target = "/elsewhere/page.html".into();
        dialog.choose(Catalogue::Croissant);
        assert_eq!(
            dialog.request().output,
            Path::new("/elsewhere/set-croissant.json")
        );
        let mut names: Vec<String> = Catalogue::ALL
            .iter()
            .map(|form| name_of(*form, "x"))
            .collect();
        names.dedup();
        assert_eq!(names.len(), Catalogue::ALL.len());
    }
}
