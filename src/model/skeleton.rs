//! The tree of a dataset in columns: ids, types and parents of every level. Input of the PIT
//! checks, the tree panel and `taco:pit_schema`; a million samples take tens of megabytes.

use std::borrow::Cow;
use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use arrow::array::{StringArray, StringBuilder};

use super::{Dataset, MAX_LEVELS, SampleKind, SamplePath, Tortilla, in_nfc, is_padding};

/// One level: parallel columns with one entry per sample.
#[derive(Clone, Debug)]
pub struct SkeletonLevel {
    /// Ids; without nulls.
    pub ids: StringArray,
    /// True for FOLDER.
    pub folder: Vec<bool>,
    /// Row of the parent in the level above; on level 0 the row itself.
    pub parents: Vec<u32>,
    /// For each row, the start of its children in `child_rows`; followed by the total.
    child_start: Vec<u32>,
    /// Rows of the next level grouped by parent, in table order.
    child_rows: Vec<u32>,
}

/// The tree, by level.
#[derive(Clone, Debug, Default)]
pub struct Skeleton {
    /// Level 0 first.
    pub levels: Vec<SkeletonLevel>,
}

impl SkeletonLevel {
    /// Number of samples.
    pub fn len(&self) -> usize {
        self.folder.len()
    }

    /// True without samples.
    pub fn is_empty(&self) -> bool {
        self.folder.is_empty()
    }

    /// Id of a row.
    pub fn id(&self, row: u32) -> &str {
        self.ids.value(row as usize)
    }

    /// FILE or FOLDER.
    pub fn kind(&self, row: u32) -> SampleKind {
        if self.folder[row as usize] {
            SampleKind::Folder
        } else {
            SampleKind::File
        }
    }

    /// Rows of the FOLDERs, in order.
    pub fn list_folders(&self) -> impl Iterator<Item = u32> {
        let rows = 0..self.len() as u32;
        rows.filter(|&row| self.folder[row as usize])
    }

    /// Rows of the FILEs, in order.
    pub fn list_files(&self) -> impl Iterator<Item = u32> {
        let rows = 0..self.len() as u32;
        rows.filter(|&row| !self.folder[row as usize])
    }

    /// Rows of the children of `row` in the next level; none where there is no such row.
    pub fn children(&self, row: u32) -> &[u32] {
        let row = row as usize;
        match (self.child_start.get(row), self.child_start.get(row + 1)) {
            (Some(&start), Some(&end)) => &self.child_rows[start as usize..end as usize],
            _ => &[],
        }
    }
}

impl Skeleton {
    /// Builds the tree from columns (ids, FOLDER flags, parents) by level. A row whose parent does
    /// not exist is in no `children` list; the level checks report it.
    pub fn from_columns(columns: Vec<(StringArray, Vec<bool>, Vec<u32>)>) -> Self {
        let mut levels: Vec<SkeletonLevel> = columns
            .into_iter()
            .map(|(ids, folder, parents)| SkeletonLevel {
                ids,
                folder,
                parents,
                child_start: Vec::new(),
                child_rows: Vec::new(),
            })
            .collect();
        for depth in 0..levels.len() {
            let rows = levels[depth].len();
            let (start, children) = match levels.get(depth + 1) {
                Some(next) => group_by_parent(rows, &next.parents),
                None => (vec![0; rows + 1], Vec::new()),
            };
            levels[depth].child_start = start;
            levels[depth].child_rows = children;
        }
        Self { levels }
    }

