//! Sample extensions. Each file defines one with its `ENTRY`; the list below is the only
//! registration.

mod class_shares;
pub(super) mod command;
mod cube;
mod histogram;
mod istac;
mod raster_place;
mod scaling;
mod split;
mod stac;
mod stats;
mod tacotiff;
pub(super) mod times;

use arrow::datatypes::{DataType, Field, TimeUnit};
use std::sync::Arc;

use super::ExtensionEntry;
use crate::model::{FieldSpec, Value};
use crate::table::write_wkb_point;

/// Every sample extension, in the order of the interface, in which it also runs them: the variable
/// of a file is chosen before it is read.
pub const ENTRIES: &[ExtensionEntry] = &[
    cube::ENTRY,
    stac::ENTRY,
    istac::ENTRY,
    stats::ENTRY,
    histogram::ENTRY,
    class_shares::ENTRY,
    scaling::ENTRY,
    split::ENTRY,
    tacotiff::ENTRY,
    command::ENTRY,
];

fn field(name: &str, dtype: DataType, description: &str) -> FieldSpec {
    FieldSpec {
        name: name.into(),
        dtype,
        description: description.into(),
    }
}

fn list_type(item: DataType) -> DataType {
    DataType::List(Arc::new(Field::new("item", item, true)))
}

/// `timestamp[us]` without a time zone, meaning UTC.
fn time_type() -> DataType {
    DataType::Timestamp(TimeUnit::Microsecond, None)
}

fn floats(values: impl IntoIterator<Item = f64>) -> Value {
    Value::List(values.into_iter().map(Value::Float).collect())
}

/// Rounds to float32, the stored type, so that the draft shows the value that readers get.
fn round_to_float32(number: f64) -> Value {
    Value::Float(f64::from(number as f32))
}

fn list_float32(numbers: impl IntoIterator<Item = f64>) -> Value {
    Value::List(numbers.into_iter().map(round_to_float32).collect())
}

/// Little-endian WKB of a point.
fn point_value([x, y]: [f64; 2]) -> Value {
    Value::Bytes(write_wkb_point(x, y).as_slice().into())
}
