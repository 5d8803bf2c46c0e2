//! Registration of the tortilla extensions: options, columns, and the conversion of rows to the
//! inputs of the computations.

use std::sync::Arc;

use arrow::datatypes::DataType;
use serde_json::{Value as Json, json};

use super::super::sample::command::OF_TORTILLA;
use super::super::{
    Extension, ExtensionEntry, ExtensionScope, HASH_COLUMN, LOCATION_AND_TIME_COLUMNS, LeakFacts,
    LeakSample, Leakage, LeakageRequest, OptionKind, OptionSpec, RunNote, SampleView,
    TortillaExtension, TortillaView, leakage, parse_options,
};
use super::majortom::MajorTomGrid;
use super::spatial_grouping::{GroupLimits, group_name, groups};
use super::split_assignment::{Shares, SplitMethod, assign};
use super::{columns, content_hash, geo_enrichment, name_columns, places_in};
use crate::container::parse_size;
use crate::error::{Error, Result};
use crate::footprint::{COLUMNS, StatedLocationReader};
use crate::jobs::JobContext;
use crate::model::{FieldSpec, Sample, Tortilla, Value};
use crate::table::value_text;

/// Every tortilla extension, in the order of the interface.
pub const ENTRIES: &[ExtensionEntry] = &[
    MAJORTOM,
    SPATIAL_GROUPING,
    SPLIT_ASSIGNMENT,
    CONTENT_HASH,
    geo_enrichment::ENTRY,
    columns::ENTRY,
    name_columns::ENTRY,
    OF_TORTILLA,
];

const MAJORTOM: ExtensionEntry = ExtensionEntry {
    name: "majortom",
    title: mark!("MajorTOM grid"),
    summary: mark!("Gives each sample the code of its cell in a MajorTOM grid."),
    scope: ExtensionScope::Tortilla,
    options: majortom_options,
    make: |given| {
        let o: MajortomOptions = parse_options("majortom", &majortom_options(), given)?;
        let [pair, around] = [
            ("latitude_range", o.latitude_range),
            ("longitude_range", o.longitude_range),
        ]
        .map(|(name, range)| {
            <[f64; 2]>::try_from(range).map_err(|_| {
                Error::usage(format!("{name} has to be two numbers, least and greatest"))
            })
        });
        let ([south, north], [west, east]) = (pair?, around?);
        Ok(Extension::Tortilla(Box::new(MajorTomGrid::new(
            o.dist_km,
            (south, north),
            (west, east),
            &o.sep,
        )?)))
    },
};

#[derive(serde::Deserialize)]
struct MajortomOptions {
    dist_km: f64,
    latitude_range: Vec<f64>,
    longitude_range: Vec<f64>,
    sep: String,
}

fn majortom_options() -> Vec<OptionSpec> {
    const NUMBERS: OptionKind = OptionKind::List(&OptionKind::Number);
    vec![
        OptionSpec::new(
            mark!("dist_km"),
            OptionKind::Number,
            mark!("the size of a cell in kilometres"),
        )
        .or(100),
        OptionSpec::new(
            mark!("latitude_range"),
            NUMBERS,
            mark!("degrees between which there are rows"),
        )
        .or(json!([-85.0, 85.0])),
        OptionSpec::new(
            mark!("longitude_range"),
            NUMBERS,
            mark!("degrees between which there are columns"),
        )
        .or(json!([-180.0, 180.0])),
        OptionSpec::new(
            mark!("sep"),
            OptionKind::Text,
            mark!("the separator between the parts of a code"),
        )
        .or("_"),
    ]
}

impl TortillaExtension for MajorTomGrid {
    fn schema(&self) -> Vec<FieldSpec> {
        let description = "MajorTOM spherical grid cell identifier (e.g., 0100km_0003U_0005R) with \
            ~dist_km spacing";
        vec![text_field("majortom:code", description)]
    }

    fn compute(&self, tortilla: &TortillaView<'_>, ctx: &JobContext) -> Result<Vec<Vec<Value>>> {
        let places = places_in(tortilla, ctx)?;
        ctx.check()?;
        let codes = places
            .iter()
            .map(|place| place.and_then(|[lon, lat]| self.code(lon, lat)));
        let column = codes.map(|code| code.map_or(Value::Null, Value::text));
        Ok(vec![column.collect()])
    }

