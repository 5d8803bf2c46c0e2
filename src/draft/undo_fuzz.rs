//! Property tests: undoing any sequence of edits restores the first draft, redoing restores the
//! last. A failing edit changes nothing.

use std::sync::Arc;

use arrow::datatypes::DataType;
use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::{Rng, SeedableRng};

use super::*;
use crate::model::{
    Collection, Dataset, FieldSpec, NodePath, Sample, Tortilla, Value, padding_file,
};

struct Dice(ChaCha8Rng);

impl Dice {
    /// A number below `sides`.
    fn roll(&mut self, sides: usize) -> usize {
        self.0.next_u32() as usize % sides.max(1)
    }

    fn id(&mut self) -> Arc<str> {
        format!(
            "{}{}",
            ["s", "before_", "x-y_", "__TACOPAD__"][self.roll(4)],
            self.roll(30)
        )
        .into()
    }

    fn name(&mut self) -> String {
        ["name", "cloud", "split", "n"][self.roll(4)].to_owned()
    }

    fn value(&mut self) -> Value {
        match self.roll(4) {
            0 => Value::Null,
            1 => Value::Int(self.roll(9) as i64),
            2 => Value::Float(self.roll(9) as f64 / 2.0),
            _ => Value::text(["a-b", "7", ""][self.roll(3)]),
        }
    }

    fn field(&mut self) -> FieldSpec {
        let dtype = [DataType::Utf8, DataType::Float64, DataType::Int64][self.roll(3)].clone();
        FieldSpec::new(self.name(), dtype)
    }

    fn sample(&mut self, depth: usize) -> Sample {
        let id = self.id();
        let mut sample = match self.roll(5) {
            0 | 1 if depth < 3 => Sample::new_folder(&id, self.tortilla(depth + 1)),
            2 => padding_file(self.roll(9) as u64),
            _ => Sample::new_file(&id, format!("/data/{id}.tif"), self.roll(100) as u64),
        };
        sample.values = (0..self.roll(3)).map(|_| self.value()).collect();
        sample
    }

    fn tortilla(&mut self, depth: usize) -> Tortilla {
        let mut fields: Vec<FieldSpec> = Vec::new();
        for _ in 0..self.roll(3) {
            let field = self.field();
            if fields.iter().all(|known| known.name != field.name) {
                fields.push(field);
            }
        }
        let mut samples: Vec<Sample> = (0..self.roll(5)).map(|_| self.sample(depth)).collect();
        samples.iter_mut().for_each(|sample| {
            sample.values = sample.values.iter().take(fields.len()).cloned().collect()
        });
        Tortilla {
            schema: fields.into(),
            samples,
        }
    }

    fn content(&mut self) -> Content {
        let dataset = Dataset {
            collection: Collection::template(),
            root: self.tortilla(0).into(),
        };
        let tray = (0..self.roll(4)).map(|n| Unplaced::file(format!("/data/t{n}.tif"), 1));
        Content {
            dataset,
            tray: tray.collect(),
        }
    }

    /// A path that exists in most cases; with `folder` that of a FOLDER.
    fn path(&mut self, content: &Content, folder: bool) -> NodePath {
        let mut path = NodePath::root();
        loop {
            let Some(tortilla) = content.dataset.tortilla(&path) else {
                return path;
            };
            let stop = self.roll(3) == 0;
            if tortilla.samples.is_empty() || (folder && stop) || self.roll(40) == 0 {
                return if folder {
                    path
                } else {
                    path.child(self.roll(6) as u32)
                };
            }
            let next = path.child(self.roll(tortilla.samples.len()) as u32);
            let is_folder = content.dataset.tortilla(&next).is_some();
            if !is_folder || (!folder && stop) {
                return if folder { path } else { next };
            }
            path = next;
        }
    }

