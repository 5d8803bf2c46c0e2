//! What is asked when paths can be read in more than one way, or in none.

/// One way to go on.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize)]
pub struct LayoutAlternative {
    /// What the dataset would be.
    pub meaning: String,
    /// Arguments of the command line that choose it.
    pub option: String,
}

/// Why no reading was chosen.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize)]
pub struct LayoutQuestion {
    /// One sentence.
    pub summary: String,
    /// What may be meant.
    pub alternatives: Vec<LayoutAlternative>,
}

impl LayoutQuestion {
    pub(super) fn new(summary: impl Into<String>) -> Self {
        Self { summary: summary.into(), alternatives: Vec::new() }
    }

    #[must_use]
    pub(super) fn or(mut self, meaning: impl Into<String>, option: impl Into<String>) -> Self {
        self.alternatives.push(LayoutAlternative { meaning: meaning.into(), option: option.into() });
        self
    }

    /// The error with the alternatives as hints.
    pub fn into_error(self) -> crate::error::Error {
        let error = crate::error::Error::usage(self.summary).caused_by(crate::error::Cause::UnclearLayout);
        self.alternatives.into_iter().fold(error, |error, way| error.hint(format!("{}: {}", way.option, way.meaning)))
    }
}
