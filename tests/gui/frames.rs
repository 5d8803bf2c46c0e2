//! Times of frames on a large dataset: layout and tessellation without a display. Ignored; run in
//! release with `TACO_STUDIO_BENCH_DATASET=path cargo test --release --test integration frames --
//! --ignored --nocapture`; `TACO_STUDIO_BENCH_PROJECT=path` is a project to edit, as
//! `taco-studio bench-draft 1000000 --keep path` makes one.

use std::path::PathBuf;
use std::time::{Duration, Instant};

use eframe::App as _;
use egui::{Event, MouseWheelUnit, Pos2, RawInput, Rect, Vec2, pos2, vec2};
use taco_studio::gui::{App, Pane};
use taco_studio::jobs::Jobs;
use taco_studio::studio::{Command, RowRef, Studio};

use crate::support::Workspace;

/// Maximum time of a frame.
const LIMIT: Duration = Duration::from_millis(8);
/// Maximum time of the longest frame.
const LONGEST: Duration = Duration::from_millis(16);
/// Maximum time of a step on the interface thread.
const STEP: Duration = Duration::from_millis(5);

struct Window {
    ctx: egui::Context,
    app: App,
    frame: eframe::Frame,
    time: f64,
    /// Time until the newest frame was laid out.
    laid_out: Duration,
}

impl Window {
    fn new() -> Self {
        let ctx = egui::Context::default();
        let app = App::for_test(&ctx, Studio::new(Jobs::quiet()));
        let frame = eframe::Frame::_new_kittest();
        Self {
            ctx,
            app,
            frame,
            time: 0.0,
            laid_out: Duration::ZERO,
        }
    }

    /// Runs one frame without a display; returns the time for layout and tessellation.
    fn frame(&mut self, events: Vec<Event>) -> Duration {
        self.time += 1.0 / 60.0;
        let screen = Rect::from_min_size(Pos2::ZERO, vec2(1440.0, 900.0));
        let input = RawInput {
            screen_rect: Some(screen),
            time: Some(self.time),
            events,
            ..RawInput::default()
        };
        let began = Instant::now();
        let (app, frame) = (&mut self.app, &mut self.frame);
        let ctx = self.ctx.clone();
        let mut output = self.ctx.run_ui(input, |ui| {
            app.logic(&ctx, frame);
            app.ui(ui, frame);
        });
        // No display uploads the textures.
        output.textures_delta.clear();
        self.laid_out = began.elapsed();
        let shapes = self
            .ctx
            .tessellate(std::mem::take(&mut output.shapes), output.pixels_per_point);
        let took = began.elapsed();
        drop(shapes);
        took
    }

    fn settle(&mut self) {
        let end = Instant::now() + Duration::from_secs(600);
        let mut calm = 0;
        while calm < 4 {
            assert!(Instant::now() < end, "the studio did not come to rest");
            self.frame(Vec::new());
            calm = if self.app.is_busy() { 0 } else { calm + 1 };
            if calm == 0 {
                std::thread::sleep(Duration::from_millis(2));
            }
        }
    }

    /// Runs many frames while scrolling in the middle; returns the 99th percentile.
    fn scrolled(&mut self, delta: Vec2, frames: usize) -> (Duration, Duration) {
        self.scrolled_at(pos2(640.0, 300.0), delta, frames)
    }

    fn scrolled_at(&mut self, place: Pos2, delta: Vec2, frames: usize) -> (Duration, Duration) {
        let mut times: Vec<Duration> = (0..frames)
            .map(|_| {
                let wheel = Event::MouseWheel {
                    unit: MouseWheelUnit::Point,
                    delta,
                    phase: egui::TouchPhase::Move,
                    modifiers: egui::Modifiers::NONE,
                    source: egui::MouseWheelSource::Wheel,
                };
                self.frame(vec![Event::PointerMoved(place), wheel])
            })
            .collect();
        times.sort();
        (times[times.len() / 2], times[times.len() * 99 / 100])
    }

    fn dragged(&mut self, frames: usize) -> (Duration, Duration) {
        let start = pos2(640.0, 260.0);
        let press = |pressed| Event::PointerButton {
            pos: start,
            button: egui::PointerButton::Primary,
            pressed,
            modifiers: egui::Modifiers::NONE,
        };
        self.frame(vec![Event::PointerMoved(start), press(true)]);
        let mut times: Vec<Duration> = (0..frames)
            .map(|n| {
                let angle = n as f32 / 20.0;
                self.frame(vec![Event::PointerMoved(
                    start + vec2(angle.cos() * 120.0, angle.sin() * 80.0),
                )])
            })
            .collect();
        self.frame(vec![press(false)]);
        times.sort();
        (times[times.len() / 2], times[times.len() * 99 / 100])
    }
}

