//! Opens a FOLDER. Paths are built from the ids of the tree, never from a column, so they cannot
//! lead outside DATA/.

use std::fs::Metadata;
use std::path::{Path, PathBuf};

use crate::container::table_files::{TableFiles, read_tables};
use crate::container::{
    ByteSource, ContainerInfo, ContainerReader, Format, LevelSet, OpeningFacts, Physical,
    RowSource, asset_size,
};
use crate::error::{Error, Result};
use crate::files::Root;
use crate::jobs::JobContext;
use crate::model::{AssetPath, META_NAME, Modified, is_remote, place_below, safe_relative};
use crate::remote::{FIRST_OF_SAMPLE, RemoteFile, forget_below};
use crate::table::{LevelTable, TableHead};

/// An opened FOLDER.
pub struct FolderReader {
    opening: OpeningFacts,
    root: Root,
}

impl FolderReader {
    /// Opens the folder with its level tables up to the first missing one, as the Python reader
    /// does.
    ///
    /// # Errors
    /// When level 0 is missing, or a level table cannot be read.
    pub fn open(path: &Path) -> Result<Self> {
        // Remote samples may have changed since they were cached; the tables are revalidated when
        // opened.
        forget_below(&place_below(path, "DATA"));
        let TableFiles {
            heads,
            collection,
            version,
        } = read_tables(path, "METADATA/")?;
        let info = ContainerInfo {
            format: Format::Folder,
            path: path.to_owned(),
            size_bytes: None,
        };
        let opening = OpeningFacts::new(info, LevelSet::new(heads), collection, Vec::new())
            .of_version(version);
        Ok(Self {
            opening,
            root: Root::new(path),
        })
    }

    /// Path relative to the dataset's folder: of a FILE its data, of a FOLDER its `__meta__`.
    ///
    /// # Errors
    /// [`Kind::Usage`](crate::error::Kind::Usage) for a row that does not exist,
    /// [`Kind::Format`](crate::error::Kind::Format) for ids that lead outside the dataset; when
    /// level tables can't be read.
    pub(super) fn name_of(&self, level: usize, row: u32) -> Result<String> {
        let tree = self.opening.levels.skeleton(&JobContext::default())?;
        let table = tree
            .levels
            .get(level)
            .filter(|table| (row as usize) < table.len());
        let table = table.ok_or_else(|| Error::usage(format!("level{level} has no row {row}")))?;
        let ids = tree.path(level, row);
        let path = ids.to_archive();
        if !safe_relative(&path) || ids.0.len() != level + 1 {
            return Err(
                Error::format("the ids of this sample lead outside the dataset")
                    .at_place(path.escape_default()),
            );
        }
        Ok(if table.folder[row as usize] {
            format!("DATA/{path}/{META_NAME}")
        } else {
            format!("DATA/{path}")
        })
    }

    /// The root folder, which resolves members and refuses paths outside it.
    pub fn root(&self) -> &Root {
        &self.root
    }

    fn member_path(&self, name: &str) -> PathBuf {
        let folder = &self.opening.info.path;
        if is_remote(folder) {
            place_below(folder, name)
        } else {
            self.root.path(name)
        }
    }

    /// Path and file attributes of a local sample. Refuses a symbolic link that leads out of the
    /// dataset, so that no file from elsewhere is copied into an output.
    fn local(&self, level: usize, row: u32) -> Result<(PathBuf, Metadata)> {
        let name = self.name_of(level, row)?;
        let file = self.member_path(&name);
        match self.root.file(&name) {
            Ok(meta) => Ok((file, meta)),
            Err(why) => Err(why.into_error("read the sample", &file)),
        }
    }
}

impl ContainerReader for FolderReader {
    fn opening(&self) -> &OpeningFacts {
        &self.opening
    }

    fn local_meta(&self, level: usize, row: u32) -> Result<LevelTable> {
        let (asset, _) = self.asset(level, row)?;
        let file = ByteSource::open_for(&asset)?;
        TableHead::read(file.parquet(0, file.size_bytes())?)?.decode(&JobContext::default())
    }

    fn prefetch_assets(&self, level: usize, rows: &[u32]) -> Result<()> {
        if !is_remote(&self.opening.info.path) {
            return Ok(());
        }
        // Failures are ignored here: the read of the sample reports them with its path.
        let files: Vec<PathBuf> = rows
            .iter()
            .filter_map(|&row| Some(self.member_path(&self.name_of(level, row).ok()?)))
            .collect();
        RemoteFile::open_all(
            &files.iter().map(PathBuf::as_path).collect::<Vec<_>>(),
            FIRST_OF_SAMPLE,
        )
        .map(drop)
    }

    fn asset(&self, level: usize, row: u32) -> Result<(AssetPath, u64)> {
        if is_remote(&self.opening.info.path) {
            let asset = AssetPath::file(self.member_path(&self.name_of(level, row)?));
            let size = asset_size(&asset)?;
            return Ok((asset, size));
        }
        let (file, meta) = self.local(level, row)?;
        Ok((AssetPath::file(file), meta.len()))
    }

    fn source(&self, level: usize, row: u32) -> Result<RowSource> {
        if is_remote(&self.opening.info.path) {
            let (path, size) = self.asset(level, row)?;
            return Ok(RowSource::asset(path, size));
        }
        let (file, meta) = self.local(level, row)?;
        Ok(RowSource::Asset {
            path: AssetPath::file(file),
            size: meta.len(),
            modified: Modified::of_file(&meta),
        })
    }

