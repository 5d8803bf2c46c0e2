//! Runs a script in the window: finds controls by their accessible names, moves the pointer,
//! presses keys, waits, takes pictures. It uses only what a person could: a control without an
//! accessible name can't be clicked.

use std::collections::VecDeque;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use egui::accesskit::Role;
use egui::{
    ColorImage, Context, Event, Key, Modifiers, PointerButton, Pos2, Rect, ViewportCommand, pos2,
    vec2,
};

use super::App;
use super::accessibility_snapshot::{AccessibilitySnapshot, NamedNode};
use super::outline::matches;
use super::pane::Pane;
use super::panel_context::Request;
use super::theme::{self, Theme};
use crate::error::{Error, IoContext, Result};
use crate::jobs::Job;
use crate::model::SamplePath;
use crate::studio::{
    Command, Event as StudioEvent, Outcome, PlacedScriptLine, ReplayLine, RowRef, ScriptLine, Step,
    Studio, check_expectation,
};

/// Outcome of a script, shared with the caller: the number of lines that succeeded, or the first
/// error.
pub type ScriptVerdict = Arc<Mutex<Option<Result<usize>>>>;

/// Time after which a control that has not appeared counts as missing.
const PATIENCE: Duration = Duration::from_secs(20);
/// Frames without running work after which the window counts as settled.
const SETTLE: u32 = 3;
/// Time after which a screenshot that has not arrived counts as unsupported.
const PICTURE: Duration = Duration::from_secs(20);

/// A script that is running.
pub struct ScriptRunner {
    lines: VecDeque<PlacedScriptLine>,
    eyes: Arc<Mutex<AccessibilitySnapshot>>,
    pictures: Option<PathBuf>,
    verdict: ScriptVerdict,
    done: usize,
    phase: Phase,
    since: Instant,
    frames: u32,
    /// Bounds of the current line's control in the last frame.
    place: Option<Rect>,
    name: String,
    /// Outcome of the current line's command, when the line states an expectation.
    outcome: Option<Result<()>>,
    /// The screenshot that was taken last.
    taken: Arc<Mutex<Option<Arc<ColorImage>>>>,
    /// The job that writes a screenshot.
    saving: Option<Job<()>>,
}

/// Progress of the current line.
#[derive(Clone, Debug, PartialEq)]
enum Phase {
    /// Not started.
    Begin,
    /// The control is scrolling into view.
    Scrolled,
    /// Remaining pointer and key events, one batch a frame.
    Moves(VecDeque<Vec<Event>>),
    /// Remaining pointer events of the click into a text field.
    FieldClick(VecDeque<Vec<Event>>),
    /// The text field was clicked and is expected to receive the keys.
    Focus,
    /// Waiting until nothing runs.
    Calm,
    /// Waiting for a screenshot.
    Picture,
}

impl ScriptRunner {
    /// Runs these lines. Screenshots are written into `pictures`, or skipped without it; `name`
    /// names the script in messages.
    pub fn new(
        ctx: &Context,
        name: &str,
        lines: Vec<PlacedScriptLine>,
        pictures: Option<PathBuf>,
    ) -> Self {
        let eyes = AccessibilitySnapshot::open(ctx);
        Self {
            lines: lines.into(),
            eyes,
            pictures,
            verdict: Arc::default(),
            done: 0,
            phase: Phase::Begin,
            since: Instant::now(),
            frames: 0,
            place: None,
            name: name.to_owned(),
            outcome: None,
            taken: Arc::default(),
            saving: None,
        }
    }

    /// Checks an event against the expectation of the current command, before the window reacts to
    /// it.
    pub fn notice(&mut self, studio: &Studio, event: &StudioEvent) {
        if self.phase != Phase::Calm {
            return;
        }
        let current = self.lines.front().map(|line| &line.content);
        let Some(ScriptLine::Command(line)) = current else {
            return;
        };
        let expect = line.expect.clone().unwrap_or_default();
        let outcome = match (event, &expect.error) {
            (StudioEvent::Failed { error, .. }, Some(part))
                if error.report().contains(part.as_str()) =>
            {
                Ok(())
            }
            (StudioEvent::Failed { label, error, .. }, _) => {
                Err(Error::invalid(format!("{label} failed: {error}")))
            }
            (StudioEvent::Offered(_) | StudioEvent::Queried(_), _)
                if expect.offers.is_some() || expect.result.is_some() =>
            {
                check_expectation(studio, event, &expect)
            }
            _ => return,
        };
        self.outcome = Some(outcome);
    }

