//! Reads workbooks of spreadsheets (Office Open XML, `.xlsx`; OpenDocument, `.ods`): the first
//! visible sheet that names samples, else the first with values; its first row with values, or the
//! first below a title, names the columns. Cells are numbers, booleans, texts, or dates where their
//! format shows a date. Formulas have the value that was stored with them.

use std::collections::HashMap;
use std::io::Read;
use std::path::Path;

use chrono::{DateTime, NaiveDate};
use flate2::read::DeflateDecoder;

use super::budget::size_text;
use super::metadata_columns::{ColumnReading, MetadataTable};
use super::open_document::read_document_sheets;
use super::sheet_cells::{
    DAY_MS, ROWS_BETWEEN_CHECKS, SheetCell, SheetCells, damaged_workbook_error, parse_instant,
};
use super::xml_events::{Attributes, XmlEvent, XmlEvents};
use crate::error::{Error, Result};
use crate::jobs::JobContext;
use crate::text::PrintableLine;

/// Maximum size in bytes of a workbook, and of each part when it is unpacked.
const PART_MAX: u64 = 1 << 30;
/// Media type of an OpenDocument workbook, the content of its member `mimetype`.
const OPEN_DOCUMENT: &str = "application/vnd.oasis.opendocument.spreadsheet";

/// How a cell format shows a number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum NumberFormat {
    Number,
    /// A date, with or without a time of day.
    Date,
    /// A time of day alone.
    TimeOfDay,
}

/// Reads the table of a workbook.
///
/// # Errors
/// [`crate::error::Kind::Format`] when the file is no workbook, is damaged, or two columns have the
/// same name, [`crate::error::Kind::TooLarge`] when a limit is exceeded.
pub(super) fn read_workbook(
    bytes: &[u8],
    reading: &dyn Fn(&str) -> ColumnReading,
    ctx: &JobContext,
) -> Result<MetadataTable> {
    let package = Package::from_bytes(bytes)
        .ok_or_else(|| damaged_workbook_error("its list of parts can't be read"))?;
    let sheets = if let Some(workbook) = package.text("xl/workbook.xml")? {
        office_sheets(&package, &workbook, reading, ctx)?
    } else if package.text("mimetype")?.as_deref().map(str::trim) == Some(OPEN_DOCUMENT) {
        document_sheets(&package, ctx)?
    } else {
        let error =
            Error::format("the metadata table is a ZIP archive, but not a workbook (.xlsx, .ods)");
        return Err(error.hint("save the table as CSV in UTF-8, as .xlsx or as Parquet"));
    };
    // The first sheet that names samples, else the first with values.
    let cells = |at: usize| sheets.get(at).and_then(|sheet| sheet.cells.as_ref());
    let names_samples = |at: &usize| cells(*at).is_some_and(|cells| cells.names_samples(reading));
    let has_values = |at: &usize| cells(*at).is_some_and(|cells| !cells.is_empty());
    let all = || 0..sheets.len();
    let chosen = all().find(names_samples).or_else(|| all().find(has_values));
    let no_sheet = || Error::format("the workbook has no visible sheet with values");
    let chosen = chosen.ok_or_else(no_sheet)?;
    let mut found: Option<MetadataTable> = None;
    let mut name = String::new();
    let mut others = Vec::new();
    for (at, sheet) in sheets.into_iter().enumerate() {
        match sheet.cells.filter(|_| at == chosen) {
            Some(cells) => {
                found = Some(cells.table(sheet.bytes, reading, ctx)?);
                name = sheet.name;
            }
            None => others.push(sheet.name),
        }
    }
    let mut found = found.ok_or_else(no_sheet)?;
    if !others.is_empty() {
        let (name, others) = (name.printable_line(), others.join(", "));
        found.warnings.push(format!(
            "the sheet {name} is read; others are not: {}",
            others.printable_line()
        ));
    }
    Ok(found)
}

/// A sheet of a workbook of any form.
struct Sheet {
    name: String,
    /// Size of the part that it was read from.
    bytes: usize,
    /// `None` when the sheet is hidden, or follows the one that names samples.
    cells: Option<SheetCells>,
}

/// The sheets of an OpenDocument workbook.
fn document_sheets(package: &Package<'_>, ctx: &JobContext) -> Result<Vec<Sheet>> {
    let manifest = package.text("META-INF/manifest.xml")?.unwrap_or_default();
    let is_encrypted = |event| matches!(event, XmlEvent::Start("encryption-data", _));
    if XmlEvents::new(&manifest).any(is_encrypted) {
        let error = Error::format("the workbook is protected by a password");
        return Err(error.hint("save it without one, or as CSV in UTF-8"));
    }
    let missing = || damaged_workbook_error("it has no content.xml");
    let content = package.text("content.xml")?.ok_or_else(missing)?;
    let sheets = read_document_sheets(&content, ctx)?;
    let sheets = sheets.into_iter().map(|sheet| Sheet {
        name: sheet.name,
        bytes: content.len(),
        cells: sheet.cells,
    });
    Ok(sheets.collect())
}

