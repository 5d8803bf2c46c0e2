//! What every opened dataset has, whatever its container. Must know no container.

use super::{ContainerInfo, LevelSet};
use crate::error::Result;
use crate::model::{Collection, Finding, Location, Rule};

/// The parts of an opened dataset that don't differ between containers.
pub struct Opening {
    /// What it is and where.
    pub info: ContainerInfo,
    /// COLLECTION.json; empty when it could not be read.
    pub collection: Collection,
    /// The level tables.
    pub levels: LevelSet,
    /// What was worked round.
    pub notes: Vec<Finding>,
}

impl Opening {
    /// A collection that can't be read becomes a note: the samples are there all the same.
    pub fn new(info: ContainerInfo, levels: LevelSet, collection: Result<Collection>, mut notes: Vec<Finding>) -> Self {
        let collection = collection.unwrap_or_else(|error| {
            notes.push(Finding::new(Rule::CollectionRead, Location::Collection(String::new()), error.sentence()));
            Collection::default()
        });
        Self { info, collection, levels, notes }
    }
}
