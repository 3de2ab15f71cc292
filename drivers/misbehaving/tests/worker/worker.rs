//! A worker for the tests of the harness: floor with one thing wrong, chosen by the option `how` (`misbehaving+how=retries`). No
//! build of `cqldyno` has it; its tests show that it gets no clean row.

mod driver;
mod how;
mod lies;
mod session;
mod textbook;

use std::process::ExitCode;

fn main() -> ExitCode {
    if std::env::args().nth(1).is_some_and(|argument| argument == lies::FORWARD) {
        return lies::forward();
    }
    if let Err(error) = lies::prepare() {
        eprintln!("What this worker says cannot be forwarded: {error}.");
        return ExitCode::FAILURE;
    }
    cqldyno_worker::main::<driver::Misbehaving>()
}
