//! Numbers as they stand in tables.

use std::time::Duration;

use cqldyno_measure::Unit;

/// Seconds as Linux' `time` prints them, for example `0m34.123s`.
pub fn time(seconds: f64) -> String {
    let milliseconds = (seconds.max(0.0) * 1_000.0).round() as u64;
    format!("{}m{}.{:03}s", milliseconds / 60_000, milliseconds / 1_000 % 60, milliseconds % 1_000)
}

/// A duration as people say it, for example `0.4 s`, `45 s`, `5 min` or `2.5 h`.
pub fn lasting(time: Duration) -> String {
    let seconds = time.as_secs_f64();
    let (value, unit) = match seconds {
        seconds if seconds < 99.5 => (seconds, "s"),
        seconds if seconds < 5_970.0 => (seconds / 60.0, "min"),
        _ => (seconds / 3_600.0, "h"),
    };
    let text = if value < 9.95 { format!("{value:.1}") } else { format!("{value:.0}") };
    format!("{} {unit}", text.strip_suffix(".0").unwrap_or(&text))
}

/// A share in percent with as many digits as it was given, for example `2` or `2.5`.
pub fn percent(share: f64) -> String {
    // More digits are those of its binary form.
    ((share * 1e8).round() / 1e6).to_string()
}

/// A whole number with a comma every three digits, for example `1,234,567`.
pub fn whole(value: f64) -> String {
    let digits = format!("{:.0}", value.abs());
    let mut text = String::new();
    for (place, digit) in digits.chars().enumerate() {
        if place > 0 && (digits.len() - place) % 3 == 0 {
            text.push(',');
        }
        text.push(digit);
    }
    if value < 0.0 && digits != "0" { format!("-{text}") } else { text }
}

/// Three significant digits, at most three after the point: `0.031`, `4.12`, `51.3`, `1,204`.
pub fn three_digits(value: f64) -> String {
    match value.abs() {
        size if size < 0.9995 => format!("{value:.3}"),
        size if size < 9.995 => format!("{value:.2}"),
        size if size < 99.95 => format!("{value:.1}"),
        _ => whole(value),
    }
}

/// Digits after the point with which the least of the values has three that count, at most two unless all are small: one column, one
/// number of them.
pub fn decimals(values: impl Iterator<Item = f64>) -> usize {
    match values.fold(f64::INFINITY, f64::min) {
        least if least < 0.0995 => 3,
        least if least < 9.995 => 2,
        least if least < 99.95 => 1,
        _ => 0,
    }
}

/// The value with so many digits after the point.
pub fn fixed(value: f64, decimals: usize) -> String {
    if decimals == 0 { whole(value) } else { format!("{value:.decimals$}") }
}

/// A rate with three significant digits, for example `324k`, `98.8k`, `1.23M` or `5,432`.
pub fn rate(value: f64) -> String {
    match value {
        value if value < 9_995.0 => whole(value),
        value if value < 999_500.0 => format!("{}k", three_digits(value / 1e3)),
        value => format!("{}M", three_digits(value / 1e6)),
    }
}

/// A number as people give it, for example `250k` or `10M`; any other with all its digits.
pub fn short_count(value: u64) -> String {
    let of = |unit: u64, sign| (value >= unit && value.is_multiple_of(unit)).then(|| format!("{}{sign}", value / unit));
    of(1_000_000, "M").or_else(|| of(1_000, "k")).unwrap_or_else(|| whole(value as f64))
}

/// A figure of that unit without the unit's sign; large memory has its own.
pub fn figure(value: f64, unit: Unit) -> String {
    match unit {
        Unit::Seconds => time(value),
        Unit::Bytes if value >= 1024.0 * 1024.0 => format!("{} MiB", mebibytes(value)),
        Unit::Bytes | Unit::Count if value.fract() == 0.0 || value >= 1_000.0 => whole(value),
        Unit::PerSecond => whole(value),
        Unit::Microseconds | Unit::Bytes | Unit::Count | Unit::Percent => three_digits(value),
    }
}

/// Bytes in MiB with one digit after the point.
pub fn mebibytes(bytes: f64) -> String {
    format!("{:.1}", bytes / f64::from(1 << 20))
}

/// Bytes as people say them, for example `24 GiB`.
pub fn memory(bytes: u64) -> String {
    let mebibytes = bytes >> 20;
    if mebibytes < 4_096 { format!("{mebibytes} MiB") } else { format!("{:.0} GiB", mebibytes as f64 / 1_024.0) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn time_is_printed_as_by_the_shell() {
        assert_eq!(time(34.123), "0m34.123s");
        assert_eq!(time(0.0), "0m0.000s");
        assert_eq!(time(59.999_6), "1m0.000s");
        assert_eq!(time(3_723.5), "62m3.500s");
    }

    #[test]
    fn a_length_of_time_is_said_in_the_unit_that_fits() {
        let said = |seconds| lasting(Duration::from_secs_f64(seconds));
        assert_eq!([0.4, 1.0, 1.25, 45.4].map(said), ["0.4 s", "1 s", "1.2 s", "45 s"]);
        assert_eq!([90.0, 300.0, 330.0, 3_600.0].map(said), ["90 s", "5 min", "5.5 min", "60 min"]);
        assert_eq!([9_000.0, 86_400.0].map(said), ["2.5 h", "24 h"]);
    }

    #[test]
    fn whole_numbers_have_a_comma_every_three_digits() {
        assert_eq!(whole(0.0), "0");
        assert_eq!(whole(999.4), "999");
        assert_eq!(whole(1_000.0), "1,000");
        assert_eq!(whole(12_345_678.0), "12,345,678");
        assert_eq!(whole(-1_234.0), "-1,234");
        assert_eq!(whole(-0.2), "0");
    }

    #[test]
    fn other_numbers_have_three_digits_that_count() {
        assert_eq!(three_digits(0.031), "0.031");
        assert_eq!(three_digits(0.999_9), "1.00");
        assert_eq!(three_digits(4.123), "4.12");
        assert_eq!(three_digits(51.26), "51.3");
        assert_eq!(three_digits(99.99), "100");
        assert_eq!(three_digits(1_204.2), "1,204");
    }

    #[test]
    fn a_column_has_as_many_digits_as_its_least_value_needs() {
        let column = |values: [f64; 2]| values.map(|value| fixed(value, decimals(values.into_iter()))).join(" ");
        assert_eq!(column([0.888, 3.27]), "0.89 3.27");
        assert_eq!(column([0.031, 3.27]), "0.031 3.270");
        assert_eq!(column([12.34, 105.06]), "12.3 105.1");
        assert_eq!(column([250.4, 1_204.0]), "250 1,204");
    }

    #[test]
    fn rates_have_three_digits_and_counts_are_short_only_if_nothing_is_lost() {
        assert_eq!(
            [5_432.4, 9_999.0, 98_765.0, 324_123.0, 999_700.0, 1_234_567.0].map(rate).join(" "),
            "5,432 10.0k 98.8k 324k 1.00M 1.23M"
        );
        assert_eq!([250_000, 10_000_000, 123_456, 1_500_000].map(short_count).join(" "), "250k 10M 123,456 1500k");
    }

    #[test]
    fn memory_is_said_in_the_unit_that_fits() {
        assert_eq!(memory(512 << 20), "512 MiB");
        assert_eq!(memory((23 << 30) + (600 << 20)), "24 GiB");
        assert_eq!(mebibytes(1_572_864.0), "1.5");
    }
}
