//! Terms and relations.

use super::MAX_TERM_DEPTH;
use super::ast::{Operator, RawTerm, Relation};
use super::lexer::TokenKind;
use super::parser::Parser;
use crate::error::{CqlError, Result};
use crate::types::{Literal, LiteralKind};

/// What may follow a column's name.
pub(super) enum ColumnPart {
    Element(RawTerm),
    Field(String),
}

impl Parser<'_> {
    /// A term, or arithmetic on terms, of which only a sum of two is kept.
    pub(super) fn operation(&mut self) -> Result<RawTerm> {
        let mut term = self.term(0)?;
        while let Some(sign) = self.take_arithmetic()? {
            let right = self.term(0)?;
            term = match (term, sign) {
                (RawTerm::Sum(..) | RawTerm::Operation, _) | (_, '*' | '/' | '%') => RawTerm::Operation,
                (left, sign) => RawTerm::Sum(sign, Box::new([left, right])),
            };
        }
        Ok(term)
    }

    pub(super) fn take_arithmetic(&mut self) -> Result<Option<char>> {
        let found = ["+", "-", "*", "/", "%"].iter().find(|operator| self.at_symbol(operator));
        if found.is_some() {
            self.count_item()?;
            self.advance()?;
        }
        Ok(found.and_then(|operator| operator.chars().next()))
    }

    pub(super) fn term(&mut self, depth: usize) -> Result<RawTerm> {
        if depth > MAX_TERM_DEPTH {
            return Err(self.error(&format!("terms nest deeper than {MAX_TERM_DEPTH} levels")));
        }
        match self.current.kind {
            TokenKind::Literal(kind) => {
                let text = self.advance()?.text;
                let text = if kind == LiteralKind::String { string_content(text) } else { text.to_owned() };
                Ok(RawTerm::Literal(Literal { kind, text }))
            }
            TokenKind::Word | TokenKind::QuotedName => self.word_term(depth),
            TokenKind::Symbol => self.symbol_term(depth),
            TokenKind::End => Err(self.no_alternative()),
        }
    }

    fn word_term(&mut self, depth: usize) -> Result<RawTerm> {
        let word = self.current.text.to_ascii_lowercase();
        if self.next_is_symbol("(") {
            self.advance()?;
            self.advance()?;
            return Ok(RawTerm::Function(word, self.items_to(")", |parser| parser.term(depth + 1))?));
        }
        let kind = match word.as_str() {
            "null" => {
                self.advance()?;
                return Ok(RawTerm::Null);
            }
            "true" | "false" => LiteralKind::Boolean,
            "nan" | "infinity" => LiteralKind::Float,
            _ => return self.name().map(RawTerm::Column),
        };
        self.advance()?;
        Ok(RawTerm::Literal(Literal { kind, text: word }))
    }

    fn symbol_term(&mut self, depth: usize) -> Result<RawTerm> {
        if self.take_symbol("?")? {
            return self.marker(None);
        }
        if self.take_symbol(":")? {
            let name = self.name()?;
            return self.marker(Some(name));
        }
        if self.at_symbol("-") {
            let next = self.next;
            self.advance()?;
            let kind = match next.kind {
                TokenKind::Literal(kind @ (LiteralKind::Integer | LiteralKind::Float | LiteralKind::Duration)) => kind,
                TokenKind::Word if self.at_word("infinity") || self.at_word("nan") => LiteralKind::Float,
                _ => return Err(self.no_alternative()),
            };
            let text = format!("-{}", self.advance()?.text);
            return Ok(RawTerm::Literal(Literal { kind, text }));
        }
        if self.take_symbol("[")? {
            return self.items_to("]", |parser| parser.term(depth + 1)).map(RawTerm::List);
        }
        if self.take_symbol("(")? {
            return self.list_to(")", |parser| parser.term(depth + 1)).map(RawTerm::Tuple);
        }
        if self.take_symbol("{")? {
            return self.braces(depth);
        }
        Err(self.no_alternative())
    }

    fn braces(&mut self, depth: usize) -> Result<RawTerm> {
        if self.take_symbol("}")? {
            return Ok(RawTerm::Set(Vec::new()));
        }
        let first = self.term(depth + 1)?;
        if self.take_symbol(":")? {
            let mut entries = vec![(first, self.term(depth + 1)?)];
            if self.take_symbol(",")? {
                entries.extend(self.list(|parser| {
                    let key = parser.term(depth + 1)?;
                    parser.expect_symbol(":")?;
                    Ok((key, parser.term(depth + 1)?))
                })?);
            }
            self.expect_symbol("}")?;
            return Ok(RawTerm::Map(entries));
        }
        let mut items = vec![first];
        if self.take_symbol(",")? {
            items.extend(self.list(|parser| parser.term(depth + 1))?);
        }
        self.expect_symbol("}")?;
        Ok(RawTerm::Set(items))
    }

    pub(super) fn relations(&mut self) -> Result<Vec<Relation>> {
        self.and_list(Self::relation)
    }

    fn operator(&mut self) -> Result<Operator> {
        let operator = match self.current.text {
            "=" => Operator::Equal,
            "<" => Operator::Less,
            "<=" => Operator::LessOrEqual,
            ">" => Operator::Greater,
            ">=" => Operator::GreaterOrEqual,
            _ => return Err(self.no_alternative()),
        };
        self.advance()?;
        Ok(operator)
    }

    /// A condition of `IF`.
    pub(super) fn column_condition(&mut self) -> Result<Relation> {
        let column = self.name()?;
        let part = self.part()?;
        let condition = if self.take_symbol("!=")? {
            Relation::Single(column, Operator::NotEqual, self.operation()?)
        } else if let Some(relation) = self.in_or_contains(&column)? {
            relation
        } else {
            Relation::Single(column, self.operator()?, self.operation()?)
        };
        Ok(match part {
            None => condition,
            Some(ColumnPart::Element(_)) => lacking("A condition on an element of a collection"),
            Some(ColumnPart::Field(_)) => lacking("A condition on a field of a user-defined type"),
        })
    }

    /// Takes `[element]` or `.field` after a column.
    pub(super) fn part(&mut self) -> Result<Option<ColumnPart>> {
        if self.take_symbol("[")? {
            let element = self.term(0)?;
            self.expect_symbol("]")?;
            return Ok(Some(ColumnPart::Element(element)));
        }
        if self.take_symbol(".")? {
            return Ok(Some(ColumnPart::Field(self.name()?)));
        }
        Ok(None)
    }

    /// `IN ...` or `CONTAINS ...`, if there is either.
    fn in_or_contains(&mut self, column: &str) -> Result<Option<Relation>> {
        if self.take_word("in")? {
            let values = match self.take_symbol("(")? {
                true => RawTerm::Tuple(self.items_to(")", |parser| parser.term(1))?),
                false => self.term(0)?,
            };
            return Ok(Some(Relation::Single(column.to_owned(), Operator::In, values)));
        }
        if self.take_word("contains")? {
            let operator = if self.take_word("key")? { Operator::ContainsKey } else { Operator::Contains };
            return Ok(Some(Relation::Single(column.to_owned(), operator, self.operation()?)));
        }
        Ok(None)
    }

    fn relation(&mut self) -> Result<Relation> {
        if self.take_call("token")? {
            let columns = self.list_to(")", Self::name)?;
            return Ok(Relation::Token(columns, self.operator()?, self.term(0)?));
        }
        if self.take_symbol("(")? {
            let columns = self.list_to(")", Self::name)?;
            if self.take_word("in")? {
                self.term(0)?;
                return Ok(lacking("IN on several columns at once"));
            }
            return Ok(Relation::Multi(columns, self.operator()?, self.term(0)?));
        }
        let column = self.name()?;
        if let Some(relation) = self.in_or_contains(&column)? {
            return Ok(relation);
        }
        if self.take_word("like")? {
            self.term(0)?;
            return Ok(refused("LIKE restriction is only supported on properly indexed columns"));
        }
        if self.take_word("is")? {
            self.expect_words("not null")?;
            return Ok(refused("Unsupported restriction: IS NOT NULL is only for materialized views"));
        }
        if self.take_symbol("[")? {
            self.term(0)?;
            self.expect_symbol("]")?;
            self.operator()?;
            self.term(0)?;
            return Ok(lacking("A restriction on an element of a collection"));
        }
        if self.take_symbol("!=")? {
            self.term(0)?;
            return Ok(refused("Unsupported \"!=\" relation"));
        }
        Ok(Relation::Single(column, self.operator()?, self.operation()?))
    }
}

fn refused(why: &str) -> Relation {
    Relation::Refused(CqlError::invalid(why))
}

fn lacking(what: &str) -> Relation {
    Relation::Refused(CqlError::unsupported(what))
}

pub(super) fn string_content(token: &str) -> String {
    match token.strip_prefix("$$").and_then(|text| text.strip_suffix("$$")) {
        Some(text) => text.to_owned(),
        None => token.get(1..token.len().saturating_sub(1)).unwrap_or_default().replace("''", "'"),
    }
}
