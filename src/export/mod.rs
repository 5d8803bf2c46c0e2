//! Catalogue metadata: STAC, GeoParquet, stac-geoparquet, Croissant, DataCite, data cards. Each is
//! a list of documents generated from a dataset in the 2.0 layout; the caller writes them. Contains
//! no information that the dataset does not state.

mod card;
mod croissant;
mod datacite;
mod footprint;
mod geoparquet;
mod item_assets;
mod item_columns;
mod map;
mod page;
mod reader_code;
mod stac;
#[cfg(test)]
mod tests;
mod training_code;

pub(crate) use card::{format_yaml_list, quote_yaml};
pub(crate) use map::escape_html;
pub use map::map_image;

pub use reader_code::{ModuleOpening, module_code, python_code, statement_code};
pub use training_code::{
    TrainingClass, TrainingFacts, TrainingRaster, TrainingSplit, TrainingStatistics,
    is_target_name, training_code,
};

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use chrono::{DateTime, SecondsFormat, Utc};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value as Json};

use crate::container::{Assembly, Format, extent_of_samples};
use crate::error::{Error, Result};
use crate::footprint::box_of_extent;
use crate::jobs::JobContext;
use crate::model::{Address, ExtentOrigin, StudioLink, is_remote, parse_utc_time};

/// A catalogue format.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Catalogue {
    /// STAC 1.1 Collection, with an Item for each sample that has a time.
    Stac,
    /// GeoParquet 1.1 of the samples, with a bbox column.
    Geoparquet,
    /// The STAC Items as one GeoParquet file.
    StacGeoparquet,
    /// Croissant 1.0 with the RAI and geo vocabularies, as JSON-LD.
    Croissant,
    /// DataCite 4.5 as JSON.
    Datacite,
    /// Data card in Markdown.
    Markdown,
    /// Data card as an HTML page.
    Html,
    /// Training loop for PyTorch, as Python code.
    Training,
}

impl Catalogue {
    /// Every format, in menu order.
    pub const ALL: [Catalogue; 8] = [
        Catalogue::Stac,
        Catalogue::Geoparquet,
        Catalogue::StacGeoparquet,
        Catalogue::Croissant,
        Catalogue::Datacite,
        Catalogue::Markdown,
        Catalogue::Html,
        Catalogue::Training,
    ];

    /// Name in arguments.
    pub fn name(self) -> &'static str {
        match self {
            Catalogue::Stac => "stac",
            Catalogue::Geoparquet => "geoparquet",
            Catalogue::StacGeoparquet => "stac-geoparquet",
            Catalogue::Croissant => "croissant",
            Catalogue::Datacite => "datacite",
            Catalogue::Markdown => "markdown",
            Catalogue::Html => "html",
            Catalogue::Training => "training",
        }
    }

    /// Title in menus.
    pub fn title(self) -> &'static str {
        match self {
            Catalogue::Stac => mark!("STAC Collection and Items"),
            Catalogue::Geoparquet => "GeoParquet",
            Catalogue::StacGeoparquet => "STAC GeoParquet",
            Catalogue::Croissant => "Croissant",
            Catalogue::Datacite => "DataCite",
            Catalogue::Markdown => mark!("Data card (Markdown)"),
            Catalogue::Html => mark!("Data card (HTML)"),
            Catalogue::Training => mark!("Training loop (PyTorch)"),
        }
    }

    /// True for forms that have the code of a training loop.
    pub fn has_training_code(self) -> bool {
        matches!(
            self,
            Catalogue::Markdown | Catalogue::Html | Catalogue::Training
        )
    }

    /// True for binary formats, which are not printed to a terminal.
    pub fn is_binary(self) -> bool {
        matches!(self, Catalogue::Geoparquet | Catalogue::StacGeoparquet)
    }
}

