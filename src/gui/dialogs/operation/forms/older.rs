//! Form of Write older generation: writes a dataset or draft as TORTILLA 0.5 or TACO 0.2.

use egui::Ui;

use crate::container::{OpenOptions, TortillaOptions, read_collection_file};
use crate::gui::dialogs::operation::dataset_fields::{InputField, OutputField, SampleField};
use crate::gui::dialogs::operation::fields::{self, OperationFields, path_in, size_in};
use crate::gui::dialogs::operation::form::{
    OperationForm, OperationStart, OperationTexts, PreviewWork,
};
use crate::gui::dialogs::operation::line::ReportLine;
use crate::gui::dialogs::operation::preview::{Destination, OperationPreview};
use crate::gui::file_dialog::FileRequest;
use crate::gui::icons;
use crate::gui::panel_context::PanelContext;
use crate::gui::widgets::{self, Segment, TextField, paint};
use crate::ops::{CompileRequest, Generation, dataset_outline};
use crate::studio::Command;

/// Input and options.
#[derive(Debug)]
pub struct OlderForm {
    /// True when the draft is written instead of a file.
    draft: bool,
    input: InputField,
    generation: Generation,
    output: OutputField,
    collection: String,
    samples: SampleField,
    part_size: String,
    stream: bool,
    allow_non_tog: bool,
    allow_missing_parts: bool,
    damaged: bool,
}

impl OlderForm {
    /// Initial values for the draft or the opened dataset; for the selected sample only, if opened
    /// from a sample's menu.
    pub fn new(start: &OperationStart) -> Self {
        Self {
            draft: start.draft,
            input: InputField::new(start),
            generation: Generation::Tortilla,
            output: OutputField::new(start.output_text("-compiled", ".tortilla")),
            collection: String::new(),
            samples: SampleField::new(start),
            part_size: String::new(),
            stream: false,
            allow_non_tog: false,
            allow_missing_parts: false,
            damaged: false,
        }
    }

    fn options(&self, output: &Destination) -> Result<TortillaOptions, String> {
        Ok(TortillaOptions {
            text_form: false,
            target: output.path.clone(),
            collection: None,
            part_bytes: size_in(&self.part_size)?,
            stream: self.stream,
            allow_non_tog: self.allow_non_tog,
            overwrite: output.replace,
            on_damage: fields::choose_damage_handling(self.damaged),
        })
    }
}

impl OperationForm for OlderForm {
    fn words(&self) -> OperationTexts {
        OperationTexts {
            icon: icons::CLOCK_COUNTER_CLOCKWISE,
            title: tr!("Write older generation"),
            about: tr!(
                "Writes all or chosen samples as a TORTILLA 0.5, or with a collection as a TACO \
                    0.2, for tools that read nothing newer. Placeholders are left out: these \
                    generations have none."
            ),
            verb: tr!("Write file"),
        }
    }

    fn options_ui(
        &mut self,
        ui: &mut Ui,
        fields: &mut OperationFields<'_>,
        cx: &mut PanelContext<'_>,
    ) {
        if !self.draft {
            let hint = tr!("a dataset of any generation, or one of its parts");
            self.input.ui(ui, fields, tr!("Dataset"), hint);
        }
        let before = self.generation;
        fields::draw_labelled_line(ui, tr!("Write as"), |ui| {
            let kinds = [
                Segment::new(Generation::Tortilla, "TORTILLA 0.5"),
                Segment::new(Generation::Taco, "TACO 0.2"),
            ];
            widgets::draw_segments(ui, "older-kind", &mut self.generation, &kinds);
        });
        if before != self.generation {
            let text = &mut self.output.text;
            let bare = text.trim_end_matches(".tortilla").trim_end_matches(".taco");
            let ending = if self.generation == Generation::Taco {
                ".taco"
            } else {
                ".tortilla"
            };
            *text = format!("{bare}{ending}");
        }
        self.output.ui(ui, fields, tr!("Output"), "");
        if self.generation == Generation::Taco {
            let hint = tr!("a JSON file; empty for the input's own");
            fields.path(
                ui,
                tr!("Collection"),
                &mut self.collection,
                hint,
                FileRequest::ToolFile,
            );
        }
        if !self.draft {
            self.samples.ui(ui, cx, &self.input);
        }
        fields::draw_labelled_line(ui, tr!("Split into parts"), |ui| {
            let size = TextField::new(tr!("Data in a part"), &mut self.part_size)
                .hide_label()
                .mono()
                .width(130.0);
            size.hint(tr!("at most 4GB")).show(ui);
        });
        widgets::checkbox(
            ui,
            &mut self.stream,
            tr!("Streamable: one chain of tables for all levels"),
        );
        if self.stream {
            widgets::checkbox(
                ui,
                &mut self.allow_non_tog,
                tr!("Also with rasters that are no TOGs"),
            );
        }
        if !self.draft {
            widgets::checkbox(
                ui,
                &mut self.allow_missing_parts,
                tr!("Continue without the missing parts"),
            );
        }
        fields::keep_damaged_ui(ui, &mut self.damaged);
        self.output.replace_ui(ui);
    }

