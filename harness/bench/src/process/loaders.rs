//! Who issues a contender's statements: a worker here, or one behind each of several loaders.

use std::collections::BTreeSet;
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::thread::scope;
use std::time::{Duration, Instant};

use cqldyno_meter::{Skew, monotonic_ns, process_cpu_ns, untold_us};
use cqldyno_protocol::{Done, End, Job, ParentMessage, Ready, Slice, tickets};
use cqldyno_reports::{LoaderPart, LoadersInfo, Measure};
use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::judge::merged::{self, Metered};
use crate::judge::readings::declared;
use crate::process::child::{Launch, file_name};
use crate::process::failure::{CellFailure, Phase};
use crate::process::introduction::Introduced;
use crate::process::loader::{BEAT, Looked, SUBCOMMAND, Start, ToLoader, Whereabouts};
use crate::process::worker::{Bounds, Look, Worker};

/// How often it is checked whether a wait is still of use.
const LOOK_EVERY: Duration = Duration::from_millis(100);
/// The shortest of so many round trips tells how far a clock is ahead.
const ROUND_TRIPS: u32 = 8;
/// A window begins so long after `go` is said, and the longest round trip later.
const LEAD: Duration = Duration::from_millis(50);

/// Who issues the statements of a cell.
pub(crate) enum Workers<'a> {
    Here(Box<Worker<'a>>),
    Loaders(Vec<Loader<'a>>),
}

/// One of several workers, behind a launcher command.
pub(crate) struct Loader<'a> {
    worker: Worker<'a>,
    slice: Slice,
    /// As it was named, else its own name and the loader's number.
    pub host: String,
    pub at: Whereabouts,
    /// How far its clock is ahead of ours, and the most that this is wrong by; nothing if they share one.
    ahead_ns: i64,
    error_ns: u64,
    end: Option<End>,
}

/// What loaders add to a turn.
#[derive(Clone, Debug)]
pub(crate) struct Parts {
    pub skew: Skew,
    /// CPU time of all workers by their process clocks.
    pub clock_ns: Option<u64>,
    /// CPU time that these show beyond what the workers say, in microseconds.
    pub untold_us: u64,
    pub connections: Result<u64, String>,
    /// Of each: for results, its verified statements, and what its meters read.
    pub each: Vec<(LoaderPart, u64, Metered)>,
    /// Whether some share a machine with each other or with us.
    pub is_shared: bool,
    /// The cores that all of them may use, those of a machine once.
    pub cores: usize,
}

impl Parts {
    /// What its meters read of each, with its host and its verified statements.
    pub(crate) fn metered(&self) -> Vec<(&str, u64, &Metered)> {
        self.each.iter().map(|(part, verified, metered)| (part.host.as_str(), *verified, metered)).collect()
    }
}

/// How a launcher starts loaders.
#[derive(Clone, Copy)]
pub(crate) struct Launcher<'a> {
    pub info: &'a LoadersInfo,
    /// The words of the command; empty for none.
    pub words: &'a [String],
    pub cqldyno: &'a Path,
}

