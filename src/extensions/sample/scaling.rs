//! `scaling`: factor and offset of packed values (unpacked = packed × factor + offset), and the
//! number of padding pixels.

use arrow::datatypes::DataType;
use serde_json::Value as Json;

use super::super::{
    Extension, ExtensionEntry, ExtensionScope, OptionKind, OptionSpec, SampleExtension, SampleView,
    parse_options,
};
use super::{field, list_type};
use crate::error::{Error, Result};
use crate::jobs::JobContext;
use crate::model::{FieldSpec, Value};

pub const ENTRY: ExtensionEntry = ExtensionEntry {
    name: "scaling",
    title: mark!("Scaling"),
    summary: mark!("Adds scale factor, offset and padding: unpacked = packed × factor + offset."),
    scope: ExtensionScope::Sample,
    options,
    make,
};

fn options() -> Vec<OptionSpec> {
    vec![
        OptionSpec::new(
            mark!("scale_factor"),
            OptionKind::Json,
            mark!("a number other than 0, or a list with one for each band"),
        ),
        OptionSpec::new(
            mark!("scale_offset"),
            OptionKind::Json,
            mark!("a number, or a list with one for each band"),
        ),
        OptionSpec::new(
            mark!("padding"),
            OptionKind::List(&OptionKind::Integer),
            mark!("pixels added at top, right, bottom and left"),
        ),
        OptionSpec::new(
            mark!("from_bands"),
            OptionKind::Bool,
            mark!("take factor and offset of each band from the raster's header"),
        )
        .or(false),
    ]
}

#[derive(serde::Deserialize)]
#[serde(untagged)]
enum OneOrMany {
    One(f64),
    Many(Vec<f64>),
}

impl OneOrMany {
    fn as_list(&self) -> &[f64] {
        match self {
            OneOrMany::One(number) => std::slice::from_ref(number),
            OneOrMany::Many(numbers) => numbers,
        }
    }
}

#[derive(serde::Deserialize)]
#[serde(deny_unknown_fields)]
struct ScalingExtension {
    scale_factor: Option<OneOrMany>,
    scale_offset: Option<OneOrMany>,
    padding: Option<Vec<i32>>,
    from_bands: bool,
}

fn make(given: &Json) -> Result<Extension> {
    let scaling: ScalingExtension = parse_options("scaling", &options(), given)?;
    let wrong = |summary: &str| Err(Error::usage(summary));
    if scaling.from_bands && (scaling.scale_factor.is_some() || scaling.scale_offset.is_some()) {
        return wrong(
            "scaling takes its numbers from the options or from the bands, not from both",
        );
    }
    let numbers = [&scaling.scale_factor, &scaling.scale_offset];
    if numbers
        .iter()
        .filter_map(|n| n.as_ref())
        .flat_map(|n| n.as_list())
        .any(|number| !number.is_finite())
    {
        return wrong("factors and offsets of scaling have to be finite");
    }
    if scaling
        .scale_factor
        .as_ref()
        .is_some_and(|factor| factor.as_list().contains(&0.0))
    {
        return wrong("option scale_factor of scaling can't be zero");
    }
    if scaling
        .padding
        .as_ref()
        .is_some_and(|padding| padding.len() != 4)
    {
        return wrong("option padding of scaling has to be four numbers: top, right, bottom, left");
    }
    Ok(Extension::Sample(Box::new(scaling)))
}

impl ScalingExtension {
    /// Whether both columns are lists: as in the Python tools, one list makes both columns lists.
    fn lists(&self) -> bool {
        let many = |numbers: &Option<OneOrMany>| matches!(numbers, Some(OneOrMany::Many(_)));
        self.from_bands || many(&self.scale_factor) || many(&self.scale_offset)
    }

    fn value(&self, numbers: &Option<OneOrMany>) -> Value {
        match numbers {
            None => Value::Null,
            Some(numbers) if self.lists() => single(numbers.as_list().iter().copied()),
            Some(numbers) => numbers
                .as_list()
                .first()
                .map_or(Value::Null, |number| round_to_float32(*number)),
        }
    }
}

/// Rounded to float32 as stored, so that the draft shows the value that readers get.
fn round_to_float32(number: f64) -> Value {
    Value::Float(f64::from(number as f32))
}

fn single(numbers: impl Iterator<Item = f64>) -> Value {
    Value::List(numbers.map(round_to_float32).collect())
}

impl SampleExtension for ScalingExtension {
    fn schema(&self) -> Vec<FieldSpec> {
        let dtype = if self.lists() {
            list_type(DataType::Float32)
        } else {
            DataType::Float32
        };
        vec![
            field(
                "scaling:scale_factor",
                dtype.clone(),
                "Multiplicative scaling factor for unpacking data (Float32 or List[Float32])",
            ),
            field(
                "scaling:scale_offset",
                dtype,
                "Additive offset for unpacking data (Float32 or List[Float32])",
            ),
            field(
                "scaling:padding",
                list_type(DataType::Int32),
                "Spatial padding [top, right, bottom, left] in pixels (List[Int32])",
            ),
        ]
    }

    fn needs_file(&self) -> bool {
        self.from_bands
    }

    fn compute(&self, sample: &SampleView<'_>, _: &JobContext) -> Result<Vec<Value>> {
        let padding = match &self.padding {
            None => Value::Null,
            Some(padding) => Value::List(
                padding
                    .iter()
                    .map(|pixels| Value::Int(i64::from(*pixels)))
                    .collect(),
            ),
        };
        if self.from_bands {
            let info = sample.raster()?;
            let factors = single(info.bands.iter().map(|band| band.scale.unwrap_or(1.0)));
            let offsets = single(info.bands.iter().map(|band| band.offset.unwrap_or(0.0)));
            return Ok(vec![factors, offsets, padding]);
        }
        Ok(vec![
            self.value(&self.scale_factor),
            self.value(&self.scale_offset),
            padding,
        ])
    }
}
