//! Watched folders and programs of a project, and what links name, only after the user agrees.

use egui_kittest::kittest::Queryable;
use serde_json::json;
use taco_studio::gui::Pane;
use taco_studio::jobs::Jobs;
use taco_studio::model::{SamplePath, StudioLink};
use taco_studio::studio::{Command, Studio};

use super::support::{app, click, copied, document, scenes, settle, take};
#[cfg(unix)]
use super::support::{fill, picture};

#[test]
fn the_folders_that_a_project_watches_are_asked_about_first() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let (watched, project) = (
        folder.path().join("inbox"),
        folder.path().join("theirs.tacostudio"),
    );
    std::fs::create_dir(&watched).expect("a folder");
    let mut studio = Studio::new(Jobs::quiet());
    let mut run = |command| studio.run_to_end(command, &mut |_| {}).expect("works");
    run(Command::Import {
        paths: scenes().into_iter().take(2).collect(),
        into: Default::default(),
        metadata: None,
    });
    let view = json!({ "level": 0, "watched": [watched] });
    run(Command::SaveProject {
        path: Some(project.clone()),
        view: Some(view),
        overwrite: None,
    });
    // Without a window, no folder is watched.
    run(Command::OpenProject {
        path: project.clone(),
    });
    assert_eq!(studio.watched_folders().len(), 0);

    let mut window = app(egui::Theme::Light);
    take(&mut window, vec![project.clone()]);
    window.get_by_label("Watch these folders?");
    window.get_by_label_contains("inbox");
    assert_eq!(window.state().studio().watched_folders().len(), 0);
    click(&mut window, "Do not watch");
    assert_eq!(window.state().studio().watched_folders().len(), 0);
    take(&mut window, vec![project]);
    click(&mut window, "Watch");
    assert_eq!(window.state().studio().watched_folders().len(), 1);
}

#[cfg(unix)]
#[test]
fn the_programs_of_a_recipe_are_listed_and_start_with_a_click() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let started = folder.path().join("started");
    let program = format!(
        "touch '{}'; while read -r line; do echo '{{\"own:n\": 1}}'; done",
        started.display()
    );
    let calls = json!([{ "extension": "command", "target": { "level": 1 },
        "options": { "command": ["sh", "-c", program], "fields": { "own:n": "int64" },
            "batch": 100 } }]);
    let mut window = app(egui::Theme::Light);
    take(&mut window, scenes());
    window.state_mut().command(Command::SetRecipe {
        recipe: serde_json::from_value(calls).expect("calls"),
    });
    window.state_mut().command(Command::RunRecipe);
    settle(&mut window);
    window.get_by_label("Start a program of this computer?");
    window.get_by_label_contains("\"sh\" \"-c\" \"touch");
    click(&mut window, "Do not start it");
    assert!(!started.exists());
    window.state_mut().command(Command::RunRecipe);
    settle(&mut window);
    assert!(!started.exists());
    click(&mut window, "Start it");
    assert!(started.exists());
    // The user is not asked again.
    std::fs::remove_file(&started).expect("removes");
    window.state_mut().command(Command::RunRecipe);
    settle(&mut window);
    assert!(started.exists());
}

#[cfg(unix)]
#[test]
fn an_own_program_is_tried_on_one_sample_before_it_runs_on_all() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let (calls, program) = (
        folder.path().join("calls"),
        folder.path().join("program.sh"),
    );
    let answer = r#"{"own:n": 41}"#;
    std::fs::write(
        &program,
        format!("tee -a '{}' | sed 's/.*/{answer}/'\n", calls.display()),
    )
    .expect("writes");
    let mut window = app(egui::Theme::Light);
    take(&mut window, scenes().into_iter().take(3).collect());
    window
        .state_mut()
        .show_pane(taco_studio::gui::Pane::Extensions);
    settle(&mut window);
    click(&mut window, "Run Own program");
    fill(
        &mut window,
        "command of Own program",
        &format!("sh {}", program.display()),
    );
    fill(
        &mut window,
        "fields of Own program",
        "{\"own:n\": \"int64\"}",
    );
    assert!(!calls.exists(), "nothing starts before somebody agrees");
    picture(&mut window, "program-not-tried-light");
    click(&mut window, "Try one sample…");
    window.get_by_label("Start a program of this computer?");
    click(&mut window, "Start it");
    let asked = std::fs::read_to_string(&calls).expect("the program was started");
    assert_eq!(asked.lines().count(), 1, "one sample: {asked}");
    let answer = window
        .query_all_by_label_contains("Column own:n of level 1: 41")
        .next();
    assert!(answer.is_some(), "its answer is the example");
    assert!(window.query_by_label("Try one sample…").is_none());
    picture(&mut window, "program-tried-light");
}

/// A link may come from any page: nothing is opened before the user agrees, then its sample is
/// shown. The window copies the same link.
#[test]
fn a_link_opens_its_dataset_and_sample_once_the_user_agrees() {
    let set =
        crate::support::project_folder().join("tests/fixtures/golden/04_nested2_folder/change");
    let link = StudioLink {
        dataset: set,
        sample: Some(SamplePath::parse("scene_04/after.tif")),
    }
    .to_string();
    let mut harness = app(egui::Theme::Dark);
    take(&mut harness, vec![link.clone().into()]);
    assert!(harness.state().studio().document().is_none());
    assert!(harness.query_by_label("Open what a link names?").is_some());
    click(&mut harness, "Do not open it");
    assert!(harness.state().studio().document().is_none());
    take(&mut harness, vec![link.clone().into()]);
    click(&mut harness, "Open it");
    settle(&mut harness);
    let at = harness
        .state()
        .selected_sample()
        .expect("a sample is selected");
    assert_eq!(document(&harness).id(at), Some("after.tif"));
    harness.state_mut().show_pane(Pane::Sample);
    settle(&mut harness);
    assert_eq!(copied(&mut harness, "Link"), Some(link));

    // A relative path would be another file in every folder.
    take(&mut harness, vec!["taco-studio://open?path=change".into()]);
    assert!(harness.query_by_label("Open what a link names?").is_none());
    assert_eq!(document(&harness).id(at), Some("after.tif"));
}
