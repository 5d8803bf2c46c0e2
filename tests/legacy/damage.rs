//! A damaged file of another generation for every rule about them: the finding and its location.
//! Copies of golden files are damaged, or small tortillas are generated.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use arrow::array::{ArrayRef, Int64Array, RecordBatch, StringArray};
use taco_studio::container::{
    OnDamage, OpenOptions, RowSource, TortillaDraft, TortillaHeader, TortillaItem, TortillaOptions,
    write_tortilla,
};
use taco_studio::error::Result;
use taco_studio::jobs::JobContext;
use taco_studio::model::{Profile, Report, Rule};
use taco_studio::table::{ParquetOptions, ParquetSink};
use taco_studio::validate::{self, CheckOptions};

use super::golden;
use crate::support::Workspace;

fn check_file(path: &Path, profile: Profile, deep: bool) -> Result<Report> {
    let options = CheckOptions {
        profile,
        deep,
        ..CheckOptions::default()
    };
    validate::path_with(
        path,
        &OpenOptions::default(),
        &options,
        &JobContext::default(),
    )
}

/// Replaces the only occurrence of `old` by text of the same length.
fn replace(bytes: &mut [u8], old: &[u8], new: &[u8]) {
    assert_eq!(old.len(), new.len(), "offsets stay");
    let at = bytes
        .windows(old.len())
        .position(|window| window == old)
        .expect("the text");
    bytes[at..at + old.len()].copy_from_slice(new);
}

/// A row of a generated tortilla: id, format, data, and optionally wrong ranges.
pub struct Row {
    id: &'static str,
    format: &'static str,
    bytes: Vec<u8>,
    place: Option<(i64, i64)>,
}

pub fn row(id: &'static str, bytes: &[u8]) -> Row {
    Row {
        id,
        format: "BYTES",
        bytes: bytes.to_vec(),
        place: None,
    }
}

/// A complete tortilla with these rows and additional columns.
pub fn tortilla(rows: Vec<Row>, more: Vec<(&str, ArrayRef)>) -> Vec<u8> {
    pointing(rows, more, None)
}

/// The same with a `pointer` in its footer, as in streamable datasets.
fn pointing(rows: Vec<Row>, more: Vec<(&str, ArrayRef)>, pointer: Option<&str>) -> Vec<u8> {
    let mut data = Vec::new();
    let (mut offsets, mut lengths) = (Vec::new(), Vec::new());
    for row in &rows {
        let (offset, length) = row
            .place
            .unwrap_or((200 + data.len() as i64, row.bytes.len() as i64));
        offsets.push(offset);
        lengths.push(length);
        data.extend_from_slice(&row.bytes);
    }
    let mut columns: Vec<(&str, ArrayRef, bool)> = vec![
        (
            "tortilla:id",
            Arc::new(StringArray::from_iter_values(rows.iter().map(|row| row.id))),
            true,
        ),
        (
            "tortilla:file_format",
            Arc::new(StringArray::from_iter_values(
                rows.iter().map(|row| row.format),
            )),
            true,
        ),
        ("tortilla:offset", Arc::new(Int64Array::from(offsets)), true),
        ("tortilla:length", Arc::new(Int64Array::from(lengths)), true),
    ];
    columns.extend(more.into_iter().map(|(name, array)| (name, array, true)));
    let batch = RecordBatch::try_from_iter_with_nullable(columns).expect("is a batch");
    let mut sink =
        ParquetSink::new(Vec::new(), &batch.schema(), &ParquetOptions::local()).expect("begins");
    sink.write(&batch).expect("writes");
    if let Some(pointer) = pointer {
        sink.note("pointer", pointer.to_owned());
    }
    let footer = sink.finish().expect("writes");
    let header = TortillaHeader {
        footer: (200 + data.len() as u64, footer.len() as u64),
        partitions: 1,
        collection: None,
        end: 200,
    };
    [header.to_bytes().to_vec(), data, footer].concat()
}

pub fn text(values: &[&str]) -> ArrayRef {
    Arc::new(StringArray::from_iter_values(values))
}

/// Rule, location, text of the message, and a function that creates the damaged file.
type Fault = (Rule, &'static str, &'static str, fn(&Path) -> PathBuf);

