//! Checks before a publication: subject, outcome, and where to correct the cause. Plain data.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Subject of a check.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "kebab-case")]
pub enum CheckKind {
    /// Rules of the official tools.
    ToolsRules,
    /// Rules of the specification.
    SpecRules,
    /// Licence.
    Licence,
    /// Providers.
    Providers,
    /// Description of the dataset.
    Description,
    /// Extent in space and time.
    Extent,
    /// Descriptions of the columns.
    Columns,
    /// Statistics of the rasters.
    Statistics,
    /// Balance of the classes.
    Classes,
    /// Absolute paths of a machine.
    Paths,
    /// Names of users.
    UserNames,
    /// Passwords, keys, tokens and signed links.
    Credentials,
    /// Links to servers of a private network.
    PrivateLinks,
    /// E-mail addresses outside the contacts.
    Emails,
    /// Samples shared by the parts of a split.
    Leakage,
    /// Names of the files.
    Names,
    /// Sizes of the files.
    Sizes,
    /// Row groups and order of large level tables.
    Tables,
    /// The target.
    Target,
    /// A version that is published already.
    Version,
    /// Monthly cost.
    Cost,
}

impl CheckKind {
    /// Every kind, in the order of the report.
    pub const ALL: [CheckKind; 21] = [
        CheckKind::ToolsRules,
        CheckKind::SpecRules,
        CheckKind::Licence,
        CheckKind::Providers,
        CheckKind::Description,
        CheckKind::Extent,
        CheckKind::Columns,
        CheckKind::Statistics,
        CheckKind::Classes,
        CheckKind::Paths,
        CheckKind::UserNames,
        CheckKind::Credentials,
        CheckKind::PrivateLinks,
        CheckKind::Emails,
        CheckKind::Leakage,
        CheckKind::Names,
        CheckKind::Sizes,
        CheckKind::Tables,
        CheckKind::Target,
        CheckKind::Version,
        CheckKind::Cost,
    ];

    /// Name on the command line and in JSON.
    pub fn name(self) -> &'static str {
        match self {
            Self::ToolsRules => "tools-rules",
            Self::SpecRules => "spec-rules",
            Self::Licence => "licence",
            Self::Providers => "providers",
            Self::Description => "description",
            Self::Extent => "extent",
            Self::Columns => "columns",
            Self::Statistics => "statistics",
            Self::Classes => "classes",
            Self::Paths => "paths",
            Self::UserNames => "user-names",
            Self::Credentials => "credentials",
            Self::PrivateLinks => "private-links",
            Self::Emails => "emails",
            Self::Leakage => "leakage",
            Self::Names => "names",
            Self::Sizes => "sizes",
            Self::Tables => "tables",
            Self::Target => "target",
            Self::Version => "version",
            Self::Cost => "cost",
        }
    }

    /// Group of the check.
    pub fn group(self) -> CheckGroup {
        match self {
            Self::ToolsRules | Self::SpecRules => CheckGroup::Rules,
            Self::Licence
            | Self::Providers
            | Self::Description
            | Self::Extent
            | Self::Columns
            | Self::Statistics
            | Self::Classes => CheckGroup::Metadata,
            Self::Paths
            | Self::UserNames
            | Self::Credentials
            | Self::PrivateLinks
            | Self::Emails => CheckGroup::Privacy,
            Self::Leakage => CheckGroup::Splits,
            Self::Names | Self::Sizes | Self::Tables | Self::Target | Self::Version => {
                CheckGroup::Layout
            }
            Self::Cost => CheckGroup::Cost,
        }
    }

    /// True when the user may accept a blocking check: a check of texts can be wrong, whereas
    /// rules, sizes, the target and the version are facts.
    pub fn may_be_accepted(self) -> bool {
        !matches!(
            self,
            Self::ToolsRules | Self::SpecRules | Self::Sizes | Self::Target | Self::Version
        )
    }
}

/// A group of checks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum CheckGroup {
    /// Rules of both profiles.
    Rules,
    /// The collection and the columns.
    Metadata,
    /// Private texts, which must not be published.
    Privacy,
    /// Parts of a split.
    Splits,
    /// Names and sizes of the files, and the target.
    Layout,
    /// Monthly cost.
    Cost,
}

