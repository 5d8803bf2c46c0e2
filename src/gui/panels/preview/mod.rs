//! The preview of the selected raster: pan, zoom, bands, stretch, values under the pointer,
//! comparison with a second picture.

mod canvas;
mod chunks;
mod difference;
mod file_contents;
pub mod file_view;
mod histogram;
mod legend;
mod linked;
pub mod names;
mod picture;
mod picture_options;
mod picture_request;
mod pixel;
mod play_stretch;
mod scale_bar;
mod scaling;
mod sibling_rows;
pub mod siblings;
pub mod sidebar;
mod spectrum;
pub mod state;
mod tools;
mod transform;
mod variable;
mod vector;
mod vector_features;

use std::sync::Arc;

use egui::{Ui, UiBuilder};

use crate::gui::document_key::DocumentKey;
use crate::gui::icons;
use crate::gui::panel_context::PanelContext;
use crate::gui::panels::panel::Panel;
use crate::gui::widgets::{self, EmptyState};
use crate::jobs::AsyncValue;
use crate::model::{SampleKind, is_padding};
use crate::raster::{PreviewRequest, RenderOptions};
use crate::studio::{Document, RowRef};
use picture::{Picture, PictureLook};
use picture_options::{beside_key, look_of, shows_classes};
use picture_request::{WHOLE, fit_bands_to_raster, plain, read_picture, resampling_of};
use sidebar::SIDEBAR_WIDTH;
use state::{CompareMode, LinkedState, PreviewPanel};

pub use sibling_rows::list_files_around;

impl Panel for PreviewPanel {
    fn contents_ui(&mut self, ui: &mut Ui, cx: &mut PanelContext<'_>) {
        let Some(document) = cx.document() else {
            return nothing_ui(
                ui,
                tr!("No preview"),
                tr!("Open a dataset, then select a raster."),
                &[],
            )
            .map_or((), drop);
        };
        // Of a FOLDER, or when nothing is selected, its first file is shown.
        let Some(at) = first_file(document, cx.session.selection.sample) else {
            return nothing_ui(
                ui,
                tr!("No preview"),
                tr!("There is no FILE below this FOLDER."),
                &[],
            )
            .map_or((), drop);
        };
        let key = cx.document_key();
        cx.session.asset.read_header(cx.jobs, key, document, at);
        if self.shown != Some((key, at)) {
            // Siblings of the same size keep the view, to follow a location through time.
            (self.asset, self.failed, self.pixel) = (None, None, None);
            // The pictures stay until the next ones are rendered.
            (self.whole_read, self.closer_read) = (AsyncValue::default(), AsyncValue::default());
            self.incoming = [None, None];
            self.shown = Some((key, at));
            if self.next_step_s.is_none() {
                self.play_stretch = None;
            }
        }
        if self.asset.is_none() {
            match cx.session.asset.find_facts(key, at) {
                Some(Ok(asset)) if asset.size == 0 => {
                    let why = tr!(
                        "It keeps the place of a file that this sample lacks, and holds no data."
                    );
                    return nothing_ui(ui, tr!("Empty slot (padding)"), why, &[]).map_or((), drop);
                }
                Some(Ok(asset)) => match &asset.raster {
                    Ok(info) if info.band_count > 0 => {
                        self.view.show([info.width as f64, info.height as f64]);
                        let (path, info) = (asset.source.clone(), info.clone());
                        self.asset = Some(path);
                        self.raster = Some(info);
                    }
                    Ok(info) if info.is_vector() => {
                        (self.whole, self.closer, self.pixel) = (None, None, None);
                        return vector::ui(ui, self, cx, document, key, at);
                    }
                    Ok(_) => self.failed = Some(tr!("It has no pixels.").to_owned()),
                    Err(error) => self.failed = Some(error.sentence()),
                },
                Some(Err(error)) => self.failed = Some(error.sentence()),
                None => {}
            }
        }
        self.upload(ui.ctx());
        if let Some(why) = self.failed.clone() {
            (self.whole, self.closer) = (None, None);
            self.incoming = [None, None];
            file_contents::ui(ui, self, cx, key, at, &why);
            return;
        }
        let by_class = shows_classes(self, document);
        request_whole(self, cx, by_class);
        request_other(self, cx, document, key, at, by_class);
        chunks::refresh(self, cx, document, key, at);
        play_stretch::refresh(self, document);
        let look = refresh_pictures(self, cx, document);
        let has_strip = ui.available_height() > 4.0 * siblings::HEIGHT + 72.0;
        tools::ui(ui, self, cx, document, at, !has_strip);
        let area = ui.available_rect_before_wrap();
        let side = if area.width() > 2.2 * SIDEBAR_WIDTH {
            SIDEBAR_WIDTH
        } else {
            0.0
        };
        let (left, right) = area.split_left_right_at_x(area.right() - side);
        let strip = if has_strip { siblings::HEIGHT } else { 0.0 };
        let (upper, lower) = left.split_top_bottom_at_y(left.bottom() - strip);
        let (canvas, readout) = upper.split_top_bottom_at_y(upper.bottom() - 24.0);
        if self.compare.mode == CompareMode::Linked {
            linked::ui(ui, self, cx, document, at, &look, canvas);
        } else {
            self.linked = LinkedState::default();
            canvas::ui(ui, self, cx, canvas);
        }
        canvas::readout_ui(ui, self, readout);
        if strip > 0.0 {
            siblings::ui(ui, self, cx, document, at, lower);
        }
        if side > 0.0 {
            ui.scope_builder(UiBuilder::new().max_rect(right), |ui| {
                sidebar::side_ui(ui, self, cx, document, at)
            });
        }
        tools::play(ui, self, cx, document, at);
    }
}

