//! A running node, seen from the other end of a socket.

mod altering;
mod answer;
mod client;
mod connection;
mod consistency;
mod counters;
mod describe;
mod drivers;
mod expiry;
mod operations;
mod paging;
mod prepared;
mod process;
mod ring;
mod schema;
mod statements;
mod transactions;
mod types;
mod user_types;
