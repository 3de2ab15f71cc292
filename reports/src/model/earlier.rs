//! Runs of earlier versions, brought into today's form as they are read, so that nothing else knows them.
//!
//! | what an earlier version wrote | what is read |
//! | --- | --- |
//! | a plan without `turns`: one cell per contender and block | a generation of one round: `round` is 1, `turns` has the count of a cell, and there is no `total` |
//! | `counting_count` without `passes` | the pass `counting` |
//! | `without_turns` | `apart` of each scenario |
//! | a `series` that is a list | its `answered` |
//! | `noisy`: others disturbed a cell's block, which then ran again | a finding of the cell; if the block did not run again to its end, its round has no `cores`. In a run of turns one disturbed turn is enough for its round |
//! | `loops` in `cores`: the speed of a loop of arithmetic | how many `cores`; none if the loop was slow |
//! | `--tokens` and `--racks` in `serve_arguments` | options of `--nodes` |
//! | `most_attempts` | nothing |

use std::collections::BTreeMap;

use serde::Deserialize;
use serde_json::{Value, json};

use super::run::OLDEST_VERSION;
use crate::attempts::Attempts;
use crate::measure::{SERVER_CPU, WALL};
use crate::{Cell, Checksum, ModelError, Pass, RoundCores, Run, SCHEMA_VERSION};

/// Before rounds had a witness, a loop of arithmetic ran before and after each. Its mean over all cores had to have this share of its best
/// speed, and no core less than the second one.
const SPEED: (f64, f64) = (0.9, 0.75);

/// Steps per microsecond of that loop on one core, while it ran on all cores at once.
#[derive(Deserialize)]
struct CoreLoop {
    core: u32,
    before: f64,
    after: f64,
}

/// What an earlier version wrote and this one does not, as far as it takes all cells to convert it.
#[derive(Default)]
pub(super) struct Earlier {
    /// A block was one cell per contender, as is a generation of one round.
    has_blocks: bool,
    is_changed: bool,
    /// By the number of the cell.
    loops: BTreeMap<usize, Vec<CoreLoop>>,
    /// The cells that other processes disturbed, and how.
    noisy: BTreeMap<usize, String>,
}

impl Earlier {
    /// Converts `run.json`.
    pub fn of(run: &mut Value) -> Earlier {
        let mut earlier = Earlier::default();
        let Some(plan) = run.get_mut("plan").and_then(Value::as_object_mut) else { return earlier };
        plan.get_mut("serve_arguments").and_then(Value::as_array_mut).into_iter().for_each(join_nodes);
        if plan.contains_key("turns") {
            return earlier;
        }
        (earlier.has_blocks, earlier.is_changed) = (true, true);
        plan.insert("turns".to_owned(), json!({ "count": plan.get("count"), "rounds": 1 }));
        // The first version had no other pass, and did not name it.
        if plan.get("counting_count").is_some_and(|count| *count != 0) {
            plan.entry("passes").or_insert(json!([Pass::Counting]));
        }
        if let Some(why) = plan.remove("without_turns") {
            let scenarios = run.get_mut("scenarios").and_then(Value::as_array_mut);
            let scenarios = scenarios.into_iter().flatten().filter_map(Value::as_object_mut);
            scenarios.for_each(|one| drop(one.insert("apart".to_owned(), why.clone())));
        }
        run["schema"] = SCHEMA_VERSION.into();
        earlier
    }

    /// Converts the cell with this number from 0.
    pub fn cell(&mut self, number: usize, cell: &mut Value) {
        let Some(cell) = cell.as_object_mut() else { return };
        if let Some(series) = cell.get_mut("series").filter(|series| series.is_array()) {
            *series = json!({ "answered": series.take() });
        }
        if self.has_blocks && cell.get("pass") == Some(&json!(Pass::Timing)) {
            cell.insert("round".to_owned(), 1.into());
        }
        if let Some(noisy) = cell.remove("noisy") {
            self.is_changed = true;
            if let Value::String(why) = noisy {
                let findings = cell.entry("findings").or_insert(json!([]));
                findings.as_array_mut().into_iter().for_each(|all| all.push(why.clone().into()));
                self.noisy.insert(number, why);
            }
        }
        let cores = cell.get_mut("cores").and_then(Value::as_object_mut);
        if let Some((cores, loops)) = cores.and_then(|cores| cores.remove("loops").map(|loops| (cores, loops))) {
            self.is_changed = true;
            let loops: Vec<CoreLoop> = Vec::deserialize(loops).unwrap_or_default();
            cores.insert("cores".to_owned(), loops.len().into());
            self.loops.insert(number, loops);
        }
    }

