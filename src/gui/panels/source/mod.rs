//! The source panel: origin of the dataset, remote requests summed by action and one by one, and
//! the disk cache.

pub mod state;

use egui::{Frame, Label, Margin, Ui};

use crate::gui::panel_context::{PanelContext, Request};
use crate::gui::panels::panel::Panel;
use crate::gui::theme::{self, font};
use crate::gui::widgets::{
    self, Button, Cell, EmptyState, Segment, StatusMark, TableColumn, TableSource, TableWidget,
    draw_segments, paint,
};
use crate::gui::{dropped_paths, icons};
use crate::model::is_remote;
use crate::ops::RemoteCacheRequest;
use crate::remote::{ActionTraffic, RequestLine, Traffic, traffic};
use crate::studio::{Command, Document};
use crate::text::PrintableLine;
use state::{SourceList, SourcePanel};

/// Number of servers of a project that are listed.
const SERVERS_SHOWN: usize = 6;

impl Panel for SourcePanel {
    fn contents_ui(&mut self, ui: &mut Ui, cx: &mut PanelContext<'_>) {
        let traffic = traffic();
        if !self.asked {
            self.asked = true;
            cx.run(Command::operate(RemoteCacheRequest { clear: false }));
        }
        place_ui(ui, cx);
        servers_ui(ui, cx);
        if traffic.total.requests == 0 && traffic.total.cache_reads == 0 {
            let state = EmptyState {
                icon: icons::CLOUD,
                title: tr!("No requests to servers"),
                why: tr!(
                    "For datasets at https://, s3://, gs:// and az:// this panel lists requests, \
                    bytes, waiting times and the cache."
                ),
                actions: &[tr!("Open path or address…")],
            };
            if widgets::draw_empty_state_with_actions(ui, &state).is_some() {
                cx.request(Request::Do(crate::gui::action::Action::OpenPath));
            }
            return;
        }
        meter_ui(ui, &traffic.total);
        cache_ui(ui, self, cx);
        lists_ui(ui, self, &traffic);
    }
}

/// Draws the name and origin of the document.
fn place_ui(ui: &mut Ui, cx: &mut PanelContext<'_>) {
    let t = theme::tokens(ui);
    if let Some(path) = cx.studio.opening().map(|opening| opening.path.clone()) {
        // The document of before is about to be left.
        let text = tr!(
            "Opening {name}",
            name = super::opening::source_of(cx, &path)
        );
        Frame::NONE
            .inner_margin(Margin::symmetric(12, 8))
            .show(ui, |ui| {
                ui.add(
                    Label::new(theme::rich_text(text).font(font::mono(12.0)).color(t.tx))
                        .truncate(),
                );
            });
        return widgets::line_below(ui);
    }
    let Some(open) = cx.document().and_then(|document| document.opened_dataset()) else {
        return;
    };
    let info = open.reader.info();
    let remote = is_remote(&info.path);
    Frame::NONE
        .inner_margin(Margin::symmetric(12, 8))
        .show(ui, |ui| {
            ui.horizontal(|ui| {
                let icon = if remote {
                    icons::CLOUD
                } else {
                    icons::HARD_DRIVES
                };
                ui.label(theme::rich_text(icon).font(font::icon(16.0)).color(t.tx2));
                let path = dropped_paths::display_path(&info.path);
                ui.with_layout(egui::Layout::right_to_left(egui::Align::Center), |ui| {
                    if ui
                        .add(Button::icon_only(icons::COPY, tr!("Copy address")))
                        .clicked()
                    {
                        cx.request(Request::Copy(info.path.display().to_string()));
                    }
                    if let Some(size) = info.size_bytes {
                        ui.label(
                            theme::rich_text(paint::format_bytes(size))
                                .font(font::mono(12.0))
                                .color(t.tx2),
                        );
                    }
                    ui.label(
                        theme::rich_text(info.format.badge())
                            .font(font::mono(12.0))
                            .color(t.tx2),
                    );
                    ui.with_layout(egui::Layout::left_to_right(egui::Align::Center), |ui| {
                        ui.add(
                            Label::new(theme::rich_text(path).font(font::mono(12.0)).color(t.tx))
                                .truncate(),
                        );
                    });
                });
            });
        });
    widgets::line_below(ui);
}

