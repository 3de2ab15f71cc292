mod checkouts;
mod dependencies;
mod inputs;
mod native;

use std::process::Command;

use super::*;
use crate::cargo::tests::{fake, startable};
use crate::sources::tests::sources_of;

/// A cargo that writes down how it is called: versions from 9 on do not exist, tokio 1.50.0 moves twin, the compiler stumbles over a
/// file `stumble`, compiles what a file `compiles` names, and changes what a file `meddles` names.
const CARGO: &str = r##"
here=$(dirname "$0")
echo "$*" >> "$here/calls"
case $1 in
-vV) cat "$here/toolchain" 2>/dev/null || true ;;
metadata)
    root=$(dirname "$6")
    if [ -f "$root/../Cargo.toml" ]; then root=$(dirname "$root"); fi
    echo "{\"workspace_root\":\"$root\",\"packages\":[{\"name\":\"a\",\"version\":\"1.2.0\",\"manifest_path\":\"$6\"}]}"
    ;;
update)
    if [ -f "$here/offline" ]; then echo 'error: failed to download' >&2; exit 101; fi
    lock=$(dirname "$3")/Cargo.lock
    if [ "$5 $7" = "tokio 1.0.0" ] && ! grep -q "# twin 1.0.0" "$lock"; then
        echo 'error: failed to select\nrequired by package `twin v1.54.1`' >&2; exit 101
    fi
    want=$(sed -n 's/^a = ">\(.*\), <\(.*\)"$/\1 \2/p' "$3")
    if [ -n "$want" ] && grep -q '^name = "range"' "$3"; then
        set -- $want
        chosen=$1
        for version in 1.1.0 1.2.0 1.2.1 1.4.0 1.5.0; do
            if [ $version = "$2" ]; then break; fi
            chosen=$version
        done
        if [ $chosen = "$1" ]; then
            echo 'error: failed to select a version for the requirement `a = "'">$1, <$2"'"`' >&2; exit 101
        fi
        printf '[[package]]\nname = "a"\nversion = "%s"\n' $chosen > "$here/cache/range/Cargo.lock"
        exit
    fi
    case "$7" in 9.*) echo "error: no version $7 of $5 was found" >&2; exit 101 ;; esac
    if [ -n "$7" ]; then sed -i "/^name = \"$5\"/{n;s/.*/version = \"$7\"/;}" "$lock"; fi
    if [ "$5 $7" = "tokio 1.50.0" ]; then sed -i '/^name = "twin"/{n;s/.*/version = "1.50.0"/;}' "$lock"; fi
    echo "# $5 $7" >> "$lock"
    ;;
rustc)
    if [ -f "$here/stumble" ]; then
        echo '{"reason":"compiler-message","package_id":"x#a@1.2.0","message":{"level":"error","message":"expected `;`"}}'
        exit 101
    fi
    printf '    Building [=> ] 1/2: a\r' >&2
    echo "$CQLDYNO_LOCK_FILE" > "$here/worker"
    echo "$CARGO_ENCODED_RUSTFLAGS $RUSTFLAGS $CARGO_BUILD_RUSTFLAGS" | tr '\037' ' ' > "$here/flags"
    echo "$here/worker: $(cat "$here/compiles" 2>/dev/null)" > "$here/worker.d"
    if [ -f "$here/meddles" ]; then touch $(cat "$here/meddles"); fi
    echo "{\"reason\":\"compiler-artifact\",\"executable\":\"$here/worker\"}"
    ;;
esac
"##;

const ADAPTER: &str = r#"
    [package]
    name = "cqldyno-driver-a"
    [package.metadata.cqldyno]
    crate = "a"
    versions = ">=1.0.0, <2.0.0"
    tested = ["1.9.0"]
    [dependencies]
    a = "=1.9.0"
"#;

pub(crate) struct Workshop {
    sources: tempfile::TempDir,
    dir: tempfile::TempDir,
    pub(crate) builder: Builder,
}