    fn physical(&self) -> Physical<'_> {
        Physical::Folder(self)
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::container::{Assembly, BuildOptions, OnDamage, write};
    use crate::error::Kind;
    use crate::model::{Collection, Dataset, Sample, Tortilla};
    use crate::table::ParquetOptions;

    fn options(target: &Path, format: Format) -> BuildOptions {
        let (target, parquet, on_damage) =
            (target.to_owned(), ParquetOptions::default(), OnDamage::Stop);
        BuildOptions {
            target,
            format,
            parquet,
            overwrite: false,
            parts: None,
            on_damage,
            text_columns: false,
            align_blocks: false,
        }
    }

    /// A FOLDER of two FILEs of this byte.
    fn folder_of(place: &Path, name: &str, byte: u8) -> PathBuf {
        let source = place.join(format!("{name}.bin"));
        std::fs::write(&source, [byte; 100]).expect("writes");
        let samples = ["a", "b"]
            .map(|id| Sample::new_file(id, source.to_str().expect("is Unicode"), 100))
            .to_vec();
        let dataset = Dataset {
            collection: Collection::template(),
            root: Tortilla::new(samples).into(),
        };
        let ctx = JobContext::default();
        let assembly = Assembly::of_dataset(&dataset, &ctx).expect("lays out");
        let target = place.join(name);
        write(&assembly, &options(&target, Format::Folder), &ctx).expect("writes");
        // Later changes get other times.
        std::thread::sleep(Duration::from_millis(20));
        target
    }

    /// `one` is put aside, and `other` in its place.
    fn replace(one: &Path, other: &Path) {
        std::fs::rename(one, one.with_extension("old"))
            .and_then(|()| std::fs::rename(other, one))
            .expect("renames");
    }

    fn put_back(one: &Path, other: &Path) {
        std::fs::rename(one, other)
            .and_then(|()| std::fs::rename(one.with_extension("old"), one))
            .expect("renames");
    }

    #[test]
    fn a_folder_that_is_replaced_is_refused_when_it_is_laid_out_and_when_it_is_written() {
        let place = tempfile::tempdir().expect("a folder");
        let ctx = JobContext::default();
        let (one, other) = (
            folder_of(place.path(), "one", 1),
            folder_of(place.path(), "other", 2),
        );
        let reader = FolderReader::open(&one).expect("opens");
        replace(&one, &other);
        assert_eq!(
            Assembly::of_reader(&reader, &ctx)
                .expect_err("was replaced")
                .kind(),
            Kind::Changed
        );
        assert_eq!(
            reader.expect_unchanged().expect_err("was replaced").kind(),
            Kind::Changed
        );
        put_back(&one, &other);
        if cfg!(unix) {
            assert_eq!(
                reader
                    .expect_unchanged()
                    .expect_err("was replaced for a while")
                    .kind(),
                Kind::Changed
            );
        }
        for (format, name) in [(Format::Folder, "made"), (Format::Zip, "made.tacozip")] {
            let reader = FolderReader::open(&one).expect("opens");
            let assembly = Assembly::of_reader(&reader, &ctx).expect("lays out");
            let target = place.path().join(name);
            replace(&one, &other);
            let error =
                write(&assembly, &options(&target, format), &ctx).expect_err("was replaced");
            assert!(
                error.kind() == Kind::Changed && !target.exists(),
                "{}",
                error.report()
            );
            // Gone, as after `--overwrite`.
            let aside = place.path().join("aside");
            std::fs::rename(&one, &aside).expect("renames");
            let error = write(&assembly, &options(&target, format), &ctx).expect_err("is gone");
            assert!(
                error.kind() == Kind::Changed && !target.exists(),
                "{}",
                error.report()
            );
            std::fs::rename(&aside, &one).expect("renames");
            put_back(&one, &other);
        }
    }

    #[test]
    fn a_table_that_is_changed_in_place_is_noticed_and_what_is_not_of_the_dataset_is_not() {
        let place = tempfile::tempdir().expect("a folder");
        let ctx = JobContext::default();
        let one = folder_of(place.path(), "one", 1);
        let reader = FolderReader::open(&one).expect("opens");
        let assembly = Assembly::of_reader(&reader, &ctx).expect("lays out");
        std::fs::write(one.join("notes.txt"), "mine").expect("writes");
        std::fs::hard_link(one.join("COLLECTION.json"), place.path().join("snapshot"))
            .expect("a second name");
        reader.expect_unchanged().expect("is the same");
        write(
            &assembly,
            &options(&place.path().join("made"), Format::Folder),
            &ctx,
        )
        .expect("is the same");
        for name in ["COLLECTION.json", "METADATA/level0.parquet"] {
            let path = one.join(name);
            let reader = FolderReader::open(&one).expect("opens");
            let (bytes, time) = (
                std::fs::read(&path).expect("reads"),
                std::fs::metadata(&path).and_then(|meta| meta.modified()),
            );
            std::thread::sleep(Duration::from_millis(20));
            std::fs::write(&path, &bytes).expect("writes");
            // Programs that synchronise folders set the times of what they copy.
            if cfg!(unix) {
                let file = std::fs::File::options()
                    .write(true)
                    .open(&path)
                    .expect("opens");
                file.set_modified(time.expect("has a time")).expect("dates");
            }
            assert_eq!(
                reader.expect_unchanged().expect_err("was written").kind(),
                Kind::Changed,
                "{name}"
            );
        }
    }
}
