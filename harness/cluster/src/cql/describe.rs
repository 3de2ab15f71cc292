//! DESCRIBE.

use super::ast::{Describe, Described, Element};
use super::lexer::TokenKind;
use super::parser::Parser;
use crate::error::Result;

impl Parser<'_> {
    pub(super) fn describe(&mut self) -> Result<Describe> {
        self.advance()?;
        let what = self.described()?;
        let internals = self.take_word("with")?;
        if internals {
            self.expect_word("internals")?;
        }
        Ok(Describe { what, internals })
    }

    fn described(&mut self) -> Result<Described> {
        let word = match self.current.kind {
            // `keyspaces.t` is a table.
            TokenKind::Word if !self.next_is_symbol(".") => self.current.text.to_ascii_lowercase(),
            _ => String::new(),
        };
        let one = |parser: &mut Self, element| {
            parser.advance()?;
            parser.table_name().map(|name| Described::One(element, name))
        };
        let all = match word.as_str() {
            "cluster" => Described::Cluster,
            "schema" => Described::Schema { full: false },
            "full" => {
                self.advance()?;
                self.expect_word("schema")?;
                return Ok(Described::Schema { full: true });
            }
            "keyspaces" => Described::Names(Element::Keyspace),
            "tables" => Described::Names(Element::Table),
            "types" => Described::Names(Element::Type),
            "functions" => Described::Names(Element::Function),
            "aggregates" => Described::Names(Element::Aggregate),
            "only" if self.next_is_word("keyspace") => {
                self.advance()?;
                return self.described_keyspace(true);
            }
            "keyspace" => return self.described_keyspace(false),
            "table" | "columnfamily" => return one(self, Element::Table),
            "type" => return one(self, Element::Type),
            "function" => return one(self, Element::Function),
            "aggregate" => return one(self, Element::Aggregate),
            "index" => return one(self, Element::Index),
            "materialized" => {
                self.advance()?;
                if !self.at_word("view") {
                    return Err(self.mismatch("K_VIEW"));
                }
                return one(self, Element::View);
            }
            _ => return self.table_name().map(Described::Any),
        };
        self.advance()?;
        Ok(all)
    }

    fn described_keyspace(&mut self, only: bool) -> Result<Described> {
        self.advance()?;
        let named = matches!(self.current.kind, TokenKind::Word | TokenKind::QuotedName) && !self.at_word("with");
        let name = if named { Some(self.name()?) } else { None };
        Ok(Described::Keyspace { name, only })
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Statement, TableName, parse};
    use super::*;
    use crate::error::CqlError;

    fn described(text: &str) -> Describe {
        match parse(text) {
            Ok(Statement::Describe(describe)) => describe,
            other => panic!("{text}: {other:?}"),
        }
    }

    #[test]
    fn every_form_is_told_apart() {
        let name = |keyspace: Option<&str>, name: &str| TableName {
            keyspace: keyspace.map(str::to_owned),
            name: name.to_owned(),
        };
        for (text, what) in [
            ("DESC CLUSTER;", Described::Cluster),
            ("DESCRIBE FULL SCHEMA", Described::Schema { full: true }),
            ("DESCRIBE schema", Described::Schema { full: false }),
            ("DESCRIBE TYPES", Described::Names(Element::Type)),
            ("DESCRIBE KEYSPACE", Described::Keyspace { name: None, only: false }),
            ("DESCRIBE ONLY KEYSPACE \"K\"", Described::Keyspace { name: Some("K".to_owned()), only: true }),
            ("DESCRIBE COLUMNFAMILY t", Described::One(Element::Table, name(None, "t"))),
            ("DESCRIBE MATERIALIZED VIEW k.v", Described::One(Element::View, name(Some("k"), "v"))),
            ("DESCRIBE tables.t", Described::Any(name(Some("tables"), "t"))),
            ("DESCRIBE only", Described::Any(name(None, "only"))),
        ] {
            assert_eq!(described(text), Describe { what, internals: false }, "{text}");
        }
        assert!(described("DESCRIBE KEYSPACE WITH INTERNALS").internals);
        assert!(described("DESCRIBE TABLE k.t WITH INTERNALS").internals);
        for text in [
            "DESCRIBE",
            "DESCRIBE TABLE",
            "DESCRIBE a b",
            "DESCRIBE FULL",
            "DESCRIBE t WITH",
            "DESCRIBE MATERIALIZED t",
        ] {
            assert!(matches!(parse(text), Err(CqlError::Syntax(_))), "{text}");
        }
    }
}
