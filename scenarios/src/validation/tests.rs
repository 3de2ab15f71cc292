use super::*;

const GOOD: &str = r#"
name = "tiny"
about = "One insert."
schema = ["CREATE TABLE ks.t (pk bigint PRIMARY KEY, v text)"]
[[statement]]
name = "insert"
cql = "INSERT INTO ks.t (pk, v) VALUES (?, ?)"
values = [{ type = "bigint" }, { type = "text", length = 3 }]
"#;

fn error(text: &str) -> String {
    Scenario::from_toml(text, "tiny.toml").unwrap_err().to_string()
}

#[test]
fn no_statement_is_an_error() {
    let text = "name = \"a\"\nabout = \"\"\nschema = []\nstatement = []\n";
    assert!(error(text).contains("has no [[statement]]"));
}

#[test]
fn a_statement_has_the_keys_of_one_that_loads_its_rows_or_says_what_it_adds() {
    let two = |first: &str, second: &str| {
        let insert = &GOOD[GOOD.find("[[statement]]").unwrap()..];
        let insert = insert
            .replacen("name = \"insert\"", "name = \"other\"", 1)
            .replace("values =", &format!("{second}\nvalues ="));
        Scenario::from_toml(&format!("{}{insert}", GOOD.replace("values =", &format!("{first}\nvalues ="))), "two.toml")
    };
    assert_eq!(two("", "keys_of = \"insert\"\nadds = 0").unwrap().statements[1].keys_of.as_deref(), Some("insert"));
    for (first, second) in
        [("", "keys_of = \"insert\""), ("", "keys_of = \"none\"\nadds = 0"), ("", "keys_of = \"other\"\nadds = 0")]
    {
        let error = two(first, second).unwrap_err().to_string();
        assert!(
            error.contains("name a statement that has keys of its own, as many rows per key, and [statement.load]"),
            "{error}"
        );
    }
    let error = two("", "keys_of = \"insert\"\nkeys = 5\nadds = 0").unwrap_err().to_string();
    assert!(error.contains("has the keys and rows of another one; leave keys and [statement.load] out"), "{error}");
}

#[test]
fn only_a_write_adds_rows() {
    let with = |text: &str| Scenario::from_toml(&text.replace("values =", "adds = -2\nvalues ="), "tiny.toml");
    assert_eq!(with(GOOD).unwrap().statements[0].adds, Some(-2));
    let select = GOOD.replace("INSERT INTO ks.t (pk, v) VALUES (?, ?)", "SELECT v FROM ks.t WHERE pk = ? AND v = ?");
    let error = with(&select).unwrap_err().to_string();
    assert!(error.contains("statement insert writes nothing, so it adds no rows; leave adds out"), "{error}");
}

#[test]
fn an_answer_is_a_part_of_what_a_key_has() {
    let select = GOOD.replace("INSERT INTO ks.t (pk, v) VALUES (?, ?)", "SELECT v FROM ks.t WHERE pk = ? AND v >= ?");
    let load = "[statement.load]\ncql = \"INSERT INTO ks.t (pk) VALUES (?)\"\nvalues = [{ type = \"bigint\" }]\n";
    let of = |expect: &str| {
        let columns = "columns = [{ type = \"bigint\" }]";
        Scenario::from_toml(&format!("{select}[statement.expect]\n{expect}\n{columns}\n{load}"), "tiny.toml")
    };
    let part = of("rows = 2\nstored = 20\nfrom = 18\ndescending = true").unwrap();
    assert_eq!((part.statements[0].rows(), part.statements[0].stored()), (2, 20));
    let error = |expect: &str| of(expect).unwrap_err().to_string();
    let said = "expects 2 rows from place 19 on, and a key has 20; set stored to 21 or more, and to 1048576 at most";
    assert!(error("rows = 2\nstored = 20\nfrom = 19").contains(said));
    assert!(error("from = 1").contains("expects 1 rows from place 1 on, and a key has 1"));
    assert!(error("descending = true").contains("expects one row, which has no order; leave descending out"));
}

