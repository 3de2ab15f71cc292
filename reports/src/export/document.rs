//! The tables with every column, their notes and caveats.

use super::column::{Column, ContenderRow, RatioRole, SUMMED, columns};
use super::head::{arrangement, head, rounds, verdicts};
use super::part::{Field, Notes, Part, Sheet, TableRow, by_role};
use super::{faults, ladder};
use crate::measure::{PEAK_RSS, STATEMENTS, THREADS, WALL};
use crate::text::{count, grouped, plain, sentence, unique};
use crate::{Analysis, Cell, Contender, Pass, Place, Role, Run, Setting, why_cut_short};

/// Why a ratio is not the quotient of the figures beside it.
const FITTED: &str = "Figures are medians of the turns. Ratios are of means over all generations, so they differ a little from the quotients \
                      of medians.";

const FAILED: &str = "failed";
/// A field of a row without figures.
const NOTHING: &str = "-";

pub(crate) struct Document {
    pub head: Vec<(String, String)>,
    /// One per scenario and arrangement.
    pub tables: Vec<PlaceTables>,
    pub notes: Notes,
    /// What a reader must know of the contenders, and of their order.
    pub caveats: Vec<String>,
}

pub(crate) struct PlaceTables {
    pub title: String,
    pub about: String,
    pub arrangement: String,
    /// The table itself, then what else was measured.
    pub sheets: Vec<Sheet>,
    pub remarks: Vec<String>,
    pub noticed: Vec<String>,
}

impl Document {
    pub fn of(analysis: &Analysis) -> Document {
        let run = analysis.run;
        let mut notes = Notes::default();
        let columns = columns(&analysis.rows);
        let tables =
            analysis.places().map(|place| At { analysis, columns: &columns, place }.table(&mut notes)).collect();
        let mut head = head(run);
        head.extend(verdicts(analysis).map(|said| ("verdicts".to_owned(), said)));
        head.extend(rounds(analysis).map(|said| ("rounds".to_owned(), said)));
        head.extend(analysis.repeats.clone().map(|said| ("attempts".to_owned(), said)));
        let caveats = run.contenders.iter().filter_map(|one| {
            let said: Vec<String> = caveats(one, analysis.cells.iter().copied()).map(|said| plain(&said)).collect();
            (!said.is_empty()).then(|| format!("{}: {}", plain(&one.label), said.join(" ")))
        });
        let libraries = run.contenders.iter().filter(|one| !one.control).filter_map(|one| libraries(run, one));
        let ours =
            [Role::Floor, Role::Noop].into_iter().filter(|role| run.contenders.iter().any(|one| one.role == *role));
        let on_demand = run.contenders.iter().filter(|one| !one.control).flat_map(builds);
        let differences = run.differences.iter().map(|difference| plain(difference));
        let caveats =
            analysis.changes().into_iter().chain(caveats).chain(libraries).chain(on_demand).chain(differences);
        let caveats = caveats.chain(ours.map(|role| is(role).to_owned())).collect();
        Document { head, tables, notes, caveats }
    }

    pub fn wide(&mut self, analysis: &Analysis) -> Vec<Part> {
        if analysis.run.plan.faults {
            return faults::every_figure(analysis);
        }
        if analysis.run.plan.ladder.is_some() {
            return ladder::steps(analysis);
        }
        let mut parts = Vec::new();
        for table in &mut self.tables {
            parts.push(Part::Title(table.title.clone()));
            parts.extend(table.sheets.drain(..).map(Part::Sheet));
            parts.extend(Part::list(table.remarks.clone()));
        }
        let is_fitted = analysis.rows.iter().any(|row| row.interval.is_some());
        parts.extend(is_fitted.then(|| Part::Text(FITTED.to_owned())));
        parts.extend(Notes(self.notes.0.clone()).part());
        parts
    }

    /// How it was measured, and what a reader must know of the contenders.
    pub fn about(&self) -> Vec<Part> {
        let scenarios = self.tables.iter().map(|table| format!("{}: {}", table.title, table.about));
        let arrangements = self.tables.iter().map(|table| table.arrangement.clone());
        let noticed =
            self.tables.iter().flat_map(|table| table.noticed.iter().map(|said| format!("{}: {said}", table.title)));
        let said = unique(scenarios.chain(arrangements).chain(noticed).chain(self.caveats.iter().cloned()));
        std::iter::once(Part::Pairs(self.head.clone())).chain(Part::list(said)).collect()
    }
}

