//! Places one file at one position: a cell of the matrix or a gap in the tree.

use std::sync::Arc;

use super::edit::Unplaced;
use super::structure::align;
use super::{Edit, PatternNode};
use crate::error::{Error, Result};
use crate::model::{Dataset, NodePath, Payload, Sample, SampleKind, Tortilla, is_padding};

/// Target of a placed file.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(untagged)]
pub enum Slot {
    /// A position of the pattern in a root: a cell of the matrix.
    Position {
        /// Index of the root.
        root: u32,
        /// Index in [`super::Structure::pattern`].
        position: u32,
    },
    /// A gap between samples of a FOLDER.
    Gap {
        /// The FOLDER; empty for the root.
        into: NodePath,
        /// Position of the new sample.
        at: u32,
        /// Its id; `None`: the file name.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        id: Option<Arc<str>>,
    },
}

/// The indices in the pattern of a position's ancestors, followed by the position itself.
pub(super) fn position_path(pattern: &[PatternNode], position: usize) -> Vec<usize> {
    let mut path = Vec::new();
    let mut next = Some(position);
    // A chain longer than the pattern would be a cycle.
    while let Some(node) = next.filter(|_| path.len() <= pattern.len()) {
        path.push(node);
        next = pattern
            .get(node)
            .and_then(|node| node.parent)
            .map(|parent| parent as usize);
    }
    path.reverse();
    path
}

/// The edit that places a file. It does not remove the file from the tray.
///
/// # Errors
/// [`Kind::Usage`](crate::error::Kind::Usage) when the target does not exist, is a FOLDER, or is
/// occupied.
pub fn place_file(
    dataset: &Dataset,
    pattern: &[PatternNode],
    file: &Unplaced,
    slot: &Slot,
) -> Result<Edit> {
    match slot {
        Slot::Gap { into, at, id } => {
            let id = id.clone().unwrap_or_else(|| file.name().into());
            let sample = file.sample(&id);
            Ok(Edit::Insert {
                parent: into.clone(),
                at: *at,
                samples: vec![sample],
            })
        }
        Slot::Position { root, position } => {
            let top = dataset.root.samples.get(*root as usize);
            let top = top.ok_or_else(|| Error::usage(format!("there is no root {root}")))?;
            let wanted = pattern.get(*position as usize);
            let wanted = wanted
                .ok_or_else(|| Error::usage(format!("the pattern has no position {position}")))?;
            if wanted.kind == SampleKind::Folder {
                return Err(Error::usage(format!(
                    "{} is a FOLDER; a file can't be placed there",
                    wanted.id
                )));
            }
            let children = top.children().ok_or_else(|| {
                Error::usage(format!("{} is a FILE; it has no positions", top.id))
            })?;
            let path = position_path(pattern, *position as usize);
            let sample = file.sample(&wanted.id);
            into_position(pattern, &path, children, &NodePath(vec![*root]), sample)
        }
    }
}

/// A single edit that inserts the tray files at these indices into a FOLDER, in tray order, with
/// their file names as ids. `None` when there are none.
pub fn place_between(tray: &[Unplaced], places: &[u32], into: NodePath, at: u32) -> Option<Edit> {
    let files: Vec<&Unplaced> = places
        .iter()
        .filter_map(|&place| tray.get(place as usize))
        .collect();
    let label = match files.as_slice() {
        [] => return None,
        [one] => tr!("Place {name}", name = one.name()),
        many => tr_n!(
            many.len(),
            "Place {n} file",
            "Place {n} files",
            n = many.len()
        ),
    };
    let samples = files.iter().map(|file| file.sample(&file.name())).collect();
    let mut places = places.to_vec();
    places.sort_unstable();
    places.dedup();
    Some(Edit::Batch {
        label,
        edits: vec![
            Edit::Insert {
                parent: into,
                at,
                samples,
            },
            Edit::RemoveFromTray { places },
        ],
    })
}

