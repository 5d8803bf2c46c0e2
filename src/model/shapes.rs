//! Shapes of the roots (ids and types below a root by position), deduplicated. Input of the
//! structure view and the check while editing: an edit of one root visits that root only, as the
//! tortillas of all others are shared with the previous state.

use std::collections::HashMap;
use std::ops::Range;
use std::sync::Arc;

use super::common_shape::{ShapeChild, ShapeUse, common_shape};
use super::{
    Sample, Schema, Tortilla, check_portable_name, check_sample_id, find_schema, in_nfc,
    is_padding, without_case,
};

/// Index of a shape in its [`Shapes`].
pub type ShapeId = u32;
/// The shape of a FILE.
pub const FILE_SHAPE: ShapeId = 0;
/// Maximum depth that is examined; far beyond the allowed depth.
const DEEPEST: usize = 64;

/// The contents of a FOLDER.
struct ShapeNode {
    /// (id symbol, shape) of each child.
    children: Arc<[(u32, ShapeId)]>,
    /// Number of descendants by level, children first.
    counts: Box<[u32]>,
    /// An id is invalid or duplicated, or a FOLDER is empty.
    faulty: bool,
}

/// Distinct shapes, numbered. Equal numbers mean equal ids (in any Unicode form) and types by
/// position at every depth.
pub struct Shapes {
    nodes: Vec<ShapeNode>,
    known: HashMap<Arc<[(u32, ShapeId)]>, ShapeId>,
    symbols: HashMap<Arc<str>, u32>,
    texts: Vec<Arc<str>>,
    schemas: Vec<Schema>,
    fields: Vec<Box<[(u8, u32)]>>,
    known_fields: HashMap<Box<[(u8, u32)]>, u32>,
}

impl Default for Shapes {
    fn default() -> Self {
        let file = ShapeNode {
            children: Arc::from([]),
            counts: Box::default(),
            faulty: false,
        };
        Self {
            nodes: vec![file],
            known: HashMap::new(),
            symbols: HashMap::new(),
            texts: Vec::new(),
            schemas: Vec::new(),
            fields: Vec::new(),
            known_fields: HashMap::new(),
        }
    }
}

impl Shapes {
    /// True for the shape of a FOLDER.
    pub fn is_folder(&self, shape: ShapeId) -> bool {
        shape != FILE_SHAPE
    }

    /// Number of children of a FOLDER of this shape.
    pub fn width(&self, shape: ShapeId) -> usize {
        self.nodes[shape as usize].children.len()
    }

    /// Id and shape of the child at `position`.
    pub fn child(&self, shape: ShapeId, position: usize) -> (&Arc<str>, ShapeId) {
        let (symbol, below) = self.nodes[shape as usize].children[position];
        (&self.texts[symbol as usize], below)
    }

    /// Ids and shapes of the children.
    pub fn children(&self, shape: ShapeId) -> impl ExactSizeIterator<Item = (&Arc<str>, ShapeId)> {
        self.nodes[shape as usize]
            .children
            .iter()
            .map(|&(symbol, below)| (&self.texts[symbol as usize], below))
    }

    /// Number of descendants by level, children first.
    pub fn counts(&self, shape: ShapeId) -> &[u32] {
        &self.nodes[shape as usize].counts
    }

    /// The descendants of a FOLDER, without those of padding.
    fn descendants(
        &self,
        shape: ShapeId,
        parent: u64,
        parent_at: Option<usize>,
        all: &mut Vec<ShapeChild>,
    ) {
        for (index, (id, below)) in self.children(shape).enumerate() {
            let child = ShapeChild::new(parent, parent_at, index, id, self.is_folder(below));
            all.push(child);
            if !child.is_padding {
                self.descendants(below, child.key, Some(all.len() - 1), all);
            }
        }
    }

    /// Number of descendants.
    pub fn total(&self, shape: ShapeId) -> u64 {
        self.counts(shape)
            .iter()
            .map(|&count| u64::from(count))
            .sum()
    }

    /// True when the shape contains an invalid id, duplicate sibling ids or an empty FOLDER.
    pub fn is_faulty(&self, shape: ShapeId) -> bool {
        self.nodes[shape as usize].faulty
    }

    /// The schemas at and below a root as (level, schema number), sorted.
    pub fn fields(&self, fields: u32) -> &[(u8, u32)] {
        &self.fields[fields as usize]
    }

