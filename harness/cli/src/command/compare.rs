//! `cqldyno compare`: contenders side by side.

use std::path::PathBuf;

use anyhow::{Context, Result};
use clap::{Args, Id};
use cqldyno_bench::{Programs, resume, run as carry_out};

use crate::format::{Shown, explained};
use crate::heading::OUTPUT;
use crate::known::Known;
use crate::names::drivers;
use crate::outcome::{Outcome, usage};
use crate::plan::{Asked, Conditions};
use crate::recorded::path_of;
use crate::terminal::look;
use crate::trial::{conduct, show};

const SHORT_EXAMPLES: &str = "\
Example: cqldyno compare scylla cdrs-tokio --scenario reads --quick
All options: cqldyno compare --help";

const EXAMPLES: &str = "\
Examples:
  cqldyno compare --quick                 three drivers, figures in 30 seconds
  cqldyno compare                         with intervals, in 5 minutes
  cqldyno compare scylla java python      drivers of several languages
  cqldyno compare --ladder 'p99<5ms' --delay 0,0.2ms,1ms scylla cdrs-tokio
  cqldyno compare --target 10.0.0.1,10.0.0.2 --user ada --password-file ~/.ada

A contender is NAME[@VERSION][+KEY=VALUE]..., for example scylla@0.3.1,
scylla@path:../checkout, scylla@git:URL#REV or scylla+tokio=1.44.2+timeout=30s.
Missing workers are built first. `cqldyno drivers NAME` lists keys and releases.

Exit codes: 0 done, 1 a contender failed, is void, or was named but is missing,
2 wrong usage, 130 Ctrl-C; finished cells are shown and kept.";

/// Compare drivers under the same load
#[derive(clap::Args)]
#[command(after_help = SHORT_EXAMPLES, after_long_help = format!("{EXAMPLES}\n\n{}", explained()))]
pub struct Arguments {
    /// Drivers [default: scylla, cdrs-tokio, cassandra-cpp]
    #[arg(value_parser = Known(drivers::names), hide_possible_values = true)]
    contender: Vec<String>,
    #[command(flatten)]
    asked: Asked,
    #[command(flatten)]
    conditions: Conditions,
    /// Folder of the run [default: cqldyno-runs/TIME]
    #[arg(long, value_name = "DIR", help_heading = OUTPUT)]
    out: Option<PathBuf>,
    #[command(flatten)]
    shown: Shown,
    /// Continue the run in a folder, or the latest one
    ///
    /// Options come from its run.json; give --user, --tls and --within again.
    #[arg(long, value_name = "RUN", conflicts_with_all = planned(), help_heading = OUTPUT)]
    resume: Option<PathBuf>,
}

/// The arguments that a plan is made of: a resumed run takes them from its folder.
fn planned() -> Vec<Id> {
    let asked = Asked::augment_args(clap::Command::new("compare"));
    let asked = asked.get_arguments().map(|argument| argument.get_id().clone());
    asked.chain(["contender", "out"].map(Id::from)).collect()
}

