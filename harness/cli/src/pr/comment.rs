//! The comment on a change: at most twenty lines of Markdown, the finding in the first.

use std::time::Duration;

use cqldyno_reports::{
    Analysis, Pass, Run, count, escape, lasting, list, percent, three_digits, whole, why_passes_left_out,
};
use cqldyno_scenarios::Scenario;

use super::judge::{COUNTS, CPU_TIME, Judged, Least, Line, names, unjudged};
use super::plan::{Change, Side, WORKING_TREE};

/// Rows of its table at most; there are eight other lines.
const MOST_ROWS: usize = 12;
/// Findings that the first line names.
const NAMED: usize = 2;

/// What a comment is written from.
pub struct Comment<'a> {
    pub change: &'a Change,
    /// The first run.
    pub analysis: &'a Analysis<'a>,
    pub lines: &'a [Line],
    pub scenarios: &'a [Scenario],
    /// Why a statement is dearer, by scenarios; `None` if nobody asked.
    pub explained: Option<Vec<(String, String)>>,
    /// From the first build on.
    pub lasted: Duration,
}

impl Comment<'_> {
    /// The comment.
    pub fn text(&self) -> String {
        let run = self.analysis.run();
        let mut lines = vec![self.finding(), String::new()];
        let left_out = self.table(run, &mut lines);
        let notes = self.notes(left_out);
        if !notes.is_empty() {
            lines.extend([String::new(), notes.join(" ")]);
        }
        lines.extend([String::new(), self.how(run)]);
        lines.join("\n") + "\n"
    }

    /// The first line.
    fn finding(&self) -> String {
        let (driver, head, base) = (&self.change.driver, said(&self.change.head), escape(&self.change.base.name));
        let found = |wanted: &Judged| -> Vec<&Line> {
            self.lines.iter().filter(|line| line.is_finding() && line.judged == *wanted).collect()
        };
        let (dearer, cheaper) = (found(&Judged::Dearer), found(&Judged::Cheaper));
        let unconfirmed: Vec<&Line> = self.lines.iter().filter(|line| line.confirmed == Some(false)).collect();
        let open = unjudged(self.lines);
        let is_known = |line: &Line| !open.contains(&line.scenario.as_str());
        let mut text = match (dearer.as_slice(), cheaper.as_slice()) {
            ([], []) if !self.lines.iter().any(is_known) => {
                return format!("{driver} {head} cannot be judged: {}", self.why(None));
            }
            ([], []) => format!("{driver} {head}: no finding against {base}."),
            ([], some) => format!("{driver} {head} is cheaper: {}, confirmed by a second run.", several(some)),
            (some, []) => format!("{driver} {head} is dearer: {}, confirmed by a second run.", several(some)),
            (some, others) => {
                let (more, fewer) = (several(some), several(others));
                format!("{driver} {head} is dearer: {more}, confirmed by a second run. It also has {fewer}.")
            }
        };
        if !unconfirmed.is_empty() {
            text += &format!(" A second run did not confirm {}.", several(&unconfirmed));
        }
        let open_changes: Vec<&Line> =
            self.lines.iter().filter(|line| line.judged.is_change() && line.confirmed.is_none()).collect();
        if !open_changes.is_empty() {
            text += &format!(" A second run could not look at {}.", several(&open_changes));
        }
        if let Some(why) = why_passes_left_out(self.analysis.run()) {
            text += &format!(" {why}; give it more with --within.");
        }
        if let Some(first) = open.first() {
            let all: Vec<String> = open.iter().map(|name| escape(name)).collect();
            text += &format!(" It cannot be judged for {}: {}", list(&all), self.why(Some(first)));
        }
        text
    }

    /// Why nothing is known, or nothing of a scenario.
    fn why(&self, scenario: Option<&str>) -> String {
        let unavailable = self.analysis.run().contenders.iter().find_map(|one| one.unavailable.clone());
        let unknown = |line: &Line| match &line.judged {
            Judged::Unknown(why) if scenario.is_none_or(|name| line.scenario == name) => Some(why.clone()),
            _ => None,
        };
        let why = unavailable.or_else(|| self.lines.iter().find_map(unknown));
        escape(&why.unwrap_or_else(|| "the run was ended early.".to_owned()))
    }

    /// Appends the table, and returns how many rows have no room in it.
    fn table(&self, run: &Run, lines: &mut Vec<String>) -> usize {
        let Some([[base, _], [head, _]]) = names(run) else { return 0 };
        let of = |side: &Side, one: &cqldyno_reports::Contender| {
            let built = one.built.as_ref();
            let revision =
                built.and_then(|built| built.revision.as_ref()).map(|revision| &revision[..7.min(revision.len())]);
            let dirty = built.filter(|built| built.dirty).map(|_| "dirty");
            let name = if side.name == WORKING_TREE { "working tree" } else { side.name.as_str() };
            let more: Vec<&str> = revision.filter(|short| *short != name).into_iter().chain(dirty).collect();
            escape(&[&[name][..], &more].concat().join(" "))
        };
        let (base, head) = (of(&self.change.base, base), of(&self.change.head, head));
        lines.push(format!("| per | | {base} | {head} | change | noise | |"));
        lines.push("| --- | --- | ---: | ---: | ---: | ---: | --- |".to_owned());
        let left_out = self.lines.len().saturating_sub(MOST_ROWS);
        let mut open = left_out;
        let has_room = |line: &&Line| {
            let goes = open > 0 && line.confirmed.is_none();
            open -= usize::from(goes);
            !goes
        };
        lines.extend(self.lines.iter().filter(has_room).take(MOST_ROWS).map(row));
        left_out
    }

    fn notes(&self, left_out: usize) -> Vec<String> {
        let mut notes = Vec::new();
        if left_out > 0 {
            notes.push(format!("Left out: {}.", count(left_out as u64, "more row")));
        }
        let unsteady = |line: &&Line| line.base.is_some() && line.interval.is_none() && !line.is_exact();
        let unsteady = self.lines.iter().filter(|line| line.meter != &CPU_TIME).filter(unsteady);
        let unsteady: Vec<String> =
            unsteady.map(|line| format!("{} per {}", line.meter.name, per(&line.scenario))).collect();
        if !unsteady.is_empty() {
            notes.push(format!("Not exact here: {}; a change there must be three times the noise.", list(&unsteady)));
        }
        let more = |line: &Line| Some(format!("More per {}: {}.", per(&line.scenario), line.more.as_ref()?));
        let is_dearer = |line: &&Line| line.is_finding() && line.judged == Judged::Dearer;
        let explained = self.explained.iter().flatten();
        let explained: Vec<String> =
            explained.map(|(scenario, why)| format!("Why a {} is dearer: {why}", per(scenario))).collect();
        match explained.is_empty() {
            true => notes.extend(self.lines.iter().filter(is_dearer).filter_map(more)),
            false => notes.extend(explained),
        }
        if self.explained.is_none() && self.lines.iter().any(|line| is_dearer(&line)) {
            notes.push("`--explain` names the functions and system calls that head has more of.".to_owned());
        }
        let mut reasons: Vec<(&str, Vec<String>)> = Vec::new();
        for line in self.lines {
            let Judged::Unknown(why) = &line.judged else { continue };
            let what = format!("{} per {}", line.meter.name, per(&line.scenario));
            match reasons.iter_mut().find(|(known, _)| *known == why.as_str()) {
                Some((_, all)) => all.push(what),
                None => reasons.push((why, vec![what])),
            }
        }
        let reasons = reasons.iter().map(|(why, what)| format!("n/a, {}: {}", list(what), escape(why)));
        notes.extend(reasons);
        notes
    }

    /// How it was measured, in one line.
    fn how(&self, run: &Run) -> String {
        let arrangement = run.plan.arrangements.first().map_or("", |one| one.id.as_str());
        let has = |pass| run.plan.passes.contains(&pass);
        let callgrind = self.analysis.cells().iter().any(|cell| cell.step.as_deref() == Some("callgrind"));
        let by = if has(Pass::Instructions) && callgrind { ", instructions by callgrind" } else { "" };
        let is_timed = self.lines.iter().any(|line| line.meter == &CPU_TIME);
        let generations = self.analysis.rows().iter().filter(|row| row.interval.is_some()).filter_map(|row| row.blocks);
        let time = match generations.min().filter(|_| is_timed) {
            Some(number) => format!(
                " CPU time: 95 % interval from {} of turns of {} statements.",
                count(number as u64, "generation"),
                run.statements(|number| whole(number as f64))
            ),
            None => String::new(),
        };
        let built = run.contenders.last().and_then(|head| head.built.as_ref());
        let calls = built.map(|built| self.change.exercised(self.scenarios, built)).unwrap_or_default();
        let exercised = match calls.as_slice() {
            [] => String::new(),
            calls => format!("Exercised: {}. ", list(calls)),
        };
        let timed = is_timed.then_some(&CPU_TIME);
        let least = COUNTS.iter().chain(timed).map(|meter| match meter.least {
            Least::Share(share) => format!("{} % of {}", percent(share), meter.name),
            Least::Count(number) => format!("{number} {}", meter.name),
        });
        format!(
            "{exercised}Measured in {} with builds, on {} and `{arrangement}`{by}. Base and head ran twice each; noise is how far two runs of one build \
             differ. A change counts above {}.{time}",
            lasting(self.lasted),
            count(run.environment.cores as u64, "core"),
            list(&least.collect::<Vec<_>>()),
        )
    }
}

