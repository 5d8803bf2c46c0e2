//! State of the map panel. Imports no panel context, so that the list of panels can hold it.

use std::sync::Arc;

use egui::{Mesh, Pos2};

use super::raster_state::RastersState;
use crate::gui::document_key::DocumentKey;
use crate::gui::draft_levels::DraftLevels;
use crate::gui::map::{BaseMap, MapScene, MapView, ProjectedFootprints, RowClasses, TimeBars};
use crate::gui::value_id::ValueId;
use crate::jobs::AsyncValue;
use crate::ops::{FootprintRequest, Footprints};
use crate::studio::{DocumentId, RowRef};

/// Times of rows, in microseconds since 1970.
pub type RowTimes = Arc<Vec<Option<i64>>>;

/// Footprints of the rows of a level.
#[derive(Clone)]
pub struct LevelFootprints {
    /// In degrees.
    pub geographic: Arc<Footprints>,
    /// In plane coordinates.
    pub projected: Arc<ProjectedFootprints>,
}

/// Effect of a drag on the map.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum DragMode {
    /// Pans the map.
    #[default]
    Pan,
    /// Draws the box of the filter.
    Draw,
    /// Draws the polygon of the filter.
    Lasso,
}

/// State of the panel.
#[derive(Default)]
pub struct MapPanel {
    /// The document that the other fields belong to.
    pub(super) made_for: Option<DocumentId>,
    /// The level shown.
    pub level: usize,
    pub(super) source: Option<String>,
    /// The column that colours the footprints.
    pub(super) colour: Option<String>,
    /// True to show sample density instead of footprints, as the user chose; `None` without a
    /// choice: density is shown of many samples, unless they are coloured by a column.
    pub density: Option<bool>,
    /// Effect of a drag.
    pub mode: DragMode,
    /// The view; `None` fits all footprints.
    pub view: Option<MapView>,
    pub(super) footprints: AsyncValue<(DocumentKey, FootprintRequest), LevelFootprints>,
    pub(super) classes: AsyncValue<(DocumentKey, usize, String), Arc<RowClasses>>,
    pub base: AsyncValue<u32, Arc<BaseMap>>,
    /// The footprints as a mesh.
    pub scene: AsyncValue<SceneKey, Arc<MapScene>>,
    /// The mesh as last drawn.
    pub drawn_mesh: Option<ScreenMesh>,
    /// Key of the newest scene.
    pub scene_key: Option<SceneKey>,
    /// The active drag.
    pub drag: Option<Drag>,
    /// Corners of the polygon that is being drawn (plane coordinates).
    pub(super) lasso: Vec<[f64; 2]>,
    /// The column of times that is shown and the times of the level's rows. The key has the chosen
    /// column, or `None` for the first that has values.
    pub times: AsyncValue<(DocumentKey, usize, Option<String>), (String, RowTimes)>,
    /// Histogram of the times.
    pub bars: AsyncValue<BarsKey, Option<Arc<TimeBars>>>,
    pub time_column: Option<String>,
    /// The range that is being dragged, in days.
    pub brush: Option<Brush>,
    /// The bounds of the range as the user types them.
    pub typed: [String; 2],
    /// Time of the next playback step, in seconds of egui's clock.
    pub next_step_s: Option<f64>,
    /// Rasters drawn on the map.
    pub rasters: RastersState,
    /// The level tables of a draft.
    pub(super) draft_levels: DraftLevels,
}

/// Minimum number of footprints of which density is shown instead, unless the user chooses.
const DENSITY_ROWS_MIN: usize = 100_000;

impl MapPanel {
    /// True when density is shown instead of footprints.
    pub fn is_density(&self) -> bool {
        self.density
            .unwrap_or_else(|| self.colour.is_none() && self.has_many_footprints())
    }

    fn has_many_footprints(&self) -> bool {
        self.footprints()
            .is_some_and(|footprints| footprints.geographic.rows() >= DENSITY_ROWS_MIN)
    }

    /// True until the footprints of the level and their drawing are computed.
    pub fn is_reading(&self) -> bool {
        self.footprints().is_none() || self.scene.latest().is_none()
    }

