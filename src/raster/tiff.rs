//! Locates the chunks of a TIFF and describes their encoding: tiles or strips of classic TIFF and
//! BigTIFF in either byte order. Reads the first IFD only. Every number is checked before use;
//! files other than TIFF, and TIFFs whose chunks cannot be decoded independently, have no chunks.

use crate::error::{Error, Result};

/// Maximum number of chunks per file.
const CHUNKS_MAX: u64 = 1 << 22;
/// Maximum number of entries in an IFD.
const ENTRIES_MAX: u64 = 4096;
/// TIFF compression codes whose chunks decode independently: none, LZW, deflate (two codes),
/// PackBits, zstd.
const ALONE: [u64; 6] = [1, 5, 8, 32946, 32773, 50000];

/// Encoding of a file's chunks, which is the same for all.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ChunkLayout {
    /// Byte order: little-endian when true.
    pub little: bool,
    /// Columns and rows of the raster.
    pub size: [u64; 2],
    /// Bands of the raster.
    pub bands: u64,
    /// Columns and rows of a full chunk.
    pub chunk: [u64; 2],
    /// True for strips, of which the last may be shorter. Tiles always have the full size.
    pub stripped: bool,
    /// Bands per chunk: all (pixel-interleaved) or one (band-interleaved).
    pub chunk_bands: u64,
    /// Bits per value.
    pub bits: u64,
    /// SampleFormat: 1 unsigned integer, 2 signed integer, 3 floating point.
    pub sample_format: u64,
    /// TIFF compression code.
    pub compression: u64,
    /// Predictor: 1 none, 2 horizontal differences, 3 floating-point differences.
    pub predictor: u64,
    /// `(offset, length)` in the file of each chunk, in the order of TileOffsets or StripOffsets.
    pub places: Vec<(u64, u64)>,
}

impl ChunkLayout {
    /// The data type in NumPy's notation, such as `<u2`.
    pub fn dtype(&self) -> Option<String> {
        let kind = match self.sample_format {
            1 => 'u',
            2 => 'i',
            3 => 'f',
            _ => return None,
        };
        let bytes = self.bits / 8;
        let known = self.bits.is_multiple_of(8)
            && matches!((kind, bytes), ('u' | 'i', 1 | 2 | 4 | 8) | ('f', 4 | 8));
        let order = if bytes == 1 { '|' } else { '<' };
        known.then(|| format!("{order}{kind}{bytes}"))
    }

    /// True when each chunk can be decoded without the rest of the file, to values of a NumPy type.
    pub fn decodes_alone(&self) -> bool {
        ALONE.contains(&self.compression) && self.dtype().is_some()
    }

    fn across(&self) -> [u64; 2] {
        [
            self.size[0].div_ceil(self.chunk[0]),
            self.size[1].div_ceil(self.chunk[1]),
        ]
    }

    /// `([band, row, column], [bands, rows, columns])` of chunk `index`: its 0-based origin and its
    /// size inside the raster.
    pub fn place(&self, index: u64) -> Option<([u64; 3], [u64; 3])> {
        let [columns, rows] = self.across();
        let (plane, inside) = (index / (columns * rows), index % (columns * rows));
        let band = plane * self.chunk_bands;
        if band >= self.bands {
            return None;
        }
        let (row, column) = (
            inside / columns * self.chunk[1],
            inside % columns * self.chunk[0],
        );
        let count = [
            self.chunk_bands,
            self.chunk[1].min(self.size[1] - row),
            self.chunk[0].min(self.size[0] - column),
        ];
        Some(([band, row, column], count))
    }
}

#[derive(Clone, Copy)]
pub(super) struct TiffSource<'a> {
    read: &'a dyn Fn(u64, u64) -> Result<Vec<u8>>,
    size: u64,
    pub little: bool,
    pub big: bool,
}

impl<'a> TiffSource<'a> {
    /// The TIFF of `size` bytes, with the offset of its first IFD; `None` for another file.
    ///
    /// # Errors
    /// Those of `read`.
    pub fn open(
        read: &'a dyn Fn(u64, u64) -> Result<Vec<u8>>,
        size: u64,
    ) -> Result<Option<(Self, u64)>> {
        if size < 16 {
            return Ok(None);
        }
        let head = read(0, 16)?;
        let (little, big) = match head.get(..4) {
            Some(b"II*\0") => (true, false),
            Some(b"MM\0*") => (false, false),
            Some(b"II+\0") => (true, true),
            Some(b"MM\0+") => (false, true),
            _ => return Ok(None),
        };
        let source = Self {
            read,
            size,
            little,
            big,
        };
        let directory = source.number(if big { &head[8..16] } else { &head[4..8] });
        Ok(Some((source, directory)))
    }

