//! Tables for a terminal.

use tabled::Table as Grid;
use tabled::builder::Builder;
use tabled::settings::formatting::AlignmentStrategy;
use tabled::settings::object::{Columns, Rows};
use tabled::settings::style::HorizontalLine;
use tabled::settings::themes::Theme;
use tabled::settings::{Alignment, Color, Padding, Style};

use crate::document::{Document, Field, Narrow, Sheet, Table, TableRow, mark};
use crate::export::side_by_side::SideBySide;
use crate::text::{label_lines, pair, plain, wrap};
use crate::{Cell, Recorded, Run};

/// Parts of labels longer than this are broken where room is short.
pub(crate) const LONGEST_LABEL_PART: usize = 32;
/// Below this, nothing is narrowed any further.
pub(crate) const LEAST_WIDTH: usize = 40;

/// Where a table is shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Look {
    /// Columns of the terminal.
    pub width: usize,
    /// Whether it shows colours.
    pub colour: bool,
    /// Whether a table keeps all of its columns, however long its lines become: nothing wraps them in a file.
    pub all_columns: bool,
}

impl Default for Look {
    /// What suits a file or a pipe.
    fn default() -> Look {
        Look { width: 160, colour: false, all_columns: true }
    }
}

/// One table a scenario and arrangement, a row a contender, for a terminal.
///
/// Where the width is too small, labels break before their `+`; where that is not enough, columns are left out in the order
/// of [`crate::left_out_first`], and a line under the table names them and says how to see them. A figure is never broken.
/// Tables whose columns are contenders stand in parts below each other instead.
pub fn table(run: &Run, cells: &[Cell], look: Look) -> String {
    table_against(run, cells, None, look)
}

