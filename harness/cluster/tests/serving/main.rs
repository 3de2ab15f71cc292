//! How a node serves: its options, and the statements that it executes in groups.

#[cfg(test)]
mod answers;
#[cfg(test)]
mod encrypted;
#[cfg(test)]
mod groups;
#[cfg(test)]
mod pipe;
#[cfg(test)]
mod script;
#[cfg(test)]
mod starting;
