//! The welcome screen: ways to start, recent datasets, drop zone.

mod recoverable_drafts;
pub mod state;

use std::path::PathBuf;

use egui::{
    Align, Color32, Frame, Layout, Margin, Rect, Response, Role, ScrollArea, Sense, Stroke,
    StrokeKind, Ui, UiBuilder, WidgetInfo, pos2, vec2,
};

use crate::container::aside_of;
use crate::gui::action::Action;
use crate::gui::counted_texts;
use crate::gui::dropped_paths;
use crate::gui::file_dialog::FileRequest;
use crate::gui::icons;
use crate::gui::panel_context::{PanelContext, Request};
use crate::gui::theme::{self, ThemeTokens, font, text_style};
use crate::gui::view_state::{Recent, now_s};
use crate::gui::widgets::{self, Tone, paint};
use crate::model::is_remote;
use state::WelcomePage;

const WIDEST: f32 = 1140.0;

/// Draws the screen.
pub fn ui(ui: &mut Ui, panel: &mut WelcomePage, cx: &mut PanelContext<'_>) {
    let t = theme::tokens(ui);
    ui.painter().rect_filled(ui.max_rect(), 0, t.bg1);
    ScrollArea::vertical().auto_shrink(false).show(ui, |ui| {
        let width = (ui.available_width() - 48.0).min(WIDEST);
        let left = ((ui.available_width() - width) / 2.0).floor();
        ui.horizontal_top(|ui| {
            ui.add_space(left);
            ui.vertical(|ui| {
                ui.set_width(width);
                ui.add_space((ui.available_height() * 0.06).clamp(16.0, 36.0));
                title_ui(ui, t);
                ui.add_space(28.0);
                if width > 760.0 {
                    ui.horizontal_top(|ui| {
                        ui.spacing_mut().item_spacing.x = 48.0;
                        let start = (width * 0.38).floor();
                        ui.vertical(|ui| {
                            ui.set_width(start);
                            start_ui(ui, cx);
                        });
                        ui.vertical(|ui| {
                            ui.set_width(width - start - 48.0);
                            recent_ui(ui, panel, cx);
                        });
                    });
                } else {
                    start_ui(ui, cx);
                    ui.add_space(16.0);
                    recent_ui(ui, panel, cx);
                }
                ui.add_space(24.0);
                drop_ui(ui, cx);
                ui.add_space(12.0);
                foot_ui(ui, cx);
                ui.add_space(16.0);
            });
        });
    });
}

fn title_ui(ui: &mut Ui, t: &ThemeTokens) {
    ui.horizontal(|ui| {
        let (rect, _) = ui.allocate_exact_size(vec2(44.0, 44.0), Sense::hover());
        widgets::logo(ui.painter(), rect);
        ui.add_space(4.0);
        ui.vertical(|ui| {
            ui.spacing_mut().item_spacing.y = 0.0;
            ui.label(
                theme::rich_text("Taco Studio")
                    .text_style(text_style("title"))
                    .color(t.tx),
            );
            ui.label(theme::rich_text(tr!("Build, check and explore TACO datasets")).color(t.tx2));
        });
    });
}

pub(super) fn heading(ui: &mut Ui, text: &str) {
    let t = theme::tokens(ui);
    let (rect, response) = ui.allocate_exact_size(vec2(ui.available_width(), 24.0), Sense::hover());
    response.widget_info(|| WidgetInfo::labeled(Role::Heading, true, text));
    paint::text_left(
        ui.painter(),
        rect.shrink2(vec2(12.0, 0.0)),
        text,
        font::semibold(12.0),
        t.tx2,
    );
}

