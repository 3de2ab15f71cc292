//! Prefetches a slot's memory before it is used.

use std::pin::Pin;
use std::task::{Context, Poll};

use pin_project_lite::pin_project;

/// Bytes of a cache line.
const LINE: usize = 64;
/// Bytes to prefetch: as many as a slot with three values keeps over an answer, which the compiler puts in front.
pub(crate) const OWN: usize = 128;
// Two lines long: wherever it begins, it touches at most three lines, at its start, middle and end.
const _: () = assert!(OWN <= 2 * LINE);

pin_project! {
    /// A slot whose own cache lines are fetched at the same time.
    ///
    /// A thousand slots are more than the processor's second cache holds, and either core may poll each. Without this a slot
    /// waits for its lines one by one, because one decides which is needed next. The driver's future comes after them and is not
    /// fetched: it waits as in any other program. Only x86-64 is covered.
    pub(crate) struct Ahead<F> {
        #[pin]
        slot: F,
    }
}

impl<F> Ahead<F> {
    pub(crate) fn new(slot: F) -> Ahead<F> {
        Ahead { slot }
    }
}

impl<F: Future> Future for Ahead<F> {
    type Output = F::Output;

    #[inline(always)]
    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<F::Output> {
        let slot = std::ptr::from_ref(&*self).cast::<i8>();
        for offset in [0, LINE, OWN - 1] {
            fetch(slot.wrapping_add(offset));
        }
        self.project().slot.poll(context)
    }
}

#[inline(always)]
fn fetch(at: *const i8) {
    // SAFETY: a prefetch reads nothing that the program sees, and does not fault, whatever the address.
    #[cfg(target_arch = "x86_64")]
    #[expect(unsafe_code, reason = "the processor's hint has no other name")]
    unsafe {
        std::arch::x86_64::_mm_prefetch::<{ std::arch::x86_64::_MM_HINT_T0 }>(at);
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = at;
}
