//! Links that open a dataset in the window, `taco-studio://open?path=…&sample=…`, for data cards,
//! notebooks and messages. Pure text, no IO: whoever follows one asks first, as it may come from
//! anywhere.

use std::fmt;
use std::path::{Path, PathBuf};

use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, percent_decode_str, utf8_percent_encode};

use super::{SamplePath, is_remote};
use crate::error::{Error, Result};

/// What a link begins with.
const SCHEME: &str = "taco-studio:";
/// Bytes of a value that are encoded: all but the unreserved ones (RFC 3986), `/` and `:`.
const ENCODED: &AsciiSet = &NON_ALPHANUMERIC
    .remove(b'-')
    .remove(b'.')
    .remove(b'_')
    .remove(b'~')
    .remove(b'/')
    .remove(b':');

/// A dataset, and the sample to show.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StudioLink {
    /// Absolute path or address.
    pub dataset: PathBuf,
    /// Its ids from the root.
    pub sample: Option<SamplePath>,
}

/// True for text that begins as a link of the studio.
pub fn is_studio_link(path: &Path) -> bool {
    path.to_str()
        .and_then(|text| text.get(..SCHEME.len()))
        .is_some_and(|scheme| scheme.eq_ignore_ascii_case(SCHEME))
}

impl StudioLink {
    /// Parses a link; parameters of other names are ignored.
    ///
    /// # Errors
    /// [`Kind::Usage`](crate::error::Kind::Usage) for another action than `open`, without `path`,
    /// and for a relative path, which means another file in every folder.
    pub fn parse(text: &str) -> Result<Self> {
        let refused = |summary: &str| {
            Error::usage(summary).hint("links are taco-studio://open?path=ADDRESS&sample=IDS")
        };
        let (action, query) = text
            .get(SCHEME.len()..)
            .and_then(|rest| rest.split_once('?'))
            .ok_or_else(|| refused("this link names no dataset"))?;
        if !action.trim_matches('/').eq_ignore_ascii_case("open") {
            return Err(refused("this link requests something else than opening"));
        }
        let (mut dataset, mut sample) = (None, None);
        for (name, value) in query.split('&').filter_map(|part| part.split_once('=')) {
            let value = percent_decode_str(value)
                .decode_utf8()
                .map_err(|_| refused("this link is not text in UTF-8"))?;
            match name {
                "path" => dataset = Some(PathBuf::from(value.as_ref())),
                "sample" => sample = Some(SamplePath::parse(&value)),
                _ => {}
            }
        }
        let dataset = dataset
            .filter(|path| is_remote(path) || path.is_absolute())
            .ok_or_else(|| refused("this link names no address and no absolute path"))?;
        Ok(Self {
            dataset,
            sample: sample.filter(|sample| !sample.0.is_empty()),
        })
    }
}

impl fmt::Display for StudioLink {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let dataset = self.dataset.to_string_lossy();
        write!(
            f,
            "{SCHEME}//open?path={}",
            utf8_percent_encode(&dataset, ENCODED)
        )?;
        match &self.sample {
            Some(sample) => write!(
                f,
                "&sample={}",
                utf8_percent_encode(&sample.to_archive(), ENCODED)
            ),
            None => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_link_is_read_as_it_was_written() {
        for (dataset, sample) in [
            ("https://h/a b&c=d.tacozip", None),
            ("s3://bucket/ü?x#y.tacozip", Some("roi_1/s2 & s1/t0.tif")),
        ] {
            let link = StudioLink {
                dataset: dataset.into(),
                sample: sample.map(SamplePath::parse),
            };
            let text = link.to_string();
            assert!(
                is_studio_link(Path::new(&text)) && text.is_ascii(),
                "{text}"
            );
            assert_eq!(StudioLink::parse(&text).expect("is a link"), link);
        }
    }

    #[test]
    fn links_without_an_absolute_place_are_refused() {
        for text in [
            "taco-studio:",
            "taco-studio://open",
            "taco-studio://open?path=",
            "taco-studio://open?path=relative.tacozip",
            "taco-studio://run?path=https://h/a",
            "taco-studio://open?path=%FF",
            "taco-studio://open?sample=a",
        ] {
            assert!(StudioLink::parse(text).is_err(), "{text}");
        }
        let link = StudioLink::parse("TACO-STUDIO://open/?x=1&path=https%3A%2F%2Fh%2Fa&sample=");
        assert_eq!(
            link.expect("is a link"),
            StudioLink {
                dataset: "https://h/a".into(),
                sample: None
            }
        );
    }
}
