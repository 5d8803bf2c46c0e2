//! Targets of extensions: groups of positions that can be selected, and the calls for a selection.
//! Pure functions.

use std::collections::BTreeMap;

use serde_json::Value as Json;

use crate::draft::PositionState;
use crate::error::Result;
use crate::extensions::{
    CallTarget, Extension, ExtensionCall, ExtensionEntry, ExtensionScope, may_be_raster,
};
use crate::gui::draft_structure::StructureSummary;
use crate::jobs::JobContext;
use crate::model::{Dataset, SampleKind};

/// Samples that are selected together: those of one level with one parent, or all roots.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TargetGroup {
    pub level: usize,
    /// FILEs or FOLDERs.
    pub kind: SampleKind,
    /// Title: `s2 / t00 – t03`.
    pub title: String,
    /// Patterns of ids for [`CallTarget`].
    pub positions: Vec<String>,
    /// Number of samples without padding.
    pub samples: u64,
}

impl TargetGroup {
    /// Its title in the user's language.
    pub fn display_title(&self) -> &str {
        if self.level == 0 {
            tr!("roots")
        } else {
            &self.title
        }
    }
}

/// The groups of a draft, level by level. `roots` is the kind of the roots.
pub fn groups(summary: &StructureSummary, roots: SampleKind) -> Vec<TargetGroup> {
    let all = summary.total();
    let mut found = vec![TargetGroup {
        level: 0,
        kind: roots,
        title: "roots".into(),
        positions: Vec::new(),
        samples: all - summary.all_padded(),
    }];
    let mut below: BTreeMap<(usize, Option<u32>, bool), Vec<u32>> = BTreeMap::new();
    for (index, node) in summary.pattern.iter().enumerate() {
        let key = (node.level, node.parent, node.kind == SampleKind::File);
        // Files of level 1 mostly differ in kind; deeper ones mostly form a series.
        if node.level == 1 {
            found.push(group(summary, &[index as u32]));
        } else {
            below.entry(key).or_default().push(index as u32);
        }
    }
    found.extend(below.values().map(|positions| group(summary, positions)));
    found.sort_by_key(|group| group.level);
    found
}

fn group(summary: &StructureSummary, members: &[u32]) -> TargetGroup {
    let node = members
        .first()
        .and_then(|&first| summary.pattern.get(first as usize));
    let path = |position: u32| summary.path(position).join("/");
    let first = members
        .first()
        .map(|&position| summary.path(position).join(" / "))
        .unwrap_or_default();
    let title = match members {
        [_] | [] => first,
        [.., last] => format!(
            "{first} – {}",
            summary.path(*last).last().copied().unwrap_or_default()
        ),
    };
    TargetGroup {
        level: node.map_or(0, |node| node.level),
        kind: node.map_or(SampleKind::File, |node| node.kind),
        title,
        positions: members
            .iter()
            .map(|&position| format!("*/{}", path(position)))
            .collect(),
        samples: members
            .iter()
            .map(|position| count_present_samples(summary, *position))
            .sum(),
    }
}

/// Counts the samples at a position that are neither missing nor padded.
fn count_present_samples(summary: &StructureSummary, position: u32) -> u64 {
    let counts = summary
        .counts
        .get(position as usize)
        .copied()
        .unwrap_or_default();
    summary.total()
        - counts.count_in_state(PositionState::Missing)
        - counts.count_in_state(PositionState::Padded)
}

/// True when an extension applies to samples of this kind.
pub fn takes(entry: &ExtensionEntry, options: &Json, kind: SampleKind) -> bool {
    match (entry.scope, (entry.make)(options)) {
        (ExtensionScope::Collection, _) => false,
        (_, Ok(Extension::Sample(extension))) => {
            kind == SampleKind::File || !extension.needs_file()
        }
        (ExtensionScope::Tortilla, _) => true,
        // Unknown without its options; most extensions read the file.
        _ => kind == SampleKind::File,
    }
}

