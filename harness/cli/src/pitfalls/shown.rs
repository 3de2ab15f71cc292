//! The methods as a table with what is wrong below it, and as JSON.

use cqldyno_reports::{
    Cell, Field, Part, Run, Sheet, TableRow, count, list, plain, rate, short_count, three_digits, whole,
};
use cqldyno_scenarios::Submit;
use serde_json::{Value, json};

use super::measured::{Figures, MeasuredMethod, furthest};

/// Peak memory is told from this many times the sound one's.
const MUCH_MEMORY: f64 = 1.5;

/// A table for each arrangement, with a paragraph per method.
pub fn parts(run: &Run, all: &[(String, Vec<MeasuredMethod>)]) -> Vec<Part> {
    let label = run.contenders.first().map_or("", |one| one.label.as_str());
    let (statements, in_flight) = (run.statements(short_count), run.in_flight());
    let blocks = count(run.plan.blocks.into(), "generation");
    let head = plain(&format!("{label}: {statements} statements per turn, {in_flight}; medians of {blocks}"));
    let mut parts = vec![Part::Text(head)];
    parts.extend(all.iter().flat_map(|(arrangement, all)| table(arrangement, all)));
    let another = "One arrangement is a pitfall, too: another one can turn the order of drivers. \
                   `--arrangement multi:2,current` measures both.";
    parts.extend((all.len() == 1).then(|| Part::Text(another.to_owned())));
    parts
}

fn table(arrangement: &str, all: &[MeasuredMethod]) -> Vec<Part> {
    let sound = MeasuredMethod::sound(all);
    let columns = ["statements/s", "vs sound", "CPU us", "vs sound"];
    let rows = all.iter().map(|one| row(one, sound)).collect();
    let sheet = Sheet::of(plain(arrangement), "method", columns, vec![rows]);
    let told = |one: &MeasuredMethod| (one.method.title.to_owned(), plain(&sentences(one, sound).join(" ")));
    let last = furthest(all).map(|(one, times)| {
        let more = if one.ratios(sound).0.is_some_and(|ratio| ratio > 1.0) { "more" } else { "fewer" };
        let (title, times) = (one.method.title, three_digits(times));
        Part::Text(format!("Furthest from the sound figure: {title}, {times} times {more} statements per second."))
    });
    [Part::Sheet(sheet), Part::Pairs(all.iter().map(told).collect())].into_iter().chain(last).collect()
}

fn row(one: &MeasuredMethod, sound: Option<&Figures>) -> TableRow {
    let none = || "n/a".to_owned();
    let (throughput, cpu) = one.ratios(sound);
    let times =
        |ratio: Option<f64>| ratio.filter(|_| !one.is_sound()).map_or(String::new(), |ratio| format!("{ratio:.2}x"));
    let (per_second, cpu_us) = match &one.figures {
        Ok(figures) => (rate(figures.throughput), figures.cpu_us.map_or_else(none, three_digits)),
        Err(_) => (none(), none()),
    };
    TableRow::of(one.method.title, [per_second, times(throughput), cpu_us, times(cpu)].map(Field::of).into())
}

/// What is wrong with the method, and what the run saw of it.
fn sentences(one: &MeasuredMethod, sound: Option<&Figures>) -> Vec<String> {
    let mut sentences = vec![one.method.wrong.to_owned()];
    match &one.figures {
        Err(why) => sentences.push(why.clone()),
        Ok(figures) => {
            if let (Some(own), Some(sound)) = (figures.peak_bytes, sound.and_then(|sound| sound.peak_bytes))
                && own > MUCH_MEMORY * sound
            {
                let mib = |bytes: f64| whole(bytes / f64::from(1 << 20));
                sentences.push(format!("Peak memory: {} MiB instead of {}.", mib(own), mib(sound)));
            }
            sentences.extend(errors(figures).or_else(|| {
                let is_free = one.method.submit == Submit::Unlimited;
                is_free.then(|| "Here none failed: a statement that found no room waited.".to_owned())
            }));
            sentences.extend(figures.void.clone());
        }
    }
    sentences
}

