//! A run that broke off or was ended, read back from its folder.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use cqldyno_reports::{Cell, Contender, ModelError, Recorded, RecordedError, Run, TlsInfo, foreign};

use crate::plan::Plan;
use crate::plan::placement::Placement;
use crate::plan::target::Access;
use crate::record::CORES;
use crate::record::folder::{CELLS, FolderError, RUN, RunFolder};

/// A run that cannot go on.
#[derive(Debug, thiserror::Error)]
#[error("the run in {path} cannot go on: {why}")]
pub struct ResumeError {
    path: PathBuf,
    why: Why,
}

#[derive(Debug, thiserror::Error)]
enum Why {
    #[error("its {0} cannot be read: {1}; name the folder of a run that had begun")]
    NoRun(&'static str, io::Error),
    #[error("{0}")]
    Folder(FolderError),
    #[error("its run.json cannot be used: {0}")]
    NotARun(ModelError),
    /// A plan of another version.
    #[error("{0}; run the comparison again")]
    NotAPlan(String),
    #[error(
        "its cells are not those that were measured, because run.json has the checksum of others; somebody or something changed a \
         file, so run the comparison again"
    )]
    NotItsCells,
    /// Not the last line, which may have been cut off.
    #[error("line {0} of its cells.jsonl is damaged: {1}; repair or remove that line, or run the comparison again")]
    Damaged(usize, String),
    #[error(
        "{0} was {1} and is {2}, so its cells could not be compared; run the comparison again, or bring back what there was"
    )]
    Changed(String, String, String),
    #[error(
        "its cluster asked for a user; name the user with --user, and the password as for `compare`: neither is kept"
    )]
    NoUser,
    #[error("its connections had {0}, and would have {1} now; give --tls as for `compare`: its files are not kept")]
    OtherTls(&'static str, &'static str),
}

fn tls_in_words(tls: Option<TlsInfo>) -> &'static str {
    match tls.map(|tls| (tls.verified, tls.client_certificate)) {
        None => "no TLS",
        Some((true, true)) => "TLS with a CA and a client certificate",
        Some((true, false)) => "TLS with a CA",
        Some((false, true)) => "TLS with a client certificate",
        Some((false, false)) => "TLS without a CA",
    }
}

/// What a folder held.
pub(crate) struct Reopened {
    pub folder: RunFolder,
    pub run: Run,
    pub cells: Vec<Cell>,
    pub plan: Plan,
    pub placements: Vec<Placement>,
    /// A last line of `cells.jsonl` that was cut off, as by a power cut. It stays until the run goes on.
    pub torn: Option<Torn>,
}

/// A line that was cut off.
pub(crate) struct Torn {
    /// Where it begins.
    pub good_bytes: u64,
    /// What is said of it.
    pub sentence: String,
}

/// Opens the run in `path`, and leaves it as it is.
pub(crate) fn reopen(path: &Path, access: Access) -> Result<Reopened, ResumeError> {
    let failed = |why| ResumeError { path: path.to_path_buf(), why };
    let text = fs::read_to_string(path.join(RUN)).map_err(|error| failed(Why::NoRun(RUN, error)))?;
    let run = Run::from_json(&text).map_err(|error| failed(Why::NotARun(error)))?;
    let folder = RunFolder::open(path.to_path_buf()).map_err(|error| failed(Why::Folder(error)))?;
    let bytes = fs::read(path.join(CELLS)).map_err(|error| failed(Why::NoRun(CELLS, error)))?;
    let Lines { cells, good_bytes, dropped } =
        lines(&bytes, &run).map_err(|(line, error)| failed(Why::Damaged(line, error)))?;
    if let Err(RecordedError::Changed { .. }) = Recorded::from_folder(&text, bytes.as_slice()) {
        return Err(failed(Why::NotItsCells));
    }
    let (plan, placements) = Plan::of_run(&run, access).map_err(|what| failed(Why::NotAPlan(what)))?;
    if run.plan.with_user && plan.access.credentials.is_none() {
        return Err(failed(Why::NoUser));
    }
    let tls = plan.access.tls_info();
    if run.plan.tls != tls {
        return Err(failed(Why::OtherTls(tls_in_words(run.plan.tls), tls_in_words(tls))));
    }
    let torn = dropped.map(|why| Torn {
        good_bytes,
        sentence: format!(
            "The last line of {} was cut off ({why}) and is dropped; its cell runs again.",
            path.join(CELLS).display()
        ),
    });
    Ok(Reopened { folder, run, cells, plan, placements, torn })
}

