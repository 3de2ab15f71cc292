//! What the generated pages say of runs, contenders and rows.

use cqldyno_reports::measure::CPU_PER_STATEMENT;
use cqldyno_reports::{Analysis, Carried, Contender, Place, Role, Run, SummaryRow, escape, plain};

pub(crate) fn drivers(run: &Run) -> impl Iterator<Item = &Contender> {
    run.contenders.iter().filter(|one| one.role == Role::Driver && !one.control)
}

/// The server of a run, as sentences name it.
pub(crate) fn server(run: &Run) -> String {
    if run.plan.target.embedded { "the embedded cluster".to_owned() } else { escape(&plain(&run.plan.target.id)) }
}

/// The driver's row on CPU time in that place; drivers of two runs are told by label.
pub(crate) fn row_of<'s>(analysis: &'s Analysis, place: Place, label: &str) -> Option<&'s SummaryRow> {
    let driver = analysis.run().contenders.iter().find(|one| one.label == label)?;
    analysis.row(place, driver, CPU_PER_STATEMENT)
}

pub(crate) fn code(text: &str) -> String {
    format!("`{}`", plain(text).replace('`', "'"))
}

pub(crate) fn line(out: &mut String, fields: &[String]) {
    out.push_str(&format!("| {} |\n", fields.join(" | ")));
}

/// The ratio with interval and verdict, if it has one.
pub(crate) fn ratio(row: &SummaryRow) -> String {
    row.ratio_within(2, "-").map(|ratio| format!("{ratio} {}", verdict(row))).unwrap_or_default()
}

pub(crate) fn verdict(row: &SummaryRow) -> String {
    match (row.verdict, row.verdict_name()) {
        (Some(one), Some(name)) if one.differs() => format!("**{name}**"),
        (_, Some(name)) => name,
        (_, None) => "no verdict".to_owned(),
    }
}

/// The same scenario in the same arrangement of another run.
pub(crate) fn same<'a>(analysis: &Analysis<'a>, place: Place) -> Option<Place<'a>> {
    let is_it =
        |one: &Place| (&one.scenario.name, &one.arrangement.id) == (&place.scenario.name, &place.arrangement.id);
    analysis.places().find(is_it)
}

/// The driver's quotient in that place.
pub(crate) fn find<'a>(carried: &'a [Carried], place: Place, label: &str) -> Option<&'a Carried> {
    carried.iter().find(|one| {
        one.label == label && one.scenario == place.scenario.name && one.arrangement == place.arrangement.id
    })
}