impl Launcher<'_> {
    /// The host of the loader `nth`; its number if none was named.
    fn host(&self, nth: usize) -> String {
        self.info.hosts.get(nth).cloned().unwrap_or_else(|| (nth + 1).to_string())
    }

    /// Starts every loader: of this worker, or one that only says where it is.
    fn start<'b>(
        &self,
        worker: Option<&Path>,
        launch: &Launch<'_>,
        bounds: Bounds<'b>,
    ) -> Result<Vec<Loader<'b>>, CellFailure> {
        let what = worker.map_or_else(|| "loader".to_owned(), file_name);
        let of = self.info.number;
        let started = (0..of).map(|part| {
            let host = self.host(part as usize);
            let own = [self.cqldyno.into(), SUBCOMMAND.into()].into_iter();
            let own = own.chain(worker.into_iter().flat_map(|worker| ["--".into(), worker.into()]));
            let words = self.words.iter().map(|word| word.replace("{host}", &host).into());
            let mut all: Vec<std::ffi::OsString> = words.chain(own).collect();
            let program = std::path::PathBuf::from(all.remove(0));
            let place = if self.info.hosts.is_empty() { format!("of loader {host}") } else { format!("on {host}") };
            // All of them write into one file.
            let prefix = launch.log_prefix.as_ref().map_or_else(|| place.clone(), |prefix| format!("{prefix} {place}"));
            let log_prefix = launch.log.is_some().then_some(prefix);
            let launch = Launch { program: &program, arguments: all, log_prefix, ..launch.clone() };
            let worker = Worker::at_gate(launch, bounds)?.named(format!("{what} {place}")).opened()?;
            let worker = worker.beat(&ToLoader::Beat, BEAT)?;
            let slice = Slice { part, of };
            Ok(Loader { worker, slice, host, at: Whereabouts::default(), ahead_ns: 0, error_ns: 0, end: None })
        });
        let mut loaders = started.collect::<Result<Vec<_>, CellFailure>>()?;
        let found = all(&mut loaders, &mut || None, &mut |_| (), &|loader, look, _| {
            loader.worker.of_loader::<Whereabouts>(None::<&ToLoader>, Phase::Hello, look)
        })?;
        for (loader, at) in loaders.iter_mut().zip(found) {
            if self.info.hosts.is_empty() {
                loader.host = format!("{}#{}", at.host, loader.host);
            }
            loader.at = at;
        }
        fit(&loaders).map_or(Ok(loaders), |why| Err(CellFailure::Unavailable(why)))
    }

    /// Starts a loader without a worker on each host, which watches its cores; one of those that share a machine stays.
    pub(crate) fn watches<'b>(&self, launch: &Launch<'_>, bounds: Bounds<'b>) -> Result<Vec<Loader<'b>>, CellFailure> {
        let mut boots = BTreeSet::new();
        let (watches, mut surplus): (Vec<_>, Vec<_>) =
            self.start(None, launch, bounds)?.into_iter().partition(|one| boots.insert(one.at.boot.clone()));
        // They end at the same time.
        surplus.iter_mut().for_each(|one| one.worker.hang_up());
        Ok(watches)
    }

    /// Asks every host where it is, before anything runs; `is_here` if the cluster serves this machine alone.
    pub(crate) fn ask(&self, launch: &Launch<'_>, bounds: Bounds<'_>, is_here: bool) -> Result<(), CellFailure> {
        let mut loaders = self.start(None, launch, bounds)?;
        loaders.iter_mut().for_each(|loader| loader.worker.hang_up());
        let ours = Whereabouts::here();
        match loaders.iter().find(|loader| is_here && loader.at.boot != ours.boot) {
            None => Ok(()),
            Some(loader) => Err(CellFailure::Unavailable(format!(
                "The loader on {} is on another machine than cqldyno, and the cluster that cqldyno starts serves this one alone; start \
                 a cluster that all hosts reach, and name its addresses with --target.",
                loader.host
            ))),
        }
    }

    /// Starts a worker behind every loader, each of the build that was introduced.
    pub(crate) fn workers<'b>(
        &self,
        introduced: &Introduced,
        launch: &Launch<'_>,
        bounds: Bounds<'b>,
        start: &Start,
    ) -> Result<Workers<'b>, CellFailure> {
        let mut loaders = self.start(Some(&introduced.program), launch, bounds)?;
        let ours = Whereabouts::here();
        if let Some(loader) = loaders.iter().find(|loader| start.cores.is_some() && loader.at.boot != ours.boot) {
            return Err(CellFailure::Unavailable(format!(
                "The worker has cores of its own on this machine, and its loader on {} is on another one; leave pinned+ and --pin out.",
                loader.host
            )));
        }
        let start = Start { is_shared: is_shared(&loaders), ..start.clone() };
        all(&mut loaders, &mut || None, &mut |_| (), &|loader, look, _| {
            loader.worker.send(&start, Phase::Hello)?;
            let hello = loader.worker.hello(look)?;
            let other = |failure| CellFailure::Worker(format!("On {}: {failure}", loader.host));
            introduced.same(&hello).map_err(other)
        })?;
        Ok(Workers::Loaders(loaders))
    }
}