impl CheckGroup {
    /// Heading for the user.
    pub fn title(self) -> &'static str {
        match self {
            Self::Rules => tr!("Rules"),
            Self::Metadata => tr!("Metadata"),
            Self::Privacy => tr!("Privacy"),
            Self::Splits => tr!("Splits"),
            Self::Layout => tr!("Layout"),
            Self::Cost => tr!("Cost"),
        }
    }
}

/// Outcome of a check.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum CheckLevel {
    /// No correction needed.
    Pass,
    /// Should be reviewed; does not stop the publication.
    Warning,
    /// Stops the publication.
    Blocks,
}

/// Where to correct the cause of a check's outcome.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Mend {
    /// A field of the collection.
    Field(String),
    /// A column of a level.
    Column {
        /// The level.
        level: usize,
        /// Its name.
        name: String,
    },
    /// The findings of the rules.
    Findings,
    /// An extension that computes what is missing.
    Extension(String),
    /// The split.
    Split,
    /// The parts: their names and sizes.
    Parts,
    /// The level tables: their row groups and order.
    Tables,
    /// The target.
    Target,
    /// The prices and the limit.
    Prices,
}

impl Mend {
    /// Instruction for the user, one sentence.
    pub fn sentence(&self) -> String {
        match self {
            Self::Field(field) => tr!("Edit the field {field} of the collection.", field),
            Self::Column { level, name } => tr!(
                "Change, describe or drop the column {name} of level {level}.",
                name,
                level
            ),
            Self::Findings => tr!("`validate` and the panel Problems list every finding.").into(),
            Self::Extension(name) => tr!("Run the extension {name}.", name),
            Self::Split => {
                tr!("`leakage` and the panel Statistics list the samples. Split again.").into()
            }
            Self::Parts => tr!("Write the dataset again in parts of another size.").into(),
            Self::Tables => tr!(
                "Write the dataset again with sorted rows and `--row-group`, or in several \
                    datasets: see SCALE.md."
            )
            .into(),
            Self::Target => tr!("Choose another target.").into(),
            Self::Prices => tr!("Change the prices or the limit.").into(),
        }
    }
}

/// One check with its outcome.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct PublishCheck {
    /// Subject of the check.
    pub kind: CheckKind,
    /// The outcome.
    pub level: CheckLevel,
    /// True for a blocking check that the user accepted; `level` is then [`CheckLevel::Warning`].
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub accepted: bool,
    /// The outcome as a sentence for the user.
    pub message: String,
    /// Short number or name beside the message; may be empty.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub figure: String,
    /// Locations of the first findings: files, columns or samples, without secrets.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub places: Vec<String>,
    /// Where to correct it; `None` for a check that passes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mend: Option<Mend>,
}

impl PublishCheck {
    /// A check that passes.
    pub fn pass(kind: CheckKind, message: impl Into<String>) -> Self {
        Self {
            kind,
            level: CheckLevel::Pass,
            accepted: false,
            message: message.into(),
            figure: String::new(),
            places: Vec::new(),
            mend: None,
        }
    }

    /// A check that warns.
    pub fn warning(kind: CheckKind, message: impl Into<String>, mend: Mend) -> Self {
        Self {
            level: CheckLevel::Warning,
            mend: Some(mend),
            ..Self::pass(kind, message)
        }
    }

    /// A check that stops the publication.
    pub fn blocks(kind: CheckKind, message: impl Into<String>, mend: Mend) -> Self {
        Self {
            level: CheckLevel::Blocks,
            mend: Some(mend),
            ..Self::pass(kind, message)
        }
    }

    /// Sets the figure.
    #[must_use]
    pub fn figure(mut self, figure: impl Into<String>) -> Self {
        self.figure = figure.into();
        self
    }

    /// Adds locations: at most 10 per call, further ones are dropped.
    #[must_use]
    pub fn at_places(mut self, places: impl IntoIterator<Item = String>) -> Self {
        self.places.extend(places.into_iter().take(PLACES));
        self
    }
}

/// Maximum number of locations that one call of [`PublishCheck::at_places`] adds.
const PLACES: usize = 10;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_kinds_are_those_of_the_json() {
        for kind in CheckKind::ALL {
            assert_eq!(serde_json::to_value(kind).expect("is JSON"), kind.name());
        }
        assert!(CheckKind::ALL.is_sorted() && CheckKind::ALL.is_sorted_by_key(|kind| kind.group()));
    }
}
