//! The price list: a driver against itself with one setting changed at a time.

use cqldyno_bench::{BUILDER_KEYS, COMMON_KEYS};
use cqldyno_driver_api::{Capability, DriverInfo};
use cqldyno_reports::measure::{ALLOCATIONS, CPU_PER_STATEMENT, Figure, INSTRUCTIONS, SYSTEM_CALLS};
use cqldyno_reports::{
    Analysis, Contender, Field, LEAST_BLOCKS, Notes, Place, Sheet, SummaryRow, TableRow, plain, sentence, three_digits,
    unique, whole,
};
use serde_json::{Value, json};

/// The rows of every list in their order, each with the words for it; a driver's other options follow.
const ROWS: [(&str, &str); 15] = [
    ("timeout=30s", "a time limit per statement"),
    ("timestamps=client", "the client dates each write"),
    ("metadata=cached", "answers come without their columns' names and types"),
    ("routing=round-robin", "each node in turn, whoever has the row"),
    ("coalescing=off", "no waiting for further requests before a write"),
    ("compression=lz4", "compressed frames"),
    ("compression=snappy", "compressed frames"),
    ("connections=2", "data connections per node"),
    ("connections=4", "data connections per node"),
    ("tls=on", "encrypted connections"),
    ("settings=default", "the settings of the documentation's first example"),
    ("allocator=jemalloc", "instead of glibc's"),
    ("allocator=mimalloc", "instead of glibc's"),
    ("lto=thin", "link-time optimisation"),
    ("lto=fat", "link-time optimisation"),
];
/// The keys of [`ROWS`] that mean the same for every driver.
const COMMON: [&str; 4] = ["connections", "settings", "allocator", "lto"];
const NO_SETTING: &str = "the driver has no setting for it";

/// What is counted, with its heading in a terminal.
const COUNTED: [(&Figure, &str); 3] = [(&SYSTEM_CALLS, "calls"), (&ALLOCATIONS, "allocs"), (&INSTRUCTIONS, "instr.")];

/// The settings that a driver can be tried with, each written `KEY=VALUE`. `is_ours` says that cqldyno builds its workers.
pub fn settings(driver: &DriverInfo, is_ours: bool) -> Vec<String> {
    let own = driver.options.iter().flatten().flat_map(|option| {
        let is_word = |value: &&str| !value.starts_with(|c: char| c.is_ascii_uppercase());
        let values = option.values.split('|').filter(is_word).chain(option.tried.iter().map(|tried| &**tried));
        // A driver may try one of its words.
        let values = unique(values.filter(|value| *value != option.default));
        values.into_iter().map(|value| format!("{}={value}", option.name)).collect::<Vec<_>>()
    });
    let is_row = |setting: &str| ROWS.iter().any(|(row, _)| *row == setting);
    let none = absent(driver, is_ours);
    let rows = ROWS.iter().map(|(row, _)| *row).filter(|row| none.iter().all(|(absent, _)| absent != row));
    let others = own.filter(|setting| !is_row(setting));
    rows.map(str::to_owned).chain(others).collect()
}

/// The rows of every list that cannot be measured, each with the reason.
pub fn absent(driver: &DriverInfo, is_ours: bool) -> Vec<(&'static str, &'static str)> {
    let option = |row: &str| driver.options.iter().flatten().find(|option| option.name == key(row));
    let value = |row: &'static str| row.rsplit('=').next().unwrap_or_default();
    let takes = |row| option(row).is_some_and(|option| option.takes(value(row)));
    let has = |row| option(row).is_some_and(|option| option.default == value(row));
    let why = |row: &'static str| match key(row) {
        "timeout" => (!driver.capabilities.contains(&Capability::RequestTimeout)).then_some(NO_SETTING),
        "tls" => (!driver.capabilities.contains(&Capability::Tls)).then_some("cqldyno has no TLS for this driver"),
        "allocator" | "lto" if !is_ours => Some("cqldyno has no adapter to build it with that"),
        key if COMMON.contains(&key) => None,
        _ if !takes(row) => Some(NO_SETTING),
        _ if has(row) => Some("it does so by default"),
        _ => None,
    };
    ROWS.iter().filter_map(|&(row, _)| Some((row, why(row)?))).collect()
}

fn key(setting: &str) -> &str {
    setting.split('=').next().unwrap_or_default()
}

