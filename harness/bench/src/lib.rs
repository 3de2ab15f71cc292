//! The plan, the supervision of workers and the files of a run.
//!
//! [`run`] carries out a [`Plan`]: it asks each [`Contender`]'s worker who it is, runs cell after cell with a fresh server and
//! a fresh worker each, compares what the server counted with what the worker issued, and keeps everything in a
//! [`RunFolder`] as it ends. [`gate::main`] is the hidden subcommand behind which worker and server start.

mod agreement;
mod arrangement;
mod cancel;
mod cell;
mod contender;
mod estimate;
mod failure;
mod folder;
pub mod gate;
mod introduction;
mod latency;
mod log;
mod observer;
mod plan;
mod process;
mod programs;
mod readings;
mod redaction;
mod run;
mod server;
mod target;
mod worker;

pub use arrangement::{Arrangement, ArrangementError, Placement};
pub use cancel::Cancel;
pub use contender::{Contender, ContenderError};
pub use estimate::Estimate;
pub use failure::{CellFailure, Step};
pub use folder::{DEFAULT_PARENT, FolderError, RunFolder};
pub use introduction::{DriverListing, drivers};
pub use latency::HistogramError;
pub use observer::{CellStart, Observer, Silent, Stage};
pub use plan::{CONTROL_BLOCKS, COUNTING_COUNT, Plan, PlanError, PlannedCell};
pub use process::PASSWORD_VARIABLE;
pub use programs::{KNOWN, NoWorker, Programs, WORKER_PREFIX, WORKERS_VARIABLE};
pub use run::{BenchError, Finished, run};
pub use target::{Target, TargetError, credentials};
pub use worker::Deadlines;
