use super::*;
use crate::Workload;

const VIEWS: &str = "
keyspace: Shop
keyspace_definition: |
  CREATE KEYSPACE shop WITH replication = {'class': 'SimpleStrategy', 'replication_factor': 3};
table: views
table_definition: |
  CREATE TABLE views (
    visitor text, // who
    at timestamp,
    page blob,
    tags set<int>,
    place frozen<tuple<int, text>>,
    PRIMARY KEY ((visitor), at)
  ) WITH CLUSTERING ORDER BY (at DESC) AND comment = 'x'
columnspec:
  - name: visitor
    size: fixed(12)
    population: uniform(1..10M)
  - name: at
    cluster: uniform(10..30)
  - name: page
    size: gaussian(100..300)
  - name: tags
    size: gaussian(10..30,20,1)
insert:
  partitions: fixed(1)
  batchtype: LOGGED
queries:
  newest:
    cql: select * from views where visitor = ? LIMIT 5
    fields: samerow
  since:
    cql: SELECT at, page FROM views WHERE visitor = ? AND at > ? ORDER BY at ASC LIMIT 4
  between:
    cql: SELECT at FROM views WHERE visitor = ? AND at >= ? AND at < ?
  one:
    cql: SELECT page, tags FROM views WHERE visitor = ? AND at = ?
  rename:
    cql: update views set page = ? where visitor = ? and at = ?
  forget:
    cql: delete from views where visitor = ? and at = ?
  blank:
    cql: delete page from views where visitor = ? and at = ?
  stamp:
    cql: UPDATE views USING TIMESTAMP 10 SET page = 0x00 where visitor = ? and at = ?
  fade:
    cql: UPDATE views USING TTL 5 SET page = ? where visitor = ? and at = ?
  insert:
    cql: select page from views where visitor = ? and at = ?
  by-page:
    cql: select visitor from views where page = ?
";

fn imported(profile: &str, shares: &[(&str, f64)]) -> Result<Imported, String> {
    let shares: Vec<(String, f64)> = shares.iter().map(|(name, share)| ((*name).to_owned(), *share)).collect();
    import(profile, "views.yaml", "Views_1", &shares).map_err(|error| error.to_string())
}

#[test]
fn a_profile_becomes_a_scenario_that_can_be_run() {
    let made = imported(VIEWS, &[]).unwrap();
    let scenario = Scenario::from_toml(&made.toml, "views").unwrap();
    assert_eq!(scenario.name, "views-1");
    let names: Vec<&str> = scenario.statements.iter().map(|one| one.name.as_str()).collect();
    assert_eq!(names, ["insert", "between", "blank", "fade", "forget", "newest", "one", "rename", "since", "stamp"]);
    let of = |name: &str| scenario.statements.iter().find(|one| one.name == name).unwrap();
    assert_eq!(["forget", "blank", "stamp", "fade"].map(|name| of(name).adds), [Some(-1), Some(0), Some(0), None]);
    let is_read = |name: &str| of(name).read_back.is_some();
    assert_eq!((is_read("rename"), is_read("fade")), (true, false), "what expires is not read");
    let cql = |name: &str| of(name).cql.as_str();
    assert_eq!(cql("insert"), "INSERT INTO shop.views (visitor, at, page, tags, place) VALUES (?, ?, ?, ?, ?)");
    assert_eq!(cql("newest"), "SELECT visitor, at, page, tags, place FROM shop.views WHERE visitor = ? LIMIT 5");
    assert_eq!(cql("rename"), "update shop.views set page = ? where visitor = ? and at = ?");
    let newest = of("newest").expect.as_ref().unwrap();
    assert_eq!((newest.rows(), newest.stored.unwrap().to_string().as_str()), (5, "uniform(10..30)"));
    assert!(newest.last && newest.descending);
    let insert = of("insert");
    assert_eq!((insert.operation, insert.logged), (crate::Operation::Batch, true));
    assert_eq!((insert.size.unwrap().to_string().as_str(), insert.values[0].by), ("uniform(10..30)", crate::By::Key));
    assert_eq!(cql("since"), "SELECT at, page FROM shop.views WHERE visitor = ? AND at >= ? ORDER BY at ASC LIMIT 4");
    assert_eq!(cql("between"), "SELECT at FROM shop.views WHERE visitor = ? AND at >= ? AND at <= ?");
    let drawn = |name: &str| {
        let expect = of(name).expect.as_ref().unwrap();
        let ends: Vec<i64> = of(name).values.iter().filter_map(|value| value.at).collect();
        let texts = [expect.rows, expect.stored, expect.from]
            .map(|amount| amount.map_or_else(String::new, |one| one.to_string()));
        (texts, ends, expect.last, expect.descending)
    };
    let all = "uniform(10..30)".to_owned();
    assert_eq!(drawn("since"), (["4".to_owned(), all.clone(), "uniform(0..9)".to_owned()], vec![0], false, false));
    let between = ["uniform(1..30)".to_owned(), all, "uniform(0..9)".to_owned()];
    assert_eq!([of("newest").keys, of("since").keys, of("one").keys], [Some(3_333), Some(3_333), None]);
    assert_eq!(drawn("between"), (between, vec![0, -1], false, true));
    assert!(scenario.schema[2].ends_with("PRIMARY KEY ((visitor), at)) WITH CLUSTERING ORDER BY (at DESC)"));
    assert!(Workload::new(&scenario, 1_000, 0, 1).is_ok());
    assert!(scenario.with_own_keyspaces("_1").is_some());
}

