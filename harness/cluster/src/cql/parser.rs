//! Words to statements: recursive descent with one word of lookahead, bounded in depth and in number of items.

use super::ast::{RawTerm, Statement, TableName};
use super::lexer::{Lexer, Token, TokenKind, position};
use super::{MAX_ITEMS, MAX_MARKERS};
use crate::error::{CqlError, Result};
use crate::types::is_reserved;

/// Parses one statement, with or without a semicolon at its end. A syntax error (0x2000) says where:
/// `line 1:9 mismatched input 'FORM' expecting K_FROM`.
pub fn parse(text: &str) -> Result<Statement> {
    let mut parser = Parser::new(text)?;
    let statement = parser.statement()?;
    while parser.take_symbol(";")? {}
    if parser.current.kind == TokenKind::End { Ok(statement) } else { Err(parser.mismatch("EOF")) }
}

pub(super) struct Parser<'a> {
    text: &'a str,
    lexer: Lexer<'a>,
    pub(super) current: Token<'a>,
    pub(super) next: Token<'a>,
    markers: usize,
    items: usize,
}

impl<'a> Parser<'a> {
    fn new(text: &'a str) -> Result<Self> {
        let mut lexer = Lexer::new(text);
        let (current, next) = (lexer.next_token()?, lexer.next_token()?);
        Ok(Parser { text, lexer, current, next, markers: 0, items: 0 })
    }

    // Words.

