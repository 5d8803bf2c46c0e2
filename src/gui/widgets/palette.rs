//! The command palette: search actions by text, Enter runs one.

use egui::{Align2, Area, Context, Id, Key, Modal, Modifiers, Order, RichText, ScrollArea, Sense, Stroke, TextEdit, Ui, vec2};
use egui::{Role, WidgetInfo, pos2};

use super::paint;
use crate::gui::icons;
use crate::gui::theme::{self, font};

const WIDTH: f32 = 560.0;
const SHOWN: usize = 200;

/// An entry.
#[derive(Clone, Debug)]
pub struct PaletteEntry {
    /// Icon before the words.
    pub icon: &'static str,
    /// The words.
    pub text: String,
    /// Shortcut or count, at the right.
    pub right: String,
    /// Why it is disabled.
    pub blocked: Option<String>,
}

/// The palette's state.
#[derive(Clone, Debug, Default)]
pub struct Palette {
    open: bool,
    query: String,
    cursor: usize,
}

impl Palette {
    /// Opens it, empty.
    pub fn open(&mut self) {
        *self = Self { open: true, ..Self::default() };
    }

    /// True while it shows.
    pub fn is_open(&self) -> bool {
        self.open
    }

    /// Draws it while open. Returns the number of the entry that was chosen.
    pub fn show(&mut self, ctx: &Context, entries: &[PaletteEntry]) -> Option<usize> {
        if !self.open {
            return None;
        }
        let area = Area::new(Id::unique("palette")).order(Order::Foreground).anchor(Align2::CENTER_TOP, [0.0, 64.0]);
        let t = theme::of(ctx.global_style().visuals.dark_mode);
        let frame = egui::Frame::popup(&ctx.global_style()).inner_margin(0);
        let modal = Modal::new(Id::unique("palette")).area(area).frame(frame).backdrop_color(t.bg0.gamma_multiply(0.5));
        let response = modal.show(ctx, |ui| self.content_ui(ui, entries));
        if response.inner.is_some() || response.should_close() {
            self.open = false;
        }
        response.inner
    }

    pub(super) fn content_ui(&mut self, ui: &mut Ui, entries: &[PaletteEntry]) -> Option<usize> {
        let t = theme::tokens(ui);
        let width = WIDTH.min(ui.available_width());
        ui.set_width(width);
        ui.spacing_mut().item_spacing = vec2(0.0, 0.0);
        let found = ranked(&self.query, entries);
        let (mut down, mut up, mut enter) = (0, 0, false);
        ui.input_mut(|input| {
            down = input.count_and_consume_key(Modifiers::NONE, Key::ArrowDown);
            up = input.count_and_consume_key(Modifiers::NONE, Key::ArrowUp);
            enter = input.consume_key(Modifiers::NONE, Key::Enter);
        });
        let before = self.query.clone();
        let (rect, _) = ui.allocate_exact_size(vec2(width, 34.0), Sense::hover());
        paint::icon(ui.painter(), pos2(rect.left() + 18.0, rect.center().y), icons::MAGNIFYING_GLASS, 15.0, t.tx2);
        ui.painter().hline(rect.x_range(), rect.bottom() - 0.5, Stroke::new(1.0, t.line2));
        let edit = TextEdit::singleline(&mut self.query)
            .id(Id::unique("palette-query"))
            .frame(egui::Frame::NONE)
            .margin(egui::Margin::ZERO)
            .align(egui::Align2::LEFT_CENTER)
            .hint_text(RichText::new(tr!("Search commands")).color(t.tx3));
        let edit = ui.put(rect.shrink2(vec2(34.0, 4.0)), edit);
        ui.ctx().accesskit_node_builder(edit.id, |node| node.set_label(tr!("Search commands")));
        edit.request_focus();
        if self.query != before {
            self.cursor = 0;
        }
        let moved = down + up > 0;
        self.cursor = (self.cursor + down).saturating_sub(up).min(found.len().saturating_sub(1));
        let mut chosen = found.get(self.cursor).copied().filter(|_| enter);
        ScrollArea::vertical().max_height(10.0 * 28.0).min_scrolled_height(10.0 * 28.0).show(ui, |ui| {
            ui.set_width(width);
            for (place, &index) in found.iter().enumerate() {
                let response = entry_ui(ui, &entries[index], place == self.cursor);
                if moved && place == self.cursor {
                    response.scroll_to_me(None);
                }
                if response.clicked() {
                    chosen = Some(index);
                }
            }
            if found.is_empty() {
                let (rect, _) = ui.allocate_exact_size(vec2(width, 40.0), Sense::hover());
                paint::text_center(ui.painter(), rect, tr!("No command has these words"), font::regular(12.0), t.tx3);
            }
        });
        chosen.filter(|&index| entries[index].blocked.is_none())
    }
}

