//! The ratios, intervals and verdicts of a run's summary.
//!
//! CPU time per statement is the primary meter, and statements per second have verdicts as well: the intervals of each of the two
//! hold over all drivers, scenarios and arrangements at once. The other meters are exploratory: each interval holds by itself. floor and noop are no drivers and have no intervals. Rounds that do not
//! count have no part in any of it. If more than half of the rounds do not, ratio and interval are of all, and the verdict is withheld.

use std::collections::BTreeMap;

use cqldyno_statistics as statistics;
use cqldyno_statistics::{Comparison, Fitted, Group, LogRatio, Repetition};

use crate::band::{self, BAND, adapter};
use crate::bottleneck::Bottleneck;
use crate::cut_short::too_few;
use crate::measure::{CPU_PER_STATEMENT, THROUGHPUT};
use crate::row::{Figures, comparable};
use crate::{Better, Contender, Role, Run, SummaryRow, Verdict, plain};

/// The meters with verdicts, the primary one first. The intervals of each hold all at once.
pub(crate) const JUDGED: [&str; 2] = [CPU_PER_STATEMENT, THROUGHPUT];

/// The summary's rows of one scenario, arrangement and meter, and their figures.
#[derive(Default)]
pub(crate) struct MeterTable {
    pub rows: Vec<SummaryRow>,
    /// One per row.
    pub figures: Vec<Figures>,
    /// How many rounds here do not count.
    pub missing: usize,
    /// Whether too few rounds count for a verdict.
    pub withheld: bool,
    /// The logarithms of the rows' ratios, by the place of the row; none without an interval.
    pub logs: BTreeMap<usize, LogRatio>,
}

/// Fills level, ratio, interval, verdict and smallest difference of every row of one meter's tables, which are a family of comparisons.
pub(crate) fn compare(run: &Run, reference: Option<&Contender>, family: &mut [&mut MeterTable]) {
    for table in family.iter_mut() {
        table.rows.iter_mut().filter(|row| comparable(row)).for_each(|row| row.level = row.median);
    }
    let Some(reference) = reference else { return };
    for table in family.iter_mut() {
        table.ratios(run, reference);
    }
    let Some(meter) = family.first().map(|table| table.meter()) else { return };
    let better = match meter {
        CPU_PER_STATEMENT => Better::Lower,
        _ => run.measure(meter).map_or(Better::Neither, |known| known.better),
    };
    if better == Better::Neither {
        return;
    }
    let lower_is_better = better == Better::Lower;
    let how =
        Comparison { band: BAND, lower_is_better, simultaneous: JUDGED.contains(&meter), ..Comparison::default() };
    let (groups, columns): (Vec<Group>, Vec<Vec<usize>>) =
        family.iter().map(|table| table.prepare(run, reference)).unzip();
    let found = statistics::compare(&groups, &how);
    for (((table, group), columns), found) in family.iter_mut().zip(&groups).zip(&columns).zip(found) {
        table.fill(run, reference, group, columns, found);
    }
}

/// Takes the verdicts away where the control differs or has no interval, and those on rates where its rate differs; returns the warnings that say so.
pub(crate) fn withhold(run: &Run, reference: &Contender, places: &mut [MeterTable]) -> Vec<String> {
    let [of_cpu, of_rate] =
        JUDGED.map(|meter| control_warning(places.iter().flat_map(|place| &place.rows), reference, meter));
    let (is_all, is_rate) = (of_cpu.is_some(), of_rate.is_some());
    let withheld = |row: &&mut SummaryRow| is_all || (is_rate && row.meter == THROUGHPUT);
    places.iter_mut().flat_map(|place| &mut place.rows).filter(withheld).for_each(|row| row.verdict = None);
    let of_rate = of_rate.filter(|_| !is_all);
    of_cpu.into_iter().chain(withhold_without_control(run, reference, places)).chain(of_rate).collect()
}

