//! Which of several shapes the others are compared with (PIT-1; TACO 2.0, section 5.4): the one
//! that most roots have, or nearly have.

use std::cmp::Reverse;
use std::collections::{HashMap, HashSet};
use std::hash::{DefaultHasher, Hash, Hasher};

use super::in_nfc;

/// Maximum number of samples, of all distinct shapes together, whose ids are compared. Above it the
/// numbers of roots alone decide.
const COMPARED_SAMPLES_MAX: u64 = 1_000_000;

/// One distinct shape.
#[derive(Clone, Copy, Debug)]
pub struct ShapeUse {
    /// Number of roots that have it.
    pub roots: u64,
    /// Index of the first of them.
    pub first: usize,
    /// Number of descendants.
    pub samples: u64,
}

/// The shape to compare with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CommonShape {
    /// Its index in the list of shapes.
    pub index: usize,
    /// False when the choice is arbitrary: the roots have too little in common, or several shapes
    /// fit them equally well.
    pub is_common: bool,
}

/// One sample of a shape, for [`common_shape`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ShapeChild {
    /// Its `position_key`; of padding, that of its index.
    pub key: u64,
    /// The `position_key` of its index among its siblings: the key that padding there has.
    pub padding_key: u64,
    /// Index of its FOLDER in the list.
    pub parent: Option<usize>,
    /// True for padding, which can replace any sample at its index; its descendants are not listed.
    pub is_padding: bool,
    /// True for the root itself, whose type counts and which has no id in common with the others.
    pub is_root: bool,
}

impl ShapeChild {
    /// The key of the root, which its children have as `parent`.
    pub const ROOT_KEY: u64 = 1;

    /// The child `index` of the FOLDER with the key `parent`, which is at `parent_at` in the list.
    pub fn new(
        parent: u64,
        parent_at: Option<usize>,
        index: usize,
        id: &str,
        is_folder: bool,
    ) -> Self {
        let padding_key = position_key(parent, index, true);
        let is_padding = super::is_padding(id);
        let key = if is_padding {
            padding_key
        } else {
            position_key(parent, in_nfc(id), is_folder)
        };
        Self {
            key,
            padding_key,
            parent: parent_at,
            is_padding,
            is_root: false,
        }
    }

    /// The root, a FILE or a FOLDER.
    pub fn root(is_folder: bool) -> Self {
        Self {
            is_root: true,
            ..Self::new(0, None, 0, "root", is_folder)
        }
    }
}

/// A hash of the ids from the root to a child: `parent` is the key of its FOLDER, `name` its id or,
/// for padding, its index.
fn position_key(parent: u64, name: impl Hash, is_folder: bool) -> u64 {
    let mut hasher = DefaultHasher::new();
    (parent, name, is_folder).hash(&mut hasher);
    hasher.finish()
}

/// The shape that takes the fewest additions and removals over all roots: a stray file of one root
/// is not expected of the others, and a file that most roots have is. Of shapes that take equally
/// many, the most frequent is chosen, then the one with most samples, then the first. Where the
/// roots do not agree on that shape, one that several roots have, more than any other, is chosen;
/// else one with the most frequent number of samples, which is not common.
///
/// `children(index)` lists the samples of a shape, FOLDERs before their children.
pub fn common_shape(
    shapes: &[ShapeUse],
    children: impl Fn(usize) -> Vec<ShapeChild>,
) -> Option<CommonShape> {
    let total: u64 = shapes.iter().map(|shape| shape.roots).sum();
    let most_frequent = (0..shapes.len()).max_by_key(|&index| rank_shape(&shapes[index]))?;
    let samples: u64 = shapes
        .iter()
        .map(|shape| shape.samples)
        .fold(0, u64::saturating_add);
    if shapes[most_frequent].roots * 2 > total {
        return Some(CommonShape {
            index: most_frequent,
            is_common: true,
        });
    }
    let equally_frequent = shapes
        .iter()
        .filter(|shape| shape.roots == shapes[most_frequent].roots)
        .count();
    let leads = shapes[most_frequent].roots > 1 && equally_frequent == 1;
    if samples > COMPARED_SAMPLES_MAX {
        return Some(CommonShape {
            index: most_frequent,
            is_common: leads,
        });
    }
    let agreements = Agreements::from_shapes(shapes, total, children);
    let agreed = (0..shapes.len())
        .max_by_key(|&index| (agreements.of_shape(index), rank_shape(&shapes[index])))?;
    if agreements.is_sole_best_fit(agreed) {
        return Some(CommonShape {
            index: agreed,
            is_common: true,
        });
    }
    if leads {
        return Some(CommonShape {
            index: most_frequent,
            is_common: true,
        });
    }
    let mut roots_by_size: HashMap<u64, u64> = HashMap::new();
    shapes
        .iter()
        .for_each(|shape| *roots_by_size.entry(shape.samples).or_default() += shape.roots);
    let roots_of = |index: usize| roots_by_size.get(&shapes[index].samples).copied();
    let index =
        (0..shapes.len()).max_by_key(|&index| (roots_of(index), rank_shape(&shapes[index])))?;
    Some(CommonShape {
        index,
        is_common: false,
    })
}

