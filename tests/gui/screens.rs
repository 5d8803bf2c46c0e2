//! The main screens in both themes: they draw, every control has a name, and TACO_STUDIO_SHEETS keeps pictures of them.

use egui_kittest::kittest::Queryable;
use taco_studio::gui::Pane;
use taco_studio::jobs::JobContext;

use super::support::{app, picture, settle, take};

fn sample() -> std::path::PathBuf {
    let folder = std::env::temp_dir().join("taco-studio-gui-sample");
    taco_studio::studio::make_sample_dataset(&folder, &JobContext::default()).expect("the sample can be made")
}

#[test]
fn screens_draw_in_both_themes() {
    let sample = sample();
    for (theme, word) in [(egui::Theme::Dark, "dark"), (egui::Theme::Light, "light")] {
        let mut harness = app(theme);
        if theme == egui::Theme::Light {
            harness.get_by_label("Switch to the light theme").click();
        }
        settle(&mut harness);
        picture(&mut harness, &format!("welcome-{word}"));
        take(&mut harness, vec![sample.clone()]);
        picture(&mut harness, &format!("explore-{word}"));
        harness.state_mut().act(taco_studio::gui::action::Action::ShowPreview);
        settle(&mut harness);
        harness.get_by_label("Show the first file").click();
        settle(&mut harness);
        settle(&mut harness);
        picture(&mut harness, &format!("preview-{word}"));
        harness.state_mut().act(taco_studio::gui::action::Action::EditCopy);
        settle(&mut harness);
        harness.state_mut().show_pane(Pane::Table);
        settle(&mut harness);
        picture(&mut harness, &format!("build-{word}"));
        harness.state_mut().act(taco_studio::gui::action::Action::Write);
        settle(&mut harness);
        picture(&mut harness, &format!("write-{word}"));
    }
}
