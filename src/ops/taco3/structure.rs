//! The tree of 2.0 → `taco:structure`: the files that every sample has, by path, and the rows of
//! each level of TACO 3. Pure.
//!
//! TACO 3 has no padding: a file is in every sample, or it is one of a sequence
//! `prefix*[least,most].ext`, numbered from 0 without gaps. Padding at the end of numbered files
//! becomes a sequence; other padding is a placeholder of one byte, as no file may be empty, or its
//! sample is left out.

use std::collections::{HashMap, HashSet};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::model::{DistinctFileNames, Skeleton, is_padding};

/// What becomes of a sample that lacks files which others have, where the files are no sequence.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum LackingFiles {
    /// A file of one zero byte takes the place of each.
    #[default]
    Placeholder,
    /// The sample is left out.
    LeaveOut,
}

/// A file or folder of one sample.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MemberRow {
    /// Number of the sample in TACO 3.
    pub sample: u32,
    /// Row in the level of the 2.0 tree.
    pub row: u32,
    /// Name in its folder.
    pub name: String,
    /// FOLDER or FILE.
    pub is_folder: bool,
    /// A file without bytes, for which a placeholder is written.
    pub is_placeholder: bool,
}

/// A level of TACO 3 below the samples: the members of one folder of the samples, or of the samples
/// themselves.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MemberLevel {
    /// `children`, or `children/FOLDER/…`.
    pub name: String,
    /// Level in the 2.0 tree.
    pub depth: usize,
    /// Rows sample by sample, in the order of the structure.
    pub rows: Vec<MemberRow>,
}

impl MemberLevel {
    /// Path of a member inside its sample.
    pub fn path(&self, row: &MemberRow) -> String {
        match self.name.split_once('/') {
            Some((_, folder)) => format!("{folder}/{}", row.name),
            None => row.name.clone(),
        }
    }
}

/// A name that had to change.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct RenamedMember {
    /// The level of TACO 3.
    pub level: String,
    /// The id in 2.0, of the first sample that has it.
    pub from: String,
    /// The name in TACO 3.
    pub to: String,
}

/// The samples as TACO 3 arranges them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SampleStructure {
    /// `taco:structure`.
    pub paths: Vec<String>,
    /// Rows of level 0 that are samples.
    pub samples: Vec<u32>,
    /// The levels below the samples, a level before those of its folders.
    pub levels: Vec<MemberLevel>,
    /// Names other than the ids.
    pub renamed: Vec<RenamedMember>,
    /// Rows of level 0 that are left out because they lack files.
    pub left_out: Vec<u32>,
}

/// The positions of one folder.
struct Folder<'a> {
    tree: &'a Skeleton,
    sizes: &'a dyn Fn(usize, u32) -> u64,
    depth: usize,
    /// Names of the folders above.
    names: Vec<String>,
}

/// How the files of one position are named.
#[derive(Clone, Debug)]
enum Naming {
    Fixed(String),
    /// The number `index` of the sequence that begins `index` positions before.
    Sequence {
        prefix: String,
        suffix: String,
        index: usize,
        length: usize,
    },
}

