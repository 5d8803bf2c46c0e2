//! Leakage between the parts of a split: counts, and links to the samples.

use std::collections::BTreeSet;
use std::sync::Arc;

use arrow::datatypes::DataType;
use egui::{Frame, Margin, Rect, Role, Sense, Stroke, Ui, WidgetInfo, vec2};

use super::state::StatisticsPanel;
use crate::error::Error;
use crate::extensions::{Leak, LeakPair, Leakage, LeakageRequest};
use crate::gui::filters::{self, FilterKey};
use crate::gui::panel_context::{PanelContext, Request};
use crate::gui::theme::{self, font};
use crate::gui::widgets::{self, Button, paint};
use crate::gui::{icons, sql};
use crate::jobs::AsyncValue;
use crate::model::{FieldSpec, SamplePath};
use crate::query::Filter;
use crate::query::copy_as::quoted_text;
use crate::studio::{Document, RowRef};

/// Usual names of split columns, most likely first.
const SPLITS: [&str; 3] = ["split", "ml:split", "split:split"];

/// Candidates for the split column: text columns, usual names first.
fn columns_of(document: &Document) -> Vec<String> {
    let mut names: Vec<String> = Vec::new();
    for level in 0..document.tree().levels.len() {
        let fields = document
            .fields(level)
            .into_iter()
            .filter(is_text_field)
            .map(|field| field.name);
        for name in fields.filter(|name| {
            !name.starts_with("internal:") && !matches!(name.as_str(), "id" | "type")
        }) {
            if !names.contains(&name) {
                names.push(name);
            }
        }
    }
    names.sort_by_key(|name| {
        SPLITS
            .iter()
            .position(|known| known == name)
            .unwrap_or(SPLITS.len())
    });
    names
}

fn is_text_field(field: &FieldSpec) -> bool {
    matches!(field.dtype, DataType::Utf8 | DataType::LargeUtf8)
}

/// Draws the section.
pub fn ui(
    ui: &mut Ui,
    panel: &mut StatisticsPanel,
    cx: &mut PanelContext<'_>,
    document: &Document,
) {
    let t = theme::tokens(ui);
    let columns = columns_of(document);
    let state = &mut panel.leaks;
    let usual = columns
        .first()
        .filter(|name| SPLITS.contains(&name.as_str()))
        .cloned();
    let column = state
        .column
        .clone()
        .filter(|name| columns.contains(name))
        .or(usual);
    let mut look = false;
    widgets::section_header(ui, tr!("Leakage between splits"), |ui| {
        let blocked = match &column {
            None => Some(tr!("Choose the column that names the parts first")),
            Some(_) => state
                .search
                .is_pending()
                .then_some(tr!("The search is running")),
        };
        let text = if state.found.is_some() {
            tr!("Look again")
        } else {
            tr!("Look for leaks")
        };
        let button = Button::secondary(text)
            .icon(icons::MAGNIFYING_GLASS)
            .with_disabled_reason(blocked);
        look = ui
            .add(button.tooltip(tr!("Compare footprints, times and bytes of the parts")))
            .clicked();
    });
    if columns.is_empty() {
        return widgets::remark(
            ui,
            Margin {
                left: 12,
                right: 12,
                top: 4,
                bottom: 6,
            },
            tr!(
                "No column can name the parts of a split. The extension split_assignment adds one."
            ),
        );
    }
    Frame::NONE
        .inner_margin(Margin::symmetric(12, 6))
        .show(ui, |ui| {
            ui.horizontal(|ui| {
                ui.label(
                    theme::rich_text(tr!("Parts by"))
                        .font(font::regular(12.0))
                        .color(t.tx2),
                );
                let current = column
                    .clone()
                    .unwrap_or_else(|| tr!("choose a column").into());
                if let Some(index) = widgets::combo(
                    ui,
                    tr!("Column of the parts"),
                    &current,
                    160.0,
                    true,
                    &columns,
                ) {
                    state.column = columns.get(index).cloned();
                    (state.found, state.failed) = (None, None);
                    state.search = AsyncValue::default();
                }
                if state.search.is_pending() {
                    widgets::spinner(ui, 16.0);
                }
            });
        });
    if look && let Some(column) = column {
        let request = LeakageRequest {
            column: column.clone(),
            ..LeakageRequest::default()
        };
        let search = document.prepare_leakage_search(request);
        state.failed = None;
        state
            .search
            .update(cx.jobs, column, tr!("Look for leaks"), search);
    }
    match state.search.take() {
        Some(Ok(found)) => state.found = Some(Arc::new(found)),
        Some(Err(error)) => state.failed = Some(error.report()),
        None => {}
    }
    if let Some(why) = state.failed.clone() {
        widgets::note_ui(ui, &widgets::FieldNote::Error(why));
    }
    if let Some(found) = state.found.clone() {
        found_ui(ui, panel, cx, document, &found);
    }
    jump(panel, cx, document);
}

