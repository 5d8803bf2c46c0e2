//! Throughput of a plan over time: bytes written per second by all processes, and the number of
//! parts being built.

use egui::{Sense, Stroke, Ui, vec2};
use egui_plot::{Bar, BarChart, Line, PlotPoints, VLine};

use crate::gui::theme;
use crate::gui::widgets::paint;
use crate::gui::widgets::plot::{self, Axes};
use crate::ops::plan::{AttemptState, PartState, PlanStatus};

/// Number of times at which the throughput is computed.
const MOMENTS: usize = 120;
/// Height of the plot in points.
const HEIGHT: f32 = 124.0;

/// Throughput from the first attempt to the last record.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Throughput {
    /// First and last time in milliseconds since 1970.
    pub span_ms: (u64, u64),
    /// Bytes per second at evenly spaced times.
    pub bytes_per_second: Vec<f64>,
    /// Number of parts being built at each time.
    pub running: Vec<u32>,
    /// Estimated end of the plan at the current rate, in milliseconds since 1970.
    pub ends_ms: Option<u64>,
}

impl Throughput {
    /// Computes the throughput from the attempts at the parts. Each attempt counts with its mean
    /// rate.
    pub fn from_status(status: &PlanStatus) -> Self {
        let attempts = status
            .parts
            .iter()
            .flat_map(|part| part.attempts.iter().map(move |attempt| (part, attempt)));
        let first = attempts
            .clone()
            .map(|(_, attempt)| attempt.started_ms)
            .min();
        let last = attempts
            .clone()
            .map(|(_, attempt)| attempt.updated_ms)
            .max();
        let (Some(first), Some(last)) = (first, last) else {
            return Self::default();
        };
        let last = last.max(first + 1);
        let step = (last - first) as f64 / MOMENTS as f64;
        let (mut rates, mut running) = (vec![0.0; MOMENTS], vec![0u32; MOMENTS]);
        for (part, attempt) in attempts {
            let seconds =
                attempt.updated_ms.saturating_sub(attempt.started_ms).max(1) as f64 / 1000.0;
            let is_whole = attempt.state == AttemptState::Done && part.state == PartState::Done;
            let bytes = if is_whole {
                part.data_bytes.max(attempt.bytes)
            } else {
                attempt.bytes
            };
            let at = |ms: u64| (ms.saturating_sub(first)) as f64 / step;
            let from = (at(attempt.started_ms).floor() as usize).min(MOMENTS - 1);
            let to = (at(attempt.updated_ms).ceil() as usize).clamp(from + 1, MOMENTS);
            for moment in from..to {
                rates[moment] += bytes as f64 / seconds;
                running[moment] += 1;
            }
        }
        let ends_ms = status.eta_seconds.map(|eta| last + (eta * 1000.0) as u64);
        Self {
            span_ms: (first, last),
            bytes_per_second: rates,
            running,
            ends_ms,
        }
    }

    fn find_moment(&self, seconds: f64) -> Option<usize> {
        let span = (self.span_ms.1 - self.span_ms.0) as f64 / 1000.0;
        let index = seconds / span * self.running.len() as f64;
        (0.0..self.running.len() as f64)
            .contains(&index)
            .then_some(index as usize)
    }

    /// Time, rate and number of parts for the tooltip.
    fn describe_moment(&self, seconds: f64) -> Option<String> {
        let moment = self.find_moment(seconds)?;
        let (rate, parts) = (
            self.bytes_per_second.get(moment)?,
            *self.running.get(moment)?,
        );
        let (time, rate) = (
            format_time_of_day(self.span_ms.0 + (seconds * 1000.0) as u64),
            paint::format_bytes(*rate as u64),
        );
        Some(tr_n!(
            parts,
            "{time}: {rate}/s, {n} part",
            "{time}: {rate}/s, {n} parts",
            n = parts,
            time,
            rate
        ))
    }
}

