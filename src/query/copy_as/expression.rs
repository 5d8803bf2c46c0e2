//! Conditions with types, for engines that do not read DuckDB's SQL: comparisons, lists, patterns,
//! parts of times, nulls. What the engines evaluate differently from DuckDB is rewritten or refused
//! with its position.

use arrow::datatypes::{DataType, TimeUnit};
use sqlparser::ast::{
    BinaryOperator, DataType as SqlType, DateTimeField, Expr, FunctionArg, FunctionArgExpr,
    FunctionArguments, Ident, Spanned, UnaryOperator, Value, ValueWithSpan,
};

use super::super::source_span::StatementSource;
use super::super::text_patterns::{like_regex, of_whole_text};
use crate::error::{Error, Result};
use crate::footprint::parse_time;
use crate::model::{FieldSpec, dtype_name};
use crate::text::PrintableLine;

/// Microseconds of a day.
pub(super) const DAY: i64 = 86_400_000_000;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ExpressionType {
    Bool,
    Int,
    /// `single`: 32 bits.
    Float {
        single: bool,
    },
    Text,
    Date,
    /// `zone`: the column has a time zone; `nanos`: it counts nanoseconds.
    Time {
        zone: bool,
        nanos: bool,
    },
    /// Geometries, lists, decimals and others: they can be null, and nothing else is asked of them.
    Other,
}

impl ExpressionType {
    fn from_dtype(dtype: &DataType) -> Self {
        match dtype {
            DataType::Boolean => Self::Bool,
            dtype if dtype.is_integer() => Self::Int,
            DataType::Float32 => Self::Float { single: true },
            DataType::Float64 => Self::Float { single: false },
            DataType::Utf8 | DataType::LargeUtf8 | DataType::Utf8View => Self::Text,
            DataType::Date32 => Self::Date,
            DataType::Timestamp(unit, zone) => Self::Time {
                zone: zone.is_some(),
                nanos: *unit == TimeUnit::Nanosecond,
            },
            DataType::Dictionary(_, values) => Self::from_dtype(values),
            _ => Self::Other,
        }
    }

