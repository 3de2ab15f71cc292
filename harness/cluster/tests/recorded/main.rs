//! Recorded sessions of drivers, sent to the embedded cluster.

#[cfg(test)]
mod answers;
#[cfg(test)]
mod exchange;
