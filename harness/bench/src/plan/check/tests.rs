use cqldyno_scenarios::Submit;

use super::*;
use crate::plan::plan;
use crate::plan::target::Access;

#[test]
fn a_scenario_may_come_with_several_ways_of_submitting_and_is_refused_with_one_that_cannot() {
    let submitted = |name: &str, submit| Scenario { submit, ..cqldyno_scenarios::builtin(name).unwrap() };
    let check = |scenarios: Vec<Scenario>, passes: Vec<Pass>| {
        let plan = Plan { scenarios, ..plan(&["scylla"], &["writes"]) }.with(|one| one.passes = passes);
        plan.check(&Topology::sample(1, 1)).map(drop).map_err(|error| error.to_string())
    };
    let both = || vec![submitted("writes", Submit::Slots), submitted("writes", Submit::Stream)];
    assert_eq!(check(both(), vec![Pass::Counting]), Ok(()));
    let twice = vec![submitted("writes", Submit::Stream); 2];
    assert_eq!(check(twice, Vec::new()).unwrap_err(), "the scenario writes+stream is asked for twice; name it once");
    let error = check(both(), vec![Pass::Latency]).unwrap_err();
    assert!(error.contains("the way of submitting stream of writes+stream keeps none"), "{error}");
    let error = check(vec![submitted("batch", Submit::Spawn)], Vec::new()).unwrap_err();
    assert!(error.starts_with("the scenario batch+spawn cannot be run: the way of submitting spawn"), "{error}");
    // It has one statement in flight, however many are asked for.
    let many = plan(&["scylla"], &["writes"]).with(|one| one.concurrency = 1 << 21);
    let one = Plan { scenarios: vec![submitted("writes", Submit::Sequential)], ..many };
    assert!(one.check(&Topology::sample(1, 1)).is_ok());
}

#[test]
fn what_no_driver_could_have_in_flight_is_refused_before_anything_starts() {
    let asked = |contender: &str, concurrency: u64, connections: u64| {
        let plan =
            plan(&[contender], &["writes"]).with(|one| (one.concurrency, one.connections) = (concurrency, connections));
        plan.check(&Topology::sample(1, 1)).map(drop).map_err(|error| error.to_string())
    };
    assert_eq!(asked("a", 32_767, 1), Ok(()));
    assert_eq!(asked("a", 1 << 20, 33), Ok(()));
    assert_eq!(asked("noop", 1 << 20, 1), Ok(()));
    assert_eq!(asked("a+connections=2", 40_000, 1), Ok(()), "it has more than the run's");
    assert_eq!(
        asked("a", 32_768, 1).unwrap_err(),
        "--concurrency 32768 was asked for, and at most 32,767 can be in flight over 1 connection to a node; ask for fewer, or for \
         more --connections (up to 1,048,576 in flight)"
    );
    assert!(asked("a", 100_000, 3).unwrap_err().contains("at most 98,301 can be in flight over 3 connections"));
    assert_eq!(
        asked("noop", (1 << 20) + 1, 1).unwrap_err(),
        "--concurrency 1048577 was asked for, and at most 1,048,576 can be in flight; ask for fewer"
    );
    let limited = plan(&["a"], &["connect"]).with(|one| one.concurrency = 2_000_000);
    assert!(limited.check(&Topology::sample(1, 1)).is_ok(), "the scenario's own limit is lower");
    let elsewhere = Target::parse("10.0.0.1").unwrap();
    let elsewhere = Plan { target: elsewhere, ..plan(&["a"], &["writes"]) }.with(|one| one.concurrency = 40_000);
    assert!(elsewhere.check(&Topology::sample(1, 1)).is_ok(), "nobody knows how many nodes it has");
}

#[test]
fn postgres_is_asked_by_its_own_worker_what_it_can_answer() {
    let asked = |contender: &str, scenario: &str, target: &str, concurrency| {
        let plan = Plan { target: Target::parse(target).unwrap(), ..plan(&[contender], &[scenario]) };
        let plan = plan.with(|one| one.concurrency = concurrency);
        plan.check(&Topology::sample(1, 1)).map(drop).map_err(|error| error.to_string())
    };
    assert_eq!(asked("postgres", "writes", "postgres", 256), Ok(()));
    assert_eq!(
        asked("scylla", "writes", "postgres,synchronous_commit=off", 8).unwrap_err(),
        "the contender scylla was asked for on the target postgres,synchronous_commit=off, and does not speak its protocol; name the \
         contender `postgres` alone, or leave --target out"
    );
    assert!(asked("postgres", "writes", "embedded", 8).unwrap_err().ends_with("; add --target postgres"));
    let error = asked("postgres", "batch", "postgres", 8).unwrap_err();
    assert!(error.starts_with("PostgreSQL cannot run the scenario batch: its statement"), "{error}");
    let error = asked("postgres", "writes", "postgres", 1_001).unwrap_err();
    assert!(error.contains("lower --concurrency from 1001 (1 x 1001 were asked for)"), "{error}");
}

