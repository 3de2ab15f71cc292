//! The default output: per scenario a line per contender, on which figure and ratio agree.

use super::document::trouble;
use super::head::{sized, threads, title};
use super::part::{Field, Head, Part, Sheet, Short, TableRow};
use super::releases::releases;
use super::{faults, ladder, sweep};
use crate::measure::{CPU_PER_STATEMENT, PEAK_RSS, SERVER_CPU_PER_STATEMENT, SYSCALLS_PER_STATEMENT, THROUGHPUT};
use crate::quantity::{decimals, fixed, mebibytes, rate, three_digits, whole};
use crate::row::comparable;
use crate::text::{cut, plain, unique};
use crate::{Analysis, Bottleneck, Combined, Contender, Pass, Place, Role, Run, SummaryRow, Sweep, Verdict, short};

#[derive(Clone, Copy)]
enum Shows {
    Server,
    Ratio,
    Verdict,
    /// How many runs gave that verdict.
    Held,
    Rate,
    OfRate,
    /// The verdict on the rate where only a limit is known.
    Bottleneck,
    Calls,
    Memory,
}

impl Short {
    pub fn of(analysis: &Analysis) -> Short {
        Short::with(analysis, None)
    }

    /// Of all runs together: how many of them gave the verdict stands beside it, and the server's CPU time has no room.
    pub fn combined(combined: &Combined) -> Short {
        Short::with(&combined.analysis, Some(combined))
    }

    fn with(analysis: &Analysis, combined: Option<&Combined>) -> Short {
        let run = analysis.run;
        let shown = shown(analysis);
        let reference = analysis.reference.filter(|_| shown.len() > 1);
        let is_judged = analysis.rows.iter().any(|row| row.is_primary() && row.interval.is_some());
        let is_shown = |row: &&SummaryRow| shown.iter().any(|one| one.id == row.contender);
        let is_bound = analysis.rows.iter().filter(is_shown).any(|row| row.bottleneck == Some(Bottleneck::Server));
        let columns: &[Shows] = match reference {
            None => &[Shows::Rate, Shows::Calls, Shows::Memory],
            Some(_) if combined.is_some() => &[Shows::Ratio, Shows::Verdict, Shows::Held, Shows::Rate, Shows::OfRate],
            Some(_) if is_judged => &[Shows::Server, Shows::Ratio, Shows::Verdict, Shows::Rate, Shows::OfRate],
            // A ratio without an interval would look like a result.
            Some(_) if is_bound => &[Shows::Server, Shows::Rate, Shows::Bottleneck],
            Some(_) => &[Shows::Server, Shows::Rate],
        };
        let head = |shows: &Shows| {
            let (title, continues, right) = match shows {
                Shows::Server => ("server", false, true),
                Shows::Ratio => ("", false, false),
                Shows::Verdict => ("verdict on CPU time", true, false),
                Shows::Held => ("held", false, false),
                Shows::Rate => ("statements/s", false, true),
                Shows::OfRate => ("verdict on statements/s", true, false),
                Shows::Bottleneck => ("bottleneck", true, false),
                Shows::Calls => ("system calls", false, true),
                Shows::Memory => ("peak MiB", false, true),
            };
            let over = reference.filter(|_| title.is_empty());
            let over = over.map(|one| format!("vs {} (95 %)", cut(&short(run, one), 20)));
            (over.unwrap_or_else(|| title.to_owned()), Head { continues, right })
        };
        let (titles, heads): (Vec<String>, Vec<Head>) = columns.iter().map(head).unzip();
        let mut places: Vec<Place> = analysis.places().collect();
        // A block per arrangement, in the order of the run.
        places.sort_by_key(|place| run.plan.arrangements.iter().position(|one| one.id == place.arrangement.id));
        let several = run.plan.arrangements.len() > 1;
        // One narrow interval, of which two digits would hide on which side of 1 it lies, decides for the column.
        let is_narrow = |row: &SummaryRow| {
            row.interval.is_some_and(|[low, high]| row.is_primary() && !row.control && high - low < 0.03)
        };
        let digits = if analysis.rows.iter().any(is_narrow) { 3 } else { 2 };
        let words = 1 + usize::from(several);
        let row = |place: Place, one: &Contender| {
            let on = several.then(|| format!("{} ({})", plain(&place.arrangement.id), threads(place.arrangement)));
            let mut fields: Vec<Field> = on.into_iter().chain([short(run, one)]).map(Field::of).collect();
            match figures(analysis, place, one, (columns, digits), combined) {
                Some((cost, others)) => {
                    fields.push(Field { sort: Some(cost), ..Field::default() });
                    fields.extend(others.into_iter().map(Field::of));
                }
                None => fields.push(Field::bad(why_none(analysis, place, one).unwrap_or("not run".to_owned()))),
            }
            fields.resize(words + 1 + columns.len(), Field::default());
            TableRow::of(&place.scenario.name, fields)
        };
        let mut rows = Vec::new();
        for place in places {
            let mut here: Vec<TableRow> = shown.iter().map(|one| row(place, one)).collect();
            let cost = |row: &TableRow| row.fields[words].sort.unwrap_or(f64::INFINITY);
            here.sort_by(|a, b| cost(a).total_cmp(&cost(b)));
            rows.extend(here);
        }
        let decimals = decimals(rows.iter().filter_map(|row| row.fields[words].sort));
        for field in rows.iter_mut().map(|row| &mut row.fields[words]) {
            field.text = field.sort.map_or(field.text.clone(), |cost| fixed(cost, decimals));
        }
        let first = several.then_some("arrangement").into_iter().chain(["contender", "CPU us"]).map(str::to_owned);
        Short { sheet: Sheet { words, ..Sheet::of("", "scenario", first.chain(titles), vec![rows]) }, heads }
    }
}

