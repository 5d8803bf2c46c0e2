//! Edits by menus and shortcuts: move, group, place and remove the selected samples and tray files.

use super::App;
use super::action::Action;
use super::dialogs::{ConfirmDialog, DialogEvent};
use super::drag::{self, Dragged, DropTarget};
use super::file_dialog::FileRequest;
use super::pane::Pane;
use super::panel_context::Request;
use super::widgets::Toast;
use crate::draft::{Edit, PositionState, Unplaced};
use crate::model::{
    AssetPath, Dataset, NodePath, PackedCodec, Payload, Sample, SampleKind, find_free_name,
};
use crate::studio::{Command, Document, RowRef};

/// Initial id of a new FOLDER of the selected samples.
const GROUPED: &str = "group";

impl App {
    /// Addresses of the selected samples, without descendants of others.
    fn selected_node_paths(&self) -> Vec<NodePath> {
        let Some(document) = self.studio.document() else {
            return Vec::new();
        };
        let chosen = self.session.selection.all_samples();
        drag::topmost(
            chosen
                .into_iter()
                .filter_map(|at| document.node(at))
                .collect(),
        )
    }

    /// True for a draft with FOLDERs at level 0.
    pub(super) fn has_folders(&self) -> bool {
        let draft = self.studio.document().and_then(Document::draft);
        draft.is_some_and(|draft| {
            draft
                .dataset()
                .root
                .samples
                .iter()
                .take(100)
                .any(|sample| sample.children().is_some())
        })
    }

    /// Runs an edit, then selects the sample at `then`.
    fn edit_and_select(&mut self, edit: Edit, then: Option<NodePath>) {
        self.session.selection.clear_marked();
        self.requests.push(Request::Run(Command::Edit { edit }));
        self.requests.extend(then.map(Request::SelectNode));
    }

    pub(super) fn remove(&mut self) {
        if self.session.selection.files.focused {
            self.requests
                .extend(self.session.selection.files.removal().map(Request::Run));
            return;
        }
        let (chosen, of) = (
            self.selected_node_paths(),
            self.session.document_key(&self.studio),
        );
        let Some(document) = self.studio.document() else {
            return;
        };
        let [node] = chosen.as_slice() else {
            if !chosen.is_empty() {
                let count = chosen.len() as u64;
                let remove = Request::Run(Command::Edit {
                    edit: Edit::RemoveMany { samples: chosen },
                });
                self.dialogs
                    .open(ConfirmDialog::remove_samples(count, remove, of));
            }
            return;
        };
        let (Some((parent, position)), Some(at)) = (node.parent(), document.row_of(node)) else {
            return;
        };
        let children = document.tree().levels[at.level].children(at.row).len();
        let remove = Request::Run(Command::Edit {
            edit: Edit::Remove {
                parent,
                at: position,
                count: 1,
            },
        });
        // A FILE is removed at once, as undo restores it; a FOLDER with children asks.
        if children > 0 {
            let path = document
                .path(at)
                .map(|path| path.to_string())
                .unwrap_or_default();
            self.dialogs.open(ConfirmDialog::remove_folder(
                &path,
                children as u64,
                remove,
                of,
            ));
        } else {
            self.requests.push(remove);
        }
    }

    pub(super) fn shift(&mut self, by: i64) {
        let Some((document, at)) = self.studio.document().zip(self.session.selection.sample) else {
            return;
        };
        let Some(node) = document.node(at) else {
            return;
        };
        let Some((parent, position)) = node.parent() else {
            return;
        };
        let Some(to) = position.checked_add_signed(by as i32) else {
            return;
        };
        let moved = parent.child(to);
        self.edit_and_select(
            Edit::Move {
                sample: node,
                to: parent,
                at: to,
            },
            Some(moved),
        );
    }

