//! The panel of one picture: its tools at every width, its helpers when it goes away, what comes
//! beside the picture.

use egui::{Rect, Theme, vec2};
use egui_kittest::kittest::{NodeT, Queryable};
use taco_studio::gui::Pane;
use taco_studio::gui::action::Action;
use taco_studio::studio::RowRef;

use super::support::{Window, app, choose, click, fold_bottom, picture, sample, settle, take};

/// Labels and rectangles of the controls above the image, and the rectangle of the toolbar.
fn toolbar(harness: &Window) -> (Vec<(String, Rect)>, Rect) {
    use egui::accesskit::Role;
    let canvas = harness.get_by_label_contains("Picture of").rect();
    let tab = harness.get_by_role_and_label(Role::Tab, "Preview").rect();
    let right = harness
        .get_by_role_and_label(Role::Tab, "Sample")
        .rect()
        .left();
    let room = Rect::from_min_max(
        egui::pos2(canvas.left(), tab.bottom()),
        egui::pos2(right, canvas.top()),
    );
    let mut found = Vec::new();
    for role in [Role::Button, Role::ComboBox, Role::RadioButton, Role::Label] {
        for node in harness.query_all_by_role(role) {
            // A control that extends beyond the edge has its left end inside.
            if room.contains(node.rect().left_center() + vec2(1.0, 0.0)) {
                let name = node
                    .accesskit_node()
                    .label()
                    .or_else(|| node.accesskit_node().value());
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
    harness
        .state_mut()
        .select(Some(RowRef { level: 1, row: 0 }));
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
            for name in [
                "Band preset",
                "Band for R",
                "Band for B",
                "Zoom out",
                "One to one",
                "Zoom in",
                "Fit to the panel",
            ] {
                assert!(has(name), "{name} is missing at {place}");
            }
            assert!(has("Compare"), "nothing compares at {place}");
            assert_eq!(
                harness.query_all_by_label("Play the siblings").count(),
                1,
                "playback at {place}"
            );
            for (index, (name, rect)) in controls.iter().enumerate() {
                assert!(
                    room.expand(1.0).contains_rect(*rect),
                    "{name} leaves the panel at {place}: {rect:?} in {room:?}"
                );
                for (other, there) in &controls[index + 1..] {
                    let common = rect.shrink(0.5).intersect(*there);
                    assert!(
                        !common.is_positive(),
                        "{name} and {other} overlap at {place}: {rect:?}, {there:?}"
                    );
                }
            }
            rows.insert((room.height() / 30.0) as u32);
            picture(
                &mut harness,
                &format!("tools-{width}-{height}-{}", mode.to_lowercase()),
            );
        }
    }
    assert!(
        rows.len() > 1,
        "one row in a wide window, several in a narrow one: {rows:?}"
    );
}

#[test]
fn hiding_a_panel_cancels_its_jobs() {
    let mut harness = app(Theme::Dark);
    take(&mut harness, vec![sample()]);
    harness.state_mut().act(Action::ShowPreview);
    settle(&mut harness);
    // The first file is shown already, so another one is selected.
    harness
        .state_mut()
        .select(Some(RowRef { level: 1, row: 4 }));
    // The strip below the image requests its first thumbnail in this frame and disappears in the
    // next one.
    harness.step();
    harness.step();
    assert!(harness.state().is_busy());
    harness.state_mut().show_pane(Pane::Table);
    settle(&mut harness);
    // The tree's filter starts, and is removed before it finishes.
    use egui::accesskit::Role;
    harness
        .get_by_role_and_label(Role::TextInput, "Filter ids")
        .focus();
    harness.step();
    harness
        .get_by_role_and_label(Role::TextInput, "Filter ids")
        .type_text("ebro");
    harness.step();
    harness.state_mut().act(Action::ToggleLeft);
    settle(&mut harness);
}

#[test]
fn siblings_are_linked_under_one_view() {
    let mut harness = app(Theme::Dark);
    take(&mut harness, vec![sample()]);
    fold_bottom(&mut harness);
    harness.state_mut().act(Action::ShowPreview);
    harness
        .state_mut()
        .select(Some(RowRef { level: 1, row: 0 }));
    settle(&mut harness);
    choose(&mut harness, "Compare", "Linked");
    let others = harness
        .query_all_by_label_contains("Linked picture of ")
        .count();
    assert_eq!(others, 5, "the other files of the scene");
    let zoom = |harness: &Window| harness.get_by_label("One to one").rect();
    let before = zoom(&harness);
    // Scrolling over a linked image moves all of them.
    let cell = harness
        .query_all_by_label_contains("Linked picture of ")
        .next()
        .expect("is there")
        .rect();
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
    assert!(
        zoom(&harness) != before || harness.query_all_by_label_contains("row ").next().is_some()
    );
    assert!(
        harness.query_all_by_label_contains("row ").next().is_some(),
        "the pixel under the pointer is named"
    );
    choose(&mut harness, "Compare", "Off");
    assert_eq!(
        harness
            .query_all_by_label_contains("Linked picture of ")
            .count(),
        0
    );
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
    harness
        .state_mut()
        .command(Command::WriteTortilla { options });
    settle(&mut harness);
    // Closes the dialog with the report of the write.
    harness.key_press(egui::Key::Escape);
    settle(&mut harness);
    harness.state_mut().command(Command::Open { path: target });
    settle(&mut harness);
    fold_bottom(&mut harness);
    harness.state_mut().act(Action::ShowPreview);
    harness
        .state_mut()
        .select(Some(RowRef { level: 1, row: 0 }));
    settle(&mut harness);
    click(&mut harness, "Show the chunks on the picture");
    let chunks = harness.get_by_role_and_label(Role::ComboBox, "Chunk");
    assert!(
        chunks
            .accesskit_node()
            .value()
            .is_some_and(|value| value.starts_with("0  rows 0–")),
        "the first one is chosen"
    );
    click(&mut harness, "Read chunk");
    let log: Vec<String> = harness
        .state()
        .studio()
        .log_lines()
        .iter()
        .map(|line| line.text.clone())
        .collect();
    picture(&mut harness, "chunks-light");
    assert!(
        harness.query_by_label("Values of chunk 0").is_some(),
        "it is shown; {log:#?}"
    );
    assert!(
        harness
            .query_all_by_label_contains("Chunk 0: 4 × 128 × 128")
            .next()
            .is_some(),
        "its shape is shown"
    );
}

#[test]
fn the_values_of_a_pixel_are_in_view_at_the_usual_size() {
    let mut harness = app(Theme::Dark);
    take(&mut harness, vec![sample()]);
    harness.state_mut().act(Action::ShowPreview);
    harness
        .state_mut()
        .select(Some(RowRef { level: 1, row: 0 }));
    settle(&mut harness);
    let canvas = harness.get_by_label_contains("Picture of").rect();
    harness.hover_at(canvas.center());
    settle(&mut harness);
    picture(&mut harness, "pixel-1440-dark");
    let lowest = harness
        .get_by_role_and_label(egui::accesskit::Role::Tab, "Problems")
        .rect()
        .top();
    let place = harness
        .query_all_by_label_contains("row, col: ")
        .next()
        .expect("the place of the pixel");
    assert!(
        place.rect().bottom() < lowest && place.rect().top() > canvas.top(),
        "{:?} above {lowest}",
        place.rect()
    );
    let below = place.rect().bottom();
    let bands = harness.query_all_by_label_contains(": ").filter(|node| {
        let rect = node.rect();
        rect.left() > canvas.right()
            && rect.top() >= below
            && rect.top() < lowest
            && rect.right() <= place.rect().right() + 1.0
    });
    let rects: Vec<Rect> = bands.map(|node| node.rect()).collect();
    assert!(
        rects.len() >= 4 && rects.iter().all(|rect| rect.bottom() < lowest),
        "{rects:?} above {lowest}"
    );
}

/// Opens one raster as a draft, in the preview.
fn alone(path: &std::path::Path) -> Window {
    let mut harness = app(Theme::Dark);
    take(&mut harness, vec![path.to_owned()]);
    fold_bottom(&mut harness);
    harness.state_mut().act(Action::ShowPreview);
    harness
        .state_mut()
        .select(Some(RowRef { level: 0, row: 0 }));
    settle(&mut harness);
    harness
}

#[test]
fn stretch_and_histogram_are_in_physical_values_and_survive_a_far_value() {
    use egui::accesskit::Role;
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("kelvin.tif");
    let driver = gdal::DriverManager::get_driver_by_name("GTiff").expect("a driver");
    let dataset = driver
        .create_with_band_type::<f64, _>(&path, 64, 64, 1)
        .expect("a raster");
    // 0 to 999 stored, 273.15 to 373.05 kelvin, and one pixel of 1e15.
    let mut pixels: Vec<f64> = (0..4096).map(|n| f64::from(n % 1000)).collect();
    pixels[77] = 1e15;
    let mut buffer = gdal::raster::Buffer::new((64, 64), pixels);
    let mut band = dataset.rasterband(1).expect("a band");
    band.write((0, 0), (64, 64), &mut buffer).expect("written");
    band.set_scale(0.1)
        .and_then(|()| band.set_offset(273.15))
        .expect("a scale");
    dataset.close().expect("closed");

    let mut harness = alone(&path);
    assert!(
        harness
            .query_all_by_label_contains("1 value beyond the axis; all are from 0 to 1.000e15")
            .next()
            .is_some()
    );
    choose(&mut harness, "Stretch", "Fixed limits");
    let typed = |harness: &Window, label: &str| -> f64 {
        let field = harness.get_by_role_and_label(Role::TextInput, label);
        field
            .accesskit_node()
            .value()
            .and_then(|text| text.trim().parse().ok())
            .expect("a number")
    };
    let stored = typed(&harness, "Upper limit");
    assert!((900.0..1000.0).contains(&stored), "{stored}");
    click(&mut harness, "Scaled values");
    let physical = typed(&harness, "Upper limit");
    assert!(
        (physical - (stored * 0.1 + 273.15)).abs() < 1e-3,
        "{physical} for {stored}"
    );
    picture(&mut harness, "physical-dark");
    super::support::fill(&mut harness, "Upper limit", "323.15");
    click(&mut harness, "Scaled values");
    assert!(
        (typed(&harness, "Upper limit") - 500.0).abs() < 1e-6,
        "{}",
        typed(&harness, "Upper limit")
    );
}

/// Writes a GeoTIFF of one band in `folder`.
fn write_raster<T: gdal::raster::GdalType + Copy>(
    path: &std::path::Path,
    size: (usize, usize),
    pixels: Vec<T>,
    finish: impl FnOnce(&mut gdal::Dataset),
) {
    let driver = gdal::DriverManager::get_driver_by_name("GTiff").expect("a driver");
    let mut dataset = driver
        .create_with_band_type::<T, _>(path, size.0, size.1, 1)
        .expect("a raster");
    let mut buffer = gdal::raster::Buffer::new(size, pixels);
    dataset
        .rasterband(1)
        .and_then(|mut band| band.write((0, 0), size, &mut buffer))
        .expect("written");
    finish(&mut dataset);
    dataset.close().expect("closed");
}

/// Opens the rasters of a folder as one root with a file each, the first one in the preview.
fn beside(folder: &std::path::Path) -> Window {
    let mut harness = app(Theme::Dark);
    take(&mut harness, vec![folder.to_owned()]);
    // Names that may be roots are asked about.
    if harness
        .query_by_label("Add the folders as they are")
        .is_some()
    {
        click(&mut harness, "Add the folders as they are");
    }
    fold_bottom(&mut harness);
    harness.state_mut().act(Action::ShowPreview);
    harness
        .state_mut()
        .select(Some(RowRef { level: 1, row: 0 }));
    settle(&mut harness);
    harness
}

/// Whole labels of the window that contain `part`, without thin spaces.
fn labels(harness: &Window, part: &str) -> Vec<String> {
    let text = |node: egui_kittest::Node<'_>| {
        node.accesskit_node()
            .label()
            .or_else(|| node.accesskit_node().value())
    };
    harness
        .query_all_by_label_contains(part)
        .filter_map(text)
        .map(|text| text.replace('\u{2009}', ""))
        .collect()
}

