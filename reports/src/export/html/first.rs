//! The first table: a bar per contender in every scenario and arrangement, for one measure at a time.

use maud::{Markup, html};

use super::fields::{Fields, verdict};
use super::sections::{field, who};
use crate::export::chart::view::{Faces, View};
use crate::export::part::{Field, Notes};
use crate::export::short::shown;
use crate::measure::{CPU_PER_STATEMENT, SERVER_CPU_PER_STATEMENT, SYSCALLS_PER_STATEMENT, THROUGHPUT};
use crate::quantity::{three_digits, whole};
use crate::{Bottleneck, Contender, Place, SummaryRow, Verdict, plain};

pub struct Lens {
    pub name: &'static str,
    unit: &'static str,
    pub meter: &'static str,
    show: fn(f64) -> String,
    less_is_better: bool,
    missing: &'static str,
}

const fn lens(name: &'static str, unit: &'static str, meter: &'static str, missing: &'static str) -> Lens {
    Lens { name, unit, meter, show: three_digits, less_is_better: true, missing }
}

/// The first is shown before a reader chooses.
pub const LENSES: [Lens; 5] = [
    lens(
        "CPU time",
        "Microseconds per statement; less is better.",
        CPU_PER_STATEMENT,
        "CPU time was not measured in this run.",
    ),
    Lens {
        show: whole,
        less_is_better: false,
        ..lens(
            "Statements/s",
            "Statements per second; more is better.",
            THROUGHPUT,
            "Statements per second were not measured in this run.",
        )
    },
    lens(
        "Server's CPU time",
        "Microseconds that the server needs per statement of this driver; less is better.",
        SERVER_CPU_PER_STATEMENT,
        "The server's CPU time was not measured in this run.",
    ),
    lens(
        "Latency",
        "Microseconds within which 99 % of the statements were answered, at a fixed rate; less is better.",
        "response_p99",
        "This run has no latency pass.",
    ),
    lens(
        "System calls",
        "System calls per statement; fewer are better.",
        SYSCALLS_PER_STATEMENT,
        "This run has no counting pass.",
    ),
];

/// The fields of one view: per contender the figure (`o-`) and its comparison (`r-`).
pub fn fields(view: &View, notes: &mut Notes, all: &mut Fields) {
    let analysis = view.analysis;
    for (l, lens) in LENSES.iter().enumerate() {
        for (p, place) in analysis.places().enumerate() {
            for (c, contender) in analysis.run.contenders.iter().enumerate() {
                let row = analysis.row(place, contender, lens.meter);
                let is_reference = analysis.reference.is_some_and(|one| one.id == contender.id);
                all.insert(format!("o-{l}-{p}-{c}"), figure(lens, row));
                all.insert(format!("r-{l}-{p}-{c}"), comparison(row, is_reference, notes));
            }
        }
    }
}

pub fn figure(lens: &Lens, row: Option<&SummaryRow>) -> Field {
    match row {
        Some(SummaryRow { void: Some(_), .. }) => Field::bad("void"),
        Some(SummaryRow { failed: Some(_), .. }) => Field::bad("failed"),
        Some(SummaryRow { level: Some(level), .. }) => Field::of((lens.show)(*level)),
        _ => Field::of("–"),
    }
}

pub fn comparison(row: Option<&SummaryRow>, is_reference: bool, notes: &mut Notes) -> Field {
    match row {
        Some(SummaryRow { level: None, .. }) | None => Field::default(),
        Some(_) if is_reference => Field { sub: "reference".to_owned(), ..Field::default() },
        Some(row) => {
            let Some(ratio) = row.ratio_within(3, " to ") else {
                return Field { sub: verdict(row).to_owned(), ..Field::default() };
            };
            let class = row.verdict.filter(|one| !row.exploratory && one.holds());
            let class = class.map_or("", Verdict::name).to_owned();
            let sub = row.verdict_name().unwrap_or_else(|| verdict(row).to_owned());
            let note = row.contradicted.as_ref().filter(|_| row.doubtful).map(|why| notes.number(why));
            Field { sub, note, class, ..Field::of(ratio) }
        }
    }
}

