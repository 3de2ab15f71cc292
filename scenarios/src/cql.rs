//! Just enough CQL to tell which table and columns a text is about.

use std::fmt;
use std::iter::Peekable;
use std::str::Chars;

/// A word, quoted or not, a bind marker, named or not, another literal, or a sign.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Token {
    Word(String),
    /// With its name if it has one, in lower case unless quoted.
    Marker(Option<String>),
    Literal,
    Sign(char),
}

/// Words that end what belongs to a column.
const CLAUSES: [&str; 9] = ["and", "where", "set", "using", "limit", "per", "order", "group", "if"];

pub(crate) fn tokens(cql: &str) -> Vec<Token> {
    spans(cql).into_iter().map(|(token, _)| token).collect()
}

/// The tokens, each with where in the text it ends.
pub(crate) fn spans(cql: &str) -> Vec<(Token, usize)> {
    let (mut spans, mut tokens) = (Vec::new(), Vec::new());
    let mut rest = cql.chars().peekable();
    while let Some(c) = rest.next() {
        match c {
            '\'' => {
                quoted(&mut rest, '\'');
                tokens.push(Token::Literal);
            }
            '"' => tokens.push(Token::Word(quoted(&mut rest, '"'))),
            '-' | '/' if rest.peek() == Some(&c) => while rest.next().is_some_and(|c| c != '\n') {},
            '/' if rest.next_if_eq(&'*').is_some() => {
                while rest.next().is_some_and(|c| c != '*' || rest.next_if_eq(&'/').is_none()) {}
            }
            '?' => tokens.push(Token::Marker(None)),
            ':' if rest.peek().is_some_and(begins_name) && !is_after_key(&spans) => {
                let name = match rest.next_if_eq(&'"') {
                    Some(quote) => quoted(&mut rest, quote),
                    None => word(&mut rest),
                };
                tokens.push(Token::Marker(Some(name)));
            }
            c if is_in_word(c) => {
                tokens.push(Token::Word(c.to_lowercase().to_string() + &word(&mut rest)));
            }
            c if c.is_whitespace() => {}
            c => tokens.push(Token::Sign(c)),
        }
        let end = cql.len() - rest.clone().map(char::len_utf8).sum::<usize>();
        spans.extend(tokens.pop().map(|token| (token, end)));
    }
    spans
}

/// What is left of a word, in lower case.
fn word(rest: &mut Peekable<Chars<'_>>) -> String {
    std::iter::from_fn(|| rest.next_if(|c| is_in_word(*c))).flat_map(char::to_lowercase).collect()
}

fn is_in_word(c: char) -> bool {
    c.is_alphanumeric() || c == '_'
}

fn begins_name(c: &char) -> bool {
    c.is_alphabetic() || *c == '"'
}

/// Whether these tokens end with a key of a map or a field of a user-defined type, so that a colon belongs to it.
fn is_after_key(spans: &[(Token, usize)]) -> bool {
    let signs = |sign| spans.iter().filter(|(token, _)| *token == Token::Sign(sign)).count();
    // A key is a word, a literal or a marker, or ends with a bracket; a marker's colon comes after any other sign.
    let is_sign = matches!(spans.last(), Some((Token::Sign(sign), _)) if !matches!(sign, ')' | ']' | '}' | '?'));
    signs('{') > signs('}') && !is_sign
}

pub(crate) fn keyspace_created_by(cql: &str) -> Option<String> {
    let tokens = tokens(cql);
    let rest = after(&tokens, &["create", "keyspace"])?;
    words(after(rest, &["if", "not", "exists"]).unwrap_or(rest).get(..1)?).pop()
}

/// The text of a CREATE KEYSPACE with this condition, or none, in the place of its own; `None` for other statements.
pub(crate) fn created_if(cql: &str, condition: &str) -> Option<String> {
    keyspace_created_by(cql)?;
    let spans = spans(cql);
    let is_conditional =
        ["if", "not", "exists"].iter().zip(2..).all(|(word, at)| is_word(spans.get(at).map(|one| &one.0), word));
    let (from, to) = (spans.get(1)?.1, spans.get(if is_conditional { 4 } else { 1 })?.1);
    Some(format!("{}{condition}{}", cql.get(..from)?, cql.get(to..)?))
}

