//! The tray: files that belong to the draft but are not placed in the tree. Also replaces the paths
//! of sources whose folder was moved. No IO.

use std::collections::{HashMap, HashSet};
use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::edit::format_count;
use super::edit::{Content, Edit, TrayPlace, Unplaced};
use crate::error::{Error, Result};
use crate::model::{AssetPath, Modified, NodePath, PackedMember, Payload, Sample, Stamp, Tortilla};

impl Edit {
    /// The edit that appends files to the tray, skipping those already in it. `None` when no file
    /// remains.
    pub fn append_to_tray(
        tray: &[Unplaced],
        files: impl IntoIterator<Item = Unplaced>,
    ) -> Option<Edit> {
        let files: Vec<Unplaced> = files.into_iter().collect();
        let in_tray = find_same_paths(tray, files.iter().map(|file| &*file.path));
        let known = in_tray.iter().map(|&at| &*tray[at as usize].path);
        append_unknown(known.collect(), tray.len(), files)
    }

    /// As [`Edit::append_to_tray`], but files of the tray that have changed, such as in size, are
    /// appended again. Returns the indices in the tray of the outdated files, and the edit that
    /// appends, which is applied after their removal.
    pub fn renew_in_tray(tray: &[Unplaced], files: Vec<Unplaced>) -> Option<(Vec<u32>, Edit)> {
        let in_tray = find_same_paths(tray, files.iter().map(|file| &*file.path));
        let by_path: HashMap<&Path, &Unplaced> =
            files.iter().map(|file| (&*file.path, file)).collect();
        let has_changed = |at: &u32| {
            let known = &tray[*at as usize];
            by_path.get(&*known.path).is_some_and(|now| *now != known)
        };
        let (outdated, same): (Vec<u32>, Vec<u32>) = in_tray.into_iter().partition(has_changed);
        let known = same.iter().map(|&at| &*tray[at as usize].path);
        let kept = tray.len() - outdated.len();
        let append = append_unknown(known.collect(), kept, files)?;
        Some((outdated, append))
    }

    /// The edit that removes the files with these paths from the tray. `None` when there is none.
    pub fn remove_paths_from_tray(tray: &[Unplaced], paths: &[PathBuf]) -> Option<Edit> {
        let places = find_same_paths(tray, paths.iter().map(PathBuf::as_path));
        (!places.is_empty()).then_some(Edit::RemoveFromTray { places })
    }
}

/// The indices in the tray of the files with these paths. Whole paths are compared only where the
/// file name is the same, because a tray may have 100,000 files.
fn find_same_paths<'a>(
    tray: &[Unplaced],
    paths: impl Iterator<Item = &'a Path> + Clone,
) -> Vec<u32> {
    let names: HashSet<Option<&OsStr>> = paths.clone().map(Path::file_name).collect();
    let paths: HashSet<&Path> = paths.collect();
    (0..)
        .zip(tray)
        .filter(|(_, file)| names.contains(&file.path.file_name()) && paths.contains(&*file.path))
        .map(|(at, _)| at)
        .collect()
}

/// The edit that appends the files whose paths are not known to a tray of `length` files, each path
/// once. `None` when no file remains.
fn append_unknown(known: HashSet<&Path>, length: usize, files: Vec<Unplaced>) -> Option<Edit> {
    let mut seen = known;
    let are_new: Vec<bool> = files.iter().map(|file| seen.insert(&file.path)).collect();
    let unknown = files.into_iter().zip(are_new).filter(|(_, is_new)| *is_new);
    let files: Vec<TrayPlace> = unknown
        .zip(length as u32..)
        .map(|((file, _), at)| TrayPlace { at, file })
        .collect();
    (!files.is_empty()).then_some(Edit::AddToTray { files })
}

pub(super) fn add_to_tray(tray: &mut Arc<[Unplaced]>, files: Vec<TrayPlace>) -> Result<Edit> {
    let total = tray.len() + files.len();
    let ascending = files.windows(2).all(|pair| pair[0].at < pair[1].at);
    if !ascending || files.last().is_some_and(|last| last.at as usize >= total) {
        return Err(Error::usage(format!(
            "the indices do not match a tray of {}",
            format_count(total, "file")
        )));
    }
    let places = files.iter().map(|file| file.at).collect();
    let mut incoming = files.into_iter().peekable();
    let mut kept = tray.iter();
    let mut all = Vec::with_capacity(total);
    for place in 0..total as u32 {
        match incoming.next_if(|file| file.at == place) {
            Some(file) => all.push(file.file),
            None => all.extend(kept.next().cloned()),
        }
    }
    *tray = all.into();
    Ok(Edit::RemoveFromTray { places })
}