fn start_ui(ui: &mut Ui, cx: &mut PanelContext<'_>) {
    ui.spacing_mut().item_spacing.y = 2.0;
    heading(ui, tr!("Start"));
    let entries = [
        (
            Action::New,
            tr!("New dataset"),
            tr!("An empty draft to drop files into"),
            true,
        ),
        (
            Action::OpenFile,
            tr!("Open file"),
            tr!(".tacozip, or rasters to begin a draft"),
            false,
        ),
        (
            Action::OpenFolder,
            tr!("Open folder"),
            tr!("A FOLDER dataset, or a folder of scenes"),
            false,
        ),
        (
            Action::OpenPath,
            tr!("Open path"),
            tr!("Type or paste a path or an address"),
            false,
        ),
    ];
    for (action, title, what, strong) in entries {
        if entry_ui(
            ui,
            action.info().icon,
            title,
            what,
            &action.keys_text(),
            strong,
        )
        .clicked()
        {
            cx.request(Request::Do(action));
        }
    }
    ui.add_space(12.0);
    heading(ui, tr!("Learn"));
    let (title, what) = (
        tr!("Open the sample dataset"),
        tr!("Small scenes with labels, made on this machine"),
    );
    if entry_ui(ui, icons::FLASK, title, what, "", false).clicked() {
        cx.request(Request::SampleDataset);
    }
    if entry_ui(
        ui,
        icons::PATH,
        tr!("Take the tour"),
        tr!("Eight steps with the sample dataset"),
        "",
        false,
    )
    .clicked()
    {
        cx.request(Request::Do(Action::Tour));
    }
    if entry_ui(
        ui,
        icons::KEYBOARD,
        tr!("Keyboard shortcuts"),
        tr!("Everything can be done from the keyboard"),
        &Action::Shortcuts.keys_text(),
        false,
    )
    .clicked()
    {
        cx.request(Request::Do(Action::Shortcuts));
    }
}

fn entry_ui(
    ui: &mut Ui,
    icon: &str,
    title: &str,
    what: &str,
    keys: &str,
    strong: bool,
) -> Response {
    let t = theme::tokens(ui);
    let (rect, response) = ui.allocate_exact_size(vec2(ui.available_width(), 50.0), Sense::click());
    response.widget_info(|| WidgetInfo::labeled(Role::Button, true, title));
    let painter = ui.painter();
    if response.hovered() || strong {
        painter.rect_filled(rect, 4, if response.hovered() { t.hover } else { t.bg2 });
    }
    let square = Rect::from_min_size(rect.min + vec2(12.0, 9.0), vec2(32.0, 32.0));
    painter.rect_filled(square, 4, if strong { t.bg3 } else { t.bg2 });
    paint::draw_icon(
        painter,
        square.center(),
        icon,
        18.0,
        if strong { t.acc } else { t.tx2 },
    );
    let mut text = Rect::from_min_max(
        pos2(square.right() + 12.0, rect.top() + 6.0),
        pos2(rect.right() - 12.0, rect.bottom() - 6.0),
    );
    if !keys.is_empty() {
        let width = widgets::key_cap_width(ui, keys);
        let cap = Rect::from_center_size(
            pos2(text.right() - width / 2.0, rect.center().y),
            vec2(width, 17.0),
        );
        painter.rect(cap, 3, t.bg1, Stroke::new(1.0, t.line2), StrokeKind::Inside);
        paint::text_center(painter, cap, keys, font::mono(11.0), t.tx3);
        text.max.x = cap.left() - 8.0;
    }
    let (upper, lower) = text.split_top_bottom_at_fraction(0.5);
    paint::text_left(painter, upper, title, font::medium(13.0), t.tx);
    paint::text_left(painter, lower, what, font::regular(12.0), t.tx2);
    paint::focus_ring(ui, &response, 4);
    response.on_hover_cursor(egui::CursorIcon::PointingHand)
}

