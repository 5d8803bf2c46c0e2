//! The view while a large or remote dataset is opened: its first rows, and the progress. Small
//! datasets are open before it appears.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use arrow::datatypes::Field;
use egui::{Frame, Margin, Role, Ui, WidgetInfo};

use super::opening_state::OpeningPage;
use crate::gui::panel_context::PanelContext;
use crate::gui::theme::{self, font, text_style};
use crate::gui::widgets::{self, Button, Cell, TableColumn, TableSource, TableWidget, paint};
use crate::gui::{dropped_paths, icons};
use crate::model::{Address, dtype_name, is_remote};
use crate::ops::{FirstRows, first_rows};
use crate::remote::traffic;
use crate::studio::Command;

/// Time after which the page appears.
const PATIENCE: Duration = Duration::from_millis(200);
/// Rows that are read.
const ROWS: usize = 200;

/// True when the page is to be drawn.
pub fn shows(cx: &PanelContext<'_>) -> bool {
    let Some(opening) = cx.studio.opening() else {
        return false;
    };
    cx.studio
        .jobs()
        .iter()
        .any(|job| job.id == opening.job && job.elapsed >= PATIENCE)
}

/// Draws the page.
pub fn ui(ui: &mut Ui, panel: &mut OpeningPage, cx: &mut PanelContext<'_>) {
    let t = theme::tokens(ui);
    let Some((job, path, reader)) = cx
        .studio
        .opening()
        .map(|open| (open.job, open.path.clone(), open.reader()))
    else {
        return;
    };
    let received = traffic().total.bytes;
    if panel.job.is_none_or(|(known, _)| known != job) {
        *panel = OpeningPage {
            job: Some((job, received)),
            ..OpeningPage::default()
        };
    }
    if let Some(reader) = reader {
        panel
            .rows
            .update(cx.jobs, job, tr!("First rows"), move |ctx| {
                Ok(first_rows(reader.as_ref(), ROWS, ctx)?.map(Arc::new))
            });
    }
    let first = panel.rows.latest().cloned().flatten();
    if let Some(first) = first.as_ref().filter(|_| panel.columns.is_empty()) {
        panel.columns = columns_of(first);
    }
    let before = panel.job.map_or(received, |(_, before)| before);
    let source = source_of(cx, &path);
    let name = name_of(&path);
    let running = cx.studio.jobs().into_iter().find(|view| view.id == job);
    Frame::NONE
        .fill(t.bg1)
        .inner_margin(Margin::symmetric(16, 12))
        .show(ui, |ui| {
            ui.set_min_width(ui.available_width());
            ui.horizontal(|ui| {
                ui.spacing_mut().item_spacing.x = 8.0;
                widgets::spinner(ui, 16.0);
                ui.label(
                    theme::rich_text(tr!("Opening {name}", name))
                        .font(font::semibold(14.0))
                        .color(t.tx),
                );
                if let Some(first) = &first {
                    let rows = tr_n!(
                        first.total,
                        "{n} row",
                        "{n} rows",
                        n = paint::format_grouped_number(first.total as u64)
                    );
                    ui.label(
                        theme::rich_text(rows)
                            .text_style(text_style("small12"))
                            .color(t.tx2),
                    );
                }
                ui.with_layout(egui::Layout::right_to_left(egui::Align::Center), |ui| {
                    if ui
                        .add(
                            Button::secondary(tr!("Cancel"))
                                .icon(icons::X)
                                .name(tr!("Cancel opening")),
                        )
                        .clicked()
                    {
                        cx.run(Command::Cancel { job });
                    }
                });
            });
            let mut words: Vec<String> = Vec::new();
            if let Some(job) = &running {
                let stage = job.progress.stage.name.clone();
                let percent = job
                    .progress
                    .fraction()
                    .map(|part| format!("{:.0} %", part * 100.0));
                words.extend(
                    [stage, percent.unwrap_or_default()]
                        .into_iter()
                        .filter(|text| !text.is_empty()),
                );
                let seconds = job.elapsed.as_secs_f64();
                words.push(tr!("{seconds} s so far", seconds = format!("{seconds:.0}")));
                let bytes = received.saturating_sub(before);
                if is_remote(&path) && bytes > 0 {
                    let rate = bytes as f64 / seconds.max(0.1);
                    words.push(tr!(
                        "{bytes} received, {rate}/s",
                        bytes = paint::format_bytes(bytes),
                        rate = paint::format_bytes(rate as u64)
                    ));
                    let left = first
                        .as_ref()
                        .map_or(0, |first| first.stored_bytes.saturating_sub(bytes));
                    if left > 0 {
                        words.push(tr!(
                            "about {seconds} s left",
                            seconds = format!("{:.0}", (left as f64 / rate).ceil())
                        ));
                    }
                }
            }
            let text = words.join(", ");
            let label = ui.label(
                theme::rich_text(&text)
                    .text_style(text_style("small12"))
                    .color(t.tx2),
            );
            label.widget_info(|| WidgetInfo::labeled(Role::Status, true, &text));
            let label = ui.add(
                egui::Label::new(
                    theme::rich_text(&source)
                        .font(font::mono(11.5))
                        .color(t.tx3),
                )
                .truncate(),
            );
            label.on_hover_text(theme::rich_text(&source));
        });
    match first {
        Some(first) => {
            let note = tr!("The first rows; the others follow with filters, tree and map.");
            Frame::NONE
                .inner_margin(Margin::symmetric(16, 4))
                .show(ui, |ui| {
                    ui.label(
                        theme::rich_text(note)
                            .text_style(text_style("small12"))
                            .color(t.tx3),
                    );
                });
            let source = SkeletonRows {
                first: &first,
                columns: &panel.columns,
            };
            let mut table = std::mem::take(&mut panel.table);
            let _ = TableWidget::new(tr!("First rows"), &source).sticky(1).show(
                ui,
                &mut table,
                |_, _| {},
            );
            panel.table = table;
        }
        None => {
            ui.add_space(40.0);
            ui.vertical_centered(|ui| widgets::spinner(ui, 24.0));
        }
    }
}

