//! `create`: a folder of files becomes a dataset.

use std::path::{Path, PathBuf};

use clap::ValueEnum;
use clap::builder::PossibleValue;

use super::output::{Terminal, print, print_json};
use super::query::parse_box;
use super::runner::{operate, run};
use super::values::{SchemaName, WrittenGeneration};
use super::writing::{PartsArguments, StreamArguments, WriteArguments, tell_samples};
use crate::container::{Built, OnDamage, TortillaOptions};
use crate::draft::PadTo;
use crate::error::{Error, Result};
use crate::model::Profile;
use crate::ops::{
    self, CatalogueChoice, CreateOutput, CreateRequest, Generation, LayoutChoice, LayoutRequest,
    OperationOutput, SidecarHandling,
};
use crate::table::ParquetOptions;

/// Values of `--sidecars`.
impl ValueEnum for SidecarHandling {
    fn value_variants<'a>() -> &'a [Self] {
        &[Self::Leave, Self::Pack, Self::BurnIn]
    }

    fn to_possible_value(&self) -> Option<PossibleValue> {
        Some(match self {
            Self::Leave => PossibleValue::new("leave").help("Leave them out, and say so"),
            Self::Pack => PossibleValue::new("pack").help("Make them samples of their own"),
            Self::BurnIn => PossibleValue::new("burn-in").help(
                "Write their content into copies of their rasters; a raster or Shapefile of \
                    several files becomes one GeoTIFF or FlatGeobuf",
            ),
        })
    }
}

/// Which items and assets of a STAC catalogue are taken.
#[derive(Debug, Default, clap::Args)]
pub struct CatalogueArguments {
    /// The assets that are taken of each item of a STAC catalogue, as keys with * and ?; without it
    /// those that hold data. Can be repeated.
    #[arg(long, value_name = "KEY", value_delimiter = ',')]
    pub assets: Vec<String>,
    /// At most this many items of a STAC catalogue; 100000 without it.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    pub limit: Option<u32>,
    /// Items of a STAC catalogue whose footprint touches this box in degrees:
    /// west,south,east,north. The search of an API is asked for them.
    #[arg(long, value_name = "W,S,E,N", allow_hyphen_values = true, value_parser = parse_box)]
    pub bbox: Option<[f64; 4]>,
    /// Items of a STAC catalogue of these days or times, such as 2021-01-01/2021-12-31.
    #[arg(long, value_name = "FROM/TO")]
    pub datetime: Option<String>,
    /// Items of these collections of a STAC catalogue, by id. Can be repeated.
    #[arg(long, value_name = "ID", value_delimiter = ',')]
    pub collections: Vec<String>,
}

impl CatalogueArguments {
    /// # Errors
    /// For a choice of the items of what is no catalogue.
    pub fn choice(self, source: &Path) -> Result<CatalogueChoice> {
        let Self {
            assets,
            limit,
            bbox,
            datetime,
            collections,
        } = self;
        let choice = CatalogueChoice {
            assets,
            limit: limit.map(|limit| limit as usize),
            bbox,
            datetime,
            collections,
        };
        if choice != CatalogueChoice::default() && !choice.reads(source) {
            let options = "--assets, --limit, --bbox, --datetime and --collections";
            return Err(Error::usage(format!("{options}: for STAC catalogues")).at_path(source));
        }
        Ok(choice)
    }
}

