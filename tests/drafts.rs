//! Drafts through the program: unplaced files, projects and autosave. After the process is killed,
//! its draft is found again with at most the last edit missing.

use std::fs;
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Command, Stdio};

use serde_json::{Value as Json, json};
use taco_studio::jobs::Jobs;
use taco_studio::studio::{self as core, Studio};

use crate::interop::expect_ok;
use crate::support::{Workspace, nested_scenes, sha256_of};

/// Runs commands through the library and returns the resulting draft.
fn state_after(lines: &[Json]) -> core::Project {
    let mut studio = Studio::new(Jobs::quiet());
    studio.set_live_check(false);
    for line in lines {
        let command = serde_json::from_value(line.clone()).expect("a command");
        studio
            .run_to_end(command, &mut |_| {})
            .unwrap_or_else(|error| panic!("{line}: {error}"));
    }
    project_of(&studio)
}

fn project_of(studio: &Studio) -> core::Project {
    match studio.document() {
        Some(core::Document::Draft(draft)) => draft.as_project(),
        _ => panic!("no draft is open"),
    }
}

/// More than twenty edits of every kind, with undo and redo steps.
fn script(workspace: &Workspace) -> Vec<Json> {
    let scenes = workspace.path("scenes");
    let loose = workspace.path("loose");
    fs::create_dir_all(&loose).expect("a folder");
    (0..6).for_each(|n| fs::write(loose.join(format!("scene_20_b{n}.tif")), b"x").expect("a file"));
    let mut lines = vec![
        json!({"command": "import", "paths": [scenes]}),
        json!({"command": "add_to_tray", "paths": [loose]}),
    ];
    for step in 0..30 {
        lines.push(match step % 10 {
            0 => json!({
                "command": "edit",
                "edit": "set_collection",
                "key": "title",
                "value": format!("Title {step}"),
            }),
            1 => json!({
                "command": "edit",
                "edit": "rename",
                "sample": [step % 3],
                "id": format!("scene_{step}"),
            }),
            2 => json!({"command": "undo"}),
            3 => json!({"command": "redo"}),
            4 => json!({"command": "edit", "edit": "move", "sample": [0], "to": [], "at": 2}),
            5 => json!({
                "command": "edit",
                "edit": "column",
                "level": 1,
                "change": {
                    "change": "add",
                    "field": {"name": format!("c{step}"), "dtype": "Int64"},
                    "value": step,
                },
            }),
            6 => json!({
                "command": "edit",
                "edit": "rename_by",
                "level": 1,
                "find": if step == 6 { "before" } else { "pre" },
                "replace": if step == 6 { "pre" } else { "pre2" },
            }),
            7 => json!({"command": "edit", "edit": "remove_from_tray", "places": [0]}),
            8 => json!({"command": "undo"}),
            _ => json!({
                "command": "edit",
                "edit": "group",
                "parent": [1],
                "positions": [0, 1],
                "id": "pair",
            }),
        });
        if step % 10 == 9 {
            lines.push(json!({"command": "undo"}));
        }
    }
    lines
}

