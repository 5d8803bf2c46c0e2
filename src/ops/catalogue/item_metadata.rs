//! What an Item states beside its assets, and names that many Items share.

use std::collections::HashSet;
use std::sync::Arc;

use geo::Geometry;
use serde_json::{Map, Value as Json};

/// What an Item states beside its assets.
#[derive(Debug)]
pub(super) struct ItemMetadata {
    pub collection: Option<Arc<str>>,
    /// Names and values, in the order of the document.
    pub properties: Map<String, Json>,
    pub geometry: Option<Geometry>,
    pub bbox: Option<[f64; 4]>,
}

/// Names that many Items have: each is kept once.
#[derive(Default)]
pub(super) struct NamePool(HashSet<Arc<str>>);

impl NamePool {
    pub fn get(&mut self, name: &str) -> Arc<str> {
        if let Some(known) = self.0.get(name) {
            return known.clone();
        }
        let name = Arc::from(name);
        self.0.insert(Arc::clone(&name));
        name
    }

    /// The name as it is kept; the given one when `most` others are.
    pub fn get_among(&mut self, name: Arc<str>, most: usize) -> Arc<str> {
        match self.0.get(&name) {
            Some(known) => known.clone(),
            None => {
                if self.0.len() < most {
                    self.0.insert(name.clone());
                }
                name
            }
        }
    }
}
