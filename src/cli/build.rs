//! `build`: writes the dataset of a project, without a window. Equal projects produce equal bytes.

use std::path::PathBuf;

use super::create::print_built;
use super::output::{Terminal, say};
use super::runner::{command, session};
use super::values::SchemaName;
use crate::container::BuildOptions;
use crate::error::{Error, Result};
use crate::ops::align_schemas;
use crate::studio::{Command, Document, Event};

/// Arguments of `build`.
#[derive(Debug, clap::Args)]
pub struct BuildArguments {
    /// The project file.
    pub project: PathBuf,
    /// Output file or folder.
    #[arg(long, short)]
    pub output: PathBuf,
    /// Run the extensions that the project keeps before writing; columns of the same name are
    /// replaced.
    #[arg(long)]
    pub recipe: bool,
    /// Allow the project's recipe to start external programs; without it they are listed, and
    /// nothing runs.
    #[arg(long, requires = "recipe")]
    pub allow_commands: bool,
    /// Where tortillas of a level have different fields: refuse, or align them with nulls and wider
    /// types.
    #[arg(long, value_name = "MODE", default_value = "strict")]
    pub schema: SchemaName,
    /// Look for sources below the second folder that the project has below the first.
    #[arg(long, num_args = 2, value_names = ["FROM", "TO"])]
    pub relocate: Option<Vec<PathBuf>>,
    /// Several datasets instead of one.
    #[command(flatten)]
    pub parts: super::writing::PartsArguments,
    #[command(flatten)]
    pub write: super::writing::WriteArguments,
    #[command(flatten)]
    pub damage: super::writing::DamageArguments,
    /// Print what was written as JSON.
    #[arg(long)]
    pub json: bool,
}

pub fn build(arguments: BuildArguments, terminal: &Terminal) -> Result<u8> {
    if arguments.allow_commands {
        crate::consent::allow_all_programs();
    }
    let mut studio = session();
    command(
        terminal,
        &mut studio,
        Command::OpenProject {
            path: arguments.project,
        },
    )?;
    // Said before anything is asked of them: nothing that was typed names these servers.
    if let Some(Document::Draft(draft)) = studio.document() {
        draft.servers().iter().for_each(|server| {
            say(format!(
                "warning: the project reads {} from {}, which gets no token of yours",
                server.files_text(),
                server.host
            ));
        });
    }
    if let Some([from, to]) = arguments.relocate.as_deref() {
        let edit = crate::draft::Edit::Relocate {
            from: from.clone(),
            to: to.clone(),
        };
        command(terminal, &mut studio, Command::Edit { edit })?;
    }
    if arguments.recipe {
        command(terminal, &mut studio, Command::RunRecipe)?;
    }
    if arguments.schema == SchemaName::Align
        && let Some(Document::Draft(draft)) = studio.document()
        && let Some((edit, lines)) = align_schemas(draft.draft.dataset())
    {
        lines
            .into_iter()
            .for_each(|line| say(format!("warning: {line}")));
        command(terminal, &mut studio, Command::Edit { edit })?;
    }
    let options = arguments
        .write
        .options(arguments.output, arguments.parts.parts());
    let options = BuildOptions {
        on_damage: arguments.damage.on_damage(),
        ..options
    };
    match command(terminal, &mut studio, Command::Write { options })? {
        Event::Written(built) => print_built(&built, arguments.json),
        other => Err(Error::internal(format!("building ended with {other:?}"))),
    }
}
