//! Chunks of streamable datasets, decoded to arrays: one range of bytes each.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::arrow_tensor::tensor_message;
use crate::container::{
    self, ContainerReader, Physical, SampleChunk, asset_size, is_same_file, read_asset,
    write_document,
};
use crate::error::{Error, IoContext, Result};
use crate::jobs::JobContext;
use crate::model::{AssetPath, SamplePath, Value};
use crate::raster::{self, PixelNumber, RasterSource};
use crate::table::LevelTable;
use crate::work_files::WorkFile;

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
    /// Byte range of the stored chunk.
    pub place: AssetPath,
}

/// The value of a little-endian pixel; `kind` is the letter of its NumPy type: f, i or u.
fn decode_pixel(bytes: &[u8], kind: u8) -> PixelNumber {
    let width = bytes.len();
    let mut wide = [0; 8];
    wide[..width].copy_from_slice(bytes);
    let raw = u64::from_le_bytes(wide);
    let unused = 64 - 8 * width as u32;
    match (kind, width) {
        (b'f', 4) => PixelNumber::Real(f64::from(f32::from_bits(raw as u32))),
        (b'f', _) => PixelNumber::Real(f64::from_bits(raw)),
        (b'i', _) => PixelNumber::Integer(i128::from((raw << unused) as i64 >> unused)),
        _ => PixelNumber::Integer(raw.into()),
    }
}

impl ChunkArray {
    /// The values of one band in full, row by row; empty for a band or a type that is not there.
    pub fn band(&self, band: usize) -> Vec<PixelNumber> {
        let width = match self
            .dtype
            .get(2..)
            .and_then(|digits| digits.parse::<usize>().ok())
        {
            Some(width) if matches!(width, 1 | 2 | 4 | 8) => width,
            _ => return Vec::new(),
        };
        let [_, rows, columns] = self.shape;
        let size = rows * columns * width;
        let bytes = self
            .bytes
            .get(band * size..(band + 1) * size)
            .unwrap_or_default();
        let kind = self.dtype.as_bytes().get(1).copied().unwrap_or_default();
        bytes
            .chunks_exact(width)
            .map(|bytes| decode_pixel(bytes, kind))
            .collect()
    }

