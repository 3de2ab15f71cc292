//! The command that asks for a run once more.

use std::collections::BTreeSet;

use cqldyno_bench::PAGE_SIZE;
use cqldyno_reports::{LoadersInfo, Pass, PlanInfo, PointInfo, Run, ScenarioInfo, percent};
use cqldyno_scenarios::{Limits, Scenario, Submit, builtin, days};

use crate::count::Numbers;

/// The arguments after `cqldyno compare` that ask for the same run again. They state the value of every flag, so that no later default
/// changes it.
///
/// They do not state the number of counted statements, which follows from the size of the run. Three things are in no result: the user,
/// files of TLS, and which cores were free. A scenario that is not built in is named as the file that
/// `cqldyno scenarios NAME --run RUN >NAME.json` writes.
fn arguments(run: &Run) -> Vec<String> {
    let plan = &run.plan;
    let contenders =
        if plan.releases.is_empty() { run.asked() } else { plan.releases.iter().map(String::as_str).collect() };
    let points = || run.scenarios.iter().filter_map(|scenario| scenario.point.as_ref());
    let mut names: Vec<String> = run.scenarios.iter().map(scenario).collect();
    names.dedup();
    let in_turns = |all: &u64| plan.turns.rounds > 1 || !all.is_multiple_of(plan.blocks.into());
    let (count, turn) = match plan.total {
        None if plan.repeats_all() => (Some(plan.turns.count), None),
        Some(all) if !in_turns(&all) => (Some(all / u64::from(plan.blocks.max(1))), None),
        total => (total, Some(plan.turns.count)),
    };
    let arrangements: Vec<&str> = plan.arrangements.iter().map(|one| one.id.as_str()).collect();
    let is_pinned = arrangements.iter().any(|id| id.starts_with("pinned+"));
    // With the settings `default` every driver keeps its own of these, and they are refused.
    let takes_settings =
        plan.settings != "default" || run.contenders.iter().any(|one| one.id.contains("+settings=equal"));
    let of_drivers = |value: String| takes_settings.then_some(value);
    let several = |of: fn(&PointInfo) -> Option<u64>, own| {
        let all: BTreeSet<u64> = points().filter_map(of).collect();
        if all.is_empty() { own } else { Some(Numbers(all.into_iter().collect()).to_string()) }
    };
    let shards = several(|point| point.shards, None);
    let connections = Some(plan.connections.to_string()).filter(|_| shards.is_none());
    let connections = several(|point| point.connections, connections);
    let delays: BTreeSet<u64> = points().filter_map(|point| point.delay_ns).collect();
    let delays: Vec<String> =
        delays.into_iter().map(|ns| if ns == 0 { "0".to_owned() } else { format!("{}us", ns as f64 / 1e3) }).collect();
    // A ladder has no size of its own.
    let sized = plan.ladder.is_none();
    let number = |value: Option<u64>| value.map(|number| number.to_string());
    // Runs of earlier versions had another size of pages for all, which contenders with settings of their own may refuse.
    let paged = |contender: &str| {
        let settings = contender.split('+').find_map(|part| part.strip_prefix("settings="));
        match plan.page_size {
            PAGE_SIZE => contender.to_owned(),
            _ if settings.unwrap_or(&plan.settings) == "default" || contender.contains("+page-size=") => {
                contender.to_owned()
            }
            rows => format!("{contender}+page-size={rows}"),
        }
    };
    let flags = [(
        "reference",
        plan.reference.as_deref().map(paged).filter(|_| run.contenders.len() > 1 && plan.ladder.is_none()),
    )];
    let flags = flags.into_iter().chain(names.into_iter().map(|name| ("scenario", Some(name)))).chain([
        ("ladder", plan.ladder.as_ref().map(|ladder| format!("{ladder},step={}ms", ladder.lasts_ms))),
        ("delay", (!delays.is_empty()).then(|| delays.join(","))),
        ("count", number(count).filter(|_| sized)),
        ("turn", if plan.whole { Some("all".to_owned()) } else { number(turn.filter(|_| sized)) }),
        ("blocks", (turn.is_none() && !plan.whole && sized).then(|| plan.blocks.to_string())),
        ("layouts", (!plan.exact && sized).then(|| plan.layouts.unwrap_or_default().to_string())),
        ("concurrency", several(|point| Some(point.in_flight), (!is_usual(run)).then(|| plan.concurrency.to_string()))),
        ("warmup", Some(plan.warmup.to_string())),
        ("limits", Some(limits(plan))),
        ("within", (!plan.exact).then(|| milliseconds(plan.within_ms))),
        ("until", plan.until.map(|until| format!("{}%", percent(until)))),
        ("arrangement", Some(arrangements.join(","))),
        ("pin", (!is_pinned).then(|| "off".to_owned())),
        ("target", Some(target(plan))),
        ("loaders", plan.loaders.as_ref().map(loaders)),
        ("launch", plan.loaders.as_ref().map(|loaders| loaders.launch.clone()).filter(|launch| !launch.is_empty())),
        ("settings", Some(plan.settings.clone())),
        ("shards", shards),
        ("connections", connections.and_then(of_drivers)),
        ("consistency", of_drivers(plan.consistency.clone())),
        ("request-timeout", of_drivers(milliseconds(plan.request_timeout_ms))),
        ("seed", Some(plan.seed.to_string())),
        ("pass", sized.then(|| passes(plan))),
        ("rate", number(plan.rate)),
    ]);
    let flags = flags.filter_map(|(name, value)| Some([format!("--{name}"), value?])).flatten();
    contenders.into_iter().map(paged).chain(flags).collect()
}

