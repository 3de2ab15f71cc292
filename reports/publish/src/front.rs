//! What a README shows of published runs, in GitHub's Markdown: every figure in it is read from them.

use cqldyno_reports::measure::{
    CPU_PER_STATEMENT, SERVER_CPU_PER_STATEMENT, SYS, SYSCALLS_PER_STATEMENT, THROUGHPUT, USER, WALL,
};
use cqldyno_reports::{
    ArrangementInfo, Attempts, Bottleneck, Cell, Contender, Recorded, Role, Run, Summary, SummaryRow, Verdict, command,
    comparable, count, escape, headline, is_control, places, plain, reference, short, three_digits, time, whole,
};

use crate::shortened::short_command;

/// A published run and the name of its folder.
pub(crate) struct Shown<'a> {
    pub name: &'a str,
    pub run: &'a Recorded,
}

/// The section of the repository's README.
pub(crate) fn front(date: &str, shown: &[Shown], notes: &str) -> String {
    let folder = format!("reports/published/{date}");
    let mut out = String::new();
    for one in judged(shown) {
        let Recorded { run, cells, .. } = one.run;
        let summary = Summary::new(run, cells);
        out.push_str(&format!("{}\n\n", asked(run, date)));
        warn(&mut out, &summary);
        headlines(&mut out, run, &summary);
        out.push_str(&picture(&format!("{folder}/chart.svg")));
        out.push_str(&verdicts(run, &summary));
        out.push_str(&format!("{}\n\n", how_judged(run, &summary)));
    }
    for one in shown.iter().filter(|one| !is_judged(one.run)) {
        let Recorded { run, cells, .. } = one.run;
        let summary = Summary::new(run, cells);
        out.push_str(&format!("{}\n\n", asked(run, date)));
        warn(&mut out, &summary);
        if judged(shown).next().is_none() {
            out.push_str(&picture(&format!("{folder}/chart.svg")));
        }
        for arrangement in &run.plan.arrangements {
            out.push_str(&times(run, &summary, arrangement));
        }
        out.push_str(&format!("{}\n\n", how_measured(run, &summary, cells)));
        out.extend(system_calls(run, &summary, "scenarios/ARRANGEMENTS.md").map(|text| format!("{text}\n\n")));
    }
    tell(&mut out, notes);
    out.push_str(&format!(
        "The raw data, every column, the notes on each driver, and a page with charts to open in a browser are in \
         [{folder}]({folder})."
    ));
    out
}

/// The README of a date's folder.
pub(crate) fn of_date(date: &str, shown: &[Shown], notes: &str) -> String {
    let mut out = format!("# What was measured on {date}\n\n");
    tell(&mut out, notes);
    for one in judged(shown) {
        let Recorded { run, cells, .. } = one.run;
        headlines(&mut out, run, &Summary::new(run, cells));
    }
    out.push_str(&picture("chart.svg"));
    for Shown { name, run: Recorded { run, cells, notes } } in shown {
        out.push_str(&format!("## [{name}]({name})\n\n{}\n\n", asked(run, date)));
        for note in notes {
            out.push_str(&format!("> {}\n\n", escape(note)));
        }
        warn(&mut out, &Summary::new(run, cells));
        out.push_str(&format!(
            "- [table.md]({name}/table.md): every table with the notes on each driver, as GitHub shows it\n\
             - [page.html]({name}/page.html): the same with charts, to be opened in a browser (GitHub shows its source)\n\
             - [run.json]({name}/run.json), [cells.jsonl]({name}/cells.jsonl) and [hdr]({name}/hdr): what was asked of whom, {} as \
             measured, and the histogram of each\n\n\
             The same again, with every value said:\n\n```\n{}\n```\n\n",
            count(cells.len() as u64, "cell"),
            command(run).replace("```", "` ` `")
        ));
    }
    out.push_str(
        "[reports/README.md](../../README.md) says what is in a run folder and what is checked of a published one; `cqldyno report \
         DIR --format csv` gives one row a measure. The logs of the workers are not kept here.\n",
    );
    out
}

/// Runs with intervals.
fn judged<'a>(shown: &'a [Shown<'a>]) -> impl Iterator<Item = &'a Shown<'a>> {
    shown.iter().filter(|one| is_judged(one.run))
}