#[test]
fn a_killed_process_loses_the_last_edit_at_most() {
    let workspace = Workspace::new();
    nested_scenes(&workspace, 3);
    let lines = script(&workspace);
    let file = workspace.write("script.json", serde_json::to_string(&lines).expect("JSON"));
    let states: Vec<core::Project> = (1..=lines.len())
        .map(|count| state_after(&lines[..count]))
        .collect();
    let mut seen = std::collections::BTreeSet::new();
    for round in 0..20u64 {
        let folder = workspace.path(&format!("auto{round}"));
        let mut command = Command::new(env!("CARGO_BIN_EXE_taco-studio"));
        command.args([
            "replay".as_ref(),
            file.as_os_str(),
            "--tell".as_ref(),
            "--autosave".as_ref(),
            folder.as_os_str(),
        ]);
        workspace
            .house(&mut command)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::null());
        let mut child = command.spawn().expect("starts");
        let mut told = BufReader::new(child.stdout.take().expect("stdout")).lines();
        // Kills the process after a varying command, with a varying delay.
        let wanted = 1 + (round as usize * 7) % (lines.len() - 1);
        let mut done = 0;
        while done < wanted {
            let line = told.next().expect("a line").expect("text");
            done = line
                .strip_prefix("line ")
                .expect("a line that is done")
                .parse()
                .expect("a number");
        }
        std::thread::sleep(std::time::Duration::from_micros(round * 733 % 4000));
        child.kill().expect("is killed");
        child.wait().expect("has ended");
        // Output that arrived before the end counts as done.
        for line in told.map_while(Result::ok) {
            if let Some(number) = line
                .strip_prefix("line ")
                .and_then(|text| text.parse().ok())
            {
                done = number;
            }
        }
        let found = core::recoverable(&folder);
        // The process ended normally, or there was only one edit to lose.
        if found.is_empty() && (done == lines.len() || done < 2) {
            continue;
        }
        assert_eq!(found.len(), 1, "round {round}, {done} done");
        let restored = state_after(&[json!({"command": "restore", "path": found[0].journal})]);
        // The edit after the last reported one may have been saved; the last reported one may be
        // missing.
        let possible = done.saturating_sub(2)..(done + 1).min(states.len());
        let which = states[possible.clone()]
            .iter()
            .position(|state| state.content == restored.content);
        assert!(
            which.is_some(),
            "round {round}: none of the states {possible:?}"
        );
        seen.insert(done);
        let partial: Vec<_> = fs::read_dir(&folder)
            .expect("a folder")
            .flatten()
            .filter(|entry| {
                entry
                    .path()
                    .extension()
                    .is_some_and(|end| end == "tacostudio")
            })
            .collect();
        for project in partial {
            core::open_project(&project.path(), &taco_studio::jobs::JobContext::default())
                .expect("is whole");
        }
    }
    // The times are random and the machine may be busy: enough distinct states are needed for a
    // meaningful test.
    assert!(seen.len() > 4, "{seen:?}");
}

#[test]
fn two_windows_keep_their_drafts_apart_on_one_folder_of_autosave() {
    let workspace = Workspace::new();
    nested_scenes(&workspace, 2);
    let auto = workspace.path("auto");
    let title = |text: &str| {
        json!({
            "command": "edit",
            "edit": "set_collection",
            "key": "title",
            "value": text,
        })
    };
    let new = || {
        let mut studio = Studio::new(Jobs::quiet());
        studio.set_live_check(false);
        studio.set_autosave(Some(auto.clone()));
        studio
    };
    let run = |studio: &mut Studio, line: Json| {
        studio.run_to_end(
            serde_json::from_value(line).expect("a command"),
            &mut |_| {},
        )
    };
    let journals = || {
        let entries = fs::read_dir(&auto)
            .expect("a folder")
            .flatten()
            .map(|entry| entry.path());
        entries
            .filter(|path| path.extension().is_some_and(|end| end == "journal"))
            .count()
    };
    let project = workspace.path("draft.tacostudio");
    let (mut first, mut second) = (new(), new());
    run(
        &mut first,
        json!({"command": "import", "paths": [workspace.path("scenes")]}),
    )
    .expect("works");
    run(
        &mut first,
        json!({"command": "save_project", "path": project}),
    )
    .expect("saves");
    run(
        &mut second,
        json!({"command": "open_project", "path": project}),
    )
    .expect("opens");
    run(&mut first, title("first")).expect("works");
    run(&mut second, title("second")).expect("works");
    let end = std::time::Instant::now() + std::time::Duration::from_secs(60);
    while first.journal().is_none() || second.journal().is_none() {
        assert!(std::time::Instant::now() < end, "the drafts are not kept");
        std::thread::sleep(std::time::Duration::from_millis(10));
    }
    let live = first.journal().expect("is there");
    assert_ne!(Some(&live), second.journal().as_ref());
    assert_eq!(journals(), 2);
    // The other window takes neither the draft that is open, nor its journal, by whatever way it
    // names it.
    let mut third = new();
    for verb in ["restore", "forget"] {
        let error =
            run(&mut third, json!({"command": verb, "path": live})).expect_err("is open elsewhere");
        assert_eq!(
            error.kind(),
            taco_studio::error::Kind::Usage,
            "{verb}: {error}"
        );
        assert!(live.exists(), "{verb}");
    }
    drop((first, second));
    let found = core::recoverable(&auto);
    assert_eq!(found.len(), 2);
    for (draft, text) in found.iter().map(|draft| {
        (
            draft,
            if draft.journal == live {
                "first"
            } else {
                "second"
            },
        )
    }) {
        run(
            &mut third,
            json!({"command": "restore", "path": draft.journal}),
        )
        .expect("restores");
        assert_eq!(
            project_of(&third).content.dataset.collection.text("title"),
            text
        );
        third.forget_kept();
    }
}

