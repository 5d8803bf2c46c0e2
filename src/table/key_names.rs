//! The names of columns that can be the key of a table.

use super::INDEX_COLUMN;

/// Usual names of a key column, in order of preference; upper and lower case are the same. All hold
/// paths of ids from the root, except `id`.
pub const KEYS: [&str; 6] = [
    "path",
    "relative_path",
    "internal:relative_path",
    "file",
    "filename",
    "id",
];
/// Names of index columns, which are keys where no other column is, and never data.
pub(super) const INDEX_COLUMNS: [&str; 2] = [INDEX_COLUMN, "Unnamed: 0"];

/// The first of the usual names that the table has, else its index column.
pub fn key_name<'n>(names: &'n [String], keys: &[&str]) -> Option<&'n str> {
    let exact = |key: &&str| names.iter().find(|name| name == key);
    let any_case = |key: &&str| names.iter().find(|name| name.eq_ignore_ascii_case(key));
    let usual = keys
        .iter()
        .find_map(|key| exact(key).or_else(|| any_case(key)));
    if usual.is_none() && keys.len() > 1 {
        return INDEX_COLUMNS.iter().find_map(exact).map(String::as_str);
    }
    usual.map(String::as_str)
}

/// True for the name of a column that can be a key.
pub fn is_key_name(name: &str, keys: &[&str]) -> bool {
    keys.iter().any(|key| name.eq_ignore_ascii_case(key)) || INDEX_COLUMNS.contains(&name)
}
