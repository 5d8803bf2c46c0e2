//! The keys of GROUP BY: expressions, names and numbers of result columns, and the sets of ROLLUP,
//! CUBE and GROUPING SETS.

use sqlparser::ast::{Expr, GroupByExpr, Select, Spanned};

use super::context::Planner;
use super::select::has_aggregate;
use super::subquery_rewrite::written_count;
use crate::error::{Error, Result};
use crate::query::select_list::ResultColumn;

/// Maximum number of groupings of one GROUP BY; each is a plan of its own.
const GROUPINGS_MAX: usize = 64;

/// Keys of GROUP BY.
#[derive(Default)]
pub(super) struct GroupKeys {
    pub(super) keys: Vec<Expr>,
    /// The keys of each of several groupings, without those that all of them have.
    pub(super) sets: Option<Vec<Vec<Expr>>>,
}

impl Planner<'_> {
    /// Keys of GROUP BY; `None` without the clause.
    pub(super) fn bind_group_keys(
        &self,
        select: &Select,
        items: &[ResultColumn],
        bind: &mut dyn FnMut(&Expr) -> Result<Expr>,
    ) -> Result<Option<GroupKeys>> {
        let mut found = GroupKeys::default();
        let modifiers = match &select.group_by {
            GroupByExpr::All(modifiers) => {
                found.keys = items
                    .iter()
                    .map(|item| &item.expr)
                    .filter(|expr| !has_aggregate(expr))
                    .cloned()
                    .collect();
                modifiers
            }
            GroupByExpr::Expressions(exprs, modifiers) => {
                for expr in exprs {
                    let sets = match expr {
                        Expr::Rollup(groups) => Some(rollup_sets(groups)),
                        Expr::Cube(groups) => cube_sets(groups),
                        Expr::GroupingSets(groups) => Some(groups.clone()),
                        Expr::Tuple(parts) => {
                            for part in parts {
                                found.keys.push(self.bind_group_key(part, items, bind)?);
                            }
                            continue;
                        }
                        plain => {
                            found.keys.push(self.bind_group_key(plain, items, bind)?);
                            continue;
                        }
                    };
                    let sets = sets.ok_or_else(|| self.too_many_groupings_error(expr))?;
                    let bound = sets
                        .iter()
                        .map(|set| {
                            set.iter()
                                .map(|key| self.bind_group_key(key, items, bind))
                                .collect::<Result<Vec<_>>>()
                        })
                        .collect::<Result<Vec<_>>>()?;
                    found.add_sets(bound);
                    if found
                        .sets
                        .as_ref()
                        .is_some_and(|sets| sets.len() > GROUPINGS_MAX)
                    {
                        return Err(self.too_many_groupings_error(expr));
                    }
                }
                modifiers
            }
        };
        if !modifiers.is_empty() {
            let error = Error::usage("this form of GROUP BY is not supported")
                .hint("write GROUP BY ROLLUP (a, b)");
            return Err(self.source.locate(error, select.group_by.span()));
        }
        let is_grouped = matches!(&select.group_by, GroupByExpr::All(_))
            || !found.keys.is_empty()
            || found.sets.is_some();
        Ok(is_grouped.then_some(found))
    }

    fn too_many_groupings_error(&self, expr: &Expr) -> Error {
        let error = Error::too_large(format!("GROUP BY has more than {GROUPINGS_MAX} groupings"));
        self.source.locate(
            error.hint("name the groupings that you need: GROUPING SETS ((a, b), (a), ())"),
            expr.span(),
        )
    }

    /// A key of GROUP BY: an expression, or the number of a result column.
    fn bind_group_key(
        &self,
        expr: &Expr,
        items: &[ResultColumn],
        bind: &mut dyn FnMut(&Expr) -> Result<Expr>,
    ) -> Result<Expr> {
        let Some(number) = written_count(expr) else {
            return bind(expr);
        };
        let place = usize::try_from(number)
            .ok()
            .and_then(|number| number.checked_sub(1));
        let error = || Error::usage(format!("there is no result column {number}"));
        let item = place
            .and_then(|place| items.get(place))
            .ok_or_else(|| self.source.locate(error(), expr.span()))?;
        Ok(item.expr.clone())
    }
}

impl GroupKeys {
    /// Combines each grouping so far with each of these.
    fn add_sets(&mut self, sets: Vec<Vec<Expr>>) {
        self.keys.extend(sets.iter().flatten().cloned());
        let before = self.sets.take().unwrap_or_else(|| vec![Vec::new()]);
        let joined = before.iter().flat_map(|one| {
            sets.iter()
                .map(move |other| [one.as_slice(), other].concat())
        });
        self.sets = Some(joined.take(GROUPINGS_MAX + 1).collect());
    }
}

/// The groupings of ROLLUP: by all keys, by all but the last, and so on to none.
fn rollup_sets(groups: &[Vec<Expr>]) -> Vec<Vec<Expr>> {
    (0..=groups.len())
        .rev()
        .map(|length| groups[..length].concat())
        .collect()
}

/// The groupings of CUBE: by each part of the keys. `None` for more keys than there may be
/// groupings.
fn cube_sets(groups: &[Vec<Expr>]) -> Option<Vec<Vec<Expr>>> {
    let count = 1usize
        .checked_shl(u32::try_from(groups.len()).ok()?)
        .filter(|count| *count <= GROUPINGS_MAX)?;
    Some(
        (0..count)
            .rev()
            .map(|chosen| choose_keys(groups, chosen))
            .collect(),
    )
}

/// The keys of the groups whose bits are set; that of the first is the highest.
fn choose_keys(groups: &[Vec<Expr>], chosen: usize) -> Vec<Expr> {
    let is_chosen = |(at, _): &(usize, &Vec<Expr>)| chosen >> (groups.len() - 1 - at) & 1 == 1;
    groups
        .iter()
        .enumerate()
        .filter(is_chosen)
        .flat_map(|(_, group)| group.clone())
        .collect()
}
