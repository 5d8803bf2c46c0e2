//! Characters that the studio's own fonts do not have. The window asks the system's fonts first;
//! this module adds what comes after: an embedded font for Chinese, Japanese and Korean, and the
//! code point in a box for the rest, so that two ids never look alike.

use std::sync::Arc;

use egui::epaint::text::{
    FallbackRequest, FontData, FontInsert, FontPriority, FontProvider, GlyphBitmap,
    GlyphRasterizer, GlyphRasterizerRequest, InsertFontFamily, RasterizedGlyph,
};
use egui::{Color32, ColorImage, Context, FontFamily, vec2};
use egui_system_font_provider::SystemFontProvider;

use crate::ops::doctor::DoctorCheck;

/// Scripts that `doctor` looks for, each with a character.
const SCRIPTS: [(&str, &str); 8] = [
    ("Chinese", "卫"),
    ("Japanese", "か"),
    ("Korean", "위"),
    ("Arabic", "ق"),
    ("Hebrew", "ש"),
    ("Devanagari", "क"),
    ("Thai", "ก"),
    ("emoji", "🛰"),
];

/// Digits 0 to F in 3 × 5 pixels: a row is three bits, the leftmost is the highest.
const DIGITS: [[u8; 5]; 16] = [
    [7, 5, 5, 5, 7],
    [2, 6, 2, 2, 7],
    [7, 1, 7, 4, 7],
    [7, 1, 7, 1, 7],
    [5, 5, 7, 1, 1],
    [7, 4, 7, 1, 7],
    [7, 4, 7, 5, 7],
    [7, 1, 1, 2, 2],
    [7, 5, 7, 5, 7],
    [7, 5, 7, 1, 7],
    [2, 5, 7, 5, 5],
    [6, 5, 6, 5, 6],
    [7, 4, 4, 4, 7],
    [6, 5, 5, 5, 6],
    [7, 4, 7, 4, 7],
    [7, 4, 7, 4, 4],
];
/// Height in pixels of a box of two rows of digits.
const BOX_HEIGHT: usize = 15;
/// Font size in pixels up to which a digit has 3 × 5 pixels.
const BOX_FONT_SIZE: f32 = 16.0;

/// Adds the fonts and the boxes to a context, after the fonts of the system.
pub fn install(ctx: &Context) {
    ctx.add_font_provider(Arc::new(EmbeddedCjk));
    ctx.add_glyph_rasterizer(GlyphRasterizer::new("taco_studio::code_point_boxes", boxes));
}

/// Whether text of the usual scripts can be read on this machine, for `doctor` and the About
/// dialog.
pub fn check() -> DoctorCheck {
    let system = SystemFontProvider::new();
    judge_scripts(&SCRIPTS.map(|(script, text)| {
        (
            script,
            has_system_font_for(&system, text),
            text.chars().all(is_cjk),
        )
    }))
}

fn has_system_font_for(system: &SystemFontProvider, text: &str) -> bool {
    system
        .font_for(&FallbackRequest {
            cluster: text,
            family: &FontFamily::Proportional,
        })
        .is_some()
}

/// Judges scripts, each with whether the system has a font for it and whether the embedded font
/// has.
fn judge_scripts(scripts: &[(&str, bool, bool)]) -> DoctorCheck {
    let (system, embedded) = (
        join_script_names(scripts, |system, _| system),
        join_script_names(scripts, |system, embedded| !system && embedded),
    );
    let none = join_script_names(scripts, |system, embedded| !system && !embedded);
    let mut seen = Vec::new();
    if !system.is_empty() {
        seen.push(format!("system fonts for {system}"));
    }
    if !embedded.is_empty() {
        seen.push(format!("the built-in font for {embedded}"));
    }
    if none.is_empty() {
        return DoctorCheck::ok("fonts", seen.join("; "));
    }
    seen.push(format!("no font for {none}"));
    let advice = "characters without a font are shown as their code point in a box; install a font \
        for the script, such as Noto";
    DoctorCheck::warning("fonts", seen.join("; "), advice)
}

/// Names of the scripts for which `wanted(system, embedded)` is true, with commas between.
fn join_script_names(
    scripts: &[(&str, bool, bool)],
    wanted: impl Fn(bool, bool) -> bool,
) -> String {
    let chosen = scripts
        .iter()
        .filter(|(_, system, embedded)| wanted(*system, *embedded));
    chosen
        .map(|(name, ..)| *name)
        .collect::<Vec<_>>()
        .join(", ")
}

/// The embedded font for Chinese, Japanese and Korean.
struct EmbeddedCjk;

impl FontProvider for EmbeddedCjk {
    fn font_for(&self, request: &FallbackRequest<'_>) -> Option<FontInsert> {
        const BYTES: &[u8] = include_bytes!("../../assets/fonts/DroidSansFallback.ttf");
        request
            .cluster
            .chars()
            .next()
            .filter(|first| is_cjk(*first))?;
        Some(FontInsert {
            name: "droid-sans-fallback".to_owned(),
            data: FontData::from_static(BYTES),
            families: vec![InsertFontFamily {
                family: request.family.clone(),
                priority: FontPriority::Lowest,
            }],
        })
    }
}

/// True for characters of Chinese, Japanese and Korean, with their punctuation and full-width
/// forms.
fn is_cjk(character: char) -> bool {
    matches!(character,
        '\u{1100}'..='\u{11FF}'
        | '\u{2E80}'..='\u{9FFF}'
        | '\u{AC00}'..='\u{D7A3}'
        | '\u{F900}'..='\u{FAFF}'
        | '\u{FE30}'..='\u{FE4F}'
        | '\u{FF00}'..='\u{FFEF}')
}