pub(super) fn remove_from_tray(tray: &mut Arc<[Unplaced]>, places: Vec<u32>) -> Result<Edit> {
    let ascending = places.windows(2).all(|pair| pair[0] < pair[1]);
    if !ascending
        || places
            .last()
            .is_some_and(|&last| last as usize >= tray.len())
    {
        return Err(Error::usage(format!(
            "the indices do not match a tray of {}",
            format_count(tray.len(), "file")
        )));
    }
    let mut files = Vec::with_capacity(places.len());
    let mut kept = Vec::with_capacity(tray.len() - places.len());
    let mut next = places.iter().peekable();
    for (file, at) in tray.iter().zip(0..) {
        match next.next_if(|place| **place == at) {
            Some(_) => files.push(TrayPlace {
                at,
                file: file.clone(),
            }),
            None => kept.push(file.clone()),
        }
    }
    *tray = kept.into();
    Ok(Edit::AddToTray { files })
}

pub(super) fn replace_tray(tray: &mut Arc<[Unplaced]>, files: Arc<[Unplaced]>) -> Edit {
    Edit::ReplaceTray {
        files: std::mem::replace(tray, files),
    }
}

/// Replaces the prefix `from` of every source path by `to`.
pub(super) fn relocate_sources(content: &mut Content, from: &Path, to: &Path) -> Result<Edit> {
    let mut relocation = SourceRelocation {
        from,
        to,
        moved: 0,
        last_path: None,
        last_stamp: None,
    };
    let root = relocation.relocate_tortilla(&content.dataset.root);
    let mut tray = content.tray.to_vec();
    for file in &mut tray {
        if let Ok(rest) = file.path.strip_prefix(from) {
            file.path = join_path(to, rest);
            relocation.moved += 1;
        }
    }
    if relocation.moved == 0 {
        return Err(Error::usage("the draft has no source in this folder").at_path(from));
    }
    let mut edits = Vec::new();
    if let Some(root) = root {
        let with = std::mem::replace(&mut content.dataset.root, root);
        edits.push(Edit::ReplaceTortilla {
            tortilla: NodePath::root(),
            with,
        });
    }
    edits.push(replace_tray(&mut content.tray, tray.into()));
    Ok(Edit::Batch {
        label: tr!("Look for the sources in {folder}", folder = from.display()),
        edits,
    })
}

fn join_path(folder: &Path, rest: &Path) -> PathBuf {
    // Joining an empty path would append a slash.
    if rest.as_os_str().is_empty() {
        folder.to_owned()
    } else {
        folder.join(rest)
    }
}

/// Replaces the prefix `from` of source paths by `to`.
struct SourceRelocation<'a> {
    from: &'a Path,
    to: &'a Path,
    /// Number of sources whose path was replaced.
    moved: u64,
    /// Cache of the last path and its replacement: samples of one archive share the path.
    last_path: Option<(Arc<Path>, Arc<Path>)>,
    /// Cache of the last version of an archive and its replacement.
    last_stamp: Option<(Arc<Stamp>, Arc<Stamp>)>,
}

