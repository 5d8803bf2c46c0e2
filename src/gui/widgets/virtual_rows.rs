//! Virtual rows of equal height: only visible ones are drawn. A scroll position is a row number and
//! an offset inside that row, because a 32-bit distance from the top would lose pixels near row one
//! million.

use std::ops::Range;

use egui::{
    DragAndDrop, EventFilter, Id, Key, Modifiers, Rect, Response, Role, Sense, Ui, UiBuilder,
    WidgetInfo, pos2, vec2,
};

use crate::gui::theme;

const BAR: f32 = 6.0;
const HANDLE_MIN: f64 = 28.0;
/// Distance from the edge at which a drag scrolls, in points.
const EDGE: f32 = 20.0;

/// Scroll position of a list; kept between frames, may be saved.
#[derive(Clone, Copy, Debug, Default, PartialEq, serde::Serialize, serde::Deserialize)]
pub struct RowScroll {
    first: u64,
    offset: f32,
    #[serde(skip)]
    reveal: Option<u64>,
    #[serde(skip)]
    grabbed: Option<f32>,
}

impl RowScroll {
    /// The row at the top.
    pub fn first(&self) -> u64 {
        self.first
    }

    /// Scrolls `row` to the top.
    pub fn go_to(&mut self, row: u64) {
        (self.first, self.offset, self.reveal) = (row, 0.0, None);
    }

    /// Scrolls as little as needed to show the whole of `row`.
    pub fn reveal(&mut self, row: u64) {
        self.reveal = Some(row);
    }

    fn position(&self, height: f32) -> f64 {
        self.first as f64 * f64::from(height) + f64::from(self.offset)
    }

    fn set_position(&mut self, position: f64, height: f32) {
        let row = (position / f64::from(height)).floor().max(0.0);
        self.first = row as u64;
        self.offset = (position - row * f64::from(height)).max(0.0) as f32;
    }

    fn scroll_by(&mut self, points: f32, height: f32) {
        let rows = ((self.offset + points) / height).floor();
        let offset = self.offset + points - rows * height;
        match self.first.checked_add_signed(rows as i64) {
            Some(first) => (self.first, self.offset) = (first, offset.max(0.0)),
            None => (self.first, self.offset) = (0, 0.0),
        }
    }

    fn clamp(&mut self, rows: u64, height: f32, view: f32) {
        let most = (rows as f64 * f64::from(height) - f64::from(view)).max(0.0);
        if self.position(height) > most {
            self.set_position(most, height);
        }
    }

    fn apply_reveal(&mut self, rows: u64, height: f32, view: f32) {
        let Some(row) = self
            .reveal
            .take()
            .map(|row| row.min(rows.saturating_sub(1)))
        else {
            return;
        };
        let whole = (view / height).floor().max(1.0) as u64;
        if row < self.first || (row == self.first && self.offset > 0.0) {
            (self.first, self.offset) = (row, 0.0);
        } else if row >= self.first + whole
            || ((row - self.first + 1) as f32 * height - self.offset) > view
        {
            // Align the row with the lower edge of the view.
            let top = (row + 1) as f64 * f64::from(height) - f64::from(view);
            self.set_position(top.max(0.0), height);
        }
    }
}

/// Interactions of this frame.
pub struct RowsOutput {
    /// The whole list, which holds the keyboard focus.
    pub response: Response,
    /// The rows that were drawn.
    pub visible: Range<u64>,
    /// Row that the keyboard cursor moves to, already scrolled into view.
    pub moved_to: Option<u64>,
    /// A row was clicked with the first button.
    pub clicked: Option<u64>,
    /// A row was double-clicked.
    pub double_clicked: Option<u64>,
    /// Left (-1) or right (1) was pressed while focused.
    pub sideways: i8,
    /// Enter was pressed while focused.
    pub entered: bool,
}

/// A virtual list. `VirtualRows::new("Roots", rows).show(ui, &mut scroll, |ui, row, rect, response|
/// …)`.
#[must_use = "call show"]
pub struct VirtualRows<'a> {
    name: &'a str,
    rows: u64,
    height: f32,
    cursor: Option<u64>,
    role: Role,
    sense: Sense,
}

impl<'a> VirtualRows<'a> {
    /// `rows` rows of 24 points; `name` is the accessible name and must be unique in its parent.
    pub fn new(name: &'a str, rows: u64) -> Self {
        Self {
            name,
            rows,
            height: 24.0,
            cursor: None,
            role: Role::List,
            sense: Sense::CLICK,
        }
    }