    /// The array as NumPy's own file format, version 1.0.
    pub fn npy(&self) -> Vec<u8> {
        let [bands, rows, columns] = self.shape;
        let mut header = format!(
            "{{'descr': '{}', 'fortran_order': False, 'shape': ({bands}, {rows}, {columns}), }}",
            self.dtype
        );
        // Magic, version and length are ten bytes; the whole is a multiple of 64 and ends in a line
        // break.
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

/// One chunk of a sample, as the dataset's footer has it: nothing of the sample is read for it.
#[derive(Clone, Debug, PartialEq)]
pub struct ChunkPlace {
    /// Its number, from 0.
    pub index: u64,
    /// First band, row and column in the raster.
    pub start: [u64; 3],
    /// Bands, rows and columns inside the raster.
    pub count: [u64; 3],
    /// First byte in the file.
    pub offset: u64,
    /// Stored bytes.
    pub size: u64,
    /// The type as NumPy writes it, where it is known.
    pub dtype: Option<String>,
}

/// True for datasets whose samples can be read chunk by chunk.
pub fn is_streamable(reader: &dyn ContainerReader) -> bool {
    matches!(reader.physical(), Physical::Tortilla(tortilla) if tortilla.chunks().is_some())
}

/// The chunks of the sample in `row` of `level`, in order; none where the dataset is not streamable
/// or the sample has none.
///
/// # Errors
/// When the footer or the tables can't be read.
pub fn chunks_of(
    reader: &dyn ContainerReader,
    level: usize,
    row: u32,
    ctx: &JobContext,
) -> Result<Vec<ChunkPlace>> {
    let Physical::Tortilla(tortilla) = reader.physical() else {
        return Ok(Vec::new());
    };
    let Some(table) = tortilla.chunks() else {
        return Ok(Vec::new());
    };
    let require_column = |name| table.require_integers(name, "the table of chunks");
    let (levels, rows, indices) = (
        require_column("chunk:level")?,
        require_column("tortilla:root")?,
        require_column("chunk:index")?,
    );
    let (offsets, lengths) = (
        require_column("tortilla:offset")?,
        require_column("tortilla:length")?,
    );
    let (starts, counts, dtypes) = (
        table.column_index("chunk:start"),
        table.column_index("chunk:shape"),
        table.column_index("chunk:dtype"),
    );
    let mut found = Vec::new();
    for at in 0..table.rows() {
        if at % 65_536 == 0 {
            ctx.check()?;
        }
        if levels.value(at) != level as i64 || rows.value(at) != i64::from(row) {
            continue;
        }
        let whole = |value: i64| u64::try_from(value).ok();
        let place = (|| {
            Some(ChunkPlace {
                index: whole(indices.value(at))?,
                start: read_triple(table, at, starts)?,
                count: read_triple(table, at, counts)?,
                offset: whole(offsets.value(at))?,
                size: whole(lengths.value(at))?,
                dtype: match table.value(at, dtypes?) {
                    Value::Text(dtype) => Some(dtype.to_string()),
                    _ => None,
                },
            })
        })();
        found.push(place.ok_or_else(|| {
            Error::format(format!(
                "row {at} of the chunks does not say where the chunk is"
            ))
        })?);
    }
    found.sort_by_key(|chunk| chunk.index);
    Ok(found)
}

/// The three numbers of a list in a row; `None` for any other value.
fn read_triple(table: &LevelTable, row: usize, column: Option<usize>) -> Option<[u64; 3]> {
    let Value::List(items) = table.value(row, column?) else {
        return None;
    };
    let numbers: Option<Vec<u64>> = items
        .iter()
        .map(|item| {
            if let Value::Int(number) = item {
                u64::try_from(*number).ok()
            } else {
                None
            }
        })
        .collect();
    numbers?.try_into().ok()
}

/// The ids and the number in `img1/lrf::2`; `None` for text without a number.
pub fn split_chunk(text: &str) -> Option<(&str, u64)> {
    let (sample, number) = text.rsplit_once("::")?;
    Some((sample, number.trim().parse().ok()?))
}

/// Reads and decodes the requested chunk. `opened` is used where it is the dataset that the request
/// names: over a network, opening it again takes more requests than the chunk itself.
///
/// # Errors
/// Those of opening the dataset and of [`read_chunk`].
pub fn read_requested_chunk(
    opened: Option<Arc<dyn ContainerReader>>,
    request: &ChunkRequest,
    ctx: &JobContext,
) -> Result<ChunkArray> {
    let reader = match opened.filter(|reader| reader.info().path == request.input) {
        Some(reader) => reader,
        None => container::open(&request.input, ctx)?,
    };
    read_chunk(reader.as_ref(), &request.chunk, ctx)
}

/// Reads and decodes one chunk, named by ids from the root and its number: `img1/lrf::2`.
///
/// # Errors
/// For a dataset that is not streamable, an unknown sample or chunk, and bytes that can't be
/// decoded.
pub fn read_chunk(
    reader: &dyn ContainerReader,
    chunk: &str,
    ctx: &JobContext,
) -> Result<ChunkArray> {
    let (sample, number) = split_chunk(chunk).ok_or_else(|| {
        Error::usage(format!("{chunk} names no chunk")).hint("write it as img1/lrf::2")
    })?;
    let Physical::Tortilla(tortilla) = reader.physical() else {
        return Err(
            Error::usage("only streamable datasets of TACO 0.2 have chunks")
                .at_path(&reader.info().path),
        );
    };
    let path = SamplePath::parse(sample);
    let tree = reader.levels().skeleton(ctx)?;
    let (level, row) = tree
        .find(&path)
        .ok_or_else(|| Error::usage("there is no such sample").at_place(path.to_string()))?;
    let (chunk, place) = tortilla.chunk(level, row, number)?;
    decode(&chunk, place, ctx)
}

/// Bytes of one chunk, stored or decoded.
const CHUNK_MAX: usize = 256 << 20;

fn decode(chunk: &SampleChunk, place: AssetPath, ctx: &JobContext) -> Result<ChunkArray> {
    let layout = &chunk.layout;
    let shape = chunk.count.map(|n| n as usize);
    let dtype = layout
        .dtype()
        .ok_or_else(|| Error::unsupported("values of this size are not decoded"))?;
    let [bands, rows, columns] = shape;
    let width = (layout.bits / 8) as usize;
    let size = [bands, rows, columns, width]
        .into_iter()
        .try_fold(1usize, usize::checked_mul);
    let size = size.filter(|size| {
        *size <= CHUNK_MAX && asset_size(&place).is_ok_and(|stored| stored <= CHUNK_MAX as u64)
    });
    let size = size.ok_or_else(|| {
        let claimed = format!(
            "the chunk claims {bands} bands of {columns} × {rows} values, or as many bytes"
        );
        Error::too_large(format!("{claimed}; {} MB are the most", CHUNK_MAX >> 20))
    })?;
    let stored = read_asset(&place)?;
    if stored.is_empty() {
        // A chunk that is not stored is all zeros, as GDAL reads it.
        let bytes = vec![0; size];
        return Ok(ChunkArray {
            shape,
            start: chunk.start,
            dtype,
            bytes,
            place,
        });
    }
    // A file of its own for the decoder, gone when it is done.
    let file = WorkFile::create(".tif", |file| {
        file.write_all(&raster::lone_chunk(layout, &stored))
            .io_at("write into the temporary folder", std::env::temp_dir())
    })?;
    let path = file.path().to_owned();
    ctx.check()?;
    let bytes = raster::stored_values(&RasterSource::member(AssetPath::file(path)), shape, width)?;
    raster::close_idle();
    Ok(ChunkArray {
        shape,
        start: chunk.start,
        dtype,
        bytes,
        place,
    })
}

/// Writes a chunk as `.npy`, as an Arrow tensor (`.arrow`), or as its bare values under any other
/// name.
///
/// # Errors
/// When the file exists without `overwrite`, or can't be written.
pub fn save_chunk(array: &ChunkArray, target: &Path, overwrite: bool) -> Result<()> {
    if let Some(source) = array.place.local_file()
        && is_same_file(source, target)
    {
        return Err(
            Error::usage("the output is the file that the chunk is read from").at_path(target),
        );
    }
    let ending = target
        .extension()
        .map(|ending| ending.to_string_lossy().to_ascii_lowercase());
    let bytes = match ending.as_deref() {
        Some("npy") => array.npy(),
        Some("arrow") => {
            tensor_message(array.shape, &array.dtype, &array.bytes).ok_or_else(|| {
                Error::unsupported(format!("Arrow has no tensors of {}", array.dtype))
                    .hint("save it as .npy")
            })?
        }
        _ => array.bytes.clone(),
    };
    write_document(target, &bytes, overwrite)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::container::{DatasetVersion, OnDamage, TortillaOptions};
    use crate::model::{Dataset, Sample, Tortilla};
    use crate::ops::write_first_generation;
    use crate::raster::{
        BandIndex, ChunkLayout, NewRaster, ReadRequest, Resampling, Samples, TogOptions, Window,
    };

    /// Values in their stored width, lowest byte first. Narrow ones were widened on reading.
    fn put_values(samples: &Samples, width: usize, out: &mut Vec<u8>) {
        macro_rules! each {
            ($values:expr) => {
                $values.iter().for_each(|value| {
                    out.extend_from_slice(&value.to_le_bytes()[..width.min(size_of_val(value))])
                })
            };
        }
        match samples {
            Samples::U8(values) => each!(values),
            Samples::U16(values) => each!(values),
            Samples::I16(values) => each!(values),
            Samples::U32(values) => each!(values),
            Samples::I32(values) => each!(values),
            Samples::U64(values) => each!(values),
            Samples::I64(values) => each!(values),
            Samples::F32(values) => each!(values),
            Samples::F64(values) => each!(values),
        }
    }

    /// Writes a streamable TORTILLA.
    fn write_streamable(dataset: &Dataset, target: &Path, ctx: &JobContext) {
        let options = TortillaOptions {
            text_form: false,
            target: target.to_owned(),
            collection: None,
            part_bytes: None,
            stream: true,
            allow_non_tog: true,
            overwrite: false,
            on_damage: OnDamage::Stop,
        };
        write_first_generation(dataset, &DatasetVersion::default(), &options, ctx).expect("writes");
    }

    /// Every type with its own predictor, in tiles of one band.
    #[test]
    fn chunks_of_optimized_rasters_have_the_values_of_their_tile() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let ctx = JobContext::default();
        let at = |i: u32| i.wrapping_mul(2_654_435_761);
        let numbers = || (0..40 * 40u32).map(at);
        let kinds = [
            Samples::U8(numbers().map(|n| (n >> 24) as u8).collect()),
            Samples::U16(numbers().map(|n| (n >> 16) as u16).collect()),
            Samples::I16(numbers().map(|n| (n >> 16) as i16).collect()),
            Samples::I32(numbers().map(|n| n as i32).collect()),
            Samples::F32(numbers().map(|n| n as f32 / 7.0).collect()),
            Samples::F64(numbers().map(|n| f64::from(n) / 7.0).collect()),
        ];
        for (number, kind) in kinds.into_iter().enumerate() {
            let (source, tog) = (
                folder.path().join(format!("{number}.tif")),
                folder.path().join(format!("tog{number}.tif")),
            );
            let raster = NewRaster {
                width: 40,
                height: 40,
                bands: vec![kind.clone(), kind],
                ..NewRaster::default()
            };
            raster::write_geotiff(&source, &raster).expect("writes");
            let options = TogOptions {
                block_size: 16,
                ..TogOptions::default()
            };
            raster::write_tog(
                &RasterSource::from_user_path(AssetPath::file(source)),
                &tog,
                &options,
                &ctx,
            )
            .expect("writes");
            let size = std::fs::metadata(&tog).expect("is there").len();
            let dataset = Dataset {
                root: Tortilla::new(vec![Sample::new_file("a", &tog, size)]).into(),
                ..Dataset::default()
            };
            let target = folder.path().join(format!("{number}.tortilla"));
            write_streamable(&dataset, &target, &ctx);
            let reader = container::open(&target, &ctx).expect("opens");
            // Three by three tiles of each of two bands.
            for index in 0..18 {
                let chunk =
                    read_chunk(reader.as_ref(), &format!("a::{index}"), &ctx).expect("decodes");
                let [band, row, column] = chunk.start.map(|n| n as usize);
                let [bands, rows, columns] = chunk.shape;
                let request = ReadRequest {
                    window: Window {
                        x: column,
                        y: row,
                        width: columns,
                        height: rows,
                    },
                    out: (columns, rows),
                    bands: vec![BandIndex::from_position(band)],
                    resampling: Resampling::Nearest,
                };
                let wanted = raster::read_window(
                    &RasterSource::from_user_path(AssetPath::file(&*tog)),
                    &request,
                    &ctx,
                )
                .expect("reads");
                let mut bytes = Vec::new();
                let width = chunk.bytes.len() / (bands * rows * columns);
                put_values(&wanted.bands[0].samples, width, &mut bytes);
                assert!(
                    bands == 1 && chunk.bytes == bytes,
                    "type {number}, chunk {index}: {:?} {:?}",
                    chunk.start,
                    chunk.shape
                );
            }
        }
        raster::close_idle();
    }

    /// Strips whose last is shorter, and tiles as wide as the raster, whose last is not.
    #[test]
    fn the_last_chunk_of_a_raster_reads() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let ctx = JobContext::default();
        let values = |seed: u32| {
            Samples::U16(
                (0..64 * 45u32)
                    .map(|i| (i.wrapping_mul(2_654_435_761) >> 18) as u16 + seed as u16)
                    .collect(),
            )
        };
        let tiles = [("TILED", "YES"), ("BLOCKXSIZE", "64"), ("BLOCKYSIZE", "16")];
        let strips = [("BLOCKYSIZE", "7")];
        let mut number = 0;
        for form in [&tiles[..], &strips[..]] {
            for compression in ["NONE", "LZW", "DEFLATE", "PACKBITS", "ZSTD"] {
                for interleave in ["PIXEL", "BAND"] {
                    number += 1;
                    let source = folder.path().join(format!("{number}.tif"));
                    let mut options = form.to_vec();
                    options.extend([("COMPRESS", compression), ("INTERLEAVE", interleave)]);
                    if !matches!(compression, "NONE" | "PACKBITS") {
                        options.push(("PREDICTOR", "2"));
                    }
                    let raster = NewRaster {
                        width: 64,
                        height: 45,
                        bands: vec![values(0), values(9)],
                        options,
                        ..NewRaster::default()
                    };
                    raster::write_geotiff(&source, &raster).expect("writes");
                    let size = std::fs::metadata(&source).expect("is there").len();
                    let dataset = Dataset {
                        root: Tortilla::new(vec![Sample::new_file("a", &source, size)]).into(),
                        ..Dataset::default()
                    };
                    let target = folder.path().join(format!("{number}.tortilla"));
                    write_streamable(&dataset, &target, &ctx);
                    let reader = container::open(&target, &ctx).expect("opens");
                    let chunks = chunks_of(reader.as_ref(), 0, 0, &ctx).expect("are there");
                    assert!(chunks.len() >= 3, "{compression}");
                    for place in chunks {
                        let chunk =
                            read_chunk(reader.as_ref(), &format!("a::{}", place.index), &ctx)
                                .expect("decodes");
                        let [band, row, column] = chunk.start.map(|n| n as usize);
                        let [bands, rows, columns] = chunk.shape;
                        let request = ReadRequest {
                            window: Window {
                                x: column,
                                y: row,
                                width: columns,
                                height: rows,
                            },
                            out: (columns, rows),
                            bands: (band..band + bands).map(BandIndex::from_position).collect(),
                            resampling: Resampling::Nearest,
                        };
                        let wanted = raster::read_window(
                            &RasterSource::from_user_path(AssetPath::file(&*source)),
                            &request,
                            &ctx,
                        )
                        .expect("reads");
                        let mut bytes = Vec::new();
                        wanted
                            .bands
                            .iter()
                            .for_each(|band| put_values(&band.samples, 2, &mut bytes));
                        assert!(
                            chunk.bytes == bytes,
                            "{form:?} {compression} {interleave}: chunk {}",
                            place.index
                        );
                    }
                }
            }
        }
        raster::close_idle();
    }

