//! Rounds without their cores: they are kept, and no verdict rests on them.

use std::process::{Command, Stdio};

use crate::schema::check_schema;
use crate::support::{Running, cqldyno, drivers, stderr, stdout, words};
use cqldyno_reports::{Cell, CountedRounds, RoundCores, Run};

/// A comparison of one generation or more in short turns: its output, and what it kept.
fn compare(noise: &str) -> (String, Run, Vec<Cell>) {
    let folder = tempfile::tempdir().unwrap();
    let asked =
        ["compare", "scylla", "cdrs-tokio", "--scenario", "writes", "--turn", "20k", "--warmup", "0", "--pass", "none"];
    let noise = format!("noise={noise}");
    let limits = ["--within", "1s", "--limits", &noise, "--out", "kept"];
    let output = cqldyno(folder.path(), &[&asked[..], &limits].concat()).output().unwrap();
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    let kept = folder.path().join("kept");
    check_schema(&kept);
    let text = |name: &str| std::fs::read_to_string(kept.join(name)).unwrap();
    let cells = text("cells.jsonl").lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    (stdout(&output), Run::from_json(&text("run.json")).unwrap(), cells)
}

#[test]
fn beside_a_busy_loop_on_every_core_no_round_counts_and_there_is_no_verdict() {
    drivers();
    let busy =
        || Running(Command::new("sh").args(["-c", "while :; do :; done"]).stdout(Stdio::null()).spawn().unwrap());
    let cores = std::thread::available_parallelism().unwrap().get();
    let _loops: Vec<Running> = (0..cores).map(|_| busy()).collect();
    let (shown, run, cells) = compare("10%");
    let (counting, all) = CountedRounds::of(&run, &cells).counting().unwrap();
    assert!(counting == 0 && all >= 2, "{counting} of {all}: {cells:?}");
    let last_of_rounds: Vec<&Cell> = cells.iter().filter(|cell| cell.cores.is_some()).collect();
    assert_eq!(last_of_rounds.len(), all, "one turn of each round");
    let is_found = |cell: &&Cell| match &cell.cores {
        Some(RoundCores::Found { cores: found, witness_us, .. }) => {
            *found as usize == cores && witness_us.is_some_and(|cost| cost > 0.0)
        }
        _ => false,
    };
    assert!(last_of_rounds.iter().all(is_found), "{cells:?}");
    assert!(shown.starts_with(&format!("Warning: {all} of {all} rounds do not count, because the cores")), "{shown}");
    assert!(words(&shown).contains("others used "), "{shown}");
    let is_verdict = |line: &str| {
        ["cheaper", "dearer", "faster", "slower", "same", "inconcl."].iter().any(|word| line.ends_with(word))
    };
    assert!(!shown.lines().any(is_verdict), "{shown}");

    let (shown, run, cells) = compare("none");
    assert!(CountedRounds::of(&run, &cells).counting().is_none() && cells.iter().all(|cell| cell.cores.is_none()));
    assert!(!shown.contains("do not count"), "nobody looked: {shown}");
}

/// SIGINT after two generations, as the lines on standard error tell them.
#[test]
fn a_run_that_is_stopped_has_a_line_per_generation_and_no_verdict_until_it_is_finished() {
    use std::io::{BufRead, BufReader, Read};

    drivers();
    let folder = tempfile::tempdir().unwrap();
    let asked =
        ["compare", "scylla", "floor", "--scenario", "writes", "--turn", "5k", "--warmup", "0", "--pass", "none"];
    let limits = ["--within", "2min", "--limits", "noise=none", "--out", "kept"];
    let mut command = cqldyno(folder.path(), &[&asked[..], &limits].concat());
    let mut running = Running(command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap());
    let said = BufReader::new(running.0.stderr.take().unwrap());
    let mut generations = said.lines().map(Result::unwrap).filter(|line| line.starts_with("generation "));
    for number in 1..=2 {
        let line = generations.next().unwrap();
        assert!(line.starts_with(&format!("generation {number} of ")) && line.contains(": writes  scylla "), "{line}");
    }
    running.signal(nix::sys::signal::Signal::SIGINT);
    generations.for_each(drop);
    let mut shown = String::new();
    running.0.stdout.take().unwrap().read_to_string(&mut shown).unwrap();
    assert_eq!(running.code(), Some(130));
    let why = "The run was stopped, so it gives no verdicts; `cqldyno compare --resume DIR` finishes it.";
    assert!(words(&shown).contains(why), "{shown}");
    let output = cqldyno(folder.path(), &["report", "kept"]).output().unwrap();
    assert!(words(&stdout(&output)).contains(why), "{}", stdout(&output));

    let output = cqldyno(folder.path(), &["compare", "--resume", "kept", "--within", "1s"]).output().unwrap();
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    assert!(!words(&stdout(&output)).contains(why), "{}", stdout(&output));
}

#[test]
fn a_run_holds_what_is_known_of_its_machine_or_why_it_is_not_known() {
    drivers();
    let (_, run, _) = compare("none");
    for name in ["siblings", "caches", "governor", "steal", "hypervisor", "loop on all cores at once"] {
        let said = &run.environment.more[name];
        assert!(!said.is_empty() && said != "0" && said != "n/a", "{name}: {said}");
    }
}
