//! Settings take effect immediately.

use egui::accesskit::Role;
use egui_kittest::kittest::{NodeT, Queryable};
use taco_studio::gui::action::Action;

use super::support::{app, choose, click, fill, picture, settle};

#[test]
fn settings_take_effect_immediately() {
    let mut window = app(egui::Theme::Dark);
    window.state_mut().act(Action::Settings);
    settle(&mut window);
    picture(&mut window, "settings-dark");
    assert!(window.ctx.global_style().animation_time > 0.0);
    click(&mut window, "Less motion: nothing slides, fades or spins");
    assert_eq!(window.ctx.global_style().animation_time, 0.0);
    click(&mut window, "Light");
    assert!(!window.ctx.global_style().visuals.dark_mode);
    assert_eq!(
        window.ctx.global_style().animation_time,
        0.0,
        "both themes are still"
    );
    choose(&mut window, "Size of everything", "125 %");
    assert_eq!(window.ctx.zoom_factor(), 1.25);
    let size = window.get_by_role_and_label(Role::ComboBox, "Size of everything");
    assert_eq!(size.accesskit_node().value().as_deref(), Some("125 %"));
    fill(&mut window, "Egress of 1 GB", "0.05");
    fill(&mut window, "1,000 requests that read", "-3");
    picture(&mut window, "settings-prices");
    window.key_press(egui::Key::Escape);
    settle(&mut window);
    assert!(
        window.query_by_label("Size of everything").is_none(),
        "Esc closes"
    );

    window.state_mut().act(Action::Settings);
    settle(&mut window);
    let size = window.get_by_role_and_label(Role::ComboBox, "Size of everything");
    assert_eq!(
        size.accesskit_node().value().as_deref(),
        Some("125 %"),
        "what was set is shown again"
    );
    let typed = |name: &str| {
        window
            .get_by_role_and_label(Role::TextInput, name)
            .accesskit_node()
            .value()
            .unwrap_or_default()
    };
    assert_eq!(typed("Egress of 1 GB"), "0.05");
    assert_eq!(
        typed("1,000 requests that read"),
        "",
        "what is no price is not kept"
    );
    picture(&mut window, "settings-light");
}
