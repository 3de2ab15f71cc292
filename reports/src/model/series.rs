//! A cell's window in seconds.

use serde::{Deserialize, Serialize};

/// One value per second of a cell's window.
///
/// The last second is a part of one; a window below a second has one value.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Series {
    /// Statements answered in the second, as the worker counted them.
    pub answered: Vec<u64>,
    /// CPU time of the worker in the second, in microseconds; empty if it could not be read.
    #[serde(default)]
    pub cpu_us: Vec<u64>,
    /// CPU time of the server in the second, in microseconds; empty if it could not be read or is not ours.
    #[serde(default)]
    pub server_cpu_us: Vec<u64>,
}

impl Series {
    /// All series as long as that of the answers.
    ///
    /// The answers come with the worker's clock, the others with the parent's: there may be one second more or less.
    pub fn new(answered: Vec<u64>, cpu_us: Vec<u64>, server_cpu_us: Vec<u64>) -> Series {
        let as_long = |mut series: Vec<u64>| {
            if !series.is_empty() && !answered.is_empty() {
                let rest: u64 = series.iter().skip(answered.len()).sum();
                series.resize(answered.len(), 0);
                if let Some(last) = series.last_mut() {
                    *last += rest;
                }
            }
            series
        };
        let (cpu_us, server_cpu_us) = (as_long(cpu_us), as_long(server_cpu_us));
        Series { answered, cpu_us, server_cpu_us }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_series_of_a_cell_have_as_many_seconds() {
        let series = Series::new(vec![7, 8], vec![1, 2, 3], Vec::new());
        assert_eq!((series.cpu_us, series.server_cpu_us), (vec![1, 5], vec![]));
        assert_eq!(Series::new(vec![7, 8], vec![1], vec![2, 3]).cpu_us, [1, 0]);
        assert_eq!(Series::new(Vec::new(), vec![1], vec![]).cpu_us, [1], "nothing was answered");
    }
}
