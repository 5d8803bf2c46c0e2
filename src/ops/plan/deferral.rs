//! Decides which calls of a recipe each part can run over its own samples, and which have to run
//! over all samples when the plan is written.

use std::collections::HashSet;

use crate::error::Result;
use crate::extensions::{Extension, ExtensionCall, ExtensionRegistry};

/// For each call, true if the parts run it. The following run when the plan is written: calls that
/// need all samples of a level, calls of the collection, calls whose columns one of these may read,
/// and calls that compute the columns `grouped` of level 0, by which samples are assigned to parts.
///
/// # Errors
/// When a call has an unknown extension or invalid options.
pub(super) fn find_deferred_calls(
    calls: &[ExtensionCall],
    grouped: &[String],
    registry: &ExtensionRegistry,
) -> Result<Vec<bool>> {
    let mut later = vec![false; calls.len()];
    // Later calls that run when the plan is written.
    let mut readers: Vec<Extension> = Vec::new();
    for (at, call) in calls.iter().enumerate().rev() {
        let made = registry.make(&call.extension, &call.options)?;
        let columns: HashSet<String> = match &made {
            Extension::Sample(extension) => extension.schema(),
            Extension::Tortilla(extension) => extension.schema(),
            Extension::Collection(_) => Vec::new(),
        }
        .into_iter()
        .map(|field| field.name)
        .collect();
        let groups = call.target.level == 0 && grouped.iter().any(|name| columns.contains(name));
        let is_read = readers
            .iter()
            .any(|reader| columns.iter().any(|column| may_read(reader, column)));
        later[at] = match &made {
            Extension::Sample(_) => !groups && !is_read,
            Extension::Tortilla(extension) => !extension.needs_level() && !groups && !is_read,
            Extension::Collection(_) => false,
        };
        if !later[at] {
            readers.push(made);
        }
    }
    // The extent of samples without footprints yet is computed after their footprints.
    for (at, call) in calls.iter().enumerate() {
        if let Extension::Collection(extension) = registry.make(&call.extension, &call.options)? {
            later[at] = extension.is_extent() && later[..at].contains(&true);
        }
    }
    Ok(later)
}

/// True if a call may read the column of another call.
fn may_read(reader: &Extension, column: &str) -> bool {
    match reader {
        // Programs and formulas read any column.
        Extension::Sample(_) => true,
        Extension::Tortilla(extension) => extension.reads(column),
        // The extent is computed again from the parts.
        Extension::Collection(extension) => extension.reads_samples() && !extension.is_extent(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::extensions::{CallTarget, builtin};

    fn calls(names: &[(&str, serde_json::Value)]) -> Vec<ExtensionCall> {
        let call = |(name, options): &(&str, serde_json::Value)| ExtensionCall {
            extension: (*name).to_owned(),
            options: options.clone(),
            target: CallTarget::default(),
            schema_only: false,
        };
        names.iter().map(call).collect()
    }

    #[test]
    fn calls_are_deferred_unless_a_later_one_needs_all_their_values() {
        let none = serde_json::Value::Null;
        let deferred = |names: &[&str], grouped: &[&str]| {
            let calls = calls(
                &names
                    .iter()
                    .map(|name| (*name, none.clone()))
                    .collect::<Vec<_>>(),
            );
            let grouped: Vec<String> = grouped.iter().map(|name| (*name).to_owned()).collect();
            super::find_deferred_calls(&calls, &grouped, &builtin()).expect("knows them")
        };
        assert_eq!(deferred(&["stac", "stats"], &[]), [true, true]);
        // The split is of all samples, and its report reads the ground that `stac` gives, but not
        // the statistics.
        assert_eq!(
            deferred(&["stac", "stats", "split_assignment"], &[]),
            [false, true, false]
        );
        assert_eq!(
            deferred(&["stac", "majortom", "content_hash"], &[]),
            [true, true, true],
            "row by row"
        );
        assert_eq!(
            deferred(&["stac", "majortom"], &["majortom:code"]),
            [false, false],
            "decides what is in which part"
        );
        assert_eq!(
            deferred(&["stac", "extent"], &[]),
            [true, true],
            "the parts have the places"
        );
        assert_eq!(deferred(&["extent", "stac"], &[]), [false, true]);
        let program = calls(&[
            ("stac", none.clone()),
            (
                "collection_command",
                serde_json::json!({ "command": ["x"] }),
            ),
        ]);
        assert_eq!(
            super::find_deferred_calls(&program, &[], &builtin()).expect("knows them"),
            [false, false],
            "a program reads any column"
        );
    }
}