/// Arguments of `create`.
#[derive(Debug, clap::Args)]
pub struct CreateArguments {
    /// The folder with the data, or an archive of one (.zip, .tar, .tar.gz, .tar.zst), which is not
    /// unpacked: folders in it become tortillas, files samples. Or a dataset of any generation,
    /// whose samples are taken; or a STAC Item, ItemCollection, table of items (stac-geoparquet),
    /// Collection or Catalog, or the address of an API search, whose items become samples.
    pub source: PathBuf,
    /// Output file or folder.
    #[arg(long, short, required_unless_present = "dry_run")]
    pub output: Option<PathBuf>,
    /// A JSON file with the collection's fields. Needed for all but a TORTILLA, which has no
    /// collection.
    #[arg(long, value_name = "FILE.json")]
    pub collection: Option<PathBuf>,
    /// A CSV, spreadsheet (.xlsx, .ods), JSON or Parquet table of metadata, joined by relative
    /// path.
    #[arg(long, value_name = "TABLE")]
    pub metadata: Option<PathBuf>,
    /// The column of the table that names the samples, by path or id. Without it, the one that
    /// names most.
    #[arg(long, value_name = "COLUMN", requires = "metadata")]
    pub key: Option<String>,
    /// Append padding up to a number of roots that N divides; LEVEL:N pads every tortilla whose
    /// samples are on that level, PATH:N the one of a FOLDER. Can be repeated, in any order.
    #[arg(long, value_name = "[PLACE:]N")]
    pub pad_to: Vec<PadTo>,
    /// How fields that differ within a level are handled.
    #[arg(long, value_name = "HOW", default_value = "strict")]
    pub schema: SchemaName,
    /// Put padding where roots lack what most of them have.
    #[arg(long)]
    pub fill_missing: bool,
    /// What is done with sidecars of rasters (.msk, .aux.xml, .ovr, .tfw, .prj): leave them out,
    /// pack them as samples, or burn them into copies of their GeoTIFFs.
    #[arg(long, value_name = "WHAT", value_enum, default_value = "leave")]
    pub sidecars: SidecarHandling,
    /// Arrange the files by their names instead of their folders: auto finds what belongs together;
    /// with folders the innermost folders are positions and the stems roots, with stems the ends of
    /// the stems are positions; or a pattern of {root}, {position}, {split}, {date}, {COLUMN}, *
    /// and folders, such as {split}/{position}/{root}; or a file of --save-layout.
    #[arg(long, value_name = "auto|folders|stems|PATTERN|FILE.json", value_parser = layout)]
    pub layout: Option<LayoutChoice>,
    /// Print what --layout finds, as a table of positions, and write nothing.
    #[arg(long)]
    pub dry_run: bool,
    /// Save the layout that is found, to use it again with --layout.
    #[arg(long, value_name = "FILE.json")]
    pub save_layout: Option<PathBuf>,
    /// Leave out files: * is any text, ? one character, of the path below SOURCE or of the name.
    /// Can be repeated.
    #[arg(long, value_name = "GLOB")]
    pub exclude: Vec<String>,
    #[command(flatten)]
    pub catalogue: CatalogueArguments,
    /// Write another generation: a TORTILLA 0.5, or a TACO 0.2. Taken from the endings .tortilla
    /// and .taco when absent.
    #[arg(long, value_name = "NAME")]
    pub generation: Option<WrittenGeneration>,
    #[command(flatten)]
    pub stream: StreamArguments,
    #[command(flatten)]
    pub parts: PartsArguments,
    #[command(flatten)]
    pub write: WriteArguments,
    /// Print what was written as JSON.
    #[arg(long)]
    pub json: bool,
}

pub fn create(mut arguments: CreateArguments, terminal: &Terminal) -> Result<u8> {
    let json = arguments.json;
    let proposes = arguments.dry_run || arguments.save_layout.is_some();
    if proposes {
        let choice = arguments.layout.clone().unwrap_or(LayoutChoice::Auto);
        let request = LayoutRequest {
            source: arguments.source.clone(),
            choice,
            exclude: arguments.exclude.clone(),
        };
        let proposal = run(terminal, "create", move |ctx| {
            ops::propose_layout(&request, ctx)
        })?;
        if let Some(file) = &arguments.save_layout {
            proposal.save_layout(file, arguments.write.overwrite)?;
        }
        if arguments.dry_run {
            if json {
                print_json(&proposal.to_json())?
            } else {
                print(&proposal.to_text())?
            }
            return Ok(0);
        }
        // What was found and saved is what is written, without looking for it again.
        arguments.layout = Some(LayoutChoice::Pattern(proposal.reading));
    }
    let Some(output) = arguments.output.clone() else {
        return Err(Error::usage("the output is missing")
            .hint("name it with -o, or look at the layout with --dry-run"));
    };
    print_built(&operate(terminal, request_of(arguments, output)?)?, json)
}

