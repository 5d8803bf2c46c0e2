//! Column statistics from the Parquet footer: null count, minimum, maximum. Reads no page.

use arrow::array::{Array, ArrayRef};
use arrow::compute::{SortOptions, sort_limit};
use arrow::datatypes::{DataType, Field};
use parquet::arrow::arrow_reader::statistics::StatisticsConverter;

use super::parquet_slice::catch_panics;
use super::{TableHead, cell_text};
use crate::error::Result;

/// Statistics of one column over all row groups; `None` where the writer omitted them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ColumnRange {
    /// Number of nulls.
    pub nulls: Option<u64>,
    /// Minimum as text.
    pub min: Option<String>,
    /// Maximum as text.
    pub max: Option<String>,
}

impl TableHead {
    /// Number of nulls of a column over all row groups; `None` where the writer omitted it, and for
    /// lists and structs.
    pub fn null_count(&self, name: &str) -> Option<u64> {
        let metadata = self.parquet_metadata();
        let nulls = catch_panics("reading the Parquet statistics", || {
            let converter = StatisticsConverter::try_new(
                name,
                self.schema(),
                metadata.file_metadata().schema_descr(),
            );
            Ok(converter
                .and_then(|converter| converter.row_group_null_counts(metadata.row_groups()))
                .ok())
        });
        let nulls = nulls.ok().flatten()?;
        (nulls.null_count() == 0).then(|| nulls.iter().flatten().sum())
    }

    /// One entry per column of the schema. Lists, structs and binary columns have no bounds.
    ///
    /// # Errors
    /// When the statistics are damaged.
    pub fn ranges(&self) -> Result<Vec<ColumnRange>> {
        catch_panics("reading the Parquet statistics", || {
            let fields = self.schema().fields().iter();
            Ok(fields
                .map(|field| self.read_column_range(field).unwrap_or_default())
                .collect())
        })
    }

    /// `None` for nested columns, and where the file states nothing of the column.
    fn read_column_range(&self, field: &Field) -> Option<ColumnRange> {
        let dtype = field.data_type();
        if dtype.is_nested() {
            return None;
        }
        let bytes = [
            DataType::Binary,
            DataType::LargeBinary,
            DataType::BinaryView,
        ]
        .contains(dtype);
        let metadata = self.parquet_metadata();
        let parquet_schema = metadata.file_metadata().schema_descr();
        let converter =
            StatisticsConverter::try_new(field.name(), self.schema(), parquet_schema).ok()?;
        let groups = metadata.row_groups();
        let nulls = converter.row_group_null_counts(groups).ok()?;
        let nulls = (nulls.null_count() == 0).then(|| nulls.iter().flatten().sum());
        let mins = converter.row_group_mins(groups).ok().filter(|_| !bytes);
        let maxes = converter.row_group_maxes(groups).ok().filter(|_| !bytes);
        Some(ColumnRange {
            nulls,
            min: mins.and_then(|m| find_edge_value(&m, false)),
            max: maxes.and_then(|m| find_edge_value(&m, true)),
        })
    }
}

fn find_edge_value(values: &ArrayRef, descending: bool) -> Option<String> {
    let options = SortOptions {
        descending,
        nulls_first: false,
    };
    let first = sort_limit(values, Some(options), Some(1)).ok()?;
    (first.len() == 1 && first.is_valid(0)).then(|| cell_text(&first, 0))
}
