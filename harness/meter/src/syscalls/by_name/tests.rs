use super::*;
use crate::meter::{NO_PROCESS, subject, window};
use crate::{SYSTEM_CALLS, Seen};
use std::collections::HashSet;
use std::io::{BufRead, BufReader, Write};
use std::process::{Child, Command, Stdio};

/// Whether this machine counts by name; prints why not.
fn countable() -> bool {
    SYSTEM_CALLS_BY_NAME.probe().inspect_err(|refusal| eprintln!("not tested here: {refusal}")).is_ok()
}

/// A shell that waits for a line and then becomes another one, which says `ready`, waits for a line, makes so many writes, says
/// `end` and waits.
fn writer(writes: u32) -> Child {
    let work = format!("i=0; while [ $i -lt {writes} ]; do echo x; i=$((i+1)); done");
    let script = format!("echo ready; read line; {work}; echo end; read line");
    let mut shell = Command::new("/bin/sh");
    shell.args(["-c", "read line; exec /bin/sh -c \"$0\"", &script]);
    shell.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap()
}

/// What `attachments` read off a [`writer`]'s writes; at both edges no call but its waiting is under way.
fn outcomes(mut child: Child, attachments: &mut [Box<dyn Attachment>]) -> Vec<Outcome> {
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
    let (syscall, reading) = (format!("/proc/{}/syscall", child.id()), format!("{} ", libc::SYS_read));
    let mut next = |word: &str| {
        child.stdin.as_mut().unwrap().write_all(b"go\n").unwrap();
        assert!(lines.any(|line| line.unwrap() == word));
        while !std::fs::read_to_string(&syscall).unwrap().starts_with(&reading) {
            std::thread::yield_now();
        }
    };
    next("ready");
    attachments.iter_mut().for_each(|attachment| attachment.at_go());
    next("end");
    let seen: Vec<Seen> = attachments.iter_mut().map(|attachment| attachment.at_end()).collect();
    drop(child.stdin.take());
    child.wait().unwrap();
    seen.into_iter().map(|seen| seen(&window())).collect()
}

/// Calls in the window that a figure per statement stands for.
fn calls_of(each: f64) -> f64 {
    (each * window().verified as f64).round()
}

#[test]
fn each_call_of_a_process_is_counted_under_its_name() {
    if !countable() {
        return;
    }
    let names = |writes| {
        let child = writer(writes);
        let mut attached = [SYSTEM_CALLS_BY_NAME.attach(&subject(child.id().cast_signed()))];
        let outcome = outcomes(child, &mut attached).remove(0);
        assert!(outcome.findings.is_empty(), "{:?}", outcome.findings);
        let names = &outcome.breakdowns["syscalls"];
        let sum: f64 = names.values().sum();
        assert_eq!(calls_of(sum), calls_of(outcome.readings[0].value.clone().unwrap()));
        names.iter().map(|(name, each)| (name.clone(), calls_of(*each))).collect::<BTreeMap<_, _>>()
    };
    let (few, many) = (names(100), names(600));
    assert_eq!((few["write"], many["write"]), (101.0, 601.0), "{few:?} {many:?}");
    assert!(few["read"] >= 3.0, "a shell reads byte by byte: {few:?}");
    let others = |mut names: BTreeMap<String, f64>| names.remove("write").map(|_| names);
    assert_eq!(others(few), others(many));
}

#[test]
fn receive_calls_are_counted_per_second_of_the_idle_span() {
    if !countable() {
        return;
    }
    let rate = |writes| {
        let child = writer(writes);
        let mut attached = [RECEIVES_WHILE_IDLE.attach(&subject(child.id().cast_signed()))];
        let began = Instant::now();
        let outcome = outcomes(child, &mut attached).remove(0);
        let found = outcome.readings[0].value.clone().unwrap();
        (found, began.elapsed().as_secs_f64())
    };
    // The shell reads its line byte by byte, and then waits in another read; its writes do not count.
    let (found, seconds) = rate(500);
    assert!(found * seconds > 2.9, "{found} per second");
    const { assert!(RECEIVES_WHILE_IDLE.over_idle && !SYSTEM_CALLS_BY_NAME.over_idle) };
}

