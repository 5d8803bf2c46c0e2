//! The frame of a dialog: header, footer, initial focus, and the outcome of a frame.

use std::path::PathBuf;

use egui::{Align, Color32, Frame, Id, Key, Layout, Margin, Ui, vec2};

use crate::gui::file_dialog::FileRequest;
use crate::gui::icons;
use crate::gui::panel_context::Request;
use crate::gui::settings::Settings;
use crate::gui::theme::{self, Theme, font};
use crate::gui::widgets::{self, Button};
use crate::ops::MissingParts;
use crate::remote::Access;

/// Outcome of a frame of a dialog.
pub enum Next {
    Stay,
    Close,
    /// Close and handle this request.
    Do(Request),
    /// Stay and handle this request.
    Also(Request),
    /// Stay, apply and store these settings.
    Settings(Theme, Settings),
    /// Close, apply these remote settings, and open these addresses.
    Addresses(Access, Vec<PathBuf>),
    /// Close, and use these paths for a file request.
    Paths(FileRequest, Vec<PathBuf>),
}

impl Next {
    pub fn closes_dialog(&self) -> bool {
        match self {
            Self::Stay | Self::Also(_) | Self::Settings(..) => false,
            Self::Close | Self::Do(_) | Self::Addresses(..) | Self::Paths(..) => true,
        }
    }
}

/// Draws the header of a dialog: icon, title, close button. True when it was closed.
pub fn head_ui(ui: &mut Ui, icon: &str, title: &str, detail: &str) -> bool {
    let t = theme::tokens(ui);
    let mut close = false;
    Frame::NONE
        .fill(t.bg2)
        .corner_radius(egui::CornerRadius {
            nw: 6,
            ne: 6,
            sw: 0,
            se: 0,
        })
        .inner_margin(Margin::symmetric(16, 9))
        .show(ui, |ui| {
            ui.horizontal(|ui| {
                ui.label(theme::rich_text(icon).font(font::icon(18.0)).color(t.tx2));
                ui.label(
                    theme::rich_text(title)
                        .font(font::semibold(15.0))
                        .color(t.tx),
                );
                ui.label(theme::rich_text(detail).font(font::mono(12.0)).color(t.tx2));
                ui.with_layout(egui::Layout::right_to_left(egui::Align::Center), |ui| {
                    // Esc closes too, so the close button is not in the Tab order.
                    close = ui
                        .add(Button::icon_only(icons::X, tr!("Close dialog")).by_pointer())
                        .clicked();
                    widgets::key_cap(ui, "Esc");
                });
            });
        });
    let rect = ui.min_rect();
    ui.painter().hline(
        rect.x_range(),
        rect.bottom() - 0.5,
        egui::Stroke::new(1.0, t.line),
    );
    close
}

/// Draws the list of missing parts and the choice to continue without them.
pub fn lacking_ui(ui: &mut Ui, lacking: &MissingParts, allow: &mut bool) {
    let (opened, count) = (lacking.opened, lacking.count);
    let text = match lacking.listed_names() {
        names if names.is_empty() => tr!(
            "{opened} of {count} parts of this dataset are open.",
            opened,
            count
        ),
        names => tr!("Parts of this dataset are missing: {names}.", names),
    };
    widgets::note_ui(ui, &widgets::FieldNote::Warning(text));
    widgets::checkbox(ui, allow, tr!("Continue without the missing parts"));
}

/// Draws a symbol and a sentence in the room that the buttons of a footer leave.
pub fn footer_text_ui(
    ui: &mut Ui,
    (icon, icon_color): (&str, Color32),
    text: &str,
    color: Color32,
) {
    ui.with_layout(Layout::left_to_right(Align::Center), |ui| {
        let icon = theme::rich_text(icon).font(font::icon(15.0));
        ui.label(icon.color(icon_color));
        ui.add(egui::Label::new(theme::style_small_text(text, color)).truncate());
    });
}

/// Draws the footer of a dialog, filled from the right.
pub fn foot_ui<R>(ui: &mut Ui, add: impl FnOnce(&mut Ui) -> R) -> R {
    let t = theme::tokens(ui);
    let frame = Frame::NONE
        .fill(t.bg2)
        .corner_radius(egui::CornerRadius {
            nw: 0,
            ne: 0,
            sw: 6,
            se: 6,
        })
        .inner_margin(Margin::symmetric(16, 9));
    widgets::take_first(ui);
    let inner = frame
        .show(ui, |ui| {
            let size = vec2(ui.available_width(), 30.0);
            ui.allocate_ui_with_layout(size, egui::Layout::right_to_left(egui::Align::Center), add)
                .inner
        })
        .inner;
    // A button that waits for a check gets the focus once enabled, unless another control has it.
    if ui
        .data(|data| data.get_temp(wants_focus()))
        .unwrap_or(false)
    {
        let focused = ui.memory(|memory| memory.focused());
        let first = widgets::take_first(ui).filter(|_| focused.is_none());
        if let Some(first) = first {
            ui.memory_mut(|memory| memory.request_focus(first));
        }
        ui.data_mut(|data| data.insert_temp(wants_focus(), focused.or(first).is_none()));
    }
    inner
}

/// Key of the flag that no control of the dialog has had the focus yet.
pub fn wants_focus() -> Id {
    Id::unique("dialog-wants-focus")
}

/// True when Enter was pressed in this frame.
pub fn enter_pressed(ui: &Ui) -> bool {
    ui.input(|input| input.key_pressed(Key::Enter))
}
