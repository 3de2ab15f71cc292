//! The order of the drivers, as far as it is known.
//!
//! Against the reference a verdict tells the order. Two others have an order if their intervals do not overlap, even when one is
//! moved by the band within which two drivers are the same.

use crate::band::{self, BAND};
use crate::measure::CPU_PER_STATEMENT;
use crate::quantity::{fixed, percent, whole};
use crate::row::Place;
use crate::text::{count, list, plain};
use crate::{Analysis, ArrangementInfo, Better, Contender, Run, Verdict, short};

pub(crate) struct Standing<'a> {
    pub contender: &'a Contender,
    interval: [f64; 2],
    /// `None` of the reference itself.
    verdict: Option<Verdict>,
}

pub(crate) struct Ranking<'a> {
    pub standings: Vec<Standing<'a>>,
    run: &'a Run,
    arrangement: String,
    better: Better,
    /// What two contenders must differ by.
    band: fn(&Run, &str, &Contender, &Contender) -> f64,
}

impl<'a> Ranking<'a> {
    fn is_before(&self, one: &Standing, other: &Standing) -> bool {
        let band = (self.band)(self.run, &self.arrangement, one.contender, other.contender);
        let is_below = |one: [f64; 2], other: [f64; 2]| one[1] * (1.0 + band) < other[0];
        match (one.verdict, other.verdict) {
            (_, None) => one.verdict.is_some_and(Verdict::is_better),
            (None, Some(verdict)) => verdict.is_worse(),
            _ if self.better == Better::Higher => is_below(other.interval, one.interval),
            _ => is_below(one.interval, other.interval),
        }
    }

    /// Those of which none is known to be behind another; the first is one of them.
    pub fn first(&self) -> Vec<&'a Contender> {
        let is_first = |one: &&Standing| !self.standings.iter().any(|other| self.is_before(other, one));
        self.standings.iter().filter(is_first).map(|one| one.contender).collect()
    }

    /// Whether all verdicts are that there is no difference.
    pub fn is_same(&self) -> bool {
        self.standings.iter().filter_map(|one| one.verdict).all(|verdict| verdict == Verdict::Same)
    }

    /// The widest band of a driver and the reference.
    pub fn band(&self) -> f64 {
        let reference = self.standings.iter().find(|one| one.verdict.is_none());
        let band =
            |one: &Standing, base: &Standing| band::between(self.run, &self.arrangement, one.contender, base.contender);
        let bands = reference.into_iter().flat_map(|base| self.standings.iter().map(move |one| band(one, base)));
        bands.fold(BAND, f64::max)
    }

    /// Whether the driver is in the order.
    pub fn has(&self, contender: &Contender) -> bool {
        self.find(contender).is_some()
    }

    fn find(&self, contender: &Contender) -> Option<&Standing<'a>> {
        self.standings.iter().find(|one| one.contender.id == contender.id)
    }

    /// For example `2nd of 3`, or `1st to 2nd of 3` if an order is not known.
    fn place(&self, contender: &Contender) -> Option<String> {
        let mine = self.find(contender)?;
        let before = self.standings.iter().filter(|other| self.is_before(other, mine)).count();
        let after = self.standings.iter().filter(|other| self.is_before(mine, other)).count();
        let (first, last) = (before + 1, self.standings.len() - after);
        let range = if first == last { nth(first) } else { format!("{} to {}", nth(first), nth(last)) };
        Some(format!("{range} of {}", self.standings.len()))
    }
}

