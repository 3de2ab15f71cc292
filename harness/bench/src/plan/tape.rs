//! The tape of a job: the types on it, whether it can be written, and what was made of a user's own rows.

use std::collections::BTreeMap;
use std::sync::Arc;

use cqldyno_protocol::TapeTypes;
use cqldyno_reports::{count, whole};
use cqldyno_scenarios::{Column, Kind, Operation, RowCheck, Scenario, Statement, Workload};
use cqldyno_tapefile::{Recording, TapeError};

/// What was made of the files of scenarios that have one, by the scenario's kind.
pub type Recordings = BTreeMap<String, Arc<Recording>>;

/// Reads the files of the scenarios that have one. These get the types of the rows.
///
/// # Errors
/// When a file is no tape of its scenario.
pub fn recorded(scenarios: &mut [Scenario]) -> Result<Recordings, TapeError> {
    let mut recordings = Recordings::new();
    for scenario in scenarios {
        if let Some((made, recording)) = cqldyno_tapefile::recorded(scenario)? {
            *scenario = made;
            recordings.insert(scenario.kind(), Arc::new(recording));
        }
    }
    Ok(recordings)
}

/// The same for the scenarios of an earlier run.
///
/// # Errors
/// The end of a sentence, when a file is another one than then.
pub(crate) fn recorded_again(scenarios: &[Scenario]) -> Result<Recordings, String> {
    let mut recordings = Recordings::new();
    for scenario in scenarios {
        if recordings.contains_key(&scenario.kind()) {
            continue;
        }
        let Some((made, recording)) = cqldyno_tapefile::recorded(scenario).map_err(|error| error.to_string())? else {
            continue;
        };
        if made.tape != scenario.tape {
            let path = made.tape.map(|tape| tape.path.display().to_string()).unwrap_or_default();
            return Err(format!("the tape {path} of its scenario {} has other rows than then", scenario.name));
        }
        recordings.insert(scenario.kind(), Arc::new(recording));
    }
    Ok(recordings)
}

/// The most bytes of a tape that is written.
const MOST_BYTES: u64 = 2 << 30;
/// Bytes of a value that lies in the pool, and from which length on it does.
const WINDOW_BYTES: u64 = 12;
const LEAST_WINDOW: u64 = 64;
/// Bytes of a ticket besides values and rows.
const TICKET_BYTES: u64 = 24;

pub(crate) fn types(scenario: &Scenario) -> Vec<TapeTypes> {
    let of = |columns: &[Column]| columns.iter().map(|column| column.kind.cql()).collect();
    let expected = |one: &Statement| one.expect.as_ref().map(|expect| of(&expect.columns)).unwrap_or_default();
    scenario.statements.iter().map(|one| TapeTypes { values: of(&one.values), columns: expected(one) }).collect()
}

/// Why there is no tape of this, as a full sentence, if so.
pub(crate) fn refusal(scenario: &Scenario, workload: &Workload) -> Option<String> {
    if !scenario.submit.has_slots() {
        return Some(format!(
            "It plays a tape, and the scenario {} submits statements as {}; play it with slots, in which tapes are played.",
            scenario.label(),
            scenario.submit
        ));
    }
    let bytes = bytes(scenario, workload);
    (bytes > MOST_BYTES).then(|| {
        format!(
            "It plays a tape, which would have about {:.1} GiB for {} and {} before them, and at most {} GiB are written; ask for \
             fewer with --count, or for smaller values or answers.",
            bytes as f64 / f64::from(1 << 30),
            count(workload.count(), "statement"),
            whole(workload.warmup() as f64),
            MOST_BYTES >> 30
        )
    })
}

/// About how many bytes the tape has.
fn bytes(scenario: &Scenario, workload: &Workload) -> u64 {
    let each = scenario.statements.iter().enumerate().map(|(index, one)| {
        let answer = one.answer();
        let share = workload.share(index) as f64;
        let issues = share + share / workload.count().max(1) as f64 * workload.warmup() as f64;
        let rows = match one.operation {
            Operation::Batch => answer.stored().mean(),
            Operation::Prepare => 0.0,
            _ => 1.0,
        };
        let bound: f64 = one
            .values
            .iter()
            .map(|value| {
                let values = if matches!(value.kind, Kind::Each { .. }) { answer.mean() } else { 1.0 };
                cell(value) * values
            })
            .sum();
        let due = one.expect.as_ref().filter(|expect| expect.check != RowCheck::Count).map_or(0.0, |expect| {
            let keys: u64 = workload.keys(index).into_iter().map(|keys| keys.end - keys.start).sum();
            let rows = match expect.ranges {
                Some(_) => keys as f64 * answer.stored().mean(),
                None if one.keys.is_some() || one.keys_of.is_some() => issues.min(keys as f64) * answer.mean(),
                None => issues * answer.mean(),
            };
            rows * expect.columns.iter().map(cell).sum::<f64>()
        });
        issues * (TICKET_BYTES as f64 + rows * bound) + due
    });
    each.sum::<f64>() as u64
}

/// The most bytes of a value on the tape.
fn cell(column: &Column) -> f64 {
    let is_in_pool =
        !column.unique && matches!(column.kind, Kind::Text { .. } | Kind::Ascii { .. } | Kind::Blob { .. });
    let length = column.length() as u64;
    (if is_in_pool && length >= LEAST_WINDOW { WINDOW_BYTES } else { 4 + length }) as f64
}

#[cfg(test)]
mod tests {
    use super::*;
    use cqldyno_scenarios::{Submit, builtin};

    #[test]
    fn types_are_those_of_markers_and_columns() {
        let mixed = types(&builtin("mixed").unwrap());
        let bigints = |count| vec!["bigint".to_owned(); count];
        assert_eq!(mixed[0], TapeTypes { values: bigints(1), columns: bigints(3) });
        assert_eq!(mixed[1], TapeTypes { values: bigints(3), columns: Vec::new() });
    }

    #[test]
    fn a_tape_that_would_be_too_large_is_refused_with_its_size() {
        let of = |name: &str, count| {
            let scenario = builtin(name).unwrap();
            refusal(&scenario, &Workload::new(&scenario, count, 100, 1).unwrap())
        };
        assert_eq!(of("mixed", 1_000_000), None);
        let refused = of("mixed", 100_000_000).unwrap();
        assert!(refused.contains("GiB for 100,000,000 statements and 100 before them, and at most 2 GiB"), "{refused}");
        assert!(refused.ends_with("fewer with --count, or for smaller values or answers."), "{refused}");
    }

    #[test]
    fn a_tape_is_played_in_slots_alone() {
        let scenario = Scenario { submit: Submit::Spawn, ..builtin("writes").unwrap() };
        let refused = refusal(&scenario, &Workload::new(&scenario, 10, 0, 1).unwrap()).unwrap();
        assert!(refused.contains("play it with slots"), "{refused}");
    }
}
