//! What a run tells while it runs.

use std::time::Duration;

use cqldyno_reports::{Cell, Contender, Pass};

/// Where a cell is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stage {
    /// The server starts.
    Server,
    /// floor makes the schema and loads rows.
    Loading {
        /// Rows loaded so far.
        rows: u64,
        /// Rows to load.
        of: u64,
    },
    /// The contender connects, prepares and warms up.
    Connecting,
    /// The window.
    Window {
        /// Statements issued so far.
        issued: u64,
        /// Statements of the window.
        of: u64,
    },
}

/// A cell that is about to run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CellStart<'a> {
    /// Its place in the run, from 1.
    pub number: usize,
    /// Cells of the run, as far as it is known: a block that is run again has more.
    pub of: usize,
    /// The contender's label.
    pub label: &'a str,
    /// The scenario's name.
    pub scenario: &'a str,
    /// The arrangement.
    pub arrangement: &'a str,
    /// The block, from 1.
    pub block: u32,
    /// What it is run for.
    pub pass: Pass,
    /// Which of its pass' steps, from 0.
    pub step: usize,
    /// From 1; more when its block is run again.
    pub attempt: u32,
    /// Statements in the window.
    pub count: u64,
    /// Time that the rest of the run will take, this cell included.
    pub left: Duration,
    /// Time that the cells behind this one will take.
    pub behind: Duration,
}

/// A run that is about to start, or to go on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Outlook {
    /// Cells that are to be run.
    pub cells: usize,
    /// How long they take, by a table of what was measured elsewhere.
    pub estimate: Duration,
    /// Blocks that are run again may take up to so much more.
    pub repeats: Duration,
    /// The time that the run is given; `None` for no limit.
    pub within: Option<Duration>,
}

/// Hears what a run does. Every method may be left out.
pub trait Observer {
    /// A contender was asked who it is, or could not be.
    fn contender(&mut self, contender: &Contender) {
        let _ = contender;
    }

    /// The run is about to start, or to go on.
    fn starts(&mut self, outlook: &Outlook) {
        let _ = outlook;
    }

    /// A run is gone on with: so many cells are there, and a sentence if one of them was cut off.
    fn resumes(&mut self, cells: usize, dropped: Option<&str>) {
        let _ = (cells, dropped);
    }

    /// A block is about to be run again, as the sentence says.
    fn repeats(&mut self, sentence: &str) {
        let _ = sentence;
    }

    /// There will be too few blocks for an interval within the time that the run is given, as the sentence says.
    fn too_few(&mut self, sentence: &str) {
        let _ = sentence;
    }

    /// Rounds are left out for want of time, as the sentence says.
    fn cut_short(&mut self, sentence: &str) {
        let _ = sentence;
    }

    /// A cell is about to run.
    fn cell_starts(&mut self, cell: &CellStart<'_>) {
        let _ = cell;
    }

    /// The running cell is at this stage, or further within it.
    fn stage(&mut self, stage: Stage) {
        let _ = stage;
    }

    /// A cell has ended, well or not; `left` is what the rest of the run will take.
    fn cell_ended(&mut self, cell: &Cell, left: Duration) {
        let _ = (cell, left);
    }
}

/// Hears nothing.
#[derive(Clone, Copy, Debug, Default)]
pub struct Silent;

impl Observer for Silent {}
