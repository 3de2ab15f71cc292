//! What a dearer contender spends more on than the reference: CPU time by function, system calls by name, allocations.

use std::collections::BTreeMap;

use crate::measure::{ALLOCATIONS_PER_STATEMENT, CPU_BY_FUNCTION, OTHER_FUNCTIONS, SYSCALLS_BY_NAME};
use crate::{Analysis, Cell, Contender, Pass, Place, SummaryRow, Verdict, plain, short, three_digits};

/// So many functions and system calls are named.
const NAMED: usize = 3;
/// Samples show no smaller difference, as a share of the contender's CPU time.
const LEAST_SHARE: f64 = 0.02;
/// Counts per statement differ by less from run to run.
const LEAST_COUNT: f64 = 0.01;

/// What is said if no pass has anything to explain with.
pub const NOTHING_EXPLAINS: &str = "Nothing says why: neither stacks nor system calls could be measured here.";

/// A paragraph per row that is dearer in CPU time, if stacks were to be sampled; one sentence if no row can be explained.
pub(crate) fn explanations(analysis: &Analysis) -> Vec<String> {
    let run = analysis.run;
    let is_dearer = |row: &&SummaryRow| row.is_primary() && row.verdict == Some(Verdict::Dearer);
    let dearer: Vec<&SummaryRow> = analysis.rows.iter().filter(is_dearer).collect();
    if !run.plan.passes.contains(&Pass::Flamegraph) || dearer.is_empty() {
        return Vec::new();
    }
    let paragraph = |row: &SummaryRow| {
        let (contender, reference) = run.contender(&row.contender).zip(analysis.reference)?;
        let place = Place::all(run).find(|place| row.is_in(*place))?;
        let told = explanation(analysis, place, contender, reference)?;
        let [who, base] = [contender, reference].map(|one| plain(&short(run, one)));
        let (scenario, arrangement) = (plain(&row.scenario), plain(&row.arrangement));
        Some(format!("Why {who} is dearer than {base} for {scenario} on {arrangement}: {told}"))
    };
    let told: Vec<String> = dearer.into_iter().filter_map(paragraph).collect();
    if told.is_empty() { vec![NOTHING_EXPLAINS.to_owned()] } else { told }
}

/// What `mine` spends more on per statement than `theirs`, whatever the verdict, from a small letter on; `None` if nothing
/// was measured that tells it.
pub fn explanation(analysis: &Analysis, place: Place, mine: &Contender, theirs: &Contender) -> Option<String> {
    let who = [mine, theirs];
    let functions = both(analysis, place, who, Pass::Flamegraph, CPU_BY_FUNCTION);
    let functions = functions.map(|[mine, theirs]| functions_of(&mine, &theirs));
    let calls = both(analysis, place, who, Pass::Syscalls, SYSCALLS_BY_NAME);
    let calls = calls.map(|[mine, theirs]| calls_of(&mine, &theirs));
    let allocations = who.map(|one| analysis.row(place, one, ALLOCATIONS_PER_STATEMENT).and_then(|row| row.median));
    let allocations = allocations[0].zip(allocations[1]);
    let allocations = allocations.map(|(mine, theirs)| amount(mine - theirs, "allocations", String::new()));
    let counts: Vec<String> = calls.into_iter().chain(allocations).collect();
    match (functions, crate::list(&counts)) {
        (None, none) if none.is_empty() => None,
        (None, counts) => Some(format!("it makes {counts}.")),
        (Some(functions), none) if none.is_empty() => Some(format!("per statement {functions}.")),
        (Some(functions), counts) => Some(format!("per statement {functions}. It makes {counts}.")),
    }
}

/// The system calls that `mine` makes more of than `theirs`, for example "`sendto` (+0.500)"; `None` if there are none, or nobody
/// counted them by name.
pub fn more_calls(analysis: &Analysis, place: Place, mine: &Contender, theirs: &Contender) -> Option<String> {
    let [mine, theirs] = both(analysis, place, [mine, theirs], Pass::Syscalls, SYSCALLS_BY_NAME)?;
    let more = differences(&mine, &theirs, LEAST_COUNT);
    (!more.is_empty()).then(|| named(&more, ""))
}