/// Selects the clicked sample when its row has been looked up.
fn jump(panel: &mut StatisticsPanel, cx: &mut PanelContext<'_>, document: &Document) {
    let Some((key, path)) = panel.leaks.jump.key().cloned() else {
        return;
    };
    let Some(outcome) = panel.leaks.jump.take() else {
        return;
    };
    // After an edit another sample may have the row.
    if key != cx.document_key() {
        return go_to(panel, cx, document, &path);
    }
    match outcome {
        Ok(at) => cx.request(Request::Select(Some(at))),
        Err(error) => panel.leaks.failed = Some(error.to_string()),
    }
}

fn go_to(panel: &mut StatisticsPanel, cx: &mut PanelContext<'_>, document: &Document, path: &str) {
    let state = &mut panel.leaks;
    let (tree, path) = (document.tree().clone(), path.to_owned());
    let key = (cx.document_key(), path.clone());
    state
        .jump
        .update(cx.jobs, key, tr!("Find the sample"), move |_| {
            let found = tree.find(&SamplePath::parse(&path));
            let (level, row) = found
                .ok_or_else(|| Error::usage("this sample is not there any more").at_place(path))?;
            Ok(RowRef { level, row })
        });
}

fn found_ui(
    ui: &mut Ui,
    panel: &mut StatisticsPanel,
    cx: &mut PanelContext<'_>,
    document: &Document,
    found: &Leakage,
) {
    let parts: Vec<&str> = found.parts.iter().map(|part| part.name.as_str()).collect();
    if !found.leaks() {
        line_ui(
            ui,
            icons::CHECK_CIRCLE,
            theme::tokens(ui).ok,
            &no_leaks_text(&parts),
            "",
        );
    }
    let kinds = [
        (&found.footprints, SharedProperty::Ground),
        (&found.times, SharedProperty::Time),
        (&found.content, SharedProperty::Bytes),
    ];
    for (leaks, what) in kinds {
        for leak in leaks.iter() {
            leak_ui(ui, panel, cx, document, leak, what);
        }
    }
    for [one, other] in &found.spans {
        let text = tr!(
            "{one} and {other} overlap in time: training samples may be newer than test samples",
            one,
            other
        );
        line_ui(ui, icons::INFO, theme::tokens(ui).info, &text, "");
    }
    for text in &found.unknown {
        let text = tr!("{text}, so it was not compared", text);
        line_ui(ui, icons::QUESTION, theme::tokens(ui).tx3, &text, "");
    }
    if !found.complete {
        let text = tr!("Not all neighbours were compared: there are too many");
        line_ui(ui, icons::WARNING, theme::tokens(ui).warn, text, "");
    }
}

/// Property that the samples of two parts share.
#[derive(Clone, Copy)]
enum SharedProperty {
    Ground,
    Time,
    Bytes,
}

