//! Memory for allocations that come before the next definitions are known: dlsym(3) may itself allocate.

use std::ffi::c_void;
use std::ptr;
use std::sync::atomic::{AtomicUsize, Ordering};

const BYTES: usize = 64 * 1024;
const ALIGNMENT: usize = 64;

#[repr(align(64))]
struct Memory(std::cell::UnsafeCell<[u8; BYTES]>);

// SAFETY: every part of it is given out once, by the atomic below, and touched by its owner alone.
unsafe impl Sync for Memory {}

static MEMORY: Memory = Memory(std::cell::UnsafeCell::new([0; BYTES]));
static GIVEN: AtomicUsize = AtomicUsize::new(0);

/// `bytes` of zeroed memory that is never given back; null when there is no more or `alignment` is above 64.
pub(crate) fn allocate(bytes: usize, alignment: usize) -> *mut c_void {
    let Some(size) = bytes.max(1).checked_next_multiple_of(ALIGNMENT).filter(|size| *size <= BYTES) else {
        return ptr::null_mut();
    };
    if alignment > ALIGNMENT {
        return ptr::null_mut();
    }
    match GIVEN
        .fetch_update(Ordering::Relaxed, Ordering::Relaxed, |given| (given + size <= BYTES).then_some(given + size))
    {
        // SAFETY: `given + size` is within the memory.
        Ok(given) => unsafe { MEMORY.0.get().cast::<u8>().add(given).cast() },
        Err(_) => ptr::null_mut(),
    }
}

/// Whether `pointer` came from here.
pub(crate) fn owns(pointer: *mut c_void) -> bool {
    (pointer as usize).wrapping_sub(MEMORY.0.get() as usize) < BYTES
}

/// How many bytes may be read at `pointer`, which came from here.
pub(crate) fn readable(pointer: *mut c_void) -> usize {
    BYTES - (pointer as usize).wrapping_sub(MEMORY.0.get() as usize)
}
