//! Padding (TACO 2.0, section 5.4): placeholder samples `__TACOPAD__N` with empty data and null
//! metadata, which keep the tree position-invariant where observations are missing. Only creates
//! samples; edits insert them.

use std::collections::HashSet;
use std::sync::Arc;

use super::{PAD_PREFIX, Payload, Sample, Tortilla};

/// A FILE of zero bytes.
pub fn padding_file(number: u64) -> Sample {
    Sample {
        id: padding_id(number),
        payload: Payload::Bytes(Arc::from([])),
        values: Arc::from([]),
    }
}

/// Id of padding sample `number`.
pub fn padding_id(number: u64) -> Arc<str> {
    format!("{PAD_PREFIX}{number}").into()
}

/// Padding for `model`: an empty FILE, or a FOLDER with the same fields and padding for each of its
/// children, recursively.
pub fn padding_like(model: &Sample, number: u64) -> Sample {
    match model.children() {
        None => padding_file(number),
        Some(children) => {
            let samples = children
                .samples
                .iter()
                .zip(0..)
                .map(|(child, number)| padding_like(child, number))
                .collect();
            let below = Tortilla {
                schema: children.schema.clone(),
                samples,
            };
            Sample {
                id: padding_id(number),
                payload: Payload::Folder(below.into()),
                values: Arc::from([]),
            }
        }
    }
}

/// The numbers that the padding of a tortilla has.
#[derive(Debug, Default)]
pub struct PaddingNumbers {
    taken: HashSet<u64>,
    /// A number is looked for from here on, so that many of them take no longer than one each.
    beyond: u64,
}

impl PaddingNumbers {
    /// The numbers of the padding in `tortilla`.
    pub fn from_tortilla(tortilla: &Tortilla) -> Self {
        let numbers = tortilla.samples.iter();
        let numbers = numbers.filter_map(|sample| sample.id.strip_prefix(PAD_PREFIX)?.parse().ok());
        Self {
            taken: numbers.collect(),
            beyond: 0,
        }
    }

    /// Takes `wanted`, or a number after it that is free.
    pub fn take(&mut self, wanted: u64) -> u64 {
        if self.taken.insert(wanted) {
            return wanted;
        }
        let mut number = self.beyond.max(wanted.saturating_add(1));
        while !self.taken.insert(number) {
            number = number.wrapping_add(1);
        }
        self.beyond = number.saturating_add(1);
        number
    }
}

/// The padding needed to make the number of samples a multiple of `multiple` (section 7.1.1),
/// modelled on the last sample, so that FOLDERs are padded by FOLDERs. The last sample may be
/// padding itself: tortillas that are isomorphic, such as one that consists of padding, get the
/// same padding. Empty for an empty or complete tortilla, or `multiple` = 0.
pub fn pad_to(tortilla: &Tortilla, multiple: usize) -> Vec<Sample> {
    let length = tortilla.samples.len();
    let Some(model) = tortilla.samples.last() else {
        return Vec::new();
    };
    if multiple == 0 {
        return Vec::new();
    }
    let missing = length.next_multiple_of(multiple) - length;
    let mut taken: HashSet<Arc<str>> = tortilla
        .samples
        .iter()
        .map(|sample| sample.id.clone())
        .collect();
    let mut number = 0;
    let mut padding = Vec::with_capacity(missing);
    while padding.len() < missing {
        if taken.insert(padding_id(number)) {
            padding.push(padding_like(model, number));
        }
        number += 1;
    }
    padding
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::SampleKind;

    fn files(ids: &[&str]) -> Tortilla {
        Tortilla::new(ids.iter().map(|id| Sample::new_file(id, "/x", 1)).collect())
    }

    #[test]
    fn padding_fills_up_to_a_multiple_with_free_numbers() {
        let ids = |samples: Vec<Sample>| {
            samples
                .iter()
                .map(|sample| sample.id.to_string())
                .collect::<Vec<_>>()
        };
        assert_eq!(
            ids(pad_to(&files(&["a", "b", "c"]), 5)),
            ["__TACOPAD__0", "__TACOPAD__1"]
        );
        assert_eq!(
            ids(pad_to(&files(&["a", "__TACOPAD__0"]), 4)),
            ["__TACOPAD__1", "__TACOPAD__2"]
        );
        assert!(
            pad_to(&files(&["a", "b"]), 2).is_empty()
                && pad_to(&files(&[]), 3).is_empty()
                && pad_to(&files(&["a"]), 0).is_empty()
        );
    }

    #[test]
    fn numbers_of_padding_are_free_ones() {
        let mut numbers = PaddingNumbers::from_tortilla(&files(&[
            "a",
            "__TACOPAD__1",
            "__TACOPAD__2",
            "__TACOPAD__x",
        ]));
        let taken: Vec<u64> = [0, 1, 1, 5, 2].map(|wanted| numbers.take(wanted)).into();
        assert_eq!(taken, [0, 3, 4, 5, 6]);
        // As long as the padding, not as its square.
        let many: Vec<String> = (0..50_000).map(|n| format!("__TACOPAD__{n}")).collect();
        let many: Vec<&str> = many.iter().map(String::as_str).collect();
        let mut numbers = PaddingNumbers::from_tortilla(&files(&many));
        assert!((0..50_000).all(|wanted| numbers.take(wanted) == wanted + 50_000));
    }

    #[test]
    fn tortillas_of_one_shape_get_the_same_padding() {
        let folder = |id: &str| Sample::new_folder(id, files(&["x", "y"]));
        let whole = Tortilla::new(vec![Sample::new_file("a", "/x", 1), folder("b")]);
        let last_missing = Tortilla::new(vec![
            Sample::new_file("a", "/x", 1),
            padding_like(&folder("b"), 1),
        ]);
        let placeholder = Tortilla::new(vec![padding_file(0), padding_like(&folder("b"), 1)]);
        for tortilla in [whole, last_missing, placeholder] {
            let padding = pad_to(&tortilla, 3);
            assert_eq!(padding.len(), 1, "{tortilla:?}");
            assert_eq!(
                padding[0].children().map(|below| below.samples.len()),
                Some(2),
                "{tortilla:?}"
            );
        }
    }

    #[test]
    fn a_folder_is_padded_by_a_folder_of_padding() {
        let scene = Sample::new_folder(
            "a",
            Tortilla::new(vec![
                Sample::new_folder("s2", files(&["t0", "t1"])),
                Sample::new_file("l", "/y", 2),
            ]),
        );
        let padding = padding_like(&scene, 7);
        assert_eq!((&*padding.id, padding.size_bytes()), ("__TACOPAD__7", 0));
        let below = padding.children().expect("is a FOLDER");
        assert_eq!(
            below.samples[0]
                .children()
                .expect("is a FOLDER")
                .samples
                .len(),
            2
        );
        assert_eq!(below.samples[1].kind(), SampleKind::File);
        fn all<'a>(sample: &'a Sample, found: &mut Vec<&'a Sample>) {
            found.push(sample);
            sample
                .children()
                .into_iter()
                .flat_map(|children| &children.samples)
                .for_each(|child| all(child, found));
        }
        let mut found = Vec::new();
        all(&padding, &mut found);
        assert!(
            found.len() == 5 && found.iter().all(|sample| sample.is_padding()),
            "{found:?}"
        );
    }
}
