//! The times of the samples below the map: bars of all and of matching ones, a brush that is the filter's range of time, playback.

use std::sync::Arc;
use std::time::Duration;

use egui::{CursorIcon, Frame, Margin, Rect, RichText, Role, Sense, Stroke, Ui, UiBuilder, WidgetInfo, pos2, vec2};

use super::RowTimes;
use crate::gui::filters::{self, FilterKey};
use crate::gui::icons;
use crate::gui::map::{TimeBars, bars_of, day_text, days_between, parse_day};
use crate::gui::panel_context::PanelContext;
use crate::gui::session::revision;
use crate::gui::theme::{self, font};
use crate::gui::widgets::{self, Button, TextField, paint};
use crate::ops::times_of;
use crate::query::Filter;
use crate::studio::Document;

/// Height of the strip.
pub const HEIGHT: f32 = 128.0;
/// Seconds between two steps of playback.
const STEP_S: f64 = 0.8;
const GRIP: f32 = 6.0;

/// A range of days that is being dragged, both ends within.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Brush {
    from: i64,
    to: i64,
    what: Hold,
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Hold {
    /// A new range, from this day.
    New(i64),
    /// Its first day.
    From,
    /// Its last day.
    To,
    /// All of it, held at this day.
    Whole(i64),
}

/// Draws the strip into `rect`. `columns` are the level's columns of times.
pub fn ui(ui: &mut Ui, cx: &mut PanelContext<'_>, document: &Document, columns: &[String], rect: Rect) {
    let t = theme::tokens(ui);
    ui.painter().rect_filled(rect, 0, t.bg1);
    ui.painter().hline(rect.x_range(), rect.top() + 0.5, Stroke::new(1.0, t.line));
    let Some(open) = document.opened() else { return };
    let key = (cx.session.serial, revision(cx.studio));
    let usual = || filters::TIMES.iter().find(|name| columns.iter().any(|column| column == *name)).map(|name| (*name).to_owned());
    let state = &mut cx.session.map;
    let column =
        state.time_column.clone().filter(|name| columns.contains(name)).or_else(usual).or_else(|| columns.first().cloned());
    let Some(column) = column else { return };
    let (reader, level, name) = (open.reader.clone(), state.level, column.clone());
    state.times.poll();
    state.times.want(cx.jobs, (key, level, column.clone()), tr!("Times"), move |ctx| {
        times_of(reader.as_ref(), level, &name, ctx).map(Arc::new)
    });
    let times: Option<RowTimes> = match state.times.of(&(key, level, column.clone())) {
        Some(Ok(times)) => Some(times.clone()),
        _ => None,
    };
    state.bars.poll();
    if let Some(times) = times {
        let kept = cx.studio.kept().cloned();
        let of = kept.as_ref().map_or(0, |kept| Arc::as_ptr(kept) as usize);
        state.bars.want(cx.jobs, (key, level, column.clone(), of), tr!("Bars"), move |ctx| {
            Ok(bars_of(level, &times, kept.as_deref(), ctx)?.map(Arc::new))
        });
    }
    let bars = state.bars.last().cloned().flatten();
    let (head, body) = rect.split_top_bottom_at_y(rect.top() + 34.0);
    ui.scope_builder(UiBuilder::new().max_rect(head), |ui| head_ui(ui, cx, columns, &column, bars.as_deref()));
    match bars {
        Some(bars) => bars_ui(ui, cx, &bars, &column, body.shrink2(vec2(12.0, 4.0))),
        None => {
            let text = if cx.session.map.bars.is_busy() || cx.session.map.times.is_busy() {
                tr!("Reading times…")
            } else {
                tr!("No sample has a time")
            };
            paint::text_center(ui.painter(), body, text, font::regular(12.0), t.tx3);
        }
    }
}

/// The range of the filter in days, as far as it is closed.
fn range(cx: &PanelContext<'_>, bars: Option<&TimeBars>) -> Option<(i64, i64)> {
    let text = cx.studio.filters().iter().find_map(|filter| filter.datetime.clone())?;
    let (from, to) = text.split_once('/').unwrap_or((&text, &text));
    let first = parse_day(from).or(bars.map(|bars| bars.first))?;
    let last = parse_day(to).or(bars.map(|bars| bars.end() - 1))?;
    Some((first, last))
}

fn set(cx: &mut PanelContext<'_>, column: &str, (from, to): (i64, i64)) {
    let text = format!("{}/{}", day_text(from.min(to)), day_text(from.max(to)));
    let level = cx.session.map.level;
    let filter = Filter { time_column: Some(column.to_owned()), ..Filter::datetime(text) };
    filters::set(cx, FilterKey::Time, Some(filter.at_level(level)));
}

