//! The extension runner: choice of extensions, targets and options; the columns to be added with an
//! example of each. One job runs the calls and makes one undoable edit. The choice is a recipe: a
//! list of calls that can be saved and loaded.

mod example;
mod form;
mod recipes;
pub mod state;
mod targets;

use std::collections::HashSet;
use std::sync::Arc;

use egui::{
    Frame, Margin, Rect, Role, ScrollArea, Sense, Stroke, Ui, UiBuilder, WidgetInfo, pos2, vec2,
};
use serde_json::Value as Json;

use crate::extensions::{ExtensionEntry, ExtensionScope, OptionKind, OptionSpec, value_range};
use crate::gui::action::Action;
use crate::gui::document_key::DocumentKey;
use crate::gui::icons;
use crate::gui::panel_context::{PanelContext, Request};
use crate::gui::panels::panel::Panel;
use crate::gui::panels::structure;
use crate::gui::theme::{self, font, text_style};
use crate::gui::widgets::{self, Button, EmptyState, TextField, paint};
use crate::jobs::Jobs;
use crate::model::SampleKind;
use crate::studio::{Document, RowRef};
use state::{ExtensionChoice, ExtensionsPanel, PixelRangeRequest};
use targets::TargetGroup;

/// The cost of a run as text.
fn cost_of(name: &str) -> (&'static str, &'static str) {
    match name {
        "stats" | "histogram" | "content_hash" => (icons::CLOCK, tr!("all pixels")),
        "stac" | "istac" | "cube" => (icons::FILE_TEXT, tr!("headers")),
        "command" => (icons::TERMINAL_WINDOW, tr!("a program")),
        _ => (icons::MINUS, tr!("no reads")),
    }
}

fn refresh(panel: &mut ExtensionsPanel, cx: &mut PanelContext<'_>, document: &Document) {
    structure::update_summary(cx);
    let key = cx.document_key();
    let summary = cx.session.structure.summary.clone();
    let roots = document
        .kind(RowRef {
            level: 0,
            row: summary.model.unwrap_or(0),
        })
        .unwrap_or(SampleKind::File);
    refresh_rasters(panel, cx, document, key);
    if panel.made_for == Some(key) {
        return;
    }
    panel.made_for = Some(key);
    let groups = Arc::new(targets::groups(&summary, roots));
    if *groups != *panel.groups {
        // Groups changed: reset the flags to the targets of the calls.
        let same = groups.len() == panel.groups.len()
            && groups
                .iter()
                .zip(panel.groups.iter())
                .all(|(a, b)| a.title == b.title);
        if !same {
            panel
                .choices
                .values_mut()
                .for_each(|choice| choice.ticked.clear());
        }
        panel.groups = groups;
    }
    let (groups, rasters) = (panel.groups.clone(), panel.may_be_raster.clone());
    for entry in panel.registry.entries() {
        if let Some(choice) = panel
            .choices
            .get_mut(entry.name)
            .filter(|choice| choice.on && choice.ticked.len() != groups.len())
        {
            choice.ticked = first_ticks(entry, choice, &groups, &rasters);
        }
    }
}

/// Requests which groups have rasters, and takes the ticks off the others that were set before it
/// was known.
fn refresh_rasters(
    panel: &mut ExtensionsPanel,
    cx: &mut PanelContext<'_>,
    document: &Document,
    key: DocumentKey,
) {
    let Some(draft) = document.draft() else {
        return;
    };
    if panel.made_for != Some(key) || panel.groups.is_empty() {
        return;
    }
    let (wanted, dataset, groups) = (
        (key, panel.groups.clone()),
        draft.dataset().clone(),
        panel.groups.clone(),
    );
    panel.raster_check.update(
        cx.jobs,
        wanted.clone(),
        tr!("Look for rasters"),
        move |ctx| Ok(Arc::new(targets::raster_groups(&dataset, &groups, ctx)?)),
    );
    let found = match panel.raster_check.get(&wanted) {
        Some(Ok(found)) if *found != panel.may_be_raster => found.clone(),
        _ => return,
    };
    let before = std::mem::replace(&mut panel.may_be_raster, found);
    for entry in panel.registry.entries() {
        let Some(choice) = panel.choices.get_mut(entry.name).filter(|choice| choice.on) else {
            continue;
        };
        if choice.ticked == first_ticks(entry, choice, &panel.groups, &before) {
            choice.ticked = first_ticks(entry, choice, &panel.groups, &panel.may_be_raster);
        }
    }
}

