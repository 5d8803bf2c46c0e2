//! FROM: tables, subqueries, joins and unnested lists as one frame with unique column names.

use polars::prelude::*;
use sqlparser::ast::{
    Expr, JoinConstraint, JoinOperator, ObjectName, Spanned, TableAlias, TableFactor,
    TableWithJoins,
};

use super::context::{Ctes, Planner};
use super::joined_frame::JoinedFrame;
use super::joins::extends_left;
use super::unnesting::find_unnested_list;
use crate::error::{Error, Result};
use crate::query::engine_errors::engine_error;
use crate::query::sampling::{RowSampling, sample_rows};
use crate::query::scope::{Relation, UniqueNames};
use crate::query::{advice, catalogue};

impl Planner<'_> {
    /// Plans a FROM clause. Equalities in `conditions` (those of WHERE) that can serve as
    /// inner-join keys are removed from it.
    ///
    /// # Errors
    /// [`crate::error::Kind::Usage`] for unknown tables and unsupported joins.
    pub(super) fn from(
        &self,
        from: &[TableWithJoins],
        conditions: &mut Vec<Expr>,
        ctes: &Ctes,
    ) -> Result<JoinedFrame> {
        let Some((first, others)) = from.split_first() else {
            // A single row, for SELECT without FROM.
            let one = df!("__one" => [true]).map_err(|error| engine_error(&error))?;
            return Ok(JoinedFrame {
                frame: one.lazy(),
                relations: Vec::new(),
            });
        };
        // WHERE applies after an outer join adds its rows, so its equalities can't be join keys.
        let mut none = Vec::new();
        let conditions = if from.iter().any(extends_left) {
            &mut none
        } else {
            conditions
        };
        let mut joined = self.tables(first, conditions, ctes)?;
        for table in others {
            self.join(
                &mut joined,
                &table.relation,
                &JoinOperator::CrossJoin(JoinConstraint::None),
                conditions,
                ctes,
            )?;
            self.join_following(&mut joined, table, conditions, ctes)?;
        }
        Ok(joined)
    }

    fn tables(
        &self,
        table: &TableWithJoins,
        conditions: &mut Vec<Expr>,
        ctes: &Ctes,
    ) -> Result<JoinedFrame> {
        let mut joined = self.relation(&table.relation, ctes)?;
        self.join_following(&mut joined, table, conditions, ctes)?;
        Ok(joined)
    }

    /// Joins what follows the first relation of a table of FROM.
    fn join_following(
        &self,
        joined: &mut JoinedFrame,
        table: &TableWithJoins,
        conditions: &mut Vec<Expr>,
        ctes: &Ctes,
    ) -> Result<()> {
        for join in &table.joins {
            self.join(
                joined,
                &join.relation,
                &join.join_operator,
                conditions,
                ctes,
            )?;
        }
        Ok(())
    }

    pub(super) fn relation(&self, factor: &TableFactor, ctes: &Ctes) -> Result<JoinedFrame> {
        let refused = |summary: String, hint: &str| Err(self.refuse_factor(factor, summary, hint));
        if let Some(turned) = self.plan_pivot_factor(factor, ctes)? {
            return Ok(turned);
        }
        if let Some(unnested) = find_unnested_list(factor) {
            let mut joined = self.from(&[], &mut Vec::new(), ctes)?;
            self.unnest(&mut joined, &unnested, false, ctes)?;
            return Ok(joined);
        }
        match factor {
            TableFactor::Table {
                name,
                alias,
                args: None,
                ..
            } => {
                let (frame, plain) = self.table_named(name, ctes)?;
                let frame = RowSampling::of_table(factor)
                    .map_or(frame.clone(), |sampling| sample_rows(frame, sampling));
                self.name_relation(frame, alias.as_ref(), &plain)
            }
            TableFactor::Derived {
                lateral: false,
                subquery,
                alias,
                ..
            } => {
                let frame = self.rows_of(subquery, ctes)?;
                let frame = RowSampling::of_table(factor)
                    .map_or(frame.clone(), |sampling| sample_rows(frame, sampling));
                self.name_relation(frame, alias.as_ref(), "")
            }
            TableFactor::NestedJoin {
                table_with_joins,
                alias,
            } => {
                let joined = self.from(
                    std::slice::from_ref(table_with_joins),
                    &mut Vec::new(),
                    ctes,
                )?;
                match alias {
                    None => Ok(joined),
                    Some(alias) => {
                        let mut names = UniqueNames::default();
                        let columns = joined
                            .relations
                            .iter()
                            .flat_map(|relation| &relation.columns)
                            .filter(|column| !column.qualified_only);
                        let shown: Vec<_> = columns
                            .map(|column| {
                                col(column.inner.as_str()).alias(names.take(&column.name))
                            })
                            .collect();
                        self.name_relation(joined.frame.select(shown), Some(alias), "")
                    }
                }
            }
            TableFactor::Table { name, .. } | TableFactor::Function { name, .. } => {
                let name = name.to_string().to_lowercase();
                let hint = advice::of_function(&name).unwrap_or("tables are listed by SHOW TABLES");
                refused(format!("{name}() is not allowed in FROM"), hint)
            }
            // LATERAL without a table before it.
            TableFactor::Derived {
                subquery, alias, ..
            } => self.name_relation(self.rows_of(subquery, ctes)?, alias.as_ref(), ""),
            TableFactor::Pivot { .. } | TableFactor::Unpivot { .. } => refused(
                "this form of PIVOT is not supported".into(),
                "PIVOT data ON split USING count(*) GROUP BY river",
            ),
            _ => refused(
                "this is not allowed in FROM".into(),
                "name a table, or a subquery with a name: (SELECT …) AS t",
            ),
        }
    }

    fn refuse_factor(&self, factor: &TableFactor, summary: String, hint: &str) -> Error {
        let error = Error::usage(summary).hint(hint);
        self.source.locate(error, factor.span())
    }

    fn table_named(&self, name: &ObjectName, ctes: &Ctes) -> Result<(LazyFrame, String)> {
        let plain = name
            .0
            .last()
            .and_then(|part| part.as_ident())
            .map_or(String::new(), |ident| ident.value.clone());
        if let Some(frame) = ctes.find(&plain) {
            return Ok((frame, plain));
        }
        if let Some(frame) = (self.table)(&plain)? {
            return Ok((frame, plain));
        }
        if let [schema, _] = name.0.as_slice()
            && schema
                .to_string()
                .eq_ignore_ascii_case("information_schema")
        {
            let tables = self.columns.iter().map(|(name, _)| {
                let frame = (self.table)(name)?.unwrap_or_default();
                let schema = frame
                    .clone()
                    .collect_schema()
                    .map_err(|error| engine_error(&error))?;
                Ok((name.clone(), schema))
            });
            if let Some(frame) =
                catalogue::information_schema(&plain, &tables.collect::<Result<Vec<_>>>()?)
            {
                return Ok((frame.map_err(|error| engine_error(&error))?.lazy(), plain));
            }
        }
        let lower = plain.to_lowercase();
        if lower != plain
            && let Some(frame) = (self.table)(&lower)?
        {
            return Ok((frame, plain));
        }
        let names = || self.columns.iter().map(|(name, _)| name.as_str());
        let near = advice::near(&plain, names().chain(ctes.names()));
        let mut error = Error::usage(format!("there is no table {plain}"));
        if !near.is_empty() {
            error = error.hint(format!("did you mean {}?", near.join(" or ")));
        }
        Err(self.source.locate(
            error.hint(format!(
                "tables: {}",
                names().collect::<Vec<_>>().join(", ")
            )),
            name.span(),
        ))
    }

    pub(super) fn name_relation(
        &self,
        mut frame: LazyFrame,
        alias: Option<&TableAlias>,
        name: &str,
    ) -> Result<JoinedFrame> {
        if let Some(alias) = alias {
            frame = self.rename_columns(frame, alias)?;
        }
        let schema = frame
            .collect_schema()
            .map_err(|error| engine_error(&error))?;
        let alias = alias.map_or(name, |alias| alias.name.value.as_str());
        Ok(JoinedFrame {
            frame,
            relations: vec![Relation::of_columns(alias, schema.iter_names())],
        })
    }

    /// Renames columns as in `AS t(a, b)`.
    pub(super) fn rename_columns(
        &self,
        mut frame: LazyFrame,
        alias: &TableAlias,
    ) -> Result<LazyFrame> {
        if alias.columns.is_empty() {
            return Ok(frame);
        }
        let schema = frame
            .collect_schema()
            .map_err(|error| engine_error(&error))?;
        if alias.columns.len() > schema.len() {
            let error = Error::usage(format!(
                "{} has {} columns, not {}",
                alias.name.value,
                schema.len(),
                alias.columns.len()
            ));
            return Err(self.source.locate(error, alias.name.span));
        }
        let names = alias
            .columns
            .iter()
            .map(|column| Some(column.name.value.as_str()))
            .chain(std::iter::repeat(None));
        let shown = schema
            .iter_names()
            .zip(names)
            .map(|(old, new)| col(old.clone()).alias(new.unwrap_or(old.as_str())));
        Ok(frame.select(shown.collect::<Vec<_>>()))
    }
}
