//! Small valid datasets with random damage: opening, checking and reading end quickly with a result
//! or an error, never with a panic, and never read outside the dataset. `TACO_STUDIO_MUTANTS=N`
//! tries more, `TACO_STUDIO_SEED` others; `TACO_STUDIO_PATIENCE` sets the time limit in seconds,
//! for a busy machine.

mod generations;

use std::path::{Path, PathBuf};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::time::Duration;

use taco_studio::container::{Assembly, HEADER_SIZE, OpenOptions, Physical, open, read_asset};
use taco_studio::jobs::JobContext;
use taco_studio::model::{AssetPath, SampleKind};
use taco_studio::table::{ParquetSlice, TableHead};
use taco_studio::validate::CheckOptions;
use taco_studio::{ops, query, validate};

use crate::rules::{Files, Good};
use crate::support::{Random, files_below, nightly_or};

/// Number of mutants of each container by default.
const MUTANTS: u64 = 150;
/// Maximum time for a mutant in seconds; a valid dataset takes some milliseconds.
const PATIENCE: u64 = 5;

/// Numbers that are difficult for readers.
const ODD: [u64; 10] = [
    0,
    1,
    0x7F,
    0xFF,
    0x7FFF,
    0xFFFF,
    0x7FFF_FFFF,
    0xFFFF_FFFF,
    0x7FFF_FFFF_FFFF_FFFF,
    u64::MAX,
];

/// Damages `bytes` inside `range` once; returns a description.
fn damage(bytes: &mut Vec<u8>, range: &std::ops::Range<usize>, random: &mut Random) -> String {
    let at = random.within(range);
    if at >= bytes.len() {
        return "nothing".into();
    }
    let run = (1 + random.below(24)).min(bytes.len() - at);
    match random.below(8) {
        0 => {
            bytes[at] ^= 1 << random.below(8);
            format!("bit at {at}")
        }
        1 => {
            bytes[at] = random.next() as u8;
            format!("byte at {at}")
        }
        2 => {
            bytes[at..at + run].fill(0);
            format!("{run} zeros at {at}")
        }
        3 => {
            bytes[at..at + run].fill(0xFF);
            format!("{run} ones at {at}")
        }
        4 => {
            let number = ODD[random.below(ODD.len())].to_le_bytes();
            let width = [1, 2, 4, 8][random.below(4)].min(bytes.len() - at);
            bytes[at..at + width].copy_from_slice(&number[..width]);
            format!("{width} bytes of an odd number at {at}")
        }
        5 => {
            let from = random.within(range).min(bytes.len() - run);
            bytes.copy_within(from..from + run, at);
            format!("{run} bytes from {from} at {at}")
        }
        6 => {
            bytes.drain(at..at + run);
            format!("{run} bytes less at {at}")
        }
        _ => {
            let more: Vec<u8> = (0..run).map(|_| random.next() as u8).collect();
            bytes.splice(at..at, more);
            format!("{run} bytes more at {at}")
        }
    }
}

/// Damages a value of a JSON text: truncated, duplicated, or of another type.
fn damage_json(bytes: &mut Vec<u8>, random: &mut Random) -> String {
    let text = String::from_utf8_lossy(bytes).into_owned();
    let places: Vec<usize> = text
        .match_indices([':', ','])
        .map(|(at, _)| at + 1)
        .collect();
    let at = places[random.below(places.len())];
    let value = [
        "null,",
        "[],",
        "{},",
        "-1,",
        "1e999,",
        "\"\\ud800\",",
        "true,",
        "[[[[[[[[",
        "\"",
        "18446744073709551616,",
    ];
    let value = value[random.below(value.len())];
    bytes.splice(at..at, value.bytes());
    format!("{value} at {at} of the JSON")
}