fn file(folder: &Path, bytes: Vec<u8>) -> PathBuf {
    let path = folder.join("bad.tortilla");
    std::fs::write(&path, bytes).expect("writes");
    path
}

fn copied(set: &str, name: &str, folder: &Path, change: impl FnOnce(&mut Vec<u8>)) -> PathBuf {
    let mut bytes = std::fs::read(golden(set, name)).expect("reads");
    change(&mut bytes);
    let path = folder.join(name);
    std::fs::write(&path, bytes).expect("writes");
    path
}

const FAULTS: [Fault; 35] = [
    (Rule::TortillaHeader, "bad.tortilla", "reserved", |folder| {
        let mut bytes = tortilla(vec![row("a", b"x")], Vec::new());
        bytes[120] = 7;
        file(folder, bytes)
    }),
    (
        Rule::TortillaRange,
        "b",
        "tortilla:offset is -4",
        |folder| {
            let bad = Row {
                place: Some((-4, 2)),
                ..row("b", b"yy")
            };
            file(folder, tortilla(vec![row("a", b"x"), bad], Vec::new()))
        },
    ),
    (
        Rule::TortillaRange,
        "b",
        "and the footer at 203",
        |folder| {
            let bad = Row {
                place: Some((201, 9_000_000_000_000)),
                ..row("b", b"yy")
            };
            file(folder, tortilla(vec![row("a", b"x"), bad], Vec::new()))
        },
    ),
    (Rule::TortillaOverlap, "b", "inside those of a", |folder| {
        let bad = Row {
            place: Some((201, 2)),
            ..row("b", b"yy")
        };
        file(folder, tortilla(vec![row("a", b"xx"), bad], Vec::new()))
    }),
    // A tortilla that contains itself, and two samples with the same nested tortilla, could recurse
    // forever.
    (Rule::TortillaRange, "a", "tortilla:offset is 0", |folder| {
        let bad = Row {
            format: "TORTILLA",
            place: Some((0, 900)),
            ..row("a", b"x")
        };
        file(folder, tortilla(vec![bad], Vec::new()))
    }),
    (
        Rule::TortillaOverlap,
        "b",
        "the same nested tortilla",
        |folder| {
            let inner = tortilla(vec![row("x", b"1")], Vec::new());
            let place = Some((200, inner.len() as i64));
            let first = Row {
                format: "TORTILLA",
                ..row("a", &inner)
            };
            let again = Row {
                format: "TORTILLA",
                place,
                ..row("b", b"")
            };
            file(folder, tortilla(vec![first, again], Vec::new()))
        },
    ),
    (Rule::TortillaNested, "a", "begins with neither", |folder| {
        let bad = Row {
            format: "TORTILLA",
            ..row("a", &[7; 400])
        };
        file(folder, tortilla(vec![bad], Vec::new()))
    }),
    (
        Rule::TortillaNested,
        "a",
        "which is not inside the",
        |folder| {
            let mut inner = tortilla(vec![row("x", b"1")], Vec::new());
            inner[2..10].copy_from_slice(&u64::MAX.to_le_bytes());
            let bad = Row {
                format: "TORTILLA",
                ..row("a", &inner)
            };
            file(folder, tortilla(vec![bad], Vec::new()))
        },
    ),
    (Rule::TortillaNested, "a", "can't be read", |folder| {
        let mut inner = tortilla(vec![row("x", b"1")], Vec::new());
        let end = inner.len();
        inner[end - 40..].fill(0);
        let bad = Row {
            format: "TORTILLA",
            ..row("a", &inner)
        };
        file(folder, tortilla(vec![bad], Vec::new()))
    }),
    (Rule::IdUnique, "a", "Two samples", |folder| {
        file(
            folder,
            tortilla(vec![row("a", b"x"), row("a", b"y")], Vec::new()),
        )
    }),
    (
        Rule::TortillaParts,
        "parts.0001.part.tortilla",
        "is missing",
        |folder| copied("44_v1_parts", "parts.0000.part.tortilla", folder, |_| {}),
    ),
    (
        Rule::TortillaParts,
        "bad.tortilla",
        "has no number",
        |folder| {
            let mut bytes = tortilla(vec![row("a", b"x")], Vec::new());
            bytes[18] = 3;
            file(folder, bytes)
        },
    ),
    (
        Rule::TortillaChain,
        "footer",
        "not inside the file",
        |folder| {
            file(
                folder,
                pointing(
                    vec![row("a", b"x")],
                    Vec::new(),
                    Some("OFFSETLENGTH(200, 99999999)"),
                ),
            )
        },
    ),
    (Rule::TortillaChain, "footer", "inside object 0", |folder| {
        file(
            folder,
            pointing(
                vec![row("a", b"x")],
                Vec::new(),
                Some("OFFSETLENGTH(210, 8)"),
            ),
        )
    }),
    // A linked list that ends after level 0, although a sample is a tortilla.
    (
        Rule::TortillaChain,
        "a",
        "no row for what is inside",
        |folder| {
            let inner = tortilla(vec![row("x", b"1")], Vec::new());
            let target = folder.join("bad.tortilla");
            let footer = RecordBatch::try_from_iter([
                ("tortilla:id", text(&["a"])),
                ("tortilla:file_format", text(&["TORTILLA"])),
            ]);
            let items = vec![TortillaItem::Source(RowSource::Bytes(inner.into()))];
            let draft = TortillaDraft {
                footer: footer.expect("is a batch"),
                items,
            };
            let options = TortillaOptions {
                target: target.clone(),
                collection: None,
                part_bytes: None,
                stream: true,
                allow_non_tog: true,
                overwrite: false,
                on_damage: OnDamage::Stop,
                text_form: false,
            };
            write_tortilla(draft, &options, &JobContext::default()).expect("writes");
            target
        },
    ),
    (
        Rule::TortillaTypes,
        "level0 note",
        "Several columns are called note",
        |folder| {
            file(
                folder,
                tortilla(
                    vec![row("a", b"x")],
                    vec![("note", text(&["1"])), ("note", text(&["2"]))],
                ),
            )
        },
    ),
    (
        Rule::Unreadable,
        "parts.0001.part.tortilla",
        "not inside the",
        |folder| {
            copied("44_v1_parts", "parts.0000.part.tortilla", folder, |_| {});
            copied("44_v1_parts", "parts.0001.part.tortilla", folder, |bytes| {
                bytes.truncate(300)
            });
            folder.to_owned()
        },
    ),
    (Rule::TortillaSplit, "a", "data_split is val", |folder| {
        file(
            folder,
            tortilla(
                vec![row("a", b"x")],
                vec![("tortilla:data_split", text(&["val"]))],
            ),
        )
    }),
    (
        Rule::TortillaClass,
        "level0",
        "stac:geotransform, stac:raster_shape",
        |folder| {
            file(
                folder,
                tortilla(
                    vec![row("a", b"x")],
                    vec![("stac:crs", text(&["EPSG:4326"]))],
                ),
            )
        },
    ),
    (
        Rule::TortillaCoreNull,
        "level0 stac:time_start",
        "1 sample, b, has no value",
        |folder| {
            let times: ArrayRef = Arc::new(Int64Array::from(vec![Some(1), None]));
            file(
                folder,
                tortilla(
                    vec![row("a", b"x"), row("b", b"y")],
                    vec![("stac:time_start", times)],
                ),
            )
        },
    ),
    (
        Rule::TortillaEndNull,
        "level0 stac:time_end",
        "2 samples, a the first, have no value",
        |folder| {
            let times: ArrayRef =
                arrow::array::new_null_array(&arrow::datatypes::DataType::Null, 2);
            file(
                folder,
                tortilla(
                    vec![row("a", b"x"), row("b", b"y")],
                    vec![("stac:time_end", times)],
                ),
            )
        },
    ),
    (
        Rule::TortillaFormat,
        "a",
        "file_format is geotiff",
        |folder| {
            file(
                folder,
                tortilla(
                    vec![Row {
                        format: "geotiff",
                        ..row("a", b"x")
                    }],
                    Vec::new(),
                ),
            )
        },
    ),
    (
        Rule::TortillaTypes,
        "level1 rank",
        "int64 and string",
        |folder| {
            let numbers: ArrayRef = Arc::new(Int64Array::from(vec![1]));
            let one = tortilla(vec![row("x", b"1")], vec![("rank", numbers)]);
            let two = tortilla(vec![row("x", b"1")], vec![("rank", text(&["high"]))]);
            let rows = vec![
                Row {
                    format: "TORTILLA",
                    ..row("a", &one)
                },
                Row {
                    format: "TORTILLA",
                    ..row("b", &two)
                },
            ];
            file(folder, tortilla(rows, Vec::new()))
        },
    ),
    (
        Rule::TortillaCurators,
        "COLLECTION.json curators",
        "missing",
        |folder| copied("46_v1_taco_nested", "nested.taco", folder, |_| {}),
    ),
    (
        Rule::TortillaCollection,
        "COLLECTION.json licenses",
        "missing",
        |folder| {
            copied("46_v1_taco_nested", "nested.taco", folder, |bytes| {
                replace(bytes, b"[\"cc-by-4.0\"]", b"[           ]")
            })
        },
    ),
    (
        Rule::ClassCategory,
        "COLLECTION.json labels/label_classes/1/category",
        "A, B",
        |folder| {
            copied("46_v1_taco_nested", "nested.taco", folder, |bytes| {
                replace(bytes, b"\"category\":\"b\"", b"\"category\":\"0\"")
            })
        },
    ),
    (
        Rule::TortillaField,
        "COLLECTION.json title",
        "a number",
        |folder| {
            copied("46_v1_taco_nested", "nested.taco", folder, |bytes| {
                replace(bytes, b"\"title\":null", b"\"title\":1234")
            })
        },
    ),
    (
        Rule::TortillaField,
        "COLLECTION.json extent/spatial",
        "Latitudes",
        |folder| {
            copied("46_v1_taco_nested", "nested.taco", folder, |bytes| {
                replace(bytes, b"-8.0,6.2,50.0", b"-8.0,6.2,90.5")
            })
        },
    ),
    (
        Rule::TortillaWord,
        "COLLECTION.json task",
        "farming",
        |folder| {
            copied("46_v1_taco_nested", "nested.taco", folder, |bytes| {
                replace(bytes, b"\"classification\"", b"\"farming_fields\"")
            })
        },
    ),
    (
        Rule::TortillaTextForm,
        "COLLECTION.json extent/temporal",
        "milliseconds",
        |folder| copied("46_v1_taco_nested", "nested.taco", folder, |_| {}),
    ),
    (
        Rule::TortillaTextForm,
        "COLLECTION.json split_strategy",
        "manual",
        |folder| copied("46_v1_taco_nested", "nested.taco", folder, |_| {}),
    ),
    (Rule::CollectionRead, "COLLECTION.json", "JSON", |folder| {
        copied("46_v1_taco_nested", "nested.taco", folder, |bytes| {
            let end = bytes.len();
            bytes[end - 3..].fill(b'!');
        })
    }),
    (Rule::Unreadable, "dataset", "not inside the", |folder| {
        let mut bytes = tortilla(vec![row("a", b"x")], Vec::new());
        bytes.truncate(300);
        file(folder, bytes)
    }),
    (
        Rule::Taco3Files,
        "scene_02 / after.tif",
        "say otherwise",
        |folder| {
            copied("60_v3_zip", "change.zip", folder, |bytes| {
                // The member's local header gets an extra field of four bytes, taken from its data,
                // without changing the levels.
                let name = b"DATA/1/after.tif";
                let at = bytes
                    .windows(name.len())
                    .position(|window| window == name)
                    .expect("the member")
                    - 30;
                bytes[at + 28] = 4;
            })
        },
    ),
    (Rule::Taco3Contract, "scene_01", "label.tif", |folder| {
        copied("60_v3_zip", "change.zip", folder, |bytes| {
            let name = b"\"label.tif\"";
            let at = bytes
                .windows(name.len())
                .position(|window| window == name)
                .expect("the contract");
            bytes[at..at + name.len()].copy_from_slice(b"\"label.tix\"");
        })
    }),
];

