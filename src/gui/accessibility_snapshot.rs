//! The accessibility tree of the last frame, which scripts search for controls, and the queue of
//! input events for the next frame. Tests that drive the window from another process read the same
//! names and bounds from a file.

use std::path::{Path, PathBuf};
use std::sync::mpsc::Receiver;
use std::sync::{Arc, Mutex, PoisonError};

use egui::accesskit::{Action, ActionRequest, NodeId, Role, TreeId};
use egui::{Context, Event, FullOutput, Plugin, RawInput, Rect, pos2};

/// A control or text of the last frame that has an accessible name.
#[derive(Clone, Debug)]
pub struct NamedNode {
    /// Its accessible name, or the text that it shows.
    pub label: String,
    /// Its accessibility role.
    pub role: Role,
    /// Bounds in points.
    pub rect: Rect,
    /// True for roles that react to clicks.
    pub acts: bool,
    node: NodeId,
}

impl NamedNode {
    /// The event that scrolls this node into view.
    pub fn scroll_here(&self) -> Event {
        Event::AccessKitActionRequest(ActionRequest {
            action: Action::ScrollIntoView,
            target_node: self.node,
            target_tree: TreeId::ROOT,
            data: None,
        })
    }
}

/// Named nodes of the last frame, and input events for the next one.
#[derive(Default)]
pub struct AccessibilitySnapshot {
    /// Named nodes in drawing order.
    pub seen: Vec<NamedNode>,
    /// The node that receives the keys.
    focus: Option<NodeId>,
    /// Events injected into the next frame.
    pub events: Vec<Event>,
}

impl AccessibilitySnapshot {
    /// The named node that receives the keys.
    pub fn focused(&self) -> Option<&NamedNode> {
        self.seen.iter().find(|node| Some(node.node) == self.focus)
    }

    /// Turns accessibility on and registers the plugin that fills the snapshot.
    pub fn open(ctx: &Context) -> Arc<Mutex<Self>> {
        let eyes: Arc<Mutex<Self>> = Arc::default();
        ctx.enable_accesskit();
        ctx.add_plugin(SnapshotPlugin { eyes: eyes.clone() });
        eyes
    }
}

/// Environment variable with the file into which the window writes its named controls, for tests
/// with a real pointer.
const CONTROLS: &str = "TACO_STUDIO_CONTROLS";

/// Keeps the file of [`CONTROLS`] up to date, if the variable is set: a JSON list of `label`,
/// `role`, `acts`, and `rect` in points as left, top, right, bottom. It is written by another
/// thread, under a temporary name.
pub fn list_controls(ctx: &Context) {
    let Some(file) = std::env::var_os(CONTROLS).map(PathBuf::from) else {
        return;
    };
    let eyes = AccessibilitySnapshot::open(ctx);
    let (sender, changes) = std::sync::mpsc::channel::<Vec<NamedNode>>();
    if std::thread::Builder::new()
        .name("controls".into())
        .spawn(move || write_newest_controls(&file, &changes))
        .is_ok()
    {
        ctx.add_plugin(ControlsPlugin { eyes, sender });
    }
}

fn write_newest_controls(file: &Path, changes: &Receiver<Vec<NamedNode>>) {
    while let Ok(mut seen) = changes.recv() {
        // Only the newest state counts.
        while let Ok(newer) = changes.try_recv() {
            seen = newer;
        }
        if let Err(error) = write_controls(file, &seen) {
            tracing::warn!("{CONTROLS}: {error}");
            return;
        }
    }
}

fn write_controls(file: &Path, seen: &[NamedNode]) -> std::io::Result<()> {
    let list: Vec<serde_json::Value> = seen.iter().map(describe_control).collect();
    let partial = file.with_extension("partial");
    std::fs::write(&partial, serde_json::to_vec(&list)?)?;
    std::fs::rename(&partial, file)
}

fn describe_control(node: &NamedNode) -> serde_json::Value {
    let rect = [
        node.rect.left(),
        node.rect.top(),
        node.rect.right(),
        node.rect.bottom(),
    ];
    serde_json::json!({
        "label": node.label,
        "role": format!("{:?}", node.role),
        "acts": node.acts,
        "rect": rect,
    })
}

struct ControlsPlugin {
    eyes: Arc<Mutex<AccessibilitySnapshot>>,
    sender: std::sync::mpsc::Sender<Vec<NamedNode>>,
}

impl Plugin for ControlsPlugin {
    fn debug_name(&self) -> &'static str {
        "controls"
    }

    // The snapshot's plugin was added before, so that it has seen this frame.
    fn output_hook(&mut self, _ctx: &Context, _output: &mut FullOutput) {
        let seen = self
            .eyes
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .seen
            .clone();
        let _ = self.sender.send(seen);
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
        let Some(update) = &output.platform_output.accesskit_update else {
            return;
        };
        let seen = update.nodes.iter().filter_map(|(node, data)| {
            let label = data
                .label()
                .or(data.value())
                .filter(|label| !label.is_empty())?;
            let bounds = data.bounds()?;
            let rect = Rect::from_min_max(
                pos2(bounds.x0 as f32, bounds.y0 as f32),
                pos2(bounds.x1 as f32, bounds.y1 as f32),
            );
            let acts = !matches!(data.role(), Role::Label | Role::TextRun | Role::Unknown);
            Some(NamedNode {
                label: label.to_owned(),
                role: data.role(),
                rect,
                acts,
                node: *node,
            })
        });
        let seen = seen.collect();
        let mut eyes = self.eyes.lock().unwrap_or_else(PoisonError::into_inner);
        eyes.seen = seen;
        eyes.focus = Some(update.focus);
    }
}
