//! User profiles of cassandra-stress, turned into scenarios.

mod table;

use std::collections::BTreeMap;

use serde::Deserialize;
use serde::de::IgnoredAny;

use self::table::{Definition, Table, words, written};
use crate::cql::{self, Token, Uses, after, after_word, is_word, items};
use crate::{MAX_BATCH, MAX_ROWS, Scenario, ScenarioError};

/// A profile as a scenario.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Imported {
    /// In TOML, with what was lost in comments.
    pub toml: String,
    /// What the scenario lacks or has otherwise than the profile, each a full sentence.
    pub lost: Vec<String>,
}

/// How large values are that the profile says nothing of.
const SIZE: Spread = Spread { way: Some("uniform"), low: 4, high: 8, is_exact: true };
/// The one row of a value of the clustering columns that the profile says nothing of.
const ONE: Spread = Spread { way: Some("uniform"), low: 1, high: 1, is_exact: true };
/// A collection has so many elements at most.
const MOST_ELEMENTS: u64 = 65_535;
/// With more keys than these each execution has one of its own, because all that are read must be loaded.
const MOST_KEYS: u64 = 100_000;
/// A partition that is read has so many rows at most, and all partitions of a statement together ten times as many, because all are
/// loaded.
const MOST_ROWS: u64 = 10_000;
/// Random texts of a primary key have room for so many letters that no two of a run are equal.
const KEY_SIZE: u64 = 8;

#[derive(Deserialize)]
struct Profile {
    keyspace: String,
    keyspace_definition: Option<String>,
    table: String,
    table_definition: Option<String>,
    #[serde(default)]
    extra_definitions: Vec<String>,
    #[serde(default)]
    columnspec: Vec<Spec>,
    #[serde(default)]
    insert: Insert,
    #[serde(default)]
    queries: BTreeMap<String, Query>,
    #[serde(default)]
    token_range_queries: BTreeMap<String, IgnoredAny>,
    #[serde(flatten)]
    other: BTreeMap<String, IgnoredAny>,
}

/// What the profile says of a column, as distributions.
#[derive(Default, Deserialize)]
struct Spec {
    name: String,
    size: Option<String>,
    population: Option<String>,
    cluster: Option<String>,
    #[serde(flatten)]
    other: BTreeMap<String, IgnoredAny>,
}

#[derive(Default, Deserialize)]
struct Insert {
    partitions: Option<String>,
    select: Option<String>,
    visits: Option<String>,
    batchtype: Option<String>,
    condition: Option<String>,
    #[serde(flatten)]
    other: BTreeMap<String, IgnoredAny>,
}

#[derive(Deserialize)]
struct Query {
    cql: String,
    fields: Option<String>,
}

/// The rows that an insert of the profile writes together.
struct Batch {
    rows: Spread,
    is_logged: bool,
    /// Whether they are of one partition.
    is_together: bool,
}

/// A distribution by its ends: `uniform(1..10M)`, `fixed(5)`.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Spread {
    /// As scenarios name it; `None` for one that they do not have.
    way: Option<&'static str>,
    low: u64,
    high: u64,
    /// Whether scenarios draw as the profile says, not with another mean or deviation.
    is_exact: bool,
}

impl Spread {
    fn parse(text: &str) -> Option<Spread> {
        let (name, inside) = text.trim().split_once('(')?;
        let (range, more) = inside.strip_suffix(')')?.split_once(',').unwrap_or((inside.strip_suffix(')')?, ""));
        let (low, high) = range.split_once("..").unwrap_or((range, range));
        let way = match name.trim().to_ascii_lowercase().as_str() {
            "fixed" | "uniform" => "uniform",
            "seq" => "sequential",
            "gaussian" | "gauss" | "normal" | "norm" => "gaussian",
            "exp" | "exponential" => "exponential",
            "zipf" => "zipf",
            _ => "",
        };
        let is_exact = !way.is_empty() && more.is_empty();
        let way = Some(way).filter(|way| !way.is_empty());
        Some(Spread { way, low: number(low)?, high: number(high)?, is_exact }).filter(|one| one.low <= one.high)
    }

    /// No number is below `least` or above `most`.
    fn within(self, least: u64, most: u64) -> Spread {
        let [low, high] = [self.low, self.high].map(|end| end.clamp(least, most));
        Spread { low, high, is_exact: self.is_exact && (low, high) == (self.low, self.high), ..self }
    }

    /// That of the products, drawn as one number.
    fn times(self, other: Spread) -> Spread {
        let (drawn, factor) = if other.low < other.high { (other, self) } else { (self, other) };
        Spread {
            low: self.low.saturating_mul(other.low),
            high: self.high.saturating_mul(other.high),
            is_exact: drawn.is_exact && (factor.high == 1 || drawn.high == drawn.low),
            ..drawn
        }
    }