#[test]
fn batches_go_to_several_partitions_where_nothing_reads_them() {
    let several = VIEWS.replace("partitions: fixed(1)", "partitions: uniform(2..5)\n  select: fixed(1)/10");
    let insert = |shares: &[(&str, f64)]| {
        let made = imported(&several, shares).unwrap();
        let scenario = Scenario::from_toml(&made.toml, "views").unwrap();
        assert!(Workload::new(&scenario, 1_000, 100, 1).is_ok());
        let insert = &scenario.statements[0];
        (insert.size.unwrap().to_string(), insert.values[0].by, made.lost)
    };
    let (size, by, lost) = insert(&[("insert", 1.0)]);
    assert_eq!((size.as_str(), by), ("uniform(2..15)", crate::By::Row));
    assert!(lost.contains(&"Every row of a batch has a partition of its own.".to_owned()), "{lost:#?}");
    let (size, by, lost) = insert(&[]);
    assert_eq!((size.as_str(), by), ("uniform(1..3)", crate::By::Key));
    let key = several.replace(
        "PRIMARY KEY ((visitor), at)\n  ) WITH CLUSTERING ORDER BY (at DESC) AND",
        "PRIMARY KEY (visitor)\n  ) WITH",
    );
    let alone = Scenario::from_toml(&imported(&key, &[]).unwrap().toml, "views").unwrap();
    assert_eq!(alone.statements[0].size, None, "a partition without clustering columns has one row");
    let said = "Each batch writes one partition, and no query reads it; the profile has partitions: uniform(2..5).";
    assert!(lost.contains(&said.to_owned()), "{lost:#?}");
}

#[test]
fn what_is_lost_is_said_and_stands_in_the_file() {
    let made = imported(VIEWS, &[]).unwrap();
    for sentence in [
        "The keyspace has one replica; --target ADDRESS,replication=N asks for others.",
        "Of the options of the table (WITH ...) there is only the clustering order.",
        "Every execution has a key of its own, and all values follow from it (visitor: uniform(1..10M)).",
        "The values of tags have the length gaussian(10..30); the profile has gaussian(10..30,20,1).",
        "The query insert is left out: cassandra-stress gives that name to its own insert.",
        "The operation by-page is left out: it does not name a partition by its key, so it needs an index or filters.",
    ] {
        assert!(made.lost.iter().any(|one| one == sentence), "{sentence}: {:#?}", made.lost);
        assert!(made.toml.contains(&format!("# {sentence}\n")), "{sentence}");
    }
}

#[test]
fn few_keys_and_drawn_lengths_are_carried_over() {
    let few = imported(&VIEWS.replace("uniform(1..10M)", "GAUSSIAN(1..1k)"), &[]).unwrap();
    let scenario = Scenario::from_toml(&few.toml, "views").unwrap();
    assert!(scenario.statements.iter().all(|one| one.keys == Some(1_000) && one.order == crate::Order::Gaussian));
    assert!(!few.toml.contains("visitor:"), "{}", few.toml);
    assert!(few.toml.contains("{ type = \"blob\", length = \"gaussian(100..300)\" }"), "{}", few.toml);
    assert!(!few.lost.iter().any(|sentence| sentence.contains("The values of page")), "{:#?}", few.lost);
}

const NOTES: &str = "
keyspace: a
table: notes
table_definition: CREATE TABLE notes (k int, at int, tag text, n int, tags set<int>, s int static, PRIMARY KEY (k, tag, at))
columnspec:
  - {name: k, population: uniform(1..100)}
  - {name: tag, cluster: fixed(4)}
  - {name: at, cluster: fixed(3), colour: red}
