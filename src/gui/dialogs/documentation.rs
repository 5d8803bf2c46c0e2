//! The documentation that is built into the program: commands, rules, formats, installing, generations.

use egui::{Frame, Margin, RichText, ScrollArea, Ui};

use super::frame::{Next, head_ui};
use crate::gui::icons;
use crate::gui::theme::{self, font};
use crate::gui::widgets::{self, Segment, TextField};

/// Height of a line in points.
const LINE: f32 = 18.0;

/// A document.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Page {
    /// Commands that scripts hold.
    Commands,
    /// The command line.
    CommandLine,
    /// Rules of the checks.
    Rules,
    /// Formats for other programs.
    Formats,
    /// Installing.
    Installing,
}

impl Page {
    /// All, in the order of the tabs.
    pub const ALL: [Page; 5] = [Page::CommandLine, Page::Commands, Page::Rules, Page::Formats, Page::Installing];

    /// Its title.
    pub fn title(self) -> &'static str {
        match self {
            Page::Commands => tr!("Options of the command line"),
            Page::CommandLine => tr!("Command line"),
            Page::Rules => tr!("Rules"),
            Page::Formats => tr!("Formats"),
            Page::Installing => tr!("Installing"),
        }
    }

    /// Its text in Markdown, in English.
    pub fn text(self) -> &'static str {
        match self {
            Page::Commands => include_str!("../../../docs/COMMANDS.md"),
            Page::CommandLine => include_str!("../../../docs/COMMAND-LINE.md"),
            Page::Rules => include_str!("../../../docs/RULES.md"),
            Page::Formats => include_str!("../../../docs/FORMATS.md"),
            Page::Installing => include_str!("../../../docs/INSTALLING.md"),
        }
    }

    /// The line of the heading with this name; 0 without one.
    pub fn line_of(self, heading: &str) -> usize {
        self.headings().find(|(_, text)| text.trim_matches('`') == heading).map_or(0, |(line, _)| line)
    }

    /// Headings with their line numbers.
    pub fn headings(self) -> impl Iterator<Item = (usize, &'static str)> {
        let heading =
            |(number, line): (usize, &'static str)| Some((number, line.strip_prefix('#')?.trim_start_matches('#').trim()));
        self.text().lines().enumerate().filter_map(heading)
    }
}

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
        Self { page, search: String::new(), reveal: Some(line) }
    }

    /// Draws the dialog.
    pub fn ui(&mut self, ui: &mut Ui) -> Next {
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
                let pages: Vec<Segment<'_, Page>> = Page::ALL.iter().map(|page| Segment::new(*page, page.title())).collect();
                widgets::segmented(ui, "documentation", &mut self.page, &pages);
                let field = TextField::new(tr!("Find in this page"), &mut self.search).hide_label().width(200.0);
                field.icon(icons::MAGNIFYING_GLASS).hint(tr!("Find in this page")).show(ui);
            });
            if before != self.page {
                self.reveal = Some(0);
            }
            let wanted = self.search.trim().to_lowercase();
            let lines: Vec<&str> = match wanted.is_empty() {
                true => self.page.text().lines().collect(),
                false => self.page.text().lines().filter(|line| line.to_lowercase().contains(&wanted)).collect(),
            };
            let height = (screen.height() - 170.0).max(160.0);
            let mut area = ScrollArea::both().id_salt(("documentation", self.page as u8)).max_height(height).auto_shrink(false);
            if let Some(line) = self.reveal.take() {
                area = area.vertical_scroll_offset(line as f32 * LINE);
            }
            ui.spacing_mut().item_spacing.y = 0.0;
            area.show_rows(ui, LINE, lines.len(), |ui, rows| {
                for line in &lines[rows] {
                    let text = match line.strip_prefix('#') {
                        Some(heading) => {
                            RichText::new(heading.trim_start_matches('#').trim()).font(font::semibold(14.0)).color(t.tx)
                        }
                        None => RichText::new(*line).font(font::mono(12.0)).color(t.tx2),
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