#[test]
fn values_that_no_frame_carries_are_refused_wherever_they_stand() {
    let most = GOOD.replace("length = 3", &format!("length = {}", MAX_VALUE_BYTES - 8));
    assert!(Scenario::from_toml(&most, "tiny.toml").is_ok());
    let message = error(&GOOD.replace("length = 3", "length = 99999999999"));
    assert!(
        message.contains(
            "statement insert binds values of 100000000007 bytes together; at most 16711680 fit into a frame: use \
             smaller lengths"
        ),
        "{message}"
    );
    let blobs = "[{ type = \"blob\", length = 9223372036854775807 }, { type = \"blob\", length = 9223372036854775807 }, \
                 { type = \"blob\", length = 9223372036854775807 }]";
    let expect = format!("{GOOD}[statement.expect]\ncolumns = {blobs}\n");
    assert!(error(&expect).contains("insert expects values of 18446744073709551615 bytes"));
    let read_back =
        format!("{GOOD}[statement.read_back]\ncql = \"SELECT v FROM ks.t\"\nvalues = []\ncolumns = {blobs}\n");
    assert!(error(&read_back).contains("insert reads back values of 18446744073709551615 bytes"));
}

#[test]
fn only_a_statement_that_writes_is_read_back() {
    let read_back = "[statement.read_back]\ncql = \"SELECT v FROM ks.t WHERE pk = ?\"\nvalues = []\ncolumns = []\n";
    assert!(error(&format!("{GOOD}{read_back}")).contains("0 values for the 1 bind marker of its read_back"));
    let read_back = read_back.replace("values = []", "values = [{ type = \"bigint\" }]");
    assert!(Scenario::from_toml(&format!("{GOOD}{read_back}"), "tiny.toml").is_ok());
    let both = format!("{GOOD}[statement.expect]\ncolumns = []\n{read_back}");
    assert!(error(&both).contains(
        "statement insert writes without IF, so its answer has no row; leave [statement.expect] out: [statement.read_back] \
         checks what it wrote"
    ));
    let select = GOOD.replace("INSERT INTO ks.t (pk, v) VALUES (?, ?)", "SELECT v FROM ks.t WHERE pk = ? AND v = ?");
    assert!(
        error(&format!("{select}{read_back}"))
            .contains("statement insert writes no rows that could be read back; leave [statement.read_back] out")
    );
}

const LOAD: &str =
    "[statement.load]\ncql = \"INSERT INTO ks.t (pk, v) VALUES (?, 'x')\"\nvalues = [{ type = \"bigint\" }]\n";

#[test]
fn a_write_loads_the_rows_that_it_changes_and_expects_none() {
    let insert = "INSERT INTO ks.t (pk, v) VALUES (?, ?)";
    let values = "[{ type = \"bigint\" }, { type = \"text\", length = 3 }]";
    for (cql, bound) in [
        ("UPDATE ks.t SET v = ? WHERE pk = ?", "[{ type = \"text\", length = 3 }, { type = \"bigint\" }]"),
        ("DELETE FROM ks.t WHERE pk = ?", "[{ type = \"bigint\" }]"),
    ] {
        let write = GOOD.replace(insert, cql).replace(values, bound);
        assert!(Scenario::from_toml(&format!("{write}{LOAD}"), "x").is_ok(), "{cql}");
        assert!(
            error(&format!("{write}{LOAD}shift = true\n"))
                .contains("statement insert expects no row that could be shifted; leave shift out")
        );
        let expects = format!("{write}{LOAD}[statement.expect]\ncolumns = [{{ type = \"bigint\" }}]\n");
        assert!(error(&expects).contains("writes without IF, so its answer has no row"), "{}", error(&expects));
    }
    let made = GOOD.replace(insert, "CREATE TABLE IF NOT EXISTS ks.u (pk bigint PRIMARY KEY)").replace(values, "[]");
    let made = made.replace("name = \"insert\"", "name = \"create\"\noperation = \"unprepared\"");
    assert!(
        error(&format!("{made}{LOAD}"))
            .contains("statement create neither reads nor writes rows; leave [statement.load] out")
    );
    let prepared = made.replace("unprepared", "prepare");
    assert!(error(&format!("{prepared}{LOAD}")).contains(
        "statement create is prepared and never executed; use values = [], and leave [statement.load] and \
             [statement.read_back] out"
    ));
}

