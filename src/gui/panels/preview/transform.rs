//! The transform between screen and raster.

use egui::{Pos2, Rect, vec2};

use crate::raster::Window;

/// Maps between screen positions in points and raster positions in pixels.
#[derive(Clone, Copy)]
pub struct Transform {
    /// Screen position of the view's centre.
    pub screen: Pos2,
    /// Raster pixel at that position.
    pub middle: [f64; 2],
    /// Points per pixel.
    pub scale: f64,
}

impl Transform {
    /// The raster pixel at a screen position.
    pub fn pixel_from_screen(self, at: Pos2) -> [f64; 2] {
        let from = at - self.screen;
        [
            self.middle[0] + f64::from(from.x) / self.scale,
            self.middle[1] + f64::from(from.y) / self.scale,
        ]
    }

    /// The screen position of a raster pixel.
    pub fn screen_from_pixel(self, at: [f64; 2]) -> Pos2 {
        self.screen
            + vec2(
                ((at[0] - self.middle[0]) * self.scale) as f32,
                ((at[1] - self.middle[1]) * self.scale) as f32,
            )
    }

    /// The screen rectangle of a window of the raster.
    pub fn rect(self, window: Window) -> Rect {
        let (x, y) = (window.x as f64, window.y as f64);
        Rect::from_two_pos(
            self.screen_from_pixel([x, y]),
            self.screen_from_pixel([x + window.width as f64, y + window.height as f64]),
        )
    }
}
