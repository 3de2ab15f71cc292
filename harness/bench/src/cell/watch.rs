//! What the rounds of a generation have of their cores: what the witness costs, and what others use meanwhile. Loaders have watches of
//! their own, one on each host.

use std::collections::BTreeSet;
use std::sync::mpsc::channel;
use std::thread::Builder;

use cqldyno_meter::{Had, Others, cores, local_servers};
use cqldyno_reports::RoundCores;
use serde::{Deserialize, Serialize};

use super::CellContext;
use super::setup::Setup;
use super::witness::{Witness, WitnessOrder};
use crate::judge::merged;
use crate::process::cancel::Cancel;
use crate::process::child::Launch;
use crate::process::failure::CellFailure;
use crate::process::loader::{Whereabouts, heard, introduced, say};
use crate::process::loaders::{Loader, ask_all};

/// What a watch is started with.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct WatchOrder {
    /// Why nothing tells how fast the machine is, else what does.
    witness: Result<WitnessOrder, String>,
    /// Whether contenders live one after the other, so that the only round goes on from one to the next.
    apart: bool,
}

/// What the watch on a loader's host is asked, one after the other.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum ToWatch {
    Start(Box<WatchOrder>),
    /// These processes of its host are alive now, and may use these cores.
    Begin {
        processes: Vec<i32>,
        cores: Vec<usize>,
    },
    /// A turn is to begin.
    Between,
    /// It has ended. Contenders that end now, and what reads their rows back, belong to no turn.
    Ended,
    Round,
}

/// The answer to each.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct Told {
    /// Why there is no witness, if so.
    without_witness: Option<String>,
    /// To [`ToWatch::Round`].
    round: Option<RoundCores>,
}

/// Watches the cores from round to round. It fails only when the run is to end: that nothing can be watched is what its rounds say.
pub(super) enum Watch<'a> {
    Here(Box<WatchHere<'a>>),
    Loaders {
        /// One on each host, or why they are not all there.
        loaders: Result<Vec<Loader<'a>>, String>,
        /// The cores that contenders have; absent for all that they may use.
        pinned: Option<Vec<usize>>,
        without_witness: Option<String>,
    },
}

