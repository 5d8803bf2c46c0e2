//! Opens every fixture in every panel, selects rasters, in both themes. Nothing panics, every panel
//! shows a text, and the interface thread does not block.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::Duration;

use egui::accesskit::Role;
use egui::{Rect, Theme, pos2};
use egui_kittest::kittest::{NodeT, Queryable};
use taco_studio::gui::Pane;
use taco_studio::gui::action::Action;
use taco_studio::model::SampleKind;
use taco_studio::studio::{Command, RowRef};

use super::support::{Window, app, picture, settle, take};

/// Maximum time of a step on the interface thread. Debug builds on a busy machine are far slower;
/// blocking IO or computation over a dataset is slower still.
const STEP: Duration = if cfg!(debug_assertions) {
    Duration::from_millis(150)
} else {
    Duration::from_millis(5)
};

/// Overrides the limit, to find slow steps: `TACO_STUDIO_STEP_MS=20`.
fn step_limit() -> Duration {
    let given = std::env::var("TACO_STUDIO_STEP_MS")
        .ok()
        .and_then(|text| text.parse().ok());
    given.map_or(STEP, Duration::from_millis)
}

const LEFT: [Pane; 2] = [Pane::Hierarchy, Pane::Columns];
const RIGHT: [Pane; 2] = [Pane::Sample, Pane::Collection];
const BOTTOM: [Pane; 6] = [
    Pane::Problems,
    Pane::Jobs,
    Pane::Log,
    Pane::Source,
    Pane::Statistics,
    Pane::Bytes,
];

/// Rectangle of the panel.
fn room_of(harness: &Window, pane: Pane) -> Rect {
    let tab = |pane: Pane| {
        harness
            .query_by_role_and_label(Role::Tab, pane.title())
            .map(|node| node.rect())
    };
    let own = tab(pane).unwrap_or_else(|| panic!("{} has no tab", pane.title()));
    let left_of = |panes: &[Pane]| {
        panes
            .iter()
            .filter_map(|&pane| tab(pane))
            .map(|rect| rect.left())
            .fold(f32::INFINITY, f32::min)
    };
    let (middle, right) = (
        left_of(&[Pane::Table, Pane::Map, Pane::Preview]),
        left_of(&RIGHT),
    );
    let bottom = BOTTOM
        .iter()
        .filter_map(|&pane| tab(pane))
        .map(|rect| rect.top())
        .fold(876.0, f32::min);
    let (x, floor) = match pane {
        pane if LEFT.contains(&pane) => (0.0..middle, 876.0),
        pane if RIGHT.contains(&pane) => (right..1440.0, bottom),
        pane if BOTTOM.contains(&pane) => (middle..1440.0, 876.0),
        _ => (middle..right, bottom),
    };
    Rect::from_min_max(pos2(x.start, own.bottom()), pos2(x.end, floor))
}

/// Number of words painted in, or announced by, the panel.
fn words_in(harness: &Window, room: Rect) -> usize {
    const SPEAKING: [Role; 14] = [
        Role::Label,
        Role::Button,
        Role::Link,
        Role::Row,
        Role::Cell,
        Role::ListItem,
        Role::TreeItem,
        Role::Image,
        Role::Status,
        Role::TextInput,
        Role::MultilineTextInput,
        Role::CheckBox,
        Role::ComboBox,
        Role::RadioButton,
    ];
    let speaks = |role: &Role| {
        let nodes = harness.query_all_by_role(*role);
        let says = |node: &egui_kittest::Node<'_>| {
            let (label, value) = (node.accesskit_node().label(), node.accesskit_node().value());
            label
                .or(value)
                .is_some_and(|text| text.chars().filter(|c| c.is_alphanumeric()).count() > 1)
        };
        nodes
            .filter(|node| room.contains(node.rect().center()) && says(node))
            .count()
    };
    SPEAKING.iter().map(speaks).sum()
}

