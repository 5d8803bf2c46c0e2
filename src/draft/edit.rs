//! Edits: plain data that can be logged, replayed from a file and undone. Applying an edit returns
//! its inverse.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde_json::Value as Json;

use crate::folder_archive::{FolderArchive, archive_name};
use crate::model::{
    AssetPath, Collection, Dataset, FieldSpec, NodePath, Payload, Sample, Stamp, Tortilla, Value,
    is_remote,
};

/// The state that edits change.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Content {
    pub dataset: Dataset,
    /// Files that are not placed yet.
    pub tray: Arc<[Unplaced]>,
}

/// A file that is not placed in the tree.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct Unplaced {
    pub path: PathBuf,
    /// Its size in bytes.
    pub size: u64,
    /// Version of a folder that is placed as one FILE, its archive ([`FolderArchive`]); `None` for
    /// a file.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub folder: Option<Arc<Stamp>>,
}

impl Unplaced {
    /// A file.
    pub fn file(path: impl Into<PathBuf>, size: u64) -> Self {
        Self {
            path: path.into(),
            size,
            folder: None,
        }
    }

    /// Name of the FILE that it becomes.
    pub fn name(&self) -> String {
        let name = self.path.file_name().unwrap_or_default().to_string_lossy();
        if self.folder.is_some() {
            archive_name(&name)
        } else {
            name.into_owned()
        }
    }

    /// The FILE that it becomes.
    pub fn sample(&self, id: &str) -> Sample {
        match &self.folder {
            None => Sample::new_file(id, &self.path, self.size),
            Some(stamp) => FolderArchive::sample_of(&self.path, stamp, id),
        }
    }
}

/// A file with its index in the tray.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct TrayPlace {
    /// Its index.
    pub at: u32,
    #[serde(flatten)]
    pub file: Unplaced,
}

/// A change of one field of a level.
#[derive(Clone, Debug, PartialEq, serde::Serialize, serde::Deserialize)]
#[serde(tag = "change", rename_all = "snake_case")]
pub enum ColumnChange {
    /// Adds a field to every tortilla without it.
    Add {
        /// Name and type.
        field: FieldSpec,
        /// Index among the fields; `None`: at the end.
        #[serde(default)]
        at: Option<usize>,
        /// Value for every sample.
        #[serde(default)]
        value: Value,
    },
    /// Removes the field.
    Remove {
        /// Field name.
        name: String,
    },
    /// Renames the field.
    Rename {
        /// Field name.
        name: String,
        /// New name.
        to: String,
    },
    /// Changes the description.
    Describe {
        /// Field name.
        name: String,
        description: String,
    },
    /// Changes the type.
    Cast {
        /// Field name.
        name: String,
        /// The new type in Arrow's notation: `Int64`, `Utf8`.
        dtype: String,
        /// Replace values that do not fit by null, instead of failing.
        #[serde(default)]
        lossy: bool,
    },
    /// Fills nulls, or sets all values.
    Fill {
        /// Field name.
        name: String,
        value: Value,
        /// Also overwrite values other than null.
        #[serde(default)]
        all: bool,
    },
    /// Splits a string field at a separator into new string fields after it. The last one gets the
    /// remainder.
    Split {
        /// Field name.
        name: String,
        /// The separator.
        by: String,
        /// Names of the new fields.
        into: Vec<String>,
        /// Keep the original field.
        #[serde(default)]
        keep: bool,
    },
}

