//! Types of values that a statement states without its rows, where the engine computes with others:
//! decimal numbers, which are fractions to it, JSON and UUID, which are texts to it, and null.

use std::ops::ControlFlow;

use sqlparser::ast::{
    BinaryOperator, DataType as SqlType, ExactNumberInfo, Expr, Query, SelectItem, SetExpr,
    UnaryOperator,
};

use super::expressions::{is_null, name_of, strip_parentheses};
use super::operand_types::JSON_FUNCTIONS;
use super::written_values::{arguments_of, decimal_of, number_text, read_written_list};
use crate::query::decimal_widths::{DIGITS, DecimalWidth};
use crate::query::functions::has_wildcard;
use crate::query::syntax_walk::visit_expressions;
use crate::query::text_patterns::text_of;

/// Functions whose result has the type that holds all arguments.
const JOINING_FUNCTIONS: [&str; 8] = [
    "abs",
    "any_value",
    "coalesce",
    "first",
    "greatest",
    "ifnull",
    "least",
    "max",
];

/// Digits of a decimal number that a fraction of 64 bits keeps, and its point.
const DIGITS_OF_FRACTIONS: usize = 16;

/// An exact number.
#[derive(Clone, Copy)]
struct ExactType {
    width: DecimalWidth,
    /// False for integers, which have the width that they have beside a decimal number.
    is_decimal: bool,
}

impl ExactType {
    /// The type that holds the numbers of both.
    fn joined_with(self, other: Self) -> Self {
        Self {
            width: self.width.common_width(other.width),
            is_decimal: self.is_decimal || other.is_decimal,
        }
    }
}

/// The type of an expression of written decimal numbers, and of null; `None` of others.
pub(super) fn written_type(expr: &Expr) -> Option<String> {
    if is_null(expr) {
        return Some("\"NULL\"".to_owned());
    }
    type_of_column(expr)
}

/// The type of an expression that states it without its rows, where the engine has another one.
fn type_of_column(expr: &Expr) -> Option<String> {
    type_of_call(expr)
        .map(str::to_owned)
        .or_else(|| type_of_decimals(expr))
}

/// The type of casts to types that the engine lacks, and of calls with such results.
fn type_of_call(expr: &Expr) -> Option<&'static str> {
    match strip_parentheses(expr) {
        Expr::Cast { data_type, .. } => match data_type {
            SqlType::JSON | SqlType::JSONB => Some("JSON"),
            SqlType::HugeInt | SqlType::Int128 => Some("HUGEINT"),
            SqlType::Uuid => Some("UUID"),
            _ => None,
        },
        Expr::Case {
            conditions,
            else_result,
            ..
        } => {
            let results = conditions.iter().map(|when| &when.result);
            let mut known = results
                .chain(else_result.as_deref())
                .filter(|result| !is_null(result));
            let first = type_of_call(known.next()?)?;
            known
                .all(|result| type_of_call(result) == Some(first))
                .then_some(first)
        }
        // Of other values the arrow takes fields of structs.
        Expr::BinaryOp {
            left,
            op: BinaryOperator::Arrow,
            right,
        } if type_of_call(left) == Some("JSON") => Some(type_of_extracted(right)),
        Expr::Function(function) => {
            let name = name_of(function);
            match name.as_str() {
                "gen_random_uuid" | "uuid" | "uuidv4" | "uuidv7" => Some("UUID"),
                "count_if" | "countif" => Some("HUGEINT"),
                "regr_count" => Some("UINTEGER"),
                "st_asgeojson" => Some("JSON"),
                "cardinality" | "json_array_length" => Some("UBIGINT"),
                "json_extract" | "json_extract_path" => {
                    let arguments = arguments_of(function)?;
                    arguments.get(1).map(type_of_extracted)
                }
                name => JSON_FUNCTIONS.contains(&name).then_some("JSON"),
            }
        }
        _ => None,
    }
}

/// The type of what is at a path of JSON.
fn type_of_extracted(path: &Expr) -> &'static str {
    let has_several = read_written_list(path).is_some() || text_of(path).is_some_and(has_wildcard);
    if has_several { "JSON[]" } else { "JSON" }
}

/// The type of a written decimal number, or of a list of them; `None` of others.
fn type_of_decimals(expr: &Expr) -> Option<String> {
    match read_written_list(expr) {
        Some(elements) => {
            let item = join_types(elements.iter())?;
            item.is_decimal.then(|| format!("{}[]", item.width))
        }
        None => {
            let exact = exact_type(expr)?;
            exact.is_decimal.then(|| exact.width.to_string())
        }
    }
}

