//! Recipes: chosen extensions with their options, one JSON file each in the folder of settings. A
//! recipe is what `taco-studio extend --calls FILE` takes.

use std::path::PathBuf;

use egui::{Frame, Margin, Ui};

use super::state::RecipesState;
use crate::container::write_document;
use crate::extensions::ExtensionCall;
use crate::folders::config_dir;
use crate::gui::icons;
use crate::gui::panel_context::PanelContext;
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
pub fn ui(ui: &mut Ui, cx: &mut PanelContext<'_>) {
    let calls = cx.session.extensions.calls();
    let state = &mut cx.session.extensions;
    let names = state.recipes.names.get_or_insert_with(names).clone();
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
                if let Some(name) = &mut state.recipes.naming {
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
                        state.recipes.error = save(&name, calls).err();
                        if state.recipes.error.is_none() {
                            state.recipes = RecipesState {
                                current: name,
                                ..RecipesState::default()
                            };
                        }
                    } else if drop {
                        state.recipes.naming = None;
                    }
                    return;
                }
                let shown = if state.recipes.current.is_empty() {
                    tr!("Recipe")
                } else {
                    state.recipes.current.as_str()
                }
                .to_owned();
                let width = (ui.available_width() - 70.0).max(60.0);
                ui.add_enabled_ui(!names.is_empty(), |ui| {
                    if let Some(index) =
                        widgets::combo(ui, tr!("Recipe"), &shown, width, false, &names)
                    {
                        match load(&names[index]) {
                            Ok(calls) => adopted = Some((names[index].clone(), calls)),
                            Err(error) => state.recipes.error = Some(error),
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
                    state.recipes.naming = Some(state.recipes.current.clone());
                }
            });
            if let Some(error) = &state.recipes.error {
                note_ui(ui, &FieldNote::Error(error.clone()));
            }
        });
    if let Some((name, calls)) = adopted {
        state.adopt(&calls);
        state.recipes.current = name;
        state.recipes.error = None;
    }
}