    /// The tree of a draft. Levels beyond [`MAX_LEVELS`] are kept, so that the checks can report
    /// them.
    pub fn from_dataset(dataset: &Dataset) -> Self {
        struct Growing {
            ids: StringBuilder,
            folder: Vec<bool>,
            parents: Vec<u32>,
        }
        fn walk<'a>(tortillas: Vec<(u32, &'a Tortilla)>, levels: &mut Vec<Growing>, top: bool) {
            let mut below: Vec<(u32, &'a Tortilla)> = Vec::new();
            let mut level = Growing {
                ids: StringBuilder::new(),
                folder: Vec::new(),
                parents: Vec::new(),
            };
            for (parent, tortilla) in tortillas {
                for sample in &tortilla.samples {
                    let row = level.folder.len() as u32;
                    level.ids.append_value(&sample.id);
                    level.folder.push(sample.kind() == SampleKind::Folder);
                    level.parents.push(if top { row } else { parent });
                    if let Some(children) = sample.children() {
                        below.push((row, children));
                    }
                }
            }
            if level.folder.is_empty() {
                return;
            }
            levels.push(level);
            // Limited to twice the maximum, which is enough to report; nesting may be unbounded.
            if levels.len() < MAX_LEVELS * 2 {
                walk(below, levels, false);
            }
        }
        let mut levels = Vec::new();
        walk(vec![(0, &dataset.root)], &mut levels, true);
        Self::from_columns(
            levels
                .into_iter()
                .map(|mut level| (level.ids.finish(), level.folder, level.parents))
                .collect(),
        )
    }

    /// Number of samples on all levels.
    pub fn total(&self) -> usize {
        self.levels.iter().map(SkeletonLevel::len).sum()
    }

    /// Ids from the root to `row` of `level`.
    pub fn path(&self, level: usize, row: u32) -> SamplePath {
        let mut ids = Vec::with_capacity(level + 1);
        let mut row = row;
        for depth in (0..=level).rev() {
            let table = &self.levels[depth];
            let inside = row as usize;
            if inside >= table.len() {
                break;
            }
            ids.push(table.ids.value(inside).into());
            row = table.parents[inside];
        }
        ids.reverse();
        SamplePath(ids)
    }

    /// [`SamplePath::to_archive`] of the sample at `row` of `level`, without the ids as texts of
    /// their own.
    pub fn archive_path(&self, level: usize, row: u32) -> String {
        let mut rows = [0u32; MAX_LEVELS * 2];
        let Some(rows) = rows.get_mut(..=level) else {
            return self.path(level, row).to_archive();
        };
        let mut length = 0;
        let mut below = row;
        for (depth, found) in rows.iter_mut().enumerate().rev() {
            let table = &self.levels[depth];
            if below as usize >= table.len() {
                // A row without a parent.
                return self.path(level, row).to_archive();
            }
            length += table.id(below).len() + 1;
            *found = below;
            below = table.parents[below as usize];
        }
        let mut path = String::with_capacity(length);
        for (depth, &row) in rows.iter().enumerate() {
            if depth > 0 {
                path.push('/');
            }
            path.push_str(self.levels[depth].id(row));
        }
        path
    }

    /// Level and row of the sample with these ids. `#3` selects the fourth sibling, not counting
    /// padding, unless a sibling has this id.
    pub fn find(&self, path: &SamplePath) -> Option<(usize, u32)> {
        self.find_below(None, &path.0).or_else(|| {
            // Ids of TACO 3 may have a `/`: the first parts are then one id.
            (2..=path.0.len()).rev().find_map(|count| {
                let (first, rest) = path.0.split_at(count);
                let joined: Vec<Arc<str>> = std::iter::once(first.join("/").into())
                    .chain(rest.iter().cloned())
                    .collect();
                self.find_below(None, &joined)
            })
        })
    }

    /// The sample at these ids below a row, or of level 0.
    fn find_below(&self, above: Option<(usize, u32)>, ids: &[Arc<str>]) -> Option<(usize, u32)> {
        let Some((id, rest)) = ids.split_first() else {
            return above;
        };
        let (depth, row) = match above {
            None => {
                let top = self.levels.first()?;
                (0, top.among(0..top.len() as u32, id)?)
            }
            Some((depth, row)) => {
                let below = self.levels.get(depth + 1)?;
                (
                    depth + 1,
                    below.among(self.levels[depth].children(row).iter().copied(), id)?,
                )
            }
        };
        self.find_below(Some((depth, row)), rest)
    }
}

