//! What the write-ahead log says: commits and rows between two positions.
//!
//! The statistics views would say the same up to ten seconds later, because each backend keeps its counts to itself while it waits.

use std::os::unix::process::CommandExt;
use std::process::Command;
use std::time::{Duration, Instant};

use crate::error::{PostgresError, Result};
use crate::server::Server;

/// How long the log may take to be written without a commit that waits for it; the log writer sleeps 0.2 s at a time.
const WRITTEN_WITHIN: Duration = Duration::from_secs(10);
/// Bytes of the longer header of a page of the log.
const PAGE_HEADER: u32 = 40;
const LOOK_EVERY: Duration = Duration::from_millis(20);

/// A position in the log, as PostgreSQL writes it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Position(String);

/// What was committed between two positions.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Committed {
    /// Transactions.
    pub transactions: u64,
    /// Rows that were inserted in any table; a long value is stored as further rows of a table of its own.
    pub rows: u64,
}

impl Server {
    /// Where the next record of the log goes.
    ///
    /// # Errors
    /// When the server does not answer.
    pub fn position(&self) -> Result<Position> {
        self.query("SELECT pg_current_wal_insert_lsn()").map(Position)
    }

    /// What the log has from one position to another, once that part of it is in its files.
    ///
    /// # Errors
    /// When the server does not answer, or the log cannot be read.
    pub fn committed(&self, from: &Position, to: &Position) -> Result<Committed> {
        if from == to {
            return Ok(Committed::default());
        }
        let began = Instant::now();
        // Behind the last record of a page the next one goes after that page's header, which is not written before it.
        let written = format!("SELECT pg_wal_lsn_diff('{}', pg_current_wal_flush_lsn()) <= {PAGE_HEADER}", to.0);
        while self.query(&written)? != "t" {
            if began.elapsed() > WRITTEN_WITHIN {
                return Err(PostgresError::NoAnswer("it had not written its log".to_owned()));
            }
            std::thread::sleep(LOOK_EVERY);
        }
        let words = self.machine.words("pg_waldump")?;
        let mut command = Command::new(&words[0]);
        command.args(&words[1..]).arg("--path").arg(self.data().join("pg_wal")).arg("--stats=record");
        let output = command.args(["--start", &from.0, "--end", &to.0]).process_group(0).output();
        let output = output.map_err(|error| no_answer(&error.to_string()))?;
        if !output.status.success() {
            return Err(no_answer(&String::from_utf8_lossy(&output.stderr)));
        }
        Ok(counted(&String::from_utf8_lossy(&output.stdout)))
    }
}

fn no_answer(said: &str) -> PostgresError {
    let said = said.lines().next().unwrap_or_default().trim();
    PostgresError::NoAnswer(format!("it said: {}", if said.is_empty() { "nothing" } else { said }))
}

/// Commits and inserted rows of a table of records, each with its number after its name.
fn counted(table: &str) -> Committed {
    let of = |names: &[&str]| -> u64 {
        let number = |line: &str| {
            let mut words = line.split_whitespace();
            names.contains(&words.next()?).then(|| words.next()?.parse::<u64>().ok())?
        };
        table.lines().filter_map(number).sum()
    };
    Committed { transactions: of(&["Transaction/COMMIT"]), rows: of(&["Heap/INSERT", "Heap/INSERT+INIT"]) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commits_and_rows_are_read_from_the_table_of_records() {
        let table = "WAL statistics between 0/1 and 0/2:\n\
            Type                     N      (%)\n\
            Transaction/COMMIT      20 ( 33.33)\n\
            Heap/INSERT             18 ( 30.00)\n\
            Heap/INSERT+INIT         2 (  3.33)\n\
            Btree/INSERT_LEAF       20 ( 33.33)\n\
            Total                   60\n";
        assert_eq!(counted(table), Committed { transactions: 20, rows: 20 });
        assert_eq!(counted("Total 0"), Committed::default());
    }
}
