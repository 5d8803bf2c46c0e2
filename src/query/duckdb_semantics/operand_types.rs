//! Types of operands, as far as columns, constants and functions state them before the engine does.

use polars::prelude::DataType;
use sqlparser::ast::{
    BinaryOperator, DataType as SqlType, Expr, Function, FunctionArg, FunctionArgExpr,
    FunctionArguments, TimezoneInfo, Value,
};

use super::expressions::{expression, is_null, name_of, strip_parentheses};
use super::rewriting::ExpressionRewrite;
use super::written_values::{arguments_of, digits_of, is_integer, is_interval, is_text_type};
use crate::query::functions;
use crate::query::type_names::MADE_FIELDS;

impl ExpressionRewrite<'_, '_> {
    /// True for columns and calls that are maps.
    pub(super) fn is_map(&self, expr: &Expr) -> bool {
        match expr {
            Expr::Function(function) => {
                matches!(name_of(function).as_str(), "map_value" | "map_from_entries")
            }
            Expr::Nested(inner) => self.is_map(inner),
            other => {
                matches!(self.dtype_of(other), Some(DataType::List(item)) if is_map_entry(item))
            }
        }
    }

    /// True for columns and written values that are structs.
    pub(super) fn is_struct(&self, expr: &Expr) -> bool {
        match expr {
            Expr::Function(function) if name_of(function) == "array_get" => {
                first_argument(function).is_some_and(|lists| self.has_structs(lists))
            }
            Expr::Function(function) => name_of(function).starts_with("__struct"),
            Expr::Nested(inner) => self.is_struct(inner),
            other => matches!(self.dtype_of(other), Some(DataType::Struct(_))),
        }
    }

    /// True for columns and calls that are lists of structs.
    fn has_structs(&self, lists: &Expr) -> bool {
        match strip_parentheses(lists) {
            Expr::Function(function) => {
                matches!(name_of(function).as_str(), "list_zip" | "array_zip")
            }
            other => matches!(
                self.dtype_of(other),
                Some(DataType::List(item)) if matches!(**item, DataType::Struct(_))
            ),
        }
    }

    /// True for a parameter of a lambda, whose type is known with the rows.
    pub(super) fn is_parameter(&self, expr: &Expr) -> bool {
        match expr {
            Expr::Identifier(ident) => !self.0.schema.contains(&ident.value),
            Expr::Nested(inner) => self.is_parameter(inner),
            _ => false,
        }
    }

    /// True for columns and constants that are lists.
    pub(super) fn is_list(&self, expr: &Expr) -> bool {
        match expr {
            Expr::Array(_)
            | Expr::Cast {
                data_type: SqlType::Array(_),
                ..
            } => true,
            Expr::Function(function) => {
                LISTS.contains(&name_of(function).as_str()) || self.takes_list_of_paths(function)
            }
            Expr::Nested(inner) => self.is_list(inner),
            other => matches!(self.dtype_of(other), Some(DataType::List(_))),
        }
    }

    /// True for a function of JSON of a list of paths, whose result is a list.
    fn takes_list_of_paths(&self, function: &Function) -> bool {
        let FunctionArguments::List(arguments) = &function.args else {
            return false;
        };
        let Some(FunctionArg::Unnamed(FunctionArgExpr::Expr(paths))) = arguments.args.get(1) else {
            return false;
        };
        name_of(function).starts_with("json_extract") && self.is_list(paths)
    }

    pub(super) fn dtype_of(&self, expr: &Expr) -> Option<&DataType> {
        match expr {
            Expr::Identifier(ident) => self.0.schema.get(&ident.value),
            Expr::Nested(inner) => self.dtype_of(inner),
            _ => None,
        }
    }

    /// True for columns and constants whose values are compared with texts by reading the texts.
    pub(super) fn reads_texts(&self, expr: &Expr) -> bool {
        let is_number = |digits: &mut String| !digits.is_empty();
        digits_of(&mut expr.clone()).is_some_and(is_number)
            || self
                .dtype_of(expr)
                .is_some_and(|dtype| dtype.is_primitive_numeric() || *dtype == DataType::Boolean)
    }

