//! The features of a vector file, read in the pixels of the picture behind them, and the state of
//! their view.

use std::sync::Arc;

use super::picture::{Picture, PictureAnswer};
use super::picture_request::BesideKey;
use crate::error::{Error, Result};
use crate::gui::widgets::RowScroll;
use crate::jobs::{AsyncValue, JobContext};
use crate::raster::{
    Feature, FeatureLayer, FeatureSet, PixelPlane, RasterSource, describe_variable, layer_places,
    read_features,
};
use crate::studio::RowRef;

/// Finds the source of a sample, in a job.
type FindSource = Box<dyn FnOnce() -> Result<(RasterSource, u64)> + Send>;

/// The features of a file, in the pixels of a picture.
pub(super) struct VectorView {
    pub(super) features: FeatureSet,
    /// Layer and position in it of each feature, in the order of the list.
    pub(super) rows: Vec<(usize, usize)>,
    pub(super) plane: PixelPlane,
    pub(super) background: Option<PictureAnswer>,
}

#[derive(Default)]
pub struct VectorState {
    pub(super) view: AsyncValue<(RowRef, BesideKey), Arc<VectorView>>,
    pub(super) background: Option<Picture>,
    /// Position of the selected feature in the list.
    pub selected: Option<usize>,
    pub(super) scroll: RowScroll,
}

impl VectorView {
    /// Reads the features, and the picture of the first of the siblings that they reach as `beside`
    /// says.
    pub(super) fn read(
        source: FindSource,
        siblings: Vec<FindSource>,
        beside: &BesideKey,
        ctx: &JobContext,
    ) -> Result<Self> {
        let (source, _) = source()?;
        let places = layer_places(&source)?;
        let own = PixelPlane::of_layers(&places)
            .ok_or_else(|| Error::unsupported(tr!("The layers have no shapes.")))?;
        let mut found = None;
        for sibling in siblings {
            ctx.check()?;
            // A sibling that can't be read is shown when it is selected.
            let Ok((raster, size)) = sibling() else {
                continue;
            };
            let Ok((raster, info)) = describe_variable(raster, beside.variable.clone()) else {
                continue;
            };
            let Some(plane) = PixelPlane::of_raster(&info).filter(|plane| plane.shows(&places))
            else {
                continue;
            };
            found = beside
                .clone()
                .read(|| Ok((raster, size)), ctx)
                .ok()
                .map(|answer| (plane, answer));
            break;
        }
        let (plane, background) =
            found.map_or((own, None), |(plane, answer)| (plane, Some(answer)));
        let features = read_features(&source, &plane, ctx)?;
        let numbered = features.layers.iter().enumerate();
        let rows = numbered
            .flat_map(|(layer, read)| (0..read.features.len()).map(move |at| (layer, at)))
            .collect();
        Ok(Self {
            features,
            rows,
            plane,
            background,
        })
    }

    pub(super) fn feature(&self, row: usize) -> Option<(&FeatureLayer, &Feature)> {
        let &(layer, at) = self.rows.get(row)?;
        let layer = self.features.layers.get(layer)?;
        Some((layer, layer.features.get(at)?))
    }

    /// The feature at a pixel position that is drawn last.
    pub(super) fn row_at(&self, at: [f64; 2], reach: f64) -> Option<usize> {
        (0..self.rows.len()).rev().find(|&row| {
            self.feature(row)
                .is_some_and(|(_, feature)| feature.shape.is_at(at, reach))
        })
    }

    /// The first known values of a feature.
    pub(super) fn caption(&self, row: usize) -> String {
        let Some((_, feature)) = self.feature(row) else {
            return String::new();
        };
        let known: Vec<&str> = feature
            .values
            .iter()
            .flatten()
            .map(String::as_str)
            .filter(|text| !text.is_empty())
            .take(3)
            .collect();
        known.join("  ")
    }
}
