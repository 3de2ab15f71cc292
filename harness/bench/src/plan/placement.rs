//! Which cores worker and server run on.

use std::collections::BTreeSet;
use std::str::FromStr;

use cqldyno_reports::ArrangementInfo;

use crate::plan::arrangement::Arrangement;
use crate::plan::topology::{Topology, parse_list, write_list};

/// With so many physical cores or more, worker and server have cores of their own unless asked otherwise.
pub const PINNING_CORES: usize = 4;

/// Whether worker and server have cores of their own.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Pin {
    /// With [`PINNING_CORES`] physical cores or more, unless an arrangement says `pinned+` itself.
    #[default]
    Auto,
    /// Never.
    Off,
    /// These cores, by the kernel's numbers.
    Cores {
        /// The worker's.
        worker: Vec<usize>,
        /// The server's.
        server: Vec<usize>,
    },
}

/// Cores that nobody can have as was asked.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PlacementError {
    #[error(
        "--pin {0:?} was asked for; write `auto`, `off`, or the worker's cores and the server's with a `/` between them, for \
         example `2-3/0-1`"
    )]
    Unreadable(String),
    #[error(
        "the arrangement {0} needs two cores, one for the worker and one for the server, and this program may use {1}; leave \
         `pinned+` out, or allow it more cores"
    )]
    TooFewCores(Arrangement, usize),
    #[error("the arrangement {0} was asked for together with --pin off; leave one of both out")]
    PinnedAndOff(Arrangement),
    /// The worker's or the server's core that this program may not use, and those that it may.
    #[error("--pin gives the {0} core {1}, and this program may use {2}; name some of those")]
    NotAllowed(&'static str, usize, String),
    /// A physical core, by its first hardware thread, that both would have, and all of its threads.
    #[error(
        "--pin gives both the worker and the server the physical core {0} (its hardware threads are {1}); give each physical core \
         to one of them"
    )]
    Shared(usize, String),
}

impl FromStr for Pin {
    type Err = PlacementError;

    fn from_str(text: &str) -> Result<Pin, PlacementError> {
        let cores = || {
            let (worker, server) = text.split_once('/')?;
            Some(Pin::Cores { worker: parse_list(worker)?, server: parse_list(server)? })
        };
        match text {
            "auto" => Ok(Pin::Auto),
            "off" => Ok(Pin::Off),
            _ => cores().ok_or_else(|| PlacementError::Unreadable(text.to_owned())),
        }
    }
}

/// An arrangement with the cores that it has here.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Placement {
    /// The arrangement; pinned where it is, asked for or not.
    pub arrangement: Arrangement,
    /// Cores that the worker may use.
    pub worker: Vec<usize>,
    /// Cores that the server may use.
    pub server: Vec<usize>,
    /// What a reader must know of this, as a full sentence.
    pub note: Option<String>,
}

impl Placement {
    /// The worker's cores; `None` when it may use all.
    pub(crate) fn worker_cores(&self) -> Option<&[usize]> {
        self.arrangement.pinned.then_some(self.worker.as_slice())
    }

    /// The server's cores; `None` when it may use all.
    pub(crate) fn server_cores(&self) -> Option<&[usize]> {
        self.arrangement.pinned.then_some(self.server.as_slice())
    }

    /// The cores that the processes of a cell may use; `own_server` as below.
    pub(crate) fn cores(&self, own_server: bool) -> Vec<usize> {
        let server = if own_server { self.server.as_slice() } else { &[] };
        self.worker.iter().chain(server).copied().collect::<BTreeSet<_>>().into_iter().collect()
    }

    /// The form that results hold; `own_server` says whether the server is ours to place.
    pub(crate) fn info(&self, own_server: bool) -> ArrangementInfo {
        let numbers = |cores: &[usize]| cores.iter().filter_map(|&core| u32::try_from(core).ok()).collect();
        ArrangementInfo {
            id: self.arrangement.to_string(),
            runtime: self.arrangement.runtime.to_string(),
            worker_cores: numbers(&self.worker),
            server_cores: if own_server { numbers(&self.server) } else { Vec::new() },
            note: self.note.clone(),
        }
    }
}

