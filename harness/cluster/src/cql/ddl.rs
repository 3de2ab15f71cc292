//! CREATE, ALTER and DROP.

use std::collections::BTreeMap;

use super::ast::{
    ColumnDefinition, CreateTable, Definition, Element, PrimaryKey, Properties, PropertyValue, RawTerm, RawType,
    Statement, TableAlteration, TableName, TypeAlteration,
};
use super::lexer::TokenKind;
use super::parser::Parser;
use crate::error::{CqlError, Result, invalid};
use crate::types::{LiteralKind, MAX_DEPTH};

impl Parser<'_> {
    pub(super) fn schema_change(&mut self) -> Result<Statement> {
        let element = match () {
            () if self.next_is_word("keyspace") || self.next_is_word("schema") => Element::Keyspace,
            () if self.next_is_word("table") || self.next_is_word("columnfamily") => Element::Table,
            () if self.next_is_word("type") => Element::Type,
            () if self.next.kind == TokenKind::Word => {
                let more = ["custom", "materialized"].iter().any(|word| self.next_is_word(word));
                let words = if self.next_is_word("or") { 4 } else { 2 + usize::from(more) };
                return self.unsupported(words);
            }
            () => {
                self.advance()?;
                return Err(self.no_alternative());
            }
        };
        let verb = self.advance()?.text.to_ascii_lowercase();
        self.advance()?;
        let conditional = self.if_exists(verb == "create")?;
        let definition = match (verb.as_str(), element) {
            ("create", Element::Keyspace) => Definition::CreateKeyspace(self.name()?, self.properties()?),
            ("create", Element::Table) => Definition::CreateTable(self.create_table()?),
            ("create", _) => {
                let name = self.table_name()?;
                Definition::CreateType(name, self.brackets(|parser| Ok((parser.name()?, parser.column_type(0)?)))?)
            }
            ("alter", Element::Keyspace) => Definition::AlterKeyspace(self.name()?, self.properties()?),
            ("alter", Element::Table) => Definition::AlterTable(self.table_name()?, self.table_alteration()?),
            ("alter", _) => Definition::AlterType(self.table_name()?, self.type_alteration()?),
            (_, Element::Keyspace) => Definition::DropKeyspace(self.name()?),
            (_, Element::Table) => Definition::DropTable(self.table_name()?),
            _ => Definition::DropType(self.table_name()?),
        };
        Ok(Statement::Define { definition, conditional })
    }

    fn table_alteration(&mut self) -> Result<TableAlteration> {
        if self.at_word("with") {
            return self.properties().map(TableAlteration::With);
        }
        if self.take_word("add")? {
            let conditional = self.if_exists(true)?;
            return Ok(TableAlteration::Add { columns: self.one_or_more(Self::column)?, conditional });
        }
        if self.take_words("drop", "compact")? {
            self.expect_word("storage")?;
            return invalid("DROP COMPACT STORAGE is disabled. Enable in cassandra.yaml to use.");
        }
        if self.take_word("drop")? {
            let conditional = self.if_exists(false)?;
            let columns = self.one_or_more(Self::name)?;
            if self.take_word("using")? {
                self.expect_word("timestamp")?;
                self.term(0)?;
                return Err(CqlError::unsupported("ALTER TABLE ... DROP ... USING TIMESTAMP"));
            }
            return Ok(TableAlteration::Drop { columns, conditional });
        }
        if self.take_word("rename")? {
            // In Cassandra 5.0 this IF EXISTS changes nothing.
            self.if_exists(false)?;
            return self.and_list(Self::renaming).map(TableAlteration::Rename);
        }
        if !self.take_word("alter")? {
            return Err(self.no_alternative());
        }
        self.name()?;
        if self.take_words("drop", "masked")? || self.take_words("masked", "with")? {
            return Err(CqlError::unsupported("A masked column"));
        }
        self.expect_word("type")?;
        self.column_type(0)?;
        invalid("Altering column types is no longer supported")
    }

    fn type_alteration(&mut self) -> Result<TypeAlteration> {
        if self.take_word("add")? {
            let conditional = self.if_exists(true)?;
            return Ok(TypeAlteration::Add { name: self.name()?, ty: self.column_type(0)?, conditional });
        }
        if self.take_word("rename")? {
            let conditional = self.if_exists(false)?;
            return Ok(TypeAlteration::Rename { fields: self.and_list(Self::renaming)?, conditional });
        }
        if !self.take_word("alter")? {
            return Err(self.no_alternative());
        }
        self.name()?;
        self.expect_word("type")?;
        self.column_type(0)?;
        invalid("Altering field types is no longer supported")
    }

    /// Takes `IF NOT EXISTS` or `IF EXISTS`, if it is there.
    pub(super) fn if_exists(&mut self, not: bool) -> Result<bool> {
        let conditional = self.take_word("if")?;
        if conditional {
            self.expect_words(if not { "not exists" } else { "exists" })?;
        }
        Ok(conditional)
    }

    /// An item, or several in brackets.
    fn one_or_more<T>(&mut self, item: impl Fn(&mut Self) -> Result<T>) -> Result<Vec<T>> {
        if self.at_symbol("(") { self.brackets(item) } else { Ok(vec![item(self)?]) }
    }

    fn renaming(&mut self) -> Result<(String, String)> {
        let from = self.name()?;
        self.expect_word("to")?;
        Ok((from, self.name()?))
    }

    fn create_table(&mut self) -> Result<CreateTable> {
        let mut create = CreateTable { table: self.table_name()?, ..CreateTable::default() };
        self.expect_symbol("(")?;
        loop {
            self.count_item()?;
            self.column_or_key(&mut create)?;
            // A comma before the closing bracket is allowed, as in Cassandra.
            if !self.take_symbol(",")? || self.at_symbol(")") {
                break;
            }
        }
        self.expect_symbol(")")?;
        if self.take_word("with")? {
            self.and_list(|parser| parser.table_option(&mut create))?;
        }
        Ok(create)
    }

    fn column_or_key(&mut self, create: &mut CreateTable) -> Result<()> {
        if self.take_words("primary", "key")? {
            self.expect_symbol("(")?;
            let bracketed = self.take_symbol("(")?;
            let partition = if bracketed { self.list_to(")", Self::name)? } else { vec![self.name()?] };
            let clustering = if self.take_symbol(",")? { self.list(Self::name)? } else { Vec::new() };
            self.expect_symbol(")")?;
            create.primary_keys.push(PrimaryKey { partition, clustering });
            return Ok(());
        }
        let column = self.column()?;
        if self.take_word("primary")? {
            self.expect_word("key")?;
            create.primary_keys.push(PrimaryKey { partition: vec![column.name.clone()], clustering: Vec::new() });
        }
        create.columns.push(column);
        Ok(())
    }

    fn column(&mut self) -> Result<ColumnDefinition> {
        let column =
            ColumnDefinition { name: self.name()?, ty: self.column_type(0)?, is_static: self.take_word("static")? };
        if self.take_words("masked", "with")? {
            return Err(CqlError::unsupported("A masked column"));
        }
        Ok(column)
    }

    fn table_option(&mut self, create: &mut CreateTable) -> Result<()> {
        if self.take_words("clustering", "order")? {
            self.expect_word("by")?;
            create.order = self.brackets(Self::order)?;
        } else if self.take_words("compact", "storage")? {
            create.compact_storage = true;
        } else {
            let property = self.property()?;
            create.properties.push(property);
        }
        Ok(())
    }

    pub(super) fn column_type(&mut self, depth: usize) -> Result<RawType> {
        if depth >= MAX_DEPTH {
            return Err(self.error(&format!("types nest deeper than {MAX_DEPTH} levels")));
        }
        if self.current.kind == TokenKind::Literal(LiteralKind::String) {
            return Err(CqlError::unsupported("A custom type"));
        }
        // SET is a reserved word everywhere else.
        let name = match self.take_word("set")? {
            true => TableName { keyspace: None, name: "set".to_owned() },
            false => self.table_name()?,
        };
        let mut ty = RawType { name, arguments: Vec::new(), dimension: None };
        if ty.name.keyspace.is_some() || !self.take_symbol("<")? {
            return Ok(ty);
        }
        if ty.name.name != "vector" {
            ty.arguments = self.list_to(">", |parser| parser.column_type(depth + 1))?;
            return Ok(ty);
        }
        ty.arguments.push(self.column_type(depth + 1)?);
        self.expect_symbol(",")?;
        if self.current.kind != TokenKind::Literal(LiteralKind::Integer) {
            return Err(self.mismatch("INTEGER"));
        }
        ty.dimension = Some(self.advance()?.text.to_owned());
        self.expect_symbol(">")?;
        Ok(ty)
    }

    fn properties(&mut self) -> Result<Properties> {
        if !self.take_word("with")? {
            return Ok(Vec::new());
        }
        self.and_list(Self::property)
    }

    fn property(&mut self) -> Result<(String, PropertyValue)> {
        let name = self.name()?;
        self.expect_symbol("=")?;
        let value = match self.term(0)? {
            RawTerm::Literal(literal) => PropertyValue::Text(literal.text),
            RawTerm::Set(items) if items.is_empty() => PropertyValue::Map(BTreeMap::new()),
            RawTerm::Map(entries) => {
                let mut texts = BTreeMap::new();
                for entry in entries {
                    let (RawTerm::Literal(key), RawTerm::Literal(value)) = entry else {
                        return Err(self.error(&format!("the map of property {name} may hold constants only")));
                    };
                    texts.insert(key.text, value.text);
                }
                PropertyValue::Map(texts)
            }
            _ => return Err(self.error(&format!("Invalid value for property {name}: a constant or a map is expected"))),
        };
        Ok((name, value))
    }
}
