//! `extent`: the bounding box and time interval of all samples (TACO 2.0, section 5.5.2).

use super::Fields;
use crate::container::{Assembly, extent_of};
use crate::error::{Error, Result};
use crate::jobs::JobContext;
use crate::model::Dataset;

/// `extent` from the first level with `stac:centroid` or `istac:centroid`. In a box across the antimeridian, west > east.
///
/// # Errors
/// When no level has a centroid, as the extent would be the whole world.
pub fn extent(dataset: &Dataset, ctx: &JobContext) -> Result<Fields> {
    let assembly = Assembly::of_dataset(dataset, ctx)?;
    let levels: Vec<_> = assembly.levels.iter().map(|level| &level.batch).collect();
    let placed = levels.iter().any(|batch| {
        let columns = ["stac:centroid", "istac:centroid"].into_iter().filter_map(|name| batch.column_by_name(name));
        columns.into_iter().any(|column| column.null_count() < column.len())
    });
    if !placed {
        return Err(Error::invalid("no level says where its samples are").hint("run the STAC or ISTAC extension first"));
    }
    Ok(vec![("extent".into(), extent_of(&levels))])
}
