//! Runs with everything that a page can show.

use super::blocks;
use crate::measure::{CPU_PER_STATEMENT, SYSCALLS_PER_STATEMENT, THROUGHPUT};
use crate::{ArrangementInfo, Better, Cell, ErrorLine, Measure, MeasureInfo, Pass, Run, Series, Setting, Unit};

/// A run with everything that a page can show: two arrangements, a control, seconds, system calls by name, latency below
/// saturation, a void, a failed and a server-bound row, and a driver that is missing.
pub fn rich() -> (Run, Vec<Cell>) {
    let (mut run, mut cells) = blocks(12);
    run.plan.passes = vec![Pass::Counting, Pass::Latency, Pass::Syscalls];
    run.plan.reference = Some("scylla".to_owned());
    run.measures.push(MeasureInfo {
        id: "faults".to_owned(),
        unit: Unit::Count,
        better: Better::Lower,
        pass: Pass::Timing,
        about: "page faults".to_owned(),
        column: Some("page\nfaults".to_owned()),
    });
    let first: Vec<Cell> = cells.iter().filter(|cell| cell.pass == Pass::Counting).cloned().collect();
    for cell in first {
        let weight = cell.get(SYSCALLS_PER_STATEMENT).unwrap_or(0.1);
        let calls = [("sendmsg", 0.6), ("recvmsg", 0.25), ("epoll_wait", 0.1), ("futex", 0.05)];
        let calls = calls.map(|(name, share)| (name.to_owned(), share * weight)).into();
        let breakdowns = [("syscalls".to_owned(), calls)].into();
        cells.push(Cell { pass: Pass::Syscalls, breakdowns, measures: Default::default(), ..cell.clone() });
        let mut latency = Cell { pass: Pass::Latency, step: Some("rate".to_owned()), ..cell };
        latency.measures.clear();
        for (digits, us) in [("50", 41.0), ("90", 66.0), ("99", 140.0), ("999", 900.0), ("9999", 2_400.0)] {
            let id = format!("response_p{digits}");
            latency.measures.insert(id, Measure::value(us * (1.0 + weight), Unit::Microseconds));
        }
        cells.push(latency);
    }
    for cell in cells.iter_mut().filter(|cell| cell.pass == Pass::Timing) {
        let rate = (1e6 / cell.get(CPU_PER_STATEMENT).unwrap()) as u64;
        let answered = (0..7).map(|second| rate - rate / 40 * (second % 3)).collect();
        cell.series = Series { answered, ..Series::default() };
        cell.measures.insert(THROUGHPUT.to_owned(), Measure::value(rate as f64, Unit::PerSecond));
        cell.measures.insert("faults".to_owned(), Measure::value(1_200.0, Unit::Count));
    }
    let current =
        ArrangementInfo { id: "current".to_owned(), runtime: "current".to_owned(), ..run.plan.arrangements[0].clone() };
    run.plan.arrangements.push(current);
    let again: Vec<Cell> =
        cells.iter().map(|cell| Cell { arrangement: "current".to_owned(), ..cell.clone() }).collect();
    cells.extend(again);
    let troubled = |cell: &&mut Cell| {
        cell.contender == "cdrs-tokio"
            && cell.scenario == "reads"
            && cell.arrangement == "current"
            && cell.pass == Pass::Timing
    };
    for (nth, cell) in cells.iter_mut().filter(troubled).enumerate() {
        match nth {
            0 => cell.failed = Some("The worker ended with signal 11 before `end`.".to_owned()),
            1 => cell.void = Some("2 of 500,000 statements failed (2 request timeouts).".to_owned()),
            _ => {}
        }
    }
    (run, cells)
}

/// What came from outside, hostile: to HTML, SVG, JSON in a script, CSV and a terminal.
pub const NAME: &str = "</script><script>alert(1)</script>\"'><img src=x onerror=alert(2)>\u{202e}<!--&amp;,\r\n</title></svg>]]>\u{1b}[31m";

