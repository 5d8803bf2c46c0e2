//! `Verify`: a dataset that was written is opened again and held against the draft: every sample is
//! there, and samples have the bytes of their sources, some at random or all. [`verify_members`]
//! opens the members that writers packed from single files. Changes nothing.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use bytes::Bytes;
use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::{Rng, SeedableRng};
use rayon::prelude::*;

use crate::container::{self, Assembly, Built, ByteSource, ContainerReader, RowSource};
use crate::error::{Error, Result};
use crate::jobs::JobContext;
use crate::model::{
    AssetPath, Dataset, Payload, Sample, SampleKind, SamplePath, Skeleton, Tortilla, is_remote,
    list_tortillas_below,
};
use crate::raster::{self, NamedAsset, RasterDetector, RasterInfo, RasterSource};

/// How much is looked at.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Depth {
    /// The samples are counted.
    Counts,
    /// And up to 120 samples, taken at random, are compared byte for byte.
    #[default]
    Random,
    /// And all of them are.
    All,
}

/// Samples that [`Depth::Random`] compares.
const RANDOM: usize = 120;
/// Members that [`verify_members`] opens; on other machines as many as [`RANDOM`].
const OPENED: usize = 1000;
/// Bytes compared at a time.
const PIECE: usize = 1 << 20;
/// Differences that are kept.
const KEPT: usize = 100;

/// Result of [`verify`].
#[derive(Clone, Debug, Default, PartialEq, serde::Serialize)]
pub struct Verified {
    /// Datasets that were opened.
    pub parts: u64,
    /// Samples of level 0 found.
    pub roots: u64,
    /// Samples found, on all levels.
    pub samples: u64,
    /// Samples compared byte for byte.
    pub compared: u64,
    /// Bytes compared.
    pub bytes: u64,
    /// From opening to the first sample's bytes.
    pub first_read: Duration,
    /// Description of the difference.
    pub differences: Vec<String>,
}

impl Verified {
    /// True when nothing differs.
    pub fn is_sound(&self) -> bool {
        self.differences.is_empty()
    }

    fn add_difference(&mut self, what: String) {
        if self.differences.len() < KEPT {
            self.differences.push(what);
        }
    }
}

/// Opens the datasets at `paths`, which together are the draft, and compares them with it. Padding
/// of level 0 may be missing.
///
/// # Errors
/// When a dataset can't be opened. Differences are listed in the result.
pub fn verify(
    dataset: &Dataset,
    paths: &[PathBuf],
    depth: Depth,
    ctx: &JobContext,
) -> Result<Verified> {
    let mut found = Verified::default();
    let started = Instant::now();
    let opened = open_written(paths, ctx)?;
    for (_, tree) in &opened {
        found.parts += 1;
        found.roots += tree.levels.first().map_or(0, |level| level.len()) as u64;
        found.samples += tree.total() as u64;
    }
    let roots = dataset.root.samples.len() as u64;
    let samples = count_samples_in(&dataset.root);
    let padded = dataset
        .root
        .samples
        .iter()
        .filter(|sample| sample.is_padding())
        .count() as u64;
    if found.roots != roots && found.roots + padded != roots {
        let n = found.roots;
        found.add_difference(tr_n!(
            n,
            "{n} root was found, the draft has {roots}",
            "{n} roots were found, the draft has {roots}",
            n,
            roots
        ));
    } else if found.roots == roots && found.samples != samples {
        let n = found.samples;
        found.add_difference(tr_n!(
            n,
            "{n} sample was found, the draft has {samples}",
            "{n} samples were found, the draft has {samples}",
            n,
            samples
        ));
    }
    let files = choose_files(&opened, depth);
    ctx.stage(tr!("Comparing"), Some(files.len() as u64));
    if let Some(&(part, level, row)) = files.first()
        && let Some((reader, _)) = opened.get(part)
    {
        // Whether it can be read is checked below.
        let _ = reader.asset(level, row).and_then(|(asset, size)| {
            ComparedBytes::of_asset(&asset, size)?.piece(0, PIECE.min(size as usize))
        });
        found.first_read = started.elapsed();
    }
    let detector = RasterDetector::for_this_build();
    let outcomes: Vec<Result<(u64, Option<String>)>> = files
        .par_iter()
        .map(|&(part, level, row)| {
            ctx.check()?;
            let Some((reader, tree)) = opened.get(part) else {
                return Ok((0, None));
            };
            let path = tree.path(level, row);
            let reader = reader.as_ref();
            let outcome = compare_sample(dataset, &detector, reader, (level, row), &path, ctx);
            ctx.step(1);
            match outcome {
                Ok(bytes) => {
                    ctx.bytes(bytes);
                    Ok((bytes, None))
                }
                Err(error) if error.is_cancelled() => Err(error),
                Err(error) => Ok((0, Some(format!("{path}: {error}")))),
            }
        })
        .collect();
    for outcome in outcomes {
        let (bytes, difference) = outcome?;
        found.compared += 1;
        found.bytes += bytes;
        if let Some(difference) = difference {
            found.add_difference(difference);
        }
    }
    Ok(found)
}

