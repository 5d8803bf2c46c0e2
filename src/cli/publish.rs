//! `publish`: checks a dataset, sends it to an object store or a folder with its index and
//! documents, and opens it from there.

use std::path::PathBuf;

use clap::ValueEnum;

use super::opening::OpenArguments;
use super::output::{Terminal, print, print_json, say_failure};
use super::runner::{operate, run};
use crate::error::Result;
use crate::model::Address;
use crate::ops::publish::{
    CheckKind, CheckLevel, Preflight, Prices, Publication, PublishLayout, PublishRequest,
    Published, preflight,
};

/// Arguments of `publish`.
#[derive(Debug, clap::Args)]
pub struct PublishArguments {
    /// The dataset: a ZIP, a FOLDER, or the index over parts.
    pub path: PathBuf,
    /// Target folder: s3://bucket/set/1.0.0, gs://…, az://…, or a local folder.
    pub target: PathBuf,
    /// Check only: no file is written, and the target is only read.
    #[arg(long)]
    pub dry_run: bool,
    /// Write the files in the layout of this host to a local folder; the host's own client uploads
    /// them.
    #[arg(long, value_name = "HOST", default_value = "store")]
    pub layout: LayoutName,
    /// The repository at Hugging Face or Source Cooperative.
    #[arg(long, value_name = "OWNER/NAME")]
    pub repository: Option<String>,
    /// Public URL of the target, for documents and snippets.
    #[arg(long)]
    pub url: Option<String>,
    /// A JSON file with prices in US dollars: storage_gb_month, egress_gb, read_1000, write_1000,
    /// full_reads_month, limit_month. When absent, those of the window's settings count; what
    /// neither sets is an approximate list price of the store.
    #[arg(long, value_name = "FILE.json")]
    pub cost_table: Option<PathBuf>,
    /// Accept this check: it warns instead of blocking. Can be repeated.
    #[arg(long, value_name = "CHECK", value_delimiter = ',')]
    pub accept: Vec<CheckName>,
    /// Replace an earlier publication at the target.
    #[arg(long)]
    pub overwrite: bool,
    #[command(flatten)]
    pub open: OpenArguments,
    /// Print JSON.
    #[arg(long)]
    pub json: bool,
}

/// Layouts by their names on the command line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LayoutName(PublishLayout);

impl ValueEnum for LayoutName {
    fn value_variants<'a>() -> &'a [Self] {
        const {
            &[
                LayoutName(PublishLayout::Store),
                LayoutName(PublishLayout::HuggingFace),
                LayoutName(PublishLayout::Zenodo),
                LayoutName(PublishLayout::SourceCooperative),
            ]
        }
    }

    fn to_possible_value(&self) -> Option<clap::builder::PossibleValue> {
        Some(clap::builder::PossibleValue::new(self.0.name()).help(self.0.title()))
    }
}

/// Checks that can be accepted, by their names on the command line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CheckName(CheckKind);

impl ValueEnum for CheckName {
    fn value_variants<'a>() -> &'a [Self] {
        const {
            &[
                CheckName(CheckKind::Licence),
                CheckName(CheckKind::Providers),
                CheckName(CheckKind::Description),
                CheckName(CheckKind::Paths),
                CheckName(CheckKind::UserNames),
                CheckName(CheckKind::Credentials),
                CheckName(CheckKind::Leakage),
            ]
        }
    }

    fn to_possible_value(&self) -> Option<clap::builder::PossibleValue> {
        Some(clap::builder::PossibleValue::new(self.0.name()))
    }
}

/// Runs `publish`; exit code 1 when a check blocks the publication.
pub fn publish(arguments: PublishArguments, terminal: &Terminal) -> Result<u8> {
    let PublishArguments {
        path,
        target,
        dry_run,
        layout,
        repository,
        url,
        cost_table,
        accept,
        overwrite,
        open,
        json,
    } = arguments;
    let prices = cost_table.map_or_else(Prices::of_user, |path| Prices::read(&path))?;
    let request = PublishRequest {
        input: path,
        open: open.options(),
        target,
        layout: layout.0,
        repository,
        url,
        overwrite,
        accept: accept.into_iter().map(|name| name.0).collect(),
        prices,
    };
    if dry_run {
        let checked = run(terminal, "publish", move |ctx| preflight(&request, ctx))?;
        if json {
            print_json(&checked)?
        } else {
            print(&checks_text(&checked))?
        }
        return Ok(u8::from(!checked.may_publish()));
    }
    let Publication {
        preflight,
        published,
    } = operate(terminal, request)?;
    if json {
        let is_blocked = published.is_none();
        print_json(&Publication {
            preflight,
            published,
        })?;
        return Ok(u8::from(is_blocked));
    }
    print(&checks_text(&preflight))?;
    let Some(published) = published else {
        say_failure(format!(
            "nothing was published: {} checks block it",
            preflight.count(CheckLevel::Blocks)
        ));
        return Ok(1);
    };
    print(&published_text(&published))?;
    Ok(0)
}