    /// A part of it, such as `fixed(1)/10`, and at least 1.
    fn part(self, ratio: &str) -> Option<Spread> {
        let (part, of) = ratio.rsplit_once('/')?;
        let (part, of) = (Spread::parse(part)?, number(of).filter(|of| *of > 0)?);
        let all = self.times(part);
        Some(Spread { low: (all.low / of).max(1), high: (all.high / of).max(1), ..all })
    }

    /// As a scenario has it: itself, or its middle if no scenario has it.
    fn amount(self) -> String {
        match self.way.filter(|way| *way != "sequential" && self.low < self.high) {
            Some(way) => format!("\"{way}({}..{})\"", self.low, self.high),
            None => self.low.midpoint(self.high).to_string(),
        }
    }
}

/// A number such as `5`, `10M` or `100B`.
fn number(text: &str) -> Option<u64> {
    let text = text.trim().to_ascii_lowercase();
    let units = [('k', 1_000), ('m', 1_000_000), ('b', 1_000_000_000)];
    let scaled = units.into_iter().find_map(|(sign, unit)| Some((text.strip_suffix(sign)?, unit)));
    let (digits, unit) = scaled.unwrap_or((&text, 1));
    digits.parse::<u64>().ok()?.checked_mul(unit)
}

/// The fields of a column of that type. Texts, blobs and collections have `length`, and elements of collections the usual one.
///
/// # Errors
/// The type, if no column has it.
fn typed(kind: &[Token], length: Spread) -> Result<String, String> {
    let size = length.within(1, MOST_ELEMENTS).amount();
    let of = |kind: &[Token]| typed(kind, SIZE).map(|fields| format!("{{ {fields} }}"));
    let inside = |kind: &[Token]| match kind {
        [Token::Sign('<'), inner @ .., Token::Sign('>')] => {
            Some(items(inner).0.into_iter().map(<[Token]>::to_vec).collect::<Vec<_>>())
        }
        _ => None,
    };
    let [Token::Word(word), parameters @ ..] = kind else { return Err(written(kind)) };
    match (word.as_str(), inside(parameters).as_deref()) {
        ("frozen", Some([inner])) => typed(inner, length),
        ("list" | "set", Some([inner])) => Ok(format!("type = \"{word}\", of = {}, length = {size}", of(inner)?)),
        ("map", Some([keys, values])) => {
            Ok(format!("type = \"map\", keys = {}, of = {}, length = {size}", of(keys)?, of(values)?))
        }
        ("tuple", Some(all)) => {
            let all = all.iter().map(|one| of(one)).collect::<Result<Vec<_>, _>>()?;
            Ok(format!("type = \"tuple\", of = [{}]", all.join(", ")))
        }
        ("text" | "varchar" | "ascii" | "blob", None) => Ok(format!("type = \"{word}\", length = {}", length.amount())),
        (
            "bigint" | "int" | "smallint" | "tinyint" | "varint" | "double" | "float" | "timestamp" | "date"
            | "counter" | "decimal" | "time" | "duration" | "inet" | "boolean" | "uuid" | "timeuuid",
            None,
        ) => Ok(format!("type = \"{word}\"")),
        _ => Err(written(kind)),
    }
}

/// Whether values of that type rise with the place of a row.
fn rises(kind: &[Token]) -> bool {
    let rising = ["bigint", "int", "varint", "double", "float", "timestamp", "date", "decimal", "timeuuid"];
    matches!(kind, [Token::Word(word)] if rising.contains(&word.as_str()))
}

/// One profile on its way.
struct Import {
    /// Whether rows are inserted and nothing else.
    is_alone: bool,
    /// The keys of a statement, if all that the profile has can be loaded.
    keys: Option<(u64, &'static str)>,
    /// The keys of the statement at hand, if these are fewer because of its rows.
    fewer: Option<u64>,
    table: Table,
    specs: BTreeMap<String, Spec>,
    lost: Vec<String>,
}

impl Import {
    /// The rows for each value of the clustering columns before these.
    fn rows<'a>(&self, clustering: impl IntoIterator<Item = &'a String>) -> Spread {
        let of = |name: &String| Spread::parse(self.specs.get(name)?.cluster.as_deref()?);
        let each = clustering.into_iter().map(|name| of(name).unwrap_or(ONE));
        each.fold(ONE, Spread::times).within(1, MAX_ROWS)
    }

    /// The rows that are inserted together, if these are several.
    fn batch(&self, insert: &Insert) -> Option<Batch> {
        let has_counters = self.table.columns.iter().any(|one| self.counts(&one.name));
        let partitions = insert.partitions.as_deref().and_then(Spread::parse).unwrap_or(ONE);
        let all = self.rows(&self.table.clustering);
        let each = insert.select.as_deref().and_then(|ratio| all.part(ratio)).unwrap_or(all);
        // Rows of several partitions have the numbers of keys that others read.
        let rows = if self.is_alone { partitions.times(each) } else { each }.within(1, MAX_BATCH as u64);
        let is_logged = insert.batchtype.as_deref().is_none_or(|kind| kind.trim().eq_ignore_ascii_case("logged"));
        let is_batch = rows.high > 1 && !has_counters && insert.condition.is_none();
        is_batch.then_some(Batch { rows, is_logged, is_together: partitions.high == 1 || !self.is_alone })
    }

