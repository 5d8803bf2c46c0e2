//! Croissant 1.0: archive or folder as file objects, level tables as record sets, RAI fields, and
//! coverage in space and time.

use arrow::datatypes::DataType;
use serde_json::{Map, Value as Json, json};

use super::{Described, Facts};
use crate::container::Format;

/// The JSON-LD document.
pub fn document(described: &Described<'_>) -> Json {
    let mut out = Map::new();
    out.insert("@context".into(), context());
    out.insert("@type".into(), json!("sc:Dataset"));
    let rai: Vec<(&String, &Json)> = described
        .fields
        .iter()
        .filter(|(key, value)| key.starts_with("rai:") && !value.is_null())
        .collect();
    let mut conforms = vec!["http://mlcommons.org/croissant/1.0"];
    if !rai.is_empty() {
        conforms.push("http://mlcommons.org/croissant/RAI/1.0");
    }
    out.insert(
        "conformsTo".into(),
        if conforms.len() == 1 {
            json!(conforms[0])
        } else {
            json!(conforms)
        },
    );
    out.insert("name".into(), json!(described.id()));
    if let Some(title) = described.text("title") {
        out.insert("alternateName".into(), json!(title));
    }
    out.insert("description".into(), json!(described.description()));
    out.insert(
        "url".into(),
        json!(
            described
                .url()
                .unwrap_or_else(|| format!("urn:taco:{}", described.id()))
        ),
    );
    out.insert(
        "version".into(),
        json!(normalize_version(described.version())),
    );
    if let Some(day) = described.day() {
        out.insert("datePublished".into(), json!(day));
    }
    let licences: Vec<String> = described
        .texts("licenses")
        .into_iter()
        .map(|licence| match spdx::license_id(licence) {
            Some(_) => format!("https://spdx.org/licenses/{licence}.html"),
            None => licence.to_owned(),
        })
        .collect();
    out.insert(
        "license".into(),
        if licences.len() == 1 {
            json!(licences[0])
        } else {
            json!(licences)
        },
    );
    let keywords: Vec<&str> = described
        .texts("keywords")
        .into_iter()
        .chain(described.texts("tasks"))
        .collect();
    if !keywords.is_empty() {
        out.insert("keywords".into(), json!(keywords));
    }
    let people: Vec<Json> = described.contacts("providers").iter().map(person).collect();
    if !people.is_empty() {
        out.insert("creator".into(), json!(people));
    }
    let curators: Vec<Json> = described.contacts("curators").iter().map(person).collect();
    if !curators.is_empty() {
        out.insert("maintainer".into(), json!(curators));
    }
    out.insert("citeAs".into(), json!(citation(described)));
    if let Some([west, south, east, north]) = described.bbox {
        // schema.org boxes start with latitude.
        let shape =
            json!({ "@type": "sc:GeoShape", "box": format!("{south} {west} {north} {east}") });
        out.insert(
            "spatialCoverage".into(),
            json!({ "@type": "sc:Place", "geo": shape }),
        );
    }
    if let Some([start, end]) = &described.interval {
        out.insert("temporalCoverage".into(), json!(format!("{start}/{end}")));
    }
    for (key, value) in rai {
        out.insert(key.clone(), value.clone());
    }
    let (files, tables) = distribution(described);
    out.insert("distribution".into(), json!(files));
    out.insert("recordSet".into(), json!(record_sets(described, &tables)));
    Json::Object(out)
}

/// The JSON-LD context of the standard, extended by the geo vocabulary.
fn context() -> Json {
    json!({
        "@language": "en", "@vocab": "https://schema.org/", "citeAs": "cr:citeAs",
        "column": "cr:column",
        "conformsTo": "dct:conformsTo", "cr": "http://mlcommons.org/croissant/",
        "rai": "http://mlcommons.org/croissant/RAI/",
        "geocr": "http://mlcommons.org/croissant/geo/", "data": {
            "@id": "cr:data",
            "@type": "@json",
        },
        "dataType": { "@id": "cr:dataType", "@type": "@vocab" }, "dct": "http://purl.org/dc/terms/",
        "equivalentProperty": "cr:equivalentProperty", "examples": {
            "@id": "cr:examples",
            "@type": "@json",
        },
        "extract": "cr:extract", "field": "cr:field", "fileProperty": "cr:fileProperty",
        "fileObject": "cr:fileObject",
        "fileSet": "cr:fileSet", "format": "cr:format", "includes": "cr:includes",
        "isLiveDataset": "cr:isLiveDataset",
        "jsonPath": "cr:jsonPath", "key": "cr:key", "md5": "cr:md5",
        "parentField": "cr:parentField", "path": "cr:path",
        "recordSet": "cr:recordSet", "references": "cr:references", "regex": "cr:regex",
        "repeated": "cr:repeated",
        "replace": "cr:replace", "samplingRate": "cr:samplingRate", "sc": "https://schema.org/",
        "separator": "cr:separator",
        "source": "cr:source", "subField": "cr:subField", "transform": "cr:transform"
    })
}

