//! Reads every pixel of some bands, window by window: whole blocks, all bands of one type in one
//! call, so that no block is decoded twice and memory is bounded.

use std::cell::Cell;
use std::ffi::{c_int, c_void};

use gdal::raster::GdalType;

use super::nodata_test::NoDataTest;
use super::pool::PooledDataset;
use super::{BandInfo, RasterInfo, Window, gdal_errors};
use crate::error::{Error, Result};
use crate::jobs::JobContext;
use crate::model::AssetPath;

/// Maximum bytes per window, over all bands read together.
const CHUNK_BYTES: u64 = 32 << 20;
/// Maximum bytes of one block of each band read together.
const GROUP_BYTES: u64 = 128 << 20;

/// Data type into which GDAL reads a band.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum StoredType {
    U8,
    U16,
    I16,
    U64,
    I64,
    F32,
    F64,
}

impl StoredType {
    pub(super) fn from_band(band: &BandInfo) -> Self {
        match band.dtype.as_str() {
            "Byte" | "UInt8" => StoredType::U8,
            "UInt16" => StoredType::U16,
            "Int16" | "Int8" => StoredType::I16,
            "UInt64" => StoredType::U64,
            "Int64" => StoredType::I64,
            "Float32" | "Float16" => StoredType::F32,
            _ => StoredType::F64,
        }
    }

    pub(super) fn bytes(self) -> u64 {
        match self {
            StoredType::U8 => 1,
            StoredType::U16 | StoredType::I16 => 2,
            StoredType::F32 => 4,
            StoredType::U64 | StoredType::I64 | StoredType::F64 => 8,
        }
    }

    /// Bytes kept in memory per pixel; 0 for types that are counted.
    pub(super) fn kept_bytes(self) -> u64 {
        if matches!(self, StoredType::U8 | StoredType::U16 | StoredType::I16) {
            0
        } else {
            self.bytes()
        }
    }
}

/// Pixels of one band in one window.
pub(super) struct PixelChunk<'a> {
    pub values: PixelValues<'a>,
    /// GDAL mask: 0 means no data.
    pub mask: Option<&'a [u8]>,
    nodata: Option<NoDataTest>,
}

