//! Drawing of the map for a view: a mesh and its hover targets. Computed in jobs; the interface
//! thread moves and scales the last mesh until the next one is ready.

use std::sync::Arc;

use egui::{Color32, Mesh, Pos2, Rect, Vec2};

use super::colours::{OTHER_CLASS, RowClasses};
use super::view::{MapView, ProjectedFootprints};
use crate::error::Result;
use crate::jobs::JobContext;
use crate::ops::{Footprints, KeptRows};

/// Margin on every side, as a fraction of the view, for dragging.
pub(super) const MARGIN: f32 = 0.25;

/// Colours of a scene.
#[derive(Clone, Debug, PartialEq)]
pub struct SceneColours {
    /// Rows that match, by class; one without classes.
    pub classes: Vec<Color32>,
    /// Rows without a class.
    pub other: Color32,
    /// Rows that the filter hides.
    pub hidden: Color32,
}

impl SceneColours {
    pub(super) fn colour_of_class(&self, class: u8) -> Color32 {
        if class == OTHER_CLASS {
            self.other
        } else {
            self.classes
                .get(usize::from(class))
                .copied()
                .unwrap_or(self.other)
        }
    }
}

/// Input of a scene.
#[derive(Clone)]
pub struct SceneRequest {
    /// Footprints of the rows, in degrees.
    pub footprints: Arc<Footprints>,
    /// The same in plane coordinates.
    pub projected: Arc<ProjectedFootprints>,
    /// Rows that match the filter.
    pub kept: Option<Arc<KeptRows>>,
    /// Classes of colour.
    pub classes: Option<Arc<RowClasses>>,
    /// Draw density instead of footprints.
    pub density: bool,
    pub view: MapView,
    /// The size of the map in points.
    pub size: Vec2,
    /// Colours.
    pub colours: SceneColours,
}

/// An outline or mark under the pointer.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct HoverTarget {
    /// Its row; the first row of a mark.
    pub row: u32,
    /// Number of rows it represents.
    pub count: u32,
    /// Position in points from the centre of the view.
    pub rect: Rect,
}

/// Footprints of a view.
#[derive(Clone, Default)]
pub struct MapScene {
    /// The view that it was computed for.
    pub view: Option<MapView>,
    /// Points from the middle of the view.
    pub mesh: Mesh,
    /// Hover targets: outlines, then marks.
    pub targets: Vec<HoverTarget>,
    /// Number of rows of the level that match and have a location.
    pub matching: u64,
    /// Number of rows with a location that the filter hides.
    pub hidden: u64,
    /// Largest count of a density cell.
    pub densest: u32,
}

impl MapScene {
    /// The smallest target at a position, in points from the centre of the scene's own view.
    pub fn target_at(&self, position: Pos2, reach: f32) -> Option<&HoverTarget> {
        let hit = self
            .targets
            .iter()
            .filter(|target| target.rect.expand(reach).contains(position));
        hit.min_by(|a, b| a.rect.area().total_cmp(&b.rect.area()))
    }
}

/// A row with a footprint, relative to the view.
pub(super) struct PlacedRow {
    pub row: u32,
    /// True when it matches the filter.
    pub matches: bool,
    /// Number of turns of 360 degrees that bring it next to the view.
    pub turn: f64,
    /// Its centre in plane coordinates, after these turns.
    pub plane: [f64; 2],
    /// The same in points from the centre of the view.
    pub at: [f32; 2],
}

/// Calls `visit` for every row with a footprint, and counts them. Checks for cancellation every few
/// thousand rows.
pub(super) fn visit_placed_rows(
    request: &SceneRequest,
    scene: &mut MapScene,
    ctx: &JobContext,
    mut visit: impl FnMut(PlacedRow),
) -> Result<()> {
    let mut is_kept = make_row_filter(request);
    for (row, middle) in request.projected.middles.iter().enumerate() {
        if row % 8192 == 0 {
            ctx.check()?;
        }
        let row = row as u32;
        let matches = is_kept(row);
        if middle[0].is_nan() {
            continue;
        }
        *(if matches {
            &mut scene.matching
        } else {
            &mut scene.hidden
        }) += 1;
        let [x, y] = middle.map(f64::from);
        let turn = -(x - request.view.middle[0]).round();
        let plane = [x + turn, y];
        let at = [0, 1]
            .map(|axis| ((plane[axis] - request.view.middle[axis]) * request.view.scale) as f32);
        visit(PlacedRow {
            row,
            matches,
            turn,
            plane,
            at,
        });
    }
    Ok(())
}

/// A function that returns whether the filter keeps a row. The rows have to be asked in ascending
/// order.
fn make_row_filter(request: &SceneRequest) -> impl FnMut(u32) -> bool + '_ {
    let kept = request
        .kept
        .as_ref()
        .and_then(|kept| kept.rows(request.footprints.level));
    let mut kept_rows = kept.map(|rows| rows.iter().copied().peekable());
    move |row| match &mut kept_rows {
        None => true,
        Some(rows) => {
            while rows.next_if(|&next| next < row).is_some() {}
            rows.peek() == Some(&row)
        }
    }
}
