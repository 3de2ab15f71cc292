//! Counts the allocations of the process that it is preloaded into, in any language. This library defines the C library's functions
//! that allocate, and the dynamic loader (ld.so(8), LD_PRELOAD) puts it before the C library. Each function counts and calls the next
//! definition (dlsym(3), RTLD_NEXT). Rust's `System` and C++'s `operator new` both end there.
//!
//! The process counts in the file that [`cqldyno_allocation_area::VARIABLE`] names. Its children do not: forked ones stop, and
//! programs that it starts find the file taken. The counters are atomic words; nothing here takes a lock or allocates.
#![allow(
    unsafe_code,
    reason = "the functions of the C library that this library stands in for are unsafe by nature; each block says why it is sound"
)]

mod area;
mod bootstrap;
mod entry;
mod next;