    /// The column's values as TOML has them, with further fields.
    fn value(&mut self, name: &str, more: &str) -> Result<String, String> {
        let column = self.table.column(name).ok_or_else(|| format!("the table has no column {name}"))?;
        let is_key = self.table.key().any(|key| key == name);
        let spec = self.specs.get(name);
        let asked = spec.and_then(|spec| spec.size.as_deref());
        let found = asked.map_or(Some(SIZE), Spread::parse);
        let (least, one) = (if is_key { KEY_SIZE } else { 0 }, found.unwrap_or(SIZE));
        let length = one.within(least, u64::MAX);
        let fields = typed(&column.kind, length)
            .map_err(|kind| format!("{name} is of the type {kind}, which the import does not support"))?;
        let (written, own) = (format!("length = {}", length.amount()), fields.rsplit_once("length = "));
        let is_same =
            found == Some(length) && fields.ends_with(&written) && (length.is_exact || length.low == length.high);
        if let Some((_, own)) = own.filter(|(_, own)| !is_same && !own.contains('}')) {
            let asked = asked.unwrap_or("no size, so uniform(4..8)");
            self.lose(format!(
                "The values of {name} have the length {}; the profile has {asked}.",
                own.trim_matches('"')
            ));
        }
        Ok(format!("{{ {fields}{more} }}"))
    }

    fn values(&mut self, names: &[String], more: impl Fn(&str) -> &'static str) -> Result<String, String> {
        let values = names.iter().map(|name| self.value(name, more(name))).collect::<Result<Vec<_>, _>>()?;
        Ok(format!("[{}]", values.join(", ")))
    }

    fn lose(&mut self, sentence: String) {
        self.lost.push(sentence);
    }

    /// Whether the column is a counter.
    fn counts(&self, name: &str) -> bool {
        self.table.column(name).is_some_and(|one| is_word(one.kind.first(), "counter"))
    }

    fn all(&self) -> Vec<String> {
        self.table.columns.iter().filter(|one| !one.is_static).map(|one| one.name.clone()).collect()
    }

    fn inserted(&self, names: &[String]) -> String {
        format!("INSERT INTO {} ({}) VALUES ({})", self.table.name, names.join(", "), vec!["?"; names.len()].join(", "))
    }

    fn selected(&self, names: &[String], by: &[String]) -> String {
        let by: Vec<String> = by.iter().map(|name| format!("{name} = ?")).collect();
        format!("SELECT {} FROM {} WHERE {}", names.join(", "), self.table.name, by.join(" AND "))
    }

    fn read_back(&mut self, names: &[String], more: impl Fn(&str) -> &'static str) -> Result<String, String> {
        let key: Vec<String> = self.table.key().cloned().collect();
        let (values, columns) = (self.values(&key, &more)?, self.values(names, &more)?);
        let cql = self.selected(names, &key);
        Ok(format!("\n[statement.read_back]\ncql = {cql:?}\nvalues = {values}\ncolumns = {columns}\n"))
    }

    /// The statement `insert`, without its name.
    fn insert(&mut self, insert: &Insert) -> Result<String, String> {
        let counters: Vec<String> =
            self.table.columns.iter().map(|one| one.name.clone()).filter(|name| self.counts(name)).collect();
        if !counters.is_empty() {
            let key: Vec<String> = self.table.key().cloned().collect();
            let bound = [&counters[..], &key].concat();
            let set: Vec<String> = counters.iter().map(|name| format!("{name} = {name} + ?")).collect();
            let by: Vec<String> = key.iter().map(|name| format!("{name} = ?")).collect();
            let cql = format!("UPDATE {} SET {} WHERE {}", self.table.name, set.join(", "), by.join(" AND "));
            return Ok(format!(
                "cql = {cql:?}\nvalues = {}\n{}",
                self.values(&bound, |_| "")?,
                self.read_back(&counters, |_| "")?
            ));
        }
        let all = self.all();
        let batch = self.batch(insert);
        let partition = self.table.partition.clone();
        let is_together = batch.as_ref().is_some_and(|batch| batch.is_together);
        let by =
            |name: &str| if is_together && partition.iter().any(|key| key == name) { ", by = \"key\"" } else { "" };
        let (cql, values, read_back) = (self.inserted(&all), self.values(&all, by)?, self.read_back(&all, by)?);
        if let Some(Batch { rows, is_logged, is_together }) = batch {
            let logged = if is_logged { "logged = true\n" } else { "" };
            let partitions = insert.partitions.as_deref().filter(|text| !text.trim().eq_ignore_ascii_case("fixed(1)"));
            match partitions {
                Some(text) if is_together => self.lose(format!(
                    "Each batch writes one partition, and no query reads it; the profile has partitions: {text}."
                )),
                _ if !is_together && self.rows(&self.table.clustering).high > 1 => {
                    self.lose("Every row of a batch has a partition of its own.".to_owned());
                }
                _ => {}
            }
            let size = rows.amount();
            if !rows.is_exact {
                self.lose(format!("A batch has {} rows, drawn as one number.", size.trim_matches('"')));
            }
            return Ok(format!(
                "operation = \"batch\"\nsize = {size}\n{logged}cql = {cql:?}\nvalues = {values}\n{read_back}"
            ));
        }
        match insert
            .condition
            .as_deref()
            .map(|text| text.split_whitespace().collect::<Vec<_>>().join(" ").to_uppercase())
        {
            None => Ok(format!("cql = {cql:?}\nvalues = {values}\n{read_back}")),
            Some(text) if text == "IF NOT EXISTS" => {
                let cql = format!("{cql} {text}");
                Ok(format!("cql = {cql:?}\nvalues = {values}\n\n[statement.expect]\napplied = true\n{read_back}"))
            }
            Some(text) => Err(format!("its condition {text} depends on rows that are there")),
        }
    }

