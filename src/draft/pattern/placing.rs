//! The edit that applies a pattern: places files of the tray in existing or new roots, in the order
//! of the positions.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use super::{Alternative, Placement};
use crate::draft::{Content, Edit};
use crate::error::{Error, Result};
use crate::model::{NodePath, Payload, Sample, Schema, Tortilla};

type PlacingPath = Vec<Arc<str>>;

/// A single edit that places the files of `alternative`. New roots follow the existing ones, sorted
/// by id.
///
/// # Errors
/// [`Kind::Usage`](crate::error::Kind::Usage) when the tray changed since the pattern was derived,
/// a position is occupied, or there is no file to place.
pub fn place_by_pattern(content: &Content, alternative: &Alternative) -> Result<Edit> {
    let order = PositionOrder::from_root(&content.dataset.root, alternative);
    let roots: HashMap<&str, usize> = content
        .dataset
        .root
        .samples
        .iter()
        .enumerate()
        .rev()
        .map(|(index, sample)| (&*sample.id, index))
        .collect();
    let mut changed: Vec<(usize, Arc<Tortilla>)> = Vec::new();
    let mut made: Vec<Sample> = Vec::new();
    let mut places = Vec::with_capacity(alternative.placed.len());
    for placements in alternative.placed.chunk_by(|a, b| a.root == b.root) {
        let Some(first) = placements.first() else {
            continue;
        };
        let there = roots
            .get(&*first.root)
            .map(|&index| (index, &content.dataset.root.samples[index]));
        let mut tortilla = match there {
            Some((_, sample)) => match sample.children() {
                Some(children) => children.as_ref().clone(),
                None => {
                    return Err(Error::usage(format!(
                        "{} is a FILE; nothing can be placed in it",
                        sample.id
                    )));
                }
            },
            None => order.empty(0),
        };
        let mut alone = None;
        for Placement { position, file, .. } in placements {
            let found = content
                .tray
                .get(*file as usize)
                .ok_or_else(|| Error::usage("the tray has changed since the pattern was found"))?;
            let sample = |id: &str| found.sample(id);
            match position.last() {
                None => alone = Some(sample(&first.root)),
                Some(id) => order.put(&mut tortilla, position, 0, sample(id))?,
            }
            places.push(*file);
        }
        match (there, alone) {
            (_, Some(sample)) => made.push(sample),
            (Some((index, _)), None) => changed.push((index, tortilla.into())),
            (None, None) => made.push(Sample::new_folder(&first.root, tortilla)),
        }
    }
    let files = places.len();
    places.sort_unstable();
    let mut edits: Vec<Edit> = changed
        .into_iter()
        .map(|(index, with)| Edit::ReplaceTortilla {
            tortilla: NodePath(vec![index as u32]),
            with,
        })
        .collect();
    if !made.is_empty() {
        let at = content.dataset.root.samples.len() as u32;
        edits.push(Edit::Insert {
            parent: NodePath::root(),
            at,
            samples: made,
        });
    }
    if files == 0 {
        return Err(Error::usage("the pattern places no file"));
    }
    edits.push(Edit::RemoveFromTray { places });
    Ok(Edit::Batch {
        label: tr_n!(files, "Place {n} file", "Place {n} files", n = files),
        edits,
    })
}

/// Order of positions among their siblings: as in the longest root, then as listed in the pattern.
struct PositionOrder {
    ranks: HashMap<PlacingPath, usize>,
    /// Fields of the tortillas below a root, from level 1 down.
    schemas: Vec<Schema>,
}

