//! Splits a condition into parts that each have their columns on one level, so that a condition on
//! samples may name columns of their parents.

use std::ops::ControlFlow;

use sqlparser::ast::{BinaryOperator, Expr};

use super::source_span::StatementSource;
use super::statement_parser;
use super::syntax_walk::visit_expressions;
use crate::error::{Error, Result};
use crate::model::FieldSpec;
use crate::text::PrintableLine;

fn has_field(fields: Option<&Vec<FieldSpec>>, name: &str) -> bool {
    fields
        .into_iter()
        .flatten()
        .any(|field| field.name.eq_ignore_ascii_case(name))
}

/// The parts of a condition that are joined by AND, each with its level: the deepest of `fields`
/// that has all of its columns. Parts of one level are one condition. Columns that no level has are
/// left to the deepest level, whose query names them.
///
/// # Errors
/// [`crate::error::Kind::Usage`] for invalid syntax, and for a part with columns of several levels.
pub fn conditions_by_level(
    condition: &str,
    fields: &[Vec<FieldSpec>],
) -> Result<Vec<(usize, String)>> {
    let last = fields.len().saturating_sub(1);
    let has = |level: usize, name: &str| has_field(fields.get(level), name);
    let source = StatementSource::alone(condition);
    let tokens = statement_parser::tokens(&source)?;
    let tree = statement_parser::condition(&source, &tokens, &|name| {
        (0..=last).any(|level| has(level, name))
    })?;
    let mut parts: Vec<(usize, String)> = Vec::new();
    let mut rest = vec![&tree];
    while let Some(part) = rest.pop() {
        match part {
            Expr::BinaryOp {
                left,
                op: BinaryOperator::And,
                right,
            } => rest.extend([right.as_ref(), left.as_ref()]),
            Expr::Nested(inner)
                if matches!(
                    **inner,
                    Expr::BinaryOp {
                        op: BinaryOperator::And,
                        ..
                    }
                ) =>
            {
                rest.push(inner)
            }
            part => {
                let names = known_columns(part, &|name| (0..=last).any(|level| has(level, name)));
                let Some(level) = (0..=last)
                    .rev()
                    .find(|level| names.iter().all(|name| has(*level, name)))
                else {
                    let summary = format!(
                        "a part of the condition has columns of several levels: {}",
                        part.to_string().printable_line()
                    );
                    return Err(Error::usage(summary)
                        .hint("join conditions on columns of different levels by AND, not by OR"));
                };
                match parts.iter_mut().find(|(known, _)| *known == level) {
                    Some((_, text)) => *text = format!("{text} AND ({part})"),
                    None => parts.push((level, format!("({part})"))),
                }
            }
        }
    }
    // As it was written, so that errors name what was written.
    Ok(match parts.as_slice() {
        [(level, _)] => vec![(*level, condition.to_owned())],
        _ => parts,
    })
}

/// Names of columns in an expression; parameters of lambdas and other words are none.
fn known_columns(expr: &Expr, is_column: &dyn Fn(&str) -> bool) -> Vec<String> {
    let mut names = Vec::new();
    let _ = visit_expressions(expr, |part| {
        if let Expr::Identifier(ident) = part
            && is_column(&ident.value)
        {
            names.push(ident.value.clone());
        }
        ControlFlow::<()>::Continue(())
    });
    names
}

#[cfg(test)]
mod tests {
    use arrow::datatypes::DataType;

    use super::*;

    #[test]
    fn parts_of_a_condition_go_to_the_deepest_level_with_their_columns() {
        let level = |names: &[&str]| {
            names
                .iter()
                .map(|name| FieldSpec::new(*name, DataType::Utf8))
                .collect::<Vec<_>>()
        };
        let fields = [level(&["id", "split", "Cloud"]), level(&["id", "band"])];
        let of = |condition: &str| conditions_by_level(condition, &fields).expect("splits");
        let one = |level: usize, condition: &str| vec![(level, condition.to_owned())];
        assert_eq!(
            of("id = 'a' AND band > '1'"),
            one(1, "id = 'a' AND band > '1'")
        );
        assert_eq!(
            of("split = 'train' and cloud < '2'"),
            one(0, "split = 'train' and cloud < '2'")
        );
        assert_eq!(
            of("split = 'train' OR cloud < '2'"),
            one(0, "split = 'train' OR cloud < '2'")
        );
        let both = [
            (0, "(split = 'train') AND (cloud < 2)".to_owned()),
            (1, "(id LIKE 'a%' OR band = '1')".to_owned()),
        ];
        assert_eq!(
            of("split = 'train' AND ((id LIKE 'a%' OR band = '1') AND cloud < 2)").as_slice(),
            {
                let mut both = both.to_vec();
                both[1].1 = format!("({})", both[1].1);
                both
            }
        );
        assert_eq!(of("nothing = 1"), one(1, "nothing = 1"));
        let error = conditions_by_level("split = 'train' OR band = '1'", &fields)
            .expect_err("mixes levels")
            .report();
        assert!(
            error.contains("several levels") && error.contains("AND"),
            "{error}"
        );
        assert!(conditions_by_level("id = ", &fields).is_err());
    }
}
