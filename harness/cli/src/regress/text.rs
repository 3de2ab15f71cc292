//! A regression on a terminal.

use cqldyno_reports::{Axis, Part, plain, three_digits};
use cqldyno_scenarios::{Claim, Expected, Regression, Trial};

use super::judgement::{Judgement, outcome};
use super::plan::asked_at;
use crate::outcome::Outcome;
use crate::terminal::named;

pub fn listed(all: &[Regression]) -> String {
    let width = all.iter().map(|one| one.name.len()).max().unwrap_or(0);
    all.iter().map(|one| format!("{:<width$}  {}\n", one.name, one.title)).collect()
}

pub fn head(regression: &Regression) -> Vec<Part> {
    let Regression { title, source, published, .. } = regression;
    let about = [("Source", source), ("Published", published)];
    let about = about.map(|(name, text)| format!("{name}: {}", plain(text)));
    vec![Part::Text(plain(title)), Part::List(about.into())]
}

/// What one run of it has, and what was found for each expectation.
pub fn run(trial: &Trial, judgements: &[(&Expected, Judgement)]) -> Vec<Part> {
    let told = |(expected, judgement): &(&Expected, Judgement)| {
        let mut lines = vec![
            expected.says.clone(),
            format!("{}: {}", meter(expected), figures(judgement)),
            format!("{}, expected {}", found(expected, judgement), bounds(expected)),
        ];
        lines.extend(expected.published.iter().map(|published| format!("published: {published}")));
        lines.extend(judgement.holds.as_ref().err().cloned());
        named(word(judgement), lines)
    };
    vec![Part::Text(asked(trial)), Part::Pairs(judgements.iter().flat_map(told).collect())]
}

pub fn verdict<'a>(name: &str, all: impl Iterator<Item = &'a Judgement> + Clone) -> String {
    let of = |is: fn(&Judgement) -> bool| all.clone().filter(|one| is(one)).count();
    let counts = [
        (of(|one| one.holds == Ok(true)), "as expected"),
        (of(|one| one.holds == Ok(false)), "not as expected"),
        (of(|one| one.holds.is_err()), "undecided"),
    ];
    let counts: Vec<String> =
        counts.iter().filter(|(count, _)| *count > 0).map(|(count, what)| format!("{count} {what}")).collect();
    let counts = if counts.is_empty() { "no expectation is a count".to_owned() } else { counts.join(", ") };
    let verdict = match outcome(all.clone()) {
        Outcome::Done => "reproduced",
        Outcome::Failed => "not reproduced",
        Outcome::Unmeasurable | Outcome::Interrupted => {
            let why = { all }
                .find_map(|one| one.holds.as_ref().err())
                .map_or(String::new(), |why| format!(" {}", plain(why)));
            return format!("{name}: cannot be measured here ({counts}).{why}");
        }
    };
    format!("{name}: {verdict} ({counts}).")
}

/// What the run asks: its name, and the comparison that it is.
pub fn asked(trial: &Trial) -> String {
    let words: Vec<&str> = trial.compare.split_whitespace().collect();
    let own: Vec<&str> = trial.scenarios.iter().map(|one| one.name.as_str()).collect();
    let own = if own.is_empty() { String::new() } else { format!(", with the file's scenario {}", own.join(", ")) };
    format!("{}: cqldyno compare {}{own}", trial.name, words.join(" "))
}

/// The meter, and where it is read if the run has several places.
pub fn meter(expected: &Expected) -> String {
    let numbers = Axis::ALL.into_iter().filter_map(|axis| Some(axis.count(asked_at(expected, axis)?)));
    let place: Vec<String> =
        [&expected.scenario, &expected.arrangement].into_iter().flatten().cloned().chain(numbers).collect();
    if place.is_empty() { expected.meter.clone() } else { format!("{} ({})", expected.meter, place.join(", ")) }
}

pub fn figures(judgement: &Judgement) -> String {
    let figure = |(name, figure): &(String, Option<f64>)| format!("{} {name}", figure.map_or("n/a".to_owned(), number));
    judgement.figures.iter().map(figure).collect::<Vec<_>>().join(" -> ")
}

