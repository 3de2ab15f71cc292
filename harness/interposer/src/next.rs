//! The next definitions of the functions that this library stands in for.

use std::ffi::{CStr, c_int, c_void};
use std::ptr;
use std::sync::atomic::{AtomicPtr, AtomicU8, Ordering};

const UNKNOWN: u8 = 0;
const ASKING: u8 = 1;
const KNOWN: u8 = 2;

static STATE: AtomicU8 = AtomicU8::new(UNKNOWN);

macro_rules! definitions {
    ($($name:ident: fn($($argument:ty),*) $(-> $result:ty)?;)*) => {
        $(
            /// The next definition; `None` during the lookup, and if there is none.
            pub(crate) fn $name() -> Option<unsafe extern "C" fn($($argument),*) $(-> $result)?> {
                let found = table::$name.load(Ordering::Acquire);
                if found.is_null() && !ask() {
                    return None;
                }
                let found = table::$name.load(Ordering::Acquire);
                // SAFETY: the symbol of this name has this type in every C library (malloc(3), posix_memalign(3)).
                (!found.is_null()).then(|| unsafe { std::mem::transmute::<*mut c_void, _>(found) })
            }
        )*

        #[allow(non_upper_case_globals, reason = "each stands for the function of its name")]
        mod table {
            use super::*;
            $(pub(super) static $name: AtomicPtr<c_void> = AtomicPtr::new(ptr::null_mut());)*
        }

        /// Looks all of them up, once; `false` while another call does.
        fn ask() -> bool {
            match STATE.compare_exchange(UNKNOWN, ASKING, Ordering::AcqRel, Ordering::Acquire) {
                Ok(_) => {
                    $(table::$name.store(next(concat!(stringify!($name), "\0").as_bytes()), Ordering::Release);)*
                    STATE.store(KNOWN, Ordering::Release);
                    true
                }
                Err(state) => state == KNOWN,
            }
        }
    };
}

definitions! {
    malloc: fn(usize) -> *mut c_void;
    calloc: fn(usize, usize) -> *mut c_void;
    realloc: fn(*mut c_void, usize) -> *mut c_void;
    free: fn(*mut c_void);
    posix_memalign: fn(*mut *mut c_void, usize, usize) -> c_int;
    aligned_alloc: fn(usize, usize) -> *mut c_void;
    memalign: fn(usize, usize) -> *mut c_void;
    valloc: fn(usize) -> *mut c_void;
    pvalloc: fn(usize) -> *mut c_void;
}

fn next(name: &[u8]) -> *mut c_void {
    match CStr::from_bytes_with_nul(name) {
        // SAFETY: the name ends with a zero; RTLD_NEXT is meant for libraries that stand in for others.
        Ok(name) => unsafe { libc::dlsym(libc::RTLD_NEXT, name.as_ptr()) },
        Err(_) => ptr::null_mut(),
    }
}