/// Uses the dataset in every way. Errors are accepted; every byte range must be inside the dataset.
fn use_it(path: &Path) {
    let ctx = JobContext::default();
    let _ = validate::path_with(
        path,
        &OpenOptions::default(),
        &CheckOptions {
            deep: true,
            ..CheckOptions::default()
        },
        &ctx,
    );
    let Ok(reader) = open(path, &ctx) else { return };
    let Ok(tree) = reader.levels().skeleton(&ctx) else {
        return;
    };
    for (depth, level) in tree.levels.iter().enumerate() {
        for row in 0..level.len() as u32 {
            let Ok((asset, size)) = reader.asset(depth, row) else {
                continue;
            };
            match (&asset, reader.physical()) {
                (
                    AssetPath::Range {
                        container,
                        offset,
                        size: range,
                        ..
                    },
                    Physical::Zip(zip),
                ) => {
                    assert!(
                        &**container == path
                            && *range == size
                            && zip.file().contains(*offset, *range),
                        "{asset} is outside"
                    );
                }
                (AssetPath::File(file), Physical::Folder(_)) => {
                    let plain = file
                        .components()
                        .all(|part| part != std::path::Component::ParentDir);
                    assert!(
                        plain && file.starts_with(path.join("DATA")),
                        "{asset} is outside"
                    );
                }
                (
                    AssetPath::Range {
                        container,
                        offset,
                        size: range,
                        ..
                    },
                    Physical::Tacocat(index),
                ) => {
                    let plain = container
                        .components()
                        .all(|part| part != std::path::Component::ParentDir);
                    let beside = plain && container.parent() == Some(index.parts_folder());
                    let length = std::fs::metadata(container).map_or(0, |metadata| metadata.len());
                    let fits = offset.checked_add(*range).is_some_and(|end| end <= length);
                    assert!(beside && *range == size && fits, "{asset} is outside");
                }
                // Several datasets as one: data is read from the parts beside the list.
                (
                    AssetPath::Range {
                        container,
                        offset,
                        size: range,
                        ..
                    },
                    Physical::Joined(_),
                ) => {
                    let plain = container
                        .components()
                        .all(|part| part != std::path::Component::ParentDir);
                    let beside = plain && container.parent() == path.parent();
                    let length = std::fs::metadata(container).map_or(0, |metadata| metadata.len());
                    let fits = offset.checked_add(*range).is_some_and(|end| end <= length);
                    assert!(beside && *range == size && fits, "{asset} is outside");
                }
                (
                    AssetPath::Range {
                        container,
                        offset,
                        size: range,
                        ..
                    },
                    Physical::Tortilla(tortilla),
                ) => {
                    let file = tortilla
                        .files()
                        .iter()
                        .find(|file| file.path() == &**container);
                    let inside = file.is_some_and(|file| file.contains(*offset, *range));
                    assert!(
                        inside && *range == size && *offset >= HEADER_SIZE,
                        "{asset} is outside"
                    );
                }
                (
                    AssetPath::Range {
                        container,
                        offset,
                        size: range,
                        ..
                    },
                    Physical::Taco3(_),
                ) => {
                    let length = std::fs::metadata(path).map_or(0, |metadata| metadata.len());
                    let fits = offset.checked_add(*range).is_some_and(|end| end <= length);
                    assert!(
                        &**container == path && fits && *range == size,
                        "{asset} is outside"
                    );
                }
                (AssetPath::File(file), Physical::Taco3(_)) => {
                    let plain = file
                        .components()
                        .all(|part| part != std::path::Component::ParentDir);
                    assert!(
                        plain && file.starts_with(path.join("DATA")),
                        "{asset} is outside"
                    );
                }
                _ => panic!("{asset} is of another container"),
            }
            let bytes = read_asset(&asset);
            assert!(
                bytes.is_err() || bytes.is_ok_and(|bytes| bytes.len() as u64 == size),
                "{asset} has another length"
            );
            if level.kind(row) == SampleKind::Folder {
                let _ = reader.local_meta(depth, row);
            }
        }
        if let Ok(table) = reader.levels().table(depth, &ctx) {
            for row in 0..table.rows() {
                for column in 0..table.schema().fields().len() {
                    let _ = table.text(row, column);
                }
            }
        }
    }
    generations::use_it(reader.as_ref(), &ctx);
    let _ = Assembly::of_reader(reader.as_ref(), &ctx);
    if let Ok(tables) = ops::tables_of(reader.as_ref(), &ctx) {
        for level in ["level0", "level1"] {
            let _ = query::run_sql(&tables, &format!("SELECT * FROM {level}"), None, &ctx);
        }
    }
}

/// Uses the dataset on a separate thread; returns what went wrong.
fn outcome(path: PathBuf) -> Result<(), String> {
    let (sender, receiver) = channel();
    std::thread::spawn(move || {
        let done = std::panic::catch_unwind(|| use_it(&path));
        let _ = sender.send(done.map_err(|panic| {
            let text = panic.downcast_ref::<String>().cloned();
            text.or_else(|| panic.downcast_ref::<&str>().map(|text| (*text).to_owned()))
                .unwrap_or_else(|| "a panic".into())
        }));
    });
    let patience = Duration::from_secs(number("TACO_STUDIO_PATIENCE", PATIENCE));
    match receiver.recv_timeout(patience) {
        Ok(outcome) => outcome,
        Err(RecvTimeoutError::Timeout) => Err(format!("no end after {patience:?}")),
        Err(RecvTimeoutError::Disconnected) => Err("the thread is gone".into()),
    }
}

