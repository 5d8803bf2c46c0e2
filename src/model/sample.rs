//! Samples and tortillas (§5.2): the tree that a draft edits and a writer lays out.

use std::fmt;
use std::path::Path;
use std::sync::Arc;

use super::{AssetPath, Collection, FieldSpec, Modified, Value, is_padding};

/// The columns of one tortilla, in order. Siblings share one by reference, so a million samples cost one schema.
pub type Schema = Arc<[FieldSpec]>;

/// FILE or FOLDER (§5.2).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "UPPERCASE")]
pub enum SampleKind {
    /// Points at one data file.
    File,
    /// Points at a tortilla.
    Folder,
}

impl SampleKind {
    /// The word in the `type` column.
    pub fn as_str(self) -> &'static str {
        match self {
            SampleKind::File => "FILE",
            SampleKind::Folder => "FOLDER",
        }
    }
}

impl fmt::Display for SampleKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// What a sample points at.
#[derive(Clone, Debug, serde::Serialize, serde::Deserialize)]
pub enum Payload {
    /// Bytes that lie in a file, or in a range of one.
    Asset {
        /// Where.
        path: AssetPath,
        /// How many bytes, as seen when the sample was added.
        size: u64,
        /// When a whole file was last changed, as seen then. Not kept in files: times change when data is copied.
        #[serde(skip)]
        modified: Modified,
    },
    /// Bytes held in memory: small things made by the studio. Padding is `Bytes` of length 0.
    Bytes(Arc<[u8]>),
    /// A tortilla.
    Folder(Arc<Tortilla>),
}

impl Payload {
    /// Bytes in a file or in a range of one, of which only their number is known.
    pub fn asset(path: AssetPath, size: u64) -> Self {
        Payload::Asset { path, size, modified: Modified::default() }
    }
}

/// Two payloads are one when they point at the same data; when it was last changed is no part of it.
impl PartialEq for Payload {
    fn eq(&self, other: &Self) -> bool {
        match (self, other) {
            (Payload::Asset { path, size, .. }, Payload::Asset { path: other_path, size: other_size, .. }) => {
                path == other_path && size == other_size
            }
            (Payload::Bytes(own), Payload::Bytes(other)) => own == other,
            (Payload::Folder(own), Payload::Folder(other)) => own == other,
            _ => false,
        }
    }
}

/// The smallest indivisible unit: an id, data, and one value for each field of its tortilla's schema.
#[derive(Clone, Debug, serde::Serialize, serde::Deserialize)]
pub struct Sample {
    /// Unique among its siblings.
    pub id: Arc<str>,
    /// What it points at.
    pub payload: Payload,
    /// Values in the order of the tortilla's [`Schema`]; may be shorter, the rest is null.
    #[serde(skip_serializing_if = "<[Value]>::is_empty", default = "no_values")]
    pub values: Arc<[Value]>,
}

impl PartialEq for Sample {
    fn eq(&self, other: &Self) -> bool {
        let width = self.values.len().max(other.values.len());
        self.id == other.id && self.payload == other.payload && (0..width).all(|index| self.value(index) == other.value(index))
    }
}

fn no_values() -> Arc<[Value]> {
    Arc::from([])
}

impl Sample {
    /// A FILE that lies at `path` with `size` bytes, without metadata.
    pub fn file(id: &str, path: impl AsRef<Path>, size: u64) -> Self {
        Self { id: id.into(), payload: Payload::asset(AssetPath::file(path.as_ref()), size), values: no_values() }
    }

    /// A FILE that was just looked at, without metadata.
    pub fn of_file(id: &str, path: impl AsRef<Path>, meta: &std::fs::Metadata) -> Self {
        let path = AssetPath::file(path.as_ref());
        let payload = Payload::Asset { path, size: meta.len(), modified: Modified::of_file(meta) };
        Self { id: id.into(), payload, values: no_values() }
    }

    /// A FOLDER, without metadata.
    pub fn folder(id: &str, children: Tortilla) -> Self {
        Self { id: id.into(), payload: Payload::Folder(Arc::new(children)), values: no_values() }
    }

    /// FILE or FOLDER, told from the payload (§7.1.1).
    pub fn kind(&self) -> SampleKind {
        match self.payload {
            Payload::Folder(_) => SampleKind::Folder,
            _ => SampleKind::File,
        }
    }

    /// The tortilla of a FOLDER.
    pub fn children(&self) -> Option<&Arc<Tortilla>> {
        match &self.payload {
            Payload::Folder(tortilla) => Some(tortilla),
            _ => None,
        }
    }

    /// True for a placeholder.
    pub fn is_padding(&self) -> bool {
        is_padding(&self.id)
    }

    /// Bytes of data at and below this sample.
    pub fn size_bytes(&self) -> u64 {
        match &self.payload {
            Payload::Asset { size, .. } => *size,
            Payload::Bytes(bytes) => bytes.len() as u64,
            Payload::Folder(tortilla) => tortilla.samples.iter().map(Sample::size_bytes).sum(),
        }
    }