impl Workshop {
    pub(crate) fn new() -> Workshop {
        let (sources_dir, sources) = sources_of(&[("a", ADAPTER)]);
        let lock = "version = 4\n\n[[package]]\nname = \"tokio\"\nversion = \"1.54.1\"\n\n\
                    [[package]]\nname = \"twin\"\nversion = \"1.54.1\"\n";
        fs::write(sources_dir.path().join("Cargo.lock"), lock).unwrap();
        let dir = tempfile::tempdir().unwrap();
        let builder = Builder::new(sources, &dir.path().join("cache"), &fake(dir.path(), CARGO)).unwrap();
        Workshop { sources: sources_dir, dir, builder }
    }

    fn build(&self, order: &Order) -> Result<Built, String> {
        let mut watch = Watch { progress: &mut |_| (), cancelled: &|| false, log: None };
        self.builder.build(order, &mut watch).map_err(|error| error.to_string())
    }

    /// From now on cargo reaches no registry.
    pub(crate) fn goes_offline(&self) {
        fs::write(self.dir.path().join("offline"), "").unwrap();
    }

    /// How often cargo was called so.
    fn calls(&self, begins: &str) -> usize {
        let calls = fs::read_to_string(self.dir.path().join("calls")).unwrap_or_default();
        calls.lines().filter(|line| line.starts_with(begins)).count()
    }
}

fn order(version: &str) -> Order {
    let version = (!version.is_empty()).then(|| version.parse().unwrap());
    Order { driver: "a".to_owned(), version, ..Order::default() }
}

/// The folders of the packages in the cache.
fn packages(workshop: &Workshop) -> Vec<PathBuf> {
    fs::read_dir(workshop.builder.cache().join("packages")).unwrap().map(|entry| entry.unwrap().path()).collect()
}

/// A repository with one commit on a branch `main`, and how git is called there.
pub(crate) fn repository() -> (tempfile::TempDir, impl Fn(&[&str])) {
    let dir = tempfile::tempdir().unwrap();
    let folder = dir.path().to_path_buf();
    let git = move |arguments: &[&str]| {
        let identity = ["-c", "user.name=a", "-c", "user.email=a@localhost", "-c", "commit.gpgsign=false"];
        let output = Command::new("git").arg("-C").arg(&folder).args(identity).args(arguments).output().unwrap();
        assert!(output.status.success(), "{output:?}");
    };
    fs::write(dir.path().join("Cargo.toml"), "[package]\nname = \"a\"\n").unwrap();
    git(&["init", "--quiet", "--initial-branch=main"]);
    git(&["add", "."]);
    git(&["commit", "--quiet", "-m", "First"]);
    (dir, git)
}

#[test]
fn what_was_built_once_is_found_again_beside_its_lock_file() {
    let workshop = Workshop::new();
    let first = workshop.build(&order("1.2.0")).unwrap();
    assert_eq!(first.worker.file_name().unwrap(), "cqldyno-driver-a");
    assert_eq!(first.adapter, "drivers/a");
    let told = fs::read_to_string(&first.worker).unwrap();
    assert!(told.trim().starts_with(&*workshop.builder.cache().display().to_string()), "its lock file is told: {told}");
    assert!(fs::read_to_string(&first.lock_file).unwrap().contains("tokio"));
    assert_eq!(workshop.build(&order("1.2.0")).unwrap(), first);
    assert_eq!((workshop.calls("rustc"), workshop.calls("update")), (1, 1));
    let other = workshop.build(&order("1.3.0")).unwrap();
    assert!(other.key != first.key && first.worker.is_file());
    fs::write(workshop.sources.path().join("drivers/a/src/lib.rs"), "// changed").unwrap();
    assert_ne!(workshop.build(&order("1.2.0")).unwrap().key, first.key);
    assert_eq!(workshop.calls("rustc"), 3);
}

