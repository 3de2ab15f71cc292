//! What a README shows of published runs.

use super::{
    PublishedRun, asked, code, cost, drivers, find, findings, folder_name, is_of_a_plan, labels, over, picture, row_of,
    same, server, verdict, warnings,
};
use crate::export::chart::cost_chart;
use crate::export::markdown::table_of;
use crate::export::quantity::{rate, three_digits};
use crate::export::text::{capital, escape, grouped, list, plain};
use crate::measure::{CPU_PER_STATEMENT, SERVER_CPU_PER_STATEMENT, THROUGHPUT};
use crate::{Analysis, Bottleneck, Combined, Place, Run, SummaryRow, Verdict, short, whose};

/// A run of the front's drivers on another server.
struct Other<'a> {
    /// Where it is published, from the repository's root.
    folder: String,
    analysis: Analysis<'a>,
}

/// What a date is shown by: its run of most blocks, or all runs of that plan together.
pub struct Front<'a> {
    analysis: Analysis<'a>,
    others: Vec<Other<'a>>,
    runs: Vec<&'a Run>,
    combined: Option<Combined<'a>>,
}

impl<'a> Front<'a> {
    /// `None` without a run that compares all drivers.
    pub fn of(shown: &'a [PublishedRun]) -> Option<Front<'a>> {
        let compares_drivers =
            |one: &&PublishedRun| one.recorded.run.plan.releases.is_empty() && is_of_a_plan(&one.name);
        let most = shown.iter().filter(compares_drivers).max_by_key(|one| one.recorded.run.plan.blocks)?;
        let plan = shown.iter().filter(|one| one.plan() == most.plan());
        let named: Vec<(String, Analysis)> = plan.map(|one| (one.name.clone(), one.analysis())).collect();
        let combined = Combined::of(&named).ok();
        let (analysis, runs) = match &combined {
            Some(all) => (all.analysis().clone(), named.iter().map(|(_, one)| one.run()).collect()),
            None => (most.analysis(), vec![&most.recorded.run]),
        };
        Some(Front { analysis, others: Vec::new(), runs, combined })
    }

    /// With the newest of the runs `published`, the oldest first, on every other server: those that have intervals, and the same drivers
    /// against the same reference.
    pub fn beside(mut self, published: impl DoubleEndedIterator<Item = &'a PublishedRun>) -> Front<'a> {
        for one in published.rev() {
            let run = &one.recorded.run;
            let mut known = std::iter::once(&self.analysis).chain(self.others.iter().map(|other| &other.analysis));
            let is_known = known.any(|known| known.run().plan.target.id == run.plan.target.id);
            if is_known || run.plan.blocks < 2 || labels(run) != labels(self.analysis.run()) {
                continue;
            }
            let analysis = one.analysis();
            if !self.analysis.carried(&analysis).is_empty() {
                let day = one.folder.parent().map(folder_name).unwrap_or_default();
                self.others.push(Other { folder: format!("reports/published/{day}/{}", one.name), analysis });
            }
        }
        self
    }

    /// The picture of CPU time per statement.
    pub fn chart(&self) -> String {
        cost_chart(&self.analysis, self.runs.len())
    }

    /// The section of the repository's README.
    pub fn section(&self, date: &str) -> String {
        let folder = format!("reports/published/{date}");
        let analysis = &self.analysis;
        let labels: Vec<String> = labels(analysis.run()).into_iter().map(|one| escape(&plain(one))).collect();
        format!(
            "{}{}{}{}\n{}\n\nCPU us is CPU time per statement, and server us is the server's: less is better. *Cheaper* and *dearer* are verdicts on CPU time, *faster* \
             and *slower* on statements per second ([how they are read](harness/METHOD.md#what-does-a-verdict-mean)). Their whole interval lies beyond the band: {}. cassandra-cpp has an I/O thread of its own on both arrangements.{}\n\n\
             {}. {} [Raw data, all columns and a page with charts]({folder}).",
            picture(&format!("{folder}/chart.svg")),
            warnings(analysis),
            self.headline(),
            self.findings(),
            self.table().trim_end(),
            escape(&analysis.bands()),
            self.combined.as_ref().map_or(String::new(), |one| format!("\n\n{}", of_all(one, "", false))),
            labels.join(", "),
            asked(&self.runs, date),
        )
    }

    /// The part of a date's README on all runs of the plan.
    pub(super) fn together(&self, date: &str) -> Option<String> {
        let combined = self.combined.as_ref()?;
        Some(format!(
            "## All runs together\n\n{}\n\n{}{}\n{}\n{}\n\n",
            asked(&self.runs, date),
            warnings(&self.analysis),
            findings(&self.analysis),
            self.table(),
            of_all(combined, "../../../", true),
        ))
    }

    /// Which driver to choose where, in bold, and what that is worth.
    fn headline(&self) -> String {
        let (said, first) = self.choices();
        if said.is_empty() {
            return String::new();
        }
        let worth = first.and_then(|place| self.analysis.worth(place)).into_iter().chain(whose(self.analysis.run()));
        let more = worth.map(|one| escape(&one)).collect::<Vec<_>>().join(" ");
        format!("**{}**\n\n{more}{}", said.join(" "), if more.is_empty() { "" } else { "\n\n" })
    }

    /// What was found on each server.
    fn findings(&self) -> String {
        let found = findings(&self.analysis);
        if self.others.is_empty() {
            return found;
        }
        let other = |other: &Other| {
            let run = other.analysis.run();
            let on: Vec<String> = run.plan.arrangements.iter().map(|one| code(&one.id)).collect();
            let said = other.analysis.findings().first().map_or_else(String::new, |one| escape(one));
            format!("- [On {}]({}), {}: {said}\n", server(run), other.folder, list(&on))
        };
        let others: String = self.others.iter().map(other).collect();
        format!("On {}:\n\n{found}{others}", server(self.analysis.run()))
    }

    /// Whether the driver needed the least CPU time alone on every server that was asked, and no instructions contradict that.
    fn is_chosen(&self, place: Place, label: &str) -> bool {
        let agrees = |other: &Other| {
            same(&other.analysis, place).is_none_or(|there| winner(&other.analysis, there) == Some(label))
        };
        let analysis = &self.analysis;
        winner(analysis, place) == Some(label) && !is_doubtful(analysis, place) && self.others.iter().all(agrees)
    }

    /// Which driver to choose for what, in sentences, and the first place that they name. Where servers do not agree, a sentence names both
    /// sides.
    fn choices(&self) -> (Vec<String>, Option<Place<'a>>) {
        let (analysis, run) = (&self.analysis, self.analysis.run());
        let on = |place: &Place| code(&place.arrangement.id);
        let name = |place: &Place| escape(&plain(&place.scenario.name));
        let mut chosen: Vec<Place> = Vec::new();
        let mut clauses = Vec::new();
        for driver in drivers(run) {
            let won: Vec<Place> = analysis.places().filter(|place| self.is_chosen(*place, &driver.label)).collect();
            let by_scenario = grouped(won.iter().map(|place| (name(place), on(place))));
            let of = |(on, names): &(Vec<String>, Vec<String>)| match on.len() {
                all if all == run.plan.arrangements.len() => list(names),
                _ => format!("{} on {}", list(names), list(on)),
            };
            let places = grouped(by_scenario.into_iter().map(|(name, on)| (on, name)));
            let places: Vec<String> = places.iter().map(of).collect();
            if !places.is_empty() {
                clauses.push(format!("choose {} for {}", escape(&short(run, driver)), places.join(" and for ")));
            }
            chosen.extend(won);
        }
        let mut said = Vec::new();
        said.extend((!clauses.is_empty()).then(|| format!("By CPU time, {}.", clauses.join("; "))));
        let of_arrangement = |arrangement| run.scenarios.iter().map(move |scenario| Place { scenario, arrangement });
        let doubtful = run.plan.arrangements.iter().flat_map(of_arrangement);
        let doubtful = doubtful.filter(|place| is_doubtful(analysis, *place)).map(|place| (on(&place), name(&place)));
        let doubtful: Vec<String> =
            grouped(doubtful).iter().map(|(on, names)| format!("{} on {on}", list(names))).collect();
        said.extend(
            (!doubtful.is_empty())
                .then(|| format!("For {} instructions contradict CPU time, so no choice is safe.", list(&doubtful))),
        );
        for Other { analysis: there, .. } in &self.others {
            let missing: Vec<String> = chosen.iter().filter(|place| same(there, **place).is_none()).map(on).collect();
            let arrangements = run.plan.arrangements.iter().map(|one| code(&one.id));
            let missing: Vec<String> = arrangements.filter(|one| missing.contains(one)).collect();
            if !missing.is_empty() {
                said.push(format!("{} was not run on {}.", capital(&server(there.run())), list(&missing)));
            }
            said.extend(disagreements(analysis, there));
        }
        (said, chosen.first().copied())
    }

    /// One row per scenario and driver, four columns per arrangement: CPU time, ratio with verdict, statements per second with verdict, and
    /// the server's CPU time. A verdict that not all runs gave is followed by how many did.
    fn table(&self) -> String {
        let (analysis, run) = (&self.analysis, self.analysis.run());
        let Some(reference) = analysis.reference() else { return String::new() };
        let mut heads = vec![("scenario".to_owned(), true), ("driver".to_owned(), true)];
        for arrangement in &run.plan.arrangements {
            let cpu = (format!("{} CPU us", code(&arrangement.id)), false);
            let server = ("server us".to_owned(), false);
            heads.extend([cpu, (over(analysis, reference), true), ("statements/s".to_owned(), true), server]);
        }
        let mut rows = Vec::new();
        for scenario in &run.scenarios {
            for driver in drivers(run) {
                let mut fields = vec![escape(&plain(&scenario.name)), escape(&short(run, driver))];
                for arrangement in &run.plan.arrangements {
                    let place = Place { scenario, arrangement };
                    let row = |meter| analysis.row(place, driver, meter);
                    let held = |meter| {
                        let held = self.combined.as_ref().and_then(|one| one.held_in_some(place, driver, meter));
                        held.map_or(String::new(), |held| format!(", {held}"))
                    };
                    let [cost, ratio, rate] = judgement(row(CPU_PER_STATEMENT), row(THROUGHPUT));
                    let server = row(SERVER_CPU_PER_STATEMENT).filter(|_| !rate.is_empty()).and_then(|row| row.level);
                    fields.extend([cost, ratio + &held(CPU_PER_STATEMENT), rate + &held(THROUGHPUT)]);
                    fields.push(server.map_or(String::new(), three_digits));
                }
                rows.push(fields);
            }
        }
        table_of(heads, rows)
    }
}

/// How a combined table is to be read, from a page that has the repository's root at `root`; `with_held` says how many verdicts held in
/// all runs.
fn of_all(combined: &Combined, root: &str, with_held: bool) -> String {
    let remarks = combined.remarks.iter().filter(|one| with_held || !one.ends_with("held in all runs."));
    let remarks: Vec<&str> = remarks.map(String::as_str).collect();
    format!(
        "Every run gave the same verdicts, unless *1 of {}* or the like follows ([does it hold tomorrow?]({root}harness/METHOD.md#does-it-hold-tomorrow)). {}",
        combined.runs,
        escape(&remarks.join(" ")),
    )
}

/// The label of the driver that needed the least CPU time alone in this place.
fn winner<'a>(analysis: &Analysis<'a>, place: Place) -> Option<&'a str> {
    let [only] = analysis.least(place)[..] else { return None };
    Some(&only.label)
}

