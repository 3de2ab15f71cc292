//! Scenarios: what every contender is asked. A scenario is data, read from TOML, never code.
//!
//! [`Scenario`] is the form that a user writes. [`Workload`] is what the load generator asks of it: a statement and a key for
//! every ticket. The built-in scenarios are the files in `scenarios/builtin/`.

mod answer;
mod builtin;
mod column;
mod cql;
mod distribution;
mod fault;
mod form;
mod import;
mod keys;
mod kind;
mod load;
mod operation;
mod order;
mod permutation;
mod regression;
mod replication;
mod scenario;
mod splitmix;
mod stream;
mod submit;
mod suggestion;
mod turns;
mod validation;
mod workload;
mod zipf;

pub use answer::{Answer, range_end};
pub use builtin::{builtin, builtin_toml, builtins, day, days, defaults};
pub use column::{By, Column, Kind};
pub use distribution::Amount;
pub use form::script;
pub use import::{Imported, import};
pub use load::{LoadPart, READ_BACK_ROWS};
pub use operation::{Limits, MAX_BATCH, Operation};
pub use order::{DEFAULT_EXPONENT, Order};
pub use permutation::Permutation;
pub use regression::{Claim, Direction, Expectation as Expected, Regression, Trial, regressions};
pub use replication::Replication;
pub use scenario::{
    Expectation, Load, MAX_ROWS, MAX_VALUE_BYTES, MAX_VALUES, OwnRows, Point, ReadBack, RowCheck, Scenario,
    ScenarioError, Statement,
};
pub use stream::{Blobs, Streams, Texts, UniqueBlobs, UniqueTexts};
pub use submit::Submit;
pub use suggestion::suggestion;
pub use workload::{Issue, Workload, WorkloadError};
pub use zipf::Zipf;

/// Whether a setting is what its absence means, and so is not written.
fn is_default<T: Default + PartialEq>(setting: &T) -> bool {
    *setting == T::default()
}
