//! Structure view: the pattern that all roots should have (PIT-1; TACO 2.0, section 5.4), and for
//! every root and position the state. States are stored once per distinct shape, so a million
//! samples take a few megabytes, and an edit of one root updates one root. Pure: no IO, no threads.

use std::collections::{BTreeSet, HashMap};
use std::ops::Range;
use std::sync::{Arc, OnceLock};

use super::file_kind::{KindMatch, Kinds};
use super::spelling::likeness;
use crate::model::{
    Dataset, NodePath, RootChanges, RootShapes, SampleKind, Schema, ShapeId, Shapes, Tortilla,
    is_padding,
};

/// State of a position of the pattern, best first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, serde::Serialize)]
#[serde(rename_all = "snake_case")]
pub enum PositionState {
    /// The expected sample.
    Present,
    Padded,
    /// The expected sample at another position.
    WrongOrder,
    /// A sample with another id.
    WrongId,
    /// A FILE instead of a FOLDER, or the reverse.
    WrongType,
    /// No sample.
    Missing,
}

impl PositionState {
    /// All states, best first, in the order of [`StateCounts`].
    pub const ALL: [PositionState; 6] = [
        Self::Present,
        Self::Padded,
        Self::WrongOrder,
        Self::WrongId,
        Self::WrongType,
        Self::Missing,
    ];

    /// True when the state violates PIT-1.
    pub fn is_fault(self) -> bool {
        self > PositionState::Padded
    }
}

/// Number of positions or roots by state, indexed as [`PositionState::ALL`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct StateCounts(pub [u64; 6]);

impl StateCounts {
    /// The number in one state.
    pub fn count_in_state(&self, state: PositionState) -> u64 {
        self.0[state as usize]
    }

    /// The number in states that violate PIT-1.
    pub fn faults(&self) -> u64 {
        PositionState::ALL
            .iter()
            .filter(|state| state.is_fault())
            .map(|&state| self.count_in_state(state))
            .sum()
    }

    fn add(&mut self, state: PositionState, by: u64) {
        self.0[state as usize] += by;
    }
}

/// How the pattern is chosen.
#[derive(Clone, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub enum PatternChoice {
    /// The shape that most roots have, or nearly have ([`crate::model::common_shape`]).
    #[default]
    MostCommon,
    /// The shape of the root with this id, while it exists.
    Root(Arc<str>),
}

/// One position of the pattern, in tree order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PatternNode {
    /// Expected id.
    pub id: Arc<str>,
    /// Expected type.
    pub kind: SampleKind,
    /// Level of the samples at this position; 1 for children of roots.
    pub level: usize,
    /// Index among its siblings.
    pub position: u32,
    /// Index in the pattern of the parent FOLDER; `None` for children of roots.
    pub parent: Option<u32>,
}

/// Most states that are stored: distinct shapes × positions of the pattern, a byte each.
const STATES_MAX: usize = 64 << 20;

#[derive(Debug)]
struct ShapeComparison {
    /// Empty for a shape that is not compared, as states would take too much memory.
    states: Box<[PositionState]>,
    /// Number of samples without a position in the pattern.
    extra: u32,
    worst: PositionState,
}

/// The pattern and the state of every root.
#[derive(Default)]
pub struct Structure {
    shapes: RootShapes,
    choice: PatternChoice,
    pattern_shape: Option<ShapeId>,
    model: usize,
    nothing_common: bool,
    /// True when the states of all shapes would be more than [`STATES_MAX`].
    is_too_varied: bool,
    pattern: Vec<PatternNode>,
    /// By shape; `None` for shapes that no root has had since the pattern was chosen.
    rows: Vec<Option<ShapeComparison>>,
    /// Number of roots that contain each id, computed on first use.
    holders: OnceLock<HashMap<Arc<str>, u64>>,
}

impl Structure {
    /// Computes the structure of a dataset.
    pub fn from_dataset(dataset: &Dataset) -> Self {
        let mut structure = Self::default();
        structure.update(dataset);
        structure
    }

    /// Sets how the pattern is chosen.
    pub fn choose(&mut self, choice: PatternChoice) {
        self.choice = choice;
        self.update_pattern(true);
    }

