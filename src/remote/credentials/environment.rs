//! Settings as text: variables of the environment, words for yes.

/// The first of these variables that is set and not empty.
pub(super) fn read_variable(names: &[&str]) -> Option<String> {
    names.iter().find_map(|name| {
        std::env::var(name)
            .ok()
            .filter(|value| !value.trim().is_empty())
    })
}

/// True for the words with which programs switch a setting on.
pub(super) fn is_yes(text: Option<String>) -> bool {
    text.is_some_and(|text| {
        ["yes", "true", "1", "on"].contains(&text.trim().to_ascii_lowercase().as_str())
    })
}

pub(super) fn drop_empty_text(text: Option<String>) -> Option<String> {
    text.filter(|text| !text.is_empty())
}
