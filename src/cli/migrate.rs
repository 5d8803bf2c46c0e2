//! `migrate`: a dataset of another generation becomes one of 2.0, or any but TACO 3 is prepared for
//! the official library of TACO 3; every field is accounted for.

use std::path::{Path, PathBuf};

use clap::ValueEnum;
use clap::builder::PossibleValue;
use serde_json::{Map, Value as Json};

use super::output::{Terminal, print, print_json};
use super::runner::operate;
use super::writing::{DamageArguments, PartsArguments, WriteArguments, tell_damaged, tell_samples};
use crate::container::{
    BuildOptions, is_same_file, read_collection_file, read_json_document, write_document,
};
use crate::error::{Error, Result};
use crate::ops::{
    FieldAction, FieldChoice, LackingFiles, LibraryRun, MigrateRequest, Migrated, OperationOutput,
    Taco3Prepared, Taco3Request,
};

/// Arguments of `migrate`.
#[derive(Debug, clap::Args)]
pub struct MigrateArguments {
    /// A .tortilla, a .taco, the folder of its parts, name.*.part.tortilla, a ZIP or FOLDER by
    /// tacotoolbox before 0.16, or a TACO 3 archive or folder; with --to 3 any dataset but one of
    /// TACO 3.
    pub input: PathBuf,
    /// The generation: 2 writes a dataset of 2.0; 3 writes a folder with the contract, the tables,
    /// the files, and a Python program that makes the official library write TACO 3, which no other
    /// program does.
    #[arg(long, value_name = "GENERATION", value_enum, default_value = "2")]
    pub to: TargetGeneration,
    /// The file or folder to write; without it, the report is printed and nothing is written.
    #[arg(long, short)]
    pub output: Option<PathBuf>,
    /// With --to 3, run the library at once: it writes DATASET, a ZIP for a name that ends in .zip,
    /// else a folder. It comes with pip install 'taco-eo[writer]'.
    #[arg(long, value_name = "DATASET", requires = "output")]
    pub run: Option<PathBuf>,
    /// The Python that has the library.
    #[arg(
        long,
        value_name = "PROGRAM",
        default_value = "python3",
        requires = "run"
    )]
    pub python: String,
    /// With --to 3, what becomes of a sample that lacks files which others have: a file of one byte
    /// takes the place of each, or the sample is left out. Padding at the end of numbered files is
    /// a sequence of TACO 3, and needs neither.
    #[arg(long, value_name = "HOW", value_enum, default_value = "placeholder")]
    pub lacking: LackingFiles,
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
    /// Leave ids as they are. Else samples in the same place of every root get the first root's ids
    /// where nothing but ids keeps the roots from having one shape; the old ids stay in the column
    /// tortilla:id.
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

/// Values of `--to`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, clap::ValueEnum)]
pub enum TargetGeneration {
    /// TACO 2.0.
    #[default]
    #[value(name = "2")]
    Two,
    /// TACO 3, by its official library.
    #[value(name = "3")]
    Three,
}

/// Values of `--lacking`.
impl ValueEnum for LackingFiles {
    fn value_variants<'a>() -> &'a [Self] {
        &[Self::Placeholder, Self::LeaveOut]
    }

    fn to_possible_value(&self) -> Option<PossibleValue> {
        Some(match self {
            Self::Placeholder => PossibleValue::new("placeholder").help("A file of one zero byte"),
            Self::LeaveOut => PossibleValue::new("leave-out").help("Leave the sample out"),
        })
    }
}

fn choice(text: &str) -> Result<FieldChoice, String> {
    let (from, to) = text.rsplit_once('=').ok_or("write OLD=NEW")?;
    Ok(FieldChoice {
        level: None,
        from: from.to_owned(),
        to: Some(to.to_owned()).filter(|to| !to.is_empty()),
    })
}

