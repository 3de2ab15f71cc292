//! What a user without rights is told: the test runs the probes in a process of user `nobody`.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::Command;

const NOBODY: u32 = 65_534;

/// The example `probe`, built beside this test.
fn probe_program() -> Option<PathBuf> {
    let test = std::env::current_exe().ok()?;
    let path = test.parent()?.parent()?.join("examples/probe");
    path.exists().then_some(path)
}

#[test]
fn an_unprivileged_user_gets_a_reason_and_a_remedy_or_a_count_but_never_a_crash() {
    if !nix::unistd::geteuid().is_root() {
        eprintln!("not tested here: only root may become another user");
        return;
    }
    let Some(program) = probe_program() else {
        eprintln!("not tested here: the example `probe` was not built; run all tests of the crate");
        return;
    };
    // The target directory may be closed to others: a copy in a folder of everyone's.
    let dir = tempfile::tempdir().unwrap();
    fs::set_permissions(dir.path(), fs::Permissions::from_mode(0o755)).unwrap();
    let copy = dir.path().join("probe");
    fs::copy(&program, &copy).unwrap();
    let mut command = Command::new(&copy);
    command.uid(NOBODY).gid(NOBODY).current_dir("/");
    let output = command.output().unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(output.status.success(), "{text}");
    let paranoid: i32 =
        fs::read_to_string("/proc/sys/kernel/perf_event_paranoid").map_or(2, |text| text.trim().parse().unwrap_or(2));
    let line = text.lines().find(|line| line.starts_with("system calls: ")).unwrap();
    if paranoid > 1 {
        assert!(line.contains("unavailable: System calls cannot be counted: "), "{line}");
        assert!(line.contains("as root"), "{line}");
    }
    for line in text.lines().filter(|line| !line.starts_with("system calls: ")) {
        assert!(line.ends_with(": available"), "{line}");
    }
}
