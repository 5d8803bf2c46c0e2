//! Recipes: chosen extensions with their options, one JSON file each in the folder of settings. A
//! recipe is what `taco-studio extend --calls FILE` takes.

use std::path::{Path, PathBuf};

use egui::{Frame, Margin, Ui};

use super::state::{ExtensionsPanel, RecipesState};
use crate::container::write_document;
use crate::extensions::ExtensionCall;
use crate::folders::config_dir;
use crate::gui::icons;
use crate::gui::widgets::{self, Button, FieldNote, TextField, note_ui};
use crate::jobs::{AsyncValue, Jobs};

fn folder() -> Result<PathBuf, String> {
    let settings = config_dir().ok_or_else(|| tr!("There is no folder for settings."))?;
    Ok(settings.join("recipes"))
}

fn list_names(folder: &Path) -> Vec<String> {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    let mut names: Vec<String> = entries
        .filter_map(|entry| {
            entry
                .file_name()
                .to_str()?
                .strip_suffix(".json")
                .map(str::to_owned)
        })
        .collect();
    names.sort();
    names
}

/// The calls of a recipe.
fn load(folder: &Path, name: &str) -> Result<Vec<ExtensionCall>, String> {
    let path = folder.join(format!("{name}.json"));
    let text = crate::files::read(&path).map_err(|error| {
        tr!(
            "{path} can't be read: {error}.",
            path = path.display(),
            error
        )
    })?;
    serde_json::from_slice(&text).map_err(|error| {
        tr!(
            "{path} is not a recipe: {error}.",
            path = path.display(),
            error
        )
    })
}

/// Saves calls under a name, atomically.
fn save(folder: &Path, name: &str, calls: &[ExtensionCall]) -> Result<(), String> {
    if name.is_empty() || name.starts_with('.') || name.contains(['/', '\\', ':']) {
        return Err(tr!(
            "A recipe's name is a file name: no / \\ or :, and no dot at the beginning."
        )
        .into());
    }
    crate::folders::make_private(folder).map_err(|error| error.to_string())?;
    let text = serde_json::to_vec_pretty(calls).map_err(|error| error.to_string())?;
    write_document(&folder.join(format!("{name}.json")), &text, true).map_err(|error| {
        tr!(
            "The recipe was not saved in {folder}: {error}.",
            folder = folder.display(),
            error
        )
    })
}

impl RecipesState {
    /// Lists the recipes, and again after one was saved.
    fn update_names(&mut self, jobs: &Jobs) {
        self.names
            .update(jobs, self.saved_count, tr!("List the recipes"), |_| {
                Ok(folder().map_or(Vec::new(), |folder| list_names(&folder)))
            });
    }

    /// Reads a recipe that is to replace the choices of this version.
    fn start_loading(&mut self, jobs: &Jobs, name: String, choices_version: u64) {
        let wanted = name.clone();
        let key = (name, choices_version);
        self.loading
            .update(jobs, key, tr!("Read a recipe"), move |_| {
                Ok(folder().and_then(|folder| load(&folder, &wanted)))
            });
    }

    fn start_saving(&mut self, jobs: &Jobs, name: String, calls: Vec<ExtensionCall>) {
        let wanted = name.clone();
        self.saving
            .update(jobs, name, tr!("Save a recipe"), move |_| {
                Ok(folder().and_then(|folder| save(&folder, &wanted, &calls)))
            });
    }

    /// Takes the outcome of saving a recipe.
    fn take_saved(&mut self) {
        let Some(name) = self.saving.key().cloned() else {
            return;
        };
        match take_result(&mut self.saving) {
            None => {}
            Some(Ok(())) => {
                // Another name may be typed by now.
                if self.new_name.as_deref().map(str::trim) == Some(name.as_str()) {
                    (self.current, self.new_name) = (name, None);
                }
                self.error = None;
                self.saved_count += 1;
            }
            Some(Err(error)) => self.error = Some(error),
        }
    }

    /// The recipe that was read, with its name and the version of the choices that it replaces.
    fn take_loaded(&mut self) -> Option<(String, u64, Vec<ExtensionCall>)> {
        let (name, version) = self.loading.key()?.clone();
        match take_result(&mut self.loading)? {
            Ok(calls) => Some((name, version, calls)),
            Err(error) => {
                self.error = Some(error);
                None
            }
        }
    }
}

