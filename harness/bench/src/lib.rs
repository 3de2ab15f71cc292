//! The plan, the supervision of workers and the files of a run.
//!
//! [`run`] carries out a [`Plan`]: it asks each [`Contender`]'s worker who it is, runs cell after cell with a fresh server and
//! a fresh worker each, compares what the server counted with what the worker issued, and keeps everything in a
//! [`RunFolder`] as it ends. [`gate::main`] is the hidden subcommand behind which worker and server start.

mod cell;
mod judge;
mod plan;
mod process;
mod record;
mod run;

pub use judge::latency::HistogramError;
pub use plan::arrangement::{Arrangement, ArrangementError};
pub use plan::contender::{Contender, ContenderError};
pub use plan::estimate::Estimate;
pub use plan::pass::{doing, headline, passes};
pub use plan::placement::{PINNING_CORES, Pin, Placement, PlacementError, place};
pub use plan::target::{Target, TargetError, credentials};
pub use plan::topology::Topology;
pub use plan::{CONTROL_BLOCKS, COUNTING_COUNT, Plan, PlanError, PlannedCell};
pub use process::cancel::Cancel;
pub use process::child::PASSWORD_VARIABLE;
pub use process::failure::{CellFailure, Step};
pub use process::gate;
pub use process::introduction::{DriverListing, drivers};
pub use process::load_generator::OtherGenerator;
pub use process::programs::{KNOWN, NoWorker, Programs, WORKER_PREFIX, WORKERS_VARIABLE};
pub use process::worker::Deadlines;
pub use record::folder::{DEFAULT_PARENT, FolderError, RunFolder};
pub use record::resume::ResumeError;
pub use run::course::REPEATS;
pub use run::observer::{CellStart, Observer, Outlook, Silent, Stage};
pub use run::{BenchError, Finished, resume, run};
