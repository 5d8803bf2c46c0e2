//! Files that are not rasters: formatted JSON, plain text, or a hex dump; vector files with their
//! number of features.

use std::sync::Arc;

use egui::{Frame, Margin, Rect, Role, Ui, WidgetInfo, vec2};

use super::file_view::{first_bytes, view_of};
use super::state::PreviewPanel;
use crate::gui::document_key::DocumentKey;
use crate::gui::icons;
use crate::gui::panel_context::PanelContext;
use crate::gui::theme::{self, font, text_style};
use crate::gui::widgets::{self, VirtualRows, paint};
use crate::studio::RowRef;

/// Draws the contents of a file; `why` is the reason for the missing picture.
pub fn ui(
    ui: &mut Ui,
    panel: &mut PreviewPanel,
    cx: &mut PanelContext<'_>,
    key: DocumentKey,
    at: RowRef,
    why: &str,
) {
    let t = theme::tokens(ui);
    let Some(document) = cx.document() else {
        return;
    };
    let place = document.asset_later(at);
    let state = &mut panel.file;
    state
        .view
        .update(cx.jobs, (key, at), tr!("Contents"), move |_| {
            let (asset, size) = place()?;
            Ok(Arc::new(view_of(&first_bytes(&asset, size)?, size)))
        });
    let view = match state.view.get(&(key, at)) {
        Some(Ok(view)) => view.clone(),
        Some(Err(_)) => {
            widgets::draw_empty_state(ui, icons::FILE, tr!("No picture of this file"), why);
            return;
        }
        None => {
            widgets::spinner(ui, 24.0);
            return;
        }
    };
    Frame::NONE
        .fill(t.bg2)
        .inner_margin(Margin::symmetric(10, 6))
        .show(ui, |ui| {
            ui.set_min_width(ui.available_width());
            ui.horizontal(|ui| {
                ui.label(
                    theme::rich_text(crate::text::translate_text(view.kind))
                        .font(font::semibold(12.0))
                        .color(t.tx),
                );
                let lines = view.lines.len();
                let n = paint::format_grouped_number(lines as u64);
                // The reason matters for a file that looks like a picture by its name only.
                let is_picture = document
                    .id(at)
                    .is_some_and(|id| icons::of_file(id) == icons::IMAGE);
                let text = match view.is_cut {
                    _ if !is_picture && view.is_cut => tr_n!(
                        lines,
                        "{n} line, the first 256 kB",
                        "{n} lines, the first 256 kB",
                        n
                    ),
                    _ if !is_picture => tr_n!(lines, "{n} line", "{n} lines", n),
                    true => tr_n!(
                        lines,
                        "{n} line, the first 256 kB. No picture: {why}",
                        "{n} lines, the first 256 kB. No picture: {why}",
                        n,
                        why
                    ),
                    false => tr_n!(
                        lines,
                        "{n} line. No picture: {why}",
                        "{n} lines. No picture: {why}",
                        n,
                        why
                    ),
                };
                ui.add(
                    egui::Label::new(
                        theme::rich_text(text)
                            .text_style(text_style("small12"))
                            .color(t.tx3),
                    )
                    .truncate(),
                );
            });
        });
    let mut scroll = state.scroll;
    let list =
        VirtualRows::new(tr!("Contents of the file"), view.lines.len() as u64).row_height(18.0);
    list.show(ui, &mut scroll, |ui, row, rect, response| {
        let line = view.lines.get(row as usize).map_or("", String::as_str);
        response.widget_info(|| WidgetInfo::labeled(Role::ListItem, true, line));
        let gutter = Rect::from_min_size(rect.min, vec2(52.0, rect.height()));
        paint::text_right(
            ui.painter(),
            gutter,
            &(row + 1).to_string(),
            font::mono(10.5),
            t.tx3,
        );
        paint::text_left(
            ui.painter(),
            rect.with_min_x(gutter.right() + 10.0),
            line,
            font::mono(12.0),
            t.tx,
        );
    });
    panel.file.scroll = scroll;
}