/// One change of a draft. Samples are addressed by position, so a replayed edit has the same
/// effect.
#[derive(Clone, Debug, PartialEq, serde::Serialize, serde::Deserialize)]
#[serde(tag = "edit", rename_all = "snake_case")]
pub enum Edit {
    /// Inserts samples into a FOLDER (or the root) before position `at`.
    Insert {
        /// The FOLDER; empty for the root.
        parent: NodePath,
        /// Position of the first inserted sample.
        at: u32,
        /// The samples to insert.
        samples: Vec<Sample>,
    },
    /// Removes `count` consecutive samples from a FOLDER. Files on disk are kept.
    Remove {
        /// The FOLDER; empty for the root.
        parent: NodePath,
        /// Position of the first removed sample.
        at: u32,
        /// Number of samples.
        count: u32,
    },
    /// Changes a sample's id.
    Rename {
        sample: NodePath,
        /// The new id; an invalid id is reported by the checks.
        id: Arc<str>,
    },
    /// Moves a sample to another position or FOLDER. `to` and `at` refer to the tree without the
    /// sample.
    Move {
        sample: NodePath,
        /// The FOLDER; empty for the root.
        to: NodePath,
        /// Position in the FOLDER.
        at: u32,
    },
    /// Replaces a sample's data source.
    SetPayload {
        sample: NodePath,
        /// The new source.
        payload: Payload,
    },
    /// Sets one value. The field must be in the tortilla's schema.
    SetValue {
        sample: NodePath,
        /// The field's name.
        field: String,
        value: Value,
    },
    /// Sets all values of a sample, in the order of the fields; missing trailing values are null.
    SetRow {
        sample: NodePath,
        values: Vec<Value>,
    },
    /// Removes samples from any FOLDERs.
    RemoveMany {
        /// The samples; none may be a descendant of another.
        samples: Vec<NodePath>,
    },
    /// Moves samples to one FOLDER, in the given order. `to` refers to the tree before the edit,
    /// `at` to the FOLDER without the samples.
    MoveMany {
        /// The samples; none may be a descendant of another.
        samples: Vec<NodePath>,
        /// The FOLDER; empty for the root.
        to: NodePath,
        /// Position in the FOLDER.
        at: u32,
    },
    /// Reorders the samples of a tortilla.
    Reorder {
        /// The FOLDER; empty for the root.
        parent: NodePath,
        /// A permutation: for each new position, the sample's current position.
        order: Vec<u32>,
    },
    /// Wraps samples of one FOLDER in a new FOLDER, at the position of the first.
    Group {
        /// The FOLDER; empty for the root.
        parent: NodePath,
        /// Positions in the FOLDER.
        positions: Vec<u32>,
        /// Id of the new FOLDER.
        id: Arc<str>,
    },
    /// Replaces a FOLDER by its children.
    Unnest { folder: NodePath },
    /// Changes the ids of several samples.
    RenameMany {
        /// The samples and their new ids.
        names: Vec<(NodePath, Arc<str>)>,
    },
    /// Replaces a part of the ids of a level. Ids of padding are kept.
    RenameBy {
        level: usize,
        /// Only in the FOLDER with this path of ids below the root; `None`: in all FOLDERs.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        under: Option<Vec<Arc<str>>>,
        /// The text to find.
        find: String,
        /// The replacement; with `regex`, `$1` refers to a group.
        replace: String,
        /// `find` is a regular expression.
        #[serde(default)]
        regex: bool,
    },
    /// Changes a field in all tortillas of a level (PIT-2; TACO 2.0, section 5.4).
    Column { level: usize, change: ColumnChange },
    /// Adds files to the tray.
    AddToTray {
        /// The files with their resulting indices in the tray, ascending.
        files: Vec<TrayPlace>,
    },
    /// Removes files from the tray. Files on disk are kept.
    RemoveFromTray {
        /// Their indices, ascending.
        places: Vec<u32>,
    },
    /// Replaces the whole tray.
    ReplaceTray {
        /// The new contents.
        files: Arc<[Unplaced]>,
    },
    /// Updates the paths of moved sources: every path at or below `from` becomes one at or below
    /// `to`.
    Relocate {
        /// The former folder.
        from: PathBuf,
        /// The current folder.
        to: PathBuf,
    },
    /// Adds a field to one tortilla.
    AddField {
        /// The FOLDER; empty for the root.
        tortilla: NodePath,
        /// Index among the fields.
        at: usize,
        /// Name and type.
        field: FieldSpec,
        /// One value per sample; empty for nulls.
        values: Vec<Value>,
    },
    /// Removes a field and its values from one tortilla.
    RemoveField {
        /// The FOLDER; empty for the root.
        tortilla: NodePath,
        /// The field's name.
        field: String,
    },
    /// Replaces a whole tortilla: for imports and jobs that change many samples at once.
    ReplaceTortilla {
        /// The FOLDER; empty for the root.
        tortilla: NodePath,
        with: Arc<Tortilla>,
    },
    /// Sets a field of the collection, or removes it when `value` is `None`.
    SetCollection {
        /// The top-level key.
        key: String,
        #[serde(default, skip_serializing_if = "Option::is_none", with = "present")]
        value: Option<Json>,
    },
    /// Replaces the whole collection.
    ReplaceCollection { collection: Collection },
    /// Several edits that are applied and undone together.
    Batch {
        /// Description for the history.
        label: String,
        /// The edits, in order.
        edits: Vec<Edit>,
    },
}

