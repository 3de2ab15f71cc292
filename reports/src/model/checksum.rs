//! Shows that cells are as they were measured.

use serde::{Deserialize, Serialize};
use serde_json::Value;
use sha2::{Digest, Sha256};

use crate::Cell;

/// The number of a run's cells and their hash: it shows damage, and is no signature.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Checksum {
    /// Cells.
    pub cells: u64,
    /// SHA-256 in hexadecimal, over each cell's JSON with sorted keys and without white space, and a line feed.
    pub sha256: String,
}

impl Checksum {
    /// Of cells as a file holds them, fields of later versions included.
    pub fn of(cells: &[Value]) -> Checksum {
        let mut digest = Sha256::new();
        for cell in cells {
            digest.update(cell.to_string());
            digest.update("\n");
        }
        let sha256 = digest.finalize().iter().map(|byte| format!("{byte:02x}")).collect();
        Checksum { cells: cells.len() as u64, sha256 }
    }

    /// Of cells as they are written.
    pub fn of_cells(cells: &[Cell]) -> Checksum {
        let values: Vec<Value> = cells.iter().map(|cell| serde_json::to_value(cell).unwrap_or_default()).collect();
        Checksum::of(&values)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn white_space_and_the_order_of_keys_do_not_matter_and_a_digit_does() {
        let of = |text: &str| Checksum::of(&[serde_json::from_str(text).unwrap()]).sha256;
        assert_eq!(of(r#"{"a": 1.5, "b": [1, 2]}"#), of("{\n\"b\":[1,2],\n\"a\":1.5}"));
        assert_ne!(of(r#"{"a": 1.5}"#), of(r#"{"a": 1.6}"#));
        assert_ne!(of(r#"{"a": [1, 2]}"#), of(r#"{"a": [2, 1]}"#));
    }

    #[test]
    fn the_order_of_cells_and_their_number_matter() {
        let cell = |n: u32| serde_json::json!({ "n": n });
        let of = |cells: &[Value]| Checksum::of(cells).sha256;
        assert_ne!(of(&[cell(1), cell(2)]), of(&[cell(2), cell(1)]));
        assert_ne!(of(&[cell(1)]), of(&[cell(1), cell(1)]));
    }
}
