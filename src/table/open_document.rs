//! Sheets of OpenDocument workbooks (`.ods`): cells have the types that the document states, so
//! that no format code is read. A cell or row that is written once for several is repeated. Source:
//! OpenDocument 1.3, part 3, sections 9.1 and 19.

use std::borrow::Cow;
use std::collections::HashSet;

use chrono::NaiveTime;

use super::metadata_columns::CELLS_FREE;
use super::sheet_cells::{ROWS_BETWEEN_CHECKS, SheetCell, SheetCells, parse_instant};
use super::xml_events::{Attributes, XmlEvent, XmlEvents};
use crate::error::{Error, Result};
use crate::jobs::JobContext;

/// A sheet of a document.
pub(super) struct DocumentSheet {
    pub name: String,
    pub is_hidden: bool,
    /// `None` when the sheet is hidden.
    pub cells: Option<SheetCells>,
}

/// Reads the sheets of `content.xml`.
///
/// # Errors
/// [`crate::error::Kind::TooLarge`] when repeated cells are more than the document has bytes,
/// [`crate::error::Kind::Cancelled`].
pub(super) fn read_document_sheets(content: &str, ctx: &JobContext) -> Result<Vec<DocumentSheet>> {
    let mut sheets: Vec<DocumentSheet> = Vec::new();
    let mut hidden_styles = HashSet::new();
    let mut style = String::new();
    let mut reader = SheetReader::new(content.len());
    for event in XmlEvents::new(content) {
        match event {
            XmlEvent::Start("style", about) => {
                style = about.get("name").unwrap_or_default().into_owned();
            }
            XmlEvent::Start("table-properties", about)
                if about.get("display").is_some_and(|value| value == "false") =>
            {
                hidden_styles.insert(style.clone());
            }
            // A table within a cell is content of it.
            XmlEvent::Start("table", about) if !reader.is_in_cell() => {
                let style = about.get("style-name").unwrap_or_default();
                reader.begin_sheet();
                sheets.push(DocumentSheet {
                    name: about.get("name").unwrap_or_default().into_owned(),
                    is_hidden: hidden_styles.contains(style.as_ref()),
                    cells: None,
                });
            }
            XmlEvent::End("table") if !reader.is_in_cell() => {
                if let Some(sheet) = sheets.last_mut().filter(|sheet| !sheet.is_hidden) {
                    sheet.cells = Some(std::mem::take(&mut reader.found));
                }
            }
            event if sheets.last().is_some_and(|sheet| !sheet.is_hidden) => {
                reader.add_event(event, ctx)?;
            }
            _ => {}
        }
    }
    Ok(sheets)
}

/// Value of a cell as it is written, before its end is known.
struct WrittenCell {
    /// `office:value-type`; empty for a cell without a value.
    kind: String,
    /// Value in the attribute of the type.
    value: String,
    is_error: bool,
    has_formula: bool,
    repeated: usize,
}

/// Reads the rows of one sheet.
struct SheetReader {
    found: SheetCells,
    row: usize,
    column: usize,
    rows_repeated: usize,
    /// Values of the current row by column.
    values: Vec<(usize, SheetCell)>,
    rows_read: usize,
    /// How many more cells repetitions may give.
    room: u64,
    cell: Option<WrittenCell>,
    text: CellText,
}

impl SheetReader {
    fn new(content_bytes: usize) -> Self {
        Self {
            found: SheetCells::default(),
            row: 0,
            column: 0,
            rows_repeated: 1,
            values: Vec::new(),
            rows_read: 0,
            room: CELLS_FREE.max(content_bytes as u64),
            cell: None,
            text: CellText::default(),
        }
    }

    fn begin_sheet(&mut self) {
        self.found = SheetCells::default();
        (self.row, self.column) = (0, 0);
        self.values.clear();
    }

    fn is_in_cell(&self) -> bool {
        self.cell.is_some()
    }

