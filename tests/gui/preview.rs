//! The panel of one picture: its tools at every width, its helpers when it goes away, what comes beside the picture.

use egui::{Rect, Theme, vec2};
use egui_kittest::kittest::{NodeT, Queryable};
use taco_studio::gui::Pane;
use taco_studio::gui::action::Action;
use taco_studio::studio::RowRef;

use super::support::{Window, app, choose, click, picture, sample, settle, take};

/// Labels and rectangles of the controls above the image, and the rectangle of the toolbar.
fn toolbar(harness: &Window) -> (Vec<(String, Rect)>, Rect) {
    use egui::accesskit::Role;
    let canvas = harness.get_by_label_contains("Picture of").rect();
    let tab = harness.get_by_role_and_label(Role::Tab, "Preview").rect();
    let right = harness.get_by_role_and_label(Role::Tab, "Sample").rect().left();
    let room = Rect::from_min_max(egui::pos2(canvas.left(), tab.bottom()), egui::pos2(right, canvas.top()));
    let mut found = Vec::new();
    for role in [Role::Button, Role::ComboBox, Role::RadioButton, Role::Label] {
        for node in harness.query_all_by_role(role) {
            // A control that extends beyond the edge has its left end inside.
            if room.contains(node.rect().left_center() + vec2(1.0, 0.0)) {
                let name = node.accesskit_node().label().or_else(|| node.accesskit_node().value());
                found.push((name.unwrap_or_default(), node.rect()));
            }
        }
    }
    (found, room)
}

#[test]
fn the_tools_never_overlap() {
    let mut harness = app(Theme::Dark);
    take(&mut harness, vec![sample()]);
    harness.state_mut().act(Action::ShowPreview);
    harness.state_mut().select(Some(RowRef { level: 1, row: 0 }));
    settle(&mut harness);
    let mut rows = std::collections::BTreeSet::new();
    for mode in ["Off", "Swipe"] {
        choose(&mut harness, "Compare", mode);
        for (width, height) in [
            (2400.0, 900.0),
            (1920.0, 1000.0),
            (1600.0, 900.0),
            (1440.0, 900.0),
            (1440.0, 640.0),
            (1200.0, 800.0),
            (1000.0, 640.0),
            (800.0, 600.0),
        ] {
            harness.set_size(vec2(width, height));
            settle(&mut harness);
            let (controls, room) = toolbar(&harness);
            let place = format!("{width} × {height}, {mode}");
            let has = |name: &str| controls.iter().any(|(known, _)| known == name);
            for name in ["Band preset", "Band for R", "Band for B", "Zoom out", "One to one", "Zoom in", "Fit to the panel"] {
                assert!(has(name), "{name} is missing at {place}");
            }
            assert!(has("Compare"), "nothing compares at {place}");
            assert_eq!(harness.query_all_by_label("Play the siblings").count(), 1, "playback at {place}");
            for (index, (name, rect)) in controls.iter().enumerate() {
                assert!(room.expand(1.0).contains_rect(*rect), "{name} leaves the panel at {place}: {rect:?} in {room:?}");
                for (other, there) in &controls[index + 1..] {
                    let common = rect.shrink(0.5).intersect(*there);
                    assert!(!common.is_positive(), "{name} and {other} overlap at {place}: {rect:?}, {there:?}");
                }
            }
            rows.insert((room.height() / 30.0) as u32);
            picture(&mut harness, &format!("tools-{width}-{height}-{}", mode.to_lowercase()));
        }
    }
    assert!(rows.len() > 1, "one row in a wide window, several in a narrow one: {rows:?}");
}

