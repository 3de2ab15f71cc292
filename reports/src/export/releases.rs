//! The releases of a driver: first where a figure changes, then all figures.

use super::chart::history::{figure, said, story};
use super::history::gaps;
use super::part::{Field, Part, Sheet, TableRow};
use crate::text::{grouped, plain, unique};
use crate::{Analysis, Group, History, HistoryPoint, LevelChange, Panel, Role};

pub(super) const INTERVALS: &str = "A range is the 95 % interval of the ratio to the reference, which has none itself.";

/// The changes between two neighbouring releases, each with the panel that shows it; before them the driver's place among the drivers, that
/// of the later release, and both versions.
type Upgrade<'a> = ((Option<usize>, usize, [&'a str; 2]), Vec<(&'a Panel, &'a LevelChange)>);

/// What a run that compares all releases shows of them; nothing of any other run.
pub(crate) fn releases(analysis: &Analysis) -> Vec<Part> {
    History::of_releases(analysis).as_ref().map(parts).unwrap_or_default()
}

/// The changes as a list, then a table per driver, scenario and arrangement.
pub(super) fn parts(group: &Group) -> Vec<Part> {
    let panels: Vec<&Panel> = panels(group).collect();
    let is_one = panels.iter().all(|panel| panel.arrangement == panels[0].arrangement);
    let drivers = unique(panels.iter().map(|panel| panel.lines[0].contender.as_str()));
    let upgrades = upgrades(&panels, &drivers);
    let mut parts = vec![Part::Title("Where a figure changes (per statement)".to_owned())];
    let is_searched = panels.iter().any(|panel| panel.lines[0].is_searched);
    parts.push(match (upgrades.is_empty(), is_searched) {
        (false, _) => Part::List(upgrades.iter().map(|upgrade| sentence(upgrade, &drivers, is_one)).collect()),
        (true, true) => Part::Text("No figure changes by more than its noise.".to_owned()),
        (true, false) => Part::Text("Too few releases have figures to look for changes: three are needed.".to_owned()),
    });
    parts.extend(has_intervals(group).then(|| Part::Text(INTERVALS.to_owned())));
    let table = |panel: &'_ Panel| (panel.lines[0].contender.clone(), place(panel));
    let tables = grouped(panels.into_iter().map(|panel| (table(panel), panel)));
    parts.extend(tables.iter().map(|(_, table)| Part::Sheet(sheet(table))));
    parts.extend(Part::list(gaps(group)));
    parts
}

pub(super) fn has_intervals(group: &Group) -> bool {
    panels(group).any(|panel| panel.lines[0].has_intervals())
}

/// Those of drivers.
pub(super) fn panels(group: &Group) -> impl Iterator<Item = &Panel> {
    group.panels.iter().filter(|panel| panel.lines.len() == 1 && panel.lines[0].role == Role::Driver)
}

fn upgrades<'a>(panels: &[&'a Panel], drivers: &[&str]) -> Vec<Upgrade<'a>> {
    let of = |panel: &'a Panel| {
        let line = &panel.lines[0];
        let driver = drivers.iter().position(|one| *one == line.contender);
        line.changes.iter().map(move |change| {
            let [before, after] = change.points.map(|at| &line.points[at]);
            ((driver, after.place, [before.version.as_str(), &after.version]), (panel, change))
        })
    };
    let mut upgrades = grouped(panels.iter().flat_map(|panel| of(panel)));
    upgrades.sort_by_key(|((driver, release, _), _)| (*driver, *release));
    upgrades
}

/// The releases, what changes in each scenario, and why; the driver if there are several, and the arrangement unless there is one.
fn sentence(((driver, _, versions), changes): &Upgrade, drivers: &[&str], is_one: bool) -> String {
    let place = |panel: &Panel| if is_one { plain(&panel.scenario) } else { place(panel) };
    let told = changes.iter().map(|(panel, change)| (place(panel), story(panel, &panel.lines[0], change)));
    let places = grouped(told).into_iter().map(|(place, stories)| format!("{place} {}", stories.join(", ")));
    let places: Vec<String> = places.collect();
    let causes = changes.iter().flat_map(|(_, change)| &change.causes);
    let why = unique(causes.map(|cause| format!(" {} ({})", plain(&cause.says), plain(&cause.source)))).concat();
    let why = if why.is_empty() { why } else { format!(" What is known:{why}") };
    let adapter = changes.iter().find_map(|(_, change)| change.adapter.as_ref());
    let adapter =
        adapter.map_or(String::new(), |folder| format!(" The adapter is another one, too: {}.", plain(folder)));
    let driver = driver.filter(|_| drivers.len() > 1).map_or(String::new(), |at| format!("{} ", plain(drivers[at])));
    let [before, after] = versions.map(plain);
    format!("{driver}{before} -> {after}: {}.{why}{adapter}", places.join("; "))
}

