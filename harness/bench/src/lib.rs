//! The plan, the supervision of workers and the files of a run.
//!
//! [`run`] carries out a [`Plan`]: it asks each [`Contender`]'s worker who it is, runs cell after cell with a fresh server and
//! a fresh worker each, compares what the server counted with what the worker issued, and keeps everything in a
//! [`RunFolder`] as it ends. [`gate::main`] is the hidden subcommand behind which worker and server start.

mod agreement;
mod arrangement;
mod asked;
mod cancel;
mod cell;
mod contender;
mod course;
mod due;
mod estimate;
mod executable;
mod failure;
mod files;
mod folder;
pub mod gate;
mod introduction;
mod latency;
mod limit;
mod load_generator;
mod log;
mod noise;
mod observer;
mod pass;
mod placement;
mod plan;
mod plan_record;
mod process;
mod programs;
mod readings;
mod redaction;
mod resume;
mod run;
mod schedule;
mod server;
mod shuffle;
mod target;
mod topology;
mod worker;

pub use arrangement::{Arrangement, ArrangementError};
pub use cancel::Cancel;
pub use contender::{Contender, ContenderError};
pub use course::REPEATS;
pub use estimate::Estimate;
pub use failure::{CellFailure, Step};
pub use folder::{DEFAULT_PARENT, FolderError, RunFolder};
pub use introduction::{DriverListing, drivers};
pub use latency::HistogramError;
pub use load_generator::OtherGenerator;
pub use observer::{CellStart, Observer, Outlook, Silent, Stage};
pub use pass::{doing, headline, passes};
pub use placement::{PINNING_CORES, Pin, Placement, PlacementError, place};
pub use plan::{CONTROL_BLOCKS, COUNTING_COUNT, Plan, PlanError, PlannedCell};
pub use process::PASSWORD_VARIABLE;
pub use programs::{KNOWN, NoWorker, Programs, WORKER_PREFIX, WORKERS_VARIABLE};
pub use resume::ResumeError;
pub use run::{BenchError, Finished, resume, run};
pub use target::{Target, TargetError, credentials};
pub use topology::Topology;
pub use worker::Deadlines;
