//! What a README shows of published runs.

use super::{
    PublishedRun, asked, code, cost, find, findings, folder_name, is_of_a_plan, labels, name, over, picture, processor,
    row_of, same, server, warnings,
};
use crate::export::chart::cost_chart;
use crate::export::markdown::table_of;
use crate::measure::CPU_PER_STATEMENT;
use crate::text::{capital, escape, grouped, list, plain};
use crate::{Analysis, Carried, Combined, Place, Run, SummaryRow, Verdict, short, whose};

/// The front's drivers elsewhere: on another server, with another processor, or with other settings.
struct Other<'a> {
    /// Where it is published, from the repository's root.
    folder: String,
    day: String,
    /// Of all runs of the plan on that day.
    analysis: Analysis<'a>,
    /// Where a driver is known to have another ratio and another verdict there, and it or the reference needed the least CPU time: what the
    /// verdict says, and both ratios.
    apart: Vec<(Place<'a>, [String; 2])>,
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
        let plan: Vec<&PublishedRun> = shown.iter().filter(|one| one.plan() == most.plan()).collect();
        let one =
            || Front { analysis: most.analysis(), others: Vec::new(), runs: vec![&most.recorded.run], combined: None };
        Some(Front::of_all(&plan).unwrap_or_else(one))
    }

    /// `None` for runs that have no table together.
    fn of_all(plan: &[&'a PublishedRun]) -> Option<Front<'a>> {
        let combined = combined(plan)?;
        let (analysis, runs) = (combined.analysis.clone(), plan.iter().map(|one| &one.recorded.run).collect());
        Some(Front { analysis, others: Vec::new(), runs, combined: Some(combined) })
    }

    /// The sections on all runs of each plan on other servers than the embedded cluster.
    pub(super) fn elsewhere(date: &str, shown: &'a [PublishedRun]) -> String {
        let all: Vec<&PublishedRun> = shown.iter().filter(|one| !one.recorded.run.plan.target.embedded).collect();
        let of_plans = all.chunk_by(|one, next| one.plan() == next.plan()).filter_map(Front::of_all);
        of_plans.filter_map(|one| one.together(date)).collect()
    }

    /// With the newest of the runs `published`, the oldest first, on every other server and processor and with other settings: those that
    /// have intervals, and drivers of the front alone against the same reference. On the front's own server a run whose name was chosen
    /// asked something else.
    pub fn beside(mut self, published: impl Iterator<Item = &'a PublishedRun>) -> Front<'a> {
        let day = |one: &PublishedRun| one.folder.parent().map(folder_name).unwrap_or_default();
        let asked = |run: &Run| (run.plan.target.id.clone(), run.plan.settings.clone());
        let key = |one: &PublishedRun| (asked(&one.recorded.run), processor(&one.recorded.run));
        let all: Vec<&PublishedRun> = published.collect();
        let ours = self.analysis.run;
        let mut known = vec![(asked(ours), processor(ours))];
        let is_one = |one: &&PublishedRun, next: &&PublishedRun| {
            (day(one), one.plan(), key(one)) == (day(next), next.plan(), key(next))
        };
        for plan in all.chunk_by(is_one).rev() {
            let (first, run) = (plan[0], &plan[0].recorded.run);
            let is_asked = is_of_a_plan(&first.name) || asked(run) != asked(ours);
            let has_ours = !labels(run).is_empty() && labels(run).iter().all(|one| labels(ours).contains(one));
            let is_fit = is_asked && has_ours && run.plan.blocks > 1 && run.plan.releases.is_empty();
            if !is_fit || known.contains(&key(first)) {
                continue;
            }
            // A date's README has all runs of a plan.
            let (name, analysis) = match combined(plan) {
                Some(all) => (String::new(), all.analysis),
                None => (format!("/{}", plan[plan.len() - 1].name), plan[plan.len() - 1].analysis()),
            };
            let carried = self.analysis.carried(&analysis);
            if !carried.is_empty() {
                known.push(key(first));
                let (folder, day) = (format!("reports/published/{}{name}", day(first)), day(first));
                let apart = apart(&self.analysis, &analysis, &carried);
                self.others.push(Other { folder, day, analysis, apart });
            }
        }
        self
    }

    /// Those that ask the drivers for the same settings.
    fn peers(&self) -> impl Iterator<Item = &Other<'a>> {
        let settings = &self.analysis.run.plan.settings;
        self.others.iter().filter(move |one| one.analysis.run.plan.settings == *settings)
    }

    /// The picture of CPU time per statement.
    pub fn chart(&self) -> String {
        cost_chart(&self.analysis, self.runs.len()).file().unwrap_or_default()
    }

    /// The section of the repository's README.
    pub fn section(&self, date: &str) -> String {
        let folder = format!("reports/published/{date}");
        let analysis = &self.analysis;
        let labels: Vec<String> = labels(analysis.run).into_iter().map(|one| escape(&plain(one))).collect();
        format!(
            "{}{}{}{}\n\nCPU us is CPU time per statement: less is better. *Cheaper* and *dearer*: the whole interval lies beyond the band, {} \
             ([how verdicts are read](harness/METHOD.md#what-does-a-verdict-mean)). cassandra-cpp has an I/O thread of its own on both arrangements.\n\n{}{}\n\n\
             {}. {} [Raw data, all columns and a page with charts]({folder}).",
            picture(&format!("{folder}/chart.svg")),
            warnings(analysis),
            self.headline(),
            self.table().trim_end(),
            escape(&analysis.bands()),
            self.findings().trim_end(),
            self.combined.as_ref().map_or(String::new(), |one| format!("\n\n{}", of_all(one, "", false))),
            labels.join(", "),
            asked(&self.runs, date),
        )
    }

    /// The part of a date's README on all runs of the plan.
    pub(super) fn together(&self, date: &str) -> Option<String> {
        let combined = self.combined.as_ref()?;
        Some(format!(
            "## All runs on {} together\n\n{}\n\n{}{}\n{}\n{}\n\n",
            server(self.analysis.run),
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
        let worth = first.and_then(|place| self.analysis.worth(place)).into_iter().chain(whose(self.analysis.run));
        let more = worth.map(|one| escape(&one)).collect::<Vec<_>>().join(" ");
        format!("**{}**\n\n{more}{}", said.join(" "), if more.is_empty() { "" } else { "\n\n" })
    }

    fn findings(&self) -> String {
        let found = findings(&self.analysis);
        if self.others.is_empty() {
            return found;
        }
        let ours = self.analysis.run;
        let on = |run: &Run| run.plan.arrangements.iter().map(|one| code(&one.id)).collect::<Vec<_>>();
        let other = |other: &Other| {
            let run = other.analysis.run;
            let only = if on(run) == on(ours) { String::new() } else { format!(", {}", list(&on(run))) };
            let settings = if run.plan.settings == "default" { ", settings as each driver documents them" } else { "" };
            let where_run = capital(&elsewhere(ours, run));
            format!("- [{where_run}, {}{settings}]({}){only}: {}\n", other.day, other.folder, other.said())
        };
        let others: String = self.others.iter().map(other).collect();
        format!("On {}:\n\n{found}{others}", on_what(self.analysis.run))
    }

    /// Whether a driver is known to stand otherwise in this place on another server or processor.
    fn is_apart(&self, place: Place) -> bool {
        let is_here = |(one, _): &(Place, [String; 2])| {
            (&one.scenario.name, &one.arrangement.id) == (&place.scenario.name, &place.arrangement.id)
        };
        self.peers().any(|other| other.apart.iter().any(is_here))
    }

    /// Which driver to choose for what, in sentences, and the first place that they name. Where servers or processors do not agree, a
    /// sentence says so.
    fn choices(&self) -> (Vec<String>, Option<Place<'a>>) {
        let (analysis, run) = (&self.analysis, self.analysis.run);
        let is_doubtful = |place: &Place| winner(analysis, *place).is_some_and(|(_, is_doubtful)| is_doubtful);
        let mut chosen: Vec<Place> = Vec::new();
        let mut clauses = Vec::new();
        for driver in run.drivers() {
            // On every server and processor that it ran on.
            let is_chosen = |place: &Place| {
                winner(analysis, *place) == Some((driver.label.as_str(), false)) && !self.is_apart(*place)
            };
            let won: Vec<Place> = analysis.places().filter(is_chosen).collect();
            let by_scenario = grouped(won.iter().map(|place| (name(place.scenario), code(&place.arrangement.id))));
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
        let doubtful = by_arrangement(analysis.places().filter(is_doubtful));
        let no_choice =
            |places: String| format!("For {places} instructions contradict CPU time, so no choice is safe.");
        said.extend(doubtful.map(no_choice));
        for arrangement in &run.plan.arrangements {
            let here = || chosen.iter().filter(|place| place.arrangement.id == arrangement.id);
            let lacks = |other: &Other| here().any(|place| same(&other.analysis, *place).is_none());
            let server = |other: &Other| other.analysis.run.plan.target.id.clone();
            // Another server may have been asked with another processor.
            let is_tried =
                |id: &str| id != run.plan.target.id && self.peers().any(|one| server(one) == id && !lacks(one));
            let missing = self.peers().filter(|other| lacks(other) && !is_tried(&server(other)));
            let mut missing: Vec<String> = missing.map(|other| elsewhere(run, other.analysis.run)).collect();
            missing.dedup();
            if !missing.is_empty() {
                said.push(format!("{} was not tried {}.", code(&arrangement.id), list(&missing)));
            }
        }
        let disagree = |place: &Place| !is_doubtful(place) && self.is_apart(*place);
        let open = by_arrangement(analysis.places().filter(disagree));
        let other = |places: String| format!("For {places}, other servers or processors give another order (below).");
        said.extend(open.map(other));
        (said, chosen.first().copied())
    }

    /// One row per scenario and driver, two columns per arrangement: CPU time, and its ratio with the verdict. A
    /// verdict that not all runs gave is followed by how many did.
    fn table(&self) -> String {
        let (analysis, run) = (&self.analysis, self.analysis.run);
        let Some(reference) = analysis.reference else { return String::new() };
        let mut heads = vec![("scenario".to_owned(), true), ("driver".to_owned(), true)];
        for arrangement in &run.plan.arrangements {
            let cpu = (format!("{} CPU us", code(&arrangement.id)), false);
            heads.extend([cpu, (over(analysis, reference), true)]);
        }
        let mut rows = Vec::new();
        for scenario in &run.scenarios {
            for driver in run.drivers() {
                let mut fields = vec![name(scenario), escape(&short(run, driver))];
                for arrangement in &run.plan.arrangements {
                    let place = Place { scenario, arrangement };
                    let held = self.combined.as_ref();
                    let held = held.and_then(|one| one.held_in_some(place, driver, CPU_PER_STATEMENT));
                    let held = held.map_or(String::new(), |held| format!(", {held}"));
                    fields.extend(match cost(analysis.row(place, driver, CPU_PER_STATEMENT)) {
                        Ok([cost, ratio]) => [cost, ratio + &held],
                        Err(word) => [format!("**{word}**"), String::new()],
                    });
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
        "All runs gave the verdict, unless it says how many did ([does it hold tomorrow?]({root}harness/METHOD.md#does-it-hold-tomorrow)). {}",
        escape(&remarks.join(" ")),
    )
}

/// What a run has that the front has not: another server, or the same with another processor.
fn elsewhere(ours: &Run, run: &Run) -> String {
    match server(ours) == server(run) {
        true => format!("with {}", processor(run)),
        false => format!("on {}", on_what(run)),
    }
}

fn on_what(run: &Run) -> String {
    format!("{} with {}", server(run), processor(run))
}

fn combined<'a>(plan: &[&'a PublishedRun]) -> Option<Combined<'a>> {
    let named: Vec<(String, Analysis)> = plan.iter().map(|one| (one.name.clone(), one.analysis())).collect();
    Combined::of(&named).ok()
}

/// The scenarios on each arrangement, as parts of a sentence; `None` without any.
fn by_arrangement<'a>(places: impl Iterator<Item = Place<'a>>) -> Option<String> {
    let places = places.map(|place| (code(&place.arrangement.id), name(place.scenario)));
    let all: Vec<String> = grouped(places).iter().map(|(on, names)| format!("{} on {on}", list(names))).collect();
    (!all.is_empty()).then(|| list(&all))
}

/// The label of the driver that alone needed the least CPU time in this place, and whether instructions contradict that. They do by its own
/// verdict, or by another driver's if it is the reference.
fn winner<'a>(analysis: &Analysis<'a>, place: Place) -> Option<(&'a str, bool)> {
    let [only] = analysis.least(place)[..] else { return None };
    let is_reference = analysis.reference.is_some_and(|reference| reference.id == only.id);
    let drivers = analysis.run.drivers().filter(|one| is_reference || one.id == only.id);
    let mut rows = drivers.filter_map(|one| analysis.row(place, one, CPU_PER_STATEMENT));
    Some((only.label.as_str(), rows.any(|row| row.doubtful)))
}

/// As in [`Other::apart`]: where drivers stand otherwise in the second run than in the first.
fn apart<'a>(first: &Analysis<'a>, second: &Analysis, carried: &[Carried]) -> Vec<(Place<'a>, [String; 2])> {
    let Some(reference) = first.reference else { return Vec::new() };
    let base = second.reference.map_or(String::new(), |one| escape(&short(second.run, one)));
    let mut found = Vec::new();
    for place in first.places() {
        let Some(elsewhere) = same(second, place) else { continue };
        let least = [first.least(place), second.least(elsewhere)].concat();
        let is_least = |label: &str| least.iter().any(|one| one.label == label);
        for driver in first.run.drivers().filter(|one| is_least(&one.label) || is_least(&reference.label)) {
            let rows = row_of(first, place, &driver.label).zip(row_of(second, elsewhere, &driver.label));
            let Some((one, two)) = rows.filter(|(one, two)| one.verdict != two.verdict) else { continue };
            let differs = find(carried, place, &driver.label).is_some_and(Carried::differs);
            if let (true, Some((here, there))) = (differs, one.ratio.zip(two.ratio)) {
                let driver = escape(&short(second.run, driver));
                let head = format!("On {}, {driver} {} {base}:", code(&place.arrangement.id), side(two));
                found.push((place, [head, format!("{} {there:.2} (here {here:.2})", name(place.scenario))]));
            }
        }
    }
    found
}

impl Other<'_> {
    /// Which ratios are others there, and what has no verdict.
    fn said(&self) -> String {
        let apart = grouped(self.apart.iter().map(|(_, [head, ratios])| (head, ratios.as_str())));
        let apart = apart.into_iter().map(|(head, ratios)| format!("{head} {}.", ratios.join(", ")));
        let mut said: Vec<String> = apart.collect();
        if said.is_empty() {
            said.push("No ratio differs clearly from those here.".to_owned());
        }
        let rows = || self.analysis.rows.iter().filter(|row| row.is_primary() && !row.control);
        let has_none = |place: &Place| !rows().any(|row| row.is_in(*place) && row.verdict.is_some_and(Verdict::holds));
        let open = by_arrangement(self.analysis.places().filter(has_none));
        said.extend(open.map(|places| format!("It has no verdict for {places}.")));
        said.join(" ")
    }
}

