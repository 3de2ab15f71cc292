//! Curves over the number of statements in flight, of connections or of shards, or over distances: where they level off, and what is odd about them.
//!
//! Every point is a scenario of its own, so its figures are rows as any others. All loads are closed loops: mean latency is the number
//! in flight over statements per second (Little's law), and the two say the same twice.

use cqldyno_measure::least_for;

use crate::measure::{CPU_PER_STATEMENT, STATEMENTS, THROUGHPUT};
use crate::median;
use crate::model::ladder::delay;
use crate::quantity::{rate, three_digits, whole};
use crate::text::{grouped, unique};
use crate::{
    Analysis, ArrangementInfo, Contender, Pass, Place, PointInfo, Role, Run, ScenarioInfo, list, plain, short,
};

/// Nearer to the straight line than this there is no knee.
const LEAST_ABOVE: f64 = 0.1;
/// Mean latency falls if it is less by this share with more in flight, in the slowest block against the quickest.
const FALL: f64 = 0.25;
/// A core that wakes up from idle takes less: such a fall is the machine's.
const WAKE_UP_US: f64 = 100.0;
/// Numbers that a sentence names.
const NAMED: usize = 3;
/// Why a point has no figures if nothing else is known.
const NOT_RUN: &str = "This was not run.";

/// What the points of a curve differ in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Axis {
    /// Statements in flight.
    InFlight,
    /// Connections per node, each with the number in flight at which it had most statements per second.
    Connections,
    /// Shards of each node, in the same way.
    Shards,
    /// Delays of every answer in nanoseconds, in the same way.
    Delay,
}

impl Axis {
    /// All of them.
    pub const ALL: [Axis; 4] = [Axis::InFlight, Axis::Connections, Axis::Shards, Axis::Delay];

    /// The number of a point, if it has one of its own.
    pub fn of(self, point: &PointInfo) -> Option<u64> {
        match self {
            Axis::InFlight => Some(point.in_flight),
            Axis::Connections => point.connections,
            Axis::Shards => point.shards,
            Axis::Delay => point.delay_ns,
        }
    }

    /// What a number of it counts, such as `shards`.
    pub fn name(self) -> &'static str {
        match self {
            Axis::InFlight => "statements in flight",
            Axis::Connections => "connections",
            Axis::Shards => "shards",
            Axis::Delay => "delays of answers",
        }
    }

    /// A number of it by itself, such as `1,024` or `0.2ms`.
    pub fn number(self, number: u64) -> String {
        match self {
            Axis::Delay => delay(number),
            _ => whole(number as f64),
        }
    }

    /// A number of it, such as `1 shard`.
    pub fn count(self, number: u64) -> String {
        match self {
            Axis::InFlight => format!("{} in flight", whole(number as f64)),
            Axis::Delay => format!("delay {}", self.number(number)),
            axis => crate::count(number, axis.name().trim_end_matches('s')),
        }
    }
}

/// A scenario with several numbers of one kind, in one arrangement.
pub struct Sweep<'a> {
    /// The scenario.
    pub of: String,
    /// What its points differ in.
    pub axis: Axis,
    /// The numbers of connections and shards that its points have in common, if these are a sweep's.
    pub over: Vec<(Axis, u64)>,
    /// The arrangement if the run has several.
    pub on: Option<String>,
    /// One per contender that was asked, floor among them.
    pub curves: Vec<Swept<'a>>,
}

/// The curve of one contender.
pub struct Swept<'a> {
    /// Whose it is.
    pub contender: &'a Contender,
    /// By their numbers.
    pub points: Vec<SweptPoint>,
}

/// One contender with one number in flight and of connections.
#[derive(Clone, Debug)]
pub struct SweptPoint {
    /// The number on the sweep's axis.
    pub at: u64,
    /// Statements in flight.
    pub in_flight: u64,
    /// What was measured, or why nothing was, as a full sentence.
    pub figures: Result<SweptFigures, String>,
    /// Why some of the statements wait in the driver, as a clause.
    pub waits: Option<String>,
}

/// Medians of the blocks.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SweptFigures {
    /// Statements per second.
    pub rate: f64,
    /// The least and the most of them.
    pub rates: [f64; 2],
    /// CPU time per statement in microseconds.
    pub cpu_us: Option<f64>,
    /// Median and 99th percentile of latency in microseconds.
    pub latency_us: Option<[f64; 2]>,
}

