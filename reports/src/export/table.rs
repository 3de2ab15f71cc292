//! Tables for a terminal.

use tabled::Table as Grid;
use tabled::builder::Builder;
use tabled::settings::formatting::AlignmentStrategy;
use tabled::settings::object::{Columns, Rows};
use tabled::settings::style::HorizontalLine;
use tabled::settings::themes::Theme;
use tabled::settings::{Alignment, Color, Padding, Style};

use crate::document::{Document, Narrow, Sheet, TableRow};
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
    let document = Document::against(run, cells, reference);
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
        alarm(&mut out, warning, width, look.colour);
    }
    for sentence in &document.overview {
        paragraph(&mut out, sentence, width, 2);
    }
    let tables_start = out.len();
    for table in &document.tables {
        out.push('\n');
        let title = wrap(&format!("{}: {}", table.title, table.about), width, 2);
        out.push_str(&if look.colour { format!("\u{1b}[1m{title}\u{1b}[0m\n") } else { format!("{title}\n") });
        paragraph(&mut out, &table.arrangement, width, 2);
        for sheet in &table.sheets {
            draw(&mut out, sheet, look);
        }
        if !table.remarks.is_empty() {
            out.push('\n');
        }
        for remark in &table.remarks {
            paragraph(&mut out, remark, width, 2);
        }
    }
    // A note on a column that was left out is left out, too.
    let is_referred_to = |number: usize| out[tables_start..].contains(&format!("[{number}]"));
    let notes: Vec<String> = (1..)
        .zip(&document.notes)
        .filter(|(number, _)| is_referred_to(*number))
        .map(|(number, note)| format!("[{number}] {note}"))
        .collect();
    if !notes.is_empty() || !document.remarks.is_empty() {
        out.push('\n');
    }
    for note in &notes {
        paragraph(&mut out, note, width, 4);
    }
    for remark in &document.remarks {
        paragraph(&mut out, remark, width, 2);
    }
    out
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
    let width = look.width.max(LEAST_WIDTH);
    out.push('\n');
    if !sheet.title.is_empty() {
        paragraph(out, &format!("{}:", sheet.title), width, 2);
    }
    let panels = if look.all_columns { vec![Panel::whole(sheet, None)] } else { panels(sheet, width) };
    for (nth, panel) in panels.iter().enumerate() {
        if nth > 0 {
            out.push('\n');
        }
        for line in panel.grid(look.colour).to_string().lines() {
            out.push_str(line.trim_end());
            out.push('\n');
        }
    }
    if let Some(sentence) = left_out(sheet, &panels, width) {
        paragraph(out, &sentence, width, 2);
    }
}

/// What is not shown, and where it is.
fn left_out(sheet: &Sheet, panels: &[Panel], width: usize) -> Option<String> {
    let Narrow::LeaveOut(names) = &sheet.narrow else { return None };
    let is_shown = |place: &usize| panels.iter().any(|panel| panel.columns.contains(place));
    let missing: Vec<&str> = (0..names.len()).filter(|place| !is_shown(place)).map(|place| &*names[place].0).collect();
    (!missing.is_empty()).then(|| {
        format!(
            "Left out at {width} columns: {}. {} columns have room for all, and so have `| less -S`, --format markdown and a kept \
             run's table.txt.",
            missing.join(", "),
            Panel::whole(sheet, Some(LONGEST_LABEL_PART)).width()
        )
    })
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

/// Some of the columns, and how labels stand beside them.
struct Panel<'a> {
    sheet: &'a Sheet,
    columns: Vec<usize>,
    /// The longest part of a label; `None` leaves labels whole.
    longest: Option<usize>,
}

fn panels(sheet: &Sheet, width: usize) -> Vec<Panel<'_>> {
    for longest in [None, Some(LONGEST_LABEL_PART)] {
        let panel = Panel::whole(sheet, longest);
        if panel.width() <= width {
            return vec![panel];
        }
    }
    let longest = Some(LONGEST_LABEL_PART.min(width / 3));
    match &sheet.narrow {
        Narrow::LeaveOut(columns) => vec![fitting(Panel::whole(sheet, longest), columns, width)],
        Narrow::Stack => stacked(sheet, longest, width),
    }
}

/// The panel without what goes first, until it fits or nothing more may go.
fn fitting<'a>(mut panel: Panel<'a>, columns: &[(String, usize)], width: usize) -> Panel<'a> {
    let goes = |place: &usize| columns.get(*place).map_or(0, |(_, goes)| *goes);
    while panel.width() > width {
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
fn stacked(sheet: &Sheet, longest: Option<usize>, width: usize) -> Vec<Panel<'_>> {
    let mut panels: Vec<Panel> = Vec::new();
    for place in 0..sheet.columns.len() {
        if let Some(panel) = panels.last_mut() {
            panel.columns.push(place);
            if panel.width() <= width {
                continue;
            }
            panel.columns.pop();
        }
        panels.push(Panel { sheet, columns: vec![place], longest });
    }
    panels
}

impl<'a> Panel<'a> {
    fn whole(sheet: &'a Sheet, longest: Option<usize>) -> Panel<'a> {
        Panel { sheet, columns: (0..sheet.columns.len()).collect(), longest }
    }

    fn width(&self) -> usize {
        self.grid(false).total_width()
    }

    fn grid(&self, colour: bool) -> Grid {
        let mut builder = Builder::default();
        let titles = self.columns.iter().map(|&place| self.sheet.columns[place].join("\n"));
        builder.push_record(std::iter::once(self.sheet.first.clone()).chain(titles));
        let mut bad = Vec::new();
        let mut rules = vec![1];
        for group in &self.sheet.groups {
            for row in group {
                if !row.trouble.is_empty() {
                    bad.push((builder.count_records(), 0));
                }
                let mut record = vec![self.label(row)];
                for (place, &column) in self.columns.iter().enumerate() {
                    // A row without figures says why in the first field that is shown.
                    let field = &row.fields[if row.is_empty && place == 0 { 0 } else { column }];
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