/// True when an extension reads the files as rasters.
pub fn needs_raster(entry: &ExtensionEntry, options: &Json) -> bool {
    match (entry.scope, (entry.make)(options)) {
        (ExtensionScope::Sample, Ok(Extension::Sample(extension))) => extension.needs_raster(),
        // Unknown without its options; most extensions read pixels.
        (ExtensionScope::Sample, _) => true,
        _ => false,
    }
}

/// True when an extension has columns of times and no option says where times come from.
pub fn lacks_times(entry: &ExtensionEntry, options: &Json) -> bool {
    matches!((entry.make)(options), Ok(Extension::Sample(extension)) if extension.lacks_times())
}

/// For each group whether its files may be rasters: the first of them is read.
pub fn raster_groups(
    dataset: &Dataset,
    groups: &[TargetGroup],
    ctx: &JobContext,
) -> Result<Vec<bool>> {
    let mut rasters = Vec::with_capacity(groups.len());
    for group in groups {
        ctx.check()?;
        let target = CallTarget {
            level: group.level,
            positions: group.positions.clone(),
        };
        rasters.push(group.kind == SampleKind::Folder || may_be_raster(dataset, &target));
    }
    Ok(rasters)
}

/// The calls of one extension for the selected groups: one a level; none has a target for
/// collection extensions.
pub fn calls(
    entry: &ExtensionEntry,
    options: &Json,
    groups: &[TargetGroup],
    ticked: &[bool],
) -> Vec<ExtensionCall> {
    if entry.scope == ExtensionScope::Collection {
        return vec![make_call(entry, options, CallTarget::default())];
    }
    let mut calls: Vec<ExtensionCall> = Vec::new();
    let levels = groups
        .iter()
        .map(|group| group.level)
        .max()
        .map_or(0, |level| level + 1);
    for level in 0..levels {
        let here: Vec<(&TargetGroup, bool)> = groups
            .iter()
            .zip(ticked)
            .filter(|(group, _)| group.level == level)
            .map(|(group, on)| (group, *on))
            .collect();
        let chosen: Vec<&TargetGroup> = here
            .iter()
            .filter(|(_, on)| *on)
            .map(|(group, _)| *group)
            .collect();
        if chosen.is_empty() {
            continue;
        }
        // A call for every FILE of a level needs no patterns.
        let files = |group: &TargetGroup| group.kind == SampleKind::File;
        let whole = level == 0 || here.iter().all(|(group, on)| files(group) == *on);
        let positions = if whole {
            Vec::new()
        } else {
            chosen
                .iter()
                .flat_map(|group| group.positions.clone())
                .collect()
        };
        calls.push(make_call(entry, options, CallTarget { level, positions }));
    }
    calls
}

fn make_call(entry: &ExtensionEntry, options: &Json, target: CallTarget) -> ExtensionCall {
    ExtensionCall {
        extension: entry.name.into(),
        options: options.clone(),
        target,
        schema_only: false,
    }
}

/// The groups that a call's target selects, to show a recipe.
pub fn select_target_groups(groups: &[TargetGroup], target: &CallTarget) -> Vec<bool> {
    groups
        .iter()
        .map(|group| is_target_group(group, target))
        .collect()
}

