//! Checks the fields of samples that a convention names ([`Convention`]): their types and values,
//! and the classes and the task of the collection that they refer to.

use std::collections::BTreeSet;

use serde_json::Value as Json;

use crate::container::ContainerReader;
use crate::error::Result;
use crate::jobs::JobContext;
use crate::model::{
    Collection, Convention, ConventionContent, ConventionField, Dataset, FieldSpec, Location,
    Report, Rule, Sample, Skeleton, Tortilla, Value, dtype_name,
};

/// Tolerance of sums of shares, which may be stored as `float`.
const ROUNDING: f64 = 1e-4;

/// Checks the columns and the collection of a draft. Values are checked in written datasets alone.
pub fn check_draft(dataset: &Dataset, report: &mut Report) {
    let mut kinds = BTreeSet::new();
    let mut tortilla: Option<&Tortilla> = Some(&dataset.root);
    let mut level = 0;
    while let Some(here) = tortilla {
        check_types(level, here.schema.iter(), &mut kinds, report);
        tortilla = here
            .samples
            .iter()
            .find_map(Sample::children)
            .map(AsRef::as_ref);
        level += 1;
    }
    check_collection(&kinds, &dataset.collection, report);
}

/// Checks the columns with their values, and the collection, of a written dataset of any
/// generation.
///
/// # Errors
/// When a level table cannot be read, or the job is cancelled.
pub fn check(
    reader: &dyn ContainerReader,
    tree: &Skeleton,
    report: &mut Report,
    ctx: &JobContext,
) -> Result<()> {
    let mut kinds = BTreeSet::new();
    for level in 0..tree.levels.len() {
        ctx.check()?;
        let fields = reader.levels().fields(level);
        for field in check_types(level, fields.iter(), &mut kinds, report) {
            check_values(reader, tree, level, field, report, ctx)?;
        }
    }
    // A TORTILLA has no collection.
    if !reader.collection().fields.is_empty() {
        check_collection(&kinds, reader.collection(), report);
    }
    Ok(())
}

/// Adds the kinds of conventions that the columns belong to. Returns the fields whose columns have
/// the type of the convention.
fn check_types<'a>(
    level: usize,
    columns: impl Iterator<Item = &'a FieldSpec>,
    kinds: &mut BTreeSet<&'static str>,
    report: &mut Report,
) -> Vec<&'static ConventionField> {
    let mut sound = Vec::new();
    for column in columns {
        let Some((convention, field)) = Convention::of_column(&column.name) else {
            continue;
        };
        kinds.insert(convention.kind);
        if field.holds_type(&column.dtype) {
            sound.push(field);
            continue;
        }
        let message = tr!(
            "{name} is {found}; the convention {kind} has {wanted}.",
            name = column.name,
            found = dtype_name(&column.dtype),
            kind = convention.kind,
            wanted = dtype_name(&field.spec().dtype)
        );
        report.add(
            Rule::ConventionValues,
            Location::Column {
                level,
                name: column.name.clone(),
            },
            message,
        );
    }
    sound
}

/// A finding at the first value that the convention does not allow, with the number of the others.
fn check_values(
    reader: &dyn ContainerReader,
    tree: &Skeleton,
    level: usize,
    field: &ConventionField,
    report: &mut Report,
    ctx: &JobContext,
) -> Result<()> {
    let Some((convention, _)) = Convention::of_column(field.name) else {
        return Ok(());
    };
    let table = reader.levels().columns(level, &[field.name], ctx)?;
    let Some(column) = table.column_index(field.name) else {
        return Ok(());
    };
    let (mut first, mut others) = (None, 0usize);
    for row in 0..table.rows() {
        if row % 4096 == 0 {
            ctx.check()?;
        }
        let Some(fault) = fault_of_value(&table.value(row, column), field.content, convention)
        else {
            continue;
        };
        match first {
            None => first = Some((row, fault)),
            Some(_) => others += 1,
        }
    }
    let Some((row, fault)) = first else {
        return Ok(());
    };
    let mut message = tr!("{name}: {fault}.", name = field.name, fault);
    if others > 0 {
        message.push(' ');
        message.push_str(&tr_n!(
            others,
            "The same applies to {n} more sample.",
            "The same applies to {n} more samples.",
            n = others
        ));
    }
    let at = Location::Sample {
        level,
        row: row as u32,
        path: tree.path(level, row as u32),
    };
    report.add(Rule::ConventionValues, at, message);
    Ok(())
}

/// What is wrong with a value; `None` for null and for values that the convention allows.
fn fault_of_value(
    value: &Value,
    content: ConventionContent,
    convention: &Convention,
) -> Option<String> {
    match (content, value) {
        // Values of dictionaries are not looked at.
        (_, Value::Null | Value::Other(_)) => None,
        (ConventionContent::ClassShare(_), value) => read_share(value)
            .is_none()
            .then(|| tr!("the share is not a number from 0 to 1").to_owned()),
        (ConventionContent::AllShares, Value::List(shares))
            if shares.len() != convention.classes.len() =>
        {
            let (found, wanted) = (shares.len(), convention.classes.len());
            Some(tr!(
                "there are {found} shares for {wanted} classes",
                found,
                wanted
            ))
        }
        (ConventionContent::AllShares, Value::List(shares)) => {
            match shares.iter().map(read_share).sum::<Option<f64>>() {
                None => Some(tr!("a share is not a number from 0 to 1").to_owned()),
                Some(sum) if (sum - 1.0).abs() > ROUNDING => {
                    Some(tr!("the sum of the shares is {sum}, and not 1", sum))
                }
                Some(_) => None,
            }
        }
        (ConventionContent::LargestClass, Value::Text(name))
            if convention.classes.iter().any(|class| *class.name == **name) =>
        {
            None
        }
        (ConventionContent::AllShares | ConventionContent::LargestClass, _) => Some(tr!(
            "the value is none of the convention {kind}",
            kind = convention.kind
        )),
    }
}

