//! Options of Write dataset as typed, and their conversion to the options of the command.

use std::collections::HashSet;
use std::path::{Path, PathBuf};

use crate::container::{BuildOptions, Format, OnDamage, PartOptions, parse_size};
use crate::gui::dialogs::operation::dataset_fields::OutputField;
use crate::gui::dropped_paths;
use crate::model::list_numbered_names;
use crate::ops::Depth;
use crate::table::{Compression, ParquetOptions};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WriteContainer {
    Zip,
    /// Several ZIPs and an index.
    Parts,
    Folder,
}

/// How the dataset is split into parts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PartSplit {
    /// By bytes of data.
    Size,
    /// By the values of a column of level 0.
    Column,
    None,
}

/// Options of the form, as typed.
#[derive(Debug)]
pub struct Choices {
    pub container: WriteContainer,
    pub output: OutputField,
    /// How the dataset is split into parts.
    pub split: PartSplit,
    /// Bytes of a part: `4GB`.
    pub size: String,
    /// The column to split by.
    pub column: String,
    /// Compression of the tables.
    pub compression: Compression,
    /// Compression level; empty for the default.
    pub level: String,
    /// Rows of a row group.
    pub rows: String,
    /// Write TACOLLECTION.json as well.
    pub collection_file: bool,
    /// Compare after writing.
    pub verify: bool,
    /// Depth of the comparison.
    pub depth: Depth,
    /// Paths that the draft reads from; never proposed.
    own: HashSet<PathBuf>,
}

impl Choices {
    /// Proposes a file named after the dataset's id, excluding paths that the draft reads from.
    pub fn new(folder: &Path, id: &str, own: HashSet<PathBuf>) -> Self {
        let name = propose_name(folder, if id.is_empty() { "dataset" } else { id }, &own);
        Self {
            container: WriteContainer::Zip,
            output: OutputField::new(folder.join(format!("{name}.tacozip")).display().to_string()),
            split: PartSplit::Size,
            size: "4GB".into(),
            column: String::new(),
            compression: Compression::default(),
            level: String::new(),
            rows: ParquetOptions::default().row_group_rows.to_string(),
            collection_file: true,
            verify: true,
            depth: Depth::default(),
            own,
        }
    }

    /// Moves the target into another folder.
    pub fn set_folder(&mut self, folder: &Path) {
        let path = PathBuf::from(&self.output.text);
        let name = path
            .file_name()
            .map(|name| name.to_string_lossy().into_owned())
            .unwrap_or_default();
        let (bare, ending) = match name.strip_suffix(".tacozip") {
            Some(bare) => (bare, ".tacozip"),
            None => (name.as_str(), ""),
        };
        let name = format!("{}{ending}", propose_name(folder, bare, &self.own));
        self.output.text = folder.join(name).display().to_string();
    }

    /// Changes the container, and the ending of the target with it.
    pub fn set_container(&mut self, container: WriteContainer) {
        let path = PathBuf::from(self.output.text.trim_end_matches('/'));
        let bare = if path.extension().is_some_and(|ending| ending == "tacozip") {
            path.with_extension("")
        } else {
            path
        };
        self.container = container;
        self.output.text = match container {
            WriteContainer::Zip => format!("{}.tacozip", bare.display()),
            _ => bare.display().to_string(),
        };
    }

