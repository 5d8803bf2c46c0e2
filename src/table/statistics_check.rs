//! Compares the statistics of a Parquet file with its values: minimum, maximum and number of nulls
//! in the footer and in the page index. Readers skip row groups and pages that the statistics
//! exclude, so wrong ones lose rows without a message.

use arrow::array::{Array, ArrayRef, AsArray, Scalar, UInt64Array};
use arrow::compute::kernels::cmp;
use arrow::compute::{SortOptions, cast, concat, sort_limit};
use arrow::datatypes::{DataType, Float64Type};
use parquet::arrow::arrow_reader::statistics::StatisticsConverter;
use parquet::file::metadata::{PageIndexPolicy, ParquetMetaData, ParquetMetaDataReader};

use super::parquet_slice::{catch_panics, parquet_read_error};
use super::{RowGroups, TableHead, cell_text};
use crate::error::{Error, Result};
use crate::jobs::JobContext;

/// Where statistics are stated.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StatisticsPlace {
    /// In the footer, for a row group.
    Footer,
    /// In the page index, for this page of a row group, from 0.
    Page(usize),
}

/// What statistics state otherwise than the values.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum StatisticsFault {
    /// A value is below the minimum.
    Below {
        /// The stated minimum.
        minimum: String,
        value: String,
    },
    /// A value is above the maximum.
    Above {
        /// The stated maximum.
        maximum: String,
        value: String,
    },
    /// The minimum is called exact, and is below all values.
    NotLeast {
        /// The stated minimum.
        minimum: String,
        /// The least value.
        least: String,
    },
    /// The maximum is called exact, and is above all values.
    NotGreatest {
        /// The stated maximum.
        maximum: String,
        /// The greatest value.
        greatest: String,
    },
    /// Another number of nulls.
    Nulls {
        /// The stated number.
        stated: u64,
        /// The number of null values.
        found: u64,
    },
    /// The pages of the index have another number of rows than the row group.
    PageRows,
}

/// Wrong statistics of a column: the first ones, and in how many row groups there are some.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WrongStatistics {
    /// Name of the column.
    pub column: String,
    /// Row group, from 0.
    pub group: usize,
    /// Where the first wrong statistics are stated.
    pub place: StatisticsPlace,
    /// What is wrong with them.
    pub fault: StatisticsFault,
    /// Row groups of the column with wrong statistics.
    pub groups: usize,
}

/// Statistics of one column, by row group or by page.
struct StatedBounds {
    minima: Option<ArrayRef>,
    maxima: Option<ArrayRef>,
    nulls: Option<UInt64Array>,
}

impl TableHead {
    /// Compares all statistics of columns that are neither lists nor structs with the values, which
    /// are all decoded.
    ///
    /// # Errors
    /// When pages or the page index are damaged, or the job is cancelled.
    pub fn wrong_statistics(&self, ctx: &JobContext) -> Result<Vec<WrongStatistics>> {
        let groups = RowGroups::new(self);
        let indexed = catch_panics("reading the page index", || self.with_page_index())?;
        let mut found = Vec::new();
        for (index, field) in groups.schema().fields().iter().enumerate() {
            if field.data_type().is_nested()
                || matches!(field.data_type(), DataType::Dictionary(..) | DataType::Null)
            {
                continue;
            }
            let parquet_schema = indexed.file_metadata().schema_descr();
            let Ok(converter) =
                StatisticsConverter::try_new(field.name(), groups.schema(), parquet_schema)
            else {
                continue;
            };
            let stated = catch_panics("reading the Parquet statistics", || {
                Ok(StatedBounds::of_groups(&converter, &indexed))
            })?;
            let mut first: Option<WrongStatistics> = None;
            for group in 0..groups.count() {
                ctx.check()?;
                let arrays = groups.column(group, index, None)?;
                let fault = catch_panics("comparing the Parquet statistics", || {
                    let Some(values) = concat_arrays(&arrays)? else {
                        return Ok(None);
                    };
                    let exact = is_exact(&indexed, group, &converter, field.data_type());
                    if let Some(fault) = stated.fault_of(group, &values, exact) {
                        return Ok(Some((StatisticsPlace::Footer, fault)));
                    }
                    fault_of_pages(&converter, &indexed, group, &values)
                })?;
                match (fault, &mut first) {
                    (None, _) => {}
                    (Some(_), Some(known)) => known.groups += 1,
                    (Some((place, fault)), first) => {
                        *first = Some(WrongStatistics {
                            column: field.name().clone(),
                            group,
                            place,
                            fault,
                            groups: 1,
                        });
                    }
                }
            }
            found.extend(first);
        }
        Ok(found)
    }

