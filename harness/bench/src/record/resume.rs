//! A run that has broken off or was ended, read back from its folder.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use cqldyno_protocol::JobCredentials;
use cqldyno_reports::{Cell, Checksum, Contender, ModelError, Run, foreign};

use crate::record::folder::{CELLS, RUN, RunFolder};
use crate::plan::placement::Placement;
use crate::plan::Plan;
use crate::run::CORES;

/// A run that cannot be gone on with.
#[derive(Debug, thiserror::Error)]
pub enum ResumeError {
    /// There is no run.
    #[error(
        "the run in {path} was to be gone on with, and its {file} cannot be read: {error}; name the folder of a run that had begun"
    )]
    NoRun {
        /// The folder.
        path: PathBuf,
        /// The file that is missing.
        file: &'static str,
        /// What the system said.
        error: io::Error,
    },
    /// `run.json` is none.
    #[error("the run in {path} was to be gone on with, and its run.json cannot be used: {error}")]
    NotARun {
        /// The folder.
        path: PathBuf,
        /// What is wrong with it.
        error: ModelError,
    },
    /// `run.json` holds a plan of another version.
    #[error("the run in {path} was to be gone on with, and {what}; run the comparison again")]
    NotAPlan {
        /// The folder.
        path: PathBuf,
        /// The part.
        what: String,
    },
    /// The run had ended, and its cells are not those that it ended with.
    #[error(
        "the run in {path} was to be gone on with, and its cells are not those that were measured: run.json has the checksum of \
         others; somebody or something changed a file, so run the comparison again"
    )]
    NotItsCells {
        /// The folder.
        path: PathBuf,
    },
    /// A line of `cells.jsonl` that is not the last one is damaged.
    #[error(
        "the run in {path} was to be gone on with, and line {line} of its cells.jsonl is damaged: {error}; repair or remove that \
         line, or run the comparison again"
    )]
    Damaged {
        /// The folder.
        path: PathBuf,
        /// From 1.
        line: usize,
        /// What is wrong with it.
        error: String,
    },
    /// Something is not as it was.
    #[error(
        "the run in {path} was to be gone on with, and {what} was {was} and is {is}: its cells could not be compared; run the \
         comparison again, or bring back what there was"
    )]
    Changed {
        /// The folder.
        path: PathBuf,
        /// What differs.
        what: String,
        /// When the run began.
        was: String,
        /// Now.
        is: String,
    },
    /// A password is needed again.
    #[error(
        "the run in {path} was to be gone on with, and its cluster asked for a user; name the user with --user, and the password \
         as for `compare`: neither is kept"
    )]
    NoUser {
        /// The folder.
        path: PathBuf,
    },
}

