//! Tapes, written by one process and played by another.

use std::fs;
use std::path::{Path, PathBuf};

use crate::parent::{Worker, cell, job, refused};
use cqldyno_driver_api::ErrorKind;
use cqldyno_protocol::{Done, FailureKind, Job, Mode, ParentMessage, Tape, TapeTypes};
use cqldyno_scenarios::{Column, Submit};

/// The job with a tape at this path.
fn with_tape(mut job: Job, path: &Path) -> Job {
    let of = |columns: &[Column]| columns.iter().map(|column| column.kind.cql()).collect();
    let statements = job.scenario.statements.iter().map(|one| TapeTypes {
        values: of(&one.values),
        columns: one.expect.as_ref().map(|expect| of(&expect.columns)).unwrap_or_default(),
    });
    job.tape = Some(Tape { path: path.to_path_buf(), statements: statements.collect() });
    job
}

/// The job with a tape that another worker wrote.
fn taped(job: Job, folder: &tempfile::TempDir) -> Job {
    let job = with_tape(job, &folder.path().join("tape"));
    let (_, done) = cell(Job { mode: Mode::Load, rate: None, turns: 1, options: Default::default(), ..job.clone() });
    assert!(done.errors.is_empty());
    job
}

fn folder() -> tempfile::TempDir {
    tempfile::tempdir().unwrap()
}

fn path(job: &Job) -> PathBuf {
    job.tape.as_ref().unwrap().path.clone()
}

/// The records of a tape, each without its length, after the head.
fn records(tape: &[u8]) -> (Vec<u8>, Vec<Vec<u8>>) {
    let number = |at: usize| u32::from_be_bytes(tape[at..at + 4].try_into().unwrap()) as usize;
    let mut at = 12 + number(8);
    let (head, mut records) = (tape[..at].to_vec(), Vec::new());
    while at < tape.len() {
        let end = at + 4 + number(at);
        records.push(tape[at + 4..end].to_vec());
        at = end;
    }
    (head, records)
}

fn rewrite(path: &Path, change: impl FnOnce(&mut Vec<Vec<u8>>)) {
    let (mut tape, mut all) = records(&fs::read(path).unwrap());
    change(&mut all);
    for record in all {
        tape.extend_from_slice(&u32::try_from(record.len()).unwrap().to_be_bytes());
        tape.extend_from_slice(&record);
    }
    fs::write(path, tape).unwrap();
}

#[test]
fn a_played_window_has_the_account_of_one_that_is_generated() {
    for scenario in ["writes", "reads", "mixed"] {
        let folder = folder();
        let plain = job(scenario, 3_000);
        let (_, generated) = cell(plain.clone());
        for (rate, turns) in [(None, 1), (None, 3), (Some(50_000), 2)] {
            let mut played = taped(plain.clone(), &folder);
            (played.rate, played.turns) = (rate, turns);
            let mut worker = Worker::ready(played);
            let mut issued = 0;
            for _ in 0..turns {
                worker.say(&ParentMessage::Go { at_ns: Some(1) });
                worker.end();
                worker.say(&ParentMessage::Ack);
                let done = worker.done();
                assert_eq!((done.issued, done.verified, &done.errors), (done.issued, done.issued, &generated.errors));
                assert_eq!(
                    done.issued_by_statement.keys().collect::<Vec<_>>(),
                    generated.issued_by_statement.keys().collect::<Vec<_>>()
                );
                issued += done.issued;
            }
            assert_eq!(issued, 3_000);
            assert_eq!(worker.exit_code(), Some(0));
        }
    }
}

#[test]
fn sessions_that_connect_are_played() {
    let folder = folder();
    let (_, done) = cell(Job { mode: Mode::Connect, concurrency: 1, ..taped(job("reads", 20), &folder) });
    assert_eq!((done.issued, done.verified), (20, 20));
}

fn wrong_rows(job: Job) -> (u64, String) {
    let (_, done): (_, Done) = cell(job);
    assert!(done.errors.keys().all(|kind| *kind == ErrorKind::WrongRow), "{:?}", done.errors);
    let error = done.errors.get(&ErrorKind::WrongRow).cloned().unwrap_or_default();
    assert_eq!(done.verified, done.answered - error.count);
    (error.count, error.first)
}

#[test]
fn wrong_columns_and_rows_that_are_missing_are_found_and_named_by_their_ticket() {
    let folder = folder();
    let faulty = |fault: &str| {
        let mut job = Job { warmup: 0, concurrency: 1, ..job("reads", 1_000) };
        job.options.insert("fault".to_owned(), fault.to_owned());
        taped(job, &folder)
    };
    let (count, message) = wrong_rows(faulty("swaps columns"));
    // Key 0 has zeros alone.
    assert_eq!(count, 999);
    assert!(message.starts_with("statement select: in row 1 of ticket 0 column 2 should be bigint "), "{message}");
    let (count, message) = wrong_rows(faulty("drops every tenth row"));
    assert_eq!(count, 100);
    assert!(message.ends_with(" 1 row was due, and no row came back"), "{message}");
    let (_, message) = wrong_rows(faulty("rows for inserts"));
    assert_eq!(message, "");
}