    /// The footer with the page index, where the file has one.
    fn with_page_index(&self) -> Result<ParquetMetaData> {
        let footer = self.parquet_metadata().clone();
        let mut reader = ParquetMetaDataReader::new_with_metadata(footer)
            .with_page_index_policy(PageIndexPolicy::Optional);
        reader
            .read_page_indexes(self.slice())
            .map_err(|error| parquet_read_error(&error))?;
        reader.finish().map_err(|error| parquet_read_error(&error))
    }
}

impl StatedBounds {
    fn of_groups(converter: &StatisticsConverter, metadata: &ParquetMetaData) -> Self {
        let groups = metadata.row_groups();
        // What the writer left out is null.
        let converter_nulls = converter.row_group_null_counts(groups).ok();
        Self {
            minima: converter.row_group_mins(groups).ok(),
            maxima: converter.row_group_maxes(groups).ok(),
            nulls: converter_nulls,
        }
    }

    /// The first statement at `at` that `values` contradict. `exact`: minimum and maximum are
    /// called exact.
    fn fault_of(
        &self,
        at: usize,
        values: &ArrayRef,
        exact: (bool, bool),
    ) -> Option<StatisticsFault> {
        let text = |array: &ArrayRef, row: usize| cell_text(array, row);
        if let Some(minimum) = pick_bound(self.minima.as_ref(), at) {
            if let Some(row) = first_beyond(values, &minimum, BoundSide::Below) {
                return Some(StatisticsFault::Below {
                    minimum: text(&minimum, 0),
                    value: text(values, row),
                });
            }
            if exact.0
                && let Some(least) = edge_of(values, false)
                && first_beyond(&minimum, &least, BoundSide::Below).is_some()
            {
                return Some(StatisticsFault::NotLeast {
                    minimum: text(&minimum, 0),
                    least: text(&least, 0),
                });
            }
        }
        if let Some(maximum) = pick_bound(self.maxima.as_ref(), at) {
            if let Some(row) = first_beyond(values, &maximum, BoundSide::Above) {
                return Some(StatisticsFault::Above {
                    maximum: text(&maximum, 0),
                    value: text(values, row),
                });
            }
            if exact.1
                && let Some(greatest) = edge_of(values, true)
                && first_beyond(&maximum, &greatest, BoundSide::Above).is_some()
            {
                return Some(StatisticsFault::NotGreatest {
                    maximum: text(&maximum, 0),
                    greatest: text(&greatest, 0),
                });
            }
        }
        let stated = self
            .nulls
            .as_ref()
            .filter(|all| at < all.len() && all.is_valid(at))
            .map(|all| all.value(at));
        let found = values.null_count() as u64;
        stated
            .filter(|stated| *stated != found)
            .map(|stated| StatisticsFault::Nulls { stated, found })
    }
}

/// The stated bound of one row group or page, as an array of one value.
fn pick_bound(bounds: Option<&ArrayRef>, at: usize) -> Option<ArrayRef> {
    bounds
        .filter(|all| at < all.len() && all.is_valid(at))
        .map(|all| all.slice(at, 1))
}