/// The sheets of an Office Open XML workbook, read as far as the first one that names samples.
fn office_sheets(
    package: &Package<'_>,
    workbook: &str,
    reading: &dyn Fn(&str) -> ColumnReading,
    ctx: &JobContext,
) -> Result<Vec<Sheet>> {
    let outline = WorkbookOutline::from_xml(workbook);
    let targets = package
        .text("xl/_rels/workbook.xml.rels")?
        .map(|text| targets_of(&text))
        .unwrap_or_default();
    let strings = package
        .text("xl/sharedStrings.xml")?
        .map(|text| shared_strings(&text))
        .unwrap_or_default();
    let formats = package
        .text("xl/styles.xml")?
        .map(|text| number_formats(&text))
        .unwrap_or_default();
    let meaning = CellMeaning {
        strings: &strings,
        formats: &formats,
        is_1904: outline.is_1904,
    };
    let (mut sheets, mut is_found) = (Vec::with_capacity(outline.sheets.len()), false);
    for (at, entry) in outline.sheets.into_iter().enumerate() {
        let target = targets
            .get(&entry.relation)
            .cloned()
            .unwrap_or_else(|| format!("xl/worksheets/sheet{}.xml", at + 1));
        let mut sheet = Sheet {
            name: entry.name,
            bytes: 0,
            cells: None,
        };
        if !entry.is_hidden
            && !is_found
            && let Some(text) = package.text(&target)?
        {
            let cells = read_office_cells(&text, &meaning, ctx)?;
            is_found = cells.names_samples(reading);
            (sheet.bytes, sheet.cells) = (text.len(), Some(cells));
        }
        sheets.push(sheet);
    }
    Ok(sheets)
}

/// The parts of a workbook: members of a ZIP archive by name.
struct Package<'a> {
    bytes: &'a [u8],
    /// Compression method, offset of the local header, size packed and unpacked.
    members: HashMap<String, (u16, usize, usize, u64)>,
}

impl<'a> Package<'a> {
    /// Reads the central directory.
    fn from_bytes(bytes: &'a [u8]) -> Option<Self> {
        /// Size of the end record without its comment, and the longest comment.
        const END: usize = 22;
        const COMMENT_MAX: usize = 0xFFFF;
        let first = bytes.len().saturating_sub(END + COMMENT_MAX);
        let tail = bytes.get(first..)?;
        let end = first
            + tail
                .windows(4)
                .rposition(|window| window == b"PK\x05\x06")?;
        let count = number(bytes, end + 10, 2)?;
        let mut at = number(bytes, end + 16, 4)?;
        let mut members = HashMap::new();
        for _ in 0..count {
            if bytes.get(at..at + 4)? != b"PK\x01\x02" {
                return None;
            }
            let (name, extra, comment) = (
                number(bytes, at + 28, 2)?,
                number(bytes, at + 30, 2)?,
                number(bytes, at + 32, 2)?,
            );
            let member = (
                u16::try_from(number(bytes, at + 10, 2)?).ok()?,
                number(bytes, at + 42, 4)?,
                number(bytes, at + 20, 4)?,
                number(bytes, at + 24, 4)? as u64,
            );
            members.insert(
                String::from_utf8_lossy(bytes.get(at + 46..at + 46 + name)?).into_owned(),
                member,
            );
            at += 46 + name + extra + comment;
        }
        Some(Self { bytes, members })
    }

    /// The text of a part; `None` when the workbook lacks it.
    fn text(&self, name: &str) -> Result<Option<String>> {
        let Some(&(method, header, packed, size)) = self.members.get(name.trim_start_matches('/'))
        else {
            return Ok(None);
        };
        let name = name.printable_line();
        if size > PART_MAX {
            return Err(Error::too_large(format!(
                "{name} of the workbook has {}; {} is the most",
                size_text(size),
                size_text(PART_MAX)
            )));
        }
        let data = self
            .find_packed_part(header, packed)
            .ok_or_else(|| damaged_workbook_error(format!("{name} is cut")))?;
        let mut text = Vec::new();
        let unpacked = match method {
            0 => data.take(size).read_to_end(&mut text),
            8 => DeflateDecoder::new(data).take(size).read_to_end(&mut text),
            other => {
                return Err(damaged_workbook_error(format!(
                    "{name} has the compression method {other}"
                )));
            }
        };
        unpacked.map_err(|error| damaged_workbook_error(format!("{name}: {error}")))?;
        String::from_utf8(text)
            .map(Some)
            .map_err(|_| damaged_workbook_error(format!("{name} is not UTF-8")))
    }

