//! The footer of the matrix: number of faulty roots a position, and the legend.

use egui::{Painter, Rect, Stroke, StrokeKind, Ui, pos2, vec2};

use super::cell_rect;
use super::columns::StructureColumns;
use crate::draft::PositionState;
use crate::gui::draft_structure::StructureSummary;
use crate::gui::theme::{ThemeTokens, font};
use crate::gui::widgets::paint;

pub(super) const FOOT: f32 = 28.0;

/// Colour of positions that can't be reached.
pub(super) fn hatch(painter: &Painter, t: &ThemeTokens, cell: Rect) {
    let painter = painter.with_clip_rect(cell.intersect(painter.clip_rect()));
    let mut x = cell.left() - cell.height();
    while x < cell.right() {
        painter.line_segment(
            [pos2(x, cell.bottom()), pos2(x + cell.height(), cell.top())],
            Stroke::new(1.0, t.bg4),
        );
        x += 6.0;
    }
}

pub(super) fn ui(
    ui: &Ui,
    t: &ThemeTokens,
    summary: &StructureSummary,
    columns: &StructureColumns,
    rect: Rect,
    shift: f32,
    clip: Rect,
) {
    let painter = ui.painter_at(rect);
    painter.rect_filled(rect, 0, t.bg1);
    let (sums, legend) = rect.split_top_bottom_at_y(rect.top() + FOOT);
    painter.hline(rect.x_range(), rect.top() + 0.5, Stroke::new(1.0, t.line));
    painter.hline(rect.x_range(), legend.top() + 0.5, Stroke::new(1.0, t.line));
    paint::text_left(
        &painter,
        sums.with_min_x(rect.left() + 10.0),
        tr!("Off pattern"),
        font::regular(12.0),
        t.tx2,
    );
    let inner = painter.with_clip_rect(clip.intersect(sums));
    for (index, counts) in summary.counts.iter().enumerate() {
        let cell = cell_rect(sums, columns.left[index] + shift, columns.cell);
        if !cell.intersects(clip) {
            continue;
        }
        let (faults, padded) = (
            counts.faults(),
            counts.count_in_state(PositionState::Padded),
        );
        let (text, color) = match (faults, padded) {
            (0, 0) => ("0".to_owned(), t.tx3),
            (0, padded) => (
                tr!(
                    "{padded} pad",
                    padded = paint::format_grouped_number(padded)
                ),
                t.tx2,
            ),
            (faults, 0) => (paint::format_grouped_number(faults), t.err),
            (faults, padded) => (
                tr!(
                    "{faults} · {padded} pad",
                    faults = paint::format_grouped_number(faults),
                    padded = paint::format_grouped_number(padded)
                ),
                t.err,
            ),
        };
        paint::text_center(&inner, cell, &text, font::mono(11.0), color);
    }
    legend_ui(ui, t, legend);
}

fn legend_ui(ui: &Ui, t: &ThemeTokens, rect: Rect) {
    let painter = ui.painter_at(rect);
    // The legend first: the counts take the remaining width.
    let text = Rect::from_min_max(rect.min, rect.max - vec2(10.0, 0.0));
    let end = paint::text_right(
        &painter,
        text,
        tr!("F8 next problem"),
        font::regular(11.5),
        t.tx3,
    ) - 14.0;
    let mut x = rect.left() + 10.0;
    let words = [
        "FOLDER",
        "FILE",
        tr!("padded" in "state of a position"),
        tr!("missing or wrong type"),
        tr!("wrong id or order"),
        tr!("not reachable"),
    ];
    for (index, word) in words.into_iter().enumerate() {
        if x + 24.0 + paint::measure_text_width(&painter, word, font::regular(11.5), t.tx2) > end {
            break;
        }
        let cell = Rect::from_center_size(pos2(x + 9.0, rect.center().y), vec2(18.0, 12.0));
        let framed = |fill, line| {
            painter.rect(cell, 3, fill, Stroke::new(1.0, line), StrokeKind::Inside);
        };
        match index {
            0 => drop(painter.rect_filled(cell, 3, t.bg4)),
            1 => drop(painter.rect_filled(cell, 3, t.bg3)),
            2 => paint::dashed_rect(&painter, cell, t.tx3),
            3 => framed(t.errbg, t.err),
            4 => framed(t.warnbg, t.warnline),
            _ => hatch(&painter, t, cell),
        }
        x = paint::text_left(
            &painter,
            rect.with_min_x(x + 24.0),
            word,
            font::regular(11.5),
            t.tx2,
        ) + 14.0;
    }
}
