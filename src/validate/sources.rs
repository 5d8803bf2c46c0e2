//! Checks the files behind the samples of a draft (TACO 2.0, section 7.1.1): they must exist with
//! the recorded size, and contain data themselves. Reads metadata, and the content only of files
//! whose extension suggests a reference.

use std::collections::{HashMap, HashSet};
use std::path::{Path, PathBuf};

use rayon::prelude::*;

use super::consistency::find_draft_raster;
use super::header_cache::HeaderCache;
use super::readable::{header_fault, header_message};
use super::{multi_file_formats, transposed};
use crate::container::ByteSource;
use crate::error::Result;
use crate::jobs::JobContext;
use crate::model::{
    AssetPath, Dataset, Location, MAX_LEVELS, Modified, PackedCodec, Payload, Report, Rule, Sample,
    SamplePath, Skeleton, Stamp, Tortilla, is_padding, is_remote, list_tortillas_below,
};
use crate::raster::{
    FileSet, FolderFiles, Sidecar, claims_raster, references_of, sidecars_among, sidecars_in,
};

/// Checks every file that a draft refers to: that it is there as it was added, that it can be
/// opened when it claims to be a raster, that it can be read alone, and that no sidecar is left
/// behind. Writing relies on the recorded sizes, so a changed file is a finding. Headers that the
/// cache has are not read again.
///
/// # Errors
/// When the job is cancelled.
pub fn sources(dataset: &Dataset, cache: &HeaderCache, ctx: &JobContext) -> Result<Report> {
    let mut report = Report::default();
    let mut tree: Option<Skeleton> = None;
    let mut tortillas: Vec<&Tortilla> = vec![&dataset.root];
    for depth in 0..MAX_LEVELS {
        let samples: Vec<&Sample> = tortillas
            .iter()
            .flat_map(|tortilla| &tortilla.samples)
            .collect();
        let containers = containers(&samples);
        let beside = FolderSidecars::from_samples(&samples);
        let faults: Vec<SourceFault> = samples
            .par_iter()
            .enumerate()
            .map(|(row, sample)| {
                ctx.check()?;
                source_fault(row, sample, &containers, &beside, cache, ctx)
            })
            .filter_map(Result::transpose)
            .collect::<Result<_>>()?;
        // Of each set of files only the first is reported.
        let mut covered: HashSet<PathBuf> = HashSet::new();
        for SourceFault {
            row,
            rule,
            message,
            covers,
        } in faults
        {
            if rule == Rule::FileNeedsOthers
                && samples
                    .get(row)
                    .and_then(|sample| local_file(sample))
                    .is_some_and(|file| covered.contains(file))
            {
                continue;
            }
            covered.extend(covers);
            let path: SamplePath = tree
                .get_or_insert_with(|| Skeleton::from_dataset(dataset))
                .path(depth, row as u32);
            report.add(
                rule,
                Location::Sample {
                    level: depth,
                    row: row as u32,
                    path,
                },
                message,
            );
        }
        tortillas = list_tortillas_below(&tortillas);
    }
    check_layout(dataset, cache, &mut report, ctx)?;
    report.fold();
    Ok(report)
}

/// Reports FOLDERs of level 0 that are kinds of data instead of samples.
fn check_layout(
    dataset: &Dataset,
    cache: &HeaderCache,
    report: &mut Report,
    ctx: &JobContext,
) -> Result<()> {
    let mut levels: Vec<Vec<&Sample>> = vec![dataset.root.samples.iter().collect()];
    while let Some(last) = levels
        .last()
        .filter(|last| !last.is_empty() && levels.len() <= MAX_LEVELS)
    {
        let below = last
            .iter()
            .filter_map(|sample| sample.children())
            .flat_map(|children| &children.samples)
            .collect();
        levels.push(below);
    }
    let asset = |level: usize, row: u32| {
        find_draft_raster(&levels, level, row).filter(|(path, _)| path.remote_file().is_none())
    };
    transposed::check(&Skeleton::from_dataset(dataset), &asset, cache, report, ctx)
}

/// A fault of the file behind a sample.
struct SourceFault {
    /// Row of the sample on its level.
    row: usize,
    rule: Rule,
    message: String,
    /// Other files that the message names.
    covers: Vec<PathBuf>,
}

impl SourceFault {
    fn new(row: usize, rule: Rule, message: String) -> Self {
        Self {
            row,
            rule,
            message,
            covers: Vec::new(),
        }
    }
}

