//! Columns from the parts of the samples' ids: `S2A_{tile}_{date}` gives the columns `tile` and
//! `date`.

use arrow::datatypes::DataType;
use chrono::NaiveDate;

use super::super::{
    Extension, ExtensionEntry, ExtensionScope, OptionKind, OptionSpec, TortillaExtension,
    TortillaView, parse_options,
};
use crate::error::{Error, Result};
use crate::jobs::JobContext;
use crate::model::{FieldSpec, NamePart, NamePattern, PartKind, Value, check_field_name};

/// Ids that a warning names.
const MAX_NAMES: usize = 3;

pub const ENTRY: ExtensionEntry = ExtensionEntry {
    name: "name_columns",
    title: mark!("Columns from names"),
    summary: mark!("Takes parts of the ids, such as tile and date, into columns of their own."),
    scope: ExtensionScope::Tortilla,
    options,
    make: |given| {
        let options: NameOptions = parse_options("name_columns", &options(), given)?;
        Ok(Extension::Tortilla(Box::new(NameColumns::new(
            &options.pattern,
        )?)))
    },
};

fn options() -> Vec<OptionSpec> {
    let help = mark!(
        "the whole id with columns in braces: S2A_{tile}_{date}_v{version:int}; types are int, \
            float and date, otherwise text"
    );
    vec![OptionSpec::new(mark!("pattern"), OptionKind::Text, help).make_required()]
}

#[derive(serde::Deserialize)]
struct NameOptions {
    pattern: String,
}

fn dtype_of(kind: PartKind) -> DataType {
    match kind {
        PartKind::Text => DataType::Utf8,
        PartKind::Integer => DataType::Int64,
        PartKind::Float => DataType::Float64,
        PartKind::Date => DataType::Date32,
    }
}

/// The value of a text; `None` for a number that is too large, or a day that is not in the
/// calendar.
fn value_of(kind: PartKind, text: &str) -> Option<Value> {
    Some(match kind {
        PartKind::Text => Value::text(text),
        PartKind::Integer => Value::Int(text.parse().ok()?),
        PartKind::Float => Value::Float(text.parse().ok()?),
        PartKind::Date => {
            let digits: String = text.chars().filter(char::is_ascii_digit).collect();
            let day = NaiveDate::parse_from_str(&digits, "%Y%m%d").ok()?;
            Value::Int(day.signed_duration_since(NaiveDate::default()).num_days())
        }
    })
}

/// The columns of a pattern.
#[derive(Debug)]
struct NameColumns {
    pattern: NamePattern,
}

impl NameColumns {
    /// # Errors
    /// For a pattern that can't be read, a name that a field can't have, and no column.
    fn new(pattern: &str) -> Result<Self> {
        let columns = Self {
            pattern: NamePattern::new(pattern)?,
        };
        for part in columns.pattern.parts() {
            check_field_name(&part.name)
                .map_err(|fault| Error::usage(format!("the column \"{}\" {fault}", part.name)))?;
        }
        if columns.pattern.parts().is_empty() {
            let error = Error::usage(format!("the pattern {pattern} has no column"));
            return Err(
                error.hint("write the id with columns in braces, for example S2A_{tile}_{date}")
            );
        }
        Ok(columns)
    }

    /// The values of an id, or of what is before its ending; `None` where it does not match.
    fn values(&self, id: &str) -> Option<Vec<Value>> {
        self.parse_text(id)
            .or_else(|| self.parse_text(id.rsplit_once('.')?.0))
    }

    fn parse_text(&self, text: &str) -> Option<Vec<Value>> {
        let parts = self.pattern.parts().iter();
        let texts = self.pattern.texts(text)?;
        parts
            .zip(texts)
            .map(|(part, text)| value_of(part.kind, text))
            .collect()
    }
}

impl TortillaExtension for NameColumns {
    fn schema(&self) -> Vec<FieldSpec> {
        self.pattern.parts().iter().map(make_part_field).collect()
    }

    fn compute(&self, tortilla: &TortillaView<'_>, ctx: &JobContext) -> Result<Vec<Vec<Value>>> {
        let width = self.pattern.parts().len();
        let mut columns = vec![Vec::with_capacity(tortilla.len()); width];
        let (mut unlike, mut examples) = (0_usize, Vec::new());
        for view in &tortilla.samples {
            let sample = view.sample();
            let values = self.values(&sample.id);
            if values.is_none() && !sample.is_padding() {
                unlike += 1;
                if examples.len() < MAX_NAMES {
                    examples.push(sample.id.to_string());
                }
            }
            let values = values.unwrap_or_else(|| vec![Value::Null; width]);
            columns
                .iter_mut()
                .zip(values)
                .for_each(|(column, value)| column.push(value));
        }
        ctx.check()?;
        if unlike > 0 {
            let more = if unlike > examples.len() { ", …" } else { "" };
            let text = format!(
                "{unlike} of {} ids are unlike the pattern: {}{more}",
                tortilla.len(),
                examples.join(", ")
            );
            if columns.iter().flatten().all(Value::is_null) {
                return Err(Error::usage(text)
                    .hint("a pattern is the whole id, with or without its ending"));
            }
            ctx.warn(format!("{text}; their values are null"));
        }
        Ok(columns)
    }

    fn needs_level(&self) -> bool {
        false
    }

    fn reads(&self, _column: &str) -> bool {
        false
    }
}

fn make_part_field(part: &NamePart) -> FieldSpec {
    FieldSpec {
        name: part.name.clone(),
        dtype: dtype_of(part.kind),
        description: format!("{} in the id of the sample", part.name),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_of_names_have_the_types_that_the_pattern_says() {
        let columns =
            NameColumns::new("S2{sat}_{tile}_{start:date}_v{version:int}").expect("a pattern");
        let fields: Vec<(String, DataType)> = columns
            .schema()
            .into_iter()
            .map(|field| (field.name, field.dtype))
            .collect();
        let types = [
            ("sat", DataType::Utf8),
            ("tile", DataType::Utf8),
            ("start", DataType::Date32),
            ("version", DataType::Int64),
        ];
        assert_eq!(fields, types.map(|(name, dtype)| (name.to_owned(), dtype)));
        let values = columns
            .values("S2A_T30_TXQ_2020-02-29_v007.tif")
            .expect("matches");
        assert_eq!(
            values,
            [
                Value::text("A"),
                Value::text("T30_TXQ"),
                Value::Int(18_321),
                Value::Int(7)
            ]
        );
        // No such day, another form, a number that does not fit.
        for id in [
            "S2A_T30_2021-02-29_v1",
            "S1A_T30_20200101",
            "S2A_T30_20200101_v99999999999999999999",
            "",
        ] {
            assert_eq!(columns.values(id), None, "{id}");
        }
    }

    #[test]
    fn patterns_that_give_no_column_are_refused() {
        for wrong in ["", "plain", "{open", "{id}", "{internal:x}"] {
            assert!(NameColumns::new(wrong).is_err(), "{wrong}");
        }
    }
}
