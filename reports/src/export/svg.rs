//! A chart of a run, as a file of its own.

use std::io::Write;

use super::chart::view::{Faces, View};
use super::chart::{Chart, Detail, Here, cost_chart, history, ladders, sweep};
use super::exporter::{ExportError, Exporter, Look};
use super::releases::panels;
use crate::{Analysis, Combined, History, Recorded, Sweep, plain};

pub(super) struct Svg;

impl Exporter for Svg {
    fn names(&self) -> [&'static str; 3] {
        ["svg", "The run's first chart; `report --chart` picks another one", "chart.svg"]
    }

    fn lacks(&self, analysis: &Analysis) -> Option<&'static str> {
        charts(analysis).next().is_none().then_some("it has no chart, only tables; use another format")
    }

    fn write(&self, analysis: &Analysis, look: Look, out: &mut dyn Write) -> Result<(), ExportError> {
        let chart = charts(analysis).nth(look.chart).or_else(|| charts(analysis).next());
        let text = chart.and_then(|chart| chart.file());
        Ok(out.write_all(text.unwrap_or_default().as_bytes())?)
    }

    /// CPU time in all runs of one plan; runs of several plans have no chart together.
    fn several(&self, named: &[(String, &Recorded)], _: Look) -> Option<Result<String, ExportError>> {
        let analyses = named.iter().map(|(name, one)| (name.clone(), Analysis::new(&one.run, &one.cells)));
        let combined = Combined::of(&analyses.collect::<Vec<_>>()).ok()?;
        cost_chart(&combined.analysis, combined.runs).file().map(Ok)
    }
}

/// The charts of a run, what it is about first; each names its place. Those of a place are drawn when they are asked for. A run of bad
/// days has none.
fn charts(analysis: &Analysis) -> impl Iterator<Item = Chart> {
    let (run, faces) = (analysis.run, Faces::of(analysis.run));
    let mut all = ladders(run, analysis.every_cell, &faces, true);
    for one in Sweep::all(analysis) {
        all.extend(sweep(&one, &faces, true).into_iter().map(|chart| chart.of_place(&one.name())));
    }
    if let Some(group) = History::of_releases(analysis) {
        all.extend(panels(&group).map(|panel| history::chart(panel, &group.runs)));
    }
    if all.is_empty() {
        all.push(cost_chart(analysis, 1));
    }
    let has_own = !run.plan.exact
        && !run.plan.faults
        && run.plan.ladder.is_none()
        && run.scenarios.iter().all(|one| one.point.is_none());
    let of_places = analysis.places().filter(move |_| has_own).flat_map(move |place| {
        let name = format!("{} on {}", plain(&place.scenario.name), plain(&place.arrangement.id));
        let here = Here::of(analysis, place, &faces, Detail::Full).charts(&[View::of(analysis)]);
        here.into_iter().map(move |chart| chart.of_place(&name))
    });
    let most = if run.plan.faults { 0 } else { usize::MAX };
    all.into_iter().chain(of_places).filter(|chart| chart.picture.is_ok()).take(most)
}

/// What the charts of a run show, in their order; [`Look::chart`] picks one of them.
pub fn chart_titles(analysis: &Analysis) -> Vec<String> {
    charts(analysis).map(|chart| chart.title.replace('\n', ", ")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sample::rich::{hostile, rich};
    use crate::{LadderInfo, sample};

    #[test]
    fn the_charts_of_a_run_are_files_of_their_own_in_one_palette() {
        let (run, cells) = rich();
        let analysis = Analysis::new(&run, &cells);
        let titles = chart_titles(&analysis);
        assert!(titles[0].starts_with("CPU time per statement, in microseconds"), "{titles:?}");
        assert!(titles.iter().any(|title| title == "Statements per second over time, writes on multi:2"), "{titles:?}");
        for (chart, title) in titles.iter().enumerate() {
            let svg = Svg.one(&analysis, Look { chart, ..Look::default() }).unwrap();
            assert!(svg.starts_with("<svg xmlns=\"http://www.w3.org/2000/svg\"") && svg.ends_with("</svg>\n"), "{svg}");
            assert!(svg.contains("--p0: #1f5fbf") && svg.contains("prefers-color-scheme: dark"), "{title}");
            assert!(!svg.contains("href") && !svg.contains("<script"), "{title}");
        }
        let first = Svg.one(&analysis, Look::default()).unwrap();
        assert_ne!(first, Svg.one(&analysis, Look { chart: 1, ..Look::default() }).unwrap());
    }

    #[test]
    fn names_from_outside_are_only_text() {
        let (run, cells) = hostile();
        let analysis = Analysis::new(&run, &cells);
        for chart in 0..chart_titles(&analysis).len() {
            let svg = Svg.one(&analysis, Look { chart, ..Look::default() }).unwrap();
            assert!(!svg.contains("<script") && !svg.contains("<img"), "{svg}");
        }
    }

    #[test]
    fn a_run_that_counts_has_a_chart_of_counts_and_one_of_bad_days_has_none() {
        let (mut run, cells) = sample::run();
        run.plan.exact = true;
        let counted = Analysis::new(&run, &cells);
        assert_eq!(chart_titles(&counted), ["System calls per statement"]);
        assert_eq!(Svg.lacks(&counted), None);
        run.plan.faults = true;
        assert!(Svg.lacks(&Analysis::new(&run, &cells)).is_some_and(|why| why.contains("use another format")));
        (run.plan.faults, run.plan.exact) = (false, false);
        run.plan.ladder = Some(LadderInfo { meter: "response_p99".to_owned(), below_us: 5e3, lasts_ms: 1_000 });
        assert!(Svg.lacks(&Analysis::new(&run, &cells)).is_some(), "no rate was held");
    }
}
