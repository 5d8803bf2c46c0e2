//! Python code that opens datasets, with the official reader and with the module `taco_studio`. All
//! code for them which the studio hands out is made here, and run by the tests.

use serde_json::{Map, Value as Json};

use crate::container::Format;
use crate::query::Filter;
use crate::query::copy_as::python_string;

/// Code that opens the datasets at these addresses as one and shows their rows, or those of a
/// statement. The reader of 2.0 does not support the first generation, for which the older one is
/// named; it has no statements.
pub fn python_code(addresses: &[String], format: Format, sql: Option<&str>) -> String {
    let names: Vec<String> = addresses
        .iter()
        .map(|address| python_string(address))
        .collect();
    let given = if names.len() == 1 {
        names.concat()
    } else {
        format!("[{}]", names.join(", "))
    };
    let (install, show) = match (format, sql) {
        (Format::Tortilla | Format::Taco, _) => (
            "# pip install \"tacoreader<1\": later ones read 2.0 only",
            "print(dataset)\nprint(dataset.read(0))".to_owned(),
        ),
        (_, None) => ("# pip install tacoreader", "print(dataset.data)".to_owned()),
        // Reader 2.4 returns a table of its backend, earlier ones a dataset: both can be printed.
        (_, Some(sql)) => (
            "# pip install tacoreader",
            format!("rows = dataset.sql({})\nprint(rows)", python_string(sql)),
        ),
    };
    format!("{install}\nimport tacoreader\n\ndataset = tacoreader.load({given})\n{show}\n")
}

/// Code that opens the datasets at these addresses, of any generation, as one with the module
/// `taco_studio`, and shows rows that the filters keep: those of a statement, or the first ones.
pub fn module_code(addresses: &[String], sql: Option<&str>, filters: &[Filter]) -> String {
    let mut arguments = vec![sql.map_or_else(|| "limit=5".to_owned(), python_string)];
    let filters: Vec<String> = filters.iter().map(python_filter).collect();
    if !filters.is_empty() {
        arguments.push(format!("filters=[{}]", filters.join(", ")));
    }
    format!(
        "# pip install taco-studio\nimport taco_studio\n\ndataset = taco_studio.open({})\nrows = \
            dataset.sql({})\nprint(rows.to_dicts())\n",
        module_arguments(addresses).join(", "),
        arguments.join(", ")
    )
}

/// A filter as a dictionary of Python.
fn python_filter(filter: &Filter) -> String {
    let fields = match serde_json::to_value(filter) {
        Ok(Json::Object(fields)) => fields,
        _ => Map::new(),
    };
    let entries: Vec<String> = fields
        .iter()
        .map(|(name, value)| match value {
            Json::String(text) => format!("{}: {}", python_string(name), python_string(text)),
            // Numbers and their lists are written alike.
            value => format!("{}: {value}", python_string(name)),
        })
        .collect();
    format!("{{{}}}", entries.join(", "))
}

/// Arguments of `taco_studio.open` for the datasets at these addresses.
pub(super) fn module_arguments(addresses: &[String]) -> Vec<String> {
    let names: Vec<String> = addresses
        .iter()
        .map(|address| python_string(address))
        .collect();
    match names.as_slice() {
        [first, more @ ..] if !more.is_empty() => {
            vec![first.clone(), format!("with_=[{}]", more.join(", "))]
        }
        _ => names,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_and_statements_are_literals() {
        let code = python_code(
            &["a\"\\.tacozip".into(), "b".into()],
            Format::Zip,
            Some("SELECT \"a\" FROM data"),
        );
        assert!(
            code.contains(r#"load(["a\"\\.tacozip", "b"])"#)
                && code.contains(r#"sql("SELECT \"a\" FROM data")"#),
            "{code}"
        );
        assert!(
            python_code(&["a.tortilla".into()], Format::Tortilla, Some("SELECT 1"))
                .contains("tacoreader<1")
        );
        let filters = [Filter::bbox([1.0, 2.0, 3.5, 4.0])];
        let code = module_code(&["a".into(), "b".into(), "c".into()], None, &filters);
        assert!(
            code.contains(r#"{"bbox": [1.0,2.0,3.5,4.0], "level": 0}"#),
            "{code}"
        );
        assert!(code.contains(r#"open("a", with_=["b", "c"])"#), "{code}");
    }
}