/// Takes the verdicts away wherever the run's control has no interval, and says where.
fn withhold_without_control(run: &Run, reference: &Contender, places: &mut [MeterTable]) -> Option<String> {
    if !run.contenders.iter().any(|contender| is_control(&contender.id, contender.control, reference)) {
        return None;
    }
    let control = |rows: &[SummaryRow]| {
        let control = rows.iter().find(|row| row.is_primary() && is_control(&row.contender, row.control, reference))?;
        let is_alone_without = control.interval.is_none() && rows.iter().any(|row| row.interval.is_some());
        is_alone_without.then(|| control.clone())
    };
    let without: Vec<SummaryRow> = places.iter().filter_map(|place| control(&place.rows)).collect();
    let is_without = |row: &&mut SummaryRow| without.iter().any(|control| control.is_beside(row));
    places.iter_mut().flat_map(|place| &mut place.rows).filter(is_without).for_each(|row| row.verdict = None);
    let said = |control: &SummaryRow| {
        let why = match control {
            SummaryRow { failed: Some(_), .. } => "a cell of it failed",
            SummaryRow { void: Some(_), .. } => "a cell of it is void",
            _ => "it was not measured",
        };
        format!("{} on {} ({why})", plain(&control.scenario), plain(&control.arrangement))
    };
    (!without.is_empty()).then(|| {
        format!(
            "The control, {} once more, has no interval in {}. There is no verdict there, because nothing shows that only the \
             drivers differed.",
            plain(&reference.label),
            without.iter().map(said).collect::<Vec<_>>().join(", "),
        )
    })
}

/// Whether the contender is the reference once more: its id is the reference's and a mark.
pub(crate) fn is_control(contender: &str, control: bool, reference: &Contender) -> bool {
    control && contender.rsplit_once('#').is_some_and(|(of, _)| of == reference.id)
}

/// The warning that the same program under two names differs by a meter with verdicts.
pub(crate) fn control_warning<'a>(
    rows: impl Iterator<Item = &'a SummaryRow>,
    reference: &Contender,
    meter: &str,
) -> Option<String> {
    let off: Vec<String> = rows
        .filter(|row| {
            row.meter == meter && row.no_verdict.is_none() && is_control(&row.contender, row.control, reference)
        })
        .filter(|row| row.interval.is_some_and(|[low, high]| low > 1.0 || high < 1.0))
        .filter_map(|row| {
            let [scenario, arrangement] = [&row.scenario, &row.arrangement].map(|part| plain(part));
            Some(format!("{} in {scenario} on {arrangement}", row.ratio_within(3, " to ")?))
        })
        .collect();
    let (does, figure, none) = match meter {
        THROUGHPUT => ("serve", "statements per second", "verdicts on statements per second"),
        _ => ("cost", "CPU time", "verdicts"),
    };
    (!off.is_empty()).then(|| {
        format!(
            "The control is {} once more and should {does} the same, but its {figure} over the reference's was {}. There are no \
             {none}, because not only the drivers differed.",
            plain(&reference.label),
            off.join(", "),
        )
    })
}

impl MeterTable {
    pub fn meter(&self) -> &str {
        self.rows.first().map_or("", |row| row.meter.as_str())
    }

    /// The ratios of the levels.
    fn ratios(&mut self, run: &Run, reference: &Contender) {
        let base = self.rows.iter().find(|row| row.contender == reference.id).and_then(|row| row.level);
        let has_own = |id: &str| run.contender(id).is_some_and(|contender| contender.in_flight.is_some());
        let base = base.filter(|_| !has_own(&reference.id));
        for row in self.rows.iter_mut().filter(|row| !has_own(&row.contender)) {
            row.ratio = row.level.zip(base).map(|(level, base)| level / base).filter(|ratio| ratio.is_finite());
        }
    }

    /// The means of turns that are too few for an interval. A rate's is that of the time.
    fn means(&mut self, group: &Group, columns: &[usize]) {
        let is_rate = self.meter() == THROUGHPUT;
        let rounds = group.rows.len() as f64;
        for (at, row) in columns.iter().enumerate() {
            let figures = group.rows.values().map(|row| row[at]);
            let mean = match is_rate {
                true => rounds / figures.map(f64::recip).sum::<f64>(),
                false => figures.sum::<f64>() / rounds,
            };
            self.rows[*row].level = Some(mean).filter(|mean| mean.is_finite()).or(self.rows[*row].level);
        }
    }

