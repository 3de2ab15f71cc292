//! The TOML form of a regression.

use super::fields::{Entry, Fields};
use super::mistake::Mistake;
use super::{parsed, text};
use crate::ScenarioError;
use crate::builtin::builtins;
use crate::regression::{Claim, Direction, Expectation, Regression, Trial};
use crate::submit::Submit;
use crate::suggestion::suggestion;
use crate::workload::MOST;

/// Statements per cell and in flight, blocks and arrangement, if a run does not say.
const COUNT: u64 = 100_000;
const CONCURRENCY: u64 = 1_024;
const BLOCKS: u32 = 12;
const ARRANGEMENT: &str = "multi:2";
const MOST_IN_FLIGHT: i128 = 1 << 20;
/// Fewer points give no exponent with an interval.
const LEAST_POINTS: usize = 3;

/// Reads a regression and checks it; `origin` names the text in messages.
pub(crate) fn read(text: &str, origin: &str) -> Result<Regression, ScenarioError> {
    read_document(text).map_err(|mistake| mistake.within("regression", origin, text))
}

fn read_document(document: &str) -> Result<Regression, Mistake> {
    let document = parsed(document)?;
    let mut fields = Fields::new("a regression", document.get_ref(), 0..0);
    let regression = Regression {
        name: fields.required("name", word)?,
        title: fields.required("title", text)?,
        source: fields.required("source", text)?,
        published: fields.required("published", text)?,
        runs: fields.required("run", |entry| {
            let runs = some(entry, trial)?;
            match (1..runs.len()).find(|at| runs[..*at].iter().any(|other| other.name == runs[*at].name)) {
                Some(at) => {
                    Err(entry.mistake(format!("two runs are named {:?}; give each a name of its own", runs[at].name)))
                }
                None => Ok(runs),
            }
        })?,
    };
    fields.end(regression)
}

fn trial(entry: Entry<'_>) -> Result<Trial, Mistake> {
    let mut fields = entry.fields("a run")?;
    let mut trial = Trial {
        name: fields.required("name", word)?,
        contenders: fields.required("contenders", |entry| some(entry, text))?,
        scenario: fields.required("scenario", scenario)?,
        submit: fields
            .optional("submit", |entry| some(entry, |entry| entry.word(&Submit::WORDS)))?
            .unwrap_or_else(|| vec![Submit::default()]),
        concurrency: fields.optional("concurrency", in_flight)?.unwrap_or_else(|| vec![CONCURRENCY]),
        arrangement: fields.optional("arrangement", text)?.unwrap_or_else(|| ARRANGEMENT.to_owned()),
        count: fields.optional("count", |entry| entry.whole(1..=i128::from(MOST)))?.map_or(COUNT, |count| count as u64),
        blocks: fields.optional("blocks", |entry| entry.whole(1..=1_000))?.map_or(BLOCKS, |blocks| blocks as u32),
        passes: fields.optional("passes", |entry| some(entry, text))?.unwrap_or_default(),
        delay: fields.optional("delay", text)?,
        expectations: Vec::new(),
    };
    trial.expectations = fields.required("expect", |entry| some(entry, |entry| expectation(entry, &trial)))?;
    fields.end(trial)
}