/// Every dataset of the fixtures, valid and broken.
fn fixtures() -> Vec<PathBuf> {
    let fixtures = crate::support::tests_folder().join("fixtures");
    let mut found = Vec::new();
    for kind in ["golden", "broken"] {
        for set in std::fs::read_dir(fixtures.join(kind)).expect("fixtures") {
            let set = set.expect("a fixture").path();
            let parts = std::fs::read_dir(&set)
                .into_iter()
                .flatten()
                .map(|part| part.expect("a part").path());
            found.extend(parts.filter(|part| {
                part.extension()
                    .is_none_or(|ending| ending != "json" && ending != "md")
            }));
        }
    }
    found.sort();
    found
}

/// Result of visiting a dataset.
#[derive(Default)]
struct Visit {
    /// Number of selected files; `None` when the dataset could not be opened.
    files: Option<usize>,
    /// Panels without text.
    blank: Vec<String>,
    /// Slow steps on the interface thread, by description.
    slow: BTreeMap<String, Duration>,
}

/// Opens `part`, visits every panel and selects files from first to last.
fn visit(harness: &mut Window, part: &Path, name: &str) -> Visit {
    harness.state_mut().command(Command::Close);
    // Alternately in each theme.
    harness.state_mut().act(Action::ToggleTheme);
    settle(harness);
    let before = harness.state().studio().log_lines().len();
    take(harness, vec![part.to_owned()]);
    let mut found = Visit::default();
    let Some(document) = harness.state().studio().document() else {
        assert!(
            harness.state().studio().log_lines().len() > before,
            "{name} neither opened nor said why"
        );
        return found;
    };
    let files: Vec<RowRef> = (0..document.tree().levels.len())
        .flat_map(|level| (0..document.rows(level) as u32).map(move |row| RowRef { level, row }))
        .filter(|&at| document.kind(at) == Some(SampleKind::File))
        .collect();
    harness.state_mut().watch(step_limit());
    for pane in Pane::ALL {
        harness.state_mut().show_pane(pane);
        settle(harness);
        if words_in(harness, room_of(harness, pane)) == 0 {
            found.blank.push(format!("{} of {name}", pane.title()));
        }
    }
    harness.state_mut().show_pane(Pane::Preview);
    for &at in files.iter().step_by(files.len().div_ceil(6).max(1)) {
        harness.state_mut().select(Some(at));
        settle(harness);
        *found.files.get_or_insert_default() += 1;
        if words_in(harness, room_of(harness, Pane::Preview)) == 0 {
            found.blank.push(format!("Preview of {at:?} in {name}"));
        }
    }
    found.files.get_or_insert_default();
    found.slow = harness
        .state()
        .slow_steps()
        .iter()
        .map(|step| (step.what.clone(), step.took))
        .collect();
    found
}

#[test]
fn every_fixture_opens_or_gives_a_reason() {
    let mut harness = app(Theme::Dark);
    // Ids in Japanese: the window uses system fonts, which the harness does not have.
    harness
        .ctx
        .set_missing_glyph_policy(egui::MissingGlyphPolicy::Tofu);
    let (mut opened, mut rasters, mut blank, mut slow) = (0, 0, Vec::new(), Vec::new());
    for part in fixtures() {
        let name = part
            .strip_prefix(env!("CARGO_MANIFEST_DIR"))
            .unwrap_or(&part)
            .display()
            .to_string();
        let mut found = visit(&mut harness, &part, &name);
        let Some(files) = found.files else { continue };
        (opened, rasters) = (opened + 1, rasters + files);
        blank.append(&mut found.blank);
        if name.contains("05_nested3_zip") {
            picture(&mut harness, "stranger");
        }
        // On a busy machine a step may be preempted once; a blocking step is slow every time.
        for _ in 0..3 {
            if found.slow.is_empty() {
                break;
            }
            let again = visit(&mut harness, &part, &name).slow;
            found.slow.retain(|what, _| again.contains_key(what));
        }
        slow.extend(
            found
                .slow
                .iter()
                .map(|(what, took)| format!("{name}: {what} took {took:?}")),
        );
    }
    assert!(opened >= 20, "only {opened} fixtures opened");
    assert!(rasters > 2 * opened, "only {rasters} files were looked at");
    assert!(
        blank.is_empty(),
        "panels without a word:\n  {}",
        blank.join("\n  ")
    );
    assert!(
        slow.is_empty(),
        "over {:?} on the interface thread:\n  {}",
        step_limit(),
        slow.join("\n  ")
    );
}
