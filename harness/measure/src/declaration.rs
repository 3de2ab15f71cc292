//! The description of a measure.

use serde::{Deserialize, Serialize};

use crate::{Better, Pass, Unit};

/// The description of a measure: the same before any figure and in every run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Declaration {
    /// The key in the measures of a cell, for example `cpu_per_statement`.
    pub id: &'static str,
    /// The unit of its values.
    pub unit: Unit,
    /// Which way it is better.
    pub better: Better,
    /// The pass whose cells have it; `None` if the cells of every pass have it.
    pub pass: Option<Pass>,
    /// What it is, in a few words.
    pub about: &'static str,
    /// The heading of its column, with line feeds, in tables that list measures by themselves; `None` if it has no such column.
    pub column: Option<&'static str>,
}

impl Declaration {
    /// A measure of the cells of `pass`, without a column.
    pub const fn new(pass: Pass, id: &'static str, unit: Unit, better: Better, about: &'static str) -> Declaration {
        Declaration { id, unit, better, pass: Some(pass), about, column: None }
    }

    /// The same measure with a column of this heading.
    pub const fn titled(self, heading: &'static str) -> Declaration {
        Declaration { column: Some(heading), ..self }
    }

    /// Whether cells of `pass` have the measure.
    pub fn is_taken_in(&self, pass: Pass) -> bool {
        self.pass.is_none_or(|own| own == pass)
    }
}

/// A measure as its meter declares it, so that a reader can show measures that it does not know.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct MeasureInfo {
    /// The key in `Cell.measures`.
    pub id: String,
    /// The unit of its values.
    pub unit: Unit,
    /// Which way it is better.
    pub better: Better,
    /// The pass whose cells have it; timing if every cell has it.
    pub pass: Pass,
    /// What it is, in a few words.
    pub about: String,
    /// The heading of its column in tables; absent if no table lists it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub column: Option<String>,
}

/// Counts of the timing pass, and shares of counts, that do not follow the machine, as faults, switches and resident memory do.
const EXACT: [&str; 13] = [
    "statements",
    "errors",
    "polls_per_statement",
    "bytes_sent_per_statement",
    "bytes_received_per_statement",
    "requests_per_statement",
    "own_statements_per_statement",
    "connections_per_statement",
    "prepares_per_statement",
    "connections_accepted",
    "connections_left_open",
    "to_replica",
    "to_shard",
];

impl MeasureInfo {
    /// Whether it counts what the driver does, so that its figure does not depend on time.
    pub fn is_exact(&self) -> bool {
        let counts = matches!(self.unit, Unit::Count | Unit::Bytes | Unit::PerSecond);
        counts && self.pass != Pass::Timing || EXACT.contains(&self.id.as_str())
    }
}

impl From<&Declaration> for MeasureInfo {
    fn from(declared: &Declaration) -> MeasureInfo {
        MeasureInfo {
            id: declared.id.to_owned(),
            unit: declared.unit,
            better: declared.better,
            pass: declared.pass.unwrap_or(Pass::Timing),
            about: declared.about.to_owned(),
            column: declared.column.map(str::to_owned),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_measure_without_a_pass_is_taken_in_every_cell_and_another_one_in_those_of_its_pass() {
        let counted = Declaration::new(Pass::Counting, "x", Unit::Count, Better::Lower, "things").titled("x");
        let everywhere = Declaration { pass: None, ..counted };
        for pass in Pass::ALL {
            assert!(everywhere.is_taken_in(pass));
            assert_eq!(counted.is_taken_in(pass), pass == Pass::Counting);
        }
        assert_eq!(MeasureInfo::from(&everywhere).pass, Pass::Timing);
        assert_eq!(MeasureInfo::from(&counted).column.as_deref(), Some("x"));
    }
}