#[test]
fn a_restored_draft_is_kept_on_and_can_be_undone() {
    let workspace = Workspace::new();
    nested_scenes(&workspace, 2);
    let auto = workspace.path("auto");
    let run = |studio: &mut Studio, line: Json| {
        drop(
            studio
                .run_to_end(
                    serde_json::from_value(line).expect("a command"),
                    &mut |_| {},
                )
                .expect("works"),
        )
    };
    let title = |text: &str| {
        json!({
            "command": "edit",
            "edit": "set_collection",
            "key": "title",
            "value": text,
        })
    };
    let new = || {
        let mut studio = Studio::new(Jobs::quiet());
        studio.set_live_check(false);
        studio.set_autosave(Some(auto.clone()));
        studio
    };
    let mut first = new();
    run(
        &mut first,
        json!({"command": "import", "paths": [workspace.path("scenes")]}),
    );
    run(&mut first, title("one"));
    run(&mut first, title("two"));
    assert!(
        core::recoverable(&auto).is_empty(),
        "an open draft is nobody else's"
    );
    let kept = project_of(&first);
    // As left by a killed process, with the last edit on disk.
    std::thread::sleep(std::time::Duration::from_millis(300));
    std::mem::forget(first);
    let copy = workspace.path("copy");
    fs::create_dir(&copy).expect("a folder");
    for entry in fs::read_dir(&auto).expect("a folder").flatten() {
        fs::copy(entry.path(), copy.join(entry.file_name())).expect("a copy");
    }
    let mut second = Studio::new(Jobs::quiet());
    second.set_live_check(false);
    second.set_autosave(Some(copy.clone()));
    let found = core::recoverable(&copy);
    assert_eq!(found.len(), 1);
    run(
        &mut second,
        json!({"command": "restore", "path": found[0].journal}),
    );
    assert_eq!(project_of(&second), kept);
    run(&mut second, json!({"command": "undo"}));
    run(&mut second, title("three"));
    run(&mut second, json!({"command": "undo"}));
    let now = project_of(&second);
    assert_eq!(now.content.dataset.collection.text("title"), "one");
    std::mem::forget(second);
    // This process holds the lock, so the journal is located manually.
    let journals: Vec<_> = fs::read_dir(&copy)
        .expect("a folder")
        .flatten()
        .map(|entry| entry.path())
        .filter(|path| path.extension().is_some_and(|end| end == "journal"))
        .collect();
    assert_eq!(journals.len(), 1, "{journals:?}");
    std::thread::sleep(std::time::Duration::from_millis(300));
    assert_eq!(
        state_after(&[json!({"command": "restore", "path": journals[0]})]).content,
        now.content
    );
}