/// The first fault of the file behind a sample.
fn source_fault(
    row: usize,
    sample: &Sample,
    containers: &HashMap<ContainerVersion<'_>, Result<u64, String>>,
    beside: &FolderSidecars<'_>,
    cache: &HeaderCache,
    ctx: &JobContext,
) -> Result<Option<SourceFault>> {
    let fault_of = |rule: Rule, message: String| Some(SourceFault::new(row, rule, message));
    if let Some(message) = hidden_data_message(sample) {
        return Ok(fault_of(Rule::IdCharacters, message));
    }
    if let Some(message) = describe_source_fault(sample, containers) {
        return Ok(fault_of(Rule::SourceMissing, message));
    }
    if let Some((rule, message)) = reference_problem(sample) {
        return Ok(fault_of(rule, message));
    }
    if let Some(message) = describe_unreadable_header(sample, cache, ctx)? {
        return Ok(fault_of(Rule::RasterRead, message));
    }
    if let Some(message) = beside.left(sample) {
        return Ok(fault_of(Rule::SidecarLeft, message));
    }
    let Some((name, folder, set)) = beside.set(sample, ctx)? else {
        return Ok(None);
    };
    if set.needs_others {
        let covers = set.others.iter().map(|name| folder.join(name)).collect();
        return Ok(Some(SourceFault {
            covers,
            ..SourceFault::new(
                row,
                Rule::FileNeedsOthers,
                multi_file_formats::format_set_message(name, &set),
            )
        }));
    }
    let unpacked: Vec<&str> = set
        .others
        .iter()
        .map(String::as_str)
        .filter(|other| !beside.packed.contains(folder.join(other).as_path()))
        .collect();
    match (set.lost.first(), unpacked.split_first()) {
        (Some(kind), Some((first, more))) => Ok(fault_of(
            Rule::SidecarLeft,
            left_message(name, first, more, *kind),
        )),
        _ => Ok(None),
    }
}

/// The file of this machine behind a sample.
fn local_file(sample: &Sample) -> Option<&Path> {
    match &sample.payload {
        Payload::Asset {
            path: AssetPath::File(path),
            ..
        } if !is_remote(path) => Some(path),
        _ => None,
    }
}

/// A message for a raster whose header can't be read.
fn describe_unreadable_header(
    sample: &Sample,
    cache: &HeaderCache,
    ctx: &JobContext,
) -> Result<Option<String>> {
    let Payload::Asset {
        path,
        size,
        modified,
    } = &sample.payload
    else {
        return Ok(None);
    };
    Ok(
        header_fault(&sample.id, path, *size, *modified, cache, ctx)?
            .map(|reason| header_message(&reason)),
    )
}

/// The sidecars in the folders of the samples, and those of them that are samples themselves.
struct FolderSidecars<'a> {
    folders: HashMap<&'a Path, Vec<String>>,
    /// Names in the folders of files that may belong to formats of several files.
    files: HashMap<&'a Path, FolderFiles>,
    packed: HashSet<&'a Path>,
}

impl<'a> FolderSidecars<'a> {
    fn from_samples(samples: &[&'a Sample]) -> Self {
        let local = || samples.iter().filter_map(|sample| local_file(sample));
        let mut found: HashSet<&Path> = HashSet::new();
        found.extend(local().filter_map(Path::parent));
        let folders: Vec<&Path> = found.into_iter().collect();
        // Only folders with a possible sidecar are remembered; there are few.
        let list = |folder: &'a Path| {
            Some((folder, sidecars_in(folder))).filter(|(_, sidecars)| !sidecars.is_empty())
        };
        let folders: HashMap<&Path, Vec<String>> =
            folders.into_par_iter().filter_map(list).collect();
        let mut with_others: HashSet<&Path> = HashSet::new();
        with_others.extend(
            local()
                .filter(|file| !is_raster_name(file))
                .filter_map(Path::parent),
        );
        let with_others: Vec<&Path> = with_others.into_iter().collect();
        let files = with_others
            .into_par_iter()
            .map(|folder| (folder, FolderFiles::from_folder(folder)))
            .collect();
        Self {
            folders,
            files,
            packed: local().collect(),
        }
    }

