//! Whether all parts of a dataset of the first generation are there, before something else is made of it. A lone part may be
//! looked at; what is written from it would be called whole.

use crate::container::{ContainerReader, Physical, TortillaReader, part_name};
use crate::error::{Error, Result};
use crate::jobs::JobContext;
use crate::model::{Finding, Location, Rule, Severity};

/// Names that an error lists.
const NAMED: usize = 8;

/// An error that names the parts that are missing or were left out, unless `allow`: then it is a warning, and a finding for each.
/// Of other datasets nothing is missing.
pub fn need_all_parts(reader: &dyn ContainerReader, allow: bool, ctx: &JobContext) -> Result<Vec<Finding>> {
    let Physical::Tortilla(tortilla) = reader.physical() else { return Ok(Vec::new()) };
    let Some((what, missing)) = lacking(tortilla) else { return Ok(Vec::new()) };
    if !allow {
        let error = Error::invalid(what).at_path(&reader.info().path);
        let error = match missing.is_empty() {
            true => error.hint("name all of them: their folder, or a pattern like NAME.*.part.tortilla"),
            false => error.hint("put the missing parts beside the others, and name their folder or NAME.*.part.tortilla"),
        };
        return Err(error.hint("--allow-missing-parts goes on with what is there"));
    }
    ctx.warn(what);
    let finding = |name: String| {
        let at = Location::Member(name.escape_debug().to_string());
        Finding { severity: Severity::Warning, ..Finding::new(Rule::TortillaParts, at, tr!("This part is not there.")) }
    };
    Ok(missing.into_iter().map(finding).collect())
}

/// What is lacking, in a sentence, and the names of the parts that are not there.
fn lacking(tortilla: &TortillaReader) -> Option<(String, Vec<String>)> {
    let missing = tortilla.missing_parts();
    let opened = tortilla.files().len() as u64;
    let count = tortilla.roots().iter().map(|root| root.header.partitions).max().unwrap_or(0);
    if !missing.is_empty() {
        let mut names = missing.iter().take(NAMED).map(|name| name.escape_debug().to_string()).collect::<Vec<_>>().join(", ");
        if missing.len() > NAMED {
            names.push_str(&format!(" and {} more", missing.len() - NAMED));
        }
        let verb = if missing.len() == 1 { "is" } else { "are" };
        return Some((format!("of the {count} parts of this dataset {names} {verb} missing"), missing));
    }
    if opened >= count {
        return None;
    }
    let name = tortilla.files().first().and_then(|file| file.path().file_name()).map(|name| name.to_string_lossy().into_owned());
    let numbered = name.as_deref().is_some_and(|name| part_name(name).is_some());
    let why = if numbered { "the others lie beside it" } else { "its name has no number, so the others can't be found" };
    Some((format!("this is {opened} of {count} parts of a dataset; {why}"), Vec::new()))
}