/// What a verdict says of a driver before the reference's name.
fn side(row: &SummaryRow) -> &'static str {
    match row.verdict {
        Some(one) if one.is_better() && row.doubtful => "probably costs less than",
        Some(one) if one.is_worse() && row.doubtful => "probably costs more than",
        Some(one) if one.is_better() => "costs less than",
        Some(one) if one.is_worse() => "costs more than",
        Some(Verdict::Same) => "costs as much as",
        _ => "has no clear difference to",
    }
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
            cell.measures.insert(crate::measure::THROUGHPUT.to_owned(), value);
        }
        let text = shown(run, cells);
        assert!(text.contains("- scylla needed the least CPU time for writes and reads."), "{text}");
        assert!(text.contains("**By CPU time, choose scylla for writes and reads.**"), "{text}");
        assert!(text.contains("(1.5") && text.contains("**dearer** |"), "{text}");
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
        cells.iter_mut().for_each(|cell| drop(cell.measures.remove("syscalls_per_statement")));
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

    /// The front of the sample on two arrangements, beside a Cassandra that was asked on one of them, where cdrs-tokio costs `times` as
    /// much.
    fn beside(times: f64) -> String {
        beside_a(times, "2026-01-03/cassandra", |run| {
            run.plan.target.embedded = false;
            run.plan.target.id = "cassandra:5.0.9".to_owned();
        })
    }

    fn beside_a(times: f64, folder: &str, changed: fn(&mut Run)) -> String {
        let (run, cells) = sample::blocks(12);
        let mut there = Recorded { run: run.clone(), cells: cells.clone(), notes: Vec::new() };
        changed(&mut there.run);
        sample::cost(&mut there.cells, "cdrs-tokio", times);
        let mut here = Recorded { run, cells, notes: Vec::new() };
        let mut current = here.run.plan.arrangements[0].clone();
        (current.id, current.runtime) = ("current".to_owned(), "current".to_owned());
        here.run.plan.arrangements.push(current);
        let more: Vec<Cell> =
            here.cells.iter().map(|cell| Cell { arrangement: "current".to_owned(), ..cell.clone() }).collect();
        here.cells.extend(more);
        let here = [published("2026-01-02/blocks", here.run, here.cells)];
        let there = published(folder, there.run, there.cells);
        Front::of(&here).unwrap().beside([&there].into_iter()).section("2026-01-02")
    }

    #[test]
    fn a_choice_holds_on_every_server_that_was_asked_and_where_it_does_not_both_ratios_are_said() {
        let agreed = beside(1.0);
        let said = "**By CPU time, choose scylla for writes and reads. `current` was not tried on cassandra:5.0.9 with Example 9000.**";
        assert!(agreed.contains(said), "{agreed}");
        assert!(agreed.contains("multi:2 is tokio's default runtime on 2 cores; current is one thread."), "{agreed}");
        assert!(agreed.contains("less CPU time per statement than cdrs-tokio: 2"), "{agreed}");
        let differs = beside(0.4);
        assert!(differs.contains("choose scylla for writes and reads on `current`."), "{differs}");
        let said = "For writes and reads on `multi:2`, other servers or processors give another order (below).";
        assert!(differs.contains(said), "{differs}");
        let said = ": On `multi:2`, cdrs-tokio costs less than scylla: writes 0.6";
        assert!(differs.contains(said) && differs.contains(" (here 1.5"), "{differs}");
        assert!(
            differs.contains("- [On cassandra:5.0.9 with Example 9000, 2026-01-03](reports/published/2026-01-03/cassandra), `multi:2`: "),
            "{differs}"
        );
    }

    #[test]
    fn a_choice_holds_on_every_processor_and_each_is_named() {
        let other = |times| beside_a(times, "2026-01-03/blocks-2", |run| run.environment.cpu = "Other".to_owned());
        let agreed = other(1.0);
        let said = "`current` was not tried with Other.**";
        assert!(agreed.contains(said), "{agreed}");
        assert!(agreed.contains("- [With Other, 2026-01-03](reports/published/2026-01-03/blocks-2), `multi:2`: "));
        let differs = other(0.4);
        assert!(differs.contains(": On `multi:2`, cdrs-tokio costs less than scylla: writes 0.6"), "{differs}");
    }

    #[test]
    fn a_run_with_other_settings_stands_beside_and_changes_no_choice() {
        let text = beside_a(0.4, "2026-01-03/documented", |run| run.plan.settings = "default".to_owned());
        assert!(text.contains("**By CPU time, choose scylla for writes and reads.**"), "{text}");
        assert!(text.contains(", 2026-01-03, settings as each driver documents them](reports/"), "{text}");
    }
}