/// Moves the pointer to the pixel at this part of the picture's canvas.
fn point(harness: &mut Window, part: egui::Vec2) {
    let canvas = harness.get_by_label_contains("Picture of").rect();
    harness.hover_at(canvas.min + canvas.size() * part);
    settle(harness);
}

#[test]
fn the_scale_bar_is_that_of_the_centre_in_view() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("globe.tif");
    write_raster(
        &path,
        (360, 180),
        (0..360 * 180).map(|n| (n % 251) as u8).collect(),
        |dataset| {
            let mut crs = gdal::spatial_ref::SpatialRef::from_epsg(4326).expect("a system");
            crs.set_axis_mapping_strategy(
                gdal::spatial_ref::AxisMappingStrategy::TraditionalGisOrder,
            );
            dataset
                .set_spatial_ref(&crs)
                .and_then(|()| dataset.set_geo_transform(&[-180.0, 1.0, 0.0, 90.0, 0.0, -1.0]))
                .expect("placed");
        },
    );
    let mut harness = alone(&path);
    // Metres of the bar for each point of its width.
    let per_point = |harness: &Window| -> f64 {
        let bar = harness.get_by_label_contains("Scale bar: ");
        let (text, rect) = (labels(harness, "Scale bar: ").concat(), bar.rect());
        let kilometres: f64 = text
            .trim_start_matches("Scale bar: ")
            .trim_end_matches(" km")
            .parse()
            .expect("kilometres");
        kilometres * 1000.0 / f64::from(rect.width() - 16.0)
    };
    // The whole: the centre is on the equator, where a degree has 111 319.49 m.
    let canvas = harness.get_by_label_contains("Picture of").rect();
    let scale = f64::from((canvas.width() / 360.0).min(canvas.height() / 180.0)) * 0.98;
    let metres = per_point(&harness) * scale;
    assert!((metres / 111_319.49 - 1.0).abs() < 0.01, "{metres} m");
    picture(&mut harness, "scale-globe");
    // Sixty degrees north it is half of that.
    let canvas = harness.get_by_label_contains("Picture of").rect();
    harness.drag_at(canvas.center());
    harness.step();
    harness.hover_at(canvas.center() + vec2(0.0, (60.0 * scale) as f32));
    harness.step();
    harness.drop_at(canvas.center() + vec2(0.0, (60.0 * scale) as f32));
    settle(&mut harness);
    picture(&mut harness, "scale-north");
    let metres = per_point(&harness) * scale;
    // The first points of a drag only begin it.
    assert!((metres / 55_800.2 - 1.0).abs() < 0.08, "{metres} m");
}

