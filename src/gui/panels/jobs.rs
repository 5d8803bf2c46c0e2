//! What is running and what has ended.

use std::time::Duration;

use egui::{Frame, Margin, RichText, ScrollArea, Ui};

use crate::gui::cx::Cx;
use crate::gui::icons;
use crate::gui::theme::{self, font};
use crate::gui::widgets::{self, Button, EmptyState, paint};
use crate::jobs::{JobId, Progress};
use crate::studio::{Command, JobView};

/// Ended jobs that are kept.
const KEPT: usize = 50;

/// How a job ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    /// Done.
    Done,
    /// Stopped; nothing was changed.
    Cancelled,
    /// Failed.
    Failed,
}

struct Ended {
    label: String,
    end: End,
    detail: String,
    took: Duration,
}

/// What the panel keeps. Outlives the document.
#[derive(Default)]
pub struct JobsState {
    /// The jobs as they were when last looked at, to tell which ended.
    running: Vec<JobView>,
    ended: Vec<Ended>,
    ends: Vec<(JobId, End, String)>,
}

impl JobsState {
    /// Remembers how a job ended, until [`JobsState::refresh`] misses it.
    pub fn note(&mut self, job: JobId, end: End, detail: impl Into<String>) {
        self.ends.push((job, end, detail.into()));
    }

    /// Compares with the jobs that run now.
    pub fn refresh(&mut self, now: Vec<JobView>) {
        for job in std::mem::replace(&mut self.running, now) {
            if self.running.iter().any(|running| running.id == job.id) || is_quiet(&job.label) {
                continue;
            }
            let noted = self.ends.iter().position(|(id, ..)| *id == job.id).map(|index| self.ends.remove(index));
            let (end, detail) = noted.map_or((End::Done, String::new()), |(_, end, detail)| (end, detail));
            self.ended.insert(0, Ended { label: job.label, end, detail, took: job.elapsed });
        }
        self.ended.truncate(KEPT);
        self.ends.clear();
    }

    /// The running jobs that people care for.
    pub fn running(&self) -> impl Iterator<Item = &JobView> {
        self.running.iter().filter(|job| !is_quiet(&job.label))
    }
}

/// Previews come and go with every click; they are not listed.
pub fn is_quiet(label: &str) -> bool {
    label.starts_with("Read the raster")
}

/// Draws the panel.
pub fn ui(ui: &mut Ui, cx: &mut Cx<'_>) {
    let t = theme::tokens(ui);
    let running: Vec<JobView> = cx.session.jobs.running().cloned().collect();
    if running.is_empty() && cx.session.jobs.ended.is_empty() {
        let state = EmptyState {
            icon: icons::QUEUE,
            title: "No jobs",
            why: "Opening, checking and writing show here while they run.",
            actions: &[],
        };
        let _ = widgets::empty_state(ui, &state);
        return;
    }
    ScrollArea::vertical().auto_shrink(false).show(ui, |ui| {
        ui.spacing_mut().item_spacing.y = 0.0;
        for job in &running {
            job_ui(ui, cx, job);
        }
        for ended in &cx.session.jobs.ended {
            Frame::NONE.inner_margin(Margin::symmetric(12, 5)).show(ui, |ui| {
                ui.horizontal(|ui| {
                    let (icon, color) = match ended.end {
                        End::Done => (icons::CHECK_CIRCLE, t.ok),
                        End::Cancelled => (icons::STOP, t.tx3),
                        End::Failed => (icons::WARNING_OCTAGON, t.err),
                    };
                    ui.label(RichText::new(icon).font(font::icon(15.0)).color(color));
                    ui.label(RichText::new(&ended.label).font(font::medium(12.0)));
                    ui.label(RichText::new(time_text(ended.took)).font(font::mono(11.0)).color(t.tx3));
                    let detail = if ended.end == End::Cancelled { "Cancelled; nothing was changed" } else { ended.detail.as_str() };
                    ui.add(egui::Label::new(RichText::new(detail).font(font::regular(12.0)).color(t.tx2)).truncate());
                });
            });
            rule(ui);
        }
    });
}

fn rule(ui: &Ui) {
    let rect = ui.min_rect();
    ui.painter().hline(rect.x_range(), rect.bottom() - 0.5, egui::Stroke::new(1.0, theme::tokens(ui).line));
}

fn job_ui(ui: &mut Ui, cx: &mut Cx<'_>, job: &JobView) {
    let t = theme::tokens(ui);
    Frame::NONE.inner_margin(Margin::symmetric(12, 6)).show(ui, |ui| {
        ui.horizontal(|ui| {
            widgets::spinner(ui, 15.0);
            ui.label(RichText::new(&job.label).font(font::medium(12.0)));
            ui.label(RichText::new(&job.progress.stage.name).font(font::regular(12.0)).color(t.tx2));
            ui.with_layout(egui::Layout::right_to_left(egui::Align::Center), |ui| {
                let stopping = job.progress.cancelling.then_some("Stopping at the next safe place");
                if ui.add(Button::danger("Cancel").icon(icons::X).name(format!("Cancel {}", job.label)).blocked(stopping)).clicked()
                {
                    cx.run(Command::Cancel { job: job.id });
                }
                ui.label(RichText::new(detail(&job.progress, job.elapsed)).font(font::mono(11.0)).color(t.tx3));
                if let Some(fraction) = job.progress.fraction() {
                    ui.label(RichText::new(format!("{:.0} %", fraction * 100.0)).font(font::mono(12.0)));
                    widgets::progress_bar(ui, &job.label, fraction, 160.0, 6.0);
                }
            });
        });
    });
    rule(ui);
}

/// Count, rate, time left, time gone.
pub fn detail(progress: &Progress, elapsed: Duration) -> String {
    let mut parts = Vec::new();
    let seconds = elapsed.as_secs_f64();
    match progress.total {
        Some(total) => parts.push(format!("{} of {}", paint::grouped(progress.done), paint::grouped(total))),
        None if progress.done > 0 => parts.push(paint::grouped(progress.done)),
        None => {}
    }
    if progress.bytes > 0 && seconds > 0.5 {
        parts.push(format!("{}/s", paint::bytes((progress.bytes as f64 / seconds) as u64)));
    }
    if let Some(fraction) = progress.fraction().filter(|fraction| *fraction > 0.05 && seconds > 1.0) {
        let left = seconds * f64::from(1.0 - fraction) / f64::from(fraction);
        parts.push(format!("ETA {}", time_text(Duration::from_secs_f64(left))));
    }
    parts.push(time_text(elapsed));
    parts.join("   ")
}

/// `0.4 s`, `51 s`, `2 min 51 s`.
pub fn time_text(time: Duration) -> String {
    let seconds = time.as_secs_f64();
    match seconds {
        s if s < 10.0 => format!("{s:.1} s"),
        s if s < 60.0 => format!("{s:.0} s"),
        s => format!("{} min {} s", s as u64 / 60, s as u64 % 60),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn progress_reads_like_a_sentence() {
        let mut progress = Progress { done: 5962, total: Some(9624), bytes: 842_000_000, ..Progress::default() };
        let text = detail(&progress, Duration::from_secs(10));
        assert_eq!(text, "5\u{2009}962 of 9\u{2009}624   84.2 MB/s   ETA 6.1 s   10 s");
        progress.total = None;
        assert!(!detail(&progress, Duration::from_secs(171)).contains("ETA"));
        assert_eq!(time_text(Duration::from_secs(171)), "2 min 51 s");
    }
}