    /// The rounds in which every driver that can be compared has a figure, and the row of each column.
    fn prepare(&self, run: &Run, reference: &Contender) -> (Group, Vec<usize>) {
        let is_driver = |row: &SummaryRow| {
            run.contender(&row.contender).is_some_and(|one| one.role == Role::Driver && one.in_flight.is_none())
        };
        let columns: Vec<usize> =
            (0..self.rows.len()).filter(|at| comparable(&self.rows[*at]) && is_driver(&self.rows[*at])).collect();
        let of = |at: &Repetition| {
            let row = columns.iter().map(|column| self.figures[*column].get(at).copied()).collect::<Option<Vec<f64>>>();
            Some((at.clone(), row?))
        };
        let first = columns.first().map(|first| &self.figures[*first]);
        let rows: BTreeMap<Repetition, Vec<f64>> = first.into_iter().flat_map(BTreeMap::keys).filter_map(of).collect();
        let column = |is: &dyn Fn(&SummaryRow) -> bool| -> Vec<usize> {
            (0..columns.len()).filter(|column| is(&self.rows[columns[*column]])).collect()
        };
        let references = column(&|row| row.contender == reference.id);
        let controls = column(&|row| is_control(&row.contender, row.control, reference));
        let is_sibling =
            |row: &SummaryRow| run.contender(&row.contender).is_some_and(|one| adapter(one) == adapter(reference));
        let siblings = if self.meter() == CPU_PER_STATEMENT { column(&is_sibling) } else { Vec::new() };
        let band_of = |column: usize| {
            let row = &self.rows[columns[column]];
            Some((column, band::between(run, &row.arrangement, run.contender(&row.contender)?, reference)))
        };
        let bands = (0..columns.len()).filter_map(band_of).collect();
        let reference = references.first().copied().unwrap_or(usize::MAX);
        (Group { rows, reference, controls, siblings, bands }, columns)
    }

    fn fill(
        &mut self,
        run: &Run,
        reference: &Contender,
        group: &Group,
        columns: &[usize],
        found: Result<Fitted, statistics::NoInterval>,
    ) {
        let is_primary = self.meter() == CPU_PER_STATEMENT;
        let Fitted { levels, estimates, logs, rounds, generations } = match found {
            Ok(fitted) => fitted,
            Err(why) => {
                if !run.plan.repeats_all() {
                    self.means(group, columns);
                }
                if is_primary {
                    let others = columns.iter().enumerate().filter(|(at, _)| *at != group.reference);
                    let why = no_interval(run, &why, self.missing);
                    others.for_each(|(_, row)| self.rows[*row].no_interval = Some(why.clone()));
                }
                return;
            }
        };
        // Ratios are to reference and controls: if the server limited one of them, the rate is the server's.
        let mut bases = std::iter::once(&group.reference).chain(&group.controls);
        let base = bases.find_map(|column| not_its_own(&self.rows[columns[*column]], "the reference"));
        for (row, level) in columns.iter().zip(levels) {
            self.rows[*row].level = Some(level);
        }
        self.ratios(run, reference);
        let known = columns.iter().zip(logs).filter_map(|(row, log)| Some((*row, log?)));
        self.logs = known.collect();
        let withheld = self.withheld;
        for ((column, row), estimate) in columns.iter().enumerate().zip(estimates) {
            let row = &mut self.rows[*row];
            let Some(estimate) = estimate else { continue };
            row.ratio = Some(estimate.ratio);
            row.interval = Some(estimate.interval);
            row.detectable = Some(estimate.detectable);
            row.blocks = Some(generations);
            row.rounds = Some(rounds);
            if row.exploratory {
                continue;
            }
            if !is_primary {
                row.no_verdict = not_its_own(row, "this row").or_else(|| base.clone());
            }
            if group.controls.contains(&column) {
                continue;
            }
            row.verdict = row.no_verdict.is_none().then(|| match withheld {
                true => Verdict::TooNoisy,
                false => Verdict::of(estimate.verdict, &row.meter),
            });
        }
    }
}

