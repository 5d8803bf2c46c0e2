//! What files hold by their headers, so that a fix does not give a label the id of an image. Reads
//! nothing itself: the session passes a reader of headers.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use crate::model::{AssetPath, Dataset, Payload, Sample, Tortilla};

/// Number of roots whose files are examined to determine the contents of a position.
const ASKED: usize = 5;
/// Number of roots that are searched for them.
const SEARCHED: usize = 2000;

/// Content of a file according to its header.
#[derive(Clone, Debug, PartialEq)]
pub enum FileKind {
    Raster {
        /// GDAL's name of the type of the first band.
        dtype: String,
        /// Number of bands.
        bands: usize,
        /// Columns and rows.
        size: (usize, usize),
        /// Authority and code, or WKT, of the coordinate system.
        crs: Option<String>,
    },
    /// No raster.
    Other,
}

/// Whether a file can belong to a position.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum KindMatch {
    /// One of the two is not known.
    Unknown,
    /// The same data type and number of bands as the other roots have there; with the number of
    /// further agreements (size, coordinate system).
    Same(u8),
    /// Other than in the other roots, and not as at another position either.
    Odd,
    /// The kind of another position.
    Crosses,
}

/// Reads the header of a file; `None` when it is unknown what it holds.
pub type KindReader = dyn Fn(&AssetPath) -> Option<FileKind> + Send + Sync;

/// The kinds of the files of one revision of a draft, each read once.
#[derive(Default)]
pub struct Kinds {
    read: Option<Box<KindReader>>,
    known: Mutex<HashMap<AssetPath, Option<FileKind>>>,
    typical: Mutex<HashMap<Vec<Arc<str>>, Typical>>,
}

/// Common contents of a position in all examined roots; `None` where they differ.
type Typical = Option<Common>;

#[derive(Clone, Debug, PartialEq)]
struct Common {
    is_raster: bool,
    dtype: Option<String>,
    bands: Option<usize>,
    size: Option<(usize, usize)>,
    crs: Option<String>,
}

impl Kinds {
    /// Kinds that `read` finds out.
    pub fn new(read: impl Fn(&AssetPath) -> Option<FileKind> + Send + Sync + 'static) -> Self {
        Self {
            read: Some(Box::new(read)),
            ..Self::default()
        }
    }

    fn kind_of_sample(&self, sample: &Sample) -> Option<FileKind> {
        let read = self.read.as_ref()?;
        let Payload::Asset { path, size, .. } = &sample.payload else {
            return None;
        };
        if *size == 0 || sample.is_padding() {
            return None;
        }
        if let Some(known) = self
            .known
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .get(path)
        {
            return known.clone();
        }
        let kind = read(path);
        self.known
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .insert(path.clone(), kind.clone());
        kind
    }

    /// Contents of the other roots at the position with these ids below the root.
    fn typical(&self, dataset: &Dataset, position: &[Arc<str>]) -> Typical {
        self.read.as_ref()?;
        if let Some(known) = self
            .typical
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .get(position)
        {
            return known.clone();
        }
        let roots = dataset.root.samples.iter().take(SEARCHED);
        let files = roots
            .filter_map(|root| at_path(root, position))
            .filter_map(|sample| self.kind_of_sample(sample));
        let typical = find_common_kind(files.take(ASKED));
        self.typical
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .insert(position.to_vec(), typical.clone());
        typical
    }

    /// Whether `sample` can be the child `position` of the FOLDER at `above`, the ids below the
    /// root, of which `wanted` are the expected children.
    pub(super) fn fits(
        &self,
        dataset: &Dataset,
        above: &[Arc<str>],
        wanted: &Tortilla,
        position: usize,
        sample: &Sample,
    ) -> KindMatch {
        if self.read.is_none() || sample.children().is_some() {
            return KindMatch::Unknown;
        }
        let typical = |position| self.find_typical_child(dataset, above, wanted, position);
        let Some(wanted_kind) = typical(position) else {
            return KindMatch::Unknown;
        };
        let Some(kind) = self.kind_of_sample(sample) else {
            return KindMatch::Unknown;
        };
        match wanted_kind.agrees(&kind) {
            Some(further) => KindMatch::Same(further),
            None => {
                let elsewhere =
                    (0..wanted.samples.len().min(64)).filter(|&other| other != position);
                let mut elsewhere = elsewhere.filter_map(typical);
                if elsewhere.any(|other| other.agrees(&kind).is_some()) {
                    KindMatch::Crosses
                } else {
                    KindMatch::Odd
                }
            }
        }
    }

