//! Code that the studio and its documents hand out is run by the reader that it names, or parsed by
//! it where it needs what a test lacks. The code is collected from the outputs, the documents and
//! the source, so that new code is tested too.

use std::fs;
use std::path::{Path, PathBuf};

use clap::{CommandFactory, Parser};
use serde_json::Value;
use taco_studio::cli::Arguments;

use crate::support::{
    Workspace, files_below, flat_scenes, nested_scenes, project_folder, python, tests_folder,
};

fn golden(name: &str) -> PathBuf {
    tests_folder().join("fixtures/golden").join(name)
}

/// A fenced block of a document.
struct FencedBlock {
    document: String,
    line: usize,
    language: String,
    code: String,
}

impl std::fmt::Display for FencedBlock {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}:{}\n{}", self.document, self.line, self.code)
    }
}

/// The fenced blocks of a Markdown text.
fn blocks_of(document: &str, text: &str) -> Vec<FencedBlock> {
    let mut blocks = Vec::new();
    let mut open: Option<FencedBlock> = None;
    for (number, line) in text.lines().enumerate() {
        match (line.trim_start().strip_prefix("```"), &mut open) {
            (Some(_), Some(_)) => blocks.extend(open.take()),
            (Some(language), None) => {
                let language = language.trim().to_owned();
                open = Some(FencedBlock {
                    document: document.to_owned(),
                    line: number + 1,
                    language,
                    code: String::new(),
                });
            }
            (None, Some(block)) => block.code.push_str(&format!("{line}\n")),
            (None, None) => {}
        }
    }
    assert!(open.is_none(), "{document}: a block is not closed");
    blocks
}

/// Name and text of the documents that users read.
fn documents() -> Vec<(String, String)> {
    let root = project_folder();
    let names = ["README.md", "CONTRIBUTING.md", "SECURITY.md"]
        .map(str::to_owned)
        .into_iter();
    let more = files_below(&root.join("docs"))
        .into_iter()
        .map(|name| format!("docs/{name}"));
    let names = names.chain(more.filter(|name| name.ends_with(".md")));
    names
        .map(|name| {
            (
                name.clone(),
                fs::read_to_string(root.join(&name)).expect("a document"),
            )
        })
        .collect()
}

fn document_blocks() -> Vec<FencedBlock> {
    documents()
        .iter()
        .flat_map(|(name, text)| blocks_of(name, text))
        .collect()
}

/// The block that contains `text`.
fn block_with(text: &str) -> FencedBlock {
    document_blocks()
        .into_iter()
        .find(|block| block.code.contains(text))
        .unwrap_or_else(|| panic!("no block has {text}"))
}

/// The calls of the program in a shell block, as words.
fn calls(code: &str) -> Vec<Vec<String>> {
    let lines = code
        .lines()
        .filter(|line| line.trim_start().starts_with("taco-studio "));
    lines
        .map(|line| shlex::split(line).unwrap_or_else(|| panic!("no words: {line}")))
        .collect()
}

#[test]
fn shell_blocks_of_the_documents_are_calls_that_the_program_takes() {
    let mut parsed = 0;
    for block in document_blocks()
        .iter()
        .filter(|block| block.language == "sh")
    {
        for call in calls(&block.code) {
            let outcome = Arguments::try_parse_from(&call);
            assert!(
                outcome.is_ok(),
                "{block}\n{call:?}: {}",
                outcome.expect_err("fails")
            );
            parsed += 1;
        }
        for line in block
            .code
            .lines()
            .filter_map(|line| line.trim().strip_prefix("./"))
        {
            let script = line.split_whitespace().next().expect("a word");
            assert!(
                project_folder().join(script).is_file(),
                "{block}\nthere is no {script}"
            );
        }
    }
    assert!(parsed >= 15, "only {parsed} calls");
}

#[test]
fn json_blocks_of_the_documents_are_json() {
    for block in document_blocks()
        .iter()
        .filter(|block| block.language == "json")
    {
        let values = serde_json::Deserializer::from_str(&block.code).into_iter::<Value>();
        values.for_each(|value| assert!(value.is_ok(), "{block}"));
    }
}

