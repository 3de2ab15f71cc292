//! Pseudo-random texts and blobs that cost nothing to make: windows into one stream of bytes that all share.
//!
//! A value is a stretch of the stream that begins where the key says. So making one is one hash and one slice, whatever its
//! length, and checking one is one comparison of bytes. Two keys share a value once in a million pairs.

use std::sync::{Mutex, PoisonError};

use crate::column::{seed, word};

/// Where a window may begin: at so many places, a power of two.
const BEGINNINGS: u32 = 20;
/// Where a window of Unicode may begin: at so many groups of ten bytes.
const UNICODE_BEGINNINGS: u32 = 17;
/// One character each of one, two, three and four bytes in UTF-8.
const GROUP: usize = 10;
const STREAM_SEED: u64 = 0x6371_6c64_796e_6f21;

/// The blobs of one length that follow from a number.
#[derive(Clone, Copy, Debug)]
pub struct Blobs {
    stream: &'static [u8],
    length: usize,
    plus: i64,
}

impl Blobs {
    /// Blobs of `length` bytes; `plus` seeds another sequence.
    pub fn new(length: usize, plus: i64) -> Blobs {
        static STREAM: Mutex<&[u8]> = Mutex::new(&[]);
        let mut stream = STREAM.lock().unwrap_or_else(PoisonError::into_inner);
        let needed = (1 << BEGINNINGS) + length;
        if stream.len() < needed {
            *stream = Box::leak(numbers(needed.div_ceil(8)).flat_map(u64::to_le_bytes).collect());
        }
        Blobs { stream: *stream, length, plus }
    }

    /// The blob of `number`.
    #[inline]
    pub fn of(&self, number: u64) -> &'static [u8] {
        let start = beginning(number, self.plus, BEGINNINGS);
        self.stream.get(start..start + self.length).unwrap_or_default()
    }
}

/// The texts of one length that follow from a number.
#[derive(Clone, Copy, Debug)]
pub struct Texts {
    stream: &'static str,
    length: usize,
    plus: i64,
    beginnings: u32,
    /// Bytes from one beginning to the next.
    stride: usize,
    /// Where in its group a window begins, so that it ends at the end of a character.
    within: usize,
}

impl Texts {
    /// Texts of `length` lower-case letters; `plus` seeds another sequence.
    pub fn letters(length: usize, plus: i64) -> Texts {
        static STREAM: Mutex<&str> = Mutex::new("");
        let letters = |needed: usize| {
            let bytes = numbers(needed.div_ceil(8)).flat_map(u64::to_le_bytes);
            bytes.map(|byte| char::from(b'a' + byte % 26)).collect()
        };
        let stream = grown(&STREAM, (1 << BEGINNINGS) + length, letters);
        Texts { stream, length, plus, beginnings: BEGINNINGS, stride: 1, within: 0 }
    }

    /// Texts of `length` bytes in which characters of one to four bytes alternate: a letter, a Cyrillic one, a CJK ideograph, an
    /// emoticon.
    pub fn unicode(length: usize, plus: i64) -> Texts {
        static STREAM: Mutex<&str> = Mutex::new("");
        let groups = |needed: usize| {
            let characters = numbers(needed.div_ceil(GROUP)).flat_map(|number| {
                let pick = |first: u32, of: u64, shift: u32| {
                    char::from_u32(first + ((number >> shift) % of) as u32).unwrap_or(char::REPLACEMENT_CHARACTER)
                };
                [pick(0x61, 26, 0), pick(0x430, 32, 16), pick(0x4e00, 20_992, 32), pick(0x1f600, 80, 48)]
            });
            characters.collect()
        };
        let stream = grown(&STREAM, (GROUP << UNICODE_BEGINNINGS) + GROUP + length, groups);
        // Characters begin at the bytes 0, 1, 3 and 6 of a group, and any length is one between two of these.
        let within = match length % GROUP {
            2 | 5 | 9 => 1,
            7 | 8 => 3,
            4 => 6,
            _ => 0,
        };
        Texts { stream, length, plus, beginnings: UNICODE_BEGINNINGS, stride: GROUP, within }
    }

    /// The text of `number`.
    #[inline]
    pub fn of(&self, number: u64) -> &'static str {
        let start = beginning(number, self.plus, self.beginnings) * self.stride + self.within;
        self.stream.get(start..start + self.length).unwrap_or_default()
    }
}

/// The stream, made longer if it is shorter than `needed`: once a process, or once more for each longer value that a scenario has.
fn grown(stream: &Mutex<&'static str>, needed: usize, make: impl Fn(usize) -> String) -> &'static str {
    let mut stream = stream.lock().unwrap_or_else(PoisonError::into_inner);
    if stream.len() < needed {
        *stream = String::leak(make(needed));
    }
    *stream
}

fn numbers(count: usize) -> impl Iterator<Item = u64> {
    (1..=count as u64).map(|n| word(STREAM_SEED, n))
}

#[inline]
fn beginning(number: u64, plus: i64, bits: u32) -> usize {
    (word(seed(number, plus), 1) >> (u64::BITS - bits)) as usize
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;

    #[test]
    fn every_length_is_met_to_the_byte_also_by_characters_of_several_bytes() {
        for length in (0..100).chain([1_000, 16_384, 3_000_001]) {
            for number in [0, 1, 7, u64::MAX] {
                assert_eq!(Blobs::new(length, 0).of(number).len(), length);
                assert_eq!(Texts::letters(length, 0).of(number).len(), length);
                assert_eq!(Texts::unicode(length, 0).of(number).len(), length, "{length}");
            }
        }
    }

    #[test]
    fn unicode_has_characters_of_one_to_four_bytes_and_letters_only_of_one() {
        let widths = |text: &str| text.chars().map(char::len_utf8).collect::<HashSet<_>>();
        assert_eq!(widths(Texts::unicode(40, 3).of(5)), HashSet::from([1, 2, 3, 4]));
        assert_eq!(widths(Texts::letters(40, 3).of(5)), HashSet::from([1]));
    }

    #[test]
    fn a_value_stays_the_same_when_a_longer_one_made_the_stream_longer() {
        let (blob, text, unicode) = (Blobs::new(50, 1), Texts::letters(50, 1), Texts::unicode(50, 1));
        let before = (blob.of(9).to_vec(), text.of(9).to_owned(), unicode.of(9).to_owned());
        let _ = (Blobs::new(5_000_000, 1), Texts::letters(5_000_000, 1), Texts::unicode(5_000_000, 1));
        let (blob, text, unicode) = (Blobs::new(50, 1), Texts::letters(50, 1), Texts::unicode(50, 1));
        assert_eq!((blob.of(9), text.of(9), unicode.of(9)), (&*before.0, &*before.1, &*before.2));
    }

    #[test]
    fn numbers_and_plus_choose_other_values() {
        let blobs: HashSet<&[u8]> = (0..1_000).map(|number| Blobs::new(16, 0).of(number)).collect();
        let texts: HashSet<&str> = (0..1_000).map(|number| Texts::letters(16, 0).of(number)).collect();
        let unicode: HashSet<&str> = (0..1_000).map(|number| Texts::unicode(16, 0).of(number)).collect();
        // Of a thousand windows two begin at one place with a chance of 0.38 among 2^20 places and 0.98 among 2^17.
        assert!(blobs.len() >= 997 && texts.len() >= 997 && unicode.len() >= 985);
        assert_ne!(Blobs::new(16, 0).of(1), Blobs::new(16, 1).of(1));
        assert_ne!(Texts::unicode(16, 0).of(1), Texts::unicode(16, 1).of(1));
    }
}
