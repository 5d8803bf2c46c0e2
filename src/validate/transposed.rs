//! Recognises a layout by kind of data: `images/0001.tif` beside `masks/0001.tif`. Its FOLDERs of
//! level 0 have one shape and are valid roots, but each holds one kind of file of every sample: the
//! dataset is the other way around.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use super::header_cache::{HeaderCache, HeaderLook, TextId, Version};
use crate::error::Result;
use crate::jobs::JobContext;
use crate::model::{AssetPath, Location, Report, Rule, Skeleton, is_padding};
use crate::text::list_first;

/// Maximum number of FOLDERs that are taken for kinds of data.
const KINDS_MAX: usize = 16;
/// Maximum number of files of a FOLDER that are looked at by name.
const FILES_MAX: usize = 100_000;
/// Number of files of each FOLDER whose headers are read.
const READ: usize = 5;
/// Names and FOLDERs that the message lists.
const MAX_NAMES: usize = 3;

/// Contents of a file: of a raster by its header, of others by the extension.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum ContentKind {
    Raster { dtype: TextId, bands: u32 },
    Other { extension: String },
}

/// The files of a FOLDER of level 0: level and row by path below the FOLDER without the extension.
type FilesByStem = BTreeMap<String, (usize, u32)>;

/// Reports the layout. `asset(level, row)` gives the bytes of a FILE; none for those that are not
/// read.
///
/// # Errors
/// When the job is cancelled.
pub(super) fn check(
    tree: &Skeleton,
    asset: &dyn Fn(usize, u32) -> Option<(AssetPath, Version)>,
    cache: &HeaderCache,
    report: &mut Report,
    ctx: &JobContext,
) -> Result<()> {
    let Some(top) = tree.levels.first() else {
        return Ok(());
    };
    let rows: Vec<u32> = (0..top.len() as u32)
        .take(KINDS_MAX + 1)
        .filter(|&row| !is_padding(top.id(row)))
        .collect();
    if !(2..=KINDS_MAX).contains(&rows.len())
        || top.len() > KINDS_MAX
        || rows.iter().any(|&row| !top.folder[row as usize])
    {
        return Ok(());
    }
    let mut folders: Vec<FilesByStem> = Vec::with_capacity(rows.len());
    for &row in &rows {
        ctx.check()?;
        let mut files = FilesByStem::new();
        files_below(tree, 0, row, "", &mut files);
        folders.push(files);
    }
    let Some((first, others)) = folders.split_first() else {
        return Ok(());
    };
    let common: Vec<&String> = first
        .keys()
        .filter(|stem| others.iter().all(|files| files.contains_key(*stem)))
        .collect();
    let fewest = folders.iter().map(BTreeMap::len).min().unwrap_or_default();
    // One file in each FOLDER, or few of the same name, are no parallel folders.
    if common.len() < 2 || common.len() * 2 <= fewest {
        return Ok(());
    }
    let step = common.len().div_ceil(READ).max(1);
    let mut kinds: Vec<ContentKind> = Vec::with_capacity(folders.len());
    for files in &folders {
        let mut kind: Option<ContentKind> = None;
        for stem in common.iter().step_by(step) {
            ctx.check()?;
            let Some(found) = files
                .get(*stem)
                .map(|place| kind_of(tree, *place, asset, cache))
                .transpose()?
                .flatten()
            else {
                return Ok(());
            };
            // A root with several kinds of files is what a root should be.
            if kind.as_ref().is_some_and(|known| *known != found) {
                return Ok(());
            }
            kind = Some(found);
        }
        kinds.extend(kind);
    }
    if kinds.iter().collect::<BTreeSet<_>>().len() < 2 {
        return Ok(());
    }
    let texts = cache.tables().0;
    let described: Vec<String> = rows
        .iter()
        .zip(&kinds)
        .map(|(row, kind)| format!("{} ({})", top.id(*row), text_of(kind, &texts)))
        .collect();
    report.add(
        Rule::PitTransposed,
        Location::Dataset,
        tr!(
            "The layout seems transposed: {folders} hold {n} files of the same names \
                ({names}), and each of them one kind of file. Each would be one sample. Make \
                one FOLDER for each name, with its file of every kind.",
            folders = described.join(", "),
            n = common.len(),
            names = list_first(&common, MAX_NAMES)
        ),
    );
    Ok(())
}

/// Adds the FILEs below a FOLDER.
fn files_below(tree: &Skeleton, depth: usize, row: u32, above: &str, files: &mut FilesByStem) {
    let (Some(level), Some(next)) = (tree.levels.get(depth), tree.levels.get(depth + 1)) else {
        return;
    };
    for &child in level.children(row) {
        let id = next.id(child);
        if files.len() >= FILES_MAX || is_padding(id) {
            continue;
        }
        if next.folder[child as usize] {
            files_below(tree, depth + 1, child, &format!("{above}{id}/"), files);
        } else {
            let stem = id
                .rsplit_once('.')
                .filter(|(stem, _)| !stem.is_empty())
                .map_or(id, |(stem, _)| stem);
            files.insert(format!("{above}{stem}"), (depth + 1, child));
        }
    }
}

