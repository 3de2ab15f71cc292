//! `compare --ladder`: the highest rate that a contender holds below a bound.

use serde_json::Value;

use crate::schema::check_schema;
use crate::support::{cqldyno, json, refused, stderr, stdout, words};

#[test]
fn a_search_ends_at_neighbours_that_hold_and_fail_and_goes_on_after_its_time_was_over() {
    let folder = tempfile::tempdir().unwrap();
    let run = |arguments: &[&str]| {
        let output = cqldyno(folder.path(), &[&["compare"], arguments].concat()).output().unwrap();
        assert_eq!(output.status.code(), Some(0), "{}\n{}", stderr(&output), stdout(&output));
        output
    };
    let asked = ["floor", "scylla", "--ladder", "p50<15ms,step=200ms", "--delay", "0,20ms", "--warmup", "100"];
    let first = run(&[&asked[..], &["--within", "2s", "--out", "kept", "--format", "json"]].concat());
    let said = words(&stderr(&first));
    assert!(said.contains("There was no time for another step within 2 s"), "{said}");
    assert!(said.contains("Go on with `cqldyno compare --resume kept`."), "{said}");
    let before = json(&first);
    let all = run(&["--resume", "kept", "--within", "none", "--format", "json"]);
    let whole = json(&all);
    let cells = |one: &Value| one["cells"].as_array().unwrap().clone();
    assert_eq!(cells(&whole)[..cells(&before).len()], cells(&before)[..], "nothing runs twice");
    assert!(cells(&whole).iter().all(|cell| cell["pass"] == "latency" && cell["block"].as_u64() > Some(0)));
    let ladders = whole["ladders"].as_array().unwrap();
    assert_eq!(ladders.len(), 4);
    for ladder in ladders {
        let steps = ladder["steps"].as_array().unwrap();
        assert_eq!(ladder["finished"], true, "{ladder:#}");
        let mine = |cell: &&Value| ["contender", "scenario"].iter().all(|key| cell[key] == ladder[key]);
        assert_eq!(cells(&whole).iter().filter(mine).count(), steps.len());
        let at = |rate: &Value, is_held: bool| {
            steps.iter().filter(|step| step["rate"] == *rate && step["limit"].is_null() == is_held).count()
        };
        if ladder["scenario"].as_str().unwrap().contains("with delay 20ms") {
            // No answer comes within the bound, whatever the rate.
            assert_eq!((&ladder["held"], ladder["failed"].as_u64()), (&Value::Null, Some(500)));
            assert!(steps.iter().all(|step| step["percentile_us"].as_f64().is_none_or(|us| us >= 15_000.0)));
        }
        for (edge, is_held) in [("held", true), ("failed", false)] {
            let rate = &ladder[edge];
            assert!(rate.is_null() || at(rate, is_held) == 2, "{edge}: {ladder:#}");
        }
        if let (Some(held), Some(failed)) = (ladder["held"].as_f64(), ladder["failed"].as_f64()) {
            assert!((1.03..1.06).contains(&(failed / held)), "{ladder:#}");
        }
    }
    check_schema(&folder.path().join("kept"));
    let kept = std::fs::read_to_string(folder.path().join("kept/run.json")).unwrap();
    let kept: Value = serde_json::from_str(&kept).unwrap();
    let command = kept["command"].as_str().unwrap();
    assert!(command.contains(" --ladder 'p50<15ms,step=200ms' --delay 0,20000us "), "{command}");
    let table = stdout(&cqldyno(folder.path(), &["report", "kept", "--wide"]).output().unwrap());
    assert!(table.contains("mixed, statements/s with p50 below 15ms: highest held / lowest failed:"), "{table}");
    assert!(table.contains("none / 500") && table.contains("every step"), "{table}");
    let again = run(&["--resume", "kept", "--format", "json"]);
    assert!(words(&stderr(&again)).contains("nothing was left to do"), "{}", stderr(&again));
}

#[test]
fn what_makes_no_sense_with_a_ladder_is_refused() {
    let ladder = |further: &[&str]| words(&refused(&[&["compare", "floor", "--ladder", "p99<5ms"], further].concat()));
    for flag in [&["--count", "1k"][..], &["--quick"], &["--blocks", "8"], &["--pass", "latency"]] {
        let error = ladder(flag);
        let sentence = format!("{} was given together with --ladder, which chooses rates itself", flag[0]);
        assert!(error.contains(&sentence), "{error}");
    }
    for (arguments, sentence) in [
        (&["-c", "1,2"][..], "several numbers of --concurrency were given together with --ladder"),
        (&["--shards", "1,2"], "several numbers of --shards were given together with --ladder"),
        (&["--delay", "1ms,0"], "write delays that rise, such as 0,0.2ms,1ms"),
        (&["--delay", "0,1ms±20%"], "several delays have no jitter"),
        (
            &["--delay", "0,1ms", "--target", "127.0.0.1"],
            "several times of --delay were given with the target 127.0.0.1",
        ),
        (&["--scenario", "connect"], "the scenario connect has no ladder: each of its statements opens a session"),
        (&["--scenario", "reads+stream"], "the way of submitting stream of reads+stream keeps none"),
    ] {
        let error = ladder(arguments);
        assert!(error.contains(sentence), "{error}");
    }
    for (bound, sentence) in [
        ("p99", "write a percentile, `<` and a time, such as p99<5ms"),
        ("p98<5ms", "\"p98\" is none of the percentiles p50, p90, p99, p99.9, max"),
        ("p99<0", "write a time above 0, up to 60s"),
        ("p99<5ms,step=1ms", "write step= and a time from 100ms on, such as step=3s"),
    ] {
        let error = words(&refused(&["compare", "floor", "--ladder", bound]));
        assert!(error.contains(sentence), "{error}");
    }
    let folder = tempfile::tempdir().unwrap();
    let day = cqldyno_scenarios::builtin_toml("reads").unwrap().to_owned()
        + "\n[[script]]\ndo = \"error\"\nafter = 10\nerror = \"overloaded\"\n";
    std::fs::write(folder.path().join("day.toml"), day).unwrap();
    let asked = ["compare", "floor", "--ladder", "p99<5ms", "--scenario", "./day.toml"];
    let error = words(&stderr(&cqldyno(folder.path(), &asked).output().unwrap()));
    assert!(error.contains("has no ladder: its script disturbs statements on purpose"), "{error}");
    let error = words(&refused(&["compare", "floor", "--ladder", "p99<5ms", "--rate", "1k"]));
    assert!(error.contains("--rate was given more than once; give it once"), "{error}");
    let error = words(&refused(&["compare", "floor", "--delay", "0,1ms", "--publish"]));
    assert!(error.contains("several times of --delay were given together with --publish"), "{error}");
}
