//! Records steps of the interface thread that exceed a time limit. Off unless a test turns it on.

use std::time::{Duration, Instant};

/// Most recorded steps.
const KEPT: usize = 1000;

/// One step that took too long.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SlowStep {
    /// The step: the name of a panel or phase.
    pub what: String,
    pub took: Duration,
}

#[derive(Clone, Debug, Default)]
pub struct FrameWatchdog {
    limit: Option<Duration>,
    slow: Vec<SlowStep>,
}

impl FrameWatchdog {
    /// Starts recording steps that exceed `limit`.
    pub fn start(&mut self, limit: Duration) {
        (self.limit, self.slow) = (Some(limit), Vec::new());
    }

    /// The beginning of a step.
    pub fn begin(&self) -> Option<Instant> {
        self.limit.map(|_| Instant::now())
    }

    /// The end of a step.
    pub fn end(&mut self, began: Option<Instant>, what: impl FnOnce() -> String) {
        let Some((limit, began)) = self.limit.zip(began) else {
            return;
        };
        let took = began.elapsed();
        if took > limit && self.slow.len() < KEPT {
            self.slow.push(SlowStep { what: what(), took });
        }
    }

    /// The recorded steps in order.
    pub fn slow(&self) -> &[SlowStep] {
        &self.slow
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_slow_steps_are_kept_and_only_when_it_watches() {
        let mut watch = FrameWatchdog::default();
        watch.end(watch.begin(), || "off".into());
        assert!(watch.slow().is_empty());
        watch.start(Duration::from_millis(5));
        watch.end(watch.begin(), || "quick".into());
        let began = watch.begin();
        std::thread::sleep(Duration::from_millis(8));
        watch.end(began, || "slow".into());
        assert_eq!(
            watch
                .slow()
                .iter()
                .map(|slow| slow.what.as_str())
                .collect::<Vec<_>>(),
            ["slow"]
        );
    }
}