    pub(super) fn advance(&mut self) -> Result<Token<'a>> {
        let taken = self.current;
        self.current = self.next;
        self.next = self.lexer.next_token()?;
        Ok(taken)
    }

    pub(super) fn error(&self, what: &str) -> CqlError {
        let place = match self.current.kind {
            // As in Cassandra: the end of the text is in no line.
            TokenKind::End => "line 0:-1".to_owned(),
            _ => position(self.text, self.current.at),
        };
        CqlError::Syntax(format!("{place} {what}"))
    }

    fn shown(&self) -> String {
        match self.current.kind {
            TokenKind::End => "<EOF>".to_owned(),
            _ => self.current.text.chars().take(64).collect(),
        }
    }

    pub(super) fn mismatch(&self, expected: &str) -> CqlError {
        self.error(&format!("mismatched input '{}' expecting {expected}", self.shown()))
    }

    pub(super) fn no_alternative(&self) -> CqlError {
        self.error(&format!("no viable alternative at input '{}'", self.shown()))
    }

    fn is_word(token: &Token<'_>, word: &str) -> bool {
        token.kind == TokenKind::Word && token.text.eq_ignore_ascii_case(word)
    }

    pub(super) fn at_word(&self, word: &str) -> bool {
        Self::is_word(&self.current, word)
    }

    pub(super) fn next_is_word(&self, word: &str) -> bool {
        Self::is_word(&self.next, word)
    }

    pub(super) fn next_is_symbol(&self, symbol: &str) -> bool {
        self.next.kind == TokenKind::Symbol && self.next.text == symbol
    }

    pub(super) fn take_word(&mut self, word: &str) -> Result<bool> {
        self.advance_if(self.at_word(word))
    }

    pub(super) fn expect_word(&mut self, word: &str) -> Result<()> {
        if self.take_word(word)? { Ok(()) } else { Err(self.mismatch(&format!("K_{}", word.to_uppercase()))) }
    }

    /// Takes all of these words, which have blanks between them.
    pub(super) fn expect_words(&mut self, words: &str) -> Result<()> {
        words.split(' ').try_for_each(|word| self.expect_word(word))
    }

    pub(super) fn at_symbol(&self, symbol: &str) -> bool {
        self.current.kind == TokenKind::Symbol && self.current.text == symbol
    }

    pub(super) fn take_symbol(&mut self, symbol: &str) -> Result<bool> {
        self.advance_if(self.at_symbol(symbol))
    }

    fn advance_if(&mut self, found: bool) -> Result<bool> {
        if found {
            self.advance()?;
        }
        Ok(found)
    }

    pub(super) fn expect_symbol(&mut self, symbol: &str) -> Result<()> {
        if self.take_symbol(symbol)? { Ok(()) } else { Err(self.mismatch(&format!("'{symbol}'"))) }
    }

    /// Takes both words or none.
    pub(super) fn take_words(&mut self, first: &str, second: &str) -> Result<bool> {
        let both = self.at_word(first) && self.next_is_word(second);
        self.advance_if(both)?;
        self.advance_if(both)
    }

    /// Takes a word with the bracket after it or nothing.
    pub(super) fn take_call(&mut self, word: &str) -> Result<bool> {
        let both = self.at_word(word) && self.next_is_symbol("(");
        self.advance_if(both)?;
        self.advance_if(both)
    }

    pub(super) fn count_item(&mut self) -> Result<()> {
        self.items += 1;
        if self.items > MAX_ITEMS {
            return Err(self.error(&format!("too many items in one statement: at most {MAX_ITEMS} are taken")));
        }
        Ok(())
    }

    /// One item or more, with commas between.
    pub(super) fn list<T>(&mut self, item: impl Fn(&mut Self) -> Result<T>) -> Result<Vec<T>> {
        self.separated(item, |parser| parser.take_symbol(","))
    }

    /// One item or more in round brackets.
    pub(super) fn brackets<T>(&mut self, item: impl Fn(&mut Self) -> Result<T>) -> Result<Vec<T>> {
        self.expect_symbol("(")?;
        self.list_to(")", item)
    }

    /// One item or more up to this symbol.
    pub(super) fn list_to<T>(&mut self, end: &str, item: impl Fn(&mut Self) -> Result<T>) -> Result<Vec<T>> {
        let items = self.list(item)?;
        self.expect_symbol(end)?;
        Ok(items)
    }

    /// Items up to this symbol, perhaps none.
    pub(super) fn items_to<T>(&mut self, end: &str, item: impl Fn(&mut Self) -> Result<T>) -> Result<Vec<T>> {
        if self.take_symbol(end)? { Ok(Vec::new()) } else { self.list_to(end, item) }
    }

    /// One item or more, with AND between.
    pub(super) fn and_list<T>(&mut self, item: impl FnMut(&mut Self) -> Result<T>) -> Result<Vec<T>> {
        self.separated(item, |parser| parser.take_word("and"))
    }

    fn separated<T>(
        &mut self,
        mut item: impl FnMut(&mut Self) -> Result<T>,
        separator: impl Fn(&mut Self) -> Result<bool>,
    ) -> Result<Vec<T>> {
        let mut items = Vec::new();
        loop {
            self.count_item()?;
            items.push(item(self)?);
            if !separator(self)? {
                return Ok(items);
            }
        }
    }

    pub(super) fn marker(&mut self, name: Option<String>) -> Result<RawTerm> {
        if self.markers >= MAX_MARKERS {
            return Err(self.error(&format!("too many bind markers in one statement: at most {MAX_MARKERS} are taken")));
        }
        let index = self.markers as u16;
        self.markers += 1;
        Ok(RawTerm::Marker { index, name })
    }

    // Names.

    pub(super) fn name(&mut self) -> Result<String> {
        match self.current.kind {
            TokenKind::QuotedName => {
                let text = self.advance()?.text;
                let name = text.get(1..text.len().saturating_sub(1)).unwrap_or_default().replace("\"\"", "\"");
                if name.is_empty() { Err(self.error("an empty name is not allowed")) } else { Ok(name) }
            }
            TokenKind::Word => {
                let name = self.current.text.to_ascii_lowercase();
                if is_reserved(&name) {
                    return Err(self.no_alternative());
                }
                self.advance()?;
                Ok(name)
            }
            _ => Err(self.no_alternative()),
        }
    }

    pub(super) fn table_name(&mut self) -> Result<TableName> {
        let first = self.name()?;
        if self.take_symbol(".")? {
            return Ok(TableName { keyspace: Some(first), name: self.name()? });
        }
        Ok(TableName { keyspace: None, name: first })
    }

    // Statements.

    fn statement(&mut self) -> Result<Statement> {
        if self.current.kind != TokenKind::Word {
            return Err(self.no_alternative());
        }
        let word = self.current.text.to_ascii_lowercase();
        match word.as_str() {
            "select" => self.select().map(Statement::Select),
            "insert" | "update" | "delete" => self.modification(),
            "begin" => self.batch().map(Statement::Batch),
            "truncate" => {
                self.advance()?;
                let _ = self.take_word("table")? || self.take_word("columnfamily")?;
                self.table_name().map(Statement::Truncate)
            }
            "use" => {
                self.advance()?;
                self.name().map(Statement::Use)
            }
            "create" | "drop" | "alter" => self.schema_change(),
            "describe" | "desc" => self.describe().map(Statement::Describe),
            "grant" | "revoke" => self.unsupported(1),
            "list" | "add" => self.unsupported(2),
            _ => {
                let shown = self.shown();
                Err(self.error(&format!("no viable alternative at input '{shown}' ([{shown}]...)")))
            }
        }
    }

    /// A statement that this node does not have: its first words; the rest is skipped.
    pub(super) fn unsupported(&mut self, words: usize) -> Result<Statement> {
        let mut name = Vec::new();
        for _ in 0..words {
            if self.current.kind == TokenKind::Word {
                name.push(self.advance()?.text.to_ascii_uppercase());
            }
        }
        while self.current.kind != TokenKind::End {
            self.advance()?;
        }
        Ok(Statement::Unsupported(name.join(" ")))
    }
}