impl Edit {
    /// Description for menus and the history, such as "Rename to label".
    pub fn label(&self) -> String {
        match self {
            Edit::Insert { samples, .. } if samples.len() == 1 => {
                tr!("Add {name}", name = samples[0].id)
            }
            Edit::Insert { samples, .. } => tr_n!(
                samples.len(),
                "Add {n} sample",
                "Add {n} samples",
                n = samples.len()
            ),
            Edit::Remove { count, .. } => {
                tr_n!(*count, "Remove {n} sample", "Remove {n} samples", n = count)
            }
            Edit::Rename { id, .. } => tr!("Rename to {id}", id),
            Edit::Move { .. } => tr!("Move sample").into(),
            Edit::SetPayload { .. } => tr!("Change the data of a sample").into(),
            Edit::SetValue { field, .. } => tr!("Set {name}", name = field),
            Edit::SetRow { .. } => tr!("Set the values of a sample").into(),
            Edit::RemoveMany { samples } => tr_n!(
                samples.len(),
                "Remove {n} sample",
                "Remove {n} samples",
                n = samples.len()
            ),
            Edit::MoveMany { samples, .. } => tr_n!(
                samples.len(),
                "Move {n} sample",
                "Move {n} samples",
                n = samples.len()
            ),
            Edit::Reorder { .. } => tr!("Reorder samples").into(),
            Edit::Group { positions, id, .. } => {
                tr_n!(
                    positions.len(),
                    "Group {n} sample into {id}",
                    "Group {n} samples into {id}",
                    n = positions.len(),
                    id
                )
            }
            Edit::Unnest { .. } => tr!("Un-nest a FOLDER").into(),
            Edit::RenameMany { names } => tr_n!(
                names.len(),
                "Rename {n} sample",
                "Rename {n} samples",
                n = names.len()
            ),
            Edit::RenameBy {
                level,
                find,
                replace,
                ..
            } => {
                tr!(
                    "Rename {find} to {replace} on level {level}",
                    find,
                    replace,
                    level
                )
            }
            Edit::Column { level, change } => {
                tr!("{change} on level {level}", change = change.label(), level)
            }
            Edit::AddToTray { files } => {
                tr_n!(
                    files.len(),
                    "Put {n} file into the tray",
                    "Put {n} files into the tray",
                    n = files.len()
                )
            }
            Edit::RemoveFromTray { places } => {
                tr_n!(
                    places.len(),
                    "Take {n} file out of the tray",
                    "Take {n} files out of the tray",
                    n = places.len()
                )
            }
            Edit::ReplaceTray { .. } => tr!("Change the tray").into(),
            Edit::Relocate { to, .. } => {
                tr!("Look for the sources in {folder}", folder = to.display())
            }
            Edit::AddField { field, .. } => tr!("Add field {name}", name = field.name),
            Edit::RemoveField { field, .. } => tr!("Remove field {name}", name = field),
            Edit::ReplaceTortilla { .. } => tr!("Replace samples").into(),
            Edit::SetCollection { key, .. } => tr!("Set {name}", name = key),
            Edit::ReplaceCollection { .. } => tr!("Replace the collection").into(),
            Edit::Batch { label, .. } => label.clone(),
        }
    }

