//! The documents that are built into the program. Imports nothing of the window, so that requests
//! can name a page.

/// A document.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Page {
    /// Commands that scripts hold.
    Commands,
    CommandLine,
    /// Rules of the checks.
    Rules,
    /// Formats for other programs.
    Formats,
    Installing,
}

impl Page {
    /// All, in the order of the tabs.
    pub const ALL: [Page; 5] = [
        Page::CommandLine,
        Page::Commands,
        Page::Rules,
        Page::Formats,
        Page::Installing,
    ];

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
            Page::Commands => include_str!("../../docs/COMMANDS.md"),
            Page::CommandLine => include_str!("../../docs/COMMAND-LINE.md"),
            Page::Rules => include_str!("../../docs/RULES.md"),
            Page::Formats => include_str!("../../docs/FORMATS.md"),
            Page::Installing => include_str!("../../docs/INSTALLING.md"),
        }
    }

    /// The line of the heading with this name; 0 without one.
    pub fn line_of(self, heading: &str) -> usize {
        self.headings()
            .find(|(_, text)| text.trim_matches('`') == heading)
            .map_or(0, |(line, _)| line)
    }

    /// Headings with their line numbers.
    pub fn headings(self) -> impl Iterator<Item = (usize, &'static str)> {
        self.text()
            .lines()
            .enumerate()
            .filter_map(|(number, line)| Some((number, read_heading_text(line)?)))
    }
}

fn read_heading_text(line: &str) -> Option<&str> {
    Some(line.strip_prefix('#')?.trim_start_matches('#').trim())
}