    /// The shared outcome, filled when the script ends.
    pub fn verdict(&self) -> ScriptVerdict {
        self.verdict.clone()
    }

    fn seen_nodes(&self) -> Vec<NamedNode> {
        self.eyes
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .seen
            .clone()
    }

    fn inject(&self, events: Vec<Event>) {
        self.eyes
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .events
            .extend(events);
    }

    fn find(&self, label: &str, nth: usize) -> Option<NamedNode> {
        let seen = self.seen_nodes();
        // A label with `*` is a pattern.
        let named = |seen: &&NamedNode| {
            seen.label == label || (label.contains('*') && matches(label, &seen.label))
        };
        let controls = seen.iter().filter(named).filter(|seen| seen.acts);
        let texts = seen.iter().filter(named).filter(|seen| !seen.acts);
        controls.chain(texts).nth(nth).cloned()
    }

    fn field(&self, label: &str, nth: usize) -> Option<NamedNode> {
        self.seen_nodes()
            .iter()
            .filter(|seen| is_text_input(seen))
            .filter(|seen| seen.label == label)
            .nth(nth)
            .cloned()
    }

    /// True when the keys go to the text field with this name.
    fn is_focused(&self, label: &str) -> bool {
        let eyes = self.eyes.lock().unwrap_or_else(PoisonError::into_inner);
        let focused = eyes.focused();
        focused.is_some_and(|node| is_text_input(node) && node.label == label)
    }

    fn next(&mut self) {
        self.lines.pop_front();
        self.done += 1;
        self.phase = Phase::Begin;
        self.since = Instant::now();
        self.frames = 0;
        self.place = None;
    }

    fn missing(&self, label: &str) -> Error {
        let words: Vec<String> = label
            .to_lowercase()
            .split_whitespace()
            .map(str::to_owned)
            .collect();
        let mut near: Vec<String> = self
            .seen_nodes()
            .into_iter()
            .map(|seen| seen.label)
            .filter(|other| {
                !other.is_empty() && words.iter().any(|word| other.to_lowercase().contains(word))
            })
            .take(12)
            .collect();
        near.dedup();
        let error = Error::invalid(format!("nothing is called {label:?}"));
        if near.is_empty() {
            error
        } else {
            error.hint(format!("there is {}", near.join(", ")))
        }
    }

    fn finish(&mut self, ctx: &Context, outcome: Result<usize>) {
        *self.verdict.lock().unwrap_or_else(PoisonError::into_inner) = Some(outcome);
        self.lines.clear();
        ctx.send_viewport_cmd(ViewportCommand::Close);
    }

    fn is_over(&self) -> bool {
        self.verdict
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .is_some()
    }
}

