//! The dataset's filter as chips: text, SQL and changes of each. Every panel that shows rows shows
//! the chips.

use egui::{Popup, Role, Sense, Stroke, StrokeKind, Ui, WidgetInfo, pos2, vec2};

use super::icons;
use super::panel_context::{PanelContext, Request};
use super::sql;
use super::theme::{self, font};
use super::widgets::{self, Button, paint};
use crate::container::Format;
use crate::export::{ModuleOpening, module_code, statement_code};
use crate::model::FieldSpec;
use crate::ops::lacks_tables_for;
use crate::query::copy_as::{self, ParquetEngine, quoted_text};
use crate::query::{BoxTest, Filter};
use crate::studio::{Command, Document};

pub use crate::query::DEFAULT_TIME_COLUMNS;

/// Icon and text of a chip.
pub fn chip_text(filter: &Filter) -> (&'static str, String) {
    if let Some(corners) = &filter.polygon {
        let n = corners.len();
        let text = tr_n!(n, "polygon of {n} corner", "polygon of {n} corners", n);
        return (
            icons::POLYGON,
            append_level(append_box_test(text, filter.by), filter.level),
        );
    }
    if let Some([west, south, east, north]) = filter.bbox {
        let text = format!(
            "{}, {}, {}, {}",
            format_two_decimals(west),
            format_two_decimals(south),
            format_two_decimals(east),
            format_two_decimals(north)
        );
        return (
            icons::BOUNDING_BOX,
            append_level(append_box_test(text, filter.by), filter.level),
        );
    }
    if let Some(range) = &filter.datetime {
        let text = match range.split_once('/') {
            Some(("..", end)) => tr!("until {end}", end),
            Some((start, "..")) => tr!("from {start}", start),
            Some((start, end)) => format!("{start} – {end}"),
            None => range.clone(),
        };
        return (icons::CLOCK, append_level(text, filter.level));
    }
    (
        icons::FUNNEL,
        append_level(
            filter
                .condition
                .clone()
                .unwrap_or_else(|| tr!("everything").to_owned()),
            filter.level,
        ),
    )
}

fn append_level(text: String, level: usize) -> String {
    match level {
        0 => text,
        level => tr!("{condition} on level {level}", condition = text, level),
    }
}

fn append_box_test(text: String, by: BoxTest) -> String {
    match by {
        BoxTest::Footprint => text,
        BoxTest::Centroid => tr!("{condition} by centroid", condition = text),
    }
}

fn format_two_decimals(number: f64) -> String {
    format!("{number:.2}")
        .trim_end_matches('0')
        .trim_end_matches('.')
        .to_owned()
}

/// The filter as a DuckDB condition for the Python reader; `None` where it can't be written as one.
pub fn as_duckdb(filter: &Filter, document: &Document) -> Option<String> {
    copy_as::duckdb_condition(filter, &columns(filter, document)).ok()
}

/// The filter as a condition of the query panel's SQL that keeps the same rows; `None` where SQL
/// has none.
pub fn as_sql(filter: &Filter, document: &Document) -> Option<String> {
    copy_as::sql_condition(filter, &columns(filter, document))
}

/// The columns that the filter can refer to.
fn columns(filter: &Filter, document: &Document) -> Vec<FieldSpec> {
    let texts = ["id", "type"].map(|name| FieldSpec::new(name, arrow::datatypes::DataType::Utf8));
    texts
        .into_iter()
        .chain(document.fields(filter.level))
        .collect()
}

/// The filter of samples whose id contains the typed text, or matches it as a pattern with `*` and
/// `?`; case is ignored.
pub fn of_ids(typed: &str) -> Filter {
    let escaped = |text: &str| regex::escape(text);
    let pattern = if typed.contains(['*', '?']) {
        let parts: Vec<String> = typed
            .split('*')
            .map(|part| part.split('?').map(escaped).collect::<Vec<_>>().join("."))
            .collect();
        format!("(?is)^{}$", parts.join(".*"))
    } else {
        format!("(?is){}", escaped(typed))
    };
    Filter::condition(format!("regexp_matches(id, {})", quoted_text(&pattern)))
}

/// Identifies the chip that a new filter replaces.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FilterKey<'a> {
    /// The box or polygon.
    Area,
    /// The range of time.
    Time,
    /// The condition on this column.
    Column(&'a str),
}

