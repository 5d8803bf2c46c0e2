//! Files with several variables: the variable is chosen in the preview, and stored for its position
//! in a draft.

use egui::accesskit::Role;
use egui::{Key, Modifiers, Theme};
use egui_kittest::kittest::{NodeT, Queryable};
use taco_studio::gui::action::Action;
use taco_studio::model::Value;
use taco_studio::raster::VARIABLE_COLUMN;
use taco_studio::studio::{Command, RowRef};

use super::support::{Window, app, choose, click, document, picture, settle};
use crate::support::{Workspace, tests_folder};

/// What is chosen in the drop-down of this name.
fn chosen(window: &Window, name: &str) -> String {
    window
        .get_by_role_and_label(Role::ComboBox, name)
        .accesskit_node()
        .value()
        .unwrap_or_default()
}

fn select(window: &mut Window, row: u32) {
    window.state_mut().select(Some(RowRef { level: 1, row }));
    settle(window);
}

#[test]
fn a_variable_is_chosen_in_the_preview_and_stored_for_its_position() {
    let workspace = Workspace::new();
    let cube =
        std::fs::read(tests_folder().join("fixtures/cubes/two_variables.nc")).expect("reads");
    for scene in ["one", "two"] {
        workspace.write(&format!("scenes/{scene}/cube.nc"), &cube);
    }
    let mut window = app(Theme::Dark);
    window.state_mut().command(Command::New);
    settle(&mut window);
    window.state_mut().take_dropped(vec![
        workspace.path("scenes/one"),
        workspace.path("scenes/two"),
    ]);
    settle(&mut window);
    window.state_mut().act(Action::ShowPreview);
    select(&mut window, 0);
    assert_eq!(chosen(&window, "Variable"), "temp", "the first variable");
    assert_eq!(
        chosen(&window, "Band preset"),
        "First band",
        "times are no colours"
    );
    assert_eq!(
        chosen(&window, "Band"),
        "2020-01-01",
        "bands have their times"
    );
    for (key, time) in [
        (Key::ArrowRight, "2020-01-02"),
        (Key::ArrowRight, "2020-01-03"),
        (Key::ArrowRight, "2020-01-03"),
        (Key::ArrowLeft, "2020-01-02"),
        (Key::ArrowLeft, "2020-01-01"),
        (Key::ArrowLeft, "2020-01-01"),
    ] {
        window.key_press_modifiers(Modifiers::COMMAND, key);
        settle(&mut window);
        assert_eq!(chosen(&window, "Band"), time);
    }
    choose(&mut window, "Variable", "wind  3 × 9 × 12");
    assert_eq!(chosen(&window, "Variable"), "wind");
    select(&mut window, 1);
    assert_eq!(
        chosen(&window, "Variable"),
        "wind",
        "the choice holds for the next sample"
    );
    let stored = |window: &Window, row| {
        document(window)
            .value(RowRef { level: 1, row }, VARIABLE_COLUMN)
            .0
    };
    assert_eq!(stored(&window, 0), Value::Null, "looking changes nothing");
    picture(&mut window, "variable");
    click(&mut window, "Read this variable at this position");
    assert_eq!(
        [0, 1].map(|row| stored(&window, row)),
        [Value::text("wind"), Value::text("wind")]
    );
    assert_eq!(chosen(&window, "Variable"), "wind", "the column decides");
    window.state_mut().command(Command::Undo);
    settle(&mut window);
    assert_eq!(stored(&window, 1), Value::Null);
    assert_eq!(chosen(&window, "Variable"), "temp");
}
