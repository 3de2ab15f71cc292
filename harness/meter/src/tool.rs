//! Programs of others that a meter runs, each for a limited time.

use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use tempfile::tempfile;

const LOOK_EVERY: Duration = Duration::from_millis(5);
/// How many bytes of an error output are shown.
const MOST_SAID: usize = 300;

/// Runs `command` to its end; returns what it wrote to standard output. Files take all output, while pipes would need readers.
///
/// # Errors
/// When it cannot be started, does not end well, or not within `time`: the end of a sentence.
pub(crate) fn run(command: &mut Command, time: Duration) -> Result<String, String> {
    let mut output = tempfile().map_err(|error| not_started(command, &error))?;
    let standard_output = output.try_clone().map_err(|error| not_started(command, &error))?;
    run_into(command, standard_output, time)?;
    Ok(text(&mut output))
}

/// Runs `command` to its end with `output` as its standard output.
pub(crate) fn run_into(command: &mut Command, output: File, time: Duration) -> Result<(), String> {
    let mut errors = tempfile().map_err(|error| not_started(command, &error))?;
    let standard_error = errors.try_clone().map_err(|error| not_started(command, &error))?;
    command.stdin(Stdio::null()).stdout(output).stderr(standard_error);
    let mut child = Ended(command.spawn().map_err(|error| not_started(command, &error))?);
    let begin = Instant::now();
    loop {
        match child.0.try_wait() {
            Ok(Some(status)) if status.success() => return Ok(()),
            Ok(Some(status)) => {
                return Err(format!("{} ended with {status}{}", name(command), said(&text(&mut errors))));
            }
            Ok(None) if begin.elapsed() < time => std::thread::sleep(LOOK_EVERY),
            Ok(None) => return Err(format!("{} did not end within {} s", name(command), time.as_secs())),
            Err(error) => return Err(not_started(command, &error)),
        }
    }
}

/// A child that ends with this value.
pub(crate) struct Ended(pub(crate) Child);

impl Drop for Ended {
    fn drop(&mut self) {
        // It may have ended by itself.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// What was written to `file`, from its beginning.
pub(crate) fn text(file: &mut File) -> String {
    let mut bytes = Vec::new();
    match file.seek(SeekFrom::Start(0)).and_then(|_| file.read_to_end(&mut bytes)) {
        Ok(_) => String::from_utf8_lossy(&bytes).into_owned(),
        Err(_) => String::new(),
    }
}

/// The end of what a program said, in one line, as the end of a sentence.
pub(crate) fn said(text: &str) -> String {
    let words = text.split_whitespace().collect::<Vec<_>>().join(" ");
    let from = words.char_indices().rev().nth(MOST_SAID).map_or(0, |(at, _)| at);
    if words.is_empty() { String::new() } else { format!(" and said: {}", words[from..].trim_end_matches('.')) }
}

fn not_started(command: &Command, error: &io::Error) -> String {
    format!("{} could not be started: {error}", name(command))
}

fn name(command: &Command) -> String {
    command.get_program().to_string_lossy().into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sh(script: &str, milliseconds: u64) -> Result<String, String> {
        run(Command::new("sh").args(["-c", script]), Duration::from_millis(milliseconds))
    }

    #[test]
    fn what_a_program_writes_is_given_back_however_much_it_is() {
        assert_eq!(sh("echo one; echo two >&2", 20_000).unwrap(), "one\n");
        assert_eq!(sh("head -c 1000000 /dev/zero", 20_000).unwrap().len(), 1_000_000);
    }

    #[test]
    fn a_program_that_fails_hangs_or_is_absent_is_told_with_its_last_words() {
        let failed = sh("echo no such thing. >&2; exit 3", 20_000).unwrap_err();
        assert_eq!(failed, "sh ended with exit status: 3 and said: no such thing");
        assert_eq!(sh("exec sleep 100", 30).unwrap_err(), "sh did not end within 0 s");
        let absent = run(&mut Command::new("/absent/program"), Duration::ZERO).unwrap_err();
        assert!(absent.starts_with("/absent/program could not be started: No such file"), "{absent}");
        assert_eq!(said(&"x".repeat(1_000)).len(), " and said: ".len() + MOST_SAID + 1);
    }
}
