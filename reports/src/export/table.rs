//! Texts for a terminal or a file.

use tabled::Table as Grid;
use tabled::builder::Builder;
use tabled::grid::util::string::get_string_width;
use tabled::settings::formatting::AlignmentStrategy;
use tabled::settings::object::{Columns, Rows};
use tabled::settings::style::HorizontalLine;
use tabled::settings::themes::Theme;
use tabled::settings::{Alignment, Color, Padding, Style};

use super::document::{Document, doubts};
use super::head::{sized, title};
use super::part::{Field, Line, Part, Sheet, Short, TableRow};
use super::releases::releases;
use super::short::response_times;
use super::story::story;
use super::text::{label_lines, pair, plain, wrap};
use super::{ExportError, Exporter, side_by_side, sweep};
use crate::{Analysis, History, Recorded, Sweep};

/// Parts of labels longer than this are broken if room is short.
const LONGEST_LABEL_PART: usize = 32;
/// Nothing is narrowed below this width.
const LEAST_WIDTH: usize = 40;
/// Short tables grow no wider than this: the eye has to follow a line.
const MOST_SHORT: usize = 100;
/// The longest bar, and the shortest that shows a difference.
const BAR: std::ops::RangeInclusive<usize> = 5..=24;

/// How a text for a terminal or a file is set.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Look {
    /// Columns of the terminal.
    pub width: usize,
    /// Whether it shows colours: bold, red and dim only.
    pub colour: bool,
    /// Whether nothing limits a line: a file or a pipe.
    pub all_columns: bool,
    /// The tables with every column; of one contender every measure of every cell, too.
    pub wide: bool,
    /// Notes: versions, settings, caveats, how it was measured and judged.
    pub notes: bool,
}

impl Default for Look {
    /// What a file keeps: everything.
    fn default() -> Look {
        Look { width: 160, colour: false, all_columns: true, wide: true, notes: true }
    }
}

impl Look {
    fn room(self) -> usize {
        self.width.max(LEAST_WIDTH)
    }

    /// The text in an ANSI style such as `1` (bold), if there are colours.
    fn styled(self, text: &str, style: &str) -> String {
        if self.colour { format!("\u{1b}[{style}m{text}\u{1b}[0m") } else { text.to_owned() }
    }
}

const BOLD: &str = "1";
const ALARM: &str = "1;31";

/// `--format table`.
pub(super) struct Table;

impl Exporter for Table {
    fn names(&self) -> [&'static str; 3] {
        ["table", "Tables for a terminal: short ones, or wide ones with every column", "table.txt"]
    }

    /// What was run, the short tables, then what was asked for by `look`, at last warnings and findings.
    fn one(&self, analysis: &Analysis, look: Look) -> Result<String, ExportError> {
        let [mut parts, doubts] = doubts(analysis);
        parts.push(Part::Text(title(analysis.run())));
        parts.extend(sized(analysis).into_iter().map(Part::Text));
        parts.extend(releases(analysis));
        let findings = analysis.findings().iter().map(|finding| Part::Text(plain(finding)));
        let sweeps = Sweep::all(analysis);
        let compact = sweep::compact(analysis.run(), &sweeps);
        if !compact.is_empty() {
            parts.extend(findings);
            parts.extend(compact.into_iter().map(Part::Sheet));
            parts.extend(look.wide.then(|| sweep::every_point(analysis.run(), &sweeps)).into_iter().flatten());
            parts.extend(look.notes.then(|| Document::of(analysis).about()).into_iter().flatten());
            parts.extend(doubts);
            return Ok(terminal(&parts, look));
        }
        parts.extend((!analysis.run().plan.exact).then(|| Part::Short(Short::of(analysis))));
        parts.extend(response_times(analysis).map(Part::Sheet));
        if look.wide || look.notes {
            let mut document = Document::of(analysis);
            if look.wide {
                parts.extend(document.wide());
            }
            if look.wide && analysis.run().contenders.len() == 1 {
                parts.extend(story(analysis, look.width));
            }
            if look.notes {
                parts.extend(document.about());
            }
        }
        parts.extend(doubts);
        parts.extend(findings);
        parts.extend(analysis.worths().into_iter().map(Part::Text));
        Ok(terminal(&parts, look))
    }