/// Facts about the container that are not in its metadata.
#[derive(Clone, Debug, PartialEq)]
pub struct Facts {
    /// Path or address for the documents.
    pub path: PathBuf,
    /// Path or address that is read; it differs from `path` where the documents are published
    /// elsewhere.
    pub opened: PathBuf,
    /// Format of the container.
    pub format: Format,
    /// True for a single file.
    pub single: bool,
    /// Size in bytes of the file, or of all files; `None` when unknown.
    pub size_bytes: Option<u64>,
    /// SHA-256 of the file in lower-case hexadecimal; `None` for folders and remote files.
    pub sha256: Option<String>,
    /// Files in METADATA/ of a folder: name, size in bytes, SHA-256.
    pub tables: Vec<(String, u64, String)>,
    /// Modification time, when known.
    pub modified: Option<DateTime<Utc>>,
    /// URL of the dataset, when given by the user.
    pub url: Option<String>,
    /// The level to list; `None`: the first with locations.
    pub level: Option<usize>,
    /// Number of level-0 samples, including padding.
    pub roots: usize,
    /// The datasets that are described as one, in sample order; empty for a single dataset.
    pub parts: Vec<Facts>,
    /// For the code of a training loop; `None` where no sample is a raster, or no form needs it.
    pub training: Option<TrainingFacts>,
    /// How code that does not stay beside the dataset opens it; `None`: by its address, or its name
    /// in the same folder.
    pub opening: Option<ModuleOpening>,
}

impl Facts {
    /// Name of the file or folder.
    fn file_name(&self) -> Option<String> {
        if let Some(address) = Address::from_path(&self.path) {
            return Some(address.name().to_owned()).filter(|name| !name.is_empty());
        }
        self.path
            .file_name()
            .map(|name| name.to_string_lossy().into_owned())
    }

    fn media_type(&self) -> &'static str {
        match self.format {
            Format::Zip | Format::Taco3 => "application/zip",
            Format::Tortilla | Format::Taco => "application/vnd.tortilla+blob",
            Format::Early if self.single => "application/zip",
            Format::TacocatFile => "application/octet-stream",
            _ => "application/vnd.apache.parquet",
        }
    }
}

/// A generated document.
#[derive(Clone, Debug, PartialEq)]
pub struct CatalogueDocument {
    /// Path relative to the output folder: `collection.json`, `items/a.json`, ….
    pub name: String,
    /// Content.
    pub bytes: Vec<u8>,
}

/// Samples that are described at a time: a million footprints and assets at once take gigabytes.
const ROWS_AT_ONCE: usize = 1 << 13;

/// Generates the documents of one format, the main document first.
///
/// # Errors
/// [`Kind::Invalid`](crate::error::Kind::Invalid) when the dataset has no samples; the errors of
/// the formats.
pub fn describe(
    assembly: &Assembly,
    facts: &Facts,
    form: Catalogue,
    ctx: &JobContext,
) -> Result<Vec<CatalogueDocument>> {
    let mut documents = Vec::new();
    describe_into(
        assembly,
        facts,
        form,
        &mut |document| {
            documents.push(document);
            Ok(())
        },
        ctx,
    )?;
    Ok(documents)
}

/// Takes the documents of a description, the main one first.
pub type DocumentSink<'a> = dyn FnMut(CatalogueDocument) -> Result<()> + 'a;

/// As [`describe`], one document at a time: a STAC Collection has one for each sample.
///
/// # Errors
/// As [`describe`], and the errors of the sink.
pub fn describe_into(
    assembly: &Assembly,
    facts: &Facts,
    form: Catalogue,
    sink: &mut DocumentSink<'_>,
    ctx: &JobContext,
) -> Result<()> {
    describe_in_batches(assembly, facts, form, ROWS_AT_ONCE, sink, ctx)
}

/// As [`describe_into`], with `batch_rows` samples at a time.
fn describe_in_batches(
    assembly: &Assembly,
    facts: &Facts,
    form: Catalogue,
    batch_rows: usize,
    sink: &mut DocumentSink<'_>,
    ctx: &JobContext,
) -> Result<()> {
    ctx.stage(tr!("Describing"), None);
    if assembly.tree.total() == 0 {
        return Err(Error::invalid("the dataset has no samples to describe").at_path(&facts.path));
    }
    let described = Described {
        batch_rows,
        ..Described::new(assembly, facts, ctx)?
    };
    described.warn_of_gaps(form, ctx);
    sink(match form {
        Catalogue::Stac => return stac::documents(&described, sink, ctx),
        Catalogue::Geoparquet => geoparquet::footer(&described, ctx)?,
        Catalogue::StacGeoparquet => geoparquet::items(&described, ctx)?,
        Catalogue::Croissant => json_document("croissant.json", &croissant::document(&described)),
        Catalogue::Datacite => json_document("datacite.json", &datacite::document(&described)),
        Catalogue::Markdown => CatalogueDocument {
            name: "README.md".into(),
            bytes: card::markdown(&described, ctx)?.into_bytes(),
        },
        Catalogue::Html => CatalogueDocument {
            name: "index.html".into(),
            bytes: page::html(&described, ctx)?.into_bytes(),
        },
        Catalogue::Training => CatalogueDocument {
            name: "train.py".into(),
            bytes: described.training_code()?.into_bytes(),
        },
    })
}