    /// True when `found` differs from `wanted` at most by padding (PIT-1).
    pub fn conforms(&self, wanted: ShapeId, found: ShapeId) -> bool {
        if wanted == found {
            return true;
        }
        if self.is_folder(wanted) != self.is_folder(found)
            || self.width(wanted) != self.width(found)
        {
            return false;
        }
        let (a, b) = (
            &self.nodes[wanted as usize].children,
            &self.nodes[found as usize].children,
        );
        let is_other = a.iter().zip(b.iter()).any(|(a, b)| a.0 != b.0);
        if is_other && sort_symbols(a) == sort_symbols(b) {
            return false;
        }
        a.iter().zip(b.iter()).all(|(a, b)| {
            let same = a.0 == b.0
                || is_padding(&self.texts[a.0 as usize])
                || is_padding(&self.texts[b.0 as usize]);
            same && self.conforms(a.1, b.1)
        })
    }

    /// The shape of a sample; collects the schemas of its descendants in `fields`.
    fn shape_of_sample(
        &mut self,
        sample: &Sample,
        level: usize,
        fields: &mut Vec<(u8, u32)>,
    ) -> ShapeId {
        let Some(tortilla) = sample.children().filter(|_| level < DEEPEST) else {
            return FILE_SHAPE;
        };
        let schema = (level as u8 + 1, self.schema(&tortilla.schema));
        if !fields.contains(&schema) {
            fields.push(schema);
        }
        let mut children = Vec::with_capacity(tortilla.samples.len());
        for child in &tortilla.samples {
            let symbol = self.symbol(&child.id);
            children.push((symbol, self.shape_of_sample(child, level + 1, fields)));
        }
        match self.known.get(children.as_slice()) {
            Some(&shape) => shape,
            None => self.learn(children),
        }
    }

    fn learn(&mut self, children: Vec<(u32, ShapeId)>) -> ShapeId {
        let mut counts: Vec<u32> = if children.is_empty() {
            Vec::new()
        } else {
            vec![children.len() as u32]
        };
        let symbols = sort_symbols(&children);
        let twins = symbols.windows(2).any(|pair| pair[0] == pair[1]);
        let mut faulty = children.is_empty()
            || twins
            || self.have_invalid_id(&symbols)
            || self.have_case_twins(&symbols);
        for &(_, below) in &children {
            let node = &self.nodes[below as usize];
            faulty |= node.faulty;
            if counts.len() < node.counts.len() + 1 {
                counts.resize(node.counts.len() + 1, 0);
            }
            for (depth, count) in node.counts.iter().enumerate() {
                counts[depth + 1] += count;
            }
        }
        let shape = self.nodes.len() as ShapeId;
        let children: Arc<[(u32, ShapeId)]> = children.into();
        self.nodes.push(ShapeNode {
            children: children.clone(),
            counts: counts.into(),
            faulty,
        });
        self.known.insert(children, shape);
        shape
    }

    fn have_invalid_id(&self, symbols: &[u32]) -> bool {
        let is_bad = |id: &str| check_sample_id(id).is_err() || check_portable_name(id).is_err();
        symbols
            .iter()
            .any(|&symbol| is_bad(&self.texts[symbol as usize]))
    }

    fn have_case_twins(&self, symbols: &[u32]) -> bool {
        let mut names: Vec<String> = symbols
            .iter()
            .map(|&symbol| without_case(&self.texts[symbol as usize]))
            .collect();
        names.sort_unstable();
        names.windows(2).any(|pair| pair[0] == pair[1])
    }

    fn symbol(&mut self, id: &Arc<str>) -> u32 {
        if let Some(&symbol) = self.symbols.get(&**id) {
            return symbol;
        }
        // One name in two Unicode forms is one symbol, with the text that came first.
        let name = in_nfc(id);
        let known = if *name == **id {
            None
        } else {
            self.symbols.get(&*name).copied()
        };
        let symbol = known.unwrap_or_else(|| {
            self.texts.push(id.clone());
            self.texts.len() as u32 - 1
        });
        self.symbols.insert(id.clone(), symbol);
        if *name != **id {
            self.symbols.entry(Arc::from(&*name)).or_insert(symbol);
        }
        symbol
    }

    fn schema(&mut self, schema: &Schema) -> u32 {
        let known = find_schema(&self.schemas, schema);
        known.unwrap_or_else(|| {
            self.schemas.push(schema.clone());
            self.schemas.len() - 1
        }) as u32
    }