/// What was run, how its size came about, and what changed with which release.
pub(crate) fn overview(analysis: &Analysis) -> Vec<Part> {
    let said = std::iter::once(title(analysis.run)).chain(sized(analysis)).map(Part::Text);
    said.chain(releases(analysis)).collect()
}

pub(crate) fn found(analysis: &Analysis) -> impl Iterator<Item = Part> {
    let findings = analysis.findings.iter().map(|finding| Part::Text(plain(finding)));
    findings.chain(analysis.worths().into_iter().map(Part::Text))
}

/// The table of bad days, that of a ladder, the compact tables of sweeps, or the short tables.
pub(crate) fn tables(analysis: &Analysis, sweeps: &[Sweep]) -> Vec<Part> {
    if analysis.run.plan.faults {
        return faults::compact(analysis);
    }
    if analysis.run.plan.ladder.is_some() {
        return ladder::compact(analysis);
    }
    let compact = sweep::compact(analysis.run, sweeps);
    let is_short = compact.is_empty() && !analysis.run.plan.exact;
    let short = is_short.then(|| Part::Short(Short::of(analysis)));
    let others = sessions(analysis).into_iter().chain(response_times(analysis)).map(Part::Sheet);
    compact.into_iter().map(Part::Sheet).chain(short).chain(others).collect()
}

/// The drivers, without the control unless there is nobody else, and floor and noop if they were named; what there is if there is no
/// driver.
pub(crate) fn shown<'a>(analysis: &Analysis<'a>) -> Vec<&'a Contender> {
    let all = || analysis.run.contenders.iter();
    let is_driver = |one: &&Contender| one.role == Role::Driver;
    let compared: Vec<&Contender> = all().filter(is_driver).filter(|one| !analysis.is_control(one)).collect();
    // A driver against itself is compared with its control.
    let drivers = if compared.len() < 2 { all().filter(is_driver).collect() } else { compared };
    if drivers.is_empty() {
        return all().collect();
    }
    let ours = all().filter(|one| analysis.run.plan.named && one.role != Role::Driver);
    drivers.into_iter().chain(ours).collect()
}

/// Measures with their headings, and how each is shown.
type Columns = [(&'static str, &'static str, fn(f64) -> String)];

const LEFT_OPEN: &str = "connections_left_open";
const OF_SESSIONS: [(&str, &Columns); 2] = [
    (
        "sessions",
        &[
            ("opened\n/s", THROUGHPUT, rate),
            ("first answer\np50 ms", "first_answer_p50", |us| three_digits(us / 1e3)),
            ("\np99 ms", "first_answer_p99", |us| three_digits(us / 1e3)),
            ("CPU us", CPU_PER_STATEMENT, three_digits),
            ("server\nCPU us", SERVER_CPU_PER_STATEMENT, three_digits),
            ("left\nopen", LEFT_OPEN, whole),
        ],
    ),
    (
        "what a session asks for, and peak memory of all",
        &[
            ("connec-\ntions", "connections_per_statement", three_digits),
            ("re-\nquests", "requests_per_statement", three_digits),
            ("PRE-\nPAREs", "prepares_per_statement", three_digits),
            ("bytes\nsent", "bytes_sent_per_statement", whole),
            ("bytes\nreceived", "bytes_received_per_statement", whole),
            ("peak\nMiB", PEAK_RSS, mebibytes),
            ("server\nMiB", "server_peak_rss", mebibytes),
        ],
    ),
];

