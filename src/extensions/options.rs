//! Specification of an extension's options, and their validation.

use serde::de::DeserializeOwned;
use serde_json::Value as Json;

use crate::error::{Error, Result};

/// One option, for forms and messages.
#[derive(Clone, Debug, serde::Serialize)]
pub struct OptionSpec {
    /// Key in the options' JSON object.
    pub name: &'static str,
    /// Accepted values.
    pub kind: OptionKind,
    /// Default value; null for none.
    pub default: Json,
    /// The option must be given.
    pub required: bool,
    /// Help text, one sentence.
    pub help: &'static str,
}

impl OptionSpec {
    /// An optional option without a default.
    pub fn new(name: &'static str, kind: OptionKind, help: &'static str) -> Self {
        Self {
            name,
            kind,
            default: Json::Null,
            required: false,
            help,
        }
    }

    /// Sets the default.
    #[must_use]
    pub fn or(mut self, default: impl Into<Json>) -> Self {
        self.default = default.into();
        self
    }

    /// Makes the option required.
    #[must_use]
    pub fn make_required(mut self) -> Self {
        self.required = true;
        self
    }
}

/// Accepted values of an option.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "snake_case")]
pub enum OptionKind {
    /// true or false.
    Bool,
    /// An integer.
    Integer,
    /// Any number.
    Number,
    /// A string.
    Text,
    /// One of these strings.
    Choice(&'static [&'static str]),
    /// A list.
    List(&'static OptionKind),
    /// A file or folder.
    Path,
    /// A column name.
    Column,
    /// A program with its arguments: a line as in a terminal, or a list.
    CommandLine,
    /// Names with their shares, as a JSON object of numbers.
    Shares,
    /// Any JSON; validated by the extension.
    Json,
}

impl OptionKind {
    /// Noun phrase that completes "has to be …".
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
            OptionKind::CommandLine => {
                "a line such as python3 prog.py, or a list of the program and its arguments".into()
            }
            OptionKind::Shares => "an object of names and numbers".into(),
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
            OptionKind::List(inner) => value
                .as_array()
                .is_some_and(|values| values.iter().all(|value| inner.takes(value))),
            OptionKind::CommandLine => {
                value.is_string() || OptionKind::List(&OptionKind::Text).takes(value)
            }
            OptionKind::Shares => value
                .as_object()
                .is_some_and(|shares| shares.values().all(Json::is_number)),
            OptionKind::Json => true,
        }
    }
}

/// The program and its arguments of a line: separated by spaces, in single or double quotes where
/// they have spaces. No shell reads the line, so `$`, `*` and `|` are plain characters; so is `\`,
/// which separates folders on Windows, except before a quote.
///
/// # Errors
/// [`Kind::Usage`](crate::error::Kind::Usage) for a quote that does not end.
pub fn split_command_line(line: &str) -> Result<Vec<String>> {
    let mut words = Vec::new();
    let mut word: Option<String> = None;
    let mut quote: Option<char> = None;
    let mut letters = line.chars().peekable();
    while let Some(letter) = letters.next() {
        match (letter, quote) {
            (letter, Some(open)) if letter == open => quote = None,
            ('\\', open)
                if open != Some('\'')
                    && letters
                        .peek()
                        .is_some_and(|next| matches!(next, '"' | '\'')) =>
            {
                word.get_or_insert_default().extend(letters.next());
            }
            (letter, Some(_)) => word.get_or_insert_default().push(letter),
            ('"' | '\'', None) => {
                quote = Some(letter);
                word.get_or_insert_default();
            }
            (letter, None) if letter.is_whitespace() => words.extend(word.take()),
            (letter, None) => word.get_or_insert_default().push(letter),
        }
    }
    if let Some(open) = quote {
        return Err(Error::usage(format!(
            "the command line has a {open} without the second one"
        ))
        .hint("end the quoted part with the same quote"));
    }
    words.extend(word);
    Ok(words)
}

/// `given` with the line of its option `command` as a list of words; a list stays as it is.
///
/// # Errors
/// As [`split_command_line`].
pub fn with_command_words(given: &Json) -> Result<Json> {
    let mut given = given.clone();
    if let Some(Json::String(line)) = given.get("command") {
        given["command"] = split_command_line(line)?.into();
    }
    Ok(given)
}

/// A line that [`split_command_line`] reads as these words.
pub fn join_command_line(words: &[String]) -> String {
    let words: Vec<String> = words.iter().map(|word| quote_word(word)).collect();
    words.join(" ")
}

