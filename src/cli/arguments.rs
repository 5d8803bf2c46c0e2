//! The arguments, as clap reads them.

use std::path::PathBuf;

use clap::{Parser, Subcommand};

use super::repair::RepairArguments;
use super::rules::RulesArguments;
use super::validate::ValidateArguments;

/// Build, check, write, open and explore TACO datasets. Without a command the window opens on
/// PATH….
#[derive(Debug, Parser)]
#[command(name = "taco-studio", version, subcommand_precedence_over_arg = true)]
pub struct Arguments {
    /// Verb; without one the window opens.
    #[command(subcommand)]
    pub verb: Option<Verb>,
    #[command(flatten)]
    pub window: WindowArguments,
    /// Errors alone on stderr: no progress, warnings or notes.
    #[arg(long, short, global = true)]
    pub quiet: bool,
    /// How remote storage is accessed.
    #[command(flatten)]
    pub remote: super::remote::RemoteArguments,
    /// On stderr what is read, written, asked over the network and skipped; twice also each file
    /// and range, three times also messages of libraries.
    #[arg(long, short, global = true, action = clap::ArgAction::Count)]
    pub verbose: u8,
    /// The folder for temporary files, instead of the system's.
    #[arg(long, global = true, value_name = "FOLDER")]
    pub temp_dir: Option<PathBuf>,
}

/// What the window opens, and how.
#[derive(Debug, clap::Args)]
pub struct WindowArguments {
    /// Datasets to open, or files and folders to build one from.
    pub paths: Vec<PathBuf>,
    /// Draw with glow, wgpu or software.
    #[arg(long, value_name = "NAME")]
    pub renderer: Option<String>,
    /// Start with the dark or the light theme.
    #[arg(long, value_name = "NAME")]
    pub theme: Option<String>,
    /// Start the window without what it remembers (layout, recent datasets, renderer) and draw in
    /// software.
    #[arg(long)]
    pub safe_mode: bool,
    /// Open a window of its own where one is open already.
    #[arg(long)]
    pub new_window: bool,
}

