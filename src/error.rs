//! The one error type of the studio: what happened, where, and what to do. Must not know any other module.

use std::fmt;
use std::path::{Path, PathBuf};

/// `Result` with the studio's [`Error`].
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// What kind of trouble it is: decides the exit code and how the window shows it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Kind {
    /// The person asked for something that can't be: a bad argument, an edit of a row that is not there.
    Usage,
    /// A file, folder or address can't be read or written.
    Io,
    /// The bytes are not what the format asks for.
    Format,
    /// The format is known by name, but this version can't do that with it.
    Unsupported,
    /// The dataset breaks a rule, so the operation would make something that others refuse.
    Invalid,
    /// The person or a later request stopped the work. A normal outcome.
    Cancelled,
    /// A fault of the studio itself.
    Internal,
}

/// An error that a person can act on. `Display` gives the whole chain in one line; [`Error::report`] gives it in several.
#[derive(Debug)]
pub struct Error {
    kind: Kind,
    summary: String,
    place: Option<String>,
    source: Option<Box<dyn std::error::Error + Send + Sync>>,
    hints: Vec<String>,
    level: Option<usize>,
}

impl Error {
    /// An error with one sentence that says what happened.
    pub fn new(kind: Kind, summary: impl Into<String>) -> Self {
        Self { kind, summary: summary.into(), place: None, source: None, hints: Vec::new(), level: None }
    }

    /// [`Kind::Usage`].
    pub fn usage(summary: impl Into<String>) -> Self {
        Self::new(Kind::Usage, summary)
    }

    /// [`Kind::Format`].
    pub fn format(summary: impl Into<String>) -> Self {
        Self::new(Kind::Format, summary)
    }

    /// [`Kind::Invalid`].
    pub fn invalid(summary: impl Into<String>) -> Self {
        Self::new(Kind::Invalid, summary)
    }

    /// [`Kind::Unsupported`].
    pub fn unsupported(summary: impl Into<String>) -> Self {
        Self::new(Kind::Unsupported, summary)
    }

    /// [`Kind::Internal`].
    pub fn internal(summary: impl Into<String>) -> Self {
        Self::new(Kind::Internal, summary)
    }

    /// The work was stopped on request.
    pub fn cancelled() -> Self {
        Self::new(Kind::Cancelled, "cancelled")
    }

    /// An input or output error at `path`; `doing` completes "could not …".
    pub fn io(doing: &str, path: &Path, source: std::io::Error) -> Self {
        // Reading from another machine gives errors that say all this already.
        let source = match source.downcast::<Error>() {
            Ok(own) => return own,
            Err(other) => other,
        };
        let hint = io_hint(&source);
        let mut error = Self::new(Kind::Io, format!("could not {doing}")).at_path(path).because(source);
        error.hints.extend(hint.map(str::to_owned));
        error
    }

    /// The error of the studio in a chain that went through somebody else's hands, as a copy; reasons below it become text.
    pub fn found_in(error: &(dyn std::error::Error + 'static)) -> Option<Self> {
        let mut below = Some(error);
        while let Some(error) = below {
            let inner =
                error.downcast_ref::<std::io::Error>().and_then(|io| io.get_ref()).and_then(|io| io.downcast_ref::<Error>());
            if let Some(own) = inner.or_else(|| error.downcast_ref::<Error>()) {
                let Self { kind, summary, place, hints, source, level } = own;
                let source = source.as_ref().map(|source| source.to_string().into());
                return Some(Self {
                    kind: *kind,
                    summary: summary.clone(),
                    place: place.clone(),
                    source,
                    hints: hints.clone(),
                    level: *level,
                });
            }
            below = error.source();
        }
        None
    }

    /// Names the place: a path, or a sample as `roi_0007 / s2 / t02`.
    #[must_use]
    pub fn at(mut self, place: impl fmt::Display) -> Self {
        self.place = Some(place.to_string());
        self
    }

    /// Names the file or folder.
    #[must_use]
    pub fn at_path(self, path: &Path) -> Self {
        self.at(path.display())
    }

    /// Keeps the error that lies below.
    #[must_use]
    pub fn because(mut self, source: impl Into<Box<dyn std::error::Error + Send + Sync>>) -> Self {
        self.source = Some(source.into());
        self
    }

    /// Tells that it is the table of this level that can't be read.
    #[must_use]
    pub fn of_level(mut self, level: usize) -> Self {
        self.level = Some(level);
        self
    }

    /// The level whose table can't be read, if that is what this error or one below it is about.
    pub fn level(&self) -> Option<usize> {
        let below = || self.source.as_ref()?.downcast_ref::<Error>()?.level();
        self.level.or_else(below)
    }

    /// Adds a next step.
    #[must_use]
    pub fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hints.push(hint.into());
        self
    }

