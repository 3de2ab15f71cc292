//! How a node serves: its options, and the statements that it executes in groups.

mod answers;
mod encrypted;
mod groups;
mod pipe;
mod script;
mod starting;