#[test]
fn another_order_of_functions_is_another_worker_that_the_linker_is_told_of() {
    let workshop = Workshop::new();
    let with = |layout| workshop.build(&Order { layout, ..order("1.2.0") }).unwrap();
    let keys = [None, Some(1), Some(2)].map(|layout| with(layout).key);
    assert!(keys[0] != keys[1] && keys[1] != keys[2]);
    assert_eq!(with(Some(2)).order, "a@1.2.0+layout=2");
    let calls = fs::read_to_string(workshop.dir.path().join("calls")).unwrap();
    let told = calls.lines().filter(|line| line.ends_with("-- -Clink-arg=-Wl,--shuffle-sections=.text*=2")).count();
    assert_eq!((told, workshop.calls("rustc")), (1, 3), "{calls}");
}

#[test]
fn another_toolchain_lock_file_or_native_library_is_another_worker() {
    let workshop = Workshop::new();
    let native = workshop.sources.path().join("drivers/a/native");
    startable(&native, "cat variables");
    let variables = workshop.sources.path().join("variables");
    fs::write(&variables, "LIBRARY=1\n").unwrap();
    let key = || workshop.build(&order("1.2.0")).unwrap().key;
    let mut keys = vec![key()];
    fs::write(&variables, "LIBRARY=2\n").unwrap();
    keys.push(key());
    fs::write(workshop.dir.path().join("toolchain"), "cargo 2\n").unwrap();
    keys.push(key());
    let lock = workshop.sources.path().join("Cargo.lock");
    fs::write(&lock, fs::read_to_string(&lock).unwrap() + "# other\n").unwrap();
    keys.push(key());
    assert!((1..keys.len()).all(|at| !keys[..at].contains(&keys[at])), "{keys:?}");
}

#[test]
fn a_build_that_fails_leaves_nothing_and_succeeds_later() {
    let workshop = Workshop::new();
    let stumble = workshop.dir.path().join("stumble");
    fs::write(&stumble, "").unwrap();
    assert_eq!(workshop.build(&order("1.2.0")).unwrap_err(), "it could not be built: a 1.2.0: expected `;`");
    assert!(!workshop.builder.cache().join("workers").exists());
    fs::remove_file(stumble).unwrap();
    workshop.build(&order("1.2.0")).unwrap();
}

#[test]
fn only_a_build_of_the_same_worker_is_waited_for_by_name_and_the_user_ends_the_wait() {
    let workshop = Workshop::new();
    let first = workshop.build(&order("1.2.0")).unwrap();
    let package = packages(&workshop).remove(0);
    fs::write(package.join("lock"), "4711").unwrap();
    let other = File::options().write(true).open(package.join("lock")).unwrap();
    other.lock().unwrap();
    assert_eq!(workshop.build(&order("1.2.0")).unwrap(), first, "what is in the cache is there at once");
    workshop.build(&order("1.3.0")).unwrap();
    assert!(workshop.build(&order("path:/nowhere")).is_err() && workshop.build(&order("2.0.0")).is_err());

    fs::remove_dir_all(first.worker.parent().unwrap()).unwrap();
    let waited = std::cell::Cell::new(0);
    let cancelled = || waited.get() > 0;
    let mut progress = |progress| match progress {
        Progress::Preparing => {}
        progress => {
            assert_eq!(progress, Progress::Waiting { process: 4711 });
            waited.set(waited.get() + 1);
        }
    };
    let mut watch = Watch { progress: &mut progress, cancelled: &cancelled, log: None };
    let ended = workshop.builder.build(&order("1.2.0"), &mut watch);
    assert!(matches!(ended, Err(BuildError::Cancelled)), "{ended:?}");
    assert_eq!(workshop.calls("rustc"), 2);
    drop(other);
    assert_eq!(workshop.build(&order("1.2.0")).unwrap(), first);
    assert_eq!(fs::read_to_string(package.join("lock")).unwrap(), process::id().to_string());
}

#[test]
fn progress_is_heard_until_the_last_crate() {
    let workshop = Workshop::new();
    let mut heard = Vec::new();
    let mut progress = |progress| heard.push(progress);
    let mut watch = Watch { progress: &mut progress, cancelled: &|| false, log: None };
    workshop.builder.build(&order("1.2.0"), &mut watch).unwrap();
    let compiling = |done, of| Progress::Compiling { done, of };
    assert_eq!(heard, [Progress::Preparing, Progress::Locking, compiling(0, 0), compiling(1, 2)]);
}
