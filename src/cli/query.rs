//! `query`: filters and SQL over an opened dataset, as a table, CSV, JSON or Parquet.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use clap::ValueEnum;
use clap::builder::PossibleValue;

use super::output::{Terminal, print, print_data, say};
use super::runner::{open, operate};
use crate::container::{is_same_file, write_document};
use crate::error::{Error, IoContext, Result};
use crate::export::{ModuleOpening, module_code};
use crate::ops::{QueryRequest, RowChoice, copy_as, json_lines};
use crate::query::copy_as::ParquetEngine;
use crate::query::{BoxTest, Filter, Query, QueryResult, polygon_from_text};
use crate::table::{ParquetOptions, write_parquet};

/// How rows are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum RowFormat {
    /// Columns for the eye.
    Table,
    /// Comma-separated values.
    Csv,
    /// JSON objects, one per line.
    Json,
    /// Parquet; needs a file.
    Parquet,
}

/// What copies the filters: an engine that reads the dataset's Parquet files, or the module.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum CopyAs {
    /// SQL.
    Duckdb,
    /// Python.
    Polars,
    /// Python, through PySpark.
    Spark,
    /// Python, Dask DataFrame.
    Dask,
    /// Python, the module taco_studio: any dataset, with --sql.
    Python,
}

impl CopyAs {
    /// The engine; `None` for the module.
    fn engine(self) -> Option<ParquetEngine> {
        Some(match self {
            CopyAs::Duckdb => ParquetEngine::DuckDb,
            CopyAs::Polars => ParquetEngine::Polars,
            CopyAs::Spark => ParquetEngine::Spark,
            CopyAs::Dask => ParquetEngine::Dask,
            CopyAs::Python => return None,
        })
    }
}

/// What a box is compared with, as arguments name it.
impl ValueEnum for BoxTest {
    fn value_variants<'a>() -> &'a [Self] {
        &[Self::Footprint, Self::Centroid]
    }

    fn to_possible_value(&self) -> Option<PossibleValue> {
        Some(match self {
            Self::Footprint => PossibleValue::new("footprint").help(
                "The footprint: istac:geometry in the system of istac:crs, else the corners of the \
                    raster, else the centroid",
            ),
            Self::Centroid => PossibleValue::new("centroid").help(
                "The column that tacoreader compares, as it is stored: the first of \
                    istac:geometry, stac:centroid and istac:centroid",
            ),
        })
    }
}

/// Corners of a polygon, longitude and latitude in degrees.
#[derive(Clone, Debug, PartialEq)]
pub struct PolygonCorners(Vec<[f64; 2]>);

/// Which rows: shared by `query` and all that writes a part of a dataset.
#[derive(Debug, Default, clap::Args)]
#[command(group = clap::ArgGroup::new("place").args(["bbox", "polygon"]).multiple(true))]
pub struct FilterArguments {
    /// Rows whose footprint touches this box in degrees: west,south,east,north; west greater than
    /// east crosses the antimeridian.
    #[arg(long, value_name = "W,S,E,N", allow_hyphen_values = true, value_parser = parse_box)]
    pub bbox: Option<[f64; 4]>,
    /// Rows whose footprint touches this polygon: its corners in degrees, as LON,LAT LON,LAT
    /// LON,LAT or as WKT, or a file with WKT or GeoJSON.
    #[arg(
        long,
        value_name = "CORNERS|FILE",
        allow_hyphen_values = true,
        value_parser = parse_polygon,
    )]
    pub polygon: Option<PolygonCorners>,
    /// Geometry that the box or polygon is compared with; footprints when absent.
    #[arg(long, value_name = "WHAT", requires = "place")]
    pub by: Option<BoxTest>,
    /// Rows of these days or times: 2021-01-01/2021-12-31, 2021-01-01/.., ../2021-12-31T10:30:00Z,
    /// one day, or one instant. A date is its whole day; times are in UTC unless they have an
    /// offset.
    #[arg(long, value_name = "FROM/TO")]
    pub datetime: Option<String>,
    /// Rows that meet this condition in SQL.
    #[arg(long = "where", value_name = "CONDITION")]
    pub condition: Option<String>,
    /// The level that the filters look at, 0 when absent; ancestors of its rows stay. With FILTER
    /// (bbox, polygon, datetime or where) that of one filter: --where "…" --level where:1 --bbox …
    /// --level bbox:0. Can be repeated, in any order.
    #[arg(long, value_name = "[FILTER:]N", value_parser = parse_level)]
    pub level: Vec<FilterLevel>,
    /// The column of WKB geometries; stac:geotransform for the corners of rasters.
    #[arg(long, value_name = "NAME")]
    pub geometry_column: Option<String>,
    /// The column of times.
    #[arg(long, value_name = "NAME")]
    pub time_column: Option<String>,
}

