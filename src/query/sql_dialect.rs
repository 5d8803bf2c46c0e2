//! DuckDB's dialect for the parser: its operators, comprehensions and lambdas.

use std::any::TypeId;
use std::cell::Cell;

use sqlparser::ast::{
    BinaryOperator, DictionaryField, Expr, FunctionArg, FunctionArgExpr, FunctionArguments, Ident,
    LambdaFunction, LambdaFunctionParameter, LambdaSyntax, OneOrManyWithParens, UnaryOperator,
};
use sqlparser::dialect::{Dialect, GenericDialect};
use sqlparser::keywords::{Keyword, RESERVED_FOR_COLUMN_ALIAS, RESERVED_FOR_TABLE_ALIAS};
use sqlparser::parser::{Parser, ParserError};
use sqlparser::tokenizer::{Span, Token, Word};

use super::duckdb_semantics::expressions::{expression, literal};
use super::function_names::LAMBDA_FUNCTIONS;
use crate::error::Result;

/// Precedence of `**`: above multiplication, below casts.
const POWER_PRECEDENCE: u8 = 45;

/// Words that the parser keeps for clauses of other databases, and that name columns in DuckDB,
/// also without AS.
const COLUMN_ALIASES: [Keyword; 3] = [Keyword::DISTRIBUTE, Keyword::SORT, Keyword::TOP];

/// Such words that name tables.
const TABLE_ALIASES: [Keyword; 12] = [
    Keyword::CLUSTER,
    Keyword::CONNECT,
    Keyword::DISTRIBUTE,
    Keyword::FORMAT,
    Keyword::OUTPUT,
    Keyword::PARTITION,
    Keyword::PREWHERE,
    Keyword::SETTINGS,
    Keyword::SORT,
    Keyword::START,
    Keyword::TOP,
    Keyword::VIEW,
];

/// Exponentiation operator.
pub(super) const POWER: &str = "**";

/// DuckDB's dialect. It reports the generic dialect's type id, for which the parser supports UNNEST
/// in FROM.
#[derive(Debug, Default)]
pub(super) struct DuckDb {
    /// Token where an expression is missing.
    pub missing: Cell<Option<Span>>,
    /// Expressions that may still be begun; `None` without a limit.
    pub left: Cell<Option<usize>>,
}

macro_rules! supported {
    ($($name:ident)*) => {
        $(fn $name(&self) -> bool {
            true
        })*
    };
}

impl Dialect for DuckDb {
    fn dialect(&self) -> TypeId {
        TypeId::of::<GenericDialect>()
    }

    fn is_delimited_identifier_start(&self, letter: char) -> bool {
        letter == '"' || letter == '`'
    }

    fn is_identifier_start(&self, letter: char) -> bool {
        letter.is_alphabetic() || letter == '_'
    }

    fn is_identifier_part(&self, letter: char) -> bool {
        letter.is_alphanumeric() || letter == '_' || letter == '$'
    }

    supported! {
        supports_trailing_commas supports_filter_during_aggregation supports_group_by_expr
        supports_group_by_with_modifier supports_dictionary_syntax support_map_literal_syntax
        supports_lambda_functions allow_extract_single_quotes allow_extract_custom
        supports_array_typedef_with_brackets supports_from_first_select supports_order_by_all
        supports_select_wildcard_exclude supports_select_wildcard_except
        supports_select_wildcard_replace supports_select_wildcard_rename
        supports_select_wildcard_ilike supports_comma_separated_trim
        supports_parens_around_table_factor supports_values_as_table_factor
        supports_left_associative_joins_without_parens supports_window_clause_named_window_reference
        supports_window_function_null_treatment_arg supports_nested_comments
        supports_numeric_literal_underscores supports_limit_comma supports_notnull_operator
        supports_bitwise_shift_operators supports_named_fn_args_with_assignment_operator
        supports_factorial_operator supports_string_escape_constant
    }

    fn is_column_alias(&self, keyword: &Keyword, _parser: &mut Parser) -> bool {
        COLUMN_ALIASES.contains(keyword) || !RESERVED_FOR_COLUMN_ALIAS.contains(keyword)
    }

    fn is_table_alias(&self, keyword: &Keyword, _parser: &mut Parser) -> bool {
        TABLE_ALIASES.contains(keyword) || !RESERVED_FOR_TABLE_ALIAS.contains(keyword)
    }

