//! The statements of the hot path: an INSERT of a row without clustering columns, and a SELECT of one with its key.

use crate::codec::frame::Opcode;
use crate::codec::response::{self, ReplyTo};
use crate::prepared::{CqlPlan, Modification, ModificationKind, PartitionSelection, Prepared, Selector, Term};
use crate::storage::record::{self, KEY_WIRE_AT, MIXED, Row, UNSET};
use crate::storage::table::TableStore;
use crate::types::{CqlType, Value, write};

/// How to validate a marker's value without its type.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ValueCheck {
    /// This many bytes, or none.
    Length(usize),
    Text,
    Any,
}

impl ValueCheck {
    fn of(ty: &CqlType) -> Option<ValueCheck> {
        Some(match ty {
            CqlType::Bigint | CqlType::Double | CqlType::Timestamp => ValueCheck::Length(8),
            CqlType::Int | CqlType::Float => ValueCheck::Length(4),
            CqlType::Uuid => ValueCheck::Length(16),
            CqlType::Text => ValueCheck::Text,
            CqlType::Blob => ValueCheck::Any,
            _ => return None,
        })
    }

    #[inline]
    pub(super) fn passes(self, bytes: &[u8]) -> bool {
        match self {
            ValueCheck::Length(length) => bytes.len() == length || bytes.is_empty(),
            ValueCheck::Text => std::str::from_utf8(bytes).is_ok(),
            ValueCheck::Any => true,
        }
    }
}

/// Where a cell of an INSERT comes from.
#[derive(Clone, Debug)]
pub(super) enum CellSource {
    Marker(usize),
    /// A `[value]`: a constant, or unset for a column without a value.
    Wire(Vec<u8>),
}

#[derive(Debug)]
pub(super) enum Action {
    /// INSERT. `in_order`: the markers are the key and then all cells in the table's order.
    Insert { cells: Box<[CellSource]>, in_order: bool, unset: bool },
    /// SELECT. `whole`: all columns in the table's order.
    Select { columns: Box<[usize]>, whole: bool },
}

/// A statement of the hot path.
#[derive(Debug)]
pub struct PointStatement {
    pub(super) checks: Box<[ValueCheck]>,
    pub(super) key_marker: usize,
    pub(super) action: Action,
    /// For SELECT, by version (3, 4) and skipped metadata: the answer's frame up to the number of rows.
    pub(super) templates: [[Vec<u8>; 2]; 2],
}

impl PointStatement {
    pub fn of(prepared: &Prepared, store: &TableStore) -> Option<PointStatement> {
        let table = &store.table;
        if table.clustering_len > 0 || table.partition_key_len != 1 {
            return None;
        }
        let checks = prepared.bind_markers.iter().map(|marker| ValueCheck::of(&marker.ty)).collect::<Option<_>>()?;
        let (partition, action) = match &prepared.plan {
            CqlPlan::Modify(insert) if is_plain_insert(insert) => {
                let mut cells = vec![CellSource::Wire((-2i32).to_be_bytes().to_vec()); store.cells];
                for assignment in &insert.assignments {
                    let cell = cells.get_mut(assignment.column.checked_sub(store.first_cell)?)?;
                    *cell = match &assignment.value {
                        Term::Marker(marker) => CellSource::Marker(usize::from(*marker)),
                        Term::Constant(constant) => {
                            let mut wire = Vec::new();
                            write::bytes(&mut wire, constant.as_deref());
                            CellSource::Wire(wire)
                        }
                        Term::Computed(_) => return None,
                    };
                }
                let in_order = prepared.bind_markers.len() == cells.len() + 1
                    && cells.iter().enumerate().all(|(at, cell)| matches!(cell, CellSource::Marker(m) if *m == at + 1));
                let unset = insert.assignments.len() < cells.len();
                (&insert.partition, Action::Insert { cells: cells.into(), in_order, unset })
            }
            CqlPlan::Select(select) => {
                let plain = !select.aggregate
                    && !select.distinct
                    && select.filters.is_empty()
                    && select.limit.is_none()
                    && select.per_partition_limit.is_none();
                let column = |selector: &Selector| match selector {
                    Selector::Column(column) => Some(*column),
                    _ => None,
                };
                let columns: Box<[usize]> = select.selectors.iter().map(column).collect::<Option<_>>()?;
                if !plain {
                    return None;
                }
                let whole = columns.iter().copied().eq(0..table.columns.len());
                (&select.partition, Action::Select { columns, whole })
            }
            _ => return None,
        };
        let PartitionSelection::One(key) = partition else { return None };
        let [Term::Marker(key_marker)] = &key[..] else { return None };
        let key_marker = usize::from(*key_marker);
        // In order, the cells follow the key.
        if matches!(action, Action::Insert { in_order: true, .. }) && key_marker != 0 {
            return None;
        }
        let template = |version: u8, skip: bool| {
            let mut frame = Vec::new();
            response::begin(&mut frame, ReplyTo { version, stream: 0 }, Opcode::Result);
            write::int(&mut frame, response::KIND_ROWS);
            response::rows_metadata(&mut frame, version, &prepared.result_columns, skip, None);
            frame
        };
        let templates = [3, 4].map(|version| [false, true].map(|skip| template(version, skip)));
        Some(PointStatement { checks, key_marker, action, templates })
    }
}

/// Without a condition, a timestamp or a TTL.
fn is_plain_insert(insert: &Modification) -> bool {
    let expires = insert.ttl.is_some() || insert.table.options.default_time_to_live != 0;
    insert.kind == ModificationKind::Insert && !expires && insert.timestamp.is_none() && insert.condition.is_none()
}

/// Appends the values of the row in a record; nothing if the row is not live.
#[inline]
pub(super) fn put_row(out: &mut Vec<u8>, record: &[u8], store: &TableStore, columns: &[usize], whole: bool) {
    let cells = store.cells;
    let head = record::head(record);
    if !record::is_live(record, cells) {
        return;
    }
    let after_key = record::KEY_AT + head.key_len;
    if whole && head.flags & (MIXED | UNSET) == 0 {
        let end = record::end_of_values(record, after_key, cells);
        out.extend_from_slice(&record[KEY_WIRE_AT..end]);
        return;
    }
    let row = (head.flags & (MIXED | UNSET) != 0).then(|| Row::decode(record, cells));
    for column in columns {
        let Some(cell) = column.checked_sub(store.first_cell) else {
            out.extend_from_slice(&record[KEY_WIRE_AT..after_key]);
            continue;
        };
        match &row {
            Some(row) => {
                let value = row.cells.get(cell).map_or(Value::Null, |cell| cell.value);
                record::put_value(out, if value == Value::Unset { Value::Null } else { value });
            }
            None => {
                let start = record::end_of_values(record, after_key, cell);
                out.extend_from_slice(&record[start..record::end_of_values(record, start, 1)]);
            }
        }
    }
}
