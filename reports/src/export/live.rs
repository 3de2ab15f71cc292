//! A run under way: the short tables in the room that a terminal has, or everything in one line.

use super::exporter::Look;
use super::part::{Part, Short};
use super::short::shown;
use super::table::terminal;
use crate::measure::CPU_PER_STATEMENT;
use crate::quantity::three_digits;
use crate::text::{count, cut, plain};
use crate::{Analysis, Contender, Place, short};

/// The short tables in at most `height` lines of at most `width` columns. Without room for them each table has a line, and the last line
/// says how many are left out. Before there are intervals there is no ratio.
pub fn live(analysis: &Analysis, width: usize, height: usize) -> Vec<String> {
    if !has_tables(analysis) {
        return Vec::new();
    }
    let text =
        terminal(&[Part::Short(Short::of(analysis))], Look { width, wide: false, notes: false, ..Look::default() });
    let mut lines: Vec<String> = text.trim_end().lines().map(str::to_owned).collect();
    if lines.len() > height {
        let figures = match compared_with(analysis) {
            Some(reference) => format!("CPU time vs {reference} (95 %)"),
            None => "CPU us".to_owned(),
        };
        lines = std::iter::once(figures).chain(analysis.places().map(|place| of_place(analysis, place))).collect();
    }
    if lines.len() > height {
        // The first line and the last have no table.
        let left_out = lines.len() - 1 - height.saturating_sub(2);
        lines.truncate(height.saturating_sub(1));
        lines.push(format!("{} without room here", count(left_out as u64, "more table")));
    }
    lines.iter().map(|line| cut(line, width)).collect()
}

/// All tables in one line, as it goes on after a number; empty if there are none.
pub fn live_line(analysis: &Analysis) -> String {
    if !has_tables(analysis) {
        return String::new();
    }
    let against = compared_with(analysis).map_or(String::new(), |reference| format!(", vs {reference}"));
    let places: Vec<String> = analysis.places().map(|place| of_place(analysis, place)).collect();
    format!("{against}: {}", places.join("; "))
}

fn has_tables(analysis: &Analysis) -> bool {
    let run = analysis.run;
    !run.plan.exact && run.scenarios.iter().all(|one| one.point.is_none())
}

/// Who ratios are taken against, once they have intervals.
fn compared_with(analysis: &Analysis) -> Option<String> {
    let is_judged = analysis.rows.iter().any(|row| row.is_primary() && row.interval.is_some());
    analysis.reference.filter(|_| is_judged).map(|one| short(analysis.run, one))
}

