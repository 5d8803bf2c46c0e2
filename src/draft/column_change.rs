//! Changes of one field on a whole level: PIT-2 requires one schema per level (TACO 2.0, section
//! 5.4), so a field is added, removed, renamed, cast, filled or split in all tortillas at once.

use std::sync::Arc;

use arrow::datatypes::DataType;

use super::align_schema::cast;
use super::arrange::{full_row, map_level};
use super::edit::{ColumnChange, Edit};
use crate::error::{Error, Result};
use crate::model::{Dataset, FieldSpec, NodePath, Sample, Schema, Tortilla, Value, dtype_name};
use crate::table::{infer_type, value_text};

impl ColumnChange {
    /// Description for menus and the history.
    pub fn label(&self) -> String {
        match self {
            ColumnChange::Add { field, .. } => tr!("Add field {name}", name = field.name),
            ColumnChange::Remove { name } => tr!("Remove field {name}", name),
            ColumnChange::Rename { name, to } => tr!("Rename field {name} to {to}", name, to),
            ColumnChange::Describe { name, .. } => tr!("Describe field {name}", name),
            ColumnChange::Cast { name, dtype, .. } => tr!("Cast {name} to {dtype}", name, dtype),
            ColumnChange::Fill { name, .. } => tr!("Fill {name}", name),
            ColumnChange::Split { name, .. } => tr!("Split {name}", name),
        }
    }

    fn name(&self) -> &str {
        match self {
            ColumnChange::Add { field, .. } => &field.name,
            ColumnChange::Remove { name }
            | ColumnChange::Rename { name, .. }
            | ColumnChange::Describe { name, .. }
            | ColumnChange::Cast { name, .. }
            | ColumnChange::Fill { name, .. }
            | ColumnChange::Split { name, .. } => name,
        }
    }
}

pub(super) fn change_column(
    dataset: &mut Dataset,
    level: usize,
    change: &ColumnChange,
) -> Result<Edit> {
    let target = match change {
        ColumnChange::Cast { dtype, .. } => {
            Some(dtype.parse::<DataType>().map_err(|error| {
                Error::usage(format!("there is no type {dtype}")).because(error)
            })?)
        }
        _ => None,
    };
    if let ColumnChange::Split { by, into, .. } = change
        && (by.is_empty() || into.is_empty())
    {
        return Err(Error::usage(
            "a field is split at a separator into at least one new field",
        ));
    }
    // Tortillas of a level usually have equal schemas, either shared or (after an import) one copy
    // each; the changed schema is shared.
    let mut schemas: Vec<(Schema, Schema)> = Vec::new();
    let root = map_level(
        &dataset.root,
        level,
        0,
        &mut Vec::new(),
        &mut |tortilla, _| {
            let Some(plan) = plan(tortilla, change, target.as_ref())? else {
                return Ok(None);
            };
            let same = |before: &Schema| {
                Arc::ptr_eq(before, &tortilla.schema) || *before == tortilla.schema
            };
            let schema = match schemas.iter().find(|(before, _)| same(before)) {
                Some((_, after)) => after.clone(),
                None => {
                    schemas.push((tortilla.schema.clone(), plan.schema.clone()));
                    plan.schema.clone()
                }
            };
            let mut samples = Vec::with_capacity(tortilla.samples.len());
            for sample in &tortilla.samples {
                let values = plan.row(sample, tortilla)?;
                samples.push(Sample {
                    id: sample.id.clone(),
                    payload: sample.payload.clone(),
                    values,
                });
            }
            Ok(Some(Tortilla { schema, samples }))
        },
    )?;
    match root {
        Some(root) => Ok(Edit::ReplaceTortilla {
            tortilla: NodePath::root(),
            with: std::mem::replace(&mut dataset.root, root),
        }),
        None if matches!(change, ColumnChange::Add { .. }) => Err(Error::usage(format!(
            "there is a field {} on level {level} already",
            change.name()
        ))),
        None => Err(Error::usage(format!(
            "nothing to change: is there a field {} on level {level}?",
            change.name()
        ))),
    }
}

