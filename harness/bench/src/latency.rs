//! The worker's histogram: kept as it came, and its percentiles.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use cqldyno_reports::Latency;
use hdrhistogram::Histogram;
use hdrhistogram::serialization::Deserializer;

/// A histogram that cannot be read.
#[derive(Debug, thiserror::Error)]
pub enum HistogramError {
    /// Not base64.
    #[error("the histogram of the worker is not base64: {0}")]
    Base64(#[from] base64::DecodeError),
    /// Not an HdrHistogram.
    #[error("the histogram of the worker is no HdrHistogram in its V2 form: {0}")]
    Form(String),
}

/// The bytes of the V2 form, and the percentiles in microseconds; `text` is what `done` carries.
///
/// # Errors
/// When the text is not base64 or the bytes are no histogram.
pub fn read(text: &str) -> Result<(Vec<u8>, Latency), HistogramError> {
    let bytes = STANDARD.decode(text)?;
    let histogram: Histogram<u64> = Deserializer::new()
        .deserialize(&mut bytes.as_slice())
        .map_err(|error| HistogramError::Form(format!("{error:?}")))?;
    let at = |quantile| histogram.value_at_quantile(quantile) as f64 / 1e3;
    let latency = Latency {
        p50_us: at(0.5),
        p90_us: at(0.9),
        p99_us: at(0.99),
        p999_us: at(0.999),
        max_us: histogram.max() as f64 / 1e3,
    };
    Ok((bytes, latency))
}

#[cfg(test)]
mod tests {
    use super::*;
    use hdrhistogram::serialization::{Serializer, V2Serializer};

    #[test]
    fn percentiles_are_read_from_what_a_worker_sends() {
        let mut histogram = Histogram::<u64>::new(3).unwrap();
        (1..=1_000u64).for_each(|micros| histogram.record(micros * 1_000).unwrap());
        let mut bytes = Vec::new();
        V2Serializer::new().serialize(&histogram, &mut bytes).unwrap();
        let (kept, latency) = read(&STANDARD.encode(&bytes)).unwrap();
        assert_eq!(kept, bytes);
        assert!((latency.p50_us - 500.0).abs() < 1.0 && (latency.max_us - 1_000.0).abs() < 1.0, "{latency:?}");
    }

    #[test]
    fn other_texts_are_errors() {
        assert!(read("%%%").unwrap_err().to_string().contains("not base64"));
        assert!(read("AAAA").unwrap_err().to_string().contains("no HdrHistogram"));
    }
}