    /// How the pattern is chosen.
    pub fn choice(&self) -> &PatternChoice {
        &self.choice
    }

    /// Updates to `dataset`, visiting only roots that changed. Returns the indices of changed
    /// roots.
    pub fn update(&mut self, dataset: &Dataset) -> Vec<usize> {
        self.follow(dataset).touched
    }

    /// [`Structure::update`] with details of the changes.
    pub fn follow(&mut self, dataset: &Dataset) -> RootChanges {
        if Arc::ptr_eq(self.shapes.tortilla(), &dataset.root) {
            return RootChanges::default();
        }
        let changes = self.shapes.update(&dataset.root);
        if changes.is_rebuilt {
            self.rows.clear();
        }
        // Values and sources are no part of the pattern, and to choose it may take long where the
        // roots have many shapes.
        if changes.has_new_shapes {
            self.update_pattern(changes.is_rebuilt);
        }
        changes
    }

    /// Chooses the pattern again, and compares the shapes that have no comparison with it yet; all
    /// of them when the pattern differs, or with `compare_all`.
    fn update_pattern(&mut self, compare_all: bool) {
        self.holders = OnceLock::new();
        let picked = match &self.choice {
            PatternChoice::MostCommon => None,
            PatternChoice::Root(id) => {
                let at = self
                    .shapes
                    .tortilla()
                    .samples
                    .iter()
                    .position(|sample| sample.id == *id);
                at.map(|index| (self.shapes.roots()[index].shape, index))
            }
        };
        let common = if picked.is_none() {
            self.shapes.most_common()
        } else {
            None
        };
        self.nothing_common = common.is_some_and(|common| !common.is_common);
        let chosen = picked.or_else(|| common.map(|common| (common.shape, common.first_root)));
        self.model = chosen.map_or(0, |(_, index)| index);
        let shape = chosen.map(|(shape, _)| shape);
        if compare_all || shape != self.pattern_shape {
            self.pattern_shape = shape;
            self.rows.clear();
            self.pattern.clear();
            if let Some(shape) = shape {
                self.lay_out(shape, 1, None);
            }
        }
        let held: Vec<ShapeId> = self.shapes.used_shapes().map(|(shape, _)| shape).collect();
        let is_too_varied = held.len().saturating_mul(self.pattern.len()) > STATES_MAX;
        if is_too_varied != self.is_too_varied {
            self.is_too_varied = is_too_varied;
            self.rows.clear();
        }
        // With so many shapes of so many samples, nothing that one root has follows for another.
        self.nothing_common |= is_too_varied;
        for shape in held {
            if self.rows.len() <= shape as usize {
                self.rows.resize_with(shape as usize + 1, || None);
            }
            if self.rows[shape as usize].is_none() {
                let row = self.compare_root(shape);
                self.rows[shape as usize] = Some(row);
            }
        }
    }

    fn lay_out(&mut self, shape: ShapeId, level: usize, parent: Option<u32>) {
        for position in 0..self.shapes.shapes().child_count(shape) {
            let (id, below) = self.shapes.shapes().child(shape, position);
            let kind = if self.shapes.shapes().is_folder(below) {
                SampleKind::Folder
            } else {
                SampleKind::File
            };
            let node = PatternNode {
                id: id.clone(),
                kind,
                level,
                position: position as u32,
                parent,
            };
            let here = self.pattern.len() as u32;
            self.pattern.push(node);
            self.lay_out(below, level + 1, Some(here));
        }
    }

    fn compare_root(&self, found: ShapeId) -> ShapeComparison {
        if self.is_too_varied && self.pattern_shape != Some(found) {
            return ShapeComparison {
                states: Box::default(),
                extra: 0,
                worst: PositionState::Missing,
            };
        }
        let mut row = ShapeComparison {
            states: Box::default(),
            extra: 0,
            worst: PositionState::Present,
        };
        let mut states = Vec::with_capacity(self.pattern.len());
        if let Some(wanted) = self.pattern_shape {
            if self.shapes.shapes().is_folder(wanted) == self.shapes.shapes().is_folder(found) {
                self.compare(wanted, found, &mut states, &mut row.extra);
            } else {
                states.resize(self.pattern.len(), PositionState::Missing);
                row.worst = PositionState::WrongType;
            }
        }
        row.worst = states
            .iter()
            .copied()
            .max()
            .unwrap_or(row.worst)
            .max(row.worst);
        row.states = states.into();
        row
    }