fn is_judged(recorded: &Recorded) -> bool {
    let rows = Summary::new(&recorded.run, &recorded.cells).rows;
    rows.iter().any(|row| row.meter == CPU_PER_STATEMENT && row.interval.is_some())
}

fn picture(path: &str) -> String {
    format!("![CPU time a statement by scenario, driver and arrangement]({path})\n\n")
}

fn tell(out: &mut String, notes: &str) {
    if !notes.trim().is_empty() {
        out.push_str(&format!("{}\n\n", notes.trim()));
    }
}

fn warn(out: &mut String, summary: &Summary) {
    for warning in &summary.warnings {
        out.push_str(&format!("> **Warning.** {}\n\n", escape(warning)));
    }
}

fn headlines(out: &mut String, run: &Run, summary: &Summary) {
    for sentence in headline(run, summary) {
        out.push_str(&format!("- {}\n", escape(&sentence)));
    }
    out.push('\n');
}

/// What was asked, by which command, on what.
fn asked(run: &Run, date: &str) -> String {
    let plan = &run.plan;
    let blocks = match plan.blocks {
        1 => String::new(),
        blocks => format!("{blocks} blocks of "),
    };
    let target = if plan.target.embedded { "the embedded cluster".to_owned() } else { escape(&plain(&plan.target.id)) };
    let passes = match plan.counting_count {
        0 => String::new(),
        all => format!(" System calls were counted in cells of their own, of {} statements.", whole(all as f64)),
    };
    format!(
        "{blocks}{} prepared statements through each driver, {} in flight over {}, on {target}; measured on {date} by `{}` on {}.\
         {passes}",
        whole(plan.count as f64),
        whole(plan.concurrency as f64),
        count(plan.connections, "connection"),
        short_command(run).replace('`', "'"),
        machine(run),
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

/// An arrangement as a reader says it.
fn title(arrangement: &ArrangementInfo) -> String {
    let runtime = match arrangement.runtime.split_once(':') {
        Some(("multi", workers)) => {
            let plural = if workers == "1" { "" } else { "s" };
            format!("tokio's multi-thread runtime with {} worker{plural}", escape(&plain(workers)))
        }
        _ if arrangement.runtime == "current" => "tokio's current-thread runtime".to_owned(),
        _ => escape(&plain(&arrangement.runtime)),
    };
    let cores = match arrangement.server_cores == arrangement.worker_cores {
        _ if arrangement.id.starts_with("pinned+") => "worker and server on cores of their own",
        true => "worker and server on the same cores",
        false => "worker and server on cores that differ",
    };
    format!("**{runtime}** (`{}`; {cores})\n\n", plain(&arrangement.id).replace('`', "'"))
}

fn row<'a>(
    summary: &'a Summary,
    contender: &Contender,
    scenario: &str,
    arrangement: &ArrangementInfo,
    meter: &str,
) -> Option<&'a SummaryRow> {
    summary.rows.iter().find(|row| {
        row.contender == contender.id
            && row.scenario == scenario
            && row.arrangement == arrangement.id
            && row.meter == meter
    })
}

fn line(out: &mut String, fields: &[String]) {
    out.push_str(&format!("| {} |\n", fields.join(" | ")));
}

/// CPU time a statement with ratio and verdict: one row a scenario and driver, three columns an arrangement.
fn verdicts(run: &Run, summary: &Summary) -> String {
    let Some(reference) = reference(run) else { return String::new() };
    let over = escape(&short(run, reference));
    let mut heads = vec!["scenario".to_owned(), "driver".to_owned()];
    let mut rules = vec!["---".to_owned(); 2];
    for arrangement in &run.plan.arrangements {
        let id = plain(&arrangement.id).replace('`', "'");
        heads.extend([format!("`{id}` CPU us"), format!("over {over}'s (95 %)"), "verdict".to_owned()]);
        rules.extend(["---:".to_owned(), "---:".to_owned(), "---".to_owned()]);
    }
    let mut out = String::new();
    line(&mut out, &heads);
    line(&mut out, &rules);
    for scenario in &run.scenarios {
        for contender in run.contenders.iter().filter(|one| one.role == Role::Driver && !one.control) {
            let mut fields = vec![escape(&plain(&scenario.name)), escape(&plain(&contender.label))];
            for arrangement in &run.plan.arrangements {
                let row = row(summary, contender, &scenario.name, arrangement, CPU_PER_STATEMENT);
                fields.extend(judgement(row, contender.id == reference.id));
            }
            line(&mut out, &fields);
        }
    }
    out.push('\n');
    out
}

