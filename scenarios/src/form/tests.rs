use super::*;

const GOOD: &str = r#"name = "tiny"
about = "One insert and one select."
schema = ["CREATE TABLE ks.t (pk bigint PRIMARY KEY, v text)"]

[[statement]]
name = "insert"
cql = "INSERT INTO ks.t (pk, v) VALUES (?, ?)"
values = [{ type = "bigint" }, { type = "text", length = 3 }]

[[statement]]
name = "select"
weight = 3
cql = "SELECT v FROM ks.t WHERE pk = ?"
values = [{ type = "bigint" }]

[statement.expect]
columns = [{ type = "text", length = 3 }]

[statement.load]
cql = "INSERT INTO ks.t (pk, v) VALUES (?, ?)"
values = [{ type = "bigint" }, { type = "text", length = 3 }]
"#;

/// What is said of [`GOOD`] with `from` replaced by `to`: line, column, sentence.
fn said(from: &str, to: &str) -> (usize, usize, String) {
    assert!(GOOD.contains(from), "{from}");
    let text = GOOD.replacen(from, to, 1);
    let Mistake { span, message } = read_document(&text, None).unwrap_err();
    let place = mistake::Place::of(&span, &text);
    (place.line, place.column, message)
}

fn read(text: &str, origin: &str) -> Result<Scenario, ScenarioError> {
    super::read(text, origin, None)
}

#[test]
fn a_form_without_a_mistake_is_read() {
    let scenario = read(GOOD, "tiny.toml").unwrap();
    assert_eq!(scenario.statements.iter().map(|one| one.weight).collect::<Vec<_>>(), [1, 3]);
    assert_eq!(scenario.statements[0].values[0], Kind::Bigint { times: 1, plus: 0 }.into());
    assert_eq!(scenario.statements[0].values[1], Kind::Text { length: 3.into(), plus: 0, unicode: false }.into());
    assert_eq!(scenario.statements[0].expect, None);
    assert_eq!(scenario.limits, Limits::default());
}

#[test]
fn a_mistake_names_the_file_its_line_and_column_and_shows_the_place() {
    let message = read(&GOOD.replace("weight = 3", "weight = 0"), "dir/tiny.toml").unwrap_err().to_string();
    assert_eq!(
        message,
        "the scenario dir/tiny.toml cannot be read, line 12, column 10: weight is 0, which is out of its range; it takes a whole \
         number from 1 to 4294967295\n   |\n12 | weight = 0\n   |          ^"
    );
}

#[test]
fn every_type_is_documented() {
    let documented = include_str!("../../FIELDS.md");
    for name in types() {
        assert!(documented.contains(&format!("`{name}`")), "FIELDS.md lacks {name}");
    }
}

