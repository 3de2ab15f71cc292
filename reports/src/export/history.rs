//! Runs of many dates, in every format.

use super::chart::history::said;
use super::part::{Field, Part, Sheet, TableRow};
use crate::text::{capital, plain, unique};
use crate::{Group, History, HistoryLine, Panel};

pub(super) const BARS: &str = "A figure is the median over the blocks or generations of its run, followed by the least and the greatest of them. That is their \
     spread, not an interval: no verdict follows from two runs.";

pub(super) const NOTHING_JOINED: &str = "Only runs with equal processor, kernel, target, settings and count are joined. The machine may have changed in \
     other ways.";

pub(super) fn parts(history: &History) -> Vec<Part> {
    let mut parts = vec![Part::Text(BARS.to_owned()), Part::Text(NOTHING_JOINED.to_owned())];
    for (at, group) in history.groups.iter().enumerate() {
        parts.push(Part::Title(format!("Group {}", at + 1)));
        parts.extend(Part::list(about(group)));
        parts.extend(group.panels.iter().map(|panel| Part::Sheet(sheet(panel))));
        parts.extend(Part::list(gaps(group)));
    }
    parts.extend(Part::list(left_out(history)));
    parts
}

pub(super) fn about(group: &Group) -> Vec<String> {
    let conditions: Vec<String> =
        group.conditions.iter().map(|(name, value)| format!("{name}: {}", plain(value))).collect();
    let names: Vec<String> = group.runs.iter().map(|run| plain(&run.name)).collect();
    let mut all = vec![format!("{}. Runs: {}.", capital(&conditions.join("; ")), names.join(", "))];
    all.extend(group.apart.clone());
    all.extend(group.remarks.iter().cloned());
    let notes = group.runs.iter().flat_map(|run| run.notes.iter().map(|note| format!("{}: {note}", plain(&run.name))));
    all.extend(notes);
    all
}

pub(super) fn gaps(group: &Group) -> Vec<String> {
    let mut all: Vec<String> = Vec::new();
    for panel in &group.panels {
        for line in &panel.lines {
            for (point, gap) in line.points.iter().filter_map(|point| Some((point, point.gap.as_ref()?))) {
                // The releases of one run have no run to be told apart by.
                let (version, run) = match group.runs[point.run].name.as_str() {
                    "" => (format!(" {}", plain(&point.version)), String::new()),
                    run => (String::new(), format!(" in {}", plain(run))),
                };
                let (contender, gap) = (plain(&line.contender), plain(gap));
                let on = [&panel.scenario, &panel.arrangement].map(|name| plain(name)).join(" on ");
                all.push(format!("No figure of {contender}{version} for {on}{run}: {gap}"));
            }
        }
    }
    unique(all)
}

pub(super) fn left_out(history: &History) -> Vec<String> {
    history.left_out.iter().map(|one| format!("Left out: {}", plain(&one.why))).collect()
}

