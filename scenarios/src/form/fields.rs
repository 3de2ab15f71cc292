//! A table of the TOML form, read field by field: a field that is missing, unknown or of the wrong kind is a mistake at its
//! place.

use std::borrow::Cow;
use std::ops::{Range, RangeInclusive};

use toml::Spanned;
use toml::de::{DeTable, DeValue};

use super::mistake::Mistake;
use crate::suggestion::suggestion;

/// A value and its name in messages.
#[derive(Clone, Copy)]
pub(crate) struct Entry<'a> {
    name: &'a str,
    /// Whether this is one item of the list of that name.
    is_item: bool,
    value: &'a Spanned<DeValue<'a>>,
}

/// A table of which fields are taken one by one.
pub(crate) struct Fields<'a> {
    /// What has these fields, with its article: `a statement`.
    of: String,
    /// What they are read from.
    pub(crate) table: &'a DeTable<'a>,
    span: Range<usize>,
    asked: Vec<&'static str>,
}

impl<'a> Entry<'a> {
    pub(crate) fn mistake(&self, message: impl Into<String>) -> Mistake {
        Mistake { span: self.value.span(), message: message.into() }
    }

    fn name(&self) -> String {
        format!("{}{}", if self.is_item { "an item of " } else { "" }, self.name)
    }

    fn wrong_kind(&self, takes: &str) -> Mistake {
        let found = match self.value.get_ref() {
            DeValue::String(_) => "a text",
            DeValue::Integer(_) => "a whole number",
            DeValue::Float(_) => "a number with a fraction",
            DeValue::Boolean(_) => "true or false",
            DeValue::Datetime(_) => "a date or time",
            DeValue::Array(_) => "a list",
            DeValue::Table(_) => "a table",
        };
        self.mistake(format!("{} is {found} here; it takes {takes}", self.name()))
    }

    pub(crate) fn text(self) -> Result<&'a str, Mistake> {
        self.value.get_ref().as_str().ok_or_else(|| self.wrong_kind("a text in quotes"))
    }

    pub(crate) fn truth(self) -> Result<bool, Mistake> {
        self.value.get_ref().as_bool().ok_or_else(|| self.wrong_kind("true or false"))
    }

    pub(crate) fn whole(self, range: RangeInclusive<i128>) -> Result<i128, Mistake> {
        let takes = || match (*range.start(), *range.end()) {
            (start, end) if start == i128::from(i64::MIN) && end == i128::from(i64::MAX) => "a whole number".to_owned(),
            (start, end) => format!("a whole number from {start} to {end}"),
        };
        let DeValue::Integer(number) = self.value.get_ref() else { return Err(self.wrong_kind(&takes())) };
        let found = i128::from_str_radix(number.as_str(), number.radix()).ok();
        found.filter(|found| range.contains(found)).ok_or_else(|| {
            self.mistake(format!("{} is {number}, which is out of its range; it takes {}", self.name(), takes()))
        })
    }

    pub(crate) fn i64(self) -> Result<i64, Mistake> {
        self.whole(i128::from(i64::MIN)..=i128::from(i64::MAX)).map(|number| number as i64)
    }

    /// A number of `range`, with a fraction or without.
    pub(crate) fn number(self, range: RangeInclusive<f64>) -> Result<f64, Mistake> {
        let takes = format!("a number from {} to {}", range.start(), range.end());
        let (text, found) = match self.value.get_ref() {
            DeValue::Float(number) => (number.to_string(), number.as_str().parse::<f64>().ok()),
            DeValue::Integer(number) => (number.to_string(), number.as_str().parse::<f64>().ok()),
            _ => return Err(self.wrong_kind(&takes)),
        };
        found.filter(|found| range.contains(found)).ok_or_else(|| {
            self.mistake(format!("{} is {text}, which is out of its range; it takes {takes}", self.name()))
        })
    }

    pub(crate) fn word<T: Copy>(self, words: &[(&str, T)]) -> Result<T, Mistake> {
        let known = || words.iter().map(|(word, _)| format!("\"{word}\"")).collect::<Vec<_>>().join(", ");
        let DeValue::String(found) = self.value.get_ref() else {
            return Err(self.wrong_kind(&format!("one of {}", known())));
        };
        words.iter().find(|(word, _)| word == found).map(|(_, meant)| *meant).ok_or_else(|| {
            let meant = suggestion(found, words.iter().map(|(word, _)| *word));
            self.mistake(format!(
                "{} cannot be {found:?}; it is one of {}{}{meant}",
                self.name(),
                known(),
                if meant.is_empty() { "" } else { "." }
            ))
        })
    }

    fn a_list(&self) -> String {
        match self.value.get_ref() {
            DeValue::Table(_) => format!("a list in brackets, or [[{}]] for each item", self.name),
            _ => "a list in brackets".to_owned(),
        }
    }

    pub(crate) fn list<T>(self, read: impl FnMut(Entry<'a>) -> Result<T, Mistake>) -> Result<Vec<T>, Mistake> {
        let DeValue::Array(items) = self.value.get_ref() else { return Err(self.wrong_kind(&self.a_list())) };
        items.iter().map(|value| Entry { name: self.name, is_item: true, value }).map(read).collect()
    }

    /// What a table has under each name; `None` if this is no table.
    pub(crate) fn named<T>(
        self,
        mut read: impl FnMut(Entry<'a>) -> Result<T, Mistake>,
    ) -> Option<Result<Vec<(&'a str, T)>, Mistake>> {
        let DeValue::Table(table) = self.value.get_ref() else { return None };
        let one = |(key, value): (&'a Spanned<_>, &'a Spanned<DeValue<'a>>)| {
            let name: &'a Cow<'a, str> = key.get_ref();
            Ok((name.as_ref(), read(Entry { name, is_item: false, value })?))
        };
        Some(table.iter().map(one).collect())
    }

    /// The fields of a table, which is `of`: `a statement`.
    pub(crate) fn fields(self, of: &str) -> Result<Fields<'a>, Mistake> {
        match self.value.get_ref() {
            DeValue::Table(table) => Ok(Fields::new(of, table, self.value.span())),
            _ => Err(self.wrong_kind(&format!("the fields of {of} in a table"))),
        }
    }
}

