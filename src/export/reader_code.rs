//! Python code that opens datasets, with the official reader and with the module `taco_studio`. All
//! code for them which the studio hands out is made here, and run by the tests.

use std::path::{Path, PathBuf};

use serde_json::{Map, Value as Json};

use crate::container::{Format, JoinMode, OpenOptions};
use crate::model::is_remote;
use crate::query::Filter;
use crate::query::copy_as::python_string;

/// Code that opens the datasets at these addresses as one and shows their rows, or those of a
/// statement. The reader of 2.0 does not support the first generation, for which the older one is
/// named; it has no statements.
pub fn python_code(addresses: &[String], format: Format, sql: Option<&str>) -> String {
    let given = python_addresses(addresses);
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

/// Code that opens the datasets at these addresses as one with the official reader and reads the
/// rows of a statement. A comment names each filter that the statement could not take over.
pub fn statement_code(addresses: &[String], statement: &str, left_out: &[String]) -> String {
    let comments: String = left_out
        .iter()
        .map(|filter| format!("# left out: {filter}\n"))
        .collect();
    let given = python_addresses(addresses);
    let statement = statement
        .replace('\\', "\\\\")
        .replace("\"\"\"", "\\\"\\\"\\\"");
    format!(
        "import tacoreader\n\nds = tacoreader.load({given})\n{comments}rows = \
            ds.sql(\"\"\"\n{statement}\n\"\"\")\n"
    )
}

/// Addresses as the argument of the reader's `load`: one, or a list.
fn python_addresses(addresses: &[String]) -> String {
    let names: Vec<String> = addresses
        .iter()
        .map(|address| python_string(address))
        .collect();
    if names.len() == 1 {
        names.concat()
    } else {
        format!("[{}]", names.join(", "))
    }
}

/// How code opens a dataset with the module `taco_studio`: the arguments of its `open`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ModuleOpening(Vec<String>);

impl ModuleOpening {
    /// Opens the datasets at these addresses as one.
    pub fn from_addresses(addresses: &[String]) -> Self {
        let names: Vec<String> = addresses
            .iter()
            .map(|address| python_string(address))
            .collect();
        Self(match names.as_slice() {
            [first, more @ ..] if !more.is_empty() => {
                vec![first.clone(), format!("with_=[{}]", more.join(", "))]
            }
            _ => names,
        })
    }

    /// Opens the dataset at `path` with these options. Local paths become absolute, as the code may
    /// run in another folder.
    pub fn from_options(path: &Path, options: &OpenOptions) -> Self {
        let addresses: Vec<String> = std::iter::once(path)
            .chain(options.with.iter().map(PathBuf::as_path))
            .map(absolute_text)
            .collect();
        let mut opening = Self::from_addresses(&addresses);
        if let Some(base) = &options.base_path {
            let base = python_string(&absolute_text(base));
            opening.0.push(format!("base_path={base}"));
        }
        if options.mode != JoinMode::default()
            && let Ok(mode) = serde_json::to_string(&options.mode)
        {
            opening.0.push(format!("mode={mode}"));
        }
        opening
    }
}

impl std::fmt::Display for ModuleOpening {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0.join(", "))
    }
}

fn absolute_text(path: &Path) -> String {
    let absolute = (!is_remote(path)).then(|| std::path::absolute(path).ok());
    absolute
        .flatten()
        .unwrap_or_else(|| path.to_owned())
        .display()
        .to_string()
}

/// Code that opens a dataset of any generation with the module `taco_studio` and shows rows that
/// the filters keep: those of a statement, or the first ones.
pub fn module_code(opening: &ModuleOpening, sql: Option<&str>, filters: &[Filter]) -> String {
    let mut arguments = vec![sql.map_or_else(|| "limit=5".to_owned(), python_string)];
    let filters: Vec<String> = filters.iter().map(python_filter).collect();
    if !filters.is_empty() {
        arguments.push(format!("filters=[{}]", filters.join(", ")));
    }
    format!(
        "# pip install taco-studio\nimport taco_studio\n\ndataset = taco_studio.open({})\nrows = \
            dataset.sql({})\nprint(rows.to_dicts())\n",
        opening,
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_statement_is_a_text_of_several_lines_and_what_it_lacks_a_comment() {
        let code = statement_code(
            &["a.tacozip".into(), "b.tacozip".into()],
            "SELECT '\\'\nFROM data",
            &["polygon of 3 corners".into()],
        );
        assert_eq!(
            code,
            "import tacoreader\n\nds = tacoreader.load([\"a.tacozip\", \"b.tacozip\"])\n\
                # left out: polygon of 3 corners\n\
                rows = ds.sql(\"\"\"\nSELECT '\\\\'\nFROM data\n\"\"\")\n"
        );
    }

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
        let options = OpenOptions {
            with: vec!["s3://b/c".into()],
            mode: JoinMode::FillMissing,
            base_path: Some("s3://b/parts".into()),
        };
        let opening = ModuleOpening::from_options(Path::new("s3://b/a"), &options);
        assert_eq!(
            opening.to_string(),
            r#""s3://b/a", with_=["s3://b/c"], base_path="s3://b/parts", mode="fill_missing""#
        );
        let opening = ModuleOpening::from_addresses(&["a".into(), "b".into(), "c".into()]);
        let code = module_code(&opening, None, &filters);
        assert!(
            code.contains(r#"{"bbox": [1.0,2.0,3.5,4.0], "level": 0}"#),
            "{code}"
        );
        assert!(code.contains(r#"open("a", with_=["b", "c"])"#), "{code}");
    }
}
