//! The log panel, newest line last.

use egui::{Rect, Role, Ui, WidgetInfo, pos2};

use crate::gui::icons;
use crate::gui::panel_context::{PanelContext, Request};
use crate::gui::panels::panel::Panel;
use crate::gui::theme::{self, font};
use crate::gui::widgets::{self, RowScroll, VirtualRows, paint};
use crate::studio::LogLevel;

#[derive(Default)]
pub struct LogPanel;

impl Panel for LogPanel {
    fn contents_ui(&mut self, ui: &mut Ui, cx: &mut PanelContext<'_>) {
        let t = theme::tokens(ui);
        let lines = cx.studio.log_lines();
        if lines.is_empty() {
            widgets::draw_empty_state(
                ui,
                icons::TERMINAL_WINDOW,
                tr!("Nothing logged yet"),
                tr!("Errors, warnings and finished work show here."),
            );
            return;
        }
        let id = ui.scope_id().with("log-scroll");
        let (mut scroll, seen): (RowScroll, usize) =
            ui.data(|data| data.get_temp(id)).unwrap_or_default();
        if seen != lines.len() {
            scroll.reveal(lines.len() as u64 - 1);
        }
        let mut copied = None;
        VirtualRows::new(tr!("Log"), lines.len() as u64)
            .row_height(22.0)
            .show(ui, &mut scroll, |ui, row, rect, response| {
                let line = &lines[row as usize];
                let text = line.text.replace('\n', "  ");
                response.widget_info(|| WidgetInfo::labeled(Role::ListItem, true, &text));
                paint::row_background(ui.painter(), t, rect, false, response.hovered());
                let mut inner = Rect::from_min_max(
                    pos2(rect.left() + 12.0, rect.top()),
                    pos2(rect.right() - 12.0, rect.bottom()),
                );
                let time = chrono::DateTime::<chrono::Local>::from(line.time)
                    .format("%H:%M:%S")
                    .to_string();
                inner.min.x =
                    paint::text_left(ui.painter(), inner, &time, font::mono(11.0), t.tx3) + 10.0;
                let (icon, color, ink) = match line.level {
                    LogLevel::Error => (icons::WARNING_OCTAGON, t.err, t.err),
                    LogLevel::Warning | LogLevel::Info => (icons::INFO, t.tx3, t.tx2),
                };
                paint::draw_icon(
                    ui.painter(),
                    pos2(inner.left() + 7.0, rect.center().y),
                    icon,
                    13.0,
                    color,
                );
                inner.min.x += 22.0;
                paint::text_left(ui.painter(), inner, &text, font::regular(12.0), ink);
                let response = response.clone().on_hover_text(theme::rich_text(&line.text));
                response.context_menu(|ui| {
                    if widgets::menu_entry(ui, icons::COPY, tr!("Copy line"), "", None).clicked() {
                        copied = Some(line.text.clone());
                        ui.close();
                    }
                });
            });
        ui.data_mut(|data| data.insert_temp(id, (scroll, lines.len())));
        if let Some(text) = copied {
            cx.request(Request::Copy(text));
        }
    }
}