    fn bytes(&self, at: u64, length: u64) -> Result<Vec<u8>> {
        if at.checked_add(length).is_none_or(|end| end > self.size) {
            return Err(Error::format(format!(
                "{length} bytes at {at} are outside the TIFF, which has {}",
                self.size
            )));
        }
        (self.read)(at, length)
    }

    pub fn number(&self, bytes: &[u8]) -> u64 {
        let fold = |sum: u64, byte: &u8| (sum << 8) | u64::from(*byte);
        if self.little {
            bytes.iter().rev().fold(0, fold)
        } else {
            bytes.iter().fold(0, fold)
        }
    }

    /// The values of an IFD entry of an integer type.
    fn values(&self, entry: &[u8]) -> Result<Vec<u64>> {
        let kind = self.number(entry.get(2..4).unwrap_or_default());
        let width = match kind {
            1 | 6 => 1,
            3 | 8 => 2,
            4 | 9 | 13 => 4,
            16..=18 => 8,
            _ => return Ok(Vec::new()),
        };
        let (count, inline) = if self.big {
            (entry.get(4..12), 12..20)
        } else {
            (entry.get(4..8), 8..12)
        };
        let count = self.number(count.unwrap_or_default());
        let inline = entry.get(inline).unwrap_or_default();
        if count > CHUNKS_MAX {
            return Err(Error::format(format!(
                "an entry of the TIFF claims {count} values"
            )));
        }
        let length = count * width;
        let bytes = if length <= inline.len() as u64 {
            inline[..length as usize].to_vec()
        } else {
            self.bytes(self.number(inline), length)?
        };
        Ok(bytes
            .chunks(width as usize)
            .map(|value| self.number(value))
            .collect())
    }
}

/// The compression code of a TIFF of `size` bytes; `None` for another file.
///
/// # Errors
/// As [`chunk_layout`].
pub(super) fn compression_of(
    read: &dyn Fn(u64, u64) -> Result<Vec<u8>>,
    size: u64,
) -> Result<Option<u64>> {
    let Some(directory) = TiffDirectory::first(read, size)? else {
        return Ok(None);
    };
    directory.first_value_or(259, 1).map(Some)
}

/// An IFD of a TIFF.
pub(super) struct TiffDirectory<'a> {
    pub source: TiffSource<'a>,
    /// Offset of the number that follows the entries.
    end: u64,
    entries: Vec<u8>,
    entry_width: usize,
}

impl<'a> TiffDirectory<'a> {
    /// `None` for a file that is no TIFF.
    fn first(read: &'a dyn Fn(u64, u64) -> Result<Vec<u8>>, size: u64) -> Result<Option<Self>> {
        match TiffSource::open(read, size)? {
            Some((source, offset)) => Self::read(source, offset).map(Some),
            None => Ok(None),
        }
    }

    /// The IFD at an offset.
    ///
    /// # Errors
    /// For one with too many entries or outside of the file; those of reads.
    pub fn read(source: TiffSource<'a>, offset: u64) -> Result<Self> {
        let (count_width, entry_width) = if source.big { (8, 20) } else { (2, 12) };
        let count = source.number(&source.bytes(offset, count_width)?);
        if count > ENTRIES_MAX {
            return Err(Error::format(format!(
                "the directory of the TIFF claims {count} entries"
            )));
        }
        let start = offset.saturating_add(count_width);
        let entries = source.bytes(start, count * entry_width)?;
        Ok(Self {
            source,
            end: start.saturating_add(count * entry_width),
            entries,
            entry_width: entry_width as usize,
        })
    }

    /// The offset of the IFD that follows; 0 for none.
    ///
    /// # Errors
    /// For a file that ends before; those of reads.
    pub fn next_offset(&self) -> Result<u64> {
        let width = if self.source.big { 8 } else { 4 };
        Ok(self.source.number(&self.source.bytes(self.end, width)?))
    }

    pub fn entries(&self) -> impl Iterator<Item = &[u8]> {
        self.entries.chunks(self.entry_width)
    }

    /// The `length` bytes of the value of an entry, in the byte order of the file.
    ///
    /// # Errors
    /// For a value outside of the file; those of reads.
    pub fn value_bytes(&self, entry: &[u8], length: u64) -> Result<Vec<u8>> {
        let inline = self.inline_bytes(entry);
        match inline.get(..usize::try_from(length).unwrap_or(usize::MAX)) {
            Some(value) => Ok(value.to_vec()),
            None => self.source.bytes(self.source.number(inline), length),
        }
    }

    /// True when the `length` bytes of the value of an entry are in the file.
    pub fn has_value(&self, entry: &[u8], length: u64) -> bool {
        let inline = self.inline_bytes(entry);
        let end = self.source.number(inline).checked_add(length);
        length <= inline.len() as u64 || end.is_some_and(|end| end <= self.source.size)
    }

