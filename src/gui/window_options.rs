//! How a window is opened.

use std::path::PathBuf;

use super::renderer::Renderer;
use super::theme::Theme;

/// How to open the window.
#[derive(Clone, Debug, Default)]
pub struct WindowOptions {
    /// Datasets to open, or files and folders to build one from.
    pub paths: Vec<PathBuf>,
    /// Try this renderer first.
    pub renderer: Option<Renderer>,
    /// This theme instead of the remembered one.
    pub theme: Option<Theme>,
    /// Safe mode: ignore remembered state, render in software, store nothing.
    pub safe_mode: bool,
    /// Open another window even if one is open.
    pub new_window: bool,
}