#[test]
fn an_operation_that_cannot_be_meant_is_refused_with_what_to_do() {
    let with = |lines: &str| GOOD.replace("name = \"insert\"", &format!("name = \"insert\"\n{lines}"));
    let batch = Scenario::from_toml(&with("operation = \"batch\""), "x").unwrap();
    assert_eq!((batch.statements[0].operation, batch.statements[0].rows()), (Operation::Batch, 64));
    assert_eq!(Scenario::from_toml(GOOD, "x").unwrap().statements[0].rows(), 1);
    let unknown = error(&with("operation = \"upsert\""));
    assert!(unknown.contains("\"execute\"") && unknown.contains("\"connect\""), "{unknown}");
    assert!(error(&with("size = 8")).contains("add operation = \"batch\""));
    for size in [0, 1_025] {
        assert!(
            error(&with(&format!("operation = \"batch\"\nsize = {size}")))
                .contains("it takes a whole number from 1 to 1024")
        );
    }
    assert!(error(&with("operation = \"prepare\"")).contains("use values = []"));
    assert!(
        error(&GOOD.replace("[[statement]]", "[limits]\ncount = 0\n[[statement]]"))
            .contains("count is 0, which is out of its range")
    );
    for operation in ["batch", "prepare"] {
        let expects = with(&format!("operation = \"{operation}\"")) + "[statement.expect]\ncolumns = []\n";
        assert!(error(&expects).contains("leave [statement.expect] out"), "{operation}");
    }
}

const COUNTER: &str = r#"
name = "counted"
about = "Counters."
schema = ["CREATE TABLE ks.c (pk bigint PRIMARY KEY, c counter)"]
[[statement]]
name = "add"
cql = "UPDATE ks.c SET c = c + ? WHERE pk = ?"
values = [{ type = "counter" }, { type = "bigint" }]
[statement.read_back]
cql = "SELECT c FROM ks.c WHERE pk = ?"
values = [{ type = "bigint" }]
columns = [{ type = "counter" }]
"#;

#[test]
fn a_counter_is_read_back_only_where_it_was_added_to_once() {
    assert!(Scenario::from_toml(COUNTER, "x").is_ok());
    for more in ["keys = 10", "order = \"uniform\"", "order = \"zipf\""] {
        let text = COUNTER.replace("name = \"add\"", &format!("name = \"add\"\n{more}"));
        assert!(
            error(&text).contains(
                "statement add adds to a counter and its keys repeat, so its sum is unknown; leave out keys and order, or \
                 [statement.read_back]"
            ),
            "{}",
            error(&text)
        );
    }
}

#[test]
fn elements_that_no_collection_can_have_are_refused_where_they_stand() {
    let with = |column: &str| error(&GOOD.replace("{ type = \"text\", length = 3 }", column));
    for (column, sentence) in [
        (
            "{ type = \"list\", of = { type = \"counter\" }, length = 3 }",
            "a counter cannot be an element of a list; use another type",
        ),
        (
            "{ type = \"tuple\", of = [{ type = \"list\", of = { type = \"null\" }, length = 1 }] }",
            "a null cannot be an element of a tuple; use another type",
        ),
        (
            "{ type = \"set\", of = { type = \"boolean\" }, length = 3 }",
            "a set of 3 elements of type boolean could have two that are equal, of which the server keeps one; use another \
             type, or a length of at most 2",
        ),
        (
            "{ type = \"map\", keys = { type = \"float\" }, of = { type = \"int\" }, length = 2 }",
            "a map of 2 keys of type float could have two that are equal, of which the server keeps one; use another type",
        ),
    ] {
        let message = with(column);
        assert!(message.contains(sentence), "{message}");
    }
    let most = "{ type = \"list\", of = { type = \"blob\", length = 1000000 }, length = 17 }";
    assert!(with(most).contains("values of 17000076 bytes together"), "{}", with(most));
    let ints = "{ type = \"list\", of = { type = \"int\" }, length = 65535 }";
    let nested = with(&format!("{{ type = \"list\", of = {ints}, length = 65535 }}"));
    assert!(nested.contains("statement insert binds values of 34358951948 bytes together"), "{nested}");
}