/// What makes the figures doubtful or few: first what belongs above everything else, then the rest.
pub(crate) fn doubts(analysis: &Analysis) -> [Vec<Part>; 2] {
    let run = analysis.run;
    let mut parts: Vec<Part> = analysis.warnings.iter().map(|warning| Part::Warning(plain(warning))).collect();
    parts.extend(why_cut_short(run).map(|why| Part::Text(sentence(&why))));
    let later = parts.split_off(usize::from(analysis.has_too_few_rounds()));
    [parts, later]
}

pub(crate) fn is(role: Role) -> &'static str {
    match role {
        Role::Driver => "A driver is a CQL client library.",
        Role::Floor => "floor is a minimal client of our own: the least that a client can cost on this machine.",
        Role::Noop => "noop sends nothing: what the harness itself costs.",
    }
}

pub(crate) struct At<'a> {
    pub analysis: &'a Analysis<'a>,
    pub columns: &'a [&'static Column],
    pub place: Place<'a>,
}

impl At<'_> {
    fn table(&self, notes: &mut Notes) -> PlaceTables {
        let Place { scenario, arrangement: of } = self.place;
        let run = self.analysis.run;
        let about = std::iter::once(&scenario.about).chain(&scenario.asked).map(|text| plain(text));
        let mut table = PlaceTables {
            title: format!("{}{}", plain(&scenario.name), run.on(&of.id)),
            about: about.collect::<Vec<_>>().join(" "),
            arrangement: arrangement(of),
            sheets: vec![self.main(notes)],
            remarks: Vec::new(),
            noticed: Vec::new(),
        };
        let mut noticed = Vec::new();
        // In the order in which they are shown.
        let mut contenders: Vec<&Contender> = run.contenders.iter().collect();
        contenders.sort_by_key(|one| one.role != Role::Driver);
        for contender in contenders {
            self.remark(contender, &mut table.remarks, &mut noticed);
        }
        let said = |(finding, mut labels): (String, Vec<String>)| {
            labels.dedup();
            format!("{}: {finding}", labels.join(", "))
        };
        table.noticed = grouped(noticed).into_iter().map(said).collect();
        table.remarks.extend(self.fewer_blocks());
        table.sheets.extend(self.more(notes));
        table
    }

    fn main(&self, notes: &mut Notes) -> Sheet {
        let groups = by_role(self.analysis.run.contenders.iter(), |contender| {
            let cells = self.cells_of(contender, Pass::Timing);
            let fields = self.fields(contender, self.analysis.run.plan.total.map(|_| &*cells), notes);
            // A row without any figure says so in its first field already.
            let trouble = trouble(&cells);
            let trouble = if fields[0].text == trouble && trouble == FAILED { String::new() } else { trouble };
            let is_empty = fields.iter().skip(1).all(|field| field.text == NOTHING);
            TableRow { trouble, is_empty, ..TableRow::of(&contender.label, fields) }
        });
        Sheet::of("", "contender", self.columns.iter().map(|column| column.title), groups)
    }

    /// One per column, or a word for the whole row. What Linux' `time` prints are the medians, or the sums over the cells that are given.
    pub fn fields(&self, contender: &Contender, summed: Option<&[&Cell]>, notes: &mut Notes) -> Vec<Field> {
        let instead = summed.map(|cells| {
            let sum = |meter: &str| cells.iter().filter_map(|cell| cell.get(meter)).reduce(|sum, one| sum + one);
            SUMMED.into_iter().filter_map(|meter| Some((meter, sum(meter)?))).collect()
        });
        let row = ContenderRow { instead, ..self.row(contender) };
        let left_out = self.place.scenario.left_out.contains_key(&row.contender.id);
        let state = match row.figures.get(WALL).or_else(|| row.figures.get(STATEMENTS)) {
            Some(figure) if figure.median.is_some() => None,
            _ if row.contender.unavailable.is_some() => Some("missing"),
            _ if left_out => Some("n/a"),
            Some(figure) if figure.failed.is_some() => Some(FAILED),
            _ => Some("not run"),
        };
        let Some(state) = state else {
            return self.columns.iter().map(|column| column.entry(&row).field(notes)).collect();
        };
        let mut fields = vec![Field::of(NOTHING); self.columns.len()];
        fields[0] = if left_out { Field::of(state) } else { Field::bad(state) };
        fields
    }

    pub fn row<'s>(&'s self, contender: &'s Contender) -> ContenderRow<'s> {
        let analysis = self.analysis;
        let is_own = |one: &&Contender| one.role == Role::Noop && one.id.starts_with("noop");
        let noop = analysis.run.contenders.iter().find(is_own);
        let of_noop = |meter: &str| analysis.row(self.place, noop?, meter)?.median;
        let ratio_role = match analysis.reference {
            _ if contender.role != Role::Driver => RatioRole::Apart,
            Some(reference) if reference.id == contender.id => RatioRole::Reference,
            Some(_) if analysis.is_control(contender) => RatioRole::Control,
            _ => RatioRole::Compared,
        };
        ContenderRow {
            contender,
            figures: analysis.rows_of(self.place, contender).map(|row| (row.meter.as_str(), row)).collect(),
            instead: None,
            errors: self.cells_of(contender, Pass::Timing).iter().map(|cell| cell.errors()).sum(),
            noop_peak: of_noop(PEAK_RSS),
            noop_threads: of_noop(THREADS),
            ratio_role,
        }
    }

    pub fn cells_of(&self, contender: &Contender, pass: Pass) -> Vec<&Cell> {
        self.analysis.cells_of(self.place, contender, pass)
    }

    /// How many blocks the intervals are of, if not all.
    fn fewer_blocks(&self) -> Option<String> {
        let run = self.analysis.run;
        let mut here = run.contenders.iter().flat_map(|contender| self.analysis.rows_of(self.place, contender));
        let blocks = here.find_map(|row| row.blocks.filter(|_| row.is_primary()))?;
        (blocks < run.blocks() as usize && !run.is_open()).then(|| {
            format!(
                "The intervals are of {blocks} of {}: those in which every compared driver finished.",
                count(run.blocks().into(), "generation"),
            )
        })
    }

    /// Why the contender's row is missing, failed or void, and what was noticed, each with the contender's label.
    fn remark(&self, contender: &Contender, remarks: &mut Vec<String>, noticed: &mut Vec<(String, String)>) {
        let label = plain(&contender.label);
        if let Some(why) = &contender.unavailable {
            remarks.push(format!("{label} is missing: {}", plain(why)));
        }
        if let Some(why) = self.place.scenario.left_out.get(&contender.id).filter(|_| !contender.control) {
            remarks.push(format!("{label} is not asked: {}", plain(why)));
        }
        let mut said: Vec<&String> = Vec::new();
        for pass in Pass::ALL {
            let mine = self.cells_of(contender, pass);
            let of = |some: usize| match (pass, mine.len()) {
                (Pass::Timing, all) if some == all => String::new(),
                (Pass::Timing, all) => format!(" in {some} of {all} turns"),
                _ => format!(" in the {} pass", pass.name()),
            };
            let failed = mine.iter().filter_map(|cell| cell.failed.as_ref()).collect::<Vec<_>>();
            let void = mine.iter().filter_map(|cell| cell.void.as_ref()).collect();
            for (is, all) in [("failed", failed), ("is void", void)] {
                if let Some(why) = all.first().filter(|why| !said.contains(why)) {
                    said.push(why);
                    remarks.push(format!("{label} {is}{}: {}", of(all.len()), plain(why)));
                }
            }
            noticed.extend(mine.iter().flat_map(|cell| &cell.findings).map(|text| (plain(text), label.clone())));
        }
    }
}

