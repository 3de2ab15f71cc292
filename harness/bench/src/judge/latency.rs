//! Histograms that a worker sends: their percentiles, and the log in which they are kept.
//!
//! The log is in the format of HdrHistogram's own log files, version 1.3, which its Java, Python and other readers take: a line an
//! interval with its start and length in seconds, its greatest value in milliseconds, and the histogram of nanoseconds in its
//! compressed V2 form. A cell is one interval, from its window's first second to its last; where a cell has several histograms,
//! each has a tag.

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

/// The folder of a run that has the logs, and by which name a cell knows its one.
pub(crate) const KIND: &str = "hdr";

/// Nanoseconds a millisecond: what the greatest value of an interval is shown in, as HdrHistogram's own writers do.
const SHOWN_NS: f64 = 1e6;

/// A histogram that cannot be read or kept.
#[derive(Debug, thiserror::Error)]
pub enum HistogramError {
    /// Not base64.
    #[error("the histogram of the worker is not base64: {0}")]
    Base64(#[from] base64::DecodeError),
    /// Not an HdrHistogram.
    #[error("the histogram of the worker is no HdrHistogram in its V2 form: {0}")]
    Form(String),
    /// It cannot be written as a log.
    #[error("the histogram of the worker cannot be written as a log: {0}")]
    Log(String),
}

/// The histogram in `text`, which is what `done` carries: the V2 form, base64.
///
/// # Errors
/// When the text is not base64 or the bytes are no histogram.
pub fn read(text: &str) -> Result<Histogram<u64>, HistogramError> {
    let bytes = STANDARD.decode(text)?;
    Deserializer::new().deserialize(&mut bytes.as_slice()).map_err(|error| HistogramError::Form(format!("{error:?}")))
}

/// Percentiles in microseconds of a histogram of nanoseconds.
pub fn percentiles(histogram: &Histogram<u64>) -> Latency {
    let at = |quantile| histogram.value_at_quantile(quantile) as f64 / 1e3;
    Latency {
        p50_us: at(0.5),
        p90_us: at(0.9),
        p99_us: at(0.99),
        p999_us: at(0.999),
        max_us: histogram.max() as f64 / 1e3,
    }
}

/// What a worker told of its latencies.
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
    /// Of a window that began at `began`, took `lasted` and was asked for as `load` says.
    ///
    /// # Errors
    /// When a histogram cannot be read or written.
    pub(crate) fn of(
        done: &Done,
        began: SystemTime,
        lasted: Duration,
        load: &Load,
    ) -> Result<Latencies, HistogramError> {
        let driver = done.histogram.as_deref().map(read).transpose()?;
        let Some(driver) = driver else { return Ok(Latencies::default()) };
        let (told, log) = match (load.shape, &done.pace) {
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
                let tagged = [(Some("response"), &response), (Some("driver"), &driver), (Some("lateness"), &lateness)];
                (Some(told), log(began, lasted, &tagged)?)
            }
            (Shape::AtRate(_), None) => (None, log(began, lasted, &[(None, &driver)])?),
            (Shape::Closed, _) => {
                let told = Told::ClosedLoop { in_flight: load.concurrency, driver: told(&driver) };
                (Some(told), log(began, lasted, &[(None, &driver)])?)
            }
            (Shape::Connecting, _) => {
                let told = Told::Connecting { first_answer: told(&driver) };
                (Some(told), log(began, lasted, &[(None, &driver)])?)
            }
        };
        Ok(Latencies { driver: Some(percentiles(&driver)), told, log: Some(log) })
    }
}

fn told(histogram: &Histogram<u64>) -> Percentiles {
    let Latency { p50_us, p99_us, p999_us, max_us, .. } = percentiles(histogram);
    Percentiles { p50: p50_us, p99: p99_us, p999: p999_us, max: max_us }
}

