//! Remote files: credentials ([`Access`]), byte ranges over HTTP, S3, Google Cloud Storage and
//! Azure ([`RemoteFile`]) with few requests, retries, a disk cache, and traffic statistics
//! ([`traffic`]); objects are written by [`ObjectWriter`]. Credentials are never logged or stored,
//! and bytes of two versions of a file are never mixed.
//!
//! All functions block and must not be called on the interface thread; requests run on a separate
//! runtime. Cancelling a job ends its waits immediately.

mod bucket;
mod cache;
mod cache_use;
mod credentials;
mod fetch;
mod file;
mod http;
mod limits;
mod listing;
mod memory;
mod meter;
mod profile;
mod purpose;
mod range_answer;
mod reach;
mod remote_access;
mod request_attempt;
mod runtime;
mod upload;

pub use cache::{CacheState, cache_state, clear_cache};
pub use credentials::{Access, Secret, access, admit, set_access};
pub use fetch::{FILE_SIZE_MAX, may_be_folder, means_absent};
pub use file::{
    FIRST_OF_DATASET, FIRST_OF_SAMPLE, FileIdentity, RemoteFile, expect_versions, forget_below,
};
pub use limits::RemoteLimits;
pub use listing::{ListedFile, hub_files, list_files};
pub use meter::{ActionTraffic, RequestLine, Traffic};
pub use purpose::{traffic, traffic_of};
pub use reach::may_link_to;
pub use remote_access::set_limits;
/// Forgets files, clients and the thread for requests of the process that this one was forked from,
/// before anything is read in this one.
pub fn forget_after_fork() {
    runtime::forget_thread();
    credentials::forget_clients();
    file::forget_open();
}

pub use upload::{
    NewObject, ObjectComparison, ObjectWriter, StoredObject, delete_object, expect_writable,
    object_exists, object_is, object_requests, objects_below, objects_have, put_objects,
};
