//! Which of several shapes the others are compared with (PIT-1; TACO 2.0, section 5.4): the one that most roots have, or nearly have.

use std::cmp::Reverse;
use std::collections::HashMap;
use std::hash::{DefaultHasher, Hash, Hasher};

/// Most samples of all distinct shapes together whose ids are counted.
const COUNTED: u64 = 1_000_000;

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
    /// False when no id at any position is held by more than half of the roots, so that the choice is arbitrary.
    pub is_common: bool,
}

/// One sample of a shape, for [`common_shape`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ShapeChild {
    /// Its `position_key`; of padding, that of its index.
    pub key: u64,
    /// The `position_key` of its index among its siblings, instead of its id.
    pub place: u64,
    /// Index of its FOLDER in the list.
    pub parent: Option<usize>,
    /// True for padding, which can replace any sample at its index; its contents are not listed.
    pub is_padding: bool,
}

impl ShapeChild {
    /// The child `index` of the FOLDER with the key `parent`, which is at `parent_at` in the list.
    pub fn new(parent: u64, parent_at: Option<usize>, index: usize, id: &str, is_folder: bool) -> Self {
        let place = position_key(parent, index, true);
        let is_padding = super::is_padding(id);
        let key = if is_padding { place } else { position_key(parent, id, is_folder) };
        Self { key, place, parent: parent_at, is_padding }
    }
}

/// Identifies a position by the ids from the root to it: the position `parent` with a child of this name and type.
fn position_key(parent: u64, name: impl Hash, is_folder: bool) -> u64 {
    let mut hasher = DefaultHasher::new();
    (parent, name, is_folder).hash(&mut hasher);
    hasher.finish()
}

/// The shape that takes the fewest additions and removals over all roots: a stray file of one root is not expected of the others, and
/// a file that most roots have is. Among equal ones the most frequent, then the one with most samples, then the first. When nothing is
/// common, the most frequent number of samples decides.
///
/// `children(index)` lists the samples of a shape, FOLDERs before what they hold.
pub fn common_shape(shapes: &[ShapeUse], children: impl Fn(usize) -> Vec<ShapeChild>) -> Option<CommonShape> {
    let total: u64 = shapes.iter().map(|shape| shape.roots).sum();
    let order = |index: usize| (shapes[index].roots, shapes[index].samples, Reverse(shapes[index].first));
    let most = (0..shapes.len()).max_by_key(|&index| order(index))?;
    let counted: u64 = shapes.iter().map(|shape| shape.samples).fold(0, u64::saturating_add);
    if shapes[most].roots * 2 > total || counted > COUNTED {
        return Some(CommonShape { index: most, is_common: true });
    }
    let mut held: HashMap<u64, u64> = HashMap::new();
    for (index, shape) in shapes.iter().enumerate() {
        let mut keys: Vec<u64> = children(index).iter().map(|child| child.key).collect();
        keys.sort_unstable();
        keys.dedup();
        keys.into_iter().for_each(|key| *held.entry(key).or_default() += shape.roots);
    }
    let held_by = |key: u64| held.get(&key).copied().unwrap_or(0);
    // The roots that have each sample of a shape, or padding instead of it or of a FOLDER above it.
    let agreeing = |index: usize| -> Vec<u64> {
        let all = children(index);
        let mut padded: Vec<u64> = Vec::with_capacity(all.len());
        for child in &all {
            let above = child.parent.and_then(|parent| padded.get(parent)).copied().unwrap_or(0);
            padded.push(above + held_by(child.place));
        }
        let real = all.iter().zip(&padded).filter(|(child, _)| !child.is_padding);
        real.map(|(child, padded)| held_by(child.key) + padded).collect()
    };
    if !(0..shapes.len()).any(|index| agreeing(index).into_iter().any(|roots| roots * 2 > total)) {
        let mut sizes: HashMap<u64, u64> = HashMap::new();
        shapes.iter().for_each(|shape| *sizes.entry(shape.samples).or_default() += shape.roots);
        let size = |index: usize| sizes.get(&shapes[index].samples).copied().unwrap_or(0);
        let index = (0..shapes.len()).max_by_key(|&index| (size(index), order(index)))?;
        return Some(CommonShape { index, is_common: shapes[index].roots > 1 });
    }
    let agreement = |index: usize| -> i64 { agreeing(index).into_iter().map(|roots| 2 * roots as i64 - total as i64).sum() };
    let index = (0..shapes.len()).max_by_key(|&index| (agreement(index), order(index)))?;
    Some(CommonShape { index, is_common: true })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The files of the chosen shape, and whether it is common; each shape is held by one root.
    fn chosen(shapes: &[&[&str]]) -> (usize, bool) {
        let uses: Vec<ShapeUse> =
            shapes.iter().enumerate().map(|(first, files)| ShapeUse { roots: 1, first, samples: files.len() as u64 }).collect();
        let found = common_shape(&uses, |index| {
            shapes[index].iter().enumerate().map(|(at, id)| ShapeChild::new(0, None, at, id, false)).collect()
        });
        let found = found.expect("has shapes");
        (found.index, found.is_common)
    }

    #[test]
    fn the_most_common_shape_is_what_most_roots_nearly_have_not_an_odd_root_with_a_stray_file() {
        // Every root differs; the one with a stray file has the most samples.
        let roots: [&[&str]; 4] =
            [&["after", "before"], &["after", "before", "label", "stray"], &["after", "before", "label"], &["after", "label", "x"]];
        assert_eq!(chosen(&roots), (2, true));
        // Padding can replace a sample of any shape.
        assert_eq!(chosen(&[&["a", "b"], &["__TACOPAD__0", "b"], &["__TACOPAD__0", "b", "x"], &["a", "b", "y"]]), (0, true));
        // A root that lacks a file is no pattern for those that have it.
        assert_eq!(chosen(&[&["a", "b"], &["a", "b", "c"]]), (1, true));
    }

    #[test]
    fn it_is_said_when_nothing_is_common() {
        let roots: [&[&str]; 4] = [&["a1", "b1"], &["a2", "b2", "stray"], &["a3", "b3"], &["a4", "b4"]];
        assert_eq!(chosen(&roots), (0, false));
    }
}
