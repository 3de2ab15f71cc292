//! The price list: a driver against itself with one setting changed at a time.

use cqldyno_driver_api::{Capability, DriverInfo};
use cqldyno_reports::measure::{CPU_PER_STATEMENT, SYSCALLS_PER_STATEMENT};
use cqldyno_reports::{Analysis, Contender, Place, escape, list, plain, three_digits, whole, wrap};
use serde_json::{Value, json};

/// What the harness sets for every driver, and how it is built, beside what is as it is: one connection, glibc's allocator, no LTO between crates.
const COMMON: [&str; 7] = [
    "connections=2",
    "connections=4",
    "settings=default",
    "allocator=jemalloc",
    "allocator=mimalloc",
    "lto=thin",
    "lto=fat",
];
/// Of drivers that have a time limit per statement.
const TIMEOUT: &str = "timeout=none";

/// What is counted per statement, each by the first meter that has a figure.
const COUNTED: [(&str, &[&str]); 3] = [
    ("system calls", &[SYSCALLS_PER_STATEMENT]),
    ("allocations", &["allocations_per_statement"]),
    ("instructions", &["processor_instructions_per_statement", "callgrind_instructions_per_statement"]),
];

/// The settings that a driver can be tried with, each written `KEY=VALUE`.
pub fn settings(driver: &DriverInfo) -> Vec<String> {
    let mut all = Vec::new();
    for option in &driver.options {
        let is_word = |value: &&str| !value.starts_with(|c: char| c.is_ascii_uppercase());
        let values = option.values.split('|').filter(is_word).chain(option.tried.iter().map(|tried| &**tried));
        all.extend(values.filter(|value| *value != option.default).map(|value| format!("{}={value}", option.name)));
    }
    let timeout = driver.capabilities.contains(&Capability::RequestTimeout).then_some(TIMEOUT);
    all.extend(timeout.into_iter().chain(COMMON).map(str::to_owned));
    all
}

/// The prices of one driver in one scenario.
pub struct Prices {
    /// Scenario and arrangement.
    place: String,
    /// The driver as it is.
    base: Price,
    /// With one setting changed.
    changed: Vec<Price>,
}

/// One row.
struct Price {
    /// The setting, or the driver's label.
    setting: String,
    /// CPU time per statement in microseconds, its ratio to the base and where that lies.
    cpu: Option<f64>,
    ratio: Option<f64>,
    interval: Option<[f64; 2]>,
    /// For each of [`COUNTED`]; or why there is none.
    counts: Vec<Result<f64, String>>,
    /// Why there is nothing at all.
    missing: Option<String>,
}

impl Prices {
    /// Of every scenario and arrangement of a run against its reference; none without one.
    pub fn of(analysis: &Analysis) -> Vec<Prices> {
        let Some(base) = analysis.reference() else { return Vec::new() };
        let others = || analysis.run().contenders.iter().filter(|one| !one.control && one.id != base.id);
        let prices = |place: Place| Prices {
            place: format!("{}, {}", place.scenario.name, place.arrangement.id),
            base: Price::of(analysis, place, base, base.label.clone()),
            changed: others().map(|one| Price::of(analysis, place, one, setting(one, base))).collect(),
        };
        analysis.places().map(prices).collect()
    }

    /// For a terminal of 80 columns.
    pub fn text(&self) -> String {
        let head = format!(
            "{}\n{:<24} {:>24} {:>9} {:>9} {:>9}\n",
            self.place, "", "CPU time", "system", "alloca-", "instruc-"
        );
        let mut text =
            format!("{head}{:<24} {:>24} {:>9} {:>9} {:>9}\n", "per statement", "", "calls", "tions", "tions");
        let line = |name: &str, cpu: String, counts: &[String]| match name.chars().count() {
            0..=24 => format!("{name:<24} {cpu:>24} {:>9} {:>9} {:>9}\n", counts[0], counts[1], counts[2]),
            _ => format!("{name}\n{:<24} {cpu:>24} {:>9} {:>9} {:>9}\n", "", counts[0], counts[1], counts[2]),
        };
        text += &line(&plain(&self.base.setting), self.base.cpu_text(), &self.base.count_texts(None));
        for price in &self.changed {
            text += &line(&plain(&price.setting), price.change(), &price.count_texts(Some(&self.base)));
        }
        for note in self.notes() {
            text += &format!("{}\n", wrap(&plain(&note), 80, 2));
        }
        text
    }

