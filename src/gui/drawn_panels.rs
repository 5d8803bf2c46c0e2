//! Which panels have been drawn for the open document. The first frame of a document has to lay out
//! every text of every panel; where that takes long, the panels appear in consecutive frames, so
//! that no frame takes as long as all of them.

use std::collections::HashSet;
use std::time::{Duration, Instant};

use super::pane::Pane;

/// The panels drawn for a document, and the present frame.
#[derive(Debug)]
pub struct DrawnPanels {
    drawn: HashSet<Pane>,
    /// Beginning of the present frame.
    pub began: Instant,
    /// Panels that the present frame has drawn for the first time.
    fresh: usize,
    /// True when a panel of the present frame waits for the next one.
    pub wait: bool,
}

impl Default for DrawnPanels {
    fn default() -> Self {
        Self {
            drawn: HashSet::new(),
            began: Instant::now(),
            fresh: 0,
            wait: false,
        }
    }
}

impl DrawnPanels {
    pub fn begin_frame(&mut self) {
        (self.began, self.fresh, self.wait) = (Instant::now(), 0, false);
    }

    /// True when the present frame has drawn a panel for the first time.
    pub fn has_new(&self) -> bool {
        self.fresh > 0
    }

    /// True when the panel is to be drawn in this frame: it was drawn before, is the first new one
    /// of the frame, or the frame is younger than `limit`.
    pub fn may_draw(&mut self, pane: Pane, limit: Duration) -> bool {
        if self.drawn.contains(&pane) {
            return true;
        }
        if self.fresh > 0 && self.began.elapsed() > limit {
            self.wait = true;
            return false;
        }
        self.fresh += 1;
        self.drawn.insert(pane)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_late_frame_draws_one_new_panel_and_all_that_were_drawn_before() {
        let mut panels = DrawnPanels::default();
        let late = Duration::ZERO;
        let frame = |panels: &mut DrawnPanels, limit| {
            panels.begin_frame();
            std::thread::sleep(Duration::from_millis(1));
            [Pane::Hierarchy, Pane::Table, Pane::Sample].map(|pane| panels.may_draw(pane, limit))
        };
        assert_eq!(
            (frame(&mut panels, late), panels.wait),
            ([true, false, false], true)
        );
        assert_eq!(
            (frame(&mut panels, late), panels.wait),
            ([true, true, false], true)
        );
        assert_eq!(
            (frame(&mut panels, late), panels.wait),
            ([true, true, true], false)
        );
        let mut quick = DrawnPanels::default();
        assert_eq!(
            (frame(&mut quick, Duration::from_secs(60)), quick.wait),
            ([true; 3], false)
        );
    }
}
