//! The file in which a worker's allocations are counted.
//!
//! The supervisor makes it ([`create`]) and names it in the environment variable [`VARIABLE`]. The interposer, loaded into the
//! worker, maps it, writes [`MAGIC`] and its process id, and counts. The supervisor reads it ([`read`]) at any time.
//!
//! All numbers are `u64` in the machine's byte order. A header of [`LINE`] bytes has the magic, the process id and the number
//! of threads that have allocated. [`SLOTS`] slots of as many bytes follow. Each thread adds to the slot of its number modulo
//! [`SLOTS`], so that threads rarely share a cache line.

use std::fs::{File, OpenOptions};
use std::io;
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::Path;

/// The environment variable that names the file.
pub const VARIABLE: &str = "CQLDYNO_ALLOCATIONS";

/// What the interposer writes first: `cqldyno` and the version of this form.
pub const MAGIC: u64 = u64::from_be_bytes(*b"cqldyno\x01");

/// Bytes of a cache line: of the header, and of each slot after it.
pub const LINE: usize = 64;
/// Slots.
pub const SLOTS: usize = 256;
/// Bytes of the file.
pub const AREA_BYTES: usize = LINE + SLOTS * LINE;

/// The number of the header's word with the magic.
pub const WORD_MAGIC: usize = 0;
/// The number of the header's word with the process id.
pub const WORD_PID: usize = 1;
/// The number of the header's word with the number of threads.
pub const WORD_THREADS: usize = 2;

/// The number of a slot's word with its allocations.
pub const WORD_ALLOCATIONS: usize = 0;
/// The number of a slot's word with the bytes that were asked for.
pub const WORD_BYTES: usize = 1;
/// The number of a slot's word with what was given back.
pub const WORD_FREES: usize = 2;

/// What was counted up to one moment.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// The process that counts; `None` where the library has not been loaded.
    pub pid: Option<u64>,
    /// Its threads that have allocated so far.
    pub threads: u64,
    /// Allocations; a `realloc` is one, and gives one back.
    pub allocations: u64,
    /// Bytes that they asked for.
    pub bytes: u64,
    /// Allocations that were given back.
    pub frees: u64,
}

/// Makes the file, empty and readable by this user only.
///
/// # Errors
/// When it is there already or cannot be made.
pub fn create(path: &Path) -> io::Result<File> {
    let file = OpenOptions::new().read(true).write(true).create_new(true).mode(0o600).open(path)?;
    file.set_len(AREA_BYTES as u64)?;
    Ok(file)
}

/// What stands in it now.
///
/// # Errors
/// When it cannot be read, or is shorter than it should be.
pub fn read(file: &File) -> io::Result<Counts> {
    let mut area = vec![0; AREA_BYTES];
    file.read_exact_at(&mut area, 0)?;
    let (header, slots) = area.split_at(LINE);
    let sum = |word: usize| slots.chunks_exact(LINE).map(|slot| word_of(slot, word)).fold(0, u64::wrapping_add);
    Ok(Counts {
        pid: (word_of(header, WORD_MAGIC) == MAGIC).then(|| word_of(header, WORD_PID)),
        threads: word_of(header, WORD_THREADS),
        allocations: sum(WORD_ALLOCATIONS),
        bytes: sum(WORD_BYTES),
        frees: sum(WORD_FREES),
    })
}

fn word_of(line: &[u8], word: usize) -> u64 {
    line.chunks_exact(8).nth(word).and_then(|bytes| bytes.try_into().ok()).map_or(0, u64::from_ne_bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Removed(std::path::PathBuf);

    impl Drop for Removed {
        fn drop(&mut self) {
            let _ = std::fs::remove_file(&self.0);
        }
    }

    #[test]
    fn slots_are_summed_and_nothing_is_claimed_before_the_magic_is_there() {
        let path = std::env::temp_dir().join(format!("cqldyno-area-test-{}", std::process::id()));
        let path = Removed(path);
        let file = create(&path.0).unwrap();
        assert_eq!(read(&file).unwrap(), Counts::default());
        assert!(create(&path.0).is_err(), "a file that is there is not taken over");
        let put = |at: usize, value: u64| file.write_all_at(&value.to_ne_bytes(), at as u64).unwrap();
        put(8 * WORD_PID, 77);
        for (slot, count) in [(0, 3), (SLOTS - 1, 4)] {
            let at = LINE + slot * LINE;
            put(at + 8 * WORD_ALLOCATIONS, count);
            put(at + 8 * WORD_BYTES, 100 * count);
            put(at + 8 * WORD_FREES, 1);
        }
        let before = read(&file).unwrap();
        assert_eq!(before, Counts { pid: None, threads: 0, allocations: 7, bytes: 700, frees: 2 });
        put(8 * WORD_MAGIC, MAGIC);
        assert_eq!(read(&file).unwrap().pid, Some(77));
    }
}