/// Describes a leak in one sentence.
fn sentence(leak: &Leak, what: SharedProperty) -> String {
    let [a, b] = &leak.parts;
    let [first, second] = leak.samples;
    let (n, m) = (
        paint::format_grouped_number(first),
        paint::format_grouped_number(second),
    );
    match what {
        SharedProperty::Ground => tr_n!(
            first,
            "{n} sample of {a} and {m} of {b} cover the same ground",
            "{n} samples of {a} and {m} of {b} cover the same ground",
            n,
            a,
            m,
            b
        ),
        SharedProperty::Time => tr_n!(
            first,
            "{n} sample of {a} and {m} of {b} cover the same ground at the same time",
            "{n} samples of {a} and {m} of {b} cover the same ground at the same time",
            n,
            a,
            m,
            b
        ),
        SharedProperty::Bytes => tr_n!(
            first,
            "{n} sample of {a} and {m} of {b} have the same bytes",
            "{n} samples of {a} and {m} of {b} have the same bytes",
            n,
            a,
            m,
            b
        ),
    }
}

/// Text for a column whose parts share nothing.
fn no_leaks_text(parts: &[&str]) -> String {
    let parts = match parts.split_last() {
        None => tr!("the parts").to_owned(),
        Some((part, [])) => {
            return tr!(
                "The column names one part only, {part}: there is nothing to compare.",
                part
            );
        }
        Some((last, rest)) => tr!("{parts} and {last}", parts = rest.join(", "), last),
    };
    tr!("Nothing leaks between {parts}.", parts)
}

fn line_ui(ui: &mut Ui, icon: &str, color: egui::Color32, text: &str, right: &str) {
    let t = theme::tokens(ui);
    let (rect, response) = ui.allocate_exact_size(vec2(ui.available_width(), 24.0), Sense::hover());
    response.widget_info(|| WidgetInfo::labeled(Role::Row, true, text));
    paint::draw_icon(
        ui.painter(),
        rect.left_center() + vec2(19.0, 0.0),
        icon,
        14.0,
        color,
    );
    let inner = Rect::from_min_max(rect.min + vec2(34.0, 0.0), rect.max - vec2(12.0, 0.0));
    let left = paint::text_right(ui.painter(), inner, right, font::mono(11.0), t.tx3);
    paint::text_left(
        ui.painter(),
        inner.with_max_x(left - 6.0),
        text,
        font::regular(12.0),
        t.tx,
    );
    response.on_hover_text(theme::rich_text(text));
}

fn leak_ui(
    ui: &mut Ui,
    panel: &mut StatisticsPanel,
    cx: &mut PanelContext<'_>,
    document: &Document,
    leak: &Leak,
    what: SharedProperty,
) {
    let t = theme::tokens(ui);
    let text = sentence(leak, what);
    let (rect, response) = ui.allocate_exact_size(vec2(ui.available_width(), 26.0), Sense::click());
    let is_open = panel.leaks.open.contains(&text);
    response.widget_info(|| WidgetInfo::selected(Role::ListItem, true, is_open, &text));
    if response.hovered() {
        ui.painter().rect_filled(rect, 0, t.hover);
    }
    let caret = if is_open {
        icons::CARET_DOWN
    } else {
        icons::CARET_RIGHT
    };
    paint::draw_icon(
        ui.painter(),
        rect.left_center() + vec2(18.0, 0.0),
        caret,
        12.0,
        t.tx3,
    );
    paint::draw_icon(
        ui.painter(),
        rect.left_center() + vec2(38.0, 0.0),
        icons::WARNING,
        14.0,
        t.warn,
    );
    let inner = Rect::from_min_max(rect.min + vec2(52.0, 0.0), rect.max - vec2(12.0, 0.0));
    let pairs = tr_n!(
        leak.pairs,
        "{n} pair",
        "{n} pairs",
        n = paint::format_grouped_number(leak.pairs)
    );
    let left = paint::text_right(ui.painter(), inner, &pairs, font::mono(11.0), t.tx3);
    paint::text_left(
        ui.painter(),
        inner.with_max_x(left - 6.0),
        &text,
        font::medium(12.0),
        t.tx,
    );
    ui.painter().hline(
        rect.x_range(),
        rect.bottom() - 0.5,
        Stroke::new(1.0, t.line),
    );
    paint::focus_ring(ui, &response, 0);
    if response.clicked() {
        let open = &mut panel.leaks.open;
        if !open.remove(&text) {
            open.insert(text.clone());
        }
    }
    if !is_open {
        return;
    }
    let margin = Margin {
        left: 52,
        right: 12,
        top: 4,
        bottom: 8,
    };
    Frame::NONE.inner_margin(margin).show(ui, |ui| {
        ui.spacing_mut().item_spacing.y = 4.0;
        for pair in &leak.examples {
            pair_ui(ui, panel, cx, document, pair);
        }
        let more = leak.pairs.saturating_sub(leak.examples.len() as u64);
        ui.horizontal(|ui| {
            // A draft can't be filtered: it has no tables yet.
            if document.opened_dataset().is_some() {
                let button = Button::secondary(tr!("Filter to these")).icon(icons::FUNNEL);
                if ui
                    .add(button.tooltip(tr!("Show only their samples of level 0 in every view")))
                    .clicked()
                {
                    filters::set(
                        cx,
                        FilterKey::Column("id"),
                        Some(condition_of(&leak.examples)),
                    );
                }
            }
            let shown = leak.examples.len();
            let text = match more {
                0 => tr!("{shown} shown", shown),
                more => tr_n!(
                    more,
                    "{shown} shown, and {n} more pair",
                    "{shown} shown, and {n} more pairs",
                    shown,
                    n = paint::format_grouped_number(more)
                ),
            };
            ui.label(
                theme::rich_text(text)
                    .font(font::regular(11.0))
                    .color(t.tx3),
            );
        });
    });
}