    fn fields_id(&mut self, fields: &[(u8, u32)]) -> u32 {
        if let Some(&id) = self.known_fields.get(fields) {
            return id;
        }
        let id = self.fields.len() as u32;
        self.fields.push(fields.into());
        self.known_fields.insert(fields.into(), id);
        id
    }
}

fn sort_symbols(children: &[(u32, ShapeId)]) -> Vec<u32> {
    let mut symbols: Vec<u32> = children.iter().map(|child| child.0).collect();
    symbols.sort_unstable();
    symbols
}

/// Cached state of one root: 8 bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RootShape {
    /// Shape of the root.
    pub shape: ShapeId,
    /// Its list of schemas, for [`Shapes::fields`].
    pub fields: u32,
}

/// Result of an update.
#[derive(Clone, Debug, Default)]
pub struct RootChanges {
    /// Replaced roots, as a range before the update. Roots outside the range are at most shifted.
    pub before: Range<usize>,
    /// The same range after the update.
    pub after: Range<usize>,
    /// Indices in `after` of the roots that differ.
    pub touched: Vec<usize>,
    /// True when an id, a type or the number of samples differs; values and schemas do not count.
    pub reshaped: bool,
    /// True when everything was recomputed and former shape numbers are invalid.
    pub afresh: bool,
    /// For each level, the number of rows before those of the replaced roots.
    pub rows_before: Vec<u32>,
    /// For each level, the number of rows of the replaced roots before the update.
    pub rows_removed: Vec<u32>,
}

/// The shape of every root of a dataset.
#[derive(Default)]
pub struct RootShapes {
    root: Arc<Tortilla>,
    roots: Vec<RootShape>,
    shapes: Shapes,
    /// Number of roots by shape, and by list of schemas.
    held: Vec<u32>,
    held_fields: Vec<u32>,
}

impl RootShapes {
    /// One entry per root.
    pub fn roots(&self) -> &[RootShape] {
        &self.roots
    }

    /// The distinct shapes.
    pub fn shapes(&self) -> &Shapes {
        &self.shapes
    }

    /// The root tortilla at the last update.
    pub fn tortilla(&self) -> &Arc<Tortilla> {
        &self.root
    }

    /// Shapes in use, with their numbers of roots.
    pub fn used_shapes(&self) -> impl Iterator<Item = (ShapeId, u32)> {
        (0..)
            .zip(self.held.iter().copied())
            .filter(|(_, count)| *count > 0)
    }

    /// Lists of schemas in use, for [`Shapes::fields`], with their numbers of roots.
    pub fn held_fields(&self) -> impl Iterator<Item = (u32, u32)> {
        (0..)
            .zip(self.held_fields.iter().copied())
            .filter(|(_, count)| *count > 0)
    }

    /// For each level below the roots, the schemas of its tortillas, each once, in the order of the
    /// first roots that have them.
    pub fn level_schemas(&self) -> Vec<Vec<&Schema>> {
        let mut seen = vec![false; self.held_fields.len()];
        let mut levels: Vec<Vec<u32>> = Vec::new();
        for root in &self.roots {
            if std::mem::replace(&mut seen[root.fields as usize], true) {
                continue;
            }
            for &(level, schema) in self.shapes.fields(root.fields) {
                let index = usize::from(level).saturating_sub(1);
                if levels.len() <= index {
                    levels.resize_with(index + 1, Vec::new);
                }
                if !levels[index].contains(&schema) {
                    levels[index].push(schema);
                }
            }
        }
        let schema = |number: u32| &self.shapes.schemas[number as usize];
        levels
            .into_iter()
            .map(|numbers| numbers.into_iter().map(schema).collect())
            .collect()
    }

    fn hold(&mut self, root: RootShape) {
        let (shape, fields) = (root.shape as usize, root.fields as usize);
        self.held.resize(self.held.len().max(shape + 1), 0);
        self.held_fields
            .resize(self.held_fields.len().max(fields + 1), 0);
        self.held[shape] += 1;
        self.held_fields[fields] += 1;
    }

    fn release(&mut self, root: RootShape) {
        self.held[root.shape as usize] -= 1;
        self.held_fields[root.fields as usize] -= 1;
    }

