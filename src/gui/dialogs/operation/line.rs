//! Lines of previews and reports.

use egui::{Role, Sense, Ui, WidgetInfo};

use super::bins::{Bins, bins_ui};
use crate::gui::icons;
use crate::gui::theme::{self, font};
use crate::gui::widgets::paint;

/// A line of a preview or report.
#[derive(Clone, Debug, PartialEq)]
pub struct ReportLine {
    kind: LineKind,
    text: String,
}

#[derive(Clone, Debug, PartialEq)]
enum LineKind {
    Fact,
    Good,
    Warning,
    Error,
    /// A row of a table, in mono.
    Row,
    /// A histogram, drawn in place of the text.
    Histogram(Box<Bins>),
}

impl ReportLine {
    pub fn fact(text: impl Into<String>) -> Self {
        Self {
            kind: LineKind::Fact,
            text: text.into(),
        }
    }

    pub fn good(text: impl Into<String>) -> Self {
        Self {
            kind: LineKind::Good,
            text: text.into(),
        }
    }

    pub fn warning(text: impl Into<String>) -> Self {
        Self {
            kind: LineKind::Warning,
            text: text.into(),
        }
    }

    pub fn error(text: impl Into<String>) -> Self {
        Self {
            kind: LineKind::Error,
            text: text.into(),
        }
    }

    pub fn histogram(bins: Bins) -> Self {
        Self {
            text: bins.text(),
            kind: LineKind::Histogram(Box::new(bins)),
        }
    }

    pub fn row(text: impl Into<String>) -> Self {
        Self {
            kind: LineKind::Row,
            text: text.into(),
        }
    }
}

/// Draws a line of a preview or report.
pub fn line_ui(ui: &mut Ui, line: &ReportLine) {
    let t = theme::tokens(ui);
    let (icon, color) = match &line.kind {
        LineKind::Fact => (icons::INFO, t.tx3),
        LineKind::Good => (icons::CHECK_CIRCLE, t.ok),
        LineKind::Warning => (icons::WARNING, t.warn),
        LineKind::Error => (icons::WARNING_OCTAGON, t.err),
        LineKind::Row => ("", t.tx3),
        LineKind::Histogram(bins) => {
            ui.horizontal_top(|ui| {
                ui.add_space(20.0);
                ui.vertical(|ui| bins_ui(ui, bins));
            });
            return;
        }
    };
    let font = if line.kind == LineKind::Row {
        font::mono(12.0)
    } else {
        font::regular(12.0)
    };
    let top = ui.cursor().min;
    let response = ui
        .horizontal_top(|ui| {
            ui.add_space(20.0);
            ui.add(
                egui::Label::new(theme::rich_text(&line.text).font(font).color(t.tx))
                    .wrap()
                    .sense(Sense::hover()),
            )
        })
        .inner;
    response.widget_info(|| WidgetInfo::labeled(Role::ListItem, true, &line.text));
    if !icon.is_empty() {
        paint::draw_icon(
            ui.painter(),
            egui::pos2(top.x + 7.0, top.y + 8.0),
            icon,
            14.0,
            color,
        );
    }
}
