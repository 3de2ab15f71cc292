//! The counters, in the file that the supervisor shares.

use std::cell::Cell;
use std::ffi::{CStr, c_void};
use std::ptr;
use std::sync::atomic::{AtomicPtr, AtomicU64, Ordering};

use cqldyno_allocation_area::{
    AREA_BYTES, LINE, MAGIC, SLOTS, VARIABLE, WORD_ALLOCATIONS, WORD_BYTES, WORD_FREES, WORD_MAGIC, WORD_PID,
    WORD_THREADS,
};

/// The mapped file; null while nothing is counted.
static AREA: AtomicPtr<u8> = AtomicPtr::new(ptr::null_mut());

thread_local! {
    // Without a destructor and with a constant beginning: reading it never allocates, not even in a thread that ends.
    static SLOT: Cell<usize> = const { Cell::new(usize::MAX) };
}

/// The dynamic loader calls this before `main` of the program.
#[used]
#[unsafe(link_section = ".init_array")]
static AT_LOAD: extern "C" fn() = begin;

extern "C" fn begin() {
    let mut name = [0; VARIABLE.len() + 1];
    name[..VARIABLE.len()].copy_from_slice(VARIABLE.as_bytes());
    let Ok(name) = CStr::from_bytes_with_nul(&name) else { return };
    // SAFETY: `name` ends with a zero; no other thread exists yet that could change the environment.
    let path = unsafe { libc::getenv(name.as_ptr()) };
    if path.is_null() {
        return;
    }
    // SAFETY: getenv gave a string that ends with a zero.
    let Some(area) = map(unsafe { CStr::from_ptr(path) }) else { return };
    // SAFETY: getpid has no preconditions.
    let pid = u64::from(unsafe { libc::getpid() }.cast_unsigned());
    // A process that becomes another program keeps its id, and goes on counting there.
    let taken = word(area, WORD_PID).compare_exchange(0, pid, Ordering::AcqRel, Ordering::Acquire);
    if taken.is_err_and(|other| other != pid) {
        // SAFETY: this is the mapping that `map` has just made, and nothing else knows of it.
        unsafe { libc::munmap(area.cast(), AREA_BYTES) };
        return;
    }
    // SAFETY: the handler does nothing but store a null pointer, which is allowed in the child of a threaded process.
    unsafe { libc::pthread_atfork(None, None, Some(stop)) };
    AREA.store(area, Ordering::Release);
    word(area, WORD_MAGIC).store(MAGIC, Ordering::Release);
}

/// In a forked child: what it does is not the worker's.
unsafe extern "C" fn stop() {
    AREA.store(ptr::null_mut(), Ordering::Release);
}

fn map(path: &CStr) -> Option<*mut u8> {
    // SAFETY: `path` ends with a zero, and the flags are plain numbers.
    let file = unsafe { libc::open(path.as_ptr(), libc::O_RDWR | libc::O_CLOEXEC | libc::O_NOFOLLOW) };
    if file < 0 {
        return None;
    }
    // SAFETY: all zeros is a value of this struct of numbers.
    let mut status: libc::stat = unsafe { std::mem::zeroed() };
    // SAFETY: `file` is open, and `status` is writable and lives through the call.
    let long_enough = unsafe { libc::fstat(file, &raw mut status) } == 0 && status.st_size == AREA_BYTES as libc::off_t;
    let area = match long_enough {
        // SAFETY: a new mapping at an address of the kernel's choice, of a file that is as long as the mapping.
        true => unsafe {
            let access = libc::PROT_READ | libc::PROT_WRITE;
            libc::mmap(ptr::null_mut(), AREA_BYTES, access, libc::MAP_SHARED, file, 0)
        },
        false => libc::MAP_FAILED,
    };
    // SAFETY: `file` was opened here and is not used any more; the mapping outlives it.
    unsafe { libc::close(file) };
    (area != libc::MAP_FAILED).then_some(area.cast())
}

/// The word with this number of the cache line at `line`.
fn word(line: *mut u8, number: usize) -> &'static AtomicU64 {
    // SAFETY: every caller gives a line within the mapping, which stays mapped once it is used, and a number below 8. Lines are
    // aligned to 64 bytes, and all zeros is a value of an atomic.
    unsafe { AtomicU64::from_ptr(line.cast::<u64>().add(number)) }
}

/// This thread's slot; null while nothing is counted.
fn slot() -> Option<*mut u8> {
    let area = AREA.load(Ordering::Acquire);
    if area.is_null() {
        return None;
    }
    let mut slot = SLOT.get();
    if slot == usize::MAX {
        slot = word(area, WORD_THREADS).fetch_add(1, Ordering::Relaxed) as usize % SLOTS;
        SLOT.set(slot);
    }
    // SAFETY: below SLOTS, so within the mapping.
    Some(unsafe { area.add(LINE + slot * LINE) })
}

/// Counts an allocation of `bytes` at `pointer`; null is no allocation.
pub(crate) fn allocated(pointer: *mut c_void, bytes: usize) -> *mut c_void {
    if let Some(slot) = slot().filter(|_| !pointer.is_null()) {
        word(slot, WORD_ALLOCATIONS).fetch_add(1, Ordering::Relaxed);
        word(slot, WORD_BYTES).fetch_add(bytes as u64, Ordering::Relaxed);
    }
    pointer
}

/// Counts a free.
pub(crate) fn freed() {
    if let Some(slot) = slot() {
        word(slot, WORD_FREES).fetch_add(1, Ordering::Relaxed);
    }
}