impl<'a> Analysis<'a> {
    /// The order of the drivers by that meter here: the reference and the drivers with a verdict, without controls.
    pub(crate) fn ranking(&self, place: Place, meter: &str) -> Ranking<'a> {
        let run = self.run;
        let standing = |contender: &'a Contender| {
            let row = self.row(place, contender, meter)?;
            if self.reference.is_some_and(|reference| reference.id == contender.id) {
                return row.ratio.map(|_| Standing { contender, interval: [1.0; 2], verdict: None });
            }
            Some(Standing { contender, interval: row.interval?, verdict: Some(row.verdict.filter(|one| one.holds())?) })
        };
        let better = run.measure(meter).map_or(Better::Lower, |known| known.better);
        let arrangement = place.arrangement.id.clone();
        let band = if meter == CPU_PER_STATEMENT { band::beyond } else { band::between };
        Ranking { standings: run.drivers().filter_map(standing).collect(), run, arrangement, better, band }
    }

    /// The drivers of which one needed the least CPU time here; none if no difference is known.
    pub fn least(&self, place: Place) -> Vec<&'a Contender> {
        let ranking = self.ranking(place, CPU_PER_STATEMENT);
        let first = ranking.first();
        if first.len() < ranking.standings.len() { first } else { Vec::new() }
    }

    /// What the driver that needed the least CPU time alone saves here against the next one, as a sentence.
    pub fn worth(&self, place: Place) -> Option<String> {
        let ranking = self.ranking(place, CPU_PER_STATEMENT);
        let [first] = ranking.first()[..] else { return None };
        let level = |one: &Contender| self.row(place, one, CPU_PER_STATEMENT)?.level;
        let others = ranking.standings.iter().filter(|one| one.contender.id != first.id);
        let next =
            others.filter_map(|one| Some((level(one.contender)?, one.contender))).min_by(|a, b| a.0.total_cmp(&b.0));
        let (cost, next) = next?;
        let saved = cost - level(first)?;
        let of_a_core = saved * RATE / 1e6 * 100.0;
        (saved > 0.0).then(|| {
            format!(
                "For {} on {}, {} takes {} us less CPU time per statement than {}: {} % of a core at {} statements per second.",
                plain(&place.scenario.name),
                plain(&place.arrangement.id),
                short(self.run, first),
                fixed(saved, 2),
                short(self.run, next),
                fixed(of_a_core, usize::from(of_a_core < 0.95)),
                whole(RATE),
            )
        })
    }

    /// What a difference of this run is worth, and whose arrangement it is: sentences, none if no driver needed the least anywhere.
    pub fn worths(&self) -> Vec<String> {
        let is_point = self.run.scenarios.iter().any(|one| one.point.is_some());
        let worth = self.places().find_map(|place| self.worth(place)).filter(|_| !is_point);
        worth.map_or_else(Vec::new, |worth| std::iter::once(worth).chain(whose(self.run)).collect())
    }

    /// Whether the order of the drivers changes with the arrangement: a sentence per driver whose place changes, or one that says why
    /// there is none; nothing for a run of one arrangement.
    pub fn changes(&self) -> Vec<String> {
        let run = self.run;
        if self.reference.is_none() || run.plan.arrangements.len() < 2 {
            return Vec::new();
        }
        let mut lines = Vec::new();
        let mut is_known = false;
        for contender in &run.contenders {
            let mut parts = Vec::new();
            for scenario in &run.scenarios {
                let here = self.places().filter(|place| place.scenario.name == scenario.name);
                let ranking = |place: Place<'a>| (&*place.arrangement.id, self.ranking(place, CPU_PER_STATEMENT));
                let all: Vec<(&str, Ranking)> = here.map(ranking).collect();
                is_known |= all.iter().filter(|(_, ranking)| ranking.standings.len() > 1).count() > 1;
                if changes_for(contender, &all) {
                    let said =
                        |(id, one): &(&str, Ranking)| Some(format!("{} on {}", one.place(contender)?, plain(id)));
                    let said: Vec<String> = all.iter().filter_map(said).collect();
                    parts.push(format!("{} ({})", said.join(" and "), plain(&scenario.name)));
                }
            }
            if !parts.is_empty() {
                lines.push(format!("In CPU time {} is {}.", plain(&contender.label), parts.join(", ")));
            }
        }
        if lines.is_empty() {
            let why = match is_known {
                true => "The known order of the drivers by CPU time is the same in all arrangements.",
                false => "No two arrangements have verdicts, so nobody knows whether the order of the drivers changes.",
            };
            lines.push(why.to_owned());
        }
        lines
    }
}

/// The rate at which a difference is shown as a share of a core.
const RATE: f64 = 100_000.0;

/// Which of the arrangements a program usually has, as a sentence; `None` for a run of one.
pub fn whose(run: &Run) -> Option<String> {
    let of = |arrangement: &ArrangementInfo| {
        let id = plain(&arrangement.id);
        match (arrangement.runtime.strip_prefix("multi:"), arrangement.worker_cores.len()) {
            (Some(threads), cores) if threads == cores.to_string() => {
                Some(format!("{id} is tokio's default runtime on {}", count(cores as u64, "core")))
            }
            (None, _) if arrangement.runtime == "current" => Some(format!("{id} is one thread")),
            _ => None,
        }
    };
    let known: Vec<String> = run.plan.arrangements.iter().filter_map(of).collect();
    (run.plan.arrangements.len() > 1 && !known.is_empty()).then(|| format!("{}.", known.join("; ")))
}

/// Whether the order of the contender and another one is known in two arrangements and differs.
fn changes_for(contender: &Contender, all: &[(&str, Ranking)]) -> bool {
    let is_first = |ranking: &Ranking, other: &Contender| {
        let (mine, theirs) = (ranking.find(contender)?, ranking.find(other)?);
        match (ranking.is_before(mine, theirs), ranking.is_before(theirs, mine)) {
            (false, false) => None,
            (is_first, _) => Some(is_first),
        }
    };
    let others = all.iter().flat_map(|(_, ranking)| &ranking.standings).map(|one| one.contender);
    others.into_iter().any(|other| {
        let orders: Vec<bool> = all.iter().filter_map(|(_, ranking)| is_first(ranking, other)).collect();
        orders.contains(&true) && orders.contains(&false)
    })
}

