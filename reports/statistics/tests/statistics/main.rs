//! What the intervals promise.
#![allow(clippy::expect_used, reason = "a test that cannot go on fails")]

mod coverage;
mod properties;