/// A filter of the command line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum FilterKind {
    Box,
    Polygon,
    Time,
    Condition,
}

impl FilterKind {
    const ALL: [Self; 4] = [Self::Box, Self::Polygon, Self::Time, Self::Condition];

    /// The name of its option.
    const fn option(self) -> &'static str {
        match self {
            Self::Box => "bbox",
            Self::Polygon => "polygon",
            Self::Time => "datetime",
            Self::Condition => "where",
        }
    }
}

/// The level of one filter, or of those whose level is not named.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FilterLevel {
    filter: Option<FilterKind>,
    level: usize,
}

impl FilterArguments {
    /// A step for each level that is named, the upper ones first; none when nothing was asked.
    ///
    /// # Errors
    /// [`crate::error::Kind::Usage`] when a filter has two levels, or a level is that of a filter
    /// that is not there.
    pub fn filters(self) -> Result<Vec<Filter>> {
        let each = "write --level FILTER:N, where FILTER is bbox, polygon, datetime or where";
        if self.list_levels_for(None).count() > 1 {
            return Err(Error::usage("--level names two levels for all filters").hint(each));
        }
        let mut steps: BTreeMap<usize, Filter> = BTreeMap::new();
        for filter in FilterKind::ALL {
            let option = filter.option();
            if self.list_levels_for(Some(filter)).count() > 1 {
                return Err(
                    Error::usage(format!("--level names two levels for --{option}")).hint(each),
                );
            }
            let own = self.list_levels_for(Some(filter)).next();
            if !self.is_filter_given(filter) {
                if own.is_some() {
                    return Err(Error::usage(format!(
                        "--level names the level of --{option}, which is not given"
                    )));
                }
                continue;
            }
            let level = own
                .or_else(|| self.list_levels_for(None).next())
                .unwrap_or_default();
            let step = steps.entry(level).or_insert_with(|| Filter {
                level,
                ..Filter::default()
            });
            match filter {
                FilterKind::Box | FilterKind::Polygon => {
                    if filter == FilterKind::Box {
                        step.bbox = self.bbox;
                    } else {
                        step.polygon = self.polygon.clone().map(|corners| corners.0);
                    }
                    step.by = self.by.unwrap_or(BoxTest::Footprint);
                    step.geometry_column.clone_from(&self.geometry_column);
                }
                FilterKind::Time => {
                    step.datetime.clone_from(&self.datetime);
                    step.time_column.clone_from(&self.time_column);
                }
                FilterKind::Condition => step.condition.clone_from(&self.condition),
            }
        }
        Ok(steps.into_values().collect())
    }

    fn is_filter_given(&self, filter: FilterKind) -> bool {
        match filter {
            FilterKind::Box => self.bbox.is_some(),
            FilterKind::Polygon => self.polygon.is_some(),
            FilterKind::Time => self.datetime.is_some(),
            FilterKind::Condition => self.condition.is_some(),
        }
    }

    fn list_levels_for(&self, filter: Option<FilterKind>) -> impl Iterator<Item = usize> {
        self.level
            .iter()
            .filter(move |one| one.filter == filter)
            .map(|one| one.level)
    }
}

