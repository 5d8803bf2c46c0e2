//! `mcp`: the operations as tools for agents, over the Model Context Protocol on standard input and
//! output. Reads are free inside the named folders and addresses; writes, programs and other
//! machines need the user's consent, given by options of the command line.

mod answer;
mod places;
mod server;

use std::path::PathBuf;

use crate::consent::{self, ConsentRoute};
use crate::error::Result;

/// Arguments of `mcp`.
#[derive(Debug, clap::Args)]
pub struct McpArguments {
    /// Folders and addresses that requests may name, with all below them; the current folder when
    /// none is named. Relative paths of requests start at the first folder.
    #[arg(value_name = "FOLDER")]
    pub folders: Vec<PathBuf>,
    /// Let requests write files inside these folders; without it, only operations that change
    /// nothing are run.
    #[arg(long)]
    pub allow_write: bool,
    /// Let requests start the programs that they name.
    #[arg(long)]
    pub allow_commands: bool,
    /// Let requests write to other machines.
    #[arg(long)]
    pub allow_connect: bool,
}

/// Serves until standard input ends.
///
/// # Errors
/// For a folder that does not exist, and when standard input or output fails.
pub fn mcp(arguments: &McpArguments) -> Result<u8> {
    consent::set_route(ConsentRoute::AgentServer);
    if arguments.allow_commands {
        consent::allow_all_programs();
    }
    if arguments.allow_connect {
        consent::allow_connect();
    }
    let places = places::AllowedPlaces::new(&arguments.folders)?;
    server::serve(server::OperationServer::new(places, arguments.allow_write))?;
    Ok(0)
}