impl PositionOrder {
    fn from_root(root: &Tortilla, alternative: &Alternative) -> Self {
        fn note(path: &[Arc<str>], ranks: &mut HashMap<PlacingPath, usize>) {
            for length in 1..=path.len() {
                let next = ranks.len();
                ranks.entry(path[..length].to_vec()).or_insert(next);
            }
        }
        fn walk(
            tortilla: &Tortilla,
            above: &mut PlacingPath,
            ranks: &mut HashMap<PlacingPath, usize>,
            schemas: &mut Vec<Schema>,
        ) {
            if schemas.len() == above.len() {
                schemas.push(tortilla.schema.clone());
            }
            for sample in tortilla
                .samples
                .iter()
                .filter(|sample| !sample.is_padding())
            {
                above.push(sample.id.clone());
                note(above, ranks);
                if let Some(children) = sample.children() {
                    walk(children, above, ranks, schemas);
                }
                above.pop();
            }
        }
        let (mut ranks, mut schemas) = (HashMap::new(), Vec::new());
        let fresh: HashSet<&Arc<str>> = alternative
            .placed
            .iter()
            .map(|placement| &placement.root)
            .collect();
        // Roots that receive no file are complete already.
        let whole = list_folders(root)
            .filter(|(sample, _)| !fresh.contains(&sample.id))
            .max_by_key(|(_, children)| children.samples.len());
        if let Some((_, children)) =
            whole.or_else(|| list_folders(root).max_by_key(|(_, children)| children.samples.len()))
        {
            walk(children, &mut PlacingPath::new(), &mut ranks, &mut schemas);
        }
        alternative
            .positions
            .iter()
            .for_each(|(path, _)| note(path, &mut ranks));
        Self { ranks, schemas }
    }

    /// An empty tortilla with the fields of its level.
    fn empty(&self, depth: usize) -> Tortilla {
        Tortilla {
            schema: self
                .schemas
                .get(depth)
                .cloned()
                .unwrap_or_else(|| Arc::from([])),
            samples: Vec::new(),
        }
    }

    /// Inserts a sample at `path[depth..]`; missing FOLDERs are created.
    fn put(
        &self,
        tortilla: &mut Tortilla,
        path: &[Arc<str>],
        depth: usize,
        sample: Sample,
    ) -> Result<()> {
        let Some(id) = path.get(depth) else {
            return Err(Error::internal("a position without an id"));
        };
        let last = depth + 1 == path.len();
        if let Some(found) = tortilla.samples.iter_mut().find(|sample| sample.id == *id) {
            return match &mut found.payload {
                Payload::Folder(children) if !last => {
                    self.put(Arc::make_mut(children), path, depth + 1, sample)
                }
                _ => Err(Error::usage(format!(
                    "{} is at this position already",
                    path.join(" / ")
                ))),
            };
        }
        let rank = |id: &Arc<str>| self.find_rank(&path[..depth], id);
        let own = rank(id);
        let at = tortilla
            .samples
            .iter()
            .position(|sample| rank(&sample.id) > own && !sample.is_padding());
        let at = at.unwrap_or(tortilla.samples.len());
        let mut new = if last {
            sample
        } else {
            let mut inside = self.empty(depth + 1);
            self.put(&mut inside, path, depth + 1, sample)?;
            Sample::new_folder(id, inside)
        };
        // Padding at this position is replaced.
        let parent = &path[..depth];
        let sibling = |known: &PlacingPath| known.len() == depth + 1 && known.starts_with(parent);
        let place = self
            .ranks
            .iter()
            .filter(|(known, rank)| Some(**rank) < own && sibling(known))
            .count();
        let gap = tortilla
            .samples
            .get_mut(place)
            .filter(|found| found.is_padding() && found.kind() == new.kind());
        match gap {
            Some(gap) => {
                new.values = gap.values.clone();
                *gap = new;
            }
            None => tortilla.samples.insert(at, new),
        }
        Ok(())
    }

    fn find_rank(&self, above: &[Arc<str>], id: &Arc<str>) -> Option<usize> {
        let mut path = above.to_vec();
        path.push(id.clone());
        self.ranks.get(&path).copied()
    }
}

fn list_folders(tortilla: &Tortilla) -> impl Iterator<Item = (&Sample, &Arc<Tortilla>)> {
    let samples = tortilla.samples.iter();
    samples.filter_map(|sample| Some((sample, sample.children()?)))
}
