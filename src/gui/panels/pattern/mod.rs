//! The panel "Places by example": example files with the root and position that the user gives, the
//! name pattern that follows from them, and where it puts every other file of the tray, before
//! anything is placed. When the names can be read in several ways, the user chooses one here.

mod rows;
pub mod state;

use egui::{
    Align, Frame, Layout, Margin, Rect, Role, Stroke, StrokeKind, Ui, UiBuilder, WidgetInfo, pos2,
    vec2,
};

use crate::draft::{Alternative, Content, PatternToken, TokenRole, find_pattern};
use crate::gui::action::Action;
use crate::gui::counted_texts;
use crate::gui::panel_context::{PanelContext, Request};
use crate::gui::panels::panel::Panel;
use crate::gui::theme::{self, font, text_style};
use crate::gui::widgets::{
    self, Button, EmptyState, FieldNote, RowScroll, Segment, TextField, paint,
};
use crate::gui::{drag, icons};
use crate::jobs::AsyncValue;
use crate::studio::{Command, Document};
use state::{ListedFiles, MIN_EXAMPLES, PatternPanel};

/// Maximum number of examples that one click adds: each has to be filled in by hand.
const EXAMPLES_ADDED_MAX: usize = 4;

impl Panel for PatternPanel {
    fn contents_ui(&mut self, ui: &mut Ui, cx: &mut PanelContext<'_>) {
        let Some(document) = cx.document() else {
            return;
        };
        let Some(draft) = document.draft() else {
            let why = tr!(
                "A dataset that was written has no unplaced files. Edit it as a draft to add some."
            );
            let (title, actions) = (tr!("Patterns are for drafts"), [tr!("Edit as a draft")]);
            let state = EmptyState {
                icon: icons::MAGIC_WAND,
                title,
                why,
                actions: &actions,
            };
            if widgets::draw_empty_state_with_actions(ui, &state).is_some() {
                cx.request(Request::Do(Action::EditCopy));
            }
            return;
        };
        if draft.tray().is_empty() && self.rows.is_empty() {
            let why = tr!(
                "Put files into the tray, give two of them their places, and the others find \
                    theirs by their names."
            );
            let actions = [tr!("Add unplaced files…"), tr!("Add unplaced folder…")];
            let state = EmptyState {
                icon: icons::TRAY,
                title: tr!("No unplaced files"),
                why,
                actions: &actions,
            };
            match widgets::draw_empty_state_with_actions(ui, &state) {
                Some(0) => cx.request(Request::Do(Action::AddUnplaced)),
                Some(_) => cx.request(Request::Do(Action::AddUnplacedFolder)),
                None => {}
            }
            return;
        }
        update_report(self, cx, draft.content());
        toolbar_ui(ui, self, cx);
        let area = ui.available_rect_before_wrap();
        let head = ui
            .scope_builder(UiBuilder::new().max_rect(area), |ui| {
                Frame::NONE
                    .inner_margin(Margin {
                        left: 12,
                        right: 12,
                        top: 8,
                        bottom: 8,
                    })
                    .show(ui, |ui| {
                        ui.spacing_mut().item_spacing = vec2(8.0, 6.0);
                        examples_ui(ui, self);
                        answer_ui(ui, self);
                    });
            })
            .response
            .rect;
        let list = Rect::from_min_max(pos2(area.left(), head.bottom()), area.max);
        if self.chosen_alternative().is_some() && list.height() > 40.0 {
            ui.scope_builder(UiBuilder::new().max_rect(list), |ui| {
                rows::ui(ui, self, document)
            });
        }
    }
}

