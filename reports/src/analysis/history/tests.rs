use super::*;
use crate::{Cell, Pass, sample};

#[test]
fn versions_are_ordered_by_number_and_pre_releases_come_first() {
    let sorted = [
        "",
        "0.9.0",
        "0.10.0",
        "1.0.0-alpha",
        "1.0.0-alpha.1",
        "1.0.0-beta.2",
        "1.0.0-beta.11",
        "1.0.0-rc.1",
        "1.0.0",
        "1.0.1",
    ];
    let mut found = sorted;
    found.reverse();
    found.sort_by(|a, b| compare_versions(a, b));
    assert_eq!(found, sorted);
}

fn at(day: u32, version: &str) -> (String, Recorded) {
    at_time(day, "03:04:05", version)
}

fn at_time(day: u32, time: &str, version: &str) -> (String, Recorded) {
    let (mut run, cells) = sample::blocks(3);
    run.started = format!("2026-02-{day:02}T{time}Z").parse().unwrap();
    for one in run.contenders.iter_mut().filter(|one| one.label.starts_with("scylla@")) {
        one.label = one.label.replace(&one.version, version);
        one.version = version.to_owned();
    }
    (format!("runs/{day}"), Recorded { run, cells, notes: Vec::new() })
}

fn scylla(history: &History, group: usize) -> &HistoryLine {
    let is = |panel: &&Panel| {
        (panel.scenario.as_str(), panel.meter.as_str()) == ("writes", CPU_PER_STATEMENT)
            && panel.lines.iter().any(|line| line.contender == "scylla")
    };
    let panel = history.groups[group].panels.iter().find(is).unwrap();
    panel.lines.iter().find(|line| line.contender == "scylla").unwrap()
}

fn versions(line: &HistoryLine) -> Vec<&str> {
    line.points.iter().map(|point| point.version.as_str()).collect()
}

#[test]
fn a_line_goes_by_date_or_by_the_order_of_versions() {
    let runs = [at(3, "0.9.0"), at(1, "0.10.0"), at(2, "0.10.0-rc.1")];
    let history = History::new(By::Date, &runs, Vec::new());
    assert_eq!(history.groups.len(), 1);
    let line = scylla(&history, 0);
    assert_eq!(versions(line), ["0.10.0", "0.10.0-rc.1", "0.9.0"]);
    let point = &line.points[0];
    let [low, high] = point.spread.unwrap();
    let median = point.median.unwrap();
    assert!(low <= median && median <= high && point.blocks == 3, "{point:?}");
    let history = History::new(By::Version, &runs, Vec::new());
    assert_eq!(versions(scylla(&history, 0)), ["0.9.0", "0.10.0-rc.1", "0.10.0"]);
}

#[test]
fn the_rounds_of_a_generation_come_to_one_figure_and_those_that_do_not_count_to_none() {
    let (name, mut recorded) = at(1, "1.0.0");
    let Recorded { run, cells, .. } = &mut recorded;
    (run.plan.turns, run.plan.noise_share) = (crate::TurnsInfo { count: 50_000, rounds: 3 }, Some(0.1));
    let turn = |cell: &Cell, round: u32| {
        // The last round of each generation was disturbed, and costs ten times as much.
        let others_s = if round == 3 { 0.5 } else { 0.0 };
        let (cores, steal_s, witness_us) = (1, 0.0, None);
        let cores = crate::RoundCores::Found { cores, host: None, wall_s: 1.0, others_s, steal_s, witness_us };
        let cores = (cell.contender == "noop").then_some(cores);
        let mut turn = Cell { round: Some(round), more: round < 3, cores, ..cell.clone() };
        let cost = f64::from(cell.block) + [0.25, 0.75, 10.0][round as usize - 1];
        turn.measures.insert(CPU_PER_STATEMENT.to_owned(), crate::Measure::value(cost, Unit::Microseconds));
        turn
    };
    let (timing, others): (Vec<Cell>, Vec<Cell>) = cells.iter().cloned().partition(|one| one.pass == Pass::Timing);
    *cells = timing.iter().flat_map(|cell| [1, 2, 3].map(|round| turn(cell, round))).chain(others).collect();
    let history = History::new(By::Date, &[(name, recorded)], Vec::new());
    let point = &scylla(&history, 0).points[0];
    assert_eq!((point.median, point.spread, point.blocks), (Some(2.5), Some([1.5, 3.5]), 3));
}