/// Draws the code points of a cluster that no font has, each in a box.
#[allow(
    clippy::unnecessary_wraps,
    reason = "a rasterizer answers with an option"
)]
fn boxes(request: &GlyphRasterizerRequest<'_>) -> Option<RasterizedGlyph> {
    let scale = (request.font_size_px / BOX_FONT_SIZE).floor().max(1.0) as usize;
    let points: Vec<Vec<u8>> = request
        .cluster
        .chars()
        .map(|character| digits_of(u32::from(character)))
        .collect();
    // A pixel between two boxes.
    let width: usize = points
        .iter()
        .map(|digits| box_width(digits.len()) + 1)
        .sum();
    let mut ink = vec![false; width * BOX_HEIGHT];
    let mut left = 0;
    for digits in &points {
        draw_box(&mut ink, width, left, digits);
        left += box_width(digits.len()) + 1;
    }
    let size = [width * scale, BOX_HEIGHT * scale];
    let mut image = ColorImage::filled(size, Color32::TRANSPARENT);
    for (at, pixel) in image.pixels.iter_mut().enumerate() {
        let (x, y) = (at % size[0] / scale, at / size[0] / scale);
        if ink[y * width + x] {
            *pixel = Color32::WHITE;
        }
    }
    let (advance, above) = ((width * scale) as f32, ((BOX_HEIGHT - 3) * scale) as f32);
    Some(RasterizedGlyph {
        bitmap: GlyphBitmap {
            image,
            offset_px: vec2(0.0, -above),
            is_color: false,
        },
        advance_px: advance,
    })
}

/// Hexadecimal digits of a code point: four, or six.
fn digits_of(point: u32) -> Vec<u8> {
    let count = if point > 0xFFFF { 6 } else { 4 };
    (0..count)
        .rev()
        .map(|place| (point >> (4 * place) & 0xF) as u8)
        .collect()
}

/// Width in pixels of a box with this number of digits in two rows: a border, a gap, and a gap
/// after each column.
fn box_width(digits: usize) -> usize {
    3 + 4 * (digits / 2)
}

fn draw_box(ink: &mut [bool], width: usize, left: usize, digits: &[u8]) {
    let own = box_width(digits.len());
    let mut put = |x: usize, y: usize| fill_pixel(ink, y * width + left + x);
    for x in 0..own {
        put(x, 0);
        put(x, BOX_HEIGHT - 1);
    }
    for y in 0..BOX_HEIGHT {
        put(0, y);
        put(own - 1, y);
    }
    let columns = digits.len() / 2;
    for (at, &digit) in digits.iter().enumerate() {
        let (x, y) = (2 + at % columns * 4, 2 + at / columns * 6);
        for (row, bits) in DIGITS[usize::from(digit & 0xF)].iter().enumerate() {
            (0..3)
                .filter(|column| bits >> (2 - column) & 1 == 1)
                .for_each(|column| put(x + column, y + row));
        }
    }
}

fn fill_pixel(ink: &mut [bool], at: usize) {
    if let Some(pixel) = ink.get_mut(at) {
        *pixel = true;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::gui::theme;
    use crate::ops::doctor::Health;

    fn drawn(cluster: &str) -> RasterizedGlyph {
        let request = GlyphRasterizerRequest {
            cluster,
            family: &FontFamily::Proportional,
            font_size_px: 13.0,
            subpixel_offset_px: 0.0,
        };
        boxes(&request).expect("draws")
    }

    #[test]
    fn characters_without_a_font_never_look_alike() {
        let pictures: Vec<_> = ["ق", "ك", "𐍈", "قك"]
            .map(drawn)
            .into_iter()
            .map(|glyph| glyph.bitmap.image)
            .collect();
        for (at, one) in pictures.iter().enumerate() {
            assert!(pictures[at + 1..].iter().all(|other| one != other));
        }
        assert_eq!(pictures[0].size, [12, BOX_HEIGHT]);
        assert_eq!(pictures[2].size, [16, BOX_HEIGHT], "six digits");
        assert_eq!(pictures[3].size, [24, BOX_HEIGHT], "two boxes");
    }

    #[test]
    fn scripts_without_any_font_are_named() {
        let good = judge_scripts(&[("Chinese", false, true), ("Arabic", true, false)]);
        assert_eq!(
            (good.health, good.seen.as_str()),
            (
                Health::Ok,
                "system fonts for Arabic; the built-in font for Chinese"
            )
        );
        let bad = judge_scripts(&[("Chinese", false, true), ("Arabic", false, false)]);
        assert!(
            bad.health == Health::Warning && bad.seen.ends_with("no font for Arabic"),
            "{}",
            bad.seen
        );
    }

    #[test]
    fn ids_in_chinese_japanese_and_korean_are_drawn_by_the_embedded_font() {
        let ctx = Context::default();
        theme::install(&ctx);
        install(&ctx);
        let widths = |text: &str| {
            let mut width = 0.0;
            let mut output = ctx.run_ui(egui::RawInput::default(), |ui| {
                let font = theme::font::regular(13.0);
                width = ui
                    .painter()
                    .layout_no_wrap(text.to_owned(), font, Color32::WHITE)
                    .size()
                    .x;
            });
            output.textures_delta.clear();
            width
        };
        for text in ["卫星影像", "かなカナ", "위성영상"] {
            let (text_width, boxes) = (widths(text), 4.0 * 12.0);
            assert!(
                (text_width - boxes).abs() > 0.5 && text_width > 40.0,
                "{text}: {text_width}"
            );
        }
        assert!(
            (widths("قق") - widths("ق") * 2.0).abs() < 1.0,
            "a box for each character"
        );
    }
}