/// Migrates; exit code 1 when 2.0 can't hold the tree, and then nothing is written, or when damaged
/// samples were copied.
pub fn migrate(arguments: MigrateArguments, terminal: &Terminal) -> Result<u8> {
    if arguments.to == TargetGeneration::Three {
        return prepare_taco3(arguments, terminal);
    }
    if arguments.run.is_some() {
        return Err(Error::usage("--run is for --to 3")
            .hint("2.0 is written by this program: name the output with -o"));
    }
    let MigrateArguments {
        input,
        output,
        parts,
        write,
        field,
        mapping,
        collection,
        ..
    } = arguments;
    let (fill_missing, keep_ids, report, json) = (
        arguments.fill_missing,
        arguments.keep_ids,
        arguments.report,
        arguments.json,
    );
    let allow_missing_parts = arguments.allow_missing_parts;
    let mut fields = field;
    if let Some(path) = &mapping {
        let bytes = read_json_document(path, "read the mapping")?;
        let more: Vec<FieldChoice> = serde_json::from_slice(&bytes).map_err(|error| {
            let hint = "write [{\"level\": 0, \"from\": \"old name\", \"to\": \"new name\"}]";
            Error::usage("the mapping is not a list of choices")
                .because(error)
                .at_path(path)
                .hint(hint)
        })?;
        fields.extend(more);
    }
    let collection = match &collection {
        Some(path) => read_collection_file(path)?.descriptive_fields(),
        None => Map::new(),
    };
    let overwrite = write.overwrite;
    check_report(report.as_deref(), &input)?;
    let on_damage = arguments.damage.on_damage();
    let options = output.map(|target| BuildOptions {
        on_damage,
        ..write.options(target, parts.parts())
    });
    let planned = options.is_none();
    let request = MigrateRequest {
        input,
        options,
        fields,
        collection,
        fill_missing,
        keep_ids,
        allow_missing_parts,
    };
    let migrated = operate(terminal, request)?;
    let told = migrated.to_json();
    write_report(report.as_deref(), &told, overwrite)?;
    if json {
        print_json(&told)?
    } else {
        print(&text(&migrated, planned))?
    }
    let damaged = migrated.built.as_ref().map_or(0, tell_samples);
    Ok(damaged.max(u8::from(!migrated.is_possible())))
}

/// Refuses a report that would replace the dataset.
fn check_report(report: Option<&Path>, input: &Path) -> Result<()> {
    match report.filter(|path| is_same_file(input, path)) {
        Some(path) => Err(
            Error::usage("the report would take the place of the dataset")
                .at_path(path)
                .hint("choose another name"),
        ),
        None => Ok(()),
    }
}

/// Writes the report where one is asked for.
fn write_report(report: Option<&Path>, told: &Json, overwrite: bool) -> Result<()> {
    let Some(path) = report else { return Ok(()) };
    let told = serde_json::to_vec_pretty(told)
        .map_err(|error| Error::internal("the report can't be written as JSON").because(error))?;
    write_document(path, &told, overwrite)
}

/// Prepares the dataset for the library of TACO 3; exit code as [`migrate`].
fn prepare_taco3(arguments: MigrateArguments, terminal: &Terminal) -> Result<u8> {
    let MigrateArguments {
        input,
        output,
        report,
        json,
        parts,
        ..
    } = arguments;
    if !arguments.field.is_empty()
        || arguments.mapping.is_some()
        || arguments.fill_missing
        || arguments.keep_ids
    {
        let error =
            Error::usage("--field, --mapping, --fill-missing and --keep-ids are for --to 2");
        return Err(error.hint("migrate to 2.0 first, and then that dataset to 3"));
    }
    if parts.parts().is_some() {
        let error = Error::usage("the library of TACO 3 writes the parts");
        return Err(
            error.hint("run rebuild.py of the folder with --partition-by or --partition-size")
        );
    }
    check_report(report.as_deref(), &input)?;
    let overwrite = arguments.write.overwrite;
    let run = arguments.run.map(|output| LibraryRun {
        output,
        python: arguments.python,
    });
    if let (Some(run), Some(folder)) = (&run, &output) {
        // The option is the user's consent.
        crate::consent::allow_program(&run.command(folder, overwrite));
    }
    let collection = match &arguments.collection {
        Some(path) => read_collection_file(path)?.descriptive_fields(),
        None => Map::new(),
    };
    let request = Taco3Request {
        input,
        target: output,
        overwrite,
        lacking: arguments.lacking,
        collection,
        on_damage: arguments.damage.on_damage(),
        allow_missing_parts: arguments.allow_missing_parts,
        run,
    };
    let prepared = operate(terminal, request)?;
    let told = prepared.to_json();
    write_report(report.as_deref(), &told, overwrite)?;
    if json {
        print_json(&told)?
    } else {
        print(&text_of_prepared(&prepared))?
    }
    Ok(tell_damaged(&prepared.damaged).max(u8::from(!prepared.is_possible())))
}