impl FilterKey<'_> {
    /// True for a filter that a new one of this key replaces.
    pub fn selects_filter(self, filter: &Filter) -> bool {
        match self {
            Self::Area => filter.has_area(),
            Self::Time => filter.datetime.is_some(),
            Self::Column(name) => filter
                .condition
                .as_ref()
                .is_some_and(|condition| sql::begins_with_name(condition, name)),
        }
    }
}

/// The filters with the one of `slot` replaced by `new`, or removed.
pub fn replace_filter(filters: &[Filter], slot: FilterKey<'_>, new: Option<Filter>) -> Vec<Filter> {
    let mut list: Vec<Filter> = filters
        .iter()
        .filter(|filter| !slot.selects_filter(filter))
        .cloned()
        .collect();
    list.extend(new);
    list
}

/// Requests a filter for a key, which replaces the current one.
pub fn set(cx: &mut PanelContext<'_>, slot: FilterKey<'_>, new: Option<Filter>) {
    let filters = replace_filter(cx.studio.filters(), slot, new);
    if filters != cx.studio.filters() {
        cx.run(Command::Filter { filters });
    }
}

/// Draws the chips and the number of matching rows. Returns false without a filter.
pub fn chips_ui(ui: &mut Ui, cx: &mut PanelContext<'_>) -> bool {
    let filters = cx.studio.filters().to_vec();
    let mut remove = None;
    for (index, filter) in filters.iter().enumerate() {
        let (icon, mut text) = chip_text(filter);
        if let Some((typed, _)) = cx
            .session
            .id_filter
            .as_ref()
            .filter(|(_, applied)| applied == filter)
        {
            text = tr!("id: {typed}", typed);
        }
        if chip(ui, icon, &text) {
            remove = Some(index);
        }
    }
    if let Some(index) = remove {
        let mut left = filters.clone();
        left.remove(index);
        cx.run(Command::Filter { filters: left });
    }
    !filters.is_empty()
}

/// Draws the menu that copies the filters as a statement of another engine.
pub fn copy_as_ui(ui: &mut Ui, cx: &mut PanelContext<'_>) {
    if cx
        .document()
        .is_none_or(|document| document.opened_dataset().is_none())
    {
        return;
    }
    let button = Button::ghost(tr!("Copy as" in "before the names of engines"))
        .icon(icons::CODE)
        .name(tr!("Copy the filters as"));
    let button = ui.add(button.tooltip(tr!(
        "The same rows in Python, DuckDB, Polars, Spark or Dask"
    )));
    Popup::menu(&button).show(|ui| {
        ui.spacing_mut().item_spacing.y = 0.0;
        if widgets::menu_entry(
            ui,
            icons::COPY,
            tr!("Python (tacoreader)"),
            "",
            find_tacoreader_obstacle(cx),
        )
        .clicked()
        {
            let script = build_tacoreader_script(cx, "SELECT * FROM data");
            cx.request(Request::Copy(script));
            ui.close();
        }
        if widgets::menu_entry(ui, icons::COPY, MODULE_SCRIPT_LABEL, "", None).clicked() {
            let script = build_module_script(cx, "SELECT * FROM data");
            cx.request(Request::Copy(script));
            ui.close();
        }
        for engine in ParquetEngine::ALL {
            let lacking = cx
                .document()
                .and_then(Document::opened_dataset)
                .and_then(|open| lacks_tables_for(open.reader.as_ref(), engine));
            let why = lacking.map(|_| {
                tr!("It reads Parquet files: write an index with Index existing ZIPs… first")
            });
            if widgets::menu_entry(ui, icons::COPY, engine.name(), "", why).clicked() {
                cx.request(Request::CopyAs(engine));
                ui.close();
            }
        }
    });
}

/// The menu entry for a script of the module `taco_studio`.
pub const MODULE_SCRIPT_LABEL: &str = "Python (taco_studio)";

/// A statement over the rows that the filters keep as a Python script for the module `taco_studio`.
pub fn build_module_script(cx: &PanelContext<'_>, text: &str) -> String {
    let opening = match cx.document().and_then(Document::opened_dataset) {
        Some(open) => ModuleOpening::from_options(&open.reader.info().path, &open.options),
        None => ModuleOpening::from_addresses(&[String::new()]),
    };
    module_code(&opening, Some(text.trim()), cx.studio.filters())
}