/// The switch and a table per measure. Radio buttons and the stylesheet do it all, so that it works without the script.
pub fn first(view: &View, faces: &Faces, fields: &Fields) -> Markup {
    let analysis = view.analysis;
    let shown = shown(analysis);
    let has_intervals = |lens: &Lens| analysis.rows.iter().any(|row| row.meter == lens.meter && row.interval.is_some());
    html! {
        section.first aria-labelledby="first" {
            h2 id="first" { "What each driver costs" }
            div.lenses role="radiogroup" aria-label="Measure" {
                @for (l, lens) in LENSES.iter().enumerate() {
                    label { input type="radio" name="lens" id={ "lens-" (l) } checked[l == 0]; " " (lens.name) }
                }
            }
            @for (l, lens) in LENSES.iter().enumerate() {
                @let level = |place: Place, one: &Contender| analysis.row(place, one, lens.meter)?.level;
                @let most = analysis.places().flat_map(|place| shown.iter().filter_map(move |one| level(place, one))).fold(0.0, f64::max);
                div class={ "by-lens by-lens-" (l) } {
                    @if most > 0.0 {
                        p.muted { (lens.unit) @if has_intervals(lens) { " At the right, the ratio to the reference with its 95 % interval." } }
                        table.bars {
                            caption.unseen { (lens.name) " by scenario and contender" }
                            thead.unseen { tr { th scope="col" { "contender" } th scope="col" { "bar" } th scope="col" { (lens.name) } th scope="col" { "ratio" } } }
                            @for (p, place) in analysis.places().enumerate() {
                                @let s = analysis.run.scenarios.iter().position(|one| one.name == place.scenario.name).unwrap_or(0);
                                tbody class={ "s-" (s) } {
                                    tr.place { th colspan="4" scope="rowgroup" {
                                        (plain(&place.scenario.name))
                                        @if analysis.run.plan.arrangements.len() > 1 { span { " on " (plain(&place.arrangement.id)) } }
                                    } }
                                    @for one in in_order(&shown, lens, |one| level(place, one)) {
                                        @let c = faces.place(&one.id);
                                        @let id = format!("{l}-{p}-{c}");
                                        tr class={ "c-" (c) } {
                                            th.who scope="row" {
                                                (who(faces, c))
                                                @if one.unavailable.is_some() { " " span.badge.bad { "missing" } }
                                                @if analysis.row(place, one, lens.meter).is_some_and(|row| row.bottleneck == Some(Bottleneck::Server)) {
                                                    " " span.badge.warn { "server-bound" }
                                                }
                                            }
                                            td.bar { (bar(faces, c, level(place, one).unwrap_or(0.0) / most)) }
                                            (field(&format!("o-{id}"), "", "", fields.get(&format!("o-{id}"))))
                                            (field(&format!("r-{id}"), "ratio", "", fields.get(&format!("r-{id}"))))
                                        }
                                    }
                                }
                            }
                        }
                    } @else { p.muted { (lens.missing) } }
                }
            }
        }
    }
}

/// The best first, then who has no figure.
fn in_order<'a>(shown: &[&'a Contender], lens: &Lens, level: impl Fn(&Contender) -> Option<f64>) -> Vec<&'a Contender> {
    let mut shown = shown.to_vec();
    let sign = if lens.less_is_better { 1.0 } else { -1.0 };
    let place = |one: &Contender| level(one).map_or(f64::INFINITY, |level| sign * level);
    shown.sort_by(|a, b| place(a).total_cmp(&place(b)));
    shown
}

/// A bar in the contender's colour; the figure beside it says the same in words.
fn bar(faces: &Faces, place: usize, share: f64) -> Markup {
    html! {
        svg class={ "bar " (faces.classes[place]) } aria-hidden="true" viewBox="0 0 1000 10" preserveAspectRatio="none" {
            rect.f width=(format!("{:.0}", share * 1000.0)) height="10" {}
        }
    }
}
