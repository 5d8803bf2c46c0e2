//! The tray of unplaced files below the hierarchy: a virtual list with a filter. Files are dragged
//! from here to their position, placed by command, or used as examples for the pattern.

pub mod state;

use std::path::{Path, PathBuf};
use std::sync::Arc;

use egui::{
    Align, Frame, Layout, Margin, Popup, Rect, Response, Role, Sense, Stroke, Ui, UiBuilder,
    WidgetInfo, pos2, vec2,
};

use crate::draft::{Example, Unplaced};
use crate::gui::action::Action;
use crate::gui::action_enabled::disabled_reason;
use crate::gui::drag::{self, Dragged};
use crate::gui::outline::matches;
use crate::gui::pane::Pane;
use crate::gui::panel_context::{PanelContext, Request};
use crate::gui::theme::{self, font};
use crate::gui::widgets::{self, Button, TextField, Tone, VirtualRows, paint};
use crate::gui::{dropped_paths, icons};
use crate::studio::{Command, Document};
use state::TrayState;

const HEAD: f32 = 30.0;
const ROW: f32 = 24.0;
/// Height of the line that offers to join a table.
const JOIN: f32 = 30.0;
/// Width of the count and three buttons in the header, in points.
const BESIDE_TITLE: f32 = 106.0;
/// The filter field appears from this number of files.
const FILTER_FROM: usize = 8;

/// Preferred height of the tray below a hierarchy of height `available`, in points.
pub fn height(
    panel: &mut TrayState,
    cx: &mut PanelContext<'_>,
    document: &Document,
    room: f32,
) -> f32 {
    let Some(draft) = document.draft() else {
        return 0.0;
    };
    if cx.session.selection.files.follow_tray(draft.tray()) {
        panel.forget_cursor();
    }
    let files = draft.tray().len();
    let filter = if files >= FILTER_FROM { 34.0 } else { 0.0 }
        + if cx.session.selection.files.table.is_some() {
            JOIN
        } else {
            0.0
        };
    let rows = (files.max(1) as f32 * ROW).min(if files == 0 { 0.0 } else { f32::MAX });
    (HEAD + filter + rows + 4.0).min((room * 0.42).max(HEAD))
}

/// Draws the panel.
pub fn ui(ui: &mut Ui, panel: &mut TrayState, cx: &mut PanelContext<'_>, document: &Document) {
    let Some(draft) = document.draft() else {
        return;
    };
    let t = theme::tokens(ui);
    let area = ui.max_rect();
    ui.painter()
        .hline(area.x_range(), area.top() + 0.5, Stroke::new(1.0, t.line));
    let (head, rest) = area.split_top_bottom_at_y(area.top() + HEAD);
    ui.scope_builder(
        UiBuilder::new().max_rect(head.shrink2(vec2(8.0, 0.0))),
        |ui| head_ui(ui, cx, draft.tray().len()),
    );
    if draft.tray().is_empty() {
        return;
    }
    let mut list = rest;
    if draft.tray().len() >= FILTER_FROM {
        list.min.y += 34.0;
        let field = Rect::from_min_max(rest.min, pos2(rest.right(), list.top()));
        ui.scope_builder(UiBuilder::new().max_rect(field), |ui| {
            Frame::NONE
                .inner_margin(Margin {
                    left: 8,
                    right: 8,
                    top: 2,
                    bottom: 4,
                })
                .show(ui, |ui| {
                    TextField::new(tr!("Filter unplaced files"), &mut panel.filter)
                        .hide_label()
                        .quiet()
                        .icon(icons::FUNNEL)
                        .hint(tr!("Filter names, e.g. *_T18LTM_*"))
                        .show(ui);
                });
        });
    }
    if let Some(table) = cx.session.selection.files.table.clone() {
        let line = list.with_max_y(list.top() + JOIN);
        list.min.y += JOIN;
        ui.scope_builder(
            UiBuilder::new().max_rect(line.shrink2(vec2(8.0, 2.0))),
            |ui| join_ui(ui, cx, table),
        );
    }
    filter(panel, cx);
    ui.scope_builder(UiBuilder::new().max_rect(list).id_salt("tray"), |ui| {
        list_ui(ui, panel, cx)
    });
}

