//! Arrangements of the panels: one for building a dataset, one for exploring it, one for checking
//! it.

use super::dock::{Arrangement, Dock};

/// The arrangements as the user left them, and which of them a document is opened with.
#[derive(Clone, Debug, serde::Serialize, serde::Deserialize)]
#[serde(default)]
pub struct Arrangements {
    current: Arrangement,
    /// The arrangement that was last chosen for a draft.
    of_drafts: Arrangement,
    /// The arrangement that was last chosen for a dataset.
    of_datasets: Arrangement,
    /// The docks of the arrangements that are not shown, where they were changed.
    others: Vec<(Arrangement, Dock)>,
}

impl Default for Arrangements {
    fn default() -> Self {
        let first = Arrangement::Building;
        Self {
            current: first,
            of_drafts: first,
            of_datasets: first,
            others: Vec::new(),
        }
    }
}

impl Arrangements {
    /// The arrangement that is shown.
    pub fn current(&self) -> Arrangement {
        self.current
    }

    /// Shows the arrangement of the kind of document that was opened, in `dock`.
    pub fn follow_document(&mut self, dock: &mut Dock, is_draft: bool) {
        self.show(
            dock,
            if is_draft {
                self.of_drafts
            } else {
                self.of_datasets
            },
        );
    }

    /// Shows an arrangement, also with the next documents of this kind.
    pub fn choose(&mut self, dock: &mut Dock, arrangement: Arrangement, is_draft: bool) {
        if is_draft {
            self.of_drafts = arrangement
        } else {
            self.of_datasets = arrangement
        }
        self.show(dock, arrangement);
    }

    fn show(&mut self, dock: &mut Dock, arrangement: Arrangement) {
        if arrangement == self.current {
            return;
        }
        let known = self
            .others
            .iter()
            .position(|(other, _)| *other == arrangement)
            .map(|at| self.others.swap_remove(at).1);
        let mut next = known.unwrap_or_else(|| Dock::arranged_for(arrangement));
        next.mend(arrangement);
        self.others
            .push((self.current, std::mem::replace(dock, next)));
        self.current = arrangement;
    }
}

#[cfg(test)]
mod tests {
    use super::super::pane::Pane;
    use super::*;

    #[test]
    fn each_kind_of_document_has_the_arrangement_that_was_chosen_for_it() {
        let (mut all, mut dock) = (Arrangements::default(), Dock::default());
        all.follow_document(&mut dock, false);
        all.choose(&mut dock, Arrangement::Exploring, false);
        assert!(
            dock.is_active(Pane::Table) && dock.is_active(Pane::Preview),
            "both are shown"
        );
        all.choose(&mut dock, Arrangement::Checking, false);
        assert!(dock.is_active(Pane::Structure) && !dock.is_bottom_folded());
        all.follow_document(&mut dock, true);
        assert_eq!(all.current(), Arrangement::Building);
        all.follow_document(&mut dock, false);
        assert_eq!(
            all.current(),
            Arrangement::Checking,
            "as chosen for the last dataset"
        );
    }

    #[test]
    fn an_arrangement_is_found_as_it_was_left() {
        let (mut all, mut dock) = (Arrangements::default(), Dock::default());
        dock.show(Pane::Extensions);
        all.choose(&mut dock, Arrangement::Checking, false);
        all.choose(&mut dock, Arrangement::Building, false);
        assert!(dock.is_active(Pane::Extensions));
        let text = serde_json::to_string(&all).expect("writes");
        let mut back: Arrangements = serde_json::from_str(&text).expect("reads back");
        assert_eq!(back.current(), Arrangement::Building);
        back.choose(&mut dock, Arrangement::Checking, false);
        assert_eq!(dock.panes().len(), Pane::ALL.len());
    }
}
