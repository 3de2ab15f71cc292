//! The linker's build id of this executable, which covers load generator, adapter and their libraries.

use std::fs::File;
use std::os::unix::fs::FileExt;

const PT_NOTE: u32 = 4;
const NT_GNU_BUILD_ID: u32 = 3;
/// Notes are tens of bytes; a file that claims more is not read.
const MOST_NOTE_BYTES: u64 = 64 * 1024;

/// The build id in this executable's notes, in hexadecimal. Empty if the linker wrote none (`--build-id`), or if the executable
/// is not ELF64, little endian (System V ABI, "Program Header" and "Note Section").
pub(crate) fn build_id() -> String {
    let id = std::env::current_exe().ok().and_then(|path| File::open(path).ok()).and_then(|file| {
        read(|at, length| {
            let mut bytes = vec![0; length];
            file.read_exact_at(&mut bytes, at).ok().map(|()| bytes)
        })
    });
    id.unwrap_or_default().iter().map(|byte| format!("{byte:02x}")).collect()
}

fn read(at: impl Fn(u64, usize) -> Option<Vec<u8>>) -> Option<Vec<u8>> {
    let header = at(0, 64)?;
    if !header.starts_with(b"\x7fELF\x02\x01") {
        return None;
    }
    let (table, size, count) = (u64_at(&header, 32)?, u16_at(&header, 54)?, u16_at(&header, 56)?);
    (0..u64::from(count)).find_map(|index| {
        let entry = at(table.checked_add(index * u64::from(size))?, 56)?;
        let (kind, start, length) = (u32_at(&entry, 0)?, u64_at(&entry, 8)?, u64_at(&entry, 32)?);
        (kind == PT_NOTE && length <= MOST_NOTE_BYTES).then(|| in_notes(&at(start, length as usize)?)).flatten()
    })
}

/// The first build id among notes: sizes of name and description, type, then both, each padded to 4 bytes.
fn in_notes(mut notes: &[u8]) -> Option<Vec<u8>> {
    loop {
        let (name, description) = (u32_at(notes, 0)? as usize, u32_at(notes, 4)? as usize);
        let begin = 12 + name.next_multiple_of(4);
        let found = notes.get(begin..begin.checked_add(description)?)?;
        if u32_at(notes, 8)? == NT_GNU_BUILD_ID && notes.get(12..12 + name)? == b"GNU\0" {
            return Some(found.to_vec());
        }
        notes = notes.get(begin + description.next_multiple_of(4)..)?;
    }
}

fn bytes_at<const N: usize>(bytes: &[u8], at: usize) -> Option<[u8; N]> {
    bytes.get(at..at + N)?.try_into().ok()
}

fn u16_at(bytes: &[u8], at: usize) -> Option<u16> {
    bytes_at(bytes, at).map(u16::from_le_bytes)
}

fn u32_at(bytes: &[u8], at: usize) -> Option<u32> {
    bytes_at(bytes, at).map(u32::from_le_bytes)
}

fn u64_at(bytes: &[u8], at: usize) -> Option<u64> {
    bytes_at(bytes, at).map(u64::from_le_bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn note(kind: u32, name: &[u8], description: &[u8]) -> Vec<u8> {
        let mut note = Vec::new();
        for number in [name.len() as u32, description.len() as u32, kind] {
            note.extend(number.to_le_bytes());
        }
        for part in [name, description] {
            note.extend(part);
            note.resize(note.len().next_multiple_of(4), 0);
        }
        note
    }

    #[test]
    fn the_build_id_is_found_among_other_notes() {
        let notes =
            [note(1, b"GNU\0", b"abi"), note(3, b"Go\0", b"other"), note(3, b"GNU\0", b"\x01\xfe\x07")].concat();
        assert_eq!(in_notes(&notes), Some(b"\x01\xfe\x07".to_vec()));
    }

    #[test]
    fn notes_cut_anywhere_and_files_of_another_form_have_none() {
        let notes = [note(1, b"GNU\0", b"abi"), note(3, b"GNU\0", b"12345678")].concat();
        for length in 0..notes.len() {
            assert_eq!(in_notes(&notes[..length]), None, "{length}");
        }
        assert_eq!(read(|_, length| Some(vec![0; length])), None);
        assert_eq!(read(|_, _| None), None);
        let elf = |at: u64, length: usize| {
            let mut bytes = vec![0xff; length];
            if at == 0 {
                bytes[..6].copy_from_slice(b"\x7fELF\x02\x01");
            }
            Some(bytes)
        };
        assert_eq!(read(elf), None);
    }
}