/// The command as a shell takes it, on one line.
pub fn command(run: &Run) -> String {
    let user = if run.plan.with_user { " --user USER --password-file FILE" } else { "" };
    let tls = run.plan.tls.map(|tls| {
        let ca = if tls.verified { " --tls ca=FILE" } else { " --tls unverified" };
        let own = if tls.client_certificate { ",cert=FILE,key=FILE" } else { "" };
        format!("{ca}{own}")
    });
    let words = |all: Vec<String>| all.iter().map(|word| quoted(word)).collect::<Vec<_>>().join(" ");
    if run.plan.faults {
        return format!("cqldyno faults {}", words(of_days(run)));
    }
    let serve = words(run.plan.serve_arguments.clone());
    let (before, after) = match is_served_apart(&run.plan) {
        true => (format!("cqldyno serve {serve} & "), String::new()),
        false => (String::new(), serve),
    };
    let space = if after.is_empty() { "" } else { " " };
    format!("{before}cqldyno compare {}{space}{after}{user}{}", words(arguments(run)), tls.unwrap_or_default())
}

/// The arguments after `cqldyno faults` that ask for the same days again. A day that is not built in is named as the file that
/// `cqldyno scenarios NAME --run RUN >NAME.json` writes.
fn of_days(run: &Run) -> Vec<String> {
    let (plan, known) = (&run.plan, days());
    let name = |info: &ScenarioInfo| match asked(info).is_some_and(|one| known.contains(&one)) {
        true => info.name.clone(),
        false => format!("{}.json", info.name),
    };
    let names: Vec<String> = run.scenarios.iter().map(name).collect();
    let is_all = known.iter().map(|day| &day.name).eq(&names);
    let rate = plan.rate.unwrap_or(1).max(1);
    // Rounded down, it makes the same count again up to a million statements per second.
    let lasts = match u128::from(plan.count) * 1_000_000 / u128::from(rate) {
        us if us.is_multiple_of(1_000_000) => format!("{}s", us / 1_000_000),
        us => format!("{us}us"),
    };
    let flags = [
        ("day", (!is_all).then(|| names.join(","))),
        ("rate", Some(rate.to_string())),
        ("lasts", Some(lasts)),
        ("blocks", Some(plan.blocks.to_string())),
        ("request-timeout", Some(milliseconds(plan.request_timeout_ms))),
        ("arrangement", plan.arrangements.first().map(|one| one.id.clone())),
        ("target", (!plan.target.embedded).then(|| plan.target.id.clone())),
    ];
    let flags = flags.into_iter().filter_map(|(flag, value)| Some([format!("--{flag}"), value?])).flatten();
    run.asked().into_iter().map(str::to_owned).chain(flags).chain(plan.serve_arguments.iter().cloned()).collect()
}

