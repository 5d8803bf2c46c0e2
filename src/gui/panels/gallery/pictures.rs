//! Thumbnails of the gallery: a queue with visible ones first, few concurrent jobs, an LRU of
//! textures.

use std::collections::{HashMap, HashSet};
use std::path::{Path, PathBuf};

use egui::{Context, TextureHandle};

use crate::error::{Error, Kind, Result};
use crate::gui::panels::preview::file_view;
use crate::gui::textures;
use crate::jobs::{AsyncValue, JobContext, Jobs};
use crate::model::AssetPath;
use crate::ops::{Thumbnail, ThumbnailRequest, thumbnail};
use crate::raster::{
    BandChoice, ColourMap, Preset, RasterInfo, RasterSource, StretchLimits, claims_raster, describe,
};
use crate::studio::{Document, RowRef};

/// Side of a thumbnail, in pixels.
const SIDE: usize = 192;
/// Concurrent jobs.
const MAX_JOBS: usize = 2;
/// Most thumbnails kept in memory.
const MAX_KEPT: usize = 768;
/// Most texture uploads a frame.
const MAX_UPLOADS: usize = 8;
/// Number of thumbnails from which on the shared stretch stays as it is.
const STRETCH_SAMPLES: usize = 24;
/// One of this many pictures may differ from the others under a shared stretch.
const UNLIKE_SHARE: usize = 8;
/// Bytes that are read of a file without a picture.
const HEAD_BYTES: u64 = 512;
/// Most lines of a file that its card shows.
const LINES: usize = 8;

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum ThumbnailBands {
    /// Chosen automatically.
    Best,
    /// Bands of a preset, if the raster has them.
    Preset(Preset),
}

impl ThumbnailBands {
    /// The bands of one raster.
    pub fn choose_bands(&self, info: &RasterInfo) -> BandChoice {
        match self {
            ThumbnailBands::Best => BandChoice::Auto,
            ThumbnailBands::Preset(preset) => preset.bands(info, &[]).unwrap_or_default(),
        }
    }
}

type CardName = (RowRef, ThumbnailBands);

/// Contents of a card.
enum CardPicture {
    Raster(Thumbnail),
    /// A file without a picture.
    File(FileTile),
}

/// Properties of a file that is no raster.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FileTile {
    /// Kind of its contents, to be translated.
    pub kind: &'static str,
    /// Its first lines, or bytes in hexadecimal.
    pub lines: Vec<String>,
    /// Size in bytes; 0 for an empty slot.
    pub size: u64,
}

impl FileTile {
    fn read(asset: &AssetPath, size: u64) -> crate::error::Result<Self> {
        let view = file_view::view_of(&file_view::first_bytes(asset, size.min(HEAD_BYTES))?, size);
        let lines = view.lines.into_iter().take(LINES).collect();
        Ok(Self {
            kind: view.kind,
            lines,
            size,
        })
    }
}

struct MadePicture {
    outcome: Result<CardPicture, String>,
    /// True for a transient error: retried when the card becomes visible again.
    passing: bool,
    /// True when the card was visible after the thumbnail had ended.
    seen: bool,
    texture: Option<TextureHandle>,
    /// Version of the stretch in the texture.
    stretch: u64,
    /// Frame in which the card was last visible.
    used: u64,
}

