//! The menu Tools in the top bar: actions on whole datasets, in groups, each with a hint.

use egui::{Popup, Ui};

use super::action::Action;
use super::action_enabled::disabled_reason;
use super::counted_texts;
use super::icons;
use super::panel_context::{PanelContext, Request};
use super::theme::{self, font};
use super::widgets::{self, Button};

/// Width of the menu in points.
const WIDTH: f32 = 318.0;
/// Space before headings and the note, in points.
const INDENT: f32 = 6.0;

/// The groups of the menu.
fn groups() -> [(&'static str, &'static [Action]); 6] {
    [
        (
            tr!("Rasters"),
            &[Action::Optimise, Action::Histograms, Action::Percentiles],
        ),
        (
            tr!("Check and repair"),
            &[Action::ValidateDeep, Action::Repair],
        ),
        (tr!("Containers"), &[Action::Convert, Action::IndexZips]),
        (
            tr!("Generations"),
            &[
                Action::Migrate,
                Action::PrepareTaco3,
                Action::WriteOlder,
                Action::EditFooter,
            ],
        ),
        (tr!("Several datasets"), &[Action::OpenSeveral]),
        (tr!("Draft"), &[Action::PadTo, Action::Sidecars]),
    ]
}

/// A few words beside an entry.
fn hint(action: Action, cx: &PanelContext<'_>) -> String {
    let rows = cx.document().map_or(0, |document| document.rows(0));
    match action {
        Action::Optimise => tr!("GeoTIFFs for fast reads").to_owned(),
        Action::Histograms => tr!("100 bins a raster").to_owned(),
        Action::Percentiles => tr!("from histograms").to_owned(),
        Action::ValidateDeep if rows > 0 => counted_texts::format_samples(rows as u64),
        Action::Repair => tr!("into a copy").to_owned(),
        Action::Convert => tr!("also into parts").to_owned(),
        Action::IndexZips => ".tacocat".to_owned(),
        Action::Migrate => match cx.document().and_then(|document| document.format()) {
            Some(format) if format.generation() != "2.0" => {
                tr!("from {generation}", generation = format.generation())
            }
            _ => String::new(),
        },
        Action::PrepareTaco3 => tr!("by its official library").to_owned(),
        Action::WriteOlder => ".tortilla, .taco".to_owned(),
        Action::EditFooter => tr!("metadata only").to_owned(),
        Action::OpenSeveral => tr!("several as one").to_owned(),
        Action::Sidecars => ".msk, .aux.xml, .prj".to_owned(),
        _ => String::new(),
    }
}

/// Draws the button with its menu.
pub fn ui(ui: &mut Ui, cx: &mut PanelContext<'_>) {
    let button = ui.add(
        Button::bar(icons::WRENCH, tr!("Tools"))
            .tooltip(tr!("Optimise, repair, convert, other generations")),
    );
    Popup::menu(&button).show(|ui| contents_ui(ui, cx));
}

/// Draws the entries.
fn contents_ui(ui: &mut Ui, cx: &mut PanelContext<'_>) {
    let t = theme::tokens(ui);
    ui.set_min_width(WIDTH);
    ui.spacing_mut().menu_width = WIDTH;
    widgets::menu_scroll(ui, |ui| {
        ui.spacing_mut().item_spacing.y = 0.0;
        for (title, actions) in groups() {
            ui.add_space(6.0);
            ui.horizontal(|ui| {
                ui.add_space(INDENT);
                ui.label(
                    theme::rich_text(title)
                        .font(font::semibold(11.0))
                        .color(t.tx3),
                );
            });
            for &action in actions {
                let (info, reason) = (action.info(), disabled_reason(action, cx));
                if widgets::menu_entry_with_hint(
                    ui,
                    info.icon,
                    info.text,
                    &hint(action, cx),
                    reason.as_deref(),
                )
                .clicked()
                {
                    cx.request(Request::Do(action));
                    ui.close();
                }
            }
        }
        ui.separator();
        ui.horizontal(|ui| {
            ui.add_space(INDENT);
            ui.set_max_width(WIDTH - 2.0 * INDENT);
            let note =
                tr!("Only Edit in place… changes an existing dataset; all others write a new one");
            ui.add(
                egui::Label::new(
                    theme::rich_text(note)
                        .font(font::regular(11.0))
                        .color(t.tx3),
                )
                .wrap(),
            );
        });
    });
}
