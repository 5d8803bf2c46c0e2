//! The conformance tables: every rule and test that they name exists, every clause is held by one,
//! no clause is missing, few deviate.

use std::path::Path;

use taco_studio::model::Rule;

/// Rows with a deviation.
const DEVIATIONS_MAX: usize = 15;

/// The numbers of the clauses of each text: TACO 2.0.0, TACO 0.2.0, the paper of TACO (section 3),
/// TORTILLA 0.5.0.
const CLAUSES: [(char, usize); 4] = [('A', 214), ('B', 135), ('P', 9), ('T', 31)];

/// The most clauses that may be called not held.
const NOT_HELD_MAX: usize = 1;

/// The cells of each row with so many cells. Four, the summary: clause, how it is read and written,
/// what holds it, deviation. Five, every clause: number, section, clause, kind, what holds it or
/// the reason.
fn rows<const CELLS: usize>() -> Vec<[String; CELLS]> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/CONFORMANCE.md");
    let text = std::fs::read_to_string(path).expect("reads");
    let rows = text.lines().filter(|line| {
        line.starts_with("| ") && !line.starts_with("| clause") && !line.starts_with("| no |")
    });
    let cells = rows.map(|line| -> Vec<String> {
        line.trim_matches('|')
            .replace("\\|", "\u{1}")
            .split('|')
            .map(|cell| cell.trim().to_owned())
            .collect()
    });
    let (cells, others): (Vec<Vec<String>>, Vec<Vec<String>>) =
        cells.partition(|cells| cells.len() == CELLS);
    assert!(
        others.iter().all(|cells| [4, 5].contains(&cells.len())),
        "rows of four or five cells: {others:#?}"
    );
    cells
        .into_iter()
        .filter_map(|cells| cells.try_into().ok())
        .collect()
}

/// True for a test of this name that every run includes: `module::name` of the integration tests,
/// or of a file of the library.
pub fn is_test(name: &str) -> bool {
    let Some((module, function)) = name.rsplit_once("::") else {
        return false;
    };
    let place = module.replace("::", "/");
    let top = Path::new(env!("CARGO_MANIFEST_DIR"));
    let files = ["tests", "src"].map(|folder| {
        [
            format!("{folder}/{place}.rs"),
            format!("{folder}/{place}/mod.rs"),
        ]
    });
    files.iter().flatten().any(|file| {
        let Ok(text) = std::fs::read_to_string(top.join(file)) else {
            return false;
        };
        let lines: Vec<&str> = text.lines().map(str::trim).collect();
        let own = format!("fn {function}()");
        lines
            .iter()
            .enumerate()
            .filter(|(_, line)| line.starts_with(&own))
            .any(|(at, _)| {
                let above = || {
                    lines[..at]
                        .iter()
                        .rev()
                        .take_while(|line| line.starts_with("#[") || line.starts_with("//"))
                };
                above().any(|line| *line == "#[test]")
                    && !above().any(|line| line.starts_with("#[ignore"))
            })
    })
}

/// What the third cell names, in code quotes.
fn holders(cell: &str) -> Vec<&str> {
    cell.split('`').skip(1).step_by(2).collect()
}

#[test]
fn every_clause_is_held_by_rules_and_tests_that_exist() {
    let rows = rows::<4>();
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
    assert!(
        !is_test("rules::no_such_test")
            && !is_test("PIT-1")
            && is_test("conformance::few_clauses_deviate_and_each_says_why")
    );
    // A function beside tests, and a test that runs on request alone.
    assert!(
        !is_test("conformance::rows")
            && !is_test("places::a_million_places_beside_the_time_to_read_their_rows")
    );
}

#[test]
fn few_clauses_deviate_and_each_says_why() {
    let deviating: Vec<String> = rows::<4>()
        .into_iter()
        .filter(|row| !row[3].is_empty())
        .map(|row| row[0].clone())
        .collect();
    assert!(
        deviating.len() <= DEVIATIONS_MAX,
        "{} clauses deviate: {deviating:#?}",
        deviating.len()
    );
}

#[test]
fn no_clause_is_missing_and_each_names_what_holds_it() {
    let rows = rows::<5>();
    let numbers: Vec<&str> = rows.iter().map(|row| row[0].as_str()).collect();
    let wanted: Vec<String> = CLAUSES
        .iter()
        .flat_map(|(text, last)| (1..=*last).map(move |n| format!("{text}{n}")))
        .collect();
    let missing: Vec<&String> = wanted
        .iter()
        .filter(|number| !numbers.contains(&number.as_str()))
        .collect();
    assert!(missing.is_empty(), "no row for {missing:?}");
    assert_eq!(
        numbers, wanted,
        "in the order of the specifications, each once"
    );
    let mut wrong = Vec::new();
    for [number, section, clause, kind, held] in &rows {
        let names = holders(held);
        let rules = names
            .iter()
            .filter(|name| Rule::ALL.iter().any(|rule| rule.code() == **name))
            .count();
        let tests = names.iter().filter(|name| is_test(name)).count();
        let enough = match kind.as_str() {
            "rule" => rules > 0,
            "writer" | "reference" => tests > 0,
            "not applicable" | "not held" => names.is_empty() && held.len() > 20,
            _ => false,
        };
        if !enough || section.is_empty() || clause.is_empty() {
            wrong.push(format!(
                "{number} {clause}: {kind:?} is not held by {held:?}"
            ));
        }
        if matches!(kind.as_str(), "rule" | "writer" | "reference") && rules + tests < names.len() {
            wrong.push(format!(
                "{number} {clause}: {held} names neither a rule nor a test"
            ));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    let open = rows.iter().filter(|row| row[3] == "not held").count();
    assert!(open <= NOT_HELD_MAX, "{open} clauses are not held");
}

#[test]
fn each_command_is_of_a_specification_or_the_studio_s_own() {
    let read = |name: &str| {
        std::fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join(name)).expect("reads")
    };
    let commands = read("docs/COMMANDS.md");
    let headings = commands
        .lines()
        .filter_map(|line| line.strip_prefix("## "))
        .filter(|heading| *heading != "Everywhere");
    let mut known: Vec<&str> = headings.filter(|heading| !heading.contains(' ')).collect();
    let table = read("docs/CONFORMANCE.md");
    let section = table
        .split("\n## Commands of the specifications\n")
        .nth(1)
        .and_then(|rest| rest.split("\n## ").next())
        .unwrap_or_default();
    let mut named = holders(section);
    known.sort_unstable();
    named.sort_unstable();
    assert_eq!(
        named, known,
        "each command is named once in the section on commands"
    );
}
