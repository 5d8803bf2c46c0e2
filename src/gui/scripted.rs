//! Drives the real window from a file, for tests and for pictures of it: a JSON list of commands that run one after the other, then a
//! picture of the window, then the end. Reads two environment variables; without them this does nothing.
//!
//! - `TACO_STUDIO_WINDOW_SCRIPT`: the list of commands, as `taco-studio replay` reads it, without expectations.
//! - `TACO_STUDIO_WINDOW_PICTURE`: where to put the picture, as PNG.

use std::collections::VecDeque;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use egui::{ColorImage, Context, ViewportCommand};

use super::App;
use super::cx::Ask;
use crate::error::{Error, IoContext, Result};
use crate::studio::Command;

/// Frames without any work before the next step.
const CALM: u32 = 4;

/// Where the first failure goes, so that the program can end with it.
pub type Failure = Arc<Mutex<Option<Error>>>;

/// What is left to do.
pub struct Script {
    commands: VecDeque<Command>,
    picture: Option<PathBuf>,
    asked: bool,
    shot: Arc<Mutex<Option<Arc<ColorImage>>>>,
    calm: u32,
    failure: Failure,
}

impl Script {
    /// The script that the environment names, if it names one.
    pub fn from_environment() -> Result<Option<Self>> {
        let named = |name: &str| std::env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
        let (file, picture) = (named("TACO_STUDIO_WINDOW_SCRIPT"), named("TACO_STUDIO_WINDOW_PICTURE"));
        if file.is_none() && picture.is_none() {
            return Ok(None);
        }
        let commands = match file {
            Some(file) => read(&file)?,
            None => VecDeque::new(),
        };
        Ok(Some(Self { commands, picture, asked: false, shot: Arc::default(), calm: 0, failure: Failure::default() }))
    }

    /// Where failures go.
    pub fn failure(&self) -> Failure {
        self.failure.clone()
    }

    /// Remembers the first failure and drops the other commands.
    pub fn fail(&mut self, error: Error) {
        self.commands.clear();
        self.failure.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(error);
    }
}

fn read(file: &Path) -> Result<VecDeque<Command>> {
    let text = std::fs::read_to_string(file).io_at("read the window's script", file)?;
    serde_json::from_str(&text).map_err(|error| Error::usage("this is not a list of commands").because(error).at_path(file))
}

impl App {
    /// Takes the script's next step when the window is at rest.
    pub(super) fn follow_script(&mut self, ctx: &Context) {
        let busy = self.is_busy();
        let Some(script) = &mut self.script else { return };
        ctx.request_repaint();
        script.calm = if busy { 0 } else { script.calm + 1 };
        if script.calm < CALM {
            return;
        }
        script.calm = 0;
        if let Some(command) = script.commands.pop_front() {
            self.asks.push(Ask::Anyway(Box::new(Ask::Run(command))));
            return;
        }
        let Some(target) = script.picture.clone() else { return self.end_script(ctx) };
        let shot = script.shot.lock().unwrap_or_else(PoisonError::into_inner).take();
        match shot {
            Some(image) => {
                if let Err(error) = save(&image, &target) {
                    script.fail(error);
                }
                self.end_script(ctx);
            }
            // The answer comes after one of the next frames is painted; until then every frame counts.
            None => {
                script.calm = CALM;
                if !std::mem::replace(&mut script.asked, true) {
                    let (shot, waker) = (script.shot.clone(), ctx.clone());
                    ctx.request_screenshot(move |image| {
                        *shot.lock().unwrap_or_else(PoisonError::into_inner) = Some(image);
                        waker.request_repaint();
                    });
                }
            }
        }
    }

    fn end_script(&mut self, ctx: &Context) {
        self.script = None;
        self.quitting = true;
        ctx.send_viewport_cmd(ViewportCommand::Close);
    }
}

fn save(image: &ColorImage, target: &Path) -> Result<()> {
    let [width, height] = image.size.map(|side| side as u32);
    let bytes = image.pixels.iter().flat_map(|pixel| pixel.to_array()).collect();
    let failed = |what: &str| Error::internal(format!("the picture of the window was not saved: {what}")).at_path(target);
    let picture = image::RgbaImage::from_raw(width, height, bytes).ok_or_else(|| failed("it has another size than its pixels"))?;
    picture.save(target).map_err(|error| failed(&error.to_string()))
}
