//! Opens the window with the first renderer that works: OpenGL, Vulkan (or the system's API),
//! software. When a renderer fails, the program restarts itself with the next one; the one that
//! worked is remembered.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use super::ending::{Ending, wait_for_ending};
use super::renderer::Renderer;
use super::script_runner::ScriptVerdict;
use super::single_instance;
use super::view_state::ViewState;
use super::widgets::logo_image;
use super::window_options::WindowOptions;
use super::{APP_ID, App, accessibility_snapshot, fallback_glyphs};
use crate::error::{Error, Result};
use crate::folders;
use crate::jobs::Jobs;
use crate::studio::{Studio, crash, read_script};

/// Environment variable with the renderers that failed in this start.
const TRIED: &str = "TACO_STUDIO_RENDERERS_TRIED";

/// Opens the window and returns when it is closed. If a window is open on this desktop, sends it
/// the paths instead.
///
/// # Errors
///
/// [`crate::error::Kind::Unsupported`] with advice, without a display or renderer.
pub fn run(options: WindowOptions) -> Result<()> {
    check_display()?;
    let data = folders::data_dir();
    if !options.safe_mode
        && !options.new_window
        && tried_renderers().is_empty()
        && data
            .as_deref()
            .is_some_and(|folder| single_instance::hand_over(folder, &options.paths))
    {
        tracing::info!("the window that is open takes it");
        return Ok(());
    }
    if let Some(folder) = &data {
        crash::install(folder.clone());
    }
    let report = data.as_deref().and_then(crash::take_unseen);
    crate::text::follow_system();
    let mut state = if options.safe_mode {
        ViewState::default()
    } else {
        ViewState::load()
    };
    let tried = tried_renderers();
    let asked = options
        .renderer
        .or(options.safe_mode.then_some(Renderer::Software));
    let Some(renderer) = choose(asked, state.starting.take(), state.renderer, &tried) else {
        return Err(nothing_draws());
    };
    state.settings.start_threads();
    state.starting = Some(renderer);
    if !options.safe_mode {
        // Failing to write settings does not prevent the window.
        let _ = state.save();
    }
    tracing::debug!("drawing with {}", renderer.name());
    let started = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
        open(options, state, renderer, report)
    }));
    let reason = match started {
        Ok(Ok(())) => {
            crash::ended_well();
            return Ok(());
        }
        Ok(Err(error)) => error.to_string(),
        Err(panic) => {
            let error = crate::jobs::panic_error("the window", panic.as_ref());
            // The first frame clears this mark: later failures are not the renderer's.
            if ViewState::load().starting.is_none() {
                return Err(error);
            }
            error.to_string()
        }
    };
    tracing::warn!("the window did not open with {}: {reason}", renderer.name());
    restart(renderer, tried, &reason)
}

/// Runs a script in a window and closes it; returns the number of lines that succeeded.
///
/// # Errors
///
/// The first line that fails; [`crate::error::Kind::Unsupported`] without a renderer.
pub fn replay(file: &Path, pictures: Option<PathBuf>, autosave: Option<PathBuf>) -> Result<usize> {
    check_display()?;
    let lines = read_script(file)?;
    let name = file.display().to_string();
    let verdict: Arc<Mutex<Option<ScriptVerdict>>> = Arc::default();
    let place = verdict.clone();
    let renderer = Renderer::Software;
    let x11 = prefers_x11();
    let ending: Arc<Mutex<Option<Ending>>> = Arc::default();
    let left = ending.clone();
    let outcome = eframe::run_native(
        "Taco Studio",
        make_native_options(&ViewState::default(), renderer, x11),
        Box::new(move |creation| {
            // Stores no state.
            let ctx = &creation.egui_ctx;
            let waker = ctx.clone();
            let jobs = Jobs::new(move || waker.request_repaint());
            let mut app = App::for_test(ctx, Studio::new(jobs));
            let options = WindowOptions {
                safe_mode: true,
                ..WindowOptions::default()
            };
            app.apply_start_options(renderer, &options, drops_arrive(x11));
            if let Some(folder) = autosave {
                app.keep_drafts_in(folder);
            }
            app.ending = left;
            *place.lock().unwrap_or_else(PoisonError::into_inner) =
                Some(app.drive(ctx, &name, lines, pictures));
            Ok(Box::new(app))
        }),
    );
    wait_for_ending(&ending);
    outcome.map_err(|error| nothing_draws().because(error.to_string()))?;
    let verdict = verdict
        .lock()
        .unwrap_or_else(PoisonError::into_inner)
        .take();
    let found = verdict.and_then(|verdict| {
        verdict
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .take()
    });
    found.unwrap_or_else(|| {
        Err(Error::usage(
            "the window was closed before the script was over",
        ))
    })
}