/// What sessions cost up to their close, if statements opened some.
fn sessions(analysis: &Analysis) -> Vec<Sheet> {
    let run = analysis.run;
    let shown: Vec<&Contender> = shown(analysis).into_iter().filter(|one| !one.control).collect();
    let has = |place: &Place| {
        shown.iter().any(|one| analysis.row(*place, one, LEFT_OPEN).is_some_and(|row| row.median.is_some()))
    };
    let places: Vec<Place> = analysis.places().filter(has).collect();
    let kinds = unique(places.iter().map(|place| place.scenario.kind()));
    let several = run.plan.arrangements.len() > 1;
    let sheet = |kind: &str, title: &str, columns: &Columns| {
        let row = |place: Place, one: &Contender| {
            let point = place.scenario.name.strip_prefix(kind).unwrap_or_default().trim_start_matches(", ");
            let arrangement = several.then(|| plain(&place.arrangement.id));
            let at = place.scenario.point.is_some().then(|| plain(&point.replacen(" in flight", "", 1)));
            let words = at.into_iter().chain(arrangement).map(Field::of);
            let figures = columns.iter().map(|(_, meter, show)| match analysis.row(place, one, meter) {
                Some(row) if row.void.is_some() => Field::bad("void"),
                row => Field::of(row.and_then(|row| row.median).map_or("-".to_owned(), show)),
            });
            TableRow::of(&short(run, one), words.chain(figures).collect())
        };
        let here = || places.iter().filter(|place| place.scenario.kind() == kind);
        let groups = here().map(|place| shown.iter().map(|one| row(*place, one)).collect()).collect();
        let at = here().any(|place| place.scenario.point.is_some()).then_some("in\nflight");
        let heads = at.into_iter().chain(several.then_some("arrangement"));
        let heads = heads.chain(columns.iter().map(|(title, ..)| *title));
        Sheet::of(format!("{}, {title}", plain(kind)), "contender", heads, groups)
    };
    let of_kind = |kind| OF_SESSIONS.iter().map(move |(title, columns)| sheet(kind, title, columns));
    kinds.into_iter().flat_map(of_kind).collect()
}

/// What 50, 99 and 99.9 % of the statements took at a fixed rate, if that was measured, with ratios if they have intervals.
fn response_times(analysis: &Analysis) -> Option<Sheet> {
    let has = |meter: &str| analysis.rows.iter().any(|row| row.meter == meter && row.median.is_some());
    let mut percentiles = vec![("response_p50", "50 %"), ("response_p99", "99 %"), ("response_p999", "99.9 %")];
    percentiles.retain(|(meter, _)| has(meter));
    let has_interval =
        |(meter, _): &(&str, _)| analysis.rows.iter().any(|row| row.meter == *meter && row.interval.is_some());
    let reference = analysis.reference.filter(|_| percentiles.iter().any(has_interval));
    let several = analysis.run.plan.arrangements.len() > 1;
    let row = |place: Place, one: &Contender| {
        let arrangement = several.then(|| plain(&place.arrangement.id));
        let words = arrangement.into_iter().chain([short(analysis.run, one)]).map(Field::of);
        let figures = percentiles.iter().flat_map(|(meter, _)| {
            let row = analysis.row(place, one, meter);
            let figure = match row {
                Some(row) if row.void.is_some() => Field::bad("void"),
                row => Field::of(row.and_then(|row| row.median).map_or("-".to_owned(), three_digits)),
            };
            let ratio = row.filter(|_| reference.is_some_and(|base| base.id != one.id));
            let ratio = Field::of(ratio.and_then(|row| row.ratio_within(2, "-")).unwrap_or_default());
            [Some(figure), reference.map(|_| ratio)].into_iter().flatten()
        });
        TableRow::of(&place.scenario.name, words.chain(figures).collect())
    };
    let shown: Vec<&Contender> = shown(analysis).into_iter().filter(|one| !one.control).collect();
    let words = several.then_some("arrangement").into_iter().chain(["contender"]);
    (!percentiles.is_empty()).then(|| {
        let title = "response times at a fixed rate, in us: so many % of the statements took at most";
        let over = reference.map(|base| format!("vs {} (95 %)", cut(&short(analysis.run, base), 20)));
        let of = |(_, title): &(_, &str)| [Some((*title).to_owned()), over.clone()].into_iter().flatten();
        let columns = words.map(str::to_owned).chain(percentiles.iter().flat_map(of));
        let groups = analysis.places().map(|place| shown.iter().map(|one| row(place, one)).collect()).collect();
        Sheet { words: 1 + usize::from(several), ..Sheet::of(title, "scenario", columns, groups) }
    })
}