fn expectation(entry: Entry<'_>, trial: &Trial) -> Result<Expectation, Mistake> {
    let mut fields = entry.fields("an expectation")?;
    let known = |entry: Entry<'_>| one_of(entry, &trial.contenders, "contenders");
    let says = fields.required("says", text)?;
    let meter = fields.required("meter", text)?;
    let submit = fields.optional("submit", |entry| {
        let ways: Vec<(&str, Submit)> = trial.submit.iter().map(|way| (way.name(), *way)).collect();
        entry.word(&ways)
    })?;
    let at = fields.optional("at", |entry| {
        let at = entry.whole(1..=MOST_IN_FLIGHT)? as u64;
        match trial.concurrency.contains(&at) {
            true => Ok(at),
            false => {
                Err(entry.mistake(format!("the run has never {at} in flight; name one of {:?}", trial.concurrency)))
            }
        }
    })?;
    let published = fields.optional("published", text)?;
    let from = fields.optional("from", known)?;
    let to = fields.optional("to", known)?;
    let of = fields.optional("of", known)?;
    let direction = fields.optional("direction", |entry| entry.word(&Direction::WORDS))?;
    let ratio = fields.optional("ratio", |entry| bounds(entry, direction.map(Direction::widest)))?;
    let within = fields.optional("figure", |entry| bounds(entry, None))?;
    let exponent = fields.optional("exponent", |entry| bounds(entry, None))?;
    fields.end(())?;
    let claim = match (from, to, direction, of, within, exponent) {
        (Some(from), Some(to), Some(direction), None, None, None) => {
            Claim::Change { from, to, direction, ratio: ratio.unwrap_or_else(|| direction.ratios()) }
        }
        (None, None, None, Some(of), Some(within), None) if ratio.is_none() => Claim::Figure { of, within },
        (None, None, None, Some(of), None, Some(exponent)) if ratio.is_none() => Claim::Growth { of, exponent },
        _ => {
            return Err(entry.mistake(
                "an expectation takes from, to and direction (and ratio, if bounds are known), or of and figure, or of and exponent",
            ));
        }
    };
    if trial.submit.len() > 1 && submit.is_none() {
        return Err(entry.mistake(format!(
            "the run has several ways of submitting; name one of {} with submit",
            trial.submit.iter().map(|way| way.name()).collect::<Vec<_>>().join(", ")
        )));
    }
    match claim {
        Claim::Growth { .. } if trial.concurrency.len() < LEAST_POINTS => Err(entry.mistake(format!(
            "an exponent needs at least {LEAST_POINTS} numbers of statements in flight; the run has {:?}",
            trial.concurrency
        ))),
        Claim::Growth { .. } if at.is_some() => {
            Err(entry.mistake("an exponent is taken over all numbers in flight; leave at out"))
        }
        Claim::Change { .. } | Claim::Figure { .. } if trial.concurrency.len() > 1 && at.is_none() => Err(entry
            .mistake(format!("the run has several numbers in flight; name one of {:?} with at", trial.concurrency))),
        claim => Ok(Expectation { says, meter, submit, at, published, claim }),
    }
}

/// A list with at least one item.
fn some<'a, T>(entry: Entry<'a>, read: impl FnMut(Entry<'a>) -> Result<T, Mistake>) -> Result<Vec<T>, Mistake> {
    let items = entry.list(read)?;
    if items.is_empty() {
        return Err(entry.mistake("the list is empty; it takes at least one item"));
    }
    Ok(items)
}

fn in_flight(entry: Entry<'_>) -> Result<Vec<u64>, Mistake> {
    let numbers = some(entry, |entry| entry.whole(1..=MOST_IN_FLIGHT).map(|number| number as u64))?;
    match numbers.is_sorted_by(|one, next| one < next) {
        true => Ok(numbers),
        false => {
            Err(entry.mistake(format!("the numbers in flight are {numbers:?}; write each once, in ascending order")))
        }
    }
}

fn scenario(entry: Entry<'_>) -> Result<String, Mistake> {
    let names: Vec<String> = builtins().into_iter().map(|scenario| scenario.name).collect();
    one_of(entry, &names, "built-in scenarios")
}

fn one_of(entry: Entry<'_>, known: &[String], what: &str) -> Result<String, Mistake> {
    let found = entry.text()?;
    if known.iter().any(|known| known == found) {
        return Ok(found.to_owned());
    }
    let meant = suggestion(found, known.iter().map(String::as_str));
    Err(entry.mistake(format!("{found:?} is none of the {what}; name one of {}.{meant}", known.join(", "))))
}

/// The least and the most of a figure, within `allowed`.
fn bounds(entry: Entry<'_>, allowed: Option<[f64; 2]>) -> Result<[f64; 2], Mistake> {
    let ends = entry.list(|entry| entry.number(0.0..=1e15))?;
    let [low, high] = ends[..] else {
        return Err(
            entry.mistake(format!("bounds are the least and the most, such as [0.1, 0.5]; here are {}", ends.len()))
        );
    };
    if low > high {
        return Err(entry.mistake(format!("the least is {low} and the most {high}; write the smaller one first")));
    }
    match allowed {
        Some([least, most]) if low < least || high > most => Err(entry.mistake(format!(
            "the ratio may be from {low} to {high}, which is not what the direction says; that allows {least} to {most}"
        ))),
        _ => Ok([low, high]),
    }
}