impl SampleStructure {
    /// Arranges a tree whose FOLDERs of one position have the same children
    /// ([`crate::validate::check_tree`] without errors). `sizes` gives the bytes of a FILE by level
    /// and row.
    pub fn from_skeleton(
        tree: &Skeleton,
        sizes: &dyn Fn(usize, u32) -> u64,
        lacking: LackingFiles,
    ) -> Self {
        let Some(top) = tree.levels.first() else {
            return Self::default();
        };
        let samples: Vec<u32> = (0..top.len() as u32)
            .filter(|&row| !is_padding(top.id(row)))
            .collect();
        // Padding may be a FILE where others have a FOLDER, so that a sample lacks all that is in
        // it.
        let shapes: Vec<Vec<bool>> = samples.iter().map(|&row| shape_of(tree, row)).collect();
        let common = shapes
            .iter()
            .max_by_key(|shape| shape.len())
            .cloned()
            .unwrap_or_default();
        let (samples, others): (Vec<_>, Vec<_>) = samples
            .into_iter()
            .zip(shapes)
            .partition(|(_, shape)| *shape == common);
        let samples: Vec<u32> = samples.into_iter().map(|(row, _)| row).collect();
        let others: Vec<u32> = others.into_iter().map(|(row, _)| row).collect();
        let arranged = Self::arrange(tree, sizes, &samples);
        if lacking == LackingFiles::Placeholder {
            return Self {
                left_out: others,
                ..arranged
            };
        }
        let placeholders = arranged
            .levels
            .iter()
            .flat_map(|level| &level.rows)
            .filter(|row| row.is_placeholder);
        let lacking: HashSet<u32> = placeholders
            .map(|row| arranged.samples[row.sample as usize])
            .collect();
        let whole: Vec<u32> = samples
            .iter()
            .copied()
            .filter(|row| !lacking.contains(row))
            .collect();
        let mut left_out: Vec<u32> = lacking.into_iter().chain(others).collect();
        left_out.sort_unstable();
        Self {
            left_out,
            ..Self::arrange(tree, sizes, &whole)
        }
    }

    fn arrange(tree: &Skeleton, sizes: &dyn Fn(usize, u32) -> u64, samples: &[u32]) -> Self {
        let mut structure = Self {
            samples: samples.to_vec(),
            ..Self::default()
        };
        let Some(&first) = samples.first() else {
            return structure;
        };
        let top = &tree.levels[0];
        let owners: Vec<(u32, u32)> = samples
            .iter()
            .enumerate()
            .map(|(number, &row)| (number as u32, row))
            .collect();
        if top.folder[first as usize] {
            Folder {
                tree,
                sizes,
                depth: 1,
                names: Vec::new(),
            }
            .arrange(&owners, &mut structure);
            return structure;
        }
        // Samples of one file: the id is that of the sample, and the file gets a name of its own.
        let name = format!(
            "data{}",
            common_ending(samples.iter().map(|&row| top.id(row)))
        );
        let rows = owners.iter().map(|&(sample, row)| {
            let is_placeholder = sizes(0, row) == 0;
            MemberRow {
                sample,
                row,
                name: name.clone(),
                is_folder: false,
                is_placeholder,
            }
        });
        structure.levels.push(MemberLevel {
            name: "children".into(),
            depth: 0,
            rows: rows.collect(),
        });
        structure.paths.push(name);
        structure
    }
}

/// For each member below a row of level 0, depth first: whether it is a FOLDER.
fn shape_of(tree: &Skeleton, row: u32) -> Vec<bool> {
    fn walk(tree: &Skeleton, depth: usize, row: u32, shape: &mut Vec<bool>) {
        let is_folder = tree.levels[depth].folder[row as usize];
        shape.push(is_folder);
        if is_folder && depth + 1 < tree.levels.len() {
            tree.levels[depth]
                .children(row)
                .iter()
                .for_each(|&child| walk(tree, depth + 1, child, shape));
        }
    }
    let mut shape = Vec::new();
    walk(tree, 0, row, &mut shape);
    shape
}