    /// A statement of the profile, without its name.
    fn query(&mut self, text: &str) -> Result<String, String> {
        let tokens = cql::tokens(text);
        let uses = Uses::of(text, &[]).ok_or("its CQL cannot be read")?;
        let bound: Vec<String> =
            uses.bound.iter().cloned().collect::<Option<_>>().ok_or("it binds a value that is no column's")?;
        let clauses = after_word(&tokens, "where").unwrap_or_default();
        let own = self.table.name.rsplit('.').next().unwrap_or_default();
        if uses.table.rsplit('.').next() != Some(own) {
            return Err(format!("it is about the table {}", uses.table));
        }
        if cql::is_conditional(text) {
            return Err("what its condition says depends on rows that are there".to_owned());
        }
        let is_fixed = |pair: &[Token]| matches!(pair, [Token::Sign('=' | '<' | '>'), Token::Literal | Token::Word(_)]);
        if clauses.windows(2).any(is_fixed) || cql::has_in(text) {
            return Err("it compares with a fixed value or a list".to_owned());
        }
        if is_word(tokens.first(), "select") {
            return self.read(&tokens, clauses, &bound);
        }
        let key: Vec<String> = self.table.key().cloned().collect();
        let is_insert = is_word(tokens.first(), "insert");
        if !key.iter().all(|name| bound.contains(name) && (is_insert || is_compared(clauses, name))) {
            return Err("it does not name one row".to_owned());
        }
        let set = after_word(&tokens, "set").unwrap_or_default();
        let set = set.get(..set.len().saturating_sub(clauses.len())).unwrap_or_default();
        let adds_to =
            set.contains(&Token::Sign('+')) && !bound.iter().all(|name| key.contains(name) || self.counts(name));
        if set.contains(&Token::Sign('-')) || adds_to {
            return Err("what it leaves in the row depends on what was there".to_owned());
        }
        let own = qualified(text, &self.table.name).ok_or("its table's name is not found in it")?;
        let values = self.values(&bound, |_| "")?;
        let written: Vec<String> = bound.iter().filter(|name| !key.contains(name)).cloned().collect();
        if is_insert && written.is_empty() {
            return Ok(format!("cql = {own:?}\nvalues = {values}\n"));
        }
        if !written.is_empty() {
            // A row may be gone before it is read.
            let expires = tokens.iter().any(|token| is_word(Some(token), "ttl"));
            let read_back = if expires { String::new() } else { self.read_back(&written, |_| "")? };
            return Ok(format!("cql = {own:?}\nvalues = {values}\n{read_back}"));
        }
        if self.table.columns.iter().any(|one| self.counts(&one.name)) {
            return Err("its rows are counters, which no INSERT loads".to_owned());
        }
        let adds = if after(&tokens, &["delete", "from"]).is_some() { -1 } else { 0 };
        let all = self.all();
        let (load, loaded) = (self.inserted(&all), self.values(&all, |_| "")?);
        self.lose(
            "Rows that a statement deletes or changes without a bound value are loaded, and not read afterwards."
                .to_owned(),
        );
        Ok(format!(
            "cql = {own:?}\nvalues = {values}\nadds = {adds}\n\n[statement.load]\ncql = {load:?}\nvalues = {loaded}\n"
        ))
    }