/// Whether the embedded cluster answered as `serve` alone still starts it.
fn is_served_apart(plan: &PlanInfo) -> bool {
    plan.serve_argument("--nap").is_some() || plan.serve_argument("--answers") == Some("reordered")
}

/// What `--target` takes: the cluster with its options.
fn target(plan: &PlanInfo) -> String {
    let id = if is_served_apart(plan) { "127.0.0.1".to_owned() } else { plan.target.id.clone() };
    let datacenter = plan.datacenter.as_ref().map(|name| format!("datacenter={name}"));
    let replication = plan.replication.as_ref().map(|replicas| format!("replication={replicas}"));
    let keep = plan.keep.then(|| "keep".to_owned());
    let all: Vec<String> = [Some(id), datacenter, replication, keep].into_iter().flatten().collect();
    all.join(",")
}

/// What `--loaders` takes.
fn loaders(info: &LoadersInfo) -> String {
    if info.hosts.is_empty() { info.number.to_string() } else { info.hosts.join(",") }
}

/// What `--limits` takes.
fn limits(plan: &PlanInfo) -> String {
    let noise = plan.noise_share.map_or("none".to_owned(), |share| share.to_string());
    let stall = plan.stall_ms.map(|stall| format!(",stall={stall}ms"));
    let memory = plan.memory_limit_bytes.map(|bytes| format!(",memory={bytes}"));
    [Some(format!("noise={noise}")), stall, memory].into_iter().flatten().collect()
}

/// What `--pass` takes. An earlier version did not name that it counted.
fn passes(plan: &PlanInfo) -> String {
    let counts = plan.counting_count > 0;
    let first = if counts { Pass::Counting.name() } else { "none" };
    let others = plan.passes.iter().filter(|pass| **pass != Pass::Counting).map(|pass| pass.name());
    std::iter::once(first).chain(others).collect::<Vec<_>>().join(",")
}

/// Whether nobody asked for the number in flight of a scenario that has a usual one.
fn is_usual(run: &Run) -> bool {
    let own = |one: &Scenario| builtin(&one.name).and_then(|own| own.limits.usual);
    run.scenarios.iter().filter_map(asked).any(|one| own(&one).is_some_and(|own| one.limits.concurrency == Some(own)))
}

/// What was asked, if the run holds it as this version reads it.
fn asked(info: &ScenarioInfo) -> Option<Scenario> {
    serde_json::from_value(info.definition.clone()?).ok()
}

/// The scenario as `--scenario` takes it: a name, or a file if it is not built in, and how it was submitted.
fn scenario(info: &ScenarioInfo) -> String {
    let name = info.kind();
    let Some(asked) = asked(info) else { return name.to_owned() };
    // Flags set these, so they say nothing of the file.
    let bare = |one: Scenario| {
        let (about, point, page_size) = (String::new(), None, None);
        let limits = Limits { concurrency: None, usual: None, ..one.limits };
        Scenario { about, point, page_size, limits, submit: Submit::default(), ..one }
    };
    match builtin(&asked.name).is_some_and(|own| bare(own) == bare(asked.clone())) {
        true => name.to_owned(),
        false => name.replacen(&asked.name, &format!("{}.json", asked.name), 1),
    }
}

fn milliseconds(time: Option<u64>) -> String {
    time.map_or("none".to_owned(), |ms| format!("{ms}ms"))
}