/// Why these loaders cannot share a load, if so.
fn fit(loaders: &[Loader<'_>]) -> Option<String> {
    let ours = Whereabouts::here();
    let build = |at: &Whereabouts| format!("version {:?} with build id {:?}", at.loader, at.build);
    if let Some(other) = loaders.iter().find(|one| (&one.at.loader, &one.at.build) != (&ours.loader, &ours.build)) {
        return Some(format!(
            "The loader on {} is another build of cqldyno: {}, and this is {}; copy one build to all hosts.",
            other.host,
            build(&other.at),
            build(&ours)
        ));
    }
    let cores = |loader: &&Loader<'_>| loader.at.cores.len();
    let (fewest, most) = (loaders.iter().min_by_key(cores)?, loaders.iter().max_by_key(cores)?);
    (cores(&fewest) < cores(&most)).then(|| {
        format!(
            "The loader on {} may use fewer cores than the one on {}: {} and {}. Each has an equal part of the load, so give hosts of one \
             kind.",
            fewest.host,
            most.host,
            cores(&fewest),
            cores(&most)
        )
    })
}

/// Whether some are on one machine, or on ours.
fn is_shared(loaders: &[Loader<'_>]) -> bool {
    let mut boots: Vec<&str> = loaders.iter().map(|loader| loader.at.boot.as_str()).collect();
    let ours = Whereabouts::here();
    boots.push(&ours.boot);
    boots.sort_unstable();
    boots.windows(2).any(|pair| pair[0] == pair[1])
}

/// What is done with one loader: it, the look that ends its waits, and who hears its progress.
type Act<'f, 'a, T> = &'f (dyn Fn(&mut Loader<'a>, Look<'_>, &mut dyn FnMut(u64)) -> Result<T, CellFailure> + Sync);

/// Does it with all loaders at once. The first failure ends the waits for the others, and so does `look`.
fn all<'a, T: Send>(
    loaders: &mut [Loader<'a>],
    look: Look<'_>,
    progress: &mut dyn FnMut(u64),
    act: Act<'_, 'a, T>,
) -> Result<Vec<T>, CellFailure> {
    let is_over = AtomicBool::new(false);
    let issued: Vec<AtomicU64> = loaders.iter().map(|_| AtomicU64::new(0)).collect();
    let mut results: Vec<Option<T>> = loaders.iter().map(|_| None).collect();
    let mut failure = None;
    scope(|scope| {
        let (tell, told) = channel();
        for ((nth, loader), issued) in loaders.iter_mut().enumerate().zip(&issued) {
            let (tell, is_over) = (tell.clone(), &is_over);
            scope.spawn(move || {
                let mut look = || is_over.load(Ordering::Relaxed).then_some(CellFailure::Cancelled);
                let result = act(loader, &mut look, &mut |count| issued.store(count, Ordering::Relaxed));
                // Nobody listens to what comes after a failure.
                let _ = tell.send((nth, result));
            });
        }
        drop(tell);
        loop {
            match told.recv_timeout(LOOK_EVERY) {
                Ok((nth, Ok(result))) => results[nth] = Some(result),
                Ok((_, Err(error))) => failure = failure.take().or(Some(error)),
                Err(RecvTimeoutError::Timeout) => {
                    failure = failure.take().or_else(&mut *look);
                    progress(issued.iter().map(|count| count.load(Ordering::Relaxed)).sum());
                }
                Err(RecvTimeoutError::Disconnected) => break,
            }
            is_over.fetch_or(failure.is_some(), Ordering::Relaxed);
        }
    });
    if failure.is_some() {
        // Launchers that are no longer needed end at the same time.
        loaders.iter_mut().for_each(|loader| loader.worker.hang_up());
    }
    let whole: Option<Vec<T>> = results.into_iter().collect();
    whole.filter(|_| failure.is_none()).ok_or(failure.unwrap_or(CellFailure::Cancelled))
}

/// Asks each what `message` says, all at once.
pub(crate) fn ask_all<M: Serialize, T: DeserializeOwned + Send>(
    loaders: &mut [Loader<'_>],
    message: &(dyn Fn(&Loader<'_>) -> M + Sync),
) -> Result<Vec<T>, CellFailure> {
    all(loaders, &mut || None, &mut |_| (), &|loader, look, _| {
        let message = message(loader);
        loader.worker.of_loader(Some(&message), Phase::Ready, look)
    })
}

impl Loader<'_> {
    pub(crate) fn is_here(&self) -> bool {
        self.at.boot == Whereabouts::here().boot
    }

    fn look(&mut self, look: Look<'_>) -> Result<Looked, CellFailure> {
        self.worker.of_loader(Some(&ToLoader::Look), Phase::Ready, look)
    }

    /// Finds out how far its clock is ahead of ours; processes of one `boot` share theirs.
    fn compare_clocks(&mut self, boot: &str, look: Look<'_>) -> Result<(), CellFailure> {
        if self.at.boot == boot {
            return Ok(());
        }
        let mut shortest = Duration::MAX;
        for _ in 0..ROUND_TRIPS {
            let (before_ns, began) = (now()?, Instant::now());
            let theirs_ns = self.look(look)?.at_ns;
            let took = began.elapsed();
            if took < shortest {
                shortest = took;
                let half_ns = u64::try_from(took.as_nanos() / 2).unwrap_or(u64::MAX);
                (self.ahead_ns, self.error_ns) = (theirs_ns.wrapping_sub(before_ns + half_ns).cast_signed(), half_ns);
            }
        }
        Ok(())
    }

    fn untold_us(&self, metered: &Metered) -> Option<u64> {
        let end = self.end.as_ref()?;
        Some(untold_us(end.user_us + end.sys_us, metered.clock_ns?, self.at.cores.len()))
    }

    /// What results hold of it; `whole` is the window of all.
    fn part(&self, whole: &End, metered: &Metered) -> LoaderPart {
        let (end_ns, wall_ns) = self.end.as_ref().map_or((0, 0), |end| (end.at_ns.unwrap_or(0), end.wall_ns));
        let (first_ns, last_ns) = (whole.at_ns.unwrap_or(0) - whole.wall_ns, whole.at_ns.unwrap_or(0));
        let measures = metered
            .readings
            .iter()
            .filter_map(|(id, value)| Some((id.clone(), Measure::of(value.clone(), declared(id)?.unit))));
        LoaderPart {
            host: self.host.clone(),
            cores: u32::try_from(self.at.cores.len()).unwrap_or(u32::MAX),
            kernel: self.at.kernel.clone(),
            clock_ahead_ns: self.ahead_ns,
            clock_error_ns: self.error_ns,
            began_after_us: end_ns.saturating_sub(wall_ns).saturating_sub(first_ns) as f64 / 1e3,
            ended_before_us: last_ns.saturating_sub(end_ns) as f64 / 1e3,
            measures: measures.collect(),
        }
    }
}

fn now() -> Result<u64, CellFailure> {
    monotonic_ns().map_err(|error| CellFailure::Machine(format!("the clock cannot be read: {error}")))
}

/// The part of a number that the loader `part` of `of` has.
fn share(number: u64, slice: Slice) -> u64 {
    let own = tickets(number, slice.of, slice.part);
    own.end - own.start
}

impl Workers<'_> {
    /// The processes that were started here.
    pub(crate) fn pids(&self) -> Vec<i32> {
        match self {
            Workers::Here(worker) => vec![worker.pid()],
            Workers::Loaders(loaders) => loaders.iter().map(|loader| loader.worker.pid()).collect(),
        }
    }

    /// The first of them.
    pub(crate) fn pid(&self) -> i32 {
        self.pids().first().copied().unwrap_or_default()
    }

    /// Where its loaders are, each with its processes.
    pub(crate) fn elsewhere(&mut self) -> Result<Vec<(Whereabouts, [i32; 2])>, CellFailure> {
        let Workers::Loaders(loaders) = self else { return Ok(Vec::new()) };
        let looked: Vec<Looked> = ask_all(loaders, &|_| ToLoader::Look)?;
        Ok(loaders.iter().zip(looked).map(|(loader, looked)| (loader.at.clone(), looked.processes)).collect())
    }

    pub(crate) fn is_elsewhere(&self) -> bool {
        matches!(self, Workers::Loaders(_))
    }

    /// CPU time that they have used so far, if it is known.
    pub(crate) fn cpu_ns(&mut self) -> Result<Option<u64>, CellFailure> {
        match self {
            Workers::Here(worker) => Ok(process_cpu_ns(worker.pid()).ok()),
            Workers::Loaders(loaders) => {
                let looked: Vec<Looked> = ask_all(loaders, &|_| ToLoader::Look)?;
                Ok(looked.into_iter().map(|one| one.cpu_ns).sum())
            }
        }
    }

    pub(crate) fn wake(&mut self) -> Result<(), CellFailure> {
        match self {
            Workers::Here(worker) => worker.wake(),
            Workers::Loaders(loaders) => loaders.iter_mut().try_for_each(|loader| loader.worker.wake()),
        }
    }

    /// Says `job` and waits for `ready`: each loader has its slice of keys, slots and rate.
    pub(crate) fn job(&mut self, job: Job, look: Look<'_>) -> Result<Ready, CellFailure> {
        let loaders = match self {
            Workers::Here(worker) => return worker.job(job, look),
            Workers::Loaders(loaders) => loaders,
        };
        let readies = all(loaders, look, &mut |_| (), &|loader, look, _| {
            let slice = loader.slice;
            let concurrency = share(job.concurrency as u64, slice) as usize;
            let rate = job.rate.map(|rate| share(rate, slice));
            loader.worker.job(Job { slice: Some(slice), concurrency, rate, ..job.clone() }, look)
        })?;
        let threads = readies.iter().map(|ready| ready.threads).sum();
        let first = readies.into_iter().next();
        first.map(|ready| Ready { threads, ..ready }).ok_or(CellFailure::Cancelled)
    }

    /// Compares our clock with those of loaders elsewhere.
    pub(crate) fn compare_clocks(&mut self) -> Result<(), CellFailure> {
        let Workers::Loaders(loaders) = self else { return Ok(()) };
        let boot = Whereabouts::here().boot;
        all(loaders, &mut || None, &mut |_| (), &|loader, look, _| loader.compare_clocks(&boot, look)).map(drop)
    }

    /// Says `go` and waits for `end` of all. Loaders begin at one time, each by its own clock.
    pub(crate) fn go(&mut self, look: Look<'_>, progress: &mut dyn FnMut(u64)) -> Result<End, CellFailure> {
        let loaders = match self {
            Workers::Here(worker) => return worker.go(look, progress),
            Workers::Loaders(loaders) => loaders,
        };
        let error_ns = loaders.iter().map(|loader| loader.error_ns).max().unwrap_or(0);
        let at_ns = now()? + u64::try_from(LEAD.as_nanos()).unwrap_or(0) + 2 * error_ns;
        let ends = all(loaders, look, progress, &|loader, look, progress| {
            let ahead_ns = loader.ahead_ns;
            let end = loader.worker.go_at(Some(at_ns.saturating_add_signed(ahead_ns)), look, progress)?;
            Ok(End { at_ns: end.at_ns.map(|at_ns| at_ns.saturating_add_signed(-ahead_ns)), ..end })
        })?;
        loaders.iter_mut().zip(&ends).for_each(|(loader, end)| loader.end = Some(end.clone()));
        Ok(merged::end(&ends).0)
    }

    /// Says `ack` and waits for `done`, with what loaders add to the turn.
    pub(crate) fn ack(&mut self) -> Result<(Done, Option<Parts>), CellFailure> {
        let loaders = match self {
            Workers::Here(worker) => return Ok((worker.ack()?, None)),
            Workers::Loaders(loaders) => loaders,
        };
        let (metered, dones): (Vec<Metered>, Vec<Done>) =
            all(loaders, &mut || None, &mut |_| (), &|loader, look, _| {
                let metered = loader.worker.of_loader(Some(&ParentMessage::Ack), Phase::Done, look)?;
                Ok((metered, loader.worker.done(look)?))
            })?
            .into_iter()
            .unzip();
        let ends: Vec<End> = loaders.iter().filter_map(|loader| loader.end.clone()).collect();
        let (whole, skew) = merged::end(&ends);
        let done = merged::done(&dones).map_err(CellFailure::Worker)?;
        let parts = Parts {
            skew,
            clock_ns: metered.iter().map(|one| one.clock_ns).sum(),
            untold_us: loaders.iter().zip(&metered).filter_map(|(loader, metered)| loader.untold_us(metered)).sum(),
            connections: metered.iter().map(|one| one.connections.clone()).sum(),
            is_shared: is_shared(loaders),
            cores: loaders
                .iter()
                .flat_map(|one| one.at.cores.iter().map(|core| (&one.at.boot, *core)))
                .collect::<BTreeSet<_>>()
                .len(),
            each: loaders
                .iter()
                .zip(dones)
                .zip(metered)
                .map(|((loader, done), metered)| (loader.part(&whole, &metered), done.verified, metered))
                .collect(),
        };
        Ok((done, Some(parts)))
    }

    /// Waits for their exits; sentences about those that are not good ones.
    pub(crate) fn finish(self) -> Vec<String> {
        match self {
            Workers::Here(worker) => worker.finish().into_iter().collect(),
            Workers::Loaders(loaders) => loaders.into_iter().filter_map(|loader| loader.worker.finish()).collect(),
        }
    }
}
