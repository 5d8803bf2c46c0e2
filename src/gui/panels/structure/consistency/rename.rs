//! The bar "Rename by pattern": position, pattern, new name, and a preview of the changes.

use std::sync::Arc;

use egui::{
    Align, Color32, Layout, Rect, Role, Sense, Stroke, Ui, UiBuilder, WidgetInfo, pos2, vec2,
};

use super::super::state::StructurePanel;
use super::state::RenameBar;
use crate::draft::{Edit, IdChange, Renaming, preview_renaming, propose_pattern};
use crate::gui::draft_structure::StructureSummary;
use crate::gui::icons;
use crate::gui::panel_context::PanelContext;
use crate::gui::theme::{self, ThemeTokens, font};
use crate::gui::widgets::{self, Button, TextField, paint};
use crate::jobs::AsyncState;
use crate::studio::{Command, Document};

/// Height of the bar with its preview, in points.
pub const HEIGHT: f32 = 124.0;
/// Rows and columns of the preview.
const PREVIEW_ROWS: usize = 3;
const PREVIEW_COLUMNS: usize = 4;
/// Minimum width at which the buttons are beside the fields, in points.
const MIN_WIDE_WIDTH: f32 = 1040.0;

/// The positions in the pattern that lead to a position, from level 1 down.
fn positions_to(summary: &StructureSummary, position: u32) -> Vec<u32> {
    let mut place = Vec::new();
    let mut next = summary.pattern.get(position as usize);
    while let Some(node) = next {
        place.push(node.position);
        next = node
            .parent
            .and_then(|parent| summary.pattern.get(parent as usize));
    }
    place.reverse();
    place
}