impl<'a> Fields<'a> {
    pub(crate) fn new(of: &str, table: &'a DeTable<'a>, span: Range<usize>) -> Fields<'a> {
        Fields { of: of.to_owned(), table, span, asked: Vec::new() }
    }

    /// Says from now on more exactly what has these fields.
    pub(crate) fn are_of(&mut self, of: &str) {
        of.clone_into(&mut self.of);
    }

    pub(crate) fn required<T>(
        &mut self,
        name: &'static str,
        read: impl FnOnce(Entry<'a>) -> Result<T, Mistake>,
    ) -> Result<T, Mistake> {
        let missing = || Mistake {
            span: self.span.clone(),
            message: format!("{} has no {name} here, and cannot be without one", self.of),
        };
        match find(self.table, name) {
            Some(value) => {
                self.asked.push(name);
                read(Entry { name, is_item: false, value })
            }
            None => Err(self.misspelt(name).unwrap_or_else(missing)),
        }
    }

    /// The unknown field that the missing one may be meant by.
    fn misspelt(&self, name: &str) -> Option<Mistake> {
        let (key, _) = self.table.iter().find(|(key, _)| {
            !self.asked.contains(&key.get_ref().as_ref()) && !suggestion(key.get_ref(), [name]).is_empty()
        })?;
        let message =
            format!("{} has no field {}, and must have {name}. Did you mean `{name}`?", self.of, key.get_ref());
        Some(Mistake { span: key.span(), message })
    }

    pub(crate) fn optional<T>(
        &mut self,
        name: &'static str,
        read: impl FnOnce(Entry<'a>) -> Result<T, Mistake>,
    ) -> Result<Option<T>, Mistake> {
        self.asked.push(name);
        find(self.table, name).map(|value| read(Entry { name, is_item: false, value })).transpose()
    }

    /// `read`, unless there is a field that was not asked for; the refusal names those that were.
    pub(crate) fn end<T>(self, read: T) -> Result<T, Mistake> {
        let unknown = self.table.iter().find(|(key, _)| !self.asked.contains(&key.get_ref().as_ref()));
        unknown.map_or(Ok(read), |(key, _)| {
            let meant = suggestion(key.get_ref(), self.asked.iter().copied());
            let message = format!(
                "{} has no field {}; its fields are {}{}{meant}",
                self.of,
                key.get_ref(),
                self.asked.join(", "),
                if meant.is_empty() { "" } else { "." }
            );
            Err(Mistake { span: key.span(), message })
        })
    }
}

pub(crate) fn find<'a>(table: &'a DeTable<'a>, name: &str) -> Option<&'a Spanned<DeValue<'a>>> {
    table.iter().find(|(key, _)| key.get_ref() == name).map(|(_, value)| value)
}
