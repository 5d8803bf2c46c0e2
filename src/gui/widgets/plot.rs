//! `egui_plot` in the studio's style: axes in the theme's type, bounds set by the caller, the value
//! under the pointer as a tooltip. A plot never zooms, scrolls or pans, so the mouse wheel scrolls
//! the page that holds it.

use std::ops::RangeInclusive;

use egui::{
    Event, EventFilter, Key, Rangef, Rect, Response, RichText, Sense, Ui, UiBuilder, Vec2, vec2,
};
use egui_plot::{Axis, AxisHints, GridMark, HoverPosition, Plot, PlotResponse, PlotUi};

use super::paint;
use crate::digits::{power_of_ten, round_at_most};
use crate::gui::theme::{self, ThemeTokens, font};

/// Height of the tick labels below a plot, in points.
const X_AXIS: f32 = 15.0;

/// The axes of a plot: positions of ticks and the format of their values.
pub struct Axes<'a> {
    /// First and last value of the x axis.
    pub x_bounds: RangeInclusive<f64>,
    /// Marks of the x axis.
    pub x_ticks: Vec<GridMark>,
    /// The text of a mark of the x axis.
    pub x_text: Box<dyn Fn(f64) -> String + 'a>,
    /// Quantity and unit of the x axis; empty when the marks say it.
    pub x_title: &'a str,
    /// First and last value of the y axis.
    pub y_bounds: RangeInclusive<f64>,
    /// Marks of the y axis; none draws no y axis.
    pub y_ticks: Vec<GridMark>,
    /// The text of a mark of the y axis.
    pub y_text: Box<dyn Fn(f64) -> String + 'a>,
    /// Width of the y axis in points.
    pub y_width: f32,
}

/// Draws a plot in `rect`, axes included. `hover` returns the tooltip at an x value; `build` adds
/// the items. The identity of the plot depends on `salt` alone, so it keeps focus and drag when
/// widgets above it come and go.
pub fn show<'a>(
    ui: &mut Ui,
    salt: &'static str,
    rect: Rect,
    sense: Sense,
    axes: Axes<'a>,
    hover: impl Fn(f64) -> Option<String> + 'a,
    build: impl FnOnce(&mut PlotUi<'a>) + 'a,
) -> PlotResponse<()> {
    let t = theme::tokens(ui);
    let Axes {
        x_bounds,
        mut x_ticks,
        x_text,
        x_title,
        y_bounds,
        y_ticks,
        y_text,
        y_width,
    } = axes;
    x_ticks.retain(|mark| x_bounds.contains(&mark.value));
    let title = if x_title.is_empty() {
        RichText::default()
    } else {
        theme::rich_text(x_title)
            .font(font::regular(10.5))
            .color(t.tx3)
    };
    let x_axis = hints(t, Axis::X)
        .min_thickness(X_AXIS + if x_title.is_empty() { 0.0 } else { 14.0 })
        .label(title);
    let plot = Plot::new(salt)
        .width(rect.width())
        .height(rect.height())
        .min_size(Vec2::ZERO)
        .sense(sense)
        .allow_zoom(false)
        .allow_scroll(false)
        .allow_drag(false)
        .allow_boxed_zoom(false)
        .allow_axis_zoom_drag(false)
        .allow_double_click_reset(false)
        .show_y(false)
        .show_axes([true, !y_ticks.is_empty()])
        .grid_color(t.line)
        .grid_fade(0.0)
        .cursor_color(t.ctl)
        .custom_x_axes(vec![x_axis.formatter(move |mark, _| x_text(mark.value))])
        .custom_y_axes(vec![
            hints(t, Axis::Y)
                .min_thickness(y_width)
                .formatter(move |mark, _| y_text(mark.value)),
        ])
        .x_grid_spacer(move |_| x_ticks.clone())
        .y_grid_spacer(move |_| y_ticks.clone())
        .label_formatter(move |position| {
            let (HoverPosition::NearDataPoint { position, .. }
            | HoverPosition::Elsewhere { position }) = position;
            hover(position.x)
        });
    let scope = UiBuilder::new()
        .max_rect(rect)
        .scope_id(ui.scope_id().with(salt));
    ui.scope_builder(scope, |ui| {
        plot.show(ui, move |plot| {
            plot.set_plot_bounds_x(x_bounds);
            plot.set_plot_bounds_y(y_bounds);
            build(plot);
        })
    })
    .inner
}

/// [`show`] in the next `height` points of the full width, with room for half of a tick label at
/// the right end.
pub fn show_next<'a>(
    ui: &mut Ui,
    salt: &'static str,
    height: f32,
    sense: Sense,
    axes: Axes<'a>,
    hover: impl Fn(f64) -> Option<String> + 'a,
    build: impl FnOnce(&mut PlotUi<'a>) + 'a,
) -> PlotResponse<()> {
    let rect = Rect::from_min_size(
        ui.available_rect_before_wrap().min,
        vec2(ui.available_width() - 10.0, height),
    );
    show(ui, salt, rect, sense, axes, hover, build)
}

