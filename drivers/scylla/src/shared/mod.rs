//! What every family takes from the newest adapter.

pub(crate) mod compression;
pub(crate) mod consistency;
pub(crate) mod driver;
pub(crate) mod options;
pub(crate) mod server_error;