    fn several(&self, named: &[(String, &Recorded)], look: Look) -> Option<Result<String, ExportError>> {
        Some(Ok(terminal(&side_by_side::parts(named, look.wide), look)))
    }

    fn history(&self, history: &History, look: Look) -> Option<Result<String, ExportError>> {
        Some(Ok(terminal(&super::history::parts(history), look)))
    }
}

/// The parts below each other, for a terminal.
pub fn terminal(parts: &[Part], look: Look) -> String {
    let mut out = String::new();
    let mut before: Option<&Part> = None;
    for part in parts {
        if before.is_some_and(|before| !follows(before, part)) {
            out.push('\n');
        }
        set(&mut out, part, look);
        before = Some(part);
    }
    out
}

/// Whether no empty line parts the two.
fn follows(before: &Part, part: &Part) -> bool {
    match part {
        Part::Text(_) => matches!(before, Part::Title(_) | Part::Text(_) | Part::Warning(_)),
        Part::Warning(_) => matches!(before, Part::Warning(_)),
        Part::List(_) | Part::Pairs(_) => matches!(before, Part::Title(_) | Part::Text(_)),
        _ => false,
    }
}

fn set(out: &mut String, part: &Part, look: Look) {
    let paragraph = |text: &str, indent: usize| wrap(text, look.room(), indent);
    let mut line = |text: String| {
        out.push_str(&text);
        out.push('\n');
    };
    match part {
        Part::Title(text) => line(look.styled(&paragraph(text, 2), BOLD)),
        Part::Text(text) => line(paragraph(text, 2)),
        Part::Warning(text) => line(look.styled(&paragraph(&format!("Warning: {text}"), 2), ALARM)),
        Part::Pairs(pairs) => {
            let longest = pairs.iter().map(|(name, _)| get_string_width(name)).max().unwrap_or(0).min(24);
            pairs.iter().for_each(|(name, sentence)| line(pair(name, sentence, longest, look.room())));
        }
        Part::List(sentences) => sentences.iter().for_each(|text| line(paragraph(text, 2))),
        Part::Notes(notes) => {
            (1..).zip(notes).for_each(|(number, note)| line(paragraph(&format!("[{number}] {note}"), 4)));
        }
        Part::Short(short) => out.push_str(&Columned::of(short, look).set(short)),
        Part::Sheet(sheet) => {
            if !sheet.title.is_empty() {
                line(paragraph(&format!("{}:", sheet.title), 2));
            }
            let panels: Vec<String> = panels(sheet, look).iter().map(|panel| panel.text(sheet, look)).collect();
            out.push_str(&panels.join("\n"));
        }
        Part::Folded(title, parts) => {
            line(look.styled(title, BOLD));
            out.push_str(&terminal(parts, look));
        }
    }
}

/// The widths of the short tables' columns, the same in all of them.
struct Columned {
    look: Look,
    label: usize,
    cost: usize,
    bar: usize,
    fields: Vec<usize>,
    /// The greatest figure, which has the longest bar.
    most: f64,
}

impl Columned {
    fn of(short: &Short, look: Look) -> Columned {
        let width = look.room().min(MOST_SHORT);
        let lines = || short.places.iter().flat_map(|place| &place.lines);
        let longest = |of: &dyn Fn(&Line) -> usize| lines().map(of).max().unwrap_or(0);
        let mut fields: Vec<usize> = (0..short.heads.len())
            .map(|at| longest(&|line| line.fields.get(at).map_or(0, |field| get_string_width(field))))
            .collect();
        // A title reaches over the columns that continue its own.
        for (at, head) in short.heads.iter().enumerate().filter(|(_, head)| !head.continues) {
            let continued = short.heads[at + 1..].iter().take_while(|next| next.continues).count();
            let room: usize = fields[at..=at + continued].iter().sum::<usize>() + continued;
            fields[at + continued] += get_string_width(&head.title).saturating_sub(room);
        }
        let cost = longest(&|line| line.cost.map_or(0, |cost| short.cost(cost).len())).max("CPU us".len());
        let gaps: usize = short.heads.iter().map(|head| if head.continues { 1 } else { 2 }).sum();
        let taken = 2 + 2 + cost + fields.iter().sum::<usize>() + gaps;
        let label = longest(&|line| get_string_width(&line.label)).min(width.saturating_sub(taken).max(12));
        let bar = width.saturating_sub(taken + label + 1).min(*BAR.end());
        let most = lines().filter_map(|line| line.cost).fold(0.0, f64::max);
        Columned { look, label, cost, bar: if BAR.contains(&bar) { bar } else { 0 }, fields, most }
    }