/// Searches for the pattern when the examples or the draft have changed.
fn update_report(panel: &mut PatternPanel, cx: &PanelContext<'_>, content: &Content) {
    let key = cx.document_key();
    let Some(examples) = panel.examples() else {
        (panel.report, panel.requested) = (None, None);
        panel.search = AsyncValue::default();
        return;
    };
    let wanted = (key, examples);
    if panel.requested.as_ref() != Some(&wanted) {
        panel.requested = Some(wanted.clone());
        let (content, examples) = (content.clone(), wanted.1.clone());
        panel
            .search
            .update(cx.jobs, wanted, tr!("Look for a pattern"), move |ctx| {
                find_pattern(&content, &examples, ctx)
            });
    }
    panel.take_report();
}

fn toolbar_ui(ui: &mut Ui, panel: &mut PatternPanel, cx: &mut PanelContext<'_>) {
    let t = theme::tokens(ui);
    Frame::NONE
        .fill(t.bg1)
        .inner_margin(Margin::symmetric(8, 6))
        .show(ui, |ui| {
            ui.set_height(24.0);
            ui.horizontal_centered(|ui| {
                ui.label(
                    theme::rich_text(tr!("Places by example"))
                        .font(font::semibold(13.0))
                        .color(t.tx),
                );
                if panel.is_searching() {
                    widgets::spinner(ui, 14.0);
                }
                ui.with_layout(Layout::right_to_left(Align::Center), |ui| {
                    let has_choice = panel
                        .report
                        .as_ref()
                        .is_some_and(|report| report.alternatives.len() > 1);
                    let (count, disabled_reason) = match panel.chosen_alternative() {
                        _ if panel.is_searching() => {
                            (0, Some(tr!("The names are still being looked at")))
                        }
                        Some((_, alternative)) if alternative.placed.is_empty() => {
                            (0, Some(tr!("No file fits")))
                        }
                        Some((_, alternative)) => (alternative.placed.len(), None),
                        None if has_choice => (0, Some(tr!("Choose how to read the names"))),
                        None => (0, Some(tr!("Give two files their places first"))),
                    };
                    let chosen = panel.chosen_alternative().map(|(number, _)| number);
                    let text = match count {
                        0 => tr!("Place all").to_owned(),
                        _ => tr!(
                            "Place {files}",
                            files = paint::format_grouped_number(count as u64)
                        ),
                    };
                    let tip = tr!(
                        "Put every matched file into its place, in one step that can be undone"
                    );
                    let button = Button::primary(text)
                        .name(tr!("Place matched files"))
                        .tooltip(tip)
                        .with_disabled_reason(disabled_reason);
                    if ui.add(button).clicked()
                        && let (Some(number), Some(examples)) = (chosen, panel.examples())
                    {
                        cx.run(Command::PlaceByPattern {
                            examples,
                            alternative: has_choice.then_some(number),
                        });
                    }
                    let disabled_reason = cx
                        .session
                        .selection
                        .files
                        .is_empty()
                        .then_some(tr!("Select files among the unplaced ones first"));
                    let button = Button::secondary(tr!("Add example"))
                        .icon(icons::PLUS)
                        .with_disabled_reason(disabled_reason);
                    if ui
                        .add(button.tooltip(tr!("Show where the selected unplaced files belong")))
                        .clicked()
                    {
                        let files = cx.session.selection.files.selected_files();
                        for file in files.into_iter().take(EXAMPLES_ADDED_MAX) {
                            panel.add_blank(file.path);
                        }
                    }
                });
            });
        });
    let rect = ui.min_rect();
    ui.painter().hline(
        rect.x_range(),
        rect.bottom() - 0.5,
        Stroke::new(1.0, t.line),
    );
}

