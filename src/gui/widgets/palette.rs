//! The command palette: search by text and synonyms in groups, Enter runs the chosen entry.

use egui::{
    Align2, Area, Context, Id, Key, Modal, Modifiers, Order, ScrollArea, Sense, Stroke, TextEdit,
    Ui, vec2,
};
use egui::{Rect, Role, WidgetInfo, pos2};

use super::{badge, badge_width, key_cap, paint};
use crate::gui::icons;
use crate::gui::theme::{self, font};

const WIDTH: f32 = 618.0;
const SHOWN: usize = 200;
/// Height of an entry with and without a second line, in points.
const TALL: f32 = 42.0;
const LOW: f32 = 28.0;

#[derive(Clone, Debug, Default)]
pub struct PaletteEntry {
    /// Heading above the entries of its group; entries of a group are consecutive.
    pub group: &'static str,
    /// Icon before the words.
    pub icon: &'static str,
    /// The words.
    pub text: String,
    /// Description in a second line; empty for none.
    pub about: String,
    /// Other words that people search for, separated by commas.
    pub synonyms: String,
    /// Where else it is, a shortcut, or a count; at the right.
    pub right: String,
    /// Why it is disabled.
    pub blocked: Option<String>,
    /// Listed only after a word was typed.
    pub on_demand: bool,
}