fn nth(place: usize) -> String {
    match (place % 10, place % 100) {
        (1, of) if of != 11 => format!("{place}st"),
        (2, of) if of != 12 => format!("{place}nd"),
        (3, of) if of != 13 => format!("{place}rd"),
        _ => format!("{place}th"),
    }
}

impl Analysis<'_> {
    /// How far an interval must lie from 1 for a verdict, as a clause.
    pub fn bands(&self) -> String {
        let run = self.run;
        let arrangements = run.plan.arrangements.iter();
        let wider = arrangements.flat_map(|arrangement| run.drivers().map(move |one| (arrangement, one)));
        let said = |(arrangement, one): (&ArrangementInfo, &Contender)| {
            let base = self.reference?;
            let band = Some(band::between(run, &arrangement.id, one, base)).filter(|band| *band > BAND)?;
            let [one, base] = [one, base].map(|contender| short(run, contender));
            Some(format!("{} % between {base} and {one} on {}", percent(band), plain(&arrangement.id)))
        };
        match wider.filter_map(said).collect::<Vec<_>>() {
            none if none.is_empty() => format!("{} %", percent(BAND)),
            wider => format!("{} %, but {} (their adapters' costs differ)", percent(BAND), list(&wider)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Cell, Measure, Unit, sample};

    /// Twelve blocks in two arrangements, in the second of which cdrs-tokio costs `cost`.
    fn lines(cost: f64, blocks: u32) -> Vec<String> {
        let (mut run, cells) = sample::blocks(blocks);
        let mut current = run.plan.arrangements[0].clone();
        current.id = "current".to_owned();
        run.plan.arrangements.push(current);
        let mut all = cells.clone();
        all.extend(cells.into_iter().map(|mut cell| {
            if cell.contender == "cdrs-tokio" {
                let noise = cell.get(CPU_PER_STATEMENT).unwrap() / 6.25;
                cell.measures.insert(CPU_PER_STATEMENT.to_owned(), Measure::value(cost * noise, Unit::Microseconds));
            }
            Cell { arrangement: "current".to_owned(), ..cell }
        }));
        Analysis::new(&run, &all).changes()
    }

    #[test]
    fn a_place_that_changes_with_the_arrangement_is_one_line_per_driver() {
        assert_eq!(
            lines(2.0, 12),
            [
                "In CPU time scylla@1.9.0 is 1st of 2 on multi:2 and 2nd of 2 on current (writes), 1st of 2 on multi:2 and 2nd of 2 \
                 on current (reads).",
                "In CPU time cdrs-tokio@9.0.2 is 2nd of 2 on multi:2 and 1st of 2 on current (writes), 2nd of 2 on multi:2 and 1st \
                 of 2 on current (reads)."
            ]
        );
    }

    #[test]
    fn an_order_that_is_not_known_is_no_change() {
        let none = ["The known order of the drivers by CPU time is the same in all arrangements."];
        assert_eq!(lines(4.0, 12), none);
        assert_eq!(lines(6.0, 12), none);
        assert!(lines(2.0, 3)[0].starts_with("No two arrangements have verdicts"));
    }

    #[test]
    fn what_a_difference_is_worth_is_said_of_the_first_place_that_one_driver_won() {
        let (run, cells) = sample::blocks(12);
        let analysis = Analysis::new(&run, &cells);
        let [said] = &analysis.worths()[..] else { panic!("one arrangement needs no sentence on others") };
        let rest = said.strip_prefix("For writes on multi:2, scylla takes 2.").unwrap_or_else(|| panic!("{said}"));
        assert!(rest.contains(" us less CPU time per statement than cdrs-tokio: 2"), "{said}");
        assert!(rest.ends_with(" % of a core at 100,000 statements per second."), "{said}");
        let (run, cells) = sample::blocks(3);
        assert_eq!(Analysis::new(&run, &cells).worths(), [""; 0], "nobody won without intervals");
    }

    #[test]
    fn the_arrangement_that_a_program_usually_has_is_named() {
        let (mut run, _) = sample::run();
        assert_eq!(whose(&run), None);
        let current = ArrangementInfo {
            id: "current".to_owned(),
            runtime: "current".to_owned(),
            ..run.plan.arrangements[0].clone()
        };
        run.plan.arrangements.push(current);
        assert_eq!(whose(&run).unwrap(), "multi:2 is tokio's default runtime on 2 cores; current is one thread.");
        run.plan.arrangements[0].worker_cores = vec![0, 1, 2, 3];
        assert_eq!(whose(&run).unwrap(), "current is one thread.");
    }

    #[test]
    fn places_are_said_as_people_say_them() {
        assert_eq!([1, 2, 3, 4, 11, 12, 13, 21].map(nth).join(" "), "1st 2nd 3rd 4th 11th 12th 13th 21st");
    }
}
