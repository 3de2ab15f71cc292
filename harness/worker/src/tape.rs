//! The tape: what is issued and what must come back, as a file (`drivers/PROTOCOL.md`).
//!
//! A worker that loads rows writes it from the scenario. One that plays it reads a turn at a time, and binds and compares what it read.

mod player;
mod reel;
#[cfg(test)]
mod tests;
mod writer;

use std::io;

use cqldyno_driver_api::DriverError;
use cqldyno_driver_api::wire::ColumnType;
use cqldyno_protocol::{Failed, FailureKind, Job, Tape};

pub(crate) use self::player::Player;
pub(crate) use self::reel::Reel;
pub(crate) use self::writer::write;

fn refused(message: String) -> Failed {
    Failed { kind: FailureKind::Job, message }
}

/// The types of a statement's markers and columns.
struct Types {
    values: Box<[ColumnType]>,
    columns: Box<[ColumnType]>,
}

fn types_of(job: &Job, tape: &Tape) -> Result<Vec<Types>, Failed> {
    let (asked, found) = (job.scenario.statements.len(), tape.statements.len());
    if asked != found {
        return Err(refused(format!(
            "the scenario {} has {asked} statements, and the job has the types of {found} for its tape; give those of each",
            job.scenario.name
        )));
    }
    let read = |types: &Vec<String>, name: &str| -> Result<Box<[ColumnType]>, Failed> {
        let types: Result<_, _> = types.iter().map(|one| one.parse()).collect();
        types.map_err(|error: DriverError| {
            refused(format!("the types of the statement {name} on the tape cannot be read: {}", error.message()))
        })
    };
    let each = tape.statements.iter().zip(&job.scenario.statements);
    each.map(|(types, one)| {
        Ok(Types { values: read(&types.values, &one.name)?, columns: read(&types.columns, &one.name)? })
    })
    .collect()
}

/// Why a record is neither written nor read.
#[derive(Debug, thiserror::Error)]
enum NoRecord {
    #[error(transparent)]
    File(#[from] io::Error),
    #[error(transparent)]
    Value(#[from] DriverError),
}