#[derive(Clone, Copy)]
pub(super) enum PixelValues<'a> {
    U8(&'a [u8]),
    U16(&'a [u16]),
    I16(&'a [i16]),
    U64(&'a [u64]),
    I64(&'a [i64]),
    F32(&'a [f32]),
    F64(&'a [f64]),
}

impl PixelChunk<'_> {
    /// Calls `with` for each finite value with data; 64-bit integers are rounded.
    pub(super) fn for_each_valid(&self, with: &mut dyn FnMut(f64)) {
        match self.values {
            PixelValues::U8(values) => self.visit_valid_numbers(values, with),
            PixelValues::U16(values) => self.visit_valid_numbers(values, with),
            PixelValues::I16(values) => self.visit_valid_numbers(values, with),
            PixelValues::U64(_) | PixelValues::I64(_) => {
                self.each_long(&mut |value| with(value as f64))
            }
            PixelValues::F32(values) => self.visit_valid_numbers(values, with),
            PixelValues::F64(values) => self.visit_valid_numbers(values, with),
        }
    }

    fn visit_valid_numbers<T: Copy + Into<f64>>(&self, values: &[T], with: &mut dyn FnMut(f64)) {
        for (position, value) in values.iter().enumerate() {
            let value: f64 = (*value).into();
            if value.is_finite()
                && !self.is_masked(position)
                && !self.nodata.is_some_and(|test| test.is_nodata(value))
            {
                with(value);
            }
        }
    }

    fn is_masked(&self, position: usize) -> bool {
        self.mask.is_some_and(|mask| mask.get(position) == Some(&0))
    }

    /// As [`PixelChunk::for_each_valid`], for 64-bit integers in full; nothing for other types.
    pub(super) fn each_long(&self, with: &mut dyn FnMut(i128)) {
        match self.values {
            PixelValues::U64(values) => self.visit_valid_integers(values, with),
            PixelValues::I64(values) => self.visit_valid_integers(values, with),
            _ => {}
        }
    }

    fn visit_valid_integers<T: Copy + Into<i128>>(&self, values: &[T], with: &mut dyn FnMut(i128)) {
        for (position, value) in values.iter().enumerate() {
            let value: i128 = (*value).into();
            if !self.is_masked(position)
                && !self.nodata.is_some_and(|test| test.is_nodata_long(value))
            {
                with(value);
            }
        }
    }
}

/// Number of bands read together: as many as fit in `GROUP_BYTES`, at least one. Sizes are
/// `(columns, rows)`.
fn bands_at_once(
    (width, height): (usize, usize),
    block: (usize, usize),
    value_bytes: u64,
) -> usize {
    let side = |block: usize, whole: usize| block.clamp(1, whole.max(1)) as u64;
    let bytes = side(block.0, width)
        .saturating_mul(side(block.1, height))
        .saturating_mul(value_bytes);
    (GROUP_BYTES / bytes.max(1)).max(1) as usize
}

/// The first `most` positions that satisfy `is_like`, and all others, each in order.
fn first_group(
    left: &[usize],
    most: usize,
    is_like: impl Fn(&usize) -> bool,
) -> (Vec<usize>, Vec<usize>) {
    let mut room = most;
    left.iter().copied().partition(|position| {
        let taken = room > 0 && is_like(position);
        room -= usize::from(taken);
        taken
    })
}

/// Reads the bands at 0-based `positions` window by window and calls `with(position, chunk)` for
/// each band of each window. Bands of one type are read together as far as memory allows.
///
/// # Errors
/// [`Kind::Format`](crate::error::Kind::Format) with GDAL's reason for pixels that can't be read or
/// a block that does not fit in memory; cancellation.
pub(super) fn scan(
    opened: &PooledDataset,
    asset: &AssetPath,
    positions: &[usize],
    ctx: &JobContext,
    with: &mut dyn FnMut(usize, &PixelChunk),
) -> Result<()> {
    let mut left: Vec<usize> = positions.to_vec();
    while let Some(first) = left
        .first()
        .and_then(|&position| opened.info.bands.get(position))
    {
        let stored = StoredType::from_band(first);
        let is_like = |position: &usize| has_stored_type(&opened.info, *position, stored);
        let most = bands_at_once(
            (opened.info.width, opened.info.height),
            first.block,
            stored.bytes(),
        );
        let (group, rest) = first_group(&left, most, is_like);
        left = rest;
        let job = RasterScan {
            opened,
            asset,
            group,
            ctx,
        };
        match stored {
            StoredType::U8 => job.run::<u8>(|values| PixelValues::U8(values), with)?,
            StoredType::U16 => job.run::<u16>(|values| PixelValues::U16(values), with)?,
            StoredType::I16 => job.run::<i16>(|values| PixelValues::I16(values), with)?,
            StoredType::U64 => job.run::<u64>(|values| PixelValues::U64(values), with)?,
            StoredType::I64 => job.run::<i64>(|values| PixelValues::I64(values), with)?,
            StoredType::F32 => job.run::<f32>(|values| PixelValues::F32(values), with)?,
            StoredType::F64 => job.run::<f64>(|values| PixelValues::F64(values), with)?,
        }
    }
    Ok(())
}

fn has_stored_type(info: &RasterInfo, position: usize, stored: StoredType) -> bool {
    let band = info.bands.get(position);
    band.is_some_and(|band| StoredType::from_band(band) == stored)
}

/// Scratch buffer kept per thread between files; allocating one per file would cost as much as
/// counting.
struct CountScratch(Vec<u64>);

thread_local! {
    static KEPT: Cell<Vec<u64>> = const { Cell::new(Vec::new()) };
}

impl CountScratch {
    fn borrow() -> Self {
        Self(KEPT.take())
    }

    /// Scratch buffer of `count` values; contents unspecified. `None` when it can't be allocated.
    fn typed_slice<T: GdalType + Copy>(&mut self, count: usize) -> Option<&mut [T]> {
        const { assert!(align_of::<T>() <= align_of::<u64>()) };
        let words = count
            .checked_mul(size_of::<T>())?
            .div_ceil(size_of::<u64>());
        if self.0.len() < words {
            self.0.try_reserve_exact(words - self.0.len()).ok()?;
            self.0.resize(words, 0);
        }
        // Safety: the buffer has enough bytes, initialised and aligned; every bit pattern is valid
        // for GDAL's types.
        Some(unsafe { std::slice::from_raw_parts_mut(self.0.as_mut_ptr().cast::<T>(), count) })
    }
}

impl Drop for CountScratch {
    fn drop(&mut self) {
        // A larger buffer is freed rather than kept.
        if self.0.len() * size_of::<u64>() <= CHUNK_BYTES as usize {
            KEPT.set(std::mem::take(&mut self.0));
        }
    }
}

struct RasterScan<'a> {
    opened: &'a PooledDataset,
    asset: &'a AssetPath,
    group: Vec<usize>,
    ctx: &'a JobContext,
}

/// How a band marks missing data.
enum Missing {
    Never,
    Value(NoDataTest),
    Mask,
}

impl RasterScan<'_> {
    fn run<T: GdalType + Copy>(
        &self,
        wrap: impl Fn(&[T]) -> PixelValues<'_>,
        with: &mut dyn FnMut(usize, &PixelChunk),
    ) -> Result<()> {
        let info = &self.opened.info;
        let bands: Vec<c_int> = self
            .group
            .iter()
            .map(|&position| position as c_int + 1)
            .collect();
        let missing = self
            .group
            .iter()
            .map(|&position| self.missing(position))
            .collect::<Result<Vec<_>>>()?;
        let block = self
            .group
            .first()
            .and_then(|&position| info.bands.get(position))
            .map_or((1, 1), |band| band.block);
        let mut scratch = CountScratch::borrow();
        let mut mask = Vec::<u8>::new();
        let size = (info.width, info.height);
        for (window, ends) in
            RasterWindows::new(size, block, bands.len() as u64 * size_of::<T>() as u64)
        {
            self.ctx.check()?;
            let count = window.width * window.height;
            let room = count
                .checked_mul(bands.len())
                .and_then(|count| scratch.typed_slice::<T>(count));
            let buffer = room.ok_or_else(|| {
                let size = format!("{} × {}", window.width, window.height);
                Error::format(format!(
                    "a block of the raster has {size} pixels, which no memory holds"
                ))
                .at_place(self.asset)
            })?;
            self.read(window, &bands, buffer)?;
            for ((&position, missing), values) in self
                .group
                .iter()
                .zip(&missing)
                .zip(buffer.chunks_exact(count))
            {
                let mut chunk = PixelChunk {
                    values: wrap(values),
                    mask: None,
                    nodata: None,
                };
                match missing {
                    Missing::Never => {}
                    Missing::Value(value) => chunk.nodata = Some(*value),
                    Missing::Mask => {
                        mask.resize(count, 0);
                        self.read_mask(window, position, &mut mask)?;
                        chunk.mask = Some(&mask);
                    }
                }
                with(position, &chunk);
            }
            let several = (window.width, window.height) != size;
            if several && ends {
                // Blocks are never read again; GDAL would cache them until its limit.
                // Safety: the dataset is open and owned by this thread.
                unsafe { gdal_sys::GDALFlushCache(self.opened.dataset.c_dataset()) };
            }
        }
        Ok(())
    }

    fn missing(&self, position: usize) -> Result<Missing> {
        let band = self
            .opened
            .dataset
            .rasterband(position + 1)
            .and_then(|band| band.mask_flags());
        let flags = band.map_err(|error| {
            Error::format("the mask could not be read")
                .because(error)
                .at_place(self.asset)
        })?;
        let nodata = self
            .opened
            .info
            .bands
            .get(position)
            .and_then(BandInfo::nodata_test);
        Ok(match nodata {
            _ if flags.is_all_valid() => Missing::Never,
            Some(value) if flags.is_nodata() && !flags.is_per_dataset() => Missing::Value(value),
            _ => Missing::Mask,
        })
    }

    /// Reads a window into `buffer`, band-sequential.
    fn read<T: GdalType>(&self, window: Window, bands: &[c_int], buffer: &mut [T]) -> Result<()> {
        let (status, said) = gdal_errors::listen(|| {
            // Safety: the buffer has room for every band's window of this type; the numbers are
            // inside the raster, whose size fits an int.
            unsafe {
                gdal_sys::GDALDatasetRasterIOEx(
                    self.opened.dataset.c_dataset(),
                    gdal_sys::GDALRWFlag::GF_Read,
                    window.x as c_int,
                    window.y as c_int,
                    window.width as c_int,
                    window.height as c_int,
                    buffer.as_mut_ptr().cast::<c_void>(),
                    window.width as c_int,
                    window.height as c_int,
                    T::gdal_ordinal(),
                    bands.len() as c_int,
                    bands.as_ptr(),
                    0,
                    0,
                    0,
                    std::ptr::null_mut(),
                )
            }
        });
        self.check_read_status(status, &said)
    }

    fn read_mask(&self, window: Window, position: usize, buffer: &mut [u8]) -> Result<()> {
        let (status, said) = gdal_errors::listen(|| {
            let band = self.opened.dataset.rasterband(position + 1)?;
            let mask = band.open_mask_band()?;
            // Safety: the buffer has room for the window; the numbers are inside the raster.
            let status = unsafe {
                gdal_sys::GDALRasterIO(
                    mask.c_rasterband(),
                    gdal_sys::GDALRWFlag::GF_Read,
                    window.x as c_int,
                    window.y as c_int,
                    window.width as c_int,
                    window.height as c_int,
                    buffer.as_mut_ptr().cast::<c_void>(),
                    window.width as c_int,
                    window.height as c_int,
                    gdal_sys::GDALDataType::GDT_Byte,
                    0,
                    0,
                )
            };
            Ok::<_, gdal::errors::GdalError>(status)
        });
        self.check_read_status(status.unwrap_or(gdal_sys::CPLErr::CE_Failure), &said)
    }

    fn check_read_status(
        &self,
        status: gdal_sys::CPLErr::Type,
        said: &[gdal_errors::GdalMessage],
    ) -> Result<()> {
        if status == gdal_sys::CPLErr::CE_None {
            return Ok(());
        }
        let error = Error::format("the pixels could not be read").at_place(self.asset);
        Err(gdal_errors::because(error, said, None)
            .hint("the file may be damaged: check it with `taco-studio validate --deep`"))
    }
}

/// Iterator over windows that cover the raster; not collected, since a header can claim more
/// windows than memory holds. Windows consist of whole blocks, so that none is decoded twice; a
/// block too large for one window is read in consecutive pieces.
struct RasterWindows {
    raster: (usize, usize),
    /// Columns and rows of a group of whole blocks.
    group: (usize, usize),
    /// Columns and rows per window.
    piece: (usize, usize),
    /// Column and row of the current group; the row is the raster's height when done.
    at: (usize, usize),
    /// Column and row of the next piece, relative to its group.
    inside: (usize, usize),
}

impl RasterWindows {
    fn new((width, height): (usize, usize), block: (usize, usize), pixel_bytes: u64) -> Self {
        let (block_width, block_height) = (
            block.0.clamp(1, width.max(1)),
            block.1.clamp(1, height.max(1)),
        );
        let most = (CHUNK_BYTES / pixel_bytes.max(1)).max(1) as usize;
        let columns = match most / block_height {
            fitting if fitting >= width => width,
            fitting => (fitting / block_width).max(1) * block_width,
        };
        let rows = (most / columns.max(1) / block_height).max(1) * block_height;
        let piece = if columns.saturating_mul(rows) <= most {
            (columns, rows)
        } else {
            (columns.min(most), (most / columns.max(1)).max(1))
        };
        let at = (0, if width == 0 { height } else { 0 });
        Self {
            raster: (width, height),
            group: (columns.max(1), rows),
            piece,
            at,
            inside: (0, 0),
        }
    }
}

impl Iterator for RasterWindows {
    /// `(window, true if it is the last of its group of blocks)`.
    type Item = (Window, bool);

    fn next(&mut self) -> Option<Self::Item> {
        let ((width, height), (x, y)) = (self.raster, self.at);
        if y >= height {
            return None;
        }
        let whole = (self.group.0.min(width - x), self.group.1.min(height - y));
        let (left, top) = self.inside;
        let window = Window {
            x: x + left,
            y: y + top,
            width: self.piece.0.min(whole.0 - left),
            height: self.piece.1.min(whole.1 - top),
        };
        self.inside.0 += window.width;
        if self.inside.0 >= whole.0 {
            self.inside = (0, top + window.height);
        }
        let ends = self.inside.1 >= whole.1;
        if ends {
            self.inside = (0, 0);
            self.at.0 += whole.0;
            if self.at.0 >= width {
                self.at = (0, y + whole.1);
            }
        }
        Some((window, ends))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn huge_blocks_are_read_in_smaller_groups() {
        assert_eq!(bands_at_once((20_000, 20_000), (512, 512), 2), 256);
        assert_eq!(bands_at_once((4096, 4096), (4096, 4096), 4), 2);
        assert_eq!(bands_at_once((100_000, 100_000), (100_000, 100_000), 8), 1);
        assert_eq!(
            bands_at_once((10, 10), (usize::MAX, usize::MAX), 8),
            167_772,
            "no block is larger than the raster"
        );
        let even = |position: &usize| [0, 2, 4].contains(position);
        assert_eq!(
            first_group(&[0, 1, 2, 3, 4], 2, even),
            (vec![0, 2], vec![1, 3, 4])
        );
        assert_eq!(first_group(&[4, 5], 1024, even), (vec![4], vec![5]));
    }

    /// An overflowing size would give a short buffer with a long slice over it.
    #[test]
    fn more_pixels_than_memory_has_bytes_get_no_room() {
        let mut scratch = CountScratch(Vec::new());
        assert!(
            scratch.typed_slice::<f64>(1 << 61).is_none()
                && scratch.typed_slice::<u16>(usize::MAX).is_none()
        );
        assert_eq!(
            scratch.typed_slice::<u16>(5).map(|room| room.len()),
            Some(5)
        );
        assert_eq!(
            scratch.typed_slice::<f64>(7).map(|room| room.len()),
            Some(7)
        );
    }

    #[test]
    fn windows_are_whole_blocks_and_cover_everything_once() {
        for (width, height, block, bytes) in [
            (512, 512, (256, 256), 26),
            (20_000, 30_000, (512, 512), 26),
            (7, 5, (7, 1), 8),
            (300_000, 3, (300_000, 1), 80),
            (1000, 1000, (1000, 1000), 9),
        ] {
            let windows: Vec<(Window, bool)> =
                RasterWindows::new((width, height), block, bytes).collect();
            assert_eq!(
                windows
                    .iter()
                    .map(|(w, _)| w.width * w.height)
                    .sum::<usize>(),
                width * height
            );
            assert!(windows.iter().all(|(w, _)| w.x % block.0 == 0
                && w.y % block.1 == 0
                && w.width > 0
                && w.height > 0));
            assert!(windows.iter().all(|(_, ends)| *ends));
            let largest = windows
                .iter()
                .map(|(w, _)| w.width * w.height)
                .max()
                .unwrap_or(0) as u64
                * bytes;
            assert!(largest <= CHUNK_BYTES, "{width} × {height}: {largest}");
        }
    }

    #[test]
    fn blocks_too_large_for_a_window_are_read_in_pieces() {
        for (size, block) in [
            ((20_000, 3000), (9000, 2900)),
            ((50_000_000, 2), (50_000_000, 1)),
        ] {
            let mut cells = 0;
            let mut blocks = (0, 0);
            for (window, ends) in RasterWindows::new(size, block, 8) {
                cells += window.width * window.height;
                assert!(
                    window.width as u64 * window.height as u64 * 8 <= CHUNK_BYTES,
                    "{window:?}"
                );
                assert_eq!(
                    (window.x / block.0, window.y / block.1),
                    ((window.x + window.width - 1) / block.0, window.y / block.1)
                );
                blocks.0 += usize::from(ends);
                blocks.1 += 1;
            }
            assert_eq!(cells, size.0 * size.1);
            assert!(
                blocks.0 <= size.0.div_ceil(block.0) * size.1.div_ceil(block.1)
                    && blocks.1 >= blocks.0
            );
        }
    }

    #[test]
    fn more_windows_than_memory_holds_are_made_one_by_one() {
        let side = 2_000_000_000;
        assert!(
            RasterWindows::new((side, side), (1, 1), 8)
                .take(3)
                .map(|(window, _)| window.width * window.height)
                .sum::<usize>()
                > 0
        );
        assert_eq!(
            RasterWindows::new((0, 5), (1, 1), 1).count()
                + RasterWindows::new((5, 0), (1, 1), 1).count(),
            0
        );
    }
}