fn number(variable: &str, default: u64) -> u64 {
    std::env::var(variable).map_or(default, |text| {
        text.parse()
            .unwrap_or_else(|_| panic!("{variable} is no number"))
    })
}

/// Generates and tries mutants; a failure names the mutant and keeps its file.
fn try_mutants(kind: &str, make: impl Fn(&mut Random, &Path) -> (PathBuf, String)) {
    try_number_of_mutants(MUTANTS, kind, make);
}

fn try_number_of_mutants(
    mutants: u64,
    kind: &str,
    make: impl Fn(&mut Random, &Path) -> (PathBuf, String),
) {
    let first = number("TACO_STUDIO_SEED", 1);
    let mut failed = Vec::new();
    for seed in first..first + number("TACO_STUDIO_MUTANTS", mutants) {
        let folder = tempfile::tempdir().expect("a temporary folder");
        // Neighbouring seeds must give different mutants.
        let (path, what) = make(
            &mut Random::new(seed.wrapping_mul(0xD134_2543_DE82_EF95)),
            folder.path(),
        );
        if let Err(fault) = outcome(path) {
            failed.push(format!(
                "{kind} with TACO_STUDIO_SEED={seed} ({what}): {fault}; kept in {}",
                folder.keep().display()
            ));
        }
    }
    assert!(failed.is_empty(), "{}", failed.join("\n"));
}

#[test]
fn damaged_archives_are_survived() {
    let good = Good::new();
    let whole = std::fs::read(&good.zip).expect("the archive");
    let end = whole.len();
    let directory =
        u32::from_le_bytes(whole[end - 6..end - 2].try_into().expect("four bytes")) as usize;
    let tables = u64::from_le_bytes(whole[45..53].try_into().expect("eight bytes")) as usize;
    let regions = [
        0..157,
        0..end,
        tables..directory,
        directory..end,
        end - 22..end,
        157..tables,
    ];
    try_mutants("ZIP", |random, folder| {
        let mut bytes = whole.clone();
        let mut what = Vec::new();
        if random.below(12) == 0 {
            bytes.truncate(random.below(end));
            what.push(format!("cut to {}", bytes.len()));
        }
        for _ in 0..1 + random.below(3) {
            let region = &regions[random.below(regions.len())];
            what.push(damage(&mut bytes, region, random));
        }
        let path = folder.join("mutant.tacozip");
        std::fs::write(&path, bytes).expect("an archive");
        (path, what.join(", "))
    });
}

#[test]
fn damaged_members_are_survived() {
    let good = Good::new();
    // All members but one are valid, and header and directory are correct, so that readers get far.
    let names: Vec<String> = files_below(&good.folder)
        .into_iter()
        .filter(|name| !name.ends_with(".bin"))
        .collect();
    try_mutants("ZIP with one bad member", |random, folder| {
        let name = &names[random.below(names.len())];
        let mut files = Files::of_zip(&good.zip);
        let mut what = String::new();
        files.patch(name, |bytes| what = damage_file(name, bytes, random));
        let path = folder.join("mutant.tacozip");
        std::fs::write(&path, files.to_zip()).expect("an archive");
        (path, format!("{name}: {what}"))
    });
}

#[test]
fn damaged_folders_are_survived() {
    let good = Good::new();
    let names: Vec<String> = files_below(&good.folder)
        .into_iter()
        .filter(|name| !name.ends_with(".bin"))
        .collect();
    try_mutants("FOLDER", |random, folder| {
        let mut files = Files::of_folder(&good.folder);
        let name = &names[random.below(names.len())];
        let mut what = String::new();
        match random.below(15) {
            0 => files.remove(name),
            _ => files.patch(name, |bytes| what = damage_file(name, bytes, random)),
        }
        files.write_folder(folder);
        (folder.to_owned(), format!("{name}: {what}"))
    });
}

