//! From a partition key's hash to where it is stored: an open-addressing table that is sorted at all times.
//!
//! A slot is eight bytes: 32 bits of hash above 32 bits of reference, so that growing reads no record. The home of a hash is
//! its place among all hashes, and entries that share a run of slots stay sorted by hash (linear probing sort; Gonnet and
//! Munro, "The analysis of linear probing sort by the use of a new mathematical transform", 1984). So a walk through the
//! slots is in token order and survives growth, and a search ends at the first greater hash.
//!
//! The hash is the partition's token, which the protocol fixes, so it cannot have a random seed. A client that chooses keys of
//! near tokens slows its own table down; the node serves only this machine, on loopback.

use super::{StorageFull, Stored};

/// The fewest slots, as a power of two.
const LEAST_BITS: u32 = 6;

/// The table doubles when more than this many quarters of it are full.
const FULL_QUARTERS: usize = 3;

/// The greatest reference beside the mark for an empty slot.
const GREATEST_REFERENCE: u32 = u32::MAX - 1;

#[derive(Debug)]
pub struct Index {
    /// `2^bits` homes, then the slots that the last run needs. 0 is empty, and the last slot always is.
    slots: Vec<u64>,
    bits: u32,
    len: usize,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Lookup {
    /// At this slot, which holds this reference.
    At(usize, u32),
    /// Nowhere; an entry of this hash belongs into this slot.
    Belongs(usize),
}

impl Index {
    /// With room for `rows` entries, whose memory will cause no page fault.
    pub fn with_room_for(rows: usize) -> Self {
        let mut bits = LEAST_BITS;
        while bits < 32 && (1usize << bits) / 4 * FULL_QUARTERS < rows {
            bits += 1;
        }
        let len = slots_of(bits);
        let mut slots = vec![u64::from(rows > 0); len];
        slots.fill(0);
        Index { slots, bits, len: 0 }
    }

    #[inline]
    fn home(&self, hash: u32) -> usize {
        ((u64::from(hash) << self.bits) >> 32) as usize
    }

    /// The content of the slot where a search for `hash` begins: loading it early lets cache misses overlap.
    #[inline]
    pub fn touch(&self, hash: u32) -> u64 {
        self.slots.get(self.home(hash)).copied().unwrap_or(0)
    }

    /// The first entry with this hash, most often the only one.
    #[inline]
    pub fn candidate(&self, hash: u32) -> Option<u32> {
        match self.find(hash, |_| true) {
            Lookup::At(_, reference) => Some(reference),
            Lookup::Belongs(_) => None,
        }
    }

    /// Looks for the entry of `hash` whose reference passes `is_it`.
    #[inline]
    pub fn find(&self, hash: u32, mut is_it: impl FnMut(u32) -> bool) -> Lookup {
        let mut at = self.home(hash);
        loop {
            let slot = self.slots.get(at).copied().unwrap_or(0);
            let slot_hash = (slot >> 32) as u32;
            if slot == 0 || slot_hash > hash {
                return Lookup::Belongs(at);
            }
            if slot_hash == hash {
                let reference = reference_of(slot);
                if is_it(reference) {
                    return Lookup::At(at, reference);
                }
            }
            at += 1;
        }
    }

    /// Adds an entry at the place that [`Index::find`] has just returned.
    #[inline]
    pub fn insert(&mut self, hash: u32, belongs: usize, reference: u32) -> Stored {
        if reference > GREATEST_REFERENCE {
            return Err(StorageFull);
        }
        let mut at = belongs;
        if self.len >= (1usize << self.bits) / 4 * FULL_QUARTERS && self.bits < 32 {
            self.grow();
            if let Lookup::Belongs(place) = self.find(hash, |_| false) {
                at = place;
            }
        }
        let mut carried = slot_of(hash, reference);
        loop {
            match self.slots.get_mut(at) {
                Some(slot) => carried = std::mem::replace(slot, carried),
                None => self.slots.push(std::mem::take(&mut carried)),
            }
            if carried == 0 {
                break;
            }
            at += 1;
        }
        if self.slots.last() != Some(&0) {
            self.slots.push(0);
        }
        self.len += 1;
        Ok(())
    }

