//! Curves over the number of statements in flight: where they level off, and what is odd about them.
//!
//! Every point is a scenario of its own, so its figures are rows as any others. All loads are closed loops: mean latency is the number
//! in flight over statements per second (Little's law), and the two say the same twice.

use crate::measure::{CPU_PER_STATEMENT, THROUGHPUT};
use crate::quantity::{rate, three_digits, whole};
use crate::summary::median;
use crate::{Analysis, ArrangementInfo, Contender, Pass, Place, Role, Run, ScenarioInfo, list, plain, short};

/// Nearer to the straight line than this there is no knee.
const LEAST_ABOVE: f64 = 0.1;
/// Mean latency falls if it is less by this share with more in flight, in the slowest block against the quickest.
const FALL: f64 = 0.25;
/// A core that wakes up from idle takes less: such a fall is the machine's.
const WAKE_UP_US: f64 = 100.0;

/// A scenario with several numbers in flight, in one arrangement and over one number of connections.
pub struct Sweep<'a> {
    /// The scenario, and what else tells it from others of the run.
    pub name: String,
    /// One per contender that was asked, floor among them.
    pub curves: Vec<Swept<'a>>,
}

/// The curve of one contender.
pub struct Swept<'a> {
    /// Whose it is.
    pub contender: &'a Contender,
    /// By the number in flight.
    pub points: Vec<SweptPoint>,
}

/// One contender with one number in flight.
pub struct SweptPoint {
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
    /// The sweeps of a run; none if it has no scenario with several numbers in flight.
    pub fn all(analysis: &Analysis<'a>) -> Vec<Sweep<'a>> {
        let run = analysis.run();
        let swept = |one: &'a ScenarioInfo| one.point.as_ref().map(|point| (point.of.as_str(), point.connections));
        let mut keys: Vec<(&str, Option<u64>)> = Vec::new();
        for key in run.scenarios.iter().filter_map(swept) {
            if !keys.contains(&key) {
                keys.push(key);
            }
        }
        let of = |key: (&str, Option<u64>), on: &'a ArrangementInfo| {
            let (of, connections) = key;
            let scenarios: Vec<_> = run.scenarios.iter().filter(|one| swept(one) == Some(key)).collect();
            let over = connections.map(|number| format!(" over {}", crate::count(number, "connection")));
            let several = run.plan.arrangements.len() > 1;
            let on_it = if several { format!(" on {}", plain(&on.id)) } else { String::new() };
            let asked = run.contenders.iter().filter(|one| !one.control && one.role != Role::Noop);
            let points = |who| scenarios.iter().map(|one| point(analysis, one, on, who)).collect();
            (scenarios.len() > 1).then(|| Sweep {
                name: format!("{}{}{on_it}", plain(of), over.unwrap_or_default()),
                curves: asked.map(|contender| Swept { contender, points: points(contender) }).collect(),
            })
        };
        keys.iter().flat_map(|key| run.plan.arrangements.iter().filter_map(move |on| of(*key, on))).collect()
    }

    /// Where curves level off, and what is odd, a sentence or two each.
    pub(crate) fn findings(&self, run: &Run) -> Vec<String> {
        let name = |curve: &Swept| short(run, curve.contender);
        let said = |curve: &Swept| match curve.knee() {
            Some(knee) => format!("{} at {} in flight", name(curve), whole(knee as f64)),
            None => format!("{} not up to {}", name(curve), whole(curve.last().unwrap_or_default() as f64)),
        };
        let with_figures = self.curves.iter().filter(|curve| curve.last().is_some());
        let knees: Vec<String> = with_figures.map(said).collect();
        let mut findings = match knees.is_empty() {
            true => vec![format!("For {} no contender has a figure.", self.name)],
            false => vec![format!("For {} statements per second level off: {}.", self.name, list(&knees))],
        };
        let floor = self.curves.iter().find(|curve| curve.contender.role == Role::Floor);
        let of_target = floor.and_then(|floor| Some((floor, floor.fall()?)));
        let others = || self.curves.iter().filter(|curve| curve.contender.role == Role::Driver);
        let falling: Vec<(String, Fall)> = others().filter_map(|curve| Some((name(curve), curve.fall()?))).collect();
        let is_targets = |fall: &Fall| floor.is_some_and(|floor| floor.falls_between(fall.in_flight));
        let (too, own): (Vec<_>, Vec<_>) = falling.into_iter().partition(|(_, fall)| is_targets(fall));
        if let Some((floor, fall)) = of_target {
            let too: Vec<String> = too.into_iter().map(|(name, _)| name).collect();
            let too = if too.is_empty() { String::new() } else { format!(" So does that of {}.", list(&too)) };
            findings.push(format!(
                "Odd for {}, and not a driver's doing: latency falls as concurrency rises, even of {}. {}.{too} The target answers \
                 few statements late.",
                self.name,
                name(floor),
                fall.told()
            ));
        }
        findings.extend(own.into_iter().map(|(name, fall)| {
            let beside = match floor.is_some_and(|floor| floor.last().is_some()) {
                true => "floor on the same target shows nothing like it.",
                false => "floor has no curve here, so it may be the target's doing.",
            };
            let odd = format!("Odd for {}: the latency of {name} falls as concurrency rises.", self.name);
            format!("{odd} {}; {beside}", fall.told())
        }));
        findings.extend(others().filter_map(|curve| {
            let (from, why) = curve.points.iter().find_map(|one| Some((one.in_flight, one.waits.as_ref()?)))?;
            Some(format!(
                "{} from {} in flight on, for {}: {}.",
                name(curve),
                whole(from as f64),
                self.name,
                plain(why)
            ))
        }));
        findings
    }
}

