//! Files and folders become samples and tortillas; tables beside them become metadata fields.

use std::borrow::Cow;
use std::collections::{BTreeMap, HashSet};
use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use arrow::array::Array;

use super::found_file::is_data;
use super::sidecars::SidecarHandling;
use crate::draft::Unplaced;
use crate::error::{Cause, Error, IoContext, Result};
use crate::extensions::{
    ComputedColumn, ExtensionRun, MatchedLevel, MatchedRows, match_rows, read_for_draft,
};
use crate::files;
use crate::folder_archive::{FolderArchive, archive_name, is_store, warn_of_stores};
use crate::jobs::JobContext;
use crate::model::{Dataset, MAX_LEVELS, Sample, Tortilla, Value, check_field_name, in_nfc};
use crate::raster::{NamesBeside, sidecar_of};
use crate::table::{JoinRequest, KeyedTable, LevelTable};
use crate::text::list_first;

/// Result of an import.
#[derive(Clone, Debug, Default, PartialEq, Eq, serde::Serialize)]
pub struct Imported {
    /// FILEs added.
    pub files: u64,
    /// FOLDERs added.
    pub folders: u64,
    /// Bytes of the FILEs.
    pub bytes: u64,
    /// Files beside the folders that were added: they went into the tray.
    pub unplaced: u64,
    /// Skipped files, with the reason.
    pub skipped: Vec<String>,
}

/// Turns paths into samples: folders become FOLDERs with everything below them, files FILEs.
/// Siblings are in byte order of their names. Hidden files, `__meta__` and sidecars of rasters are
/// left out and listed; links to folders above are not followed.
///
/// # Errors
/// When a path can't be read or has no name, and when folders are nested too deep.
pub fn import_paths(paths: &[PathBuf], ctx: &JobContext) -> Result<(Vec<Sample>, Imported)> {
    ctx.stage(tr!("Looking at the files"), None);
    let mut report = Imported::default();
    let mut samples = Vec::with_capacity(paths.len());
    let beside: NamesBeside = paths
        .iter()
        .filter_map(|path| path.file_name().and_then(|name| name.to_str()))
        .collect();
    for path in paths {
        let meta = std::fs::metadata(path).io_at("read", path)?;
        let name = path.file_name().or_else(|| path.parent()?.file_name());
        let name = name
            .ok_or_else(|| Error::usage("this path has no name to make an id of").at_path(path))?;
        let Some(id) = text_name(name, path, &beside, SidecarHandling::Leave, &mut report) else {
            continue;
        };
        let mut links = Links::for_folder(path);
        samples.extend(scan(path, &id, &meta, 0, &mut links, &mut report, ctx)?);
        links.warn(ctx);
    }
    Ok((samples, report))
}

/// True for a folder of folders: dropped on an empty draft its contents are meant, one root for
/// each. A few files between the folders change nothing: documents, or fewer others than half of
/// three folders or more. With more it may be one root.
pub fn is_folder_of_folders(path: &Path) -> bool {
    let Ok(entries) = std::fs::read_dir(path) else {
        return false;
    };
    if is_store(path) {
        return false;
    }
    let (mut folders, mut documents, mut files) = (0, 0, 0);
    for entry in entries.flatten() {
        let name = entry.file_name();
        let name = name.to_string_lossy();
        if !is_data(&name) {
        } else if entry.path().is_dir() && !is_store(&entry.path()) {
            folders += 1
        } else if is_document(&name) {
            documents += 1
        } else {
            files += 1
        }
    }
    match (documents, files) {
        (0, 0) => folders > 0,
        (_, 0) => folders > 1,
        _ => folders > 2 && files * 2 < folders,
    }
}