/// Prints times, and records slow ones.
#[derive(Default)]
struct Notes(Vec<String>);

impl Notes {
    fn add(&mut self, name: &str, (middle, high): (Duration, Duration)) {
        println!(
            "{name}: median {:.2} ms, 99 % {:.2} ms",
            middle.as_secs_f64() * 1e3,
            high.as_secs_f64() * 1e3
        );
        if high > LIMIT {
            self.0.push(name.to_owned());
        }
    }

    fn steps(window: &Window) {
        for step in window.app.slow_steps() {
            println!(
                "  over {} ms: {} took {:.1} ms",
                STEP.as_millis(),
                step.what,
                step.took.as_secs_f64() * 1e3
            );
        }
    }

    fn check(self) {
        assert!(
            self.0.is_empty(),
            "over {} ms: {}",
            LIMIT.as_millis(),
            self.0.join(", ")
        );
    }
}

#[test]
#[ignore = "for measuring, in release and with a large dataset"]
fn frames_of_a_large_dataset_are_quick() {
    let Some(path) = std::env::var_os("TACO_STUDIO_BENCH_DATASET") else {
        println!("TACO_STUDIO_BENCH_DATASET names no dataset");
        return;
    };
    let mut window = Window::new();
    window.app.command(Command::Open { path: path.into() });
    window.settle();
    let rows = window
        .app
        .studio()
        .document()
        .map_or(0, |document| document.rows(0));
    println!("{rows} rows on level 0");
    let mut notes = Notes::default();
    for (pane, name) in [
        (Pane::Table, "table"),
        (Pane::Map, "map"),
        (Pane::Gallery, "gallery"),
    ] {
        window.app.show_pane(pane);
        window.settle();
        window.app.watch(STEP);
        notes.add(
            &format!("{name}, wheel"),
            window.scrolled(vec2(0.0, -37.0), 400),
        );
        notes.add(
            &format!("{name}, wheel far"),
            window.scrolled(vec2(0.0, -900.0), 200),
        );
        if pane == Pane::Map {
            notes.add("map, wheel back", window.scrolled(vec2(0.0, 900.0), 60));
            window.settle();
            notes.add("map, drag", window.dragged(400));
        }
        Notes::steps(&window);
    }
    notes.check();
}

#[test]
#[ignore = "for measuring, in release and with a large project"]
fn frames_of_a_large_draft_are_quick() {
    let Some(path) = std::env::var_os("TACO_STUDIO_BENCH_PROJECT") else {
        println!("TACO_STUDIO_BENCH_PROJECT names no project");
        return;
    };
    let mut window = Window::new();
    window
        .app
        .command(Command::OpenProject { path: path.into() });
    window.settle();
    let rows = |level| {
        window
            .app
            .studio()
            .document()
            .map_or(0, |document| document.rows(level))
    };
    let rows = [rows(0), rows(1)];
    println!("{} rows on level 0, {} on level 1", rows[0], rows[1]);
    let mut notes = Notes::default();
    // The tree is next to every panel.
    let tree = pos2(140.0, 400.0);
    for (pane, name) in [(Pane::Table, "table"), (Pane::Structure, "matrix")] {
        window.app.show_pane(pane);
        window.settle();
        for row in [0, rows[1].saturating_sub(1000)] {
            window.app.select(Some(RowRef {
                level: 1,
                row: row as u32,
            }));
            window.settle();
            window.app.watch(STEP);
            notes.add(
                &format!("{name} at row {row}, wheel"),
                window.scrolled(vec2(0.0, -37.0), 400),
            );
            notes.add(
                &format!("{name} at row {row}, wheel far"),
                window.scrolled(vec2(0.0, if row == 0 { -900.0 } else { 900.0 }), 200),
            );
            notes.add(
                &format!("tree at row {row}, wheel"),
                window.scrolled_at(tree, vec2(0.0, -37.0), 400),
            );
            notes.add(
                &format!("tree at row {row}, wheel far"),
                window.scrolled_at(tree, vec2(0.0, -900.0), 200),
            );
            Notes::steps(&window);
        }
    }
    notes.check();
}

