//! The error type of the studio: what happened, where, and what to do. Depends on no other module.

use std::fmt;
use std::path::{Path, PathBuf};

/// `Result` with the studio's [`Error`].
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// Category of an error: determines the exit code and its presentation in the window.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, serde::Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Kind {
    /// An invalid request: a bad argument, an edit of a row that does not exist.
    Usage,
    /// A file, folder or address cannot be read or written.
    Io,
    /// The bytes do not conform to the format.
    Format,
    /// A known format or feature that this version does not support.
    Unsupported,
    /// The dataset breaks a rule, so readers would refuse the result.
    Invalid,
    /// A file differs from the known version: offsets found in it may be wrong, or changes would be
    /// overwritten unseen.
    Changed,
    /// Data does not match the CRC-32 stored in its container.
    Damaged,
    /// Reading would take memory or time out of proportion to the stored bytes.
    TooLarge,
    /// Stopped by the user or a later request; not a failure.
    Cancelled,
    /// A bug of the studio.
    Internal,
}

/// The part of a statement that an error is about, in bytes of the statement.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct SqlSpan {
    /// The statement among those of the query, from 0.
    pub statement: usize,
    /// First byte.
    pub start: usize,
    /// One past the last byte.
    pub end: usize,
}

/// Machine-readable cause of an error. Messages are for users only; no code matches on them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Cause {
    /// The fault is in this part of a SQL statement.
    Sql(SqlSpan),
    /// The server answered with this status.
    HttpStatus(u16),
    /// The server does not answer range requests.
    NoRanges,
    /// The server answered with a web page instead of the file.
    WebPage,
    /// A retry may succeed: no connection, a timeout, a response that was cut short or belongs to
    /// another version of the file, a system that ran short of a resource.
    Passing,
    /// The archive has no member of this name.
    MissingMember,
    /// The ZIP holds a dataset, but another program wrote it again: below a folder, in another
    /// order or compressed.
    RewrittenArchive,
    /// A repair writes the archive again, with all of its metadata.
    RepairableArchive,
    /// A member of an archive is compressed or encrypted, so that no range of the archive has its
    /// bytes.
    CompressedMember,
    /// The archive's central directory is missing, damaged or contradicts the file.
    ZipDirectory,
    /// The address holds several datasets, and one is to be named.
    SeveralDatasets,
    /// A program could not be started; it would not start for another sample either.
    NotStarted,
    /// The output exists already, and may not be replaced.
    OutputExists,
    /// The coordinate system is that of another body than the Earth.
    NotOnEarth,
    /// The text of a coordinate system names a file or an address, which is not opened.
    CrsNamesFile,
    /// The pixels are compressed with a codec that this program is not built with.
    MissingCodec,
    /// The roots of a dataset have several structures.
    StructuresDiffer,
    /// How the files of a folder belong together is not clear from their names.
    UnclearLayout,
    /// The file has no variable of the name that was asked for.
    NoVariable,
    /// The file has vector layers and no pixels.
    VectorFile,
}

/// An error for users. `Display` gives the chain of errors on one line; [`Error::report`] on
/// several.
#[derive(Debug)]
pub struct Error {
    kind: Kind,
    summary: Box<str>,
    place: Option<Box<str>>,
    source: Option<Box<dyn std::error::Error + Send + Sync>>,
    hints: Vec<String>,
    level: Option<usize>,
    /// The causes of this error. A copy ([`Error::found_in`]) also has those of the source errors,
    /// because it keeps these as text alone.
    causes: Vec<Cause>,
}

impl Error {
    /// An error with a one-sentence summary.
    pub fn new(kind: Kind, summary: impl Into<String>) -> Self {
        Self {
            kind,
            summary: summary.into().into(),
            place: None,
            source: None,
            hints: Vec::new(),
            level: None,
            causes: Vec::new(),
        }
    }

    /// [`Kind::Usage`].
    pub fn usage(summary: impl Into<String>) -> Self {
        Self::new(Kind::Usage, summary)
    }

