//! Form of Pad to a multiple: appends placeholders to level 0 or FOLDERs of a draft (TACO 2.0,
//! section 7.1.1).

use egui::Ui;

use crate::draft::{Edit, PadPlace, pad_to};
use crate::gui::dialogs::operation::fields::{self, OperationFields};
use crate::gui::dialogs::operation::form::{OperationForm, OperationTexts, PreviewWork};
use crate::gui::dialogs::operation::line::ReportLine;
use crate::gui::dialogs::operation::preview::OperationPreview;
use crate::gui::icons;
use crate::gui::panel_context::PanelContext;
use crate::gui::widgets::{self, Segment, TextField, paint};
use crate::model::SamplePath;
use crate::studio::Command;

/// The multiple, and the tortillas to pad.
#[derive(Debug)]
pub struct PadForm {
    multiple: String,
    level: usize,
    /// Path of ids of one FOLDER; empty for all of the level.
    folder: String,
}

impl Default for PadForm {
    fn default() -> Self {
        Self {
            multiple: "32".into(),
            level: 0,
            folder: String::new(),
        }
    }
}

impl PadForm {
    fn place(&self) -> PadPlace {
        match SamplePath::parse(&self.folder) {
            path if path.0.is_empty() => PadPlace::Level(self.level),
            path => PadPlace::Folder(path),
        }
    }
}

/// Number of tortillas and of placeholders that an edit inserts into.
fn count_insertions(edit: &Edit) -> (usize, usize) {
    match edit {
        Edit::Insert { samples, .. } => (1, samples.len()),
        Edit::Batch { edits, .. } => edits
            .iter()
            .map(count_insertions)
            .fold((0, 0), |sum, one| (sum.0 + one.0, sum.1 + one.1)),
        _ => (0, 0),
    }
}

impl OperationForm for PadForm {
    fn words(&self) -> OperationTexts {
        OperationTexts {
            icon: icons::CIRCLE_DASHED,
            title: tr!("Pad to a multiple"),
            about: tr!(
                "Appends placeholders to level 0 of the draft, or to FOLDERs, until the number of \
                    their samples is a multiple of a batch size. Readers skip placeholders."
            ),
            verb: tr!("Pad"),
        }
    }

    fn options_ui(
        &mut self,
        ui: &mut Ui,
        _fields: &mut OperationFields<'_>,
        cx: &mut PanelContext<'_>,
    ) {
        TextField::new(tr!("Multiple of"), &mut self.multiple)
            .mono()
            .width(120.0)
            .show(ui);
        let levels = cx
            .document()
            .map_or(1, |document| document.tree().levels.len());
        if levels > 1 {
            fields::draw_labelled_line(ui, tr!("Level to pad"), |ui| {
                let names: Vec<String> = (0..levels).map(|level| format!("L{level}")).collect();
                let segments: Vec<Segment<'_, usize>> = names
                    .iter()
                    .enumerate()
                    .map(|(level, name)| Segment::new(level, name))
                    .collect();
                widgets::draw_segments(ui, "pad-level", &mut self.level, &segments);
            });
            let folder = TextField::new(tr!("Only this FOLDER"), &mut self.folder).mono();
            folder
                .hint(tr!(
                    "its path of ids, such as a/b; empty for all of the level"
                ))
                .show(ui);
        }
    }

    fn work(&self, cx: &PanelContext<'_>) -> Result<PreviewWork, String> {
        let multiple = self
            .multiple
            .trim()
            .parse::<usize>()
            .ok()
            .filter(|n| (2..=1_000_000).contains(n));
        let multiple =
            multiple.ok_or_else(|| tr!("Write a whole number from 2 to 1000000").to_owned())?;
        let draft = cx
            .document()
            .and_then(|document| document.draft())
            .ok_or_else(|| tr!("No draft is open").to_owned())?;
        let (dataset, place) = (draft.dataset().clone(), self.place());
        Ok(Box::new(move |_| {
            let Some(edit) = pad_to(&dataset, &place, multiple)? else {
                let nothing = Edit::Batch {
                    label: String::new(),
                    edits: Vec::new(),
                };
                let text = tr!("All numbers of samples are multiples already");
                return Ok(OperationPreview::new(Command::Edit { edit: nothing })
                    .line(ReportLine::good(text))
                    .obstacle(tr!("There is nothing to pad")));
            };
            let (tortillas, added) = count_insertions(&edit);
            let label = tr_n!(
                added,
                "Append {n} placeholder",
                "Append {n} placeholders",
                n = paint::format_grouped_number(added as u64)
            );
            let text = match place {
                PadPlace::Level(0) => {
                    let before = dataset.root.samples.len();
                    let after = paint::format_grouped_number((before + added) as u64);
                    tr!(
                        "{label}: {before} samples become {after}",
                        label,
                        before = paint::format_grouped_number(before as u64),
                        after
                    )
                }
                _ => {
                    let n = paint::format_grouped_number(tortillas as u64);
                    tr_n!(
                        tortillas,
                        "{label} to {n} FOLDER",
                        "{label} to {n} FOLDERs",
                        label,
                        n
                    )
                }
            };
            let edit = Edit::Batch {
                label,
                edits: vec![edit],
            };
            Ok(OperationPreview::new(Command::Edit { edit }).line(ReportLine::fact(text)))
        }))
    }

    fn closes(&self) -> bool {
        true
    }

    fn key(&self, cx: &PanelContext<'_>) -> String {
        format!("{self:?}{:?}", cx.document_key())
    }
}