    fn is_number(self) -> bool {
        matches!(self, Self::Int | Self::Float { .. })
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Comparison {
    Equal,
    NotEqual,
    Less,
    LessOrEqual,
    Greater,
    GreaterOrEqual,
}

impl Comparison {
    fn from_operator(operator: &BinaryOperator) -> Option<Self> {
        Some(match operator {
            BinaryOperator::Eq => Self::Equal,
            BinaryOperator::NotEq => Self::NotEqual,
            BinaryOperator::Lt => Self::Less,
            BinaryOperator::LtEq => Self::LessOrEqual,
            BinaryOperator::Gt => Self::Greater,
            BinaryOperator::GtEq => Self::GreaterOrEqual,
            _ => return None,
        })
    }

    /// The comparison with its sides exchanged.
    fn swap_sides(self) -> Self {
        match self {
            Self::Less => Self::Greater,
            Self::LessOrEqual => Self::GreaterOrEqual,
            Self::Greater => Self::Less,
            Self::GreaterOrEqual => Self::LessOrEqual,
            other => other,
        }
    }

    /// As Python writes it.
    pub fn python(self) -> &'static str {
        match self {
            Self::Equal => "==",
            Self::NotEqual => "!=",
            Self::Less => "<",
            Self::LessOrEqual => "<=",
            Self::Greater => ">",
            Self::GreaterOrEqual => ">=",
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ValueFunction {
    Lower,
    Upper,
    /// Number of characters.
    Length,
    Absolute,
    Negative,
    Year,
    Month,
    Day,
    Hour,
    /// Only within a comparison, which becomes one of times.
    Date,
}

/// A condition or a value. Null is unknown, as in SQL: a comparison with it is null, and rows whose
/// condition is null are left out.
#[derive(Clone, Debug, PartialEq)]
pub enum Expression {
    /// `dictionary`: values are stored once.
    Column {
        name: String,
        kind: ExpressionType,
        dictionary: bool,
    },
    Bool(bool),
    Int(i64),
    Float(f64),
    Text(String),
    /// Days since 1970.
    Day(i64),
    /// Microseconds since 1970 in UTC, for columns of this kind.
    Instant {
        micros: i64,
        zone: bool,
        nanos: bool,
    },
    Not(Box<Expression>),
    All(Vec<Expression>),
    Any(Vec<Expression>),
    Compare(Comparison, Box<Expression>, Box<Expression>),
    IsNull(Box<Expression>),
    /// The value, or this one where it is null.
    Coalesce(Box<Expression>, Box<Expression>),
    /// Equal to one of these texts or whole numbers.
    In(Box<Expression>, Vec<Expression>),
    /// The text has a match of this regular expression.
    Matches(Box<Expression>, String),
    /// `+`, `-`, `*` or `/`.
    Arithmetic(char, Box<Expression>, Box<Expression>),
    Call(ValueFunction, Box<Expression>),
}

impl Expression {
    /// Type; `None` of a date that was made from a time.
    pub fn kind(&self) -> ExpressionType {
        match self {
            Self::Column { kind, .. } => *kind,
            Self::Bool(_)
            | Self::Not(_)
            | Self::All(_)
            | Self::Any(_)
            | Self::Compare(..)
            | Self::IsNull(_)
            | Self::In(..)
            | Self::Matches(..) => ExpressionType::Bool,
            Self::Int(_) => ExpressionType::Int,
            Self::Float(_) => ExpressionType::Float { single: false },
            Self::Text(_) => ExpressionType::Text,
            Self::Day(_) => ExpressionType::Date,
            Self::Instant { zone, nanos, .. } => ExpressionType::Time {
                zone: *zone,
                nanos: *nanos,
            },
            Self::Coalesce(value, _) => value.kind(),
            Self::Arithmetic('/', ..) => ExpressionType::Float { single: false },
            Self::Arithmetic(_, left, right) => match (left.kind(), right.kind()) {
                (ExpressionType::Int, ExpressionType::Int) => ExpressionType::Int,
                _ => ExpressionType::Float { single: false },
            },
            Self::Call(ValueFunction::Lower | ValueFunction::Upper, _) => ExpressionType::Text,
            Self::Call(ValueFunction::Absolute | ValueFunction::Negative, value) => value.kind(),
            Self::Call(ValueFunction::Date, _) => ExpressionType::Date,
            Self::Call(..) => ExpressionType::Int,
        }
    }

    fn is_constant(&self) -> bool {
        matches!(
            self,
            Self::Bool(_)
                | Self::Int(_)
                | Self::Float(_)
                | Self::Text(_)
                | Self::Day(_)
                | Self::Instant { .. }
        )
    }

    /// The column's values as text patterns are compared with.
    pub fn column(field: &FieldSpec) -> Self {
        let dictionary = matches!(field.dtype, DataType::Dictionary(..));
        Self::Column {
            name: field.name.clone(),
            kind: ExpressionType::from_dtype(&field.dtype),
            dictionary,
        }
    }

    /// A comparison of two values of one kind.
    pub fn compare(comparison: Comparison, left: Self, right: Self) -> Self {
        Self::Compare(comparison, Box::new(left), Box::new(right))
    }

    /// True where this is a bounded number of nested expressions of a kind that satisfies `wanted`.
    pub fn any(&self, wanted: &dyn Fn(&Self) -> bool) -> bool {
        let inner: Vec<&Self> = match self {
            Self::Not(a)
            | Self::IsNull(a)
            | Self::Matches(a, _)
            | Self::Call(_, a)
            | Self::In(a, _) => vec![a.as_ref()],
            Self::All(list) | Self::Any(list) => list.iter().collect(),
            Self::Compare(_, a, b) | Self::Arithmetic(_, a, b) | Self::Coalesce(a, b) => {
                vec![a.as_ref(), b.as_ref()]
            }
            _ => Vec::new(),
        };
        wanted(self) || inner.into_iter().any(|inner| inner.any(wanted))
    }
}

/// Turns the tree of a condition into an [`Expression`].
pub struct ConditionConversion<'a> {
    pub source: StatementSource<'a>,
    pub columns: &'a [FieldSpec],
    /// Name of the engine, for messages.
    pub engine: &'static str,
}

impl ConditionConversion<'_> {
    /// A condition.
    ///
    /// # Errors
    /// [`crate::error::Kind::Unsupported`] with the position of what can't be written for the
    /// engine; [`crate::error::Kind::Usage`] for an unknown column.
    pub fn condition(&self, expr: &Expr) -> Result<Expression> {
        let found = self.value(expr)?;
        match found.kind() {
            ExpressionType::Bool => Ok(found),
            _ => Err(self.unsupported_error(expr, "a value that is neither true nor false")),
        }
    }

    fn unsupported_error(&self, expr: &Expr, what: &str) -> Error {
        let error = Error::unsupported(format!("{what} can't be written for {}", self.engine));
        self.source.locate(
            error.hint("copy the filter for DuckDB, or write the condition in another form"),
            expr.span(),
        )
    }

    fn boxed_value(&self, expr: &Expr) -> Result<Box<Expression>> {
        Ok(Box::new(self.value(expr)?))
    }

    fn value(&self, expr: &Expr) -> Result<Expression> {
        Ok(match expr {
            Expr::Nested(inner) => self.value(inner)?,
            Expr::Identifier(name) => self.column(name, expr)?,
            Expr::Value(value) => self.constant(&value.value, expr)?,
            Expr::TypedString(typed) => {
                let text = typed.value.clone().into_string();
                self.cast(
                    Expression::Text(
                        text.ok_or_else(|| self.unsupported_error(expr, "this value"))?,
                    ),
                    &typed.data_type,
                    expr,
                )?
            }
            Expr::Cast {
                expr: inner,
                data_type,
                ..
            } => self.cast(self.value(inner)?, data_type, expr)?,
            Expr::UnaryOp {
                op: UnaryOperator::Not,
                expr: inner,
            } => negate_expression(true, self.condition(inner)?),
            Expr::UnaryOp {
                op: UnaryOperator::Plus,
                expr: inner,
            } => self.value(inner)?,
            Expr::UnaryOp {
                op: UnaryOperator::Minus,
                expr: inner,
            } => match self.value(inner)? {
                Expression::Int(number) => Expression::Int(-number),
                Expression::Float(number) => Expression::Float(-number),
                value if value.kind().is_number() => {
                    Expression::Call(ValueFunction::Negative, Box::new(value))
                }
                _ => return Err(self.unsupported_error(expr, "a minus before what is no number")),
            },
            Expr::BinaryOp {
                left,
                op: BinaryOperator::And,
                right,
            } => Expression::All(join_conditions(
                self.condition(left)?,
                self.condition(right)?,
                |list| matches!(list, Expression::All(_)),
            )),
            Expr::BinaryOp {
                left,
                op: BinaryOperator::Or,
                right,
            } => Expression::Any(join_conditions(
                self.condition(left)?,
                self.condition(right)?,
                |list| matches!(list, Expression::Any(_)),
            )),
            Expr::BinaryOp {
                left,
                op: BinaryOperator::PGRegexMatch,
                right,
            } => self.matches_whole(left, right, expr)?,
            Expr::BinaryOp {
                left,
                op: BinaryOperator::PGRegexNotMatch,
                right,
            } => negate_expression(true, self.matches_whole(left, right, expr)?),
            Expr::BinaryOp { left, op, right } => match Comparison::from_operator(op) {
                Some(comparison) => {
                    self.compare(comparison, self.value(left)?, self.value(right)?, expr)?
                }
                None => self.arithmetic(op, left, right, expr)?,
            },
            Expr::IsNull(inner) => Expression::IsNull(self.boxed_value(inner)?),
            Expr::IsNotNull(inner) => {
                negate_expression(true, Expression::IsNull(self.boxed_value(inner)?))
            }
            Expr::IsTrue(inner) | Expr::IsNotTrue(inner) => negate_expression(
                matches!(expr, Expr::IsNotTrue(_)),
                replace_null(self.condition(inner)?, false),
            ),
            Expr::IsFalse(inner) | Expr::IsNotFalse(inner) => negate_expression(
                matches!(expr, Expr::IsFalse(_)),
                replace_null(self.condition(inner)?, true),
            ),
            Expr::IsDistinctFrom(left, right) | Expr::IsNotDistinctFrom(left, right) => {
                let (left, right) = (self.value(left)?, self.value(right)?);
                if !right.is_constant() {
                    return Err(self.unsupported_error(expr, "IS DISTINCT FROM another column"));
                }
                let same = replace_null(self.compare(Comparison::Equal, left, right, expr)?, false);
                negate_expression(matches!(expr, Expr::IsDistinctFrom(..)), same)
            }
            Expr::Between {
                expr: inner,
                negated,
                low,
                high,
            } => {
                let value = self.value(inner)?;
                let low = self.compare(
                    Comparison::GreaterOrEqual,
                    value.clone(),
                    self.value(low)?,
                    expr,
                )?;
                let high = self.compare(Comparison::LessOrEqual, value, self.value(high)?, expr)?;
                negate_expression(*negated, Expression::All(vec![low, high]))
            }
            Expr::InList {
                expr: inner,
                list,
                negated,
            } => negate_expression(*negated, self.is_in(self.value(inner)?, list, expr)?),
            Expr::Like {
                negated,
                any: false,
                expr: inner,
                pattern,
                escape_char,
            } => negate_expression(
                *negated,
                self.like(inner, pattern, escape_char.as_ref(), false, expr)?,
            ),
            Expr::ILike {
                negated,
                any: false,
                expr: inner,
                pattern,
                escape_char,
            } => negate_expression(
                *negated,
                self.like(inner, pattern, escape_char.as_ref(), true, expr)?,
            ),
            Expr::SimilarTo {
                negated,
                expr: inner,
                pattern,
                escape_char: None,
            } => negate_expression(*negated, self.matches_whole(inner, pattern, expr)?),
            Expr::Extract {
                field, expr: inner, ..
            } => {
                let part = match field {
                    DateTimeField::Year => ValueFunction::Year,
                    DateTimeField::Month => ValueFunction::Month,
                    DateTimeField::Day => ValueFunction::Day,
                    DateTimeField::Hour => ValueFunction::Hour,
                    _ => return Err(self.unsupported_error(expr, "this part of a time")),
                };
                self.part(part, self.value(inner)?, expr)?
            }
            Expr::Function(function) => self.function(function, expr)?,
            _ => return Err(self.unsupported_error(expr, "this expression")),
        })
    }

    fn column(&self, name: &Ident, expr: &Expr) -> Result<Expression> {
        match column_named(self.columns, &name.value) {
            Some(field) => Ok(Expression::column(field)),
            None => {
                let names: Vec<&str> = self
                    .columns
                    .iter()
                    .map(|field| field.name.as_str())
                    .collect();
                let error = Error::usage(format!(
                    "the level's table has no column {}",
                    name.value.printable_line()
                ));
                Err(self.source.locate(
                    error.hint(format!("its columns: {}", names.join(", "))),
                    expr.span(),
                ))
            }
        }
    }

    fn constant(&self, value: &Value, expr: &Expr) -> Result<Expression> {
        Ok(match value {
            Value::Boolean(value) => Expression::Bool(*value),
            Value::SingleQuotedString(text) => Expression::Text(text.clone()),
            Value::Number(digits, _) => {
                let digits = digits.replace('_', "");
                match (digits.parse::<i64>(), digits.parse::<f64>()) {
                    (Ok(number), _) => Expression::Int(number),
                    (_, Ok(number)) if number.is_finite() => Expression::Float(number),
                    _ => return Err(self.unsupported_error(expr, "this number")),
                }
            }
            Value::Null => {
                let error =
                    self.unsupported_error(expr, "a comparison with NULL, which is never true,");
                return Err(error.hint("IS NULL finds rows without a value"));
            }
            _ => return Err(self.unsupported_error(expr, "this value")),
        })
    }

    fn cast(&self, value: Expression, to: &SqlType, expr: &Expr) -> Result<Expression> {
        let found = match (to, &value) {
            (SqlType::Date, Expression::Text(text)) => {
                parse_time(text).map(|micros| Expression::Day(micros.div_euclid(DAY)))
            }
            (SqlType::Date, Expression::Day(_)) => Some(value.clone()),
            (SqlType::Date, Expression::Instant { micros, .. }) => {
                Some(Expression::Day(micros.div_euclid(DAY)))
            }
            (SqlType::Date, value) if value.kind() == ExpressionType::Date => Some(value.clone()),
            (
                SqlType::Date,
                Expression::Column {
                    kind: ExpressionType::Time { .. },
                    ..
                },
            ) => Some(Expression::Call(
                ValueFunction::Date,
                Box::new(value.clone()),
            )),
            (SqlType::Timestamp(_, info), Expression::Text(text)) => convert_instant_text(
                text,
                matches!(
                    info,
                    sqlparser::ast::TimezoneInfo::Tz | sqlparser::ast::TimezoneInfo::WithTimeZone
                ),
            ),
            (SqlType::Timestamp(..), Expression::Day(day)) => Some(Expression::Instant {
                micros: day * DAY,
                zone: false,
                nanos: false,
            }),
            (SqlType::Timestamp(..), value)
                if matches!(value.kind(), ExpressionType::Time { .. }) =>
            {
                Some(value.clone())
            }
            (SqlType::Double(_) | SqlType::DoublePrecision, Expression::Int(number)) => {
                Some(Expression::Float(*number as f64))
            }
            (SqlType::Double(_) | SqlType::DoublePrecision, value)
                if value.kind() == (ExpressionType::Float { single: false }) =>
            {
                Some(value.clone())
            }
            (SqlType::Varchar(_) | SqlType::Text, value)
                if value.kind() == ExpressionType::Text =>
            {
                Some(value.clone())
            }
            _ => None,
        };
        found.ok_or_else(|| self.unsupported_error(expr, "this conversion of types"))
    }

    fn arithmetic(
        &self,
        op: &BinaryOperator,
        left: &Expr,
        right: &Expr,
        expr: &Expr,
    ) -> Result<Expression> {
        let sign = match op {
            BinaryOperator::Plus => '+',
            BinaryOperator::Minus => '-',
            BinaryOperator::Multiply => '*',
            BinaryOperator::Divide => '/',
            _ => return Err(self.unsupported_error(expr, "this operator")),
        };
        let (left, right) = (self.value(left)?, self.value(right)?);
        let zero = matches!(&right, Expression::Int(0))
            || matches!(&right, Expression::Float(number) if *number == 0.0);
        // Engines differ in what a division by zero gives.
        if sign == '/' && (!right.is_constant() || zero) {
            return Err(self.unsupported_error(expr, "a division by a column or by zero"));
        }
        if !left.kind().is_number()
            || !right.kind().is_number()
            || left.is_constant() && right.is_constant()
        {
            return Err(self.unsupported_error(expr, "this calculation"));
        }
        Ok(Expression::Arithmetic(
            sign,
            Box::new(left),
            Box::new(right),
        ))
    }

    /// A comparison, with constants in the type of the other side.
    fn compare(
        &self,
        comparison: Comparison,
        left: Expression,
        right: Expression,
        expr: &Expr,
    ) -> Result<Expression> {
        if left.is_constant() {
            return if right.is_constant() {
                Err(self.unsupported_error(expr, "a comparison without a column"))
            } else {
                self.compare(comparison.swap_sides(), right, left, expr)
            };
        }
        if let Expression::Call(ValueFunction::Date, time) = left {
            return self.compare_days(comparison, *time, right, expr);
        }
        let right = match (left.kind(), right) {
            (ExpressionType::Time { zone, nanos }, Expression::Text(text)) => {
                let micros = parse_time(&text)
                    .ok_or_else(|| self.unsupported_error(expr, "a text that is no time"))?;
                Expression::Instant {
                    micros,
                    zone,
                    nanos,
                }
            }
            (ExpressionType::Time { zone, nanos }, Expression::Day(day)) => Expression::Instant {
                micros: day * DAY,
                zone,
                nanos,
            },
            (ExpressionType::Time { zone, nanos }, Expression::Instant { micros, .. }) => {
                Expression::Instant {
                    micros,
                    zone,
                    nanos,
                }
            }
            (ExpressionType::Date, Expression::Text(text)) => {
                let micros = parse_time(&text);
                let day = micros
                    .filter(|micros| micros % DAY == 0)
                    .ok_or_else(|| self.unsupported_error(expr, "a text that is no date"))?;
                Expression::Day(day / DAY)
            }
            (ExpressionType::Date, Expression::Instant { micros, .. }) if micros % DAY == 0 => {
                Expression::Day(micros / DAY)
            }
            (kind, Expression::Text(text)) if kind.is_number() => {
                match (text.trim().parse::<i64>(), text.trim().parse::<f64>()) {
                    (Ok(number), _) => Expression::Int(number),
                    (_, Ok(number)) if number.is_finite() && kind != ExpressionType::Int => {
                        Expression::Float(number)
                    }
                    _ => return Err(self.unsupported_error(expr, "a text that is no number")),
                }
            }
            // DuckDB compares with the number as the column stores it.
            (ExpressionType::Float { single: true }, Expression::Float(number)) => {
                Expression::Float(f64::from(number as f32))
            }
            (_, right) => right,
        };
        let alike = match (left.kind(), right.kind()) {
            (ExpressionType::Other, _) => false,
            (ExpressionType::Time { zone, .. }, ExpressionType::Time { zone: other, .. }) => {
                zone == other
            }
            (a, b) if a.is_number() && b.is_number() => true,
            (a, b) => a == b,
        };
        if alike {
            Ok(Expression::compare(comparison, left, right))
        } else {
            Err(self.unsupported_error(expr, "a comparison of these types"))
        }
    }

    /// The comparison of a time's day as comparisons of times.
    fn compare_days(
        &self,
        comparison: Comparison,
        time: Expression,
        right: Expression,
        expr: &Expr,
    ) -> Result<Expression> {
        let ExpressionType::Time { zone, nanos } = time.kind() else {
            return Err(self.unsupported_error(expr, "a day of what is no time"));
        };
        let day = match right {
            Expression::Day(day) => day,
            Expression::Text(text) => {
                let micros = parse_time(&text)
                    .ok_or_else(|| self.unsupported_error(expr, "a text that is no date"))?;
                micros.div_euclid(DAY)
            }
            _ => return Err(self.unsupported_error(expr, "a comparison of a day with this")),
        };
        let bound = |comparison, day: i64| compare_with_day(comparison, &time, day, zone, nanos);
        let whole = Expression::All(vec![
            bound(Comparison::GreaterOrEqual, day),
            bound(Comparison::Less, day + 1),
        ]);
        Ok(match comparison {
            Comparison::Equal => whole,
            Comparison::NotEqual => Expression::Not(Box::new(whole)),
            Comparison::Less => bound(Comparison::Less, day),
            Comparison::LessOrEqual => bound(Comparison::Less, day + 1),
            Comparison::Greater => bound(Comparison::GreaterOrEqual, day + 1),
            Comparison::GreaterOrEqual => bound(Comparison::GreaterOrEqual, day),
        })
    }

    fn is_in(&self, value: Expression, list: &[Expr], expr: &Expr) -> Result<Expression> {
        if value.is_constant() {
            return Err(self.unsupported_error(expr, "IN without a column"));
        }
        let equal =
            |item: &Expr| self.compare(Comparison::Equal, value.clone(), self.value(item)?, expr);
        let equals = list.iter().map(equal).collect::<Result<Vec<_>>>()?;
        let whole = matches!(value.kind(), ExpressionType::Text | ExpressionType::Int);
        let items: Option<Vec<_>> = equals.iter().map(find_listed_value).collect();
        Ok(match items {
            Some(items) if whole && items.len() > 1 => Expression::In(Box::new(value), items),
            _ => Expression::Any(equals),
        })
    }

    fn like(
        &self,
        value: &Expr,
        pattern: &Expr,
        escape: Option<&ValueWithSpan>,
        any_case: bool,
        expr: &Expr,
    ) -> Result<Expression> {
        let Expression::Text(pattern) = self.value(pattern)? else {
            return Err(self.unsupported_error(expr, "a pattern that is no text"));
        };
        let regex = like_regex(&pattern, escape, any_case)
            .map_err(|reason| self.unsupported_error(expr, reason))?;
        self.matches(self.value(value)?, regex, expr)
    }

    fn matches_whole(&self, value: &Expr, pattern: &Expr, expr: &Expr) -> Result<Expression> {
        let Expression::Text(pattern) = self.value(pattern)? else {
            return Err(self.unsupported_error(expr, "a pattern that is no text"));
        };
        self.matches(self.value(value)?, of_whole_text(&pattern), expr)
    }

    fn matches(&self, value: Expression, regex: String, expr: &Expr) -> Result<Expression> {
        if value.kind() == ExpressionType::Text && !value.is_constant() {
            Ok(Expression::Matches(Box::new(value), regex))
        } else {
            Err(self.unsupported_error(expr, "a pattern for what is no text"))
        }
    }

    fn part(&self, part: ValueFunction, value: Expression, expr: &Expr) -> Result<Expression> {
        match value.kind() {
            ExpressionType::Time { .. } if !value.is_constant() => {}
            ExpressionType::Date if !value.is_constant() && part != ValueFunction::Hour => {}
            _ => return Err(self.unsupported_error(expr, "a part of what is no time")),
        }
        Ok(Expression::Call(part, Box::new(value)))
    }

    fn function(&self, function: &sqlparser::ast::Function, expr: &Expr) -> Result<Expression> {
        let FunctionArguments::List(list) = &function.args else {
            return Err(self.unsupported_error(expr, "this function"));
        };
        let arguments = list
            .args
            .iter()
            .map(|argument| self.read_argument(argument, expr))
            .collect::<Result<Vec<_>>>()?;
        if function.over.is_some()
            || function.filter.is_some()
            || !list.clauses.is_empty()
            || list.duplicate_treatment.is_some()
        {
            return Err(self.unsupported_error(expr, "an aggregate or window function"));
        }
        let name = function.name.to_string().to_lowercase();
        let of_text = |made, value| self.call_of_text(made, value, expr);
        match (name.as_str(), arguments.as_slice()) {
            ("lower" | "lcase", [value]) => of_text(ValueFunction::Lower, value),
            ("upper" | "ucase", [value]) => of_text(ValueFunction::Upper, value),
            ("length" | "len" | "char_length" | "character_length", [value]) => {
                of_text(ValueFunction::Length, value)
            }
            ("abs", [value]) if value.kind().is_number() && !value.is_constant() => Ok(
                Expression::Call(ValueFunction::Absolute, Box::new(value.clone())),
            ),
            ("year", [value]) => self.part(ValueFunction::Year, value.clone(), expr),
            ("month", [value]) => self.part(ValueFunction::Month, value.clone(), expr),
            ("day" | "dayofmonth", [value]) => self.part(ValueFunction::Day, value.clone(), expr),
            ("hour", [value]) => self.part(ValueFunction::Hour, value.clone(), expr),
            ("coalesce" | "ifnull", [value, other])
                if other.is_constant() && !value.is_constant() =>
            {
                let alike = value.kind() == other.kind()
                    || value.kind().is_number() && other.kind().is_number();
                if alike && value.kind() != ExpressionType::Other {
                    Ok(Expression::Coalesce(
                        Box::new(value.clone()),
                        Box::new(other.clone()),
                    ))
                } else {
                    Err(self.unsupported_error(expr, "COALESCE of two types"))
                }
            }
            ("starts_with" | "prefix", [value, Expression::Text(text)]) => self.matches(
                value.clone(),
                format!(r"(?s)\A{}", regex::escape(text)),
                expr,
            ),
            ("ends_with" | "suffix", [value, Expression::Text(text)]) => self.matches(
                value.clone(),
                format!(r"(?s){}\z", regex::escape(text)),
                expr,
            ),
            ("contains", [value, Expression::Text(text)]) => {
                self.matches(value.clone(), regex::escape(text), expr)
            }
            ("regexp_matches", [value, Expression::Text(regex)]) => {
                self.matches(value.clone(), regex.clone(), expr)
            }
            ("regexp_full_match", [value, Expression::Text(regex)]) => {
                self.matches(value.clone(), of_whole_text(regex), expr)
            }
            _ => Err(self.unsupported_error(expr, &format!("the function {name}"))),
        }
    }

    fn read_argument(&self, argument: &FunctionArg, expr: &Expr) -> Result<Expression> {
        match argument {
            FunctionArg::Unnamed(FunctionArgExpr::Expr(inner)) => self.value(inner),
            _ => Err(self.unsupported_error(expr, "this argument")),
        }
    }

    fn call_of_text(
        &self,
        made: ValueFunction,
        value: &Expression,
        expr: &Expr,
    ) -> Result<Expression> {
        if value.kind() == ExpressionType::Text && !value.is_constant() {
            Ok(Expression::Call(made, Box::new(value.clone())))
        } else {
            Err(self.unsupported_error(expr, "a text function of what is no text"))
        }
    }
}

/// A list of conditions out of two, which may be such lists themselves.
fn join_conditions(
    left: Expression,
    right: Expression,
    is_list: fn(&Expression) -> bool,
) -> Vec<Expression> {
    let mut list = split_list(left, is_list);
    list.extend(split_list(right, is_list));
    list
}

fn split_list(one: Expression, is_list: fn(&Expression) -> bool) -> Vec<Expression> {
    if !is_list(&one) {
        return vec![one];
    }
    match one {
        Expression::All(list) | Expression::Any(list) => list,
        one => vec![one],
    }
}

fn negate_expression(negated: bool, inner: Expression) -> Expression {
    if negated {
        Expression::Not(Box::new(inner))
    } else {
        inner
    }
}

fn convert_instant_text(text: &str, zone: bool) -> Option<Expression> {
    let time = parse_time(text);
    time.map(|micros| Expression::Instant {
        micros,
        zone,
        nanos: false,
    })
}

/// A comparison of a time with the start of a day.
fn compare_with_day(
    comparison: Comparison,
    time: &Expression,
    day: i64,
    zone: bool,
    nanos: bool,
) -> Expression {
    Expression::compare(
        comparison,
        time.clone(),
        Expression::Instant {
            micros: day * DAY,
            zone,
            nanos,
        },
    )
}

/// The text or whole number that a comparison has on its right side.
fn find_listed_value(one: &Expression) -> Option<Expression> {
    match one {
        Expression::Compare(_, _, right)
            if matches!(**right, Expression::Text(_) | Expression::Int(_)) =>
        {
            Some((**right).clone())
        }
        _ => None,
    }
}

/// A condition that is `value` where it is null.
pub fn replace_null(condition: Expression, value: bool) -> Expression {
    Expression::Coalesce(Box::new(condition), Box::new(Expression::Bool(value)))
}

/// The name of a type, for messages.
pub fn type_name(field: &FieldSpec) -> String {
    dtype_name(&field.dtype)
}

/// The column of this name; of names that differ in case alone, the one that is equal.
pub(super) fn column_named<'a>(columns: &'a [FieldSpec], name: &str) -> Option<&'a FieldSpec> {
    let exact = columns.iter().find(|column| column.name == name);
    exact.or_else(|| {
        columns
            .iter()
            .find(|column| column.name.eq_ignore_ascii_case(name))
    })
}