/// The text of a CREATE KEYSPACE with this map in the place of its replication; `None` if it has none.
pub(crate) fn with_replication(cql: &str, map: &str) -> Option<String> {
    let spans = spans(cql);
    let at = (0..spans.len()).find(|at| is_word(spans.get(*at).map(|one| &one.0), "replication"))?;
    let rest = spans.get(at + 1..)?;
    let [(Token::Sign('='), from), (Token::Sign('{'), _), ..] = rest else { return None };
    let to = rest.iter().find_map(|(token, end)| (*token == Token::Sign('}')).then_some(*end))?;
    Some(format!("{} {map}{}", cql.get(..*from)?, cql.get(to..)?))
}

const LONGEST_NAME: usize = 48;

/// The text with names of our own in the place of these keyspaces: each begins with `cqldyno` and ends with `suffix`. `None` if it names
/// none of them, or what may be another one, or if a name would be too long.
pub(crate) fn with_own_names(cql: &str, keyspaces: &[String], suffix: &str) -> Option<String> {
    let spans = spans(cql);
    let of_keyspace = is_word(spans.get(1).map(|(token, _)| token), "keyspace");
    let (mut text, mut named) = (cql.to_owned(), 0);
    for (at, (token, end)) in spans.iter().enumerate().rev() {
        let Token::Word(name) = token else { continue };
        let has_table = spans.get(at + 1).is_some_and(|(next, _)| *next == Token::Sign('.'));
        let is_number = name.starts_with(|c: char| c.is_ascii_digit());
        if keyspaces.contains(name) && (has_table || of_keyspace) {
            let prefix = if name.starts_with("cqldyno") { "" } else { "cqldyno_" };
            let is_plain = name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
            let to = end - usize::from(cql.get(end - 1..*end) == Some("\""));
            // What is plain in lower case may not be so as it is written.
            let is_written = || cql.get(to - name.len()..to).is_some_and(|written| written.eq_ignore_ascii_case(name));
            if !is_plain || prefix.len() + name.len() + suffix.len() > LONGEST_NAME || !is_written() {
                return None;
            }
            text.insert_str(to, suffix);
            text.insert_str(to - name.len(), prefix);
            named += 1;
        } else if has_table && !is_number {
            return None;
        }
    }
    (named > 0).then_some(text)
}

/// The text up to the closing quote; a doubled quote stands for one.
fn quoted(rest: &mut Peekable<Chars<'_>>, quote: char) -> String {
    let mut text = String::new();
    while let Some(c) = rest.next() {
        if c == quote && rest.next_if_eq(&quote).is_none() {
            break;
        }
        text.push(c);
    }
    text
}

pub(crate) fn is_word(token: Option<&Token>, word: &str) -> bool {
    matches!(token, Some(Token::Word(found)) if found == word)
}

pub(crate) fn words(tokens: &[Token]) -> Vec<String> {
    let word = |token: &Token| if let Token::Word(word) = token { Some(word.clone()) } else { None };
    tokens.iter().filter_map(word).collect()
}

/// What follows these words.
pub(crate) fn after<'a>(tokens: &'a [Token], words: &[&str]) -> Option<&'a [Token]> {
    let begins = words.iter().enumerate().all(|(at, word)| is_word(tokens.get(at), word));
    tokens.get(words.len()..).filter(|_| begins)
}

/// What follows the first such word.
pub(crate) fn after_word<'a>(tokens: &'a [Token], word: &str) -> Option<&'a [Token]> {
    let at = (0..tokens.len()).find(|at| is_word(tokens.get(*at), word))?;
    tokens.get(at + 1..)
}

/// Whether the text has a LIMIT, perhaps of a partition.
pub(crate) fn has_limit(text: &str) -> bool {
    after_word(&tokens(text), "limit").is_some()
}

/// The number behind LIMIT.
pub(crate) fn limit(text: &str) -> Option<u64> {
    let tokens = tokens(text);
    let at = (1..tokens.len()).find(|at| is_word(tokens.get(at - 1), "limit"))?;
    let is_of_partition = at > 1 && is_word(tokens.get(at - 2), "partition");
    match tokens.get(at)? {
        Token::Word(number) if !is_of_partition => number.parse().ok(),
        _ => None,
    }
}

