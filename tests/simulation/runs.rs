//! Runs of steps in processes of their own, what they must leave behind, and the seeds that choose
//! both.

use std::collections::{BTreeMap, HashMap};
use std::fmt::Write as _;
use std::fs;
use std::io::Write as _;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::{Value as Json, json};
use taco_studio::jobs::JobContext;
use taco_studio::ops::{AnyOperation, OperationOutput};

use super::clock::ClockJump;
use super::faults::{
    self, Action, DONE, DONE_UNSOUND, FAILED, Fault, Kind, STOPPED, SharedMemory, StoreAction,
    StoreFault,
};
use super::steps::{STEPS, Step};
use super::store::{KINDS, Store};
use super::world::{self, State};
use crate::support::{Random, Workspace};

/// Seeds of a test without the environment variable.
const FEW: u64 = 500;
/// Steps of a chain.
const LENGTH: usize = 4;
/// A run that takes longer hangs.
const PATIENCE: Duration = Duration::from_secs(60);
/// What the names of objects of the store begin with in a state.
const AT_STORE: &str = "store/";
/// The sources at the store, where a source is exchanged.
const STORE_SOURCES: &str = "store";
/// Outputs whose following ones are remembered.
const REMEMBERED: usize = 20_000;

/// Variables of the folders in the home.
const HOMES: [(&str, &str); 4] = [
    ("XDG_CONFIG_HOME", ".config"),
    ("XDG_CACHE_HOME", ".cache"),
    ("XDG_DATA_HOME", ".local/share"),
    ("XDG_STATE_HOME", ".local/state"),
];

/// How a run ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Ending {
    /// With success. A run that is not sound lists files that it kept as they were.
    Done {
        is_sound: bool,
        said: String,
    },
    Failed(String),
    Killed,
}

/// What a query of all rows says of a dataset: the answer, or the error.
type Reading = Result<String, String>;

/// What a step without faults makes of outputs: the new ones, or none when it fails.
#[derive(Clone)]
pub struct Expected {
    new: Option<State>,
    /// Calls of each kind.
    counts: [u64; Kind::ALL.len()],
    /// Requests to the store.
    pub requests: u64,
    clock_readings: u64,
}

/// The faults of a run.
#[derive(Default)]
pub struct RunFaults {
    pub calls: Vec<Fault>,
    pub requests: Vec<StoreFault>,
    /// The source that is exchanged for its other version.
    pub source: Option<&'static str>,
    /// Threads give way at calls by this number; 0: there is one thread.
    pub ways: u64,
    pub jump: Option<ClockJump>,
}

/// The faults that happened.
struct Hits {
    calls: Vec<Fault>,
    requests: Vec<StoreAction>,
}

impl Hits {
    /// True after faults of which the run could not clear up.
    fn have_ended(&self) -> bool {
        let ends = |fault: &Fault| {
            matches!(
                fault.action,
                Action::Kill | Action::PowerLoss | Action::FailFromNow(_)
            )
        };
        self.calls.iter().any(ends)
    }

    fn have(&self, is_one: impl Fn(StoreAction) -> bool) -> bool {
        self.requests.iter().any(|action| is_one(*action))
    }

    fn count(&self) -> usize {
        self.calls.len() + self.requests.len()
    }

    /// Name of the first one.
    fn name(&self) -> &'static str {
        let first = self.calls.first().map(|fault| fault.action.name());
        first
            .or(self.requests.first().map(|action| action.name()))
            .unwrap_or("none")
    }
}

/// One process of the simulation: its workspace, and what it knows of steps.
pub struct Simulation {
    pub workspace: Workspace,
    memory: SharedMemory,
    pub store: Store,
    known: HashMap<(&'static str, String, Vec<String>), Expected>,
    tally: BTreeMap<String, u64>,
}

/// What the story of a seed has, for a failure.
pub type Story = String;

impl Simulation {
    pub fn new() -> Self {
        let memory = SharedMemory::new().expect("shared memory");
        let mut store = Store::start(memory.get());
        let workspace = Workspace::new();
        world::build(&workspace);
        for kind in KINDS {
            store.kind = kind;
            for (below, folders) in [
                ("", ["parts", "parts_b"]),
                ("folder/", ["folder", "folder_b"]),
            ] {
                let [one, other] = folders.map(|name| workspace.path(name));
                store.load_sources(below, [&one, &other]);
            }
        }
        Self {
            workspace,
            memory,
            store,
            known: HashMap::new(),
            tally: BTreeMap::new(),
        }
    }