/// The first page whose statistics `values`, those of the whole row group, contradict.
fn fault_of_pages(
    converter: &StatisticsConverter,
    metadata: &ParquetMetaData,
    group: usize,
    values: &ArrayRef,
) -> Result<Option<(StatisticsPlace, StatisticsFault)>> {
    let Some(index) = metadata.page_index().map(|index| &**index) else {
        return Ok(None);
    };
    let rows = converter
        .data_page_row_counts(index, metadata.row_groups(), &[group])
        .map_err(|error| parquet_read_error(&error))?;
    let Some(rows) = rows.filter(|rows| !rows.is_empty() && rows.null_count() == 0) else {
        return Ok(None);
    };
    let stated = StatedBounds {
        minima: converter.data_page_mins(index, &[group]).ok(),
        maxima: converter.data_page_maxes(index, &[group]).ok(),
        nulls: converter.data_page_null_counts(index, &[group]).ok(),
    };
    let mut start = 0usize;
    for (page, count) in rows.values().iter().enumerate() {
        let end = usize::try_from(*count)
            .ok()
            .and_then(|count| start.checked_add(count))
            .filter(|end| *end <= values.len());
        let Some(end) = end else {
            return Ok(Some((
                StatisticsPlace::Page(page),
                StatisticsFault::PageRows,
            )));
        };
        if let Some(fault) =
            stated.fault_of(page, &values.slice(start, end - start), (false, false))
        {
            return Ok(Some((StatisticsPlace::Page(page), fault)));
        }
        start = end;
    }
    Ok((start != values.len()).then_some((
        StatisticsPlace::Page(rows.len() - 1),
        StatisticsFault::PageRows,
    )))
}