fn entry_ui(ui: &mut Ui, entry: &PaletteEntry, current: bool) -> egui::Response {
    let t = theme::tokens(ui);
    let (rect, response) = ui.allocate_exact_size(vec2(ui.available_width(), 28.0), Sense::CLICK);
    let enabled = entry.blocked.is_none();
    response.widget_info(|| WidgetInfo::selected(Role::ListBoxOption, enabled, current, &entry.text));
    paint::row_background(ui.painter(), t, rect, current, response.hovered());
    let color = if enabled { t.tx } else { t.txd };
    paint::icon(ui.painter(), pos2(rect.left() + 18.0, rect.center().y), entry.icon, 14.0, if enabled { t.tx2 } else { t.txd });
    let mut inner = egui::Rect::from_min_max(pos2(rect.left() + 34.0, rect.top()), pos2(rect.right() - 12.0, rect.bottom()));
    let right = entry.blocked.as_deref().unwrap_or(&entry.right);
    let right_font = if enabled { font::mono(11.0) } else { font::regular(11.0) };
    if !right.is_empty() {
        inner.max.x = paint::text_right(ui.painter(), inner, right, right_font, t.tx3) - 8.0;
    }
    paint::text_left(ui.painter(), inner, &entry.text, font::regular(12.0), color);
    response
}

/// Indices of the entries that contain every word of the query, best first; all for an empty query.
fn ranked(query: &str, entries: &[PaletteEntry]) -> Vec<usize> {
    let query = query.to_lowercase();
    let words: Vec<&str> = query.split_whitespace().collect();
    let mut found: Vec<(usize, usize)> = entries
        .iter()
        .enumerate()
        .filter_map(|(index, entry)| {
            let text = entry.text.to_lowercase();
            let mut score = usize::from(entry.blocked.is_some()) * 1000;
            for word in &words {
                let at = text.find(word)?;
                let starts_word = at == 0 || text[..at].ends_with(' ');
                score += if starts_word { at } else { at + 50 };
            }
            Some((score, index))
        })
        .collect();
    if !words.is_empty() {
        found.sort();
    }
    found.into_iter().map(|(_, index)| index).take(SHOWN).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use egui_kittest::Harness;
    use egui_kittest::kittest::Queryable;

    fn entries() -> Vec<PaletteEntry> {
        ["Write dataset…", "Open file or folder…", "Overwrite nothing", "Validate"]
            .into_iter()
            .map(|text| PaletteEntry { icon: icons::CHECK, text: text.into(), right: String::new(), blocked: None })
            .collect()
    }

    #[test]
    fn typing_narrows_and_enter_chooses() {
        let mut palette = Palette::default();
        palette.open();
        let mut harness = Harness::builder().with_context_setup(theme::install).build_ui_state(
            |ui, (palette, chosen): &mut (Palette, Option<usize>)| {
                if let Some(index) = palette.show(ui.ctx(), &entries()) {
                    *chosen = Some(index);
                }
            },
            (palette, None),
        );
        harness.run();
        assert!(harness.query_by_label("Validate").is_some());
        harness.get_by_label("Search commands").type_text("writ");
        harness.run();
        assert!(harness.query_by_label("Validate").is_none());
        harness.key_press(Key::Enter);
        harness.run();
        assert_eq!(harness.state().1, Some(0), "a word's start wins over its middle");
        assert!(!harness.state().0.is_open());
    }

    #[test]
    fn blocked_entries_come_last_and_cannot_be_chosen() {
        let mut all = entries();
        all[0].blocked = Some("Nothing is open".into());
        assert_eq!(ranked("write", &all), [2, 0]);
    }
}
