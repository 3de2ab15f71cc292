//! The command of a published run as somebody types it.

use cqldyno_reports::{Pass, Run};

use crate::store::everybody;

/// The command of a run that differs from the defaults in size and arrangements alone; else the one that the run states, if any.
pub(crate) fn command(run: &Run) -> Option<String> {
    if !is_usual(run) {
        return run.command.clone();
    }
    let plan = &run.plan;
    let millions =
        |all: u64| if all.is_multiple_of(1_000_000) { format!("{}M", all / 1_000_000) } else { all.to_string() };
    let size = match (plan.blocks, plan.count) {
        (20, 1_000_000) => "--publish".to_owned(),
        (1, all) if all >= 5_000_000 => format!("--count {}", millions(all)),
        (blocks, all) => format!("--count {} --blocks {blocks}", millions(all)),
    };
    let arrangements: Vec<&str> = plan.arrangements.iter().map(|one| one.id.as_str()).collect();
    // Before 2026-11-23 the limit was 30 s unless another one was asked for.
    let limit = plan.request_timeout_ms.map_or(String::new(), |limit| format!(" --request-timeout {limit}ms"));
    if plan.turns.is_some() {
        let others = (arrangements != PUBLISHED).then(|| format!(" --arrangement {}", arrangements.join(",")));
        let within = plan.within_ms.filter(|within| *within != PUBLISHED_WITHIN_MS);
        let within = within.map(|within| format!(" --within {}s", within / 1_000));
        let [others, within] = [others, within].map(Option::unwrap_or_default);
        return Some(format!("cqldyno compare --publish{others}{within}{limit}"));
    }
    Some(format!("cqldyno compare {size} --arrangement {}{limit}", arrangements.join(",")))
}

/// The arrangements of `--publish`.
const PUBLISHED: [&str; 2] = ["multi:2", "current"];
/// Its time limit.
const PUBLISHED_WITHIN_MS: u64 = 20 * 60_000;

/// Whether everything that the short command leaves out is a default of `cqldyno compare`.
fn is_usual(run: &Run) -> bool {
    let plan = &run.plan;
    let asked = run.contenders.iter().filter(|one| !one.control).map(|one| one.id.as_str());
    let scenarios = run.scenarios.iter().map(|one| one.name.as_str());
    let asked_as_usual = asked.eq(everybody())
        && scenarios.eq(["writes", "reads", "mixed"])
        && plan.reference.as_deref().is_none_or(|id| id == "scylla")
        && plan.target.embedded
        && !plan.with_user
        && plan.replication.is_none()
        && plan.serve_arguments.is_empty();
    let set_as_usual = plan.settings == "equal"
        && plan.consistency == "LOCAL_ONE"
        && (plan.connections, plan.concurrency, plan.page_size) == (1, 1_024, 5_000);
    // Earlier versions repeated no block and did not state it, nor the passes, nor when a worker hangs.
    let repeated_as_usual = match plan.turns {
        None => matches!((plan.noise_share, plan.most_attempts), (Some(0.1), 3) | (None, 0)),
        Some(turns) => {
            (turns.count, plan.layouts, plan.within_ms.is_some()) == (50_000, Some(6), true)
                && (plan.noise_share, plan.until, plan.total) == (Some(0.1), None, None)
        }
    };
    let counted_as_usual = match plan.turns {
        None => plan.passes.iter().all(|pass| *pass == Pass::Counting),
        Some(_) => plan.passes == [Pass::Counting, Pass::Allocations, Pass::Instructions],
    };
    let measured_as_usual = counted_as_usual
        && plan.counting_count == plan.count.min(plan.turns.map_or(250_000, |turns| 2 * turns.count))
        && plan.rate.is_none()
        && (plan.seed, plan.warmup) == (1, 20_000)
        && plan.stall_ms.is_none_or(|stall| stall == 30_000)
        && plan.memory_limit_bytes.is_none();
    asked_as_usual && set_as_usual && repeated_as_usual && measured_as_usual
}

#[cfg(test)]
mod tests {
    use cqldyno_reports::{ArrangementInfo, ScenarioInfo, TurnsInfo};

    use super::*;
    use crate::sample;

