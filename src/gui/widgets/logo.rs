//! The mark of the studio: a folded tortilla with its filling, drawn from the same numbers as
//! `assets/icon.svg`.

use egui::{Color32, ColorImage, Painter, Pos2, Rect, Shape, pos2};

// On a grid of 64 units: salad behind, shell in front, three grains. The colours are the mark's
// own, the same in both themes.
const SALAD: Color32 = Color32::from_rgb(0x67, 0xB8, 0x6E);
const SALAD_BACK: Color32 = Color32::from_rgb(0x4E, 0x9A, 0x58);
const SHELL: Color32 = Color32::from_rgb(0xF0, 0x88, 0x3A);
const SHELL_RIM: Color32 = Color32::from_rgb(0xC9, 0x63, 0x1C);
const GRAIN: Color32 = Color32::from_rgb(0xFF, 0xE3, 0xC2);
const LEAVES: [(f32, f32, f32); 5] = [
    (15.0, 27.5, 6.5),
    (23.5, 21.0, 7.0),
    (32.0, 18.5, 7.5),
    (40.5, 21.0, 7.0),
    (49.0, 27.5, 6.5),
];
const GRAINS: [(f32, f32, f32); 3] = [(24.0, 40.5, 2.6), (32.0, 37.0, 2.6), (40.0, 40.5, 2.6)];
const SHELL_CENTER: (f32, f32) = (32.0, 48.0);
const SHELL_RADIUS: f32 = 24.0;
const RIM_RADIUS: f32 = 26.0;

fn half_disc(at: impl Fn(f32, f32) -> Pos2, radius: f32, color: Color32) -> Shape {
    let points = (0..=32)
        .map(|step| {
            let angle = std::f32::consts::PI * step as f32 / 32.0;
            at(
                SHELL_CENTER.0 - radius * angle.cos(),
                SHELL_CENTER.1 - radius * angle.sin(),
            )
        })
        .collect();
    Shape::convex_polygon(points, color, egui::Stroke::NONE)
}

/// Paints the mark into `rect`, which should be a square.
pub fn logo(painter: &Painter, rect: Rect) {
    let unit = rect.width() / 64.0;
    let at = |x: f32, y: f32| pos2(rect.left() + x * unit, rect.top() + y * unit);
    for (index, (x, y, radius)) in LEAVES.into_iter().enumerate() {
        let color = if index % 2 == 0 { SALAD_BACK } else { SALAD };
        painter.circle_filled(at(x, y), radius * unit, color);
    }
    painter.add(half_disc(at, RIM_RADIUS, SHELL_RIM));
    painter.add(half_disc(at, SHELL_RADIUS, SHELL));
    for (x, y, radius) in GRAINS {
        painter.circle_filled(at(x, y), radius * unit, GRAIN);
    }
}

/// The mark as pixels, for the window's icon. `side` in pixels.
pub fn logo_image(side: usize) -> ColorImage {
    const SUB: usize = 4;
    let mut pixels = Vec::with_capacity(side * side);
    for row in 0..side {
        for col in 0..side {
            let mut sum = [0.0_f32; 4];
            for sub in 0..SUB * SUB {
                let unit = 64.0 / (side * SUB) as f32;
                let x = ((col * SUB + sub % SUB) as f32 + 0.5) * unit;
                let y = ((row * SUB + sub / SUB) as f32 + 0.5) * unit;
                if let Some(color) = color_at(x, y) {
                    for (sum, value) in sum.iter_mut().zip(color.to_array()) {
                        *sum += f32::from(value);
                    }
                }
            }
            let [r, g, b, a] = sum.map(|value| (value / (SUB * SUB) as f32).round() as u8);
            pixels.push(Color32::from_rgba_premultiplied(r, g, b, a));
        }
    }
    ColorImage::new([side, side], pixels)
}

fn color_at(x: f32, y: f32) -> Option<Color32> {
    let inside =
        |cx: f32, cy: f32, radius: f32| (x - cx).powi(2) + (y - cy).powi(2) <= radius * radius;
    let (cx, cy) = SHELL_CENTER;
    if y <= cy {
        if GRAINS
            .iter()
            .any(|&(gx, gy, radius)| inside(gx, gy, radius))
        {
            return Some(GRAIN);
        }
        if inside(cx, cy, SHELL_RADIUS) {
            return Some(SHELL);
        }
        if inside(cx, cy, RIM_RADIUS) {
            return Some(SHELL_RIM);
        }
    }
    let leaf = LEAVES
        .iter()
        .rposition(|&(lx, ly, radius)| inside(lx, ly, radius))?;
    Some(if leaf % 2 == 0 { SALAD_BACK } else { SALAD })
}
