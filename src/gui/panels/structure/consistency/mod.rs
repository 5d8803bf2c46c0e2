//! The view "Consistency" of the structure panel: positions × properties with the common value and
//! its share, the roots that differ, and a row for each group of outliers with its actions.

mod groups;
mod rename;
mod roots;
mod sections;
pub mod state;
mod strip;
mod table;
mod toolbar;
mod view_choice;

pub use view_choice::{view_ui, view_width};

use egui::{Ui, UiBuilder};

use super::state::StructurePanel;
use crate::gui::draft_structure::StructureSummary;
use crate::gui::icons;
use crate::gui::panel_context::PanelContext;
use crate::gui::widgets::{self, EmptyState, paint};
use crate::studio::{Command, Document};
use groups::groups_ui;
use roots::roots_ui;
use strip::strip_ui;
use table::{HEAD, ROW, table_ui};
use toolbar::{progress, toolbar_ui};

/// Width of the strip in points.
const STRIP_WIDTH: f32 = 148.0;

/// Draws the view.
pub fn ui(
    ui: &mut Ui,
    panel: &mut StructurePanel,
    cx: &mut PanelContext<'_>,
    document: &Document,
    summary: &StructureSummary,
) {
    let newest = cx.studio.report().consistency.as_ref();
    panel.consistency.follow(newest, cx.jobs);
    let is_checked = newest.is_some();
    toolbar_ui(ui, panel, cx, document);
    if let Some(error) = panel.consistency.listing_error() {
        let why = error.sentence();
        widgets::draw_empty_state(ui, icons::WARNING_OCTAGON, tr!("Check failed"), &why);
        return;
    }
    // The lists have row numbers of the check that they were made from, which may be older than
    // `newest`, so the view shows that check.
    let Some(consistency) = panel.consistency.listed.of.clone() else {
        return if is_checked {
            drop(widgets::spinner(ui, 20.0))
        } else {
            not_checked_ui(ui, cx)
        };
    };
    let area = ui.available_rect_before_wrap();
    let rename_height = if document.draft().is_some() && panel.consistency.rename.open {
        rename::HEIGHT
    } else {
        0.0
    };
    let (area, foot) = area.split_top_bottom_at_y(area.bottom() - rename_height);
    let strip_width = if area.width() > 760.0 {
        STRIP_WIDTH
    } else {
        0.0
    };
    let (left, right) = area.split_left_right_at_x(area.left() + strip_width);
    if strip_width > 0.0 {
        ui.scope_builder(
            UiBuilder::new().max_rect(left).id_salt("consistency-strip"),
            |ui| strip_ui(ui, panel, &consistency),
        );
    }
    let rows = consistency.positions.len() as f32;
    let table_height = (HEAD + ROW * rows).min((right.height() * 0.45).max(HEAD + ROW));
    let (table, below) = right.split_top_bottom_at_y(right.top() + table_height);
    ui.scope_builder(
        UiBuilder::new()
            .max_rect(table)
            .id_salt("consistency-table"),
        |ui| table_ui(ui, panel, cx, &consistency),
    );
    let roots_width = if below.width() > 700.0 {
        below.width() * 0.4
    } else {
        0.0
    };
    let (roots, groups) = below.split_left_right_at_x(below.left() + roots_width);
    if roots_width > 0.0 {
        ui.scope_builder(
            UiBuilder::new()
                .max_rect(roots)
                .id_salt("consistency-roots"),
            |ui| roots_ui(ui, panel, cx, document, &consistency),
        );
    }
    ui.scope_builder(
        UiBuilder::new()
            .max_rect(groups)
            .id_salt("consistency-groups"),
        |ui| groups_ui(ui, panel, cx, document, &consistency),
    );
    if rename_height > 0.0 {
        ui.scope_builder(
            UiBuilder::new()
                .max_rect(foot)
                .id_salt("consistency-rename"),
            |ui| rename::ui(ui, panel, cx, document, summary),
        );
    }
}

fn not_checked_ui(ui: &mut Ui, cx: &mut PanelContext<'_>) {
    if let Some((done, total)) = progress(cx) {
        let total = total.map_or_else(String::new, paint::format_grouped_number);
        let why = tr!(
            "{done} of {total} headers are read.",
            done = paint::format_grouped_number(done),
            total
        );
        widgets::draw_empty_state(ui, icons::ARROW_CLOCKWISE, tr!("Reading headers"), &why);
        return;
    }
    let state = EmptyState {
        icon: icons::ARROWS_LEFT_RIGHT,
        title: tr!("Compare the rasters at each position"),
        why: tr!(
            "Reads the header of every raster, no pixels, and lists those that differ in data \
                type, bands, size, CRS, pixel size, nodata, overlap or order in time."
        ),
        actions: &[tr!("Compare headers")],
    };
    if widgets::draw_empty_state_with_actions(ui, &state).is_some() {
        cx.run(Command::CheckConsistency { again: false });
    }
}