/// Default target: every FILE for sample extensions, of those that read pixels every raster; the
/// roots for tortilla extensions.
fn first_ticks(
    entry: &ExtensionEntry,
    choice: &ExtensionChoice,
    groups: &[TargetGroup],
    rasters: &[bool],
) -> Vec<bool> {
    let options = form::options_of(&(entry.options)(), &choice.typed).unwrap_or_default();
    let files = |group: &TargetGroup| {
        group.kind == SampleKind::File && targets::takes(entry, &options, SampleKind::File)
    };
    match (entry.scope, entry.name) {
        (ExtensionScope::Collection, _) => vec![false; groups.len()],
        (ExtensionScope::Sample, name) if name != "split" => {
            let all = !targets::needs_raster(entry, &options);
            let is_raster = |place: usize| all || rasters.get(place).copied().unwrap_or(true);
            groups
                .iter()
                .enumerate()
                .map(|(place, group)| files(group) && is_raster(place))
                .collect()
        }
        _ => groups.iter().map(|group| group.level == 0).collect(),
    }
}

impl Panel for ExtensionsPanel {
    fn contents_ui(&mut self, ui: &mut Ui, cx: &mut PanelContext<'_>) {
        let Some(document) = cx.document() else {
            return;
        };
        if document.draft().is_none() || document.rows(0) == 0 {
            let (why, action) = match document.draft() {
                None => (
                    tr!("Extensions add columns to a draft. The open dataset is not changed."),
                    tr!("Edit as a draft"),
                ),
                Some(_) => (
                    tr!("Extensions compute columns from samples, and this draft has none yet."),
                    tr!("Add folder…"),
                ),
            };
            let title = tr!("Nothing to compute from");
            let state = EmptyState {
                icon: icons::PUZZLE_PIECE,
                title,
                why,
                actions: &[action],
            };
            if widgets::draw_empty_state_with_actions(ui, &state).is_some() {
                let action = if document.draft().is_none() {
                    Action::EditCopy
                } else {
                    Action::AddFolder
                };
                cx.request(Request::Do(action));
            }
            return;
        }
        refresh(self, cx, document);
        let t = theme::tokens(ui);
        let area = ui.available_rect_before_wrap();
        // Three columns where they fit, otherwise the list beside one column for the rest.
        let list = (area.width() * 0.3).clamp(170.0, 300.0);
        let (left, rest) = area.split_left_right_at_x(area.left() + list);
        ui.painter()
            .vline(left.right() - 0.5, area.y_range(), Stroke::new(1.0, t.line));
        ui.scope_builder(UiBuilder::new().max_rect(left).id_salt("list"), |ui| {
            list_ui(ui, self, cx.jobs)
        });
        let columns = if rest.width() > 640.0 {
            rest.width() * 0.55
        } else {
            rest.width()
        };
        let (middle, right) = rest.split_left_right_at_x(rest.left() + columns);
        let foot = 64.0;
        let narrow = right.width() < 1.0;
        let (middle, below) = if narrow {
            middle.split_top_bottom_at_y(middle.bottom() - foot)
        } else {
            (middle, right)
        };
        ui.scope_builder(UiBuilder::new().max_rect(middle).id_salt("targets"), |ui| {
            ScrollArea::vertical().auto_shrink(false).show(ui, |ui| {
                targets_ui(ui, self, cx);
                options_ui(ui, self, cx, document);
                if narrow {
                    example::columns_ui(ui, self, cx, document);
                }
            });
        });
        if !narrow {
            ui.painter()
                .vline(right.left() - 0.5, area.y_range(), Stroke::new(1.0, t.line));
            let (upper, _) = below.split_top_bottom_at_y(below.bottom() - foot);
            ui.scope_builder(UiBuilder::new().max_rect(upper).id_salt("columns"), |ui| {
                ScrollArea::vertical()
                    .auto_shrink(false)
                    .show(ui, |ui| example::columns_ui(ui, self, cx, document));
            });
        }
        let bottom = if narrow {
            below
        } else {
            Rect::from_min_max(pos2(below.left(), below.bottom() - foot), below.max)
        };
        ui.scope_builder(UiBuilder::new().max_rect(bottom).id_salt("foot"), |ui| {
            example::foot_ui(ui, self, cx, document)
        });
    }
}

