//! SQL over the levels of a dataset. The only module that names polars. Must never touch containers or files: it is given
//! Parquet bytes or decoded tables, and gives back rows.
//!
//! Tables: `level0`, `level1`, …; `data` (level 0 without padding); flat views `l0`, `l1`, … (a level joined with all levels
//! above it, columns called `l1:id`, `l0:id`). Every level also has `internal:gdal_vsi`, computed when it is asked for, and
//! `ST_X`, `ST_Y`, `ST_XMin`, `ST_YMin`, `ST_XMax`, `ST_YMax` read WKB geometries.

mod frames;
mod functions;
mod output;
mod run;
mod spelling;
mod tables;
#[cfg(test)]
mod tests;

pub use output::QueryResult;
pub use run::run_sql;
pub use tables::{Tables, VsiBase};
