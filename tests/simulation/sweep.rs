//! Each fault of a store at each request of the operations that read or write there, at each kind
//! of store.

use super::faults::{self, StoreAction, StoreFault};
use super::runs::{Ending, RunFaults, Simulation, Story, gather_counts, number_of, start};
use super::steps::{LARGE, STEPS, Step};
use super::store::KINDS;
use super::world;
use crate::support::nightly_or;

/// Bytes of the large sample: four parts of an upload.
const LARGE_BYTES: usize = 26 << 20;

/// A step, and the one whose output there is before, made of the other version of the sources.
struct Case {
    before: Option<&'static str>,
    step: &'static str,
}

const fn fresh(step: &'static str) -> Case {
    Case { before: None, step }
}

const fn over(before: &'static str, step: &'static str) -> Case {
    Case {
        before: Some(before),
        step,
    }
}

const CASES: [Case; 17] = [
    fresh(LARGE.name),
    fresh("create a ZIP at a store"),
    over("create a ZIP at a store", "create a ZIP at a store"),
    over("create a ZIP at a store", "convert the ZIP at the store"),
    fresh("convert a ZIP to a FOLDER at a store"),
    over(
        "convert a ZIP to a FOLDER at a store",
        "convert a ZIP to a FOLDER at a store",
    ),
    over(
        "convert a ZIP to a FOLDER at a store",
        "convert the FOLDER at the store",
    ),
    fresh("publish a FOLDER at a store"),
    over("publish a FOLDER at a store", "publish a FOLDER at a store"),
    fresh("create parts and an index at a store"),
    over(
        "create parts and an index at a store",
        "create parts and an index at a store",
    ),
    fresh("consolidate parts at a store"),
    fresh("consolidate parts at a store into it"),
    fresh("collection of parts at a store"),
    fresh("convert an index at a store"),
    fresh("convert a FOLDER at a store"),
    fresh("convert a ZIP at a store into it"),
];

fn step_of(name: &str) -> &'static Step {
    static LARGE_STEP: Step = LARGE;
    let mut steps = STEPS.iter().chain([&LARGE_STEP]);
    steps.find(|step| step.name == name).expect("a step")
}

impl Case {
    /// Puts everything as it is before the step.
    fn prepare(&self, simulation: &mut Simulation) -> Result<(), String> {
        world::restore(&simulation.workspace);
        simulation.store.clear();
        let Some(before) = self.before else {
            return Ok(());
        };
        let step = step_of(before);
        let source = step.sources.first().copied();
        simulation.exchange(source);
        let ending = simulation.run(&(step.request)(), &RunFaults::default());
        simulation.exchange(source);
        match ending? {
            Ending::Done { .. } => Ok(()),
            other => Err(format!("{before}: {other:?}")),
        }
    }

    /// Tries each request with each fault, or one pair in `stride`; `shift` chooses which.
    /// Returns the number of tries, and the stories of those that failed.
    fn sweep(
        &self,
        simulation: &mut Simulation,
        (stride, shift): (usize, usize),
    ) -> Result<(u64, Vec<Story>), Story> {
        let step = step_of(self.step);
        self.prepare(simulation)?;
        let requests = simulation.expected(step, None, &[])?.requests;
        let (mut tried, mut failed) = (0, Vec::new());
        for number in 1..=requests {
            for (at, action) in StoreAction::ALL.into_iter().enumerate() {
                // Another fault for each case and store, so that the whole has all.
                let turn = at + number as usize + 5 * (simulation.store.kind as usize) + shift;
                if !turn.is_multiple_of(stride) {
                    continue;
                }
                let kind = simulation.store.kind;
                let mut story = format!("{kind:?}: {} of {requests} requests\n", self.step);
                self.prepare(simulation)?;
                let faults = RunFaults {
                    requests: vec![StoreFault { number, action }],
                    ..RunFaults::default()
                };
                let run = simulation.run_with_faults(step, faults, &mut Vec::new(), &mut story);
                failed.extend(run.err().map(|wrong| format!("{story}{wrong}")));
                tried += 1;
            }
        }
        Ok((tried, failed))
    }
}

/// Tries the cases of this process, and prints what it found.
#[test]
fn a_process_of_the_sweep() {
    let [Some(kind), Some(first), Some(step), Some(stride)] = ["KIND", "CASE", "CASES", "STRIDE"]
        .map(|name| number_of(&format!("TACO_STUDIO_SIMULATION_{name}")))
    else {
        return;
    };
    let mut simulation = Simulation::new();
    let bytes: Vec<u8> = (0..LARGE_BYTES as u32 / 4)
        .flat_map(|number| number.wrapping_mul(2_654_435_761).to_le_bytes())
        .collect();
    simulation.workspace.write("large/large.bin", bytes);
    simulation.store.kind = KINDS[kind as usize];
    let (mut tried, mut failed) = (0, 0);
    let cases = CASES.iter().enumerate();
    for (at, case) in cases.skip(first as usize).step_by(step as usize) {
        let (count, stories) = match case.sweep(&mut simulation, (stride as usize, at)) {
            Ok(found) => found,
            Err(story) => (1, vec![story]),
        };
        tried += count;
        failed += stories.len() as u64;
        stories.iter().for_each(|story| println!("FAILED {story}"));
    }
    simulation.print_counts(tried, failed);
}

#[test]
fn every_fault_of_a_store_at_every_request_leaves_the_old_or_the_new_whole() {
    if let Err(reason) = faults::can_intercept() {
        assert!(std::env::var_os("CI").is_none(), "{reason}");
        println!("skipped: {reason}");
        return;
    }
    // Most of the time is pauses between tries.
    let processes = 3;
    let stride = nightly_or(StoreAction::ALL.len(), 1) as u64;
    let starts = (0..KINDS.len() as u64).flat_map(|kind| (0..processes).map(move |at| (kind, at)));
    let children = starts.map(|(kind, at)| {
        let variables = [
            ("KIND", kind),
            ("CASE", at),
            ("CASES", processes),
            ("STRIDE", stride),
        ];
        start("simulation::sweep::a_process_of_the_sweep", &variables)
    });
    let (tried, tally) = gather_counts(children.collect());
    let outcomes = tally.keys().filter(|what| what.starts_with("outcome: "));
    assert!(tried > 100 && outcomes.count() > 50, "{tried}: {tally:#?}");
}