    /// True for columns, constants and calls that are texts.
    pub(super) fn is_text(&self, expr: &Expr) -> bool {
        match expr {
            Expr::Value(value) => matches!(value.value, Value::SingleQuotedString(_)),
            Expr::Cast { data_type, .. } => is_text_type(data_type),
            Expr::Function(function) => {
                let name = name_of(function);
                let is_of_first = TYPES_OF_FIRST.contains(&name.as_str());
                TEXTS.contains(&name.as_str())
                    || (functions::gives_text(&name) && !self.takes_list_of_paths(function))
                    || is_of_first
                        && first_argument(function).is_some_and(|value| self.is_text(value))
            }
            Expr::Case {
                conditions,
                else_result,
                ..
            } => {
                let mut results = conditions
                    .iter()
                    .map(|when| &when.result)
                    .chain(else_result.as_deref());
                results.any(|result| self.is_text(result))
            }
            Expr::Substring { .. } | Expr::Trim { .. } => true,
            Expr::BinaryOp {
                op: BinaryOperator::StringConcat,
                ..
            } => true,
            Expr::Nested(inner) => self.is_text(inner),
            other => matches!(self.dtype_of(other), Some(DataType::String)),
        }
    }

    /// True for calls that are JSON.
    pub(super) fn is_json(&self, expr: &Expr) -> bool {
        match strip_parentheses(expr) {
            Expr::Function(function) => {
                JSON_FUNCTIONS.contains(&name_of(function).as_str())
                    && !self.takes_list_of_paths(function)
            }
            _ => false,
        }
    }

    /// True for columns and constants of bytes.
    pub(super) fn is_bytes(&self, expr: &Expr) -> bool {
        match expr {
            Expr::Cast { data_type, .. } => {
                matches!(
                    data_type,
                    SqlType::Bytea | SqlType::Blob(_) | SqlType::Varbinary(_)
                )
            }
            Expr::Nested(inner) => self.is_bytes(inner),
            other => self.dtype_of(other) == Some(&DataType::Binary),
        }
    }

    /// True for columns that are decimal numbers.
    pub(super) fn is_decimal(&self, expr: &Expr) -> bool {
        self.dtype_of(expr).is_some_and(DataType::is_decimal)
    }

    /// True for columns and constants that are dates.
    pub(super) fn is_date(&self, expr: &Expr) -> bool {
        match expr {
            Expr::Cast { data_type, .. } => *data_type == SqlType::Date,
            Expr::TypedString(typed) => typed.data_type == SqlType::Date,
            other => self.dtype_of(other) == Some(&DataType::Date),
        }
    }

    /// True for columns, constants and calls that are times of a day.
    pub(super) fn is_time_of_day(&self, expr: &Expr) -> bool {
        let is_time = |to: &SqlType| matches!(to, SqlType::Time(_, TimezoneInfo::None));
        match strip_parentheses(expr) {
            Expr::Cast { data_type, .. } => is_time(data_type),
            Expr::TypedString(typed) => is_time(&typed.data_type),
            Expr::Function(function) => TIMES_OF_DAY.contains(&name_of(function).as_str()),
            other => self.dtype_of(other) == Some(&DataType::Time),
        }
    }

    /// True for intervals, and for calls and differences of times that are intervals without
    /// months.
    pub(super) fn is_duration(&self, expr: &Expr) -> bool {
        match strip_parentheses(expr) {
            Expr::Interval(_) => true,
            Expr::Function(function) => DURATIONS.contains(&name_of(function).as_str()),
            Expr::BinaryOp {
                left,
                op: BinaryOperator::Multiply,
                right,
            } => self.is_duration(left) || self.is_duration(right),
            Expr::BinaryOp {
                left,
                op: BinaryOperator::Minus,
                right,
            } => self.is_timestamp(left) && self.is_timestamp(right),
            other => matches!(self.dtype_of(other), Some(DataType::Duration(_))),
        }
    }