impl Swept<'_> {
    /// The points that have figures.
    pub fn figures(&self) -> impl Iterator<Item = (u64, SweptFigures)> {
        self.points.iter().filter_map(|point| Some((point.in_flight, *point.figures.as_ref().ok()?)))
    }

    fn last(&self) -> Option<u64> {
        self.figures().map(|(in_flight, _)| in_flight).last()
    }

    /// Where statements per second level off: where they are furthest above the diagonal, with both axes as shares of their ranges. `None` if they are nowhere far above it. It is one of the numbers asked for, and moves with them.
    ///
    /// V. Satopaa and others, Finding a "Kneedle" in a haystack: detecting knee points in system behavior, ICDCS workshops 2011.
    pub fn knee(&self) -> Option<u64> {
        let points: Vec<(f64, f64)> = self.figures().map(|(in_flight, all)| (in_flight as f64, all.rate)).collect();
        let share = |value: f64, of: fn(&(f64, f64)) -> f64| {
            let (low, high) =
                points.iter().map(of).fold((f64::INFINITY, 0.0_f64), |(low, high), one| (low.min(one), high.max(one)));
            if high > low { (value - low) / (high - low) } else { 0.0 }
        };
        let above = |(x, y): &(f64, f64)| share(*y, |point| point.1) - share(*x, |point| point.0);
        let knee = points.iter().max_by(|one, other| above(one).total_cmp(&above(other)))?;
        (above(knee) > LEAST_ABOVE).then_some(knee.0 as u64)
    }

    /// The greatest fall of mean latency between two points.
    fn fall(&self) -> Option<Fall> {
        let all: Vec<_> = self.figures().collect();
        let points = &all;
        let later = |at: usize| points[at + 1..].iter().filter_map(move |many| fell(&points[at], many));
        let depth = |fall: &Fall| fall.in_flight[1] as f64 / fall.rates[1] / (fall.in_flight[0] as f64 / fall.rates[0]);
        let falls = (0..points.len()).flat_map(later);
        falls.min_by(|one, other| depth(one).total_cmp(&depth(other)))
    }

    /// Whether mean latency falls from one of these numbers in flight to the other.
    fn falls_between(&self, in_flight: [u64; 2]) -> bool {
        let [few, many] = in_flight.map(|number| self.figures().find(|(at, _)| *at == number));
        few.zip(many).is_some_and(|(few, many)| fell(&few, &many).is_some())
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

fn point(analysis: &Analysis, scenario: &ScenarioInfo, on: &ArrangementInfo, who: &Contender) -> SweptPoint {
    let place = Place { scenario, arrangement: on };
    let cells = analysis.cells_of(place, who, Pass::Timing);
    let figures = || -> Result<SweptFigures, String> {
        let of_rate = analysis.row(place, who, THROUGHPUT).ok_or("This was not run.")?;
        let why = || of_rate.unavailable.clone().unwrap_or_else(|| "This was not run.".to_owned());
        // A failed statement is never a fast one.
        if let Some(why) = of_rate.void.as_ref().or(of_rate.failed.as_ref()) {
            return Err(why.clone());
        }
        let rate = of_rate.median.filter(|rate| *rate > 0.0).ok_or_else(why)?;
        let us = |of: fn(&crate::Latency) -> f64| {
            median(&mut cells.iter().filter_map(|cell| cell.latency.as_ref().map(of)).collect::<Vec<f64>>())
        };
        Ok(SweptFigures {
            rate,
            rates: cells
                .iter()
                .filter_map(|cell| cell.get(THROUGHPUT))
                .fold([rate; 2], |[low, high], one| [low.min(one), high.max(one)]),
            cpu_us: analysis.row(place, who, CPU_PER_STATEMENT).and_then(|row| row.median),
            latency_us: us(|all| all.p50_us).zip(us(|all| all.p99_us)).map(|(p50, p99)| [p50, p99]),
        })
    };
    let point = scenario.point.as_ref();
    SweptPoint {
        in_flight: point.map_or(0, |point| point.in_flight),
        figures: figures(),
        waits: point.and_then(|point| point.waits.get(&who.id).cloned()),
    }
}

#[cfg(test)]
mod tests;