fn place(panel: &Panel) -> String {
    format!("{} on {}", plain(&panel.scenario), plain(&panel.arrangement))
}

/// A row per release, a column per figure; an asterisk where another level begins.
fn sheet(panels: &[&Panel]) -> Sheet {
    let places = &panels[0].places;
    let field = |panel: &Panel, place: &String| {
        let line = &panel.lines[0];
        let at = line.points.iter().position(|point| panel.places[point.place] == *place);
        let Some((at, point)) = at.map(|at| (at, &line.points[at])) else { return Field::of("-") };
        let mark = if line.changes.iter().any(|change| change.points[1] == at) { " *" } else { "" };
        match point {
            HistoryPoint { interval: Some(_), median: Some(_), .. } => Field::of(said(panel, point) + mark),
            HistoryPoint { median: Some(median), .. } => Field::of(figure(panel, *median) + mark),
            _ => Field::bad("n/a"),
        }
    };
    let row = |place: &String| TableRow::of(place, panels.iter().map(|panel| field(panel, place)).collect());
    let has_changes = panels.iter().any(|panel| !panel.lines[0].changes.is_empty());
    let mark = if has_changes { "; * changed with this release" } else { "" };
    let title = format!("Releases of {}, {}{mark}", plain(&panels[0].lines[0].contender), place(panels[0]));
    let columns = panels.iter().map(|panel| column(&panel.words));
    Sheet::of(title, "release", columns, vec![places.iter().map(row).collect()])
}

fn column(words: &str) -> String {
    let (what, how) = words.split_at(words.find(" per statement").unwrap_or(words.len()));
    format!("{what}\n{}", how.trim_start())
}

#[cfg(test)]
mod tests {
    use crate::export::shown;
    use crate::measure::SYSCALLS_PER_STATEMENT;
    use crate::{
        Analysis, BuiltOnDemand, Cell, Contender, History, HistoryPoint, Look, Measure, Panel, Pass, Run, SummaryRow,
        Unit, sample,
    };

    /// Releases of scylla with their system calls per write; a release without any could not be built.
    fn run(releases: &[(&str, Option<f64>)]) -> (Run, Vec<Cell>) {
        let (mut run, cells) = sample::run();
        let cells: Vec<Cell> = cells.into_iter().filter(|cell| cell.contender == "scylla").collect();
        let base = run.contenders.remove(0);
        run.contenders.clear();
        let mut all = Vec::new();
        for (version, figure) in releases {
            let id = format!("scylla@{version}");
            for cell in cells.iter().filter(|cell| cell.scenario == "writes" && figure.is_some()) {
                let mut cell = Cell { contender: id.clone(), label: id.clone(), ..cell.clone() };
                for (block, times) in [(1, 1.0), (2, 0.99), (3, 1.01)] {
                    let value = Measure::value(figure.unwrap_or_default() * times, Unit::Count);
                    if cell.pass == Pass::Counting {
                        cell.measures.insert(SYSCALLS_PER_STATEMENT.to_owned(), value);
                        all.push(Cell { block, ..cell.clone() });
                    }
                }
                all.extend(Some(cell).filter(|cell| cell.pass == Pass::Timing));
            }
            let unavailable = figure.is_none().then(|| "The compiler refused | it.".to_owned());
            let folder = if version.starts_with("0.2") { "drivers/scylla/0.1" } else { "drivers/scylla/0.3" };
            let built = Some(BuiltOnDemand { adapter: folder.to_owned(), ..BuiltOnDemand::default() });
            let version = if figure.is_some() { (*version).to_owned() } else { String::new() };
            run.contenders.push(Contender { id: id.clone(), label: id, version, built, unavailable, ..base.clone() });
        }
        run.scenarios.truncate(1);
        run.plan.reference = run.contenders.last().map(|one| one.id.clone());
        (run.plan.releases, run.plan.exact) = (vec!["scylla@all".to_owned()], true);
        (run, all)
    }