/// Prints checks, files and cost as text.
fn checks_text(checked: &Preflight) -> String {
    let mut text = format!(
        "{} {} → {}\n",
        checked.id,
        checked.version,
        checked.target.display()
    );
    for check in &checked.checks {
        let word = match check.level {
            CheckLevel::Pass => "pass   ",
            CheckLevel::Warning if check.accepted => "accept ",
            CheckLevel::Warning => "warning",
            CheckLevel::Blocks => "blocks ",
        };
        text.push_str(&format!(
            "{word}  {:14} {}",
            check.kind.name(),
            check.message
        ));
        if !check.figure.is_empty() {
            text.push_str(&format!(" ({})", check.figure));
        }
        text.push('\n');
        if check.level == CheckLevel::Pass {
            continue;
        }
        check
            .places
            .iter()
            .for_each(|place| text.push_str(&format!("           {place}\n")));
        if let Some(mend) = &check.mend {
            text.push_str(&format!("           → {}\n", mend.sentence()));
        }
    }
    text.push('\n');
    for file in &checked.files {
        let size = file
            .size_bytes
            .map_or("made when it is published".to_owned(), |size| {
                format!("{size} bytes")
            });
        text.push_str(&format!("{:6}  {}  {size}\n", file.files, file.name));
    }
    let cost = &checked.cost;
    text.push_str(&format!(
        "\n{} bytes; a month about ${:.2}: storage ${:.2}, {} full reads at ${:.2} egress and \
            ${:.3} requests; this upload ${:.3}\n",
        checked.size_bytes,
        cost.month,
        cost.storage_month,
        cost.rates.full_reads_month,
        cost.egress_read,
        cost.requests_read,
        cost.upload
    ));
    if let Some(source) = cost.rates.source {
        text.push_str(&format!(
            "prices: {source}; --cost-table or the window's settings set your own\n"
        ));
    }
    text
}

/// Prints the result of a publication as text.
fn published_text(published: &Published) -> String {
    let opened = &published.opened;
    let mut text = format!(
        "\npublished: {}\nsent {} files, {} bytes; {} files were there with the same bytes; {:.1} \
            s\n",
        published.address,
        published.sent_files,
        published.sent_bytes,
        published.kept_files,
        published.seconds
    );
    let rows = opened
        .rows
        .iter()
        .map(u64::to_string)
        .collect::<Vec<_>>()
        .join(" + ");
    text.push_str(&format!("opened from there: {rows} rows"));
    if Address::from_path(&opened.path).is_some() {
        text.push_str(&format!(
            " by {} requests, {} bytes",
            opened.requests, opened.bytes
        ));
    }
    text.push_str(&format!(
        "; {:.2} s; {} samples ({} bytes) are the same as here\n",
        opened.seconds, opened.compared, opened.compared_bytes
    ));
    if !published.upload_commands.is_empty() {
        text.push_str("\nThe studio does not upload there. The host's own client does:\n\n");
        published
            .upload_commands
            .iter()
            .for_each(|line| text.push_str(&format!("  {line}\n")));
    }
    for snippet in &published.snippets {
        text.push_str(&format!("\n{}:\n\n", snippet.reader));
        snippet
            .code
            .lines()
            .for_each(|line| text.push_str(&format!("  {line}\n")));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_layout_and_every_check_that_blocks_and_may_be_accepted_has_its_name() {
        let named: Vec<PublishLayout> = LayoutName::value_variants()
            .iter()
            .map(|name| name.0)
            .collect();
        assert_eq!(named, PublishLayout::ALL);
        assert!(
            CheckName::value_variants()
                .iter()
                .all(|name| name.0.may_be_accepted())
        );
    }
}
