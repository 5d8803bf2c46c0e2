//! The application in a harness, and the waiting that its jobs need.

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use egui_kittest::Harness;
use taco_studio::gui::App;
use taco_studio::jobs::Jobs;
use taco_studio::studio::Studio;

/// The application on an empty studio in a window of 1440 × 900 points.
pub fn app(theme: egui::Theme) -> Harness<'static, App> {
    Harness::builder()
        .with_size(egui::vec2(1440.0, 900.0))
        .with_theme(theme)
        .with_render_cursor(false)
        .with_max_steps(64)
        .build_eframe(|creation| {
            taco_studio::gui::theme::install(&creation.egui_ctx);
            App::for_test(&creation.egui_ctx, Studio::new(Jobs::quiet()))
        })
}

/// Draws until no work is left.
pub fn settle(harness: &mut Harness<'static, App>) {
    let end = Instant::now() + Duration::from_secs(60);
    harness.step();
    while harness.state().is_busy() {
        assert!(Instant::now() < end, "the studio did not come to rest");
        std::thread::sleep(Duration::from_millis(5));
        harness.step();
    }
    harness.run_steps(3);
}

/// Opens or imports paths, as a drop does.
pub fn take(harness: &mut Harness<'static, App>, paths: Vec<PathBuf>) {
    harness.state_mut().open_paths(paths);
    settle(harness);
}

/// Keeps a picture of the window in the folder that TACO_STUDIO_SHEETS names; without it nothing is rendered.
pub fn picture(harness: &mut Harness<'static, App>, name: &str) {
    let Some(folder) = std::env::var_os("TACO_STUDIO_SHEETS") else { return };
    let image = harness.render().expect("a software adapter renders");
    image.save(Path::new(&folder).join(format!("{name}.png"))).expect("the folder can be written");
}