fn pair_ui(
    ui: &mut Ui,
    panel: &mut StatisticsPanel,
    cx: &mut PanelContext<'_>,
    document: &Document,
    pair: &LeakPair,
) {
    let t = theme::tokens(ui);
    ui.horizontal_wrapped(|ui| {
        ui.spacing_mut().item_spacing.x = 6.0;
        for (index, path) in [&pair.one, &pair.other].into_iter().enumerate() {
            if index > 0 {
                ui.label(
                    theme::rich_text(tr!("and"))
                        .font(font::regular(12.0))
                        .color(t.tx3),
                );
            }
            if widgets::link(ui, path).clicked() {
                go_to(panel, cx, document, path);
            }
        }
        let overlap = pair.overlap.map(|share| {
            tr!(
                "overlap {share} % of the smaller footprint",
                share = format!("{:.0}", share * 100.0)
            )
        });
        let days = pair.days.map(|days| match days {
            days if days <= 0.0 => tr!("same time").to_owned(),
            days => tr!("{days} days apart", days = format!("{days:.1}")),
        });
        let words: Vec<String> = overlap.into_iter().chain(days).collect();
        ui.label(
            theme::rich_text(words.join(", "))
                .font(font::regular(11.0))
                .color(t.tx3),
        );
    });
}

/// A condition that selects the level 0 samples of these pairs.
fn condition_of(pairs: &[LeakPair]) -> Filter {
    let root = |path: &String| SamplePath::parse(path).0.first().map(|id| id.to_string());
    let ids: BTreeSet<String> = pairs
        .iter()
        .flat_map(|pair| [&pair.one, &pair.other])
        .filter_map(root)
        .collect();
    let list: Vec<String> = ids.iter().map(|id| quoted_text(id)).collect();
    Filter::condition(format!(
        "{} IN ({})",
        sql::quote_name("id"),
        list.join(", ")
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_filter_names_each_root_once_and_quotes_it() {
        let pair = |one: &str, other: &str| LeakPair {
            one: one.into(),
            other: other.into(),
            ..LeakPair::default()
        };
        let filter = condition_of(&[pair("b/x.tif", "a's"), pair("b/y.tif", "a's")]);
        assert_eq!(filter.condition.as_deref(), Some("id IN ('a''s', 'b')"));
    }

    #[test]
    fn parts_read_like_a_sentence() {
        assert_eq!(
            no_leaks_text(&["train", "validation", "test"]),
            "Nothing leaks between train, validation and test."
        );
        assert_eq!(
            no_leaks_text(&["train"]),
            "The column names one part only, train: there is nothing to compare."
        );
    }
}
