//! Form of Write dataset: options, checks and the files to write, side by side; then the result
//! with its comparison, and code that reads it.

mod checks;
mod choices;
mod files;
mod options;
mod result;

use std::borrow::Cow;
use std::collections::HashSet;
use std::path::{Path, PathBuf};
use std::time::Duration;

use egui::Ui;

use crate::container::{BuildOptions, Built};
use crate::gui::dialogs::operation::fields::{self, OperationFields};
use crate::gui::dialogs::operation::form::{
    ButtonTexts, OperationEnd, OperationForm, OperationTexts, PreviewWork,
};
use crate::gui::dialogs::operation::preview::OperationPreview;
use crate::gui::dialogs::operation::report::OperationReport;
use crate::gui::icons;
use crate::gui::panel_context::PanelContext;
use crate::gui::widgets::{FieldNote, paint};
use crate::studio::{Command, DocumentId, Event};
use checks::{CheckLine, Checks, describe_blocking};
use choices::Choices;
use result::{WantedProof, report_written_draft};

/// Width of the dialog in points.
const WIDTH: f32 = 1180.0;

/// Options and checks of the open draft.
#[derive(Debug)]
pub struct WriteForm {
    choices: Choices,
    checks: Checks,
    /// The checks of this frame.
    lines: Vec<CheckLine>,
    /// Bytes of the draft, once they are known.
    size_bytes: Option<u64>,
    /// The document that is written.
    document: Option<DocumentId>,
    /// Duration of the job.
    took: Duration,
    /// True when something was written to the destination since it was checked.
    has_written: bool,
}

impl WriteForm {
    /// Proposes a file named after the dataset's id, excluding paths that the draft reads from.
    pub fn new(folder: &Path, id: &str, own: HashSet<PathBuf>) -> Self {
        Self {
            choices: Choices::new(folder, id, own),
            checks: Checks::default(),
            lines: Vec::new(),
            size_bytes: None,
            document: None,
            took: Duration::default(),
            has_written: false,
        }
    }

    /// For a dataset that was written without the dialog; `verify` compares it with the draft.
    pub fn for_written_dataset(verify: bool) -> Self {
        let mut form = Self::new(Path::new(""), "", HashSet::new());
        form.choices.verify = verify;
        form
    }

    /// The report of a dataset that was written.
    pub fn report(&self, built: &Built) -> OperationReport {
        let wanted = WantedProof {
            depth: self.choices.depth,
            document: self.document,
        };
        let wanted = Some(wanted).filter(|_| self.choices.verify);
        report_written_draft(built.clone(), self.took, wanted)
    }

    /// The options of the command.
    ///
    /// # Errors
    /// What prevents writing.
    fn checked_options(&self) -> Result<BuildOptions, String> {
        let options = self.choices.options();
        describe_blocking(&self.lines).map_or(options, Err)
    }
}

impl OperationForm for WriteForm {
    fn words(&self) -> OperationTexts {
        OperationTexts {
            icon: icons::EXPORT,
            title: tr!("Write dataset"),
            about: "",
            verb: tr!("Write"),
        }
    }

    fn run_text(&self) -> Cow<'static, str> {
        match self.size_bytes {
            Some(bytes) => tr!("Write {size}", size = paint::format_bytes(bytes)).into(),
            None => tr!("Write").into(),
        }
    }

    fn button_texts(&self) -> ButtonTexts {
        ButtonTexts {
            run_name: Some(tr!("Write now")),
            stop: tr!("Cancel writing"),
            stop_name: tr!("Cancel writing"),
        }
    }

    fn title_detail(&self, cx: &PanelContext<'_>) -> String {
        fields::document_title(cx)
    }

    fn dialog_width(&self) -> f32 {
        WIDTH
    }

    fn running_note(&self) -> FieldNote {
        let text =
            tr!("You can cancel at any time: partial files are removed, and earlier files stay.");
        FieldNote::Info(text.into())
    }

    fn cancel_note(&self) -> FieldNote {
        FieldNote::Info(tr!("Cancelled. Nothing was left at the destination.").into())
    }

    fn follows_document(&self) -> bool {
        true
    }

    fn has_columns(&self) -> bool {
        true
    }

    fn options_ui(
        &mut self,
        ui: &mut Ui,
        fields: &mut OperationFields<'_>,
        cx: &mut PanelContext<'_>,
    ) {
        if !fields.is_running {
            self.document = Some(cx.session.serial);
        }
        self.size_bytes = cx.session.totals().bytes;
        self.took = fields.elapsed.unwrap_or(self.took);
        self.choices.ui(ui, fields, cx, &self.checks);
    }

    fn checks_column_ui(
        &mut self,
        ui: &mut Ui,
        fields: &mut OperationFields<'_>,
        cx: &mut PanelContext<'_>,
    ) {
        // Beside the report, the checks are those from before the job.
        if !fields.has_report {
            self.update_checks(cx);
        }
        if let Some(request) = self.checks.ui(ui, cx, &self.lines) {
            *fields.leaving = Some(request);
        }
    }

    fn files_column_ui(&self, ui: &mut Ui, cx: &PanelContext<'_>) {
        files::planned_ui(ui, cx, &self.choices, &self.checks);
    }

    fn work(&self, _cx: &PanelContext<'_>) -> Result<PreviewWork, String> {
        let options = self.checked_options()?;
        let preview = OperationPreview::new(Command::Write { options });
        Ok(Box::new(move |_| Ok(preview)))
    }

    fn key(&self, cx: &PanelContext<'_>) -> String {
        let document = cx.document_key();
        format!(
            "{:?}",
            (&self.choices.output.text, self.choices.options(), document)
        )
    }

    fn end_job(&mut self, event: &Event) -> OperationEnd {
        let Some(built) = event.written_dataset() else {
            return OperationEnd::Ignored;
        };
        self.has_written = true;
        OperationEnd::Report(Box::new(self.report(built)))
    }
}

impl WriteForm {
    fn update_checks(&mut self, cx: &PanelContext<'_>) {
        // The destination exists now.
        if std::mem::take(&mut self.has_written) {
            self.checks.look_again();
        }
        // After the options, so that a choice of this frame is checked before it can be written.
        let options = self.choices.options();
        let (options, wrong) = (options.as_ref().ok(), options.as_ref().err());
        self.checks.refresh(cx, &self.choices, options);
        let wrong = wrong.map(String::as_str);
        self.lines = self.checks.lines(cx, &self.choices, wrong);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ops::publish::CheckLevel;

    #[test]
    fn what_is_typed_wrong_or_still_checked_prevents_writing() {
        let mut form = WriteForm::new(Path::new("/data"), "set", HashSet::new());
        assert!(form.checked_options().is_ok());
        form.choices.rows = "many".into();
        assert!(form.checked_options().is_err());
        form.choices.rows = "1000".into();
        form.lines = vec![CheckLine::new(CheckLevel::Warning, "a remark", "")];
        assert!(form.checked_options().is_ok());
        form.lines.push(CheckLine::waiting("the sources"));
        let waits = form.checked_options().expect_err("it is pending");
        assert!(waits.starts_with("1 check blocks"), "{waits}");
        let fault = CheckLine::new(CheckLevel::Blocks, "a fault", "");
        form.lines.insert(0, fault);
        let blocked = form.checked_options().expect_err("two block it");
        assert!(blocked.ends_with("a fault"), "{blocked}");
    }
}