/// True for what describes data and is none: texts, tables, pages.
pub(super) fn is_document(name: &str) -> bool {
    const ENDINGS: [&str; 16] = [
        "txt", "md", "rst", "pdf", "html", "csv", "tsv", "xlsx", "ods", "json", "geojson", "xml",
        "yml", "yaml", "log", "parquet",
    ];
    match name.to_lowercase().rsplit_once('.') {
        Some((_, ending)) => ENDINGS.contains(&ending),
        None => matches!(
            name.to_lowercase().as_str(),
            "readme" | "license" | "licence" | "makefile"
        ),
    }
}

/// The folders inside `folder` as the samples of a root tortilla, and the loose files beside them,
/// which get no position.
///
/// # Errors
/// When the folder can't be read.
pub fn import_scenes(
    folder: &Path,
    ctx: &JobContext,
) -> Result<(Vec<Sample>, Vec<Unplaced>, Imported)> {
    let (samples, mut report) = import_folder(folder, SidecarHandling::Leave, ctx)?;
    let (scenes, loose): (Vec<Sample>, Vec<Sample>) = samples
        .into_iter()
        .partition(|sample| sample.children().is_some());
    // Only empty folders: the files become the roots.
    if scenes.is_empty() {
        return Ok((loose, Vec::new(), report));
    }
    let unplaced = loose.iter().map(|sample| {
        let path = folder.join(&*sample.id);
        let size = std::fs::metadata(&path).io_at("read", &path)?.len();
        Ok(Unplaced::file(path, size))
    });
    let unplaced = unplaced.collect::<Result<Vec<_>>>()?;
    report.files -= unplaced.len() as u64;
    report.bytes = report
        .bytes
        .saturating_sub(unplaced.iter().map(|file| file.size).sum());
    report.unplaced = unplaced.len() as u64;
    Ok((scenes, unplaced, report))
}

/// Everything inside `folder` as the samples of a root tortilla, without sidecars. Those are listed
/// as left out, except with
/// [`SidecarHandling::Pack`]: [`super::pack_sidecars`] makes samples of them.
///
/// # Errors
/// When the folder can't be read.
pub fn import_folder(
    folder: &Path,
    sidecars: SidecarHandling,
    ctx: &JobContext,
) -> Result<(Vec<Sample>, Imported)> {
    ctx.stage(tr!("Looking at the files"), None);
    let mut report = Imported::default();
    let mut links = Links {
        sidecars,
        ..Links::for_folder(folder)
    };
    let samples = if is_store(folder) {
        let name = folder.file_name().unwrap_or_default().to_string_lossy();
        vec![store_sample(folder, &name, &mut links, &mut report)?]
    } else {
        children(folder, 0, &mut links, &mut report, ctx)?
    };
    links.warn(ctx);
    Ok((samples, report))
}

/// The links met below a folder that lead out of it. They are followed: a folder of links to scenes
/// is a way to choose scenes. But what they lead to is packed with the rest, so that is said.
struct Links {
    folder: PathBuf,
    sidecars: SidecarHandling,
    /// The canonical path; none where the system can't resolve it.
    real: Option<PathBuf>,
    /// How many lead out.
    out: u64,
    /// The first of them.
    first: Vec<String>,
    /// Names of the FILEs that Zarr stores become.
    stores: Vec<String>,
    /// The first ids, which FILEs of other FOLDERs have too.
    ids: HashSet<Arc<str>>,
}

impl Links {
    const MAX_NAMES: usize = 3;

    fn for_folder(folder: &Path) -> Self {
        Self {
            folder: folder.to_owned(),
            sidecars: SidecarHandling::default(),
            real: folder.canonicalize().ok(),
            out: 0,
            first: Vec::new(),
            stores: Vec::new(),
            ids: HashSet::new(),
        }
    }

    /// An id, which is kept once for all FILEs that have it.
    fn share_id(&mut self, id: &str) -> Arc<str> {
        /// Ids that are kept; where all are different there are as many as FILEs.
        const KEPT: usize = 1024;
        if let Some(known) = self.ids.get(id) {
            return known.clone();
        }
        let id: Arc<str> = id.into();
        if self.ids.len() < KEPT {
            self.ids.insert(id.clone());
        }
        id
    }

