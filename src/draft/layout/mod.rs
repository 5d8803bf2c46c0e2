//! Recognises from paths alone how the files of a published dataset belong together: which part of
//! a path names the root, which the position in it, which a column such as the split. A
//! [`LayoutReading`] states this; it is recognised here, chosen by the user, or read from a file.
//! No IO.

mod arrange;
mod parsed;
mod question;
mod recognise;
mod refusal;
#[cfg(test)]
mod tests;
mod words;

pub use arrange::{ArrangedFiles, ArrangedPosition, ArrangedRoot, RenamedId, arrange_files};
pub use question::{LayoutAlternative, LayoutQuestion, LayoutWay, UnclearLayout};
pub use recognise::{folder_layout, folders_are_scenes, recognise_layout, stem_layout};
pub use refusal::{LayoutConflict, LayoutRefusal, SparseArrangement};
pub use words::{find_list_family, find_split_in_name};

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::error::{Error, Result};

/// What the name of a folder of one depth gives.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum FolderRole {
    /// Nothing.
    Ignored,
    /// The part of the split: a column of the roots.
    Split,
    /// The position in the root.
    Position,
    /// The position, and behind it a number that is a part of the root: `s1_12`.
    NumberedPosition,
    /// The root, or a part of its id.
    Root,
    /// A part of the root, and a column of this name.
    Column(String),
    /// Nothing; files below folders of other names are left out.
    Named(String),
}

/// What the stem of a file gives.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum NameRole {
    /// The root.
    Root,
    /// The root, and the position before or after it: `0001_mask`.
    RootAndPosition,
    /// The position.
    Position,
    /// The root and a date: the positions of a root are its dates in order.
    Date,
}

/// How paths are read.
#[derive(Clone, Debug, Default, PartialEq, Eq, JsonSchema, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct LayoutReading {
    /// By depth, below the folder of the dataset.
    pub folders: Vec<FolderRole>,
    /// By number of folders above the file. Files of other depths are left out.
    pub names: BTreeMap<usize, NameRole>,
}

impl LayoutReading {
    /// Reads a pattern. Its folders are `{root}`, `{position}`, `{split}`, `{COLUMN}`, `*` or
    /// names; its file is `{root}`, `{root}_{position}`, `{position}` or `{date}`, with or without
    /// a suffix such as `.tif`.
    ///
    /// # Errors
    /// [`crate::error::Kind::Usage`] for a pattern of another form.
    pub fn of_pattern(pattern: &str) -> Result<Self> {
        let mut parts: Vec<&str> = pattern.split('/').collect();
        let file = parts.pop().unwrap_or_default();
        let stem = file
            .rsplit_once("}.")
            .map_or(file.to_owned(), |(stem, _)| format!("{stem}}}"));
        let name = match stem.as_str() {
            "{root}" => NameRole::Root,
            "{root}_{position}" | "{position}_{root}" => NameRole::RootAndPosition,
            "{position}" => NameRole::Position,
            "{date}" | "{root}_{date}" => NameRole::Date,
            _ => return Err(unknown_layout_part_error(file)),
        };
        let mut folders = Vec::with_capacity(parts.len());
        for part in parts {
            let inner = part
                .strip_prefix('{')
                .and_then(|rest| rest.strip_suffix('}'));
            folders.push(match (part, inner) {
                ("*", _) => FolderRole::Ignored,
                (_, Some("root")) => FolderRole::Root,
                (_, Some("position")) => FolderRole::Position,
                (_, Some("split")) => FolderRole::Split,
                (_, Some(column)) if crate::model::check_field_name(column).is_ok() => {
                    FolderRole::Column(column.to_owned())
                }
                ("", _) => return Err(unknown_layout_part_error("an empty name")),
                (name, None) if !name.contains(['{', '}', '*']) => {
                    FolderRole::Named(name.to_owned())
                }
                _ => return Err(unknown_layout_part_error(part)),
            });
        }
        let names = BTreeMap::from([(folders.len(), name)]);
        Ok(Self { folders, names })
    }

    /// The pattern of files below `depth` folders. It does not distinguish
    /// [`FolderRole::NumberedPosition`] from [`FolderRole::Position`].
    pub fn pattern(&self, depth: usize) -> String {
        let mut text = String::new();
        for role in self.folders.iter().take(depth) {
            let part = match role {
                FolderRole::Ignored => "*".to_owned(),
                FolderRole::Split => "{split}".to_owned(),
                FolderRole::Position | FolderRole::NumberedPosition => "{position}".to_owned(),
                FolderRole::Root => "{root}".to_owned(),
                FolderRole::Column(name) => format!("{{{name}}}"),
                FolderRole::Named(name) => name.clone(),
            };
            text += &part;
            text.push('/');
        }
        text + match self.names.get(&depth) {
            Some(NameRole::Root) | None => "{root}",
            Some(NameRole::RootAndPosition) => "{root}_{position}",
            Some(NameRole::Position) => "{position}",
            Some(NameRole::Date) => "{date}",
        }
    }

    /// The patterns of all depths.
    pub fn patterns(&self) -> Vec<String> {
        self.names
            .keys()
            .map(|&depth| self.pattern(depth))
            .collect()
    }

    pub(super) fn has_position_folder(&self) -> bool {
        self.folders
            .iter()
            .any(|role| matches!(role, FolderRole::Position | FolderRole::NumberedPosition))
    }
}

fn unknown_layout_part_error(part: &str) -> Error {
    Error::usage(format!("{part} is not a part of a layout"))
        .hint(
            "a layout is auto, folders, stems, a .json file, or a pattern such as \
            {split}/{position}/{root}",
        )
        .hint(
            "folders are {root}, {position}, {split}, {COLUMN}, * or a name; files \
            {root}, {root}_{position}, {position} or {date}",
        )
}