impl Folder<'_> {
    fn level(&self) -> String {
        std::iter::once("children")
            .chain(self.names.iter().map(String::as_str))
            .collect::<Vec<_>>()
            .join("/")
    }

    /// Adds the members of these FOLDERs, given as number of the sample and row in the level above.
    fn arrange(&self, owners: &[(u32, u32)], structure: &mut SampleStructure) {
        let above = &self.tree.levels[self.depth - 1];
        // FOLDERs without children are findings of their own, and have no members.
        let Some(level) = self.tree.levels.get(self.depth) else {
            return;
        };
        // By position, the row of each owner. A position that is padding in every sample is no
        // member.
        let positions: Vec<Vec<u32>> = (0..above
            .children(owners.first().map_or(0, |&(_, row)| row))
            .len())
            .map(|at| {
                owners
                    .iter()
                    .filter_map(|&(_, row)| above.children(row).get(at).copied())
                    .collect()
            })
            .filter(|rows: &Vec<u32>| rows.iter().any(|&row| !is_padding(level.id(row))))
            .collect();
        let count = positions.len();
        let lacks: Vec<Vec<bool>> = positions
            .iter()
            .map(|rows| rows.iter().map(|&row| self.lacks(row)).collect())
            .collect();
        let is_folder: Vec<bool> = positions
            .iter()
            .map(|rows| rows.first().is_some_and(|&row| level.folder[row as usize]))
            .collect();
        let namings = self.namings(&positions, &lacks, &is_folder, structure);
        let name = self.level();
        let mut rows = Vec::with_capacity(owners.len() * count);
        for (owner, &(sample, _)) in owners.iter().enumerate() {
            for at in 0..count {
                let lacking = lacks[at][owner];
                let name = match &namings[at] {
                    Naming::Fixed(name) => name.clone(),
                    Naming::Sequence { .. } if lacking => continue,
                    Naming::Sequence {
                        prefix,
                        suffix,
                        index,
                        ..
                    } => format!("{prefix}{index}{suffix}"),
                };
                let is_placeholder = lacking && !is_folder[at];
                rows.push(MemberRow {
                    sample,
                    row: positions[at][owner],
                    name,
                    is_folder: is_folder[at],
                    is_placeholder,
                });
            }
        }
        structure.levels.push(MemberLevel {
            name,
            depth: self.depth,
            rows,
        });
        for at in 0..count {
            match &namings[at] {
                Naming::Fixed(name) if is_folder[at] => {
                    let names = self.names.iter().chain([name]).cloned().collect();
                    let below = Folder {
                        depth: self.depth + 1,
                        names,
                        ..*self
                    };
                    let owners: Vec<(u32, u32)> = owners
                        .iter()
                        .zip(&positions[at])
                        .map(|(&(sample, _), &row)| (sample, row))
                        .collect();
                    below.arrange(&owners, structure);
                }
                Naming::Fixed(name) => structure.paths.push(self.path(name)),
                Naming::Sequence {
                    prefix,
                    suffix,
                    index: 0,
                    length,
                } => {
                    let run = at..at + length;
                    let counts = (0..owners.len())
                        .map(|owner| run.clone().filter(|&at| !lacks[at][owner]).count());
                    let least = counts.min().unwrap_or(*length);
                    structure
                        .paths
                        .push(self.path(&format!("{prefix}*[{least},{length}]{suffix}")));
                }
                Naming::Sequence { .. } => {}
            }
        }
    }

    fn path(&self, name: &str) -> String {
        self.names
            .iter()
            .map(String::as_str)
            .chain([name])
            .collect::<Vec<_>>()
            .join("/")
    }

    /// True for padding, and for a FILE without bytes.
    fn lacks(&self, row: u32) -> bool {
        let level = &self.tree.levels[self.depth];
        is_padding(level.id(row))
            || (!level.folder[row as usize] && (self.sizes)(self.depth, row) == 0)
    }

    fn namings(
        &self,
        positions: &[Vec<u32>],
        lacks: &[Vec<bool>],
        is_folder: &[bool],
        structure: &mut SampleStructure,
    ) -> Vec<Naming> {
        let level = &self.tree.levels[self.depth];
        let ids: Vec<&str> = positions
            .iter()
            .map(|rows| {
                let real = rows
                    .iter()
                    .map(|&row| level.id(row))
                    .find(|id| !is_padding(id));
                real.unwrap_or_default()
            })
            .collect();
        let parts: Vec<_> = ids.iter().map(|id| split_around_number(id)).collect();
        let mut counts: HashMap<(String, String), usize> = HashMap::new();
        for part in parts.iter().flatten() {
            *counts.entry(without_ascii_case(part)).or_default() += 1;
        }
        let mut namings: Vec<Option<Naming>> = vec![None; ids.len()];
        let mut at = 0;
        while at < ids.len() {
            let is_alike = |other: &usize| !is_folder[*other] && parts[*other] == parts[at];
            let length = (at..ids.len()).take_while(is_alike).count();
            if let Some(part) = &parts[at]
                // Another file is one that the pattern would match.
                && counts[&without_ascii_case(part)] == length
                && length > 1
                && is_sequence(&lacks[at..at + length])
            {
                for index in 0..length {
                    let (prefix, suffix) = part.clone();
                    namings[at + index] = Some(Naming::Sequence {
                        prefix,
                        suffix,
                        index,
                        length,
                    });
                }
            }
            at += length.max(1);
        }
        let mut names = DistinctFileNames::default();
        let mut made = Vec::with_capacity(ids.len());
        for (at, naming) in namings.into_iter().enumerate() {
            let naming = naming.unwrap_or_else(|| {
                let name = member_name(ids[at]);
                let (stem, ending) = split_ending(&name);
                Naming::Fixed(names.take(stem, ending))
            });
            let name = match &naming {
                Naming::Fixed(name) => name.clone(),
                Naming::Sequence {
                    prefix,
                    suffix,
                    index,
                    ..
                } => format!("{prefix}{index}{suffix}"),
            };
            if name != ids[at] {
                structure.renamed.push(RenamedMember {
                    level: self.level(),
                    from: ids[at].to_owned(),
                    to: name,
                });
            }
            made.push(naming);
        }
        made
    }
}

