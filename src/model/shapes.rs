//! Shapes of the roots (ids and types below a root by position), each stored once. The structure
//! view and the check while editing use them: an edit of one root visits only that root, as the
//! tortillas of all others are shared with the state before the edit.

use std::collections::HashMap;
use std::ops::Range;
use std::sync::Arc;

use super::common_shape::{ShapeChild, ShapeUse, common_shape};
use super::{
    MAX_FOLDER_NESTING, Sample, Schema, Tortilla, check_portable_name, check_sample_id,
    find_schema, in_nfc, is_padding, without_case,
};

/// Index of a shape in its [`Shapes`].
pub type ShapeId = u32;
/// The shape of a FILE.
pub const FILE_SHAPE: ShapeId = 0;

/// The contents of a FOLDER.
struct ShapeNode {
    /// (id symbol, shape) of each child.
    children: Arc<[(u32, ShapeId)]>,
    /// Number of descendants by level, children first.
    counts: Box<[u32]>,
    /// Here or below, an id is invalid or duplicated, or a FOLDER is empty.
    is_faulty: bool,
}

/// Distinct shapes, numbered. Equal numbers mean equal ids (in any Unicode form) and types by
/// position at every depth.
pub struct Shapes {
    /// By shape.
    nodes: Vec<ShapeNode>,
    shape_of_children: HashMap<Arc<[(u32, ShapeId)]>, ShapeId>,
    /// Symbols of ids: ids that are equal in some Unicode form have one symbol.
    symbols: HashMap<Arc<str>, u32>,
    /// Ids by symbol.
    texts: Vec<Arc<str>>,
    schemas: Vec<Schema>,
    /// Distinct lists of (level, schema number), sorted.
    schema_lists: Vec<Box<[(u8, u32)]>>,
    schema_list_numbers: HashMap<Box<[(u8, u32)]>, u32>,
}

impl Default for Shapes {
    fn default() -> Self {
        let file = ShapeNode {
            children: Arc::from([]),
            counts: Box::default(),
            is_faulty: false,
        };
        Self {
            nodes: vec![file],
            shape_of_children: HashMap::new(),
            symbols: HashMap::new(),
            texts: Vec::new(),
            schemas: Vec::new(),
            schema_lists: Vec::new(),
            schema_list_numbers: HashMap::new(),
        }
    }
}

impl Shapes {
    /// True for the shape of a FOLDER.
    pub fn is_folder(&self, shape: ShapeId) -> bool {
        shape != FILE_SHAPE
    }

