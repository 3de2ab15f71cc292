//! The plan, the supervision of workers and the files of a run.
//!
//! [`run()`] carries out a [`Plan`]. It asks each [`Contender`]'s worker who it is, and runs generation after generation of turns,
//! and cell after cell of the other passes, with fresh servers and workers. It compares what the server counted with what the worker issued, and keeps everything in a run folder.
//!
//! There are seven rooms, and each uses only those before it:
//! - `plan`: what is run, and in which order;
//! - `judge`: whether figures count, and how results hold them;
//! - `process`: programs, and how to talk to them;
//! - `record`: what a run keeps;
//! - `cell`: cells and turns, stage by stage;
//! - `run`: all of them;
//! - `conform`: one worker against the worker protocol, without a run.

pub use cqldyno_builder as builder;

/// Profile and compiler of this build.
pub const BUILT_BY: &str = concat!(env!("CQLDYNO_PROFILE"), ", ", env!("CQLDYNO_COMPILER"));

mod cell;
mod conform;
mod judge;
mod plan;
mod process;
mod record;
mod run;

pub use cell::{Stage, watch_host};
pub use conform::{Check, Conformity, Found, Tried, conform};
pub use plan::arrangement::Arrangement;
pub use plan::contender::{BUILDER_KEYS, COMMON_KEYS, COMPARED, Contender, KNOWN, common_keys};
pub use plan::open_files;
pub use plan::pass::{headline, passes};
pub use plan::placement::Pin;
pub use plan::serve::{AskedDelay, Serve, duration};
pub use plan::tape::{Recordings, recorded};
pub use plan::target::{Access, Target, credentials};
pub use plan::topology::Topology;
pub use plan::turns::BLOCKS;
pub use plan::{CONCURRENCY, Deadlines, PAGE_SIZE, PATIENCE, Plan};
pub use process::cancel::Cancel;
pub use process::failure::CellFailure;
pub use process::gate;
pub use process::introduction::{DriverListing, drivers};
pub use process::loader;
pub use process::programs::{Programs, WORKERS_VARIABLE};
pub use record::folder::{DEFAULT_PARENT, FolderError};
pub use record::kept::scenario_info;
pub use run::introductions::Workshop;
pub use run::observer::{Building, CellStart, Observer, Outlook, Silent, SoFar};
pub use run::{BenchError, Finished, resume, run};