/// A figure with three digits; small ones keep three that count.
pub fn number(value: f64) -> String {
    if value == 0.0 || value.abs() >= 0.1 {
        return three_digits(value);
    }
    let zeros = (-value.abs().log10()).floor().clamp(0.0, 12.0) as usize;
    format!("{value:.*}", zeros + 3)
}

/// The ratio, figure or exponent that was found, with its interval.
pub fn found(expected: &Expected, judgement: &Judgement) -> String {
    let what = match expected.claim {
        Claim::Change { .. } => "ratio",
        Claim::Figure { .. } => "figure",
        Claim::Growth { .. } => "exponent",
    };
    match (judgement.found, judgement.interval) {
        (None, _) => format!("no {what}"),
        (Some(found), None) => format!("{what} {}", number(found)),
        (Some(found), Some([low, high])) => format!("{what} {} ({}-{})", number(found), number(low), number(high)),
    }
}

pub fn bounds(expected: &Expected) -> String {
    match expected.claim.bounds() {
        [least, most] if most.is_infinite() => format!("at least {}", number(least)),
        [0.0, most] => format!("at most {}", number(most)),
        [least, most] => format!("{} to {}", number(least), number(most)),
    }
}

pub fn word(judgement: &Judgement) -> &'static str {
    match judgement.holds {
        Ok(true) => "yes",
        Ok(false) => "no",
        Err(_) => "not known",
    }
}

#[cfg(test)]
mod tests {
    use cqldyno_reports::{Look, terminal};

    use super::*;

    fn tiny() -> Regression {
        let text = "name = 'tiny'\ntitle = 'Two calls for one.'\nsource = 'https://example.org/1'\npublished = 'Twice.'\n[[run]]\n\
            name = 'calls'\ncompare = 'a@1 a@2 --delay 1ms'\n[[run.expect]]\nsays = 'Half the calls.'\n\
            meter = 'syscalls:sendto'\nfrom = 'a@1'\nto = 'a@2'\ndirection = 'falls'\npublished = '1 to 0.5'";
        Regression::from_toml(text, "tiny").unwrap()
    }

    #[test]
    fn a_regression_is_shown_with_its_figures_beside_what_was_published() {
        let tiny = tiny();
        let trial = &tiny.runs[0];
        let judgement = Judgement {
            figures: vec![("a@1".to_owned(), Some(1.0)), ("a@2".to_owned(), Some(0.043))],
            found: Some(0.043),
            interval: None,
            holds: Ok(true),
        };
        let judgements = [(&trial.expectations[0], judgement.clone())];
        assert_eq!(listed(std::slice::from_ref(&tiny)), "tiny  Two calls for one.\n");
        let text = |parts: &[Part]| terminal(parts, Look { width: 80, ..Look::default() });
        assert_eq!(text(&head(&tiny)), "Two calls for one.\nSource: https://example.org/1\nPublished: Twice.\n");
        assert_eq!(
            text(&run(trial, &judgements)),
            "calls: cqldyno compare a@1 a@2 --delay 1ms\n  yes Half the calls.\n      syscalls:sendto: \
             1.00 a@1 -> 0.0430 a@2\n      ratio 0.0430, expected at most 0.980\n      published: 1 to 0.5\n"
        );
        assert_eq!(verdict("tiny", judgements.iter().map(|(_, one)| one)), "tiny: reproduced (1 as expected).");
        let unknown = Judgement { found: None, holds: Err("No counter.".to_owned()), ..judgement };
        let judgements = [(&trial.expectations[0], unknown)];
        assert!(text(&run(trial, &judgements)).contains("    no ratio, expected at most 0.980\n"));
        assert_eq!(
            verdict("tiny", judgements.iter().map(|(_, one)| one)),
            "tiny: cannot be measured here (1 undecided). No counter."
        );
        assert_eq!(verdict("tiny", [].iter()), "tiny: cannot be measured here (no expectation is a count).");
    }
}
