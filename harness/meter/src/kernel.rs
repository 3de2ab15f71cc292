//! The system calls that no safe library wraps. This, with what lies below it, is the only place of this crate with `unsafe`.
#![allow(
    unsafe_code,
    reason = "perf_event_open(2), bpf(2) and the mount API have no safe wrapper; each block says why it is sound"
)]

pub(crate) mod bpf;

use std::ffi::CStr;
use std::fs::File;
use std::io;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd, RawFd};

const PERF_TYPE_HARDWARE: u32 = 0;
const PERF_TYPE_TRACEPOINT: u32 = 2;
const PERF_FORMAT_TOTAL_TIME_ENABLED: u64 = 1 << 0;
const PERF_FORMAT_TOTAL_TIME_RUNNING: u64 = 1 << 1;
const PERF_FLAG_FD_CLOEXEC: libc::c_ulong = 1 << 3;
const DISABLED: u64 = 1 << 0;
const INHERIT: u64 = 1 << 1;
const EXCLUDE_KERNEL: u64 = 1 << 5;
const EXCLUDE_HV: u64 = 1 << 6;
const ENABLE_ON_EXEC: u64 = 1 << 12;

/// `struct perf_event_attr` of linux/perf_event.h in its first published form (PERF_ATTR_SIZE_VER0).
#[repr(C)]
struct Attributes {
    kind: u32,
    size: u32,
    config: u64,
    sample_period: u64,
    sample_type: u64,
    read_format: u64,
    flags: u64,
    wakeup_events: u32,
    breakpoint_type: u32,
    config1: u64,
}

/// When a counter begins to count.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Counts {
    /// When the process starts another program (execve), with all threads and children that it will have.
    FromExec,
    /// At once, for one thread.
    FromNow,
}

/// What the processor counts (`enum perf_hw_id` of linux/perf_event.h).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum HardwareEvent {
    Cycles = 0,
    Instructions = 1,
    CacheMisses = 3,
    BranchMisses = 5,
}

/// perf_event_open(2) on the tracepoint with number `id` for process or thread `pid` (0: the calling thread) on every core.
/// Reading the file gives the count as 8 bytes in the machine's byte order, ended threads and children included. Nothing
/// is excluded: with `exclude_kernel` a tracepoint opens and counts 0 in silence.
pub(crate) fn open_tracepoint(id: u64, pid: i32, counts: Counts) -> io::Result<File> {
    open(PERF_TYPE_TRACEPOINT, id, 0, counts.flags(), pid)
}

/// perf_event_open(2) on a counter of the processor, in user mode, for process or thread `pid` (0: the calling thread) on every
/// core. Reading the file gives three numbers of 8 bytes: the count, and for how many nanoseconds it was to count and did.
pub(crate) fn open_hardware(event: HardwareEvent, pid: i32, counts: Counts) -> io::Result<File> {
    let read_format = PERF_FORMAT_TOTAL_TIME_ENABLED | PERF_FORMAT_TOTAL_TIME_RUNNING;
    open(PERF_TYPE_HARDWARE, event as u64, read_format, counts.flags() | EXCLUDE_KERNEL | EXCLUDE_HV, pid)
}

impl Counts {
    fn flags(self) -> u64 {
        match self {
            Counts::FromExec => DISABLED | INHERIT | ENABLE_ON_EXEC,
            Counts::FromNow => 0,
        }
    }
}

fn open(kind: u32, config: u64, read_format: u64, flags: u64, pid: i32) -> io::Result<File> {
    let attributes = Attributes {
        kind,
        size: size_of::<Attributes>() as u32,
        config,
        sample_period: 0,
        sample_type: 0,
        read_format,
        flags,
        wakeup_events: 0,
        breakpoint_type: 0,
        config1: 0,
    };
    let (any_core, no_group): (libc::c_int, libc::c_int) = (-1, -1);
    // SAFETY: the kernel reads `size` bytes at the pointer, which is the whole of a live, initialised repr(C) struct, and
    // keeps no reference to it; every other argument is a plain number.
    let result = unsafe {
        libc::syscall(
            libc::SYS_perf_event_open,
            &raw const attributes,
            pid as libc::pid_t,
            any_core,
            no_group,
            PERF_FLAG_FD_CLOEXEC,
        )
    };
    owned(result).map(File::from)
}

/// Mounts a file system of the type `name` nowhere: only the returned file descriptor leads into it, and the machine is as
/// before when it is closed (fsopen(2), fsconfig(2), fsmount(2)). Needs CAP_SYS_ADMIN.
pub(crate) fn detached_mount(name: &CStr) -> io::Result<OwnedFd> {
    const FSOPEN_CLOEXEC: libc::c_uint = 1;
    const FSMOUNT_CLOEXEC: libc::c_uint = 1;
    const FSCONFIG_CMD_CREATE: libc::c_uint = 6;
    const NO_KEY: *const libc::c_char = std::ptr::null();
    const NO_VALUE: *const libc::c_void = std::ptr::null();
    // SAFETY: the pointer is to a zero-terminated string that outlives the call; the kernel copies it.
    let context = owned(unsafe { libc::syscall(libc::SYS_fsopen, name.as_ptr(), FSOPEN_CLOEXEC) })?;
    let fd: RawFd = context.as_raw_fd();
    // SAFETY: FSCONFIG_CMD_CREATE takes neither key nor value, and null is what stands for none; `fd` is open.
    let created =
        unsafe { libc::syscall(libc::SYS_fsconfig, fd, FSCONFIG_CMD_CREATE, NO_KEY, NO_VALUE, 0 as libc::c_int) };
    if created < 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: plain numbers only; `fd` is open.
    owned(unsafe { libc::syscall(libc::SYS_fsmount, fd, FSMOUNT_CLOEXEC, 0 as libc::c_uint) })
}

fn owned(result: libc::c_long) -> io::Result<OwnedFd> {
    match RawFd::try_from(result) {
        // SAFETY: the kernel has just given us this descriptor, it is open, and nothing else owns it.
        Ok(fd) if fd >= 0 => Ok(unsafe { OwnedFd::from_raw_fd(fd) }),
        _ => Err(io::Error::last_os_error()),
    }
}