/// True when some sample lacks the last of these files, and none has one after one that it lacks.
/// `lacks` has, for each file, what each sample lacks; the first is in each sample.
fn is_sequence(lacks: &[Vec<bool>]) -> bool {
    let Some(first) = lacks.first() else {
        return false;
    };
    let begin = first.iter().all(|&lacks| !lacks);
    let mut pairs = lacks
        .windows(2)
        .flat_map(|pair| pair[0].iter().zip(&pair[1]));
    begin && pairs.all(|(before, after)| !before || *after) && lacks.iter().flatten().any(|&it| it)
}

fn without_ascii_case((prefix, suffix): &(String, String)) -> (String, String) {
    (prefix.to_ascii_lowercase(), suffix.to_ascii_lowercase())
}

/// The text before and after the number at the end of a stem: `t03.tif` is `t` and `.tif`. `None`
/// without a number, or with nothing before it.
fn split_around_number(id: &str) -> Option<(String, String)> {
    let name = member_name(id);
    let (stem, ending) = split_ending(&name);
    let prefix = stem.trim_end_matches(|c: char| c.is_ascii_digit());
    // TACO 3 refuses a prefix that ends like a name that it refuses.
    let is_allowed = !prefix.is_empty() && !prefix.ends_with([' ', '.']);
    (prefix.len() < stem.len() && is_allowed).then(|| (prefix.to_owned(), ending.to_owned()))
}

/// Stem and ending with its dot.
fn split_ending(name: &str) -> (&str, &str) {
    match name.rfind('.').filter(|&at| at > 0) {
        Some(at) => name.split_at(at),
        None => (name, ""),
    }
}

/// The ending that all names have; empty where they differ.
fn common_ending<'a>(mut names: impl Iterator<Item = &'a str>) -> String {
    let Some(first) = names.next().map(|name| split_ending(name).1) else {
        return String::new();
    };
    let is_plain = first.len() > 1 && first[1..].chars().all(|c| c.is_ascii_alphanumeric());
    if is_plain && names.all(|name| split_ending(name).1 == first) {
        first.to_owned()
    } else {
        String::new()
    }
}

/// A name of a file or folder that TACO 3 allows: printable ASCII without `<>:"/\|?*[]` and `__`,
/// not ending in a dot or blank.
pub fn member_name(id: &str) -> String {
    let mut name: String = id.chars().map(replace_refused).collect();
    while name.contains("__") {
        name = name.replace("__", "_");
    }
    let name = name.trim_end_matches(['.', ' ']).trim_start();
    if name.is_empty() {
        "member".to_owned()
    } else {
        name.to_owned()
    }
}

fn replace_refused(c: char) -> char {
    match c {
        '<' | '>' | ':' | '"' | '/' | '\\' | '|' | '?' | '*' | '[' | ']' => '_',
        ' '..='~' => c,
        _ => '_',
    }
}

#[cfg(test)]
mod tests {
    use arrow::array::StringArray;

    use super::*;

