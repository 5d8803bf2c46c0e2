//! Groups files by root and by position while one reading of the names is tried.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use super::TokenRole;
use super::name::natural_key;
use super::reader::{IdParts, IdPath, PatternInput};

/// Groups of files by root and by position while one reading is tried.
pub(super) struct Grouping<'a, 'r> {
    reader: &'a PatternInput<'r>,
    roles: &'a [TokenRole],
    root_parts: Option<IdParts>,
    position_parts: Option<IdParts>,
    groups: HashMap<Vec<u32>, u32>,
    by_id: HashMap<Arc<str>, u32>,
    pub roots: Vec<Arc<str>>,
    places: HashMap<Vec<u32>, u32>,
    by_path: HashMap<IdPath, u32>,
    pub positions: Vec<IdPath>,
    /// True for positions shown by an example or present in the draft. Other positions must be
    /// frequent.
    sure: Vec<bool>,
}

/// Marks files whose names do not determine their position.
const UNKNOWN_POSITION: u32 = u32::MAX;

impl<'a, 'r> Grouping<'a, 'r> {
    /// An empty grouping.
    pub fn new(
        reader: &'a PatternInput<'r>,
        roles: &'a [TokenRole],
        root_parts: Option<IdParts>,
        position_parts: Option<IdParts>,
    ) -> Self {
        Self {
            reader,
            roles,
            root_parts,
            position_parts,
            groups: HashMap::new(),
            by_id: HashMap::new(),
            roots: Vec::new(),
            places: HashMap::new(),
            by_path: HashMap::new(),
            positions: Vec::new(),
            sure: Vec::new(),
        }
    }

    /// Registers roots and positions of the examples; `None` when the reading contradicts them.
    pub fn learn_examples(&mut self, ordered: bool) -> Option<()> {
        for (example, &row) in self
            .reader
            .examples
            .iter()
            .zip(&self.reader.cohort.examples)
        {
            let key = self.reader.key(row, self.roles, TokenRole::Root);
            let group = self.register_root(example.root.clone());
            if *self.groups.entry(key).or_insert(group) != group {
                return None;
            }
            let place = self.register_position(example.position.clone(), true);
            let key = self.reader.key(row, self.roles, TokenRole::Position);
            if *self.places.entry(key).or_insert(place) != place && !ordered {
                return None;
            }
        }
        // Conversely, examples with different ids must be in different groups, and those with equal
        // ids in the same.
        let apart = self.groups.len() == self.roots.len();
        let places = ordered || self.places.len() == self.positions.len();
        (apart && places).then_some(())
    }

    fn register_root(&mut self, id: Arc<str>) -> u32 {
        *self.by_id.entry(id.clone()).or_insert_with(|| {
            self.roots.push(id);
            self.roots.len() as u32 - 1
        })
    }

    fn register_position(&mut self, path: IdPath, sure: bool) -> u32 {
        *self.by_path.entry(path.clone()).or_insert_with(|| {
            self.positions.push(path);
            self.sure.push(sure);
            self.positions.len() as u32 - 1
        })
    }

    /// The group of a file, which is registered if it is new.
    pub fn assign_group(&mut self, row: usize) -> u32 {
        let key = self.reader.key(row, self.roles, TokenRole::Root);
        if let Some(&group) = self.groups.get(&key) {
            return group;
        }
        let id = match &self.root_parts {
            Some(parts) => self.reader.compose_id(parts, row),
            None => {
                let classes = self
                    .reader
                    .cohort
                    .classes
                    .iter()
                    .zip(&self.reader.cohort.rows[row].values)
                    .zip(self.roles);
                let texts = classes.filter(|(_, role)| **role == TokenRole::Root);
                texts
                    .map(|((class, value), _)| class.texts_of(*value).next().unwrap_or_default())
                    .collect::<Vec<_>>()
                    .join("_")
            }
        };
        let group = self.register_root(id.into());
        self.groups.insert(key, group);
        group
    }