    fn needs_level(&self) -> bool {
        false
    }

    fn reads(&self, column: &str) -> bool {
        COLUMNS.contains(&column)
    }
}

const SPATIAL_GROUPING: ExtensionEntry = ExtensionEntry {
    name: "spatial_grouping",
    title: mark!("Spatial groups"),
    summary: mark!("Puts neighbouring samples into groups, by number or by size."),
    scope: ExtensionScope::Tortilla,
    options: grouping_options,
    make: |given| {
        let options: GroupingOptions =
            parse_options("spatial_grouping", &grouping_options(), given)?;
        let limits = GroupLimits {
            count: options.target_count,
            bytes: options.target_size.as_deref().map(parse_size).transpose()?,
        };
        limits.check()?;
        Ok(Extension::Tortilla(Box::new(limits)))
    },
};

#[derive(serde::Deserialize)]
struct GroupingOptions {
    target_count: Option<u64>,
    target_size: Option<String>,
}

fn grouping_options() -> Vec<OptionSpec> {
    vec![
        OptionSpec::new(
            mark!("target_count"),
            OptionKind::Integer,
            mark!("samples of a group at the most"),
        ),
        OptionSpec::new(
            mark!("target_size"),
            OptionKind::Text,
            mark!("bytes of a group at the most, for example 512MB"),
        ),
    ]
}

impl TortillaExtension for GroupLimits {
    fn schema(&self) -> Vec<FieldSpec> {
        let description =
            "Spatial group identifier using Z-order curve for compact bounding boxes.";
        vec![text_field("spatialgroup:code", description)]
    }

    fn compute(&self, tortilla: &TortillaView<'_>, ctx: &JobContext) -> Result<Vec<Vec<Value>>> {
        let places = places_in(tortilla, ctx)?;
        ctx.check()?;
        if !tortilla.is_empty() && places.iter().all(Option::is_none) {
            return Err(Error::invalid(
                "no sample has a location, so there is nothing to group",
            ));
        }
        let sizes: Vec<u64> = tortilla
            .samples
            .iter()
            .map(|sample| sample.size_bytes())
            .collect();
        let name =
            |group: Option<u64>| group.map_or(Value::Null, |group| Value::text(group_name(group)));
        Ok(vec![
            groups(&places, &sizes, *self)?
                .into_iter()
                .map(name)
                .collect(),
        ])
    }

    fn reads(&self, column: &str) -> bool {
        COLUMNS.contains(&column)
    }
}

const SPLIT_ASSIGNMENT: ExtensionEntry = ExtensionEntry {
    name: "split_assignment",
    title: mark!("Divide into train, validation, test"),
    summary: mark!(
        "Assigns samples to train, validation and test, and reports leakage between them."
    ),
    scope: ExtensionScope::Tortilla,
    options: split_options,
    make: |given| Ok(Extension::Tortilla(Box::new(parse_split(given)?))),
};

const METHODS: &[&str] = &["random", "stratified", "blocks", "together"];

fn split_options() -> Vec<OptionSpec> {
    vec![
        OptionSpec::new(
            mark!("method"),
            OptionKind::Choice(METHODS),
            mark!(
                "each sample by itself, in equal shares of each class, by blocks of land, or by \
                a common key"
            ),
        )
        .or("random"),
        OptionSpec::new(
            mark!("ratios"),
            OptionKind::Shares,
            mark!("the parts with their shares"),
        )
        .or(json!({ "train": 0.7, "validation": 0.15, "test": 0.15 })),
        OptionSpec::new(
            mark!("column"),
            OptionKind::Column,
            mark!("the class for stratified, the key for together"),
        ),
        OptionSpec::new(
            mark!("block_km"),
            OptionKind::Number,
            mark!("side of a block of land in kilometres"),
        )
        .or(100),
        OptionSpec::new(
            mark!("seed"),
            OptionKind::Integer,
            mark!("the same number gives the same split, everywhere"),
        )
        .or(0),
    ]
}

#[derive(serde::Deserialize)]
struct SplitOptions {
    method: String,
    ratios: serde_json::Map<String, Json>,
    column: Option<String>,
    block_km: f64,
    seed: u64,
}

