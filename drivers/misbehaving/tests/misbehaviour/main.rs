//! Real workers that misbehave, supervised as `cqldyno compare` does it, on the real embedded node.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test that cannot go on fails")]

mod failures;
mod keys;
mod pauses;
mod place;
mod routes;
mod rows;
mod turns;
