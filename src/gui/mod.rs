//! The window. The only module that uses egui or file dialogs; all changes go through commands of
//! `studio`.
//!
//! [`App`] polls the studio in `logic` and draws in `ui`. A panel owns its state and gets a
//! `PanelContext`: the studio to read, what the parts of the window share, and a list for its
//! requests, which `command_handling.rs` fulfils after the frame. How to add a panel or a menu
//! entry is said at the head of the library.

mod accessibility_snapshot;
pub mod action;
mod action_enabled;
mod action_info;
mod app;
mod arrangements;
mod banner;
mod chrome;
mod command_handling;
mod consent;
mod counted_texts;
mod dialog_handling;
mod dialogs;
mod displayed_texts;
mod dock;
mod document_key;
mod documentation_page;
mod draft_levels;
mod draft_structure;
mod drag;
mod drawn_panels;
mod drop_overlay;
mod dropped_paths;
mod edit_actions;
mod ending;
mod explore;
mod fallback_glyphs;
mod file_dialog;
mod file_manager;
mod filters;
mod frame_watchdog;
mod glyph_warmup;
mod graphics;
pub mod icons;
mod input;
mod map;
mod offscreen;
mod open_paths;
mod outline;
mod output_places;
mod palette_entries;
mod pane;
mod panel_context;
mod panels;
mod path_action;
mod renderer;
mod report_delay;
mod root_steps;
mod run;
mod sample_status;
mod saving;
mod script_events;
mod script_runner;
mod script_steps;
mod selected_asset;
mod selection;
mod session;
mod settings;
mod settings_writer;
mod single_instance;
mod sql;
mod started_form;
mod textures;
pub mod theme;
mod tools_menu;
mod tour;
mod tray_selection;
mod value_id;
mod view_state;
pub mod widgets;
mod window_options;

pub use app::App;
pub use fallback_glyphs::check as fonts;
pub use frame_watchdog::SlowStep;
pub use graphics::graphics;
pub use offscreen::replay_headless;
pub use pane::Pane;
pub use renderer::Renderer;
pub use run::{replay, run};
pub use script_runner::ScriptVerdict;
pub use view_state::{Recent, ViewState};
pub use window_options::WindowOptions;

/// The reverse-DNS id of the program, in the window and in the desktop file.
pub const APP_ID: &str = "io.github.taco_studio.TacoStudio";
