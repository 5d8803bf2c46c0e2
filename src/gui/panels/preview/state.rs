//! State of the preview: pixels that were requested and read, view, comparison, sidebar. Imports no panel context, so that the session can hold it.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use egui::TextureHandle;

use super::picture::{Answer, Picture};
use crate::error::{Error, Result};
use crate::gui::document_key::Key as DocumentKey;
use crate::gui::widgets::RowScroll;
use crate::jobs::{AsyncValue, JobContext, JobId, Jobs, State};
use crate::ops::{ChunkArray, ChunkPlace};
use crate::raster::{
    BandChoice, ComplexPart, Limits, PreviewImage, PreviewRequest, Probe, RasterInfo, RasterSource, RenderOptions, Rgba,
};
use crate::studio::RowRef;

/// State of the panel.
#[derive(Default)]
pub struct PreviewState {
    pub(super) shown: Option<(DocumentKey, RowRef)>,
    /// The file.
    pub asset: Option<RasterSource>,
    /// Header of the file.
    pub(super) raster: Option<Arc<RasterInfo>>,
    /// Bands, stretch and gamma; kept across samples.
    pub options: RenderOptions,
    /// Picture of the whole raster.
    pub whole: Option<Picture>,
    /// Picture of the visible part, at a higher resolution than the whole.
    pub closer: Option<Picture>,
    /// Pixels of the whole raster, by a request without stretch: [`plain`].
    pub(super) whole_read: AsyncValue<PreviewRequest, Answer>,
    /// Pixels of the part that shows, likewise.
    pub closer_read: AsyncValue<PreviewRequest, Answer>,
    pub(super) failed: Option<String>,
    /// View of the canvas.
    pub view: View,
    /// The pixel under the pointer.
    pub pixel: Option<(usize, usize)>,
    /// Values of that pixel.
    pub probe: AsyncValue<(RasterSource, usize, usize), Probe>,
    /// State of the sibling strip.
    pub siblings: SiblingsState,
    /// State of the sidebar.
    pub side: SideState,
    /// How two pictures are compared.
    pub compare: Compare,
    /// The second picture.
    pub other: Option<Picture>,
    pub(super) other_asked: AsyncValue<(DocumentKey, RowRef, BandChoice, ComplexPart, bool), Answer>,
    /// Siblings linked under one view.
    pub linked: LinkedState,
    /// Chunks, if the dataset is streamable.
    pub chunks: ChunksState,
    /// Contents of a file that is not a raster.
    pub file: FileState,
    /// Time of the next playback step, in seconds of egui's clock.
    pub next_step_s: Option<f64>,
}

impl PreviewState {
    /// Header of the raster shown.
    pub fn info(&self) -> Option<&Arc<RasterInfo>> {
        self.image().map(|image| &image.info)
    }

    /// The newest picture with bands and histograms.
    pub fn image(&self) -> Option<&PreviewImage> {
        self.whole.as_ref().map(|picture| &picture.answer.1)
    }

    /// True when the picture of the whole raster matches the newest request.
    pub fn has_wanted_whole(&self) -> bool {
        self.whole.as_ref().is_some_and(|whole| self.whole_read.key() == Some(&plain(&whole.answer.0)))
    }

    /// Uploads pixels read since the last frame, and records an error.
    pub(super) fn upload(&mut self, ctx: &egui::Context) {
        let reads = [(&self.whole_read, &mut self.whole), (&self.closer_read, &mut self.closer)];
        for (read, picture) in reads {
            match read.state() {
                State::Ready(answer) if picture.as_ref().is_none_or(|shown| !Arc::ptr_eq(&shown.answer, answer)) => {
                    *picture = Some(Picture::new(ctx, answer.clone()));
                    self.failed = None;
                }
                State::Failed(error) => self.failed = Some(error.to_string()),
                _ => {}
            }
        }
    }
}

/// View of the canvas.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct View {
    /// Centre of the view in raster pixels, and points per pixel; `None` fits the raster.
    pub place: Option<([f64; 2], f64)>,
    /// Time of the last change, in seconds.
    pub moved_s: f64,
    /// Screen pixels per raster pixel, as last drawn.
    pub scale: f64,
}

impl View {
    /// Fits the raster.
    pub fn fit(&mut self) {
        self.place = None;
    }
}

/// A chunk as a picture, with minimum, maximum and mean.
pub(super) struct ChunkPicture {
    pub(super) image: Rgba,
    pub(super) range: [f64; 3],
}

/// State of the section.
#[derive(Default)]
pub struct ChunksState {
    pub(super) made_for: Option<(DocumentKey, RowRef)>,
    pub(super) list: AsyncValue<(DocumentKey, RowRef), Arc<Vec<ChunkPlace>>>,
    pub(super) chosen: u64,
    /// Draw the chunk outlines.
    pub(super) grid: bool,
    pub(super) job: Option<JobId>,
    pub(super) failed: Option<String>,
    /// Number and values of the chunk that was read.
    pub(super) asked: u64,
    pub(super) read: Option<(u64, Arc<ChunkArray>)>,
    pub(super) seen: AsyncValue<usize, Arc<ChunkPicture>>,
    pub(super) texture: Option<(usize, TextureHandle)>,
}