fn judgement(row: Option<&SummaryRow>, is_reference: bool) -> [String; 3] {
    let instead = |word: &str| [format!("**{word}**"), String::new(), String::new()];
    let (row, median) = match row {
        Some(SummaryRow { failed: Some(_), .. }) => return instead("failed"),
        Some(SummaryRow { void: Some(_), .. }) => return instead("void"),
        Some(row @ SummaryRow { median: Some(median), .. }) => (row, *median),
        _ => return instead("missing"),
    };
    let ratio = match (row.ratio, row.interval) {
        _ if is_reference => "1".to_owned(),
        (Some(ratio), Some([low, high])) => format!("{ratio:.3} ({low:.3} to {high:.3})"),
        (Some(ratio), None) => format!("{ratio:.3}"),
        (None, _) => String::new(),
    };
    let verdict = match row.verdict {
        _ if is_reference => "reference",
        Some(Verdict::Faster) => "**faster**",
        Some(Verdict::Slower) => "**slower**",
        Some(Verdict::Same) => "same",
        Some(Verdict::Inconclusive) => "inconclusive",
        None => "none",
    };
    [three_digits(median), ratio, verdict.to_owned()]
}

/// What a verdict is read from, and what the control said.
fn how_judged(run: &Run, summary: &Summary) -> String {
    let Some(reference) = reference(run) else { return String::new() };
    let over = escape(&short(run, reference));
    let mut text = format!(
        "CPU us is the median over the blocks of the driver's CPU time a statement, in user mode and in the kernel. The ratios are \
         those to {over} within blocks, in which a cell that others slowed down weighs little, so that they are not the quotients of two \
         medians; their 95 % intervals hold for all comparisons of the run at once; *faster* and *slower* \
         mean that the whole interval lies beyond 2 %, *same* that it lies within."
    );
    let controls: Vec<&SummaryRow> = summary
        .rows
        .iter()
        .filter(|row| row.meter == CPU_PER_STATEMENT && is_control(&row.contender, row.control, reference))
        .collect();
    let ratios: Vec<f64> = controls.iter().filter_map(|row| row.ratio.filter(|_| row.interval.is_some())).collect();
    if summary.warnings.is_empty() && !ratios.is_empty() && ratios.len() == controls.len() {
        let low = ratios.iter().copied().fold(f64::INFINITY, f64::min);
        let high = ratios.iter().copied().fold(0.0, f64::max);
        text.push_str(&format!(
            " The control, {over} once more under a second name, cost {low:.3} to {high:.3} times as much as {over}, and each of its \
             intervals holds 1."
        ));
    }
    text
}

/// A figure as it stands in a table.
type Show = fn(f64) -> String;

/// The classic table of one arrangement: what `time` prints, and what explains it.
fn times(run: &Run, summary: &Summary, arrangement: &ArrangementInfo) -> String {
    let mut out = title(arrangement);
    out.push_str(
        "| scenario | contender | real | user | sys | statements/s | CPU us | system calls | server CPU us |\n\
         | --- | --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: |\n",
    );
    let meters: [(&str, Show); 7] = [
        (WALL, time),
        (USER, time),
        (SYS, time),
        (THROUGHPUT, whole),
        (CPU_PER_STATEMENT, three_digits),
        (SYSCALLS_PER_STATEMENT, three_digits),
        (SERVER_CPU_PER_STATEMENT, three_digits),
    ];
    for (scenario, _) in places(run).filter(|(_, one)| one.id == arrangement.id) {
        for contender in run.contenders.iter().filter(|one| !one.control) {
            let mut fields = vec![escape(&plain(&scenario.name)), escape(&plain(&contender.label))];
            fields.extend(meters.iter().map(|(meter, show)| {
                match row(summary, contender, &scenario.name, arrangement, meter) {
                    Some(SummaryRow { failed: Some(_), .. }) => "**failed**".to_owned(),
                    Some(SummaryRow { void: Some(_), .. }) => "**void**".to_owned(),
                    Some(row @ SummaryRow { median: Some(median), .. }) => match limited(row) {
                        Some(word) => format!("{} ({word})", show(*median)),
                        None => show(*median),
                    },
                    _ => "n/a".to_owned(),
                }
            }));
            line(&mut out, &fields);
        }
    }
    out.push('\n');
    out
}

