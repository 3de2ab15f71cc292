//! The paging state: where a page ended. The client keeps it.

use crate::error::{CqlError, Result};
use crate::types::{Reader, write};

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
        let read = || {
            let mut reader = Reader::new(state);
            let form = reader.byte().ok()?;
            let key = reader.bytes().ok()??;
            let clustering = reader.bytes().ok()?;
            let rows_in_partition = reader.long().ok()?;
            let has_rows = match reader.byte().ok()? {
                0 => false,
                1 => true,
                _ => return None,
            };
            let limit_left = reader.long().ok()?;
            (form == FORM && reader.rest().is_empty()).then_some(Position {
                key: key.to_vec(),
                clustering: clustering.map(<[u8]>::to_vec),
                rows_in_partition: u64::try_from(rows_in_partition).ok()?,
                has_rows,
                // There is no next page when LIMIT leaves nothing.
                limit_left: match limit_left {
                    0 => return None,
                    left => u64::try_from(left).ok(),
                },
            })
        };
        read().ok_or_else(|| CqlError::protocol("Invalid value for the paging state"))
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
