//! The behaviour suite that every adapter passes.
