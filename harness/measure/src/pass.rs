//! The purpose of a cell.

use serde::{Deserialize, Serialize};

/// What a cell was run for: no cell takes both time and what disturbs it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Pass {
    /// No counters are taken.
    #[default]
    Timing,
    /// System calls are counted.
    Counting,
    /// System calls are counted by name.
    Syscalls,
    /// Allocations are counted.
    Allocations,
    /// Instructions are counted.
    Instructions,
    /// Stacks are sampled.
    Flamegraph,
    /// Load below saturation: response times.
    Latency,
}

impl Pass {
    /// Every pass, in the order in which their blocks run and their tables stand.
    pub const ALL: [Pass; 7] = [
        Pass::Timing,
        Pass::Counting,
        Pass::Latency,
        Pass::Syscalls,
        Pass::Allocations,
        Pass::Instructions,
        Pass::Flamegraph,
    ];

    /// The name in files, on the command line and in messages.
    pub fn name(self) -> &'static str {
        match self {
            Pass::Timing => "timing",
            Pass::Counting => "counting",
            Pass::Syscalls => "syscalls",
            Pass::Allocations => "allocations",
            Pass::Instructions => "instructions",
            Pass::Flamegraph => "flamegraph",
            Pass::Latency => "latency",
        }
    }

    /// What its cells show, as the heading of a table.
    pub fn title(self) -> &'static str {
        match self {
            Pass::Timing => "time",
            Pass::Counting => "system calls",
            Pass::Syscalls => "system calls by name",
            Pass::Allocations => "allocations",
            Pass::Instructions => "instructions",
            Pass::Flamegraph => "flame graphs",
            Pass::Latency => "latency",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pass_has_the_same_name_in_files_and_in_messages() {
        for pass in Pass::ALL {
            assert_eq!(serde_json::to_string(&pass).unwrap(), format!("{:?}", pass.name()));
        }
    }
}