    /// The packed bytes of a part behind its local header.
    fn find_packed_part(&self, header: usize, packed: usize) -> Option<&'a [u8]> {
        let start = header
            .checked_add(30)?
            .checked_add(number(self.bytes, header + 26, 2)?)?;
        let start = start.checked_add(number(self.bytes, header + 28, 2)?)?;
        self.bytes.get(start..start.checked_add(packed)?)
    }
}

/// A little-endian number of 2 or 4 bytes.
fn number(bytes: &[u8], at: usize, size: usize) -> Option<usize> {
    let bytes = bytes.get(at..at.checked_add(size)?)?;
    Some(
        bytes
            .iter()
            .rev()
            .fold(0, |number, byte| number << 8 | usize::from(*byte)),
    )
}

struct SheetEntry {
    name: String,
    relation: String,
    is_hidden: bool,
}

struct WorkbookOutline {
    sheets: Vec<SheetEntry>,
    /// Dates are counted from 1904.
    is_1904: bool,
}

impl WorkbookOutline {
    fn from_xml(workbook: &str) -> Self {
        let mut outline = Self {
            sheets: Vec::new(),
            is_1904: false,
        };
        for event in XmlEvents::new(workbook) {
            match event {
                XmlEvent::Start("workbookPr", about) => {
                    outline.is_1904 = about
                        .get("date1904")
                        .is_some_and(|value| matches!(value.as_ref(), "1" | "true"));
                }
                XmlEvent::Start("sheet", about) => outline.sheets.push(SheetEntry {
                    name: about.get("name").unwrap_or_default().into_owned(),
                    relation: about.get("id").unwrap_or_default().into_owned(),
                    is_hidden: about.get("state").is_some_and(|state| state != "visible"),
                }),
                _ => {}
            }
        }
        outline
    }
}

/// Parts by the ids of their relationships.
fn targets_of(relationships: &str) -> HashMap<String, String> {
    XmlEvents::new(relationships)
        .filter_map(read_relationship)
        .collect()
}

/// The id of a relationship and the part that it names.
fn read_relationship(event: XmlEvent<'_>) -> Option<(String, String)> {
    let XmlEvent::Start("Relationship", about) = event else {
        return None;
    };
    let target = about.get("Target")?;
    let target = match target.strip_prefix('/') {
        Some(absolute) => absolute.to_owned(),
        None => format!("xl/{}", target.trim_start_matches("./")),
    };
    Some((about.get("Id")?.into_owned(), target))
}

/// The texts that cells share; text runs are joined, phonetic readings left out.
fn shared_strings(text: &str) -> Vec<String> {
    let mut strings = Vec::new();
    let mut current = String::new();
    let (mut in_text, mut in_reading) = (false, false);
    for event in XmlEvents::new(text) {
        match event {
            XmlEvent::Start("si", _) => current.clear(),
            XmlEvent::End("si") => strings.push(std::mem::take(&mut current)),
            XmlEvent::Start("rPh", _) => in_reading = true,
            XmlEvent::End("rPh") => in_reading = false,
            XmlEvent::Start("t", _) => in_text = true,
            XmlEvent::End("t") => in_text = false,
            XmlEvent::Text(text) if in_text && !in_reading => current.push_str(&text),
            _ => {}
        }
    }
    strings
        .iter()
        .map(|text| unescape_characters(text))
        .collect()
}

/// Replaces `_x000D_`, a character that XML does not hold (ECMA-376 part 1, 22.9.2.19).
fn unescape_characters(text: &str) -> String {
    let mut plain = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find("_x") {
        let (before, escape) = rest.split_at(at);
        let code = escape.get(2..6).filter(|_| escape.get(6..7) == Some("_"));
        let character = code
            .and_then(|code| u32::from_str_radix(code, 16).ok())
            .and_then(char::from_u32);
        plain.push_str(before);
        let read = match character {
            Some(character) => {
                plain.push(character);
                7
            }
            None => {
                plain.push_str("_x");
                2
            }
        };
        rest = escape.get(read..).unwrap_or_default();
    }
    plain + rest
}

/// How each cell format shows numbers.
fn number_formats(styles: &str) -> Vec<NumberFormat> {
    let mut own: HashMap<String, NumberFormat> = HashMap::new();
    let mut formats = Vec::new();
    let mut in_cell_formats = false;
    for event in XmlEvents::new(styles) {
        match event {
            XmlEvent::Start("numFmt", about) => {
                if let (Some(id), Some(code)) = (about.get("numFmtId"), about.get("formatCode")) {
                    own.insert(id.into_owned(), format_of_code(&code));
                }
            }
            XmlEvent::Start("cellXfs", _) => in_cell_formats = true,
            XmlEvent::End("cellXfs") => in_cell_formats = false,
            XmlEvent::Start("xf", about) if in_cell_formats => {
                let id = about.get("numFmtId").unwrap_or_default();
                formats.push(
                    own.get(id.as_ref())
                        .copied()
                        .unwrap_or_else(|| format_of_id(&id)),
                );
            }
            _ => {}
        }
    }
    formats
}