    fn add_event(&mut self, event: XmlEvent<'_>, ctx: &JobContext) -> Result<()> {
        match event {
            XmlEvent::Start("table-row", about) if !self.is_in_cell() => {
                self.rows_repeated = repetitions(&about, "number-rows-repeated");
                self.column = 0;
                self.rows_read += 1;
                if self.rows_read.is_multiple_of(ROWS_BETWEEN_CHECKS) {
                    ctx.check()?;
                }
            }
            XmlEvent::End("table-row") if !self.is_in_cell() => self.end_row()?,
            XmlEvent::Start("table-cell" | "covered-table-cell", about) if !self.is_in_cell() => {
                self.cell = Some(WrittenCell::new(&about));
                self.text = CellText::default();
            }
            XmlEvent::End("table-cell" | "covered-table-cell") => self.end_cell()?,
            event => self.text.add_event(event),
        }
        Ok(())
    }

    fn end_cell(&mut self) -> Result<()> {
        let Some(cell) = self.cell.take() else {
            return Ok(());
        };
        let text = std::mem::take(&mut self.text.text);
        match cell.value(&text) {
            Some(value) => {
                self.spend(cell.repeated)?;
                let columns = self.column..self.column.saturating_add(cell.repeated);
                self.values
                    .extend(columns.map(|column| (column, value.clone())));
            }
            None if cell.is_error => self.found.note_error(self.row, self.column, &text),
            None if cell.has_formula && text.is_empty() => {
                self.found.note_formula(self.row, self.column);
            }
            None => {}
        }
        self.column = self.column.saturating_add(cell.repeated);
        Ok(())
    }

    fn end_row(&mut self) -> Result<()> {
        let values = std::mem::take(&mut self.values);
        if !values.is_empty() {
            self.spend(values.len().saturating_mul(self.rows_repeated - 1))?;
            for row in self.row..self.row.saturating_add(self.rows_repeated) {
                self.found.add_row(row, values.clone());
            }
        }
        self.row = self.row.saturating_add(self.rows_repeated);
        Ok(())
    }

    /// Counts cells, so that a short document does not fill the memory.
    fn spend(&mut self, cells: usize) -> Result<()> {
        match self.room.checked_sub(cells as u64) {
            Some(room) => {
                self.room = room;
                Ok(())
            }
            None => {
                let error =
                    Error::too_large("the workbook repeats cells more often than it has bytes");
                Err(error.hint("save the table as CSV in UTF-8 or as Parquet"))
            }
        }
    }
}

/// How often a row or a cell is repeated.
fn repetitions(about: &Attributes<'_>, name: &str) -> usize {
    about
        .get(name)
        .and_then(|count| count.parse().ok())
        .unwrap_or(1)
        .max(1)
}

impl WrittenCell {
    fn new(about: &Attributes<'_>) -> Self {
        let kind = read_attribute(about, "office:value-type");
        let value = read_attribute(
            about,
            match kind.as_str() {
                "date" => "office:date-value",
                "time" => "office:time-value",
                "boolean" => "office:boolean-value",
                "string" => "office:string-value",
                _ => "office:value",
            },
        );
        Self {
            kind,
            value,
            is_error: about
                .get_qualified("calcext:value-type")
                .is_some_and(|kind| kind == "error"),
            has_formula: about.get("formula").is_some(),
            repeated: repetitions(about, "number-columns-repeated"),
        }
    }

    /// The value with the text that the cell shows; `None` for an empty cell and for an error.
    fn value(&self, text: &str) -> Option<SheetCell> {
        if self.is_error {
            return None;
        }
        match self.kind.as_str() {
            "float" | "percentage" | "currency" => {
                let number: f64 = self.value.parse().ok()?;
                number.is_finite().then_some(SheetCell::Number(number))
            }
            "boolean" => Some(SheetCell::Boolean(self.value == "true")),
            "date" => parse_instant(&self.value)
                .map(SheetCell::Instant)
                .or_else(|| make_text_cell(&self.value)),
            "time" => Some(SheetCell::Text(
                clock_text(&self.value).unwrap_or_else(|| self.value.clone()),
            )),
            "string" if !self.value.is_empty() => make_text_cell(&self.value),
            _ => make_text_cell(text),
        }
    }
}

