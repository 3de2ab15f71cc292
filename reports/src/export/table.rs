//! Texts for a terminal or a file.

use std::io::Write;

use tabled::Table as Grid;
use tabled::builder::Builder;
use tabled::settings::formatting::AlignmentStrategy;
use tabled::settings::object::{Columns, Rows};
use tabled::settings::style::HorizontalLine;
use tabled::settings::themes::Theme;
use tabled::settings::{Alignment, Color, Padding, Style};

use super::document::{Document, doubts};
use super::exporter::{ExportError, Exporter, Look};
use super::part::{Field, Part, Sheet, Short, TableRow};
use super::short::{found, overview, tables};
use super::story::story;
use super::{side_by_side, sweep};
use crate::text::{label_lines, pair, unique, width_of, wrap};
use crate::{Analysis, History, Recorded, Sweep};

/// Parts of labels longer than this are broken if room is short.
const LONGEST_LABEL_PART: usize = 32;
/// Nothing is narrowed below this width.
const LEAST_WIDTH: usize = 40;
/// Short tables grow no wider than this: the eye has to follow a line.
const MOST_SHORT: usize = 100;
/// The longest bar, and the shortest that shows a difference.
const BAR: std::ops::RangeInclusive<usize> = 5..=24;

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

pub(super) struct Table;

impl Exporter for Table {
    fn names(&self) -> [&'static str; 3] {
        ["table", "Tables for a terminal: short ones, or wide ones with every column", "table.txt"]
    }

    /// What was run, the short tables, then what was asked for by `look`, at last warnings and findings.
    fn write(&self, analysis: &Analysis, look: Look, out: &mut dyn Write) -> Result<(), ExportError> {
        let run = analysis.run;
        let sweeps = Sweep::all(analysis);
        let [mut parts, doubts] = doubts(analysis);
        parts.extend(overview(analysis));
        // What sweeps come to is said in sentences first.
        let found: Vec<Part> = found(analysis).collect();
        let (first, last) = if sweeps.is_empty() { (Vec::new(), found) } else { (found, Vec::new()) };
        parts.extend(first);
        parts.extend(tables(analysis, &sweeps));
        let mut document = Document::of(analysis);
        if look.wide && sweeps.is_empty() {
            parts.extend(document.wide(analysis));
            parts.extend((run.contenders.len() == 1).then(|| story(analysis, look.width)).into_iter().flatten());
        } else if look.wide {
            parts.extend(sweep::every_point(run, &sweeps));
        }
        if look.notes {
            parts.extend(document.about());
        }
        parts.extend(doubts);
        parts.extend(last);
        Ok(out.write_all(terminal(&parts, look).as_bytes())?)
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
            let longest = pairs.iter().map(|(name, _)| width_of(name)).max().unwrap_or(0).min(24);
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
        let Sheet { columns, words, .. } = &short.sheet;
        let longest = |at: usize| {
            let fields = short.sheet.groups.iter().flatten().map(|row| &row.fields[at]).filter(|field| !field.is_bad);
            fields.map(|field| width_of(&field.text)).max().unwrap_or(0)
        };
        let mut fields: Vec<usize> = (words + 1..columns.len()).map(longest).collect();
        // A title reaches over the columns that continue its own.
        for at in (0..fields.len()).filter(|at| !short.heads[*at].continues) {
            let continued = short.heads[at + 1..].iter().take_while(|next| next.continues).count();
            let room: usize = fields[at..=at + continued].iter().sum::<usize>() + continued;
            fields[at + continued] += width_of(&columns[words + 1 + at]).saturating_sub(room);
        }
        let cost = longest(*words).max("CPU us".len());
        let gaps: usize = short.heads.iter().map(|head| if head.continues { 1 } else { 2 }).sum();
        let taken = 2 + 2 + cost + fields.iter().sum::<usize>() + gaps;
        let label = longest(words - 1).min(width.saturating_sub(taken).max(12));
        let bar = width.saturating_sub(taken + label + 1).min(*BAR.end());
        let costs = short.sheet.groups.iter().flatten().filter_map(|row| row.fields[*words].sort);
        let most = costs.fold(0.0, f64::max);
        Columned { look, label, cost, bar: if BAR.contains(&bar) { bar } else { 0 }, fields, most }
    }

