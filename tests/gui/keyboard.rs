//! From the welcome screen to a dataset that is written and opened again, with the keyboard only.

use egui::accesskit::Role;
use egui::{Key, Modifiers};
use egui_kittest::kittest::{NodeT, Queryable};

use super::support::{Window, app, dataset, document, scenes, settle};

fn press(harness: &mut Window, modifiers: Modifiers, key: Key) {
    harness.key_press_modifiers(modifiers, key);
    settle(harness);
}

fn type_text(harness: &mut Window, text: &str) {
    harness.event(egui::Event::Text(text.to_owned()));
    settle(harness);
}

/// Label of the focused widget.
fn focused(harness: &Window) -> Option<String> {
    let node = harness.query_all_by(|node| node.is_focused()).next()?;
    node.accesskit_node().label()
}

/// Presses Tab until the widget with this label has the focus.
fn tab_to(harness: &mut Window, label: &str) {
    let mut seen = Vec::new();
    for _ in 0..400 {
        if focused(harness).is_some_and(|name| name == label) {
            return;
        }
        press(harness, Modifiers::NONE, Key::Tab);
        seen.extend(focused(harness));
    }
    seen.dedup();
    panic!("Tab does not reach {label}: {seen:?}");
}

/// Replaces the text of the focused field.
fn replace(harness: &mut Window, text: &str) {
    press(harness, Modifiers::COMMAND, Key::A);
    type_text(harness, text);
}

#[test]
fn everything_can_be_done_without_a_pointer() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let source = folder.path().join("scenes");
    for scene in scenes().into_iter().take(6) {
        let to = source.join(scene.file_name().expect("a name"));
        std::fs::create_dir_all(&to).expect("a folder");
        for file in std::fs::read_dir(&scene).expect("files").map(|entry| entry.expect("a file").path()) {
            std::fs::copy(&file, to.join(file.file_name().expect("a name"))).expect("copies");
        }
    }
    let mut names: Vec<_> = std::fs::read_dir(&source).expect("scenes").map(|entry| entry.expect("one").path()).collect();
    names.sort();
    std::fs::remove_file(names[1].join("after.tif")).expect("lost");
    std::fs::remove_file(names[3].join("before.tif")).expect("lost");
    std::fs::rename(names[4].join("label.tif"), names[4].join("lable.tif")).expect("misnamed");

    let mut harness = app(egui::Theme::Dark);
    press(&mut harness, Modifiers::COMMAND | Modifiers::SHIFT, Key::O);
    type_text(&mut harness, &source.display().to_string());
    press(&mut harness, Modifiers::NONE, Key::Enter);
    assert_eq!(document(&harness).rows(1), 16);
    let broken = |harness: &Window| {
        let report = harness.state().studio().report().clone();
        report.findings.iter().filter(|finding| finding.rule.code() == "PIT-1").count()
    };
    assert_eq!(broken(&harness), 3);

    // One problem with its first fix, the others together.
    while harness.query_by_label("Missing child").is_none() && harness.query_by_label("Wrong id").is_none() {
        press(&mut harness, Modifiers::NONE, Key::F8);
    }
    press(&mut harness, Modifiers::COMMAND, Key::Period);
    assert_eq!(broken(&harness), 2);
    press(&mut harness, Modifiers::COMMAND | Modifiers::SHIFT, Key::Period);
    assert_eq!((broken(&harness), document(&harness).rows(1)), (0, 18));

    press(&mut harness, Modifiers::COMMAND, Key::Num7);
    for extension in ["Run STAC", "Run Statistics"] {
        tab_to(&mut harness, extension);
        press(&mut harness, Modifiers::NONE, Key::Space);
    }
    tab_to(&mut harness, "Run extensions");
    press(&mut harness, Modifiers::NONE, Key::Enter);
    assert!(document(&harness).fields(1).iter().any(|field| field.name == "stac:crs"), "the columns are there");

    for (field, text) in
        [("id", "by-keyboard"), ("description", "Made without a pointer"), ("licenses", "CC-BY-4.0"), ("tasks", "segm")]
    {
        // The next problem focuses the incomplete field.
        let mut steps = 0;
        while focused(&harness).is_none_or(|name| name != field) {
            press(&mut harness, Modifiers::NONE, Key::F8);
            steps += 1;
            assert!(steps < 20, "F8 does not lead to {field} but to {:?}", focused(&harness));
        }
        type_text(&mut harness, text);
        if matches!(field, "licenses" | "tasks") {
            press(&mut harness, Modifiers::NONE, Key::Enter);
        }
    }
    tab_to(&mut harness, "Add provider");
    press(&mut harness, Modifiers::NONE, Key::Enter);
    type_text(&mut harness, "A mapping group");
    let report = harness.state().studio().report().clone();
    assert!(report.is_valid(), "{:?}", report.findings);

    let out = folder.path().join("out");
    press(&mut harness, Modifiers::COMMAND, Key::E);
    tab_to(&mut harness, "ZIP parts and TACOCAT");
    press(&mut harness, Modifiers::NONE, Key::Space);
    tab_to(&mut harness, "Destination");
    replace(&mut harness, &out.display().to_string());
    press(&mut harness, Modifiers::COMMAND, Key::Enter);
    assert!(out.join(".tacocat").is_dir(), "written");
    let samples = dataset(&harness).root.samples.len();
    assert!(harness.query_by_label("Written and verified").is_some());
    press(&mut harness, Modifiers::COMMAND, Key::Enter);
    assert!(document(&harness).opened().is_some());
    assert_eq!((document(&harness).rows(0), document(&harness).title().as_ref()), (samples, "by-keyboard"));
    assert!(harness.query_by_role_and_label(Role::Tree, "Samples").is_some());
}
