//! The choice of the variable of a file with several, in the tool bar of the preview. In a draft
//! the choice can be stored for every sample at the position.

use std::sync::Arc;

use egui::Ui;

use super::state::PreviewPanel;
use crate::extensions::{CallTarget, ExtensionCall};
use crate::gui::icons;
use crate::gui::panel_context::PanelContext;
use crate::gui::widgets::{self, Button};
use crate::raster::{VARIABLE_COLUMN, VariableRead, variable_of_value};
use crate::studio::{Command, Document, RowRef};

const WIDTH: f32 = 128.0;
const ICON: f32 = 24.0;

/// Width of the controls with the gaps after them; 0 for a file with one raster.
pub fn width(panel: &PreviewPanel, document: &Document, gap: f32) -> f32 {
    match shown_variable(panel) {
        Some(_) if document.draft().is_some() => WIDTH + ICON + 2.0 * gap,
        Some(_) => WIDTH + gap,
        None => 0.0,
    }
}

/// Draws the choice; nothing for a file with one raster.
pub fn ui(
    ui: &mut Ui,
    panel: &mut PreviewPanel,
    cx: &mut PanelContext<'_>,
    document: &Document,
    at: RowRef,
) {
    let Some(read) = shown_variable(panel).cloned() else {
        return;
    };
    let current = read.name.as_deref().unwrap_or(tr!("Own bands of the file"));
    let labels: Vec<String> = read
        .names
        .iter()
        .zip(&read.descriptions)
        .map(|(name, text)| label(name, text))
        .collect();
    let chosen = widgets::combo(ui, tr!("Variable"), current, WIDTH, false, &labels);
    if let Some(name) = chosen.and_then(|index| read.names.get(index)) {
        cx.session.asset.variable = Some(Arc::from(name.as_str()));
        panel.shown = None;
    }
    if document.draft().is_some() {
        store_ui(ui, cx, document, at, read.name.as_deref());
    }
}

/// The variable of the raster that is shown.
fn shown_variable(panel: &PreviewPanel) -> Option<&VariableRead> {
    panel.raster.as_ref()?.variable.as_ref()
}

/// A variable in the list: its name and what the driver says of it, which often begins with its
/// dimensions.
fn label(name: &str, description: &str) -> String {
    let dimensions = description
        .strip_prefix('[')
        .and_then(|rest| rest.split_once(']'));
    match dimensions {
        Some((sizes, _)) => format!("{name}  {}", sizes.replace('x', " × ")),
        None => name.to_owned(),
    }
}

/// Draws the button that stores the choice.
fn store_ui(
    ui: &mut Ui,
    cx: &mut PanelContext<'_>,
    document: &Document,
    at: RowRef,
    name: Option<&str>,
) {
    let stored = variable_of_value(&document.value(at, VARIABLE_COLUMN).0);
    let nothing = match name {
        None => Some(tr!("Choose a variable first")),
        Some(name) if stored.as_deref() == Some(name) => Some(tr!(
            "Statistics, places and previews read this variable already"
        )),
        Some(_) => None,
    };
    let title = tr!("Read this variable at this position");
    if ui
        .add(Button::icon_only(icons::PUSH_PIN, title).with_disabled_reason(nothing))
        .clicked()
        && let Some(name) = name
    {
        let call = ExtensionCall {
            extension: "cube".into(),
            options: serde_json::json!({ "variable": name }),
            target: position_of(document, at),
            schema_only: false,
        };
        cx.session.asset.variable = None;
        cx.run(Command::Extend {
            calls: vec![call],
            replace: true,
        });
    }
}

/// The samples at the position of a sample: those with the same ids below any root.
fn position_of(document: &Document, at: RowRef) -> CallTarget {
    let below: Vec<String> = document
        .path(at)
        .map(|path| path.0.iter().skip(1).map(ToString::to_string).collect())
        .unwrap_or_default();
    let positions = if below.is_empty() {
        Vec::new()
    } else {
        vec![format!("*/{}", below.join("/"))]
    };
    CallTarget {
        level: at.level,
        positions,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn variables_are_listed_with_their_dimensions() {
        assert_eq!(
            label("temp", "[12x100x200] temp (32-bit floating-point)"),
            "temp  12 × 100 × 200"
        );
        assert_eq!(label("image 2", "Page 2 (64P x 64L x 1B)"), "image 2");
    }
}