fn hints<'a>(t: &ThemeTokens, axis: Axis) -> AxisHints<'a> {
    let spacing = if axis == Axis::X { 20.0 } else { 11.0 };
    AxisHints::new(axis)
        .tick_label_color(t.tx3)
        .tick_label_font(font::mono(10.5))
        .label_spacing(Rangef::new(spacing, spacing))
}

/// Marks at multiples of 1, 2 or 5 times a power of ten between `low` and `high`, about `most` of
/// them; none when the range is empty, not finite, or too narrow for its numbers.
pub fn decimal_ticks(low: f64, high: f64, most: usize) -> Vec<GridMark> {
    let least = (high - low) / most.max(1) as f64;
    if !least.is_finite() || least <= 0.0 {
        return Vec::new();
    }
    let power = power_of_ten(least);
    let step_size = [1.0, 2.0, 5.0, 10.0]
        .map(|factor| factor * power)
        .into_iter()
        .find(|step| *step >= least * 0.999);
    let Some(step_size) = step_size.filter(|step| low + step > low && high + step > high) else {
        return Vec::new();
    };
    let first = (low / step_size).ceil();
    (0..=most)
        .map(|n| (first + n as f64) * step_size)
        .filter(|value| *value <= high)
        .map(|value| GridMark { value, step_size })
        .collect()
}

/// Marks of an axis of square roots: 0 and two counts of 1, 2 or 5 times a power of ten up to
/// `highest`.
pub fn square_root_ticks(highest: f64) -> Vec<GridMark> {
    let mut counts = vec![0.0];
    counts.extend(
        [highest / 4.0, highest]
            .into_iter()
            .filter(|count| *count >= 1.0 && count.is_finite())
            .map(round_at_most),
    );
    let step_size = highest.max(1.0).sqrt() / 3.0;
    counts
        .into_iter()
        .map(|count| GridMark {
            value: count.sqrt(),
            step_size,
        })
        .collect()
}

/// A count as a tick label: `812`, `12 k`, `3.5 M`.
pub fn short_count(count: f64) -> String {
    match count {
        count if count >= 999_500.0 => format!("{} M", format_one_decimal(count / 1e6)),
        count if count >= 10_000.0 => format!("{} k", format_one_decimal(count / 1e3)),
        count => paint::format_grouped_number(count.round() as u64),
    }
}

/// A number with one decimal place, left out when it is 0.
pub fn format_one_decimal(value: f64) -> String {
    format!("{value:.1}").trim_end_matches(".0").to_owned()
}

/// Presses of the left and right arrows on a focused plot, right counted positive: without and with
/// Shift. The arrows then do not move the focus.
pub fn arrow_steps(ui: &Ui, response: &Response) -> (i32, i32) {
    if !response.has_focus() {
        return (0, 0);
    }
    let filter = EventFilter {
        horizontal_arrows: true,
        ..EventFilter::default()
    };
    ui.memory_mut(|memory| memory.set_focus_lock_filter(response.id, filter));
    let (mut plain, mut shifted) = (0, 0);
    ui.input_mut(|input| {
        input.events.retain(|event| {
            let Event::Key {
                key: key @ (Key::ArrowLeft | Key::ArrowRight),
                pressed: true,
                modifiers,
                ..
            } = event
            else {
                return true;
            };
            if modifiers.alt || modifiers.command {
                return true;
            }
            let step = if *key == Key::ArrowRight { 1 } else { -1 };
            if modifiers.shift {
                shifted += step
            } else {
                plain += step
            }
            false
        });
    });
    (plain, shifted)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn values(marks: &[GridMark]) -> Vec<f64> {
        marks.iter().map(|mark| mark.value).collect()
    }

    #[test]
    fn ticks_are_round_numbers_inside_the_range() {
        assert_eq!(
            values(&decimal_ticks(0.0, 1.0, 5)),
            [0.0, 0.2, 0.4, 0.6000000000000001, 0.8, 1.0]
        );
        assert_eq!(
            values(&decimal_ticks(-130.0, 270.0, 4)),
            [-100.0, 0.0, 100.0, 200.0]
        );
        assert_eq!(values(&decimal_ticks(3.0, 3.0, 4)), [0.0; 0]);
        assert_eq!(values(&decimal_ticks(f64::NAN, 3.0, 4)), [0.0; 0]);
        assert_eq!(
            values(&decimal_ticks(1e300, 1e300 * (1.0 + f64::EPSILON), 4)),
            [0.0; 0]
        );
        assert!(
            decimal_ticks(f64::MIN, f64::MAX, 4).is_empty(),
            "the difference is infinite"
        );
    }

    #[test]
    fn ticks_of_counts_are_round_counts() {
        let counts: Vec<f64> = square_root_ticks(900.0)
            .iter()
            .map(|mark| mark.value.powi(2).round())
            .collect();
        assert_eq!(counts, [0.0, 200.0, 500.0]);
        assert_eq!(values(&square_root_ticks(0.0)), [0.0]);
        assert_eq!(
            [
                short_count(812.0),
                short_count(12_000.0),
                short_count(3.5e6)
            ],
            ["812", "12 k", "3.5 M"]
        );
    }
}
