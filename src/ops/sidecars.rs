//! Sidecars of a draft's rasters become samples of their own, or their content is written into
//! copies of their rasters. Leaving them changes nothing: the dataset has the rasters alone. A
//! raster of several files, which can't be read without the others, becomes one GeoTIFF in place of
//! all of them, and a vector layer of several files, such as a Shapefile, one FlatGeobuf.

use std::collections::HashSet;
use std::path::{Path, PathBuf};

use super::found_file::strip_ending;
use crate::container::PartialFolder;
use crate::draft::Edit;
use crate::error::{Error, IoContext, Result};
use crate::jobs::JobContext;
use crate::model::{
    AssetPath, Dataset, DistinctFileNames, NodePath, Payload, Sample, Tortilla, is_remote,
    list_numbered_names, portable_name,
};
use crate::raster::{
    FolderFiles, RasterSource, Sidecar, TogOptions, claims_raster, sidecars_among, sidecars_in,
    write_flatgeobuf, write_tog,
};

/// How sidecars are handled ([`crate::raster::Sidecar`]).
#[derive(
    Clone,
    Copy,
    Debug,
    Default,
    PartialEq,
    Eq,
    serde::Serialize,
    serde::Deserialize,
    schemars::JsonSchema,
)]
#[serde(rename_all = "kebab-case")]
pub enum SidecarHandling {
    /// They are left out, and listed.
    #[default]
    Leave,
    /// They become samples of their own.
    Pack,
    /// They are left out; their content is written into copies of their rasters.
    BurnIn,
}

/// What a file with others beside it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FilesKind {
    /// A raster with sidecars.
    Raster,
    /// A raster of several files: its copy is a GeoTIFF with a name of its own, which takes the
    /// place of all of them.
    RasterSet,
    /// A vector layer of several files: its copy is a FlatGeobuf, likewise.
    VectorSet,
}

impl FilesKind {
    /// The ending of the copy that takes the place of several files.
    fn copy_ending(self) -> Option<&'static str> {
        match self {
            FilesKind::Raster => None,
            FilesKind::RasterSet => Some("tif"),
            FilesKind::VectorSet => Some("fgb"),
        }
    }
}

/// A raster of a draft, with sidecars beside it that the draft does not have, or with the other
/// files of its format.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RasterWithSidecars {
    /// The sample.
    pub sample: NodePath,
    /// Ids from the root, joined by `/`.
    pub path: String,
    /// The raster's file.
    pub file: PathBuf,
    /// Its sidecars, by kind and name.
    pub sidecars: Vec<(PathBuf, Sidecar)>,
    /// Ids of the sidecars as samples: they begin as the id of the raster does, so that readers
    /// pair them.
    pub ids: Vec<String>,
    /// What it is with them.
    pub kind: FilesKind,
}

impl RasterWithSidecars {
    /// True when a copy with what the sidecars say can be written: a GeoTIFF, or a raster or vector
    /// layer of several files.
    pub fn can_be_copied(&self) -> bool {
        self.kind != FilesKind::Raster
            || self.file.extension().is_some_and(|ending| {
                ending
                    .to_string_lossy()
                    .to_ascii_lowercase()
                    .starts_with("tif")
            })
    }
}

/// The rasters of a draft that have sidecars beside their files, in the order of the tree. Sidecars
/// that are samples are left out.
///
/// # Errors
/// When the job is cancelled. A folder that can't be read has no sidecars; other checks report its
/// files.
pub fn rasters_with_sidecars(
    dataset: &Dataset,
    ctx: &JobContext,
) -> Result<Vec<RasterWithSidecars>> {
    ctx.stage(tr!("Looking for sidecars"), None);
    let mut search = SidecarSearch {
        packed: HashSet::new(),
        folder: None,
        others: None,
        files_of_sets: HashSet::new(),
        found: Vec::new(),
        ctx,
    };
    search.remember_files(&dataset.root);
    search.visit_tortilla(&dataset.root, &mut Vec::new(), &mut Vec::new())?;
    Ok(search.found)
}