pub fn run(arguments: &Arguments) -> Result<Outcome> {
    let Arguments { contender, asked, conditions, shown, .. } = arguments;
    let programs = Programs::find().context("the program does not know where it lies")?;
    let finished = match &arguments.resume {
        Some(given) => {
            let (folder, access) = (path_of(given)?, conditions.access.read()?);
            conduct(conditions.quiet, |progress, cancel| {
                progress.watch();
                resume(&folder, access.clone(), conditions.within(), &programs, progress, cancel)
            })?
        }
        None => {
            let mut contenders = if contender.is_empty() { drivers::compared() } else { contender.clone() };
            if asked.climbs() && contender.is_empty() {
                // noop holds every rate.
                contenders.retain(|name| name != "noop");
            }
            if asked.sweeps() {
                // Curves are read beside that of floor; noop, which sends nothing, has none.
                contenders.retain(|name| name != "noop" || !contender.is_empty());
                if asked.has_floor() && !contenders.iter().any(|name| name == "floor") {
                    contenders.push("floor".to_owned());
                }
            }
            let mut plan = asked.plan(&contenders, &[], conditions, &programs)?;
            (plan.named, plan.out) = (!contender.is_empty(), arguments.out.clone());
            if shown.format.name() == "time" && plan.exact {
                return Err(usage(
                    "--format time was given, and NAME@all is compared by counts; add --within 20min, or choose another format",
                ));
            }
            conduct(conditions.quiet, |progress, cancel| {
                progress.watch();
                asked.remark().into_iter().for_each(|remark| progress.say(remark));
                carry_out(&plan, &programs, progress, cancel)
            })?
        }
    };
    let named = finished.run.plan.named || !contender.is_empty();
    show(&finished, shown.format, look(&shown.detail), conditions.quiet, named)
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use clap::{CommandFactory, Parser};
    use cqldyno_bench::{BLOCKS, Plan};
    use cqldyno_reports::{Pass, PointInfo, Run, ScenarioInfo};

    use super::*;
    use crate::{arguments, repetition};

    /// The run of which the results are published, with values that no argument has by itself.
    fn unusual() -> Run {
        let text = include_str!("../../../../reports/published/2026-11-20/classic/run.json");
        let mut run = Run::from_json(text).unwrap();
        let plan = &mut run.plan;
        (plan.seed, plan.count, plan.blocks, plan.concurrency, plan.warmup) = (7, 123_456, 9, 77, 0);
        plan.turns.count = plan.count;
        (plan.noise_share, plan.connections) = (Some(0.25), 3);
        plan.within_ms = Some(90_500);
        plan.consistency = "LOCAL_QUORUM".to_owned();
        plan.request_timeout_ms = Some(1_500);
        plan.reference = Some("cdrs-tokio".to_owned());
        plan.serve_arguments = ["--answers", "each", "--delay", "50us±20%"].map(str::to_owned).to_vec();
        (plan.stall_ms, plan.memory_limit_bytes) = (Some(12_000), Some(1 << 30));
        (plan.passes, plan.counting_count) = (vec![Pass::Counting], 617_280);
        run
    }

    fn read(words: &[&str]) -> Box<Arguments> {
        let words = [&["cqldyno", "compare"], words].concat();
        let arguments = arguments::Arguments::try_parse_from(words).unwrap_or_else(|error| panic!("{error}"));
        let arguments::Command::Compare(found) = arguments.command else { panic!("another command") };
        found
    }

    /// The plan of `cqldyno compare` with these words behind it.
    fn planned_of(words: &[&str]) -> Plan {
        let found = read(words);
        let contenders = if found.contender.is_empty() { drivers::compared() } else { found.contender.clone() };
        let programs = Programs::find().unwrap();
        found.asked.plan(&contenders, &[], &found.conditions, &programs).unwrap()
    }

    fn parsed(run: &Run) -> Plan {
        let line = repetition::command(run);
        let words = shlex::split(&line).unwrap();
        planned_of(&words.iter().skip(2).map(String::as_str).collect::<Vec<_>>())
    }

    #[test]
    fn the_command_that_a_page_gives_for_its_run_asks_for_the_same_run() {
        let run = unusual();
        let (plan, asked) = (parsed(&run), &run.plan);
        let names: Vec<String> = plan.contenders.iter().map(ToString::to_string).collect();
        let drivers: Vec<&str> = run.contenders.iter().filter(|one| !one.control).map(|one| one.id.as_str()).collect();
        assert_eq!(names, drivers);
        let scenarios: Vec<&str> = plan.scenarios.iter().map(|scenario| scenario.name.as_str()).collect();
        assert_eq!(scenarios, ["writes", "reads", "mixed"]);
        let arrangements: Vec<String> = plan.arrangements.iter().map(ToString::to_string).collect();
        assert_eq!(arrangements, ["multi:2", "current"]);
        assert_eq!(plan.pin, cqldyno_bench::Pin::Off);
        assert_eq!((plan.seed, plan.count, plan.blocks), (asked.seed, asked.count, asked.blocks));
        assert_eq!((plan.concurrency, plan.warmup), (asked.concurrency, asked.warmup));
        assert_eq!((plan.noise_share, plan.connections), (asked.noise_share, asked.connections));
        assert_eq!((plan.page_size, plan.consistency.to_string()), (asked.page_size, asked.consistency.clone()));
        assert_eq!(plan.within(), Some(Duration::from_millis(90_500)));
        assert_eq!((plan.request_timeout_ms, &plan.reference), (asked.request_timeout_ms, &asked.reference));
        assert_eq!(format!("{:?}", plan.settings), "Equal");
        assert_eq!(plan.serve.words(), asked.serve_arguments);
        assert_eq!(plan.deadlines.stall.as_millis(), 12_000);
        assert_eq!((plan.memory_limit_bytes, plan.counting_count), (asked.memory_limit_bytes, 0));
        assert_eq!((&plan.passes, plan.target.to_string()), (&asked.passes, "embedded".to_owned()));
    }

    #[test]
    fn the_command_of_every_published_run_is_one_of_today() {
        let published = concat!(env!("CARGO_MANIFEST_DIR"), "/../../reports/published");
        let folders = |path: &std::path::Path| std::fs::read_dir(path).unwrap().map(|entry| entry.unwrap().path());
        let dates = folders(published.as_ref()).filter(|date| date.is_dir());
        let runs: Vec<PathBuf> =
            dates.flat_map(|date| folders(&date).collect::<Vec<_>>()).map(|run| run.join("run.json")).collect();
        let runs: Vec<Run> = runs
            .iter()
            .filter_map(|path| std::fs::read_to_string(path).ok())
            .map(|text| Run::from_json(&text).unwrap())
            .collect();
        assert!(runs.len() > 20, "{}", runs.len());
        // Bad days and durable writes have commands of their own.
        let is_compared =
            |run: &Run| run.command.as_ref().is_none_or(|command| !command.starts_with("cqldyno durable"));
        for run in runs.into_iter().filter(|run| !run.plan.faults && is_compared(run)) {
            // Some calibrate the method with a driver that nobody has.
            let is_known = |id: &&str| drivers::names().iter().any(|name| id.starts_with(name.as_str()));
            if !run.asked().iter().all(is_known) {
                read(&repetition::command(&run).split(' ').skip(2).collect::<Vec<_>>());
                continue;
            }
            let (plan, asked) = (parsed(&run), &run.plan);
            assert_eq!((plan.seed, plan.exact, plan.whole), (asked.seed, asked.exact, asked.whole), "{asked:?}");
            assert_eq!((plan.within_ms, plan.noise_share), (asked.within_ms, asked.noise_share), "{asked:?}");
            assert_eq!(plan.target.to_string(), asked.target.id);
        }
    }

    #[test]
    fn every_scenario_runs_with_every_way_of_submitting_that_is_asked_for() {
        let labels = |words: &[&str]| planned_of(words).scenarios.iter().map(|one| one.label()).collect::<Vec<_>>();
        assert_eq!(
            labels(&["--scenario", "reads,reads+stream", "--scenario", "writes,writes+stream"]),
            ["reads", "reads+stream", "writes", "writes+stream"]
        );
        assert_eq!(
            labels(&["--scenario", "reads+spawn", "--scenario", "payload+sequential"]),
            ["reads+spawn", "payload-1k+sequential", "payload-16k+sequential"]
        );
        let error = crate::names::scenarios::find("reads+threads").unwrap_err().to_string();
        assert!(error.starts_with("there is no way of submitting \"threads\""), "{error}");
    }

    #[test]
    fn what_a_run_did_without_its_command_does_without() {
        let mut run = unusual();
        let plan = &mut run.plan;
        (plan.noise_share, plan.request_timeout_ms, plan.memory_limit_bytes) = (None, None, None);
        (plan.passes, plan.counting_count, plan.serve_arguments) = (Vec::new(), 0, Vec::new());
        plan.within_ms = None;
        let plan = parsed(&run);
        assert_eq!((plan.noise_share, plan.request_timeout_ms, plan.memory_limit_bytes), (None, None, None));
        assert_eq!(plan.within(), None);
        assert!(plan.passes.is_empty() && plan.serve.words().is_empty());
        run.plan.settings = "default".to_owned();
        let plan = parsed(&run);
        assert_eq!((format!("{:?}", plan.settings), plan.connections), ("Default".to_owned(), 1), "what drivers set");
    }

    #[test]
    fn a_comparison_goes_on_for_five_minutes_unless_the_user_sizes_it() {
        let planned = |further: &[&str]| planned_of(further);
        let within = |plan: &Plan| plan.within().map(|time| time.as_secs());
        for turns in [
            &[][..],
            &["--seed", "2"],
            &["--scenario", "reads"],
            &["--arrangement", "multi:2,current"],
            &["--pass", "latency"],
            &["--pass", "none"],
            &["-c", "1024"],
            &["--delay", "10ms"],
            &["--turn", "20k"],
            &["--rate", "10k"],
            &["--layouts", "2"],
        ] {
            let plan = planned(turns);
            assert_eq!((within(&plan), plan.total), (Some(300), None), "{turns:?}");
        }
        assert_eq!(planned(&["--turn", "20k"]).turns.count, 20_000);
        for sized in
            [&["--count", "250k"][..], &["-n", "250k"], &["--blocks", "12"], &["--target", "10.0.0.1", "--publish"]]
        {
            let plan = planned(sized);
            assert_eq!((within(&plan), plan.total.is_some()), (None, true), "{sized:?}");
        }
        let elsewhere = planned(&["--target", "10.0.0.1"]);
        assert_eq!((within(&elsewhere), elsewhere.blocks, elsewhere.total), (None, BLOCKS, None));
        let unlimited = planned(&["--within", "none"]);
        assert_eq!((within(&unlimited), unlimited.blocks, unlimited.total), (None, BLOCKS, None));
        let published = planned(&["--publish"]);
        assert_eq!((within(&published), published.total, published.arrangements.len()), (Some(1_200), None, 2));
        assert_eq!(published.passes, [Pass::Counting, Pass::Allocations, Pass::Instructions]);
        assert_eq!(planned(&["--publish", "--arrangement", "current"]).arrangements.len(), 1);
        assert_eq!(within(&planned(&["--publish", "--within", "10min"])), Some(600));
        assert_eq!(within(&planned(&["--within", "1s"])), Some(1));
        let until = |words: &[&str]| (planned(words).until, within(&planned(words)), planned(words).total.is_none());
        assert_eq!(until(&["--until", "2%"]), (Some(0.02), Some(1_200), true), "it has more time");
        assert_eq!(until(&["--until", "2.5%", "--within", "7min"]), (Some(0.025), Some(420), true));
        assert_eq!(until(&["--until", "7%", "--within", "none"]), (Some(0.07), None, true));
        assert_eq!(until(&[]), (None, Some(300), true));
    }

    #[test]
    fn a_sweep_has_a_scenario_per_number_and_few_generations_of_one_turn_without_counts() {
        let plan =
            planned_of(&["-c", "1,4,...,64", "--connections", "1,2", "--scenario", "reads", "--scenario", "writes"]);
        assert_eq!((plan.scenarios.len(), plan.concurrency, plan.connections), (16, 64, 2));
        assert_eq!((plan.blocks, plan.turns.rounds, plan.control, plan.passes.as_slice()), (3, 1, false, &[][..]));
        assert_eq!(plan.within(), Some(Duration::from_secs(300)));
        let judged = planned_of(&["-c", "1,64", "--blocks", "12", "--pass", "counting"]);
        assert_eq!((judged.control, judged.passes.as_slice()), (true, &[Pass::Counting][..]));
        let over = planned_of(&["--connections", "1,2", "--scenario", "reads"]);
        assert_eq!((over.scenarios.len(), over.total), (2, None), "no curve, so it goes on as long as there is time");
        let on = planned_of(&["--shards", "1,2,...,16", "--scenario", "reads", "--nodes", "2"]);
        assert_eq!((on.scenarios.len(), on.connections, on.total), (5, 16, None));
        assert_eq!(
            (on.scenarios[2].label().as_str(), on.serve.words()),
            ("reads, 1024 in flight on 4 shards", vec!["--nodes".to_owned(), "2".to_owned()])
        );
        let all = planned_of(&["-c", "1,4", "--connections", "1,2", "--shards", "1,4", "--scenario", "reads"]);
        assert_eq!(all.scenarios.len(), 8);
    }

    #[test]
    fn several_numbers_of_shards_that_nobody_can_start_are_refused() {
        let refused = |words: &[&str]| {
            let found = read(words);
            let plan = found.asked.plan(&["scylla".to_owned()], &[], &found.conditions, &Programs::find().unwrap());
            plan.unwrap_err().to_string()
        };
        assert_eq!(
            refused(&["--shards", "1,2,4", "--target", "127.0.0.1"]),
            "--shards 1,2,4 was given with the target 127.0.0.1, and only the embedded cluster is started for each number of shards; leave \
             --shards out"
        );
        assert!(refused(&["--shards", "4", "--target", "127.0.0.1"]).starts_with("--shards was given with the target"));
        assert!(refused(&["--shards", "1,20000"]).starts_with("--shards 20000 was asked for"));
        assert!(
            refused(&["--shards", "1,2", "--publish"]).contains("--connections or --shards were given together with")
        );
    }

    #[test]
    fn the_command_of_a_sweep_asks_for_its_numbers() {
        let mut run = unusual();
        let reads = run.scenarios[1].clone();
        let numbers = [(1, 1), (64, 1), (1, 2), (64, 2)];
        run.scenarios = numbers.map(|(in_flight, connections)| at(&reads, in_flight, connections, None)).into();
        let plan = parsed(&run);
        let labels: Vec<String> = plan.scenarios.iter().map(|one| one.label()).collect();
        assert_eq!(labels, run.scenarios.iter().map(|one| one.name.clone()).collect::<Vec<_>>());
        run.scenarios.iter_mut().for_each(|one| one.point.as_mut().unwrap().shards = Some(2));
        assert!(repetition::command(&run).contains(" --shards 2 --connections 1,2 "));
        run.scenarios.iter_mut().for_each(|one| one.point.as_mut().unwrap().connections = None);
        let again = repetition::command(&run);
        assert!(again.contains(" --shards 2 ") && !again.contains(" --connections "), "{again}");
    }

    #[test]
    fn a_ladder_runs_steps_of_latency_within_half_an_hour_and_its_command_asks_for_it_again() {
        let plan = planned_of(&["scylla", "--ladder", "p99.9<2ms", "--delay", "0,0.2ms,1ms"]);
        let ladder = plan.ladder.clone().unwrap();
        assert_eq!((ladder.to_string().as_str(), ladder.lasts_ms), ("p99.9<2ms", 3_000));
        assert_eq!((plan.passes.as_slice(), plan.control, plan.noise_share), (&[Pass::Latency][..], false, None));
        assert_eq!((plan.within(), plan.is_open()), (Some(Duration::from_secs(1_800)), false));
        let labels: Vec<String> = plan.scenarios.iter().map(|one| one.label()).collect();
        assert_eq!(labels, ["0", "0.2ms", "1ms"].map(|delay| format!("mixed, 1024 in flight with delay {delay}")));
        let mut run = unusual();
        run.plan.ladder = Some(ladder.clone());
        // The points have the delays.
        run.plan.serve_arguments.truncate(2);
        let reads = run.scenarios[1].clone();
        run.scenarios = [0, 200_000].map(|ns| at(&reads, 77, 3, Some(ns))).into();
        let again = parsed(&run);
        assert_eq!((again.ladder.clone(), again.passes.as_slice()), (Some(ladder), &[Pass::Latency][..]));
        assert_eq!(again.scenarios[1].point.unwrap().delay_ns, Some(200_000));
        assert_eq!(again.within(), Some(Duration::from_millis(90_500)));
        let one = planned_of(&["scylla", "--ladder", "p50<1ms", "--delay", "1ms", "--scenario", "reads"]);
        assert_eq!((one.scenarios[0].point, one.serve.words().join(" ")), (None, "--delay 1ms".to_owned()));
    }

    /// The scenario at a point of a sweep.
    fn at(scenario: &ScenarioInfo, in_flight: u64, connections: u64, delay_ns: Option<u64>) -> ScenarioInfo {
        let of = scenario.name.clone();
        let over = cqldyno_reports::count(connections, "connection");
        let point = PointInfo {
            of,
            in_flight,
            connections: Some(connections).filter(|_| delay_ns.is_none()),
            delay_ns,
            ..Default::default()
        };
        ScenarioInfo {
            name: format!("reads, {in_flight} in flight over {over}"),
            point: Some(point),
            ..scenario.clone()
        }
    }

    #[test]
    fn the_command_of_a_run_asks_for_its_turns() {
        let mut run = unusual();
        run.plan.turns = cqldyno_reports::TurnsInfo { count: 20_000, rounds: 3 };
        let plan = parsed(&run);
        assert_eq!((plan.turns.count, plan.total, plan.within_ms.is_some()), (20_000, None, true));
        for words in
            [&["--count", "10M"][..], &["-n", "120001"], &["-n", "2M", "--turn", "30k"], &["-n", "7k", "--blocks", "3"]]
        {
            let asked = planned_of(words);
            let mut sized = unusual();
            (sized.plan.turns, sized.plan.total, sized.plan.blocks) = (asked.turns, asked.total, asked.blocks);
            let again = parsed(&sized);
            let size = |plan: &Plan| (plan.total, plan.blocks, plan.turns.rounds, plan.whole);
            assert_eq!(size(&again), size(&asked), "{words:?}");
        }
        let whole = planned_of(&["--count", "10M", "--turn", "all"]);
        assert_eq!((whole.total, whole.blocks, whole.turns.rounds, whole.whole), (Some(10_000_000), 1, 1, true));
        for share in [0.02, 0.025, 0.07] {
            run.plan.until = Some(share);
            assert_eq!((parsed(&run).until, parsed(&run).within()), (Some(share), Some(Duration::from_millis(90_500))));
        }
        run.plan.within_ms = None;
        assert_eq!((parsed(&run).within(), parsed(&run).until), (None, Some(0.07)));
    }

    #[test]
    fn all_releases_are_compared_by_counts_unless_there_is_a_time_limit() {
        let plan = planned_of(&["scylla@all", "--scenario", "writes"]);
        assert!(plan.exact && plan.turns.rounds == 1 && !plan.control && plan.within_ms.is_none());
        assert_eq!((plan.turns.count, plan.blocks, plan.noise_share), (50_000, 3, None));
        assert_eq!(plan.passes, [Pass::Counting, Pass::Allocations, Pass::Instructions]);
        assert_eq!(plan.arrangements[0].to_string(), "current");
        assert_eq!(plan.reference, plan.contenders.last().map(ToString::to_string), "the newest release");
        let timed = planned_of(&["scylla@all", "--within", "20min", "--reference", "scylla@0.3.1"]);
        assert!(!timed.exact && timed.control && timed.turns.count == 50_000);
        assert_eq!(
            (timed.within(), timed.reference.as_deref()),
            (Some(Duration::from_secs(1_200)), Some("scylla@0.3.1"))
        );
        assert_eq!(timed.arrangements[0].to_string(), "current");
        let mut run = unusual();
        for exact in [true, false] {
            (run.plan.releases, run.plan.exact) = (vec!["scylla@all".to_owned()], exact);
            run.plan.turns = cqldyno_reports::TurnsInfo { count: 123_456, rounds: 1 };
            run.plan.reference = None;
            let parsed = parsed(&run);
            assert_eq!((parsed.releases.clone(), parsed.exact), (run.plan.releases.clone(), exact));
            assert_eq!((parsed.count, parsed.blocks), (123_456, 9));
        }
    }

    #[test]
    fn what_belongs_to_times_is_refused_for_counts() {
        let refused = |words: &[&str]| {
            let (found, programs) = (read(words), Programs::find().unwrap());
            let plan = found.asked.plan(&found.contender, &[], &found.conditions, &programs);
            plan.map(|plan| plan.exact).unwrap_err().to_string()
        };
        for flag in [&["--quick"][..], &["--publish"], &["--rate", "1k"], &["--until", "2%"], &["--turn", "20k"]] {
            let error = refused(&[&["scylla@all"], flag].concat());
            let expected =
                format!("{} was given, and scylla@all is compared by counts; add --within 20min, or leave", flag[0]);
            assert!(error.starts_with(&expected), "{error}");
        }
        let error = refused(&["scylla", "--turn", "all"]);
        assert!(error.starts_with("--turn all was given without --count"), "{error}");
    }

    #[test]
    fn a_quick_run_has_few_generations_within_half_a_minute_and_no_control() {
        let plan = planned_of(&["--quick"]);
        assert!(plan.blocks as usize * 2 < cqldyno_reports::LEAST_BLOCKS, "no interval: {}", plan.blocks);
        assert_eq!((plan.within(), plan.control), (Some(Duration::from_secs(30)), false));
        assert_eq!(plan.contenders.len(), drivers::compared().len());
        let other = planned_of(&["--quick", "-n", "1k", "-c", "7", "--within", "none"]);
        assert_eq!((other.total, other.blocks, other.concurrency, other.within()), (Some(1_000), 3, 7, None));
    }

    /// Anything else that a plan is made of would be ignored in silence.
    #[test]
    fn a_resumed_run_takes_nothing_that_a_plan_is_made_of() {
        let given_again = "resume format wide notes within quiet user password_file tls verbose help";
        let given_again: Vec<&str> = given_again.split(' ').collect();
        let mut command = arguments::Arguments::command();
        command.build();
        let compare = command.find_subcommand("compare").unwrap();
        let resume = compare.get_arguments().find(|argument| argument.get_id() == "resume").unwrap();
        let refused: Vec<&str> =
            compare.get_arg_conflicts_with(resume).iter().map(|one| one.get_id().as_str()).collect();
        for argument in compare.get_arguments().map(|argument| argument.get_id().as_str()) {
            assert_ne!(refused.contains(&argument), given_again.contains(&argument), "{argument}");
        }
    }
}
