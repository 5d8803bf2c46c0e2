//! A frame that FROM has made of relations, and its columns.

use std::collections::HashSet;

use polars::prelude::*;

use crate::query::scope::{Relation, SelectScope};

/// A FROM clause as one frame.
pub(super) struct JoinedFrame {
    pub frame: LazyFrame,
    pub relations: Vec<Relation>,
}

impl JoinedFrame {
    pub fn scope<'s>(&self, outer: Option<&'s SelectScope<'s>>) -> SelectScope<'s> {
        let mut scope = SelectScope::new(self.relations.clone(), outer);
        scope.rows = Some(self.frame.clone());
        scope
    }

    pub(super) fn names(&self) -> HashSet<String> {
        self.relations
            .iter()
            .flat_map(|relation| relation.columns.iter().map(|column| column.inner.clone()))
            .collect()
    }
}
