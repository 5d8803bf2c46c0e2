//! Recipes: chosen extensions with their options, one JSON file each in the folder of settings. A
//! recipe is what `taco-studio extend --calls FILE` takes.

use std::path::PathBuf;

use egui::{Frame, Margin, Ui};

use super::state::{ExtensionsPanel, RecipesState};
use crate::container::write_document;
use crate::extensions::ExtensionCall;
use crate::folders::config_dir;
use crate::gui::icons;
use crate::gui::widgets::{self, Button, FieldNote, TextField, note_ui};

fn folder() -> Option<PathBuf> {
    Some(config_dir()?.join("recipes"))
}

fn names() -> Vec<String> {
    let entries = folder()
        .and_then(|folder| std::fs::read_dir(folder).ok())
        .into_iter()
        .flatten()
        .flatten();
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
pub fn load(name: &str) -> Result<Vec<ExtensionCall>, String> {
    let path = folder()
        .ok_or_else(|| tr!("There is no folder for settings."))?
        .join(format!("{name}.json"));
    let text = crate::files::read(&path).map_err(|error| {
        tr!(
            "{path} can't be read: {error}.",
            path = path.display(),
            error
        )
    })?;
    serde_json::from_slice(&text).map_err(|error| {
        tr!(
            "{path} is no recipe: {error}.",
            path = path.display(),
            error
        )
    })
}

/// Saves calls under a name, atomically.
pub fn save(name: &str, calls: &[ExtensionCall]) -> Result<(), String> {
    if name.is_empty() || name.starts_with('.') || name.contains(['/', '\\', ':']) {
        return Err(tr!(
            "A recipe's name is a file name: no / \\ or :, and no dot at the beginning."
        )
        .into());
    }
    let folder = folder().ok_or_else(|| tr!("There is no folder for settings."))?;
    crate::folders::make_private(&folder).map_err(|error| error.to_string())?;
    let text = serde_json::to_vec_pretty(calls).map_err(|error| error.to_string())?;
    write_document(&folder.join(format!("{name}.json")), &text, true).map_err(|error| {
        tr!(
            "The recipe was not saved in {folder}: {error}.",
            folder = folder.display(),
            error
        )
    })
}

/// Draws the recipe line.
pub fn ui(ui: &mut Ui, panel: &mut ExtensionsPanel) {
    let calls = panel.calls();
    let names = panel.recipes.names.get_or_insert_with(names).clone();
    let mut adopted = None;
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
                if let Some(name) = &mut panel.recipes.naming {
                    let width = ui.available_width() - 94.0;
                    let field = TextField::new(tr!("Recipe name"), name)
                        .hide_label()
                        .width(width);
                    let response = field.hint(tr!("Name of the recipe")).show(ui);
                    let entered = response.lost_focus()
                        && ui.input(|input| input.key_pressed(egui::Key::Enter));
                    let keep = ui
                        .add(Button::secondary(tr!("Save")).name(tr!("Save the recipe")))
                        .clicked()
                        || entered;
                    let drop = ui
                        .add(Button::icon_only(icons::X, tr!("Do not save the recipe")))
                        .clicked();
                    if keep && let Ok(calls) = &calls {
                        let name = name.trim().to_owned();
                        panel.recipes.error = save(&name, calls).err();
                        if panel.recipes.error.is_none() {
                            panel.recipes = RecipesState {
                                current: name,
                                ..RecipesState::default()
                            };
                        }
                    } else if drop {
                        panel.recipes.naming = None;
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
                        match load(&names[index]) {
                            Ok(calls) => adopted = Some((names[index].clone(), calls)),
                            Err(error) => panel.recipes.error = Some(error),
                        }
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
                    panel.recipes.naming = Some(panel.recipes.current.clone());
                }
            });
            if let Some(error) = &panel.recipes.error {
                note_ui(ui, &FieldNote::Error(error.clone()));
            }
        });
    if let Some((name, calls)) = adopted {
        panel.adopt(&calls);
        panel.recipes.current = name;
        panel.recipes.error = None;
    }
}
