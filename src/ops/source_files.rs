//! The files of a source, a folder here or on a server, or an archive, without what is no data.

use std::collections::{BTreeMap, HashSet};
use std::path::{Path, PathBuf};

use super::archive::{Prefix, files_of_archive, files_of_server, is_archive};
use super::found_file::{FoundFile, check_folder_depth, is_data, is_excluded, reason_left_out};
use super::shards::shards_among;
use crate::error::{IoContext, Result};
use crate::files;
use crate::folder_archive::{FolderArchive, archive_name, is_store, warn_of_stores};
use crate::jobs::JobContext;
use crate::model::{AssetPath, Modified, in_nfc, is_remote};
use crate::raster::NamesBeside;

/// True for a source whose files are read: a folder of this machine or of a server, or an archive
/// that is no dataset.
pub(super) fn has_files(source: &Path) -> bool {
    source.is_dir() || is_remote(source) || is_archive(source)
}

/// The files of a folder, an archive or a folder of a server in order of their paths, and what is
/// left out with the reason.
///
/// # Errors
/// When a folder or an archive can't be read.
pub(super) fn find_files(
    source: &Path,
    exclude: &[String],
    ctx: &JobContext,
) -> Result<(Vec<FoundFile>, Vec<String>)> {
    ctx.stage(tr!("Looking at the files"), None);
    if is_remote(source) && !is_archive(source) {
        return files_of_server(source, exclude, ctx);
    }
    if !source.is_dir() {
        return files_of_archive(source, Prefix::Stripped, exclude, ctx);
    }
    let mut walk = FolderWalk {
        exclude,
        files: Vec::new(),
        left_out: Vec::new(),
        stores: Vec::new(),
        has_shards: false,
        ctx,
    };
    if is_store(source) {
        let name = source.file_name().unwrap_or_default().to_string_lossy();
        walk.store(source, &name)?;
    } else {
        walk.folder(source, "", 0)?;
    }
    warn_of_stores(&walk.stores, ctx);
    if walk.has_shards {
        walk.files
            .sort_by(|a, b| a.below.split('/').cmp(b.below.split('/')));
    }
    Ok((walk.files, walk.left_out))
}

/// The path of a file below the source, in a folder `above`.
fn path_below(above: &str, name: &str) -> String {
    let composed = in_nfc(name);
    if above.is_empty() {
        composed.into_owned()
    } else {
        format!("{above}/{composed}")
    }
}

/// The files of one shard of WebDataset.
struct Shard {
    /// The folder that its files are in; empty for that of the shard.
    family: String,
    files: Vec<FoundFile>,
    left_out: Vec<String>,
}

struct FolderWalk<'a> {
    exclude: &'a [String],
    files: Vec<FoundFile>,
    left_out: Vec<String>,
    /// Paths of the files that Zarr stores become.
    stores: Vec<String>,
    /// Files of shards are among the files.
    has_shards: bool,
    ctx: &'a JobContext,
}

