use std::collections::BTreeMap;
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
fn the_beginning_of_a_version_is_asked_for_again_each_time_and_means_the_newest_whatever_our_lock_file_has() {
    let workshop = Workshop::new();
    let first = workshop.build(&order("1.2")).unwrap();
    assert_eq!(workshop.build(&order("1.2")).unwrap(), first, "nothing newer came out");
    assert_eq!((workshop.calls("rustc"), workshop.calls("update")), (1, 4));
    let calls = fs::read_to_string(workshop.dir.path().join("calls")).unwrap();
    assert_eq!(calls.lines().filter(|line| line.ends_with("Cargo.toml --package a")).count(), 2, "{calls}");
}

#[test]
fn versions_that_were_chosen_in_part_are_chosen_again() {
    let workshop = Workshop::new();
    let first = workshop.build(&order("newest")).unwrap();
    let packages = packages(&workshop);
    assert!(packages.len() == 1 && packages[0].join("locked").is_file());
    workshop.goes_offline();
    workshop.build(&order("newest")).unwrap_err();
    assert!(!packages[0].join("locked").exists(), "a lock file that is not finished is not taken for one");
    fs::remove_file(workshop.dir.path().join("offline")).unwrap();
    assert_eq!(workshop.build(&order("newest")).unwrap(), first);
}

#[test]
fn dependencies_are_pinned_and_one_that_is_not_there_is_refused() {
    let workshop = Workshop::new();
    let with = |name: &str, version: &str| {
        let pins = BTreeMap::from([(name.to_owned(), version.to_owned())]);
        workshop.build(&Order { pins, ..order("1.2.0") })
    };
    with("tokio", "1.44.2").unwrap();
    assert_eq!(workshop.calls("update --manifest-path"), 2);
    let calls = fs::read_to_string(workshop.dir.path().join("calls")).unwrap();
    assert!(calls.contains("--package tokio --precise 1.44.2"), "{calls}");
    with("tokio", "1.0.0").unwrap();
    let calls = fs::read_to_string(workshop.dir.path().join("calls")).unwrap();
    assert!(calls.contains("--package twin --precise 1.0.0"), "one that is released in step goes first: {calls}");
    assert_eq!(
        with("tokio", "9.0.0").unwrap_err(),
        "it could not be built: tokio cannot be had at 9.0.0: no version 9.0.0 of tokio was found"
    );
    let pins = BTreeMap::from([("tokio", "1.50.0"), ("twin", "1.40.0")].map(|(a, b)| (a.to_owned(), b.to_owned())));
    assert_eq!(
        workshop.build(&Order { pins, ..order("1.2.0") }).unwrap_err(),
        "it could not be built: twin cannot be had at 1.40.0: another dependency needs another version of it"
    );
    assert_eq!(
        with("rand", "1.0.0").unwrap_err(),
        "it could not be built: version 1.0.0 of rand was asked for, and the worker does not depend on rand; name one of its \
         dependencies"
    );
}

#[test]
fn of_several_versions_in_a_lock_file_the_compatible_one_is_replaced() {
    let lock = "[[package]]\nname = \"x\"\nversion = \"0.2.1\"\n\n[[package]]\nname = \"x\"\nversion = \"1.5.0\"\n";
    assert_eq!(locked(lock, "x", "1.0.0").unwrap(), "x@1.5.0");
    assert_eq!(locked(lock, "x", "0.2.9").unwrap(), "x@0.2.1");
    let error = locked(lock, "x", "2.0.0").unwrap_err().to_string();
    assert!(error.contains("the worker has x 0.2.1 and 1.5.0, which that cannot replace"), "{error}");
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

/// The folders of the packages in the cache.
fn packages(workshop: &Workshop) -> Vec<PathBuf> {
    fs::read_dir(workshop.builder.cache().join("packages")).unwrap().map(|entry| entry.unwrap().path()).collect()
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

#[test]
fn tokios_alternative_timer_is_a_flag_of_the_compiler_and_another_worker_and_refused_before_tokio_has_it() {
    let workshop = Workshop::new();
    let with = |timer: Option<&str>, tokio: &str| {
        let pins = BTreeMap::from([("tokio".to_owned(), tokio.to_owned())]);
        workshop.build(&Order { timer: timer.map(str::to_owned), pins, ..order("1.2.0") })
    };
    let plain = with(None, "1.49.0").unwrap();
    let flags = || fs::read_to_string(workshop.dir.path().join("flags")).unwrap();
    assert!(!flags().contains("cqldyno_alternative_timer"), "{}", flags());
    let other = with(Some("alternative"), "1.49.0").unwrap();
    assert!(flags().trim().ends_with("--cfg tokio_unstable --cfg cqldyno_alternative_timer"), "{}", flags());
    assert!(plain.key != other.key && other.order.ends_with("+timer=alternative"), "{other:?}");
    assert_eq!(
        with(Some("alternative"), "1.44.2").unwrap_err(),
        "it could not be built: tokio's alternative timer was asked for, and the worker has tokio 1.44.2, which has none before 1.49.0; \
         leave `timer` out, or ask for a later tokio"
    );
    with(Some("own"), "1.44.2").unwrap();
}

/// Builds what is asked for, but for 1.2.3.
const NATIVE: &str = r#"case $1 in
--toolchain) echo "go 1" ;;
*)
    if [ "$2" = 1.2.3 ]; then echo "it has no 1.2.3" >&2; exit 1; fi
    echo "$2" > "$1/cqldyno-driver-go" && touch "$1/lock" && echo "$2" >> "$(dirname "$0")/../../built"
    ;;
