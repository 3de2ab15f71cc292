//! A run judged for a CI: whether a contender costs more than the reference, or more than it did.

use crate::against::against;
use crate::measure::CPU_PER_STATEMENT;
use crate::summary::Summary;
use crate::text::{escape, plain};
use crate::{Better, Contender, Pass, Recorded, Role, Run, SummaryRow, reference};

/// What is asked of a run.
#[derive(Clone, Debug, PartialEq)]
pub struct Check {
    /// The share by which a contender may cost more, for example 0.05.
    pub threshold: f64,
    /// The share of which the run must have been able to find a difference; `None` for no such demand.
    pub require_power: Option<f64>,
    /// The id of the contender that the others are judged against; `None` for the run's own reference.
    pub reference: Option<String>,
    /// The ids of the contenders that are judged; empty for all drivers but the reference.
    pub contenders: Vec<String>,
}

/// What came of one comparison.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Finding {
    /// The whole interval, or the figure, lies beyond the threshold.
    Worse,
    /// It does not cost more by the threshold: the whole interval lies below.
    Passed,
    /// The interval holds the threshold.
    Inconclusive,
    /// The run could not have found such a difference, and was asked to be able to.
    TooWeak,
    /// There is nothing to judge, for example because a cell failed.
    NotJudged,
}

impl Finding {
    /// Whether the check fails for it.
    pub fn fails(self) -> bool {
        matches!(self, Finding::Worse | Finding::TooWeak | Finding::NotJudged)
    }

    fn name(self) -> &'static str {
        match self {
            Finding::Worse => "worse",
            Finding::Passed => "passed",
            Finding::Inconclusive => "inconclusive",
            Finding::TooWeak => "too weak",
            Finding::NotJudged => "not judged",
        }
    }
}

/// One comparison with what came of it.
#[derive(Clone, Debug, PartialEq)]
pub struct Line {
    /// The contender's label.
    pub label: String,
    /// The scenario's name.
    pub scenario: String,
    /// The arrangement's id.
    pub arrangement: String,
    /// The measure.
    pub meter: String,
    /// What came of it.
    pub finding: Finding,
    /// A full sentence.
    pub sentence: String,
}

/// A run that was judged.
#[derive(Clone, Debug, PartialEq)]
pub struct Judgement {
    /// What was judged, in a sentence.
    pub about: String,
    /// One a comparison.
    pub lines: Vec<Line>,
    /// What makes the run doubtful, each a full sentence.
    pub warnings: Vec<String>,
}

/// A check that cannot be made.
#[derive(Debug, thiserror::Error)]
pub enum CheckError {
    /// There is nobody to compare with.
    #[error(
        "the run has no reference that could be asked, so there is nothing to check it against; run both contenders in one run"
    )]
    NoReference,
    /// There is nobody to judge.
    #[error(
        "the run has no driver but its reference {reference}; run both contenders in one run: `cqldyno compare {reference} OTHER`"
    )]
    Nobody {
        /// The reference's id.
        reference: String,
    },
    /// A contender that is not there.
    #[error("the contender {asked:?} was to be checked, and the run has {there}; name one of them")]
    Unknown {
        /// What was asked for.
        asked: String,
        /// Who there is.
        there: String,
    },
    /// The baseline is of another kind.
    #[error(
        "the run cannot be checked against that baseline: {what} was {was} then and is {is} now, and counts are only comparable where \
         everything but the driver is equal; make a new baseline here"
    )]
    OtherEnvironment {
        /// What differs.
        what: &'static str,
        /// In the baseline.
        was: String,
        /// In the run.
        is: String,
    },
    /// The baseline has nothing in common with the run.
    #[error(
        "the run and the baseline have no count in common (system calls, allocations, instructions) for the same contender, scenario \
         and arrangement; run both with the same --pass and the same contenders"
    )]
    NothingInCommon,
}

impl Judgement {
    /// Whether the check fails.
    pub fn fails(&self) -> bool {
        self.lines.iter().any(|line| line.finding.fails())
    }