/// A word as a POSIX shell takes it.
pub fn quoted(word: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "@%+=:,./_-".contains(c);
    match word.chars().all(is_plain) && !word.is_empty() {
        true => word.to_owned(),
        false => format!("'{}'", word.replace('\'', "'\\''")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sample;

    #[test]
    fn every_value_is_said_and_the_control_is_not() {
        let (mut run, _) = sample::blocks(12);
        run.plan.reference = Some("scylla".to_owned());
        run.plan.within_ms = Some(300_000);
        assert_eq!(
            command(&run),
            "cqldyno compare scylla cdrs-tokio cassandra-cpp floor noop --reference scylla --scenario writes --scenario reads \
             --count 500000 --blocks 12 --layouts 0 --concurrency 1024 --warmup 10000 --limits noise=none --within 300000ms --arrangement multi:2 --pin off \
             --target embedded --settings equal --connections 1 --consistency LOCAL_ONE --request-timeout \
             30000ms --seed 42 --pass counting"
        );
    }

    #[test]
    fn a_run_of_an_earlier_version_is_asked_for_in_words_of_today() {
        let (mut run, _) = sample::run();
        let asked = |run: &Run, part: &str| assert!(command(run).contains(part), "{part}: {}", command(run));
        let words = |text: &str| text.split(' ').map(str::to_owned).collect::<Vec<_>>();
        run.plan.serve_arguments = words("--nodes 24,tokens=256 --answers each");
        asked(&run, " --nodes 24,tokens=256 --answers each");
        run.plan.serve_arguments = words("--answers reordered --nap 1ms");
        asked(&run, "cqldyno serve --answers reordered --nap 1ms & cqldyno compare scylla ");
        asked(&run, " --target 127.0.0.1 ");
        (run.plan.page_size, run.plan.reference) = (10, Some("scylla".to_owned()));
        asked(&run, "compare scylla+page-size=10 ");
        asked(&run, " --reference scylla+page-size=10 ");
        run.contenders[1].id = "cdrs-tokio+settings=default".to_owned();
        asked(&run, "compare scylla+page-size=10 cdrs-tokio+settings=default ");
        let mut other = run.clone();
        (other.plan.settings, other.plan.reference) = ("default".to_owned(), None);
        other.contenders[1].id = "cdrs-tokio+settings=equal".to_owned();
        asked(&other, "compare scylla cdrs-tokio+settings=equal+page-size=10 ");
        run.plan.serve_arguments.clear();
        run.plan.target.id = "10.0.0.1".to_owned();
        (run.plan.datacenter, run.plan.keep) = (Some("dc1".to_owned()), true);
        run.plan.replication = Some("dc1=3,dc2=2".to_owned());
        asked(&run, " --target 10.0.0.1,datacenter=dc1,replication=dc1=3,dc2=2,keep ");
    }

    #[test]
    fn a_scenario_that_is_not_built_in_is_a_file() {
        let (mut run, _) = sample::run();
        let own = builtin("writes").unwrap();
        let other = Scenario { name: "users".to_owned(), ..own.clone() };
        let same_name = Scenario { schema: vec!["CREATE KEYSPACE IF NOT EXISTS other".to_owned()], ..own.clone() };
        let mut named = |one: &Scenario, name: &str| {
            run.scenarios.truncate(1);
            run.scenarios[0].name = name.to_owned();
            run.scenarios[0].definition = serde_json::to_value(one).ok();
            command(&run).split_once(" --scenario ").unwrap().1.split(' ').next().unwrap().to_owned()
        };
        assert_eq!(named(&own, "writes+threads"), "writes+threads");
        assert_eq!(named(&other, "users"), "users.json");
        assert_eq!(named(&other, "users+threads"), "users.json+threads");
        assert_eq!(named(&same_name, "writes"), "writes.json");
    }

    #[test]
    fn a_password_is_asked_for_again_and_a_hostile_word_is_one_word() {
        let (mut run, _) = sample::run();
        run.plan.with_user = true;
        run.plan.tls = Some(cqldyno_reports::TlsInfo { verified: true, client_certificate: true });
        run.scenarios[0].name = "a'; rm -rf $HOME".to_owned();
        let text = command(&run);
        assert!(text.ends_with(" --user USER --password-file FILE --tls ca=FILE,cert=FILE,key=FILE"), "{text}");
        assert!(text.contains(r"--scenario 'a'\''; rm -rf $HOME' --scenario reads"), "{text}");
    }
}
