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

/// Finds out for each group of a draft whether its files may be rasters.
type RasterCheck = AsyncValue<(DocumentKey, Arc<Vec<TargetGroup>>), Arc<Vec<bool>>>;

/// The extension that pixels are read for to fill its options `low` and `high`, and its options as
/// typed when the reading began.
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
    /// Text of the search field above the list of extensions.
    pub(super) filter: String,
    /// Settings by extension name.
    pub choices: BTreeMap<String, ExtensionChoice>,
    /// Number of changes to the choices. A recipe is read in the background, and must not replace
    /// choices made since it was requested.
    pub(super) choices_version: u64,
    /// Name of the extension whose options are shown.
    pub(super) focus: String,
    pub(super) groups: Arc<Vec<TargetGroup>>,
    /// For each group whether its files may be rasters; empty until `raster_check` has ended.
    pub(super) may_be_raster: Arc<Vec<bool>>,
    pub(super) raster_check: RasterCheck,
    /// Document and revision for which groups and default targets were computed; `None` to compute
    /// them again.
    pub(super) made_for: Option<DocumentKey>,
    /// Replace columns of the same name.
    pub replace: bool,
    /// Run as soon as the preview is computed.
    pub run_when_ready: bool,
    pub(super) preview: AsyncValue<PreviewKey, Arc<ExtensionPreview>>,
    pub(super) recipes: RecipesState,
    /// Lowest and highest value of the targeted pixels; `None` where no pixel has data.
    pub(super) pixel_range: AsyncValue<PixelRangeRequest, Option<(f64, f64)>>,
    /// The extension for which the last reading of a range failed, and the reason.
    pub(super) pixel_range_error: Option<(&'static str, String)>,
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
            may_be_raster: Arc::default(),
            raster_check: AsyncValue::default(),
            made_for: None,
            replace: false,
            run_when_ready: false,
            preview: AsyncValue::default(),
            recipes: RecipesState::default(),
            pixel_range: AsyncValue::default(),
            pixel_range_error: None,
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
        Some(self.registry.get(&call.extension).ok()?.scope)
    }

    /// Replaces selection, options and targets by those of `calls`.
    ///
    /// # Errors
    /// A message for the user when the panel can't show one of the calls. The choices stay then:
    /// a run of a part of the calls would have another result.
    fn replace_choices(&mut self, calls: &[ExtensionCall]) -> Result<(), String> {
        let mut choices: BTreeMap<String, ExtensionChoice> = BTreeMap::new();
        for call in calls {
            let entry = self
                .registry
                .get(&call.extension)
                .map_err(|error| error.to_string())?;
            let extension = crate::text::translate_text(entry.title);
            if call.schema_only {
                return Err(tr!(
                    "The recipe adds the columns of {extension} without values, which this panel \
                        cannot do. Run it with taco-studio extend --calls.",
                    extension
                ));
            }
            let typed = form::typed_of(&(entry.options)(), &call.options);
            let selected = targets::select_target_groups(&self.groups, &call.target);
            let Some(choice) = choices.get_mut(entry.name) else {
                let choice = ExtensionChoice {
                    on: true,
                    typed,
                    ticked: selected,
                };
                choices.insert(entry.name.to_owned(), choice);
                continue;
            };
            if choice.typed != typed {
                return Err(tr!(
                    "The recipe runs {extension} with different options for different targets, \
                        which this panel cannot do. Run it with taco-studio extend --calls.",
                    extension
                ));
            }
            for (ticked, selected) in choice.ticked.iter_mut().zip(selected) {
                *ticked |= selected;
            }
        }
        if let Some(last) = calls.last() {
            self.focus.clone_from(&last.extension);
        }
        self.choices = choices;
        self.choices_version += 1;
        Ok(())
    }

    /// Replaces the choices by those of a recipe that was requested when the choices had this
    /// version, unless they have changed since.
    pub(super) fn adopt_recipe(&mut self, name: String, version: u64, calls: &[ExtensionCall]) {
        let outcome = if version == self.choices_version {
            self.replace_choices(calls)
        } else {
            Err(tr!(
                "The recipe {name} was not loaded, as choices were made while it was read. \
                    Choose it again to replace them.",
                name
            ))
        };
        match outcome {
            Ok(()) => (self.recipes.current, self.recipes.error) = (name, None),
            Err(error) => self.recipes.error = Some(error),
        }
    }

    /// Selects an extension and shows its options.
    pub fn select_extension(&mut self, name: &str) {
        self.choices_version += 1;
        self.choices.entry(name.to_owned()).or_default().on = true;
        self.focus = name.to_owned();
        self.filter.clear();
        // Groups and default targets are computed again for the new selection.
        self.made_for = None;
    }
}