struct SplitAssignment {
    options: SplitOptions,
    shares: Shares,
}

fn parse_split(given: &Json) -> Result<SplitAssignment> {
    let options: SplitOptions = parse_options("split_assignment", &split_options(), given)?;
    let mut parts = Vec::new();
    for (name, share) in &options.ratios {
        if !["train", "validation", "test"].contains(&name.as_str()) {
            return Err(Error::usage(format!("{name:?} is no part of a split"))
                .hint("use train, validation and test"));
        }
        parts.push((
            name.clone(),
            share
                .as_f64()
                .ok_or_else(|| Error::usage(format!("the share of {name} has to be a number")))?,
        ));
    }
    if ["stratified", "together"].contains(&options.method.as_str()) && options.column.is_none() {
        return Err(Error::usage(format!(
            "the method {} needs a column",
            options.method
        )));
    }
    Ok(SplitAssignment {
        shares: Shares::new(parts)?,
        options,
    })
}

impl TortillaExtension for SplitAssignment {
    fn schema(&self) -> Vec<FieldSpec> {
        vec![text_field(
            "split",
            "Dataset partition identifier (train, test, or validation)",
        )]
    }

    fn compute(&self, tortilla: &TortillaView<'_>, ctx: &JobContext) -> Result<Vec<Vec<Value>>> {
        // Padding is in no part of the split.
        let real: Vec<usize> = (0..tortilla.len())
            .filter(|&at| !tortilla.samples[at].sample().is_padding())
            .collect();
        let method = match self.options.method.as_str() {
            "stratified" => SplitMethod::Stratified {
                classes: self.keys(tortilla, &real)?,
            },
            "together" => SplitMethod::Together {
                keys: self.keys(tortilla, &real)?,
            },
            "blocks" => {
                let places = places_in(tortilla, ctx)?;
                SplitMethod::Blocks {
                    places: real.iter().map(|&at| places[at]).collect(),
                    side_km: self.options.block_km,
                }
            }
            _ => SplitMethod::Random,
        };
        let parts = assign(real.len(), &method, &self.shares, self.options.seed)?;
        ctx.check()?;
        let names: Vec<&str> = self.shares.names().collect();
        let mut column = vec![Value::Null; tortilla.len()];
        for (&at, part) in real.iter().zip(parts) {
            column[at] = names.get(part).map_or(Value::Null, Value::text);
        }
        tortilla.note(RunNote::Leakage(leaks_of(tortilla, &column, ctx)?));
        Ok(vec![column])
    }

    fn reads(&self, column: &str) -> bool {
        let of_leakage = LOCATION_AND_TIME_COLUMNS.contains(&column)
            || column == HASH_COLUMN
            || COLUMNS.contains(&column);
        of_leakage || self.options.column.as_deref() == Some(column)
    }
}

impl SplitAssignment {
    fn keys(&self, tortilla: &TortillaView<'_>, rows: &[usize]) -> Result<Vec<Option<String>>> {
        let name = self.options.column.as_deref().unwrap_or_default();
        let field = tortilla
            .field(name)
            .ok_or_else(|| Error::usage(format!("there is no column {name} at this level")))?;
        let values = rows.iter().map(|&at| tortilla.samples[at].value(name));
        Ok(values
            .map(|value| (!value.is_null()).then(|| value_text(&value, &field.dtype)))
            .collect())
    }
}

/// Leakage between the new parts, from the columns of this level and those below.
fn leaks_of(tortilla: &TortillaView<'_>, parts: &[Value], ctx: &JobContext) -> Result<Leakage> {
    let mut samples = Vec::with_capacity(tortilla.len());
    let has = |names: &[&str]| names.iter().any(|name| tortilla.field(name).is_some());
    let here = has(&LOCATION_AND_TIME_COLUMNS) || has(&[HASH_COLUMN]);
    let reader = StatedLocationReader::default();
    for (view, part) in tortilla.samples.iter().zip(parts) {
        ctx.check()?;
        let part = if let Value::Text(part) = part {
            Some(part.clone())
        } else {
            None
        };
        match view.sample().children() {
            Some(children) if !here => {
                let path = view.path().to_archive();
                collect_leak_samples(&path, &part, children, &reader, &mut samples)
            }
            _ => {
                let value = |name: &str| read_typed_value(view, name);
                let sample = LeakSample {
                    part,
                    facts: LeakFacts::from_row_values(&reader, &value),
                    compares_location_and_time: true,
                    compares_hash: true,
                };
                samples.push((view.path().to_archive(), sample));
            }
        }
    }
    let (paths, samples): (Vec<String>, Vec<LeakSample>) = samples.into_iter().unzip();
    leakage(
        &samples,
        &|at| paths[at].clone(),
        &LeakageRequest {
            level: Some(tortilla.level),
            ..LeakageRequest::default()
        },
        tortilla.level,
        ctx,
    )
}

