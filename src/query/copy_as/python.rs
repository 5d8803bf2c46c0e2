//! Scripts for Polars, Spark and Dask. They differ from DuckDB, and from one another, in how names,
//! constants, patterns and numbers that are no number (NaN) are written.

use super::expression::{Comparison, Expression, ExpressionType, ValueFunction};
use super::{
    Area, AreaWith, LevelFile, ParquetEngine, StatementStep, Test, instant, key_columns,
    unsupported_members,
};
use crate::error::{Error, Result};
use crate::model::{Address, FieldSpec, PAD_PREFIX, Scheme};
use crate::text::with_deceptive;
use arrow::datatypes::{DataType, TimeUnit};

/// Functions that compare footprints with an area.
const FOOTPRINT_TOUCHES: &str = include_str!("footprint_touches.py");
/// Functions that compare stored geometries with an area.
const GEOMETRY_TOUCHES: &str = include_str!("geometry_touches.py");

/// A text as a string literal of Python; what shows nothing in an editor, or changes the order of
/// the line, is escaped.
pub fn string(text: &str) -> String {
    let quoted = serde_json::Value::from(text).to_string();
    with_deceptive(&quoted, |letter, written| {
        written.push_str(&format!("\\U{:08x}", u32::from(letter)))
    })
    .into_owned()
}

fn number(number: f64) -> String {
    format!("{number:?}")
}

/// The script for the rows of level 0 that are left.
pub fn script(
    engine: ParquetEngine,
    levels: &[LevelFile],
    steps: &[StatementStep<'_>],
) -> Result<String> {
    let mut used: Vec<usize> = steps.iter().map(StatementStep::level).chain([0]).collect();
    used.sort_unstable();
    used.dedup();
    let mut body = String::new();
    let mut areas = 0;
    let mut helpers = String::new();
    for &level in &used {
        body.push_str(&format!(
            "level{level} = {}\n",
            read(engine, &levels[level])?
        ));
    }
    for step in steps {
        match step {
            StatementStep::Keep { level, tests } => {
                for test in tests {
                    if let Test::Area { area, with } = test {
                        areas += 1;
                        let function = format!("touches_area_{areas}");
                        helpers.push_str(&helper(area, with, areas));
                        body.push_str(&apply(engine, *level, &function, &with.columns()));
                    } else {
                        let condition = Printer {
                            engine,
                            level: *level,
                            is_reversed: false,
                        }
                        .test(test)?;
                        body.push_str(&match engine {
                            ParquetEngine::Dask => {
                                format!("level{level} = level{level}[{condition}]\n")
                            }
                            _ => format!("level{level} = level{level}.filter({condition})\n"),
                        });
                    }
                }
            }
            StatementStep::Parents { level, by_source } => {
                body.push_str(&parents(engine, *level, *by_source))
            }
        }
    }
    let mut head = String::new();
    if body.contains("datetime.") {
        head.push_str("import datetime\n\n");
    }
    match engine {
        ParquetEngine::Polars => {
            let mut members = used
                .iter()
                .map(|&level| &levels[level])
                .filter(|level| level.member.is_some());
            match members.next().map(|level| Address::parse(&level.address)) {
                Some(Some(_)) => head.push_str("import fsspec\n"),
                Some(None) => head.push_str("import zipfile\n\n"),
                None => {}
            }
            head.push_str("import polars as pl\n");
        }
        ParquetEngine::Spark => {
            head.push_str("from pyspark.sql import SparkSession, functions as F\n")
        }
        _ => {
            head.push_str("import dask.dataframe as dd\n");
            head.push_str("import pandas as pd\nimport pyarrow as pa\n\n");
            head.push_str("TEXT, BOOL = pd.ArrowDtype(pa.string()), pd.ArrowDtype(pa.bool_())\n");
        }
    }
    head.push_str(&helpers);
    head.push('\n');
    if engine == ParquetEngine::Spark {
        let nanos = |column: &FieldSpec| {
            matches!(column.dtype, DataType::Timestamp(TimeUnit::Nanosecond, _))
        };
        head.push_str(
            "spark = SparkSession.builder.getOrCreate()\n\
            spark.conf.set(\"spark.sql.session.timeZone\", \"UTC\")\n",
        );
        if used
            .iter()
            .any(|&level| levels[level].columns.iter().any(nanos))
        {
            head.push_str(
                "# Times in nanoseconds are read as whole numbers.\n\
                spark.conf.set(\"spark.sql.legacy.parquet.nanosAsLong\", \"true\")\n",
            );
        }
    }
    let end = match engine {
        ParquetEngine::Polars => "rows = level0.collect()\n",
        ParquetEngine::Spark => "rows = level0  # lazy: rows.show(), rows.write.parquet(…)\n",
        _ => "rows = level0  # lazy: rows.compute(), rows.to_parquet(…)\n",
    };
    Ok(head + &body + end)
}

fn read(engine: ParquetEngine, level: &LevelFile) -> Result<String> {
    let address = Address::parse(&level.address);
    let scheme = address.map(|address| address.scheme);
    if let Some(member) = &level.member {
        return read_member(engine, level, member, scheme);
    }
    Ok(match engine {
        ParquetEngine::Polars => format!("pl.scan_parquet({}, glob=False)", string(&level.address)),
        ParquetEngine::Spark => {
            for column in &level.columns {
                if matches!(
                    column.dtype,
                    DataType::Time32(_) | DataType::Time64(_) | DataType::Float16
                ) {
                    let error =
                        Error::unsupported(format!("Spark does not read column {}", column.name));
                    return Err(error
                        .because(super::expression::type_name(column))
                        .hint("copy the filter for another engine"));
                }
            }
            let path = match (scheme, level.address.split_once("://")) {
                (Some(Scheme::S3), Some((_, rest))) => format!("s3a://{rest}"),
                (Some(Scheme::Http | Scheme::Https | Scheme::Az), _) => {
                    let error = Error::unsupported("Spark does not read tables at this address")
                        .at_place(&level.address);
                    return Err(error.hint(
                        "copy the index to a store or a folder that Spark reads, \
                        or take another engine",
                    ));
                }
                _ => level.address.clone(),
            };
            // A path is a pattern; colons and blanks are none.
            let plain: String = path
                .chars()
                .flat_map(|letter| {
                    if r"*?[]{}\".contains(letter) {
                        vec!['\\', letter]
                    } else {
                        vec![letter]
                    }
                })
                .collect();
            format!("spark.read.parquet({})", string(&plain))
        }
        _ if level.address.contains('*') => {
            let error = Error::unsupported("Dask takes a path with * for a pattern")
                .at_place(&level.address);
            return Err(error.hint("rename the folder, or copy the filter for another engine"));
        }
        _ => format!(
            "dd.read_parquet({}, index=False, dtype_backend=\"pyarrow\")",
            string(&level.address)
        ),
    })
}

