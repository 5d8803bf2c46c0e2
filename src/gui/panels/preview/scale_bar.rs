//! The scale bar of the preview: ground distance along the horizontal of the screen, measured at
//! the centre of what is shown.

use std::sync::Arc;

use egui::{Rect, Sense, Stroke, Ui, pos2};

use super::names::number;
use super::state::{GroundPlace, PreviewPanel};
use super::transform::Transform;
use crate::digits::round_at_most;
use crate::gui::panel_context::PanelContext;
use crate::gui::theme::{self, font};
use crate::gui::widgets::paint;
use crate::raster::{RasterInfo, metres_per_column};

/// Largest width of the bar, in points.
const WIDTH: f64 = 120.0;
/// Smallest width, for its text.
const LEAST_WIDTH: f64 = 24.0;
/// The centre is measured again when it has moved by this many points.
const MOVED: f64 = 8.0;

/// A round distance and its width in points; `None` where there is no scale.
#[derive(Debug, PartialEq)]
struct Bar {
    width: f64,
    text: String,
}

impl Bar {
    fn new(metres_per_point: f64) -> Option<Self> {
        let most = metres_per_point * WIDTH;
        if !most.is_normal() || most < 0.0 {
            return None;
        }
        let length = round_at_most(most);
        let text = match length {
            length if length >= 1000.0 => format!("{} km", number(length / 1000.0)),
            length if length >= 1.0 => format!("{} m", number(length)),
            length if length >= 0.01 => format!("{} cm", number(length * 100.0)),
            length => format!("{} mm", number(length * 1000.0)),
        };
        let width = length / metres_per_point;
        (LEAST_WIDTH..=WIDTH + 0.01)
            .contains(&width)
            .then_some(Self { width, text })
    }
}

/// Requests the scale at the centre of the view, and draws the bar; nothing without coordinate
/// system.
pub fn ui(
    ui: &mut Ui,
    panel: &mut PreviewPanel,
    cx: &mut PanelContext<'_>,
    info: &Arc<RasterInfo>,
    transform: Transform,
    rect: Rect,
) {
    // One request at a time: the view may move in every frame.
    if !panel.ground.is_pending() {
        let step = (MOVED / transform.scale).max(1e-3);
        let at = transform
            .middle
            .map(|middle| (middle / step).round() * step);
        let info = info.clone();
        panel.ground.update(
            cx.jobs,
            GroundPlace {
                info: info.clone(),
                at,
            },
            tr!("Scale of the picture"),
            move |_| {
                let metres = metres_per_column(&info, at);
                Ok((info, metres))
            },
        );
    }
    let Some(metres) = panel
        .ground
        .latest()
        .filter(|(of, _)| Arc::ptr_eq(of, info))
        .and_then(|(_, metres)| *metres)
    else {
        return;
    };
    let Some(Bar { width, text }) = Bar::new(metres / transform.scale) else {
        return;
    };
    let (t, painter, width) = (theme::tokens(ui), ui.painter_at(rect), width as f32);
    let (right, y) = (rect.right() - 14.0, rect.bottom() - 16.0);
    let back = Rect::from_min_max(
        pos2(right - width - 8.0, y - 20.0),
        pos2(right + 8.0, y + 8.0),
    );
    painter.rect_filled(back, 4, t.bg1.gamma_multiply(0.8));
    for (from, to) in [
        (pos2(right - width, y), pos2(right, y)),
        (pos2(right - width, y - 5.0), pos2(right - width, y)),
        (pos2(right, y - 5.0), pos2(right, y)),
    ] {
        painter.line_segment([from, to], Stroke::new(1.5, t.tx));
    }
    let label = Rect::from_min_max(
        pos2(right - width - 6.0, y - 18.0),
        pos2(right + 6.0, y - 2.0),
    );
    paint::text_center(&painter, label, &text, font::mono(10.5), t.tx);
    let response = ui.interact(back, ui.scope_id().with("scale bar"), Sense::hover());
    response.widget_info(|| {
        egui::WidgetInfo::labeled(egui::Role::Label, true, tr!("Scale bar: {text}", text))
    });
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bars_are_round_and_as_wide_as_their_distance() {
        let bar = |metres_per_point: f64| {
            Bar::new(metres_per_point).map(|bar| (bar.text, bar.width.round()))
        };
        assert_eq!(bar(10.0), Some(("1 km".into(), 100.0)));
        assert_eq!(bar(0.5), Some(("50 m".into(), 100.0)));
        assert_eq!(bar(0.004), Some(("20 cm".into(), 50.0)));
        assert_eq!(bar(1e-5), Some(("1 mm".into(), 100.0)));
        assert_eq!(
            bar(111_319.49 * 0.3),
            Some(("2\u{2009}000 km".into(), 60.0))
        );
        for none in [0.0, -1.0, f64::NAN, f64::INFINITY, 1e-320] {
            assert_eq!(bar(none), None, "{none}");
        }
    }
}