/// How many of the cells give no figure to compare, for example `void` or `failed 1/3`; empty if all count.
pub(crate) fn trouble(cells: &[&Cell]) -> String {
    let all = cells.len();
    let part = |what: &str, some: usize| match some {
        0 => None,
        _ if some == all => Some(what.to_owned()),
        _ => Some(format!("{what} {some}/{all}")),
    };
    let failed = cells.iter().filter(|cell| cell.failed.is_some()).count();
    let void = cells.iter().filter(|cell| cell.failed.is_none() && cell.void.is_some()).count();
    [part("void", void), part(FAILED, failed)].into_iter().flatten().collect::<Vec<_>>().join(", ")
}

/// What a reader must know of a contender: its own caveats, and the settings that it did not take as asked.
pub(crate) fn caveats<'a>(
    contender: &'a Contender,
    cells: impl Iterator<Item = &'a Cell>,
) -> impl Iterator<Item = String> + 'a {
    // A control's are those of the contender that it repeats.
    let (own, settings) = match contender.control {
        true => (&[][..], &[][..]),
        false => (contender.caveats.as_slice(), settings(contender, cells)),
    };
    let settings = settings
        .iter()
        .filter(|setting| !setting.as_asked)
        .map(|setting| format!("Its setting `{}` is not as asked for ({}).", setting.name, setting.value));
    let control = contender
        .control
        .then(|| contender.label.rsplit_once('#').map_or(contender.label.as_str(), |(of, _)| of))
        .map(|of| format!("It is {of} once more, as a control."));
    own.iter().cloned().chain(settings).chain(control)
}