/// The errors by kind, with the message of the commonest.
fn errors(figures: &Figures) -> Option<String> {
    let commonest = figures.errors.iter().max_by_key(|line| line.count)?;
    let kinds: Vec<String> =
        figures.errors.iter().map(|line| format!("{} {}", whole(line.count as f64), line.kind)).collect();
    Some(format!(
        "Failed: {} of {} statements, such as \"{}\".",
        list(&kinds),
        whole(figures.statements),
        commonest.first.trim_end_matches('.')
    ))
}

pub fn json(run: &Run, cells: &[Cell], all: &[(String, Vec<MeasuredMethod>)]) -> Value {
    let methods = all.iter().flat_map(|(arrangement, all)| methods(arrangement, all));
    json!({ "run": run, "cells": cells, "methods": methods.collect::<Vec<Value>>() })
}

fn methods(arrangement: &str, all: &[MeasuredMethod]) -> Vec<Value> {
    let sound = MeasuredMethod::sound(all);
    all.iter()
        .map(|one| {
            let (throughput, cpu) = one.ratios(sound);
            let figures = one.figures.as_ref().ok();
            json!({
                "arrangement": arrangement,
                "method": one.method.name,
                "title": one.method.title,
                "wrong": one.method.wrong,
                "throughput": figures.map(|figures| figures.throughput),
                "throughput_ratio": throughput,
                "cpu_per_statement": figures.and_then(|figures| figures.cpu_us),
                "cpu_per_statement_ratio": cpu,
                "peak_rss": figures.and_then(|figures| figures.peak_bytes),
                "errors": figures.map_or(&[][..], |figures| &figures.errors),
                "void": figures.and_then(|figures| figures.void.clone()),
                "unavailable": one.figures.as_ref().err(),
            })
        })
        .collect()
}

#[cfg(test)]
mod tests {

    use cqldyno_reports::{ByName, ErrorLine, Look, Measure, Unit, measure, terminal};

    use super::*;
    use crate::pitfalls::measured;
    use crate::sample;

    /// One cell of a method with these statements per second, CPU time and MiB.
    fn cell(scenario: &str, arrangement: &str, throughput: f64, cpu_us: f64, mib: f64) -> Cell {
        let measures = [
            (measure::THROUGHPUT, Measure::value(throughput, Unit::PerSecond)),
            (measure::CPU_PER_STATEMENT, Measure::value(cpu_us, Unit::Microseconds)),
            (measure::PEAK_RSS, Measure::value(mib * 1_048_576.0, Unit::Bytes)),
            (measure::STATEMENTS, Measure::value(100_000.0, Unit::Count)),
        ];
        Cell {
            scenario: scenario.to_owned(),
            arrangement: arrangement.to_owned(),
            measures: ByName::from(measures),
            ..Cell::default()
        }
    }

    fn text(parts: &[Part]) -> String {
        terminal(parts, Look { width: 80, all_columns: false, ..Look::default() })
    }

    fn run() -> (Run, Vec<Cell>) {
        let (mut run, _) = sample::run();
        run.contenders.truncate(1);
        run.scenarios.truncate(1);
        run.scenarios[0].name = "not-prepared".to_owned();
        let why = "It does not declare the capability `unprepared`, which the statement select needs.".to_owned();
        run.scenarios[0].left_out.insert(run.contenders[0].id.clone(), why);
        let mut overflowing = cell("unlimited+unlimited", "multi:2", 90_000.0, 6.0, 400.0);
        let first = "the queue of requests is full, because far more were sent than it has room for".to_owned();
        overflowing.error_kinds = vec![ErrorLine { kind: "queue_full".to_owned(), count: 67_233, first }];
        overflowing.measures.insert(measure::ERRORS.to_owned(), Measure::value(67_233.0, Unit::Count));
        overflowing.void = Some("67,233 statements failed.".to_owned());
        let cells = vec![
            cell("one-at-a-time+sequential", "multi:2", 10_000.0, 40.0, 20.0),
            cell("same-row", "multi:2", 600_000.0, 3.5, 20.0),
            overflowing,
            cell("sound", "current", 500_000.0, 2.0, 20.0),
            cell("sound", "multi:2", 390_000.0, 4.0, 20.0),
            cell("sound", "multi:2", 410_000.0, 4.2, 20.0),
            cell("sound", "multi:2", 400_000.0, 3.8, 20.0),
        ];
        (run, cells)
    }

