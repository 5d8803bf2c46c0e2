//! Chunks of streamable datasets, decoded to arrays: one range of bytes each.

use std::io::Write;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::{Event, Finish, Outcome, Studio};
use crate::container::{self, Chunk, ContainerReader, Physical, lone_chunk, read_asset, write_document};
use crate::error::{Error, IoContext, Result};
use crate::jobs::JobContext;
use crate::model::{AssetPath, SamplePath};
use crate::raster::{self, BandIndex, ReadRequest, Resampling, Samples};

/// Which chunk of which sample. Plain data.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ChunkRequest {
    /// The dataset.
    pub input: PathBuf,
    /// Ids from the root, and the number of the chunk: `img1/lrf::2`.
    pub chunk: String,
}

/// The values of a chunk.
#[derive(Clone, Debug, PartialEq)]
pub struct ChunkArray {
    /// Bands, rows and columns.
    pub shape: [usize; 3],
    /// First band, row and column in the raster.
    pub start: [u64; 3],
    /// The type as NumPy writes it, lowest byte first: `<u2`.
    pub dtype: String,
    /// The values, band by band, row by row, lowest byte first.
    pub bytes: Vec<u8>,
    /// Where the stored chunk lies.
    pub place: AssetPath,
}

impl ChunkArray {
    /// The array as NumPy's own file format, version 1.0.
    pub fn npy(&self) -> Vec<u8> {
        let [bands, rows, columns] = self.shape;
        let mut header = format!("{{'descr': '{}', 'fortran_order': False, 'shape': ({bands}, {rows}, {columns}), }}", self.dtype);
        // Magic, version and length are ten bytes; the whole is a multiple of 64 and ends in a line break.
        let padding = 64 - (10 + header.len() + 1) % 64;
        header.extend(std::iter::repeat_n(' ', padding % 64));
        header.push('\n');
        let mut out = b"\x93NUMPY\x01\x00".to_vec();
        out.extend((header.len() as u16).to_le_bytes());
        out.extend(header.as_bytes());
        out.extend(&self.bytes);
        out
    }
}

impl Studio {
    pub(super) fn read_chunk(&mut self, request: ChunkRequest) -> Result<Outcome> {
        Ok(self.start(&format!("Read {}", request.chunk), move |ctx| {
            let reader = container::open(&request.input, ctx)?;
            let array = read_chunk(reader.as_ref(), &request.chunk, ctx)?;
            Ok(Box::new(move |_: &mut Studio| Ok(Event::ChunkRead(Box::new(array)))) as Finish)
        }))
    }
}

/// The ids and the number in `img1/lrf::2`; `None` for text without a number.
pub fn split_chunk(text: &str) -> Option<(&str, u64)> {
    let (sample, number) = text.rsplit_once("::")?;
    Some((sample, number.trim().parse().ok()?))
}

/// Reads and decodes one chunk.
pub fn read_chunk(reader: &dyn ContainerReader, chunk: &str, ctx: &JobContext) -> Result<ChunkArray> {
    let (sample, number) =
        split_chunk(chunk).ok_or_else(|| Error::usage(format!("{chunk} names no chunk")).hint("write it as img1/lrf::2"))?;
    let Physical::Tortilla(tortilla) = reader.physical() else {
        return Err(Error::usage("only streamable datasets of TACO 0.2 have chunks").at_path(&reader.info().path));
    };
    let path = SamplePath::parse(sample);
    let tree = reader.levels().skeleton(ctx)?;
    let (level, row) = tree.find(&path).ok_or_else(|| Error::usage("there is no such sample").at(path.to_string()))?;
    let (chunk, place) = tortilla.chunk(level, row, number)?;
    decode(&chunk, place, ctx)
}

fn decode(chunk: &Chunk, place: AssetPath, ctx: &JobContext) -> Result<ChunkArray> {
    let layout = &chunk.layout;
    let shape = chunk.count.map(|n| n as usize);
    let dtype = layout.dtype().ok_or_else(|| Error::unsupported("values of this size are not decoded"))?;
    let [bands, rows, columns] = shape;
    let width = (layout.bits / 8) as usize;
    let stored = read_asset(&place)?;
    if stored.is_empty() {
        // A chunk that is not stored is all zeros, as GDAL reads it.
        let bytes = vec![0; bands * rows * columns * width];
        return Ok(ChunkArray { shape, start: chunk.start, dtype, bytes, place });
    }
    if layout.bits == 64 && layout.sample_format != 3 {
        return Err(Error::unsupported("whole numbers of 64 bits are not decoded chunk by chunk"));
    }
    // A file of its own for the decoder, gone when it is done.
    let mut file = tempfile::Builder::new()
        .prefix("taco-studio-chunk-")
        .suffix(".tif")
        .tempfile()
        .map_err(|error| Error::io("make a temporary file", Path::new("."), error))?;
    let path = file.path().to_owned();
    file.write_all(&lone_chunk(layout, &stored)).io_at("write the chunk", &path)?;
    let wanted: Option<Vec<BandIndex>> = (1..=bands).map(|band| BandIndex::new(band as u32)).collect();
    let request = ReadRequest {
        window: raster::Window { x: 0, y: 0, width: columns, height: rows },
        out: (columns, rows),
        bands: wanted.unwrap_or_default(),
        resampling: Resampling::default(),
    };
    let pixels = raster::read_window(&AssetPath::file(path), &request, ctx)?;
    raster::close_idle();
    let mut bytes = Vec::with_capacity(bands * rows * columns * width);
    for band in &pixels.bands {
        put_values(&band.samples, width, &mut bytes);
    }
    if bytes.len() != bands * rows * columns * width {
        return Err(Error::format("the chunk decodes to another number of values than it should").at(place.to_vsi()));
    }
    Ok(ChunkArray { shape, start: chunk.start, dtype, bytes, place })
}

/// Values in their stored width, lowest byte first. Narrow ones were widened on reading.
fn put_values(samples: &Samples, width: usize, out: &mut Vec<u8>) {
    macro_rules! each {
        ($values:expr) => {
            $values.iter().for_each(|value| out.extend_from_slice(&value.to_le_bytes()[..width.min(size_of_val(value))]))
        };
    }
    match samples {
        Samples::U8(values) => each!(values),
        Samples::U16(values) => each!(values),
        Samples::I16(values) => each!(values),
        Samples::U32(values) => each!(values),
        Samples::I32(values) => each!(values),
        Samples::F32(values) => each!(values),
        Samples::F64(values) => each!(values),
    }
}

/// Writes a chunk as `.npy`, or as its bare values under any other name.
pub fn save_chunk(array: &ChunkArray, target: &Path) -> Result<()> {
    let npy = target.extension().is_some_and(|ending| ending.eq_ignore_ascii_case("npy"));
    let bytes = if npy { array.npy() } else { array.bytes.clone() };
    write_document(target, &bytes, true)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numpy_files_are_aligned() {
        let array =
            ChunkArray { shape: [1, 2, 3], start: [0; 3], dtype: "<u2".into(), bytes: vec![0; 12], place: AssetPath::file("/x") };
        let npy = array.npy();
        assert_eq!((npy.len() - 12) % 64, 0);
        assert!(npy.starts_with(b"\x93NUMPY\x01\x00") && npy[npy.len() - 13] == b'\n');
        assert_eq!(split_chunk("img1/lrf::2"), Some(("img1/lrf", 2)));
        assert_eq!(split_chunk("img1/lrf"), None);
    }
}