    fn follow(&mut self, link: &Path) {
        let inside = || Some(link.canonicalize().ok()?.starts_with(self.real.as_ref()?));
        if inside() == Some(true) {
            return;
        }
        self.out += 1;
        if self.first.len() < Self::MAX_NAMES {
            self.first.push(link.display().to_string());
        }
    }

    fn warn(&self, ctx: &JobContext) {
        warn_of_stores(&self.stores, ctx);
        if self.out == 0 {
            return;
        }
        let more = if self.out > Self::MAX_NAMES as u64 {
            ", …"
        } else {
            ""
        };
        let (folder, first) = (self.folder.display(), self.first.join(", "));
        let links = if self.out == 1 {
            "1 link leads".to_owned()
        } else {
            format!("{} links lead", self.out)
        };
        ctx.warn(format!(
            "{links} out of {folder}; what is there becomes part of the dataset: {first}{more}"
        ));
    }
}

fn scan(
    path: &Path,
    id: &str,
    meta: &std::fs::Metadata,
    depth: usize,
    links: &mut Links,
    report: &mut Imported,
    ctx: &JobContext,
) -> Result<Option<Sample>> {
    ctx.check()?;
    if meta.is_file() {
        report.files += 1;
        report.bytes += meta.len();
        ctx.step(1);
        let id = links.share_id(id);
        return Ok(Some(Sample::from_file_metadata(id, path, meta)));
    }
    if !meta.is_dir() {
        let what = files::special_file_type(meta.file_type()).unwrap_or("a special file");
        report.skipped.push(format!(
            "{}: it is {what}, neither a file nor a folder",
            path.display()
        ));
        return Ok(None);
    }
    if is_store(path) {
        return Ok(Some(store_sample(path, id, links, report)?));
    }
    if depth >= MAX_LEVELS - 1 {
        return Err(Error::usage(format!(
            "folders are nested more than {MAX_LEVELS} deep; a dataset has at most {MAX_LEVELS} \
                levels"
        ))
        .at_path(path)
        .caused_by(Cause::StructuresDiffer));
    }
    let samples = children(path, depth + 1, links, report, ctx)?;
    if samples.is_empty() {
        report
            .skipped
            .push(format!("{}: an empty folder", path.display()));
        return Ok(None);
    }
    report.folders += 1;
    Ok(Some(Sample::new_folder(id, Tortilla::new(samples))))
}

/// The FILE that a Zarr store called `name` becomes.
fn store_sample(
    folder: &Path,
    name: &str,
    links: &mut Links,
    report: &mut Imported,
) -> Result<Sample> {
    let archive = FolderArchive::list(folder)?;
    let id = archive_name(name);
    report.files += 1;
    report.bytes += archive.size_bytes();
    let sample = archive.sample(&id);
    links.stores.push(id);
    Ok(sample)
}

fn children(
    folder: &Path,
    depth: usize,
    links: &mut Links,
    report: &mut Imported,
    ctx: &JobContext,
) -> Result<Vec<Sample>> {
    // The names alone: an entry of a folder takes several times as much.
    let mut names: Vec<Box<OsStr>> = Vec::new();
    for entry in std::fs::read_dir(folder).io_at("read the folder", folder)? {
        names.push(
            entry
                .io_at("read the folder", folder)?
                .file_name()
                .into_boxed_os_str(),
        );
    }
    // In NFC, so that the forms in which a system writes them do not change the order.
    names.sort_by(|a, b| name_in_nfc(a).cmp(&name_in_nfc(b)));
    let beside: NamesBeside = names.iter().filter_map(|name| name.to_str()).collect();
    let mut samples = Vec::with_capacity(names.len());
    for name in names {
        let path = folder.join(&*name);
        let Some(id) = text_name(&name, &path, &beside, links.sidecars, report) else {
            continue;
        };
        let mut meta = std::fs::symlink_metadata(&path).io_at("read", &path)?;
        // Links are followed, so that a folder of links to scenes works; the level limit ends
        // loops.
        if meta.is_symlink() {
            meta = std::fs::metadata(&path).io_at("read", &path)?;
            links.follow(&path);
        }
        samples.extend(scan(&path, &id, &meta, depth, links, report, ctx)?);
    }
    Ok(samples)
}

