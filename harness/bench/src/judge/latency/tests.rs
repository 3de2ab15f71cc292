//! What is read from a worker, and the log: also by a reader that is none of ours, HdrHistogram's Python package from the registry.
//!
//! The package is fetched once and kept in the target folder. Where that is not possible the test fails and says what to do: on a
//! machine without a registry `CQLDYNO_OFFLINE=1` leaves it out, and nothing else does.

use std::env;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use super::*;
use hdrhistogram::serialization::interval_log::{IntervalLogIterator, LogEntry};
use hdrhistogram::serialization::{Serializer, V2Serializer};

// One way for both tests that need a package for Python; reports has the other.
#[path = "../../../../../reports/tests/exported/pandas/python_package.rs"]
mod python_package;

use python_package::python_package;

/// Set to leave out what needs a package registry.
const OFFLINE: &str = "CQLDYNO_OFFLINE";

const PACKAGE: &str = "hdrhistogram>=0.10";

const SCRIPT: &str = r#"
import json, sys
from hdrh.histogram import HdrHistogram
from hdrh.log import HistogramLogReader
reader = HistogramLogReader(sys.argv[1], HdrHistogram(1, 3600000000000, 3))
found = []
while True:
    histogram = reader.get_next_interval_histogram()
    if histogram is None:
        break
    found.append({
        "tag": histogram.get_tag(),
        "count": histogram.get_total_count(),
        "from_ms": histogram.get_start_time_stamp(),
        "to_ms": histogram.get_end_time_stamp(),
        "percentiles": [histogram.get_value_at_percentile(at) for at in (50, 90, 99, 99.9)] + [histogram.get_max_value()],
    })
print(json.dumps(found))
"#;

/// The folder with the reader, fetched if it is not there yet.
fn reader() -> Result<PathBuf, String> {
    let executable = env::current_exe().map_err(|error| error.to_string())?;
    let target = executable.ancestors().nth(3).ok_or("the test lies in no target folder")?;
    python_package(target, &["python3"], ("hdrhistogram", PACKAGE), &[])
}

fn read_by_python(packages: &Path, file: &Path) -> serde_json::Value {
    let output = Command::new("python3").arg("-c").arg(SCRIPT).arg(file).env("PYTHONPATH", packages).output().unwrap();
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "the reader failed: {errors}");
    serde_json::from_slice(&output.stdout).unwrap()
}

#[test]
fn hdrhistograms_own_python_package_reads_the_log_and_finds_what_was_counted() {
    if env::var_os(OFFLINE).is_some() {
        eprintln!("left out, because {OFFLINE} is set: whether HdrHistogram's Python package reads the logs");
        return;
    }
    let packages = reader().unwrap_or_else(|why| {
        panic!(
            "HdrHistogram's Python package could not be had, with which the logs are checked: {why}; give this machine Python 3 \
             with pip and a package registry once, or set {OFFLINE}=1 to leave this out"
        )
    });
    let mut driver = Histogram::<u64>::new_with_bounds(1, 3_600_000_000_000, 3).unwrap();
    (1..=100_000u64).for_each(|nth| driver.record(nth * 977).unwrap());
    let mut response = driver.clone();
    response.record(200_000_000_000).unwrap();
    let began = SystemTime::UNIX_EPOCH + Duration::from_millis(1_700_000_000_250);
    let lasted = Duration::from_millis(2_500);
    let all = [(Some("response"), response), (Some("driver"), driver.clone()), (None, driver)];
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("a.hlog");
    fs::write(&file, log(began, lasted, &all).unwrap().bytes).unwrap();
    let found = read_by_python(&packages, &file);
    assert_eq!(found.as_array().map(Vec::len), Some(3), "{found}");
    for ((tag, histogram), found) in all.iter().zip(found.as_array().unwrap()) {
        let times = percentiles(histogram);
        let expected = [times.p50_us, times.p90_us, times.p99_us, times.p999_us, times.max_us];
        let expected = expected.map(|us| (us * 1e3).round() as u64);
        assert_eq!(found["tag"].as_str(), *tag, "{found}");
        assert_eq!(found["count"], histogram.len());
        assert_eq!(found["percentiles"], serde_json::json!(expected));
        assert_eq!(found["from_ms"].as_f64().map(|ms| ms as u64), Some(1_700_000_000_250), "{found}");
        assert_eq!(found["to_ms"].as_f64().map(|ms| ms as u64), Some(1_700_000_002_750), "{found}");
    }
}

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
    assert!(read("%%%").unwrap_err().contains("not base64"));
    assert!(read("AAAA").unwrap_err().contains("no HdrHistogram"));
}

#[test]
fn a_log_has_the_windows_beginning_and_every_histogram_under_its_tag() {
    let began = SystemTime::UNIX_EPOCH + Duration::from_millis(1_700_000_000_250);
    let (histogram, empty) = (sample(), Histogram::<u64>::new(3).unwrap());
    let all = [(Some("response"), histogram.clone()), (Some("driver"), histogram.clone()), (None, empty.clone())];
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
