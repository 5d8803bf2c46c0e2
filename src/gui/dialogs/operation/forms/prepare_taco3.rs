//! Form of Prepare for TACO 3: a folder from which the official library writes the dataset as TACO
//! 3, and the library's run.

use egui::Ui;

use crate::consent::format_program;
use crate::gui::dialogs::operation::dataset_fields::{InputField, OutputField};
use crate::gui::dialogs::operation::fields::{self, OperationFields};
use crate::gui::dialogs::operation::form::{
    OperationForm, OperationStart, OperationTexts, PreviewWork,
};
use crate::gui::dialogs::operation::line::ReportLine;
use crate::gui::dialogs::operation::preview::{Destination, OperationPreview};
use crate::gui::dialogs::operation::report::describe_taco3;
use crate::gui::icons;
use crate::gui::panel_context::PanelContext;
use crate::gui::widgets::{self, Segment, TextField};
use crate::ops::{LackingFiles, LibraryRun, Operation, Taco3Request};
use crate::studio::Command;

/// Input and options.
#[derive(Debug)]
pub struct PrepareTaco3Form {
    input: InputField,
    folder: OutputField,
    lacking: LackingFiles,
    run: bool,
    output: OutputField,
    python: String,
    damaged: bool,
}

impl PrepareTaco3Form {
    /// Initial values for the opened dataset.
    pub fn new(start: &OperationStart) -> Self {
        Self {
            input: InputField::new(start),
            folder: OutputField::new(start.output_text("-taco3", "")),
            lacking: LackingFiles::default(),
            run: false,
            output: OutputField::new(start.output_text("", ".zip")),
            python: "python3".into(),
            damaged: false,
        }
    }
}

impl OperationForm for PrepareTaco3Form {
    fn words(&self) -> OperationTexts {
        OperationTexts {
            icon: icons::ARROW_FAT_LINE_UP,
            title: tr!("Prepare for TACO 3"),
            about: tr!(
                "Writes a folder with the structure, the fields, the tables and the files of the \
                    dataset, and a short Python program that makes the official library write TACO \
                    3. No other program writes it."
            ),
            verb: tr!("Prepare"),
        }
    }

    fn options_ui(
        &mut self,
        ui: &mut Ui,
        fields: &mut OperationFields<'_>,
        _cx: &mut PanelContext<'_>,
    ) {
        let hint = tr!("a dataset of 2.0, a .tortilla or a .taco");
        self.input.ui(ui, fields, tr!("Dataset"), hint);
        self.folder.ui(ui, fields, tr!("Folder"), "");
        fields::draw_labelled_line(ui, tr!("Where a file is missing"), |ui| {
            let ways = [
                Segment::new(LackingFiles::Placeholder, tr!("a file of one byte")),
                Segment::new(LackingFiles::LeaveOut, tr!("leave the sample out")),
            ];
            widgets::draw_segments(ui, "taco3-lacking", &mut self.lacking, &ways);
        });
        widgets::checkbox(
            ui,
            &mut self.run,
            tr!("Run the library at once: pip install 'taco-eo[writer]'"),
        );
        if self.run {
            let hint = tr!("NAME.zip, or a folder");
            self.output.ui(ui, fields, tr!("Dataset of TACO 3"), hint);
            fields::draw_labelled_line(ui, tr!("Python with the library"), |ui| {
                TextField::new(tr!("Python with the library"), &mut self.python)
                    .hide_label()
                    .mono()
                    .width(300.0)
                    .show(ui);
            });
        }
        fields::keep_damaged_ui(ui, &mut self.damaged);
        self.folder.replace_ui(ui);
    }

    fn work(&self, _cx: &PanelContext<'_>) -> Result<PreviewWork, String> {
        let run = if self.run {
            Some(LibraryRun {
                output: self.output.destination()?.path,
                python: Some(self.python.trim())
                    .filter(|python| !python.is_empty())
                    .unwrap_or("python3")
                    .to_owned(),
            })
        } else {
            None
        };
        let input = self.input.path()?;
        let Destination { path, replace } = self.folder.destination()?;
        let request = Taco3Request {
            input,
            target: Some(path),
            overwrite: replace,
            lacking: self.lacking,
            collection: Default::default(),
            on_damage: fields::choose_damage_handling(self.damaged),
            allow_missing_parts: false,
            run,
        };
        Ok(Box::new(move |ctx| {
            let prepared = Taco3Request {
                target: None,
                run: None,
                ..request.clone()
            }
            .run(ctx)?;
            let targets: Vec<_> = request
                .target
                .iter()
                .chain(request.run.as_ref().map(|run| &run.output))
                .cloned()
                .map(|path| Destination { path, replace })
                .collect();
            let programs = request.programs();
            let mut preview = OperationPreview::new(Command::operate(request));
            let start = |command: Vec<String>| {
                ReportLine::warning(tr!("Starts: {program}", program = format_program(&command)))
            };
            preview.lines.extend(programs.into_iter().map(start));
            preview.lines.extend(describe_taco3(&prepared));
            if !prepared.is_possible() {
                preview = preview.obstacle(tr!("TACO 3 can't hold this tree"));
            }
            Ok(targets
                .iter()
                .fold(preview, |preview, target| preview.destination(target)))
        }))
    }
}
