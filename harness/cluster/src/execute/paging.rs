//! The paging state: where a page ended. The client keeps it.

use crate::error::{CqlError, Result};
use crate::types::{Read, Reader, write};

const FORM: u8 = 2;

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Position {
    pub key: Vec<u8>,
    /// The sortable clustering key of the last row; `None` when the partition is finished.
    pub clustering: Option<Vec<u8>>,
    pub rows_in_partition: u64,
    /// Whether the partition had a live row so far, even one without a match.
    pub has_rows: bool,
    pub limit_left: Option<u64>,
}

impl Position {
    pub fn encode(&self) -> Vec<u8> {
        let mut out = vec![FORM];
        write::bytes(&mut out, Some(&self.key));
        write::bytes(&mut out, self.clustering.as_deref());
        write::long(&mut out, self.rows_in_partition.min(i64::MAX as u64) as i64);
        out.push(u8::from(self.has_rows));
        write::long(&mut out, self.limit_left.map_or(-1, |left| left.min(i64::MAX as u64) as i64));
        out
    }

    pub fn decode(state: &[u8]) -> Result<Position> {
        let mut reader = Reader::new(state);
        let mut read = || -> Read<_> {
            let form = reader.byte()?;
            Ok((form, reader.bytes()?, reader.bytes()?, reader.long()?, reader.byte()?, reader.long()?))
        };
        match read() {
            // There is no next page when LIMIT leaves nothing.
            Ok((FORM, Some(key), clustering, rows_in_partition @ 0.., has_rows @ 0..=1, limit_left))
                if limit_left != 0 && reader.rest.is_empty() =>
            {
                Ok(Position {
                    key: key.to_vec(),
                    clustering: clustering.map(<[u8]>::to_vec),
                    rows_in_partition: rows_in_partition.unsigned_abs(),
                    has_rows: has_rows == 1,
                    limit_left: u64::try_from(limit_left).ok(),
                })
            }
            _ => Err(CqlError::protocol("Invalid value for the paging state")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_position_survives_a_round_trip_and_nothing_else_is_taken_for_one() {
        for clustering in [None, Some(vec![1, 2])] {
            let position = Position {
                key: vec![9; 8],
                has_rows: clustering.is_some(),
                clustering,
                rows_in_partition: 7,
                limit_left: Some(1),
            };
            let state = position.encode();
            assert_eq!(Position::decode(&state).unwrap(), position);
            for len in 0..state.len() {
                assert!(Position::decode(&state[..len]).is_err());
            }
            assert!(Position::decode(&[&state[..], &[0]].concat()).is_err());
            assert!(Position::decode(&Position { limit_left: Some(0), ..position }.encode()).is_err());
        }
    }
}
