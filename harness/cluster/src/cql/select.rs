//! SELECT.

use super::MAX_TERM_DEPTH;
use super::ast::{OrderBy, RawSelector, Select};
use super::lexer::TokenKind;
use super::parser::Parser;
use crate::error::CqlError;

impl Parser<'_> {
    pub(super) fn select(&mut self) -> Result<Select, CqlError> {
        self.expect_word("select")?;
        // `json` and `distinct` may also be a column's name.
        let names_a_column =
            |parser: &Self| parser.next_is_symbol(",") || parser.next_is_word("from") || parser.next_is_word("as");
        let json = self.at_word("json") && !names_a_column(self) && self.take_word("json")?;
        let distinct = self.at_word("distinct") && !names_a_column(self) && self.take_word("distinct")?;
        let selectors = if self.take_symbol("*")? {
            Vec::new()
        } else {
            self.list(|parser| {
                let selector = parser.selector(0)?;
                let alias = if parser.take_word("as")? { Some(parser.name()?) } else { None };
                Ok((selector, alias))
            })?
        };
        self.expect_word("from")?;
        let table = self.table_name()?;
        let relations = if self.take_word("where")? { self.relations()? } else { Vec::new() };
        let group_by = self.take_word("group")?;
        if group_by {
            self.expect_word("by")?;
            self.list(|parser| parser.selector(0))?;
        }
        let order_by = if self.take_word("order")? {
            self.expect_word("by")?;
            self.list(Self::order)?
        } else {
            Vec::new()
        };
        let per_partition_limit = if self.take_word("per")? {
            self.expect_word("partition")?;
            self.expect_word("limit")?;
            Some(self.term(0)?)
        } else {
            None
        };
        let limit = if self.take_word("limit")? { Some(self.term(0)?) } else { None };
        let allow_filtering = self.take_word("allow")?;
        if allow_filtering {
            self.expect_word("filtering")?;
        }
        Ok(Select {
            json,
            distinct,
            selectors,
            table,
            relations,
            group_by,
            order_by,
            per_partition_limit,
            limit,
            allow_filtering,
        })
    }

    pub(super) fn order(&mut self) -> Result<OrderBy, CqlError> {
        let column = self.name()?;
        let descending = self.take_word("desc")?;
        if !descending {
            self.take_word("asc")?;
        }
        Ok(OrderBy { column, descending })
    }

    /// A selector. What the node lacks is parsed to its end, so that only true mistakes are syntax errors.
    fn selector(&mut self, depth: usize) -> Result<RawSelector, CqlError> {
        if depth > MAX_TERM_DEPTH {
            return Err(self.error(&format!("selectors nest deeper than {MAX_TERM_DEPTH} levels")));
        }
        let mut selector = self.simple_selector(depth)?;
        loop {
            let what = if self.take_symbol("[")? {
                self.selector(depth + 1)?;
                if self.take_symbol(".")? {
                    self.expect_symbol(".")?;
                    self.selector(depth + 1)?;
                }
                self.expect_symbol("]")?;
                "An element of a collection"
            } else if self.at_symbol(".") && !self.next_is_symbol(".") {
                self.advance()?;
                self.name()?;
                "A field of a user-defined type"
            } else if self.take_arithmetic()? {
                self.simple_selector(depth)?;
                "Arithmetic"
            } else {
                return Ok(selector);
            };
            selector = unsupported(what);
        }
    }

    fn simple_selector(&mut self, depth: usize) -> Result<RawSelector, CqlError> {
        let constant = ["null", "nan", "infinity", "true", "false"].iter().any(|word| self.at_word(word));
        match self.current.kind {
            TokenKind::Word if self.at_word("cast") && self.next_is_symbol("(") => {
                self.advance()?;
                self.advance()?;
                self.selector(depth + 1)?;
                self.expect_word("as")?;
                self.column_type(0)?;
                self.expect_symbol(")")?;
                Ok(unsupported("CAST"))
            }
            TokenKind::Word | TokenKind::QuotedName if self.next_is_symbol("(") => self.function_selector(depth),
            TokenKind::Word | TokenKind::QuotedName if !constant => self.name().map(RawSelector::Column),
            TokenKind::Symbol if self.at_symbol("-") => {
                self.advance()?;
                self.selector(depth + 1)?;
                Ok(unsupported("Arithmetic"))
            }
            TokenKind::Symbol if self.at_symbol("(") => {
                self.advance()?;
                self.list(|parser| parser.selector(depth + 1))?;
                self.expect_symbol(")")?;
                Ok(unsupported("A selector in brackets"))
            }
            _ => {
                self.term(depth)?;
                Ok(unsupported("A constant"))
            }
        }
    }

    fn function_selector(&mut self, depth: usize) -> Result<RawSelector, CqlError> {
        let function = match self.current.kind {
            TokenKind::Word => self.advance()?.text.to_ascii_lowercase(),
            _ => self.name()?,
        };
        self.expect_symbol("(")?;
        if function == "count" && (self.at_symbol("*") || self.current.kind == TokenKind::Integer) {
            let is_one = self.at_symbol("*") || self.current.text == "1";
            if !is_one {
                return Err(self.error("Only COUNT(1) is supported, got COUNT of another number"));
            }
            self.advance()?;
            self.expect_symbol(")")?;
            return Ok(RawSelector::CountRows);
        }
        let none = self.at_symbol(")");
        let arguments = if none { Vec::new() } else { self.list(|parser| parser.selector(depth + 1))? };
        self.expect_symbol(")")?;
        let column = |argument: RawSelector| match argument {
            RawSelector::Column(name) => Some(name),
            _ => None,
        };
        Ok(RawSelector::Function(function, arguments.into_iter().map(column).collect()))
    }
}

fn unsupported(what: &str) -> RawSelector {
    RawSelector::Unsupported(format!("{what} in a SELECT clause"))
}