/// Draws the offer to join a table that came with the files.
fn join_ui(ui: &mut Ui, cx: &mut PanelContext<'_>, table: PathBuf) {
    let t = theme::tokens(ui);
    ui.horizontal_centered(|ui| {
        let name = table
            .file_name()
            .unwrap_or_default()
            .to_string_lossy()
            .into_owned();
        let tip =
            tr!("Adds its columns to the samples that its rows name; shows first what matches");
        let button = Button::secondary(tr!("Join"))
            .icon(icons::TABLE)
            .name(tr!("Join {table}", table = name))
            .tooltip(tip);
        if ui.add(button).clicked() {
            cx.request(Request::JoinTable(table));
        }
        ui.add(
            egui::Label::new(theme::rich_text(name).font(font::mono(11.5)).color(t.tx2)).truncate(),
        );
    });
}

/// Draws the button for watched folders.
fn watch_ui(ui: &mut Ui, cx: &mut PanelContext<'_>, t: &theme::ThemeTokens) {
    let folders: Vec<PathBuf> = cx.studio.watched_folders().map(Path::to_path_buf).collect();
    let count = folders.len() as u64;
    let tooltip = match folders.as_slice() {
        [] => Action::Watch.info().tooltip.to_owned(),
        [one] => tr!(
            "New files of {folder} come into the tray",
            folder = dropped_paths::display_path(one)
        ),
        _ => tr_n!(
            count,
            "New files of {n} folder come into the tray",
            "New files of {n} folders come into the tray",
            n = count
        ),
    };
    let mut button = Button::icon_only(icons::EYE, tr!("Watched folders"))
        .tooltip(tooltip)
        .with_selected_state(!folders.is_empty());
    if !folders.is_empty() {
        button = button.icon_color(t.acc);
    }
    let eye = ui.add(button);
    if folders.is_empty() {
        if eye.clicked() {
            cx.request(Request::Do(Action::Watch));
        }
        return;
    }
    Popup::menu(&eye).show(|ui| {
        for folder in folders {
            if let Some(interval) = cx.studio.find_listing_interval(&folder) {
                let text = tr!(
                    "{folder} is listed every {seconds} s: not all of its changes are reported",
                    folder = dropped_paths::display_path(&folder),
                    seconds = interval.as_secs()
                );
                ui.label(theme::style_small_text(text, t.tx2));
            }
            let text = tr!(
                "Stop watching {folder}",
                folder = dropped_paths::display_path(&folder)
            );
            if widgets::menu_entry(ui, icons::X, &text, "", None).clicked() {
                cx.run(Command::Unwatch { folder });
                ui.close();
            }
        }
        let info = Action::Watch.info();
        if widgets::menu_entry(ui, info.icon, info.text, "", None).clicked() {
            cx.request(Request::Do(Action::Watch));
            ui.close();
        }
    });
}

fn head_ui(ui: &mut Ui, cx: &mut PanelContext<'_>, files: usize) {
    let t = theme::tokens(ui);
    ui.horizontal_centered(|ui| {
        ui.spacing_mut().item_spacing.x = 5.0;
        ui.label(
            theme::rich_text(icons::TRAY)
                .font(font::icon(15.0))
                .color(t.tx2),
        );
        let title = theme::rich_text(tr!("Unplaced files"))
            .font(font::semibold(12.0))
            .color(t.tx);
        // Buttons and count keep their width; the title is truncated.
        let words = paint::measure_text_width(
            ui.painter(),
            tr!("Unplaced files"),
            font::semibold(12.0),
            t.tx,
        );
        let width = (ui.available_width() - BESIDE_TITLE).clamp(0.0, words.ceil() + 1.0);
        if width > 20.0 {
            ui.add_sized(vec2(width, 18.0), egui::Label::new(title).truncate());
        }
        widgets::count_badge(ui, files as u64, Tone::Neutral);
        ui.with_layout(Layout::right_to_left(Align::Center), |ui| {
            ui.spacing_mut().item_spacing.x = 2.0;
            let add = Button::icon_only(icons::PLUS, tr!("Add unplaced files"))
                .tooltip(Action::AddUnplaced.info().tooltip);
            if ui.add(add).clicked() {
                cx.request(Request::Do(Action::AddUnplaced));
            }
            watch_ui(ui, cx, t);
            let reason = disabled_reason(Action::MatchPattern, cx);
            // A ghost button with an icon and a gap of 5 points.
            let fits = |text: &&str| Button::width_of(ui, text) + 19.0 <= ui.available_width();
            let button = match [tr!("Match by pattern"), tr!("Match")]
                .into_iter()
                .find(fits)
            {
                Some(text) => Button::ghost(text)
                    .name(tr!("Match by pattern"))
                    .icon(icons::MAGIC_WAND),
                None => Button::icon_only(icons::MAGIC_WAND, tr!("Match by pattern")),
            };
            let button = button.with_disabled_reason(reason);
            if ui
                .add(button.tooltip(Action::MatchPattern.info().tooltip))
                .clicked()
            {
                cx.request(Request::Do(Action::MatchPattern));
            }
        });
    });
}

