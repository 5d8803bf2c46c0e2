//! Performs the lines of a script in the window: finds controls by their accessible names, moves
//! the pointer, presses keys, waits, takes pictures.

use std::collections::VecDeque;
use std::path::{Path, PathBuf};
use std::sync::PoisonError;
use std::time::{Duration, Instant};

use egui::{ColorImage, Context, Event, Key, Modifiers, PointerButton, ViewportCommand, vec2};

use super::App;
use super::pane::Pane;
use super::panel_context::Request;
use super::script_events::{clicks, drag, key_of, press};
use super::script_runner::{PATIENCE, Phase, SETTLE, ScriptRunner, ScriptVerdict};
use super::theme::{self, Theme};
use crate::error::{Error, IoContext, Result};
use crate::model::SamplePath;
use crate::studio::{
    Command, Event as StudioEvent, Outcome, PlacedScriptLine, ReplayLine, RowRef, ScriptLine, Step,
    check_expectation,
};

/// Time after which a screenshot that has not arrived counts as unsupported.
const PICTURE: Duration = Duration::from_secs(20);

impl App {
    /// Runs a script in this window; the returned outcome is filled when it ends.
    pub fn drive(
        &mut self,
        ctx: &Context,
        name: &str,
        lines: Vec<PlacedScriptLine>,
        pictures: Option<PathBuf>,
    ) -> ScriptVerdict {
        let driver = ScriptRunner::new(ctx, name, lines, pictures);
        let verdict = driver.verdict();
        self.driver = Some(Box::new(driver));
        // Animations off: a screenshot in the middle of a fade would show neither state.
        self.view.settings.reduced_motion = true;
        verdict
    }

    /// Number of lines that succeeded so far.
    pub(super) fn lines_done(&self) -> usize {
        self.driver.as_ref().map_or(0, |driver| driver.done)
    }

    /// Advances the script as far as this frame allows.
    pub(super) fn drive_on(&mut self, ctx: &Context) {
        let Some(mut driver) = self.driver.take() else {
            return;
        };
        if driver.is_over() {
            return;
        }
        ctx.request_repaint();
        driver.frames += 1;
        if driver.lines.is_empty() {
            let done = driver.done;
            driver.finish(ctx, Ok(done));
            self.quitting = true;
        } else if let Err(error) = self.drive_step(ctx, &mut driver) {
            let current = driver.lines.front();
            let place = current.map_or(driver.name.clone(), |line| line.place_in(&driver.name));
            let error = error.at_place(place);
            driver.finish(ctx, Err(error));
            self.quitting = true;
        }
        self.driver = Some(driver);
    }

    fn drive_step(&mut self, ctx: &Context, driver: &mut ScriptRunner) -> Result<()> {
        let for_focus = matches!(driver.phase, Phase::FieldClick(_));
        if let Phase::Moves(moves) | Phase::FieldClick(moves) = &mut driver.phase {
            match moves.pop_front() {
                Some(events) => driver.inject(events),
                None if for_focus => {
                    driver.phase = Phase::Focus;
                    driver.frames = 0;
                }
                None => driver.next(),
            }
            return Ok(());
        }
        // The effect of a line is drawn before the next line searches the snapshot.
        if driver.frames <= SETTLE && driver.phase == Phase::Begin {
            return Ok(());
        }
        let Some(line) = driver.lines.front().cloned() else {
            return Ok(());
        };
        match line.content {
            ScriptLine::Command(line) => self.drive_command(driver, &line),
            ScriptLine::Step(step) => self.drive_interface(ctx, driver, step),
        }
    }

