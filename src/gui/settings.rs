//! What the user sets for every start, beside the theme: size of everything, stillness, threads, network and cache. What the
//! environment says goes before the network's and the cache's.

use egui::Context;
use egui::style::ScrollAnimation;

use super::theme;
use crate::remote::{Limits, set_limits};
use crate::text::{self, Language};

/// The sizes that can be chosen, in parts of the usual one.
pub const SCALES: [f32; 6] = [0.8, 0.9, 1.0, 1.25, 1.5, 2.0];

/// Settings of the user.
#[derive(Clone, Debug, PartialEq, serde::Serialize, serde::Deserialize)]
#[serde(default)]
pub struct Settings {
    /// The language of the interface; the system's when absent.
    pub language: Option<Language>,
    /// Size of everything, in parts of the usual one: 0.5 to 3. Comes on top of the display's own.
    pub scale: f32,
    /// Nothing slides, fades or spins.
    pub still: bool,
    /// Threads for work off the window; 0 for as many as the machine has. From the next start.
    pub threads: usize,
    /// Network and cache.
    pub remote: Limits,
}

impl Default for Settings {
    fn default() -> Self {
        Self { language: None, scale: 1.0, still: false, threads: 0, remote: Limits::default() }
    }
}

impl Settings {
    /// Makes them so, but for the threads.
    pub fn apply(&self, ctx: &Context) {
        text::choose(self.language);
        let scale = if self.scale.is_finite() { self.scale.clamp(0.5, 3.0) } else { 1.0 };
        ctx.set_zoom_factor(scale);
        ctx.all_styles_mut(|style| {
            style.animation_time = if self.still { 0.0 } else { theme::ANIMATION_S };
            style.scroll_animation = if self.still { ScrollAnimation::none() } else { ScrollAnimation::default() };
        });
        set_limits(self.remote);
    }

    /// Starts as many threads as are set, once, before the first work.
    pub fn start_threads(&self) {
        if self.threads > 0
            && let Err(error) = rayon::ThreadPoolBuilder::new().num_threads(self.threads).build_global()
        {
            tracing::debug!("the threads were started before: {error}");
        }
    }
}