/// Why a window has nothing to do with the rate that it was asked for, as a sentence.
pub(crate) fn not_paced(done: &Done, shape: Shape) -> Option<String> {
    let Shape::AtRate(asked) = shape else { return None };
    match &done.pace {
        None => Some(format!(
            "The worker was asked for {} statements a second and tells nothing of it: its load generator has no open loop.",
            grouped(asked)
        )),
        Some(pace) if pace.rate != asked => Some(format!(
            "The worker was asked for {} statements a second and says that it was asked for {}.",
            grouped(asked),
            grouped(pace.rate)
        )),
        Some(_) => None,
    }
}

/// The log of a window that began at `began` and took `lasted`, with its histograms by tag; what is kept of a cell.
///
/// # Errors
/// When a histogram cannot be written.
pub fn log(
    began: SystemTime,
    lasted: Duration,
    histograms: &[(Option<&'static str>, &Histogram<u64>)],
) -> Result<Artifact, HistogramError> {
    let failed = |error: &dyn std::fmt::Debug| HistogramError::Log(format!("{error:?}"));
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
            .write_histogram(*histogram, Duration::ZERO, lasted, tag.and_then(Tag::new))
            .map_err(|error| failed(&error))?;
    }
    Ok(Artifact { kind: KIND, extension: "hlog", bytes })
}

#[cfg(test)]
mod tests {
    use super::*;
    use hdrhistogram::serialization::interval_log::{IntervalLogIterator, LogEntry};
    use hdrhistogram::serialization::{Serializer, V2Serializer};

    fn sample() -> Histogram<u64> {
        let mut histogram = Histogram::<u64>::new(3).unwrap();
        (1..=1_000u64).for_each(|micros| histogram.record(micros * 1_000).unwrap());
        histogram
    }

    #[test]
    fn percentiles_are_read_from_what_a_worker_sends() {
        let mut bytes = Vec::new();
        V2Serializer::new().serialize(&sample(), &mut bytes).unwrap();
        let histogram = read(&STANDARD.encode(&bytes)).unwrap();
        assert_eq!(histogram, sample());
        let latency = percentiles(&histogram);
        assert!((latency.p50_us - 500.0).abs() < 1.0 && (latency.max_us - 1_000.0).abs() < 1.0, "{latency:?}");
    }

    #[test]
    fn other_texts_are_errors() {
        assert!(read("%%%").unwrap_err().to_string().contains("not base64"));
        assert!(read("AAAA").unwrap_err().to_string().contains("no HdrHistogram"));
    }

    #[test]
    fn a_log_has_the_windows_beginning_and_every_histogram_under_its_tag() {
        let began = SystemTime::UNIX_EPOCH + Duration::from_millis(1_700_000_000_250);
        let (histogram, empty) = (sample(), Histogram::<u64>::new(3).unwrap());
        let all = [(Some("response"), &histogram), (Some("driver"), &histogram), (None, &empty)];
        let Artifact { kind, extension, bytes } = log(began, Duration::from_millis(2_500), &all).unwrap();
        assert_eq!((kind, extension), ("hdr", "hlog"));
        let text = String::from_utf8(bytes).unwrap();
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(
            lines[..3],
            [
                "#[Histogram log format version 1.3]",
                "#[StartTime: 1700000000.250 (seconds since epoch)]",
                "#[BaseTime: 1700000000.250 (seconds since epoch)]"
            ]
        );
        assert!(text.contains("\nTag=response,0.000,2.500,1.000,HISTF"), "{text}");
        assert!(text.contains("\nTag=driver,0.000,2.500,1.000,HISTF"), "{text}");
        let intervals = IntervalLogIterator::new(text.as_bytes()).filter_map(|entry| match entry.unwrap() {
            LogEntry::Interval(interval) => Some(interval.encoded_histogram().to_owned()),
            _ => None,
        });
        let back: Vec<Histogram<u64>> = intervals.map(|encoded| read(&encoded).unwrap()).collect();
        assert_eq!(back, [histogram.clone(), histogram, empty]);
    }
}

#[cfg(test)]
mod readers;
