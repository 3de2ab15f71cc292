//! What a user profile of cassandra-stress says, and what of it no statement has.

use std::collections::BTreeMap;

use serde::Deserialize;
use serde::de::IgnoredAny;

use super::spread::Spread;
use super::table::Table;
use crate::cql::{self, after_word, is_word, words};

/// With more keys than these each execution has one of its own, because all that are read must be loaded.
const MOST_KEYS: u64 = 100_000;

#[derive(Deserialize)]
pub(super) struct Profile {
    pub(super) keyspace: String,
    pub(super) keyspace_definition: Option<String>,
    pub(super) table: String,
    pub(super) table_definition: Option<String>,
    #[serde(default)]
    pub(super) extra_definitions: Vec<String>,
    #[serde(default)]
    pub(super) columnspec: Vec<Spec>,
    #[serde(default)]
    pub(super) insert: Insert,
    #[serde(default)]
    pub(super) queries: BTreeMap<String, Query>,
    #[serde(default)]
    pub(super) token_range_queries: BTreeMap<String, IgnoredAny>,
    #[serde(flatten)]
    pub(super) other: BTreeMap<String, IgnoredAny>,
}

/// What the profile says of a column, as distributions.
#[derive(Default, Deserialize)]
pub(super) struct Spec {
    pub(super) name: String,
    pub(super) size: Option<String>,
    pub(super) population: Option<String>,
    pub(super) cluster: Option<String>,
    #[serde(flatten)]
    pub(super) other: BTreeMap<String, IgnoredAny>,
}

#[derive(Default, Deserialize)]
pub(super) struct Insert {
    pub(super) partitions: Option<String>,
    pub(super) select: Option<String>,
    pub(super) visits: Option<String>,
    pub(super) batchtype: Option<String>,
    pub(super) condition: Option<String>,
    #[serde(flatten)]
    pub(super) other: BTreeMap<String, IgnoredAny>,
}

#[derive(Deserialize)]
pub(super) struct Query {
    pub(super) cql: String,
    pub(super) fields: Option<String>,
}

impl Profile {
    /// The keys of the statements, if all that the profile has can be loaded.
    pub(super) fn population(&self, table: &Table) -> Option<(u64, &'static str)> {
        let [key] = table.partition.as_slice() else { return None };
        let spec = self.columnspec.iter().find(|spec| spec.name.eq_ignore_ascii_case(key))?;
        let spread = Spread::parse(spec.population.as_deref()?)?;
        let (keys, way) = ((spread.high - spread.low).checked_add(1)?, spread.way.filter(|_| spread.is_exact)?);
        (keys <= MOST_KEYS).then_some((keys, way))
    }

    /// What no statement has of the profile.
    pub(super) fn lost(&self, table: &Table) -> Vec<String> {
        let mut lost = Vec::new();
        if self.keyspace_definition.as_ref().is_some_and(|cql| cql.contains("replication")) {
            lost.push("The keyspace has one replica; --target ADDRESS,replication=N asks for others.".to_owned());
        }
        if self.table_definition.as_ref().is_some_and(|cql| after_word(&cql::tokens(cql), "with").is_some()) {
            lost.push("Of the options of the table (WITH ...) there is only the clustering order.".to_owned());
        }
        if let Some(visits) = self.insert.visits.as_deref().filter(|text| text.trim() != "fixed(1)") {
            lost.push(format!("A partition is inserted by one statement (visits: {visits})."));
        }
        let kept = self.population(table);
        let populations = self.columnspec.iter().filter_map(|spec| Some((&spec.name, spec.population.as_ref()?)));
        let is_lost = |name: &str| kept.is_none() || !table.partition.iter().any(|key| key.eq_ignore_ascii_case(name));
        let populations = populations.filter(|(name, _)| is_lost(name)).map(|(name, text)| format!("{name}: {text}"));
        let populations = populations.collect::<Vec<_>>().join(", ");
        match kept.is_some() {
            _ if populations.is_empty() => {}
            true => lost.push(format!("All values follow from the key ({populations}).")),
            false => lost
                .push(format!("Every execution has a key of its own, and all values follow from it ({populations}).")),
        }
        for name in self.token_range_queries.keys() {
            lost.push(format!("The scan by token range {name} is left out."));
        }
        for name in self.insert.other.keys() {
            lost.push(format!("The entry {name} of insert is left out."));
        }
        for spec in &self.columnspec {
            let others =
                spec.other.keys().map(|entry| format!("The entry {entry} of the column {} is left out.", spec.name));
            lost.extend(others);
        }
        for name in self.other.keys().filter(|name| *name != "specname") {
            lost.push(format!("The entry {name} of the profile is left out."));
        }
        if table.columns.iter().any(|one| one.is_static) {
            lost.push("Static columns are neither written nor read.".to_owned());
        }
        for definition in &self.extra_definitions {
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
        lost
    }
}

/// A sentence about rows that are inserted one by one, if the profile may have several at once.
pub(super) fn inserted_alone(insert: &Insert) -> Option<String> {
    let Insert { partitions, select, batchtype, .. } = insert;
    let at_once = [("partitions", partitions), ("select", select), ("batchtype", batchtype)];
    let is_plain =
        |text: &str| ["fixed(1)", "fixed(1)/1"].contains(&text.trim()) || text.eq_ignore_ascii_case("unlogged");
    let said =
        at_once.into_iter().filter_map(|(what, text)| Some((what, text.as_deref().filter(|text| !is_plain(text))?)));
    let said: Vec<String> = said.map(|(what, text)| format!("{what}: {text}")).collect();
    (!said.is_empty()).then(|| format!("A row is inserted by itself, not in a batch ({}).", said.join(", ")))
}