/// Gives each of `arrangements` its cores on this machine. Both sides have all, or the server has the first half of the physical cores
/// (the smaller one of an odd number) and the worker the rest.
///
/// `own_server` says whether the server is ours to place: another one takes no core of ours.
///
/// # Errors
/// When there is nothing to divide, or the named cores cannot be used.
pub fn place(
    arrangements: &[Arrangement],
    pin: &Pin,
    topology: &Topology,
    own_server: bool,
) -> Result<Vec<Placement>, PlacementError> {
    let some_pinned = arrangements.iter().any(|arrangement| arrangement.pinned);
    let (all, physical) = (topology.cores(), topology.physical.len());
    let shared = |arrangement: Arrangement, note: Option<String>| {
        let arrangement = Arrangement { pinned: false, ..arrangement };
        Ok(Placement { arrangement, worker: all.clone(), server: all.clone(), note })
    };
    let place = |arrangement: Arrangement| match (pin, arrangement.pinned) {
        (Pin::Cores { worker, server }, _) => check(worker, server, topology).map(|()| {
            let arrangement = Arrangement { pinned: true, ..arrangement };
            Placement { arrangement, worker: worker.clone(), server: server.clone(), note: None }
        }),
        (Pin::Off, true) => Err(PlacementError::PinnedAndOff(arrangement)),
        (Pin::Auto, true) => divide(arrangement, topology),
        (Pin::Off, false) => shared(arrangement, None),
        (Pin::Auto, false) if some_pinned || !own_server => shared(arrangement, None),
        (Pin::Auto, false) if physical >= PINNING_CORES => {
            divide(Arrangement { pinned: true, ..arrangement }, topology)
        }
        (Pin::Auto, false) => {
            let note = format!(
                "Worker and server share {}: they have cores of their own from {PINNING_CORES} physical cores on, and there \
                 {} {physical}.",
                if all.len() == 1 { "one core".to_owned() } else { format!("the {} cores", all.len()) },
                if physical == 1 { "is" } else { "are" },
            );
            shared(arrangement, Some(note))
        }
    };
    arrangements.iter().copied().map(place).collect()
}

fn divide(arrangement: Arrangement, topology: &Topology) -> Result<Placement, PlacementError> {
    let physical = &topology.physical[..];
    let (server, worker, note) = match physical {
        [] => (Vec::new(), Vec::new(), None),
        // One physical core has nothing better to divide than its hardware threads.
        [threads] => {
            let (server, worker) = threads.split_at(threads.len() / 2);
            let note = "Worker and server have hardware threads of their own on one physical core, which they share.";
            (server.to_vec(), worker.to_vec(), Some(note.to_owned()))
        }
        _ => {
            let (server, worker) = physical.split_at(physical.len() / 2);
            (server.concat(), worker.concat(), None)
        }
    };
    if server.is_empty() || worker.is_empty() {
        return Err(PlacementError::TooFewCores(arrangement, topology.cores().len()));
    }
    let sorted = |mut cores: Vec<usize>| {
        cores.sort_unstable();
        cores
    };
    Ok(Placement { arrangement, worker: sorted(worker), server: sorted(server), note })
}