fn list_ui(ui: &mut Ui, panel: &mut ExtensionsPanel, jobs: &Jobs) {
    let t = theme::tokens(ui);
    Frame::NONE
        .inner_margin(Margin::symmetric(8, 6))
        .show(ui, |ui| {
            TextField::new(tr!("Find an extension"), &mut panel.filter)
                .hide_label()
                .quiet()
                .icon(icons::MAGNIFYING_GLASS)
                .hint(tr!("Find an extension"))
                .show(ui);
        });
    recipes::ui(ui, panel, jobs);
    let state = &mut *panel;
    let wanted = state.filter.trim().to_lowercase();
    let entries: Vec<ExtensionEntry> = state.registry.entries().to_vec();
    ScrollArea::vertical().auto_shrink(false).show(ui, |ui| {
        ui.spacing_mut().item_spacing.y = 0.0;
        let scopes = [
            (ExtensionScope::Sample, tr!("Sample")),
            (ExtensionScope::Tortilla, tr!("Tortilla")),
            (ExtensionScope::Collection, tr!("Collection")),
        ];
        for (scope, title) in scopes {
            let mut shown = entries
                .iter()
                .filter(|entry| matches_extension(entry, scope, &wanted))
                .peekable();
            if shown.peek().is_none() {
                continue;
            }
            Frame::NONE
                .inner_margin(Margin {
                    left: 10,
                    right: 10,
                    top: 8,
                    bottom: 3,
                })
                .show(ui, |ui| {
                    ui.label(
                        theme::rich_text(title)
                            .font(font::medium(11.5))
                            .color(t.tx2),
                    );
                });
            for entry in shown {
                entry_ui(ui, state, entry);
            }
        }
    });
}

/// True for an extension of this scope whose name, title or summary holds `wanted`, which is in
/// lower case.
fn matches_extension(entry: &ExtensionEntry, scope: ExtensionScope, wanted: &str) -> bool {
    let (title, summary) = (
        crate::text::translate_text(entry.title),
        crate::text::translate_text(entry.summary),
    );
    let text = format!(
        "{} {} {} {title} {summary}",
        entry.name, entry.title, entry.summary
    )
    .to_lowercase();
    entry.scope == scope && text.contains(wanted)
}