/// A table's name, with its keyspace if there is one, and what follows.
pub(crate) fn table(tokens: &[Token]) -> Option<(String, &[Token])> {
    match tokens {
        [Token::Word(keyspace), Token::Sign('.'), Token::Word(name), rest @ ..] => {
            Some((format!("{keyspace}.{name}"), rest))
        }
        [Token::Word(name), rest @ ..] => Some((name.clone(), rest)),
        _ => None,
    }
}

/// The items of a list: what stands between commas outside of brackets, up to the bracket that closes the list.
pub(crate) fn items(tokens: &[Token]) -> (Vec<&[Token]>, &[Token]) {
    let (mut items, mut depth, mut start) = (Vec::new(), 0, 0);
    for (at, token) in tokens.iter().enumerate() {
        match token {
            Token::Sign('(' | '<' | '[' | '{') => depth += 1,
            Token::Sign(')') if depth == 0 => {
                items.extend(tokens.get(start..at));
                return (items, tokens.get(at + 1..).unwrap_or_default());
            }
            Token::Sign(')' | '>' | ']' | '}') => depth -= 1,
            Token::Sign(',') if depth == 0 => {
                items.extend(tokens.get(start..at));
                start = at + 1;
            }
            _ => {}
        }
    }
    items.extend(tokens.get(start..));
    (items, &[])
}

/// The items of the list in brackets that comes first, and what follows.
pub(crate) fn list(tokens: &[Token]) -> Option<(Vec<&[Token]>, &[Token])> {
    match tokens {
        [Token::Sign('('), rest @ ..] => Some(items(rest)),
        _ => None,
    }
}

/// The bind markers outside of quotes and comments, each with its name if it has one.
pub(crate) fn bind_markers(cql: &str) -> Vec<Option<String>> {
    let name = |token| if let Token::Marker(name) = token { Some(name) } else { None };
    tokens(cql).into_iter().filter_map(name).collect()
}

pub(crate) fn begins_with(cql: &str, words: &[&str]) -> bool {
    let tokens = tokens(cql);
    words.iter().any(|word| is_word(tokens.first(), word))
}

/// Whether this is an INSERT, an UPDATE, a DELETE, or a batch of these in one text.
pub(crate) fn writes(cql: &str) -> bool {
    begins_with(cql, &["insert", "update", "delete", "begin"])
}

/// Whether this is a lightweight transaction: a write with IF, whose answer says whether it was applied.
pub(crate) fn is_conditional(cql: &str) -> bool {
    writes(cql) && after_word(&tokens(cql), "if").is_some()
}

pub(crate) fn has_in(cql: &str) -> bool {
    after_word(&tokens(cql), "in").is_some()
}

/// A table and the columns of its primary key, in their order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Table {
    pub(crate) name: String,
    pub(crate) key: Vec<String>,
    /// How many of these are the partition key's.
    pub(crate) partition: usize,
}

impl fmt::Display for Table {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "({}) of {}", self.key.join(", "), self.name)
    }
}

impl Table {
    pub(crate) fn created_by(cql: &str) -> Option<Table> {
        let tokens = tokens(cql);
        let rest = after(&tokens, &["create", "table"])?;
        let (name, rest) = table(after(rest, &["if", "not", "exists"]).unwrap_or(rest))?;
        let key = list(rest)?.0.into_iter().find_map(|definition| match after(definition, &["primary", "key"]) {
            Some(columns) => Some(words(columns)),
            None => (after_word(definition, "primary").is_some_and(|rest| is_word(rest.first(), "key")))
                .then(|| words(definition.get(..1).unwrap_or_default())),
        });
        let key = key.filter(|key| !key.is_empty())?;
        let definitions = list(rest)?.0;
        let parts = definitions.into_iter().find_map(|definition| list(after(definition, &["primary", "key"])?));
        let partition = match parts.as_ref().and_then(|(parts, _)| parts.first()) {
            Some(first @ [Token::Sign('('), ..]) => words(first).len(),
            _ => 1,
        };
        Some(Table { name, key, partition })
    }
}

/// What a statement does to which columns of its table.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Uses {
    pub(crate) table: String,
    /// Whether it makes rows.
    pub(crate) writes: bool,
    /// The column of each bind marker; `None` for a marker of something else.
    pub(crate) bound: Vec<Option<String>>,
    /// The column of each column of the result, in the same way; for `*` only those of the primary key.
    pub(crate) selected: Vec<Option<String>>,
}

