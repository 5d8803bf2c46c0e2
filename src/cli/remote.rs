//! Options about other machines, the same for every command; and what was asked of them. Tokens
//! come from the environment only: other people of a machine can see arguments.

use std::ffi::OsString;

use super::output::{say, say_lines};
use crate::error::Result;
use crate::remote::{Access, admit, set_access, traffic};

/// How to reach other machines.
#[derive(Clone, Debug, Default, clap::Args)]
#[command(next_help_heading = "Other machines")]
pub struct RemoteArguments {
    /// The server to ask for s3://, gs://, az:// and oss:// instead of the provider's own.
    #[arg(long, global = true, value_name = "URL")]
    pub endpoint: Option<String>,
    /// The region of the bucket.
    #[arg(long, global = true, value_name = "NAME")]
    pub region: Option<String>,
    /// The profile of the AWS command line whose keys to use.
    #[arg(long, global = true, value_name = "NAME")]
    pub aws_profile: Option<String>,
    /// The account of az:// addresses.
    #[arg(long, global = true, value_name = "NAME")]
    pub account: Option<String>,
    /// Send no credentials.
    #[arg(long, global = true)]
    pub anonymous: bool,
    /// Requests at one time.
    #[arg(
        long,
        global = true,
        value_name = "N",
        value_parser = clap::value_parser!(u16).range(1..=64),
    )]
    pub connections: Option<u16>,
    /// Print the requests to other machines as JSON on stderr.
    #[arg(long, global = true)]
    pub traffic: bool,
}

impl RemoteArguments {
    /// Uses them from now on.
    ///
    /// # Errors
    /// Those of [`set_access`].
    pub fn apply(&self) -> Result<()> {
        let Self {
            endpoint,
            region,
            aws_profile,
            account,
            anonymous,
            connections,
            ..
        } = self.clone();
        let connections = connections.map(usize::from);
        set_access(Access {
            endpoint,
            region,
            profile: aws_profile,
            account,
            anonymous,
            connections,
            ..Access::default()
        })
    }
}

/// One argument as the program may know it: the part of an address that lets its bearer in is taken
/// off and kept apart.
pub fn admit_argument(argument: OsString) -> OsString {
    match argument.to_str() {
        Some(text) if text.contains("://") => match text
            .split_once('=')
            .filter(|(name, _)| name.starts_with("--"))
        {
            Some((name, value)) => format!("{name}={}", admit(value)).into(),
            None => admit(text).into(),
        },
        _ => argument,
    }
}

/// The meter of this run.
pub fn print_traffic() {
    match serde_json::to_string_pretty(&traffic()) {
        Ok(text) => say_lines(&text),
        Err(error) => say(format!("the meter can't be printed: {error}")),
    }
}
