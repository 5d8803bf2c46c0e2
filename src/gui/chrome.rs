//! The bars: top bar with menu, main buttons, title, search and jobs; status bar.

use egui::{
    Align, Frame, Layout, Margin, Panel, Popup, Rect, Role, Sense, Stroke, StrokeKind, Ui,
    WidgetInfo, pos2, vec2,
};

use super::action::{Action, Menu};
use super::action_enabled::disabled_reason;
use super::icons;
use super::panel_context::{PanelContext, Request};
use super::panels::jobs::time_text;
use super::panels::opening;
use super::panels::problems::{describe_error_count, describe_warning_count};
use super::theme::{self, font, text_style};
use super::tools_menu;
use super::widgets::{self, Button, Tone, paint};
use crate::export::Catalogue;
use crate::studio::{Document, OutdatedReport};

/// Height of the status bar in points; toasts stay above it.
pub const STATUS: f32 = 24.0;

fn bar(ui: &Ui) -> Frame {
    Frame::NONE
        .fill(theme::tokens(ui).bg2)
        .inner_margin(Margin::symmetric(8, 0))
}

/// Draws the top bar.
pub fn top_ui(ui: &mut Ui, cx: &mut PanelContext<'_>) {
    let t = theme::tokens(ui);
    let panel = Panel::top("top")
        .exact_size(40.0)
        .resizable(false)
        .show_separator_line(false)
        .frame(bar(ui));
    panel.show(ui, |ui| {
        let rect = ui.max_rect().expand2(vec2(8.0, 0.0));
        ui.painter().hline(
            rect.x_range(),
            rect.bottom() - 0.5,
            Stroke::new(1.0, t.line),
        );
        ui.horizontal_centered(|ui| {
            ui.spacing_mut().item_spacing.x = 2.0;
            let (logo, _) = ui.allocate_exact_size(vec2(32.0, 28.0), Sense::hover());
            widgets::logo(
                ui.painter(),
                Rect::from_center_size(logo.center() - vec2(0.0, 1.0), vec2(22.0, 22.0)),
            );
            menu_ui(ui, cx);
            let left = [
                (Action::New, tr!("New")),
                (Action::OpenFile, tr!("Open")),
                (Action::Save, tr!("Save")),
                (Action::Write, tr!("Write")),
            ];
            let texts: Vec<&str> = left
                .iter()
                .map(|(_, text)| *text)
                .chain([tr!("Export"), tr!("Tools")])
                .collect();
            let (icons_only, shown) = fitting(ui, &texts, left.len());
            for (action, text) in left.into_iter().take(shown) {
                button_ui(ui, cx, action, if icons_only { "" } else { text });
            }
            if shown < left.len() {
                more_ui(ui, cx, &left[shown..]);
            }
            export_ui(ui, cx, icons_only);
            tools_menu::ui(ui, cx);
            separator(ui);
            button_ui(ui, cx, Action::Undo, "");
            button_ui(ui, cx, Action::Redo, "");
            ui.with_layout(Layout::right_to_left(Align::Center), |ui| right_ui(ui, cx));
        });
    });
}

/// Width that undo, redo, title, search, jobs, theme and settings have beside buttons with texts,
/// in points.
const RIGHT: f32 = 640.0;
/// The same beside buttons without texts.
const RIGHT_NARROW: f32 = 480.0;

/// Whether the buttons of the top bar show icons only, and how many of the first `count` fit; the
/// rest is in a menu.
fn fitting(ui: &Ui, texts: &[&str], count: usize) -> (bool, usize) {
    let room = ui.available_width();
    let full: f32 = texts.iter().map(|text| measure_entry_width(ui, text)).sum();
    if full <= room - RIGHT {
        return (false, count);
    }
    // Export, the tools with their text, and the menu of the rest.
    let kept = 30.0
        + texts
            .last()
            .map_or(0.0, |text| measure_entry_width(ui, text))
        + 30.0;
    (
        true,
        (((room - RIGHT_NARROW - kept) / 30.0).max(0.0) as usize).min(count),
    )
}

fn measure_entry_width(ui: &Ui, text: &str) -> f32 {
    paint::measure_text_width(
        ui.painter(),
        text,
        font::regular(13.0),
        egui::Color32::WHITE,
    ) + 40.0
}

