//! Tables as lazy frames: level scans, the GDAL path column, `data`, flat views, and filtered rows.
//! Nothing is computed here.

use std::collections::BTreeMap;

use polars::prelude::*;
use sqlparser::tokenizer::TokenWithSpan;

use super::engine_errors::engine_error;
use super::filter::Filter;
use super::planner::Planner;
use super::scan::{LevelScan, ScanRows};
use super::source_span::StatementSource;
use super::statement_parser;
use super::tables::{LevelData, TableName, Tables, VSI, VsiBase, is_key};
use crate::error::{Error, Result};
use crate::jobs::JobContext;
use crate::model::PAD_PREFIX;
use crate::text::PrintableLine;

/// Internal column: row number within a part, for levels without `internal:current_id`.
const ROW: &str = "__row";

/// Internal column: row number in the level's table.
const PLACE: &str = "__place";

/// Filtered rows of the levels that filters affect; empty without filters.
pub(super) struct Views<'a> {
    tables: &'a Tables,
    kept: BTreeMap<usize, LazyFrame>,
}

impl<'a> Views<'a> {
    /// Applies the filters in order. Lazy: collecting reads only the columns of the conditions and
    /// of the result.
    ///
    /// # Errors
    /// [`crate::error::Kind::Usage`] for a filter on an unknown level or column, or with an invalid
    /// box, range or condition.
    pub fn new(tables: &'a Tables, filters: &[Filter], ctx: &JobContext) -> Result<Self> {
        let mut views = Self {
            tables,
            kept: BTreeMap::new(),
        };
        for filter in filters {
            ctx.check()?;
            filter.check_level(tables)?;
            let mut frame = views.start(filter.level, ctx)?;
            // A FOLDER that states no place, or no time, is where and when its children are.
            for part in filter.parts(tables) {
                frame = if part.level == filter.level {
                    views.matching(frame, &part, ctx)?
                } else {
                    views.with_descendants(frame, filter.level, &part, ctx)?
                };
            }
            if let Some(condition) = &filter.condition {
                frame = with_condition(frame, condition)?;
            }
            views.kept.insert(filter.level, frame.clone());
            // A row stays while one of its descendants does.
            for depth in (0..filter.level).rev() {
                frame = with_children(tables, views.start(depth, ctx)?, depth, frame)?;
                views.kept.insert(depth, frame.clone());
            }
        }
        views.settle(ctx)?;
        Ok(views)
    }

    /// Rows of `frame`, those of the level of `part`, that satisfy the part of a filter. Rows that
    /// state no place, or no time, stay while one of their descendants does.
    fn matching(&self, frame: LazyFrame, part: &Filter, ctx: &JobContext) -> Result<LazyFrame> {
        let Some(predicate) = part.predicate(self.tables, ctx)? else {
            return Ok(frame);
        };
        let Some((unstated, below)) = part.fallback(self.tables) else {
            return Ok(frame.filter(predicate));
        };
        let children = self.rows_above(part.level + 1, &below, ctx)?;
        let frame = with_mark(self.tables, frame, part.level, children)?;
        let stays = predicate
            .fill_null(lit(false))
            .or(unstated.and(col(MARK).is_not_null()));
        Ok(frame.filter(stays).drop(cols([MARK])))
    }

    /// Rows of `frame`, those of `level`, with a descendant that satisfies a filter of a level
    /// below; all of its descendants stay.
    fn with_descendants(
        &self,
        frame: LazyFrame,
        level: usize,
        part: &Filter,
        ctx: &JobContext,
    ) -> Result<LazyFrame> {
        with_children(
            self.tables,
            frame,
            level,
            self.rows_above(level + 1, part, ctx)?,
        )
    }

    /// Rows of `level` that satisfy a part of a filter of that level or of one below, there by a
    /// descendant.
    fn rows_above(&self, level: usize, part: &Filter, ctx: &JobContext) -> Result<LazyFrame> {
        let mut rows = self.matching(self.start(part.level, ctx)?, part, ctx)?;
        for depth in (level..part.level).rev() {
            rows = with_children(self.tables, self.start(depth, ctx)?, depth, rows)?;
        }
        Ok(rows)
    }

    /// Removes descendants of removed rows, so that all levels are consistent.
    fn settle(&mut self, ctx: &JobContext) -> Result<()> {
        if self.kept.is_empty() {
            return Ok(());
        }
        for depth in 1..self.tables.levels.len() {
            let Some(above) = self.kept.get(&(depth - 1)).cloned() else {
                break;
            };
            if !has_column(self.tables, depth, "internal:parent_id") {
                break;
            }
            let here = self.start(depth, ctx)?;
            let keys = above.select(
                [own_key(self.tables, depth - 1).alias(KEY)]
                    .into_iter()
                    .chain(source(self.tables, depth - 1))
                    .collect::<Vec<_>>(),
            );
            let here = semi(
                here,
                parent_key(self.tables, depth)?,
                keys,
                by_source(self.tables, depth),
            );
            self.kept.insert(depth, here);
        }
        Ok(())
    }

