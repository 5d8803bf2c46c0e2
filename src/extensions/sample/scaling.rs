//! `scaling`: factor and offset of packed values (unpacked = packed × factor + offset), and the
//! number of padding pixels.

use arrow::datatypes::DataType;
use serde_json::Value as Json;

use super::super::{
    Extension, ExtensionEntry, ExtensionScope, OptionKind, OptionSpec, SampleExtension, SampleView,
    parse_options,
};
use super::{field, list_float32, list_type, round_to_float32};
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

/// One number for all bands, or one for each.
#[derive(serde::Deserialize)]
#[serde(untagged)]
enum BandNumbers {
    ForAll(f64),
    ForEach(Vec<f64>),
}

impl BandNumbers {
    fn as_list(&self) -> &[f64] {
        match self {
            BandNumbers::ForAll(number) => std::slice::from_ref(number),
            BandNumbers::ForEach(numbers) => numbers,
        }
    }

    fn is_list(&self) -> bool {
        matches!(self, BandNumbers::ForEach(_))
    }
}

#[derive(serde::Deserialize)]
#[serde(deny_unknown_fields)]
struct ScalingExtension {
    scale_factor: Option<BandNumbers>,
    scale_offset: Option<BandNumbers>,
    padding: Option<Vec<i32>>,
    from_bands: bool,
}

fn make(given: &Json) -> Result<Extension> {
    let scaling: ScalingExtension = parse_options("scaling", &options(), given)?;
    scaling.check()?;
    Ok(Extension::Sample(Box::new(scaling)))
}

impl ScalingExtension {
    fn check(&self) -> Result<()> {
        let wrong = |summary: &str| Err(Error::usage(summary));
        let (factor, offset) = (&self.scale_factor, &self.scale_offset);
        if self.from_bands && (factor.is_some() || offset.is_some()) {
            return wrong(
                "scaling takes its numbers from the options or from the bands, not from both",
            );
        }
        let given = || [factor, offset].into_iter().flatten();
        if given().any(|numbers| numbers.as_list().is_empty()) {
            return wrong("a list of factors or offsets of scaling is empty");
        }
        if !given().all(|numbers| numbers.as_list().iter().all(|&number| is_float32(number))) {
            return wrong("factors and offsets of scaling have to be finite as float32");
        }
        if let Some(factor) = factor
            && !factor.as_list().iter().all(|&factor| is_factor(factor))
        {
            return wrong(
                "option scale_factor of scaling can't be zero, nor too small for float32",
            );
        }
        if let (Some(BandNumbers::ForEach(factors)), Some(BandNumbers::ForEach(offsets))) =
            (factor, offset)
            && factors.len() != offsets.len()
        {
            return Err(Error::usage(format!(
                "scaling has {} factors and {} offsets",
                factors.len(),
                offsets.len()
            ))
            .hint("give one of each for every band, or one number for all bands"));
        }
        if let Some(padding) = &self.padding
            && padding.len() != 4
        {
            return wrong(
                "option padding of scaling has to be four numbers: top, right, bottom, left",
            );
        }
        Ok(())
    }

    /// Whether both columns are lists: as in the Python tools, one list makes both columns lists.
    fn has_lists(&self) -> bool {
        let is_list =
            |numbers: &Option<BandNumbers>| numbers.as_ref().is_some_and(BandNumbers::is_list);
        self.from_bands || is_list(&self.scale_factor) || is_list(&self.scale_offset)
    }

    /// The value of a column. One number for all bands is a list of one where the other column is a
    /// list, as in the Python tools: see [`Value::number_of_band`].
    fn column_value(&self, numbers: &Option<BandNumbers>) -> Value {
        match numbers {
            None => Value::Null,
            Some(BandNumbers::ForAll(number)) if !self.has_lists() => round_to_float32(*number),
            Some(numbers) => list_float32(numbers.as_list().iter().copied()),
        }
    }
}

/// True for numbers that float32, the stored type, has.
fn is_float32(number: f64) -> bool {
    (number as f32).is_finite()
}

/// True for numbers by which packed values can be multiplied and divided, once stored.
fn is_factor(number: f64) -> bool {
    is_float32(number) && number as f32 != 0.0
}

/// Factor and offset of the band with this number, from the header of a raster.
///
/// # Errors
/// [`Kind::Invalid`](crate::error::Kind::Invalid) for a factor or offset that can't be stored.
fn scaling_of_band(band: usize, scale: Option<f64>, offset: Option<f64>) -> Result<(f64, f64)> {
    let (factor, offset) = (scale.unwrap_or(1.0), offset.unwrap_or(0.0));
    if is_factor(factor) && is_float32(offset) {
        return Ok((factor, offset));
    }
    Err(Error::invalid(format!(
        "band {band} has the factor {factor} and the offset {offset} in its header"
    ))
    .hint("both have to be finite as float32, and the factor not zero"))
}

impl SampleExtension for ScalingExtension {
    fn schema(&self) -> Vec<FieldSpec> {
        let dtype = if self.has_lists() {
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
            let bands = info.bands.iter().zip(1..);
            let (factors, offsets): (Vec<f64>, Vec<f64>) = bands
                .map(|(band, number)| scaling_of_band(number, band.scale, band.offset))
                .collect::<Result<_>>()?;
            return Ok(vec![list_float32(factors), list_float32(offsets), padding]);
        }
        Ok(vec![
            self.column_value(&self.scale_factor),
            self.column_value(&self.scale_offset),
            padding,
        ])
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn factors_and_offsets_have_to_be_numbers_of_float32() {
        for good in [
            json!({"scale_factor": 1e-4, "scale_offset": -5}),
            json!({"scale_factor": [0.1, 0.2], "scale_offset": 10}),
            json!({"scale_factor": [0.1, 0.2], "scale_offset": [1, 2]}),
            json!({"scale_offset": 1e-50}),
        ] {
            assert!(make(&good).is_ok(), "{good}");
        }
        for bad in [
            json!({"scale_factor": 0}),
            json!({"scale_factor": 1e-50}),
            json!({"scale_factor": 1e300}),
            json!({"scale_offset": [0, -1e39]}),
            json!({"scale_factor": []}),
            json!({"scale_factor": [0.1, 0.2], "scale_offset": [1, 2, 3]}),
            json!({"scale_factor": 2, "from_bands": true}),
            json!({"padding": [1, 2, 3]}),
        ] {
            assert!(make(&bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn headers_state_numbers_that_can_be_stored_or_none() {
        assert_eq!(scaling_of_band(1, None, None).ok(), Some((1.0, 0.0)));
        assert_eq!(
            scaling_of_band(1, Some(0.5), Some(3.0)).ok(),
            Some((0.5, 3.0))
        );
        assert!(scaling_of_band(1, Some(0.0), None).is_err());
        assert!(scaling_of_band(1, Some(1e300), None).is_err());
        assert!(scaling_of_band(1, None, Some(f64::NAN)).is_err());
    }

    #[test]
    fn one_list_makes_both_columns_lists() {
        let scaling = ScalingExtension {
            scale_factor: Some(BandNumbers::ForEach(vec![0.5, 0.25])),
            scale_offset: Some(BandNumbers::ForAll(10.0)),
            padding: None,
            from_bands: false,
        };
        assert_eq!(
            scaling.column_value(&scaling.scale_factor),
            list_float32([0.5, 0.25])
        );
        let offset = scaling.column_value(&scaling.scale_offset);
        assert_eq!(offset, list_float32([10.0]));
        assert_eq!(offset.number_of_band(1), Some(10.0));
    }
}
