//! Settings, signed links and clients of servers, for as long as the process.

use std::collections::HashMap;
use std::sync::Arc;

use object_store::ObjectStore;

use super::settings::Access;
use crate::model::{Address, Scheme};
use crate::remote::bucket::Bucket;

/// Scheme, authority, and query of a signed link.
type StoreKey = (Scheme, Box<str>, Option<Box<str>>);

#[derive(Default)]
pub(in crate::remote) struct Connections {
    /// Settings of all servers not in `of_hosts`.
    pub access: Access,
    /// Settings by server or bucket.
    pub of_hosts: HashMap<String, Access>,
    /// The most recent settings.
    pub last: Access,
    /// Queries of signed links, by address.
    pub links: Vec<(String, Box<str>)>,
    pub stores: HashMap<StoreKey, Arc<dyn ObjectStore>>,
    /// Where objects are written.
    pub buckets: HashMap<(Scheme, Box<str>), Arc<Bucket>>,
}

impl Connections {
    /// The settings for an address.
    pub fn access_for(&self, address: &Address) -> &Access {
        self.of_hosts.get(&address.origin()).unwrap_or(&self.access)
    }
}
