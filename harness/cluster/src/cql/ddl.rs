//! CREATE, ALTER and DROP.

use std::collections::BTreeMap;

use super::ast::{
    ColumnDefinition, CreateTable, Definition, PrimaryKey, Properties, PropertyValue, RawTerm, Statement,
};
use super::lexer::TokenKind;
use super::parser::Parser;
use crate::error::{CqlError, Result};
use crate::types::{CqlType, LiteralKind, MAX_DEPTH};

impl Parser<'_> {
    pub(super) fn schema_change(&mut self) -> Result<Statement> {
        let keyspace = self.next_is_word("keyspace") || self.next_is_word("schema");
        let table = self.next_is_word("table") || self.next_is_word("columnfamily");
        if !keyspace && (!table || self.at_word("alter")) {
            if self.next.kind == TokenKind::Word {
                let more = ["custom", "materialized"].iter().any(|word| self.next_is_word(word));
                let words = if self.next_is_word("or") { 4 } else { 2 + usize::from(more) };
                return self.unsupported(words);
            }
            self.advance()?;
            return Err(self.no_alternative());
        }
        let verb = self.advance()?.text.to_ascii_lowercase();
        self.advance()?;
        let conditional = self.take_word("if")?;
        if conditional {
            self.expect_words(if verb == "create" { "not exists" } else { "exists" })?;
        }
        let definition = match (verb.as_str(), keyspace) {
            ("create", true) => Definition::CreateKeyspace(self.name()?, self.properties()?),
            ("create", false) => Definition::CreateTable(self.create_table()?),
            ("alter", _) => Definition::AlterKeyspace(self.name()?, self.properties()?),
            (_, true) => Definition::DropKeyspace(self.name()?),
            (_, false) => Definition::DropTable(self.table_name()?),
        };
        Ok(Statement::Define { definition, conditional })
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
        let name = self.name()?;
        let ty = self.column_type(0)?;
        let is_static = self.take_word("static")?;
        if self.take_words("masked", "with")? {
            return Err(CqlError::unsupported("A masked column"));
        }
        if self.take_word("primary")? {
            self.expect_word("key")?;
            create.primary_keys.push(PrimaryKey { partition: vec![name.clone()], clustering: Vec::new() });
        }
        create.columns.push(ColumnDefinition { name, ty, is_static });
        Ok(())
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

    pub(super) fn column_type(&mut self, depth: usize) -> Result<CqlType> {
        if depth >= MAX_DEPTH {
            return Err(self.error(&format!("types nest deeper than {MAX_DEPTH} levels")));
        }
        if self.current.kind == TokenKind::Literal(LiteralKind::String) {
            return Err(CqlError::unsupported("A custom type"));
        }
        // SET is a reserved word everywhere else.
        let name = if self.take_word("set")? { "set".to_owned() } else { self.name()? };
        if !self.take_symbol("<")? {
            return CqlType::native(&name).ok_or_else(|| CqlError::Invalid(format!("Unknown type {name}")));
        }
        if name == "vector" {
            self.column_type(depth + 1)?;
            self.expect_symbol(",")?;
            if self.current.kind != TokenKind::Literal(LiteralKind::Integer) {
                return Err(self.mismatch("INTEGER"));
            }
            self.advance()?;
            self.expect_symbol(">")?;
            return Err(CqlError::unsupported("The type vector"));
        }
        let mut arguments = self.list_to(">", |parser| parser.column_type(depth + 1))?;
        let wrong = || CqlError::Invalid(format!("Unknown type {name} with {} arguments", arguments.len()));
        let built = match (name.as_str(), arguments.as_slice()) {
            ("tuple", _) => return Ok(CqlType::Tuple(arguments.into_iter().map(CqlType::freeze).collect())),
            ("list" | "set", [_]) | ("map", [_, _]) => {
                if arguments.contains(&CqlType::Counter) {
                    return Err(CqlError::invalid("Counters are not allowed inside collections"));
                }
                if name != "list" && arguments.first() == Some(&CqlType::Duration) {
                    let place = if name == "set" { "sets" } else { "map keys" };
                    return Err(CqlError::Invalid(format!("Durations are not allowed inside {place}")));
                }
                // They may nest if a frozen<> around all of it follows, which is not known yet.
                let last = arguments.pop();
                match (name.as_str(), arguments.pop(), last) {
                    ("list", _, Some(element)) => CqlType::List(Box::new(element)),
                    ("set", _, Some(element)) => CqlType::Set(Box::new(element)),
                    (_, Some(key), Some(value)) => CqlType::Map(Box::new([key, value])),
                    _ => return Err(self.no_alternative()),
                }
            }
            ("frozen", [_]) => {
                return match arguments.pop() {
                    Some(inner) if inner.is_collection() || matches!(inner, CqlType::Tuple(_)) => Ok(inner.freeze()),
                    _ => Err(CqlError::invalid(
                        "frozen<> is only allowed on collections, tuples, and user-defined types",
                    )),
                };
            }
            _ => return Err(wrong()),
        };
        let unfrozen_inside = built.elements().iter().any(CqlType::is_multi_cell);
        if unfrozen_inside && depth == 0 {
            return Err(CqlError::Invalid(format!(
                "Non-frozen collections are not allowed inside collections: {built}"
            )));
        }
        Ok(built)
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