/// A dataset that was written, with the ids of its samples.
type OpenedPart = (Arc<dyn ContainerReader>, Arc<Skeleton>);

fn open_written(paths: &[PathBuf], ctx: &JobContext) -> Result<Vec<OpenedPart>> {
    let mut opened = Vec::with_capacity(paths.len());
    for path in paths {
        ctx.check()?;
        let reader: Arc<dyn ContainerReader> = container::open(path, ctx)?;
        let tree = reader.levels().skeleton(ctx)?;
        opened.push((reader, tree));
    }
    Ok(opened)
}

/// Number of samples of a tortilla and all tortillas below it.
fn count_samples_in(tortilla: &Tortilla) -> u64 {
    let below = tortilla.samples.iter().filter_map(Sample::children);
    tortilla.samples.len() as u64 + below.map(|inner| count_samples_in(inner)).sum::<u64>()
}

/// The FILEs to compare, as (part, level, row).
fn choose_files(opened: &[OpenedPart], depth: Depth) -> Vec<(usize, usize, u32)> {
    if depth == Depth::Counts {
        return Vec::new();
    }
    let mut files = Vec::new();
    for (part, (_, tree)) in opened.iter().enumerate() {
        for (number, level) in tree.levels.iter().enumerate() {
            let rows = (0..level.len() as u32).filter(|&row| level.kind(row) == SampleKind::File);
            files.extend(rows.map(|row| (part, number, row)));
        }
    }
    if depth == Depth::Random {
        keep_at_random(&mut files, RANDOM);
    }
    files
}

/// Keeps `most` items taken at random; others each time, so that repeated checks cover other
/// samples.
fn keep_at_random<T>(items: &mut Vec<T>, most: usize) {
    if items.len() <= most {
        return;
    }
    let seed = std::time::SystemTime::now()
        .duration_since(std::time::UNIX_EPOCH)
        .map_or(0, |since| since.as_nanos() as u64);
    let mut random = ChaCha8Rng::seed_from_u64(seed);
    for place in 0..most {
        let other = place + (random.next_u64() % (items.len() - place) as u64) as usize;
        items.swap(place, other);
    }
    items.truncate(most);
}

/// A FILE that is packed from a single file of this machine.
struct PackedFile<'a> {
    level: usize,
    row: u32,
    source: &'a AssetPath,
}

impl<'a> PackedFile<'a> {
    /// `None` for what comes from a container: it was alone there, too.
    fn of_source(level: usize, row: usize, source: &'a AssetPath) -> Option<Self> {
        let AssetPath::File(file) = source else {
            return None;
        };
        (!is_remote(file)).then_some(Self {
            level,
            row: row as u32,
            source,
        })
    }
}

