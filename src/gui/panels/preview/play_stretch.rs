//! One stretch for all frames of a playback, that of the first, so that dates are comparable.

use egui::{Rect, Role, Sense, Ui, WidgetInfo, vec2};

use super::histogram::outermost;
use super::names::numbers_apart;
use super::state::{PlayStretch, PreviewPanel};
use crate::gui::theme::{self, font};
use crate::gui::widgets::paint;
use crate::raster::{PixelNumber, PreviewImage};
use crate::studio::Document;

impl PlayStretch {
    /// True for a picture with the same bands and types: a mask among scenes keeps its own stretch.
    pub(super) fn is_for(&self, image: &PreviewImage) -> bool {
        self.bands == image.bands && self.dtypes == dtypes(image)
    }
}

fn dtypes(image: &PreviewImage) -> Vec<String> {
    let bands = image.band_indices.iter().map(|band| image.info.band(*band));
    bands
        .map(|band| band.map_or(String::new(), |band| band.dtype.clone()))
        .collect()
}

/// Keeps the limits of the picture shown when a playback starts, or when its stretch or bands are
/// changed. They stay with the frame at which it stops.
pub fn refresh(panel: &mut PreviewPanel, document: &Document) {
    let options = (
        panel.options.stretch,
        panel.options.bands.clone(),
        panel.options.part,
    );
    if panel.side.locked.is_some()
        || panel
            .play_stretch
            .as_ref()
            .is_some_and(|played| played.options != options)
    {
        panel.play_stretch = None;
    }
    let (Some(image), None, None) = (panel.image(), &panel.play_stretch, &panel.side.locked) else {
        return;
    };
    if panel.next_step_s.is_none() {
        return;
    }
    let limits = image.prepared.limits(options.0);
    let list: Vec<_> = limits.iter().flatten().copied().collect();
    let Some(outer) = outermost(&list) else {
        return;
    };
    let ends = [outer.low, outer.high];
    let numbers = if list.len() == 1 {
        ends.map(|value| image.prepared.number(0, value))
    } else {
        ends.map(PixelNumber::Real)
    };
    let from = panel
        .whole_of
        .and_then(|at| document.id(at))
        .unwrap_or_default()
        .to_owned();
    let played = PlayStretch {
        texts: numbers_apart(numbers),
        bands: image.bands.clone(),
        dtypes: dtypes(image),
        limits,
        from,
        options,
    };
    panel.play_stretch = Some(played);
}

/// Says on the picture which stretch the frames have.
pub fn caption_ui(ui: &mut Ui, panel: &PreviewPanel, rect: Rect) {
    let shows = |played: &&PlayStretch| {
        panel.image().is_some_and(|image| played.is_for(image)) && !panel.side.by_class
    };
    let Some(PlayStretch {
        from,
        texts: [low, high],
        ..
    }) = panel.play_stretch.as_ref().filter(shows)
    else {
        return;
    };
    let t = theme::tokens(ui);
    let text = tr!(
        "All frames have the stretch of {from}: {low} – {high}",
        from,
        low,
        high
    );
    let painter = ui.painter_at(rect);
    let galley =
        paint::layout_cut_line(&painter, &text, font::mono(11.0), t.tx, rect.width() - 40.0);
    let label = Rect::from_min_size(rect.min + vec2(10.0, 10.0), galley.size() + vec2(12.0, 6.0));
    painter.rect_filled(label, 4, t.bg1.gamma_multiply(0.9));
    painter.galley(label.min + vec2(6.0, 3.0), galley, t.tx);
    let response = ui.interact(label, ui.scope_id().with("play stretch"), Sense::hover());
    response.widget_info(|| WidgetInfo::labeled(Role::Label, true, &text));
}