/// Whether minimum and maximum of a row group are called exact. Only whole numbers and times: texts
/// may be cut, and floats have two zeros.
fn is_exact(
    metadata: &ParquetMetaData,
    group: usize,
    converter: &StatisticsConverter,
    dtype: &DataType,
) -> (bool, bool) {
    let column = converter
        .parquet_column_index()
        .filter(|_| dtype.is_integer() || dtype.is_temporal());
    let chunk = column.and_then(|column| metadata.row_groups().get(group)?.columns().get(column));
    chunk
        .and_then(|chunk| chunk.statistics())
        .map_or((false, false), |known| {
            (known.min_is_exact(), known.max_is_exact())
        })
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum BoundSide {
    Below,
    Above,
}

impl BoundSide {
    fn is_beyond(self, value: f64, bound: f64) -> bool {
        match self {
            Self::Below => value < bound,
            Self::Above => value > bound,
        }
    }
}

/// The first row of `values` beyond `bound`, an array of one value. Nulls and NaN are never beyond.
fn first_beyond(values: &ArrayRef, bound: &ArrayRef, side: BoundSide) -> Option<usize> {
    if values.data_type().is_floating() {
        // By the numbers: the comparison of the library distinguishes zeros and orders NaN.
        let numbers = [values, bound].map(|array| cast(array, &DataType::Float64).ok());
        let [Some(values), Some(bound)] = numbers else {
            return None;
        };
        let (values, bound) = (
            values.as_primitive::<Float64Type>(),
            bound.as_primitive::<Float64Type>().value(0),
        );
        let is_beyond = |value| side.is_beyond(value, bound);
        return values.iter().position(|value| value.is_some_and(is_beyond));
    }
    let bound = Scalar::new(bound.clone());
    let beyond = match side {
        BoundSide::Below => cmp::lt(values, &bound),
        BoundSide::Above => cmp::gt(values, &bound),
    };
    // Types without an order have no bounds either.
    beyond.ok()?.iter().position(|beyond| beyond == Some(true))
}

/// The least or greatest value, as an array of one.
fn edge_of(values: &ArrayRef, descending: bool) -> Option<ArrayRef> {
    let edge = sort_limit(
        values,
        Some(SortOptions {
            descending,
            nulls_first: false,
        }),
        Some(1),
    )
    .ok()?;
    (edge.len() == 1 && edge.is_valid(0)).then_some(edge)
}

fn concat_arrays(arrays: &[ArrayRef]) -> Result<Option<ArrayRef>> {
    match arrays {
        [] => Ok(None),
        [array] => Ok(Some(array.clone())),
        several => {
            let several: Vec<&dyn Array> = several.iter().map(AsRef::as_ref).collect();
            concat(&several)
                .map(Some)
                .map_err(|error| Error::format("the column can't be joined").because(error))
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use arrow::array::{
        Float64Array, Int64Array, RecordBatch, StringArray, TimestampMicrosecondArray,
    };
    use parquet::arrow::ArrowWriter;
    use parquet::file::properties::WriterProperties;

    use super::*;
    use crate::table::ParquetSlice;

    /// 40 rows in 4 row groups with pages of 5 rows.
    fn file() -> Vec<u8> {
        let numbers: ArrayRef = Arc::new(Int64Array::from_iter(
            (1_000_000..1_000_040).map(|n| (n % 7 != 0).then_some(n)),
        ));
        let floats = [f64::NAN, -0.0, 0.0, 2.5e100].into_iter().cycle().take(40);
        let floats: ArrayRef = Arc::new(Float64Array::from_iter_values(floats));
        let texts: ArrayRef = Arc::new(StringArray::from_iter_values(
            (0..40).map(|n| format!("{n:02} ñ{}", "x".repeat(100))),
        ));
        let times: ArrayRef = Arc::new(TimestampMicrosecondArray::from_iter_values(
            (0..40).map(|n| 1_600_000_000_000_000 + n),
        ));
        let columns = [("n", numbers), ("f", floats), ("t", texts), ("time", times)];
        let batch = RecordBatch::try_from_iter(columns).expect("is a batch");
        let properties = WriterProperties::builder()
            .set_max_row_group_row_count(Some(10))
            .set_data_page_row_count_limit(5)
            .set_write_batch_size(5)
            .set_dictionary_enabled(false)
            .build();
        let mut bytes = Vec::new();
        let mut writer =
            ArrowWriter::try_new(&mut bytes, batch.schema(), Some(properties)).expect("a writer");
        writer.write(&batch).expect("writes");
        writer.close().expect("closes");
        bytes
    }

    fn wrong(bytes: Vec<u8>) -> Vec<WrongStatistics> {
        let head = TableHead::read(ParquetSlice::from_bytes(bytes.into())).expect("a footer");
        head.wrong_statistics(&JobContext::default())
            .expect("compares")
    }

    /// Puts `new` in the place of `old` from the `nth` time on that the file has it.
    fn replaced(mut bytes: Vec<u8>, old: i64, new: i64, nth: usize) -> Vec<u8> {
        let (old, new) = (old.to_le_bytes(), new.to_le_bytes());
        let places: Vec<usize> = (0..bytes.len() - 8)
            .filter(|&at| bytes[at..at + 8] == old)
            .skip(nth)
            .collect();
        assert!(!places.is_empty());
        for at in places {
            bytes[at..at + 8].copy_from_slice(&new);
        }
        bytes
    }

    #[test]
    fn true_statistics_are_no_fault() {
        assert_eq!(wrong(file()), []);
    }

    #[test]
    fn statistics_that_exclude_values_are_found() {
        // The first time is the value, then page header, page index and footer.
        let found = wrong(replaced(file(), 1_000_029, 1_000_021, 1));
        let [fault] = found.as_slice() else {
            panic!("{found:?}")
        };
        assert_eq!(
            (fault.column.as_str(), fault.group, fault.groups),
            ("n", 2, 1)
        );
        assert_eq!(
            fault.fault,
            StatisticsFault::Above {
                maximum: "1000021".into(),
                value: "1000022".into()
            }
        );
        let found = wrong(replaced(
            file(),
            1_600_000_000_000_010,
            1_600_000_000_000_015,
            1,
        ));
        assert!(matches!(
            found.as_slice(),
            [fault]
                if fault.column == "time" && matches!(
                    fault.fault,
                    StatisticsFault::Below { .. }
                )
        ));
    }

    #[test]
    fn exact_statistics_that_no_value_has_are_found() {
        let found = wrong(replaced(file(), 1_000_029, 1_000_999, 1));
        let [fault] = found.as_slice() else {
            panic!("{found:?}")
        };
        assert_eq!(
            fault.fault,
            StatisticsFault::NotGreatest {
                maximum: "1000999".into(),
                greatest: "1000029".into()
            }
        );
    }

    #[test]
    fn the_page_index_is_compared_too() {
        // The least value of the second page of the first row group, which the footer does not
        // have.
        let found = wrong(replaced(file(), 1_000_005, 1_000_007, 1));
        let [fault] = found.as_slice() else {
            panic!("{found:?}")
        };
        assert_eq!(
            (fault.column.as_str(), fault.group, fault.place),
            ("n", 0, StatisticsPlace::Page(1))
        );
    }
}
