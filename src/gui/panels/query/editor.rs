//! The editor of the query panel: highlighting, line numbers, completion at the cursor, the
//! position of an error.

use std::ops::Range;
use std::sync::Arc;

use egui::text::{CCursor, CCursorRange, LayoutJob, TextFormat};
use egui::widgets::text_edit::TextEditOutput;
use egui::{
    Align2, Area, Color32, EventFilter, Frame, Id, Key, Modifiers, Order, Rect, ScrollArea, Sense,
    Stroke, TextEdit, Ui, UiBuilder, pos2, vec2,
};

use super::state::{Completion, EditorState, SuggestionList};
use crate::gui::icons;
use crate::gui::sql::{self, SqlTokenKind};
use crate::gui::theme::{self, ThemeTokens, font};
use crate::gui::widgets::paint;
use crate::text::editable;

/// Fewest visible lines; the editor grows with its text to half of the panel, then scrolls.
const MIN_LINES: usize = 3;
const LINE_HEIGHT: f32 = 18.0;
/// Width of the column with line numbers, in points.
const GUTTER_WIDTH: f32 = 34.0;
const MAX_SUGGESTIONS: usize = 9;

fn editor_id() -> Id {
    Id::unique("sql")
}

/// Draws the editor, with the bytes `error_range` of the statement underlined. True when Ctrl Enter
/// was pressed.
pub fn editor_ui(
    ui: &mut Ui,
    state: &mut EditorState,
    completions: &[Completion],
    error_range: Option<Range<usize>>,
) -> bool {
    let t = theme::tokens(ui);
    let focused = ui.memory(|memory| memory.has_focus(editor_id()));
    // Consumed before the editor, which would insert a new line.
    let is_run_requested =
        focused && ui.input_mut(|input| input.consume_key(Modifiers::COMMAND, Key::Enter));
    if is_run_requested {
        state.dismiss_suggestions();
    } else if focused && state.suggestions.is_some() {
        handle_suggestion_keys(ui, state);
    } else {
        state.suggestions = None;
    }
    let lines = state.sql.lines().count().max(1) + usize::from(state.sql.ends_with('\n'));
    let max_lines =
        ((ui.available_height() / 2.0 - 12.0) / LINE_HEIGHT).max(MIN_LINES as f32) as usize;
    let height = LINE_HEIGHT * lines.clamp(MIN_LINES, max_lines) as f32 + 12.0;
    let (rect, _) = ui.allocate_exact_size(vec2(ui.available_width(), height), Sense::hover());
    ui.painter().rect_filled(rect, 0, t.input);
    let mut child = ui.new_child(
        UiBuilder::new()
            .max_rect(rect.shrink2(vec2(0.0, 6.0)))
            .id_salt("editor"),
    );
    child.set_clip_rect(ui.clip_rect().intersect(rect));
    ScrollArea::both()
        .id_salt("sql-scroll")
        .auto_shrink(false)
        .show(&mut child, |ui| {
            statement_ui(ui, t, state, completions, error_range, rect)
        });
    if focused {
        let line = Stroke::new(2.0, t.accfill);
        ui.painter().vline(rect.left() + 1.0, rect.y_range(), line);
    }
    suggestions_ui(ui, t, state);
    is_run_requested
}

