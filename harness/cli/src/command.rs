//! One file per command: its arguments and what it does.

pub mod check;
pub mod compare;
pub mod completions;
pub mod doctor;
pub mod drivers;
pub mod history;
pub mod pitfalls;
pub mod prices;
pub mod regress;
pub mod report;
pub mod run;
pub mod scenarios;
pub mod serve;
