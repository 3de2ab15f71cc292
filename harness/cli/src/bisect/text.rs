//! A search on a terminal: what a step found, the answer, and the steps as a table.

use cqldyno_reports::{Field, Part, Sheet, TableRow, plain, three_digits};

use super::log::{Log, SearchStep};
use super::search::Seen;

/// The longest name of a version in the table.
const LONGEST: usize = 40;
/// The change between two neighbours is said to be all of the difference between the ends if it is at least this share of it.
const MOST: f64 = 0.9;

/// How a search ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Answer {
    /// An end has no figure, for this reason.
    NoFigure(usize, String),
    /// Both ends have the same figure.
    Equal,
    /// The change comes with the second of these neighbours.
    Found(usize, usize),
    /// The change lies between these, and what lies between them could not be told.
    Hidden(usize, usize),
    /// These neighbours are told apart beside the ends, and not beside each other.
    Contradiction(usize, usize),
}

/// The version's name, with the word for it if it is an end.
fn name(log: &Log, place: usize) -> String {
    let last = log.range.versions.len() - 1;
    let end = match place {
        0 if log.range.good_is_newer => " (bad)",
        place if place == last && !log.range.good_is_newer => " (bad)",
        place if place == 0 || place == last => " (good)",
        _ => "",
    };
    format!("{}{end}", plain(&log.range.versions[place].1))
}

/// Who was measured in a step and what came out, in a few words.
pub fn found(log: &Log, step: &SearchStep) -> String {
    let (here, like) = (name(log, step.at), like(log, step.seen));
    match (step.beside, step.figures.as_slice()) {
        (Some(beside), both @ [_, _]) => {
            format!("{} and {here} {}: {}", name(log, beside), differ(step), change(both))
        }
        (_, [.., last]) => format!("{here}: {}, {like}", three_digits(*last)),
        _ => format!("{here}: {like}"),
    }
}

fn change(figures: &[f64]) -> String {
    figures.iter().map(|one| three_digits(*one)).collect::<Vec<_>>().join(" -> ")
}

/// Whether two versions that were measured beside each other differ.
fn differ(step: &SearchStep) -> &'static str {
    if step.seen == Seen::Newer { "differ" } else { "do not differ as the ends do" }
}

/// What a version is like, by the words for the ends.
fn like(log: &Log, seen: Seen) -> String {
    let (older, newer) = if log.range.good_is_newer { ("bad", "good") } else { ("good", "bad") };
    match seen {
        Seen::Older => older.to_owned(),
        Seen::Newer => newer.to_owned(),
        Seen::NearerOlder => format!("neither, nearer to {older}"),
        Seen::NearerNewer => format!("neither, nearer to {newer}"),
        Seen::Unclear => "either".to_owned(),
        Seen::Skipped => "skipped".to_owned(),
    }
}

pub fn answer(log: &Log, answer: &Answer) -> String {
    let asked = &log.asked;
    let driver = asked.driver.split(['@', '+']).next().unwrap_or_default();
    let (words, place) = (asked.meter.words(), format!("{} on {}", asked.scenario, asked.arrangement));
    let last = log.range.versions.len() - 1;
    let pair = |before: usize, after: usize| {
        log.pairs([before, after]).last().map(|step| step.figures.clone()).unwrap_or_default()
    };
    let (name, ends) = (|place: usize| name(log, place), pair(0, last));
    match *answer {
        Answer::NoFigure(place, ref why) => {
            format!("{driver} {} has no figure for {words}, so nothing can be searched: {}", name(place), plain(why))
        }
        Answer::Equal => {
            let is_exact = log.pairs([0, last]).last().is_some_and(|step| step.exact);
            let more = if asked.meter.pass().is_some() { "--arrangement current" } else { "more time (--within)" };
            let (what, then) = match is_exact {
                true => ("do not differ in", "There is nothing to find; try another --meter or --scenario.".to_owned()),
                false => ("could not be told apart in", format!("Try another --meter or --scenario, or {more}.")),
            };
            format!("{driver} {} and {} {what} {words} ({place}): {}. {then}", name(0), name(last), change(&ends))
        }
        Answer::Found(before, after) => {
            let figures = pair(before, after);
            let more = match (figures.first() < figures.last(), asked.meter.pass()) {
                (true, _) => "more",
                (false, Some(_)) => "fewer",
                (false, None) => "less",
            };
            let first =
                format!("{driver} {} is the first with {more} {words}: {} ({place}).", name(after), change(&figures));
            let (rest, adapter) = (rest(log, &figures, &ends), adapter(log, [before, after]));
            format!("{first} The version before it is {}.{rest}{adapter}", name(before))
        }
        Answer::Hidden(before, after) => format!(
            "The change in {words} ({place}) comes after {driver} {} and not after {}: {}. {} between them could not be told; the table \
             says why.{}{}",
            name(before),
            name(after),
            change(&pair(before, after)),
            cqldyno_reports::count((after - before - 1) as u64, "version"),
            rest(log, &pair(before, after), &ends),
            adapter(log, [before, after])
        ),
        Answer::Contradiction(before, after) => format!(
            "The steps contradict each other: beside the ends {driver} {} and {} differ in {words} ({place}), and beside each other they \
             cannot be told apart: {}. Search again, with --meter instructions or more time (--within).",
            name(before),
            name(after),
            change(&pair(before, after))
        ),
    }
}

