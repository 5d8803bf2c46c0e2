//! Walks through syntax trees, all by the same compiled code. `sqlparser` compiles its walk again
//! for each type of visitor, about a thousand functions each time: with one walk for all visitors
//! the program is smaller and is built in less time.

use std::ops::ControlFlow;

use sqlparser::ast::{
    Expr, ObjectName, Query, Select, Statement, TableFactor, ValueWithSpan, Visit, VisitMut,
    Visitor, VisitorMut,
};

/// A visitor of any type, and what it ended its walk with.
struct ErasedVisitor<'v, V, B> {
    visitor: &'v mut V,
    ended_with: Option<B>,
}

impl<V, B> ErasedVisitor<'_, V, B> {
    fn note_end(&mut self, flow: ControlFlow<B>) -> ControlFlow<()> {
        flow.map_break(|end| self.ended_with = Some(end))
    }

    fn into_flow(self) -> ControlFlow<B> {
        self.ended_with
            .map_or(ControlFlow::Continue(()), ControlFlow::Break)
    }
}

/// A visitor of sqlparser that passes each node on to a visitor whose type the walk does not know.
macro_rules! shared_walk {
    ($walk:ident, $visitor:ident, $steps:ident: $($visit:ident($node:ty)),+ $(,)?) => {
        trait $steps {
            $(fn $visit(&mut self, node: $node) -> ControlFlow<()>;)+
        }

        impl<V: $visitor> $steps for ErasedVisitor<'_, V, V::Break> {
            $(fn $visit(&mut self, node: $node) -> ControlFlow<()> {
                let flow = self.visitor.$visit(node);
                self.note_end(flow)
            })+
        }

        struct $walk<'v>(&'v mut dyn $steps);

        impl $visitor for $walk<'_> {
            type Break = ();

            $(fn $visit(&mut self, node: $node) -> ControlFlow<()> {
                self.0.$visit(node)
            })+
        }
    };
}

shared_walk!(ReadingWalk, Visitor, ReadingSteps:
    pre_visit_query(&Query),
    post_visit_query(&Query),
    pre_visit_select(&Select),
    post_visit_select(&Select),
    pre_visit_relation(&ObjectName),
    post_visit_relation(&ObjectName),
    pre_visit_table_factor(&TableFactor),
    post_visit_table_factor(&TableFactor),
    pre_visit_expr(&Expr),
    post_visit_expr(&Expr),
    pre_visit_statement(&Statement),
    post_visit_statement(&Statement),
    pre_visit_value(&ValueWithSpan),
    post_visit_value(&ValueWithSpan),
);

shared_walk!(ChangingWalk, VisitorMut, ChangingSteps:
    pre_visit_query(&mut Query),
    post_visit_query(&mut Query),
    pre_visit_select(&mut Select),
    post_visit_select(&mut Select),
    pre_visit_relation(&mut ObjectName),
    post_visit_relation(&mut ObjectName),
    pre_visit_table_factor(&mut TableFactor),
    post_visit_table_factor(&mut TableFactor),
    pre_visit_expr(&mut Expr),
    post_visit_expr(&mut Expr),
    pre_visit_statement(&mut Statement),
    post_visit_statement(&mut Statement),
    pre_visit_value(&mut ValueWithSpan),
    post_visit_value(&mut ValueWithSpan),
);

/// Walks through a tree as `tree.visit(visitor)` does.
pub(super) fn walk_tree<V: Visitor>(tree: &impl Visit, visitor: &mut V) -> ControlFlow<V::Break> {
    let mut erased = ErasedVisitor {
        visitor,
        ended_with: None,
    };
    let _ = tree.visit(&mut ReadingWalk(&mut erased));
    erased.into_flow()
}

/// Walks through a tree that the visitor may change, as `tree.visit(visitor)` does.
pub(super) fn walk_tree_mut<V: VisitorMut>(
    tree: &mut impl VisitMut,
    visitor: &mut V,
) -> ControlFlow<V::Break> {
    let mut erased = ErasedVisitor {
        visitor,
        ended_with: None,
    };
    let _ = tree.visit(&mut ChangingWalk(&mut erased));
    erased.into_flow()
}

/// Calls `visit` for each expression of a tree, before those within it.
pub(super) fn visit_expressions<B>(
    tree: &impl Visit,
    visit: impl FnMut(&Expr) -> ControlFlow<B>,
) -> ControlFlow<B> {
    walk_tree(tree, &mut EachExpression(visit))
}

/// Calls `visit` for each expression of a tree, after those within it.
pub(super) fn visit_expressions_mut<B>(
    tree: &mut impl VisitMut,
    visit: impl FnMut(&mut Expr) -> ControlFlow<B>,
) -> ControlFlow<B> {
    walk_tree_mut(tree, &mut EachExpression(visit))
}

/// Calls `visit` for each name of a table in a tree.
pub(super) fn visit_relations<B>(
    tree: &impl Visit,
    visit: impl FnMut(&ObjectName) -> ControlFlow<B>,
) -> ControlFlow<B> {
    walk_tree(tree, &mut EachRelation(visit))
}

struct EachExpression<F>(F);

impl<B, F: FnMut(&Expr) -> ControlFlow<B>> Visitor for EachExpression<F> {
    type Break = B;

    fn pre_visit_expr(&mut self, expr: &Expr) -> ControlFlow<B> {
        self.0(expr)
    }
}

impl<B, F: FnMut(&mut Expr) -> ControlFlow<B>> VisitorMut for EachExpression<F> {
    type Break = B;

    fn post_visit_expr(&mut self, expr: &mut Expr) -> ControlFlow<B> {
        self.0(expr)
    }
}

struct EachRelation<F>(F);

impl<B, F: FnMut(&ObjectName) -> ControlFlow<B>> Visitor for EachRelation<F> {
    type Break = B;

    fn pre_visit_relation(&mut self, relation: &ObjectName) -> ControlFlow<B> {
        self.0(relation)
    }
}
