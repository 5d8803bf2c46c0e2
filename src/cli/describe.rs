//! `describe`: STAC, GeoParquet, Croissant, DataCite and data cards of a dataset.

use std::path::PathBuf;

use clap::ValueEnum;

use super::opening::JoinArguments;
use super::output::{Terminal, print};
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
    /// The form.
    #[arg(long = "as", value_name = "FORM")]
    pub form: CatalogueName,
    /// Output file, or folder for several documents. Without it, the main document is printed to
    /// stdout.
    #[arg(long, short)]
    pub output: Option<PathBuf>,
    /// The dataset's address on the web.
    #[arg(long)]
    pub url: Option<String>,
    /// The level whose samples GeoParquet lists; the first one with locations when absent.
    #[arg(long)]
    pub level: Option<usize>,
    /// Replace an existing output.
    #[arg(long)]
    pub overwrite: bool,
}

/// The forms, as arguments name them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CatalogueName(Catalogue);

impl ValueEnum for CatalogueName {
    fn value_variants<'a>() -> &'a [Self] {
        const {
            &[
                CatalogueName(Catalogue::Stac),
                CatalogueName(Catalogue::Geoparquet),
                CatalogueName(Catalogue::StacGeoparquet),
                CatalogueName(Catalogue::Croissant),
                CatalogueName(Catalogue::Datacite),
                CatalogueName(Catalogue::Markdown),
                CatalogueName(Catalogue::Html),
                CatalogueName(Catalogue::Training),
            ]
        }
    }

    fn to_possible_value(&self) -> Option<clap::builder::PossibleValue> {
        Some(clap::builder::PossibleValue::new(self.0.name()).help(self.0.title()))
    }
}

/// Describes.
pub fn describe(arguments: DescribeArguments, terminal: &Terminal) -> Result<u8> {
    let DescribeArguments {
        path,
        join,
        form: CatalogueName(form),
        output,
        url,
        level,
        overwrite,
    } = arguments;
    let open = join.options();
    let Some(output) = output else {
        if form.is_binary() {
            return Err(
                Error::usage(format!("{} is nothing for a terminal", form.title()))
                    .hint("name a file with -o"),
            );
        }
        let main = run(terminal, "describe", move |ctx| {
            describe_dataset(&path, &open, form, url, level, ctx)
        })?;
        print(String::from_utf8_lossy(&main.bytes).trim_end())?;
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
    fn every_form_has_its_name() {
        let named: Vec<Catalogue> = CatalogueName::value_variants()
            .iter()
            .map(|name| name.0)
            .collect();
        assert_eq!(named, Catalogue::ALL);
    }
}