/// What a FILE holds; `None` when it can't be read.
fn kind_of(
    tree: &Skeleton,
    (level, row): (usize, u32),
    asset: &dyn Fn(usize, u32) -> Option<(AssetPath, Version)>,
    cache: &HeaderCache,
) -> Result<Option<ContentKind>> {
    let Some((path, version)) = asset(level, row) else {
        return Ok(None);
    };
    Ok(match cache.look(&path, version)? {
        HeaderLook::Raster(header) => Some(ContentKind::Raster {
            dtype: header.dtype,
            bands: header.bands,
        }),
        HeaderLook::NoRaster | HeaderLook::Fault(_) => Some(ContentKind::Other {
            extension: find_extension(tree, level, row),
        }),
        HeaderLook::MissingCodec(_) | HeaderLook::Unread => None,
    })
}

fn find_extension(tree: &Skeleton, level: usize, row: u32) -> String {
    let id = tree.levels.get(level).map_or("", |level| level.id(row));
    id.rsplit_once('.')
        .map_or(String::new(), |(_, extension)| extension.to_lowercase())
}

fn text_of(kind: &ContentKind, texts: &[Arc<str>]) -> String {
    match kind {
        ContentKind::Raster { dtype, bands } => {
            let dtype = texts.get(*dtype as usize).map_or("", |text| &**text);
            tr_n!(
                *bands,
                "{n} band of {dtype}",
                "{n} bands of {dtype}",
                n = bands,
                dtype
            )
        }
        ContentKind::Other { extension } if extension.is_empty() => {
            tr!("files without an extension").to_owned()
        }
        ContentKind::Other { extension } => format!(".{extension}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::{Dataset, Sample, Tortilla};
    use crate::raster::{NewRaster, Samples, write_geotiff};

    /// A draft of FOLDERs with a raster for each name, with as many bands as `bands` says.
    fn draft(folder: &std::path::Path, folders: &[(&str, usize)], names: &[&str]) -> Dataset {
        let roots = folders.iter().map(|(id, bands)| {
            std::fs::create_dir_all(folder.join(id)).expect("makes a folder");
            let files = names.iter().map(|name| {
                let path = folder.join(id).join(name);
                let bands = (0..*bands).map(|_| Samples::U8(vec![1; 4])).collect();
                write_geotiff(
                    &path,
                    &NewRaster {
                        width: 2,
                        height: 2,
                        bands,
                        ..NewRaster::default()
                    },
                )
                .expect("writes");
                let size = std::fs::metadata(&path).expect("is there").len();
                Sample::new_file(name, &path, size)
            });
            Sample::new_folder(id, Tortilla::new(files.collect()))
        });
        Dataset {
            root: Tortilla::new(roots.collect()).into(),
            ..Dataset::default()
        }
    }

    fn found(dataset: &Dataset) -> Vec<String> {
        let report = super::super::sources(
            dataset,
            &super::super::HeaderCache::default(),
            &JobContext::default(),
        )
        .expect("checks");
        let own = report
            .findings
            .into_iter()
            .filter(|finding| finding.rule == Rule::PitTransposed);
        own.map(|finding| finding.message).collect()
    }

    #[test]
    fn parallel_folders_of_images_and_masks_are_said_to_be_transposed() {
        let folder = tempfile::tempdir().expect("a folder");
        let names = ["0001.tif", "0002.tif", "0003.tif", "0004.tif"];
        let messages = found(&draft(
            folder.path(),
            &[("images", 3), ("masks", 1)],
            &names,
        ));
        assert_eq!(messages.len(), 1, "{messages:?}");
        for part in [
            "images (3 bands of Byte)",
            "masks (1 band of Byte)",
            "4 files of the same names (0001, 0002, 0003, …)",
        ] {
            assert!(messages[0].contains(part), "{part}: {messages:?}");
        }
    }

    #[test]
    fn roots_with_the_same_files_are_not() {
        let folder = tempfile::tempdir().expect("a folder");
        let alike = draft(
            folder.path(),
            &[("a", 3), ("b", 3)],
            &["after.tif", "before.tif"],
        );
        assert_eq!(found(&alike), Vec::<String>::new(), "one kind everywhere");
        let mut mixed = draft(
            folder.path(),
            &[("c", 3), ("d", 2)],
            &["after.tif", "before.tif"],
        );
        let label = draft(folder.path(), &[("e", 1)], &["label.tif"]);
        let label = label.root.samples[0].children().expect("a FOLDER").samples[0].clone();
        for root in &mut Arc::make_mut(&mut mixed.root).samples {
            if let crate::model::Payload::Folder(children) = &mut root.payload {
                Arc::make_mut(children).samples.push(label.clone());
            }
        }
        assert_eq!(
            found(&mixed),
            Vec::<String>::new(),
            "several kinds in a root"
        );
        let single = draft(folder.path(), &[("f", 3), ("g", 1)], &["scene.tif"]);
        assert_eq!(
            found(&single),
            Vec::<String>::new(),
            "one name is no layout"
        );
    }
}
