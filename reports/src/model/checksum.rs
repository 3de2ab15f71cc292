//! Shows that cells are as they were measured.

use std::convert::Infallible;
use std::fmt;

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use crate::Cell;
use crate::text::short_hash;

/// The number of a run's cells and their hash: it shows damage, and is no signature.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Checksum {
    /// Cells.
    pub cells: u64,
    /// SHA-256 in hexadecimal, over each cell's JSON with sorted keys and without white space, and a line feed.
    pub sha256: String,
}

impl fmt::Display for Checksum {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        write!(f, "{} cells with the SHA-256 {}...", self.cells, short_hash(&self.sha256))
    }
}

impl Checksum {
    /// Of cells as a file holds them, fields of later versions included: each as JSON with sorted keys.
    ///
    /// # Errors
    /// The first that comes in place of a cell.
    pub(crate) fn of<E>(cells: impl Iterator<Item = Result<String, E>>) -> Result<Checksum, E> {
        let mut digest = Sha256::new();
        let mut number = 0;
        for cell in cells {
            digest.update(cell?);
            digest.update("\n");
            number += 1;
        }
        let sha256 = digest.finalize().iter().map(|byte| format!("{byte:02x}")).collect();
        Ok(Checksum { cells: number, sha256 })
    }

    /// Of cells as they are written.
    pub fn of_cells(cells: &[Cell]) -> Checksum {
        let text = |cell: &Cell| Ok::<_, Infallible>(serde_json::to_value(cell).unwrap_or_default().to_string());
        let Ok(found) = Checksum::of(cells.iter().map(text));
        found
    }
}

#[cfg(test)]
mod tests {
    use serde_json::Value;

    use super::*;

    fn of(cells: &[Value]) -> String {
        let Ok(found) = Checksum::of(cells.iter().map(|cell| Ok::<_, Infallible>(cell.to_string())));
        found.sha256
    }

    #[test]
    fn white_space_and_the_order_of_keys_do_not_matter_and_a_digit_does() {
        let of = |text: &str| of(&[serde_json::from_str(text).unwrap()]);
        assert_eq!(of(r#"{"a": 1.5, "b": [1, 2]}"#), of("{\n\"b\":[1,2],\n\"a\":1.5}"));
        assert_ne!(of(r#"{"a": 1.5}"#), of(r#"{"a": 1.6}"#));
        assert_ne!(of(r#"{"a": [1, 2]}"#), of(r#"{"a": [2, 1]}"#));
    }

    #[test]
    fn the_order_of_cells_and_their_number_matter() {
        let cell = |n: u32| serde_json::json!({ "n": n });
        assert_ne!(of(&[cell(1), cell(2)]), of(&[cell(2), cell(1)]));
        assert_ne!(of(&[cell(1)]), of(&[cell(1), cell(1)]));
    }
}