/// CPU time per statement, which `None` lacks, and a text per column; ratios have that many digits after the point.
fn figures(
    analysis: &Analysis,
    place: Place,
    contender: &Contender,
    (columns, digits): (&[Shows], usize),
    combined: Option<&Combined>,
) -> Option<(f64, Vec<String>)> {
    let run = analysis.run;
    let row = |meter| analysis.row(place, contender, meter);
    let cost = row(CPU_PER_STATEMENT).filter(|row| comparable(row))?;
    let is_reference = analysis.reference.is_some_and(|reference| reference.id == contender.id);
    let ratio = cost.ratio_within(digits, "-").filter(|_| !is_reference);
    let verdict = if ratio.is_some() { verdict(run, cost) } else { String::new() };
    let level = |meter, show: fn(f64) -> String| row(meter).and_then(|row| row.level).map_or("-".to_owned(), show);
    let figure = |meter, show: fn(f64) -> String| {
        row(meter).filter(|row| row.void.is_none()).and_then(|row| row.median).map_or("-".to_owned(), show)
    };
    let field = |shows: &Shows| match shows {
        Shows::Server => level(SERVER_CPU_PER_STATEMENT, three_digits),
        Shows::Ratio => ratio.clone().unwrap_or_default(),
        Shows::Verdict => verdict.clone(),
        Shows::Held => combined.and_then(|all| all.held(place, contender, CPU_PER_STATEMENT)).unwrap_or_default(),
        Shows::Rate => level(THROUGHPUT, rate),
        Shows::OfRate | Shows::Bottleneck => {
            let of_rate = match row(THROUGHPUT) {
                Some(row) if row.bottleneck == Some(Bottleneck::Server) => "server-bound".to_owned(),
                Some(row) if !is_reference => of_rate(run, row),
                _ => String::new(),
            };
            let held = combined.and_then(|all| all.held_in_some(place, contender, THROUGHPUT));
            of_rate + &held.map_or(String::new(), |held| format!(", {held}"))
        }
        Shows::Calls => figure(SYSCALLS_PER_STATEMENT, three_digits),
        Shows::Memory => figure(PEAK_RSS, mebibytes),
    };
    Some((cost.level?, columns.iter().map(field).collect()))
}

fn verdict(run: &Run, row: &SummaryRow) -> String {
    match (row.verdict, row.verdict_name()) {
        // Said once, and not on every row.
        (None, _) if !run.is_complete() => String::new(),
        (Some(Verdict::Inconclusive), _) => "inconcl.".to_owned(),
        (_, Some(name)) => name,
        (_, None) if row.no_verdict.is_some() => "no verdict".to_owned(),
        (_, None) => "withheld".to_owned(),
    }
}

/// The verdict on statements per second; nothing without an interval.
fn of_rate(run: &Run, row: &SummaryRow) -> String {
    row.interval.map(|_| verdict(run, row)).unwrap_or_default()
}

