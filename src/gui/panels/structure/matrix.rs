//! The matrix: one row for each root, one column for each position of the pattern, below the
//! pattern as a tree. Only visible cells are drawn; each state has its own colour and mark.

use std::sync::Arc;

use egui::{
    Painter, Rect, Response, Role, Sense, Shape, Stroke, StrokeKind, Ui, UiBuilder, WidgetInfo,
    pos2, vec2,
};

use super::columns::{BESIDE, LETTER, StructureColumns};
use super::footer::{self, FOOT};
use super::state::StructurePanel;
use super::{cell_rect, root_of, select, step};
use crate::draft::{self, PatternCell, PositionState, Structure};
use crate::gui::draft_structure::{RootCells, StructureSummary};
use crate::gui::drag::{self, Dragged, DropTarget};
use crate::gui::icons;
use crate::gui::panel_context::PanelContext;
use crate::gui::theme::{self, ThemeTokens, font};
use crate::gui::widgets::{self, VirtualRows, paint};
use crate::model::{Dataset, SampleKind};
use crate::studio::{Document, RowRef};

/// Width of the id column, in points.
const ID_COLUMN_WIDTH: f32 = 108.0;
/// Height of a level of the tree, in points.
const LEVEL_HEIGHT: f32 = 58.0;
/// Height of the legend, in points.
const LEGEND_HEIGHT: f32 = 28.0;

/// Draws the matrix.
pub fn ui(
    ui: &mut Ui,
    panel: &mut StructurePanel,
    cx: &mut PanelContext<'_>,
    document: &Document,
    summary: &StructureSummary,
) {
    let t = theme::tokens(ui);
    let area = ui.max_rect();
    let columns = StructureColumns::new(summary);
    let level_height = if area.height() < 420.0 {
        46.0
    } else {
        LEVEL_HEIGHT
    };
    let head = Rect::from_min_size(
        area.min,
        vec2(area.width(), level_height * summary.levels as f32 + 6.0),
    );
    let foot = Rect::from_min_max(
        pos2(area.left(), area.bottom() - FOOT - LEGEND_HEIGHT),
        area.max,
    );
    let body = Rect::from_min_max(
        pos2(area.left(), head.bottom()),
        pos2(area.right(), foot.top()),
    );
    scroll_sideways(ui, panel, cx.session.selection.cell, area, &columns);
    let shift = area.left() + ID_COLUMN_WIDTH - panel.x;
    let clip = Rect::from_min_max(
        pos2(area.left() + ID_COLUMN_WIDTH - 2.0, area.top()),
        area.max,
    )
    .intersect(ui.clip_rect());
    head_ui(
        ui,
        panel,
        cx,
        document,
        summary,
        &columns,
        head,
        level_height,
        shift,
        clip,
    );
    rows_ui(
        ui, panel, cx, document, summary, &columns, body, shift, clip,
    );
    footer::ui(ui, t, summary, &columns, foot, shift, clip);
    sideways_bar(
        ui,
        panel,
        Rect::from_min_max(
            pos2(area.left() + ID_COLUMN_WIDTH, body.bottom() - 8.0),
            body.max,
        ),
        &columns,
    );
}

fn scroll_sideways(
    ui: &Ui,
    panel: &mut StructurePanel,
    cell: Option<(u32, u32)>,
    area: Rect,
    columns: &StructureColumns,
) {
    let most = (columns.width + 16.0 - (area.width() - ID_COLUMN_WIDTH)).max(0.0);
    if most > 0.0 && ui.rect_contains_pointer(area) {
        panel.x -= ui.input_mut(|input| std::mem::take(&mut input.smooth_scroll_delta.x));
    }
    if panel.reveal_column
        && let Some((_, position)) = cell
        && let Some(&left) = columns.left.get(position as usize)
    {
        let room = area.width() - ID_COLUMN_WIDTH - 16.0;
        panel.x = panel.x.min(left).max(left + columns.cell - room);
    }
    panel.reveal_column = false;
    panel.x = panel.x.clamp(0.0, most).round();
}