fn rank_shape(shape: &ShapeUse) -> (u64, u64, Reverse<usize>) {
    (shape.roots, shape.samples, Reverse(shape.first))
}

/// How many roots agree with each sample of each shape.
struct Agreements<'a> {
    shapes: &'a [ShapeUse],
    total: u64,
    /// Of each shape, the samples that are not padding, each with the number of roots that have it,
    /// or padding in its place or in that of a FOLDER above it.
    holders: Vec<Vec<(ShapeChild, u64)>>,
    /// Number of distinct samples of all shapes, without padding and roots.
    distinct: usize,
}

impl<'a> Agreements<'a> {
    fn from_shapes(
        shapes: &'a [ShapeUse],
        total: u64,
        children: impl Fn(usize) -> Vec<ShapeChild>,
    ) -> Self {
        let all: Vec<Vec<ShapeChild>> = (0..shapes.len()).map(children).collect();
        let mut roots_of: HashMap<u64, u64> = HashMap::new();
        let mut distinct: HashSet<u64> = HashSet::new();
        for (shape, children) in shapes.iter().zip(&all) {
            let keys: HashSet<u64> = children.iter().map(|child| child.key).collect();
            keys.into_iter()
                .for_each(|key| *roots_of.entry(key).or_default() += shape.roots);
            distinct.extend(
                children
                    .iter()
                    .filter(|child| !child.is_padding && !child.is_root)
                    .map(|child| child.key),
            );
        }
        Self {
            shapes,
            total,
            holders: all
                .into_iter()
                .map(|children| count_holders(children, &roots_of))
                .collect(),
            distinct: distinct.len(),
        }
    }

    /// The sum over the samples of a shape: roots that have it, minus roots that lack it.
    fn of_shape(&self, index: usize) -> i64 {
        self.holders[index]
            .iter()
            .map(|(_, roots)| 2 * *roots as i64 - self.total as i64)
            .sum()
    }

    /// The samples of a shape without its root.
    fn list_below_root(&self, index: usize) -> impl Iterator<Item = &(ShapeChild, u64)> {
        self.holders[index]
            .iter()
            .filter(|(child, _)| !child.is_root)
    }

    fn keys(&self, index: usize) -> Vec<u64> {
        let mut keys: Vec<u64> = self.holders[index]
            .iter()
            .map(|(child, _)| child.key)
            .collect();
        keys.sort_unstable();
        keys
    }

    /// True when a shape is what the roots have in common, and no other shape fits as well: it has
    /// every sample that any root has, or most of its samples are in most of the roots, which have
    /// no more samples than it has.
    fn is_sole_best_fit(&self, index: usize) -> bool {
        let count = self.list_below_root(index).count();
        if count == 0 {
            return false;
        }
        if count == self.distinct {
            return true;
        }
        let own = &self.shapes[index];
        let larger: u64 = self
            .shapes
            .iter()
            .filter(|shape| shape.samples > own.samples)
            .map(|shape| shape.roots)
            .sum();
        let common = self
            .list_below_root(index)
            .filter(|(_, roots)| roots * 2 > self.total)
            .count();
        larger * 2 <= self.total
            && common * 2 > count
            && !(0..self.shapes.len()).any(|other| self.fits_as_well_as(other, index))
    }

    /// True when the shape `other` has other samples than the one at `index`, as many of them, and
    /// as many roots, which agree as well.
    fn fits_as_well_as(&self, other: usize, index: usize) -> bool {
        let (shape, own) = (&self.shapes[other], &self.shapes[index]);
        (shape.roots, shape.samples) == (own.roots, own.samples)
            && self.of_shape(other) == self.of_shape(index)
            && self.keys(other) != self.keys(index)
    }
}

