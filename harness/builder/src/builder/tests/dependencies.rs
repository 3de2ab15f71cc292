//! Versions of dependencies: those that a worker gets, and those that it is asked to have.

use std::collections::BTreeMap;

use super::*;

#[test]
fn the_beginning_of_a_version_is_asked_for_again_each_time_and_means_the_newest_whatever_our_lock_file_has() {
    let workshop = Workshop::new();
    let first = workshop.build(&order("1.2")).unwrap();
    assert_eq!(workshop.build(&order("1.2")).unwrap(), first, "nothing newer came out");
    assert_eq!((workshop.calls("rustc"), workshop.calls("update")), (1, 4));
    let calls = fs::read_to_string(workshop.dir.path().join("calls")).unwrap();
    assert_eq!(calls.lines().filter(|line| line.ends_with("Cargo.toml --package a")).count(), 2, "{calls}");
}

#[test]
fn versions_that_were_chosen_in_part_are_chosen_again() {
    let workshop = Workshop::new();
    let first = workshop.build(&order("newest")).unwrap();
    let packages = packages(&workshop);
    assert!(packages.len() == 1 && packages[0].join("locked").is_file());
    workshop.goes_offline();
    workshop.build(&order("newest")).unwrap_err();
    assert!(!packages[0].join("locked").exists(), "a lock file that is not finished is not taken for one");
    fs::remove_file(workshop.dir.path().join("offline")).unwrap();
    assert_eq!(workshop.build(&order("newest")).unwrap(), first);
}

#[test]
fn dependencies_are_pinned_and_one_that_is_not_there_is_refused() {
    let workshop = Workshop::new();
    let with = |name: &str, version: &str| {
        let pins = BTreeMap::from([(name.to_owned(), version.to_owned())]);
        workshop.build(&Order { pins, ..order("1.2.0") })
    };
    with("tokio", "1.44.2").unwrap();
    assert_eq!(workshop.calls("update --manifest-path"), 2);
    let calls = fs::read_to_string(workshop.dir.path().join("calls")).unwrap();
    assert!(calls.contains("--package tokio --precise 1.44.2"), "{calls}");
    with("tokio", "1.0.0").unwrap();
    let calls = fs::read_to_string(workshop.dir.path().join("calls")).unwrap();
    assert!(calls.contains("--package twin --precise 1.0.0"), "one that is released in step goes first: {calls}");
    assert_eq!(
        with("tokio", "9.0.0").unwrap_err(),
        "it could not be built: tokio cannot be had at 9.0.0: no version 9.0.0 of tokio was found"
    );
    let pins = BTreeMap::from([("tokio", "1.50.0"), ("twin", "1.40.0")].map(|(a, b)| (a.to_owned(), b.to_owned())));
    assert_eq!(
        workshop.build(&Order { pins, ..order("1.2.0") }).unwrap_err(),
        "it could not be built: twin cannot be had at 1.40.0: another dependency needs another version of it"
    );
    assert_eq!(
        with("rand", "1.0.0").unwrap_err(),
        "it could not be built: version 1.0.0 of rand was asked for, and the worker does not depend on rand; name one of its \
         dependencies"
    );
}

#[test]
fn tokios_alternative_timer_is_a_flag_of_the_compiler_and_another_worker_and_refused_before_tokio_has_it() {
    let workshop = Workshop::new();
    let with = |timer: Option<&str>, tokio: &str| {
        let pins = BTreeMap::from([("tokio".to_owned(), tokio.to_owned())]);
        workshop.build(&Order { timer: timer.map(str::to_owned), pins, ..order("1.2.0") })
    };
    let plain = with(None, "1.49.0").unwrap();
    let flags = || fs::read_to_string(workshop.dir.path().join("flags")).unwrap();
    assert!(!flags().contains("cqldyno_alternative_timer"), "{}", flags());
    let other = with(Some("alternative"), "1.49.0").unwrap();
    assert!(flags().trim().ends_with("--cfg tokio_unstable --cfg cqldyno_alternative_timer"), "{}", flags());
    assert!(plain.key != other.key && other.order.ends_with("+timer=alternative"), "{other:?}");
    assert_eq!(
        with(Some("alternative"), "1.44.2").unwrap_err(),
        "it could not be built: tokio's alternative timer was asked for, and the worker has tokio 1.44.2, which has none before 1.49.0; \
         leave `timer` out, or ask for a later tokio"
    );
    with(Some("own"), "1.44.2").unwrap();
}