/// Why the contender has no figure here, with the reason in a sentence; `None` if it was not run.
fn why_none(analysis: &Analysis, place: Place, contender: &Contender) -> Option<String> {
    let said = |what: &str, why: &str| Some(format!("{what}: {}", plain(why)));
    if let Some(why) = &contender.unavailable {
        return said("missing", why);
    }
    if let Some(why) = place.scenario.left_out.get(&contender.id) {
        return said("not asked", why);
    }
    let cells = analysis.cells_of(place, contender, Pass::Timing);
    let why = cells.iter().find_map(|cell| cell.failed.as_ref().or(cell.void.as_ref()));
    match why {
        Some(why) => said(&trouble(&cells), why),
        None if cells.is_empty() => None,
        None => said("no figure", analysis.row(place, contender, CPU_PER_STATEMENT)?.unavailable.as_deref()?),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sample;

    #[test]
    fn floor_and_noop_are_shown_if_the_contenders_were_named() {
        let (mut run, cells) = sample::blocks(12);
        run.plan.named = true;
        let ids: Vec<&str> = shown(&Analysis::new(&run, &cells)).iter().map(|one| one.id.as_str()).collect();
        assert_eq!(ids, ["scylla", "cdrs-tokio", "cassandra-cpp", "floor", "noop"]);
    }

    #[test]
    fn statements_per_second_have_a_verdict_and_nothing_without_an_interval() {
        let (run, cells) = sample::blocks(12);
        let analysis = Analysis::new(&run, &cells);
        let row = analysis.rows.iter().find(|row| row.contender == "cdrs-tokio" && row.meter == THROUGHPUT).unwrap();
        let with = |verdict| SummaryRow { ratio: Some(0.81), interval: Some([0.8, 0.82]), verdict, ..row.clone() };
        let said = [Verdict::Slower, Verdict::Same, Verdict::Inconclusive, Verdict::TooNoisy].map(Some);
        assert_eq!(said.map(|one| of_rate(&run, &with(one))), ["slower", "same", "inconcl.", "too noisy"]);
        assert_eq!(of_rate(&run, &with(None)), "withheld");
        let why = Some("The server limited the reference.".to_owned());
        assert_eq!(of_rate(&run, &SummaryRow { no_verdict: why, ..with(None) }), "no verdict");
        assert_eq!(of_rate(&run, &SummaryRow { interval: None, ..with(None) }), "");
        let stopped = Run { interrupted: true, ..run.clone() };
        assert_eq!(of_rate(&stopped, &with(None)), "");
    }

    #[test]
    fn response_times_of_several_generations_have_ratios_with_intervals() {
        use crate::{Measure, Unit};
        let times = |blocks: u32| {
            let (mut run, mut cells) = sample::blocks(12);
            run.plan.passes.push(Pass::Latency);
            let of_cpu = run.measure(CPU_PER_STATEMENT).unwrap();
            let of_p99 = crate::MeasureInfo { id: "response_p99".to_owned(), pass: Pass::Latency, ..of_cpu };
            run.measures.push(of_p99);
            let all = cells.iter().filter(|cell| cell.pass == Pass::Timing && cell.block <= blocks && !cell.more);
            let of = |cell: &crate::Cell| {
                let us = if cell.contender.starts_with("scylla") { 500.0 } else { 600.0 } + f64::from(cell.block % 3);
                let measures = [("response_p99", Measure::value(us, Unit::Microseconds))];
                let step = Some("rate".to_owned());
                crate::Cell { pass: Pass::Latency, round: None, step, measures: measures.into(), ..cell.clone() }
            };
            let latency: Vec<crate::Cell> = all.map(of).collect();
            cells.extend(latency);
            let text = crate::export::shown::table(&run, &cells, crate::export::shown::at(100));
            text.split_once("response times at a fixed rate").unwrap().1.to_owned()
        };
        let judged = times(8);
        assert!(judged.contains("vs scylla (95 %)") && judged.contains("1.20 (1."), "{judged}");
        let few = times(2);
        assert!(few.contains("602") && !few.contains("vs scylla"), "{few}");
    }

    #[test]
    fn without_intervals_no_format_shows_a_ratio_or_a_share() {
        let (run, cells) = sample::blocks(3);
        let analysis = Analysis::new(&run, &cells);
        assert!(analysis.rows.iter().any(|row| row.ratio.is_some()));
        let short = Short::of(&analysis);
        assert_eq!(short.sheet.columns[2..], ["server", "statements/s"]);
        for format in ["table", "markdown", "html"] {
            let text = crate::exporter(format).unwrap().one(&analysis, crate::Look::default()).unwrap();
            let ratios = analysis.rows.iter().filter(|row| row.is_primary() && row.contender == "cdrs-tokio");
            for ratio in ratios.filter_map(|row| row.ratio) {
                assert!(!text.contains(&format!("{ratio:.3}")) && !text.contains(&format!("{ratio:.2} ")), "{text}");
            }
            assert!(!text.contains("vs scylla"), "{text}");
        }
    }

    #[test]
    fn a_driver_against_itself_is_shown_twice_and_a_control_among_others_is_not() {
        let (mut run, cells) = sample::blocks(12);
        let ids = |run: &crate::Run| -> Vec<String> {
            shown(&Analysis::new(run, &cells)).iter().map(|one| one.id.clone()).collect()
        };
        assert_eq!(ids(&run), ["scylla", "cdrs-tokio", "cassandra-cpp"]);
        run.contenders.retain(|one| one.id.starts_with("scylla"));
        assert_eq!(ids(&run), ["scylla", "scylla#control"]);
    }
}