/// Every text of the run, hostile.
pub fn hostile() -> (Run, Vec<Cell>) {
    let (mut run, mut cells) = rich();
    for (nth, one) in run.contenders.iter_mut().enumerate() {
        one.label = format!("{NAME}{nth}");
        one.caveats = vec![format!("Says {NAME}")];
        one.settings = vec![Setting { name: NAME.to_owned(), value: NAME.to_owned(), as_asked: false }];
        for library in &mut one.libraries {
            (library.name, library.version, library.origin) = (NAME.to_owned(), NAME.to_owned(), Some(NAME.to_owned()));
        }
        (one.build, one.compiler, one.version) = (NAME.to_owned(), NAME.to_owned(), NAME.to_owned());
        one.executable = NAME.to_owned();
        one.unavailable = one.unavailable.as_ref().map(|_| NAME.to_owned());
        cells.iter_mut().filter(|cell| cell.contender == one.id).for_each(|cell| cell.label = one.label.clone());
    }
    for scenario in &mut run.scenarios {
        let name = format!("{NAME}{}", scenario.name);
        cells.iter_mut().filter(|cell| cell.scenario == scenario.name).for_each(|cell| cell.scenario = name.clone());
        (scenario.name, scenario.about, scenario.asked) = (name, NAME.to_owned(), Some(NAME.to_owned()));
        scenario.definition = Some(serde_json::json!({ NAME: [NAME, { "cql": NAME }] }));
        scenario.left_out = [("noop".to_owned(), NAME.to_owned())].into();
    }
    for arrangement in &mut run.plan.arrangements {
        let id = format!("{NAME}{}", arrangement.id);
        cells
            .iter_mut()
            .filter(|cell| cell.arrangement == arrangement.id)
            .for_each(|cell| cell.arrangement = id.clone());
        (arrangement.id, arrangement.runtime, arrangement.note) = (id, NAME.to_owned(), Some(NAME.to_owned()));
    }
    run.plan.target.about = NAME.to_owned();
    (run.plan.target.id, run.plan.target.embedded) = (NAME.to_owned(), false);
    run.plan.consistency = NAME.to_owned();
    run.plan.settings = NAME.to_owned();
    run.plan.serve_arguments = vec![NAME.to_owned()];
    let machine = &mut run.environment;
    for text in [&mut machine.cpu, &mut machine.kernel, &mut machine.compiler, &mut machine.profile, &mut run.cqldyno] {
        *text = NAME.to_owned();
    }
    machine.more = [(NAME.to_owned(), NAME.to_owned())].into();
    let id = format!("{NAME}_x");
    run.measures.push(MeasureInfo {
        id: id.clone(),
        unit: Unit::Count,
        better: Better::Lower,
        pass: Pass::Timing,
        about: NAME.to_owned(),
        column: Some(NAME.to_owned()),
    });
    for (nth, cell) in cells.iter_mut().enumerate() {
        cell.findings = vec![NAME.to_owned()];
        cell.failed = cell.failed.as_ref().map(|_| NAME.to_owned());
        cell.void = cell.void.as_ref().map(|_| NAME.to_owned());
        cell.settings =
            Setting::shared(vec![Setting { name: NAME.to_owned(), value: NAME.to_owned(), as_asked: false }]);
        cell.error_kinds = vec![ErrorLine { kind: NAME.to_owned(), count: 1, first: NAME.to_owned() }];
        cell.log = Some(NAME.to_owned());
        let unavailable = Measure::unavailable(NAME);
        cell.measures.insert(id.clone(), if nth % 2 == 0 { unavailable } else { Measure::value(1.5, Unit::Count) });
        if cell.pass == Pass::Latency {
            cell.step = Some(NAME.to_owned());
            for digits in ["50", "99"] {
                cell.measures.insert(format!("{NAME}_p{digits}"), Measure::value(40.0, Unit::Microseconds));
            }
        }
        for figures in cell.breakdowns.values_mut() {
            figures.insert(NAME.to_owned(), 0.5);
        }
        let figures = cell.breakdowns.get("syscalls").cloned();
        cell.breakdowns.extend(figures.map(|figures| (NAME.to_owned(), figures)));
    }
    (run, cells)
}