/// Normalizes to MAJOR.MINOR.PATCH, as the standard requires; missing numbers become 0.
fn normalize_version(version: &str) -> String {
    let plain = version.trim().trim_start_matches('v');
    let mut numbers: Vec<&str> = plain.split('.').collect();
    if numbers
        .iter()
        .any(|number| number.is_empty() || !number.bytes().all(|b| b.is_ascii_digit()))
        || numbers.len() > 3
    {
        return version.to_owned();
    }
    numbers.resize(3, "0");
    numbers.join(".")
}

fn person(contact: &super::Contact) -> Json {
    let alone = contact
        .organization
        .as_ref()
        .is_some_and(|organization| *organization == contact.name);
    let mut out = Map::new();
    out.insert(
        "@type".into(),
        json!(if alone {
            "sc:Organization"
        } else {
            "sc:Person"
        }),
    );
    out.insert("name".into(), json!(contact.name));
    if let Some(email) = &contact.email {
        out.insert("email".into(), json!(email));
    }
    if let Some(url) = &contact.url {
        out.insert("url".into(), json!(url));
    }
    Json::Object(out)
}

/// The dataset's citation, or one composed of its metadata.
pub fn citation(described: &Described<'_>) -> String {
    if let Some(text) = described
        .publications()
        .into_iter()
        .find_map(|one| one.citation)
    {
        return text;
    }
    let names: Vec<String> = described
        .contacts("providers")
        .into_iter()
        .map(|contact| contact.name)
        .collect();
    let year = described
        .year()
        .map(|year| format!("year = {{{year}}}, "))
        .unwrap_or_default();
    format!(
        "@misc{{{}, author = {{{}}}, title = {{{}}}, {year}version = {{{}}}}}",
        described.id(),
        names.join(" and "),
        described.title(),
        described.version()
    )
}

/// A level table that is a separate file.
struct CroissantTable {
    level: usize,
    /// Name of its record set.
    set: String,
    /// Id of the file object.
    file: String,
}

impl CroissantTable {
    /// `before` is the beginning of the ids of the dataset.
    fn of_level(before: &str, level: usize) -> Self {
        Self {
            level,
            set: format!("{before}level{level}"),
            file: format!("{before}{}", level_table_path(level)),
        }
    }
}

fn level_table_path(level: usize) -> String {
    format!("METADATA/level{level}.parquet")
}

/// The media type of Parquet that the reference reader recognizes.
const PARQUET: &str = "application/x-parquet";

/// The file objects, including level tables.
fn distribution(described: &Described<'_>) -> (Vec<Json>, Vec<CroissantTable>) {
    let levels = described.assembly.levels.len();
    let (mut files, mut tables) = (Vec::new(), Vec::new());
    let datasets = described.datasets();
    for dataset in datasets {
        let own_name = described.file_name(dataset);
        // When several datasets are described as one, ids are prefixed with the dataset's name.
        let (archive_id, before, what) = match datasets.len() {
            1 => ("archive".to_owned(), String::new(), "The whole dataset."),
            _ => (
                own_name.clone(),
                format!("{own_name}/"),
                "One of the datasets.",
            ),
        };
        if dataset.single {
            files.push(archive(described, dataset, &archive_id, what));
            for level in (0..levels).filter(|_| dataset.format == Format::Zip) {
                let table = CroissantTable::of_level(&before, level);
                files.push(json!({
                    "@type": "cr:FileObject", "@id": table.file, "name": format!(
                        "level{level}.parquet"
                    ),
                    "description": format!(
                        "The samples of level {level}."
                    ), "containedIn": { "@id": archive_id },
                    "contentUrl": level_table_path(level), "encodingFormat": PARQUET
                }));
                tables.push(table);
            }
            continue;
        }
        for (name, size, sha256) in &dataset.tables {
            files.push(json!({
                "@type": "cr:FileObject", "@id": format!(
                    "{before}{name}"
                ), "name": name.rsplit('/').next(),
                "description": "Metadata of the dataset.", "contentUrl": format!(
                    "{}/{name}",
                    described.address(dataset, "").trim_end_matches('/')
                ),
                "contentSize": format!("{size} B"),
                "encodingFormat":
                    if name.ends_with(
                        ".json",
                    ) { "application/json" } else { PARQUET }, "sha256": sha256
            }));
            let level = (0..levels).find(|level| {
                level_table_path(*level) == *name && dataset.format == Format::Folder
            });
            tables.extend(level.map(|level| CroissantTable::of_level(&before, level)));
        }
    }
    (files, tables)
}