    /// Another height.
    pub fn row_height(mut self, height: f32) -> Self {
        self.height = height.max(4.0);
        self
    }

    /// The selected row, where keyboard navigation starts.
    pub fn cursor(mut self, cursor: Option<u64>) -> Self {
        self.cursor = cursor;
        self
    }

    /// Table, tree or list.
    pub fn role(mut self, role: Role) -> Self {
        self.role = role;
        self
    }

    /// Interactions that rows sense.
    pub fn sense(mut self, sense: Sense) -> Self {
        self.sense = sense;
        self
    }

    /// Fills the available space. `add_row` draws a row into its rectangle and sets its
    /// accessibility info.
    pub fn show(
        self,
        ui: &mut Ui,
        scroll: &mut RowScroll,
        mut add_row: impl FnMut(&mut Ui, u64, Rect, &Response),
    ) -> RowsOutput {
        let view = ui.available_rect_before_wrap();
        let id = ui.make_persistent_id(("rows", self.name));
        ui.advance_cursor_after_rect(view);
        let response = ui.interact(view, id, Sense::focusable_noninteractive());
        let (enabled, rows, height) = (ui.is_enabled(), self.rows, self.height);
        response.widget_info(|| WidgetInfo::labeled(self.role, enabled, self.name));

        let keys = if response.has_focus() {
            self.keys(ui, id, view.height())
        } else {
            Keys::default()
        };
        if let Some(row) = keys.moved_to {
            scroll.reveal(row);
        }
        if ui.rect_contains_pointer(view) {
            let delta = ui.input_mut(|input| std::mem::take(&mut input.smooth_scroll_delta.y));
            if delta != 0.0 {
                scroll.scroll_by(-delta, height);
            }
        }
        drag_scroll(ui, view, scroll, height);
        scroll.apply_reveal(rows, height, view.height());
        scroll.clamp(rows, height, view.height());
        self.bar(ui, id, view, scroll);

        let last = scroll.first + ((view.height() + scroll.offset) / height).ceil().max(0.0) as u64;
        let visible = scroll.first.min(rows)..last.min(rows);
        let mut output = RowsOutput {
            response,
            visible: visible.clone(),
            moved_to: keys.moved_to,
            clicked: None,
            double_clicked: None,
            sideways: keys.sideways,
            entered: keys.entered,
        };
        let mut child = ui.new_child(
            UiBuilder::new()
                .id_salt(("rows-content", self.name))
                .max_rect(view),
        );
        child.set_clip_rect(ui.clip_rect().intersect(view));
        child.spacing_mut().item_spacing = egui::Vec2::ZERO;
        for row in visible {
            // Whole rows and one small offset: exact at any row number.
            let top = view.top() + (row - scroll.first) as f32 * height - scroll.offset;
            let rect = Rect::from_min_size(pos2(view.left(), top), vec2(view.width(), height));
            let piece = child.interact(rect, id.with(row), self.sense);
            add_row(&mut child, row, rect, &piece);
            if piece.clicked() {
                output.clicked = Some(row);
            }
            if piece.double_clicked() {
                output.double_clicked = Some(row);
            }
        }
        // The bar is above the rows, so that it gets the pointer first.
        self.paint_bar(ui, id, view, scroll);
        if output.clicked.is_some() {
            output.response.request_focus();
        }
        output
    }

    fn keys(&self, ui: &Ui, id: Id, view: f32) -> Keys {
        let filter = EventFilter {
            vertical_arrows: true,
            horizontal_arrows: true,
            ..EventFilter::default()
        };
        ui.memory_mut(|memory| memory.set_focus_lock_filter(id, filter));
        let page = ((view / self.height).floor() as i64 - 1).max(1);
        let mut step = 0_i64;
        let mut keys = Keys::default();
        let mut edge = None;
        ui.input_mut(|input| {
            let mut count = |key| input.count_and_consume_key(Modifiers::NONE, key) as i64;
            step += count(Key::ArrowDown) - count(Key::ArrowUp);
            step += page * (count(Key::PageDown) - count(Key::PageUp));
            keys.sideways = (count(Key::ArrowRight) - count(Key::ArrowLeft)).signum() as i8;
            keys.entered = count(Key::Enter) > 0;
            if count(Key::Home) > 0 {
                edge = Some(0);
            }
            if count(Key::End) > 0 {
                edge = Some(self.rows.saturating_sub(1));
            }
        });
        if self.rows == 0 {
            return keys;
        }
        keys.moved_to = edge.or_else(|| {
            (step != 0).then(|| match self.cursor {
                Some(cursor) => cursor.saturating_add_signed(step).min(self.rows - 1),
                None => 0,
            })
        });
        keys
    }