/// Formats that need no code (ECMA-376 part 1, 18.8.30).
fn format_of_id(id: &str) -> NumberFormat {
    match id.parse::<u32>() {
        Ok(14..=17 | 22 | 27..=36 | 50..=58) => NumberFormat::Date,
        Ok(18..=21 | 45 | 47) => NumberFormat::TimeOfDay,
        _ => NumberFormat::Number,
    }
}

/// What a format code shows, by the letters outside of quotes, brackets and escapes. `[h]:mm` is a
/// duration, a number.
fn format_of_code(code: &str) -> NumberFormat {
    let (mut has_day, mut has_clock, mut has_month) = (false, false, false);
    let mut letters = code.split(';').next().unwrap_or_default().chars();
    while let Some(letter) = letters.next() {
        match letter.to_ascii_lowercase() {
            '"' => while letters.next().is_some_and(|letter| letter != '"') {},
            '\\' | '_' | '*' => {
                letters.next();
            }
            '[' => {
                let inside: String = letters
                    .by_ref()
                    .take_while(|letter| *letter != ']')
                    .collect();
                if matches!(
                    inside.to_ascii_lowercase().as_str(),
                    "h" | "hh" | "m" | "mm" | "s" | "ss"
                ) {
                    return NumberFormat::Number;
                }
            }
            'y' | 'd' => has_day = true,
            'h' | 's' => has_clock = true,
            'm' => has_month = true,
            'g' | 'e' | '0' | '#' | '?' if !has_clock && !has_day && !has_month => {
                return NumberFormat::Number;
            }
            _ => {}
        }
    }
    match (has_day || (has_month && !has_clock), has_clock) {
        (true, _) => NumberFormat::Date,
        (false, true) => NumberFormat::TimeOfDay,
        (false, false) => NumberFormat::Number,
    }
}

/// What the contents of cells refer to.
struct CellMeaning<'a> {
    strings: &'a [String],
    formats: &'a [NumberFormat],
    is_1904: bool,
}

impl CellMeaning<'_> {
    /// The value of a cell; `None` for an empty one and for an error such as `#DIV/0!`.
    fn value(&self, kind: &str, style: Option<usize>, text: &str) -> Option<SheetCell> {
        let as_text = |text: &str| {
            Some(SheetCell::Text(text.trim().to_owned())).filter(|_| !text.trim().is_empty())
        };
        match kind {
            "s" => as_text(self.strings.get(text.trim().parse::<usize>().ok()?)?),
            "inlineStr" | "str" => as_text(text),
            "b" => Some(SheetCell::Boolean(
                text.trim() == "1" || text.trim() == "true",
            )),
            "e" => None,
            "d" => parse_instant(text.trim())
                .map(SheetCell::Instant)
                .or_else(|| as_text(text)),
            _ => {
                let number: f64 = text
                    .trim()
                    .parse()
                    .ok()
                    .filter(|number: &f64| number.is_finite())?;
                Some(match style.and_then(|style| self.formats.get(style)) {
                    Some(NumberFormat::Date) => self
                        .instant(number)
                        .map_or(SheetCell::Number(number), SheetCell::Instant),
                    Some(NumberFormat::TimeOfDay) if (0.0..1.0).contains(&number) => {
                        let clock =
                            DateTime::from_timestamp_millis((number * DAY_MS).round() as i64)?;
                        SheetCell::Text(clock.format("%H:%M:%S%.f").to_string())
                    }
                    Some(NumberFormat::TimeOfDay) => self
                        .instant(number)
                        .map_or(SheetCell::Number(number), SheetCell::Instant),
                    _ => SheetCell::Number(number),
                })
            }
        }
    }

    /// Milliseconds since 1970 of a serial number of days; `None` outside of the dates that
    /// spreadsheets have.
    fn instant(&self, serial: f64) -> Option<i64> {
        // Day 60 of the system of 1900 is 29 February 1900, which did not exist.
        let epoch = match self.is_1904 {
            true => NaiveDate::from_ymd_opt(1904, 1, 1)?,
            false if serial < 60.0 => NaiveDate::from_ymd_opt(1899, 12, 31)?,
            false => NaiveDate::from_ymd_opt(1899, 12, 30)?,
        };
        if !(0.0..2_958_466.0).contains(&serial)
            || (!self.is_1904 && (60.0..61.0).contains(&serial))
        {
            return None;
        }
        let days = epoch.signed_duration_since(NaiveDate::default()).num_days();
        Some(days * DAY_MS as i64 + (serial * DAY_MS).round() as i64)
    }
}