    pub fn count(&mut self, what: impl Into<String>) {
        *self.tally.entry(what.into()).or_default() += 1;
    }

    /// Prints what was counted, and fails when something failed.
    pub fn print_counts(&self, tried: u64, failed: u64) {
        for (what, count) in &self.tally {
            println!("TALLY {count} {what}");
        }
        println!("TRIED {tried} FAILED {failed}");
        assert_eq!(failed, 0, "see above");
    }

    /// Runs a request in a process of its own.
    pub fn run(&mut self, request: &Json, faults: &RunFaults) -> Result<Ending, String> {
        let root = self
            .workspace
            .path("")
            .canonicalize()
            .expect("the workspace");
        let exchanged = faults
            .source
            .map(|source| [root.join(source), root.join(world::other(source))]);
        let exchanged = exchanged
            .as_ref()
            .map(|[one, other]| [one.as_path(), other.as_path()]);
        world::date_alike(&self.workspace);
        self.memory.prepare(
            &root,
            &faults.calls,
            &faults.requests,
            exchanged,
            faults.ways,
            faults.jump,
        );
        // What was read of the store before is asked for again.
        let cache = root.join("home/.cache");
        if cache.is_dir() {
            fs::remove_dir_all(cache).expect("removed");
        }
        let log = root.join("log");
        let request = &self.store.address_in(request);
        // SAFETY: The child has one thread, and this process has no other that holds a lock which
        // the child needs.
        match unsafe { libc::fork() } {
            -1 => panic!("no process: {}", std::io::Error::last_os_error()),
            0 => self.run_in_child(request, &root, &log, if faults.ways == 0 { 1 } else { 2 }),
            child => {
                let ending = self.ended(child, &log);
                self.store.calm_down();
                ending
            }
        }
    }

    fn run_in_child(&self, request: &Json, root: &Path, log: &Path, threads: usize) -> ! {
        let shared = self.memory.get();
        shared.become_client();
        let prepared = || -> std::io::Result<()> {
            let log = fs::File::create(log)?;
            // SAFETY: Both descriptors are open. The process has one thread, so nothing reads the
            // environment meanwhile.
            unsafe {
                libc::dup2(std::os::fd::AsRawFd::as_raw_fd(&log), 2);
                std::env::set_var("RAYON_NUM_THREADS", threads.to_string());
                std::env::set_var("POLARS_MAX_THREADS", threads.to_string());
                std::env::set_var("TMPDIR", root.join("temporary"));
                // Not the user's settings.
                std::env::set_var("HOME", root.join("home"));
                for (name, folder) in HOMES {
                    std::env::set_var(name, root.join("home").join(folder));
                }
                for (name, value) in self.store.variables() {
                    std::env::set_var(name, value);
                }
                libc::alarm(PATIENCE.as_secs() as u32);
            }
            std::env::set_current_dir(root)?;
            shared.intercept()
        };
        let run = || {
            let mut request = request.clone();
            let name = request
                .as_object_mut()
                .and_then(|fields| fields.remove("command"));
            let name = name.as_ref().and_then(Json::as_str).unwrap_or_default();
            let operation = AnyOperation::from_request(name, request)?;
            operation.run(&JobContext::default())
        };
        match prepared() {
            Err(error) => shared.say(STOPPED, &format!("prepared nothing: {error}")),
            Ok(()) => {
                let ended = catch_unwind(AssertUnwindSafe(run));
                shared.disarm();
                match ended {
                    Ok(Ok(output)) if output.is_sound() => {
                        shared.say(DONE, &output.to_json().to_string())
                    }
                    Ok(Ok(output)) => shared.say(DONE_UNSOUND, &output.to_json().to_string()),
                    Ok(Err(error)) => shared.say(FAILED, &error.report()),
                    Err(_) => shared.say(STOPPED, "it panicked"),
                }
            }
        }
        // SAFETY: Ends the process without what the test's own process would do at its end.
        unsafe { libc::_exit(0) }
    }

