//! The options by which pictures are shown now: bands, stretch and colours, as the tools and the
//! sidebar have them.

use super::names::classes_of;
use super::picture::PictureLook;
use super::picture_request::BesideKey;
use super::state::{PlayStretch, PreviewState};
use crate::gui::document_key::DocumentKey;
use crate::gui::panel_context::PanelContext;
use crate::raster::{PreviewImage, RenderOptions};
use crate::studio::Document;

/// The current rendering options of a picture.
pub fn look_of(
    cx: &PanelContext<'_>,
    document: &Document,
    image: Option<&PreviewImage>,
) -> PictureLook {
    let state = &cx.session.preview;
    let bands = image.map_or_else(|| state.options.bands.clone(), |image| image.bands.clone());
    PictureLook {
        options: RenderOptions {
            bands,
            ..state.options.clone()
        },
        limits: state
            .side
            .locked
            .clone()
            .or_else(|| Some(find_play_stretch(state, image)?.limits.clone())),
        classes: if state.side.by_class {
            classes_of(document).colours
        } else {
            None
        },
    }
}

/// The stretch of the sequence that plays, when it is for `image`.
fn find_play_stretch<'a>(
    state: &'a PreviewState,
    image: Option<&PreviewImage>,
) -> Option<&'a PlayStretch> {
    state
        .play_stretch
        .as_ref()
        .filter(|played| image.is_some_and(|image| played.is_for(image)))
}

/// True when single bands are coloured by the collection's classes.
pub fn shows_classes(cx: &PanelContext<'_>, document: &Document) -> bool {
    cx.session.preview.side.by_class && classes_of(document).colours.is_some()
}

/// How pictures beside the selected one are read: as the selected one.
pub(super) fn beside_key(
    cx: &PanelContext<'_>,
    document: DocumentKey,
    by_class: bool,
) -> BesideKey {
    let RenderOptions { bands, part, .. } = &cx.session.preview.options;
    BesideKey {
        document,
        bands: bands.clone(),
        part: *part,
        variable: cx.session.sample.variable.clone(),
        by_class,
    }
}