/// The change of the rows of one tortilla.
struct RowChange<'a> {
    change: &'a ColumnChange,
    schema: Schema,
    /// Index of the field before the change.
    index: usize,
    target: Option<&'a DataType>,
    fill: Value,
}

fn plan<'a>(
    tortilla: &Tortilla,
    change: &'a ColumnChange,
    target: Option<&'a DataType>,
) -> Result<Option<RowChange<'a>>> {
    let found = tortilla.field(change.name());
    let mut fields = tortilla.schema.to_vec();
    let mut fill = Value::Null;
    let index = match (change, found) {
        (ColumnChange::Add { .. }, Some(_)) => return Ok(None),
        (ColumnChange::Add { field, at, value }, None) => {
            fill = fitting(value, field)?;
            let place = at.unwrap_or(fields.len()).min(fields.len());
            fields.insert(place, field.clone());
            place
        }
        (_, None) => return Ok(None),
        (_, Some(index)) => index,
    };
    match change {
        ColumnChange::Add { .. } => {}
        ColumnChange::Remove { .. } => drop(fields.remove(index)),
        ColumnChange::Rename { to, .. } => {
            expect_unused_field_name(tortilla, to)?;
            fields[index].name = to.clone();
        }
        ColumnChange::Describe { description, .. } => {
            fields[index].description = description.clone()
        }
        ColumnChange::Cast { .. } => {
            let target = target.ok_or_else(|| Error::internal("a cast has no type"))?;
            if fields[index].dtype == *target {
                return Ok(None);
            }
            fields[index].dtype = target.clone();
        }
        ColumnChange::Fill { value, .. } => fill = fitting(value, &fields[index])?,
        ColumnChange::Split { into, keep, .. } => {
            for (at, name) in into.iter().enumerate() {
                if into[..at].contains(name) {
                    return Err(Error::usage(format!(
                        "two of the new fields are called {name}"
                    )));
                }
                if *keep || name != change.name() {
                    expect_unused_field_name(tortilla, name)?;
                }
            }
            let start = index + usize::from(*keep);
            let parts = into.iter().map(|name| FieldSpec::new(name, DataType::Utf8));
            fields.splice(start..index + 1, parts);
        }
    }
    Ok(Some(RowChange {
        change,
        schema: fields.into(),
        index,
        target,
        fill,
    }))
}

fn expect_unused_field_name(tortilla: &Tortilla, name: &str) -> Result<()> {
    match tortilla.field(name) {
        Some(_) => Err(Error::usage(format!("there is a field {name} already"))),
        None => Ok(()),
    }
}

/// The value converted to the field's type.
fn fitting(value: &Value, field: &FieldSpec) -> Result<Value> {
    cast(value, &infer_type(value), &field.dtype)
        .or_else(|| (infer_type(value) == field.dtype).then(|| value.clone()))
        .ok_or_else(|| {
            Error::usage(format!(
                "the value does not fit {}, which is {}",
                field.name,
                dtype_name(&field.dtype)
            ))
        })
}

