//! Thumbnails of the gallery: a queue with visible ones first, few concurrent jobs, an LRU of textures.

use std::collections::{HashMap, HashSet, VecDeque};
use std::path::PathBuf;

use egui::{Context, TextureHandle};

use crate::error::Error;
use crate::gui::textures;
use crate::jobs::{AsyncValue, Jobs};
use crate::ops::{Thumbnail, ThumbnailRequest, thumbnail};
use crate::raster::{BandChoice, ColourMap, Limits, Preset, RasterInfo, describe};
use crate::studio::{Document, RowRef};

/// Side of a thumbnail, in pixels.
const SIDE: usize = 192;
/// Concurrent jobs.
const AT_ONCE: usize = 2;
/// Most thumbnails kept in memory.
const KEPT: usize = 768;
/// Most texture uploads a frame.
const UPLOADS: usize = 8;
/// Thumbnails that determine the shared stretch.
const TELL: usize = 24;

/// Bands of the thumbnails.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum ThumbnailBands {
    /// Chosen automatically.
    Best,
    /// Bands of a preset, if the raster has them.
    Preset(Preset),
}

impl ThumbnailBands {
    /// The bands of one raster.
    pub fn of(&self, info: &RasterInfo) -> BandChoice {
        match self {
            ThumbnailBands::Best => BandChoice::Auto,
            ThumbnailBands::Preset(preset) => preset.bands(info, &[]).unwrap_or_default(),
        }
    }
}

type Name = (RowRef, ThumbnailBands);

struct Made {
    outcome: Result<Thumbnail, String>,
    /// True for a transient error: retried when the card becomes visible again.
    passing: bool,
    /// True when the card has been visible since.
    seen: bool,
    texture: Option<TextureHandle>,
    /// Version of the stretch in the texture.
    stretch: u64,
    used: u64,
}