/// A name in NFC; one that is not Unicode stays.
fn name_in_nfc(name: &OsStr) -> Cow<'_, OsStr> {
    match name.to_str().map(in_nfc) {
        Some(Cow::Owned(text)) => Cow::Owned(text.into()),
        _ => Cow::Borrowed(name),
    }
}

/// Keys and paths that a warning names.
const MAX_NAMES: usize = 5;
fn text_name(
    name: &std::ffi::OsStr,
    path: &Path,
    beside: &NamesBeside,
    sidecars: SidecarHandling,
    report: &mut Imported,
) -> Option<String> {
    let Some(text) = name.to_str() else {
        report
            .skipped
            .push(format!("{}: its name is not Unicode", path.display()));
        return None;
    };
    if let Some(kind) = sidecar_of(text, beside) {
        if sidecars != SidecarHandling::Pack {
            report.skipped.push(format!(
                "{}: a sidecar of a raster, {}",
                path.display(),
                kind.text()
            ));
        }
        return None;
    }
    if !is_data(text) {
        report.skipped.push(format!("{}: not data", path.display()));
        return None;
    }
    Some(text.to_owned())
}

/// Joins a table to a dataset by relative path (`roi_0007/s2/t02.tif`; FOLDERs with or without a
/// slash at the end). Each level gets the columns that say something about it. Gives a warning for
/// rows that match nothing and samples that no row names.
///
/// # Errors
/// For a table that can't be read or has no column of paths, rows that name a sample twice or match
/// none, and names that fields can't have.
pub fn join_metadata(dataset: &mut Dataset, request: &JoinRequest, ctx: &JobContext) -> Result<()> {
    ctx.stage(tr!("Joining the metadata"), None);
    let keyed = read_for_draft(dataset, request, ctx)?;
    keyed.warnings.iter().for_each(|warning| ctx.warn(warning));
    let keyed = keyed.with_field_names(ctx)?;
    let found = match_rows(&dataset.root, &keyed, ctx)?;
    let table = &keyed.table;
    let fields = table.fields();
    for field in fields
        .iter()
        .filter(|field| matches!(field.name.as_str(), "id" | "type") && field.name != keyed.key())
    {
        if !repeats_the_model(&keyed, &field.name)? {
            ctx.warn(format!(
                "the column {0} of the metadata table is left out: every sample has its own {0}; \
                    call it something else to keep it",
                field.name
            ));
        }
    }
    let computed: Vec<&str> = fields
        .iter()
        .map(|field| field.name.as_str())
        .filter(|name| name.starts_with("internal:") && *name != keyed.key())
        .collect();
    if !computed.is_empty() {
        ctx.warn(format!(
            "the columns {} of the metadata table are left out: internal columns are computed for \
                each dataset; give a column another \
             name to keep it",
            computed.join(", ")
        ));
    }
    let columns = keyed.columns();
    for &column in &columns {
        let name = &fields[column].name;
        check_field_name(name).map_err(|fault| {
            Error::usage(format!("the column \"{name}\" {fault}")).at_path(&keyed.path)
        })?;
    }
    let is_matched = |row: usize| found.samples.get(row).is_some_and(Option::is_some);
    keyed.check_matches(&is_matched, "sample", ctx)?;
    warn_of_types(&found, &keyed, ctx)?;
    let mut run = ExtensionRun::default();
    // A column with a type is kept without any value, as the table states it.
    let mut empty = columns.clone();
    for level in &found.levels {
        empty.retain(|&column| !has_matched_value(level, table, column));
    }
    for level in &found.levels {
        ctx.check()?;
        let is_matched = level.matched_rows().next().is_some();
        let useful = |column: &&usize| {
            has_matched_value(level, table, **column) || (is_matched && empty.contains(column))
        };
        let joined = columns.iter().filter(useful).map(|&column| ComputedColumn {
            field: fields[column].clone(),
            values: level
                .rows
                .iter()
                .map(|row| row.map_or(Value::Null, |row| table.value(row, column)))
                .collect(),
            touched: level.rows.iter().map(Option::is_some).collect(),
        });
        run.columns.push(joined.collect());
        let missing = level.samples - level.matched_rows().count();
        if missing > 0 && missing < level.samples {
            let samples = if missing == 1 {
                "1 sample is".to_owned()
            } else {
                format!("{missing} samples are")
            };
            ctx.warn(format!(
                "{samples} in no row of the metadata table, so that values are null: {}",
                list_first(&level.first_unmatched, MAX_NAMES)
            ));
        }
    }
    let root = std::mem::take(&mut dataset.root);
    dataset.root = run.apply(root, true)?;
    Ok(())
}

