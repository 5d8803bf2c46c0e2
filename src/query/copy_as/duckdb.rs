//! The statement for DuckDB. Conditions are DuckDB's SQL already; names are quoted and geometries
//! read from WKB.

use std::fmt::Write as _;
use std::ops::ControlFlow;

use arrow::datatypes::DataType;
use sqlparser::ast::{
    BinaryOperator, Expr, FunctionArg, FunctionArgExpr, FunctionArguments, Ident, UnaryOperator,
};
use sqlparser::keywords::Keyword;
use sqlparser::tokenizer::Token;

use super::super::filter::is_binary;
use super::super::source_span::StatementSource;
use super::super::statement_parser;
use super::expression::{Comparison, Expression, column_named};
use super::{Area, AreaWith, LevelFile, StatementStep, Test, corners_of, instant, key_columns};
use crate::error::{Error, Result};
use crate::model::{Address, FieldSpec, PAD_PREFIX, Scheme};
use crate::query::syntax_walk::visit_expressions_mut;
use crate::text::with_deceptive;

/// A name in double quotes.
pub fn name(name: &str) -> String {
    format!("\"{}\"", name.replace('"', "\"\""))
}

/// A text in single quotes.
pub fn text(text: &str) -> String {
    format!("'{}'", text.replace('\'', "''"))
}