    /// Track rectangle and handle length, if the rows do not fit.
    fn bar_geometry(&self, view: Rect) -> Option<(Rect, f64)> {
        let content = self.rows as f64 * f64::from(self.height);
        let shown = f64::from(view.height());
        if content <= shown || shown < 2.0 * HANDLE_MIN {
            return None;
        }
        let track = Rect::from_min_max(
            pos2(view.right() - BAR - 1.0, view.top() + 1.0),
            pos2(view.right() - 1.0, view.bottom() - 1.0),
        );
        let length = (shown * shown / content).clamp(HANDLE_MIN, f64::from(track.height()));
        Some((track, length))
    }

    fn handle(&self, view: Rect, scroll: &RowScroll) -> Option<(Rect, Rect, f64)> {
        let (track, length) = self.bar_geometry(view)?;
        let most = self.rows as f64 * f64::from(self.height) - f64::from(view.height());
        let room = f64::from(track.height()) - length;
        let top = scroll.position(self.height) / most * room;
        let handle = Rect::from_min_size(
            pos2(track.left(), track.top() + top as f32),
            vec2(BAR, length as f32),
        );
        Some((track, handle, most / room.max(1.0)))
    }

    fn bar(&self, ui: &Ui, id: Id, view: Rect, scroll: &mut RowScroll) {
        // The response of the last frame: rows are drawn first and the bar above them.
        let Some((track, handle, points_each)) = self.handle(view, scroll) else {
            return;
        };
        let Some(response) = ui.ctx().read_response(id.with("bar")) else {
            return;
        };
        let Some(pointer) = response.interact_pointer_pos() else {
            scroll.grabbed = None;
            return;
        };
        if response.drag_started() {
            let inside = pointer.y - handle.top();
            // A press beside the handle centres the handle on the pointer.
            let on_handle = (0.0..=handle.height()).contains(&inside);
            scroll.grabbed = Some(if on_handle {
                inside
            } else {
                handle.height() / 2.0
            });
        }
        if let Some(grabbed) = scroll.grabbed.filter(|_| response.dragged()) {
            let top = f64::from(pointer.y - grabbed - track.top()).max(0.0);
            scroll.set_position(top * points_each, self.height);
            scroll.clamp(self.rows, self.height, view.height());
        }
    }

    fn paint_bar(&self, ui: &Ui, id: Id, view: Rect, scroll: &RowScroll) {
        let Some((track, handle, _)) = self.handle(view, scroll) else {
            return;
        };
        let response = ui.interact(track.expand2(vec2(2.0, 0.0)), id.with("bar"), Sense::DRAG);
        let t = theme::tokens(ui);
        let color = if response.hovered() || response.dragged() {
            t.ctl
        } else {
            t.bg4
        };
        ui.painter().rect_filled(handle, 3, color);
    }
}

/// A drag at the upper or lower edge scrolls the rows.
fn drag_scroll(ui: &Ui, view: Rect, scroll: &mut RowScroll, height: f32) {
    if !DragAndDrop::has_any_payload(ui.ctx()) || !ui.rect_contains_pointer(view) {
        return;
    }
    let Some(pointer) = ui.ctx().pointer_latest_pos() else {
        return;
    };
    let (above, below) = (
        view.top() + EDGE - pointer.y,
        pointer.y - (view.bottom() - EDGE),
    );
    let points = below.max(0.0) - above.max(0.0);
    if points != 0.0 && view.height() > 4.0 * EDGE {
        scroll.scroll_by(points / 3.0, height);
        ui.ctx().request_repaint();
    }
}

#[derive(Default)]
struct Keys {
    moved_to: Option<u64>,
    sideways: i8,
    entered: bool,
}

#[cfg(test)]
mod tests {
    use super::*;
    use egui_kittest::Harness;
    use egui_kittest::kittest::Queryable;

