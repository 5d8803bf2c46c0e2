//! Form of Write older generation: writes a dataset or draft as TORTILLA 0.5 or TACO 0.2.

use std::path::PathBuf;

use egui::Ui;

use crate::container::{OpenOptions, TortillaOptions, read_collection_file};
use crate::gui::dialogs::operation::fields::{
    self, OperationFields, need_input, need_output, path_in, size_in,
};
use crate::gui::dialogs::operation::form::{
    OperationForm, OperationStart, OperationTexts, PreviewWork,
};
use crate::gui::dialogs::operation::line::ReportLine;
use crate::gui::dialogs::operation::preview::OperationPreview;
use crate::gui::document_key::revision;
use crate::gui::file_dialog::FileRequest;
use crate::gui::icons;
use crate::gui::panel_context::PanelContext;
use crate::gui::widgets::{self, Segment, TextField, paint};
use crate::ops::{CompileRequest, Generation, dataset_outline};
use crate::studio::Command;

/// Input and options.
#[derive(Debug)]
pub struct Older {
    /// True when the draft is written instead of a file.
    draft: bool,
    input: String,
    opened: String,
    generation: Generation,
    output: String,
    collection: String,
    ids: String,
    filtered: bool,
    part_size: String,
    stream: bool,
    allow_non_tog: bool,
    allow_missing_parts: bool,
    damaged: bool,
    replace: bool,
}

impl Older {
    /// Initial values for the draft or the opened dataset; for the selected sample only, if opened
    /// from a sample's menu.
    pub fn new(start: &OperationStart) -> Self {
        Self {
            draft: start.draft,
            input: start.input_text(),
            opened: start.input_text(),
            generation: Generation::Tortilla,
            output: start.output_text("-compiled", ".tortilla"),
            collection: String::new(),
            ids: start.sample.clone().unwrap_or_default(),
            filtered: false,
            part_size: String::new(),
            stream: false,
            allow_non_tog: false,
            allow_missing_parts: false,
            damaged: false,
            replace: false,
        }
    }

    fn options(&self, target: PathBuf) -> Result<TortillaOptions, String> {
        Ok(TortillaOptions {
            text_form: false,
            target,
            collection: None,
            part_bytes: size_in(&self.part_size)?,
            stream: self.stream,
            allow_non_tog: self.allow_non_tog,
            overwrite: self.replace,
            on_damage: fields::damage(self.damaged),
        })
    }
}

impl OperationForm for Older {
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
            fields.dataset(
                ui,
                tr!("Dataset"),
                &mut self.input,
                tr!("a dataset of any generation, or one of its parts"),
            );
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
            let bare = self
                .output
                .trim_end_matches(".tortilla")
                .trim_end_matches(".taco")
                .to_owned();
            self.output = format!(
                "{bare}{}",
                if self.generation == Generation::Taco {
                    ".taco"
                } else {
                    ".tortilla"
                }
            );
        }
        fields.path(
            ui,
            tr!("Output"),
            &mut self.output,
            "",
            FileRequest::ToolOutput,
        );
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
            let ids = TextField::new(tr!("Only these samples"), &mut self.ids).mono();
            ids.hint(tr!("ids of level 0, separated by commas; empty for all"))
                .show(ui);
            if !cx.studio.filters().is_empty() && self.input == self.opened {
                widgets::checkbox(ui, &mut self.filtered, tr!("Only the rows of the filter"));
            }
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
        fields::keep_damaged(ui, &mut self.damaged);
        fields::replace(ui, &mut self.replace);
    }

    fn work(&self, cx: &PanelContext<'_>) -> Result<PreviewWork, String> {
        let target = need_output(&self.output)?;
        let ending = target
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
        let (mut options, replace) = (self.options(target.clone())?, self.replace);
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
                let plan = OperationPreview::new(Command::WriteTortilla { options })
                    .line(ReportLine::fact(text));
                let plan = plan.destination(&target, replace);
                Ok(if rows == 0 {
                    plan.obstacle(tr!("The draft has no samples yet"))
                } else {
                    plan
                })
            }));
        }
        let rows = fields::rows(&self.ids, self.filtered && self.input == self.opened, cx);
        let (input, allow_missing_parts) = (need_input(&self.input)?, self.allow_missing_parts);
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
            let mut plan = OperationPreview::new(Command::operate(request)).outline(&outline);
            if lacks {
                plan = plan.obstacle(tr!("Parts of the dataset are missing"));
            }
            if is_taco && !collected {
                let why = tr!(
                    "A .taco needs a collection, and this TORTILLA has none. Name a JSON file with \
                        one."
                );
                plan = plan
                    .line(ReportLine::error(why))
                    .obstacle(tr!("A collection is needed"));
            }
            Ok(plan.destination(&target, replace))
        }))
    }

    fn key(&self, cx: &PanelContext<'_>) -> String {
        let filters = if self.filtered {
            format!("{:?}", cx.studio.filters())
        } else {
            String::new()
        };
        let draft = if self.draft {
            format!("{:?}", (cx.session.serial, revision(cx.studio)))
        } else {
            String::new()
        };
        format!("{self:?}{filters}{draft}")
    }
}
