//! Settings besides the theme: zoom, reduced motion, threads, network and cache. Environment
//! variables take precedence for network and cache.

use egui::Context;
use egui::style::ScrollAnimation;

use super::theme;
use crate::ops::publish::Prices;
use crate::remote::{RemoteLimits, set_limits};
use crate::text::{self, Language};

/// Zoom factors to choose from.
pub const ZOOM_FACTORS: [f32; 6] = [0.8, 0.9, 1.0, 1.25, 1.5, 2.0];

/// Settings of the user.
#[derive(Clone, Debug, PartialEq, serde::Serialize, serde::Deserialize)]
#[serde(default)]
pub struct Settings {
    /// Language of the interface; `None` for the system's.
    pub language: Option<Language>,
    /// Zoom factor, 0.5 to 3, multiplied with the display's scale.
    pub scale: f32,
    /// No animations.
    #[serde(rename = "still")]
    pub reduced_motion: bool,
    /// Threads of the worker pool; 0 for one per processor. Takes effect at the next start.
    pub threads: usize,
    /// Network and cache.
    pub remote: RemoteLimits,
    /// Prices of the checks before publishing; the command line reads them too.
    #[serde(deserialize_with = "deserialize_prices")]
    pub publish_prices: Prices,
}

/// The stored prices; none when they cannot be read, so that the other settings are kept.
fn deserialize_prices<'de, D: serde::Deserializer<'de>>(
    deserializer: D,
) -> Result<Prices, D::Error> {
    let stored = <serde_json::Value as serde::Deserialize>::deserialize(deserializer)?;
    Ok(serde_json::from_value(stored).unwrap_or_default())
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            language: None,
            scale: 1.0,
            reduced_motion: false,
            threads: 0,
            remote: RemoteLimits::default(),
            publish_prices: Prices::default(),
        }
    }
}

impl Settings {
    /// Applies the settings except threads.
    pub fn apply(&self, ctx: &Context) {
        text::choose(self.language);
        let scale = if self.scale.is_finite() {
            self.scale.clamp(0.5, 3.0)
        } else {
            1.0
        };
        ctx.set_zoom_factor(scale);
        ctx.all_styles_mut(|style| {
            style.animation_time = if self.reduced_motion {
                0.0
            } else {
                theme::ANIMATION_S
            };
            style.scroll_animation = if self.reduced_motion {
                ScrollAnimation::none()
            } else {
                ScrollAnimation::default()
            };
        });
        set_limits(self.remote);
    }

    /// Starts the worker pool, once, before the first work.
    pub fn start_threads(&self) {
        if self.threads > 0
            && let Err(error) = rayon::ThreadPoolBuilder::new()
                .num_threads(self.threads)
                .build_global()
        {
            tracing::debug!("the threads were started before: {error}");
        }
    }
}