fn recent_ui(ui: &mut Ui, panel: &mut WelcomePage, cx: &mut PanelContext<'_>) {
    let t = theme::tokens(ui);
    recoverable_drafts::ui(ui, panel, cx);
    heading(ui, tr!("Recent"));
    let recent = cx.recent;
    if recent.is_empty() {
        let card = Frame::NONE
            .stroke(Stroke::new(1.0, t.line2))
            .corner_radius(6)
            .inner_margin(Margin::same(16));
        card.show(ui, |ui| {
            ui.set_width(ui.available_width());
            let text = tr!("Datasets that you open are listed here.");
            ui.label(
                theme::rich_text(text)
                    .text_style(text_style("small12"))
                    .color(t.tx2),
            );
        });
        return;
    }
    let shown = recent.len().min(7);
    // In a job: a detached disk may answer slowly.
    let paths: Vec<PathBuf> = recent
        .iter()
        .take(shown)
        .map(|recent| recent.path.clone())
        .collect();
    let asked = paths.clone();
    panel.recent_there.update(
        cx.jobs,
        paths.clone(),
        tr!("Look for recent datasets"),
        move |_| {
            // Old contents that an interrupted write left aside can be restored.
            let there = |path: &PathBuf| {
                is_remote(path) || path.try_exists().unwrap_or(false) || aside_of(path).is_some()
            };
            Ok(asked.iter().map(there).collect())
        },
    );
    let there = panel
        .recent_there
        .get(&paths)
        .and_then(|outcome| outcome.as_ref().ok());
    let height = 53.0 * shown as f32;
    let (card, _) = ui.allocate_exact_size(vec2(ui.available_width(), height), Sense::hover());
    ui.painter()
        .rect_stroke(card, 6, Stroke::new(1.0, t.line2), StrokeKind::Inside);
    let mut requests = Vec::new();
    for (index, recent) in recent.iter().take(shown).enumerate() {
        let rect = Rect::from_min_size(
            card.min + vec2(1.0, 53.0 * index as f32),
            vec2(card.width() - 2.0, 53.0),
        );
        let gone = there
            .and_then(|there| there.get(index))
            .is_some_and(|there| !there);
        recent_row(ui, rect, recent, gone, index + 1 < shown, &mut requests);
    }
    cx.requests.extend(requests);
}