/// What a setting changes in a few words, if it is known.
fn words(setting: &str, driver: Option<&DriverInfo>) -> String {
    let option = || driver?.options.iter().flatten().find(|option| option.name == key(setting));
    let row = ROWS.iter().find(|(row, _)| *row == setting).map(|(_, words)| (*words).to_owned());
    let common =
        || BUILDER_KEYS.iter().chain(&COMMON_KEYS).find(|(name, ..)| *name == key(setting)).map(|(.., about)| *about);
    row.or_else(|| Some(phrase(option().map(|option| &*option.about).or_else(common)?))).unwrap_or_default()
}

/// A sentence as it stands in a table's cell.
fn phrase(sentence: &str) -> String {
    let mut rest = sentence.trim_end_matches('.').chars();
    let first =
        rest.next().map(|c| if rest.as_str().starts_with(char::is_uppercase) { c } else { c.to_ascii_lowercase() });
    first.into_iter().chain(rest).collect()
}

pub struct Prices<'a> {
    /// Scenario and arrangement.
    place: String,
    /// The driver as it is, then with one setting changed.
    rows: Vec<Price<'a>>,
}

#[derive(Default)]
struct Price<'a> {
    /// The setting, or the driver's label.
    setting: String,
    words: String,
    /// CPU time per statement.
    cpu: Option<&'a SummaryRow>,
    /// For each of [`COUNTED`] the base's and its own by one measure; or why there is none.
    counts: Vec<Result<[f64; 2], String>>,
    /// Why there is nothing at all.
    missing: Option<String>,
}