impl SkeletonLevel {
    /// The row among `rows` with this id, with this id in another Unicode form, or at this
    /// position.
    fn among(&self, mut rows: impl Iterator<Item = u32> + Clone, wanted: &str) -> Option<u32> {
        if let Some(row) = rows.clone().find(|&row| self.id(row) == wanted) {
            return Some(row);
        }
        if !wanted.is_ascii() {
            let wanted = in_nfc(wanted);
            return rows.find(|&row| in_nfc(self.id(row)) == wanted);
        }
        let digits = wanted
            .strip_prefix('#')
            .filter(|digits| digits.bytes().all(|byte| byte.is_ascii_digit()))?;
        let position: usize = digits.parse().ok()?;
        rows.by_ref()
            .filter(|&row| !is_padding(self.id(row)))
            .nth(position)
    }
}

fn group_by_parent(rows: usize, parents: &[u32]) -> (Vec<u32>, Vec<u32>) {
    let mut start = vec![0u32; rows + 1];
    for &parent in parents.iter().filter(|&&parent| (parent as usize) < rows) {
        start[parent as usize + 1] += 1;
    }
    for row in 0..rows {
        start[row + 1] += start[row];
    }
    let mut next = start.clone();
    let mut children = vec![0u32; start[rows] as usize];
    for (child, &parent) in parents.iter().enumerate() {
        if (parent as usize) < rows {
            children[next[parent as usize] as usize] = child as u32;
            next[parent as usize] += 1;
        }
    }
    (start, children)
}

/// The children of one FOLDER of the pattern: an entry of `taco:pit_schema` → `hierarchy`.
#[derive(Clone, Debug, PartialEq, serde::Serialize, serde::Deserialize)]
pub struct PitPattern {
    /// Number of samples of the whole dataset that match this pattern.
    pub n: u64,
    /// Type of each position.
    #[serde(rename = "type")]
    pub kinds: Vec<SampleKind>,
    /// Id of each position.
    #[serde(rename = "id")]
    pub ids: Vec<String>,
}

/// `taco:pit_schema` (TACO 2.0, section 6.1).
#[derive(Clone, Debug, PartialEq, serde::Serialize, serde::Deserialize)]
pub struct PitSchema {
    /// Number and type of the roots.
    pub root: PitRoot,
    /// Number of roots, then the maximum number of children of a FOLDER on each level.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub shape: Vec<u64>,
    /// Level number → one pattern for each FOLDER of each pattern of the level above, in tree
    /// order.
    pub hierarchy: BTreeMap<String, Vec<PitPattern>>,
}

/// `taco:pit_schema` → `root`.
#[derive(Clone, Debug, PartialEq, serde::Serialize, serde::Deserialize)]
pub struct PitRoot {
    /// Number of roots.
    pub n: u64,
    /// Their common type.
    #[serde(rename = "type")]
    pub kind: SampleKind,
}

impl PitSchema {
    /// Computes the schema of a tree: FOLDERs of patterns are matched by their path at every depth.
    /// The pattern of a FOLDER is its longest list of children. `None` for a tree without samples.
    pub fn from_skeleton(tree: &Skeleton) -> Option<Self> {
        let top = tree.levels.first().filter(|level| !level.is_empty())?;
        let mut hierarchy = BTreeMap::new();
        let mut shape = vec![top.len() as u64];
        let everyone: Vec<u32> = (0..top.len() as u32).collect();
        let mut groups = vec![everyone];
        for depth in 1..tree.levels.len() {
            let (above, here) = (&tree.levels[depth - 1], &tree.levels[depth]);
            let mut patterns = Vec::new();
            let mut next = Vec::new();
            let mut widest = 0;
            for parents in &groups {
                let Some(best) = parents.iter().copied().reduce(|a, b| {
                    if above.children(b).len() > above.children(a).len() {
                        b
                    } else {
                        a
                    }
                }) else {
                    continue;
                };
                let model = above.children(best);
                widest = widest.max(model.len());
                if model.is_empty() {
                    continue;
                }
                let ids: Vec<&str> = (0..model.len())
                    .map(|position| find_position_id(above, here, parents, model, position))
                    .collect();
                patterns.push(PitPattern {
                    n: parents
                        .iter()
                        .map(|&parent| above.children(parent).len() as u64)
                        .sum(),
                    kinds: model.iter().map(|&row| here.kind(row)).collect(),
                    ids: ids.iter().map(|&id| id.to_owned()).collect(),
                });
                let folders = FolderChildren::from_group(above, here, parents);
                let positions = (0..model.len()).filter(|&at| here.folder[model[at] as usize]);
                next.extend(positions.map(|position| folders.list_at(ids[position], position)));
            }
            shape.push(widest as u64);
            hierarchy.insert(depth.to_string(), patterns);
            groups = next;
        }
        Some(Self {
            root: PitRoot {
                n: top.len() as u64,
                kind: top.kind(0),
            },
            shape,
            hierarchy,
        })
    }
}

