//! Sidecars of a draft's rasters: they are left, packed as samples of their own, or burned into
//! copies of the rasters.

use std::collections::BTreeMap;

use egui::Ui;

use crate::gui::dialogs::operation::fields::{self, OperationFields};
use crate::gui::dialogs::operation::form::{OperationForm, OperationTexts, PreviewWork};
use crate::gui::dialogs::operation::line::ReportLine;
use crate::gui::dialogs::operation::preview::{Destination, OperationPreview};
use crate::gui::file_dialog::FileRequest;
use crate::gui::icons;
use crate::gui::panel_context::PanelContext;
use crate::gui::widgets::{self, ChoiceCard, paint};
use crate::ops::{
    RasterWithSidecars, SidecarHandling, propose_copies_folder, rasters_with_sidecars,
};
use crate::raster::Sidecar;
use crate::studio::Command;

/// Rasters that the preview names.
const MAX_NAMES: usize = 8;

/// What is done, and where copies go.
#[derive(Debug)]
pub struct SidecarsForm {
    choice: SidecarHandling,
    /// Folder of the copies; empty for the proposed one.
    copies: String,
}

impl Default for SidecarsForm {
    fn default() -> Self {
        Self {
            choice: SidecarHandling::BurnIn,
            copies: String::new(),
        }
    }
}

/// What `count` sidecars of a kind hold.
fn describe_contents(kind: Sidecar, count: usize) -> String {
    let n = paint::format_grouped_number(count as u64);
    match kind {
        Sidecar::Mask => tr_n!(
            count,
            "{n} mask of valid pixels",
            "{n} masks of valid pixels",
            n
        ),
        Sidecar::Overviews => tr_n!(count, "{n} set of overviews", "{n} sets of overviews", n),
        Sidecar::Metadata => tr_n!(
            count,
            "{n} file of GDAL metadata",
            "{n} files of GDAL metadata",
            n
        ),
        Sidecar::WorldFile => tr_n!(count, "{n} geotransform", "{n} geotransforms", n),
        Sidecar::Projection => tr_n!(count, "{n} coordinate system", "{n} coordinate systems", n),
        Sidecar::Part => tr_n!(
            count,
            "{n} part of a raster of several files",
            "{n} parts of rasters of several files",
            n
        ),
    }
}

fn count_rasters(count: usize) -> String {
    tr_n!(
        count,
        "{n} raster",
        "{n} rasters",
        n = paint::format_grouped_number(count as u64)
    )
}

fn count_files(count: usize) -> String {
    tr_n!(
        count,
        "{n} file",
        "{n} files",
        n = paint::format_grouped_number(count as u64)
    )
}

/// Lines about what is found: how many files, what they hold, and the first of them.
fn found_lines(
    preview: OperationPreview,
    found: &[RasterWithSidecars],
    choice: SidecarHandling,
) -> OperationPreview {
    let mut kinds: BTreeMap<Sidecar, usize> = BTreeMap::new();
    found
        .iter()
        .flat_map(|raster| &raster.sidecars)
        .for_each(|(_, kind)| *kinds.entry(*kind).or_default() += 1);
    let count = kinds.values().sum();
    let held: Vec<String> = kinds
        .into_iter()
        .map(|(kind, count)| describe_contents(kind, count))
        .collect();
    let held = held.join(", ");
    let mut preview = preview.line(ReportLine::fact(tr!(
        "{rasters} with {files} beside them: {held}",
        rasters = count_rasters(found.len()),
        files = count_files(count),
        held
    )));
    for raster in found.iter().take(MAX_NAMES) {
        let names: Vec<String> = match choice {
            SidecarHandling::Pack => raster.ids.clone(),
            _ => raster
                .sidecars
                .iter()
                .filter_map(|(path, _)| Some(path.file_name()?.to_string_lossy().into_owned()))
                .collect(),
        };
        preview = preview.line(ReportLine::row(format!(
            "{}: {}",
            raster.path,
            names.join(", ")
        )));
    }
    if found.len() > MAX_NAMES {
        preview = preview.line(ReportLine::row(tr!(
            "and {n} more",
            n = paint::format_grouped_number((found.len() - MAX_NAMES) as u64)
        )));
    }
    preview
}

impl OperationForm for SidecarsForm {
    fn words(&self) -> OperationTexts {
        OperationTexts {
            icon: icons::STACK,
            title: tr!("Sidecars of rasters"),
            about: tr!(
                "GDAL reads files such as .msk, .aux.xml, .ovr, .tfw and .prj together with the \
                    raster beside them. A sample is one file, so a dataset has the raster alone."
            ),
            verb: match self.choice {
                SidecarHandling::Leave => tr!("Leave sidecars"),
                SidecarHandling::Pack => tr!("Pack sidecars"),
                SidecarHandling::BurnIn => tr!("Burn in sidecars"),
            },
        }
    }