#[derive(Debug)]
struct Lines {
    cells: Vec<Cell>,
    /// Up to the end of the last whole line.
    good_bytes: u64,
    dropped: Option<String>,
}

fn lines(bytes: &[u8], run: &Run) -> Result<Lines, (usize, String)> {
    let mut found = Lines { cells: Vec::new(), good_bytes: 0, dropped: None };
    let mut rest = bytes;
    while !rest.is_empty() {
        let end = rest.iter().position(|byte| *byte == b'\n');
        let (line, rest_of_it) = end.map_or((rest, &rest[rest.len()..]), |end| (&rest[..end], &rest[end + 1..]));
        match serde_json::from_slice::<Cell>(line) {
            Ok(cell) => match foreign(&cell, run) {
                Some(why) => return Err((found.cells.len() + 1, why)),
                None if end.is_some() => found.cells.push(cell),
                // Its line feed is missing: who knows what else.
                None => found.dropped = Some("it has no end".to_owned()),
            },
            Err(error) if rest_of_it.is_empty() => found.dropped = Some(error.to_string()),
            Err(error) => return Err((found.cells.len() + 1, error.to_string())),
        }
        if found.dropped.is_none() {
            found.good_bytes = (bytes.len() - rest_of_it.len()) as u64;
        }
        rest = rest_of_it;
    }
    Ok(found)
}

/// Refuses to go on when machine, cqldyno (which is the server, too) or a worker is another than when the run began; `found` is the
/// run as it would begin now.
pub(crate) fn same(path: &Path, began: &Run, found: &Run) -> Result<(), ResumeError> {
    let pairs = identity(began).into_iter().zip(identity(found));
    let mut changed = pairs.filter_map(|((what, was), (_, is))| Some((what, was?, is.unwrap_or_default())));
    match changed.find(|(_, was, is)| was != is) {
        None => Ok(()),
        Some((what, was, is)) => Err(ResumeError { path: path.to_path_buf(), why: Why::Changed(what, was, is) }),
    }
}

/// What must stay as it was, with a value where the run has one: a run of an older cqldyno has fewer.
fn identity(run: &Run) -> Vec<(String, Option<String>)> {
    let machine = &run.environment;
    let ids: Vec<&str> = run.contenders.iter().map(|row| row.id.as_str()).collect();
    let parts = [
        ("the kernel", Some(machine.kernel.clone())),
        ("the CPU", Some(machine.cpu.clone())),
        ("the number of cores", Some(machine.cores.to_string())),
        ("cqldyno's version", Some(run.cqldyno.clone())),
        ("the build of cqldyno, and so of the embedded cluster,", Some(build(&run.executable))),
        ("the list of cores that may be used", machine.more.get(CORES).cloned()),
        ("the list of contenders", Some(ids.join(", "))),
    ];
    let of_row = |row: &Contender| {
        let parts = [
            ("worker", if row.unavailable.is_some() { "missing" } else { "there" }.to_owned()),
            ("label", row.label.clone()),
            ("version", row.version.clone()),
            ("libraries", libraries(row)),
            ("load generator's build", row.build.clone()),
            ("worker's build", build(&row.executable)),
            (
                "worker's builds with other orders of functions",
                row.layouts.iter().map(|one| build(one)).collect::<Vec<_>>().join(", "),
            ),
        ];
        let id = row.id.clone();
        parts.map(|(what, value)| (format!("the {what} of the contender {id}"), Some(value)))
    };
    let of_run = parts.into_iter().map(|(what, value)| (what.to_owned(), value));
    of_run.chain(run.contenders.iter().flat_map(of_row)).collect()
}

/// Enough of a hash to tell two builds apart.
fn build(executable: &str) -> String {
    executable.get(..12).unwrap_or("unknown").to_owned()
}

