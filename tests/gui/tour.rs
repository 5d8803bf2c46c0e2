//! The tour: every step completes by its button or by the user's own action.

use egui_kittest::kittest::Queryable;
use taco_studio::gui::action::Action;

use super::support::{app, click, document, picture, sample, settle, take};

#[test]
fn the_tour_ends_at_the_write_dialog_of_a_draft() {
    let mut window = app(egui::Theme::Dark);
    click(&mut window, "Take the tour");
    window.get_by_label("1 of 8");
    // A drop completes the step too.
    take(&mut window, vec![sample()]);
    click(&mut window, "Next step");
    assert!(window.query_by_label("Walk the hierarchy").is_some());
    click(&mut window, "Select a file");
    picture(&mut window, "tour-dark");
    for (button, step) in [
        ("Next step", "See it on the map"),
        ("Show the map", "See it on the map"),
        ("Next step", "Ask a question"),
        ("Show the query", "Ask a question"),
        ("Next step", "Check it"),
        ("Check the dataset", "Check it"),
        ("Next step", "Make it yours"),
    ] {
        click(&mut window, button);
        assert!(window.query_by_label(step).is_some(), "after {button}");
    }
    assert!(document(&window).draft().is_none());
    click(&mut window, "Edit as a draft");
    assert!(document(&window).draft().is_some());
    click(&mut window, "Next step");
    click(&mut window, "Show the structure");
    click(&mut window, "Next step");
    click(&mut window, "Choose where to write");
    assert!(
        window.query_by_label("Write dataset").is_some(),
        "the dialog is open"
    );
    window.key_press(egui::Key::Escape);
    settle(&mut window);
    click(&mut window, "Finish");
    assert!(
        window.query_by_label("8 of 8").is_none(),
        "the card is gone"
    );
}

#[test]
fn the_tour_can_be_left_and_wants_a_dataset_first() {
    let mut window = app(egui::Theme::Light);
    window.state_mut().act(Action::Tour);
    settle(&mut window);
    click(&mut window, "Next step");
    assert!(
        window.query_by_label("1 of 8").is_some(),
        "without a dataset there is no next step"
    );
    click(&mut window, "End the tour");
    assert!(window.query_by_label("1 of 8").is_none());
}