/// Address of the dataset that is being opened, and its container and size once they are known.
pub fn source_of(cx: &PanelContext<'_>, path: &Path) -> String {
    let mut words = vec![format_location(path)];
    if let Some(reader) = cx.studio.opening().and_then(|opening| opening.reader()) {
        let info = reader.info();
        words.push(info.format.badge().to_owned());
        words.extend(info.size_bytes.map(paint::format_bytes));
    }
    words.join(", ")
}

/// Name of the dataset that is being opened, while its page is drawn.
pub fn name(cx: &PanelContext<'_>) -> Option<String> {
    let opening = cx.studio.opening().filter(|_| shows(cx))?;
    Some(name_of(&opening.path))
}

/// The path or address for display; a query that may hold a secret is left out.
fn format_location(path: &Path) -> String {
    match Address::parse(&path.to_string_lossy()) {
        Some(address) => address.without_secret().0.to_string(),
        None => dropped_paths::display_path(path),
    }
}

fn name_of(path: &Path) -> String {
    match Address::from_path(path) {
        Some(address) if address.name().is_empty() => address.host(),
        Some(address) => address.name().to_owned(),
        None => path
            .file_name()
            .unwrap_or(path.as_os_str())
            .to_string_lossy()
            .into_owned(),
    }
}

fn columns_of(first: &FirstRows) -> Vec<TableColumn> {
    first
        .table
        .schema()
        .fields()
        .iter()
        .map(|field| describe_preview_column(field))
        .collect()
}

fn describe_preview_column(field: &Field) -> TableColumn {
    let name = field.name().clone();
    let width = (name.chars().count() as f32 * 7.2 + 28.0)
        .clamp(if name == "id" { 160.0 } else { 96.0 }, 220.0);
    TableColumn {
        name,
        type_name: dtype_name(field.data_type()),
        width,
        right: field.data_type().is_numeric(),
    }
}

struct SkeletonRows<'a> {
    first: &'a FirstRows,
    columns: &'a [TableColumn],
}

impl TableSource for SkeletonRows<'_> {
    fn rows(&self) -> u64 {
        self.first.table.rows() as u64
    }

    fn columns(&self) -> &[TableColumn] {
        self.columns
    }

    fn cell(&self, row: u64, column: usize) -> Cell<'_> {
        match self.first.table.text(row as usize, column) {
            text if text.is_empty() => Cell::Empty,
            text => Cell::Mono(text.into()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::name_of;

    #[test]
    fn a_dataset_being_opened_is_named_by_the_end_of_its_path() {
        let own = if cfg!(windows) {
            "C:\\data\\set.tacozip"
        } else {
            "/data/set.tacozip"
        };
        let named = [
            (own, "set.tacozip"),
            ("s3://bucket/a/set/", "set"),
            ("s3://bucket", "s3://bucket"),
            ("https://host/", "host"),
        ];
        for (path, name) in named {
            assert_eq!(name_of(path.as_ref()), name, "{path}");
        }
        assert_eq!(
            name_of("https://host/a.tacozip?token=secret".as_ref()),
            "a.tacozip"
        );
    }
}