/// DuckDB's names of the column types of a query that follow from its expressions alone and that
/// the engine lacks; `None` for other columns. Empty where the columns are not a list of
/// expressions, as in `SELECT *`.
pub(in crate::query) fn written_column_types(query: &Query) -> Vec<Option<String>> {
    let SetExpr::Select(select) = query.body.as_ref() else {
        return Vec::new();
    };
    let mut types = Vec::with_capacity(select.projection.len());
    for item in &select.projection {
        types.push(match item {
            SelectItem::UnnamedExpr(expr) | SelectItem::ExprWithAlias { expr, .. } => {
                type_of_column(expr)
            }
            _ => return Vec::new(),
        });
    }
    types
}

/// The digits of the columns of a query that are decimal numbers by their expressions alone, and
/// fractions to the engine; `None` for other columns. Empty where the columns are not a list of
/// expressions, as in `SELECT *`.
pub(in crate::query) fn written_decimal_columns(query: &Query) -> Vec<Option<DecimalWidth>> {
    let mut widths = Vec::new();
    for exact in exact_columns(&query.body) {
        let width = exact.filter(|exact| exact.is_decimal);
        // A product can have more digits behind the point than a decimal number has.
        let width = width.map(|exact| exact.width);
        widths.push(width.filter(|width| width.scale <= width.width));
    }
    widths
}

fn exact_columns(body: &SetExpr) -> Vec<Option<ExactType>> {
    match body {
        SetExpr::Select(select) => {
            let mut types = Vec::with_capacity(select.projection.len());
            for item in &select.projection {
                types.push(match item {
                    SelectItem::UnnamedExpr(expr) | SelectItem::ExprWithAlias { expr, .. } => {
                        join_short_types(std::iter::once(expr))
                    }
                    _ => return Vec::new(),
                });
            }
            types
        }
        SetExpr::Query(query) => exact_columns(&query.body),
        SetExpr::Values(values) => {
            let width = values.rows.first().map_or(0, |row| row.content.len());
            let rows = values.rows.iter();
            (0..width)
                .map(|at| join_short_types(rows.clone().filter_map(|row| row.content.get(at))))
                .collect()
        }
        SetExpr::SetOperation { left, right, .. } => {
            let sides = exact_columns(left).into_iter().zip(exact_columns(right));
            sides
                .map(|(one, other)| Some(one?.joined_with(other?)))
                .collect()
        }
        _ => Vec::new(),
    }
}

/// The type that holds all of these values; `None` where one is written with more digits than a
/// fraction of 64 bits has.
fn join_short_types<'e>(mut values: impl Iterator<Item = &'e Expr> + Clone) -> Option<ExactType> {
    let joined = join_types(values.clone())?;
    let is_short = !joined.is_decimal || !values.any(has_long_number);
    is_short.then_some(joined)
}

/// The digits that all of these values have as decimal numbers; `None` where they are no such, or
/// where fractions do not keep them.
pub(super) fn written_decimal_width<'e>(
    values: impl Iterator<Item = &'e Expr> + Clone,
) -> Option<DecimalWidth> {
    let joined = join_short_types(values).filter(|joined| joined.is_decimal)?;
    Some(joined.width).filter(|width| width.scale <= width.width)
}

fn has_long_number(expr: &Expr) -> bool {
    let found = visit_expressions(expr, |part| match number_text(part) {
        Some(text) if text.len() > DIGITS_OF_FRACTIONS => ControlFlow::Break(()),
        _ => ControlFlow::Continue(()),
    });
    found.is_break()
}

