//! How client and server sit on the machine: `current`, `multi:N`, and either with `pinned+` before it.

use std::fmt;
use std::str::FromStr;

use cqldyno_protocol::Runtime;
use cqldyno_reports::ArrangementInfo;

/// The worker's async runtime, and whether worker and server have cores of their own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Arrangement {
    /// The runtime that the driver runs on.
    pub runtime: Runtime,
    /// Whether worker and server run on cores that do not overlap; otherwise both may use all.
    pub pinned: bool,
}

/// The most worker threads that an arrangement may have.
const MOST_WORKERS: usize = 1_024;

/// An arrangement that cannot be read, or that this machine does not allow.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ArrangementError {
    /// Not one of the forms.
    #[error(
        "the arrangement {text:?} was asked for; write `current` (tokio's current-thread runtime) or `multi:N` (N worker \
         threads, 1 to {MOST_WORKERS}), with `pinned+` before it to give worker and server cores of their own"
    )]
    Unreadable {
        /// What was written.
        text: String,
    },
    /// Too few cores to part.
    #[error(
        "the arrangement {arrangement} needs two cores, one for the worker and one for the server, and this program may use \
         {cores}; leave `pinned+` out, or allow it more cores"
    )]
    TooFewCores {
        /// What was asked for.
        arrangement: String,
        /// Cores that may be used.
        cores: usize,
    },
}

impl FromStr for Arrangement {
    type Err = ArrangementError;

    fn from_str(text: &str) -> Result<Arrangement, ArrangementError> {
        let (pinned, runtime) = text.strip_prefix("pinned+").map_or((false, text), |runtime| (true, runtime));
        let workers = || {
            let workers = runtime.strip_prefix("multi:")?.parse().ok()?;
            (1..=MOST_WORKERS).contains(&workers).then_some(workers)
        };
        let runtime = match runtime {
            "current" => Runtime::Current,
            _ => match workers() {
                Some(workers) => Runtime::Multi { workers },
                None => return Err(ArrangementError::Unreadable { text: text.to_owned() }),
            },
        };
        Ok(Arrangement { runtime, pinned })
    }
}

impl fmt::Display for Arrangement {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{}{}", if self.pinned { "pinned+" } else { "" }, self.runtime)
    }
}

/// The cores of worker and server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Placement {
    /// Cores that the worker may use.
    pub worker: Vec<usize>,
    /// Cores that the server may use.
    pub server: Vec<usize>,
    /// Whether that is less than all, so that processes must be told.
    pub pinned: bool,
}

impl Arrangement {
    /// Divides `cores`, those that this program may use: when pinned the server has the first half (the smaller one of an
    /// odd number) and the worker the rest; otherwise both have all.
    ///
    /// # Errors
    /// When there is nothing to divide.
    pub fn place(&self, cores: &[usize]) -> Result<Placement, ArrangementError> {
        if !self.pinned {
            return Ok(Placement { worker: cores.to_vec(), server: cores.to_vec(), pinned: false });
        }
        if cores.len() < 2 {
            return Err(ArrangementError::TooFewCores { arrangement: self.to_string(), cores: cores.len() });
        }
        let (server, worker) = cores.split_at(cores.len() / 2);
        Ok(Placement { worker: worker.to_vec(), server: server.to_vec(), pinned: true })
    }

    /// The form that results hold; `own_server` says whether the server is ours to place.
    pub(crate) fn info(&self, placement: &Placement, own_server: bool) -> ArrangementInfo {
        let numbers = |cores: &[usize]| cores.iter().filter_map(|&core| u32::try_from(core).ok()).collect();
        ArrangementInfo {
            id: self.to_string(),
            runtime: self.runtime.to_string(),
            worker_cores: numbers(&placement.worker),
            server_cores: if own_server { numbers(&placement.server) } else { Vec::new() },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_form_is_read_and_printed_again() {
        for text in ["current", "multi:1", "multi:2", "pinned+current", "pinned+multi:16"] {
            assert_eq!(text.parse::<Arrangement>().unwrap().to_string(), text);
        }
    }

    #[test]
    fn other_forms_are_refused_with_what_to_write() {
        for text in
            ["", "multi", "multi:", "multi:0", "multi:x", "multi:9999", "pinned", "pinned+", "single", "current "]
        {
            let error = text.parse::<Arrangement>().unwrap_err().to_string();
            assert!(error.contains(&format!("{text:?}")) && error.contains("write `current`"), "{error}");
        }
    }

    #[test]
    fn pinned_gives_cores_that_do_not_overlap_and_is_refused_on_one_core() {
        let pinned: Arrangement = "pinned+current".parse().unwrap();
        let place = |cores: &[usize]| pinned.place(cores).unwrap();
        assert_eq!((place(&[0, 1]).server, place(&[0, 1]).worker), (vec![0], vec![1]));
        assert_eq!((place(&[2, 3, 5]).server, place(&[2, 3, 5]).worker), (vec![2], vec![3, 5]));
        let error = pinned.place(&[0]).unwrap_err().to_string();
        assert!(error.contains("pinned+current needs two cores") && error.contains("may use 1"), "{error}");
        let shared: Arrangement = "current".parse().unwrap();
        assert_eq!(shared.place(&[0]).unwrap().server, [0]);
    }
}
