//! Tables for a terminal.

use tabled::Table as Grid;
use tabled::builder::Builder;
use tabled::settings::formatting::AlignmentStrategy;
use tabled::settings::object::{Columns, Rows};
use tabled::settings::style::HorizontalLine;
use tabled::settings::themes::Theme;
use tabled::settings::{Alignment, Color, Padding, Style};

use crate::document::{Document, Sheet, TableRow};
use crate::export::side_by_side::SideBySide;
use crate::text::{label_lines, pair, plain, wrap};
use crate::{Cell, Recorded, Run};

/// Parts of labels longer than this are broken where room is short.
const LONGEST_LABEL_PART: usize = 32;
/// Below this, nothing is narrowed any further.
const LEAST_WIDTH: usize = 40;

/// Where a table is shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Look {
    /// Columns of the terminal.
    pub width: usize,
    /// Whether it shows colours.
    pub colour: bool,
}

impl Default for Look {
    /// What suits a file or a pipe.
    fn default() -> Look {
        Look { width: 160, colour: false }
    }
}

/// One table a scenario and arrangement, a row a contender, for a terminal.
///
/// Where the width is too small, labels break before their `+`; where that is not enough, the columns stand in several
/// tables below each other, in their order, each beginning with the contender. A figure is never broken.
pub fn table(run: &Run, cells: &[Cell], look: Look) -> String {
    let document = Document::new(run, cells);
    let width = look.width.max(LEAST_WIDTH);
    let mut out = String::new();
    for (name, sentence) in &document.head {
        out.push_str(&pair(name, sentence, 8, width));
        out.push('\n');
    }
    if !document.warnings.is_empty() || !document.overview.is_empty() {
        out.push('\n');
    }
    for warning in &document.warnings {
        let text = wrap(&format!("Warning: {warning}"), width, 2);
        out.push_str(&if look.colour { format!("\u{1b}[1m\u{1b}[31m{text}\u{1b}[0m\n") } else { format!("{text}\n") });
    }
    for sentence in &document.overview {
        paragraph(&mut out, sentence, width, 2);
    }
    for table in &document.tables {
        out.push('\n');
        let title = wrap(&format!("{}: {}", table.title, table.about), width, 2);
        out.push_str(&if look.colour { format!("\u{1b}[1m{title}\u{1b}[0m\n") } else { format!("{title}\n") });
        paragraph(&mut out, &table.arrangement, width, 2);
        for sheet in &table.sheets {
            draw(&mut out, sheet, width, look.colour);
        }
        if !table.remarks.is_empty() {
            out.push('\n');
        }
        for remark in &table.remarks {
            paragraph(&mut out, remark, width, 2);
        }
    }
    if !document.notes.is_empty() || !document.remarks.is_empty() {
        out.push('\n');
    }
    for (place, note) in document.notes.iter().enumerate() {
        paragraph(&mut out, &format!("[{}] {note}", place + 1), width, 4);
    }
    for remark in &document.remarks {
        paragraph(&mut out, remark, width, 2);
    }
    out
}

/// Several runs beside each other by the names that they are to have: their medians, and no ratio between them.
pub fn table_of_runs(named: &[(String, &Recorded)], look: Look) -> String {
    let SideBySide { runs, remarks, sheets } = SideBySide::new(named);
    let width = look.width.max(LEAST_WIDTH);
    let mut out = String::new();
    for (name, sentence) in &runs {
        paragraph(&mut out, &format!("{}: {sentence}", plain(name)), width, 2);
    }
    for sheet in &sheets {
        draw(&mut out, sheet, width, look.colour);
    }
    out.push('\n');
    for remark in &remarks {
        paragraph(&mut out, remark, width, 2);
    }
    out
}

fn draw(out: &mut String, sheet: &Sheet, width: usize, colour: bool) {
    out.push('\n');
    if !sheet.title.is_empty() {
        paragraph(out, &format!("{}:", sheet.title), width, 2);
    }
    for (nth, panel) in panels(sheet, width).into_iter().enumerate() {
        if nth > 0 {
            out.push('\n');
        }
        for line in panel.grid(colour).to_string().lines() {
            out.push_str(line.trim_end());
            out.push('\n');
        }
    }
}

fn paragraph(out: &mut String, text: &str, width: usize, indent: usize) {
    out.push_str(&wrap(text, width, indent));
    out.push('\n');
}

/// Some of the columns, and how labels stand beside them.
struct Panel<'a> {
    sheet: &'a Sheet,
    columns: std::ops::Range<usize>,
    /// The longest part of a label; `None` leaves labels whole.
    longest: Option<usize>,
}

fn panels(sheet: &Sheet, width: usize) -> Vec<Panel<'_>> {
    let all = 0..sheet.columns.len();
    let narrowed = Some(LONGEST_LABEL_PART.min(width / 3));
    for longest in [None, Some(LONGEST_LABEL_PART)] {
        let panel = Panel { sheet, columns: all.clone(), longest };
        if panel.width() <= width {
            return vec![panel];
        }
    }
    let mut panels = Vec::new();
    let mut start = 0;
    while start < all.end {
        let mut panel = Panel { sheet, columns: start..start + 1, longest: narrowed };
        while panel.columns.end < all.end {
            let wider = Panel { sheet, columns: start..panel.columns.end + 1, longest: narrowed };
            if wider.width() > width {
                break;
            }
            panel = wider;
        }
        start = panel.columns.end;
        panels.push(panel);
    }
    panels
}

impl Panel<'_> {
    fn width(&self) -> usize {
        self.grid(false).total_width()
    }

    fn grid(&self, colour: bool) -> Grid {
        let mut builder = Builder::default();
        let titles = self.sheet.columns[self.columns.clone()].iter().map(|lines| lines.join("\n"));
        builder.push_record(std::iter::once(self.sheet.first.clone()).chain(titles));
        let mut bad = Vec::new();
        let mut rules = vec![1];
        for group in &self.sheet.groups {
            for row in group {
                if !row.trouble.is_empty() {
                    bad.push((builder.count_records(), 0));
                }
                let mut record = vec![self.label(row)];
                for (place, field) in row.fields[self.columns.clone()].iter().enumerate() {
                    if field.is_bad {
                        bad.push((builder.count_records(), place + 1));
                    }
                    record.push(field.text.clone());
                }
                builder.push_record(record);
            }
            rules.push(builder.count_records());
        }
        // No rule below the last row.
        rules.pop();
        let mut grid = builder.build();
        let mut theme = Theme::from_style(Style::empty());
        for rule in rules {
            theme.insert_horizontal_line(rule, HorizontalLine::new('─'));
        }
        grid.with(theme).with(Padding::new(0, 2, 0, 0)).with(Alignment::right()).with(AlignmentStrategy::PerLine);
        grid.modify(Rows::first(), Alignment::bottom());
        grid.modify(Columns::first(), Alignment::left());
        grid.modify(Columns::last(), Padding::zero());
        if colour {
            grid.modify(Rows::first(), Color::BOLD);
            for field in bad {
                grid.modify(field, Color::BOLD | Color::FG_RED);
            }
        }
        grid
    }

    /// The label and what stands behind it; trouble on a line of its own where room is short.
    fn label(&self, row: &TableRow) -> String {
        let mut label = match self.longest {
            Some(longest) => label_lines(&row.label, longest),
            None => row.label.clone(),
        };
        let apart = if self.longest.is_some() { '\n' } else { ' ' };
        for (between, part) in [(' ', &row.mark), (apart, &row.trouble)] {
            if !part.is_empty() {
                label.push(between);
                label.push_str(part);
            }
        }
        label
    }
}