    struct State {
        scroll: RowScroll,
        cursor: Option<u64>,
        rows: u64,
        drawn: Vec<(u64, Rect)>,
    }

    fn harness(rows: u64, first: u64) -> Harness<'static, State> {
        let mut scroll = RowScroll::default();
        scroll.go_to(first);
        let state = State {
            scroll,
            cursor: Some(first),
            rows,
            drawn: Vec::new(),
        };
        Harness::builder()
            .with_size(vec2(300.0, 480.0))
            .with_context_setup(theme::install)
            .build_ui_state(
                |ui, state: &mut State| {
                    state.drawn.clear();
                    let drawn = &mut state.drawn;
                    let list = VirtualRows::new("Rows", state.rows).cursor(state.cursor);
                    let out = list.show(ui, &mut state.scroll, |_, row, rect, response| {
                        response.widget_info(|| {
                            WidgetInfo::labeled(Role::ListItem, true, format!("row {row}"))
                        });
                        drawn.push((row, rect));
                    });
                    state.cursor = out.moved_to.or(out.clicked).or(state.cursor);
                },
                state,
            )
    }

    fn assert_exact(drawn: &[(u64, Rect)]) {
        assert!(
            drawn.len() <= 22,
            "only what is visible is made, not {}",
            drawn.len()
        );
        for pair in drawn.windows(2) {
            assert_eq!(pair[1].0, pair[0].0 + 1);
            assert_eq!(
                pair[1].1.top() - pair[0].1.top(),
                24.0,
                "pitch at row {}",
                pair[0].0
            );
            assert_eq!(
                pair[1].1.top(),
                pair[0].1.bottom(),
                "overlap at row {}",
                pair[0].0
            );
        }
    }

    #[test]
    fn the_pitch_is_exact_in_the_depths() {
        for (rows, row) in [
            (1_000_000, 999_000),
            (50_000_000, 49_999_990),
            (2_100_000, 2_000_001),
        ] {
            let mut harness = harness(rows, row);
            harness.run();
            assert_exact(&harness.state().drawn);
            let last = harness.state().drawn.last().expect("has rows");
            assert!(last.0 < rows);
            // A third of a row further down, the pitch is the same.
            harness.hover_at(pos2(100.0, 100.0));
            harness.event(egui::Event::MouseWheel {
                unit: egui::MouseWheelUnit::Point,
                delta: vec2(0.0, 7.0),
                phase: egui::TouchPhase::Move,
                source: egui::MouseWheelSource::Wheel,
                modifiers: Modifiers::NONE,
            });
            harness.run_steps(8);
            assert_exact(&harness.state().drawn);
        }
    }

    #[test]
    fn the_end_is_reached_and_not_passed() {
        let mut harness = harness(50_000_000, 0);
        harness.get_by_label("Rows").focus();
        harness.run();
        harness.key_press(Key::End);
        harness.run();
        assert_eq!(harness.state().cursor, Some(49_999_999));
        let (row, rect) = *harness.state().drawn.last().expect("has rows");
        assert_eq!(row, 49_999_999);
        assert!((rect.bottom() - harness.get_by_label("Rows").rect().bottom()).abs() < 0.01);
        harness.key_press(Key::ArrowDown);
        harness.run();
        assert_eq!(harness.state().cursor, Some(49_999_999));
        harness.key_press(Key::PageUp);
        harness.run();
        assert!(harness.state().cursor < Some(49_999_985));
        harness.key_press(Key::Home);
        harness.run();
        assert_eq!(harness.state().drawn[0].0, 0);
    }

    #[test]
    fn a_click_selects_and_the_keyboard_goes_on_from_there() {
        let mut harness = harness(1000, 0);
        harness.get_by_label("row 5").click();
        harness.run();
        assert_eq!(harness.state().cursor, Some(5));
        harness.key_press(Key::ArrowDown);
        harness.run();
        assert_eq!(harness.state().cursor, Some(6));
    }

    #[test]
    fn the_bar_spans_all_rows() {
        let mut harness = harness(50_000_000, 0);
        harness.drag_at(pos2(290.0, 20.0));
        harness.run();
        harness.hover_at(pos2(290.0, 479.0));
        harness.run();
        harness.drop_at(pos2(290.0, 479.0));
        harness.run();
        assert!(
            harness.state().scroll.first() > 49_000_000,
            "at {}",
            harness.state().scroll.first()
        );
    }
}
