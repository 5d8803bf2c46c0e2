//! Documents that are made from the code: the reference of the commands from the parser, that of
//! the rules from their table, that of the operations from their requests. They are in `docs`;
//! `TACO_STUDIO_WRITE_REFERENCE=1` writes them anew.

use std::path::Path;

use serde_json::Value;
use taco_studio::ops::{AnyOperation, OperationDescription};

use crate::support::{Workspace, expect_generated};

const COMMANDS: &str = "# Commands\n\n\
    Every command of `taco-studio` with its arguments, as `taco-studio commands` prints it. \
    Results go to standard output, progress\n\
    and messages to standard error; the exit code is 0 when all is well, 1 when there are \
    findings, 2 when the call or its input was\n\
    at fault.\n\n";
const RULES: &str = "# Rules\n\n\
    Every rule that datasets are checked against, as `taco-studio rules --markdown` prints it: how \
    bad a finding is, the section of the\n\
    specification, whose rule it is where the specification and the official tools differ, and \
    what to do. The table is in\n\
    `src/model/rule.rs`.\n\n";

const OPERATIONS: &str = "# Operations\n\n\
    Every operation with the fields of its request, for scripts of `replay` (beside `command`), \
    the [Python module](PYTHON.md),\n\
    [agents](AGENTS.md) and the [C library](C.md). `src/ops/operation_list.rs` has the list; a \
    request without a field has its usual value.\n\n";

fn made(head: &str, arguments: &[&str]) -> String {
    let ran = Workspace::new().studio(arguments).expect_code(0);
    format!("{head}{}\n", ran.stdout.trim_end())
}

#[track_caller]
fn compare(name: &str, wanted: &str) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("docs")
        .join(name);
    expect_generated(&path, wanted, "TACO_STUDIO_WRITE_REFERENCE");
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
fn the_reference_of_operations_is_that_of_their_requests() {
    let mut text = OPERATIONS.to_owned();
    for OperationDescription {
        name,
        purpose,
        request,
        read_only,
    } in AnyOperation::descriptions()
    {
        let note = if read_only {
            " It changes no file."
        } else {
            ""
        };
        text += &format!("## {name}\n\n{purpose}{note}\n\n");
        text += &fields_of(&request);
        text.push('\n');
    }
    let head = "# Shared objects\n\n";
    let mut shared = std::collections::BTreeMap::new();
    for description in AnyOperation::descriptions() {
        for (name, schema) in description.request["$defs"]
            .as_object()
            .into_iter()
            .flatten()
        {
            shared.insert(name.clone(), schema.clone());
        }
    }
    text += head;
    for (name, schema) in shared {
        text += &format!(
            "## {name}\n\n{}\n\n{}\n",
            one_line(&schema),
            fields_of(&schema)
        );
    }
    compare("OPERATIONS.md", &format!("{}\n", text.trim_end()));
}

/// The description of a schema on one line.
fn one_line(schema: &Value) -> String {
    let text = schema["description"].as_str().unwrap_or_default();
    text.split_whitespace()
        .collect::<Vec<_>>()
        .join(" ")
        .replace('|', "\\|")
}

/// A table of the fields of an object, or a list of the values of a choice.
fn fields_of(schema: &Value) -> String {
    let mut text = String::new();
    let required: Vec<&str> = schema["required"]
        .as_array()
        .into_iter()
        .flatten()
        .filter_map(Value::as_str)
        .collect();
    let fields = schema["properties"].as_object().into_iter().flatten();
    for (name, field) in fields.filter(|(_, field)| field.get("const").is_none()) {
        let need = if required.contains(&name.as_str()) {
            ", needed"
        } else {
            ""
        };
        let usual = match &field["default"] {
            Value::Null | Value::Object(_) => String::new(),
            Value::Array(values) if values.is_empty() => String::new(),
            Value::String(text) if text.is_empty() => String::new(),
            value => format!("; otherwise `{value}`"),
        };
        text += &format!(
            "- `{name}` ({}{need}{usual}): {}\n",
            type_of(field),
            one_line(field)
        );
    }
    for part in ["oneOf", "anyOf", "allOf"]
        .iter()
        .filter_map(|keyword| schema[keyword].as_array())
        .flatten()
    {
        match (&part["const"], part["$ref"].as_str()) {
            (Value::String(value), _) => text += &format!("- `\"{value}\"`: {}\n", one_line(part)),
            (_, Some(place)) => text += &format!("- {}\n", linked(place)),
            _ if part["properties"].is_object() => text += &fields_of(part),
            _ => {}
        }
    }
    for value in schema["enum"].as_array().into_iter().flatten() {
        text += &format!("- `{value}`\n");
    }
    text
}

