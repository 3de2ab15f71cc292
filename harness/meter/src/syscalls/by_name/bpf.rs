//! bpf(2): a program and the array that it counts into, without any library. This is the only file of the crate with `unsafe`.
#![allow(unsafe_code, reason = "bpf(2) has no safe wrapper; each block says why it is sound")]

use std::ffi::CStr;
use std::io;
use std::mem::offset_of;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd, RawFd};

const BPF_MAP_CREATE: libc::c_int = 0;
const BPF_MAP_LOOKUP_ELEM: libc::c_int = 1;
const BPF_PROG_LOAD: libc::c_int = 5;
const BPF_OBJ_GET_INFO_BY_FD: libc::c_int = 15;
const BPF_RAW_TRACEPOINT_OPEN: libc::c_int = 17;

const BPF_MAP_TYPE_ARRAY: u32 = 2;
const BPF_PROG_TYPE_RAW_TRACEPOINT: u32 = 17;

/// `struct bpf_insn` of linux/bpf.h.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Instruction {
    pub(crate) code: u8,
    /// The destination register in the low four bits, the source in the high ones (the other way round on big-endian machines).
    pub(crate) registers: u8,
    pub(crate) offset: i16,
    pub(crate) immediate: i32,
}

/// An array map with one element of 64-bit numbers, which programs count into.
#[derive(Debug)]
pub(crate) struct Counts {
    map: OwnedFd,
    numbers: usize,
}

impl Counts {
    /// An array of `numbers` zeros.
    pub(crate) fn new(numbers: usize) -> io::Result<Counts> {
        #[repr(C)]
        struct Attributes {
            map_type: u32,
            key_size: u32,
            value_size: u32,
            max_entries: u32,
        }
        let too_many = |_| io::Error::from(io::ErrorKind::InvalidInput);
        let mut attributes = Attributes {
            map_type: BPF_MAP_TYPE_ARRAY,
            key_size: size_of::<u32>() as u32,
            value_size: u32::try_from(numbers.saturating_mul(size_of::<u64>())).map_err(too_many)?,
            max_entries: 1,
        };
        // SAFETY: this command reads the attributes only, which hold no pointer.
        let map = owned(unsafe { bpf(BPF_MAP_CREATE, &mut attributes) })?;
        Ok(Counts { map, numbers })
    }

    /// The map's file descriptor, as a program's instructions name it.
    pub(crate) fn descriptor(&self) -> i32 {
        self.map.as_raw_fd()
    }

    pub(crate) fn read(&self) -> io::Result<Vec<u64>> {
        #[repr(C)]
        struct Attributes {
            map: u32,
            padding: u32,
            key: u64,
            value: u64,
            flags: u64,
        }
        let key = 0u32;
        let mut numbers = vec![0u64; self.numbers];
        let mut attributes = Attributes {
            map: self.map.as_raw_fd().cast_unsigned(),
            padding: 0,
            key: (&raw const key).expose_provenance() as u64,
            value: numbers.as_mut_ptr().expose_provenance() as u64,
            flags: 0,
        };
        // SAFETY: the kernel reads a key of 4 bytes, which `key` is, and writes as many bytes as the map's value has. `numbers` has
        // as many, because both were made from the same number. Both outlive the call.
        done(unsafe { bpf(BPF_MAP_LOOKUP_ELEM, &mut attributes) })?;
        Ok(numbers)
    }
}

/// A program of the type raw tracepoint that the kernel has accepted.
#[derive(Debug)]
pub(crate) struct Program(OwnedFd);