fn recent_row(
    ui: &mut Ui,
    rect: Rect,
    recent: &Recent,
    gone: bool,
    rule: bool,
    requests: &mut Vec<Request>,
) {
    let t = theme::tokens(ui);
    let response = ui.interact(
        rect,
        ui.scope_id().with(("recent", &recent.path)),
        Sense::click(),
    );
    response.widget_info(|| {
        let title = &recent.title;
        let said = if gone {
            tr!("Locate {title}", title)
        } else {
            tr!("Open {title}", title)
        };
        WidgetInfo::labeled(Role::Button, true, said)
    });
    let painter = ui.painter();
    if response.hovered() {
        painter.rect_filled(rect.shrink(1.0), 4, t.hover);
    }
    if rule {
        painter.hline(
            rect.x_range(),
            rect.bottom() - 0.5,
            Stroke::new(1.0, t.line),
        );
    }
    let icon = match recent.badge.as_str() {
        _ if gone => icons::WARNING_OCTAGON,
        "Draft" => icons::PENCIL_SIMPLE,
        "FOLDER" => icons::FOLDER_SIMPLE,
        _ => icons::FILE_ZIP,
    };
    paint::draw_icon(
        painter,
        pos2(rect.left() + 24.0, rect.center().y),
        icon,
        18.0,
        if gone { t.err } else { t.tx2 },
    );
    let inner = Rect::from_min_max(
        pos2(rect.left() + 44.0, rect.top() + 8.0),
        pos2(rect.right() - 14.0, rect.bottom() - 8.0),
    );
    let (upper, lower) = inner.split_top_bottom_at_fraction(0.5);
    let day = upper.with_min_x(upper.right() - 84.0);
    paint::text_right(
        painter,
        day.union(lower.with_min_x(day.left())),
        &day_text(recent.opened_s),
        font::regular(12.0),
        t.tx3,
    );
    let numbers = upper
        .with_min_x(upper.right() - 210.0)
        .with_max_x(day.left() - 8.0);
    let numbers_below = lower.with_min_x(numbers.left()).with_max_x(numbers.right());
    if gone {
        paint::text_right(
            painter,
            numbers,
            tr!("Not found"),
            font::regular(12.0),
            t.err,
        );
        paint::text_right(
            painter,
            numbers_below,
            tr!("Locate…"),
            font::regular(12.0),
            t.info,
        );
    } else {
        let roots = counted_texts::format_roots(recent.roots);
        paint::text_right(painter, numbers, &roots, font::mono(11.0), t.tx);
        let size = recent.size_bytes.map_or(String::new(), paint::format_bytes);
        paint::text_right(painter, numbers_below, &size, font::mono(11.0), t.tx2);
    }
    let text = upper.with_max_x(numbers.left() - 8.0);
    let kind = if recent.badge == "Draft" {
        tr!("Draft")
    } else {
        recent.badge.as_str()
    };
    let badge = widgets::badge_width(ui, None, kind);
    let title = text.with_max_x(text.right() - badge - 8.0);
    let end = paint::text_left(
        painter,
        title,
        &recent.title,
        font::medium(13.0),
        if gone { t.tx2 } else { t.tx },
    );
    let place = Rect::from_min_size(pos2(end + 8.0, text.center().y - 9.0), vec2(badge, 18.0));
    let tone = if recent.badge == "Draft" {
        Tone::Accent
    } else {
        Tone::Neutral
    };
    ui.scope_builder(UiBuilder::new().max_rect(place), |ui| {
        widgets::badge(ui, tone, None, kind)
    });
    let path = dropped_paths::display_path(&recent.path);
    paint::text_left(
        ui.painter(),
        lower.with_max_x(numbers.left() - 8.0),
        &path,
        font::mono(11.0),
        t.tx2,
    );
    paint::focus_ring(ui, &response, 4);
    if response.clicked() {
        requests.push(match gone {
            true if recent.badge == "FOLDER" => Request::ChooseFiles(FileRequest::OpenFolder),
            true => Request::ChooseFiles(FileRequest::Open),
            false => Request::OpenPaths(vec![recent.path.clone()]),
        });
    }
    response.context_menu(|ui| {
        if widgets::menu_entry(ui, icons::COPY, tr!("Copy path"), "", None).clicked() {
            requests.push(Request::Copy(recent.path.display().to_string()));
            ui.close();
        }
        if widgets::menu_entry(ui, icons::X, tr!("Remove from the list"), "", None).clicked() {
            requests.push(Request::Forget(recent.path.clone()));
            ui.close();
        }
    });
}

/// Abbreviated names of the months.
const MONTHS: [&str; 12] = [
    mark!("Jan"),
    mark!("Feb"),
    mark!("Mar"),
    mark!("Apr"),
    mark!("May"),
    mark!("Jun"),
    mark!("Jul"),
    mark!("Aug"),
    mark!("Sep"),
    mark!("Oct"),
    mark!("Nov"),
    mark!("Dec"),
];

/// `Today 14:32`, `Yesterday`, `18 Nov`.
pub(super) fn day_text(opened_s: u64) -> String {
    let (Some(then), Some(now)) = (
        convert_to_local_time(opened_s),
        convert_to_local_time(now_s()),
    ) else {
        return String::new();
    };
    match (now.date_naive() - then.date_naive()).num_days() {
        0 => tr!("Today {time}", time = then.format("%H:%M")),
        1 => tr!("Yesterday").to_owned(),
        _ => format!(
            "{} {}",
            then.format("%d"),
            crate::text::translate_text(MONTHS[chrono::Datelike::month0(&then) as usize])
        ),
    }
}

fn convert_to_local_time(seconds: u64) -> Option<chrono::DateTime<chrono::Local>> {
    chrono::DateTime::from_timestamp(seconds as i64, 0)
        .map(|time| time.with_timezone(&chrono::Local))
}