    /// Number of children of a FOLDER of this shape.
    pub fn child_count(&self, shape: ShapeId) -> usize {
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
    pub fn descendant_counts(&self, shape: ShapeId) -> &[u32] {
        &self.nodes[shape as usize].counts
    }

    /// Adds the descendants of a FOLDER, without those of padding, to `all`. `parent` is the key of
    /// the FOLDER, `parent_at` its index in `all`.
    fn collect_descendants(
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
                self.collect_descendants(below, child.key, Some(all.len() - 1), all);
            }
        }
    }

    /// Number of samples below a root of this shape, padding included.
    pub fn descendant_count(&self, shape: ShapeId) -> u64 {
        self.descendant_counts(shape)
            .iter()
            .map(|&count| u64::from(count))
            .sum()
    }

    /// True when the shape contains an invalid id, duplicate sibling ids or an empty FOLDER.
    pub fn is_faulty(&self, shape: ShapeId) -> bool {
        self.nodes[shape as usize].is_faulty
    }

    /// The list of schemas with this number: (level, schema number), sorted.
    pub fn schema_list(&self, number: u32) -> &[(u8, u32)] {
        &self.schema_lists[number as usize]
    }

    /// True when `found` differs from `wanted` at most by padding (PIT-1).
    pub fn conforms(&self, wanted: ShapeId, found: ShapeId) -> bool {
        if wanted == found {
            return true;
        }
        if self.is_folder(wanted) != self.is_folder(found)
            || self.child_count(wanted) != self.child_count(found)
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

    /// The shape of a sample. Adds the schemas of its descendants to `schemas`, as (level, schema
    /// number).
    fn shape_of_sample(
        &mut self,
        sample: &Sample,
        level: usize,
        schemas: &mut Vec<(u8, u32)>,
    ) -> ShapeId {
        let Some(tortilla) = sample.children().filter(|_| level < MAX_FOLDER_NESTING) else {
            return FILE_SHAPE;
        };
        let schema = (level as u8 + 1, self.intern_schema(&tortilla.schema));
        if !schemas.contains(&schema) {
            schemas.push(schema);
        }
        let mut children = Vec::with_capacity(tortilla.samples.len());
        for child in &tortilla.samples {
            let symbol = self.intern_id(&child.id);
            children.push((symbol, self.shape_of_sample(child, level + 1, schemas)));
        }
        match self.shape_of_children.get(children.as_slice()) {
            Some(&shape) => shape,
            None => self.add_shape(children),
        }
    }

    fn add_shape(&mut self, children: Vec<(u32, ShapeId)>) -> ShapeId {
        let mut counts: Vec<u32> = if children.is_empty() {
            Vec::new()
        } else {
            vec![children.len() as u32]
        };
        let symbols = sort_symbols(&children);
        let has_duplicates = symbols.windows(2).any(|pair| pair[0] == pair[1]);
        let mut is_faulty = children.is_empty()
            || has_duplicates
            || self.have_invalid_id(&symbols)
            || self.have_ids_equal_without_case(&symbols);
        for &(_, below) in &children {
            let node = &self.nodes[below as usize];
            is_faulty |= node.is_faulty;
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
            is_faulty,
        });
        self.shape_of_children.insert(children, shape);
        shape
    }

    fn have_invalid_id(&self, symbols: &[u32]) -> bool {
        let is_invalid =
            |id: &str| check_sample_id(id).is_err() || check_portable_name(id).is_err();
        symbols
            .iter()
            .any(|&symbol| is_invalid(&self.texts[symbol as usize]))
    }

    /// True when two of the ids differ at most in upper and lower case.
    fn have_ids_equal_without_case(&self, symbols: &[u32]) -> bool {
        let mut names: Vec<String> = symbols
            .iter()
            .map(|&symbol| without_case(&self.texts[symbol as usize]))
            .collect();
        names.sort_unstable();
        names.windows(2).any(|pair| pair[0] == pair[1])
    }

    /// The symbol of an id, which is new for a new id.
    fn intern_id(&mut self, id: &Arc<str>) -> u32 {
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

    fn intern_schema(&mut self, schema: &Schema) -> u32 {
        let known = find_schema(&self.schemas, schema);
        known.unwrap_or_else(|| {
            self.schemas.push(schema.clone());
            self.schemas.len() - 1
        }) as u32
    }

    fn intern_schema_list(&mut self, schemas: &[(u8, u32)]) -> u32 {
        if let Some(&number) = self.schema_list_numbers.get(schemas) {
            return number;
        }
        let number = self.schema_lists.len() as u32;
        self.schema_lists.push(schemas.into());
        self.schema_list_numbers.insert(schemas.into(), number);
        number
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
    /// Ids, types and order of the samples below the root.
    pub shape: ShapeId,
    /// Number of the list of the schemas at and below the root, for [`Shapes::schema_list`].
    pub schema_list: u32,
}

/// Result of an update.
#[derive(Clone, Debug, Default)]
pub struct RootChanges {
    /// Replaced roots, as a range of indices before the update. Roots outside of it did not change,
    /// but may have other indices.
    pub before: Range<usize>,
    /// The same range after the update.
    pub after: Range<usize>,
    /// Indices after the update of the roots that differ.
    pub touched: Vec<usize>,
    /// True when an id, a type or the number of samples differs; values and schemas do not count.
    pub has_new_shapes: bool,
    /// True when all shapes were computed again: numbers of shapes from before are invalid.
    pub is_rebuilt: bool,
    /// For each level, the number of rows before those of the replaced roots.
    pub rows_before: Vec<u32>,
    /// For each level, the number of rows of the replaced roots before the update.
    pub rows_removed: Vec<u32>,
}

/// The shape that most roots have or nearly have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MostCommonShape {
    /// The shape to take for the pattern.
    pub shape: ShapeId,
    /// Index of the first root with the shape.
    pub first_root: usize,
    /// False when the choice is arbitrary: the roots have too little in common, or several shapes
    /// fit them equally well.
    pub is_common: bool,
}

