//! A typed or pasted path, and the list of recent datasets.

use egui::{Frame, Id, Margin, RichText, Ui};

use super::{Next, enter_pressed, foot_ui, head_ui};
use crate::gui::cx::{Ask, Cx};
use crate::gui::icons;
use crate::gui::intake;
use crate::gui::picker::Wish;
use crate::gui::theme::{self, text_style};
use crate::gui::widgets::{self, Button, Note, TextField};

/// The dialog.
pub struct OpenPath {
    wish: Wish,
    text: String,
    /// Shown because the desktop's own dialog does not come.
    stand_in: bool,
}

impl OpenPath {
    /// Asks for what `wish` is about.
    pub fn new(wish: Wish, stand_in: bool) -> Self {
        Self { wish, text: String::new(), stand_in }
    }

    /// True when nothing was typed and the desktop's dialog was what was wanted.
    pub fn is_stand_in(&self) -> bool {
        self.stand_in && self.text.is_empty()
    }

    /// Draws the dialog.
    pub fn ui(&mut self, ui: &mut Ui) -> Next {
        let t = theme::tokens(ui);
        ui.set_width(560.0);
        ui.spacing_mut().item_spacing.y = 0.0;
        let (title, verb) = match self.wish {
            Wish::Open | Wish::OpenFolder => ("Open path", "Open"),
            Wish::AddFiles | Wish::AddFolder => ("Add path", "Add"),
            Wish::SaveSample => ("Save sample as", "Save"),
            Wish::SaveRows => ("Save rows as", "Save"),
            Wish::Target => ("Write into", "Use folder"),
        };
        let close = head_ui(ui, icons::LINK, title, "");
        let entered = enter_pressed(ui);
        let paths = intake::paths_of(&self.text, false);
        let missing = paths.iter().find(|path| !matches!(self.wish, Wish::SaveSample | Wish::SaveRows) && !path.exists());
        let note = match missing {
            Some(path) if !self.text.is_empty() => Note::Warning(format!("There is nothing at {}.", intake::shown(path))),
            _ if !paths.is_empty() => Note::Ok,
            _ => Note::None,
        };
        Frame::NONE.inner_margin(Margin::same(16)).show(ui, |ui| {
            ui.spacing_mut().item_spacing.y = 8.0;
            if self.stand_in {
                let why = "The desktop's file dialog has not come up. Type the path here instead, or wait for it.";
                ui.label(RichText::new(why).text_style(text_style("small12")).color(t.tx2));
            }
            let field = TextField::new("Path", &mut self.text).id(Id::unique("typed-path")).mono();
            let response = field.hint("/data/dataset.tacozip, a folder, or file:// addresses, one a line").note(note).show(ui);
            if !response.has_focus() && !entered {
                response.request_focus();
            }
        });
        let blocked = if paths.is_empty() { Some("Type a path") } else { missing.map(|_| "There is nothing at this path") };
        let (act, cancel) = foot_ui(ui, |ui| {
            let act = ui.add(Button::primary(verb).large().blocked(blocked)).clicked();
            (act, ui.add(Button::ghost("Cancel").large()).clicked())
        });
        if (act || entered) && blocked.is_none() {
            return Next::Paths(self.wish, paths);
        }
        if close || cancel { Next::Close } else { Next::Stay }
    }
}

/// The recent datasets as a list.
pub fn recent_ui(ui: &mut Ui, cx: &mut Cx<'_>) -> Next {
    let t = theme::tokens(ui);
    ui.set_width(560.0);
    ui.spacing_mut().item_spacing.y = 0.0;
    if head_ui(ui, icons::CLOCK_COUNTER_CLOCKWISE, "Open recent", "") {
        return Next::Close;
    }
    let mut next = Next::Stay;
    Frame::NONE.inner_margin(Margin::same(8)).show(ui, |ui| {
        if cx.remembered.recent.is_empty() {
            ui.label(RichText::new("Datasets that you open are listed here.").text_style(text_style("small12")).color(t.tx2));
        }
        ui.spacing_mut().menu_width = ui.available_width();
        for recent in &cx.remembered.recent {
            let path = intake::shown(&recent.path);
            let text = format!("{}   {path}", recent.title);
            if widgets::menu_entry(ui, icons::PACKAGE, &text, &recent.badge, None).clicked() {
                next = Next::Do(Ask::Take(vec![recent.path.clone()]));
            }
        }
    });
    next
}
