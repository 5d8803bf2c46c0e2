//! The small pictures of the gallery: a queue with those that show in front, few jobs at a time, textures of the newest few hundred.

use std::collections::{HashMap, HashSet, VecDeque};
use std::path::PathBuf;

use egui::{Context, TextureHandle};

use super::Wanted;
use crate::error::Error;
use crate::gui::textures;
use crate::jobs::{AsyncValue, Jobs};
use crate::ops::{Thumbnail, ThumbnailRequest, thumbnail};
use crate::raster::{BandChoice, ColourMap, Limits, describe};
use crate::studio::{Document, RowRef};

/// Columns and rows of a small picture.
const SIDE: usize = 192;
/// Jobs at a time.
const AT_ONCE: usize = 2;
/// Pictures that are kept.
const KEPT: usize = 768;
/// Pictures that become textures in one frame.
const UPLOADS: usize = 8;
/// Pictures that the shared stretch is told from.
const TELL: usize = 24;

type Name = (RowRef, Wanted);

struct Made {
    outcome: Result<Thumbnail, String>,
    /// A failure that may pass: it is tried again when the card comes back into view.
    passing: bool,
    /// The card was in view since.
    seen: bool,
    texture: Option<TextureHandle>,
    /// The stretch that the texture shows.
    stretch: u64,
    used: u64,
}

/// What a card shows.
pub enum Shown<'a> {
    /// The picture.
    Picture(&'a TextureHandle),
    /// It is being made.
    Waiting,
    /// It can't be made, because of this.
    Failed(&'a str),
}

/// The pictures.
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
    /// No pictures yet; those of earlier starts are in the cache.
    pub fn new(cache: Option<PathBuf>) -> Self {
        Self { cache, is_shared: true, ..Self::default() }
    }

    /// Begins a frame: takes what is finished.
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
        // A network that failed once may work when somebody looks again.
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

    /// The shared stretch: the middle of the limits of the first pictures. It settles, so that the gallery does not flicker.
    fn tell_shared(&mut self) {
        let ready: Vec<&Thumbnail> =
            self.made.values().filter_map(|made| made.outcome.as_ref().ok()).filter(|thumb| !thumb.limits.is_empty()).collect();
        // Told anew at the first, then whenever the number has doubled.
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

    /// What a file shows; it is put in front of the queue when it is not there yet.
    pub fn get(&mut self, ctx: &Context, file: RowRef, bands: &Wanted) -> Shown<'_> {
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

    /// Makes a picture when there is nothing else to do.
    pub fn later(&mut self, file: RowRef, bands: &Wanted) {
        let name = (file, bands.clone());
        if !self.made.contains_key(&name) {
            self.soon.push_back(name);
        }
    }

    /// Makes it again.
    pub fn forget(&mut self, file: RowRef, bands: &Wanted) {
        self.made.remove(&(file, bands.clone()));
    }

    /// Starts the next jobs. What was asked for and does not show any more is stopped.
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
                // Only a preset has to know the names of the bands: a cached picture needs no header.
                let bands = match bands {
                    Wanted::Best => BandChoice::Auto,
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