#[test]
fn a_raster_without_coordinates_has_no_scale_bar() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("plain.tif");
    write_raster(&path, (20, 10), vec![3u8; 200], |dataset| {
        dataset
            .set_geo_transform(&[0.0, 1.0, 0.0, 0.0, 0.0, -1.0])
            .expect("placed");
    });
    let harness = alone(&path);
    assert!(labels(&harness, "Scale bar").is_empty());
}

#[test]
fn pixels_of_integers_are_written_in_full() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("ids.tif");
    let first = 9_007_199_254_740_993u64;
    write_raster(&path, (2, 1), vec![first, u64::MAX], |_| {});
    let mut harness = alone(&path);
    for (part, id) in [(vec2(0.3, 0.5), first), (vec2(0.7, 0.5), u64::MAX)] {
        point(&mut harness, part);
        assert!(
            labels(&harness, "Band 1: ").contains(&format!("Band 1: {id}")),
            "{:?}",
            labels(&harness, "Band 1")
        );
    }
    picture(&mut harness, "ids-u64");
    choose(&mut harness, "Stretch", "Min to max");
    assert_eq!(
        labels(&harness, "Limits: "),
        [format!("Limits: {first} – {}", u64::MAX)]
    );

    let path = folder.path().join("small.tif");
    write_raster(&path, (2, 1), vec![4_000_000_001u32, 7], |_| {});
    let mut harness = alone(&path);
    point(&mut harness, vec2(0.3, 0.5));
    assert!(
        labels(&harness, "Band 1: ").contains(&"Band 1: 4000000001".to_owned()),
        "{:?}",
        labels(&harness, "Band 1")
    );
}

