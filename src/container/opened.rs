//! The state that all readers have in common, independent of the format.

use super::{ContainerInfo, DatasetVersion, LevelSet};
use crate::error::Result;
use crate::model::{Collection, Finding, Location, Rule};

/// Common state of an opened dataset.
pub struct OpeningFacts {
    /// Format, path and size.
    pub info: ContainerInfo,
    /// COLLECTION.json; empty when it could not be read.
    pub collection: Collection,
    /// The level tables.
    pub levels: LevelSet,
    /// Problems that were worked around while opening.
    pub notes: Vec<Finding>,
    /// The version of a dataset of several files.
    pub version: DatasetVersion,
}

impl OpeningFacts {
    /// An unreadable collection becomes a note; the samples remain accessible.
    pub fn new(
        info: ContainerInfo,
        levels: LevelSet,
        collection: Result<Collection>,
        mut notes: Vec<Finding>,
    ) -> Self {
        let collection = collection.unwrap_or_else(|error| {
            notes.push(Finding::new(
                Rule::CollectionRead,
                Location::Collection(String::new()),
                error.sentence(),
            ));
            Collection::default()
        });
        Self {
            info,
            collection,
            levels,
            notes,
            version: DatasetVersion::default(),
        }
    }

    /// What is wrong with a COLLECTION.json that could not be read.
    pub fn unread_collection(&self) -> Option<&Finding> {
        self.notes
            .iter()
            .find(|note| note.rule == Rule::CollectionRead)
    }

    /// The same with the version of the dataset's files.
    pub fn of_version(self, version: DatasetVersion) -> Self {
        Self { version, ..self }
    }
}
