//! State of the preview: pixels that were requested and read, view, comparison, sidebar. Imports no
//! panel context, so that the list of panels can hold it.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use egui::TextureHandle;

use super::file_view::FileView;
use super::picture::{Picture, PictureAnswer};
use super::picture_request::{BesideKey, plain};
use super::vector_features::VectorState;
use crate::error::Result;
use crate::gui::document_key::DocumentKey;
use crate::gui::value_id::ValueId;
use crate::gui::widgets::RowScroll;
use crate::jobs::{AsyncState, AsyncValue, JobContext, Jobs};
use crate::ops::{ChunkArray, ChunkPlace};
use crate::raster::{
    BandChoice, BandDifference, ComplexPart, PixelNumber, PreviewImage, PreviewRequest, Probe,
    RasterInfo, RasterSource, RenderOptions, Rgba, Stretch, StretchLimits,
};
use crate::studio::RowRef;

/// State of the panel.
#[derive(Default)]
pub struct PreviewPanel {
    pub(super) shown: Option<(DocumentKey, RowRef)>,
    /// The file.
    pub asset: Option<RasterSource>,
    /// Header of the file.
    pub(super) raster: Option<Arc<RasterInfo>>,
    /// Bands, stretch and gamma; kept across samples.
    pub options: RenderOptions,
    /// Picture of the whole raster.
    pub whole: Option<Picture>,
    /// The sample of that picture.
    pub(super) whole_of: Option<RowRef>,
    /// Picture of the visible part, at a higher resolution than the whole.
    pub closer: Option<Picture>,
    /// The next pictures of the whole and of the visible part, until they are rendered with the
    /// stretch shown.
    pub(super) incoming: [Option<Picture>; 2],
    /// Pixels of the whole raster, by a request without stretch: [`plain`].
    pub(super) whole_read: AsyncValue<PreviewRequest, PictureAnswer>,
    /// Pixels of the part that shows, likewise.
    pub closer_read: AsyncValue<PreviewRequest, PictureAnswer>,
    pub(super) failed: Option<String>,
    pub view: CanvasView,
    /// The pixel under the pointer.
    pub pixel: Option<(usize, usize)>,
    /// Values of that pixel.
    pub probe: AsyncValue<(RasterSource, usize, usize), Probe>,
    /// Values of the second picture at that pixel, while the difference is shown.
    pub(super) other_probe: AsyncValue<(RasterSource, usize, usize), Probe>,
    /// Ground metres per column at the centre of the view.
    pub(super) ground: AsyncValue<GroundPlace, (Arc<RasterInfo>, Option<f64>)>,
    /// State of the sibling strip.
    pub siblings: SiblingsState,
    /// State of the sidebar.
    pub side: SideState,
    /// How two pictures are compared.
    pub compare: Compare,
    /// The second picture.
    pub other: Option<Picture>,
    pub(super) other_asked: AsyncValue<(RowRef, BesideKey), PictureAnswer>,
    /// Siblings linked under one view.
    pub linked: LinkedState,
    /// Chunks, if the dataset is streamable.
    pub(super) chunks: ChunksState,
    /// Contents of a file that is not a raster.
    pub file: FileState,
    /// Features of a vector file.
    pub vector: VectorState,
    /// Time of the next playback step, in seconds of egui's clock.
    pub next_step_s: Option<f64>,
    /// The stretch that all frames of a playback have.
    pub play_stretch: Option<PlayStretch>,
}

/// A raster and a position `[column, row]` in it.
#[derive(Clone, Debug)]
pub(super) struct GroundPlace {
    pub(super) info: Arc<RasterInfo>,
    pub(super) at: [f64; 2],
}

impl PartialEq for GroundPlace {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.info, &other.info) && self.at == other.at
    }
}

/// The limits of the first frame of a playback, for the frames with the same bands.
#[derive(Clone, Debug, PartialEq)]
pub struct PlayStretch {
    /// Limits of each band.
    pub limits: Vec<Option<StretchLimits>>,
    /// Texts of the lowest and the highest limit.
    pub(super) texts: [String; 2],
    /// Id of the frame.
    pub(super) from: String,
    /// Bands and their data types.
    pub(super) bands: BandChoice,
    pub(super) dtypes: Vec<String>,
    /// The options from which the limits were computed.
    pub(super) options: (Stretch, BandChoice, ComplexPart),
}

impl PreviewPanel {
    /// Header of the raster shown.
    pub fn info(&self) -> Option<&Arc<RasterInfo>> {
        self.image().map(|image| &image.info)
    }

