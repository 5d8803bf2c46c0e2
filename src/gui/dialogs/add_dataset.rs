//! A dataset, an archive or a STAC catalogue that is dropped on a draft: its samples become samples
//! of the draft, or children of a FOLDER; or it stays one file, or a dataset is opened instead.

use std::sync::Arc;

use egui::{Frame, Margin, ScrollArea, Ui, vec2};

use super::frame::{Next, foot_ui, head_ui};
use super::operation::fields::split_names;
use super::view::{DialogEvent, DialogView, Reply, close_with_document};
use crate::gui::document_key::DocumentKey;
use crate::gui::dropped_paths::display_path;
use crate::gui::icons;
use crate::gui::panel_context::{PanelContext, Request};
use crate::gui::theme;
use crate::gui::widgets::{self, Button, ChoiceCard, FieldNote, TextField, note_ui, paint};
use crate::jobs::AsyncValue;
use crate::model::{Dataset, is_remote};
use crate::ops::{CatalogueChoice, DatasetForm, DatasetImport, ImportedDataset, import_dataset};
use crate::query::{TimeRange, check_box};
use crate::studio::Command;

const WIDTH: f32 = 620.0;
/// Largest height of the list of changed fields, in points.
const CHANGES_HEIGHT: f32 = 180.0;

/// What is done with the dataset.
#[derive(Clone, Copy, PartialEq, Eq)]
enum DatasetChoice {
    Samples,
    Folder,
    File,
    Open,
}

/// Items of a catalogue on a server that are read first.
const REMOTE_ITEMS: usize = 1000;

/// The fields of a STAC catalogue as they are typed.
#[derive(Default)]
struct TypedSearch {
    assets: String,
    limit: String,
    bbox: String,
    datetime: String,
    collections: String,
}

impl TypedSearch {
    /// What is chosen, or what is wrong.
    fn choice(&self) -> Result<CatalogueChoice, &'static str> {
        let limit = match self.limit.trim() {
            "" => None,
            text => {
                let wrong =
                    tr!("The number of items is a whole number from 1; without one, all are taken");
                Some(text.parse().ok().filter(|limit| *limit > 0).ok_or(wrong)?)
            }
        };
        let bbox = match self.bbox.trim() {
            "" => None,
            text => {
                let sides: Option<Vec<f64>> = text
                    .split(',')
                    .map(|side| side.trim().parse().ok())
                    .collect();
                let sides = sides
                    .and_then(|sides| sides.try_into().ok())
                    .filter(|bbox| check_box(*bbox).is_ok());
                Some(sides.ok_or(tr!("The box is west, south, east and north in degrees"))?)
            }
        };
        let datetime = Some(self.datetime.trim()).filter(|text| !text.is_empty());
        if datetime.is_some_and(|text| TimeRange::parse(text).is_err()) {
            return Err(tr!(
                "Times are a day, or a range such as 2021-01-01/2021-12-31 or 2021-01-01/.."
            ));
        }
        let (assets, collections) = (split_names(&self.assets), split_names(&self.collections));
        Ok(CatalogueChoice {
            assets,
            limit,
            bbox,
            datetime: datetime.map(str::to_owned),
            collections,
        })
    }
}

/// The dialog.
pub struct AddDataset {
    request: DatasetImport,
    /// Adds the file of the dataset, where it is one on this machine.
    as_file: Option<Command>,
    choice: DatasetChoice,
    /// The source is an archive, which can't be opened instead.
    is_archive: bool,
    /// What was typed for a STAC catalogue.
    catalogue: Option<TypedSearch>,
    preview: AsyncValue<(DocumentKey, DatasetImport), Arc<ImportedDataset>>,
}

impl AddDataset {
    /// For a dataset and its destination; `as_file` adds its file, where it is one.
    pub fn new(request: DatasetImport, as_file: Option<Command>) -> Self {
        Self {
            request,
            as_file,
            choice: DatasetChoice::Samples,
            is_archive: false,
            catalogue: None,
            preview: AsyncValue::default(),
        }
    }

    /// For an archive, whose files become samples.
    pub fn of_archive(request: DatasetImport, as_file: Option<Command>) -> Self {
        Self {
            is_archive: true,
            ..Self::new(request, as_file)
        }
    }

    /// For a STAC catalogue, whose items become samples.
    /// Of one on a server a thousand items are read, unless another number is typed.
    pub fn of_catalogue(mut request: DatasetImport, as_file: Option<Command>) -> Self {
        if is_remote(&request.path) {
            request.catalogue.limit.get_or_insert(REMOTE_ITEMS);
        }
        let limit = request
            .catalogue
            .limit
            .map(|limit| limit.to_string())
            .unwrap_or_default();
        Self {
            catalogue: Some(TypedSearch {
                limit,
                ..TypedSearch::default()
            }),
            ..Self::new(request, as_file)
        }
    }
}

