//! The comment on a change: at most twenty lines of Markdown, the finding in the first.

use std::time::Duration;

use cqldyno_reports::measure::{CPU_TIME, Figure, Least};
use cqldyno_reports::{
    Analysis, Field, Part, Pass, Run, Sheet, TableRow, Verdict, count, escape, grouped, lasting, list, markdown,
    percent, three_digits, whole, why_passes_left_out,
};
use cqldyno_scenarios::Scenario;

use super::plan::{Change, Side, WORKING_TREE};
use super::verdict::{COUNTS, Judged, names, unjudged};

/// Rows of its table at most; there are eight other lines.
const MOST_ROWS: usize = 12;
/// Findings that the first line names.
const NAMED: usize = 2;

pub struct Comment<'a> {
    pub change: &'a Change,
    /// The first run.
    pub analysis: &'a Analysis<'a>,
    pub all: &'a [Judged],
    pub scenarios: &'a [Scenario],
    /// Why a statement is dearer, by scenarios; `None` if nobody asked.
    pub explained: Option<Vec<(String, String)>>,
    /// From the first build on.
    pub lasted: Duration,
}

impl Comment<'_> {
    pub fn text(&self) -> String {
        let run = self.analysis.run;
        let (table, left_out) = self.table(run).unwrap_or_default();
        let parts = [self.finding() + "\n", table, self.notes(left_out).join(" ") + "\n", self.how(run) + "\n"];
        parts.into_iter().filter(|part| !part.trim().is_empty()).collect::<Vec<_>>().join("\n")
    }

    fn finding(&self) -> String {
        let (driver, head, base) = (&self.change.driver, said(&self.change.head), escape(&self.change.base.name));
        let those = |is: &dyn Fn(&Judged) -> bool| self.all.iter().filter(|one| is(one)).collect::<Vec<_>>();
        let [dearer, cheaper] = [Verdict::Dearer, Verdict::Cheaper].map(|verdict| those(&|one| one.is_found(verdict)));
        let [unconfirmed, open_changes] = [those(&|one| one.confirmed == Some(false)), those(&Judged::is_open)];
        let open = unjudged(self.all);
        let is_known = |one: &Judged| !open.contains(&one.scenario.as_str());
        let mut text = match (dearer.as_slice(), cheaper.as_slice()) {
            ([], []) if !self.all.iter().any(is_known) => {
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
        for (what, found) in [("did not confirm", unconfirmed), ("could not look at", open_changes)] {
            if !found.is_empty() {
                text += &format!(" A second run {what} {}.", several(&found));
            }
        }
        if let Some(why) = why_passes_left_out(self.analysis.run) {
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
        let unavailable = self.analysis.run.contenders.iter().find_map(|one| one.unavailable.clone());
        let mut of_it = self.all.iter().filter(|one| scenario.is_none_or(|name| one.scenario == name));
        let why = unavailable.or_else(|| of_it.find_map(|one| one.verdict.clone().err()));
        escape(&why.unwrap_or_else(|| "the run was ended early.".to_owned()))
    }

    /// The table, and how many rows have no room in it.
    fn table(&self, run: &Run) -> Option<(String, usize)> {
        let [[base, _], [head, _]] = names(run)?;
        let of = |side: &Side, one: &cqldyno_reports::Contender| {
            let built = one.built.as_ref();
            let revision =
                built.and_then(|built| built.revision.as_ref()).map(|revision| revision.get(..7).unwrap_or(revision));
            let dirty = built.filter(|built| built.dirty).map(|_| "dirty");
            let name = if side.name == WORKING_TREE { "working tree" } else { side.name.as_str() };
            let more: Vec<&str> = revision.filter(|short| *short != name).into_iter().chain(dirty).collect();
            [&[name][..], &more].concat().join(" ")
        };
        let (base, head) = (of(&self.change.base, base), of(&self.change.head, head));
        let columns = ["", &base, &head, "change", "noise", ""];
        let left_out = self.all.len().saturating_sub(MOST_ROWS);
        let mut open = left_out;
        let has_room = |one: &&Judged| {
            let goes = open > 0 && one.confirmed.is_none();
            open -= usize::from(goes);
            !goes
        };
        let rows = self.all.iter().filter(has_room).take(MOST_ROWS).map(row).collect();
        let sheet = Sheet { words: 1, ..Sheet::of("", "per", columns, vec![rows]) };
        Some((markdown(&[Part::Sheet(sheet)]), left_out))
    }

    fn notes(&self, left_out: usize) -> Vec<String> {
        let mut notes = Vec::new();
        if left_out > 0 {
            notes.push(format!("Left out: {}.", count(left_out as u64, "more row")));
        }
        let is_unsteady = |one: &&Judged| {
            one.figure != &CPU_TIME && one.found.as_ref().is_some_and(|found| !found.is_exact(one.figure))
        };
        let unsteady: Vec<String> = self.all.iter().filter(is_unsteady).map(what).collect();
        if !unsteady.is_empty() {
            notes.push(format!("Not exact here: {}; a change there must be three times the noise.", list(&unsteady)));
        }
        let more = |one: &Judged| Some(format!("More per {}: {}.", per(&one.scenario), one.more.as_ref()?));
        let is_dearer = |one: &&Judged| one.is_found(Verdict::Dearer);
        let explained = self.explained.iter().flatten();
        let explained: Vec<String> =
            explained.map(|(scenario, why)| format!("Why a {} is dearer: {why}", per(scenario))).collect();
        match explained.is_empty() {
            true => notes.extend(self.all.iter().filter(is_dearer).filter_map(more)),
            false => notes.extend(explained),
        }
        if self.explained.is_none() && self.all.iter().any(|one| is_dearer(&one)) {
            notes.push("`--explain` names the functions and system calls that head has more of.".to_owned());
        }
        let reasons = grouped(self.all.iter().filter_map(|one| Some((one.verdict.as_ref().err()?, what(one)))));
        notes.extend(reasons.iter().map(|(why, what)| format!("n/a, {}: {}", list(what), escape(why))));
        notes
    }

    /// How it was measured, in one line.
    fn how(&self, run: &Run) -> String {
        let arrangement = run.plan.arrangements.first().map_or("", |one| one.id.as_str());
        let callgrind = self.analysis.cells.iter().any(|cell| cell.step.as_deref() == Some("callgrind"));
        let by =
            if run.plan.passes.contains(&Pass::Instructions) && callgrind { ", instructions by callgrind" } else { "" };
        let is_timed = self.all.iter().any(|one| one.figure == &CPU_TIME);
        let generations = self.analysis.rows.iter().filter(|row| row.interval.is_some()).filter_map(|row| row.blocks);
        let time = generations.min().filter(|_| is_timed).map_or(String::new(), |number| {
            let (number, turn) = (count(number as u64, "generation"), run.statements(|number| whole(number as f64)));
            format!(" CPU time: 95 % interval from {number} of turns of {turn} statements.")
        });
        let built = run.contenders.last().and_then(|head| head.built.as_ref());
        let calls = built.map(|built| self.change.exercised(self.scenarios, built)).unwrap_or_default();
        let exercised = if calls.is_empty() { String::new() } else { format!("Exercised: {}. ", list(&calls)) };
        let timed = is_timed.then_some(&CPU_TIME);
        let least = COUNTS.into_iter().chain(timed).map(|Figure { name, least, .. }| match least {
            Least::Share(share) => format!("{} % of {name}", percent(*share)),
            Least::Count(number) => format!("{number} {name}"),
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

/// What was counted, for example `allocations per write`.
fn what(one: &Judged) -> String {
    format!("{} per {}", one.figure.name, per(&one.scenario))
}

/// What one statement of a scenario is called.
fn statement(scenario: &str) -> String {
    match scenario {
        "writes" => "write".to_owned(),
        "reads" => "read".to_owned(),
        other => format!("statement of {other}"),
    }
}

fn per(scenario: &str) -> String {
    escape(&statement(scenario))
}

/// The first changes in words, and how many there are besides.
fn several(lines: &[&Judged]) -> String {
    let mut all: Vec<String> = lines.iter().take(NAMED).map(|one| words(one)).collect();
    if lines.len() > NAMED {
        all.push(format!("{} more", lines.len() - NAMED));
    }
    list(&all)
}

/// One change in words, for example `1.00 more system calls per write (2.01 -> 3.01)`.
fn words(one: &Judged) -> String {
    let Some((base, head)) = one.found.as_ref().map(|found| (found.before, found.after)) else { return String::new() };
    let is_time = one.figure == &CPU_TIME;
    let is_more = head > base;
    let by = match one.figure.least {
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
    format!("{by} {which} {} per {} ({base} -> {head}{unit})", one.figure.name, per(&one.scenario))
}

fn row(one: &Judged) -> TableRow {
    let signed = |share: f64| format!("{:+.1}", (share - 1.0) * 100.0);
    let is_share = matches!(one.figure.least, Least::Share(_));
    let figures = one.found.as_ref().map(|found| {
        let change = match found.ratio().filter(|_| is_share) {
            Some(ratio) => {
                let interval = found.interval.map(|[low, high]| format!(" ({} to {})", signed(low), signed(high)));
                format!("{} %{}", signed(ratio), interval.unwrap_or_default())
            }
            None => format!("{:+.3}", found.after - found.before),
        };
        let noise = found.spread.map(|noise| match is_share && found.before > 0.0 {
            true => format!("{:.2} %", noise / found.before * 100.0),
            false => format!("{noise:.3}"),
        });
        let none = || "n/a".to_owned();
        [three_digits(found.before), three_digits(found.after), change, noise.unwrap_or_else(none)]
    });
    let verdict = match one.confirmed {
        Some(true) => Field::bad(one.name()),
        Some(false) => Field::of("not confirmed"),
        None => Field::of(one.name()),
    };
    let unit = if one.figure == &CPU_TIME { ", us" } else { "" };
    let mut fields = vec![Field::of(format!("{}{unit}", one.figure.name))];
    fields.extend(figures.unwrap_or_else(|| ["n/a"; 4].map(str::to_owned)).map(Field::of));
    fields.push(verdict);
    TableRow::of(&statement(&one.scenario), fields)
}

#[cfg(test)]
mod tests;
