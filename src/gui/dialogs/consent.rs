//! The consent dialog for what a file requests. Lists every item, escaped so that it can't imitate
//! other text.

use egui::{Frame, Label, Margin, ScrollArea, Ui};

use super::frame::{Next, foot_ui, head_ui};
use super::view::DialogView;
use crate::gui::icons;
use crate::gui::panel_context::{PanelContext, Request};
use crate::gui::theme::{self, font};
use crate::gui::widgets::Button;
use crate::model::{Address, SamplePath, StudioLink};
use crate::text::PrintableLine;

/// The question.
pub struct Consent {
    title: String,
    /// Explanation.
    what: String,
    /// Items, one a line.
    lines: Vec<String>,
    /// Text of the accepting button.
    button: String,
    /// Text of the refusing button.
    stay: String,
    then: Option<Request>,
}

impl Consent {
    /// Asks before what a link names is opened.
    pub fn open_link(link: StudioLink) -> Self {
        let sample = link.sample.iter().map(SamplePath::to_archive);
        let dataset = link.dataset.display().to_string();
        // A signature stays out of sight.
        let dataset = Address::parse(&dataset)
            .map_or(dataset, |address| address.without_secret().0.to_string());
        Self {
            title: tr!("Open what a link names?").into(),
            what: tr!(
                "A link from another program asks to open this dataset. Nothing is read before you \
                    agree."
            )
            .into(),
            lines: std::iter::once(dataset)
                .chain(sample)
                .map(|line| line.printable_line().into_owned())
                .collect(),
            button: tr!("Open it").into(),
            stay: tr!("Do not open it").into(),
            then: Some(Request::OpenLink(link)),
        }
    }

    /// Asks before programs start.
    pub fn start_programs(lines: Vec<String>, then: Request) -> Self {
        Self {
            title: tr!("Start a program of this computer?").into(),
            what: tr!("What is listed here runs with your rights. Start only what you know.")
                .into(),
            lines,
            button: tr!("Start it").into(),
            stay: tr!("Do not start it").into(),
            then: Some(then),
        }
    }

    /// Asks before a project reads from other servers.
    pub fn read_servers(lines: Vec<String>, then: Request) -> Self {
        Self {
            title: tr!("Read from other servers?").into(),
            what: tr!(
                "Files of this project are on these servers. The servers would see your \
                requests; no token is sent to them."
            )
            .into(),
            lines,
            button: tr!("Open and read").into(),
            stay: tr!("Do not open").into(),
            then: Some(then),
        }
    }

    /// Asks before folders are watched.
    pub fn watch_folders(lines: Vec<String>, then: Request) -> Self {
        Self {
            title: tr!("Watch these folders?").into(),
            what: tr!(
                "The project is set to watch them: files that appear there are added to its tray \
                 automatically."
            )
            .into(),
            lines,
            button: tr!("Watch").into(),
            stay: tr!("Do not watch").into(),
            then: Some(then),
        }
    }
}

impl DialogView for Consent {
    /// The refusing button has the initial focus.
    fn ui(&mut self, ui: &mut Ui, _: &mut PanelContext<'_>) -> Next {
        let t = theme::tokens(ui);
        ui.set_width(520.0);
        ui.spacing_mut().item_spacing.y = 0.0;
        let close = head_ui(ui, icons::WARNING, &self.title, "");
        Frame::NONE.inner_margin(Margin::same(16)).show(ui, |ui| {
            ui.spacing_mut().item_spacing.y = 6.0;
            ui.label(theme::style_small_text(&self.what, t.tx2));
            ScrollArea::vertical()
                .id_salt("consent")
                .max_height(260.0)
                .auto_shrink([false, true])
                .show(ui, |ui| {
                    for line in &self.lines {
                        ui.add(
                            Label::new(theme::rich_text(line).font(font::mono(12.0)).color(t.tx))
                                .wrap(),
                        );
                    }
                });
        });
        let (stay, act) = foot_ui(ui, |ui| {
            let act = ui
                .add(Button::danger(self.button.as_str()).large())
                .clicked();
            (
                ui.add(Button::ghost(self.stay.as_str()).large().first())
                    .clicked(),
                act,
            )
        });
        match (act, stay || close) {
            (true, _) => self.then.take().map_or(Next::Close, Next::Do),
            (_, true) => Next::Close,
            _ => Next::Stay,
        }
    }
}