fn statement_ui(
    ui: &mut Ui,
    t: &'static ThemeTokens,
    state: &mut EditorState,
    completions: &[Completion],
    error_range: Option<Range<usize>>,
    view: Rect,
) {
    if let Some(at) = state.requested_cursor.take() {
        let mut edit = TextEdit::load_state(ui.ctx(), editor_id()).unwrap_or_default();
        edit.cursor
            .set_char_range(Some(CCursorRange::one(CCursor::new(at))));
        TextEdit::store_state(ui.ctx(), editor_id(), edit);
        ui.memory_mut(|memory| memory.request_focus(editor_id()));
    }
    let mut layouter = |ui: &Ui, text: &dyn egui::TextBuffer, _width: f32| {
        lay_out_statement(ui, t, text.as_str(), error_range.clone())
    };
    let left = ui.cursor().left() + GUTTER_WIDTH;
    let top = ui.cursor().top();
    let area = Rect::from_min_max(pos2(left, top), pos2(view.right() - 8.0, view.bottom()));
    let mut inner = ui.new_child(
        UiBuilder::new()
            .max_rect(area)
            .layout(egui::Layout::top_down(egui::Align::Min)),
    );
    inner.spacing_mut().interact_size.y = 0.0;
    // While suggestions show, Tab accepts one and Esc closes the list; otherwise both leave the
    // editor.
    let has_suggestions = state.suggestions.is_some();
    let filter = EventFilter {
        horizontal_arrows: true,
        vertical_arrows: true,
        tab: has_suggestions,
        escape: has_suggestions,
    };
    let edit = TextEdit::multiline(&mut state.sql)
        .id(editor_id())
        .frame(Frame::NONE)
        .margin(egui::Margin::ZERO)
        .font(font::mono(12.5))
        .event_filter(filter)
        .desired_width(area.width())
        .min_size(vec2(area.width(), view.height() - 12.0))
        .layouter(&mut layouter);
    let output = edit.show(&mut inner);
    ui.ctx()
        .accesskit_node_builder(output.response.id, |node| node.set_label("SQL"));
    let used = output.response.rect.union(Rect::from_min_size(
        pos2(left - GUTTER_WIDTH, top),
        vec2(1.0, 1.0),
    ));
    ui.advance_cursor_after_rect(used);
    line_numbers_ui(ui, t, &output, left);
    update_suggestions(state, &output, completions);
}

/// Draws the number of each line to the left of its first row: long lines are wrapped.
fn line_numbers_ui(ui: &Ui, t: &ThemeTokens, output: &TextEditOutput, text_left: f32) {
    let mut number = 1;
    let mut begins_line = true;
    for row in &output.galley.rows {
        if begins_line {
            let line = Rect::from_min_size(
                pos2(text_left - GUTTER_WIDTH, output.galley_pos.y + row.pos.y),
                vec2(GUTTER_WIDTH - 12.0, row.size.y),
            );
            paint::text_right(
                ui.painter(),
                line,
                &number.to_string(),
                font::mono(11.0),
                t.tx3,
            );
            number += 1;
        }
        begins_line = row.ends_with_newline;
    }
}

/// Opens, changes or closes the suggestions for the word before the cursor. While they are closed,
/// only a change of the text opens them: moving the cursor does not.
fn update_suggestions(
    state: &mut EditorState,
    output: &TextEditOutput,
    completions: &[Completion],
) {
    let Some(range) = output.cursor_range.filter(|_| output.response.has_focus()) else {
        return;
    };
    if !(output.response.changed() || state.suggestions.is_some()) {
        return;
    }
    let characters = range.primary.index.0;
    let cursor = state
        .sql
        .char_indices()
        .nth(characters)
        .map_or(state.sql.len(), |(at, _)| at);
    let before = state.suggestions.take();
    let Some((replaced, word)) = sql::find_typed_name(&state.sql, cursor)
        .filter(|_| range.primary.index == range.secondary.index)
    else {
        state.dismissed_word = None;
        return;
    };
    if state.dismissed_word.as_ref() == Some(&word) {
        return;
    }
    let found = find_completions(completions, &word);
    if found.is_empty()
        || found
            .iter()
            .any(|completion| completion.text.eq_ignore_ascii_case(&word))
    {
        return;
    }
    let (selected, is_selected_by_keys) = before.map_or((0, false), |before| {
        (
            before.selected.min(found.len() - 1),
            before.is_selected_by_keys,
        )
    });
    state.suggestions = Some(SuggestionList {
        replaced,
        completions: found,
        selected,
        is_selected_by_keys,
        cursor_rect: output
            .galley
            .pos_from_cursor(range.primary)
            .translate(output.galley_pos.to_vec2()),
    });
}