/// The entry of an action in a menu, which does it when clicked.
fn action_entry_ui(ui: &mut Ui, cx: &mut PanelContext<'_>, action: Action) {
    let (info, reason) = (action.info(), disabled_reason(action, cx));
    let keys = action.keys_text();
    if widgets::menu_entry(ui, info.icon, info.text, &keys, reason.as_deref()).clicked() {
        cx.request(Request::Do(action));
        ui.close();
    }
}

/// The buttons for which the window is too narrow, as a menu.
fn more_ui(ui: &mut Ui, cx: &mut PanelContext<'_>, actions: &[(Action, &'static str)]) {
    let button = ui.add(Button::bar(icons::DOTS_THREE, "").name(tr!("More commands")));
    Popup::menu(&button).show(|ui| {
        ui.spacing_mut().item_spacing.y = 0.0;
        for &(action, _) in actions {
            action_entry_ui(ui, cx, action);
        }
    });
}

fn separator(ui: &mut Ui) {
    let (rect, _) = ui.allocate_exact_size(vec2(13.0, 18.0), Sense::hover());
    ui.painter().vline(
        rect.center().x.round() + 0.5,
        rect.y_range(),
        Stroke::new(1.0, theme::tokens(ui).line2),
    );
}

fn button_ui(ui: &mut Ui, cx: &mut PanelContext<'_>, action: Action, text: &'static str) {
    let info = action.info();
    let label = match action {
        Action::Undo => cx
            .document()
            .and_then(|document| document.draft()?.undo_label())
            .map(|label| tr!("Undo: {label}", label)),
        Action::Redo => cx
            .document()
            .and_then(|document| document.draft()?.redo_label())
            .map(|label| tr!("Redo: {label}", label)),
        _ => None,
    };
    let keys = action.keys_text();
    let tooltip = format!("{} ({keys})", label.as_deref().unwrap_or(info.tooltip));
    let button = Button::bar(info.icon, text)
        .name(info.text)
        .tooltip(tooltip)
        .with_disabled_reason(disabled_reason(action, cx));
    if ui.add(button).clicked() {
        cx.request(Request::Do(action));
    }
}

fn menu_ui(ui: &mut Ui, cx: &mut PanelContext<'_>) {
    let button = ui.add(
        Button::bar(icons::LIST, "")
            .name(tr!("Menu"))
            .tooltip(tr!("Every command")),
    );
    Popup::menu(&button).show(|ui| {
        ui.set_min_width(200.0);
        for menu in Menu::ALL {
            ui.menu_button(
                theme::rich_text(menu.title()).font(font::regular(12.0)),
                |ui| {
                    widgets::menu_scroll(ui, |ui| {
                        ui.spacing_mut().item_spacing.y = 0.0;
                        for &action in Action::ALL
                            .iter()
                            .filter(|action| action.info().menu == menu)
                        {
                            action_entry_ui(ui, cx, action);
                        }
                    });
                },
            );
        }
    });
}

/// The export menu: catalogue formats, a subset, migration to 2.0.
fn export_ui(ui: &mut Ui, cx: &mut PanelContext<'_>, icon_only: bool) {
    let reason = disabled_reason(Action::ExportSubset, cx);
    let text = if icon_only { "" } else { tr!("Export") };
    let button = Button::bar(icons::ARROW_SQUARE_OUT, text)
        .name(tr!("Export"))
        .tooltip(tr!("Data cards, catalogues, a subset"))
        .with_disabled_reason(reason);
    let button = ui.add(button);
    Popup::menu(&button).show(|ui| {
        ui.set_min_width(220.0);
        ui.spacing_mut().item_spacing.y = 0.0;
        for form in Catalogue::ALL {
            let text = format!("{}…", crate::text::translate_text(form.title()));
            if widgets::menu_entry(
                ui,
                icons::FILE_TEXT,
                &text,
                "",
                disabled_reason(Action::Describe, cx).as_deref(),
            )
            .clicked()
            {
                cx.request(Request::Describe(form));
                ui.close();
            }
        }
        ui.separator();
        for action in [
            Action::Publish,
            Action::ExportSubset,
            Action::Convert,
            Action::WriteOlder,
            Action::Optimise,
            Action::Migrate,
        ] {
            let info = action.info();
            if widgets::menu_entry(
                ui,
                info.icon,
                info.text,
                "",
                disabled_reason(action, cx).as_deref(),
            )
            .clicked()
            {
                cx.request(Request::Do(action));
                ui.close();
            }
        }
    });
}