    /// Judges contenders by the CPU time a statement, against the reference of the same run.
    ///
    /// # Errors
    /// When there is nobody to judge or to judge against.
    pub fn within(recorded: &Recorded, check: &Check) -> Result<Judgement, CheckError> {
        let Recorded { run, cells, .. } = recorded;
        let own = reference(run).ok_or(CheckError::NoReference)?;
        // What the run's own control takes away stays away, whoever the others are judged against.
        let (run, Summary { rows, warnings }) = against(run, cells, check.reference.as_ref().unwrap_or(&own.id));
        let (run, base) = (&run, reference(&run).ok_or(CheckError::NoReference)?);
        let judged = judged(run, base, check)?;
        let rows = rows.iter().filter(|row| row.meter == CPU_PER_STATEMENT && judged.contains(&row.contender.as_str()));
        let lines = rows.map(|row| by_interval(row, base, check)).collect();
        let about = format!(
            "CPU time a statement over that of {}, by the 95 % intervals of this run, which hold all at once; the threshold is {}.",
            plain(&base.label),
            percent(check.threshold),
        );
        Ok(Judgement { about, lines, warnings })
    }

    /// Judges contenders by what is counted, against an earlier run of theirs. Times are never compared across runs.
    ///
    /// # Errors
    /// When the runs were not made under the same conditions, or have nothing in common.
    pub fn against(recorded: &Recorded, baseline: &Recorded, check: &Check) -> Result<Judgement, CheckError> {
        same_conditions(&baseline.run, &recorded.run)?;
        let now = Summary::new(&recorded.run, &recorded.cells);
        let then = Summary::new(&baseline.run, &baseline.cells);
        let counts = |row: &&SummaryRow| is_a_count(&recorded.run, &row.meter) && !row.control;
        let asked = |row: &&SummaryRow| check.contenders.is_empty() || check.contenders.contains(&row.contender);
        let mut lines = Vec::new();
        for row in now.rows.iter().filter(counts).filter(asked) {
            let same = |old: &&SummaryRow| {
                (&old.contender, &old.scenario, &old.arrangement, &old.meter)
                    == (&row.contender, &row.scenario, &row.arrangement, &row.meter)
            };
            if let Some(old) = then.rows.iter().find(same).filter(|old| old.median.is_some()) {
                lines.push(by_count(row, old, check));
            }
        }
        if lines.is_empty() {
            return Err(CheckError::NothingInCommon);
        }
        let about = format!(
            "What is counted, a statement, over the baseline of {}; the threshold is {}. Times are not compared across runs.",
            baseline.run.started,
            percent(check.threshold)
        );
        Ok(Judgement { about, lines, warnings: now.warnings })
    }

    /// A short summary in GitHub's Markdown.
    pub fn markdown(&self) -> String {
        let failed = self.lines.iter().filter(|line| line.finding.fails()).count();
        let title = match (failed, self.lines.len()) {
            (0, 1) => "passed".to_owned(),
            (0, all) => format!("passed: {all} comparisons"),
            (some, all) => format!("failed: {some} of {all} comparisons"),
        };
        let mut out = format!("### cqldyno check {title}\n\n{}\n\n", escape(&self.about));
        for warning in &self.warnings {
            out.push_str(&format!("> **Warning.** {}\n\n", escape(&plain(warning))));
        }
        out.push_str(
            "| contender | scenario | arrangement | measure | finding | |\n| --- | --- | --- | --- | --- | --- |\n",
        );
        for line in &self.lines {
            let finding = line.finding.name();
            let finding = if line.finding.fails() { format!("**{finding}**") } else { finding.to_owned() };
            let fields = [&line.label, &line.scenario, &line.arrangement, &line.meter.replace('_', " ")];
            let fields = fields.map(|field| escape(&plain(field))).join(" | ");
            out.push_str(&format!("| {fields} | {finding} | {} |\n", escape(&line.sentence)));
        }
        out
    }
}