/// One table in a line: CPU time per statement, or its ratios.
fn of_place(analysis: &Analysis, place: Place) -> String {
    let run = analysis.run;
    let several = run.plan.arrangements.len() > 1;
    let on = if several { format!(" {}", plain(&place.arrangement.id)) } else { String::new() };
    let is_judged = compared_with(analysis).is_some();
    let of = |one: &Contender| {
        let is_reference = is_judged && analysis.reference.is_some_and(|reference| reference.id == one.id);
        let is_shown = one.unavailable.is_none() && !is_reference;
        let row = analysis.row(place, one, CPU_PER_STATEMENT).filter(|_| is_shown)?;
        let cost = || row.level.map_or("n/a".to_owned(), |cost| format!("{} us", three_digits(cost)));
        let figure = row.ratio_within(2, " to ").unwrap_or_else(cost);
        Some(format!("  {} {figure}", short(run, one)))
    };
    let figures: String = shown(analysis).into_iter().filter_map(of).collect();
    format!("{}{on}{figures}", plain(&place.scenario.name))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{ArrangementInfo, Cell, Run, TurnsInfo, sample};

    /// So many generations of two rounds, and no end yet.
    fn under_way(generations: u32) -> (Run, Vec<Cell>) {
        let (mut run, cells) = sample::blocks(generations);
        (run.ended, run.plan.blocks) = (None, 60);
        run.plan.turns = TurnsInfo { count: 50_000, rounds: 2 };
        let of = |cell: &Cell| [1, 2].map(|round| Cell { round: Some(round), more: round == 1, ..cell.clone() });
        (run, cells.iter().flat_map(of).collect())
    }

    fn lines(generations: u32, [width, height]: [usize; 2]) -> String {
        let (run, cells) = under_way(generations);
        live(&Analysis::watched(&run, &cells), width, height).join("\n")
    }

    #[test]
    fn the_first_generation_has_figures_and_neither_ratios_nor_intervals() {
        expect_test::expect![[r#"
                             CPU us                           server  statements/s
            writes
              scylla           3.94 ###############            0.300          399k
              cdrs-tokio       6.20 ########################   0.300          256k
              cassandra-cpp  missing, see below
            reads
              scylla           4.04 ################           0.300          399k
              cdrs-tokio       6.20 ########################   0.300          256k
              cassandra-cpp  missing, see below

            cassandra-cpp: missing: The worker cqldyno-driver-cassandra-cpp was not built,
              because libcassandra was not found; run `make build`."#]]
        .assert_eq(&lines(1, [80, 20]));
    }

    #[test]
    fn the_eighth_generation_has_intervals_and_no_verdicts() {
        expect_test::expect![[r#"
                             CPU us                  server  vs scylla (95 %)   statements/s
            writes
              scylla           4.01 ##########        0.300                     399k
              cdrs-tokio       6.25 ###############   0.300  1.56 (1.54-1.58)   256k
              cassandra-cpp  missing, see below
            reads
              scylla           4.00 ##########        0.300                     399k
              cdrs-tokio       6.24 ###############   0.300  1.56 (1.54-1.58)   256k
              cassandra-cpp  missing, see below

            cassandra-cpp: missing: The worker cqldyno-driver-cassandra-cpp was not built,
              because libcassandra was not found; run `make build`."#]]
        .assert_eq(&lines(8, [80, 20]));
    }

    #[test]
    fn tables_that_do_not_fit_have_a_line_each_or_are_counted() {
        expect_test::expect![[r#"
            CPU time vs scylla (95 %)
            writes  cdrs-tokio 1.56 (1.54 to 1.58)
            reads  cdrs-tokio 1.56 (1.54 to 1.58)"#]]
        .assert_eq(&lines(8, [80, 5]));
        expect_test::expect![[r#"
            CPU us
            2 more tables without room here"#]]
        .assert_eq(&lines(1, [40, 2]));
        for size in [[80, 24], [40, 3], [12, 2], [200, 1], [1, 1]] {
            let text = lines(8, size);
            assert!(text.lines().count() <= size[1], "{text}");
            assert!(text.lines().all(|line| line.chars().count() <= size[0]), "{text}");
        }
    }

    #[test]
    fn one_line_has_everything() {
        let line = |generations| {
            let (mut run, cells) = under_way(generations);
            let one = live_line(&Analysis::watched(&run, &cells));
            let other = ArrangementInfo { id: "current".to_owned(), ..run.plan.arrangements[0].clone() };
            run.plan.arrangements.push(other);
            assert!(live_line(&Analysis::watched(&run, &cells)).contains("reads current  "));
            run.plan.exact = true;
            assert_eq!(live_line(&Analysis::watched(&run, &cells)), "", "it takes no times");
            one
        };
        expect_test::expect![": writes  scylla 4.00 us  cdrs-tokio 6.24 us; reads  scylla 4.02 us  cdrs-tokio 6.23 us"]
            .assert_eq(&line(7));
        expect_test::expect![
            ", vs scylla: writes  cdrs-tokio 1.56 (1.54 to 1.57); reads  cdrs-tokio 1.56 (1.55 to 1.58)"
        ]
        .assert_eq(&line(9));
    }

    #[test]
    fn means_stand_in_the_table_from_the_first_generation_on() {
        let (run, mut cells) = under_way(1);
        let is = |cell: &Cell, round| {
            (cell.contender.as_str(), cell.scenario.as_str(), cell.round) == ("cdrs-tokio", "writes", Some(round))
        };
        let costs = [(1, 2.0), (2, 6.5)];
        for (round, cost) in costs {
            let cost = crate::Measure::value(cost, crate::Unit::Microseconds);
            let mine = cells.iter_mut().filter(|cell| is(cell, round) && cell.pass == crate::Pass::Timing);
            mine.for_each(|cell| drop(cell.measures.insert(CPU_PER_STATEMENT.to_owned(), cost.clone())));
        }
        let text = live(&Analysis::watched(&run, &cells), 80, 20).join("\n");
        assert!(text.contains("cdrs-tokio       4.25 "), "{text}");
    }
}
