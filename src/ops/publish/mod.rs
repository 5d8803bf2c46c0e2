//! Publication of a dataset: [`preflight`] checks what a good reviewer would, [`publish`] then sends the files, the index over parts,
//! the data card and the documents of catalogues to an object store or a folder, opens the dataset from there as its readers do, and
//! gives the code that opens it. For Hugging Face, Zenodo and Source Cooperative the files are made in a folder of this machine, and
//! their own clients upload them: nothing here does.
//!
//! The file that readers open first is sent last: until then, they find no dataset. Files that are at the target already with the
//! same bytes are not sent again, which resumes a publication that was interrupted.

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

pub use check::{Check, CheckGroup, CheckKind, CheckLevel, Mend};
pub use cost::{Cost, Prices, Rates};
pub use layout::Layout;
pub use opened::Opened;
pub use prepared::{PlannedFiles, Preflight, preflight};
pub use request::PublishRequest;
pub use send::{Publication, Published, publish};
pub use snippets::Snippet;
