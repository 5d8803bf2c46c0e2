//! `describe`: STAC, GeoParquet, Croissant, DataCite and data cards of a dataset.

use std::path::PathBuf;

use clap::ValueEnum;

use super::opening::JoinArguments;
use super::output::{Terminal, print, print_data};
use super::runner::{operate, run};
use crate::error::{Error, Result};
use crate::export::Catalogue;
use crate::ops::{DescribeRequest, describe_dataset};

/// Arguments of `describe`.
#[derive(Debug, clap::Args)]
pub struct DescribeArguments {
    /// The dataset, of any generation.
    pub path: PathBuf,
    #[command(flatten)]
    pub join: JoinArguments,
    /// The catalogue format.
    #[arg(long = "as", value_name = "FORM")]
    pub form: CatalogueArgument,
    /// Output file; a folder for several documents, and for a name without an ending. Without it,
    /// the main document is printed to stdout.
    #[arg(long, short)]
    pub output: Option<PathBuf>,
    /// The dataset's address on the web.
    #[arg(long)]
    pub url: Option<String>,
    /// The level whose samples GeoParquet and the map of a card list; the first one with locations
    /// when absent.
    #[arg(long)]
    pub level: Option<usize>,
    /// Replace an existing output.
    #[arg(long, requires = "output")]
    pub overwrite: bool,
}

/// A catalogue format, as a value of `--as`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CatalogueArgument(Catalogue);

impl ValueEnum for CatalogueArgument {
    fn value_variants<'a>() -> &'a [Self] {
        const {
            &[
                CatalogueArgument(Catalogue::Stac),
                CatalogueArgument(Catalogue::Geoparquet),
                CatalogueArgument(Catalogue::StacGeoparquet),
                CatalogueArgument(Catalogue::Croissant),
                CatalogueArgument(Catalogue::Datacite),
                CatalogueArgument(Catalogue::Markdown),
                CatalogueArgument(Catalogue::Html),
                CatalogueArgument(Catalogue::Training),
            ]
        }
    }

    fn to_possible_value(&self) -> Option<clap::builder::PossibleValue> {
        Some(clap::builder::PossibleValue::new(self.0.name()).help(self.0.title()))
    }
}

/// Runs `describe`: prints the main document, or writes all of them to the output.
pub fn describe(arguments: DescribeArguments, terminal: &Terminal) -> Result<u8> {
    let DescribeArguments {
        path,
        join,
        form: CatalogueArgument(form),
        output,
        url,
        level,
        overwrite,
    } = arguments;
    let open = join.options();
    let Some(output) = output else {
        if form.is_binary() {
            return Err(
                Error::usage(format!("{} is binary, which is not printed", form.title()))
                    .hint("name an output file with -o"),
            );
        }
        let main = run(terminal, "describe", move |ctx| {
            describe_dataset(&path, &open, form, url, level, ctx)
        })?;
        print_data(&main.bytes)?;
        return Ok(0);
    };
    let request = DescribeRequest {
        input: path,
        open,
        form,
        output,
        url,
        level,
        overwrite,
    };
    let described = operate(terminal, request)?;
    print(&described.path.display().to_string())?;
    Ok(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_catalogue_is_a_value_of_the_argument() {
        let named: Vec<Catalogue> = CatalogueArgument::value_variants()
            .iter()
            .map(|name| name.0)
            .collect();
        assert_eq!(named, Catalogue::ALL);
    }
}