fn sideways_bar(ui: &Ui, panel: &mut StructurePanel, track: Rect, columns: &StructureColumns) {
    let content = columns.width + 16.0;
    let most = content - track.width();
    if most <= 0.0 {
        return;
    }
    let t = theme::tokens(ui);
    let length = (track.width() * track.width() / content).max(28.0);
    let room = (track.width() - length).max(1.0);
    let response = ui.interact(track, ui.scope_id().with("sideways"), Sense::DRAG);
    response.widget_info(|| WidgetInfo::labeled(Role::ScrollBar, true, tr!("Positions, sideways")));
    if response.dragged() {
        panel.x = (panel.x + response.drag_delta().x * most / room).clamp(0.0, most);
    }
    let color = if response.hovered() || response.dragged() {
        t.ctl
    } else {
        t.bg4
    };
    let handle = Rect::from_min_size(
        pos2(track.left() + panel.x / most * room, track.top() + 1.0),
        vec2(length, 6.0),
    );
    ui.painter().rect_filled(handle, 3, color);
}

#[expect(clippy::too_many_arguments, reason = "one place, all of them geometry")]
fn head_ui(
    ui: &mut Ui,
    panel: &mut StructurePanel,
    cx: &mut PanelContext<'_>,
    document: &Document,
    summary: &StructureSummary,
    columns: &StructureColumns,
    rect: Rect,
    level_height: f32,
    shift: f32,
    clip: Rect,
) {
    let t = theme::tokens(ui);
    let painter = ui.painter_at(rect);
    painter.hline(
        rect.x_range(),
        rect.bottom() - 0.5,
        Stroke::new(1.0, t.line2),
    );
    let top_of = |level: usize| rect.top() + level_height * level as f32;
    for level in 0..summary.levels {
        let label = Rect::from_min_size(
            pos2(rect.left() + 10.0, top_of(level)),
            vec2(ID_COLUMN_WIDTH - 16.0, level_height),
        );
        paint::text_left(
            &painter,
            label,
            &tr!("Level {level}", level),
            font::regular(12.0),
            t.tx2,
        );
        if level > 0 {
            let y = top_of(level);
            painter.extend(Shape::dashed_line(
                &[pos2(rect.left(), y), pos2(rect.right(), y)],
                Stroke::new(1.0, t.line),
                3.0,
                3.0,
            ));
        }
    }
    let painter = painter.with_clip_rect(clip.intersect(rect));
    let card_top = |level: usize| top_of(level) + (level_height - 38.0) / 2.0;
    let wire = Stroke::new(1.0, t.line2);
    // The root is centred over the visible part of its children.
    let root_x = find_visible_middle(clip, shift, 0.0, columns.width);
    let root = Rect::from_min_size(pos2(root_x - 76.0, card_top(0)), vec2(152.0, 38.0));
    let mut wires: Vec<(f32, f32, Vec<f32>)> = vec![(root_x, root.bottom(), Vec::new())];
    let mut owners: Vec<usize> = Vec::with_capacity(summary.pattern.len());
    let mut cards = Vec::new();
    for (index, node) in summary.pattern.iter().enumerate() {
        let (from, to) = columns.span(index);
        let spans = node.kind == SampleKind::Folder && to - from > columns.cell;
        let (x, width) = if spans {
            let width = (to - from)
                .min((node.id.chars().count() as f32 * LETTER + BESIDE + 76.0).max(146.0));
            // The node stays above its own columns when they are partly scrolled out.
            let (first, last) = (from + shift + width / 2.0, to + shift - width / 2.0);
            (
                find_visible_middle(clip, shift, from, to)
                    .min(last.floor())
                    .max(first.ceil()),
                width,
            )
        } else {
            (
                shift + columns.left[index] + columns.cell / 2.0,
                columns.cell,
            )
        };
        let card = Rect::from_center_size(pos2(x, card_top(node.level) + 19.0), vec2(width, 38.0));
        let owner = node.parent.map_or(0, |parent| owners[parent as usize]);
        wires[owner].2.push(x);
        owners.push(wires.len());
        wires.push((x, card.bottom(), Vec::new()));
        let visible = to + shift >= clip.left() && from + shift <= clip.right();
        if visible {
            cards.push((index as u32, card));
            // The line down to the matrix.
            let column = shift + columns.left[index] + columns.cell / 2.0;
            let below = pos2(column, top_of(node.level + 1) + level_height / 2.0);
            let from = if spans { below.y + 10.0 } else { card.bottom() };
            painter.vline(column, from..=rect.bottom(), wire);
            if spans {
                let label = Rect::from_center_size(below, vec2(columns.cell, 16.0));
                paint::text_center(
                    &painter,
                    label,
                    tr!("the folder"),
                    font::regular(11.0),
                    t.tx3,
                );
                painter.vline(column, top_of(node.level + 1)..=label.top(), wire);
                wires[owners[index]].2.push(column);
            }
        }
    }
    for (x, bottom, below) in &wires {
        if below.is_empty() {
            continue;
        }
        let y = ((bottom - rect.top()) / level_height).ceil() * level_height + rect.top() - 0.5;
        painter.vline(*x, *bottom..=y, wire);
        let (left, right) = below
            .iter()
            .fold((*x, *x), |(left, right), &x| (left.min(x), right.max(x)));
        painter.hline(left..=right, y, wire);
        for &x in below {
            painter.vline(x, y..=y + (level_height - 38.0) / 2.0, wire);
        }
    }
    card_ui(
        &painter,
        t,
        root,
        Card {
            icon: icons::TREE_STRUCTURE,
            id: tr!("root"),
            right: "TORTILLA",
            count: &format!("{} FOLDER", paint::format_grouped_number(summary.total())),
            faults: 0,
            selected: false,
            hovered: false,
        },
    );
    for (position, card) in cards {
        node_ui(
            ui, panel, cx, document, summary, columns, position, card, &painter,
        );
    }
}