/// The samples of a shape that are not padding, each with the number of roots that have it, or
/// padding in its place or in that of a FOLDER above it. `roots_of` counts the roots by key.
fn count_holders(
    children: Vec<ShapeChild>,
    roots_of: &HashMap<u64, u64>,
) -> Vec<(ShapeChild, u64)> {
    let held_by = |key: u64| roots_of.get(&key).copied().unwrap_or(0);
    let mut padded: Vec<u64> = Vec::with_capacity(children.len());
    for child in &children {
        let above = child
            .parent
            .and_then(|parent| padded.get(parent))
            .copied()
            .unwrap_or(0);
        padded.push(above + held_by(child.padding_key));
    }
    let real = children
        .into_iter()
        .zip(padded)
        .filter(|(child, _)| !child.is_padding);
    real.map(|(child, padded)| (child, held_by(child.key) + padded))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The index of the chosen shape, and whether it is common; each shape is that of one root.
    fn chosen(shapes: &[&[&str]]) -> (usize, bool) {
        let uses: Vec<ShapeUse> = shapes
            .iter()
            .enumerate()
            .map(|(first, files)| ShapeUse {
                roots: 1,
                first,
                samples: files.len() as u64,
            })
            .collect();
        let found = common_shape(&uses, |index| {
            shapes[index]
                .iter()
                .enumerate()
                .map(|(at, id)| ShapeChild::new(ShapeChild::ROOT_KEY, None, at, id, false))
                .collect()
        });
        let found = found.expect("has shapes");
        (found.index, found.is_common)
    }

    #[test]
    fn the_most_common_shape_is_what_most_roots_nearly_have_not_an_odd_root_with_a_stray_file() {
        // Every root differs; the one with a stray file has the most samples.
        let roots: [&[&str]; 4] = [
            &["after", "before"],
            &["after", "before", "label", "stray"],
            &["after", "before", "label"],
            &["after", "label", "x"],
        ];
        assert_eq!(chosen(&roots), (2, true));
        // Padding can replace a sample of any shape.
        assert_eq!(
            chosen(&[
                &["a", "b"],
                &["__TACOPAD__0", "b"],
                &["__TACOPAD__0", "b", "x"],
                &["a", "b", "y"]
            ]),
            (0, true)
        );
        // Of two roots, one of which lacks a file, the one that has it is chosen.
        assert_eq!(chosen(&[&["a", "b"], &["a", "b", "c"]]), (1, true));
    }

    #[test]
    fn a_shape_is_not_common_when_the_roots_have_little_in_common() {
        let roots: [&[&str]; 4] = [
            &["a1", "b1"],
            &["a2", "b2", "stray"],
            &["a3", "b3"],
            &["a4", "b4"],
        ];
        assert_eq!(chosen(&roots), (0, false));
        // A file that all roots have beside their own ones does not make the shortest root the
        // pattern.
        let roots: [&[&str]; 5] = [
            &["meta", "d1", "d2", "d3"],
            &["meta", "d4"],
            &["meta", "d5", "d6", "d7"],
            &["meta"],
            &["meta", "d8", "d9", "d10"],
        ];
        assert!(!chosen(&roots).1);
        // Of two roots that each have a file of their own, neither is common.
        assert!(!chosen(&[&["a", "b", "c", "d"], &["a", "b", "c", "e"]]).1);
        // Shapes that differ in the order of their samples alone have the same content.
        assert_eq!(chosen(&[&["a", "b"], &["b", "a"]]), (0, true));
    }

    #[test]
    fn a_tie_of_shapes_is_not_common() {
        let shapes: [&[&str]; 5] = [
            &["a1", "a2"],
            &["b1"],
            &["c1", "c2", "c3"],
            &["d1", "d2"],
            &["e1", "e2", "e3", "e4"],
        ];
        let found = |counts: [u64; 5]| {
            let uses: Vec<ShapeUse> = (counts.iter().zip(shapes).enumerate())
                .map(|(first, (&roots, files))| ShapeUse {
                    roots,
                    first,
                    samples: files.len() as u64,
                })
                .collect();
            common_shape(&uses, |index| {
                let below = shapes[index]
                    .iter()
                    .enumerate()
                    .map(|(at, id)| ShapeChild::new(ShapeChild::ROOT_KEY, None, at, id, false));
                std::iter::once(ShapeChild::root(true))
                    .chain(below)
                    .collect()
            })
        };
        assert!(
            found([3; 5]).is_some_and(|found| !found.is_common),
            "a shape is not common because all roots are FOLDERs"
        );
        assert!(found([1; 5]).is_some_and(|found| !found.is_common));
        assert_eq!(
            found([3, 3, 4, 3, 3]),
            Some(CommonShape {
                index: 2,
                is_common: true
            })
        );
    }
}