    fn compare(
        &self,
        wanted: ShapeId,
        found: ShapeId,
        states: &mut Vec<PositionState>,
        extra: &mut u32,
    ) {
        if wanted == found {
            let all = self.shapes.shapes().descendant_count(wanted) as usize;
            // Padding in the pattern itself is expected.
            let start = states.len();
            self.fill(wanted, None, states);
            debug_assert_eq!(states.len() - start, all);
            return;
        }
        let shapes = self.shapes.shapes();
        let aligned = align(
            &list_child_ids(shapes, wanted),
            &list_child_ids(shapes, found),
        );
        *extra += aligned.extra.len() as u32;
        for (position, (state, place)) in aligned.places.iter().enumerate() {
            let (_, below) = shapes.child(wanted, position);
            let other = place.map(|place| shapes.child(found, place).1);
            match other {
                None => {
                    states.push(PositionState::Missing);
                    self.fill(below, Some(PositionState::Missing), states);
                }
                Some(other) if shapes.is_folder(other) != shapes.is_folder(below) => {
                    states.push(PositionState::WrongType);
                    self.fill(below, Some(PositionState::Missing), states);
                }
                Some(other) => {
                    states.push(*state);
                    self.compare(below, other, states, extra);
                }
            }
        }
    }

    /// Sets one state for all descendants of a FOLDER of the pattern.
    fn fill(&self, shape: ShapeId, state: Option<PositionState>, states: &mut Vec<PositionState>) {
        for (id, below) in self.shapes.shapes().children(shape) {
            let own = if is_padding(id) {
                PositionState::Padded
            } else {
                PositionState::Present
            };
            states.push(state.unwrap_or(own));
            self.fill(below, state, states);
        }
    }

    /// The positions of the pattern, in tree order.
    pub fn pattern(&self) -> &[PatternNode] {
        &self.pattern
    }

    /// For each level below the roots, the schemas of its tortillas, each once.
    pub fn level_schemas(&self) -> Vec<Vec<&Schema>> {
        self.shapes.level_schemas()
    }

    /// Index of the first root that has most samples below it; `None` where no root has children.
    pub fn largest_root(&self) -> Option<usize> {
        let shapes = self.shapes.shapes();
        let (longest, _) = self
            .shapes
            .used_shapes()
            .min_by_key(|(shape, _)| std::cmp::Reverse(shapes.descendant_count(*shape)))?;
        if shapes.descendant_count(longest) == 0 {
            return None;
        }
        let mut roots = self.shapes.roots().iter();
        roots.position(|root| root.shape == longest)
    }

    /// Index of the first root that has the pattern's shape.
    pub fn model(&self) -> Option<usize> {
        self.pattern_shape.map(|_| self.model)
    }

    /// True when the most common shape is asked for and none is common: the roots are compared with
    /// an arbitrary one, and no fix follows from it. Also true when the roots have too many shapes
    /// to be compared position by position.
    pub fn nothing_common(&self) -> bool {
        self.nothing_common
    }

    /// Number of roots.
    pub fn roots(&self) -> usize {
        self.shapes.roots().len()
    }

    /// States of one root, one per position of the pattern. Empty for a root that does not exist,
    /// and for one that is not compared, as the roots have too many shapes.
    pub fn states(&self, root: usize) -> &[PositionState] {
        self.row(root).map_or(&[], |row| &row.states)
    }

    /// Number of samples of a root without a position in the pattern.
    pub fn extra(&self, root: usize) -> u32 {
        self.row(root).map_or(0, |row| row.extra)
    }

    /// The worst state of a root; at least [`PositionState::WrongOrder`] when it has extra samples.
    pub fn worst(&self, root: usize) -> PositionState {
        self.row(root)
            .map_or(PositionState::Present, |row| row.with_extra())
    }

