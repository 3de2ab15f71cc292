//! The table of a profile, from its CREATE TABLE, and what values its columns have.

use cqldyno_driver_api::Scalar;

use super::spread::{SIZE, Spread};
use crate::cql::{self, Token, after, after_word, is_word, items, list, words};

/// A collection has so many elements at most.
const MOST_ELEMENTS: u64 = 65_535;

/// A column of the table and the tokens of its type.
pub(super) struct Definition {
    pub(super) name: String,
    pub(super) kind: Vec<Token>,
    pub(super) is_static: bool,
}

/// The table of a profile.
pub(super) struct Table {
    /// With its keyspace.
    pub(super) name: String,
    pub(super) columns: Vec<Definition>,
    pub(super) partition: Vec<String>,
    pub(super) clustering: Vec<String>,
    /// The clustering columns whose greatest value comes first.
    pub(super) descending: Vec<String>,
}

impl Table {
    pub(super) fn parse(keyspace: &str, name: &str, definition: &str) -> Option<Table> {
        let tokens = cql::tokens(definition);
        let rest = after(&tokens, &["create", "table"])?;
        let (_, rest) = cql::table(after(rest, &["if", "not", "exists"]).unwrap_or(rest))?;
        let (definitions, options) = list(rest)?;
        let mut table = Table {
            name: format!("{keyspace}.{name}"),
            columns: Vec::new(),
            partition: Vec::new(),
            clustering: Vec::new(),
            descending: Vec::new(),
        };
        let ordered =
            after_word(options, "order").and_then(|rest| list(after(rest, &["by"])?)).map(|(columns, _)| columns);
        for column in ordered.unwrap_or_default() {
            if let [Token::Word(name), Token::Word(way)] = column
                && way == "desc"
            {
                table.descending.push(name.clone());
            }
        }
        for definition in definitions {
            if let Some(key) = after(definition, &["primary", "key"]) {
                let (parts, _) = list(key)?;
                let (first, others) = parts.split_first()?;
                table.partition = words(first);
                table.clustering = others.iter().flat_map(|part| words(part)).collect();
            } else if let [Token::Word(name), kind @ ..] = definition {
                let ends = |token: &Token| ["static", "primary"].iter().any(|word| is_word(Some(token), word));
                let end = kind.iter().position(ends).unwrap_or(kind.len());
                if is_word(kind.get(end), "primary") {
                    table.partition = vec![name.clone()];
                }
                table.columns.push(Definition {
                    name: name.clone(),
                    kind: kind.iter().take(end).cloned().collect(),
                    is_static: is_word(kind.get(end), "static"),
                });
            }
        }
        Some(table).filter(|table| !table.columns.is_empty() && !table.partition.is_empty())
    }

    pub(super) fn key(&self) -> impl Iterator<Item = &String> {
        self.partition.iter().chain(&self.clustering)
    }

    pub(super) fn column(&self, name: &str) -> Option<&Definition> {
        self.columns.iter().find(|column| column.name == name)
    }

    /// The types as they are written, in CREATE TABLE.
    pub(super) fn created(&self) -> String {
        let column = |one: &Definition| {
            format!("{} {}{}", one.name, written(&one.kind), if one.is_static { " static" } else { "" })
        };
        let columns: Vec<String> = self.columns.iter().map(column).collect();
        let clustering: String = self.clustering.iter().map(|name| format!(", {name}")).collect();
        let way = |name: &String| format!("{name} {}", if self.descending.contains(name) { "DESC" } else { "ASC" });
        let ways: Vec<String> = self.clustering.iter().map(way).collect();
        let order = match self.descending.is_empty() {
            true => String::new(),
            false => format!(" WITH CLUSTERING ORDER BY ({})", ways.join(", ")),
        };
        format!(
            "CREATE TABLE {} ({}, PRIMARY KEY (({}){clustering})){order}",
            self.name,
            columns.join(", "),
            self.partition.join(", ")
        )
    }
}

pub(super) fn written(tokens: &[Token]) -> String {
    let text = |token: &Token| match token {
        Token::Word(word) => word.clone(),
        Token::Sign(',') => ", ".to_owned(),
        Token::Sign(sign) => sign.to_string(),
        Token::Marker(_) => "?".to_owned(),
        Token::Literal => String::new(),
    };
    tokens.iter().map(text).collect()
}

/// The fields of a column of that type. Texts, blobs and collections have `length`, and elements of collections the usual one.
///
/// # Errors
/// The type, if no column has it.
pub(super) fn typed(kind: &[Token], length: Spread) -> Result<String, String> {
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
        (_, None) if Scalar::ALL.iter().any(|one| one.name() == word) => Ok(format!("type = \"{word}\"")),
        _ => Err(written(kind)),
    }
}

/// Whether values of that type rise with the place of a row.
pub(super) fn rises(kind: &[Token]) -> bool {
    let rising = ["bigint", "int", "varint", "double", "float", "timestamp", "date", "decimal", "timeuuid"];
    matches!(kind, [Token::Word(word)] if rising.contains(&word.as_str()))
}