impl SourceRelocation<'_> {
    /// The tortilla with replaced paths; `None` when unchanged.
    fn relocate_tortilla(&mut self, tortilla: &Arc<Tortilla>) -> Option<Arc<Tortilla>> {
        let mut changed: Option<Vec<Sample>> = None;
        for (index, sample) in tortilla.samples.iter().enumerate() {
            let payload = match &sample.payload {
                Payload::Folder(below) => self.relocate_tortilla(below).map(Payload::Folder),
                // The moved file may be a copy with another modification time, so none is kept.
                Payload::Asset { path, size, .. } => self
                    .relocate_asset(path)
                    .map(|path| Payload::asset(path, *size)),
                Payload::Bytes(_) => None,
            };
            if let Some(payload) = payload {
                changed.get_or_insert_with(|| tortilla.samples.clone())[index].payload = payload;
            }
        }
        changed.map(|samples| {
            Arc::new(Tortilla {
                schema: tortilla.schema.clone(),
                samples,
            })
        })
    }

    fn relocate_asset(&mut self, path: &AssetPath) -> Option<AssetPath> {
        match path {
            AssetPath::File(file) => self.relocate_path(file).map(AssetPath::File),
            AssetPath::Range {
                container,
                offset,
                size,
                stamp,
            } => {
                let (container, stamp) = (
                    self.relocate_path(container)?,
                    stamp.as_ref().map(|stamp| self.strip_modified(stamp)),
                );
                Some(AssetPath::Range {
                    container,
                    offset: *offset,
                    size: *size,
                    stamp,
                })
            }
            AssetPath::Packed(member) => {
                let archive = self.relocate_path(&member.archive)?;
                let stamp = self.strip_modified(&member.stamp);
                Some(AssetPath::Packed(
                    PackedMember {
                        archive,
                        stamp,
                        ..member.as_ref().clone()
                    }
                    .into(),
                ))
            }
            AssetPath::Vsi(_) => None,
        }
    }

    /// The version without its modification time, which a copy does not preserve; length and
    /// directory digest identify it.
    fn strip_modified(&mut self, stamp: &Arc<Stamp>) -> Arc<Stamp> {
        if let Some((_, now)) = self
            .last_stamp
            .as_ref()
            .filter(|(before, _)| Arc::ptr_eq(before, stamp))
        {
            return now.clone();
        }
        let now = Arc::new(Stamp {
            modified: Modified::default(),
            ..stamp.as_ref().clone()
        });
        self.last_stamp = Some((stamp.clone(), now.clone()));
        now
    }

    fn relocate_path(&mut self, path: &Arc<Path>) -> Option<Arc<Path>> {
        if let Some((_, now)) = self
            .last_path
            .as_ref()
            .filter(|(before, _)| Arc::ptr_eq(before, path))
        {
            self.moved += 1;
            return Some(now.clone());
        }
        let rest = path.strip_prefix(self.from).ok()?;
        self.moved += 1;
        let now: Arc<Path> = join_path(self.to, rest).into();
        self.last_path = Some((path.clone(), now.clone()));
        Some(now)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::Dataset;

    fn file(name: &str) -> Unplaced {
        Unplaced::file(name, 1)
    }

    #[test]
    fn files_leave_the_tray_and_come_back_to_their_place() {
        let mut content = Content {
            tray: ["a", "b", "c", "d"].map(file).into(),
            ..Content::default()
        };
        let before = content.clone();
        let inverse = Edit::RemoveFromTray { places: vec![0, 2] }
            .apply_to(&mut content)
            .expect("removes");
        assert_eq!(&*content.tray, ["b", "d"].map(file));
        let again = inverse.apply_to(&mut content).expect("puts back");
        assert_eq!(content, before);
        assert_eq!(again, Edit::RemoveFromTray { places: vec![0, 2] });
        for places in [vec![4], vec![1, 1], vec![2, 0]] {
            assert!(
                Edit::RemoveFromTray { places }
                    .apply_to(&mut content)
                    .is_err()
            );
        }
        assert!(
            Edit::append_to_tray(&content.tray, [file("b")]).is_none(),
            "a file is in the tray once"
        );
        let add = Edit::append_to_tray(&content.tray, [file("b"), file("e"), file("e")])
            .expect("one is new");
        add.apply_to(&mut content).expect("adds");
        assert_eq!(content.tray.last(), Some(&file("e")));
        assert_eq!(content.tray.len(), 5);
    }

    #[test]
    fn files_of_another_size_are_renewed_in_the_tray() {
        let tray = ["/a/x", "/b/x", "/b/y"].map(file);
        let renew = |files: Vec<Unplaced>| Edit::renew_in_tray(&tray, files);
        assert!(
            renew(vec![file("/b/x")]).is_none(),
            "a file that has not changed is not renewed"
        );
        let larger = Unplaced::file("/b/x", 2);
        let files = vec![file("/a/x"), larger.clone(), file("/c/x")];
        let (outdated, added) = renew(files).expect("two");
        assert_eq!(outdated, [1]);
        let places = [(2, larger), (3, file("/c/x"))];
        let files = places.map(|(at, file)| TrayPlace { at, file }).into();
        assert_eq!(added, Edit::AddToTray { files });
    }

    #[test]
    fn sources_follow_a_moved_folder_by_whole_names() {
        let samples = ["/data/old/a.tif", "/data/older/b.tif", "/data/old"]
            .map(|path| Sample::new_file("x", path, 1));
        let root = Tortilla::new(vec![Sample::new_folder(
            "f",
            Tortilla::new(samples.to_vec()),
        )])
        .into();
        let mut content = Content {
            dataset: Dataset {
                root,
                ..Dataset::default()
            },
            tray: [file("/data/old/t")].into(),
        };
        let before = content.clone();
        let moved = Edit::Relocate {
            from: "/data/old".into(),
            to: "/new".into(),
        };
        let inverse = moved.clone().apply_to(&mut content).expect("moves");
        let paths = |content: &Content| {
            let below = content.dataset.root.samples[0]
                .children()
                .expect("is a FOLDER");
            below
                .samples
                .iter()
                .map(|sample| match &sample.payload {
                    Payload::Asset { path, .. } => path.to_vsi().into(),
                    _ => PathBuf::new(),
                })
                .collect::<Vec<_>>()
        };
        assert_eq!(
            paths(&content),
            ["/new/a.tif", "/data/older/b.tif", "/new"].map(PathBuf::from)
        );
        assert_eq!(content.tray[0].path, Path::new("/new/t"));
        assert!(
            moved.apply_to(&mut content).is_err(),
            "no source is below the folder any more"
        );
        inverse.apply_to(&mut content).expect("moves back");
        assert_eq!(content, before);
    }
}