fn layout(text: &str) -> std::result::Result<LayoutChoice, String> {
    text.parse().map_err(|error: Error| error.report())
}

fn request_of(arguments: CreateArguments, target: PathBuf) -> Result<CreateRequest> {
    let CreateArguments {
        source,
        collection,
        metadata,
        key,
        pad_to,
        fill_missing,
        sidecars,
        generation,
        stream,
        schema,
        exclude,
        layout,
        catalogue,
        ..
    } = arguments;
    let catalogue = catalogue.choice(&source)?;
    let (parts, write) = (arguments.parts, arguments.write);
    let generation = match generation.unwrap_or_else(|| WrittenGeneration::of_name(&target)) {
        WrittenGeneration::Two => None,
        WrittenGeneration::Tortilla => Some(Generation::Tortilla),
        WrittenGeneration::Taco => Some(Generation::Taco),
    };
    let output = match generation {
        None if stream.stream => {
            return Err(Error::usage(
                "only .tortilla and .taco files are made streamable: 2.0 streams as it is",
            ));
        }
        None => CreateOutput::Dataset(write.options(target, parts.parts())),
        Some(generation) => {
            refuse_options_of_2_0(&parts, &write)?;
            let (part_bytes, overwrite) = (parts.split_size, write.overwrite);
            let options = TortillaOptions {
                target,
                collection: None,
                part_bytes,
                stream: stream.stream,
                allow_non_tog: stream.allow_non_tog,
                overwrite,
                on_damage: OnDamage::Stop,
                text_form: write.profile == Profile::Spec,
            };
            CreateOutput::FirstGeneration(generation, options)
        }
    };
    let align_schema = schema == SchemaName::Align;
    Ok(CreateRequest {
        source,
        collection,
        metadata,
        key,
        fill_missing,
        pad_to,
        align_schema,
        sidecars,
        layout,
        exclude,
        catalogue,
        output,
    })
}

/// Refuses options that TORTILLA and TACO 0.2 files have no use for, instead of ignoring them.
fn refuse_options_of_2_0(parts: &PartsArguments, write: &WriteArguments) -> Result<()> {
    let unused = [
        ("--format", write.format.is_some()),
        ("--group-by", !parts.group_by.is_empty()),
        ("--consolidate", !parts.consolidate.is_empty()),
        (
            "--compression, --compression-level and --row-group",
            write.parquet.options() != ParquetOptions::default(),
        ),
    ];
    match unused.into_iter().find(|(_, given)| *given) {
        Some((names, _)) => Err(Error::usage(format!(
            "{names}: for datasets of 2.0, not for .tortilla and .taco files"
        ))
        .hint("leave the option out: a footer is one Parquet table with zstd level 22")),
        None => Ok(()),
    }
}

/// Prints what was written; the exit code is 1 when damaged samples were copied, or a member is
/// another raster than its source.
pub fn print_built(built: &Built, json: bool) -> Result<u8> {
    print(&summary(built, json))?;
    Ok(tell_samples(built))
}

pub fn summary(built: &Built, json: bool) -> String {
    if json {
        return built.to_json().to_string();
    }
    let totals = format!(
        "{} samples, {} files, {} bytes",
        built.samples, built.files, built.bytes
    );
    if built.parts.is_empty() {
        return format!("{}: {totals}", built.path.display());
    }
    let lines = built
        .parts
        .iter()
        .chain(&built.indexes)
        .map(|path| path.display().to_string() + "\n");
    format!(
        "{}{} parts: {totals}",
        lines.collect::<String>(),
        built.parts.len()
    )
}
