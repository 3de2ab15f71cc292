//! What the bench does with processes, good and bad.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test that cannot go on fails")]

mod gate;
mod supervision;