/// Opens the members of what was written alone, as readers do, with the drivers that read their
/// sources; compares size, bands and types. Of more than [`OPENED`] members that many are taken at
/// random. Returns each sample that differs, with the difference.
///
/// # Errors
/// When what was written can't be opened, and cancellation.
pub fn verify_members(assembly: &Assembly, built: &Built, ctx: &JobContext) -> Result<Vec<String>> {
    let mut files = Vec::new();
    for (level, table) in assembly.levels.iter().enumerate() {
        files.extend(
            table
                .sources
                .iter()
                .enumerate()
                .filter_map(|(row, source)| match source {
                    RowSource::Asset { path, .. } => PackedFile::of_source(level, row, path),
                    RowSource::Folder | RowSource::Bytes(_) => None,
                }),
        );
    }
    verify_files(files, &assembly.tree, built, ctx)
}

/// As [`verify_members`], for what was written of a draft.
///
/// # Errors
/// As [`verify_members`].
pub fn verify_members_of_draft(
    dataset: &Dataset,
    built: &Built,
    ctx: &JobContext,
) -> Result<Vec<String>> {
    let tree = Skeleton::from_dataset(dataset);
    let mut files = Vec::new();
    let mut tortillas: Vec<&Tortilla> = vec![&dataset.root];
    for level in 0..tree.levels.len() {
        let samples: Vec<&Sample> = tortillas
            .iter()
            .flat_map(|tortilla| &tortilla.samples)
            .collect();
        files.extend(samples.iter().enumerate().filter_map(
            |(row, sample)| match &sample.payload {
                Payload::Asset { path, .. } => PackedFile::of_source(level, row, path),
                Payload::Folder(_) | Payload::Bytes(_) => None,
            },
        ));
        tortillas = list_tortillas_below(&tortillas);
    }
    verify_files(files, &tree, built, ctx)
}

fn verify_files(
    mut files: Vec<PackedFile<'_>>,
    tree: &Skeleton,
    built: &Built,
    ctx: &JobContext,
) -> Result<Vec<String>> {
    keep_at_random(
        &mut files,
        if is_remote(&built.path) {
            RANDOM
        } else {
            OPENED
        },
    );
    if files.is_empty() {
        return Ok(Vec::new());
    }
    ctx.stage(tr!("Opening what was written"), Some(files.len() as u64));
    let opened = open_written(&written_paths(built), ctx)?;
    let detector = RasterDetector::for_this_build();
    let differences: Vec<Option<String>> = files
        .par_iter()
        .map(|file| {
            ctx.check()?;
            ctx.step(1);
            let path = tree.path(file.level, file.row);
            match compare_member(&opened, &detector, file, &path) {
                Ok(()) => Ok(None),
                Err(error) if error.is_cancelled() => Err(error),
                Err(error) => Ok(Some(format!("{path}: {error}"))),
            }
        })
        .collect::<Result<_>>()?;
    Ok(differences.into_iter().flatten().take(KEPT).collect())
}

/// Finds a member in what was written, and compares it with its source.
fn compare_member(
    opened: &[OpenedPart],
    detector: &RasterDetector,
    file: &PackedFile<'_>,
    path: &SamplePath,
) -> Result<()> {
    let (level, row) = (file.level, file.row);
    // Writers keep the order of rows; parts have their own.
    let found = opened.iter().find_map(|(reader, tree)| {
        let place = if has_sample_at(tree, (level, row), path) {
            Some((level, row))
        } else {
            tree.find(path)
        };
        place.map(|(level, row)| (reader, level, row))
    });
    let Some((reader, level, row)) = found else {
        return Err(Error::invalid("the sample is not in what was written"));
    };
    compare_raster(detector, file.source, &reader.asset(level, row)?.0)
}

fn has_sample_at(tree: &Skeleton, (level, row): (usize, u32), path: &SamplePath) -> bool {
    let has_row = tree
        .levels
        .get(level)
        .is_some_and(|table| (row as usize) < table.len());
    has_row && tree.path(level, row) == *path
}