impl PaletteEntry {
    /// The first synonym of each word of the query that neither the text nor the description has.
    fn found_as(&self, words: &[&str]) -> Option<String> {
        let (text, about, synonyms) = (
            self.text.to_lowercase(),
            self.about.to_lowercase(),
            self.synonyms.to_lowercase(),
        );
        let other = words
            .iter()
            .filter(|word| !text.contains(**word) && !about.contains(**word));
        let mut found: Vec<&str> = other
            .filter_map(|word| {
                synonyms
                    .split(',')
                    .map(str::trim)
                    .find(|synonym| synonym.contains(word))
            })
            .collect();
        let mut seen = std::collections::HashSet::new();
        found.retain(|synonym| seen.insert(*synonym));
        (!found.is_empty()).then(|| found.join(", "))
    }
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
        *self = Self {
            open: true,
            ..Self::default()
        };
    }

    /// True while it shows.
    pub fn is_open(&self) -> bool {
        self.open
    }

    /// The typed text. Its first character may choose a kind: `>` commands, `#` samples, `:`
    /// columns, `?` documentation.
    pub fn query(&self) -> &str {
        &self.query
    }

    /// Draws it while open. Returns the number of the entry that was chosen.
    pub fn show(&mut self, ctx: &Context, entries: &[PaletteEntry]) -> Option<usize> {
        if !self.open {
            return None;
        }
        let area = Area::new(Id::unique("palette"))
            .order(Order::Foreground)
            .anchor(Align2::CENTER_TOP, [0.0, 44.0]);
        let t = theme::tokens_for_mode(ctx.global_style().visuals.dark_mode);
        let frame = egui::Frame::popup(&ctx.global_style()).inner_margin(0);
        let modal = Modal::new(Id::unique("palette"))
            .area(area)
            .frame(frame)
            .backdrop_color(t.bg0.gamma_multiply(0.5));
        let response = modal.show(ctx, |ui| self.content_ui(ui, entries));
        if response.inner.is_some() || response.should_close() {
            self.open = false;
        }
        response.inner
    }

    pub(super) fn content_ui(&mut self, ui: &mut Ui, entries: &[PaletteEntry]) -> Option<usize> {
        let t = theme::tokens(ui);
        let width = WIDTH.min(ui.ctx().content_rect().width() - 32.0);
        ui.set_width(width);
        ui.spacing_mut().item_spacing = vec2(0.0, 0.0);
        let found = rank_entries(&self.query, entries);
        let (mut down, mut up, mut enter) = (0, 0, false);
        ui.input_mut(|input| {
            down = input.count_and_consume_key(Modifiers::NONE, Key::ArrowDown);
            up = input.count_and_consume_key(Modifiers::NONE, Key::ArrowUp);
            enter = input.consume_key(Modifiers::NONE, Key::Enter);
        });
        let before = self.query.clone();
        let (rect, _) = ui.allocate_exact_size(vec2(width, 40.0), Sense::hover());
        paint::draw_icon(
            ui.painter(),
            pos2(rect.left() + 18.0, rect.center().y),
            icons::MAGNIFYING_GLASS,
            15.0,
            t.tx2,
        );
        ui.painter().hline(
            rect.x_range(),
            rect.bottom() - 0.5,
            Stroke::new(1.0, t.line2),
        );
        let count = tr!(
            "{n} found",
            n = paint::format_grouped_number(found.len() as u64)
        );
        let right = paint::text_right(
            ui.painter(),
            rect.shrink2(vec2(12.0, 0.0)),
            &count,
            font::regular(11.0),
            t.tx3,
        );
        let edit = TextEdit::singleline(&mut self.query)
            .id(Id::unique("palette-query"))
            .frame(egui::Frame::NONE)
            .margin(egui::Margin::ZERO)
            .align(egui::Align2::LEFT_CENTER)
            .hint_text(theme::rich_text(tr!("Search commands")).color(t.tx3));
        let edit = ui.put(
            Rect::from_min_max(
                rect.min + vec2(34.0, 6.0),
                pos2(right - 8.0, rect.bottom() - 6.0),
            ),
            edit,
        );
        ui.ctx()
            .accesskit_node_builder(edit.id, |node| node.set_label(tr!("Search commands")));
        edit.request_focus();
        if self.query != before {
            self.cursor = 0;
        }
        let moved = down + up > 0;
        self.cursor = (self.cursor + down)
            .saturating_sub(up)
            .min(found.len().saturating_sub(1));
        let mut chosen = found.get(self.cursor).copied().filter(|_| enter);
        let words = self.query.trim_start_matches(KINDS).to_lowercase();
        let words: Vec<&str> = words.split_whitespace().collect();
        let height = (ui.ctx().content_rect().height() - 160.0).clamp(160.0, 430.0);
        ScrollArea::vertical()
            .max_height(height)
            .min_scrolled_height(height)
            .show(ui, |ui| {
                ui.set_width(width);
                let mut group = "";
                for (place, &index) in found.iter().enumerate() {
                    let entry = &entries[index];
                    if entry.group != group {
                        group = entry.group;
                        let (rect, _) = ui.allocate_exact_size(vec2(width, 24.0), Sense::hover());
                        let inner = rect.shrink2(vec2(12.0, 0.0)).translate(vec2(0.0, 3.0));
                        paint::text_left(ui.painter(), inner, group, font::semibold(11.0), t.tx3);
                    }
                    let response = entry_ui(ui, entry, place == self.cursor, &words);
                    if moved && place == self.cursor {
                        response.scroll_to_me(None);
                    }
                    if response.clicked() {
                        chosen = Some(index);
                    }
                }
                if found.is_empty() {
                    let (rect, _) = ui.allocate_exact_size(vec2(width, 40.0), Sense::hover());
                    paint::text_center(
                        ui.painter(),
                        rect,
                        tr!("No command matches"),
                        font::regular(12.0),
                        t.tx3,
                    );
                }
            });
        foot_ui(ui, width);
        chosen.filter(|&index| entries[index].blocked.is_none())
    }
}

/// First characters of a query that choose a kind of entries.
const KINDS: [char; 4] = ['>', '#', ':', '?'];