/// Theme, jobs and search from right to left; the title takes the remaining width.
fn right_ui(ui: &mut Ui, cx: &mut PanelContext<'_>) {
    let t = theme::tokens(ui);
    let settings = Action::Settings.info();
    let tooltip = format!("{} ({})", settings.tooltip, Action::Settings.keys_text());
    if ui
        .add(
            Button::bar(icons::GEAR_SIX, "")
                .name(settings.text)
                .tooltip(tooltip),
        )
        .clicked()
    {
        cx.request(Request::Do(Action::Settings));
    }
    let icon = if t.dark { icons::MOON } else { icons::SUN };
    let theme = if t.dark {
        tr!("Switch to the light theme")
    } else {
        tr!("Switch to the dark theme")
    };
    if ui.add(Button::bar(icon, "").name(theme)).clicked() {
        cx.request(Request::Do(Action::ToggleTheme));
    }
    jobs_ui(ui, cx);
    ui.add_space(12.0);
    let room = ui.available_width();
    search_ui(ui, cx, (room * 0.45).clamp(60.0, 330.0));
    ui.add_space(8.0);
    let rest = ui.available_rect_before_wrap();
    ui.scope_builder(
        egui::UiBuilder::new()
            .max_rect(rest)
            .layout(Layout::left_to_right(Align::Center)),
        |ui| title_ui(ui, cx),
    );
}

fn jobs_ui(ui: &mut Ui, cx: &mut PanelContext<'_>) {
    let running: Vec<_> = cx.session.jobs.running().collect();
    let text = match running.as_slice() {
        [] if cx.studio.is_checking() => match cx
            .studio
            .check_progress()
            .and_then(|progress| progress.fraction())
        {
            Some(part) => tr!(
                "Checking {percent} %",
                percent = format!("{:.0}", part * 100.0)
            ),
            None => tr!("Checking").to_owned(),
        },
        [] => tr!("No jobs").to_owned(),
        [job] => match job.progress.fraction() {
            Some(fraction) => tr!(
                "1 job {percent} %",
                percent = format!("{:.0}", fraction * 100.0)
            ),
            None => tr!("1 job {time}", time = time_text(job.elapsed)),
        },
        jobs => tr_n!(jobs.len(), "{n} job", "{n} jobs", n = jobs.len()),
    };
    let icon = if running.is_empty() {
        icons::QUEUE
    } else {
        icons::CIRCLE_NOTCH
    };
    if ui
        .add(Button::bar(icon, text).tooltip(tr!("Show the jobs")))
        .clicked()
    {
        cx.request(Request::Do(Action::ShowJobs));
    }
}

fn search_ui(ui: &mut Ui, cx: &mut PanelContext<'_>, width: f32) {
    let t = theme::tokens(ui);
    let (rect, response) = ui.allocate_exact_size(vec2(width, 26.0), Sense::click());
    response.widget_info(|| WidgetInfo::labeled(Role::Button, true, Action::Palette.info().text));
    let border = if response.hovered() { t.ctl } else { t.line2 };
    ui.painter().rect(
        rect,
        4,
        t.input,
        Stroke::new(1.0, border),
        StrokeKind::Inside,
    );
    paint::draw_icon(
        ui.painter(),
        pos2(rect.left() + 15.0, rect.center().y),
        icons::MAGNIFYING_GLASS,
        14.0,
        t.tx3,
    );
    let mut inner = Rect::from_min_max(
        pos2(rect.left() + 28.0, rect.top()),
        pos2(rect.right() - 6.0, rect.bottom()),
    );
    let keys = Action::Palette.keys_text();
    let cap_width = widgets::key_cap_width(ui, &keys);
    if width > 160.0 {
        let cap = Rect::from_center_size(
            pos2(inner.right() - cap_width / 2.0, rect.center().y),
            vec2(cap_width, 17.0),
        );
        ui.painter()
            .rect(cap, 3, t.bg1, Stroke::new(1.0, t.line2), StrokeKind::Inside);
        paint::text_center(ui.painter(), cap, &keys, font::mono(11.0), t.tx3);
        inner.max.x = cap.left() - 6.0;
    }
    paint::text_left(
        ui.painter(),
        inner,
        tr!("Search commands"),
        font::regular(13.0),
        t.tx3,
    );
    paint::focus_ring(ui, &response, 4);
    if response.clicked() {
        cx.request(Request::Do(Action::Palette));
    }
}