fn is_text_input(node: &NamedNode) -> bool {
    matches!(
        node.role,
        Role::TextInput | Role::MultilineTextInput | Role::SearchInput
    )
}

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
                if !self.reach(driver, &seen) {
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
                    && !self.focus_field(driver, &label, nth)?
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

    /// Clicks into a text field until it receives the keys; true once it does. A finding that
    /// appears or disappears at this moment moves the fields: keys that were meant for a field
    /// would go to the selected samples.
    fn focus_field(&self, driver: &mut ScriptRunner, label: &str, nth: usize) -> Result<bool> {
        if driver.phase == Phase::Focus {
            if driver.is_focused(label) {
                return Ok(true);
            }
            if driver.frames > SETTLE {
                driver.phase = Phase::Begin;
                driver.place = None;
            }
            return Ok(false);
        }
        let is_late = driver.since.elapsed() > PATIENCE;
        let Some(seen) = driver.field(label, nth) else {
            return if is_late {
                Err(driver.missing(label))
            } else {
                Ok(false)
            };
        };
        if is_late {
            return Err(Error::invalid(format!("{label:?} takes no text")));
        }
        if self.reach(driver, &seen) {
            let at = pos2(
                seen.rect.left() + 8.0,
                seen.rect.top() + (seen.rect.height() / 2.0).min(12.0),
            );
            driver.phase = Phase::FieldClick(clicks(at, PointerButton::Primary).into());
        }
        Ok(false)
    }

    /// Scrolls a control into view; true once it has stopped moving.
    fn reach(&self, driver: &mut ScriptRunner, seen: &NamedNode) -> bool {
        if driver.phase == Phase::Begin {
            driver.inject(vec![seen.scroll_here()]);
            driver.phase = Phase::Scrolled;
            driver.frames = 0;
        }
        // The control may still be moving.
        if driver.place.replace(seen.rect) != Some(seen.rect) {
            driver.frames = 0;
        }
        driver.frames > 2 * SETTLE
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

fn clicks(at: Pos2, button: PointerButton) -> Vec<Vec<Event>> {
    vec![
        vec![Event::PointerMoved(at)],
        vec![make_button_event(at, button, true)],
        vec![make_button_event(at, button, false)],
    ]
}

fn make_button_event(pos: Pos2, button: PointerButton, pressed: bool) -> Event {
    Event::PointerButton {
        pos,
        button,
        pressed,
        modifiers: Modifiers::NONE,
    }
}

fn drag(from: Pos2, to: Pos2) -> Vec<Vec<Event>> {
    let mut moves = vec![
        vec![Event::PointerMoved(from)],
        vec![make_button_event(from, PointerButton::Primary, true)],
    ];
    moves.extend((1..=10).map(|step| {
        vec![Event::PointerMoved(
            from + (to - from) * (step as f32 / 10.0),
        )]
    }));
    moves.extend([
        vec![Event::PointerMoved(to)],
        vec![make_button_event(to, PointerButton::Primary, false)],
    ]);
    moves
}

/// A key press with its modifiers, which are released one frame later.
fn press(key: Key, modifiers: Modifiers) -> Vec<Vec<Event>> {
    let down = vec![
        Event::ModifiersChanged(modifiers),
        make_key_event(key, modifiers, true),
        make_key_event(key, modifiers, false),
    ];
    vec![down, vec![Event::ModifiersChanged(Modifiers::NONE)]]
}

fn make_key_event(key: Key, modifiers: Modifiers, pressed: bool) -> Event {
    Event::Key {
        key,
        physical_key: None,
        pressed,
        repeat: false,
        modifiers,
    }
}

/// `Ctrl+Shift+Z`, as menus write it.
fn key_of(text: &str) -> Result<(Key, Modifiers)> {
    let mut modifiers = Modifiers::NONE;
    let mut key = None;
    for word in text.split(['+', ' ']).filter(|word| !word.is_empty()) {
        match word {
            "Ctrl" | "Cmd" => modifiers |= Modifiers::COMMAND | Modifiers::CTRL,
            "Shift" => modifiers |= Modifiers::SHIFT,
            "Alt" => modifiers |= Modifiers::ALT,
            "Del" => key = Some(Key::Delete),
            "Esc" => key = Some(Key::Escape),
            word => key = Key::from_name(word),
        }
    }
    key.map(|key| (key, modifiers))
        .ok_or_else(|| Error::usage(format!("there is no key {text:?}")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_are_read_as_menus_write_them() {
        assert_eq!(key_of("F8").expect("is a key"), (Key::F8, Modifiers::NONE));
        let (key, modifiers) = key_of("Ctrl+Shift+Z").expect("is a key");
        assert!(key == Key::Z && modifiers.command && modifiers.shift && !modifiers.alt);
        assert_eq!(key_of("Enter").expect("is a key").0, Key::Enter);
        assert!(key_of("Ctrl+Nothing").is_err());
    }

    #[test]
    fn a_drag_begins_and_ends_where_it_should() {
        let moves = drag(pos2(0.0, 0.0), pos2(100.0, 50.0));
        assert!(matches!(
            moves[1][0],
            Event::PointerButton { pressed: true, pos, .. } if pos == pos2(0.0, 0.0)
        ));
        assert!(matches!(
            moves.last().expect("has moves")[0],
            Event::PointerButton { pressed: false, pos, .. } if pos == pos2(100.0, 50.0)
        ));
    }
}