/// The shape of every root of a dataset.
#[derive(Default)]
pub struct RootShapes {
    root: Arc<Tortilla>,
    roots: Vec<RootShape>,
    shapes: Shapes,
    /// Number of roots by shape.
    roots_per_shape: Vec<u32>,
    /// Number of roots by list of schemas.
    roots_per_schema_list: Vec<u32>,
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
            .zip(self.roots_per_shape.iter().copied())
            .filter(|(_, count)| *count > 0)
    }

    /// Lists of schemas in use, for [`Shapes::schema_list`], with their numbers of roots.
    pub fn used_schema_lists(&self) -> impl Iterator<Item = (u32, u32)> {
        (0..)
            .zip(self.roots_per_schema_list.iter().copied())
            .filter(|(_, count)| *count > 0)
    }

    /// For each level below the roots, the schemas of its tortillas, each once, in the order of the
    /// first roots that have them.
    pub fn level_schemas(&self) -> Vec<Vec<&Schema>> {
        let mut seen = vec![false; self.roots_per_schema_list.len()];
        let mut levels: Vec<Vec<u32>> = Vec::new();
        for root in &self.roots {
            if std::mem::replace(&mut seen[root.schema_list as usize], true) {
                continue;
            }
            for &(level, schema) in self.shapes.schema_list(root.schema_list) {
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

    fn count_root(&mut self, root: RootShape) {
        let (shape, list) = (root.shape as usize, root.schema_list as usize);
        let (shapes, lists) = (&mut self.roots_per_shape, &mut self.roots_per_schema_list);
        shapes.resize(shapes.len().max(shape + 1), 0);
        lists.resize(lists.len().max(list + 1), 0);
        shapes[shape] += 1;
        lists[list] += 1;
    }

    fn uncount_root(&mut self, root: RootShape) {
        self.roots_per_shape[root.shape as usize] -= 1;
        self.roots_per_schema_list[root.schema_list as usize] -= 1;
    }

    /// Updates the entries to `root`. Visits only roots that are not shared with the previous
    /// state.
    pub fn update(&mut self, root: &Arc<Tortilla>) -> RootChanges {
        // Panels call this in every frame.
        if Arc::ptr_eq(&self.root, root) {
            return RootChanges::default();
        }
        // Unused shapes are dropped once they are the majority.
        let is_rebuilt = self.shapes.nodes.len() + self.shapes.texts.len()
            > 4 * root.samples.len() + 200_000
            && self.shapes.nodes.len() > 4 * self.roots.len() + 100_000;
        if is_rebuilt {
            *self = Self::default();
        }
        let old = std::mem::replace(&mut self.root, root.clone());
        let (old, new) = (&old.samples, &root.samples);
        let shorter = old.len().min(new.len());
        // Numbers of equal samples at the start and at the end.
        let head = (0..shorter)
            .find(|&index| !is_same_sample(&old[index], &new[index]))
            .unwrap_or(shorter);
        let tail = (0..shorter - head)
            .find(|&back| !is_same_sample(&old[old.len() - 1 - back], &new[new.len() - 1 - back]));
        let tail = tail.unwrap_or(shorter - head);
        let (before, after) = (head..old.len() - tail, head..new.len() - tail);
        let has_same_count = before.len() == after.len();
        let (rows_before, rows_removed) = (
            self.count_rows(0..before.start),
            self.count_rows(before.clone()),
        );
        let mut touched = Vec::new();
        let mut replacements = Vec::with_capacity(after.len());
        let mut schemas = Vec::new();
        let mut has_new_shapes = is_rebuilt || !has_same_count;
        for index in after.clone() {
            if has_same_count && is_same_sample(&old[index], &new[index]) {
                replacements.push(self.roots[index]);
                continue;
            }
            schemas.clear();
            let shape = self.shapes.shape_of_sample(&new[index], 0, &mut schemas);
            schemas.sort_unstable();
            has_new_shapes |= has_same_count
                && (self.roots[index].shape != shape || old[index].id != new[index].id);
            replacements.push(RootShape {
                shape,
                schema_list: self.shapes.intern_schema_list(&schemas),
            });
            touched.push(index);
        }
        replacements.iter().for_each(|&root| self.count_root(root));
        let removed: Vec<RootShape> = self.roots.splice(before.clone(), replacements).collect();
        removed.into_iter().for_each(|root| self.uncount_root(root));
        RootChanges {
            before,
            after,
            touched,
            has_new_shapes,
            is_rebuilt,
            rows_before,
            rows_removed,
        }
    }

    /// For each level, the number of rows of these roots.
    fn count_rows(&self, roots: Range<usize>) -> Vec<u32> {
        let mut rows = vec![roots.len() as u32];
        for root in self.roots.get(roots).unwrap_or_default() {
            let counts = self.shapes.descendant_counts(root.shape);
            if rows.len() < counts.len() + 1 {
                rows.resize(counts.len() + 1, 0);
            }
            for (total, count) in rows[1..].iter_mut().zip(counts) {
                *total += count;
            }
        }
        rows
    }

    /// The shape that most roots have or nearly have ([`common_shape`]).
    pub fn most_common(&self) -> Option<MostCommonShape> {
        let used: Vec<(ShapeId, u32)> = self.used_shapes().collect();
        let most = used.iter().map(|(_, count)| *count).max()?;
        let mut first: Vec<usize> = vec![usize::MAX; self.roots_per_shape.len()];
        let total = self.roots.len();
        // Nearly always more than half of the roots have one shape: the others are not compared.
        if most as usize * 2 > total {
            let (shape, _) = *used.iter().find(|(_, count)| *count == most)?;
            return Some(MostCommonShape {
                shape,
                first_root: self.roots.iter().position(|root| root.shape == shape)?,
                is_common: true,
            });
        }
        for (index, root) in self.roots.iter().enumerate() {
            let known = &mut first[root.shape as usize];
            *known = (*known).min(index);
        }
        let uses: Vec<ShapeUse> = used
            .iter()
            .map(|&(shape, count)| ShapeUse {
                roots: u64::from(count),
                first: first[shape as usize],
                samples: self.shapes.descendant_count(shape),
            })
            .collect();
        let common = common_shape(&uses, |index| {
            let shape = used[index].0;
            let mut all = vec![ShapeChild::root(self.shapes.is_folder(shape))];
            self.shapes
                .collect_descendants(shape, ShapeChild::ROOT_KEY, None, &mut all);
            all
        })?;
        Some(MostCommonShape {
            shape: used[common.index].0,
            first_root: uses[common.index].first,
            is_common: common.is_common,
        })
    }
}

/// True when both samples have the same id and share their children in memory, or have none.
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
    fn only_the_root_that_changed_is_visited() {
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
        let common = shapes.most_common().expect("has roots");
        assert_eq!(
            (
                common.first_root,
                shapes
                    .shapes()
                    .conforms(common.shape, shapes.roots()[20].shape)
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
            shapes
                .used_schema_lists()
                .map(|(_, count)| count)
                .sum::<u32>(),
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