fn exact_type(expr: &Expr) -> Option<ExactType> {
    let expr = strip_parentheses(expr);
    if let Some(text) = number_text(expr) {
        return type_of_number(text);
    }
    match expr {
        Expr::UnaryOp {
            op: UnaryOperator::Minus | UnaryOperator::Plus,
            expr,
        } => exact_type(expr),
        Expr::Cast { data_type, .. } => type_of_cast(data_type),
        Expr::BinaryOp { left, op, right } => {
            let (left, right) = (exact_type(left)?, exact_type(right)?);
            let width = match op {
                _ if !left.is_decimal && !right.is_decimal => left.width.common_width(right.width),
                BinaryOperator::Plus | BinaryOperator::Minus => left.width.of_sum(right.width),
                BinaryOperator::Multiply => left.width.of_product(right.width),
                BinaryOperator::Modulo => left.width.common_width(right.width),
                _ => return None,
            };
            let is_arithmetic = matches!(
                op,
                BinaryOperator::Plus
                    | BinaryOperator::Minus
                    | BinaryOperator::Multiply
                    | BinaryOperator::Modulo
            );
            is_arithmetic.then_some(ExactType {
                width,
                is_decimal: left.is_decimal || right.is_decimal,
            })
        }
        Expr::Case {
            conditions,
            else_result,
            ..
        } => {
            let results = conditions.iter().map(|when| &when.result);
            join_types(results.chain(else_result.as_deref()))
        }
        Expr::Ceil { expr, .. } | Expr::Floor { expr, .. } => cut_type(expr, 0),
        Expr::Function(function) if function.over.is_none() => {
            let arguments = arguments_of(function)?;
            let name = name_of(function);
            if name == "sum" {
                let [numbers] = arguments.as_slice() else {
                    return None;
                };
                let mut sum = exact_type(numbers)?;
                sum.width.width = DIGITS;
                return sum.is_decimal.then_some(sum);
            }
            match (name.as_str(), arguments.as_slice()) {
                ("ceil" | "ceiling" | "floor" | "round" | "trunc", [number]) => {
                    return cut_type(number, 0);
                }
                ("round", [number, digits]) => {
                    let (digits, places) = decimal_of(digits)?;
                    let digits = usize::try_from(digits).unwrap_or(0);
                    return if places == 0 {
                        cut_type(number, digits)
                    } else {
                        None
                    };
                }
                _ => {}
            }
            let is_joining = JOINING_FUNCTIONS.contains(&name.as_str()) || name == "min";
            is_joining.then(|| join_types(arguments.iter())).flatten()
        }
        _ => None,
    }
}

/// The type of a decimal number with so many digits behind the point at most; `None` of others.
fn cut_type(number: &Expr, digits: usize) -> Option<ExactType> {
    let mut cut = exact_type(number).filter(|exact| exact.is_decimal)?;
    cut.width.scale = cut.width.scale.min(digits);
    Some(cut)
}

/// The type that holds all of these values; nulls have any.
fn join_types<'e>(values: impl Iterator<Item = &'e Expr>) -> Option<ExactType> {
    let mut joined: Option<ExactType> = None;
    for value in values {
        if is_null(value) {
            continue;
        }
        let one = exact_type(value)?;
        joined = Some(joined.map_or(one, |before| before.joined_with(one)));
    }
    joined
}

fn type_of_number(text: &str) -> Option<ExactType> {
    let text = text.replace('_', "");
    let is_decimal = text.contains('.');
    let width = if is_decimal {
        DecimalWidth::of_written_number(&text)?
    } else if text.parse::<i32>().is_ok() {
        DecimalWidth::of_integers(10)
    } else {
        text.parse::<i64>().ok()?;
        DecimalWidth::of_integers(19)
    };
    Some(ExactType { width, is_decimal })
}

/// True for a decimal type with more digits than a decimal number has, with none, or with more
/// behind the point than in all.
pub(super) fn has_unknown_digits(data_type: &SqlType) -> bool {
    let is_decimal = matches!(
        data_type,
        SqlType::Decimal(_) | SqlType::Numeric(_) | SqlType::Dec(_)
    );
    is_decimal && type_of_cast(data_type).is_none()
}

fn type_of_cast(data_type: &SqlType) -> Option<ExactType> {
    let width = match data_type {
        SqlType::Decimal(info) | SqlType::Numeric(info) | SqlType::Dec(info) => {
            let (width, scale) = match info {
                ExactNumberInfo::None => (18, 3),
                ExactNumberInfo::Precision(width) => (usize::try_from(*width).ok()?, 0),
                ExactNumberInfo::PrecisionAndScale(width, scale) => {
                    (usize::try_from(*width).ok()?, usize::try_from(*scale).ok()?)
                }
            };
            let is_known = (1..=DIGITS).contains(&width) && scale <= width;
            return is_known.then_some(ExactType {
                width: DecimalWidth { width, scale },
                is_decimal: true,
            });
        }
        SqlType::TinyInt(_) | SqlType::UTinyInt => 3,
        SqlType::SmallInt(_) | SqlType::USmallInt => 5,
        SqlType::Int(_) | SqlType::Integer(_) => 10,
        SqlType::BigInt(_) => 19,
        SqlType::UBigInt => 20,
        _ => return None,
    };
    Some(ExactType {
        width: DecimalWidth::of_integers(width),
        is_decimal: false,
    })
}