/// That the second one has another adapter, if so.
fn adapter(log: &Log, pair: [usize; 2]) -> String {
    let folder = log.pairs(pair).pop().and_then(|step| step.adapter.as_ref());
    folder.map_or(String::new(), |folder| {
        format!(
            " cqldyno's adapter is another one from {} on ({}), so a part of the change may be the adapter's.",
            name(log, pair[1]),
            plain(folder)
        )
    })
}

/// That the neighbours' difference is not that of the ends, if so.
fn rest(log: &Log, figures: &[f64], ends: &[f64]) -> String {
    let gap = |pair: &[f64]| if let [before, after] = pair { after - before } else { 0.0 };
    let share = gap(figures) / gap(ends);
    if !share.is_finite() || (MOST..=1.0 / MOST).contains(&share) {
        return String::new();
    }
    let last = log.range.versions.len() - 1;
    let (first, last, change) = (name(log, 0), name(log, last), change(ends));
    format!(" From {first} to {last} it is {change}, so other versions between them change it, too.")
}

/// The steps, one line each; their reasons below.
pub fn table(log: &Log) -> Vec<Part> {
    let row = |(number, step): (usize, &SearchStep)| {
        let (figures, like) = match (step.beside, step.figures.last()) {
            (_, None) => ("n/a".to_owned(), like(log, step.seen)),
            (None, Some(here)) => (three_digits(*here), like(log, step.seen)),
            (Some(_), Some(_)) => (change(&step.figures), format!("they {}", differ(step))),
        };
        let fields = [names_of(log, step), figures, like, step.runs.clone().unwrap_or_default()];
        TableRow::of(&number.to_string(), fields.map(Field::of).into())
    };
    let columns = ["version", "per statement", "like", "runs"];
    let rows = (1..).zip(&log.steps).map(row).collect();
    let sheet = Sheet { words: 1, ..Sheet::of("", "step", columns, vec![rows]) };
    let why = |(number, step): (usize, &SearchStep)| Some(format!("{number}: {}", plain(step.why.as_ref()?)));
    let reasons = Part::list((1..).zip(&log.steps).filter_map(why).collect());
    std::iter::once(Part::Sheet(sheet)).chain(reasons).collect()
}

/// Who was measured, as short as a column needs it.
fn names_of(log: &Log, step: &SearchStep) -> String {
    let short = |place: usize| {
        let name = plain(&log.range.versions[place].1);
        let shorter = || name.chars().take(LONGEST - 3).chain("...".chars()).collect();
        if name.chars().count() > LONGEST { shorter() } else { name }
    };
    match step.beside {
        Some(beside) => format!("{}, {}", short(beside).split(' ').next().unwrap_or_default(), short(step.at)),
        None => short(step.at),
    }
}

#[cfg(test)]
mod tests {
    use cqldyno_reports::{Look, terminal};

    use super::*;
    use crate::bisect::log::tests::{sample, step};

    fn said(change: impl FnOnce(&mut Log), by: Answer) -> String {
        let dir = tempfile::tempdir().unwrap();
        let mut log = sample(dir.path());
        log.add(step(3, Some(0), Seen::Newer, &[3.3, 0.43])).unwrap();
        change(&mut log);
        answer(&log, &by)
    }