fn examples_ui(ui: &mut Ui, panel: &mut PatternPanel) {
    let t = theme::tokens(ui);
    if panel.rows.len() < MIN_EXAMPLES {
        let text = tr!(
            "Drag two unplaced files to where they belong, or add them here and type their root \
                and position. The others follow."
        );
        ui.label(theme::style_small_text(text, t.tx2));
    }
    let mut removed = None;
    let width = ui.available_width();
    let (field_width, gap) = ((width * 0.24).clamp(90.0, 220.0), 8.0);
    for (index, row) in panel.rows.iter_mut().enumerate() {
        ui.horizontal(|ui| {
            let name_width = width - 2.0 * (field_width + gap) - 24.0 - gap;
            let (rect, response) =
                ui.allocate_exact_size(vec2(name_width.max(60.0), 26.0), egui::Sense::hover());
            let name = row
                .file
                .file_name()
                .unwrap_or_default()
                .to_string_lossy()
                .into_owned();
            response.widget_info(|| WidgetInfo::labeled(Role::Label, true, &name));
            paint::text_left(ui.painter(), rect, &name, font::mono(12.0), t.tx);
            response.on_hover_text(theme::rich_text(row.file.display().to_string()));
            let number = index + 1;
            let label = tr!("Root of example {number}", number);
            let id = ui.scope_id().with(("example root", index));
            TextField::new(tr!("Root"), &mut row.root)
                .id(id)
                .name(&label)
                .hide_label()
                .mono()
                .width(field_width)
                .hint(tr!("root, e.g. roi_0007"))
                .show(ui);
            let label = tr!("Position of example {number}", number);
            let id = ui.scope_id().with(("example position", index));
            TextField::new(tr!("Position"), &mut row.position)
                .id(id)
                .name(&label)
                .hide_label()
                .mono()
                .width(field_width)
                .hint(tr!("position, e.g. s2 / t02"))
                .show(ui);
            if ui
                .add(Button::icon_only(
                    icons::X,
                    tr!("Remove example {number}", number),
                ))
                .clicked()
            {
                removed = Some(index);
            }
        });
    }
    if let Some(index) = removed {
        panel.rows.remove(index);
    }
}

fn answer_ui(ui: &mut Ui, panel: &mut PatternPanel) {
    let Some(report) = panel.report.clone() else {
        return;
    };
    if let Some(trouble) = report
        .trouble
        .as_ref()
        .filter(|_| report.alternatives.is_empty())
    {
        widgets::note_ui(ui, &FieldNote::Warning(trouble.clone()));
        return;
    }
    let t = theme::tokens(ui);
    let ways = report.alternatives.len();
    if ways > 1 {
        let text = tr!(
            "The names can be read in {ways} ways. Which one is meant?",
            ways
        );
        widgets::note_ui(ui, &FieldNote::Warning(text));
        for (number, alternative) in report.alternatives.iter().enumerate() {
            let chosen = panel.chosen == Some(number);
            if widgets::radio(
                ui,
                chosen,
                &format!(
                    "{}: {}",
                    alternative.label,
                    describe_placed_files(alternative)
                ),
            )
            .clicked()
            {
                panel.chosen = Some(number);
                panel.scroll = RowScroll::default();
            }
        }
    }
    let Some((_, alternative)) = panel.chosen_alternative() else {
        return;
    };
    if alternative.placed.is_empty()
        && alternative.nearly.is_empty()
        && alternative.left_over.is_empty()
    {
        ui.label(
            theme::rich_text(tr!("Nothing left to place"))
                .text_style(text_style("small12"))
                .color(t.tx2),
        );
        return;
    }
    if ways == 1 {
        ui.label(
            theme::rich_text(format!(
                "{}: {}",
                alternative.label,
                describe_placed_files(alternative)
            ))
            .text_style(text_style("small12"))
            .color(t.tx2),
        );
    }
    tokens_ui(ui, &alternative.tokens);
    let (matched, nearly, left) = (
        alternative.placed.len() as u64,
        alternative.nearly.len() as u64,
        alternative.left_over.len() as u64,
    );
    let segments = [
        Segment::new(ListedFiles::Matched, tr!("Matched")).count(matched),
        Segment::new(ListedFiles::NearlyMatched, tr!("Nearly")).count(nearly),
        Segment::new(ListedFiles::LeftOver, tr!("Left over")).count(left),
    ];
    if widgets::draw_segments(ui, "pattern-listed", &mut panel.listed, &segments).changed() {
        panel.scroll = RowScroll::default();
    }
}

