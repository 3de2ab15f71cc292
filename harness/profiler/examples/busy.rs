//! Works in a function of a known name until its input ends.

use std::hint::black_box;
use std::io::Read;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

#[inline(never)]
fn known_work(done: &AtomicBool) {
    let mut sum: u64 = 0;
    while !done.load(Ordering::Relaxed) {
        for n in 0..1_000_u64 {
            sum = black_box(sum.wrapping_mul(31).wrapping_add(n));
        }
    }
}

fn main() {
    let done = Arc::new(AtomicBool::new(false));
    let other = Arc::clone(&done);
    let worker = std::thread::Builder::new().name("busy-one".to_owned()).spawn(move || known_work(&other));
    let _ = std::io::stdin().read_to_end(&mut Vec::new());
    done.store(true, Ordering::Relaxed);
    let _ = worker.map(|worker| worker.join());
}
