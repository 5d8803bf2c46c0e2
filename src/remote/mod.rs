//! Bytes of other machines: who may read what ([`Access`]), ranges of files over HTTP, S3, Google Cloud Storage and Azure
//! ([`RemoteFile`]) with few requests, repeated where that helps, kept on the disk while they are the server's own, and a meter
//! of it all ([`traffic`]). Must never log or keep a credential, and never mix bytes of two versions of a file.
//!
//! Everything here blocks the thread that calls and is not for the interface thread; the requests themselves run on one
//! runtime of their own. A cancelled job stops waiting at once.

mod cache;
mod credentials;
mod fetch;
mod file;
mod http;
mod limits;
mod memory;
mod meter;
mod profile;
mod runtime;

pub use cache::{CacheState, cache_state, clear_cache};
pub use credentials::{Access, Secret, access, admit, set_access};
pub use fetch::{may_be_folder, means_absent};
pub use file::{FIRST_OF_DATASET, FIRST_OF_SAMPLE, Identity, RemoteFile, forget_below};
pub use limits::{Limits, set_limits};
pub use meter::{ActionTraffic, RequestLine, Traffic, traffic};
