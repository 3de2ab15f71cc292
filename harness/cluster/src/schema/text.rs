//! Keyspaces, types and tables as the statements that create them, as Cassandra 5.0 describes them.

use super::options::{CqlMap, quoted};
use super::{Column, ColumnKind, Keyspace, Table};
use crate::types::{Quoted, UserType};

impl Keyspace {
    /// CREATE KEYSPACE; for one that is made by the server, what it is.
    pub fn create_statement(&self, is_virtual: bool) -> String {
        let name = Quoted(&self.name);
        if is_virtual {
            return format!(
                "/*\nWarning: Keyspace {name} is a virtual keyspace and cannot be recreated with CQL.\nStructure, for reference:\n\
                 VIRTUAL KEYSPACE {name};\n*/"
            );
        }
        let mut replication = self.replication.clone();
        if let Some(class) = replication.get_mut("class")
            && let Some((_, short)) = class.rsplit_once('.')
        {
            *class = short.to_owned();
        }
        // Both blanks are Cassandra's.
        format!(
            "CREATE KEYSPACE {name} WITH replication = {}  AND durable_writes = {};",
            CqlMap(&replication),
            self.durable_writes
        )
    }
}

impl UserType {
    /// CREATE TYPE.
    pub fn create_statement(&self) -> String {
        let fields = self.names.iter().zip(&self.types).map(|(name, ty)| format!("    {} {ty}", Quoted(name)));
        let fields: Vec<String> = fields.collect();
        format!("CREATE TYPE {}.{} (\n{}\n);", Quoted(&self.keyspace), Quoted(&self.name), fields.join(",\n"))
    }
}

impl Table {
    /// CREATE TABLE, with the id if it is asked for `internals`; for a table that is made by the server, what it looks like.
    pub fn create_statement(&self, is_virtual: bool, internals: bool) -> String {
        let name = format!("{}.{}", Quoted(&self.keyspace), Quoted(&self.name));
        let mut options = Vec::new();
        if internals && !is_virtual {
            options.push(format!("ID = {}", self.uuid));
        }
        if !self.clustering().is_empty() {
            let order = |column: &Column| {
                format!("{} {}", Quoted(&column.name), if column.descending { "DESC" } else { "ASC" })
            };
            let order: Vec<_> = self.clustering().iter().map(order).collect();
            options.push(format!("CLUSTERING ORDER BY ({})", order.join(", ")));
        }
        if is_virtual {
            options.push(format!("comment = {}", quoted(self.options.text("comment"))));
        } else {
            options.extend(self.options.described());
        }
        let (columns, options) = (self.columns_text(), options.join("\n    AND "));
        if is_virtual {
            return format!(
                "/*\nWarning: Table {name} is a virtual table and cannot be recreated with CQL.\nStructure, for reference:\n\
                 VIRTUAL TABLE {name} (\n{columns}\n) WITH {options};\n*/"
            );
        }
        format!("CREATE TABLE {name} (\n{columns}\n) WITH {options};")
    }

    /// The columns, one a line: those of the key, then static and regular ones, collections last.
    fn columns_text(&self) -> String {
        let short = self.partition_key_len == 1 && self.clustering_len == 0;
        let mut ordered: Vec<&Column> = self.columns.iter().collect();
        // It keeps the order of the key, and names in order.
        ordered.sort_by_key(|column| (column.kind, column.kind >= ColumnKind::Static && column.ty.is_multi_cell()));
        let line = |column: &&Column| {
            let end = match column.kind {
                ColumnKind::PartitionKey if short => " PRIMARY KEY",
                ColumnKind::Static => " static",
                _ => "",
            };
            format!("    {} {}{end}", Quoted(&column.name), column.ty)
        };
        let mut lines: Vec<String> = ordered.iter().map(line).collect();
        if !short {
            let names = |columns: &[Column]| {
                columns.iter().map(|column| Quoted(&column.name).to_string()).collect::<Vec<_>>().join(", ")
            };
            let mut key = names(self.partition_key());
            if self.partition_key_len > 1 {
                key = format!("({key})");
            }
            if self.clustering_len > 0 {
                key = format!("{key}, {}", names(self.clustering()));
            }
            lines.push(format!("    PRIMARY KEY ({key})"));
        }
        lines.join(",\n")
    }
}