fn nothing_ui(ui: &mut Ui, title: &str, why: &str, actions: &[&str]) -> Option<usize> {
    widgets::draw_empty_state_with_actions(
        ui,
        &EmptyState {
            icon: icons::IMAGE,
            title,
            why,
            actions,
        },
    )
}

/// The first FILE at or below a sample.
pub fn first_file(document: &Document, at: Option<RowRef>) -> Option<RowRef> {
    let mut at = match at {
        Some(at) => at,
        None if document.rows(0) > 0 => RowRef::default(),
        None => return None,
    };
    while document.kind(at)? == SampleKind::Folder {
        let below = document.tree().levels.get(at.level + 1)?;
        let children = document.tree().levels.get(at.level)?.children(at.row);
        let row = *children
            .iter()
            .find(|&&row| !is_padding(below.id(row)))
            .or(children.first())?;
        at = RowRef {
            level: at.level + 1,
            row,
        };
    }
    Some(at)
}

/// Requests the renderings of the pictures, and shows those that are ready. Returns the rendering
/// options of the whole.
fn refresh_pictures(
    panel: &mut PreviewPanel,
    cx: &mut PanelContext<'_>,
    document: &Document,
) -> PictureLook {
    let [incoming_whole, incoming_closer] = std::mem::take(&mut panel.incoming);
    let mut incoming_whole = incoming_whole;
    if let Some(picture) = &mut incoming_whole {
        let look = look_of(panel, document, Some(&picture.answer.1));
        picture.refresh(cx.jobs, &look);
    }
    let whole_changes = incoming_whole.as_ref().is_some_and(Picture::is_ready);
    if whole_changes {
        (panel.whole, panel.closer) = (incoming_whole.take(), None);
        panel.whole_of = panel.shown.map(|(_, at)| at);
    }
    let look = look_of(panel, document, panel.image());
    panel.incoming = [incoming_whole, incoming_closer.filter(|_| !whole_changes)];
    if let Some(whole) = &mut panel.whole {
        whole.refresh(cx.jobs, &look);
        let shared = PictureLook {
            limits: Some(whole.limits.clone()),
            ..look.clone()
        };
        let [_, incoming_closer] = &mut panel.incoming;
        for picture in [&mut panel.closer, &mut *incoming_closer, &mut panel.other]
            .into_iter()
            .flatten()
        {
            picture.refresh(cx.jobs, &shared);
        }
        if incoming_closer.as_ref().is_some_and(Picture::is_ready) {
            panel.closer = incoming_closer.take();
        }
    }
    look
}

fn request_whole(panel: &mut PreviewPanel, cx: &mut PanelContext<'_>, by_class: bool) {
    let Some((asset, info)) = panel.asset.clone().zip(panel.raster.clone()) else {
        return;
    };
    let mut request = PreviewRequest::new(asset, (WHOLE, WHOLE));
    request.options = RenderOptions {
        bands: fit_bands_to_raster(&panel.options.bands, info.band_count),
        ..panel.options.clone()
    };
    request.resampling = resampling_of(by_class, &request.options.bands, &info);
    let wanted = plain(&request);
    if panel.whole_read.key() != Some(&wanted) {
        panel.closer_read = AsyncValue::default();
    }
    panel
        .whole_read
        .update(cx.jobs, wanted, tr!("Read the raster"), move |ctx| {
            read_picture(request, ctx)
        });
}

/// Requests the second picture of the comparison.
fn request_other(
    panel: &mut PreviewPanel,
    cx: &mut PanelContext<'_>,
    document: &Document,
    key: DocumentKey,
    at: RowRef,
    by_class: bool,
) {
    let beside = beside_key(panel, cx, key, by_class);
    let Some(other) = tools::other_of(document, at, &panel.compare) else {
        panel.other = None;
        return;
    };
    let wanted = (other, beside.clone());
    let place = document.raster_later(other);
    panel
        .other_asked
        .update(cx.jobs, wanted.clone(), tr!("Second picture"), move |ctx| {
            beside.read(place, ctx)
        });
    if let Some(Ok(answer)) = panel.other_asked.get(&wanted)
        && panel
            .other
            .as_ref()
            .is_none_or(|shown| !Arc::ptr_eq(&shown.answer, answer))
        && let Some(ctx) = panel.whole.as_ref().map(|whole| whole.ctx.clone())
    {
        panel.other = Some(Picture::new(&ctx, answer.clone()));
    }
}