    fn get_next_precedence(&self, parser: &Parser) -> Option<Result<u8, ParserError>> {
        let is_power = match &parser.peek_token_ref().token {
            Token::Caret => true,
            Token::CustomBinaryOperator(operator) => operator == POWER,
            _ => false,
        };
        if is_power {
            return Some(Ok(POWER_PRECEDENCE));
        }
        // As `||`, whose sides they are; the parser has them below comparisons.
        if matches!(
            parser.peek_token_ref().token,
            Token::Arrow | Token::LongArrow
        ) {
            return Some(Ok(
                self.prec_value(sqlparser::dialect::Precedence::MulDivModOp)
            ));
        }
        match postfix_of(parser)? {
            Postfix::Glob { .. } => Some(Ok(self.prec_value(sqlparser::dialect::Precedence::Like))),
            Postfix::InList { .. } => {
                Some(Ok(self.prec_value(sqlparser::dialect::Precedence::Between)))
            }
            Postfix::IsNull => Some(Ok(self.prec_value(sqlparser::dialect::Precedence::Is))),
        }
    }

    fn parse_prefix(&self, parser: &mut Parser) -> Option<Result<Expr, ParserError>> {
        if let Some(left) = self.left.get() {
            if left == 0 {
                return Some(Err(ParserError::RecursionLimitExceeded));
            }
            self.left.set(Some(left - 1));
        }
        // The parser takes all that follows the arrow for the body of a lambda.
        let is_word = matches!(parser.peek_token_ref().token, Token::Word(_));
        if is_word
            && parser.peek_nth_token_ref(1).token == Token::Arrow
            && !is_lambda_argument(parser)
        {
            return Some(parser.parse_identifier().map(Expr::Identifier));
        }
        // Unary minus binds tighter than `**`: -2 ** 2 is 4.
        if parser.consume_token(&Token::Minus) {
            let negated = parser.parse_subexpr(POWER_PRECEDENCE);
            return Some(negated.map(|expr| apply_unary(UnaryOperator::Minus, expr)));
        }
        // NOT binds looser than what follows EXISTS: NOT EXISTS (…) IS NULL is NOT (EXISTS (…) IS
        // NULL).
        if parser.peek_keyword(Keyword::NOT)
            && matches!(
                &parser.peek_nth_token_ref(1).token,
                Token::Word(word) if word.keyword == Keyword::EXISTS
            )
        {
            parser.advance_token();
            let precedence = self.prec_value(sqlparser::dialect::Precedence::UnaryNot);
            return Some(parser.parse_subexpr(precedence).map(|expr| match expr {
                Expr::Exists { subquery, negated } => Expr::Exists {
                    subquery,
                    negated: !negated,
                },
                expr => apply_unary(UnaryOperator::Not, expr),
            }));
        }
        if parser.peek_token_ref().token == Token::LBracket && is_comprehension(parser) {
            return Some(comprehension(parser));
        }
        let next = parser.peek_token_ref();
        let is_missing = matches!(
            next.token,
            Token::EOF
                | Token::Comma
                | Token::RParen
                | Token::RBracket
                | Token::RBrace
                | Token::SemiColon
                | Token::Eq
                | Token::Neq
                | Token::Lt
                | Token::Gt
                | Token::LtEq
                | Token::GtEq
                | Token::Div
                | Token::StringConcat
        );
        is_missing.then(|| {
            self.missing.set(Some(next.span));
            let found = if next.token == Token::EOF {
                "the end".to_owned()
            } else {
                next.token.to_string()
            };
            Err(ParserError::ParserError(format!(
                "an expression is missing before {found}"
            )))
        })
    }