impl Uses {
    /// What `cql` does to a table of `tables`; `None` where that cannot be read.
    pub(crate) fn of(cql: &str, tables: &[Table]) -> Option<Uses> {
        let tokens = tokens(cql);
        let rest = tokens.get(1..).unwrap_or_default();
        if let Some(rest) = after(&tokens, &["insert", "into"]) {
            let (table, rest) = table(rest)?;
            let (columns, rest) = list(rest)?;
            let (values, rest) = list(after(rest, &["values"])?)?;
            let mut bound = Vec::new();
            for (column, value) in columns.into_iter().zip(values) {
                bound.extend(value.iter().filter(|token| matches!(token, Token::Marker(_))).map(|_| named(column)));
            }
            bound.extend(markers(rest));
            return Some(Uses { table, writes: true, bound, selected: Vec::new() });
        }
        if is_word(tokens.first(), "update") {
            let (table, rest) = table(rest)?;
            return Some(Uses { table, writes: true, bound: markers(rest), selected: Vec::new() });
        }
        let from = after_word(&tokens, "from")?;
        let (table, rest) = table(from)?;
        if !is_word(tokens.first(), "select") {
            return Some(Uses { table, bound: markers(rest), ..Uses::default() });
        }
        let all = tokens.get(1..tokens.len() - from.len() - 1).unwrap_or_default();
        let selected = match after(all, &["distinct"]).unwrap_or(all) {
            [Token::Sign('*')] => {
                let key = tables.iter().find(|one| one.name == table).map(|one| one.key.clone());
                key.unwrap_or_default().into_iter().map(Some).collect()
            }
            columns => items(columns).0.into_iter().map(named).collect(),
        };
        Some(Uses { table, writes: false, bound: markers(rest), selected })
    }
}

/// The column that an item of a list is, where it is nothing but a column, with another name or without.
fn named(item: &[Token]) -> Option<String> {
    match item {
        [Token::Word(column)] => Some(column.clone()),
        [Token::Word(column), alias, _] if is_word(Some(alias), "as") => Some(column.clone()),
        _ => None,
    }
}

/// What a relation or an assignment gives values to.
enum Left {
    Nothing,
    Column(String),
    /// Of `(a, b) = (?, ?)` and `token(a, b) > token(?, ?)`.
    Columns(Vec<String>),
}

/// The column of each bind marker in clauses such as `SET a = ?` and `WHERE a IN (?, ?) AND (b, c) > (?, ?)`.
fn markers(tokens: &[Token]) -> Vec<Option<String>> {
    let (mut bound, mut left, mut depth, mut place) = (Vec::new(), Left::Nothing, 0, 0);
    let mut rest = tokens;
    while let [token, next @ ..] = rest {
        rest = next;
        match token {
            Token::Marker(_) => bound.push(match &left {
                Left::Column(column) => Some(column.clone()),
                Left::Columns(columns) if depth > 0 => columns.get(place).cloned(),
                Left::Columns(_) | Left::Nothing => None,
            }),
            Token::Word(word) if is_compared(next) => left = Left::Column(word.clone()),
            Token::Word(word) if CLAUSES.contains(&word.as_str()) => left = Left::Nothing,
            Token::Sign('(') => match columns(next) {
                Some((columns, behind)) => (left, rest) = (Left::Columns(columns), behind),
                None => (depth, place) = (depth + 1, 0),
            },
            Token::Sign(')') => depth -= 1,
            Token::Sign(',') if depth == 0 => left = Left::Nothing,
            Token::Sign(',') => place += 1,
            _ => {}
        }
    }
    bound
}

fn is_compared(next: &[Token]) -> bool {
    matches!(next.first(), Some(Token::Sign('=' | '<' | '>'))) || is_word(next.first(), "in")
}