    /// Footprints of the level, once known.
    pub fn footprints(&self) -> Option<&LevelFootprints> {
        self.footprints
            .latest()
            .filter(|footprints| footprints.geographic.level == self.level)
    }

    /// Time of a sample in microseconds since 1970, once the times of its level are known.
    pub(super) fn find_time(&self, at: RowRef) -> Option<i64> {
        let (_, level, _) = self.times.key()?;
        // The times may still be those of another level: of a level without a column of times
        // none are requested.
        if *level != at.level || self.times.is_pending() {
            return None;
        }
        let (_, times) = self.times.latest()?;
        times.get(at.row as usize).copied().flatten()
    }

    /// Colour classes of the chosen column, once known; while a draft is edited, those of the
    /// revision before until the new ones are ready.
    pub fn classes(&self) -> Option<&Arc<RowClasses>> {
        let chosen = self.colour.as_ref()?;
        let ((_, level, column), classes) = self.classes.latest_entry()?;
        (*level == self.level && column == chosen).then_some(classes)
    }

    /// Shows another level: rows of the one before are neither drawn nor chosen any more.
    pub(super) fn set_level(&mut self, level: usize) {
        self.level = level;
        self.scene = AsyncValue::default();
        (self.scene_key, self.drawn_mesh) = (None, None);
        self.classes = AsyncValue::default();
        self.times = AsyncValue::default();
    }
}

/// Key of the bars of times: document, level, column and filter.
pub type BarsKey = (DocumentKey, usize, String, Option<ValueId>);

/// What a scene shows, and in which colours.
#[derive(Clone, Debug, PartialEq)]
pub struct SceneContents {
    pub footprints: ValueId,
    /// The rows that the filter keeps; `None` without a filter.
    pub kept_rows: Option<ValueId>,
    /// The colour classes; `None` when all footprints have one colour.
    pub classes: Option<ValueId>,
    /// Sample density instead of footprints.
    pub is_density: bool,
    pub is_dark_theme: bool,
}

/// Key of a scene.
#[derive(Clone, Debug, PartialEq)]
pub struct SceneKey {
    pub contents: SceneContents,
    /// The bits of the view's centre (x, y) and scale.
    pub view_bits: [u64; 3],
    /// Width and height in points.
    pub size: [u32; 2],
}

/// A drag that edits the filter box.
#[derive(Clone, Copy, Debug)]
pub enum Drag {
    /// A new box from this corner (plane coordinates) to the pointer.
    Draw([f64; 2]),
    /// A side or corner of the box: the edges that move (left, top, right, bottom), and the box in
    /// plane coordinates.
    Edge([bool; 4], [f64; 4]),
}

/// The mesh of a scene in screen coordinates.
pub struct ScreenMesh {
    /// The scene.
    pub scene: ValueId,
    /// Screen position of the scene's centre.
    pub origin: Pos2,
    /// Factor from the scale of the scene to that of the view.
    pub factor: f32,
    pub mesh: Arc<Mesh>,
}

/// A range of days that is being dragged. Both days are in it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Brush {
    pub(super) from: i64,
    pub(super) to: i64,
    pub(super) drag: BrushDrag,
}

/// The part of a range that a drag moves.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum BrushDrag {
    /// A new range, from this day.
    New(i64),
    /// Its first day.
    From,
    /// Its last day.
    To,
    /// The whole range; the drag started at this day.
    Whole(i64),
}

#[cfg(test)]
mod tests {
    use std::time::{Duration, Instant};

    use super::*;
    use crate::error::Error;
    use crate::gui::map::Legend;
    use crate::jobs::{JobContext, Jobs};

    #[track_caller]
    fn wait_until(holds: impl Fn() -> bool) {
        let end = Instant::now() + Duration::from_secs(20);
        while !holds() {
            assert!(Instant::now() < end, "waited in vain");
            std::thread::sleep(Duration::from_millis(1));
        }
    }

    fn build_key() -> DocumentKey {
        (DocumentId::default(), 0)
    }

