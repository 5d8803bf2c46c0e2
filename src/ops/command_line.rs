//! Command lines for shells.

/// The words quoted where the shell of this system needs it, and separated by spaces; for people to copy.
pub fn command_line<'a>(words: impl IntoIterator<Item = &'a str>) -> String {
    if cfg!(windows) { windows_line(words) } else { posix_line(words) }
}

/// The words quoted where a POSIX shell needs it: for scripts that begin with `#!/bin/sh`, whatever system writes them.
pub fn posix_line<'a>(words: impl IntoIterator<Item = &'a str>) -> String {
    // A word with a zero byte can't be given to any program; the text is only shown.
    shlex::Quoter::new().allow_nul(true).join(words).unwrap_or_default()
}

/// In double quotes, which the command prompt and PowerShell both take.
fn windows_line<'a>(words: impl IntoIterator<Item = &'a str>) -> String {
    let plain = |word: &str| !word.is_empty() && word.chars().all(|c| c.is_alphanumeric() || r"-_.\/:=+%~*?".contains(c));
    let quoted = |word: &str| if plain(word) { word.to_owned() } else { format!("\"{}\"", word.replace('"', "\\\"")) };
    words.into_iter().map(quoted).collect::<Vec<_>>().join(" ")
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
        assert_eq!(shlex::split(&posix_line(words)), Some(words.map(str::to_owned).to_vec()));
    }

    #[test]
    fn words_are_quoted_where_a_shell_of_windows_needs_it() {
        let words = [r"C:\data\a.tif", r"C:\my data", "it's", "a&b", "", "https://host/x%20y?z=1", "say \"hi\""];
        let line = "C:\\data\\a.tif \"C:\\my data\" \"it's\" \"a&b\" \"\" https://host/x%20y?z=1 \"say \\\"hi\\\"\"";
        assert_eq!(windows_line(words), line);
    }
}