/// A name for folders and messages.
fn word(entry: Entry<'_>) -> Result<String, Mistake> {
    let found = entry.text()?;
    let is_word = found.starts_with(|c: char| c.is_ascii_lowercase())
        && found.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-');
    match is_word {
        true => Ok(found.to_owned()),
        false => {
            Err(entry
                .mistake(format!("the name {found:?} is no word; it takes lower-case letters, digits and hyphens")))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const GOOD: &str = r#"name = "tiny"
title = "Two calls for one."
source = "https://example.org/1"
published = "Twice."

[[run]]
name = "calls"
contenders = ["a@1", "a@2"]
scenario = "writes"
concurrency = [16, 64, 256]

[[run.expect]]
says = "Half the calls."
meter = "syscalls_per_statement"
at = 64
from = "a@1"
to = "a@2"
direction = "falls"
ratio = [0.4, 0.6]

[[run.expect]]
says = "Quadratic."
meter = "cpu_per_statement"
of = "a@1"
exponent = [1.8, 2.2]
"#;

    /// What is said of [`GOOD`] with `from` replaced by `to`.
    fn said(from: &str, to: &str) -> String {
        assert!(GOOD.contains(from), "{from}");
        read(&GOOD.replacen(from, to, 1), "tiny.toml").unwrap_err().to_string()
    }

    #[test]
    fn a_form_without_a_mistake_is_read_and_what_it_does_not_say_has_a_value() {
        let Regression { runs, .. } = read(GOOD, "tiny.toml").unwrap();
        let run = &runs[0];
        assert_eq!((run.count, run.blocks, run.arrangement.as_str()), (COUNT, BLOCKS, "multi:2"));
        assert_eq!((run.submit[0].name(), run.concurrency.as_slice()), ("slots", &[16, 64, 256][..]));
        assert_eq!(run.expectations[0].claim.contenders(), ["a@1", "a@2"]);
        assert_eq!(run.expectations[1].claim, Claim::Growth { of: "a@1".to_owned(), exponent: [1.8, 2.2] });
        let open = read(&GOOD.replace("ratio = [0.4, 0.6]\n", ""), "tiny.toml").unwrap();
        assert_eq!(open.runs[0].expectations[0].claim.bounds(), Direction::Falls.ratios());
    }

    #[test]
    fn a_mistake_names_the_file_and_shows_the_place() {
        assert_eq!(
            said("scenario = \"writes\"", "scenario = \"write\""),
            "the regression tiny.toml cannot be read, line 9, column 12: \"write\" is none of the built-in scenarios; name one of \
             writes, reads, mixed, rows, types, payload-1k, payload-16k, batch, prepare, unprepared, connect. Did you mean \
             `writes`?\n  |\n9 | scenario = \"write\"\n  |            ^^^^^^^"
        );
    }

    #[test]
    fn every_mistake_has_a_sentence_that_says_what_to_write() {
        for (from, to, sentence) in [
            ("name = \"tiny\"", "name = \"Tiny\"", "the name \"Tiny\" is no word; it takes lower-case letters"),
            ("title", "titel", "a regression has no field titel, and must have title. Did you mean `title`?"),
            ("[\"a@1\", \"a@2\"]", "[]", "the list is empty; it takes at least one item"),
            ("[16, 64, 256]", "[64, 16]", "the numbers in flight are [64, 16]; write each once, in ascending order"),
            ("at = 64", "at = 65", "the run has never 65 in flight; name one of [16, 64, 256]"),
            ("at = 64\n", "", "the run has several numbers in flight; name one of [16, 64, 256] with at"),
            ("to = \"a@2\"", "to = \"a@3\"", "\"a@3\" is none of the contenders; name one of a@1, a@2"),
            (
                "to = \"a@2\"\n",
                "",
                "an expectation takes from, to and direction (and ratio, if bounds are known), or of and",
            ),
            ("\"falls\"", "\"drops\"", "direction cannot be \"drops\"; it is one of \"falls\", \"rises\", \"stays\""),
            ("[0.4, 0.6]", "[0.4, 1.6]", "the ratio may be from 0.4 to 1.6, which is not what the direction says"),
            ("[0.4, 0.6]", "[0.6, 0.4]", "the least is 0.6 and the most 0.4; write the smaller one first"),
            ("[0.4, 0.6]", "[0.4]", "bounds are the least and the most, such as [0.1, 0.5]; here are 1"),
            ("[16, 64, 256]", "[16, 64]", "an exponent needs at least 3 numbers of statements in flight"),
            ("of = \"a@1\"", "of = \"a@1\"\nat = 16", "an exponent is taken over all numbers in flight; leave at out"),
            (
                "concurrency",
                "submit = [\"slots\", \"spawn\"]\nconcurrency",
                "the run has several ways of submitting; name one of slots, spawn with submit",
            ),
        ] {
            let message = said(from, to);
            assert!(message.contains(sentence), "{from} -> {to}: {message}");
        }
        let twice = format!("{GOOD}{}", &GOOD[GOOD.find("[[run]]").unwrap()..]);
        assert!(read(&twice, "x").unwrap_err().to_string().contains("two runs are named \"calls\""));
    }
}