/// Why there is no interval, with what to do in this run, of whose rounds here so many do not count.
fn no_interval(run: &Run, why: &statistics::NoInterval, missing: usize) -> String {
    let of_time = match why {
        statistics::NoInterval::Blocks { found } if missing > 0 => Some(format!(
            "An interval needs at least {} generations with rounds that count, and there {} {found}; {missing} {} not. \
             `--notes` says why; run it for longer, or when nothing else runs.",
            statistics::LEAST_BLOCKS,
            if *found == 1 { "is" } else { "are" },
            if missing == 1 { "round does" } else { "rounds do" },
        )),
        statistics::NoInterval::Blocks { found } => too_few(run, *found, statistics::LEAST_BLOCKS),
        _ => None,
    };
    of_time.unwrap_or_else(|| why.to_string())
}

/// Why the rate of `whose` row says nothing of the driver, as a full sentence: the server limited it, or may have.
fn not_its_own(row: &SummaryRow, whose: &str) -> Option<String> {
    match row.bottleneck {
        Some(Bottleneck::Worker | Bottleneck::Neither) => None,
        Some(Bottleneck::Server) => {
            Some(format!("No verdict on statements per second: the server limited {whose}, not the driver."))
        }
        None => Some(format!("No verdict on statements per second: it is not known what limited {whose}.")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sample;

    #[test]
    fn a_control_is_known_by_the_reference_s_id_and_a_mark() {
        let (run, _) = sample::run();
        let scylla = Contender { id: "scylla".to_owned(), ..run.contenders[0].clone() };
        assert!(is_control("scylla#control", true, &scylla) && is_control("scylla#2", true, &scylla));
        assert!(!is_control("scylla#control", false, &scylla) && !is_control("cdrs-tokio#control", true, &scylla));
        let second = Contender { id: "scylla#2".to_owned(), ..scylla };
        assert!(is_control("scylla#2#control", true, &second) && !is_control("scylla#2", true, &second));
    }

    #[test]
    fn between_versions_of_one_driver_1_percent_is_enough() {
        let (run, cells) = sample::blocks(12);
        let row = |id: &str, factor: f64| {
            let (mut run, mut cells) = (run.clone(), cells.clone());
            for one in run.contenders.iter_mut().filter(|one| one.id == "cdrs-tokio") {
                let adapter = if id.contains("@0.8") { "drivers/scylla/0.8" } else { "drivers/scylla" };
                let built = crate::BuiltOnDemand { adapter: adapter.to_owned(), ..Default::default() };
                (one.id, one.built) = (id.to_owned(), id.contains('@').then_some(built));
            }
            for cell in cells.iter_mut().filter(|cell| cell.contender == "cdrs-tokio") {
                cell.contender = id.to_owned();
                let cpu = cell.get(CPU_PER_STATEMENT).unwrap() * factor;
                cell.measures
                    .insert(CPU_PER_STATEMENT.to_owned(), crate::Measure::value(cpu, crate::Unit::Microseconds));
            }
            let is = |row: &&SummaryRow| row.contender == id && row.scenario == "writes" && row.is_primary();
            crate::Analysis::new(&run, &cells).rows.iter().find(is).unwrap().clone()
        };
        let low = row("cdrs-tokio", 1.0).interval.unwrap()[0];
        let (other, version) = (row("cdrs-tokio", 1.015 / low), row("scylla@1.8.0+tokio=1.44.2", 1.015 / low));
        assert_eq!(other.interval, version.interval);
        assert_eq!(
            row("scylla@0.8.2", 1.015 / low).verdict,
            Some(Verdict::Inconclusive),
            "it has an adapter of its own"
        );
        assert_eq!((other.verdict, version.verdict), (Some(Verdict::Inconclusive), Some(Verdict::Dearer)));
        assert!(version.detectable < other.detectable);
    }

    #[test]
    fn a_control_that_differs_withholds_every_verdict_and_leaves_the_intervals() {
        let (run, mut cells) = sample::blocks(12);
        for cell in cells.iter_mut().filter(|cell| cell.contender == "scylla#control") {
            let slower = cell.get(CPU_PER_STATEMENT).unwrap() * 1.05;
            cell.measures
                .insert(CPU_PER_STATEMENT.to_owned(), crate::Measure::value(slower, crate::Unit::Microseconds));
        }
        let analysis = crate::Analysis::new(&run, &cells);
        let (rows, warnings) = (&analysis.rows, &analysis.warnings);
        assert_eq!(warnings.len(), 1);
        assert!(
            warnings[0].starts_with("The control is scylla@1.9.0 once more and should cost the same"),
            "{warnings:?}"
        );
        assert!(rows.iter().all(|row| row.verdict.is_none()));
        assert!(rows.iter().any(|row| row.contender == "cdrs-tokio" && row.interval.is_some()));
    }

    #[test]
    fn a_driver_with_its_own_concurrency_has_figures_and_neither_ratio_nor_verdict() {
        let (mut run, cells) = sample::blocks(12);
        run.contenders.iter_mut().find(|one| one.id == "cdrs-tokio").unwrap().in_flight = Some(1);
        let analysis = crate::Analysis::new(&run, &cells);
        let row =
            analysis.rows.iter().find(|row| row.contender == "cdrs-tokio" && row.meter == CPU_PER_STATEMENT).unwrap();
        assert!(row.median.is_some() && row.level.is_some());
        assert_eq!((row.ratio, row.interval, row.verdict), (None, None, None));
        assert_eq!(
            row.no_interval.as_deref().unwrap(),
            "cdrs-tokio@9.0.2 has its own concurrency: 1 in flight, where the others have 1,024. So it has no ratio and no verdict."
        );
    }

    #[test]
    fn without_an_interval_of_the_control_a_place_has_no_verdicts_and_the_others_keep_theirs() {
        for (failed, void, why) in [
            (Some("It crashed."), None, "a cell of it failed"),
            (None, Some("A statement failed."), "a cell of it is void"),
        ] {
            let (run, mut cells) = sample::blocks(12);
            let mut of_control = cells.iter_mut().filter(|cell| cell.contender == "scylla#control");
            let spoilt = of_control.find(|cell| cell.scenario == "writes" && cell.block == 7).unwrap();
            (spoilt.failed, spoilt.void) = (failed.map(str::to_owned), void.map(str::to_owned));
            let analysis = crate::Analysis::new(&run, &cells);
            let (rows, warnings) = (&analysis.rows, &analysis.warnings);
            assert_eq!(
                *warnings,
                [format!(
                    "The control, scylla@1.9.0 once more, has no interval in writes on multi:2 ({why}). There is no verdict \
                     there, because nothing shows that only the drivers differed."
                )]
            );
            let of = |scenario: &str| {
                let is = |row: &&SummaryRow| row.contender == "cdrs-tokio" && row.meter == CPU_PER_STATEMENT;
                rows.iter().filter(is).find(|row| row.scenario == scenario).unwrap()
            };
            assert!(of("writes").interval.is_some());
            assert_eq!((of("writes").verdict, of("reads").verdict), (None, Some(Verdict::Dearer)));
            assert!(rows.iter().filter(|row| row.scenario == "writes").all(|row| row.verdict.is_none()));
        }
    }

    #[test]
    fn a_run_that_was_asked_for_without_a_control_has_verdicts_and_no_warning() {
        let (mut run, mut cells) = sample::blocks(12);
        run.contenders.retain(|contender| !contender.control);
        cells.retain(|cell| cell.contender != "scylla#control");
        let analysis = crate::Analysis::new(&run, &cells);
        let (rows, warnings) = (&analysis.rows, &analysis.warnings);
        assert!(warnings.is_empty(), "{warnings:?}");
        let is = |row: &&SummaryRow| row.contender == "cdrs-tokio" && row.meter == CPU_PER_STATEMENT;
        assert_eq!(rows.iter().find(is).unwrap().verdict, Some(Verdict::Dearer));
    }
}