impl Program {
    /// Loads the program; `log` takes what the kernel's verifier says of it.
    pub(crate) fn load(instructions: &[Instruction], log: Option<&mut [u8]>) -> io::Result<Program> {
        const LICENSE: &CStr = c"Apache-2.0";
        #[repr(C)]
        struct Attributes {
            kind: u32,
            instruction_count: u32,
            instructions: u64,
            license: u64,
            log_level: u32,
            log_size: u32,
            log: u64,
            kernel_version: u32,
            flags: u32,
            name: [u8; 16],
        }
        let (log_level, log_size, log) = match log {
            Some(log) => (1, log.len() as u32, log.as_mut_ptr().expose_provenance() as u64),
            None => (0, 0, 0),
        };
        let mut attributes = Attributes {
            kind: BPF_PROG_TYPE_RAW_TRACEPOINT,
            instruction_count: instructions.len() as u32,
            instructions: instructions.as_ptr().expose_provenance() as u64,
            license: LICENSE.as_ptr().expose_provenance() as u64,
            log_level,
            log_size,
            log,
            kernel_version: 0,
            flags: 0,
            name: *b"cqldyno_calls\0\0\0",
        };
        // SAFETY: the kernel reads `instruction_count` instructions, which are repr(C) as it has them, and a zero-terminated
        // license, and writes at most `log_size` bytes of the log. All of them outlive the call, and it keeps none.
        owned(unsafe { bpf(BPF_PROG_LOAD, &mut attributes) }).map(Program)
    }

    /// Runs the program at the tracepoint `name` from now on, on every core and for every process, until the returned descriptor
    /// is closed.
    pub(crate) fn attach(&self, name: &CStr) -> io::Result<OwnedFd> {
        #[repr(C)]
        struct Attributes {
            name: u64,
            program: u32,
            padding: u32,
        }
        let mut attributes = Attributes {
            name: name.as_ptr().expose_provenance() as u64,
            program: self.0.as_raw_fd().cast_unsigned(),
            padding: 0,
        };
        // SAFETY: the kernel reads a zero-terminated name that outlives the call, and keeps no reference to it.
        owned(unsafe { bpf(BPF_RAW_TRACEPOINT_OPEN, &mut attributes) })
    }

    /// How often the kernel skipped the program because it ran already on that core; `None` before Linux 5.12.
    pub(crate) fn skipped(&self) -> io::Result<Option<u64>> {
        /// `struct bpf_prog_info` as far as `recursion_misses`.
        #[repr(C)]
        struct Information {
            before: [u64; 26],
            recursion_misses: u64,
        }
        #[repr(C)]
        struct Attributes {
            program: u32,
            length: u32,
            information: u64,
        }
        let mut information = Information { before: [0; 26], recursion_misses: 0 };
        let mut attributes = Attributes {
            program: self.0.as_raw_fd().cast_unsigned(),
            length: size_of::<Information>() as u32,
            information: (&raw mut information).expose_provenance() as u64,
        };
        // SAFETY: the kernel writes at most `length` bytes at `information`, which has so many, and the true length into the
        // attributes, which are ours. Every pointer within the zeroed structure is null, with a length of 0.
        done(unsafe { bpf(BPF_OBJ_GET_INFO_BY_FD, &mut attributes) })?;
        let told = attributes.length as usize > offset_of!(Information, recursion_misses);
        Ok(told.then_some(information.recursion_misses))
    }
}

fn owned(result: libc::c_long) -> io::Result<OwnedFd> {
    match RawFd::try_from(result) {
        // SAFETY: the kernel has just given us this descriptor, it is open, and nothing else owns it.
        Ok(fd) if fd >= 0 => Ok(unsafe { OwnedFd::from_raw_fd(fd) }),
        _ => Err(io::Error::last_os_error()),
    }
}

fn done(result: libc::c_long) -> io::Result<()> {
    if result < 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
}

/// bpf(2).
///
/// # Safety
/// `T` is repr(C), has no padding and begins as `union bpf_attr` does for `command`. Its pointers are valid for `command`, and any
/// bytes that the kernel writes into it are a value of it.
unsafe fn bpf<T>(command: libc::c_int, attributes: &mut T) -> libc::c_long {
    // SAFETY: the kernel reads and writes `size_of::<T>()` bytes of a live structure; the rest is the caller's promise.
    unsafe { libc::syscall(libc::SYS_bpf, command, &raw mut *attributes, size_of::<T>() as libc::c_uint) }
}