#[test]
fn a_column_says_as_much_of_its_date_as_tells_it_from_the_others() {
    let runs = [
        at(1, "1.0.0"),
        at_time(2, "03:04:05", "1.0.0"),
        at_time(2, "03:04:59", "1.0.0"),
        at_time(2, "03:05:00", "1.0.0"),
    ];
    let history = History::new(By::Date, &runs, Vec::new());
    let expected = ["2026-02-01", "02-02 03:04:05", "02-02 03:04:59", "02-02 03:05"];
    assert_eq!(history.groups[0].panels[0].places, expected);
}

#[test]
fn runs_of_other_conditions_are_never_joined_and_the_sentence_says_why() {
    let mut other = at(2, "1.0.0");
    other.1.run.environment.kernel = "Linux 9".to_owned();
    let mut fewer = at(3, "1.0.0");
    fewer.1.run.plan.turns.count = 7;
    let history = History::new(By::Date, &[at(1, "1.0.0"), other, fewer, at(4, "1.0.1")], Vec::new());
    let sizes: Vec<usize> = history.groups.iter().map(|group| group.runs.len()).collect();
    assert_eq!(sizes, [2, 1, 1]);
    let why = history.groups[1].apart.as_ref().unwrap();
    assert!(why.starts_with("These runs are not joined with the earlier ones, because the kernel was"), "{why}");
    assert!(why.contains("is Linux 9 here"), "{why}");
    assert!(history.groups[2].apart.as_ref().unwrap().contains("the count was"));
}

#[test]
fn a_scenario_of_one_name_that_asks_for_something_else_stands_apart_with_the_reason() {
    let (mut one, mut two) = (at(1, "1.0.0"), at(2, "1.0.0"));
    let redefine = |recorded: &mut (String, Recorded), hash: &str| {
        recorded.1.run.scenarios[0].hash = hash.to_owned();
        for cell in recorded.1.cells.iter_mut().filter(|cell| cell.scenario == "writes") {
            cell.scenario_hash = hash.to_owned();
        }
    };
    redefine(&mut one, "aaaaaaaaaaaaaa");
    redefine(&mut two, "bbbbbbbbbbbbbb");
    let history = History::new(By::Date, &[one, two, at(3, "1.0.0")], Vec::new());
    assert_eq!(history.groups.len(), 1);
    let group = &history.groups[0];
    assert_eq!(
        group.remarks,
        [
            "writes is not the same scenario in all of these runs (hash 00ff in runs/3; hash bbbbbbbbbbbb in runs/2; hash \
          aaaaaaaaaaaa in runs/1), so only the figures of the same one are joined."
        ]
    );
    let mut titles: Vec<&str> = group.panels.iter().map(|panel| panel.title.as_str()).collect();
    assert!(titles.contains(&"writes (bbbbbbbbbbbb) on multi:2: CPU us per statement"), "{titles:?}");
    assert!(titles.contains(&"reads on multi:2: CPU us per statement"), "{titles:?}");
    titles.sort_unstable();
    assert!(titles.windows(2).all(|two| two[0] != two[1]), "no heading stands twice: {titles:?}");
}

#[test]
fn an_arrangement_of_one_name_on_other_cores_stands_apart_with_the_reason() {
    let mut two = at(2, "1.0.0");
    two.1.run.plan.arrangements[0].worker_cores = vec![1];
    let history = History::new(By::Date, &[at(1, "1.0.0"), two], Vec::new());
    let group = &history.groups[0];
    assert_eq!(
        group.remarks,
        [
            "multi:2 is not the same arrangement in all of these runs (worker on core 1, server on cores 0-1 in runs/2; worker on cores \
          0-1, server on cores 0-1 in runs/1), so only the figures of the same one are joined."
        ]
    );
    assert_eq!(
        group.panels[0].title,
        "writes on multi:2 (worker on core 1, server on cores 0-1): CPU us per statement"
    );
}

