//! The dialog that publishes a dataset: nothing is sent before the checks pass, a finding is
//! accepted by name, and what was published is not published again.

use egui_kittest::kittest::{NodeT, Queryable};
use taco_studio::gui::action::Action;

use super::support::{Window, app, click, fill, picture, sample, settle, take};
use crate::support::{Workspace, files_below};

fn is_blocked(harness: &Window) -> bool {
    harness
        .get_by_label("Publish now")
        .accesskit_node()
        .is_disabled()
}

#[test]
fn a_dataset_is_checked_and_published_from_the_dialog() {
    for (theme, name) in [(egui::Theme::Dark, "dark"), (egui::Theme::Light, "light")] {
        let workspace = Workspace::new();
        let input = workspace.path("private.tacozip");
        let arguments = [
            "edit".as_ref(),
            sample().as_os_str().to_owned().as_os_str(),
            "-o".as_ref(),
            input.as_os_str(),
        ]
        .map(ToOwned::to_owned);
        let more =
            ["--set", "rai:source=copied from /home/u017/acquired"].map(std::ffi::OsString::from);
        workspace
            .studio(arguments.into_iter().chain(more))
            .expect_code(0);
        let mut harness = app(theme);
        take(&mut harness, vec![input]);
        harness.state_mut().act(Action::Publish);
        settle(&mut harness);
        assert!(is_blocked(&harness), "there is no target");
        let target = workspace.path("public/1.0.0");
        fill(
            &mut harness,
            "Address of the publication",
            &target.display().to_string(),
        );
        assert!(is_blocked(&harness), "nothing was checked");
        click(&mut harness, "Check before publishing");
        assert!(is_blocked(&harness), "a field shows a path");
        assert!(
            harness
                .query_all_by_label_contains("rai:source shows folders of a machine")
                .count()
                == 2
        );
        picture(&mut harness, &format!("publish-blocked-{name}"));
        assert!(!target.exists(), "checks write nothing");
        click(&mut harness, "Publish all the same: paths");
        assert!(!is_blocked(&harness));
        // Another target was not checked.
        fill(
            &mut harness,
            "Address of the publication",
            &workspace.path("elsewhere").display().to_string(),
        );
        assert!(is_blocked(&harness));
        fill(
            &mut harness,
            "Address of the publication",
            &target.display().to_string(),
        );
        assert!(!is_blocked(&harness));
        assert!(
            harness.query_by_label_contains("--accept paths").is_some(),
            "the same from the command line"
        );
        picture(&mut harness, &format!("publish-{name}"));
        click(&mut harness, "Publish now");
        let names = files_below(&target);
        assert!(
            ["private.tacozip", "README.md", "croissant.json"]
                .iter()
                .all(|own| names.iter().any(|name| name == own)),
            "{names:?}"
        );
        assert!(
            harness
                .query_by_label_contains("Opened from there")
                .is_some()
        );
        assert!(harness.query_by_label("Copy snippet").is_some());
        picture(&mut harness, &format!("publish-done-{name}"));
        click(&mut harness, "Done");
        harness.state_mut().act(Action::Publish);
        settle(&mut harness);
        fill(
            &mut harness,
            "Address of the publication",
            &target.display().to_string(),
        );
        click(&mut harness, "Check before publishing");
        click(&mut harness, "Publish all the same: paths");
        assert!(is_blocked(&harness), "the version was published there");
        click(&mut harness, "Replace the earlier publication");
        assert!(is_blocked(&harness), "that was not checked");
        // Files for a host are made here.
        click(&mut harness, "Hugging Face");
        fill(&mut harness, "Repository", "survey/scenes");
        fill(
            &mut harness,
            "Address of the publication",
            &workspace.path("hub").display().to_string(),
        );
        click(&mut harness, "Check before publishing");
        click(&mut harness, "Publish now");
        assert!(workspace.path("hub/README.md").is_file());
        assert!(
            harness
                .query_by_label_contains("hf upload survey/scenes")
                .is_some()
        );
        picture(&mut harness, &format!("publish-hub-{name}"));
    }
}