    fn drive_command(&mut self, driver: &mut ScriptRunner, line: &ReplayLine) -> Result<()> {
        let expect = line.expect.clone().unwrap_or_default();
        if driver.phase == Phase::Begin {
            driver.outcome = None;
            driver.phase = Phase::Calm;
            driver.frames = 0;
            let queries = matches!(line.command, Command::Query { path: None, .. });
            match (self.studio.run(line.command.clone()), &expect.error) {
                (Err(error), Some(part)) if error.report().contains(part.as_str()) => driver.next(),
                (Err(error), _) => return Err(error),
                (Ok(Outcome::Done(event)), _) => {
                    driver.notice(&self.studio, &event);
                    self.on_event(None, event);
                }
                (Ok(Outcome::Started(job)), _) if queries => self.panels.query.record_start(job),
                (Ok(Outcome::Started(_)), _) => {}
            }
            return Ok(());
        }
        if self.is_calm(driver) {
            match driver.outcome.take() {
                Some(outcome) => outcome?,
                None if expect.error.is_some() => {
                    return Err(Error::invalid("expected an error, but it worked"));
                }
                None => check_expectation(&self.studio, &StudioEvent::None, &expect)?,
            }
            driver.next();
        }
        Ok(())
    }

    /// True when nothing has run for more than [`SETTLE`] frames.
    fn is_calm(&self, driver: &mut ScriptRunner) -> bool {
        if self.is_busy() || self.studio.is_checking() {
            driver.frames = 0;
        }
        driver.frames > SETTLE
    }

    fn drive_interface(
        &mut self,
        ctx: &Context,
        driver: &mut ScriptRunner,
        step: Step,
    ) -> Result<()> {
        let late = |driver: &ScriptRunner, patience: Duration| driver.since.elapsed() > patience;
        match step {
            Step::OpenPanel { panel } => {
                let pane = Pane::ALL
                    .into_iter()
                    .find(|pane| pane.title().eq_ignore_ascii_case(&panel));
                let pane =
                    pane.ok_or_else(|| Error::usage(format!("there is no panel {panel}")))?;
                self.show_pane(pane);
                driver.next();
            }
            Step::Select { path } => {
                let ids = SamplePath(path.split('/').map(|id| id.trim().into()).collect());
                let document = self
                    .studio
                    .document()
                    .ok_or_else(|| Error::usage("nothing is open"))?;
                let (level, row) = document
                    .tree()
                    .find(&ids)
                    .ok_or_else(|| Error::usage(format!("there is no sample {path}")))?;
                self.requests
                    .push(Request::Select(Some(RowRef { level, row })));
                driver.next();
            }
            Step::Click {
                label,
                nth,
                secondary,
                double,
            } => {
                let Some(seen) = driver.find(&label, nth) else {
                    return if late(driver, PATIENCE) {
                        Err(driver.missing(&label))
                    } else {
                        Ok(())
                    };
                };
                if !driver.reach(&seen) {
                    return Ok(());
                }
                let button = if secondary {
                    PointerButton::Secondary
                } else {
                    PointerButton::Primary
                };
                let mut moves = VecDeque::from(clicks(seen.rect.center(), button));
                if double {
                    moves.extend(clicks(seen.rect.center(), button));
                }
                driver.phase = Phase::Moves(moves);
            }
            Step::Type {
                label,
                nth,
                clear,
                text,
            } => {
                let mut moves = VecDeque::new();
                if let Some(label) = label
                    && !driver.focus_field(&label, nth)?
                {
                    return Ok(());
                }
                if clear {
                    moves.extend(press(Key::A, Modifiers::COMMAND));
                    moves.extend(press(Key::Delete, Modifiers::NONE));
                }
                moves.push_back(vec![Event::Text(text)]);
                driver.phase = Phase::Moves(moves);
            }
            Step::Key { key, times } => {
                let (key, modifiers) = key_of(&key)?;
                driver.phase =
                    Phase::Moves((0..times).flat_map(|_| press(key, modifiers)).collect());
            }
            Step::Drop { paths } => {
                self.open_paths(paths);
                driver.next();
            }
            Step::Drag { from, to } => {
                let (Some(a), Some(b)) = (driver.find(&from, 0), driver.find(&to, 0)) else {
                    let lacking = if driver.find(&from, 0).is_none() {
                        from
                    } else {
                        to
                    };
                    return if late(driver, PATIENCE) {
                        Err(driver.missing(&lacking))
                    } else {
                        Ok(())
                    };
                };
                driver.phase = Phase::Moves(drag(a.rect.center(), b.rect.center()).into());
            }
            Step::WaitJob { seconds } => {
                if self.is_calm(driver) {
                    driver.next();
                } else if late(
                    driver,
                    Duration::from_secs_f64(seconds.clamp(0.0, 86_400.0)),
                ) {
                    let jobs: Vec<String> = self
                        .studio
                        .jobs()
                        .into_iter()
                        .map(|job| job.label)
                        .collect();
                    return Err(Error::invalid(format!(
                        "after {seconds} s there still runs {}",
                        jobs.join(", ")
                    )));
                }
            }
            Step::WaitFor { label, seconds } => match driver.find(&label, 0) {
                Some(_) => driver.next(),
                None if late(
                    driver,
                    Duration::from_secs_f64(seconds.clamp(0.0, 86_400.0)),
                ) =>
                {
                    return Err(driver.missing(&label));
                }
                None => {}
            },
            Step::Expect {
                that,
                shown,
                absent,
            } => {
                if !self.is_calm(driver) {
                    return Ok(());
                }
                if let Some(label) = shown.iter().find(|label| driver.find(label, 0).is_none()) {
                    return if late(driver, PATIENCE) {
                        Err(driver.missing(label))
                    } else {
                        Ok(())
                    };
                }
                if let Some(label) = absent.iter().find(|label| driver.find(label, 0).is_some()) {
                    return if late(driver, PATIENCE) {
                        Err(Error::invalid(format!("{label:?} is still there")))
                    } else {
                        Ok(())
                    };
                }
                check_expectation(&self.studio, &StudioEvent::None, &that)?;
                driver.next();
            }
            Step::Screenshot { name } => self.drive_picture(ctx, driver, &name)?,
            Step::Resize { width, height } => {
                ctx.send_viewport_cmd(ViewportCommand::InnerSize(vec2(width, height)));
                driver.next();
            }
            Step::Theme { theme: name } => {
                self.view.theme = match name.as_str() {
                    "dark" => Theme::Dark,
                    "light" => Theme::Light,
                    _ => {
                        return Err(Error::usage(format!("there is no theme {name}"))
                            .hint("use dark or light"));
                    }
                };
                theme::set(ctx, self.view.theme);
                driver.next();
            }
        }
        Ok(())
    }

