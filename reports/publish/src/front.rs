//! What a README shows of published runs, in GitHub's Markdown: every figure in it is read from them.

use cqldyno_reports::measure::{CPU_PER_STATEMENT, SERVER_CPU_PER_STATEMENT, THROUGHPUT};
use cqldyno_reports::{
    Analysis, Bottleneck, Combined, Contender, EXPORTERS, Look, PACKED_CELLS, Place, Recorded, Role, Run, SummaryRow,
    Verdict, count, escape, list, plain, short, three_digits, whole,
};

use crate::carried;
use crate::store::{CELLS, is_of_a_plan, unnumbered};

/// A published run and the name of its folder.
pub(crate) struct Shown<'a> {
    pub name: &'a str,
    pub run: &'a Recorded,
}

/// What a date is shown by: its run of most blocks, or all runs of that plan together.
pub(crate) struct Front<'a> {
    analysis: Analysis<'a>,
    /// All runs of the plan.
    runs: Vec<&'a Run>,
    /// If there are several.
    combined: Option<Combined<'a>>,
}

impl<'a> Front<'a> {
    /// `None` without a run that compares all drivers.
    pub fn of(shown: &[Shown<'a>]) -> Option<Front<'a>> {
        let compares_drivers = |one: &&Shown| one.run.run.plan.releases.is_empty() && is_of_a_plan(one.name);
        let most = shown.iter().filter(compares_drivers).max_by_key(|one| one.run.run.plan.blocks)?;
        let plan = shown.iter().filter(|one| unnumbered(one.name) == unnumbered(most.name));
        let named: Vec<(String, Analysis)> =
            plan.map(|one| (one.name.to_owned(), Analysis::new(&one.run.run, &one.run.cells))).collect();
        Some(match Combined::of(&named) {
            Ok(combined) => Front {
                analysis: combined.analysis().clone(),
                runs: named.iter().map(|(_, one)| one.run()).collect(),
                combined: Some(combined),
            },
            Err(_) => Front {
                analysis: Analysis::new(&most.run.run, &most.run.cells),
                runs: vec![&most.run.run],
                combined: None,
            },
        })
    }

    /// That of the run, or of all together.
    pub fn analysis(&self) -> &Analysis<'a> {
        &self.analysis
    }

    /// How many runs it is of.
    pub fn runs(&self) -> usize {
        self.runs.len()
    }

    /// The section of the repository's README.
    pub fn section(&self, date: &str) -> String {
        let folder = format!("reports/published/{date}");
        let analysis = &self.analysis;
        format!(
            "{}{}{}{}\n{}\n\nCPU us is CPU time per statement, and server us is the server's: less is better. By CPU time a driver is *cheaper* or *dearer*, \
             by statements per second *faster* or *slower*, if the whole interval lies more than 2 % from 1 ([how verdicts are read](harness/METHOD.md#what-does-a-verdict-mean)). `current` is tokio on one thread, `multi:2` on two; cassandra-cpp has an I/O thread of its own on both.{}\n\n\
             {}. {} [Raw data, all columns and a page with charts]({folder}).",
            picture(&format!("{folder}/chart.svg")),
            warnings(analysis),
            choices(analysis).map_or(String::new(), |text| format!("**{text}**\n\n")),
            findings(analysis),
            table(analysis, self.combined.as_ref()).trim_end(),
            self.combined.as_ref().map_or(String::new(), |one| format!("\n\n{}", of_all(one, "harness/METHOD.md"))),
            drivers(analysis.run()).map(|one| escape(&plain(&one.label))).collect::<Vec<_>>().join(", "),
            asked(&self.runs, date),
        )
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
            of_all(combined, "../../../harness/METHOD.md"),
        ))
    }
}

/// How a combined table is to be read.
fn of_all(combined: &Combined, method: &str) -> String {
    format!(
        "Every run gave the same verdicts, unless *1 of {}* or the like follows ([does it hold tomorrow?]({method}#does-it-hold-tomorrow)). {}",
        combined.runs(),
        escape(&combined.remarks().join(" ")),
    )
}

