//! Publication of a dataset: [`preflight`] checks the dataset, its metadata and the target.
//! [`PublishRequest`] uploads the files, the index over parts, the data card and the catalogue
//! documents to an object store or folder, opens the dataset from there by byte ranges, and returns
//! code that opens it. For Hugging Face, Zenodo and Source Cooperative the files are written to a
//! local folder in the service's layout; the service's own client uploads them.
//!
//! The file that readers open first is sent last, so that an incomplete publication can't be
//! opened. Files whose bytes are already at the target are skipped, so a second run resumes an
//! interrupted one.

mod check;
mod contents;
mod cost;
mod documents;
mod layout;
mod opened;
mod preflight;
mod prepared;
mod private_text;
mod request;
mod send;
mod snippets;
mod target;

pub use check::{CheckGroup, CheckKind, CheckLevel, Mend, PublishCheck};
pub use cost::{Cost, LIST_PRICES_DATE, Prices, StoreRates};
pub use layout::PublishLayout;
pub use opened::OpenedPublication;
pub use prepared::{PlannedFiles, Preflight, preflight};
pub use request::PublishRequest;
pub use send::{Publication, Published};
pub use snippets::Snippet;