#[test]
fn a_lightweight_transaction_expects_its_answer_without_a_load_and_may_be_read_back() {
    let conditional = GOOD.replace("VALUES (?, ?)\"", "VALUES (?, ?) IF NOT EXISTS\"");
    let read_back = "[statement.read_back]\ncql = \"SELECT v FROM ks.t WHERE pk = ?\"\n\
                     values = [{ type = \"bigint\" }]\ncolumns = [{ type = \"text\", length = 3 }]\n";
    let expect = "[statement.expect]\napplied = true\n";
    let scenario = Scenario::from_toml(&format!("{conditional}{expect}{read_back}"), "x").unwrap();
    let expected = &scenario.statements[0].expect.as_ref().unwrap().columns;
    assert_eq!(*expected, [Kind::Boolean { times: 0, plus: 1 }.into()]);
    assert!(error(&format!("{GOOD}{expect}")).contains("writes without IF, so its answer has no row"));
    assert!(
        error(&conditional)
            .contains("insert has IF, so its answer says whether it was applied; add [statement.expect]")
    );
    let batch = conditional.replace("name = \"insert\"", "name = \"insert\"\noperation = \"batch\"\nsize = 2");
    assert!(error(&batch).contains("no batch can expect that"));
    let refused = format!("{conditional}[statement.expect]\napplied = false\ncolumns = [{{ type = \"bigint\" }}]\n");
    let scenario = Scenario::from_toml(&refused, "x").unwrap();
    assert_eq!(scenario.statements[0].expect.as_ref().unwrap().columns.len(), 2);
    assert_eq!(scenario.statements[0].expect.as_ref().unwrap().columns[0], Kind::Boolean { times: 0, plus: 0 }.into());
}

#[test]
fn a_batch_that_no_frame_holds_is_refused() {
    let long = GOOD.replace("name = \"insert\"", "name = \"insert\"\noperation = \"batch\"\nsize = 1000");
    let long = long.replace("length = 3", "length = 20000");
    assert!(error(&long).contains("batches of 1000 rows with values of 20008000 bytes"), "{}", error(&long));
}

const PARTS: &str = r#"
name = "parts"
about = "Parts of partitions."
schema = ["CREATE TABLE ks.t (pk bigint, ck bigint, v text, PRIMARY KEY (pk, ck))", "CREATE TABLE ks.u (pk bigint PRIMARY KEY)"]
[[statement]]
name = "some"
cql = "SELECT ck FROM ks.t WHERE pk = ? AND ck >= ?"
values = [{ type = "bigint" }, { type = "bigint", at = 0 }]
[statement.expect]
rows = "uniform(1..5)"
columns = [{ type = "bigint" }]
[statement.load]
cql = "INSERT INTO ks.t (pk, ck) VALUES (?, ?)"
values = [{ type = "bigint", by = "key" }, { type = "bigint" }]
"#;

fn scan(more: &str) -> String {
    let scan = PARTS.replace("pk = ? AND ck >= ?", "token(pk) > ? AND token(pk) <= ?");
    let scan = scan.replace(
        "{ type = \"bigint\" }, { type = \"bigint\", at = 0 }",
        "{ type = \"token\", at = 0 }, { type = \"token\", at = -1 }",
    );
    scan.replace("rows = \"uniform(1..5)\"", "rows = \"uniform(1..5)\"\nranges = 8\ncheck = \"content\"") + more
}

#[test]
fn a_part_of_an_answer_that_cannot_be_is_refused_with_what_to_do() {
    for good in [PARTS.to_owned(), scan("")] {
        assert!(Scenario::from_toml(&good, "x").is_ok(), "{}", error(&good));
    }
    for (from, to, said) in [
        ("at = 0", "at = 1", "binds a value of row 1 of its answer, and only 1 may come back; use a smaller at"),
        ("at = 0", "at = -2", "binds a value of row -2 of its answer, and only 1 may come back; use a smaller at"),
        (
            "rows = \"uniform(1..5)\"",
            "",
            "binds a value of the rows that come back, and each key has one row; set rows in [statement.expect]",
        ),
        (
            "columns = [{",
            "columns = [{ at = 0,",
            "which only the values of a statement that reads have; use by = \"row\", \"key\" or \"place\"",
        ),
        (
            "type = \"bigint\", at = 0",
            "type = \"bigint\", at = -9223372036854775808",
            "binds a value of row -9223372036854775808 of its answer, and only 1 may come back; use a smaller at",
        ),
        ("by = \"key\"", "by = \"rows\"", "has a column with at, by = \"rows\" or type = \"each\""),
        ("rows = \"uniform(1..5)\"", "rows = 5\nlast = true", "say with stored how many it has, and leave from out"),
        (
            "rows = \"uniform(1..5)\"",
            "rows = 5\nstored = 9\nfrom = \"uniform(0..9)\"",
            "expects rows from place 9 on, and a key may have fewer",
        ),
        (
            "rows = \"uniform(1..5)\"",
            "rows = \"uniform(0..5)\"",
            "\"uniform(0..5)\" has numbers that are out of range; use 1 to 1048576",
        ),
        (
            "rows = \"uniform(1..5)\"",
            "rows = \"uniform(5..1)\"",
            "and \"uniform(5..1)\" was found; use fixed(N), uniform(LOW..HIGH)",
        ),
        ("type = \"bigint\", at = 0", "type = \"token\", at = 0", "binds a token; set ranges in [statement.expect]"),
        (
            "name = \"some\"",
            "name = \"some\"\nlogged = true",
            "is logged and is no batch; add operation = \"batch\", or leave logged out",
        ),
    ] {
        assert!(PARTS.contains(from), "{from}");
        let found = error(&PARTS.replacen(from, to, 1));
        assert!(found.contains(said), "{to}: {found}");
    }
}

