//! What a README shows of published runs, in GitHub's Markdown: every figure in it is read from them.

use cqldyno_reports::measure::{CPU_PER_STATEMENT, SERVER_CPU_PER_STATEMENT, THROUGHPUT};
use cqldyno_reports::{
    Analysis, ArrangementInfo, Bottleneck, Combined, EXPORTERS, Look, PACKED_CELLS, Place, Recorded, Run, SummaryRow,
    Verdict, capital, cost_chart, count, escape, grouped, list, plain, rate, short, three_digits, whole, whose,
};

use crate::carried;
use crate::store::{CELLS, PublishedRun, is_of_a_plan, name_of, unnumbered};
use crate::words::{code, drivers, find, line, ratio, row_of, same, server, verdict};

/// A run of the front's drivers on another server.
struct Other<'a> {
    /// Where it is published, from the repository's root.
    folder: String,
    analysis: Analysis<'a>,
}

/// What a date is shown by: its run of most blocks, or all runs of that plan together.
pub(crate) struct Front<'a> {
    analysis: Analysis<'a>,
    /// The same drivers on other servers.
    others: Vec<Other<'a>>,
    /// All runs of the plan.
    runs: Vec<&'a Run>,
    /// If there are several.
    combined: Option<Combined<'a>>,
}

impl<'a> Front<'a> {
    /// `None` without a run that compares all drivers.
    pub fn of(shown: &'a [PublishedRun]) -> Option<Front<'a>> {
        let compares_drivers =
            |one: &&PublishedRun| one.recorded.run.plan.releases.is_empty() && is_of_a_plan(&one.name);
        let most = shown.iter().filter(compares_drivers).max_by_key(|one| one.recorded.run.plan.blocks)?;
        let plan = shown.iter().filter(|one| unnumbered(&one.name) == unnumbered(&most.name));
        let analysis = |one: &'a PublishedRun| Analysis::new(&one.recorded.run, &one.recorded.cells);
        let named: Vec<(String, Analysis)> = plan.map(|one| (one.name.clone(), analysis(one))).collect();
        let combined = Combined::of(&named).ok();
        let (analysis, runs) = match &combined {
            Some(all) => (all.analysis().clone(), named.iter().map(|(_, one)| one.run()).collect()),
            None => (analysis(most), vec![&most.recorded.run]),
        };
        Some(Front { analysis, others: Vec::new(), runs, combined })
    }

    /// With the newest of the runs `published`, the oldest first, on every other server: those that have intervals, and the same drivers
    /// against the same reference.
    pub fn beside(mut self, published: impl DoubleEndedIterator<Item = &'a PublishedRun>) -> Front<'a> {
        let labels = |run: &Run| drivers(run).map(|one| one.label.clone()).collect::<Vec<_>>();
        for PublishedRun { name, folder, recorded: Recorded { run, cells, .. } } in published.rev() {
            let known = std::iter::once(&self.analysis).chain(self.others.iter().map(|other| &other.analysis));
            let is_known = known.into_iter().any(|known| known.run().plan.target.id == run.plan.target.id);
            if is_known || run.plan.blocks < 2 || labels(run) != labels(self.analysis.run()) {
                continue;
            }
            let analysis = Analysis::new(run, cells);
            if !self.analysis.carried(&analysis).is_empty() {
                let day = folder.parent().map(name_of).unwrap_or_default();
                self.others.push(Other { folder: format!("reports/published/{day}/{name}"), analysis });
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
        format!(
            "{}{}{}{}\n{}\n\nCPU us is CPU time per statement, and server us is the server's: less is better. By CPU time a driver is *cheaper* or *dearer*, \
             by statements per second *faster* or *slower*, if the whole interval lies beyond the band: {} ([how verdicts are read](harness/METHOD.md#what-does-a-verdict-mean)). cassandra-cpp has an I/O thread of its own on both arrangements.{}\n\n\
             {}. {} [Raw data, all columns and a page with charts]({folder}).",
            picture(&format!("{folder}/chart.svg")),
            warnings(analysis),
            self.headline(),
            self.findings(),
            table(analysis, self.combined.as_ref()).trim_end(),
            escape(&analysis.bands()),
            self.combined
                .as_ref()
                .map_or(String::new(), |one| format!("\n\n{}", of_all(one, "harness/METHOD.md", false))),
            drivers(analysis.run()).map(|one| escape(&plain(&one.label))).collect::<Vec<_>>().join(", "),
            asked(&self.runs, date),
        )
    }

    /// Which driver to choose where, in bold, and what that is worth.
    fn headline(&self) -> String {
        let (said, first) = choices(self);
        if said.is_empty() {
            return String::new();
        }
        let worth = first.and_then(|place| self.analysis.worth(place)).into_iter().chain(whose(self.analysis.run()));
        let more: String = worth.map(|one| escape(&one)).collect::<Vec<_>>().join(" ");
        format!("**{}**\n\n{more}{}", said.join(" "), if more.is_empty() { "" } else { "\n\n" })
    }

    /// What was found on each server.
    fn findings(&self) -> String {
        let other = |other: &Other| {
            let run = other.analysis.run();
            let on: Vec<String> = run.plan.arrangements.iter().map(|one| code(&one.id)).collect();
            let said = other.analysis.findings().first().map_or_else(String::new, |one| escape(one));
            format!("- [On {}]({}), {}: {said}\n", server(run), other.folder, list(&on))
        };
        let of_others: String = self.others.iter().map(other).collect();
        let here = format!("On {}:\n\n", server(self.analysis.run()));
        format!("{}{}{of_others}", if self.others.is_empty() { "" } else { &here }, findings(&self.analysis))
    }

    /// The part of a date's README on all runs of the plan.
    fn together(&self, date: &str) -> Option<String> {
        let combined = self.combined.as_ref()?;
        Some(format!(
            "## All runs together\n\n{}\n\n{}{}\n{}\n{}\n\n",
            asked(&self.runs, date),
            warnings(&self.analysis),
            findings(&self.analysis),
            table(&self.analysis, Some(combined)),
            of_all(combined, "../../../harness/METHOD.md", true),
        ))
    }
}

/// How a combined table is to be read; `with_held` says how many verdicts held in all runs.
fn of_all(combined: &Combined, method: &str, with_held: bool) -> String {
    let remarks = combined.remarks.iter().filter(|one| with_held || !one.ends_with("held in all runs."));
    let remarks: Vec<&str> = remarks.map(String::as_str).collect();
    format!(
        "Every run gave the same verdicts, unless *1 of {}* or the like follows ([does it hold tomorrow?]({method}#does-it-hold-tomorrow)). {}",
        combined.runs,
        escape(&remarks.join(" ")),
    )
}

/// The README of a date's folder.
pub(crate) fn of_date(date: &str, shown: &[PublishedRun], front: Option<&Front>, notes: &str) -> String {
    let mut out = format!("# What was measured on {date}\n\n");
    if !notes.trim().is_empty() {
        out.push_str(&format!("{}\n\n", notes.trim()));
    }
    if let Some(front) = front {
        out.push_str(&picture("chart.svg"));
        out.push_str(&front.together(date).unwrap_or_default());
    }
    out.push_str(&carried::tables(shown));
    for PublishedRun { name, folder, recorded: Recorded { run, cells, notes } } in shown {
        let analysis = Analysis::new(run, cells);
        out.push_str(&format!("## [{name}]({name})\n\n{}\n\n", asked(&[run], date)));
        for note in notes {
            out.push_str(&format!("> {}\n\n", escape(note)));
        }
        out.push_str(&warnings(&analysis));
        out.push_str(&findings(&analysis));
        if run.plan.blocks == 1 || run.plan.total.is_some() {
            let time = EXPORTERS.iter().find(|one| one.name() == "time");
            let text = time.and_then(|one| one.one(&analysis, Look::default()).ok()).unwrap_or_default();
            out.push_str(&format!("\n```\n{}\n```\n", text.trim_end().replace("```", "` ` `")));
        }
        out.push_str(&format!(
            "\n- [table.md]({name}/table.md): every table, with the notes on each driver\n\
             - [page.html]({name}/page.html): the same with charts, for a browser (GitHub shows its source)\n\
             - [run.json]({name}/run.json), [{file}]({name}/{file}), [files.tar.gz]({name}/files.tar.gz): what was asked, \
             {all} turns and cells as measured, and the histogram of each cell\n\n",
            file = if folder.join(CELLS).exists() { CELLS } else { PACKED_CELLS },
            all = whole(cells.len() as f64),
        ));
        if let Some(command) = &run.command {
            out.push_str(&format!("The same again:\n\n```\n{}\n```\n\n", plain(command).replace("```", "` ` `")));
        }
    }
    out.push_str(
        "[reports/README.md](../../README.md) describes a run folder and the checks of a published one. `cqldyno report DIR \
         --format csv` prints one row per measure. The workers' logs, the profiles of callgrind and the histograms of turns are not kept here.\n",
    );
    out
}

fn picture(path: &str) -> String {
    format!("![CPU time per statement, by scenario, driver and arrangement]({path})\n\n")
}

fn warnings(analysis: &Analysis) -> String {
    analysis.warnings().iter().map(|warning| format!("> **Warning.** {}\n\n", escape(warning))).collect()
}

fn findings(analysis: &Analysis) -> String {
    analysis.findings().iter().map(|finding| format!("- {}\n", escape(finding))).collect()
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

/// Which driver to choose for what, in sentences, and the first place that they name.
///
/// A driver is chosen where it needed the least CPU time alone on every server that was asked, and no instructions contradict that. Where
/// servers do not agree, a sentence names both sides.
fn choices<'a>(front: &Front<'a>) -> (Vec<String>, Option<Place<'a>>) {
    let (analysis, run) = (&front.analysis, front.analysis.run());
    let (on, name) =
        (|place: &Place| code(&place.arrangement.id), |place: &Place| escape(&plain(&place.scenario.name)));
    let is_chosen = |place: Place, label: &str| {
        let agrees = |other: &Other| {
            same(&other.analysis, place).is_none_or(|there| winner(&other.analysis, there) == Some(label))
        };
        winner(analysis, place) == Some(label) && !is_doubtful(analysis, place) && front.others.iter().all(agrees)
    };
    let mut chosen: Vec<Place> = Vec::new();
    let mut clauses = Vec::new();
    for driver in drivers(run) {
        let won: Vec<Place> = analysis.places().filter(|place| is_chosen(*place, &driver.label)).collect();
        // Scenarios by the arrangements in which the driver is chosen.
        let by = run.scenarios.iter().map(|scenario| {
            let here = won.iter().filter(|place| place.scenario.name == scenario.name);
            (here.map(on).collect::<Vec<_>>(), escape(&plain(&scenario.name)))
        });
        let of = |(on, names): &(Vec<String>, Vec<String>)| match on.len() {
            all if all == run.plan.arrangements.len() => list(names),
            _ => format!("{} on {}", list(names), list(on)),
        };
        let places: Vec<String> = grouped(by).iter().filter(|(on, _)| !on.is_empty()).map(of).collect();
        if !places.is_empty() {
            clauses.push(format!("choose {} for {}", escape(&short(run, driver)), places.join(" and for ")));
        }
        chosen.extend(won);
    }
    let mut said = Vec::new();
    if !clauses.is_empty() {
        said.push(format!("By CPU time, {}.", clauses.join("; ")));
    }
    let here = |place: &Place, one: &ArrangementInfo| place.arrangement.id == one.id;
    let arrangements = run.plan.arrangements.iter();
    let doubtful = arrangements.flat_map(|one| analysis.places().filter(move |place| here(place, one)));
    let doubtful =
        grouped(doubtful.filter(|place| is_doubtful(analysis, *place)).map(|place| (on(&place), name(&place))));
    let doubtful: Vec<String> = doubtful.iter().map(|(on, names)| format!("{} on {on}", list(names))).collect();
    if !doubtful.is_empty() {
        said.push(format!("The lead is in doubt for {}.", list(&doubtful)));
    }
    for other in &front.others {
        let is_missing = |place: &&Place| same(&other.analysis, **place).is_none();
        let missing: Vec<String> = chosen.iter().filter(is_missing).map(on).collect();
        let missing: Vec<String> =
            run.plan.arrangements.iter().map(|one| code(&one.id)).filter(|one| missing.contains(one)).collect();
        if !missing.is_empty() {
            said.push(format!("{} was not run on {}.", capital(&server(other.analysis.run())), list(&missing)));
        }
        said.extend(disagreements(analysis, &other.analysis));
    }
    (said, chosen.first().copied())
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

/// What was asked, with which command, on what; the runs have one plan.
fn asked(runs: &[&Run], date: &str) -> String {
    let run = runs[0];
    let plan = &run.plan;
    let several = if runs.len() > 1 { format!("{} runs of ", runs.len()) } else { String::new() };
    let generations: Vec<String> = runs.iter().map(|run| run.blocks().to_string()).collect();
    let blocks = match (plan.blocks, plan.turns.rounds) {
        (1, 1) => run.statements(|number| whole(number as f64)),
        (_, rounds) => format!(
            "{} generations of {}, with turns of {}{}",
            list(&generations),
            count(rounds.into(), "round"),
            if plan.total.is_some() { "at most " } else { "" },
            whole(plan.turns.count as f64)
        ),
    };
    let target = server(run);
    let with = run.command.as_ref().map_or(String::new(), |command| format!(" with `{}`", command.replace('`', "'")));
    let mut machines: Vec<String> = Vec::new();
    for machine in runs.iter().map(|run| machine(run)) {
        if !machines.contains(&machine) {
            machines.push(machine);
        }
    }
    let days = runs.iter().map(|run| run.started.strftime("%Y-%m-%d").to_string());
    let when = match days.max().filter(|last| last != date && runs.len() > 1) {
        Some(last) => format!("from {date} to {last}"),
        None => format!("on {date}"),
    };
    format!(
        "{several}{blocks} prepared statements, {} over {}, on {target}. {}. Measured {when}{with}.",
        run.in_flight(),
        count(plan.connections, "connection"),
        list(&machines),
    )
}

fn machine(run: &Run) -> String {
    let machine = &run.environment;
    let virtual_machine = machine.more.get("virtual machine").is_some_and(|value| value == "yes");
    let kind = if virtual_machine { ", a virtual machine" } else { "" };
    format!(
        "{} ({}{kind}, {}, {})",
        count(machine.cores.into(), "core"),
        escape(&plain(&machine.cpu)),
        escape(&plain(&machine.kernel)),
        escape(plain(&machine.compiler).split(" (").next().unwrap_or_default()),
    )
}

/// One row per scenario and driver, four columns per arrangement: CPU time, ratio with verdict, statements per second with verdict, and
/// the server's CPU time. A verdict that not all runs gave is followed by how many did.
fn table(analysis: &Analysis, combined: Option<&Combined>) -> String {
    let (run, Some(reference)) = (analysis.run(), analysis.reference()) else { return String::new() };
    let over = escape(&short(run, reference));
    let mut heads = vec!["scenario".to_owned(), "driver".to_owned()];
    let mut rules = vec!["---".to_owned(); 2];
    for arrangement in &run.plan.arrangements {
        heads.extend([
            format!("{} CPU us", code(&arrangement.id)),
            format!("vs {over} (95 %)"),
            "statements/s".to_owned(),
            "server us".to_owned(),
        ]);
        rules.extend(["---:", "---", "---", "---:"].map(str::to_owned));
    }
    let mut out = String::new();
    line(&mut out, &heads);
    line(&mut out, &rules);
    for scenario in &run.scenarios {
        for driver in drivers(run) {
            let mut fields = vec![escape(&plain(&scenario.name)), escape(&short(run, driver))];
            for arrangement in &run.plan.arrangements {
                let place = Place { scenario, arrangement };
                let row = |meter| analysis.row(place, driver, meter);
                let [cost, mut ratio, mut rate] = judgement(row(CPU_PER_STATEMENT), row(THROUGHPUT));
                let server = row(SERVER_CPU_PER_STATEMENT).filter(|_| !rate.is_empty()).and_then(|row| row.level);
                for (field, meter) in [(&mut ratio, CPU_PER_STATEMENT), (&mut rate, THROUGHPUT)] {
                    if let Some(held) = combined.and_then(|one| one.held_in_some(place, driver, meter)) {
                        field.push_str(&format!(", {held}"));
                    }
                }
                fields.extend([cost, ratio, rate, server.map_or(String::new(), three_digits)]);
            }
            line(&mut out, &fields);
        }
    }
    out
}

fn judgement(cpu: Option<&SummaryRow>, throughput: Option<&SummaryRow>) -> [String; 3] {
    let instead = |word: &str| [format!("**{word}**"), String::new(), String::new()];
    let (row, level) = match cpu {
        Some(SummaryRow { failed: Some(_), .. }) => return instead("failed"),
        Some(SummaryRow { void: Some(_), .. }) => return instead("void"),
        Some(row @ SummaryRow { level: Some(level), .. }) => (row, *level),
        _ => return instead("missing"),
    };
    let of_rate = throughput.and_then(|row| {
        let verdict = match row {
            SummaryRow { interval: Some(_), verdict: None, bottleneck: Some(Bottleneck::Server), .. } => {
                "server-bound".to_owned()
            }
            SummaryRow { interval: Some(_), .. } => verdict(row),
            _ => String::new(),
        };
        Some(format!("{} {verdict}", rate(row.level?)).trim_end().to_owned())
    });
    [three_digits(level), ratio(row), of_rate.unwrap_or_default()]
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use cqldyno_reports::{Cell, Measure, Pass, Unit};

    use super::*;
    use crate::sample;

    fn shown(run: Run, cells: Vec<Cell>) -> String {
        Front::of(&[published("2026-01-02/blocks", run, cells)]).unwrap().section("2026-01-02")
    }

    fn published(folder: &str, run: Run, cells: Vec<Cell>) -> PublishedRun {
        let (folder, recorded) = (Path::new(folder), Recorded { run, cells, notes: Vec::new() });
        PublishedRun { name: name_of(folder), folder: folder.to_path_buf(), recorded }
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
        assert!(text.contains("The lead is in doubt for writes and reads on `multi:2`.**"), "{text}");
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