/// The file object of a dataset that is a single file.
fn archive(described: &Described<'_>, dataset: &Facts, id: &str, description: &str) -> Json {
    let mut file = json!({
        "@type": "cr:FileObject", "@id": id, "name": described.file_name(
            dataset,
        ), "description": description,
        "contentUrl": described.address(dataset, ""), "encodingFormat": dataset.media_type()
    });
    if let Some(size) = dataset.size_bytes {
        file["contentSize"] = json!(format!("{size} B"));
    }
    if let Some(sha256) = &dataset.sha256 {
        file["sha256"] = json!(sha256);
    }
    file
}

fn record_sets(described: &Described<'_>, tables: &[CroissantTable]) -> Vec<Json> {
    tables
        .iter()
        .filter_map(|table| make_record_set(described, table))
        .collect()
}

fn make_record_set(described: &Described<'_>, table: &CroissantTable) -> Option<Json> {
    let (level, set) = (table.level, &table.set);
    let schema = described.assembly.levels.get(level)?.batch.schema();
    let fields: Vec<Json> = schema
        .fields()
        .iter()
        .filter_map(|field| {
            let (kind, repeated) = data_type(field.data_type())?;
            let name = field.name();
            let mut entry = json!({
                "@type": "cr:Field", "@id": format!("{set}/{name}"), "name": name,
                "description": described_field(described, level, name), "dataType": kind,
                "source": { "fileObject": { "@id": table.file }, "extract": { "column": name } }
            });
            if repeated {
                entry["repeated"] = json!(true);
            }
            Some(entry)
        })
        .collect();
    let description = if level == 0 {
        "The samples.".to_owned()
    } else {
        format!("What the samples hold, {level} deep.")
    };
    Some(json!({
        "@type": "cr:RecordSet",
        "@id": set,
        "name": set,
        "description": description,
        "field": fields,
    }))
}

/// The description from `taco:field_schema`, else one derived from the name.
pub fn described_field(described: &Described<'_>, level: usize, name: &str) -> String {
    let columns = described
        .fields
        .get("taco:field_schema")
        .and_then(|schema| schema.get(format!("level{level}"))?.as_array());
    let found = columns.and_then(|columns| {
        columns
            .iter()
            .find(|column| column.get(0).and_then(Json::as_str) == Some(name))
    });
    let text = found
        .and_then(|column| column.get(2)?.as_str())
        .filter(|text| !text.is_empty());
    match (text, name) {
        (Some(text), _) => text.to_owned(),
        (None, "id") => "Identifier of the sample, unique among its siblings.".into(),
        (None, "type") => "FILE or FOLDER.".into(),
        (None, other) => format!("The field {other}."),
    }
}

/// The Croissant type and whether it is a list; `None` for binary and struct columns.
fn data_type(dtype: &DataType) -> Option<(&'static str, bool)> {
    Some(match dtype {
        DataType::Utf8 | DataType::LargeUtf8 | DataType::Utf8View => ("sc:Text", false),
        DataType::Boolean => ("sc:Boolean", false),
        DataType::Float16 | DataType::Float32 | DataType::Float64 | DataType::Decimal128(..) => {
            ("sc:Float", false)
        }
        DataType::Date32 | DataType::Date64 => ("sc:Date", false),
        DataType::Timestamp(..) => ("sc:DateTime", false),
        whole if whole.is_integer() => ("sc:Integer", false),
        DataType::List(item) | DataType::LargeList(item) => (
            data_type(item.data_type()).filter(|inner| !inner.1)?.0,
            true,
        ),
        _ => return None,
    })
}
