//! The TOML form of a regression.

use super::fields::{Entry, Fields};
use super::mistake::Mistake;
use super::{checked, parsed, text};
use crate::ScenarioError;
use crate::regression::{Claim, Direction, Expectation, Regression, Trial};

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
    let trial = Trial {
        name: fields.required("name", word)?,
        compare: fields.required("compare", text)?,
        scenarios: fields
            .optional("scenario", |entry| some(entry, |entry| checked(entry.fields("a scenario")?, None)))?
            .unwrap_or_default(),
        expectations: fields.required("expect", |entry| some(entry, expectation))?,
    };
    fields.end(trial)
}

fn expectation(entry: Entry<'_>) -> Result<Expectation, Mistake> {
    let mut fields = entry.fields("an expectation")?;
    let says = fields.required("says", text)?;
    let meter = fields.required("meter", text)?;
    let scenario = fields.optional("scenario", text)?;
    let arrangement = fields.optional("arrangement", text)?;
    let number = |entry: Entry<'_>| Ok(entry.whole(1..=i128::from(u32::MAX))? as u64);
    let at = fields.optional("at", number)?;
    let connections = fields.optional("connections", number)?;
    let shards = fields.optional("shards", number)?;
    let published = fields.optional("published", text)?;
    let from = fields.optional("from", text)?;
    let to = fields.optional("to", text)?;
    let of = fields.optional("of", text)?;
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
    match claim {
        Claim::Growth { .. } if at.is_some() => {
            Err(entry.mistake("an exponent is taken over all numbers in flight; leave at out"))
        }
        claim => Ok(Expectation { says, meter, scenario, arrangement, at, connections, shards, published, claim }),
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
compare = "a@1 a@2 --scenario writes --concurrency 16,64,256"

[[run.expect]]
says = "Half the calls."
meter = "syscalls_per_statement"
at = 64
shards = 4
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
        assert_eq!(run.compare, "a@1 a@2 --scenario writes --concurrency 16,64,256");
        assert_eq!((run.scenarios.len(), &run.expectations[0].scenario), (0, &None));
        let Expectation { at, connections, shards, .. } = run.expectations[0];
        assert_eq!((at, connections, shards), (Some(64), None, Some(4)));
        assert_eq!(run.expectations[0].claim.contenders(), ["a@1", "a@2"]);
        assert_eq!(run.expectations[1].claim, Claim::Growth { of: "a@1".to_owned(), exponent: [1.8, 2.2] });
        let open = read(&GOOD.replace("ratio = [0.4, 0.6]\n", ""), "tiny.toml").unwrap();
        assert_eq!(open.runs[0].expectations[0].claim.bounds(), Direction::Falls.ratios());
    }

    /// A scenario within a regression, with `limit` as the most that is in flight.
    fn with_scenario(limit: &str) -> String {
        let scenario = format!(
            "[[run.scenario]]\nname = \"own\"\nabout = \"Own.\"\nschema = []\nlimits = {{ concurrency = {limit} }}\n\
             [[run.scenario.statement]]\nname = \"insert\"\ncql = \"INSERT INTO t.t (k) VALUES (?)\"\nvalues = [{{ type = \"bigint\" }}]\n\n"
        );
        GOOD.replacen("[[run.expect]]", &format!("{scenario}[[run.expect]]"), 1)
    }

    #[test]
    fn a_run_may_have_scenarios_of_its_own_and_a_mistake_in_one_has_its_place() {
        let read_of = |limit| read(&with_scenario(limit), "tiny.toml");
        assert_eq!(read_of("3").unwrap().runs[0].scenarios[0].name, "own");
        let message = read_of("0").unwrap_err().to_string();
        assert!(message.starts_with("the regression tiny.toml cannot be read, line 14, column "), "{message}");
    }

    #[test]
    fn a_mistake_names_the_file_and_shows_the_place() {
        assert_eq!(
            said("direction = \"falls\"", "direction = \"drops\""),
            "the regression tiny.toml cannot be read, line 17, column 13: direction cannot be \"drops\"; it is one of \"falls\", \
             \"rises\", \"stays\"\n   |\n17 | direction = \"drops\"\n   |             ^^^^^^^"
        );
    }

    #[test]
    fn every_mistake_has_a_sentence_that_says_what_to_write() {
        for (from, to, sentence) in [
            ("name = \"tiny\"", "name = \"Tiny\"", "the name \"Tiny\" is no word; it takes lower-case letters"),
            ("title", "titel", "a regression has no field titel, and must have title. Did you mean `title`?"),
            ("compare = ", "contenders = ", "a run has no compare here, and cannot be without one"),
            (
                "to = \"a@2\"\n",
                "",
                "an expectation takes from, to and direction (and ratio, if bounds are known), or of and",
            ),
            ("\"falls\"", "\"drops\"", "direction cannot be \"drops\"; it is one of \"falls\", \"rises\", \"stays\""),
            ("[0.4, 0.6]", "[0.4, 1.6]", "the ratio may be from 0.4 to 1.6, which is not what the direction says"),
            ("[0.4, 0.6]", "[0.6, 0.4]", "the least is 0.6 and the most 0.4; write the smaller one first"),
            ("[0.4, 0.6]", "[0.4]", "bounds are the least and the most, such as [0.1, 0.5]; here are 1"),
            ("of = \"a@1\"", "of = \"a@1\"\nat = 16", "an exponent is taken over all numbers in flight; leave at out"),
        ] {
            let message = said(from, to);
            assert!(message.contains(sentence), "{from} -> {to}: {message}");
        }
        let twice = format!("{GOOD}{}", &GOOD[GOOD.find("[[run]]").unwrap()..]);
        assert!(read(&twice, "x").unwrap_err().to_string().contains("two runs are named \"calls\""));
    }
}