    fn work(&self, cx: &PanelContext<'_>) -> Result<PreviewWork, String> {
        let output = self.output.destination()?;
        let ending = output
            .path
            .extension()
            .map(|ending| ending.to_string_lossy().to_ascii_lowercase())
            .unwrap_or_default();
        let wanted = if self.generation == Generation::Taco {
            "taco"
        } else {
            "tortilla"
        };
        if ending != wanted {
            return Err(tr!("The name has to end in .{ending}", ending = wanted));
        }
        let mut options = self.options(&output)?;
        let collection = path_in(&self.collection).filter(|_| self.generation == Generation::Taco);
        if self.draft {
            let document = cx.document().filter(|document| document.draft().is_some());
            let rows = document
                .ok_or_else(|| tr!("No draft is open").to_owned())?
                .rows(0);
            return Ok(Box::new(move |_| {
                options.collection = collection
                    .map(|path| read_collection_file(&path))
                    .transpose()?
                    .map(|given| given.fields);
                let n = paint::format_grouped_number(rows as u64);
                let text = tr_n!(
                    rows,
                    "Reads: the draft, {n} sample of level 0",
                    "Reads: the draft, {n} samples of level 0",
                    n
                );
                let preview = OperationPreview::new(Command::WriteTortilla { options })
                    .line(ReportLine::fact(text));
                let preview = preview.destination(&output);
                Ok(if rows == 0 {
                    preview.obstacle(tr!("The draft has no samples yet"))
                } else {
                    preview
                })
            }));
        }
        let rows = self.samples.rows(cx, &self.input);
        let (input, allow_missing_parts) = (self.input.path()?, self.allow_missing_parts);
        let is_taco = self.generation == Generation::Taco;
        Ok(Box::new(move |ctx| {
            let outline = dataset_outline(&input, &OpenOptions::default(), ctx)?;
            options.collection = collection
                .map(|path| read_collection_file(&path))
                .transpose()?
                .map(|given| given.fields);
            let collected = options.collection.is_some()
                || outline.format != crate::container::Format::Tortilla;
            let lacks = outline.lacking.is_some() && !allow_missing_parts;
            let request = CompileRequest {
                input,
                options,
                allow_missing_parts,
                rows,
            };
            let mut preview = OperationPreview::new(Command::operate(request)).outline(&outline);
            if lacks {
                preview = preview.obstacle(tr!("Parts of the dataset are missing"));
            }
            if is_taco && !collected {
                let why = tr!(
                    "A .taco needs a collection, and this TORTILLA has none. Name a JSON file with \
                        one."
                );
                preview = preview
                    .line(ReportLine::error(why))
                    .obstacle(tr!("A collection is needed"));
            }
            Ok(preview.destination(&output))
        }))
    }

    fn key(&self, cx: &PanelContext<'_>) -> String {
        let filters = self.samples.filter_key(cx);
        let draft = if self.draft {
            format!("{:?}", cx.document_key())
        } else {
            String::new()
        };
        format!("{self:?}{filters}{draft}")
    }
}
