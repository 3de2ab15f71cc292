//! The functions themselves: malloc(3), posix_memalign(3), free(3).
//!
//! A `realloc` counts as one allocation of the new size, and as one free if there was an old one. Functions that the C library
//! builds on these (reallocarray, strdup) come here, too.

use std::ffi::{c_int, c_void};
use std::ptr;

use crate::area::{allocated, freed};
use crate::{bootstrap, next};

/// What malloc(3) and its like align to.
const USUAL: usize = 16;

/// malloc(3).
#[unsafe(no_mangle)]
pub extern "C" fn malloc(size: usize) -> *mut c_void {
    match next::malloc() {
        // SAFETY: malloc takes any size.
        Some(next) => allocated(unsafe { next(size) }, size),
        None => bootstrap::allocate(size, USUAL),
    }
}

/// calloc(3).
#[unsafe(no_mangle)]
pub extern "C" fn calloc(count: usize, size: usize) -> *mut c_void {
    match next::calloc() {
        // SAFETY: calloc takes any count and size.
        Some(next) => allocated(unsafe { next(count, size) }, count.saturating_mul(size)),
        None => bootstrap::allocate(count.saturating_mul(size), USUAL),
    }
}

/// realloc(3).
///
/// # Safety
/// As the C library's: `old` is null or came from an allocation that was not given back.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn realloc(old: *mut c_void, size: usize) -> *mut c_void {
    match next::realloc() {
        // SAFETY: the caller keeps the C library's contract, and `old` is not from the bootstrap memory.
        Some(next) if !bootstrap::owns(old) => reallocated(old, size, unsafe { next(old, size) }),
        // SAFETY: as above.
        _ => unsafe { moved(old, size) },
    }
}

fn reallocated(old: *mut c_void, size: usize, new: *mut c_void) -> *mut c_void {
    if !old.is_null() && (!new.is_null() || size == 0) {
        freed();
    }
    allocated(new, size)
}

/// A copy in new memory of what lies at `old`, which is null or from the bootstrap memory.
///
/// # Safety
/// `old` is null or from the bootstrap memory, or no next definition is known.
unsafe fn moved(old: *mut c_void, size: usize) -> *mut c_void {
    let new = malloc(size);
    if !new.is_null() && bootstrap::owns(old) {
        let bytes = size.min(bootstrap::readable(old));
        // SAFETY: `bytes` may be read in the bootstrap memory and written in the new memory; `copy` allows them to overlap.
        unsafe { ptr::copy(old.cast::<u8>(), new.cast(), bytes) };
    }
    new
}

/// free(3).
///
/// # Safety
/// As the C library's: `pointer` is null or came from an allocation that was not given back.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn free(pointer: *mut c_void) {
    if pointer.is_null() || bootstrap::owns(pointer) {
        return;
    }
    if let Some(next) = next::free() {
        freed();
        // SAFETY: the caller keeps the C library's contract.
        unsafe { next(pointer) }
    }
}

/// posix_memalign(3).
///
/// # Safety
/// As the C library's: `result` may be written.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn posix_memalign(result: *mut *mut c_void, alignment: usize, size: usize) -> c_int {
    let (code, pointer) = match next::posix_memalign() {
        Some(next) => {
            // SAFETY: the caller keeps the C library's contract.
            let code = unsafe { next(result, alignment, size) };
            // SAFETY: with 0 the C library has written a pointer there.
            (code, if code == 0 { allocated(unsafe { *result }, size) } else { ptr::null_mut() })
        }
        None => {
            let pointer = bootstrap::allocate(size, alignment);
            (if pointer.is_null() { libc::ENOMEM } else { 0 }, pointer)
        }
    };
    if code == 0 {
        // SAFETY: the caller says that it may be written.
        unsafe { *result = pointer };
    }
    code
}

macro_rules! aligned {
    ($(#[$about:meta])* $name:ident($($argument:ident),*), $size:expr, $alignment:expr) => {
        $(#[$about])*
        #[unsafe(no_mangle)]
        pub extern "C" fn $name($($argument: usize),*) -> *mut c_void {
            match next::$name() {
                // SAFETY: it takes any numbers, and refuses those that it cannot serve.
                Some(next) => allocated(unsafe { next($($argument),*) }, $size),
                None => bootstrap::allocate($size, $alignment),
            }
        }
    };
}

/// What a page is taken for where the C library cannot be asked.
const PAGE: usize = 4_096;

aligned!(
    /// aligned_alloc(3).
    aligned_alloc(alignment, size), size, alignment
);
aligned!(
    /// memalign(3).
    memalign(alignment, size), size, alignment
);
aligned!(
    /// valloc(3).
    valloc(size), size, PAGE
);
aligned!(
    /// pvalloc(3).
    pvalloc(size), size, PAGE
);