#[test]
fn every_mistake_has_its_place_and_a_sentence_that_says_what_is_allowed() {
    let types = types().map(|name| format!("{name:?}")).collect::<Vec<_>>().join(", ");
    let mistakes: &[(&str, &str, usize, usize, &str)] = &[
        // Not TOML.
        ("name = \"tiny\"", "name = \"tiny", 1, 13, "this is not TOML: invalid basic string, expected `\"`"),
        ("weight = 3", "weight = 3\nweight = 4", 13, 1, "this is not TOML: duplicate key"),
        // Missing, misspelt and unknown fields.
        ("about = ", "abuot = ", 2, 1, "a scenario has no field abuot, and must have about. Did you mean `about`?"),
        ("name = \"tiny\"\n", "", 1, 1, "a scenario has no name here, and cannot be without one"),
        (
            "cql = \"INSERT INTO ks.t (pk, v) VALUES (?, ?)\"\n",
            "",
            5,
            1,
            "a statement has no cql here, and cannot be without one",
        ),
        (
            "weight = 3",
            "wieght = 3",
            12,
            1,
            "a statement has no field wieght; its fields are name, cql, weight, operation, size, logged, values, keys, keys_of, adds, order, exponent, expect, load, read_back. \
             Did you mean `weight`?",
        ),
        (
            "[statement.load]",
            "[statement.laod]",
            19,
            12,
            "a statement has no field laod; its fields are name, cql, weight, operation, size, logged, values, keys, keys_of, adds, order, exponent, expect, load, read_back. Did you mean `load`?",
        ),
        (
            "[statement.load]\n",
            "[statement.load]\nrows = 5\n",
            20,
            1,
            "[statement.load] has no field rows; its fields are cql, values, shift",
        ),
        // Types and what belongs to them.
        (
            "\"bigint\"",
            "\"bigit\"",
            8,
            20,
            &format!("type cannot be \"bigit\"; it is one of {types}. Did you mean `bigint`?"),
        ),
        ("{ type = \"bigint\" }", "{ times = 2 }", 8, 11, "a column has no type here, and cannot be without one"),
        (
            "length = 3",
            "length = 3, times = 2",
            8,
            61,
            "a column of type text has no field times; its fields are type, length, plus, unicode, compressible, by, at, null_every, nulls",
        ),
        (
            "\"text\", length = 3",
            "\"text\"",
            8,
            32,
            "a column of type text has no length here, and cannot be without one",
        ),
        (
            "length = 3",
            "length = -3",
            8,
            58,
            "length is -3, which is out of its range; it takes a whole number from 0 to 9223372036854775807",
        ),
        (
            "length = 3",
            "length = \"normal(1..3)\"",
            8,
            58,
            "it takes a number, or a distribution such as \"uniform(10..30)\", and \"normal(1..3)\" was found; use fixed(N), \
             uniform(LOW..HIGH), gaussian(LOW..HIGH), exponential(LOW..HIGH) or zipf(LOW..HIGH)",
        ),
        (
            "length = 3",
            "length = \"uniform(1..3)\", unicode = true",
            8,
            58,
            "a text with unicode = true has one length; set a number instead of \"uniform(1..3)\"",
        ),
        (
            "length = 3",
            "length = 3, nulls = 1.5",
            8,
            69,
            "nulls is 1.5, which is out of its range; it takes a number from 0 to 1",
        ),
        (
            "length = 3",
            "length = 3, nulls = 0.5, null_every = 2",
            8,
            32,
            "a column has either nulls or null_every; leave one of them out",
        ),
        (
            "length = 3",
            "length = 3, by = \"rov\"",
            8,
            66,
            "by cannot be \"rov\"; it is one of \"row\", \"key\", \"place\", \"rows\". Did you mean `row`?",
        ),
        // Wrong kinds.
        ("\"tiny\"", "7", 1, 8, "name is a whole number here; it takes a text in quotes"),
        (
            "weight = 3",
            "weight = 1.5",
            12,
            10,
            "weight is a number with a fraction here; it takes a whole number from 1 to 4294967295",
        ),
        ("weight = 3", "weight = \"3\"", 12, 10, "weight is a text here; it takes a whole number from 1 to 4294967295"),
        (
            "schema = [\"",
            "schema = [7, \"",
            3,
            11,
            "an item of schema is a whole number here; it takes a text in quotes",
        ),
        (
            "values = [{ type = \"bigint\" }, { type = \"text\", length = 3 }]",
            "values = \"bigint\"",
            8,
            10,
            "values is a text here; it takes a list in brackets",
        ),
        (
            "[{ type = \"bigint\" },",
            "[\"bigint\",",
            8,
            11,
            "an item of values is a text here; it takes the fields of a column, such as { type = \"bigint\" }, in a table",
        ),
        (
            "[{ type = \"bigint\" },",
            "[{ type = 5 },",
            8,
            20,
            &format!("type is a whole number here; it takes one of {types}"),
        ),
        (
            "schema = ",
            "limits = 5\nschema = ",
            3,
            10,
            "limits is a whole number here; it takes the fields of [limits] in a table",
        ),
        // What makes no scenario.
        (
            "\"tiny\"",
            "\"Tiny 1\"",
            1,
            8,
            "the name is \"Tiny 1\"; use a word of lower-case letters, digits and hyphens",
        ),
        ("\"select\"", "\"insert\"", 11, 8, "two statements are named insert; give each a name of its own"),
        (
            "weight = 3",
            "weight = 0",
            12,
            10,
            "weight is 0, which is out of its range; it takes a whole number from 1 to 4294967295",
        ),
        (
            "VALUES (?, ?)",
            "VALUES (?, '?')",
            8,
            10,
            "statement insert has 2 values for the 1 bind marker of its cql; give one for each ?",
        ),
        (
            "\n[statement.load]\ncql = \"INSERT INTO ks.t (pk, v) VALUES (?, ?)\"\nvalues = [{ type = \"bigint\" }, { type = \"text\", length = 3 }]\n",
            "",
            16,
            1,
            "statement select expects rows by its keys, which no other statement has, and nothing loads them; add [statement.load]",
        ),
        (
            "weight = 3",
            "exponent = 1.2",
            12,
            12,
            "statement select has an exponent, which only the orders zipf and latest take; set one of them, or leave exponent out",
        ),
        (
            "weight = 3",
            "order = \"zip\"",
            12,
            9,
            "order cannot be \"zip\"; it is one of \"permuted\", \"sequential\", \"uniform\", \"zipf\", \"latest\", \"hotspot\", \"gaussian\", \"exponential\". Did you mean `zipf`?",
        ),
        (
            "weight = 3",
            "keys = 0",
            12,
            8,
            "keys is 0, which is out of its range; it takes a whole number from 1 to 1099511627776",
        ),
        (
            "[statement.expect]\n",
            "[statement.expect]\nrows = 0\n",
            17,
            8,
            "rows is 0, which is out of its range; it takes a whole number from 1 to 1048576",
        ),
        (
            "columns = [{ type = \"text\"",
            "columns = [{ by = \"place\", type = \"text\"",
            17,
            19,
            "statement select has one row per key, and by is for several; leave by out, or set rows in [statement.expect]",
        ),
        (
            "values = [{ type = \"bigint\" }]\n\n[statement.expect]\n",
            "values = [{ by = \"key\", type = \"bigint\" }]\n\n[statement.expect]\nrows = 2\n",
            14,
            18,
            "statement select binds its own values once per key, so they follow from the key; leave by out",
        ),
        (
            "values = [{ type = \"bigint\" }]\n\n[statement.expect]\n",
            "values = [{ type = \"token\", nulls = 0.5, at = 0 }]\n\n[statement.expect]\n",
            14,
            29,
            "a column of type token has no field nulls; its fields are type, at",
        ),
        (
            "schema = ",
            "page_size = 2.5\nschema = ",
            3,
            13,
            "page_size is a number with a fraction here; it takes a whole number from 1 to 2147483647",
        ),
        (
            "schema = ",
            "submit = \"streams\"\nschema = ",
            3,
            10,
            "submit cannot be \"streams\"; it is one of \"slots\", \"stream\", \"stream-unconstrained\", \"spawn\", \"spawn-all\", \
             \"unlimited\", \"sequential\". Did you mean `stream`?",
        ),
        (
            "[statement.expect]\ncolumns = [{ type = \"text\", length = 3 }]\n",
            "",
            17,
            1,
            "statement select loads rows but expects none; add [statement.expect]",
        ),
    ];
    for (from, to, line, column, sentence) in mistakes {
        assert_eq!(said(from, to), (*line, *column, (*sentence).to_owned()), "{from} -> {to}");
    }
}