/// State of a card's thumbnail.
pub enum Shown<'a> {
    /// The picture.
    Picture(&'a TextureHandle),
    /// Pending.
    Waiting,
    /// Failed with this message.
    Failed(&'a str),
}

/// The thumbnails.
#[derive(Default)]
pub struct Pictures {
    cache: Option<PathBuf>,
    made: HashMap<Name, Made>,
    running: Vec<(Name, AsyncValue<(), Thumbnail>)>,
    now: Vec<Name>,
    soon: VecDeque<Name>,
    asked: HashSet<Name>,
    frame: u64,
    uploads: usize,
    shared: Option<Vec<Limits>>,
    told_from: usize,
    stretch: u64,
    is_shared: bool,
}

impl Pictures {
    /// No thumbnails yet; `cache` is the disk cache.
    pub fn new(cache: Option<PathBuf>) -> Self {
        Self { cache, is_shared: true, ..Self::default() }
    }

    /// Begins a frame: takes finished thumbnails and evicts old ones.
    pub fn begin(&mut self, shared: bool) {
        self.frame += 1;
        self.uploads = 0;
        self.now.clear();
        self.soon.clear();
        if self.is_shared != shared {
            self.is_shared = shared;
            self.stretch += 1;
        }
        self.take_finished();
        self.tell_shared();
        // Transient errors are dropped once the card is out of view, and retried when it returns.
        let frame = self.frame;
        self.made.retain(|_, made| !(made.passing && made.seen) || made.used + 1 >= frame);
        if self.made.len() > KEPT {
            let mut used: Vec<u64> = self.made.values().map(|made| made.used).collect();
            used.sort_unstable();
            let oldest = used[used.len() - KEPT / 2];
            self.made.retain(|_, made| made.used >= oldest);
        }
    }

    fn take_finished(&mut self) {
        let mut running = std::mem::take(&mut self.running);
        running.retain_mut(|(name, picture)| {
            let Some(outcome) = picture.take() else { return true };
            self.asked.remove(name);
            let passing = outcome.as_ref().is_err_and(Error::is_passing);
            let outcome = outcome.map_err(|error| error.summary().to_owned());
            let made = Made { outcome, passing, seen: false, texture: None, stretch: 0, used: self.frame };
            self.made.insert(name.clone(), made);
            false
        });
        self.running = running;
    }

    /// Computes the shared stretch: the median limits of the first thumbnails. It becomes fixed, so that the gallery does not flicker.
    fn tell_shared(&mut self) {
        let ready: Vec<&Thumbnail> =
            self.made.values().filter_map(|made| made.outcome.as_ref().ok()).filter(|thumb| !thumb.limits.is_empty()).collect();
        // Recomputed whenever the number of thumbnails has doubled.
        if ready.is_empty() || self.told_from >= TELL || ready.len() < 2 * self.told_from {
            return;
        }
        let bands = ready.iter().map(|thumb| thumb.bands()).max().unwrap_or(1);
        let alike: Vec<&&Thumbnail> = ready.iter().filter(|thumb| thumb.bands() == bands).collect();
        let middle = |values: &mut Vec<f64>| {
            values.sort_unstable_by(f64::total_cmp);
            values.get(values.len() / 2).copied().unwrap_or(0.0)
        };
        let limits = (0..bands).map(|band| {
            let mut lows: Vec<f64> = alike.iter().map(|thumb| thumb.limits[band].low).collect();
            let mut highs: Vec<f64> = alike.iter().map(|thumb| thumb.limits[band].high).collect();
            Limits { low: middle(&mut lows), high: middle(&mut highs) }
        });
        self.shared = Some(limits.collect());
        self.told_from = ready.len();
        self.stretch += 1;
    }

    /// The thumbnail of a file; queued with priority if missing.
    pub fn get(&mut self, ctx: &Context, file: RowRef, bands: &ThumbnailBands) -> Shown<'_> {
        let name = (file, bands.clone());
        if !self.made.contains_key(&name) {
            self.now.push(name);
            return Shown::Waiting;
        }
        let (stretch, shared) = (self.stretch, self.shared.as_deref().filter(|_| self.is_shared));
        let Some(made) = self.made.get_mut(&name) else { return Shown::Waiting };
        (made.used, made.seen) = (self.frame, true);
        let stale = made.texture.is_none() || made.stretch != stretch;
        if let Ok(thumb) = &made.outcome
            && stale
            && self.uploads < UPLOADS
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
            (Err(why), _) => Shown::Failed(why),
            (Ok(_), Some(texture)) => Shown::Picture(texture),
            (Ok(_), None) => Shown::Waiting,
        }
    }

    /// Queues a thumbnail with low priority.
    pub fn later(&mut self, file: RowRef, bands: &ThumbnailBands) {
        let name = (file, bands.clone());
        if !self.made.contains_key(&name) {
            self.soon.push_back(name);
        }
    }

    /// Discards a thumbnail, so that it is computed again.
    pub fn forget(&mut self, file: RowRef, bands: &ThumbnailBands) {
        self.made.remove(&(file, bands.clone()));
    }

    /// Starts the next jobs, and cancels those no longer wanted.
    pub fn work(&mut self, jobs: &Jobs, document: &Document) {
        let wanted: HashSet<&Name> = self.now.iter().chain(&self.soon).collect();
        self.running.retain(|(name, _)| wanted.contains(name));
        self.asked = self.running.iter().map(|(name, _)| name.clone()).collect();
        let next: Vec<Name> =
            self.now.iter().chain(&self.soon).filter(|name| !self.asked.contains(name)).take(AT_ONCE).cloned().collect();
        for name in next.into_iter().take(AT_ONCE.saturating_sub(self.running.len())) {
            let place = document.raster_later(name.0);
            let (bands, cache) = (name.1.clone(), self.cache.clone());
            let mut picture = AsyncValue::default();
            picture.update(jobs, (), tr!("Small picture"), move |ctx| {
                let (source, _) = place()?;
                ctx.check()?;
                // Only a preset needs the header: a cached thumbnail is read without it.
                let bands = match bands {
                    ThumbnailBands::Best => BandChoice::Auto,
                    preset => preset.of(describe(&source)?.as_ref()),
                };
                thumbnail(&ThumbnailRequest { source, side: SIDE, bands }, cache.as_deref(), ctx)
            });
            self.asked.insert(name.clone());
            self.running.push((name, picture));
        }
        self.now.retain(|name| !self.made.contains_key(name));
    }
}