esac"#;
const RELEASES: &str = r#"
    [[family]]
    crate = "go/v2"
    versions = ">=2.0.0, <3.0.0"
    tested = ["2.0.0", "2.1.2"]
    lacks = { prepare = "*" }

    [[family]]
    crate = "fork"
    versions = ">=1.17.0, <2.0.0"
    tested = ["1.19.0-ours"]
    fork = "ours"
"#;

#[test]
fn a_driver_that_cargo_does_not_know_builds_its_releases_itself() {
    let workshop = Workshop::new();
    let folder = workshop.sources.path().join("drivers/go");
    fs::create_dir_all(&folder).unwrap();
    startable(&folder.join("native"), NATIVE);
    fs::write(folder.join("releases.toml"), RELEASES).unwrap();
    let go = |version: &str| Order { driver: "go".to_owned(), ..order(version) };
    let built = || fs::read_to_string(workshop.sources.path().join("built")).unwrap();
    let first = workshop.build(&go("2.0.0")).unwrap();
    assert_eq!((first.toolchain.as_str(), first.adapter.as_str()), ("go 1", "drivers/go"));
    assert_eq!(fs::read_to_string(&first.worker).unwrap(), "2.0.0\n");
    assert!(workshop.builder.has_built(&go("2.0.0")) && !workshop.builder.has_built(&go("2.1.2")));
    assert_eq!(workshop.build(&go("2.0.0")).unwrap(), first);
    for version in ["2", "newest", "1.19.0-ours", "1.18.1-ours"] {
        workshop.build(&go(version)).unwrap();
    }
    assert_eq!(built(), "2.0.0\n2.1.2\n1.19.0-ours\n1.18.1-ours\n");
    let newest = workshop.build(&go("")).unwrap();
    assert_eq!((newest.order.as_str(), fs::read_to_string(&newest.worker).unwrap().as_str()), ("go", "2.1.2\n"));
    let without = workshop.build(&Order { driver: "go-noop".to_owned(), ..order("2.0.0") }).unwrap();
    assert_eq!((without.key.as_str(), fs::read_to_string(&without.worker).unwrap().as_str()), (&*first.key, "2.0.0\n"));
    assert!(
        without.worker.ends_with("cqldyno-driver-go-noop") && without.worker.is_symlink(),
        "the program under another name"
    );
    fs::write(folder.join("main.go"), "changed").unwrap();
    assert_ne!(workshop.build(&go("2.0.0")).unwrap().key, first.key);
    assert_eq!(Vec::from_iter(workshop.builder.lacks(&go("2.0.0")).unwrap()), ["prepare"]);
    let releases: Vec<String> = workshop.builder.releases("go").unwrap().iter().map(ToString::to_string).collect();
    assert_eq!(releases, ["1.19.0-ours", "2.0.0", "2.1.2"]);

    for version in ["1.19.0", "1.19.0-theirs", "3.0.0"] {
        let error = workshop.builder.check(&go(version)).unwrap_err();
        assert!(error.is_refusal(), "{error}");
        let end = "they speak >=2.0.0, <3.0.0 or >=1.17.0, <2.0.0 of ours, written with -ours; ask for one of these";
        assert!(error.to_string().ends_with(end), "{error}");
    }
    let pinned = Order { lto: Some("fat".to_owned()), ..go("2.0.0") };
    for order in [pinned, go("path:x"), go("git:x#y")] {
        assert!(matches!(workshop.builder.check(&order), Err(BuildError::NoAdapter(..))), "{order}");
    }
    fs::write(folder.join("releases.toml"), RELEASES.replace(">=2.0.0", ">=1.0.0")).unwrap();
    assert_eq!(workshop.build(&go("1.2.3")).unwrap_err(), "it could not be built: it has no 1.2.3");
    fs::write(folder.join("releases.toml"), "family = 1").unwrap();
    assert!(workshop.build(&go("2.0.0")).unwrap_err().contains("releases.toml cannot be used"));
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
fn a_folder_is_built_as_it_is_and_said_to_be_dirty_if_it_is() {
    let (workshop, (driver, _git)) = (Workshop::new(), repository());
    let path = format!("path:{}", driver.path().display());
    let clean = workshop.build(&order(&path)).unwrap();
    assert!(clean.revision.as_ref().is_some_and(|revision| revision.len() == 40) && !clean.dirty, "{clean:?}");
    let manifest = fs::read_to_string(clean.lock_file.with_file_name("Cargo.toml")).unwrap();
    assert!(
        manifest.contains(&format!("path = \"{}\"", driver.path().canonicalize().unwrap().display())),
        "{manifest}"
    );
    fs::write(driver.path().join("new.rs"), "").unwrap();
    let dirty = workshop.build(&order(&path)).unwrap();
    assert!(dirty.dirty && dirty.revision == clean.revision && dirty.key != clean.key);
    fs::remove_dir_all(driver.path().join(".git")).unwrap();
    assert_eq!(workshop.build(&order(&path)).unwrap().revision, None);
}

#[test]
fn a_change_of_a_neighbour_in_the_drivers_workspace_is_another_worker() {
    let (workshop, driver) = (Workshop::new(), tempfile::tempdir().unwrap());
    for file in ["Cargo.toml", "a/Cargo.toml", "a/target/built", "b/src/target/mod.rs"] {
        let path = driver.path().join(file);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, "").unwrap();
    }
    let path = order(&format!("path:{}", driver.path().join("a").display()));
    let first = workshop.build(&path).unwrap();
    fs::write(driver.path().join("a/target/built"), "more").unwrap();
    assert_eq!(workshop.build(&path).unwrap(), first, "what cargo built is no source");
    fs::write(driver.path().join("b/src/target/mod.rs"), "fn x() {}").unwrap();
    assert_ne!(workshop.build(&path).unwrap().key, first.key);
}

