//! The editor of the query panel: highlighting, line numbers, completion at the cursor, the
//! position of an error.

use std::ops::Range;
use std::sync::Arc;

use egui::text::{CCursor, CCursorRange, LayoutJob, TextFormat};
use egui::{
    Align2, Area, Color32, EventFilter, Frame, Id, Key, Modifiers, Order, Rect, ScrollArea, Sense,
    Stroke, TextEdit, Ui, UiBuilder, pos2, vec2,
};

use super::state::{Completion, EditorState, Offer};
use crate::gui::icons;
use crate::gui::sql::{self, SqlTokenKind};
use crate::gui::theme::{self, ThemeTokens, font};
use crate::gui::widgets::paint;
use crate::text::editable;

/// Fewest visible lines; the editor grows with its text to half of the panel, then scrolls.
const LINES: usize = 3;
const LINE: f32 = 18.0;
const GUTTER: f32 = 34.0;
/// Most suggestions.
const OFFERED: usize = 9;

/// The editor's id for the focus.
fn id() -> Id {
    Id::unique("sql")
}

/// Draws the editor. True when Ctrl Enter was pressed.
pub fn ui(
    ui: &mut Ui,
    state: &mut EditorState,
    words: &[Completion],
    fault: Option<Range<usize>>,
) -> bool {
    let t = theme::tokens(ui);
    let focused = ui.memory(|memory| memory.has_focus(id()));
    // Consumed before the editor, which would insert a new line.
    let run = focused && ui.input_mut(|input| input.consume_key(Modifiers::COMMAND, Key::Enter));
    if run {
        state.close_offer();
    } else if focused && state.offer.is_some() {
        offer_keys(ui, state);
    } else {
        state.offer = None;
    }
    let lines = state.sql.lines().count().max(1) + usize::from(state.sql.ends_with('\n'));
    let most = ((ui.available_height() / 2.0 - 12.0) / LINE).max(LINES as f32) as usize;
    let height = LINE * lines.clamp(LINES, most) as f32 + 12.0;
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
        .show(&mut child, |ui| text_ui(ui, t, state, words, fault, rect));
    if focused {
        let line = Stroke::new(2.0, t.accfill);
        ui.painter().vline(rect.left() + 1.0, rect.y_range(), line);
    }
    offer_ui(ui, t, state);
    run
}

