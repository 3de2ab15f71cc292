//! A run that broke off or was ended, read back from its folder.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use cqldyno_reports::{Cell, Contender, ModelError, Recorded, RecordedError, Run, TlsInfo};
use serde::de::IgnoredAny;

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

impl From<RecordedError> for Why {
    fn from(error: RecordedError) -> Why {
        match error {
            RecordedError::Cell { number, why } => Why::Damaged(number, why),
            RecordedError::Changed { .. } => Why::NotItsCells,
            RecordedError::Read(error) => Why::NoRun(CELLS, error),
            RecordedError::Model(error) => Why::NotARun(error),
            RecordedError::Several { .. } => Why::NotAPlan(error.to_string()),
        }
    }
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
    pub sentence: String,
}

/// Opens the run in `path`, and leaves it as it is.
pub(crate) fn reopen(path: &Path, access: Access) -> Result<Reopened, ResumeError> {
    let failed = |why| ResumeError { path: path.to_path_buf(), why };
    let text = fs::read_to_string(path.join(RUN)).map_err(|error| failed(Why::NoRun(RUN, error)))?;
    Run::from_json(&text).map_err(|error| failed(Why::NotARun(error)))?;
    let folder = RunFolder::open(path.to_path_buf()).map_err(|error| failed(Why::Folder(error)))?;
    let bytes = fs::read(path.join(CELLS)).map_err(|error| failed(Why::NoRun(CELLS, error)))?;
    let (whole, dropped) = without_torn(&bytes);
    let Recorded { run, cells, .. } = Recorded::from_folder(&text, whole).map_err(|error| failed(error.into()))?;
    let (plan, placements) = Plan::of_run(&run, access).map_err(|what| failed(Why::NotAPlan(what)))?;
    if run.plan.with_user && plan.access.credentials.is_none() {
        return Err(failed(Why::NoUser));
    }
    let tls = plan.access.tls_info();
    if run.plan.tls != tls {
        return Err(failed(Why::OtherTls(tls_in_words(run.plan.tls), tls_in_words(tls))));
    }
    let torn = dropped.map(|why| Torn {
        good_bytes: whole.len() as u64,
        sentence: format!(
            "The last line of {} was cut off ({why}) and is dropped; its cell runs again.",
            path.join(CELLS).display()
        ),
    });
    Ok(Reopened { folder, run, cells, plan, placements, torn })
}

/// All whole lines, and what is wrong with the last one if it was cut off.
fn without_torn(bytes: &[u8]) -> (&[u8], Option<String>) {
    let begins = bytes.strip_suffix(b"\n").unwrap_or(bytes).iter().rposition(|byte| *byte == b'\n');
    let (before, last) = bytes.split_at(begins.map_or(0, |at| at + 1));
    match serde_json::from_slice::<IgnoredAny>(last) {
        _ if last.is_empty() => (bytes, None),
        Ok(_) if last.ends_with(b"\n") => (bytes, None),
        // Its line feed is missing: who knows what else.
        Ok(_) => (before, Some("it has no end".to_owned())),
        Err(error) => (before, Some(error.to_string())),
    }
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
    use std::fs::File;

    use cqldyno_reports::read_cells;

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

    /// What reopening a folder with these cells finds; no run with this plan has an end.
    fn reopened(run: &Run, cells: &[u8]) -> Result<Reopened, ResumeError> {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join(RUN), serde_json::to_string(run).unwrap()).unwrap();
        fs::write(folder.path().join(CELLS), cells).unwrap();
        reopen(folder.path(), Access::default())
    }

    #[test]
    fn a_last_line_that_was_cut_off_anywhere_is_dropped_and_the_others_stay() {
        let run = run();
        let (first, last) = (line(&run, "scylla"), line(&run, "noop"));
        let found = |cells: &[u8]| {
            let found = reopened(&run, cells).unwrap();
            (found.cells.len(), found.torn.map(|torn| torn.good_bytes as usize))
        };
        for cut in [1, 20, last.len() - 2, last.len() - 1] {
            let bytes = [first.as_bytes(), &last.as_bytes()[..cut]].concat();
            assert_eq!(found(&bytes), (1, Some(first.len())), "{cut}");
        }
        // What some file systems leave after a power cut.
        assert_eq!(found(&[first.as_bytes(), &[0; 64]].concat()), (1, Some(first.len())));
        assert_eq!(found(&[first.as_bytes(), &[0; 64], b"\n"].concat()), (1, Some(first.len())));
        assert_eq!(found((first.clone() + &last).as_bytes()), (2, None));
        assert_eq!(found(b""), (0, None));
    }

    #[test]
    fn damage_in_the_middle_is_refused_with_the_line() {
        let run = run();
        let good = line(&run, "scylla");
        let error = |cells: String| reopened(&run, cells.as_bytes()).err().unwrap().to_string();
        let cut = error(format!("{good}{}\n{good}", &good[..30]));
        assert!(cut.contains("line 2 of its cells.jsonl is damaged: EOF"), "{cut}");
        let foreign = error(format!("{good}{}", line(&run, "cdrs-tokio")));
        let why = "line 2 of its cells.jsonl is damaged: its contender \"cdrs-tokio\" is none of the run's; repair";
        assert!(foreign.contains(why), "{foreign}");
    }

    #[test]
    fn a_run_of_an_earlier_version_is_converted_as_it_is_opened() {
        let published = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../reports/published");
        // Of the first schema, of blocks, and with the loops that cores had before the witness.
        let outcomes = ["2026-11-20/classic", "2026-11-22/blocks", "2026-11-23/blocks"].map(|name| {
            let (from, to) = (published.join(name), tempfile::tempdir().unwrap());
            let text = fs::read_to_string(from.join(RUN)).unwrap();
            fs::write(to.path().join(RUN), &text).unwrap();
            let mut cells = File::create(to.path().join(CELLS)).unwrap();
            io::copy(&mut read_cells(&from).unwrap(), &mut cells).unwrap();
            let found = reopen(to.path(), Access::default()).map_err(|error| error.why.to_string())?;
            let expected = Recorded::from_folder(&text, read_cells(&from).unwrap()).unwrap();
            assert!(found.torn.is_none() && (found.run, found.cells) == (expected.run, expected.cells), "{name}");
            Ok(found.plan.turns.rounds)
        });
        let other = |why: &str| Err(format!("{why}; run the comparison again"));
        assert_eq!(outcomes, [other("it does not hold the scenario writes"), Ok(1), Ok(5)]);
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