fn head_ui(ui: &mut Ui, cx: &mut PanelContext<'_>, columns: &[String], column: &str, bars: Option<&TimeBars>) {
    let t = theme::tokens(ui);
    Frame::NONE.inner_margin(Margin::symmetric(10, 4)).show(ui, |ui| {
        ui.horizontal(|ui| {
            ui.spacing_mut().item_spacing.x = 6.0;
            let now = cx.session.map.brush.map(|brush| (brush.from, brush.to)).or_else(|| range(cx, bars));
            ui.label(RichText::new(icons::CLOCK).font(font::icon(15.0)).color(t.tx3));
            if let Some(index) = widgets::combo(ui, tr!("Column of times"), column, 150.0, true, columns) {
                cx.session.map.time_column = Some(columns[index].clone());
            }
            if ui.available_width() > 330.0 {
                typed_ui(ui, cx, column, bars, now);
            }
            let playing = cx.session.map.next_step_s.is_some();
            let (icon, name) =
                if playing { (icons::PAUSE, tr!("Pause")) } else { (icons::PLAY, tr!("Play the range through time")) };
            let blocked = now.is_none().then_some(tr!("Drag over the bars to choose a range first"));
            if ui.add(Button::icon_only(icon, name).blocked(blocked)).clicked() {
                cx.session.map.next_step_s = (!playing).then(|| ui.input(|input| input.time) + STEP_S);
            }
            ui.with_layout(egui::Layout::right_to_left(egui::Align::Center), |ui| {
                if now.is_some() && widgets::link(ui, tr!("Clear range")).clicked() {
                    cx.session.map.next_step_s = None;
                    filters::set(cx, FilterKey::Time, None);
                }
                if let Some((from, to)) = now {
                    let days = (to - from).unsigned_abs() + 1;
                    let text = tr_n!(days, "{n} day", "{n} days", n = paint::grouped(days));
                    ui.label(RichText::new(text).font(font::regular(12.0)).color(t.tx2));
                }
            });
        });
    });
}

fn typed_ui(ui: &mut Ui, cx: &mut PanelContext<'_>, column: &str, bars: Option<&TimeBars>, now: Option<(i64, i64)>) {
    let names = [tr!("First day"), tr!("Last day")];
    let mut entered = None;
    for (side, name) in names.into_iter().enumerate() {
        let id = egui::Id::unique(("map-day", side));
        let focused = ui.memory(|memory| memory.has_focus(id));
        let state = &mut cx.session.map;
        if !focused {
            state.typed[side] = now.map_or(String::new(), |now| day_text(if side == 0 { now.0 } else { now.1 }));
        }
        // What the data really begins and ends with.
        let hint = bars.map_or("2023-05-01".to_owned(), |bars| day_text(if side == 0 { bars.first } else { bars.end() - 1 }));
        let field = TextField::new(name, &mut state.typed[side]).id(id).hide_label().mono().width(96.0).hint(&hint);
        let response = field.show(ui);
        if response.lost_focus()
            && let Some(day) = parse_day(&state.typed[side])
        {
            entered = Some((side, day));
        }
    }
    if let Some((side, day)) = entered {
        let open = bars.map_or((day, day), |bars| (bars.first, bars.end() - 1));
        let mut range = now.unwrap_or(open);
        if side == 0 {
            range.0 = day
        } else {
            range.1 = day
        }
        set(cx, column, range);
    }
}