fn read_typed_value(sample: &SampleView<'_>, name: &str) -> (Value, DataType) {
    match sample.field(name) {
        Some((field, value)) => (value, field.dtype),
        None => (Value::Null, DataType::Null),
    }
}

/// Appends the samples of the first level below with the needed columns, else the FILEs.
fn collect_leak_samples(
    path: &str,
    part: &Option<Arc<str>>,
    tortilla: &Tortilla,
    reader: &StatedLocationReader,
    samples: &mut Vec<(String, LeakSample)>,
) {
    let here = LOCATION_AND_TIME_COLUMNS
        .iter()
        .chain(&[HASH_COLUMN])
        .any(|name| tortilla.field(name).is_some());
    for sample in tortilla
        .samples
        .iter()
        .filter(|sample| !sample.is_padding())
    {
        let path = format!("{path}/{}", sample.id);
        match sample.children() {
            Some(children) if !here => collect_leak_samples(&path, part, children, reader, samples),
            _ => {
                let value = |name: &str| find_typed_value(tortilla, sample, name);
                let facts = LeakFacts::from_row_values(reader, &value);
                let sample = LeakSample {
                    part: part.clone(),
                    facts,
                    compares_location_and_time: true,
                    compares_hash: true,
                };
                samples.push((path, sample));
            }
        }
    }
}

fn find_typed_value(tortilla: &Tortilla, sample: &Sample, name: &str) -> (Value, DataType) {
    match tortilla.field(name) {
        Some(index) => (
            sample.value(index).clone(),
            tortilla
                .schema
                .get(index)
                .map_or(DataType::Null, |f| f.dtype.clone()),
        ),
        None => (Value::Null, DataType::Null),
    }
}

const CONTENT_HASH: ExtensionEntry = ExtensionEntry {
    name: "content_hash",
    title: mark!("Content hash"),
    summary: mark!(
        "Hashes the bytes of each sample with SHA-256, which finds the same picture under two \
            names."
    ),
    scope: ExtensionScope::Tortilla,
    options: Vec::new,
    make: |given| {
        parse_options::<Json>("content_hash", &[], given)?;
        Ok(Extension::Tortilla(Box::new(ContentHash)))
    },
};

struct ContentHash;

impl TortillaExtension for ContentHash {
    fn schema(&self) -> Vec<FieldSpec> {
        vec![text_field(
            "content:sha256",
            "SHA-256 of the sample's bytes, in hexadecimal",
        )]
    }

    fn compute(&self, tortilla: &TortillaView<'_>, ctx: &JobContext) -> Result<Vec<Vec<Value>>> {
        let samples: Vec<_> = tortilla
            .samples
            .iter()
            .map(|sample| sample.sample())
            .collect();
        let hashes = content_hash::hashes(&samples, ctx)?;
        let mut column = Vec::with_capacity(hashes.len());
        for (at, hash) in hashes.into_iter().enumerate() {
            column.push(match hash {
                Ok(hash) => hash.map_or(Value::Null, Value::text),
                Err(error) => {
                    tortilla.fail_sample(at, error);
                    Value::Null
                }
            });
        }
        Ok(vec![column])
    }

    fn needs_level(&self) -> bool {
        false
    }

    fn reads(&self, _: &str) -> bool {
        false
    }
}

fn text_field(name: &str, description: &str) -> FieldSpec {
    FieldSpec {
        name: name.into(),
        dtype: DataType::Utf8,
        description: description.into(),
    }
}
