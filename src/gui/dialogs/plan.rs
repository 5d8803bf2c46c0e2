//! The preview of a plan that fixes many roots: number of fixes of each kind, and the changes of
//! each root.

use std::sync::Arc;

use egui::{Frame, Margin, Role, Stroke, Ui, WidgetInfo, vec2};

use super::frame::{Next, foot_ui, head_ui};
use super::view::{DialogEvent, DialogView, Reply, close_with_document};
use crate::draft::{Care, FixPlan, FixVerb};
use crate::gui::icons;
use crate::gui::panel_context::{PanelContext, Request};
use crate::gui::theme::{self, font};
use crate::gui::widgets::{self, Button, RowScroll, Tone, VirtualRows, paint};
use crate::studio::Command;

pub struct PlanDialog {
    plan: Arc<FixPlan>,
    /// Revision of the draft that the plan was made for; after another edit it can't be applied.
    revision: u64,
    scroll: RowScroll,
}

impl PlanDialog {
    pub fn new(plan: Arc<FixPlan>, revision: u64) -> Self {
        Self {
            plan,
            revision,
            scroll: RowScroll::default(),
        }
    }
}

impl DialogView for PlanDialog {
    fn ui(&mut self, ui: &mut Ui, cx: &mut PanelContext<'_>) -> Next {
        let t = theme::tokens(ui);
        let width = (ui.ctx().content_rect().width() - 64.0).min(620.0);
        ui.set_width(width);
        ui.spacing_mut().item_spacing.y = 0.0;
        let close = head_ui(ui, icons::EYE, tr!("Preview of fixes"), &self.plan.label);
        Frame::NONE
            .inner_margin(Margin::symmetric(16, 12))
            .show(ui, |ui| {
                ui.spacing_mut().item_spacing = vec2(6.0, 8.0);
                ui.horizontal_wrapped(|ui| {
                    for (verb, count) in &self.plan.verbs {
                        let tone = if *verb == FixVerb::Drop {
                            Tone::Error
                        } else {
                            Tone::Neutral
                        };
                        widgets::badge(
                            ui,
                            tone,
                            None,
                            &format!("{} {}", verb.text(), paint::format_grouped_number(*count)),
                        );
                    }
                });
                let text = match self.plan.care {
                    Care::Safe => tr!("One step; Undo reverts it. Nothing is removed."),
                    Care::Ids => tr!(
                        "One step; Undo reverts it. The names differ: apply it only where \
                            both names mean the same file."
                    ),
                    Care::Removes => tr!("One step; Undo reverts it. Dropped samples leave the \
                    dataset; files on disk stay."),
                };
                ui.label(theme::style_small_text(text, t.tx2));
            });
        let size = vec2(
            width,
            (self.plan.changes.len() as f32 * 24.0).clamp(24.0, 340.0),
        );
        ui.allocate_ui(size, |ui| {
            ui.set_min_size(size);
            let plan = &self.plan;
            VirtualRows::new(tr!("Changes"), plan.changes.len() as u64).show(
                ui,
                &mut self.scroll,
                |ui, row, rect, response| {
                    let (root, change) = &plan.changes[row as usize];
                    response.widget_info(|| {
                        WidgetInfo::labeled(Role::ListItem, true, format!("{root}: {change}"))
                    });
                    let painter = ui.painter();
                    painter.hline(
                        rect.x_range(),
                        rect.bottom() - 0.5,
                        Stroke::new(1.0, t.line),
                    );
                    let inner = rect.shrink2(vec2(16.0, 0.0));
                    let (left, right) = inner.split_left_right_at_fraction(0.36);
                    paint::text_left(painter, left, root, font::mono(12.0), t.tx);
                    paint::text_left(painter, right, change, font::regular(12.0), t.tx2);
                },
            );
        });
        if self.plan.roots > self.plan.listed {
            Frame::NONE
                .inner_margin(Margin::symmetric(16, 6))
                .show(ui, |ui| {
                    let more = self.plan.roots - self.plan.listed;
                    let text = tr_n!(
                        more,
                        "{n} more root",
                        "{n} more roots",
                        n = paint::format_grouped_number(more)
                    );
                    ui.label(
                        theme::rich_text(text)
                            .font(font::regular(12.0))
                            .color(t.tx3),
                    );
                });
        }
        let current = cx
            .document()
            .and_then(|document| document.draft())
            .map(|draft| draft.revision());
        let stale =
            (current != Some(self.revision)).then_some(tr!("The draft changed after this preview"));
        let (apply, cancel) = foot_ui(ui, |ui| {
            let text = tr_n!(
                self.plan.roots,
                "Apply to {n} root",
                "Apply to {n} roots",
                n = paint::format_grouped_number(self.plan.roots)
            );
            let button = if self.plan.care == Care::Removes {
                Button::danger(text)
            } else {
                Button::primary(text)
            };
            let apply = ui
                .add(
                    button
                        .large()
                        .name(tr!("Apply the fixes"))
                        .with_disabled_reason(stale),
                )
                .clicked();
            (
                apply,
                ui.add(Button::ghost(tr!("Cancel")).large()).clicked(),
            )
        });
        if apply {
            Next::Do(Request::Run(Command::Edit {
                edit: self.plan.edit.clone(),
            }))
        } else if cancel || close {
            Next::Close
        } else {
            Next::Stay
        }
    }

    fn receive(&mut self, event: &DialogEvent<'_>) -> Reply {
        close_with_document(event)
    }
}
