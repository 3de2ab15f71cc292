//! Column generators: every value is a function of the row's key, so that any row can be checked without a copy.

use std::num::NonZeroU64;

use serde::{Deserialize, Serialize};

/// How a column's value follows from the row's key.
///
/// Numbers are `times * key + plus`, wrapping. Text and blobs are pseudo-random bytes seeded by the key and `plus`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case", deny_unknown_fields)]
pub enum Column {
    /// `bigint`: `times * key + plus`.
    Bigint {
        /// Factor of the key.
        #[serde(default = "one")]
        times: i64,
        /// What is added.
        #[serde(default)]
        plus: i64,
    },
    /// `int`: the low 32 bits of `times * key + plus`.
    Int {
        /// Factor of the key.
        #[serde(default = "one")]
        times: i64,
        /// What is added.
        #[serde(default)]
        plus: i64,
    },
    /// `double`: `times * key + plus`, converted.
    Double {
        /// Factor of the key.
        #[serde(default = "one")]
        times: i64,
        /// What is added.
        #[serde(default)]
        plus: i64,
    },
    /// `boolean`: whether `times * key + plus` is odd.
    Boolean {
        /// Factor of the key.
        #[serde(default = "one")]
        times: i64,
        /// What is added.
        #[serde(default)]
        plus: i64,
    },
    /// `timestamp`: `times * key + plus` milliseconds since the Unix epoch.
    Timestamp {
        /// Factor of the key.
        #[serde(default = "one")]
        times: i64,
        /// What is added.
        #[serde(default)]
        plus: i64,
    },
    /// `uuid`: a version 4 uuid seeded by the key and `plus`.
    Uuid {
        /// Seeds another sequence.
        #[serde(default)]
        plus: i64,
    },
    /// `text` of `length` lower-case letters.
    Text {
        /// Bytes, which are as many characters.
        length: usize,
        /// Seeds another sequence.
        #[serde(default)]
        plus: i64,
    },
    /// `blob` of `length` bytes.
    Blob {
        /// Bytes.
        length: usize,
        /// Seeds another sequence.
        #[serde(default)]
        plus: i64,
    },
    /// `bigint`: the key divided by `rows`, so that as many consecutive keys have it in common, as the rows of a partition do.
    Partition {
        /// Keys to a value, at least 1.
        rows: NonZeroU64,
    },
    /// Always null, of whatever type the column has.
    Null {},
}

fn one() -> i64 {
    1
}

/// SplitMix64's output function (Steele, Lea and Flood 2014): mixes all bits of `x`.
#[inline]
fn mix(x: u64) -> u64 {
    let x = (x ^ (x >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    x ^ (x >> 31)
}

const GOLDEN_GAMMA: u64 = 0x9e37_79b9_7f4a_7c15;

fn words(key: u64, plus: i64) -> impl Iterator<Item = u64> {
    let seed = mix(key.wrapping_mul(GOLDEN_GAMMA) ^ mix(plus as u64));
    (1u64..).map(move |n| mix(seed.wrapping_add(n.wrapping_mul(GOLDEN_GAMMA))))
}

impl Column {
    /// `times * key + plus`, wrapping: the number behind the numeric kinds.
    #[inline]
    pub fn number(key: u64, times: i64, plus: i64) -> i64 {
        (key as i64).wrapping_mul(times).wrapping_add(plus)
    }

    /// The number of a [`Column::Partition`] with so many rows.
    #[inline]
    pub fn partition(key: u64, rows: NonZeroU64) -> i64 {
        (key / rows) as i64
    }

    /// Adds `by` to what is added; a null stays one.
    pub(crate) fn shift(&mut self, by: i64) {
        match self {
            Column::Bigint { plus, .. }
            | Column::Int { plus, .. }
            | Column::Double { plus, .. }
            | Column::Boolean { plus, .. }
            | Column::Timestamp { plus, .. }
            | Column::Uuid { plus }
            | Column::Text { plus, .. }
            | Column::Blob { plus, .. } => *plus = plus.wrapping_add(by),
            Column::Partition { .. } | Column::Null {} => {}
        }
    }

    /// The sixteen bytes of a [`Column::Uuid`] with this `plus`, in network order.
    pub fn uuid(key: u64, plus: i64) -> [u8; 16] {
        let mut bytes = [0; 16];
        for (chunk, word) in bytes.chunks_mut(8).zip(words(key, plus)) {
            chunk.copy_from_slice(&word.to_be_bytes());
        }
        bytes[6] = (bytes[6] & 0x0f) | 0x40;
        bytes[8] = (bytes[8] & 0x3f) | 0x80;
        bytes
    }

    /// Appends the letters of a [`Column::Text`] to `out`.
    pub fn append_text(key: u64, length: usize, plus: i64, out: &mut String) {
        let letters = words(key, plus).flat_map(u64::to_le_bytes).map(|byte| char::from(b'a' + byte % 26));
        out.extend(letters.take(length));
    }

    /// Appends the bytes of a [`Column::Blob`] to `out`.
    pub fn append_blob(key: u64, length: usize, plus: i64, out: &mut Vec<u8>) {
        let end = out.len() + length;
        for word in words(key, plus) {
            let left = end - out.len();
            if left == 0 {
                break;
            }
            out.extend_from_slice(&word.to_le_bytes()[..left.min(8)]);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_and_blob_have_the_length_asked_for_and_differ_by_key_and_by_plus() {
        for length in [0, 1, 7, 8, 9, 1000] {
            let (mut text, mut blob) = (String::new(), Vec::new());
            Column::append_text(5, length, 0, &mut text);
            Column::append_blob(5, length, 0, &mut blob);
            assert_eq!((text.len(), blob.len()), (length, length));
        }
        let text = |key, plus| {
            let mut out = String::new();
            Column::append_text(key, 16, plus, &mut out);
            out
        };
        assert_eq!(text(1, 0), text(1, 0));
        assert_ne!(text(1, 0), text(2, 0));
        assert_ne!(text(1, 0), text(1, 1));
        assert_ne!(Column::uuid(1, 0), Column::uuid(2, 0));
        assert_eq!(Column::uuid(1, 0)[6] >> 4, 4);
    }
}
