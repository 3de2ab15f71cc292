//! What limited a row: the worker's or the server's cores.

use serde::{Deserialize, Serialize};

use crate::Cell;
use crate::measure::{SERVER_UTILISATION, WORKER_UTILISATION};
use crate::median;

/// A side that uses more than this percentage of its cores' time is at its limit.
const BUSY: f64 = 80.0;

/// Which side was at its limit.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Bottleneck {
    /// The server used more than 80 % of its cores, or a greater share of its own than the worker: the rate is the server's.
    Server,
    /// The worker used more than 80 % of its cores, and more than the server.
    Worker,
    /// Neither: they wait for each other.
    Neither,
}

impl Bottleneck {
    /// From the medians of the cells' utilisations; `None` if one side's is not known.
    pub(crate) fn of(cells: &[&Cell]) -> Option<Bottleneck> {
        let of = |id| median(&mut cells.iter().filter_map(|cell| cell.get(id)).collect::<Vec<_>>());
        let (worker, server) = (of(WORKER_UTILISATION)?, of(SERVER_UTILISATION)?);
        Some(match (server > BUSY || server > worker, worker > BUSY) {
            (true, _) => Bottleneck::Server,
            (false, true) => Bottleneck::Worker,
            (false, false) => Bottleneck::Neither,
        })
    }

    /// The word in tables.
    pub fn name(self) -> &'static str {
        match self {
            Bottleneck::Server => "server-bound",
            Bottleneck::Worker => "worker-bound",
            Bottleneck::Neither => "neither",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Measure, Unit, sample};

    fn with(worker: Option<f64>, server: Option<f64>) -> Option<Bottleneck> {
        let mut cell = sample::run().1.remove(0);
        for (id, value) in [(WORKER_UTILISATION, worker), (SERVER_UTILISATION, server)] {
            cell.measures.remove(id);
            if let Some(value) = value {
                cell.measures.insert(id.to_owned(), Measure::value(value, Unit::Percent));
            }
        }
        Bottleneck::of(&[&cell])
    }

    #[test]
    fn a_server_above_80_percent_or_above_the_worker_is_the_limit() {
        assert_eq!(with(Some(95.0), Some(81.0)), Some(Bottleneck::Server));
        assert_eq!(with(Some(20.0), Some(30.0)), Some(Bottleneck::Server));
        assert_eq!(with(Some(95.0), Some(80.0)), Some(Bottleneck::Worker));
        assert_eq!(with(Some(50.0), Some(10.0)), Some(Bottleneck::Neither));
        assert_eq!((with(None, Some(10.0)), with(Some(90.0), None)), (None, None));
    }
}