/// Draws the bar.
pub fn ui(
    ui: &mut Ui,
    panel: &mut StructurePanel,
    cx: &mut PanelContext<'_>,
    document: &Document,
    summary: &StructureSummary,
) {
    let t = theme::tokens(ui);
    let area = ui.max_rect();
    ui.painter().rect_filled(area, 0, t.bg2);
    ui.painter()
        .hline(area.x_range(), area.top() + 0.5, Stroke::new(1.0, t.line2));
    let Some(draft) = document.draft() else {
        return;
    };
    if summary.pattern.is_empty() {
        ui.label(theme::rich_text(tr!("There are no positions below the roots.")).color(t.tx2));
        return;
    }
    let key = cx.document_key();
    let chosen_in_table = panel.consistency.selected.and_then(|(position, _)| {
        let place = &panel
            .consistency
            .listed
            .of
            .as_ref()?
            .positions
            .get(position)?
            .place;
        (0..summary.pattern.len() as u32).find(|&node| positions_to(summary, node) == *place)
    });
    let state = &mut panel.consistency.rename;
    let position = state
        .position
        .filter(|position| (*position as usize) < summary.pattern.len())
        .or(chosen_in_table)
        .unwrap_or(0);
    state.choose_position(position);
    let place = positions_to(summary, position);
    // The fields begin with a pattern of the ids at the position.
    let (dataset, at) = (draft.dataset().clone(), place.clone());
    state.proposed.update(
        cx.jobs,
        (key, position),
        tr!("Look for a name pattern"),
        move |_| Ok(propose_pattern(&dataset, &at)),
    );
    if state.filled_for != Some((key, position))
        && let AsyncState::Ready(proposed) = state.proposed.state()
    {
        let id = summary.pattern[position as usize].id.to_string();
        let names = proposed.clone().unwrap_or((id.clone(), id));
        state.fill(key, position, names);
    }
    let (from, to) = (state.from.clone(), state.to.clone());
    if !from.is_empty() {
        let (dataset, wanted) = (draft.dataset().clone(), (from.clone(), to.clone()));
        state.preview.update(
            cx.jobs,
            (key, position, from, to),
            tr!("Preview the names"),
            move |ctx| preview_renaming(&dataset, &place, &wanted.0, &wanted.1, ctx).map(Arc::new),
        );
    }
    let mut confirmed_edit = None;
    let mut close = false;
    let mut renaming_summary = RenamingSummary::default();
    let mut new_name = String::new();
    // In a narrow panel the buttons are below the names.
    let is_narrow = area.width() < MIN_WIDE_WIDTH;
    // Three fields share the line.
    let field_width = if is_narrow {
        ((area.width() - 150.0) / 3.0).clamp(70.0, 130.0)
    } else {
        130.0
    };
    let (head, below) = area.split_top_bottom_at_y(area.top() + 44.0);
    ui.scope_builder(
        UiBuilder::new().max_rect(head.shrink2(vec2(10.0, 8.0))),
        |ui| {
            ui.horizontal_centered(|ui| {
                ui.spacing_mut().item_spacing.x = 8.0;
                ui.label(
                    theme::rich_text(icons::MAGIC_WAND)
                        .font(font::icon(14.0))
                        .color(t.acc),
                );
                if !is_narrow {
                    ui.label(
                        theme::rich_text(tr!("Rename by pattern"))
                            .font(font::medium(12.0))
                            .color(t.tx),
                    );
                    ui.label(
                        theme::rich_text(tr!("Position"))
                            .font(font::regular(12.0))
                            .color(t.tx2),
                    );
                }
                let names: Vec<String> = (0..summary.pattern.len() as u32)
                    .map(|node| summary.path(node).join(" / "))
                    .collect();
                let current = names.get(position as usize).cloned().unwrap_or_default();
                if let Some(picked) = widgets::combo(
                    ui,
                    tr!("Position to rename"),
                    &current,
                    field_width,
                    true,
                    &names,
                ) {
                    panel.consistency.rename.choose_position(picked as u32);
                }
                let state = &mut panel.consistency.rename;
                ui.label(
                    theme::rich_text(tr!("from"))
                        .font(font::regular(12.0))
                        .color(t.tx2),
                );
                let tip = tr!(
                    "{n} matches digits, {date} a date, any other name text",
                    n = "{n}",
                    date = "{date}"
                );
                let old = TextField::new(tr!("Pattern of the old names"), &mut state.from)
                    .hide_label()
                    .mono()
                    .width(field_width + if is_narrow { 0.0 } else { 20.0 })
                    .show(ui)
                    .on_hover_text(theme::rich_text(tip));
                ui.label(
                    theme::rich_text(tr!("to"))
                        .font(font::regular(12.0))
                        .color(t.tx2),
                );
                let tip = tr!(
                    "Parts in braces are those of the old name; {number} numbers all siblings that \
                        match, from 0 on, in the order of their dates or numbers",
                    number = "{##}"
                );
                let new = TextField::new(tr!("New name"), &mut state.to)
                    .hide_label()
                    .mono()
                    .width(field_width)
                    .show(ui)
                    .on_hover_text(theme::rich_text(tip));
                state.typed |= old.changed() || new.changed();
                renaming_summary = summarize_renaming(state, t);
                new_name = state.to.clone();
                if !is_narrow {
                    let notes = renaming_summary.notes.drain(..);
                    notes.for_each(|note| note_ui(ui, &note));
                }
            });
        },
    );
    let buttons = if is_narrow {
        Rect::from_min_max(
            pos2(area.left() + 10.0, area.bottom() - 34.0),
            area.max - vec2(10.0, 4.0),
        )
    } else {
        head.shrink2(vec2(10.0, 8.0))
    };
    ui.scope_builder(
        UiBuilder::new()
            .max_rect(buttons)
            .layout(Layout::right_to_left(Align::Center)),
        |ui| {
            let text = tr!(
                "Rename {n} to {name}",
                n = paint::format_grouped_number(renaming_summary.count),
                name = new_name
            );
            let button = Button::primary(text)
                .icon(icons::PENCIL_SIMPLE)
                .name(tr!("Rename all"))
                .with_disabled_reason(renaming_summary.disabled_reason);
            if ui.add(button).clicked() {
                confirmed_edit = renaming_summary.edit.take();
            }
            close = ui
                .add(Button::ghost(tr!("Cancel")).name(tr!("Close renaming")))
                .clicked();
            ui.with_layout(Layout::left_to_right(Align::Center), |ui| {
                renaming_summary
                    .notes
                    .iter()
                    .for_each(|note| note_ui(ui, note));
            });
        },
    );
    if !panel.consistency.rename.from.is_empty() {
        preview_ui(
            ui,
            panel,
            below,
            if is_narrow {
                PREVIEW_ROWS - 1
            } else {
                PREVIEW_ROWS
            },
        );
    }
    if close {
        panel.consistency.rename.open = false;
    }
    if let Some(edit) = confirmed_edit {
        cx.run(Command::Edit { edit });
    }
}

/// What the bar shows about a renaming, and the edit of its button.
#[derive(Default)]
struct RenamingSummary {
    notes: Vec<RenamingNote>,
    disabled_reason: Option<&'static str>,
    /// Number of samples that match and whose ids change.
    count: u64,
    edit: Option<Edit>,
}

struct RenamingNote {
    icon: &'static str,
    color: Color32,
    text: String,
}

impl RenamingSummary {
    fn disabled(reason: &'static str) -> Self {
        Self {
            disabled_reason: Some(reason),
            ..Self::default()
        }
    }
}

fn summarize_renaming(bar: &RenameBar, t: &ThemeTokens) -> RenamingSummary {
    // Without a pattern, the preview is that of the last one.
    if bar.from.is_empty() {
        return RenamingSummary::disabled(tr!("Enter a pattern of the names"));
    }
    match bar.preview.state() {
        AsyncState::Ready(renaming) => summarize_preview(renaming, t),
        AsyncState::Failed(error) => RenamingSummary {
            notes: vec![RenamingNote {
                icon: icons::WARNING_OCTAGON,
                color: t.err,
                text: error.summary().to_owned(),
            }],
            ..RenamingSummary::disabled(tr!("The pattern can't be read"))
        },
        AsyncState::NotAsked | AsyncState::Pending => {
            RenamingSummary::disabled(tr!("The names are being compared"))
        }
    }
}

