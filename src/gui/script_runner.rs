//! A script that runs in the window: its lines, and what it finds in the picture of the window. It
//! uses only what a person could: a control without an accessible name can't be clicked.

use std::collections::VecDeque;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use egui::accesskit::Role;
use egui::{ColorImage, Context, Event, PointerButton, Rect, ViewportCommand, pos2};

use super::accessibility_snapshot::{AccessibilitySnapshot, NamedNode};
use super::outline::matches;
use super::script_events::clicks;
use crate::error::{Error, Result};
use crate::jobs::Job;
use crate::studio::{
    Event as StudioEvent, PlacedScriptLine, ScriptLine, Studio, check_expectation,
};

/// Outcome of a script, shared with the caller: the number of lines that succeeded, or the first
/// error.
pub type ScriptVerdict = Arc<Mutex<Option<Result<usize>>>>;

/// Time after which a control that has not appeared counts as missing.
pub(super) const PATIENCE: Duration = Duration::from_secs(20);
/// Frames without running work after which the window counts as settled.
pub(super) const SETTLE: u32 = 3;

/// A script that is running.
pub struct ScriptRunner {
    pub(super) lines: VecDeque<PlacedScriptLine>,
    eyes: Arc<Mutex<AccessibilitySnapshot>>,
    pub(super) pictures: Option<PathBuf>,
    verdict: ScriptVerdict,
    pub(super) done: usize,
    pub(super) phase: Phase,
    pub(super) since: Instant,
    pub(super) frames: u32,
    /// Bounds of the current line's control in the last frame.
    place: Option<Rect>,
    pub(super) name: String,
    /// Outcome of the current line's command, when the line states an expectation.
    pub(super) outcome: Option<Result<()>>,
    /// The screenshot that was taken last.
    pub(super) taken: Arc<Mutex<Option<Arc<ColorImage>>>>,
    /// The job that writes a screenshot.
    pub(super) saving: Option<Job<()>>,
}

/// Progress of the current line.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Phase {
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

    pub(super) fn inject(&self, events: Vec<Event>) {
        self.eyes
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .events
            .extend(events);
    }

    pub(super) fn find(&self, label: &str, nth: usize) -> Option<NamedNode> {
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

    pub(super) fn next(&mut self) {
        self.lines.pop_front();
        self.done += 1;
        self.phase = Phase::Begin;
        self.since = Instant::now();
        self.frames = 0;
        self.place = None;
    }

    pub(super) fn missing(&self, label: &str) -> Error {
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

    pub(super) fn finish(&mut self, ctx: &Context, outcome: Result<usize>) {
        *self.verdict.lock().unwrap_or_else(PoisonError::into_inner) = Some(outcome);
        self.lines.clear();
        ctx.send_viewport_cmd(ViewportCommand::Close);
    }

    pub(super) fn is_over(&self) -> bool {
        self.verdict
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .is_some()
    }

    /// Clicks into a text field until it receives the keys; true once it does. A finding that
    /// appears or disappears at this moment moves the fields: keys that were meant for a field
    /// would go to the selected samples.
    pub(super) fn focus_field(&mut self, label: &str, nth: usize) -> Result<bool> {
        if self.phase == Phase::Focus {
            if self.is_focused(label) {
                return Ok(true);
            }
            if self.frames > SETTLE {
                self.phase = Phase::Begin;
                self.place = None;
            }
            return Ok(false);
        }
        let is_late = self.since.elapsed() > PATIENCE;
        let Some(seen) = self.field(label, nth) else {
            return if is_late {
                Err(self.missing(label))
            } else {
                Ok(false)
            };
        };
        if is_late {
            return Err(Error::invalid(format!("{label:?} takes no text")));
        }
        if self.reach(&seen) {
            let at = pos2(
                seen.rect.left() + 8.0,
                seen.rect.top() + (seen.rect.height() / 2.0).min(12.0),
            );
            self.phase = Phase::FieldClick(clicks(at, PointerButton::Primary).into());
        }
        Ok(false)
    }

    /// Scrolls a control into view; true once it has stopped moving.
    pub(super) fn reach(&mut self, seen: &NamedNode) -> bool {
        if self.phase == Phase::Begin {
            self.inject(vec![seen.scroll_here()]);
            self.phase = Phase::Scrolled;
            self.frames = 0;
        }
        // The control may still be moving.
        if self.place.replace(seen.rect) != Some(seen.rect) {
            self.frames = 0;
        }
        self.frames > 2 * SETTLE
    }
}

fn is_text_input(node: &NamedNode) -> bool {
    matches!(
        node.role,
        Role::TextInput | Role::MultilineTextInput | Role::SearchInput
    )
}
