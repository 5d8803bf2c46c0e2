//! Functions of paths: their parts, the file's name and the folders around it.

use polars::prelude::*;

use super::{
    ScalarFunction, list_of_texts, of_texts, scalar, text, text_lists_column, texts_column,
};

pub(super) const FUNCTIONS: &[ScalarFunction] = &[
    scalar("parse_path", (1, 2), list_of_texts, |columns| {
        text_lists_column(of_paths(columns, |path, reading| reading.parts(path))?)
    }),
    scalar("parse_filename", (1, 3), text, |columns| {
        Ok(texts_column(of_paths(columns, |path, reading| {
            reading.file_name(path).to_owned()
        })?))
    }),
    scalar("parse_dirname", (1, 2), text, |columns| {
        Ok(texts_column(of_paths(columns, |path, reading| {
            let first = reading.parts(path).into_iter().next();
            let has_folder = path.contains(|letter| reading.separates(letter));
            first.filter(|_| has_folder).unwrap_or_default()
        })?))
    }),
    scalar("parse_dirpath", (1, 2), text, |columns| {
        Ok(texts_column(of_paths(columns, |path, reading| {
            let end = path.rfind(|letter| reading.separates(letter));
            path[..end.unwrap_or(0)].to_owned()
        })?))
    }),
];

/// How a path is read.
struct PathSyntax {
    slash: bool,
    backslash: bool,
    /// The name of a file is given without its ending.
    trims_ending: bool,
}

impl PathSyntax {
    /// By the arguments behind the path: the name of the separator, and whether the ending is
    /// taken off.
    fn from_options(options: &[&str]) -> Self {
        let separator = options
            .iter()
            .find(|option| !matches!(**option, "true" | "false"));
        let system = std::path::MAIN_SEPARATOR;
        let (slash, backslash) = match separator.copied() {
            Some("forward_slash") => (true, false),
            Some("backslash") => (false, true),
            Some("system") => (system == '/', system == '\\'),
            _ => (true, true),
        };
        Self {
            slash,
            backslash,
            trims_ending: options.contains(&"true"),
        }
    }

    fn separates(&self, letter: char) -> bool {
        (self.slash && letter == '/') || (self.backslash && letter == '\\')
    }

    /// The folders and the file; a separator at the beginning is a part, too.
    fn parts(&self, path: &str) -> Vec<String> {
        let root = path.chars().next().filter(|first| self.separates(*first));
        let names = path
            .split(|letter| self.separates(letter))
            .filter(|name| !name.is_empty())
            .map(str::to_owned);
        root.map(String::from).into_iter().chain(names).collect()
    }

    fn file_name<'a>(&self, path: &'a str) -> &'a str {
        let name = path
            .rsplit(|letter| self.separates(letter))
            .next()
            .unwrap_or_default();
        match name.rfind('.') {
            Some(dot) if self.trims_ending => &name[..dot],
            _ => name,
        }
    }
}

/// The results of a function of the path of each row, which the other arguments say how to read.
fn of_paths<R>(
    columns: &[Column],
    of: impl Fn(&str, &PathSyntax) -> R,
) -> PolarsResult<Vec<Option<R>>> {
    let read =
        |path: &str, options: &[&str]| Ok(Some(of(path, &PathSyntax::from_options(options))));
    match columns.len() {
        1 => of_texts(columns, |[path]| read(path, &[])),
        2 => of_texts(columns, |[path, option]| read(path, &[option])),
        _ => of_texts(columns, |[path, one, other]| read(path, &[one, other])),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_have_the_parts_that_duckdb_gives_them() {
        let parts = |path, options: &[&str]| PathSyntax::from_options(options).parts(path);
        assert_eq!(parts("path/to/file.csv", &[]), ["path", "to", "file.csv"]);
        assert_eq!(parts("/a//b.tif", &[]), ["/", "a", "b.tif"]);
        assert_eq!(parts(r"a\b/c", &["backslash"]), ["a", "b/c"]);
        assert_eq!(parts(r"\a\b", &[]), [r"\", "a", "b"]);
        assert!(parts("", &[]).is_empty());
        let name = |path: &'static str, options: &[&str]| {
            PathSyntax::from_options(options).file_name(path)
        };
        assert_eq!(name("a/b.tar.gz", &["true"]), "b.tar");
        assert_eq!(name(r"a\b.c", &["true", "forward_slash"]), r"a\b");
        assert_eq!(name(".hidden", &["true"]), "");
        assert_eq!(name("/a/", &["true"]), "");
    }
}