    fn drive_picture(
        &mut self,
        ctx: &Context,
        driver: &mut ScriptRunner,
        name: &str,
    ) -> Result<()> {
        let Some(folder) = driver.pictures.clone() else {
            driver.next();
            return Ok(());
        };
        if let Some(saving) = &mut driver.saving {
            if let Some(outcome) = saving.try_take() {
                driver.saving = None;
                outcome?;
                driver.next();
            }
            return Ok(());
        }
        if driver.phase == Phase::Begin {
            if !self.is_calm(driver) {
                return Ok(());
            }
            let (taken, waker) = (driver.taken.clone(), ctx.clone());
            ctx.request_screenshot(move |image| {
                *taken.lock().unwrap_or_else(PoisonError::into_inner) = Some(image);
                waker.request_repaint();
            });
            driver.phase = Phase::Picture;
            driver.since = Instant::now();
            return Ok(());
        }
        let image = driver
            .taken
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .take();
        match image {
            Some(image) => {
                let path = folder.join(format!("{name}.png"));
                driver.saving = Some(self.jobs.start("Save a picture", move |_| {
                    save_picture(&folder, &path, &image)
                }));
            }
            None if driver.since.elapsed() > PICTURE => {
                return Err(Error::unsupported("this window takes no pictures"));
            }
            None => {}
        }
        Ok(())
    }
}

fn save_picture(folder: &Path, path: &Path, image: &ColorImage) -> Result<()> {
    std::fs::create_dir_all(folder).io_at("make the folder of the pictures", folder)?;
    let bytes: Vec<u8> = image
        .pixels
        .iter()
        .flat_map(|pixel| pixel.to_srgba_unmultiplied())
        .collect();
    let [width, height] = image.size;
    image::save_buffer(
        path,
        &bytes,
        width as u32,
        height as u32,
        image::ColorType::Rgba8,
    )
    .map_err(|error| {
        Error::invalid("the picture could not be written")
            .because(error)
            .at_path(path)
    })
}