    /// Current rows of a level without padding, with row numbers where they are the key.
    fn start(&self, level: usize, ctx: &JobContext) -> Result<LazyFrame> {
        match self.kept.get(&level) {
            Some(frame) => Ok(frame.clone()),
            // Row numbers within a part include padding, which is removed afterwards.
            None if is_counted(self.tables, level) => {
                let padding = col("id")
                    .cast(DataType::String)
                    .str()
                    .starts_with(lit(PAD_PREFIX))
                    .fill_null(lit(false));
                let frame = self.level(level, ctx)?;
                Ok(if has_column(self.tables, level, "id") {
                    frame.filter(padding.not())
                } else {
                    frame
                })
            }
            None => level_frame(self.tables, level, true, ctx),
        }
    }

    /// Rows of a level, including padding unless a filter ran.
    fn level(&self, level: usize, ctx: &JobContext) -> Result<LazyFrame> {
        match self.kept.get(&level) {
            Some(frame) => Ok(frame.clone()),
            None => add_row_numbers(
                self.tables,
                level,
                level_frame(self.tables, level, false, ctx)?,
            ),
        }
    }

    /// Row numbers of the rows that filters keep; `None` for levels that no filter affects.
    pub fn places(&self, level: usize) -> Option<LazyFrame> {
        self.kept
            .get(&level)
            .map(|frame| frame.clone().select([col(PLACE)]))
    }

    /// Lazy frame of one table.
    ///
    /// # Errors
    /// [`crate::error::Kind::Format`] for a level with column types that can't be queried, or
    /// without the columns that link it to its parent.
    pub fn frame(&self, name: TableName, ctx: &JobContext) -> Result<LazyFrame> {
        match name {
            TableName::Level(level) => {
                Ok(self.select_shown_columns(level, self.level(level, ctx)?))
            }
            TableName::Data => Ok(self.select_shown_columns(0, self.start(0, ctx)?)),
            TableName::Flat(level) => flat_frame(self, level, ctx),
        }
    }

    fn select_shown_columns(&self, level: usize, frame: LazyFrame) -> LazyFrame {
        let names = self
            .tables
            .columns(&format!("level{level}"))
            .unwrap_or_default();
        frame.select(
            names
                .iter()
                .map(|field| col(field.name.as_str()))
                .collect::<Vec<_>>(),
        )
    }
}

/// Rows of `frame`, those of the level `depth`, with a child in `children`.
fn with_children(
    tables: &Tables,
    frame: LazyFrame,
    depth: usize,
    children: LazyFrame,
) -> Result<LazyFrame> {
    let keys = [parent_key(tables, depth + 1)?.alias(KEY)]
        .into_iter()
        .chain(source(tables, depth + 1));
    let parents = children.select(keys.collect::<Vec<_>>());
    Ok(semi(
        frame,
        own_key(tables, depth),
        parents,
        by_source(tables, depth + 1),
    ))
}

/// Rows of `frame`, those of the level `depth`, with [`MARK`] not null for those with a child in
/// `children`.
fn with_mark(
    tables: &Tables,
    frame: LazyFrame,
    depth: usize,
    children: LazyFrame,
) -> Result<LazyFrame> {
    let keys = [parent_key(tables, depth + 1)?.alias(KEY)]
        .into_iter()
        .chain(source(tables, depth + 1));
    let marked = children
        .select(keys.collect::<Vec<_>>())
        .unique(None, UniqueKeepStrategy::Any);
    let marked = marked.with_columns([lit(true).alias(MARK)]);
    let (mut left, mut right) = (vec![col(OWN_KEY)], vec![col(KEY)]);
    if by_source(tables, depth + 1) {
        left.push(col("internal:source_file"));
        right.push(col(SOURCE));
    }
    let arguments = JoinArgs {
        maintain_order: MaintainOrderJoin::Left,
        coalesce: JoinCoalesce::CoalesceColumns,
        ..JoinArgs::new(JoinType::Left)
    };
    let keyed = frame.with_columns([own_key(tables, depth).alias(OWN_KEY)]);
    Ok(keyed
        .join(marked, left, right, arguments)
        .drop(cols([OWN_KEY])))
}

