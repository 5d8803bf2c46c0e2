//! The plots: names for screen readers, values under the pointer, limits and ranges by key, and
//! bounds that the wheel leaves alone.

use egui::accesskit::Role;
use egui::{Event, Key, Modifiers, MouseWheelSource, MouseWheelUnit, TouchPhase, vec2};
use egui_kittest::kittest::{NodeT, Queryable};
use serde_json::json;
use taco_studio::draft::Edit;
use taco_studio::gui::Pane;
use taco_studio::gui::action::Action;
use taco_studio::studio::{Command, RowRef};

use super::support::{Window, app, fold_bottom, picture, sample, settle, take};

const THEMES: [(egui::Theme, &str); 2] =
    [(egui::Theme::Dark, "dark"), (egui::Theme::Light, "light")];

/// The text of the field with this label.
fn typed(harness: &Window, label: &str) -> f64 {
    let field = harness.get_by_role_and_label(Role::TextInput, label);
    field
        .accesskit_node()
        .value()
        .and_then(|text| text.trim().parse().ok())
        .expect("a number")
}

/// The tooltip that has `word` in it, with the pointer in the middle of the plot.
fn tooltip(harness: &mut Window, at: egui::Pos2, word: &str) -> String {
    harness.hover_at(at);
    settle(harness);
    let text = |node: egui_kittest::Node<'_>| {
        node.accesskit_node()
            .value()
            .filter(|text| text.contains(word))
    };
    let mut found = harness.query_all_by_label_contains(word).filter_map(text);
    found
        .next_back()
        .unwrap_or_else(|| panic!("no tooltip with {word}"))
}

fn wheel(harness: &mut Window) {
    let delta = vec2(30.0, 0.0);
    let (modifiers, source) = (Modifiers::NONE, MouseWheelSource::Wheel);
    harness.event(Event::MouseWheel {
        unit: MouseWheelUnit::Point,
        delta,
        phase: TouchPhase::Move,
        modifiers,
        source,
    });
    harness.event(Event::Zoom(1.5));
    settle(harness);
}

#[test]
fn the_histogram_shows_counts_and_moves_its_limits_by_key() {
    for (theme, word) in THEMES {
        let mut harness = app(theme);
        take(&mut harness, vec![sample()]);
        fold_bottom(&mut harness);
        harness.state_mut().act(Action::ShowPreview);
        harness
            .state_mut()
            .select(Some(RowRef { level: 1, row: 0 }));
        settle(&mut harness);
        let plot = harness
            .get_by_role_and_label(Role::Slider, "Histogram")
            .rect();
        let before = tooltip(&mut harness, plot.center(), "green: ");
        picture(&mut harness, &format!("plot-histogram-{word}"));
        wheel(&mut harness);
        assert_eq!(
            tooltip(&mut harness, plot.center(), "green: "),
            before,
            "neither wheel nor pinch changes the axes"
        );
        harness
            .get_by_role_and_label(Role::Slider, "Histogram")
            .focus();
        settle(&mut harness);
        harness.key_press(Key::ArrowRight);
        settle(&mut harness);
        let (low, high) = (
            typed(&harness, "Lower limit"),
            typed(&harness, "Upper limit"),
        );
        harness.key_press(Key::ArrowRight);
        settle(&mut harness);
        harness.key_press_modifiers(Modifiers::SHIFT, Key::ArrowLeft);
        settle(&mut harness);
        assert!(
            typed(&harness, "Lower limit") > low,
            "the arrows move the lower limit"
        );
        assert!(
            typed(&harness, "Upper limit") < high,
            "with Shift the upper one"
        );
    }
}

#[test]
fn the_times_show_counts_and_move_their_range_by_key() {
    for (theme, word) in THEMES {
        let mut harness = app(theme);
        take(&mut harness, vec![sample()]);
        fold_bottom(&mut harness);
        harness.state_mut().act(Action::ShowMap);
        settle(&mut harness);
        let range = |harness: &Window| {
            harness
                .state()
                .studio()
                .filters()
                .iter()
                .find_map(|filter| filter.datetime.clone())
        };
        let plot = harness
            .get_by_role_and_label(Role::Slider, "Range of time")
            .rect();
        assert!(tooltip(&mut harness, plot.center(), " match").contains(" of "));
        harness
            .get_by_role_and_label(Role::Slider, "Range of time")
            .focus();
        settle(&mut harness);
        for _ in 0..3 {
            harness.key_press_modifiers(Modifiers::SHIFT, Key::ArrowLeft);
            settle(&mut harness);
        }
        let first = range(&harness).expect("a range is set");
        harness.key_press(Key::ArrowRight);
        settle(&mut harness);
        let second = range(&harness).expect("a range is set");
        assert!(second > first, "{second} is later than {first}");
        picture(&mut harness, &format!("plot-times-{word}"));
    }
}

#[test]
fn the_bands_of_a_sensor_are_on_the_spectrum() {
    let band = |name: &str, center: f64, width: f64| {
        json!({
            "name": name,
            "center_wavelength": center,
            "full_width_half_max": width,
        })
    };
    let bands = json!([
        band("B01", 443.0, 27.0),
        band("B02", 490.0, 98.0),
        band("B03", 560.0, 45.0),
        band("B04", 665.0, 38.0),
        band("B08", 842.0, 145.0),
        band("B11", 1610.0, 143.0),
        band("B12", 2190.0, 242.0),
    ]);
    for (theme, word) in THEMES {
        let mut harness = app(theme);
        take(&mut harness, vec![sample()]);
        harness.state_mut().act(Action::EditCopy);
        settle(&mut harness);
        let edit = Edit::SetCollection {
            key: "optical:bands".into(),
            value: Some(bands.clone()),
        };
        harness.state_mut().command(Command::Edit { edit });
        harness.state_mut().show_pane(Pane::Collection);
        settle(&mut harness);
        harness
            .get_by_role_and_label(Role::RadioButton, "Bands")
            .click();
        settle(&mut harness);
        harness.get_by_label("Spectrum with 7 bands").scroll_to_me();
        settle(&mut harness);
        let plot = harness.get_by_label("Spectrum with 7 bands").rect();
        let said = tooltip(
            &mut harness,
            plot.left_center() + vec2(plot.width() * 0.11, 0.0),
            " nm (",
        );
        assert!(said.contains("B02: 490 nm (441 – 539)"), "{said}");
        picture(&mut harness, &format!("plot-spectrum-{word}"));
    }
}