    fn parse_infix(
        &self,
        parser: &mut Parser,
        left: &Expr,
        _: u8,
    ) -> Option<Result<Expr, ParserError>> {
        let is_power = matches!(&parser.peek_token_ref().token, Token::Caret)
            || matches!(
                &parser.peek_token_ref().token,
                Token::CustomBinaryOperator(operator) if operator == POWER
            );
        if is_power {
            parser.advance_token();
            let right = parser.parse_subexpr(POWER_PRECEDENCE);
            return Some(right.map(|right| Expr::BinaryOp {
                left: Box::new(left.clone()),
                op: BinaryOperator::Custom(POWER.into()),
                right: Box::new(right),
            }));
        }
        if let Some(postfix) = postfix_of(parser) {
            return Some(self.with_postfix(parser, left, postfix));
        }
        // Limits the operand, which the parser would extend to the end of the expression.
        let precedence = self.prec_value(sqlparser::dialect::Precedence::Is);
        let compared = |parser: &mut Parser| parser.parse_subexpr(precedence).map(Box::new);
        if parser.parse_keywords(&[Keyword::IS, Keyword::DISTINCT, Keyword::FROM]) {
            return Some(
                compared(parser).map(|right| Expr::IsDistinctFrom(Box::new(left.clone()), right)),
            );
        }
        if parser.parse_keywords(&[Keyword::IS, Keyword::NOT, Keyword::DISTINCT, Keyword::FROM]) {
            return Some(
                compared(parser)
                    .map(|right| Expr::IsNotDistinctFrom(Box::new(left.clone()), right)),
            );
        }
        None
    }
}

/// An operator of DuckDB behind a value, which the parser does not support.
#[derive(Clone, Copy)]
enum Postfix {
    /// `GLOB 'pattern'`
    Glob { negated: bool },
    /// `IN [1, 2]`
    InList { negated: bool },
    /// `ISNULL`
    IsNull,
}

/// The operator of the next tokens.
fn postfix_of(parser: &Parser) -> Option<Postfix> {
    let token = |at: usize| &parser.peek_nth_token_ref(at).token;
    let negated = find_unquoted_word(parser, 0).is_some_and(|word| word.keyword == Keyword::NOT);
    let at = usize::from(negated);
    let next = find_unquoted_word(parser, at)?;
    if next.keyword == Keyword::IN && *token(at + 1) == Token::LBracket {
        Some(Postfix::InList { negated })
    } else if next.value.eq_ignore_ascii_case("glob")
        && matches!(token(at + 1), Token::SingleQuotedString(_))
    {
        Some(Postfix::Glob { negated })
    } else {
        (!negated && next.value.eq_ignore_ascii_case("isnull")).then_some(Postfix::IsNull)
    }
}

/// The word without quotes that is `at` tokens ahead.
fn find_unquoted_word<'p>(parser: &'p Parser, at: usize) -> Option<&'p Word> {
    match &parser.peek_nth_token_ref(at).token {
        Token::Word(word) if word.quote_style.is_none() => Some(word),
        _ => None,
    }
}

fn apply_unary(op: UnaryOperator, expr: Expr) -> Expr {
    Expr::UnaryOp {
        op,
        expr: Box::new(expr),
    }
}

fn negate_if(negated: bool, expr: Expr) -> Expr {
    if negated {
        apply_unary(UnaryOperator::Not, expr)
    } else {
        expr
    }
}

impl DuckDb {
    fn with_postfix(
        &self,
        parser: &mut Parser,
        left: &Expr,
        postfix: Postfix,
    ) -> Result<Expr, ParserError> {
        if let Postfix::Glob { negated: true } | Postfix::InList { negated: true } = postfix {
            parser.advance_token();
        }
        parser.advance_token();
        match postfix {
            Postfix::IsNull => Ok(Expr::IsNull(Box::new(left.clone()))),
            Postfix::Glob { negated } => {
                let pattern =
                    parser.parse_subexpr(self.prec_value(sqlparser::dialect::Precedence::Like))?;
                Ok(negate_if(
                    negated,
                    call_with("glob_match", vec![left.clone(), pattern]),
                ))
            }
            Postfix::InList { negated } => {
                let list = parser
                    .parse_subexpr(self.prec_value(sqlparser::dialect::Precedence::Between))?;
                Ok(negate_if(
                    negated,
                    call_with("list_contains", vec![list, left.clone()]),
                ))
            }
        }
    }
}

/// A call of a function.
fn call_with(name: &str, arguments: Vec<Expr>) -> Expr {
    let mut call = expression(&format!("{name}(_0)"), Vec::new());
    if let Expr::Function(function) = &mut call
        && let FunctionArguments::List(list) = &mut function.args
    {
        list.args = arguments
            .into_iter()
            .map(|argument| FunctionArg::Unnamed(FunctionArgExpr::Expr(argument)))
            .collect();
    }
    call
}

