//! Whether a driver's place changes with the arrangement.
//!
//! The order of two drivers counts as known only where an interval says so: one that excludes 1 beside the reference, or two that
//! do not overlap. A change counts only where the order is known in both arrangements and is another one.

use crate::measure::CPU_PER_STATEMENT;
use crate::text::plain;
use crate::{Contender, Role, Run, SummaryRow};

/// One driver in one scenario and arrangement.
struct Standing<'a> {
    contender: &'a Contender,
    arrangement: &'a str,
    /// The interval of its ratio to the reference; of the reference itself, 1.
    interval: [f64; 2],
}

impl Standing<'_> {
    fn is_known_before(&self, other: &Standing) -> bool {
        self.interval[1] < other.interval[0]
    }
}

/// A line a driver whose place changes, or one that says why none is said to; none for a run of one arrangement.
pub(crate) fn changes(run: &Run, rows: &[SummaryRow], reference: Option<&Contender>) -> Vec<String> {
    let Some(reference) = reference.filter(|_| run.plan.arrangements.len() > 1) else { return Vec::new() };
    let mut lines = Vec::new();
    let mut has_intervals = false;
    for contender in &run.contenders {
        let mut parts = Vec::new();
        for scenario in &run.scenarios {
            let all: Vec<Vec<Standing>> = run
                .plan
                .arrangements
                .iter()
                .map(|arrangement| standings(run, rows, reference, &scenario.name, &arrangement.id))
                .collect();
            has_intervals |= all.iter().filter(|standings| standings.len() > 1).count() > 1;
            if changes_for(contender, &all) {
                let places: Vec<String> = all.iter().filter_map(|standings| place(contender, standings)).collect();
                parts.push(format!("{} ({})", places.join(" and "), plain(&scenario.name)));
            }
        }
        if !parts.is_empty() {
            lines.push(format!("{} is by CPU time {}.", plain(&contender.label), parts.join(", ")));
        }
    }
    match (lines.is_empty(), has_intervals) {
        (true, false) => vec![
            "Whether the arrangement changes the order of the drivers is not resolved: there are no intervals of \
                                them in two arrangements."
                .to_owned(),
        ],
        (true, true) => vec![
            "No order of two drivers by CPU time that is known in two arrangements differs between them.".to_owned(),
        ],
        _ => lines,
    }
}

/// The drivers that have a place here: the reference and those with an interval, without controls.
fn standings<'a>(
    run: &'a Run,
    rows: &[SummaryRow],
    reference: &Contender,
    scenario: &str,
    arrangement: &'a str,
) -> Vec<Standing<'a>> {
    let drivers = run.contenders.iter().filter(|contender| contender.role == Role::Driver && !contender.control);
    drivers
        .filter_map(|contender| {
            let row = rows.iter().find(|row| {
                row.meter == CPU_PER_STATEMENT
                    && row.contender == contender.id
                    && row.scenario == scenario
                    && row.arrangement == arrangement
            })?;
            let interval = if contender.id == reference.id { row.ratio.map(|_| [1.0; 2]) } else { row.interval };
            Some(Standing { contender, arrangement, interval: interval? })
        })
        .collect()
}

/// Whether the order of the contender and some other one is known in two arrangements and differs.
fn changes_for(contender: &Contender, all: &[Vec<Standing>]) -> bool {
    let order = |standings: &[Standing], other: &Contender| {
        let find = |who: &Contender| standings.iter().position(|standing| standing.contender.id == who.id);
        let (mine, theirs) = (&standings[find(contender)?], &standings[find(other)?]);
        match (mine.is_known_before(theirs), theirs.is_known_before(mine)) {
            (true, _) => Some(true),
            (_, true) => Some(false),
            _ => None,
        }
    };
    let others = all.iter().flatten().map(|standing| standing.contender);
    others.into_iter().any(|other| {
        let orders: Vec<bool> = all.iter().filter_map(|standings| order(standings, other)).collect();
        orders.contains(&true) && orders.contains(&false)
    })
}

/// For example `2nd of 3 on multi:2`, or `1st to 2nd of 3 on multi:2` where an order is not known.
fn place(contender: &Contender, standings: &[Standing]) -> Option<String> {
    let mine = standings.iter().find(|standing| standing.contender.id == contender.id)?;
    let before = standings.iter().filter(|other| other.is_known_before(mine)).count();
    let behind = standings.iter().filter(|other| mine.is_known_before(other)).count();
    let (first, last) = (before + 1, standings.len() - behind);
    let range = if first == last { nth(first) } else { format!("{} to {}", nth(first), nth(last)) };
    Some(format!("{range} of {} on {}", standings.len(), plain(mine.arrangement)))
}

fn nth(place: usize) -> String {
    match (place % 10, place % 100) {
        (1, of) if of != 11 => format!("{place}st"),
        (2, of) if of != 12 => format!("{place}nd"),
        (3, of) if of != 13 => format!("{place}rd"),
        _ => format!("{place}th"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Cell, Measure, Summary, Unit, reference, sample};

    /// Twelve blocks in two arrangements, in the second of which cdrs-tokio costs `cost`.
    fn lines(cost: f64, blocks: u32) -> Vec<String> {
        let (mut run, cells) = sample::blocks(blocks);
        let mut current = run.plan.arrangements[0].clone();
        current.id = "current".to_owned();
        run.plan.arrangements.push(current);
        let mut all = cells.clone();
        all.extend(cells.into_iter().map(|mut cell| {
            if cell.contender == "cdrs-tokio" {
                let noise = cell.get(CPU_PER_STATEMENT).unwrap() / 6.25;
                cell.measures.insert(CPU_PER_STATEMENT.to_owned(), Measure::value(cost * noise, Unit::Microseconds));
            }
            Cell { arrangement: "current".to_owned(), ..cell }
        }));
        changes(&run, &Summary::new(&run, &all).rows, reference(&run))
    }

    #[test]
    fn a_place_that_changes_with_the_arrangement_is_one_line_a_driver() {
        assert_eq!(
            lines(2.0, 12),
            [
                "scylla@1.9.0 is by CPU time 1st of 2 on multi:2 and 2nd of 2 on current (writes), 1st of 2 on multi:2 and 2nd of 2 \
                 on current (reads).",
                "cdrs-tokio@9.0.2 is by CPU time 2nd of 2 on multi:2 and 1st of 2 on current (writes), 2nd of 2 on multi:2 and 1st \
                 of 2 on current (reads)."
            ]
        );
    }

    #[test]
    fn an_order_that_is_not_known_is_no_change() {
        let none = ["No order of two drivers by CPU time that is known in two arrangements differs between them."];
        assert_eq!(lines(4.0, 12), none);
        assert_eq!(lines(6.0, 12), none);
        assert!(
            lines(2.0, 3)[0].starts_with("Whether the arrangement changes the order of the drivers is not resolved")
        );
    }

    #[test]
    fn places_are_said_as_people_say_them() {
        assert_eq!([1, 2, 3, 4, 11, 12, 13, 21].map(nth).join(" "), "1st 2nd 3rd 4th 11th 12th 13th 21st");
    }
}
