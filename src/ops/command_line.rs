//! Command lines for the shell of this system.

/// The words quoted where the shell needs it, and separated by spaces.
pub fn command_line<'a>(words: impl IntoIterator<Item = &'a str>) -> String {
    if cfg!(windows) {
        // The command prompt and PowerShell both take double quotes, which no path has.
        let quoted = |word: &str| {
            if word.is_empty() || word.contains([' ', '&', '(', ')', ',', ';']) { format!("\"{word}\"") } else { word.to_owned() }
        };
        return words.into_iter().map(quoted).collect::<Vec<_>>().join(" ");
    }
    // A word with a zero byte can't be given to any program; the text is only shown.
    shlex::Quoter::new().allow_nul(true).join(words).unwrap_or_default()
}

#[cfg(all(test, not(windows)))]
mod tests {
    use super::*;

    #[test]
    fn words_are_quoted_where_the_shell_needs_it() {
        assert_eq!(
            command_line(["plan", "run", "/scratch/andes-1/plan", "s3://b/set/1.0.0"]),
            "plan run /scratch/andes-1/plan s3://b/set/1.0.0"
        );
        let words = ["", "/my data/it's", "$HOME", "a;b", "\"", "*", "l\u{ed}nea"];
        assert_eq!(shlex::split(&command_line(words)), Some(words.map(str::to_owned).to_vec()));
    }
}
