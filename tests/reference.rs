//! Documents that are made from the code: the reference of the commands from the parser, that of the rules from their table. Both lie
//! in `packaging`; `TACO_STUDIO_WRITE_REFERENCE=1` writes them anew.

use std::path::Path;

use crate::support::Workspace;

const COMMANDS: &str = "# Commands\n\n\
    Every command of `taco-studio` with its arguments, as `taco-studio commands` prints it. Results go to standard output, progress\n\
    and messages to standard error; the exit code is 0 when all is well, 1 when there are findings, 2 when the call or its input was\n\
    at fault.\n\n";
const RULES: &str = "# Rules\n\n\
    Every rule that datasets are checked against, as `taco-studio rules --markdown` prints it: how bad a finding is, the section of the\n\
    specification, whose demand it is where the text and the official tools differ, and what to do. The table is in\n\
    `src/model/rule.rs`.\n\n";

fn made(head: &str, arguments: &[&str]) -> String {
    let ran = Workspace::new().studio(arguments).expect_code(0);
    format!("{head}{}\n", ran.stdout.trim_end())
}

#[track_caller]
fn compare(name: &str, wanted: &str) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("docs").join(name);
    if std::env::var_os("TACO_STUDIO_WRITE_REFERENCE").is_some() {
        std::fs::write(&path, wanted).expect("writes");
    }
    let found = std::fs::read_to_string(&path).unwrap_or_default();
    let first = found.lines().zip(wanted.lines()).find(|(found, wanted)| found != wanted);
    assert!(
        found == wanted,
        "docs/{name} is stale: run the tests with TACO_STUDIO_WRITE_REFERENCE=1. The first line that differs: {first:?}"
    );
}

#[test]
fn the_command_reference_is_that_of_the_parser() {
    compare("COMMANDS.md", &made(COMMANDS, &["commands"]));
}

#[test]
fn the_rule_reference_is_that_of_the_table() {
    compare("RULES.md", &made(RULES, &["rules", "--markdown"]));
}

#[test]
fn the_readme_links_the_references_and_the_overview_names_every_command() {
    let read = |name: &str| std::fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join(name)).expect("reads");
    let (readme, overview) = (read("README.md"), read("docs/COMMAND-LINE.md"));
    for name in ["docs/COMMAND-LINE.md", "docs/COMMANDS.md", "docs/RULES.md", "docs/FORMATS.md", "docs/LICENCES.md"] {
        assert!(readme.contains(&format!("({name})")), "{name}");
    }
    let commands = made("", &["commands"]);
    let named: Vec<&str> =
        commands.lines().filter_map(|line| line.strip_prefix("## ")).filter(|name| *name != "Everywhere").collect();
    assert!(named.len() > 25, "{named:?}");
    let missing: Vec<&&str> = named
        .iter()
        .filter(|name| !overview.contains(&format!("`taco-studio {name}")) && !overview.contains(&format!("`{name}`")))
        .collect();
    assert!(missing.is_empty(), "commands that docs/COMMAND-LINE.md does not name: {missing:?}");
}

#[test]
fn link_targets_of_the_readme_exist_and_are_installed() {
    let top = Path::new(env!("CARGO_MANIFEST_DIR"));
    let read = |name: &str| std::fs::read_to_string(top.join(name)).expect("reads");
    let readme = read("README.md");
    let links: Vec<&str> = readme.split("](").skip(1).filter_map(|rest| rest.split(')').next()).collect();
    let local: Vec<&str> = links.into_iter().filter(|link| !link.starts_with("https://") && !link.starts_with('#')).collect();
    assert!(local.len() >= 5, "{local:?}");
    let (manifest, artefacts) = (read("Cargo.toml"), read("packaging/artefacts"));
    for link in local {
        assert!(top.join(link).exists(), "{link} is not there");
        let folder = link.rsplit_once('/').map_or(String::new(), |(folder, _)| format!("{folder}/"));
        for asset in [
            format!("[\"{link}\", \"usr/share/doc/taco-studio/{folder}\""),
            format!("source = \"{link}\", dest = \"/usr/share/doc/taco-studio/{link}\""),
        ] {
            assert!(manifest.contains(&asset), "Cargo.toml installs no {asset}");
        }
        assert!(artefacts.contains(link), "packaging/artefacts copies no {link}");
    }
}