/// State of a card's thumbnail.
pub enum CardState<'a> {
    Picture(&'a TextureHandle),
    /// A file without a picture.
    File(&'a FileTile),
    /// Pending.
    Waiting,
    /// Failed with this message.
    Failed(&'a str),
}

/// The thumbnails.
#[derive(Default)]
pub struct Pictures {
    cache: Option<PathBuf>,
    made: HashMap<CardName, MadePicture>,
    running: Vec<(CardName, AsyncValue<(), CardPicture>)>,
    /// Thumbnails of visible cards that are missing in this frame.
    visible_queue: Vec<CardName>,
    /// Missing thumbnails of the cards after them.
    prefetch_queue: Vec<CardName>,
    frame: u64,
    uploads: usize,
    /// The limits of the shared stretch, one for each band.
    shared_limits: Option<Vec<StretchLimits>>,
    /// Number of thumbnails from which the shared stretch was computed.
    stretch_samples: usize,
    /// Version of the stretch: textures of an older one are drawn again.
    stretch: u64,
    is_shared: bool,
    /// True when the pictures have similar values, so that one stretch suits them all.
    is_alike: bool,
}

/// True when two pictures can share a stretch: in each band the two ranges of values overlap by at
/// least a tenth of the larger one.
fn alike_limits(one: &[StretchLimits], other: &[StretchLimits]) -> bool {
    one.iter().zip(other).all(|(a, b)| {
        let common = a.high.min(b.high) - a.low.max(b.low);
        let larger = (a.high - a.low).max(b.high - b.low);
        larger <= 0.0 && a.low == b.low || common >= 0.1 * larger && larger > 0.0
    })
}

impl Pictures {
    /// No thumbnails yet; `cache` is the disk cache.
    pub fn new(cache: Option<PathBuf>) -> Self {
        Self {
            cache,
            is_shared: true,
            is_alike: true,
            ..Self::default()
        }
    }

    /// True when one stretch for all pictures shows something in each of them.
    pub fn is_alike(&self) -> bool {
        self.is_alike
    }

    /// Begins a frame: takes finished thumbnails and evicts old ones.
    pub fn begin_frame(&mut self, shared: bool) {
        self.frame += 1;
        self.uploads = 0;
        self.visible_queue.clear();
        self.prefetch_queue.clear();
        if self.is_shared != shared {
            self.is_shared = shared;
            self.stretch += 1;
        }
        self.take_finished();
        self.compute_shared_stretch();
        // Transient errors are dropped once the card is out of view, and retried when it returns.
        let frame = self.frame;
        self.made
            .retain(|_, made| !(made.passing && made.seen) || made.used + 1 >= frame);
        if self.made.len() > MAX_KEPT {
            let mut used: Vec<u64> = self.made.values().map(|made| made.used).collect();
            used.sort_unstable();
            let oldest = used[used.len() - MAX_KEPT / 2];
            self.made.retain(|_, made| made.used >= oldest);
        }
    }

    fn take_finished(&mut self) {
        let mut running = std::mem::take(&mut self.running);
        running.retain_mut(|(name, picture)| {
            let Some(outcome) = picture.take() else {
                return true;
            };
            let passing = outcome.as_ref().is_err_and(Error::is_passing);
            let outcome = outcome.map_err(|error| error.summary().to_owned());
            let made = MadePicture {
                outcome,
                passing,
                seen: false,
                texture: None,
                stretch: 0,
                used: self.frame,
            };
            self.made.insert(name.clone(), made);
            false
        });
        self.running = running;
    }

    /// Computes the shared stretch: the median limits of the first thumbnails. It is final once
    /// [`STRETCH_SAMPLES`] are known, so that the gallery does not flicker.
    fn compute_shared_stretch(&mut self) {
        let rasters = self.made.values().filter_map(|made| match &made.outcome {
            Ok(CardPicture::Raster(thumb)) if !thumb.limits.is_empty() => Some(thumb),
            _ => None,
        });
        let ready: Vec<&Thumbnail> = rasters.collect();
        // Computed again whenever the number of thumbnails has doubled.
        if ready.is_empty()
            || self.stretch_samples >= STRETCH_SAMPLES
            || ready.len() < 2 * self.stretch_samples
        {
            return;
        }
        let bands = ready.iter().map(|thumb| thumb.bands()).max().unwrap_or(1);
        let alike: Vec<&&Thumbnail> = ready
            .iter()
            .filter(|thumb| thumb.bands() == bands)
            .collect();
        let limits = (0..bands).map(|band| {
            let mut lows: Vec<f64> = alike.iter().map(|thumb| thumb.limits[band].low).collect();
            let mut highs: Vec<f64> = alike.iter().map(|thumb| thumb.limits[band].high).collect();
            StretchLimits {
                low: find_median(&mut lows),
                high: find_median(&mut highs),
            }
        });
        let limits: Vec<StretchLimits> = limits.collect();
        let unlike = ready
            .iter()
            .filter(|thumb| thumb.bands() != bands || !alike_limits(&thumb.limits, &limits))
            .count();
        self.is_alike = unlike * UNLIKE_SHARE <= ready.len();
        self.shared_limits = Some(limits);
        self.stretch_samples = ready.len();
        self.stretch += 1;
    }

    /// The thumbnail of a file; queued with priority if missing.
    pub fn get(&mut self, ctx: &Context, file: RowRef, bands: &ThumbnailBands) -> CardState<'_> {
        let name = (file, bands.clone());
        if !self.made.contains_key(&name) {
            self.visible_queue.push(name);
            return CardState::Waiting;
        }
        let (stretch, shared) = (
            self.stretch,
            self.shared_limits.as_deref().filter(|_| self.is_shared),
        );
        let Some(made) = self.made.get_mut(&name) else {
            return CardState::Waiting;
        };
        (made.used, made.seen) = (self.frame, true);
        let stale = made.texture.is_none() || made.stretch != stretch;
        if let Ok(CardPicture::Raster(thumb)) = &made.outcome
            && stale
            && self.uploads < MAX_UPLOADS
        {
            self.uploads += 1;
            made.stretch = stretch;
            let image = thumb.rgba(shared, ColourMap::Grey);
            match &mut made.texture {
                Some(texture) => textures::replace(texture, &image),
                None => made.texture = Some(textures::upload(ctx, "thumbnail", &image)),
            }
        }
        match (&made.outcome, &made.texture) {
            (Err(why), _) => CardState::Failed(why),
            (Ok(CardPicture::File(tile)), _) => CardState::File(tile),
            (Ok(_), Some(texture)) => CardState::Picture(texture),
            (Ok(_), None) => CardState::Waiting,
        }
    }

    /// Queues a thumbnail with low priority.
    pub fn queue_prefetch(&mut self, file: RowRef, bands: &ThumbnailBands) {
        let name = (file, bands.clone());
        if !self.made.contains_key(&name) {
            self.prefetch_queue.push(name);
        }
    }

    /// Discards a thumbnail, so that it is computed again.
    pub fn forget(&mut self, file: RowRef, bands: &ThumbnailBands) {
        self.made.remove(&(file, bands.clone()));
    }

    /// Starts the next jobs, and cancels those no longer wanted.
    pub fn start_jobs(&mut self, jobs: &Jobs, document: &Document) {
        let wanted: HashSet<&CardName> = self
            .visible_queue
            .iter()
            .chain(&self.prefetch_queue)
            .collect();
        self.running.retain(|(name, _)| wanted.contains(name));
        let next: Vec<CardName> = self
            .visible_queue
            .iter()
            .chain(&self.prefetch_queue)
            .filter(|name| self.running.iter().all(|(running, _)| running != *name))
            .take(MAX_JOBS.saturating_sub(self.running.len()))
            .cloned()
            .collect();
        for name in next {
            let open_source = document.raster_later(name.0);
            let (bands, cache) = (name.1.clone(), self.cache.clone());
            let named_raster = document.id(name.0).is_some_and(claims_raster);
            let mut picture = AsyncValue::default();
            picture.update(jobs, (), tr!("Small picture"), move |ctx| {
                let (source, size) = open_source()?;
                ctx.check()?;
                if size == 0 {
                    return Ok(CardPicture::File(FileTile {
                        kind: mark!("Empty slot (padding)"),
                        lines: Vec::new(),
                        size,
                    }));
                }
                let asset = source.asset().clone();
                match make_thumbnail(source, bands, cache.as_deref(), ctx) {
                    // A file with the name of a raster that can't be opened is damaged; other files
                    // have no picture.
                    Err(error)
                        if !named_raster
                            && matches!(error.kind(), Kind::Format | Kind::Unsupported) =>
                    {
                        FileTile::read(&asset, size).map(CardPicture::File)
                    }
                    made => made.map(CardPicture::Raster),
                }
            });
            self.running.push((name, picture));
        }
    }
}

fn find_median(values: &mut [f64]) -> f64 {
    values.sort_unstable_by(f64::total_cmp);
    values.get(values.len() / 2).copied().unwrap_or(0.0)
}

fn make_thumbnail(
    source: RasterSource,
    bands: ThumbnailBands,
    cache: Option<&Path>,
    ctx: &JobContext,
) -> Result<Thumbnail> {
    // Only a preset needs the header: a cached thumbnail is read without it.
    let bands = match bands {
        ThumbnailBands::Best => BandChoice::Auto,
        preset => preset.choose_bands(describe(&source)?.as_ref()),
    };
    thumbnail(
        &ThumbnailRequest {
            source,
            side: SIDE,
            bands,
        },
        cache,
        ctx,
    )
}