insert: {condition: IF NOT EXISTS, row-population: fixed(2), select: fixed(1)/1000}
queries:
  read_1: {cql: SELECT * FROM notes WHERE k = ?}
  read-1: {cql: SELECT * FROM notes WHERE k = ? LIMIT 50}
  few: {cql: SELECT n FROM notes WHERE k = ? LIMIT 5}
  tagged: {cql: SELECT n FROM notes WHERE k = ? AND tag = ? ORDER BY at DESC LIMIT 2}
  filtered: {cql: SELECT n FROM notes WHERE k = ? AND tag = ? AND at = ? AND n = ?}
  other-order: {cql: SELECT n FROM notes WHERE k = ? ORDER BY at DESC}
  each: {cql: SELECT n FROM notes WHERE k = ? PER PARTITION LIMIT 1}
  shared: {cql: SELECT s FROM notes WHERE k = ?}
  range: {cql: DELETE FROM notes WHERE k = ? AND tag = ? AND at > ?}
  more: {cql: UPDATE notes SET tags = tags + ? WHERE k = ? AND tag = ? AND at = ?, fields: multirow}
";

#[test]
fn each_answer_is_checked_as_far_as_it_is_known_and_other_operations_are_left_out() {
    let made = imported(NOTES, &[]).unwrap();
    let scenario = Scenario::from_toml(&made.toml, "notes").unwrap();
    let names: Vec<&str> = scenario.statements.iter().map(|one| one.name.as_str()).collect();
    assert_eq!(names, ["insert", "few", "read-1", "read-1-2", "tagged"]);
    let expected = |at: usize| {
        let expect = scenario.statements[at].expect.as_ref().unwrap();
        (expect.rows(), expect.stored(), expect.last, expect.descending, expect.check)
    };
    use crate::RowCheck::{Content, Count, Order};
    // Texts do not rise with the numbers of their rows.
    assert_eq!(expected(1), (5, 12, false, false, Count));
    assert_eq!([expected(2), expected(3)], [(12, 12, false, false, Content); 2]);
    assert_eq!(expected(4), (2, 3, true, true, Order));
    assert!(scenario.statements[4].cql.ends_with(" WHERE k = ? AND tag = ? ORDER BY at DESC LIMIT 2"));
    let keys: Vec<Option<u64>> = scenario.statements.iter().map(|one| one.keys).collect();
    assert_eq!(keys, [None, Some(100), Some(100), Some(100), Some(100)], "a row is inserted IF NOT EXISTS once");
    assert!(made.toml.contains("applied = true"), "{}", made.toml);
    for sentence in [
        "The operation filtered is left out: it does not name a partition by its key, so it needs an index or filters.",
        "The operation other-order is left out: it orders its rows otherwise than by the first clustering column.",
        "The operation each is left out: it takes some rows of each group.",
        "The operation shared is left out: it reads a static column.",
        "The operation range is left out: it does not name one row.",
        "The operation more is left out: what it leaves in the row depends on what was there.",
        "The entry row-population of insert is left out.",
        "The entry colour of the column at is left out.",
        "A row is inserted by itself, not in a batch (select: fixed(1)/1000).",
        "Every inserted row has a partition of its own; the profile has 12 rows in one.",
    ] {
        assert!(made.lost.iter().any(|one| one == sentence), "{sentence}: {:#?}", made.lost);
    }
    let quoted = imported(&NOTES.replace("n int", "\"N\" int"), &[]).unwrap_err();
    assert!(quoted.contains("its table has a name in quotes; use names without"), "{quoted}");
}

#[test]
fn what_a_profile_says_cannot_break_out_of_a_comment_or_overflow() {
    let text = VIEWS.replace("uniform(1..10M)", "\"uniform(0..18446744073709551615)\\nname = 1\"");
    let made = imported(&text, &[]).unwrap();
    assert!(made.toml.contains("(visitor: uniform(0..18446744073709551615) name = 1)."), "{}", made.toml);
}

#[test]
fn shares_choose_operations_and_weigh_them() {
    let made = imported(VIEWS, &[("insert", 3.0), ("one", 0.5)]).unwrap();
    let scenario = Scenario::from_toml(&made.toml, "views").unwrap();
    let weights: Vec<(&str, u32)> = scenario.statements.iter().map(|one| (one.name.as_str(), one.weight)).collect();
    assert_eq!(weights, [("insert", 30), ("one", 5)]);
    let error = imported(VIEWS, &[("reed", 1.0)]).unwrap_err();
    assert!(
        error.contains("has no operation \"reed\"; name some of insert, between, blank, by-page, fade,"),
        "{error}"
    );
}