    fn ended(&self, child: libc::pid_t, log: &Path) -> Result<Ending, String> {
        let mut status = 0;
        // SAFETY: Waits for the own child.
        while unsafe { libc::waitpid(child, &mut status, 0) } == -1 {}
        let shared = self.memory.get();
        let said = || fs::read_to_string(log).unwrap_or_default();
        match shared.ending.load(std::sync::atomic::Ordering::Acquire) {
            DONE => Ok(Ending::Done {
                is_sound: true,
                said: shared.message(),
            }),
            DONE_UNSOUND => Ok(Ending::Done {
                is_sound: false,
                said: shared.message(),
            }),
            FAILED => Ok(Ending::Failed(shared.message())),
            STOPPED => Err(format!("{}\n{}", shared.message(), said())),
            _ if libc::WIFSIGNALED(status) && libc::WTERMSIG(status) == libc::SIGKILL => {
                Ok(Ending::Killed)
            }
            _ if libc::WIFSIGNALED(status) && libc::WTERMSIG(status) == libc::SIGALRM => {
                Err(format!("it hangs\n{}", said()))
            }
            _ => Err(format!("it ended with status {status:#x}\n{}", said())),
        }
    }

    /// What the step makes of the present outputs, with the other version of `source` where one is
    /// given. The outputs stay.
    pub fn expected(
        &mut self,
        step: &'static Step,
        source: Option<&str>,
        history: &[String],
    ) -> Result<Expected, String> {
        let (old, _) = self.state();
        let mut history = history.to_vec();
        history.extend(source.map(str::to_owned));
        if step.uses_store() {
            history.push(format!("{:?}", self.store.kind));
        }
        let key = (step.name, world::key_of(&old), history);
        if let Some(known) = self.known.get(&key) {
            return Ok(known.clone());
        }
        let kept = self.workspace.path("kept");
        for name in world::CHANGED {
            crate::support::copy_folder(&self.workspace.path(name), &kept.join(name));
        }
        self.store.keep();
        self.exchange(source);
        let request = (step.request)();
        let ending = self.run(&request, &RunFaults::default());
        let shared = self.memory.get();
        let (counts, requests) = (shared.counts(), shared.requests());
        let clock_readings = shared.clock_readings();
        let (new, hidden) = self.state();
        // Those at the store are turned back at the end of a run.
        if source != Some(STORE_SOURCES) {
            self.exchange(source);
        }
        self.store.go_back();
        for name in world::CHANGED {
            fs::remove_dir_all(self.workspace.path(name)).expect("removed");
            fs::rename(kept.join(name), self.workspace.path(name)).expect("back");
        }
        fs::remove_dir_all(&kept).expect("removed");
        let new = match ending? {
            Ending::Done { .. } => Some(new),
            Ending::Failed(error) if new != old => {
                return Err(format!(
                    "without a fault it fails and changes outputs: {error}\n{new:#?}"
                ));
            }
            Ending::Failed(_) => None,
            Ending::Killed => return Err("without a fault it was killed".into()),
        };
        if !hidden.is_empty() {
            return Err(format!("without a fault it leaves {hidden:?}"));
        }
        let expected = Expected {
            new,
            counts,
            requests,
            clock_readings,
        };
        if self.known.len() >= REMEMBERED {
            self.known.clear();
        }
        self.known.insert(key, expected.clone());
        Ok(expected)
    }

    /// The outputs, those at the store too, and what belongs to none.
    fn state(&self) -> (State, Vec<String>) {
        let (mut shown, mut hidden) = world::state(&self.workspace);
        let (objects, uploads) = self.store.contents();
        shown.extend(
            objects
                .into_iter()
                .map(|(key, sum)| (format!("{AT_STORE}{key}"), sum)),
        );
        hidden.extend((0..uploads).map(|_| "an unfinished upload".to_owned()));
        (shown, hidden)
    }

    /// A source and its other version exchange their names; those at the store until the next run
    /// ends.
    pub fn exchange(&self, source: Option<&str>) {
        let Some(source) = source else { return };
        if source == STORE_SOURCES {
            return self.store.exchange_sources();
        }
        let [one, other, aside] =
            [source, &world::other(source), "aside"].map(|name| self.workspace.path(name));
        let turned = fs::rename(&one, &aside)
            .and_then(|()| fs::rename(&other, &one))
            .and_then(|()| fs::rename(&aside, &other));
        turned.expect("exchanged");
    }