    /// The newest picture with bands and histograms.
    pub fn image(&self) -> Option<&PreviewImage> {
        self.whole.as_ref().map(|picture| &picture.answer.1)
    }

    /// Shows the next bands, or those before; nothing at the end, and while there is no picture.
    pub fn step_bands(&mut self, forward: bool) {
        let Some(image) = self.image() else { return };
        if let Some(bands) = image.bands.step(image.info.band_count, forward) {
            self.options.bands = bands;
        }
    }

    /// True when the picture of the whole raster matches the newest request.
    pub fn has_wanted_whole(&self) -> bool {
        self.whole
            .as_ref()
            .is_some_and(|whole| self.whole_read.key() == Some(&plain(&whole.answer.0)))
    }

    /// Uploads pixels read since the last frame, and records an error. The pictures are shown once
    /// they have the stretch.
    pub(super) fn upload(&mut self, ctx: &egui::Context) {
        let [whole, closer] = &mut self.incoming;
        let reads = [
            (&self.whole_read, &self.whole, whole),
            (&self.closer_read, &self.closer, closer),
        ];
        for (read, shown, incoming) in reads {
            match read.state() {
                AsyncState::Ready(answer)
                    if [shown, incoming]
                        .into_iter()
                        .flatten()
                        .all(|known| !Arc::ptr_eq(&known.answer, answer)) =>
                {
                    *incoming = Some(Picture::new(ctx, answer.clone()));
                    self.failed = None;
                }
                AsyncState::Failed(error) => self.failed = Some(error.sentence()),
                _ => {}
            }
        }
    }
}

#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct CanvasView {
    /// Centre of the view in raster pixels, and points per pixel; `None` fits the raster.
    pub place: Option<([f64; 2], f64)>,
    /// Time of the last change, in seconds.
    pub moved_s: f64,
    /// Screen pixels per raster pixel, as last drawn.
    pub scale: f64,
    /// Columns and rows of what it shows.
    size: Option<[f64; 2]>,
}

impl CanvasView {
    /// Shows something of this size, in columns and rows: another size is fitted, the same keeps
    /// the place.
    pub fn show(&mut self, size: [f64; 2]) {
        if self.size != Some(size) {
            self.size = Some(size);
            self.fit();
        }
    }

    /// Fits the raster.
    pub fn fit(&mut self) {
        self.place = None;
    }
}

/// A chunk as a picture, with the range of its first band.
pub(super) struct ChunkPicture {
    pub(super) image: Rgba,
    pub(super) range: ChunkRange,
}

/// Minimum, maximum and mean of the finite values of a band; 0 without any.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct ChunkRange {
    pub(super) low: PixelNumber,
    pub(super) high: PixelNumber,
    pub(super) mean: f64,
}

/// State of the section.
#[derive(Default)]
pub struct ChunksState {
    pub(super) made_for: Option<(DocumentKey, RowRef)>,
    pub(super) list: AsyncValue<(DocumentKey, RowRef), Arc<Vec<ChunkPlace>>>,
    pub(super) chosen: u64,
    /// Draw the chunk outlines.
    pub(super) grid: bool,
    /// The chunk that is being read, by its number.
    pub(super) reading: AsyncValue<u64, ChunkArray>,
    pub(super) failed: Option<String>,
    /// Number and values of the chunk that was read.
    pub(super) read: Option<(u64, Arc<ChunkArray>)>,
    pub(super) seen: AsyncValue<ValueId, Arc<ChunkPicture>>,
    pub(super) texture: Option<(ValueId, TextureHandle)>,
}

impl ChunksState {
    /// Takes the chunk that was being read, once it is there.
    pub(super) fn take_chunk(&mut self) {
        let Some(index) = self.reading.key().copied() else {
            return;
        };
        match self.reading.take() {
            Some(Ok(array)) => self.read = Some((index, Arc::new(array))),
            Some(Err(error)) => self.failed = Some(error.sentence()),
            None => {}
        }
    }

    pub(super) fn places(&self) -> Option<&Arc<Vec<ChunkPlace>>> {
        self.list.latest().filter(|places| !places.is_empty())
    }
}

#[derive(Default)]
pub struct FileState {
    pub(super) view: AsyncValue<(DocumentKey, RowRef), Arc<FileView>>,
    pub(super) scroll: RowScroll,
}

#[derive(Default)]
pub(super) struct PreviewSibling {
    pub(super) asked: AsyncValue<BesideKey, PictureAnswer>,
    pub(super) picture: Option<Picture>,
}

