//! Pseudo-random texts and blobs that cost nothing to make: windows into one stream of bytes that all share.
//!
//! A value is a stretch of the stream that begins where the number says. Making one is one hash and one slice, whatever its
//! length, and checking one is one comparison of bytes. Two numbers share a value once in a million pairs.
//!
//! Those that compress are windows into another stream, in which fresh bytes alternate with the same ones again and again.
//!
//! In a primary key two numbers must not share a value. There a value is copied, and its first characters are the digits of the permuted number,
//! whatever `plus` is.

use std::ops::RangeInclusive;
use std::sync::{Mutex, PoisonError};

use crate::splitmix::{seed, word};
use crate::{Amount, Permutation};

/// Windows begin at two to this power places.
const BEGINNINGS: u32 = 20;
/// Windows of Unicode begin at two to this power groups of ten bytes.
const UNICODE_BEGINNINGS: u32 = 17;
/// One character each of one, two, three and four bytes in UTF-8.
const GROUP: usize = 10;
const STREAM_SEED: u64 = 0x6371_6c64_796e_6f21;
/// The most numbers that a value tells apart.
const MOST_DISTINCT: u64 = 1 << 63;

/// Kinds of characters that a text has in turn: the first one, how many there are, and the bytes of each in UTF-8.
type Script = &'static [(u32, u64, usize)];
const LETTERS: Script = &[(0x61, 26, 1)];
const UNICODE: Script = &[(0x61, 26, 1), (0x430, 32, 2), (0x4e00, 20_992, 3), (0x1f600, 80, 4)];

/// The least and the most that LZ4 leaves of values that compress.
pub(crate) const COMPRESSIBLE: RangeInclusive<f64> = 0.05..=0.95;

/// How many fresh bytes, and how many after them that always are the same, so that LZ4 leaves this share of many. For the others it
/// writes four bytes, and five from 15 fresh ones on, of which about one is found elsewhere together with them.
fn periods(share: f64) -> (usize, usize) {
    let share = share.clamp(*COMPRESSIBLE.start(), *COMPRESSIBLE.end());
    let fresh = |written: f64| ((24.0 * share - written) / (1.0 - share)).max(6.0).round();
    let written = if fresh(3.0) < 15.0 { 3.0 } else { 4.0 };
    let fresh = fresh(written);
    (fresh as usize, ((fresh + written) / share - fresh).round() as usize)
}

/// Every stream that was made, also those in whose place a longer one came.
static ALL: Mutex<Vec<&[u8]>> = Mutex::new(Vec::new());

/// Keeps a stream that was made just now.
fn kept(bytes: Vec<u8>) -> &'static [u8] {
    let stream: &'static [u8] = bytes.leak();
    ALL.lock().unwrap_or_else(PoisonError::into_inner).push(stream);
    stream
}

/// The same of text, which `bytes` are.
fn kept_text(bytes: Vec<u8>) -> &'static str {
    str::from_utf8(kept(bytes)).unwrap_or_default()
}

/// The streams that texts and blobs are windows into.
#[derive(Clone, Debug)]
pub struct Streams(Vec<&'static [u8]>);

impl Streams {
    /// Those that have been made: one is made for the first column that needs it.
    pub fn made() -> Streams {
        Streams(ALL.lock().unwrap_or_else(PoisonError::into_inner).clone())
    }

    /// Their bytes.
    pub fn iter(&self) -> impl Iterator<Item = &'static [u8]> {
        self.0.iter().copied()
    }

    /// Where `bytes` lie, counted through all streams in turn; `None` for bytes that are not part of one.
    pub fn place(&self, bytes: &[u8]) -> Option<usize> {
        let mut before = 0;
        for stream in &self.0 {
            let at = bytes.as_ptr().addr().wrapping_sub(stream.as_ptr().addr());
            if at.checked_add(bytes.len()).is_some_and(|end| end <= stream.len()) {
                return Some(before + at);
            }
            before += stream.len();
        }
        None
    }
}