    /// A SELECT that binds these columns.
    fn read(&mut self, tokens: &[Token], clauses: &[Token], bound: &[String]) -> Result<String, String> {
        let ends = tokens.iter().position(|token| is_word(Some(token), "from")).unwrap_or_default();
        let names: Vec<String> = match tokens.get(1..ends).unwrap_or_default() {
            [Token::Sign('*')] => self.all(),
            some => {
                let named = |item: &[Token]| if let [Token::Word(name)] = item { Some(name.clone()) } else { None };
                let all = items(some).0.into_iter().map(named).collect::<Option<Vec<_>>>();
                all.ok_or("it selects something else than columns")?
            }
        };
        if names.iter().any(|name| self.table.column(name).is_some_and(|one| one.is_static)) {
            return Err("it reads a static column".to_owned());
        }
        if self.table.columns.iter().any(|one| self.counts(&one.name)) {
            return Err("its rows are counters, which no INSERT loads".to_owned());
        }
        let by: Vec<String> = bound.iter().filter(|name| is_compared(clauses, name)).cloned().collect();
        let partition = self.table.partition.len();
        let named = self.table.key().take(by.len()).filter(|key| by.contains(key)).count();
        if by.len() < partition || named < by.len() {
            return Err("it does not name a partition by its key, so it needs an index or filters".to_owned());
        }
        let further: Vec<String> = self.table.clustering.iter().skip(by.len() - partition).cloned().collect();
        let asked = after_word(clauses, "limit").and_then(|rest| match rest.first() {
            Some(Token::Word(word)) => word.parse::<u64>().ok(),
            _ => None,
        });
        let ordered = after_word(clauses, "order").and_then(|rest| after(rest, &["by"]));
        let turned = match ordered {
            None => None,
            Some([Token::Word(name), rest @ ..]) if further.first() == Some(name) => {
                Some(is_word(rest.first(), "desc"))
            }
            Some(_) => return Err("it orders its rows otherwise than by the first clustering column".to_owned()),
        };
        if ["group", "per"].iter().any(|word| after_word(clauses, word).is_some()) {
            return Err("it takes some rows of each group".to_owned());
        }
        let first = further.first().and_then(|name| self.table.column(name)).map(|first| rises(&first.kind));
        let all = if first.is_some() { self.rows(&further) } else { ONE };
        let rows = all.within(1, MOST_ROWS);
        if !rows.is_exact && all.high > 1 {
            self.lose(format!("Every partition that is read has {} rows.", rows.amount().trim_matches('"')));
        }
        let keys = (10 * MOST_ROWS / rows.high).max(1);
        if rows.high > 1 && self.keys.is_none_or(|(all, _)| all > keys) {
            self.fewer = Some(keys);
            self.lose(format!("Queries read {keys} partitions of {} rows.", rows.amount().trim_matches('"')));
        }
        let limit = asked.filter(|limit| *limit < rows.high).map(|limit| limit.max(1));
        let check = match first.unwrap_or(true) {
            true => "order",
            false if limit.is_none() => "content",
            false => "count",
        };
        if check == "count" {
            self.lose("Rows of a part of a partition whose values do not rise with their numbers are counted, and not checked.".to_owned());
        }
        let slice = further.first().map(|name| (name, sliced(clauses, name)));
        let is_read = |lower: bool, upper: bool| {
            usize::from(lower) + usize::from(upper) == bound.len() - by.len() && rows.high > 1 && check == "order"
        };
        let is_limited = |descends: bool| descends && limit.is_some();
        let is_descending = further.first().is_some_and(|name| self.table.descending.contains(name));
        let descends = check == "order" && turned.unwrap_or(is_descending);
        let slice = slice.filter(|(_, (lower, upper))| is_read(*lower, *upper) && !is_limited(descends));
        if by.len() < bound.len() && slice.is_none() {
            self.lose("A slice with bounds asks for the whole partition.".to_owned());
        }
        let slice = slice.map(|(name, ends)| (name.clone(), ends)).filter(|_| by.len() < bound.len());
        let is_several = rows.high > 1;
        let of_key = |name: &str| if is_several && by.iter().any(|one| one == name) { ", by = \"key\"" } else { "" };
        let all = self.all();
        let limited = asked.map_or(String::new(), |limit| format!(" LIMIT {limit}"));
        let order = turned.zip(further.first()).map_or(String::new(), |(descends, name)| {
            format!(" ORDER BY {name} {}", if descends { "DESC" } else { "ASC" })
        });
        let (mut bounds, mut ends, mut from) = (String::new(), String::new(), 0);
        if let Some((name, (lower, upper))) = &slice {
            for (is_there, sign, at) in [(*lower, ">=", ", at = 0"), (*upper, "<=", ", at = -1")] {
                if is_there {
                    bounds += &format!(" AND {name} {sign} ?");
                    ends += &format!(", {}", self.value(name, at)?);
                }
            }
            from = if *lower { rows.low - 1 } else { 0 };
        }
        let cql = format!("{}{bounds}{order}{limited}", self.selected(&names, &by));
        let (values, columns) = (self.values(&by, |_| "")?, self.values(&names, of_key)?);
        let values = format!("{}{ends}]", values.trim_end_matches(']'));
        let (load, loaded) = (self.inserted(&all), self.values(&all, of_key)?);
        let answered = match &slice {
            Some((_, (_, true))) => format!("\"uniform(1..{})\"", limit.unwrap_or(rows.high)),
            Some(_) => limit.unwrap_or(rows.high).to_string(),
            None => limit.map_or(rows.amount(), |limit| limit.to_string()),
        };
        let part = [
            (is_several, format!("rows = {answered}\n")),
            (limit.is_some() || slice.is_some(), format!("stored = {}\n", rows.amount())),
            (from > 0, format!("from = \"uniform(0..{from})\"\n")),
            (limit.is_some() && descends, "last = true\n".to_owned()),
            (limit.unwrap_or(rows.high) > 1 && descends, "descending = true\n".to_owned()),
            (is_several && check != "order", format!("check = \"{check}\"\n")),
        ];
        let rows: String = part.into_iter().filter_map(|(is_said, line)| is_said.then_some(line)).collect();
        Ok(format!(
            "cql = {cql:?}\nvalues = {values}\n\n[statement.expect]\n{rows}columns = {columns}\n\n[statement.load]\ncql = {load:?}\nvalues = {loaded}\n"
        ))
    }
}