fn lay_out_statement(
    ui: &Ui,
    t: &ThemeTokens,
    text: &str,
    error_range: Option<Range<usize>>,
) -> Arc<egui::Galley> {
    let job = highlight_statement(&editable(text), t, error_range);
    ui.fonts_mut(|fonts| fonts.layout_job(job))
}

/// Completions that begin with the typed text, then those that contain it.
fn find_completions(completions: &[Completion], typed: &str) -> Vec<Completion> {
    let typed = typed.to_lowercase();
    let begins = |word: &&Completion| word.plain.to_lowercase().starts_with(&typed);
    let contains = |word: &&Completion| {
        typed.len() > 1 && !begins(word) && word.plain.to_lowercase().contains(&typed)
    };
    completions
        .iter()
        .filter(begins)
        .chain(completions.iter().filter(contains))
        .take(MAX_SUGGESTIONS)
        .cloned()
        .collect()
}

/// Moves in the suggestions, accepts one or closes them; consumes the keys before the editor has
/// them.
fn handle_suggestion_keys(ui: &Ui, state: &mut EditorState) {
    let Some(list) = &mut state.suggestions else {
        return;
    };
    let is_selected_by_keys = list.is_selected_by_keys;
    let (down, up, tab, enter, escape) = ui.input_mut(|input| {
        let mut consume = |key| input.consume_key(Modifiers::NONE, key);
        // Enter inserts a new line until the arrow keys select a suggestion.
        (
            consume(Key::ArrowDown),
            consume(Key::ArrowUp),
            consume(Key::Tab),
            is_selected_by_keys && consume(Key::Enter),
            consume(Key::Escape),
        )
    });
    let count = list.completions.len();
    if down || up {
        list.selected = (list.selected + if down { 1 } else { count - 1 }) % count;
        list.is_selected_by_keys = true;
    }
    if tab || enter {
        let selected = list.selected;
        state.accept_suggestion(selected);
    } else if escape {
        state.dismiss_suggestions();
    }
}

fn suggestions_ui(ui: &Ui, t: &ThemeTokens, state: &mut EditorState) {
    let Some(list) = &state.suggestions else {
        return;
    };
    let mut clicked = None;
    let area = Area::new(Id::unique("sql-suggestions"))
        .order(Order::Foreground)
        .fixed_pos(list.cursor_rect.left_bottom() + vec2(-6.0, 2.0));
    area.pivot(Align2::LEFT_TOP).show(ui.ctx(), |ui| {
        let frame = Frame::NONE
            .fill(t.bg2)
            .stroke(Stroke::new(1.0, t.line2))
            .corner_radius(6)
            .inner_margin(4);
        frame.show(ui, |ui| {
            ui.spacing_mut().item_spacing.y = 0.0;
            for (index, word) in list.completions.iter().enumerate() {
                let (row, response) = ui.allocate_exact_size(vec2(300.0, 22.0), Sense::click());
                response.widget_info(|| {
                    egui::WidgetInfo::selected(
                        egui::Role::ListBoxOption,
                        true,
                        index == list.selected,
                        tr!("Complete {word}", word = &word.text),
                    )
                });
                if index == list.selected || response.hovered() {
                    ui.painter().rect_filled(
                        row,
                        3,
                        if index == list.selected { t.sel } else { t.bg4 },
                    );
                }
                let (icon, kind) = match word.kind.as_str() {
                    "table" => (icons::TABLE, tr!("table")),
                    "function" => (icons::CODE, tr!("function")),
                    "keyword" => (icons::TEXT_T, tr!("keyword")),
                    dtype => (icons::COLUMNS, dtype),
                };
                paint::draw_icon(
                    ui.painter(),
                    pos2(row.left() + 11.0, row.center().y),
                    icon,
                    13.0,
                    t.tx3,
                );
                let end = paint::text_right(
                    ui.painter(),
                    row.shrink2(vec2(6.0, 0.0)),
                    kind,
                    font::mono(10.5),
                    t.tx3,
                );
                let inner = Rect::from_min_max(
                    pos2(row.left() + 24.0, row.top()),
                    pos2(end - 8.0, row.bottom()),
                );
                paint::text_left(ui.painter(), inner, &word.text, font::mono(12.0), t.tx);
                if response.clicked() {
                    clicked = Some(index);
                }
            }
        });
    });
    if let Some(index) = clicked {
        state.accept_suggestion(index);
    }
}