/// Streams that compress, each with how many of its bytes are fresh and how many are not.
type Compressible<T> = Mutex<Vec<((usize, usize), &'static T)>>;

/// The stream with these periods, made of `stream` if there is none that is as long.
fn compressible<T: ?Sized>(
    made: &Compressible<T>,
    stream: &[u8],
    share: f64,
    make: impl Fn(Vec<u8>) -> &'static T,
    length: impl Fn(&T) -> usize,
) -> &'static T {
    let (fresh, same) = periods(share);
    let mut made = made.lock().unwrap_or_else(PoisonError::into_inner);
    let is_it =
        |(periods, one): &((usize, usize), &'static T)| *periods == (fresh, same) && length(one) >= stream.len();
    if let Some((_, found)) = made.iter().find(|one| is_it(one)) {
        return found;
    }
    let bytes = stream.iter().enumerate().map(|(at, byte)| match (at % (fresh + same)).checked_sub(fresh) {
        Some(at) => stream.get(at).copied().unwrap_or(*byte),
        None => *byte,
    });
    let one = make(bytes.collect());
    made.push(((fresh, same), one));
    one
}

/// The blobs of a column that follow from a number.
#[derive(Clone, Copy, Debug)]
pub struct Blobs {
    stream: &'static [u8],
    /// How many bytes they have.
    pub length: Amount,
    plus: i64,
}

impl Blobs {
    /// Blobs of `length` bytes; `plus` seeds another sequence.
    pub fn new(length: impl Into<Amount>, plus: i64) -> Blobs {
        let length = length.into();
        static STREAM: Mutex<&[u8]> = Mutex::new(&[]);
        let mut stream = STREAM.lock().unwrap_or_else(PoisonError::into_inner);
        let needed = (1 << BEGINNINGS) + length.most();
        if stream.len() < needed {
            *stream = kept(numbers(needed.div_ceil(8)).flat_map(u64::to_le_bytes).collect());
        }
        Blobs { stream: *stream, length, plus }
    }

    /// Blobs of which LZ4 leaves about this share.
    #[must_use]
    pub fn compressible(self, share: f64) -> Blobs {
        static STREAMS: Compressible<[u8]> = Mutex::new(Vec::new());
        let stream = compressible(&STREAMS, self.stream, share, kept, <[u8]>::len);
        Blobs { stream, ..self }
    }

    /// The blob of `number`.
    #[inline]
    pub fn of(&self, number: u64) -> &'static [u8] {
        let start = beginning(number, self.plus, BEGINNINGS);
        self.stream.get(start..start + self.length.of(number, self.plus)).unwrap_or_default()
    }

    /// The same blobs with the number in their first bytes.
    pub fn unique(self) -> UniqueBlobs {
        let bits = 8 * u32::try_from(self.length.least()).unwrap_or(u32::MAX).min(8);
        let distinct = 1u64.checked_shl(bits).map_or(MOST_DISTINCT, |count| count.min(MOST_DISTINCT));
        UniqueBlobs { blobs: self, permutation: Permutation::new(distinct, STREAM_SEED), distinct }
    }
}

/// Blobs of which no two are the same.
#[derive(Clone, Copy, Debug)]
pub struct UniqueBlobs {
    blobs: Blobs,
    permutation: Permutation,
    /// How many numbers from 0 on have a blob of their own.
    pub distinct: u64,
}

impl UniqueBlobs {
    /// How many bytes they have.
    pub fn length(&self) -> Amount {
        self.blobs.length
    }

    /// Puts the blob of `number` into `room`, which has that length.
    pub fn of<'a>(&self, number: u64, room: &'a mut [u8]) -> &'a [u8] {
        let room = filled(room, self.blobs.of(number));
        let digits = self.permutation.apply(number).to_le_bytes();
        room.iter_mut().zip(digits).for_each(|(byte, digit)| *byte = digit);
        room
    }
}

/// The texts of a column that follow from a number.
#[derive(Clone, Copy, Debug)]
pub struct Texts {
    stream: &'static str,
    /// How many bytes they have.
    pub length: Amount,
    plus: i64,
    beginnings: u32,
    /// Bytes from one beginning to the next.
    stride: usize,
    /// Where in its group a window begins, so that it ends where a character ends.
    within: usize,
    script: Script,
}

