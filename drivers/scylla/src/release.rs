//! The names and ways of releases from 1.0 on, where those of older ones differ.

use std::sync::Arc;

use cqldyno_driver_api::{ConnectOptions, DriverError};
/// What holds a policy.
pub(crate) use std::sync::Arc as Policy;

pub(crate) use scylla::client::execution_profile::ExecutionProfile;
pub(crate) use scylla::client::session::Session;
pub(crate) use scylla::client::session_builder::SessionBuilder;
pub(crate) use scylla::client::{Compression, PoolSize};
pub(crate) use scylla::cluster::metadata::{ColumnType, NativeType};
pub(crate) use scylla::deserialize::value::DeserializeValue;
pub(crate) use scylla::policies::load_balancing::{DefaultPolicy, LoadBalancingPolicy};
pub(crate) use scylla::policies::retry::FallthroughRetryPolicy;
pub(crate) use scylla::response::query_result::QueryResult;
pub(crate) use scylla::response::{PagingState, PagingStateResponse};
pub(crate) use scylla::serialize::value::SerializeValue;
pub(crate) use scylla::serialize::writers::RowWriter;
pub(crate) use scylla::statement::Statement;
pub(crate) use scylla::statement::batch::{Batch, BatchType};
pub(crate) use scylla::statement::prepared::PreparedStatement;
pub(crate) use scylla::value::CqlTimestamp;

pub(crate) use crate::types::{decode, serialize};
use scylla::frame::response::result::ColumnSpec;
use scylla::policies::timestamp_generator::MonotonicTimestampGenerator;

/// The driver's own TLS by rustls, which compares a certificate with the node's address.
pub(crate) fn tls(builder: SessionBuilder, options: &ConnectOptions) -> Result<SessionBuilder, DriverError> {
    let Some(tls) = &options.tls else { return Ok(builder) };
    let config = cqldyno_driver_tls::client_config(tls)?;
    Ok(builder.tls_context(Some(Arc::new(config))))
}

pub(crate) fn timestamps(builder: SessionBuilder) -> SessionBuilder {
    builder.timestamp_generator(Arc::new(MonotonicTimestampGenerator::new()))
}

#[inline(always)]
pub(crate) fn column_type<'a>(column: &'a ColumnSpec<'_>) -> &'a ColumnType<'a> {
    column.typ()
}

#[inline(always)]
pub(crate) fn native_type<'a>(column: &'a ColumnType<'_>) -> Option<&'a NativeType> {
    match column {
        ColumnType::Native(native) => Some(native),
        _ => None,
    }
}