    fn is_timestamp(&self, expr: &Expr) -> bool {
        let is_timestamp = |to: &SqlType| matches!(to, SqlType::Timestamp(..));
        match strip_parentheses(expr) {
            Expr::Cast { data_type, .. } => is_timestamp(data_type),
            Expr::TypedString(typed) => is_timestamp(&typed.data_type),
            other => matches!(self.dtype_of(other), Some(DataType::Datetime(..))),
        }
    }

    /// True for columns, constants and calls that are times with a zone.
    pub(super) fn is_zoned(&self, expr: &Expr) -> bool {
        match expr {
            Expr::Function(function) => {
                let name = name_of(function);
                let values = arguments_of(function).unwrap_or_default();
                match (name.as_str(), values.as_slice()) {
                    ("in_utc" | "instant_of_text" | "to_timestamp", _) => true,
                    ("days_of_trunc" | "times_of_trunc" | "time_bucket", [_, time, ..]) => {
                        self.is_zoned(time)
                    }
                    ("timezone", [_, time]) => !self.is_zoned(time),
                    ("if", [_, results @ ..]) => results.iter().any(|value| self.is_zoned(value)),
                    (name, values) if ALIKE_ARGUMENTS.contains(&name) => {
                        values.iter().any(|value| self.is_zoned(value))
                    }
                    _ => false,
                }
            }
            Expr::Case {
                conditions,
                else_result,
                ..
            } => {
                let results = conditions.iter().map(|when| &when.result);
                let mut results = results.chain(else_result.as_deref());
                results.any(|result| self.is_zoned(result))
            }
            Expr::BinaryOp {
                left,
                op: BinaryOperator::Plus | BinaryOperator::Minus,
                right,
            } => is_interval(right) && self.is_zoned(left),
            Expr::Nested(inner) => self.is_zoned(inner),
            other => matches!(self.dtype_of(other), Some(DataType::Datetime(_, Some(_)))),
        }
    }

    /// Values of which one is a time with a zone are such times all: a time without one is in UTC.
    /// False when none is.
    pub(super) fn give_zones(&self, mut values: Vec<&mut Expr>) -> bool {
        if !values.iter().any(|value| self.is_zoned(value)) {
            return false;
        }
        for value in &mut values {
            if is_null(value) || self.is_zoned(value) {
                continue;
            }
            let one = (**value).clone();
            **value = if self.is_text(&one) {
                expression("instant_of_text(_0)", vec![one])
            } else {
                expression("in_utc(CAST(_0 AS TIMESTAMP))", vec![one])
            };
        }
        true
    }

    /// True for a time without a zone plus or minus an interval, which the engine compares with no
    /// text.
    pub(super) fn is_moved_time(&self, expr: &Expr) -> bool {
        match strip_parentheses(expr) {
            Expr::BinaryOp {
                left,
                op: BinaryOperator::Plus | BinaryOperator::Minus,
                right,
            } if is_interval(right) => {
                let is_cast = |to: &SqlType| *to == SqlType::Timestamp(None, TimezoneInfo::None);
                matches!(
                    strip_parentheses(left),
                    Expr::Cast { data_type, .. } if is_cast(data_type)
                ) || matches!(self.dtype_of(left), Some(DataType::Datetime(_, None)))
                    || self.is_moved_time(left)
            }
            _ => false,
        }
    }

    /// True for whole numbers that count days, also those that are cast or computed.
    pub(super) fn is_day_count(&self, expr: &Expr) -> bool {
        use BinaryOperator::{Minus, Multiply, Plus};
        match strip_parentheses(expr) {
            Expr::Cast { data_type, .. } => is_integer(data_type),
            Expr::BinaryOp {
                left,
                op: Plus | Minus | Multiply,
                right,
            } => self.is_day_count(left) && self.is_day_count(right),
            other => self.is_whole(other),
        }
    }

