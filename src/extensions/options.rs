//! What options an extension takes, and the check of what was given: errors name the option and say what it takes.

use serde::de::DeserializeOwned;
use serde_json::Value as Json;

use crate::error::{Error, Result};

/// One option, for forms and for messages.
#[derive(Clone, Debug, serde::Serialize)]
pub struct OptionSpec {
    /// Its key in the options' JSON.
    pub name: &'static str,
    /// What it takes.
    pub kind: OptionKind,
    /// What stands there when nothing was given; null for nothing.
    pub default: Json,
    /// Has to be given.
    pub required: bool,
    /// One sentence for people.
    pub help: &'static str,
}

impl OptionSpec {
    /// An option that may be left out and then is nothing.
    pub fn new(name: &'static str, kind: OptionKind, help: &'static str) -> Self {
        Self { name, kind, default: Json::Null, required: false, help }
    }

    /// With this value when left out.
    #[must_use]
    pub fn or(mut self, default: impl Into<Json>) -> Self {
        self.default = default.into();
        self
    }

    /// Has to be given.
    #[must_use]
    pub fn required(mut self) -> Self {
        self.required = true;
        self
    }
}

/// What an option takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "snake_case")]
pub enum OptionKind {
    /// true or false.
    Bool,
    /// A whole number.
    Integer,
    /// Any number.
    Number,
    /// Text.
    Text,
    /// One of these words.
    Choice(&'static [&'static str]),
    /// A list of such.
    List(&'static OptionKind),
    /// A file or folder.
    Path,
    /// The name of a column.
    Column,
    /// Any JSON; the extension checks it.
    Json,
}

impl OptionKind {
    /// Completes "has to be …".
    pub fn describe(self) -> String {
        match self {
            OptionKind::Bool => "true or false".into(),
            OptionKind::Integer => "a whole number".into(),
            OptionKind::Number => "a number".into(),
            OptionKind::Text => "text".into(),
            OptionKind::Choice(words) => format!("one of {}", words.join(", ")),
            OptionKind::List(inner) => format!("a list, each entry {}", inner.describe()),
            OptionKind::Path => "a path".into(),
            OptionKind::Column => "the name of a column".into(),
            OptionKind::Json => "JSON".into(),
        }
    }

    fn takes(self, value: &Json) -> bool {
        match self {
            OptionKind::Bool => value.is_boolean(),
            OptionKind::Integer => value.is_i64() || value.is_u64(),
            OptionKind::Number => value.is_number(),
            OptionKind::Text | OptionKind::Path | OptionKind::Column => value.is_string(),
            OptionKind::Choice(words) => value.as_str().is_some_and(|word| words.contains(&word)),
            OptionKind::List(inner) => value.as_array().is_some_and(|values| values.iter().all(|value| inner.takes(value))),
            OptionKind::Json => true,
        }
    }
}

/// Reads the options of `extension` into its own structure: a null counts as not given, defaults are filled in.
pub fn parse_options<T: DeserializeOwned>(extension: &str, specs: &[OptionSpec], given: &Json) -> Result<T> {
    let empty = serde_json::Map::new();
    let given = match given {
        Json::Null => &empty,
        Json::Object(map) => map,
        _ => return Err(Error::usage(format!("the options of {extension} have to be a JSON object"))),
    };
    if let Some(unknown) = given.keys().find(|key| !specs.iter().any(|spec| spec.name == key.as_str())) {
        let names: Vec<_> = specs.iter().map(|spec| spec.name).collect();
        let known = if names.is_empty() { "it takes none".to_owned() } else { format!("it takes {}", names.join(", ")) };
        return Err(Error::usage(format!("{extension} has no option {unknown}")).hint(known));
    }
    let mut complete = serde_json::Map::new();
    for spec in specs {
        let value = given.get(spec.name).filter(|value| !value.is_null()).unwrap_or(&spec.default);
        if value.is_null() {
            if spec.required {
                let summary = format!("{extension} needs the option {}: {}", spec.name, spec.kind.describe());
                return Err(Error::usage(summary).hint(spec.help));
            }
            continue;
        }
        if !spec.kind.takes(value) {
            let summary = format!("option {} of {extension} has to be {}, not {value}", spec.name, spec.kind.describe());
            return Err(Error::usage(summary).hint(spec.help));
        }
        complete.insert(spec.name.to_owned(), value.clone());
    }
    serde_json::from_value(Json::Object(complete))
        .map_err(|error| Error::usage(format!("the options of {extension} can't be used")).because(error))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[derive(Debug, serde::Deserialize)]
    struct Options {
        bins: u32,
        names: Option<Vec<String>>,
    }

    fn specs() -> Vec<OptionSpec> {
        vec![
            OptionSpec::new("bins", OptionKind::Integer, "how many").or(16),
            OptionSpec::new("names", OptionKind::List(&OptionKind::Text), "their names"),
        ]
    }

    #[test]
    fn defaults_are_filled_in() {
        let options: Options = parse_options("x", &specs(), &json!({"names": ["a"], "bins": null})).expect("reads");
        assert_eq!((options.bins, options.names), (16, Some(vec!["a".to_owned()])));
        let options: Options = parse_options("x", &specs(), &Json::Null).expect("reads");
        assert_eq!((options.bins, options.names), (16, None));
    }

    #[test]
    fn errors_name_the_option_and_what_it_takes() {
        let error = |given: Json| parse_options::<Options>("x", &specs(), &given).expect_err("refuses").report();
        assert!(error(json!({"bin": 3})).contains("no option bin") && error(json!({"bin": 3})).contains("bins, names"));
        assert!(error(json!({"bins": "3"})).contains("bins of x has to be a whole number"));
        assert!(error(json!({"names": [1]})).contains("a list, each entry text"));
        let required = vec![OptionSpec::new("file", OptionKind::Path, "the table").required()];
        let error = parse_options::<Json>("x", &required, &Json::Null).expect_err("refuses");
        assert!(error.to_string().contains("needs the option file"));
    }
}