fn check(worker: &[usize], server: &[usize], topology: &Topology) -> Result<(), PlacementError> {
    let all = topology.cores();
    for (whose, cores) in [("worker", worker), ("server", server)] {
        if let Some(core) = cores.iter().find(|core| !all.contains(core)) {
            return Err(PlacementError::NotAllowed(whose, *core, write_list(&all)));
        }
    }
    let both = |threads: &&Vec<usize>| {
        threads.iter().any(|core| worker.contains(core)) && threads.iter().any(|core| server.contains(core))
    };
    match topology.physical.iter().find(both) {
        None => Ok(()),
        Some(threads) => Err(PlacementError::Shared(threads[0], write_list(threads))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn placed(arrangements: &str, pin: &str, topology: &Topology) -> Result<Vec<Placement>, String> {
        let arrangements: Vec<Arrangement> = arrangements.split(',').map(|text| text.parse().unwrap()).collect();
        place(&arrangements, &pin.parse().unwrap(), topology, true).map_err(|error| error.to_string())
    }

    fn only(arrangement: &str, pin: &str, topology: &Topology) -> (String, Vec<usize>, Vec<usize>, Option<String>) {
        let mut found = placed(arrangement, pin, topology).unwrap();
        let one = found.remove(0);
        (one.arrangement.to_string(), one.worker, one.server, one.note)
    }

    #[test]
    fn below_four_physical_cores_worker_and_server_share_all_and_the_note_says_why() {
        for (topology, words) in [
            (
                Topology::sample(1, 1),
                "share one core: they have cores of their own from 4 physical cores on, and there is 1.",
            ),
            (
                Topology::sample(2, 1),
                "share the 2 cores: they have cores of their own from 4 physical cores on, and there are 2.",
            ),
            (Topology::sample(2, 2), "share the 4 cores"),
        ] {
            let (id, worker, server, note) = only("multi:2", "auto", &topology);
            assert_eq!((id.as_str(), &worker, &server), ("multi:2", &topology.cores(), &topology.cores()));
            assert!(note.as_ref().is_some_and(|note| note.contains(words)), "{note:?}");
        }
    }

    #[test]
    fn from_four_physical_cores_on_each_has_physical_cores_of_its_own_and_the_arrangement_says_so() {
        let four = only("multi:2", "auto", &Topology::sample(4, 1));
        assert_eq!(four, ("pinned+multi:2".to_owned(), vec![2, 3], vec![0, 1], None));
        let smt = only("current", "auto", &Topology::sample(8, 2));
        let expected = (vec![4, 5, 6, 7, 12, 13, 14, 15], vec![0, 1, 2, 3, 8, 9, 10, 11]);
        assert_eq!((smt.1, smt.2), expected, "both threads of a core go to the same side");
        assert_eq!(only("current", "auto", &Topology::sample(5, 1)).2, [0, 1], "the worker has the greater half");
    }

    #[test]
    fn pinning_is_switched_off_by_the_flag_and_left_to_the_arrangements_where_one_of_them_says_it() {
        let topology = Topology::sample(4, 1);
        assert_eq!(only("multi:2", "off", &topology).0, "multi:2");
        let both = placed("multi:2,pinned+multi:2", "auto", &topology).unwrap();
        let ids: Vec<String> = both.iter().map(|one| one.arrangement.to_string()).collect();
        assert_eq!(ids, ["multi:2", "pinned+multi:2"]);
        assert!(placed("pinned+current", "off", &topology).unwrap_err().contains("together with --pin off"));
    }

    #[test]
    fn a_pinned_arrangement_is_divided_on_fewer_cores_too_and_refused_on_one() {
        assert_eq!(only("pinned+current", "auto", &Topology::sample(2, 1)).1, [1]);
        assert_eq!(only("pinned+current", "auto", &Topology::sample(3, 2)).2, [0, 3]);
        let (_, worker, server, note) = only("pinned+current", "auto", &Topology::sample(1, 2));
        assert_eq!((worker, server), (vec![1], vec![0]));
        assert!(note.unwrap().contains("hardware threads of their own on one physical core"));
        let error = placed("pinned+current", "auto", &Topology::sample(1, 1)).unwrap_err();
        assert!(error.contains("pinned+current needs two cores") && error.contains("may use 1"), "{error}");
    }

    #[test]
    fn named_cores_are_taken_when_they_are_there_and_share_no_physical_core() {
        let topology = Topology::sample(4, 2);
        assert_eq!(
            only("current", "1-3/0,4", &topology),
            ("pinned+current".to_owned(), vec![1, 2, 3], vec![0, 4], None)
        );
        let error = placed("current", "1/8", &topology).unwrap_err();
        assert!(error.contains("the server core 8, and this program may use 0-7"), "{error}");
        let error = placed("current", "1/5", &topology).unwrap_err();
        assert!(error.contains("the physical core 1 (its hardware threads are 1,5)"), "{error}");
        for text in ["", "on", "1", "1/", "/1", "a/b", "3-1/0"] {
            let error = text.parse::<Pin>().unwrap_err().to_string();
            assert!(error.contains("write `auto`, `off`"), "{error}");
        }
        assert_eq!("1-3/0,4".parse(), Ok(Pin::Cores { worker: vec![1, 2, 3], server: vec![0, 4] }));
    }

    #[test]
    fn a_server_that_is_not_ours_takes_no_core() {
        let arrangement: Arrangement = "multi:2".parse().unwrap();
        let placed = place(&[arrangement], &Pin::Auto, &Topology::sample(8, 1), false).unwrap();
        assert_eq!((placed[0].worker.len(), placed[0].arrangement.pinned, &placed[0].note), (8, false, &None));
        let pinned = Placement { worker: vec![3, 2], server: vec![0, 2], ..placed[0].clone() };
        assert_eq!((pinned.cores(false), pinned.cores(true)), (vec![2, 3], vec![0, 2, 3]));
    }
}