#[test]
fn complex_values_and_doubles_have_readable_texts() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("doubles.tif");
    write_raster(
        &path,
        (64, 64),
        (0..4096).map(|n| 100_000.0 + f64::from(n) * 1e-6).collect(),
        |_| {},
    );
    let harness = alone(&path);
    let [limits] = labels(&harness, "Limits: ")
        .try_into()
        .expect("one line of limits");
    let (low, high) = limits
        .trim_start_matches("Limits: ")
        .split_once(" – ")
        .expect("two limits");
    let [low, high]: [f64; 2] = [low, high].map(|text| text.parse().expect("a number"));
    assert!(
        low < high && (low - 100_000.000_082).abs() < 5e-4 && (high - 100_000.004_014).abs() < 5e-4,
        "{limits}"
    );

    let real = folder.path().join("real.tif");
    write_raster(&real, (2, 1), vec![12_345.678f32, -1234.5], |_| {});
    let path = folder.path().join("complex.tif");
    let name = std::ffi::CString::new(path.display().to_string()).expect("a name");
    let driver = gdal::DriverManager::get_driver_by_name("GTiff").expect("a driver");
    let mut pairs = [12_345.678f32, -98_765.43, 0.5, -2.0];
    // Safety: the handles are checked, `pairs` has 2 complex values of two floats, and the dataset
    // is closed once.
    unsafe {
        let kind = gdal_sys::GDALDataType::GDT_CFloat32;
        let dataset = gdal_sys::GDALCreate(
            driver.c_driver(),
            name.as_ptr(),
            2,
            1,
            1,
            kind,
            std::ptr::null_mut(),
        );
        assert!(!dataset.is_null());
        let band = gdal_sys::GDALGetRasterBand(dataset, 1);
        let write = gdal_sys::GDALRWFlag::GF_Write;
        assert_eq!(
            gdal_sys::GDALRasterIO(
                band,
                write,
                0,
                0,
                2,
                1,
                pairs.as_mut_ptr().cast(),
                2,
                1,
                kind,
                0,
                0
            ),
            0
        );
        gdal_sys::GDALClose(dataset);
    }
    let mut harness = alone(&path);
    point(&mut harness, vec2(0.3, 0.5));
    assert_eq!(
        labels(&harness, "Band 1: "),
        ["Band 1: 12345.7 - 98765.4 i"]
    );
    picture(&mut harness, "complex");
}

