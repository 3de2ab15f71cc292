//! What can be said of a program beforehand: whether a library can be loaded into it, and whether its memory comes from the C library.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::path::Path;

/// PT_INTERP: the program asks for a dynamic loader.
const PT_INTERP: u32 = 3;
/// What Go's linker puts into every program.
const GO_SECTION: &[u8] = b".go.buildinfo\0";
/// Names of sections take kilobytes; a file that claims more is not read.
const MOST_NAME_BYTES: u64 = 1 << 20;

/// A program's form.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Program {
    /// A dynamic loader loads it.
    Dynamic,
    /// Nothing is loaded into it.
    Static,
    /// Go's runtime has an allocator of its own.
    Go,
    /// Another form than ELF64, little endian.
    Unknown,
}

impl Program {
    /// The form of the program at `path` (System V ABI, "Program Header" and "Sections").
    pub(super) fn at(path: &Path) -> io::Result<Program> {
        let file = File::open(path)?;
        Ok(of(|at, length| {
            let mut bytes = vec![0; length];
            file.read_exact_at(&mut bytes, at).ok().map(|()| bytes)
        }))
    }
}

fn of(at: impl Fn(u64, usize) -> Option<Vec<u8>>) -> Program {
    let Some(header) = at(0, 64).filter(|header| header.starts_with(b"\x7fELF\x02\x01")) else {
        return Program::Unknown;
    };
    if names_of_sections(&header, &at).is_some_and(|names| contains(&names, GO_SECTION)) {
        return Program::Go;
    }
    let (table, size, count) = (number(&header, 32, 8), number(&header, 54, 2), number(&header, 56, 2));
    let kinds = (0..count).filter_map(|index| at(table.checked_add(index * size)?, 4));
    match kinds.into_iter().any(|kind| number(&kind, 0, 4) == u64::from(PT_INTERP)) {
        true => Program::Dynamic,
        false => Program::Static,
    }
}

fn names_of_sections(header: &[u8], at: impl Fn(u64, usize) -> Option<Vec<u8>>) -> Option<Vec<u8>> {
    let (table, size, index) = (number(header, 40, 8), number(header, 58, 2), number(header, 62, 2));
    let section = at(table.checked_add(index * size)?, 64)?;
    let (start, length) = (number(&section, 24, 8), number(&section, 32, 8));
    (length <= MOST_NAME_BYTES).then(|| at(start, length as usize)).flatten()
}

fn contains(bytes: &[u8], wanted: &[u8]) -> bool {
    bytes.windows(wanted.len()).any(|window| window == wanted)
}

/// The little-endian number of `length` bytes at `at`; 0 where there is none.
fn number(bytes: &[u8], at: usize, length: usize) -> u64 {
    bytes.get(at..at + length).map_or(0, |bytes| bytes.iter().rev().fold(0, |sum, byte| sum << 8 | u64::from(*byte)))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// An executable with these kinds of program headers and these section names.
    fn elf(kinds: &[u32], names: &[u8]) -> Vec<u8> {
        let mut file = b"\x7fELF\x02\x01".to_vec();
        file.resize(64, 0);
        let put = |file: &mut Vec<u8>, at: usize, bytes: &[u8]| file[at..at + bytes.len()].copy_from_slice(bytes);
        let sections = 64 + 56 * kinds.len();
        put(&mut file, 32, &64_u64.to_le_bytes());
        put(&mut file, 54, &56_u16.to_le_bytes());
        put(&mut file, 56, &(kinds.len() as u16).to_le_bytes());
        put(&mut file, 40, &(sections as u64).to_le_bytes());
        put(&mut file, 58, &64_u16.to_le_bytes());
        for kind in kinds {
            let start = file.len();
            file.resize(start + 56, 0);
            put(&mut file, start, &kind.to_le_bytes());
        }
        file.resize(sections + 64, 0);
        put(&mut file, sections + 24, &(sections as u64 + 64).to_le_bytes());
        put(&mut file, sections + 32, &(names.len() as u64).to_le_bytes());
        file.extend(names);
        file
    }

    fn form(file: &[u8]) -> Program {
        of(|at, length| Some(file.get(at as usize..)?.get(..length)?.to_vec()))
    }

    #[test]
    fn dynamic_static_and_go_programs_are_told_apart() {
        assert_eq!(form(&elf(&[1, 6, 3], b"\0.text\0")), Program::Dynamic);
        assert_eq!(form(&elf(&[1, 6], b"\0.text\0")), Program::Static);
        assert_eq!(form(&elf(&[1, 3], b"\0.text\0.go.buildinfo\0")), Program::Go);
        assert_eq!(form(b"#!/bin/sh\n"), Program::Unknown);
        assert_eq!(Program::at(&std::env::current_exe().unwrap()).unwrap(), Program::Dynamic);
    }

    #[test]
    fn a_program_cut_anywhere_is_read_without_a_crash() {
        let whole = elf(&[1, 3], b"\0.text\0");
        for length in 0..whole.len() {
            form(&whole[..length]);
        }
    }
}