/// One column, or field of the collection, that a run adds.
#[derive(Clone, Debug, PartialEq)]
pub struct AddedColumn {
    /// The level; `None` for fields of the collection.
    pub level: Option<usize>,
    /// The column's name.
    pub name: String,
    /// Name of its type.
    pub type_name: String,
    /// A value from the first root.
    pub example: String,
    /// True when the level, or the collection, has it already.
    pub exists: bool,
}

/// Result of running the calls over one root.
#[derive(Clone, Debug, Default)]
pub struct ExtensionPreview {
    /// The columns, in order.
    pub columns: Vec<AddedColumn>,
    /// Id of the root.
    pub root: String,
    /// Errors of samples that failed.
    pub failures: Vec<String>,
    /// Bytes of all targeted samples.
    pub bytes: u64,
    /// Duration for one root, in seconds.
    pub seconds_per_root: f64,
}

/// What a preview is computed for.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct PreviewKey {
    pub(super) document: DocumentKey,
    pub(super) calls: Vec<ExtensionCall>,
    /// True when the user has agreed to all programs of the calls: columns of other programs have
    /// no examples.
    pub(super) programs_agreed: bool,
}

/// State of the line that loads and saves recipes (named lists of calls).
#[derive(Default)]
pub struct RecipesState {
    /// Names of the recipes in the folder. The key is `saved_count`, so that they are listed again
    /// after each saved recipe.
    pub(super) names: AsyncValue<u64, Vec<String>>,
    /// Number of recipes saved since the panel was reset.
    pub(super) saved_count: u64,
    /// Reads a recipe: its name, and the version of the choices that it is to replace.
    pub(super) loading: AsyncValue<(String, u64), Result<Vec<ExtensionCall>, String>>,
    /// Writes the recipe of this name.
    pub(super) saving: AsyncValue<String, Result<(), String>>,
    /// Name of the recipe that was loaded or saved last; empty before.
    pub(super) current: String,
    /// Name typed for a recipe to be saved; `None` while the field for it is not shown.
    pub(super) new_name: Option<String>,
    pub(super) error: Option<String>,
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read_calls(calls: serde_json::Value) -> Vec<ExtensionCall> {
        serde_json::from_value(calls).expect("calls")
    }

    #[test]
    fn a_recipe_that_is_read_late_does_not_replace_choices_made_since() {
        let mut panel = ExtensionsPanel::default();
        let calls = read_calls(serde_json::json!([
            { "extension": "labels", "options": {}, "target": { "level": 0 } }
        ]));
        let version = panel.choices_version;
        panel.select_extension("stac");
        panel.adopt_recipe("mine".into(), version, &calls);
        assert!(panel.choices.contains_key("stac") && !panel.choices.contains_key("labels"));
        assert!(panel.recipes.error.is_some() && panel.recipes.current.is_empty());
        let version = panel.choices_version;
        panel.adopt_recipe("mine".into(), version, &calls);
        assert!(panel.choices.contains_key("labels") && !panel.choices.contains_key("stac"));
        assert!(panel.recipes.error.is_none() && panel.recipes.current == "mine");
        assert_eq!(panel.focus, "labels");
    }

    #[test]
    fn a_recipe_that_the_panel_cannot_show_in_full_changes_nothing() {
        let split = |level: usize, value: &str| {
            serde_json::json!({
                "extension": "split", "options": { "value": value }, "target": { "level": level }
            })
        };
        let mut panel = ExtensionsPanel::default();
        panel.select_extension("stac");
        let choices_before = format!("{:?}", panel.choices);
        for calls in [
            serde_json::json!([split(0, "train"), { "extension": "of a later version" }]),
            serde_json::json!([split(0, "train"), split(1, "test")]),
            serde_json::json!([{ "extension": "stats", "schema_only": true }]),
        ] {
            let calls = read_calls(calls);
            panel.adopt_recipe("mine".into(), panel.choices_version, &calls);
            assert!(panel.recipes.error.is_some(), "{calls:?}");
            assert!(panel.recipes.current.is_empty(), "{calls:?}");
            assert_eq!(format!("{:?}", panel.choices), choices_before, "{calls:?}");
            assert_eq!(panel.focus, "stac", "{calls:?}");
        }
        let calls = read_calls(serde_json::json!([split(0, "train"), split(1, "train")]));
        panel.adopt_recipe("mine".into(), panel.choices_version, &calls);
        assert_eq!(panel.recipes.error, None);
        assert_eq!(panel.choices.keys().collect::<Vec<_>>(), ["split"]);
    }
}
