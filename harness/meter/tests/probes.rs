//! What the probes say to users other than root on a bare machine: to user `nobody`, and in a pid namespace such as a
//! container's.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::{Command, Output};
use std::sync::{Mutex, PoisonError};

const NOBODY: u32 = 65_534;

/// No test can run a copy of a program while a child of another test has it open for writing.
static ONE_AT_A_TIME: Mutex<()> = Mutex::new(());

/// The example `probe`, built beside this test; prints why it cannot be used.
fn probe_program() -> Option<PathBuf> {
    if !nix::unistd::geteuid().is_root() {
        eprintln!("not tested here: only root may become another user or have a namespace of its own");
        return None;
    }
    let test = std::env::current_exe().ok()?;
    let path = test.parent()?.parent()?.join("examples/probe");
    if !path.exists() {
        eprintln!("not tested here: the example `probe` was not built; run all tests of the crate");
        return None;
    }
    Some(path)
}

fn lines(output: Output) -> Vec<String> {
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "{text}");
    text.lines().map(str::to_owned).collect()
}

/// The text after the name of the meter.
fn said<'a>(lines: &'a [String], meter: &str) -> &'a str {
    lines.iter().find_map(|line| line.strip_prefix(meter)?.strip_prefix(": ")).unwrap_or_default()
}

#[test]
fn an_unprivileged_user_gets_a_reason_and_a_remedy_or_a_count_but_never_a_crash() {
    let Some(program) = probe_program() else { return };
    let _alone = ONE_AT_A_TIME.lock().unwrap_or_else(PoisonError::into_inner);
    // The target directory may be closed to others: a copy in a folder of everyone's.
    let dir = tempfile::tempdir().unwrap();
    fs::set_permissions(dir.path(), fs::Permissions::from_mode(0o755)).unwrap();
    let copy = dir.path().join("probe");
    fs::copy(&program, &copy).unwrap();
    let mut command = Command::new(&copy);
    command.uid(NOBODY).gid(NOBODY).current_dir("/");
    let lines = lines(command.output().unwrap());
    let paranoid: i32 =
        fs::read_to_string("/proc/sys/kernel/perf_event_paranoid").map_or(2, |text| text.trim().parse().unwrap_or(2));
    if paranoid > 1 {
        let total = said(&lines, "system calls");
        assert!(total.starts_with("unavailable: System calls cannot be counted: "), "{total}");
        assert!(total.contains("as root"), "{total}");
    }
    let by_name = said(&lines, "calls by name");
    assert!(
        by_name.starts_with("unavailable: System calls cannot be counted by name: bpf(2) refused to "),
        "{by_name}"
    );
    assert!(by_name.contains("neither CAP_SYS_ADMIN nor both CAP_BPF and CAP_PERFMON"), "{by_name}");
    assert!(by_name.contains("Run cqldyno as root"), "{by_name}");
    assert_eq!(said(&lines, "receive calls while idle"), by_name);
    // What these need is a file or a program, which may be there or not.
    let beside = ["allocations: ", "callgrind: ", "processor's counters: ", "flame graphs: "];
    for line in lines.iter().filter(|line| beside.iter().any(|name| line.starts_with(name))) {
        assert!(line.ends_with(": available") || line.contains(" unavailable: "), "{line}");
    }
    let others = ["system calls: ", "calls by name: ", "receive calls while idle: "].iter().chain(&beside);
    let is_other = |line: &str| others.clone().any(|name| line.starts_with(name));
    for line in lines.iter().filter(|line| !is_other(line)) {
        assert!(line.ends_with(": available"), "{line}");
    }
}

#[test]
fn within_a_pid_namespace_the_same_meters_work_as_outside() {
    let Some(program) = probe_program() else { return };
    let _alone = ONE_AT_A_TIME.lock().unwrap_or_else(PoisonError::into_inner);
    let inside = Command::new("unshare").args(["--pid", "--fork", "--mount-proc"]).arg(&program).output();
    let Ok(inside) = inside else {
        eprintln!("not tested here: there is no unshare");
        return;
    };
    if !inside.status.success() {
        eprintln!("not tested here: {}", String::from_utf8_lossy(&inside.stderr));
        return;
    }
    assert_eq!(lines(inside), lines(Command::new(&program).output().unwrap()));
}
