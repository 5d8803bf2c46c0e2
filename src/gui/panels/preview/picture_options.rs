//! The options by which pictures are shown now: bands, stretch and colours, as the tools and the
//! sidebar have them.

use super::names::classes_of;
use super::picture::PictureLook;
use super::picture_request::BesideKey;
use super::state::{PlayStretch, PreviewPanel};
use crate::gui::document_key::DocumentKey;
use crate::gui::panel_context::PanelContext;
use crate::raster::{PreviewImage, RenderOptions};
use crate::studio::Document;

/// The current rendering options of a picture.
pub fn look_of(
    panel: &PreviewPanel,
    document: &Document,
    image: Option<&PreviewImage>,
) -> PictureLook {
    let bands = image.map_or_else(|| panel.options.bands.clone(), |image| image.bands.clone());
    PictureLook {
        options: RenderOptions {
            bands,
            ..panel.options.clone()
        },
        limits: panel
            .side
            .locked
            .clone()
            .or_else(|| Some(find_play_stretch(panel, image)?.limits.clone())),
        classes: if panel.side.by_class {
            classes_of(document).colours
        } else {
            None
        },
    }
}

/// The stretch of the sequence that plays, when it is for `image`.
fn find_play_stretch<'a>(
    state: &'a PreviewPanel,
    image: Option<&PreviewImage>,
) -> Option<&'a PlayStretch> {
    state
        .play_stretch
        .as_ref()
        .filter(|played| image.is_some_and(|image| played.is_for(image)))
}

/// True when single bands are coloured by the collection's classes.
pub fn shows_classes(panel: &PreviewPanel, document: &Document) -> bool {
    panel.side.by_class && classes_of(document).colours.is_some()
}

/// How pictures beside the selected one are read: as the selected one.
pub(super) fn beside_key(
    panel: &PreviewPanel,
    cx: &PanelContext<'_>,
    document: DocumentKey,
    by_class: bool,
) -> BesideKey {
    let RenderOptions { bands, part, .. } = &panel.options;
    BesideKey {
        document,
        bands: bands.clone(),
        part: *part,
        variable: cx.session.asset.variable.clone(),
        by_class,
    }
}