fn title_ui(ui: &mut Ui, cx: &mut PanelContext<'_>) {
    let t = theme::tokens(ui);
    if let Some(name) = opening::name(cx) {
        separator(ui);
        let text = theme::rich_text(tr!("Opening {name}", name))
            .font(font::semibold(13.0))
            .color(t.tx);
        ui.add(egui::Label::new(text).truncate());
        return;
    }
    let Some(document) = cx.document() else {
        return;
    };
    ui.spacing_mut().item_spacing.x = 8.0;
    separator(ui);
    let title = document.title();
    let badge = match document.format() {
        Some(format) => tr!("{format}, read-only", format = format.badge()),
        None => tr!("Draft").to_owned(),
    };
    let room =
        ui.available_width() - widgets::badge_width(ui, Some(icons::PENCIL_SIMPLE), &badge) - 16.0;
    if room < 40.0 {
        return;
    }
    ui.scope(|ui| {
        ui.set_max_width(room);
        ui.add(
            egui::Label::new(
                theme::rich_text(title.as_ref())
                    .font(font::semibold(13.0))
                    .color(t.tx),
            )
            .truncate(),
        );
    });
    match document.draft() {
        Some(draft) => {
            widgets::badge(ui, Tone::Accent, Some(icons::PENCIL_SIMPLE), &badge);
            let text = match draft.unsaved_changes() {
                _ if draft.is_written() => tr!("no changes since it was written").to_owned(),
                Some(0) => tr!("no changes since it was saved").to_owned(),
                changes => {
                    let changes = changes.unwrap_or(draft.steps() as u64);
                    tr_n!(
                        changes,
                        "{n} change",
                        "{n} changes",
                        n = paint::format_grouped_number(changes)
                    )
                }
            };
            if ui.available_width() > 120.0 && draft.steps() > 0 {
                ui.add(
                    egui::Label::new(
                        theme::rich_text(text)
                            .text_style(text_style("small12"))
                            .color(t.tx2),
                    )
                    .truncate(),
                );
            }
        }
        None => drop(widgets::badge(
            ui,
            Tone::Info,
            Some(icons::LOCK_SIMPLE),
            &badge,
        )),
    }
}

/// Draws the status bar.
pub fn status_ui(ui: &mut Ui, cx: &mut PanelContext<'_>) {
    let t = theme::tokens(ui);
    let panel = Panel::bottom("status")
        .exact_size(STATUS)
        .resizable(false)
        .show_separator_line(false)
        .frame(bar(ui).inner_margin(Margin::symmetric(4, 0)));
    panel.show(ui, |ui| {
        let rect = ui.max_rect().expand2(vec2(4.0, 0.0));
        ui.painter()
            .hline(rect.x_range(), rect.top() + 0.5, Stroke::new(1.0, t.line));
        ui.horizontal_centered(|ui| {
            ui.spacing_mut().item_spacing.x = 0.0;
            if let Some(name) = opening::name(cx) {
                part(
                    ui,
                    Some((icons::PACKAGE, t.tx3)),
                    &tr!("Opening {name}", name),
                    false,
                );
                return;
            }
            let Some(document) = cx.document() else {
                part(ui, None, tr!("No dataset open"), false);
                return;
            };
            part(ui, Some((icons::PACKAGE, t.tx3)), &document.title(), true);
            part(ui, None, &place_text(document), false);
            let levels: Vec<String> = (0..document.tree().levels.len())
                .map(|level| {
                    format!(
                        "L{level} {}",
                        paint::format_grouped_number(document.rows(level) as u64)
                    )
                })
                .collect();
            let totals = cx.session.totals();
            let padded = match totals.padded {
                0 => String::new(),
                padded => format!(
                    " {}",
                    tr_n!(
                        padded,
                        "({n} padded)",
                        "({n} padded)",
                        n = paint::format_grouped_number(padded)
                    )
                ),
            };
            if !levels.is_empty() {
                part(ui, None, &format!("{}{padded}", levels.join(" ")), true);
            }
            if let Some(bytes) = totals.bytes {
                part(ui, None, &paint::format_bytes(bytes), true);
            }
            checks_part(ui, cx);
            if document.draft().is_some_and(|draft| draft.is_dirty())
                && cx.studio.journal().is_some()
                && let Some(at) = cx.session.autosaving.edited_s
            {
                ui.with_layout(Layout::right_to_left(Align::Center), |ui| {
                    part(ui, None, &autosaved_text(at), false)
                });
            }
        });
    });
}