/// Generates the documents beside a published dataset in its folder: the data card in both forms,
/// Croissant, DataCite, the STAC Collection as `stac-collection.json`, and its Items, if samples
/// have times, as the asset `stac-items.parquet`.
///
/// # Errors
/// As [`describe`].
pub fn describe_beside(
    assembly: &Assembly,
    facts: &Facts,
    ctx: &JobContext,
) -> Result<Vec<CatalogueDocument>> {
    let mut documents = Vec::new();
    for form in [
        Catalogue::Markdown,
        Catalogue::Html,
        Catalogue::Croissant,
        Catalogue::Datacite,
    ] {
        documents.extend(describe(assembly, facts, form, ctx)?);
    }
    let described = Described::new(assembly, facts, ctx)?;
    let mut collection = stac::collection(&described);
    let has_items = !stac::item_rows(&described, ctx)?.rows.is_empty();
    if has_items {
        collection["assets"]["items"] = serde_json::json!({
            "href": "./stac-items.parquet", "title": "Items",
            "type": "application/vnd.apache.parquet", "roles": ["collection-mirror"]
        });
    }
    documents.push(json_document("stac-collection.json", &collection));
    if has_items {
        documents.push(CatalogueDocument {
            name: "stac-items.parquet".into(),
            ..geoparquet::items(&described, ctx)?
        });
    }
    Ok(documents)
}

fn json_document(name: &str, json: &impl Serialize) -> CatalogueDocument {
    let mut bytes = serde_json::to_vec_pretty(json).unwrap_or_default();
    bytes.push(b'\n');
    CatalogueDocument {
        name: name.into(),
        bytes,
    }
}

/// The dataset, as input of all formats.
struct Described<'a> {
    assembly: &'a Assembly,
    facts: &'a Facts,
    fields: &'a Map<String, Json>,
    /// `[west, south, east, north]` in degrees; `None` when unknown.
    bbox: Option<[f64; 4]>,
    /// Start and end as ISO 8601 in UTC.
    interval: Option<[String; 2]>,
    /// For each dataset that is described as one with others, the number of the row of level 0
    /// behind its last one.
    ends: Vec<usize>,
    /// How many of the datasets have a file or folder of this name.
    names: HashMap<Option<String>, usize>,
    /// Rows that are computed at a time.
    batch_rows: usize,
}

/// A person or an organisation.
struct Contact {
    name: String,
    organization: Option<String>,
    email: Option<String>,
    url: Option<String>,
    roles: Vec<String>,
}

/// A publication.
struct PublicationEntry {
    doi: Option<String>,
    citation: Option<String>,
}

impl Contact {
    fn from_json(entry: &Json) -> Option<Self> {
        let text = |key: &str| read_trimmed_text(entry.get(key)?).map(str::to_owned);
        let mut roles: Vec<String> = text("role")
            .iter()
            .flat_map(|role| role.split(','))
            .map(|r| r.trim().to_owned())
            .collect();
        roles.extend(
            entry
                .get("roles")
                .and_then(Json::as_array)
                .into_iter()
                .flatten()
                .filter_map(Json::as_str)
                .map(str::to_owned),
        );
        let organization = text("organization");
        Some(Self {
            name: text("name").or_else(|| organization.clone())?,
            organization,
            email: text("email"),
            url: text("url"),
            roles,
        })
    }
}

impl PublicationEntry {
    fn from_json(entry: &Json) -> Self {
        let text = |key: &str| entry.get(key)?.as_str().filter(|text| !text.is_empty());
        Self {
            doi: text("doi").map(|doi| plain_doi(doi.to_owned())),
            citation: text("citation").map(str::to_owned),
        }
    }
}

/// A text without whitespace around it; `None` for an empty one.
fn read_trimmed_text(json: &Json) -> Option<&str> {
    json.as_str().map(str::trim).filter(|text| !text.is_empty())
}