/// A golden set of parts with its index, copied to its own folder.
fn set_of_parts(name: &str, folder: &Path) -> PathBuf {
    let golden = crate::support::fixtures("golden", "TACO_STUDIO_GOLDEN");
    let from = golden
        .iter()
        .find(|folder| folder.ends_with(name))
        .unwrap_or_else(|| panic!("no golden set {name}"));
    let set = folder.join("set");
    for file in files_below(from)
        .into_iter()
        .filter(|file| !file.ends_with("expected.json") && !file.ends_with("queries.json"))
    {
        let target = set.join(&file);
        std::fs::create_dir_all(target.parent().expect("a parent")).expect("a folder");
        std::fs::copy(from.join(&file), target).expect("a copy");
    }
    set
}

#[test]
fn damaged_indexes_over_parts_are_survived() {
    for (name, opened, files) in [
        (
            "09_split_tacocat",
            ".tacocat",
            &[
                ".tacocat/level0.parquet",
                ".tacocat/level1.parquet",
                ".tacocat/COLLECTION.json",
            ][..],
        ),
        ("27_v018_parts_tacocat", "__TACOCAT__", &["__TACOCAT__"]),
        (
            "27_v018_parts_tacocat",
            "TACOLLECTION.json",
            &["TACOLLECTION.json"],
        ),
    ] {
        // Copying a set of parts takes longer than reading it.
        let mutants = nightly_or(MUTANTS as usize / 5, MUTANTS as usize) as u64;
        try_number_of_mutants(mutants, opened, |random, folder| {
            let set = set_of_parts(name, folder);
            // Usually damages the index, sometimes one of its parts.
            let part = format!("parts_part000{}.tacozip", 1 + random.below(3));
            let file = if random.below(6) == 0 {
                part.as_str()
            } else {
                files[random.below(files.len())]
            };
            let path = set.join(file);
            let mut bytes = std::fs::read(&path).expect("a file");
            // The single-file index begins with its table of sections.
            let what = if file == "__TACOCAT__" && random.below(2) == 0 {
                damage(&mut bytes, &(8..128), random)
            } else {
                damage_file(file, &mut bytes, random)
            };
            std::fs::write(&path, bytes).expect("writes");
            (set.join(opened), format!("{file}: {what}"))
        });
    }
}

#[test]
fn a_table_that_the_decoder_panics_at_is_a_finding_and_no_panic() {
    let good = Good::new();
    let name = "METADATA/level1.parquet";
    let whole = std::fs::read(good.folder.join(name)).expect("a table");
    let panics = |bytes: &[u8]| {
        let slice = ParquetSlice::from_bytes(bytes.to_vec().into());
        let outcome = TableHead::read(slice).and_then(|head| head.decode(&JobContext::default()));
        outcome.is_err_and(|error| error.to_string().contains("stopped unexpectedly"))
    };
    let mutant = (4..whole.len())
        .flat_map(|at| (0..8).map(move |bit| (at, bit)))
        .map(|(at, bit)| {
            let mut bytes = whole.clone();
            bytes[at] ^= 1 << bit;
            bytes
        });
    let Some(bytes) = mutant.into_iter().find(|bytes| panics(bytes)) else {
        panic!("no bit of {name} makes the decoder panic any more: this test can go");
    };
    std::fs::write(good.folder.join(name), bytes).expect("a table");
    let ran = good
        .workspace
        .studio(["validate".as_ref(), good.folder.as_os_str()])
        .expect_code(1);
    assert!(
        ran.stdout.contains("META-2") && ran.stderr.is_empty(),
        "{ran}"
    );
    let query = [
        "query".as_ref(),
        good.folder.as_os_str(),
        "--sql".as_ref(),
        "SELECT id FROM level1".as_ref(),
    ];
    let ran = good.workspace.studio(query).expect_code(2);
    assert!(ran.stderr.contains("column id can't be read"), "{ran}");
}

fn damage_file(name: &str, bytes: &mut Vec<u8>, random: &mut Random) -> String {
    if name.ends_with(".json") && random.below(3) > 0 {
        return damage_json(bytes, random);
    }
    if random.below(12) == 0 {
        bytes.truncate(random.below(bytes.len()));
        return format!("cut to {}", bytes.len());
    }
    // Half of the damage is in the footer, which readers rely on most.
    let start = if random.below(2) == 0 {
        bytes.len().saturating_sub(700)
    } else {
        0
    };
    let range = start..bytes.len();
    (0..1 + random.below(2))
        .map(|_| damage(bytes, &range, random))
        .collect::<Vec<_>>()
        .join(", ")
}