/// The settings of the contender's first cell that ended; without one, those that its worker announced.
pub(crate) fn settings<'a>(contender: &'a Contender, mut cells: impl Iterator<Item = &'a Cell>) -> &'a [Setting] {
    let ended = cells.find(|cell| cell.contender == contender.id && cell.failed.is_none());
    ended.map_or(&contender.settings, |cell| cell.settings)
}

/// How a worker was built that was not there, and in how many orders of functions it runs.
pub(crate) fn builds(contender: &Contender) -> impl Iterator<Item = String> {
    let orders = (!contender.layouts.is_empty()).then(|| {
        let (label, orders) = (plain(&contender.label), contender.layouts.len());
        format!("{label} was linked with its functions in {orders} orders; its generations take turns with them.")
    });
    on_demand(contender).into_iter().chain(orders)
}

fn on_demand(contender: &Contender) -> Option<String> {
    let built = contender.built.as_ref()?;
    let source = match (&built.revision, built.dirty) {
        (Some(revision), true) => format!(" at commit {}, with changes that are in none,", plain(revision)),
        (Some(revision), false) => format!(" at commit {}", plain(revision)),
        (None, _) => String::new(),
    };
    Some(format!(
        "{}{source} was built on demand as {}, with the adapter {}; its lock file is {}.",
        plain(&contender.label),
        plain(&contender.id),
        plain(&built.adapter),
        plain(&built.lock_file)
    ))
}

/// The contender's language, if it is not Rust, and the exact versions of its libraries; its compiler, too, if it differs from cqldyno's.
pub(crate) fn libraries(run: &Run, contender: &Contender) -> Option<String> {
    let name = |library: &crate::Library| {
        let origin = library.origin.as_ref().map(|origin| format!(" ({})", plain(origin))).unwrap_or_default();
        format!("{} {}{origin}", plain(&library.name), plain(&library.version))
    };
    let libraries: Vec<String> = contender.libraries.iter().map(name).collect();
    let compiler = match contender.compiler.as_str() {
        known if known.is_empty() || known == run.environment.compiler => String::new(),
        other => format!(", built with {}", plain(other)),
    };
    let language = contender.language.iter().map(|language| format!("is used from {}", plain(language)));
    let runs = (!libraries.is_empty()).then(|| format!("runs on {}{compiler}", libraries.join(", ")));
    let said: Vec<String> = language.chain(runs).collect();
    (!said.is_empty()).then(|| format!("{} {}.", plain(&contender.label), said.join(" and ")))
}

#[cfg(test)]
mod tests {
    use crate::export::shown::markdown;
    use crate::sample;

    #[test]
    fn a_contender_says_in_how_many_orders_of_functions_it_was_linked() {
        let (mut run, cells) = sample::run();
        let said = "was linked with its functions in 6 orders; its generations take turns with them.";
        assert!(!markdown(&run, &cells).contains(said));
        run.contenders[0].layouts = vec!["one".to_owned(); 6];
        assert_eq!(markdown(&run, &cells).matches(said).count(), 1);
    }
}
