//! An executable file, so that another build is noticed.

use std::fs::{self, File};
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use sha2::{Digest, Sha256};

/// An executable as it was when it was read.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Executable {
    /// SHA-256 of its bytes in hexadecimal; empty when it could not be read.
    pub hash: String,
    /// Device, inode, length and time of the last change: whether it is still the same file, without reading it.
    stamp: Option<(u64, u64, u64, i64, i64)>,
}

impl Executable {
    pub(crate) fn read(path: &Path) -> Executable {
        Executable { hash: hash(path).unwrap_or_default(), stamp: stamp(path) }
    }

    /// Whether there is another file now.
    pub(crate) fn changed(&self, path: &Path) -> bool {
        self.stamp.is_some() && stamp(path) != self.stamp
    }

    /// For messages.
    pub(crate) fn name(&self) -> String {
        self.hash.get(..12).unwrap_or("unknown").to_owned()
    }
}

fn stamp(path: &Path) -> Option<(u64, u64, u64, i64, i64)> {
    let found = fs::metadata(path).ok()?;
    Some((found.dev(), found.ino(), found.len(), found.mtime(), found.mtime_nsec()))
}

fn hash(path: &Path) -> io::Result<String> {
    let mut file = File::open(path)?;
    let mut hasher = Sha256::new();
    let mut buffer = vec![0; 1 << 20];
    loop {
        match io::Read::read(&mut file, &mut buffer)? {
            0 => break,
            read => hasher.update(&buffer[..read]),
        }
    }
    Ok(hasher.finalize().iter().map(|byte| format!("{byte:02x}")).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn another_file_under_the_name_is_noticed_and_has_another_hash() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("worker");
        fs::write(&path, "abc").unwrap();
        let first = Executable::read(&path);
        assert_eq!(first.hash, "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
        assert!(!first.changed(&path));
        fs::write(&path, "abcd").unwrap();
        assert!(first.changed(&path));
        assert_ne!(Executable::read(&path).hash, first.hash);
        fs::remove_file(&path).unwrap();
        assert!(first.changed(&path));
        assert_eq!(Executable::read(&path).name(), "unknown");
    }
}