impl<'a> Prices<'a> {
    /// Of every scenario and arrangement of a run against its reference; none without one. The rows `absent` were not measured, for
    /// the reason beside each.
    pub fn of(analysis: &'a Analysis, driver: Option<&DriverInfo>, absent: &[(&str, &str)]) -> Vec<Prices<'a>> {
        let Some(base) = analysis.reference else { return Vec::new() };
        let others = || analysis.run.contenders.iter().filter(|one| !one.control && one.id != base.id);
        let price = |place: Place, one: &Contender| {
            let setting = setting(one, base);
            Price { words: words(&setting, driver), setting, ..Price::of(analysis, place, [base, one]) }
        };
        let none = |(row, why): &(&str, &str)| Price {
            setting: (*row).to_owned(),
            words: words(row, driver),
            missing: Some((*why).to_owned()),
            ..Price::default()
        };
        let prices = |place: Place| {
            let (setting, words) = (base.label.clone(), "as it is compared".to_owned());
            let first = Price { setting, words, ..Price::of(analysis, place, [base, base]) };
            let changed = others().map(|one| price(place, one)).chain(absent.iter().map(none));
            Prices {
                place: format!("{}, {}", place.scenario.name, place.arrangement.id),
                rows: std::iter::once(first).chain(changed).collect(),
            }
        };
        analysis.places().map(prices).collect()
    }

    /// The counts that any row has.
    fn counted(&self) -> Vec<usize> {
        let has = |at: &usize| self.rows.iter().any(|row| row.counts.get(*at).is_some_and(Result::is_ok));
        (0..COUNTED.len()).filter(has).collect()
    }

    /// As a table, perhaps with what each setting changes; reasons become `notes`.
    pub fn sheet(&self, explains: bool, notes: &mut Notes) -> Sheet {
        let counted = self.counted();
        let heads = explains.then_some("what it changes").into_iter().chain(["CPU time", "95 %"]);
        let heads = heads.chain(counted.iter().map(|at| COUNTED[*at].1));
        let row = |(nth, price): (usize, &Price)| {
            let words = explains.then(|| Field::of(plain(&price.words)));
            let mut fields: Vec<Field> = words.into_iter().collect();
            match &price.missing {
                Some(why) => {
                    fields.push(Field::missing(notes.number(&sentence(why))));
                    fields.resize_with(1 + counted.len() + fields.len(), Field::default);
                }
                None => {
                    fields.extend(price.cpu_fields(nth == 0, notes));
                    fields.extend(counted.iter().map(|at| price.count_field(*at, nth == 0, notes)));
                }
            }
            TableRow::of(&price.setting, fields)
        };
        let first = if explains { "setting" } else { "per statement" };
        let rows = self.rows.iter().enumerate().map(row).collect();
        Sheet { words: explains.into(), ..Sheet::of(plain(&self.place), first, heads, vec![rows]) }
    }

    pub fn json(&self) -> Value {
        let row = |price: &Price| {
            let count = |((figure, _), count): (&(&Figure, _), &Result<[f64; 2], String>)| {
                (figure.name.replace(' ', "_"), count.as_ref().map_or(Value::Null, |[_, own]| json!(own)))
            };
            let counts: serde_json::Map<String, Value> = COUNTED.iter().zip(&price.counts).map(count).collect();
            let (level, ratio, interval) =
                price.cpu.map(|row| (row.level, row.ratio, row.interval)).unwrap_or_default();
            json!({
                "setting": price.setting, "changes": price.words, "cpu_us": level, "ratio": ratio, "interval": interval,
                "per_statement": counts, "missing": price.missing,
            })
        };
        let mut rows = self.rows.iter().map(row);
        json!({ "place": self.place, "base": rows.next(), "changed": rows.collect::<Vec<_>>() })
    }
}

impl<'a> Price<'a> {
    /// The second of the pair over the first.
    fn of(analysis: &'a Analysis, place: Place, pair: [&Contender; 2]) -> Price<'a> {
        let cpu = analysis.row(place, pair[1], CPU_PER_STATEMENT);
        let count = |(figure, _): &(&Figure, &str)| {
            let rows = analysis.figures(place, &pair, figure).map_err(|(_, why)| why)?;
            Ok([rows[0].figure()?, rows[1].figure()?])
        };
        let counts = COUNTED.iter().map(count).collect();
        Price { cpu, counts, missing: cpu.and_then(|row| row.figure().err()), ..Price::default() }
    }

    /// The CPU time, or what it costs or saves in hundredths, and its interval.
    fn cpu_fields(&self, is_base: bool, notes: &mut Notes) -> [Field; 2] {
        let share = |ratio: f64| format!("{:+.1}", (ratio - 1.0) * 100.0);
        match self.cpu {
            Some(SummaryRow { level: Some(us), .. }) if is_base => {
                [Field::of(format!("{} us", three_digits(*us))), Field::default()]
            }
            Some(SummaryRow { ratio: Some(ratio), interval: Some([low, high]), .. }) => {
                [format!("{} %", share(*ratio)), format!("{} to {}", share(*low), share(*high))].map(Field::of)
            }
            // Without an interval a share would look like a result.
            Some(SummaryRow { no_interval: Some(why), .. }) => [Field::missing(notes.number(why)), Field::default()],
            Some(_) => {
                let why = format!("An interval needs at least {LEAST_BLOCKS} generations.");
                [Field::missing(notes.number(&why)), Field::default()]
            }
            None => [Field::missing(notes.number("It has not run.")), Field::default()],
        }
    }

    /// A count of the base, or how others differ from it.
    fn count_field(&self, at: usize, is_base: bool, notes: &mut Notes) -> Field {
        match &self.counts[at] {
            Ok([_, own]) if is_base => Field::of(three_digits(*own)),
            Ok([base, own]) => Field::of(difference(own - base, *base)),
            Err(why) => Field::missing(notes.number(why)),
        }
    }
}

/// What distinguishes the contender from the one as it is.
fn setting(contender: &Contender, base: &Contender) -> String {
    contender.id.strip_prefix(&base.id).map_or(contender.id.clone(), |rest| rest.trim_start_matches('+').to_owned())
}

/// With a sign, and as many digits as the figure that it is taken from.
fn difference(by: f64, base: f64) -> String {
    let digits = match base {
        base if base >= 100.0 => 0,
        base if base >= 10.0 => 1,
        base if base >= 1.0 => 2,
        _ => 3,
    };
    if by.abs() >= 1_000.0 {
        return format!("{}{}", if by < 0.0 { '-' } else { '+' }, whole(by.abs()));
    }
    let text = format!("{by:+.digits$}");
    if text.trim_start_matches(['+', '-']).parse() == Ok(0.0) { "0".to_owned() } else { text }
}

#[cfg(test)]
mod tests {
    use cqldyno_driver_api::DriverOption;
    use cqldyno_reports::measure::SYSCALLS_PER_STATEMENT;
    use cqldyno_reports::{Cell, Look, Measure, Part, Pass, Run, Unit, markdown, terminal};

    use super::*;
    use crate::sample;

