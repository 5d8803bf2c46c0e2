//! Parts of the map without its panel: projection, base map, footprint meshes, time histogram.
//! Heavy work runs in jobs on plain data; the interface thread only moves finished meshes.

mod base;
mod colours;
mod density;
mod marks;
mod scene;
mod times;
mod view;

pub use base::{BaseMap, build_base_map, scale_step};
pub use colours::{Legend, RowClasses, classify_rows};
pub use density::{DENSITY_STEPS, density_colour};
pub use marks::{build_scene, edge_around_pole};
pub use scene::{MapScene, SceneColours, SceneRequest};
pub use times::{TimeBars, axis_labels, count_by_day, day_text, parse_day};
pub use view::{
    MapView, ProjectedFootprints, latitude_at, longitude_at, plane_x, plane_y, wrap_longitude,
};