/// A cell while it is read.
#[derive(Default)]
struct OpenCell {
    place: Option<(usize, usize)>,
    kind: String,
    style: Option<usize>,
    text: String,
    has_formula: bool,
}

/// Reads the cells of a sheet of an Office Open XML workbook.
fn read_office_cells(
    sheet: &str,
    meaning: &CellMeaning<'_>,
    ctx: &JobContext,
) -> Result<SheetCells> {
    let mut found = SheetCells::default();
    let (mut row, mut column, mut rows_read) = (0usize, 0usize, 0usize);
    let mut cell = OpenCell::default();
    let (mut in_value, mut in_reading) = (false, false);
    for event in XmlEvents::new(sheet) {
        match event {
            XmlEvent::Start("row", about) => {
                row = about
                    .get("r")
                    .and_then(|number| number.parse::<usize>().ok())
                    .map_or(row + 1, |number| number.max(1));
                column = 0;
                rows_read += 1;
                if rows_read % ROWS_BETWEEN_CHECKS == 0 {
                    ctx.check()?;
                }
            }
            XmlEvent::Start("c", about) => {
                cell = OpenCell::from_attributes(about, row.saturating_sub(1), column);
                column = cell.place.map_or(column, |(_, at)| at) + 1;
            }
            XmlEvent::Start("f", _) => cell.has_formula = true,
            XmlEvent::Start("rPh", _) => in_reading = true,
            XmlEvent::End("rPh") => in_reading = false,
            XmlEvent::Start("v" | "t", _) => in_value = true,
            XmlEvent::End("v" | "t") => in_value = false,
            XmlEvent::Text(text) if in_value && !in_reading => cell.text.push_str(&text),
            XmlEvent::End("c") => std::mem::take(&mut cell).add_to(&mut found, meaning),
            _ => {}
        }
    }
    Ok(found)
}

impl OpenCell {
    fn from_attributes(about: Attributes<'_>, row: usize, column: usize) -> Self {
        Self {
            place: Some(
                about
                    .get("r")
                    .and_then(|place| place_of(&place))
                    .unwrap_or((row, column)),
            ),
            kind: about.get("t").unwrap_or_default().into_owned(),
            style: about.get("s").and_then(|style| style.parse().ok()),
            ..Self::default()
        }
    }

    /// Adds the value of the cell to those of its sheet.
    fn add_to(self, found: &mut SheetCells, meaning: &CellMeaning<'_>) {
        let Some((row, column)) = self.place else {
            return;
        };
        if let Some(value) = meaning.value(&self.kind, self.style, &self.text) {
            found.add_cell(row, column, value);
        } else if self.kind == "e" {
            found.note_error(row, column, &self.text);
        } else if self.has_formula && self.text.is_empty() {
            found.note_formula(row, column);
        }
    }
}

/// Row and column, from 0, of a name such as `AB12`.
fn place_of(name: &str) -> Option<(usize, usize)> {
    let digits = name.find(|letter: char| letter.is_ascii_digit())?;
    let (letters, row) = name.split_at(digits);
    let mut column = 0usize;
    for letter in letters.bytes() {
        let value = letter
            .to_ascii_uppercase()
            .checked_sub(b'A')
            .filter(|value| *value < 26)?;
        column = column
            .checked_mul(26)?
            .checked_add(usize::from(value) + 1)?;
    }
    Some((
        row.parse::<usize>().ok()?.checked_sub(1)?,
        column.checked_sub(1)?,
    ))
}

/// True when a file begins as a workbook does.
pub(super) fn begins_as_workbook(start: &[u8]) -> bool {
    start.starts_with(b"PK\x03\x04")
}