/// A driver's checkout with what cargo compiles for it: a source behind a link, a hidden file, a crate outside of the workspace that a crate
/// outside of it needs, and a folder that its build script reads.
fn compiled(workshop: &Workshop) -> (tempfile::TempDir, Order) {
    let driver = tempfile::tempdir().unwrap();
    let compiled = ["elsewhere/lib.rs", "a/.hidden", "beyond/further/src/lib.rs", "beyond/protocols"];
    for file in ["a/Cargo.toml", "beyond/further/Cargo.toml", "beyond/protocols/one"].iter().chain(&compiled[..3]) {
        let path = driver.path().join(file);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, "").unwrap();
        ages(&driver.path().join(file), 1);
    }
    std::os::unix::fs::symlink(driver.path().join("elsewhere"), driver.path().join("a/src")).unwrap();
    let paths = compiled.map(|file| driver.path().join(file).display().to_string());
    fs::write(workshop.dir.path().join("compiles"), paths.join(" ")).unwrap();
    let order = order(&format!("path:{}", driver.path().join("a").display()));
    (driver, order)
}

/// Makes the file that many hours old.
fn ages(file: &Path, hours: u64) {
    let time = SystemTime::now() - Duration::from_secs(hours * 3_600);
    File::options().write(true).open(file).unwrap().set_modified(time).unwrap();
}