fn judged<'a>(run: &'a Run, base: &Contender, check: &Check) -> Result<Vec<&'a str>, CheckError> {
    let candidates: Vec<&Contender> =
        run.contenders.iter().filter(|one| one.role == Role::Driver && !one.control && one.id != base.id).collect();
    if check.contenders.is_empty() {
        // One that could not be asked is only missed by who named it.
        let there: Vec<&str> =
            candidates.into_iter().filter(|one| one.unavailable.is_none()).map(|one| one.id.as_str()).collect();
        return match there.is_empty() {
            true => Err(CheckError::Nobody { reference: base.id.clone() }),
            false => Ok(there),
        };
    }
    let find = |asked: &String| {
        let found = candidates.iter().find(|one| one.id == *asked || one.label == *asked);
        found.map(|one| one.id.as_str()).ok_or_else(|| CheckError::Unknown {
            asked: asked.clone(),
            there: candidates.iter().map(|one| plain(&one.id)).collect::<Vec<_>>().join(", "),
        })
    };
    check.contenders.iter().map(find).collect()
}

fn by_interval(row: &SummaryRow, base: &Contender, check: &Check) -> Line {
    let over = percent(check.threshold);
    let (finding, sentence) = match (row.ratio, row.interval, row.detectable) {
        (Some(ratio), Some([low, high]), Some(detectable)) => {
            let figure = format!("{ratio:.3} times that of {} ({low:.3} to {high:.3})", plain(&base.label));
            let found = format!("the smallest difference that this run could have found is {}", percent(detectable));
            // The comparison says in a warning why it gives no verdict.
            if row.verdict.is_none() {
                let finding = if check.require_power.is_some() { Finding::TooWeak } else { Finding::Inconclusive };
                (finding, format!("It costs {figure}, and the run gives no verdict on it: see the warning."))
            } else if low > 1.0 + check.threshold {
                (Finding::Worse, format!("It costs {figure}: all of the interval lies more than {over} above."))
            } else if check.require_power.is_some_and(|asked| detectable > asked) {
                let asked = percent(check.require_power.unwrap_or_default());
                (Finding::TooWeak, format!("It costs {figure}; {found}, and {asked} was required: run more blocks."))
            } else if high <= 1.0 + check.threshold {
                (Finding::Passed, format!("It costs {figure}: no more than {over} above; {found}."))
            } else {
                (Finding::Inconclusive, format!("It costs {figure}, which may be {over} above or not; {found}."))
            }
        }
        _ => {
            let why = [&row.void, &row.failed, &row.unavailable, &row.no_interval];
            let why = why.into_iter().flatten().next();
            (Finding::NotJudged, why.map_or("There is no interval.".to_owned(), |why| plain(why)))
        }
    };
    line(row, finding, sentence)
}

fn by_count(row: &SummaryRow, old: &SummaryRow, check: &Check) -> Line {
    let (finding, sentence) = match (row.median.filter(|_| row.void.is_none()), old.median) {
        (Some(now), Some(then)) => {
            let figure = format!("{} now, {} then", figure(now), figure(then));
            // A count of none may become some by less than anybody counts.
            let finding = if now > then * (1.0 + check.threshold) + 1e-9 { Finding::Worse } else { Finding::Passed };
            let verdict = if finding == Finding::Worse { "more than" } else { "no more than" };
            (finding, format!("{figure}: {verdict} {} above.", percent(check.threshold)))
        }
        _ => {
            let why = [&row.void, &row.failed, &row.unavailable].into_iter().flatten().next();
            (Finding::NotJudged, why.map_or("There is no figure.".to_owned(), |why| plain(why)))
        }
    };
    line(row, finding, sentence)
}

fn line(row: &SummaryRow, finding: Finding, sentence: String) -> Line {
    Line {
        label: row.label.clone(),
        scenario: row.scenario.clone(),
        arrangement: row.arrangement.clone(),
        meter: row.meter.clone(),
        finding,
        sentence,
    }
}

/// Counts of passes in which nothing depends on how fast the machine is.
fn is_a_count(run: &Run, meter: &str) -> bool {
    const COUNTED: [Pass; 4] = [Pass::Counting, Pass::Syscalls, Pass::Allocations, Pass::Instructions];
    run.measure(meter).is_some_and(|known| {
        known.better == Better::Lower && COUNTED.contains(&known.pass) && known.id.ends_with("_per_statement")
    })
}