/// The FOLDERs among the children of FOLDERs of one pattern, to look up those at a position. Each
/// has its number in the order of the children.
#[derive(Default)]
struct FolderChildren<'a> {
    /// Numbers and rows by id in one Unicode form.
    by_id: HashMap<Cow<'a, str>, Vec<(u32, u32)>>,
    /// Numbers and rows of padding by position.
    padding_at: HashMap<usize, Vec<(u32, u32)>>,
}

impl<'a> FolderChildren<'a> {
    fn from_group(above: &SkeletonLevel, here: &'a SkeletonLevel, parents: &[u32]) -> Self {
        let mut folders = Self::default();
        let children = parents
            .iter()
            .flat_map(|&parent| above.children(parent).iter().enumerate())
            .filter(|&(_, &child)| here.folder[child as usize]);
        for (number, (at, &child)) in (0..).zip(children) {
            let own = here.id(child);
            let entry = (number, child);
            folders.by_id.entry(in_nfc(own)).or_default().push(entry);
            if is_padding(own) {
                folders.padding_at.entry(at).or_default().push(entry);
            }
        }
        folders
    }

    /// The rows of the FOLDERs at a position: padding matches by position, all others by id.
    fn list_at(&self, id: &str, position: usize) -> Vec<u32> {
        let with_id = self.by_id.get(&in_nfc(id)).into_iter().flatten();
        let padding = self.padding_at.get(&position).into_iter().flatten();
        let mut found: Vec<(u32, u32)> = with_id.chain(padding).copied().collect();
        found.sort_unstable();
        found.dedup();
        found.into_iter().map(|(_, child)| child).collect()
    }
}