/// True where an argument of a function begins that takes a lambda.
fn is_lambda_argument(parser: &Parser) -> bool {
    let begins = matches!(
        parser.get_current_token().token,
        Token::Comma | Token::LParen
    );
    let mut depth = 0;
    let mut before = (0..parser.index()).rev().map(|at| parser.token_at(at));
    let is_open = before.by_ref().any(|token| {
        match &token.token {
            Token::RParen | Token::RBracket | Token::RBrace => depth += 1,
            Token::LParen | Token::LBracket | Token::LBrace => depth -= 1,
            _ => {}
        }
        depth < 0
    });
    let name = before.find(|token| !matches!(token.token, Token::Whitespace(_)));
    match name.map(|token| &token.token) {
        Some(Token::Word(word)) if begins && is_open => {
            let name = word.value.to_lowercase();
            name == "columns" || LAMBDA_FUNCTIONS.contains(&name.as_str())
        }
        _ => false,
    }
}

/// True for `[expression FOR name IN list …]`.
fn is_comprehension(parser: &Parser) -> bool {
    let mut depth = 0;
    for at in 0.. {
        match &parser.peek_nth_token_ref(at).token {
            Token::LBracket | Token::LParen | Token::LBrace => depth += 1,
            Token::RBracket | Token::RParen | Token::RBrace => depth -= 1,
            Token::Word(word)
                if depth == 1 && word.keyword == Keyword::FOR && word.quote_style.is_none() =>
            {
                return true;
            }
            Token::EOF => return false,
            _ => {}
        }
        if depth == 0 {
            return false;
        }
    }
    false
}

/// `[expression FOR name IN list IF condition]`, as calls of `list_filter` and `list_transform`.
fn comprehension(parser: &mut Parser) -> Result<Expr, ParserError> {
    parser.expect_token(&Token::LBracket)?;
    let body = parser.parse_expr()?;
    parser.expect_keyword(Keyword::FOR)?;
    let names = parser.parse_comma_separated(Parser::parse_identifier)?;
    parser.expect_keyword(Keyword::IN)?;
    let mut list = parser.parse_expr()?;
    if parser.parse_keyword(Keyword::IF) {
        let condition = parser.parse_expr()?;
        if names.len() > 1 {
            parser.expect_token(&Token::RBracket)?;
            return Ok(filter_with_index(list, &names, condition, body));
        }
        list = call_with("list_filter", vec![list, build_lambda(&names, condition)]);
    }
    parser.expect_token(&Token::RBracket)?;
    Ok(call_with(
        "list_transform",
        vec![list, build_lambda(&names, body)],
    ))
}

/// The results of the elements that meet a condition. The index is that of the whole list, so the
/// conditions and results are computed before elements are left out.
fn filter_with_index(list: Expr, names: &[Ident], condition: Expr, body: Expr) -> Expr {
    let both = Expr::Dictionary(vec![
        build_field("is_met", condition),
        build_field("result", body),
    ]);
    let computed = call_with("list_transform", vec![list, build_lambda(names, both)]);
    let met = call_with("list_filter", vec![computed, build_field_lambda("is_met")]);
    call_with("list_transform", vec![met, build_field_lambda("result")])
}

fn build_field(name: &str, value: Expr) -> DictionaryField {
    DictionaryField {
        key: Ident::new(name),
        value: Box::new(value),
    }
}

/// `element -> element.name`.
fn build_field_lambda(name: &str) -> Expr {
    let element = Ident::new("element");
    let arguments = vec![Expr::Identifier(element.clone()), literal(name)];
    let value = expression("struct_extract(_0, _1)", arguments);
    build_lambda(&[element], value)
}

/// `name -> body`, or `(name, index) -> body`.
fn build_lambda(names: &[Ident], body: Expr) -> Expr {
    let parameters = names.iter().map(|name| LambdaFunctionParameter {
        name: name.clone(),
        data_type: None,
    });
    let mut parameters: Vec<_> = parameters.collect();
    let params = if parameters.len() == 1 {
        OneOrManyWithParens::One(parameters.remove(0))
    } else {
        OneOrManyWithParens::Many(parameters)
    };
    Expr::Lambda(LambdaFunction {
        params,
        body: Box::new(body),
        syntax: LambdaSyntax::Arrow,
    })
}