/// The type of a field in words.
fn type_of(schema: &Value) -> String {
    if let Some(place) = schema["$ref"].as_str() {
        return linked(place);
    }
    let parts = ["anyOf", "oneOf", "allOf"]
        .iter()
        .find_map(|keyword| schema[keyword].as_array());
    if let Some(parts) = parts {
        let names: Vec<String> = parts
            .iter()
            .map(type_of)
            .filter(|name| name != "null")
            .collect();
        return names.join(" or ");
    }
    if let Some(value) = schema.get("const") {
        return format!("`{value}`");
    }
    let kind = |kind: &str| match kind {
        "array" => format!(
            "list of {}",
            schema.get("items").map_or("values".to_owned(), type_of)
        ),
        other => other.to_owned(),
    };
    match &schema["type"] {
        Value::String(name) => kind(name),
        Value::Array(names) => names
            .iter()
            .filter_map(Value::as_str)
            .filter(|name| *name != "null")
            .map(kind)
            .collect::<Vec<_>>()
            .join(" or "),
        _ => "any value".to_owned(),
    }
}

fn linked(place: &str) -> String {
    let name = place.rsplit('/').next().unwrap_or(place);
    format!("[{name}](#{})", name.to_lowercase())
}

#[test]
fn the_readme_links_the_references_and_the_overview_names_every_command() {
    let read = |name: &str| {
        std::fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join(name)).expect("reads")
    };
    let (readme, overview) = (read("README.md"), read("docs/COMMAND-LINE.md"));
    for name in [
        "docs/COMMAND-LINE.md",
        "docs/COMMANDS.md",
        "docs/RULES.md",
        "docs/FORMATS.md",
        "docs/LICENCES.md",
    ] {
        assert!(readme.contains(&format!("({name})")), "{name}");
    }
    let commands = made("", &["commands"]);
    let named: Vec<&str> = commands
        .lines()
        .filter_map(|line| line.strip_prefix("## "))
        .filter(|name| *name != "Everywhere")
        .collect();
    assert!(named.len() > 25, "{named:?}");
    let missing: Vec<&&str> = named
        .iter()
        .filter(|name| {
            !overview.contains(&format!("`taco-studio {name}"))
                && !overview.contains(&format!("`{name}`"))
        })
        .collect();
    assert!(
        missing.is_empty(),
        "commands that docs/COMMAND-LINE.md does not name: {missing:?}"
    );
}

#[test]
fn link_targets_of_the_readme_exist_and_are_installed() {
    let top = Path::new(env!("CARGO_MANIFEST_DIR"));
    let read = |name: &str| std::fs::read_to_string(top.join(name)).expect("reads");
    let readme = read("README.md");
    let links: Vec<&str> = readme
        .split("](")
        .skip(1)
        .filter_map(|rest| rest.split(')').next())
        .collect();
    let local: Vec<&str> = links
        .into_iter()
        .filter(|link| !link.starts_with("https://") && !link.starts_with('#'))
        .collect();
    assert!(local.len() >= 5, "{local:?}");
    let (manifest, artefacts) = (read("Cargo.toml"), read("packaging/artefacts"));
    for link in local {
        assert!(top.join(link).exists(), "{link} is not there");
        let folder = link
            .rsplit_once('/')
            .map_or(String::new(), |(folder, _)| format!("{folder}/"));
        for asset in [
            format!("[\"{link}\", \"usr/share/doc/taco-studio/{folder}\""),
            format!("source = \"{link}\", dest = \"/usr/share/doc/taco-studio/{link}\""),
        ] {
            assert!(manifest.contains(&asset), "Cargo.toml installs no {asset}");
        }
        assert!(
            artefacts.contains(link),
            "packaging/artefacts copies no {link}"
        );
    }
}