fn libraries(row: &Contender) -> String {
    let one = |library: &cqldyno_reports::Library| {
        let origin = library.origin.as_ref().map(|origin| format!(" ({origin})")).unwrap_or_default();
        format!("{} {}{origin}", library.name, library.version)
    };
    row.libraries.iter().map(one).collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::plan;
    use crate::plan::topology::Topology;
    use crate::record::sample_run;

    fn run() -> Run {
        let plan = plan(&["scylla", "noop"], &["writes"]);
        sample_run(&plan, &plan.check(&Topology::sample(1, 1)).unwrap())
    }

    fn line(run: &Run, contender: &str) -> String {
        let cell = Cell {
            contender: contender.to_owned(),
            scenario: "writes".to_owned(),
            scenario_hash: run.scenarios[0].hash.clone(),
            arrangement: run.plan.arrangements[0].id.clone(),
            ..Cell::default()
        };
        serde_json::to_string(&cell).unwrap() + "\n"
    }

    #[test]
    fn a_last_line_that_was_cut_off_anywhere_is_dropped_and_the_others_stay() {
        let run = run();
        let (first, last) = (line(&run, "scylla"), line(&run, "noop"));
        for cut in [1, 20, last.len() - 2, last.len() - 1] {
            let bytes = [first.as_bytes(), &last.as_bytes()[..cut]].concat();
            let found = lines(&bytes, &run).unwrap();
            assert_eq!((found.cells.len(), found.good_bytes), (1, first.len() as u64), "{cut}");
            assert!(found.dropped.is_some(), "{cut}");
        }
        // What some file systems leave after a power cut.
        let zeros = [first.as_bytes(), &[0; 64]].concat();
        assert!(lines(&zeros, &run).unwrap().dropped.is_some());
        let whole = lines((first.clone() + &last).as_bytes(), &run).unwrap();
        assert_eq!((whole.cells.len(), whole.dropped), (2, None));
        assert_eq!(lines(b"", &run).unwrap().cells.len(), 0);
    }

    #[test]
    fn damage_in_the_middle_is_refused_with_the_line() {
        let run = run();
        let good = line(&run, "scylla");
        let error = lines(format!("{good}{}\n{good}", &good[..30]).as_bytes(), &run).unwrap_err();
        assert_eq!(error.0, 2);
        assert!(error.1.contains("EOF"), "{}", error.1);
        let foreign = line(&run, "cdrs-tokio");
        let (at, why) = lines((good + &foreign).as_bytes(), &run).unwrap_err();
        assert_eq!((at, why.as_str()), (2, "its contender \"cdrs-tokio\" is none of the run's"));
    }

    #[test]
    fn what_changed_since_is_named_with_what_it_was_and_is() {
        let mut began = run();
        let older = began.clone();
        began.environment.more.insert(CORES.to_owned(), "0-1".to_owned());
        let sentence = |change: &dyn Fn(&mut Run)| {
            let mut found = began.clone();
            change(&mut found);
            same(Path::new("kept"), &began, &found).unwrap_err().to_string()
        };
        assert!(same(Path::new("kept"), &began, &began.clone()).is_ok());
        let kernel = sentence(&|run| run.environment.kernel = "Linux 7.0".to_owned());
        assert!(kernel.contains("the run in kept") && kernel.contains("the kernel was  and is Linux 7.0"), "{kernel}");
        assert!(sentence(&|run| run.environment.cpu = "z".to_owned()).contains("the CPU was"));
        assert!(sentence(&|run| run.environment.cores = 3).contains("the number of cores was 0 and is 3"));
        let others = sentence(&|run| drop(run.environment.more.insert(CORES.to_owned(), "2-3".to_owned())));
        assert!(others.contains("the list of cores that may be used was 0-1 and is 2-3"), "{others}");
        assert!(same(Path::new("kept"), &older, &began).is_ok(), "a run that does not tell its cores");
        assert!(sentence(&|run| run.cqldyno = "9".to_owned()).contains("cqldyno's version"));
        let server = sentence(&|run| run.executable = "abcdefabcdefabcdef".to_owned());
        assert!(server.contains("of the embedded cluster, was unknown and is abcdefabcdef,"), "{server}");
        let worker = sentence(&|run| run.contenders[1].executable = "abcdefabcdefabcdef".to_owned());
        assert!(
            worker.contains("the worker's build of the contender noop was unknown and is abcdefabcdef"),
            "{worker}"
        );
        let orders = sentence(&|run| run.contenders[1].layouts = ["a", "b"].map(|c| c.repeat(64)).to_vec());
        assert!(
            orders.contains(
                "with other orders of functions of the contender noop was  and is aaaaaaaaaaaa, bbbbbbbbbbbb"
            )
        );
        assert!(
            sentence(&|run| run.contenders[0].version = "2".to_owned()).contains("the version of the contender scylla")
        );
        assert!(sentence(&|run| run.contenders[0].unavailable = None).contains("was missing and is there"));
        assert!(sentence(&|run| drop(run.contenders.pop())).contains("was scylla, noop and is scylla"));
    }
}