    /// Moves the selected samples into the FOLDER above the first of them.
    pub(super) fn nest(&mut self) {
        let samples = self.selected_node_paths();
        let Some(draft) = self.studio.document().and_then(Document::draft) else {
            return;
        };
        let above = samples
            .first()
            .and_then(NodePath::parent)
            .and_then(|(parent, position)| {
                let folder = parent.child(position.checked_sub(1)?);
                let children = draft.dataset().tortilla(&folder)?.samples.len() as u32;
                Some((folder, children))
            });
        if let Some((folder, children)) = above {
            let destination = folder.child(children);
            self.edit_and_select(
                Edit::MoveMany {
                    samples,
                    to: folder,
                    at: children,
                },
                Some(destination),
            );
        }
    }

    /// Moves the selected samples out of their FOLDER, behind it.
    pub(super) fn unnest(&mut self) {
        let samples = self.selected_node_paths();
        let outer = samples
            .first()
            .and_then(NodePath::parent)
            .and_then(|(folder, _)| folder.parent());
        if let Some((to, folder)) = outer {
            // Samples of several FOLDERs all move behind the first one's FOLDER.
            let leaving = samples
                .iter()
                .filter_map(NodePath::parent)
                .filter(|(parent, at)| *parent == to && *at <= folder);
            let at = (folder + 1).saturating_sub(leaving.count() as u32);
            let destination = drag::after_move(&to, &samples).child(at);
            self.edit_and_select(Edit::MoveMany { samples, to, at }, Some(destination));
        }
    }

    /// Groups the selected samples into a FOLDER at the first one's position.
    pub(super) fn group(&mut self) {
        let samples = self.selected_node_paths();
        let Some((parent, first)) = samples.first().and_then(NodePath::parent) else {
            return;
        };
        let siblings = samples
            .iter()
            .filter_map(NodePath::parent)
            .filter(|(other, _)| *other == parent);
        let positions: Vec<u32> = siblings.map(|(_, position)| position).collect();
        let Some(draft) = self.studio.document().and_then(Document::draft) else {
            return;
        };
        let id = find_free_name(GROUPED, |id| {
            !has_sample_with_id(draft.dataset(), &parent, id)
        });
        let destination = parent.child(first);
        self.edit_and_select(
            Edit::Group {
                parent,
                positions,
                id: id.into(),
            },
            Some(destination),
        );
        self.requests.push(Request::Do(Action::Rename));
    }

    /// Replaces the selected FOLDER by its children.
    pub(super) fn dissolve(&mut self) {
        if let Some(folder) = self.selected_node_paths().into_iter().next() {
            self.edit_and_select(
                Edit::Unnest {
                    folder: folder.clone(),
                },
                Some(folder),
            );
        }
    }

    /// A sample if it is a FOLDER, else its parent; the root without a sample.
    pub(super) fn folder_of(&self, at: Option<RowRef>) -> NodePath {
        let Some((document, at)) = self.studio.document().zip(at) else {
            return NodePath::root();
        };
        let Some(node) = document.node(at).filter(|_| document.draft().is_some()) else {
            return NodePath::root();
        };
        match document.kind(at) {
            Some(SampleKind::Folder) => node,
            _ => node.parent().map(|(parent, _)| parent).unwrap_or_default(),
        }
    }

    /// The sample that the file dialog was opened for, which may have moved since.
    pub(super) fn picked_sample(&self) -> Option<RowRef> {
        let (level, row) = self
            .studio
            .document()?
            .tree()
            .find(self.picked_for.as_ref()?)?;
        Some(RowRef { level, row })
    }

    /// Closes questions about the previous document.
    pub(super) fn forget_questions(&mut self) {
        self.dialogs.send(&DialogEvent::DocumentChanged);
        self.after_save = None;
        self.file_dialog = self.file_dialog.take().filter(|dialog| {
            matches!(
                dialog.request(),
                FileRequest::Open | FileRequest::OpenFolder | FileRequest::Target
            )
        });
    }

    /// Applies the best fix of the selected problem, or shows the same for all roots with this
    /// problem.
    pub(super) fn fix_problem(&mut self, alike: bool) {
        let report = self.studio.report().clone();
        self.panels.problems.refresh(&report);
        let Some(finding) = self
            .panels
            .problems
            .selected
            .filter(|index| *index < report.findings.len())
        else {
            return;
        };
        self.panels.problems.fix_asked = Some((finding, alike));
        self.requests.push(Request::Show(Pane::Problems));
    }