struct SidecarSearch<'a> {
    /// Files that are samples.
    packed: HashSet<&'a Path>,
    /// The folder of the last raster, with its sidecars. Siblings mostly share one.
    folder: Option<(&'a Path, Vec<String>)>,
    /// All files of the folder of the last file without the name of a raster.
    others: Option<(&'a Path, FolderFiles)>,
    /// Files of rasters that were found, besides the first of each.
    files_of_sets: HashSet<PathBuf>,
    found: Vec<RasterWithSidecars>,
    ctx: &'a JobContext,
}

fn local_path(sample: &Sample) -> Option<&Path> {
    match &sample.payload {
        Payload::Asset {
            path: AssetPath::File(path),
            ..
        } if !is_remote(path) => Some(path),
        _ => None,
    }
}

impl<'a> SidecarSearch<'a> {
    fn remember_files(&mut self, tortilla: &'a Tortilla) {
        for sample in &tortilla.samples {
            self.packed.extend(local_path(sample));
            if let Some(children) = sample.children() {
                self.remember_files(children);
            }
        }
    }

    fn visit_tortilla(
        &mut self,
        tortilla: &'a Tortilla,
        node: &mut Vec<u32>,
        ids: &mut Vec<&'a str>,
    ) -> Result<()> {
        for (position, sample) in (0..).zip(&tortilla.samples) {
            self.ctx.check()?;
            node.push(position);
            ids.push(&sample.id);
            match sample.children() {
                Some(children) => self.visit_tortilla(children, node, ids)?,
                None => self.visit_file(sample, node, ids)?,
            }
            node.pop();
            ids.pop();
        }
        Ok(())
    }

    fn visit_file(&mut self, sample: &'a Sample, node: &[u32], ids: &[&str]) -> Result<()> {
        let Some(file) = local_path(sample) else {
            return Ok(());
        };
        let (Some(folder), Some(name)) = (
            file.parent(),
            file.file_name().and_then(|name| name.to_str()),
        ) else {
            return Ok(());
        };
        if !claims_raster(name) {
            return self.visit_file_set(sample, (file, folder, name), node, ids);
        }
        if self
            .folder
            .as_ref()
            .is_none_or(|(known, _)| *known != folder)
        {
            self.folder = Some((folder, sidecars_in(folder)));
        }
        let beside = self
            .folder
            .iter()
            .flat_map(|(_, names)| names.iter().map(String::as_str));
        let unpacked = sidecars_among(name, beside)
            .into_iter()
            .filter(|(name, _)| !self.packed.contains(folder.join(name).as_path()));
        let unpacked: Vec<(&str, Sidecar)> = unpacked.collect();
        if unpacked.is_empty() {
            return Ok(());
        }
        let found = RasterWithSidecars {
            sample: NodePath(node.to_vec()),
            path: ids.join("/"),
            file: file.to_owned(),
            ids: unpacked
                .iter()
                .map(|(sidecar, _)| sidecar_id(sidecar, name, &sample.id))
                .collect(),
            sidecars: unpacked
                .iter()
                .map(|(name, kind)| (folder.join(name), *kind))
                .collect(),
            kind: FilesKind::Raster,
        };
        self.found.push(found);
        Ok(())
    }

    /// Adds a file without the name of a raster that is a raster or layer together with others.
    fn visit_file_set(
        &mut self,
        sample: &'a Sample,
        (file, folder, name): (&'a Path, &'a Path, &str),
        node: &[u32],
        ids: &[&str],
    ) -> Result<()> {
        if self.files_of_sets.contains(file) {
            return Ok(());
        }
        if self
            .others
            .as_ref()
            .is_none_or(|(known, _)| *known != folder)
        {
            self.others = Some((folder, FolderFiles::from_folder(folder)));
        }
        let Some((_, files)) = &self.others else {
            return Ok(());
        };
        let set = match files.file_set(name, self.ctx) {
            Err(error) if error.is_cancelled() => return Err(error),
            // Other checks report files that can't be read.
            outcome => outcome.ok().flatten(),
        };
        let Some(set) = set.filter(|set| set.needs_others || !set.info.is_vector()) else {
            return Ok(());
        };
        let others = set
            .others
            .iter()
            .filter(|name| set.needs_others || !self.packed.contains(folder.join(name).as_path()));
        let kind = if set.needs_others {
            Some(Sidecar::Part)
        } else {
            set.lost.first().copied()
        };
        let sidecars: Vec<(PathBuf, Sidecar)> = others
            .filter_map(|name| Some((folder.join(name), kind?)))
            .collect();
        if sidecars.is_empty() {
            return Ok(());
        }
        self.files_of_sets
            .extend(sidecars.iter().map(|(path, _)| path.clone()));
        let named = |(path, _): &(PathBuf, Sidecar)| {
            Some(sidecar_id(path.file_name()?.to_str()?, name, &sample.id))
        };
        self.found.push(RasterWithSidecars {
            sample: NodePath(node.to_vec()),
            path: ids.join("/"),
            file: file.to_owned(),
            ids: sidecars.iter().filter_map(named).collect(),
            sidecars,
            kind: if set.info.is_vector() {
                FilesKind::VectorSet
            } else {
                FilesKind::RasterSet
            },
        });
        Ok(())
    }
}

/// Id of the sidecar `name` of the raster `file`, whose id is `id`: `after.tif.aux.xml` of
/// `after.tif`, however its file is called.
fn sidecar_id(name: &str, file: &str, id: &str) -> String {
    // Names of one raster may differ in upper and lower case, not in length.
    match (name.get(file.len()..), name.get(strip_ending(file).len()..)) {
        (Some(rest), _) if rest.starts_with('.') => format!("{id}{rest}"),
        (_, Some(rest)) => format!("{}{rest}", strip_ending(id)),
        _ => name.to_owned(),
    }
}

/// The edit that makes every sidecar a sample beside its raster, at the place that its id has among
/// sorted siblings, otherwise behind the raster. `None` without sidecars.
///
/// # Errors
/// When the job is cancelled or a sidecar can't be read.
pub fn pack_sidecars(dataset: &Dataset, ctx: &JobContext) -> Result<Option<Edit>> {
    let found = rasters_with_sidecars(dataset, ctx)?;
    let mut files: HashSet<&Path> = HashSet::new();
    let mut edits = Vec::new();
    // In an order in which no insertion moves the place of a later one: what is in FOLDERs before
    // the FOLDERs, and from the end.
    let mut places: Vec<(NodePath, u32, &RasterWithSidecars)> = Vec::new();
    // The other files of a raster of several files are samples already, and no packing makes it
    // readable.
    for raster in found.iter().filter(|raster| {
        raster
            .sidecars
            .iter()
            .all(|(_, kind)| *kind != Sidecar::Part)
    }) {
        let (parent, position) = raster
            .sample
            .parent()
            .ok_or_else(|| Error::internal("a raster without a position"))?;
        places.push((parent, position, raster));
    }
    places.sort_by(|(parent, at, _), (other, other_at, _)| {
        other
            .0
            .len()
            .cmp(&parent.0.len())
            .then_with(|| (&parent.0, at).cmp(&(&other.0, other_at)))
    });
    let mut count = 0;
    for group in places.chunk_by(|(one, ..), (other, ..)| one == other) {
        let Some((parent, ..)) = group.first() else {
            continue;
        };
        let tortilla = dataset
            .tortilla(parent)
            .ok_or_else(|| Error::internal("a raster without a FOLDER"))?;
        let sorted = tortilla
            .samples
            .is_sorted_by(|one, other| one.id <= other.id);
        let mut ids: HashSet<&str> = tortilla.samples.iter().map(|sample| &*sample.id).collect();
        let mut added: Vec<(u32, Sample)> = Vec::new();
        for (_, position, raster) in group {
            for ((file, _), id) in raster.sidecars.iter().zip(&raster.ids) {
                ctx.check()?;
                // Two rasters of one stem share a `.prj`.
                if !files.insert(file) || !ids.insert(id) {
                    continue;
                }
                let meta = std::fs::metadata(file).io_at("read", file)?;
                let place = tortilla.samples.partition_point(|sample| *sample.id < **id) as u32;
                added.push((
                    if sorted { place } else { position + 1 },
                    Sample::from_file_metadata(id.as_str(), file, &meta),
                ));
            }
        }
        count += added.len();
        added.sort_by(|(at, one), (other_at, other)| (at, &one.id).cmp(&(other_at, &other.id)));
        for together in added.chunk_by(|(one, _), (other, _)| one == other).rev() {
            let Some((at, _)) = together.first() else {
                continue;
            };
            let samples = together.iter().map(|(_, sample)| sample.clone()).collect();
            edits.push(Edit::Insert {
                parent: parent.clone(),
                at: *at,
                samples,
            });
        }
    }
    let label = tr_n!(count, "Pack {n} sidecar", "Pack {n} sidecars", n = count);
    Ok((!edits.is_empty()).then_some(Edit::Batch { label, edits }))
}

/// The edit that replaces every GeoTIFF with sidecars by a copy, optimised for streaming, that
/// holds its mask, metadata and coordinates, every raster of several files by one GeoTIFF, and
/// every vector layer of several files by one FlatGeobuf. The copies are written into `folder` and
/// read from `final_folder`, to which the caller renames it. Rasters of other formats keep their
/// bytes, with a warning. `None` without such files.
///
/// # Errors
/// When the job is cancelled, a raster can't be read, or a copy can't be written.
pub(super) fn write_burned_in_copies(
    dataset: &Dataset,
    folder: &Path,
    final_folder: &Path,
    ctx: &JobContext,
) -> Result<Option<Edit>> {
    let found = rasters_with_sidecars(dataset, ctx)?;
    ctx.stage(tr!("Burning in sidecars"), Some(found.len() as u64));
    let (mut edits, mut names) = (Vec::new(), DistinctFileNames::default());
    let mut replaced: HashSet<PathBuf> = HashSet::new();
    let mut count = 0;
    for raster in found {
        ctx.check()?;
        if !raster.can_be_copied() {
            ctx.warn(format!(
                "{}: what its sidecars say is not burned in: only GeoTIFFs are written",
                raster.file.display()
            ));
            ctx.step(1);
            continue;
        }
        let name = name_copy(&raster, &mut names);
        let copy = folder.join(&name);
        let parent = copy.parent().unwrap_or(folder);
        std::fs::create_dir_all(parent).io_at("make the folder", parent)?;
        let source = RasterSource::from_user_path(AssetPath::file(&raster.file));
        match raster.kind {
            FilesKind::VectorSet => write_flatgeobuf(&source, &copy, ctx)?,
            FilesKind::Raster | FilesKind::RasterSet => {
                write_tog(&source, &copy, &TogOptions::default(), ctx)?
            }
        }
        let meta = std::fs::metadata(&copy).io_at("read", &copy)?;
        let payload = Sample::from_file_metadata("", final_folder.join(&name), &meta).payload;
        if let Some(ending) = raster.kind.copy_ending() {
            edits.push(Edit::Rename {
                sample: raster.sample.clone(),
                id: choose_copy_id(dataset, &raster.sample, ending)?.into(),
            });
            replaced.extend(raster.sidecars.into_iter().map(|(path, _)| path));
        }
        edits.push(Edit::SetPayload {
            sample: raster.sample,
            payload,
        });
        count += 1;
        ctx.step(1);
    }
    let mut samples = Vec::new();
    find_samples_of_files(&dataset.root, &replaced, &mut Vec::new(), &mut samples);
    if !samples.is_empty() {
        edits.push(Edit::RemoveMany { samples });
    }
    let label = tr_n!(
        count,
        "Burn sidecars into {n} raster",
        "Burn sidecars into {n} rasters",
        n = count
    );
    Ok((count > 0).then_some(Edit::Batch { label, edits }))
}

/// Id of the copy in place of several files: `cube.tif` for `cube.dat`, or `cube.dat.tif` where a
/// sibling has that id.
fn choose_copy_id(dataset: &Dataset, sample: &NodePath, ending: &str) -> Result<String> {
    let (parent, position) = sample
        .parent()
        .ok_or_else(|| Error::internal("a raster without a position"))?;
    let tortilla = dataset
        .tortilla(&parent)
        .ok_or_else(|| Error::internal("a raster without a FOLDER"))?;
    let id = tortilla
        .samples
        .get(position as usize)
        .map(|sample| &*sample.id)
        .unwrap_or_default();
    let short = format!(
        "{}.{ending}",
        id.rsplit_once('.')
            .filter(|(stem, _)| !stem.is_empty())
            .map_or(id, |(stem, _)| stem)
    );
    let is_taken = tortilla
        .samples
        .iter()
        .any(|sibling| sibling.id.eq_ignore_ascii_case(&short));
    Ok(if is_taken {
        format!("{id}.{ending}")
    } else {
        short
    })
}

/// The samples whose files are among `files`, in the order of the tree.
fn find_samples_of_files(
    tortilla: &Tortilla,
    files: &HashSet<PathBuf>,
    node: &mut Vec<u32>,
    found: &mut Vec<NodePath>,
) {
    if files.is_empty() {
        return;
    }
    for (position, sample) in (0..).zip(&tortilla.samples) {
        node.push(position);
        if let Some(children) = sample.children() {
            find_samples_of_files(children, files, node, found);
        } else if local_path(sample).is_some_and(|file| files.contains(file)) {
            found.push(NodePath(node.clone()));
        }
        node.pop();
    }
}

/// Path of a raster's copy below the folder of copies: its ids, as every file system allows them.
fn name_copy(raster: &RasterWithSidecars, names: &mut DistinctFileNames) -> PathBuf {
    let steps: Vec<String> = raster.path.split('/').map(portable_name).collect();
    let whole = match raster.kind.copy_ending() {
        Some(ending) => format!("{}.{ending}", steps.join("/")),
        None => steps.join("/"),
    };
    // The last dot of the file name, not of a folder's name.
    let file = whole.rfind('/').map_or(0, |slash| slash + 1);
    let dot = whole[file..]
        .rfind('.')
        .map_or(whole.len(), |dot| file + dot);
    let (stem, ending) = whole.split_at(dot);
    PathBuf::from(names.take(stem, ending))
}

/// As `write_burned_in_copies`, with the copies in a new folder that stays. Without copies or after
/// a failure, there is no folder.
///
/// # Errors
/// Those of `write_burned_in_copies`; for a folder that exists, and for one that is not an absolute
/// path on this machine.
pub fn burn_in_sidecars(
    dataset: &Dataset,
    copies: &Path,
    ctx: &JobContext,
) -> Result<Option<Edit>> {
    if is_remote(copies) || !copies.is_absolute() {
        let error =
            Error::usage("the folder of the copies has to be on this machine, as a whole path");
        return Err(error.at_path(copies).hint("begin at the root of the disk"));
    }
    let folder = PartialFolder::of_files(copies, false)?;
    let edit = write_burned_in_copies(dataset, folder.path(), copies, ctx)?;
    ctx.check()?;
    if edit.is_some() {
        folder.finish()?;
    }
    Ok(edit)
}

/// A folder for the copies that does not exist: beside the folder that has all files of the draft,
/// so that adding that folder again finds no copies. `None` when the files have no common folder
/// below the root of the disk.
pub fn propose_copies_folder(dataset: &Dataset) -> Option<PathBuf> {
    fn find_common_folder(tortilla: &Tortilla, common: &mut Option<PathBuf>) {
        for sample in &tortilla.samples {
            if let Some(children) = sample.children() {
                find_common_folder(children, common);
            }
            let Some(folder) = local_path(sample).and_then(Path::parent) else {
                continue;
            };
            match common {
                Some(common) => while !folder.starts_with(&*common) && common.pop() {},
                None => *common = Some(folder.to_owned()),
            }
        }
    }
    let mut folder = None;
    find_common_folder(&dataset.root, &mut folder);
    let folder = folder?;
    let name = folder.file_name()?.to_string_lossy().into_owned();
    list_numbered_names(&format!("{name}-burned-in"), "")
        .map(|name| folder.with_file_name(name))
        .find(|path| path.symlink_metadata().is_err())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ops::import_folder;

    fn draft(files: &[&str]) -> (tempfile::TempDir, Dataset) {
        let folder = tempfile::tempdir().expect("a folder");
        for name in files {
            let path = folder.path().join("set").join(name);
            std::fs::create_dir_all(path.parent().expect("has one")).expect("makes a folder");
            std::fs::write(path, name).expect("writes");
        }
        let imported = import_folder(
            &folder.path().join("set"),
            SidecarHandling::Leave,
            &JobContext::default(),
        );
        let (samples, _) = imported.expect("imports");
        (
            folder,
            Dataset {
                root: Tortilla::new(samples).into(),
                ..Dataset::default()
            },
        )
    }

    fn ids(tortilla: &Tortilla) -> Vec<&str> {
        tortilla.samples.iter().map(|sample| &*sample.id).collect()
    }

    #[test]
    fn sidecars_become_samples_where_their_names_belong_and_undo_takes_them_out() {
        let files = [
            "a/x.prj",
            "a/x.tif",
            "a/x.tif.msk",
            "a/x.tif.msk.ovr",
            "a/y.tif",
            "b/x.tif",
            "c.tif",
            "c.tif.aux.xml",
            "d.shp",
            "d.prj",
        ];
        let (_folder, mut dataset) = draft(&files);
        let before = dataset.clone();
        let found = rasters_with_sidecars(&dataset, &JobContext::default()).expect("looks");
        let counts: Vec<(&str, usize)> = found
            .iter()
            .map(|raster| (raster.path.as_str(), raster.sidecars.len()))
            .collect();
        assert_eq!(counts, [("a/x.tif", 3), ("c.tif", 1)]);
        let edit = pack_sidecars(&dataset, &JobContext::default())
            .expect("packs")
            .expect("there are sidecars");
        assert_eq!(edit.label(), "Pack 4 sidecars");
        let inverse = edit.apply(&mut dataset).expect("applies");
        assert_eq!(
            ids(&dataset.root),
            ["a", "b", "c.tif", "c.tif.aux.xml", "d.prj", "d.shp"]
        );
        let a = dataset.root.samples[0].children().expect("a FOLDER");
        assert_eq!(
            ids(a),
            ["x.prj", "x.tif", "x.tif.msk", "x.tif.msk.ovr", "y.tif"]
        );
        assert_eq!(
            pack_sidecars(&dataset, &JobContext::default()).expect("looks"),
            None,
            "all of them are packed"
        );
        inverse.apply(&mut dataset).expect("applies");
        assert_eq!(dataset, before);
    }

    #[test]
    fn a_raster_of_two_files_becomes_one_geotiff_in_every_root() {
        let folder = tempfile::tempdir().expect("a folder");
        let set = folder.path().join("set");
        let header = "ENVI\nsamples = 8\nlines = 8\nbands = 3\ndata type = 12\ninterleave = bsq\n\
            byte order = 0\n";
        for root in ["a", "b"] {
            std::fs::create_dir_all(set.join(root)).expect("makes a folder");
            let values: Vec<u8> = (0..8 * 8 * 3u16).flat_map(u16::to_le_bytes).collect();
            std::fs::write(set.join(root).join("cube.dat"), values).expect("writes");
            std::fs::write(set.join(root).join("cube.hdr"), header).expect("writes");
        }
        let (samples, _) =
            import_folder(&set, SidecarHandling::Leave, &JobContext::default()).expect("imports");
        let mut dataset = Dataset {
            root: Tortilla::new(samples).into(),
            ..Dataset::default()
        };
        assert_eq!(
            pack_sidecars(&dataset, &JobContext::default()).expect("looks"),
            None
        );
        let copies = folder.path().join("copies");
        let edit = burn_in_sidecars(&dataset, &copies, &JobContext::default())
            .expect("burns in")
            .expect("there are two");
        assert_eq!(edit.label(), "Burn sidecars into 2 rasters");
        edit.apply(&mut dataset).expect("applies");
        for root in &dataset.root.samples {
            let children = root.children().expect("a FOLDER");
            assert_eq!(ids(children), ["cube.tif"]);
            let Payload::Asset { path, .. } = &children.samples[0].payload else {
                panic!("{root:?}")
            };
            let info =
                crate::raster::describe(&RasterSource::member(path.clone())).expect("opens alone");
            assert_eq!(
                (
                    info.width,
                    info.height,
                    info.band_count,
                    info.bands[2].dtype.as_str()
                ),
                (8, 8, 3, "UInt16")
            );
        }
    }

    #[test]
    fn sidecars_of_a_renamed_raster_are_named_after_its_id() {
        let (_folder, mut dataset) = draft(&[
            "z/Label_FINAL.TIF",
            "z/Label_FINAL.TIF.aux.xml",
            "z/Label_FINAL.tfw",
            "z/b.tif",
        ]);
        let edits = [
            Edit::Rename {
                sample: NodePath(vec![0, 0]),
                id: "label.tif".into(),
            },
            // No longer in the order of their ids.
            Edit::Rename {
                sample: NodePath(vec![0, 1]),
                id: "a.tif".into(),
            },
        ];
        edits
            .into_iter()
            .for_each(|edit| drop(edit.apply(&mut dataset).expect("applies")));
        let edit = pack_sidecars(&dataset, &JobContext::default())
            .expect("packs")
            .expect("there are sidecars");
        edit.apply(&mut dataset).expect("applies");
        let z = dataset.root.samples[0].children().expect("a FOLDER");
        assert_eq!(
            ids(z),
            ["label.tif", "label.tfw", "label.tif.aux.xml", "a.tif"]
        );
    }

    #[test]
    fn copies_are_proposed_beside_the_folder_of_all_files() {
        let (folder, dataset) = draft(&["a/x.tif", "b/x.tif"]);
        assert_eq!(
            propose_copies_folder(&dataset),
            Some(folder.path().join("set-burned-in"))
        );
        std::fs::create_dir(folder.path().join("set-burned-in")).expect("makes a folder");
        assert_eq!(
            propose_copies_folder(&dataset),
            Some(folder.path().join("set-burned-in-2"))
        );
        assert_eq!(propose_copies_folder(&Dataset::default()), None);
    }

    #[test]
    fn without_copies_and_for_names_that_are_taken_no_folder_is_made() {
        let (folder, dataset) = draft(&["a/x.tif", "b/x.jp2", "b/x.jp2.aux.xml"]);
        let ctx = JobContext::default();
        let copies = folder.path().join("copies");
        assert_eq!(
            burn_in_sidecars(&dataset, &copies, &ctx).expect("looks"),
            None
        );
        assert!(!copies.exists());
        assert!(
            ctx.warnings()
                .iter()
                .any(|warning| warning.contains("x.jp2")),
            "the other format is named"
        );
        std::fs::create_dir(&copies).expect("makes a folder");
        assert!(burn_in_sidecars(&dataset, &copies, &ctx).is_err());
        assert!(burn_in_sidecars(&dataset, Path::new("copies"), &ctx).is_err());
        assert!(
            std::fs::read_dir(folder.path()).expect("lists").count() == 2,
            "nothing is left beside it"
        );
    }
}
