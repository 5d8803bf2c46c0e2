//! Plot of the summed histogram of a band in the report of percentiles: a bar for each bin, and a
//! line at each percentile.

use egui::{Role, Sense, Stroke, Ui, WidgetInfo, vec2};
use egui_plot::{Bar, BarChart, VLine};

use crate::digits::six_digits;
use crate::gui::theme;
use crate::gui::widgets::paint;
use crate::gui::widgets::plot::{self, Axes};
use crate::ops::BandHistogram;

/// Height of the plot in points.
const HEIGHT: f32 = 74.0;

/// The counts of one band, and its percentiles.
#[derive(Clone, Debug, PartialEq)]
pub struct Bins {
    /// Bins of equal widths between two ends.
    pub histogram: BandHistogram,
    /// Values of the percentiles, in the unit of the pixels.
    pub percentiles: Vec<f64>,
}

impl Bins {
    fn width(&self) -> f64 {
        (self.histogram.high - self.histogram.low) / self.histogram.counts.len().max(1) as f64
    }

    /// One sentence for the tooltip of a bin: its ends and its count.
    fn sentence(&self, bin: usize) -> Option<String> {
        let count = *self.histogram.counts.get(bin)?;
        let from = self.histogram.low + bin as f64 * self.width();
        let (from, to, n) = (
            six_digits(from),
            six_digits(from + self.width()),
            paint::format_grouped_number(count),
        );
        Some(tr_n!(
            count,
            "{from} to {to}: {n} value",
            "{from} to {to}: {n} values",
            n,
            from,
            to
        ))
    }

    /// The sentence of the bin that holds `value`.
    fn describe_bin_at(&self, value: f64) -> Option<String> {
        let bin = ((value - self.histogram.low) / self.width()).floor();
        (bin >= 0.0).then(|| self.sentence(bin as usize)).flatten()
    }

    /// Description of the plot for screen readers.
    pub fn text(&self) -> String {
        let total = self.histogram.counts.iter().sum::<u64>();
        let (from, to, n) = (
            six_digits(self.histogram.low),
            six_digits(self.histogram.high),
            paint::format_grouped_number(total),
        );
        let most = self
            .histogram
            .counts
            .iter()
            .enumerate()
            .max_by_key(|(bin, count)| (**count, std::cmp::Reverse(*bin)));
        let fullest = most
            .and_then(|(bin, _)| self.sentence(bin))
            .unwrap_or_default();
        tr!(
            "Histogram of {n} values from {from} to {to}; most are in {fullest}",
            n,
            from,
            to,
            fullest
        )
    }
}

/// Draws the histogram. Heights are proportional to the counts.
pub fn bins_ui(ui: &mut Ui, bins: &Bins) {
    let t = theme::tokens(ui);
    let (low, high) = (bins.histogram.low, bins.histogram.high);
    let most = bins.histogram.counts.iter().copied().max().unwrap_or(0) as f64;
    if most <= 0.0 || high <= low {
        return;
    }
    let width = bins.width();
    let axes = Axes {
        x_bounds: low..=high,
        x_ticks: plot::decimal_ticks(low, high, 6),
        x_text: Box::new(six_digits),
        x_title: "",
        y_bounds: 0.0..=most * 1.05,
        y_ticks: plot::decimal_ticks(0.0, most * 1.05, 2),
        y_text: Box::new(plot::short_count),
        y_width: 48.0,
    };
    let bars = bins
        .histogram
        .counts
        .iter()
        .enumerate()
        .filter(|(_, count)| **count > 0)
        .map(|(bin, count)| {
            Bar::new(low + (bin as f64 + 0.5) * width, *count as f64)
                .width(width)
                .fill(t.line2)
                .stroke(Stroke::NONE)
        });
    let bars: Vec<Bar> = bars.collect();
    ui.allocate_space(vec2(0.0, 2.0));
    let drawn = plot::show_next(
        ui,
        "summed histogram",
        HEIGHT,
        Sense::hover(),
        axes,
        |value| bins.describe_bin_at(value),
        |plot| {
            plot.bar_chart(BarChart::new("", bars).allow_hover(false));
            for value in bins.percentiles.iter().filter(|value| value.is_finite()) {
                plot.vline(
                    VLine::new("", *value)
                        .color(t.acc)
                        .width(1.5)
                        .allow_hover(false),
                );
            }
        },
    );
    drawn
        .response
        .widget_info(|| WidgetInfo::labeled(Role::Image, true, bins.text()));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bins_say_their_ends_and_counts() {
        let histogram = BandHistogram {
            low: 0.0,
            high: 10.0,
            counts: vec![1, 0, 1200, 7, 0],
        };
        let bins = Bins {
            histogram,
            percentiles: vec![4.5],
        };
        assert_eq!(
            bins.sentence(2).as_deref(),
            Some("4 to 6: 1\u{2009}200 values")
        );
        assert_eq!(bins.sentence(0).as_deref(), Some("0 to 2: 1 value"));
        assert_eq!(bins.sentence(5), None);
        assert_eq!(
            bins.text(),
            "Histogram of 1\u{2009}208 values from 0 to 10; most are in 4 to 6: 1\u{2009}200 values"
        );
    }
}
