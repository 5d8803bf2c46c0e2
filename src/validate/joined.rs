//! Checks a TACOLLECTION.json against the datasets it lists (TACO 2.0, section 6.6), and datasets
//! opened together; a deep check includes each dataset.

use serde_json::Value as Json;

use super::CheckOptions;
use super::tacocat::merge_part_findings;
use crate::container::{ContainerReader, JoinedPart, JoinedReader};
use crate::error::Result;
use crate::jobs::JobContext;
use crate::model::{Location, Profile, Report, Rule};
use crate::text::PrintableLine;

/// Compares the list with each part; with `deep` checks the parts too.
///
/// # Errors
/// When a part cannot be read, or the job is cancelled.
pub fn check(
    joined: &JoinedReader,
    profile: Profile,
    deep: bool,
    report: &mut Report,
    ctx: &JobContext,
) -> Result<()> {
    if let (Some(listed), Some(sources)) = (
        joined.listed_parts(),
        joined.collection().get("taco:sources"),
    ) {
        check_listed_facts(listed, sources, report);
    }
    if !deep {
        return Ok(());
    }
    ctx.stage(
        tr!("Checking the parts"),
        Some(joined.datasets().len() as u64),
    );
    let options = CheckOptions {
        profile,
        deep,
        ..CheckOptions::default()
    };
    for (index, (name, _)) in joined.datasets().enumerate() {
        ctx.check()?;
        let reader = joined.dataset(index, ctx)?;
        merge_part_findings(
            name,
            super::check_unfolded(reader.as_ref(), &options, ctx)?,
            report,
        );
        ctx.step(1);
    }
    Ok(())
}

/// Compares the number, ids and extents that `taco:sources` states with the listed parts.
fn check_listed_facts(listed: &[JoinedPart], sources: &Json, report: &mut Report) {
    let location_of = |key: String| Location::Collection(format!("taco:sources/{key}"));
    super::tacocat::check_source_counts(Some(sources), report);
    if sources.get("count").is_none_or(Json::is_null) {
        let files = listed.len();
        let message = tr_n!(
            files,
            "taco:sources counts nothing; it lists {files} file.",
            "taco:sources counts nothing; it lists {files} files.",
            files
        );
        report.add(Rule::PartFacts, location_of("count".into()), message);
    }
    for (index, part) in listed.iter().enumerate() {
        let Some((id, extent)) = &part.id_and_extent else {
            continue;
        };
        let name = part.name.printable_line();
        if let Some(said) = sources.get("ids").and_then(|ids| ids.get(index))
            && said.as_str() != Some(id)
        {
            let message = tr!(
                "{said} is not the id of {name}; that is {id}.",
                said,
                name,
                id = format!("{id:?}")
            );
            report.add(
                Rule::PartFacts,
                location_of(format!("ids/{index}")),
                message,
            );
        }
        let Some(said) = sources
            .get("extents")
            .and_then(|extents| extents.get(index))
        else {
            continue;
        };
        for key in ["spatial", "temporal"] {
            let own = extent.get(key).unwrap_or(&Json::Null);
            let said = said.get(key).unwrap_or(&Json::Null);
            if said != own {
                let message = match key {
                    "spatial" => tr!(
                        "The spatial extent of {name} is {own}; the list says {said}.",
                        name,
                        own,
                        said
                    ),
                    _ => tr!(
                        "The temporal extent of {name} is {own}; the list says {said}.",
                        name,
                        own,
                        said
                    ),
                };
                report.add(
                    Rule::PartFacts,
                    location_of(format!("extents/{index}/{key}")),
                    message,
                );
            }
        }
    }
}