    fn set(&self, short: &Short) -> String {
        let mut out = self.head(short) + "\n";
        let mut below = Vec::new();
        let mut arrangement: Option<&String> = None;
        for place in &short.places {
            if place.arrangement.as_ref() != arrangement {
                arrangement = place.arrangement.as_ref();
                let name = arrangement.map(String::as_str).unwrap_or_default();
                out.push_str(&format!("\n{}\n", self.look.styled(name, BOLD)));
            }
            out.push_str(&format!("{}\n", self.look.styled(&place.scenario, BOLD)));
            place.lines.iter().for_each(|line| out.push_str(&self.line(short, line, &mut below)));
        }
        if !below.is_empty() {
            out.push('\n');
            set(&mut out, &Part::List(below), self.look);
        }
        out
    }

    fn head(&self, short: &Short) -> String {
        let mut out = " ".repeat(self.label + 4) + &padded("CPU us", self.cost, true);
        let mut at = self.label + 4 + self.cost + if self.bar > 0 { 1 + self.bar } else { 0 };
        for (head, width) in short.heads.iter().zip(&self.fields) {
            at += if head.continues { 1 } else { 2 };
            if !head.continues {
                out = padded(&out, at, false) + &padded(&head.title, if head.right { *width } else { 0 }, head.right);
            }
            at += width;
        }
        self.look.styled(out.trim_end(), BOLD)
    }

    /// A reason without room on the line stands `below`, once.
    fn line(&self, short: &Short, line: &Line, below: &mut Vec<String>) -> String {
        let label = label_lines(&line.label, self.label);
        let mut parts = label.lines();
        let mut out = format!("  {}  ", padded(parts.next().unwrap_or_default(), self.label, false));
        match (&line.trouble, line.cost) {
            (None, Some(cost)) => {
                out.push_str(&padded(&short.cost(cost), self.cost, true));
                if self.bar > 0 {
                    let length =
                        if self.most > 0.0 { (cost / self.most * self.bar as f64).round() as usize } else { 0 };
                    out.push_str(&format!(" {}", padded(&"#".repeat(length.max(1)), self.bar, false)));
                }
                for ((head, width), field) in short.heads.iter().zip(&self.fields).zip(&line.fields) {
                    let text = padded(field, *width, head.right);
                    out.push_str(if head.continues { " " } else { "  " });
                    let is_claim = ["cheaper", "dearer", "faster", "slower"].contains(&field.trim_end_matches('?'));
                    out.push_str(&if is_claim { self.look.styled(&text, BOLD) } else { text });
                }
            }
            (trouble, _) => {
                let room = self.look.room().saturating_sub(self.label + 4);
                let trouble = trouble.as_deref().unwrap_or("not run");
                let text = match trouble.split_once(": ").filter(|_| get_string_width(trouble) > room) {
                    Some((what, _)) => {
                        let whole = format!("{}: {trouble}", line.label);
                        if !below.contains(&whole) {
                            below.push(whole);
                        }
                        format!("{what}, see below")
                    }
                    None => trouble.to_owned(),
                };
                out.push_str(&self.look.styled(&text, ALARM));
            }
        }
        out = out.trim_end().to_owned() + "\n";
        parts.for_each(|part| out.push_str(&format!("    {part}\n")));
        out
    }
}

