//! What a check says about a dataset: a rule, a place, a sentence. The rules themselves are one table.

use std::fmt;

use super::SamplePath;

/// How bad a finding is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Severity {
    /// Readers refuse the dataset, or read something wrong.
    Error,
    /// It reads, but something is off or missing.
    Warning,
}

impl Severity {
    /// The word for people and JSON.
    pub fn as_str(self) -> &'static str {
        match self {
            Severity::Error => "error",
            Severity::Warning => "warning",
        }
    }
}

macro_rules! rules {
    ($($name:ident $code:literal $severity:ident $section:literal $what:literal;)+) => {
        /// Every rule that a dataset is checked against.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
        pub enum Rule { $(#[doc = $what] $name,)+ }

        impl Rule {
            /// All rules, in the order of the table.
            pub const ALL: &[Rule] = &[$(Rule::$name,)+];

            /// The code that findings carry.
            pub fn code(self) -> &'static str {
                match self { $(Rule::$name => $code,)+ }
            }

            /// How bad a finding of this rule is.
            pub fn severity(self) -> Severity {
                match self { $(Rule::$name => Severity::$severity,)+ }
            }

            /// The section of the specification, or of the format it builds on.
            pub fn section(self) -> &'static str {
                match self { $(Rule::$name => $section,)+ }
            }

            /// What the rule asks for, in one sentence.
            pub fn what(self) -> &'static str {
                match self { $(Rule::$name => $what,)+ }
            }
        }
    };
}

rules! {
    PitRoots "PIT-1" Error "5.4" "All roots have one shape: the same number of children, with the same ids and types by position, at every depth.";
    PitMixed "PIT-3" Error "6.1" "All samples of level 0 have the same type.";
    PitSchemaUniform "PIT-2" Error "5.4" "All samples of a level have the same fields with the same types.";
    PitDepth "PIT-4" Error "6.5" "A dataset has at most six levels.";
    PitEmptyFolder "PIT-5" Error "5.2" "Every FOLDER has children.";
    PitDeclared "PIT-6" Error "6.3" "taco:pit_schema describes the tree that the levels hold.";
    IdCharacters "ID-1" Error "5.5.1" "An id has no / \\ : or control character, is not empty, and does not begin with two underscores.";
    IdUnique "ID-2" Error "8.3" "Ids are unique among siblings.";
    IdDataset "ID-3" Error "5.5.2" "The dataset's id is lower-case letters, digits, _ and -.";
    FieldName "ID-4" Error "7.2" "Field names are letters, digits and _, with at most one colon.";
    TypeWord "TYPE-1" Error "5.5.1" "The type of a sample is FILE or FOLDER.";
    CollectionRead "COL-1" Error "5.5.2" "COLLECTION.json is there and is a JSON object.";
    CollectionRequired "COL-2" Error "5.5.2" "Every required field of the collection is filled.";
    CollectionType "COL-3" Error "5.5.2" "Every field of the collection has the type that the specification gives.";
    CollectionContact "COL-4" Error "5.5.2" "A contact has a name or an organization, and an address that could be one.";
    CollectionExtent "COL-5" Error "5.5.2" "The extent is [west, south, east, north] in degrees and [start, end] in ISO 8601.";
    CollectionLicence "COL-6" Warning "5.5.2" "Licences are SPDX identifiers.";
    CollectionTask "COL-7" Warning "5.5.2" "Tasks are those that the tools know.";
    CollectionTitle "COL-8" Error "5.5.2" "The title has at most 250 characters.";
    CollectionKeywords "COL-9" Warning "5.5.2" "The dataset has keywords, so that a search finds it.";
    ExtentCovers "COL-10" Warning "5.5.2" "The extent covers every centroid.";
    FieldSchema "META-1" Error "6.2" "taco:field_schema lists the columns of every level with their types.";
    LevelReadable "META-2" Error "6.2" "Every METADATA/levelN.parquet can be read.";
    LevelColumns "META-3" Error "8.3" "Every level has the columns that readers need.";
    ParentLink "META-4" Error "8.3" "internal:parent_id is the row of a FOLDER in the level above, and rows are grouped by it.";
    CurrentId "META-5" Error "8.3" "internal:current_id is the row number.";
    RelativePath "META-6" Error "8.3" "internal:relative_path is the path of ids below DATA/.";
    LocalMeta "META-7" Error "6.2" "Every FOLDER has a __meta__ with the same children as the level table.";
    LocalMetaValues "META-8" Error "6.2" "The values in __meta__ are those of the level table.";
    NoCurrentId "META-9" Warning "8.3" "Levels above the deepest have internal:current_id (today's Python reader needs it in nested datasets).";
    ZipStructure "ZIP-1" Error "6.3" "The archive has a central directory that fits its members.";
    ZipHeader "ZIP-2" Error "6.3" "TACO_HEADER is at byte 0 and points at the level tables and COLLECTION.json.";
    ZipStore "ZIP-3" Error "6.3" "Members are stored: no compression, no encryption, no data descriptor.";
    ZipOverlap "ZIP-4" Error "6.3" "Members lie inside the file and do not overlap.";
    ZipCrc "ZIP-5" Error "6.3" "Every member has its CRC-32.";
    ZipName "ZIP-6" Error "6.3" "Member names are unique, relative, and stay inside the archive.";
    ZipOffset "ZIP-7" Error "6.3" "internal:offset and internal:size point at the sample's own bytes.";
    ZipMissing "ZIP-8" Error "6.3" "Every sample of the levels is in the archive.";
    ZipStray "ZIP-9" Warning "6.3" "The archive holds nothing that the levels do not name.";
    FolderMissing "DIR-1" Error "6.4" "Every sample of the levels is on disk.";
    FolderStray "DIR-2" Warning "6.4" "DATA/ holds nothing that the levels do not name.";
    FolderPath "DIR-3" Error "6.4" "Paths in the levels stay inside DATA/.";
    SourceMissing "SRC-1" Error "7.1.1" "The file behind a sample of a draft can be read.";
    Unreadable "FMT-1" Error "6" "The container can be opened.";
}

