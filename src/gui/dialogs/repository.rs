//! Chooses a dataset of a repository that holds several.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use egui::{Frame, Margin, ScrollArea, Ui};

use super::frame::{Next, head_ui};
use super::view::DialogView;
use crate::container::datasets_of_hub;
use crate::gui::panel_context::{PanelContext, Request};
use crate::gui::theme;
use crate::gui::{dropped_paths, icons, widgets};
use crate::jobs::AsyncValue;
use crate::model::Address;

/// Height of the list in points.
const LIST_HEIGHT: f32 = 360.0;

pub struct RepositoryDialog {
    folder: PathBuf,
    datasets: AsyncValue<(), Arc<Vec<PathBuf>>>,
}

impl RepositoryDialog {
    /// For the address of the repository or of a folder in it.
    pub fn new(folder: PathBuf) -> Self {
        Self {
            folder,
            datasets: AsyncValue::default(),
        }
    }
}

impl DialogView for RepositoryDialog {
    fn ui(&mut self, ui: &mut Ui, cx: &mut PanelContext<'_>) -> Next {
        let t = theme::tokens(ui);
        ui.set_width(560.0);
        ui.spacing_mut().item_spacing.y = 0.0;
        if head_ui(
            ui,
            icons::PACKAGE,
            tr!("Datasets of the repository"),
            &dropped_paths::display_path(&self.folder),
        ) {
            return Next::Close;
        }
        let folder = self.folder.clone();
        self.datasets
            .update(cx.jobs, (), tr!("Datasets of the repository"), move |_| {
                let listed = Address::from_path(&folder)
                    .map(|address| datasets_of_hub(&address))
                    .transpose()?;
                Ok(Arc::new(listed.flatten().unwrap_or_default()))
            });
        let mut next = Next::Stay;
        Frame::NONE
            .inner_margin(Margin::same(8))
            .show(ui, |ui| match self.datasets.get(&()) {
                None => drop(widgets::spinner(ui, 20.0)),
                Some(Err(error)) => {
                    drop(ui.label(theme::style_small_text(error.sentence(), t.tx2)))
                }
                Some(Ok(datasets)) if datasets.is_empty() => drop(ui.label(
                    theme::style_small_text(tr!("It holds no dataset any more."), t.tx2),
                )),
                Some(Ok(datasets)) => {
                    ScrollArea::vertical()
                        .max_height(LIST_HEIGHT)
                        .show(ui, |ui| {
                            ui.spacing_mut().menu_width = ui.available_width();
                            for dataset in datasets.iter() {
                                if widgets::menu_entry(
                                    ui,
                                    icons::PACKAGE,
                                    &name_in(&self.folder, dataset),
                                    "",
                                    None,
                                )
                                .clicked()
                                {
                                    next = Next::Do(Request::OpenPaths(vec![dataset.clone()]));
                                }
                            }
                        });
                }
            });
        next
    }
}

/// The path of a dataset below the repository.
fn name_in(folder: &Path, dataset: &Path) -> String {
    let (folder, dataset) = (
        dropped_paths::display_path(folder),
        dropped_paths::display_path(dataset),
    );
    let name = dataset
        .strip_prefix(folder.trim_end_matches('/'))
        .map(|name| name.trim_start_matches('/'));
    name.filter(|name| !name.is_empty())
        .map_or(dataset.clone(), str::to_owned)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn datasets_are_named_within_their_repository() {
        let name = |dataset: &str| {
            name_in(
                Path::new("https://hub/datasets/a/b/resolve/main"),
                Path::new(dataset),
            )
        };
        assert_eq!(
            name("https://hub/datasets/a/b/resolve/main/sub/c.taco"),
            "sub/c.taco"
        );
        assert_eq!(
            name("https://hub/datasets/a/b/resolve/main"),
            "https://hub/datasets/a/b/resolve/main"
        );
    }
}