impl Texts {
    /// Texts of `length` lower-case letters; `plus` seeds another sequence.
    pub fn letters(length: impl Into<Amount>, plus: i64) -> Texts {
        let length = length.into();
        static STREAM: Mutex<&str> = Mutex::new("");
        let letters = |needed: usize| {
            let bytes = numbers(needed.div_ceil(8)).flat_map(u64::to_le_bytes);
            bytes.map(|byte| char::from(b'a' + byte % 26)).collect()
        };
        let stream = grown(&STREAM, (1 << BEGINNINGS) + length.most(), letters);
        Texts { stream, length, plus, beginnings: BEGINNINGS, stride: 1, within: 0, script: LETTERS }
    }

    /// Texts of `length` bytes in which characters of one to four bytes alternate: a letter, a Cyrillic one, a CJK ideograph, an
    /// emoticon.
    pub fn unicode(length: usize, plus: i64) -> Texts {
        static STREAM: Mutex<&str> = Mutex::new("");
        let groups = |needed: usize| {
            let characters = numbers(needed.div_ceil(GROUP)).flat_map(|number| {
                (0..)
                    .step_by(16)
                    .zip(UNICODE)
                    .map(move |(shift, (first, count, _))| character(*first, *count, number >> shift))
            });
            characters.collect()
        };
        let stream = grown(&STREAM, (GROUP << UNICODE_BEGINNINGS) + GROUP + length, groups);
        // Characters begin at bytes 0, 1, 3 and 6 of a group, and any length lies between two of these.
        let within = match length % GROUP {
            2 | 5 | 9 => 1,
            7 | 8 => 3,
            4 => 6,
            _ => 0,
        };
        let beginnings = UNICODE_BEGINNINGS;
        Texts { stream, length: length.into(), plus, beginnings, stride: GROUP, within, script: UNICODE }
    }

    /// Texts of letters of which LZ4 leaves about this share.
    #[must_use]
    pub fn compressible(self, share: f64) -> Texts {
        static STREAMS: Compressible<str> = Mutex::new(Vec::new());
        Texts { stream: compressible(&STREAMS, self.stream.as_bytes(), share, kept_text, str::len), ..self }
    }

    /// The text of `number`.
    #[inline]
    pub fn of(&self, number: u64) -> &'static str {
        let start = beginning(number, self.plus, self.beginnings) * self.stride + self.within;
        self.stream.get(start..start + self.length.of(number, self.plus)).unwrap_or_default()
    }

    /// The same texts with the number in their first characters.
    pub fn unique(self) -> UniqueTexts {
        let (mut distinct, mut digits, mut bytes) = (1u64, 0, 0);
        for (_, count, width) in self.characters() {
            let more = distinct.saturating_mul(*count);
            if bytes + width > self.length.least() || more > MOST_DISTINCT {
                break;
            }
            (distinct, digits, bytes) = (more, digits + 1, bytes + width);
        }
        let permutation = Permutation::new(distinct, STREAM_SEED);
        UniqueTexts { texts: self, permutation, digits, distinct }
    }

    /// The kinds of a text's characters, from its first one on and without end.
    fn characters(&self) -> impl Iterator<Item = &'static (u32, u64, usize)> {
        let first = match self.within {
            0 => 0,
            1 => 1,
            3 => 2,
            _ => 3,
        };
        self.script.iter().cycle().skip(first)
    }
}

/// Texts of which no two are the same.
#[derive(Clone, Copy, Debug)]
pub struct UniqueTexts {
    texts: Texts,
    permutation: Permutation,
    /// Characters that hold the number.
    digits: usize,
    /// How many numbers from 0 on have a text of their own.
    pub distinct: u64,
}

impl UniqueTexts {
    /// How many bytes they have.
    pub fn length(&self) -> Amount {
        self.texts.length
    }

    /// Puts the text of `number` into `room`, which has that length.
    pub fn of<'a>(&self, number: u64, room: &'a mut [u8]) -> &'a str {
        let room = filled(room, self.texts.of(number).as_bytes());
        let (mut rest, mut at) = (self.permutation.apply(number), 0);
        for (first, count, width) in self.texts.characters().take(self.digits) {
            if let Some(room) = room.get_mut(at..at + width) {
                character(*first, *count, rest).encode_utf8(room);
            }
            (rest, at) = (rest / count, at + width);
        }
        str::from_utf8(room).unwrap_or_default()
    }
}