#[test]
fn a_change_of_anything_that_was_compiled_is_another_worker_wherever_it_lies() {
    let workshop = Workshop::new();
    let (driver, order) = compiled(&workshop);
    let first = workshop.build(&order).unwrap();
    assert_eq!(workshop.build(&order).unwrap(), first);
    let mut keys = vec![first.key.clone()];
    for file in [
        "elsewhere/lib.rs",
        "a/.hidden",
        "beyond/further/src/lib.rs",
        "beyond/further/Cargo.toml",
        "beyond/protocols/one",
    ] {
        fs::write(driver.path().join(file), "changed").unwrap();
        ages(&driver.path().join(file), 0);
        let (builds, updates) = (workshop.calls("rustc"), workshop.calls("update"));
        keys.push(workshop.build(&order).unwrap().key);
        assert!(workshop.calls("rustc") > builds && workshop.calls("update") > updates, "{file}");
    }
    assert!((1..keys.len()).all(|at| !keys[..at].contains(&keys[at])), "{keys:?}");
}

#[test]
fn what_cargo_cannot_see_has_changed_is_compiled_again() {
    let workshop = Workshop::new();
    let (driver, order) = compiled(&workshop);
    workshop.build(&order).unwrap();
    let cleaned = workshop.calls("clean");
    let source = driver.path().join("elsewhere/lib.rs");
    fs::write(&source, "newer").unwrap();
    ages(&source, 0);
    workshop.build(&order).unwrap();
    assert_eq!(workshop.calls("clean"), cleaned, "cargo sees that it is newer");
    fs::write(&source, "older").unwrap();
    ages(&source, 2);
    workshop.build(&order).unwrap();
    assert_eq!(workshop.calls("clean"), cleaned + 1);
    let calls = fs::read_to_string(workshop.dir.path().join("calls")).unwrap();
    assert!(calls.contains("--package tokio --package twin"), "all that comes from no registry: {calls}");
    fs::create_dir(driver.path().join("other")).unwrap();
    fs::remove_file(driver.path().join("a/src")).unwrap();
    std::os::unix::fs::symlink(driver.path().join("other"), driver.path().join("a/src")).unwrap();
    workshop.build(&order).unwrap();
    assert_eq!(workshop.calls("clean"), cleaned + 2, "a link leads elsewhere");
}

#[test]
fn what_a_real_cargo_compiles_is_noticed_and_compiled_again() {
    let workshop = Workshop::new();
    let builder = Builder::new(workshop.builder.sources.clone(), workshop.builder.cache(), Path::new("cargo")).unwrap();
    let main = "extern crate a;\nfn main() { println!(\"{}\", a::said()); }\n";
    fs::write(workshop.sources.path().join("drivers/a/src/main.rs"), main).unwrap();
    let driver = tempfile::tempdir().unwrap();
    let write = |file: &str, text: &str| {
        let path = driver.path().join(file);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, text).unwrap();
        path
    };
    let manifest = |name: &str, more: &str| {
        let text = format!(
            "[package]\nname = \"{name}\"\nversion = \"1.2.0\"\nedition = \"2021\"\n[dependencies]\n{more}\n[workspace]\n"
        );
        write(&format!("{name}/Cargo.toml"), &text)
    };
    manifest("a", "b = { path = \"../b\" }");
    manifest("b", "c = { path = \"../c\" }");
    manifest("c", "");
    write(
        "a/build.rs",
        "fn main() {\n    println!(\"cargo::rerun-if-changed=words\");\n    println!(\"cargo::rustc-env=WORD={}\", std::fs::read_to_string(\"words/one\").unwrap());\n}\n",
    );
    let said =
        r#"pub fn said() -> String { [include_str!("../a/.hidden"), b::said(), env!("WORD"), part::said()].concat() }"#;
    let lib = write("elsewhere/lib.rs", &format!("#[path = \"../a b/part.rs\"]\nmod part;\n{said}\n"));
    let says = |word: &str| format!("pub fn said() -> &'static str {{ \"{word}\" }}\n");
    write("b/src/lib.rs", "pub fn said() -> &'static str { c::said() }\n");
    let changes = [("a/.hidden", "h"), ("a/words/one", "w"), ("c/src/lib.rs", "c"), ("a b/part.rs", "p")];
    let text = |file: &str, word: &str| if file.ends_with(".rs") { says(word) } else { word.to_owned() };
    for (file, word) in changes {
        ages(&write(file, &text(file, word)), 1);
    }
    std::os::unix::fs::symlink(lib.parent().unwrap(), driver.path().join("a/src")).unwrap();

    let order = order(&format!("path:{}", driver.path().join("a").display()));
    let build = || {
        let mut watch = Watch { progress: &mut |_| (), cancelled: &|| false, log: None };
        builder.build(&order, &mut watch).unwrap_or_else(|error| panic!("{error}"))
    };
    let says = |built: &Built| String::from_utf8(Command::new(&built.worker).output().unwrap().stdout).unwrap();
    let first = build();
    assert_eq!((says(&first).as_str(), build()), ("hcwp\n", first.clone()));
    for (at, (file, word)) in changes.into_iter().enumerate() {
        // Older than what cargo compiled.
        ages(&write(file, &text(file, &word.to_uppercase())), 2 + at as u64);
        assert!(says(&build()).contains(&word.to_uppercase()), "{file}");
    }
    fs::write(&lib, fs::read_to_string(&lib).unwrap().replace(".concat()", ".join(\"-\")")).unwrap();
    assert_eq!(says(&build()), "H-C-W-P\n");
}

