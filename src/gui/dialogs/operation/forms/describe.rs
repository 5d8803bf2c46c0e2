//! Form of Describe for catalogues: STAC, GeoParquet, Croissant, DataCite or a data card of the
//! open dataset.

use std::path::{Path, PathBuf};

use egui::Ui;

use crate::container::OpenOptions;
use crate::export::Catalogue;
use crate::gui::dialogs::operation::dataset_fields::OutputField;
use crate::gui::dialogs::operation::fields::{self, OperationFields, need_reader};
use crate::gui::dialogs::operation::form::{
    ButtonTexts, OperationEnd, OperationForm, OperationStart, OperationTexts, PreviewWork,
};
use crate::gui::dialogs::operation::preview::{Destination, OperationPreview};
use crate::gui::dropped_paths;
use crate::gui::icons;
use crate::gui::panel_context::PanelContext;
use crate::gui::theme;
use crate::gui::widgets::{self, TextField};
use crate::ops::{DescribeRequest, outline_of};
use crate::studio::{Command, Event};

/// Form of the description, destination and options.
#[derive(Debug)]
pub struct DescribeForm {
    input: PathBuf,
    open: OpenOptions,
    folder: PathBuf,
    id: String,
    form: Catalogue,
    output: OutputField,
    url: String,
    level: Option<usize>,
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

/// True when a description would replace what is there.
fn description_exists(form: Catalogue, target: &Path) -> bool {
    if form == Catalogue::Stac {
        target.join("collection.json").exists() || target.join("items").exists()
    } else {
        // A path without extension is a folder; the document gets its default name in it.
        target.exists() && target.extension().is_some()
    }
}

impl DescribeForm {
    /// Proposes a name in the folder for outputs; `None` without a dataset.
    pub fn new(start: &OperationStart) -> Option<Self> {
        let id = if start.id.is_empty() {
            "dataset"
        } else {
            &start.id
        };
        let form = start.catalogue.unwrap_or(Catalogue::Html);
        Some(Self {
            input: start.input.clone()?,
            open: start.open.clone(),
            folder: start.folder.clone(),
            id: id.to_owned(),
            form,
            output: OutputField::new(start.folder.join(name_of(form, id)).display().to_string()),
            url: String::new(),
            level: None,
        })
    }

    fn choose_form(&mut self, form: Catalogue) {
        if self.form == form {
            return;
        }
        // A typed folder is kept; the name follows the format.
        let folder = dropped_paths::parse_path(&self.output.text)
            .parent()
            .map_or_else(|| self.folder.clone(), Path::to_owned);
        self.form = form;
        self.output.text = folder.join(name_of(form, &self.id)).display().to_string();
    }

    /// # Errors
    /// A message for the user when no destination is typed.
    fn request(&self) -> Result<DescribeRequest, String> {
        let Destination { path, replace } = self.output.destination()?;
        Ok(DescribeRequest {
            input: self.input.clone(),
            open: self.open.clone(),
            form: self.form,
            output: path,
            url: Some(self.url.trim().to_owned()).filter(|url| !url.is_empty()),
            level: self.level,
            overwrite: replace,
        })
    }

    fn level_ui(&mut self, ui: &mut Ui, levels: usize) {
        ui.horizontal(|ui| {
            ui.label(theme::style_small_text(
                tr!("Samples of"),
                theme::tokens(ui).tx2,
            ));
            let mut names = vec![tr!("the first level with places").to_owned()];
            names.extend((0..levels).map(|level| tr!("level {level}", level)));
            let current = names[self.level.map_or(0, |level| (level + 1).min(levels))].clone();
            if let Some(index) =
                widgets::combo(ui, tr!("Level to describe"), &current, 220.0, false, &names)
            {
                self.level = index.checked_sub(1);
            }
        });
    }
}

impl OperationForm for DescribeForm {
    fn words(&self) -> OperationTexts {
        OperationTexts {
            icon: icons::FILE_TEXT,
            title: tr!("Describe for catalogues"),
            about: "",
            verb: tr!("Write description"),
        }
    }