/// An attribute by its qualified name, empty when it is missing.
fn read_attribute(about: &Attributes<'_>, name: &str) -> String {
    about
        .get_qualified(name)
        .map(Cow::into_owned)
        .unwrap_or_default()
}

/// `None` for a text of whitespace.
fn make_text_cell(text: &str) -> Option<SheetCell> {
    let text = text.trim();
    (!text.is_empty()).then(|| SheetCell::Text(text.to_owned()))
}

/// `10:20:30` of the duration `PT10H20M30S` when it is shorter than a day.
fn clock_text(duration: &str) -> Option<String> {
    let mut rest = duration.strip_prefix("PT")?;
    let mut parts = [0.0; 3];
    for (part, unit) in parts.iter_mut().zip(['H', 'M', 'S']) {
        if let Some((number, after)) = rest.split_once(unit) {
            *part = number.replace(',', ".").parse::<f64>().ok()?;
            rest = after;
        }
    }
    let [hours, minutes, seconds] = parts;
    let is_clock = rest.is_empty()
        && (0.0..24.0).contains(&hours)
        && (0.0..60.0).contains(&minutes)
        && (0.0..60.0).contains(&seconds);
    let nanos = ((hours * 60.0 + minutes) * 60.0 + seconds) * 1e9;
    let time = NaiveTime::from_num_seconds_from_midnight_opt(
        (nanos / 1e9) as u32,
        (nanos % 1e9).round() as u32,
    );
    time.filter(|_| is_clock)
        .map(|time| time.format("%H:%M:%S%.f").to_string())
}

/// The text that a cell shows: paragraphs on lines of their own, without the notes on the cell.
#[derive(Default)]
struct CellText {
    text: String,
    paragraphs: usize,
    /// Depth of open paragraphs and of elements that are not shown.
    in_paragraph: usize,
    in_note: usize,
}