#[test]
fn a_project_builds_to_the_same_bytes_and_follows_its_sources() {
    let workspace = Workspace::new();
    nested_scenes(&workspace, 3);
    let run = |lines: Json| {
        let file = workspace.write("script.json", lines.to_string());
        workspace
            .studio(["replay".as_ref(), file.as_os_str()])
            .expect_code(0);
    };
    run(json!([
        {"command": "import", "paths": ["scenes"], "metadata": "metadata.csv"},
        {"command": "import_collection", "path": "collection.json"},
        {"command": "set_recipe", "recipe": [{"extension": "stats", "target": {"level": 1}}]},
        {"command": "save_project", "path": "p/scenes.tacostudio", "view": {"panel": "Structure"}},
        {"command": "edit", "edit": "rename", "sample": [0], "id": "unsaved"},
        {
            "command": "open",
            "path": "p/scenes.tacostudio",
            "expect": {"rows": [3, 9], "collection": {"id": "test-scenes"}},
        },
    ]));
    let build = |project: &Path, output: &str, more: &[&str]| {
        let output = workspace.path(output);
        let arguments = [
            "build".as_ref(),
            project.as_os_str(),
            "-o".as_ref(),
            output.as_os_str(),
        ];
        workspace.studio(arguments.into_iter().chain(more.iter().map(AsRef::as_ref)))
    };
    let project = workspace.path("p/scenes.tacostudio");
    build(&project, "a.tacozip", &[]).expect_code(0);
    build(&project, "b.tacozip", &[]).expect_code(0);
    let first = sha256_of(&workspace.path("a.tacozip"));
    assert_eq!(first, sha256_of(&workspace.path("b.tacozip")));
    let (dataset, sources, metadata) = (
        workspace.path("a.tacozip"),
        workspace.path("scenes"),
        workspace.path("metadata.csv"),
    );
    let arguments = [
        "reader".as_ref(),
        dataset.as_os_str(),
        sources.as_os_str(),
        "--metadata".as_ref(),
        metadata.as_os_str(),
    ];
    expect_ok(workspace.python("check.py", arguments));
    build(&project, "c.tacozip", &["--recipe"]).expect_code(0);
    let ran = workspace
        .studio([
            "inspect".as_ref(),
            workspace.path("c.tacozip").as_os_str(),
            "--json".as_ref(),
        ])
        .expect_code(0);
    assert!(ran.stdout.contains("geotiff:stats"), "{ran}");
    // Project and sources are moved together.
    let away = workspace.path("away");
    fs::create_dir(&away).expect("a folder");
    for name in ["p", "scenes"] {
        fs::rename(workspace.path(name), away.join(name)).expect("moved");
    }
    let project = away.join("p/scenes.tacostudio");
    build(&project, "d.tacozip", &[]).expect_code(0);
    assert_eq!(first, sha256_of(&workspace.path("d.tacozip")));
    // Only the sources are moved.
    fs::rename(away.join("scenes"), workspace.path("elsewhere")).expect("moved");
    let ran = build(&project, "e.tacozip", &[]).expect_code(2);
    assert!(ran.stderr.contains("can't be read"), "{ran}");
    let (from, to) = (away.join("scenes"), workspace.path("elsewhere"));
    let relocate = [
        "--relocate",
        from.to_str().expect("text"),
        to.to_str().expect("text"),
    ];
    build(&project, "e.tacozip", &relocate).expect_code(0);
    assert_eq!(first, sha256_of(&workspace.path("e.tacozip")));
}

#[test]
fn fields_that_differ_within_a_level_are_refused_or_aligned() {
    let workspace = Workspace::new();
    nested_scenes(&workspace, 3);
    let place = |name: &str| workspace.path(name).display().to_string();
    let field = |at: u32, name: &str, dtype: &str, values: Json| {
        json!({"command": "edit", "edit": "add_field", "tortilla": [at], "at": 0,
            "field": {"name": name, "dtype": dtype}, "values": values})
    };
    let lines = [
        json!({"command": "import", "paths": [place("scenes")]}),
        json!({"command": "import_collection", "path": place("collection.json")}),
        field(0, "own:n", "Int64", json!([1, 2, 3])),
        field(1, "own:n", "Float64", json!([{"float": 4}, 5.5, null])),
        field(2, "own:text", "Utf8", json!(["a", "b", "c"])),
        json!({"command": "save_project", "path": place("draft.tacostudio")}),
    ];
    state_after(&lines);
    let (project, out) = (place("draft.tacostudio"), place("out.tacozip"));
    let build = |more: &[&str]| {
        workspace.studio([&["build", project.as_str(), "-o", out.as_str()][..], more].concat())
    };
    let refused = build(&[]).expect_code(2);
    assert!(
        refused.stderr.contains("own:n") && !workspace.path("out.tacozip").exists(),
        "{refused}"
    );
    let built = build(&["--schema", "align"]).expect_code(0);
    assert!(
        built
            .stderr
            .contains("Give 3 tortillas of level 1 the same fields"),
        "{built}"
    );
    workspace
        .studio(["validate", out.as_str(), "--deep"])
        .expect_code(0);
    let sql = r#"SELECT "own:n" AS n, "own:text" AS t FROM level1"#;
    let rows = workspace
        .studio(["query", out.as_str(), "--csv", "--sql", sql])
        .expect_code(0)
        .stdout;
    assert_eq!(rows, "n,t\n1.0,\n2.0,\n3.0,\n4.0,\n5.5,\n,\n,a\n,b\n,c\n");
    // Aligned datasets are accepted too.
    let alike = place("alike.tacostudio");
    state_after(&[
        lines[0].clone(),
        lines[1].clone(),
        json!({"command": "save_project", "path": alike}),
    ]);
    workspace
        .studio([
            "build",
            alike.as_str(),
            "-o",
            place("alike").as_str(),
            "--schema",
            "align",
        ])
        .expect_code(0);
}

