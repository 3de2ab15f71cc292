//! Timestamps decide the final rows, whatever the order in which writes and deletions arrive.

use std::collections::BTreeMap;
use std::ops::Bound;

use proptest::prelude::*;

use super::partitions::PartitionShard;
use super::record::{self, FOREVER, Row};
use super::rows::{PlainCells, RowShard};
use super::{Mutation, PartitionUpdate};
use crate::types::Value;

const CELLS: usize = 2;

#[derive(Clone, Debug)]
enum Change {
    Insert(Vec<Option<Option<Vec<u8>>>>),
    Update(Vec<Option<Option<Vec<u8>>>>),
    DeleteRow,
    /// Of a table with clustering columns: the rows of these numbers.
    DeleteRange(u8, u8),
    DeletePartition,
}

#[derive(Clone, Debug)]
struct Write {
    row: u8,
    timestamp: i64,
    change: Change,
}

/// A value, null or unset for each cell.
fn cells() -> impl Strategy<Value = Vec<Option<Option<Vec<u8>>>>> {
    let value = prop_oneof![
        Just(None),
        Just(Some(None)),
        "[ab]{0,2}".prop_map(|text| Some(Some(text.into_bytes()))),
        (1usize..40).prop_map(|len| Some(Some(vec![b'x'; len])))
    ];
    prop::collection::vec(value, CELLS)
}

fn write() -> impl Strategy<Value = Write> {
    let change = prop_oneof![
        4 => cells().prop_map(Change::Insert),
        4 => cells().prop_map(Change::Update),
        2 => Just(Change::DeleteRow),
        1 => (0u8..4, 0u8..4).prop_map(|(first, last)| Change::DeleteRange(first, last)),
        1 => Just(Change::DeletePartition),
    ];
    (0u8..3, 1i64..8, change).prop_map(|(row, timestamp, change)| Write { row, timestamp, change })
}

fn values(cells: &[Option<Option<Vec<u8>>>]) -> Vec<(usize, Value<'_>)> {
    fn value(cell: &Option<Option<Vec<u8>>>) -> Value<'_> {
        match cell {
            None => Value::Unset,
            Some(None) => Value::Null,
            Some(Some(bytes)) => Value::Bytes(bytes),
        }
    }
    cells.iter().map(value).enumerate().collect()
}

/// The values of a live row, with their timestamps.
type Seen = Vec<Option<(i64, Vec<u8>)>>;

type Visible = BTreeMap<u8, Seen>;

fn visible(record: &[u8]) -> Option<Seen> {
    let row = Row::decode(record, CELLS);
    let seen = |cell: &record::Cell<'_>| match cell.value {
        Value::Bytes(bytes) => Some((cell.timestamp, bytes.to_vec())),
        Value::Null | Value::Unset => None,
    };
    record::is_live(record, CELLS).then(|| row.cells.iter().map(seen).collect())
}

fn row_shard(writes: &[Write]) -> Visible {
    let mut shard = RowShard::new(CELLS, 0, 0);
    for write in writes {
        let (key, timestamp) = ([write.row], |_| write.timestamp);
        let hash = u32::from(write.row) / 2;
        match &write.change {
            Change::Insert(cells) => {
                let mut bytes = Vec::new();
                let values = values(cells);
                values.iter().for_each(|(_, value)| record::put_value(&mut bytes, *value));
                let unset = values.iter().any(|(_, value)| *value == Value::Unset);
                shard.insert((hash, &key), PlainCells { bytes: &bytes, unset }, timestamp).unwrap();
            }
            Change::Update(cells) => {
                let mutation = Mutation { insert: false, delete: false, cells: &values(cells), until: FOREVER };
                shard.mutate((hash, &key), &mutation, timestamp).unwrap();
            }
            Change::DeleteRow | Change::DeleteRange(..) | Change::DeletePartition => {
                let mutation = Mutation { insert: false, delete: true, cells: &[], until: FOREVER };
                shard.mutate((hash, &key), &mutation, timestamp).unwrap();
            }
        }
    }
    let records = shard.records_from(0).map(|(_, record)| (record::key(record)[0], visible(record)));
    let rows: Visible = records.filter_map(|(key, row)| row.map(|row| (key, row))).collect();
    assert_eq!(rows.len() as u64, shard.live());
    rows
}

fn partition_shard(writes: &[Write]) -> Visible {
    let mut shard = PartitionShard::new(CELLS, 0);
    for write in writes {
        let timestamp = |_| write.timestamp;
        let (sortable, wire) = ([2, write.row], [0, 0, 0, 1, write.row]);
        let mut mutate = |insert, delete, cells: &[(usize, Value<'_>)]| {
            let mutation = Mutation { insert, delete, cells, until: FOREVER };
            shard.apply((1, b"p"), &PartitionUpdate::Row((&sortable, &wire), mutation), timestamp).unwrap();
        };
        match &write.change {
            Change::Insert(cells) => mutate(true, false, &values(cells)),
            Change::Update(cells) => mutate(false, false, &values(cells)),
            Change::DeleteRow => mutate(false, true, &[]),
            Change::DeleteRange(first, last) => {
                shard.apply((1, b"p"), &PartitionUpdate::Range(&[2, *first], &[2, *last]), timestamp).unwrap();
            }
            Change::DeletePartition => shard.apply((1, b"p"), &PartitionUpdate::Partition, timestamp).unwrap(),
        }
    }
    let Some(partition) = shard.get(1, b"p") else { return Visible::new() };
    let records = partition.rows(Bound::Unbounded, Bound::Unbounded).map(|(key, record)| (key[1], visible(record)));
    let rows: Visible = records.filter_map(|(key, row)| row.map(|row| (key, row))).collect();
    assert_eq!(rows.len() as u64, shard.live());
    rows
}

fn in_two_orders() -> impl Strategy<Value = (Vec<Write>, Vec<Write>)> {
    prop::collection::vec(write(), 0..12).prop_flat_map(|writes| (Just(writes.clone()), Just(writes).prop_shuffle()))
}

proptest! {
    #[test]
    fn rows_do_not_depend_on_the_order_of_arrival((one, other) in in_two_orders()) {
        prop_assert_eq!(row_shard(&one), row_shard(&other));
    }

    #[test]
    fn rows_of_a_partition_do_not_depend_on_the_order_of_arrival((one, other) in in_two_orders()) {
        prop_assert_eq!(partition_shard(&one), partition_shard(&other));
    }
}
