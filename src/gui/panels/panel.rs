//! What a panel of the window does. Its title, icon and side are in [`crate::gui::pane::Pane`],
//! which the parts of the window below the panels use.

use egui::Ui;

use crate::gui::panel_context::PanelContext;
use crate::gui::widgets::Tone;

/// A panel with the state that it keeps between frames. No other panel changes that state: what a
/// panel requests of another is a `Request`.
pub trait Panel {
    /// Draws the panel.
    fn contents_ui(&mut self, ui: &mut Ui, cx: &mut PanelContext<'_>);

    /// The number on its tab.
    fn tab_count(&self, _cx: &PanelContext<'_>) -> Option<(u64, Tone)> {
        None
    }

    /// Fills the right end of the tab bar while its tab is in front, from right to left.
    fn bar_right_ui(&mut self, _ui: &mut Ui, _cx: &mut PanelContext<'_>) {}
}
