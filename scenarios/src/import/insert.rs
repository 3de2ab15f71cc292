//! The statement that inserts what a profile says, and how rows come into the table before others read them.

use super::Import;
use super::profile::Insert;
use super::spread::{ONE, Spread};
use crate::MAX_BATCH;

/// The rows that an insert of the profile writes together.
pub(super) struct Batch {
    rows: Spread,
    is_logged: bool,
    /// Whether they are of one partition.
    is_together: bool,
}

impl Import {
    /// The rows that are inserted together, if these are several.
    pub(super) fn batch(&self, insert: &Insert) -> Option<Batch> {
        let partitions = insert.partitions.as_deref().and_then(Spread::parse).unwrap_or(ONE);
        let all = self.rows(&self.table.clustering);
        let each = insert.select.as_deref().and_then(|ratio| all.part(ratio)).unwrap_or(all);
        // Rows of several partitions have the numbers of keys that others read.
        let rows = if self.is_alone { partitions.times(each) } else { each }.within(1, MAX_BATCH as u64);
        let is_logged = insert.batchtype.as_deref().is_none_or(|kind| kind.trim().eq_ignore_ascii_case("logged"));
        let is_batch = rows.high > 1 && self.counters().is_empty() && insert.condition.is_none();
        is_batch.then_some(Batch { rows, is_logged, is_together: partitions.high == 1 || !self.is_alone })
    }

    /// The statement that makes a row, and the columns that it binds: an INSERT, or an UPDATE that adds to counters.
    fn made(&self) -> (String, Vec<String>) {
        let (table, counters) = (&self.table.name, self.counters());
        if counters.is_empty() {
            let all = self.all();
            let markers = vec!["?"; all.len()].join(", ");
            return (format!("INSERT INTO {table} ({}) VALUES ({markers})", all.join(", ")), all);
        }
        let set: Vec<String> = counters.iter().map(|name| format!("{name} = {name} + ?")).collect();
        let by: Vec<String> = self.table.key().map(|name| format!("{name} = ?")).collect();
        let bound = counters.into_iter().chain(self.table.key().cloned()).collect();
        (format!("UPDATE {table} SET {} WHERE {}", set.join(", "), by.join(" AND ")), bound)
    }

    /// How the rows come into the table that a statement reads, changes or deletes.
    pub(super) fn load(&mut self, more: impl Fn(&str) -> &'static str) -> Result<String, String> {
        let (cql, bound) = self.made();
        Ok(format!("\n[statement.load]\ncql = {cql:?}\nvalues = {}\n", self.values(&bound, more)?))
    }

    /// How the columns of a row are read again. Counters are not if keys come again, because nobody knows how often.
    pub(super) fn read_back(
        &mut self,
        names: &[String],
        more: impl Fn(&str) -> &'static str,
    ) -> Result<String, String> {
        if self.keys.is_some() && names.iter().any(|name| self.counts(name)) {
            self.lose("Counters whose keys come again are added to, and not read afterwards.".to_owned());
            return Ok(String::new());
        }
        let key: Vec<String> = self.table.key().cloned().collect();
        let (values, columns) = (self.values(&key, &more)?, self.values(names, &more)?);
        let cql = self.selected(names, &key);
        Ok(format!("\n[statement.read_back]\ncql = {cql:?}\nvalues = {values}\ncolumns = {columns}\n"))
    }

    /// The statement `insert`, without its name.
    pub(super) fn insert(&mut self, insert: &Insert) -> Result<String, String> {
        let ((cql, bound), counters) = (self.made(), self.counters());
        if !counters.is_empty() {
            let values = self.values(&bound, |_| "")?;
            return Ok(format!("cql = {cql:?}\nvalues = {values}\n{}", self.read_back(&counters, |_| "")?));
        }
        let batch = self.batch(insert);
        let partition = self.table.partition.clone();
        let is_together = batch.as_ref().is_some_and(|batch| batch.is_together);
        let by =
            |name: &str| if is_together && partition.iter().any(|key| key == name) { ", by = \"key\"" } else { "" };
        let (values, read_back) = (self.values(&bound, by)?, self.read_back(&bound, by)?);
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
}