/// The statement for the rows of level 0 that are left.
pub fn statement(levels: &[LevelFile], steps: &[StatementStep<'_>]) -> Result<String> {
    let mut script = String::new();
    match levels
        .first()
        .and_then(|level| Address::parse(&level.address))
        .map(|address| address.scheme)
    {
        None => {}
        Some(Scheme::Az) => script.push_str("INSTALL azure; LOAD azure;\n"),
        Some(_) => script.push_str("INSTALL httpfs; LOAD httpfs;\n"),
    }
    // The statement of each step reads the one before it of its level.
    let mut names: Vec<Option<String>> = vec![None; levels.len()];
    let mut parts: Vec<(String, String)> = Vec::new();
    for step in steps {
        let level = step.level();
        let from = names[level]
            .clone()
            .unwrap_or_else(|| read(&levels[level].address));
        let condition = match step {
            StatementStep::Keep { tests, .. } => {
                let conditions = tests
                    .iter()
                    .map(|test| condition(test, &levels[level].columns))
                    .collect::<Result<Vec<_>>>()?;
                conditions.join("\n  AND ")
            }
            StatementStep::Parents { by_source, .. } => {
                let (own, parent) = key_columns(*by_source);
                let below = names[level + 1]
                    .clone()
                    .unwrap_or_else(|| read(&levels[level + 1].address));
                format!(
                    "({}) IN (SELECT {} FROM {below})",
                    quote_names(own),
                    quote_names(parent)
                )
            }
        };
        let made = format!("level{level}_{}", parts.len());
        parts.push((
            made.clone(),
            format!("SELECT * FROM {from}\nWHERE {condition}"),
        ));
        names[level] = Some(made);
    }
    let all: String = parts.iter().map(|(_, part)| part.as_str()).collect();
    if all.contains("ST_") {
        script.push_str("INSTALL spatial; LOAD spatial;\n");
    }
    let zoned = |column: &FieldSpec| matches!(&column.dtype, DataType::Timestamp(_, Some(_)));
    if levels.iter().any(|level| level.columns.iter().any(zoned)) {
        script.push_str("SET TimeZone = 'UTC';\n");
    }
    match parts.len() {
        0 => {
            let _ = writeln!(script, "SELECT * FROM {};", read(&levels[0].address));
        }
        1 => {
            let _ = writeln!(script, "{};", parts[0].1);
        }
        _ => {
            let last = names[0].clone().unwrap_or_else(|| read(&levels[0].address));
            let parts: Vec<String> = parts
                .iter()
                .map(|(name, part)| format!("{name} AS (\n{part}\n)"))
                .collect();
            let _ = writeln!(script, "WITH {}\nSELECT * FROM {last};", parts.join(",\n"));
        }
    }
    Ok(script)
}

fn quote_names(columns: &[&str]) -> String {
    columns
        .iter()
        .map(|column| name(column))
        .collect::<Vec<_>>()
        .join(", ")
}

/// The rows of a Parquet file, whose name is no pattern.
fn read(address: &str) -> String {
    let plain: String = address
        .chars()
        .map(|letter| {
            if matches!(letter, '*' | '?' | '[') {
                format!("[{letter}]")
            } else {
                letter.to_string()
            }
        })
        .collect();
    // DuckDB has no escapes in texts: what shows nothing is joined by its code point.
    let quoted = text(&plain);
    let joined = with_deceptive(&quoted, |letter, written| {
        written.push_str(&format!("' || chr({}) || '", u32::from(letter)))
    });
    format!("read_parquet({joined}, hive_partitioning = false)")
}

/// A test as a condition.
///
/// # Errors
/// For a condition that can't be read.
pub fn condition(test: &Test<'_>, columns: &[FieldSpec]) -> Result<String> {
    Ok(match test {
        Test::NoPadding => format!("NOT coalesce(starts_with(id, {}), false)", text(PAD_PREFIX)),
        Test::Condition(sql) => format!("({})", quote_condition_names(sql, columns)?),
        Test::Expression(expression) => print_expression(expression)?,
        Test::DaysOfText {
            column,
            first,
            last,
        } => {
            let days = [
                print_day_bound(column, *first, ">="),
                print_day_bound(column, *last, "<="),
            ];
            days.into_iter().flatten().collect::<Vec<_>>().join(" AND ")
        }
        Test::Area {
            area,
            with: AreaWith::Column(column),
        } => {
            let place = format!("ST_GeomFromWKB({})", name(column));
            let touch = |one: &Vec<[f64; 2]>| print_intersection(&place, std::slice::from_ref(one));
            let outlines = outlines(area);
            format!(
                "({})",
                outlines.iter().map(touch).collect::<Vec<_>>().join(" OR ")
            )
        }
        Test::Area {
            area,
            with: AreaWith::Footprint(columns),
        } => footprint(&outlines(area), columns),
    })
}

fn print_day_bound(column: &str, bound: Option<i64>, order: &str) -> Option<String> {
    Some(format!(
        "TRY_CAST({} AS DATE) {order} DATE {}",
        name(column),
        text(&instant(bound?, "%Y-%m-%d"))
    ))
}

/// The test whether a geometry has a point in common with outlines of one kind.
fn print_intersection(geometry: &str, outlines: &[Vec<[f64; 2]>]) -> String {
    format!(
        "ST_Intersects({geometry}, ST_GeomFromText('{}'))",
        well_known_text(outlines)
    )
}

/// A condition as it was written, with its names in quotes as the table has them.
fn quote_condition_names(sql: &str, columns: &[FieldSpec]) -> Result<String> {
    let source = StatementSource::alone(sql);
    let tokens = statement_parser::tokens(&source)?;
    let mut tree = statement_parser::condition(&source, &tokens, &|name| {
        columns.iter().any(|column| column.name == name)
    })?;
    let find = |wanted: &str| column_named(columns, wanted);
    // DuckDB excludes row groups by their largest number, which is none of those that are no
    // number, although they are greater.
    let is_reversed = tokens.iter().any(|token| match &token.token {
        Token::Word(word) => matches!(
            word.keyword,
            Keyword::NOT | Keyword::FALSE | Keyword::DISTINCT
        ),
        _ => false,
    });
    let float = |side: &Expr| find_float_column(side, columns);
    let _ = visit_expressions_mut(&mut tree, |expr| {
        if let Expr::BinaryOp { left, op, right } = expr
            && let Some((column, op)) = match (float(left), float(right)) {
                (Some(column), None) if is_number(right) => Some((column, op.clone())),
                (None, Some(column)) if is_number(left) => Some((column, mirror_operator(op))),
                _ => None,
            }
        {
            let is_nan = format!("isnan({})", name(&column.name));
            let more = match op {
                BinaryOperator::Gt | BinaryOperator::GtEq | BinaryOperator::NotEq => {
                    Some(format!("OR {is_nan}"))
                }
                BinaryOperator::Lt | BinaryOperator::LtEq | BinaryOperator::Eq if is_reversed => {
                    Some(format!("AND NOT {is_nan}"))
                }
                _ => None,
            };
            if let Some(more) = more {
                // It stays one name: the visitor goes on above it.
                *expr = Expr::Identifier(Ident::new(format!("({expr} {more})")));
            }
            return ControlFlow::Continue(());
        }
        match expr {
            Expr::Identifier(ident) => {
                // Parameters of lambdas are no columns.
                if let Some(column) = find(&ident.value) {
                    *ident = Ident::with_quote('"', &column.name);
                }
            }
            Expr::Function(function)
                if function.name.to_string().to_lowercase().starts_with("st_")
                    && !function
                        .name
                        .to_string()
                        .eq_ignore_ascii_case("ST_GeomFromWKB") =>
            {
                let FunctionArguments::List(list) = &mut function.args else {
                    return ControlFlow::<()>::Continue(());
                };
                for argument in &mut list.args {
                    let FunctionArg::Unnamed(FunctionArgExpr::Expr(inner)) = argument else {
                        continue;
                    };
                    let Expr::Identifier(ident) = &*inner else {
                        continue;
                    };
                    if let Some(column) = find(&ident.value)
                        && is_binary(&column.dtype)
                    {
                        // It stays one name: the visitor goes on with it.
                        *inner = Expr::Identifier(Ident::new(format!(
                            "ST_GeomFromWKB({})",
                            name(&column.name)
                        )));
                    }
                }
            }
            _ => {}
        }
        ControlFlow::Continue(())
    });
    Ok(tree.to_string())
}

fn find_float_column<'c>(side: &Expr, columns: &'c [FieldSpec]) -> Option<&'c FieldSpec> {
    match side {
        Expr::Identifier(ident) => {
            column_named(columns, &ident.value).filter(|column| column.dtype.is_floating())
        }
        _ => None,
    }
}

