//! `create`: a folder of files becomes a dataset.

use std::path::PathBuf;

use serde_json::json;

use super::Terminal;
use super::arguments::{CreateArguments, WrittenGeneration};
use super::output::{print, say};
use crate::container::{Built, OnDamage, TortillaOptions, read_collection_file};
use crate::draft::{Structure, fill_missing, pad_to};
use crate::error::{Error, Result};
use crate::jobs::{JobContext, Jobs};
use crate::model::{Collection, Dataset, Tortilla};
use crate::studio::{checked_build, import_folder, join_metadata, write_first_generation};
use crate::table::read_sidecar;

pub fn create(arguments: CreateArguments, terminal: &Terminal) -> Result<u8> {
    let json = arguments.json;
    let mut job = Jobs::quiet().start("Create", move |ctx| build(&arguments, ctx));
    let built = loop {
        match job.wait_for(std::time::Duration::from_millis(100)) {
            Some(outcome) => break outcome?,
            None => terminal.progress(&job.progress()),
        }
    };
    terminal.clear();
    for warning in job.progress().warnings {
        say(format!("warning: {warning}"));
    }
    print(&summary(&built, json))?;
    Ok(0)
}

pub fn summary(built: &Built, json: bool) -> String {
    if json {
        let text = |path: &PathBuf| path.display().to_string();
        let mut out = json!({
            "path": text(&built.path), "format": built.format, "samples": built.samples, "files": built.files, "bytes": built.bytes
        });
        if !built.parts.is_empty() {
            out["parts"] = built.parts.iter().map(text).collect();
            out["indexes"] = built.indexes.iter().map(text).collect();
        }
        if !built.damaged.is_empty() {
            out["damaged"] = json!(built.damaged);
        }
        return out.to_string();
    }
    let totals = format!("{} samples, {} files, {} bytes", built.samples, built.files, built.bytes);
    if built.parts.is_empty() {
        return format!("{}: {totals}", built.path.display());
    }
    let lines = built.parts.iter().chain(&built.indexes).map(|path| path.display().to_string() + "\n");
    format!("{}{} parts: {totals}", lines.collect::<String>(), built.parts.len())
}

fn build(arguments: &CreateArguments, ctx: &JobContext) -> Result<Built> {
    let generation = arguments.generation.unwrap_or_else(|| WrittenGeneration::of_name(&arguments.output));
    let collection = collection_of(arguments, generation)?;
    if !arguments.source.is_dir() {
        return Err(Error::usage("the source is not a folder").at_path(&arguments.source));
    }
    let (samples, imported) = import_folder(&arguments.source, ctx)?;
    for skipped in imported.skipped.iter().take(20) {
        ctx.warn(format!("left out {skipped}"));
    }
    if imported.skipped.len() > 20 {
        ctx.warn(format!("left out {} more paths", imported.skipped.len() - 20));
    }
    let mut dataset = Dataset { collection, root: Tortilla::new(samples).into() };
    if let Some(table) = &arguments.metadata {
        join_metadata(&mut dataset, &read_sidecar(table, ctx)?, ctx)?;
    }
    if arguments.fill_missing
        && let Some((edit, roots)) = fill_missing(&dataset, &Structure::of(&dataset))
    {
        edit.apply(&mut dataset)?;
        ctx.warn(format!("{roots} roots were padded where something is missing"));
    }
    if let Some(multiple) = arguments.pad_to
        && let Some(edit) = pad_to(&dataset, multiple as usize)
    {
        edit.apply(&mut dataset)?;
    }
    if arguments.stream && generation == WrittenGeneration::Two {
        return Err(Error::usage("only .tortilla and .taco files are made streamable: 2.0 streams as it is"));
    }
    if generation != WrittenGeneration::Two {
        return first_generation(&dataset, generation, arguments, ctx);
    }
    let options = arguments.write.options(arguments.output.clone(), arguments.parts.clone().parts());
    checked_build(&dataset, &options, ctx)
}

/// The collection of the file that was given. Only a TORTILLA does without.
fn collection_of(arguments: &CreateArguments, generation: WrittenGeneration) -> Result<Collection> {
    let mut collection = Collection::template();
    let Some(file) = &arguments.collection else {
        return match generation {
            WrittenGeneration::Tortilla => Ok(collection),
            WrittenGeneration::Two | WrittenGeneration::Taco => Err(Error::usage("a dataset needs the fields of its collection")
                .at_path(&arguments.output)
                .hint("name a JSON file with them: --collection collection.json; only a .tortilla has none")),
        };
    };
    let given = read_collection_file(file)?;
    for (key, value) in given.descriptive() {
        collection.set(&key, Some(value));
    }
    Ok(collection)
}

/// TORTILLA 0.5 or TACO 0.2, as the name of the output has to say.
fn first_generation(
    dataset: &Dataset,
    generation: WrittenGeneration,
    arguments: &CreateArguments,
    ctx: &JobContext,
) -> Result<Built> {
    let named = WrittenGeneration::of_name(&arguments.output);
    if named != generation {
        let ending = if generation == WrittenGeneration::Taco { ".taco" } else { ".tortilla" };
        return Err(Error::usage(format!("the name of this output has to end in {ending}")).at_path(&arguments.output));
    }
    let options = TortillaOptions {
        target: arguments.output.clone(),
        collection: None,
        part_bytes: arguments.parts.split_size,
        stream: arguments.stream,
        overwrite: arguments.write.overwrite,
        on_damage: OnDamage::Stop,
    };
    write_first_generation(dataset, &options, ctx)
}