/// The columns of an open list of nothing but columns that is compared with something, and what follows the list.
fn columns(tokens: &[Token]) -> Option<(Vec<String>, &[Token])> {
    let close = tokens.iter().position(|token| *token == Token::Sign(')'))?;
    let behind = tokens.get(close + 1..).filter(|next| is_compared(next))?;
    let columns = items(tokens.get(..close)?).0.into_iter().map(named).collect::<Option<_>>()?;
    Some((columns, behind))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(cql: &str) -> Option<(String, String)> {
        Table::created_by(cql).map(|table| (table.name, table.key.join(" ")))
    }

    #[test]
    fn the_primary_key_of_a_table_is_found_in_every_form() {
        let found = |name: &str, key: &str| Some((name.to_owned(), key.to_owned()));
        assert_eq!(key("CREATE TABLE ks.t (pk bigint PRIMARY KEY, v text)"), found("ks.t", "pk"));
        assert_eq!(
            key(
                "create table if not exists T (a int, m map<text, int>, \"B b\" text, -- a, comment\n PRIMARY KEY ((a, \"B b\"), c)) WITH x = 1"
            ),
            found("t", "a B b c")
        );
        assert_eq!(key("CREATE TABLE ks.t (a int, /* PRIMARY KEY (b), */ PRIMARY KEY (a))"), found("ks.t", "a"));
        assert_eq!(key("DROP TABLE IF EXISTS ks.t"), None);
        assert_eq!(key("CREATE TABLE ks.t (a int)"), None);
        assert_eq!(key("CREATE TABLE"), None);
    }

    fn bound(cql: &str) -> Vec<String> {
        let uses = Uses::of(cql, &[]).unwrap();
        assert_eq!(uses.table, "ks.t", "{cql}");
        uses.bound.into_iter().map(Option::unwrap_or_default).collect()
    }

    #[test]
    fn every_marker_has_its_column() {
        assert_eq!(bound("INSERT INTO ks.t (a, B, c, d) VALUES (?, 'x?', ?, f(?)) USING TTL ?"), ["a", "c", "d", ""]);
        assert_eq!(
            bound("UPDATE ks.t USING TTL ? SET v = ?, m['k'] = ? WHERE a = ? AND b IN (?, ?)"),
            ["", "v", "", "a", "b", "b"]
        );
        assert_eq!(bound("SELECT v FROM ks.t WHERE a = ? AND token(b) > ? AND c >= ? LIMIT ?"), ["a", "", "c", ""]);
        assert_eq!(bound("DELETE v FROM ks.t WHERE a=? AND (b, c) = (?, ?)"), ["a", "b", "c"]);
        assert_eq!(
            bound("SELECT v FROM ks.t WHERE (b, c) IN ((?, 1), (?, ?)) AND (d) >= (?) AND (e, f) = ? LIMIT ?"),
            ["b", "b", "c", "d", "", ""]
        );
        assert_eq!(
            bound("SELECT v FROM ks.t WHERE token(a, b) > token(?, ?) AND token(a, b) <= ? AND c = ?"),
            ["a", "b", "", "c"]
        );
        assert_eq!(Uses::of("INSERT INTO ks.t JSON ?", &[]), None);
        assert_eq!(Uses::of("", &[]), None);
    }

    #[test]
    fn the_columns_of_a_result_are_named_also_where_all_are_asked_for() {
        let table = Table::created_by("CREATE TABLE ks.t (v int, a int, b int, PRIMARY KEY (b, a))").unwrap();
        let selected = |cql: &str| {
            let selected = Uses::of(cql, std::slice::from_ref(&table)).unwrap().selected;
            selected.into_iter().map(Option::unwrap_or_default).collect::<Vec<_>>()
        };
        assert_eq!(selected("SELECT a, v AS w, writetime(v), b FROM ks.t WHERE b = ?"), ["a", "v", "", "b"]);
        assert_eq!(selected("SELECT * FROM ks.t WHERE b = ?"), ["b", "a"]);
    }

    #[test]
    fn a_write_with_a_condition_is_told_from_other_statements() {
        for cql in [
            "INSERT INTO ks.t (a) VALUES (?) IF NOT EXISTS",
            "update ks.t SET v = ? WHERE a = ? if v = ?",
            "BEGIN BATCH INSERT INTO ks.t (a) VALUES (?) IF NOT EXISTS APPLY BATCH",
        ] {
            assert!(is_conditional(cql), "{cql}");
        }
        for cql in ["INSERT INTO ks.t (a) VALUES ('if')", "DROP TABLE IF EXISTS ks.t", "SELECT v FROM ks.t -- if"] {
            assert!(!is_conditional(cql), "{cql}");
        }
        assert_eq!(
            bound("UPDATE ks.t USING TTL ? SET v = ? WHERE a = ? IF v = ? AND w IN (?, ?)"),
            ["", "v", "a", "v", "w", "w"]
        );
    }

    #[test]
    fn markers_are_counted_outside_of_quotes_and_comments() {
        assert_eq!(
            bind_markers("SELECT '?', \"?\" /* ? */ FROM t WHERE a = ? AND b = 'it''s ?' AND c = ? -- ?").len(),
            2
        );
    }

    #[test]
    fn a_named_marker_is_one_and_the_colon_of_a_map_is_none() {
        assert_eq!(bound("INSERT INTO ks.t (a, \"B\") VALUES (:a, :\"B\") USING TTL :ttl"), ["a", "B", ""]);
        assert_eq!(bound("SELECT v FROM ks.t WHERE a = :a AND b IN (:b1, ?) LIMIT :n"), ["a", "b", "b", ""]);
        assert_eq!(bind_markers("UPDATE ks.t SET m = {'x': :x, :k: 5, y: z}, u = {x: 1, y : :y} WHERE a=:a").len(), 4);
        assert_eq!(bind_markers("CREATE KEYSPACE ks WITH replication = {'class': S, rf: 3} AND x = ':y'").len(), 0);
    }

    #[test]
    fn names_of_our_own_go_to_keyspaces_and_to_nothing_of_the_same_name() {
        let with = |cql: &str, own: &str, keyspace: &str| {
            assert_eq!(with_own_names(cql, &[keyspace.to_owned()], "_1").as_deref(), Some(own));
        };
        let schema = "CREATE KEYSPACE IF NOT EXISTS Ks WITH x = {'ks': 1.5} -- ks";
        assert_eq!(keyspace_created_by(schema), Some("ks".to_owned()));
        with(schema, "CREATE KEYSPACE IF NOT EXISTS cqldyno_Ks_1 WITH x = {'ks': 1.5} -- ks", "ks");
        let select = "SELECT ks, 'ks.t' FROM ks.ks WHERE \u{fc} = ? /* ks. */";
        with(select, &select.replace("FROM ks", "FROM cqldyno_ks_1"), "ks");
        with("DROP TABLE IF EXISTS \"Ks\".t", "DROP TABLE IF EXISTS \"cqldyno_Ks_1\".t", "Ks");
        with("DROP TABLE cqldyno.t", "DROP TABLE cqldyno_1.t", "cqldyno");
        assert_eq!(keyspace_created_by("CREATE TABLE ks.t (a int PRIMARY KEY)"), None);
        for (other, keyspace) in [
            ("USE ks", "ks"),
            ("DROP TABLE t", "ks"),
            ("SELECT v FROM others.t", "ks"),
            ("INSERT INTO ks.t (a) VALUES (others.f(?))", "ks"),
            ("DROP TABLE \"K s\".t", "K s"),
            ("CREATE KEYSPACE K\u{212a}s", "kks"),
        ] {
            assert_eq!(with_own_names(other, &[keyspace.to_owned()], "_1"), None, "{other}");
        }
        let is_named = |name: &str| with_own_names(&format!("DROP TABLE {name}.t"), &[name.to_owned()], "_1").is_some();
        assert_eq!([38, 39].map(|length| is_named(&"a".repeat(length))), [true, false]);
    }

    #[test]
    fn a_keyspace_is_made_anew_and_with_other_replicas() {
        let schema =
            "CREATE KEYSPACE IF NOT EXISTS ks WITH replication = {'class': 'A', 'f': 1} AND durable_writes = true";
        let anew = "CREATE KEYSPACE ks WITH replication = {'class': 'A', 'f': 1} AND durable_writes = true";
        for either in [schema, anew] {
            assert_eq!(created_if(either, "").as_deref(), Some(anew));
            assert_eq!(created_if(either, " IF NOT EXISTS").as_deref(), Some(schema));
        }
        assert_eq!(created_if("CREATE TABLE ks.t (a int PRIMARY KEY)", ""), None);
        let replicated = "CREATE KEYSPACE ks WITH replication = {'dc': 3} AND durable_writes = true";
        assert_eq!(with_replication(anew, "{'dc': 3}").as_deref(), Some(replicated));
        assert_eq!(with_replication("CREATE KEYSPACE ks WITH durable_writes = true", "{'dc': 3}"), None);
    }
}