/// The id at a position of the FOLDER with the children `model`. A position that is padded there
/// gets its id from one of the FOLDERs `parents` where it is not.
fn find_position_id<'a>(
    above: &SkeletonLevel,
    here: &'a SkeletonLevel,
    parents: &[u32],
    model: &[u32],
    position: usize,
) -> &'a str {
    let own = here.id(model[position]);
    if !is_padding(own) {
        return own;
    }
    for &parent in parents {
        let children = above.children(parent);
        if children.len() != model.len() {
            continue;
        }
        let id = here.id(children[position]);
        if !is_padding(id) {
            return id;
        }
    }
    own
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::Sample;

    fn scene(id: &str, parts: &[&str]) -> Sample {
        let files = parts
            .iter()
            .map(|part| Sample::new_file(part, "/x", 1))
            .collect();
        let s2 = Sample::new_folder("s2", Tortilla::new(files));
        Sample::new_folder(
            id,
            Tortilla::new(vec![s2, Sample::new_file("label", "/y", 1)]),
        )
    }

    fn dataset() -> Dataset {
        let root = Tortilla::new(vec![scene("b", &["t0", "t1"]), scene("a", &["t0", "t1"])]);
        Dataset {
            root: root.into(),
            ..Dataset::default()
        }
    }

    #[test]
    fn rows_are_grouped_by_parent_in_tree_order() {
        let tree = Skeleton::from_dataset(&dataset());
        assert_eq!(
            tree.levels
                .iter()
                .map(SkeletonLevel::len)
                .collect::<Vec<_>>(),
            [2, 4, 4]
        );
        assert_eq!(tree.levels[2].parents, [0, 0, 2, 2]);
        assert_eq!(tree.path(2, 3).to_string(), "a / s2 / t1");
        assert_eq!(tree.find(&SamplePath::parse("a/s2/t1")), Some((2, 3)));
        assert_eq!(tree.find(&SamplePath::parse("#1/s2/#1")), Some((2, 3)));
        assert_eq!(tree.archive_path(2, 3), tree.path(2, 3).to_archive());
        assert_eq!(
            [tree.archive_path(0, 1), tree.archive_path(0, 7)],
            ["a", ""]
        );
        for missing in ["#2", "#", "#-1", "#1/#0/#2", "c"] {
            assert_eq!(tree.find(&SamplePath::parse(missing)), None, "{missing}");
        }
    }

    #[test]
    fn pit_schema_counts_every_sample_of_a_pattern() {
        let schema =
            PitSchema::from_skeleton(&Skeleton::from_dataset(&dataset())).expect("has samples");
        assert_eq!(schema.shape, [2, 2, 2]);
        let json = serde_json::to_value(&schema).expect("is JSON");
        assert_eq!(json["root"], serde_json::json!({"n": 2, "type": "FOLDER"}));
        assert_eq!(
            json["hierarchy"]["1"][0],
            serde_json::json!({"n": 4, "type": ["FOLDER", "FILE"], "id": ["s2", "label"]})
        );
        assert_eq!(
            json["hierarchy"]["2"][0],
            serde_json::json!({"n": 4, "type": ["FILE", "FILE"], "id": ["t0", "t1"]})
        );
    }

    #[test]
    fn pit_schema_of_a_folder_with_very_many_folders_is_one_pattern_for_each() {
        const FOLDERS: usize = 50_000;
        let scenes = (0..FOLDERS).map(|n| scene(&format!("scene_{n}"), &["t0"]));
        let train = Sample::new_folder("train", Tortilla::new(scenes.collect()));
        let schema = PitSchema::from_skeleton(&Skeleton::from_dataset(&Dataset {
            root: Tortilla::new(vec![train]).into(),
            ..Dataset::default()
        }))
        .expect("has samples");
        assert_eq!(schema.shape, [1, FOLDERS as u64, 2, 1]);
        assert_eq!(schema.hierarchy["2"].len(), FOLDERS);
        assert_eq!(schema.hierarchy["3"].len(), FOLDERS);
    }

    #[test]
    fn pit_schema_names_padded_positions_by_their_real_ids() {
        let whole = scene("b", &["t0", "t1"]);
        let mut first = scene("a", &["__TACOPAD__0", "t1"]);
        if let crate::model::Payload::Folder(children) = &mut first.payload {
            std::sync::Arc::make_mut(children).samples[1] = crate::model::padding_file(1);
        }
        let padded = crate::model::padding_like(&whole, 0);
        let root = Tortilla::new(vec![first, whole, padded]);
        let schema = PitSchema::from_skeleton(&Skeleton::from_dataset(&Dataset {
            root: root.into(),
            ..Dataset::default()
        }))
        .expect("has samples");
        assert_eq!(
            (schema.hierarchy["1"][0].n, &schema.hierarchy["1"][0].ids),
            (6, &vec!["s2".to_owned(), "label".to_owned()])
        );
        assert_eq!(
            (schema.hierarchy["2"][0].n, &schema.hierarchy["2"][0].ids),
            (6, &vec!["t0".to_owned(), "t1".to_owned()])
        );
    }

    #[test]
    fn rows_with_an_invalid_parent_have_no_parent() {
        let ids = |ids: &[&str]| StringArray::from_iter_values(ids.iter());
        let tree = Skeleton::from_columns(vec![
            (ids(&["a"]), vec![true], vec![0]),
            (ids(&["x", "y"]), vec![false, false], vec![9, 0]),
        ]);
        assert_eq!(tree.levels[0].children(0), [1]);
    }
}
