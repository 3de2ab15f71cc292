//! What a text is made of: the terminal and Markdown set the same parts.

use crate::text::plain;
use crate::{Contender, Role};

/// A part of a text.
pub enum Part {
    /// What stands over what follows.
    Title(String),
    /// A paragraph.
    Text(String),
    /// What the reader must not miss.
    Warning(String),
    /// Names with a sentence each.
    Pairs(Vec<(String, String)>),
    /// Sentences below each other.
    List(Vec<String>),
    /// Sentences, numbered from 1; sheets refer to the numbers.
    Notes(Vec<String>),
    /// The short tables of a run.
    Short(Short),
    /// A table.
    Sheet(Sheet),
    /// Details that open on request, where the format can.
    Folded(&'static str, Vec<Part>),
}

impl Part {
    /// Sentences below each other, if there are any.
    pub fn list(sentences: Vec<String>) -> Option<Part> {
        (!sentences.is_empty()).then_some(Part::List(sentences))
    }
}

/// The short tables of a run: one row per arrangement, scenario and contender, which a terminal sets in a table each, with bars.
pub struct Short {
    /// The contender's column is the last of words; CPU time per statement comes next, or why there is none.
    pub sheet: Sheet,
    /// What stands over the columns after the bar.
    pub heads: Vec<Head>,
}

/// What stands over a column.
pub struct Head {
    /// Whether it continues the column before it, so that no title stands over it.
    pub continues: bool,
    /// Whether its fields stand on the right.
    pub right: bool,
}

/// Rows and columns.
pub struct Sheet {
    /// What it shows; empty if the title above says so.
    pub title: String,
    /// The heading over the rows' labels.
    pub first: String,
    /// The other columns' headings, in lines.
    pub columns: Vec<String>,
    /// How many of the columns, from the first on, are words and not figures.
    pub words: usize,
    /// The drivers, then floor and noop.
    pub groups: Vec<Vec<TableRow>>,
}

impl Sheet {
    /// Of figures, without groups that have no row.
    pub fn of(
        title: impl Into<String>,
        first: &str,
        columns: impl IntoIterator<Item = impl Into<String>>,
        mut groups: Vec<Vec<TableRow>>,
    ) -> Sheet {
        groups.retain(|group| !group.is_empty());
        let columns = columns.into_iter().map(Into::into).collect();
        Sheet { title: title.into(), first: first.to_owned(), columns, words: 0, groups }
    }

    /// The heading of a column on one line.
    pub fn heading(&self, at: usize) -> String {
        self.columns[at].replace('\n', " ").trim_end().replace("- ", "").replace("+ ", "+")
    }
}

/// The rows of the drivers, then those of floor and noop.
pub(crate) fn by_role<'a>(
    contenders: impl Iterator<Item = &'a Contender>,
    row: impl FnMut(&'a Contender) -> TableRow,
) -> Vec<Vec<TableRow>> {
    let (drivers, apart): (Vec<&Contender>, Vec<&Contender>) = contenders.partition(|one| one.role == Role::Driver);
    let number = drivers.len();
    let mut rows: Vec<TableRow> = drivers.into_iter().chain(apart).map(row).collect();
    let apart = rows.split_off(number);
    vec![rows, apart]
}

/// A row of a sheet.
pub struct TableRow {
    /// Its name, in the first column.
    pub label: String,
    /// After the label, what the reader must not miss: `void` or `failed 1/3`; empty if every block counts.
    pub trouble: String,
    /// One per column.
    pub fields: Vec<Field>,
    /// Whether the row has no figures, and the first field says why.
    pub is_empty: bool,
}

impl TableRow {
    /// A row without trouble.
    pub fn of(label: &str, fields: Vec<Field>) -> TableRow {
        TableRow { label: plain(label), trouble: String::new(), fields, is_empty: false }
    }
}

/// What stands in one column of a row.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Field {
    /// A figure or words.
    pub text: String,
    /// The number of the note on it, after the text.
    pub note: Option<usize>,
    /// Whether the reader must not miss it.
    pub is_bad: bool,
    /// On a page, below the text, smaller, in lines: an interval, or the ratio of a figure.
    pub sub: String,
    /// Its classes on a page.
    pub class: String,
    /// What it is sorted by on a page.
    pub sort: Option<f64>,
}

impl Field {
    /// The text by itself.
    pub fn of(text: impl Into<String>) -> Field {
        Field { text: text.into(), ..Field::default() }
    }

    /// What the reader must not miss.
    pub fn bad(text: impl Into<String>) -> Field {
        Field { is_bad: true, class: "bad".to_owned(), ..Field::of(text) }
    }

    /// No figure; the note of that number says why.
    pub fn missing(note: usize) -> Field {
        Field { note: Some(note), ..Field::of("n/a") }
    }

    /// The text and the number of its note, for example `n/a [3]`.
    pub fn shown(&self) -> String {
        match self.note {
            Some(number) => format!("{} [{number}]", self.text),
            None => self.text.clone(),
        }
    }
}

/// Numbered sentences, each once.
#[derive(Default)]
pub struct Notes(pub Vec<String>);

impl Notes {
    /// All of them, if there are any.
    pub fn part(self) -> Option<Part> {
        (!self.0.is_empty()).then_some(Part::Notes(self.0))
    }

    /// The number of the sentence.
    pub fn number(&mut self, sentence: &str) -> usize {
        let sentence = plain(sentence);
        match self.0.iter().position(|known| *known == sentence) {
            Some(place) => place + 1,
            None => {
                self.0.push(sentence);
                self.0.len()
            }
        }
    }
}