/// State of the linked pictures.
#[derive(Default)]
pub struct LinkedState {
    pub(super) made_for: Option<DocumentKey>,
    /// Rows in order, including the selected one.
    pub(super) rows: Vec<RowRef>,
    pub(super) others: BTreeMap<RowRef, PreviewSibling>,
}

/// State of the strip.
#[derive(Default)]
pub struct SiblingsState {
    pub(super) made_for: Option<DocumentKey>,
    /// `None` for a file that has no picture.
    pub(super) made: HashMap<RowRef, Option<TextureHandle>>,
    /// The thumbnail that is being computed.
    pub(super) next: AsyncValue<RowRef, Rgba>,
}

/// The values of a pixel over the bands.
#[derive(Clone, Debug, PartialEq)]
pub struct Spectrum {
    /// Sample, row and column.
    pub name: String,
    /// Position on the axis and value, in order of the axis.
    pub points: Vec<[f64; 2]>,
    /// The positions are wavelengths in nanometres; else they are numbers of bands.
    pub by_wavelength: bool,
}

/// State of the sidebar.
#[derive(Default)]
pub struct SideState {
    /// Limits locked across samples.
    pub locked: Option<Vec<Option<StretchLimits>>>,
    /// Colour a single band by the collection's classes.
    pub by_class: bool,
    /// The pinned pixel.
    pub pinned: Option<(usize, usize)>,
    /// The pixel that the pointer was on last: the way to the button *Pin* leads off the picture.
    pub last_under: Option<(usize, usize)>,
    /// Show scaled values.
    pub scaled: bool,
    /// Spectra that were kept.
    pub spectra: Vec<Spectrum>,
    pub(super) typed: [String; 2],
}

/// How two pictures are compared.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum CompareMode {
    /// One picture.
    #[default]
    Off,
    /// Alternating.
    Flip,
    /// Split by a line that can be dragged.
    Swipe,
    Difference,
    /// Several siblings side by side under one view.
    Linked,
}

impl CompareMode {
    pub(super) fn text(self) -> &'static str {
        match self {
            CompareMode::Off => tr!("Off" in "comparison of pictures"),
            CompareMode::Flip => tr!("Flip"),
            CompareMode::Swipe => tr!("Swipe"),
            CompareMode::Difference => tr!("Difference"),
            CompareMode::Linked => tr!("Linked"),
        }
    }
}

/// State of the comparison.
pub struct Compare {
    /// How.
    pub mode: CompareMode,
    /// Index of the sibling to compare with; the previous one by default.
    pub with: Option<RowRef>,
    /// Position of the line, as a fraction of the width.
    pub swipe: f32,
    /// Id of the picture.
    pub own_name: String,
    /// Id of the second one.
    pub other_name: String,
    /// The band of the difference, by its position among the bands read.
    pub band: usize,
    pub(super) difference: AsyncValue<DifferencePair, Arc<BandDifference>>,
    /// The difference that is shown, and the pair it belongs to.
    pub(super) apart: Option<(DifferencePair, Arc<BandDifference>, TextureHandle)>,
    /// Why there is no difference.
    pub failed: Option<String>,
    pub(super) jobs: Jobs,
}

impl Default for Compare {
    fn default() -> Self {
        Self {
            mode: CompareMode::Off,
            with: None,
            swipe: 0.5,
            own_name: String::new(),
            other_name: String::new(),
            band: 0,
            difference: AsyncValue::default(),
            apart: None,
            failed: None,
            jobs: Jobs::quiet(),
        }
    }
}

impl Compare {
    /// Requests the difference of a pair.
    pub(super) fn want_difference(
        &mut self,
        pair: DifferencePair,
        work: impl FnOnce(&JobContext) -> Result<Arc<BandDifference>> + Send + 'static,
    ) {
        let jobs = self.jobs.clone();
        self.difference.update(&jobs, pair, tr!("Difference"), work);
    }

    pub(super) fn shown_difference(&self) -> Option<&Arc<BandDifference>> {
        self.apart
            .as_ref()
            .map(|(_, apart, _)| apart)
            .filter(|_| self.mode == CompareMode::Difference)
    }
}

/// Two pictures, and the position of the band by which they are compared.
#[derive(Clone)]
pub(super) struct DifferencePair {
    pub(super) own: PictureAnswer,
    pub(super) other: PictureAnswer,
    pub(super) band: usize,
}

impl PartialEq for DifferencePair {
    fn eq(&self, with: &Self) -> bool {
        Arc::ptr_eq(&self.own, &with.own)
            && Arc::ptr_eq(&self.other, &with.other)
            && self.band == with.band
    }
}