fn describe_placed_files(alternative: &Alternative) -> String {
    let files = counted_texts::format_files(alternative.placed.len() as u64);
    let roots = counted_texts::format_roots(alternative.roots as u64);
    match alternative.new_roots {
        0 => tr!("{files} into {roots}", files, roots),
        new => {
            let n = paint::format_grouped_number(new as u64);
            tr_n!(
                new,
                "{files} into {roots}, {n} new",
                "{files} into {roots}, {n} new",
                files,
                roots,
                n
            )
        }
    }
}

/// Draws the first example's name, with the meaning of each part.
fn tokens_ui(ui: &mut Ui, tokens: &[PatternToken]) {
    let t = theme::tokens(ui);
    ui.horizontal_wrapped(|ui| {
        ui.spacing_mut().item_spacing = vec2(1.0, 4.0);
        for token in tokens {
            if !token.before.is_empty() {
                ui.label(
                    theme::rich_text(&token.before)
                        .font(font::mono(12.0))
                        .color(t.tx3),
                );
            }
            let (word, fill, line, color) = match token.role {
                TokenRole::Root => (tr!("root"), t.accbg, t.accline, t.acc),
                TokenRole::Position => (tr!("position"), t.infobg, t.infoline, t.info),
                TokenRole::Free => (tr!("free" in "part of a name"), t.bg3, t.line2, t.tx2),
                TokenRole::Fixed => {
                    ui.label(
                        theme::rich_text(&token.text)
                            .font(font::mono(12.0))
                            .color(t.tx2),
                    );
                    continue;
                }
            };
            let galley =
                paint::layout_unwrapped_line(ui.painter(), &token.text, font::mono(12.0), color);
            let word_galley =
                paint::layout_unwrapped_line(ui.painter(), word, font::medium(10.0), color);
            let (rect, response) = ui.allocate_exact_size(
                vec2(galley.size().x + word_galley.size().x + 18.0, 20.0),
                egui::Sense::hover(),
            );
            response.widget_info(|| {
                let text = describe_token(token, word);
                WidgetInfo::labeled(Role::Label, true, text)
            });
            ui.painter()
                .rect(rect, 4, fill, Stroke::new(1.0, line), StrokeKind::Inside);
            let inner = rect.shrink2(vec2(6.0, 0.0));
            let end = paint::text_left(
                ui.painter(),
                inner.expand(1.0),
                &token.text,
                font::mono(12.0),
                color,
            );
            let rest = inner.with_min_x(end + 5.0).expand(1.0);
            paint::text_left(ui.painter(), rest, word, font::medium(10.0), color);
        }
    });
}

/// What a part of a name decides; `word` names its role.
fn describe_token(token: &PatternToken, word: &str) -> String {
    match token.role {
        TokenRole::Free | TokenRole::Fixed => tr!("{part} decides nothing", part = token.text),
        TokenRole::Root | TokenRole::Position => {
            tr!("{part} decides the {word}", part = token.text, word)
        }
    }
}

/// The file name of a file of the tray; `file` is its index.
pub(super) fn name_of(document: &Document, file: u32) -> String {
    let tray = document.draft().map(|draft| draft.tray());
    tray.and_then(|tray| tray.get(file as usize))
        .map(drag::file_name)
        .unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::draft::TokenKind;

    #[test]
    fn a_free_part_of_a_name_decides_nothing() {
        let token = |role| PatternToken {
            text: "x7".to_owned(),
            before: String::new(),
            kind: TokenKind::Number,
            role,
        };
        assert_eq!(
            describe_token(&token(TokenRole::Free), "free"),
            "x7 decides nothing"
        );
        assert_eq!(
            describe_token(&token(TokenRole::Root), "root"),
            "x7 decides the root"
        );
    }
}