/// Compares one sample with its source, piece by piece; returns its size in bytes.
fn compare_sample(
    dataset: &Dataset,
    detector: &RasterDetector,
    reader: &dyn ContainerReader,
    (level, row): (usize, u32),
    path: &SamplePath,
    ctx: &JobContext,
) -> Result<u64> {
    let (asset, size) = reader.asset(level, row)?;
    let written = ComparedBytes::of_asset(&asset, size)?;
    let sample = dataset
        .find_node(path)
        .and_then(|node| dataset.sample(&node))
        .ok_or_else(|| Error::invalid("the draft has no such sample"))?;
    let source = match &sample.payload {
        Payload::Asset { path, size, .. } => ComparedBytes::of_asset(path, *size)?,
        Payload::Bytes(bytes) => ComparedBytes::Memory(Bytes::copy_from_slice(bytes)),
        Payload::Folder(_) => return Err(Error::invalid("the draft has a FOLDER here")),
    };
    let common = written.size().min(source.size());
    let mut at = 0;
    while at < common {
        ctx.check()?;
        let length = PIECE.min((common - at) as usize);
        let (one, other) = (written.piece(at, length)?, source.piece(at, length)?);
        if one != other {
            let first = one
                .iter()
                .zip(other.iter())
                .position(|(a, b)| a != b)
                .unwrap_or_default();
            return Err(different_bytes_error(at + first as u64));
        }
        at += length as u64;
    }
    if written.size() != source.size() {
        return Err(different_bytes_error(common));
    }
    if let Payload::Asset { path, .. } = &sample.payload {
        compare_raster(detector, path, &asset)?;
    }
    Ok(size)
}

fn different_bytes_error(at: u64) -> Error {
    Error::invalid(format!(
        "the bytes differ from the source, first at byte {at}"
    ))
}

/// Opens the written bytes alone, as readers do, with the driver that reads the source, and
/// compares size, bands and types.
///
/// # Errors
/// When the source is a raster and the written bytes are another or none.
fn compare_raster(
    detector: &RasterDetector,
    source: &AssetPath,
    written: &AssetPath,
) -> Result<()> {
    let AssetPath::File(file) = source else {
        return Ok(());
    };
    if is_remote(file) || !detector.is_raster_file(file) {
        return Ok(());
    }
    // What GDAL does not open at the source is no raster.
    let Ok(own) = raster::describe(&container::raster_source(source)) else {
        return Ok(());
    };
    if own.band_count == 0 {
        return Ok(());
    }
    // A reference to other data is packed as it is, with a warning, and never followed.
    if raster::references_of(written)?.is_some() {
        return Ok(());
    }
    let alone = match raster::describe(&RasterSource::member(written.clone())) {
        Ok(info) => Some(info),
        Err(error) if error.is_cancelled() => return Err(error),
        // Members are opened with few drivers.
        Err(_) => {
            let name = file
                .file_name()
                .and_then(|name| name.to_str())
                .unwrap_or("sample")
                .to_owned();
            raster::describe_alone(
                &NamedAsset {
                    name,
                    asset: written.clone(),
                },
                &own.driver,
            )?
            .map(Arc::new)
        }
    };
    let contents = raster::contents_of(&own);
    if alone
        .as_ref()
        .is_some_and(|info| !raster::is_same_raster(&own, info))
        && has_same_variable(&own, written)?
    {
        return Ok(());
    }
    match alone {
        Some(info) if raster::is_same_raster(&own, &info) => Ok(()),
        Some(info) => {
            let found = raster::contents_of(&info);
            Err(Error::invalid(format!(
                "the source is a raster ({contents}), and what was written is another one ({found})"
            )))
        }
        None => Err(Error::invalid(format!(
            "the source is a raster ({contents}), and what was written can't be opened as one"
        ))
        .hint("the raster has parts in other files: burn it in, so that one file holds all of it")),
    }
}

/// True when the variable that was read of the source is the same in the written bytes: drivers
/// list the variables of a file in different orders, and the first one is read.
///
/// # Errors
/// When a read is cancelled.
fn has_same_variable(own: &RasterInfo, written: &AssetPath) -> Result<bool> {
    let name = own.variable.as_ref().and_then(|read| read.name.as_deref());
    let Some(name) = name else {
        return Ok(false);
    };
    let source = RasterSource::member(written.clone()).with_variable(Some(name.into()));
    match raster::describe(&source) {
        Ok(info) => Ok(raster::is_same_raster(own, &info)),
        Err(error) if error.is_cancelled() => Err(error),
        Err(_) => Ok(false),
    }
}