    /// Converts what depends on all cells, and makes the checksum that of the converted ones.
    pub fn finish(self, run: &mut Run, cells: &mut [Cell]) {
        if let Some(share) = run.plan.noise_share {
            // A real server on this machine works on after a round, so there a loop shows the server and no other process.
            if run.plan.target.embedded || cells.iter().all(|cell| cell.get(SERVER_CPU).is_none()) {
                self.judge_loops(share, cells);
            }
            self.judge_blocks(run, cells);
        }
        if self.is_changed && run.checksum.is_some() {
            run.checksum = Some(Checksum::of_cells(cells));
        }
    }

    /// A round with a slow loop has no cores, and the reason.
    fn judge_loops(&self, share: f64, cells: &mut [Cell]) {
        let mut best: BTreeMap<(&str, u32), f64> = BTreeMap::new();
        for (number, loops) in &self.loops {
            for one in loops {
                let best = best.entry((&cells[*number].arrangement, one.core)).or_default();
                *best = best.max(one.before).max(one.after);
            }
        }
        let slow = |number: usize, loops: &[CoreLoop]| {
            let best = |core| best.get(&(cells[number].arrangement.as_str(), core)).copied().unwrap_or_default();
            let shares = loops.iter().map(|one| (one.before + one.after) / (2.0 * best(one.core)));
            let mean = shares.clone().sum::<f64>() / loops.len() as f64;
            let least = shares.fold(f64::INFINITY, f64::min);
            let slow = if least < SPEED.1 { least } else { mean };
            let is_busy = cells[number].cores.as_ref().is_none_or(|cores| cores.busy(share).is_some());
            (!is_busy && (mean < SPEED.0 || least < SPEED.1))
                .then(|| format!("the calibration loop had {:.0} % of its best speed.", (slow * 100.0).floor()))
        };
        let slow: Vec<(usize, String)> =
            self.loops.iter().filter_map(|(number, loops)| Some((*number, slow(*number, loops)?))).collect();
        for (number, unavailable) in slow {
            cells[number].cores = Some(RoundCores::Unknown { unavailable });
        }
    }

    /// If a block was disturbed and did not run again to its end, each has its cores: none that was disturbed, and all of them elsewhere.
    fn judge_blocks(&self, run: &Run, cells: &mut [Cell]) {
        if self.noisy.is_empty() {
            return;
        }
        let block =
            |cell: &Cell| (cell.scenario.clone(), cell.arrangement.clone(), cell.block, cell.round, cell.attempt);
        let mut blocks: BTreeMap<_, (usize, Option<String>)> = BTreeMap::new();
        for (number, cell) in cells.iter().enumerate().filter(|(_, cell)| cell.pass == Pass::Timing) {
            let (last, disturbed) = blocks.entry(block(cell)).or_default();
            *last = number;
            *disturbed = disturbed.take().or_else(|| self.noisy.get(&number).cloned());
        }
        // An attempt after it may have broken off.
        let attempts = Attempts::of(cells);
        if !blocks.values().any(|(last, disturbed)| disturbed.is_some() && attempts.is_last(&cells[*last])) {
            return;
        }
        for (last, disturbed) in blocks.into_values() {
            let cell = &mut cells[last];
            let arrangement = run.plan.arrangements.iter().find(|one| one.id == cell.arrangement);
            cell.cores = Some(match disturbed {
                Some(unavailable) => RoundCores::Unknown { unavailable },
                None => RoundCores::Found {
                    cores: arrangement.map_or(0, |one| one.worker_cores.len() as u32),
                    host: None,
                    wall_s: cell.get(WALL).unwrap_or_default(),
                    others_s: 0.0,
                    steal_s: 0.0,
                    witness_us: None,
                },
            });
        }
    }
}

/// Makes options of `--nodes` from the flags `--tokens` and `--racks`, as today's versions write them.
fn join_nodes(arguments: &mut Vec<Value>) {
    let (mut others, mut nodes, mut options) = (Vec::new(), None, String::new());
    for pair in arguments.chunks(2) {
        match pair {
            [Value::String(flag), Value::String(number)] if ["--tokens", "--racks"].contains(&flag.as_str()) => {
                // One is what a node has without the option.
                if number != "1" {
                    options += &format!(",{}={number}", flag.trim_start_matches('-'));
                }
            }
            [Value::String(flag), Value::String(number)] if flag == "--nodes" => nodes = Some(number.clone()),
            other => others.extend_from_slice(other),
        }
    }
    let nodes = nodes.or_else(|| (!options.is_empty()).then(|| "1".to_owned()));
    let nodes = nodes.map(|nodes| ["--nodes".into(), (nodes + &options).into()]);
    *arguments = nodes.into_iter().flatten().chain(others).collect();
}

