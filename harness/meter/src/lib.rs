//! What is read off: one file a meter.