/// A side as a sentence names it.
fn said(side: &Side) -> String {
    if side.name == WORKING_TREE { "in the working tree".to_owned() } else { format!("at {}", escape(&side.name)) }
}

/// What one statement of a scenario is called.
fn per(scenario: &str) -> String {
    match scenario {
        "writes" => "write".to_owned(),
        "reads" => "read".to_owned(),
        other => format!("statement of {}", escape(other)),
    }
}

/// The first changes in words, and how many there are besides.
fn several(lines: &[&Line]) -> String {
    let mut all: Vec<String> = lines.iter().take(NAMED).map(|line| words(line)).collect();
    if lines.len() > NAMED {
        all.push(format!("{} more", lines.len() - NAMED));
    }
    list(&all)
}

/// One change in words, for example `1.00 more system calls per write (2.01 -> 3.01)`.
fn words(line: &Line) -> String {
    let (Some(base), Some(head)) = (line.base, line.head) else { return String::new() };
    let is_time = line.meter == &CPU_TIME;
    let is_more = head > base;
    let by = match line.meter.least {
        Least::Share(_) => format!("{:.1} %", (head / base - 1.0).abs() * 100.0),
        Least::Count(_) => three_digits((head - base).abs()),
    };
    let which = match (is_more, is_time) {
        (true, _) => "more",
        (false, true) => "less",
        (false, false) => "fewer",
    };
    let unit = if is_time { " us" } else { "" };
    let (base, head) = (three_digits(base), three_digits(head));
    format!("{by} {which} {} per {} ({base} -> {head}{unit})", line.meter.name, per(&line.scenario))
}