impl CellText {
    fn add_event(&mut self, event: XmlEvent<'_>) {
        match event {
            XmlEvent::Start("annotation", _) => self.in_note += 1,
            XmlEvent::End("annotation") => self.in_note = self.in_note.saturating_sub(1),
            _ if self.in_note > 0 => {}
            XmlEvent::Start("p" | "h", _) => {
                if self.paragraphs > 0 && self.in_paragraph == 0 {
                    self.text.push('\n');
                }
                self.paragraphs += 1;
                self.in_paragraph += 1;
            }
            XmlEvent::End("p" | "h") => self.in_paragraph = self.in_paragraph.saturating_sub(1),
            _ if self.in_paragraph == 0 => {}
            XmlEvent::Start("s", about) => {
                /// Spaces that a document may write as one element.
                const SPACES_MAX: usize = 1000;
                let count = repetitions(&about, "c").min(SPACES_MAX);
                self.text.extend(std::iter::repeat_n(' ', count));
            }
            XmlEvent::Start("tab", _) => self.text.push('\t'),
            XmlEvent::Start("line-break", _) => self.text.push('\n'),
            XmlEvent::Text(text) => self.text.push_str(&text),
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn document(body: &str) -> String {
        format!(
            "<office:document-content><office:automatic-styles><style:style style:name=\"ta2\" \
             style:family=\"table\"><style:table-properties table:display=\"false\"/></style:style>\
             </office:automatic-styles><office:body><office:spreadsheet>{body}\
             </office:spreadsheet></office:body></office:document-content>"
        )
    }

    fn cells(body: &str) -> Vec<(usize, usize, String)> {
        let text = document(&format!(
            "<table:table table:name=\"a\">{body}</table:table>"
        ));
        let sheets = read_document_sheets(&text, &JobContext::default()).expect("reads");
        let [sheet] = sheets.as_slice() else {
            panic!("one sheet")
        };
        let cells = sheet.cells.as_ref().expect("is visible");
        let place = |(row, column, cell): (usize, usize, &SheetCell)| (row, column, cell.text());
        cells.list_cells().map(place).collect()
    }

    #[test]
    fn values_have_the_types_that_the_document_states() {
        let found = cells(
            "<table:table-row><table:table-cell office:value-type=\"string\"><text:p>a \
             <text:s text:c=\"2\"/>b</text:p><text:p>c</text:p><office:annotation><text:p>a note\
             </text:p></office:annotation></table:table-cell>\
             <table:table-cell office:value-type=\"float\" office:value=\"1.50\"><text:p>1,5\
             </text:p></table:table-cell>\
             <table:table-cell/><table:table-cell office:value-type=\"date\" \
             office:date-value=\"2021-05-31T10:20:30\"><text:p>31.5.21</text:p></table:table-cell>\
             <table:table-cell office:value-type=\"time\" office:time-value=\"PT10H20M30S\">\
             <text:p>10:20</text:p></table:table-cell>\
             <table:table-cell office:value-type=\"boolean\" office:boolean-value=\"true\"/>\
             <table:table-cell office:value-type=\"string\" office:string-value=\"\" \
             calcext:value-type=\"error\"><text:p>#DIV/0!</text:p></table:table-cell>\
             </table:table-row>",
        );
        let wanted = [
            (0, "a   b\nc"),
            (1, "1.5"),
            (3, "2021-05-31T10:20:30"),
            (4, "10:20:30"),
            (5, "true"),
        ];
        assert_eq!(
            found,
            wanted.map(|(column, text)| (0, column, text.to_owned()))
        );
    }

    #[test]
    fn repeated_cells_and_rows_are_repeated_and_empty_ones_take_no_room() {
        let found = cells(
            "<table:table-row table:number-rows-repeated=\"2\"><table:table-cell \
             table:number-columns-repeated=\"2\" office:value-type=\"float\" office:value=\"7\"/>\
             </table:table-row><table:table-row table:number-rows-repeated=\"1048570\">\
             <table:table-cell table:number-columns-repeated=\"16384\"/></table:table-row>\
             <table:table-row><table:table-cell office:value-type=\"float\" office:value=\"8\"/>\
             </table:table-row>",
        );
        let seven = |row, column| (row, column, "7".to_owned());
        let wanted = vec![
            seven(0, 0),
            seven(0, 1),
            seven(1, 0),
            seven(1, 1),
            (1_048_572, 0, "8".to_owned()),
        ];
        assert_eq!(found, wanted);
        let bomb = "<table:table table:name=\"a\"><table:table-row \
             table:number-rows-repeated=\"1048576\"><table:table-cell \
             table:number-columns-repeated=\"16384\" office:value-type=\"float\" \
             office:value=\"7\"/></table:table-row></table:table>";
        let refused = read_document_sheets(&document(bomb), &JobContext::default());
        assert!(refused.is_err_and(|error| error.kind() == crate::error::Kind::TooLarge));
    }

    #[test]
    fn hidden_sheets_are_known_and_not_read() {
        let text = document(
            "<table:table table:name=\"a\" table:style-name=\"ta2\"><table:table-row>\
             <table:table-cell office:value-type=\"float\" office:value=\"7\"/></table:table-row>\
             </table:table><table:table table:name=\"b\"/>",
        );
        let sheets = read_document_sheets(&text, &JobContext::default()).expect("reads");
        let sheets: Vec<_> = sheets
            .iter()
            .map(|sheet| (sheet.name.as_str(), sheet.is_hidden, sheet.cells.is_some()))
            .collect();
        assert_eq!(sheets, [("a", true, false), ("b", false, true)]);
    }

    #[test]
    fn durations_of_less_than_a_day_are_times_of_day() {
        for (duration, wanted) in [
            ("PT10H20M30S", Some("10:20:30")),
            ("PT00H00M00.5S", Some("00:00:00.500")),
            ("PT5M", Some("00:05:00")),
            ("PT30H", None),
            ("P1D", None),
            ("PT1X", None),
        ] {
            assert_eq!(clock_text(duration).as_deref(), wanted, "{duration}");
        }
    }
}