    /// Runs the chain of a seed.
    fn run_seed(&mut self, seed: u64) -> Result<Story, Story> {
        let mut random = Random::new(seed);
        self.store.kind = KINDS[random.below(KINDS.len())];
        let mut story = format!("seed {seed}, {:?}\n", self.store.kind);
        world::restore(&self.workspace);
        self.store.clear();
        let mut history = Vec::new();
        for _ in 0..LENGTH {
            let step = &STEPS[random.below(STEPS.len())];
            match self.run_step(step, &mut random, &mut history, &mut story) {
                Ok(true) => {}
                Ok(false) => break,
                Err(wrong) => return Err(format!("{story}{wrong}")),
            }
        }
        Ok(story)
    }

    /// False when nothing can follow: the step fails in any case, and did not clear up.
    fn run_step(
        &mut self,
        step: &'static Step,
        random: &mut Random,
        history: &mut Vec<String>,
        story: &mut Story,
    ) -> Result<bool, String> {
        let _ = writeln!(story, "- {}", step.name);
        let expected = self.expected(step, None, history)?;
        let source =
            (!step.sources.is_empty()).then(|| step.sources[random.below(step.sources.len())]);
        let requests = choose_of_store(random, expected.requests, step.reads_store);
        let faults = if requests.is_empty() {
            choose(random, &expected.counts, source.is_some())
        } else {
            Vec::new()
        };
        let ways = if random.below(3) == 0 {
            random.next() | 1
        } else {
            0
        };
        let faults = RunFaults {
            calls: faults,
            requests,
            source,
            ways,
            jump: choose_jump(random, expected.clock_readings),
        };
        self.run_with_faults(step, faults, history, story)
    }

    /// Runs a step with these faults, as [`Simulation::run_step`].
    pub fn run_with_faults(
        &mut self,
        step: &'static Step,
        faults: RunFaults,
        history: &mut Vec<String>,
        story: &mut Story,
    ) -> Result<bool, String> {
        let (old, _) = self.state();
        let expected = self.expected(step, None, history)?;
        let is_exchanged = |fault: &Fault| fault.action == Action::Exchange;
        let is_exchanged_there = |fault: &StoreFault| fault.action == StoreAction::Exchange;
        let other = if step.reads_store && faults.requests.iter().any(is_exchanged_there) {
            Some(STORE_SOURCES)
        } else {
            faults
                .source
                .filter(|_| faults.calls.iter().any(is_exchanged))
        };
        let with_other = match other {
            Some(_) => self.expected(step, other, history)?.new,
            None => None,
        };
        if let Some(ClockJump { number, seconds }) = faults.jump {
            let _ = writeln!(story, "  the clock jumps {seconds} s at reading {number}");
        }
        for fault in &faults.requests {
            let _ = writeln!(story, "  {:?} of request {}", fault.action, fault.number);
        }
        let source = faults.source;
        for fault in &faults.calls {
            let _ = writeln!(
                story,
                "  {fault}{}",
                if fault.action == Action::Exchange {
                    format!(" of {source:?}")
                } else {
                    String::new()
                }
            );
        }
        let chosen_calls = Hits {
            calls: faults.calls.clone(),
            requests: Vec::new(),
        };
        // A second fault may meet what undoes the first.
        let may_stay_changed = chosen_calls.have_ended() || chosen_calls.count() > 1;
        let changed = step.changes.filter(|_| may_stay_changed);
        let reading = changed.map(|dataset| self.reading(dataset)).transpose()?;
        let before = world::inodes(&self.workspace);
        let request = (step.request)();
        let chosen = faults.calls.len() + faults.requests.len();
        let ending = self.run(&request, &faults)?;
        let (calls, subjects): (Vec<Fault>, Vec<String>) =
            self.memory.get().hits().into_iter().unzip();
        let hits = Hits {
            calls,
            requests: self.memory.get().request_hits(),
        };
        if self.memory.get().is_exchanged() {
            self.exchange(source);
        }
        let has_lost_power = hits
            .calls
            .iter()
            .any(|fault| fault.action == Action::PowerLoss);
        if has_lost_power {
            world::lose(&self.workspace, &self.memory.get().unsynced(), &before);
        }
        if let Some(jump) = faults.jump
            && self.memory.get().clock_readings() >= jump.number
        {
            self.count("fault: jump of the clock");
        }
        for fault in &hits.calls {
            self.count(format!(
                "fault: {} at {:?}",
                fault.action.name(),
                fault.kind
            ));
        }
        for action in &hits.requests {
            self.count(format!("fault: {}", action.name()));
        }
        let _ = writeln!(
            story,
            "  {ending:?}, after {} of {chosen} faults: {subjects:?}",
            hits.count()
        );
        let is_done = matches!(ending, Ending::Done { .. });
        let mut interrupted = None;
        let outcome = match (changed, reading) {
            (Some(dataset), Some(old))
                if !is_done && hits.have_ended() && expected.new.is_some() =>
            {
                let found = self.reading(dataset)?;
                let is_old = found == old;
                interrupted = Some((dataset, found)).filter(|_| !is_old);
                if is_old { "old" } else { "new rows" }
            }
            (changed, reading) => {
                let judged = self.judge(step, &old, &expected, with_other.as_ref(), &hits, &ending);
                match (judged, changed, reading) {
                    (Err(_), Some(dataset), Some(old))
                        if !is_done && hits.calls.len() > 1 && self.reading(dataset)? == old =>
                    {
                        "not undone"
                    }
                    (judged, ..) => judged?,
                }
            }
        };
        let kind = hits.name();
        let place = if expected.requests > 0 {
            format!(" | {:?}", self.store.kind)
        } else {
            String::new()
        };
        self.count(format!(
            "outcome: {}{place} | {kind} | {outcome}",
            step.name
        ));
        self.count(format!("steps: {outcome}"));
        // The next start after a kill, or when the disk works again, completes the same step.
        let is_unfinished =
            ["broken disk", "not cleared up", "not undone", "incomplete"].contains(&outcome);
        if ending == Ending::Killed || hits.have_ended() || is_unfinished {
            if expected.new.is_none() {
                return Ok(false);
            }
            self.finish_later(step, &expected, history)?;
            // What a reader saw before was either the old rows or those of the finished step.
            if let Some((dataset, found)) = interrupted
                && self.reading(dataset)? != found
            {
                return Err(format!(
                    "{} leaves neither the old nor the new rows: {found:?}",
                    step.name
                ));
            }
        }
        if step.is_of_plan {
            // What a plan keeps about itself is no output, and later steps depend on it.
            history.push(format!("{} {outcome}", step.name));
        }
        Ok(true)
    }