    /// As a table of a page.
    pub fn markdown(&self) -> String {
        let mut text = format!(
            "### {}\n\n| per statement | CPU time | system calls | allocations | instructions |\n| --- | ---: | ---: | ---: | ---: |\n",
            escape(&self.place)
        );
        let mut line = |name: &str, cpu: String, counts: Vec<String>| {
            text += &format!("| `{name}` | {cpu} | {} |\n", counts.join(" | "));
        };
        line(&self.base.setting, self.base.cpu_text(), self.base.count_texts(None));
        for price in &self.changed {
            line(&price.setting, price.change(), price.count_texts(Some(&self.base)));
        }
        let notes: Vec<String> = self.notes().iter().map(|note| format!("\n{}\n", escape(note))).collect();
        text + &notes.concat()
    }

    /// As data.
    pub fn json(&self) -> Value {
        let row = |price: &Price| {
            let counts: serde_json::Map<String, Value> = COUNTED
                .iter()
                .zip(&price.counts)
                .map(|((name, _), count)| {
                    (name.replace(' ', "_"), count.as_ref().map_or(Value::Null, |count| json!(count)))
                })
                .collect();
            json!({
                "setting": price.setting, "cpu_us": price.cpu, "ratio": price.ratio, "interval": price.interval,
                "per_statement": counts, "missing": price.missing,
            })
        };
        json!({ "place": self.place, "base": row(&self.base), "changed": self.changed.iter().map(row).collect::<Vec<_>>() })
    }

    /// Why figures are missing, each reason once with the settings that it holds for.
    fn notes(&self) -> Vec<String> {
        let mut notes: Vec<(String, Vec<String>)> = Vec::new();
        for price in std::iter::once(&self.base).chain(&self.changed) {
            let reasons = match &price.missing {
                Some(why) => vec![why.clone()],
                None => price.counts.iter().filter_map(|count| count.as_ref().err().cloned()).collect(),
            };
            for why in reasons {
                match notes.iter_mut().find(|(known, _)| *known == why) {
                    Some((_, settings)) if settings.contains(&price.setting) => {}
                    Some((_, settings)) => settings.push(price.setting.clone()),
                    None => notes.push((why, vec![price.setting.clone()])),
                }
            }
        }
        notes.into_iter().map(|(why, settings)| format!("n/a for {}: {why}", list(&settings))).collect()
    }
}

impl Price {
    fn of(analysis: &Analysis, place: Place, contender: &Contender, setting: String) -> Price {
        let row = |meter: &str| analysis.row(place, contender, meter);
        let count = |meters: &[&str]| {
            let rows = || meters.iter().filter_map(|meter| row(meter));
            let why = || rows().find_map(|row| row.unavailable.clone().or(row.void.clone()).or(row.failed.clone()));
            rows().find_map(|row| row.level).ok_or_else(|| why().unwrap_or_else(|| "It was not measured.".to_owned()))
        };
        let cpu = row(CPU_PER_STATEMENT);
        let missing = cpu
            .filter(|row| row.level.is_none())
            .and_then(|row| row.unavailable.clone().or(row.failed.clone()).or(row.void.clone()));
        Price {
            setting,
            cpu: cpu.and_then(|row| row.level),
            ratio: cpu.and_then(|row| row.ratio),
            interval: cpu.and_then(|row| row.interval),
            counts: COUNTED.iter().map(|(_, meters)| count(meters)).collect(),
            missing,
        }
    }

    fn cpu_text(&self) -> String {
        self.cpu.map_or("n/a".to_owned(), |us| format!("{} us", three_digits(us)))
    }

    /// What it costs or saves, in hundredths.
    fn change(&self) -> String {
        let share = |ratio: f64| format!("{:+.1}", (ratio - 1.0) * 100.0);
        match (self.ratio, self.interval) {
            (None, _) => "n/a".to_owned(),
            (Some(ratio), None) => format!("{} %", share(ratio)),
            (Some(ratio), Some([low, high])) => format!("{} % ({} to {})", share(ratio), share(low), share(high)),
        }
    }

    /// The counts, or how they differ from those of `base`.
    fn count_texts(&self, base: Option<&Price>) -> Vec<String> {
        let of = |at: usize| match (&self.counts[at], base.map(|base| &base.counts[at])) {
            (Ok(count), None) => figure(*count),
            (Ok(count), Some(Ok(base))) => difference(count - base, *base),
            _ => "n/a".to_owned(),
        };
        (0..self.counts.len()).map(of).collect()
    }
}