    fn options_ui(
        &mut self,
        ui: &mut Ui,
        fields: &mut OperationFields<'_>,
        _cx: &mut PanelContext<'_>,
    ) {
        let cards = [
            (
                SidecarHandling::BurnIn,
                tr!("Burn in"),
                tr!(
                    "Copies of the rasters contain mask, metadata and coordinates. The sources \
                        stay."
                ),
                icons::IMAGE,
            ),
            (
                SidecarHandling::Pack,
                tr!("Pack"),
                tr!(
                    "Each sidecar becomes a sample beside its raster, so every root needs the same \
                        ones."
                ),
                icons::FILE_ZIP,
            ),
            (
                SidecarHandling::Leave,
                tr!("Leave"),
                tr!(
                    "Nothing changes: the dataset has the rasters without what their sidecars hold."
                ),
                icons::X,
            ),
        ];
        for (choice, name, what, icon) in cards {
            if widgets::choice_card(
                ui,
                self.choice == choice,
                &ChoiceCard {
                    name,
                    ending: "",
                    what,
                    icon,
                },
            ) {
                self.choice = choice;
            }
        }
        if self.choice == SidecarHandling::BurnIn {
            let hint = tr!("empty: a new folder beside the sources");
            fields.path(
                ui,
                tr!("Folder of the copies"),
                &mut self.copies,
                hint,
                FileRequest::ToolOutput,
            );
        }
    }

    fn work(&self, cx: &PanelContext<'_>) -> Result<PreviewWork, String> {
        let draft = cx
            .document()
            .and_then(|document| document.draft())
            .ok_or_else(|| tr!("No draft is open").to_owned())?;
        let (dataset, choice, typed) = (
            draft.dataset().clone(),
            self.choice,
            fields::path_in(&self.copies),
        );
        Ok(Box::new(move |ctx| {
            let found = rasters_with_sidecars(&dataset, ctx)?;
            if found.is_empty() {
                let nothing = OperationPreview::without_command().line(ReportLine::good(tr!(
                    "No raster of the draft has sidecars that are left out"
                )));
                return Ok(nothing.obstacle(tr!("There is nothing to do")));
            }
            Ok(match choice {
                SidecarHandling::Leave => {
                    let text = tr!(
                        "Readers do not see what the sidecars hold, and statistics are computed \
                            without it."
                    );
                    let preview = found_lines(OperationPreview::without_command(), &found, choice)
                        .line(ReportLine::warning(text));
                    preview.line(ReportLine::fact(tr!(
                        "The sidecars stay beside their rasters, and the problem stays in the list \
                            as a warning."
                    )))
                }
                SidecarHandling::Pack => {
                    let roots: usize = {
                        let mut roots: Vec<u32> = found
                            .iter()
                            .filter_map(|raster| raster.sample.0.first().copied())
                            .collect();
                        roots.dedup();
                        roots.len()
                    };
                    let all = dataset.root.samples.len();
                    let preview =
                        found_lines(OperationPreview::new(Command::PackSidecars), &found, choice);
                    if roots < all
                        && dataset
                            .root
                            .samples
                            .iter()
                            .any(|root| root.children().is_some())
                    {
                        let (roots, all) = (
                            paint::format_grouped_number(roots as u64),
                            paint::format_grouped_number(all as u64),
                        );
                        preview.line(ReportLine::warning(tr!(
                            "{roots} of {all} roots have sidecars: the others lack these samples \
                                afterwards, which Problems offers to pad.",
                            roots,
                            all
                        )))
                    } else {
                        preview
                    }
                }
                SidecarHandling::BurnIn => {
                    let copied = found.iter().filter(|raster| raster.can_be_copied()).count();
                    let Some(copies) = typed.or_else(|| propose_copies_folder(&dataset)) else {
                        let preview =
                            found_lines(OperationPreview::without_command(), &found, choice);
                        return Ok(preview.obstacle(tr!("Name a folder for the copies")));
                    };
                    let command = Command::BurnInSidecars {
                        copies: copies.clone(),
                    };
                    let mut preview = found_lines(OperationPreview::new(command), &found, choice);
                    if copied < found.len() {
                        let n = count_rasters(found.len() - copied);
                        preview = preview.line(ReportLine::warning(tr!(
                            "{n} of other formats keep their bytes: only GeoTIFFs are written",
                            n
                        )));
                    }
                    if copied == 0 {
                        return Ok(preview.obstacle(tr!("There is no raster to copy")));
                    }
                    let text = tr!(
                        "Values that extensions computed from these rasters stay: run the \
                            extensions again afterwards."
                    );
                    let copies = Destination {
                        path: copies,
                        replace: false,
                    };
                    preview.destination(&copies).line(ReportLine::fact(text))
                }
            })
        }))
    }

    fn closes(&self) -> bool {
        true
    }

    fn key(&self, cx: &PanelContext<'_>) -> String {
        format!("{self:?}{:?}", cx.document_key())
    }
}