    /// Updates the entries to `root`. Visits only roots that are not shared with the previous
    /// state.
    pub fn update(&mut self, root: &Arc<Tortilla>) -> RootChanges {
        // Panels call this in every frame.
        if Arc::ptr_eq(&self.root, root) {
            return RootChanges::default();
        }
        // Unused shapes are dropped once they are the majority.
        let afresh = self.shapes.nodes.len() + self.shapes.texts.len()
            > 4 * root.samples.len() + 200_000
            && self.shapes.nodes.len() > 4 * self.roots.len() + 100_000;
        if afresh {
            *self = Self::default();
        }
        let old = std::mem::replace(&mut self.root, root.clone());
        let (old, new) = (&old.samples, &root.samples);
        let shorter = old.len().min(new.len());
        let head = (0..shorter)
            .find(|&index| !is_same_sample(&old[index], &new[index]))
            .unwrap_or(shorter);
        let tail = (0..shorter - head)
            .find(|&back| !is_same_sample(&old[old.len() - 1 - back], &new[new.len() - 1 - back]));
        let tail = tail.unwrap_or(shorter - head);
        let (before, after) = (head..old.len() - tail, head..new.len() - tail);
        let aligned = before.len() == after.len();
        let (rows_before, rows_removed) = (self.rows(0..before.start), self.rows(before.clone()));
        let mut touched = Vec::new();
        let mut fresh = Vec::with_capacity(after.len());
        let mut fields = Vec::new();
        let mut reshaped = afresh || !aligned;
        for index in after.clone() {
            if aligned && is_same_sample(&old[index], &new[index]) {
                fresh.push(self.roots[index]);
                continue;
            }
            fields.clear();
            let shape = self.shapes.shape_of_sample(&new[index], 0, &mut fields);
            fields.sort_unstable();
            reshaped |=
                aligned && (self.roots[index].shape != shape || old[index].id != new[index].id);
            fresh.push(RootShape {
                shape,
                fields: self.shapes.fields_id(&fields),
            });
            touched.push(index);
        }
        fresh.iter().for_each(|&root| self.hold(root));
        let gone: Vec<RootShape> = self.roots.splice(before.clone(), fresh).collect();
        gone.into_iter().for_each(|root| self.release(root));
        RootChanges {
            before,
            after,
            touched,
            reshaped,
            afresh,
            rows_before,
            rows_removed,
        }
    }

    /// For each level, the number of rows of these roots.
    fn rows(&self, roots: Range<usize>) -> Vec<u32> {
        let mut rows = vec![roots.len() as u32];
        for root in self.roots.get(roots).unwrap_or_default() {
            let counts = self.shapes.counts(root.shape);
            if rows.len() < counts.len() + 1 {
                rows.resize(counts.len() + 1, 0);
            }
            for (total, count) in rows[1..].iter_mut().zip(counts) {
                *total += count;
            }
        }
        rows
    }

    /// The shape that most roots have or nearly have, its first root, and whether it is common
    /// ([`common_shape`]).
    pub fn most_common(&self) -> Option<(ShapeId, usize, bool)> {
        let held: Vec<(ShapeId, u32)> = self.used_shapes().collect();
        let most = held.iter().map(|(_, count)| *count).max()?;
        let mut first: Vec<usize> = vec![usize::MAX; self.held.len()];
        let total = self.roots.len();
        // Nearly always one shape is held by more than half of the roots; then nothing else has to
        // be searched.
        if most as usize * 2 > total {
            let (shape, _) = *held.iter().find(|(_, count)| *count == most)?;
            return Some((
                shape,
                self.roots.iter().position(|root| root.shape == shape)?,
                true,
            ));
        }
        for (index, root) in self.roots.iter().enumerate() {
            let known = &mut first[root.shape as usize];
            *known = (*known).min(index);
        }
        let uses: Vec<ShapeUse> = held
            .iter()
            .map(|&(shape, count)| ShapeUse {
                roots: u64::from(count),
                first: first[shape as usize],
                samples: self.shapes.total(shape),
            })
            .collect();
        let common = common_shape(&uses, |index| {
            let shape = held[index].0;
            let mut all = vec![ShapeChild::root(self.shapes.is_folder(shape))];
            self.shapes.descendants(shape, 1, None, &mut all);
            all
        })?;
        Some((
            held[common.index].0,
            uses[common.index].first,
            common.is_common,
        ))
    }
}