impl RowChange<'_> {
    fn row(&self, sample: &Sample, tortilla: &Tortilla) -> Result<Arc<[Value]>> {
        if matches!(
            self.change,
            ColumnChange::Rename { .. } | ColumnChange::Describe { .. }
        ) {
            return Ok(sample.values.clone());
        }
        let mut row = full_row(sample, tortilla.schema.len());
        match self.change {
            ColumnChange::Add { .. } => row.insert(self.index, self.fill.clone()),
            ColumnChange::Remove { .. } => drop(row.remove(self.index)),
            ColumnChange::Cast { name, lossy, .. } => {
                let (from, to) = (
                    &tortilla.schema[self.index].dtype,
                    self.target.unwrap_or(&DataType::Null),
                );
                row[self.index] = match cast(&row[self.index], from, to) {
                    Some(value) => value,
                    None if *lossy => Value::Null,
                    None => {
                        let text = value_text(&row[self.index], from);
                        let error = Error::usage(format!(
                            "{text} of {} is no {}",
                            sample.id,
                            dtype_name(to)
                        ))
                        .at_place(name);
                        return Err(error
                            .hint("let values that do not fit become null, or change them first"));
                    }
                };
            }
            ColumnChange::Fill { all, .. } => {
                // Padding has no values (TACO 2.0, section 5.4).
                if (*all || row[self.index].is_null()) && !sample.is_padding() {
                    row[self.index] = self.fill.clone();
                }
            }
            ColumnChange::Split { by, into, keep, .. } => {
                let text = match &row[self.index] {
                    Value::Null => None,
                    value => Some(value_text(value, &tortilla.schema[self.index].dtype)),
                };
                let mut parts = text
                    .as_deref()
                    .map(|text| text.splitn(into.len(), by.as_str()))
                    .into_iter()
                    .flatten();
                let parts: Vec<Value> = into
                    .iter()
                    .map(|_| parts.next().map_or(Value::Null, Value::text))
                    .collect();
                row.splice(self.index + usize::from(*keep)..self.index + 1, parts);
            }
            ColumnChange::Rename { .. } | ColumnChange::Describe { .. } => {}
        }
        Ok(row.into())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::Payload;

    fn dataset() -> Dataset {
        let schema: Schema = vec![
            FieldSpec::new("name", DataType::Utf8),
            FieldSpec::new("cloud", DataType::Float64),
        ]
        .into();
        let file = |id: &str, values: Vec<Value>| Sample {
            values: values.into(),
            ..Sample::new_file(id, "/x", 1)
        };
        let scene = |id: &str, cloud: Value| {
            let samples = vec![
                file("a", vec![Value::text("r-1-x-y"), cloud]),
                file("b", vec![]),
            ];
            Sample::new_folder(
                id,
                Tortilla {
                    schema: schema.clone(),
                    samples,
                },
            )
        };
        let roots = vec![
            scene("one", Value::Float(2.0)),
            scene("two", Value::Float(2.5)),
        ];
        Dataset {
            root: Tortilla::new(roots).into(),
            ..Dataset::default()
        }
    }

    /// Field names of level 1 and values of its first sample after a change; also checks that undo
    /// restores the former state.
    fn changed(change: ColumnChange) -> (Vec<String>, Vec<Value>) {
        let mut dataset = dataset();
        let before = dataset.clone();
        let edit = Edit::Column { level: 1, change };
        let text = serde_json::to_string(&edit).expect("writes");
        assert_eq!(
            serde_json::from_str::<Edit>(&text).expect("reads"),
            edit,
            "{text}"
        );
        let inverse = edit.apply(&mut dataset).expect("applies");
        let [first, second] = [0, 1].map(|root: usize| {
            dataset.root.samples[root]
                .children()
                .expect("is a FOLDER")
                .clone()
        });
        assert!(
            Arc::ptr_eq(&first.schema, &second.schema),
            "one schema for the level"
        );
        inverse.apply(&mut dataset).expect("undoes");
        assert_eq!(dataset, before);
        (
            first
                .schema
                .iter()
                .map(|field| field.name.clone())
                .collect(),
            first.samples[0].values.to_vec(),
        )
    }

    #[test]
    fn a_field_changes_in_every_tortilla_of_the_level() {
        let (one, cloud) = (Value::text("r-1-x-y"), Value::Float(2.0));
        let add = ColumnChange::Add {
            field: FieldSpec::new("n", DataType::Float64),
            at: Some(0),
            value: Value::Int(3),
        };
        assert_eq!(
            changed(add).1,
            [Value::Float(3.0), one.clone(), cloud.clone()]
        );
        assert_eq!(
            changed(ColumnChange::Remove {
                name: "name".into()
            })
            .1,
            std::slice::from_ref(&cloud)
        );
        let renamed = changed(ColumnChange::Rename {
            name: "cloud".into(),
            to: "cover".into(),
        });
        assert_eq!(
            renamed,
            (
                vec!["name".into(), "cover".into()],
                vec![one.clone(), cloud]
            )
        );
        let lossy = ColumnChange::Cast {
            name: "cloud".into(),
            dtype: "Int64".into(),
            lossy: true,
        };
        assert_eq!(changed(lossy).1, [one, Value::Int(2)]);
        let into = ["roi", "row", "rest"].map(str::to_owned).to_vec();
        let split = changed(ColumnChange::Split {
            name: "name".into(),
            by: "-".into(),
            into,
            keep: false,
        });
        assert_eq!(split.0, ["roi", "row", "rest", "cloud"]);
        assert_eq!(
            split.1[..3],
            [Value::text("r"), Value::text("1"), Value::text("x-y")]
        );
        let mut filled = dataset();
        let fill = ColumnChange::Fill {
            name: "cloud".into(),
            value: Value::Int(9),
            all: false,
        };
        Edit::Column {
            level: 1,
            change: fill,
        }
        .apply(&mut filled)
        .expect("fills");
        let below = filled.root.samples[1].children().expect("is a FOLDER");
        assert_eq!(
            [below.samples[0].value(1), below.samples[1].value(1)],
            [&Value::Float(2.5), &Value::Float(9.0)]
        );
    }

    #[test]
    fn equal_schemas_become_one() {
        let mut dataset = dataset();
        for sample in &mut Arc::make_mut(&mut dataset.root).samples {
            let Payload::Folder(below) = &mut sample.payload else {
                panic!("is a FOLDER")
            };
            let below = Arc::make_mut(below);
            below.schema = below.schema.to_vec().into();
        }
        let schema = |dataset: &Dataset, root: usize| {
            dataset.root.samples[root]
                .children()
                .expect("is a FOLDER")
                .schema
                .clone()
        };
        assert!(
            !Arc::ptr_eq(&schema(&dataset, 0), &schema(&dataset, 1)),
            "each has its own"
        );
        let change = ColumnChange::Rename {
            name: "cloud".into(),
            to: "cover".into(),
        };
        Edit::Column { level: 1, change }
            .apply(&mut dataset)
            .expect("applies");
        assert!(
            Arc::ptr_eq(&schema(&dataset, 0), &schema(&dataset, 1)),
            "one for both"
        );
        assert_eq!(schema(&dataset, 1)[1].name, "cover");
    }

    #[test]
    fn changes_that_lose_a_value_are_refused() {
        let refused = [
            ColumnChange::Cast {
                name: "cloud".into(),
                dtype: "Int64".into(),
                lossy: false,
            },
            ColumnChange::Cast {
                name: "cloud".into(),
                dtype: "Nonsense".into(),
                lossy: false,
            },
            ColumnChange::Rename {
                name: "cloud".into(),
                to: "name".into(),
            },
            ColumnChange::Add {
                field: FieldSpec::new("cloud", DataType::Float64),
                at: None,
                value: Value::Null,
            },
            ColumnChange::Add {
                field: FieldSpec::new("n", DataType::Int64),
                at: None,
                value: Value::text("x"),
            },
            ColumnChange::Remove {
                name: "none".into(),
            },
            ColumnChange::Split {
                name: "name".into(),
                by: "-".into(),
                into: vec!["cloud".into()],
                keep: false,
            },
        ];
        for change in refused {
            let mut untouched = dataset();
            assert!(
                Edit::Column {
                    level: 1,
                    change: change.clone()
                }
                .apply(&mut untouched)
                .is_err(),
                "{change:?}"
            );
            assert_eq!(untouched, dataset());
        }
    }
}
