//! A picture of the preview: the values read, and their texture. A new stretch is rendered from the
//! values, first at a low resolution to follow the pointer, then in full.

use std::sync::Arc;

use egui::{Context, TextureHandle};

use crate::gui::textures;
use crate::jobs::{AsyncValue, Jobs};
use crate::raster::{PreviewImage, PreviewRequest, RenderOptions, Rgba, StretchLimits};

/// Most pixels rendered during a drag.
const QUICK: usize = 500_000;

/// A request with the image read for it.
pub type PictureAnswer = Arc<(PreviewRequest, PreviewImage)>;

/// Rendering options of a picture.
#[derive(Clone, Debug, PartialEq)]
pub struct PictureLook {
    /// Bands, stretch, gamma, nodata.
    pub options: RenderOptions,
    /// Limits of another picture, instead of those of the stretch.
    pub limits: Option<Vec<Option<StretchLimits>>>,
    /// Colours by value.
    pub classes: Option<Arc<Vec<[u8; 4]>>>,
}

type PictureResult = (PictureLook, bool, Rgba, Vec<Option<StretchLimits>>);

pub struct Picture {
    /// The request and its image.
    pub answer: PictureAnswer,
    /// The texture shown.
    pub texture: TextureHandle,
    /// Stretch limits of the texture.
    pub limits: Vec<Option<StretchLimits>>,
    /// Context for further textures.
    pub ctx: Context,
    look: PictureLook,
    whole: bool,
    ready: bool,
    made: AsyncValue<(PictureLook, bool), Arc<PictureResult>>,
    taken: Option<Arc<PictureResult>>,
}

impl Picture {
    /// A picture with the rendering it was read with.
    pub fn new(ctx: &Context, answer: PictureAnswer) -> Self {
        let texture = textures::upload(ctx, "preview", &answer.1.rgba);
        let options = RenderOptions {
            bands: answer.1.bands.clone(),
            ..answer.0.options.clone()
        };
        let look = PictureLook {
            options,
            limits: None,
            classes: None,
        };
        let limits = answer.1.limits.clone();
        Self {
            answer,
            texture,
            limits,
            ctx: ctx.clone(),
            look,
            whole: true,
            ready: false,
            made: AsyncValue::default(),
            taken: None,
        }
    }

    /// True once the texture has the rendering that was asked for, and not the one that it was read
    /// with.
    pub fn is_ready(&self) -> bool {
        self.ready
    }

    /// Requests the rendering of `look`; the texture changes in a later frame.
    pub fn refresh(&mut self, jobs: &Jobs, look: &PictureLook) {
        if let Some(made) = self.made.latest()
            && self
                .taken
                .as_ref()
                .is_none_or(|taken| !Arc::ptr_eq(taken, made))
        {
            let (look, whole, image, limits) = made.as_ref();
            textures::replace(&mut self.texture, image);
            (self.look, self.whole, self.limits) = (look.clone(), *whole, limits.clone());
            self.taken = Some(made.clone());
            self.ready = true;
        }
        self.ready |= self.look == *look;
        // One rendering at a time, so that continuous dragging does not cancel every one.
        if self.made.is_pending() || (self.look == *look && self.whole) {
            return;
        }
        let prepared = self.answer.1.prepared.clone();
        let many = prepared.pixels.width * prepared.pixels.height > QUICK;
        let whole = !many || self.look == *look;
        let wanted = look.clone();
        self.made
            .update(jobs, (look.clone(), whole), tr!("Stretch"), move |_| {
                let classes = wanted.classes.as_ref().map(|classes| classes.as_slice());
                let most = (!whole).then_some(QUICK);
                let (image, limits) =
                    prepared.render(&wanted.options, wanted.limits.as_deref(), classes, most);
                Ok(Arc::new((wanted, whole, image, limits)))
            });
    }
}
