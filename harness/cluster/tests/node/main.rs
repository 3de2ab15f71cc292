//! A running node, seen from the other end of a socket.

mod client;
mod connection;
mod drivers;
mod paging;
mod prepared;
mod process;
mod schema;
mod statements;
mod types;
