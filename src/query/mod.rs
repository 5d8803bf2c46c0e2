//! SQL over the levels of a dataset. The only module that names polars. Must never touch containers or files: it is given
//! Parquet bytes or decoded tables, and gives back rows.
//!
//! Statements mean what they mean to DuckDB 1.4, which researchers use beside this program:
//! - names: letters of another case are the same, an alias may be used wherever its column would be, unnamed columns are called as
//!   DuckDB calls them (`count_star()`), duplicates get `_1`;
//! - numbers: whole numbers that do not fit in 64 bits are errors, `/` gives fractions, `//` and `%` cut towards zero, casts round
//!   half to even, NaN is the greatest number;
//! - nulls: they come last in every order, comparisons with them are unknown, `NOT IN` too, aggregations pass over them;
//! - rows: windows with ROWS and RANGE frames, where rows of equal order stand together; subqueries that are values, sets or EXISTS,
//!   tied to the rows around them by equalities; lists that are empty have no rows to give;
//! - what is refused names the place and a spelling that works.
//!
//! Polars runs them: it is Rust, so that the program stays one file without a second engine in C++; it reads Arrow memory and takes
//! predicates and projections down to our own scan (`scan`), which reads row groups of a container by ranges; and its expressions
//! take functions of ours for WKB. Its own SQL differs from DuckDB's in what is listed above, so it is only given statements over
//! one frame that `select_plan` prints.
//!
//! The way of a statement: `sql_dialect` (tokens, limits, syntax tree) → `select_plan` with `from_clause`, `name_binding`,
//! `subquery_rewrite` and `window_functions` (plans, SELECT by SELECT) → `duckdb_semantics` (expressions as the engine reads
//! them) → `duckdb_arithmetic` (numbers) → `top_k` and `partial_aggregation` (row group by row group) → `bounds` (joins that
//! end) → `output`.
//!
//! Tables: `level0`, `level1`, …; `data` (level 0 without padding); flat views `l0`, `l1`, … (a level joined with all levels
//! above it, columns called `l1:id`, `l0:id`). Every level also has `internal:gdal_vsi`, computed when it is asked for, and
//! the usual `ST_` functions read WKB geometries. Filters ([`Filter`]: box, time, condition, each at a level) come before the
//! statement and compose lazily; all tables then show what they left.

mod advice;
mod arrow_convert;
mod bounds;
mod column_names;
mod duckdb_arithmetic;
mod duckdb_functions;
mod duckdb_semantics;
mod filter;
mod frames;
mod from_clause;
mod geometry;
mod hash_aggregate;
mod lexemes;
mod name_binding;
mod outline;
mod output;
mod partial_aggregation;
mod run;
mod scan;
mod scope;
mod select_plan;
mod source_span;
mod spatial_functions;
mod sql_dialect;
mod subquery_rewrite;
mod summary;
mod tables;
#[cfg(test)]
mod tests;
mod top_k;
mod window_functions;

pub use filter::{Filter, parse_time};
pub use geometry::write as write_wkb;
pub use lexemes::{Lexeme, lexemes};
pub use outline::outline;
pub use output::QueryResult;
pub use run::{Query, kept_rows, run, run_sql};
pub use tables::{RowPositions, Tables, TruePositions, VsiBase};