    type Level<'a> = (&'a [&'a str], &'a [bool], &'a [u32]);

    #[test]
    fn very_many_files_alike_are_named_each_once() {
        const FILES: usize = 20_000;
        let ids: Vec<String> = (0..FILES).map(|n| format!("img_{n:06}.tif")).collect();
        let mut ids: Vec<&str> = ids.iter().map(String::as_str).collect();
        // Names without a letter that TACO 3 allows become one.
        ids.extend(std::iter::repeat_n("\u{4e09}\u{56db}", FILES));
        let count = ids.len();
        let tree = tree(&[
            (&["train"], &[true], &[0]),
            (&ids, &vec![false; count], &vec![0; count]),
        ]);
        let structure = arranged(&tree, LackingFiles::Placeholder);
        let names: HashSet<String> = structure
            .levels
            .iter()
            .flat_map(|level| level.rows.iter().map(|row| row.name.clone()))
            .collect();
        assert_eq!(names.len(), count);
        assert!(names.contains("img_000001.tif") && names.contains("_-20000"));
    }

    fn tree(levels: &[Level]) -> Skeleton {
        let columns = levels.iter().map(|(ids, folder, parents)| {
            (
                StringArray::from(ids.to_vec()),
                folder.to_vec(),
                parents.to_vec(),
            )
        });
        Skeleton::from_columns(columns.collect())
    }

    fn arranged(tree: &Skeleton, lacking: LackingFiles) -> SampleStructure {
        let sizes = |depth: usize, row: u32| u64::from(!is_padding(tree.levels[depth].id(row)));
        SampleStructure::from_skeleton(tree, &sizes, lacking)
    }

    #[test]
    fn nested_folders_become_paths_and_levels() {
        let tree = tree(&[
            (&["a", "b"], &[true; 2], &[0, 1]),
            (
                &["before", "mask.tif", "before", "mask.tif"],
                &[true, false, true, false],
                &[0, 0, 1, 1],
            ),
            (
                &["x.tif", "y.tif", "x.tif", "y.tif"],
                &[false; 4],
                &[0, 0, 2, 2],
            ),
        ]);
        let found = arranged(&tree, LackingFiles::Placeholder);
        assert_eq!(found.paths, ["before/x.tif", "before/y.tif", "mask.tif"]);
        let levels: Vec<(&str, usize, usize)> = found
            .levels
            .iter()
            .map(|l| (l.name.as_str(), l.depth, l.rows.len()))
            .collect();
        assert_eq!(levels, [("children", 1, 4), ("children/before", 2, 4)]);
        let last = &found.levels[1];
        let paths: Vec<(u32, u32, String)> = last
            .rows
            .iter()
            .map(|row| (row.sample, row.row, last.path(row)))
            .collect();
        let expected = [
            (0, 0, "before/x.tif"),
            (0, 1, "before/y.tif"),
            (1, 2, "before/x.tif"),
            (1, 3, "before/y.tif"),
        ];
        assert_eq!(
            paths,
            expected.map(|(sample, row, path)| (sample, row, path.to_owned()))
        );
        assert!(found.renamed.is_empty());
    }

    #[test]
    fn samples_of_one_file_get_a_name_with_their_common_ending() {
        let of = |ids: &[&str]| {
            arranged(
                &tree(&[(
                    ids,
                    &vec![false; ids.len()],
                    &(0..ids.len() as u32).collect::<Vec<_>>(),
                )]),
                LackingFiles::Placeholder,
            )
        };
        assert_eq!(of(&["a.tif", "b.tif", "__TACOPAD__0"]).paths, ["data.tif"]);
        assert_eq!(of(&["a.tif", "b.tif", "__TACOPAD__0"]).samples, [0, 1]);
        assert_eq!(of(&["a.tif", "b.png"]).paths, ["data"]);
        assert_eq!(of(&["a", "b"]).paths, ["data"]);
    }

    #[test]
    fn padding_at_the_end_of_numbered_files_is_a_sequence() {
        let tree = tree(&[
            (&["a", "b"], &[true; 2], &[0, 1]),
            (
                &[
                    "mask.tif",
                    "t1.tif",
                    "t2.tif",
                    "t3.tif",
                    "mask.tif",
                    "t1.tif",
                    "__TACOPAD__0",
                    "__TACOPAD__1",
                ],
                &[false; 8],
                &[0, 0, 0, 0, 1, 1, 1, 1],
            ),
        ]);
        let found = arranged(&tree, LackingFiles::Placeholder);
        assert_eq!(found.paths, ["mask.tif", "t*[1,3].tif"]);
        let names: Vec<(u32, &str)> = found.levels[0]
            .rows
            .iter()
            .map(|row| (row.sample, row.name.as_str()))
            .collect();
        assert_eq!(
            names,
            [
                (0, "mask.tif"),
                (0, "t0.tif"),
                (0, "t1.tif"),
                (0, "t2.tif"),
                (1, "mask.tif"),
                (1, "t0.tif")
            ]
        );
        assert!(found.levels[0].rows.iter().all(|row| !row.is_placeholder));
        assert_eq!(found.renamed.len(), 3);
    }

    #[test]
    fn other_padding_is_a_placeholder_or_leaves_its_sample_out() {
        let tree = tree(&[
            (&["a", "b"], &[true; 2], &[0, 1]),
            (
                &["x.tif", "y.tif", "__TACOPAD__0", "y.tif"],
                &[false; 4],
                &[0, 0, 1, 1],
            ),
        ]);
        let found = arranged(&tree, LackingFiles::Placeholder);
        assert_eq!(found.paths, ["x.tif", "y.tif"]);
        let placeholders: Vec<bool> = found.levels[0]
            .rows
            .iter()
            .map(|row| row.is_placeholder)
            .collect();
        assert_eq!(placeholders, [false, false, true, false]);
        let found = arranged(&tree, LackingFiles::LeaveOut);
        assert_eq!(
            (found.samples, found.left_out, found.levels[0].rows.len()),
            (vec![0], vec![1], 2)
        );
        // A position that is padding everywhere is none.
        let empty = super::tests::tree(&[
            (&["a", "b"], &[true; 2], &[0, 1]),
            (
                &["x.tif", "__TACOPAD__0", "x.tif", "__TACOPAD__0"],
                &[false; 4],
                &[0, 0, 1, 1],
            ),
        ]);
        let found = arranged(&empty, LackingFiles::LeaveOut);
        assert_eq!(
            (
                found.paths,
                found.levels[0].rows.len(),
                found.left_out.len()
            ),
            (vec!["x.tif".to_owned()], 2, 0)
        );
        // FOLDERs without children have no files.
        let hollow = super::tests::tree(&[(&["a", "b"], &[true; 2], &[0, 1])]);
        assert!(
            arranged(&hollow, LackingFiles::Placeholder)
                .paths
                .is_empty()
        );
        // Nor is a prefix that ends in a blank one of a sequence.
        assert_eq!(
            (
                split_around_number("img 1.tif"),
                split_around_number("img1.tif")
            ),
            (None, Some(("img".into(), ".tif".into())))
        );
        // A gap in numbered files is no sequence.
        let gap = super::tests::tree(&[
            (&["a", "b"], &[true; 2], &[0, 1]),
            (
                &["t0.tif", "t1.tif", "__TACOPAD__0", "t1.tif"],
                &[false; 4],
                &[0, 0, 1, 1],
            ),
        ]);
        assert_eq!(
            arranged(&gap, LackingFiles::Placeholder).paths,
            ["t0.tif", "t1.tif"]
        );
    }

    #[test]
    fn names_are_those_that_taco_3_allows() {
        for (id, name) in [
            ("a__b.tif", "a_b.tif"),
            ("β.tif", "_.tif"),
            ("x:y?", "x_y_"),
            ("end. ", "end"),
            ("", "member"),
            ("ok-1.tif", "ok-1.tif"),
        ] {
            assert_eq!(member_name(id), name);
        }
        let tree = tree(&[
            (&["a"], &[true], &[0]),
            (&["B.tif", "b.tif"], &[false; 2], &[0, 0]),
        ]);
        assert_eq!(
            arranged(&tree, LackingFiles::Placeholder).paths,
            ["B.tif", "b-2.tif"]
        );
    }
}
