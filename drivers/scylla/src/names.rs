//! The driver's names. In 1.0 most things moved.

#[cfg(all(since = "0.8", before = "0.15"))]
pub(crate) use std::boxed::Box as Policy;
/// What holds a policy.
#[cfg(since = "0.15")]
pub(crate) use std::sync::Arc as Policy;

#[cfg(since = "1.0")]
pub(crate) use scylla::{
    client::execution_profile::ExecutionProfile,
    client::session::Session,
    client::session_builder::SessionBuilder,
    client::{Compression, PoolSize},
    cluster::metadata::{ColumnType, NativeType},
    deserialize::{row::DeserializeRow, value::DeserializeValue},
    policies::load_balancing::{DefaultPolicy, LoadBalancingPolicy},
    policies::retry::FallthroughRetryPolicy,
    response::query_result::QueryResult,
    response::{PagingState, PagingStateResponse},
    statement::Statement,
    statement::batch::{Batch, BatchType},
    statement::prepared::PreparedStatement,
    value::CqlTimestamp,
};

#[cfg(before = "1.0")]
pub(crate) use scylla::{
    QueryResult, Session, SessionBuilder,
    batch::{Batch, BatchType},
    load_balancing::LoadBalancingPolicy,
    prepared_statement::PreparedStatement,
    query::Query as Statement,
    retry_policy::FallthroughRetryPolicy,
    transport::Compression,
};

#[cfg(all(since = "0.3", before = "1.0"))]
pub(crate) use scylla::transport::session::PoolSize;

#[cfg(all(since = "0.8", before = "1.0"))]
pub(crate) use scylla::{ExecutionProfile, load_balancing::DefaultPolicy};

#[cfg(all(since = "0.11", before = "1.0"))]
pub(crate) use scylla::frame::{response::result::ColumnType, value::CqlTimestamp};

#[cfg(all(since = "0.14", before = "1.0"))]
pub(crate) use scylla::statement::{PagingState, PagingStateResponse};

#[cfg(all(since = "0.15", before = "1.0"))]
pub(crate) use scylla::{
    deserialize::{DeserializeRow, DeserializeValue},
    frame::response::result::ColumnType as NativeType,
};

#[cfg(all(since = "0.11", before = "0.14"))]
pub(crate) use scylla::serialize::value::SerializeCql as SerializeValue;
#[cfg(since = "0.14")]
pub(crate) use scylla::serialize::value::SerializeValue;