fn drop_ui(ui: &mut Ui, cx: &mut PanelContext<'_>) {
    let t = theme::tokens(ui);
    let (rect, response) =
        ui.allocate_exact_size(vec2(ui.available_width(), 190.0), Sense::hover());
    let title = if cx.session.environment.drops_blocked {
        tr!("Drops do not reach this window under Wayland")
    } else {
        tr!("Drop files or folders anywhere in this window")
    };
    response.widget_info(|| WidgetInfo::labeled(Role::Label, true, title));
    ui.painter().rect_filled(rect, 6, t.input);
    paint::dashed_rect(ui.painter(), rect, t.ctl);
    let middle = rect.center().x;
    let (icon, color) = if cx.session.environment.drops_blocked {
        (icons::WARNING, t.warn)
    } else {
        (icons::TRAY_ARROW_DOWN, t.acc)
    };
    paint::draw_icon(
        ui.painter(),
        pos2(middle, rect.top() + 44.0),
        icon,
        30.0,
        color,
    );
    let line = Rect::from_min_max(
        pos2(rect.left() + 8.0, rect.top() + 66.0),
        pos2(rect.right() - 8.0, rect.top() + 92.0),
    );
    paint::text_center(ui.painter(), line, title, font::semibold(15.0), t.tx);
    let mut below = Rect::from_min_max(
        pos2(rect.left() + 8.0, line.bottom() + 4.0),
        rect.max - vec2(8.0, 12.0),
    );
    if cx.session.environment.drops_blocked {
        let why = tr!(
            "Start with X11 (XWayland) to drop files, or use Open, or paste paths with Ctrl V."
        );
        paint::text_center(
            ui.painter(),
            below.with_max_y(below.top() + 18.0),
            why,
            font::regular(12.0),
            t.tx2,
        );
        below.min.y += 20.0;
    }
    kinds_ui(ui, t, below);
}

fn kinds_ui(ui: &Ui, t: &ThemeTokens, rect: Rect) {
    let kinds = [
        (
            icons::IMAGE,
            tr!("Rasters or folders"),
            tr!("begin a draft, folders become tortillas"),
        ),
        (
            icons::FILE_ZIP,
            tr!(".tacozip or FOLDER"),
            tr!("open read-only"),
        ),
        (
            icons::BRACKETS_CURLY,
            "COLLECTION.json",
            tr!("fill in the collection form"),
        ),
    ];
    let width =
        |text: &str, size| paint::measure_text_width(ui.painter(), text, size, Color32::WHITE);
    let widths = kinds.map(|(_, title, what)| {
        26.0 + width(title, font::medium(12.0)).max(width(what, font::regular(12.0)))
    });
    let total = widths.iter().sum::<f32>() + 2.0 * 56.0;
    if total > rect.width() {
        return;
    }
    let mut x = rect.center().x - total / 2.0;
    let y = rect.center().y;
    for (index, ((icon, title, what), width)) in kinds.into_iter().zip(widths).enumerate() {
        paint::draw_icon(ui.painter(), pos2(x + 8.0, y), icon, 17.0, t.tx2);
        let text = Rect::from_min_max(pos2(x + 26.0, y - 18.0), pos2(x + width + 2.0, y + 18.0));
        let (upper, lower) = text.split_top_bottom_at_fraction(0.5);
        paint::text_left(ui.painter(), upper, title, font::medium(12.0), t.tx);
        paint::text_left(ui.painter(), lower, what, font::regular(12.0), t.tx2);
        x += width + 56.0;
        if index < 2 {
            ui.painter().vline(
                (x - 28.0).round() + 0.5,
                y - 16.0..=y + 16.0,
                Stroke::new(1.0, t.line2),
            );
        }
    }
}

fn foot_ui(ui: &mut Ui, cx: &mut PanelContext<'_>) {
    let t = theme::tokens(ui);
    ui.horizontal(|ui| {
        ui.label(theme::style_small_text(
            format!("TACO 2.0.0   Taco Studio {}", env!("CARGO_PKG_VERSION")),
            t.tx3,
        ));
        if widgets::link(ui, tr!("About and licences")).clicked() {
            cx.request(Request::Do(Action::About));
        }
        ui.with_layout(Layout::right_to_left(Align::Center), |ui| {
            ui.label(theme::style_small_text(
                tr!("No telemetry. Nothing is read that you do not open."),
                t.tx3,
            ));
        });
    });
}
