//! `cqldyno serve`: the embedded cluster on its own.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::time::Duration;

use crate::support::{Serving, refused, run, stderr};
use nix::sys::signal::Signal;

/// An OPTIONS request of protocol version 4 on stream 0 (native_protocol_v4.spec section 4.1.3).
const OPTIONS: [u8; 9] = [4, 0, 0, 0, 5, 0, 0, 0, 0];
const SUPPORTED: u8 = 6;

fn opcode_of_the_answer(address: &str) -> u8 {
    let mut stream = TcpStream::connect(address).unwrap();
    stream.set_read_timeout(Some(Duration::from_secs(30))).unwrap();
    stream.write_all(&OPTIONS).unwrap();
    let mut header = [0; 9];
    stream.read_exact(&mut header).unwrap();
    header[4]
}

#[test]
fn it_says_where_it_listens_answers_there_and_ends_cleanly_when_told() {
    for signal in [Signal::SIGTERM, Signal::SIGINT] {
        let mut serving = Serving::start(&[], &[]);
        assert_eq!(opcode_of_the_answer(&serving.address), SUPPORTED);
        serving.running.signal(signal);
        assert_eq!(serving.running.code(), Some(0), "{signal}");
        assert!(TcpStream::connect(&serving.address).is_err(), "nobody listens any more");
    }
}

#[test]
fn it_listens_on_another_loopback_address_and_on_a_name_for_one() {
    for (given, listens) in [("127.0.0.2", "127.0.0.2:"), ("localhost", "127.0.0.1:")] {
        let serving = Serving::start(&["--address", given], &[]);
        assert!(serving.address.starts_with(listens), "{}", serving.address);
        assert_eq!(opcode_of_the_answer(&serving.address), SUPPORTED);
    }
}

#[test]
fn a_password_is_taken_from_the_environment_and_shown_nowhere() {
    let mut serving = Serving::start(&["--user", "ada"], &[("CQLDYNO_PASSWORD", "correct-horse")]);
    let line = std::fs::read(format!("/proc/{}/cmdline", serving.running.0.id())).unwrap();
    assert!(!String::from_utf8_lossy(&line).contains("correct-horse"));
    serving.running.signal(Signal::SIGTERM);
    assert_eq!(serving.running.code(), Some(0));
    let said = serving.rest() + &serving.said;
    assert!(!said.contains("correct-horse"), "{said}");
}

#[test]
fn a_port_in_use_and_an_address_that_is_not_loopback_are_said() {
    let serving = Serving::start(&[], &[]);
    let port = serving.address.rsplit(':').next().unwrap();
    let output = run(&["serve", "--port", port]);
    let error = stderr(&output);
    assert_eq!(output.status.code(), Some(1), "{error}");
    assert!(error.starts_with("Error: ") && error.contains(port) && error.contains("in use"), "{error}");
    for address in ["192.0.2.1", "0.0.0.0", "::1", "::", "-1"] {
        let error = refused(&["serve", &format!("--address={address}")]);
        assert!(
            error.contains("--address") && error.contains("on IPv4 loopback addresses only; use localhost, 127.0.0.1"),
            "{error}"
        );
    }
}

#[test]
fn threads_and_rows_that_no_machine_has_room_for_are_refused_with_what_there_is() {
    let error = refused(&["serve", "--threads", "20000"]);
    assert!(error.contains("--threads") && error.contains("ask for at most "), "{error}");
    let error = refused(&["serve", "--expect-rows", "99999999999"]);
    assert!(error.contains("--expect-rows 99,999,999,999 takes at least 3725 GiB, and "), "{error}");
    assert!(error.contains("are available here; ask for fewer rows"), "{error}");
}

#[test]
fn wrong_usage_is_refused_with_what_to_write() {
    assert!(refused(&["serve", "--port", "99999"]).contains("--port"));
    assert!(refused(&["serve", "--delay", "soon"]).contains("write a time such as"));
    assert!(refused(&["serve", "--nap", "2min"]).contains("a minute at most"));
    assert!(refused(&["serve", "--answers", "some"]).contains("batched"));
    assert!(refused(&["serve", "--user", "ada"]).contains("CQLDYNO_PASSWORD"));
    assert!(refused(&["serve", "--user", ""]).contains("a user's name has at least one character"));
}
