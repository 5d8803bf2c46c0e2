//! `commands`: the reference of the command line, out of the parser itself, as Markdown. Must not
//! say anything that the parser does not.

use std::fmt::Write;

use clap::{Arg, Command, CommandFactory};

use super::Arguments;
use super::output::print;
use crate::error::Result;

/// Prints the reference.
///
/// # Errors
/// When standard output takes nothing.
pub fn commands() -> Result<u8> {
    print(&reference())?;
    Ok(0)
}

/// Every command with its arguments, in the order of the help.
pub fn reference() -> String {
    let mut program = Arguments::command();
    program.build();
    let mut text = String::from("## Everywhere\n\n");
    let about = program
        .get_about()
        .map(ToString::to_string)
        .unwrap_or_default();
    let _ = write!(text, "`taco-studio [OPTIONS] [PATH…]`. {about}\n\n");
    arguments(&program, &mut text, |_| true);
    for command in program.get_subcommands_mut() {
        section(command, "", &mut text);
    }
    text.trim_end().to_owned()
}

/// A command with its arguments, then the commands below it; `above` are the names of those that it
/// is below.
fn section(command: &mut Command, above: &str, text: &mut String) {
    if command.is_hide_set() || command.get_name() == "help" {
        return;
    }
    let usage = command.render_usage().to_string();
    // Of a command with others below it there are two lines, of which the first makes do without
    // them.
    let usage = usage
        .trim_start_matches("Usage:")
        .trim_start()
        .lines()
        .next()
        .unwrap_or_default();
    let usage = usage.split_whitespace().collect::<Vec<_>>().join(" ");
    let about = command
        .get_long_about()
        .or(command.get_about())
        .map(ToString::to_string)
        .unwrap_or_default();
    let name = format!("{above}{}", command.get_name());
    let _ = write!(text, "\n## {name}\n\n{}\n\n`{usage}`\n\n", sentence(&about));
    arguments(command, text, |argument| !argument.is_global_set());
    for below in command.get_subcommands_mut() {
        section(below, &format!("{name} "), text);
    }
}

/// A list of a command's arguments, positional ones first.
fn arguments(command: &Command, text: &mut String, wanted: impl Fn(&Arg) -> bool) {
    let listed = |argument: &&Arg| {
        !argument.is_hide_set() && !matches!(argument.get_id().as_str(), "help" | "version")
    };
    let (placed, named): (Vec<&Arg>, Vec<&Arg>) = command
        .get_arguments()
        .filter(listed)
        .filter(|argument| wanted(argument))
        .partition(|argument| argument.is_positional());
    for argument in placed.into_iter().chain(named) {
        let _ = writeln!(text, "- {}", line(argument));
    }
}

fn line(argument: &Arg) -> String {
    let takes = argument.get_action().takes_values();
    let many = argument
        .get_num_args()
        .is_some_and(|range| range.max_values() > 1)
        || matches!(argument.get_action(), clap::ArgAction::Append);
    let fallback = argument.get_id().as_str().to_uppercase();
    let names = argument.get_value_names().map(|names| {
        names
            .iter()
            .map(ToString::to_string)
            .collect::<Vec<_>>()
            .join(" ")
    });
    let value = names.unwrap_or(fallback);
    let more = if many { "…" } else { "" };
    let name = if argument.is_positional() {
        format!("`{value}{more}`")
    } else {
        let long = argument.get_long().map(|long| format!("--{long}"));
        let short = argument.get_short().map(|short| format!("-{short}"));
        let both = [short, long]
            .into_iter()
            .flatten()
            .collect::<Vec<_>>()
            .join(", ");
        if takes {
            format!("`{both} {value}{more}`")
        } else {
            format!("`{both}`")
        }
    };
    let help = argument
        .get_long_help()
        .or(argument.get_help())
        .map(ToString::to_string)
        .unwrap_or_default();
    let mut line = format!("{name}: {}", sentence(&help));
    if argument.is_required_set() && !argument.is_positional() {
        line.push_str(" Needed.");
    }
    let choices: Vec<String> = if takes {
        argument
            .get_possible_values()
            .iter()
            .filter(|value| !value.is_hide_set())
            .map(|value| format!("`{}`", value.get_name()))
            .collect()
    } else {
        Vec::new()
    };
    if !choices.is_empty() {
        let _ = write!(line, " One of {}.", choices.join(", "));
    }
    let usual: Vec<String> = argument
        .get_default_values()
        .iter()
        .map(|value| value.to_string_lossy().into_owned())
        .collect();
    if takes && !usual.is_empty() {
        let _ = write!(line, " Otherwise `{}`.", usual.join(","));
    }
    line
}

/// Help on one line, with its full stop, and without what Markdown would take for its own.
fn sentence(help: &str) -> String {
    let mut text = help
        .split_whitespace()
        .collect::<Vec<_>>()
        .join(" ")
        .replace('<', "\\<")
        .replace('*', "\\*")
        .replace('_', "\\_");
    if !text.is_empty() && !text.ends_with(['.', '!', '?', '…']) {
        text.push('.');
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_visible_command_and_argument_is_there_with_its_help() {
        let text = reference();
        let mut program = Arguments::command();
        program.build();
        for command in program
            .get_subcommands()
            .filter(|command| !command.is_hide_set() && command.get_name() != "help")
        {
            assert!(
                text.contains(&format!("\n## {}\n", command.get_name())),
                "{}",
                command.get_name()
            );
            let shown =
                |argument: &&Arg| !argument.is_hide_set() && argument.get_id().as_str() != "help";
            for long in command
                .get_arguments()
                .filter(shown)
                .filter_map(Arg::get_long)
            {
                assert!(
                    text.contains(&format!("--{long}")),
                    "{} --{long}",
                    command.get_name()
                );
            }
        }
        assert!(!text.contains("bench-open"));
        let bare: Vec<&str> = text
            .lines()
            .filter(|line| line.starts_with("- ") && line.ends_with(": "))
            .collect();
        assert!(bare.is_empty(), "arguments without help: {bare:?}");
    }

    #[test]
    fn text_is_safe_in_markdown() {
        assert_eq!(
            sentence("Ids, or\n  patterns with * and <x_y>"),
            "Ids, or patterns with \\* and \\<x\\_y>."
        );
    }
}