    /// The states of the roots in a range: the visible rows of a matrix.
    pub fn rows(&self, range: Range<usize>) -> impl Iterator<Item = (usize, &[PositionState])> {
        let end = range.end.min(self.roots());
        (range.start.min(end)..end).map(|root| (root, self.states(root)))
    }

    /// Worst state of each of `width` consecutive groups of roots, for an overview strip of the
    /// whole dataset.
    pub fn strip(&self, width: usize) -> Vec<PositionState> {
        let (roots, width) = (self.roots(), width.min(self.roots()));
        let mut strip = Vec::with_capacity(width);
        for cell in 0..width {
            let group = cell * roots / width..(cell + 1) * roots / width;
            let worst = group.map(|root| self.worst(root)).max();
            strip.push(worst.unwrap_or(PositionState::Present));
        }
        strip
    }

    /// For each position, the number of roots by state.
    pub fn position_counts(&self) -> Vec<StateCounts> {
        let mut counts = vec![StateCounts::default(); self.pattern.len()];
        for (shape, roots) in self.by_shape() {
            let Some(row) = self.row_of(shape) else {
                continue;
            };
            for (count, &state) in counts.iter_mut().zip(row.states.iter()) {
                count.add(state, roots);
            }
        }
        counts
    }

    /// Number of roots by worst state.
    pub fn root_counts(&self) -> StateCounts {
        let mut counts = StateCounts::default();
        for (shape, roots) in self.by_shape() {
            if let Some(row) = self.row_of(shape) {
                counts.add(row.with_extra(), roots);
            }
        }
        counts
    }

    /// Number of roots that are not as the pattern: with a fault or padding.
    pub fn count_off_roots(&self) -> u64 {
        let counts = self.root_counts();
        let all: u64 = counts.0.iter().sum();
        all - counts.count_in_state(PositionState::Present)
    }

    /// The roots that are not as the pattern, in order.
    pub fn list_off_roots(&self) -> Vec<u32> {
        if self.count_off_roots() == 0 {
            return Vec::new();
        }
        let roots = 0..self.roots() as u32;
        roots
            .filter(|&root| self.worst(root as usize) > PositionState::Present)
            .collect()
    }

    /// True when two roots have the same shape.
    pub fn has_same_shape(&self, a: usize, b: usize) -> bool {
        let roots = self.shapes.roots();
        matches!((roots.get(a), roots.get(b)), (Some(a), Some(b)) if a.shape == b.shape)
    }

    /// Number of roots that contain a sample with this id, at any depth.
    pub(super) fn holders(&self, id: &str) -> u64 {
        let all = self.holders.get_or_init(|| {
            let mut all: HashMap<Arc<str>, u64> = HashMap::new();
            for (shape, roots) in self.by_shape() {
                let mut ids = BTreeSet::new();
                self.ids_below(shape, &mut ids);
                ids.into_iter()
                    .for_each(|id| *all.entry(id.clone()).or_default() += roots);
            }
            all
        });
        all.get(id).copied().unwrap_or(0)
    }