fn summarize_preview(renaming: &Renaming, t: &ThemeTokens) -> RenamingSummary {
    let (matching, colliding) = (renaming.renamed.len() as u64, renaming.colliding as u64);
    let (icon, color) = if matching > 0 {
        (icons::CHECK, t.ok)
    } else {
        (icons::WARNING, t.warn)
    };
    let n = paint::format_grouped_number(matching);
    let text = tr_n!(matching, "{n} match", "{n} match", n);
    let mut notes = vec![RenamingNote { icon, color, text }];
    let (icon, color) = if colliding == 0 {
        (icons::CHECK, t.ok)
    } else {
        (icons::WARNING_OCTAGON, t.err)
    };
    let n = paint::format_grouped_number(colliding);
    let text = tr_n!(colliding, "{n} collides", "{n} collide", n);
    notes.push(RenamingNote { icon, color, text });
    if renaming.unmatched > 0 {
        let n = paint::format_grouped_number(renaming.unmatched as u64);
        notes.push(RenamingNote {
            icon: icons::INFO,
            color: t.info,
            text: tr_n!(
                renaming.unmatched,
                "{n} does not match",
                "{n} do not match",
                n
            ),
        });
    }
    let disabled_reason = if colliding > 0 {
        Some(tr!(
            "A sibling has the new name, or the name is not a valid id"
        ))
    } else if renaming.edit.is_none() {
        Some(tr!("No id changes"))
    } else {
        None
    };
    RenamingSummary {
        notes,
        disabled_reason,
        count: matching,
        edit: renaming.edit.clone(),
    }
}

fn note_ui(ui: &mut Ui, note: &RenamingNote) {
    ui.spacing_mut().item_spacing.x = 4.0;
    ui.label(
        theme::rich_text(note.icon)
            .font(font::icon(12.0))
            .color(note.color),
    );
    ui.label(
        theme::rich_text(&note.text)
            .font(font::regular(12.0))
            .color(note.color),
    );
    ui.spacing_mut().item_spacing.x = 8.0;
}

fn preview_ui(ui: &mut Ui, panel: &StructurePanel, area: Rect, rows: usize) {
    let t = theme::tokens(ui);
    let Some(found) = panel.consistency.rename.preview.latest() else {
        return;
    };
    ui.painter()
        .hline(area.x_range(), area.top() + 0.5, Stroke::new(1.0, t.line));
    let inner = area.shrink2(vec2(16.0, 6.0));
    let columns = if inner.width() > 900.0 {
        PREVIEW_COLUMNS
    } else {
        2
    };
    // The last cell has the number of names that have none.
    let cells = rows * columns;
    let shown = if found.renamed.len() > cells {
        cells - 1
    } else {
        cells
    };
    for (index, IdChange { root, old, new }) in found.renamed.iter().take(shown).enumerate() {
        let rect = place_name_cell(inner, columns, index);
        let response = ui.interact(rect, ui.scope_id().with(("renamed", index)), Sense::hover());
        response.widget_info(|| {
            WidgetInfo::labeled(Role::Label, true, format!("{root}: {old} → {new}"))
        });
        let painter = ui.painter_at(rect);
        let end = paint::text_left(
            &painter,
            rect.with_max_x(rect.left() + rect.width() * 0.34),
            root,
            font::mono(11.0),
            t.tx3,
        ) + 8.0;
        let end =
            paint::text_left(&painter, rect.with_min_x(end), old, font::mono(11.0), t.tx2) + 6.0;
        let end = paint::text_left(
            &painter,
            rect.with_min_x(end),
            "→",
            font::regular(11.0),
            t.tx3,
        ) + 6.0;
        paint::text_left(&painter, rect.with_min_x(end), new, font::mono(11.0), t.acc);
    }
    let more = found.renamed.len().saturating_sub(shown);
    if more > 0 {
        let text = tr_n!(
            more,
            "{n} more",
            "{n} more",
            n = paint::format_grouped_number(more as u64)
        );
        paint::text_left(
            ui.painter(),
            place_name_cell(inner, columns, shown),
            &text,
            font::regular(11.0),
            t.tx3,
        );
    }
}

fn place_name_cell(area: Rect, columns: usize, index: usize) -> Rect {
    let width = area.width() / columns as f32;
    let (column, row) = (index % columns, index / columns);
    let corner = vec2(width * column as f32, 22.0 * row as f32);
    Rect::from_min_size(area.min + corner, vec2(width - 14.0, 22.0))
}