    /// Visits the paths of files that the edit names.
    pub fn visit_paths(&mut self, visit: &mut dyn FnMut(&mut PathBuf)) {
        match self {
            Edit::Relocate { from, to } => [from, to].into_iter().for_each(visit),
            Edit::Insert { samples, .. } => visit_sample_paths(samples, visit),
            Edit::SetPayload { payload, .. } => visit_payload_paths(payload, visit),
            Edit::AddToTray { files } => files
                .iter_mut()
                .for_each(|place| visit(&mut place.file.path)),
            Edit::ReplaceTray { files } => Arc::make_mut(files)
                .iter_mut()
                .for_each(|file| visit(&mut file.path)),
            Edit::ReplaceTortilla { with, .. } => {
                visit_sample_paths(&mut Arc::make_mut(with).samples, visit);
            }
            Edit::Batch { edits, .. } => edits.iter_mut().for_each(|edit| edit.visit_paths(visit)),
            Edit::Remove { .. }
            | Edit::Rename { .. }
            | Edit::Move { .. }
            | Edit::SetValue { .. }
            | Edit::SetRow { .. }
            | Edit::RemoveMany { .. }
            | Edit::MoveMany { .. }
            | Edit::Reorder { .. }
            | Edit::Group { .. }
            | Edit::Unnest { .. }
            | Edit::RenameMany { .. }
            | Edit::RenameBy { .. }
            | Edit::Column { .. }
            | Edit::RemoveFromTray { .. }
            | Edit::AddField { .. }
            | Edit::RemoveField { .. }
            | Edit::SetCollection { .. }
            | Edit::ReplaceCollection { .. } => {}
        }
    }

    /// What the edit does to this content, in the past tense where it says more than the label,
    /// such as "Removed bahamas_08 (3 files stay on disk)".
    pub fn describe_effect(&self, content: &Content) -> String {
        let removed: Vec<&Sample> = match self {
            Edit::Remove { parent, at, count } => {
                let siblings = content
                    .dataset
                    .tortilla(parent)
                    .map(|tortilla| tortilla.samples.iter());
                siblings
                    .into_iter()
                    .flatten()
                    .skip(*at as usize)
                    .take(*count as usize)
                    .collect()
            }
            Edit::RemoveMany { samples } => samples
                .iter()
                .filter_map(|path| content.dataset.sample(path))
                .collect(),
            _ => Vec::new(),
        };
        let files: usize = removed.iter().map(|sample| local_files(sample)).sum();
        match (removed.as_slice(), files) {
            ([], _) => self.label(),
            ([one], 0) => tr!("Removed {name}", name = one.id),
            ([one], files) => tr_n!(
                files,
                "Removed {name} ({n} file stays on disk)",
                "Removed {name} ({n} files stay on disk)",
                name = one.id,
                n = files
            ),
            (many, 0) => tr_n!(
                many.len(),
                "Removed {n} sample",
                "Removed {n} samples",
                n = many.len()
            ),
            (many, files) => tr_n!(
                files,
                "Removed {count} samples ({n} file stays on disk)",
                "Removed {count} samples ({n} files stay on disk)",
                count = many.len(),
                n = files
            ),
        }
    }

    /// True for edits that only assign values to cells or collection fields, whose effect is
    /// visible to the user who typed them.
    pub fn only_sets(&self) -> bool {
        match self {
            Edit::SetValue { .. } | Edit::SetRow { .. } | Edit::SetCollection { .. } => true,
            Edit::Batch { edits, .. } => {
                let gives = |edit: &Edit| !matches!(edit, Edit::SetCollection { value: None, .. });
                edits.iter().all(Edit::only_sets) && edits.iter().any(gives)
            }
            _ => false,
        }
    }

    /// True for edits that may visit every sample of a large draft, and therefore run as a job.
    pub fn is_long(&self) -> bool {
        match self {
            Edit::RenameBy { .. } | Edit::Column { .. } | Edit::Relocate { .. } => true,
            Edit::RemoveMany { samples } | Edit::MoveMany { samples, .. } => samples.len() > 1000,
            Edit::RenameMany { names } => names.len() > 1000,
            Edit::Batch { edits, .. } => edits.len() > 1000 || edits.iter().any(Edit::is_long),
            _ => false,
        }
    }
}

