//! The shorter verbs: the sample dataset and GDAL's drivers.

use std::path::Path;

use serde_json::json;

use super::output::{print, print_json};
use crate::error::Result;
use crate::jobs::JobContext;
use crate::ops::make_sample_dataset;
use crate::raster;

pub fn sample(folder: &Path) -> Result<u8> {
    let path = make_sample_dataset(folder, &JobContext::default())?;
    print(&path.display().to_string())?;
    Ok(0)
}

pub fn drivers(as_json: bool) -> Result<u8> {
    let environment = raster::environment();
    if as_json {
        let names: Vec<_> = environment
            .drivers
            .iter()
            .map(|driver| driver.name.as_str())
            .collect();
        let out = json!({
            "gdal": environment.gdal_version,
            "proj": environment.proj_ok,
            "drivers": names,
            "missing": environment.missing,
        });
        print_json(&out)?;
        return Ok(0);
    }
    let mut text = format!("GDAL {}\n", environment.gdal_version);
    for driver in &environment.drivers {
        text.push_str(&format!("  {:16} {}\n", driver.name, driver.long_name));
    }
    if !environment.missing.is_empty() {
        text.push_str(&format!("missing: {}\n", environment.missing.join(", ")));
    }
    print(&text)?;
    Ok(0)
}