/// The middle of the visible part of `from..to`, which is moved by `shift`.
fn find_visible_middle(clip: Rect, shift: f32, from: f32, to: f32) -> f32 {
    let (from, to) = (
        (from + shift).max(clip.left()),
        (to + shift).min(clip.right()),
    );
    ((from + to) / 2.0).round()
}

#[expect(clippy::too_many_arguments, reason = "one place, all of them geometry")]
fn node_ui(
    ui: &mut Ui,
    panel: &mut StructurePanel,
    cx: &mut PanelContext<'_>,
    document: &Document,
    summary: &StructureSummary,
    columns: &StructureColumns,
    position: u32,
    card: Rect,
    painter: &Painter,
) {
    let t = theme::tokens(ui);
    let node = &summary.pattern[position as usize];
    let counts = summary
        .counts
        .get(position as usize)
        .copied()
        .unwrap_or_default();
    let faults = counts.faults();
    let present = summary.total() - counts.count_in_state(PositionState::Missing);
    let clip = card.intersect(painter.clip_rect());
    let response = ui.interact(
        clip,
        ui.scope_id().with(("position", position)),
        Sense::click(),
    );
    let path = summary.path(position).join(" / ");
    let name = tr!(
        "Position {path}: {present} of {total}, {faults} off the pattern",
        path,
        present,
        total = summary.total(),
        faults
    );
    response.widget_info(|| WidgetInfo::labeled(Role::Button, true, &name));
    let folder = node.kind == SampleKind::Folder;
    let below = columns.end[position as usize] - position as usize - 1;
    let right = if folder && below > 0 {
        let direct = summary
            .pattern
            .iter()
            .filter(|other| other.parent == Some(position))
            .count();
        format!("FOLDER × {direct}")
    } else {
        String::new()
    };
    let selected = cx
        .session
        .selection
        .cell
        .is_some_and(|(_, chosen)| chosen == position);
    card_ui(
        painter,
        t,
        card,
        Card {
            icon: if folder {
                icons::STACK
            } else {
                icons::of_file(&node.id)
            },
            id: &node.id,
            right: &right,
            count: &paint::format_grouped_number(present),
            faults,
            selected,
            hovered: response.hovered(),
        },
    );
    paint::focus_ring(ui, &response, 4);
    if response.clicked() {
        // The next root with a fault at this position, after the selected one.
        let from = cx
            .session
            .selection
            .cell
            .map(|(root, _)| root as usize + 1)
            .unwrap_or(0);
        let found = document.structure().and_then(|structure| {
            let off = |root: &usize| is_fault_in_root(&structure, *root, position);
            (from..structure.roots())
                .find(off)
                .or_else(|| (0..structure.roots()).find(off))
        });
        if let Some(root) = found {
            select(cx, document, root as u32, Some(position));
            if let Some(row) = panel.row_of(root as u32) {
                panel.scroll.reveal(row);
            }
        }
    }
    response.on_hover_text(theme::rich_text(name));
}