/// Reads a table that is a member of a ZIP, through fsspec where the ZIP is not on this machine.
fn read_member(
    engine: ParquetEngine,
    level: &LevelFile,
    member: &str,
    scheme: Option<Scheme>,
) -> Result<String> {
    // fsspec takes `::` for the end of an inner address.
    if level.address.contains("::") && (engine == ParquetEngine::Dask || scheme.is_some()) {
        let error = Error::unsupported("addresses with :: can't be read within a ZIP")
            .at_place(&level.address);
        return Err(error.hint("rename the file, or copy the code for tacoreader"));
    }
    let chained = string(&format!("zip://{member}::{}", level.address));
    match (engine, scheme) {
        (ParquetEngine::Polars, None) => Ok(format!(
            "pl.scan_parquet(zipfile.ZipFile({}).read({}))",
            string(&level.address),
            string(member)
        )),
        (ParquetEngine::Polars, Some(_)) => Ok(format!(
            "pl.scan_parquet(fsspec.open({chained}).open().read())"
        )),
        (ParquetEngine::Dask, _) => Ok(format!(
            "dd.read_parquet({chained}, index=False, dtype_backend=\"pyarrow\")"
        )),
        (ParquetEngine::DuckDb | ParquetEngine::Spark, _) => {
            Err(unsupported_members(engine).at_place(&level.address))
        }
    }
}

