//! A prepared statement as the node keeps it.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use md5::{Digest, Md5};

use crate::codec::response;
use crate::execute::point::Point;
use crate::plan::{ColumnSpec, Plan, Prepared};
use crate::schema::{Table, TableId};
use crate::storage::table::TableStore;

/// The MD5 of keyspace and text, as Cassandra makes it.
pub type StatementId = [u8; 16];

/// The id of a statement that is prepared in a keyspace.
pub fn statement_id(keyspace: Option<&str>, query: &str) -> StatementId {
    let mut md5 = Md5::new();
    md5.update(keyspace.unwrap_or_default());
    md5.update(query);
    md5.finalize().into()
}

/// See the module.
#[derive(Debug)]
pub struct Statement {
    /// Its id.
    pub id: StatementId,
    /// Its text.
    pub query: String,
    /// What it is.
    pub prepared: Arc<Prepared>,
    /// How it is run when it is one of the statements that are run in groups.
    pub point: Option<Point>,
    /// The rows of its table, if it is about one that is not virtual.
    pub store: Option<Arc<TableStore>>,
    /// Whether it was used since this was last looked at.
    used: AtomicBool,
}

impl Statement {
    /// Of a statement prepared in `keyspace`.
    pub fn new(id: StatementId, query: String, prepared: Prepared, store: Option<Arc<TableStore>>) -> Self {
        let point = store.as_ref().and_then(|store| Point::of(&prepared, store));
        Statement { id, query, prepared: Arc::new(prepared), point, store, used: AtomicBool::new(false) }
    }

    /// It is in use: it is not forgotten before others that are not.
    pub fn set_used(&self) {
        // What is there already need not be written: the line stays with all cores that read it.
        if !self.used.load(Ordering::Relaxed) {
            self.used.store(true, Ordering::Relaxed);
        }
    }

    /// Whether it was used since the last time.
    pub fn take_used(&self) -> bool {
        self.used.swap(false, Ordering::Relaxed)
    }

    /// Whether it is about a table of this handle.
    pub fn is_about(&self, id: TableId) -> bool {
        tables(&self.prepared.plan).iter().any(|table| table.id == id)
    }
}

/// The tables that a plan is about.
pub fn tables(plan: &Plan) -> Vec<&Arc<Table>> {
    match plan {
        Plan::Insert(plan) => vec![&plan.table],
        Plan::Update(plan) => vec![&plan.table],
        Plan::Delete(plan) => vec![&plan.table],
        Plan::Select(plan) => vec![&plan.table],
        Plan::Truncate(plan) => vec![&plan.table],
        Plan::Batch(batch) => batch.statements.iter().flat_map(tables).collect(),
        Plan::Use(_) | Plan::Ddl(_) => Vec::new(),
    }
}

/// The start of a ROWS body with one page: its kind and metadata.
pub fn rows_head(version: u8, columns: &[ColumnSpec], skip_metadata: bool) -> Vec<u8> {
    let mut out = Vec::new();
    crate::codec::write::int(&mut out, response::KIND_ROWS);
    response::rows_metadata(&mut out, version, columns, skip_metadata, None);
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_are_md5_of_keyspace_and_text() {
        // md5sum of "ksSELECT 1" and of "SELECT 1".
        let hex = |id: StatementId| response::Hex(&id).to_string();
        assert_eq!(hex(statement_id(Some("ks"), "SELECT 1")), hex(statement_id(None, "ksSELECT 1")));
        assert_eq!(hex(statement_id(None, "")), "d41d8cd98f00b204e9800998ecf8427e");
    }
}