fn is_fault_in_root(structure: &Structure, root: usize, position: u32) -> bool {
    structure
        .states(root)
        .get(position as usize)
        .is_some_and(|state| state.is_fault())
}

struct Card<'a> {
    icon: &'a str,
    id: &'a str,
    right: &'a str,
    count: &'a str,
    faults: u64,
    selected: bool,
    hovered: bool,
}

fn card_ui(painter: &Painter, t: &ThemeTokens, rect: Rect, card: Card<'_>) {
    let (fill, border) = if card.selected {
        (t.accbg, t.accfill)
    } else if card.faults > 0 {
        (if card.hovered { t.bg3 } else { t.bg2 }, t.errline)
    } else {
        (if card.hovered { t.bg3 } else { t.bg2 }, t.line2)
    };
    painter.rect(rect, 4, fill, Stroke::new(1.0, border), StrokeKind::Inside);
    let inner = rect.shrink2(vec2(5.0, 4.0));
    let (upper, lower) = inner.split_top_bottom_at_fraction(0.5);
    paint::draw_icon(
        painter,
        pos2(upper.left() + 6.0, upper.center().y),
        card.icon,
        12.0,
        t.tx2,
    );
    let mut id = upper.with_min_x(upper.left() + 15.0);
    if !card.right.is_empty() && rect.width() > 90.0 {
        id.max.x = paint::text_right(painter, upper, card.right, font::regular(11.0), t.tx3) - 4.0;
    }
    paint::text_left(painter, id, card.id, font::mono_semibold(12.0), t.tx);
    paint::text_left(painter, lower, card.count, font::mono(11.0), t.tx2);
    if card.faults > 0 {
        paint::text_right(
            painter,
            lower,
            &format!("-{}", paint::format_grouped_number(card.faults)),
            font::mono(11.0),
            t.err,
        );
    }
}