/// Puts a word in quotes where [`split_command_line`] would split it otherwise.
fn quote_word(word: &str) -> String {
    let is_plain = !word.is_empty()
        && !word
            .chars()
            .any(|letter| letter.is_whitespace() || matches!(letter, '"' | '\''));
    if is_plain {
        word.to_owned()
    } else if !word.contains('\'') {
        format!("'{word}'")
    } else {
        format!("\"{}\"", word.replace('"', "\\\""))
    }
}

/// Validates and deserializes the options of `extension`: null counts as absent, and defaults are
/// filled in.
///
/// # Errors
/// [`Kind::Usage`](crate::error::Kind::Usage), with the option and its accepted values, for an
/// unknown, missing or invalid option.
pub fn parse_options<T: DeserializeOwned>(
    extension: &str,
    specs: &[OptionSpec],
    given: &Json,
) -> Result<T> {
    let empty = serde_json::Map::new();
    let given = match given {
        Json::Null => &empty,
        Json::Object(map) => map,
        _ => {
            return Err(Error::usage(format!(
                "the options of {extension} have to be a JSON object"
            )));
        }
    };
    if let Some(unknown) = given
        .keys()
        .find(|key| !specs.iter().any(|spec| spec.name == key.as_str()))
    {
        let names: Vec<_> = specs.iter().map(|spec| spec.name).collect();
        let known = if names.is_empty() {
            "it takes none".to_owned()
        } else {
            format!("it takes {}", names.join(", "))
        };
        return Err(Error::usage(format!("{extension} has no option {unknown}")).hint(known));
    }
    let mut complete = serde_json::Map::new();
    for spec in specs {
        let value = given
            .get(spec.name)
            .filter(|value| !value.is_null())
            .unwrap_or(&spec.default);
        if value.is_null() {
            if spec.required {
                let summary = format!(
                    "{extension} needs the option {}: {}",
                    spec.name,
                    spec.kind.describe()
                );
                return Err(Error::usage(summary).hint(spec.help));
            }
            continue;
        }
        if !spec.kind.takes(value) {
            let summary = format!(
                "option {} of {extension} has to be {}, not {value}",
                spec.name,
                spec.kind.describe()
            );
            return Err(Error::usage(summary).hint(spec.help));
        }
        complete.insert(spec.name.to_owned(), value.clone());
    }
    serde_json::from_value(Json::Object(complete)).map_err(|error| {
        Error::usage(format!("the options of {extension} can't be used")).because(error)
    })
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
    fn command_lines_are_split_as_typed_and_come_back() {
        let split = |line: &str| split_command_line(line).expect("splits");
        assert_eq!(
            split("python3  prog.py --x=1 *.tif"),
            ["python3", "prog.py", "--x=1", "*.tif"]
        );
        assert_eq!(
            split(r#""C:\my tools\run.exe" 'a b' "it's" x\"y"#),
            ["C:\\my tools\\run.exe", "a b", "it's", "x\"y"]
        );
        assert_eq!(split("a '' b"), ["a", "", "b"]);
        assert!(split("  ").is_empty() && split_command_line("a 'b").is_err());
        for words in [
            vec!["python3", "a b.py", ""],
            vec!["it's", "say \"hi\"", "both ' and \""],
            vec!["C:\\x y\\z.exe", "$HOME"],
        ] {
            let words: Vec<String> = words.into_iter().map(str::to_owned).collect();
            assert_eq!(split(&join_command_line(&words)), words);
        }
    }

    #[test]
    fn defaults_are_filled_in() {
        let options: Options =
            parse_options("x", &specs(), &json!({"names": ["a"], "bins": null})).expect("reads");
        assert_eq!(
            (options.bins, options.names),
            (16, Some(vec!["a".to_owned()]))
        );
        let options: Options = parse_options("x", &specs(), &Json::Null).expect("reads");
        assert_eq!((options.bins, options.names), (16, None));
    }

    #[test]
    fn errors_name_the_option_and_its_accepted_values() {
        let error = |given: Json| {
            parse_options::<Options>("x", &specs(), &given)
                .expect_err("refuses")
                .report()
        };
        assert!(
            error(json!({"bin": 3})).contains("no option bin")
                && error(json!({"bin": 3})).contains("bins, names")
        );
        assert!(error(json!({"bins": "3"})).contains("bins of x has to be a whole number"));
        assert!(error(json!({"names": [1]})).contains("a list, each entry text"));
        let required = vec![OptionSpec::new("file", OptionKind::Path, "the table").make_required()];
        let error = parse_options::<Json>("x", &required, &Json::Null).expect_err("refuses");
        assert!(error.to_string().contains("needs the option file"));
    }
}