/// True for samples of one id whose children, if they have any, are the same object.
fn is_same_sample(a: &Sample, b: &Sample) -> bool {
    let has_same_children = match (a.children(), b.children()) {
        (None, None) => true,
        (Some(x), Some(y)) => Arc::ptr_eq(x, y),
        _ => false,
    };
    // Nearly all ids are the same object, whose text is not read: it is elsewhere in memory.
    has_same_children && (Arc::ptr_eq(&a.id, &b.id) || a.id == b.id)
}

#[cfg(test)]
mod tests {
    use arrow::datatypes::DataType;

    use super::super::FieldSpec;
    use super::*;

    fn scene(id: &str, parts: &[&str]) -> Sample {
        Sample::new_folder(
            id,
            Tortilla::new(
                parts
                    .iter()
                    .map(|part| Sample::new_file(part, "/x", 1))
                    .collect(),
            ),
        )
    }

    fn folder_with_field(id: &str, field: &str, samples: Vec<Sample>) -> Sample {
        let schema = [FieldSpec::new(field, DataType::Int64)].into();
        Sample::new_folder(id, Tortilla { schema, samples })
    }

    /// The name of the first field of each schema.
    fn level_fields(shapes: &RootShapes) -> Vec<Vec<String>> {
        let mut names = Vec::new();
        for schemas in shapes.level_schemas() {
            names.push(
                schemas
                    .iter()
                    .map(|schema| schema[0].name.clone())
                    .collect(),
            );
        }
        names
    }

    #[test]
    fn only_the_root_that_changed_is_looked_at() {
        let mut samples: Vec<Sample> = (0..50)
            .map(|n| scene(&format!("r{n}"), &["a", "b"]))
            .collect();
        let mut shapes = RootShapes::default();
        assert_eq!(
            shapes
                .update(&Tortilla::new(samples.clone()).into())
                .touched
                .len(),
            50
        );
        samples[20] = scene("r20", &["a"]);
        let changes = shapes.update(&Tortilla::new(samples.clone()).into());
        assert_eq!((changes.touched, changes.after), (vec![20], 20..21));
        let (model, first, _) = shapes.most_common().expect("has roots");
        assert_eq!(
            (
                first,
                shapes.shapes().conforms(model, shapes.roots()[20].shape)
            ),
            (0, false)
        );
        assert_eq!(
            shapes
                .used_shapes()
                .map(|(_, count)| count)
                .collect::<Vec<_>>(),
            [49, 1]
        );
        samples.remove(20);
        let changes = shapes.update(&Tortilla::new(samples.clone()).into());
        assert_eq!(
            (changes.before, changes.after, changes.touched.len()),
            (20..21, 20..20, 0)
        );
        assert_eq!(shapes.roots().len(), 49);
        assert_eq!(
            shapes
                .used_shapes()
                .map(|(_, count)| count)
                .collect::<Vec<_>>(),
            [49]
        );
        assert_eq!(
            shapes.held_fields().map(|(_, count)| count).sum::<u32>(),
            49
        );
    }

    #[test]
    fn the_schemas_of_a_level_are_listed_once_in_the_order_of_the_roots() {
        let mut shapes = RootShapes::default();
        assert!(shapes.level_schemas().is_empty());
        let inner = folder_with_field("inner", "deep", Vec::new());
        let roots = [
            folder_with_field("a", "first", Vec::new()),
            folder_with_field("b", "second", vec![inner]),
            folder_with_field("c", "first", Vec::new()),
            Sample::new_file("d", "/x", 1),
        ];
        shapes.update(&Tortilla::new(roots.to_vec()).into());
        assert_eq!(
            level_fields(&shapes),
            [vec!["first", "second"], vec!["deep"]]
        );
        shapes.update(&Tortilla::new(roots[1..].to_vec()).into());
        assert_eq!(
            level_fields(&shapes),
            [vec!["second", "first"], vec!["deep"]]
        );
    }

    #[test]
    fn padding_conforms_and_other_ids_do_not() {
        let mut shapes = RootShapes::default();
        let roots = [
            scene("a", &["x", "y"]),
            scene("b", &["x", "__TACOPAD__1"]),
            scene("c", &["y", "x"]),
            scene("d", &["x", "z"]),
        ];
        shapes.update(&Tortilla::new(roots.to_vec()).into());
        let conforms: Vec<bool> = shapes
            .roots()
            .iter()
            .map(|root| {
                shapes
                    .shapes()
                    .conforms(shapes.roots()[0].shape, root.shape)
            })
            .collect();
        assert_eq!(conforms, [true, true, false, false]);
    }
}
