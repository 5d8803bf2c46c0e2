//! SQL over the levels of a dataset. The only module that names polars. Must never touch containers or files: it is given
//! Parquet bytes or decoded tables, and gives back rows.
//!
//! Tables: `level0`, `level1`, …; `data` (level 0 without padding); flat views `l0`, `l1`, … (a level joined with all levels
//! above it, columns called `l1:id`, `l0:id`). Every level also has `internal:gdal_vsi`, computed when it is asked for, and
//! the usual `ST_` functions read WKB geometries. Filters ([`Filter`]: box, time, condition, each at a level) come before the
//! statement and compose lazily; all tables then show what they left.

mod arrow_convert;
mod bounds;
mod clauses;
mod duckdb_arithmetic;
mod duckdb_functions;
mod duckdb_semantics;
mod extent;
mod filter;
mod frames;
mod geometry;
mod hash_aggregate;
mod joins;
mod naming;
mod outline;
mod output;
mod partial_aggregation;
mod run;
mod scan;
mod source_span;
mod spatial_functions;
mod sql_dialect;
mod subquery_rewrite;
mod summary;
mod tables;
#[cfg(test)]
mod tests;
mod top_k;

pub use filter::{Filter, parse_time};
pub use geometry::write as write_wkb;
pub use outline::outline;
pub use output::QueryResult;
pub use run::{Query, kept_rows, run, run_sql};
pub use tables::{RowPositions, Tables, TruePositions, VsiBase};