/// Which samples of level 0: steps of a filter, a statement, ids, and how many at the most.
#[derive(Debug, clap::Args)]
pub struct RowArguments {
    #[command(flatten)]
    pub filter: FilterArguments,
    /// A statement whose column id names the samples: SELECT id FROM data WHERE …. With --limit,
    /// its ORDER BY decides which samples are taken; the samples keep the order of the dataset.
    #[arg(long, value_name = "STATEMENT")]
    pub sql: Option<String>,
    /// Only these samples of level 0.
    #[arg(long, value_name = "ID,…", value_delimiter = ',')]
    pub ids: Option<Vec<String>>,
    /// Maximum number of samples of level 0: the first in the result of --sql, else the first of
    /// the dataset.
    #[arg(long, value_name = "N")]
    pub limit: Option<usize>,
}

impl RowArguments {
    /// As the studio takes them.
    ///
    /// # Errors
    /// Those of [`FilterArguments::filters`].
    pub fn choice(self) -> Result<RowChoice> {
        Ok(RowChoice {
            filters: self.filter.filters()?,
            sql: self.sql,
            ids: self.ids,
            limit: self.limit,
        })
    }
}

/// Four numbers with commas between them.
pub(super) fn parse_box(text: &str) -> std::result::Result<[f64; 4], String> {
    let numbers: Vec<f64> = text
        .split(',')
        .map(|part| {
            part.trim()
                .parse()
                .map_err(|_| format!("{part} is not a number"))
        })
        .collect::<std::result::Result<_, _>>()?;
    numbers
        .try_into()
        .map_err(|numbers: Vec<f64>| format!("a box has 4 numbers, not {}", numbers.len()))
}

/// The corners of a polygon: the text, or the text of the file that it names.
fn parse_polygon(text: &str) -> std::result::Result<PolygonCorners, String> {
    let path = Path::new(text);
    let from_file = path
        .is_file()
        .then(|| crate::files::read_to_string(path).io_at("read the polygon", path));
    let corners = match from_file.transpose() {
        Ok(Some(content)) => polygon_from_text(&content),
        Ok(None) => polygon_from_text(text),
        Err(error) => Err(error),
    };
    corners.map(PolygonCorners).map_err(|error| error.report())
}

/// A number, or the name of a filter, a colon and a number.
fn parse_level(text: &str) -> std::result::Result<FilterLevel, String> {
    let (filter, level) = match text.split_once(':') {
        None => (None, text),
        Some((name, level)) => match FilterKind::ALL
            .into_iter()
            .find(|filter| filter.option() == name)
        {
            Some(filter) => (Some(filter), level),
            None => {
                return Err(format!(
                    "there is no filter {name}: it is bbox, polygon, datetime or where"
                ));
            }
        },
    };
    let level = level
        .trim()
        .parse()
        .map_err(|_| format!("{level} is not the number of a level"))?;
    Ok(FilterLevel { filter, level })
}

/// Arguments of `query`.
#[derive(Debug, clap::Args)]
pub struct QueryArguments {
    /// The dataset.
    pub path: PathBuf,
    #[command(flatten)]
    pub join: super::opening::JoinArguments,
    /// The statement, over what the filters left; all of data when absent. Several run one after
    /// the other: each finds what the one before it gave in the table data.
    ///
    /// Statements mean what they mean to DuckDB, but for these: logarithms and roots of numbers
    /// that have none are -inf and NaN, where DuckDB stops; integers beyond 64 bits are an error.
    #[arg(long)]
    pub sql: Vec<String>,
    #[command(flatten)]
    pub filter: FilterArguments,
    /// Maximum number of rows.
    #[arg(long)]
    pub limit: Option<usize>,
    /// Print the filters as a statement of this engine over the level tables of a .tacocat or
    /// FOLDER, instead of rows: SQL for DuckDB, Python for the others. It selects the same rows of
    /// level 0; what the engine does not express is an error. For python, the module taco_studio,
    /// filters and statement of any dataset.
    #[arg(
        long,
        value_name = "ENGINE",
        conflicts_with_all = ["limit", "format", "json", "csv"],
    )]
    pub copy_as: Option<CopyAs>,
    /// Output format; taken from the name of the file when absent.
    #[arg(long)]
    pub format: Option<RowFormat>,
    /// Print JSON objects, one per line.
    #[arg(long, conflicts_with_all = ["csv", "format"])]
    pub json: bool,
    /// Print CSV.
    #[arg(long, conflicts_with = "format")]
    pub csv: bool,
    /// Write to this file instead of stdout.
    #[arg(long, short, value_name = "FILE")]
    pub output: Option<PathBuf>,
    /// Replace the file if it exists.
    #[arg(long, requires = "output")]
    pub overwrite: bool,
}