    /// Compares what a run left with what it may leave; returns the name of the outcome.
    fn judge(
        &self,
        step: &Step,
        old: &State,
        expected: &Expected,
        with_other: Option<&State>,
        hits: &Hits,
        ending: &Ending,
    ) -> Result<&'static str, String> {
        let (found, hidden) = self.state();
        let is_new = expected.new.as_ref() == Some(&found) || with_other == Some(&found);
        // A folder that was made for an output may be left empty.
        let is_old = found == *old || without_empty_folders(&found) == without_empty_folders(old);
        let shown = || {
            format!(
                "{ending:?}\nleft beside: {hidden:?}\n{}",
                difference(old, expected.new.as_ref(), &found)
            )
        };
        // Readers open this object first; without it a folder at a store is no dataset.
        let is_incomplete = step
            .last_object
            .is_some_and(|last| !found.contains_key(&format!("{AT_STORE}{last}")));
        let hides_newest = hits.have(|action| action == StoreAction::HideNewest);
        match ending {
            Ending::Killed | Ending::Failed(_) if !is_new && !is_old && is_incomplete => {
                Ok("incomplete")
            }
            // What a list does not show is not removed; nothing of the new refers to it.
            Ending::Done { .. }
                if hides_newest
                    && expected
                        .new
                        .as_ref()
                        .is_some_and(|new| adds(&found, new, old)) =>
            {
                Ok("new beside some of the old")
            }
            Ending::Done {
                is_sound: false, ..
            } if is_old => Ok("refused"),
            Ending::Done {
                is_sound: false, ..
            } if expected
                .new
                .as_ref()
                .is_some_and(|new| new.keys().eq(found.keys())) =>
            {
                Ok("kept some")
            }
            Ending::Done { .. } if !is_new => Err(format!(
                "{} reports success without the new: {}",
                step.name,
                shown()
            )),
            Ending::Failed(_)
                if !is_new && !is_old && hidden.iter().any(|name| name.ends_with(".old")) =>
            {
                Ok("broken disk")
            }
            Ending::Failed(_) if !is_new && !is_old => Err(format!(
                "{} leaves neither the old nor the new: {}",
                step.name,
                shown()
            )),
            // Whatever removes a file fails too.
            Ending::Done { .. } | Ending::Failed(_)
                if hits
                    .calls
                    .iter()
                    .any(|fault| matches!(fault.action, Action::FailFromNow(_))) =>
            {
                Ok("broken disk")
            }
            Ending::Done { .. } | Ending::Failed(_)
                if !hidden.is_empty() && !may_fail_to_clear_up(hits, is_old && !is_new) =>
            {
                Err(format!(
                    "{} leaves something behind: {}",
                    step.name,
                    shown()
                ))
            }
            Ending::Killed if !is_new && !is_old && hidden.is_empty() => Err(format!(
                "{} leaves neither the old nor the new after a kill: {}",
                step.name,
                shown()
            )),
            Ending::Done { .. } | Ending::Failed(_) if !hidden.is_empty() => Ok("not cleared up"),
            _ if is_new && is_old => Ok("same"),
            _ if is_new => Ok("new"),
            _ if is_old => Ok("old"),
            _ => Ok("interrupted"),
        }
    }

