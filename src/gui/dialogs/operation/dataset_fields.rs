//! Fields of a form for its input, the samples of it, and its output.

use std::path::PathBuf;

use egui::Ui;

use super::fields::{OperationFields, draw_labelled_line, path_in, split_names};
use super::form::OperationStart;
use super::preview::Destination;
use crate::container::{BuildOptions, Format, OnDamage, OpenOptions};
use crate::gui::file_dialog::FileRequest;
use crate::gui::panel_context::PanelContext;
use crate::gui::widgets::{self, Segment, TextField};
use crate::ops::RowChoice;
use crate::table::ParquetOptions;

/// Substrings of the names of indexes over parts, in lower case.
const INDEXES: [&str; 2] = ["tacocat", "tacollection"];

/// The dataset that an operation reads.
#[derive(Debug)]
pub struct InputField {
    pub text: String,
    /// The dataset that was open when the form opened.
    opened: String,
    open: OpenOptions,
    /// Folder with the parts of an index; empty for the folder of the index.
    base: String,
}

impl InputField {
    /// The opened dataset.
    pub fn new(start: &OperationStart) -> Self {
        Self {
            text: start.input_text(),
            opened: start.input_text(),
            open: start.open.clone(),
            base: start.base_text(),
        }
    }

    pub fn ui(&mut self, ui: &mut Ui, fields: &mut OperationFields<'_>, label: &str, hint: &str) {
        fields.dataset(ui, label, &mut self.text, hint);
    }

    /// Draws the folder with the parts of an index; nothing when the name of the input is not that
    /// of an index.
    pub fn base_ui(&mut self, ui: &mut Ui, fields: &mut OperationFields<'_>) {
        let input = self
            .text
            .trim()
            .trim_end_matches(['/', '\\'])
            .to_lowercase();
        let name = input.rsplit(['/', '\\']).next().unwrap_or_default();
        if self.base.is_empty() && !INDEXES.iter().any(|word| name.contains(word)) {
            return;
        }
        fields.path(
            ui,
            tr!("Folder of the parts"),
            &mut self.base,
            tr!("empty: beside the index"),
            FileRequest::ToolFolder,
        );
    }

    /// True for the dataset that was open when the form opened.
    pub fn is_opened(&self) -> bool {
        self.text == self.opened
    }

    /// # Errors
    /// A sentence for the user when nothing is typed.
    pub fn path(&self) -> Result<PathBuf, String> {
        path_in(&self.text).ok_or_else(|| tr!("Choose the input").into())
    }

    pub fn open_options(&self) -> OpenOptions {
        OpenOptions {
            base_path: path_in(&self.base),
            ..self.open.clone()
        }
    }
}

/// The samples of level 0 that an operation reads.
#[derive(Debug)]
pub struct SampleField {
    /// Ids separated by commas; empty for all.
    ids: String,
    /// Only those that the filter of the window leaves.
    filtered: bool,
}

impl SampleField {
    /// The sample from whose menu the form was opened; else all.
    pub fn new(start: &OperationStart) -> Self {
        Self {
            ids: start.sample.clone().unwrap_or_default(),
            filtered: false,
        }
    }

    pub fn ui(&mut self, ui: &mut Ui, cx: &PanelContext<'_>, input: &InputField) {
        TextField::new(tr!("Only these samples"), &mut self.ids)
            .mono()
            .hint(tr!("ids of level 0, separated by commas; empty for all"))
            .show(ui);
        if !cx.studio.filters().is_empty() && input.is_opened() {
            widgets::checkbox(ui, &mut self.filtered, tr!("Only the rows of the filter"));
        }
    }

    pub fn rows(&self, cx: &PanelContext<'_>, input: &InputField) -> RowChoice {
        let ids = split_names(&self.ids);
        let filters = if self.filtered && input.is_opened() {
            cx.studio.filters().to_vec()
        } else {
            Vec::new()
        };
        RowChoice {
            filters,
            ids: (!ids.is_empty()).then_some(ids),
            ..RowChoice::default()
        }
    }

    /// Equal for equal filters, if they choose the samples.
    pub fn filter_key(&self, cx: &PanelContext<'_>) -> String {
        let filters = self.filtered.then(|| cx.studio.filters());
        format!("{filters:?}")
    }
}

/// The file or folder that an operation writes.
#[derive(Debug)]
pub struct OutputField {
    pub text: String,
    /// Replace what is there.
    pub replace: bool,
}

impl OutputField {
    /// Proposes an output.
    pub fn new(text: String) -> Self {
        Self {
            text,
            replace: false,
        }
    }

    /// Draws the path with a button that chooses it.
    pub fn ui(&mut self, ui: &mut Ui, fields: &mut OperationFields<'_>, label: &str, hint: &str) {
        fields.path(ui, label, &mut self.text, hint, FileRequest::ToolOutput);
    }

    /// Draws the path as the destination; `name` is the accessible name of its field.
    pub fn destination_ui(&mut self, ui: &mut Ui, name: &str) {
        TextField::new(tr!("Destination"), &mut self.text)
            .mono()
            .name(name)
            .show(ui);
    }

    /// Draws the choice to replace what is there.
    pub fn replace_ui(&mut self, ui: &mut Ui) {
        widgets::checkbox(ui, &mut self.replace, tr!("Replace an existing output"));
    }

    /// # Errors
    /// A sentence for the user when nothing is typed.
    pub fn destination(&self) -> Result<Destination, String> {
        let path = path_in(&self.text).ok_or_else(|| tr!("Name the file to write").to_owned())?;
        Ok(Destination {
            path,
            replace: self.replace,
        })
    }
}

/// The dataset of 2.0 that an operation writes.
#[derive(Debug)]
pub struct DatasetOutputField {
    pub location: OutputField,
    format: Format,
}

impl DatasetOutputField {
    /// Proposes an output.
    pub fn new(text: String, format: Format) -> Self {
        Self {
            location: OutputField::new(text),
            format,
        }
    }

    /// Draws the choice of ZIP or FOLDER on a labelled line; as [`Self::formats_ui`].
    pub fn labelled_formats_ui(&mut self, ui: &mut Ui) {
        draw_labelled_line(ui, tr!("Write as"), |ui| self.formats_ui(ui));
    }

    /// Draws the choice of ZIP or FOLDER; adds or removes `.tacozip` in the output's name.
    pub fn formats_ui(&mut self, ui: &mut Ui) {
        let before = self.format;
        let formats = [
            Segment::new(Format::Zip, "ZIP"),
            Segment::new(Format::Folder, "FOLDER"),
        ];
        widgets::draw_segments(ui, "output-format", &mut self.format, &formats);
        if before == self.format {
            return;
        }
        let text = &mut self.location.text;
        let bare = text.trim_end_matches('/').trim_end_matches(".tacozip");
        *text = if self.format == Format::Zip {
            format!("{bare}.tacozip")
        } else {
            bare.to_owned()
        };
    }

    /// Options that write one file or folder, and stop at damaged samples.
    ///
    /// # Errors
    /// As [`OutputField::destination`].
    pub fn build_options(&self) -> Result<BuildOptions, String> {
        let Destination { path, replace } = self.location.destination()?;
        Ok(BuildOptions {
            target: path,
            format: self.format,
            parquet: ParquetOptions::default(),
            overwrite: replace,
            parts: None,
            on_damage: OnDamage::Stop,
            text_columns: false,
            align_blocks: false,
        })
    }
}
