//! The documentation that is built into the program: commands, rules, formats, installing,
//! generations.

use egui::{Frame, Margin, ScrollArea, Ui};

use super::frame::{Next, head_ui};
use super::view::DialogView;
use crate::gui::documentation_page::Page;
use crate::gui::icons;
use crate::gui::panel_context::PanelContext;
use crate::gui::theme::{self, font};
use crate::gui::widgets::{self, Segment, TextField};

/// Height of a line in points.
const LINE: f32 = 18.0;

/// The dialog.
pub struct Documentation {
    page: Page,
    search: String,
    /// The line to scroll to.
    reveal: Option<usize>,
}

impl Documentation {
    /// Shows a page from a line.
    pub fn new(page: Page, line: usize) -> Self {
        Self {
            page,
            search: String::new(),
            reveal: Some(line),
        }
    }
}

impl DialogView for Documentation {
    fn ui(&mut self, ui: &mut Ui, _: &mut PanelContext<'_>) -> Next {
        let t = theme::tokens(ui);
        let screen = ui.ctx().content_rect();
        ui.set_width((screen.width() - 64.0).min(980.0));
        ui.spacing_mut().item_spacing.y = 0.0;
        if head_ui(ui, icons::BOOK_OPEN, tr!("Documentation"), "") {
            return Next::Close;
        }
        let before = self.page;
        Frame::NONE.inner_margin(Margin::same(12)).show(ui, |ui| {
            ui.spacing_mut().item_spacing.y = 8.0;
            ui.horizontal(|ui| {
                let pages: Vec<Segment<'_, Page>> = Page::ALL
                    .iter()
                    .map(|page| Segment::new(*page, page.title()))
                    .collect();
                widgets::draw_segments(ui, "documentation", &mut self.page, &pages);
                let field = TextField::new(tr!("Find in this page"), &mut self.search)
                    .hide_label()
                    .width(200.0);
                field
                    .icon(icons::MAGNIFYING_GLASS)
                    .hint(tr!("Find in this page"))
                    .show(ui);
            });
            if before != self.page {
                self.reveal = Some(0);
            }
            let wanted = self.search.trim().to_lowercase();
            let lines: Vec<&str> = if wanted.is_empty() {
                self.page.text().lines().collect()
            } else {
                self.page
                    .text()
                    .lines()
                    .filter(|line| line.to_lowercase().contains(&wanted))
                    .collect()
            };
            let height = (screen.height() - 170.0).max(160.0);
            let mut area = ScrollArea::both()
                .id_salt(("documentation", self.page as u8))
                .max_height(height)
                .auto_shrink(false);
            if let Some(line) = self.reveal.take() {
                area = area.vertical_scroll_offset(line as f32 * LINE);
            }
            ui.spacing_mut().item_spacing.y = 0.0;
            area.show_rows(ui, LINE, lines.len(), |ui, rows| {
                for line in &lines[rows] {
                    let text = match line.strip_prefix('#') {
                        Some(heading) => theme::rich_text(heading.trim_start_matches('#').trim())
                            .font(font::semibold(14.0))
                            .color(t.tx),
                        None => theme::rich_text(*line).font(font::mono(12.0)).color(t.tx2),
                    };
                    ui.horizontal(|ui| {
                        ui.set_height(LINE);
                        ui.add(egui::Label::new(text).extend());
                    });
                }
            });
        });
        Next::Stay
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_page_has_headings_and_the_banner_finds_its_own() {
        assert!(Page::Commands.line_of("migrate") > 0);
        for page in Page::ALL {
            assert!(page.headings().count() > 0, "{page:?}");
        }
    }
}
