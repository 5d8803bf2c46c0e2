//! The renderers that can draw the window.

use crate::error::{Error, Result};

#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Renderer {
    /// OpenGL.
    Glow,
    /// Vulkan, Metal, DirectX.
    Wgpu,
    /// The same without a graphics card.
    Software,
}

impl Renderer {
    /// In the order in which they are tried.
    pub const ALL: [Renderer; 3] = [Renderer::Glow, Renderer::Wgpu, Renderer::Software];

    /// Its name for `--renderer`.
    pub fn name(self) -> &'static str {
        match self {
            Renderer::Glow => "glow",
            Renderer::Wgpu => "wgpu",
            Renderer::Software => "software",
        }
    }
}

impl std::str::FromStr for Renderer {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        Renderer::ALL
            .into_iter()
            .find(|renderer| renderer.name() == text)
            .ok_or_else(|| {
                Error::usage(format!("there is no renderer {text}"))
                    .hint("use glow, wgpu or software")
            })
    }
}