fn bars_ui(ui: &mut Ui, cx: &mut PanelContext<'_>, bars: &TimeBars, column: &str, rect: Rect) {
    let t = theme::tokens(ui);
    let (plot, axis) = rect.split_top_bottom_at_y(rect.bottom() - 16.0);
    let response = ui.interact(plot, ui.scope_id().with("time-bars"), Sense::click_and_drag());
    response.widget_info(|| WidgetInfo::labeled(Role::Slider, true, tr!("Range of time")));
    let span = (bars.end() - bars.first).max(1) as f32;
    let x_of = |day: i64| plot.left() + (day - bars.first) as f32 / span * plot.width();
    let day_at = |x: f32| (bars.first + ((x - plot.left()) / plot.width() * span).floor() as i64).clamp(bars.first, bars.end() - 1);
    let now = range(cx, Some(bars));
    // A drag on an end moves it, inside moves all, elsewhere begins anew.
    if response.drag_started()
        && let Some(start) = ui.input(|input| input.pointer.press_origin())
    {
        let day = day_at(start.x);
        let what = match now {
            Some((from, _)) if (x_of(from) - start.x).abs() < GRIP => Hold::From,
            Some((_, to)) if (x_of(to + 1) - start.x).abs() < GRIP => Hold::To,
            Some((from, to)) if (from..=to).contains(&day) => Hold::Whole(day),
            _ => Hold::New(day),
        };
        let (from, to) = now.unwrap_or((day, day));
        cx.session.map.brush = Some(Brush { from, to, what });
        cx.session.map.next_step_s = None;
    }
    if let Some(brush) = &mut cx.session.map.brush
        && let Some(pointer) = response.interact_pointer_pos()
    {
        let day = day_at(pointer.x);
        let (from, to) = now.unwrap_or((day, day));
        (brush.from, brush.to) = match brush.what {
            Hold::New(start) => (start.min(day), start.max(day)),
            Hold::From => (day.min(to), to),
            Hold::To => (from, day.max(from)),
            Hold::Whole(start) => (from + day - start, to + day - start),
        };
    }
    if response.drag_stopped()
        && let Some(brush) = cx.session.map.brush.take()
    {
        set(cx, column, (brush.from, brush.to));
    }
    play(ui, cx, bars, column, now);
    let shown = cx.session.map.brush.map(|brush| (brush.from, brush.to)).or(now);
    let painter = ui.painter_at(rect.expand2(vec2(GRIP, 0.0)));
    if let Some((from, to)) = shown {
        painter.rect_filled(Rect::from_min_max(pos2(x_of(from), plot.top()), pos2(x_of(to + 1), plot.bottom())), 0, t.accbg);
    }
    let most = bars.all.iter().copied().max().unwrap_or(1).max(1) as f32;
    let width = plot.width() / bars.all.len().max(1) as f32;
    for (index, (&all, &matching)) in bars.all.iter().zip(&bars.matching).enumerate() {
        let left = plot.left() + index as f32 * width;
        let right = left + (width - 1.0).max(1.0);
        let height = |count: u64| if count == 0 { 0.0 } else { (count as f32 / most * (plot.height() - 4.0)).max(1.5) };
        for (count, color) in [(all, t.bg4), (matching, t.accfill)] {
            let bar = Rect::from_min_max(pos2(left, plot.bottom() - height(count)), pos2(right, plot.bottom()));
            painter.rect_filled(bar, 0, color);
        }
    }
    if let Some((from, to)) = shown {
        for x in [x_of(from), x_of(to + 1)] {
            painter.vline(x, plot.y_range(), Stroke::new(1.5, t.accfill));
            let grip = Rect::from_center_size(pos2(x, plot.center().y), vec2(7.0, 18.0));
            painter.rect(grip, 2, t.bg1, Stroke::new(1.5, t.accfill), egui::StrokeKind::Inside);
        }
    }
    painter.hline(plot.x_range(), plot.bottom() + 0.5, Stroke::new(1.0, t.line2));
    for (day, word) in days_between(bars.first, bars.end(), (plot.width() / 64.0) as usize) {
        let x = x_of(day);
        painter.vline(x, axis.top()..=axis.top() + 3.0, Stroke::new(1.0, t.line2));
        paint::text_left(
            &painter,
            Rect::from_min_max(pos2(x + 2.0, axis.top()), pos2(x + 70.0, axis.bottom())),
            &word,
            font::regular(10.5),
            t.tx3,
        );
    }
    if let Some(pointer) = response.hover_pos() {
        let near = shown.is_some_and(|(from, to)| [x_of(from), x_of(to + 1)].iter().any(|x| (x - pointer.x).abs() < GRIP));
        ui.ctx().set_cursor_icon(if near { CursorIcon::ResizeHorizontal } else { CursorIcon::Default });
        let index = (((pointer.x - plot.left()) / width) as usize).min(bars.all.len().saturating_sub(1));
        let first = bars.first + index as i64 * bars.step;
        let days =
            if bars.step > 1 { format!("{} – {}", day_text(first), day_text(first + bars.step - 1)) } else { day_text(first) };
        let counts = bars.all.get(index).zip(bars.matching.get(index));
        let text = counts.map_or(days.clone(), |(all, matching)| {
            tr!("{days}: {matching} of {all} match", days, matching = paint::grouped(*matching), all = paint::grouped(*all))
        });
        response.on_hover_text_at_pointer(text);
    }
}

/// Moves the range on by its own length; past the end it begins anew.
fn play(ui: &Ui, cx: &mut PanelContext<'_>, bars: &TimeBars, column: &str, now: Option<(i64, i64)>) {
    let Some((next, (from, to))) = cx.session.map.next_step_s.zip(now) else {
        cx.session.map.next_step_s = None;
        return;
    };
    let time = ui.input(|input| input.time);
    // A filter that takes longer than a step is waited for.
    if time >= next && !cx.studio.is_filtering() {
        let length = to - from + 1;
        let from = if from + length >= bars.end() { bars.first } else { from + length };
        set(cx, column, (from, from + length - 1));
        cx.session.map.next_step_s = Some(time + STEP_S);
    }
    ui.ctx().request_repaint_after(Duration::from_millis(100));
}
