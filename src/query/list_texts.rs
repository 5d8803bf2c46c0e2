//! Lists as texts, `[1, 2]`, which DuckDB's casts read.

use polars::prelude::udf::UserDefinedFunction;
use polars::prelude::*;

use super::engine_errors::refusal;
use super::list_functions::elementwise;
use super::nested_values::ListsBuilder;
use super::type_names::type_name;
use super::typed_texts;

/// A function that reads texts as lists of `item`; null for other texts if `is_try`.
pub(super) fn list_reader(item: &DataType, is_try: bool) -> UserDefinedFunction {
    let (of, item) = (item.clone(), item.clone());
    elementwise(
        "read_list_text",
        move |_| Ok(DataType::List(Box::new(of.clone()))),
        move |columns| read_list_column(columns, &item, is_try),
    )
}

fn read_list_column(columns: &[Column], item: &DataType, is_try: bool) -> PolarsResult<Column> {
    let [texts] = columns else {
        return Err(refusal("a text is one column"));
    };
    Ok(read_lists(texts.str()?, item, is_try)?.into_column())
}

fn read_lists(texts: &StringChunked, item: &DataType, is_try: bool) -> PolarsResult<Series> {
    let mut elements: Vec<Option<String>> = Vec::new();
    let mut lists = ListsBuilder::default();
    for text in texts.iter() {
        match text.and_then(split_elements) {
            Some(of_row) => {
                let start = elements.len();
                elements.extend(of_row);
                lists.push((start..elements.len()).map(Some));
            }
            None if is_try || text.is_none() => lists.push_null(),
            None => {
                let dtype = DataType::List(Box::new(item.clone()));
                return Err(typed_texts::no_value(text.unwrap_or_default(), &dtype));
            }
        }
    }
    let elements: StringChunked = elements.into_iter().collect();
    lists.finish(&read_elements(elements, item, is_try)?)
}

fn read_elements(elements: StringChunked, item: &DataType, is_try: bool) -> PolarsResult<Series> {
    if let DataType::List(inner) = item {
        return read_lists(&elements, inner, is_try);
    }
    if item.is_string() {
        return Ok(elements.into_series());
    }
    let read = match item {
        DataType::Datetime(_, Some(_)) => None,
        other => typed_texts::type_of_reading(other),
    };
    let Some(read) = read else {
        return Err(refusal(format!(
            "the elements of a text can't be cast to {}",
            type_name(item)
        )));
    };
    let values = typed_texts::read_each(&elements, &read, is_try)?;
    let values = values.as_materialized_series();
    if is_try {
        return values.cast(item);
    }
    let fitting = values.strict_cast(item);
    fitting.map_err(|_| refusal(format!("a number does not fit in {}", type_name(item))))
}

/// The elements of a list as it is written, null for a null; `None` for other texts.
fn split_elements(text: &str) -> Option<Vec<Option<String>>> {
    let is_space = |letter: char| letter.is_ascii_whitespace();
    let mut letters = text
        .trim_matches(is_space)
        .strip_prefix('[')?
        .chars()
        .peekable();
    let mut elements = Vec::new();
    let mut element = ElementText::default();
    loop {
        let letter = letters.next()?;
        if let Some(quote) = element.quote {
            match letter {
                '\\' => {
                    element.push_inner(letter);
                    element.text.push(letters.next()?);
                }
                _ if letter == quote => element.end_quote(letter),
                _ => element.text.push(letter),
            }
            continue;
        }
        match letter {
            '\\' if matches!(letters.peek(), Some('"' | '\'')) => {
                element.push_inner(letter);
                element.text.push(letters.next()?);
            }
            '"' | '\'' => element.begin_quote(letter),
            ',' if element.closers.is_empty() => {
                elements.push(std::mem::take(&mut element).finish());
            }
            ']' if element.closers.is_empty() => {
                if !elements.is_empty() || !element.is_blank() {
                    elements.push(element.finish());
                }
                return letters.next().is_none().then_some(elements);
            }
            _ => element.push(letter),
        }
    }
}

/// An element of a list as it is read, without the quotes around it.
#[derive(Default)]
struct ElementText {
    text: String,
    /// The quotation mark that is open.
    quote: Option<char>,
    /// What closes the brackets that are open, whose text stays as it is.
    closers: Vec<char>,
    is_quoted: bool,
    /// Bytes of the text up to the end of its last quoted part, behind which spaces are cut.
    kept: usize,
}

impl ElementText {
    fn push(&mut self, letter: char) {
        match letter {
            '[' => self.closers.push(']'),
            '{' => self.closers.push('}'),
            '(' => self.closers.push(')'),
            _ if self.closers.last() == Some(&letter) => {
                self.closers.pop();
            }
            _ if letter.is_ascii_whitespace() && self.is_blank() => return,
            _ => {}
        }
        self.text.push(letter);
    }

    /// Adds a letter that stays within brackets alone.
    fn push_inner(&mut self, letter: char) {
        if !self.closers.is_empty() {
            self.text.push(letter);
        }
    }

    fn begin_quote(&mut self, quote: char) {
        self.quote = Some(quote);
        self.push_inner(quote);
        self.is_quoted |= self.closers.is_empty();
    }

    fn end_quote(&mut self, quote: char) {
        self.quote = None;
        self.push_inner(quote);
        self.kept = self.text.len();
    }

    fn is_blank(&self) -> bool {
        self.text.is_empty() && !self.is_quoted
    }

    /// The text; `None` for `NULL` without quotes.
    fn finish(mut self) -> Option<String> {
        let trimmed = self
            .text
            .trim_end_matches(|letter: char| letter.is_ascii_whitespace());
        let end = trimmed.len().max(self.kept);
        self.text.truncate(end);
        let is_null = !self.is_quoted && self.text.eq_ignore_ascii_case("null");
        (!is_null).then_some(self.text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn elements_are_split_as_in_duckdb() {
        for (text, wanted) in [
            ("[1, 2]", Some(vec![Some("1"), Some("2")])),
            (" [ a b  ,c ]\n", Some(vec![Some("a b"), Some("c")])),
            ("[]", Some(vec![])),
            ("[ ]", Some(vec![])),
            ("[,]", Some(vec![Some(""), Some("")])),
            ("[nUll, \"null\"]", Some(vec![None, Some("null")])),
            ("['a, b', \" c \"]", Some(vec![Some("a, b"), Some(" c ")])),
            ("[\"a\" b, c'd']", Some(vec![Some("a b"), Some("cd")])),
            (
                r#"["a\"b", a\"b, a\,b]"#,
                Some(vec![Some("a\"b"), Some("a\"b"), Some("a\\"), Some("b")]),
            ),
            ("[[a,b],{c,d}e]", Some(vec![Some("[a,b]"), Some("{c,d}e")])),
            ("[}]", Some(vec![Some("}")])),
            ("[a]b", None),
            ("[a", None),
            ("[{a]", None),
            ("[it's]", None),
            ("1,2", None),
            ("", None),
        ] {
            let found = split_elements(text);
            let found: Option<Vec<Option<&str>>> = found
                .as_ref()
                .map(|elements| elements.iter().map(Option::as_deref).collect());
            assert_eq!(found, wanted, "{text}");
        }
    }
}