fn entry_ui(ui: &mut Ui, state: &mut ExtensionsPanel, entry: &ExtensionEntry) {
    let t = theme::tokens(ui);
    let (rect, response) = ui.allocate_exact_size(vec2(ui.available_width(), 40.0), Sense::click());
    let focused = state.focus == entry.name;
    let (extension, summary) = (
        crate::text::translate_text(entry.title),
        crate::text::translate_text(entry.summary),
    );
    response.widget_info(|| {
        WidgetInfo::selected(
            Role::ListItem,
            true,
            focused,
            tr!("Extension {extension}", extension),
        )
    });
    paint::row_background(ui.painter(), t, rect, focused, response.hovered());
    let tick = Rect::from_center_size(pos2(rect.left() + 18.0, rect.center().y), vec2(16.0, 20.0));
    let mut on = state
        .choices
        .get(entry.name)
        .is_some_and(|choice| choice.on);
    // A child UI: a scope would place the next row directly below the check box, inside this row.
    let mut inside = ui.new_child(
        UiBuilder::new()
            .max_rect(tick)
            .id_salt(("tick", entry.name)),
    );
    let ticked = widgets::checkbox(&mut inside, &mut on, "");
    ticked.widget_info(|| {
        WidgetInfo::selected(Role::CheckBox, true, on, tr!("Run {extension}", extension))
    });
    if ticked.changed() {
        let choice = state.choices.entry(entry.name.to_owned()).or_default();
        choice.on = on;
        state.choices_version += 1;
        state.focus = entry.name.to_owned();
        state.made_for = None;
    }
    if response.clicked() {
        state.focus = entry.name.to_owned();
    }
    let (icon, cost) = cost_of(entry.name);
    let inner = Rect::from_min_max(
        pos2(rect.left() + 32.0, rect.top() + 4.0),
        rect.max - vec2(8.0, 4.0),
    );
    let (upper, lower) = inner.split_top_bottom_at_fraction(0.5);
    let painter = ui.painter();
    let end = paint::text_right(painter, upper, cost, font::regular(11.0), t.tx3);
    paint::draw_icon(
        painter,
        pos2(end - 9.0, upper.center().y),
        icon,
        12.0,
        t.tx3,
    );
    paint::text_left(
        painter,
        upper.with_max_x(end - 20.0),
        extension,
        font::medium(12.5),
        t.tx,
    );
    paint::text_left(painter, lower, summary, font::regular(11.0), t.tx2);
    paint::focus_ring(ui, &response, 2);
    response.on_hover_text(theme::rich_text(summary));
}

/// The cell of an extension that does not take samples of this kind.
fn not_for(kind: SampleKind) -> &'static str {
    match kind {
        SampleKind::Folder => tr!("not for folders"),
        SampleKind::File => tr!("not for files"),
    }
}

