//! Mutants of other generations: TORTILLA 0.5, TACO 0.2 (nested, in parts, streamable) and TACO 3.
//! Bytes are damaged as in every container; as most damaged footers are no longer Parquet, valid
//! footers with wrong offsets, strings and links are written too.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use arrow::array::{ArrayRef, AsArray, Int64Array, RecordBatch, StringArray};
use arrow::compute::cast;
use arrow::datatypes::{DataType, Field, Int64Type, Schema};
use taco_studio::container::{
    ContainerReader, OpenOptions, Physical, TortillaHeader, TortillaReader, footer_bytes,
};
use taco_studio::export::Catalogue;
use taco_studio::jobs::JobContext;
use taco_studio::ops::{self, MigrateRequest};

use super::{ODD, Random, damage, damage_file, try_mutants};
use crate::legacy::golden;
use crate::support::{Workspace, files_below, nested_scenes};

const HEADER: usize = 200;
/// Number of chunks of a mutant that are decoded.
const CHUNKS: usize = 12;

/// Uses of a dataset specific to another generation.
pub fn use_it(reader: &dyn ContainerReader, ctx: &JobContext) {
    let path = &reader.info().path;
    if let Physical::Tortilla(tortilla) = reader.physical() {
        let _ = tortilla.missing_parts();
        let Ok(tree) = reader.levels().skeleton(ctx) else {
            return;
        };
        for level in 0..tree.levels.len() {
            for row in 0..(tree.levels[level].len() as u32).min(4) {
                for index in [0, 1, u64::MAX] {
                    if let Ok((chunk, place)) = tortilla.chunk(level, row, index) {
                        let taco_studio::model::AssetPath::Range {
                            container,
                            offset,
                            size,
                            ..
                        } = &place
                        else {
                            panic!("{place} is no range");
                        };
                        let file = tortilla
                            .files()
                            .iter()
                            .find(|file| file.path() == &**container);
                        assert!(
                            file.is_some_and(|file| file.contains(*offset, *size)),
                            "{place} is outside ({chunk:?})"
                        );
                    }
                }
            }
        }
        let named = tree
            .levels
            .iter()
            .enumerate()
            .flat_map(|(level, rows)| (0..rows.len() as u32).map(move |row| (level, row)));
        for (level, row) in named.take(CHUNKS) {
            let _ = ops::read_chunk(
                reader,
                &format!("{}::0", tree.path(level, row).to_archive()),
                ctx,
            );
        }
    }
    if ops::is_other_generation(reader) {
        let request = MigrateRequest {
            input: path.clone(),
            options: None,
            fields: Vec::new(),
            collection: Default::default(),
            fill_missing: true,
            keep_ids: false,
            allow_missing_parts: true,
        };
        let _ = ops::Operation::run(&request, ctx);
        for form in [Catalogue::Stac, Catalogue::Croissant, Catalogue::Markdown] {
            let _ = ops::describe_dataset(path, &OpenOptions::default(), form, None, None, ctx);
        }
    }
}

/// A file with the ranges that are worth damaging.
struct Source {
    name: &'static str,
    bytes: Vec<u8>,
    regions: Vec<std::ops::Range<usize>>,
}

impl Source {
    fn of(name: &'static str, bytes: Vec<u8>) -> Self {
        let header = TortillaHeader::parse(&bytes).expect("a header");
        let (footer, end) = (header.footer.0 as usize, bytes.len());
        let mut regions = vec![0..42, 0..42, footer..end, end - 700.min(end)..end, 0..end];
        if let Some((offset, length)) = header.collection {
            regions.push(offset as usize..(offset + length) as usize);
        }
        Self {
            name,
            bytes,
            regions,
        }
    }

    fn golden(set: &str, name: &'static str) -> Self {
        Self::of(
            name,
            std::fs::read(golden(set, name)).expect("a golden file"),
        )
    }
}

/// A streamable dataset written by the studio, as no official tool writes one.
fn streamable(workspace: &Workspace) -> Source {
    nested_scenes(workspace, 2);
    let (scenes, out) = (workspace.path("scenes"), workspace.path("scenes.taco"));
    let collection = crate::legacy::taco_collection(workspace);
    let arguments = [
        "create".as_ref(),
        scenes.as_os_str(),
        "-o".as_ref(),
        out.as_os_str(),
        "--stream".as_ref(),
        "--allow".as_ref(),
    ];
    workspace
        .studio(
            arguments
                .into_iter()
                .chain(["--collection".as_ref(), collection.as_os_str()]),
        )
        .expect_code(0);
    let mut source = Source::of("scenes.taco", std::fs::read(&out).expect("a file"));
    // The linked list is before the footer that the header locates.
    let header = TortillaHeader::parse(&source.bytes).expect("a header");
    let chain = source
        .bytes
        .windows(4)
        .position(|magic| magic == b"PAR1")
        .expect("a table");
    source.regions.push(chain..header.footer.0 as usize);
    source
}

