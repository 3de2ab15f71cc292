//! Histograms that a worker sends: their percentiles, and the log in which they are kept.
//!
//! The log has the format of HdrHistogram's own log files, version 1.3, which its Java, Python and other readers take. A line is an
//! interval: start and length in seconds, greatest value in milliseconds, and the histogram of nanoseconds in its compressed V2 form.
//! A window is one interval; where it has several histograms, each has a tag.

use std::time::{Duration, SystemTime};

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use cqldyno_meter::{Artifact, Latencies as Told, Percentiles};
use cqldyno_protocol::Done;
use cqldyno_reports::Latency;
use hdrhistogram::Histogram;
use hdrhistogram::serialization::interval_log::{IntervalLogWriterBuilder, Tag};
use hdrhistogram::serialization::{Deserializer, V2DeflateSerializer};

use crate::judge::agreement::grouped;
use crate::plan::pass::{Load, Shape};

/// The folder of the logs in a run, and the name that a cell has for its own.
pub(crate) const KIND: &str = "hdr";

/// Nanoseconds per millisecond: the unit of an interval's greatest value, as in HdrHistogram's own writers.
const SHOWN_NS: f64 = 1e6;

/// The histogram in `text`, as `done` carries it: the V2 form, base64.
pub(crate) fn read(text: &str) -> Result<Histogram<u64>, String> {
    let bytes = STANDARD.decode(text).map_err(|error| format!("The worker's histogram is not base64: {error}."))?;
    let found = Deserializer::new().deserialize(&mut bytes.as_slice());
    found.map_err(|error| format!("The worker's histogram is no HdrHistogram in its V2 form: {error:?}."))
}

fn percentiles(histogram: &Histogram<u64>) -> Latency {
    let at = |quantile| histogram.value_at_quantile(quantile) as f64 / 1e3;
    Latency {
        p50_us: at(0.5),
        p90_us: at(0.9),
        p99_us: at(0.99),
        p999_us: at(0.999),
        max_us: histogram.max() as f64 / 1e3,
    }
}

#[derive(Debug, Default)]
pub(crate) struct Latencies {
    /// From the issue of a statement to its answer.
    pub driver: Option<Latency>,
    /// All of it, for the meters.
    pub told: Option<Told>,
    /// What is kept of them; `None` where nothing was answered.
    pub log: Option<Artifact>,
}

impl Latencies {
    /// Of a window of `load` that began at a time and took another; `tag` names it in a log that several share.
    ///
    /// # Errors
    /// A sentence when a histogram cannot be read or written.
    pub(crate) fn of(
        done: &Done,
        (began, lasted): (SystemTime, Duration),
        load: &Load,
        tag: Option<&str>,
    ) -> Result<Latencies, String> {
        let driver = done.histogram.as_deref().map(read).transpose()?;
        let Some(driver) = driver else { return Ok(Latencies::default()) };
        let mut tagged = vec![(tag, driver.clone())];
        let told = match (load.shape, &done.pace) {
            (Shape::AtRate(_), Some(pace)) => {
                let (response, lateness) = (read(&pace.response)?, read(&pace.lateness)?);
                let told = Told::AtRate {
                    rate: pace.rate,
                    answered: done.answered,
                    lasted_ns: pace.lasted_ns,
                    response: told(&response),
                    driver: told(&driver),
                    lateness: told(&lateness),
                    late: pace.late,
                };
                tagged =
                    vec![(Some("response"), response), (Some("driver"), driver.clone()), (Some("lateness"), lateness)];
                Some(told)
            }
            (Shape::AtRate(_), None) => None,
            (Shape::Closed, _) => Some(Told::ClosedLoop { in_flight: load.concurrency, driver: told(&driver) }),
            (Shape::Connecting, _) => Some(Told::Connecting { first_answer: told(&driver) }),
        };
        Ok(Latencies { driver: Some(percentiles(&driver)), told, log: Some(log(began, lasted, &tagged)?) })
    }
}

fn told(histogram: &Histogram<u64>) -> Percentiles {
    let Latency { p50_us, p90_us, p99_us, p999_us, max_us } = percentiles(histogram);
    Percentiles { count: histogram.len(), p50: p50_us, p90: p90_us, p99: p99_us, p999: p999_us, max: max_us }
}

/// Why a window did not have the rate that was asked for, as a sentence.
pub(crate) fn not_paced(done: &Done, shape: Shape) -> Option<String> {
    let Shape::AtRate(asked) = shape else { return None };
    match &done.pace {
        None => Some(format!(
            "The worker was asked for {} statements per second and does not report a rate: its load generator has no open loop.",
            grouped(asked)
        )),
        Some(pace) if pace.rate != asked => Some(format!(
            "The worker was asked for {} statements per second and says that it was asked for {}.",
            grouped(asked),
            grouped(pace.rate)
        )),
        Some(_) => None,
    }
}

/// The log of a window that began at `began` and took `lasted`, with its histograms by tag.
fn log(began: SystemTime, lasted: Duration, histograms: &[(Option<&str>, Histogram<u64>)]) -> Result<Artifact, String> {
    let failed = |error: &dyn std::fmt::Debug| format!("The worker's histogram cannot be written as a log: {error:?}.");
    let mut bytes = Vec::new();
    let mut serializer = V2DeflateSerializer::new();
    let mut writer = IntervalLogWriterBuilder::new()
        .add_comment("[Histogram log format version 1.3]")
        .with_start_time(began)
        .with_base_time(began)
        .with_max_value_divisor(SHOWN_NS)
        .begin_log_with(&mut bytes, &mut serializer)
        .map_err(|error| failed(&error))?;
    for (tag, histogram) in histograms {
        writer
            .write_histogram(histogram, Duration::ZERO, lasted, tag.and_then(Tag::new))
            .map_err(|error| failed(&error))?;
    }
    Ok(Artifact { kind: KIND, extension: "hlog", bytes })
}

#[cfg(test)]
mod tests;
