//! Clustering keys as bytes that compare as the values do: what rows within a partition are sorted by.
//!
//! Each component is a byte (empty or not), then its bytes in an order-preserving form that is no prefix of another. DESC
//! inverts all of them. A prefix of components comes before all keys that begin with it. No component begins with 0xFF, so the
//! prefix and that byte come after those keys: ranges of rows are ranges of bytes.

use crate::error::{CqlError, Result};
use crate::schema::{Column, Table};
use crate::types::CqlType;

const EMPTY: u8 = 0x01;
const PRESENT: u8 = 0x02;

/// Refuses a table with a clustering column that rows cannot be sorted by.
pub fn check_sortable(table: &Table) -> Result<()> {
    use CqlType as T;
    let unsortable = |ty: &CqlType| {
        ty.is_collection()
            || matches!(ty, T::Counter | T::Decimal | T::Duration | T::Tuple(_) | T::Frozen(_) | T::Vector(_))
    };
    match table.clustering().iter().find(|column| unsortable(&column.ty)) {
        None => Ok(()),
        Some(column) => {
            let (ty, name) = (&column.ty, &column.name);
            Err(CqlError::unsupported(format!("A clustering column of type {ty} (column {name})")))
        }
    }
}

/// Appends one component in sortable form. The value is valid for the type.
pub fn put_component(out: &mut Vec<u8>, column: &Column, value: &[u8]) {
    let start = out.len();
    out.push(if value.is_empty() { EMPTY } else { PRESENT });
    if !value.is_empty() {
        column.ty.put_sortable(value, out);
    }
    if column.descending {
        out[start..].iter_mut().for_each(|byte| *byte = !*byte);
    }
}

/// The sortable key after all keys with this prefix.
pub fn after(mut prefix: Vec<u8>) -> Vec<u8> {
    prefix.push(0xFF);
    prefix
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::schema::ColumnKind;

    fn encode(ty: CqlType, descending: bool, value: &[u8]) -> Vec<u8> {
        let column = Column { name: Arc::from("c"), ty, kind: ColumnKind::Clustering, descending };
        let mut out = Vec::new();
        put_component(&mut out, &column, value);
        out
    }

    fn assert_ascending(ty: &CqlType, values: &[Vec<u8>]) {
        for two in values.windows(2) {
            let up = |value: &[u8]| encode(ty.clone(), false, value);
            let down = |value: &[u8]| encode(ty.clone(), true, value);
            assert!(up(&two[0]) < up(&two[1]), "{ty:?} {:x?} {:x?}", two[0], two[1]);
            assert!(down(&two[0]) > down(&two[1]), "{ty:?} {:x?} {:x?} descending", two[0], two[1]);
            assert!(after(up(&two[0])) > up(&two[0]) && after(up(&two[0])) < up(&two[1]));
            assert!(after(vec![]) > down(&two[0]));
        }
    }

    #[test]
    fn numbers_sort_by_value() {
        let bigints = [i64::MIN, -256, -1, 0, 1, 255, 256, i64::MAX].map(|v| v.to_be_bytes().to_vec());
        assert_ascending(&CqlType::Bigint, &bigints);
        assert_ascending(&CqlType::Int, &[i32::MIN, -1, 0, 7].map(|v| v.to_be_bytes().to_vec()));
        let doubles = [f64::NEG_INFINITY, -1.5, -1.0, -0.0, 0.0, 1e-300, 2.0, f64::INFINITY, f64::NAN];
        assert_ascending(&CqlType::Double, &doubles.map(|v| v.to_be_bytes().to_vec()));
        let floats = [f32::NEG_INFINITY, -1.5, -0.0, 0.0, 2.0, f32::INFINITY, f32::NAN];
        assert_ascending(&CqlType::Float, &floats.map(|v| v.to_be_bytes().to_vec()));
        let varints: [&[u8]; 9] =
            [&[0x80, 0, 0], &[0x80, 0], &[0xFF, 0x00], &[0x80], &[0xFF], &[0], &[1], &[0x7F], &[0, 0x80]];
        assert_ascending(&CqlType::Varint, &varints.map(<[u8]>::to_vec));
    }

    #[test]
    fn text_sorts_by_bytes_and_a_prefix_comes_first() {
        let texts: [&[u8]; 6] = [b"", b"\0", b"\0\0", b"\0a", b"a", b"ab"];
        assert_ascending(&CqlType::Text, &texts.map(<[u8]>::to_vec));
    }

    #[test]
    fn version_1_uuids_sort_by_time() {
        let mut early = [0u8; 16];
        early[..8].copy_from_slice(&[0xFF, 0xFF, 0xFF, 0xFF, 0, 0, 0x10, 0]);
        let mut late = [0u8; 16];
        late[..8].copy_from_slice(&[0, 0, 0, 0, 0, 1, 0x10, 0]);
        assert_ascending(&CqlType::Timeuuid, &[early.to_vec(), late.to_vec()]);
        assert_ascending(&CqlType::Uuid, &[early.to_vec(), late.to_vec()]);
    }
}
