//! The measured part of a regression's page, in Markdown, and the pictures beside it.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use cqldyno_reports::{
    Analysis, ArrangementInfo, Axis, Contender, Curve, Field, Growth, Part, Pass, Place, Recorded, ScenarioInfo, Sheet,
    TableRow, escape, growth, growth_chart, list, markdown, unique, whole,
};
use cqldyno_scenarios::{Expected, Regression, Trial};

use super::judgement::{Judgement, figure};
use super::plan::{at, declared};
use super::text::{asked, bounds, figures, found, meter, number, verdict, word};
use crate::outcome::{text_of, usage};

/// What stands around the measured part.
const BEGIN: &str = "<!-- measured -->";
const END: &str = "<!-- end of what is measured -->";
/// What a cell calls its flame graph.
const FLAMES: &str = "flamegraph";

pub struct JudgedTrial<'a> {
    pub trial: &'a Trial,
    pub recorded: Recorded,
    pub folder: PathBuf,
    pub judgements: Vec<(&'a Expected, Judgement)>,
}

pub fn judgements<'a>(all: &'a [JudgedTrial]) -> impl Iterator<Item = &'a Judgement> + Clone {
    all.iter().flat_map(|one| one.judgements.iter().map(|(_, judgement)| judgement))
}

/// Puts the measured part into the page, with the command that measured it, and its pictures beside it.
pub fn write(page: &Path, regression: &Regression, all: &[JudgedTrial], command: &str) -> Result<()> {
    let shown = page.display();
    let text = text_of("page", page, &format!("name a page with the line {BEGIN}"))?;
    let parts = text.split_once(BEGIN).and_then(|(before, rest)| Some((before, rest.split_once(END)?.1)));
    let Some((before, after)) = parts else {
        return Err(usage(format!(
            "the page {shown} has no place for figures; write the lines {BEGIN} and {END} where they belong"
        )));
    };
    let (block, pictures) = block(regression, all, command);
    let folder = page.parent().unwrap_or(Path::new("."));
    for (name, bytes) in pictures {
        let path = folder.join(name);
        std::fs::write(&path, bytes).with_context(|| format!("the picture {} cannot be written", path.display()))?;
    }
    std::fs::write(page, format!("{before}{BEGIN}\n{block}{END}{after}"))
        .with_context(|| format!("the page {shown} cannot be written"))
}

/// The measured part, and the pictures by file name.
fn block(regression: &Regression, all: &[JudgedTrial], command: &str) -> (String, BTreeMap<String, Vec<u8>>) {
    let mut text = String::new();
    let mut pictures = BTreeMap::new();
    let mut say = |line: &str| text.extend([line, "\n"]);
    say(&format!("**{}**\n", escape(&verdict(&regression.name, judgements(all)))));
    if let Some(run) = all.first().map(|one| &one.recorded.run) {
        let machine = &run.environment;
        let day = run.started.strftime("%Y-%m-%d");
        say(&format!(
            "Measured on {day} with `{command}`: {} cores, {}, {}, {}.",
            machine.cores,
            escape(&machine.cpu),
            escape(&machine.kernel),
            escape(&machine.compiler)
        ));
    }
    for one in all {
        say(&format!("\n### {}\n", escape(&asked(one.trial))));
        say(&format!("{}.\n", one.recorded.run.size()));
        let row = |(expected, judgement): &(&Expected, Judgement)| {
            let published = expected.published.clone().unwrap_or_default();
            let (found, bounds) = (found(expected, judgement), bounds(expected));
            let fields = [meter(expected), figures(judgement), found, bounds, published].map(Field::of);
            TableRow::of(&expected.says, fields.into_iter().chain([Field::bad(word(judgement))]).collect())
        };
        let columns = ["meter", "figures", "found", "bounds", "published", ""];
        say(&sheet("expected", columns.map(str::to_owned).into(), one.judgements.iter().map(row).collect()));
        let unknown = one.judgements.iter().filter_map(|(_, judgement)| judgement.holds.as_ref().err());
        for why in unknown.collect::<BTreeSet<_>>() {
            say(&format!("\nNot known: {}", escape(why)));
        }
        say(&format!("\n{}", contenders(&one.recorded.run.contenders)));
        for (meter, svg, table) in growths(one) {
            let name = format!("{}-{}-{}.svg", regression.name, one.trial.name, stem(&meter));
            say(&format!("\n![{}]({name})\n\n{table}", escape(&meter)));
            pictures.insert(name, svg.into_bytes());
        }
        for cell in one.recorded.cells.iter().filter(|cell| cell.pass == Pass::Flamegraph) {
            let drawn = cell.files.get(FLAMES).and_then(|file| std::fs::read(one.folder.join(file)).ok());
            if let Some(bytes) = drawn {
                let name = format!("{}-{}.svg", regression.name, stem(&format!("{}-{}", cell.scenario, cell.label)));
                say(&format!("\n[Flame graph of {}]({name})", escape(&cell.label)));
                pictures.insert(name, bytes);
            }
        }
    }
    (text, pictures)
}

