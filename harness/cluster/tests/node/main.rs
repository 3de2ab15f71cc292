//! A running node, seen from the other end of a socket.

#[cfg(test)]
mod altering;
#[cfg(test)]
mod answer;
#[cfg(test)]
mod client;
#[cfg(test)]
mod connection;
#[cfg(test)]
mod consistency;
#[cfg(test)]
mod counters;
#[cfg(test)]
mod describe;
#[cfg(test)]
mod drivers;
#[cfg(test)]
mod expiry;
#[cfg(test)]
mod operations;
#[cfg(test)]
mod paging;
#[cfg(test)]
mod prepared;
#[cfg(test)]
mod process;
#[cfg(test)]
mod ring;
#[cfg(test)]
mod schema;
#[cfg(test)]
mod statements;
#[cfg(test)]
mod transactions;
#[cfg(test)]
mod types;
#[cfg(test)]
mod user_types;
