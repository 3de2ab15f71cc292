//! SELECT.

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
                let selector = parser.selector()?;
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
            self.list(Self::selector)?;
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

    fn selector(&mut self) -> Result<RawSelector, CqlError> {
        if !self.next_is_symbol("(") {
            return self.name().map(RawSelector::Column);
        }
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
        let arguments = if self.at_symbol(")") { Vec::new() } else { self.list(Self::name)? };
        self.expect_symbol(")")?;
        Ok(RawSelector::Function(function, Some(arguments)))
    }
}