/// Labels with the libraries that shape their figures.
fn contenders(all: &[Contender]) -> String {
    let of = |one: &Contender| {
        let libraries: Vec<String> =
            one.libraries.iter().map(|library| format!("{} {}", library.name, library.version)).collect();
        let built = if libraries.is_empty() { String::new() } else { format!(" ({})", escape(&libraries.join(", "))) };
        format!("`{}`{built}", one.id)
    };
    format!("Contenders: {}.", list(&all.iter().filter(|one| !one.control).map(of).collect::<Vec<_>>()))
}

/// For each meter of a sweep with more than two numbers on an axis: its id, a chart over that axis, and the figures.
fn growths(one: &JudgedTrial) -> Vec<(String, String, String)> {
    let run = &one.recorded.run;
    let analysis = Analysis::new(run, &one.recorded.cells);
    let numbers = |axis: Axis| run.scenarios.iter().filter_map(|one| at(one, axis)).collect::<BTreeSet<u64>>();
    let Some(axis) = Axis::ALL.into_iter().find(|axis| numbers(*axis).len() > 2) else { return Vec::new() };
    let others = |scenario: &ScenarioInfo| {
        let several = Axis::ALL.into_iter().filter(|other| *other != axis && numbers(*other).len() > 1);
        several.filter_map(|other| Some(other.count(at(scenario, other)?))).collect::<Vec<String>>()
    };
    let kinds: BTreeSet<&str> = run.scenarios.iter().map(ScenarioInfo::kind).collect();
    let lines_of = unique(run.scenarios.iter().map(|one| (one.kind(), others(one))));
    // Each once, and where it is expected.
    let expected = one.judgements.iter().map(|(expected, _)| (expected.meter.as_str(), expected.arrangement.as_ref()));
    let meters: BTreeSet<(&str, Option<&String>)> = expected.collect();
    let of = |(meter, asked): (&str, Option<&String>)| {
        let mut lines = Vec::new();
        for (kind, with) in &lines_of {
            for who in run.contenders.iter().filter(|one| !one.control) {
                let point = |scenario: &ScenarioInfo| {
                    let is_asked = |one: &&ArrangementInfo| asked.is_none_or(|asked| one.id == *asked);
                    let arrangement = run.plan.arrangements.iter().find(is_asked)?;
                    let level = figure(&analysis, Place { scenario, arrangement }, who, meter).ok()?;
                    Some((at(scenario, axis)? as f64, level))
                };
                let here = run.scenarios.iter().filter(|one| one.kind() == *kind && others(one) == *with);
                let points = here.filter_map(point).collect();
                let kind = (kinds.len() > 1).then(|| (*kind).to_owned());
                let label = std::iter::once(who.id.clone()).chain(kind).chain(with.clone()).collect::<Vec<_>>();
                lines.push(Curve { label: label.join(", "), points });
            }
        }
        let about = declared(meter).map_or(meter.to_owned(), |known| known.about);
        let svg = growth_chart(&format!("{about}, by {}", axis.name()), &lines)?;
        Some((meter.to_owned(), svg, table(axis, &numbers(axis), &lines)))
    };
    meters.into_iter().filter_map(of).collect()
}

