//! A driver whose folder builds its releases.

use super::*;

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