fn is_number(expr: &Expr) -> bool {
    match expr {
        Expr::Value(_) => true,
        Expr::UnaryOp {
            op: UnaryOperator::Minus | UnaryOperator::Plus,
            expr,
        }
        | Expr::Nested(expr) => is_number(expr),
        _ => false,
    }
}

fn mirror_operator(op: &BinaryOperator) -> BinaryOperator {
    match op {
        BinaryOperator::Lt => BinaryOperator::Gt,
        BinaryOperator::LtEq => BinaryOperator::GtEq,
        BinaryOperator::Gt => BinaryOperator::Lt,
        BinaryOperator::GtEq => BinaryOperator::LtEq,
        other => other.clone(),
    }
}

/// Comparisons of times; conditions are not converted.
fn print_expression(expression: &Expression) -> Result<String> {
    Ok(match expression {
        Expression::Column { name: column, .. } => name(column),
        Expression::Int(number) => number.to_string(),
        Expression::Float(number) => format!("{number:?}"),
        Expression::Day(day) => format!(
            "DATE '{}'",
            instant(day.saturating_mul(super::expression::DAY), "%Y-%m-%d")
        ),
        Expression::Instant {
            micros,
            zone,
            nanos,
        } => {
            let written = instant(*micros, "%Y-%m-%d %H:%M:%S%.6f");
            match (zone, nanos) {
                (true, _) => format!("TIMESTAMPTZ '{written}+00'"),
                (false, true) => format!("TIMESTAMP_NS '{written}'"),
                (false, false) => format!("TIMESTAMP '{written}'"),
            }
        }
        Expression::All(list) => list
            .iter()
            .map(print_expression)
            .collect::<Result<Vec<_>>>()?
            .join(" AND "),
        Expression::Compare(comparison, left, right) => {
            let sign = match comparison {
                Comparison::Equal => "=",
                Comparison::NotEqual => "<>",
                other => other.python(),
            };
            format!(
                "{} {sign} {}",
                print_expression(left)?,
                print_expression(right)?
            )
        }
        _ => return Err(Error::internal("a range of time is no list of comparisons")),
    })
}

/// The corners of each area.
fn outlines(area: &Area) -> Vec<Vec<[f64; 2]>> {
    match area {
        Area::Boxes(boxes) => boxes.iter().map(|one| corners_of(*one)).collect(),
        Area::Polygons(polygons) => polygons.clone(),
    }
}