/// Whether instructions contradict that a driver needed the least CPU time alone in this place: its own verdict, or that of another one if
/// it is the reference.
fn is_doubtful(analysis: &Analysis, place: Place) -> bool {
    let [only] = analysis.least(place)[..] else { return false };
    let is_reference = analysis.reference().is_some_and(|reference| reference.id == only.id);
    let rows = drivers(analysis.run()).filter(|one| is_reference || one.id == only.id);
    rows.filter_map(|one| analysis.row(place, one, CPU_PER_STATEMENT)).any(|row| row.doubtful)
}

/// Where one server has a driver that needed the least CPU time alone and the other does not: a sentence per pair of drivers and
/// arrangement, with the ratios on both.
fn disagreements(first: &Analysis, second: &Analysis) -> Vec<String> {
    let Some(reference) = first.reference() else { return Vec::new() };
    let carried = first.carried(second);
    let mut found = Vec::new();
    for place in first.places() {
        let Some(there) = same(second, place) else { continue };
        let winners = [winner(first, place), winner(second, there)];
        if winners[0] == winners[1] {
            continue;
        }
        for driver in drivers(first.run()).filter(|one| one.label != reference.label) {
            let is_named = winners.into_iter().flatten().any(|one| one == driver.label || one == reference.label);
            let rows = row_of(first, place, &driver.label).zip(row_of(second, there, &driver.label));
            let Some((one, two)) = rows.filter(|(one, two)| is_named && one.verdict != two.verdict) else { continue };
            let Some((ratio, ratio_there)) = one.ratio.zip(two.ratio) else { continue };
            let [name, base] = [driver, reference].map(|one| escape(&short(first.run(), one)));
            let head = format!(
                "On {}, {name} costs {} {base} on {}, but {} on {}:",
                code(&place.arrangement.id),
                sides(one)[0],
                server(first.run()),
                sides(two)[1],
                server(second.run()),
            );
            let word = find(&carried, place, &driver.label).map_or("n/a", |one| match one.verdict {
                "differs" => "the ratios differ",
                "carries over" => "the two agree within 2 %",
                "inconclusive" => "too close to tell the two apart",
                other => other,
            });
            let scenario = escape(&plain(&place.scenario.name));
            found.push((head, format!("{scenario} {ratio:.2} and {ratio_there:.2} ({word})")));
        }
    }
    grouped(found).iter().map(|(head, ratios)| format!("{head} {}.", ratios.join(", "))).collect()
}