fn row(line: &Line) -> String {
    let none = || "n/a".to_owned();
    let figure = |value: Option<f64>| value.map_or_else(none, three_digits);
    let signed = |share: f64| format!("{:+.1}", (share - 1.0) * 100.0);
    let change = match (line.meter.least, line.base.zip(line.head), line.ratio()) {
        (Least::Share(_), Some(_), Some(ratio)) => {
            let interval = line.interval.map(|[low, high]| format!(" ({} to {})", signed(low), signed(high)));
            format!("{} %{}", signed(ratio), interval.unwrap_or_default())
        }
        (_, Some((base, head)), _) => format!("{:+.3}", head - base),
        _ => none(),
    };
    let noise = match (line.meter.least, line.noise, line.base) {
        (_, None, _) => none(),
        (Least::Share(_), Some(noise), Some(base)) if base > 0.0 => {
            format!("{:.2} %", noise / base * 100.0)
        }
        (_, Some(noise), _) => format!("{noise:.3}"),
    };
    let verdict = match (&line.judged, line.confirmed) {
        (judged, Some(true)) => format!("**{}**", judged.name()),
        (_, Some(false)) => "not confirmed".to_owned(),
        (judged, None) => judged.name().to_owned(),
    };
    let unit = if line.meter == &CPU_TIME { ", us" } else { "" };
    let (base, head) = (figure(line.base), figure(line.head));
    format!(
        "| {} | {}{unit} | {base} | {head} | {change} | {noise} | {verdict} |",
        per(&line.scenario),
        line.meter.name
    )
}

#[cfg(test)]
mod tests;
