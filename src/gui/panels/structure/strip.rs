//! The strip beside the matrix: an overview image of all roots, one column a position. A click
//! scrolls the matrix to the root under the pointer.

use egui::{
    Color32, ColorImage, Galley, Rect, Role, Sense, Stroke, StrokeKind, TextureOptions, Ui,
    WidgetInfo, pos2, vec2,
};

use super::state::StructurePanel;
use crate::draft::{Overview, PositionState, overview};
use crate::gui::counted_texts;
use crate::gui::draft_structure::StructureSummary;
use crate::gui::icons;
use crate::gui::panel_context::PanelContext;
use crate::gui::theme::{self, ThemeTokens, font};
use crate::gui::widgets::{self, paint};
use crate::model::SampleKind;
use crate::studio::Document;

/// Most rows of the image.
const ROWS: usize = 512;
/// Height of a count below the image, and the gap between counts, in points.
const COUNT: f32 = 18.0;
const BETWEEN: f32 = 5.0;

/// Draws the strip.
pub fn ui(
    ui: &mut Ui,
    panel: &mut StructurePanel,
    cx: &mut PanelContext<'_>,
    document: &Document,
    summary: &StructureSummary,
) {
    let t = theme::tokens(ui);
    let area = ui.max_rect();
    let painter = ui.painter_at(area);
    painter.vline(area.right() - 0.5, area.y_range(), Stroke::new(1.0, t.line));
    refresh(ui, panel, cx, document, summary, t);
    let Some((_, _, view, texture)) = &panel.strip else {
        return;
    };
    let head = Rect::from_min_size(area.min + vec2(10.0, 6.0), vec2(area.width() - 20.0, 18.0));
    let roots = counted_texts::format_roots(summary.total());
    paint::text_left(&painter, head, &roots, font::regular(12.0), t.tx2);
    let each = summary.total().div_ceil(view.rows.max(1) as u64);
    if each > 1 {
        paint::text_right(
            &painter,
            head,
            &tr!(
                "1 row = {roots}",
                roots = paint::format_grouped_number(each)
            ),
            font::mono(11.0),
            t.tx3,
        );
    }
    let matching = MatchingText::from_summary(ui, summary, area.width() - 22.0);
    let below = matching.height();
    let room = Rect::from_min_max(
        pos2(area.left() + 14.0, head.bottom() + 6.0),
        pos2(area.right() - 18.0, area.bottom() - below),
    );
    if room.height() < 40.0 {
        return;
    }
    // Few roots are drawn as bands of four points; many fill the height.
    let picture = Rect::from_min_size(
        room.min,
        vec2(room.width(), room.height().min(view.rows as f32 * 8.0)),
    );
    let uv = Rect::from_min_max(pos2(0.0, 0.0), pos2(1.0, 1.0));
    painter.image(texture.id(), picture, uv, Color32::WHITE);
    let rows = view.rows;
    let response = ui.interact(
        picture,
        ui.scope_id().with("strip"),
        Sense::click_and_drag(),
    );
    response
        .widget_info(|| WidgetInfo::labeled(Role::ScrollBar, true, tr!("Overview of all roots")));
    window_ui(ui, panel, picture, summary);
    if let Some(pointer) = response
        .interact_pointer_pos()
        .filter(|_| response.clicked() || response.dragged())
    {
        let part = ((pointer.y - picture.top()) / picture.height()).clamp(0.0, 1.0);
        let root = (f64::from(part) * summary.total() as f64) as u32;
        // A click selects the root that the row shows: its worst one.
        let row = ((part * rows as f32) as usize).min(rows.saturating_sub(1));
        let target = if response.clicked() {
            worst_of(document, row, rows).unwrap_or(root)
        } else {
            root
        };
        let at = match &panel.shown {
            Some(shown) => shown.partition_point(|&shown| shown < target) as u64,
            None => u64::from(target),
        };
        panel.scroll.go_to(at.saturating_sub(2));
    }
    paint::focus_ring(ui, &response, 2);
    response.on_hover_text(tr!("Every root of the dataset. Click to go there"));
    counts_ui(
        ui,
        summary,
        matching,
        Rect::from_min_max(
            pos2(area.left() + 10.0, area.bottom() - below),
            area.max - vec2(12.0, 0.0),
        ),
    );
}

/// The worst root among those aggregated in a row of the strip.
fn worst_of(document: &Document, row: usize, rows: usize) -> Option<u32> {
    let structure = document.structure()?;
    let roots = structure.roots();
    let range = row * roots / rows.max(1)..(row + 1) * roots / rows.max(1);
    let worst = range.rev().max_by_key(|&root| structure.worst(root))?;
    Some(worst as u32)
}

fn refresh(
    ui: &Ui,
    panel: &mut StructurePanel,
    cx: &mut PanelContext<'_>,
    document: &Document,
    summary: &StructureSummary,
    t: &ThemeTokens,
) {
    let Some(structure) = document.structure() else {
        return;
    };
    let key = cx.document_key();
    let theme = t.dark;
    let fresh = panel
        .strip
        .as_ref()
        .is_some_and(|(of, choice, _, _)| *of == key && choice == structure.choice());
    if fresh && panel.strip_dark == theme {
        return;
    }
    panel.strip_dark = theme;
    let view = overview(&structure, ROWS);
    let texture = ui.ctx().load_texture(
        "structure strip",
        image(&view, summary, t),
        TextureOptions::NEAREST,
    );
    panel.strip = Some((key, structure.choice().clone(), view, texture));
}