impl fmt::Display for Rule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.code())
    }
}

impl serde::Serialize for Rule {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.code())
    }
}

/// Where a finding is.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub enum Location {
    /// The dataset as a whole.
    #[default]
    Dataset,
    /// A field of the collection, as a JSON pointer without the leading slash: `providers/0/email`.
    Collection(String),
    /// A column of a level.
    Column {
        /// The level.
        level: usize,
        /// The column's name.
        name: String,
    },
    /// A whole level.
    Level(usize),
    /// A sample. The row stands for the sample in tables, the path is for people.
    Sample {
        /// Its level.
        level: usize,
        /// Its row in the level table.
        row: u32,
        /// Its ids from the root.
        path: SamplePath,
    },
    /// A member of the archive, or a file of the folder.
    Member(String),
}

impl fmt::Display for Location {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Location::Dataset => f.write_str("dataset"),
            Location::Collection(field) if field.is_empty() => f.write_str("COLLECTION.json"),
            Location::Collection(field) => write!(f, "COLLECTION.json {field}"),
            Location::Column { level, name } => write!(f, "level{level} {name}"),
            Location::Level(level) => write!(f, "level{level}"),
            Location::Sample { path, .. } => path.fmt(f),
            Location::Member(name) => f.write_str(name),
        }
    }
}

/// One thing that a check found.
#[derive(Clone, Debug, PartialEq)]
pub struct Finding {
    /// The rule that is broken.
    pub rule: Rule,
    /// How bad it is here; mostly the rule's own.
    pub severity: Severity,
    /// Where.
    pub at: Location,
    /// What is wrong, where it helps with found and expected values, and what to do.
    pub message: String,
}

impl Finding {
    /// A finding with the rule's own severity.
    pub fn new(rule: Rule, at: Location, message: impl Into<String>) -> Self {
        Self { rule, severity: rule.severity(), at, message: message.into() }
    }
}

/// Everything that a check found.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Report {
    /// In the order found: container, levels, tree, collection.
    pub findings: Vec<Finding>,
}

impl Report {
    /// Adds a finding with the rule's own severity.
    pub fn add(&mut self, rule: Rule, at: Location, message: impl Into<String>) {
        self.findings.push(Finding::new(rule, at, message));
    }

    /// True without errors; warnings do not count.
    pub fn is_valid(&self) -> bool {
        self.errors() == 0
    }

    /// Number of errors.
    pub fn errors(&self) -> usize {
        self.findings.iter().filter(|finding| finding.severity == Severity::Error).count()
    }

    /// Number of warnings.
    pub fn warnings(&self) -> usize {
        self.findings.len() - self.errors()
    }

    /// True when some finding has this rule.
    pub fn has(&self, rule: Rule) -> bool {
        self.findings.iter().any(|finding| finding.rule == rule)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_are_unique() {
        let mut codes: Vec<_> = Rule::ALL.iter().map(|rule| rule.code()).collect();
        codes.sort_unstable();
        codes.dedup();
        assert_eq!(codes.len(), Rule::ALL.len());
    }
}
