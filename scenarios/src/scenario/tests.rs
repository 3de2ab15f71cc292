use super::*;

#[test]
fn a_shift_changes_what_is_loaded_and_expected_alike_and_never_what_is_bound() {
    for name in ["reads", "mixed"] {
        let scenario = crate::builtin(name).unwrap();
        let shifted = scenario.shifted(1_000);
        let select = &shifted.statements[0];
        let (expect, load) = (select.expect.as_ref().unwrap(), select.load.as_ref().unwrap());
        assert_eq!(expect.columns, load.values);
        assert_eq!(select.values, scenario.statements[0].values);
        assert_eq!(expect.columns[0], Kind::Bigint { times: 1, plus: 0 }.into(), "the key is bound");
        assert_eq!(expect.columns[1], Kind::Bigint { times: 2, plus: 1_000 }.into());
        assert_eq!(expect.columns[2], Kind::Bigint { times: 3, plus: 1_000 }.into());
        assert_eq!(shifted.statements[1..], scenario.statements[1..], "nothing else is loaded");
        assert_eq!(shifted.shifted(1), shifted, "it is done once");
    }
    let writes = crate::builtin("writes").unwrap();
    assert_eq!(writes.shifted(1_000), writes);
}

#[test]
fn every_text_of_a_scenario_with_keyspaces_of_its_own_names_these_and_nothing_else_changes() {
    for scenario in crate::builtins() {
        let Some(own) = scenario.with_own_keyspaces("_7") else { panic!("{}", scenario.name) };
        let [before, after] = [&scenario, &own].map(|one| format!("{one:?}"));
        assert!(!after.replace("cqldyno_7", "").contains("cqldyno"), "{after}");
        assert_eq!(after.replace("cqldyno_7", "cqldyno"), before);
    }
    let example =
        Scenario::from_toml(include_str!("../../example.toml"), "x").unwrap().with_own_keyspaces("_7").unwrap();
    let text = format!("{example:?}");
    assert!(
        text.contains("cqldyno_example_7.") && !text.replace("cqldyno_example_7", "").contains("example."),
        "{text}"
    );
    let mut shared = crate::builtin("writes").unwrap();
    let own = shared.with_own_keyspaces("_7");
    shared.schema[0] = shared.keyspaces().remove(0).1;
    assert_eq!(shared.with_own_keyspaces("_7"), own, "a cell before this one made the keyspace");
    shared.schema.remove(0);
    assert_eq!(shared.with_own_keyspaces("_7"), None, "the keyspace is not its own");
}

#[test]
fn a_keyspace_is_made_anew_and_with_other_replicas() {
    let writes = crate::builtin("writes").unwrap();
    let [(name, cql)] = &writes.keyspaces()[..] else { panic!() };
    assert_eq!(name, "cqldyno");
    assert_eq!(cql, "CREATE KEYSPACE cqldyno WITH replication = {'class': 'SimpleStrategy', 'replication_factor': 1}");
    let other = writes.with_replication(&"dc1=3,dc2=2".parse().unwrap()).unwrap();
    assert_eq!(
        other.schema[0],
        "CREATE KEYSPACE IF NOT EXISTS cqldyno WITH replication = {'class': 'NetworkTopologyStrategy', 'dc1': 3, 'dc2': 2}"
    );
    assert_eq!(other.schema[1..], writes.schema[1..]);
    let mut shared = writes.clone();
    shared.schema.remove(0);
    assert!(shared.with_replication(&"3".parse().unwrap()).is_none() && shared.keyspaces().is_empty());
}

#[test]
fn the_key_that_several_rows_have_in_common_is_not_shifted_and_what_each_has_for_itself_is() {
    let example = Scenario::from_toml(include_str!("../../example.toml"), "x").unwrap().shifted(1_000);
    let day = &example.statements[2];
    let (expect, load) = (day.expect.as_ref().unwrap(), day.load.as_ref().unwrap());
    assert_eq!(expect.columns, load.values);
    let plus = |column: &Column| match column.kind {
        Kind::Bigint { plus, .. } | Kind::Timestamp { plus, .. } | Kind::Double { plus, .. } => plus,
        Kind::Blob { plus, .. } => plus,
        _ => -1,
    };
    assert_eq!(load.values.iter().map(plus).collect::<Vec<_>>(), [0, 0, 1_000, 1_000]);
}

#[test]
fn rows_come_in_pages_of_which_the_last_is_never_full() {
    let rows = crate::builtin("rows").unwrap();
    let pages = |page_size| Scenario { page_size, ..rows.clone() }.pages(&rows.statements[0]);
    assert_eq!([Some(30), Some(50), Some(99), Some(100), Some(101), None].map(pages), [4, 3, 2, 2, 1, 1]);
    let mut limited = Scenario { page_size: Some(50), ..rows.clone() };
    limited.statements[0].cql += " LIMIT 100";
    assert_eq!(limited.pages(&limited.statements[0]), 2, "the server knows that no more is asked for");
    let reads = Scenario { page_size: Some(1), ..crate::builtin("reads").unwrap() };
    assert_eq!(reads.pages(&reads.statements[0]), 1);
}