    /// The value of field number `index`.
    pub fn value(&self, index: usize) -> &Value {
        self.values.get(index).unwrap_or(&Value::Null)
    }
}

/// A set of samples with one schema.
#[derive(Clone, Debug, Default, PartialEq, serde::Serialize, serde::Deserialize)]
pub struct Tortilla {
    /// The metadata fields, without `id` and `type`.
    pub schema: Schema,
    /// In position order.
    pub samples: Vec<Sample>,
}

impl Tortilla {
    /// Samples without metadata.
    pub fn new(samples: Vec<Sample>) -> Self {
        Self { schema: Arc::from([]), samples }
    }

    /// The number of the field called `name`.
    pub fn field(&self, name: &str) -> Option<usize> {
        self.schema.iter().position(|field| field.name == name)
    }
}

/// A whole dataset: the collection and the root tortilla.
#[derive(Clone, Debug, Default, PartialEq, serde::Serialize, serde::Deserialize)]
pub struct Dataset {
    /// COLLECTION.json.
    pub collection: Collection,
    /// Level 0.
    pub root: Arc<Tortilla>,
}

impl Dataset {
    /// The sample at `path`, if it is there.
    pub fn sample(&self, path: &NodePath) -> Option<&Sample> {
        let (last, parents) = path.0.split_last()?;
        let mut tortilla = &self.root;
        for &position in parents {
            tortilla = tortilla.samples.get(position as usize)?.children()?;
        }
        tortilla.samples.get(*last as usize)
    }

    /// The tortilla of the FOLDER at `path`; the root for the empty path.
    pub fn tortilla(&self, path: &NodePath) -> Option<&Arc<Tortilla>> {
        if path.0.is_empty() { Some(&self.root) } else { self.sample(path)?.children() }
    }

    /// The first sample with these ids, one for each level.
    pub fn find(&self, ids: &SamplePath) -> Option<NodePath> {
        let mut path = Vec::with_capacity(ids.0.len());
        let mut tortilla = Some(&self.root);
        for id in &ids.0 {
            let at = tortilla?.samples.iter().position(|sample| sample.id == *id)?;
            path.push(u32::try_from(at).ok()?);
            tortilla = tortilla?.samples[at].children();
        }
        Some(NodePath(path))
    }

    /// The ids along `path`.
    pub fn ids(&self, path: &NodePath) -> Option<SamplePath> {
        let mut ids = Vec::with_capacity(path.0.len());
        let mut tortilla = &self.root;
        for (depth, &position) in path.0.iter().enumerate() {
            let sample = tortilla.samples.get(position as usize)?;
            ids.push(sample.id.clone());
            if depth + 1 < path.0.len() {
                tortilla = sample.children()?;
            }
        }
        Some(SamplePath(ids))
    }

    /// The number of levels, 0 for an empty dataset.
    pub fn depth(&self) -> usize {
        fn below(tortilla: &Tortilla) -> usize {
            if tortilla.samples.is_empty() {
                return 0;
            }
            1 + tortilla.samples.iter().filter_map(Sample::children).map(|t| below(t)).max().unwrap_or(0)
        }
        below(&self.root)
    }
}

/// A sample by its positions from the root: the address that edits use. Empty is the root tortilla itself.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord, serde::Serialize, serde::Deserialize)]
pub struct NodePath(pub Vec<u32>);

impl NodePath {
    /// The root tortilla.
    pub fn root() -> Self {
        Self::default()
    }

    /// The child at `position`.
    #[must_use]
    pub fn child(&self, position: u32) -> Self {
        let mut positions = self.0.clone();
        positions.push(position);
        Self(positions)
    }

    /// The FOLDER that holds this sample, and the position in it.
    pub fn parent(&self) -> Option<(NodePath, u32)> {
        let (last, parents) = self.0.split_last()?;
        Some((NodePath(parents.to_vec()), *last))
    }

    /// The level of the sample: 0 for a child of the root.
    pub fn level(&self) -> Option<usize> {
        self.0.len().checked_sub(1)
    }
}

/// A sample by its ids from the root: the address that people read and type, `roi_0007 / s2 / t02` or `roi_0007/s2/t02`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, serde::Serialize, serde::Deserialize)]
pub struct SamplePath(pub Vec<Arc<str>>);

impl SamplePath {
    /// Splits typed text at `/`. Spaces around a step are dropped, empty steps ignored.
    pub fn parse(text: &str) -> Self {
        Self(text.split('/').map(str::trim).filter(|step| !step.is_empty()).map(Arc::from).collect())
    }

    /// `roi_0007/s2/t02`, as under `DATA/`.
    pub fn to_archive(&self) -> String {
        self.0.join("/")
    }
}

impl fmt::Display for SamplePath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0.join(" / "))
    }
}
