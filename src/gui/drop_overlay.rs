//! The overlay that says what a drop will do, while files hover over the window.

use std::path::PathBuf;

use egui::{Context, Id, LayerId, Order, Rect, vec2};

use super::App;
use super::icons;
use super::theme::{self, font};
use super::widgets::paint;

impl App {
    /// Draws the overlay while files hover over the window.
    pub(super) fn drop_overlay_ui(&mut self, ctx: &Context) {
        let hovered: Vec<PathBuf> = ctx.input(|input| {
            input
                .raw
                .hovered_files
                .iter()
                .filter_map(|file| file.path.clone())
                .collect()
        });
        if hovered.is_empty() {
            return;
        }
        let t = theme::tokens_for_mode(ctx.global_style().visuals.dark_mode);
        let painter = ctx.layer_painter(LayerId::new(Order::Foreground, Id::unique("drop")));
        let rect = ctx.content_rect();
        painter.rect_filled(rect, 0, t.bg0.gamma_multiply(0.85));
        let frame = rect.shrink(24.0);
        painter.rect_filled(frame, 6, t.accbg.gamma_multiply(0.6));
        paint::dashed_rect(&painter, frame, t.accfill);
        paint::draw_icon(
            &painter,
            frame.center() - vec2(0.0, 44.0),
            icons::TRAY_ARROW_DOWN,
            32.0,
            t.acc,
        );
        let draft = self
            .studio
            .document()
            .is_some_and(|document| document.draft().is_some());
        let title = match (hovered.len(), draft) {
            (1, _) => {
                let name = hovered[0]
                    .file_name()
                    .map(|name| name.to_string_lossy())
                    .unwrap_or_default();
                tr!("Drop {name}", name)
            }
            (count, _) => tr!("Drop {count} files and folders", count),
        };
        let what = if draft {
            tr!("Datasets open; files and folders are added to the draft")
        } else {
            tr!("Datasets open; files and folders begin a draft")
        };
        let line = Rect::from_center_size(frame.center(), vec2(frame.width() - 32.0, 24.0));
        paint::text_center(&painter, line, &title, font::semibold(15.0), t.tx);
        paint::text_center(
            &painter,
            line.translate(vec2(0.0, 26.0)),
            what,
            font::regular(12.0),
            t.tx2,
        );
    }
}