/// The means of both by name; `None` if one of them was not measured.
fn both(
    analysis: &Analysis,
    place: Place,
    [mine, theirs]: [&Contender; 2],
    pass: Pass,
    kind: &str,
) -> Option<[BTreeMap<String, f64>; 2]> {
    let of = |who: &Contender| breakdown(&analysis.cells_of(place, who, pass), kind);
    Some([of(mine)?, of(theirs)?])
}

/// The mean over the cells; `None` without any.
pub(crate) fn breakdown(cells: &[&Cell], kind: &str) -> Option<BTreeMap<String, f64>> {
    let found: Vec<&BTreeMap<String, f64>> = cells.iter().filter_map(|cell| cell.breakdowns.get(kind)).collect();
    let mut mean = BTreeMap::new();
    for (name, value) in found.iter().flat_map(|one| one.iter()) {
        *mean.entry(name.clone()).or_insert(0.0) += value / found.len() as f64;
    }
    (!mean.is_empty()).then_some(mean)
}

/// What `mine` has more than `theirs`, the greatest difference first, if it is at least `least`.
fn differences(mine: &BTreeMap<String, f64>, theirs: &BTreeMap<String, f64>, least: f64) -> Vec<(String, f64)> {
    let more = mine.iter().map(|(name, value)| (name.clone(), value - theirs.get(name).copied().unwrap_or(0.0)));
    let is_one = |(name, more): &(String, f64)| *more >= least && name != OTHER_FUNCTIONS;
    let mut more: Vec<(String, f64)> = more.filter(is_one).collect();
    more.sort_by(|a, b| b.1.total_cmp(&a.1));
    more.truncate(NAMED);
    more
}

fn named(differences: &[(String, f64)], unit: &str) -> String {
    let one = |(name, more): &(String, f64)| format!("`{}` (+{}{unit})", plain(name), three_digits(*more));
    crate::list(&differences.iter().map(one).collect::<Vec<_>>())
}

/// The functions that more CPU time goes to, as a clause.
fn functions_of(mine: &BTreeMap<String, f64>, theirs: &BTreeMap<String, f64>) -> String {
    let least = mine.values().sum::<f64>() * LEAST_SHARE;
    match named(&differences(mine, theirs, least), " us") {
        none if none.is_empty() => "no function by itself accounts for it".to_owned(),
        functions => format!("of its CPU time more goes to {functions}"),
    }
}

fn calls_of(mine: &BTreeMap<String, f64>, theirs: &BTreeMap<String, f64>) -> String {
    let more = mine.values().sum::<f64>() - theirs.values().sum::<f64>();
    let which = named(&differences(mine, theirs, LEAST_COUNT), "");
    let link = if more >= LEAST_COUNT { "among them" } else { "but more of" };
    amount(more, "system calls", if which.is_empty() { which } else { format!(", {link} {which}") })
}

