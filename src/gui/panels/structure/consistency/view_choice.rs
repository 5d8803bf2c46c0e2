//! The choice between the views of the structure panel.

use egui::Ui;

use crate::gui::panel_context::PanelContext;
use crate::gui::panels::structure::state::{StructurePanel, StructureView};
use crate::gui::widgets::{self, Segment};

/// The choice between the views, for the toolbars of both.
pub fn view_ui(ui: &mut Ui, panel: &mut StructurePanel, cx: &mut PanelContext<'_>) {
    let newest = cx.studio.report().consistency.as_ref();
    panel.consistency.follow(newest, cx.jobs);
    let listed = &panel.consistency.listed;
    let differ = listed.of.as_ref().map(|_| listed.roots.len() as u64);
    let mut second = Segment::new(StructureView::Consistency, tr!("Consistency"));
    if let Some(count) = differ {
        second = second.count(count);
    }
    widgets::draw_segments(
        ui,
        "structure-view",
        &mut panel.view,
        &[Segment::new(StructureView::Shape, tr!("Shape")), second],
    );
}

/// Width of [`view_ui`].
pub fn view_width(ui: &Ui) -> f32 {
    let segments = [
        Segment::new(StructureView::Shape, tr!("Shape")),
        Segment::new(StructureView::Consistency, tr!("Consistency")).count(10_000),
    ];
    widgets::segmented_width(ui, &segments) + 12.0
}