#[test]
fn panels_stand_in_the_order_of_the_scenarios_in_the_newest_run() {
    let order = |history: &History| -> Vec<String> {
        let mut names: Vec<String> = history.groups[0].panels.iter().map(|panel| panel.scenario.clone()).collect();
        names.dedup();
        names
    };
    let (old, mut new) = (at(1, "1.0.0"), at(2, "1.0.0"));
    for by in [By::Date, By::Version] {
        assert_eq!(order(&History::new(by, &[old.clone(), new.clone()], Vec::new())), ["writes", "reads"]);
    }
    new.1.run.scenarios.reverse();
    for by in [By::Date, By::Version] {
        assert_eq!(order(&History::new(by, &[new.clone(), old.clone()], Vec::new())), ["reads", "writes"]);
    }
    new.1.run.scenarios.truncate(1);
    assert_eq!(order(&History::new(By::Date, &[old, new], Vec::new())), ["reads", "writes"], "what it lacks is behind");
}

#[test]
fn by_version_no_heading_stands_twice_and_every_driver_keeps_its_colour() {
    let history = History::new(By::Version, &[at(1, "1.0.0"), at(2, "1.0.0"), at(3, "1.1.0")], Vec::new());
    let panels = &history.groups[0].panels;
    let mut titles: Vec<&str> = panels.iter().map(|panel| panel.title.as_str()).collect();
    assert_eq!(
        titles[..2],
        ["scylla, writes on multi:2: CPU us per statement", "cdrs-tokio, writes on multi:2: CPU us per statement"]
    );
    titles.sort_unstable();
    assert!(titles.windows(2).all(|two| two[0] != two[1]), "{titles:?}");
    for panel in panels.iter().flat_map(|panel| &panel.lines) {
        let expected = ["scylla", "cdrs-tokio", "cassandra-cpp"].iter().position(|name| *name == panel.contender);
        assert_eq!(Some(panel.colour).filter(|_| panel.role == Role::Driver), expected, "{}", panel.contender);
    }
    let places = &panels[0].places;
    assert_eq!(
        *places,
        ["1.0.0 (2026-02-01)", "1.0.0 (2026-02-02)", "1.1.0"],
        "two columns of one name say their dates"
    );
}

#[test]
fn what_was_asked_is_told_in_plain_english() {
    let history = History::new(By::Date, &[at(1, "1.0.0")], Vec::new());
    let asked = |name: &str| {
        let found = history.groups[0].conditions.iter().find(|(known, _)| known == name);
        found.map(|(_, value)| value.clone()).unwrap()
    };
    assert_eq!(
        asked("what was asked"),
        "1,024 in flight, 1 connection, equal settings, LOCAL_ONE, pages of 5,000 rows, a time limit of 30,000 ms"
    );
    assert_eq!(asked("the count"), "500,000 statements, 10,000 before the window");
}

#[test]
fn a_void_cell_is_a_gap_that_says_so() {
    let mut second = at(2, "1.0.0");
    for cell in second.1.cells.iter_mut().filter(|cell| cell.contender == "scylla") {
        cell.void = Some("A row was wrong.".to_owned());
    }
    let history = History::new(By::Date, &[at(1, "1.0.0"), second, at(3, "1.0.0")], Vec::new());
    let line = scylla(&history, 0);
    let shown: Vec<bool> = line.points.iter().map(|point| point.median.is_some()).collect();
    assert_eq!(shown, [true, false, true]);
    assert_eq!(line.points[1].gap.as_deref(), Some("A row was wrong."));
}

#[test]
fn another_load_generator_is_said() {
    let mut second = at(2, "1.0.0");
    second.1.run.contenders[0].build = "another".to_owned();
    let history = History::new(By::Date, &[at(1, "1.0.0"), second], Vec::new());
    assert!(history.groups[0].remarks[0].starts_with("The load generator is not the same"), "{history:?}");
}
