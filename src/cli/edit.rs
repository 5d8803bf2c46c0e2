//! `edit`, `tortilla2taco`, `taco2tortilla`: metadata of existing datasets, changed where they are.

use std::path::{Path, PathBuf};

use serde_json::{Map, Value as Json};

use super::output::{Terminal, print, print_json, say};
use super::runner::{operate, run};
use super::writing::ParquetArguments;
use crate::container::read_collection_file;
use crate::error::Result;
use crate::ops::{DatasetEdit, EditRequest, Generation, edit_dataset, plan_edit};

/// Arguments of `edit`.
#[derive(Debug, clap::Args)]
pub struct EditArguments {
    /// A FOLDER or ZIP of 2.0; a .tortilla or .taco, or the folder of its parts.
    pub path: PathBuf,
    /// Write a changed copy instead of changing the dataset.
    #[arg(long, short)]
    pub output: Option<PathBuf>,
    /// Replace the output if it exists.
    #[arg(long)]
    pub overwrite: bool,
    /// A CSV, spreadsheet (.xlsx, .ods), JSON or Parquet table whose columns are added or replaced:
    /// by path or id, in a .tortilla or .taco by tortilla:id or id. Samples of a FOLDER or ZIP that
    /// it does not name keep their values.
    #[arg(long, value_name = "TABLE")]
    pub metadata: Option<PathBuf>,
    /// The column of the table that names the samples, by path or id. Without it, the one that
    /// names most.
    #[arg(long, value_name = "COLUMN", requires = "metadata")]
    pub key: Option<String>,
    /// The level whose columns change.
    #[arg(long, value_name = "N", default_value_t = 0)]
    pub level: usize,
    /// Remove this column. Can be repeated.
    #[arg(long, value_name = "COLUMN")]
    pub drop: Vec<String>,
    /// A JSON file with the whole collection.
    #[arg(long, value_name = "FILE.json")]
    pub collection: Option<PathBuf>,
    /// A field of the collection, KEY=JSON or KEY=text; KEY=null removes it. Can be repeated.
    #[arg(long, value_name = "KEY=VALUE", value_parser = field)]
    pub set: Vec<(String, Json)>,
    #[command(flatten)]
    pub parquet: ParquetArguments,
    /// Check the edit, say how it would be done, and change nothing.
    #[arg(long)]
    pub dry_run: bool,
    /// Print what was done as JSON.
    #[arg(long)]
    pub json: bool,
}

/// Arguments of `tortilla2taco`.
#[derive(Debug, clap::Args)]
pub struct TortillaToTacoArguments {
    /// A .tortilla, or the folder of its parts.
    pub path: PathBuf,
    /// A JSON file with the collection.
    #[arg(long, value_name = "FILE.json")]
    pub collection: PathBuf,
    /// Write a copy instead of changing the file.
    #[arg(long, short)]
    pub output: Option<PathBuf>,
    /// Replace the output if it exists.
    #[arg(long)]
    pub overwrite: bool,
}

/// Arguments of `taco2tortilla`.
#[derive(Debug, clap::Args)]
pub struct TacoToTortillaArguments {
    /// A .taco, or the folder of its parts.
    pub path: PathBuf,
    /// Write a copy instead of changing the file.
    #[arg(long, short)]
    pub output: Option<PathBuf>,
    /// Replace the output if it exists.
    #[arg(long)]
    pub overwrite: bool,
}

fn field(text: &str) -> Result<(String, Json), String> {
    let (key, value) = text.split_once('=').ok_or("write KEY=VALUE")?;
    let value = serde_json::from_str(value).unwrap_or_else(|_| Json::from(value));
    Ok((key.to_owned(), value))
}

fn collection_in(path: &Path) -> Result<Map<String, Json>> {
    Ok(read_collection_file(path)?.fields)
}

fn edit_as(request: EditRequest, terminal: &Terminal) -> Result<u8> {
    let edited = operate(terminal, request)?;
    print(&edited.path.display().to_string())?;
    Ok(0)
}

fn request(input: PathBuf, output: Option<PathBuf>, overwrite: bool) -> EditRequest {
    EditRequest {
        input,
        output,
        overwrite,
        metadata: None,
        key: None,
        drop: Vec::new(),
        level: 0,
        collection: None,
        set: Map::new(),
        become_generation: None,
    }
}

/// Changes columns and fields. The way is said on standard error before anything is written.
pub fn edit(arguments: EditArguments, terminal: &Terminal) -> Result<u8> {
    let EditArguments {
        path: input,
        output,
        overwrite,
        metadata,
        key,
        level,
        drop,
        collection,
        set,
        parquet,
        dry_run,
        json,
    } = arguments;
    let collection = collection.as_deref().map(collection_in).transpose()?;
    let (set, parquet) = (set.into_iter().collect(), parquet.options());
    let request = DatasetEdit {
        input,
        output,
        overwrite,
        level,
        metadata,
        key,
        drop,
        collection,
        set,
        parquet,
    };
    if dry_run {
        let way = run(terminal, "edit", move |ctx| plan_edit(&request, ctx))?;
        if json {
            print_json(&way)?
        } else {
            print(&way.sentence())?
        }
        return Ok(0);
    }
    let edited = run(terminal, "edit", move |ctx| {
        edit_dataset(&request, &|way| say(way.sentence()), ctx)
    })?;
    if json {
        print_json(&edited)?
    } else {
        print(&edited.path.display().to_string())?
    }
    Ok(0)
}

/// Adds a collection to a TORTILLA.
pub fn tortilla_to_taco(arguments: TortillaToTacoArguments, terminal: &Terminal) -> Result<u8> {
    let TortillaToTacoArguments {
        path,
        collection,
        output,
        overwrite,
    } = arguments;
    let collection = Some(collection_in(&collection)?);
    let become_generation = Some(Generation::Taco);
    edit_as(
        EditRequest {
            collection,
            become_generation,
            ..request(path, output, overwrite)
        },
        terminal,
    )
}

/// Takes a TACO's collection away.
pub fn taco_to_tortilla(arguments: TacoToTortillaArguments, terminal: &Terminal) -> Result<u8> {
    let TacoToTortillaArguments {
        path,
        output,
        overwrite,
    } = arguments;
    edit_as(
        EditRequest {
            become_generation: Some(Generation::Tortilla),
            ..request(path, output, overwrite)
        },
        terminal,
    )
}