#[test]
fn a_scan_whose_rows_are_not_known_is_refused() {
    let insert = "[[statement]]\nname = \"more\"\ncql = \"INSERT INTO ks.t (pk, ck) VALUES (?, ?)\"\nvalues = [{ type = \"bigint\" }, { type = \"bigint\" }]\n";
    assert!(
        error(&scan(insert))
            .contains("reads all rows of a range of its table, and statement more writes or loads others there")
    );
    assert!(
        Scenario::from_toml(
            &scan(
                &insert
                    .replace("ks.t (pk, ck) VALUES (?, ?)", "ks.u (pk) VALUES (?)")
                    .replace(", { type = \"bigint\" }]", "]")
            ),
            "x"
        )
        .is_ok()
    );
    for (from, to, said) in [
        ("check = \"content\"", "", "in any order; use 1 to 65536 ranges and check = \"content\" or \"count\""),
        ("ranges = 8", "ranges = 8\nstored = 9", "leave stored and descending out"),
        ("ranges = 8", "", "binds a token; set ranges in [statement.expect]"),
        ("\"token\", at = -1", "\"token\"", "add at = 0 for that before its range, or at = -1 for the last one"),
        ("{ type = \"token\", at = 0 }", "{ type = \"bigint\", at = 0 }", "bind values of type token only"),
        (
            "type = \"bigint\", by = \"key\"",
            "type = \"double\", by = \"key\"",
            "load them by an INSERT that binds the whole partition key",
        ),
        ("(pk, ck) VALUES (?, ?)", "(ck, v) VALUES (?, ?)", "so the tokens of its rows must be known"),
    ] {
        assert!(scan("").contains(from), "{from}");
        let found = error(&scan("").replacen(from, to, 1));
        assert!(found.contains(said), "{to}: {found}");
    }
}

#[test]
fn what_cannot_compress_and_collections_of_nothing_are_refused() {
    let of = |column: &str| error(&GOOD.replace("{ type = \"text\", length = 3 }", column));
    for (column, said) in [
        (
            "{ type = \"text\", length = 30, compressible = 0.01 }",
            "compressible is 0.01, which is out of its range; it takes a number from 0.05 to 0.95",
        ),
        (
            "{ type = \"text\", length = 30, unicode = true, compressible = 0.5 }",
            "binds a text that compresses; compressible takes 0.05 to 0.95, for texts without unicode and blobs",
        ),
        ("{ type = \"int\", compressible = 0.5 }", "a column of type int has no field compressible"),
        (
            "{ type = \"list\", of = { type = \"int\" }, length = \"uniform(0..3)\" }",
            "\"uniform(0..3)\" has numbers that are out of range; use 1 to 65535",
        ),
        (
            "{ type = \"set\", of = { type = \"boolean\" }, length = \"uniform(1..3)\" }",
            "a set of 3 elements of type boolean could have two that are equal",
        ),
    ] {
        assert!(of(column).contains(said), "{}", of(column));
    }
    let mut scenario = Scenario::from_toml(GOOD, "x").unwrap();
    scenario.statements[0].values[1].kind = Kind::List { of: Box::new(Kind::Uuid { plus: 0 }), length: 0.into() };
    let found = scenario.validate("x").unwrap_err().to_string();
    assert!(found.contains("a list of 0 elements is null for the server; use a length of 1 or more"), "{found}");
}

#[test]
fn more_keys_than_their_drawn_rows_can_be_loaded_for_are_refused() {
    let many = PARTS.replace("name = \"some\"", "name = \"some\"\nkeys = 100000000");
    let scenario = Scenario::from_toml(&many, "x").unwrap();
    let found = crate::Workload::new(&scenario, 10, 0, 1).unwrap_err().to_string();
    assert!(
        found.contains(
            "has 100000000 keys with uniform(1..5) rows each; at most 16777216 keys with drawn rows are possible"
        ),
        "{found}"
    );
}