fn amount(more: f64, of_what: &str, which: String) -> String {
    match more {
        more if more.abs() < LEAST_COUNT => format!("as many {of_what}{which}"),
        more if more > 0.0 => format!("{} more {of_what}{which}", three_digits(more)),
        fewer => format!("{} fewer {of_what}{which}", three_digits(-fewer)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::measure::CPU_PER_STATEMENT;
    use crate::{Measure, Unit, sample};

    /// A run in which cdrs-tokio is dearer, with these breakdowns of scylla and of cdrs-tokio.
    fn findings(functions: [&[(&str, f64)]; 2], calls: [&[(&str, f64)]; 2], allocations: [f64; 2]) -> Vec<String> {
        let (mut run, mut cells) = sample::blocks(12);
        run.plan.passes.extend([Pass::Flamegraph, Pass::Syscalls, Pass::Allocations]);
        for cell in cells.iter_mut().filter(|cell| cell.pass == Pass::Timing && cell.contender == "cdrs-tokio") {
            let more = cell.get(CPU_PER_STATEMENT).unwrap() * 1.5;
            cell.measures.insert(CPU_PER_STATEMENT.to_owned(), Measure::value(more, Unit::Microseconds));
        }
        let template = cells.iter().find(|cell| cell.scenario == "writes").unwrap().clone();
        for (at, contender) in ["scylla", "cdrs-tokio"].into_iter().enumerate() {
            let of = |pass| Cell { contender: contender.to_owned(), pass, block: 1, ..template.clone() };
            let figures = |of: &[(&str, f64)]| of.iter().map(|(name, value)| ((*name).to_owned(), *value)).collect();
            let with = |pass, kind: &str, found: &[(&str, f64)]| Cell {
                breakdowns: [(kind.to_owned(), figures(found))].into(),
                ..of(pass)
            };
            cells.push(with(Pass::Flamegraph, CPU_BY_FUNCTION, functions[at]));
            cells.push(with(Pass::Syscalls, SYSCALLS_BY_NAME, calls[at]));
            let measures =
                [(ALLOCATIONS_PER_STATEMENT.to_owned(), Measure::value(allocations[at], Unit::Count))].into();
            cells.push(Cell { measures, ..of(Pass::Allocations) });
        }
        Analysis::new(&run, &cells).findings
    }

    #[test]
    fn a_dearer_contender_is_explained_by_what_it_has_more_of() {
        let [scylla, cdrs]: [&[_]; 2] = [
            &[("poll", 1.0), ("send", 0.5)],
            &[("poll", 1.5), ("send", 0.5), ("copy", 0.25), ("rare", 0.001), ("other functions", 2.0)],
        ];
        let found = findings([scylla, cdrs], [&[("sendto", 0.2)], &[("sendto", 0.7), ("futex", 0.1)]], [3.0, 12.0]);
        assert_eq!(
            found.last().unwrap(),
            "Why cdrs-tokio is dearer than scylla for writes on multi:2: per statement of its CPU time more goes to `poll` (+0.500 us) and \
             `copy` (+0.250 us). It makes 0.600 more system calls, among them `sendto` (+0.500) and `futex` (+0.100) and 9.00 more \
             allocations."
        );
        assert_eq!(
            found.iter().filter(|said| said.starts_with("Why ")).count(),
            1,
            "only writes were sampled: {found:?}"
        );
    }

    #[test]
    fn counts_that_are_fewer_or_equal_are_said_as_such_and_no_function_is_named_for_noise() {
        let found = findings([&[("poll", 1.0)]; 2], [&[("sendto", 0.7)], &[("sendto", 0.2)]], [3.0, 3.0]);
        let said = found.last().unwrap();
        assert!(
            said.contains("no function by itself accounts for it. It makes 0.500 fewer system calls and as many"),
            "{said}"
        );
    }

    #[test]
    fn more_of_one_call_and_fewer_in_all_are_told_apart() {
        let found = findings([&[("poll", 1.0)]; 2], [&[("sendto", 1.0)], &[("sendto", 0.2), ("futex", 0.3)]], [3.0; 2]);
        assert!(found.last().unwrap().contains("0.500 fewer system calls, but more of `futex` (+0.300)"), "{found:?}");
    }

    #[test]
    fn what_nothing_explains_is_said() {
        let found = findings([&[]; 2], [&[]; 2], [f64::NAN; 2]);
        assert!(found.iter().any(|said| said.ends_with(NOTHING_EXPLAINS)), "{found:?}");
    }

    #[test]
    fn calls_that_one_contender_makes_more_of_are_named_and_nothing_is_if_nobody_counted() {
        let (run, mut cells) = sample::blocks(12);
        let more = |cells: &[Cell]| {
            let analysis = Analysis::new(&run, cells);
            let place = analysis.places().next().unwrap();
            more_calls(&analysis, place, run.contender("cdrs-tokio").unwrap(), run.contender("scylla").unwrap())
        };
        assert_eq!(more(&cells), None);
        let template = cells.iter().find(|cell| cell.scenario == "writes").unwrap().clone();
        for (contender, count) in [("scylla", 0.2), ("cdrs-tokio", 0.7)] {
            let calls = [("sendto".to_owned(), count), ("futex".to_owned(), 0.1)].into();
            let breakdowns = [(SYSCALLS_BY_NAME.to_owned(), calls)].into();
            cells.push(Cell { contender: contender.to_owned(), pass: Pass::Syscalls, breakdowns, ..template.clone() });
        }
        assert_eq!(more(&cells).as_deref(), Some("`sendto` (+0.500)"));
    }
}
