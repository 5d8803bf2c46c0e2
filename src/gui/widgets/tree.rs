//! A tree as flat virtual rows: indent guides, icon, id, count or size, status mark. The source
//! decides what is unfolded.

use egui::{Rect, Response, Role, Sense, Stroke, Ui, WidgetInfo, pos2, vec2};

use super::paint;
use super::table::StatusMark;
use super::virtual_rows::{RowScroll, VirtualRows};
use crate::gui::icons;
use crate::gui::theme::{self, ThemeTokens, font};

const INDENT: f32 = 16.0;

#[derive(Clone, Debug, Default)]
pub struct TreeRow {
    /// 0 for the root.
    pub depth: u16,
    /// Whether it is unfolded; `None` for a leaf.
    pub open: Option<bool>,
    /// Glyph of the object.
    pub icon: &'static str,
    /// The id.
    pub text: String,
    /// The root's weight.
    pub strong: bool,
    /// Padded: dimmed.
    pub weak: bool,
    /// Count or size.
    pub right: String,
    /// Paints the count as an error.
    pub right_bad: bool,
    pub mark: StatusMark,
    /// Text of a missing child, drawn as a dashed slot.
    pub slot: Option<String>,
    /// True when the slot accepts what is being dragged.
    pub wanted: bool,
    /// One of several that are selected.
    pub chosen: bool,
}

/// Interactions of this frame.
#[derive(Default)]
pub struct TreeOutput {
    /// The row to select.
    pub selected: Option<u64>,
    /// The row to fold or unfold.
    pub toggled: Option<u64>,
    /// Left was pressed on a folded row or a leaf: the parent should be selected.
    pub to_parent: bool,
    /// A row was opened by Enter or double click.
    pub activated: Option<u64>,
}

/// Draws the rows; `row` returns a row by its index, `touch` adds interactions: context menu, drag
/// and drop.
pub fn tree(
    ui: &mut Ui,
    name: &str,
    scroll: &mut RowScroll,
    rows: u64,
    cursor: Option<u64>,
    mut row: impl FnMut(u64) -> TreeRow,
    mut touch: impl FnMut(&mut Ui, u64, Rect, &Response),
) -> TreeOutput {
    let mut output = TreeOutput::default();
    let mut at_cursor = None;
    let list = VirtualRows::new(name, rows)
        .cursor(cursor)
        .role(Role::Tree)
        .sense(Sense::CLICK | Sense::DRAG);
    let out = list.show(ui, scroll, |ui, number, rect, response| {
        let item = row(number);
        let selected = cursor == Some(number);
        if selected {
            at_cursor = item.open.map(|open| (number, open));
        }
        let enabled = ui.is_enabled();
        let said = item.slot.as_ref().map_or_else(
            || item.text.clone(),
            |filling| format!("{} {filling}", item.text),
        );
        response.widget_info(|| {
            WidgetInfo::selected(Role::TreeItem, enabled, selected || item.chosen, &said)
        });
        ui.ctx().accesskit_node_builder(response.id, |node| {
            node.set_selected(selected || item.chosen);
            node.set_level(usize::from(item.depth) + 1);
            if let Some(open) = item.open {
                node.set_expanded(open);
            }
        });
        if let Some(caret) = row_ui(ui, rect, &item, selected, response.hovered())
            && response.clicked()
            && response
                .interact_pointer_pos()
                .is_some_and(|pointer| caret.contains(pointer))
        {
            output.toggled = Some(number);
        }
        touch(ui, number, rect, response);
    });
    output.selected = out
        .moved_to
        .or(out.clicked.filter(|_| output.toggled.is_none()));
    output.activated = out.double_clicked.or(cursor.filter(|_| out.entered));
    match (out.sideways, at_cursor) {
        (1, Some((number, false))) | (-1, Some((number, true))) => output.toggled = Some(number),
        (-1, _) => output.to_parent = true,
        _ => {}
    }
    output
}