impl FolderWalk<'_> {
    fn folder(&mut self, folder: &Path, above: &str, depth: usize) -> Result<()> {
        self.ctx.check()?;
        check_folder_depth(folder, depth)?;
        let mut names = Vec::new();
        for entry in std::fs::read_dir(folder).io_at("read the folder", folder)? {
            names.push(entry.io_at("read the folder", folder)?.file_name());
        }
        names.sort();
        let beside: NamesBeside = names.iter().filter_map(|name| name.to_str()).collect();
        let known = names.iter().filter_map(|name| name.to_str());
        let mut shards = self.read_shards(folder, above, known.filter(|name| is_data(name)))?;
        for name in &names {
            let path = folder.join(name);
            let Some(text) = name.to_str() else {
                self.left_out
                    .push(format!("{}: its name is not Unicode", path.display()));
                continue;
            };
            let below = path_below(above, text);
            match reason_left_out(text, &below, &beside, self.exclude) {
                Some(reason) => self.left_out.push(reason),
                None => match shards.remove(text) {
                    Some(shard) => self.add_shard(shard, &path, above),
                    None => self.entry(path, below, depth)?,
                },
            }
        }
        Ok(())
    }

    fn entry(&mut self, path: PathBuf, below: String, depth: usize) -> Result<()> {
        let meta = std::fs::metadata(&path).io_at("read", &path)?;
        if meta.is_dir() && is_store(&path) {
            return self.store(&path, &below);
        }
        if meta.is_dir() {
            return self.folder(&path, &below, depth + 1);
        }
        if !meta.is_file() {
            let what = files::special_file_type(meta.file_type()).unwrap_or("a special file");
            self.left_out.push(format!(
                "{below}: it is {what}, neither a file nor a folder"
            ));
            return Ok(());
        }
        self.ctx.step(1);
        self.files.push(FoundFile {
            asset: AssetPath::file(path),
            below,
            size: meta.len(),
            modified: Modified::of_file(&meta),
        });
        Ok(())
    }

    /// The shards among the names of a folder, by name, but for those that are excluded. None, with
    /// a warning, where one can't be read, or two have a file at one path: then each archive is a
    /// sample.
    fn read_shards<'a>(
        &self,
        folder: &Path,
        above: &str,
        names: impl Iterator<Item = &'a str>,
    ) -> Result<BTreeMap<&'a str, Shard>> {
        let (mut found, mut paths) = (BTreeMap::new(), HashSet::new());
        for (name, family) in shards_among(names) {
            let path = folder.join(name);
            if is_excluded(&path_below(above, name), self.exclude) || !is_archive(&path) {
                continue;
            }
            let (files, left_out) =
                match files_of_archive(&path, Prefix::Kept, self.exclude, self.ctx) {
                    Err(error) if error.is_cancelled() => return Err(error),
                    Err(error) => {
                        self.warn_of_shards(&path, &error.to_string());
                        return Ok(BTreeMap::new());
                    }
                    Ok(read) => read,
                };
            for file in &files {
                if !paths.insert((family, file.below.clone())) {
                    let what = format!("another shard has the file {}, too", file.below);
                    self.warn_of_shards(&path, &what);
                    return Ok(BTreeMap::new());
                }
            }
            let shard = Shard {
                family: family.to_owned(),
                files,
                left_out,
            };
            found.insert(name, shard);
        }
        Ok(found)
    }

    fn warn_of_shards(&self, path: &Path, reason: &str) {
        self.ctx.warn(format!(
            "{}: {reason}; so each archive of its folder is one file of the dataset, as it is",
            path.display()
        ));
    }

    /// Adds the files of a shard as if they were in its folder, or in the one of its family.
    fn add_shard(&mut self, shard: Shard, path: &Path, above: &str) {
        self.has_shards = true;
        let left_out = shard.left_out.into_iter();
        self.left_out
            .extend(left_out.map(|reason| format!("{}: {reason}", path.display())));
        for file in shard.files {
            let folders = [above, shard.family.as_str(), file.below.as_str()].into_iter();
            let parts: Vec<&str> = folders.filter(|part| !part.is_empty()).collect();
            let below = parts.join("/");
            if is_excluded(&below, self.exclude) {
                self.left_out.push(format!("{below}: excluded"));
            } else {
                self.files.push(FoundFile { below, ..file });
            }
        }
    }

    fn store(&mut self, path: &Path, below: &str) -> Result<()> {
        let member = FolderArchive::list(path)?.member();
        let below = archive_name(below);
        self.ctx.step(1);
        self.stores.push(below.clone());
        self.files.push(FoundFile {
            below,
            size: member.size,
            modified: member.stamp.modified,
            asset: AssetPath::Packed(member.into()),
        });
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A tar with one file of 4096 bytes.
    fn tar_with(name: &str) -> Vec<u8> {
        let mut tar = tar::Builder::new(Vec::new());
        let mut header = tar::Header::new_gnu();
        header.set_size(4096);
        tar.append_data(&mut header, name, &[7; 4096][..])
            .expect("packs");
        tar.into_inner().expect("packs")
    }

    fn paths_found(folder: &Path, exclude: &[String], ctx: &JobContext) -> Vec<String> {
        let (files, _) = find_files(folder, exclude, ctx).expect("reads");
        files.into_iter().map(|file| file.below).collect()
    }

    #[test]
    fn an_excluded_shard_is_not_read_and_one_that_cannot_be_read_is_named() {
        let folder = tempfile::tempdir().expect("a folder");
        for shard in 0..3 {
            let mut tar = tar_with(&format!("{shard}a.npy"));
            if shard == 2 {
                tar.truncate(1024);
            }
            let path = folder.path().join(format!("{shard:06}.tar"));
            std::fs::write(path, tar).expect("writes");
        }
        let ctx = JobContext::default();
        let exclude = ["000002.tar".to_owned()];
        let found = paths_found(folder.path(), &exclude, &ctx);
        assert_eq!(found, ["0a.npy", "1a.npy"]);
        assert_eq!(ctx.warnings(), Vec::<String>::new());
        let found = paths_found(folder.path(), &[], &ctx);
        assert_eq!(found, ["000000.tar", "000001.tar", "000002.tar"]);
        let warnings = ctx.warnings();
        assert!(warnings[0].contains("000002.tar"), "{warnings:?}");
    }
}
