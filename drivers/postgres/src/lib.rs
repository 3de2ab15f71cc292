//! The adapter for the crate `tokio-postgres`, for one question: what an insert costs that is on the disk before it is answered.
#![deny(missing_docs)]

mod driver;
mod session;
mod translate;
mod values;

pub use driver::Postgres;
pub use session::{PostgresSession, PostgresStatement};