    #[test]
    fn every_other_value_of_an_option_is_tried_and_a_kind_by_its_example() {
        let options = vec![
            DriverOption::new("routing", "token-aware|round-robin", "token-aware", "How."),
            DriverOption::tried("buffer", "BYTES", "8192", "How much.", "65536"),
            DriverOption::new("lib", "PATH", "linked", "Which."),
            DriverOption::tried("loop", "auto|own", "auto", "Whose loop.", "own"),
        ];
        let driver = DriverInfo { options: Some(options), ..DriverInfo::default() };
        let found = settings(&driver, true);
        assert_eq!((found[0].as_str(), found.last().unwrap().as_str()), ("routing=round-robin", "loop=own"));
        assert!(found.contains(&"buffer=65536".to_owned()));
        assert_eq!(found.iter().filter(|one| *one == "loop=own").count(), 1, "a word that is tried is there once");
        assert!(
            !found.contains(&"timeout=30s".to_owned()) && absent(&driver, true).contains(&("timeout=30s", NO_SETTING))
        );
        let limited = DriverInfo { capabilities: [Capability::RequestTimeout].into(), ..DriverInfo::default() };
        assert_eq!(settings(&limited, true)[0], "timeout=30s");
        let encrypts = DriverInfo { capabilities: [Capability::Tls].into(), ..DriverInfo::default() };
        let has = |driver: &DriverInfo| settings(driver, true).iter().any(|row| row == "tls=on");
        assert_eq!((has(&encrypts), has(&limited)), (true, false));
        assert_eq!(settings(&limited, true).len() + absent(&limited, true).len(), ROWS.len());
        let cached = DriverOption::new("metadata", "cached|each", "cached", "Whose columns.");
        let foreign = DriverInfo { options: Some(vec![cached]), ..DriverInfo::default() };
        assert_eq!(words("metadata=each", Some(&foreign)), "whose columns");
        assert_eq!(words("page-size=10", None), "rows per page");
        assert_eq!([phrase("CPU time."), phrase("A word."), phrase("")], ["CPU time", "a word", ""]);
        let (found, none) = (settings(&foreign, false), absent(&foreign, false));
        assert_eq!(found.last().unwrap(), "metadata=each");
        assert!(none.contains(&("metadata=cached", "it does so by default")), "{none:?}");
        let why = "cqldyno has no adapter to build it with that";
        assert!(none.contains(&("lto=fat", why)) && !found.contains(&"allocator=jemalloc".to_owned()), "{found:?}");
    }

    /// The sample as a price list: the second driver is the first one with another setting.
    fn priced() -> (Run, Vec<Cell>) {
        let (mut run, mut cells) = sample::blocks(12);
        let id = "scylla+timeout=30s";
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

    fn shown(prices: &[Prices], explains: bool, set: impl Fn(&[Part]) -> String) -> String {
        let mut notes = Notes::default();
        let sheet = Part::Sheet(prices[0].sheet(explains, &mut notes));
        set(&[sheet, Part::Notes(notes.0)])
    }

    fn terminal_of_80(parts: &[Part]) -> String {
        terminal(parts, Look { width: 80, all_columns: false, ..Look::default() })
    }

    #[test]
    fn a_setting_costs_what_it_takes_more_than_the_driver_as_it_is() {
        let (run, cells) = priced();
        let analysis = Analysis::new(&run, &cells);
        let prices = Prices::of(&analysis, None, &[("coalescing=off", NO_SETTING)]);
        let text = shown(&prices, false, terminal_of_80);
        assert!(text.lines().all(|line| line.chars().count() <= 80), "{text}");
        let line = text.lines().find(|line| line.starts_with("timeout=30s")).unwrap();
        assert!(line.contains(" %  +") && line.contains(" to +") && line.ends_with("+0.023"), "{line}");
        assert!(text.lines().any(|line| line.starts_with("coalescing=off ") && line.ends_with(" n/a [1]")), "{text}");
        assert!(text.contains("[1] The driver has no setting for it."), "{text}");
        assert!(!text.contains("allocs"), "what no row has is no column: {text}");
        let data = prices[0].json();
        assert_eq!(data["changed"][0]["setting"], "timeout=30s");
        assert_eq!(data["base"]["per_statement"]["system_calls"], 0.1);
        let page = shown(&prices, true, markdown);
        assert!(page.contains("| timeout=30s | a time limit per statement | +"), "{page}");
    }

    #[test]
    fn a_setting_that_cannot_be_had_says_why() {
        let (mut run, mut cells) = priced();
        cells.retain(|cell| cell.contender != "scylla+timeout=30s");
        let who = run.contenders.iter_mut().find(|one| one.id == "scylla+timeout=30s").unwrap();
        who.unavailable = Some("It cannot be built.".to_owned());
        let text = shown(&Prices::of(&Analysis::new(&run, &cells), None, &[]), false, terminal_of_80);
        assert!(text.contains("[1] It cannot be built."), "{text}");
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