fn targets_ui(ui: &mut Ui, panel: &mut ExtensionsPanel, cx: &mut PanelContext<'_>) {
    let t = theme::tokens(ui);
    widgets::section_header(ui, tr!("Targets"), |ui| {
        ui.label(
            theme::rich_text(tr!("one column set per level (PIT-2)"))
                .font(font::regular(11.0))
                .color(t.tx3),
        );
    });
    let state = &mut *panel;
    let groups = state.groups.clone();
    let entries: Vec<ExtensionEntry> = state.registry.entries().to_vec();
    let chosen: Vec<ExtensionEntry> = entries
        .iter()
        .filter(|entry| runs_over_samples(state, entry))
        .copied()
        .collect();
    if chosen.is_empty() {
        Frame::NONE
            .inner_margin(Margin::symmetric(12, 8))
            .show(ui, |ui| {
                let text = tr!("Tick an extension to choose where it runs.");
                ui.label(
                    theme::rich_text(text)
                        .text_style(text_style("small12"))
                        .color(t.tx2),
                );
            });
        return;
    }
    let width = ui.available_width();
    let each = ((width - 190.0) / chosen.len() as f32).clamp(46.0, 92.0);
    let column = |index: usize, row: Rect| place_target_column(row, chosen.len() - 1 - index, each);
    let row_of = |ui: &mut Ui| ui.allocate_exact_size(vec2(width, 26.0), Sense::hover()).0;
    let head = row_of(ui);
    let names = head.right() - 8.0 - each * chosen.len() as f32;
    paint::text_left(
        ui.painter(),
        head.with_min_x(head.left() + 12.0),
        tr!("Level"),
        font::regular(11.5),
        t.tx2,
    );
    paint::text_left(
        ui.painter(),
        head.with_min_x(head.left() + 52.0),
        tr!("Position"),
        font::regular(11.5),
        t.tx2,
    );
    for (index, entry) in chosen.iter().enumerate() {
        let title = crate::text::translate_text(entry.title);
        paint::text_center(
            ui.painter(),
            column(index, head),
            title,
            font::regular(11.5),
            t.tx2,
        );
    }
    let taken: Vec<Vec<SampleKind>> = chosen
        .iter()
        .map(|entry| list_taken_kinds(state, entry))
        .collect();
    for (place, group) in groups.iter().enumerate() {
        let row = row_of(ui);
        let painter = ui.painter();
        painter.hline(row.x_range(), row.top() + 0.5, Stroke::new(1.0, t.line));
        let level = row.with_min_x(row.left() + 12.0);
        paint::text_left(
            painter,
            level,
            &format!("L{}", group.level),
            font::mono(12.0),
            t.tx3,
        );
        let icon = if group.kind == SampleKind::Folder {
            icons::STACK
        } else {
            icons::IMAGE
        };
        paint::draw_icon(
            painter,
            pos2(row.left() + 59.0, row.center().y),
            icon,
            13.0,
            t.tx3,
        );
        let title = Rect::from_min_max(
            pos2(row.left() + 70.0, row.top()),
            pos2(names, row.bottom()),
        );
        paint::text_left(
            painter,
            title,
            group.display_title(),
            font::mono(12.0),
            t.tx,
        );
        for (index, entry) in chosen.iter().enumerate() {
            let Some(choice) = state.choices.get_mut(entry.name) else {
                continue;
            };
            if !taken[index].contains(&group.kind) {
                paint::text_center(
                    ui.painter(),
                    column(index, row),
                    not_for(group.kind),
                    font::regular(11.0),
                    t.txd,
                );
                continue;
            }
            let Some(tick) = choice.ticked.get_mut(place) else {
                continue;
            };
            let cell = Rect::from_center_size(column(index, row).center(), vec2(16.0, 20.0));
            let builder = UiBuilder::new()
                .max_rect(cell)
                .id_salt(("target", place, index));
            ui.scope_builder(builder, |ui| {
                let response = widgets::checkbox(ui, tick, "");
                state.choices_version += u64::from(response.changed());
                let now = *tick;
                let (extension, level, group) = (
                    crate::text::translate_text(entry.title),
                    group.level,
                    group.display_title(),
                );
                let name = tr!(
                    "{extension} for level {level} {group}",
                    extension,
                    level,
                    group
                );
                response.widget_info(|| WidgetInfo::selected(Role::CheckBox, true, now, &name));
            });
        }
    }
    Frame::NONE.inner_margin(Margin::symmetric(12, 6)).show(ui, |ui| {
        let padded = cx.session.totals().padded;
        let text = match padded {
            0 => tr!("Every sample of a level gets the same columns. Positions you leave out hold \
                null.").to_owned(),
            padded => tr_n!(
                padded,
                "Every sample of a level gets the same columns. Positions you leave out, and the \
                    {n} padded sample, hold null.",
                "Every sample of a level gets the same columns. Positions you leave out, and the \
                    {n} padded samples, hold null.",
                n = paint::format_grouped_number(padded),
            ),
        };
        widgets::note_ui(ui, &widgets::FieldNote::Info(text));
    });
}

/// True for a ticked extension of samples or tortillas, whose levels are to be chosen.
fn runs_over_samples(state: &ExtensionsPanel, entry: &ExtensionEntry) -> bool {
    entry.scope != ExtensionScope::Collection
        && state
            .choices
            .get(entry.name)
            .is_some_and(|choice| choice.on)
}

/// The kinds of samples that an extension takes with the options typed for it.
fn list_taken_kinds(state: &ExtensionsPanel, entry: &ExtensionEntry) -> Vec<SampleKind> {
    let Some(choice) = state.choices.get(entry.name) else {
        return Vec::new();
    };
    let options = form::options_of(&(entry.options)(), &choice.typed).unwrap_or_default();
    [SampleKind::File, SampleKind::Folder]
        .into_iter()
        .filter(|kind| targets::takes(entry, &options, *kind))
        .collect()
}