/// What a verdict says of a driver beside the reference's name, and after it.
fn sides(row: &SummaryRow) -> [&'static str; 2] {
    match row.verdict {
        Some(one) if one.is_better() => ["less than", "costs less"],
        Some(one) if one.is_worse() => ["more than", "costs more"],
        Some(Verdict::Same) => ["as much as", "costs as much"],
        _ => ["neither clearly more nor less than", "has no clear difference"],
    }
}

/// CPU time, its ratio, and statements per second with their verdict; a word in bold where there is no figure.
fn judgement(cpu: Option<&SummaryRow>, throughput: Option<&SummaryRow>) -> [String; 3] {
    let [cost, ratio] = match cost(cpu) {
        Ok(both) => both,
        Err(word) => return [format!("**{word}**"), String::new(), String::new()],
    };
    let of_rate = throughput.and_then(|row| {
        let verdict = match row {
            SummaryRow { interval: None, .. } => String::new(),
            SummaryRow { verdict: None, bottleneck: Some(Bottleneck::Server), .. } => "server-bound".to_owned(),
            _ => verdict(row),
        };
        Some(format!("{} {verdict}", rate(row.level?)).trim_end().to_owned())
    });
    [cost, ratio, of_rate.unwrap_or_default()]
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;
    use crate::{Cell, Measure, Pass, Recorded, Unit, sample};

    fn shown(run: Run, cells: Vec<Cell>) -> String {
        Front::of(&[published("2026-01-02/blocks", run, cells)]).unwrap().section("2026-01-02")
    }

    fn published(folder: &str, run: Run, cells: Vec<Cell>) -> PublishedRun {
        let (folder, recorded) = (Path::new(folder), Recorded { run, cells, notes: Vec::new() });
        PublishedRun { name: folder_name(folder), folder: folder.to_path_buf(), recorded }
    }

    #[test]
    fn a_row_of_which_every_block_failed_is_failed_and_not_missing() {
        let (run, mut cells) = sample::blocks(12);
        for cell in cells.iter_mut().filter(|cell| cell.contender == "cdrs-tokio" && cell.pass == Pass::Timing) {
            cell.measures.clear();
            cell.failed = Some("It crashed.".to_owned());
        }
        let text = shown(run, cells);
        assert!(text.contains("| writes | cdrs-tokio | **failed** |"), "{text}");
        assert!(text.contains("| writes | cassandra-cpp | **missing** |"), "{text}");
    }

    #[test]
    fn the_front_has_finding_choice_levels_and_verdict_and_no_control() {
        let (run, mut cells) = sample::blocks(12);
        for cell in &mut cells {
            let value = Measure::value(753_211.0, Unit::PerSecond);
            cell.measures.insert(THROUGHPUT.to_owned(), value);
        }
        let text = shown(run, cells);
        assert!(text.contains("- scylla needed the least CPU time for writes and reads."), "{text}");
        assert!(text.contains("**By CPU time, choose scylla for writes and reads.**"), "{text}");
        assert!(text.contains("(1.5") && text.contains("**dearer** | 753k same | 0.300 |"), "{text}");
        assert!(!text.contains("#control") && !text.contains("| floor"), "{text}");
        assert!(text.lines().count() < 60 && text.split_whitespace().count() < 550, "{text}");
    }

    #[test]
    fn a_doubtful_verdict_is_marked_in_the_table_and_the_headline_says_so() {
        let (run, mut cells) = sample::blocks(12);
        for cell in cells.iter_mut().filter(|cell| cell.get(CPU_PER_STATEMENT).is_some()) {
            let value = if cell.contender == "cdrs-tokio" { 1_000.0 } else { 2_000.0 };
            let id = "callgrind_instructions_per_statement".to_owned();
            cell.measures.insert(id, Measure::value(value, Unit::Count));
        }
        let text = shown(run, cells);
        assert!(text.contains("**dearer?**") && !text.contains("**dearer**"), "{text}");
        assert!(
            text.contains(
                "For writes and reads on `multi:2` instructions contradict CPU time, so no choice is safe.**"
            ),
            "{text}"
        );
        assert!(text.contains("- Doubt that cdrs-tokio is dearer for writes and reads: it runs fewer"), "{text}");
    }

    /// The front of the sample on two arrangements, beside a server that was asked on one of them, where cdrs-tokio costs `times` as much.
    fn beside(times: f64) -> String {
        let (run, cells) = sample::blocks(12);
        let mut there = Recorded { run: run.clone(), cells: cells.clone(), notes: Vec::new() };
        there.run.plan.target.embedded = false;
        there.run.plan.target.id = "cassandra:5.0.9".to_owned();
        for cell in there.cells.iter_mut().filter(|cell| cell.contender == "cdrs-tokio") {
            if let Some(cost) = cell.get(CPU_PER_STATEMENT) {
                cell.measures.insert(CPU_PER_STATEMENT.to_owned(), Measure::value(cost * times, Unit::Microseconds));
            }
        }
        let mut here = Recorded { run, cells, notes: Vec::new() };
        let mut current = here.run.plan.arrangements[0].clone();
        (current.id, current.runtime) = ("current".to_owned(), "current".to_owned());
        here.run.plan.arrangements.push(current);
        let more: Vec<Cell> =
            here.cells.iter().map(|cell| Cell { arrangement: "current".to_owned(), ..cell.clone() }).collect();
        here.cells.extend(more);
        let here = [published("2026-01-02/blocks", here.run, here.cells)];
        let there = published("2026-01-03/cassandra", there.run, there.cells);
        Front::of(&here).unwrap().beside([&there].into_iter()).section("2026-01-02")
    }

    #[test]
    fn a_choice_holds_on_every_server_that_was_asked_and_where_it_does_not_both_ratios_are_said() {
        let agreed = beside(1.0);
        let said = "**By CPU time, choose scylla for writes and reads. Cassandra:5.0.9 was not run on `current`.**";
        assert!(agreed.contains(said), "{agreed}");
        assert!(agreed.contains("multi:2 is tokio's default runtime on 2 cores; current is one thread."), "{agreed}");
        assert!(agreed.contains("less CPU time per statement than cdrs-tokio: 2"), "{agreed}");
        let differs = beside(0.4);
        assert!(differs.contains("choose scylla for writes and reads on `current`."), "{differs}");
        let said = "On `multi:2`, cdrs-tokio costs more than scylla on the embedded cluster, but costs less on cassandra:5.0.9: writes 1.5";
        assert!(differs.contains(said) && differs.contains(" (the ratios differ)"), "{differs}");
        assert!(
            differs.contains("- [On cassandra:5.0.9](reports/published/2026-01-03/cassandra), `multi:2`: "),
            "{differs}"
        );
    }
}