    /// The bytes of an entry that hold its value, or the offset of that.
    fn inline_bytes<'e>(&self, entry: &'e [u8]) -> &'e [u8] {
        let width = if self.source.big { 8 } else { 4 };
        let start = entry.len().saturating_sub(width);
        entry.get(start..).unwrap_or_default()
    }

    /// The values of a tag.
    fn tag(&self, wanted: u64) -> Result<Option<Vec<u64>>> {
        let entry = self
            .entries
            .chunks(self.entry_width)
            .find(|entry| self.source.number(&entry[..2]) == wanted);
        entry.map(|entry| self.source.values(entry)).transpose()
    }

    /// The first value of a tag, or `usual`.
    fn first_value_or(&self, wanted: u64, usual: u64) -> Result<u64> {
        Ok(self
            .tag(wanted)?
            .and_then(|values| values.first().copied())
            .unwrap_or(usual))
    }
}

/// The chunks of a file of `size` bytes, read through `read(offset, length)`. `None` for a file
/// that is no TIFF, or whose bands have different numbers of bits.
///
/// # Errors
/// [`Kind::Format`](crate::error::Kind::Format) for a damaged TIFF, or the errors of `read`.
pub fn chunk_layout(
    read: &dyn Fn(u64, u64) -> Result<Vec<u8>>,
    size: u64,
) -> Result<Option<ChunkLayout>> {
    let Some(directory) = TiffDirectory::first(read, size)? else {
        return Ok(None);
    };
    let (tag, one) = (
        |wanted| directory.tag(wanted),
        |wanted, usual| directory.first_value_or(wanted, usual),
    );
    let (width, height, bands) = (one(256, 0)?, one(257, 0)?, one(277, 1)?);
    let bits = tag(258)?.unwrap_or_else(|| vec![1]);
    let compression = one(259, 1)?;
    let planar = one(284, 1)?;
    let tiled = tag(324)?.is_some();
    let (offsets, lengths) = if tiled {
        (tag(324)?, tag(325)?)
    } else {
        (tag(273)?, tag(279)?)
    };
    let chunk = if tiled {
        [one(322, 0)?, one(323, 0)?]
    } else {
        [width, one(278, u64::from(u32::MAX))?.min(height)]
    };
    let (Some(offsets), Some(lengths)) = (offsets, lengths) else {
        return Ok(None);
    };
    let plain = bits.iter().all(|one| Some(one) == bits.first());
    if !plain
        || [width, height, bands, chunk[0], chunk[1]]
            .iter()
            .any(|n| *n == 0 || *n > u64::from(u32::MAX))
        || bands > 65_535
    {
        return Ok(None);
    }
    let layout = ChunkLayout {
        little: directory.source.little,
        size: [width, height],
        bands,
        chunk,
        stripped: !tiled,
        chunk_bands: if planar == 2 { 1 } else { bands },
        bits: bits.first().copied().unwrap_or(1),
        sample_format: one(339, 1)?,
        compression,
        predictor: one(317, 1)?,
        places: offsets.into_iter().zip(lengths).collect(),
    };
    let [across, down] = layout.across();
    let wanted = across
        .checked_mul(down)
        .and_then(|plane| plane.checked_mul(bands.div_ceil(layout.chunk_bands)));
    if wanted != Some(layout.places.len() as u64) {
        return Err(Error::format(format!(
            "the TIFF lists {} chunks; its dimensions require {wanted:?}",
            layout.places.len()
        )));
    }
    if layout
        .places
        .iter()
        .any(|(offset, length)| offset.checked_add(*length).is_none_or(|end| end > size))
    {
        return Err(Error::format("a chunk of the TIFF is outside the file"));
    }
    Ok(Some(layout))
}