fn sheet(panel: &Panel) -> Sheet {
    let row = |line: &HistoryLine| {
        let field = |place: usize| match line.points.iter().find(|point| point.place == place) {
            Some(point) if point.median.is_none() => Field::bad(said(panel, point)),
            Some(point) => Field::of(said(panel, point)),
            None => Field::of("-"),
        };
        TableRow::of(&line.contender, (0..panel.places.len()).map(field).collect())
    };
    let columns = panel.places.iter().map(|place| plain(place));
    Sheet::of(plain(&panel.title), "contender", columns, vec![panel.lines.iter().map(row).collect()])
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::export::exporter;
    use crate::{By, LeftOut, Look, Recorded, sample};

    fn shown(format: &str, history: &History, width: usize) -> String {
        let look = Look { width, all_columns: false, ..Look::default() };
        exporter(format).unwrap().history(history, look).unwrap().unwrap()
    }

    /// Two runs of one machine, and one of another in which every name is hostile and every cell of a contender is void.
    fn hostile() -> History {
        let run = |day: u32| {
            let (mut run, cells) = sample::blocks(3);
            run.started = format!("2026-02-{day:02}T03:04:05Z").parse().unwrap();
            (format!("runs/{day}"), Recorded { run, cells, notes: Vec::new() })
        };
        let evil = "a|b</title><script>alert(1)</script>\u{1b}[31m\"";
        let (_, mut other) = run(3);
        other.run.environment.cpu = evil.to_owned();
        other.run.contenders[0].label = format!("{evil}@1");
        other.run.contenders[0].version = "1".to_owned();
        let id = other.run.contenders[0].id.clone();
        other.cells.iter_mut().filter(|cell| cell.contender == id).for_each(|cell| cell.void = Some(evil.to_owned()));
        let left_out = vec![LeftOut { run: evil.to_owned(), why: format!("the run {evil} cannot be used") }];
        History::new(By::Date, &[run(1), run(2), (evil.to_owned(), other)], left_out)
    }

    #[test]
    fn names_from_outside_stay_text_in_every_format() {
        let history = hostile();
        let page = shown("html", &history, 80);
        assert!(!page.contains("<script") && !page.contains('\u{1b}'), "{page}");
        assert!(page.contains("&lt;script&gt;") && page.contains("script-src 'none'"), "{page}");
        let markdown = shown("markdown", &history, 80);
        assert!(
            !markdown.contains("<script") && !markdown.contains('\u{1b}') && markdown.contains("a\\|b"),
            "{markdown}"
        );
        for text in [shown("table", &history, 80), shown("csv", &history, 80)] {
            assert!(!text.contains('\u{1b}') && text.contains("script"), "{text}");
        }
        let whole: serde_json::Value = serde_json::from_str(&shown("json", &history, 80)).unwrap();
        assert_eq!(whole["groups"].as_array().unwrap().len(), 2);
    }

    #[test]
    fn the_page_joins_runs_of_one_group_and_says_why_others_and_gaps_stand_apart() {
        let history = hostile();
        let page = shown("html", &history, 80);
        assert!(page.contains("These runs are not joined with the earlier ones, because the processor was"), "{page}");
        assert!(page.contains("least and the greatest of them") && page.contains("not an interval"), "{page}");
        assert!(page.contains("Left out: the run a|b"), "{page}");
        assert!(page.contains("No figure of a|b"), "{page}");
        assert!(page.matches("<svg").count() >= 8 && !page.contains("could not be drawn"), "{page}");
        let text = shown("table", &history, 120);
        assert!(text.contains("Group 2\nThe processor: a|b") && text.contains("gap"), "{text}");
        let csv = shown("csv", &history, 80);
        let gaps = csv.lines().filter(|line| line.ends_with("[31m\"\"\"") && line.starts_with("2,")).count();
        assert!(gaps > 0, "{csv}");
    }

    #[test]
    fn the_csv_has_numbers_as_numbers_and_a_row_for_a_run_that_is_left_out() {
        let history = hostile();
        let csv = shown("csv", &history, 80);
        let first = csv.lines().nth(1).unwrap();
        assert!(first.starts_with("1,runs/1,2026-02-01T03:04:05Z,") && !first.contains('"'), "{first}");
        let fields: Vec<&str> = first.split(',').collect();
        assert_eq!(fields.len(), 14, "{first}");
        assert!(fields[9..13].iter().all(|field| field.parse::<f64>().is_ok()), "{first}");
        let last = csv.lines().last().unwrap();
        assert!(last.starts_with(",\"a|b</title>") && last.contains("\",,,,,,,,,,,,\"Left out: the run a|b"), "{last}");
        let of_run = |line: &&str| line.starts_with("1,") || line.starts_with("2,");
        assert_eq!(csv.lines().skip(1).filter(of_run).count(), csv.lines().count() - 2);
    }
}