/// The functions that compare a row with an area.
fn helper(area: &Area, with: &AreaWith<'_>, count: usize) -> String {
    let (head, parts) = match area {
        Area::Boxes(boxes) => {
            let list: Vec<String> = boxes.iter().map(|one| print_tuple(one)).collect();
            (
                format!(
                    "# west, south, east, north in degrees\nBOXES = [{}]\n",
                    list.join(", ")
                ),
                "shapely.MultiPoint([(west, south), (east, north)]).envelope \
                 for west, south, east, north in BOXES",
            )
        }
        Area::Polygons(polygons) => {
            let list: String = polygons
                .iter()
                .map(|corners| print_corners(corners))
                .collect();
            (
                format!("# longitude, latitude in degrees\nPOLYGONS = [\n{list}]\n"),
                "shapely.Polygon(corners) for corners in POLYGONS",
            )
        }
    };
    let code = match with {
        AreaWith::Footprint(_) => FOOTPRINT_TOUCHES,
        AreaWith::Column(_) => GEOMETRY_TOUCHES,
    };
    let mut code = format!("\n{head}{}", code.replace("PARTS", parts));
    // Several areas have names of their own.
    for name in ["AREA", "BOXES", "POLYGONS", "touches_area"] {
        code = code.replace(name, &format!("{name}_{count}"));
    }
    code
}

fn print_tuple(numbers: &[f64]) -> String {
    let numbers: Vec<String> = numbers.iter().copied().map(number).collect();
    format!("({})", numbers.join(", "))
}

/// The corners of a polygon, as a line of a list.
fn print_corners(corners: &[[f64; 2]]) -> String {
    let corners: Vec<String> = corners.iter().map(|one| print_tuple(one)).collect();
    format!("    [{}],\n", corners.join(", "))
}

/// Keeps the rows for which a function of a row is true.
fn apply(engine: ParquetEngine, level: usize, function: &str, columns: &[&str]) -> String {
    let quoted: Vec<String> = columns.iter().map(|column| string(column)).collect();
    let list = quoted.join(", ");
    match engine {
        ParquetEngine::Polars => format!(
            "level{level} = level{level}.filter(\n    pl.struct({list}).map_batches(\n        \
                lambda rows: pl.Series([{function}(row) \
             for row in rows.to_list()], dtype=pl.Boolean), return_dtype=pl.Boolean\n    )\n)\n"
        ),
        ParquetEngine::Spark => {
            let columns: Vec<String> = columns.iter().map(|column| spark_column(column)).collect();
            format!(
                "level{level} = level{level}.filter(F.udf(lambda row: {function}(row.asDict()), \
                    \"boolean\")(F.struct({})))\n",
                columns.join(", ")
            )
        }
        _ => format!(
            "level{level} = level{level}.map_partitions(\n    lambda part: part[[{function}(row) \
                for row in \
             pa.Table.from_pandas(part[[{list}]], preserve_index=False).to_pylist()]], \
                meta=level{level}._meta\n)\n"
        ),
    }
}

fn spark_column(name: &str) -> String {
    format!(
        "F.col({})",
        string(&format!("`{}`", name.replace('`', "``")))
    )
}

/// Keeps the rows of a level that have a row left below them.
fn parents(engine: ParquetEngine, level: usize, by_source: bool) -> String {
    let (own, parent) = key_columns(by_source);
    let below = level + 1;
    match engine {
        ParquetEngine::Polars => {
            let (own, parent) = (print_strings(own), print_strings(parent));
            format!(
                "level{level} = level{level}.join(level{below}, left_on={own}, right_on={parent}, \
                    how=\"semi\")\n"
            )
        }
        ParquetEngine::Spark => {
            let renamed = parent
                .iter()
                .zip(own)
                .map(|(from, to)| format!("{}.alias({})", spark_column(from), string(to)));
            let renamed = renamed.collect::<Vec<_>>().join(", ");
            format!(
                "level{level} = level{level}.join(level{below}.select({renamed}), {}, \
                    \"left_semi\")\n",
                print_strings(own)
            )
        }
        _ => {
            let (own, parent) = (print_strings(own), print_strings(parent));
            format!(
                "keys = level{below}[{parent}].rename(columns={{\"internal:parent_id\": \
                    \"internal:current_id\"}}).drop_duplicates()\n\
                 level{level} = level{level}.merge(keys, on={own})\n"
            )
        }
    }
}

/// A list of strings.
fn print_strings(texts: &[&str]) -> String {
    let texts: Vec<String> = texts.iter().map(|text| string(text)).collect();
    format!("[{}]", texts.join(", "))
}

