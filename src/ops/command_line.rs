//! Command lines for shells.

use std::borrow::Cow;

use crate::text::{PrintableLine, printable};

/// Joins words into a command line for the user to copy, quoted where a shell of this system needs
/// it.
///
/// The result has no control characters: a terminal or the line editor of a shell would act on them
/// when they are pasted. For POSIX shells they are written as escapes that give the same word. The
/// shells of Windows have no escapes in common, and file names of Windows have no control
/// characters; there the escapes are only shown.
pub fn join_for_shell<'a>(words: impl IntoIterator<Item = &'a str>) -> String {
    if cfg!(windows) {
        join_for_windows(words)
    } else {
        words
            .into_iter()
            .map(quote_pasted_word)
            .collect::<Vec<_>>()
            .join(" ")
    }
}

/// Quotes a word for bash, zsh and other shells that support `$'…'` (POSIX.1-2024), which is used
/// for words with invisible characters.
fn quote_pasted_word(word: &str) -> String {
    let has_hidden = matches!(printable(word), Cow::Owned(_)) || word.contains(['\n', '\t']);
    if has_hidden {
        escape_word(word)
    } else {
        join_for_posix([word])
    }
}

/// Writes a word as `$'…'`. Bytes outside of printable ASCII become octal escapes, which all of
/// these shells read as bytes. So does `!`: an old bash takes the quote of `\'` for the end, and
/// expands what follows `!` from its history.
fn escape_word(word: &str) -> String {
    let mut quoted = "$'".to_owned();
    for byte in word.bytes() {
        match byte {
            b'\'' | b'\\' => {
                quoted.push('\\');
                quoted.push(char::from(byte));
            }
            b' '..=b'~' if byte != b'!' => quoted.push(char::from(byte)),
            _ => quoted.push_str(&format!("\\{byte:03o}")),
        }
    }
    quoted.push('\'');
    quoted
}

/// Joins words, quoted where a POSIX shell needs it: for scripts that begin with `#!/bin/sh`, on
/// whatever system they are written. Unlike [`join_for_shell`] it keeps control characters.
pub fn join_for_posix<'a>(words: impl IntoIterator<Item = &'a str>) -> String {
    // A word with a zero byte can't be given to any program; the text is only shown.
    shlex::Quoter::new()
        .allow_nul(true)
        .join(words)
        .unwrap_or_default()
}

fn join_for_windows<'a>(words: impl IntoIterator<Item = &'a str>) -> String {
    words
        .into_iter()
        .map(|word| quote_windows_word(&word.printable_line()))
        .collect::<Vec<_>>()
        .join(" ")
}

/// Quotes a word with double quotes, which the command prompt and PowerShell both know. A word with
/// `$`, a backtick or double quotes gets single quotes, which only PowerShell knows: between double
/// quotes, PowerShell would evaluate a part of the word or take it for the end of the quotes. The
/// command prompt replaces `%NAME%` in any quotes.
fn quote_windows_word(word: &str) -> String {
    if is_plain_windows_word(word) {
        return word.to_owned();
    }
    let is_special = |letter: char| matches!(letter, '$' | '`' | '"' | '\u{201c}'..='\u{201e}');
    if !word.contains(is_special) {
        // Programs read a backslash before the last quote as one before a quote of the word.
        let trailing = word.len() - word.trim_end_matches('\\').len();
        return format!("\"{word}{}\"", "\\".repeat(trailing));
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
    // PowerShell replaces a leading `~` by the home folder.
    !word.is_empty()
        && !word.starts_with('~')
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
            join_for_posix(["plan", "run", "/scratch/andes-1/plan", "s3://b/set/1.0.0"]),
            "plan run /scratch/andes-1/plan s3://b/set/1.0.0"
        );
        let words = ["", "/my data/it's", "$HOME", "a;b", "\"", "*", "l\u{ed}nea"];
        assert_eq!(
            shlex::split(&join_for_posix(words)),
            Some(words.map(str::to_owned).to_vec())
        );
    }

    #[test]
    fn words_are_quoted_where_a_shell_of_windows_needs_it() {
        let words = [
            r"C:\data\a.tif",
            r"C:\my data",
            r"D:\my data\",
            "it's",
            "a&b",
            "",
            "https://host/x%20y?z=1",
            "say \"hi\"",
            r"~\a.tif",
            r"C:\PROGRA~1",
        ];
        let line = "C:\\data\\a.tif \"C:\\my data\" \"D:\\my data\\\\\" \"it's\" \
            \"a&b\" \"\" https://host/x%20y?z=1 'say \"hi\"' \"~\\a.tif\" C:\\PROGRA~1";
        assert_eq!(join_for_windows(words), line);
        assert_eq!(
            join_for_windows(["$(calc)", "a`b", "it's $x", "“;calc;“"]),
            "'$(calc)' 'a`b' 'it''s $x' '“;calc;“'"
        );
        let line = join_for_windows(["a\nshutdown /s", "b\u{202e}"]);
        assert!(
            !line.contains(|letter: char| letter.is_control() || letter == '\u{202e}'),
            "{line:?}"
        );
    }

    /// A terminal obeys control characters that are pasted, in quotes too.
    #[test]
    fn a_line_to_paste_has_no_control_characters_and_gives_the_same_words() {
        let words = [
            "a\u{1b}[201~;touch x\n",
            "docs\u{202e}fdp.sh",
            "tab\there",
            "it's \\ !x \u{3}",
            "plain é",
            "a;b",
            "\u{9b}",
        ];
        let line = words.map(quote_pasted_word).join(" ");
        assert!(
            !line.contains(|letter: char| letter.is_control() || letter == '\u{202e}'),
            "{line:?}"
        );
        assert!(!line.contains('!'), "{line}");
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