    #[test]
    fn the_answer_names_the_first_version_with_the_change_and_both_figures() {
        let of = |log: &mut Log| log.add(step(2, Some(1), Seen::Newer, &[3.3, 0.43])).unwrap();
        let found = said(of, Answer::Found(1, 2));
        assert_eq!(
            found,
            "a 1.2.0 is the first with fewer system calls per statement: 3.30 -> 0.430 (writes on current). The version before it is \
             1.1.0."
        );
        let other = |log: &mut Log| {
            let adapter = Some("drivers/a".to_owned());
            log.add(SearchStep { adapter, ..step(2, Some(1), Seen::Newer, &[3.3, 0.43]) }).unwrap();
        };
        let other = said(other, Answer::Found(1, 2));
        assert!(other.contains("adapter is another one from 1.2.0 on (drivers/a), so a part"), "{other}");
        let part = |log: &mut Log| log.add(step(2, Some(1), Seen::Newer, &[3.3, 1.2])).unwrap();
        assert!(said(part, Answer::Found(1, 2)).ends_with(
            "From 1.0.0 (good) to 1.3.0 (bad) it is 3.30 -> 0.430, so other versions between them change it, too."
        ));
        let more = |log: &mut Log| log.add(step(2, Some(1), Seen::Newer, &[1.0, 2.0])).unwrap();
        assert!(said(more, Answer::Found(1, 2)).contains("is the first with more system calls"));
    }

    #[test]
    fn what_is_not_found_says_what_is_known_and_what_to_do() {
        let hidden = said(|log| log.add(step(2, Some(0), Seen::Newer, &[3.3, 0.43])).unwrap(), Answer::Hidden(0, 2));
        assert!(
            hidden.contains("comes after a 1.0.0 (good) and not after 1.2.0: 3.30 -> 0.430. 1 version between them"),
            "{hidden}"
        );
        let equal = said(|log| log.steps[0].exact = true, Answer::Equal);
        assert!(
            equal.starts_with("a 1.0.0 (good) and 1.3.0 (bad) do not differ in system calls per statement"),
            "{equal}"
        );
        let open = said(|log| log.steps[0].exact = false, Answer::Equal);
        assert!(open.contains("could not be told apart in system calls per statement"), "{open}");
        let torn =
            said(|log| log.add(step(2, Some(1), Seen::Unclear, &[1.0, 1.0])).unwrap(), Answer::Contradiction(1, 2));
        assert!(torn.contains("beside each other they cannot be told apart: 1.00 -> 1.00. Search again"), "{torn}");
    }

    #[test]
    fn the_table_has_a_line_per_step_and_the_reasons_below() {
        let dir = tempfile::tempdir().unwrap();
        let mut log = sample(dir.path());
        log.range.versions[1].1 = "0123456789 A subject that is much longer than its column".to_owned();
        log.add(step(3, Some(0), Seen::Newer, &[3.3, 0.43])).unwrap();
        let why = Some("It could not be built.".to_owned());
        log.add(SearchStep { why, ..step(1, None, Seen::Skipped, &[]) }).unwrap();
        let runs = Some("03-1.2.0".to_owned());
        log.add(SearchStep { runs, ..step(2, None, Seen::NearerNewer, &[3.3, 0.43, 0.9]) }).unwrap();
        let text = terminal(&table(&log), Look { width: 80, ..Look::default() });
        let words = |text: &str| text.split_whitespace().map(str::to_owned).collect::<Vec<_>>();
        let lines: Vec<&str> = text.lines().filter(|line| !line.starts_with('─') && !line.is_empty()).collect();
        assert_eq!(words(lines[0]), words("step version per statement like runs"), "{text}");
        assert_eq!(words(lines[1]), words("1 1.0.0, 1.3.0 3.30 -> 0.430 they differ"), "{text}");
        assert_eq!(words(lines[2]), words("2 0123456789 A subject that is much lon... n/a skipped"), "{text}");
        assert_eq!(words(lines[3]), words("3 1.2.0 0.900 neither, nearer to bad 03-1.2.0"), "{text}");
        assert_eq!(lines[4], "2: It could not be built.", "{text}");
        assert_eq!(found(&log, &log.steps[2]), "1.2.0: 0.900, neither, nearer to bad");
        assert_eq!(found(&log, &log.steps[0]), "1.0.0 (good) and 1.3.0 (bad) differ: 3.30 -> 0.430");
        log.range.good_is_newer = true;
        assert_eq!(found(&log, &log.steps[0]), "1.0.0 (bad) and 1.3.0 (good) differ: 3.30 -> 0.430");
    }
}