impl<'a> Described<'a> {
    /// The items of `taco:sources` → `extents`: one for each part of the dataset.
    fn source_extents(&self) -> impl Iterator<Item = &Json> {
        let sources = self.fields.get("taco:sources");
        let extents = sources.and_then(|sources| sources.get("extents")?.as_array());
        extents.into_iter().flatten()
    }

    fn new(assembly: &'a Assembly, facts: &'a Facts, ctx: &JobContext) -> Result<Self> {
        let fields = &assembly.collection.fields;
        let known = ExtentOrigin::from_collection(&assembly.collection)
            .is_some_and(|origin| origin != ExtentOrigin::Unknown);
        // A value that is no box gives no location (rule COL-5); the extent stays unknown.
        let extent = match fields
            .get("extent")
            .filter(|extent| known && box_of_extent(extent).is_some())
        {
            Some(extent) => extent.clone(),
            None => extent_of_samples(&assembly.batches(), ctx)?.unwrap_or_default(),
        };
        let times: Option<Vec<String>> =
            extent
                .get("temporal")
                .and_then(Json::as_array)
                .and_then(|list| {
                    list.iter()
                        .map(|time| time.as_str().and_then(utc))
                        .collect()
                });
        let datasets = if facts.parts.is_empty() {
            std::slice::from_ref(facts)
        } else {
            &facts.parts
        };
        let mut names: HashMap<Option<String>, usize> = HashMap::with_capacity(datasets.len());
        datasets
            .iter()
            .for_each(|dataset| *names.entry(dataset.file_name()).or_default() += 1);
        let ends = datasets.iter().scan(0, |end, dataset| {
            *end += dataset.roots;
            Some(*end)
        });
        Ok(Self {
            assembly,
            facts,
            fields,
            bbox: box_of_extent(&extent),
            interval: times.and_then(|times| times.try_into().ok()),
            ends: ends.collect(),
            names,
            batch_rows: ROWS_AT_ONCE,
        })
    }

    fn text(&self, key: &str) -> Option<&str> {
        read_trimmed_text(self.fields.get(key)?)
    }

    fn id(&self) -> &str {
        self.text("id").unwrap_or("dataset")
    }

    fn title(&self) -> &str {
        self.text("title").unwrap_or(self.id())
    }

    fn description(&self) -> &str {
        self.text("description").unwrap_or(self.title())
    }

    fn version(&self) -> &str {
        self.text("dataset_version").unwrap_or("1.0.0")
    }

    fn texts(&self, key: &str) -> Vec<&str> {
        let list = self.fields.get(key).and_then(Json::as_array);
        list.into_iter()
            .flatten()
            .filter_map(Json::as_str)
            .filter(|text| !text.trim().is_empty())
            .collect()
    }

    /// Contacts in either form: name, organization, email, role; or name, roles, url.
    fn contacts(&self, key: &str) -> Vec<Contact> {
        let list = self.fields.get(key).and_then(Json::as_array);
        list.into_iter()
            .flatten()
            .filter_map(Contact::from_json)
            .collect()
    }

    fn publications(&self) -> Vec<PublicationEntry> {
        let list = ["publications", "publications:list"]
            .iter()
            .find_map(|key| self.fields.get(*key)?.as_array());
        let mut found: Vec<PublicationEntry> = Vec::new();
        if self.text("sci:doi").is_some() || self.text("sci:citation").is_some() {
            let own = |key: &str| self.text(key).map(str::to_owned);
            found.push(PublicationEntry {
                doi: own("sci:doi").map(plain_doi),
                citation: own("sci:citation"),
            });
        }
        found.extend(list.into_iter().flatten().map(PublicationEntry::from_json));
        found.retain(|one| one.doi.is_some() || one.citation.is_some());
        found
    }

    /// URL of the dataset: as given, else from its identifier.
    fn url(&self) -> Option<String> {
        if let Some(url) = &self.facts.url {
            return Some(url.clone());
        }
        if let Some(doi) = self.text("sci:doi") {
            return Some(format!("https://doi.org/{}", plain_doi(doi.to_owned())));
        }
        self.contacts("providers")
            .into_iter()
            .find_map(|contact| contact.url)
    }

    /// The dataset, or the datasets that are described as one.
    fn datasets(&self) -> &[Facts] {
        if self.facts.parts.is_empty() {
            std::slice::from_ref(self.facts)
        } else {
            &self.facts.parts
        }
    }