    /// What GDAL reads together with the file of a sample, with its name and folder.
    fn set<'b>(
        &self,
        sample: &'b Sample,
        ctx: &JobContext,
    ) -> Result<Option<(&'b str, &'b Path, FileSet)>> {
        let Some(file) = local_file(sample).filter(|file| !is_raster_name(file)) else {
            return Ok(None);
        };
        let (Some(folder), Some(name)) = (
            file.parent(),
            file.file_name().and_then(|name| name.to_str()),
        ) else {
            return Ok(None);
        };
        let Some(files) = self.files.get(folder) else {
            return Ok(None);
        };
        match files.file_set(name, ctx) {
            Ok(set) => Ok(set.map(|set| (name, folder, set))),
            Err(error) if error.is_cancelled() => Err(error),
            // A file that can't be read is reported by another rule, or when it is written.
            Err(_) => Ok(None),
        }
    }

    /// A message for a raster with sidecars that are not packed and change what its pixels mean.
    /// Overviews don't.
    fn left(&self, sample: &Sample) -> Option<String> {
        let Payload::Asset {
            path: AssetPath::File(path),
            ..
        } = &sample.payload
        else {
            return None;
        };
        let folder = path.parent()?;
        let names = self.folders.get(folder)?;
        let own = path.file_name()?.to_str()?;
        let left = sidecars_among(own, names.iter().map(String::as_str));
        let matters = |(name, kind): &(&str, Sidecar)| {
            *kind != Sidecar::Overviews && !self.packed.contains(folder.join(name).as_path())
        };
        let mut left = left.into_iter().filter(matters);
        let (name, kind) = left.next()?;
        let others: Vec<&str> = left.map(|(name, _)| name).collect();
        Some(left_message(own, name, &others, kind))
    }
}

/// Message about the sidecar `name` of the raster `own`, and others, that are not packed.
fn left_message(own: &str, name: &str, others: &[&str], kind: Sidecar) -> String {
    let also = if others.is_empty() {
        String::new()
    } else {
        format!(" ({})", others.join(", "))
    };
    tr!(
        "{name}{also} is not packed with {own}: it holds {what}. Statistics are computed without \
            it. Burn it in, pack it, or leave it.",
        name,
        also,
        own,
        what = kind.text()
    )
}

/// True for a file with the name of a raster of one file: it has sidecars, but no parts.
fn is_raster_name(file: &Path) -> bool {
    file.file_name()
        .and_then(|name| name.to_str())
        .is_some_and(claims_raster)
}

/// A container, and the version in which ranges were found.
type ContainerVersion<'a> = (&'a Path, Option<&'a Stamp>);

/// Sizes in bytes of the containers; each is examined once, independent of its number of samples.
fn containers<'a>(samples: &[&'a Sample]) -> HashMap<ContainerVersion<'a>, Result<u64, String>> {
    let mut sizes = HashMap::new();
    for sample in samples {
        if let Payload::Asset {
            path: path @ AssetPath::Range {
                container, stamp, ..
            },
            ..
        } = &sample.payload
            && !is_remote(container)
        {
            sizes
                .entry((&**container, stamp.as_deref()))
                .or_insert_with(|| {
                    let size = looked_at(container)?.len();
                    // Opening compares the version; the error describes a difference.
                    ByteSource::open_for(path)
                        .map(|_| size)
                        .map_err(|error| format!("{}: {}", container.display(), error.sentence()))
                });
        }
    }
    sizes
}

fn looked_at(path: &Path) -> Result<std::fs::Metadata, String> {
    match std::fs::metadata(path) {
        Ok(meta) if meta.is_file() => Ok(meta),
        Ok(_) => Err(tr!(
            "{path} is not a file. Point the sample at one.",
            path = path.display()
        )),
        Err(error) => Err(tr!(
            "{path} can't be read: {error}. Put the file back, or point the sample at another one.",
            path = path.display(),
            error
        )),
    }
}

/// A message for data with a padding id, which readers would hide and exports omit.
fn hidden_data_message(sample: &Sample) -> Option<String> {
    let bytes = if is_padding(&sample.id) {
        bytes_of(sample)
    } else {
        0
    };
    (bytes > 0).then(|| {
        tr_n!(
            bytes,
            "The name is that of padding, which every reader hides, but there is {n} byte of data. \
                Rename the sample.",
            "The name is that of padding, which every reader hides, but there are {n} bytes of \
                data. Rename the sample.",
            n = bytes
        )
    })
}

