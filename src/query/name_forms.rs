//! Ids in conditions match in every Unicode form: file systems and programs write `ñ` as one
//! character (NFC) or as `n` and a tilde (NFD), and what a user types need not have the form of the
//! file's name. Other texts are data and are compared as DuckDB does.

use std::convert::Infallible;
use std::ops::ControlFlow;

use sqlparser::ast::{BinaryOperator, Expr, Value, ValueWithSpan, VisitMut, VisitorMut};

use super::syntax_walk::walk_tree_mut;
use crate::model::forms_of_name;

/// Columns of names, in lower case.
const NAMES: [&str; 4] = ["id", "path", "internal:relative_path", "tortilla:id"];

/// Rewrites comparisons of ids with texts that have several forms: `id = 'ñ'` becomes `id IN (…)`
/// with both forms.
pub(super) fn match_every_form(tree: &mut impl VisitMut) {
    let ControlFlow::Continue(()) = walk_tree_mut(tree, &mut NameForms);
}

struct NameForms;

impl VisitorMut for NameForms {
    type Break = Infallible;

    fn post_visit_expr(&mut self, expr: &mut Expr) -> ControlFlow<Infallible> {
        let rewritten = match expr {
            Expr::BinaryOp {
                left,
                op: op @ (BinaryOperator::Eq | BinaryOperator::NotEq),
                right,
            } => {
                let (name, text) = if is_name(left) {
                    (left, right)
                } else {
                    (right, left)
                };
                let negated = *op == BinaryOperator::NotEq;
                forms(text).filter(|_| is_name(name)).map(|list| {
                    Expr::Nested(Box::new(Expr::InList {
                        expr: name.clone(),
                        list,
                        negated,
                    }))
                })
            }
            Expr::InList { expr, list, .. } if is_name(expr) => {
                *list = list
                    .iter()
                    .flat_map(|text| forms(text).unwrap_or_else(|| vec![text.clone()]))
                    .collect();
                None
            }
            Expr::Like {
                expr: name,
                pattern,
                negated,
                ..
            }
            | Expr::ILike {
                expr: name,
                pattern,
                negated,
                ..
            } if is_name(name) => {
                let op = if *negated {
                    BinaryOperator::And
                } else {
                    BinaryOperator::Or
                };
                forms(pattern).and_then(|patterns| every_pattern(expr, patterns, &op))
            }
            _ => None,
        };
        if let Some(rewritten) = rewritten {
            *expr = rewritten;
        }
        ControlFlow::Continue(())
    }
}

/// `like` with each of the patterns, joined by `op`.
fn every_pattern(like: &Expr, patterns: Vec<Expr>, op: &BinaryOperator) -> Option<Expr> {
    let joined = patterns
        .into_iter()
        .map(|form| with_pattern(like, form))
        .reduce(|left, right| Expr::BinaryOp {
            left: Box::new(left),
            op: op.clone(),
            right: Box::new(right),
        })?;
    Some(Expr::Nested(Box::new(joined)))
}

fn with_pattern(like: &Expr, form: Expr) -> Expr {
    let mut like = like.clone();
    if let Expr::Like { pattern, .. } | Expr::ILike { pattern, .. } = &mut like {
        **pattern = form;
    }
    like
}

fn is_name(expr: &Expr) -> bool {
    let ident = match expr {
        Expr::Identifier(ident) => Some(ident),
        Expr::CompoundIdentifier(parts) => parts.last(),
        Expr::Nested(inner) => return is_name(inner),
        _ => None,
    };
    let is_name = |column: &str| NAMES.iter().any(|name| column.eq_ignore_ascii_case(name));
    // Flat views have the level in front: `l1:id`.
    ident.is_some_and(|ident| {
        is_name(&ident.value)
            || ident
                .value
                .split_once(':')
                .is_some_and(|(_, column)| is_name(column))
    })
}

/// The forms of a text, when it has several.
fn forms(expr: &Expr) -> Option<Vec<Expr>> {
    let Expr::Value(ValueWithSpan {
        value: Value::SingleQuotedString(text),
        span,
    }) = expr
    else {
        return None;
    };
    let forms = forms_of_name(text);
    (forms.len() > 1).then(|| {
        forms
            .into_iter()
            .map(|form| Expr::Value(Value::SingleQuotedString(form).with_span(*span)))
            .collect()
    })
}

#[cfg(test)]
mod tests {
    use sqlparser::dialect::GenericDialect;
    use sqlparser::parser::Parser;

    use super::*;

    fn rewritten(condition: &str) -> String {
        let mut tree = Parser::new(&GenericDialect {})
            .try_with_sql(condition)
            .and_then(|mut p| p.parse_expr())
            .expect("parses");
        match_every_form(&mut tree);
        tree.to_string()
    }

    #[test]
    fn comparisons_of_ids_have_both_forms_and_others_stay() {
        let (nfc, nfd) = ("\u{f1}", "n\u{303}");
        for (condition, wanted) in [
            (
                format!("id = '{nfc}'"),
                format!("(id IN ('{nfc}', '{nfd}'))"),
            ),
            (
                format!("'{nfd}' <> l0.\"id\""),
                format!("(l0.\"id\" NOT IN ('{nfd}', '{nfc}'))"),
            ),
            (
                format!("id IN ('a', '{nfc}')"),
                format!("id IN ('a', '{nfc}', '{nfd}')"),
            ),
            (
                format!("ID NOT LIKE '{nfc}%'"),
                format!("(ID NOT LIKE '{nfc}%' AND ID NOT LIKE '{nfd}%')"),
            ),
            (
                format!("NOT id ILIKE '{nfd}%'"),
                format!("NOT (id ILIKE '{nfd}%' OR id ILIKE '{nfc}%')"),
            ),
            (format!("region = '{nfc}'"), format!("region = '{nfc}'")),
            ("id = 'n'".to_owned(), "id = 'n'".to_owned()),
        ] {
            assert_eq!(rewritten(&condition), wanted);
        }
    }
}