    fn ids_below<'a>(&'a self, shape: ShapeId, ids: &mut BTreeSet<&'a Arc<str>>) {
        for (id, below) in self.shapes.shapes().children(shape) {
            ids.insert(id);
            self.ids_below(below, ids);
        }
    }

    /// Index of the next root after `root` (or of the first) that violates PIT-1.
    pub fn next_fault(&self, root: Option<usize>) -> Option<usize> {
        (root.map_or(0, |root| root + 1)..self.roots()).find(|&root| self.worst(root).is_fault())
    }

    /// The path of a sample from its level and row, as in findings.
    pub fn node(&self, level: usize, row: u32) -> Option<NodePath> {
        if level == 0 {
            return ((row as usize) < self.roots()).then(|| NodePath(vec![row]));
        }
        let shapes = self.shapes.shapes();
        let mut rest = row;
        for (index, root) in self.shapes.roots().iter().enumerate() {
            let count = shapes
                .descendant_counts(root.shape)
                .get(level - 1)
                .copied()
                .unwrap_or(0);
            if rest >= count {
                rest -= count;
                continue;
            }
            let mut path = vec![index as u32];
            let mut shape = root.shape;
            for below in (0..level).rev() {
                let inside = |shape| count_samples_at(shapes, shape, below);
                let mut place = None;
                for (position, (_, child)) in shapes.children(shape).enumerate() {
                    if rest < inside(child) {
                        place = Some((position as u32, child));
                        break;
                    }
                    rest -= inside(child);
                }
                let (position, child) = place?;
                path.push(position);
                shape = child;
            }
            return Some(NodePath(path));
        }
        None
    }

    fn row(&self, root: usize) -> Option<&ShapeComparison> {
        self.row_of(self.shapes.roots().get(root)?.shape)
    }

    fn row_of(&self, shape: ShapeId) -> Option<&ShapeComparison> {
        self.rows.get(shape as usize)?.as_ref()
    }

    fn by_shape(&self) -> impl Iterator<Item = (ShapeId, u64)> {
        self.shapes
            .used_shapes()
            .map(|(shape, count)| (shape, u64::from(count)))
    }
}

fn list_child_ids(shapes: &Shapes, shape: ShapeId) -> Vec<&str> {
    shapes.children(shape).map(|(id, _)| &**id).collect()
}

/// Number of samples `depth` levels below a sample of this shape; at 0 the sample itself.
fn count_samples_at(shapes: &Shapes, shape: ShapeId, depth: usize) -> u32 {
    match depth.checked_sub(1) {
        None => 1,
        Some(level) => shapes
            .descendant_counts(shape)
            .get(level)
            .copied()
            .unwrap_or(0),
    }
}

impl ShapeComparison {
    fn with_extra(&self) -> PositionState {
        if self.extra > 0 {
            self.worst.max(PositionState::WrongOrder)
        } else {
            self.worst
        }
    }
}

/// The children of a FOLDER matched with those of the pattern.
#[derive(Debug, PartialEq)]
pub(super) struct Aligned {
    /// For each expected child, its state and its index.
    pub places: Vec<(PositionState, Option<usize>)>,
    /// Indices of children without a position.
    pub extra: Vec<usize>,
}

/// Matches children with positions of the pattern, to describe a root: by id, then padding by
/// position, then other spellings of a name, and, when the number of children is right, by
/// position.
pub(super) fn align(wanted: &[&str], found: &[&str]) -> Aligned {
    let mut matching = ChildMatching::from_ids(wanted, found);
    matching.match_spellings(|_, _| KindMatch::Unknown);
    matching.match_positions();
    matching.into_alignment()
}

/// Largest number of pairs of names that are compared.
const COMPARED: usize = 250_000;

/// Children being matched with positions.
struct ChildMatching<'a> {
    wanted: &'a [&'a str],
    found: &'a [&'a str],
    taken: Vec<bool>,
    places: Vec<(PositionState, Option<usize>)>,
}