#[test]
fn one_statement_that_is_no_list_is_told_what_a_list_is() {
    let single = GOOD.split("[[statement]]\nname = \"select\"").next().unwrap().replace("[[statement]]", "[statement]");
    let message = read(&single, "x").unwrap_err().to_string();
    assert!(
        message.contains("line 5, column 1: statement is a table here; it takes a list in brackets, or [[statement]]"),
        "{message}"
    );
}

#[test]
fn a_way_of_submitting_is_read_and_takes_prepared_statements_alone() {
    let with = |submit: &str, operation: &str| {
        let text = GOOD.replacen("schema = ", &format!("submit = {submit:?}\nschema = "), 1);
        read(&text.replacen("cql = ", &format!("operation = {operation:?}\ncql = "), 1), "x")
    };
    for way in Submit::ALL {
        assert_eq!(with(way.name(), "execute").unwrap().submit, way);
        assert_eq!(with(way.name(), "unprepared").is_ok(), way.has_slots(), "{way}");
    }
    let message = with("spawn", "unprepared").unwrap_err().to_string();
    assert!(
        message.contains("the way of submitting spawn takes prepared statements alone, and the statement")
            && message.contains("is issued as unprepared; use slots or sequential"),
        "{message}"
    );
}

#[test]
fn values_may_be_written_under_the_names_of_their_markers_in_any_order_and_once_for_a_name_that_repeats() {
    let insert = "cql = \"INSERT INTO ks.t (pk, v) VALUES (?, ?)\"\nvalues = [{ type = \"bigint\" }, { type = \"text\", length = 3 }]";
    let named = |cql: &str, values: &str| {
        read_document(&GOOD.replacen(insert, &format!("cql = {cql:?}\nvalues = {values}"), 1), None)
    };
    let cql = "INSERT INTO ks.t (v, pk, w) VALUES (:\"V\", :Key, :key)";
    let values = "{ Key = { type = \"bigint\" }, V = { type = \"text\", length = 3 } }";
    let read = named(cql, values).unwrap();
    let [text, key, again] = &read.statements[0].values[..] else { panic!("{read:?}") };
    assert!(matches!(text.kind, Kind::Text { .. }) && matches!(key.kind, Kind::Bigint { .. }) && key == again);
    let error = |cql: &str, values: &str| named(cql, values).unwrap_err().message;
    assert_eq!(
        error("INSERT INTO ks.t (v, pk) VALUES (:V, ?)", values),
        "values has names here, and the cql has a marker without one; use a list, or name every marker"
    );
    assert_eq!(
        error("INSERT INTO ks.t (pk) VALUES (:key)", values),
        "values has V, and the cql has no marker :V; leave it out"
    );
    // Two names for one marker, and a name that is another one in small letters.
    let both = "{ Key = { type = \"bigint\" }, key = { type = \"bigint\" } }";
    assert!(
        error("INSERT INTO ks.t (pk) VALUES (:key)", both).starts_with("values has Key, and the cql has no marker")
    );
    let two = "{ V = { type = \"text\", length = 3 }, v = { type = \"bigint\" } }";
    let read = named("INSERT INTO ks.t (v, pk) VALUES (:\"V\", :v)", two).unwrap();
    let [text, key] = &read.statements[0].values[..] else { panic!("{read:?}") };
    assert!(matches!(text.kind, Kind::Text { .. }) && matches!(key.kind, Kind::Bigint { .. }));
    assert_eq!(error(cql, "{ key = { type = \"bigint\" } }"), "values has no V, and the cql has the marker :V; add it");
}