/// Descends along `path`, a list of indices in the pattern, and creates missing FOLDERs.
fn into_position(
    pattern: &[PatternNode],
    path: &[usize],
    found: &Tortilla,
    at: &NodePath,
    sample: Sample,
) -> Result<Edit> {
    let Some((&here, rest)) = path.split_first() else {
        return Err(Error::internal("a position without a place"));
    };
    let parent = pattern[here].parent;
    let wanted: Vec<&PatternNode> = pattern
        .iter()
        .filter(|node| node.parent == parent)
        .collect();
    let wanted_ids: Vec<&str> = wanted.iter().map(|node| &*node.id).collect();
    let found_ids: Vec<&str> = found.samples.iter().map(|sample| &*sample.id).collect();
    let aligned = align(&wanted_ids, &found_ids);
    let position = pattern[here].position as usize;
    let place = aligned.places.get(position).and_then(|place| place.1);
    let Some(place) = place else {
        // After the last sample that precedes it in the pattern.
        let before = aligned
            .places
            .iter()
            .take(position)
            .filter_map(|place| place.1)
            .max();
        let folders = path.iter().rev().skip(1);
        let made = folders.fold(sample, |inside, &node| {
            Sample::new_folder(&pattern[node].id, Tortilla::new(vec![inside]))
        });
        let gap = before.map_or(0, |before| before as u32 + 1);
        return Ok(Edit::Insert {
            parent: at.clone(),
            at: gap,
            samples: vec![made],
        });
    };
    let there = at.child(place as u32);
    let present = &found.samples[place];
    match (rest.is_empty(), &present.payload) {
        (false, Payload::Folder(children)) => {
            let label = tr!("Place {name}", name = sample.id);
            let inside = into_position(pattern, rest, children, &there, sample)?;
            // A FOLDER of padding becomes a regular one.
            if is_padding(&present.id) {
                Ok(Edit::Batch {
                    label,
                    edits: vec![
                        Edit::Rename {
                            sample: there,
                            id: pattern[here].id.clone(),
                        },
                        inside,
                    ],
                })
            } else {
                Ok(inside)
            }
        }
        (true, payload) if is_padding(&present.id) && !matches!(payload, Payload::Folder(_)) => {
            Ok(Edit::Batch {
                label: tr!("Place {name}", name = sample.id),
                edits: vec![
                    Edit::Rename {
                        sample: there.clone(),
                        id: sample.id,
                    },
                    Edit::SetPayload {
                        sample: there,
                        payload: sample.payload,
                    },
                ],
            })
        }
        _ => Err(
            Error::usage(format!("{} is at this position already", present.id))
                .hint("take it out first, or choose another place"),
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::draft::{Content, Structure};
    use crate::model::{padding_file, padding_like};

    fn file(id: &str) -> Sample {
        Sample::new_file(id, "/x", 1)
    }

    fn scene(id: &str, parts: Vec<Sample>) -> Sample {
        Sample::new_folder(id, Tortilla::new(parts))
    }

    #[test]
    fn several_files_go_into_a_folder_in_one_step() {
        let tray: Vec<Unplaced> = ["/in/a", "/in/b", "/in/c"]
            .map(|path| Unplaced::file(path, 2))
            .into();
        let root = Tortilla::new(vec![scene("s", vec![file("x"), file("y")])]).into();
        let mut content = Content {
            dataset: Dataset {
                root,
                ..Dataset::default()
            },
            tray: tray.clone().into(),
        };
        let before = content.clone();
        let edit = place_between(&tray, &[0, 2], NodePath(vec![0]), 1).expect("has files");
        assert_eq!(edit.label(), "Place 2 files");
        let inverse = edit.apply_to(&mut content).expect("places");
        let inside = content.dataset.root.samples[0]
            .children()
            .expect("is a FOLDER");
        assert_eq!(
            inside
                .samples
                .iter()
                .map(|sample| &*sample.id)
                .collect::<Vec<_>>(),
            ["x", "a", "c", "y"]
        );
        assert_eq!(&*content.tray, &tray[1..2]);
        inverse.apply_to(&mut content).expect("undoes");
        assert_eq!(content, before);
        assert!(place_between(&tray, &[7], NodePath::root(), 0).is_none());
    }

    #[test]
    fn a_file_goes_where_the_pattern_wants_it() {
        let times = || scene("s2", vec![file("t0"), file("t1")]);
        let whole = |id: &str| scene(id, vec![file("before"), times(), file("label")]);
        let roots = vec![
            whole("a"),
            whole("b"),
            scene("c", vec![file("label")]),
            scene(
                "d",
                vec![
                    padding_file(0),
                    scene("s2", vec![file("t1")]),
                    file("label"),
                ],
            ),
            padding_like(&whole("x"), 0),
        ];
        let data = Dataset {
            root: Tortilla::new(roots).into(),
            ..Dataset::default()
        };
        let structure = Structure::from_dataset(&data);
        let ids: Vec<&str> = structure.pattern().iter().map(|node| &*node.id).collect();
        assert_eq!(ids, ["before", "s2", "t0", "t1", "label"]);
        let new = Unplaced::file("/in/new.tif", 5);
        let placed = |root: u32, position: u32| {
            let mut data = data.clone();
            let edit = place_file(
                &data,
                structure.pattern(),
                &new,
                &Slot::Position { root, position },
            )?;
            edit.apply(&mut data)?;
            let mut lines = Vec::new();
            let sample = &data.root.samples[root as usize];
            for child in &sample.children().expect("is a FOLDER").samples {
                lines.push(format!("{} {}", child.id, child.size_bytes()));
                lines.extend(
                    child
                        .children()
                        .iter()
                        .flat_map(|below| &below.samples)
                        .map(|below| format!("  {} {}", below.id, below.size_bytes())),
                );
            }
            Ok::<_, Error>(lines)
        };
        assert_eq!(placed(2, 0).expect("is a gap"), ["before 5", "label 1"]);
        assert_eq!(
            placed(2, 3).expect("is a gap"),
            ["s2 5", "  t1 5", "label 1"]
        );
        assert_eq!(
            placed(3, 0).expect("is padding"),
            ["before 5", "s2 1", "  t1 1", "label 1"]
        );
        assert_eq!(
            placed(3, 2).expect("is a gap")[1..4],
            ["s2 6", "  t0 5", "  t1 1"]
        );
        for (root, position) in [(0, 0), (0, 1), (9, 0), (0, 9)] {
            assert!(placed(root, position).is_err(), "{root} {position}");
        }
        assert_eq!(
            placed(4, 3).expect("is padding")[1..4],
            ["s2 5", "  __TACOPAD__0 0", "  t1 5"]
        );
        let gap: Slot = serde_json::from_str(r#"{"into": [2], "at": 1}"#).expect("reads");
        let edit = place_file(&data, structure.pattern(), &new, &gap).expect("is a gap");
        let Edit::Insert { samples, .. } = edit else {
            panic!("{edit:?}")
        };
        assert_eq!(&*samples[0].id, "new.tif");
    }
}
