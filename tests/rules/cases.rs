//! One or more broken datasets for every rule: the damage, and the text that the finding must
//! contain.

#[cfg(unix)]
use std::path::Path;
use std::sync::Arc;

use arrow::array::ArrayRef;
use arrow::datatypes::DataType;
use serde_json::{Value as Json, json};
use taco_studio::model::{AssetPath, Dataset, FieldSpec, Payload, Rule, Sample, Tortilla};

use super::damage::{Files, HEADER, patch_both, records, rename};

/// What is damaged.
pub enum Damage {
    /// A draft.
    Draft(fn(&mut Dataset)),
    /// Files common to ZIP and FOLDER; both must give the same finding.
    Both(fn(&mut Files)),
    /// The members of a ZIP; header and directory are rebuilt.
    Members(fn(&mut Files)),
    /// The bytes of a ZIP.
    Bytes(fn(&mut Vec<u8>)),
    /// The files of a FOLDER.
    Folder(fn(&mut Files)),
    /// A FOLDER on disk; next to it is a folder `elsewhere`.
    #[cfg(unix)]
    Disk(fn(&Path)),
    /// Nothing, but the dataset is in a folder of this name.
    Place(&'static str),
}

pub struct Case {
    pub rule: Rule,
    /// Location of the finding, as text.
    pub at: &'static str,
    /// Text that the message contains.
    pub says: &'static str,
    pub damage: Damage,
}

const LEVEL0: &str = "METADATA/level0.parquet";
const LEVEL1: &str = "METADATA/level1.parquet";
const META_B: &str = "DATA/scene_b/__meta__";
const BEFORE: &str = "DATA/scene_a/before.bin";
const AFTER: &str = "DATA/scene_a/after.bin";

fn root(dataset: &mut Dataset) -> &mut Tortilla {
    Arc::make_mut(&mut dataset.root)
}

/// Moves the file at `path` out of the dataset, and replaces it by a symbolic link.
#[cfg(unix)]
fn lead_out(path: &Path, name: &str) {
    let dataset = path
        .ancestors()
        .find(|above| above.join("COLLECTION.json").exists())
        .expect("a dataset");
    let elsewhere = dataset.with_file_name("elsewhere");
    std::fs::create_dir_all(&elsewhere).expect("a folder");
    std::fs::rename(path, elsewhere.join(name)).expect("moves");
    std::os::unix::fs::symlink(elsewhere.join(name), path).expect("links");
}

/// The tortilla of a root.
fn inside(dataset: &mut Dataset, row: usize) -> &mut Tortilla {
    match &mut root(dataset).samples[row].payload {
        Payload::Folder(tortilla) => Arc::make_mut(tortilla),
        other => panic!("{other:?} is no FOLDER"),
    }
}

fn set(dataset: &mut Dataset, key: &str, value: Json) {
    dataset.collection.set(key, Some(value));
}

fn add_field(tortilla: &mut Tortilla, field: FieldSpec) {
    tortilla.schema = tortilla.schema.iter().cloned().chain([field]).collect();
}

/// Wraps every root in `levels` FOLDERs.
fn bury(dataset: &mut Dataset, levels: usize) {
    for _ in 0..levels {
        for sample in &mut root(dataset).samples {
            let inner = Sample {
                id: "inner".into(),
                ..sample.clone()
            };
            sample.payload = Payload::Folder(
                Tortilla::new(vec![Sample {
                    values: [].into(),
                    ..inner
                }])
                .into(),
            );
        }
    }
}

fn reverse(columns: &mut [(String, ArrayRef)]) {
    for (_, array) in columns {
        let order: arrow::array::UInt32Array = (0..array.len() as u32).rev().collect();
        *array = arrow::compute::take(array, &order, None).expect("rows");
    }
}

/// Flips one bit at the offset returned by `at`.
fn flip(bytes: &mut [u8], at: impl FnOnce(&[u8]) -> usize) {
    let at = at(bytes);
    bytes[at] ^= 0x40;
}

/// Offset of a member's data.
fn data(bytes: &[u8], name: &str) -> usize {
    records(bytes, name).0 + 30 + name.len()
}

/// Adds a copy of a column under another name.
fn copy_column(files: &mut Files, table: &str, from: &str, to: &str) {
    files.table(table, |columns| {
        let (_, array) = columns
            .iter()
            .find(|(name, _)| name == from)
            .expect("the column")
            .clone();
        columns.push((to.to_owned(), array));
    });
}

/// Casts a column.
fn cast(columns: &mut [(String, ArrayRef)], name: &str, dtype: &DataType) {
    let (_, array) = columns
        .iter_mut()
        .find(|(known, _)| known == name)
        .expect("the column");
    *array = arrow::compute::cast(array, dtype).expect("a cast");
}

/// Swaps the first two values of a column.
fn swap_rows(columns: &mut [(String, ArrayRef)], name: &str) {
    let (_, array) = columns
        .iter_mut()
        .find(|(known, _)| known == name)
        .expect("the column");
    let mut order: Vec<u32> = (0..array.len() as u32).collect();
    order.swap(0, 1);
    *array =
        arrow::compute::take(array, &arrow::array::UInt32Array::from(order), None).expect("rows");
}

/// Lists a column in taco:field_schema.
fn declare(files: &mut Files, level: &str, name: &str, dtype: &str) {
    files.json(|c| {
        c["taco:field_schema"][level]
            .as_array_mut()
            .expect("a list")
            .push(json!([name, dtype, ""]))
    });
}

/// Updates the CRC-32 of TACO_HEADER.
fn seal(bytes: &mut [u8]) {
    let crc = crc32fast::hash(&bytes[HEADER..HEADER + 116]).to_le_bytes();
    patch_both(bytes, "TACO_HEADER", 10, &crc);
}

/// Replaces the last FILE of every root by padding, and counts it as a sample, as older tools do.
fn pad(files: &mut Files) {
    const PADDING: &str = "__TACOPAD__0";
    for (place, root) in super::ROOTS.iter().enumerate() {
        let row = 3 * place + 2;
        files.set_text(LEVEL1, "id", row, PADDING);
        files.set_text(
            LEVEL1,
            "internal:relative_path",
            row,
            &format!("{root}/{PADDING}"),
        );
        files.set_text(&format!("DATA/{root}/__meta__"), "id", 2, PADDING);
        files.remove(&format!("DATA/{root}/label.bin"));
        files.put(&format!("DATA/{root}/{PADDING}"), "");
    }
    files.json(|c| c["taco:pit_schema"]["hierarchy"]["1"][0]["id"][2] = json!(PADDING));
}

/// Statistics of one band with three classes, the last of which has the share 0.
fn class_shares(columns: &mut Vec<(String, ArrayRef)>) {
    use arrow::array::{Float64Builder, ListBuilder};
    let rows = columns[0].1.len();
    let mut builder = ListBuilder::new(ListBuilder::new(Float64Builder::new()));
    for _ in 0..rows {
        for share in [0.24, 0.76, 0.0] {
            builder.values().values().append_value(share);
        }
        builder.values().append(true);
        builder.append(true);
    }
    columns.push(("geotiff:stats".into(), Arc::new(builder.finish())));
}

/// Shares of water of a flood dataset, of which one may be no share.
fn water_shares(files: &mut Files, worst: f64) {
    use arrow::array::Float64Array;
    files.table(LEVEL1, |columns| {
        let shares = (0..columns[0].1.len()).map(|row| if row == 4 { worst } else { 0.25 });
        columns.push((
            "flood:water_share".into(),
            Arc::new(Float64Array::from_iter_values(shares)),
        ));
    });
    declare(files, "level1", "flood:water_share", "double");
}

const fn case(rule: Rule, at: &'static str, says: &'static str, damage: Damage) -> Case {
    Case {
        rule,
        at,
        says,
        damage,
    }
}

pub fn all() -> Vec<Case> {
    #[cfg(unix)]
    use Damage::Disk;
    use Damage::{Both, Bytes, Draft, Folder, Members};
    let mut cases = vec![
        case(
            Rule::PitRoots,
            "scene_b",
            "label.bin",
            Draft(|d| drop(inside(d, 1).samples.pop())),
        ),
        case(
            Rule::PitRoots,
            "scene_c / other",
            "after.bin",
            Draft(|d| inside(d, 2).samples[1].id = "other".into()),
        ),
        case(
            Rule::PitMixed,
            "scene_c",
            "one type",
            Draft(|d| root(d).samples[2].payload = Payload::Bytes([7].into())),
        ),
        case(
            Rule::PitSchemaUniform,
            "scene_b",
            "only in some",
            Draft(|d| add_field(inside(d, 1), FieldSpec::new("x", DataType::Utf8))),
        ),
        case(
            Rule::PitSchemaUniform,
            "scene_c",
            "bands is missing",
            Draft(|d| inside(d, 2).schema = [].into()),
        ),
        case(
            Rule::PitSchemaUniform,
            "scene_b",
            "bands is string here and int64",
            Draft(|d| {
                let tortilla = inside(d, 1);
                let retype = |field: &FieldSpec| match field.name.as_str() {
                    "bands" => FieldSpec::new("bands", DataType::Utf8),
                    _ => field.clone(),
                };
                tortilla.schema = tortilla.schema.iter().map(retype).collect();
            }),
        ),
        case(
            Rule::PitDepth,
            "dataset",
            "7 levels deep",
            Draft(|d| bury(d, 5)),
        ),
        case(
            Rule::PitEmptyFolder,
            "scene_b",
            "without children",
            Draft(|d| inside(d, 1).samples.clear()),
        ),
        case(
            Rule::PitEmptyFolder,
            "scene_b",
            "without children",
            Draft(|d| (0..3).for_each(|row| inside(d, row).samples.clear())),
        ),
        case(
            Rule::IdCharacters,
            "a:b",
            "contains \":\"",
            Draft(|d| root(d).samples[0].id = "a:b".into()),
        ),
        case(
            Rule::IdPortable,
            "CON.tif",
            "device",
            Draft(|d| root(d).samples[0].id = "CON.tif".into()),
        ),
        case(
            Rule::IdCharacters,
            "scene_a / __x",
            "padding",
            Draft(|d| inside(d, 0).samples[0].id = "__x".into()),
        ),
        case(
            Rule::IdUnique,
            "scene_a",
            "Duplicate id",
            Draft(|d| root(d).samples[2].id = "scene_a".into()),
        ),
        case(
            Rule::IdUnique,
            "scene_b / before.bin",
            "Duplicate id",
            Draft(|d| inside(d, 1).samples[2].id = "before.bin".into()),
        ),
        case(
            Rule::IdPortable,
            "scene_b / Before.bin",
            "in case alone",
            Draft(|d| {
                for row in 0..3 {
                    inside(d, row).samples[1].id = "Before.bin".into();
                }
            }),
        ),
        case(
            Rule::IdPortable,
            "SCENE_A",
            "in case alone",
            Draft(|d| root(d).samples[2].id = "SCENE_A".into()),
        ),
        case(
            Rule::IdUnicode,
            "Can\u{303}on",
            "two Unicode forms",
            Draft(|d| {
                root(d).samples[0].id = "Ca\u{f1}on".into();
                root(d).samples[2].id = "Can\u{303}on".into();
            }),
        ),
        case(
            Rule::FieldName,
            "level0 cloud cover",
            "letters",
            Draft(|d| add_field(root(d), FieldSpec::new("cloud cover", DataType::Utf8))),
        ),
        case(
            Rule::SourceMissing,
            "scene_b / after.bin",
            "gone.bin",
            Draft(|d| {
                inside(d, 1).samples[1].payload =
                    Payload::asset(AssetPath::file("/nowhere/gone.bin"), 10);
            }),
        ),
        case(
            Rule::RasterRead,
            "scene_b / before.tif",
            "can't be opened",
            Draft(|d| {
                for row in 0..3 {
                    inside(d, row)
                        .samples
                        .iter_mut()
                        .filter(|sample| &*sample.id == "before.bin")
                        .for_each(|sample| {
                            sample.id = "before.tif".into();
                        });
                }
            }),
        ),
        case(
            Rule::SidecarLeft,
            "scene_a / before.bin",
            "image.tif.msk is not packed with image.tif",
            Draft(|d| {
                let sample = inside(d, 0)
                    .samples
                    .iter_mut()
                    .find(|sample| &*sample.id == "before.bin")
                    .expect("is there");
                let Payload::Asset { path, .. } = &sample.payload else {
                    panic!("{sample:?}")
                };
                let image = path
                    .local_file()
                    .expect("a file")
                    .with_file_name("image.tif");
                crate::support::geotiff(&image, 1, 8, 1);
                std::fs::write(image.with_file_name("image.tif.msk"), b"mask").expect("writes");
                let size = std::fs::metadata(&image).expect("is there").len();
                sample.payload = Payload::asset(AssetPath::file(image), size);
            }),
        ),
        case(
            Rule::PitTransposed,
            "dataset",
            "scene_a (1 band of Byte), scene_b (2 bands of Byte), scene_c (3 bands of Byte) hold 3 \
                files of the same names",
            Draft(|d| {
                for row in 0..3 {
                    for sample in &mut inside(d, row).samples {
                        let Payload::Asset { path, .. } = &sample.payload else {
                            panic!("{sample:?}")
                        };
                        let image = path
                            .local_file()
                            .expect("a file")
                            .with_file_name(format!("kind{row}_{}.tif", sample.id));
                        crate::support::geotiff(&image, row + 1, 8, 1);
                        let size = std::fs::metadata(&image).expect("is there").len();
                        sample.payload = Payload::asset(AssetPath::file(image), size);
                    }
                }
            }),
        ),
        case(
            Rule::FileNeedsOthers,
            "scene_a / before.bin",
            "cube.dat can't be read alone: GDAL reads it together with cube.hdr (ENVI, 2 × 2, 1 \
                band of Byte)",
            Draft(|d| {
                let sample = inside(d, 0)
                    .samples
                    .iter_mut()
                    .find(|sample| &*sample.id == "before.bin")
                    .expect("is there");
                let Payload::Asset { path, .. } = &sample.payload else {
                    panic!("{sample:?}")
                };
                let data = path
                    .local_file()
                    .expect("a file")
                    .with_file_name("cube.dat");
                let header = "ENVI\nsamples = 2\nlines = 2\nbands = 1\ndata type = 1\ninterleave = \
                    bsq\nbyte order = 0\n";
                std::fs::write(&data, [1; 4]).expect("writes");
                std::fs::write(data.with_extension("hdr"), header).expect("writes");
                sample.payload = Payload::asset(AssetPath::file(data), 4);
            }),
        ),
    ];
    cases.extend(collection());
    cases.extend([
        case(
            Rule::PathQuote,
            "dataset",
            "apostrophe",
            Damage::Place("it's here"),
        ),
        case(
            Rule::DataElsewhere,
            "scene_a / before.bin",
            "(VRT), which names /etc/x.tif",
            Both(|f| {
                f.patch(BEFORE, |bytes| {
                    let text =
                        b"<VRTDataset><SourceFilename>/etc/x.tif</SourceFilename></VRTDataset>";
                    bytes.fill(b' ');
                    bytes[..text.len()].copy_from_slice(text);
                })
            }),
        ),
        case(
            Rule::CrsElsewhere,
            "scene_b",
            "(nadgrids=/etc/passwd)",
            Both(|f| {
                f.table(LEVEL0, |columns| {
                    let texts = [
                        Some("EPSG:4326"),
                        Some("+proj=longlat +nadgrids=/etc/passwd"),
                        None,
                    ];
                    columns.push((
                        "stac:crs".into(),
                        Arc::new(texts.into_iter().collect::<arrow::array::StringArray>()),
                    ));
                });
                declare(f, "level0", "stac:crs", "string");
            }),
        ),
        case(
            Rule::TableStatistics,
            "level0 cloud_cover",
            "have the maximum 0.3, but 0.5 is one of its values",
            Both(|f| {
                f.patch(LEVEL0, |bytes| {
                    // The footer is at the end, before its length and the magic number.
                    let end = bytes.len() - 8;
                    let length = u32::from_le_bytes([
                        bytes[end],
                        bytes[end + 1],
                        bytes[end + 2],
                        bytes[end + 3],
                    ]) as usize;
                    let places: Vec<usize> = (end - length..end - 8)
                        .filter(|&at| bytes[at..at + 8] == 0.5f64.to_le_bytes())
                        .collect();
                    assert!(!places.is_empty());
                    places
                        .into_iter()
                        .for_each(|at| bytes[at..at + 8].copy_from_slice(&0.3f64.to_le_bytes()));
                })
            }),
        ),
        case(
            Rule::IdDatasetLetter,
            "COLLECTION.json id",
            "2023-1",
            Draft(|d| set(d, "id", json!("2023-1"))),
        ),
        case(
            Rule::IdDatasetText,
            "COLLECTION.json id",
            "a to z",
            Draft(|d| {
                set(d, "id", json!("ñandú"));
                set(d, "providers", json!([{"name": "A", "role": "producer"}]));
            }),
        ),
        case(
            Rule::TextColumns,
            "level0",
            "path, internal:relative_path",
            Both(|f| f.json(|c| c["providers"] = json!([{"name": "A", "role": "producer"}]))),
        ),
        case(
            Rule::ContactForm,
            "COLLECTION.json providers/0/roles",
            "field of the tools",
            Draft(|_| {}),
        ),
        case(
            Rule::TacoVersion,
            "COLLECTION.json taco_version",
            "0.5.0",
            Draft(|d| {
                set(d, "taco_version", json!("0.5.0"));
                set(d, "providers", json!([{"name": "A", "role": "producer"}]));
            }),
        ),
    ]);
    cases.extend([
        case(
            Rule::PitDeclared,
            "COLLECTION.json taco:pit_schema",
            "7 roots",
            Both(|f| f.json(|c| c["taco:pit_schema"]["root"]["n"] = json!(7))),
        ),
        case(
            Rule::PitDeclared,
            "COLLECTION.json taco:pit_schema",
            "missing",
            Both(|f| f.json(|c| c["taco:pit_schema"] = Json::Null)),
        ),
        case(
            Rule::PitStale,
            "COLLECTION.json taco:pit_schema",
            "counts",
            Both(|f| f.json(|c| c["taco:pit_schema"]["hierarchy"]["1"][0]["n"] = json!(4))),
        ),
        case(
            Rule::PitStale,
            "COLLECTION.json taco:pit_schema",
            "counts",
            Both(|f| f.json(|c| c["taco:pit_schema"]["shape"] = json!([9, 3]))),
        ),
        case(
            Rule::PitIncomplete,
            "COLLECTION.json taco:pit_schema",
            "lists 0 of them",
            Both(|f| f.json(|c| c["taco:pit_schema"]["hierarchy"]["1"] = json!([]))),
        ),
        case(
            Rule::PitPadding,
            "COLLECTION.json taco:pit_schema",
            "lists a placeholder",
            Folder(pad),
        ),
        case(
            Rule::PitPadding,
            "COLLECTION.json taco:pit_schema",
            "lists a placeholder",
            Both(|f| {
                f.json(|c| {
                    c["taco:pit_schema"]["hierarchy"]["1"][0]["id"][2] = json!("__TACOPAD__0")
                })
            }),
        ),
        case(
            Rule::PitDeclared,
            "COLLECTION.json taco:pit_schema",
            "level 1",
            Both(|f| {
                f.json(|c| {
                    c["taco:pit_schema"]["hierarchy"]["1"][0]["id"][2] = json!("mask.bin");
                })
            }),
        ),
        case(
            Rule::TypeWord,
            "scene_a / after.bin",
            "\"DIR\"",
            Both(|f| f.set_text(LEVEL1, "type", 1, "DIR")),
        ),
        case(
            Rule::CollectionRead,
            "COLLECTION.json",
            "not a JSON object",
            Both(|f| f.put("COLLECTION.json", "[1, 2]")),
        ),
        case(
            Rule::CollectionRead,
            "COLLECTION.json",
            "line 1",
            Both(|f| f.put("COLLECTION.json", "{\"id\": ")),
        ),
        case(
            Rule::CollectionRead,
            "COLLECTION.json",
            "Could not read",
            Folder(|f| f.remove("COLLECTION.json")),
        ),
        case(
            Rule::ExtentCovers,
            "COLLECTION.json extent/spatial",
            "2 of 3",
            Both(|f| f.json(|c| c["extent"]["spatial"] = json!([10, 45, 10.5, 45]))),
        ),
        case(
            Rule::ExtentHemisphere,
            "COLLECTION.json extent/spatial",
            "3 of 3 centroids of level 0 have eastern ones",
            Both(|f| f.json(|c| c["extent"]["spatial"] = json!([-70, 43, -60, 45]))),
        ),
        case(
            Rule::FieldOrder,
            "COLLECTION.json taco:field_schema/level1",
            "another order",
            Both(|f| {
                f.json(|c| {
                    c["taco:field_schema"]["level1"]
                        .as_array_mut()
                        .expect("a list")
                        .swap(2, 3)
                })
            }),
        ),
        case(
            Rule::StoredPath,
            "level1 internal:gdal_vsi",
            "old paths",
            Both(|f| copy_column(f, LEVEL1, "id", "internal:gdal_vsi")),
        ),
        case(
            Rule::FieldName,
            "level1 cloud cover",
            "letters",
            Both(|f| copy_column(f, LEVEL1, "bands", "cloud cover")),
        ),
        case(
            Rule::TypeRefused,
            "level1 half",
            "halffloat",
            Members(|f| {
                copy_column(f, LEVEL1, "bands", "half");
                f.table(LEVEL1, |columns| cast(columns, "half", &DataType::Float16));
                declare(f, "level1", "half", "halffloat");
            }),
        ),
        case(
            Rule::PitSchemaUniform,
            "scene_b",
            "bands is string in its __meta__ and int64 in level1",
            Both(|f| f.table(META_B, |columns| cast(columns, "bands", &DataType::Utf8))),
        ),
        case(
            Rule::StatisticsClass,
            "level1 geotiff:stats",
            "all 9 bands",
            Both(|f| {
                f.table(LEVEL1, class_shares);
                declare(
                    f,
                    "level1",
                    "geotiff:stats",
                    "list<item: list<item: double>>",
                );
            }),
        ),
        case(
            Rule::ConventionValues,
            "scene_b / after.bin",
            "from 0 to 1",
            Both(|f| {
                water_shares(f, 1.5);
                f.json(|c| {
                    c["labels:classes"] = json!([{"name": "land", "category": "0"},
                    {"name": "water", "category": "1"}])
                });
            }),
        ),
        case(
            Rule::ConventionClasses,
            "COLLECTION.json labels:classes",
            "land, water",
            Both(|f| water_shares(f, 0.5)),
        ),
        case(
            Rule::FieldSchema,
            "COLLECTION.json taco:field_schema/level1",
            "bands is int64",
            Both(|f| {
                f.json(|c| {
                    let fields = c["taco:field_schema"]["level1"]
                        .as_array_mut()
                        .expect("a list");
                    let bands = fields
                        .iter_mut()
                        .find(|field| field[0] == "bands")
                        .expect("the field");
                    bands[1] = json!("string");
                })
            }),
        ),
        case(
            Rule::FieldSchema,
            "COLLECTION.json taco:field_schema/level0",
            "has no entry",
            Both(|f| {
                f.json(|c| {
                    c["taco:field_schema"]
                        .as_object_mut()
                        .expect("an object")
                        .remove("level0");
                })
            }),
        ),
        case(
            Rule::LevelReadable,
            "level1",
            "METADATA/level1.parquet",
            Both(|f| f.put(LEVEL1, [0; 500])),
        ),
        case(
            Rule::LevelReadable,
            "level1",
            "METADATA/level1.parquet",
            Both(|f| f.patch(LEVEL1, |bytes| bytes[4..400].fill(0xFF))),
        ),
        case(
            Rule::LevelColumns,
            "level1 internal:parent_id",
            "no column",
            Both(|f| f.drop_column(LEVEL1, "internal:parent_id")),
        ),
        case(
            Rule::LevelColumns,
            "level0 type",
            "no column type",
            Both(|f| f.drop_column(LEVEL0, "type")),
        ),
        case(
            Rule::LevelColumns,
            "level1 id",
            "has to be string",
            Both(|f| f.table(LEVEL1, |columns| columns[0].1 = columns[2].1.clone())),
        ),
        case(
            Rule::LevelColumns,
            "level0 internal:offset",
            "no column",
            Members(|f| f.drop_column(LEVEL0, "internal:offset")),
        ),
        case(
            Rule::ParentLink,
            "after.bin",
            "no row of level 0",
            Both(|f| f.set_integer(LEVEL1, "internal:parent_id", 1, |_| 99)),
        ),
        case(
            Rule::ParentLink,
            "scene_a / after.bin",
            "not grouped",
            Both(|f| f.set_integer(LEVEL1, "internal:parent_id", 4, |_| 0)),
        ),
        case(
            Rule::ParentLink,
            "scene_c",
            "number of the row itself",
            Both(|f| f.set_integer(LEVEL0, "internal:parent_id", 2, |_| 0)),
        ),
        case(
            Rule::CurrentId,
            "scene_a / label.bin",
            "row 2",
            Both(|f| f.set_integer(LEVEL1, "internal:current_id", 2, |_| 7)),
        ),
        case(
            Rule::RelativePath,
            "scene_a / before.bin",
            "else/where",
            Both(|f| f.set_text(LEVEL1, "internal:relative_path", 0, "else/where")),
        ),
        case(
            Rule::LocalMeta,
            "scene_b",
            "lists 3 children (label.bin",
            Both(|f| f.table(META_B, |columns| reverse(columns))),
        ),
        case(
            Rule::LocalMeta,
            "scene_b",
            "can't be read",
            Both(|f| f.put(META_B, [1; 300])),
        ),
        case(
            Rule::LocalMeta,
            "scene_b",
            "no id",
            Both(|f| f.drop_column(META_B, "id")),
        ),
        case(
            Rule::LocalMeta,
            "scene_b",
            "internal:offset or internal:size of after.bin",
            Members(|f| f.set_integer(META_B, "internal:offset", 1, |at| at + 1)),
        ),
        case(
            Rule::LocalMeta,
            "scene_b",
            "internal:offset or internal:size of",
            Members(|f| f.drop_column(META_B, "internal:size")),
        ),
        case(
            Rule::LocalMetaValues,
            "scene_b / after.bin",
            "bands is \"9\"",
            Both(|f| f.set_integer(META_B, "bands", 1, |_| 9)),
        ),
        case(
            Rule::NoCurrentId,
            "level0 internal:current_id",
            "Python reader",
            Both(|f| {
                f.drop_column(LEVEL0, "internal:current_id");
                f.json(|c| {
                    let fields = c["taco:field_schema"]["level0"]
                        .as_array_mut()
                        .expect("a list");
                    fields.retain(|field| field[0] != "internal:current_id");
                });
            }),
        ),
        case(
            Rule::ZipStructure,
            "dataset",
            "central directory",
            Bytes(|b| b.truncate(b.len() - 30)),
        ),
        case(
            Rule::ZipStructure,
            BEFORE,
            "differ",
            Bytes(|b| flip(b, |b| records(b, BEFORE).0 + 14)),
        ),
        case(
            Rule::ZipStructure,
            BEFORE,
            "No local header",
            Bytes(|b| flip(b, |b| records(b, BEFORE).1 + 42)),
        ),
        case(
            Rule::ZipHeader,
            "TACO_HEADER",
            "1 entries",
            Bytes(|b| b[HEADER] = 1),
        ),
        case(
            Rule::ZipHeader,
            "TACO_HEADER",
            "not zero",
            Bytes(|b| {
                b[HEADER + 1] = 1;
                seal(b);
            }),
        ),
        case(
            Rule::ZipHeaderEmpty,
            "TACO_HEADER",
            "0 entries",
            Bytes(|b| {
                b[HEADER] = 0;
                seal(b);
            }),
        ),
        case(
            Rule::ZipHeader,
            "TACO_HEADER",
            "outside the file",
            Bytes(|b| b[HEADER + 4 + 7] = 1),
        ),
        case(
            Rule::ZipHeader,
            "TACO_HEADER",
            "not zero",
            Bytes(|b| b[HEADER + 1] = 1),
        ),
        case(
            Rule::ZipHeader,
            "TACO_HEADER",
            "METADATA/level1.parquet",
            Bytes(|b| flip(b, |_| HEADER + 4 + 16)),
        ),
        case(
            Rule::ZipHeader,
            "TACO_HEADER",
            "COLLECTION.json",
            Bytes(|b| flip(b, |_| HEADER + 4 + 32)),
        ),
        case(
            Rule::ZipStore,
            BEFORE,
            "Compressed (method 8)",
            Bytes(|b| patch_both(b, BEFORE, 4, &[8, 0])),
        ),
        case(
            Rule::ZipStore,
            BEFORE,
            "Encrypted",
            Bytes(|b| patch_both(b, BEFORE, 2, &[1, 0])),
        ),
        case(
            Rule::ZipStore,
            BEFORE,
            "data descriptor",
            Bytes(|b| patch_both(b, BEFORE, 2, &[8, 0])),
        ),
        case(
            Rule::ZipStore,
            BEFORE,
            "said to have 9",
            Bytes(|b| patch_both(b, BEFORE, 18, &[9, 0, 0, 0])),
        ),
        case(
            Rule::ZipOverlap,
            AFTER,
            "Overlaps",
            Bytes(|b| patch_both(b, BEFORE, 14, &[200, 0, 0, 0, 200, 0, 0, 0])),
        ),
        case(
            Rule::ZipOverlap,
            AFTER,
            "past the end",
            Bytes(|b| patch_both(b, AFTER, 14, &[0, 0, 0, 9, 0, 0, 0, 9])),
        ),
        case(
            Rule::ZipCrc,
            BEFORE,
            "CRC-32",
            Bytes(|b| flip(b, |b| data(b, BEFORE) + 3)),
        ),
        case(
            Rule::ZipCrc,
            META_B,
            "CRC-32",
            Bytes(|b| flip(b, |b| data(b, META_B) + 9)),
        ),
        case(
            Rule::ZipName,
            "../A/scene_a/before.bin",
            "outside the archive",
            Bytes(|b| rename(b, BEFORE, "../A/scene_a/before.bin")),
        ),
        case(
            Rule::ZipName,
            AFTER,
            "Two members",
            Bytes(|b| rename(b, "DATA/scene_b/after.bin", AFTER)),
        ),
        case(
            Rule::ZipOffset,
            "scene_a / after.bin",
            "the sample is",
            Members(|f| f.set_integer(LEVEL1, "internal:offset", 1, |at| at + 1)),
        ),
        case(
            Rule::ZipOffset,
            "scene_b / before.bin",
            "the sample is",
            Members(|f| f.set_integer(LEVEL1, "internal:size", 3, |size| size - 1)),
        ),
        case(
            Rule::ZipOffsetOther,
            "scene_a / before.bin",
            "bytes of another sample",
            Members(|f| {
                for column in ["internal:offset", "internal:size"] {
                    f.table(LEVEL1, |columns| swap_rows(columns, column));
                }
            }),
        ),
        case(
            Rule::ZipOffset,
            "scene_c",
            "negative",
            Members(|f| f.set_integer(LEVEL0, "internal:offset", 2, |_| -1)),
        ),
        case(
            Rule::ZipMissing,
            "scene_a / before.bin",
            BEFORE,
            Bytes(|b| rename(b, BEFORE, "METADATA/level9.parquet")),
        ),
        case(
            Rule::ZipName,
            "../notes.txt",
            "outside the archive",
            Members(|f| f.put("../notes.txt", "hello")),
        ),
        case(
            Rule::ZipMissing,
            "scene_a / after.bin",
            AFTER,
            Bytes(|b| rename(b, AFTER, "DATA/scene_a/other.bin")),
        ),
        case(
            Rule::ZipStray,
            "DATA/scene_a/other.bin",
            "No level",
            Bytes(|b| rename(b, AFTER, "DATA/scene_a/other.bin")),
        ),
        case(
            Rule::ZipStray,
            "README.md",
            "No level",
            Members(|f| f.put("README.md", "hello")),
        ),
        case(
            Rule::FolderMissing,
            "scene_a / after.bin",
            AFTER,
            Folder(|f| f.remove(AFTER)),
        ),
        case(
            Rule::FolderMissing,
            "scene_b",
            META_B,
            Folder(|f| f.remove(META_B)),
        ),
        case(
            Rule::FolderStray,
            "DATA/scene_a/notes.txt",
            "No level",
            Folder(|f| f.put("DATA/scene_a/notes.txt", "hello")),
        ),
        case(
            Rule::FolderPath,
            "..",
            "outside DATA/",
            Folder(|f| f.set_text(LEVEL0, "id", 0, "..")),
        ),
        #[cfg(unix)]
        case(
            Rule::FolderLink,
            "scene_a / after.bin",
            "elsewhere/secret",
            Disk(|folder| lead_out(&folder.join(AFTER), "secret")),
        ),
        #[cfg(unix)]
        case(
            Rule::FolderLink,
            "scene_b / after.bin",
            "elsewhere",
            Disk(|folder| lead_out(&folder.join("DATA/scene_b"), "d")),
        ),
        case(
            Rule::Unreadable,
            "dataset",
            "METADATA/level0.parquet",
            Folder(|f| {
                f.remove(LEVEL0);
                f.remove(LEVEL1);
            }),
        ),
    ]);
    cases
}

/// The descriptive fields, which are checked alike in drafts and opened datasets.
fn collection() -> Vec<Case> {
    use Damage::{Both, Draft};
    vec![
        case(
            Rule::IdDataset,
            "COLLECTION.json id",
            "Peru 1",
            Draft(|d| set(d, "id", json!("Peru 1"))),
        ),
        case(
            Rule::CollectionRequired,
            "COLLECTION.json licenses",
            "SPDX",
            Draft(|d| set(d, "licenses", json!([]))),
        ),
        case(
            Rule::CollectionRequired,
            "COLLECTION.json providers",
            "empty",
            Both(|f| f.json(|c| c["providers"] = Json::Null)),
        ),
        case(
            Rule::CollectionType,
            "COLLECTION.json description",
            "a number",
            Draft(|d| set(d, "description", json!(5))),
        ),
        case(
            Rule::CollectionType,
            "COLLECTION.json providers/0",
            "text",
            Both(|f| f.json(|c| c["providers"][0] = json!("me"))),
        ),
        case(
            Rule::ProviderName,
            "COLLECTION.json providers/0/name",
            "tacotoolbox",
            Draft(|d| {
                set(
                    d,
                    "providers",
                    json!([{"organization": "A", "role": "producer"}]),
                )
            }),
        ),
        case(
            Rule::CollectionContact,
            "COLLECTION.json providers/0/email",
            "\"@\"",
            Draft(|d| {
                set(
                    d,
                    "providers",
                    json!([{"name": "A", "email": "a.example.org"}]),
                );
            }),
        ),
        case(
            Rule::CollectionExtent,
            "COLLECTION.json extent/spatial",
            "Latitudes",
            Draft(|d| {
                set(
                    d,
                    "extent",
                    json!({"spatial": [0, 0, 1, 100], "temporal": null}),
                );
            }),
        ),
        case(
            Rule::CollectionExtent,
            "COLLECTION.json extent/temporal",
            "ISO 8601",
            Both(|f| {
                f.json(|c| {
                    c["extent"]["temporal"] = json!(["yesterday", "today"]);
                })
            }),
        ),
        case(
            Rule::CollectionLicence,
            "COLLECTION.json licenses/0",
            "MyLicence",
            Draft(|d| set(d, "licenses", json!(["MyLicence"]))),
        ),
        case(
            Rule::CollectionTask,
            "COLLECTION.json tasks/0",
            "farming",
            Draft(|d| set(d, "tasks", json!(["farming"]))),
        ),
        case(
            Rule::ClassCategory,
            "COLLECTION.json labels:classes/1/category",
            "Lake, River",
            Both(|f| {
                f.json(|c| {
                    c["labels:classes"] = json!([{"name": "Lake", "category": "1"},
                    {"name": "River", "category": "1"}])
                })
            }),
        ),
        case(
            Rule::ClassName,
            "COLLECTION.json labels:classes/1/name",
            "class 1",
            Draft(|d| {
                set(
                    d,
                    "labels:classes",
                    json!([{"name": "Lake", "category": "1"}, {"name": "Lake", "category": "2"}]),
                )
            }),
        ),
        case(
            Rule::CollectionTitle,
            "COLLECTION.json title",
            "251",
            Draft(|d| set(d, "title", json!("x".repeat(251)))),
        ),
        case(
            Rule::CollectionKeywords,
            "COLLECTION.json keywords",
            "No keywords",
            Draft(|d| set(d, "keywords", Json::Null)),
        ),
    ]
}
