//! A program with a known number of allocations between two moments: at each it writes a byte to standard error and waits for one on
//! standard input. The tests preload the interposer into it.
#![allow(unsafe_code, reason = "the functions under test are unsafe by nature; pointers are only given back")]
#![allow(clippy::unwrap_used, reason = "it is a part of the tests")]

use std::ffi::c_void;
use std::hint::black_box;
use std::io::Write;
use std::sync::{Arc, Barrier};

const THREADS: usize = 4;

fn main() {
    let role = std::env::args().nth(1).unwrap();
    let barrier = Arc::new(Barrier::new(THREADS + 1));
    let threads = (role == "threads").then(|| {
        let spawn = |_| {
            let barrier = Arc::clone(&barrier);
            std::thread::spawn(move || {
                // Begun, ordered to go on, done, and ordered to end: ending gives back what a thread has.
                barrier.wait();
                barrier.wait();
                // SAFETY: each pointer is given back once.
                (0..1_000).for_each(|_| unsafe { libc::free(black_box(libc::malloc(black_box(100)))) });
                barrier.wait();
                barrier.wait();
            })
        };
        let threads = (0..THREADS).map(spawn).collect::<Vec<_>>();
        barrier.wait();
        threads
    });
    edge();
    wait();
    match role.as_str() {
        "sizes" => sizes(),
        "fork" => fork(),
        _ => {
            barrier.wait();
            barrier.wait();
        }
    }
    edge();
    wait();
    if threads.is_some() {
        barrier.wait();
    }
    threads.into_iter().flatten().for_each(|thread| thread.join().unwrap());
}

/// Tells the parent that it may read the counts, without any allocation.
fn edge() {
    std::io::stderr().write_all(b".").unwrap();
}

/// Waits for a byte on standard input, without any allocation.
fn wait() {
    let mut byte = [0];
    // SAFETY: one byte may be written there.
    assert_eq!(unsafe { libc::read(0, byte.as_mut_ptr().cast(), 1) }, 1);
}

/// 9 allocations, of which one is given back by realloc and the others by free.
fn sizes() {
    // SAFETY: each pointer is given back once; `black_box` keeps the compiler from leaving pairs out.
    unsafe {
        let mut all: [*mut c_void; 8] = [std::ptr::null_mut(); 8];
        all[0] = libc::malloc(black_box(10));
        all[1] = libc::calloc(black_box(3), 5);
        all[2] = libc::realloc(black_box(libc::malloc(black_box(7))), 32);
        all[3] = libc::memalign(64, black_box(1_000));
        all[4] = libc::aligned_alloc(128, black_box(256));
        assert_eq!(libc::posix_memalign(&raw mut all[5], 256, black_box(1_024)), 0);
        all[6] = libc::realloc(std::ptr::null_mut(), black_box(20));
        all[7] = libc::reallocarray(std::ptr::null_mut(), black_box(70), 10);
        assert!(all[..8].iter().all(|pointer| !black_box(*pointer).is_null()));
        assert_eq!((all[3] as usize % 64, all[4] as usize % 128, all[5] as usize % 256), (0, 0, 0));
        // One that cannot be is not counted.
        assert!(black_box(libc::malloc(black_box(usize::MAX / 2))).is_null());
        libc::free(std::ptr::null_mut());
        all.into_iter().for_each(|pointer| libc::free(pointer));
    }
}

/// A child that allocates 1,000 times, and two allocations of the parent.
fn fork() {
    // SAFETY: the child only allocates and leaves without any clean-up; the parent waits for it.
    unsafe {
        let child = libc::fork();
        if child == 0 {
            for _ in 0..1_000 {
                black_box(libc::malloc(black_box(50)));
            }
            libc::_exit(0);
        }
        let mut status = 1;
        assert_eq!((libc::waitpid(child, &raw mut status, 0), status), (child, 0));
        libc::free(black_box(libc::malloc(black_box(11))));
        libc::free(black_box(libc::malloc(black_box(12))));
    }
}