impl<'a> ChildMatching<'a> {
    /// Matches equal ids, then padding by position.
    fn from_ids(wanted: &'a [&'a str], found: &'a [&'a str]) -> Self {
        let mut taken = vec![false; found.len()];
        let mut places: Vec<(PositionState, Option<usize>)> =
            vec![(PositionState::Missing, None); wanted.len()];
        let mut by_id: HashMap<&str, usize> = HashMap::with_capacity(found.len());
        for (index, id) in found.iter().enumerate() {
            by_id.entry(id).or_insert(index);
        }
        for (place, id) in places.iter_mut().zip(wanted) {
            if let Some(&index) = by_id.get(id).filter(|&&index| !taken[index]) {
                taken[index] = true;
                *place = (
                    if is_padding(id) {
                        PositionState::Padded
                    } else {
                        PositionState::Present
                    },
                    Some(index),
                );
            }
        }
        for (position, place) in places.iter_mut().enumerate() {
            let either = |index: usize| is_padding(found[index]) || is_padding(wanted[position]);
            if place.1.is_none() && position < found.len() && !taken[position] && either(position) {
                taken[position] = true;
                *place = (PositionState::Padded, Some(position));
            }
        }
        Self {
            wanted,
            found,
            taken,
            places,
        }
    }

    fn open(&self) -> Vec<usize> {
        (0..self.wanted.len())
            .filter(|&position| self.places[position].1.is_none())
            .collect()
    }

    fn left(&self) -> Vec<usize> {
        (0..self.found.len())
            .filter(|&index| !self.taken[index] && !is_padding(self.found[index]))
            .collect()
    }

    fn match_pair(&mut self, position: usize, index: usize) {
        self.taken[index] = true;
        self.places[position] = (PositionState::WrongId, Some(index));
    }

    /// Matches names that are spelled in another way, where nothing else can be meant.
    /// `kind(position, index)` says what is known about the file; no match crosses kinds.
    fn match_spellings(&mut self, kind: impl Fn(usize, usize) -> KindMatch) {
        let (open, left) = (self.open(), self.left());
        if open.is_empty() || open.len().saturating_mul(left.len()) > COMPARED {
            return;
        }
        // Spelling first, then agreement of kinds.
        let mut pairs: Vec<((bool, u8), usize, usize)> = Vec::new();
        for &position in &open {
            for &index in &left {
                let name = likeness(self.wanted[position], self.found[index]);
                let agreement = match kind(position, index) {
                    _ if name == 0 => continue,
                    KindMatch::Crosses => continue,
                    KindMatch::Odd if name < 1000 => continue,
                    KindMatch::Odd | KindMatch::Unknown => 0,
                    KindMatch::Same(further) => 1 + further,
                };
                pairs.push(((name == 1000, agreement), position, index));
            }
        }
        pairs.sort_by(|a, b| b.0.cmp(&a.0).then((a.1, a.2).cmp(&(b.1, b.2))));
        let (mut positions, mut indices) = (BTreeSet::new(), BTreeSet::new());
        for equals in pairs.chunk_by(|a, b| a.0 == b.0) {
            let free: Vec<(usize, usize)> = (equals.iter())
                .filter(|(_, position, index)| {
                    !positions.contains(position) && !indices.contains(index)
                })
                .map(|&(_, position, index)| (position, index))
                .collect();
            let (mut of_position, mut of_index): (HashMap<usize, usize>, HashMap<usize, usize>) =
                Default::default();
            for (position, index) in &free {
                *of_position.entry(*position).or_default() += 1;
                *of_index.entry(*index).or_default() += 1;
            }
            for (position, index) in free {
                // Of two that fit as well, none is meant more than the other.
                if of_position.get(&position) == Some(&1) && of_index.get(&index) == Some(&1) {
                    self.match_pair(position, index);
                }
                positions.insert(position);
                indices.insert(index);
            }
        }
    }

    /// With the right number of children, matches the rest by position: shows what is at a
    /// position, and is no reason to rename it.
    fn match_positions(&mut self) {
        if self.wanted.len() != self.found.len() {
            return;
        }
        let left = self.left();
        for position in self.open() {
            if left.binary_search(&position).is_ok() {
                self.match_pair(position, position);
            }
        }
        for (position, index) in self.open().into_iter().zip(self.left()) {
            self.match_pair(position, index);
        }
    }

    fn into_alignment(self) -> Aligned {
        let Self {
            taken,
            mut places,
            found,
            ..
        } = self;
        // The samples outside the longest increasing subsequence are the ones that moved.
        let order: Vec<usize> = places
            .iter()
            .filter(|place| place.0 != PositionState::WrongId)
            .filter_map(|place| place.1)
            .collect();
        let in_order = longest_run(&order);
        for place in &mut places {
            if place.0 == PositionState::Present
                && place
                    .1
                    .is_some_and(|index| in_order.binary_search(&index).is_err())
            {
                place.0 = PositionState::WrongOrder;
            }
        }
        let extra = (0..found.len()).filter(|&index| !taken[index]).collect();
        Aligned { places, extra }
    }
}

/// [`align`] for the children of two FOLDERs.
pub(super) fn align_samples(wanted: &Tortilla, found: &Tortilla) -> Aligned {
    align(&ids_of(wanted), &ids_of(found))
}