/// Runs `query`.
pub fn query(mut arguments: QueryArguments, terminal: &Terminal) -> Result<u8> {
    let format = row_format(&arguments);
    if format == RowFormat::Parquet && arguments.output.is_none() {
        return Err(
            Error::usage("Parquet is not for the eye").hint("name a file with -o rows.parquet")
        );
    }
    if let Some(output) = arguments.output.as_deref()
        && (is_same_file(&arguments.path, output)
            || arguments
                .join
                .more
                .iter()
                .any(|with| is_same_file(with, output)))
    {
        return Err(Error::usage("the output is the dataset that is asked")
            .at_path(output)
            .hint("choose another name"));
    }
    let options = std::mem::take(&mut arguments.join).options();
    let path = arguments.path;
    if let Some(copy) = arguments.copy_as {
        let filters = arguments.filter.filters()?;
        let statement = match (copy.engine(), arguments.sql.as_slice()) {
            (Some(engine), []) => {
                copy_as(open(terminal, &path, &options)?.as_ref(), &filters, engine)?
            }
            (None, sql @ ([] | [_])) => {
                let opening = ModuleOpening::from_options(&path, &options);
                module_code(&opening, sql.first().map(String::as_str), &filters)
            }
            (None, _) => return Err(Error::usage("a script has one statement, not several")),
            (Some(_), _) => {
                return Err(
                    Error::usage("only filters are copied for an engine, no statement")
                        .hint("--copy-as python takes a statement too"),
                );
            }
        };
        return match &arguments.output {
            Some(file) => write_document(file, statement.as_bytes(), arguments.overwrite),
            None => print_data(statement.as_bytes()),
        }
        .map(|()| 0);
    }
    let query = Query {
        filters: arguments.filter.filters()?,
        limit: arguments.limit,
        ..Query::from_statements(arguments.sql)
    };
    let result = operate(
        terminal,
        QueryRequest {
            input: path,
            open: options,
            query,
        },
    )?;
    print_rows(
        &result,
        format,
        arguments.output.as_deref(),
        arguments.overwrite,
    )?;
    Ok(0)
}

/// Writes rows to `file`, or prints them.
///
/// # Errors
/// For Parquet without a file, and when the rows can't be written.
pub(super) fn print_rows(
    rows: &QueryResult,
    format: RowFormat,
    file: Option<&Path>,
    overwrite: bool,
) -> Result<()> {
    if format == RowFormat::Parquet && file.is_none() {
        return Err(Error::usage("Parquet is not for the eye").hint("name a file for it"));
    }
    if format == RowFormat::Csv {
        rows.formula_warning()
            .into_iter()
            .for_each(|warning| say(format!("warning: {warning}")));
    }
    let bytes = encode_rows(rows, format)?;
    match file {
        Some(file) => write_document(file, &bytes, overwrite),
        None if format == RowFormat::Table => print(&String::from_utf8_lossy(&bytes)),
        None => print_data(&bytes),
    }
}

fn row_format(arguments: &QueryArguments) -> RowFormat {
    match (arguments.json, arguments.csv, arguments.format) {
        (true, _, _) => RowFormat::Json,
        (_, true, _) => RowFormat::Csv,
        (_, _, Some(format)) => format,
        _ => arguments
            .output
            .as_deref()
            .and_then(find_format_of_ending)
            .unwrap_or(RowFormat::Table),
    }
}