#[test]
fn hiding_a_panel_cancels_its_jobs() {
    let mut harness = app(Theme::Dark);
    take(&mut harness, vec![sample()]);
    harness.state_mut().act(Action::ShowPreview);
    settle(&mut harness);
    // The first file is shown already, so another one is selected.
    harness.state_mut().select(Some(RowRef { level: 1, row: 4 }));
    // The strip below the image requests its first thumbnail in this frame and disappears in the next one.
    harness.step();
    harness.step();
    assert!(harness.state().is_busy());
    harness.state_mut().show_pane(Pane::Table);
    settle(&mut harness);
    // The tree's filter starts, and is removed before it finishes.
    use egui::accesskit::Role;
    harness.get_by_role_and_label(Role::TextInput, "Filter ids").focus();
    harness.step();
    harness.get_by_role_and_label(Role::TextInput, "Filter ids").type_text("ebro");
    harness.step();
    harness.state_mut().act(Action::ToggleLeft);
    settle(&mut harness);
}

#[test]
fn siblings_are_linked_under_one_view() {
    let mut harness = app(Theme::Dark);
    take(&mut harness, vec![sample()]);
    harness.state_mut().act(Action::ToggleBottom);
    harness.state_mut().act(Action::ShowPreview);
    harness.state_mut().select(Some(RowRef { level: 1, row: 0 }));
    settle(&mut harness);
    choose(&mut harness, "Compare", "Linked");
    let others = harness.query_all_by_label_contains("Linked picture of ").count();
    assert_eq!(others, 2, "the two other files of the scene");
    let zoom = |harness: &Window| harness.get_by_label("One to one").rect();
    let before = zoom(&harness);
    // Scrolling over a linked image moves all of them.
    let cell = harness.query_all_by_label_contains("Linked picture of ").next().expect("is there").rect();
    harness.hover_at(cell.center());
    harness.step();
    for _ in 0..4 {
        harness.event(egui::Event::MouseWheel {
            unit: egui::MouseWheelUnit::Point,
            delta: vec2(0.0, 120.0),
            phase: egui::TouchPhase::Move,
            modifiers: egui::Modifiers::NONE,
            source: egui::MouseWheelSource::Wheel,
        });
        harness.step();
    }
    settle(&mut harness);
    picture(&mut harness, "linked-dark");
    assert!(zoom(&harness) != before || harness.query_all_by_label_contains("row ").next().is_some());
    assert!(harness.query_all_by_label_contains("row ").next().is_some(), "the pixel under the pointer is told");
    choose(&mut harness, "Compare", "Off");
    assert_eq!(harness.query_all_by_label_contains("Linked picture of ").count(), 0);
}

#[test]
fn the_chunks_of_a_streamable_dataset_are_read_one_by_one() {
    use egui::accesskit::Role;
    use taco_studio::container::{OnDamage, TortillaOptions};
    use taco_studio::studio::Command;
    let folder = tempfile::tempdir().expect("a temporary folder");
    let target = folder.path().join("stream.tortilla");
    let mut harness = app(Theme::Light);
    take(&mut harness, vec![sample()]);
    harness.state_mut().act(Action::EditCopy);
    settle(&mut harness);
    let options = TortillaOptions {
        text_form: false,
        target: target.clone(),
        collection: None,
        part_bytes: None,
        stream: true,
        allow_non_tog: true,
        overwrite: false,
        on_damage: OnDamage::Stop,
    };
    harness.state_mut().command(Command::WriteTortilla { options });
    settle(&mut harness);
    // Closes the dialog with the report of the write.
    harness.key_press(egui::Key::Escape);
    settle(&mut harness);
    harness.state_mut().command(Command::Open { path: target });
    settle(&mut harness);
    harness.state_mut().act(Action::ToggleBottom);
    harness.state_mut().act(Action::ShowPreview);
    harness.state_mut().select(Some(RowRef { level: 1, row: 0 }));
    settle(&mut harness);
    click(&mut harness, "Show the chunks on the picture");
    let chunks = harness.get_by_role_and_label(Role::ComboBox, "Chunk");
    assert!(chunks.accesskit_node().value().is_some_and(|value| value.starts_with("0  rows 0–")), "the first one is chosen");
    click(&mut harness, "Read chunk");
    let log: Vec<String> = harness.state().studio().log_lines().iter().map(|line| line.text.clone()).collect();
    picture(&mut harness, "chunks-light");
    assert!(harness.query_by_label("Values of chunk 0").is_some(), "it is shown; {log:#?}");
    assert!(harness.query_all_by_label_contains("Chunk 0: 4 × 128 × 128").next().is_some(), "its shape is told");
}

