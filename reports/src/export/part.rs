//! What a text is made of: the terminal and Markdown set the same parts.

use super::quantity::fixed;
use super::text::plain;

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
    /// The sentences as a list; nothing if there are none.
    pub fn list(sentences: Vec<String>) -> Option<Part> {
        (!sentences.is_empty()).then_some(Part::List(sentences))
    }
}

/// The short tables of a run.
pub struct Short {
    /// The columns after the bar.
    pub heads: Vec<Head>,
    /// One per arrangement and scenario.
    pub places: Vec<ShortPlace>,
    /// Digits after the point of all costs.
    pub decimals: usize,
}

/// What stands over a column.
pub struct Head {
    pub title: String,
    /// Whether the column continues the one before it, so that a terminal prints no title over it.
    pub continues: bool,
    pub right: bool,
}

/// One scenario in one arrangement.
pub struct ShortPlace {
    pub scenario: String,
    /// The arrangement's id and threads; absent if the run has only one.
    pub arrangement: Option<String>,
    /// The cheapest first, then contenders without a figure.
    pub lines: Vec<Line>,
}

/// One contender.
pub struct Line {
    pub label: String,
    /// CPU time per statement in microseconds.
    pub cost: Option<f64>,
    /// One per head.
    pub fields: Vec<String>,
    /// Why there is no figure.
    pub trouble: Option<String>,
}

impl Short {
    /// A cost as it stands in its column.
    pub fn cost(&self, cost: f64) -> String {
        fixed(cost, self.decimals)
    }

    /// The same as a sheet with a row per contender, for formats that have no bars.
    pub fn sheet(&self) -> Sheet {
        let several = self.places.iter().any(|place| place.arrangement.is_some());
        let mut columns = vec!["contender".to_owned(), "CPU us".to_owned()];
        columns.splice(0..0, several.then(|| "arrangement".to_owned()));
        columns.extend(self.heads.iter().map(|head| head.title.clone()));
        let row = |place: &ShortPlace, line: &Line| {
            let mut fields: Vec<Field> =
                place.arrangement.iter().cloned().chain([line.label.clone()]).map(Field::of).collect();
            match (&line.trouble, line.cost) {
                (None, Some(cost)) => {
                    fields.push(Field::of(self.cost(cost)));
                    fields.extend(line.fields.iter().map(Field::of));
                }
                (trouble, _) => fields.push(Field::bad(trouble.as_deref().unwrap_or("not run"))),
            }
            fields.resize(columns.len(), Field::of(""));
            TableRow::of(&place.scenario, fields)
        };
        let rows = self.places.iter().flat_map(|place| place.lines.iter().map(move |line| row(place, line))).collect();
        let columns = columns.iter().map(|title| vec![title.clone()]).collect();
        Sheet { words: 1 + usize::from(several), ..Sheet::of(String::new(), "scenario", columns, vec![rows]) }
    }
}

/// Rows and columns.
pub struct Sheet {
    /// What it shows; empty if the title above says so.
    pub title: String,
    /// The heading over the rows' labels.
    pub first: String,
    /// The other columns' headings, in lines.
    pub columns: Vec<Vec<String>>,
    /// How many of the columns, from the first on, are words and not figures.
    pub words: usize,
    /// The drivers, then floor and noop.
    pub groups: Vec<Vec<TableRow>>,
}

impl Sheet {
    /// Of figures, without groups that have no row.
    pub fn of(title: String, first: &str, columns: Vec<Vec<String>>, mut groups: Vec<Vec<TableRow>>) -> Sheet {
        groups.retain(|group| !group.is_empty());
        Sheet { title, first: first.to_owned(), columns, words: 0, groups }
    }
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
    /// A row that has nothing but figures.
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
