//! The list of shortcuts, and the About dialog.

use egui::{Frame, Margin, ScrollArea, Sense, Ui, vec2};

use super::frame::{Next, head_ui};
use super::view::DialogView;
use crate::gui::action::{Action, Menu};
use crate::gui::panel_context::PanelContext;
use crate::gui::theme::{self, font, text_style};
use crate::gui::{icons, widgets};
use crate::jobs::AsyncValue;
use crate::ops::doctor::{self, DoctorCheck, Health};

/// The shortcuts.
pub struct ShortcutsDialog;

impl DialogView for ShortcutsDialog {
    fn ui(&mut self, ui: &mut Ui, _: &mut PanelContext<'_>) -> Next {
        let t = theme::tokens(ui);
        ui.set_width(620.0);
        ui.spacing_mut().item_spacing.y = 0.0;
        if head_ui(ui, icons::KEYBOARD, tr!("Keyboard shortcuts"), "") {
            return Next::Close;
        }
        let height = (ui.ctx().content_rect().height() - 160.0).max(200.0);
        ScrollArea::vertical().max_height(height).show(ui, |ui| {
            Frame::NONE.inner_margin(Margin::same(16)).show(ui, |ui| {
                ui.columns(2, |columns| {
                    let menus = [
                        &[Menu::File, Menu::Edit][..],
                        &[Menu::Check, Menu::View, Menu::Help][..],
                    ];
                    for (ui, menus) in columns.iter_mut().zip(menus) {
                        for menu in menus {
                            ui.label(
                                theme::rich_text(menu.title())
                                    .font(font::semibold(12.0))
                                    .color(t.tx2),
                            );
                            for action in Action::ALL.iter().filter(|action| {
                                action.info().menu == *menu && action.info().keys.is_some()
                            }) {
                                ui.horizontal(|ui| {
                                    ui.label(
                                        theme::rich_text(action.info().text.trim_end_matches('…'))
                                            .text_style(text_style("small12")),
                                    );
                                    ui.with_layout(
                                        egui::Layout::right_to_left(egui::Align::Center),
                                        |ui| widgets::key_cap(ui, &action.keys_text()),
                                    );
                                });
                            }
                            ui.add_space(10.0);
                        }
                    }
                });
                let more = tr!(
                    "Lists: arrows, Page Up and Down, Home, End; Left and Right fold and unfold. \
                        Preview: arrows go to the next file, + − 0 zoom."
                );
                ui.label(theme::style_small_text(more, t.tx2));
            });
        });
        Next::Stay
    }
}

/// Version, licences, and what `doctor` finds on this machine.
#[derive(Default)]
pub struct About {
    checks: AsyncValue<(), Vec<DoctorCheck>>,
}

impl DialogView for About {
    fn ui(&mut self, ui: &mut Ui, cx: &mut PanelContext<'_>) -> Next {
        let t = theme::tokens(ui);
        self.checks
            .update(cx.jobs, (), tr!("Check this machine"), |_| {
                let mut checks = doctor::examine();
                checks.push(crate::gui::graphics());
                checks.push(crate::gui::fonts());
                Ok(checks)
            });
        ui.set_width(620.0);
        ui.spacing_mut().item_spacing.y = 0.0;
        if head_ui(ui, icons::INFO, tr!("About Taco Studio"), "") {
            return Next::Close;
        }
        Frame::NONE.inner_margin(Margin::same(16)).show(ui, |ui| {
            ui.spacing_mut().item_spacing.y = 8.0;
            ui.horizontal(|ui| {
                let (rect, _) = ui.allocate_exact_size(vec2(48.0, 48.0), Sense::hover());
                widgets::logo(ui.painter(), rect);
                ui.vertical(|ui| {
                    ui.label(
                        theme::rich_text(format!("Taco Studio {}", env!("CARGO_PKG_VERSION")))
                            .font(font::semibold(15.0)),
                    );
                    let what = tr!("Builds, checks and explores TACO datasets");
                    ui.label(theme::style_small_text(what, t.tx2));
                });
            });
            for line in [
                tr!("Licence: MIT or Apache-2.0, as you like."),
                tr!(
                    "Fonts: Inter and JetBrains Mono (SIL Open Font License 1.1). Icons: Phosphor \
                    (MIT)."
                ),
                tr!("Rasters are read by GDAL (MIT), tables by Apache Arrow and Polars."),
                tr!("No telemetry. Nothing is read that you do not open."),
            ] {
                ui.label(theme::style_small_text(line, t.tx2));
            }
            ui.add_space(4.0);
            ui.label(
                theme::rich_text(tr!("This machine"))
                    .font(font::semibold(12.0))
                    .color(t.tx2),
            );
            match self.checks.latest() {
                Some(checks) => doctor_checks_ui(ui, checks),
                None => {
                    ui.label(theme::style_small_text(tr!("Looking…"), t.tx2));
                }
            }
        });
        Next::Stay
    }
}

fn doctor_checks_ui(ui: &mut Ui, checks: &[DoctorCheck]) {
    let t = theme::tokens(ui);
    let height = (ui.ctx().content_rect().height() - 360.0).max(160.0);
    ScrollArea::vertical().max_height(height).show(ui, |ui| {
        for check in checks {
            let (icon, colour, word) = match check.health {
                Health::Ok => (icons::CHECK_CIRCLE, t.ok, tr!("fine")),
                Health::Warning => (icons::WARNING, t.warn, tr!("warning")),
                Health::Error => (icons::WARNING_OCTAGON, t.err, tr!("error")),
            };
            ui.horizontal_top(|ui| {
                ui.label(theme::rich_text(icon).font(font::icon(14.0)).color(colour))
                    .on_hover_text(theme::rich_text(word));
                ui.vertical(|ui| {
                    ui.label(theme::style_small_text(
                        format!("{}: {}", check.name, check.seen),
                        t.tx,
                    ));
                    if let Some(advice) = &check.advice {
                        ui.label(theme::style_small_text(advice, t.tx2));
                    }
                });
            });
        }
    });
}