/// Rows of `frame` that satisfy an SQL condition.
fn with_condition(mut frame: LazyFrame, condition: &str) -> Result<LazyFrame> {
    let source = StatementSource::alone(condition);
    let tokens = statement_parser::tokens(&source)?;
    let schema = frame
        .collect_schema()
        .map_err(|error| engine_error(&error))?;
    // Positions refer to the condition, not the statement, so the cause is dropped.
    plan_condition(frame, source, &tokens, &schema).map_err(|error| {
        let summary = Error::usage(format!(
            "the condition could not be understood: {}",
            condition.printable_line()
        ));
        let summary = if error.is_too_large() {
            Error::too_large(error.summary())
        } else {
            summary.because(error.to_string())
        };
        error
            .hints()
            .iter()
            .fold(summary, |summary, hint| summary.hint(hint))
            .hint("write it as after WHERE: \"eo:cloud_cover\" < 10 AND id LIKE 'T18%'")
    })
}

fn plan_condition(
    frame: LazyFrame,
    source: StatementSource,
    tokens: &[TokenWithSpan],
    schema: &Schema,
) -> Result<LazyFrame> {
    let columns = vec![(
        "data".to_owned(),
        schema
            .iter_names()
            .map(|name| name.to_string())
            .collect::<Vec<_>>(),
    )];
    let tree = statement_parser::condition(&source, tokens, &|name| schema.contains(name))?;
    Planner::new(source, tokens, &|_| Ok(None), &columns, &[]).condition(frame, &tree)
}

/// True when a row's key is its number within its part, as no column has it.
fn is_counted(tables: &Tables, level: usize) -> bool {
    !has_column(tables, level, "internal:current_id")
        && has_column(tables, level, "internal:source_file")
}

/// Adds [`ROW`] if it is the key.
fn add_row_numbers(tables: &Tables, level: usize, frame: LazyFrame) -> Result<LazyFrame> {
    if !is_counted(tables, level) {
        return Ok(frame);
    }
    let number = col("internal:source_file")
        .cum_count(false)
        .over([col("internal:source_file")]);
    let number = number
        .map_err(|error| Error::internal("rows can't be counted").because(error.to_string()))?;
    Ok(frame.with_columns([(number.cast(DataType::Int64) - lit(1i64)).alias(ROW)]))
}

/// Semi join: rows of `frame` whose key is in `keys`, in order. `keys` has the key and, with
/// `by_source`, the source file.
fn semi(frame: LazyFrame, key: Expr, keys: LazyFrame, by_source: bool) -> LazyFrame {
    let (mut left, mut right) = (vec![key], vec![col(KEY)]);
    if by_source {
        left.push(col("internal:source_file"));
        right.push(col(SOURCE));
    }
    let arguments = JoinArgs {
        maintain_order: MaintainOrderJoin::Left,
        ..JoinArgs::new(JoinType::Semi)
    };
    frame.join(keys, left, right, arguments)
}

const KEY: &str = "__key";
/// Key of the rows that are marked.
const OWN_KEY: &str = "__own_key";
/// Column of rows with a child that satisfies a filter.
const MARK: &str = "__mark";
const SOURCE: &str = "__source";

fn own_key(tables: &Tables, level: usize) -> Expr {
    let name = match (
        has_column(tables, level, "internal:current_id"),
        is_counted(tables, level),
    ) {
        (true, _) => "internal:current_id",
        (false, true) => ROW,
        (false, false) => PLACE,
    };
    col(name).cast(DataType::Int64)
}

fn parent_key(tables: &Tables, level: usize) -> Result<Expr> {
    if has_column(tables, level, "internal:parent_id") {
        return Ok(col("internal:parent_id").cast(DataType::Int64));
    }
    let summary =
        format!("level {level} has no column internal:parent_id, so its parents can't be found");
    Err(Error::format(summary).hint("filter level 0, or query the level by itself"))
}

/// True when a level and its parent level number rows per source file.
fn by_source(tables: &Tables, level: usize) -> bool {
    has_column(tables, level, "internal:source_file")
        && has_column(tables, level - 1, "internal:source_file")
}

fn source(tables: &Tables, level: usize) -> Option<Expr> {
    has_column(tables, level, "internal:source_file")
        .then(|| col("internal:source_file").alias(SOURCE))
}

/// The level's columns, its GDAL path, and row numbers in [`PLACE`].
fn level_frame(
    tables: &Tables,
    level: usize,
    hide_padding: bool,
    ctx: &JobContext,
) -> Result<LazyFrame> {
    let (rows, positions) = match &tables.levels[level] {
        LevelData::Parquet {
            groups, positions, ..
        } => (ScanRows::Parquet(groups.clone()), positions.clone()),
        LevelData::Decoded(table) => (ScanRows::Decoded(table.clone()), None),
    };
    let unfit = |error: PolarsError| {
        Error::format(format!("level {level} can't be queried")).because(error.to_string())
    };
    let scan = LevelScan::new(rows, positions, PLACE, hide_padding, ctx)
        .and_then(LevelScan::frame)
        .map_err(unfit)?;
    Ok(match vsi_column(tables, level) {
        Some(path) => {
            // A stored GDAL path refers to the location at writing time, so it is recomputed.
            let stored = tables.stored_columns(level);
            let others = stored
                .iter()
                .filter(|field| field.name != VSI)
                .map(|field| col(field.name.as_str()));
            scan.select(
                std::iter::once(col(PLACE))
                    .chain(others)
                    .chain([path])
                    .collect::<Vec<_>>(),
            )
        }
        None => scan,
    })
}