#[test]
fn connections_for_which_a_process_may_not_open_files_are_refused() {
    let asked = |contender: &str, connections: u64| {
        let plan = plan(&[contender], &["writes"]).with(|one| one.connections = connections);
        plan.check_connections(1_024).map_err(|error| error.to_string())
    };
    assert_eq!(asked("a", 960), Ok(()));
    assert_eq!(asked("noop", 5_000), Ok(()));
    let at_once = |sessions: u64, nodes: &str| {
        let mut storm = cqldyno_scenarios::builtin("connect").unwrap();
        storm.limits = storm.limits.asked();
        let plan = Plan::new(vec!["a".parse().unwrap()], vec![storm]);
        let plan = plan.with(|one| one.serve.nodes = Some(nodes.parse().unwrap()));
        plan.with(|one| one.concurrency = sessions).check_connections(1_024).map_err(|error| error.to_string())
    };
    assert_eq!((at_once(320, "1"), at_once(192, "3")), (Ok(()), Ok(())));
    assert_eq!(
        at_once(193, "3").unwrap_err(),
        "the scenario connect opens 193 sessions at once with up to 5 connections each, and a process may have 1,024 files open here, \
         of which 64 are left for other things; ask for a lower --concurrency, or raise that with `ulimit -Hn`"
    );
    assert_eq!(
        asked("a", 961).unwrap_err(),
        "--connections 961 was asked for, and a process may have 1024 files open here, of which 64 are left for other things; ask \
         for fewer, or raise that with `ulimit -n`"
    );
}

#[test]
fn what_cannot_be_carried_out_is_refused_before_anything_starts() {
    let error = |plan: Plan| plan.check(&Topology::sample(2, 1)).unwrap_err().to_string();
    assert!(plan(&["a"], &["writes"]).check(&Topology::sample(1, 1)).is_ok());
    assert!(error(plan(&[], &["writes"])).contains("at least one contender"));
    assert!(error(plan(&["a"], &["writes", "writes"])).contains("writes is asked for twice"));
    assert!(
        error(plan(&["a"], &["writes"]).with(|one| one.blocks = 0)).contains("the number of generations was set to 0")
    );
    assert!(error(plan(&["a"], &["mixed"]).with_blocks(1, 1)).contains("ask for at least 2"));
    let uncounted = plan(&["a"], &["mixed"]).with(|one| one.passes = Vec::new());
    assert!(uncounted.check(&Topology::sample(1, 1)).is_ok(), "there is no counting cell to be too short");
    assert!(
        error(plan(&["a", "c"], &["writes"]).with(|one| one.reference = Some("b".to_owned())))
            .contains("\"b\" is none of the contenders: a, c; name one of them")
    );
    let elsewhere = Plan { target: Target::parse("10.0.0.1").unwrap(), ..plan(&["a", "a+tls=on"], &["writes"]) };
    assert_eq!(
        error(elsewhere.clone()),
        "the contender a+tls=on encrypts its connections, and the target 10.0.0.1 is reached without TLS; add --tls ca=FILE if it \
         is a cluster of yours that encrypts, or leave +tls=on out"
    );
    let access = Access { tls: Some(cqldyno_driver_api::Tls::default()), ..Access::default() };
    assert!(Plan { access, ..elsewhere }.check(&Topology::sample(1, 1)).is_ok());
    assert!(plan(&["a", "a+tls=on"], &["writes"]).check(&Topology::sample(1, 1)).is_ok());
    let twice = vec!["current".parse().unwrap(), "current".parse().unwrap()];
    let twice = Plan { arrangements: twice, ..plan(&["a"], &["writes"]) };
    assert!(error(twice).contains("the arrangement current is asked for twice"));
    let pinned = Plan { arrangements: vec!["pinned+current".parse().unwrap()], ..plan(&["a"], &["writes"]) };
    assert!(pinned.check(&Topology::sample(1, 1)).unwrap_err().to_string().contains("needs two cores"));
}
