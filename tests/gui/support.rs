//! The application in a test harness, with waits for its jobs.

use std::path::{Path, PathBuf};
use std::sync::OnceLock;
use std::time::{Duration, Instant};

use egui_kittest::Harness;
use egui_kittest::kittest::Queryable;
use taco_studio::draft::Edit;
use taco_studio::gui::App;
use taco_studio::gui::action::Action;
use taco_studio::jobs::{JobContext, Jobs};
use taco_studio::model::{Dataset, NodePath};
use taco_studio::studio::{Command, Document, Studio};

use crate::support::{sheet_size, sheet_theme};

/// Longer than any step on a busy machine.
const PATIENCE: Duration = Duration::from_secs(120);

/// The window in a test.
pub type Window = Harness<'static, App>;

/// The application on an empty studio, 1440 × 900 points or [`sheet_size`].
pub fn app(theme: egui::Theme) -> Window {
    let (width, height) = sheet_size().unwrap_or((1440, 900));
    let theme = match sheet_theme().as_deref() {
        Some("light") => egui::Theme::Light,
        Some(_) => egui::Theme::Dark,
        None => theme,
    };
    let mut harness = Harness::builder()
        .with_size(egui::vec2(width as f32, height as f32))
        .with_render_cursor(false)
        .with_max_steps(64)
        .build_eframe(|creation| App::for_test(&creation.egui_ctx, Studio::new(Jobs::quiet())));
    settle(&mut harness);
    // Without a stored setting the theme is the desktop's; a harness has none, which means dark.
    if theme == egui::Theme::Light {
        harness.state_mut().act(Action::ToggleTheme);
        settle(&mut harness);
    }
    harness
}

/// Runs frames until no work is pending.
pub fn settle(harness: &mut Window) {
    let end = Instant::now() + PATIENCE;
    let mut calm = 0;
    // A frame may open a dialog without pending work, and the first frame of a dialog only measures
    // it.
    while calm < 5 {
        assert!(Instant::now() < end, "the studio did not come to rest");
        harness.step();
        if harness.state().is_busy() {
            calm = 0;
            std::thread::sleep(Duration::from_millis(5));
        } else {
            calm += 1;
        }
    }
}

/// Clicks the widget with this label, and waits for the result.
pub fn click(harness: &mut Window, label: &str) {
    harness.get_by_label(label).scroll_to_me();
    harness.run_steps(8);
    harness.get_by_label(label).click();
    settle(harness);
}

/// Leaves the tabs of the bottom panels only.
pub fn fold_bottom(harness: &mut Window) {
    if !harness.state().is_bottom_folded() {
        harness
            .state_mut()
            .act(taco_studio::gui::action::Action::ToggleBottom);
    }
    settle(harness);
}

/// Clicks the widget with this label, and returns the text that it copies.
pub fn copied(harness: &mut Window, label: &str) -> Option<String> {
    harness.get_by_label(label).click();
    let mut copied = None;
    for _ in 0..4 {
        harness.step();
        for command in &harness.output().platform_output.commands {
            if let egui::OutputCommand::CopyText(text) = command {
                copied = Some(text.clone());
            }
        }
    }
    settle(harness);
    copied
}

/// Selects an option: a button in a row, or an entry of the drop-down with this name where space is
/// limited.
pub fn choose(harness: &mut Window, name: &str, option: &str) {
    use egui::accesskit::Role;
    if harness
        .query_by_role_and_label(Role::ComboBox, name)
        .is_some()
    {
        harness.get_by_role_and_label(Role::ComboBox, name).click();
        settle(harness);
        harness
            .get_by_role_and_label(Role::ListBoxOption, option)
            .click();
    } else {
        harness
            .get_by_role_and_label(Role::RadioButton, option)
            .click();
    }
    settle(harness);
}

/// Replaces the text of the field with this label.
pub fn fill(harness: &mut Window, label: &str, text: &str) {
    use egui::{Key, Modifiers, accesskit::Role};
    let field = |harness: &Window| {
        harness
            .query_by_role_and_label(Role::TextInput, label)
            .is_some()
    };
    let role = if field(harness) {
        Role::TextInput
    } else {
        Role::MultilineTextInput
    };
    harness.get_by_role_and_label(role, label).focus();
    harness.get_by_role_and_label(role, label).scroll_to_me();
    harness.run_steps(8);
    harness.key_press_modifiers(Modifiers::COMMAND, Key::A);
    harness.step();
    harness.get_by_role_and_label(role, label).type_text(text);
    harness.step();
    settle(harness);
}

/// Opens or imports paths, as a drop does.
pub fn take(harness: &mut Window, paths: Vec<PathBuf>) {
    harness.state_mut().open_paths(paths);
    settle(harness);
}

/// Makes a draft of the opened dataset, with two faults.
pub fn fork_with_faults(harness: &mut Window) {
    harness.state_mut().act(Action::EditCopy);
    settle(harness);
    let edits = [
        Edit::Rename {
            sample: NodePath(vec![2, 2]),
            id: "label_v2.tif".into(),
        },
        Edit::Remove {
            parent: NodePath(vec![5]),
            at: 1,
            count: 1,
        },
    ];
    for edit in edits {
        harness.state_mut().command(Command::Edit { edit });
        settle(harness);
    }
}

/// The open document.
pub fn document(harness: &Window) -> &Document {
    harness
        .state()
        .studio()
        .document()
        .expect("a document is open")
}

/// The draft's dataset.
pub fn dataset(harness: &Window) -> &Dataset {
    document(harness)
        .draft()
        .expect("a draft is open")
        .dataset()
}

/// The sample dataset, created once.
pub fn sample() -> PathBuf {
    static MADE: OnceLock<(tempfile::TempDir, PathBuf)> = OnceLock::new();
    let make = || {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let path = taco_studio::ops::make_sample_dataset(folder.path(), &JobContext::default())
            .expect("the sample can be made");
        (folder, path)
    };
    MADE.get_or_init(make).1.clone()
}

/// The scene folders of the sample dataset.
pub fn scenes() -> Vec<PathBuf> {
    let folder = sample().parent().expect("a folder").join("scenes");
    let mut scenes: Vec<PathBuf> = std::fs::read_dir(folder)
        .expect("scenes")
        .map(|entry| entry.expect("a scene").path())
        .collect();
    scenes.retain(|path| path.is_dir());
    scenes.sort();
    scenes
}

/// Saves a screenshot in the folder TACO_STUDIO_SHEETS; without it nothing is rendered.
pub fn picture(harness: &mut Window, name: &str) {
    let Some(folder) = std::env::var_os("TACO_STUDIO_SHEETS") else {
        return;
    };
    let image = harness.render().expect("a software adapter renders");
    image
        .save(Path::new(&folder).join(format!("{name}.png")))
        .expect("the folder can be written");
}
