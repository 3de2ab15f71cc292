//! What a child says on standard error: into a file, without passwords, and its last lines for messages.

use std::collections::VecDeque;
use std::fs::File;
use std::io::{self, BufRead, BufReader, Read, Write};
use std::path::{Path, PathBuf};
use std::process::ChildStderr;
use std::sync::mpsc::{Receiver, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use crate::redaction::Redaction;

/// The most that a log takes; what a child says beyond is dropped.
const MOST_BYTES: usize = 4 << 20;
/// A line is cut here, so that a child without line feeds is read in bounded memory.
const LONGEST_LINE: u64 = 64 << 10;
/// Lines that messages quote.
const TAIL_LINES: usize = 3;
/// Characters of each that messages quote.
const TAIL_WIDTH: usize = 300;

/// A file that is made for the first line: a child that says nothing leaves none.
struct Sink {
    path: Option<PathBuf>,
    file: Option<File>,
    room: usize,
}

impl Sink {
    fn write(&mut self, line: &str) -> io::Result<()> {
        let Some(path) = &self.path else { return Ok(()) };
        let Some(room) = self.room.checked_sub(line.len() + 1) else { return Ok(()) };
        let file = match &mut self.file {
            Some(file) => file,
            none => none.insert(File::create(path)?),
        };
        self.room = room;
        writeln!(file, "{line}")
    }
}

/// A child's log, read by a thread of its own until the child's standard error ends.
pub(crate) struct Log {
    tail: Arc<Mutex<VecDeque<String>>>,
    ended: Receiver<()>,
}

impl Log {
    /// Reads `stderr` into the file at `path`, if there is one.
    ///
    /// # Errors
    /// When the thread cannot be made.
    pub(crate) fn follow(stderr: ChildStderr, path: Option<&Path>, redaction: Redaction) -> io::Result<Log> {
        let mut sink = Sink { path: path.map(Path::to_path_buf), file: None, room: MOST_BYTES };
        let tail = Arc::new(Mutex::new(VecDeque::new()));
        let (sender, ended) = channel();
        let lines = Arc::clone(&tail);
        std::thread::Builder::new().name("log".to_owned()).spawn(move || {
            let mut input = BufReader::new(stderr);
            while let Some(line) = next_line(&mut input) {
                let line = redaction.apply(&line);
                // A full disk is no reason to end a cell.
                let _ = sink.write(&line);
                let mut lines = lines.lock().unwrap_or_else(PoisonError::into_inner);
                if !line.trim().is_empty() {
                    lines.push_back(line.trim_end().chars().take(TAIL_WIDTH).collect());
                }
                while lines.len() > TAIL_LINES {
                    lines.pop_front();
                }
            }
            // Nobody waits any more when the cell ended well.
            let _ = sender.send(());
        })?;
        Ok(Log { tail, ended })
    }

    /// The last lines, after waiting a little for what the child said last.
    pub(crate) fn tail(&self, wait: Duration) -> Vec<String> {
        // Either the end of the log, or the time is up, or it ended before.
        let _ = self.ended.recv_timeout(wait);
        self.tail.lock().unwrap_or_else(PoisonError::into_inner).iter().cloned().collect()
    }
}

fn next_line(input: &mut impl BufRead) -> Option<String> {
    let mut line = Vec::new();
    match input.take(LONGEST_LINE).read_until(b'\n', &mut line) {
        Ok(0) | Err(_) => None,
        Ok(_) => Some(String::from_utf8_lossy(&line).trim_end_matches('\n').to_owned()),
    }
}