fn sources(workspace: &Workspace) -> Vec<Source> {
    vec![
        Source::golden("41_v1_bytes", "bytes.tortilla"),
        Source::golden("42_v1_nested", "nested.tortilla"),
        Source::golden("43_v1_nested3", "nested3.tortilla"),
        Source::golden("44_v1_parts", "parts.0000.part.tortilla"),
        Source::golden("46_v1_taco_nested", "nested.taco"),
        streamable(workspace),
    ]
}

#[test]
fn damaged_files_of_the_first_generation_are_survived() {
    let workspace = Workspace::new();
    let sources = sources(&workspace);
    try_mutants("first generation", |random, folder| {
        let source = &sources[random.below(sources.len())];
        let mut bytes = source.bytes.clone();
        let mut what = vec![source.name.to_owned()];
        if random.below(12) == 0 {
            bytes.truncate(random.below(bytes.len()));
            what.push(format!("cut to {}", bytes.len()));
        }
        for _ in 0..1 + random.below(3) {
            let region = &source.regions[random.below(source.regions.len())];
            what.push(damage(&mut bytes, region, random));
        }
        let path = folder.join(source.name);
        std::fs::write(&path, bytes).expect("a file");
        (path, what.join(", "))
    });
}

/// A number that is invalid in a footer, or belongs to another row.
fn odd_number(random: &mut Random, length: usize, others: &Int64Array) -> i64 {
    match random.below(5) {
        0 => ODD[random.below(ODD.len())] as i64,
        1 => -(random.below(1000) as i64),
        2 => others.value(random.below(others.len())),
        3 => [HEADER, HEADER - 1, HEADER + 1, length, length - HEADER][random.below(5)] as i64,
        _ => random.below(length + 1000) as i64,
    }
}

fn column(batch: &RecordBatch, name: &str, dtype: &DataType) -> ArrayRef {
    cast(batch.column_by_name(name).expect("a column"), dtype).expect("a plain type")
}

/// The file with changed values in its outermost footer.
fn tampered(source: &Source, table: &RecordBatch, random: &mut Random) -> (Vec<u8>, String) {
    let header = TortillaHeader::parse(&source.bytes).expect("a header");
    let footer = header.footer.0 as usize;
    let mut columns: Vec<(Arc<Field>, ArrayRef)> = table
        .schema()
        .fields()
        .iter()
        .cloned()
        .zip(table.columns().to_vec())
        .collect();
    let mut what = vec![source.name.to_owned()];
    for _ in 0..1 + random.below(4) {
        let row = random.below(table.num_rows());
        let name = [
            "tortilla:offset",
            "tortilla:length",
            "tortilla:file_format",
            "tortilla:id",
        ][random.below(4)];
        let at = columns
            .iter()
            .position(|(field, _)| field.name() == name)
            .expect("a column");
        let array: ArrayRef = if name.ends_with("offset") || name.ends_with("length") {
            let old = cast(&columns[at].1, &DataType::Int64).expect("numbers");
            let old = old.as_primitive::<Int64Type>();
            let number = odd_number(random, source.bytes.len(), old);
            what.push(format!("{name} of {row} is {number}"));
            Arc::new(
                (0..old.len())
                    .map(|n| if n == row { number } else { old.value(n) })
                    .collect::<Int64Array>(),
            )
        } else {
            let words = [
                "TORTILLA", "BYTES", "GTiff", "", "..", "a/b", "\u{0}", "__x",
            ];
            let word = words[random.below(words.len())];
            let old = cast(&columns[at].1, &DataType::Utf8).expect("text");
            let old = old.as_string::<i32>();
            let null = random.below(8) == 0;
            what.push(format!("{name} of {row} is {word:?}, null: {null}"));
            let value = |n: usize| {
                if n == row {
                    (!null).then_some(word)
                } else {
                    Some(old.value(n))
                }
            };
            Arc::new((0..table.num_rows()).map(value).collect::<StringArray>())
        };
        columns[at] = (
            Arc::new(Field::new(name, array.data_type().clone(), true)),
            array,
        );
    }
    let (fields, arrays): (Vec<Arc<Field>>, Vec<ArrayRef>) = columns.into_iter().unzip();
    let batch = RecordBatch::try_new(Arc::new(Schema::new(fields)), arrays).expect("a footer");
    let tables = footer_bytes(&batch).expect("Parquet");
    let collection = header.collection.map(|(offset, length)| {
        let text = source.bytes[offset as usize..(offset + length) as usize].to_vec();
        ((footer + tables.len()) as u64, text)
    });
    let whole = TortillaHeader {
        footer: (footer as u64, tables.len() as u64),
        collection: collection
            .as_ref()
            .map(|(at, text)| (*at, text.len() as u64)),
        ..header
    };
    let mut bytes = source.bytes[..footer].to_vec();
    bytes[..HEADER].copy_from_slice(&whole.to_bytes());
    bytes.extend_from_slice(&tables);
    bytes.extend(collection.into_iter().flat_map(|(_, text)| text));
    (bytes, what.join(", "))
}

