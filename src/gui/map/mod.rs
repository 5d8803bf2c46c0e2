//! Parts of the map without its panel: projection, base map, footprint meshes, time histogram.
//! Heavy work runs in jobs on plain data; the interface thread only moves finished meshes.

mod base;
mod colours;
mod density;
mod marks;
mod scene;
mod times;
mod view;

pub use base::{BaseMap, base_of, bucket_of};
pub use colours::{Legend, RowClasses, classes_of};
pub use density::{STEPS as DENSITY_STEPS, colour_of as density_colour};
pub use marks::{around_pole, scene_of};
pub use scene::{Ink, MapScene, SceneRequest};
pub use times::{TimeBars, bars_of, days_between, parse as parse_day, text_of as day_text};
pub use view::{MapView, Projected, lat_of, lon_of, wrap_longitude, x_of, y_of};
