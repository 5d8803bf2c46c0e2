//! DuckDB's functions of file paths: `parse_path`, `parse_filename`, `parse_dirname` and
//! `parse_dirpath`.

use polars::prelude::*;

use super::{
    ScalarFunction, list_of_texts, of_texts, scalar, text, text_lists_column, texts_column,
};

pub(super) const FUNCTIONS: &[ScalarFunction] = &[
    scalar("parse_path", (1, 2), list_of_texts, |columns| {
        text_lists_column(map_paths(columns, |path, syntax| syntax.parts(path))?)
    }),
    scalar("parse_filename", (1, 3), text, |columns| {
        Ok(texts_column(map_paths(columns, |path, syntax| {
            syntax.file_name(path).to_owned()
        })?))
    }),
    // The top-level folder, unlike the shell command `dirname`.
    scalar("parse_dirname", (1, 2), text, |columns| {
        Ok(texts_column(map_paths(columns, |path, syntax| {
            syntax.top_folder(path)
        })?))
    }),
    scalar("parse_dirpath", (1, 2), text, |columns| {
        Ok(texts_column(map_paths(columns, |path, syntax| {
            let end = path.rfind(|letter| syntax.is_separator(letter));
            path[..end.unwrap_or(0)].to_owned()
        })?))
    }),
];

/// The options of these functions.
struct PathSyntax {
    slash_separates: bool,
    backslash_separates: bool,
    /// File names are given without their extension.
    trims_extension: bool,
}

impl PathSyntax {
    /// From the arguments after the path, in any order: the name of the separator, and whether to
    /// trim the extension. Other names of separators mean both separators, as in DuckDB.
    fn from_options(options: &[&str]) -> Self {
        let separator = options
            .iter()
            .find(|option| !matches!(**option, "true" | "false"));
        let system = std::path::MAIN_SEPARATOR;
        let (slash_separates, backslash_separates) = match separator.copied() {
            Some("forward_slash") => (true, false),
            Some("backslash") => (false, true),
            Some("system") => (system == '/', system == '\\'),
            _ => (true, true),
        };
        Self {
            slash_separates,
            backslash_separates,
            trims_extension: options.contains(&"true"),
        }
    }

    fn is_separator(&self, letter: char) -> bool {
        (self.slash_separates && letter == '/') || (self.backslash_separates && letter == '\\')
    }

    /// The names of the folders and of the file; a separator at the beginning is a part, too.
    fn parts(&self, path: &str) -> Vec<String> {
        let root = path
            .chars()
            .next()
            .filter(|first| self.is_separator(*first));
        let names = path
            .split(|letter| self.is_separator(letter))
            .filter(|name| !name.is_empty())
            .map(str::to_owned);
        root.map(String::from).into_iter().chain(names).collect()
    }

    /// The first part of a path; empty for a file name alone.
    fn top_folder(&self, path: &str) -> String {
        let has_folder = path.contains(|letter| self.is_separator(letter));
        let first = self.parts(path).into_iter().next();
        first.filter(|_| has_folder).unwrap_or_default()
    }

    fn file_name<'a>(&self, path: &'a str) -> &'a str {
        let name = path
            .rsplit(|letter| self.is_separator(letter))
            .next()
            .unwrap_or_default();
        match name.rfind('.') {
            Some(dot) if self.trims_extension => &name[..dot],
            _ => name,
        }
    }
}

/// Applies a function to the path of each row, which is the first argument, and to the options in
/// the other arguments.
fn map_paths<R>(
    columns: &[Column],
    function: impl Fn(&str, &PathSyntax) -> R,
) -> PolarsResult<Vec<Option<R>>> {
    let apply =
        |path: &str, options: &[&str]| Ok(Some(function(path, &PathSyntax::from_options(options))));
    match columns.len() {
        1 => of_texts(columns, |[path]| apply(path, &[])),
        2 => of_texts(columns, |[path, option]| apply(path, &[option])),
        _ => of_texts(columns, |[path, first, second]| {
            apply(path, &[first, second])
        }),
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
        let top = |path| PathSyntax::from_options(&[]).top_folder(path);
        assert_eq!(
            ["/a/b.tif", "a/b/c", "a/", "a", ""].map(top),
            ["/", "a", "a", "", ""]
        );
        let name = |path: &'static str, options: &[&str]| {
            PathSyntax::from_options(options).file_name(path)
        };
        assert_eq!(name("a/b.tar.gz", &["true"]), "b.tar");
        assert_eq!(name(r"a\b.c", &["true", "forward_slash"]), r"a\b");
        assert_eq!(name(".hidden", &["true"]), "");
        assert_eq!(name("/a/", &["true"]), "");
    }
}