#[test]
fn the_count_by_name_and_the_total_of_the_counting_pass_agree_call_by_call() {
    if !countable() || SYSTEM_CALLS.probe().is_err() {
        return;
    }
    let child = writer(500);
    let worker = subject(child.id().cast_signed());
    let mut attached = [SYSTEM_CALLS_BY_NAME.attach(&worker), SYSTEM_CALLS.attach(&worker)];
    let found = outcomes(child, &mut attached);
    let by_name = calls_of(found[0].readings[0].value.clone().unwrap());
    let total = found[1].readings[0].value.clone().unwrap();
    assert_eq!(by_name, total);
}

#[test]
fn threads_on_all_cores_lose_no_call() {
    if !countable() {
        return;
    }
    const THREADS: u64 = 8;
    const CALLS: u64 = 20_000;
    let counter = Counter::attach(std::process::id()).unwrap();
    let number = usize::try_from(libc::SYS_getsid).unwrap();
    let before = counter.read().unwrap();
    std::thread::scope(|scope| {
        for _ in 0..THREADS {
            // A call that nothing else in this test program makes.
            scope.spawn(|| (0..CALLS).for_each(|_| assert!(nix::unistd::getsid(None).is_ok())));
        }
    });
    let after = counter.read().unwrap();
    assert_eq!(after.calls[number] - before.calls[number], THREADS * CALLS);
    assert_eq!(skipped(&before, &after), None);
}

#[test]
fn calls_of_other_processes_are_not_counted() {
    if !countable() {
        return;
    }
    let mut child = Command::new("sh").args(["-c", "read line"]).stdin(Stdio::piped()).spawn().unwrap();
    let mut idle = SYSTEM_CALLS_BY_NAME.attach(&subject(child.id().cast_signed()));
    let mut gone = SYSTEM_CALLS_BY_NAME.attach(&subject(NO_PROCESS));
    idle.at_go();
    gone.at_go();
    for _ in 0..1_000 {
        nix::unistd::getppid();
    }
    let calls = idle.at_end()(&window()).breakdowns["syscalls"].get("getppid").copied();
    assert_eq!(calls, None);
    let nothing = gone.at_end()(&window());
    let why = nothing.readings[0].value.clone().unwrap_err();
    assert!(why.contains("another process"), "{why}");
    assert!(nothing.breakdowns["syscalls"].is_empty());
    drop(child.stdin.take());
    child.wait().unwrap();
}

#[test]
fn a_number_beyond_the_tables_and_what_was_skipped_are_told() {
    let mut calls = vec![0; NUMBERS + 1];
    let go = Count { calls: calls.clone(), skipped: Some(1) };
    calls[400] = 500_000;
    calls[NUMBERS] = 250_000;
    let end = Count { calls, skipped: Some(3) };
    let (each, names) = super::calls(&go, &end, &window()).unwrap();
    assert_eq!(each, 0.75);
    assert_eq!(names, BTreeMap::from([("syscall_400".to_owned(), 0.5), ("syscall_above_510".to_owned(), 0.25)]));
    let finding = skipped(&go, &end).unwrap();
    assert!(finding.starts_with("At 2 system calls"), "{finding}");
    assert_eq!(skipped(&go, &Count { skipped: None, ..end }), None);
}

#[test]
fn names_are_those_of_the_c_librarys_numbers() {
    for (number, called) in [
        (libc::SYS_read, "read"),
        (libc::SYS_writev, "writev"),
        (libc::SYS_sendto, "sendto"),
        (libc::SYS_recvfrom, "recvfrom"),
        (libc::SYS_futex, "futex"),
        (libc::SYS_epoll_pwait, "epoll_pwait"),
        (libc::SYS_getppid, "getppid"),
        (libc::SYS_eventfd2, "eventfd2"),
        (libc::SYS_newfstatat, if cfg!(target_arch = "aarch64") { "fstatat" } else { "newfstatat" }),
        (libc::SYS_bpf, "bpf"),
        (libc::SYS_io_uring_enter, "io_uring_enter"),
        (libc::SYS_clone3, "clone3"),
        (libc::SYS_epoll_pwait2, "epoll_pwait2"),
        (libc::SYS_futex_waitv, "futex_waitv"),
    ] {
        assert_eq!(name(number as usize), called);
    }
}

#[test]
fn a_number_without_a_name_is_shown_and_no_two_numbers_share_a_name() {
    assert_eq!(name(400), "syscall_400");
    assert_eq!(name(510), "syscall_510");
    let names: HashSet<String> = (0..NUMBERS).map(name).collect();
    assert_eq!(names.len(), NUMBERS);
    let known = names.iter().filter(|name| !name.starts_with("syscall_"));
    assert!(known.count() > 300);
}
