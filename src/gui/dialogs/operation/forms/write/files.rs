//! Lists of files in Write dataset: those that will be written, with the layout of a ZIP, and those
//! that were.

use std::path::Path;

use egui::{Rect, Role, Sense, Stroke, StrokeKind, Ui, WidgetInfo, pos2, vec2};

use super::checks::Checks;
use super::choices::{Choices, WriteContainer};
use crate::container::{BuildOptions, Format};
use crate::gui::panel_context::PanelContext;
use crate::gui::theme::{self, font};
use crate::gui::widgets::{self, FieldNote, note_ui, paint};
use crate::gui::{dropped_paths, icons};

/// Most files listed.
const MAX_LISTED: usize = 10;

/// A file as a list shows it.
pub struct FileLine {
    icon: &'static str,
    name: String,
    /// Empty where it is not shown.
    size: String,
}

impl FileLine {
    pub fn new(icon: &'static str, name: impl Into<String>) -> Self {
        Self {
            icon,
            name: name.into(),
            size: String::new(),
        }
    }

    pub fn with_size(mut self, size: String) -> Self {
        self.size = size;
        self
    }
}

/// The last component of a path, for people.
pub fn name_of_file(path: &Path) -> String {
    path.file_name()
        .map(|name| name.to_string_lossy().into_owned())
        .unwrap_or_default()
}

/// The files that will be written, as far as they are planned; `size_bytes` is the size of all
/// data.
fn plan_files(choices: &Choices, checks: &Checks, size_bytes: u64) -> Vec<FileLine> {
    let name = name_of_file(&dropped_paths::parse_path(&choices.output.text));
    let about = |bytes: u64| format!("~ {}", paint::format_bytes(bytes));
    match choices.container {
        WriteContainer::Zip => {
            vec![FileLine::new(icons::FILE_ZIP, name).with_size(about(size_bytes))]
        }
        WriteContainer::Folder => vec![
            FileLine::new(icons::FOLDER_SIMPLE, format!("{name}/DATA"))
                .with_size(about(size_bytes)),
            FileLine::new(icons::FOLDER_SIMPLE, format!("{name}/METADATA")),
            FileLine::new(icons::BRACKETS_CURLY, format!("{name}/COLLECTION.json")),
        ],
        WriteContainer::Parts => {
            let options = choices.options();
            let indexes = options.iter().flat_map(index_names).map(|name| {
                let icon = if name.ends_with(".json") {
                    icons::BRACKETS_CURLY
                } else {
                    icons::DATABASE
                };
                FileLine::new(icon, name)
            });
            let parts = checks.planned_parts().into_iter().flatten();
            let parts = parts.map(|part| {
                FileLine::new(icons::FILE_ZIP, &part.name).with_size(about(part.data_bytes))
            });
            indexes.chain(parts).collect()
        }
    }
}

/// Names of files written beside the parts.
fn index_names(options: &BuildOptions) -> Vec<&'static str> {
    let formats = options.parts.iter().flat_map(|parts| &parts.consolidate);
    formats
        .map(|format| match format {
            Format::Tacocat => ".tacocat",
            Format::TacocatFile => "__TACOCAT__",
            _ => "TACOLLECTION.json",
        })
        .collect()
}

