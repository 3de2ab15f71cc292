//! The Driver and Session traits, values, errors, and the behaviour suite that every adapter passes.
