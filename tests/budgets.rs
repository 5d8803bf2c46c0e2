//! Small files that claim, or expand to, far more than their size: each ends with an error that
//! states the reason, in little memory. The program runs as a child process with limited memory, so
//! that a failing test does not exhaust the machine.

use std::fs::{self, File};
use std::io::{Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::time::{Duration, Instant};

use arrow::array::{
    Array, ArrayRef, BinaryArray, DictionaryArray, Int32Array, Int64Array, ListArray, RecordBatch,
    StringArray,
};
use arrow::array::{RecordBatchOptions, new_null_array};
use arrow::buffer::OffsetBuffer;
use arrow::datatypes::{DataType, Field, Int32Type, Schema};
use parquet::arrow::ArrowWriter;
use parquet::basic::{Compression, Encoding, GzipLevel, ZstdLevel};
use parquet::file::properties::{WriterProperties, WriterPropertiesBuilder};

use crate::support::{Workspace, nightly_or};

/// Maximum resident memory of the process, in bytes.
const MEMORY_MAX: u64 = 500 << 20;
/// Maximum address space of the process, so that a bug ends only the child.
const ADDRESSES_MAX_KB: u64 = 8 << 20;
/// A program that runs longer is considered hanging; debug builds are slow.
const PATIENCE: Duration = Duration::from_secs(100);

struct Watched {
    code: Option<i32>,
    out: PathBuf,
    err: String,
    /// Peak resident memory in bytes.
    peak: u64,
    elapsed: Duration,
    shown: String,
}

impl Watched {
    #[track_caller]
    fn expect(self, code: i32) -> Self {
        let Self {
            code: found,
            err,
            peak,
            elapsed,
            shown,
            ..
        } = &self;
        println!(
            "{shown}: {} MB, {elapsed:?}: {}",
            peak >> 20,
            err.lines().next().unwrap_or_default()
        );
        assert_eq!(
            *found,
            Some(code),
            "{shown} after {elapsed:?}, {} MB\n{err}",
            peak >> 20
        );
        assert!(*peak < MEMORY_MAX, "{shown} took {} MB\n{err}", peak >> 20);
        assert!(!err.contains("panicked at"), "{shown}\n{err}");
        self
    }

    #[track_caller]
    fn says(self, text: &str) -> Self {
        assert!(
            self.err.contains(text),
            "{} does not say {text}:\n{}",
            self.shown,
            self.err
        );
        self
    }
}

/// Runs the program and measures its memory.
fn watched(workspace: &Workspace, arguments: &[&str]) -> Watched {
    let (out, err) = (workspace.path("stdout"), workspace.path("stderr"));
    let mut command = Command::new("sh");
    command
        .args([
            "-c",
            &format!("ulimit -v {ADDRESSES_MAX_KB}; exec \"$0\" \"$@\""),
            env!("CARGO_BIN_EXE_taco-studio"),
        ])
        .args(arguments);
    workspace
        .house(&mut command)
        .stdin(Stdio::null())
        .stdout(File::create(&out).expect("stdout"))
        .stderr(File::create(&err).expect("stderr"));
    let started = Instant::now();
    let mut child = command.spawn().expect("the program starts");
    let status = format!("/proc/{}/status", child.id());
    let mut peak = 0;
    let code = loop {
        let text = fs::read_to_string(&status).unwrap_or_default();
        let line = text.lines().find_map(|line| line.strip_prefix("VmHWM:"));
        let kilobytes = line.and_then(|line| line.split_whitespace().next()?.parse::<u64>().ok());
        peak = peak.max(kilobytes.unwrap_or_default() << 10);
        if let Some(status) = child.try_wait().expect("the state of the program") {
            break status.code();
        }
        if started.elapsed() > PATIENCE || peak > 4 * MEMORY_MAX {
            child.kill().expect("to end the program");
            child.wait().expect("the program's end");
            break None;
        }
        std::thread::sleep(Duration::from_millis(2));
    };
    let err = fs::read_to_string(&err).unwrap_or_default();
    Watched {
        code,
        out,
        err,
        peak,
        elapsed: started.elapsed(),
        shown: arguments.join(" ").chars().take(160).collect(),
    }
}

fn write(batch: &RecordBatch, properties: WriterPropertiesBuilder) -> Vec<u8> {
    let mut bytes = Vec::new();
    let mut writer = ArrowWriter::try_new(&mut bytes, batch.schema(), Some(properties.build()))
        .expect("a writer");
    writer
        .write(batch)
        .and_then(|()| writer.close().map(|_| ()))
        .expect("writes");
    bytes
}

fn properties() -> WriterPropertiesBuilder {
    let level = ZstdLevel::try_new(3).expect("a level");
    WriterProperties::builder()
        .set_compression(Compression::ZSTD(level))
        .set_dictionary_page_size_limit(8 << 20)
        .set_max_row_group_row_count(Some(1 << 22))
}

/// The same string in every row: in Parquet one string and a page of dictionary keys.
fn repeated(text: &str, rows: usize) -> ArrayRef {
    let values = StringArray::from(vec![text]);
    Arc::new(
        DictionaryArray::<Int32Type>::try_new(Int32Array::from(vec![0; rows]), Arc::new(values))
            .expect("a dictionary"),
    )
}

/// A level table with `id`, `type` and one more column.
fn level_with(name: &str, column: ArrayRef) -> RecordBatch {
    let rows = column.len();
    let columns = [
        ("id", repeated("a", rows)),
        ("type", repeated("FILE", rows)),
        (name, column),
    ];
    // Without the Arrow schema in the metadata, the reader returns plain strings.
    RecordBatch::try_from_iter_with_nullable(columns.map(|(name, column)| (name, column, true)))
        .expect("a batch")
}

/// Creates a FOLDER with this level table only; returns its path.
fn folder(workspace: &Workspace, name: &str, level: &[u8]) -> String {
    workspace.write(&format!("{name}/COLLECTION.json"), r#"{"id": "hostile"}"#);
    workspace.write(&format!("{name}/METADATA/level0.parquet"), level);
    fs::create_dir_all(workspace.path(&format!("{name}/DATA"))).expect("a folder");
    workspace.path(name).display().to_string()
}

/// A query for every column is refused with the reason; commands that read less end in little
/// memory.
#[track_caller]
fn refused_by_all(workspace: &Workspace, dataset: &str, says: &str) {
    watched(
        workspace,
        &["query", dataset, "--sql", "SELECT * FROM data"],
    )
    .expect(2)
    .says(says);
    let count = "SELECT count(*) FROM data";
    for arguments in [
        &["inspect", dataset][..],
        &["fields", dataset],
        &["validate", dataset],
        &["query", dataset, "--sql", count],
    ] {
        let ran = watched(workspace, arguments);
        assert!(
            ran.peak < MEMORY_MAX && ran.code.is_some(),
            "{}: {} MB\n{}",
            ran.shown,
            ran.peak >> 20,
            ran.err
        );
        println!("{}: {} MB, {:?}", ran.shown, ran.peak >> 20, ran.elapsed);
    }
}

#[test]
fn one_long_text_in_many_rows_is_refused_before_it_is_written_out() {
    let workspace = Workspace::new();
    let level = write(
        &level_with(
            "note",
            repeated(&"x".repeat(1 << 20), nightly_or(50_000, 1_000_000)),
        ),
        properties().set_statistics_enabled(parquet::file::properties::EnabledStatistics::None),
    );
    assert!(level.len() < 200_000, "{} bytes", level.len());
    refused_by_all(&workspace, &folder(&workspace, "texts", &level), "unfold");
}

#[test]
fn a_text_that_is_built_on_the_one_before_is_counted_row_by_row() {
    let workspace = Workspace::new();
    let front = properties()
        .set_dictionary_enabled(false)
        .set_column_encoding("note".into(), Encoding::DELTA_BYTE_ARRAY)
        .set_statistics_enabled(parquet::file::properties::EnabledStatistics::None);
    let level = write(
        &level_with("note", repeated(&"x".repeat(1 << 20), 1_000)),
        front,
    );
    assert!(level.len() < 200_000, "{} bytes", level.len());
    refused_by_all(&workspace, &folder(&workspace, "front", &level), "unfold");
}

#[test]
fn columns_of_nothing_that_fill_the_memory_together_are_refused() {
    let workspace = Workspace::new();
    let rows = 1_000_000;
    let nulls = new_null_array(&DataType::Int64, rows);
    let mut columns = vec![
        ("id".to_owned(), repeated("a", rows)),
        ("type".to_owned(), repeated("FILE", rows)),
    ];
    columns.extend((0..40).map(|n| (format!("c{n}"), nulls.clone())));
    let batch = RecordBatch::try_from_iter_with_nullable(
        columns
            .into_iter()
            .map(|(name, column)| (name, column, true)),
    );
    let level = write(&batch.expect("a batch"), properties());
    assert!(level.len() < 200_000, "{} bytes", level.len());
    refused_by_all(&workspace, &folder(&workspace, "nulls", &level), "unfold");
}

#[test]
fn a_list_of_millions_in_one_row_is_refused() {
    let workspace = Workspace::new();
    let count = 13_000_000;
    let values: ArrayRef = Arc::new(Int64Array::from(vec![7; count]));
    let item = Arc::new(Field::new("item", DataType::Int64, true));
    let list = ListArray::new(item, OffsetBuffer::from_lengths([count]), values, None);
    let level = write(&level_with("list", Arc::new(list)), properties());
    assert!(level.len() < 200_000, "{} bytes", level.len());
    refused_by_all(&workspace, &folder(&workspace, "list", &level), "unfold");
}

#[test]
fn pages_that_unpack_to_much_more_than_they_are_are_refused() {
    for (name, codec) in [
        (
            "zstd",
            Compression::ZSTD(ZstdLevel::try_new(3).expect("a level")),
        ),
        (
            "gzip",
            Compression::GZIP(GzipLevel::try_new(6).expect("a level")),
        ),
    ] {
        let workspace = Workspace::new();
        let zeros = vec![0u8; 60 << 20];
        let values: ArrayRef = Arc::new(BinaryArray::from(vec![zeros.as_slice(); 3]));
        let plain = properties()
            .set_compression(codec)
            .set_dictionary_enabled(false)
            .set_statistics_enabled(parquet::file::properties::EnabledStatistics::None);
        let level = write(&level_with("blob", values), plain);
        assert!(level.len() < 400_000, "{} bytes", level.len());
        refused_by_all(&workspace, &folder(&workspace, name, &level), "unfold");
    }
}

/// A Parquet file that consists of a footer with schema elements of these numbers of children.
fn bare_footer(children: impl Iterator<Item = u64>) -> Vec<u8> {
    let varint = |out: &mut Vec<u8>, mut number: u64| {
        while number >= 0x80 {
            out.push(number as u8 | 0x80);
            number >>= 7;
        }
        out.push(number as u8);
    };
    let children: Vec<u64> = children.collect();
    // Version 1; schema list (repetition, name, number of children); no rows; no row groups.
    let mut footer = vec![0x15, 2, 0x19, 0xFC];
    varint(&mut footer, children.len() as u64);
    for members in &children {
        footer.extend(if *members == 0 {
            &[0x15, 2, 0x25, 2, 0x18, 1, b'n'][..]
        } else {
            &[0x35, 0, 0x18, 1, b'n'][..]
        });
        if *members > 0 {
            footer.push(0x15);
            varint(&mut footer, members * 2);
        }
        footer.push(0);
    }
    footer.extend([0x16, 0, 0x19, 0x0C, 0]);
    let length = (footer.len() as u32).to_le_bytes();
    [b"PAR1", footer.as_slice(), &length, b"PAR1"].concat()
}

#[test]
fn tables_of_very_many_or_very_deep_columns_are_refused() {
    let workspace = Workspace::new();
    let deep = folder(
        &workspace,
        "deep",
        &bare_footer(std::iter::repeat_n(1, 10_000).chain([0])),
    );
    let wide = folder(
        &workspace,
        "wide",
        &bare_footer(std::iter::once(20_000).chain(std::iter::repeat_n(0, 20_000))),
    );
    for (dataset, says) in [
        (deep, "levels of nested columns"),
        (wide, "more than 10000 columns"),
    ] {
        for verb in ["inspect", "validate"] {
            let ran = watched(&workspace, &[verb, &dataset]);
            let text = fs::read_to_string(&ran.out).unwrap_or_default() + &ran.err;
            let code = ran.code.filter(|code| *code == 1).unwrap_or(2);
            ran.expect(code);
            assert!(text.contains(says), "{text}");
        }
    }
}

#[test]
fn tables_of_two_thousand_columns_are_read_by_every_verb() {
    let workspace = Workspace::new();
    let number: ArrayRef = Arc::new(Int64Array::from(vec![1, 2]));
    let mut columns: Vec<(String, ArrayRef)> = vec![
        ("id".into(), Arc::new(StringArray::from(vec!["a", "b"]))),
        (
            "type".into(),
            Arc::new(StringArray::from(vec!["FILE", "FILE"])),
        ),
    ];
    columns.extend((0..2_000).map(|n| (format!("c{n}"), number.clone())));
    let level = write(
        &RecordBatch::try_from_iter(columns).expect("a batch"),
        properties(),
    );
    let dataset = folder(&workspace, "wide", &level);
    watched(&workspace, &["inspect", &dataset]).expect(0);
    watched(
        &workspace,
        &["query", &dataset, "--sql", "SELECT * FROM data"],
    )
    .expect(0);
    watched(
        &workspace,
        &[
            "query",
            &dataset,
            "--sql",
            "SELECT sum(c1999) FROM data WHERE c7 > 1",
        ],
    )
    .expect(0);
}

/// A file of the first generation: header, data, footer.
fn tortilla(between: &[u8], footer: &[u8]) -> Vec<u8> {
    let mut bytes = vec![0; 200];
    bytes[..2].copy_from_slice(b"#y");
    bytes[2..10].copy_from_slice(&(200 + between.len() as u64).to_le_bytes());
    bytes[10..18].copy_from_slice(&(footer.len() as u64).to_le_bytes());
    bytes[18..26].copy_from_slice(&1u64.to_le_bytes());
    [&bytes, between, footer].concat()
}

fn footer_of(format: &str, places: &[(i64, i64)]) -> Vec<u8> {
    let ids: ArrayRef = Arc::new(StringArray::from_iter_values(
        (0..places.len()).map(|n| format!("s{n}")),
    ));
    let offsets: ArrayRef = Arc::new(Int64Array::from_iter_values(
        places.iter().map(|place| place.0),
    ));
    let lengths: ArrayRef = Arc::new(Int64Array::from_iter_values(
        places.iter().map(|place| place.1),
    ));
    let columns = [
        ("tortilla:id", ids),
        ("tortilla:file_format", repeated(format, places.len())),
        ("tortilla:offset", offsets),
        ("tortilla:length", lengths),
    ];
    write(
        &RecordBatch::try_from_iter_with_nullable(
            columns.map(|(name, column)| (name, column, true)),
        )
        .expect("a batch"),
        properties(),
    )
}

#[test]
fn a_nested_tortilla_that_many_rows_name_is_decoded_once() {
    let workspace = Workspace::new();
    let inner = tortilla(&[], &footer_of("GTiff", &vec![(200, 0); 100_000]));
    let outer = tortilla(
        &inner,
        &footer_of("TORTILLA", &vec![(200, inner.len() as i64); 20_000]),
    );
    let path = workspace
        .write("many.tortilla", &outer)
        .display()
        .to_string();
    assert!(outer.len() < 600_000, "{} bytes", outer.len());
    watched(&workspace, &["inspect", &path]).expect(0);
}

#[test]
fn nested_tortillas_that_share_one_footer_are_counted_before_they_are_decoded() {
    let workspace = Workspace::new();
    let shared = footer_of("GTiff", &vec![(200, 0); 100_000]);
    let count = 500usize;
    // Consecutive headers that all refer to the same footer at the end.
    let mut inner = Vec::new();
    for number in 0..count {
        let mut header = tortilla(&[], &[]);
        header[2..10].copy_from_slice(&(((count - number) * 200) as u64).to_le_bytes());
        header[10..18].copy_from_slice(&(shared.len() as u64).to_le_bytes());
        inner.extend(header);
    }
    inner.extend(&shared);
    let places: Vec<(i64, i64)> = (0..count)
        .map(|number| {
            (
                200 + number as i64 * 200,
                (inner.len() - number * 200) as i64,
            )
        })
        .collect();
    let path = workspace
        .write(
            "shared.tortilla",
            tortilla(&inner, &footer_of("TORTILLA", &places)),
        )
        .display()
        .to_string();
    watched(&workspace, &["inspect", &path])
        .expect(2)
        .says("more rows");
}

/// A sparse file: `head` at its beginning, `tail` at its end, a hole between.
fn sparse(path: &Path, size: u64, head: &[u8], tail: &[u8]) -> String {
    fs::create_dir_all(path.parent().expect("a folder")).expect("folders");
    let mut file = File::create(path).expect("a file");
    file.set_len(size)
        .and_then(|()| file.write_all(head))
        .expect("writes");
    file.seek(SeekFrom::Start(size - tail.len() as u64))
        .and_then(|_| file.write_all(tail))
        .expect("writes");
    path.display().to_string()
}

#[test]
fn a_sparse_terabyte_is_not_read_in_any_role() {
    const SIZE: u64 = 1 << 40;
    let workspace = Workspace::new();
    let mut zip = b"PK\x03\x04".to_vec();
    zip.resize(26, 0);
    zip.extend([11, 0, 0, 0]);
    zip.extend(b"TACO_HEADER");
    zip.extend([2, 0, 0, 0]);
    for number in [1000, SIZE - 5000, 2000, SIZE - 5000] {
        zip.extend(number.to_le_bytes());
    }
    zip.resize(157, 0);
    // The end record of a directory that claims most of the file.
    let mut end = b"PK\x06\x06".to_vec();
    end.extend(44u64.to_le_bytes());
    end.extend([0; 12]);
    for number in [9_999_999u64, 9_999_999, SIZE - 98 - 4096, 4096] {
        end.extend(number.to_le_bytes());
    }
    end.extend(b"PK\x06\x07");
    end.extend([0; 4]);
    end.extend((SIZE - 98).to_le_bytes());
    end.extend([1, 0, 0, 0]);
    end.extend(b"PK\x05\x06");
    end.extend([0; 4]);
    end.extend([0xFF; 12]);
    end.extend([0; 2]);
    assert_eq!(end.len(), 98);
    let mut old = tortilla(&[], &[]);
    old[2..10].copy_from_slice(&200u64.to_le_bytes());
    old[10..18].copy_from_slice(&(SIZE - 200).to_le_bytes());
    let mut cozip = zip.clone();
    cozip.truncate(30);
    cozip.extend(b"__cozip__");
    let mut index = b"TACOCAT\0".to_vec();
    index.extend([1, 0, 0, 0, 0, 0, 0, 0]);
    for number in [
        128,
        SIZE - 5000,
        0,
        0,
        0,
        0,
        0,
        0,
        0,
        0,
        0,
        0,
        128,
        SIZE - 5000,
    ] {
        index.extend(number.to_le_bytes());
    }
    let footer_end = b"\xFF\xFF\xFF\x7FPAR1";
    let project = b"{\"tacostudio\":1,\"collection\":{}";
    let datasets = [
        sparse(&workspace.path("a.tacozip"), SIZE, &zip, &end),
        sparse(&workspace.path("a.tortilla"), SIZE, &old, &[]),
        sparse(&workspace.path("b.tortilla"), SIZE, &old, footer_end),
        sparse(&workspace.path("c.zip"), SIZE, &cozip, &end),
        sparse(&workspace.path("cat/__TACOCAT__"), SIZE, &index, &[]),
        sparse(&workspace.path("p.tacostudio"), SIZE, project, &[]),
        sparse(&workspace.path("anything.bin"), SIZE, b"", &[]),
        sparse(&workspace.path("TACOLLECTION.json"), SIZE, b"{", &[]),
    ];
    for dataset in &datasets {
        for verb in ["inspect", "validate"] {
            let ran = watched(&workspace, &[verb, dataset]);
            let code = ran.code.filter(|code| *code == 1).unwrap_or(2);
            ran.expect(code);
        }
    }
    let level = folder(&workspace, "folder", b"");
    sparse(
        &workspace.path("folder/METADATA/level0.parquet"),
        SIZE,
        b"PAR1",
        footer_end,
    );
    watched(&workspace, &["inspect", &level]).expect(2);
    fs::write(
        workspace.path("folder/METADATA/level0.parquet"),
        bare_footer([1, 0].into_iter()),
    )
    .expect("writes");
    sparse(&workspace.path("folder/COLLECTION.json"), SIZE, b"{", &[]);
    let ran = watched(&workspace, &["validate", &level]);
    let code = ran.code.unwrap_or(-1);
    ran.expect(code);
    watched(
        &workspace,
        &[
            "replay",
            &sparse(&workspace.path("script.json"), SIZE, b"[", &[]),
        ],
    )
    .expect(2);
}

/// Creates a dataset with one sparse sample of `size` bytes; returns its path and that of the
/// source.
fn large_sample(workspace: &Workspace, size: u64) -> (String, String) {
    let source = sparse(&workspace.path("data/large.bin"), size, b"first", b"last");
    workspace.write("collection.json", crate::support::COLLECTION);
    let target = workspace.path("large").display().to_string();
    let data = workspace.path("data").display().to_string();
    let collection = workspace.path("collection.json").display().to_string();
    watched(
        workspace,
        &[
            "create",
            &data,
            "-o",
            &target,
            "--collection",
            &collection,
            "--format",
            "folder",
        ],
    )
    .expect(0);
    (target, source)
}

#[test]
fn a_sample_of_three_gigabytes_is_read_and_hashed_in_little_memory() {
    const SIZE: u64 = 3 << 30;
    let workspace = Workspace::new();
    let (dataset, _) = large_sample(&workspace, SIZE);
    let listed = watched(&workspace, &["read", &dataset]).expect(0);
    let id = fs::read_to_string(&listed.out).expect("text");
    let id = id.split_whitespace().last().expect("a sample").to_owned();
    let read = watched(&workspace, &["read", &dataset, &id, "--out", "-"]).expect(0);
    assert_eq!(fs::metadata(&read.out).expect("there").len(), SIZE);
    fs::remove_file(&read.out).expect("removed");
    let out = workspace.path("out.bin").display().to_string();
    watched(&workspace, &["read", &dataset, &id, "--out", &out]).expect(0);
    assert_eq!(fs::metadata(&out).expect("there").len(), SIZE);
}

#[test]
fn a_schema_without_columns_has_no_rows_to_fill_the_memory_with() {
    let workspace = Workspace::new();
    let options = RecordBatchOptions::new().with_row_count(Some(3));
    let empty = RecordBatch::try_new_with_options(Arc::new(Schema::empty()), Vec::new(), &options)
        .expect("a batch");
    let dataset = folder(&workspace, "empty", &write(&empty, properties()));
    let ran = watched(&workspace, &["validate", &dataset]);
    let code = ran.code.unwrap_or(-1);
    assert!(matches!(code, 1 | 2), "{}", ran.err);
}