/// The servers that a project's files are on. The user has not typed their addresses, so no token
/// is sent to them.
fn servers_ui(ui: &mut Ui, cx: &PanelContext<'_>) {
    let t = theme::tokens(ui);
    let Some(Document::Draft(draft)) = cx.document() else {
        return;
    };
    if draft.servers().is_empty() {
        return;
    }
    Frame::NONE
        .inner_margin(Margin::symmetric(12, 8))
        .show(ui, |ui| {
            for server in draft.servers().iter().take(SERVERS_SHOWN) {
                let (host, n) = (
                    server.host.printable_line(),
                    paint::format_grouped_number(server.files),
                );
                let text = tr_n!(
                    server.files,
                    "{n} file of the project is on {host}, which is read without a token",
                    "{n} files of the project are on {host}, which is read without a token",
                    n,
                    host
                );
                ui.add(
                    Label::new(
                        theme::rich_text(text)
                            .font(font::regular(12.0))
                            .color(t.tx2),
                    )
                    .truncate(),
                );
            }
            if let Some(more) = draft
                .servers()
                .len()
                .checked_sub(SERVERS_SHOWN)
                .filter(|more| *more > 0)
            {
                let text = tr_n!(
                    more,
                    "and {n} more server",
                    "and {n} more servers",
                    n = paint::format_grouped_number(more as u64)
                );
                ui.label(
                    theme::rich_text(text)
                        .font(font::regular(12.0))
                        .color(t.tx2),
                );
            }
        });
    widgets::line_below(ui);
}

/// Draws the totals side by side.
fn meter_ui(ui: &mut Ui, total: &ActionTraffic) {
    let t = theme::tokens(ui);
    let latency = total
        .latency_ms()
        .map_or("–".to_owned(), |latency| format!("{latency:.0} ms"));
    let facts = [
        (
            tr!("Requests"),
            paint::format_grouped_number(total.requests),
        ),
        (
            tr!("Failed" in "requests"),
            paint::format_grouped_number(total.failed),
        ),
        (tr!("Received" in "bytes"), paint::format_bytes(total.bytes)),
        (tr!("Mean wait"), latency),
        (tr!("From cache"), paint::format_bytes(total.cache_bytes)),
    ];
    Frame::NONE
        .inner_margin(Margin::symmetric(12, 8))
        .show(ui, |ui| {
            ui.horizontal_wrapped(|ui| {
                ui.spacing_mut().item_spacing.x = 24.0;
                for (name, value) in facts {
                    ui.vertical(|ui| {
                        ui.label(
                            theme::rich_text(name)
                                .font(font::regular(11.0))
                                .color(t.tx2),
                        );
                        ui.label(theme::rich_text(value).font(font::mono(13.0)).color(t.tx));
                    });
                }
            });
        });
    widgets::line_below(ui);
}

fn cache_ui(ui: &mut Ui, panel: &mut SourcePanel, cx: &mut PanelContext<'_>) {
    let t = theme::tokens(ui);
    let Some(cache) = panel.cache.clone() else {
        return;
    };
    Frame::NONE
        .inner_margin(Margin::symmetric(12, 6))
        .show(ui, |ui| {
            ui.horizontal(|ui| {
                let text = match &cache.folder {
                    Some(_) => tr_n!(
                        cache.files,
                        "Cache on this disk: {size} of {most}, {n} file",
                        "Cache on this disk: {size} of {most}, {n} files",
                        size = paint::format_bytes(cache.bytes),
                        most = paint::format_bytes(cache.cap_bytes),
                        n = paint::format_grouped_number(cache.files)
                    ),
                    None => tr!("There is no folder for a cache on this system").to_owned(),
                };
                ui.label(
                    theme::rich_text(text)
                        .font(font::regular(12.0))
                        .color(t.tx2),
                );
                ui.with_layout(egui::Layout::right_to_left(egui::Align::Center), |ui| {
                    let empty = (cache.files == 0).then_some(tr!("The cache is empty"));
                    if ui
                        .add(
                            Button::ghost(tr!("Empty cache"))
                                .icon(icons::TRASH)
                                .with_disabled_reason(empty),
                        )
                        .clicked()
                    {
                        cx.run(Command::operate(RemoteCacheRequest { clear: true }));
                    }
                    if ui
                        .add(Button::icon_only(
                            icons::ARROW_CLOCKWISE,
                            tr!("Measure the cache again"),
                        ))
                        .clicked()
                    {
                        cx.run(Command::operate(RemoteCacheRequest { clear: false }));
                    }
                });
            });
        });
    widgets::line_below(ui);
}

fn lists_ui(ui: &mut Ui, panel: &mut SourcePanel, traffic: &Traffic) {
    Frame::NONE
        .inner_margin(Margin::symmetric(12, 6))
        .show(ui, |ui| {
            let choices = [
                Segment::new(SourceList::Actions, tr!("By action"))
                    .count(traffic.actions.len() as u64),
                Segment::new(SourceList::Requests, tr!("Requests"))
                    .count(traffic.requests.len() as u64),
            ];
            draw_segments(ui, "What to list", &mut panel.list, &choices);
        });
    match panel.list {
        SourceList::Actions => {
            let rows = SourceActions {
                rows: &traffic.actions,
                columns: columns(&action_columns()),
            };
            let _ = TableWidget::new(tr!("Requests by action"), &rows)
                .sticky(1)
                .show(ui, &mut panel.actions, |_, _| {});
        }
        SourceList::Requests => {
            let rows = Requests {
                rows: &traffic.requests,
                columns: columns(&request_columns()),
            };
            let _ = TableWidget::new(tr!("Requests"), &rows).sticky(1).show(
                ui,
                &mut panel.requests,
                |_, _| {},
            );
        }
    }
}