    /// What all rows of a dataset are, as a reader sees them.
    fn reading(&mut self, dataset: &str) -> Result<Reading, String> {
        match self.run(
            &json!({"command": "query", "input": dataset}),
            &RunFaults::default(),
        )? {
            Ending::Done { said, .. } => Ok(Ok(said)),
            Ending::Failed(error) => Ok(Err(error)),
            Ending::Killed => Err(format!("a query of {dataset} was killed")),
        }
    }

    /// The step runs again without a fault. One that was complete and reads its own output may have
    /// nothing left to do, and says so.
    fn finish_later(
        &mut self,
        step: &Step,
        expected: &Expected,
        history: &[String],
    ) -> Result<(), String> {
        let was_complete = expected.new.as_ref() == Some(&self.state().0);
        let ending = self.run(&(step.request)(), &RunFaults::default())?;
        let (found, hidden) = self.state();
        let may_fail = was_complete && step.changes.is_some();
        if (may_fail || matches!(ending, Ending::Done { .. }))
            && hidden.is_empty()
            && expected.new.as_ref() == Some(&found)
        {
            return Ok(());
        }
        let old = State::new();
        let shown = difference(&old, expected.new.as_ref(), &found);
        Err(format!(
            "the next start of {}: {ending:?}\nleft beside: {hidden:?}\n{history:?}\n{shown}",
            step.name
        ))
    }
}

/// The faults of the requests of a run; none for a third of the runs that make requests.
fn choose_of_store(random: &mut Random, requests: u64, reads_store: bool) -> Vec<StoreFault> {
    if requests == 0 || random.below(3) == 0 {
        return Vec::new();
    }
    // No step of a chain uploads in parts; the sweep has such a step.
    let can_act = |action: &StoreAction| match action {
        StoreAction::FailToJoin => false,
        StoreAction::Exchange => reads_store,
        _ => true,
    };
    let actions: Vec<StoreAction> = StoreAction::ALL.into_iter().filter(can_act).collect();
    let fault = |random: &mut Random| {
        let action = actions[random.below(actions.len())];
        StoreFault {
            number: 1 + random.below(requests as usize) as u64,
            action,
        }
    };
    let count = 1 + random.below(2);
    (0..count).map(|_| fault(random)).collect()
}

/// A jump of the clock, in one of four runs.
fn choose_jump(random: &mut Random, readings: u64) -> Option<ClockJump> {
    if readings == 0 || random.below(4) != 0 {
        return None;
    }
    Some(ClockJump {
        number: 1 + random.below(readings as usize) as u64,
        seconds: ClockJump::SECONDS[random.below(ClockJump::SECONDS.len())],
    })
}

