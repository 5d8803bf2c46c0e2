//! Expressions of statements: the names in them, and new expressions from templates.

use std::ops::ControlFlow;

use sqlparser::ast::{Expr, Function, Ident, Spanned, Value, VisitorMut};
use sqlparser::dialect::GenericDialect;
use sqlparser::parser::Parser;
use sqlparser::tokenizer::Span;

use crate::query::syntax_walk::walk_tree_mut;

/// Lower-case name of a function.
pub(in crate::query) fn name_of(function: &Function) -> String {
    function.name.to_string().trim_matches('"').to_lowercase()
}

/// Source span of a function's name.
pub(in crate::query) fn span_of(function: &Function) -> Span {
    function.name.span()
}

/// Reference to a column of the frame.
pub(in crate::query) fn column(name: &str) -> Expr {
    Expr::Identifier(Ident::with_quote('"', name))
}

/// String literal.
pub(in crate::query) fn literal(text: &str) -> Expr {
    Expr::value(Value::SingleQuotedString(text.to_owned()))
}

/// True for columns that planning has added, which have no position in the statement.
pub(in crate::query) fn is_generated(ident: &Ident) -> bool {
    ident.span == Span::empty()
}

/// A call of a function with these arguments.
pub(super) fn function_call(function: &str, arguments: Vec<Expr>) -> Expr {
    let placeholders: Vec<String> = (0..arguments.len()).map(|at| format!("_{at}")).collect();
    expression(
        &format!("{function}({})", placeholders.join(", ")),
        arguments,
    )
}

/// Parses `template`, in which `_0`, `_1`, … are replaced by the arguments, in parentheses where
/// needed.
pub(in crate::query) fn expression(template: &str, arguments: Vec<Expr>) -> Expr {
    struct TemplateFiller(Vec<Expr>);
    impl VisitorMut for TemplateFiller {
        type Break = ();
        fn post_visit_expr(&mut self, expr: &mut Expr) -> ControlFlow<()> {
            if let Expr::Identifier(Ident {
                value,
                quote_style: None,
                ..
            }) = expr
                && let Some(argument) = value
                    .strip_prefix('_')
                    .and_then(|digits| digits.parse::<usize>().ok())
                    .and_then(|at| self.0.get(at))
            {
                *expr = argument.clone();
            }
            ControlFlow::Continue(())
        }
    }
    let parsed = Parser::new(&GenericDialect)
        .try_with_sql(template)
        .and_then(|mut parser| parser.parse_expr());
    // Templates are constants of this crate; an invalid one becomes an identifier, which the engine
    // refuses.
    let mut expr = parsed.unwrap_or_else(|_| Expr::Identifier(Ident::new(template)));
    let _ = walk_tree_mut(
        &mut expr,
        &mut TemplateFiller(arguments.into_iter().map(parenthesize).collect()),
    );
    expr
}

/// Parenthesizes an expression unless it is atomic.
fn parenthesize(expr: Expr) -> Expr {
    match expr {
        Expr::Identifier(_)
        | Expr::Value(_)
        | Expr::Nested(_)
        | Expr::Function(_)
        | Expr::Cast { .. }
        | Expr::TypedString(_) => expr,
        Expr::CompoundIdentifier(_) | Expr::Array(_) | Expr::Case { .. } | Expr::Interval(_) => {
            expr
        }
        other => Expr::Nested(Box::new(other)),
    }
}

/// Removes enclosing parentheses.
pub(in crate::query) fn strip_parentheses(expr: &Expr) -> &Expr {
    match expr {
        Expr::Nested(inner) => strip_parentheses(inner),
        other => other,
    }
}

/// True for the literal NULL; as a condition it counts as false.
pub(in crate::query) fn is_null(expr: &Expr) -> bool {
    matches!(strip_parentheses(expr), Expr::Value(value) if value.value == Value::Null)
}