/// Bytes to compare: in memory, or a range of a file of any size.
enum ComparedBytes {
    Memory(Bytes),
    File {
        file: ByteSource,
        offset: u64,
        size: u64,
    },
}

impl ComparedBytes {
    fn of_asset(asset: &AssetPath, size: u64) -> Result<Self> {
        if size == 0 {
            return Ok(Self::Memory(Bytes::new()));
        }
        let file = ByteSource::open_for(asset)?;
        Ok(match asset {
            AssetPath::Range { offset, size, .. } => Self::File {
                file,
                offset: *offset,
                size: *size,
            },
            _ => {
                let size = file.size_bytes();
                Self::File {
                    file,
                    offset: 0,
                    size,
                }
            }
        })
    }

    fn size(&self) -> u64 {
        match self {
            Self::Memory(bytes) => bytes.len() as u64,
            Self::File { size, .. } => *size,
        }
    }

    fn piece(&self, at: u64, length: usize) -> Result<Bytes> {
        match self {
            Self::Memory(bytes) => Ok(bytes.slice(at as usize..at as usize + length)),
            Self::File { file, offset, .. } => file.read(offset.saturating_add(at), length as u64),
        }
    }
}

/// The paths that together are what was written: the index where there is one, else every part.
pub fn written_paths(built: &container::Built) -> Vec<PathBuf> {
    let single = |path: &Path| vec![path.to_owned()];
    match built.parts.as_slice() {
        [] => single(&built.path),
        // TACOLLECTION.json is read part by part.
        _ if built.indexes.iter().any(|index| {
            *index == built.path && index.extension().is_none_or(|ending| ending != "json")
        }) =>
        {
            single(&built.path)
        }
        parts => parts.to_vec(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::container::{Assembly, BuildOptions, Format, OnDamage};
    use crate::table::ParquetOptions;

    /// Writes the files as one root each, and verifies the result.
    fn verified(folder: &Path, names: &[&str]) -> Verified {
        let ctx = JobContext::default();
        let sample = |name: &&str| {
            let path = folder.join(name);
            let size = std::fs::metadata(&path).expect("is there").len();
            Sample::new_file(name, path, size)
        };
        let mut dataset = Dataset {
            root: Tortilla::new(names.iter().map(sample).collect()).into(),
            ..Dataset::default()
        };
        dataset.collection.set("id", Some("verify-me".into()));
        let options = BuildOptions {
            text_columns: false,
            align_blocks: false,
            target: folder.join("out.tacozip"),
            format: Format::Zip,
            parquet: ParquetOptions::default(),
            overwrite: true,
            parts: None,
            on_damage: OnDamage::Stop,
        };
        let assembly = Assembly::of_dataset(&dataset, &ctx).expect("assembles");
        let built = container::write(&assembly, &options, &ctx).expect("writes");
        verify(&dataset, &written_paths(&built), Depth::All, &ctx).expect("verifies")
    }

    #[test]
    fn a_raster_that_was_written_without_its_header_is_a_difference_though_its_bytes_are_the_same()
    {
        let folder = tempfile::tempdir().expect("a folder");
        let header = "ENVI\nsamples = 4\nlines = 4\nbands = 1\ndata type = 1\ninterleave = bsq\n\
            byte order = 0\n";
        std::fs::write(folder.path().join("cube.dat"), [1; 16]).expect("writes");
        std::fs::write(folder.path().join("cube.hdr"), header).expect("writes");
        std::fs::write(
            folder.path().join("grid.asc"),
            "ncols 1\nnrows 1\nxllcorner 0\nyllcorner 0\ncellsize 1\n1\n",
        )
        .expect("writes");
        let found = verified(folder.path(), &["cube.dat", "cube.hdr", "grid.asc"]);
        assert!(
            found.differences.len() == 1
                && found.differences[0].contains("ENVI, 4 × 4, 1 band of Byte"),
            "{found:?}"
        );
        assert!(verified(folder.path(), &["grid.asc"]).is_sound());
    }

    #[test]
    fn members_are_opened_after_writing_whole_or_in_parts() {
        let ctx = JobContext::default();
        let folder = tempfile::tempdir().expect("a folder");
        let file = |name: &str, bytes: &[u8]| {
            let path = folder.path().join(name);
            std::fs::write(&path, bytes).expect("writes");
            Sample::new_file(name, path, bytes.len() as u64)
        };
        let header = b"ENVI\nsamples = 4\nlines = 4\nbands = 1\ndata type = 1\ninterleave = bsq\n\
            byte order = 0\n";
        let grid = b"ncols 1\nnrows 1\nxllcorner 0\nyllcorner 0\ncellsize 1\n1\n";
        let samples = vec![
            file("cube.dat", &[1; 16]),
            file("cube.hdr", header),
            file("grid.asc", grid),
            file("notes.txt", b"text"),
        ];
        let mut dataset = Dataset {
            root: Tortilla::new(samples).into(),
            ..Dataset::default()
        };
        dataset.collection.set("id", Some("verify-me".into()));
        let assembly = Assembly::of_dataset(&dataset, &ctx).expect("assembles");
        let parts = container::PartOptions {
            size_bytes: Some(1),
            ..container::PartOptions::default()
        };
        for (name, parts) in [("whole.tacozip", None), ("parts.tacozip", Some(parts))] {
            let options = BuildOptions {
                text_columns: false,
                align_blocks: false,
                target: folder.path().join(name),
                format: Format::Zip,
                parquet: ParquetOptions::default(),
                overwrite: false,
                parts,
                on_damage: OnDamage::Stop,
            };
            let built = container::write(&assembly, &options, &ctx).expect("writes");
            let found = verify_members(&assembly, &built, &ctx).expect("verifies");
            assert!(
                found.len() == 1
                    && found[0].starts_with("cube.dat: ")
                    && found[0].contains("ENVI, 4 × 4"),
                "{name}: {found:?}"
            );
            assert_eq!(
                verify_members_of_draft(&dataset, &built, &ctx).expect("verifies"),
                found,
                "{name}"
            );
        }
    }

    #[test]
    fn a_changed_byte_and_a_missing_root_are_found() {
        let folder = tempfile::tempdir().expect("a folder");
        let ctx = JobContext::default();
        let file = |name: &str| {
            let path = folder.path().join(name);
            std::fs::write(&path, name.repeat(50)).expect("writes");
            let size = name.len() as u64 * 50;
            Sample::new_file("x", path, size)
        };
        let scene = |id: &str| Sample::new_folder(id, Tortilla::new(vec![file(id)]));
        let mut dataset = Dataset {
            root: Tortilla::new(vec![scene("a"), scene("b")]).into(),
            ..Dataset::default()
        };
        dataset.collection.set("id", Some("verify-me".into()));
        let target = folder.path().join("out.tacozip");
        let options = BuildOptions {
            text_columns: false,
            align_blocks: false,
            target: target.clone(),
            format: Format::Zip,
            parquet: ParquetOptions::default(),
            overwrite: false,
            parts: None,
            on_damage: OnDamage::Stop,
        };
        let assembly = Assembly::of_dataset(&dataset, &ctx).expect("assembles");
        let built = container::write(&assembly, &options, &ctx).expect("writes");
        let paths = written_paths(&built);
        let sound = verify(&dataset, &paths, Depth::All, &ctx).expect("verifies");
        assert_eq!(
            (
                sound.roots,
                sound.samples,
                sound.compared,
                sound.differences.len()
            ),
            (2, 4, 2, 0),
            "{sound:?}"
        );
        assert_eq!(
            verify(&dataset, &paths, Depth::Counts, &ctx)
                .expect("verifies")
                .compared,
            0
        );
        std::fs::write(folder.path().join("b"), "c".repeat(50)).expect("writes");
        let changed = verify(&dataset, &paths, Depth::Random, &ctx).expect("verifies");
        assert!(
            changed.differences.len() == 1 && changed.differences[0].contains("b / x"),
            "{changed:?}"
        );
        let mut more = dataset.clone();
        Arc::make_mut(&mut more.root).samples.push(scene("c"));
        assert!(
            !verify(&more, &paths, Depth::Counts, &ctx)
                .expect("verifies")
                .is_sound()
        );
    }
}