fn open(
    options: WindowOptions,
    state: ViewState,
    renderer: Renderer,
    report: Option<PathBuf>,
) -> eframe::Result {
    let x11 = prefers_x11();
    let native = make_native_options(&state, renderer, x11);
    let ending: Arc<Mutex<Option<Ending>>> = Arc::default();
    let left = ending.clone();
    let outcome = eframe::run_native(
        "Taco Studio",
        native,
        Box::new(move |creation| {
            fallback_glyphs::install(&creation.egui_ctx);
            let mut app = App::new(&creation.egui_ctx, state);
            accessibility_snapshot::list_controls(&creation.egui_ctx);
            app.apply_start_options(renderer, &options, drops_arrive(x11));
            if let Some(report) = &report {
                app.show_crash_report(report);
            }
            app.open_paths(options.paths);
            app.ending = left;
            Ok(Box::new(app))
        }),
    );
    wait_for_ending(&ending);
    outcome
}

fn make_native_options(state: &ViewState, renderer: Renderer, x11: bool) -> eframe::NativeOptions {
    let icon = logo_image(128);
    let rgba = icon
        .pixels
        .iter()
        .flat_map(|pixel| pixel.to_srgba_unmultiplied())
        .collect();
    let size = state.window.map_or([1440.0, 900.0], |[width, height]| {
        [width.clamp(640.0, 8000.0), height.clamp(480.0, 8000.0)]
    });
    let viewport = egui::ViewportBuilder::default()
        .with_title("Taco Studio")
        .with_app_id(APP_ID)
        .with_icon(egui::IconData {
            rgba,
            width: icon.size[0] as u32,
            height: icon.size[1] as u32,
        })
        .with_inner_size(size)
        .with_min_inner_size([640.0, 480.0])
        .with_drag_and_drop(true);
    let mut native = eframe::NativeOptions {
        viewport,
        renderer: eframe::Renderer::Glow,
        ..Default::default()
    };
    if renderer != Renderer::Glow {
        native.renderer = eframe::Renderer::Wgpu;
    }
    if renderer == Renderer::Software
        && let eframe::egui_wgpu::WgpuSetup::CreateNew(setup) = &mut native.wgpu_options.wgpu_setup
    {
        setup.native_adapter_selector = Some(Arc::new(|adapters, _| {
            let software = |adapter: &&eframe::wgpu::Adapter| {
                adapter.get_info().device_type == eframe::wgpu::DeviceType::Cpu
            };
            adapters
                .iter()
                .find(software)
                .cloned()
                .ok_or_else(|| "there is no software adapter".to_owned())
        }));
    }
    #[cfg(target_os = "linux")]
    if x11 {
        native.event_loop_builder = Some(Box::new(|builder| {
            winit::platform::x11::EventLoopBuilderExtX11::with_x11(builder);
        }));
    }
    #[cfg(not(target_os = "linux"))]
    let _ = x11;
    native
}

/// This version of winit gets no file drops under Wayland; the window uses X11 if it is available.
fn prefers_x11() -> bool {
    cfg!(target_os = "linux") && is_set("WAYLAND_DISPLAY") && is_set("DISPLAY")
}

fn drops_arrive(x11: bool) -> bool {
    x11 || !cfg!(target_os = "linux") || !is_set("WAYLAND_DISPLAY")
}

fn is_set(name: &str) -> bool {
    std::env::var_os(name).is_some_and(|value| !value.is_empty())
}

fn check_display() -> Result<()> {
    if cfg!(target_os = "linux")
        && !is_set("DISPLAY")
        && !is_set("WAYLAND_DISPLAY")
        && !is_set("WAYLAND_SOCKET")
    {
        return Err(
            Error::unsupported("there is no display to open a window on")
                .hint("start it in a desktop session, or over ssh with -X")
                .hint("without a display, use a command: taco-studio --help"),
        );
    }
    Ok(())
}

