//! What a run reports while it runs.

use std::time::Duration;

use cqldyno_builder::Progress;
use cqldyno_reports::{Cell, Contender, Pass, PlanInfo, Run};

use crate::cell::Stage;

/// A cell or a generation that is about to run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CellStart<'a> {
    /// Its place in the run, from 1.
    pub number: usize,
    /// Cells and generations of the run.
    pub of: usize,
    /// The contender's label; empty for a generation, which has several.
    pub label: &'a str,
    /// The scenario's name.
    pub scenario: &'a str,
    /// The arrangement.
    pub arrangement: &'a str,
    /// The generation, or the block of another pass, from 1.
    pub block: u32,
    /// What it is run for.
    pub pass: Pass,
    /// What it does, in a few words.
    pub doing: &'static str,
    /// From 1; more when its block was broken off.
    pub attempt: u32,
    /// Statements in a window.
    pub count: u64,
    /// Time that the rest of the run will take, this cell included.
    pub left: Duration,
    /// Time that the cells after this one will take.
    pub behind: Duration,
}

/// A run that is about to start, or to go on.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Outlook<'a> {
    /// Cells that are to be run, besides generations.
    pub cells: usize,
    /// Generations that are to be run of every scenario and arrangement; at most so many.
    pub generations: u32,
    /// What was asked for.
    pub plan: &'a PlanInfo,
    /// How long they take: a rough guess, because nothing is measured yet.
    pub estimate: Duration,
    /// The part of it in which the server is started and warmed up.
    pub preparation: Duration,
}

/// A run between two generations.
#[derive(Clone, Copy, Debug)]
pub struct SoFar<'a> {
    /// As its file has it.
    pub run: &'a Run,
    /// Those that are there.
    pub cells: &'a [Cell],
    /// The generation that ended, from 1; a block where contenders take no turns.
    pub generation: u32,
    /// How many there will be, as far as is known now.
    pub of: u32,
    /// Whether it ended in every scenario and arrangement.
    pub is_whole: bool,
    /// Time that the rest of the run will take.
    pub left: Duration,
}

/// Where the build of a worker is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Building {
    /// It goes on; a worker that is in the cache never gets here.
    Goes(Progress),
    /// It is over.
    Ends {
        /// Whether the worker is there.
        well: bool,
        /// The time that it took.
        lasted: Duration,
    },
}

/// Hears what a run does. Every method may be left out.
#[expect(unused_variables, reason = "nothing is heard by default")]
pub trait Observer {
    /// Several workers are not beside cqldyno: those that are to be built, and how many more the cache seems to have.
    fn to_build(&mut self, labels: &[String], cached: usize) {}

    /// A worker is built for the contender `label`, before anything is measured.
    fn builds(&mut self, label: &str, building: Building) {}

    /// The run is not quite what was asked for, or has too little time for some of it, as the sentence says.
    fn says(&mut self, sentence: &str) {}

    /// A contender was asked who it is, or could not be.
    fn contender(&mut self, contender: &Contender) {}

    /// The server is fetched, started or warmed up, as the sentence says.
    fn prepares(&mut self, sentence: &str) {}

    /// The run ended and left something behind on the cluster, as the sentence says.
    fn leaves(&mut self, sentence: &str) {}

    /// The run is about to start, or to go on.
    fn starts(&mut self, outlook: &Outlook<'_>) {}

    /// A run goes on: what is there, and a sentence if one of the cells was cut off.
    fn resumes(&mut self, there: &[Cell], dropped: Option<&str>) {}

    /// A cell is about to run.
    fn cell_starts(&mut self, cell: &CellStart<'_>) {}

    /// The running cell is at this stage, or further within it.
    fn stage(&mut self, stage: Stage) {}

    /// A generation of one scenario in one arrangement has ended, and nothing is measured before this returns.
    fn generation_ended(&mut self, so_far: &SoFar<'_>) {}

    /// A cell, or the last turn of a contender, has ended, well or not; `left` is what the rest of the run will take.
    fn cell_ended(&mut self, cell: &Cell, left: Duration) {}
}

/// Hears nothing.
#[derive(Clone, Copy, Debug, Default)]
pub struct Silent;

impl Observer for Silent {}
