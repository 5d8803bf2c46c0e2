//! Filtered queries: filters and a statement as one piece of data, run as a job.

use std::sync::Arc;

use super::{Event, Finish, Outcome, Studio};
use crate::error::Result;
use crate::query::{self, Query};

impl Studio {
    pub(super) fn select(&mut self, query: Query) -> Result<Outcome> {
        let tables = self.need_opened()?.tables();
        Ok(self.start("Run the query", move |ctx| {
            let result = Arc::new(query::run(&tables, &query, ctx)?);
            Ok(Box::new(move |_: &mut Studio| Ok(Event::Queried(result))) as Finish)
        }))
    }
}
