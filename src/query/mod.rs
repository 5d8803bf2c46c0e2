//! SQL over the levels of a dataset. The only module that uses polars. It does not open containers
//! or files: its inputs are Parquet bytes and decoded tables, its outputs rows.
//!
//! Statements have the semantics of DuckDB 1.4:
//! - names: identifiers are case-insensitive, an alias may be used wherever its column may, unnamed
//!   columns get DuckDB's names (`count_star()`), duplicates get `_1`;
//! - numbers: 64-bit integer overflow is an error, `/` is floating-point division, `//` and `%`
//!   truncate towards zero, casts round half to even, NaN is the greatest number; logarithms and
//!   roots of numbers that have none are -inf and NaN (an error in DuckDB, but not in a CASE);
//! - nulls: they sort last in every order, comparisons with them are null, also in `NOT IN`, and
//!   aggregates ignore them;
//! - lists and structs: they are compared element by element, and a null within one is greater than
//!   any value; numbers of UBIGINT and signed ones have the type BIGINT together (HUGEINT in
//!   DuckDB), and a number that does not fit in it is an error;
//! - rows: windows with ROWS, RANGE and GROUPS frames, the latter two including peers; scalar, IN,
//!   ANY, ALL and EXISTS subqueries, LATERAL and ASOF joins; unnesting an empty list gives no rows;
//!   a recursive WITH, the values of a PIVOT and a LIMIT that is no number are computed
//!   while the statement is planned;
//! - an unsupported construct is refused with its position and a spelling that works.
//!
//! Polars executes them: it is Rust, so that the program stays one binary without a second engine
//! in C++; it reads Arrow memory and pushes predicates and projections down to our own scan
//! (`scan`), which reads row groups of a container by byte range; and its expressions accept our
//! WKB functions. Its own SQL differs from DuckDB's in the points above, so it only receives the
//! single-frame statements that `planner` prints.
//!
//! A statement passes through `statement_parser` with `sql_dialect`, `sample_clause` and
//! `token_spellings` (tokens, limits, syntax tree) → `planner` with `window_functions` (a plan per
//! SELECT) → `duckdb_semantics` with `function_names` (expressions in the engine's spelling) →
//! `duckdb_arithmetic` (numbers) with `nested_plans` (lists and structs) → `top_k` and
//! `partial_aggregation` (row group by row group) → `bounds` (limits on joins) → `output`.
//!
//! Tables: `level0`, `level1`, …; `data` (level 0 without padding); flat views `l0`, `l1`, … (a
//! level joined with all levels above it, with columns `l1:id`, `l0:id`). Every level also has
//! `internal:gdal_vsi`, computed when selected, and the usual `ST_` functions read WKB geometries.
//! Filters ([`Filter`]: bounding box, time, condition, each on a level) apply before the statement
//! and are lazy; all tables contain only the rows that they keep. [`copy_as`] writes them as
//! statements of other engines.

mod advice;
mod arrow_convert;
mod bounds;
mod catalogue;
mod column_names;
mod common_types;
mod condition_levels;
mod constant_folding;
mod constant_inputs;
pub mod copy_as;
mod decimal_widths;
mod duckdb_arithmetic;
mod duckdb_functions;
mod duckdb_semantics;
mod durations;
mod engine;
mod engine_errors;
mod filter;
mod frames;
mod function_names;
mod function_registry;
mod functions;
mod geometry;
mod grouping;
mod hash_aggregate;
mod json_values;
mod lexemes;
mod list_aggregates;
mod list_functions;
mod list_lambda;
mod list_texts;
mod maps;
mod name_forms;
mod nested_plans;
mod nested_values;
mod operation_names;
mod output;
mod pair_moments;
mod partial_aggregation;
mod plan_inputs;
mod planner;
mod polygon_text;
mod quantiles;
mod recognised_functions;
mod run;
mod sample_clause;
mod sampling;
mod scan;
mod scope;
mod select_list;
mod source_span;
mod spatial_functions;
mod sql_dialect;
mod statement_parser;
mod struct_values;
mod summary;
mod syntax_walk;
mod tables;
#[cfg(test)]
mod tests;
mod text_patterns;
mod time_range;
mod time_texts;
mod token_spellings;
mod top_k;
mod type_names;
mod typed_texts;
mod value_texts;
mod whole_numbers;
mod window_functions;
mod windowing;

pub use condition_levels::conditions_by_level;
pub use filter::{BoxTest, DEFAULT_TIME_COLUMNS, Filter, check_box};
pub use lexemes::{Lexeme, lexemes};
pub use output::QueryResult;
pub use polygon_text::polygon_from_text;
pub use run::{Query, kept_rows, run, run_sql};
pub use tables::{RowPositions, Tables, TruePositions, VsiBase};
pub use time_range::{TimeBound, TimeRange};
