//! The two traits.

use std::future::Future;

use crate::{BatchRows, ConnectOptions, DriverError, DriverInfo, ErrorKind, Rows, Setting, Value};

/// A CQL driver: how it describes itself and connects.
pub trait Driver: Default + Send + Sync + 'static {
    /// What [`Driver::connect`] returns.
    type Session: Session;

    /// Name, exact versions, capabilities and caveats, read from the build and the running process.
    ///
    /// # Errors
    /// When a native library cannot be asked for its version; the message says which.
    fn describe(&self) -> Result<DriverInfo, DriverError>;

    /// What the driver makes of `options`, setting by setting, in the words of [`Setting`].
    fn settings(&self, options: &ConnectOptions) -> Vec<Setting>;

    /// Data connections to each node with `options`, for a driver that counts them otherwise: libcassandra has so many per I/O
    /// thread.
    fn connections(&self, options: &ConnectOptions) -> usize {
        options.connections
    }

    /// Connects as a program does. Further connections may still open until [`Driver::settle`] returns.
    ///
    /// # Errors
    /// [`crate::ErrorKind::Connect`], [`crate::ErrorKind::BadCredentials`] or the driver's own; unknown options are refused by
    /// name.
    fn connect(&self, options: &ConnectOptions) -> impl Future<Output = Result<Self::Session, DriverError>> + Send;

    /// Waits until a session that has connected with `options` has every requested data connection, for a driver that opens them in the
    /// background. It is called before anything is measured, and is part of no measured session.
    fn settle(&self, options: &ConnectOptions) -> impl Future<Output = ()> + Send {
        let _ = options;
        std::future::ready(())
    }
}

/// A connected driver. Many statements are in flight on one session at a time.
pub trait Session: Send + Sync + 'static {
    /// A prepared statement, with whatever the adapter wants to keep beside it.
    type Statement: Send + Sync + 'static;

    /// Executes `cql` without values, for schema changes; rows are dropped.
    ///
    /// # Errors
    /// The server's or the driver's error, by kind.
    fn query(&self, cql: &str) -> impl Future<Output = Result<(), DriverError>> + Send;

    /// Prepares `cql` on every node that the driver wants it on.
    ///
    /// # Errors
    /// The server's or the driver's error, by kind.
    fn prepare(&self, cql: &str) -> impl Future<Output = Result<Self::Statement, DriverError>> + Send;

    /// The hot path: binds `values` in the order of the markers, sends, and decodes every column of every row of every page into
    /// `rows`. `rows` comes empty.
    ///
    /// # Errors
    /// The server's or the driver's error, by kind; `rows` may then hold a part of the result.
    fn execute(
        &self,
        statement: &Self::Statement,
        values: &[Value<'_>],
        rows: &mut Rows,
    ) -> impl Future<Output = Result<(), DriverError>> + Send;

    /// Executes `statement` once for every row in one BATCH, unlogged or [logged](BatchRows::is_logged), with the driver's own API for
    /// batches; returned rows are dropped. A driver that has batches declares [`crate::Capability::Batch`].
    ///
    /// # Errors
    /// The server's or the driver's error, by kind; the default returns one.
    fn batch(
        &self,
        statement: &Self::Statement,
        rows: BatchRows<'_>,
    ) -> impl Future<Output = Result<(), DriverError>> + Send {
        let _ = (statement, rows);
        std::future::ready(Err(DriverError::new(ErrorKind::Other, "this adapter sends no batches")))
    }

    /// Executes `cql` with `values` unprepared, with the driver's own call for that, and decodes as [`Session::execute`] does. A
    /// driver that has such a call declares [`crate::Capability::Unprepared`].
    ///
    /// # Errors
    /// The server's or the driver's error, by kind; the default returns one.
    fn query_values(
        &self,
        cql: &str,
        values: &[Value<'_>],
        rows: &mut Rows,
    ) -> impl Future<Output = Result<(), DriverError>> + Send {
        let _ = (cql, values, rows);
        std::future::ready(Err(DriverError::new(
            ErrorKind::Other,
            "this adapter sends no values with an unprepared statement",
        )))
    }

    /// Ends the session's connections and tasks as far as the driver can; the default drops it.
    fn close(self) -> impl Future<Output = ()> + Send
    where
        Self: Sized,
    {
        async move { drop(self) }
    }
}