/// Four pixels a position: three for the state, one gap.
fn image(view: &Overview, summary: &StructureSummary, t: &ThemeTokens) -> ColorImage {
    let (width, height) = ((view.columns * 4).max(1), view.rows.max(1));
    let mut pixels = vec![t.bg1; width * height];
    for (row, states) in view.cells.chunks_exact(view.columns.max(1)).enumerate() {
        for (column, state) in states.iter().enumerate() {
            let folder = summary
                .pattern
                .get(column)
                .is_some_and(|node| node.kind == SampleKind::Folder);
            let color = match state {
                PositionState::Present if folder => t.ctl,
                PositionState::Present => t.bg4,
                PositionState::Padded => t.tx3,
                PositionState::WrongOrder | PositionState::WrongId => t.warn,
                PositionState::WrongType | PositionState::Missing => t.err,
            };
            let start = row * width + column * 4;
            pixels[start..start + 3].fill(color);
            // A fault is drawn wider than its column, so that one in a thousand is visible.
            if state.is_fault() {
                pixels[start + 3] = color;
            }
        }
    }
    ColorImage::new([width, height], pixels)
}

/// The frame around the rows that the matrix shows.
fn window_ui(ui: &Ui, panel: &StructurePanel, picture: Rect, summary: &StructureSummary) {
    let t = theme::tokens(ui);
    let (first, last) = (
        panel.root_of(panel.scroll.first()),
        panel.root_of(panel.scroll.first() + panel.rows_seen.max(1) - 1),
    );
    let total = summary.total().max(1) as f32;
    let top = picture.top() + picture.height() * first as f32 / total;
    let bottom = picture.top() + picture.height() * (last.max(first) as f32 + 1.0) / total;
    let frame = Rect::from_min_max(
        pos2(picture.left() - 4.0, top - 1.0),
        pos2(picture.right() + 4.0, bottom.max(top + 3.0) + 1.0),
    );
    ui.painter().rect_stroke(
        frame.intersect(picture.expand(5.0)),
        1,
        Stroke::new(1.5, t.accfill),
        StrokeKind::Inside,
    );
}

/// The share of matching roots as wrapped text.
struct MatchingText {
    part: f64,
    text: String,
    lines: std::sync::Arc<Galley>,
}

impl MatchingText {
    fn from_summary(ui: &Ui, summary: &StructureSummary, width: f32) -> Self {
        let (total, faults) = (summary.total(), summary.roots.faults());
        let part = if total == 0 {
            1.0
        } else {
            (total - faults) as f64 / total as f64
        };
        // Round down, so that 99.96 % does not read 100 %.
        let percent = if faults > 0 {
            (part * 1000.0).floor() / 10.0
        } else {
            100.0
        };
        let text = tr!(
            "{percent} % of roots match",
            percent = format!("{percent:.1}")
        );
        let lines = ui.painter().layout(
            text.clone(),
            font::regular(11.0),
            theme::tokens(ui).tx3,
            width,
        );
        Self { part, text, lines }
    }

    /// Height of the counts and the bar, in points.
    fn height(&self) -> f32 {
        (6.0 + 3.0 * (COUNT + BETWEEN) + 6.0 + BETWEEN + self.lines.size().y + 8.0).ceil()
    }
}

fn counts_ui(ui: &mut Ui, summary: &StructureSummary, matching: MatchingText, rect: Rect) {
    let t = theme::tokens(ui);
    let (total, faults, padded) = (
        summary.total(),
        summary.roots.faults(),
        summary.roots.count_in_state(PositionState::Padded),
    );
    let builder = egui::UiBuilder::new()
        .max_rect(rect.shrink2(vec2(0.0, 6.0)))
        .id_salt("counts");
    ui.scope_builder(builder, |ui| {
        ui.spacing_mut().item_spacing = vec2(4.0, BETWEEN);
        let rows = [
            (None, tr!("Match the pattern"), total - faults),
            (
                Some((icons::WARNING_OCTAGON, t.err)),
                tr!("With problems"),
                faults,
            ),
            (
                Some((icons::CIRCLE_DASHED, t.tx2)),
                tr!("With padding"),
                padded,
            ),
        ];
        for (icon, text, count) in rows {
            let (row, response) = ui.allocate_exact_size(vec2(rect.width(), COUNT), Sense::hover());
            let count = paint::format_grouped_number(count);
            response
                .widget_info(|| WidgetInfo::labeled(Role::Label, true, format!("{text}: {count}")));
            let painter = ui.painter();
            let mut words = row;
            words.max.x = paint::text_right(painter, row, &count, font::mono(12.0), t.tx) - 4.0;
            if let Some((icon, color)) = icon {
                paint::draw_icon(
                    painter,
                    pos2(row.left() + 6.0, row.center().y),
                    icon,
                    12.0,
                    color,
                );
                words.min.x += 16.0;
            }
            paint::text_left(painter, words, text, font::regular(11.5), t.tx2);
        }
        widgets::progress_bar(
            ui,
            tr!("Roots that match"),
            matching.part as f32,
            rect.width(),
            6.0,
        );
        let (at, response) = ui.allocate_exact_size(matching.lines.size(), Sense::hover());
        response.widget_info(|| WidgetInfo::labeled(Role::Label, true, &matching.text));
        ui.painter().galley(
            paint::snap_to_pixels(ui.painter(), at.min),
            matching.lines,
            t.tx3,
        );
    });
}