/// The text with spaces up to `width` columns.
fn padded(text: &str, width: usize, right: bool) -> String {
    let spaces = " ".repeat(width.saturating_sub(get_string_width(text)));
    if right { spaces + text } else { text.to_owned() + &spaces }
}

/// Some of a sheet's columns, and how labels stand beside them.
struct Panel {
    columns: Vec<usize>,
    /// The longest part of a label; `None` leaves labels whole.
    longest: Option<usize>,
}

/// All columns beside each other if they fit, else in several tables below each other.
fn panels(sheet: &Sheet, look: Look) -> Vec<Panel> {
    let whole = |longest| Panel { columns: (0..sheet.columns.len()).collect(), longest };
    let fits = |panel: &Panel| look.all_columns || panel.width(sheet) <= look.room();
    if let Some(panel) = [None, Some(LONGEST_LABEL_PART)].map(whole).into_iter().find(fits) {
        return vec![panel];
    }
    let longest = Some(LONGEST_LABEL_PART.min(look.room() / 3));
    let mut panels: Vec<Panel> = Vec::new();
    for place in 0..sheet.columns.len() {
        if let Some(panel) = panels.last_mut() {
            panel.columns.push(place);
            if fits(panel) {
                continue;
            }
            panel.columns.pop();
        }
        panels.push(Panel { columns: vec![place], longest });
    }
    panels
}

impl Panel {
    fn width(&self, sheet: &Sheet) -> usize {
        self.grid(sheet, false).total_width()
    }

    /// The grid's lines, without spaces at their ends.
    fn text(&self, sheet: &Sheet, look: Look) -> String {
        self.grid(sheet, look.colour).to_string().lines().map(|line| line.trim_end().to_owned() + "\n").collect()
    }

    /// The row's fields that are shown; a row without figures says why in the first of them.
    fn fields<'a>(&'a self, row: &'a TableRow) -> impl Iterator<Item = &'a Field> {
        let of = |(place, column): (usize, &usize)| &row.fields[if row.is_empty && place == 0 { 0 } else { *column }];
        self.columns.iter().enumerate().map(of)
    }

    /// Labels at the left, figures at the right, a rule before each group, trouble in red.
    fn grid(&self, sheet: &Sheet, colour: bool) -> Grid {
        let mut builder = Builder::default();
        let titles = self.columns.iter().map(|&place| sheet.columns[place].join("\n"));
        builder.push_record(std::iter::once(sheet.first.clone()).chain(titles));
        let mut bad = Vec::new();
        let mut theme = Theme::from_style(Style::empty());
        for group in &sheet.groups {
            theme.insert_horizontal_line(builder.count_records(), HorizontalLine::new('─'));
            for row in group {
                let at = builder.count_records();
                if !row.trouble.is_empty() {
                    bad.push((at, 0));
                }
                bad.extend((1..).zip(self.fields(row)).filter(|(_, field)| field.is_bad).map(|(place, _)| (at, place)));
                builder.push_record(std::iter::once(self.label(row)).chain(self.fields(row).map(Field::shown)));
            }
        }
        let mut grid = builder.build();
        grid.with(theme).with(Padding::new(0, 2, 0, 0)).with(Alignment::right()).with(AlignmentStrategy::PerLine);
        grid.modify(Rows::first(), Alignment::bottom());
        let words = self.columns.iter().filter(|column| **column < sheet.words).count();
        grid.modify(Columns::new(..=words), Alignment::left());
        grid.modify(Columns::last(), Padding::zero());
        if colour {
            grid.modify(Rows::first(), Color::BOLD);
            bad.into_iter().for_each(|field| {
                grid.modify(field, Color::BOLD | Color::FG_RED);
            });
        }
        grid
    }

    /// The label, then trouble, on a line of its own if room is short.
    fn label(&self, row: &TableRow) -> String {
        let label = self.longest.map_or_else(|| row.label.clone(), |longest| label_lines(&row.label, longest));
        match row.trouble.as_str() {
            "" => label,
            trouble => format!("{label}{}{trouble}", if self.longest.is_some() { '\n' } else { ' ' }),
        }
    }
}
