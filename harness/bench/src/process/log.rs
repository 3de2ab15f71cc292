//! What a child says on standard error: into a file, without passwords, and its last lines for messages.

use std::collections::VecDeque;
use std::fs::{File, OpenOptions};
use std::io::{self, BufRead, BufReader, Read, Write};
use std::path::{Path, PathBuf};
use std::process::ChildStderr;
use std::sync::mpsc::{Receiver, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use crate::judge::redaction::Redaction;

/// The most that a log takes; what a child says beyond is dropped.
const MOST_BYTES: usize = 4 << 20;
/// A line is cut here, so that a child without line feeds is read in bounded memory.
const LONGEST_LINE: u64 = 64 << 10;
const TAIL_LINES: usize = 3;
const TAIL_WIDTH: usize = 300;
/// How long to wait for the end of the log of a child that is gone. Only a process outside its group that holds its standard error
/// makes this wait long.
const END_WITHIN: Duration = Duration::from_secs(5);

/// A file that is made for the first line: a child that says nothing leaves none.
struct Sink {
    path: Option<PathBuf>,
    /// Begins each line of a file in which others write, too.
    prefix: Option<String>,
    file: Option<File>,
    room: usize,
}

impl Sink {
    fn write(&mut self, line: &str) -> io::Result<()> {
        let Some(path) = &self.path else {
            // Nobody keeps it here: whoever started us may.
            return if self.prefix.is_some() { writeln!(io::stderr(), "{line}") } else { Ok(()) };
        };
        let Some(room) = self.room.checked_sub(line.len() + 1) else { return Ok(()) };
        let file = match &mut self.file {
            Some(file) => file,
            none => none.insert(match self.prefix {
                None => File::create(path)?,
                Some(_) => OpenOptions::new().create(true).append(true).open(path)?,
            }),
        };
        self.room = room;
        // One write per line, so that lines of several stay whole.
        let text = match &self.prefix {
            None => format!("{line}\n"),
            Some(prefix) => format!("{prefix}: {line}\n"),
        };
        file.write_all(text.as_bytes())
    }
}

/// A child's log, read by a thread of its own until the child's standard error ends. Dropping it waits for that, so that nothing is
/// written into a folder that is then removed.
pub(crate) struct Log {
    tail: Arc<Mutex<VecDeque<String>>>,
    /// Disconnected at the end.
    ended: Receiver<()>,
}

impl Log {
    /// Reads `stderr` into the file at `path`, if there is one; with a `prefix` others write there, too.
    ///
    /// # Errors
    /// When the thread cannot be made.
    pub(crate) fn follow(
        stderr: ChildStderr,
        path: Option<&Path>,
        prefix: Option<String>,
        redaction: Redaction,
    ) -> io::Result<Log> {
        let mut sink = Sink { path: path.map(Path::to_path_buf), prefix, file: None, room: MOST_BYTES };
        let tail = Arc::new(Mutex::new(VecDeque::new()));
        let (sender, ended) = channel();
        let kept = Arc::clone(&tail);
        std::thread::Builder::new().name("log".to_owned()).spawn(move || {
            let mut lines = LogLines { input: BufReader::new(stderr), redaction, begun: Vec::new() };
            while let Some(line) = lines.next() {
                // A full disk is no reason to end a cell.
                let _ = sink.write(&line);
                let mut kept = kept.lock().unwrap_or_else(PoisonError::into_inner);
                if !line.trim().is_empty() {
                    kept.push_back(line.trim_end().chars().take(TAIL_WIDTH).collect());
                }
                while kept.len() > TAIL_LINES {
                    kept.pop_front();
                }
            }
            drop(sender);
        })?;
        Ok(Log { tail, ended })
    }

    /// The last lines of a child that is gone.
    pub(crate) fn tail(&self) -> Vec<String> {
        self.wait();
        self.tail.lock().unwrap_or_else(PoisonError::into_inner).iter().cloned().collect()
    }

    /// Waits for the end of the child's standard error, or until the time is up.
    fn wait(&self) {
        let _ = self.ended.recv_timeout(END_WITHIN);
    }
}

impl Drop for Log {
    fn drop(&mut self) {
        self.wait();
    }
}

/// Lines without passwords. A longer one than fits is cut into several, the password being taken out before.
struct LogLines<R> {
    input: R,
    redaction: Redaction,
    /// What may be the beginning of a password at the end of what was read of a line.
    begun: Vec<u8>,
}

impl<R: BufRead> LogLines<R> {
    fn next(&mut self) -> Option<String> {
        let mut bytes = std::mem::take(&mut self.begun);
        let read = (&mut self.input).take(LONGEST_LINE).read_until(b'\n', &mut bytes).unwrap_or(0);
        if read == 0 && bytes.is_empty() {
            return None;
        }
        let is_whole = read == 0 || bytes.ends_with(b"\n");
        let line = self.redaction.take(&mut bytes, is_whole);
        self.begun = bytes;
        Some(String::from_utf8_lossy(&line).trim_end_matches('\n').to_owned())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_part_of_a_password_shows_where_a_long_line_is_cut() {
        const PASSWORD: &str = "tr0ub4dor&3";
        for before in LONGEST_LINE - 12..=LONGEST_LINE + 1 {
            let text = format!("{}{PASSWORD} and more\nlast tr0u", "x".repeat(usize::try_from(before).unwrap()));
            let redaction = Redaction::of(Some(PASSWORD));
            let mut lines = LogLines { input: text.as_bytes(), redaction, begun: Vec::new() };
            let all: Vec<String> = std::iter::from_fn(|| lines.next()).collect();
            let joined = all.join("");
            assert!(joined.contains("x*** and more") && joined.ends_with("last tr0u"), "{before}");
            assert!(!joined.contains("tr0ub") && !joined.contains("dor"), "{before}");
            assert!(all.iter().all(|line| line.len() as u64 <= LONGEST_LINE + 12));
        }
    }

    #[test]
    fn lines_are_told_one_by_one_and_empty_ones_too() {
        let mut lines =
            LogLines { input: &b"one\n\nthree \xff\n"[..], redaction: Redaction::default(), begun: Vec::new() };
        let all: Vec<String> = std::iter::from_fn(|| lines.next()).collect();
        assert_eq!(all, ["one", "", "three \u{fffd}"]);
    }

    #[test]
    fn a_log_that_is_dropped_has_all_its_lines_and_nothing_is_written_afterwards() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("log");
        let mut command = std::process::Command::new("seq");
        let mut child = command.arg("100000").stdout(std::process::Stdio::piped()).spawn().unwrap();
        let output: std::os::fd::OwnedFd = child.stdout.take().unwrap().into();
        let log = Log::follow(output.into(), Some(&path), None, Redaction::default()).unwrap();
        child.wait().unwrap();
        drop(log);
        assert!(std::fs::read_to_string(&path).unwrap().ends_with("\n99999\n100000\n"));
    }
}