/// The draft of a studio that runs these commands.
fn studio_after(lines: &[Json]) -> Studio {
    let mut studio = Studio::new(Jobs::quiet());
    studio.set_live_check(false);
    lines
        .iter()
        .for_each(|line| run_line(&mut studio, line).expect("works"));
    studio
}

fn run_line(studio: &mut Studio, line: &Json) -> taco_studio::error::Result<()> {
    studio
        .run_to_end(
            serde_json::from_value(line.clone()).expect("a command"),
            &mut |_| {},
        )
        .map(drop)
}

#[test]
fn a_project_that_another_program_changed_is_replaced_only_when_that_is_asked_for() {
    let workspace = Workspace::new();
    let path = workspace.path("a.tacostudio");
    let title = |text: &str| {
        json!({
            "command": "edit",
            "edit": "set_collection",
            "key": "title",
            "value": text,
        })
    };
    let save = json!({"command": "save_project", "path": path});
    let open = json!({"command": "open_project", "path": path});
    let title_there = || {
        let project =
            core::open_project(&path, &taco_studio::jobs::JobContext::default()).expect("opens");
        project.content.dataset.collection.text("title").to_owned()
    };
    drop(studio_after(&[
        json!({"command": "new"}),
        title("first"),
        save.clone(),
    ]));
    let auto = workspace.path("auto");
    let mut mine = Studio::new(Jobs::quiet());
    mine.set_live_check(false);
    mine.set_autosave(Some(auto.clone()));
    for line in [&open, &title("mine")] {
        run_line(&mut mine, line).expect("works");
    }
    // The same length: only the title differs.
    drop(studio_after(&[open.clone(), title("them"), save.clone()]));
    for line in [
        &save,
        &json!({"command": "save_project"}),
        &json!({"command": "save_project", "path": path, "overwrite": false}),
    ] {
        let error = run_line(&mut mine, line).expect_err("is refused");
        assert_eq!(error.kind(), taco_studio::error::Kind::Changed, "{error}");
        assert_eq!(title_there(), "them");
    }
    // An autosaved draft also knows the former version of the file.
    drop(mine);
    let found = core::recoverable(&auto);
    assert_eq!(found.len(), 1);
    let mut restored = studio_after(&[json!({"command": "restore", "path": found[0].journal})]);
    assert_eq!(
        run_line(&mut restored, &save)
            .expect_err("is refused")
            .kind(),
        taco_studio::error::Kind::Changed
    );
    run_line(
        &mut restored,
        &json!({"command": "save_project", "overwrite": true}),
    )
    .expect("was asked for");
    assert_eq!(title_there(), "mine");
    // A saved file is the draft's own; a deleted file loses nothing; another name is free.
    run_line(&mut restored, &title("more")).expect("works");
    run_line(&mut restored, &save).expect("saves");
    fs::remove_file(&path).expect("removed");
    run_line(&mut restored, &save).expect("saves");
    let other = workspace.path("b.tacostudio");
    run_line(
        &mut restored,
        &json!({"command": "save_project", "path": other, "overwrite": false}),
    )
    .expect("saves");
    let error = run_line(
        &mut restored,
        &json!({"command": "save_project", "path": path, "overwrite": false}),
    )
    .expect_err("is there");
    assert_eq!(error.kind(), taco_studio::error::Kind::Changed);
    // Two simultaneous saves are serialized.
    let started = [1, 2].map(|number| {
        run_line(&mut restored, &title(&format!("number {number}"))).expect("works");
        match restored
            .run(serde_json::from_value(json!({"command": "save_project"})).expect("a command"))
            .expect("starts")
        {
            core::Outcome::Started(job) => job,
            core::Outcome::Done(_) => panic!("is a job"),
        }
    });
    for job in started {
        restored.wait(job, &mut |_| {}).expect("saves");
    }
}