#[cfg(test)]
mod tests {
    use super::super::RawSelector;
    use super::super::{Operator, Relation};
    use super::*;

    #[test]
    fn what_is_no_statement_is_refused_with_its_place() {
        for (text, error) in [
            ("SELECT a + FROM t", "line 1:11 no viable alternative at input 'FROM'"),
            ("SELECT m['k' FROM t", "line 1:13 mismatched input 'FROM' expecting ']'"),
            ("SELECT CAST(a text) FROM t", "line 1:14 mismatched input 'text' expecting K_AS"),
            ("CREATE TABLE t (a vector<float> PRIMARY KEY)", "line 1:30 mismatched input '>' expecting ','"),
            ("SELEC * FROM t", "line 1:0 no viable alternative at input 'SELEC' ([SELEC]...)"),
            ("SELECT * FORM t", "line 1:9 mismatched input 'FORM' expecting K_FROM"),
            ("SELECT v", "line 0:-1 mismatched input '<EOF>' expecting K_FROM"),
            ("SELECT * FROM t WHERE", "line 0:-1 no viable alternative at input '<EOF>'"),
            ("INSERT INTO t (a) VALUES (1", "line 0:-1 mismatched input '<EOF>' expecting ')'"),
            ("USE ks; USE ks", "line 1:8 mismatched input 'USE' expecting EOF"),
            ("SELECT table FROM t", "line 1:7 no viable alternative at input 'table'"),
            ("", "line 0:-1 no viable alternative at input '<EOF>'"),
            ("?", "line 1:0 no viable alternative at input '?'"),
        ] {
            assert_eq!(parse(text), Err(CqlError::Syntax(error.to_owned())), "{text}");
        }
    }

    #[test]
    fn keywords_are_in_any_case_and_names_in_lower_case_unless_quoted() {
        let Ok(Statement::Select(select)) = parse("sElEcT A, \"B\" AS ttl FROM \"Ks\".T ;;") else {
            panic!("no select")
        };
        assert_eq!(select.table, TableName { keyspace: Some("Ks".to_owned()), name: "t".to_owned() });
        assert_eq!(select.selectors[0], (RawSelector::Column("a".to_owned()), None));
        assert_eq!(select.selectors[1], (RawSelector::Column("B".to_owned()), Some("ttl".to_owned())));
    }

    #[test]
    fn markers_are_counted_through_a_batch() {
        let text = "BEGIN UNLOGGED BATCH USING TIMESTAMP ? INSERT INTO t (a, b) VALUES (?, :x); \
                    UPDATE t USING TTL ? SET b = ? WHERE a = ? DELETE b FROM t WHERE a IN ? APPLY BATCH;";
        let Ok(Statement::Batch(batch)) = parse(text) else { panic!("no batch") };
        let Statement::Modify(delete) = &batch.statements[2] else { panic!("no delete") };
        let marker = RawTerm::Marker { index: 6, name: None };
        assert_eq!(delete.relations, [Relation::Single("a".to_owned(), Operator::In, marker)]);
    }

    #[test]
    fn hostile_depths_are_refused() {
        for (open, close) in [("[", "]"), ("(", ")"), ("{1: ", "}"), ("f(", ")"), ("-", ""), ("m[", "]")] {
            let (open, close) = (open.repeat(100_000), close.repeat(100_000));
            assert!(parse(&format!("INSERT INTO t (a) VALUES ({open}1{close})")).is_err());
            assert!(parse(&format!("SELECT {open}1{close} FROM t")).is_err());
        }
        let text = format!("CREATE TABLE t (a {}int{} PRIMARY KEY)", "list<".repeat(100_000), ">".repeat(100_000));
        assert!(parse(&text).is_err());
        let text = format!("INSERT INTO t (a) VALUES ({})", "1,".repeat(MAX_ITEMS));
        assert!(parse(&text).is_err());
        let text = format!("INSERT INTO t (a) VALUES ({}?)", "?,".repeat(MAX_MARKERS));
        assert!(parse(&text).is_err());
    }

    #[test]
    fn statements_that_the_node_lacks_are_named() {
        for (text, name) in [
            ("CREATE INDEX ON t (v)", "CREATE INDEX"),
            ("CREATE MATERIALIZED VIEW x AS SELECT", "CREATE MATERIALIZED VIEW"),
            ("CREATE CUSTOM INDEX ON t (v) USING 'sai'", "CREATE CUSTOM INDEX"),
            ("CREATE OR REPLACE FUNCTION f(a int)", "CREATE OR REPLACE FUNCTION"),
            ("LIST ROLES", "LIST ROLES"),
            ("GRANT ALL", "GRANT"),
        ] {
            assert_eq!(parse(text), Ok(Statement::Unsupported(name.to_owned())));
        }
    }
}