/// The cell of a column that has `after` columns of the width `each` to its right.
fn place_target_column(row: Rect, after: usize, each: f32) -> Rect {
    let right = row.right() - 8.0 - each * after as f32;
    Rect::from_min_max(pos2(right - each, row.top()), pos2(right, row.bottom()))
}

/// The request for the pixel range of an extension with its options as typed now.
fn pixel_range_request(panel: &ExtensionsPanel, entry: &ExtensionEntry) -> PixelRangeRequest {
    let choice = panel.choices.get(entry.name);
    PixelRangeRequest {
        extension: entry.name,
        typed: choice.map_or_else(Default::default, |choice| choice.typed.clone()),
    }
}

/// The targets of an extension: those that are ticked, or the first ones.
fn list_ticks(panel: &ExtensionsPanel, entry: &ExtensionEntry) -> Vec<bool> {
    let choice = panel.choices.get(entry.name).cloned().unwrap_or_default();
    if choice.ticked.is_empty() {
        first_ticks(entry, &choice, &panel.groups, &panel.may_be_raster)
    } else {
        choice.ticked
    }
}

/// Takes low and high from the pixels that were read into the options of the extension that they
/// were read for, unless its options were changed meanwhile.
fn take_range(panel: &mut ExtensionsPanel) {
    let Some(request) = panel.pixel_range.key().cloned() else {
        return;
    };
    let Some(outcome) = panel.pixel_range.take() else {
        return;
    };
    let entry = panel
        .registry
        .entries()
        .iter()
        .find(|entry| entry.name == request.extension);
    let is_same = entry.is_some_and(|entry| pixel_range_request(panel, entry) == request);
    let error = match outcome {
        Ok(Some(range)) if is_same => return fill_range(panel, request.extension, range),
        Ok(Some(_)) => tr!(
            "Options were changed while the pixels were read, so low and high stay as they are."
        )
        .to_owned(),
        Ok(None) => tr!("No pixel of the targets has data").to_owned(),
        Err(error) if error.is_cancelled() => return,
        Err(error) => error.to_string(),
    };
    panel.pixel_range_error = Some((request.extension, error));
}

fn fill_range(panel: &mut ExtensionsPanel, extension: &str, (low, high): (f64, f64)) {
    let choice = panel.choices.entry(extension.to_owned()).or_default();
    // One value alone needs a bin of some width.
    let high = if low < high { high } else { low + 1.0 };
    choice.typed.extend(
        [("low", low), ("high", high)].map(|(name, value)| (name.to_owned(), value.to_string())),
    );
    choice.on = true;
    panel.choices_version += 1;
    panel.made_for = None;
}

/// Draws the button that takes low and high from the pixels of the targets.
fn range_ui(
    ui: &mut Ui,
    panel: &mut ExtensionsPanel,
    cx: &mut PanelContext<'_>,
    document: &Document,
    entry: &ExtensionEntry,
) {
    let Some(draft) = document.draft() else {
        return;
    };
    let pending = panel.pixel_range.is_pending();
    ui.horizontal(|ui| {
        let reason = pending.then_some(tr!("The pixels are being read"));
        let button = Button::secondary(tr!("Take low and high from the data"))
            .icon(icons::CHART_BAR)
            .with_disabled_reason(reason);
        let tip =
            tr!("Reads every pixel of the targets, and takes the lowest and the highest value");
        if ui.add(button.tooltip(tip)).clicked() {
            let request = pixel_range_request(panel, entry);
            let ticked = list_ticks(panel, entry);
            let calls = targets::calls(entry, &Json::Null, &panel.groups, &ticked);
            let bands = request.typed.get("bands").map_or("", String::as_str);
            let bands: Vec<usize> = bands
                .split([',', ' ', '[', ']'])
                .filter_map(|band| band.parse().ok())
                .collect();
            let dataset = draft.dataset().clone();
            panel.pixel_range_error = None;
            panel
                .pixel_range
                .update(cx.jobs, request, tr!("Range of the values"), move |ctx| {
                    value_range(&dataset, &calls, &bands, ctx)
                });
        }
        if pending {
            widgets::spinner(ui, 14.0);
        }
    });
    if let Some((extension, error)) = &panel.pixel_range_error
        && *extension == entry.name
    {
        widgets::note_ui(ui, &widgets::FieldNote::Warning(error.clone()));
    }
}