fn filter(panel: &mut TrayState, cx: &mut PanelContext<'_>) {
    let key = cx.document_key();
    let wanted = panel.filter.trim().to_owned();
    if wanted.is_empty() {
        return;
    }
    let tray = cx.session.selection.files.tray.clone();
    panel.shown.update(
        cx.jobs,
        (key, wanted.clone()),
        tr!("Filter unplaced files"),
        move |ctx| {
            let mut kept = Vec::new();
            for (place, file) in (0..).zip(tray.iter()) {
                if place % 4096 == 0 {
                    ctx.check()?;
                }
                if matches(&wanted, &drag::file_name(file)) {
                    kept.push(place);
                }
            }
            Ok(Arc::new(kept))
        },
    );
}

fn list_ui(ui: &mut Ui, panel: &mut TrayState, cx: &mut PanelContext<'_>) {
    let t = theme::tokens(ui);
    let files = &mut cx.session.selection.files;
    let rows = panel.rows(files);
    if rows == 0 {
        files.focused = false;
        if panel.shown.is_pending() {
            return;
        }
        let rect = ui.max_rect().shrink2(vec2(12.0, 4.0));
        let text = tr!("No name fits the filter");
        paint::text_left(
            ui.painter(),
            rect.with_max_y(rect.top() + ROW),
            text,
            font::regular(12.0),
            t.tx2,
        );
        return;
    }
    let mut scroll = panel.scroll;
    // A drag carries the selected files.
    let carried = drag::dragged_payload(ui.ctx());
    let carried = matches!(carried.as_deref(), Some(Dragged::Files(_)));
    let (mut begun, mut requests) = (None, Vec::new());
    let list = VirtualRows::new(tr!("Unplaced files"), rows)
        .cursor(panel.cursor)
        .sense(Sense::CLICK | Sense::DRAG);
    let list = list.role(Role::List);
    let out = list.show(ui, &mut scroll, |ui, row, rect, response| {
        let Some((place, file)) = panel
            .place(files, row)
            .and_then(|place| Some((place, files.tray.get(place as usize)?)))
        else {
            return;
        };
        let chosen = files.chosen.contains(&place);
        row_ui(
            ui,
            rect,
            response,
            file,
            chosen,
            panel.cursor == Some(row),
            carried && chosen,
        );
        if response.drag_started() {
            begun = Some((row, chosen));
        }
        response.context_menu(|ui| menu_ui(ui, &mut requests, row));
    });
    let (several, range) = ui.input(|input| (input.modifiers.command, input.modifiers.shift));
    let focused = out.response.has_focus();
    panel.scroll = scroll;
    files.focused = focused;
    if let Some(row) = out.clicked {
        panel.select(files, row, several, range);
    } else if let Some(row) = out.moved_to {
        panel.select(files, row, false, range);
    }
    if let Some((row, chosen)) = begun {
        if !chosen {
            panel.select(files, row, false, false);
        }
        drag::begin(ui.ctx(), Dragged::Files(files.selected_files()));
    }
    if focused && ui.input_mut(|input| input.consume_key(egui::Modifiers::COMMAND, egui::Key::A)) {
        files.chosen = (0..rows)
            .filter_map(|row| panel.place(files, row))
            .collect();
    }
    if out.entered || out.double_clicked.is_some() {
        cx.requests.push(Request::Do(Action::Place));
    }
    for (row, entry) in requests {
        if !panel
            .place(files, row)
            .is_some_and(|place| files.chosen.contains(&place))
        {
            panel.select(files, row, false, false);
        }
        match entry {
            TrayEntry::Do(action) => cx.requests.push(Request::Do(action)),
            TrayEntry::Copy => {
                let paths: Vec<String> = files
                    .selected_files()
                    .iter()
                    .map(|file| file.path.display().to_string())
                    .collect();
                cx.requests.push(Request::Copy(paths.join("\n")));
            }
            TrayEntry::Example => {
                for file in files.selected_files().into_iter().take(2) {
                    cx.requests.push(Request::PatternExample(
                        Example {
                            file: file.path,
                            root: "".into(),
                            position: Vec::new(),
                        },
                        None,
                    ));
                }
                cx.requests.push(Request::Show(Pane::Pattern));
            }
            TrayEntry::Remove => cx.requests.extend(files.removal().map(Request::Run)),
        }
    }
}

