//! Recorded sessions of drivers, asked of the embedded node.

#[cfg(test)]
mod answers;
