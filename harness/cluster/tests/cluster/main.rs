//! The embedded cluster from outside, its codec, and clients that others wrote.

#[cfg(test)]
mod codec;
#[cfg(test)]
mod foreign;
#[cfg(test)]
mod node;
#[cfg(test)]
mod recorded;
#[cfg(test)]
mod serving;