    /// The options of the command, or why the input is invalid.
    pub fn options(&self) -> Result<BuildOptions, String> {
        let rows = self
            .rows
            .chars()
            .filter(|letter| !letter.is_whitespace())
            .collect::<String>();
        let level = self.level.trim();
        let parquet =
            ParquetOptions {
                compression: self.compression,
                level: match level {
                    "" => None,
                    level => Some(level.parse().map_err(|_| {
                        tr!("The compression level has to be a number.").to_owned()
                    })?),
                },
                row_group_rows: rows
                    .parse()
                    .map_err(|_| tr!("The row group has to be a number of rows.").to_owned())?,
                ..ParquetOptions::default()
            };
        parquet.check().map_err(|error| format!("{error}."))?;
        let parts = match self.container {
            WriteContainer::Parts => {
                let mut parts = PartOptions {
                    consolidate: vec![Format::Tacocat],
                    ..PartOptions::default()
                };
                if self.collection_file {
                    parts.consolidate.push(Format::Tacollection);
                }
                match self.split {
                    PartSplit::Size => {
                        parts.size_bytes =
                            Some(parse_size(&self.size).map_err(|error| format!("{error}."))?)
                    }
                    PartSplit::Column if self.column.is_empty() => {
                        return Err(tr!("Choose the column that the parts go by.").into());
                    }
                    PartSplit::Column => parts.group_by = vec![self.column.clone()],
                    PartSplit::None => {}
                }
                Some(parts)
            }
            _ => None,
        };
        let format = if self.container == WriteContainer::Folder {
            Format::Folder
        } else {
            Format::Zip
        };
        let target = dropped_paths::parse_path(&self.output.text);
        // Parts are named after a file in the chosen folder.
        let target = match self.container {
            WriteContainer::Parts => target.join(format!("{}.tacozip", name_of(&target))),
            _ => target,
        };
        Ok(BuildOptions {
            text_columns: false,
            align_blocks: false,
            target,
            format,
            parquet,
            overwrite: self.output.replace,
            parts,
            on_damage: OnDamage::Stop,
        })
    }
}

fn name_of(folder: &Path) -> String {
    folder
        .file_name()
        .map_or("dataset".into(), |name| name.to_string_lossy().into_owned())
}

/// The name, with a number appended if the draft reads from an archive or folder of that name.
fn propose_name(folder: &Path, name: &str, own: &HashSet<PathBuf>) -> String {
    let is_own = |name: &str| {
        own.contains(&folder.join(name)) || own.contains(&folder.join(format!("{name}.tacozip")))
    };
    list_numbered_names(name, "")
        .find(|name| !is_own(name))
        .unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_destination_follows_the_container() {
        let mut choices = Choices::new(Path::new("/data"), "peru-s2", HashSet::new());
        assert_eq!(
            Path::new(&choices.output.text),
            Path::new("/data/peru-s2.tacozip")
        );
        choices.set_container(WriteContainer::Folder);
        assert_eq!(
            choices.options().expect("is right").target,
            PathBuf::from("/data/peru-s2")
        );
        choices.set_container(WriteContainer::Parts);
        let options = choices.options().expect("is right");
        assert_eq!(
            options.target,
            PathBuf::from("/data/peru-s2/peru-s2.tacozip")
        );
        let parts = options.parts.expect("has parts");
        assert_eq!(
            (parts.size_bytes, parts.consolidate),
            (Some(4 << 30), vec![Format::Tacocat, Format::Tacollection])
        );
        choices.set_container(WriteContainer::Zip);
        choices.set_folder(Path::new("/mnt/out"));
        let options = choices.options().expect("is right");
        assert_eq!(
            (options.target, options.format),
            (PathBuf::from("/mnt/out/peru-s2.tacozip"), Format::Zip)
        );
    }

    #[test]
    fn what_the_draft_reads_is_never_proposed() {
        let own = [
            "/data/peru-s2.tacozip",
            "/data/peru-s2-2",
            "/mnt/peru-s2-3.tacozip",
            "/data",
        ]
        .map(PathBuf::from);
        let mut choices = Choices::new(Path::new("/data"), "peru-s2", own.into());
        assert_eq!(
            Path::new(&choices.output.text),
            Path::new("/data/peru-s2-3.tacozip")
        );
        choices.set_folder(Path::new("/mnt"));
        assert_eq!(
            Path::new(&choices.output.text),
            Path::new("/mnt/peru-s2-3-2.tacozip")
        );
    }

    #[test]
    fn what_is_typed_wrong_is_told() {
        let mut choices = Choices::new(Path::new("/data"), "x", HashSet::new());
        choices.level = "99".into();
        assert!(choices.options().is_err());
        choices.level.clear();
        choices.rows = "122 880".into();
        assert_eq!(
            choices
                .options()
                .expect("spaces group digits")
                .parquet
                .row_group_rows,
            122_880
        );
        choices.set_container(WriteContainer::Parts);
        choices.size = "big".into();
        assert!(choices.options().is_err());
        choices.split = PartSplit::Column;
        assert!(
            choices
                .options()
                .expect_err("which column")
                .contains("column")
        );
    }
}