/// Path of the draft's project file, or the state of autosave.
fn place_text(document: &Document) -> String {
    match document {
        Document::Opened(_) => tr!("Read-only").to_owned(),
        Document::Draft(draft) => match draft.project().and_then(|path| path.file_name()) {
            Some(name) => name.to_string_lossy().into_owned(),
            None => tr!("Draft in memory").to_owned(),
        },
    }
}

/// `Autosaved 14:32`.
fn autosaved_text(at: u64) -> String {
    let time = chrono::DateTime::from_timestamp(at as i64, 0)
        .map(|time| time.with_timezone(&chrono::Local));
    time.map_or_else(
        || tr!("Autosaved").to_owned(),
        |time| tr!("Autosaved {time}", time = time.format("%H:%M")),
    )
}

fn checks_part(ui: &mut Ui, cx: &mut PanelContext<'_>) {
    let t = theme::tokens(ui);
    if let Some(OutdatedReport::Failed(_)) = cx.studio.find_report_delay() {
        let icon = Some((icons::WARNING_OCTAGON, t.err));
        return part(ui, icon, tr!("Check failed"), false);
    }
    let status = cx.session.status.samples.clone();
    let (icon, text) = match (status.has_check_result(), status.errors, status.warnings) {
        (false, _, _) if cx.studio.is_busy() => return,
        (false, _, _) => (None, tr!("Not checked").to_owned()),
        (true, 0, 0) => (Some((icons::CHECK_CIRCLE, t.ok)), tr!("Valid").to_owned()),
        (true, 0, warnings) => (
            Some((icons::WARNING, t.warn)),
            describe_warning_count(warnings),
        ),
        (true, errors, 0) => (
            Some((icons::WARNING_OCTAGON, t.err)),
            describe_error_count(errors),
        ),
        (true, errors, warnings) => (
            Some((icons::WARNING_OCTAGON, t.err)),
            format!(
                "{}, {}",
                describe_error_count(errors),
                describe_warning_count(warnings)
            ),
        ),
    };
    part(ui, icon, &text, false);
}

fn part(ui: &mut Ui, icon: Option<(&str, egui::Color32)>, text: &str, mono: bool) {
    let t = theme::tokens(ui);
    let size = if mono {
        font::mono(11.0)
    } else {
        font::regular(12.0)
    };
    let galley = paint::layout_cut_line(ui.painter(), text, size.clone(), t.tx2, 420.0);
    let width = galley.size().x + 18.0 + if icon.is_some() { 19.0 } else { 0.0 };
    let (rect, response) = ui.allocate_exact_size(vec2(width.round(), STATUS), Sense::hover());
    response.widget_info(|| WidgetInfo::labeled(Role::Status, true, text));
    let mut inner = rect.shrink2(vec2(9.0, 0.0));
    if let Some((icon, color)) = icon {
        paint::draw_icon(
            ui.painter(),
            pos2(inner.left() + 7.0, rect.center().y),
            icon,
            14.0,
            color,
        );
        inner.min.x += 19.0;
    }
    paint::text_left(
        ui.painter(),
        inner.expand2(vec2(1.0, 0.0)).translate(vec2(1.0, 0.0)),
        text,
        size,
        t.tx2,
    );
    ui.painter()
        .vline(rect.right() - 0.5, rect.y_range(), Stroke::new(1.0, t.line));
}
