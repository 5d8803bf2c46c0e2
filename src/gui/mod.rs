//! The window. The only module that names egui or a file dialog; everything that it changes goes through `studio`'s commands.
//!
//! [`App`] polls the studio in `logic` and draws in `ui`. Panels get a [`cx::Cx`]: the studio to read, the window's own state, and a list
//! for their wishes, which `asks.rs` fulfils after the frame. To add a panel, add a [`dock::Pane`] and a file in `panels`; to add a menu
//! entry, add an [`action::Action`].

pub mod action;
mod action_info;
mod app;
mod asks;
mod chrome;
mod commands;
mod consent;
mod cx;
mod dialogs;
mod dock;
mod drag;
mod drive;
mod drive_nodes;
mod edits;
mod explore;
mod filters;
mod graphics;
mod hover;
pub mod icons;
mod input;
mod instance;
mod intake;
mod map;
mod marks;
mod offscreen;
mod outline;
mod panels;
mod picker;
mod run;
mod saving;
mod session;
mod settings;
mod slot;
mod sql;
mod taking;
mod textures;
pub mod theme;
mod tour;
mod view_state;
mod watch;
pub mod widgets;

pub use app::App;
pub use dock::Pane;
pub use drive::Verdict;
pub use graphics::graphics;
pub use offscreen::replay_headless;
pub use run::{Renderer, WindowOptions, replay, run};
pub use view_state::{Recent, ViewState};
pub use watch::Slow;

/// The reverse-DNS id of the program, in the window and in the desktop file.
pub const APP_ID: &str = "io.github.taco_studio.TacoStudio";