/// Mean latency falls from one point to a later one.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Fall {
    in_flight: [u64; 2],
    rates: [f64; 2],
}

impl<'a> Sweep<'a> {
    /// The sweeps of a run, those of one scenario and arrangement beside each other; none if it has no scenario with several numbers.
    pub fn all(analysis: &Analysis<'a>) -> Vec<Sweep<'a>> {
        let run = analysis.run;
        // A ladder has tables and a chart of its own.
        if run.plan.ladder.is_some() {
            return Vec::new();
        }
        let points = || run.scenarios.iter().filter_map(|one| Some((one, one.point.as_ref()?)));
        let mut sweeps = Vec::new();
        for of in unique(points().map(|(_, point)| point.of.as_str())) {
            let of_it = || points().filter(|(_, point)| point.of == of);
            let across = |point: &PointInfo| -> Vec<(Axis, u64)> {
                let axes = Axis::ALL.into_iter().filter(|axis| *axis != Axis::InFlight);
                axes.filter_map(|axis| Some((axis, axis.of(point)?))).collect()
            };
            let over = unique(of_it().map(|(_, point)| across(point)));
            for arrangement in &run.plan.arrangements {
                let on = (run.plan.arrangements.len() > 1).then(|| plain(&arrangement.id));
                let sweep = |axis, over, curves| Sweep { of: plain(of), axis, over, on: on.clone(), curves };
                let curves = |over: &[(Axis, u64)]| {
                    let scenarios: Vec<_> = of_it().filter(|(_, point)| across(point) == over).collect();
                    let asked = run.contenders.iter().filter(|one| !one.control && one.role != Role::Noop);
                    let points = |who| scenarios.iter().map(|one| point(analysis, *one, arrangement, who)).collect();
                    asked.map(|contender| Swept { contender, points: points(contender) }).collect()
                };
                let lines: Vec<Sweep> =
                    over.iter().map(|one| sweep(Axis::InFlight, one.clone(), curves(one))).collect();
                let across = Axis::ALL.into_iter().flat_map(|axis| Sweep::across(axis, &lines)).collect::<Vec<_>>();
                let has_several = |one: &Sweep| one.curves.iter().any(|curve| curve.points.len() > 1);
                sweeps.extend(lines.into_iter().chain(across).filter(has_several));
            }
        }
        sweeps
    }

    /// The sweeps over connections or shards from those over the number in flight: one for each number of the other.
    fn across(axis: Axis, lines: &[Sweep<'a>]) -> Vec<Sweep<'a>> {
        let at = |line: &Sweep| line.over.iter().find(|(own, _)| *own == axis).map(|(_, at)| *at);
        let others = |line: &Sweep| line.over.iter().copied().filter(|(own, _)| *own != axis).collect::<Vec<_>>();
        let numbered = lines.iter().filter(|line| at(line).is_some());
        let mut sweeps = Vec::new();
        for (over, lines) in grouped(numbered.map(|line| (others(line), line))) {
            let Some(first) = lines.first() else { continue };
            let best = |nth: usize| {
                let of = |line: &&Sweep| {
                    let best = line.curves[nth].most().or(line.curves[nth].points.first())?;
                    Some(SweptPoint { at: at(line)?, ..best.clone() })
                };
                lines.iter().filter_map(of).collect()
            };
            let curves = first.curves.iter().enumerate();
            let curves = curves.map(|(nth, one)| Swept { contender: one.contender, points: best(nth) }).collect();
            sweeps.push(Sweep { of: first.of.clone(), axis, over, on: first.on.clone(), curves });
        }
        sweeps
    }

    /// The sweeps of each scenario over statements in flight.
    pub(crate) fn by_scenario<'s>(all: &'s [Sweep<'a>]) -> Vec<(&'s str, Vec<&'s Sweep<'a>>)> {
        let in_flight = all.iter().filter(|one| one.axis == Axis::InFlight);
        grouped(in_flight.map(|one| (one.of.as_str(), one)))
    }

    /// The scenario, and what else tells it from others of the run.
    pub fn name(&self) -> String {
        let on = self.on.as_ref().map_or(String::new(), |on| format!(" on {on}"));
        format!("{}{}{on}", self.of, over(&self.over))
    }

    /// Where curves over statements in flight level off, what is odd about them, and which limits they show, a sentence or two each.
    pub(crate) fn findings(all: &[Sweep], run: &Run) -> Vec<String> {
        let mut findings = Vec::new();
        for (of, sweeps) in Sweep::by_scenario(all) {
            match sweeps.as_slice() {
                [one] => findings.push(one.knees(run)),
                several => findings.extend(most(run, of, several)),
            }
            findings.extend(sweeps.iter().flat_map(|one| one.odd(run)));
        }
        findings.extend(limits(run, all));
        let missing = |one: &Contender| {
            let why = plain(one.unavailable.as_ref()?);
            (one.role == Role::Driver).then(|| format!("{} is missing: {why}", short(run, one)))
        };
        findings.extend(all.first().into_iter().flat_map(|_| run.contenders.iter().filter_map(missing)));
        findings
    }

    fn knees(&self, run: &Run) -> String {
        let said = |curve: &Swept| match curve.knee() {
            Some(knee) => format!("{} at {} in flight", short(run, curve.contender), whole(knee as f64)),
            None => {
                let last = whole(curve.last().unwrap_or_default() as f64);
                format!("{} not up to {last}", short(run, curve.contender))
            }
        };
        let knees: Vec<String> = self.curves.iter().filter(|curve| curve.last().is_some()).map(said).collect();
        match knees.is_empty() {
            true => format!("For {} no contender has a figure.", self.name()),
            false => format!("For {} statements per second level off: {}.", self.name(), list(&knees)),
        }
    }

    fn odd(&self, run: &Run) -> Vec<String> {
        let name = |curve: &Swept| short(run, curve.contender);
        let floor = self.curves.iter().find(|curve| curve.contender.role == Role::Floor);
        let of_target = floor.and_then(|floor| Some((floor, floor.falls().into_iter().next()?)));
        let is_targets = |fall: &Fall| floor.is_some_and(|floor| floor.falls_within(fall.in_flight));
        let (mut too, mut own) = (Vec::new(), Vec::new());
        for curve in self.curves.iter().filter(|curve| curve.contender.role == Role::Driver) {
            let (targets, drivers): (Vec<Fall>, Vec<Fall>) = curve.falls().into_iter().partition(is_targets);
            too.extend((!targets.is_empty()).then(|| name(curve)));
            own.extend(drivers.into_iter().next().map(|fall| (name(curve), fall)));
        }
        let mut findings = Vec::new();
        if let Some((floor, fall)) = of_target {
            let too = if too.is_empty() { String::new() } else { format!(" So does that of {}.", list(&too)) };
            findings.push(format!(
                "Odd for {}, and not a driver's doing: latency falls as concurrency rises, even of {}. {}.{too} The target answers \
                 few statements late.",
                self.name(),
                name(floor),
                fall.told()
            ));
        }
        findings.extend(own.into_iter().map(|(name, fall)| {
            let beside = match floor.is_some_and(|floor| floor.has(fall.in_flight)) {
                true => "floor on the same target shows nothing like it there.",
                false => "floor has no figures there, so it may be the target's doing.",
            };
            let odd = format!("Odd for {}: the latency of {name} falls as concurrency rises.", self.name());
            format!("{odd} {}; {beside}", fall.told())
        }));
        findings
    }
}

fn over(numbers: &[(Axis, u64)]) -> String {
    let before = |axis| match axis {
        Axis::Shards => "on",
        Axis::Delay => "with",
        _ => "over",
    };
    numbers.iter().map(|(axis, number)| format!(" {} {}", before(*axis), axis.count(*number))).collect()
}

/// Where each contender had most statements per second, if it was asked with several numbers of others or in several arrangements.
fn most(run: &Run, of: &str, sweeps: &[&Sweep]) -> Option<String> {
    let best = |nth: usize| {
        let curves = sweeps.iter().filter_map(|sweep| Some((*sweep, sweep.curves[nth].most()?)));
        let rate_of = |point: &SweptPoint| point.figures.as_ref().map_or(0.0, |figures| figures.rate);
        let (sweep, point) = curves.max_by(|one, other| rate_of(one.1).total_cmp(&rate_of(other.1)))?;
        let on = sweep.on.as_ref().map_or(String::new(), |on| format!(" on {on}"));
        Some(format!(
            "{} {} with {} in flight{}{on}",
            short(run, sweep.curves[nth].contender),
            rate(rate_of(point)),
            whole(point.in_flight as f64),
            over(&sweep.over)
        ))
    };
    let all: Vec<String> = (0..sweeps.first()?.curves.len()).filter_map(best).collect();
    Some(match all.is_empty() {
        true => format!("For {of} no contender has a figure."),
        false => format!("Most statements per second for {of}: {}.", list(&all)),
    })
}

/// From which numbers on statements wait in a driver, and which numbers have no figure. A sentence per driver and reason.
fn limits(run: &Run, all: &[Sweep]) -> Vec<String> {
    let scenarios = unique(all.iter().map(|sweep| &sweep.of)).len();
    // Reasons that differ in their numbers alone are one.
    let words = |why: &str| why.replace(|c: char| c.is_ascii_digit(), "");
    let mut noted = Vec::new();
    let mut note = |what: String, point: &SweptPoint, sweep: &Sweep, why: &str| {
        let of = if scenarios > 1 { format!(" for {}", sweep.of) } else { String::new() };
        let place = format!("{} in flight{}{of}", whole(point.in_flight as f64), over(&sweep.over));
        noted.push(((what, words(why)), (place, why.to_owned())));
    };
    for sweep in all.iter().filter(|one| one.axis == Axis::InFlight) {
        for curve in sweep.curves.iter().filter(|curve| curve.contender.unavailable.is_none()) {
            let name = short(run, curve.contender);
            if let Some((point, why)) = curve.points.iter().find_map(|one| Some((one, one.waits.as_ref()?))) {
                note(format!("{name} makes statements wait from"), point, sweep, why);
            }
            for point in &curve.points {
                if let Some(why) = point.figures.as_ref().err().filter(|why| *why != NOT_RUN) {
                    note(format!("{name} has no figure with"), point, sweep, why);
                }
            }
        }
    }
    let told = |((what, _), found): ((String, String), Vec<(String, String)>)| {
        let (places, reasons): (Vec<String>, Vec<String>) = found.into_iter().unzip();
        let mut places = unique(places);
        let more = places.len().saturating_sub(NAMED);
        places.truncate(NAMED);
        places.extend((more > 0).then(|| format!("{more} more")));
        format!("{what} {}: {}.", list(&places), plain(&reasons[0]).trim_end_matches('.'))
    };
    grouped(noted).into_iter().map(told).collect()
}

impl Swept<'_> {
    /// The points that have figures.
    pub fn figures(&self) -> impl Iterator<Item = (u64, SweptFigures)> {
        self.points.iter().filter_map(|point| Some((point.at, *point.figures.as_ref().ok()?)))
    }

    fn last(&self) -> Option<u64> {
        self.figures().map(|(at, _)| at).last()
    }

    /// The point with most statements per second.
    pub fn most(&self) -> Option<&SweptPoint> {
        let with_figures = self.points.iter().filter_map(|point| Some((point.figures.as_ref().ok()?.rate, point)));
        with_figures.max_by(|one, other| one.0.total_cmp(&other.0)).map(|(_, point)| point)
    }

    /// Where statements per second level off: the number at which they are furthest above the diagonal, with both axes as shares of
    /// their ranges. `None` if they are nowhere far above it. It depends on the numbers that were asked for.
    ///
    /// V. Satopaa and others, Finding a "Kneedle" in a haystack: detecting knee points in system behavior, ICDCS workshops 2011.
    pub fn knee(&self) -> Option<u64> {
        let points: Vec<(f64, f64)> = self.figures().map(|(at, all)| (at as f64, all.rate)).collect();
        let share = |value: f64, of: fn(&(f64, f64)) -> f64| {
            let (low, high) =
                points.iter().map(of).fold((f64::INFINITY, 0.0_f64), |(low, high), one| (low.min(one), high.max(one)));
            if high > low { (value - low) / (high - low) } else { 0.0 }
        };
        let above = |(x, y): &(f64, f64)| share(*y, |point| point.1) - share(*x, |point| point.0);
        let knee = points.iter().max_by(|one, other| above(one).total_cmp(&above(other)))?;
        (above(knee) > LEAST_ABOVE).then_some(knee.0 as u64)
    }

    /// The falls of mean latency between two points, the greatest first.
    fn falls(&self) -> Vec<Fall> {
        let all: Vec<_> = self.figures().collect();
        let points = &all;
        let later = |at: usize| points[at + 1..].iter().filter_map(move |many| fell(&points[at], many));
        let depth = |fall: &Fall| fall.in_flight[1] as f64 / fall.rates[1] / (fall.in_flight[0] as f64 / fall.rates[0]);
        let mut falls: Vec<Fall> = (0..points.len()).flat_map(later).collect();
        falls.sort_by(|one, other| depth(one).total_cmp(&depth(other)));
        falls
    }

    /// Whether mean latency falls anywhere from the first of these numbers in flight to the second.
    fn falls_within(&self, [few, many]: [u64; 2]) -> bool {
        self.falls().iter().any(|fall| few <= fall.in_flight[0] && fall.in_flight[1] <= many)
    }

    /// Whether both of these numbers in flight have figures.
    fn has(&self, in_flight: [u64; 2]) -> bool {
        in_flight.iter().all(|number| self.figures().any(|(at, _)| at == *number))
    }
}

/// The fall of mean latency from a point to one with more in flight, from the quickest block to the slowest; `None` if it may be chance.
fn fell((few, before): &(u64, SweptFigures), (many, after): &(u64, SweptFigures)) -> Option<Fall> {
    let us = |in_flight: u64, rate: f64| 1e6 * in_flight as f64 / rate;
    let (least, most) = (us(*few, before.rates[1]), us(*many, after.rates[0]));
    let falls = most < least * (1.0 - FALL) && least - most > WAKE_UP_US;
    falls.then_some(Fall { in_flight: [*few, *many], rates: [before.rate, after.rate] })
}

impl Fall {
    /// The fall in a sentence without its full stop.
    fn told(&self) -> String {
        let Fall { in_flight: [few, many], rates: [before, after] } = *self;
        let us = |in_flight: u64, rate: f64| three_digits(1e6 * in_flight as f64 / rate);
        format!(
            "With {} in flight instead of {} it has {} times the statements per second ({} to {}), and a mean latency of {} us instead of {}",
            whole(many as f64),
            whole(few as f64),
            three_digits(after / before),
            rate(before),
            rate(after),
            us(many, after),
            us(few, before)
        )
    }
}

fn point(
    analysis: &Analysis,
    (scenario, point): (&ScenarioInfo, &PointInfo),
    on: &ArrangementInfo,
    who: &Contender,
) -> SweptPoint {
    let place = Place { scenario, arrangement: on };
    let cells = analysis.cells_of(place, who, Pass::Timing);
    let figures = || -> Result<SweptFigures, String> {
        let of_rate = analysis.row(place, who, THROUGHPUT).ok_or(NOT_RUN)?;
        let why = || of_rate.unavailable.clone().unwrap_or_else(|| NOT_RUN.to_owned());
        // A failed statement is never a fast one.
        if let Some(why) = of_rate.void.as_ref().or(of_rate.failed.as_ref()) {
            return Err(why.clone());
        }
        let rate = of_rate.median.filter(|rate| *rate > 0.0).ok_or_else(why)?;
        let us = |of: fn(&crate::Latency) -> f64| {
            median(&mut cells.iter().filter_map(|cell| cell.latency.as_ref().map(of)).collect::<Vec<f64>>())
        };
        let are_enough =
            cells.iter().all(|cell| cell.get(STATEMENTS).is_none_or(|number| number >= least_for(0.99) as f64));
        let latency = us(|all| all.p50_us).zip(us(|all| all.p99_us)).filter(|_| are_enough);
        let rates = cells.iter().filter_map(|cell| cell.get(THROUGHPUT));
        Ok(SweptFigures {
            rate,
            rates: rates.fold([rate; 2], |[low, high], one| [low.min(one), high.max(one)]),
            cpu_us: analysis.row(place, who, CPU_PER_STATEMENT).and_then(|row| row.median),
            latency_us: latency.map(<[f64; 2]>::from),
        })
    };
    SweptPoint {
        at: point.in_flight,
        in_flight: point.in_flight,
        figures: figures(),
        waits: point.waits.get(&who.id).cloned(),
    }
}

#[cfg(test)]
mod tests;