struct Printer {
    engine: ParquetEngine,
    level: usize,
    /// The condition has a NOT, or a value for null: a comparison may be reversed.
    is_reversed: bool,
}

impl Printer {
    fn test(&self, test: &Test<'_>) -> Result<String> {
        match test {
            Test::NoPadding => {
                let id = self.text_column("id", false);
                let prefix = string(PAD_PREFIX);
                Ok(match self.engine {
                    ParquetEngine::Polars => {
                        format!("~{id}.str.starts_with({prefix}).fill_null(False)")
                    }
                    ParquetEngine::Spark => {
                        format!("~F.coalesce({id}.startswith({prefix}), F.lit(False))")
                    }
                    _ => format!("~{id}.str.startswith({prefix}).fillna(False)"),
                })
            }
            Test::Expression(expression) => self.print_condition(expression),
            Test::DaysOfText { column, .. } => {
                let error = Error::unsupported(format!(
                    "times in the text of column {column} can't be written for {}",
                    self.engine.name()
                ));
                Err(error.hint("copy the filter for DuckDB, or store the column as timestamps"))
            }
            Test::Condition(_) | Test::Area { .. } => {
                Err(Error::internal("a test of another engine"))
            }
        }
    }

    fn print_condition(&self, expression: &Expression) -> Result<String> {
        // Spark has nanoseconds as numbers.
        if self.engine == ParquetEngine::Spark && expression.any(&is_part_of_nanos) {
            let error =
                Error::unsupported("a part of a time in nanoseconds can't be written for Spark");
            return Err(
                error.hint("compare the column with times, or copy the filter for another engine")
            );
        }
        let is_reversed =
            expression.any(&|one| matches!(one, Expression::Not(_) | Expression::Coalesce(..)));
        Ok(Self {
            is_reversed,
            ..*self
        }
        .print(expression))
    }

    fn column(&self, name: &str) -> String {
        match self.engine {
            ParquetEngine::Polars => format!("pl.col({})", string(name)),
            ParquetEngine::Spark => spark_column(name),
            _ => format!("level{}[{}]", self.level, string(name)),
        }
    }

    fn text_column(&self, name: &str, dictionary: bool) -> String {
        let column = self.column(name);
        match self.engine {
            ParquetEngine::Polars if dictionary => format!("{column}.cast(pl.String)"),
            // Comparisons of other texts have no null, and do not combine with those that have.
            ParquetEngine::Dask => format!("{column}.astype(TEXT)"),
            _ => column,
        }
    }

    fn print(&self, expression: &Expression) -> String {
        let (polars, spark) = (
            self.engine == ParquetEngine::Polars,
            self.engine == ParquetEngine::Spark,
        );
        match expression {
            Expression::Column {
                name,
                kind,
                dictionary,
            } => {
                let column = self.column(name);
                match (kind, self.engine) {
                    (ExpressionType::Text, _) => self.text_column(name, *dictionary),
                    (ExpressionType::Time { nanos: true, .. }, ParquetEngine::Polars) => column,
                    (ExpressionType::Time { zone: true, .. }, ParquetEngine::Polars) => {
                        format!("{column}.dt.convert_time_zone(\"UTC\")")
                    }
                    (ExpressionType::Time { zone: true, .. }, ParquetEngine::Dask) => {
                        format!("{column}.dt.tz_convert(\"UTC\")")
                    }
                    _ => column,
                }
            }
            Expression::Bool(value) => self.literal(if *value {
                "True".to_owned()
            } else {
                "False".to_owned()
            }),
            Expression::Int(number) => number.to_string(),
            Expression::Float(value) => number(*value),
            Expression::Text(text) => self.literal(string(text)),
            Expression::Day(day) => self.literal(instant(
                day.saturating_mul(super::expression::DAY),
                "datetime.date(%-Y, %-m, %-d)",
            )),
            Expression::Instant {
                micros,
                zone,
                nanos,
            } => self.instant(*micros, *zone, *nanos),
            Expression::Not(inner) => format!("~{}", self.print_bracketed(inner)),
            Expression::All(list) => self.chain(list, " & "),
            Expression::Any(list) => self.chain(list, " | "),
            Expression::Compare(comparison, left, right) => self.compare(*comparison, left, right),
            Expression::IsNull(inner) => {
                let method = if polars {
                    "is_null()"
                } else if spark {
                    "isNull()"
                } else {
                    "isna().astype(BOOL)"
                };
                format!("{}.{method}", self.print_bracketed(inner))
            }
            Expression::Coalesce(value, other) => {
                let (value, other) = (self.print_bracketed(value), self.print(other));
                if polars {
                    format!("{value}.fill_null({other})")
                } else if spark {
                    format!("F.coalesce({value}, F.lit({other}))")
                } else {
                    format!("{value}.fillna({other})")
                }
            }
            Expression::In(value, items) => {
                let value = self.print_bracketed(value);
                let items: Vec<String> = items.iter().map(|item| self.print_item(item)).collect();
                let items = items.join(", ");
                if polars {
                    format!("{value}.is_in([{items}])")
                } else if spark {
                    format!("{value}.isin([{items}])")
                } else {
                    // Null is in no list, and not outside of one either.
                    format!("(({value} != {value}) | {value}.isin([{items}]))")
                }
            }
            Expression::Matches(value, regex) => {
                let value = self.print_bracketed(value);
                if polars {
                    format!("{value}.str.contains({})", string(regex))
                } else if spark {
                    // In Java $ also matches before a last line break, and (?i) compares ASCII
                    // alone.
                    let regex = match regex.strip_suffix('$') {
                        Some(rest) if !rest.ends_with('\\') => format!("{rest}\\z"),
                        _ => regex.clone(),
                    };
                    format!("{value}.rlike({})", string(&format!("(?u){regex}")))
                } else {
                    format!("{value}.str.contains({}, regex=True)", string(regex))
                }
            }
            Expression::Arithmetic(sign, left, right) => {
                format!("({} {sign} {})", self.print(left), self.print(right))
            }
            Expression::Call(function, value) => self.call(*function, value),
        }
    }