    fn edit(&mut self, content: &Content, depth: usize) -> Edit {
        match self.roll(if depth == 0 { 24 } else { 23 }) {
            0 => Edit::Insert {
                parent: self.path(content, true),
                at: self.roll(4) as u32,
                samples: vec![self.sample(1)],
            },
            1 => Edit::Remove {
                parent: self.path(content, true),
                at: self.roll(4) as u32,
                count: self.roll(3) as u32,
            },
            2 => Edit::Rename {
                sample: self.path(content, false),
                id: self.id(),
            },
            3 | 4 => Edit::Move {
                sample: self.path(content, false),
                to: self.path(content, true),
                at: self.roll(4) as u32,
            },
            5 => Edit::SetPayload {
                sample: self.path(content, false),
                payload: self.sample(2).payload,
            },
            6 => Edit::SetValue {
                sample: self.path(content, false),
                field: self.name(),
                value: self.value(),
            },
            7 => Edit::AddField {
                tortilla: self.path(content, true),
                at: self.roll(3),
                field: self.field(),
                values: vec![],
            },
            8 => Edit::RemoveField {
                tortilla: self.path(content, true),
                field: self.name(),
            },
            9 => Edit::ReplaceTortilla {
                tortilla: self.path(content, true),
                with: self.tortilla(2).into(),
            },
            10 => Edit::SetCollection {
                key: "title".into(),
                value: (self.roll(2) == 0).then(|| self.name().into()),
            },
            11 => Edit::SetRow {
                sample: self.path(content, false),
                values: vec![self.value(), self.value()],
            },
            12 => Edit::RemoveMany {
                samples: self.choose_paths(content),
            },
            13 | 14 => Edit::MoveMany {
                samples: self.choose_paths(content),
                to: self.path(content, true),
                at: self.roll(3) as u32,
            },
            15 => {
                let parent = self.path(content, true);
                let count = content
                    .dataset
                    .tortilla(&parent)
                    .map_or(0, |tortilla| tortilla.samples.len());
                let mut order: Vec<u32> = (0..count as u32).collect();
                (1..count).for_each(|index| order.swap(index, self.roll(index + 1)));
                Edit::Reorder { parent, order }
            }
            16 => Edit::Group {
                parent: self.path(content, true),
                positions: vec![self.roll(4) as u32, self.roll(4) as u32],
                id: self.id(),
            },
            17 => Edit::Unnest {
                folder: self.path(content, false),
            },
            18 => Edit::RenameMany {
                names: self
                    .choose_paths(content)
                    .into_iter()
                    .map(|path| (path, self.id()))
                    .collect(),
            },
            19 => Edit::RenameBy {
                level: self.roll(3),
                under: None,
                find: "([a-z])([0-9])".into(),
                replace: "$2$1".into(),
                regex: true,
            },
            20 => Edit::Column {
                level: self.roll(3),
                change: self.change(),
            },
            21 => Edit::RemoveFromTray {
                places: vec![self.roll(4) as u32],
            },
            22 => Edit::Relocate {
                from: ["/data", "/moved"][self.roll(2)].into(),
                to: ["/data", "/moved"][self.roll(2)].into(),
            },
            _ => Edit::Batch {
                label: "several".into(),
                edits: (0..3).map(|_| self.edit(content, 1)).collect(),
            },
        }
    }

    fn choose_paths(&mut self, content: &Content) -> Vec<NodePath> {
        (0..1 + self.roll(3))
            .map(|_| self.path(content, false))
            .collect()
    }

    fn change(&mut self) -> ColumnChange {
        let name = self.name();
        match self.roll(6) {
            0 => ColumnChange::Add {
                field: self.field(),
                at: None,
                value: Value::Null,
            },
            1 => ColumnChange::Remove { name },
            2 => ColumnChange::Rename {
                name,
                to: self.name(),
            },
            3 => ColumnChange::Cast {
                name,
                dtype: ["Utf8", "Int64"][self.roll(2)].into(),
                lossy: self.roll(2) == 0,
            },
            4 => ColumnChange::Fill {
                name,
                value: self.value(),
                all: self.roll(2) == 0,
            },
            _ => ColumnChange::Split {
                name,
                by: "-".into(),
                into: vec![self.name(), "rest".into()],
                keep: self.roll(2) == 0,
            },
        }
    }
}

