//! `replay`: a file of commands is run and what it expects is checked.

use std::path::PathBuf;

use super::output::{Terminal, print};
use super::runner::session;
use crate::consent;
use crate::error::Result;
use crate::studio::replay as replay_file;

/// Arguments of `replay`.
#[derive(Debug, clap::Args)]
pub struct ReplayArguments {
    /// A JSON list of commands and of steps of the interface.
    pub file: PathBuf,
    /// Print each line on stdout as soon as it is done.
    #[arg(long)]
    pub tell: bool,
    /// Run it in a window on this display.
    #[arg(long, conflicts_with = "headless")]
    pub window: bool,
    /// Run it in the window's application without a display.
    #[arg(long)]
    pub headless: bool,
    /// Let the programs start that the script names; without it they are listed, and nothing of the
    /// script is run.
    #[arg(long)]
    pub allow_commands: bool,
    /// Let the script choose servers, profiles and tokens for other machines (`connect`).
    #[arg(long)]
    pub allow_connect: bool,
    /// Where the pictures go that the script takes.
    #[arg(long, value_name = "FOLDER")]
    pub screenshots: Option<PathBuf>,
    /// Keep the draft in this folder after every edit, as the window does.
    #[arg(long, value_name = "FOLDER")]
    pub autosave: Option<PathBuf>,
}

impl ReplayArguments {
    /// True when it takes the window's application, seen or not.
    pub fn needs_application(&self) -> bool {
        self.window || self.headless || self.screenshots.is_some()
    }

    /// Takes what the user agrees to.
    pub fn agree(&self) {
        if self.allow_commands {
            consent::allow_all_programs();
        }
        if self.allow_connect {
            consent::allow_connect();
        }
    }

    /// Says that so many lines are done, and how many steps of the draft could be undone then,
    /// where that was asked for.
    ///
    /// # Errors
    /// When standard output takes nothing.
    pub fn tell_line(&self, line: usize, steps: Option<usize>) -> Result<()> {
        if self.tell {
            print(&steps.map_or_else(
                || format!("line {line}"),
                |steps| format!("line {line}: {steps} steps"),
            ))
        } else {
            Ok(())
        }
    }

    /// Says that all went well.
    ///
    /// # Errors
    /// When standard output takes nothing.
    pub fn report(&self, lines: usize) -> Result<()> {
        print(&format!(
            "{}: {lines} lines did what they should",
            self.file.display()
        ))
    }
}

pub fn replay(arguments: &ReplayArguments, terminal: &Terminal) -> Result<u8> {
    arguments.agree();
    let mut studio = session();
    studio.set_autosave(arguments.autosave.clone());
    let mut tell = |line: usize| arguments.tell_line(line, None);
    let count = replay_file(
        &arguments.file,
        &mut studio,
        &mut |progress| terminal.progress(progress),
        &mut tell,
    )?;
    studio.forget_kept();
    terminal.clear();
    print(&format!(
        "{}: {count} commands did what they should",
        arguments.file.display()
    ))?;
    Ok(0)
}