    fn print_item(&self, item: &Expression) -> String {
        match item {
            Expression::Text(text) => string(text),
            other => self.print(other),
        }
    }

    /// A constant of Python as an expression of the engine.
    fn literal(&self, constant: String) -> String {
        match self.engine {
            ParquetEngine::Polars => format!("pl.lit({constant})"),
            ParquetEngine::Spark => format!("F.lit({constant})"),
            _ => constant,
        }
    }

    /// The same within brackets, unless methods can be called of it.
    fn print_bracketed(&self, expression: &Expression) -> String {
        let printed = self.print(expression);
        match expression {
            Expression::Not(_) | Expression::Call(ValueFunction::Negative, _) => {
                format!("({printed})")
            }
            _ => printed,
        }
    }

    fn chain(&self, list: &[Expression], sign: &str) -> String {
        format!(
            "({})",
            list.iter()
                .map(|one| self.print_bracketed(one))
                .collect::<Vec<_>>()
                .join(sign)
        )
    }

    fn instant(&self, micros: i64, zone: bool, nanos: bool) -> String {
        let written = |form: &str| instant(micros, form);
        match self.engine {
            // Nanoseconds are compared as numbers: as times they would be cut to microseconds.
            ParquetEngine::Polars | ParquetEngine::Spark if nanos => {
                (i128::from(micros) * 1_000).to_string()
            }
            ParquetEngine::Polars => {
                let zone = if zone {
                    ", tzinfo=datetime.timezone.utc"
                } else {
                    ""
                };
                let fraction = micros.rem_euclid(1_000_000);
                let parts = written("%-Y, %-m, %-d, %-H, %-M, %-S");
                format!("pl.lit(datetime.datetime({parts}, {fraction}{zone}))")
            }
            ParquetEngine::Spark => {
                let (end, kind) = if zone {
                    ("Z", "timestamp")
                } else {
                    ("", "timestamp_ntz")
                };
                format!(
                    "F.lit(\"{}{end}\").cast(\"{kind}\")",
                    written("%Y-%m-%dT%H:%M:%S%.6f")
                )
            }
            _ => {
                let zone = if zone { ", tz=\"UTC\"" } else { "" };
                format!(
                    "pd.Timestamp(\"{}\"{zone})",
                    written("%Y-%m-%dT%H:%M:%S%.6f")
                )
            }
        }
    }