/// GDAL path of each row. FOLDER rows point to their `__meta__`, as in the Python reader.
fn vsi_column(tables: &Tables, level: usize) -> Option<Expr> {
    if !tables.has_vsi(level) {
        return None;
    }
    let text = |name: &str| col(name).cast(DataType::String);
    let joined = |parts: Vec<Expr>| concat_str(parts, "", false);
    let path = match &tables.base {
        VsiBase::None => return None,
        VsiBase::Zip(container) => joined(
            subfile_parts()
                .into_iter()
                .chain([lit(format!(",{container}"))])
                .collect(),
        ),
        VsiBase::Parts(folder) => joined(
            subfile_parts()
                .into_iter()
                .chain([lit(format!(",{folder}/")), text("internal:source_file")])
                .collect(),
        ),
        VsiBase::Folder(root) => {
            let relative = if level == 0 {
                text("id")
            } else {
                text("internal:relative_path")
                    .str()
                    .strip_chars_end(lit("/"))
            };
            let below = lit(format!("{root}/DATA/"));
            let folder = joined(vec![below.clone(), relative.clone(), lit("/__meta__")]);
            when(text("type").eq(lit("FOLDER")))
                .then(folder)
                .otherwise(joined(vec![below, relative]))
        }
    };
    Some(path.alias(VSI))
}

/// The parts of a GDAL path that name the byte range of a row.
fn subfile_parts() -> Vec<Expr> {
    vec![
        lit("/vsisubfile/"),
        col("internal:offset").cast(DataType::String),
        lit("_"),
        col("internal:size").cast(DataType::String),
    ]
}

/// Level `level` joined with every level above it. Parents are found by `internal:current_id`, in
/// older files by row number, in a `.tacocat` per source file.
fn flat_frame(views: &Views, level: usize, ctx: &JobContext) -> Result<LazyFrame> {
    let tables = views.tables;
    let mut joined = keyed_frame(views, 0, ctx)?;
    for depth in 1..=level {
        let columns = tables.stored_columns(depth);
        if !columns
            .iter()
            .any(|field| field.name == "internal:parent_id")
        {
            let summary = format!(
                "level {depth} has no column internal:parent_id, so l{depth} can't be joined"
            );
            return Err(Error::format(summary).hint(format!("query level{depth} by itself")));
        }
        let by_source = (0..=depth).all(|depth| has_column(tables, depth, "internal:source_file"));
        let (mut left, mut right) = (vec![col(parent(depth))], vec![col(key(depth - 1))]);
        if by_source {
            left.push(col(format!("l{depth}:internal:source_file")));
            right.push(col(format!("l{}:internal:source_file", depth - 1)));
        }
        let arguments = JoinArgs {
            maintain_order: MaintainOrderJoin::Left,
            coalesce: JoinCoalesce::KeepColumns,
            ..JoinArgs::new(JoinType::Inner)
        };
        joined = keyed_frame(views, depth, ctx)?.join(joined, left, right, arguments);
    }
    let columns = tables.columns(&format!("l{level}")).unwrap_or_default();
    Ok(joined.select(
        columns
            .iter()
            .map(|field| col(field.name.as_str()))
            .collect::<Vec<_>>(),
    ))
}

fn has_column(tables: &Tables, level: usize, name: &str) -> bool {
    tables
        .stored_columns(level)
        .iter()
        .any(|field| field.name == name)
}

fn key(level: usize) -> String {
    format!("__key{level}")
}

fn parent(level: usize) -> String {
    format!("__parent{level}")
}

/// A level with columns `l1:…`, its key and its parent's key.
fn keyed_frame(views: &Views, level: usize, ctx: &JobContext) -> Result<LazyFrame> {
    let tables = views.tables;
    let frame = views.level(level, ctx)?;
    let mut columns = vec![own_key(tables, level).alias(key(level))];
    if has_column(tables, level, "internal:parent_id") {
        columns.push(
            col("internal:parent_id")
                .cast(DataType::Int64)
                .alias(parent(level)),
        );
    }
    let names = tables.columns(&format!("level{level}")).unwrap_or_default();
    let shown = names.iter().filter(|field| !is_key(&field.name));
    columns.extend(
        shown.map(|field| col(field.name.as_str()).alias(format!("l{level}:{}", field.name))),
    );
    Ok(frame.select(columns))
}