    pub fn set(&mut self, at: usize, reference: u32) -> Stored {
        if reference > GREATEST_REFERENCE {
            return Err(StorageFull);
        }
        if let Some(slot) = self.slots.get_mut(at) {
            *slot = slot_of((*slot >> 32) as u32, reference);
        }
        Ok(())
    }

    fn grow(&mut self) {
        self.bits += 1;
        let mut slots = vec![0u64; slots_of(self.bits)];
        let mut next = 0;
        for slot in std::mem::take(&mut self.slots).into_iter().filter(|slot| *slot != 0) {
            let at = next.max(self.home((slot >> 32) as u32));
            if at + 1 >= slots.len() {
                slots.resize(at + 2, 0);
            }
            slots[at] = slot;
            next = at + 1;
        }
        self.slots = slots;
    }

    /// The entries from `hash` on, in ascending order of hash: pairs of hash and reference.
    pub fn from(&self, hash: u32) -> impl Iterator<Item = (u32, u32)> {
        let start = self.home(hash).min(self.slots.len());
        self.slots[start..]
            .iter()
            .filter(move |slot| **slot != 0 && (**slot >> 32) as u32 >= hash)
            .map(|slot| ((*slot >> 32) as u32, reference_of(*slot)))
    }
}

fn slots_of(bits: u32) -> usize {
    // The last run reaches past the last home, seldom by more than this.
    (1usize << bits) + 64
}

#[inline]
fn slot_of(hash: u32, reference: u32) -> u64 {
    (u64::from(hash) << 32) | u64::from(reference + 1)
}

#[inline]
fn reference_of(slot: u64) -> u32 {
    (slot as u32).wrapping_sub(1)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;

    fn insert(index: &mut Index, hash: u32, reference: u32) {
        let Lookup::Belongs(at) = index.find(hash, |r| r == reference) else { panic!("{hash} is there already") };
        index.insert(hash, at, reference).unwrap();
    }

    #[test]
    fn entries_are_found_and_walked_in_order_through_growth() {
        let mut index = Index::with_room_for(0);
        let mut model = BTreeMap::<u32, Vec<u32>>::new();
        let mut state = 1u64;
        for reference in 0..20_000u32 {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            // Few enough distinct hashes that many are equal, some of them at the very ends.
            let hash = match reference % 50 {
                0 => 0,
                1 => u32::MAX,
                _ => ((state >> 40) as u32) << 8,
            };
            insert(&mut index, hash, reference);
            model.entry(hash).or_default().push(reference);
        }
        assert_eq!(index.len, 20_000);
        for (hash, references) in &model {
            for reference in references {
                assert!(matches!(index.find(*hash, |r| r == *reference), Lookup::At(_, r) if r == *reference));
            }
            assert!(matches!(index.find(*hash, |_| false), Lookup::Belongs(_)));
        }
        for from in [0, 1, 1 << 31, u32::MAX] {
            let mut walked: Vec<_> = index.from(from).collect();
            assert!(walked.is_sorted_by_key(|(hash, _)| *hash));
            walked.sort_unstable();
            let expected: Vec<_> = model.range(from..).flat_map(|(h, rs)| rs.iter().map(move |r| (*h, *r))).collect();
            assert_eq!(walked, expected);
        }
    }

    #[test]
    fn keys_that_all_collide_do_not_double_the_table_without_end() {
        let mut index = Index::with_room_for(0);
        for reference in 0..1_000 {
            insert(&mut index, u32::MAX, reference);
        }
        assert!(index.slots.len() < 4_000, "{}", index.slots.len());
        assert_eq!(index.from(0).count(), 1_000);
    }

    #[test]
    fn room_asked_for_is_room_without_growth() {
        let mut index = Index::with_room_for(10_000);
        let bits = index.bits;
        for i in 0..10_000u32 {
            insert(&mut index, i.wrapping_mul(2_654_435_761), i);
        }
        assert_eq!(index.bits, bits);
    }
}
