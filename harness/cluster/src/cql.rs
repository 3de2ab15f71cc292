//! CQL as text: words, statements, and how one becomes the other. Pure: nothing here knows the schema.

mod ast;
mod ddl;
mod lexer;
mod parser;
mod select;
mod term;

pub use ast::{
    Assignment, AssignmentTarget, Batch, ColumnDefinition, CreateTable, Delete, ExistsCondition, Insert, OrderBy,
    PrimaryKey, PropertyValue, RawSelector, RawTerm, Relation, Select, Statement, TableName, Update, Using,
};
pub use lexer::{Lexer, Token, TokenKind};
pub use parser::parse;

/// The most bind markers that a statement can have: their count goes as a short.
pub const MAX_MARKERS: usize = 65_535;

/// The most items (terms, columns, relations, statements of a batch) that a statement can have.
pub const MAX_ITEMS: usize = 1 << 18;

/// How deep terms may nest.
pub const MAX_TERM_DEPTH: usize = 32;