    /// The output exists, and may not be replaced ([`Cause::OutputExists`]).
    pub fn output_exists() -> Self {
        Self::usage("the output exists already")
            .hint("choose another name, or replace it (--overwrite)")
            .caused_by(Cause::OutputExists)
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

    /// [`Kind::TooLarge`].
    pub fn too_large(summary: impl Into<String>) -> Self {
        Self::new(Kind::TooLarge, summary)
    }

    /// [`Kind::Internal`].
    pub fn internal(summary: impl Into<String>) -> Self {
        Self::new(Kind::Internal, summary)
    }

    /// [`Kind::Cancelled`].
    pub fn cancelled() -> Self {
        Self::new(Kind::Cancelled, "cancelled")
    }

    /// An IO error at `path`; `doing` completes "could not …".
    pub fn io(doing: &str, path: &Path, source: std::io::Error) -> Self {
        // Errors of remote reads already have a summary and a location.
        let source = match source.downcast::<Error>() {
            Ok(own) => return own,
            Err(other) => other,
        };
        let hint = io_hint(&source);
        let mut error = Self::new(Kind::Io, format!("could not {doing}"))
            .at_path(path)
            .because(source);
        error.hints.extend(hint.map(str::to_owned));
        error
    }

    /// A copy of the first [`Error`] in the chain of a foreign error, such as one of the Parquet
    /// reader. Its source errors become text.
    pub fn found_in(error: &(dyn std::error::Error + 'static)) -> Option<Self> {
        let own = own_errors(error).next()?;
        Some(Self {
            kind: if own.is_too_large() {
                Kind::TooLarge
            } else {
                own.kind
            },
            summary: own.summary.clone(),
            place: own.place.clone(),
            source: own.source.as_ref().map(|source| source.to_string().into()),
            hints: own.hints.clone(),
            level: own.level(),
            causes: own
                .causes()
                .chain((!own.has_retry_cause() && own.is_passing()).then_some(Cause::Passing))
                .collect(),
        })
    }

    /// Sets the location: a path, or a sample such as `roi_0007 / s2 / t02`.
    #[must_use]
    pub fn at_place(mut self, place: impl fmt::Display) -> Self {
        self.place = Some(place.to_string().into());
        self
    }

    /// Sets the location to a file or folder.
    #[must_use]
    pub fn at_path(self, path: &Path) -> Self {
        self.at_place(path.display())
    }

    /// Sets the source error.
    #[must_use]
    pub fn because(mut self, source: impl Into<Box<dyn std::error::Error + Send + Sync>>) -> Self {
        self.source = Some(source.into());
        self
    }

    /// Marks the error as concerning the table of this level.
    #[must_use]
    pub fn of_level(mut self, level: usize) -> Self {
        self.level = Some(level);
        self
    }

    /// The level whose table this error or a source error concerns.
    pub fn level(&self) -> Option<usize> {
        own_errors(self).find_map(|error| error.level)
    }

    /// Adds a cause.
    #[must_use]
    pub fn caused_by(mut self, cause: Cause) -> Self {
        self.causes.push(cause);
        self
    }

    /// The causes of this error and of its source errors, outermost first.
    pub fn causes(&self) -> impl Iterator<Item = Cause> {
        own_errors(self).flat_map(|error| error.causes.iter().copied())
    }

    /// True when this error or a source error has this cause.
    pub fn is_caused_by(&self, cause: Cause) -> bool {
        self.causes().any(|known| known == cause)
    }

    /// True when a cause determines whether a retry may succeed.
    fn has_retry_cause(&self) -> bool {
        self.causes().any(|cause| cause.is_passing().is_some())
    }

    /// True when a retry may succeed, so that this error must not be cached: the work was stopped,
    /// the network or the server failed, or the system ran short of a resource.
    pub fn is_passing(&self) -> bool {
        if own_errors(self).any(Error::is_cancelled) {
            return true;
        }
        self.causes()
            .find_map(Cause::is_passing)
            .unwrap_or_else(|| {
                let below =
                    std::iter::successors(std::error::Error::source(self), |error| error.source());
                below
                    .filter_map(|error| error.downcast_ref::<std::io::Error>())
                    .any(is_passing_io)
            })
    }

    /// Adds a suggestion for the user.
    #[must_use]
    pub fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hints.push(hint.into());
        self
    }

    /// Category of the error.
    pub fn kind(&self) -> Kind {
        self.kind
    }

    /// Summary: one sentence, without the location.
    pub fn summary(&self) -> &str {
        &self.summary
    }

    /// The location: a path or a sample.
    pub fn place(&self) -> Option<&str> {
        self.place.as_deref()
    }

    /// Suggestions, best first.
    pub fn hints(&self) -> &[String] {
        &self.hints
    }

    /// The first suggestion of this error, or else of its source errors.
    pub fn advice(&self) -> Option<&str> {
        own_errors(self)
            .find_map(|error| error.hints.first())
            .map(String::as_str)
    }

    /// True for [`Kind::Cancelled`].
    pub fn is_cancelled(&self) -> bool {
        self.kind == Kind::Cancelled
    }

    /// True when this error or a source error is of [`Kind::TooLarge`].
    pub fn is_too_large(&self) -> bool {
        own_errors(self).any(|error| error.kind == Kind::TooLarge)
    }

    /// Exit code of a command that fails with this error: 2, or 130 when cancelled.
    pub fn exit_code(&self) -> u8 {
        if self.is_cancelled() { 130 } else { 2 }
    }

    /// Summary and sources without the location, for findings, which have their own location.
    pub fn sentence(&self) -> String {
        let mut text = self.summary.to_string();
        let mut below = std::error::Error::source(self);
        while let Some(error) = below {
            match error.downcast_ref::<Error>() {
                Some(own) => text.push_str(&format!(": {}", own.summary)),
                None => text.push_str(&format!(": {error}")),
            }
            below = error.source();
        }
        let mut text = capitalize_first(&text);
        if !text.ends_with('.') {
            text.push('.');
        }
        if let Some(hint) = self.advice() {
            let hint = capitalize_first(hint.trim_end_matches('.'));
            text.push_str(&format!(" {hint}."));
        }
        text
    }

    /// The hints of this error and of its source errors, each once.
    fn all_hints(&self) -> Vec<&str> {
        let mut hints: Vec<&str> = Vec::new();
        for hint in own_errors(self).flat_map(|error| &error.hints) {
            if !hints.contains(&hint.as_str()) {
                hints.push(hint);
            }
        }
        hints
    }

    /// The error for other programs: kind, message with its sources, place, hints.
    pub fn to_json(&self) -> serde_json::Value {
        serde_json::json!({
            "kind": self.kind, "message": self.to_string(), "place": self.place,
            "hints": self.all_hints()
        })
    }

    /// The error on several lines: summary, sources and location, then the hints.
    pub fn report(&self) -> String {
        // Line breaks in quoted names or responses are escaped, as they could imitate output of the
        // studio.
        let line = |text: &str| text.trim_end().replace('\r', "\\r").replace('\n', "\\n");
        let mut text = line(&self.to_string());
        for hint in self.all_hints() {
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
            let mut last: &(dyn std::error::Error + 'static) = source.as_ref();
            // `Display` of an `Error` already includes its sources.
            while let Some(error) = last.source().filter(|_| !last.is::<Error>()) {
                write!(f, ": {error}")?;
                last = error;
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
        self.source
            .as_ref()
            .map(|source| source.as_ref() as &(dyn std::error::Error + 'static))
    }
}

impl Cause {
    /// Whether a retry may succeed; `None` when the cause does not determine it.
    fn is_passing(self) -> Option<bool> {
        match self {
            Cause::HttpStatus(status) => Some(matches!(status, 408 | 425 | 429 | 500..)),
            Cause::NoRanges
            | Cause::WebPage
            | Cause::Sql(_)
            | Cause::MissingCodec
            | Cause::SeveralDatasets => Some(false),
            Cause::Passing => Some(true),
            Cause::MissingMember
            | Cause::ZipDirectory
            | Cause::RewrittenArchive
            | Cause::RepairableArchive
            | Cause::CompressedMember
            | Cause::NotStarted
            | Cause::OutputExists
            | Cause::NotOnEarth
            | Cause::CrsNamesFile
            | Cause::StructuresDiffer
            | Cause::UnclearLayout
            | Cause::NoVariable
            | Cause::VectorFile => None,
        }
    }
}

/// The text with a capital first letter; names of files and members within it keep their spelling.
fn capitalize_first(text: &str) -> String {
    let mut letters = text.chars();
    let first = letters.next().map(|c| c.to_uppercase().to_string());
    first.unwrap_or_default() + letters.as_str()
}

/// The [`Error`]s in the chain that starts with `error`, outermost first, including those wrapped
/// in [`std::io::Error`].
fn own_errors<'a>(error: &'a (dyn std::error::Error + 'static)) -> impl Iterator<Item = &'a Error> {
    std::iter::successors(Some(error), |error| error.source()).filter_map(|error| {
        let inner = error
            .downcast_ref::<std::io::Error>()
            .and_then(std::io::Error::get_ref);
        inner
            .and_then(|inner| inner.downcast_ref())
            .or_else(|| error.downcast_ref())
    })
}

/// True for transient system failures; false for properties of the file.
fn is_passing_io(error: &std::io::Error) -> bool {
    use std::io::ErrorKind;
    if let Some(own) = error
        .get_ref()
        .and_then(|inner| inner.downcast_ref::<Error>())
    {
        return own.is_passing();
    }
    !matches!(
        error.kind(),
        ErrorKind::NotFound
            | ErrorKind::PermissionDenied
            | ErrorKind::NotADirectory
            | ErrorKind::IsADirectory
            | ErrorKind::UnexpectedEof
            | ErrorKind::InvalidInput
            | ErrorKind::InvalidData
            | ErrorKind::InvalidFilename
            | ErrorKind::Unsupported
    )
}

fn io_hint(error: &std::io::Error) -> Option<&'static str> {
    use std::io::ErrorKind;
    match error.kind() {
        ErrorKind::NotFound => {
            Some("check the path, or whether the disk that holds it is attached")
        }
        ErrorKind::PermissionDenied => {
            Some("check the permissions of the file and of the folder that holds it")
        }
        ErrorKind::StorageFull | ErrorKind::QuotaExceeded => {
            Some("free some space, or write to another disk")
        }
        ErrorKind::ReadOnlyFilesystem => Some("write to another folder"),
        _ => None,
    }
}

/// Splits an outcome for caching: a value or a permanent error is returned as `Ok`, a transient
/// error as `Err`.
///
/// # Errors
/// The error of `outcome` when [`Error::is_passing`].
pub fn separate_transient_error<T>(outcome: Result<T>) -> Result<Result<T>> {
    match outcome {
        Err(error) if error.is_passing() => Err(error),
        outcome => Ok(outcome),
    }
}

/// Converts IO failures into an [`Error`] with the path.
pub trait IoContext<T> {
    /// `doing` completes "could not …".
    ///
    /// # Errors
    /// The failure, as [`Error::io`].
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
    fn display_contains_summary_source_and_place() {
        let error = Error::io(
            "read the sample",
            Path::new("/data/a.tif"),
            std::io::Error::from(std::io::ErrorKind::NotFound),
        );
        assert_eq!(
            error.to_string(),
            "could not read the sample: entity not found (/data/a.tif)"
        );
        assert!(error.report().contains("try: check the path"));
        assert_eq!(error.exit_code(), 2);
    }

    #[test]
    fn only_permanent_errors_are_cached() {
        use std::io::ErrorKind;
        let of_io = |kind: ErrorKind| Error::io("read", Path::new("a"), kind.into());
        let wrapped = |error: Error| Error::format("level0 can't be read").because(error);
        let passing = [
            Error::cancelled(),
            Error::new(Kind::Io, "silent").caused_by(Cause::Passing),
            Error::new(Kind::Io, "busy").caused_by(Cause::HttpStatus(503)),
            of_io(ErrorKind::TimedOut),
            // Wrapped as the Parquet reader does.
            Error::format("damaged").because(std::io::Error::other(
                Error::new(Kind::Io, "silent").caused_by(Cause::Passing),
            )),
        ];
        for error in passing.into_iter().flat_map(|error| {
            let text = error.to_string();
            [Error::found_in(&error).expect(&text), wrapped(error)]
        }) {
            assert!(error.is_passing(), "{error}");
        }
        for error in [
            Error::format("no ZIP"),
            of_io(ErrorKind::NotFound),
            of_io(ErrorKind::PermissionDenied),
            Error::new(Kind::Io, "absent").caused_by(Cause::HttpStatus(404)),
            Error::new(Kind::Io, "whole").caused_by(Cause::NoRanges),
        ] {
            assert!(!error.is_passing() && !wrapped(error).is_passing());
        }
    }

    #[test]
    fn a_cause_is_found_below_other_errors_and_in_copies_and_a_failed_network_stays_transient() {
        let missing = || Error::format("no such member").caused_by(Cause::MissingMember);
        let wrapped =
            Error::format("level0 can't be read").because(std::io::Error::other(missing()));
        let copy = Error::found_in(&wrapped).expect("is ours");
        assert!(
            wrapped.is_caused_by(Cause::MissingMember) && copy.is_caused_by(Cause::MissingMember)
        );
        assert!(!missing().is_passing() && !missing().is_caused_by(Cause::ZipDirectory));
        // The directory could not be fetched: the outer cause says nothing of a retry.
        let busy = Error::new(Kind::Io, "busy").caused_by(Cause::HttpStatus(503));
        let directory = Error::format("the directory can't be read")
            .because(busy)
            .caused_by(Cause::ZipDirectory);
        let copy = Error::found_in(&directory).expect("is ours");
        assert!(
            directory.is_passing() && copy.is_passing() && copy.is_caused_by(Cause::ZipDirectory)
        );
    }

    #[test]
    fn a_wrapped_error_is_reported_once_with_its_suggestions() {
        let full = std::io::Error::from(std::io::ErrorKind::StorageFull);
        let error = Error::new(Kind::Io, "sample a can't be written").because(Error::io(
            "copy",
            Path::new("/a.tif"),
            full,
        ));
        assert_eq!(
            error.to_string(),
            "sample a can't be written: could not copy: no storage space (/a.tif)"
        );
        assert_eq!(
            error.report().matches("free some space").count(),
            1,
            "{}",
            error.report()
        );
    }
}