fn visit_sample_paths(samples: &mut [Sample], visit: &mut dyn FnMut(&mut PathBuf)) {
    samples
        .iter_mut()
        .for_each(|sample| visit_payload_paths(&mut sample.payload, visit));
}

fn visit_payload_paths(payload: &mut Payload, visit: &mut dyn FnMut(&mut PathBuf)) {
    match payload {
        Payload::Asset { path, .. } => match path {
            AssetPath::File(path)
            | AssetPath::Range {
                container: path, ..
            } => visit_shared_path(path, visit),
            AssetPath::Packed(member) => {
                visit_shared_path(&mut Arc::make_mut(member).archive, visit);
            }
            AssetPath::Vsi(_) => {}
        },
        Payload::Folder(tortilla) => {
            visit_sample_paths(&mut Arc::make_mut(tortilla).samples, visit);
        }
        Payload::Bytes(_) => {}
    }
}

fn visit_shared_path(path: &mut Arc<Path>, visit: &mut dyn FnMut(&mut PathBuf)) {
    let mut visited = path.to_path_buf();
    visit(&mut visited);
    *path = visited.into();
}

/// Number of files of this machine that are whole samples at or below this one.
fn local_files(sample: &Sample) -> usize {
    match &sample.payload {
        Payload::Folder(children) => children.samples.iter().map(local_files).sum(),
        Payload::Asset {
            path: AssetPath::File(path),
            size,
            ..
        } => usize::from(*size > 0 && !is_remote(path)),
        _ => 0,
    }
}

/// "1 sample", "3 samples".
pub(super) fn format_count(count: usize, what: &str) -> String {
    if count == 1 {
        format!("1 {what}")
    } else {
        format!("{count} {what}s")
    }
}

/// Serde helper: an absent key and a null are distinct in a collection.
mod present {
    use serde::{Deserialize, Deserializer, Serialize, Serializer};
    use serde_json::Value as Json;

    pub fn serialize<S: Serializer>(
        value: &Option<Json>,
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        value.serialize(serializer)
    }