/// Whether bound values are the lower and the upper end of the column's values.
fn sliced(clauses: &[Token], name: &str) -> (bool, bool) {
    let has = |sign: char| {
        let is_it = |token: &[Token]| match token {
            [Token::Word(word), Token::Sign(found), rest @ ..] if word == name && *found == sign => {
                matches!(rest, [Token::Marker(_), ..] | [Token::Sign('='), Token::Marker(_), ..])
            }
            _ => false,
        };
        (0..clauses.len()).any(|at| clauses.get(at..).is_some_and(is_it))
    };
    (has('>'), has('<'))
}

/// Whether the column must equal a bound value.
fn is_compared(clauses: &[Token], name: &str) -> bool {
    let is_it =
        |three: &[Token]| matches!(three, [Token::Word(word), Token::Sign('='), Token::Marker(_)] if word == name);
    clauses.windows(3).any(is_it)
}

/// The text with the table's whole name in the place of its first mention.
fn qualified(text: &str, table: &str) -> Option<String> {
    let spans = cql::spans(text);
    let own = table.rsplit('.').next()?;
    let at = spans.iter().position(|(token, _)| is_word(Some(token), own))?;
    let is_whole = at > 0 && spans.get(at - 1).is_some_and(|(token, _)| *token == Token::Sign('.'));
    let first = if is_whole { at.checked_sub(2)? } else { at };
    let begin = first.checked_sub(1).and_then(|before| spans.get(before)).map_or(0, |(_, end)| *end);
    let (_, end) = spans.get(at)?;
    Some(format!("{} {table}{}", text.get(..begin)?, text.get(*end..)?).trim().to_owned())
}

/// A name as a scenario and its statements have it.
fn word(text: &str) -> String {
    let word: String = text.to_lowercase().chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '-' }).collect();
    word.trim_matches('-').to_owned()
}

