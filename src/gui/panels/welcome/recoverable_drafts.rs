//! Drafts recovered from autosave after the program ended unexpectedly, on the welcome screen.

use egui::{
    Align, Layout, Rect, Role, Sense, Stroke, StrokeKind, Ui, UiBuilder, WidgetInfo, pos2, vec2,
};

use super::state::WelcomePage;
use super::{day_text, heading};
use crate::gui::icons;
use crate::gui::panel_context::{PanelContext, Request};
use crate::gui::theme::{self, font};
use crate::gui::widgets::{Button, paint};
use crate::studio::{Command, Recoverable, recoverable};

const ROW: f32 = 53.0;
/// Most drafts listed.
const SHOWN: usize = 4;

/// Draws the recoverable drafts, if any.
pub fn ui(ui: &mut Ui, panel: &mut WelcomePage, cx: &mut PanelContext<'_>) {
    let Some(folder) = cx.session.autosaving.folder.clone() else {
        return;
    };
    panel.recoverable.update(
        cx.jobs,
        cx.session.autosaving.forgotten,
        tr!("Search for unsaved drafts"),
        move |_| Ok(recoverable(&folder)),
    );
    let Some(found) = panel
        .recoverable
        .latest()
        .filter(|found| !found.is_empty())
        .cloned()
    else {
        return;
    };
    let t = theme::tokens(ui);
    heading(ui, tr!("Not saved"));
    let shown = found.len().min(SHOWN);
    let (card, _) = ui.allocate_exact_size(
        vec2(ui.available_width(), ROW * shown as f32),
        Sense::hover(),
    );
    ui.painter().rect(
        card,
        6,
        t.accbg,
        Stroke::new(1.0, t.accline),
        StrokeKind::Inside,
    );
    for (index, draft) in found.iter().take(shown).enumerate() {
        let rect = Rect::from_min_size(
            card.min + vec2(0.0, ROW * index as f32),
            vec2(card.width(), ROW),
        );
        row_ui(ui, cx, rect, draft, index);
    }
    ui.add_space(16.0);
}

fn row_ui(ui: &mut Ui, cx: &mut PanelContext<'_>, rect: Rect, draft: &Recoverable, index: usize) {
    let t = theme::tokens(ui);
    let name = match &draft.project {
        Some(project) => project
            .file_name()
            .unwrap_or_default()
            .to_string_lossy()
            .into_owned(),
        None if !draft.id.is_empty() => draft.id.clone(),
        None => tr!("Untitled draft").to_owned(),
    };
    let since = draft
        .changed
        .and_then(|time| time.duration_since(std::time::UNIX_EPOCH).ok());
    let when = since
        .map(|since| day_text(since.as_secs()))
        .unwrap_or_default();
    let changes = tr_n!(
        draft.steps,
        "{n} change",
        "{n} changes",
        n = paint::format_grouped_number(draft.steps as u64)
    );
    let inner = rect.shrink2(vec2(14.0, 8.0));
    let buttons = Rect::from_min_max(pos2(inner.right() - 170.0, inner.top()), inner.max);
    let text = Rect::from_min_max(
        pos2(inner.left() + 30.0, inner.top()),
        pos2(buttons.left() - 8.0, inner.bottom()),
    );
    paint::draw_icon(
        ui.painter(),
        pos2(rect.left() + 24.0, rect.center().y),
        icons::CLOCK_COUNTER_CLOCKWISE,
        18.0,
        t.acc,
    );
    let (upper, lower) = text.split_top_bottom_at_fraction(0.5);
    ui.scope_builder(UiBuilder::new().max_rect(upper), |ui| {
        ui.add(
            egui::Label::new(theme::rich_text(&name).font(font::medium(13.0)).color(t.tx))
                .truncate(),
        );
    });
    let (about, ink) = match &draft.damage {
        Some(damage) => (format!("{changes}, {when}; {damage}"), t.warn),
        None => (format!("{changes}, {when}"), t.tx2),
    };
    let response = ui.interact(
        lower,
        ui.scope_id().with(("unsaved draft", index)),
        Sense::hover(),
    );
    response.widget_info(|| WidgetInfo::labeled(Role::Label, true, &about));
    paint::text_left(ui.painter(), lower, &about, font::regular(12.0), ink);
    if draft.damage.is_some() {
        response.on_hover_text(theme::rich_text(&about));
    }
    ui.scope_builder(
        UiBuilder::new()
            .max_rect(buttons)
            .layout(Layout::right_to_left(Align::Center)),
        |ui| {
            let name = match index {
                0 => tr!("Forget unsaved draft").to_owned(),
                index => tr!("Forget unsaved draft {number}", number = index + 1),
            };
            let forget = Button::danger_ghost(tr!("Forget")).name(name);
            if ui
                .add(forget.tooltip(tr!("Delete the autosaved draft")))
                .clicked()
            {
                cx.request(Request::ForgetDraft(draft.journal.clone()));
            }
            let name = match index {
                0 => tr!("Restore unsaved draft").to_owned(),
                index => tr!("Restore unsaved draft {number}", number = index + 1),
            };
            let restore = Button::primary(tr!("Restore")).name(name);
            if ui
                .add(restore.tooltip(tr!("Open the draft as it was after its last change")))
                .clicked()
            {
                cx.run(Command::Restore {
                    path: draft.journal.clone(),
                });
            }
        },
    );
}