/// The points, and over statements in flight the exponent of the cost of as many statements.
fn table(axis: Axis, numbers: &BTreeSet<u64>, lines: &[Curve]) -> String {
    let has_exponent = axis == Axis::InFlight;
    let row = |Curve { label, points }: &Curve| {
        let figure = |number: &u64| {
            points.iter().find(|(at, _)| *at == *number as f64).map_or("n/a".to_owned(), |(_, y)| self::number(*y))
        };
        let costs: Vec<(f64, f64)> = points.iter().map(|(number, each)| (*number, each * number)).collect();
        let exponent = growth(&costs).map_or("n/a".to_owned(), |Growth { exponent, interval: [low, high] }| {
            format!("{exponent:.2} ({low:.2}-{high:.2})")
        });
        let fields = numbers.iter().map(figure).chain(has_exponent.then_some(exponent)).map(Field::of);
        TableRow::of(label, fields.collect())
    };
    let columns = numbers.iter().map(|number| whole(*number as f64));
    let exponent = has_exponent.then(|| "exponent (95 %)".to_owned());
    sheet(axis.name(), columns.chain(exponent).collect(), lines.iter().map(row).collect())
}

/// A table, without the line feed at its end.
fn sheet(first: &str, columns: Vec<String>, rows: Vec<TableRow>) -> String {
    markdown(&[Part::Sheet(Sheet::of("", first, columns, vec![rows]))]).trim_end().to_owned()
}

fn stem(text: &str) -> String {
    text.chars().map(|c| if c.is_ascii_alphanumeric() || ".@-".contains(c) { c } else { '-' }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::regress::judgement::judge;
    use crate::sample;

    const TEXT: &str = "name = 'tiny'\ntitle = 'Two for one.'\nsource = 'https://example.org/1'\npublished = 'Twice.'\n[[run]]\n\
        name = 'calls'\ncompare = 'scylla cdrs-tokio'\n[[run.expect]]\nsays = 'More.'\nscenario = 'writes'\narrangement = 'multi:2'\n\
        meter = 'cpu_per_statement'\nfrom = 'scylla'\nto = 'cdrs-tokio'\ndirection = 'rises'\npublished = 'a | b'";

    /// What becomes of a page with this text.
    fn written(text: &str) -> Result<String> {
        let folder = tempfile::tempdir().unwrap();
        let page = folder.path().join("tiny.md");
        std::fs::write(&page, text).unwrap();
        let regression = Regression::from_toml(TEXT, "tiny").unwrap();
        let trial = &regression.runs[0];
        let (run, cells) = sample::blocks(12);
        let judgements: Vec<(&Expected, Judgement)> = {
            let analysis = Analysis::new(&run, &cells);
            trial.expectations.iter().map(|expected| (expected, judge(expected, &analysis))).collect()
        };
        let recorded = Recorded { run, cells, notes: Vec::new() };
        write(
            &page,
            &regression,
            &[JudgedTrial { trial, recorded, folder: PathBuf::new(), judgements }],
            "cqldyno regress tiny",
        )?;
        Ok(std::fs::read_to_string(&page).unwrap())
    }

    #[test]
    fn figures_are_put_between_the_marks_and_the_rest_of_the_page_stays() {
        let text = format!("# Tiny\n\n{BEGIN}\nold\n{END}\n\nWhat it means.\n");
        let page = written(&text).unwrap();
        assert!(page.starts_with(&format!("# Tiny\n\n{BEGIN}\n**tiny: reproduced (1 as expected).**\n")), "{page}");
        assert!(page.ends_with(&format!("{END}\n\nWhat it means.\n")) && !page.contains("old"), "{page}");
        assert!(
            page.contains("with `cqldyno regress tiny`")
                && page.contains("| More. | cpu\\_per\\_statement (writes, multi:2) | "),
            "{page}"
        );
        assert!(page.contains(" | a \\| b | **yes** |") && page.contains("Contenders: `scylla`"), "{page}");
        assert_eq!(written(&page).unwrap(), page, "the same run gives the same page");
    }

    #[test]
    fn a_page_without_a_place_for_figures_is_refused() {
        let error = written("# Tiny\n").unwrap_err().to_string();
        assert!(
            error.ends_with("write the lines <!-- measured --> and <!-- end of what is measured --> where they belong"),
            "{error}"
        );
    }
}