/// Draws the line that says what else can be typed.
fn foot_ui(ui: &mut Ui, width: f32) {
    let t = theme::tokens(ui);
    let (rect, _) = ui.allocate_exact_size(vec2(width, 28.0), Sense::hover());
    ui.painter()
        .hline(rect.x_range(), rect.top() + 0.5, Stroke::new(1.0, t.line));
    let kinds = tr!("> commands    # samples    : columns    ? documentation");
    paint::text_left(
        ui.painter(),
        rect.shrink2(vec2(12.0, 0.0)),
        kinds,
        font::regular(11.0),
        t.tx3,
    );
    let layout = egui::Layout::right_to_left(egui::Align::Center);
    ui.scope_builder(
        egui::UiBuilder::new()
            .max_rect(rect.shrink2(vec2(12.0, 0.0)))
            .layout(layout),
        |ui| {
            ui.spacing_mut().item_spacing.x = 6.0;
            key_cap(ui, "Esc");
            ui.label(
                theme::rich_text(tr!("run" in "palette"))
                    .font(font::regular(11.0))
                    .color(t.tx3),
            );
            key_cap(ui, "Enter");
        },
    );
}

fn entry_ui(ui: &mut Ui, entry: &PaletteEntry, current: bool, words: &[&str]) -> egui::Response {
    let t = theme::tokens(ui);
    let second = entry.blocked.as_deref().unwrap_or(&entry.about);
    let height = if second.is_empty() { LOW } else { TALL };
    let (rect, response) = ui.allocate_exact_size(vec2(ui.available_width(), height), Sense::CLICK);
    let enabled = entry.blocked.is_none();
    response
        .widget_info(|| WidgetInfo::selected(Role::ListBoxOption, enabled, current, &entry.text));
    if !ui.is_rect_visible(rect) {
        return response;
    }
    paint::row_background(ui.painter(), t, rect, current, response.hovered());
    let color = if enabled { t.tx } else { t.txd };
    paint::draw_icon(
        ui.painter(),
        pos2(rect.left() + 20.0, rect.center().y),
        entry.icon,
        15.0,
        if enabled { t.tx2 } else { t.txd },
    );
    let mut inner = Rect::from_min_max(
        pos2(rect.left() + 38.0, rect.top()),
        pos2(rect.right() - 12.0, rect.bottom()),
    );
    if !entry.right.is_empty() {
        inner.max.x = paint::text_right(
            ui.painter(),
            inner,
            &entry.right,
            font::regular(11.0),
            t.tx3,
        ) - 10.0;
    }
    if let Some(found) = entry.found_as(words) {
        let text = tr!("found as {words}", words = found);
        let wide = badge_width(ui, None, &text);
        let place = Rect::from_min_max(pos2(inner.right() - wide, inner.top()), inner.max);
        let layout = egui::Layout::right_to_left(egui::Align::Center);
        ui.scope_builder(
            egui::UiBuilder::new().max_rect(place).layout(layout),
            |ui| badge(ui, super::Tone::Neutral, None, &text),
        );
        inner.max.x = place.left() - 8.0;
    }
    let (first, below) = if second.is_empty() {
        (inner, inner)
    } else {
        inner
            .shrink2(vec2(0.0, 4.0))
            .split_top_bottom_at_fraction(0.55)
    };
    paint::text_left(ui.painter(), first, &entry.text, font::regular(13.0), color);
    if !second.is_empty() {
        paint::text_left(ui.painter(), below, second, font::regular(11.0), t.tx3);
    }
    response
}