    fn set(&self, short: &Short) -> String {
        let mut out = self.head(short) + "\n";
        let mut below = Vec::new();
        let mut before = [""; 2];
        for row in short.sheet.groups.iter().flatten() {
            let arrangement = if short.sheet.words > 1 { &row.fields[0].text } else { "" };
            if arrangement != before[0] {
                out.push_str(&format!("\n{}\n", self.look.styled(arrangement, BOLD)));
            }
            if [arrangement, &row.label] != before {
                out.push_str(&format!("{}\n", self.look.styled(&row.label, BOLD)));
            }
            before = [arrangement, &row.label];
            out.push_str(&self.line(short, &row.fields[short.sheet.words - 1..], &mut below));
        }
        if !below.is_empty() {
            out.push('\n');
            set(&mut out, &Part::List(unique(below)), self.look);
        }
        out
    }

    fn head(&self, short: &Short) -> String {
        let mut out = " ".repeat(self.label + 4) + &padded("CPU us", self.cost, true);
        let mut at = self.label + 4 + self.cost + if self.bar > 0 { 1 + self.bar } else { 0 };
        let titles = &short.sheet.columns[short.sheet.words + 1..];
        for ((head, width), title) in short.heads.iter().zip(&self.fields).zip(titles) {
            at += if head.continues { 1 } else { 2 };
            if !head.continues {
                out = padded(&out, at, false) + &padded(title, if head.right { *width } else { 0 }, head.right);
            }
            at += width;
        }
        self.look.styled(out.trim_end(), BOLD)
    }

    /// The contender, CPU time with a bar, and the other fields. A reason without room on the line stands `below`, once.
    fn line(&self, short: &Short, fields: &[Field], below: &mut Vec<String>) -> String {
        let (name, cost) = (&fields[0].text, &fields[1]);
        let label = label_lines(name, self.label);
        let mut parts = label.lines();
        let mut out = format!("  {}  ", padded(parts.next().unwrap_or_default(), self.label, false));
        if cost.is_bad {
            let room = self.look.room().saturating_sub(self.label + 4);
            let text = match cost.text.split_once(": ").filter(|_| width_of(&cost.text) > room) {
                Some((what, _)) => {
                    below.push(format!("{name}: {}", cost.text));
                    format!("{what}, see below")
                }
                None => cost.text.clone(),
            };
            out.push_str(&self.look.styled(&text, ALARM));
        } else {
            out.push_str(&padded(&cost.text, self.cost, true));
            if self.bar > 0 {
                let share = cost.sort.filter(|_| self.most > 0.0).map_or(0.0, |cost| cost / self.most);
                let length = (share * self.bar as f64).round() as usize;
                out.push_str(&format!(" {}", padded(&"#".repeat(length.max(1)), self.bar, false)));
            }
            for ((head, width), field) in short.heads.iter().zip(&self.fields).zip(&fields[2..]) {
                let text = padded(&field.text, *width, head.right);
                out.push_str(if head.continues { " " } else { "  " });
                let word = field.text.trim_end_matches('?');
                let is_claim = ["cheaper", "dearer", "faster", "slower"].contains(&word);
                out.push_str(&if is_claim { self.look.styled(&text, BOLD) } else { text });
            }
        }
        out = out.trim_end().to_owned() + "\n";
        parts.for_each(|part| out.push_str(&format!("    {part}\n")));
        out
    }
}

/// The text with spaces up to `width` columns.
fn padded(text: &str, width: usize, right: bool) -> String {
    let spaces = " ".repeat(width.saturating_sub(width_of(text)));
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
        let titles = self.columns.iter().map(|&place| sheet.columns[place].clone());
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
