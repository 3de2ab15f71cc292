//! The ladder as a table for a terminal, and as JSON.

use cqldyno_reports::{Cell, Run, list, plain, rate, short_count, three_digits, whole, wrap};
use serde_json::{Value, json};

use super::climbed::{Climbed, Figures, furthest};

/// Columns of the whole table.
const WIDTH: usize = 80;
/// Columns of the first one.
const TITLE: usize = 30;
/// Peak memory is told from this many times the sound one's.
const MUCH_MEMORY: f64 = 1.5;

/// The table, at most 80 columns wide.
pub fn table(run: &Run, all: &[Climbed]) -> String {
    let label = run.contenders.first().map_or("", |one| one.label.as_str());
    let plan = &run.plan;
    let head = format!(
        "{label}: {} per cell, {} in flight unless a step says otherwise; medians of {}",
        short_count(plan.count),
        whole(plan.concurrency as f64),
        cqldyno_reports::count(plan.blocks.into(), "block")
    );
    let mut text = wrap(&plain(&head), WIDTH, 2);
    text += &format!(
        "\n\n{:<TITLE$} {:>12} {:>9}   {:>9} {:>9}\n",
        "step", "statements/s", "vs sound", "CPU us", "vs sound"
    );
    let sound = Climbed::sound(all);
    for one in all {
        text += &row(one, sound);
    }
    if let Some((one, times)) = furthest(all) {
        let (more, own) = match one.ratios(sound).0 {
            Some(ratio) if ratio > 1.0 => ("more", one),
            _ => ("fewer", one),
        };
        let line = format!(
            "Furthest from the sound figure: {}, with {} times {more} statements per second.",
            own.step.title,
            three_digits(times)
        );
        text += &format!("\n{}\n", wrap(&line, WIDTH, 2));
    }
    text
}

fn row(one: &Climbed, sound: Option<&Figures>) -> String {
    let none = || "n/a".to_owned();
    let (throughput, cpu) = one.ratios(sound);
    let times =
        |ratio: Option<f64>| ratio.filter(|_| !one.is_sound()).map_or(String::new(), |ratio| format!("{ratio:.2}x"));
    let (per_second, cpu_us) = match &one.figures {
        Ok(figures) => (rate(figures.throughput), figures.cpu_us.map_or_else(none, three_digits)),
        Err(_) => (none(), none()),
    };
    let line =
        format!("{:<TITLE$} {per_second:>12} {:>9}   {cpu_us:>9} {:>9}", one.step.title, times(throughput), times(cpu));
    let mut lines = vec![line.trim_end().to_owned()];
    lines.extend(
        sentences(one, sound)
            .iter()
            .map(|sentence| wrap(&format!("  {}", plain(sentence)), WIDTH - 2, 0))
            .map(|text| text.lines().map(|line| format!("  {}", line.trim_start())).collect::<Vec<_>>().join("\n")),
    );
    lines.join("\n") + "\n"
}

/// What is wrong with the step, and what the run saw of it.
fn sentences(one: &Climbed, sound: Option<&Figures>) -> Vec<String> {
    let mut sentences = vec![one.step.wrong.to_owned()];
    match &one.figures {
        Err(why) => sentences.push(why.clone()),
        Ok(figures) => {
            if let (Some(own), Some(sound)) = (figures.peak_bytes, sound.and_then(|sound| sound.peak_bytes))
                && own > MUCH_MEMORY * sound
            {
                let mib = |bytes: f64| whole(bytes / f64::from(1 << 20));
                sentences.push(format!("Peak memory: {} MiB instead of {}.", mib(own), mib(sound)));
            }
            sentences.extend(errors(figures));
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
        "Errors: {} of {} statements, such as \"{}\".",
        list(&kinds),
        whole(figures.statements),
        commonest.first.trim_end_matches('.')
    ))
}

/// The ladder and the run's cells.
pub fn json(run: &Run, cells: &[Cell], all: &[Climbed]) -> Value {
    let sound = Climbed::sound(all);
    let steps: Vec<Value> = all
        .iter()
        .map(|one| {
            let (throughput, cpu) = one.ratios(sound);
            let figures = one.figures.as_ref().ok();
            json!({
                "step": one.step.name,
                "title": one.step.title,
                "wrong": one.step.wrong,
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
        .collect();
    json!({ "run": run, "cells": cells, "ladder": steps })
}
