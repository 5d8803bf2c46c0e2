//! SECURITY.md: every statement of its guarantees names tests, and all of these exist.

use std::collections::BTreeSet;

use crate::conformance::is_test;
use crate::support::project_folder;

/// The section after the guarantees.
const END: &str = "## What is not guaranteed";

/// The document: its guarantees, and the footnotes with their names.
fn document() -> (String, Vec<(String, String)>) {
    let text = std::fs::read_to_string(project_folder().join("SECURITY.md")).expect("reads");
    let (guarantees, rest) = text
        .split_once(END)
        .expect("the section after the guarantees");
    let (_, guarantees) = guarantees.split_once("\n## ").expect("the first section");
    let notes = rest
        .lines()
        .filter_map(|line| line.strip_prefix("[^")?.split_once("]: "));
    (
        guarantees.to_owned(),
        notes
            .map(|(name, tests)| (name.to_owned(), tests.to_owned()))
            .collect(),
    )
}

/// Paragraphs, items of lists and cells of tables, each on one line, without headings and
/// introductions of lists.
fn blocks(text: &str) -> Vec<String> {
    let mut blocks: Vec<String> = Vec::new();
    let mut is_open = false;
    for line in text.lines().map(str::trim_end) {
        let is_cell = line.starts_with('|');
        if line.is_empty() || line.starts_with('#') {
            is_open = false;
        } else if is_cell {
            blocks.extend(
                line.trim_matches('|')
                    .split('|')
                    .map(|cell| cell.trim().to_owned()),
            );
            is_open = false;
        } else if line.starts_with("- ") || !is_open {
            blocks.push(line.trim_start_matches("- ").to_owned());
            is_open = true;
        } else if let Some(last) = blocks.last_mut() {
            *last += " ";
            *last += line.trim_start();
        }
    }
    let head = ["It can", "It cannot"];
    blocks.retain(|block| {
        !block.ends_with(':')
            && !block.starts_with("---")
            && !head.contains(&block.as_str())
            && !block.is_empty()
    });
    // The names of the sections, of which the first has lost its mark.
    blocks.retain(|block| !block.starts_with("What "));
    blocks
}

/// The statements of a block that no footnote follows. Words in bold that begin an item are its
/// heading.
fn unproven(block: &str) -> Vec<String> {
    let block = match block
        .strip_prefix("**")
        .and_then(|rest| rest.split_once("**"))
    {
        Some((_, rest)) => rest.trim(),
        None => block,
    };
    let mut found = Vec::new();
    let mut rest = block;
    // A statement ends at a full stop before a space, or with the block.
    while let Some(at) = rest.find(". ") {
        found.push(rest[..=at].to_owned());
        rest = &rest[at + 2..];
    }
    if !rest.ends_with(']') {
        found.push(rest.to_owned());
    }
    // Sentences with a footnote end in a bracket, not in a full stop.
    found.retain(|statement| !statement.is_empty());
    found
}

#[test]
fn every_statement_is_held_by_tests_that_exist() {
    let (guarantees, notes) = document();
    let blocks = blocks(&guarantees);
    assert!(blocks.len() > 25, "{} blocks", blocks.len());
    let mut wrong: Vec<String> = blocks
        .iter()
        .flat_map(|block| unproven(block))
        .map(|text| format!("no test: {text}"))
        .collect();
    let used: BTreeSet<&str> = guarantees
        .split("[^")
        .skip(1)
        .filter_map(|rest| rest.split(']').next())
        .collect();
    let known: BTreeSet<&str> = notes.iter().map(|(name, _)| name.as_str()).collect();
    wrong.extend(
        used.symmetric_difference(&known)
            .map(|name| format!("the footnote {name} is not used, or not there")),
    );
    for (name, tests) in &notes {
        let named: Vec<&str> = tests.split('`').skip(1).step_by(2).collect();
        if named.is_empty() {
            wrong.push(format!("the footnote {name} names no test"));
        }
        wrong.extend(
            named
                .into_iter()
                .filter(|test| !is_test(test))
                .map(|test| format!("{name}: there is no test {test}")),
        );
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn statements_without_a_footnote_are_seen() {
    assert_eq!(
        unproven("**A. B.** It is so.[^a] It is `.tif`.[^b]"),
        Vec::<String>::new()
    );
    assert_eq!(unproven("It is so. It is not.[^a]"), ["It is so."]);
    assert_eq!(
        unproven("It is so.[^a] It is not."),
        ["It is so.[^a] It is not."]
    );
    assert_eq!(
        blocks("x y\n\nIt asks:\n\n- a\n  b;[^c]\n| d[^e] | f |\n"),
        ["x y", "a b;[^c]", "d[^e]", "f"]
    );
}
