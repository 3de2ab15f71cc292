//! Times as a script writes them.

use std::fmt;
use std::str::FromStr;
use std::time::Duration;

use serde::{Deserialize, Serialize};

/// A time of a step: a whole number with us, ms, s or min after it, at most [`Time::MOST`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Time {
    us: u64,
}

const UNITS: [(&str, u64); 4] = [("min", 60_000_000), ("ms", 1_000), ("us", 1), ("s", 1_000_000)];

impl Time {
    /// The longest.
    pub const MOST: Time = Time { us: 600_000_000 };

    /// The same for a clock.
    pub fn duration(self) -> Duration {
        Duration::from_micros(self.us)
    }
}

impl FromStr for Time {
    type Err = String;

    fn from_str(text: &str) -> Result<Time, String> {
        let split = |(unit, us): &(&str, u64)| Some((text.strip_suffix(unit)?.trim_end(), *us));
        let us = UNITS.iter().find_map(split).and_then(|(number, us)| number.parse::<u64>().ok()?.checked_mul(us));
        let time = us.map(|us| Time { us }).filter(|time| *time <= Time::MOST);
        time.ok_or_else(|| {
            format!(
                "{text:?} is no time; write a time such as \"500us\", \"20ms\" or \"2s\", at most \"{}\"",
                Time::MOST
            )
        })
    }
}

impl TryFrom<String> for Time {
    type Error = String;

    fn try_from(text: String) -> Result<Time, String> {
        text.parse()
    }
}

impl From<Time> for String {
    fn from(time: Time) -> String {
        time.to_string()
    }
}

impl fmt::Display for Time {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let longest_first = [UNITS[0], UNITS[3], UNITS[1], UNITS[2]];
        let whole = longest_first.iter().find(|(_, us)| self.us > 0 && self.us.is_multiple_of(*us));
        let (unit, us) = whole.copied().unwrap_or(UNITS[3]);
        write!(out, "{}{unit}", self.us / us)
    }
}

#[cfg(feature = "schema")]
impl schemars::JsonSchema for Time {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Time".into()
    }

    fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
        let units = UNITS.map(|(unit, _)| unit).join("|");
        schemars::json_schema!({ "type": "string", "pattern": format!("^[0-9]+ *({units})$") })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_time_is_written_as_it_was_read_and_what_is_none_is_refused_with_what_to_write() {
        for text in ["0s", "1us", "1500us", "20ms", "2s", "10min"] {
            assert_eq!(text.parse::<Time>().unwrap().to_string(), text);
        }
        assert_eq!("1000ms".parse::<Time>().unwrap().to_string(), "1s");
        for text in ["", "5", "s", "-1s", "1.5s", "11min", "99999999999999999999s"] {
            let said = text.parse::<Time>().unwrap_err();
            assert!(said.contains("write a time such as \"500us\"") && said.ends_with("at most \"10min\""), "{said}");
        }
    }
}
