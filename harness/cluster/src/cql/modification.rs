//! INSERT, UPDATE, DELETE and batches of them.

use super::ast::{
    AssignmentTarget, Batch, BatchKind, Condition, Insert, Modification, ModificationKind, RawTerm, Relation,
    Statement, TableName, Using,
};
use super::lexer::TokenKind;
use super::parser::Parser;
use super::term::ColumnPart;
use crate::error::{Result, invalid};
use crate::types::LiteralKind;

impl Parser<'_> {
    pub(super) fn modification(&mut self) -> Result<Statement> {
        if self.take_word("insert")? {
            self.insert().map(Statement::Insert)
        } else if self.take_word("update")? {
            self.update().map(Statement::Modify)
        } else if self.take_word("delete")? {
            self.delete().map(Statement::Modify)
        } else {
            Err(self.no_alternative())
        }
    }

    /// An integer or a marker.
    fn number(&mut self) -> Result<RawTerm> {
        let start = self.current.kind;
        let is_number = matches!(start, TokenKind::Literal(LiteralKind::Integer));
        if is_number || ["?", ":", "-"].iter().any(|symbol| self.at_symbol(symbol)) {
            return self.term(0);
        }
        Err(self.no_alternative())
    }

    fn using(&mut self, ttl_allowed: bool) -> Result<Using> {
        let mut using = Using::default();
        if !self.take_word("using")? {
            return Ok(using);
        }
        loop {
            if self.at_word("timestamp") && using.timestamp.is_none() {
                self.advance()?;
                using.timestamp = Some(self.number()?);
            } else if ttl_allowed && self.at_word("ttl") && using.ttl.is_none() {
                self.advance()?;
                using.ttl = Some(self.number()?);
            } else {
                return Err(self.no_alternative());
            }
            if !self.take_word("and")? {
                return Ok(using);
            }
        }
    }

    /// `IF EXISTS` or `IF column = value AND ...`.
    fn condition(&mut self) -> Result<Option<Condition<Relation>>> {
        if !self.take_word("if")? {
            return Ok(None);
        }
        if self.take_word("exists")? {
            return Ok(Some(Condition::Exists));
        }
        self.and_list(Self::column_condition).map(|conditions| Some(Condition::Columns(conditions)))
    }

    fn insert(&mut self) -> Result<Insert> {
        self.expect_word("into")?;
        let table = self.table_name()?;
        let json = self.take_word("json")?;
        let (mut columns, mut values) = (Vec::new(), Vec::new());
        if json {
            self.term(0)?;
            if self.take_word("default")? && !self.take_word("null")? {
                self.expect_word("unset")?;
            }
        } else {
            columns = self.brackets(Self::name)?;
            self.expect_word("values")?;
            values = self.brackets(Self::operation)?;
        }
        let condition = self.if_exists(true)?.then_some(Condition::NotExists);
        Ok(Insert { table, json, columns, values, condition, using: self.using(true)? })
    }

    fn target(&mut self) -> Result<AssignmentTarget> {
        let name = self.name()?;
        Ok(match self.part()? {
            None => AssignmentTarget::Column(name),
            Some(ColumnPart::Element(element)) => AssignmentTarget::Element(name, element),
            Some(ColumnPart::Field(field)) => AssignmentTarget::Field(name, field),
        })
    }

    fn update(&mut self) -> Result<Modification> {
        let table = self.table_name()?;
        let using = self.using(true)?;
        self.expect_word("set")?;
        let assignments = self.list(|parser| {
            let target = parser.target()?;
            for (symbol, sign) in [("+=", '+'), ("-=", '-')] {
                if parser.take_symbol(symbol)? {
                    let right = parser.term(0)?;
                    return Ok(match &target {
                        AssignmentTarget::Column(name) => {
                            let left = RawTerm::Column(name.clone());
                            (target, RawTerm::Sum(sign, Box::new([left, right])))
                        }
                        _ => (target, RawTerm::Operation),
                    });
                }
            }
            parser.expect_symbol("=")?;
            Ok((target, parser.operation()?))
        })?;
        self.of_rows(ModificationKind::Update, table, using, assignments)
    }

    fn delete(&mut self) -> Result<Modification> {
        let cell = |parser: &mut Self| Ok((parser.target()?, RawTerm::Null));
        let cells = if self.at_word("from") { Vec::new() } else { self.list(cell)? };
        self.expect_word("from")?;
        let table = self.table_name()?;
        let using = self.using(false)?;
        self.of_rows(ModificationKind::Delete, table, using, cells)
    }

    /// The end of UPDATE and DELETE: WHERE and IF.
    fn of_rows(
        &mut self,
        kind: ModificationKind,
        table: TableName,
        using: Using,
        assignments: Vec<(AssignmentTarget, RawTerm)>,
    ) -> Result<Modification> {
        self.expect_word("where")?;
        let relations = self.relations()?;
        Ok(Modification { kind, table, using, assignments, relations, condition: self.condition()? })
    }

    pub(super) fn batch(&mut self) -> Result<Batch> {
        self.expect_word("begin")?;
        let kind = match self.take_word("unlogged")? {
            true => BatchKind::Unlogged,
            false if self.take_word("counter")? => BatchKind::Counter,
            false => BatchKind::Logged,
        };
        self.expect_word("batch")?;
        let using = self.using(true)?;
        if using.ttl.is_some() {
            return invalid("Global TTL on the BATCH statement is not supported.");
        }
        let mut statements = Vec::new();
        while !self.take_word("apply")? {
            self.count_item()?;
            statements.push(self.modification()?);
            self.take_symbol(";")?;
        }
        self.expect_word("batch")?;
        Ok(Batch { kind, using, statements })
    }
}