    /// Contents of the other roots at a child of the FOLDER at `above`; `None` for a FOLDER and
    /// for padding.
    fn find_typical_child(
        &self,
        dataset: &Dataset,
        above: &[Arc<str>],
        wanted: &Tortilla,
        position: usize,
    ) -> Typical {
        let child = wanted
            .samples
            .get(position)
            .filter(|child| child.children().is_none() && !child.is_padding())?;
        let mut path = above.to_vec();
        path.push(child.id.clone());
        self.typical(dataset, &path)
    }
}

impl Common {
    /// The number of further agreements of a file of this kind; `None` for another kind.
    fn agrees(&self, kind: &FileKind) -> Option<u8> {
        let FileKind::Raster {
            dtype,
            bands,
            size,
            crs,
        } = kind
        else {
            return (!self.is_raster).then_some(0);
        };
        let same = self.is_raster
            && self.dtype.as_ref().is_none_or(|wanted| wanted == dtype)
            && self.bands.is_none_or(|wanted| wanted == *bands);
        let further =
            u8::from(self.size == Some(*size)) + u8::from(self.crs.is_some() && self.crs == *crs);
        same.then_some(further)
    }
}

fn at_path<'a>(root: &'a Sample, position: &[Arc<str>]) -> Option<&'a Sample> {
    position.iter().try_fold(root, |sample, id| {
        sample
            .children()?
            .samples
            .iter()
            .find(|child| child.id == *id)
    })
}

/// What these files have in common; `None` when some are rasters and others are not, or there are
/// none.
fn find_common_kind(files: impl Iterator<Item = FileKind>) -> Typical {
    fn keep<T: PartialEq>(known: &mut Option<T>, other: &Option<T>) {
        if known != other {
            *known = None;
        }
    }
    let mut all: Typical = None;
    for file in files {
        let one = match file {
            FileKind::Raster {
                dtype,
                bands,
                size,
                crs,
            } => Common {
                is_raster: true,
                dtype: Some(dtype),
                bands: Some(bands),
                size: Some(size),
                crs,
            },
            FileKind::Other => Common {
                is_raster: false,
                dtype: None,
                bands: None,
                size: None,
                crs: None,
            },
        };
        match &mut all {
            None => all = Some(one),
            Some(all) if all.is_raster != one.is_raster => return None,
            Some(all) => {
                keep(&mut all.dtype, &one.dtype);
                keep(&mut all.bands, &one.bands);
                keep(&mut all.size, &one.size);
                keep(&mut all.crs, &one.crs);
            }
        }
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    fn raster(dtype: &str, bands: usize, size: usize) -> FileKind {
        FileKind::Raster {
            dtype: dtype.into(),
            bands,
            size: (size, size),
            crs: None,
        }
    }

    #[test]
    fn a_position_is_what_all_roots_have_there() {
        let images = || [raster("UInt16", 3, 10), raster("UInt16", 3, 12)].into_iter();
        let image = find_common_kind(images()).expect("has files");
        assert_eq!(
            (image.dtype.as_deref(), image.bands, image.size),
            (Some("UInt16"), Some(3), None)
        );
        assert!(
            image.agrees(&raster("UInt16", 3, 99)).is_some()
                && image.agrees(&raster("Byte", 3, 10)).is_none()
        );
        assert!(
            image.agrees(&raster("UInt16", 4, 10)).is_none()
                && image.agrees(&FileKind::Other).is_none()
        );
        let mixed =
            find_common_kind(images().chain([raster("Float32", 3, 10)])).expect("has files");
        assert!(
            mixed.agrees(&raster("Byte", 3, 1)).is_some(),
            "types differ there anyway"
        );
        assert_eq!(find_common_kind(images().chain([FileKind::Other])), None);
        let text = find_common_kind([FileKind::Other].into_iter()).expect("has a file");
        assert_eq!(
            (
                text.agrees(&FileKind::Other),
                text.agrees(&raster("Byte", 1, 1))
            ),
            (Some(0), None)
        );
    }
}