/// Size in bytes of the data of a sample and its descendants.
fn bytes_of(sample: &Sample) -> u64 {
    match &sample.payload {
        Payload::Asset { size, .. } => *size,
        Payload::Bytes(bytes) => bytes.len() as u64,
        Payload::Folder(tortilla) => tortilla
            .samples
            .iter()
            .map(bytes_of)
            .fold(0, u64::saturating_add),
    }
}

fn describe_source_fault(
    sample: &Sample,
    containers: &HashMap<ContainerVersion<'_>, Result<u64, String>>,
) -> Option<String> {
    let Payload::Asset {
        path,
        size,
        modified,
    } = &sample.payload
    else {
        return None;
    };
    if path.remote_file().is_some() {
        return None;
    }
    match path {
        AssetPath::File(path) => match looked_at(path) {
            Ok(found) if found.len() != *size => Some(tr_n!(
                *size,
                "{path} had {size} byte when it was added and has {found} now. Add it again, or \
                    point the sample at it again.",
                "{path} had {size} bytes when it was added and has {found} now. Add it again, or \
                    point the sample at it again.",
                path = path.display(),
                size,
                found = found.len()
            )),
            Ok(found) if !modified.agrees(Modified::of_file(&found)) => Some(tr!(
                "{path} was modified since it was added. Add it again, or point the sample at it \
                    again.",
                path = path.display()
            )),
            Ok(_) => crate::files::find_unfetched_file(path, *size).map(|error| error.sentence()),
            Err(fault) => Some(fault),
        },
        AssetPath::Range {
            container,
            offset,
            size,
            stamp,
        } => match containers.get(&(&**container, stamp.as_deref()))? {
            Ok(found) if offset.checked_add(*size).is_none_or(|end| end > *found) => Some(tr!(
                "{path} has {found} bytes; the sample is {size} bytes at {offset}. The file was \
                    truncated or replaced.",
                path = container.display(),
                found,
                size,
                offset
            )),
            outcome => outcome.clone().err(),
        },
        AssetPath::Packed(member) if member.codec == PackedCodec::Folder => {
            crate::unpack::expect_archive(member)
                .err()
                .map(|error| error.sentence())
        }
        // Reading compares what it unpacks to.
        AssetPath::Packed(member) => match looked_at(&member.archive) {
            Ok(_) => crate::unpack::expect_archive(member)
                .err()
                .map(|error| error.sentence()),
            Err(fault) => Some(fault),
        },
        // Other GDAL paths cannot be checked without opening them.
        AssetPath::Vsi(_) => None,
    }
}

/// Extensions of files that may be references.
const DESCRIBES: &[&str] = &[
    "vrt", "gti", "mrf", "xml", "json", "wms", "safe", "dim", "dimap",
];