/// Indices of the entries whose text, description or synonyms have every word of the query: by
/// group in the order of the entries, within a group best first. All but those on demand for an
/// empty query.
fn rank_entries(query: &str, entries: &[PaletteEntry]) -> Vec<usize> {
    let query = query.trim_start_matches(KINDS).to_lowercase();
    let words: Vec<&str> = query.split_whitespace().collect();
    let mut groups: Vec<&str> = Vec::new();
    let mut found: Vec<(usize, usize, usize)> = Vec::new();
    for (index, entry) in entries.iter().enumerate() {
        if groups.last() != Some(&entry.group) {
            groups.push(entry.group);
        }
        if words.is_empty() && entry.on_demand {
            continue;
        }
        let (text, about, synonyms) = (
            entry.text.to_lowercase(),
            entry.about.to_lowercase(),
            entry.synonyms.to_lowercase(),
        );
        let scores: Option<Vec<usize>> = words
            .iter()
            .map(|word| rank_word(word, &text, &about, &synonyms))
            .collect();
        if let Some(scores) = scores {
            let blocked = usize::from(entry.blocked.is_some()) * 1000;
            found.push((groups.len(), scores.iter().sum::<usize>() + blocked, index));
        }
    }
    if !words.is_empty() {
        found.sort();
    }
    found
        .into_iter()
        .map(|(_, _, index)| index)
        .take(SHOWN)
        .collect()
}

/// The rank of an entry for one word: less is better, `None` for an entry without the word. A word
/// at the start of a word of `text` comes first, then one inside of it, at the start of a synonym,
/// anywhere in the description or the synonyms. All texts are in lower case.
fn rank_word(word: &str, text: &str, about: &str, synonyms: &str) -> Option<usize> {
    let starts =
        |at: usize| at == 0 || text[..at].ends_with(|letter: char| !letter.is_alphanumeric());
    text.find(word)
        .map(|at| if starts(at) { at } else { at + 50 })
        .or_else(|| {
            let synonym = synonyms
                .split(',')
                .map(str::trim)
                .position(|synonym| synonym.starts_with(word))
                .map(|at| 200 + at);
            synonym.or_else(|| (about.contains(word) || synonyms.contains(word)).then_some(400))
        })
}

#[cfg(test)]
mod tests {
    use super::*;
    use egui_kittest::Harness;
    use egui_kittest::kittest::Queryable;

    fn entries() -> Vec<PaletteEntry> {
        [
            "Write dataset…",
            "Open file or folder…",
            "Overwrite nothing",
            "Validate",
        ]
        .into_iter()
        .map(|text| PaletteEntry {
            icon: icons::CHECK,
            text: text.into(),
            ..PaletteEntry::default()
        })
        .collect()
    }

    #[test]
    fn typing_narrows_and_enter_chooses() {
        let mut palette = Palette::default();
        palette.open();
        let mut harness = Harness::builder()
            .with_context_setup(theme::install)
            .build_ui_state(
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
        assert_eq!(
            harness.state().1,
            Some(0),
            "a word's start wins over its middle"
        );
        assert!(!harness.state().0.is_open());
    }

    #[test]
    fn blocked_entries_come_last_and_cannot_be_chosen() {
        let mut all = entries();
        all[0].blocked = Some("Nothing is open".into());
        assert_eq!(rank_entries("write", &all), [2, 0]);
    }

    #[test]
    fn synonyms_and_descriptions_are_found_after_the_words_of_the_text() {
        let mut all = entries();
        all[3].synonyms = "verify, checksum".into();
        all[1].about = "Verify nothing".into();
        assert_eq!(
            rank_entries("verify", &all),
            [3, 1],
            "a synonym comes before a description"
        );
        assert_eq!(all[3].found_as(&["verify"]).as_deref(), Some("verify"));
        assert_eq!(all[3].found_as(&["valid"]), None, "the text has it");
        all[3].synonyms = "verify, hugging face".into();
        assert_eq!(
            all[3].found_as(&["hugging", "face"]).as_deref(),
            Some("hugging face"),
            "each synonym once"
        );
        all[3].synonyms = "verify, checksum".into();
        all[2].on_demand = true;
        assert_eq!(rank_entries("", &all), [0, 1, 3]);
        assert_eq!(rank_entries("overwrite", &all), [2]);
    }

    #[test]
    fn groups_stay_together_in_their_order() {
        let mut all = entries();
        all[2].group = "Second";
        all[3].group = "Second";
        assert_eq!(
            rank_entries("n", &all),
            [1, 2],
            "the better match of a later group does not go first"
        );
    }
}