impl<'a> Watch<'a> {
    /// Starts it for so many `turns`, beside the contenders of `setup`, before anyone is alive.
    pub(super) fn start(setup: &'a Setup<'a>, turns: u32) -> Result<Watch<'a>, CellFailure> {
        let said = |failure: CellFailure| setup.bench.redaction.apply(&failure.to_string());
        let witness = WitnessOrder::of(setup, turns).map_err(said);
        let CellContext { programs, cancel, .. } = setup.bench.context;
        let (launch, bounds) = setup.launch(&programs.cqldyno, "-witness");
        let order = WatchOrder { witness, apart: setup.planned.apart };
        let Some((launcher, _)) = setup.launcher(&[]) else {
            return Ok(Watch::Here(Box::new(WatchHere::start(&order, setup.cores(), &launch, cancel)?)));
        };
        let started = launcher.watches(&Launch { cores: None, ..launch }, bounds).and_then(|mut loaders| {
            ask_all::<_, Told>(&mut loaders, &|_| ToWatch::Start(Box::new(order.clone())))?;
            Ok(loaders)
        });
        let loaders = unless_cancelled(started)?.map_err(said);
        let pinned = setup.placement.worker_cores().map(|_| setup.cores());
        Ok(Watch::Loaders { loaders, pinned, without_witness: None })
    }

    /// The processes `ours` are alive now, and those of loaders `elsewhere`.
    pub(super) fn begin(&mut self, ours: &[i32], elsewhere: &[(Whereabouts, [i32; 2])]) -> Result<(), CellFailure> {
        let (loaders, pinned) = match self {
            Watch::Here(watch) => {
                watch.begin(ours, Vec::new());
                return Ok(());
            }
            Watch::Loaders { loaders, pinned, .. } => (loaders, pinned.clone()),
        };
        let is_watched = |at: &Whereabouts| loaders.iter().flatten().any(|watch| watch.at.boot == at.boot);
        if let Some((at, _)) = elsewhere.iter().find(|(at, _)| loaders.is_ok() && !is_watched(at)) {
            *loaders = Err(format!("none of them is {}, where a worker is; name the hosts in --loaders.", at.host));
        }
        self.ask(&|loader| {
            let there = || elsewhere.iter().filter(|(at, _)| at.boot == loader.at.boot);
            let here = ours.iter().copied().chain([std::process::id().cast_signed()]);
            let processes = there().flat_map(|(_, processes)| *processes);
            let all: BTreeSet<usize> = there().flat_map(|(at, _)| at.cores.iter().copied()).collect();
            ToWatch::Begin {
                processes: processes.chain(here.filter(|_| loader.is_here())).collect(),
                cores: pinned.clone().unwrap_or_else(|| all.into_iter().collect()),
            }
        })
        .map(drop)
    }

    /// Between two turns: the witness has one of its own.
    pub(super) fn between(&mut self) -> Result<(), CellFailure> {
        match self {
            Watch::Here(watch) => watch.between(),
            Watch::Loaders { .. } => self.ask(&|_| ToWatch::Between).map(drop),
        }
    }

    /// After a turn and before its `ack`: a contender that loaders started may end after it, and nobody would know what it used.
    pub(super) fn before_ack(&mut self) -> Result<(), CellFailure> {
        self.ask(&|_| ToWatch::Ended).map(drop)
    }

    /// Why nothing tells how fast the machine is, as a full sentence, if so.
    pub(super) fn without_witness(&self) -> Option<String> {
        let why = match self {
            Watch::Here(watch) => watch.witness.as_ref().err(),
            Watch::Loaders { without_witness, .. } => without_witness.as_ref(),
        };
        Some(format!("This round is not checked for slowness, because `floor` failed: {}", why?))
    }

    /// What the round had until now. Another one begins, unless it goes on with the next contender.
    pub(super) fn round(&mut self) -> Result<RoundCores, CellFailure> {
        let told = self.ask(&|_| ToWatch::Round)?;
        Ok(match self {
            Watch::Here(watch) => watch.round(),
            Watch::Loaders { loaders: Ok(loaders), .. } => {
                let hosts = loaders.iter().map(|loader| loader.host.clone());
                merged::cores(hosts.zip(told).filter_map(|(host, told)| Some((host, told.round?))).collect())
            }
            Watch::Loaders { loaders: Err(why), .. } => {
                RoundCores::Unknown { unavailable: format!("The cores of the loaders' hosts are not watched: {why}") }
            }
        })
    }

    /// What the watches of all hosts say; nothing without them.
    fn ask(&mut self, message: &(dyn Fn(&Loader<'_>) -> ToWatch + Sync)) -> Result<Vec<Told>, CellFailure> {
        let Watch::Loaders { loaders, without_witness, .. } = self else { return Ok(Vec::new()) };
        let Ok(watches) = loaders else { return Ok(Vec::new()) };
        match unless_cancelled(ask_all::<_, Told>(watches, message))? {
            Ok(told) => {
                let mut without = watches.iter().zip(&told).filter_map(|(loader, told)| {
                    told.without_witness.as_ref().map(|why| format!("On {}: {why}", loader.host))
                });
                *without_witness = without.next();
                Ok(told)
            }
            Err(failure) => {
                *loaders = Err(failure.to_string());
                Ok(Vec::new())
            }
        }
    }
}

/// What came of it, or what is to be said of its failure; the end of the run alone is an error.
fn unless_cancelled<T>(ended: Result<T, CellFailure>) -> Result<Result<T, CellFailure>, CellFailure> {
    match ended {
        Err(CellFailure::Cancelled) => Err(CellFailure::Cancelled),
        ended => Ok(ended),
    }
}

pub(super) struct WatchHere<'a> {
    cores: Vec<usize>,
    ours: Vec<i32>,
    /// Those of ours that this process did not start.
    started_by_others: Vec<i32>,
    others: Result<Others, String>,
    /// In the turns of this round that have ended, if it pauses between them.
    had: Had,
    is_paused: bool,
    /// What tells how fast the machine is, or why nothing does.
    witness: Result<Witness<'a>, String>,
    apart: bool,
}

impl<'a> WatchHere<'a> {
    /// The witness starts as `launch` says.
    fn start(
        order: &WatchOrder,
        cores: Vec<usize>,
        launch: &Launch<'_>,
        cancel: &'a Cancel,
    ) -> Result<WatchHere<'a>, CellFailure> {
        let witness = match &order.witness {
            Ok(order) => unless_cancelled(Witness::begin(order, launch, cancel))?
                .map_err(|failure| launch.redaction.apply(&failure.to_string())),
            Err(why) => Err(why.clone()),
        };
        let others = Others::watch(&cores, &[], &[]);
        let (ours, started_by_others, had) = (Vec::new(), Vec::new(), Had::default());
        Ok(WatchHere { others, cores, ours, started_by_others, had, is_paused: false, witness, apart: order.apart })
    }

    fn begin(&mut self, ours: &[i32], started_by_others: Vec<i32>) {
        self.ours = self.witness.iter().flat_map(Witness::processes).chain(ours.iter().copied()).collect();
        self.started_by_others = started_by_others;
        self.watch();
    }

    fn watch(&mut self) {
        self.is_paused = false;
        self.others = Others::watch(&self.cores, &self.ours, &self.started_by_others);
    }

    /// What others do from now on until it watches again is no matter.
    fn pause(&mut self) {
        match self.others.as_mut().map_err(|why| why.clone()).and_then(Others::had) {
            Ok(read) => {
                self.had.wall_s += read.wall_s;
                self.had.others_s += read.others_s;
                self.had.steal_s += read.steal_s;
            }
            Err(why) => self.others = Err(why),
        }
        self.is_paused = true;
    }

    fn between(&mut self) -> Result<(), CellFailure> {
        let Ok(witness) = &mut self.witness else { return Ok(()) };
        if let Err(failure) = unless_cancelled(witness.turn())? {
            self.witness = Err(failure.to_string());
        }
        Ok(())
    }

    fn round(&mut self) -> RoundCores {
        if !self.is_paused {
            self.pause();
        }
        let unavailable = self.others.as_ref().err().cloned();
        self.watch();
        let witness_us = self.witness.as_mut().ok().and_then(|witness| witness.look(!self.apart));
        match unavailable {
            None => {
                let had = self.had;
                if !self.apart {
                    self.had = Had::default();
                }
                RoundCores::Found {
                    cores: u32::try_from(self.cores.len()).unwrap_or(u32::MAX),
                    host: None,
                    wall_s: had.wall_s,
                    others_s: had.others_s,
                    steal_s: had.steal_s,
                    witness_us,
                }
            }
            Some(unavailable) => RoundCores::Unknown { unavailable },
        }
    }
}

