//! From the welcome screen to a dataset that is written and opened again, with the keyboard only:
//! as simple as can be, and a curator's whole task with counted keys.

use egui::accesskit::Role;
use egui::{Key, Modifiers};
use egui_kittest::kittest::{NodeT, Queryable};

use super::support::{Window, app, dataset, document, picture, scenes, settle};
use crate::curator;
use crate::support::Workspace;

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
        for file in std::fs::read_dir(&scene)
            .expect("files")
            .map(|entry| entry.expect("a file").path())
        {
            std::fs::copy(&file, to.join(file.file_name().expect("a name"))).expect("copies");
        }
    }
    let mut names: Vec<_> = std::fs::read_dir(&source)
        .expect("scenes")
        .map(|entry| entry.expect("one").path())
        .collect();
    names.sort();
    std::fs::remove_file(names[1].join("after.tif")).expect("lost");
    std::fs::remove_file(names[3].join("before.tif")).expect("lost");
    std::fs::rename(names[4].join("label.tif"), names[4].join("lable.tif")).expect("misnamed");

    let mut harness = app(egui::Theme::Dark);
    press(&mut harness, Modifiers::COMMAND | Modifiers::SHIFT, Key::O);
    type_text(&mut harness, &source.display().to_string());
    press(&mut harness, Modifiers::NONE, Key::Enter);
    assert_eq!(document(&harness).rows(1), 34);
    let broken = |harness: &Window| {
        let report = harness.state().studio().report().clone();
        report
            .findings
            .iter()
            .filter(|finding| finding.rule.code() == "PIT-1")
            .count()
    };
    assert_eq!(broken(&harness), 3);

    // One problem with its first fix, the others together.
    while harness.query_by_label("Missing child").is_none()
        && harness.query_by_label("Wrong id").is_none()
    {
        press(&mut harness, Modifiers::NONE, Key::F8);
    }
    press(&mut harness, Modifiers::COMMAND, Key::Period);
    assert_eq!(broken(&harness), 2);
    press(
        &mut harness,
        Modifiers::COMMAND | Modifiers::SHIFT,
        Key::Period,
    );
    assert_eq!((broken(&harness), document(&harness).rows(1)), (0, 36));

    press(&mut harness, Modifiers::COMMAND, Key::Num7);
    for extension in ["Run STAC", "Run Statistics"] {
        tab_to(&mut harness, extension);
        press(&mut harness, Modifiers::NONE, Key::Space);
    }
    tab_to(&mut harness, "Run extensions");
    press(&mut harness, Modifiers::NONE, Key::Enter);
    assert!(
        document(&harness)
            .fields(1)
            .iter()
            .any(|field| field.name == "stac:crs"),
        "the columns are there"
    );

    for (field, text) in [
        ("id", "by-keyboard"),
        ("description", "Made without a pointer"),
        ("licenses", "CC-BY-4.0"),
        ("tasks", "segm"),
    ] {
        // The next problem focuses the incomplete field.
        let mut steps = 0;
        while focused(&harness).is_none_or(|name| name != field) {
            press(&mut harness, Modifiers::NONE, Key::F8);
            steps += 1;
            assert!(
                steps < 20,
                "F8 does not lead to {field} but to {:?}",
                focused(&harness)
            );
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
    assert!(document(&harness).opened_dataset().is_some());
    assert_eq!(
        (
            document(&harness).rows(0),
            document(&harness).title().as_ref()
        ),
        (samples, "by-keyboard")
    );
    assert!(
        harness
            .query_by_role_and_label(Role::Tree, "Samples")
            .is_some()
    );
}

/// The window with the number of keys that were pressed. Text is typed where the caret is and does
/// not count, as in scripts.
struct Keyboard {
    window: Window,
    keys: usize,
}

impl Keyboard {
    fn press(&mut self, modifiers: Modifiers, key: Key) {
        press(&mut self.window, modifiers, key);
        self.keys += 1;
    }

    fn enter(&mut self) {
        self.press(Modifiers::NONE, Key::Enter);
    }

    fn text(&mut self, text: &str) {
        type_text(&mut self.window, text);
    }

    /// Runs what the palette finds first.
    fn palette(&mut self, words: &str) {
        self.press(Modifiers::COMMAND, Key::K);
        self.text(words);
        self.enter();
    }

    /// Goes to the next problem until `there` is true.
    fn next_problem(&mut self, what: &str, there: impl Fn(&Window) -> bool) {
        for _ in 0..8 {
            self.press(Modifiers::NONE, Key::F8);
            if there(&self.window) {
                return;
            }
        }
        let report = self.window.state().studio().report().clone();
        let left: Vec<String> = report
            .findings
            .iter()
            .map(|finding| format!("{} {}", finding.rule, finding.at))
            .collect();
        panic!(
            "F8 does not lead to {what} but to {:?}: {left:#?}",
            focused(&self.window)
        );
    }
}

/// A messy folder becomes a dataset that passes every check.
fn curate(scenes: usize) -> usize {
    let workspace = Workspace::new();
    curator::messy(&workspace, scenes);
    let mut keyboard = Keyboard {
        window: app(egui::Theme::Dark),
        keys: 0,
    };

    keyboard.press(Modifiers::COMMAND | Modifiers::SHIFT, Key::O);
    keyboard.text(&workspace.path("messy").display().to_string());
    keyboard.enter();
    assert_eq!(document(&keyboard.window).rows(0), scenes);

    // The misnamed labels, all at once after a look at what changes; then all that needs no
    // judgement.
    keyboard.next_problem("a root", |window| {
        window.state().studio().report().findings.len() > 1
    });
    keyboard.press(Modifiers::COMMAND | Modifiers::ALT, Key::Period);
    picture(&mut keyboard.window, "keyboard-1-renames");
    let shown = keyboard
        .window
        .query_all_by_label_contains("Label_FINAL.TIF → label.tif")
        .next()
        .is_some();
    assert!(shown, "the change is shown before");
    keyboard.enter();
    keyboard.press(Modifiers::COMMAND | Modifiers::SHIFT, Key::Period);
    let report = keyboard.window.state().studio().report().clone();
    assert!(
        !report
            .findings
            .iter()
            .any(|finding| finding.rule.code() == "PIT-1"),
        "{:?}",
        report.findings
    );

    keyboard.palette("join scenes");
    picture(&mut keyboard.window, "keyboard-2-join");
    keyboard.enter();
    assert!(
        document(&keyboard.window)
            .fields(0)
            .iter()
            .any(|field| field.name == "clouds"),
        "the table is joined"
    );

    for (field, text, entered) in [
        ("id", "bahamas", false),
        ("description", "Islands before and after a storm.", false),
        ("licenses", "CC-BY-4.0", true),
        ("tasks", "classif", true),
    ] {
        keyboard.next_problem(field, |window| {
            focused(window).is_some_and(|name| name == field)
        });
        keyboard.text(text);
        if entered {
            keyboard.enter();
        }
    }
    keyboard.next_problem("providers", |window| {
        focused(window).is_some_and(|name| name == "Add provider")
    });
    keyboard.enter();
    keyboard.text("Tests");
    keyboard.next_problem("keywords", |window| {
        focused(window).is_some_and(|name| name == "keywords")
    });
    keyboard.text("storms");
    keyboard.enter();
    picture(&mut keyboard.window, "keyboard-3-collection");

    keyboard.palette("coordinate system shape");
    keyboard.palette("exact statistics");
    keyboard.press(Modifiers::NONE, Key::F5);
    picture(&mut keyboard.window, "keyboard-4-extensions");
    let names: Vec<String> = document(&keyboard.window)
        .fields(1)
        .into_iter()
        .map(|field| field.name)
        .collect();
    assert!(
        ["stac:crs", "geotiff:stats"]
            .iter()
            .all(|wanted| names.iter().any(|name| name == wanted)),
        "{names:?}"
    );

    keyboard.press(Modifiers::COMMAND, Key::E);
    keyboard.press(Modifiers::COMMAND, Key::Enter);
    assert!(
        keyboard
            .window
            .query_by_label("Written and verified")
            .is_some()
    );
    keyboard.press(Modifiers::COMMAND, Key::Enter);
    keyboard.press(Modifiers::SHIFT, Key::F7);
    assert!(document(&keyboard.window).opened_dataset().is_some());
    let report = keyboard.window.state().studio().report().clone();
    assert!(report.findings.is_empty(), "{:?}", report.findings);
    curator::check(&workspace, scenes);
    keyboard.keys
}

#[test]
fn a_messy_folder_becomes_a_sound_dataset_by_keys_alone() {
    let keys = curate(13);
    println!("{keys} keys");
    assert!(keys < curator::MOST, "{keys} keys");
}

#[test]
#[ignore = "takes minutes: a hundred times as many scenes"]
fn thirteen_hundred_messy_scenes_take_no_more_keys() {
    let keys = curate(1300);
    println!("{keys} keys");
    assert!(keys < curator::MOST, "{keys} keys");
}