/// Reads a user profile of cassandra-stress, in YAML, with the shares of its operations: of `insert` and the queries, each by its name;
/// none for one of each. `origin` names it in messages, `name` in results.
///
/// # Errors
/// When it is no such profile, or nothing of it can be a scenario.
pub fn import(profile: &str, origin: &str, name: &str, shares: &[(String, f64)]) -> Result<Imported, ScenarioError> {
    let failed = |why: String| ScenarioError(format!("the profile {origin} cannot be imported: {why}"));
    let profile: Profile = serde_saphyr::from_str(profile)
        .map_err(|error| failed(format!("it is no user profile of cassandra-stress in YAML: {error}")))?;
    let (keyspace, own) = (profile.keyspace.to_lowercase(), profile.table.to_lowercase());
    let definition = profile.table_definition.as_deref();
    let definition =
        definition.ok_or_else(|| failed("it has no table_definition; add the table's CREATE TABLE".to_owned()))?;
    let table = Table::parse(&keyspace, &own, definition).ok_or_else(|| {
        failed("its table_definition is no CREATE TABLE with a primary key that can be read".to_owned())
    })?;
    let is_quoted = |(token, end): &(Token, usize)| {
        matches!(token, Token::Word(_)) && definition.get(..*end).is_some_and(|text| text.ends_with('"'))
    };
    if cql::spans(definition).iter().any(is_quoted) {
        return Err(failed("its table has a name in quotes; use names without".to_owned()));
    }
    let keys = population(&profile, &table);
    let mut schema = vec![
        format!(
            "CREATE KEYSPACE IF NOT EXISTS {keyspace} WITH replication = {{'class': 'SimpleStrategy', 'replication_factor': 1}}"
        ),
        format!("DROP TABLE IF EXISTS {}", table.name),
    ];
    let mut lost = lost(&profile, &table);
    for definition in &profile.extra_definitions {
        let tokens = cql::tokens(definition);
        match tokens.as_slice() {
            [create, kind, ..] if is_word(Some(create), "create") && is_word(Some(kind), "type") => {
                lost.push("User-defined types are left out; the import does not support them.".to_owned());
            }
            [_, kind @ ..] => {
                let is_kind = |word: &String| ["materialized", "view", "custom", "index"].contains(&word.as_str());
                let what = words(kind).into_iter().filter(is_kind).collect::<Vec<_>>().join(" ");
                lost.push(format!("An extra definition is left out: CREATE {} ...", what.to_uppercase()));
            }
            [] => {}
        }
    }
    let specs = profile.columnspec.into_iter().map(|spec| (spec.name.to_lowercase(), spec)).collect();
    // Columns of types that no scenario imports are not in the table.
    let (kept, others): (Vec<Definition>, Vec<Definition>) =
        table.columns.into_iter().partition(|one| typed(&one.kind, SIZE).is_ok());
    let table = Table { columns: kept, ..table };
    if let Some(key) = table.key().find(|key| others.iter().any(|one| one.name == **key)) {
        return Err(failed(format!("its key {key} is of a type that the import does not support")));
    }
    lost.extend(others.iter().map(|one| {
        format!("The column {} is left out: the import does not support the type {}.", one.name, written(&one.kind))
    }));
    let is_alone = match shares {
        [] => profile.queries.is_empty(),
        some => some.iter().all(|(name, _)| name == "insert"),
    };
    let mut import = Import { is_alone, keys, fewer: None, table, specs, lost };
    let rows = import.rows(&import.table.clustering);
    let batch = import.batch(&profile.insert);
    if batch.is_none() {
        import.lost.extend(inserted_alone(&profile.insert));
    }
    if rows.high > 1 && batch.is_none() {
        let rows = rows.amount();
        import.lose(format!(
            "Every inserted row has a partition of its own; the profile has {} rows in one.",
            rows.trim_matches('"')
        ));
    }
    let is_whole = |scale: &f64| shares.iter().all(|(_, share)| (share * scale).fract() == 0.0);
    let scale = [1.0, 10.0, 100.0].into_iter().find(is_whole).unwrap_or(1_000.0);
    let weight = |(_, share): &(String, f64)| ((share * scale).round() as u32).max(1);
    let share = |name: &str| match shares {
        [] => Some(1),
        some => some.iter().find(|(one, _)| one == name).map(weight),
    };
    if let Some((unknown, _)) = shares.iter().find(|(one, _)| one != "insert" && !profile.queries.contains_key(one)) {
        let queries = profile.queries.keys().map(String::as_str).filter(|name| *name != "insert");
        let known: Vec<&str> = std::iter::once("insert").chain(queries).collect();
        return Err(failed(format!("it has no operation {unknown:?}; name some of {}", known.join(", "))));
    }
    schema.push(import.table.created());
    let lines: String = schema.iter().map(|cql| format!("    {cql:?},\n")).collect();
    let about = format!("From a user profile of cassandra-stress: rows of {keyspace}.{own} are written and read.");
    let head = format!("name = {:?}\nabout = {about:?}\nschema = [\n{lines}]\n", word(name));
    let (mut statements, mut names) = (String::new(), Vec::new());
    let asked = std::iter::once(("insert", None))
        .chain(profile.queries.iter().map(|(name, query)| (name.as_str(), Some(query))));
    for (name, query) in asked {
        let Some(share) = share(name) else { continue };
        if name == "insert" && query.is_some() {
            import.lose("The query insert is left out: cassandra-stress gives that name to its own insert.".to_owned());
            continue;
        }
        let made = match query {
            None => import.insert(&profile.insert),
            Some(query) => import.query(&query.cql),
        };
        let mut own = word(name);
        while names.contains(&own) {
            own.push_str("-2");
        }
        names.push(own.clone());
        // A row can be inserted IF NOT EXISTS once.
        let is_once = query.is_none() && profile.insert.condition.is_some();
        let fewer = import.fewer.take().map(|fewer| (fewer, keys.map_or("uniform", |(_, way)| way)));
        let keys = fewer.or(keys).filter(|_| !is_once);
        let keys = keys.map_or(String::new(), |(keys, way)| format!("keys = {keys}\norder = \"{way}\"\n"));
        let text = made.map(|text| format!("\n[[statement]]\nname = {own:?}\nweight = {share}\n{keys}{text}"));
        // What cannot be run with others can often be told of one statement.
        let checked = text.and_then(|text| match Scenario::from_toml(&format!("{head}{text}"), name) {
            Ok(_) => Ok(text),
            Err(error) => Err(error.to_string().lines().next().unwrap_or_default().to_owned()),
        });
        match checked {
            Ok(text) => statements += &text,
            Err(why) => import.lose(format!("The operation {name} is left out: {why}.")),
        }
        if query.and_then(|query| query.fields.as_deref()).is_some_and(|fields| fields.eq_ignore_ascii_case("multirow"))
        {
            import.lose(format!("The values of {name} are those of one row, not of several (fields: multirow)."));
        }
    }
    let mut lost: Vec<String> = Vec::new();
    for sentence in &import.lost {
        // A line break of the profile would end the comment.
        let sentence = sentence.split_whitespace().collect::<Vec<_>>().join(" ");
        if !lost.contains(&sentence) {
            lost.push(sentence);
        }
    }
    if statements.is_empty() {
        return Err(failed(format!("nothing of it can be a scenario. {}", lost.join(" "))));
    }
    let comments: String = lost.iter().map(|sentence| format!("# {sentence}\n")).collect();
    let toml = format!("# Differs from the profile:\n{comments}\n{head}{statements}");
    Scenario::from_toml(&toml, name).map_err(|error| failed(error.to_string()))?;
    Ok(Imported { toml, lost })
}