/// A throughput is never shown without a word where it is the server's.
fn limited(row: &SummaryRow) -> Option<&'static str> {
    let limit = row.bottleneck.filter(|limit| *limit == Bottleneck::Server && row.meter == THROUGHPUT);
    limit.map(Bottleneck::name)
}

/// What holds for every row.
fn how_measured(run: &Run, summary: &Summary, cells: &[Cell]) -> String {
    let of = Attempts::of(cells);
    let all_count = cells.iter().filter(|cell| of.counts(cell)).all(Cell::counts);
    let held = match all_count && run.plan.target.embedded {
        true => format!(
            " In none of the {} did a statement fail; every selected row was verified, and the server counted as many EXECUTEs, over \
             {} a driver, as the worker issued.",
            count(cells.len() as u64, "cell"),
            count(run.plan.connections, "data connection"),
        ),
        false => String::new(),
    };
    let server_bound = match summary.rows.iter().filter(|row| !row.control && comparable(row)).find_map(limited) {
        Some(word) => {
            format!(" Where it says *{word}*, the server and not the driver limited real time and statements/s.")
        }
        None => String::new(),
    };
    format!(
        "CPU time, system calls and server CPU time are a statement's, in microseconds and calls. `floor` is a minimal client of ours, \
         the least that a client costs on this machine; `noop` sends nothing and is what the harness costs.{server_bound}{held}"
    )
}

/// How the system calls of the first scenario change with the arrangement.
fn system_calls(run: &Run, summary: &Summary, why: &str) -> Option<String> {
    let scenario = run.scenarios.first()?;
    let [first, second, ..] = run.plan.arrangements.as_slice() else { return None };
    let drivers = run.contenders.iter().filter(|one| one.role == Role::Driver && !one.control);
    let of = |contender, arrangement| {
        row(summary, contender, &scenario.name, arrangement, SYSCALLS_PER_STATEMENT)?.median.map(three_digits)
    };
    let said: Vec<String> = drivers
        .filter_map(|one| {
            Some(format!("{} makes {} and {}", escape(&short(run, one)), of(one, first)?, of(one, second)?))
        })
        .collect();
    (!said.is_empty()).then(|| {
        format!(
            "The arrangement is part of a figure ([why]({why})): of system calls a statement of {}, on `{}` and on `{}`, {}.",
            escape(&plain(&scenario.name)),
            plain(&first.id).replace('`', "'"),
            plain(&second.id).replace('`', "'"),
            said.join(", ")
        )
    })
}

#[cfg(test)]
mod tests {
    use cqldyno_reports::Pass;

    use super::*;
    use crate::sample;

    #[test]
    fn a_row_of_which_every_block_failed_is_failed_and_not_missing() {
        let (run, mut cells) = sample::blocks(12);
        for cell in cells.iter_mut().filter(|cell| cell.contender == "cdrs-tokio" && cell.pass == Pass::Timing) {
            cell.measures.clear();
            cell.failed = Some("It crashed.".to_owned());
        }
        let text = verdicts(&run, &Summary::new(&run, &cells));
        assert!(text.contains("| writes | cdrs-tokio@9.0.2 | **failed** |"), "{text}");
        assert!(text.contains("| writes | cassandra-cpp | **missing** |"), "{text}");
    }

    #[test]
    fn a_throughput_that_is_the_servers_says_so_in_its_field_and_below() {
        let (mut run, cells) = sample::blocks(1);
        run.contenders.retain(|one| !one.control);
        let recorded = Recorded { run, cells, notes: Vec::new() };
        let of = |recorded: &Recorded| front("2026-01-02", &[Shown { name: "classic", run: recorded }], "");
        let text = of(&recorded);
        let lines = |who: &str| -> Vec<&str> { text.lines().filter(|line| line.contains(who)).collect() };
        assert!(!lines("| floor@").is_empty());
        assert!(lines("| floor@").iter().all(|line| line.matches(" (server-bound) |").count() == 1), "{text}");
        assert!(lines("| scylla@").iter().all(|line| !line.contains("server-bound")), "{text}");
        assert!(text.contains("Where it says *server-bound*, the server and not the driver limited"), "{text}");
        let mut freed = recorded.clone();
        freed.cells.retain(|cell| !["floor", "noop"].contains(&cell.contender.as_str()));
        assert!(!of(&freed).contains("server-bound"));
    }
}
