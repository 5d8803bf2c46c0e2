//! Groups files by root and by position while one reading (interpretation) of their names is tried.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use super::TokenRole;
use super::name::natural_key;
use super::reader::{IdParts, IdPath, PatternInput};

/// Indices of the root and of the position of a file: its cell in the table of roots and positions.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct FileCell {
    /// Index in [`Grouping::roots`].
    pub root: u32,
    /// Index in [`Grouping::positions`], or [`UNKNOWN_POSITION`].
    pub position: u32,
}

/// Groups of files by root and by position while one reading is tried.
pub(super) struct Grouping<'a, 'r> {
    input: &'a PatternInput<'r>,
    roles: &'a [TokenRole],
    /// How ids of roots are composed of tokens; `None` when the examples do not show it.
    root_parts: Option<IdParts>,
    /// As `root_parts`, for the ids below a root.
    position_parts: Option<IdParts>,
    /// Index of the root by the values of the tokens that determine it.
    root_of_key: HashMap<Vec<u32>, u32>,
    root_of_id: HashMap<Arc<str>, u32>,
    /// Ids of the roots.
    pub roots: Vec<Arc<str>>,
    /// Index of the position by the values of the tokens that determine it.
    position_of_key: HashMap<Vec<u32>, u32>,
    position_of_path: HashMap<IdPath, u32>,
    /// Ids below the root of the positions.
    pub positions: Vec<IdPath>,
    /// True for the positions of the examples and of the draft. Files at other positions are kept
    /// only if most roots have them.
    known_positions: Vec<bool>,
}

/// Marks files whose names do not determine their position.
const UNKNOWN_POSITION: u32 = u32::MAX;

impl<'a, 'r> Grouping<'a, 'r> {
    /// An empty grouping.
    pub fn new(
        input: &'a PatternInput<'r>,
        roles: &'a [TokenRole],
        root_parts: Option<IdParts>,
        position_parts: Option<IdParts>,
    ) -> Self {
        Self {
            input,
            roles,
            root_parts,
            position_parts,
            root_of_key: HashMap::new(),
            root_of_id: HashMap::new(),
            roots: Vec::new(),
            position_of_key: HashMap::new(),
            position_of_path: HashMap::new(),
            positions: Vec::new(),
            known_positions: Vec::new(),
        }
    }

    /// Registers roots and positions of the examples; `None` when the reading contradicts them.
    /// `is_ordered`: the order of the files of a root determines their positions, so names at
    /// different positions may have equal keys.
    pub fn register_examples(&mut self, is_ordered: bool) -> Option<()> {
        for (example, &row) in self.input.examples.iter().zip(&self.input.cohort.examples) {
            let key = self.input.key(row, self.roles, TokenRole::Root);
            let root = self.register_root(example.root.clone());
            if *self.root_of_key.entry(key).or_insert(root) != root {
                return None;
            }
            let position = self.register_position(example.position.clone(), true);
            let key = self.input.key(row, self.roles, TokenRole::Position);
            if *self.position_of_key.entry(key).or_insert(position) != position && !is_ordered {
                return None;
            }
        }
        // Conversely, examples with different ids must be in different groups, and those with equal
        // ids in the same.
        let have_distinct_roots = self.root_of_key.len() == self.roots.len();
        let have_distinct_positions =
            is_ordered || self.position_of_key.len() == self.positions.len();
        (have_distinct_roots && have_distinct_positions).then_some(())
    }

    fn register_root(&mut self, id: Arc<str>) -> u32 {
        *self.root_of_id.entry(id.clone()).or_insert_with(|| {
            self.roots.push(id);
            self.roots.len() as u32 - 1
        })
    }

    fn register_position(&mut self, path: IdPath, is_known: bool) -> u32 {
        *self
            .position_of_path
            .entry(path.clone())
            .or_insert_with(|| {
                self.positions.push(path);
                self.known_positions.push(is_known);
                self.positions.len() as u32 - 1
            })
    }

    /// The index of the root of a file; a new root is registered.
    pub fn assign_root(&mut self, row: usize) -> u32 {
        let key = self.input.key(row, self.roles, TokenRole::Root);
        if let Some(&root) = self.root_of_key.get(&key) {
            return root;
        }
        let id = match &self.root_parts {
            Some(parts) => self.input.compose_id(parts, row),
            None => {
                let classes = self
                    .input
                    .cohort
                    .classes
                    .iter()
                    .zip(&self.input.cohort.rows[row].values)
                    .zip(self.roles);
                let texts = classes.filter(|(_, role)| **role == TokenRole::Root);
                texts
                    .map(|((class, value), _)| class.texts_of(*value).next().unwrap_or_default())
                    .collect::<Vec<_>>()
                    .join("_")
            }
        };
        let root = self.register_root(id.into());
        self.root_of_key.insert(key, root);
        root
    }

