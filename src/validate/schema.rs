//! Checks PIT-2 in drafts: one schema per level.

use arrow::datatypes::DataType;

use super::columns::column_location;
use super::pit::sample_location;
use crate::model::{
    Dataset, Report, Rule, Skeleton, Tortilla, check_field_name, dtype_name, list_tortillas_below,
};

/// Compares the schemas of all tortillas of a level with the most frequent one.
pub fn check_draft(dataset: &Dataset, tree: &Skeleton, report: &mut Report) {
    let mut tortillas: Vec<&Tortilla> = vec![&dataset.root];
    for depth in 0..tree.levels.len() {
        let owners: Vec<u32> = match depth.checked_sub(1) {
            Some(above) => tree.levels[above].list_folders().collect(),
            None => Vec::new(),
        };
        check_level(depth, &tortillas, &owners, tree, report);
        tortillas = list_tortillas_below(&tortillas);
    }
}

fn check_level(
    depth: usize,
    tortillas: &[&Tortilla],
    owners: &[u32],
    tree: &Skeleton,
    report: &mut Report,
) {
    let Some(model) = tortillas.first() else {
        return;
    };
    for field in model.schema.iter() {
        if let Err(fault) = check_field_name(&field.name) {
            let at = column_location(depth, &field.name);
            let message = tr!(
                "The field name \"{name}\" {fault}.",
                name = field.name,
                fault = fault.localized_text()
            );
            report.add(Rule::FieldName, at, message);
        }
    }
    for (tortilla, &owner) in tortillas.iter().zip(owners).skip(1) {
        if std::sync::Arc::ptr_eq(&tortilla.schema, &model.schema)
            || tortilla.schema == model.schema
        {
            continue;
        }
        let at = || sample_location(tree, depth - 1, owner);
        for field in tortilla.schema.iter() {
            match model.schema.iter().find(|known| known.name == field.name) {
                Some(known)
                    if known.dtype != field.dtype
                        && known.dtype != DataType::Null
                        && field.dtype != DataType::Null =>
                {
                    let message = tr!(
                        "{field} is {here} here and {there} in the first tortilla of level \
                            {level}. Cast one of them.",
                        field = field.name,
                        here = dtype_name(&field.dtype),
                        there = dtype_name(&known.dtype),
                        level = depth
                    );
                    report.add(Rule::PitSchemaUniform, at(), message);
                }
                Some(_) => {}
                None => {
                    let message = tr!(
                        "{field} is only in some tortillas of level {level}. Add it to all, or \
                            remove it.",
                        field = field.name,
                        level = depth
                    );
                    report.add(Rule::PitSchemaUniform, at(), message);
                }
            }
        }
        for known in model
            .schema
            .iter()
            .filter(|known| tortilla.field(&known.name).is_none())
        {
            let message = tr!(
                "{field} is missing here. Add it with nulls.",
                field = known.name
            );
            report.add(Rule::PitSchemaUniform, at(), message);
        }
    }
}
