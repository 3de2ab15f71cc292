//! Counts the allocations of the process that it is preloaded into, whatever its language: this library defines the C library's
//! functions that allocate, and the dynamic loader (ld.so(8), LD_PRELOAD) lets it come before the C library. Each counts and goes on
//! to the next definition (dlsym(3), RTLD_NEXT). Rust's `System` and C++'s `operator new` both end there.
//!
//! Only the process whose file [`cqldyno_allocation_area::VARIABLE`] names counts, not its children: forked ones stop, and programs
//! that it starts find the file taken. The counters are atomic words of a mapping of that file; nothing here takes a lock, and
//! nothing allocates.
#![allow(
    unsafe_code,
    reason = "the functions of the C library that this library stands in for are unsafe by nature; each block says why it is sound"
)]

mod area;
mod bootstrap;
mod entry;
mod next;