/// Why the official reader, which is of TACO 2, can't read the opened dataset; `None` when it can.
pub fn find_tacoreader_obstacle(cx: &PanelContext<'_>) -> Option<&'static str> {
    let format = cx
        .document()
        .and_then(Document::opened_dataset)
        .map(|open| open.reader.info().format)?;
    let is_other = matches!(
        format,
        Format::Tortilla | Format::Taco | Format::Taco3 | Format::Early
    );
    is_other.then_some(tr!(
        "tacoreader reads TACO 2 only: migrate the dataset first"
    ))
}

/// A statement over the opened dataset as a Python script for the official reader. Filters become
/// SQL conditions, because the reader's own filters do not apply to its SQL; those without a
/// condition are named in a comment.
pub fn build_tacoreader_script(cx: &PanelContext<'_>, text: &str) -> String {
    let opened = cx.document().and_then(Document::opened_dataset);
    let addresses: Vec<String> = opened
        .into_iter()
        .flat_map(|open| std::iter::once(&open.reader.info().path).chain(&open.options.with))
        .map(|path| path.display().to_string())
        .collect();
    let (mut statement, mut left_out) = (text.trim().to_owned(), Vec::new());
    for filter in cx.studio.filters() {
        match cx
            .document()
            .and_then(|document| as_duckdb(filter, document))
            .filter(|_| filter.level == 0)
        {
            Some(condition) => {
                statement = sql::with_condition(&statement, &condition);
            }
            None => left_out.push(chip_text(filter).1),
        }
    }
    statement_code(&addresses, &statement, &left_out)
}

/// Text with the number of matching rows of a level.
pub fn tally_text(cx: &PanelContext<'_>, document: &Document, level: usize) -> String {
    let all = paint::format_grouped_number(document.rows(level) as u64);
    if cx.studio.is_filtering() {
        tr!("Filtering…").to_owned()
    } else if cx.studio.filter_failure().is_some() {
        tr!("The filter could not be applied").to_owned()
    } else {
        match cx.studio.filtered_rows().and_then(|kept| kept.rows(level)) {
            Some(rows) => tr!(
                "{n} of {all} rows of level {level}",
                n = paint::format_grouped_number(rows.len() as u64),
                all,
                level
            ),
            None => tr_n!(
                document.rows(level),
                "{n} row of level {level}",
                "{n} rows of level {level}",
                n = all,
                level
            ),
        }
    }
}

/// Draws a bar with the chips; nothing without a filter.
pub fn bar_ui(ui: &mut Ui, cx: &mut PanelContext<'_>, document: &Document, level: usize) {
    if cx.studio.filters().is_empty() {
        return;
    }
    let t = theme::tokens(ui);
    let frame = egui::Frame::NONE
        .fill(t.bg2)
        .inner_margin(egui::Margin::symmetric(8, 4));
    frame.show(ui, |ui| {
        ui.set_min_width(ui.available_width());
        ui.horizontal_wrapped(|ui| {
            ui.spacing_mut().item_spacing = vec2(6.0, 4.0);
            chips_ui(ui, cx);
            let failure = cx.studio.filter_failure().map(str::to_owned);
            let text = failure
                .clone()
                .unwrap_or_else(|| tally_text(cx, document, level));
            let color = if failure.is_some() { t.err } else { t.tx3 };
            ui.label(
                theme::rich_text(text)
                    .font(font::regular(12.0))
                    .color(color),
            );
            copy_as_ui(ui, cx);
        });
    });
    let rect = ui.min_rect();
    ui.painter().hline(
        rect.x_range(),
        rect.bottom() - 0.5,
        Stroke::new(1.0, t.line),
    );
}

/// Draws a chip. True when its cross was clicked.
fn chip(ui: &mut Ui, icon: &str, text: &str) -> bool {
    let t = theme::tokens(ui);
    let shown: String = if text.chars().count() > 48 {
        text.chars().take(47).chain(['…']).collect()
    } else {
        text.to_owned()
    };
    let galley = paint::layout_unwrapped_line(ui.painter(), &shown, font::medium(12.0), t.acc);
    let (rect, label) =
        ui.allocate_exact_size(vec2((galley.size().x + 46.0).round(), 22.0), Sense::hover());
    label.widget_info(|| WidgetInfo::labeled(Role::Label, true, tr!("Filter {text}", text)));
    let cross = egui::Rect::from_min_max(pos2(rect.right() - 20.0, rect.top()), rect.max);
    let enabled = ui.is_enabled();
    let response = ui.interact(cross, label.id.with("remove"), Sense::click());
    response.widget_info(|| {
        WidgetInfo::labeled(Role::Button, enabled, tr!("Remove filter {text}", text))
    });
    if ui.is_rect_visible(rect) {
        ui.painter().rect(
            rect,
            4,
            t.accbg,
            Stroke::new(1.0, t.accline),
            StrokeKind::Inside,
        );
        paint::draw_icon(
            ui.painter(),
            pos2(rect.left() + 14.0, rect.center().y),
            icon,
            13.0,
            t.acc,
        );
        let at = paint::snap_to_pixels(
            ui.painter(),
            pos2(rect.left() + 24.0, rect.center().y - galley.size().y / 2.0),
        );
        ui.painter().galley(at, galley, t.acc);
        paint::draw_icon(
            ui.painter(),
            cross.center() - vec2(2.0, 0.0),
            icons::X,
            11.0,
            if response.hovered() { t.tx } else { t.acc },
        );
        paint::focus_ring(ui, &response, 4);
    }
    label.on_hover_text(theme::rich_text(text));
    response.clicked()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_slot_holds_one_filter() {
        let filters = vec![
            Filter::bbox([0.0, 0.0, 1.0, 1.0]),
            Filter::condition("split = 'train'"),
        ];
        let moved = replace_filter(
            &filters,
            FilterKey::Area,
            Some(Filter::bbox([5.0, 5.0, 6.0, 6.0])),
        );
        assert_eq!(moved.len(), 2);
        assert_eq!(moved[1].bbox, Some([5.0, 5.0, 6.0, 6.0]));
        assert_eq!(
            replace_filter(&moved, FilterKey::Column("split"), None).len(),
            1
        );
        assert_eq!(replace_filter(&moved, FilterKey::Time, None), moved);
    }

    #[test]
    fn a_column_whose_name_begins_with_that_of_another_keeps_its_filter() {
        let filters = ["cloud_cover < 5", "cloud < 5", "\"cloud:x\" = 1"].map(Filter::condition);
        let kept = replace_filter(&filters, FilterKey::Column("cloud"), None);
        assert_eq!(kept, [filters[0].clone(), filters[2].clone()]);
        let kept = replace_filter(&filters, FilterKey::Column("cloud:x"), None);
        assert_eq!(kept, filters[..2]);
    }

    #[test]
    fn typed_ids_match_as_in_the_tree() {
        let matches = |typed: &str, id: &str| {
            let condition = of_ids(typed).condition.expect("is a condition");
            let pattern = condition
                .trim_start_matches("regexp_matches(id, '")
                .trim_end_matches("')")
                .replace("''", "'");
            regex::Regex::new(&pattern)
                .expect("is a pattern")
                .is_match(id)
        };
        for (typed, id) in [
            ("ebro", "my_EBRO_1"),
            ("ebro_000?", "ebro_0001"),
            ("ebro_000?", "ebro_00012"),
            ("a.b", "axb"),
            ("*_t02*", "s2_t02.tif"),
            ("it's", "it's"),
            ("a+b?", "a+bc"),
        ] {
            assert_eq!(
                matches(typed, id),
                crate::gui::outline::matches(typed, id),
                "{typed} {id}"
            );
        }
    }

    #[test]
    fn chips_read_like_sentences() {
        assert_eq!(
            chip_text(&Filter::bbox([88.25, 8.1, 108.9, 24.0])).1,
            "88.25, 8.1, 108.9, 24"
        );
        assert_eq!(
            chip_text(&Filter::datetime("2023-05-01/..")).1,
            "from 2023-05-01"
        );
        assert_eq!(
            chip_text(&Filter::condition("cloud_cover < 35").at_level(1)).1,
            "cloud_cover < 35 on level 1"
        );
    }
}