    pub fn deserialize<'de, D: Deserializer<'de>>(
        deserializer: D,
    ) -> Result<Option<Json>, D::Error> {
        Json::deserialize(deserializer).map(Some)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use arrow::datatypes::DataType;

    fn dataset() -> Dataset {
        let scene = |id: &str| {
            let parts = ["before", "after", "label"]
                .map(|part| Sample::new_file(part, format!("/{id}/{part}.tif"), 10));
            Sample::new_folder(id, Tortilla::new(parts.into()))
        };
        Dataset {
            collection: Collection::template(),
            root: Tortilla::new(vec![scene("a"), scene("b"), scene("c")]).into(),
        }
    }

    fn path(positions: &[u32]) -> NodePath {
        NodePath(positions.to_vec())
    }

    #[test]
    fn paths_of_files_are_visited_in_edits_of_edits_and_in_folders() {
        let folder =
            Sample::new_folder("a", Tortilla::new(vec![Sample::new_file("b", "b.tif", 1)]));
        let mut edit = Edit::Batch {
            label: String::new(),
            edits: vec![
                Edit::Insert {
                    parent: NodePath::root(),
                    at: 0,
                    samples: vec![folder],
                },
                Edit::ReplaceTray {
                    files: [Unplaced::file("c.tif", 1)].into(),
                },
            ],
        };
        edit.visit_paths(&mut |path| *path = Path::new("/data").join(&*path));
        let mut visited = Vec::new();
        edit.visit_paths(&mut |path| visited.push(path.clone()));
        assert_eq!(visited, ["/data/b.tif", "/data/c.tif"].map(PathBuf::from));
    }

    fn edits() -> Vec<Edit> {
        let cloud = FieldSpec::new("cloud_cover", DataType::Float64);
        vec![
            Edit::Insert {
                parent: path(&[1]),
                at: 3,
                samples: vec![Sample::new_file("extra", "/x", 1)],
            },
            Edit::Remove {
                parent: path(&[]),
                at: 0,
                count: 2,
            },
            Edit::Rename {
                sample: path(&[2, 1]),
                id: "renamed".into(),
            },
            Edit::Move {
                sample: path(&[0]),
                to: path(&[]),
                at: 2,
            },
            Edit::Move {
                sample: path(&[0]),
                to: path(&[2]),
                at: 1,
            },
            Edit::Move {
                sample: path(&[2, 2]),
                to: path(&[]),
                at: 0,
            },
            Edit::Move {
                sample: path(&[2, 2]),
                to: path(&[0]),
                at: 3,
            },
            Edit::AddField {
                tortilla: path(&[]),
                at: 0,
                field: cloud.clone(),
                values: vec![],
            },
            Edit::Batch {
                label: "Add and set".into(),
                edits: vec![
                    Edit::AddField {
                        tortilla: path(&[]),
                        at: 0,
                        field: cloud,
                        values: vec![Value::Float(1.0); 3],
                    },
                    Edit::SetValue {
                        sample: path(&[1]),
                        field: "cloud_cover".into(),
                        value: Value::Float(9.5),
                    },
                ],
            },
            Edit::RemoveMany {
                samples: vec![path(&[0, 1]), path(&[2])],
            },
            Edit::MoveMany {
                samples: vec![path(&[0, 1]), path(&[2])],
                to: path(&[1]),
                at: 2,
            },
            Edit::Reorder {
                parent: path(&[1]),
                order: vec![2, 0, 1],
            },
            Edit::Group {
                parent: path(&[0]),
                positions: vec![2, 0],
                id: "pair".into(),
            },
            Edit::Unnest { folder: path(&[1]) },
            Edit::RenameMany {
                names: vec![
                    (path(&[0, 0]), "x".into()),
                    (path(&[0]), "y".into()),
                    (path(&[0, 0]), "z".into()),
                ],
            },
            Edit::RenameBy {
                level: 1,
                under: None,
                find: "^b(.*)$".into(),
                replace: "$1".into(),
                regex: true,
            },
            Edit::Relocate {
                from: "/a".into(),
                to: "/moved/a".into(),
            },
            Edit::SetCollection {
                key: "title".into(),
                value: Some(Json::from("New")),
            },
            Edit::SetCollection {
                key: "description".into(),
                value: None,
            },
            Edit::ReplaceTortilla {
                tortilla: path(&[1]),
                with: Arc::default(),
            },
        ]
    }

    #[test]
    fn every_edit_undoes() {
        for edit in edits() {
            let mut changed = dataset();
            let inverse = edit.clone().apply(&mut changed).expect("applies");
            assert_ne!(changed, dataset(), "{edit:?} changed nothing");
            let again = inverse.apply(&mut changed).expect("undoes");
            assert_eq!(changed, dataset(), "{edit:?}");
            let mut redone = dataset();
            again.apply(&mut redone).expect("redoes");
            let mut expected = dataset();
            edit.apply(&mut expected).expect("applies");
            assert_eq!(redone, expected);
        }
    }

    #[test]
    fn an_edit_that_fails_changes_nothing() {
        let bad = [
            Edit::Insert {
                parent: path(&[9]),
                at: 0,
                samples: vec![],
            },
            Edit::Remove {
                parent: path(&[]),
                at: 2,
                count: 2,
            },
            Edit::Move {
                sample: path(&[0]),
                to: path(&[0]),
                at: 0,
            },
            Edit::SetValue {
                sample: path(&[0]),
                field: "none".into(),
                value: Value::Null,
            },
            Edit::Batch {
                label: "half".into(),
                edits: vec![
                    Edit::Rename {
                        sample: path(&[0]),
                        id: "z".into(),
                    },
                    Edit::Remove {
                        parent: path(&[]),
                        at: 7,
                        count: 1,
                    },
                ],
            },
        ];
        for edit in bad {
            let mut untouched = dataset();
            assert!(edit.clone().apply(&mut untouched).is_err(), "{edit:?}");
            assert_eq!(untouched, dataset(), "{edit:?}");
        }
    }

    #[test]
    fn edits_are_plain_data() {
        for edit in edits() {
            let text = serde_json::to_string(&edit).expect("writes");
            assert_eq!(
                serde_json::from_str::<Edit>(&text).expect("reads"),
                edit,
                "{text}"
            );
        }
    }
}