    const RELEASES: [(&str, Option<f64>); 6] = [
        ("0.2.1", Some(3.5)),
        ("0.3.1", Some(0.43)),
        ("0.4.7", Some(0.432)),
        ("0.5.0", None),
        ("0.6.1", Some(0.43)),
        ("0.10.2", Some(0.5)),
    ];

    #[test]
    fn a_terminal_shows_the_changes_with_their_causes_first_and_a_release_that_was_not_built_with_its_reason() {
        let (run, cells) = run(&RELEASES);
        let text = shown::table(&run, &cells, Look { width: 100, ..shown::at(100) });
        expect_test::expect_file!["golden/a_terminal_shows_the_changes_with_their_causes_first_and_a_release_that_was_not_built_with_its_reason.txt"].assert_eq(&text);
        let markdown = shown::markdown(&run, &cells);
        assert!(
            markdown.contains("| 0.3.1 | 0.430 \\* |") && markdown.contains("- 0.2.1 -&gt; 0.3.1: writes"),
            "{markdown}"
        );
    }

    #[test]
    fn cpu_time_has_an_interval_at_every_release_but_the_reference_and_the_page_says_what_it_is() {
        let (mut run, cells) = sample::blocks(12);
        run.contenders.truncate(2);
        for (one, version) in run.contenders.iter_mut().zip(["1.0.0", "1.1.0"]) {
            (one.label, one.version) = (format!("scylla@{version}"), version.to_owned());
        }
        run.plan.reference = Some(run.contenders[1].id.clone());
        run.plan.releases = vec!["scylla@all".to_owned()];
        let text = shown::table(&run, &cells, shown::at(100));
        let row = |version: &str| text.lines().find(|line| line.starts_with(version)).unwrap_or_default();
        assert!(row("1.0.0").contains(" to ") && !row("1.1.0").contains(" to "), "{text}");
        assert!(text.replace('\n', " ").contains(super::INTERVALS), "{text}");
        assert!(shown::html(&run, &cells).contains(super::INTERVALS));
        let analysis = Analysis::new(&run, &cells);
        let level = |panel: &Panel, point: &HistoryPoint| {
            let is = |row: &&SummaryRow| {
                (&row.meter, &row.scenario, &row.arrangement, &row.contender)
                    == (&panel.meter, &panel.scenario, &panel.arrangement, &point.contender)
            };
            analysis.rows.iter().find(is).and_then(|row| row.level)
        };
        for panel in &History::of_releases(&analysis).unwrap().panels {
            for point in &panel.lines[0].points {
                assert_eq!(point.median, level(panel, point), "as in the table");
                let has_range =
                    if panel.lines[0].has_intervals() { point.interval.is_some() } else { point.blocks > 1 };
                assert_eq!(point.spread.is_some(), has_range, "{} of {}", panel.title, point.version);
            }
        }
        run.plan.releases.clear();
        assert!(!shown::html(&run, &cells).contains(super::INTERVALS));
    }

    #[test]
    fn without_a_change_there_is_a_sentence() {
        let (run, cells) = run(&[("0.3.1", Some(0.43)), ("0.4.7", Some(0.433)), ("0.5.0", Some(0.428))]);
        let text = shown::table(&run, &cells, shown::at(100));
        assert!(text.contains("No figure changes by more than its noise.") && !text.contains('*'), "{text}");
        let (run, cells) = self::run(&[("0.3.1", Some(0.43)), ("0.4.7", Some(0.9))]);
        let text = shown::table(&run, &cells, shown::at(100));
        assert!(text.contains("Too few releases have figures to look for changes: three are needed."), "{text}");
    }

    #[test]
    fn a_page_has_a_chart_over_releases_and_no_times() {
        let (run, cells) = run(&RELEASES);
        let page = shown::html(&run, &cells);
        let section = page.split("id=\"releases\"").nth(1).unwrap().split("</section>").next().unwrap();
        assert!(section.contains("<svg") && section.contains("3.50 -&gt; 0.430 system calls"), "{section}");
        assert!(section.contains("no figure: The compiler refused | it."), "{section}");
        assert!(!page.contains("What each driver costs") && !page.contains("CPU us"), "{page}");
    }
}