fn tried_renderers() -> Vec<Renderer> {
    let names = std::env::var(TRIED).unwrap_or_default();
    names
        .split(',')
        .filter_map(|name| name.parse().ok())
        .collect()
}

/// The requested renderer, else the remembered one, else the first; never one that failed in this
/// start or crashed in the last.
fn choose(
    asked: Option<Renderer>,
    crashed: Option<Renderer>,
    worked: Option<Renderer>,
    tried: &[Renderer],
) -> Option<Renderer> {
    let open = |renderer: &Renderer| !tried.contains(renderer);
    let calm = |renderer: &Renderer| open(renderer) && crashed != Some(*renderer);
    let by_habit = worked
        .filter(calm)
        .or_else(|| Renderer::ALL.into_iter().find(calm));
    asked
        .filter(open)
        .or(by_habit)
        .or_else(|| Renderer::ALL.into_iter().find(open))
}

fn restart(failed: Renderer, mut tried: Vec<Renderer>, reason: &str) -> Result<()> {
    tried.push(failed);
    let Some(next) = choose(None, None, None, &tried) else {
        return Err(nothing_draws().because(reason.to_owned()));
    };
    let program = folders::own_program().map_err(|error| nothing_draws().because(error))?;
    let names: Vec<_> = tried.iter().map(|renderer| renderer.name()).collect();
    let status = std::process::Command::new(program)
        .args(without_renderer(std::env::args_os().skip(1)))
        .args(["--renderer", next.name()])
        .env(TRIED, names.join(","))
        .status()
        .map_err(|error| nothing_draws().because(error))?;
    match status.code() {
        Some(0) => Ok(()),
        // The restarted process has reported the failure.
        Some(code) => std::process::exit(code),
        None => Err(nothing_draws().because(format!("{} ended by a signal", next.name()))),
    }
}

fn without_renderer(args: impl Iterator<Item = OsString>) -> Vec<OsString> {
    let mut kept = Vec::new();
    let mut args = args;
    while let Some(arg) = args.next() {
        if arg == "--renderer" {
            args.next();
        } else if !arg.to_string_lossy().starts_with("--renderer=") {
            kept.push(arg);
        }
    }
    kept
}

fn nothing_draws() -> Error {
    Error::unsupported(
        "no way to draw a window works on this machine: OpenGL, Vulkan and software \
        rendering failed",
    )
    .hint(
        "install the Mesa drivers: libgl1-mesa-dri and mesa-vulkan-drivers on Debian and \
            Ubuntu, mesa-dri-drivers on Fedora",
    )
    .hint("over a remote desktop, start with --renderer software")
    .hint("every command works without a window: taco-studio --help")
}

#[cfg(test)]
mod tests {
    use super::*;
    use Renderer::{Glow, Software, Wgpu};

    #[test]
    fn the_next_renderer_is_one_that_has_not_failed() {
        assert_eq!(choose(None, None, None, &[]), Some(Glow));
        assert_eq!(
            choose(None, None, Some(Software), &[]),
            Some(Software),
            "what worked comes first"
        );
        assert_eq!(
            choose(Some(Wgpu), None, Some(Glow), &[]),
            Some(Wgpu),
            "what is asked for wins"
        );
        assert_eq!(choose(None, None, Some(Glow), &[Glow]), Some(Wgpu));
        assert_eq!(
            choose(None, Some(Glow), Some(Glow), &[]),
            Some(Wgpu),
            "a crash is not repeated"
        );
        assert_eq!(
            choose(None, Some(Software), None, &[Glow, Wgpu]),
            Some(Software),
            "unless nothing else is left"
        );
        assert_eq!(choose(None, None, None, &[Glow, Wgpu, Software]), None);
    }

    #[test]
    fn the_restart_keeps_every_other_argument() {
        let args = ["a.tacozip", "--renderer", "glow", "--renderer=wgpu", "b"].map(OsString::from);
        assert_eq!(
            without_renderer(args.into_iter()),
            ["a.tacozip", "b"].map(OsString::from)
        );
    }
}
