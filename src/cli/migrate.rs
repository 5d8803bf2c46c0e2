//! `migrate`: a dataset of another generation becomes one of 2.0; every field is accounted for.

use std::path::PathBuf;

use serde_json::Map;

use super::output::{Terminal, print, print_json};
use super::runner::run;
use super::writing::{DamageArguments, PartsArguments, WriteArguments, tell_samples};
use crate::container::{BuildOptions, is_same_file, read_collection_file, read_json_document, write_document};
use crate::error::{Error, Result};
use crate::ops::{self, Action, FieldChoice, MigrateRequest, Migrated};
use crate::studio::JobKind;

/// Arguments of `migrate`.
#[derive(Debug, clap::Args)]
pub struct MigrateArguments {
    /// A .tortilla, a .taco, the folder of its parts, name.*.part.tortilla, or a TACO 3 archive or folder.
    pub input: PathBuf,
    /// The file or folder to write; without it, the report is printed and nothing is written.
    #[arg(long, short)]
    pub output: Option<PathBuf>,
    #[command(flatten)]
    pub parts: PartsArguments,
    #[command(flatten)]
    pub write: WriteArguments,
    #[command(flatten)]
    pub damage: DamageArguments,
    /// Another name for a column, OLD=NEW; OLD= leaves it out. Can be repeated.
    #[arg(long, value_name = "OLD=NEW", value_parser = choice)]
    pub field: Vec<FieldChoice>,
    /// A JSON list of such choices: [{"level": 0, "from": "OLD", "to": "NEW"}, …].
    #[arg(long, value_name = "FILE.json")]
    pub mapping: Option<PathBuf>,
    /// A JSON file with fields of the collection that are set after the mapping.
    #[arg(long, value_name = "FILE.json")]
    pub collection: Option<PathBuf>,
    /// Put padding where roots lack what most of them have.
    #[arg(long)]
    pub fill_missing: bool,
    /// Leave ids as they are. Else samples in the same place of every root get the first root's ids where nothing but ids keeps the
    /// roots from having one shape; the old ids stay in the column tortilla:id.
    #[arg(long)]
    pub keep_ids: bool,
    /// Go on where parts of a dataset of the first generation are missing.
    #[arg(long)]
    pub allow_missing_parts: bool,
    /// Write what was done as JSON into this file.
    #[arg(long, value_name = "FILE.json")]
    pub report: Option<PathBuf>,
    /// Print JSON.
    #[arg(long)]
    pub json: bool,
}

fn choice(text: &str) -> Result<FieldChoice, String> {
    let (from, to) = text.rsplit_once('=').ok_or("write OLD=NEW")?;
    Ok(FieldChoice { level: None, from: from.to_owned(), to: Some(to.to_owned()).filter(|to| !to.is_empty()) })
}

/// Migrates; exit code 1 when 2.0 can't hold the tree, and then nothing is written, or when damaged samples were copied.
pub fn migrate(arguments: MigrateArguments, terminal: &Terminal) -> Result<u8> {
    let MigrateArguments { input, output, parts, write, field, mapping, collection, .. } = arguments;
    let (fill_missing, keep_ids, report, json) = (arguments.fill_missing, arguments.keep_ids, arguments.report, arguments.json);
    let allow_missing_parts = arguments.allow_missing_parts;
    let mut fields = field;
    if let Some(path) = &mapping {
        let bytes = read_json_document(path, "read the mapping")?;
        let more: Vec<FieldChoice> = serde_json::from_slice(&bytes).map_err(|error| {
            let hint = "write [{\"level\": 0, \"from\": \"old name\", \"to\": \"new name\"}]";
            Error::usage("the mapping is not a list of choices").because(error).at_path(path).hint(hint)
        })?;
        fields.extend(more);
    }
    let collection = match &collection {
        Some(path) => read_collection_file(path)?.descriptive(),
        None => Map::new(),
    };
    let overwrite = write.overwrite;
    if let Some(path) = report.as_ref().filter(|path| is_same_file(&input, path)) {
        return Err(Error::usage("the report would take the place of the dataset").at_path(path).hint("choose another name"));
    }
    let on_damage = arguments.damage.on_damage();
    let options = output.map(|target| BuildOptions { on_damage, ..write.options(target, parts.parts()) });
    let planned = options.is_none();
    let kind = JobKind::Migrate(input.clone());
    let request = MigrateRequest { input, options, fields, collection, fill_missing, keep_ids, allow_missing_parts };
    let migrated = run(terminal, &kind, move |ctx| ops::migrate(&request, ctx))?;
    let told = migrated.report();
    if let Some(path) = &report {
        let report = serde_json::to_vec_pretty(&told)
            .map_err(|error| Error::internal("the report can't be written as JSON").because(error))?;
        write_document(path, &report, overwrite)?;
    }
    if json {
        print_json(&told)?
    } else {
        print(&text(&migrated, planned))?
    }
    let damaged = migrated.built.as_ref().map_or(0, tell_samples);
    Ok(damaged.max(u8::from(!migrated.is_possible())))
}

fn text(migrated: &Migrated, planned: bool) -> String {
    let mut text = String::new();
    for field in &migrated.fields {
        let to = field.to.as_deref().unwrap_or("–");
        text.push_str(&format!("level{}  {:24} → {to}", field.level, field.from));
        if let Some(to_type) = field.to_type.as_ref().filter(|to_type| **to_type != field.from_type) {
            text.push_str(&format!("  ({} → {to_type})", field.from_type));
        }
        if !field.lost.is_empty() {
            text.push_str(&format!("  {} values lost", field.lost.len()));
        }
        if !field.note.is_empty() {
            text.push_str(&format!("  {}", field.note));
        }
        text.push('\n');
    }
    for line in migrated.collection.iter().filter(|line| line.action != Action::Kept) {
        let word = serde_json::to_value(line.action).unwrap_or_default();
        let word = word.as_str().unwrap_or_default();
        let (from, to) = (line.from.as_str(), line.to.as_deref().unwrap_or("–"));
        text.push_str(&format!("collection  {word:8} {from} → {to}  {}\n", line.note));
    }
    for sample in migrated.renamed.iter().take(20) {
        text.push_str(&format!("renamed  {} → {}\n", sample.path, sample.id));
    }
    if migrated.renamed.len() > 20 {
        text.push_str(&format!("renamed  {} more\n", migrated.renamed.len() - 20));
    }
    for finding in &migrated.findings {
        text.push_str(&format!("{} {}: {}\n", finding.rule, finding.at, finding.message));
    }
    match &migrated.built {
        Some(built) => text.push_str(&super::create::summary(built, false)),
        None if planned => text.push_str("nothing was written: name an output with -o"),
        None => text.push_str("nothing was written: 2.0 can't hold this tree; see the findings, or try --fill-missing"),
    }
    text
}
