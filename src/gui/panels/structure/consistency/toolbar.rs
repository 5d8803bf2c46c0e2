//! The toolbar: the comparison and its progress, the tolerance, the pattern.

use egui::{Align, Frame, Layout, Margin, Stroke, Ui};

use super::view_choice::view_ui;
use crate::gui::icons;
use crate::gui::panel_context::PanelContext;
use crate::gui::panels::structure::state::StructurePanel;
use crate::gui::theme::{self, font};
use crate::gui::widgets::{self, Button, paint};
use crate::studio::{Command, ConsistencySettings, Document, JobTopic};

/// Selectable tolerances, in thousandths of a pixel.
const TOLERANCES: [f64; 4] = [0.0, 0.1, 1.0, 10.0];

/// The running comparison: headers read, and their total.
pub(super) fn progress(cx: &PanelContext<'_>) -> Option<(u64, Option<u64>)> {
    let mut jobs = cx.session.jobs.running();
    let job = jobs.find(|job| job.topic == Some(JobTopic::Consistency))?;
    Some((job.progress.done, job.progress.total))
}

pub(super) fn toolbar_ui(
    ui: &mut Ui,
    panel: &mut StructurePanel,
    cx: &mut PanelContext<'_>,
    document: &Document,
) {
    let t = theme::tokens(ui);
    let consistency = cx.studio.report().consistency.clone();
    Frame::NONE
        .fill(t.bg1)
        .inner_margin(Margin::symmetric(8, 6))
        .show(ui, |ui| {
            ui.set_min_width(ui.available_width());
            ui.horizontal_wrapped(|ui| {
                view_ui(ui, panel, cx);
                ui.label(
                    theme::rich_text(tr!("Tolerance"))
                        .font(font::regular(12.0))
                        .color(t.tx2),
                );
                tolerance_ui(ui, cx);
                let running = progress(cx);
                let status = match (&running, &consistency) {
                    (Some((done, _)), _) => {
                        tr!(
                            "{done} headers read",
                            done = paint::format_grouped_number(*done)
                        )
                    }
                    (None, Some(known)) if known.unread > 0 => {
                        let (read, unread) = (
                            paint::format_grouped_number(known.headers as u64),
                            paint::format_grouped_number(known.unread as u64),
                        );
                        tr!("{read} headers read, {unread} not read", read, unread)
                    }
                    (None, Some(known)) => tr!(
                        "{read} headers read, no pixels",
                        read = paint::format_grouped_number(known.headers as u64)
                    ),
                    (None, None) => String::new(),
                };
                // The buttons at the right keep their position; in a narrow panel they show only
                // their icons.
                let texts = [tr!("Rename by pattern…"), tr!("Check again")];
                let whole = texts
                    .map(|text| Button::width_of(ui, text) + 19.0 + ui.spacing().item_spacing.x)
                    .iter()
                    .sum::<f32>();
                let room = ui.available_size_before_wrap().x;
                let fits = room >= whole;
                if room >= whole + Button::width_of(ui, &status) {
                    ui.label(
                        theme::rich_text(status)
                            .font(font::regular(12.0))
                            .color(t.tx2),
                    );
                }
                ui.with_layout(Layout::right_to_left(Align::Center), |ui| {
                    if document.draft().is_some() {
                        let open = panel.consistency.rename.open;
                        let button = make_toolbar_button(
                            fits,
                            texts[0],
                            icons::PENCIL_SIMPLE,
                            Button::ghost,
                        )
                        .with_selected_state(open);
                        if ui
                            .add(
                                button.tooltip(tr!(
                                    "Rename the samples at one position in all roots"
                                )),
                            )
                            .clicked()
                        {
                            panel.consistency.rename.open = !open;
                            // The bar begins with the position that is selected.
                            if panel.consistency.selected.is_some() {
                                panel.consistency.rename.position = None;
                            }
                        }
                    }
                    if consistency.is_some() {
                        let blocked = running.is_some().then_some(tr!("Headers are being read"));
                        let button = make_toolbar_button(
                            fits,
                            texts[1],
                            icons::ARROW_CLOCKWISE,
                            Button::secondary,
                        )
                        .with_disabled_reason(blocked);
                        if ui
                            .add(button.tooltip(tr!("Read all headers again")))
                            .clicked()
                        {
                            cx.run(Command::CheckConsistency { again: true });
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

/// A button that shows only its icon in a narrow panel.
fn make_toolbar_button(
    fits: bool,
    text: &'static str,
    icon: &'static str,
    look: fn(&'static str) -> Button<'static>,
) -> Button<'static> {
    if fits {
        look(text).icon(icon)
    } else {
        Button::icon_only(icon, text)
    }
}

fn tolerance_ui(ui: &mut Ui, cx: &mut PanelContext<'_>) {
    let settings = cx.studio.consistency_settings().clone();
    let options = TOLERANCES.map(describe_tolerance);
    let current = describe_tolerance(settings.tolerance.unwrap_or(1.0));
    if let Some(index) = widgets::combo(ui, tr!("Tolerance"), &current, 130.0, false, &options) {
        cx.run(Command::SetConsistency {
            settings: ConsistencySettings {
                tolerance: Some(TOLERANCES[index]),
                ..settings
            },
        });
    }
}

fn describe_tolerance(thousandths: f64) -> String {
    match thousandths {
        0.0 => tr!("Exact").to_owned(),
        value => tr!("{percent} % of a pixel", percent = value / 10.0),
    }
}