/// Matches the children of two FOLDERs, to fix them: as [`align_samples`], with the kinds of the
/// files and nothing by position. `above` are the ids of the pattern below the root, down to the
/// FOLDER.
pub(super) fn align_files(
    wanted: &Tortilla,
    found: &Tortilla,
    dataset: &Dataset,
    above: &[Arc<str>],
    kinds: &Kinds,
) -> Aligned {
    let (ids, found_ids) = (ids_of(wanted), ids_of(found));
    let mut matching = ChildMatching::from_ids(&ids, &found_ids);
    matching.match_spellings(|position, index| {
        kinds.fits(dataset, above, wanted, position, &found.samples[index])
    });
    matching.into_alignment()
}

fn ids_of(tortilla: &Tortilla) -> Vec<&str> {
    tortilla.samples.iter().map(|sample| &*sample.id).collect()
}

/// The longest increasing subsequence of distinct numbers.
fn longest_run(order: &[usize]) -> Vec<usize> {
    let mut ends: Vec<usize> = Vec::new();
    let mut before: Vec<Option<usize>> = vec![None; order.len()];
    for (index, &value) in order.iter().enumerate() {
        let at = ends.partition_point(|&end| order[end] < value);
        before[index] = at.checked_sub(1).map(|at| ends[at]);
        if at == ends.len() {
            ends.push(index)
        } else {
            ends[at] = index
        }
    }
    let mut run = Vec::with_capacity(ends.len());
    let mut next = ends.last().copied();
    while let Some(index) = next {
        run.push(order[index]);
        next = before[index];
    }
    run.reverse();
    run
}

#[cfg(test)]
mod tests {
    use PositionState::{Missing, Padded, Present, WrongId, WrongOrder, WrongType};

    use super::*;
    use crate::model::{Sample, Skeleton, Tortilla, padding_like};

    fn files(ids: &[&str]) -> Tortilla {
        Tortilla::new(ids.iter().map(|id| Sample::new_file(id, "/x", 1)).collect())
    }

    fn scene(id: &str, parts: &[&str]) -> Sample {
        Sample::new_folder(id, files(parts))
    }

    fn dataset(roots: Vec<Sample>) -> Dataset {
        Dataset {
            root: Tortilla::new(roots).into(),
            ..Dataset::default()
        }
    }

    #[test]
    fn roots_that_keep_their_shapes_keep_the_pattern() {
        let ids = |structure: &Structure| -> Vec<String> {
            let nodes = structure.pattern().iter();
            nodes.map(|node| node.id.to_string()).collect()
        };
        let two = || dataset(vec![scene("a", &["x", "y"]), scene("b", &["x", "y"])]);
        let mut structure = Structure::from_dataset(&two());
        assert_eq!(structure.update(&two()), [0, 1], "other objects");
        assert_eq!(ids(&structure), ["x", "y"]);
        assert_eq!(structure.states(1), [Present; 2]);
        let other = dataset(vec![scene("a", &["x"]), scene("b", &["x"])]);
        assert_eq!(structure.update(&other), [0, 1]);
        assert_eq!(ids(&structure), ["x"]);
        assert_eq!(structure.states(1), [Present]);
    }