/// Paints a row; returns the rectangle of its caret, if any.
pub(super) fn row_ui(
    ui: &Ui,
    rect: Rect,
    item: &TreeRow,
    selected: bool,
    hovered: bool,
) -> Option<Rect> {
    let t = theme::tokens(ui);
    let painter = ui.painter();
    if item.slot.is_none() {
        paint::row_background(painter, t, rect, selected || item.chosen, hovered);
    }
    for level in 0..item.depth {
        painter.vline(
            (rect.left() + 14.0 + INDENT * f32::from(level)).round() + 0.5,
            rect.y_range(),
            Stroke::new(1.0, t.line),
        );
    }
    let mut x = rect.left() + 8.0 + INDENT * f32::from(item.depth);
    let middle = rect.center().y;
    if let Some(filling) = &item.slot {
        slot_ui(painter, t, rect, x, item, filling, selected);
        return None;
    }
    let caret = item.open.map(|open| {
        let icon = if open {
            icons::CARET_DOWN
        } else {
            icons::CARET_RIGHT
        };
        paint::draw_icon(painter, pos2(x + 6.0, middle), icon, 12.0, t.tx3);
        Rect::from_center_size(pos2(x + 6.0, middle), vec2(16.0, rect.height()))
    });
    x += 17.0;
    paint::draw_icon(painter, pos2(x + 7.5, middle), item.icon, 15.0, t.tx3);
    x += 21.0;
    let mut right = rect.right() - 8.0;
    item.mark.paint(painter, t, pos2(right - 8.0, middle), true);
    right -= 21.0;
    if !item.right.is_empty() {
        let color = if item.right_bad { t.err } else { t.tx3 };
        let area = Rect::from_min_max(pos2(x, rect.top()), pos2(right, rect.bottom()));
        right = paint::text_right(painter, area, &item.right, font::mono(11.0), color) - 8.0;
    }
    let weight = if item.strong {
        font::mono_semibold(12.0)
    } else {
        font::mono(12.0)
    };
    let color = if item.weak { t.tx2 } else { t.tx };
    paint::text_left(
        painter,
        Rect::from_min_max(pos2(x, rect.top()), pos2(right, rect.bottom())),
        &item.text,
        weight,
        color,
    );
    caret
}

fn slot_ui(
    painter: &egui::Painter,
    t: &ThemeTokens,
    rect: Rect,
    x: f32,
    item: &TreeRow,
    filling: &str,
    selected: bool,
) {
    let frame = Rect::from_min_max(
        pos2(rect.left() + 1.0, rect.top()),
        pos2(rect.right() - 1.0, rect.bottom()),
    );
    let (fill, line, color) = if item.wanted {
        (t.accbg, t.accfill, t.acc)
    } else {
        (if selected { t.sel } else { t.errbg }, t.errline, t.err)
    };
    painter.rect_filled(frame, 3, fill);
    paint::dashed_rect(painter, frame, line);
    let icon = if item.wanted {
        icons::ARROW_ELBOW_DOWN_RIGHT
    } else {
        icons::X
    };
    paint::draw_icon(painter, pos2(x + 24.0, rect.center().y), icon, 14.0, color);
    let mut text = Rect::from_min_max(pos2(x + 38.0, rect.top()), rect.max);
    text.min.x =
        paint::text_left(painter, text, &item.text, font::mono_semibold(12.0), color) + 5.0;
    paint::text_left(painter, text, filling, font::regular(12.0), color);
}

#[cfg(test)]
mod tests {
    use super::*;
    use egui::Key;
    use egui_kittest::Harness;
    use egui_kittest::kittest::Queryable;

    #[derive(Default)]
    struct State {
        scroll: RowScroll,
        cursor: Option<u64>,
        open: bool,
        to_parent: bool,
    }

    #[test]
    fn rows_fold_by_caret_and_by_keyboard() {
        let mut harness = Harness::builder()
            .with_size(vec2(300.0, 300.0))
            .with_context_setup(theme::install)
            .build_ui_state(
                |ui, state: &mut State| {
                    let rows = if state.open { 4 } else { 1 };
                    let open = state.open;
                    let out = tree(
                        ui,
                        "Hierarchy",
                        &mut state.scroll,
                        rows,
                        state.cursor,
                        |row| TreeRow {
                            depth: u16::from(row > 0),
                            open: (row == 0).then_some(open),
                            icon: icons::STACK,
                            text: if row == 0 {
                                "root".into()
                            } else {
                                format!("roi_{row}")
                            },
                            ..TreeRow::default()
                        },
                        |_, _, _, _| {},
                    );
                    state.cursor = out.selected.or(state.cursor);
                    state.open ^= out.toggled.is_some();
                    state.to_parent |= out.to_parent;
                },
                State::default(),
            );
        let caret = harness.get_by_label("root").rect().left_center() + vec2(14.0, 0.0);
        harness.drag_at(caret);
        harness.drop_at(caret);
        harness.run();
        assert!(harness.state().open, "the caret unfolds");
        harness.get_by_label("roi_2").click();
        harness.run();
        assert_eq!(harness.state().cursor, Some(2));
        harness.key_press(Key::ArrowLeft);
        harness.run();
        assert!(harness.state().to_parent);
        harness.key_press(Key::Home);
        harness.run();
        harness.key_press(Key::ArrowLeft);
        harness.run();
        assert!(!harness.state().open, "left folds");
        assert!(harness.query_by_label("roi_2").is_none());
    }
}
