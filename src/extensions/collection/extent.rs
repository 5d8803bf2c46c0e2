//! `extent`: the bounding box and time interval of all samples (TACO 2.0, section 5.5.2).

use super::CollectionFields;
use crate::container::{Assembly, extent_of_samples};
use crate::error::{Error, Result};
use crate::jobs::JobContext;
use crate::model::{Dataset, EXTENT_ORIGIN, ExtentOrigin};

/// `extent` from the footprints and times of the samples. In a box across the antimeridian, west >
/// east.
///
/// # Errors
/// When no sample has a location, as the extent would be the whole world.
pub fn extent(dataset: &Dataset, ctx: &JobContext) -> Result<CollectionFields> {
    let assembly = Assembly::of_dataset(dataset, ctx)?;
    let found = extent_of_samples(&assembly.batches(), ctx)?.ok_or_else(|| {
        Error::invalid("no level says where its samples are")
            .hint("run the STAC or ISTAC extension first")
    })?;
    Ok(vec![
        ("extent".into(), found),
        (EXTENT_ORIGIN.into(), ExtentOrigin::Samples.as_str().into()),
    ])
}