/// Times of consecutive frames, with the steps of the longest one.
#[derive(Default)]
struct Frames {
    times: Vec<Duration>,
    longest: Duration,
    steps: Vec<String>,
}

impl Frames {
    /// Draws frames while `busy` is true, 16 ms apart.
    fn draw_while(&mut self, window: &mut Window, mut busy: impl FnMut(&App) -> bool) {
        while busy(&window.app) {
            window.app.watch(Duration::from_micros(500));
            let took = window.frame(Vec::new());
            if took > self.longest {
                self.longest = took;
                let steps =
                    window.app.slow_steps().iter().map(|step| {
                        format!("{} {:.1} ms", step.what, step.took.as_secs_f64() * 1e3)
                    });
                self.steps = steps
                    .chain([format!(
                        "laid out after {:.1} ms",
                        window.laid_out.as_secs_f64() * 1e3
                    )])
                    .collect();
            }
            self.times.push(took);
            std::thread::sleep(Duration::from_millis(16));
        }
    }

    /// Median and 99th percentile; prints the longest frame.
    fn figures(mut self) -> (Duration, Duration) {
        self.times.sort();
        let at = |part: usize| {
            self.times
                .get(self.times.len() * part / 100)
                .copied()
                .unwrap_or_default()
        };
        println!(
            "{} frames, longest {:.1} ms: {}",
            self.times.len(),
            self.longest.as_secs_f64() * 1e3,
            self.steps.join(", ")
        );
        (at(50), at(99))
    }
}

/// Rows of the dataset that is made where the environment names none.
const ROWS: usize = 5_000_000;
/// Maximum time until the first rows of a local dataset are drawn.
const FIRST_ROWS: Duration = Duration::from_secs(1);

/// `cargo test --release --test integration first_rows_show -- --ignored --nocapture` makes a ZIP
/// of five million rows and measures.
#[test]
#[ignore = "for measuring, in release: makes and opens a dataset of five million rows"]
fn first_rows_show_while_a_large_dataset_opens_and_frames_stay_short_while_it_is_checked() {
    let workspace = Workspace::new();
    let path = std::env::var_os("TACO_STUDIO_BENCH_DATASET").map_or_else(
        || {
            let made = workspace.path("rows.tacozip");
            workspace
                .python(
                    "../bench/datasets.py",
                    [made.as_os_str(), ROWS.to_string().as_ref()],
                )
                .expect_code(0);
            made
        },
        PathBuf::from,
    );
    let mut window = Window::new();
    window.app.warm_up();
    window.frame(Vec::new());
    let began = Instant::now();
    window.app.open_paths(vec![path]);
    let mut notes = Notes::default();
    let mut first = None;
    let mut opening = Frames::default();
    opening.draw_while(&mut window, |app| {
        if first.is_none() && app.shows_first_rows() {
            first = Some(began.elapsed());
        }
        assert!(
            app.is_busy() || app.studio().document().is_some(),
            "the dataset does not open"
        );
        app.studio().document().is_none()
    });
    println!(
        "first rows after {first:?}, open after {:?}",
        began.elapsed()
    );
    // A dataset that is open before its page appears shows its rows at once.
    let rows = window
        .app
        .studio()
        .document()
        .map_or(0, |document| document.rows(0));
    let first = first.unwrap_or_else(|| began.elapsed());
    println!("{rows} rows");
    let longest = opening.longest;
    notes.add("frames while it opens", opening.figures());
    let mut checked = Frames::default();
    checked.draw_while(&mut window, |app| {
        app.is_busy() || app.studio().is_checking()
    });
    println!("checked after {:?}", began.elapsed());
    assert!(rows > 0, "nothing was opened");
    let longest = longest.max(checked.longest);
    notes.add("frames while it is checked", checked.figures());
    // Another dataset takes its place, and is closed.
    let mut left = Frames::default();
    window.app.command(Command::New);
    left.draw_while(&mut window, |app| {
        app.studio()
            .document()
            .is_none_or(|document| document.draft().is_none())
    });
    let longest = longest.max(left.longest);
    notes.add("frames while it is left", left.figures());
    notes.check();
    assert!(longest <= LONGEST, "one frame took {longest:?}");
    assert!(first <= FIRST_ROWS, "first rows after {first:?}");
}
