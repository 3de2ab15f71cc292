//! Asking the processor for a slot's memory before it is looked at.

use std::pin::Pin;
use std::task::{Context, Poll};

use pin_project_lite::pin_project;

/// Bytes of a cache line.
const LINE: usize = 64;
/// What is asked for: as many bytes as a slot with three values keeps itself over an answer, which the compiler puts in front.
pub(crate) const OWN: usize = 128;
// Two lines long, so that wherever it begins, it has a part of three lines at most: those of its start, its middle and its end.
const _: () = assert!(OWN <= 2 * LINE);

pin_project! {
    /// A slot of which the cache lines that it keeps itself are fetched at the same time.
    ///
    /// A thousand slots are more than the processor's second cache holds, and each is polled now on this core and now on that. Left to
    /// itself a slot waits for its lines one by one, because what it finds in one decides at what it looks next. The driver's future
    /// lies behind, and but for what shares the last line it is not asked for: it waits as it would in any other program. Of a slot with
    /// many values only these first bytes are asked for. Processors other than x86-64 are not asked.
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

/// Asks for the cache line that `at` lies in.
#[inline(always)]
fn fetch(at: *const i8) {
    // SAFETY: it reads nothing that the program sees, and does not fault, whatever the address.
    #[cfg(target_arch = "x86_64")]
    #[expect(unsafe_code, reason = "the processor's hint has no other name")]
    unsafe {
        std::arch::x86_64::_mm_prefetch::<{ std::arch::x86_64::_MM_HINT_T0 }>(at);
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = at;
}
