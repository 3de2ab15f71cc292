//! Several runs of one plan, taken together: whether a ratio holds on another day, or on another machine.
//!
//! Ratios are taken within each run. What a run adds to them is a third level of chance, beside rounds and generations.

mod plans;
#[cfg(test)]
mod tests;

use cqldyno_statistics::{self as statistics, Comparison, Estimate, LogRatio, Repeated, student_quantile};
use serde::{Deserialize, Serialize};

use crate::band::{self, BAND, adapter};
use crate::bottleneck::Bottleneck;
use crate::comparison::{JUDGED, MeterTable, is_control, withhold};
use crate::measure::{CPU_PER_STATEMENT, SERVER_CPU_PER_STATEMENT, THROUGHPUT};
use crate::row::{Place, comparable};
use crate::text::count;
use crate::{Analysis, Better, Contender, SummaryRow, Verdict, cross_check, findings, further, plain};

/// The meters that are combined; the primary one first.
const METERS: [&str; 3] = [CPU_PER_STATEMENT, THROUGHPUT, SERVER_CPU_PER_STATEMENT];

/// How many of the differences between two runs are to lie within their interval, if runs add nothing.
const NINE_OF_TEN: f64 = 0.9;

/// One contender in one scenario and arrangement, in all runs together.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct CombinedRow {
    /// As in one run, with geometric means of the runs; intervals include what differs between runs.
    #[serde(flatten)]
    pub row: SummaryRow,
    /// In how many of the runs the verdict was the same; absent without a verdict.
    pub held: Option<usize>,
    /// Each run by itself, in their order.
    pub runs: Vec<InRun>,
}

/// A row of [`CombinedRow`] in one run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct InRun {
    /// The level, as in one run.
    pub level: Option<f64>,
    /// The level over the reference's.
    pub ratio: Option<f64>,
    /// Where the ratio lies with 95 % confidence.
    pub interval: Option<[f64; 2]>,
    /// What the run's own interval says.
    pub verdict: Option<Verdict>,
}

/// Differences between two runs that lie within the 90 % interval of that difference.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Agreement {
    /// How many do. Nine of ten should.
    pub within: usize,
    /// How many differences there are: one per pair of runs and comparison of CPU time.
    pub of: usize,
}

/// What several runs of one plan come to.
pub struct Combined<'a> {
    /// All runs as if they were one: the rows, findings and warnings are of all, run and cells those of the first.
    pub analysis: Analysis<'a>,
    /// One row per meter, scenario, arrangement and contender.
    pub rows: Vec<CombinedRow>,
    /// How many runs there are.
    pub runs: usize,
    /// What a run adds to a ratio of CPU time beyond the noise within it: a standard deviation, as a share.
    pub spread: f64,
    /// How many differences between two runs lie within their interval.
    pub agreement: Agreement,
    /// How the table is to be read, and what else holds for all runs: full sentences.
    pub remarks: Vec<String>,
    /// How much longer it would take to show a difference where the runs together are inconclusive, as a sentence.
    pub further: Option<String>,
}

