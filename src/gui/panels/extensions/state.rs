//! State of the extension runner. Imports no panel context, so that the list of panels can hold it.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::form::TypedOptions;
use super::targets::TargetGroup;
use super::{form, targets};
use crate::error::Result;
use crate::extensions::{ExtensionCall, ExtensionRegistry, ExtensionScope, builtin};
use crate::gui::document_key::DocumentKey;
use crate::jobs::AsyncValue;

/// For each group of a draft whether its files may be rasters.
type RasterGroups = AsyncValue<(DocumentKey, Arc<Vec<TargetGroup>>), Arc<Vec<bool>>>;

/// What a range of values is read for: an extension, and its options as typed.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct PixelRangeRequest {
    pub(super) extension: &'static str,
    pub(super) typed: TypedOptions,
}

/// The user's settings of one extension.
#[derive(Clone, Debug, Default)]
pub struct ExtensionChoice {
    /// Run this extension.
    pub on: bool,
    /// Option values as typed text.
    pub typed: TypedOptions,
    /// Selected targets: one flag for each group; empty until the groups are computed.
    pub ticked: Vec<bool>,
}

/// State of the panel. Option values are kept for the next document; the selection is not.
pub struct ExtensionsPanel {
    pub(super) registry: ExtensionRegistry,
    pub(super) filter: String,
    /// Settings by extension name.
    pub choices: BTreeMap<String, ExtensionChoice>,
    /// How often the choices were changed: a recipe that was read for earlier ones comes too late.
    pub(super) choices_version: u64,
    pub(super) focus: String,
    pub(super) groups: Arc<Vec<TargetGroup>>,
    /// For each group whether its files may be rasters; empty until it is known.
    pub(super) rasters: Arc<Vec<bool>>,
    pub(super) rasters_read: RasterGroups,
    /// Document and revision for which `groups` was computed.
    pub(super) made_for: Option<DocumentKey>,
    /// Replace columns of the same name.
    pub replace: bool,
    /// Run as soon as the example is computed.
    pub run_asked: bool,
    pub(super) example: ExampleState,
    pub(super) recipes: RecipesState,
    /// The range of values that is being looked for.
    pub(super) range: AsyncValue<PixelRangeRequest, Option<(f64, f64)>>,
    /// The extension of the last search for a range, and why it gave none.
    pub(super) range_error: Option<(&'static str, String)>,
}

impl Default for ExtensionsPanel {
    fn default() -> Self {
        Self {
            registry: builtin(),
            filter: String::new(),
            choices: BTreeMap::new(),
            choices_version: 0,
            focus: "stac".into(),
            groups: Arc::default(),
            rasters: Arc::default(),
            rasters_read: AsyncValue::default(),
            made_for: None,
            replace: false,
            run_asked: false,
            example: ExampleState::default(),
            recipes: Default::default(),
            range: AsyncValue::default(),
            range_error: None,
        }
    }
}

impl ExtensionsPanel {
    /// The state for the next document: keeps option values, clears selection and computed values.
    pub fn for_next_document(&mut self) -> Self {
        let mut choices = std::mem::take(&mut self.choices);
        choices.values_mut().for_each(|choice| {
            choice.on = false;
            choice.ticked.clear();
        });
        Self {
            choices,
            focus: std::mem::take(&mut self.focus),
            ..Self::default()
        }
    }

    /// Calls of the selected extensions, ordered by scope, then level.
    ///
    /// # Errors
    /// A message for the user while an option is invalid or an extension has no target.
    pub fn calls(&self) -> Result<Vec<ExtensionCall>, String> {
        let mut calls = Vec::new();
        for entry in self.registry.entries() {
            let Some(choice) = self.choices.get(entry.name).filter(|choice| choice.on) else {
                continue;
            };
            let options =
                form::options_of(&(entry.options)(), &choice.typed).map_err(|(option, why)| {
                    format!(
                        "{}, {}: {why}",
                        crate::text::translate_text(entry.title),
                        option.replace('_', " ")
                    )
                })?;
            (entry.make)(&options).map_err(|error| {
                format!("{}: {error}", crate::text::translate_text(entry.title))
            })?;
            let made = targets::calls(entry, &options, &self.groups, &choice.ticked);
            if made.is_empty() {
                return Err(tr!(
                    "{extension} has no target.",
                    extension = crate::text::translate_text(entry.title)
                ));
            }
            calls.extend(made);
        }
        // Consecutive calls of one level share one pass over the pixels.
        calls.sort_by_key(|call| match self.find_scope_of_call(call) {
            Some(ExtensionScope::Sample) => (0, call.target.level),
            Some(ExtensionScope::Tortilla) => (1, 0),
            _ => (2, 0),
        });
        Ok(calls)
    }

