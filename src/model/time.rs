//! Times as text: the one grammar for metadata, collections and queries.

use chrono::{DateTime, NaiveDate, NaiveDateTime, NaiveTime};

/// Parses ISO 8601 into a time in UTC: a date (its start), or a date and time with optional seconds
/// and UTC offset (default: UTC). Years have four digits, months and days two. `None` for other
/// text, also with blanks around it.
pub fn parse_utc_time(text: &str) -> Option<NaiveDateTime> {
    if !begins_with_date(text) {
        return None;
    }
    if let Ok(time) = DateTime::parse_from_rfc3339(text) {
        return Some(time.naive_utc());
    }
    for format in [
        "%Y-%m-%dT%H:%M:%S%.f%#z",
        "%Y-%m-%d %H:%M:%S%.f%#z",
        "%Y-%m-%dT%H:%M%#z",
        "%Y-%m-%d %H:%M%#z",
    ] {
        if let Ok(time) = DateTime::parse_from_str(text, format) {
            return Some(time.naive_utc());
        }
    }
    let without_zone = text.strip_suffix(['Z', 'z']).unwrap_or(text);
    for format in [
        "%Y-%m-%dT%H:%M:%S%.f",
        "%Y-%m-%d %H:%M:%S%.f",
        "%Y-%m-%dT%H:%M",
        "%Y-%m-%d %H:%M",
        "%Y%m%dT%H%M%S",
    ] {
        if let Ok(time) = NaiveDateTime::parse_from_str(without_zone, format) {
            return Some(time);
        }
    }
    let date = ["%Y-%m-%d", "%Y%m%d"]
        .iter()
        .find_map(|format| NaiveDate::parse_from_str(text, format).ok())?;
    Some(date.and_time(NaiveTime::MIN))
}

/// True for text that begins with `YYYY-MM-DD` or `YYYYMMDD`. Checked before parsing, as chrono
/// reads `24-1-1` as a day of the year 24.
fn begins_with_date(text: &str) -> bool {
    let shape: String = text
        .chars()
        .take(10)
        .map(|character| {
            if character.is_ascii_digit() {
                '0'
            } else {
                character
            }
        })
        .collect();
    shape == "0000-00-00" || shape.get(..8) == Some("00000000")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_form_of_one_time_is_the_same_time() {
        let expected = parse_utc_time("2024-01-31T10:00:00Z").expect("a time");
        for form in [
            "2024-01-31T10:00",
            "2024-01-31T10:00Z",
            "2024-01-31 10:00",
            "2024-01-31 10:00:00.000",
            "2024-01-31T12:00:00+02:00",
            "2024-01-31T12:00+0200",
            "2024-01-31 12:00+02:00",
            "20240131T100000",
            "20240131T100000Z",
        ] {
            assert_eq!(parse_utc_time(form), Some(expected), "{form}");
        }
        let midnight = parse_utc_time("2024-01-31T00:00:00Z");
        assert_eq!(parse_utc_time("2024-01-31"), midnight);
        assert_eq!(parse_utc_time("20240131"), midnight);
    }

    #[test]
    fn text_that_is_not_a_time_is_refused() {
        for other in [
            "yesterday",
            "24-1-1",
            "70-01-02",
            "1970-1-2",
            "1970-01-2",
            "12024-01-01",
            "1970-1-2T00:00:00Z",
            "24-1-1 10:00",
            " 1970-01-02",
            "é",
            "",
        ] {
            assert_eq!(parse_utc_time(other), None, "{other}");
        }
    }
}
