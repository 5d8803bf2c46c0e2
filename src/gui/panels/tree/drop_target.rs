//! Drag and drop in the hierarchy: samples and unplaced files between rows, into FOLDERs and into
//! slots, with a line or frame as indicator.

use std::sync::Arc;

use egui::{Color32, Context, Painter, Rect, Response, Stroke, StrokeKind, Ui, pos2};

use crate::gui::drag::{self, Dragged, DropTarget, RowZone};
use crate::gui::outline::OutlineNode;
use crate::gui::panel_context::PanelContext;
use crate::gui::theme;
use crate::model::{NodePath, SampleKind};
use crate::studio::{Document, RowRef};

/// Starts dragging a row: all selected samples if it is one of them.
pub fn begin(ctx: &Context, cx: &mut PanelContext<'_>, document: &Document, at: RowRef) {
    let chosen = cx.session.selection.all_samples();
    let rows = if chosen.contains(&at) {
        chosen.into_iter().collect()
    } else {
        vec![at]
    };
    let nodes = rows
        .into_iter()
        .filter_map(|at| document.node(at))
        .collect();
    drag::begin(ctx, Dragged::Samples(drag::topmost(nodes)));
}

/// Shows whether a row accepts what is dragged over it; returns what was dropped, and the target.
pub fn row_ui(
    ui: &Ui,
    document: &Document,
    node: OutlineNode,
    rect: Rect,
    response: &Response,
    carried: Option<&Dragged>,
) -> Option<(Arc<Dragged>, DropTarget)> {
    let carried = carried?;
    if !response.contains_pointer() {
        return None;
    }
    let pointer = ui.ctx().pointer_latest_pos()?;
    let (target, zone) = target(document, node, rect, pointer.y)?;
    if let Some(dragged) = drag::dropped_payload(response) {
        return Some((dragged, target));
    }
    let t = theme::tokens(ui);
    let bad = drag::refusal(document, carried, &target).is_some();
    let color = if bad { t.err } else { t.accfill };
    let painter = ui.painter();
    let left = rect.left() + 8.0 + 16.0 * f32::from(node.depth);
    let right = rect.right() - 4.0;
    match (node.gap, zone) {
        // The slot has a dashed frame already.
        (Some(_), _) if bad => drop(painter.rect_stroke(
            rect.shrink(1.0),
            3,
            Stroke::new(1.0, color),
            StrokeKind::Inside,
        )),
        (Some(_), _) => drop(painter.rect_stroke(
            rect.shrink(1.0),
            3,
            Stroke::new(2.0, color),
            StrokeKind::Inside,
        )),
        (None, RowZone::Before) => {
            draw_insertion_line(painter, left, right, rect.top() + 1.0, color)
        }
        (None, RowZone::Behind) => {
            draw_insertion_line(painter, left, right, rect.bottom() - 1.0, color)
        }
        (None, RowZone::Into) => drop(painter.rect_stroke(
            rect.shrink(1.0),
            3,
            Stroke::new(2.0, color),
            StrokeKind::Inside,
        )),
    }
    drag::drop_overlay_ui(ui, document, carried, &target);
    None
}

fn draw_insertion_line(painter: &Painter, left: f32, right: f32, y: f32, color: Color32) {
    painter.hline(left..=right, y, Stroke::new(2.0, color));
    painter.circle_filled(pos2(left, y), 3.0, color);
}

fn target(
    document: &Document,
    node: OutlineNode,
    rect: Rect,
    y: f32,
) -> Option<(DropTarget, RowZone)> {
    if let Some(gap) = node.gap {
        return Some((DropTarget::Slot(gap.root, gap.position), RowZone::Into));
    }
    let Some(at) = node.at else {
        return Some((DropTarget::Into(NodePath::root()), RowZone::Into));
    };
    let folder = document.kind(at) == Some(SampleKind::Folder);
    let own = document.node(at)?;
    let zone = drag::zone(rect, y, folder);
    let (parent, position) = own.parent()?;
    Some(match zone {
        RowZone::Into => (DropTarget::Into(own), zone),
        RowZone::Before => (DropTarget::Gap(parent, position), zone),
        RowZone::Behind => (DropTarget::Gap(parent, position + 1), zone),
    })
}