#[expect(clippy::too_many_arguments, reason = "one place, all of them geometry")]
fn rows_ui(
    ui: &mut Ui,
    panel: &mut StructurePanel,
    cx: &mut PanelContext<'_>,
    document: &Document,
    summary: &StructureSummary,
    columns: &StructureColumns,
    body: Rect,
    shift: f32,
    clip: Rect,
) {
    let rows = panel
        .shown
        .as_ref()
        .map_or(summary.total(), |shown| shown.len() as u64);
    if rows == 0 {
        ui.scope_builder(UiBuilder::new().max_rect(body), |ui| {
            widgets::draw_empty_state(
                ui,
                icons::CHECK_CIRCLE,
                tr!("Every root fits the pattern"),
                tr!("No root has a problem or padding."),
            );
        });
        return;
    }
    let Some(dataset) = document.draft().map(|draft| draft.dataset().clone()) else {
        return;
    };
    let selected = cx.session.selection.sample.map(|at| root_of(document, at));
    let cell = cx
        .session
        .selection
        .cell
        .filter(|(root, _)| Some(*root) == selected);
    let cursor = selected.and_then(|root| panel.row_of(root));
    let mut scroll = panel.scroll;
    let mut child = ui.new_child(UiBuilder::new().max_rect(body).id_salt("matrix-rows"));
    let list = VirtualRows::new(tr!("Roots"), rows)
        .cursor(cursor)
        .role(Role::Table);
    let (mut clicked_cell, mut dropped) = (None, None);
    let mut cells = std::mem::take(&mut cx.session.structure.cells);
    let dragged = drag::dragged_payload(ui.ctx());
    let dragged = dragged.as_deref();
    let out = list.show(&mut child, &mut scroll, |ui, row, rect, response| {
        let root = panel.root_of(row);
        let drawn = MatrixRow {
            document,
            summary,
            columns,
            dataset: &dataset,
            shift,
            clip,
            root,
            cell,
            dragged,
        };
        let chosen = Some(root) == selected;
        match drawn.ui(ui, rect, response, chosen, &mut cells) {
            Some(CellInteraction::Clicked(position)) => clicked_cell = Some((root, Some(position))),
            Some(CellInteraction::Dropped(what, target)) => dropped = Some((what, target)),
            None => {}
        }
        if response.clicked() {
            let x = response
                .interact_pointer_pos()
                .map(|pointer| pointer.x - shift);
            clicked_cell = Some((root, x.and_then(|x| columns.position_at(x))));
        }
    });
    cx.session.structure.cells = cells;
    if let Some((what, target)) = dropped {
        drag::perform_drop(cx, document, &what, &target);
    }
    panel.scroll = scroll;
    panel.rows_seen = out.visible.end - out.visible.start;
    if let Some((root, position)) = clicked_cell {
        return select(cx, document, root, position);
    }
    let position = cell.map(|(_, position)| position);
    if let Some(row) = out.moved_to {
        let root = panel.root_of(row);
        return select(cx, document, root, position);
    }
    if out.sideways != 0
        && let Some(root) = selected
    {
        let next = position.map_or(0, |position| {
            position.saturating_add_signed(i32::from(out.sideways))
        });
        panel.reveal_column = true;
        select(
            cx,
            document,
            root,
            Some(next.min(summary.pattern.len().saturating_sub(1) as u32)),
        );
    }
    if out.entered {
        step(panel, cx, document, selected);
    }
}

struct MatrixRow<'a> {
    document: &'a Document,
    summary: &'a StructureSummary,
    columns: &'a StructureColumns,
    dataset: &'a Dataset,
    shift: f32,
    clip: Rect,
    root: u32,
    cell: Option<(u32, u32)>,
    dragged: Option<&'a Dragged>,
}

/// Interaction with a cell.
enum CellInteraction {
    Clicked(u32),
    Dropped(Arc<Dragged>, DropTarget),
}