#[test]
fn a_profile_of_which_nothing_is_left_is_refused_and_so_is_what_is_no_profile() {
    let error = imported(VIEWS, &[("by-page", 1.0)]).unwrap_err();
    assert!(
        error.starts_with("the profile views.yaml cannot be imported: nothing of it can be a scenario. "),
        "{error}"
    );
    for (text, why) in [
        ("keyspace: a", "it is no user profile of cassandra-stress in YAML: "),
        ("keyspace: a\ntable: b", "it has no table_definition; add the table's CREATE TABLE"),
        ("keyspace: a\ntable: b\ntable_definition: DROP TABLE b", "its table_definition is no CREATE TABLE"),
    ] {
        let error = imported(text, &[]).unwrap_err();
        assert!(error.contains(why), "{error}");
    }
}

const COUNTS: &str = "
keyspace: a
table: counts
table_definition: CREATE TABLE counts (page text, day int, seen counter, liked counter, PRIMARY KEY (page, day))
columnspec:
  - {name: day, cluster: fixed(7)}
queries:
  week: {cql: SELECT * FROM counts WHERE page = ?}
  day: {cql: SELECT liked FROM counts WHERE page = ? AND day = ?}
  like: {cql: UPDATE counts SET liked = liked + ? WHERE page = ? AND day = ?}
  forget: {cql: DELETE FROM counts WHERE page = ? AND day = ?}
";

#[test]
fn counters_that_are_read_or_deleted_are_loaded_by_an_update_and_checked() {
    let made = imported(COUNTS, &[]).unwrap();
    let scenario = Scenario::from_toml(&made.toml, "counts").unwrap();
    let names: Vec<&str> = scenario.statements.iter().map(|one| one.name.as_str()).collect();
    assert_eq!(names, ["insert", "day", "forget", "like", "week"]);
    let of = |name: &str| scenario.statements.iter().find(|one| one.name == name).unwrap();
    let loads = ["day", "forget", "week"].map(|name| of(name).load.as_ref().unwrap().cql.as_str());
    let load = "UPDATE a.counts SET seen = seen + ?, liked = liked + ? WHERE page = ? AND day = ?";
    assert_eq!(loads, [load; 3]);
    let week = of("week").expect.as_ref().unwrap();
    let loaded = of("week").load.as_ref().unwrap().values.clone();
    assert_eq!((week.rows(), week.check), (7, crate::RowCheck::Order));
    assert_eq!(week.columns, [&loaded[2..], &loaded[..2]].concat(), "what is loaded comes back");
    assert_eq!(of("forget").adds, Some(-1));
    assert!(of("like").read_back.is_some() && of("insert").read_back.is_some());
    assert!(Workload::new(&scenario, 1_000, 100, 1).is_ok());
    let few = COUNTS.replace("columnspec:", "columnspec:\n  - {name: page, population: uniform(1..100)}");
    let made = imported(&few, &[]).unwrap();
    let scenario = Scenario::from_toml(&made.toml, "counts").unwrap();
    assert!(scenario.statements.len() == 5 && scenario.statements.iter().all(|one| one.read_back.is_none()));
    let said = "Counters whose keys come again are added to, and not read afterwards.";
    assert!(made.lost.iter().any(|one| one == said), "{:#?}", made.lost);
}

#[test]
fn counters_are_added_to_and_an_unknown_type_leaves_its_statements_out() {
    let counts = "keyspace: a\ntable: c\ntable_definition: CREATE TABLE c (k int PRIMARY KEY, n counter)\n";
    let made = imported(counts, &[]).unwrap();
    assert!(made.toml.contains("UPDATE a.c SET n = n + ? WHERE k = ?"), "{}", made.toml);
    let typed = "keyspace: a\ntable: c\ntable_definition: CREATE TABLE c (k int PRIMARY KEY, n frozen<address>)\n";
    let made = imported(typed, &[]).unwrap();
    assert!(made.toml.contains("CREATE TABLE a.c (k int, PRIMARY KEY ((k)))"), "{}", made.toml);
    assert!(
        made.lost
            .contains(&"The column n is left out: the import does not support the type frozen<address>.".to_owned())
    );
    let error = imported(&typed.replace("k int", "k address"), &[]).unwrap_err();
    assert!(error.contains("its key k is of a type that the import does not support"), "{error}");
}