#[test]
fn footers_with_invalid_ranges_and_strings_are_handled() {
    let workspace = Workspace::new();
    let tables: Vec<(Source, RecordBatch)> = sources(&workspace)
        .into_iter()
        .map(|source| {
            let path = workspace.write(&format!("good/{}", source.name), &source.bytes);
            let reader =
                TortillaReader::open(&path, std::slice::from_ref(&path), &JobContext::default())
                    .expect("opens");
            let table = reader.roots()[0].table.to_batch().expect("a footer");
            assert!(column(&table, "tortilla:offset", &DataType::Int64).len() > 1);
            (source, table)
        })
        .collect();
    try_mutants("footer", |random, folder| {
        let (source, table) = &tables[random.below(tables.len())];
        let (bytes, what) = tampered(source, table, random);
        let path = folder.join(source.name);
        std::fs::write(&path, bytes).expect("a file");
        (path, what)
    });
}

#[test]
fn invalid_links_between_footer_objects_are_handled() {
    let workspace = Workspace::new();
    let source = streamable(&workspace);
    // The link is text in the Parquet metadata of each object: with its length unchanged, the
    // object stays readable.
    let start = b"OFFSETLENGTH(";
    let places: Vec<usize> = (0..source.bytes.len() - start.len())
        .filter(|&at| source.bytes[at..].starts_with(start))
        .collect();
    assert!(places.len() >= 2, "{places:?}");
    let numbers: Vec<&[u8]> = places
        .iter()
        .map(|at| {
            let inside = &source.bytes[at + start.len()..];
            &inside[..inside
                .iter()
                .position(|byte| *byte == b')')
                .expect("an end")]
        })
        .collect();
    try_mutants("chain", |random, folder| {
        let mut bytes = source.bytes.clone();
        let at = random.below(places.len());
        let place = places[at] + start.len()..places[at] + start.len() + numbers[at].len();
        let mut text = numbers[at].to_vec();
        let what = match random.below(3) {
            // The offset of another object or of this one, which makes the list circular.
            0 => {
                let header = TortillaHeader::parse(&bytes).expect("a header").footer;
                let other = [
                    format!("{}, {}", header.0, header.1).into_bytes(),
                    numbers[random.below(numbers.len())].to_vec(),
                ];
                text = other[random.below(2)].clone();
                text.resize(place.len(), b' ');
                "another object".to_owned()
            }
            1 => {
                for _ in 0..1 + random.below(4) {
                    let digit = random.below(text.len());
                    text[digit] = b"0123456789-, "[random.below(13)];
                }
                "other digits".to_owned()
            }
            _ => {
                let region = place.start.saturating_sub(40)..place.end + 40;
                damage(&mut bytes, &region, random)
            }
        };
        if !what.contains(" at ") {
            bytes[place].copy_from_slice(&text);
        }
        let path = folder.join(source.name);
        std::fs::write(&path, bytes).expect("a file");
        (path, format!("{what}: {}", String::from_utf8_lossy(&text)))
    });
}

#[test]
fn damaged_datasets_of_the_next_generation_are_survived() {
    let whole = std::fs::read(golden("60_v3_zip", "change.zip")).expect("a golden file");
    let end = whole.len();
    let directory =
        u32::from_le_bytes(whole[end - 6..end - 2].try_into().expect("four bytes")) as usize;
    let folder_of = golden("61_v3_folder", "change");
    let names: Vec<String> = files_below(&folder_of);
    let tables: Vec<&String> = names
        .iter()
        .filter(|name| name.ends_with(".parquet") || name.ends_with(".json"))
        .collect();
    try_mutants("TACO 3", |random, folder| {
        if random.below(2) == 0 {
            let mut bytes = whole.clone();
            let regions = [
                0..200,
                directory..end,
                end - 22..end,
                0..end,
                end - 60_000.min(end)..directory,
            ];
            let what: Vec<String> = (0..1 + random.below(3))
                .map(|_| {
                    let region = &regions[random.below(regions.len())];
                    damage(&mut bytes, region, random)
                })
                .collect();
            let path = folder.join("mutant.zip");
            std::fs::write(&path, bytes).expect("an archive");
            return (path, what.join(", "));
        }
        let copy: PathBuf = folder.join("mutant");
        copy_folder(&folder_of, &copy, &names);
        let name = tables[random.below(tables.len())];
        let mut bytes = std::fs::read(copy.join(name)).expect("a file");
        let what = damage_file(name, &mut bytes, random);
        std::fs::write(copy.join(name), bytes).expect("writes");
        (copy, format!("{name}: {what}"))
    });
}

fn copy_folder(from: &Path, to: &Path, names: &[String]) {
    for name in names {
        let target = to.join(name);
        std::fs::create_dir_all(target.parent().expect("a parent")).expect("folders");
        std::fs::copy(from.join(name), target).expect("a copy");
    }
}