/// The README of a date's folder.
pub(crate) fn of_date(date: &str, shown: &[Shown], front: Option<&Front>, notes: &str) -> String {
    let mut out = format!("# What was measured on {date}\n\n");
    if !notes.trim().is_empty() {
        out.push_str(&format!("{}\n\n", notes.trim()));
    }
    if let Some(front) = front {
        out.push_str(&picture("chart.svg"));
        out.push_str(&front.together(date).unwrap_or_default());
    }
    out.push_str(&carried::tables(shown));
    for Shown { name, run: Recorded { run, cells, notes } } in shown {
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
             {all} as measured, and the histogram of each cell\n\n",
            file = if run.plan.turns.is_some() { PACKED_CELLS } else { CELLS },
            all = match run.plan.turns {
                None => count(cells.len() as u64, "cell"),
                Some(_) => format!("{} turns and cells", whole(cells.len() as f64)),
            },
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

fn drivers(run: &Run) -> impl Iterator<Item = &Contender> {
    run.contenders.iter().filter(|one| one.role == Role::Driver && !one.control)
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

/// Which driver to choose for what: the ones that needed the least CPU time alone.
fn choices(analysis: &Analysis) -> Option<String> {
    let run = analysis.run();
    let choice = |driver: &Contender| {
        let is_first = |place: &Place| matches!(analysis.least(*place)[..], [only] if only.id == driver.id);
        // Scenarios by the arrangements in which the driver is first.
        let mut won: Vec<(Vec<String>, Vec<String>)> = Vec::new();
        for scenario in &run.scenarios {
            let places = analysis.places().filter(|place| place.scenario.name == scenario.name).filter(is_first);
            let on: Vec<String> = places.map(|place| code(&place.arrangement.id)).collect();
            let name = escape(&plain(&scenario.name));
            match won.iter_mut().find(|(known, _)| *known == on) {
                Some((_, names)) => names.push(name),
                None => won.push((on, vec![name])),
            }
        }
        let of = |(on, names): &(Vec<String>, Vec<String>)| match on.len() {
            0 => None,
            all if all == run.plan.arrangements.len() => Some(list(names)),
            _ => Some(format!("{} on {}", list(names), list(on))),
        };
        let places: Vec<String> = won.iter().filter_map(of).collect();
        (!places.is_empty()).then(|| format!("choose {} for {}", escape(&short(run, driver)), places.join(" and for ")))
    };
    let said = drivers(run).filter_map(choice).collect::<Vec<_>>().join("; ");
    (!said.is_empty()).then(|| format!("By CPU time, {said}."))
}

/// What was asked, with which command, on what; the runs have one plan.
fn asked(runs: &[&Run], date: &str) -> String {
    let run = runs[0];
    let plan = &run.plan;
    let several = if runs.len() > 1 { format!("{} runs of ", runs.len()) } else { String::new() };
    let blocks = match (plan.turns, plan.blocks) {
        (Some(turns), _) => {
            let generations: Vec<String> = runs.iter().map(|run| run.blocks().to_string()).collect();
            let rounds = count(turns.rounds.into(), "round");
            format!("{} generations of {rounds}, with turns of {}", list(&generations), whole(turns.count as f64))
        }
        (None, 1) => run.statements(|number| whole(number as f64)),
        (None, blocks) => format!("{blocks} blocks of {}", run.statements(|number| whole(number as f64))),
    };
    let target = if plan.target.embedded { "the embedded cluster".to_owned() } else { escape(&plain(&plan.target.id)) };
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

pub(crate) fn code(text: &str) -> String {
    format!("`{}`", plain(text).replace('`', "'"))
}

pub(crate) fn line(out: &mut String, fields: &[String]) {
    out.push_str(&format!("| {} |\n", fields.join(" | ")));
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

fn judgement(cpu: Option<&SummaryRow>, rate: Option<&SummaryRow>) -> [String; 3] {
    let instead = |word: &str| [format!("**{word}**"), String::new(), String::new()];
    let (row, level) = match cpu {
        Some(SummaryRow { failed: Some(_), .. }) => return instead("failed"),
        Some(SummaryRow { void: Some(_), .. }) => return instead("void"),
        Some(row @ SummaryRow { level: Some(level), .. }) => (row, *level),
        _ => return instead("missing"),
    };
    let ratio = match (row.ratio, row.interval) {
        (Some(ratio), Some([low, high])) => format!("{ratio:.2} ({low:.2}-{high:.2}) {}", verdict(row.verdict)),
        _ => String::new(),
    };
    let rate = rate.and_then(|row| {
        let verdict = match row {
            SummaryRow { interval: Some(_), verdict: None, bottleneck: Some(Bottleneck::Server), .. } => {
                "server-bound".to_owned()
            }
            SummaryRow { interval: Some(_), .. } => verdict(row.verdict),
            _ => String::new(),
        };
        Some(format!("{} {verdict}", rounded(row.level?)).trim_end().to_owned())
    });
    [three_digits(level), ratio, rate.unwrap_or_default()]
}

pub(crate) fn verdict(verdict: Option<Verdict>) -> String {
    match verdict {
        Some(one) if one.is_better() || one.is_worse() => format!("**{}**", one.name()),
        Some(one) => one.name().to_owned(),
        None => "no verdict".to_owned(),
    }
}

/// Three digits with a unit, for example `753k` or `1.04M`.
fn rounded(rate: f64) -> String {
    match rate {
        rate if rate >= 999_500.0 => format!("{}M", three_digits(rate / 1e6)),
        rate if rate >= 999.5 => format!("{}k", three_digits(rate / 1e3).trim_end_matches(".0")),
        rate => whole(rate),
    }
}

#[cfg(test)]
mod tests {
    use cqldyno_reports::{Cell, Measure, Pass, Unit};

    use super::*;
    use crate::sample;

    fn shown(run: Run, cells: Vec<Cell>) -> String {
        let recorded = Recorded { run, cells, notes: Vec::new() };
        Front::of(&[Shown { name: "blocks", run: &recorded }]).unwrap().section("2026-01-02")
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
    fn rates_have_three_digits_and_a_unit() {
        let all = [512.0, 1_046.0, 99_960.0, 753_211.0, 1_043_000.0];
        assert_eq!(all.map(rounded).join(" "), "512 1.05k 100k 753k 1.04M");
    }
}