/// Rule and message for a file that refers to other data. Only files with such an extension are
/// opened; the check of the written dataset covers the others.
fn reference_problem(sample: &Sample) -> Option<(Rule, String)> {
    let Payload::Asset {
        path: path @ AssetPath::File(file),
        ..
    } = &sample.payload
    else {
        return None;
    };
    let ending = file.extension()?.to_str()?.to_ascii_lowercase();
    let local = !is_remote(file) && DESCRIBES.contains(&ending.as_str());
    let named = local.then(|| references_of(path).ok().flatten())??;
    Some(if named.is_header() {
        (
            Rule::FileNeedsOthers,
            multi_file_formats::format_header_message(file.file_name()?.to_str()?, &named),
        )
    } else {
        (Rule::DataElsewhere, super::references::message(&named))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn data_that_is_called_as_padding_is_named() {
        let folder = tempfile::tempdir().expect("has a temporary folder");
        let path = folder.path().join("a.bin");
        std::fs::write(&path, b"12345678").expect("writes");
        let empty = folder.path().join("empty");
        std::fs::write(&empty, b"").expect("writes");
        let file = |id: &str| Sample::new_file(id, &path, 8);
        let real = Sample::new_folder(
            "__TACOPAD__0",
            Tortilla::new(vec![file("a"), Sample::new_file("b", &empty, 0)]),
        );
        let padding = Sample::new_folder(
            "__TACOPAD__1",
            Tortilla::new(vec![Sample::new_file("__TACOPAD__0", &empty, 0)]),
        );
        let dataset = Dataset {
            root: Tortilla::new(vec![real, padding, file("x")]).into(),
            ..Dataset::default()
        };
        let found = sources(&dataset, &HeaderCache::default(), &JobContext::default())
            .expect("checks")
            .findings;
        assert_eq!(found.len(), 1, "{found:?}");
        assert!(
            found[0].rule == Rule::IdCharacters && found[0].message.contains("8 bytes"),
            "{found:?}"
        );
    }

    #[test]
    fn each_header_is_read_once_for_a_cache() {
        let folder = tempfile::tempdir().expect("has a temporary folder");
        let path = folder.path().join("a.tif");
        std::fs::write(&path, b"II*\0\x08\0\0\0 not a TIFF").expect("writes");
        let meta = std::fs::metadata(&path).expect("is there");
        let dataset = Dataset {
            root: Tortilla::new(vec![Sample::from_file_metadata("a.tif", &path, &meta)]).into(),
            ..Dataset::default()
        };
        let (one, other) = (HeaderCache::default(), HeaderCache::default());
        for cache in [&one, &other, &one] {
            let report = sources(&dataset, cache, &JobContext::default()).expect("checks");
            assert!(report.has(Rule::RasterRead), "{report:?}");
        }
        assert_eq!((one.len(), other.len()), (1, 1));
    }

    #[test]
    fn a_raster_of_two_files_is_one_finding_and_an_ordinary_set_of_files_none() {
        let folder = tempfile::tempdir().expect("has a temporary folder");
        let write = |name: &str, bytes: &[u8]| {
            let path = folder.path().join(name);
            std::fs::write(&path, bytes).expect("writes");
            Sample::new_file(name, &path, bytes.len() as u64)
        };
        let header = "ENVI\nsamples = 4\nlines = 4\nbands = 2\ndata type = 4\ninterleave = bsq\n\
            byte order = 0\n";
        let samples = vec![
            write("cube.dat", &[0; 4 * 4 * 2 * 4]),
            write("cube.hdr", header.as_bytes()),
            write("notes.json", b"{}"),
            write("notes.txt", b"text"),
        ];
        let mut dataset = Dataset {
            root: Tortilla::new(samples).into(),
            ..Dataset::default()
        };
        let report =
            sources(&dataset, &HeaderCache::default(), &JobContext::default()).expect("checks");
        let found: Vec<(Rule, String)> = report
            .findings
            .iter()
            .map(|finding| (finding.rule, finding.at.to_string()))
            .collect();
        assert_eq!(
            found,
            [(Rule::FileNeedsOthers, "cube.dat".to_owned())],
            "{report:?}"
        );
        let message = &report.findings[0].message;
        assert!(
            message.contains("cube.hdr") && message.contains("4 × 4, 2 bands of Float32"),
            "{message}"
        );
        // Also without the header among the samples: it is what makes the bytes a raster.
        std::sync::Arc::make_mut(&mut dataset.root)
            .samples
            .remove(1);
        assert!(
            sources(&dataset, &HeaderCache::default(), &JobContext::default())
                .expect("checks")
                .has(Rule::FileNeedsOthers)
        );
    }

    #[test]
    fn missing_and_changed_files_are_findings_and_others_pass() {
        let folder = tempfile::tempdir().expect("has a temporary folder");
        let path = folder.path().join("a.bin");
        std::fs::write(&path, b"12345678").expect("writes");
        let range = |id: &str, offset, size| Sample {
            payload: Payload::asset(AssetPath::range(path.as_path(), offset, size), size),
            ..Sample::new_file(id, &path, size)
        };
        let inner = vec![
            range("all", 0, 8),
            range("beyond", 4, 5),
            range("endless", u64::MAX, 2),
        ];
        let samples = vec![
            Sample::new_file("whole", &path, 8),
            Sample::new_file("changed", &path, 9),
            Sample::new_file("gone", folder.path().join("b.bin"), 1),
            Sample::new_file("folder", folder.path(), 1),
            Sample::new_folder("ranges", Tortilla::new(inner)),
        ];
        let dataset = Dataset {
            root: Tortilla::new(samples).into(),
            ..Dataset::default()
        };
        let report =
            sources(&dataset, &HeaderCache::default(), &JobContext::default()).expect("looks");
        let places: Vec<String> = report
            .findings
            .iter()
            .map(|finding| finding.at.to_string())
            .collect();
        assert_eq!(
            places,
            [
                "changed",
                "gone",
                "folder",
                "ranges / beyond",
                "ranges / endless"
            ]
        );
        assert!(
            report
                .findings
                .iter()
                .all(|finding| finding.rule == Rule::SourceMissing)
        );
        assert!(
            report.findings[1].message.contains("b.bin"),
            "{}",
            report.findings[1].message
        );
    }
}