/// The highlighted statement; `error_range` is underlined.
fn highlight_statement(
    text: &str,
    t: &ThemeTokens,
    error_range: Option<Range<usize>>,
) -> LayoutJob {
    let mut job = LayoutJob {
        text: text.to_owned(),
        ..LayoutJob::default()
    };
    job.wrap.max_width = f32::INFINITY;
    let mut at = 0;
    for (range, kind) in sql::classify_tokens(text) {
        append_section(&mut job, t, error_range.as_ref(), at..range.start, t.tx);
        let color = match kind {
            SqlTokenKind::Keyword => t.keyword,
            SqlTokenKind::Quoted | SqlTokenKind::Text => t.ok,
            SqlTokenKind::Number => t.info,
            SqlTokenKind::Comment => t.tx3,
            SqlTokenKind::Function => t.acc,
            SqlTokenKind::Name | SqlTokenKind::Mark => t.tx,
        };
        at = range.end;
        append_section(&mut job, t, error_range.as_ref(), range, color);
    }
    append_section(&mut job, t, error_range.as_ref(), at..text.len(), t.tx);
    job
}

fn append_section(
    job: &mut LayoutJob,
    t: &ThemeTokens,
    error_range: Option<&Range<usize>>,
    range: Range<usize>,
    color: Color32,
) {
    if range.is_empty() {
        return;
    }
    let mut format = TextFormat {
        font_id: font::mono(12.5),
        color,
        line_height: Some(LINE_HEIGHT),
        ..TextFormat::default()
    };
    if error_range.is_some_and(|error| error.start < range.end && range.start < error.end) {
        format.underline = Stroke::new(2.0, t.err);
    }
    job.sections.push(egui::text::LayoutSection {
        leading_space: 0.0,
        byte_range: egui::text::ByteIndex(range.start)..egui::text::ByteIndex(range.end),
        format,
    });
}

#[cfg(test)]
mod tests {
    use super::*;

    fn word(text: &str) -> Completion {
        Completion {
            text: sql::quote_name(text),
            plain: text.to_owned(),
            kind: "string".into(),
        }
    }

    #[test]
    fn words_that_begin_come_first_and_replace_what_is_typed() {
        let words = [
            word("water_cover"),
            word("cloud_cover"),
            word("cover"),
            word("stac:crs"),
        ];
        let texts = |typed: &str| {
            find_completions(&words, typed)
                .into_iter()
                .map(|word| word.plain)
                .collect::<Vec<_>>()
        };
        assert_eq!(texts("Cov"), ["cover", "water_cover", "cloud_cover"]);
        let mut state = EditorState {
            sql: "SELECT \"stac: FROM data".into(),
            ..EditorState::default()
        };
        state.insert_completion(7..13, &words[3]);
        assert_eq!(state.sql, "SELECT \"stac:crs\" FROM data");
        assert_eq!(state.requested_cursor, Some(17));
    }

    #[test]
    fn colours_cover_the_whole_text() {
        let text = "SELECT 'é' -- ü\nFROM data ";
        let job = highlight_statement(text, &theme::DARK, Some(20..23));
        let mut at = 0;
        for section in &job.sections {
            assert_eq!(section.byte_range.start.0, at);
            at = section.byte_range.end.0;
        }
        assert_eq!(at, text.len());
    }
}
