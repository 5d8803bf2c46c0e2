//! What a screen reader is told of the window, kept for scripts; and the way for their events into the next frame.

use std::sync::{Arc, Mutex, PoisonError};

use egui::accesskit::{Action, ActionRequest, NodeId, Role, TreeId};
use egui::{Context, Event, FullOutput, Plugin, RawInput, Rect, pos2};

/// A control or a text of the last frame.
#[derive(Clone, Debug)]
pub struct NamedNode {
    /// Its accessible name, or the text that it shows.
    pub label: String,
    /// What it is.
    pub role: Role,
    /// Where, in points.
    pub rect: Rect,
    /// It can be clicked.
    pub acts: bool,
    node: NodeId,
}

impl NamedNode {
    /// The event that scrolls it into view.
    pub fn scroll_here(&self) -> Event {
        Event::AccessKitActionRequest(ActionRequest {
            action: Action::ScrollIntoView,
            target_node: self.node,
            target_tree: TreeId::ROOT,
            data: None,
        })
    }
}

/// The last frame, and the events for the next one.
#[derive(Default)]
pub struct AccessibilitySnapshot {
    /// Everything with a name, in the order of drawing.
    pub seen: Vec<NamedNode>,
    /// Events that the next frame gets.
    pub events: Vec<Event>,
}

impl AccessibilitySnapshot {
    /// Begins to look at the window.
    pub fn open(ctx: &Context) -> Arc<Mutex<Self>> {
        let eyes: Arc<Mutex<Self>> = Arc::default();
        ctx.enable_accesskit();
        ctx.add_plugin(SnapshotPlugin { eyes: eyes.clone() });
        eyes
    }
}

struct SnapshotPlugin {
    eyes: Arc<Mutex<AccessibilitySnapshot>>,
}

impl Plugin for SnapshotPlugin {
    fn debug_name(&self) -> &'static str {
        "script"
    }

    fn input_hook(&mut self, _ctx: &Context, input: &mut RawInput) {
        let mut eyes = self.eyes.lock().unwrap_or_else(PoisonError::into_inner);
        input.events.append(&mut eyes.events);
    }

    fn output_hook(&mut self, _ctx: &Context, output: &mut FullOutput) {
        let Some(update) = &output.platform_output.accesskit_update else { return };
        let seen = update.nodes.iter().filter_map(|(node, data)| {
            let label = data.label().or(data.value()).filter(|label| !label.is_empty())?;
            let bounds = data.bounds()?;
            let rect = Rect::from_min_max(pos2(bounds.x0 as f32, bounds.y0 as f32), pos2(bounds.x1 as f32, bounds.y1 as f32));
            let acts = !matches!(data.role(), Role::Label | Role::TextRun | Role::Unknown);
            Some(NamedNode { label: label.to_owned(), role: data.role(), rect, acts, node: *node })
        });
        let seen = seen.collect();
        self.eyes.lock().unwrap_or_else(PoisonError::into_inner).seen = seen;
    }
}