/// What a folder held.
pub(crate) struct Reopened {
    pub folder: RunFolder,
    pub run: Run,
    pub cells: Vec<Cell>,
    pub plan: Plan,
    pub placements: Vec<Placement>,
    /// A last line of `cells.jsonl` that was cut off, as by a power cut. It is there until it is taken away, so that a run that is
    /// not gone on with stays as it is.
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
pub(crate) fn reopen(path: &Path, credentials: Option<JobCredentials>) -> Result<Reopened, crate::BenchError> {
    let path = path.to_path_buf();
    let no_run = |file, error| ResumeError::NoRun { path: path.clone(), file, error };
    let text = fs::read_to_string(path.join(RUN)).map_err(|error| no_run(RUN, error))?;
    let run = Run::from_json(&text).map_err(|error| ResumeError::NotARun { path: path.clone(), error })?;
    let folder = RunFolder::open(path.clone())?;
    let bytes = fs::read(path.join(CELLS)).map_err(|error| no_run(CELLS, error))?;
    let Lines { cells, good_bytes, dropped } =
        lines(&bytes, &run).map_err(|(line, error)| ResumeError::Damaged { path: path.clone(), line, error })?;
    if run.checksum.as_ref().is_some_and(|checksum| *checksum != Checksum::of_cells(&cells)) {
        return Err(ResumeError::NotItsCells { path }.into());
    }
    let with_user = run.plan.with_user;
    let (plan, placements) =
        Plan::of_run(&run, credentials).map_err(|what| ResumeError::NotAPlan { path: path.clone(), what })?;
    if with_user && plan.credentials.is_none() {
        return Err(ResumeError::NoUser { path }.into());
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
        let (line, behind) = end.map_or((rest, &rest[rest.len()..]), |end| (&rest[..end], &rest[end + 1..]));
        match cell(line, run) {
            Ok(cell) if end.is_some() => found.cells.push(cell),
            // Its line feed is missing: who knows what else.
            Ok(_) => found.dropped = Some("it has no end".to_owned()),
            Err(Fault::NotACell(error)) if behind.is_empty() => found.dropped = Some(error),
            Err(Fault::NotACell(error) | Fault::Foreign(error)) => return Err((found.cells.len() + 1, error)),
        }
        if found.dropped.is_none() {
            found.good_bytes = (bytes.len() - behind.len()) as u64;
        }
        rest = behind;
    }
    Ok(found)
}

enum Fault {
    NotACell(String),
    Foreign(String),
}

/// The cell of a line, which must belong to the run.
fn cell(line: &[u8], run: &Run) -> Result<Cell, Fault> {
    let cell: Cell = serde_json::from_slice(line).map_err(|error| Fault::NotACell(error.to_string()))?;
    match foreign(&cell, run) {
        None => Ok(cell),
        Some(why) => Err(Fault::Foreign(why)),
    }
}

/// Refuses to go on when machine, cqldyno (which is the server, too) or a worker is another than when the run began: `found`
/// is the run as it would begin now. Of a cluster that is not ours its addresses are compared and no release: the run does not
/// know one.
pub(crate) fn same(path: &Path, began: &Run, found: &Run) -> Result<(), ResumeError> {
    let mut pairs = vec![
        ("the kernel".to_owned(), began.environment.kernel.clone(), found.environment.kernel.clone()),
        ("the CPU".to_owned(), began.environment.cpu.clone(), found.environment.cpu.clone()),
        ("the number of cores".to_owned(), began.environment.cores.to_string(), found.environment.cores.to_string()),
        ("cqldyno's version".to_owned(), began.cqldyno.clone(), found.cqldyno.clone()),
        (
            "the build of cqldyno, and so of the embedded server,".to_owned(),
            build(&began.executable),
            build(&found.executable),
        ),
        (
            "the statements of a counting cell".to_owned(),
            began.plan.counting_count.to_string(),
            found.plan.counting_count.to_string(),
        ),
    ];
    // A run of an older cqldyno does not tell.
    if let Some(was) = began.environment.more.get(CORES) {
        let is = found.environment.more.get(CORES).cloned().unwrap_or_default();
        pairs.push(("the list of cores that may be used".to_owned(), was.clone(), is));
    }
    for (was, is) in began.contenders.iter().zip(&found.contenders) {
        let of = |what: &str| format!("the {what} of the contender {}", was.id);
        let missing = |row: &Contender| if row.unavailable.is_some() { "missing" } else { "there" }.to_owned();
        pairs.push((format!("the worker of the contender {}", was.id), missing(was), missing(is)));
        pairs.push((of("label"), was.label.clone(), is.label.clone()));
        pairs.push((of("version"), was.version.clone(), is.version.clone()));
        pairs.push((of("libraries"), libraries(was), libraries(is)));
        pairs.push((of("load generator's build"), was.build.clone(), is.build.clone()));
        pairs.push((of("worker's build"), build(&was.executable), build(&is.executable)));
    }
    pairs.push(("the list of contenders".to_owned(), ids(began), ids(found)));
    match pairs.into_iter().find(|(_, was, is)| was != is) {
        None => Ok(()),
        Some((what, was, is)) => Err(ResumeError::Changed { path: path.to_path_buf(), what, was, is }),
    }
}

/// Enough of a hash to tell two builds apart.
fn build(executable: &str) -> String {
    executable.get(..12).unwrap_or("unknown").to_owned()
}

fn ids(run: &Run) -> String {
    run.contenders.iter().map(|row| row.id.as_str()).collect::<Vec<_>>().join(", ")
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
    use crate::run::sample_run;
    use crate::plan::topology::Topology;

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
            ..crate::cell::empty_cell()
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
        // What some file systems leave behind a power cut.
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
        assert!(server.contains("of the embedded server, was unknown and is abcdefabcdef:"), "{server}");
        let worker = sentence(&|run| run.contenders[1].executable = "abcdefabcdefabcdef".to_owned());
        assert!(
            worker.contains("the worker's build of the contender noop was unknown and is abcdefabcdef"),
            "{worker}"
        );
        assert!(
            sentence(&|run| run.contenders[0].version = "2".to_owned()).contains("the version of the contender scylla")
        );
        assert!(sentence(&|run| run.contenders[0].unavailable = None).contains("was missing and is there"));
        assert!(sentence(&|run| drop(run.contenders.pop())).contains("was scylla, noop and is scylla"));
    }
}
