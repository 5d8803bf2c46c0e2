//! Python code that opens datasets with the official reader. All code for that reader which the
//! studio hands out is made here, and run by the tests.

use crate::container::Format;
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
    }
}