    /// What kind of trouble it is.
    pub fn kind(&self) -> Kind {
        self.kind
    }

    /// What happened, in one sentence, without the place.
    pub fn summary(&self) -> &str {
        &self.summary
    }

    /// Where: a path or a sample.
    pub fn place(&self) -> Option<&str> {
        self.place.as_deref()
    }

    /// What to do, best first.
    pub fn hints(&self) -> &[String] {
        &self.hints
    }

    /// True when the work was only stopped.
    pub fn is_cancelled(&self) -> bool {
        self.kind == Kind::Cancelled
    }

    /// The exit code of a command that ends with this error: 2, or 130 when it was stopped.
    pub fn exit_code(&self) -> u8 {
        if self.is_cancelled() { 130 } else { 2 }
    }

    /// The sentence and its reasons without the place, for findings, which have a place of their own.
    pub fn sentence(&self) -> String {
        let mut text = self.summary.clone();
        let mut below = std::error::Error::source(self);
        while let Some(error) = below {
            match error.downcast_ref::<Error>() {
                Some(own) => text.push_str(&format!(": {}", own.summary)),
                None => text.push_str(&format!(": {error}")),
            }
            below = error.source();
        }
        let mut letters = text.chars();
        // Names of files and members keep their spelling: only plain words are capitalised.
        let first = letters.next().map(|c| c.to_uppercase().to_string()).unwrap_or_default();
        let mut text = first + letters.as_str();
        if !text.ends_with('.') {
            text.push('.');
        }
        if let Some(hint) = self.hints.first() {
            let mut letters = hint.chars();
            let first = letters.next().map(|c| c.to_uppercase().to_string()).unwrap_or_default();
            text.push_str(&format!(" {first}{}.", letters.as_str().trim_end_matches('.')));
        }
        text
    }

    /// The error as several lines: the sentence and place, the reasons below it, the next steps.
    pub fn report(&self) -> String {
        // A line end in a name or an answer would begin a line that reads as the studio's own.
        let line = |text: &str| text.trim_end().replace('\r', "\\r").replace('\n', "\\n");
        let mut text = line(&self.to_string());
        for hint in &self.hints {
            text.push_str("\n  try: ");
            text.push_str(&line(hint));
        }
        text
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.summary)?;
        if let Some(source) = &self.source {
            write!(f, ": {source}")?;
            let mut below = source.source();
            while let Some(error) = below {
                write!(f, ": {error}")?;
                below = error.source();
            }
        }
        if let Some(place) = &self.place {
            write!(f, " ({place})")?;
        }
        Ok(())
    }
}

impl std::error::Error for Error {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        self.source.as_ref().map(|source| source.as_ref() as &(dyn std::error::Error + 'static))
    }
}

fn io_hint(error: &std::io::Error) -> Option<&'static str> {
    use std::io::ErrorKind;
    match error.kind() {
        ErrorKind::NotFound => Some("check the path, or whether the disk that holds it is attached"),
        ErrorKind::PermissionDenied => Some("check the permissions of the file and of the folder that holds it"),
        ErrorKind::StorageFull | ErrorKind::QuotaExceeded => Some("free some space, or write to another disk"),
        ErrorKind::ReadOnlyFilesystem => Some("write to another folder"),
        _ => None,
    }
}

/// Turns an input or output failure into an [`Error`] that names the path.
pub trait IoContext<T> {
    /// `doing` completes "could not …".
    fn io_at(self, doing: &str, path: impl Into<PathBuf>) -> Result<T>;
}

impl<T> IoContext<T> for std::io::Result<T> {
    fn io_at(self, doing: &str, path: impl Into<PathBuf>) -> Result<T> {
        self.map_err(|error| Error::io(doing, &path.into(), error))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_line_says_what_why_and_where() {
        let error = Error::io("read the sample", Path::new("/data/a.tif"), std::io::Error::from(std::io::ErrorKind::NotFound));
        assert_eq!(error.to_string(), "could not read the sample: entity not found (/data/a.tif)");
        assert!(error.report().contains("try: check the path"));
        assert_eq!(error.exit_code(), 2);
    }
}