    #[test]
    fn every_method_stands_beside_the_sound_one_with_what_is_wrong_and_what_overflowed() {
        let (run, cells) = run();
        let text = text(&table("multi:2", &measured(&run, &cells, "multi:2").unwrap()));
        let line = |title: &str| text.lines().find(|line| line.starts_with(title)).unwrap().split_whitespace();
        assert!(line("one at a time").eq(["one", "at", "a", "time", "10.0k", "0.03x", "40.0", "10.00x"]), "{text}");
        assert!(line("sound").eq(["sound", "400k", "4.00"]), "{text}");
        assert!(line("not prepared").eq(["not", "prepared", "n/a", "n/a"]), "{text}");
        let flat = text.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(flat.contains("does not declare the capability"), "{text}");
        assert!(line("a task").eq(["a", "task", "per", "statement", "n/a", "n/a"]), "{text}");
        assert!(flat.contains("The run ended before this method."), "{text}");
        assert!(flat.contains("Peak memory: 400 MiB instead of 20."), "{text}");
        assert!(flat.contains("Failed: 67,233 queue_full of 100,000 statements"), "{text}");
        assert!(flat.contains("one at a time, 40.0 times fewer statements per second."), "{text}");
        assert!(text.lines().all(|line| line.chars().count() <= 80), "{text}");
    }

    #[test]
    fn json_has_every_method_with_its_ratios_or_the_reason_why_there_are_none() {
        let (run, cells) = run();
        let of = |name: &str| (name.to_owned(), measured(&run, &cells, name).unwrap());
        let all = [of("multi:2"), of("current")];
        let json = json(&run, &cells, &all);
        let methods = json["methods"].as_array().unwrap();
        assert_eq!((methods.len(), &methods[11]["arrangement"]), (12, &json!("current")));
        assert!(!text(&parts(&run, &all)).contains("is a pitfall, too"));
        assert!(text(&parts(&run, &all[..1])).contains("is a pitfall, too"));
        assert_eq!((&methods[0]["method"], &methods[0]["throughput_ratio"]), (&json!("one-at-a-time"), &json!(0.025)));
        assert!(methods[1]["throughput"].is_null() && methods[1]["unavailable"].is_string());
        assert_eq!(methods[4]["errors"][0]["kind"], json!("queue_full"));
        assert_eq!(methods[5]["cpu_per_statement_ratio"], json!(1.0));
        assert_eq!(json["cells"].as_array().unwrap().len(), cells.len());
    }

    /// A driver that verifies nothing has no ratio, and is not taken for the furthest.
    #[test]
    fn a_method_in_which_everything_fails_has_no_cpu_time_per_statement() {
        let (run, mut cells) = run();
        let overflowing = &mut cells[2];
        overflowing.measures.insert(measure::THROUGHPUT.to_owned(), Measure::value(0.0, Unit::PerSecond));
        overflowing.measures.insert(measure::CPU_PER_STATEMENT.to_owned(), Measure::unavailable("Nothing."));
        let text = text(&table("multi:2", &measured(&run, &cells, "multi:2").unwrap()));
        let line = text.lines().find(|line| line.starts_with("no limit")).unwrap();
        assert!(line.split_whitespace().eq(["no", "limit", "0", "0.00x", "n/a"]), "{text}");
        assert!(text.contains("one at a time, 40.0 times fewer"), "{text}");
    }
}