/// What must be equal for counts of two runs to be comparable, by name; beside the list of scenarios.
pub(crate) fn conditions(run: &Run) -> Vec<(&'static str, String)> {
    let plan = &run.plan;
    let asked = format!(
        "{} in flight, {} connections, {} settings, pages of {}",
        plan.concurrency, plan.connections, plan.settings, plan.page_size
    );
    vec![
        ("the processor", run.environment.cpu.clone()),
        ("the number of cores", run.environment.cores.to_string()),
        ("the kernel", run.environment.kernel.clone()),
        ("the profile", run.environment.profile.clone()),
        ("the target", plan.target.about.clone()),
        ("what was asked", asked),
    ]
}

fn same_conditions(then: &Run, now: &Run) -> Result<(), CheckError> {
    let scenarios = |run: &Run| {
        let hashes = run.scenarios.iter().map(|one| format!("{} {}", one.name, one.hash.get(..12).unwrap_or_default()));
        hashes.collect::<Vec<_>>().join(", ")
    };
    let all = |run: &Run| {
        let mut all = conditions(run);
        all.push(("the list of scenarios", scenarios(run)));
        all
    };
    match all(then).into_iter().zip(all(now)).find(|((_, was), (_, is))| was != is) {
        None => Ok(()),
        Some(((what, was), (_, is))) => Err(CheckError::OtherEnvironment { what, was: plain(&was), is: plain(&is) }),
    }
}

fn percent(share: f64) -> String {
    let text = format!("{:.1}", share * 100.0);
    format!("{} %", text.strip_suffix(".0").unwrap_or(&text))
}