/// As much of `room` as the bytes need, with them.
fn filled<'a>(room: &'a mut [u8], bytes: &[u8]) -> &'a mut [u8] {
    let (room, _) = room.split_at_mut(bytes.len().min(room.len()));
    room.iter_mut().zip(bytes).for_each(|(to, from)| *to = *from);
    room
}

/// The character of `count` from `first` on that `number` chooses.
fn character(first: u32, count: u64, number: u64) -> char {
    char::from_u32(first + (number % count) as u32).unwrap_or(char::REPLACEMENT_CHARACTER)
}

/// The stream, made longer if it is shorter than `needed`.
fn grown(stream: &Mutex<&'static str>, needed: usize, make: impl Fn(usize) -> String) -> &'static str {
    let mut stream = stream.lock().unwrap_or_else(PoisonError::into_inner);
    if stream.len() < needed {
        *stream = kept_text(make(needed).into_bytes());
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
    fn a_value_is_found_in_the_streams_and_a_copy_of_it_is_not() {
        let (blobs, texts) = (Blobs::new(100, 1), Texts::letters(100, 1));
        let (unicode, compressible) = (Texts::unicode(100, 1), Texts::letters(100, 1).compressible(0.4));
        let _longer = Texts::letters(3_000_000, 1);
        let streams = Streams::made();
        let all: Vec<u8> = streams.iter().flatten().copied().collect();
        for bytes in [blobs.of(7), texts.of(7).as_bytes(), unicode.of(7).as_bytes(), compressible.of(7).as_bytes()] {
            let at = streams.place(bytes).unwrap();
            assert_eq!(&all[at..at + bytes.len()], bytes);
            let copy = bytes.to_vec();
            assert_eq!(streams.place(&copy), None);
        }
    }

    #[test]
    fn a_value_stays_the_same_when_a_longer_one_made_the_stream_longer() {
        let (blob, text, unicode) = (Blobs::new(50, 1), Texts::letters(50, 1), Texts::unicode(50, 1));
        let before = (blob.of(9).to_vec(), text.of(9).to_owned(), unicode.of(9).to_owned());
        let _ = (Blobs::new(5_000_000, 1), Texts::letters(5_000_000, 1), Texts::unicode(5_000_000, 1));
        let (blob, text, unicode) = (Blobs::new(50, 1), Texts::letters(50, 1), Texts::unicode(50, 1));
        assert_eq!((blob.of(9), text.of(9), unicode.of(9)), (&*before.0, &*before.1, &*before.2));
    }

    /// FNV-1a over the values of the first numbers: another hash is another value.
    #[test]
    fn values_outside_of_primary_keys_stay_as_they_are() {
        let hash = |values: &mut dyn Iterator<Item = Vec<u8>>| {
            values.flatten().fold(0xcbf2_9ce4_8422_2325u64, |hash, byte| {
                (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3)
            })
        };
        let blobs = hash(&mut (0..100).map(|number| Blobs::new(33, 5).of(number).to_vec()));
        let texts = hash(&mut (0..100).map(|number| Texts::letters(33, 5).of(number).into()));
        let unicode = hash(&mut (0..100).map(|number| Texts::unicode(33, 5).of(number).into()));
        assert_eq!([blobs, texts, unicode], [0xf8ec_5b96_6d3b_0750, 0x816c_00d6_6131_4138, 0x7821_6f11_17ac_3ea6]);
    }

    /// Every number that a length tells apart is tried where these are few, and numbers from all over the range elsewhere.
    #[test]
    fn no_two_unique_values_of_any_length_are_the_same_and_each_is_of_its_length() {
        for length in 0..40 {
            let mut room = vec![0; length];
            let mut all = |distinct: u64, of: &mut dyn FnMut(u64, &mut [u8]) -> Vec<u8>| {
                let step = (distinct / 5_000).max(1);
                let numbers = (0..5_000u64).map(|number| number * step).take_while(|number| *number < distinct);
                let numbers: HashSet<u64> = numbers.chain((0..5_000).filter(|number| *number < distinct)).collect();
                let values: HashSet<Vec<u8>> = numbers.iter().map(|number| of(*number, &mut room)).collect();
                assert_eq!(values.len(), numbers.len(), "{length}");
                assert!(values.iter().all(|value| value.len() == length), "{length}");
            };
            let (letters, unicode) = (Texts::letters(length, 3).unique(), Texts::unicode(length, 3).unique());
            let blobs = Blobs::new(length, 3).unique();
            all(letters.distinct, &mut |number, room| letters.of(number, room).into());
            all(unicode.distinct, &mut |number, room| unicode.of(number, room).into());
            all(blobs.distinct, &mut |number, room| blobs.of(number, room).to_vec());
        }
        let distinct = [0, 1, 3].map(|length| Texts::letters(length, 0).unique().distinct);
        assert_eq!(distinct, [1, 26, 17_576]);
        assert_eq!([1, 2, 9].map(|length| Texts::unicode(length, 0).unique().distinct), [26, 32, 32 * 20_992 * 80]);
        assert_eq!([0, 2, 8].map(|length| Blobs::new(length, 0).unique().distinct), [1, 65_536, 1 << 63]);
        assert!(Texts::letters(40, 0).unique().distinct > 1 << 60);
    }

    /// The share that LZ4 leaves of values one after the other, as of a frame or a file.
    fn left<'a>(values: impl Iterator<Item = &'a [u8]>) -> f64 {
        let all: Vec<u8> = values.flatten().copied().collect();
        lz4_flex::block::compress(&all).len() as f64 / all.len() as f64
    }

    #[test]
    fn lz4_leaves_the_share_that_was_asked_for_of_one_long_value_and_of_many_short_ones() {
        for share in [0.05, 0.1, 0.25, 0.5, 0.75, 0.95] {
            let near = |found: f64, length: f64, what: &str| {
                // What is always the same is new once.
                let due = share + periods(share).1 as f64 / length;
                assert!((found - due).abs() < 0.035, "{what}: {found} instead of {due}");
            };
            for length in [4_096, 65_536] {
                let (texts, blobs) =
                    (Texts::letters(length, 3).compressible(share), Blobs::new(length, 3).compressible(share));
                near(left([texts.of(7).as_bytes()].into_iter()), length as f64, "a text");
                near(left([blobs.of(7)].into_iter()), length as f64, "a blob");
            }
            let (texts, blobs) = (Texts::letters(500, 3).compressible(share), Blobs::new(500, 3).compressible(share));
            near(left((0..30).map(|number| texts.of(number).as_bytes())), 15_000.0, "texts");
            near(left((0..30).map(|number| blobs.of(number))), 15_000.0, "blobs");
        }
        assert!(left([Blobs::new(65_536, 3).of(7)].into_iter()) > 0.99, "others do not compress");
    }

    #[test]
    fn values_that_compress_differ_have_their_length_and_are_unique_where_they_must_be() {
        let (texts, blobs) = (
            Texts::letters("uniform(200..300)".parse::<Amount>().unwrap(), 1).compressible(0.1),
            Blobs::new(9, 1).compressible(0.1),
        );
        let different: HashSet<&str> = (0..1_000).map(|number| texts.of(number)).collect();
        assert!(different.len() >= 997 && different.iter().all(|text| (200..=300).contains(&text.len())));
        let (texts, blobs, mut room) = (texts.unique(), blobs.unique(), vec![0; 300]);
        let texts: HashSet<String> = (0..5_000).map(|number| texts.of(number, &mut room).to_owned()).collect();
        let blobs: HashSet<Vec<u8>> = (0..5_000).map(|number| blobs.of(number, &mut room).to_vec()).collect();
        assert_eq!((texts.len(), blobs.len()), (5_000, 5_000));
        let before = Blobs::new(50, 1).compressible(0.3).of(9).to_vec();
        let _ = Blobs::new(5_000_000, 1).compressible(0.3);
        assert_eq!(Blobs::new(50, 1).compressible(0.3).of(9), before);
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
