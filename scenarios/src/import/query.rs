//! The queries of a profile.

use super::Import;
use super::spread::ONE;
use super::table::rises;
use crate::cql::{self, Token, Uses, after, after_word, is_word, items, words};

/// A partition that is read has so many rows at most, and all partitions of a statement together ten times as many, because all are
/// loaded.
const MOST_ROWS: u64 = 10_000;

impl Import {
    /// A statement of the profile, without its name.
    pub(super) fn query(&mut self, text: &str) -> Result<String, String> {
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
        let adds = if after(&tokens, &["delete", "from"]).is_some() { -1 } else { 0 };
        let load = self.load(|_| "")?;
        self.lose(
            "Rows that a statement deletes or changes without a bound value are loaded, and not read afterwards."
                .to_owned(),
        );
        Ok(format!("cql = {own:?}\nvalues = {values}\nadds = {adds}\n{load}"))
    }

    pub(super) fn selected(&self, names: &[String], by: &[String]) -> String {
        let by: Vec<String> = by.iter().map(|name| format!("{name} = ?")).collect();
        format!("SELECT {} FROM {} WHERE {}", names.join(", "), self.table.name, by.join(" AND "))
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
        let by: Vec<String> = bound.iter().filter(|name| is_compared(clauses, name)).cloned().collect();
        let partition = self.table.partition.len();
        let named = self.table.key().take(by.len()).filter(|key| by.contains(key)).count();
        if by.len() < partition || named < by.len() {
            return Err("it does not name a partition by its key, so it needs an index or filters".to_owned());
        }
        let further: Vec<String> = self.table.clustering.iter().skip(by.len() - partition).cloned().collect();
        let asked = after_word(clauses, "limit").and_then(|rest| words(rest.get(..1)?).pop()?.parse::<u64>().ok());
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
        let load = self.load(of_key)?;
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
        Ok(format!("cql = {cql:?}\nvalues = {values}\n\n[statement.expect]\n{rows}columns = {columns}\n{load}"))
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