#[test]
fn the_values_of_a_pixel_are_in_view_at_the_usual_size() {
    let mut harness = app(Theme::Dark);
    take(&mut harness, vec![sample()]);
    harness.state_mut().act(Action::ShowPreview);
    harness.state_mut().select(Some(RowRef { level: 1, row: 0 }));
    settle(&mut harness);
    let canvas = harness.get_by_label_contains("Picture of").rect();
    harness.hover_at(canvas.center());
    settle(&mut harness);
    picture(&mut harness, "pixel-1440-dark");
    let lowest = harness.get_by_role_and_label(egui::accesskit::Role::Tab, "Problems").rect().top();
    let place = harness.query_all_by_label_contains("row, col: ").next().expect("the place of the pixel");
    assert!(place.rect().bottom() < lowest && place.rect().top() > canvas.top(), "{:?} above {lowest}", place.rect());
    let below = place.rect().bottom();
    let bands = harness.query_all_by_label_contains(": ").filter(|node| {
        let rect = node.rect();
        rect.left() > canvas.right() && rect.top() >= below && rect.top() < lowest && rect.right() <= place.rect().right() + 1.0
    });
    let rects: Vec<Rect> = bands.map(|node| node.rect()).collect();
    assert!(rects.len() >= 4 && rects.iter().all(|rect| rect.bottom() < lowest), "{rects:?} above {lowest}");
}

/// Opens one raster as a draft, in the preview.
fn alone(path: &std::path::Path) -> Window {
    let mut harness = app(Theme::Dark);
    take(&mut harness, vec![path.to_owned()]);
    harness.state_mut().act(Action::ToggleBottom);
    harness.state_mut().act(Action::ShowPreview);
    harness.state_mut().select(Some(RowRef { level: 0, row: 0 }));
    settle(&mut harness);
    harness
}

#[test]
fn stretch_and_histogram_are_in_physical_values_and_survive_a_far_value() {
    use egui::accesskit::Role;
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("kelvin.tif");
    let driver = gdal::DriverManager::get_driver_by_name("GTiff").expect("a driver");
    let dataset = driver.create_with_band_type::<f64, _>(&path, 64, 64, 1).expect("a raster");
    // 0 to 999 stored, 273.15 to 373.05 kelvin, and one pixel of 1e15.
    let mut pixels: Vec<f64> = (0..4096).map(|n| f64::from(n % 1000)).collect();
    pixels[77] = 1e15;
    let mut buffer = gdal::raster::Buffer::new((64, 64), pixels);
    let mut band = dataset.rasterband(1).expect("a band");
    band.write((0, 0), (64, 64), &mut buffer).expect("written");
    band.set_scale(0.1).and_then(|()| band.set_offset(273.15)).expect("a scale");
    dataset.close().expect("closed");

    let mut harness = alone(&path);
    assert!(harness.query_all_by_label_contains("1 value beyond the axis; all are from 0 to 1.000e15").next().is_some());
    choose(&mut harness, "Stretch", "Fixed limits");
    let typed = |harness: &Window, label: &str| -> f64 {
        let field = harness.get_by_role_and_label(Role::TextInput, label);
        field.accesskit_node().value().and_then(|text| text.trim().parse().ok()).expect("a number")
    };
    let stored = typed(&harness, "Upper limit");
    assert!((900.0..1000.0).contains(&stored), "{stored}");
    click(&mut harness, "Scaled values");
    let physical = typed(&harness, "Upper limit");
    assert!((physical - (stored * 0.1 + 273.15)).abs() < 1e-3, "{physical} for {stored}");
    picture(&mut harness, "physical-dark");
    super::support::fill(&mut harness, "Upper limit", "323.15");
    click(&mut harness, "Scaled values");
    assert!((typed(&harness, "Upper limit") - 500.0).abs() < 1e-6, "{}", typed(&harness, "Upper limit"));
}
