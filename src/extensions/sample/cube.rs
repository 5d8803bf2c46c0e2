//! `cube`: the variable that is read of a file with several, such as netCDF or HDF5. Statistics,
//! places, previews and queries of pixels use it.

use arrow::datatypes::DataType;
use serde_json::Value as Json;

use super::super::{
    Extension, ExtensionEntry, ExtensionScope, OptionKind, OptionSpec, SampleExtension, SampleView,
    parse_options,
};
use super::field;
use crate::error::{Error, Result};
use crate::jobs::JobContext;
use crate::model::{FieldSpec, Value};
use crate::raster::{VARIABLE_COLUMN, describe};

pub const ENTRY: ExtensionEntry = ExtensionEntry {
    name: "cube",
    title: mark!("Variable"),
    summary: mark!(
        "Chooses the variable that statistics, places and previews read of netCDF, HDF5 and other \
            files with several."
    ),
    scope: ExtensionScope::Sample,
    options,
    make,
};

fn options() -> Vec<OptionSpec> {
    vec![OptionSpec::new(
        mark!("variable"),
        OptionKind::Text,
        mark!("name of the variable; without one, the first with pixels"),
    )]
}

#[derive(serde::Deserialize)]
#[serde(deny_unknown_fields)]
struct Cube {
    variable: Option<String>,
}

fn make(given: &Json) -> Result<Extension> {
    let cube: Cube = parse_options("cube", &options(), given)?;
    Ok(Extension::Sample(Box::new(cube)))
}

impl SampleExtension for Cube {
    fn schema(&self) -> Vec<FieldSpec> {
        vec![field(
            VARIABLE_COLUMN,
            DataType::Utf8,
            "Variable that is read of a file with several",
        )]
    }

    fn compute(&self, sample: &SampleView<'_>, _: &JobContext) -> Result<Vec<Value>> {
        let wanted = self.variable.as_deref().filter(|name| !name.is_empty());
        let info = describe(
            &sample
                .raster_source()?
                .with_variable(wanted.map(Into::into)),
        )?;
        let Some(read) = &info.variable else {
            let reason = "the file holds one raster, so that there is nothing to choose";
            sample.note_absent(&[VARIABLE_COLUMN], reason.to_owned());
            return Ok(vec![Value::Null]);
        };
        match &read.name {
            Some(name) => Ok(vec![Value::Text(name.as_str().into())]),
            None => Err(Error::unsupported(format!("read are {}", read.sentence()))
                .hint("name one of them in the option variable")),
        }
    }
}