impl ChunksState {
    /// Records the job that reads a chunk.
    pub fn started(&mut self, job: JobId) {
        (self.job, self.failed) = (Some(job), None);
    }

    /// Takes a chunk, if it is that of the newest job.
    pub fn take(&mut self, job: Option<JobId>, array: ChunkArray) {
        if self.job != job {
            return;
        }
        self.job = None;
        self.read = Some((self.asked, Arc::new(array)));
    }

    /// Records that the job failed or was cancelled. True when it is the newest job.
    pub fn ended(&mut self, job: JobId, why: Option<&Error>) -> bool {
        let own = self.job == Some(job);
        if own {
            (self.job, self.failed) = (None, why.map(ToString::to_string));
        }
        own
    }

    pub(super) fn places(&self) -> Option<&Arc<Vec<ChunkPlace>>> {
        self.list.latest().filter(|places| !places.is_empty())
    }
}

/// Displayed contents of a file.
pub struct FileView {
    pub(in crate::gui::panels) kind: &'static str,
    pub(in crate::gui::panels) lines: Vec<String>,
    pub(super) cut: bool,
}

/// State of the view.
#[derive(Default)]
pub struct FileState {
    pub(super) view: AsyncValue<(DocumentKey, RowRef), Arc<FileView>>,
    pub(super) scroll: RowScroll,
}

/// One sibling.
#[derive(Default)]
pub(super) struct One {
    pub(super) asked: AsyncValue<(DocumentKey, BandChoice, ComplexPart, bool), Answer>,
    pub(super) picture: Option<Picture>,
}

/// State of the linked pictures.
#[derive(Default)]
pub struct LinkedState {
    pub(super) made_for: Option<DocumentKey>,
    /// Rows in order, including the selected one.
    pub(super) rows: Vec<RowRef>,
    pub(super) others: BTreeMap<RowRef, One>,
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

/// State of the sidebar.
#[derive(Default)]
pub struct SideState {
    /// Limits locked across samples.
    pub locked: Option<Vec<Option<Limits>>>,
    /// Colour a single band by the collection's classes.
    pub by_class: bool,
    /// The pinned pixel.
    pub pinned: Option<(usize, usize)>,
    /// Show scaled values.
    pub scaled: bool,
    pub(super) typed: [String; 2],
}

/// How two pictures are compared.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Mode {
    /// One picture.
    #[default]
    Off,
    /// Alternating.
    Flip,
    /// Split by a line that can be dragged.
    Swipe,
    /// The difference.
    Difference,
    /// Several siblings side by side under one view.
    Linked,
}

impl Mode {
    pub(super) fn text(self) -> &'static str {
        match self {
            Mode::Off => tr!("Off" in "comparison of pictures"),
            Mode::Flip => tr!("Flip"),
            Mode::Swipe => tr!("Swipe"),
            Mode::Difference => tr!("Difference"),
            Mode::Linked => tr!("Linked"),
        }
    }
}

/// State of the comparison.
pub struct Compare {
    /// How.
    pub mode: Mode,
    /// Index of the sibling to compare with; the previous one by default.
    pub with: Option<RowRef>,
    /// Position of the line, as a fraction of the width.
    pub swipe: f32,
    /// Id of the picture.
    pub own_name: String,
    /// Id of the second one.
    pub other_name: String,
    /// The picture of the difference.
    pub difference: AsyncValue<(usize, usize), Rgba>,
    /// Its texture, and the pair it belongs to.
    pub apart: Option<(usize, usize, TextureHandle)>,
    /// Why there is no difference.
    pub failed: Option<String>,
    pub(super) jobs: Jobs,
}

impl Default for Compare {
    fn default() -> Self {
        Self {
            mode: Mode::Off,
            with: None,
            swipe: 0.5,
            own_name: String::new(),
            other_name: String::new(),
            difference: AsyncValue::default(),
            apart: None,
            failed: None,
            jobs: Jobs::quiet(),
        }
    }
}

impl Compare {
    /// Requests the difference of a pair.
    pub fn want_difference(&mut self, pair: (usize, usize), work: impl FnOnce(&JobContext) -> Result<Rgba> + Send + 'static) {
        let jobs = self.jobs.clone();
        self.difference.update(&jobs, pair, tr!("Difference"), work);
    }
}

/// A request without the options that are applied after reading, such as the stretch.
pub fn plain(request: &PreviewRequest) -> PreviewRequest {
    let options = RenderOptions { bands: request.options.bands.clone(), part: request.options.part, ..RenderOptions::default() };
    PreviewRequest { options, ..request.clone() }
}