impl DialogView for AddDataset {
    fn ui(&mut self, ui: &mut Ui, cx: &mut PanelContext<'_>) -> Next {
        // A catalogue begins a draft where none is open.
        let dataset = match cx.document().and_then(|document| document.draft()) {
            Some(draft) => draft.dataset().clone(),
            None if self.catalogue.is_some() => Dataset::default(),
            None => return Next::Close,
        };
        let is_first = dataset.root.samples.is_empty();
        let place = dataset
            .ids(&self.request.into)
            .filter(|path| !path.0.is_empty());
        ui.set_width((ui.ctx().content_rect().width() - 64.0).min(WIDTH));
        ui.spacing_mut().item_spacing.y = 0.0;
        let title = if self.is_archive {
            tr!("Add an archive")
        } else if self.catalogue.is_some() {
            tr!("Add a catalogue")
        } else {
            tr!("Add a dataset")
        };
        let close = head_ui(ui, icons::PACKAGE, title, &display_path(&self.request.path));
        self.request.form = if self.choice == DatasetChoice::Folder {
            DatasetForm::Folder
        } else {
            DatasetForm::Samples
        };
        let adds = matches!(self.choice, DatasetChoice::Samples | DatasetChoice::Folder);
        let key = (cx.document_key(), self.request.clone());
        if adds {
            let wanted = self.request.clone();
            self.preview.update(
                cx.jobs,
                key.clone(),
                tr!("Reading the samples"),
                move |ctx| Ok(Arc::new(import_dataset(&dataset, &wanted, ctx)?)),
            );
        }
        let found = self.preview.get(&key);
        Frame::NONE.inner_margin(Margin::same(16)).show(ui, |ui| {
            ui.spacing_mut().item_spacing = vec2(8.0, 8.0);
            let into = place.map_or_else(|| tr!("the root").to_owned(), |path| path.to_string());
            let cards = [
                (
                    DatasetChoice::Samples,
                    tr!("Its samples"),
                    tr!(
                        "They are added beside the samples of {into}, with their metadata.",
                        into
                    ),
                    icons::STACK,
                ),
                (
                    DatasetChoice::Folder,
                    tr!("One FOLDER"),
                    tr!("Its samples become the children of a new FOLDER.").to_owned(),
                    icons::TREE_STRUCTURE,
                ),
                (
                    DatasetChoice::File,
                    tr!("One FILE"),
                    tr!("The bytes of the file are packed as they are.").to_owned(),
                    icons::FILE_ZIP,
                ),
                (
                    DatasetChoice::Open,
                    tr!("Open it instead"),
                    tr!("The draft is closed.").to_owned(),
                    icons::FOLDER_OPEN,
                ),
            ];
            let can_be_file = self.as_file.is_some();
            let can_be_opened = self.catalogue.is_none() && !self.is_archive;
            for (choice, name, what, icon) in cards
                .iter()
                .filter(|(choice, ..)| is_choice_possible(*choice, can_be_file, can_be_opened))
            {
                if widgets::choice_card(
                    ui,
                    self.choice == *choice,
                    &ChoiceCard {
                        name,
                        ending: "",
                        what,
                        icon,
                    },
                ) {
                    self.choice = *choice;
                }
            }
            if adds {
                catalogue_ui(ui, &mut self.catalogue, &mut self.request);
            }
            match found {
                _ if !adds => {}
                None => drop(widgets::spinner(ui, 18.0)),
                Some(Err(error)) => note_ui(ui, &FieldNote::Error(error.report())),
                Some(Ok(imported)) => preview_ui(ui, imported, is_first),
            }
        });
        let ready = found.and_then(|found| found.as_ref().ok()).cloned();
        let blocked = (adds && ready.is_none())
            .then_some(tr!("The dataset is still being read, or can't be added"));
        let (act, cancel) = foot_ui(ui, |ui| {
            let text = match (self.choice, &ready) {
                (DatasetChoice::Samples, Some(found)) => {
                    tr_n!(
                        found.samples,
                        "Add {n} sample",
                        "Add {n} samples",
                        n = paint::format_grouped_number(found.samples as u64)
                    )
                }
                (DatasetChoice::Samples, None) => tr!("Add the samples").to_owned(),
                (DatasetChoice::Folder, _) => tr!("Add a FOLDER").to_owned(),
                (DatasetChoice::File, _) => tr!("Add a FILE").to_owned(),
                (DatasetChoice::Open, _) => tr!("Open").to_owned(),
            };
            let act = ui
                .add(
                    Button::primary(text)
                        .large()
                        .name(tr!("Add the dataset"))
                        .with_disabled_reason(blocked),
                )
                .clicked();
            (act, ui.add(Button::ghost(tr!("Cancel")).large()).clicked())
        });
        match (self.choice, ready) {
            _ if cancel || close => Next::Close,
            _ if !act => Next::Stay,
            // What was previewed is what is added, unless the draft has changed.
            (DatasetChoice::Samples | DatasetChoice::Folder, Some(_)) => {
                Next::Do(Request::Add(Command::ImportDataset {
                    request: self.request.clone(),
                }))
            }
            (DatasetChoice::Samples | DatasetChoice::Folder, None) => Next::Stay,
            (DatasetChoice::File, _) => self
                .as_file
                .clone()
                .map_or(Next::Stay, |add| Next::Do(Request::Run(add))),
            (DatasetChoice::Open, _) => Next::Do(Request::Run(Command::Open {
                path: self.request.path.clone(),
            })),
        }
    }

