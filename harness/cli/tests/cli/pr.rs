//! `pr` in a small repository, with a stand-in for cargo.

use std::fs;
use std::path::Path;
use std::process::{Command, Output};

use crate::builds::workshop;
use crate::support::{cqldyno, drivers, executable, stderr, stdout, worker};

/// A driver's repository in the folder `driver`: its commits `base` and `comment` cost the same, and HEAD is dearer.
pub struct Checkout {
    folder: tempfile::TempDir,
}

impl Checkout {
    pub fn new() -> Checkout {
        drivers();
        let checkout = Checkout { folder: tempfile::tempdir().unwrap() };
        let folder = checkout.folder();
        // A driver's package has its folder in the manifest of its worker, and the folder says which worker that is.
        let build = r#"
            for last; do case "$last" in */Cargo.toml) manifest=$last ;; esac; done
            driver=$(grep -o '"[^"]*/\(cache/git/[^"]*\|driver\)"' "$manifest" | head -1 | tr -d '"')
            echo "{\"reason\":\"compiler-artifact\",\"executable\":\"$(cat "$here/$(cat "$driver/worker")")\"}"
        "#;
        workshop(folder, build);
        let metadata = r#"echo "{\"workspace_root\":\"$(dirname "$6")\",\"packages\":[{\"name\":\"honest\",\"version\":\"1.2.3\",\"manifest_path\":\"$6\"}]}""#;
        let cargo = fs::read_to_string(folder.join("cargo")).unwrap();
        fs::write(
            folder.join("cargo"),
            cargo.replace("case \"$*\" in\n", &format!("case \"$*\" in\nmetadata*) {metadata} ;;\n")),
        )
        .unwrap();
        for name in ["floor", "scylla"] {
            fs::write(folder.join(name), worker(name).unwrap().display().to_string()).unwrap();
        }
        let tiny =
            fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/../../scenarios/builtin/writes.toml")).unwrap();
        fs::write(folder.join("tiny.toml"), tiny + "\n[limits]\ncount = 2_000\nwarmup = 100\nconcurrency = 64\n")
            .unwrap();
        // Without callgrind a cell takes a second, and the comment has no instructions.
        executable(&folder.join("valgrind"), "exit 1");
        fs::create_dir(folder.join("driver")).unwrap();
        checkout.git(&["init", "--quiet", "--initial-branch=main"]);
        for (tag, worker, text) in
            [("base", "floor", ""), ("comment", "floor", "# A comment.\n"), ("dearer", "scylla", "")]
        {
            fs::write(folder.join("driver/worker"), worker).unwrap();
            fs::write(folder.join("driver/Cargo.toml"), format!("{text}[package]\nname = \"honest\"\n")).unwrap();
            checkout.git(&["add", "."]);
            checkout.git(&["commit", "--quiet", "-m", tag]);
            checkout.git(&["tag", tag]);
        }
        checkout
    }

    /// The folder of a runner, with the checkout in `driver`.
    pub fn folder(&self) -> &Path {
        self.folder.path()
    }

    fn git(&self, arguments: &[&str]) {
        let identity = ["-c", "user.name=a", "-c", "user.email=a@localhost", "-c", "commit.gpgsign=false"];
        let mut command = Command::new("git");
        let output =
            command.arg("-C").arg(self.folder().join("driver")).args(identity).args(arguments).output().unwrap();
        assert!(output.status.success(), "{output:?}");
    }

    /// Makes the command use the stand-in for cargo, and a cache of its own.
    pub fn variables(&self, command: &mut Command) {
        let path = std::env::var("PATH").unwrap();
        let workers = worker("floor").unwrap().parent().unwrap().to_path_buf();
        command.env("PATH", format!("{}:{path}", self.folder().display()));
        command.env("CQLDYNO_SOURCES", self.folder().join("sources")).env("CQLDYNO_CACHE", self.folder().join("cache"));
        command.env("CQLDYNO_WORKERS", workers);
    }

    /// `cqldyno pr` with counts of few statements.
    fn pr(&self, arguments: &[&str]) -> Output {
        let more = ["--exact", "--scenario", "../tiny.toml", "--quiet"];
        let mut command = cqldyno(&self.folder().join("driver"), &[&["pr"], arguments, &more].concat());
        self.variables(&mut command);
        command.output().unwrap()
    }
}

