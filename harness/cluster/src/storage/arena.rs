//! Memory for records: chunks that fill from front to end, and lists of free places.

use std::collections::HashMap;

use super::{StorageFull, Stored};

/// Bytes of a chunk. Larger chunks cost page faults during inserts (4 MiB: 125 ns per insert), smaller ones a longer list.
pub const CHUNK_LEN: usize = 256 * 1024;

/// Records start at multiples of this; an address counts them.
pub const WORD: usize = 8;

/// Up to this many words a record takes only what it needs.
const EXACT_WORDS: usize = 64;

const CHUNK_WORDS: usize = CHUNK_LEN / WORD;
const CHUNK_WORDS_LOG2: u32 = CHUNK_WORDS.trailing_zeros();
const GREATEST_CHUNK: usize = (u32::MAX >> CHUNK_WORDS_LOG2) as usize - 1;

#[derive(Debug, Default)]
pub struct Arena {
    chunks: Vec<Box<[u8]>>,
    filling: Option<usize>,
    filled_words: usize,
    free: HashMap<usize, Vec<u32>>,
    /// Numbers of chunks that are free as a whole.
    free_chunks: Vec<usize>,
    /// Chunks without page faults, for use before new ones.
    touched: Vec<Box<[u8]>>,
}

/// Words that hold this many bytes. Long records are rounded up further, so that a freed place fits the next one.
#[inline]
pub fn words_for(len: usize) -> usize {
    let words = len.div_ceil(WORD);
    if words <= EXACT_WORDS { words } else { words.next_multiple_of(words.next_power_of_two() / 8) }
}

impl Arena {
    /// With `len` bytes that will cause no page fault.
    pub fn with_room_for(len: usize) -> Self {
        let touched = (0..len.div_ceil(CHUNK_LEN)).map(|_| {
            let mut chunk = vec![1u8; CHUNK_LEN];
            chunk.fill(0);
            chunk.into_boxed_slice()
        });
        Arena { touched: touched.collect(), ..Arena::default() }
    }

    /// A place of [`words_for`] words, with undefined content.
    #[inline]
    pub fn allocate(&mut self, words: usize) -> Stored<u32> {
        if words > CHUNK_WORDS {
            return self.allocate_alone(words);
        }
        if !self.free.is_empty()
            && let Some(address) = self.free.get_mut(&words).and_then(Vec::pop)
        {
            return Ok(address);
        }
        let chunk = match self.filling {
            Some(chunk) if self.filled_words + words <= CHUNK_WORDS => chunk,
            _ => self.start_chunk()?,
        };
        let address = ((chunk as u32) << CHUNK_WORDS_LOG2) + self.filled_words as u32;
        self.filled_words += words;
        Ok(address)
    }

    #[cold]
    fn start_chunk(&mut self) -> Stored<usize> {
        let chunk = self.touched.pop().unwrap_or_else(|| vec![0; CHUNK_LEN].into_boxed_slice());
        let number = self.add(chunk)?;
        self.filling = Some(number);
        self.filled_words = 0;
        Ok(number)
    }

    #[cold]
    fn allocate_alone(&mut self, words: usize) -> Stored<u32> {
        let number = self.add(vec![0; words * WORD].into_boxed_slice())?;
        Ok((number as u32) << CHUNK_WORDS_LOG2)
    }

    fn add(&mut self, chunk: Box<[u8]>) -> Stored<usize> {
        if let Some(number) = self.free_chunks.pop() {
            self.chunks[number] = chunk;
            return Ok(number);
        }
        let number = self.chunks.len();
        if number > GREATEST_CHUNK {
            return Err(StorageFull);
        }
        self.chunks.push(chunk);
        Ok(number)
    }

    pub fn free(&mut self, address: u32, words: usize) {
        if words > CHUNK_WORDS {
            let number = (address >> CHUNK_WORDS_LOG2) as usize;
            self.chunks[number] = Box::default();
            self.free_chunks.push(number);
        } else {
            self.free.entry(words).or_default().push(address);
        }
    }

    #[inline]
    pub fn get(&self, address: u32) -> &[u8] {
        &self.chunks[(address >> CHUNK_WORDS_LOG2) as usize][(address as usize % CHUNK_WORDS) * WORD..]
    }

    #[inline]
    pub fn get_mut(&mut self, address: u32) -> &mut [u8] {
        &mut self.chunks[(address >> CHUNK_WORDS_LOG2) as usize][(address as usize % CHUNK_WORDS) * WORD..]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn records_do_not_overlap_and_come_back() {
        let mut arena = Arena::default();
        let mut placed = Vec::new();
        for i in 0..50_000usize {
            let words = 1 + i % 40;
            let address = arena.allocate(words).unwrap();
            arena.get_mut(address)[..words * WORD].fill(i as u8);
            placed.push((address, words, i as u8));
        }
        for (address, words, fill) in &placed {
            assert!(arena.get(*address)[..words * WORD].iter().all(|byte| byte == fill));
        }
        let chunks = arena.chunks.len();
        for (address, words, _) in placed.drain(..) {
            arena.free(address, words);
        }
        for i in 0..50_000usize {
            arena.allocate(1 + i % 40).unwrap();
        }
        assert_eq!(arena.chunks.len(), chunks);
    }

    #[test]
    fn a_record_longer_than_a_chunk_stands_alone_and_its_memory_is_given_back() {
        let mut arena = Arena::default();
        let words = words_for(CHUNK_LEN + 1);
        let address = arena.allocate(words).unwrap();
        assert_eq!(arena.get(address).len(), words * WORD);
        arena.free(address, words);
        assert_eq!(arena.chunks[0].len(), 0);
        let again = arena.allocate(words).unwrap();
        assert_eq!(again, address);
    }

    #[test]
    fn room_asked_for_is_used_first() {
        let mut arena = Arena::with_room_for(CHUNK_LEN + 1);
        assert_eq!(arena.touched.len(), 2);
        arena.allocate(1).unwrap();
        assert_eq!(arena.touched.len(), 1);
    }
}
