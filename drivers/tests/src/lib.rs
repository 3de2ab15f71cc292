//! The behaviour suite that every adapter passes, generic over [`Driver`]; each behaviour is a test.
//!
//! An adapter runs it with `cqldyno_driver_tests::behaviour_suite!(MyDriver);` in a file under `tests/`. It declares what the
//! driver lacks by leaving out a [`Capability`], and the suite checks that this is true. Every behaviour
//! starts an embedded node of its own.
//!
//! With `CQLDYNO_SUITE_TARGET=HOST:PORT` in the environment the suite runs against that server, in its own keyspaces. Behaviours
//! that need control of the server then say that they were not run.

pub mod connecting;
pub mod errors;
pub mod flight;
pub mod operations;
pub mod outages;
pub mod paging;
mod relay;
mod server;
pub mod session;
pub mod tap;
pub mod types;

use std::fmt;
use std::future::Future;
use std::time::Duration;

use cqldyno_driver_api::{Capability, Driver, DriverError, Rows, Session, Value};

/// A behaviour that takes longer counts as hanging.
const HANGS_AFTER: Duration = Duration::from_secs(120);

/// Makes one test of every behaviour for an adapter's [`Driver`].
#[macro_export]
macro_rules! behaviour_suite {
    ($driver:ty) => {
        $crate::behaviour_suite! { @each $driver:
            types::every_type_round_trips_at_its_extremes,
            types::every_type_takes_a_null,
            types::every_further_type_round_trips_or_is_declared_lacking,
            types::a_lightweight_transaction_answers_with_a_row_of_its_own,
            types::text_of_every_script_round_trips,
            types::a_blob_of_one_mebibyte_round_trips,
            paging::a_partition_of_a_thousand_rows_comes_in_pages_of_a_hundred,
            paging::an_empty_result_has_no_rows,
            errors::a_missing_table_is_invalid,
            errors::what_is_no_cql_is_a_syntax_error,
            errors::a_table_that_is_there_already_exists,
            errors::values_of_wrong_number_or_type_are_an_error_and_the_session_lives_on,
            connecting::the_settings_are_told_one_by_one,
            connecting::an_unknown_option_is_refused_by_name,
            connecting::no_server_at_the_address_is_a_connect_error,

            connecting::a_wrong_password_is_refused_and_the_right_one_is_not,
            connecting::the_drivers_own_defaults_work,
            connecting::as_many_data_connections_are_open_as_were_asked_for,
            connecting::frames_are_of_version_4_uncompressed_and_of_the_consistency_asked_for,
            flight::a_thousand_statements_in_flight_each_get_their_own_answer,
            flight::nothing_is_sent_twice,
            operations::a_batch_writes_all_its_rows_in_one_request,
            operations::a_batch_with_a_wrong_value_is_an_error_and_writes_nothing,
            operations::an_unprepared_statement_takes_values_and_gives_rows,
            operations::preparing_another_text_asks_the_server_each_time,
            operations::sessions_made_and_closed_in_turn_leave_connections_open_as_declared,
            outages::a_slow_answer_is_waited_for_as_long_as_declared,
            outages::a_server_that_is_gone_gives_errors_until_it_is_back,
            outages::a_control_connection_that_breaks_alone_costs_the_session_as_declared,
            outages::a_statement_prepared_before_a_restart_is_prepared_again_as_declared,
        }
    };
    (@each $driver:ty: $($module:ident :: $behaviour:ident),* $(,)?) => {
        $(
            #[test]
            fn $behaviour() -> Result<(), $crate::Failure> {
                $crate::run(stringify!($behaviour), $crate::$module::$behaviour::<$driver>())
            }
        )*
    };
}

/// Why a behaviour does not hold.
pub struct Failure(String);

impl Failure {
    fn new(message: impl fmt::Display) -> Failure {
        Failure(message.to_string())
    }
}

impl fmt::Debug for Failure {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(&self.0)
    }
}

impl From<DriverError> for Failure {
    fn from(error: DriverError) -> Failure {
        Failure(format!("unexpected error of kind {error}"))
    }
}

impl From<tokio::task::JoinError> for Failure {
    fn from(error: tokio::task::JoinError) -> Failure {
        Failure(format!("a task of the suite ended early: {error}"))
    }
}

/// What came of one behaviour.
#[derive(Debug)]
pub enum Verdict {
    /// It holds.
    Holds,
    /// It could not be tried here; the sentence says why.
    NotRun(&'static str),
}

/// What every behaviour gives.
pub type Outcome = Result<Verdict, Failure>;

/// Runs one behaviour to its end on a runtime of its own; [`behaviour_suite!`] calls it.
///
/// # Errors
/// What the behaviour found wrong, or that it did not end.
pub fn run(name: &str, behaviour: impl Future<Output = Outcome>) -> Result<(), Failure> {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()
        .map_err(|error| Failure(format!("no runtime: {error}")))?;
    let outcome = runtime.block_on(async { tokio::time::timeout(HANGS_AFTER, behaviour).await });
    runtime.shutdown_timeout(Duration::from_secs(1));
    match outcome {
        Err(_) => Err(Failure(format!("{name} did not end within {} seconds", HANGS_AFTER.as_secs()))),
        Ok(Err(failure)) => Err(failure),
        Ok(Ok(Verdict::Holds)) => Ok(()),
        Ok(Ok(Verdict::NotRun(why))) => {
            eprintln!("{name} was not run: {why}");
            Ok(())
        }
    }
}

fn check(holds: bool, message: impl FnOnce() -> String) -> Result<(), Failure> {
    if holds { Ok(()) } else { Err(Failure(message())) }
}

fn same<T: PartialEq + fmt::Debug>(what: &str, found: T, expected: T) -> Result<(), Failure> {
    check(found == expected, || format!("{what}: {found:?} was found where {expected:?} was expected"))
}

fn declared<D: Driver>(capability: Capability) -> Result<bool, Failure> {
    let is_declared = D::default().describe()?.capabilities.contains(&capability);
    if !is_declared {
        // `make test-versions` reads it.
        println!("not declared: {capability:?}");
    }
    Ok(is_declared)
}

async fn execute<S: Session>(session: &S, statement: &S::Statement, values: &[Value<'_>]) -> Result<Rows, DriverError> {
    let mut rows = Rows::new();
    session.execute(statement, values, &mut rows).await?;
    Ok(rows)
}

fn cell<'a>(rows: &'a Rows, row: usize, column: usize) -> Result<Value<'a>, Failure> {
    rows.get(row)
        .and_then(|row| row.get(column))
        .ok_or_else(|| Failure(format!("there is no column {column} in row {row} of {}", rows.len())))
}
