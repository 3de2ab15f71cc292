//! The CQL binary protocol, versions 3 and 4, on byte slices: no sockets, no state.
//!
//! Source: native_protocol_v4.spec and native_protocol_v3.spec of Apache Cassandra; their section numbers are cited.

pub mod compression;
pub mod frame;
pub mod request;
pub mod response;

pub use crate::types::write;
pub use frame::{HEADER_LEN, Header, HeaderError, Opcode};
