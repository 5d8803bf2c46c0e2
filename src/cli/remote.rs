//! Options of access to remote storage, the same for every command, and the report of the network
//! requests. Tokens come from the environment only: other users of a machine can see arguments.

use std::ffi::OsString;

use super::output::{say, say_lines};
use crate::error::Result;
use crate::remote::{Access, admit, set_access, traffic};

/// How remote storage is accessed.
#[derive(Clone, Debug, Default, clap::Args)]
#[command(next_help_heading = "Remote storage")]
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
    /// Maximum number of concurrent requests.
    #[arg(
        long,
        global = true,
        value_name = "N",
        value_parser = clap::value_parser!(u16).range(1..=64),
    )]
    pub connections: Option<u16>,
    /// Print the network requests as JSON on stderr.
    #[arg(long, global = true)]
    pub traffic: bool,
}

impl RemoteArguments {
    /// Sets the remote access of this process.
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

/// The argument without the secret that an address in it may contain, such as the query of a signed
/// link: [`admit`] remembers it for the requests of this run.
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

/// Prints the network traffic of this run as JSON on stderr.
pub fn print_traffic() {
    match serde_json::to_string_pretty(&traffic()) {
        Ok(text) => say_lines(&text),
        Err(error) => say(format!("the network traffic can't be printed: {error}")),
    }
}