fn has_matched_value(level: &MatchedLevel, table: &LevelTable, column: usize) -> bool {
    level
        .matched_rows()
        .any(|row| !table.value(row, column).is_null())
}

/// Warns of rows whose `type` is not that of their sample.
fn warn_of_types(found: &MatchedRows, keyed: &KeyedTable, ctx: &JobContext) -> Result<()> {
    let Some(values) = keyed
        .table
        .strings("type")?
        .filter(|_| keyed.key() != "type")
    else {
        return Ok(());
    };
    let mut wrong: BTreeMap<usize, &str> = BTreeMap::new();
    for level in &found.levels {
        for (row, &is_folder) in level.rows.iter().zip(&level.folders) {
            let kind = if is_folder { "FOLDER" } else { "FILE" };
            if let Some(row) = row.filter(|&row| values.is_valid(row))
                && matches!(values.value(row), "FILE" | "FOLDER")
                && values.value(row) != kind
            {
                wrong.insert(row, kind);
            }
        }
    }
    if let Some((&row, kind)) = wrong.first_key_value() {
        let samples = if wrong.len() == 1 {
            "1 sample"
        } else {
            &format!("{} samples", wrong.len())
        };
        let path = found
            .samples
            .get(row)
            .and_then(Option::as_deref)
            .unwrap_or_default();
        ctx.warn(format!(
            "the type of {samples} in the metadata table is left out, as it is \
            another one: {path} is {kind}"
        ));
    }
    Ok(())
}