fn read_share(value: &Value) -> Option<f64> {
    match value {
        Value::Float(share) if (0.0..=1.0).contains(share) => Some(*share),
        _ => None,
    }
}

/// Findings for conventions whose classes or task the collection lacks. Classes may have other
/// values than those of the convention.
fn check_collection(kinds: &BTreeSet<&'static str>, collection: &Collection, report: &mut Report) {
    let nested = collection
        .get("labels")
        .and_then(|labels| labels.get("label_classes"));
    let lists = [
        collection.get("labels:classes"),
        nested,
        collection.get("label_classes"),
    ];
    let names: BTreeSet<&str> = lists
        .into_iter()
        .flatten()
        .filter_map(Json::as_array)
        .flatten()
        .filter_map(|class| class.get("name").and_then(Json::as_str))
        .collect();
    for kind in kinds {
        let Some(convention) = crate::model::CONVENTIONS
            .iter()
            .find(|convention| convention.kind == *kind)
        else {
            continue;
        };
        let lacking: Vec<&str> = convention
            .classes
            .iter()
            .map(|class| class.name)
            .filter(|name| !names.contains(name))
            .collect();
        if !lacking.is_empty() {
            let message = tr!(
                "Samples have fields of the convention {kind}, and the labels lack its classes \
                    {classes}.",
                kind,
                classes = lacking.join(", ")
            );
            report.add(
                Rule::ConventionClasses,
                Location::Collection("labels:classes".into()),
                message,
            );
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use arrow::datatypes::DataType;
    use serde_json::json;

    use super::*;
    use crate::model::CONVENTIONS;

    fn findings(dataset: &Dataset) -> Vec<(Rule, String)> {
        let mut report = Report::default();
        check_draft(dataset, &mut report);
        report
            .findings
            .into_iter()
            .map(|finding| (finding.rule, finding.at.to_string()))
            .collect()
    }

    #[test]
    fn columns_of_a_convention_need_its_types_and_its_classes() {
        let mask = |dtype: DataType| {
            let schema = Arc::from([FieldSpec::new("flood:water_share", dtype)]);
            let masks = Tortilla {
                schema,
                samples: vec![Sample::new_file("mask.tif", "/mask.tif", 1)],
            };
            Dataset {
                root: Tortilla::new(vec![Sample::new_folder("a", masks)]).into(),
                ..Dataset::default()
            }
        };
        let classes = (
            Rule::ConventionClasses,
            "COLLECTION.json labels:classes".to_owned(),
        );
        let mut dataset = mask(DataType::Float64);
        assert_eq!(findings(&dataset), std::slice::from_ref(&classes));
        dataset.collection.set(
            "labels:classes",
            Some(
                json!([{ "name": "land", "category": "4" }, { "name": "water", "category": "9" }]),
            ),
        );
        assert_eq!(
            findings(&dataset),
            [],
            "other values of the classes are the dataset's own"
        );
        let found = findings(&mask(DataType::Utf8));
        assert_eq!(
            found,
            [
                (
                    Rule::ConventionValues,
                    "level1 flood:water_share".to_owned()
                ),
                classes
            ]
        );
        assert_eq!(findings(&Dataset::default()), []);
    }

    #[test]
    fn values_are_shares_and_names_of_classes() {
        let of = |kind: &str| {
            CONVENTIONS
                .iter()
                .find(|convention| convention.kind == kind)
                .expect("is known")
        };
        let (flood, cover) = (of("flood"), of("land-cover"));
        let list = |shares: &[f64]| Value::List(shares.iter().copied().map(Value::Float).collect());
        let sound = [
            (Value::Null, ConventionContent::ClassShare(1), flood),
            (Value::Float(0.0), ConventionContent::ClassShare(1), flood),
            (Value::Float(1.0), ConventionContent::ClassShare(1), flood),
            (
                list(&[0.1, 0.2, 0.3, 0.2, 0.1, 0.1]),
                ConventionContent::AllShares,
                cover,
            ),
            (
                Value::text("wetlands"),
                ConventionContent::LargestClass,
                cover,
            ),
        ];
        for (value, content, convention) in sound {
            assert_eq!(
                fault_of_value(&value, content, convention),
                None,
                "{value:?}"
            );
        }
        let faulty = [
            (Value::Float(1.5), ConventionContent::ClassShare(1), flood),
            (
                Value::Float(f64::NAN),
                ConventionContent::ClassShare(1),
                flood,
            ),
            (list(&[0.5, 0.5]), ConventionContent::AllShares, cover),
            (
                list(&[0.5, 0.5, 0.5, 0.0, 0.0, 0.0]),
                ConventionContent::AllShares,
                cover,
            ),
            (
                Value::text("forest"),
                ConventionContent::LargestClass,
                cover,
            ),
        ];
        for (value, content, convention) in faulty {
            assert!(
                fault_of_value(&value, content, convention).is_some(),
                "{value:?}"
            );
        }
    }
}