/// The outcome, once it is there; an error as text.
fn take_result<K, T>(value: &mut AsyncValue<K, Result<T, String>>) -> Option<Result<T, String>> {
    let outcome = value.take()?;
    Some(outcome.unwrap_or_else(|error| Err(error.report())))
}

/// Draws the recipe line.
pub fn ui(ui: &mut Ui, panel: &mut ExtensionsPanel, jobs: &Jobs) {
    let calls = panel.calls();
    panel.recipes.take_saved();
    panel.recipes.update_names(jobs);
    if let Some((name, version, calls)) = panel.recipes.take_loaded() {
        panel.adopt_recipe(name, version, &calls);
    }
    let names = panel.recipes.names.latest().cloned().unwrap_or_default();
    Frame::NONE
        .inner_margin(Margin {
            left: 8,
            right: 8,
            top: 0,
            bottom: 4,
        })
        .show(ui, |ui| {
            ui.spacing_mut().item_spacing.y = 4.0;
            ui.horizontal(|ui| {
                ui.spacing_mut().item_spacing.x = 4.0;
                if let Some(name) = &mut panel.recipes.new_name {
                    let width = ui.available_width() - 94.0;
                    let field = TextField::new(tr!("Recipe name"), name)
                        .hide_label()
                        .width(width);
                    let response = field.hint(tr!("Name of the recipe")).show(ui);
                    let entered = response.lost_focus()
                        && ui.input(|input| input.key_pressed(egui::Key::Enter));
                    let saving = panel.recipes.saving.is_pending();
                    let saving = saving.then_some(tr!("The recipe is being saved"));
                    let keep = ui
                        .add(
                            Button::secondary(tr!("Save"))
                                .name(tr!("Save the recipe"))
                                .with_disabled_reason(saving),
                        )
                        .clicked()
                        || (entered && saving.is_none());
                    let drop = ui
                        .add(Button::icon_only(icons::X, tr!("Do not save the recipe")))
                        .clicked();
                    if keep && let Ok(calls) = &calls {
                        let name = name.trim().to_owned();
                        panel.recipes.start_saving(jobs, name, calls.clone());
                    } else if drop {
                        panel.recipes.new_name = None;
                    }
                    return;
                }
                let shown = if panel.recipes.current.is_empty() {
                    tr!("Recipe")
                } else {
                    panel.recipes.current.as_str()
                }
                .to_owned();
                let width = (ui.available_width() - 70.0).max(60.0);
                ui.add_enabled_ui(!names.is_empty(), |ui| {
                    if let Some(index) =
                        widgets::combo(ui, tr!("Recipe"), &shown, width, false, &names)
                    {
                        let (name, version) = (names[index].clone(), panel.choices_version);
                        panel.recipes.start_loading(jobs, name, version);
                    }
                });
                let blocked = match &calls {
                    Ok(calls) if calls.is_empty() => {
                        Some(tr!("Tick an extension first").to_owned())
                    }
                    Ok(_) => None,
                    Err(why) => Some(why.clone()),
                };
                if ui
                    .add(
                        Button::ghost(tr!("Save…"))
                            .name(tr!("Save recipe…"))
                            .with_disabled_reason(blocked),
                    )
                    .clicked()
                {
                    panel.recipes.new_name = Some(panel.recipes.current.clone());
                }
            });
            if let Some(error) = &panel.recipes.error {
                note_ui(ui, &FieldNote::Error(error.clone()));
            }
        });
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_saved_recipe_is_listed_and_read_again() {
        let folder = tempfile::tempdir().expect("a folder");
        let folder = folder.path().join("recipes");
        assert!(list_names(&folder).is_empty(), "there is no folder");
        let calls: Vec<ExtensionCall> = serde_json::from_value(serde_json::json!([
            { "extension": "labels", "options": {}, "target": { "level": 0 } }
        ]))
        .expect("calls");
        save(&folder, "mine", &calls).expect("saves");
        assert_eq!(list_names(&folder), ["mine"]);
        let read = load(&folder, "mine").expect("reads");
        assert_eq!(
            serde_json::to_value(&read).expect("JSON"),
            serde_json::to_value(&calls).expect("JSON")
        );
        assert!(save(&folder, "a/b", &calls).is_err());
        assert!(load(&folder, "none").is_err());
    }
}
