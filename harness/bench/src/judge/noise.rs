//! Whether others disturbed a cell so much that its block runs again.

use cqldyno_reports::{Cell, Pass, measure};

/// What others used in a window is known to some hundredths of a second: the kernel samples it at its ticks.
const RESOLUTION_SECONDS: f64 = 0.05;

/// A sentence when steal and other processes took more than `share` of the time of `cores` in the window, and more than the meter can
/// resolve. Only timing cells with these figures are noisy: a failure is a result.
pub(crate) fn noise(cell: &Cell, share: Option<f64>, cores: usize) -> Option<String> {
    let most = share.filter(|_| cell.pass == Pass::Timing)?;
    let wall = cell.get(measure::WALL).filter(|wall| *wall > 0.0)?;
    let (steal, others) = (cell.get("machine_steal")?, cell.get("machine_other_cpu")?);
    let found = (steal + others) / (wall * cores.max(1) as f64);
    (found > most && steal + others > RESOLUTION_SECONDS).then(|| {
        format!(
            "Others used {:.0} % of the cores' time in the window ({others:.2} s of CPU time, and {steal:.2} s were stolen), and \
             {:.0} % are allowed.",
            found * 100.0,
            most * 100.0
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use cqldyno_reports::{Measure, Unit};

    fn cell(wall: f64, steal: f64, others: f64) -> Cell {
        let values = [(measure::WALL, wall), ("machine_steal", steal), ("machine_other_cpu", others)];
        let measures = values.map(|(id, value)| (id.to_owned(), Measure::value(value, Unit::Seconds))).into();
        Cell { measures, ..Cell::default() }
    }

    #[test]
    fn steal_and_the_work_of_others_make_a_cell_noisy_above_the_share() {
        let found = |steal, others| noise(&cell(1.0, steal, others), Some(0.1), 2);
        assert_eq!(found(0.05, 0.1), None);
        let sentence = found(0.1, 0.3).unwrap();
        assert!(sentence.contains("Others used 20 % of the cores' time") && sentence.contains("10 % are allowed"));
        assert!(found(0.25, 0.0).unwrap().contains("0.25 s were stolen"));
    }

    #[test]
    fn what_the_meter_cannot_tell_from_nothing_is_no_noise() {
        assert_eq!(noise(&cell(0.05, 0.01, 0.03), Some(0.1), 2), None);
        assert_eq!(noise(&cell(0.05, 0.02, 0.05), None, 2), None);
        assert!(noise(&cell(0.05, 0.02, 0.05), Some(0.1), 2).is_some());
        let failed = Cell { failed: Some("It crashed.".to_owned()), ..Cell::default() };
        assert_eq!(noise(&failed, Some(0.1), 2), None);
        let counting = Cell { pass: Pass::Counting, ..cell(1.0, 1.0, 1.0) };
        assert_eq!(noise(&counting, Some(0.1), 2), None);
    }
}
