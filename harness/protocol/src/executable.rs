//! The linker's build id of this executable. That of a worker covers load generator, adapter and their libraries.

use std::fs::File;
use std::path::Path;

use object::Endianness;
use object::elf::{ELF_NOTE_GNU, FileHeader64, NT_GNU_BUILD_ID};
use object::read::ReadCache;
use object::read::elf::{FileHeader, ProgramHeader};

/// The build id in this executable's notes, in hexadecimal. Empty if the linker wrote none (`--build-id`), or if the executable
/// is not ELF.
pub fn build_id() -> String {
    let id = std::env::current_exe().ok().and_then(|path| of(&path));
    id.unwrap_or_default().iter().map(|byte| format!("{byte:02x}")).collect()
}

fn of(executable: &Path) -> Option<Vec<u8>> {
    let file = ReadCache::new(File::open(executable).ok()?);
    let header = FileHeader64::<Endianness>::parse(&file).ok()?;
    let endian = header.endian().ok()?;
    // The symbols would fill the heap of the process that is measured.
    let mut segments = header.program_headers(endian, &file).ok()?.iter();
    segments.find_map(|segment| {
        let mut notes = segment.notes(endian, &file).ok()??;
        std::iter::from_fn(|| notes.next().ok().flatten())
            .find(|note| note.name() == ELF_NOTE_GNU && note.n_type(endian) == NT_GNU_BUILD_ID)
            .map(|note| note.desc().to_vec())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_build_id_of_this_executable_is_found_and_changes_with_it() {
        let own = std::env::current_exe().unwrap();
        let id = of(&own).unwrap();
        assert_eq!(build_id(), id.iter().map(|byte| format!("{byte:02x}")).collect::<String>());
        let bytes = std::fs::read(&own).unwrap();
        let at = bytes.windows(id.len()).position(|found| found == id).unwrap();
        let folder = tempfile::tempdir().unwrap();
        let other = folder.path().join("other");
        let changed = [&bytes[..at], &[!id[0]], &bytes[at + 1..]].concat();
        std::fs::write(&other, changed).unwrap();
        assert_eq!(of(&other), Some([&[!id[0]], &id[1..]].concat()));
    }

    #[test]
    fn files_that_are_cut_or_of_another_form_have_none() {
        let bytes = std::fs::read(std::env::current_exe().unwrap()).unwrap();
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("file");
        // Headers and notes lie at the beginning.
        for length in 0..300 {
            std::fs::write(&file, &bytes[..length]).unwrap();
            assert_eq!(of(&file), None, "{length}");
        }
        std::fs::write(&file, "#!/bin/sh\n").unwrap();
        assert_eq!(of(&file), None);
        assert_eq!(of(folder.path()), None);
    }
}