/// Calls between backquotes in documents, hints and messages: every verb and option exists. Words
/// in capitals and brackets are free.
#[test]
fn calls_in_texts_have_verbs_and_options_of_the_program() {
    let root = project_folder();
    let sources = files_below(&root.join("src"))
        .into_iter()
        .filter(|name| name.ends_with(".rs"))
        .map(|name| format!("src/{name}"));
    let sources = sources.map(|name| {
        (
            name.clone(),
            fs::read_to_string(root.join(&name)).expect("a source file"),
        )
    });
    let (mut seen, mut wrong) = (0, Vec::new());
    for (name, text) in documents().into_iter().chain(sources) {
        for (start, opening) in text.match_indices("`taco-studio ") {
            let inside = text[start + opening.len()..]
                .split('`')
                .next()
                .unwrap_or_default();
            seen += 1;
            if let Some(unknown) = unknown_word(inside) {
                wrong.push(format!(
                    "{name}: taco-studio {inside}: there is no {unknown}"
                ));
            }
        }
    }
    assert!(seen > 60, "only {seen} calls");
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// The first verb or option of a call that the program does not have.
fn unknown_word(call: &str) -> Option<String> {
    let program = Arguments::command();
    let mut command = &program;
    let words = call.split(|c: char| {
        c.is_whitespace()
            || matches!(
                c,
                '[' | ']' | '|' | '\\' | '…' | ',' | ';' | '"' | '(' | ')'
            )
    });
    let words: Vec<&str> = words.filter(|word| !word.is_empty()).collect();
    for (place, word) in words.iter().enumerate() {
        if let Some(verb) = command.find_subcommand(word) {
            command = verb;
        } else if place == 0
            && word
                .bytes()
                .all(|byte| byte.is_ascii_lowercase() || byte == b'-')
            && !word.starts_with('-')
        {
            return Some((*word).to_owned());
        } else if let Some(option) = word.strip_prefix("--").filter(|option| !option.is_empty()) {
            let option = option
                .split('=')
                .next()
                .unwrap_or_default()
                .trim_end_matches(['.', ':']);
            let is_of = |command: &clap::Command| {
                let named = |argument: &clap::Arg| {
                    let aliases = argument.get_all_aliases().unwrap_or_default();
                    argument.get_long() == Some(option) || aliases.contains(&option)
                };
                command.get_arguments().any(named)
            };
            if !is_of(command) && !is_of(&program) && !matches!(option, "help" | "version") {
                return Some((*word).to_owned());
            }
        }
    }
    None
}

/// The first dataset of the command line's page, made and read by its own commands in their order.
#[test]
fn the_first_dataset_of_the_documents_is_made_and_read() {
    let workspace = Workspace::new();
    nested_scenes(&workspace, 2);
    workspace.write(
        "metadata.csv",
        "path,region,cloud_cover\nscene_8,south,10\nscene_9,north,25\n",
    );
    let run = |text: &str| {
        let calls = calls(&block_with(text).code);
        assert!(calls.len() > 1, "{calls:?}");
        for call in calls {
            let words = call[1..].iter().map(|word| {
                word.replace("scene_1/", "scene_8/")
                    .replace("10,40,20,50", "-180,-90,180,90")
            });
            workspace.studio(words).expect_code(0);
        }
    };
    run("taco-studio create scenes");
    fs::rename(
        workspace.path("changes.tacozip"),
        workspace.path("plain.tacozip"),
    )
    .expect("renames");
    workspace
        .studio([
            "extend",
            "plain.tacozip",
            "-o",
            "changes.tacozip",
            "--with",
            "stats,stac",
            "--level",
            "1",
        ])
        .expect_code(0);
    run("--level bbox:1");
}

/// The program of another language in the documents computes its column.
#[test]
fn the_program_of_the_documents_computes_a_column() {
    let workspace = Workspace::new();
    workspace.write("brightness.py", block_with("own:brightness\": float(").code);
    let mut options: Value = serde_json::from_str(&block_with("\"batch\"").code).expect("JSON");
    options["command"][0] = Value::from(python().display().to_string());
    options["command"][1] = Value::from(workspace.path("brightness.py").display().to_string());
    workspace.write("options.json", options.to_string());
    fs::copy(
        golden("05_nested3_zip").join(only_zip("05_nested3_zip")),
        workspace.path("in.tacozip"),
    )
    .expect("copies");
    let call = calls(&block_with("--with command --level 1").code).remove(0);
    let level = workspace.studio([
        "query",
        "in.tacozip",
        "--json",
        "--sql",
        "SELECT count(*) AS n FROM level1 WHERE type = 'FILE'",
    ]);
    let files = level.expect_code(0).json()["n"].as_u64().expect("a number");
    let deepest = if files > 0 { "1" } else { "2" };
    let call = call.iter().skip(1).map(|word| {
        if word == "1" {
            deepest.to_owned()
        } else {
            word.clone()
        }
    });
    workspace.studio(call).expect_code(0);
    let sql = format!("SELECT count(\"own:brightness\") AS n FROM level{deepest}");
    let found = workspace
        .studio(["query", "out.tacozip", "--json", "--sql", &sql])
        .expect_code(0)
        .json();
    assert!(found["n"].as_u64() > Some(0), "{found}");
}

/// The name of the only ZIP in a folder of the golden datasets.
fn only_zip(folder: &str) -> String {
    let mut names = files_below(&golden(folder))
        .into_iter()
        .filter(|name| name.ends_with(".tacozip"));
    names.next_back().expect("a ZIP")
}

/// Runs Python code with the official reader of 2.0, or of the first generation.
#[track_caller]
fn run_python(workspace: &Workspace, code: &str, is_first_generation: bool) -> String {
    let script = workspace.write("snippet.py", code).display().to_string();
    let ran = if is_first_generation {
        workspace.old_python(&script, [] as [&str; 0])
    } else {
        workspace.python(&script, [] as [&str; 0])
    };
    ran.expect_code(0).stdout
}

/// Runs one snippet of `publish` with the reader that it names.
fn run_snippet(workspace: &Workspace, reader: &str, code: &str) {
    match reader {
        "Python" => {
            let printed = run_python(workspace, code, false);
            assert!(printed.contains("tile_0.tif"), "{code}\n{printed}");
        }
        #[cfg(target_os = "linux")]
        "taco_studio" => {
            let printed = crate::python_module::run_with_module(workspace, code);
            assert!(printed.contains("tile_0.tif"), "{code}\n{printed}");
        }
        #[cfg(target_os = "linux")]
        "PyTorch" => {
            let seen = crate::python_module::run_training_loop(workspace, code);
            assert!(seen["batches"].as_u64() > Some(0), "{code}\n{seen}");
        }
        "DuckDB" => {
            let script = format!(
                "import duckdb\nprint(duckdb.sql({}).fetchall())\n",
                serde_json::to_string(code).expect("a literal")
            );
            let printed = run_python(workspace, &script, false);
            assert!(printed.contains("tile_0.tif"), "{code}\n{printed}");
        }
        "Taco Studio" => {
            for call in calls(code) {
                workspace.studio(&call[1..]).expect_code(0);
            }
        }
        // The module is tested on Linux.
        #[cfg(not(target_os = "linux"))]
        "taco_studio" | "PyTorch" => {}
        other => panic!("no reader {other} is known: run its code here"),
    }
}

#[test]
fn the_code_of_a_publication_runs_with_each_reader() {
    let workspace = Workspace::new();
    flat_scenes(&workspace, 6);
    let table: String = (0..6)
        .map(|scene| format!("tile_{scene}.tif,test\n"))
        .collect();
    workspace.write("split.csv", format!("path,split\n{table}"));
    for (name, more) in [("plain", &[][..]), ("split", &["--metadata", "split.csv"])] {
        let out = format!("{name} and \"more\".tacozip");
        workspace
            .studio(
                [
                    "create",
                    "scenes",
                    "-o",
                    &out,
                    "--collection",
                    "collection.json",
                ]
                .iter()
                .chain(more),
            )
            .expect_code(0);
        let folder = format!("{name}.folder");
        workspace.studio(["convert", &out, &folder]).expect_code(0);
        for (input, target) in [
            (&out, format!("{name}-zip")),
            (&folder, format!("{name}-folder")),
        ] {
            let dry = workspace
                .studio(["publish", "--dry-run", "--json", input, &target])
                .json();
            let checks = dry["checks"].as_array().expect("checks").iter();
            let blocking = checks
                .filter(|check| check["level"] == "blocks")
                .map(|check| check["kind"].as_str().expect("a kind").to_owned());
            let accepted: Vec<String> = blocking
                .flat_map(|kind| ["--accept".to_owned(), kind])
                .collect();
            let words = ["publish", "--json", input.as_str(), target.as_str()].map(str::to_owned);
            let found = workspace
                .studio(words.iter().chain(&accepted))
                .expect_code(0)
                .json();
            let snippets = found["published"]["snippets"].as_array().expect("snippets");
            assert!(snippets.len() >= 4, "{snippets:?}");
            for snippet in snippets {
                run_snippet(
                    &workspace,
                    snippet["reader"].as_str().expect("a reader"),
                    snippet["code"].as_str().expect("code"),
                );
            }
        }
    }
}

/// The code in the cards of every format, in Markdown.
#[test]
fn the_code_in_cards_runs_with_the_reader_of_the_generation() {
    for (dataset, is_first_generation) in [
        ("01_flat_zip/flat.tacozip", false),
        ("04_nested2_folder/change", false),
        ("09_split_tacocat/.tacocat", false),
        ("46_v1_taco_nested/nested.taco", true),
    ] {
        let workspace = Workspace::new();
        let given = golden(dataset);
        let card = workspace
            .studio([
                "describe".as_ref(),
                given.as_os_str(),
                "--as".as_ref(),
                "markdown".as_ref(),
            ])
            .expect_code(0);
        let blocks = blocks_of(dataset, &card.stdout);
        let code = blocks
            .iter()
            .filter(|block| block.code.contains("import tacoreader"))
            .collect::<Vec<_>>();
        let of_module = blocks
            .iter()
            .filter(|block| block.code.contains("import taco_studio"))
            .collect::<Vec<_>>();
        assert!(!code.is_empty() && !of_module.is_empty(), "{card}");
        // The card names files beside it.
        let beside: &Path = given.parent().expect("a folder");
        for block in code {
            let script = format!(
                "import os\nos.chdir({})\n{}",
                serde_json::to_string(beside).expect("a literal"),
                block.code
            );
            assert!(
                !run_python(&workspace, &script, is_first_generation)
                    .trim()
                    .is_empty(),
                "{block}"
            );
        }
        #[cfg(target_os = "linux")]
        for block in of_module {
            let script = format!(
                "import os\nos.chdir({})\n{}",
                serde_json::to_string(beside).expect("a literal"),
                block.code
            );
            if block.code.contains("import torch") {
                crate::python_module::run_training_loop(&workspace, &script);
            } else {
                crate::python_module::run_with_module(&workspace, &script);
            }
        }
    }
}

/// The script of steps in the documents runs in the sample's folder.
#[cfg(target_os = "linux")]
#[test]
fn the_script_of_the_documents_is_replayed() {
    let workspace = Workspace::new();
    workspace.studio(["sample", "here"]).expect_code(0);
    workspace.write(
        "here/script.json",
        block_with("\"step\": \"open_panel\"").code,
    );
    workspace
        .studio([
            "replay",
            "here/script.json",
            "--headless",
            "--screenshots",
            "pictures",
        ])
        .expect_code(0);
}