impl MatrixRow<'_> {
    /// Draws one root; returns the interaction with one of its cells.
    fn ui(
        &self,
        ui: &mut Ui,
        rect: Rect,
        response: &Response,
        chosen: bool,
        cells: &mut RootCells,
    ) -> Option<CellInteraction> {
        let t = theme::tokens(ui);
        let id = self
            .document
            .id(RowRef {
                level: 0,
                row: self.root,
            })
            .unwrap_or_default();
        let (worst, extra, places) = match self.document.structure() {
            Some(structure) => {
                let worst = structure.worst(self.root as usize);
                let off = worst > PositionState::Present;
                let root = self.root as usize;
                let compare = || draft::places(self.dataset, &structure, root).0;
                let places = off.then(|| cells.find(self.root, compare));
                (worst, structure.extra(root), places.unwrap_or_default())
            }
            None => (PositionState::Present, 0, Arc::default()),
        };
        let is_reachable_fault =
            |place: &&PatternCell| place.state.is_fault() && !place.unreachable;
        let faults = places.iter().filter(is_reachable_fault).count();
        let row_label = match (faults, extra) {
            (0, 0) if worst == PositionState::Padded => tr!("{id}, padded", id),
            (0, 0) if worst.is_fault() => tr!("{id} is a FILE", id),
            (0, 0) => id.to_owned(),
            (faults, 0) => tr!("{id}, {faults} off the pattern", id, faults),
            (faults, extra) => tr!(
                "{id}, {faults} off the pattern, {extra} too many",
                id,
                faults,
                extra
            ),
        };
        response.widget_info(|| WidgetInfo::selected(Role::Row, true, chosen, &row_label));
        let painter = ui.painter().clone();
        paint::row_background(&painter, t, rect, chosen, response.hovered());
        let root_is_file = worst.is_fault() && faults == 0;
        let mut label = Rect::from_min_max(
            pos2(rect.left() + 10.0, rect.top()),
            pos2(rect.left() + ID_COLUMN_WIDTH - 6.0, rect.bottom()),
        );
        if root_is_file {
            paint::draw_icon(
                &painter,
                pos2(label.left() + 6.0, rect.center().y),
                icons::WARNING_OCTAGON,
                13.0,
                t.err,
            );
            label.min.x += 17.0;
        }
        paint::text_left(
            &painter,
            label,
            id,
            font::mono(12.0),
            if root_is_file { t.err } else { t.tx },
        );
        let painter = painter.with_clip_rect(self.clip.intersect(ui.clip_rect()));
        let first = self
            .columns
            .left
            .partition_point(|left| left + self.columns.cell + self.shift < self.clip.left());
        let mut touched_cell = None;
        for index in first..self.columns.left.len() {
            let left = self.columns.left[index] + self.shift;
            if left > self.clip.right() {
                break;
            }
            let cell = cell_rect(rect, left, self.columns.cell);
            let folder = self.summary.pattern[index].kind == SampleKind::Folder;
            match places.get(index) {
                Some(place) if place.state > PositionState::Present => {
                    touched_cell = self
                        .faulty_cell_ui(ui, &painter, cell, index as u32, place, id)
                        .or(touched_cell);
                }
                // A root that is a FILE has no cells.
                None if worst.is_fault() => footer::hatch(&painter, t, cell),
                _ => drop(painter.rect_filled(cell, 3, if folder { t.bg4 } else { t.bg3 })),
            }
            if self.cell == Some((self.root, index as u32)) {
                painter.rect_stroke(
                    cell.expand(1.0),
                    4,
                    Stroke::new(2.0, t.accfill),
                    StrokeKind::Outside,
                );
            }
        }
        touched_cell
    }

    /// Draws a cell that differs from the pattern; returns the interaction.
    fn faulty_cell_ui(
        &self,
        ui: &mut Ui,
        painter: &Painter,
        cell: Rect,
        position: u32,
        place: &PatternCell,
        root: &str,
    ) -> Option<CellInteraction> {
        let t = theme::tokens(ui);
        if place.unreachable {
            footer::hatch(painter, t, cell);
            return None;
        }
        let path = self.summary.path(position).join(" / ");
        let word = describe_state(place);
        let clip = cell.intersect(painter.clip_rect());
        let response = ui.interact(
            clip,
            ui.scope_id().with(("cell", self.root, position)),
            Sense::click(),
        );
        response.widget_info(|| {
            WidgetInfo::labeled(Role::Cell, true, format!("{root} / {path}: {word}"))
        });
        paint_faulty_cell(painter, t, cell, place);
        paint::focus_ring(ui, &response, 3);
        let clicked = response
            .clicked()
            .then_some(CellInteraction::Clicked(position));
        if let Some(dragged) = self.dragged
            && matches!(place.state, PositionState::Missing | PositionState::Padded)
        {
            return self.drop_target_ui(ui, painter, &response, position, dragged);
        }
        response.on_hover_text(theme::rich_text(format!("{root} / {path}: {word}")));
        clicked
    }

    /// Draws a cell that accepts what is being dragged.
    fn drop_target_ui(
        &self,
        ui: &Ui,
        painter: &Painter,
        response: &Response,
        position: u32,
        dragged: &Dragged,
    ) -> Option<CellInteraction> {
        let t = theme::tokens(ui);
        let target = DropTarget::Slot(self.root, position);
        let refused = drag::refusal(self.document, dragged, &target).is_some();
        let over = response.contains_pointer();
        let color = if refused && over { t.err } else { t.accfill };
        if over || !refused {
            let width = if over { 2.0 } else { 1.0 };
            painter.rect_stroke(
                response.rect.expand(1.0),
                4,
                Stroke::new(width, color),
                StrokeKind::Inside,
            );
        }
        if over {
            if let Some(what) = drag::dropped_payload(response) {
                return Some(CellInteraction::Dropped(what, target));
            }
            drag::drop_overlay_ui(ui, self.document, dragged, &target);
        }
        None
    }
}