    /// The position of a file, which is registered if it is new; [`UNKNOWN_POSITION`] where the
    /// names do not determine it.
    pub fn assign_position(&mut self, row: usize) -> u32 {
        let key = self.reader.key(row, self.roles, TokenRole::Position);
        if let Some(&place) = self.places.get(&key) {
            return place;
        }
        let place = match &self.position_parts {
            None => UNKNOWN_POSITION,
            Some(parts) => {
                let text = self.reader.compose_id(parts, row);
                let path: IdPath = text.split('/').map(Arc::from).collect();
                let known = self.reader.draft.positions.contains(&path);
                self.register_position(path, known)
            }
        };
        self.places.insert(key, place);
        place
    }

    /// Excludes files at positions that are neither shown nor frequent, and files of roots with
    /// nothing else.
    pub fn exclude_unsure_files(
        &self,
        cells: &mut [Option<(u32, u32)>],
        out: &mut Vec<(usize, String)>,
    ) {
        let sure = |place: u32| self.sure.get(place as usize).copied().unwrap_or(false);
        let real: HashSet<u32> = cells
            .iter()
            .flatten()
            .filter(|cell| sure(cell.1))
            .map(|cell| cell.0)
            .collect();
        let mut holders: HashMap<u32, HashSet<u32>> = HashMap::new();
        for cell in cells
            .iter()
            .flatten()
            .filter(|cell| cell.1 != UNKNOWN_POSITION && real.contains(&cell.0))
        {
            holders.entry(cell.1).or_default().insert(cell.0);
        }
        for (row, cell) in cells.iter_mut().enumerate() {
            let Some((group, place)) = *cell else {
                continue;
            };
            let common = holders.get(&place).map_or(0, HashSet::len) * 2 >= real.len().max(1);
            let why = match self.positions.get(place as usize) {
                None => tr!("no example shows which position it has").to_owned(),
                Some(path) if !sure(place) && self.reader.draft.has_other_roots => {
                    tr!(
                        "the other roots have no {position}",
                        position = path.join(" / ")
                    )
                }
                Some(path) if !sure(place) && !common => {
                    let n = holders.get(&place).map_or(0, HashSet::len);
                    let (total, position) = (real.len(), path.join(" / "));
                    tr!(
                        "only {n} of {total} roots have {position}",
                        n,
                        total,
                        position
                    )
                }
                Some(_) if !real.contains(&group) => {
                    tr!("no other file of its root fits").to_owned()
                }
                Some(_) => continue,
            };
            out.push((row, why));
            *cell = None;
        }
    }

    /// Assigns positions by the order of the token that determines them, in roots with exactly as
    /// many files as positions.
    pub fn assign_positions_by_order(
        &self,
        cells: &mut [Option<(u32, u32)>],
        out: &mut Vec<(usize, String)>,
    ) -> Option<()> {
        let cohort = self.reader.cohort;
        let class = self
            .roles
            .iter()
            .position(|role| *role == TokenRole::Position)?;
        let mut members: HashMap<u32, Vec<usize>> = HashMap::new();
        for (row, cell) in cells.iter().enumerate() {
            if let Some((group, _)) = cell {
                members.entry(*group).or_default().push(row);
            }
        }
        members.values_mut().for_each(|rows| {
            rows.sort_by_cached_key(|&row| natural_key(cohort.read_class_text(row, class)))
        });
        let mut ranks: Vec<Option<u32>> = vec![None; self.positions.len()];
        for (example, &row) in self.reader.examples.iter().zip(&cohort.examples) {
            let place = *self.by_path.get(&example.position)?;
            let rank = members
                .get(&cells[row]?.0)?
                .iter()
                .position(|&member| member == row)?;
            let slot = ranks.get_mut(rank)?;
            if slot.is_some_and(|known| known != place) {
                return None;
            }
            *slot = Some(place);
        }
        let ranks: Vec<u32> = ranks.into_iter().collect::<Option<_>>()?;
        for rows in members.values() {
            for (rank, &row) in rows.iter().enumerate() {
                let group = cells[row]?.0;
                if rows.len() == ranks.len() {
                    cells[row] = Some((group, ranks[rank]));
                } else {
                    let (root, places) = (&self.roots[group as usize], ranks.len());
                    let files = rows.len();
                    let why = tr_n!(
                        files,
                        "{root} has {files} file for {places} places",
                        "{root} has {files} files for {places} places",
                        root,
                        files,
                        places
                    );
                    out.push((row, why));
                    cells[row] = None;
                }
            }
        }
        Some(())
    }
}