/// Refuses a workbook that is too large to be read.
///
/// # Errors
/// [`crate::error::Kind::TooLarge`] above the limit.
pub(super) fn check_size(size: u64, path: &Path) -> Result<()> {
    if size <= PART_MAX {
        Ok(())
    } else {
        let summary = format!(
            "the workbook has {}; {} is the most",
            size_text(size),
            size_text(PART_MAX)
        );
        Err(Error::too_large(summary)
            .at_path(path)
            .hint("save it as Parquet"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::dtype_name;
    use crate::table::sheet_cells::cell_name;

    /// A workbook of stored members.
    fn workbook(parts: &[(&str, &str)]) -> Vec<u8> {
        let (mut bytes, mut directory) = (Vec::new(), Vec::new());
        for (name, text) in parts {
            let header = bytes.len() as u32;
            let sizes = [
                crc32fast::hash(text.as_bytes()),
                text.len() as u32,
                text.len() as u32,
            ]
            .map(u32::to_le_bytes)
            .concat();
            let lengths = [(name.len() as u16).to_le_bytes(), [0, 0]].concat();
            bytes.extend(
                [
                    &b"PK\x03\x04\x14\0\0\0\0\0\0\0\0\0"[..],
                    &sizes,
                    &lengths,
                    name.as_bytes(),
                    text.as_bytes(),
                ]
                .concat(),
            );
            directory.extend(
                [
                    &b"PK\x01\x02\x14\0\x14\0\0\0\0\0\0\0\0\0"[..],
                    &sizes,
                    &lengths,
                    &[0; 10],
                ]
                .concat(),
            );
            directory.extend([&header.to_le_bytes()[..], name.as_bytes()].concat());
        }
        let (start, size, count) = (
            bytes.len() as u32,
            directory.len() as u32,
            parts.len() as u16,
        );
        bytes.extend(directory);
        bytes.extend(
            [
                &b"PK\x05\x06\0\0\0\0"[..],
                &count.to_le_bytes(),
                &count.to_le_bytes(),
            ]
            .concat(),
        );
        bytes.extend([size.to_le_bytes(), start.to_le_bytes()].concat());
        bytes.extend([0, 0]);
        bytes
    }

    const BOOK: &str = "<workbook><sheets><sheet name=\"Notes\" sheetId=\"1\" r:id=\"r1\" \
        state=\"hidden\"/>\
        <sheet name=\"Scenes\" sheetId=\"2\" r:id=\"r2\"/><sheet name=\"More\" sheetId=\"3\" \
        r:id=\"r3\"/></sheets></workbook>";
    const RELATIONS: &str = "<Relationships><Relationship Id=\"r1\" Target=\"worksheets/a.xml\"/>\
        <Relationship Id=\"r2\" Target=\"/xl/worksheets/b.xml\"/></Relationships>";
    const STRINGS: &str = "<sst><si><t>path</t></si><si><r><t>fi</t></r><r><t>ps</t></r><rPh><t>\
        x</t></rPh></si><si><t> 06075 </t></si></sst>";
    const STYLES: &str = "<styleSheet><numFmts><numFmt numFmtId=\"164\" \
        formatCode=\"yyyy\\-mm\\-dd\"/>\
        <numFmt numFmtId=\"165\" formatCode=\"0.00&quot;d&quot;\"/></numFmts><cellStyleXfs><xf \
        numFmtId=\"9\"/></cellStyleXfs>\
        <cellXfs><xf numFmtId=\"0\"/><xf numFmtId=\"164\"/><xf numFmtId=\"22\"/><xf \
        numFmtId=\"165\"/></cellXfs></styleSheet>";

    fn read(sheet: &str) -> Result<MetadataTable> {
        let sheet = format!("<worksheet><sheetData>{sheet}</sheetData></worksheet>");
        let bytes = workbook(&[
            ("xl/workbook.xml", BOOK),
            ("xl/_rels/workbook.xml.rels", RELATIONS),
            ("xl/sharedStrings.xml", STRINGS),
            ("xl/styles.xml", STYLES),
            (
                "xl/worksheets/a.xml",
                "<worksheet><row r=\"1\"><c><v>1</v></c></row></worksheet>",
            ),
            ("xl/worksheets/b.xml", &sheet),
        ]);
        let reading = |name: &str| {
            if name == "path" {
                ColumnReading::ExactText
            } else {
                ColumnReading::Inferred
            }
        };
        read_workbook(&bytes, &reading, &JobContext::default())
    }

    fn shown(found: &MetadataTable) -> String {
        let column = |(index, field): (usize, crate::model::FieldSpec)| {
            let values: Vec<String> = (0..found.table.rows())
                .map(|row| found.table.text(row, index))
                .collect();
            format!(
                "{}: {}: {}\n",
                field.name,
                dtype_name(&field.dtype),
                values.join(" ")
            )
        };
        found
            .table
            .fields()
            .into_iter()
            .enumerate()
            .map(column)
            .collect()
    }

    #[test]
    fn a_title_above_the_header_is_left_out_and_reported() {
        let row = |number: usize, cells: &[&str]| {
            let cell = |(at, text): (usize, &&str)| {
                let place = cell_name(number - 1, at);
                match text.parse::<f64>() {
                    Ok(value) => format!("<c r=\"{place}\"><v>{value}</v></c>"),
                    Err(_) => format!("<c r=\"{place}\" t=\"str\"><v>{text}</v></c>"),
                }
            };
            let cells: String = cells.iter().enumerate().map(cell).collect();
            format!("<row r=\"{number}\">{cells}</row>")
        };
        let data = [
            row(5, &["path", "cloud"]),
            row(6, &["a", "1"]),
            row(7, &["b", "2"]),
        ]
        .concat();
        let found =
            read(&[row(1, &["Fields"]), row(2, &["2021"]), data.clone()].concat()).expect("reads");
        assert_eq!(shown(&found), "path: string: a b\ncloud: int64: 1 2\n");
        assert!(
            found.warnings[0].contains("above the header")
                && found.warnings[0].contains("Fields, 2021"),
            "{:?}",
            found.warnings
        );
        // Rows before an empty one may have several cells.
        let wide = [row(1, &["By", "me"]), row(2, &["On", "2021"]), data.clone()].concat();
        let found = read(&wide).expect("reads");
        assert_eq!(shown(&found), "path: string: a b\ncloud: int64: 1 2\n");
        assert!(
            found.warnings[0].ends_with("By, me, On, 2021"),
            "{:?}",
            found.warnings
        );
        let found = read(&data).expect("reads");
        let warnings = found.warnings.join("\n");
        assert!(!warnings.contains("above the header"), "{warnings}");
    }

    #[test]
    fn cells_have_the_types_that_the_sheet_shows() {
        let found = read(
            "<row r=\"2\"><c r=\"A2\" t=\"s\"><v>0</v></c><c r=\"B2\" t=\"s\"><v>1</v></c><c \
                r=\"C2\" t=\"inlineStr\"><is><t>day</t></is></c>\
             <c t=\"str\"><v>time</v></c><c t=\"str\"><v>late</v></c><c t=\"str\"><v>sum</v></c><c \
                t=\"str\"><v>n</v></c></row>\
             <row r=\"3\"><c r=\"A3\"><v>7</v></c><c r=\"B3\" t=\"s\"><v>2</v></c><c r=\"C3\" \
                s=\"1\"><v>44317</v></c>\
             <c s=\"2\"><v>44317.430902777778</v></c><c t=\"b\"><v>1</v></c><c \
                s=\"3\"><f>1+0.5</f><v>1.5</v></c><c><v>3</v></c></row>\
             <row r=\"5\"><c r=\"A5\" t=\"str\"><v>b</v></c><c r=\"C5\" s=\"1\"><v>59</v></c><c \
                r=\"E5\" t=\"b\"><v>0</v></c>\
             <c r=\"F5\" t=\"e\"><v>#DIV/0!</v></c><c r=\"G5\" t=\"str\"><v>NA</v></c></row>",
        )
        .expect("reads");
        assert_eq!(
            shown(&found),
            "path: string: 7 b\nfips: string: 06075 \nday: date32[day]: 2021-05-01 1900-02-28\n\
             time: timestamp[us]: 2021-05-01T10:20:30 \nlate: bool: true false\nsum: double: 1.5 \n\
                n: int64: 3 \n"
        );
        assert_eq!(found.warnings.len(), 2, "{:?}", found.warnings);
        assert!(
            found.warnings[0].contains("F5 #DIV/0!"),
            "{:?}",
            found.warnings
        );
        assert!(
            found.warnings[1].contains("Scenes") && found.warnings[1].contains("Notes, More"),
            "{:?}",
            found.warnings
        );
    }

    #[test]
    fn columns_of_several_types_are_text_and_formulas_without_values_null_with_a_warning() {
        let found = read(
            "<row><c t=\"str\"><v>path</v></c><c t=\"str\"><v>n</v></c><c \
                t=\"str\"><v>f</v></c></row>\
             <row><c t=\"str\"><v>a</v></c><c><v>1</v></c><c><f>A1</f></c></row><row><c \
                t=\"str\"><v>b</v></c><c><v>2</v></c></row>\
             <row><c t=\"str\"><v>c</v></c><c t=\"str\"><v>cloudy</v></c></row>",
        )
        .expect("reads");
        assert_eq!(
            shown(&found),
            "path: string: a b c\nn: string: 1 2 cloudy\nf: null:   \n"
        );
        let warnings = found.warnings.join("\n");
        assert!(
            warnings.contains("B4") && warnings.contains("C2"),
            "{warnings}"
        );
    }

    #[test]
    fn the_first_sheet_that_names_samples_is_read() {
        let cells = |texts: [&str; 2]| {
            let cells: String = texts
                .iter()
                .map(|text| format!("<c t=\"str\"><v>{text}</v></c>"))
                .collect();
            format!("<row>{cells}</row>")
        };
        let sheet = |rows: String| format!("<worksheet><sheetData>{rows}</sheetData></worksheet>");
        let book = |second: String| {
            workbook(&[
                ("xl/workbook.xml", BOOK),
                (
                    "xl/worksheets/sheet2.xml",
                    &sheet(cells(["Made by", "hand"]) + &cells(["a", "b"])),
                ),
                ("xl/worksheets/sheet3.xml", &sheet(second)),
            ])
        };
        let reading = |name: &str| {
            if name == "path" {
                ColumnReading::ExactText
            } else {
                ColumnReading::Inferred
            }
        };
        let read =
            |bytes: &[u8]| read_workbook(bytes, &reading, &JobContext::default()).expect("reads");
        let found = read(&book(cells(["path", "n"]) + &cells(["a", "x"])));
        assert_eq!(shown(&found), "path: string: a\nn: string: x\n");
        assert!(
            found.warnings[0].contains("the sheet More is read; others are not: Notes, Scenes"),
            "{:?}",
            found.warnings
        );
        let found = read(&book(cells(["m", "n"])));
        assert!(
            found.warnings[0].contains("the sheet Scenes is read"),
            "{:?}",
            found.warnings
        );
    }

    #[test]
    fn what_is_no_table_is_refused_by_name() {
        let text = |value: &str| format!("<c t=\"str\"><v>{value}</v></c>");
        let said = |sheet: &str| read(sheet).expect_err("is refused").report();
        assert!(
            said(&format!(
                "<row>{}</row><row>{}<c><v>1</v></c></row>",
                text("n"),
                text("a")
            ))
            .contains("B2")
        );
        assert!(said("").contains("no visible sheet"));
        let refused = |bytes: &[u8]| {
            read_workbook(bytes, &|_| ColumnReading::Inferred, &JobContext::default())
                .expect_err("is refused")
                .report()
        };
        assert!(refused(&workbook(&[("content.xml", "<a/>")])).contains("not a workbook"));
        let whole = workbook(&[("xl/workbook.xml", BOOK)]);
        for cut in 0..whole.len() {
            refused(&whole[..cut]);
        }
    }

    #[test]
    fn a_sheet_of_an_open_document_has_its_values_and_types() {
        let bytes = include_bytes!("../../tests/fixtures/tables/scenes.ods");
        let reading = |name: &str| match name {
            "path" => ColumnReading::ExactText,
            _ => ColumnReading::Inferred,
        };
        let found = read_workbook(bytes, &reading, &JobContext::default()).expect("reads");
        assert_eq!(
            shown(&found),
            "path: string: river_0001.tif river_0002.tif 007\n\
             fips: string: 06075 007 10E10\n\
             cloud cover (%): double: 1.5  3\n\
             n: int64: 1 2 3\n\
             day: date32[day]: 2021-05-31 1900-01-01 \n\
             time: timestamp[us]: 2021-05-31T10:20:30  1999-12-31T23:59:59\n\
             flag: bool: true false true\n\
             t: string: a\nb x é&<\n"
        );
        let warning = "the sheet Scenes is read; others are not: Notes";
        assert_eq!(found.warnings, [warning]);
    }

    #[test]
    fn an_open_document_with_a_password_or_without_content_is_refused_by_name() {
        let manifest = "<manifest:manifest><manifest:file-entry><manifest:encryption-data/>\
            </manifest:file-entry></manifest:manifest>";
        let read = |parts: &[(&str, &str)]| {
            read_workbook(
                &workbook(parts),
                &|_| ColumnReading::Inferred,
                &JobContext::default(),
            )
            .expect_err("is refused")
            .report()
        };
        let mimetype = ("mimetype", OPEN_DOCUMENT);
        assert!(read(&[mimetype, ("META-INF/manifest.xml", manifest)]).contains("password"));
        assert!(read(&[mimetype]).contains("content.xml"));
        assert!(read(&[mimetype, ("content.xml", "<a/>")]).contains("no visible sheet"));
    }

    #[test]
    fn escaped_characters_are_read_and_other_texts_stay() {
        for (text, wanted) in [
            ("a_x000D_\nb", "a\r\nb"),
            ("_x005F_x0041_", "_x0041_"),
            ("max_x_y _x00 _xZZZZ_", "max_x_y _x00 _xZZZZ_"),
            ("é_x00E9_", "éé"),
        ] {
            assert_eq!(unescape_characters(text), wanted, "{text}");
        }
    }

    #[test]
    fn format_codes_show_dates_times_and_numbers() {
        for (code, wanted) in [
            ("yyyy-mm-dd", NumberFormat::Date),
            ("d/m/yy h:mm", NumberFormat::Date),
            ("mmm", NumberFormat::Date),
            ("[$-409]d-mmm-yy;@", NumberFormat::Date),
            ("h:mm AM/PM", NumberFormat::TimeOfDay),
            ("[h]:mm:ss", NumberFormat::Number),
            ("0.00\" days\"", NumberFormat::Number),
            ("General", NumberFormat::Number),
            ("[Red]0.0", NumberFormat::Number),
            ("0.00E+00", NumberFormat::Number),
            ("#,##0 \\d", NumberFormat::Number),
        ] {
            assert_eq!(format_of_code(code), wanted, "{code}");
        }
        assert_eq!(
            (place_of("AB12"), cell_name(11, 27)),
            (Some((11, 27)), "AB12".into())
        );
    }
}
