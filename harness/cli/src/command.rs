//! One file per command: its arguments and what it does.

pub mod bisect;
pub mod cache;
pub mod check;
pub mod cluster;
pub mod compare;
pub mod completions;
pub mod conform;
pub mod doctor;
pub mod drivers;
pub mod durable;
pub mod faults;
pub mod history;
pub mod launch;
pub mod loader;
pub mod man;
pub mod pitfalls;
pub mod pr;
pub mod prices;
pub mod regress;
pub mod report;
pub mod scenarios;
pub mod serve;