#[test]
fn two_answers_that_are_swapped_on_the_tape_are_two_wrong_rows() {
    let folder = folder();
    let job = taped(job("reads", 500), &folder);
    rewrite(&path(&job), |records| {
        // After a bound bigint comes what is due.
        let at = 1 + 2 + 4 + 12;
        let (one, other) = (records[200][at..].to_vec(), records[300][at..].to_vec());
        records[200].splice(at.., other);
        records[300].splice(at.., one);
    });
    let (count, message) = wrong_rows(job);
    assert_eq!(count, 2);
    assert!(
        message.contains("of ticket 100 column 1 should be") || message.contains("of ticket 200 column 1"),
        "{message}"
    );
}

#[test]
fn a_tape_that_is_none_is_refused_with_a_sentence() {
    let folder = folder();
    let of = |change: &dyn Fn(&Path)| {
        let job = taped(job("reads", 50), &folder);
        change(&path(&job));
        refused(job, FailureKind::Job)
    };
    let said = of(&|path| fs::write(path, "CQLTAPE9").unwrap());
    assert!(said.starts_with("a tape begins with \"CQLTAPE1\", and ") && said.contains("\"CQLTAPE9\""), "{said}");
    let said = of(&|path| fs::remove_file(path).unwrap());
    assert!(said.contains("could not be read") && said.ends_with("give a file that this worker may read"), "{said}");
    let said = of(&|path| fs::write(path, "CQLTAPE1\0\0\0\x09pool").unwrap());
    assert!(said.ends_with("ends before its pool does; give a whole one"), "{said}");
    let said = of(&|path| {
        let whole = fs::read(path).unwrap();
        fs::write(path, &whole[..whole.len() - 1]).unwrap();
    });
    assert!(said.ends_with("ends before its ticket 49 does; give a whole one"), "{said}");
    let record = |bytes: &'static [u8]| of(&move |path| rewrite(path, |records| records[3] = bytes.to_vec()));
    for (bytes, why) in [
        (&[2_u8][..], "a record is of kind 2, and 0 and 1 are known"),
        (&[1, 0, 7], "it is of the statement 7, and there are 1, from 0"),
        (&[1, 0, 0, 0, 0, 0, 2], "it binds 2 values, and its statement has 1 markers"),
        (
            &[1, 0, 0, 0, 0, 0, 1, 255, 255, 255, 255, 2, 0, 0, 0, 5],
            "it is due the pooled answer 5, and 0 came before it",
        ),
        (&[1, 0, 0, 0, 0, 0, 1, 255, 255, 255, 255, 3], "it is due 3, and 0, 1 and 2 are known"),
        (
            &[1, 0, 0, 0, 0, 0, 1, 255, 255, 255, 253, 0, 0, 0, 9, 0, 0, 0, 9],
            "9 bytes from 9 on are due, and the pool has 0",
        ),
        (&[1, 0, 0, 0, 0, 0, 1, 255, 255, 255, 254, 0], "a value is not set, and this worker binds nulls only"),
        (&[1, 0, 0, 0, 0, 0, 1, 255, 255, 255, 255, 0, 0], "1 bytes follow it"),
        (&[1, 0, 0, 0, 0, 0, 1, 0, 0, 0, 3, 1, 2, 3, 0], "a value of 3 bytes came where 8 were due"),
    ] {
        let said = record(bytes);
        assert!(said.contains(" cannot be played from its ticket 3 on: ") && said.contains(why), "{said}");
        assert!(said.ends_with("; write it anew"), "{said}");
    }
}

#[test]
fn a_job_whose_tape_cannot_be_played_is_refused() {
    let folder = folder();
    let mut spawned = taped(job("writes", 10), &folder);
    spawned.scenario.submit = Submit::Spawn;
    assert!(refused(spawned, FailureKind::Job).contains("plays none; use slots, or leave the tape out"));
    let mut untyped = taped(job("mixed", 10), &folder);
    untyped.tape.as_mut().unwrap().statements.pop();
    assert!(
        refused(untyped, FailureKind::Job).contains("has 2 statements, and the job has the types of 1 for its tape")
    );
    let mut unknown = taped(job("writes", 10), &folder);
    unknown.tape.as_mut().unwrap().statements[0].values[1] = "integer".to_owned();
    let said = refused(unknown, FailureKind::Job);
    assert!(
        said.contains("insert on the tape cannot be read: the type \"integer\" is none that scenarios use"),
        "{said}"
    );
    let nowhere = Job { mode: Mode::Load, ..with_tape(job("writes", 10), Path::new("/no/such/folder/tape")) };
    let said = refused(nowhere, FailureKind::Job);
    assert!(said.starts_with("the tape /no/such/folder/tape could not be written"), "{said}");
}