/// The rules covered by these cases.
pub fn rules() -> impl Iterator<Item = Rule> {
    FAULTS.iter().map(|fault| fault.0)
}

fn listed(report: &Report) -> String {
    report
        .findings
        .iter()
        .map(|f| format!("  {} at {}: {}\n", f.rule, f.at, f.message))
        .collect()
}

#[test]
fn every_fault_is_found_where_it_is() {
    let workspace = Workspace::new();
    let mut wrong = String::new();
    for (number, (rule, at, says, make)) in FAULTS.iter().enumerate() {
        let folder = workspace.path(&format!("fault{number}"));
        std::fs::create_dir(&folder).expect("a folder");
        let path = make(&folder);
        let profile = if rule.applies_to(Profile::Tools) {
            Profile::Tools
        } else {
            Profile::Spec
        };
        let report = match check_file(&path, profile, true) {
            Ok(report) => report,
            Err(error) => panic!("{rule}: {error}"),
        };
        let says = if *says == "label.tif" {
            "label.tix"
        } else {
            says
        };
        let shown = report
            .findings
            .iter()
            .any(|f| f.rule == *rule && f.at.to_string() == *at && f.message.contains(says));
        if !shown {
            wrong.push_str(&format!(
                "{rule} at {at} with {says:?} is not among:\n{}",
                listed(&report)
            ));
        }
    }
    assert!(wrong.is_empty(), "{wrong}");
}

