//! User profiles of cassandra-stress, turned into scenarios.

mod insert;
mod profile;
mod query;
mod spread;
mod table;

use std::collections::BTreeMap;

use self::profile::{Profile, Spec, inserted_alone};
use self::spread::{ONE, SIZE, Spread};
use self::table::{Definition, Table, typed, written};
use crate::cql::{self, Token, is_word};
use crate::{MAX_ROWS, Scenario, ScenarioError};

/// A profile as a scenario.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Imported {
    /// In TOML, with what was lost in comments.
    pub toml: String,
    /// What the scenario lacks or has otherwise than the profile, each a full sentence.
    pub lost: Vec<String>,
}

/// Random texts of a primary key have room for so many letters that no two of a run are equal.
const KEY_SIZE: u64 = 8;

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

    /// The counters of the table; it then has no other columns but its key.
    fn counters(&self) -> Vec<String> {
        self.all().into_iter().filter(|name| self.counts(name)).collect()
    }
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
    let keys = profile.population(&table);
    let mut schema = vec![
        format!(
            "CREATE KEYSPACE IF NOT EXISTS {keyspace} WITH replication = {{'class': 'SimpleStrategy', 'replication_factor': 1}}"
        ),
        format!("DROP TABLE IF EXISTS {}", table.name),
    ];
    let mut lost = profile.lost(&table);
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

#[cfg(test)]
mod tests;