    /// Places the selected tray files in the selected slot, or else in the selected FOLDER.
    pub(super) fn place(&mut self) {
        let files = self.session.selection.files.selected_files();
        let slot = self.session.selection.cell.filter(|&(root, position)| {
            let structure = self.studio.document().and_then(Document::structure);
            let state = structure.and_then(|structure| {
                structure
                    .states(root as usize)
                    .get(position as usize)
                    .copied()
            });
            matches!(state, Some(PositionState::Missing | PositionState::Padded))
        });
        let target = match slot {
            Some((root, position)) => DropTarget::Slot(root, position),
            None => self.behind_selection(),
        };
        self.with_cx(|cx| {
            if let Some(document) = cx.document() {
                drag::perform_drop(cx, document, &Dragged::Files(files), &target);
            }
        });
    }

    /// Takes the selected samples out and puts their files into the tray, as one edit. Samples that
    /// hold other data than a file of their own, such as bytes of an archive, stay.
    pub(super) fn unplace(&mut self) {
        let samples = self.selected_node_paths();
        let Some(draft) = self.studio.document().and_then(Document::draft) else {
            return;
        };
        match unplacing(draft.dataset(), draft.tray(), samples) {
            Some(edit) => self.edit_and_select(edit, None),
            None => {
                let why = tr!(
                    "These samples hold parts of archives or generated data, which are no files to \
                        place again"
                );
                self.toast = Some(Toast::new(false, why));
            }
        }
    }

    /// The target behind the selected FILE, or at the end of the selected FOLDER.
    fn behind_selection(&self) -> DropTarget {
        let Some((document, at)) = self.studio.document().zip(self.session.selection.sample) else {
            return DropTarget::Into(NodePath::root());
        };
        match (document.node(at), document.kind(at)) {
            (Some(node), Some(SampleKind::Folder)) => DropTarget::Into(node),
            (Some(node), _) => node
                .parent()
                .map_or(DropTarget::Into(NodePath::root()), |(into, at)| {
                    DropTarget::Gap(into, at + 1)
                }),
            _ => DropTarget::Into(NodePath::root()),
        }
    }
}

fn has_sample_with_id(dataset: &Dataset, parent: &NodePath, id: &str) -> bool {
    let found = dataset.tortilla(parent);
    found.is_some_and(|tortilla| tortilla.samples.iter().any(|sample| &*sample.id == id))
}

/// The files of a sample and of all below it; `None` when one of them is not a whole file of its
/// own. Padding has no file.
fn files_of(sample: &Sample) -> Option<Vec<Unplaced>> {
    match &sample.payload {
        Payload::Folder(children) => {
            let files: Option<Vec<Vec<Unplaced>>> = children.samples.iter().map(files_of).collect();
            Some(files?.concat())
        }
        Payload::Asset {
            path: AssetPath::File(path),
            size,
            ..
        } => Some(vec![Unplaced::file(&**path, *size)]),
        Payload::Asset {
            path: AssetPath::Packed(member),
            size,
            ..
        } if member.codec == PackedCodec::Folder => Some(vec![Unplaced {
            path: member.archive.to_path_buf(),
            size: *size,
            folder: Some(member.stamp.clone()),
        }]),
        Payload::Bytes(bytes) if bytes.is_empty() => Some(Vec::new()),
        Payload::Asset { .. } | Payload::Bytes(_) => None,
    }
}

/// The edit that removes those of the samples that are files, with all below them, and appends the
/// files to the tray. `None` when none is.
fn unplacing(dataset: &Dataset, tray: &[Unplaced], samples: Vec<NodePath>) -> Option<Edit> {
    let mut files = Vec::new();
    let mut leaving = Vec::new();
    for node in samples {
        if let Some(found) = dataset.sample(&node).and_then(files_of) {
            files.extend(found);
            leaving.push(node);
        }
    }
    let added = Edit::append_to_tray(tray, files)?;
    let label = tr!("Back to the unplaced files").to_owned();
    Some(Edit::Batch {
        label,
        edits: vec![Edit::RemoveMany { samples: leaving }, added],
    })
}