/// Points, lines and polygons by their corners, of one kind, as a geometry.
fn well_known_text(outlines: &[Vec<[f64; 2]>]) -> String {
    let parts: Vec<(&str, String)> = outlines
        .iter()
        .map(|corners| print_outline(corners))
        .collect();
    match parts.as_slice() {
        [(kind, text)] => format!("{kind} {text}"),
        [(kind, _), ..] => {
            format!(
                "MULTI{kind} ({})",
                parts
                    .iter()
                    .map(|(_, text)| text.as_str())
                    .collect::<Vec<_>>()
                    .join(", ")
            )
        }
        [] => "POINT EMPTY".to_owned(),
    }
}

/// The kind and the coordinates of a geometry with these corners.
fn print_outline(corners: &[[f64; 2]]) -> (&'static str, String) {
    let points: Vec<String> = corners.iter().map(|[x, y]| format!("{x} {y}")).collect();
    let points = points.join(", ");
    match corners.len() {
        1 => ("POINT", format!("({points})")),
        2 => ("LINESTRING", format!("({points})")),
        _ => ("POLYGON", format!("(({points}))")),
    }
}

/// Footprints that touch one of the areas: the first that can be found of geometry, grid and
/// centroid.
fn footprint(outlines: &[Vec<[f64; 2]>], columns: &[&str]) -> String {
    let area = format!("ST_GeomFromText('{}')", well_known_text(outlines));
    let has = |wanted: &str| columns.contains(&wanted);
    let mut found = Vec::new();
    if has("istac:geometry") {
        let crs = if has("istac:crs") {
            "coalesce(\"istac:crs\", 'OGC:CRS84')"
        } else {
            "'OGC:CRS84'"
        };
        found.push(format!(
            "TRY(ST_Intersects(ST_Transform(ST_GeomFromWKB(\"istac:geometry\"), {crs}, \
                'OGC:CRS84', always_xy := true), {area}))"
        ));
    }
    let shapes = ["stac:tensor_shape", "stac:raster_shape"];
    if has("stac:crs") && has("stac:geotransform") && shapes.iter().any(|shape| has(shape)) {
        let shapes: Vec<String> = shapes
            .iter()
            .filter(|shape| has(shape))
            .map(|shape| name(shape))
            .collect();
        let shape = if shapes.len() > 1 {
            format!("coalesce({})", shapes.join(", "))
        } else {
            shapes.concat()
        };
        // 16 points an edge: it bends in degrees. Longitudes go on over the antimeridian.
        let part = "((i % 16) / 16.0)";
        let along = format!("[{part}, 1, 1 - {part}, 0][i // 16 % 4 + 1] * {shape}[-1]");
        let down = format!("[0, {part}, 1, 1 - {part}][i // 16 % 4 + 1] * {shape}[-2]");
        let g = |place: usize| format!("\"stac:geotransform\"[{place}]");
        let (x, y) = (
            format!("{} + {along} * {} + {down} * {}", g(1), g(2), g(3)),
            format!("{} + {along} * {} + {down} * {}", g(4), g(5), g(6)),
        );
        let points = format!(
            "[ST_Transform(ST_Point({x},\n      {y}), \"stac:crs\", 'OGC:CRS84', always_xy := \
                true) for i in range(65)]"
        );
        let degrees = format!(
            "abs(ST_X(points[1]) - {}) < 0.01 AND abs(ST_Y(points[1]) - {}) < 0.01",
            g(1),
            g(4)
        );
        let lon = format!(
            "CASE WHEN {degrees} THEN ST_X(point)\n      ELSE ST_X(point) - 360 * \
                round((ST_X(point) - ST_X(points[1])) / 360) END"
        );
        found.push(format!(
            "TRY(ST_Intersects([ST_MakePolygon(ST_MakeLine([ST_Point({lon}, ST_Y(point)) for point \
                in points]))\n    \
             for points in [{points}]][1],\n    {area}))"
        ));
    }
    for column in ["stac:centroid", "istac:centroid"]
        .into_iter()
        .filter(|column| has(column))
    {
        found.push(format!(
            "ST_Intersects(ST_GeomFromWKB({}), {area})",
            name(column)
        ));
    }
    format!("coalesce({}, false)", found.join(",\n    "))
}
