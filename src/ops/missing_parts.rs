//! Whether all parts of a dataset of the first generation are there, before something else is made
//! of it. A lone part may be looked at; what is written from it would be called whole.

use crate::container::{ContainerReader, Physical, part_name};
use crate::error::{Error, Result};
use crate::jobs::JobContext;
use crate::model::{Finding, Location, Rule, Severity};
use crate::text::PrintableLine;

/// Names that an error lists.
const MAX_NAMES: usize = 8;

/// Which parts of a dataset of the first generation are not there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MissingParts {
    /// Parts that were opened.
    pub opened: u64,
    /// Parts that the headers announce.
    pub count: u64,
    /// Names of the parts that are not in the folder of the others. Empty when they are there and
    /// were left out, or can't be listed.
    pub names: Vec<String>,
    /// The opened part has a number in its name, by which the others are found.
    numbered: bool,
}

impl MissingParts {
    /// Missing parts of this dataset; `None` for a complete one and for other generations. Checks
    /// which files exist.
    pub fn from_reader(reader: &dyn ContainerReader) -> Option<Self> {
        let Physical::Tortilla(tortilla) = reader.physical() else {
            return None;
        };
        let names = tortilla.missing_parts();
        let opened = tortilla.files().len() as u64;
        let count = tortilla
            .roots()
            .iter()
            .map(|root| root.header.partitions)
            .max()
            .unwrap_or(0);
        let name = tortilla
            .files()
            .first()
            .and_then(|file| file.path().file_name())
            .map(|name| name.to_string_lossy().into_owned());
        let numbered = name
            .as_deref()
            .is_some_and(|name| part_name(name).is_some());
        (!names.is_empty() || opened < count).then_some(Self {
            opened,
            count,
            names,
            numbered,
        })
    }

    /// The names that are lacking, as far as a message lists them.
    pub fn listed_names(&self) -> String {
        let names = self
            .names
            .iter()
            .take(MAX_NAMES)
            .map(|name| name.printable_line().to_string())
            .collect::<Vec<_>>()
            .join(", ");
        match self.names.len().saturating_sub(MAX_NAMES) {
            0 => names,
            n => tr!("{names} and {n} more", names, n),
        }
    }

    fn sentence(&self) -> String {
        if !self.names.is_empty() {
            let verb = if self.names.len() == 1 { "is" } else { "are" };
            return format!(
                "of the {} parts of this dataset {} {verb} missing",
                self.count,
                self.listed_names()
            );
        }
        let why = if self.numbered {
            "the others are in the same folder"
        } else {
            "its name has no number, so the others can't be found"
        };
        format!(
            "this is {} of {} parts of a dataset; {why}",
            self.opened, self.count
        )
    }
}

/// Findings for parts that are missing or were left out; other datasets have none. With `allow`
/// each is a warning as well.
///
/// # Errors
/// Without `allow`, when a part is missing: the error names the parts.
pub fn need_all_parts(
    reader: &dyn ContainerReader,
    allow: bool,
    ctx: &JobContext,
) -> Result<Vec<Finding>> {
    let Some(lacking) = MissingParts::from_reader(reader) else {
        return Ok(Vec::new());
    };
    if !allow {
        let error = Error::invalid(lacking.sentence()).at_path(&reader.info().path);
        let error = if lacking.names.is_empty() {
            error.hint("name all of them: their folder, or a pattern like NAME.*.part.tortilla")
        } else {
            error.hint(
                "put the missing parts beside the others, and name their folder or \
                NAME.*.part.tortilla",
            )
        };
        return Err(error.hint("--allow-missing-parts reads the parts that are there"));
    }
    ctx.warn(lacking.sentence());
    Ok(lacking
        .names
        .iter()
        .map(|name| report_missing_part(name))
        .collect())
}

fn report_missing_part(name: &str) -> Finding {
    let at = Location::Member(name.printable_line().to_string());
    Finding {
        severity: Severity::Warning,
        ..Finding::new(Rule::TortillaParts, at, tr!("This part is missing."))
    }
}