/// True when a column `id` or `type` says what the samples say themselves, as in a table that was
/// made from a dataset.
fn repeats_the_model(keyed: &KeyedTable, name: &str) -> Result<bool> {
    let Some(values) = keyed.table.strings(name)? else {
        return Ok(true);
    };
    Ok(keyed.keyed_rows().all(|(row, path)| match name {
        _ if values.is_null(row) => true,
        "type" => matches!(values.value(row), "FILE" | "FOLDER"),
        _ => path.rsplit('/').next() == Some(values.value(row)),
    }))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn folder() -> tempfile::TempDir {
        let folder = tempfile::tempdir().expect("has a temporary folder");
        for path in [
            "b/after.tif",
            "b/before.tif",
            "a/after.tif",
            "a/before.tif",
            "a/.hidden",
        ] {
            let path = folder.path().join("scenes").join(path);
            std::fs::create_dir_all(path.parent().expect("has a parent")).expect("makes a folder");
            std::fs::write(path, b"data").expect("writes");
        }
        folder
    }

    #[test]
    fn folders_become_tortillas_in_name_order() {
        let folder = folder();
        let (samples, report) = import_folder(
            &folder.path().join("scenes"),
            SidecarHandling::Leave,
            &JobContext::default(),
        )
        .expect("imports");
        let ids: Vec<_> = samples.iter().map(|sample| &*sample.id).collect();
        assert_eq!(ids, ["a", "b"]);
        let [a, b] = [0, 1].map(|at: usize| samples[at].children().expect("a FOLDER"));
        assert!(Arc::ptr_eq(&a.samples[0].id, &b.samples[0].id));
        assert_eq!(
            (
                report.files,
                report.folders,
                report.bytes,
                report.skipped.len()
            ),
            (4, 2, 16, 1)
        );
    }

    #[test]
    fn sidecars_are_left_out_and_listed_unless_they_are_packed_later() {
        let folder = tempfile::tempdir().expect("a folder");
        for name in [
            "a.tif",
            "a.tif.msk",
            "a.tif.aux.xml",
            "a.tfw",
            "a.prj",
            "b.shp",
            "b.prj",
        ] {
            std::fs::write(folder.path().join(name), b"1").expect("writes");
        }
        let imported = |sidecars: SidecarHandling| {
            let (samples, report) =
                import_folder(folder.path(), sidecars, &JobContext::default()).expect("imports");
            (
                samples
                    .iter()
                    .map(|sample| sample.id.to_string())
                    .collect::<Vec<_>>(),
                report.skipped.len(),
            )
        };
        let data: Vec<String> = ["a.tif", "b.prj", "b.shp"].map(Into::into).to_vec();
        assert_eq!(imported(SidecarHandling::Leave), (data.clone(), 4));
        assert_eq!(imported(SidecarHandling::Pack), (data, 0));
    }

    #[test]
    fn what_programs_leave_beside_data_is_no_data() {
        for name in [
            "__pycache__",
            "a.tif.part",
            "Icon\r",
            "Thumbs.db",
            "~$labels.xlsx",
            "notes.txt~",
            "b.TMP",
            "@eaDir",
            ".cache",
            "__meta__",
        ] {
            assert!(!is_data(name), "{name}");
        }
        for name in ["part", "a.tif", "part.tif", "tmp", "icon.png"] {
            assert!(is_data(name), "{name}");
        }
    }

    #[test]
    fn a_zarr_store_is_one_file_with_its_hidden_metadata() {
        use crate::model::{AssetPath, Payload};

        let place = tempfile::tempdir().expect("a folder");
        let folder = place.path().join("cube.zarr");
        for name in [
            ".zgroup",
            ".zattrs",
            ".zmetadata",
            "b4/.zarray",
            "b4/0.0",
            ".DS_Store",
            "b4/.0.0.swp",
        ] {
            let path = folder.join(name);
            std::fs::create_dir_all(path.parent().expect("has one")).expect("makes a folder");
            std::fs::write(path, b"{}").expect("writes");
        }
        for source in [&folder, place.path()] {
            let (samples, report) =
                import_folder(source, SidecarHandling::Leave, &JobContext::default())
                    .expect("imports");
            let ids: Vec<_> = samples.iter().map(|sample| &*sample.id).collect();
            assert_eq!(ids, ["cube.zarr.zip"]);
            assert_eq!((report.files, report.folders), (1, 0), "{report:?}");
            let Payload::Asset {
                path: AssetPath::Packed(member),
                ..
            } = &samples[0].payload
            else {
                panic!("{samples:?}")
            };
            let archive = FolderArchive::list(&member.archive).expect("lists");
            let names: Vec<&str> = archive.files().map(|(name, ..)| name).collect();
            assert_eq!(names.len(), 7, "{names:?}");
            assert!(names.contains(&".zmetadata") && names.contains(&"b4/.zarray"));
        }
    }

    #[test]
    fn metadata_joins_by_path_at_its_level() {
        let folder = folder();
        let (samples, _) = import_folder(
            &folder.path().join("scenes"),
            SidecarHandling::Leave,
            &JobContext::default(),
        )
        .expect("imports");
        let mut dataset = Dataset {
            root: Tortilla::new(samples).into(),
            ..Dataset::default()
        };
        let csv = folder.path().join("meta.csv");
        std::fs::write(
            &csv,
            "path,split,cloud\na,train,\nb/,test,\nb/after.tif,,3\n",
        )
        .expect("writes");
        let join = JoinRequest {
            table: csv,
            ..JoinRequest::default()
        };
        join_metadata(&mut dataset, &join, &JobContext::default()).expect("joins");
        let names = |tortilla: &Tortilla| {
            tortilla
                .schema
                .iter()
                .map(|field| field.name.clone())
                .collect::<Vec<_>>()
        };
        assert_eq!(names(&dataset.root), ["split"]);
        assert_eq!(dataset.root.samples[1].value(0), &Value::text("test"));
        let b = dataset.root.samples[1].children().expect("is a FOLDER");
        assert_eq!(names(b), ["cloud"]);
        assert_eq!(
            (b.samples[0].value(0), b.samples[1].value(0)),
            (&Value::Int(3), &Value::Null)
        );
    }

    #[test]
    fn columns_that_can_not_be_fields_are_told_of() {
        let folder = folder();
        let (samples, _) = import_folder(
            &folder.path().join("scenes"),
            SidecarHandling::Leave,
            &JobContext::default(),
        )
        .expect("imports");
        let csv = folder.path().join("meta.csv");
        let join = JoinRequest {
            table: csv.clone(),
            ..JoinRequest::default()
        };
        let warned = |text: &str| {
            std::fs::write(&csv, text).expect("writes");
            let mut dataset = Dataset {
                root: Tortilla::new(samples.clone()).into(),
                ..Dataset::default()
            };
            let ctx = JobContext::default();
            join_metadata(&mut dataset, &join, &ctx).expect("joins");
            ctx.warnings().join("\n")
        };
        let warnings = warned("path,id,type\na,A,forest\nb,B,urban\n");
        assert!(
            warnings.contains("the column id") && warnings.contains("the column type"),
            "{warnings}"
        );
        let warnings = warned("path,internal:offset,internal:size,cloud\na,1,2,3\n");
        assert!(
            warnings.contains("internal:offset, internal:size")
                && warnings.contains("are computed"),
            "{warnings}"
        );
        // A table that states another type than its sample has.
        let warnings = warned("path,type\na,FILE\nb/,FOLDER\n");
        assert!(
            warnings.contains("type of 1 sample") && warnings.contains("a is FOLDER"),
            "{warnings}"
        );
        // A table that repeats the dataset's own ids and types gets no warning.
        assert_eq!(warned("path,id,type\na,a,FOLDER\nb/,b,FOLDER\n"), "");
    }

    #[test]
    fn a_loose_file_between_scenes_does_not_make_them_one_root() {
        let folder = tempfile::tempdir().expect("makes a folder");
        let write = |path: &str| {
            let path = folder.path().join(path);
            std::fs::create_dir_all(path.parent().expect("has one")).expect("makes a folder");
            std::fs::write(path, b"123").expect("writes");
        };
        for scene in ["a", "b", "c"] {
            write(&format!("{scene}/before.tif"));
        }
        assert!(is_folder_of_folders(folder.path()));
        write("notes.txt");
        write("overview.tif");
        assert!(is_folder_of_folders(folder.path()));
        let (samples, loose, report) =
            import_scenes(folder.path(), &JobContext::default()).expect("imports");
        assert_eq!(
            samples.iter().map(|sample| &*sample.id).collect::<Vec<_>>(),
            ["a", "b", "c"]
        );
        let names: Vec<_> = loose
            .iter()
            .map(|file| {
                (
                    file.path.file_name().expect("has one").to_owned(),
                    file.size,
                )
            })
            .collect();
        assert_eq!(names, [("notes.txt".into(), 3), ("overview.tif".into(), 3)]);
        assert_eq!(
            (report.files, report.folders, report.bytes, report.unplaced),
            (3, 3, 9, 2)
        );
        // As many data files as that may as well be one root with FOLDERs in it.
        write("label.tif");
        assert!(!is_folder_of_folders(folder.path()));
    }
}
