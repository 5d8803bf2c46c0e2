//! Vector samples in the preview: shapes over the picture of a sibling, values of the fields by
//! list and pointer.

use egui::accesskit::Role;
use egui::{Event, Modifiers, PointerButton, Pos2, Theme, vec2};
use egui_kittest::kittest::Queryable;
use taco_studio::gui::action::Action;
use taco_studio::raster::{NewRaster, Samples, write_geotiff};
use taco_studio::studio::{Command, RowRef};

use super::support::{Window, app, picture, settle};
use crate::support::Workspace;

const PLACES: &str = r#"{"type":"FeatureCollection","features":[
    {"type":"Feature","properties":{"class":"house","height":7.5},"geometry":
        {"type":"Polygon","coordinates":[[[-8.99,36.99],[-8.97,36.99],[-8.97,36.97],[-8.99,36.97],
    [-8.99,36.99]]]}},
    {"type":"Feature","properties":{"class":"road","height":null},"geometry":
        {"type":"LineString","coordinates":[[-8.99,36.96],[-8.91,36.96]]}},
    {"type":"Feature","properties":{"class":"well","height":0},"geometry":{"type":"Point",
    "coordinates":[-8.93,36.98]}}]}"#;

/// A draft of two scenes, each a picture of 100 × 50 pixels of 0.001° and places on it, and other
/// places alone.
fn draft(workspace: &Workspace) -> Window {
    for scene in ["one", "two"] {
        workspace.write(&format!("scenes/{scene}/places.geojson"), PLACES);
        let values = (0..5000u32).map(|at| (at % 100 + at / 100) as u8).collect();
        let raster = NewRaster {
            width: 100,
            height: 50,
            bands: vec![Samples::U8(values)],
            epsg: Some(4326),
            geotransform: Some([-9.0, 0.001, 0.0, 37.0, 0.0, -0.001]),
            ..NewRaster::default()
        };
        write_geotiff(
            &workspace.path(&format!("scenes/{scene}/image.tif")),
            &raster,
        )
        .expect("writes");
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
    window.state_mut().select(Some(RowRef { level: 1, row: 1 }));
    settle(&mut window);
    window
}

fn press(window: &mut Window, at: Pos2) {
    window.hover_at(at);
    settle(window);
    for pressed in [true, false] {
        window.event(Event::PointerButton {
            pos: at,
            button: PointerButton::Primary,
            pressed,
            modifiers: Modifiers::NONE,
        });
    }
    settle(window);
}

#[test]
fn shapes_are_drawn_over_the_picture_and_their_values_shown() {
    let workspace = Workspace::new();
    let mut window = draft(&workspace);
    let canvas = window.get_by_label("Shapes of one / places.geojson").rect();
    window.get_by_label("3 features");
    window.state_mut().show_pane(taco_studio::gui::Pane::Sample);
    settle(&mut window);
    window.get_by_value("Layer: places, 3 features");
    assert!(window.query_by_value("Size in pixels: 0 × 0").is_none());
    picture(&mut window, "vectors");
    // The house has the columns and rows 10 to 30 of the picture, which fits the canvas.
    let scale = (canvas.width() / 100.0).min(canvas.height() / 50.0) * 0.98;
    let at = |column: f32, row: f32| canvas.center() + vec2(column - 50.0, row - 25.0) * scale;
    press(&mut window, at(20.0, 20.0));
    window.get_by_label_contains("feature 1 of 3   house");
    window.get_by_value("class: house");
    window.get_by_value("height: 7.5");
    press(&mut window, at(60.0, 40.2));
    window.get_by_value("class: road");
    window.get_by_value("height: –");
    press(&mut window, at(70.0, 20.0));
    window.get_by_value("class: well");
    press(&mut window, at(90.0, 10.0));
    assert!(
        window.query_by_value("class: well").is_none(),
        "nothing is selected where no shape is"
    );
    window
        .get_by_role_and_label(Role::ListItem, "Feature 2: road")
        .click();
    settle(&mut window);
    window.get_by_value("class: road");
    picture(&mut window, "vectors-selected");
    // What was zoomed to stays between the features and the picture that they are on.
    window.hover_at(canvas.center());
    window.event(Event::Zoom(2.0));
    settle(&mut window);
    for row in [0, 1] {
        window.state_mut().select(Some(RowRef { level: 1, row }));
        settle(&mut window);
    }
    assert!(
        window.query_by_value("class: road").is_some(),
        "the selected feature stays too"
    );
    press(&mut window, at(50.0, 5.0));
    assert!(window.query_by_value("class: road").is_none());
    press(
        &mut window,
        canvas.center() + vec2(60.0 - 50.0, 40.2 - 25.0) * scale * 2.0,
    );
    window.get_by_value("class: road");
}

#[test]
fn places_without_a_picture_have_a_plane_of_their_own() {
    let workspace = Workspace::new();
    workspace.write("labels/one.geojson", PLACES);
    workspace.write(
        "labels/two.geojson",
        r#"{"type":"FeatureCollection","features":[]}"#,
    );
    let mut window = app(Theme::Light);
    window.state_mut().command(Command::New);
    settle(&mut window);
    window.state_mut().take_dropped(vec![
        workspace.path("labels/one.geojson"),
        workspace.path("labels/two.geojson"),
    ]);
    settle(&mut window);
    window.state_mut().act(Action::ShowPreview);
    window.state_mut().select(Some(RowRef { level: 0, row: 0 }));
    settle(&mut window);
    window.get_by_label("Shapes of one.geojson");
    window.get_by_role_and_label(Role::ListItem, "Feature 1: house  7.5");
    picture(&mut window, "vectors-alone");
    window.state_mut().select(Some(RowRef { level: 0, row: 1 }));
    settle(&mut window);
    // A file without a shape shows its text.
    window.get_by_label("Contents of the file");
}