    /// The index of the position of a file; a new position is registered. [`UNKNOWN_POSITION`]
    /// where the names do not determine it.
    pub fn assign_position(&mut self, row: usize) -> u32 {
        let key = self.input.key(row, self.roles, TokenRole::Position);
        if let Some(&position) = self.position_of_key.get(&key) {
            return position;
        }
        let position = match &self.position_parts {
            None => UNKNOWN_POSITION,
            Some(parts) => {
                let text = self.input.compose_id(parts, row);
                let path: IdPath = text.split('/').map(Arc::from).collect();
                let is_known = self.input.draft.positions.contains(&path);
                self.register_position(path, is_known)
            }
        };
        self.position_of_key.insert(key, position);
        position
    }

    /// Excludes files at positions that neither the examples nor the draft nor most roots have, and
    /// files of roots that have no file at a position of the examples or of the draft. Adds their
    /// rows, with the reason, to `excluded`.
    pub fn exclude_uncertain_files(
        &self,
        cells: &mut [Option<FileCell>],
        excluded: &mut Vec<(usize, String)>,
    ) {
        let is_known = |position: u32| {
            let known = self.known_positions.get(position as usize);
            known.copied().unwrap_or(false)
        };
        // Roots with a file at a known position.
        let known_roots: HashSet<u32> = cells
            .iter()
            .flatten()
            .filter(|cell| is_known(cell.position))
            .map(|cell| cell.root)
            .collect();
        let mut roots_by_position: HashMap<u32, HashSet<u32>> = HashMap::new();
        for cell in cells
            .iter()
            .flatten()
            .filter(|cell| cell.position != UNKNOWN_POSITION && known_roots.contains(&cell.root))
        {
            roots_by_position
                .entry(cell.position)
                .or_default()
                .insert(cell.root);
        }
        for (row, cell) in cells.iter_mut().enumerate() {
            let Some(FileCell { root, position }) = *cell else {
                continue;
            };
            let (n, total) = (
                roots_by_position.get(&position).map_or(0, HashSet::len),
                known_roots.len(),
            );
            let is_common = n * 2 >= total.max(1);
            let why = match self.positions.get(position as usize) {
                None => tr!("no example shows which position it has").to_owned(),
                Some(path) if !is_known(position) && self.input.draft.has_other_roots => {
                    tr!(
                        "the other roots have no {position}",
                        position = path.join(" / ")
                    )
                }
                Some(path) if !is_known(position) && !is_common => {
                    tr!(
                        "only {n} of {total} roots have {position}",
                        n,
                        total,
                        position = path.join(" / ")
                    )
                }
                Some(_) if !known_roots.contains(&root) => {
                    tr!("no file of its root is at a position of the examples").to_owned()
                }
                Some(_) => continue,
            };
            excluded.push((row, why));
            *cell = None;
        }
    }

    /// Assigns positions by the order of the token that determines them, in roots with exactly as
    /// many files as positions; files of other roots are added to `excluded`, with the reason.
    /// `None` when the order contradicts the examples.
    pub fn assign_positions_by_order(
        &self,
        cells: &mut [Option<FileCell>],
        excluded: &mut Vec<(usize, String)>,
    ) -> Option<()> {
        let cohort = self.input.cohort;
        let class = self
            .roles
            .iter()
            .position(|role| *role == TokenRole::Position)?;
        let mut rows_by_root: HashMap<u32, Vec<usize>> = HashMap::new();
        for (row, cell) in cells.iter().enumerate() {
            if let Some(cell) = cell {
                rows_by_root.entry(cell.root).or_default().push(row);
            }
        }
        rows_by_root.values_mut().for_each(|rows| {
            rows.sort_by_cached_key(|&row| natural_key(cohort.read_class_text(row, class)))
        });
        let mut position_by_rank: Vec<Option<u32>> = vec![None; self.positions.len()];
        for (example, &row) in self.input.examples.iter().zip(&cohort.examples) {
            let position = *self.position_of_path.get(&example.position)?;
            let rank = rows_by_root
                .get(&cells[row]?.root)?
                .iter()
                .position(|&member| member == row)?;
            let slot = position_by_rank.get_mut(rank)?;
            if slot.is_some_and(|known| known != position) {
                return None;
            }
            *slot = Some(position);
        }
        let position_by_rank: Vec<u32> = position_by_rank.into_iter().collect::<Option<_>>()?;
        for rows in rows_by_root.values() {
            for (rank, &row) in rows.iter().enumerate() {
                let root = cells[row]?.root;
                if rows.len() == position_by_rank.len() {
                    let position = position_by_rank[rank];
                    cells[row] = Some(FileCell { root, position });
                } else {
                    let (root, positions) = (&self.roots[root as usize], position_by_rank.len());
                    let files = rows.len();
                    let why = tr_n!(
                        files,
                        "{root} has {files} file for {positions} positions",
                        "{root} has {files} files for {positions} positions",
                        root,
                        files,
                        positions
                    );
                    excluded.push((row, why));
                    cells[row] = None;
                }
            }
        }
        Some(())
    }
}
