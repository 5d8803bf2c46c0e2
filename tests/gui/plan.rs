//! The plan panels: a plan is written from the draft, its parts are submitted, and what other
//! processes do with them is followed.

use std::path::Path;
use std::process::Command as Process;

use egui_kittest::kittest::Queryable;
use taco_studio::gui::Pane;
use taco_studio::gui::action::Action;
use taco_studio::studio::Command;

use super::support::{Window, app, click, fill, picture, sample, settle, take};

/// Builds a part with the program, as a worker on another machine would.
fn run_part(plan: &Path, part: u32) -> bool {
    let mut command = Process::new(env!("CARGO_BIN_EXE_taco-studio"));
    command
        .args(["--quiet", "plan", "run"])
        .arg(plan)
        .args(["--part", &part.to_string()]);
    command.output().expect("starts").status.success()
}

/// The window with a draft of the sample dataset and the plan in front, with this folder named.
fn with_draft(theme: egui::Theme, folder: &Path) -> Window {
    let mut harness = app(theme);
    take(&mut harness, vec![sample()]);
    harness.state_mut().command(Command::Fork);
    settle(&mut harness);
    assert!(
        harness.query_by_label("Folder of the plan").is_none(),
        "the engine is shown with the plan alone"
    );
    harness.state_mut().act(Action::ShowPlan);
    settle(&mut harness);
    assert!(harness.query_by_label("No plan is open").is_some());
    fill(
        &mut harness,
        "Folder of the plan",
        &folder.display().to_string(),
    );
    harness
}

#[test]
fn a_plan_is_written_from_the_draft_and_its_parts_are_followed() {
    for (theme, name) in [(egui::Theme::Dark, "dark"), (egui::Theme::Light, "light")] {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let plan = folder.path().join("plan");
        let mut harness = with_draft(theme, &plan);
        fill(&mut harness, "Parts", "many");
        click(&mut harness, "Write plan");
        assert!(!plan.exists(), "the number of parts is not a number");
        fill(&mut harness, "Parts", "3");
        click(&mut harness, "Slurm");
        settle(&mut harness);
        picture(&mut harness, &format!("plan-form-{name}"));
        click(&mut harness, "This machine");
        click(&mut harness, "Write plan");
        assert!(plan.join("plan.json").exists());
        assert!(harness.query_by_label_contains("in 3 parts").is_some());
        assert!(harness.query_by_label("Part 3: waiting").is_some());
        assert!(harness.query_by_label("Show in folder").is_some());
        // Other processes build one part, and fail with another.
        assert!(run_part(&plan, 1));
        let second = std::fs::read(plan.join("parts/part0002.part")).expect("is there");
        std::fs::write(plan.join("parts/part0002.part"), "damaged").expect("writes");
        assert!(!run_part(&plan, 2));
        click(&mut harness, "Read the state again");
        assert!(harness.query_by_label("Part 1: written").is_some());
        click(&mut harness, "Part 2: failed");
        let reasons = harness
            .query_all_by_label_contains("is not the one that was planned")
            .count();
        assert_eq!(
            reasons, 2,
            "the reason is shown, and again beside its attempt"
        );
        assert!(harness.query_by_label("Submit missing parts: 2").is_some());
        picture(&mut harness, &format!("plan-{name}"));
        // The part is whole again: it is built here, and the rest on this machine, which ends the
        // plan.
        std::fs::write(plan.join("parts/part0002.part"), second).expect("writes");
        click(&mut harness, "Run here");
        assert!(harness.query_by_label("Part 2: written").is_some());
        fill(&mut harness, "Program", env!("CARGO_BIN_EXE_taco-studio"));
        click(&mut harness, "Submit missing parts: 1");
        assert!(harness.query_by_label("Part 3: written").is_some());
        assert!(plan.join("finished.json").exists());
        click(&mut harness, "By host");
        assert!(harness.query_by_label("Part 1: written").is_some());
        assert!(harness.query_by_label("Open the dataset").is_some());
        picture(&mut harness, &format!("plan-done-{name}"));
        // A plan is shown without a dataset, too.
        harness.state_mut().command(Command::New);
        settle(&mut harness);
        harness.state_mut().act(Action::ShowPlan);
        settle(&mut harness);
        assert!(harness.query_by_label("Part 3: written").is_some());
        harness.state_mut().show_pane(Pane::Table);
        settle(&mut harness);
        assert!(
            harness.query_by_label("Folder of the plan").is_none(),
            "the engine leaves with the plan"
        );
    }
}
