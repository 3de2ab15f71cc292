//! A running node: from its listener and connections to requests and what connections share.

pub(crate) mod alarm;
pub(crate) mod auth;
pub(crate) mod connection;
pub(crate) mod control;
pub(crate) mod delay;
pub(crate) mod play;
pub(crate) mod rehearsal;
pub(crate) mod requests;
pub(crate) mod script;
pub(crate) mod serve;
pub(crate) mod server;
pub(crate) mod socketless;
pub(crate) mod state;
pub(crate) mod statement;
pub(crate) mod statement_cache;
pub(crate) mod tls;
