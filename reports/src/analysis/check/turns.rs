//! Whether two contenders took turns; otherwise a drift of the machine looks like a difference.

use std::collections::BTreeMap;

use jiff::Timestamp;

use crate::attempts::Attempts;
use crate::{Cell, Pass, Place, Run};

/// The first scenario and arrangement in which a block of the two began before another one ended.
pub fn without_turns<'a>(run: &'a Run, cells: &[Cell], one: &str, other: &str) -> Option<(&'a str, &'a str)> {
    let attempts = Attempts::of(cells);
    let counted = || {
        let is = |cell: &&Cell| cell.pass == Pass::Timing && attempts.counts(cell);
        cells.iter().filter(is).filter(|cell| cell.contender == one || cell.contender == other)
    };
    let took_none = |scenario: &str, arrangement: &str| {
        let here = counted().filter(|cell| cell.scenario == scenario && cell.arrangement == arrangement);
        let mut blocks: BTreeMap<u32, (Timestamp, Timestamp)> = BTreeMap::new();
        for cell in here {
            let (first, last) = blocks.entry(cell.block).or_insert((cell.started, cell.started));
            (*first, *last) = (cell.started.min(*first), cell.started.max(*last));
        }
        let mut spans: Vec<(Timestamp, Timestamp)> = blocks.into_values().collect();
        spans.sort_unstable();
        spans.windows(2).any(|two| two[1].0 < two[0].1)
    };
    Place::all(run)
        .map(|place| (place.scenario.name.as_str(), place.arrangement.id.as_str()))
        .find(|(scenario, arrangement)| took_none(scenario, arrangement))
}