/// Name, second header line, width in points, right-aligned.
type SourceHead = (&'static str, &'static str, f32, bool);

fn action_columns() -> [SourceHead; 7] {
    [
        (tr!("Action"), "", 280.0, false),
        (tr!("Requests"), tr!("count"), 80.0, true),
        (tr!("Failed" in "requests"), tr!("count"), 70.0, true),
        (tr!("Received" in "bytes"), tr!("bytes"), 100.0, true),
        (tr!("Mean wait"), "ms", 90.0, true),
        (tr!("Cache reads"), tr!("count"), 90.0, true),
        (tr!("From cache"), tr!("bytes"), 100.0, true),
    ]
}

fn request_columns() -> [SourceHead; 7] {
    [
        (tr!("Address"), "", 320.0, false),
        (tr!("Range"), tr!("first byte, length"), 190.0, false),
        (tr!("Status"), "", 70.0, true),
        (tr!("Received" in "bytes"), tr!("bytes"), 100.0, true),
        (tr!("Took"), "ms", 80.0, true),
        (tr!("Try" in "number of an attempt"), "", 50.0, true),
        (tr!("What happened"), "", 320.0, false),
    ]
}

fn columns(heads: &[SourceHead]) -> Vec<TableColumn> {
    heads.iter().map(make_source_column).collect()
}

fn make_source_column(&(name, type_name, width, right): &SourceHead) -> TableColumn {
    TableColumn {
        name: name.into(),
        type_name: type_name.into(),
        width,
        right,
    }
}

struct SourceActions<'a> {
    rows: &'a [ActionTraffic],
    columns: Vec<TableColumn>,
}

impl SourceActions<'_> {
    /// Newest first.
    fn action_at(&self, row: u64) -> Option<&ActionTraffic> {
        self.rows
            .get(self.rows.len().checked_sub(row as usize + 1)?)
    }
}

impl TableSource for SourceActions<'_> {
    fn rows(&self) -> u64 {
        self.rows.len() as u64
    }

    fn columns(&self) -> &[TableColumn] {
        &self.columns
    }

    fn cell(&self, row: u64, column: usize) -> Cell<'_> {
        let Some(action) = self.action_at(row) else {
            return Cell::Empty;
        };
        match column {
            0 => Cell::Text((&*action.label).into()),
            1 => Cell::Mono(paint::format_grouped_number(action.requests).into()),
            2 => Cell::Mono(paint::format_grouped_number(action.failed).into()),
            3 => Cell::Mono(paint::format_bytes(action.bytes).into()),
            4 => action.latency_ms().map_or(Cell::Empty, |latency| {
                Cell::Mono(format!("{latency:.0}").into())
            }),
            5 => Cell::Mono(paint::format_grouped_number(action.cache_reads).into()),
            _ => Cell::Mono(paint::format_bytes(action.cache_bytes).into()),
        }
    }

    fn mark(&self, row: u64) -> StatusMark {
        match self.action_at(row) {
            Some(action) if action.failed > 0 => StatusMark::Warning,
            _ => StatusMark::Ok,
        }
    }
}

struct Requests<'a> {
    rows: &'a [RequestLine],
    columns: Vec<TableColumn>,
}

impl Requests<'_> {
    fn request_at(&self, row: u64) -> Option<&RequestLine> {
        self.rows
            .get(self.rows.len().checked_sub(row as usize + 1)?)
    }
}

impl TableSource for Requests<'_> {
    fn rows(&self) -> u64 {
        self.rows.len() as u64
    }

    fn columns(&self) -> &[TableColumn] {
        &self.columns
    }

    fn cell(&self, row: u64, column: usize) -> Cell<'_> {
        let Some(line) = self.request_at(row) else {
            return Cell::Empty;
        };
        let mono = |text: String| Cell::Mono(text.into());
        match column {
            0 => Cell::Mono((&*line.address).into()),
            1 => match line.range {
                Some((start, length)) => mono(format!(
                    "{} + {}",
                    paint::format_grouped_number(start),
                    paint::format_grouped_number(length)
                )),
                None => Cell::Text(tr!("the end" in "range of bytes").into()),
            },
            2 => line
                .status
                .map_or(Cell::Empty, |status| mono(status.to_string())),
            3 => mono(paint::format_bytes(line.bytes)),
            4 => mono(format!("{:.0}", line.elapsed_ms)),
            5 => mono(line.attempt.to_string()),
            _ => line.fault.as_deref().map_or_else(
                || Cell::Text((&*line.action).into()),
                |fault| Cell::Text(fault.into()),
            ),
        }
    }

    fn mark(&self, row: u64) -> StatusMark {
        match self.request_at(row) {
            Some(line) if line.fault.is_some() => StatusMark::Error,
            _ => StatusMark::Ok,
        }
    }
}