/// The faults of a run, at calls that the run without faults makes.
fn choose(random: &mut Random, counts: &[u64; Kind::ALL.len()], has_source: bool) -> Vec<Fault> {
    let made: Vec<Kind> = Kind::ALL
        .into_iter()
        .filter(|kind| counts[*kind as usize] > 0)
        .collect();
    if made.is_empty() {
        return Vec::new();
    }
    let place = |random: &mut Random, kinds: &[Kind]| {
        let kind = kinds[random.below(kinds.len())];
        (
            kind,
            1 + random.below(counts[kind as usize] as usize) as u64,
        )
    };
    let failing = |random: &mut Random, from_now: bool| {
        let (kind, number) = place(random, &made);
        let error = kind.errors()[random.below(kind.errors().len())];
        // A call that is interrupted for ever is no error that a disk has.
        let error = if from_now && error == libc::EINTR {
            libc::EIO
        } else {
            error
        };
        let action = if from_now {
            Action::FailFromNow(error)
        } else {
            Action::Fail(error)
        };
        Fault {
            kind,
            number,
            action,
        }
    };
    let ending = |random: &mut Random, action: Action| {
        let (kind, number) = place(random, &made);
        Fault {
            kind,
            number,
            action,
        }
    };
    let short = |random: &mut Random| {
        let kinds: Vec<Kind> = made
            .iter()
            .copied()
            .filter(|kind| matches!(kind, Kind::Read | Kind::Write))
            .collect();
        if kinds.is_empty() {
            return None;
        }
        let (kind, number) = place(random, &kinds);
        Some(Fault {
            kind,
            number,
            action: Action::Shorten,
        })
    };
    let mut faults = match random.below(20) {
        0..2 => Vec::new(),
        2..8 => vec![failing(random, false)],
        8..10 => vec![failing(random, true)],
        10..12 => vec![failing(random, false), failing(random, false)],
        12..15 => vec![ending(random, Action::Kill)],
        15..17 => vec![ending(random, Action::PowerLoss)],
        17..19 if has_source => vec![ending(random, Action::Exchange)],
        17..19 => vec![ending(random, Action::Kill)],
        _ if has_source => vec![ending(random, Action::Exchange), failing(random, false)],
        _ => vec![failing(random, false), ending(random, Action::Kill)],
    };
    if random.below(4) == 0 {
        faults.extend(short(random));
    }
    faults
}

/// Whether faults may have met what removes temporary files: directly, or by what it has to look at
/// after an earlier fault or at the end. `is_old` for a run that changed nothing; one that writes
/// what is there already comes to its end, too.
fn may_fail_to_clear_up(hits: &Hits, is_old: bool) -> bool {
    // A store that does not answer may keep what it has.
    hits.have(|action| matches!(action, StoreAction::RefuseFromNow(_)))
        || hits.calls.iter().any(|fault| match fault.kind {
            Kind::Remove => true,
            Kind::Look | Kind::Open => hits.calls.len() > 1 || !is_old,
            _ => false,
        })
}

/// Whether a state is `new` and objects at the store that are in `old` alone.
fn adds(found: &State, new: &State, old: &State) -> bool {
    let is_left = |name: &String, sum: &String| {
        name.starts_with(AT_STORE) && !new.contains_key(name) && old.get(name) == Some(sum)
    };
    let is_known =
        |(name, sum): (&String, &String)| new.get(name) == Some(sum) || is_left(name, sum);
    found != new && found.iter().all(is_known) && new.keys().all(|name| found.contains_key(name))
}

/// A state without folders that have nothing in them.
fn without_empty_folders(state: &State) -> State {
    let has_file = |folder: &str| {
        state
            .keys()
            .any(|name| name.starts_with(folder) && !name.ends_with('/'))
    };
    state
        .iter()
        .filter(|(name, _)| !name.ends_with('/') || has_file(name))
        .map(|(name, sum)| (name.clone(), sum.clone()))
        .collect()
}

/// What differs between states, for a person.
fn difference(old: &State, new: Option<&State>, found: &State) -> String {
    let none = State::new();
    let new = new.unwrap_or(&none);
    let names = old
        .keys()
        .chain(new.keys())
        .chain(found.keys())
        .collect::<std::collections::BTreeSet<_>>();
    let mut text = String::new();
    for name in names {
        let [old, new, found] = [old, new, found].map(|state| state.get(name));
        let is = match found {
            _ if old == new && found == old => continue,
            None => "missing",
            Some(_) if found == old => "old",
            Some(_) if found == new => "new",
            Some(_) => "OTHER",
        };
        let _ = writeln!(
            text,
            "  {name}: {is} (old {}, new {})",
            old.is_some(),
            new.is_some()
        );
    }
    text
}

pub fn number_of(variable: &str) -> Option<u64> {
    std::env::var(variable).ok()?.parse().ok()
}

