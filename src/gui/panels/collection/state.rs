//! State of the collection form and its tabs. Imports no panel context, so that the list of panels
//! can hold it.

use std::collections::HashMap;

use egui::Id;

use crate::gui::action::Action;

#[derive(Default)]
pub(super) struct TypedFields {
    pub(super) text: String,
    pub(super) since_s: Option<f64>,
}

/// State of the panel.
#[derive(Default)]
pub struct CollectionPanel {
    pub(super) typed: HashMap<String, TypedFields>,
    pub(super) focus: Option<String>,
    /// Set to take the caret out of the field that has it.
    pub(super) release: bool,
    /// Frames since the focus was requested.
    pub(super) waited: u8,
    /// The focused field of this form.
    pub(super) field: Option<Id>,
    /// The action to perform once the typed text is an edit.
    pub(super) then: Option<Action>,
    /// State of the other tabs.
    pub(super) tabs: TabsState,
}

impl CollectionPanel {
    /// Puts the focus into a field, named as in findings.
    pub fn focus(&mut self, field: &str) {
        self.focus = Some(field.to_owned());
        self.waited = 0;
        // The caret never stays in another field than the one that is marked.
        self.release = true;
    }

    /// Takes the caret out of the field that has it.
    pub fn release(&mut self) {
        self.focus = None;
        self.release = true;
    }

    /// True when the wanted focus is that of the field at `pointer`: the one that a finding names,
    /// the one that contains what it names, or, once there was time for these, the first inside of
    /// it.
    pub(super) fn wants(&self, pointer: &str) -> bool {
        let Some(at) = self.focus.as_deref() else {
            return false;
        };
        at == pointer
            || contains_pointer(pointer, at)
            || (self.waited > 1 && contains_pointer(at, pointer))
    }

    /// Discards uncommitted text of fields whose pointer has this prefix.
    pub(super) fn forget(&mut self, prefix: &str) {
        self.typed.retain(|pointer, _| !pointer.starts_with(prefix));
    }

    /// Postpones Undo or Redo of a focused field of the form until the typed text is an edit: the
    /// text belongs to the draft's history. Returns the action when nothing is typed.
    pub fn postpone_while_typing(&mut self, action: Action) -> Option<Action> {
        if !self.is_typing() {
            return Some(action);
        }
        self.then = Some(action);
        None
    }

    /// True when this widget is a text field of the form.
    pub fn is_own(&self, focused: Option<Id>) -> bool {
        focused.is_some() && self.field == focused
    }

    /// True while typed text has not become an edit.
    pub fn is_typing(&self) -> bool {
        self.typed.values().any(|typed| typed.since_s.is_some())
    }
}

fn contains_pointer(outer: &str, inner: &str) -> bool {
    inner
        .strip_prefix(outer)
        .is_some_and(|rest| rest.starts_with('/'))
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Tab {
    /// Fields of every dataset.
    #[default]
    General,
    /// `labels:*`.
    Labels,
    /// `optical:*`.
    Bands,
    /// `publications`, `sci:*`.
    Papers,
    /// `split:strategy`.
    Split,
    /// `rai:*`.
    Rai,
    /// The raw JSON.
    Json,
}

impl Tab {
    /// Every tab with its title.
    pub const ALL: [(Tab, &'static str); 7] = [
        (Tab::General, mark!("General")),
        (Tab::Labels, mark!("Labels")),
        (Tab::Bands, mark!("Bands")),
        (Tab::Papers, mark!("Papers")),
        (Tab::Split, mark!("Split")),
        (Tab::Rai, "RAI"),
        (Tab::Json, "JSON"),
    ];

    /// The tab of a field, named as in findings.
    pub fn for_field(field: &str) -> Tab {
        let key = field.split('/').next().unwrap_or_default();
        match key.split_once(':').map_or(key, |(prefix, _)| prefix) {
            "labels" => Tab::Labels,
            "optical" => Tab::Bands,
            "publications" | "sci" => Tab::Papers,
            "split" => Tab::Split,
            "rai" => Tab::Rai,
            _ => Tab::General,
        }
    }
}

/// Uncommitted text of the tabs.
#[derive(Default)]
pub struct TabsState {
    /// The visible tab.
    pub tab: Tab,
    /// The JSON while it is edited.
    pub(super) json: Option<String>,
    pub(super) json_error: Option<String>,
    pub(super) bibtex: String,
    pub(super) bibtex_error: Option<String>,
    pub(super) sensor_error: Option<String>,
}
