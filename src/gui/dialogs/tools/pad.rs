//! Placeholders at the end of level 0 of a draft, up to a multiple of a number (TACO 2.0, section 7.1.1).

use egui::Ui;

use super::fields::Fields;
use super::{Line, Plan, ToolForm, Words, Work};
use crate::draft::{Edit, PadPlace, pad_to};
use crate::gui::document_key::revision;
use crate::gui::icons;
use crate::gui::panel_context::PanelContext;
use crate::gui::widgets::{TextField, paint};
use crate::studio::Command;

/// The number.
#[derive(Debug)]
pub struct PadTo {
    multiple: String,
}

impl Default for PadTo {
    fn default() -> Self {
        Self { multiple: "32".into() }
    }
}

impl ToolForm for PadTo {
    fn words(&self) -> Words {
        Words {
            icon: icons::CIRCLE_DASHED,
            title: tr!("Pad to a multiple"),
            about: tr!(
                "Appends placeholders to level 0 of the draft until the number of its samples is a multiple of a batch size. Readers skip placeholders."
            ),
            verb: tr!("Pad"),
        }
    }

    fn options_ui(&mut self, ui: &mut Ui, _fields: &mut Fields<'_>, _cx: &mut PanelContext<'_>) {
        TextField::new(tr!("Multiple of"), &mut self.multiple).mono().width(120.0).show(ui);
    }

    fn work(&self, cx: &PanelContext<'_>) -> Result<Work, String> {
        let multiple = self.multiple.trim().parse::<usize>().ok().filter(|n| (2..=1_000_000).contains(n));
        let multiple = multiple.ok_or_else(|| tr!("Write a whole number from 2 to 1000000").to_owned())?;
        let draft = cx.document().and_then(|document| document.draft()).ok_or_else(|| tr!("No draft is open").to_owned())?;
        let dataset = draft.dataset().clone();
        Ok(Box::new(move |_| {
            let before = dataset.root.samples.len();
            let n = paint::grouped(before as u64);
            Ok(match pad_to(&dataset, &PadPlace::Level(0), multiple)? {
                Some(edit) => {
                    let after = before.next_multiple_of(multiple);
                    let added = after - before;
                    let label = tr_n!(added, "Append {n} placeholder", "Append {n} placeholders", n = paint::grouped(added as u64));
                    let edit = Edit::Batch { label: label.clone(), edits: vec![edit] };
                    let text =
                        tr!("{label}: {before} samples become {after}", label, before = n, after = paint::grouped(after as u64));
                    Plan::new(Command::Edit { edit }).line(Line::fact(text))
                }
                None => {
                    let nothing = Edit::Batch { label: String::new(), edits: Vec::new() };
                    let text = tr!("{n} samples are a multiple already", n);
                    Plan::new(Command::Edit { edit: nothing }).line(Line::good(text)).obstacle(tr!("There is nothing to pad"))
                }
            })
        }))
    }

    fn closes(&self) -> bool {
        true
    }

    fn key(&self, cx: &PanelContext<'_>) -> String {
        format!("{self:?}{:?}", (cx.session.serial, revision(cx.studio)))
    }
}