/// The state as text.
pub fn describe_state(place: &PatternCell) -> String {
    match (place.state, &place.id, place.kind) {
        (PositionState::Present, ..) => tr!("present" in "state of a position").into(),
        (PositionState::Padded, ..) => tr!("padded" in "state of a position").into(),
        (PositionState::Missing, ..) => tr!("missing" in "state of a position").into(),
        (PositionState::WrongType, _, Some(kind)) => tr!("is a {kind}", kind),
        (PositionState::WrongOrder, Some(id), _) => tr!("wrong order: {id} is here", id),
        (PositionState::WrongId, Some(id), _) => tr!("has the id {id}", id),
        _ => tr!("wrong" in "state of a position").into(),
    }
}

/// Paints a cell that differs from the pattern.
fn paint_faulty_cell(painter: &Painter, t: &ThemeTokens, cell: Rect, place: &PatternCell) {
    let (fill, line, color) = match place.state {
        PositionState::Present | PositionState::Padded => (t.bg1, t.tx3, t.tx2),
        PositionState::WrongOrder | PositionState::WrongId => (t.warnbg, t.warnline, t.warn),
        PositionState::WrongType | PositionState::Missing => (t.errbg, t.err, t.err),
    };
    painter.rect_filled(cell, 3, fill);
    match place.state {
        PositionState::Padded => paint::dashed_rect(painter, cell, line),
        _ => drop(painter.rect_stroke(cell, 3, Stroke::new(1.0, line), StrokeKind::Inside)),
    }
    let found = place.id.as_deref().unwrap_or_default();
    let (icon, text) = match place.state {
        PositionState::Padded => (None, tr!("pad" in "state of a position")),
        PositionState::Missing => (Some(icons::X), tr!("none" in "state of a position")),
        PositionState::WrongType => match place.kind {
            Some(SampleKind::Folder) => (Some(icons::STACK), "FOLDER"),
            _ => (Some(icons::FILE), "FILE"),
        },
        PositionState::WrongOrder => (Some(icons::ARROWS_DOWN_UP), found),
        PositionState::WrongId | PositionState::Present => (None, found),
    };
    let mut inner = cell.shrink2(vec2(4.0, 0.0));
    if let Some(icon) = icon {
        paint::draw_icon(
            painter,
            pos2(inner.left() + 6.0, cell.center().y),
            icon,
            11.0,
            color,
        );
        inner.min.x += 14.0;
    }
    paint::text_center(painter, inner, text, font::mono(11.0), color);
}
