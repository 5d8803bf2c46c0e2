//! Input outside the panels: shortcuts, drops, pasted paths, the window's close button.

use std::path::PathBuf;
use std::time::Instant;

use egui::{Context, Event as Input};

use super::App;
use super::action::Action;
use super::dropped_paths;
use super::panel_context::Request;

impl App {
    /// Handles shortcuts, drops, pasted paths and the window's close button.
    pub(super) fn take_input(&mut self, ctx: &Context) {
        let typing = ctx.memory(|memory| memory.focused().is_some())
            && ctx.egui_wants_keyboard_input()
            && text_has_focus(ctx);
        if !self.dialogs.is_open() && !self.palette.is_open() {
            for &(action, keys) in &*self.shortcuts.clone() {
                let own = matches!(action, Action::Undo | Action::Redo)
                    && self
                        .panels
                        .collection
                        .is_own(ctx.memory(|memory| memory.focused()));
                if typing && action.yields_to_text() && !own {
                    continue;
                }
                if !ctx.input_mut(|input| input.consume_shortcut(&keys)) {
                    continue;
                }
                let now = if own {
                    self.panels.collection.postpone_while_typing(action)
                } else {
                    Some(action)
                };
                if typing && !own && action.takes_what_is_typed() {
                    // The field commits its text before the action runs; saving keeps the focus in
                    // the field.
                    let field = ctx.memory(|memory| memory.focused());
                    ctx.memory_mut(|memory| {
                        field.into_iter().for_each(|id| memory.surrender_focus(id))
                    });
                    self.refocus = field.filter(|_| action == Action::Save);
                }
                if let Some(action) = now {
                    self.requests.push(Request::Do(action));
                }
            }
        }
        let (dropped, pasted, closing) = ctx.input(|input| {
            let dropped: Vec<PathBuf> = input
                .raw
                .dropped_files
                .iter()
                .map(|file| file.path().to_owned())
                .collect();
            let pasted: Vec<String> = input
                .events
                .iter()
                .filter_map(|event| {
                    if let Input::Paste(text) = event {
                        Some(text.clone())
                    } else {
                        None
                    }
                })
                .collect();
            (dropped, pasted, input.viewport().close_requested())
        });
        if !dropped.is_empty() {
            self.requests.push(Request::TakeDropped(dropped));
        }
        if !typing && !self.dialogs.is_open() {
            let paths: Vec<PathBuf> = pasted
                .iter()
                .flat_map(|text| dropped_paths::parse_pasted_paths(text))
                .collect();
            self.look_for_pasted_paths(paths);
        }
        self.take_pasted_paths();
        if closing && !self.quitting && typing {
            ctx.memory_mut(|memory| {
                memory
                    .focused()
                    .into_iter()
                    .for_each(|id| memory.surrender_focus(id))
            });
            ctx.send_viewport_cmd(egui::ViewportCommand::CancelClose);
            self.requests.push(Request::Do(Action::Quit));
        } else if closing && !self.quitting && self.has_changes() {
            ctx.send_viewport_cmd(egui::ViewportCommand::CancelClose);
            self.ask_to_discard(Request::Do(Action::Quit));
        } else if closing && !self.quitting && self.works() {
            ctx.send_viewport_cmd(egui::ViewportCommand::CancelClose);
            self.ask_to_stop();
        } else if closing {
            // The user confirmed; a window closed by the system keeps the draft for recovery.
            self.studio.forget_kept();
        }
    }
}

impl App {
    /// Looks for pasted paths off the interface thread: ordinary text may look like them.
    fn look_for_pasted_paths(&mut self, paths: Vec<PathBuf>) {
        if paths.is_empty() {
            return;
        }
        let label = tr!("Read the paths");
        self.pasted_paths
            .update(&self.jobs, Instant::now(), label, move |ctx| {
                dropped_paths::keep_existing_paths(paths, ctx)
            });
    }

    fn take_pasted_paths(&mut self) {
        if let Some(Ok(paths)) = self.pasted_paths.take()
            && !paths.is_empty()
        {
            self.requests.push(Request::TakeDropped(paths));
        }
    }
}

/// True when the focused widget is a text field.
fn text_has_focus(ctx: &Context) -> bool {
    let Some(id) = ctx.memory(|memory| memory.focused()) else {
        return false;
    };
    egui::text_edit::TextEditState::load(ctx, id).is_some()
}