    fn compare(&self, comparison: Comparison, left: &Expression, right: &Expression) -> String {
        let sign = comparison.python();
        let (l, r) = (self.print_bracketed(left), self.print_bracketed(right));
        if self.engine == ParquetEngine::Polars
            && matches!(left.kind(), ExpressionType::Time { nanos: true, .. })
        {
            let (l, r) = (print_nanoseconds(left, l), print_nanoseconds(right, r));
            return format!("({l} {sign} {r})");
        }
        let plain = format!("({l} {sign} {r})");
        let has_float = is_float_column(left) || is_float_column(right);
        if self.engine == ParquetEngine::Polars || !has_float {
            return plain;
        }
        if self.engine == ParquetEngine::Spark {
            // Spark excludes row groups by their largest number, which is none of those that are no
            // number, although they are greater.
            return match (right, comparison) {
                (
                    Expression::Float(_) | Expression::Int(_),
                    Comparison::Greater | Comparison::GreaterOrEqual | Comparison::NotEqual,
                ) => {
                    format!("({plain} | F.isnan({l}))")
                }
                (Expression::Float(_) | Expression::Int(_), _) if self.is_reversed => {
                    format!("({plain} & ~F.isnan({l}))")
                }
                _ => plain,
            };
        }
        // DuckDB takes what is no number as equal to itself and greater than all others.
        let nan = |one: &str| format!("({one} != {one})");
        if matches!(right, Expression::Float(_) | Expression::Int(_)) {
            return match comparison {
                Comparison::Greater | Comparison::GreaterOrEqual => {
                    format!("({plain} | {})", nan(&l))
                }
                _ => plain,
            };
        }
        let is_known = |one: &str| format!("(({one} == {one}) | ({one} != {one}))");
        match comparison {
            Comparison::Equal => format!("({plain} | ({} & {}))", nan(&l), nan(&r)),
            Comparison::NotEqual => format!("({plain} & ~({} & {}))", nan(&l), nan(&r)),
            Comparison::Greater => format!("({plain} | ({} & ~{}))", nan(&l), nan(&r)),
            Comparison::GreaterOrEqual => format!("({plain} | ({} & {}))", nan(&l), is_known(&r)),
            Comparison::Less => format!("({plain} | ({} & ~{}))", nan(&r), nan(&l)),
            Comparison::LessOrEqual => format!("({plain} | ({} & {}))", nan(&r), is_known(&l)),
        }
    }

    fn call(&self, function: ValueFunction, value: &Expression) -> String {
        let value = self.print_bracketed(value);
        let [polars, spark, dask] = match function {
            ValueFunction::Lower => [".str.to_lowercase()", "lower", ".str.lower()"],
            ValueFunction::Upper => [".str.to_uppercase()", "upper", ".str.upper()"],
            ValueFunction::Length => [".str.len_chars()", "length", ".str.len()"],
            ValueFunction::Absolute => [".abs()", "abs", ".abs()"],
            ValueFunction::Year => [".dt.year()", "year", ".dt.year"],
            ValueFunction::Month => [".dt.month()", "month", ".dt.month"],
            ValueFunction::Day => [".dt.day()", "dayofmonth", ".dt.day"],
            ValueFunction::Hour => [".dt.hour()", "hour", ".dt.hour"],
            ValueFunction::Date => [".dt.date()", "to_date", ".dt.floor(\"D\")"],
            ValueFunction::Negative => return format!("-{value}"),
        };
        match self.engine {
            ParquetEngine::Polars => format!("{value}{polars}"),
            ParquetEngine::Spark => format!("F.{spark}({value})"),
            _ => format!("{value}{dask}"),
        }
    }
}

/// True for a part of a time in nanoseconds.
fn is_part_of_nanos(one: &Expression) -> bool {
    use ValueFunction::{Day, Hour, Month, Year};
    let Expression::Call(Year | Month | Day | Hour, time) = one else {
        return false;
    };
    matches!(time.kind(), ExpressionType::Time { nanos: true, .. })
}

/// A time in nanoseconds as a number; a constant is written as one already.
fn print_nanoseconds(one: &Expression, text: String) -> String {
    match one {
        Expression::Instant { .. } => text,
        _ => format!("{text}.dt.timestamp(\"ns\")"),
    }
}

/// True for fractions that are not written in the condition.
fn is_float_column(one: &Expression) -> bool {
    matches!(one.kind(), ExpressionType::Float { .. }) && !matches!(one, Expression::Float(_))
}