fn text_of_prepared(prepared: &Taco3Prepared) -> String {
    let mut text = String::new();
    for field in &prepared.fields {
        let to = field.to.as_deref().unwrap_or("–");
        let dtype = field
            .type_name
            .as_deref()
            .map(|dtype| format!("  ({dtype})"))
            .unwrap_or_default();
        let note = if field.note.is_empty() {
            String::new()
        } else {
            format!("  {}", field.note)
        };
        text.push_str(&format!(
            "{}  {:24} → {to}{dtype}{note}\n",
            field.level, field.from
        ));
    }
    for line in prepared
        .collection
        .iter()
        .filter(|line| line.action != FieldAction::Kept)
    {
        let word = serde_json::to_value(line.action).unwrap_or_default();
        let (word, to) = (
            word.as_str().unwrap_or_default(),
            line.to.as_deref().unwrap_or("–"),
        );
        text.push_str(&format!(
            "collection  {word:8} {} → {to}  {}\n",
            line.from, line.note
        ));
    }
    for member in &prepared.renamed {
        text.push_str(&format!(
            "renamed  {}: {} → {}\n",
            member.level, member.from, member.to
        ));
    }
    for (word, paths) in [
        ("placeholder", &prepared.placeholders),
        ("left out", &prepared.left_out),
    ] {
        paths
            .iter()
            .take(20)
            .for_each(|path| text.push_str(&format!("{word}  {path}\n")));
        if paths.len() > 20 {
            text.push_str(&format!("{word}  {} more\n", paths.len() - 20));
        }
    }
    for finding in &prepared.findings {
        text.push_str(&format!(
            "{} {}: {}\n",
            finding.rule, finding.at, finding.message
        ));
    }
    text.push_str(&format!(
        "{} samples of {}: {} files\n",
        prepared.samples,
        prepared.structure.join(", "),
        prepared.files
    ));
    match (&prepared.folder, &prepared.library) {
        (_, Some(said)) => text.push_str(said.trim_end()),
        (Some(folder), None) => text.push_str(&format!(
            "{}: run `python rebuild.py OUTPUT.zip` in it, where taco-eo[writer] is installed",
            folder.display()
        )),
        (None, _) if prepared.is_possible() => {
            text.push_str("nothing was written: name a folder with -o")
        }
        (None, _) => {
            text.push_str("nothing was written: TACO 3 can't hold this tree; see the findings")
        }
    }
    text
}

fn text(migrated: &Migrated, planned: bool) -> String {
    let mut text = String::new();
    for field in &migrated.fields {
        let to = field.to.as_deref().unwrap_or("–");
        text.push_str(&format!("level{}  {:24} → {to}", field.level, field.from));
        if let Some(to_type) = field
            .to_type
            .as_ref()
            .filter(|to_type| **to_type != field.from_type)
        {
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
    for line in migrated
        .collection
        .iter()
        .filter(|line| line.action != FieldAction::Kept)
    {
        let word = serde_json::to_value(line.action).unwrap_or_default();
        let word = word.as_str().unwrap_or_default();
        let (from, to) = (line.from.as_str(), line.to.as_deref().unwrap_or("–"));
        text.push_str(&format!(
            "collection  {word:8} {from} → {to}  {}\n",
            line.note
        ));
    }
    for sample in migrated.renamed.iter().take(20) {
        text.push_str(&format!("renamed  {} → {}\n", sample.path, sample.id));
    }
    if migrated.renamed.len() > 20 {
        text.push_str(&format!("renamed  {} more\n", migrated.renamed.len() - 20));
    }
    for finding in &migrated.findings {
        text.push_str(&format!(
            "{} {}: {}\n",
            finding.rule, finding.at, finding.message
        ));
    }
    match &migrated.built {
        Some(built) => text.push_str(&super::create::summary(built, false)),
        None if planned => text.push_str("nothing was written: name an output with -o"),
        None => text.push_str(
            "nothing was written: 2.0 can't hold this tree; see the findings, or \
            try --fill-missing",
        ),
    }
    text
}