    #[test]
    fn the_time_of_a_sample_is_not_that_of_a_row_of_another_level() {
        let mut panel = MapPanel::default();
        let times: RowTimes = Arc::new(vec![Some(1), None]);
        let key = (build_key(), 0, None);
        panel.times.update(&Jobs::quiet(), key, "Times", move |_| {
            Ok(("taken".to_owned(), times))
        });
        wait_until(|| !panel.times.is_pending());
        let at = |level, row| RowRef { level, row };
        let found = [at(0, 0), at(0, 1), at(0, 2), at(1, 0)].map(|at| panel.find_time(at));
        assert_eq!(found, [Some(1), None, None, None]);
    }

    fn fill_classes(panel: &mut MapPanel, column: &str) {
        let classes = Arc::new(RowClasses {
            by_row: vec![0],
            legend: Legend::Values(vec![column.to_owned()]),
        });
        let key = (build_key(), panel.level, column.to_owned());
        let work = move |_: &JobContext| Ok(classes);
        panel.classes.update(&Jobs::quiet(), key, "Colours", work);
        wait_until(|| !panel.classes.is_pending());
    }

    #[test]
    fn classes_are_those_of_the_chosen_column() {
        let mut panel = MapPanel {
            colour: Some("cloud".into()),
            ..MapPanel::default()
        };
        fill_classes(&mut panel, "cloud");
        assert!(panel.classes().is_some());
        panel.colour = Some("split".into());
        assert!(
            panel.classes().is_none(),
            "they are requested in the next frame"
        );
        let (go, gate) = std::sync::mpsc::channel::<()>();
        let key = (build_key(), 0, "split".to_owned());
        let work = move |_: &JobContext| {
            let _ = gate.recv();
            Err(Error::usage("it never ends"))
        };
        panel.classes.update(&Jobs::quiet(), key, "Colours", work);
        assert!(
            panel.classes().is_none(),
            "the known ones are of the other column"
        );
        drop(go);
    }

    #[test]
    fn classes_of_the_revision_before_stay_until_the_new_ones_are_there() {
        let mut panel = MapPanel {
            colour: Some("cloud".into()),
            ..MapPanel::default()
        };
        fill_classes(&mut panel, "cloud");
        let old = panel.classes().cloned().expect("is computed");
        let (go, gate) = std::sync::mpsc::channel::<()>();
        let key = ((DocumentId::default(), 1), 0, "cloud".to_owned());
        let new = Arc::new(RowClasses {
            by_row: vec![0, 0],
            ..(*old).clone()
        });
        let made = new.clone();
        let work = move |_: &JobContext| {
            let _ = gate.recv();
            Ok(made)
        };
        panel.classes.update(&Jobs::quiet(), key, "Colours", work);
        assert!(
            panel
                .classes()
                .is_some_and(|shown| Arc::ptr_eq(shown, &old))
        );
        drop(go);
        wait_until(|| !panel.classes.is_pending());
        assert!(
            panel
                .classes()
                .is_some_and(|shown| Arc::ptr_eq(shown, &new))
        );
    }

    #[test]
    fn a_change_of_level_clears_the_scene_and_classes() {
        let mut panel = MapPanel {
            colour: Some("cloud".into()),
            ..MapPanel::default()
        };
        fill_classes(&mut panel, "cloud");
        let key = SceneKey {
            contents: SceneContents {
                footprints: ValueId::from_arc(&Arc::new(0)),
                kept_rows: None,
                classes: None,
                is_density: false,
                is_dark_theme: false,
            },
            view_bits: [0; 3],
            size: [1; 2],
        };
        panel.scene_key = Some(key.clone());
        panel.scene.update(&Jobs::quiet(), key, "Footprints", |_| {
            Ok(Arc::new(MapScene::default()))
        });
        wait_until(|| !panel.scene.is_pending());
        assert!(panel.scene.latest().is_some());
        panel.set_level(1);
        assert_eq!(panel.level, 1);
        assert!(panel.scene.latest().is_none() && panel.scene_key.is_none());
        assert!(panel.classes().is_none() && panel.is_reading());
    }
}