fn options_ui(
    ui: &mut Ui,
    panel: &mut ExtensionsPanel,
    cx: &mut PanelContext<'_>,
    document: &Document,
) {
    take_range(panel);
    let mut known = HashSet::new();
    let columns: Vec<String> = (0..document.tree().levels.len())
        .flat_map(|level| document.fields(level))
        .map(|field| field.name)
        .filter(|name| known.insert(name.clone()))
        .collect();
    let Some(entry) = panel
        .registry
        .entries()
        .iter()
        .find(|entry| entry.name == panel.focus)
        .copied()
    else {
        return;
    };
    let extension = crate::text::translate_text(entry.title);
    widgets::section_header(ui, &tr!("{extension} options", extension), |_| {});
    let specs = (entry.options)();
    let choice = panel.choices.entry(entry.name.to_owned()).or_default();
    Frame::NONE
        .inner_margin(Margin {
            left: 12,
            right: 12,
            top: 4,
            bottom: 10,
        })
        .show(ui, |ui| {
            ui.spacing_mut().item_spacing = vec2(8.0, 8.0);
            if form::ui(ui, extension, &specs, &mut choice.typed, &columns) {
                choice.on = true;
                panel.choices_version += 1;
                panel.made_for = None;
            }
        });
    if has_number_option(&specs, "low") && has_number_option(&specs, "high") {
        Frame::NONE
            .inner_margin(Margin {
                left: 12,
                right: 12,
                top: 0,
                bottom: 10,
            })
            .show(ui, |ui| range_ui(ui, panel, cx, document, &entry));
    }
}

fn has_number_option(specs: &[OptionSpec], name: &str) -> bool {
    specs
        .iter()
        .any(|spec| spec.name == name && spec.kind == OptionKind::Number)
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    /// Reads a range for an extension; `change` is what the user does meanwhile.
    fn read_range(panel: &mut ExtensionsPanel, name: &str, change: impl Fn(&mut ExtensionsPanel)) {
        let entry = *panel.registry.get(name).expect("an extension");
        let request = pixel_range_request(panel, &entry);
        let jobs = Jobs::quiet();
        panel
            .pixel_range
            .update(&jobs, request, "range", |_| Ok(Some((1.0, 9.0))));
        change(panel);
        while panel.pixel_range.key().is_some() {
            take_range(panel);
            std::thread::sleep(Duration::from_millis(1));
        }
    }

    fn typed_low(panel: &ExtensionsPanel, name: &str) -> Option<String> {
        panel.choices.get(name)?.typed.get("low").cloned()
    }

    #[test]
    fn a_range_goes_to_the_extension_that_it_was_read_for() {
        let mut panel = ExtensionsPanel::default();
        read_range(&mut panel, "histogram", |panel| {
            panel.select_extension("stac")
        });
        assert_eq!(typed_low(&panel, "histogram").as_deref(), Some("1"));
        assert_eq!(typed_low(&panel, "stac"), None);
        assert_eq!(panel.pixel_range_error, None);
    }

    #[test]
    fn options_that_were_typed_while_a_range_was_read_stay() {
        let mut panel = ExtensionsPanel::default();
        read_range(&mut panel, "histogram", |panel| {
            let choice = panel.choices.entry("histogram".to_owned()).or_default();
            choice.typed.insert("low".to_owned(), "-5".to_owned());
        });
        assert_eq!(typed_low(&panel, "histogram").as_deref(), Some("-5"));
        assert!(
            panel.pixel_range_error.is_some(),
            "and the range has an error"
        );
    }
}