#[test]
fn a_worker_whose_sources_changed_during_the_build_is_built_again() {
    let workshop = Workshop::new();
    let (driver, order) = compiled(&workshop);
    fs::write(workshop.dir.path().join("meddles"), driver.path().join("a/.hidden").display().to_string()).unwrap();
    workshop.build(&order).unwrap();
    fs::remove_file(workshop.dir.path().join("meddles")).unwrap();
    ages(&driver.path().join("a/.hidden"), 1);
    let second = workshop.build(&order).unwrap();
    assert_eq!((workshop.calls("rustc"), workshop.build(&order).unwrap()), (2, second));
}

#[test]
fn a_branch_of_a_local_repository_is_built_at_its_newest_commit() {
    let (workshop, (driver, git)) = (Workshop::new(), repository());
    let main = order(&format!("git:{}#main", driver.path().display()));
    let first = workshop.build(&main).unwrap();
    assert!(!first.dirty);
    assert_eq!(workshop.build(&main).unwrap(), first);
    let mut copies = fs::read_dir(workshop.builder.cache().join("git")).unwrap().map(|entry| entry.unwrap().path());
    let copy = copies.find(|folder| folder.join(".git").exists()).unwrap();
    fs::remove_file(copy.join("Cargo.toml")).unwrap();
    assert_eq!(workshop.build(&main).unwrap(), first, "a copy that was interrupted is made again");
    fs::write(driver.path().join("new.rs"), "").unwrap();
    assert_eq!(workshop.build(&main).unwrap(), first, "what is not committed is not built");
    git(&["add", "."]);
    git(&["commit", "--quiet", "-m", "Second"]);
    let second = workshop.build(&main).unwrap();
    assert!(second.revision != first.revision && second.key != first.key);
    let revision = first.revision.clone().unwrap();
    let by_commit = workshop.build(&order(&format!("git:{}#{revision}", driver.path().display()))).unwrap();
    assert_eq!(by_commit.revision, first.revision);
    let error = workshop.build(&order(&format!("git:{}#none", driver.path().display()))).unwrap_err();
    assert!(error.ends_with("it has no such commit, tag or branch; name one that it has"), "{error}");
}

#[test]
fn a_repository_has_a_root_commits_and_drivers() {
    let (workshop, (driver, _git)) = (Workshop::new(), repository());
    let builder = &workshop.builder;
    fs::create_dir(driver.path().join("src")).unwrap();
    let root = builder.repository(&driver.path().join("src")).unwrap();
    assert_eq!(root, driver.path().canonicalize().unwrap());
    let commit = builder.commit(&root, "main").unwrap();
    assert_eq!((commit.len(), builder.commit(&root, "HEAD").unwrap()), (40, commit.clone()));
    for name in ["none", "--all"] {
        let error = builder.commit(&root, name).unwrap_err().to_string();
        assert!(error.contains(&format!("they have no commit, tag or branch {name:?}")), "{error}");
    }
    assert_eq!(builder.drivers_in(&root).unwrap(), ["a"]);
    let nowhere = builder.repository(tempfile::tempdir().unwrap().path()).unwrap_err().to_string();
    assert!(nowhere.ends_with("they are in no git repository; name the folder of the driver's checkout"), "{nowhere}");
}

#[test]
fn sources_without_the_driver_are_refused() {
    let workshop = Workshop::new();
    let empty = tempfile::tempdir().unwrap();
    let error = workshop.build(&order(&format!("path:{}", empty.path().display()))).unwrap_err();
    assert!(error.ends_with("there is no Cargo.toml in it; give the folder of the driver's checkout"), "{error}");
    assert!(
        workshop.build(&order("path:/nowhere")).unwrap_err().contains("the driver's sources /nowhere cannot be used")
    );
}