/// A TIFF with a single strip that contains one chunk, for decoding by GDAL. `chunk` is
/// `[columns, rows]`, `bands` the number of bands in it.
pub fn lone_chunk(layout: &ChunkLayout, bytes: &[u8]) -> Vec<u8> {
    let bands = layout.chunk_bands;
    // Classic TIFF: header, IFD, BitsPerSample and SampleFormat arrays, data.
    const ENTRIES: u64 = 12;
    let lists = 8 + 2 + ENTRIES * 12 + 4;
    let data = lists + bands * 4;
    let mut out = TiffBytes {
        bytes: Vec::with_capacity(data as usize + bytes.len()),
        little: layout.little,
    };
    out.bytes
        .extend_from_slice(if layout.little { b"II*\0" } else { b"MM\0*" });
    out.add_number(8, 4);
    out.add_number(ENTRIES, 2);
    out.add_entry(256, 4, 1, layout.chunk[0]);
    out.add_entry(257, 4, 1, layout.chunk[1]);
    out.add_entry(258, 3, bands, pack_list(layout.bits, bands, lists));
    out.add_entry(259, 3, 1, layout.compression);
    out.add_entry(262, 3, 1, 1);
    out.add_entry(273, 4, 1, data);
    out.add_entry(277, 3, 1, bands);
    out.add_entry(278, 4, 1, layout.chunk[1]);
    out.add_entry(279, 4, 1, bytes.len() as u64);
    out.add_entry(284, 3, 1, 1);
    out.add_entry(317, 3, 1, layout.predictor);
    out.add_entry(
        339,
        3,
        bands,
        pack_list(layout.sample_format, bands, lists + bands * 2),
    );
    out.bytes.extend([0; 4]);
    for value in [layout.bits, layout.sample_format] {
        for _ in 0..bands {
            out.add_number(value, 2);
        }
    }
    out.bytes.extend_from_slice(bytes);
    out.bytes
}

/// The value of an entry with one value for each band: the place of the list where the values do
/// not fit into the entry itself, as two of 16 bits do.
fn pack_list(value: u64, bands: u64, place: u64) -> u64 {
    match bands {
        1 => value,
        2 => value | (value << 16),
        _ => place,
    }
}

/// A TIFF that is written.
struct TiffBytes {
    bytes: Vec<u8>,
    little: bool,
}

impl TiffBytes {
    fn add_number(&mut self, value: u64, width: usize) {
        let bytes = &value.to_le_bytes()[..width];
        if self.little {
            self.bytes.extend(bytes);
        } else {
            self.bytes.extend(bytes.iter().rev());
        }
    }

    fn add_entry(&mut self, tag: u64, kind: u64, count: u64, value: u64) {
        self.add_number(tag, 2);
        self.add_number(kind, 2);
        self.add_number(count, 4);
        if kind == 3 && count == 1 {
            self.add_number(value, 2);
            self.bytes.extend([0, 0]);
        } else {
            self.add_number(value, 4);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn layout_of(bytes: &[u8]) -> Result<Option<ChunkLayout>> {
        let read = |at: u64, length: u64| Ok(bytes[at as usize..(at + length) as usize].to_vec());
        chunk_layout(&read, bytes.len() as u64)
    }

    fn sample(little: bool, bands: u64) -> (ChunkLayout, Vec<u8>) {
        let data: Vec<u8> = (0..24 * bands as u8).collect();
        let layout = ChunkLayout {
            little,
            size: [4, 3],
            bands,
            chunk: [4, 3],
            stripped: true,
            chunk_bands: bands,
            bits: 16,
            sample_format: 1,
            compression: 1,
            predictor: 1,
            places: Vec::new(),
        };
        let bytes = lone_chunk(&layout, &data);
        (layout, bytes)
    }

    #[test]
    fn generated_tiffs_read_back() {
        for (little, bands) in [
            (true, 1),
            (false, 1),
            (true, 2),
            (false, 2),
            (true, 3),
            (false, 5),
        ] {
            let (layout, bytes) = sample(little, bands);
            let found = layout_of(&bytes).expect("is sound").expect("has chunks");
            let place = (bytes.len() as u64 - 24 * bands, 24 * bands);
            assert_eq!(
                found,
                ChunkLayout {
                    places: vec![place],
                    ..layout
                },
                "{little} {bands}"
            );
            assert_eq!(
                (found.dtype().as_deref(), found.place(0)),
                (Some("<u2"), Some(([0, 0, 0], [bands, 3, 4])))
            );
            assert_eq!(found.place(1), None);
        }
    }

    #[test]
    fn damage_gives_a_reason_and_never_a_panic() {
        let (_, good) = sample(true, 3);
        for cut in 0..good.len() {
            let _ = layout_of(&good[..cut]);
        }
        for at in 0..good.len() {
            for change in [0x01, 0x80, 0xFF] {
                let mut bytes = good.clone();
                bytes[at] ^= change;
                let _ = layout_of(&bytes);
            }
        }
        assert!(matches!(
            layout_of(b"no tiff at all, but long enough"),
            Ok(None)
        ));
    }

    #[test]
    fn chunks_at_the_edge_hold_less() {
        let (layout, _) = sample(true, 1);
        let layout = ChunkLayout {
            size: [40, 20],
            chunk: [16, 16],
            bands: 2,
            chunk_bands: 1,
            ..layout
        };
        assert_eq!(layout.place(5), Some(([0, 16, 32], [1, 4, 8])));
        assert_eq!(layout.place(6), Some(([1, 0, 0], [1, 16, 16])));
        assert_eq!(layout.place(12), None);
    }
}