fn text_ui(
    ui: &mut Ui,
    t: &'static ThemeTokens,
    state: &mut EditorState,
    words: &[Completion],
    fault: Option<Range<usize>>,
    view: Rect,
) {
    if let Some(at) = state.cursor.take() {
        let mut edit = TextEdit::load_state(ui.ctx(), id()).unwrap_or_default();
        edit.cursor
            .set_char_range(Some(CCursorRange::one(CCursor::new(at))));
        TextEdit::store_state(ui.ctx(), id(), edit);
        ui.memory_mut(|memory| memory.request_focus(id()));
    }
    let mut layouter = |ui: &Ui, text: &dyn egui::TextBuffer, _width: f32| {
        lay_out_statement(ui, t, text.as_str(), fault.clone())
    };
    let left = ui.cursor().left() + GUTTER;
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
    let open = state.offer.is_some();
    let filter = EventFilter {
        horizontal_arrows: true,
        vertical_arrows: true,
        tab: open,
        escape: open,
    };
    let edit = TextEdit::multiline(&mut state.sql)
        .id(id())
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
        pos2(left - GUTTER, top),
        vec2(1.0, 1.0),
    ));
    ui.advance_cursor_after_rect(used);
    let mut number = 1;
    let mut starts = true;
    for row in &output.galley.rows {
        if starts {
            let line = Rect::from_min_size(
                pos2(left - GUTTER, output.galley_pos.y + row.pos.y),
                vec2(GUTTER - 12.0, row.size.y),
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
        starts = row.ends_with_newline;
    }
    let Some(range) = output.cursor_range.filter(|_| output.response.has_focus()) else {
        return;
    };
    if !(output.response.changed() || state.offer.is_some()) {
        return;
    }
    let characters = range.primary.index.0;
    let cursor = state
        .sql
        .char_indices()
        .nth(characters)
        .map_or(state.sql.len(), |(at, _)| at);
    let at = output
        .galley
        .pos_from_cursor(range.primary)
        .translate(output.galley_pos.to_vec2());
    let before = state.offer.take();
    let Some((typed, word)) = sql::typed_before(&state.sql, cursor)
        .filter(|_| range.primary.index == range.secondary.index)
    else {
        state.closed = None;
        return;
    };
    if state.closed.as_ref() == Some(&word) {
        return;
    }
    let found = find_matching_words(words, &word);
    if found.is_empty()
        || found
            .iter()
            .any(|offer| offer.text.eq_ignore_ascii_case(&word))
    {
        return;
    }
    let (chosen, moved) = before.map_or((0, false), |old| {
        (old.chosen.min(found.len() - 1), old.moved)
    });
    state.offer = Some(Offer {
        typed,
        words: found,
        chosen,
        moved,
        at,
    });
}

fn lay_out_statement(
    ui: &Ui,
    t: &ThemeTokens,
    text: &str,
    fault: Option<Range<usize>>,
) -> Arc<egui::Galley> {
    let job = highlight_statement(&editable(text), t, fault);
    ui.fonts_mut(|fonts| fonts.layout_job(job))
}

/// Words that begin with the typed text, then words that contain it.
fn find_matching_words(words: &[Completion], typed: &str) -> Vec<Completion> {
    let typed = typed.to_lowercase();
    let begins = |word: &&Completion| word.plain.to_lowercase().starts_with(&typed);
    let holds = |word: &&Completion| {
        typed.len() > 1 && !begins(word) && word.plain.to_lowercase().contains(&typed)
    };
    words
        .iter()
        .filter(begins)
        .chain(words.iter().filter(holds))
        .take(OFFERED)
        .cloned()
        .collect()
}

fn offer_keys(ui: &Ui, state: &mut EditorState) {
    let Some(offer) = &mut state.offer else {
        return;
    };
    let moved = offer.moved;
    let (down, up, tab, enter, escape) = ui.input_mut(|input| {
        let mut took = |key| input.consume_key(Modifiers::NONE, key);
        // Enter inserts a new line until the arrow keys select a suggestion.
        (
            took(Key::ArrowDown),
            took(Key::ArrowUp),
            took(Key::Tab),
            moved && took(Key::Enter),
            took(Key::Escape),
        )
    });
    let count = offer.words.len();
    if down || up {
        offer.chosen = (offer.chosen + if down { 1 } else { count - 1 }) % count;
        offer.moved = true;
    }
    if tab || enter {
        let (typed, word) = (offer.typed.clone(), offer.words[offer.chosen].clone());
        state.complete(typed, &word);
    } else if escape {
        state.close_offer();
    }
}

fn offer_ui(ui: &Ui, t: &ThemeTokens, state: &mut EditorState) {
    let Some(offer) = &state.offer else { return };
    let mut picked = None;
    let area = Area::new(Id::unique("sql-offer"))
        .order(Order::Foreground)
        .fixed_pos(offer.at.left_bottom() + vec2(-6.0, 2.0));
    area.pivot(Align2::LEFT_TOP).show(ui.ctx(), |ui| {
        let frame = Frame::NONE
            .fill(t.bg2)
            .stroke(Stroke::new(1.0, t.line2))
            .corner_radius(6)
            .inner_margin(4);
        frame.show(ui, |ui| {
            ui.spacing_mut().item_spacing.y = 0.0;
            for (index, word) in offer.words.iter().enumerate() {
                let (row, response) = ui.allocate_exact_size(vec2(300.0, 22.0), Sense::click());
                response.widget_info(|| {
                    egui::WidgetInfo::selected(
                        egui::Role::ListBoxOption,
                        true,
                        index == offer.chosen,
                        tr!("Complete {word}", word = &word.text),
                    )
                });
                if index == offer.chosen || response.hovered() {
                    ui.painter().rect_filled(
                        row,
                        3,
                        if index == offer.chosen { t.sel } else { t.bg4 },
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
                    picked = Some(index);
                }
            }
        });
    });
    if let Some(index) = picked {
        let (typed, word) = (offer.typed.clone(), offer.words[index].clone());
        state.complete(typed, &word);
    }
}

/// The highlighted statement; `fault` is underlined.
fn highlight_statement(text: &str, t: &ThemeTokens, fault: Option<Range<usize>>) -> LayoutJob {
    let mut job = LayoutJob {
        text: text.to_owned(),
        ..LayoutJob::default()
    };
    job.wrap.max_width = f32::INFINITY;
    let mut at = 0;
    for (range, kind) in sql::pieces(text) {
        append_section(&mut job, t, fault.as_ref(), at..range.start, t.tx);
        let color = match kind {
            SqlTokenKind::Keyword => t.keyword,
            SqlTokenKind::Quoted | SqlTokenKind::Text => t.ok,
            SqlTokenKind::Number => t.info,
            SqlTokenKind::Comment => t.tx3,
            SqlTokenKind::Function => t.acc,
            SqlTokenKind::Name | SqlTokenKind::Mark => t.tx,
        };
        at = range.end;
        append_section(&mut job, t, fault.as_ref(), range, color);
    }
    append_section(&mut job, t, fault.as_ref(), at..text.len(), t.tx);
    job
}

fn append_section(
    job: &mut LayoutJob,
    t: &ThemeTokens,
    fault: Option<&Range<usize>>,
    range: Range<usize>,
    color: Color32,
) {
    if range.is_empty() {
        return;
    }
    let mut format = TextFormat {
        font_id: font::mono(12.5),
        color,
        line_height: Some(LINE),
        ..TextFormat::default()
    };
    if fault.is_some_and(|fault| fault.start < range.end && range.start < fault.end) {
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
            text: sql::name(text),
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
            find_matching_words(&words, typed)
                .into_iter()
                .map(|word| word.plain)
                .collect::<Vec<_>>()
        };
        assert_eq!(texts("Cov"), ["cover", "water_cover", "cloud_cover"]);
        let mut state = EditorState {
            sql: "SELECT \"stac: FROM data".into(),
            ..EditorState::default()
        };
        state.complete(7..13, &words[3]);
        assert_eq!(state.sql, "SELECT \"stac:crs\" FROM data");
        assert_eq!(state.cursor, Some(17));
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