#[test]
fn an_idle_span_is_a_time_above_0() {
    let idle = |time: &str| read(&format!("idle = {time}\n{GOOD}"), "tiny.toml");
    assert_eq!(idle("\"5s\"").unwrap().idle, Some("5s".parse().unwrap()));
    assert_eq!(read(GOOD, "tiny.toml").unwrap().idle, None);
    for (time, expected) in [
        ("\"0s\"", "line 1, column 8: idle is 0; use how long a worker is left alone after its turn, such as \"5s\""),
        ("\"long\"", "line 1, column 8: \"long\" is no time; write a time such as"),
        ("5", "idle is a whole number here"),
    ] {
        let said = idle(time).unwrap_err().to_string();
        assert!(said.contains(expected), "{said}");
    }
}

#[test]
fn a_script_is_read_and_a_step_that_makes_no_sense_has_a_place() {
    let steps = "[[script]]\ndo = \"forget\"\nevery = 1_000\none_in = 2\n\n[[script]]\ndo = \"hold\"\nat = \"20ms\"\nfor = \"1s\"\n";
    let scenario = read(&format!("{GOOD}\n{steps}"), "tiny.toml").unwrap();
    assert_eq!((scenario.script.len(), scenario.script[0].one_in), (2, Some(2)));
    assert_eq!(scenario.script, script(steps, "steps.toml").unwrap());
    assert!(read(GOOD, "tiny.toml").unwrap().script.is_empty());
    let said = |from: &str, to: &str| script(&steps.replacen(from, to, 1), "steps.toml").unwrap_err().to_string();
    for (from, to, expected) in [
        (
            "one_in",
            "kind = \"query\"\none_in",
            "line 4, column 8: kind makes no sense in the step forget; beside its time it takes node, one_in",
        ),
        ("for = \"1s\"", "", "line 7, column 6: the step hold has no for, and cannot be without one"),
        ("one_in = 2", "control = true", "line 4, column 11: control makes no sense in the step forget"),
        ("\"20ms\"", "\"soon\"", "line 8, column 6: \"soon\" is no time; write a time such as"),
        ("\"hold\"", "\"hodl\"", "line 7, column 6: do cannot be \"hodl\"; it is one of \"close\", \"half-close\""),
        ("every", "evry", "Did you mean `every`?"),
        ("[[script]]", "[[scripts]]", "a script has no field scripts"),
    ] {
        assert!(said(from, to).contains(expected), "{}", said(from, to));
    }
}