/// Tries the seeds of this process, and prints what it found.
#[test]
fn a_process_of_the_simulation() {
    let [Some(first), Some(end), Some(step)] =
        ["FIRST", "END", "STEP"].map(|name| number_of(&format!("TACO_STUDIO_SIMULATION_{name}")))
    else {
        return;
    };
    let mut simulation = Simulation::new();
    let (mut tried, mut failed) = (0_u64, 0_u64);
    for seed in (first..end).step_by(step as usize) {
        tried += 1;
        match simulation.run_seed(seed) {
            Ok(story) if step == 1 && end - first == 1 => println!("{story}"),
            Ok(_) => {}
            Err(story) => {
                failed += 1;
                if let Some(folder) = std::env::var_os("TACO_STUDIO_SIMULATION_KEEP") {
                    crate::support::copy_folder(
                        &simulation.workspace.path(""),
                        &Path::new(&folder).join(seed.to_string()),
                    );
                }
                println!("FAILED {story}");
                let _ = std::io::stdout().flush();
                if failed >= 20 {
                    break;
                }
            }
        }
    }
    simulation.print_counts(tried, failed);
}

/// Starts a test of this program in a process of its own.
pub fn start(test: &str, variables: &[(&str, u64)]) -> std::process::Child {
    let mut command = Command::new(std::env::current_exe().expect("this program"));
    command.args([test, "--exact", "--nocapture", "--test-threads=1"]);
    for (name, value) in variables {
        command.env(format!("TACO_STUDIO_SIMULATION_{name}"), value.to_string());
    }
    let memory = Path::new("/dev/shm");
    if memory.is_dir() {
        command.env("TMPDIR", memory);
    }
    // Dates in outputs are the same in every run.
    command.env("SOURCE_DATE_EPOCH", "1700000000");
    command
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .spawn()
        .expect("starts")
}

/// Waits for the processes of a simulation. Returns the number of tries and what was counted.
///
/// # Panics
/// With what the processes printed, when one failed.
pub fn gather_counts(children: Vec<std::process::Child>) -> (u64, BTreeMap<String, u64>) {
    let outputs: Vec<_> = children
        .into_iter()
        .map(|child| child.wait_with_output().expect("ends"))
        .collect();
    let mut tally: BTreeMap<String, u64> = BTreeMap::new();
    let (mut tried, mut failures) = (0, String::new());
    for output in &outputs {
        let text = String::from_utf8_lossy(&output.stdout);
        for line in text.lines() {
            if let Some((count, what)) = line
                .strip_prefix("TALLY ")
                .and_then(|rest| rest.split_once(' '))
            {
                *tally.entry(what.to_owned()).or_default() +=
                    count.parse::<u64>().unwrap_or_default();
            }
            if let Some(rest) = line.strip_prefix("TRIED ") {
                tried += rest
                    .split(' ')
                    .next()
                    .and_then(|count| count.parse::<u64>().ok())
                    .unwrap_or_default();
            }
        }
        if !output.status.success() {
            failures += &text;
        }
    }
    tally
        .iter()
        .for_each(|(what, count)| println!("{count:8} {what}"));
    assert!(failures.is_empty(), "{failures}");
    (tried, tally)
}

#[test]
fn seeds_of_faults_leave_the_old_or_the_new_whole() {
    if let Err(reason) = faults::can_intercept() {
        assert!(std::env::var_os("CI").is_none(), "{reason}");
        println!("skipped: {reason}");
        return;
    }
    let count = number_of("TACO_STUDIO_SIMULATE").unwrap_or(FEW);
    let first = number_of("TACO_STUDIO_SIMULATE_FROM").unwrap_or(1);
    let processes = std::thread::available_parallelism()
        .map_or(1, |count| count.get() as u64)
        .min(count);
    let clock = Instant::now();
    let process = |at| {
        let variables = [
            ("FIRST", first + at),
            ("END", first + count),
            ("STEP", processes),
        ];
        start("simulation::runs::a_process_of_the_simulation", &variables)
    };
    let (tried, tally) = gather_counts((0..processes).map(process).collect());
    println!("{tried} seeds in {:.0} s", clock.elapsed().as_secs_f64());
    assert_eq!(tried, count, "every seed was tried");
    assert!(
        count < FEW
            || tally
                .keys()
                .filter(|what| what.starts_with("fault: "))
                .count()
                > 30,
        "faults of every kind"
    );
}
