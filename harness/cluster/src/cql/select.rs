//! SELECT.

use super::MAX_TERM_DEPTH;
use super::ast::{OrderBy, RawSelector, Select};
use super::lexer::TokenKind;
use super::parser::Parser;
use crate::error::{CqlError, Result};
use crate::types::LiteralKind;

impl Parser<'_> {
    pub(super) fn select(&mut self) -> Result<Select> {
        self.expect_word("select")?;
        // `json` and `distinct` may also be a column's name.
        let names_a_column =
            |parser: &Self| parser.next_is_symbol(",") || parser.next_is_word("from") || parser.next_is_word("as");
        let json = self.at_word("json") && !names_a_column(self) && self.take_word("json")?;
        let distinct = self.at_word("distinct") && !names_a_column(self) && self.take_word("distinct")?;
        let mut select = Select { json, distinct, ..Select::default() };
        if !self.take_symbol("*")? {
            select.selectors = self.list(|parser| {
                let selector = parser.selector(0)?;
                let alias = if parser.take_word("as")? { Some(parser.name()?) } else { None };
                Ok((selector, alias))
            })?;
        }
        self.expect_word("from")?;
        select.table = self.table_name()?;
        if self.take_word("where")? {
            select.relations = self.relations()?;
        }
        if self.take_word("group")? {
            self.expect_word("by")?;
            self.list(|parser| parser.selector(0))?;
            select.group_by = true;
        }
        if self.take_word("order")? {
            self.expect_word("by")?;
            select.order_by = self.list(Self::order)?;
        }
        if self.take_word("per")? {
            self.expect_words("partition limit")?;
            select.per_partition_limit = Some(self.term(0)?);
        }
        if self.take_word("limit")? {
            select.limit = Some(self.term(0)?);
        }
        if self.take_word("allow")? {
            self.expect_word("filtering")?;
            select.allow_filtering = true;
        }
        // Of ScyllaDB, whose clients send it with their own queries to nodes that have shards; it changes nothing here.
        if self.take_word("using")? {
            self.expect_word("timeout")?;
            self.term(0)?;
        }
        Ok(select)
    }

    pub(super) fn order(&mut self) -> Result<OrderBy> {
        let column = self.name()?;
        if self.take_words("ann", "of")? {
            return Err(CqlError::unsupported("ORDER BY ... ANN OF, a search by vectors,"));
        }
        let descending = self.take_word("desc")?;
        if !descending {
            self.take_word("asc")?;
        }
        Ok(OrderBy { column, descending })
    }

    /// A selector. What the node lacks is parsed to its end, so that only true mistakes are syntax errors.
    fn selector(&mut self, depth: usize) -> Result<RawSelector> {
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
                let field = self.name()?;
                if let RawSelector::Column(column) = selector {
                    selector = RawSelector::Field(column, field);
                    continue;
                }
                "A field of anything but a column"
            } else if self.take_arithmetic()?.is_some() {
                self.simple_selector(depth)?;
                "Arithmetic"
            } else {
                return Ok(selector);
            };
            selector = unsupported(what);
        }
    }

    fn simple_selector(&mut self, depth: usize) -> Result<RawSelector> {
        let constant = ["null", "nan", "infinity", "true", "false"].iter().any(|word| self.at_word(word));
        if self.take_call("cast")? {
            self.selector(depth + 1)?;
            self.expect_word("as")?;
            self.column_type(0)?;
            self.expect_symbol(")")?;
            return Ok(unsupported("CAST"));
        }
        match self.current.kind {
            TokenKind::Word | TokenKind::QuotedName if self.next_is_symbol("(") => self.function_selector(depth),
            TokenKind::Word | TokenKind::QuotedName if !constant => self.name().map(RawSelector::Column),
            TokenKind::Symbol if self.at_symbol("-") => {
                self.advance()?;
                self.selector(depth + 1)?;
                Ok(unsupported("Arithmetic"))
            }
            TokenKind::Symbol if self.at_symbol("(") => {
                self.brackets(|parser| parser.selector(depth + 1))?;
                Ok(unsupported("A selector in brackets"))
            }
            _ => {
                self.term(depth)?;
                Ok(unsupported("A constant"))
            }
        }
    }

    fn function_selector(&mut self, depth: usize) -> Result<RawSelector> {
        let function = match self.current.kind {
            TokenKind::Word => self.advance()?.text.to_ascii_lowercase(),
            _ => self.name()?,
        };
        self.expect_symbol("(")?;
        if function == "count" && (self.at_symbol("*") || self.current.kind == TokenKind::Literal(LiteralKind::Integer))
        {
            let is_one = self.at_symbol("*") || self.current.text == "1";
            if !is_one {
                return Err(self.error("Only COUNT(1) is supported, got COUNT of another number"));
            }
            self.advance()?;
            self.expect_symbol(")")?;
            return Ok(RawSelector::CountRows);
        }
        let arguments = self.items_to(")", |parser| parser.selector(depth + 1))?;
        Ok(RawSelector::Function(function, arguments))
    }
}

fn unsupported(what: &str) -> RawSelector {
    RawSelector::Unsupported(format!("{what} in a SELECT clause"))
}
