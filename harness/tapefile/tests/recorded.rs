//! Files as pandas, pyarrow and DuckDB write them (`rows/make.py`), and what is said of those that are no tape.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use arrow_array::{ArrayRef, RecordBatch, StringArray};
use arrow_ipc::writer::FileWriter;
use cqldyno_scenarios::{RowCheck, Scenario};
use cqldyno_tapefile::{Made, Recording, recorded};

fn rows(name: &str) -> PathBuf {
    Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/rows")).join(name)
}

/// A scenario of these tables and statements.
fn scenario(tables: &[&str], statements: &str, file: &Path) -> Scenario {
    let tables: Vec<String> = tables.iter().map(|table| format!("{table:?}")).collect();
    let head = r#"name = "own"
        about = "Own rows."
        schema = ["CREATE KEYSPACE IF NOT EXISTS own WITH replication = {'class': 'SimpleStrategy', 'replication_factor': 1}","#;
    let text = format!("{head}{}]\n{statements}", tables.join(","));
    Scenario::with_tape(&text, "own.toml", file.to_path_buf()).unwrap()
}

fn statement(name: &str, cql: &str) -> String {
    format!("[[statement]]\nname = {name:?}\ncql = {cql:?}\n")
}

const PEOPLE: &str = "CREATE TABLE own.people (id bigint PRIMARY KEY, name text, score float, visits int, at timestamp, kind ascii, tags list<text>)";
const INSERT: &str = "INSERT INTO own.people (id, name, score, visits, at, kind, tags) VALUES (?, ?, ?, ?, ?, ?, ?)";

fn people(table: &str, insert: &str, file: &str) -> Scenario {
    scenario(&[table], &statement("insert", insert), &rows(file))
}

fn records(made: &Made) -> Vec<Vec<u8>> {
    let tape = fs::read(&**made.path).unwrap();
    assert_eq!(tape[..12], *b"CQLTAPE1\0\0\0\0");
    let (mut at, mut records) = (12, Vec::new());
    while at < tape.len() {
        let end = at + 4 + u32::from_be_bytes(tape[at..at + 4].try_into().unwrap()) as usize;
        records.push(tape[at + 4..end].to_vec());
        at = end;
    }
    records
}

fn read(scenario: &Scenario) -> (Scenario, Recording) {
    recorded(scenario).unwrap().unwrap()
}

#[track_caller]
fn refused(scenario: &Scenario) -> String {
    let said = recorded(scenario).map(|made| made.is_some()).unwrap_err().to_string();
    said.replace(&format!("{}/", rows("").display().to_string().trim_end_matches('/')), "")
}

#[test]
fn a_frame_of_pandas_is_a_tape_whose_statement_has_the_types_of_the_schema() {
    let (scenario, recording) = read(&people(PEOPLE, INSERT, "pandas.parquet"));
    let types: Vec<String> = scenario.statements[0].values.iter().map(|column| column.kind.cql()).collect();
    assert_eq!(types, ["bigint", "text", "float", "int", "timestamp", "ascii", "list<text>"]);
    let tape = scenario.tape.unwrap();
    assert_eq!((recording.rows(), tape.rows, tape.hash.map(|hash| hash.len())), (90, Some(90), Some(64)));
    let records = records(&recording.tape(0, 0, 90).unwrap());
    assert_eq!(records.len(), 90);
    // The fourth row: no name, a whole number that pandas has as a double, and an empty list, which is null.
    let mut due = vec![1, 0, 0, 0, 0, 0, 7];
    due.extend([0, 0, 0, 8, 0, 0, 0, 0, 0, 0, 0, 3]);
    due.extend([255; 4]);
    due.extend([0, 0, 0, 4].into_iter().chain(0.75f32.to_be_bytes()));
    due.extend([0, 0, 0, 4, 0, 0, 0, 3]);
    due.extend([0, 0, 0, 8].into_iter().chain((1_767_225_600_000i64 + 3 * 3_600_000).to_be_bytes()));
    due.extend([0, 0, 0, 3].into_iter().chain(*b"old"));
    due.extend([255; 4]);
    due.push(0);
    assert_eq!(records[3], due);
    assert_eq!(records[5][7 + 12..][4..10], *b"name 5", "the list of the sixth row has two texts");
    assert!(records[5].ends_with(b"\0\0\0\x02\0\0\0\x05tag 0\0\0\0\x05tag 1\0"));
}

#[test]
fn a_window_begins_where_it_is_asked_to_and_after_the_last_row_comes_the_first() {
    let (_, recording) = read(&people(PEOPLE, INSERT, "pandas.parquet"));
    let all = records(&recording.tape(0, 0, 90).unwrap());
    let window = records(&recording.tape(85, 3, 100).unwrap());
    assert_eq!(window.len(), 103);
    for (at, record) in window.iter().enumerate() {
        let row = if at < 3 { 85 + at } else { (85 + at - 3) % 90 };
        assert_eq!(*record, all[row], "{at}");
    }
    let path = recording.tape(85, 3, 100).unwrap().path.to_path_buf();
    assert_eq!(recording.tape(175, 3, 100).unwrap().path.to_path_buf(), path, "the same rows are the same file");
    drop(recording);
    assert!(!path.exists());
    let (_, recording) = read(&people(PEOPLE, INSERT, "pandas.parquet"));
    let said = recording.tape(0, 0, 1 << 30).unwrap_err();
    assert!(
        said.contains("for 1073741824 statements, and at most 2 GiB are written; ask for fewer with --count"),
        "{said}"
    );
}

#[test]
fn what_loaded_rows_give_comes_back_and_what_is_read_back_is_the_row_of_the_file() {
    let table = "CREATE TABLE own.days (pk text, ck bigint, v double, PRIMARY KEY (pk, ck))";
    let select = statement("select", "SELECT v, pk FROM own.days WHERE pk = ? AND ck >= ?")
        + "[statement.load]\ncql = \"INSERT INTO own.days (pk, ck, v) VALUES (?, ?, ?)\"\n";
    let (made, recording) = read(&scenario(&[table], &select, &rows("partitions.feather")));
    assert_eq!((made.statements[0].keys, recording.loads().unwrap().unwrap().tickets), (Some(90), 90));
    assert_eq!(made.statements[0].expect.as_ref().unwrap().check, RowCheck::Order);
    let records = records(&recording.tape(0, 0, 90).unwrap());
    // Partition p0 has ten rows, and from 72 on two: 72 and 81.
    let rest = records[72].split_at(7 + 6 + 12).1;
    let mut due = vec![1, 0, 0, 0, 0, 2, 0, 0, 0, 2];
    for v in [36.0f64, 40.5] {
        due.extend([0, 0, 0, 8].into_iter().chain(v.to_be_bytes()).chain([0, 0, 0, 2]).chain(*b"p0"));
    }
    assert_eq!(rest, due);
    assert!(recording.read_back(0, 90).unwrap().is_none());

    let insert = statement("insert", "INSERT INTO own.days (pk, ck, v) VALUES (?, ?, ?)")
        + "[statement.read_back]\ncql = \"SELECT v FROM own.days WHERE pk = ? AND ck = ?\"\n";
    let (_, recording) = read(&scenario(&[table], &insert, &rows("partitions.feather")));
    assert_eq!(recording.read_back(30, 20).unwrap().unwrap().tickets, 20);
    assert_eq!(recording.read_back(80, 200).unwrap().unwrap().tickets, 90);
    // By its partition alone a row was written with several values.
    let insert =
        insert.replace("(pk, ck, v) VALUES (?, ?, ?)", "(pk, ck, v) VALUES (?, 1, ?)").replace("ck = ?", "ck = 1");
    let unbound = refused(&scenario(&[table], &insert, &rows("partitions.feather")));
    assert_eq!(
        unbound,
        "the tape partitions.feather has a column ck, and no statement of the scenario uses it: they use pk, v; leave it out, or bind it. \
         Did you mean `pk`?"
    );
    let insert = insert.replace("(pk, ck, v) VALUES (?, 1, ?)", "(pk, ck, v) VALUES (?, 1, ?) USING TTL :ck");
    let insert = insert.replace("bigint", "int");
    let (_, recording) =
        read(&scenario(&[&table.replace("ck bigint", "ck int")], &insert, &rows("partitions.feather")));
    assert_eq!(recording.read_back(0, 90).unwrap().unwrap().tickets, 0);
}

const LOG: &str = "CREATE TABLE own.log (pk text, ck bigint, v double, PRIMARY KEY (pk, ck))";
const POINTS: &str = "CREATE TABLE own.points (ck bigint PRIMARY KEY, w bigint)";

fn mixed() -> String {
    statement("insert", "INSERT INTO own.log (pk, ck, v) VALUES (?, ?, ?)")
        + &statement("select", "SELECT w FROM own.points WHERE ck = ?")
        + "[statement.load]\ncql = \"INSERT INTO own.points (ck, w) VALUES (?, ?)\"\n"
        + &statement("count", "SELECT ck FROM own.points WHERE ck = ?")
}

#[test]
fn each_row_is_of_the_statement_that_it_names_and_says_what_comes_back() {
    let (made, recording) = read(&scenario(&[LOG, POINTS], &mixed(), &rows("mixed.parquet")));
    let checks: Vec<_> = made.statements.iter().map(|one| one.expect.as_ref().map(|expect| expect.check)).collect();
    assert_eq!(checks, [None, Some(RowCheck::Order), Some(RowCheck::Count)]);
    let records = records(&recording.tape(0, 0, 6).unwrap());
    let statements: Vec<u8> = records.iter().map(|record| record[2]).collect();
    assert_eq!(statements, [0, 1, 2, 0, 1, 2]);
    assert!(records[0].ends_with(&[0]));
    assert_eq!(records[1][19..], [1, 0, 0, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0, 8, 0, 0, 0, 0, 0, 0, 0, 3]);
    assert_eq!(records[2][19..], [1, 2, 0, 0, 0, 1, 0, 0, 0, 0], "one row that is only counted");
    assert_eq!(records[5][19..], [1, 0, 0, 0, 0, 0, 0, 0, 0, 1], "no row");
}

#[test]
fn a_file_that_is_no_tape_is_refused_with_a_sentence() {
    let folder = tempfile::tempdir().unwrap();
    let csv = folder.path().join("rows.csv");
    fs::write(&csv, "id,name").unwrap();
    let said = recorded(&scenario(&[PEOPLE], &statement("insert", INSERT), &csv)).unwrap_err().to_string();
    assert!(said.ends_with("rows.csv is neither Parquet nor Arrow's file format, as it begins with \"id,nam\"; write it with to_parquet or to_feather of pandas"), "{said}");
    let said = refused(&people(PEOPLE, INSERT, "nowhere.parquet"));
    assert!(said.starts_with("the tape nowhere.parquet cannot be read: No such file"), "{said}");
    let whole = fs::read(rows("pandas.parquet")).unwrap();
    let torn = folder.path().join("torn.parquet");
    fs::write(&torn, &whole[..whole.len() - 1]).unwrap();
    let said = recorded(&scenario(&[PEOPLE], &statement("insert", INSERT), &torn)).unwrap_err().to_string();
    assert!(said.contains("torn.parquet cannot be read: ") && said.ends_with("; write it again"), "{said}");
    assert_eq!(
        refused(&people(PEOPLE, INSERT, "empty.parquet")),
        "the tape empty.parquet has no rows, and each row is one execution of a statement; write at least one"
    );
}

#[test]
fn a_value_that_does_not_fit_is_named_with_its_row_and_both_types() {
    let with = |change: &[(&str, &str)]| {
        let table = change.iter().fold(PEOPLE.to_owned(), |table, (from, to)| table.replace(from, to));
        refused(&people(&table, INSERT, "pandas.parquet"))
    };
    assert_eq!(
        with(&[("name text", "name int")]),
        "the tape pandas.parquet does not fit in row 1: its column name has \"name 0\" of the type LargeUtf8, and the statement insert \
         takes int there; convert the column"
    );
    assert!(
        with(&[("score float", "score int")]).contains("in row 2: its column score has 0.25 of the type Float64, and")
    );
    assert!(with(&[("at timestamp", "at date")]).contains("its column at has a value of the type Timestamp("));
    assert!(with(&[("list<text>", "list<int>")]).contains("in row 2: its column tags has \"tag 0\" of the type "));
    assert!(with(&[("list<text>", "map<text, int>")]).contains("takes map<text, int> there"));
    let types = "CREATE TABLE own.t (small tinyint, id uuid PRIMARY KEY)";
    let said = refused(&scenario(
        &[types],
        &statement("insert", "INSERT INTO own.t (id, small) VALUES (?, ?)"),
        &rows("types.arrow"),
    ));
    assert!(said.contains("types.arrow has a column tiny, and no statement of the scenario uses it"), "{said}");
    let null = "CREATE TABLE own.people (id bigint, name text, score float, visits int, at timestamp, kind ascii, tags list<text>, PRIMARY KEY ((id, name)))";
    assert_eq!(
        refused(&people(null, INSERT, "pandas.parquet")),
        "the tape pandas.parquet has in row 4 a null in the column name, which is part of a partition key; give it a value"
    );
}

#[test]
fn columns_that_are_missing_or_unknown_are_named_with_those_that_are_there() {
    assert_eq!(
        refused(&people(&PEOPLE.replace("name", "nane"), &INSERT.replace("name", "nane"), "pandas.parquet")),
        "the statement insert binds nane, and the tape pandas.parquet has no column nane: it has id, name, score, visits, at, kind, tags; \
         add it, or name a marker of the statement as a column, such as :id. Did you mean `name`?"
    );
    let fewer = INSERT.replace(", tags", "").replacen(", ?", "", 1);
    let said = refused(&people(PEOPLE, &fewer, "pandas.parquet"));
    assert!(
        said.starts_with(
            "the tape pandas.parquet has a column tags, and no statement of the scenario uses it: they use id, name"
        ),
        "{said}"
    );
    let two = statement("insert", INSERT) + &statement("other", INSERT);
    assert_eq!(
        refused(&scenario(&[PEOPLE], &two, &rows("pandas.parquet"))),
        "the scenario own has 2 statements, and the tape pandas.parquet has no column statement; add one with the name of each row's statement"
    );
    assert_eq!(
        refused(&scenario(&[LOG, POINTS], &mixed().replace("\"count\"", "\"counted\""), &rows("mixed.parquet"))),
        "the tape mixed.parquet has in row 3 the statement \"count\"; name insert or select or counted. Did you mean `counted`?"
    );
    let said = refused(&people(PEOPLE, &INSERT.replace("own.people", "own.persons"), "pandas.parquet"));
    assert!(said.contains("the embedded cluster refuses \"INSERT INTO own.persons"), "{said}");
}

/// A file with columns of texts.
fn written(folder: &Path, columns: &[(&str, &[&str])]) -> PathBuf {
    let columns = columns.iter().map(|(name, texts)| {
        let texts: ArrayRef = Arc::new(StringArray::from(texts.to_vec()));
        (*name, texts)
    });
    let batch = RecordBatch::try_from_iter(columns).unwrap();
    let path = folder.join("rows.arrow");
    let mut writer = FileWriter::try_new(fs::File::create(&path).unwrap(), &batch.schema()).unwrap();
    writer.write(&batch).unwrap();
    writer.finish().unwrap();
    path
}

#[test]
fn what_nobody_knows_in_the_end_is_neither_expected_nor_read_back() {
    let backed = statement("insert", "INSERT INTO own.log (pk, ck, v) VALUES (?, ?, ?)")
        + "[statement.read_back]\ncql = \"SELECT v FROM own.log WHERE pk = ? AND ck = ?\"\n"
        + &statement("select", "DELETE FROM own.log WHERE pk = ? AND ck = ?");
    assert_eq!(
        refused(&scenario(&[LOG], &backed, &rows("mixed.parquet"))),
        "the statement insert is read back, and select writes to its table, too, so its final rows are unknown; leave \
         [statement.read_back] out, or give both statements the same one"
    );
    let folder = tempfile::tempdir().unwrap();
    let file = written(folder.path(), &[("statement", &["put", "get"]), ("k", &["a", "a"]), ("v", &["b", "b"])]);
    let table = "CREATE TABLE own.pairs (k text PRIMARY KEY, v text)";
    let put = statement("put", "INSERT INTO own.pairs (k, v) VALUES (?, ?)");
    let said = refused(&scenario(&[table], &(put + &statement("get", "SELECT v FROM own.pairs WHERE k = ?")), &file));
    assert!(said.starts_with("the statement get reads what the statement put of the tape "), "{said}");
    assert!(said.ends_with("add expect.NAME for each column, or expect.rows with the number of rows"), "{said}");
}