fn is_target_group(group: &TargetGroup, target: &CallTarget) -> bool {
    let named = !group.positions.is_empty()
        && group
            .positions
            .iter()
            .all(|position| target.positions.contains(position));
    group.level == target.level
        && if target.positions.is_empty() {
            group.kind == SampleKind::File || group.level == 0
        } else {
            named
        }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::draft::Structure;
    use crate::extensions::builtin;
    use crate::model::{Sample, Tortilla};

    #[test]
    fn files_that_are_no_rasters_are_told_from_their_first_sample() {
        use crate::raster::{NewRaster, Samples, write_geotiff};
        let folder = tempfile::tempdir().expect("a folder");
        let (image, text) = (
            folder.path().join("a.tif"),
            folder.path().join("caption.txt"),
        );
        write_geotiff(
            &image,
            &NewRaster {
                width: 2,
                height: 1,
                bands: vec![Samples::U8(vec![1, 2])],
                ..NewRaster::default()
            },
        )
        .expect("writes");
        std::fs::write(&text, "a river in spring").expect("writes");
        let file = |id: &str, path: &std::path::Path| {
            Sample::new_file(id, path, std::fs::metadata(path).expect("is there").len())
        };
        let scene = |id: &str| {
            Sample::new_folder(
                id,
                Tortilla::new(vec![file("image", &image), file("caption", &text)]),
            )
        };
        let data = Dataset {
            root: Tortilla::new(vec![scene("a"), scene("b")]).into(),
            ..Dataset::default()
        };
        let structure = Structure::from_dataset(&data);
        let summary = StructureSummary {
            pattern: structure.pattern().to_vec(),
            counts: structure.position_counts(),
            roots: structure.root_counts(),
            ..StructureSummary::default()
        };
        let groups = groups(&summary, SampleKind::Folder);
        let titles: Vec<&str> = groups.iter().map(|group| group.title.as_str()).collect();
        assert_eq!(titles, ["roots", "image", "caption"]);
        assert_eq!(
            raster_groups(&data, &groups, &JobContext::default()).expect("reads"),
            [true, true, false]
        );
        let registry = builtin();
        let needs = |name: &str, options: Json| {
            needs_raster(
                registry
                    .entries()
                    .iter()
                    .find(|entry| entry.name == name)
                    .expect("is there"),
                &options,
            )
        };
        assert!(
            needs("stac", Json::Null)
                && needs("stats", Json::Null)
                && needs("histogram", Json::Null)
        );
        assert!(!needs("split", serde_json::json!({"value": "train"})));
    }

    fn summary() -> StructureSummary {
        let file = |id: &str| Sample::new_file(id, "/x", 1);
        let scene = |id: &str, times: usize| {
            let s2 = Sample::new_folder(
                "s2",
                Tortilla::new((0..times).map(|n| file(&format!("t{n}"))).collect()),
            );
            Sample::new_folder(id, Tortilla::new(vec![s2, file("dem"), file("label")]))
        };
        let data = Dataset {
            root: Tortilla::new(vec![scene("a", 3), scene("b", 3), scene("c", 2)]).into(),
            ..Dataset::default()
        };
        let structure = Structure::from_dataset(&data);
        StructureSummary {
            pattern: structure.pattern().to_vec(),
            counts: structure.position_counts(),
            roots: structure.root_counts(),
            ..StructureSummary::default()
        }
    }

    #[test]
    fn groups_name_what_targets_take() {
        let groups = groups(&summary(), SampleKind::Folder);
        let titles: Vec<&str> = groups.iter().map(|group| group.title.as_str()).collect();
        assert_eq!(titles, ["roots", "s2", "dem", "label", "s2 / t0 – t2"]);
        assert_eq!(groups[4].samples, 8);
        for (ids, group) in [(&["a", "s2", "t1"][..], 4), (&["b", "dem"], 2)] {
            let target = CallTarget {
                level: groups[group].level,
                positions: groups[group].positions.clone(),
            };
            assert!(target.names(ids));
        }
    }

    #[test]
    fn ticks_become_calls_and_come_back() {
        let groups = groups(&summary(), SampleKind::Folder);
        let registry = builtin();
        let stac = registry
            .entries()
            .iter()
            .find(|entry| entry.name == "stac")
            .expect("is there");
        let some = [false, false, false, true, true];
        let made = calls(stac, &Json::Null, &groups, &some);
        assert_eq!(made.len(), 2);
        assert_eq!(
            made[0].target,
            CallTarget {
                level: 1,
                positions: vec!["*/label".into()]
            }
        );
        assert_eq!(
            made[1].target,
            CallTarget {
                level: 2,
                positions: Vec::new()
            }
        );
        let back: Vec<Vec<bool>> = made
            .iter()
            .map(|call| select_target_groups(&groups, &call.target))
            .collect();
        assert_eq!(
            back,
            [
                [false, false, false, true, false],
                [false, false, false, false, true]
            ]
        );
        assert!(
            takes(stac, &Json::Null, SampleKind::File)
                && !takes(stac, &Json::Null, SampleKind::Folder)
        );
    }
}
