//! The command line.

use std::io;
use std::net::SocketAddr;
use std::str::FromStr;

use clap::{Parser, ValueEnum};

/// Runs one scenario against a server that is already there and prints one line of JSON: wall_ns, user_us, sys_us,
/// statements and verified of the window. `reads` and `mixed` read rows that `writes` with the same count has left.
#[derive(Clone, Debug, Parser)]
pub struct Arguments {
    /// Address of the server.
    #[arg(long, value_name = "HOST:PORT")]
    pub target: SocketAddr,
    /// What is asked.
    #[arg(long, value_enum)]
    pub scenario: Scenario,
    /// Statements in the window.
    #[arg(long, default_value_t = 200_000)]
    pub count: u64,
    /// Statements before the window.
    #[arg(long, default_value_t = 20_000)]
    pub warmup: u64,
    /// Statements in flight.
    #[arg(long, default_value_t = 1_024)]
    pub concurrency: usize,
    /// Chooses the order of the keys.
    #[arg(long, default_value_t = 1)]
    pub seed: u64,
    /// tokio's runtime: `current`, or `multi:N` for N worker threads.
    #[arg(long, default_value = "multi:2")]
    pub runtime: Runtime,
}

/// What is asked, as in the built-in scenarios of the same names.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Scenario {
    /// Inserts.
    Writes,
    /// Selects of loaded rows.
    Reads,
    /// Half selects of loaded rows, half inserts of others.
    Mixed,
}

/// tokio's runtime.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Runtime {
    /// The current-thread runtime.
    Current,
    /// The multi-thread runtime with so many workers.
    Multi(usize),
}

impl FromStr for Runtime {
    type Err = String;

    fn from_str(text: &str) -> Result<Runtime, String> {
        match text.strip_prefix("multi:").map(str::parse) {
            _ if text == "current" => Ok(Runtime::Current),
            Some(Ok(workers)) if workers > 0 => Ok(Runtime::Multi(workers)),
            _ => Err(format!("`{text}` is no runtime; give `current`, or `multi:N` with N of at least 1")),
        }
    }
}

impl Runtime {
    /// Builds it, with network and time.
    ///
    /// # Errors
    /// When the operating system refuses the threads or the event queue.
    pub fn build(self) -> io::Result<tokio::runtime::Runtime> {
        match self {
            Runtime::Current => tokio::runtime::Builder::new_current_thread().enable_all().build(),
            Runtime::Multi(workers) => {
                tokio::runtime::Builder::new_multi_thread().worker_threads(workers).enable_all().build()
            }
        }
    }
}

impl Arguments {
    /// Reads the command line; on a wrong one it says why and ends the process, as clap does.
    pub fn of_command_line() -> Arguments {
        Arguments::parse()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_runtime_is_read_from_its_name_and_anything_else_is_refused_with_a_sentence() {
        assert_eq!("current".parse(), Ok(Runtime::Current));
        assert_eq!("multi:3".parse(), Ok(Runtime::Multi(3)));
        for wrong in ["", "multi", "multi:", "multi:0", "multi:x", "single"] {
            assert!(wrong.parse::<Runtime>().unwrap_err().contains("multi:N"), "{wrong}");
        }
    }

    #[test]
    fn the_documented_command_line_is_accepted() {
        let line = "x --target 127.0.0.1:9042 --scenario mixed --count 10 --warmup 2 --concurrency 4 --seed 7 --runtime current";
        let arguments = Arguments::try_parse_from(line.split(' ')).unwrap();
        assert_eq!((arguments.count, arguments.warmup, arguments.seed), (10, 2, 7));
        assert_eq!((arguments.scenario, arguments.runtime), (Scenario::Mixed, Runtime::Current));
    }
}
