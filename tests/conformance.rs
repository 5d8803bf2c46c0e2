//! The conformance table: every rule and test that it names exists, every clause is held by one, and few deviate.

use std::path::Path;

use taco_studio::model::Rule;

/// Rows with a deviation.
const DEVIATIONS_MAX: usize = 15;

/// The cells of each row: clause, how it is read and written, what holds it, deviation.
fn rows() -> Vec<[String; 4]> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/CONFORMANCE.md");
    let text = std::fs::read_to_string(path).expect("reads");
    let rows = text.lines().filter(|line| line.starts_with("| ") && !line.starts_with("| clause"));
    rows.map(|line| {
        let cells: Vec<String> =
            line.trim_matches('|').replace("\\|", "\u{1}").split('|').map(|cell| cell.trim().to_owned()).collect();
        cells.try_into().unwrap_or_else(|cells| panic!("not four cells: {cells:?}"))
    })
    .collect()
}

/// True for a test of this name that every run includes: `module::name` of the integration tests, or of a file of the library.
fn is_test(name: &str) -> bool {
    let Some((module, function)) = name.rsplit_once("::") else { return false };
    let place = module.replace("::", "/");
    let top = Path::new(env!("CARGO_MANIFEST_DIR"));
    let files = ["tests", "src"].map(|folder| [format!("{folder}/{place}.rs"), format!("{folder}/{place}/mod.rs")]);
    files.iter().flatten().any(|file| {
        let Ok(text) = std::fs::read_to_string(top.join(file)) else { return false };
        let lines: Vec<&str> = text.lines().map(str::trim).collect();
        let own = format!("fn {function}()");
        lines.iter().enumerate().filter(|(_, line)| line.starts_with(&own)).any(|(at, _)| {
            let above = || lines[..at].iter().rev().take_while(|line| line.starts_with("#[") || line.starts_with("//"));
            above().any(|line| *line == "#[test]") && !above().any(|line| line.starts_with("#[ignore"))
        })
    })
}

/// What the third cell names, in code quotes.
fn holders(cell: &str) -> Vec<&str> {
    cell.split('`').skip(1).step_by(2).collect()
}

#[test]
fn every_clause_is_held_by_rules_and_tests_that_exist() {
    let rows = rows();
    assert!(rows.len() > 60, "{} rows", rows.len());
    let mut wrong = Vec::new();
    for [clause, _, held, _] in &rows {
        let names = holders(held);
        if names.is_empty() {
            wrong.push(format!("{clause}: nothing holds it"));
        }
        for name in names {
            if !Rule::ALL.iter().any(|rule| rule.code() == name) && !is_test(name) {
                wrong.push(format!("{clause}: {name} is neither a rule nor a test"));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!(!is_test("rules::no_such_test") && !is_test("PIT-1") && is_test("conformance::few_clauses_deviate_and_each_says_why"));
    // A function beside tests, and a test that runs on request alone.
    assert!(!is_test("conformance::rows") && !is_test("places::a_million_places_beside_the_time_to_read_their_rows"));
}

#[test]
fn few_clauses_deviate_and_each_says_why() {
    let deviating: Vec<String> = rows().into_iter().filter(|row| !row[3].is_empty()).map(|row| row[0].clone()).collect();
    assert!(deviating.len() <= DEVIATIONS_MAX, "{} clauses deviate: {deviating:#?}", deviating.len());
}