#[test]
fn any_sequence_of_edits_can_be_undone_and_redone() {
    let (mut applied, mut refused) = (0, 0);
    let mut kinds = std::collections::BTreeSet::new();
    for seed in 0..400 {
        let mut dice = Dice(ChaCha8Rng::seed_from_u64(seed));
        let first = dice.content();
        let mut draft = Draft::with_content(first.clone());
        draft.set_budget(u64::MAX);
        let mut states = vec![first];
        for _ in 0..15 {
            let edit = dice.edit(draft.content(), 0);
            let text = serde_json::to_string(&edit).expect("edits are plain data");
            let before = draft.content().clone();
            match draft.apply(edit) {
                Ok(_) => {
                    applied += 1;
                    kinds.insert(text.split('"').nth(3).unwrap_or_default().to_owned());
                    states.push(draft.content().clone());
                    // The edit read back from JSON has the same effect.
                    let mut again = before;
                    let edit: Edit = serde_json::from_str(&text).expect("reads back");
                    edit.apply_to(&mut again).expect("applies again");
                    assert_eq!(&again, draft.content(), "seed {seed}: {text}");
                }
                Err(_) => {
                    refused += 1;
                    assert_eq!(
                        draft.content(),
                        &before,
                        "seed {seed}: {text} failed and changed something"
                    );
                }
            }
        }
        for state in states.iter().rev().skip(1) {
            draft.undo().expect("undoes");
            assert_eq!(
                draft.content(),
                state,
                "seed {seed}: undo to step {}",
                draft.steps()
            );
        }
        assert!(draft.undo().is_err());
        for state in &states[1..] {
            draft.redo().expect("redoes");
            assert_eq!(
                draft.content(),
                state,
                "seed {seed}: redo to step {}",
                draft.steps()
            );
        }
        // Undo half of the steps, then apply another edit.
        (0..states.len() / 2).for_each(|_| drop(draft.undo().expect("undoes")));
        draft
            .apply(Edit::SetCollection {
                key: "id".into(),
                value: Some("other".into()),
            })
            .expect("applies");
        assert!(draft.redo().is_err(), "what was undone is gone");
        while draft.undo().is_ok() {}
        assert_eq!(draft.content(), &states[0], "seed {seed}");
    }
    assert!(
        applied > 2000 && refused > 300,
        "{applied} applied, {refused} refused"
    );
    assert!(kinds.len() > 18, "{kinds:?}");
}

#[test]
fn unchanged_parts_are_shared_with_the_previous_draft() {
    let mut dice = Dice(ChaCha8Rng::seed_from_u64(1));
    let roots: Vec<Sample> = (0..50)
        .map(|n| Sample::new_folder(&format!("r{n}"), dice.tortilla(2)))
        .collect();
    let before = Dataset {
        root: Tortilla::new(roots).into(),
        ..Dataset::default()
    };
    let mut draft = Draft::from_dataset(before.clone());
    let edits = [
        Edit::Rename {
            sample: NodePath(vec![7]),
            id: "new".into(),
        },
        Edit::RenameBy {
            level: 0,
            under: None,
            find: "r1".into(),
            replace: "q1".into(),
            regex: false,
        },
        Edit::Reorder {
            parent: NodePath::root(),
            order: (0..50).rev().collect(),
        },
    ];
    edits
        .into_iter()
        .for_each(|edit| drop(draft.apply(edit).expect("applies")));
    for (index, sample) in draft.dataset().root.samples.iter().enumerate() {
        assert!(
            Arc::ptr_eq(
                sample.children().expect("is a FOLDER"),
                before.root.samples[49 - index]
                    .children()
                    .expect("is a FOLDER")
            ),
            "{}",
            sample.id
        );
    }
}