    fn button_texts(&self) -> ButtonTexts {
        ButtonTexts {
            stop_name: tr!("Stop the description"),
            ..ButtonTexts::default()
        }
    }

    fn title_detail(&self, cx: &PanelContext<'_>) -> String {
        fields::document_title(cx)
    }

    fn follows_document(&self) -> bool {
        true
    }

    fn options_ui(
        &mut self,
        ui: &mut Ui,
        _fields: &mut OperationFields<'_>,
        cx: &mut PanelContext<'_>,
    ) {
        ui.scope(|ui| {
            ui.spacing_mut().item_spacing.y = 4.0;
            for form in Catalogue::ALL {
                let title = crate::text::translate_text(form.title());
                if widgets::radio(ui, self.form == form, title).clicked() {
                    self.choose_form(form);
                }
            }
            ui.label(theme::style_small_text(
                purpose(self.form),
                theme::tokens(ui).tx2,
            ));
        });
        let levels = cx
            .document()
            .map_or(0, |document| document.tree().levels.len());
        let lists_samples = matches!(
            self.form,
            Catalogue::Stac | Catalogue::Geoparquet | Catalogue::StacGeoparquet
        );
        if levels > 1 && lists_samples {
            self.level_ui(ui, levels);
        }
        TextField::new(tr!("Address of the dataset on the web"), &mut self.url)
            .mono()
            .hint(tr!("where the dataset is downloaded; optional"))
            .show(ui);
        self.output
            .destination_ui(ui, tr!("Destination of the description"));
        self.output.replace_ui(ui);
    }

    fn work(&self, cx: &PanelContext<'_>) -> Result<PreviewWork, String> {
        let (request, output) = (self.request()?, self.output.destination()?);
        let reader = need_reader(cx)?;
        Ok(Box::new(move |_| {
            let outline = outline_of(reader.as_ref());
            let exists = description_exists(request.form, &request.output);
            let preview = OperationPreview::new(Command::operate(request)).outline(&outline);
            Ok(preview.output(&output, exists))
        }))
    }

    /// The window shows what was written as for a description without a dialog.
    fn end_job(&mut self, _event: &Event) -> OperationEnd {
        OperationEnd::Close
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_name_follows_the_form_in_the_folder_that_was_typed() {
        let mut form = DescribeForm::new(&OperationStart {
            input: Some("/in.tacozip".into()),
            folder: "/home".into(),
            id: "set".into(),
            ..OperationStart::default()
        })
        .expect("a dataset is open");
        assert_eq!(
            Path::new(&form.output.text),
            Path::new("/home/set-card.html")
        );
        form.output.text = "/elsewhere/page.html".into();
        form.choose_form(Catalogue::Croissant);
        assert_eq!(
            form.request().map(|request| request.output),
            Ok("/elsewhere/set-croissant.json".into())
        );
        let mut names: Vec<String> = Catalogue::ALL
            .iter()
            .map(|form| name_of(*form, "x"))
            .collect();
        names.dedup();
        assert_eq!(names.len(), Catalogue::ALL.len());
    }

    #[test]
    fn a_folder_is_replaced_only_by_stac() {
        let folder = tempfile::tempdir().expect("a folder");
        let at = |name: &str| folder.path().join(name);
        assert!(!description_exists(Catalogue::Stac, folder.path()));
        assert!(!description_exists(Catalogue::Html, &at("card.html")));
        std::fs::write(at("card.html"), "").expect("writes");
        std::fs::write(at("collection.json"), "").expect("writes");
        std::fs::create_dir(at("cards")).expect("a folder");
        assert!(description_exists(Catalogue::Stac, folder.path()));
        assert!(description_exists(Catalogue::Html, &at("card.html")));
        assert!(!description_exists(Catalogue::Html, &at("cards")));
    }
}