    /// Values that a floating-point number of 64 bits can't hold.
    #[test]
    fn integers_of_64_bits_keep_every_digit() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let ctx = JobContext::default();
        for (sample_format, dtype, little) in
            [(1, "<u8", true), (2, "<i8", true), (2, "<i8", false)]
        {
            let numbers: Vec<i64> = (0..24).map(|n| i64::MAX - 2 * n - 1).collect();
            let layout = ChunkLayout {
                little,
                size: [4, 3],
                bands: 2,
                chunk: [4, 3],
                stripped: true,
                chunk_bands: 2,
                bits: 64,
                sample_format,
                compression: 1,
                predictor: 1,
                places: Vec::new(),
            };
            let stored: Vec<u8> = numbers
                .iter()
                .flat_map(|n| {
                    if little {
                        n.to_le_bytes()
                    } else {
                        n.to_be_bytes()
                    }
                })
                .collect();
            let source = folder.path().join("a.tif");
            std::fs::write(&source, raster::lone_chunk(&layout, &stored)).expect("writes");
            let size = std::fs::metadata(&source).expect("is there").len();
            let dataset = Dataset {
                root: Tortilla::new(vec![Sample::new_file("a", &source, size)]).into(),
                ..Dataset::default()
            };
            let target = folder
                .path()
                .join(format!("{sample_format}{little}.tortilla"));
            write_streamable(&dataset, &target, &ctx);
            let reader = container::open(&target, &ctx).expect("opens");
            let chunk = read_chunk(reader.as_ref(), "a::0", &ctx).expect("decodes");
            // Pixels are interleaved in the file, and band by band in the array.
            let wanted: Vec<u8> = (0..2)
                .flat_map(|band| numbers.iter().skip(band).step_by(2))
                .flat_map(|n| n.to_le_bytes())
                .collect();
            assert_eq!(
                (chunk.dtype.as_str(), chunk.shape, chunk.bytes),
                (dtype, [2, 3, 4], wanted),
                "{little}"
            );
        }
        raster::close_idle();
    }

    #[test]
    fn bands_are_numbers_of_every_type() {
        let array = |dtype: &str, bytes: Vec<u8>| ChunkArray {
            shape: [2, 1, 1],
            start: [0; 3],
            dtype: dtype.into(),
            bytes,
            place: AssetPath::file("/x"),
        };
        assert_eq!(
            array("<i2", vec![0xff, 0xff, 2, 0]).band(0),
            [PixelNumber::Integer(-1)]
        );
        assert_eq!(
            array("<u2", vec![0xff, 0xff, 2, 0]).band(1),
            [PixelNumber::Integer(2)]
        );
        assert_eq!(
            array("|u1", vec![7, 200]).band(1),
            [PixelNumber::Integer(200)]
        );
        let long = 9_007_199_254_740_993u64;
        assert_eq!(
            array("<u8", [long.to_le_bytes(), u64::MAX.to_le_bytes()].concat()).band(0),
            [PixelNumber::Integer(long.into())]
        );
        assert_eq!(
            array("<f4", [1.5f32.to_le_bytes(), 2.0f32.to_le_bytes()].concat()).band(0),
            [PixelNumber::Real(1.5)]
        );
        assert!(array("<u2", vec![1, 2, 3, 4]).band(2).is_empty());
        assert!(array("?", vec![1]).band(0).is_empty());
    }

    #[test]
    fn numpy_files_are_aligned() {
        let array = ChunkArray {
            shape: [1, 2, 3],
            start: [0; 3],
            dtype: "<u2".into(),
            bytes: vec![0; 12],
            place: AssetPath::file("/x"),
        };
        let npy = array.npy();
        assert_eq!((npy.len() - 12) % 64, 0);
        assert!(npy.starts_with(b"\x93NUMPY\x01\x00") && npy[npy.len() - 13] == b'\n');
        assert_eq!(split_chunk("img1/lrf::2"), Some(("img1/lrf", 2)));
        assert_eq!(split_chunk("img1/lrf"), None);
    }
}
