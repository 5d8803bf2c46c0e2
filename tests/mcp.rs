//! `mcp`: the operations as tools, with the client of the protocol's own library for Python.

use std::io::{BufRead, BufReader, Write};
use std::process::Stdio;

use serde_json::{Value, json};

use crate::support::{Workspace, entries, nested_scenes};

#[test]
fn an_agent_reads_and_writes_inside_its_folders_and_nowhere_else() {
    let workspace = Workspace::new();
    nested_scenes(&workspace, 3);
    std::fs::create_dir(workspace.path("work")).expect("is made");
    for name in ["scenes", "collection.json"] {
        std::fs::rename(
            workspace.path(name),
            workspace.path(&format!("work/{name}")),
        )
        .expect("is moved");
    }
    workspace.write("secret.txt", "not for agents");
    #[cfg(unix)]
    std::os::unix::fs::symlink(workspace.path("."), workspace.path("work/up")).expect("is made");
    let create = [
        "create",
        "work/scenes",
        "--collection",
        "work/collection.json",
        "-o",
        "work/set.tacozip",
    ];
    workspace.studio(create).expect_code(0);
    let secret = workspace.path("secret.txt");
    let item = json!({ "type": "Feature", "stac_version": "1.0.0", "id": "a", "geometry": null,
        "properties": {}, "links": [],
        "assets": { "data": { "href": secret } } });
    let catalogue =
        json!({ "type": "FeatureCollection", "stac_version": "1.0.0", "features": [item] });
    workspace.write("work/catalogue.json", catalogue.to_string());
    let program = env!("CARGO_BIN_EXE_taco-studio");
    let folder = workspace.path("work");
    let ran = workspace
        .agents_python("agent_tasks.py", [program.as_ref(), folder.as_os_str()])
        .expect_code(0);
    assert!(ran.stdout.contains("ten tasks done"), "{}", ran.stdout);
    let names: Vec<_> = entries(workspace.path("work").as_path())
        .iter()
        .filter_map(|path| path.file_name().map(std::ffi::OsStr::to_owned))
        .collect();
    assert!(names.iter().any(|name| name == "card.md"), "{names:?}");
    assert!(
        !workspace.path("out.tacozip").exists() && !names.iter().any(|name| name == "started"),
        "{names:?}"
    );
}

#[test]
fn a_server_ends_with_its_input_and_answers_damaged_lines() {
    let workspace = Workspace::new();
    let [initialize, initialized] = handshake();
    let lines = [
        initialize,
        initialized,
        "{ this is no JSON".to_owned(),
        json!({
            "jsonrpc": "2.0",
            "id": 2,
            "method": "tools/call",
            "params": { "name": "rules", "arguments": [1] },
        })
        .to_string(),
        json!({
            "jsonrpc": "2.0",
            "id": 3,
            "method": "tools/call",
            "params": { "name": "extensions", "arguments": {} },
        })
        .to_string(),
    ];
    let answers = served(&workspace, &[], &lines.join("\n"), Some(3));
    let answer = |id: u64| {
        answers
            .iter()
            .find(|line| line["id"] == id)
            .unwrap_or_else(|| panic!("no answer {id}: {answers:#?}"))
    };
    assert_eq!(answer(1)["result"]["serverInfo"]["name"], "taco-studio");
    let listed = answer(3)["result"]["structuredContent"]["output"]
        .as_array()
        .map_or(0, Vec::len);
    assert!(listed > 10, "{:#}", answer(3));
    assert!(served(&workspace, &[], "", None).is_empty());
}

#[test]
fn a_refusal_says_how_the_user_agrees() {
    let workspace = Workspace::new();
    let server = "https://127.0.0.1:9/";
    let options = |target: &str| json!({ "target": target, "format": "zip" });
    let convert = |target: &str| json!({ "input": "a.tacozip", "options": options(target) });
    let extend = json!({ "input": "a.tacozip", "options": options("b"),
        "calls": [{ "extension": "command", "target": { "level": 0 },
            "options": { "command": ["touch", "started"], "fields": { "a:b": "int64" } } }] });
    let address = format!("{server}b.tacozip");
    let cases: [(&[&str], &str, Value, &str); 3] = [
        (&[], "convert", convert("b.tacozip"), "--allow-write"),
        (&["--allow-write"], "extend", extend, "--allow-commands"),
        (
            &["--allow-write", server],
            "convert",
            convert(&address),
            "--allow-connect",
        ),
    ];
    for (options, tool, request, option) in cases {
        let hints = refusal_hints(&workspace, options, tool, request);
        assert!(
            hints.contains("taco-studio mcp") && hints.contains(option),
            "{tool}: {hints}"
        );
    }
}

/// The hints with which a server, started with these options, refuses a call.
fn refusal_hints(workspace: &Workspace, options: &[&str], tool: &str, request: Value) -> String {
    let [initialize, initialized] = handshake();
    let call = json!({ "jsonrpc": "2.0", "id": 2, "method": "tools/call",
        "params": { "name": tool, "arguments": request } });
    let lines = [initialize, initialized, call.to_string()].join("\n");
    let answers = served(workspace, options, &lines, Some(2));
    let answer = answers.iter().find(|answer| answer["id"] == 2);
    let result = &answer.expect("an answer")["result"];
    assert_eq!(result["isError"], true, "{result:#}");
    result["structuredContent"]["hints"].to_string()
}

/// The lines with which a client begins.
fn handshake() -> [String; 2] {
    let client = json!({ "name": "test", "version": "1" });
    let parameters =
        json!({ "protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": client });
    [
        json!({ "jsonrpc": "2.0", "id": 1, "method": "initialize", "params": parameters }),
        json!({ "jsonrpc": "2.0", "method": "notifications/initialized" }),
    ]
    .map(|line| line.to_string())
}

/// What the server, started with these options, answers to these lines. Its input ends after the
/// answer to request `last`.
fn served(workspace: &Workspace, options: &[&str], input: &str, last: Option<u64>) -> Vec<Value> {
    let mut command = std::process::Command::new(env!("CARGO_BIN_EXE_taco-studio"));
    workspace
        .house(&mut command)
        .args(["mcp", "."])
        .args(options)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null());
    let mut child = command.spawn().expect("starts");
    let mut stdin = child.stdin.take().expect("is piped");
    stdin
        .write_all(format!("{input}\n").as_bytes())
        .expect("is read");
    let mut stdin = last.is_some().then_some(stdin);
    let mut answers: Vec<Value> = Vec::new();
    for line in BufReader::new(child.stdout.take().expect("is piped")).lines() {
        let answer: Value = serde_json::from_str(&line.expect("is text")).expect("is JSON");
        if last.is_some_and(|last| answer["id"] == last) {
            stdin = None;
        }
        answers.push(answer);
    }
    drop(stdin);
    child.wait().expect("ends");
    answers
}