    fn receive(&mut self, event: &DialogEvent<'_>) -> Reply {
        close_with_document(event)
    }
}

fn is_choice_possible(choice: DatasetChoice, can_be_file: bool, can_be_opened: bool) -> bool {
    match choice {
        DatasetChoice::File => can_be_file,
        DatasetChoice::Open => can_be_opened,
        DatasetChoice::Samples | DatasetChoice::Folder => true,
    }
}

/// Draws the choice of items and assets of a catalogue; what is typed counts once the field is
/// left.
fn catalogue_ui(ui: &mut Ui, typed: &mut Option<TypedSearch>, request: &mut DatasetImport) {
    let Some(typed) = typed else { return };
    let rows = [
        vec![
            (
                tr!("Assets"),
                tr!("Keys of the assets"),
                &mut typed.assets,
                tr!("with data"),
                156.0,
            ),
            (
                tr!("Collections"),
                tr!("Ids of the collections"),
                &mut typed.collections,
                tr!("all"),
                120.0,
            ),
            (
                tr!("Items at most"),
                tr!("Number of items"),
                &mut typed.limit,
                tr!("all"),
                56.0,
            ),
        ],
        vec![
            (
                tr!("Box"),
                tr!("West, south, east and north of the items"),
                &mut typed.bbox,
                "-10,35,5,45",
                220.0,
            ),
            (
                tr!("Times"),
                tr!("Times of the items"),
                &mut typed.datetime,
                "2021-01-01/2021-12-31",
                220.0,
            ),
        ],
    ];
    let mut is_left = false;
    for row in rows {
        ui.horizontal(|ui| {
            for (label, name, text, hint, width) in row {
                ui.label(label);
                is_left |= TextField::new(name, text)
                    .hide_label()
                    .mono()
                    .width(width)
                    .hint(hint)
                    .show(ui)
                    .lost_focus();
            }
        });
    }
    match typed.choice() {
        Ok(choice) if is_left => request.catalogue = choice,
        Ok(_) => {}
        Err(wrong) => note_ui(ui, &FieldNote::Warning(wrong.into())),
    }
}

/// Draws how much is added and how fields change; what is first in a draft changes none.
fn preview_ui(ui: &mut Ui, imported: &ImportedDataset, is_first: bool) {
    let t = theme::tokens(ui);
    let files = tr_n!(
        imported.added.files,
        "{n} file",
        "{n} files",
        n = paint::format_grouped_number(imported.added.files)
    );
    let folders = tr_n!(
        imported.added.folders,
        "{n} folder",
        "{n} folders",
        n = paint::format_grouped_number(imported.added.folders)
    );
    let text = format!(
        "{files}, {folders}, {}",
        paint::format_bytes(imported.added.bytes)
    );
    ui.label(theme::style_small_text(text, t.tx2));
    if imported.changes.is_empty() {
        if !is_first {
            note_ui(
                ui,
                &FieldNote::Info(tr!("Both have the same fields.").into()),
            );
        }
        return;
    }
    ScrollArea::vertical()
        .id_salt("dataset-changes")
        .max_height(CHANGES_HEIGHT)
        .show(ui, |ui| {
            ui.set_min_width(ui.available_width());
            ui.spacing_mut().item_spacing.y = 4.0;
            for change in &imported.changes {
                note_ui(ui, &FieldNote::Info(change.clone()));
            }
        });
}