impl<'a> Combined<'a> {
    /// Of runs with their names.
    ///
    /// # Errors
    /// Why there is no combined table, as full sentences: the plans differ, two are one run, or one has no interval.
    pub fn of(named: &[(String, Analysis<'a>)]) -> Result<Combined<'a>, String> {
        let refused = |why: String| format!("There is no combined table, because {why}");
        let [(_, first), _, ..] = named else {
            return Err(refused("it takes two runs of one plan; name another run.".to_owned()));
        };
        plans::same(named).map_err(refused)?;
        let reference = first.reference.ok_or_else(|| refused("no driver took part; run it with two.".to_owned()))?;
        let has_interval = |row: &SummaryRow| row.is_primary() && !row.control && row.interval.is_some();
        if let Some((name, one)) = named.iter().find(|(_, one)| !one.rows.iter().any(has_interval)) {
            let why = one.rows.iter().find_map(|row| row.no_interval.as_deref());
            let why = why.unwrap_or("No two drivers have figures that can be compared.");
            return Err(refused(format!("{} has no interval of CPU time. {}", plain(name), plain(why))));
        }
        let mut tables = Vec::new();
        let mut spread = None;
        for meter in METERS {
            let (of_meter, found) = tables_of(named, reference, meter);
            spread = spread.or(found);
            tables.extend(of_meter);
        }
        let doubts = withhold(first.run, reference, &mut tables);
        let of_row = |one: &MeterTable| (0..one.rows.len()).map(|row| one.logs.get(&row).copied()).collect::<Vec<_>>();
        let logs = tables.iter().flat_map(of_row).collect();
        let mut rows: Vec<SummaryRow> = tables.into_iter().flat_map(|table| table.rows).collect();
        rows.iter_mut().for_each(|row| contradict(row, named));
        let warned = named
            .iter()
            .flat_map(|(name, one)| one.warnings.iter().map(move |warning| format!("{}: {warning}", plain(name))));
        let warnings = doubts.iter().cloned().chain(warned).collect();
        let has_verdict = rows.iter().any(|row| row.is_primary() && row.verdict.is_some_and(Verdict::holds));
        let combined = rows.iter().map(|row| CombinedRow::of(row, named)).collect();
        let agreement = agreement(&rows, named);
        let mut analysis = Analysis { rows, logs, doubts, warnings, repeats: None, until: None, ..first.clone() };
        analysis.findings = match has_verdict {
            true => findings::findings(&analysis, None),
            false => vec!["These runs together give no verdict.".to_owned()],
        };
        let time = named.iter().map(|(_, one)| further::time_of(one.every_cell)).sum();
        let mut all = Combined {
            further: further::further(&analysis, time, " in further runs"),
            analysis,
            runs: named.len(),
            spread: spread.unwrap_or_default(),
            agreement,
            rows: combined,
            remarks: Vec::new(),
        };
        all.remarks = all.sentences().into_iter().chain(plans::other_builds(named)).collect();
        Ok(all)
    }

    /// The places of the runs of each plan, in their order: those that come to a combined table with the first of them.
    pub fn plans(named: &[(String, Analysis<'a>)]) -> Vec<Vec<usize>> {
        let mut plans: Vec<Vec<usize>> = Vec::new();
        for (at, one) in named.iter().enumerate() {
            let joins = |plan: &&mut Vec<usize>| Combined::of(&[named[plan[0]].clone(), one.clone()]).is_ok();
            match plans.iter_mut().find(joins) {
                Some(plan) => plan.push(at),
                None => plans.push(vec![at]),
            }
        }
        plans
    }

    /// In how many runs the verdict by that meter was the same, for example `3 of 3`; `None` without a verdict.
    pub fn held(&self, place: Place, contender: &Contender, meter: &str) -> Option<String> {
        let found = self.rows.iter().find(|one| one.row.meter == meter && one.row.is_of(place, contender))?;
        Some(format!("{} of {}", found.held?, self.runs))
    }

    /// The same of a verdict that some run did not give; where all together are inconclusive, what the runs say that found a difference, for
    /// example `dearer in 2 of 3`.
    pub fn held_in_some(&self, place: Place, contender: &Contender, meter: &str) -> Option<String> {
        let found = self.rows.iter().find(|one| one.row.meter == meter && one.row.is_of(place, contender))?;
        let held = found.held.filter(|held| *held < self.runs)?;
        let verdicts = || found.runs.iter().filter_map(|one| one.verdict);
        let of = |verdict: Verdict| verdicts().filter(|one| *one == verdict).count();
        let other = verdicts().find(|one| one.differs()).filter(|_| found.row.verdict == Some(Verdict::Inconclusive));
        let is_alone = |other: &Verdict| verdicts().all(|one| one == *other || !one.differs());
        Some(match other.filter(is_alone) {
            Some(other) => format!("{} in {} of {}", other.name(), of(other), self.runs),
            None => format!("{held} of {}", self.runs),
        })
    }

    fn sentences(&self) -> Vec<String> {
        let mut said = vec![format!(
            "Figures and ratios are geometric means of {}. Intervals include the spread between runs: a standard deviation of {:.1} % \
             beyond the noise within a run.",
            count(self.runs as u64, "run"),
            100.0 * self.spread,
        )];
        for (meter, of_what) in JUDGED.into_iter().zip(["CPU time", "statements per second"]) {
            let is_verdict = |one: &&CombinedRow| one.row.meter == meter && one.row.verdict.is_some_and(Verdict::holds);
            let verdicts: Vec<usize> = self.rows.iter().filter(is_verdict).filter_map(|row| row.held).collect();
            let held = verdicts.iter().filter(|held| **held == self.runs).count();
            if !verdicts.is_empty() {
                let all = count(verdicts.len() as u64, "verdict");
                said.push(format!("{held} of {all} on {of_what} held in all runs."));
            }
        }
        let Agreement { within, of } = self.agreement;
        said.push(format!(
            "{within} of {of} differences between two runs lie within their 90 % intervals; nine of ten should."
        ));
        if self.runs == 2 {
            said.push("Two runs tell little of what changes between runs; a third narrows the intervals.".to_owned());
        }
        said
    }
}

/// The combined rows of one meter, a table per place, and what a run adds to a ratio.
fn tables_of(named: &[(String, Analysis)], reference: &Contender, meter: &str) -> (Vec<MeterTable>, Option<f64>) {
    let first = &named[0].1;
    let run = first.run;
    let places: Vec<Place> = first.places().collect();
    let is_primary = meter == CPU_PER_STATEMENT;
    let mut tables: Vec<MeterTable> = Vec::new();
    let mut comparisons: Vec<Repeated> = Vec::new();
    for (p, place) in places.iter().enumerate() {
        let mut table = MeterTable::default();
        for (c, contender) in run.contenders.iter().enumerate() {
            let Some(own) = first.row(*place, contender, meter) else { continue };
            let each =
                named.iter().filter_map(|(_, one)| one.rows.iter().zip(&one.logs).find(|(row, _)| row.is_as(own)));
            let (rows, logs): (Vec<&SummaryRow>, Vec<&Option<LogRatio>>) = each.unzip();
            let logs: Vec<LogRatio> = logs.into_iter().copied().flatten().collect();
            if logs.len() == named.len() {
                comparisons.push(Repeated {
                    place: p,
                    contender: c,
                    is_control: is_control(&contender.id, contender.control, reference),
                    is_sibling: is_primary && adapter(contender) == adapter(reference),
                    band: Some(band::between(run, &place.arrangement.id, contender, reference)),
                    runs: logs,
                });
            }
            table.rows.push(together(own, &rows, named));
        }
        tables.push(table);
    }
    let better = run.measure(meter).map_or(Better::Lower, |known| known.better);
    let how = Comparison {
        band: BAND,
        lower_is_better: better == Better::Lower,
        simultaneous: JUDGED.contains(&meter),
        ..Comparison::default()
    };
    let Some(found) = statistics::combine(&comparisons, &how) else { return (tables, None) };
    for ((comparison, estimate), log) in comparisons.iter().zip(&found.estimates).zip(&found.logs) {
        let contender = &run.contenders[comparison.contender];
        let MeterTable { rows, logs, .. } = &mut tables[comparison.place];
        let base = rows.iter().find(|row| row.contender == reference.id).and_then(|row| row.level);
        let Some(at) = rows.iter().position(|row| row.contender == contender.id) else { continue };
        let row = &mut rows[at];
        let in_run = |(_, one): &(String, Analysis)| one.rows.iter().find(|other| other.is_as(row))?.verdict;
        let verdicts: Vec<Verdict> = named.iter().filter_map(in_run).collect();
        let noisy = verdicts.iter().filter(|verdict| !verdict.holds()).count();
        // A rate has a verdict only where it had one in every run: elsewhere the server may have limited it.
        let is_judged = !comparison.is_control
            && named.iter().all(|(_, one)| one.run.is_complete())
            && (is_primary || (meter == THROUGHPUT && verdicts.len() == named.len()));
        logs.insert(at, *log);
        let Estimate { ratio, interval, verdict, detectable } = *estimate;
        if !comparison.is_control {
            row.level = base.map(|base| base * ratio);
        }
        (row.ratio, row.interval, row.detectable) = (Some(ratio), Some(interval), Some(detectable));
        if meter == THROUGHPUT && !is_judged && !comparison.is_control {
            let said = || match verdicts.len() {
                0 => "No run has a verdict on it.".to_owned(),
                some => format!("{some} of {} runs had a verdict on it, and all must have one.", named.len()),
            };
            row.no_verdict.get_or_insert_with(said);
        }
        row.verdict = is_judged.then(|| match 2 * noisy >= named.len() {
            true => Verdict::TooNoisy,
            false => Verdict::of(verdict, meter),
        });
    }
    (tables, Some(found.spread))
}

/// The row of all runs before the comparison, from that of the first and those of all.
fn together(own: &SummaryRow, rows: &[&SummaryRow], named: &[(String, Analysis)]) -> SummaryRow {
    let why = |row: &SummaryRow| match row {
        SummaryRow { void: Some(why), .. } => Some(("is void", why.clone())),
        SummaryRow { failed: Some(why), .. } => Some(("failed", why.clone())),
        SummaryRow { unavailable: Some(why), .. } => Some(("has no figure", why.clone())),
        _ => None,
    };
    let said = rows.iter().zip(named).find_map(|(row, (name, _))| {
        let (what, why) = why(row)?;
        Some(format!("It {what} in {}: {why}", plain(name)))
    });
    let mean = |of: fn(&SummaryRow) -> Option<f64>| {
        let known: Vec<f64> = rows.iter().filter_map(|row| of(row)).filter(|value| *value > 0.0).collect();
        let mean = known.iter().map(|value| value.ln()).sum::<f64>() / known.len() as f64;
        (known.len() == named.len()).then(|| mean.exp())
    };
    let level = mean(|row| row.level.filter(|_| comparable(row)));
    let is_server_bound = rows.iter().any(|row| row.bottleneck == Some(Bottleneck::Server));
    SummaryRow {
        median: level,
        level,
        ratio: mean(|row| row.ratio).filter(|_| level.is_some()),
        interval: None,
        verdict: None,
        detectable: None,
        blocks: rows.iter().map(|row| row.blocks).sum(),
        rounds: rows.iter().map(|row| row.rounds).sum(),
        contradicted: None,
        doubtful: false,
        no_verdict: rows.iter().find_map(|row| row.no_verdict.clone()),
        no_interval: rows.iter().find_map(|row| row.no_interval.clone()),
        bottleneck: if is_server_bound { Some(Bottleneck::Server) } else { own.bottleneck },
        void: rows.iter().find_map(|row| row.void.clone()),
        failed: rows.iter().find_map(|row| row.failed.clone()),
        n: rows.iter().map(|row| row.n).sum(),
        unavailable: said,
        ..own.clone()
    }
}

/// Says which count contradicts the verdict of all runs, by the counts of the first run that has such a one.
fn contradict(row: &mut SummaryRow, named: &[(String, Analysis)]) {
    let in_run = |(_, one): &(String, Analysis)| {
        let own = one.rows.iter().find(|own| own.is_as(row))?;
        let judged = SummaryRow { verdict: row.verdict, ..own.clone() };
        cross_check::contradiction(&one.rows, &judged, one.reference.map(|base| base.id.as_str()))
    };
    if let Some((why, doubtful)) = named.iter().find_map(in_run) {
        (row.contradicted, row.doubtful) = (Some(why), doubtful);
    }
}

impl CombinedRow {
    fn of(row: &SummaryRow, named: &[(String, Analysis)]) -> CombinedRow {
        let in_run = |(_, one): &(String, Analysis)| {
            let found = one.rows.iter().find(|one| one.is_as(row)).cloned();
            let SummaryRow { level, ratio, interval, verdict, .. } = found.unwrap_or_default();
            InRun { level, ratio, interval, verdict }
        };
        let runs: Vec<InRun> = named.iter().map(in_run).collect();
        let held = row.verdict.map(|verdict| runs.iter().filter(|one| one.verdict == Some(verdict)).count());
        CombinedRow { row: row.clone(), held, runs }
    }
}

/// Of every comparison of CPU time but a control's, each pair of runs. The interval of a difference comes from the runs' own errors, and
/// holds by itself with 90 %.
fn agreement(rows: &[SummaryRow], named: &[(String, Analysis)]) -> Agreement {
    let mut found = Agreement::default();
    for row in rows.iter().filter(|row| row.is_primary() && !row.control) {
        let log = |(_, run): &(String, Analysis)| run.log_ratios().find(|(one, _)| one.is_as(row)).map(|(_, log)| *log);
        let known: Vec<LogRatio> = named.iter().filter_map(log).collect();
        for (at, one) in known.iter().enumerate() {
            for other in &known[at + 1..] {
                let error = (one.variance + other.variance).sqrt();
                let most = student_quantile(1.0 - NINE_OF_TEN, one.freedom + other.freedom) * error;
                found.of += 1;
                found.within += usize::from((one.value - other.value).abs() <= most + 1e-9);
            }
        }
    }
    found
}