    /// The dataset that contains a row of level 0.
    fn dataset_of(&self, row: usize) -> Option<&Facts> {
        self.datasets()
            .get(self.ends.partition_point(|end| *end <= row))
    }

    /// Name of a dataset's file or folder, with its parent folder where names are not unique.
    fn file_name(&self, dataset: &Facts) -> String {
        let own = dataset.file_name();
        let is_shared = self.names.get(&own).is_some_and(|count| *count > 1);
        let name = own.unwrap_or_else(|| self.id().to_owned());
        let folder = dataset
            .path
            .parent()
            .and_then(Path::file_name)
            .filter(|_| is_shared);
        folder.map_or(name.clone(), |folder| {
            format!("{}/{name}", folder.to_string_lossy())
        })
    }

    /// Link to a dataset from a document, with the relative prefix `to`.
    fn address(&self, dataset: &Facts, to: &str) -> String {
        match Address::from_path(&dataset.path) {
            Some(address) => address.without_secret().0.to_string(),
            None => format!("{to}{}", self.file_name(dataset)),
        }
    }

    /// Addresses of the datasets, for code that opens them.
    fn addresses(&self) -> Vec<String> {
        self.datasets()
            .iter()
            .map(|dataset| self.address(dataset, ""))
            .collect()
    }

    /// A link to the dataset in the window; only for a dataset at an address, which is the same
    /// from everywhere.
    fn studio_link(&self) -> Option<StudioLink> {
        let [dataset] = self.datasets() else {
            return None;
        };
        Some(StudioLink {
            dataset: self.address(dataset, "").into(),
            sample: None,
        })
        .filter(|link| is_remote(&link.dataset))
    }

    /// The code of a training loop.
    fn training_code(&self) -> Result<String> {
        let facts = self.facts.training.as_ref().ok_or_else(|| {
            Error::unsupported("the first sample has no raster that a training loop could read")
                .at_path(&self.facts.path)
        })?;
        let opening = match &self.facts.opening {
            Some(opening) => opening.clone(),
            None => ModuleOpening::from_addresses(&self.addresses()),
        };
        Ok(training_code(&opening, facts))
    }

    /// Date of the last modification, when known.
    fn day(&self) -> Option<String> {
        Some(self.facts.modified?.format("%Y-%m-%d").to_string())
    }

    /// Year of the last modification, when known.
    fn year(&self) -> Option<String> {
        self.day().map(|day| day.chars().take(4).collect())
    }

    /// Warns about values filled in by a migration, and about missing values that the format
    /// requires.
    fn warn_of_gaps(&self, form: Catalogue, ctx: &JobContext) {
        let placeholders = self.assembly.collection.placeholders();
        if !placeholders.is_empty() && form != Catalogue::Geoparquet {
            ctx.warn(tr!(
                "{fields}: filled in by a migration; enter the actual values",
                fields = placeholders.join(", ")
            ));
        }
        if self.day().is_none() {
            match form {
                Catalogue::Datacite => {
                    ctx.warn(tr!(
                        "the modification date of the data is unknown: the current year is used as \
                            the year of publication"
                    ));
                }
                Catalogue::Croissant => {
                    ctx.warn(tr!(
                        "the modification date of the data is unknown: the date of \
                        publication is left out"
                    ));
                }
                _ => {}
            }
        }
        if form == Catalogue::Croissant
            && self
                .datasets()
                .iter()
                .any(|one| one.single && one.sha256.is_none())
        {
            ctx.warn(tr!(
                "files on another machine have no checksum, which validators require; \
                describe a copy on this one"
            ));
        }
    }
}

fn plain_doi(doi: String) -> String {
    let plain = [
        "https://doi.org/",
        "http://doi.org/",
        "https://dx.doi.org/",
        "http://dx.doi.org/",
        "doi:",
    ]
    .iter()
    .find_map(|prefix| doi.strip_prefix(prefix));
    plain.map_or(doi.clone(), str::to_owned)
}

/// Parses a time and formats it as required by the catalogues.
fn utc(text: &str) -> Option<String> {
    Some(
        parse_utc_time(text)?
            .and_utc()
            .to_rfc3339_opts(SecondsFormat::AutoSi, true),
    )
}