fn find_format_of_ending(output: &Path) -> Option<RowFormat> {
    match output.extension()?.to_str()?.to_ascii_lowercase().as_str() {
        "csv" => Some(RowFormat::Csv),
        "json" | "jsonl" | "ndjson" => Some(RowFormat::Json),
        "parquet" => Some(RowFormat::Parquet),
        _ => None,
    }
}

fn encode_rows(result: &QueryResult, format: RowFormat) -> Result<Vec<u8>> {
    Ok(match format {
        RowFormat::Table => result.text(result.row_count).into(),
        RowFormat::Csv => result.csv().into(),
        RowFormat::Json => json_lines(result).into(),
        RowFormat::Parquet => write_parquet(
            result.table.schema(),
            result.table.batches(),
            &ParquetOptions::default(),
        )?,
    })
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;

    #[derive(Debug, Parser)]
    struct Filters {
        #[command(flatten)]
        filter: FilterArguments,
    }

    fn filters(arguments: &[&str]) -> Result<Vec<Filter>> {
        Filters::try_parse_from([&["query"], arguments].concat())
            .expect("parses")
            .filter
            .filters()
    }

    #[test]
    fn each_filter_has_its_level_and_filters_of_one_level_are_one_step() {
        let (space, condition) = ([1.0, 2.0, 3.0, 4.0], "id = 'a'");
        let both = ["--bbox", "1,2,3,4", "--where", condition];
        let with =
            |levels: &[&'static str]| filters(&[&both[..], levels].concat()).expect("filters");
        let one = |level| {
            vec![Filter {
                bbox: Some(space),
                condition: Some(condition.into()),
                level,
                ..Filter::default()
            }]
        };
        assert_eq!(with(&[]), one(0));
        assert_eq!(with(&["--level", "1"]), one(1));
        let two = vec![
            Filter::bbox(space),
            Filter::condition(condition).at_level(1),
        ];
        assert_eq!(with(&["--level", "where:1"]), two);
        assert_eq!(with(&["--level", "bbox:0", "--level", "1"]), two);
        assert_eq!(with(&["--level", "1", "--level", "bbox:0"]), two);
        assert_eq!(filters(&["--level", "1"]).expect("filters"), []);
    }

    #[test]
    fn a_polygon_is_a_filter_of_places_as_text_or_in_a_file() {
        let folder = tempfile::tempdir().expect("a folder");
        let file = folder.path().join("area.geojson");
        let corners = vec![[-10.0, 40.0], [20.0, 40.0], [15.0, 50.0]];
        let geojson = r#"{"type":"Polygon","coordinates":[[[-10,40],[20,40],[15,50],[-10,40]]]}"#;
        std::fs::write(&file, geojson).expect("writes");
        let polygon = vec![Filter {
            polygon: Some(corners),
            by: BoxTest::Centroid,
            level: 1,
            ..Filter::default()
        }];
        let file = file.to_str().expect("is Unicode");
        for text in [
            "-10,40 20,40 15,50",
            "POLYGON((-10 40, 20 40, 15 50, -10 40))",
            file,
        ] {
            let given = [
                "--polygon",
                text,
                "--by",
                "centroid",
                "--level",
                "polygon:1",
            ];
            assert_eq!(filters(&given).expect("filters"), polygon, "{text}");
        }
        for wrong in [&["--by", "centroid"][..], &["--polygon", "1,2 3,4"]] {
            let refused = Filters::try_parse_from([&["query"], wrong].concat());
            assert!(refused.is_err(), "{wrong:?}");
        }
    }

    #[test]
    fn levels_that_contradict_each_other_are_refused() {
        for wrong in [
            &["--where", "x", "--level", "1", "--level", "0"][..],
            &["--where", "x", "--level", "where:1", "--level", "where:0"],
            &["--where", "x", "--level", "bbox:1"],
        ] {
            assert!(filters(wrong).is_err(), "{wrong:?}");
        }
        for wrong in ["place:1", "where:", "x"] {
            assert!(
                Filters::try_parse_from(["query", "--level", wrong]).is_err(),
                "{wrong}"
            );
        }
    }
}