#[test]
fn a_difference_is_signed_and_has_a_legend() {
    let folder = tempfile::tempdir().expect("a folder");
    let root = folder.path().join("scene");
    std::fs::create_dir(&root).expect("makes");
    write_raster(&root.join("a.tif"), (20, 20), vec![250u8; 400], |_| {});
    write_raster(&root.join("b.tif"), (20, 20), vec![100u8; 400], |dataset| {
        dataset
            .rasterband(1)
            .and_then(|mut band| {
                band.write(
                    (0, 0),
                    (10, 20),
                    &mut gdal::raster::Buffer::new((10, 20), vec![0u8; 200]),
                )
            })
            .expect("written");
        dataset
            .rasterband(1)
            .and_then(|mut band| band.set_no_data_value(Some(0.0)))
            .expect("set");
    });
    let mut harness = beside(folder.path());
    choose(&mut harness, "Compare", "Difference");
    assert_eq!(
        labels(&harness, "Colours of the difference"),
        ["Colours of the difference, from -150 to +150"]
    );
    point(&mut harness, vec2(0.7, 0.5));
    assert!(
        labels(&harness, "Band 1: ").contains(&"Band 1: +150".to_owned()),
        "{:?}",
        labels(&harness, "Band 1")
    );
    assert!(
        labels(&harness, "+150 (250 − 100)").len() == 1,
        "{:?}",
        labels(&harness, "row ")
    );
    picture(&mut harness, "difference-dark");
    point(&mut harness, vec2(0.3, 0.5));
    assert!(
        labels(&harness, "Band 1: ").contains(&"Band 1: nodata".to_owned()),
        "{:?}",
        labels(&harness, "Band 1")
    );
    // The other way round the values are negative, of an unsigned type.
    harness
        .state_mut()
        .select(Some(RowRef { level: 1, row: 1 }));
    settle(&mut harness);
    point(&mut harness, vec2(0.7, 0.5));
    assert!(
        labels(&harness, "Band 1: ").contains(&"Band 1: -150".to_owned()),
        "{:?}",
        labels(&harness, "Band 1")
    );
}

#[test]
fn a_playback_keeps_one_stretch() {
    let folder = tempfile::tempdir().expect("a folder");
    let root = folder.path().join("scene");
    std::fs::create_dir(&root).expect("makes");
    for (name, base) in [("t1.tif", 0u16), ("t2.tif", 5000), ("t3.tif", 9000)] {
        write_raster(
            &root.join(name),
            (30, 30),
            (0..900).map(|n| base + n).collect(),
            |_| {},
        );
    }
    let mut harness = beside(folder.path());
    choose(&mut harness, "Stretch", "Min to max");
    let limits = |harness: &Window| labels(harness, "Limits: ").concat();
    assert_eq!(limits(&harness), "Limits: 0 – 899");
    harness.get_by_label("Play the siblings").click();
    let mut frames = std::collections::BTreeSet::new();
    for _ in 0..400 {
        harness.step();
        frames.extend(
            harness
                .query_all_by_label_contains("Picture of")
                .filter_map(|node| node.accesskit_node().label()),
        );
        assert_eq!(
            limits(&harness),
            "Limits: 0 – 899",
            "in each frame; {frames:?}"
        );
        if frames.len() == 3 {
            break;
        }
        std::thread::sleep(std::time::Duration::from_millis(5));
    }
    assert_eq!(frames.len(), 3, "{frames:?}");
    assert_eq!(
        labels(&harness, "All frames have"),
        ["All frames have the stretch of t1.tif: 0 – 899"]
    );
    picture(&mut harness, "playback");
    click(&mut harness, "Stop playing");
    harness
        .state_mut()
        .select(Some(RowRef { level: 1, row: 0 }));
    settle(&mut harness);
    harness
        .state_mut()
        .select(Some(RowRef { level: 1, row: 1 }));
    settle(&mut harness);
    assert_eq!(
        limits(&harness),
        "Limits: 5000 – 5899",
        "each has its own again"
    );
}