/// Draws the plot; nothing before the first attempt.
pub fn ui(ui: &mut Ui, throughput: &Throughput) {
    let most = throughput
        .bytes_per_second
        .iter()
        .copied()
        .fold(0.0, f64::max);
    if most <= 0.0 {
        return;
    }
    let t = theme::tokens(ui);
    let span = (throughput.span_ms.1 - throughput.span_ms.0) as f64 / 1000.0;
    let ahead = throughput.ends_ms.map_or(0.0, |end| {
        end.saturating_sub(throughput.span_ms.1) as f64 / 1000.0
    });
    // A long remaining time must not compress the measured part of the axis.
    let right = span + ahead.min(span);
    let (labelled, described) = (throughput.clone(), throughput.clone());
    let axes = Axes {
        x_bounds: 0.0..=right,
        x_ticks: plot::decimal_ticks(0.0, right, 6),
        x_text: Box::new(move |seconds| {
            format_time_of_day(labelled.span_ms.0 + (seconds * 1000.0) as u64)
        }),
        x_title: "",
        y_bounds: 0.0..=most * 1.15,
        y_ticks: plot::decimal_ticks(0.0, most * 1.15, 3),
        y_text: Box::new(|rate| {
            if rate > 0.0 {
                tr!("{rate}/s", rate = paint::format_bytes(rate as u64))
            } else {
                String::new()
            }
        }),
        y_width: 62.0,
    };
    let width = span / throughput.running.len() as f64;
    let at = |moment: usize| (moment as f64 + 0.5) * width;
    let busiest = f64::from(throughput.running.iter().copied().max().unwrap_or(1).max(1));
    let bars = throughput
        .running
        .iter()
        .enumerate()
        .filter(|(_, parts)| **parts > 0);
    // The bars have a scale of their own: the maximum takes a third of the height.
    let bars: Vec<Bar> = bars
        .map(|(moment, parts)| {
            Bar::new(at(moment), f64::from(*parts) / busiest * most / 3.0)
                .width(width)
                .fill(t.line2)
                .stroke(Stroke::NONE)
        })
        .collect();
    let points: PlotPoints<'_> = throughput
        .bytes_per_second
        .iter()
        .enumerate()
        .map(|(moment, rate)| [at(moment), *rate])
        .collect();
    let rate = throughput
        .bytes_per_second
        .iter()
        .rev()
        .find(|rate| **rate > 0.0)
        .copied()
        .unwrap_or_default();
    ui.allocate_space(vec2(0.0, 2.0));
    plot::show_next(
        ui,
        "plan throughput",
        HEIGHT,
        Sense::hover(),
        axes,
        move |seconds| described.describe_moment(seconds),
        |plot| {
            plot.bar_chart(BarChart::new("", bars).allow_hover(false));
            plot.line(
                Line::new("", points)
                    .color(t.acc)
                    .width(1.5)
                    .allow_hover(false),
            );
            if ahead > 0.0 {
                plot.vline(
                    VLine::new("", span)
                        .color(t.tx2)
                        .width(1.0)
                        .allow_hover(false),
                );
                let line = Line::new("", vec![[span, rate], [right, rate]])
                    .color(t.tx3)
                    .style(egui_plot::LineStyle::dashed_loose());
                plot.line(line.allow_hover(false));
            }
        },
    );
}

/// Time of day of `ms` since 1970, in the time zone of this machine.
pub(super) fn format_time_of_day(ms: u64) -> String {
    let time = i64::try_from(ms)
        .ok()
        .and_then(chrono::DateTime::from_timestamp_millis);
    time.map_or_else(String::new, |time| {
        time.with_timezone(&chrono::Local)
            .format("%H:%M:%S")
            .to_string()
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ops::plan::{PartAttempt, PartStatus};

    fn part(number: u32, state: PartState, span: (u64, u64), bytes: u64) -> PartStatus {
        let done = if state == PartState::Done {
            AttemptState::Done
        } else {
            AttemptState::Running
        };
        let attempt = PartAttempt {
            part: number,
            state: done,
            started_ms: span.0,
            updated_ms: span.1,
            bytes,
            ..PartAttempt::default()
        };
        PartStatus {
            number,
            name: String::new(),
            state,
            roots: 1,
            data_bytes: bytes,
            fraction: 1.0,
            host: None,
            sha256: None,
            seconds: None,
            failures: 0,
            error: None,
            attempts: vec![attempt],
        }
    }

    #[test]
    fn rates_add_up_where_attempts_overlap() {
        // 10 MB in 10 s, and 5 MB in the last 5 s.
        let parts = vec![
            part(1, PartState::Done, (1_000, 11_000), 10_000_000),
            part(2, PartState::Running, (6_000, 11_000), 5_000_000),
        ];
        let status = PlanStatus {
            parts,
            eta_seconds: Some(20.0),
            ..PlanStatus::default()
        };
        let throughput = Throughput::from_status(&status);
        assert_eq!(throughput.span_ms, (1_000, 11_000));
        assert_eq!(
            (throughput.bytes_per_second[10], throughput.running[10]),
            (1e6, 1)
        );
        assert_eq!(
            (throughput.bytes_per_second[110], throughput.running[110]),
            (2e6, 2)
        );
        assert_eq!(throughput.ends_ms, Some(31_000));
        assert_eq!(throughput.find_moment(9.99), Some(119));
        assert_eq!(throughput.find_moment(10.5), None);
        assert_eq!(
            Throughput::from_status(&PlanStatus::default()),
            Throughput::default()
        );
    }
}