#[test]
fn a_dearer_working_tree_is_found_twice_and_a_change_of_comments_is_not() {
    let checkout = Checkout::new();
    let output = checkout.pr(&["base", "comment"]);
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    let text = stdout(&output);
    assert!(text.starts_with("honest at comment: no finding against base."), "{text}");
    assert!(text.contains("\nExercised: `Session::execute` of prepared statements. Measured in "), "{text}");
    let output = checkout.pr(&["base", "comment", "--only-findings"]);
    assert_eq!((output.status.code(), stdout(&output).as_str()), (Some(0), ""), "{}", stderr(&output));
    fs::write(checkout.folder().join("driver/new.rs"), "").unwrap();
    let output = checkout.pr(&["base", ".", "--only-findings"]);
    assert_eq!(output.status.code(), Some(1), "{}", stderr(&output));
    let text = stdout(&output);
    assert!(text.starts_with("honest in the working tree is dearer: "), "{text}");
    assert!(text.contains(" dirty | change |") && text.contains("n/a, instructions per write: "), "{text}");
    assert!(text.lines().next().unwrap().contains(", confirmed by a second run."), "{text}");
    assert!(text.contains("`--explain` names the functions and system calls that head has more of."), "{text}");
    assert!(text.lines().count() <= 20, "{text}");
    let runs: Vec<_> =
        fs::read_dir(checkout.folder().join("cache/runs")).unwrap().map(|run| run.unwrap().path()).collect();
    assert!(runs.iter().any(|run| run.join("second/run.json").is_file()), "{runs:?}");
    assert!(fs::read_dir(checkout.folder().join("driver")).unwrap().count() == 4, "nothing is left in the checkout");
}

#[test]
fn what_cannot_be_compared_is_refused_with_what_to_do() {
    let checkout = Checkout::new();
    let refused = |arguments: &[&str]| {
        let output = checkout.pr(arguments);
        assert_eq!((output.status.code(), stdout(&output).as_str()), (Some(2), ""), "{}", stderr(&output));
        stderr(&output)
    };
    let unknown = refused(&["nothing", "HEAD"]);
    assert!(
        unknown.contains("they have no commit, tag or branch \"nothing\"; name one that `git log` shows"),
        "{unknown}"
    );
    assert!(
        refused(&["dearer", "HEAD"]).contains("BASE \"dearer\" and HEAD \"HEAD\" are one commit; name two that differ")
    );
    assert!(refused(&[".", "HEAD"]).contains("BASE is the working tree, and HEAD is to be compared with a commit"));
    let inside = refused(&["base", ".", "--out", "runs"]);
    assert!(
        inside.contains("lies in the working tree, which is built as HEAD and must not change meanwhile"),
        "{inside}"
    );
    let other = refused(&["base", "HEAD", "--driver", "nobody"]);
    assert!(other.contains("there is no driver \"nobody\""), "{other}");
    let go = refused(&["base", "HEAD", "--driver", "gocql"]);
    assert!(go.contains("`cqldyno pr` builds crates in Rust, and gocql is none ("), "{go}");
    assert!(go.contains("build its worker of both commits and compare them, as reports/ci/README.md says"), "{go}");
    let nowhere = refused(&["base", "HEAD", "-C", "nowhere"]);
    assert!(nowhere.contains("-C nowhere was given, and it cannot be used (No such file or directory"), "{nowhere}");
    let none = refused(&["base", "HEAD", "-C", ".."]);
    let advice = "they are in no git repository; name the folder of the driver's checkout with -C, or run this in it";
    assert!(none.contains(advice), "{none}");
    let cargo = fs::read_to_string(checkout.folder().join("cargo")).unwrap();
    let other = cargo.replace(r#"\"name\":\"honest\""#, r#"\"name\":\"other\""#);
    fs::write(checkout.folder().join("cargo"), other).unwrap();
    let missing = refused(&["base", "HEAD", "--driver", "honest"]);
    assert!(missing.contains("--driver honest was given, and "), "{missing}");
    assert!(
        missing.contains("has no package of that driver; name the folder of the driver's checkout with -C"),
        "{missing}"
    );
    let none = refused(&["base", "HEAD"]);
    assert!(none.contains("no adapter for a package in ") && none.contains("a driver's checkout with -C"), "{none}");
    fs::remove_file(checkout.folder().join("driver/Cargo.toml")).unwrap();
    let none = refused(&["base", "HEAD"]);
    let advice = "there is no Cargo.toml in it; give the folder of the driver's checkout with -C, or run this in it";
    assert!(none.contains(advice), "{none}");
}