/// What distinguishes the contender from the one as it is.
fn setting(contender: &Contender, base: &Contender) -> String {
    contender.id.strip_prefix(&base.id).map_or(contender.id.clone(), |rest| rest.trim_start_matches('+').to_owned())
}

fn figure(count: f64) -> String {
    if count >= 1_000.0 { whole(count) } else { three_digits(count) }
}

/// With a sign, and as many digits as the figure that it is taken from.
fn difference(by: f64, base: f64) -> String {
    let digits = match base {
        base if base >= 100.0 => 0,
        base if base >= 10.0 => 1,
        base if base >= 1.0 => 2,
        _ => 3,
    };
    let text = format!("{by:+.digits$}");
    if text.trim_start_matches(['+', '-']).parse() == Ok(0.0) { "0".to_owned() } else { text }
}

#[cfg(test)]
mod tests {
    use cqldyno_driver_api::DriverOption;
    use cqldyno_reports::{Cell, Measure, Pass, Run, Unit};

    use super::*;
    use crate::sample;

    #[test]
    fn every_other_value_of_an_option_is_tried_and_a_kind_by_its_example() {
        let options = vec![
            DriverOption::new("routing", "token-aware|round-robin", "token-aware", "How."),
            DriverOption::tried("buffer", "BYTES", "8192", "How much.", "65536"),
            DriverOption::new("lib", "PATH", "linked", "Which."),
        ];
        let driver = DriverInfo { options, ..DriverInfo::default() };
        let found = settings(&driver);
        assert_eq!(found[..2], ["routing=round-robin", "buffer=65536"]);
        assert_eq!(found[2..], COMMON);
        let limited = DriverInfo { capabilities: [Capability::RequestTimeout].into(), ..DriverInfo::default() };
        assert_eq!(settings(&limited)[0], TIMEOUT);
    }

    /// The sample as a price list: the second driver is the first one with another setting.
    fn priced() -> (Run, Vec<Cell>) {
        let (mut run, mut cells) = sample::blocks(12);
        let id = "scylla+timeout=none";
        run.contenders.iter_mut().filter(|one| one.id == "cdrs-tokio").for_each(|one| one.id = id.to_owned());
        run.contenders.retain(|one| one.id.starts_with("scylla"));
        cells.iter_mut().filter(|one| one.contender == "cdrs-tokio").for_each(|one| one.contender = id.to_owned());
        cells.retain(|one| one.contender.starts_with("scylla"));
        for cell in cells.iter_mut().filter(|cell| cell.pass == Pass::Counting) {
            let count = if cell.contender == id { 0.123_4 } else { 0.1 };
            cell.measures.insert(SYSCALLS_PER_STATEMENT.to_owned(), Measure::value(count, Unit::Count));
        }
        (run, cells)
    }

    #[test]
    fn a_setting_costs_what_it_takes_more_than_the_driver_as_it_is() {
        let (run, cells) = priced();
        let prices = Prices::of(&Analysis::new(&run, &cells));
        let text = prices[0].text();
        assert!(text.lines().all(|line| line.chars().count() <= 80), "{text}");
        let line = text.lines().find(|line| line.starts_with("timeout=none")).unwrap();
        assert!(line.contains(" % (+") && line.contains("+0.023") && line.ends_with("n/a"), "{line}");
        assert!(text.contains("n/a for scylla@1.9.0 and timeout=none: "), "{text}");
        let data = prices[0].json();
        assert_eq!(data["changed"][0]["setting"], "timeout=none");
        assert_eq!(data["base"]["per_statement"]["system_calls"], 0.1);
        assert!(prices[0].markdown().contains("| `timeout=none` | +"), "{}", prices[0].markdown());
    }

    #[test]
    fn a_setting_that_cannot_be_had_says_why() {
        let (mut run, mut cells) = priced();
        cells.retain(|cell| cell.contender != "scylla+timeout=none");
        let who = run.contenders.iter_mut().find(|one| one.id == "scylla+timeout=none").unwrap();
        who.unavailable = Some("It cannot be built.".to_owned());
        let text = Prices::of(&Analysis::new(&run, &cells))[0].text();
        assert!(text.contains("n/a for timeout=none: It cannot be built."), "{text}");
    }

    #[test]
    fn a_difference_has_the_digits_of_its_figure() {
        assert_eq!(
            [difference(0.0234, 0.1), difference(-1.0, 5.0), difference(212.4, 7_800.0)],
            ["+0.023", "-1.00", "+212"]
        );
        assert_eq!(difference(0.000_1, 0.1), "0");
    }
}