/// The keys of the statements, if all that the profile has can be loaded.
fn population(profile: &Profile, table: &Table) -> Option<(u64, &'static str)> {
    let [key] = table.partition.as_slice() else { return None };
    let spec = profile.columnspec.iter().find(|spec| spec.name.eq_ignore_ascii_case(key))?;
    let spread = Spread::parse(spec.population.as_deref()?)?;
    let (keys, way) = ((spread.high - spread.low).checked_add(1)?, spread.way.filter(|_| spread.is_exact)?);
    (keys <= MOST_KEYS).then_some((keys, way))
}

/// A sentence about rows that are inserted one by one, if the profile may have several at once.
fn inserted_alone(insert: &Insert) -> Option<String> {
    let Insert { partitions, select, batchtype, .. } = insert;
    let at_once = [("partitions", partitions), ("select", select), ("batchtype", batchtype)];
    let is_plain =
        |text: &str| ["fixed(1)", "fixed(1)/1"].contains(&text.trim()) || text.eq_ignore_ascii_case("unlogged");
    let said =
        at_once.into_iter().filter_map(|(what, text)| Some((what, text.as_deref().filter(|text| !is_plain(text))?)));
    let said: Vec<String> = said.map(|(what, text)| format!("{what}: {text}")).collect();
    (!said.is_empty()).then(|| format!("A row is inserted by itself, not in a batch ({}).", said.join(", ")))
}

/// What no statement has of the profile.
fn lost(profile: &Profile, table: &Table) -> Vec<String> {
    let mut lost = Vec::new();
    if profile.keyspace_definition.as_ref().is_some_and(|cql| cql.contains("replication")) {
        lost.push("The keyspace has one replica; --target ADDRESS,replication=N asks for others.".to_owned());
    }
    if profile.table_definition.as_ref().is_some_and(|cql| after_word(&cql::tokens(cql), "with").is_some()) {
        lost.push("Of the options of the table (WITH ...) there is only the clustering order.".to_owned());
    }
    if let Some(visits) = profile.insert.visits.as_deref().filter(|text| text.trim() != "fixed(1)") {
        lost.push(format!("A partition is inserted by one statement (visits: {visits})."));
    }
    let kept = population(profile, table);
    let populations = profile.columnspec.iter().filter_map(|spec| Some((&spec.name, spec.population.as_ref()?)));
    let is_lost = |name: &str| kept.is_none() || !table.partition.iter().any(|key| key.eq_ignore_ascii_case(name));
    let populations = populations.filter(|(name, _)| is_lost(name)).map(|(name, text)| format!("{name}: {text}"));
    let populations = populations.collect::<Vec<_>>().join(", ");
    match kept.is_some() {
        _ if populations.is_empty() => {}
        true => lost.push(format!("All values follow from the key ({populations}).")),
        false => {
            lost.push(format!("Every execution has a key of its own, and all values follow from it ({populations})."))
        }
    }
    for name in profile.token_range_queries.keys() {
        lost.push(format!("The scan by token range {name} is left out."));
    }
    for name in profile.insert.other.keys() {
        lost.push(format!("The entry {name} of insert is left out."));
    }
    for spec in &profile.columnspec {
        let others =
            spec.other.keys().map(|entry| format!("The entry {entry} of the column {} is left out.", spec.name));
        lost.extend(others);
    }
    for name in profile.other.keys().filter(|name| *name != "specname") {
        lost.push(format!("The entry {name} of the profile is left out."));
    }
    if table.columns.iter().any(|one| one.is_static) {
        lost.push("Static columns are neither written nor read.".to_owned());
    }
    lost
}

#[cfg(test)]
mod tests;