#[derive(Clone, Copy)]
enum TrayEntry {
    Do(Action),
    Copy,
    Example,
    Remove,
}

fn menu_ui(ui: &mut Ui, requests: &mut Vec<(u64, TrayEntry)>, row: u64) {
    let place = Action::Place.info();
    let keys = Action::Place.keys_text();
    for (icon, text, keys, entry) in [
        (
            place.icon,
            place.text,
            keys.as_str(),
            TrayEntry::Do(Action::Place),
        ),
        (
            icons::MAGIC_WAND,
            tr!("Use as an example"),
            "",
            TrayEntry::Example,
        ),
        (icons::COPY, tr!("Copy path"), "", TrayEntry::Copy),
        (
            icons::TRASH,
            tr!("Take out of the tray"),
            "Del",
            TrayEntry::Remove,
        ),
    ] {
        if widgets::menu_entry(ui, icon, text, keys, None).clicked() {
            requests.push((row, entry));
            ui.close();
        }
    }
}

fn row_ui(
    ui: &Ui,
    rect: Rect,
    response: &Response,
    file: &Unplaced,
    chosen: bool,
    cursor: bool,
    going: bool,
) {
    let t = theme::tokens(ui);
    let name = drag::file_name(file);
    response.widget_info(|| WidgetInfo::selected(Role::ListItem, true, chosen, &name));
    let painter = ui.painter();
    paint::row_background(painter, t, rect, chosen, response.hovered() || cursor);
    // The file that was dragged is no longer in the tray.
    let (ink, weak) = if going { (t.txd, t.txd) } else { (t.tx, t.tx3) };
    paint::draw_icon(
        painter,
        pos2(rect.left() + 17.0, rect.center().y),
        icons::of_file(&name),
        14.0,
        weak,
    );
    let inner = Rect::from_min_max(
        pos2(rect.left() + 29.0, rect.top()),
        pos2(rect.right() - 10.0, rect.bottom()),
    );
    let end = paint::text_right(
        painter,
        inner,
        &paint::format_bytes(file.size),
        font::mono(11.0),
        weak,
    ) - 8.0;
    paint::text_left(painter, inner.with_max_x(end), &name, font::mono(11.5), ink);
    if !going {
        response
            .clone()
            .on_hover_text(theme::rich_text(file.path.display().to_string()));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::gui::tray_selection::TraySelection;

    fn tray(names: &[&str]) -> Arc<[Unplaced]> {
        names
            .iter()
            .map(|name| Unplaced::file(format!("/in/{name}"), 1))
            .collect()
    }

    fn names(files: &TraySelection) -> Vec<String> {
        files.selected_files().iter().map(drag::file_name).collect()
    }

    #[test]
    fn files_are_selected_one_by_one_in_ranges_and_stay_so() {
        let (mut state, mut files) = (TrayState::default(), TraySelection::default());
        assert!(files.follow_tray(&tray(&["a", "b", "c", "d"])));
        state.select(&mut files, 1, false, false);
        state.select(&mut files, 3, true, false);
        assert_eq!(names(&files), ["b", "d"]);
        state.select(&mut files, 1, true, false);
        assert_eq!(names(&files), ["d"], "a second time takes it out");
        state.select(&mut files, 2, false, false);
        state.select(&mut files, 0, false, true);
        assert_eq!(names(&files), ["a", "b", "c"]);
        assert!(files.follow_tray(&tray(&["x", "c", "b"])));
        state.forget_cursor();
        assert_eq!(
            names(&files),
            ["c", "b"],
            "what is still there stays selected"
        );
        state.select(&mut files, 9, false, false);
        assert_eq!(names(&files), ["c", "b"], "there is no such row");
    }
}
