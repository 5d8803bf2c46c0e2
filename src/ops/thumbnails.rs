//! Small pictures of rasters, as numbers rather than colours, so that many can share one stretch.
//! Kept on disk by what the raster holds; the cache has a cap and can be thrown away at any time.

use std::fs;
use std::io::{Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use image::ExtendedColorType::{La16, Rgba16};
use image::ImageEncoder;
use image::codecs::png::PngEncoder;
use sha2::{Digest, Sha256};

use crate::error::{Error, Result};
use crate::jobs::JobContext;
use crate::model::AssetPath;
use crate::raster::{
    BandChoice, BandIndex, BandPixels, BandValues, ColourMap, Pixels, RasterSource, ReadRequest,
    RenderOptions, Resampling, Rgba, Samples, Stretch, StretchLimits, Window, describe,
    read_window, render, render_with,
};

/// Bytes that the cache may hold.
const CAP_BYTES: u64 = 512 << 20;
/// Least time between two removals of old pictures.
const CLEANING_INTERVAL: Duration = Duration::from_secs(3600);
/// Files up to this size are identified by a hash of all bytes, larger ones by a hash of pieces.
const WHOLE_BYTES: u64 = 2 << 20;
const PIECE: usize = 64 << 10;
const MAGIC: &[u8; 8] = b"TSTHUMB3";
const STEPS: f64 = 65535.0;
/// Steps reach this many times the distance of a band's own limits beyond them: one stray value
/// must not take them all.
const BEYOND: f64 = 4.0;

/// Arguments of a thumbnail.
#[derive(Clone, Debug, PartialEq, serde::Serialize, serde::Deserialize)]
pub struct ThumbnailRequest {
    /// The file.
    #[serde(rename = "asset")]
    pub source: RasterSource,
    /// Columns and rows that it has to fit in.
    pub side: usize,
    /// Bands.
    #[serde(default)]
    pub bands: BandChoice,
}

/// A small raster of one or three bands.
#[derive(Clone, Debug, PartialEq)]
pub struct Thumbnail {
    /// Columns.
    pub width: usize,
    /// Rows.
    pub height: usize,
    /// The 2 and 98 % percentiles of each band: its own stretch. Empty for colours that are shown
    /// as they are.
    pub limits: Vec<StretchLimits>,
    /// Values of step 0 and of step 65535, for each band.
    range: Vec<StretchLimits>,
    /// Steps as `U16`, the same pixels valid in every band.
    steps: Pixels,
}

/// Limits in steps of a range. A band with one value has only step 0, of any size.
fn scale_to_steps(limits: &StretchLimits, range: &StretchLimits) -> StretchLimits {
    let step = if range.high > range.low {
        (range.high - range.low) / STEPS
    } else {
        1.0
    };
    StretchLimits {
        low: (limits.low - range.low) / step,
        high: (limits.high - range.low) / step,
    }
}

/// The step of a pixel; `None` where it has no data.
fn quantise_pixel(
    band: &BandPixels,
    at: usize,
    (low, high): (f64, f64),
    scale: f64,
) -> Option<u16> {
    match band.samples.get(at) {
        value if value.is_finite() && band.is_valid(at) => {
            Some(((value.clamp(low, high) - low) * scale).round() as u16)
        }
        _ => None,
    }
}

/// The values of a channel of eight bits with sixteen.
fn widen_channel(pixels: &[[u8; 4]], channel: usize) -> Vec<u16> {
    pixels
        .iter()
        .map(|pixel| u16::from(pixel[channel]) * 257)
        .collect()
}

/// Takes the limits of some bands from the beginning of bytes.
fn take_limits(bytes: &mut &[u8], count: u8) -> Option<Vec<StretchLimits>> {
    let mut limits = Vec::with_capacity(count.into());
    for _ in 0..count {
        let (low, after) = bytes.split_first_chunk::<8>()?;
        let (high, after) = after.split_first_chunk::<8>()?;
        *bytes = after;
        limits.push(StretchLimits {
            low: f64::from_le_bytes(*low),
            high: f64::from_le_bytes(*high),
        });
    }
    Some(limits)
}

/// The values of a channel of pixels with `bands` channels and a mask.
fn list_channel(raw: &[u16], channel: u8, bands: u8) -> impl Iterator<Item = u16> {
    raw.iter()
        .skip(usize::from(channel))
        .step_by(usize::from(bands) + 1)
        .copied()
}

impl Thumbnail {
    fn new(
        limits: Vec<StretchLimits>,
        range: Vec<StretchLimits>,
        (width, height): (usize, usize),
        steps: Vec<Vec<u16>>,
        valid: Vec<bool>,
    ) -> Self {
        let valid: Arc<[bool]> = valid.into();
        let mut bands = Vec::with_capacity(steps.len());
        for (position, steps) in steps.into_iter().enumerate() {
            bands.push(BandPixels {
                index: BandIndex::from_position(position),
                samples: Samples::U16(steps),
                valid: Some(valid.clone()),
                palette: None,
            });
        }
        let steps = Pixels {
            width,
            height,
            window: Window::full(width, height),
            bands,
        };
        Self {
            width,
            height,
            limits,
            range,
            steps,
        }
    }

    /// Bands: 1 or 3.
    pub fn bands(&self) -> usize {
        self.range.len()
    }

    /// As a picture, by these limits for each band, or by its own.
    pub fn rgba(&self, shared: Option<&[StretchLimits]>, map: ColourMap) -> Rgba {
        let fits =
            |limits: &&[StretchLimits]| limits.len() == self.bands() && !self.limits.is_empty();
        let limits = match (shared.filter(fits), self.limits.is_empty()) {
            (Some(shared), _) => shared,
            (None, true) => &self.range,
            (None, false) => &self.limits,
        };
        let limits: Vec<Option<StretchLimits>> = limits
            .iter()
            .zip(&self.range)
            .map(|(limits, range)| Some(scale_to_steps(limits, range)))
            .collect();
        let bands = if self.bands() == 3 {
            BandChoice::Auto
        } else {
            BandChoice::Single {
                band: BandIndex::FIRST,
                map,
            }
        };
        render_with(
            &self.steps,
            &RenderOptions {
                bands,
                ..RenderOptions::default()
            },
            &limits,
            None,
            None,
        )
        .0
    }

    fn of_pixels(pixels: &Pixels) -> Self {
        let count = pixels.width * pixels.height;
        let mut any_valid = vec![false; count];
        let (mut steps, mut range, mut own) = (Vec::new(), Vec::new(), Vec::new());
        for band in &pixels.bands {
            let values = BandValues::from_band(band);
            let limits = values.as_ref().map_or(
                StretchLimits {
                    low: 0.0,
                    high: 0.0,
                },
                |values| values.limits(Stretch::default()),
            );
            let all = values.as_ref().map_or(limits, BandValues::range);
            let beyond = BEYOND * (limits.high - limits.low);
            let (low, high) = (
                all.low.max(limits.low - beyond),
                all.high.min(limits.high + beyond),
            );
            let scale = if high > low {
                STEPS / (high - low)
            } else {
                0.0
            };
            let step = |at: usize| quantise_pixel(band, at, (low, high), scale);
            any_valid
                .iter_mut()
                .enumerate()
                .for_each(|(at, valid)| *valid |= step(at).is_some());
            steps.push((0..count).map(|at| step(at).unwrap_or(0)).collect());
            range.push(StretchLimits { low, high });
            own.push(limits);
        }
        Self::new(own, range, (pixels.width, pixels.height), steps, any_valid)
    }

    /// Colours that are shown as they are, such as those of a colour table.
    fn of_rgba(image: &Rgba) -> Self {
        let pixels = image.data.as_chunks::<4>().0;
        let valid = pixels.iter().map(|pixel| pixel[3] > 0).collect();
        let range = vec![
            StretchLimits {
                low: 0.0,
                high: 255.0
            };
            3
        ];
        Self::new(
            Vec::new(),
            range,
            (image.width, image.height),
            (0..3).map(|at| widen_channel(pixels, at)).collect(),
            valid,
        )
    }

    fn to_bytes(&self) -> Option<Vec<u8>> {
        let mut out = MAGIC.to_vec();
        out.extend([self.bands() as u8, self.limits.len() as u8]);
        for limits in self.range.iter().chain(&self.limits) {
            out.extend(limits.low.to_le_bytes());
            out.extend(limits.high.to_le_bytes());
        }
        let bytes: Vec<u8> = (0..self.width * self.height)
            .flat_map(|at| self.list_pixel_values(at))
            .flat_map(u16::to_ne_bytes)
            .collect();
        let kind = if self.bands() == 3 { Rgba16 } else { La16 };
        let (width, height) = (
            u32::try_from(self.width).ok()?,
            u32::try_from(self.height).ok()?,
        );
        PngEncoder::new(&mut out)
            .write_image(&bytes, width, height, kind)
            .ok()?;
        Some(out)
    }

    /// The steps of each band, then 65535 for data and 0 for none.
    fn list_pixel_values(&self, at: usize) -> impl Iterator<Item = u16> {
        let bands = &self.steps.bands;
        let alpha = if bands.first().is_some_and(|band| band.is_valid(at)) {
            u16::MAX
        } else {
            0
        };
        bands
            .iter()
            .map(move |band| band.samples.get(at) as u16)
            .chain([alpha])
    }

    /// `None` for bytes that [`Thumbnail::to_bytes`] did not write.
    fn from_bytes(bytes: &[u8]) -> Option<Self> {
        let rest = bytes.strip_prefix(MAGIC)?;
        let (&[bands, own], mut rest) = rest.split_first_chunk::<2>()?;
        if !matches!((bands, own), (1 | 3, 0) | (1, 1) | (3, 3)) {
            return None;
        }
        let (range, limits) = (take_limits(&mut rest, bands)?, take_limits(&mut rest, own)?);
        let picture = image::load_from_memory_with_format(rest, image::ImageFormat::Png).ok()?;
        let size = (picture.width() as usize, picture.height() as usize);
        let raw = if bands == 3 {
            picture.into_rgba16().into_raw()
        } else {
            picture.into_luma_alpha16().into_raw()
        };
        let channel = |at| list_channel(&raw, at, bands);
        let valid = channel(bands).map(|alpha| alpha > 0).collect();
        Some(Self::new(
            limits,
            range,
            size,
            (0..bands).map(|band| channel(band).collect()).collect(),
            valid,
        ))
    }
}

/// Renders a thumbnail, or takes it from the cache below `cache`. A cache that can't be used is
/// ignored.
///
/// # Errors
/// When the raster can't be read.
pub fn thumbnail(
    request: &ThumbnailRequest,
    cache: Option<&Path>,
    ctx: &JobContext,
) -> Result<Thumbnail> {
    ctx.check()?;
    let place = cache.and_then(|cache| Some(cache.join("thumbnails").join(content_key(request)?)));
    if let Some(made) = place
        .as_ref()
        .and_then(|place| fs::read(place).ok())
        .and_then(|bytes| Thumbnail::from_bytes(&bytes))
    {
        return Ok(made);
    }
    let made = made_anew(request, ctx)?;
    if let Some((place, bytes)) = place.zip(made.to_bytes()) {
        let _ = keep_thumbnail(&place, &bytes);
    }
    Ok(made)
}

fn made_anew(request: &ThumbnailRequest, ctx: &JobContext) -> Result<Thumbnail> {
    let info = describe(&request.source)?;
    info.warn_of_variable(&request.source.asset().to_string(), ctx);
    ctx.check()?;
    if info.band_count == 0 {
        return Err(Error::unsupported("this file has no pixels").at_place(&request.source));
    }
    let side = request.side.clamp(8, 1024);
    let window = Window::full(info.width, info.height);
    let choice = request.bands.resolve(&info);
    let read = ReadRequest {
        window,
        out: window.fit(side, side),
        bands: choice.bands(),
        resampling: Resampling::Auto,
    };
    let pixels = read_window(&request.source, &read, ctx)?;
    let table = pixels.bands.len() == 1 && pixels.bands.iter().any(|band| band.palette.is_some());
    if table {
        let options = RenderOptions {
            bands: choice,
            ..Default::default()
        };
        return Ok(Thumbnail::of_rgba(&render(&pixels, &options).0));
    }
    Ok(Thumbnail::of_pixels(&pixels))
}

/// The name of the cached file: a hash of what the raster holds and of what is made of it. `None`
/// for what is not on this disk: only a request would show whether it changed.
fn content_key(request: &ThumbnailRequest) -> Option<String> {
    let (path, from, size) = match request.source.asset() {
        AssetPath::File(path) => (path, 0, fs::metadata(path).ok()?.len()),
        AssetPath::Range {
            container,
            offset,
            size,
            ..
        } => (container, *offset, *size),
        // Unpacking takes longer than drawing.
        AssetPath::Packed(_) | AssetPath::Vsi(_) => return None,
    };
    let mut file = crate::files::open(path).ok()?;
    let mut hash = Sha256::new();
    // The same bytes with and without sidecar files render differently.
    hash.update(format!(
        "{size} {} {:?} {}",
        request.side,
        request.bands,
        request.source.is_fenced()
    ));
    if let Some(variable) = request.source.variable() {
        hash.update(variable.as_bytes());
    }
    let mut piece = |at, length| hash_piece(&mut file, &mut hash, from.checked_add(at)?, length);
    if size <= WHOLE_BYTES {
        piece(0, size as usize)?;
    } else {
        // Pieces of a large file; changes between them are detected by its modification time.
        let step = (size - PIECE as u64) / 15;
        for n in 0..16 {
            piece(n * step, PIECE)?;
        }
        let changed = fs::metadata(path)
            .and_then(|data| data.modified())
            .unwrap_or(SystemTime::UNIX_EPOCH);
        hash.update(format!("{changed:?}"));
        // The time is the container's: two samples of it that are alike in all these pieces
        // differ in their path and offset.
        hash.update(path.as_os_str().as_encoded_bytes());
        hash.update(from.to_le_bytes());
    }
    let digest = hash.finalize();
    Some(hex::encode(digest) + ".thumb")
}

fn hash_piece(file: &mut fs::File, hash: &mut Sha256, at: u64, length: usize) -> Option<()> {
    let mut bytes = vec![0; length];
    file.seek(SeekFrom::Start(at)).ok()?;
    file.read_exact(&mut bytes).ok()?;
    hash.update(&bytes);
    Some(())
}

fn keep_thumbnail(place: &Path, bytes: &[u8]) -> std::io::Result<()> {
    let folder = place.parent().unwrap_or(Path::new("."));
    crate::folders::make_private(folder)?;
    let tag = folder.join("CACHEDIR.TAG");
    if !is_younger_than(&tag, CLEANING_INTERVAL) {
        // A folder without the tag is a cache all the same.
        let _ = fs::write(
            tag,
            "Signature: 8a477f597d28d172789f06886806bc55\n# Made again when it is gone.\n",
        );
        clean(folder, CAP_BYTES)?;
    }
    // The name has the ending of those that are cleaned: a stopped process may leave it.
    let mut partial = tempfile::Builder::new()
        .suffix(".thumb")
        .tempfile_in(folder)?;
    partial.write_all(bytes)?;
    partial.persist(place).map_err(|error| error.error)?;
    Ok(())
}

/// True for a file that was changed within `age` of now: the clock of a server may be ahead of this
/// machine's.
fn is_younger_than(file: &Path, age: Duration) -> bool {
    let changed = fs::metadata(file).and_then(|data| data.modified());
    changed.is_ok_and(|time| {
        time.elapsed()
            .unwrap_or_else(|ahead| ahead.duration())
            .lt(&age)
    })
}

/// Removes the oldest files until four fifths of the cap are left.
fn clean(folder: &Path, cap: u64) -> std::io::Result<()> {
    let mut files: Vec<(SystemTime, u64, PathBuf)> = Vec::new();
    for entry in fs::read_dir(folder)?.flatten() {
        let path = entry.path();
        if path.extension().is_some_and(|ending| ending == "thumb")
            && let Ok(data) = entry.metadata()
        {
            files.push((
                data.modified().unwrap_or(SystemTime::UNIX_EPOCH),
                data.len(),
                path,
            ));
        }
    }
    let mut total: u64 = files.iter().map(|(_, size, _)| size).sum();
    if total <= cap {
        return Ok(());
    }
    files.sort();
    for (_, size, path) in files {
        if total <= cap / 5 * 4 {
            break;
        }
        if fs::remove_file(&path).is_ok() {
            total -= size;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::raster::{NewRaster, write_geotiff};

    fn raster(folder: &Path, shift: u16) -> RasterSource {
        let path = folder.join("a.tif");
        let band = |base: u16| {
            Samples::U16(
                (0..64 * 64)
                    .map(|n| base + shift + (n % 64) as u16)
                    .collect(),
            )
        };
        let raster = NewRaster {
            width: 64,
            height: 64,
            bands: vec![band(100), band(900), band(3000)],
            ..NewRaster::default()
        };
        write_geotiff(&path, &raster).expect("is written");
        RasterSource::from_user_path(AssetPath::File(path.into()))
    }

    #[test]
    fn a_small_picture_comes_back_from_the_cache_and_follows_the_content() {
        let folder = tempfile::tempdir().expect("a folder");
        let cache = folder.path().join("cache");
        let ctx = JobContext::default();
        let request = ThumbnailRequest {
            source: raster(folder.path(), 0),
            side: 32,
            bands: BandChoice::Auto,
        };
        let first = thumbnail(&request, Some(&cache), &ctx).expect("is made");
        assert_eq!((first.width, first.height, first.bands()), (32, 32, 3));
        let files = || {
            fs::read_dir(cache.join("thumbnails"))
                .expect("a cache")
                .count()
        };
        assert_eq!(files(), 2, "the picture and the tag");
        let again = thumbnail(&request, Some(&cache), &ctx).expect("is there");
        assert_eq!(again, first);
        assert_eq!(
            first
                .to_bytes()
                .and_then(|bytes| Thumbnail::from_bytes(&bytes)),
            Some(first.clone())
        );
        // The first is still open here, and Windows removes no open file.
        crate::raster::close_idle();
        raster(folder.path(), 5);
        let other = thumbnail(&request, Some(&cache), &ctx).expect("is made anew");
        assert!((other.limits[0].low - first.limits[0].low - 5.0).abs() < 1.5);
        assert_eq!(files(), 3);
    }

    #[test]
    fn a_shared_stretch_tells_bright_from_dark() {
        let folder = tempfile::tempdir().expect("a folder");
        let request = ThumbnailRequest {
            source: raster(folder.path(), 0),
            side: 16,
            bands: BandChoice::Auto,
        };
        let small = thumbnail(&request, None, &JobContext::default()).expect("is made");
        let mean = |image: &Rgba| {
            image
                .data
                .chunks_exact(4)
                .map(|p| u32::from(p[0]))
                .sum::<u32>()
                / 256
        };
        let own = mean(&small.rgba(None, ColourMap::Grey));
        let wide = vec![
            StretchLimits {
                low: 0.0,
                high: 10_000.0
            };
            3
        ];
        let shared = mean(&small.rgba(Some(&wide), ColourMap::Grey));
        assert!(
            (110..146).contains(&own) && shared < 8,
            "{own} and {shared}"
        );
    }

    #[test]
    fn one_stray_value_does_not_take_the_greys() {
        let values: Vec<f32> = (0..4096u16)
            .map(|n| {
                if n == 0 {
                    -9999.0
                } else {
                    f32::from(n) / 4096.0
                }
            })
            .collect();
        let band = BandPixels {
            index: BandIndex::FIRST,
            samples: Samples::F32(values),
            valid: None,
            palette: None,
        };
        let small = Thumbnail::of_pixels(&Pixels {
            width: 64,
            height: 64,
            window: Window::full(64, 64),
            bands: vec![band],
        });
        let image = small.rgba(None, ColourMap::Grey);
        let greys: std::collections::BTreeSet<u8> =
            image.data.chunks_exact(4).map(|pixel| pixel[0]).collect();
        assert!(greys.len() > 100, "{} greys", greys.len());
        assert_eq!(
            image.data[..4],
            [0, 0, 0, 255],
            "the stray value is as dark as can be"
        );
    }

    #[test]
    fn one_value_everywhere_is_grey_and_colours_stay() {
        let band = BandPixels {
            index: BandIndex::FIRST,
            samples: Samples::U8(vec![7; 4]),
            valid: None,
            palette: None,
        };
        let small = Thumbnail::of_pixels(&Pixels {
            width: 2,
            height: 2,
            window: Window::full(2, 2),
            bands: vec![band],
        });
        assert_eq!(
            small.rgba(None, ColourMap::Grey).data[..4],
            [128, 128, 128, 255]
        );
        let data: Vec<u8> = (0..=255)
            .flat_map(|byte| [byte, 255 - byte, 9, 255])
            .collect();
        let image = Rgba {
            width: 16,
            height: 16,
            data,
        };
        assert_eq!(
            Thumbnail::of_rgba(&image).rgba(None, ColourMap::Grey),
            image
        );
    }

    #[test]
    fn equal_samples_of_one_archive_have_their_own_pictures() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("a.zip");
        fs::File::create(&path)
            .and_then(|file| file.set_len(3 * WHOLE_BYTES))
            .expect("is written");
        let key = |offset: u64, size: u64| {
            let source = RasterSource::member(AssetPath::range(path.as_path(), offset, size));
            content_key(&ThumbnailRequest {
                source,
                side: 64,
                bands: BandChoice::Auto,
            })
            .expect("is there")
        };
        assert_ne!(
            key(0, WHOLE_BYTES + 1),
            key(WHOLE_BYTES - 1, WHOLE_BYTES + 1)
        );
        assert_eq!(
            key(0, 1000),
            key(1000, 1000),
            "small ones are known by all of their bytes"
        );
    }

    #[test]
    fn damaged_files_of_the_cache_are_made_again() {
        assert!(Thumbnail::from_bytes(MAGIC).is_none());
        assert!(Thumbnail::from_bytes(&[MAGIC.as_slice(), &[3, 3]].concat()).is_none());
        assert!(Thumbnail::from_bytes(b"something else").is_none());
    }

    #[test]
    fn the_folder_is_cleaned_again_after_an_interval() {
        let folder = tempfile::tempdir().expect("a folder");
        let tag = folder.path().join("CACHEDIR.TAG");
        assert!(!is_younger_than(&tag, CLEANING_INTERVAL));
        keep_thumbnail(&folder.path().join("a.thumb"), b"x").expect("is kept");
        assert!(is_younger_than(&tag, CLEANING_INTERVAL));
        let file = fs::File::options().write(true).open(&tag).expect("opens");
        let before = SystemTime::now() - CLEANING_INTERVAL;
        file.set_modified(before).expect("has another time");
        assert!(!is_younger_than(&tag, CLEANING_INTERVAL));
        keep_thumbnail(&folder.path().join("b.thumb"), b"x").expect("is kept");
        assert!(is_younger_than(&tag, CLEANING_INTERVAL), "it was cleaned");
    }

    #[test]
    fn the_oldest_go_first() {
        let folder = tempfile::tempdir().expect("a folder");
        for name in ["a", "b", "c", "d"] {
            fs::write(folder.path().join(format!("{name}.thumb")), [0; 100]).expect("is written");
            std::thread::sleep(std::time::Duration::from_millis(15));
        }
        clean(folder.path(), 300).expect("is cleaned");
        let mut left: Vec<_> = fs::read_dir(folder.path())
            .expect("a folder")
            .flatten()
            .map(|e| e.file_name())
            .collect();
        left.sort();
        assert_eq!(left, ["c.thumb", "d.thumb"]);
    }
}
