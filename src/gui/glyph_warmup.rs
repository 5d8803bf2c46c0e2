//! Draws the usual characters into the glyph atlas before they are needed. A glyph is rasterized
//! when it is first laid out, once for each font, size and position between pixels: the first frame
//! with all panels would need some hundred of them at once and last longer than its time. A few are
//! rasterized in each of the first frames instead; afterwards nothing repaints.

use std::time::{Duration, Instant};

use egui::{Color32, Context, FontId};

use super::icons;
use super::pane::Pane;
use super::theme::font;

/// Time from the beginning of a frame after which no more glyphs are rasterized in it.
const UNTIL: Duration = Duration::from_millis(4);
/// Characters in the order in which they are rasterized.
const CHARACTERS: &str =
    "etaoinsrlhdcumfpgwybvkxjqz0123456789,.ABCDEFGHIJKLMNOPQRSTUVWXYZ_-:/()+%=#*…–→";
/// Icons of bars, tabs, tree, table and problems.
const ICONS: [&str; 16] = [
    icons::TREE_STRUCTURE,
    icons::STACK,
    icons::IMAGE,
    icons::TABLE,
    icons::CARET_RIGHT,
    icons::CARET_DOWN,
    icons::PACKAGE,
    icons::CHECK_CIRCLE,
    icons::WARNING,
    icons::WARNING_OCTAGON,
    icons::MAGNIFYING_GLASS,
    icons::CURSOR,
    icons::LOCK_SIMPLE,
    icons::COLUMNS,
    icons::QUEUE,
    icons::X,
];
/// How often a character is repeated: each copy is at another position between pixels.
const COPIES: usize = 4;

/// The texts that are left to lay out.
pub struct GlyphWarmup {
    texts: std::vec::IntoIter<(FontId, String)>,
}

impl Default for GlyphWarmup {
    fn default() -> Self {
        let mut texts: Vec<(FontId, String)> = Vec::new();
        // The words of the tabs as they are drawn, then single characters by font, those with the
        // most text first.
        texts.extend(Pane::ALL.map(|pane| (font::medium(13.0), pane.title().to_owned())));
        texts.extend(
            [12.0, 13.0, 14.0, 15.0, 16.0]
                .into_iter()
                .flat_map(|size| ICONS.map(|icon| (font::icon(size), icon.to_owned()))),
        );
        let fonts = [
            font::regular(12.0),
            font::mono(12.0),
            font::mono(11.0),
            font::regular(13.0),
            font::semibold(12.0),
            font::medium(12.0),
            font::regular(11.0),
            font::mono_semibold(12.0),
            font::semibold(13.0),
            font::mono(11.5),
            font::medium(13.0),
            font::medium(11.0),
        ];
        for one in fonts {
            texts.extend(CHARACTERS.chars().map(|character| {
                (
                    one.clone(),
                    std::iter::repeat_n(character, COPIES).collect(),
                )
            }));
        }
        Self {
            texts: texts.into_iter(),
        }
    }
}

impl GlyphWarmup {
    /// Lays out texts until the frame that began at `began` has no more time for it, one at least.
    /// True when texts are left.
    pub fn step(&mut self, ctx: &Context, began: Instant) -> bool {
        ctx.fonts_mut(|fonts| {
            for (font, text) in self.texts.by_ref() {
                fonts.layout_no_wrap(text, font, Color32::WHITE);
                if began.elapsed() >= UNTIL {
                    break;
                }
            }
        });
        !self.texts.as_slice().is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::gui::theme;

    #[test]
    fn texts_are_laid_out_over_several_frames_and_then_no_more() {
        let ctx = Context::default();
        theme::install(&ctx);
        let mut warmup = GlyphWarmup::default();
        let texts = warmup.texts.len();
        let mut frames = 0;
        loop {
            let mut more = false;
            let mut output = ctx.run_ui(egui::RawInput::default(), |_| {
                // The time of this frame is over: one text is laid out all the same.
                let began = Instant::now()
                    .checked_sub(UNTIL)
                    .unwrap_or_else(Instant::now);
                more = warmup.step(&ctx, began);
            });
            output.textures_delta.clear();
            frames += 1;
            if !more {
                break;
            }
            assert!(frames <= texts, "it ends");
        }
        assert!(frames > 1);
        assert!(!warmup.step(&ctx, Instant::now()));
    }
}