    fn find_scope_of_call(&self, call: &ExtensionCall) -> Option<ExtensionScope> {
        let mut entries = self.registry.entries().iter();
        let entry = entries.find(|entry| entry.name == call.extension)?;
        Some(entry.scope)
    }

    /// Replaces selection, options and targets by those of `calls`.
    pub fn adopt(&mut self, calls: &[ExtensionCall]) {
        self.choices_version += 1;
        self.choices.clear();
        for call in calls {
            let Some(entry) = self
                .registry
                .entries()
                .iter()
                .find(|entry| entry.name == call.extension)
            else {
                continue;
            };
            let choice = self.choices.entry(entry.name.to_owned()).or_default();
            choice.on = true;
            choice.typed = form::typed_of(&(entry.options)(), &call.options);
            let more = targets::select_target_groups(&self.groups, &call.target);
            if choice.ticked.is_empty() {
                choice.ticked = more
            } else {
                choice
                    .ticked
                    .iter_mut()
                    .zip(more)
                    .for_each(|(on, more)| *on |= more)
            }
            self.focus = entry.name.to_owned();
        }
    }

    /// Adopts a recipe that was read when the choices had this version. Choices that were made
    /// since stay.
    pub(super) fn adopt_recipe(&mut self, name: String, version: u64, calls: &[ExtensionCall]) {
        if version == self.choices_version {
            self.adopt(calls);
            (self.recipes.current, self.recipes.error) = (name, None);
        } else {
            let error = tr!(
                "The recipe {name} was not loaded, as choices were made while it was read. \
                    Choose it again to replace them.",
                name
            );
            self.recipes.error = Some(error);
        }
    }

    /// Selects an extension and shows its options.
    pub fn show(&mut self, name: &str) {
        self.choices_version += 1;
        self.choices.entry(name.to_owned()).or_default().on = true;
        self.focus = name.to_owned();
        self.filter.clear();
        // Groups and default targets are computed again for the new selection.
        self.made_for = None;
    }

    /// The groups of the open draft.
    pub(super) fn groups(&self) -> &Arc<Vec<TargetGroup>> {
        &self.groups
    }
}

/// One column to be added.
#[derive(Clone, Debug, PartialEq)]
pub struct Added {
    /// The level; `None` for fields of the collection.
    pub level: Option<usize>,
    /// The column's name.
    pub name: String,
    /// Its type.
    pub kind: String,
    /// A value from the first root.
    pub example: String,
    /// True when the level has the column already.
    pub there: bool,
}

/// Result of running the calls over one root.
#[derive(Clone, Debug, Default)]
pub struct ExtensionPreview {
    /// The columns, in order.
    pub columns: Vec<Added>,
    /// Id of the root.
    pub root: String,
    /// Errors of samples that failed.
    pub failures: Vec<String>,
    /// Bytes of all targeted samples.
    pub bytes: u64,
    /// Duration for one root, in seconds.
    pub root_s: f64,
}

#[derive(Default)]
pub struct ExampleState {
    pub(super) slot: AsyncValue<(DocumentKey, String, bool), Arc<ExtensionPreview>>,
}

/// State of the line that loads and saves recipes (named lists of calls).
#[derive(Default)]
pub struct RecipesState {
    /// Names in the folder, by how many recipes were saved before.
    pub(super) names: AsyncValue<u64, Vec<String>>,
    /// How many recipes were saved.
    pub(super) saved: u64,
    /// The recipe that is read, by its name and the version of the choices that it replaces.
    pub(super) loaded: AsyncValue<(String, u64), Result<Vec<ExtensionCall>, String>>,
    /// The recipe that is written, by its name.
    pub(super) written: AsyncValue<String, Result<(), String>>,
    pub(super) current: String,
    /// Name being typed for a new recipe; `None` while none is saved.
    pub(super) naming: Option<String>,
    pub(super) error: Option<String>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_recipe_that_is_read_late_does_not_replace_choices_made_since() {
        let mut panel = ExtensionsPanel::default();
        let calls: Vec<ExtensionCall> = serde_json::from_value(serde_json::json!([
            { "extension": "labels", "options": {}, "target": { "level": 0 } }
        ]))
        .expect("calls");
        let version = panel.choices_version;
        panel.show("stac");
        panel.adopt_recipe("mine".into(), version, &calls);
        assert!(panel.choices.contains_key("stac") && !panel.choices.contains_key("labels"));
        assert!(panel.recipes.error.is_some() && panel.recipes.current.is_empty());
        let version = panel.choices_version;
        panel.adopt_recipe("mine".into(), version, &calls);
        assert!(panel.choices.contains_key("labels") && !panel.choices.contains_key("stac"));
        assert!(panel.recipes.error.is_none() && panel.recipes.current == "mine");
    }
}
