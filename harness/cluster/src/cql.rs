//! CQL as text: words, statements, and how one becomes the other. Pure: nothing here knows the schema.

mod ast;
mod ddl;
mod describe;
mod lexer;
mod modification;
mod parser;
mod select;
mod term;

pub use ast::{
    AssignmentTarget, Batch, BatchKind, ColumnDefinition, Condition, CreateTable, Definition, Describe, Described,
    Element, Insert, Modification, ModificationKind, Operator, OrderBy, PrimaryKey, Properties, PropertyValue,
    RawSelector, RawTerm, RawType, Relation, Select, Statement, TableAlteration, TableName, TypeAlteration, Using,
};
pub use parser::parse;

/// The most bind markers of a statement: their count goes as a short.
const MAX_MARKERS: usize = 65_535;

/// The most items (terms, columns, relations, statements of a batch) of a statement.
const MAX_ITEMS: usize = 1 << 18;

/// How deep terms may nest.
const MAX_TERM_DEPTH: usize = 32;
