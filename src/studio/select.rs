//! Filtered queries: filters and a statement as one piece of data, run as a job.

use std::path::PathBuf;
use std::sync::Arc;

use super::tables::lazy_tables;
use super::verbs::RUN_QUERY;
use super::{Event, Finish, Outcome, Studio};
use crate::container;
use crate::error::{Error, Result};
use crate::query::{self, Query};

impl Studio {
    /// Over the dataset at `path`, which is opened for this query alone, or over the one that is open.
    pub(super) fn select(&mut self, query: Query, path: Option<PathBuf>) -> Result<Outcome> {
        let opened = if path.is_none() { Some(self.need_opened()?.tables()) } else { None };
        Ok(self.start(crate::text::of(RUN_QUERY), move |ctx| {
            let tables = match (opened, path) {
                (Some(tables), _) => tables,
                (None, Some(path)) => lazy_tables(&container::open(&path, ctx)?),
                (None, None) => return Err(Error::usage("no dataset is open")),
            };
            let result = Arc::new(query::run(&tables, &query, ctx)?);
            Ok(Box::new(move |_: &mut Studio| Ok(Event::Queried(result))) as Finish)
        }))
    }
}