    /// True for columns and constants that are whole numbers.
    pub(super) fn is_whole(&self, expr: &Expr) -> bool {
        let digits = |digits: &mut String| digits.bytes().all(|byte| byte.is_ascii_digit());
        digits_of(&mut expr.clone()).is_some_and(digits)
            || self.dtype_of(expr).is_some_and(DataType::is_integer)
            || match strip_parentheses(expr) {
                Expr::Function(function) => WHOLES.contains(&name_of(function).as_str()),
                _ => false,
            }
    }
}

/// Functions of times whose results are integers.
const WHOLES: [&str; 3] = ["epoch_ms", "epoch_ns", "epoch_us"];

/// Functions whose results are JSON.
pub(super) const JSON_FUNCTIONS: [&str; 15] = [
    "array_to_json",
    "json",
    "json_array",
    "json_extract",
    "json_extract_path",
    "json_group_array",
    "json_group_object",
    "json_merge_patch",
    "json_object",
    "json_of_value",
    "json_quote",
    "json_structure",
    "row_to_json",
    "to_json",
    "try_json_of_value",
];

/// Functions whose results are times of a day.
const TIMES_OF_DAY: [&str; 3] = ["make_time", "time_moved", "time_moved_back"];

/// Functions whose results are intervals without months.
const DURATIONS: [&str; 7] = [
    "to_days",
    "to_hours",
    "to_microseconds",
    "to_milliseconds",
    "to_minutes",
    "to_seconds",
    "to_weeks",
];

/// Functions whose arguments and results have one type.
pub(super) const ALIKE_ARGUMENTS: [&str; 4] = ["coalesce", "greatest", "ifnull", "least"];

/// Functions whose results have the type of the first argument.
const TYPES_OF_FIRST: [&str; 10] = [
    "any_value",
    "coalesce",
    "first",
    "greatest",
    "ifnull",
    "last",
    "least",
    "max",
    "min",
    "nullif",
];

/// Functions whose results are lists.
const LISTS: [&str; 39] = [
    "array_agg",
    "array_append",
    "array_cat",
    "array_concat",
    "array_distinct",
    "array_filter",
    "array_prepend",
    "array_reverse",
    "array_sort",
    "array_transform",
    "flatten",
    "generate_series",
    "json_extract_each",
    "json_extract_string_each",
    "list",
    "list_append",
    "list_apply",
    "list_cat",
    "list_concat",
    "list_distinct",
    "list_filter",
    "list_intersect",
    "list_joined",
    "list_prepend",
    "list_resize",
    "list_reverse",
    "list_reverse_sort",
    "list_reversed",
    "list_sort",
    "list_sorted",
    "list_transform",
    "list_value",
    "list_zip",
    "parse_path",
    "range",
    "regexp_extract_all",
    "str_split",
    "string_split",
    "string_to_array",
];

/// Functions whose results are texts.
const TEXTS: [&str; 27] = [
    "chr",
    "concat",
    "concat_ws",
    "dayname",
    "initcap",
    "lcase",
    "left",
    "list_text",
    "lower",
    "lpad",
    "ltrim",
    "monthname",
    "regexp_extract",
    "regexp_replace",
    "repeat",
    "replace",
    "reverse",
    "right",
    "rpad",
    "rtrim",
    "sha256",
    "split_part",
    "strftime",
    "substr",
    "text_slice",
    "translate",
    "upper",
];

/// True for the type of the pairs of a map.
fn is_map_entry(item: &DataType) -> bool {
    let DataType::Struct(fields) = item else {
        return false;
    };
    let names: Vec<&str> = fields.iter().map(|field| field.name().as_str()).collect();
    names == MADE_FIELDS || names == ["key", "value"]
}

fn first_argument(function: &Function) -> Option<&Expr> {
    let FunctionArguments::List(list) = &function.args else {
        return None;
    };
    match list.args.first()? {
        FunctionArg::Unnamed(FunctionArgExpr::Expr(value)) => Some(value),
        _ => None,
    }
}