fn figure(value: f64) -> String {
    crate::three_digits(value)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Measure, Unit, measure::SYSCALLS_PER_STATEMENT, sample};

    fn asked() -> Check {
        Check { threshold: 0.05, require_power: None, reference: None, contenders: Vec::new() }
    }

    fn recorded() -> Recorded {
        let (run, cells) = sample::blocks(12);
        Recorded { run, cells, notes: Vec::new() }
    }

    /// The sample in which cdrs-tokio costs so many times what scylla costs.
    fn with_ratio(ratio: f64) -> Recorded {
        let mut found = recorded();
        let base: std::collections::BTreeMap<_, _> = found
            .cells
            .iter()
            .filter(|cell| cell.contender == "scylla" && cell.pass == Pass::Timing)
            .map(|cell| ((cell.scenario.clone(), cell.block), cell.get(CPU_PER_STATEMENT).unwrap()))
            .collect();
        for cell in found.cells.iter_mut().filter(|cell| cell.contender == "cdrs-tokio" && cell.pass == Pass::Timing) {
            let wobble = 1.0 + 0.001 * f64::from(cell.block % 5);
            let value = base[&(cell.scenario.clone(), cell.block)] * ratio * wobble;
            cell.measures.insert(CPU_PER_STATEMENT.to_owned(), Measure::value(value, Unit::Microseconds));
        }
        found
    }

    fn findings(recorded: &Recorded, check: &Check) -> Vec<Finding> {
        Judgement::within(recorded, check).unwrap().lines.iter().map(|line| line.finding).collect()
    }

    #[test]
    fn a_contender_whose_interval_lies_beyond_the_threshold_fails_and_one_below_it_passes() {
        let asked = Check { contenders: vec!["cdrs-tokio".to_owned()], ..asked() };
        assert_eq!(findings(&with_ratio(1.5), &asked), [Finding::Worse, Finding::Worse]);
        assert_eq!(findings(&with_ratio(0.9), &asked), [Finding::Passed, Finding::Passed]);
        let judgement = Judgement::within(&with_ratio(1.5), &asked).unwrap();
        assert!(
            judgement.fails() && judgement.lines[0].sentence.contains("all of the interval lies more than 5 % above")
        );
        assert!(judgement.markdown().starts_with("### cqldyno check failed: 2 of 2 comparisons"));
    }

    #[test]
    fn what_is_inconclusive_passes_with_the_smallest_difference_unless_power_is_required() {
        let asked = Check { contenders: vec!["cdrs-tokio".to_owned()], ..asked() };
        let near = with_ratio(1.05);
        let judgement = Judgement::within(&near, &asked).unwrap();
        assert!(judgement.lines.iter().all(|line| line.finding == Finding::Inconclusive), "{judgement:?}");
        assert!(judgement.lines[0].sentence.contains("the smallest difference that this run could have found is"));
        assert!(!judgement.fails());
        let strict = Check { require_power: Some(0.000_1), ..asked };
        assert_eq!(findings(&near, &strict), [Finding::TooWeak, Finding::TooWeak]);
        assert!(Judgement::within(&near, &strict).unwrap().fails());
    }

    #[test]
    fn what_cannot_be_judged_fails_with_the_reason() {
        let mut found = recorded();
        let mut cells =
            found.cells.iter_mut().filter(|cell| cell.contender == "cdrs-tokio" && cell.pass == Pass::Timing);
        cells.next().unwrap().void = Some("A row was wrong.".to_owned());
        let judgement = Judgement::within(&found, &asked()).unwrap();
        let line = judgement.lines.iter().find(|line| line.finding == Finding::NotJudged).unwrap();
        assert_eq!(line.sentence, "A row was wrong.");
        assert!(judgement.fails());
    }

    #[test]
    fn a_run_whose_control_differs_is_not_believed() {
        let mut found = with_ratio(1.5);
        for cell in found.cells.iter_mut().filter(|cell| cell.contender == "scylla#control") {
            if let Some(value) = cell.get(CPU_PER_STATEMENT) {
                cell.measures.insert(CPU_PER_STATEMENT.to_owned(), Measure::value(value * 1.1, Unit::Microseconds));
            }
        }
        let judgement = Judgement::within(&found, &asked()).unwrap();
        assert!(judgement.warnings.len() == 1 && !judgement.fails(), "{judgement:?}");
        assert!(Judgement::within(&found, &Check { require_power: Some(0.5), ..asked() }).unwrap().fails());
        let other = Check { reference: Some("cdrs-tokio".to_owned()), ..asked() };
        let judgement = Judgement::within(&found, &other).unwrap();
        assert!(!judgement.warnings.is_empty() && !judgement.fails(), "also against another reference: {judgement:?}");
    }

    #[test]
    fn nobody_to_judge_is_said_with_what_to_do() {
        let mut found = recorded();
        let error = Judgement::within(&found, &Check { contenders: vec!["gocql".to_owned()], ..asked() }).unwrap_err();
        assert!(
            error.to_string().starts_with("the contender \"gocql\" was to be checked, and the run has cdrs-tokio"),
            "{error}"
        );
        found.run.contenders.retain(|one| one.id == "scylla");
        let error = Judgement::within(&found, &asked()).unwrap_err().to_string();
        assert!(error.ends_with("run both contenders in one run: `cqldyno compare scylla OTHER`"), "{error}");
    }

    #[test]
    fn counts_are_judged_against_a_baseline_of_the_same_conditions_only() {
        let then = recorded();
        let mut now = recorded();
        assert!(!Judgement::against(&now, &then, &asked()).unwrap().fails());
        for cell in now.cells.iter_mut().filter(|cell| cell.contender == "scylla" && cell.pass == Pass::Counting) {
            let value = cell.get(SYSCALLS_PER_STATEMENT).unwrap() * 1.2;
            cell.measures.insert(SYSCALLS_PER_STATEMENT.to_owned(), Measure::value(value, Unit::Count));
        }
        let judgement = Judgement::against(&now, &then, &asked()).unwrap();
        let worse: Vec<&Line> = judgement.lines.iter().filter(|line| line.finding == Finding::Worse).collect();
        assert!(!worse.is_empty() && worse.iter().all(|line| line.label == "scylla@1.9.0"), "{judgement:?}");
        now.run.environment.kernel = "Linux 9".to_owned();
        let error = Judgement::against(&now, &then, &asked()).unwrap_err().to_string();
        assert!(error.contains("the kernel was Linux 6.18.0 then and is Linux 9 now"), "{error}");
    }

    #[test]
    fn names_from_outside_cannot_leave_their_field_of_the_table() {
        let mut found = with_ratio(1.5);
        for row in &mut found.run.contenders {
            row.label = row.label.replace("cdrs-tokio", "a|b<script>\n");
        }
        let text = Judgement::within(&found, &asked()).unwrap().markdown();
        assert!(text.contains("a\\|b&lt;script&gt;") && !text.contains("<script>"), "{text}");
    }
}