    #[test]
    fn every_kind_of_difference_has_its_state() {
        let parts = ["before", "after", "label"];
        let mut typed = scene("t", &["before", "after"]);
        if let crate::model::Payload::Folder(children) = &mut typed.payload {
            Arc::make_mut(children)
                .samples
                .push(Sample::new_folder("label", files(&["x"])));
        }
        let padded = padding_like(&scene("p", &parts), 0);
        let data = dataset(vec![
            scene("a", &parts),
            scene("b", &["before", "label"]),
            scene("c", &["before", "after", "lable"]),
            scene("d", &["label", "before", "after"]),
            scene("e", &["before", "after", "label", "extra"]),
            scene("f", &["before", "__TACOPAD__1", "label"]),
            typed,
            padded,
            scene("z", &parts),
        ]);
        let structure = Structure::from_dataset(&data);
        assert_eq!(
            structure
                .pattern()
                .iter()
                .map(|node| &*node.id)
                .collect::<Vec<_>>(),
            parts
        );
        let states: Vec<Vec<PositionState>> = structure
            .rows(0..99)
            .map(|(_, states)| states.to_vec())
            .collect();
        assert_eq!(states[0], [Present; 3]);
        assert_eq!(states[1], [Present, Missing, Present]);
        assert_eq!(states[2], [Present, Present, WrongId]);
        assert_eq!(states[3], [Present, Present, WrongOrder]);
        assert_eq!((&states[4][..], structure.extra(4)), (&[Present; 3][..], 1));
        assert_eq!(states[5], [Present, Padded, Present]);
        assert_eq!(states[6], [Present, Present, WrongType]);
        assert_eq!(states[7], [Padded; 3]);
        assert_eq!(structure.position_counts()[1].count_in_state(Missing), 1);
        assert_eq!(structure.root_counts().faults(), 5);
        assert_eq!(structure.next_fault(Some(4)), Some(6));
        assert_eq!(structure.strip(3), [Missing, WrongOrder, WrongType]);
    }

    #[test]
    fn an_edit_of_one_root_changes_only_its_row() {
        let mut roots: Vec<Sample> = (0..20)
            .map(|n| scene(&format!("r{n}"), &["a", "b"]))
            .collect();
        let mut structure = Structure::from_dataset(&dataset(roots.clone()));
        roots[7] = scene("r7", &["a"]);
        assert_eq!(structure.update(&dataset(roots.clone())), [7]);
        assert_eq!(
            (structure.states(7), structure.states(8)),
            (&[Present, Missing][..], &[Present, Present][..])
        );
        assert_eq!(structure.largest_root(), Some(0));
        structure.choose(PatternChoice::Root("r7".into()));
        assert_eq!(
            (
                structure.pattern().len(),
                structure.extra(0),
                structure.extra(7)
            ),
            (1, 1, 0)
        );
        structure.choose(PatternChoice::MostCommon);
        assert_eq!(structure.root_counts().faults(), 1);
    }

    /// A state for each of 20,000 shapes and 20,000 positions would take 400 MB.
    #[test]
    fn roots_of_too_many_shapes_are_not_compared_by_position() {
        let count = 20_000;
        let names: Vec<String> = (0..count).map(|n| format!("f{n}")).collect();
        let names: Vec<&str> = names.iter().map(String::as_str).collect();
        let mut roots = vec![scene("all", &names)];
        roots.extend((1..count).map(|n| scene(&format!("r{n}"), &names[n..=n])));
        let mut structure = Structure::from_dataset(&dataset(roots.clone()));
        structure.choose(PatternChoice::Root("all".into()));
        assert_eq!(
            (structure.pattern().len(), structure.states(1).len()),
            (count, 0)
        );
        assert_eq!((structure.worst(0), structure.worst(1)), (Present, Missing));
        assert_eq!(structure.states(0).len(), count);
        assert_eq!(structure.root_counts().faults() as usize, count - 1);
        assert!(structure.nothing_common());
        // Of fewer roots, each is compared.
        roots.truncate(3);
        structure.update(&dataset(roots));
        assert_eq!(structure.states(1)[..3], [Missing, Present, Missing]);
        assert!(!structure.nothing_common());
    }

    #[test]
    fn rows_of_levels_lead_to_addresses() {
        let deep = |id: &str| {
            Sample::new_folder(
                id,
                Tortilla::new(vec![
                    scene("s1", &["x"]),
                    Sample::new_file("l", "/l", 1),
                    scene("s2", &["y", "z"]),
                ]),
            )
        };
        let data = dataset(vec![deep("a"), scene("b", &["q"]), deep("c")]);
        let structure = Structure::from_dataset(&data);
        let tree = Skeleton::from_dataset(&data);
        for (depth, level) in tree.levels.iter().enumerate() {
            for row in 0..level.len() as u32 {
                let node = structure.node(depth, row).expect("is there");
                assert_eq!(data.ids(&node).expect("is there"), tree.path(depth, row));
            }
            assert_eq!(structure.node(depth, level.len() as u32), None);
        }
    }
}
