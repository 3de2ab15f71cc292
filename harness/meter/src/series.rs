//! CPU time of worker and server by second of the window.

use std::collections::BTreeMap;
use std::ops::RangeInclusive;

use crate::cpu_time::processes_cpu_ns;
use crate::wall::monotonic_ns;
use crate::{Attachment, Meter, Outcome, Seen, Subject, cpu_time};

/// The key of the worker's series in [`Outcome::series`].
const WORKER: &str = "cpu_us";
const SERVER: &str = "server_cpu_us";

const SECOND_NS: u64 = 1_000_000_000;

/// How near to the edge of a second the clocks are read. The parent looks every 100 ms, so that there is a reading on either side;
/// the value at the edge is interpolated.
const NEAR_NS: u64 = 110_000_000;
const FAR: RangeInclusive<u64> = NEAR_NS..=SECOND_NS - NEAR_NS;

/// The process clocks of worker and server, read around every full second of the window: two reads of 1 us, three times per second.
///
/// It gives no measures but series with one value per second: `cpu_us` and `server_cpu_us`, in microseconds of CPU time.
pub const SERIES: Meter = Meter::new("series by second", &[], |subject| attach(subject, Some(vec![subject.worker])))
    .elsewhere(|subject| attach(subject, None))
    .needs("the CPU clocks of other processes")
    .probed(cpu_time::probe);

fn attach(subject: &Subject, worker: Option<Vec<i32>>) -> Box<dyn Attachment> {
    let sides = [(WORKER, worker), (SERVER, subject.server.clone().ok())];
    let readings = sides.into_iter().filter_map(|(key, processes)| Some((key, processes?, Vec::new()))).collect();
    Box::new(Sampler { origin_ns: None, readings })
}

/// What the processes of a side had used at a moment, both in nanoseconds.
type Sample = (u64, u64);

struct Sampler {
    /// When the parent said `go`, by CLOCK_MONOTONIC.
    origin_ns: Option<u64>,
    readings: Vec<(&'static str, Vec<i32>, Vec<Sample>)>,
}

impl Sampler {
    fn sample(&mut self, now_ns: u64) {
        for (_, processes, samples) in &mut self.readings {
            match processes_cpu_ns(processes) {
                Ok(used) => samples.push((now_ns, used)),
                // A process that is gone has no series, rather than one that ends too early.
                Err(_) => samples.clear(),
            }
        }
    }
}

impl Attachment for Sampler {
    fn at_go(&mut self) {
        self.readings.iter_mut().for_each(|(_, _, samples)| samples.clear());
        self.origin_ns = monotonic_ns().ok();
        if let Some(origin) = self.origin_ns {
            self.sample(origin);
        }
    }

    fn meanwhile(&mut self) {
        let (Some(origin), Ok(now)) = (self.origin_ns, monotonic_ns()) else { return };
        if !FAR.contains(&(now.saturating_sub(origin) % SECOND_NS)) {
            self.sample(now);
        }
    }

    fn at_end(&mut self) -> Seen {
        if let Ok(now) = monotonic_ns() {
            self.sample(now);
        }
        let (origin, readings) = (self.origin_ns.take(), self.readings.clone());
        Box::new(move |window| {
            let Some(origin) = origin else { return Outcome::default() };
            // The worker's own clock says when its window was, within what the parent saw.
            let began = window.end.at_ns.map_or(origin, |at_ns| at_ns.saturating_sub(window.end.wall_ns)).max(origin);
            let of = |samples: &[Sample]| by_second(samples, began, began.saturating_add(window.end.wall_ns));
            let series = readings.iter().filter_map(|(key, _, samples)| Some((*key, of(samples)?)));
            Outcome { series: series.collect::<BTreeMap<_, _>>(), ..Outcome::default() }
        })
    }
}

/// What was used in each second from `began` to `ended`, in microseconds, the last one mostly being a part of a second; `None` without
/// samples on either side of some time in between.
fn by_second(samples: &[Sample], began: u64, ended: u64) -> Option<Vec<u64>> {
    let (first, last) = (samples.first()?, samples.last()?);
    let ended = ended.min(last.0);
    if first.0 > began || began >= ended {
        return None;
    }
    let edges = (began..ended).step_by(SECOND_NS as usize).chain([ended]);
    let used: Vec<u64> = edges.map(|edge| at(samples, edge)).collect();
    Some(used.windows(2).map(|pair| (pair[1].saturating_sub(pair[0])) / 1_000).collect())
}

/// What was used at `moment`, on the line between the samples around it.
fn at(samples: &[Sample], moment: u64) -> u64 {
    let behind = samples.partition_point(|(at, _)| *at <= moment);
    match (samples.get(behind.wrapping_sub(1)), samples.get(behind)) {
        (Some(&(from, used)), Some(&(to, more))) => {
            let share = (moment - from) as f64 / (to - from).max(1) as f64;
            used + (more.saturating_sub(used) as f64 * share) as u64
        }
        (Some(&(_, used)), None) | (None, Some(&(_, used))) => used,
        (None, None) => 0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Window;
    use crate::meter::window;
    use cqldyno_protocol::End;

    const MS: u64 = 1_000_000;

    #[test]
    fn each_second_has_what_was_used_in_it_and_the_last_one_the_rest() {
        // Half a core in the first second, a whole one from then on; read a little beside the edges.
        let used = |at: u64| if at <= 1_000 * MS { at / 2 } else { 500 * MS + (at - 1_000 * MS) };
        let moments = [0, 960, 1_000, 1_040, 1_950, 2_050, 2_310];
        let samples: Vec<Sample> = moments.iter().map(|&ms| (ms * MS, used(ms * MS))).collect();
        assert_eq!(by_second(&samples, 0, 2_300 * MS), Some(vec![500_000, 1_000_000, 300_000]));
        assert_eq!(by_second(&samples, 100 * MS, 900 * MS), Some(vec![400_000]), "a short window has one");
        assert_eq!(by_second(&samples, 0, 2_000 * MS).unwrap().len(), 2, "of two full seconds there is no third");
    }

    #[test]
    fn samples_that_do_not_lie_around_the_window_give_no_series() {
        let samples = [(5, 1), (10, 3_001)];
        assert_eq!(by_second(&samples, 0, 10), None);
        assert_eq!(by_second(&samples, 5, 11), Some(vec![3]), "a worker whose window lasts beyond its end");
        assert_eq!(by_second(&samples[..1], 5, 6), None);
        assert_eq!(by_second(&[], 0, 1), None);
    }

    #[test]
    fn a_processs_own_clock_is_read_from_go_to_end() {
        let me = std::process::id().cast_signed();
        let subject = crate::meter::subject(me);
        let mut attachment = SERIES.attach(&subject);
        let mut watch = || {
            attachment.at_go();
            let mut x = 0u64;
            let started = std::time::Instant::now();
            while started.elapsed().as_millis() < 30 {
                x = std::hint::black_box(x + 1);
                attachment.meanwhile();
            }
            (monotonic_ns().unwrap(), attachment.at_end())
        };
        for (ended, seen) in [watch(), watch()] {
            let outcome =
                seen(&Window { end: End { wall_ns: 20 * MS, at_ns: Some(ended), ..window().end }, ..window() });
            assert_eq!(outcome.series.keys().collect::<Vec<_>>(), [&WORKER], "there is no server");
            assert_eq!(outcome.series[WORKER].len(), 1, "each window has a series of its own");
            assert!(outcome.series[WORKER][0] > 0, "{:?}", outcome.series);
        }
    }
}