/// Runs the loader that watches the cores of its host until its input ends; its exit code. The caller's thread must live as long.
pub fn main() -> i32 {
    let watched = introduced().and_then(|()| {
        let (cancel, cqldyno) = (Cancel::new(), std::env::current_exe());
        let cqldyno = cqldyno.map_err(|error| format!("The loader does not know where it is: {error}."))?;
        let Some(ToWatch::Start(order)) = heard() else { return Ok(()) };
        let launch = Launch { log_prefix: Some(String::new()), ..Launch::new(&cqldyno, &cqldyno, None) };
        // The parent may be gone while the witness starts.
        let (tell, told) = channel();
        let (ends, listen) = (cancel.clone(), Builder::new().name("listen".to_owned()));
        let listen = listen.spawn(move || {
            while let Some(asked) = heard::<ToWatch>() {
                let _ = tell.send(asked);
            }
            ends.cancel();
        });
        listen.map_err(|error| format!("The loader could not start a thread: {error}."))?;
        let failed = |failure: CellFailure| failure.to_string();
        let mut watch = WatchHere::start(&order, cores(), &launch, &cancel).map_err(failed)?;
        let tell = |watch: &WatchHere<'_>, round| {
            say(&Told { without_witness: watch.witness.as_ref().err().cloned(), round });
        };
        tell(&watch, None);
        for asked in told {
            let mut round = None;
            match asked {
                ToWatch::Begin { mut processes, cores } => {
                    // A cluster of the user's may be here, too.
                    processes.extend(local_servers(&processes, &cores));
                    watch.cores = cores;
                    watch.begin(&[], processes);
                }
                ToWatch::Between => {
                    watch.between().map_err(failed)?;
                    watch.watch();
                }
                ToWatch::Ended => watch.pause(),
                ToWatch::Round => round = Some(watch.round()),
                ToWatch::Start(_) => {}
            }
            tell(&watch, round);
        }
        Ok(())
    });
    watched.map_or_else(
        |why| {
            eprintln!("{why}");
            1
        },
        |()| 0,
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_worker_on_a_host_without_a_watch_makes_the_round_unknown() {
        let mut watch = Watch::Loaders { loaders: Ok(Vec::new()), pinned: None, without_witness: None };
        let at = Whereabouts { host: "n3".to_owned(), boot: "another".to_owned(), ..Whereabouts::default() };
        watch.begin(&[], &[(at, [1, 2])]).unwrap();
        let unavailable = "The cores of the loaders' hosts are not watched: none of them is n3, where a worker is; name the hosts in --loaders.";
        assert_eq!(watch.round(), Ok(RoundCores::Unknown { unavailable: unavailable.to_owned() }));
    }

    #[test]
    fn without_a_witness_what_others_used_is_known_and_it_is_said_why() {
        let order = WatchOrder { witness: Err("Floor was not built.".to_owned()), apart: false };
        let (cancel, nowhere) = (Cancel::new(), std::path::Path::new("/nowhere"));
        let here = WatchHere::start(&order, cores(), &Launch::new(nowhere, nowhere, None), &cancel).unwrap();
        let mut watch = Watch::Here(Box::new(here));
        watch.begin(&[], &[]).unwrap();
        watch.between().unwrap();
        let said = watch.without_witness().unwrap();
        assert_eq!(said, "This round is not checked for slowness, because `floor` failed: Floor was not built.");
        let Ok(RoundCores::Found { witness_us, wall_s, .. }) = watch.round() else {
            panic!("the kernel tells of others")
        };
        assert!(witness_us.is_none() && wall_s > 0.0);
    }
}
