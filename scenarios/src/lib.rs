//! What is asked of every contender: a scenario is data, read from TOML, and never code.
//!
//! [`Scenario`] is the form that a user writes, [`Workload`] what the load generator asks of it: for every ticket a
//! statement and a key. The built-in scenarios are the files in `scenarios/builtin/`.

mod builtin;
mod check;
mod column;
mod fault;
mod form;
mod load;
mod operation;
mod order;
mod permutation;
mod scenario;
mod stream;
mod suggestion;
mod turns;
mod workload;
mod zipf;

pub use builtin::{builtin, builtin_toml, builtins, defaults};
pub use column::{By, Column, Kind};
pub use load::{LoadPart, READ_BACK_ROWS};
pub use operation::{Limits, MAX_BATCH, Operation};
pub use order::{DEFAULT_EXPONENT, Order};
pub use permutation::Permutation;
pub use scenario::{
    Expectation, Load, MAX_ROWS, MAX_VALUE_BYTES, MAX_VALUES, ReadBack, Scenario, ScenarioError, Statement,
};
pub use stream::{Blobs, Texts};
pub use suggestion::suggestion;
pub use workload::{Issue, Workload, WorkloadError};
pub use zipf::Zipf;
