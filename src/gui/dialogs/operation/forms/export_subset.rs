//! Form of Export subset: the rows of the filter and of a statement as a dataset.

use std::path::PathBuf;

use egui::Ui;

use crate::container::{Format, OpenOptions};
use crate::gui::dialogs::frame::lacking_ui;
use crate::gui::dialogs::operation::dataset_fields::DatasetOutputField;
use crate::gui::dialogs::operation::fields::{self, OperationFields, need_reader};
use crate::gui::dialogs::operation::form::{
    ButtonTexts, OperationEnd, OperationForm, OperationStart, OperationTexts, PreviewWork,
};
use crate::gui::dialogs::operation::preview::{Destination, OperationPreview};
use crate::gui::dialogs::operation::report::OperationReport;
use crate::gui::filters::{chip_text, tally_text};
use crate::gui::icons;
use crate::gui::panel_context::PanelContext;
use crate::gui::sql::chooses_rows;
use crate::gui::theme::{self, font};
use crate::gui::widgets;
use crate::ops::{ExportRequest, MissingParts, RowChoice, outline_of};
use crate::studio::{Command, Document, Event};

/// Rows, destination and options.
#[derive(Debug)]
pub struct SubsetForm {
    input: PathBuf,
    open: OpenOptions,
    sql: Option<String>,
    with_sql: bool,
    output: DatasetOutputField,
    keep_padding: bool,
    keep_siblings: bool,
    /// Put the dataset's name before ids that several joined datasets share.
    prefix_ids: bool,
    /// Continue without missing parts.
    allow_missing_parts: bool,
}

/// The parts that the open dataset lacks.
fn find_missing_parts<'a>(cx: &PanelContext<'a>) -> Option<&'a MissingParts> {
    match cx.document() {
        Some(Document::Opened(open)) => open.lacking.as_ref(),
        _ => None,
    }
}

/// Number of samples of level 0 that the filter leaves; `None` without a filter.
fn count_filtered_roots(cx: &PanelContext<'_>) -> Option<usize> {
    let kept = cx.studio.filtered_rows()?;
    kept.rows(0).map(<[u32]>::len)
}

impl SubsetForm {
    /// Proposes a name beside the dataset; `None` without one.
    pub fn new(start: &OperationStart) -> Option<Self> {
        let name = if start.id.is_empty() {
            "dataset"
        } else {
            &start.id
        };
        let target = start.folder.join(format!("{name}-subset.tacozip"));
        Some(Self {
            input: start.input.clone()?,
            open: start.open.clone(),
            with_sql: start.sql.as_deref().is_some_and(chooses_rows),
            sql: start.sql.clone(),
            output: DatasetOutputField::new(target.display().to_string(), Format::Zip),
            keep_padding: false,
            keep_siblings: true,
            prefix_ids: false,
            allow_missing_parts: false,
        })
    }

    /// # Errors
    /// A message for the user when no destination is typed.
    fn request(&self, cx: &PanelContext<'_>) -> Result<ExportRequest, String> {
        Ok(ExportRequest {
            input: self.input.clone(),
            open: self.open.clone(),
            options: self.output.build_options()?,
            rows: RowChoice {
                filters: cx.studio.filters().to_vec(),
                sql: self.sql.clone().filter(|_| self.with_sql),
                ..RowChoice::default()
            },
            keep_padding: self.keep_padding,
            keep_siblings: self.keep_siblings,
            prefix_ids: self.prefix_ids && !self.open.with.is_empty(),
            allow_missing_parts: self.allow_missing_parts,
        })
    }

    /// Why the rows can't be exported.
    fn find_obstacle(&self, cx: &PanelContext<'_>) -> Option<&'static str> {
        if find_missing_parts(cx).is_some() && !self.allow_missing_parts {
            Some(tr!("Parts of the dataset are missing"))
        } else if count_filtered_roots(cx) == Some(0) {
            Some(tr!("The filter leaves no sample"))
        } else if cx.studio.is_filtering() {
            Some(tr!("The filter is being applied"))
        } else {
            None
        }
    }

    /// Draws which rows are exported.
    fn rows_ui(&mut self, ui: &mut Ui, cx: &PanelContext<'_>) {
        let t = theme::tokens(ui);
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
        ui.label(theme::style_small_text(what, t.tx2));
        if let Some(document) = cx.document() {
            ui.label(theme::style_small_text(tally_text(cx, document, 0), t.tx2));
        }
        let Some(sql) = &self.sql else { return };
        widgets::checkbox(
            ui,
            &mut self.with_sql,
            tr!("Only samples whose id the query gives"),
        );
        if self.with_sql {
            let line = sql.split_whitespace().collect::<Vec<_>>().join(" ");
            let line = theme::rich_text(line).font(font::mono(11.0)).color(t.tx3);
            ui.add(egui::Label::new(line).truncate());
        }
    }
}

impl OperationForm for SubsetForm {
    fn words(&self) -> OperationTexts {
        OperationTexts {
            icon: icons::EXPORT,
            title: tr!("Export subset"),
            about: "",
            verb: tr!("Export now"),
        }
    }

    fn button_texts(&self) -> ButtonTexts {
        ButtonTexts {
            stop_name: tr!("Stop the export"),
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
        self.rows_ui(ui, cx);
        self.output.formats_ui(ui);
        let output = &mut self.output.location;
        output.destination_ui(ui, tr!("Destination of the subset"));
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
        self.output.location.replace_ui(ui);
        let note = tr!("The subset records its source dataset and the date of the export.");
        ui.label(theme::style_small_text(note, theme::tokens(ui).tx3));
        if let Some(lacking) = find_missing_parts(cx) {
            lacking_ui(ui, lacking, &mut self.allow_missing_parts);
        }
    }

    fn work(&self, cx: &PanelContext<'_>) -> Result<PreviewWork, String> {
        let request = self.request(cx)?;
        let obstacle = self.find_obstacle(cx);
        let reader = need_reader(cx)?;
        Ok(Box::new(move |_| {
            let outline = outline_of(reader.as_ref());
            let output = Destination::of_dataset(&request.options);
            let preview = OperationPreview::new(Command::operate(request))
                .outline(&outline)
                .destination(&output);
            Ok(match obstacle {
                Some(obstacle) => preview.obstacle(obstacle),
                None => preview,
            })
        }))
    }

    fn key(&self, cx: &PanelContext<'_>) -> String {
        let filters = cx.studio.filters();
        format!("{self:?}{:?}", (filters, self.find_obstacle(cx)))
    }

    /// It is not compared, because it is a subset.
    fn end_job(&mut self, event: &Event) -> OperationEnd {
        event
            .written_dataset()
            .map_or(OperationEnd::Ignored, |built| {
                OperationEnd::Report(Box::new(OperationReport::of_export(built)))
            })
    }
}
