//! The parts of a plan as a grid of cells.

use std::collections::BTreeMap;

use egui::{
    Align, CursorIcon, Frame, Layout, Margin, Role, Sense, Stroke, StrokeKind, Ui, WidgetInfo,
    pos2, vec2,
};

use super::state::PlanState;
use crate::gui::icons;
use crate::gui::theme::{self, font};
use crate::gui::widgets::{self, Segment, Tone, paint};
use crate::ops::plan::{PartState, PartStatus, PlanStatus};

/// Maximum number of parts, and of hosts, that are drawn; a plan may have 100,000 parts.
const SHOWN: usize = 1000;

/// Name, colour and icon of a state.
pub fn look(state: PartState) -> (&'static str, Tone, &'static str) {
    match state {
        PartState::Done => (tr!("written" in "part"), Tone::Ok, icons::CHECK_CIRCLE),
        PartState::Running => (tr!("running" in "part"), Tone::Accent, icons::CIRCLE_NOTCH),
        PartState::Waiting => (tr!("waiting" in "part"), Tone::Neutral, icons::CLOCK),
        PartState::Lost => (tr!("lost" in "part"), Tone::Warning, icons::WARNING),
        PartState::Failed => (tr!("failed" in "part"), Tone::Error, icons::WARNING_OCTAGON),
    }
}

/// Draws the numbers by state and the grid; a click selects a part.
pub fn ui(ui: &mut Ui, state: &mut PlanState, status: &PlanStatus) {
    Frame::NONE
        .inner_margin(Margin::symmetric(12, 4))
        .show(ui, |ui| {
            ui.spacing_mut().item_spacing = vec2(6.0, 6.0);
            ui.horizontal(|ui| {
                let counts = [
                    (PartState::Done, status.done),
                    (PartState::Running, status.running),
                    (PartState::Waiting, status.waiting),
                    (PartState::Lost, status.lost),
                    (PartState::Failed, status.failed),
                ];
                for (state, count) in counts.into_iter().filter(|(_, count)| *count > 0) {
                    let (name, tone, icon) = look(state);
                    widgets::badge(ui, tone, Some(icon), &format!("{name} {count}"));
                }
                ui.with_layout(Layout::right_to_left(Align::Center), |ui| {
                    let segments = [
                        Segment::new(false, tr!("By part")),
                        Segment::new(true, tr!("By host")),
                    ];
                    widgets::draw_segments(ui, "group of parts", &mut state.by_host, &segments);
                });
            });
            if state.by_host {
                let mut hosts: BTreeMap<&str, Vec<&PartStatus>> = BTreeMap::new();
                for part in &status.parts {
                    hosts
                        .entry(part.host.as_deref().unwrap_or_default())
                        .or_default()
                        .push(part);
                }
                let each = (SHOWN / hosts.len().max(1)).max(1);
                let (drawn, rest): (Vec<_>, Vec<_>) = hosts
                    .into_iter()
                    .enumerate()
                    .partition(|(index, _)| *index < SHOWN);
                for (_, (host, parts)) in drawn {
                    let name = if host.is_empty() {
                        tr!("no host yet")
                    } else {
                        host
                    };
                    ui.label(
                        theme::rich_text(name)
                            .font(font::mono(12.0))
                            .color(theme::tokens(ui).tx2),
                    );
                    cells_ui(ui, &mut state.selected, parts, each);
                }
                more_ui(ui, rest.iter().map(|(_, (_, parts))| parts.len()).sum());
            } else {
                cells_ui(ui, &mut state.selected, &status.parts, SHOWN)
            }
            ui.add_space(6.0);
        });
}

/// Draws the first `most` parts, and says how many others there are.
fn cells_ui<'a>(
    ui: &mut Ui,
    selected: &mut Option<u32>,
    parts: impl IntoIterator<Item = &'a PartStatus>,
    most: usize,
) {
    let mut parts = parts.into_iter();
    ui.horizontal_wrapped(|ui| {
        for part in parts.by_ref().take(most) {
            if cell_ui(ui, part, *selected == Some(part.number)) {
                *selected = if *selected == Some(part.number) {
                    None
                } else {
                    Some(part.number)
                };
            }
        }
    });
    more_ui(ui, parts.count());
}

fn more_ui(ui: &mut Ui, more: usize) {
    if more > 0 {
        let text = tr_n!(
            more,
            "and {n} more part",
            "and {n} more parts",
            n = paint::format_grouped_number(more as u64)
        );
        ui.label(
            theme::rich_text(text)
                .font(font::regular(12.0))
                .color(theme::tokens(ui).tx2),
        );
    }
}

/// One part, 88 × 44 points. Returns true when it is clicked.
fn cell_ui(ui: &mut Ui, part: &PartStatus, selected: bool) -> bool {
    let t = theme::tokens(ui);
    let (rect, response) = ui.allocate_exact_size(vec2(88.0, 44.0), Sense::click());
    let (name, tone, icon) = look(part.state);
    response.widget_info(|| {
        let label = tr!("Part {number}: {name}", number = part.number, name);
        WidgetInfo::selected(Role::RadioButton, true, selected, label)
    });
    if ui.is_rect_visible(rect) {
        let painter = ui.painter();
        let widgets::ToneColors {
            text: color,
            fill,
            border,
        } = tone.colors(t);
        let waiting = part.state == PartState::Waiting;
        let fill = if waiting { t.bg1 } else { fill };
        let border = if selected {
            Stroke::new(2.0, t.accfill)
        } else {
            Stroke::new(1.0, if waiting { t.line2 } else { border })
        };
        painter.rect(rect, 4, fill, border, StrokeKind::Inside);
        let inner = rect.shrink2(vec2(8.0, 5.0));
        let upper = egui::Rect::from_min_max(inner.min, pos2(inner.right(), inner.center().y));
        let lower = egui::Rect::from_min_max(pos2(inner.left(), inner.center().y), inner.max);
        paint::text_left(
            painter,
            upper,
            &format!("{:02}", part.number),
            font::mono(12.0),
            t.tx,
        );
        paint::draw_icon(
            painter,
            pos2(inner.right() - 6.0, upper.center().y),
            icon,
            13.0,
            color,
        );
        let text = match part.state {
            PartState::Done => paint::format_bytes(part.data_bytes),
            PartState::Running => format!("{:.0} %", part.fraction * 100.0),
            PartState::Failed if part.attempts.len() > 1 => {
                tr!("{n} attempts", n = part.attempts.len())
            }
            _ => name.to_owned(),
        };
        paint::text_left(
            painter,
            lower,
            &text,
            font::regular(11.0),
            if waiting { t.tx3 } else { color },
        );
        if part.state == PartState::Running {
            let bar = egui::Rect::from_min_size(
                rect.left_bottom() - vec2(0.0, 3.0),
                vec2(rect.width() * part.fraction as f32, 3.0),
            );
            painter.rect_filled(bar, 0, t.accfill);
        }
        paint::focus_ring(ui, &response, 4);
    }
    response.on_hover_cursor(CursorIcon::PointingHand).clicked()
}