#[test]
fn a_sound_tortilla_has_no_finding() {
    let workspace = Workspace::new();
    let inner = tortilla(vec![row("x", b"1"), row("y", b"2")], Vec::new());
    let rows = vec![
        Row {
            format: "TORTILLA",
            ..row("a", &inner)
        },
        row("b", b"xyz"),
    ];
    let path = workspace.write(
        "good.tortilla",
        tortilla(
            rows,
            vec![("tortilla:data_split", text(&["train", "test"]))],
        ),
    );
    let report = check_file(&path, Profile::Tools, true).expect("a report");
    assert_eq!(listed(&report), "");
}

#[test]
fn each_column_that_a_class_of_tortillas_needs_is_named_when_it_lacks() {
    let workspace = Workspace::new();
    let classes = [
        (
            "stac",
            &[
                "crs",
                "geotransform",
                "raster_shape",
                "time_start",
                "time_end",
            ][..],
        ),
        (
            "rai",
            &[
                "elevation",
                "cisi",
                "gdp",
                "hdi",
                "gmi",
                "pop",
                "admin0",
                "admin1",
                "admin2",
            ][..],
        ),
    ];
    for (class, columns) in classes {
        let names: Vec<String> = columns
            .iter()
            .map(|column| format!("{class}:{column}"))
            .collect();
        for lacking in &names {
            let others = names
                .iter()
                .filter(|name| *name != lacking)
                .map(|name| (name.as_str(), text(&["1"])))
                .collect();
            let path = workspace.write("lacking.tortilla", tortilla(vec![row("a", b"x")], others));
            let report = check_file(&path, Profile::Tools, false).expect("a report");
            let found: Vec<&str> = report
                .findings
                .iter()
                .filter(|f| f.rule.code() == "TOR-7")
                .map(|f| f.message.as_str())
                .collect();
            assert!(
                found.len() == 1 && found[0].contains(lacking.as_str()),
                "without {lacking}: {}",
                listed(&report)
            );
        }
    }
}

#[test]
fn any_single_changed_byte_gives_an_answer() {
    let workspace = Workspace::new();
    let inner = tortilla(vec![row("x", b"1"), row("y", b"2")], Vec::new());
    let good = tortilla(
        vec![
            Row {
                format: "TORTILLA",
                ..row("a", &inner)
            },
            row("b", b"xyz"),
        ],
        Vec::new(),
    );
    let path = workspace.path("bad.tortilla");
    let mut opened = 0;
    // Every byte of both headers, and every third byte of the rest.
    for at in (0..good.len()).filter(|at| *at < 420 || at % 3 == 0) {
        for change in [0x01u8, 0x80, 0xFF] {
            let mut bytes = good.clone();
            bytes[at] ^= change;
            std::fs::write(&path, bytes).expect("writes");
            // With another magic number the file is no dataset.
            if let Ok(report) = check_file(&path, Profile::Tools, true) {
                opened += usize::from(report.is_valid());
            }
        }
    }
    assert!(opened > 0, "no change is harmless, not even in the data");
}