/// Draws the files that will be written, and the layout of a ZIP.
pub fn planned_ui(ui: &mut Ui, cx: &PanelContext<'_>, choices: &Choices, checks: &Checks) {
    let t = theme::tokens(ui);
    let files = plan_files(choices, checks, cx.session.totals().bytes.unwrap_or(0));
    ui.horizontal(|ui| {
        widgets::heading(ui, tr!("Will be written"));
        ui.with_layout(egui::Layout::right_to_left(egui::Align::Center), |ui| {
            let count = tr_n!(files.len(), "{n} file", "{n} files", n = files.len());
            ui.label(
                theme::rich_text(count)
                    .font(font::regular(11.0))
                    .color(t.tx3),
            );
        });
    });
    file_list_ui(ui, &files);
    if choices.container != WriteContainer::Folder {
        widgets::heading(
            ui,
            if choices.container == WriteContainer::Zip {
                tr!("Layout")
            } else {
                tr!("Layout of one part")
            },
        );
        layout_ui(ui);
        let text =
            tr!("STORE only, no compression: any sample can be read with one byte-range request.");
        ui.label(theme::style_small_text(text, t.tx2));
    }
    let text = tr!(
        "Files get their final names when the dataset is complete. Cancel removes partial \
            files."
    );
    note_ui(ui, &FieldNote::Info(text.into()));
}

/// Draws the first files with their sizes.
pub fn file_list_ui(ui: &mut Ui, files: &[FileLine]) {
    let t = theme::tokens(ui);
    let rows = files.len().min(MAX_LISTED) + usize::from(files.len() > MAX_LISTED);
    let (rect, response) = ui.allocate_exact_size(
        vec2(ui.available_width(), rows as f32 * 24.0 + 2.0),
        Sense::hover(),
    );
    let names: Vec<&str> = files
        .iter()
        .take(MAX_LISTED)
        .map(|file| file.name.as_str())
        .collect();
    response.widget_info(|| WidgetInfo::labeled(Role::List, true, names.join(", ")));
    let painter = ui.painter();
    painter.rect(
        rect,
        4,
        t.bg1,
        Stroke::new(1.0, t.line2),
        StrokeKind::Inside,
    );
    for row in 0..rows {
        let line = Rect::from_min_size(
            pos2(rect.left() + 10.0, rect.top() + 1.0 + row as f32 * 24.0),
            vec2(rect.width() - 20.0, 24.0),
        );
        if row > 0 {
            painter.hline(rect.x_range(), line.top(), Stroke::new(1.0, t.line));
        }
        match files.get(row).filter(|_| row < MAX_LISTED) {
            Some(FileLine { icon, name, size }) => {
                paint::draw_icon(
                    painter,
                    pos2(line.left() + 6.0, line.center().y),
                    icon,
                    13.0,
                    t.tx3,
                );
                let end = paint::text_right(painter, line, size, font::mono(11.0), t.tx2);
                let room = Rect::from_min_max(
                    pos2(line.left() + 20.0, line.top()),
                    pos2(end - 8.0, line.bottom()),
                );
                paint::text_left(painter, room, name, font::mono(12.0), t.tx);
            }
            None => {
                let more = tr!(
                    "{n} more",
                    n = paint::format_grouped_number((files.len() - MAX_LISTED) as u64)
                );
                paint::text_left(
                    painter,
                    line.with_min_x(line.left() + 20.0),
                    &more,
                    font::regular(12.0),
                    t.tx2,
                );
            }
        }
    }
}

fn layout_ui(ui: &mut Ui) {
    let t = theme::tokens(ui);
    let (rect, response) = ui.allocate_exact_size(vec2(ui.available_width(), 25.0), Sense::hover());
    response.widget_info(|| {
        WidgetInfo::labeled(Role::Image, true, "TACO_HEADER, DATA, METADATA, COLLECTION")
    });
    let parts = [
        ("TACO_HEADER", 0.25, t.accfill, t.onacc),
        ("DATA/", 0.37, t.bg4, t.tx),
        ("METADATA/", 0.2, t.bg3, t.tx),
        ("COLLECTION", 0.18, t.sel, t.tx),
    ];
    let mut left = rect.left();
    for (word, share, fill, color) in parts {
        let width = rect.width() * share;
        let piece = Rect::from_min_size(pos2(left, rect.top()), vec2(width - 1.0, rect.height()));
        ui.painter().rect_filled(piece, 2, fill);
        paint::text_center(ui.painter(), piece, word, font::mono(10.5), color);
        left += width;
    }
}
