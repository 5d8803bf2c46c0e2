//! State of the rasters on the map. Imports no panel context, so that the list of panels can hold
//! it.

use std::collections::BTreeMap;
use std::sync::Arc;

use egui::TextureHandle;

use crate::gui::document_key::DocumentKey;
use crate::jobs::{AsyncState, AsyncValue};
use crate::raster::Rgba;
use crate::studio::RowRef;

/// Which rasters are drawn.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ShownRasters {
    /// None.
    #[default]
    Nothing,
    /// The selected one; of a FOLDER, its first.
    Sample,
    /// The selected one and the files beside it.
    Siblings,
}

impl ShownRasters {
    /// The choices in order.
    pub const ALL: [Self; 3] = [Self::Nothing, Self::Sample, Self::Siblings];

    /// Text of the choice.
    pub fn text(self) -> &'static str {
        match self {
            Self::Nothing => tr!("No rasters"),
            Self::Sample => tr!("This sample"),
            Self::Siblings => tr!("With its siblings"),
        }
    }
}

/// A picture with the coordinates of its grid points.
pub struct PlacedPicture {
    pub(super) image: Rgba,
    /// The grid points row by row, in plane coordinates.
    pub(super) grid: Vec<[f64; 2]>,
}

#[derive(Default)]
pub struct MapRaster {
    pub(super) asked: AsyncValue<(DocumentKey, RowRef), Arc<PlacedPicture>>,
    pub(super) texture: Option<TextureHandle>,
}

#[derive(Default)]
pub struct RastersState {
    /// Which are drawn.
    pub shown: ShownRasters,
    /// Zoom to the selected raster once its location is known.
    pub(super) zooms: bool,
    pub(super) list: BTreeMap<RowRef, MapRaster>,
}

impl RastersState {
    /// Chooses which rasters are drawn; the map zooms to the selected one, which is a dot where all
    /// samples fit.
    pub fn show(&mut self, shown: ShownRasters) {
        (self.shown, self.zooms) = (shown, shown != ShownRasters::Nothing);
    }

    /// Why the selected raster is not on the map.
    pub fn failure(&self, at: Option<RowRef>) -> Option<&str> {
        let one = at.and_then(|at| self.list.get(&at))?;
        match one.asked.state() {
            AsyncState::Failed(error) => Some(error.summary()),
            _ => None,
        }
    }

    /// Number of rasters that are drawn.
    pub fn drawn_count(&self) -> usize {
        self.list
            .values()
            .filter(|one| one.texture.is_some())
            .count()
    }

    /// True while a raster is read.
    pub fn is_reading(&self) -> bool {
        self.list.values().any(|one| one.asked.is_pending())
    }
}
