//! A folder with everything that a run needs, and the run.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::time::Duration;

use cqldyno_bench::{Cancel, Contender, Deadlines, Observer, Plan, Programs, Silent, run};
use cqldyno_reports::Cell;

pub struct Place {
    dir: tempfile::TempDir,
    programs: Programs,
}

/// The example `stage`, built beside this test.
fn stage() -> PathBuf {
    let test = std::env::current_exe().unwrap();
    let path = test.parent().unwrap().parent().unwrap().join("examples/stage");
    assert!(path.exists(), "{} is missing: `cargo test -p cqldyno-driver-misbehaving` builds it", path.display());
    path
}

impl Place {
    pub fn new() -> Place {
        let dir = tempfile::tempdir().unwrap();
        let folder = dir.path().join("bin");
        fs::create_dir(&folder).unwrap();
        symlink(stage(), folder.join("cqldyno")).unwrap();
        symlink(stage(), folder.join("cqldyno-driver-floor")).unwrap();
        let misbehaving = env!("CARGO_BIN_EXE_cqldyno-driver-misbehaving");
        symlink(misbehaving, folder.join("cqldyno-driver-misbehaving")).unwrap();
        let programs = Programs { cqldyno: folder.join("cqldyno"), worker_folders: vec![folder] };
        Place { dir, programs }
    }

    pub fn path(&self) -> &Path {
        self.dir.path()
    }

    /// One cell a contender: `floor`, or the way to misbehave.
    pub fn plan(&self, scenario: &str, contenders: &[&str]) -> Plan {
        let contender = |name: &&str| -> Contender {
            match *name {
                "floor" => "floor".parse().unwrap(),
                how => format!("misbehaving+how={how}").parse().unwrap(),
            }
        };
        let minute = Duration::from_secs(60);
        let scenario = cqldyno_scenarios::builtin(scenario).unwrap();
        let mut plan = Plan::new(contenders.iter().map(contender).collect(), vec![scenario]);
        plan.out = Some(self.dir.path().join("out"));
        // Long enough for a busy machine: only workers that hang use them up.
        plan.deadlines = Deadlines { hello: minute, ready: minute, stall: minute, done: minute };
        // As many statements before the window as the driver behaves for.
        (plan.concurrency, plan.warmup, plan.noise_share) = (64, 500, None);
        plan.passes.clear();
        plan.with_blocks(1, 5_000)
    }

    /// The cells; those of floor are clean.
    pub fn run(&self, plan: &Plan) -> Vec<Cell> {
        self.run_with(plan, &mut Silent)
    }

    pub fn run_with(&self, plan: &Plan, observer: &mut dyn Observer) -> Vec<Cell> {
        let finished = run(plan, &self.programs, observer, &Cancel::new()).unwrap();
        for floor in finished.cells.iter().filter(|cell| cell.contender.starts_with("floor")) {
            assert_eq!((floor.failed.as_deref(), floor.void.as_deref()), (None, None));
        }
        finished.cells
    }
}

/// The one cell that is none of floor's.
pub fn misbehaving(cells: Vec<Cell>) -> Cell {
    let mut others = cells.into_iter().filter(|cell| !cell.contender.starts_with("floor"));
    let cell = others.next().unwrap();
    assert!(others.next().is_none());
    cell
}