/// As [`table`], with ratios against the contender of that id, or against the run's own reference where none is named.
pub fn table_against(run: &Run, cells: &[Cell], reference: Option<&str>, look: Look) -> String {
    let mut document = Document::against(run, cells, reference);
    let width = look.width.max(LEAST_WIDTH);
    let layouts = |table: &Table| table.sheets.iter().map(|sheet| Layout::of(sheet, look)).collect::<Vec<_>>();
    let layouts: Vec<Vec<Layout>> = document.tables.iter().map(layouts).collect();
    // A note on a column that is left out is left out, too.
    let sheets = || document.tables.iter().flat_map(|table| &table.sheets).zip(layouts.iter().flatten());
    let referred_to = sheets().flat_map(|(sheet, layout)| layout.notes(sheet)).collect();
    document.keep_notes(&referred_to);
    let mut out = String::new();
    head(&mut out, &document, width);
    if !document.warnings.is_empty() || !document.overview.is_empty() {
        out.push('\n');
    }
    for warning in &document.warnings {
        alarm(&mut out, warning, width, look.colour);
    }
    for sentence in &document.overview {
        paragraph(&mut out, sentence, width, 2);
    }
    for (table, layouts) in document.tables.iter().zip(&layouts) {
        out.push('\n');
        let title = wrap(&format!("{}: {}", table.title, table.about), width, 2);
        out.push_str(&if look.colour { format!("\u{1b}[1m{title}\u{1b}[0m\n") } else { format!("{title}\n") });
        paragraph(&mut out, &table.arrangement, width, 2);
        for (sheet, layout) in table.sheets.iter().zip(layouts) {
            draw_as(&mut out, sheet, layout, look);
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
    foot(&mut out, &document, width);
    out
}

/// What was run, on what.
pub(crate) fn head(out: &mut String, document: &Document, width: usize) {
    for (name, sentence) in &document.head {
        out.push_str(&pair(name, sentence, 8, width));
        out.push('\n');
    }
}

/// The notes with their numbers, and what helps to read the whole.
pub(crate) fn foot(out: &mut String, document: &Document, width: usize) {
    for (number, note) in (1..).zip(&document.notes) {
        paragraph(out, &format!("[{number}] {note}"), width, 4);
    }
    for remark in &document.remarks {
        paragraph(out, remark, width, 2);
    }
}

/// Several runs beside each other by the names that they are to have: their medians, and no ratio between them.
pub fn table_of_runs(named: &[(String, &Recorded)], look: Look) -> String {
    let all = SideBySide::new(named);
    let width = look.width.max(LEAST_WIDTH);
    let mut out = String::new();
    for (name, sentence) in &all.runs {
        paragraph(&mut out, &format!("{}: {sentence}", plain(name)), width, 2);
    }
    for warning in &all.warnings {
        alarm(&mut out, warning, width, look.colour);
    }
    for sheet in all.sheets() {
        draw(&mut out, sheet, look);
    }
    out.push('\n');
    for remark in all.troubles().chain(&all.remarks) {
        paragraph(&mut out, remark, width, 2);
    }
    out
}

pub(crate) fn draw(out: &mut String, sheet: &Sheet, look: Look) {
    draw_as(out, sheet, &Layout::of(sheet, look), look);
}

fn draw_as(out: &mut String, sheet: &Sheet, layout: &Layout, look: Look) {
    let width = look.width.max(LEAST_WIDTH);
    out.push('\n');
    if !sheet.title.is_empty() {
        paragraph(out, &format!("{}:", sheet.title), width, 2);
    }
    for (nth, panel) in layout.panels.iter().enumerate() {
        if nth > 0 {
            out.push('\n');
        }
        put(out, &panel.grid(sheet, look.colour));
    }
    if let Some(sentence) = layout.left_out(sheet, width) {
        paragraph(out, &sentence, width, 2);
    }
}

/// A sentence that must not be missed.
pub(crate) fn alarm(out: &mut String, warning: &str, width: usize, colour: bool) {
    let text = wrap(&format!("Warning: {warning}"), width, 2);
    out.push_str(&if colour { format!("\u{1b}[1m\u{1b}[31m{text}\u{1b}[0m\n") } else { format!("{text}\n") });
}

pub(crate) fn paragraph(out: &mut String, text: &str, width: usize, indent: usize) {
    out.push_str(&wrap(text, width, indent));
    out.push('\n');
}

/// Which columns of a sheet stand beside each other, and which of them in tables below.
struct Layout {
    panels: Vec<Panel>,
    /// The width of a table with all columns.
    whole: usize,
}

/// Some of the columns, and how labels stand beside them.
struct Panel {
    columns: Vec<usize>,
    /// The longest part of a label; `None` leaves labels whole.
    longest: Option<usize>,
}

impl Layout {
    fn of(sheet: &Sheet, look: Look) -> Layout {
        let width = look.width.max(LEAST_WIDTH);
        let panels = if look.all_columns { vec![Panel::whole(sheet, None)] } else { panels(sheet, width) };
        Layout { panels, whole: Panel::whole(sheet, Some(LONGEST_LABEL_PART)).width(sheet) }
    }

    /// The numbers of the notes that are referred to.
    fn notes<'a>(&'a self, sheet: &'a Sheet) -> impl Iterator<Item = usize> + 'a {
        let of = |panel: &'a Panel, row: &'a TableRow| {
            row.note.into_iter().chain(panel.fields(row).filter_map(|field| field.note))
        };
        let rows = || sheet.groups.iter().flatten();
        self.panels.iter().flat_map(move |panel| rows().flat_map(move |row| of(panel, row)))
    }

    /// What is not shown, and where it is.
    fn left_out(&self, sheet: &Sheet, width: usize) -> Option<String> {
        let Narrow::LeaveOut(names) = &sheet.narrow else { return None };
        let is_shown = |place: &usize| self.panels.iter().any(|panel| panel.columns.contains(place));
        let missing = (0..names.len()).filter(|place| !is_shown(place));
        let missing: Vec<&str> = missing.map(|place| names[place].0.as_str()).collect();
        (!missing.is_empty()).then(|| {
            format!(
                "Left out at {width} columns: {}. {} columns have room for all, and so have `| less -S`, --format markdown and a kept \
                 run's table.txt.",
                missing.join(", "),
                self.whole
            )
        })
    }
}

fn panels(sheet: &Sheet, width: usize) -> Vec<Panel> {
    for longest in [None, Some(LONGEST_LABEL_PART)] {
        let panel = Panel::whole(sheet, longest);
        if panel.width(sheet) <= width {
            return vec![panel];
        }
    }
    let longest = Some(LONGEST_LABEL_PART.min(width / 3));
    match &sheet.narrow {
        Narrow::LeaveOut(columns) => vec![fitting(sheet, Panel::whole(sheet, longest), columns, width)],
        Narrow::Stack => stacked(sheet, longest, width),
    }
}

/// The panel without what goes first, until it fits or nothing more may go.
fn fitting(sheet: &Sheet, mut panel: Panel, columns: &[(String, usize)], width: usize) -> Panel {
    let goes = |place: &usize| columns.get(*place).map_or(0, |(_, goes)| *goes);
    while panel.width(sheet) > width {
        let first = panel.columns.iter().map(goes).min();
        let last = panel.columns.iter().map(goes).max();
        if first == last {
            break;
        }
        panel.columns.retain(|place| Some(goes(place)) != first);
    }
    panel
}

/// As many columns beside each other as fit, then the next ones below.
fn stacked(sheet: &Sheet, longest: Option<usize>, width: usize) -> Vec<Panel> {
    let mut panels: Vec<Panel> = Vec::new();
    for place in 0..sheet.columns.len() {
        if let Some(panel) = panels.last_mut() {
            panel.columns.push(place);
            if panel.width(sheet) <= width {
                continue;
            }
            panel.columns.pop();
        }
        panels.push(Panel { columns: vec![place], longest });
    }
    panels
}

impl Panel {
    fn whole(sheet: &Sheet, longest: Option<usize>) -> Panel {
        Panel { columns: (0..sheet.columns.len()).collect(), longest }
    }

    fn width(&self, sheet: &Sheet) -> usize {
        self.grid(sheet, false).total_width()
    }

    /// The row's fields that are shown; a row without figures says why in the first of them.
    fn fields<'a>(&'a self, row: &'a TableRow) -> impl Iterator<Item = &'a Field> {
        let of = |(place, column): (usize, &usize)| &row.fields[if row.is_empty && place == 0 { 0 } else { *column }];
        self.columns.iter().enumerate().map(of)
    }

    fn grid(&self, sheet: &Sheet, colour: bool) -> Grid {
        let mut builder = Builder::default();
        let titles = self.columns.iter().map(|&place| sheet.columns[place].join("\n"));
        builder.push_record(std::iter::once(sheet.first.clone()).chain(titles));
        let mut bad = Vec::new();
        let mut rules = vec![1];
        for group in &sheet.groups {
            for row in group {
                let at = builder.count_records();
                if !row.trouble.is_empty() {
                    bad.push((at, 0));
                }
                bad.extend((1..).zip(self.fields(row)).filter(|(_, field)| field.is_bad).map(|(place, _)| (at, place)));
                builder.push_record(std::iter::once(self.label(row)).chain(self.fields(row).map(Field::shown)));
            }
            rules.push(builder.count_records());
        }
        // No rule below the last row.
        rules.pop();
        ruled(builder, &rules, &bad, colour)
    }

    /// The label and what stands behind it; trouble on a line of its own where room is short.
    fn label(&self, row: &TableRow) -> String {
        let mut label = match self.longest {
            Some(longest) => label_lines(&row.label, longest),
            None => row.label.clone(),
        };
        label.push_str(&mark(row.note));
        if !row.trouble.is_empty() {
            label.push(if self.longest.is_some() { '\n' } else { ' ' });
            label.push_str(&row.trouble);
        }
        label
    }
}

/// The records with a rule before each of those rows, labels at the left and figures at the right, and `bad` fields by row and column
/// in red where there are colours.
pub(crate) fn ruled(builder: Builder, rules: &[usize], bad: &[(usize, usize)], colour: bool) -> Grid {
    let mut grid = builder.build();
    let mut theme = Theme::from_style(Style::empty());
    for rule in rules {
        theme.insert_horizontal_line(*rule, HorizontalLine::new('─'));
    }
    grid.with(theme).with(Padding::new(0, 2, 0, 0)).with(Alignment::right()).with(AlignmentStrategy::PerLine);
    grid.modify(Rows::first(), Alignment::bottom());
    grid.modify(Columns::first(), Alignment::left());
    grid.modify(Columns::last(), Padding::zero());
    if colour {
        grid.modify(Rows::first(), Color::BOLD);
        for field in bad {
            grid.modify(*field, Color::BOLD | Color::FG_RED);
        }
    }
    grid
}

/// The grid's lines, without spaces at their ends.
pub(crate) fn put(out: &mut String, grid: &Grid) {
    for line in grid.to_string().lines() {
        out.push_str(line.trim_end());
        out.push('\n');
    }
}