    /// What `cqldyno compare --publish --arrangement multi:2,current` kept of itself when it had blocks.
    fn usual() -> Run {
        let (mut run, _) = sample::blocks(20);
        let mixed = ScenarioInfo { name: "mixed".to_owned(), ..run.scenarios[0].clone() };
        run.scenarios.push(mixed);
        let plan = &mut run.plan;
        (plan.count, plan.counting_count, plan.seed, plan.warmup) = (1_000_000, 250_000, 1, 20_000);
        (plan.noise_share, plan.most_attempts, plan.stall_ms) = (Some(0.1), 3, Some(30_000));
        (plan.reference, plan.request_timeout_ms) = (Some("scylla".to_owned()), None);
        let current =
            ArrangementInfo { id: "current".to_owned(), runtime: "current".to_owned(), ..plan.arrangements[0].clone() };
        plan.arrangements.push(current);
        run
    }

    #[test]
    fn a_run_of_defaults_is_shown_by_the_command_that_asks_for_it() {
        let mut run = usual();
        assert_eq!(command(&run).unwrap(), "cqldyno compare --publish --arrangement multi:2,current");
        (run.plan.blocks, run.plan.count) = (1, 10_000_000);
        run.contenders.retain(|one| !one.control);
        let classic = "cqldyno compare --count 10M --arrangement multi:2,current";
        assert_eq!(command(&run).unwrap(), classic);
        run.plan.request_timeout_ms = Some(30_000);
        assert_eq!(command(&run).unwrap(), format!("{classic} --request-timeout 30000ms"));
        run.plan.request_timeout_ms = None;
        // As an earlier version told of it.
        (run.plan.noise_share, run.plan.most_attempts, run.plan.stall_ms) = (None, 0, None);
        run.plan.passes.clear();
        assert_eq!(command(&run).unwrap(), classic);
        (run.plan.blocks, run.plan.count, run.plan.counting_count) = (12, 200_000, 200_000);
        assert_eq!(command(&run).unwrap(), "cqldyno compare --count 200000 --blocks 12 --arrangement multi:2,current");
    }

    #[test]
    fn a_run_in_turns_is_shown_by_the_one_flag_that_asks_for_it() {
        let mut run = usual();
        let plan = &mut run.plan;
        plan.turns = Some(TurnsInfo { count: 50_000, rounds: 5 });
        (plan.layouts, plan.within_ms, plan.most_attempts) = (Some(6), Some(1_200_000), 1);
        plan.passes = vec![Pass::Counting, Pass::Allocations, Pass::Instructions];
        (plan.count, plan.counting_count) = (250_000, 100_000);
        assert_eq!(command(&run).unwrap(), "cqldyno compare --publish");
        run.plan.arrangements.pop();
        (run.plan.within_ms, run.plan.request_timeout_ms) = (Some(780_000), Some(5_000));
        let long = "cqldyno compare --publish --arrangement multi:2 --within 780s --request-timeout 5000ms";
        assert_eq!(command(&run).unwrap(), long);
        run.plan.layouts = None;
        run.command = Some("cqldyno compare --layouts 0".to_owned());
        assert_eq!(command(&run), run.command);
    }

    #[test]
    fn a_run_with_any_other_value_is_shown_by_the_command_that_it_states() {
        let changes: [fn(&mut Run); 13] = [
            |run| run.plan.passes.push(Pass::Latency),
            |run| run.plan.rate = Some(5_000),
            |run| run.plan.seed = 2,
            |run| run.plan.warmup = 0,
            |run| run.plan.consistency = "QUORUM".to_owned(),
            |run| run.plan.noise_share = Some(0.05),
            |run| (run.plan.noise_share, run.plan.most_attempts) = (None, 1),
            |run| run.plan.counting_count = 0,
            |run| run.plan.counting_count = 1_000,
            |run| run.plan.reference = Some("floor".to_owned()),
            |run| run.plan.memory_limit_bytes = Some(1 << 30),
            |run| run.plan.stall_ms = Some(1_000),
            |run| run.plan.with_user = true,
        ];
        for (nth, change) in changes.into_iter().enumerate() {
            let mut run = usual();
            change(&mut run);
            run.command = None;
            assert_eq!(command(&run), None, "{nth}");
            run.command = Some("cqldyno compare --seed 2".to_owned());
            assert_eq!(command(&run), run.command, "{nth}");
        }
    }
}