/// The commands.
#[derive(Debug, Subcommand)]
pub enum Verb {
    /// Builds a dataset from a folder of files.
    Create(super::create::CreateArguments),
    /// Builds a dataset from a project that was saved in the window.
    Build(super::build::BuildArguments),
    /// Computes columns and collection fields and writes the dataset with them; exit code 1 when
    /// some samples failed.
    Extend(super::extend::ExtendArguments),
    /// Lists the extensions with their options.
    Extensions {
        /// Print JSON.
        #[arg(long)]
        json: bool,
    },
    /// Shows what a dataset is: format, levels, columns.
    Inspect {
        /// The dataset.
        path: PathBuf,
        /// How several datasets are joined.
        #[command(flatten)]
        join: super::opening::JoinArguments,
        /// Print JSON.
        #[arg(long)]
        json: bool,
    },
    /// Checks datasets; exit code 1 when one breaks a rule.
    Validate(ValidateArguments),
    /// Lists the rules that datasets are checked against.
    Rules(RulesArguments),
    /// Prints this reference of the commands, as Markdown.
    Commands,
    /// Writes a repaired copy of a dataset: faults with a single possible repair are corrected, the
    /// bytes of samples stay the same.
    Repair(RepairArguments),
    /// Describes a dataset as STAC, GeoParquet, Croissant, DataCite or data card.
    Describe(super::describe::DescribeArguments),
    /// Writes chosen samples as a TORTILLA 0.5 or TACO 0.2 file.
    Compile(super::compile::CompileArguments),
    /// Changes metadata of a dataset: columns of a level and fields of the collection. Data is not
    /// touched; only a ZIP of another layout than the tools write is rewritten as a new file, after
    /// a notice.
    Edit(super::edit::EditArguments),
    /// Turns a .tortilla into a TACO 0.2 by giving it a collection.
    Tortilla2taco(super::edit::TortillaToTacoArguments),
    /// Turns a TACO 0.2 into a TORTILLA by taking its collection away.
    Taco2tortilla(super::edit::TacoToTortillaArguments),
    /// Moves a dataset of another generation (TORTILLA 0.5, TACO 0.2, early 2.0, TACO 3) to 2.0 and
    /// reports what became of each field.
    Migrate(super::migrate::MigrateArguments),
    /// Counts the values of a dataset's rasters into a tortilla of histograms.
    Histograms(super::histograms::HistogramArguments),
    /// Computes percentiles of samples, a selection or a dataset from a tortilla of histograms,
    /// without the rasters.
    Percentiles(super::histograms::PercentileArguments),
    /// Writes rasters, or the rasters of a dataset, as TACO Optimized GeoTIFFs: every value as it
    /// is.
    #[command(alias = "optimize")]
    Optimise(super::optimise::OptimiseArguments),
    /// Shows a FOLDER's children or a FILE's GDAL path, or copies a FILE's bytes.
    Read {
        /// The dataset.
        path: PathBuf,
        /// The sample: ids or positions from the root, as roi_0007/s2/t02 or #7/#0. Without it,
        /// level 0.
        sample: Option<String>,
        /// Copy the bytes into this file; - for stdout.
        #[arg(long, short = 'o', visible_alias = "output", value_name = "FILE")]
        out: Option<PathBuf>,
        /// Replace the file if it exists.
        #[arg(long, requires = "out")]
        overwrite: bool,
        /// Print the table of a FOLDER, or of level 0, in this form instead of a list.
        #[arg(long, value_name = "FORM")]
        format: Option<super::query::RowFormat>,
        /// How damaged samples are handled.
        #[command(flatten)]
        damage: super::writing::DamageArguments,
        /// Where the parts of an index are.
        #[command(flatten)]
        open: super::opening::OpenArguments,
    },
    /// Plans a dataset in parts that several processes or machines build, builds one part, and
    /// joins them. The bytes are those that one process writes with the same split.
    Plan(super::plan::PlanArguments),
    /// Checks a dataset as a reviewer would, sends it to an object store or a folder with its index
    /// and documents, opens it from there, and prints the code that reads it; exit code 1 when a
    /// check blocks that.
    Publish(super::publish::PublishArguments),
    /// Writes a dataset in another container: ZIP to FOLDER, FOLDER to ZIP.
    Convert(super::convert::ConvertArguments),
    /// Writes one index over many ZIPs: a .tacocat folder or a __TACOCAT__ file.
    Tacocat(super::tacocat::TacocatArguments),
    /// Writes TACOLLECTION.json, the common description of many ZIPs.
    Tacollection(super::tacocat::TacollectionArguments),
    /// Filters by box, time and SQL over the levels: tables data, level0, level1, …, flat views l0,
    /// l1, ….
    Query(super::query::QueryArguments),
    /// Writes a filtered part of a dataset as a dataset of its own.
    Export(super::export::ExportArguments),
    /// Opens several datasets as one; writes the joined dataset, or lists the columns that joining
    /// drops or fills.
    Concat(super::concat::ConcatArguments),
    /// Lists the columns of a level: type, description, nulls, smallest and largest value.
    Fields(super::fields::FieldsArguments),
    /// Pools the statistics of many samples: mean, standard deviation, min and max of each band.
    Stats(super::StatsArguments),
    /// Lists samples shared between the parts of a split: same ground, same ground at the same
    /// time, same bytes; exit code 1 when samples leak.
    Leakage(super::leakage::LeakageArguments),
    /// Runs a file of commands and checks what it expects.
    Replay(super::replay::ReplayArguments),
    /// Serves the operations as tools for agents: Model Context Protocol on standard input and
    /// output.
    Mcp(super::mcp::McpArguments),
    /// Makes the sample dataset in a folder and prints its path.
    Sample {
        /// Where.
        folder: PathBuf,
    },
    /// Checks this machine: GDAL, PROJ, folders, display, graphics, file dialogs. Reports faults
    /// with their remedies.
    Doctor {
        /// Print JSON.
        #[arg(long)]
        json: bool,
    },
    /// Forgets what the studio remembers: settings, layout, recent datasets, and its cache.
    /// Datasets and drafts are not touched.
    Reset,
    /// Lists GDAL's drivers, and those that are missing.
    Drivers {
        /// Print JSON.
        #[arg(long)]
        json: bool,
    },
    /// Times opening a dataset up to its first row against reading its Parquet alone.
    #[command(hide = true)]
    BenchOpen {
        /// The dataset.
        path: PathBuf,
    },
    /// Times queries, one JSON object a line on stdin.
    #[command(hide = true)]
    BenchQuery {
        /// The dataset.
        path: PathBuf,
    },
    /// Times exact statistics of the rasters in a folder against one thread that only reads them.
    #[command(hide = true)]
    BenchStats {
        /// The folder.
        folder: PathBuf,
    },
    /// Prints how long the first picture of a raster takes, and the next one with another stretch.
    #[command(hide = true)]
    BenchPreview {
        /// The raster.
        path: PathBuf,
    },
    /// Makes a draft of this many samples with four fields and prints the memory that it took.
    #[command(hide = true)]
    BenchDraft {
        /// Samples.
        samples: u32,
        /// Keeps the project file here.
        #[arg(long)]
        keep: Option<PathBuf>,
    },
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_may_stand_before_a_command() {
        let parsed =
            Arguments::try_parse_from(["taco-studio", "-q", "sample", "here"]).expect("parses");
        assert!(matches!(parsed.verb, Some(Verb::Sample { .. })) && parsed.quiet);
        let parsed =
            Arguments::try_parse_from(["taco-studio", "--theme", "dark", "a.tacozip", "b"])
                .expect("parses");
        assert!(parsed.verb.is_none() && parsed.window.paths.len() == 2);
    }
}
