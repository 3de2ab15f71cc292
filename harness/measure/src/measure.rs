//! One figure: a value with its unit, or the reason why there is none.

use serde::{Deserialize, Serialize};

/// One figure of a cell, or why there is none.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(untagged)]
pub enum Measure {
    /// What was read off.
    Value {
        /// In [`Unit`] units.
        value: f64,
        /// The value's unit.
        unit: Unit,
    },
    /// It could not be read.
    Unavailable {
        /// A full sentence: what is missing and what to change; the same one that `cqldyno doctor` gives.
        unavailable: String,
    },
}

impl Measure {
    /// A figure. A value that is not finite, for example a rate over no time, is unavailable.
    pub fn value(value: f64, unit: Unit) -> Measure {
        if value.is_finite() {
            Measure::Value { value, unit }
        } else {
            Measure::unavailable("There is no figure, because the cell had nothing to divide by.")
        }
    }

    /// No figure, and the sentence that says why.
    pub fn unavailable(why: impl Into<String>) -> Measure {
        Measure::Unavailable { unavailable: why.into() }
    }

    /// The figure, or the sentence that says why there is none.
    pub fn of(value: Result<f64, String>, unit: Unit) -> Measure {
        value.map_or_else(Measure::unavailable, |value| Measure::value(value, unit))
    }

    /// The figure, if there is one.
    pub fn get(&self) -> Option<f64> {
        match self {
            Measure::Value { value, .. } => Some(*value),
            Measure::Unavailable { .. } => None,
        }
    }

    /// The figure's unit, if there is a figure.
    pub fn unit(&self) -> Option<Unit> {
        match self {
            Measure::Value { unit, .. } => Some(*unit),
            Measure::Unavailable { .. } => None,
        }
    }

    /// Why there is no figure.
    pub fn reason(&self) -> Option<&str> {
        match self {
            Measure::Value { .. } => None,
            Measure::Unavailable { unavailable } => Some(unavailable),
        }
    }
}

/// The unit of a measure.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub enum Unit {
    /// Seconds.
    #[serde(rename = "s")]
    Seconds,
    /// Microseconds.
    #[serde(rename = "us")]
    Microseconds,
    /// Bytes.
    #[serde(rename = "B")]
    Bytes,
    /// A number of things, or of things per statement.
    #[serde(rename = "1")]
    Count,
    /// Things per second.
    #[serde(rename = "1/s")]
    PerSecond,
    /// Hundredths of a whole.
    #[serde(rename = "%")]
    Percent,
}

impl Unit {
    /// The unit as files have it.
    pub fn symbol(self) -> &'static str {
        match self {
            Unit::Seconds => "s",
            Unit::Microseconds => "us",
            Unit::Bytes => "B",
            Unit::Count => "1",
            Unit::PerSecond => "1/s",
            Unit::Percent => "%",
        }
    }
}

/// Which way a measure is better.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Better {
    /// Less is better.
    Lower,
    /// More is better.
    Higher,
    /// Neither: it describes or checks the cell.
    Neither,
}

/// How many values a percentile of this share needs: at least one of them lies beyond it. It is told of no fewer.
pub fn least_for(share: f64) -> u64 {
    // Rounded, because 1 - 0.999 is not quite a thousandth.
    (1.0 / (1.0 - share)).round() as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_measure_is_a_value_with_its_unit_or_a_reason() {
        let value = Measure::value(1.5, Unit::Microseconds);
        assert_eq!(serde_json::to_string(&value).unwrap(), r#"{"value":1.5,"unit":"us"}"#);
        let none = Measure::unavailable("No.");
        assert_eq!(serde_json::to_string(&none).unwrap(), r#"{"unavailable":"No."}"#);
        for measure in [value, none] {
            let text = serde_json::to_string(&measure).unwrap();
            assert_eq!(serde_json::from_str::<Measure>(&text).unwrap(), measure);
        }
    }

    #[test]
    fn a_figure_that_is_not_finite_is_none() {
        assert_eq!(Measure::value(f64::NAN, Unit::Count).get(), None);
        assert_eq!(Measure::value(1.0 / 0.0, Unit::Count).get(), None);
    }

    #[test]
    fn the_symbol_of_a_unit_is_what_stands_in_files() {
        for unit in [Unit::Seconds, Unit::Microseconds, Unit::Bytes, Unit::Count, Unit::PerSecond, Unit::Percent] {
            assert_eq!(serde_json::to_string(&unit).unwrap(), format!("{:?}", unit.symbol()));
        }
    }
}