impl Run {
    /// Reads `run.json`; one of an earlier version as today's.
    ///
    /// # Errors
    /// When the text is not JSON, of another schema version, or not a run.
    pub fn from_json(text: &str) -> Result<Run, ModelError> {
        Run::from_value(serde_json::from_str(text).map_err(ModelError::NotARun)?).map(|(run, _)| run)
    }

    /// The same of a value, with what its cells need.
    pub(super) fn from_value(mut value: Value) -> Result<(Run, Earlier), ModelError> {
        #[derive(Deserialize)]
        struct Version {
            schema: u32,
        }
        let Version { schema } = Version::deserialize(&value).map_err(ModelError::NotARun)?;
        if !(OLDEST_VERSION..=SCHEMA_VERSION).contains(&schema) {
            return Err(ModelError::Version { found: schema });
        }
        let earlier = Earlier::of(&mut value);
        Ok((Run::deserialize(value).map_err(ModelError::NotARun)?, earlier))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::export::shown::json as document;
    use crate::rounds::tests::turns;
    use crate::{Analysis, CountedRounds, Recorded, Verdict, sample};

    /// Read from a folder as an earlier version wrote it: with these changes to `run.json` and to each cell.
    fn read(
        (run, cells): (Run, Vec<Cell>),
        of_run: impl Fn(&mut Value),
        mut of_cell: impl FnMut(&Cell, &mut Value),
    ) -> Recorded {
        let mut value = serde_json::to_value(&run).unwrap();
        of_run(&mut value);
        let lines: Vec<String> = cells
            .iter()
            .map(|cell| {
                let mut value = serde_json::to_value(cell).unwrap();
                of_cell(cell, &mut value);
                value.to_string()
            })
            .collect();
        let Ok(checksum) = Checksum::of(lines.iter().map(|line| Ok::<_, std::convert::Infallible>(line.clone())));
        value["checksum"] = serde_json::to_value(checksum).unwrap();
        let found = Recorded::from_folder(&value.to_string(), (lines.join("\n") + "\n").as_bytes()).unwrap();
        assert_eq!(found.run.checksum, Some(Checksum::of_cells(&found.cells)));
        assert_eq!(
            Recorded::from_document(&document(&found.run, &found.cells)).unwrap(),
            found,
            "it is written as today"
        );
        found
    }

    /// `run.json` of a run of blocks.
    fn in_blocks(run: &mut Value) {
        let plan = run["plan"].as_object_mut().unwrap();
        plan.retain(|name, _| name != "turns" && name != "passes");
        plan.insert("most_attempts".to_owned(), 3.into());
    }

    fn as_cell(_: &Cell, cell: &mut Value) {
        cell.as_object_mut().unwrap().remove("round");
        cell["noisy"] = Value::Null;
    }

    #[test]
    fn a_block_is_a_generation_of_one_round_and_a_series_of_answers_alone_is_one() {
        let (mut run, mut cells) = sample::run();
        run.ended = Some(run.started);
        for cell in &mut cells {
            (cell.series.cpu_us, cell.series.server_cpu_us) = Default::default();
        }
        let earlier = |run: &mut Value| {
            in_blocks(run);
            run["schema"] = 1.into();
        };
        let found = read((run.clone(), cells.clone()), earlier, |is, cell| {
            as_cell(is, cell);
            cell["series"] = cell["series"]["answered"].take();
        });
        assert_eq!((Run { checksum: None, ..found.run }, found.cells), (Run { checksum: None, ..run }, cells));
    }

    #[test]
    fn why_contenders_took_no_turns_is_said_of_each_scenario() {
        let with_reason = |run: &mut Value| {
            in_blocks(run);
            run["plan"]["without_turns"] = "A worker takes no turns.".into();
        };
        let found = read(sample::run(), with_reason, as_cell);
        assert!(found.run.scenarios.iter().all(|one| one.apart.as_deref() == Some("A worker takes no turns.")));
    }

    #[test]
    fn a_block_that_was_disturbed_and_ran_again_counts_and_one_that_did_not_is_a_round_that_does_not() {
        // Runs again: nobody, all, or the first contender until the attempt broke off.
        let disturbed = |blocks: &[u32], again: fn(&Cell) -> bool| {
            let (mut run, mut cells) = sample::blocks(12);
            run.plan.noise_share = Some(0.1);
            let of = |cell: &&Cell| again(cell) && blocks.contains(&cell.block) && cell.pass == Pass::Timing;
            let more: Vec<Cell> = cells.iter().filter(of).map(|cell| Cell { attempt: 2, ..cell.clone() }).collect();
            cells.extend(more);
            let found = read((run, cells), in_blocks, |is, cell| {
                as_cell(is, cell);
                if (is.contender.as_str(), is.attempt, blocks.contains(&is.block)) == ("noop", 1, true) {
                    cell["noisy"] = "Others used 30 %.".into();
                }
            });
            let noisy: Vec<&Cell> = found.cells.iter().filter(|cell| !cell.findings.is_empty()).collect();
            assert!(noisy.iter().all(|cell| cell.contender == "noop" && cell.findings == ["Others used 30 %."]));
            let analysis = Analysis::new(&found.run, &found.cells);
            let is = |row: &&crate::SummaryRow| row.contender == "cdrs-tokio" && row.is_primary();
            let verdict = analysis.rows.iter().find(is).unwrap().verdict;
            (analysis.rounds.counting(), verdict)
        };
        assert_eq!(disturbed(&[2, 3], |_| true), (None, Some(Verdict::Dearer)));
        assert_eq!(disturbed(&[2, 3], |_| false), (Some((20, 24)), Some(Verdict::Dearer)));
        assert_eq!(disturbed(&[2, 3], |cell| cell.contender == "scylla"), (Some((20, 24)), Some(Verdict::Dearer)));
        assert_eq!(disturbed(&[1, 2, 3, 4, 5, 6, 7], |_| false), (Some((10, 24)), Some(Verdict::TooNoisy)));
    }

    #[test]
    fn flags_for_tokens_and_racks_are_options_of_nodes_as_today() {
        for (was, is) in [
            ("--nodes 24 --tokens 256 --racks 3 --answers each", "--nodes 24,tokens=256,racks=3 --answers each"),
            ("--answers each --tokens 16", "--nodes 1,tokens=16 --answers each"),
            ("--nodes 3 --tokens 1 --shards 2", "--nodes 3 --shards 2"),
            ("--nodes 24,tokens=256", "--nodes 24,tokens=256"),
            ("--delay 1ms", "--delay 1ms"),
        ] {
            let words = |text: &str| text.split(' ').map(str::to_owned).collect::<Vec<_>>();
            let found = read(sample::run(), |run| run["plan"]["serve_arguments"] = words(was).into(), |_, _| {});
            assert_eq!(found.run.plan.serve_arguments, words(is), "{was}");
        }
    }

    #[test]
    fn rounds_with_loops_are_judged_by_them_unless_a_real_server_on_this_machine_may_slow_them_down() {
        let quiet =
            RoundCores::Found { cores: 2, host: None, wall_s: 1.0, others_s: 0.0, steal_s: 0.0, witness_us: None };
        let with_loops = |embedded: bool, has_server: bool, noise_share: Option<f64>| {
            let (mut run, mut cells) = turns(|_, _, _| quiet.clone());
            (run.plan.noise_share, run.plan.target.embedded) = (noise_share, embedded);
            if !has_server {
                cells.iter_mut().for_each(|cell| drop(cell.measures.remove(SERVER_CPU)));
            }
            let found = read(
                (run, cells),
                |_| {},
                |is, cell| {
                    if is.cores.is_none() {
                        return;
                    }
                    let (others_s, [first, second]) = match is.block {
                        7 => (0.5, [100.0; 2]),
                        8 => (0.0, [79.0; 2]),
                        9 => (0.0, [49.0, 100.0]),
                        10 => (0.0, [80.0, 81.0]),
                        _ => (0.0, [100.0; 2]),
                    };
                    let one = |core: u32, before: f64| json!({ "core": core, "before": before, "after": 100.0 });
                    cell["cores"].as_object_mut().unwrap().remove("cores");
                    cell["cores"]["others_s"] = others_s.into();
                    cell["cores"]["loops"] = json!([one(0, first), one(1, second)]);
                },
            );
            let rounds = CountedRounds::of(&found.run, &found.cells);
            let why = |block| {
                let is = |cell: &&Cell| cell.block == block && cell.cores.is_some();
                found.cells.iter().find(is).unwrap().cores.as_ref().unwrap().busy(0.1)
            };
            (rounds.counting(), [8, 9, 10].map(why))
        };
        let slow = |share| Some(format!("the calibration loop had {share} % of its best speed"));
        assert_eq!(with_loops(true, true, Some(0.1)), (Some((36, 48)), [slow(89), slow(74), None]));
        assert_eq!(with_loops(false, true, Some(0.1)), (Some((44, 48)), [None, None, None]));
        assert_eq!(with_loops(false, false, Some(0.1)).0, Some((36, 48)), "the server is on another machine");
        assert_eq!(with_loops(true, true, None).0, None, "nobody asked");
    }
}
