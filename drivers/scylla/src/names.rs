//! The driver's names from 0.8 on. In 1.0 most things moved.

#[cfg(before = "0.15")]
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
    deserialize::value::DeserializeValue,
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
    ExecutionProfile, SessionBuilder,
    load_balancing::{DefaultPolicy, LoadBalancingPolicy},
    retry_policy::FallthroughRetryPolicy,
    transport::Compression,
    transport::session::PoolSize,
};

#[cfg(all(since = "0.11", before = "1.0"))]
pub(crate) use scylla::frame::value::CqlTimestamp;

#[cfg(all(since = "0.14", before = "1.0"))]
pub(crate) use scylla::{
    QueryResult, Session,
    batch::{Batch, BatchType},
    prepared_statement::PreparedStatement,
    query::Query as Statement,
    statement::{PagingState, PagingStateResponse},
};

#[cfg(all(since = "0.15", before = "1.0"))]
pub(crate) use scylla::{deserialize::DeserializeValue, frame::response::result::ColumnType as NativeType};

#[cfg(all(since = "0.11", before = "0.14"))]
pub(crate) use scylla::serialize::value::SerializeCql as SerializeValue;
#[cfg(since = "0.14")]
pub(crate) use scylla::serialize::value::SerializeValue;
