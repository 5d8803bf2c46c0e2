//! Command lines for shells.

use std::borrow::Cow;
use std::fmt::Write as _;

use crate::text::printable;

/// The words quoted where the shell of this system needs it, and separated by spaces; for people to
/// copy. Pasted into a terminal it has no control characters, which the terminal or the line editor
/// of the shell would obey.
pub fn command_line<'a>(words: impl IntoIterator<Item = &'a str>) -> String {
    if cfg!(windows) {
        windows_line(words)
    } else {
        words
            .into_iter()
            .map(pasted_word)
            .collect::<Vec<_>>()
            .join(" ")
    }
}

/// A word for bash, zsh and other shells that know `$'…'` (POSIX.1-2024), with escapes where it has
/// characters that show nothing.
fn pasted_word(word: &str) -> String {
    let Cow::Owned(_) = printable(word) else {
        return if word.contains(['\n', '\t']) {
            escaped_word(word)
        } else {
            posix_line([word])
        };
    };
    escaped_word(word)
}

/// Bytes outside of printable ASCII become octal escapes, which all of these shells read as bytes.
fn escaped_word(word: &str) -> String {
    let mut quoted = "$'".to_owned();
    for byte in word.bytes() {
        match byte {
            b'\'' | b'\\' => {
                quoted.push('\\');
                quoted.push(char::from(byte));
            }
            b' '..=b'~' => quoted.push(char::from(byte)),
            // Writing to a string does not fail.
            _ => drop(write!(quoted, "\\{byte:03o}")),
        }
    }
    quoted.push('\'');
    quoted
}

/// The words quoted where a POSIX shell needs it: for scripts that begin with `#!/bin/sh`, whatever
/// system writes them.
pub fn posix_line<'a>(words: impl IntoIterator<Item = &'a str>) -> String {
    // A word with a zero byte can't be given to any program; the text is only shown.
    shlex::Quoter::new()
        .allow_nul(true)
        .join(words)
        .unwrap_or_default()
}

fn windows_line<'a>(words: impl IntoIterator<Item = &'a str>) -> String {
    words
        .into_iter()
        .map(quote_windows_word)
        .collect::<Vec<_>>()
        .join(" ")
}

/// In double quotes, which the command prompt and PowerShell both take; in single quotes, which
/// PowerShell alone takes, where PowerShell would run a part of the word or end the quotes.
fn quote_windows_word(word: &str) -> String {
    if is_plain_windows_word(word) {
        return word.to_owned();
    }
    let obeyed = |letter: char| matches!(letter, '$' | '`' | '"' | '\u{201c}'..='\u{201e}');
    if !word.contains(obeyed) {
        return format!("\"{word}\"");
    }
    // PowerShell takes typographic quotes as quotes.
    let is_single = |letter: char| matches!(letter, '\'' | '\u{2018}'..='\u{201b}');
    let mut quoted = "'".to_owned();
    for letter in word.chars() {
        quoted.push(letter);
        if is_single(letter) {
            quoted.push(letter);
        }
    }
    quoted + "'"
}

fn is_plain_windows_word(word: &str) -> bool {
    !word.is_empty()
        && word
            .chars()
            .all(|c| c.is_alphanumeric() || r"-_.\/:=+%~*?".contains(c))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_quoted_where_a_posix_shell_needs_it() {
        assert_eq!(
            posix_line(["plan", "run", "/scratch/andes-1/plan", "s3://b/set/1.0.0"]),
            "plan run /scratch/andes-1/plan s3://b/set/1.0.0"
        );
        let words = ["", "/my data/it's", "$HOME", "a;b", "\"", "*", "l\u{ed}nea"];
        assert_eq!(
            shlex::split(&posix_line(words)),
            Some(words.map(str::to_owned).to_vec())
        );
    }

    #[test]
    fn words_are_quoted_where_a_shell_of_windows_needs_it() {
        let words = [
            r"C:\data\a.tif",
            r"C:\my data",
            "it's",
            "a&b",
            "",
            "https://host/x%20y?z=1",
            "say \"hi\"",
        ];
        let line = "C:\\data\\a.tif \"C:\\my data\" \"it's\" \"a&b\" \"\" https://host/x%20y?z=1 \
            'say \"hi\"'";
        assert_eq!(windows_line(words), line);
        assert_eq!(
            windows_line(["$(calc)", "a`b", "it's $x", "“;calc;“"]),
            "'$(calc)' 'a`b' 'it''s $x' '“;calc;“'"
        );
    }

    /// A terminal obeys control characters that are pasted, in quotes too.
    #[test]
    fn a_line_to_paste_has_no_control_characters_and_gives_the_same_words() {
        let words = [
            "a\u{1b}[201~;touch x\n",
            "docs\u{202e}fdp.sh",
            "tab\there",
            "it's \\ \u{3}",
            "plain é",
            "a;b",
            "\u{9b}",
        ];
        let line = words.map(pasted_word).join(" ");
        assert!(
            !line.contains(|letter: char| letter.is_control() || letter == '\u{202e}'),
            "{line:?}"
        );
        assert!(line.ends_with("'plain é' 'a;b' $'\\302\\233'"), "{line}");
        if let Ok(run) = std::process::Command::new("bash")
            .args(["-c", &format!("printf '%s\\0' {line}")])
            .output()
        {
            assert_eq!(
                String::from_utf8(run.stdout).expect("UTF-8"),
                words.map(|word| format!("{word}\0")).concat()
            );
        }
    }
}
