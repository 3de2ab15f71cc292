//! The command line.

use std::io;
use std::net::SocketAddr;
use std::str::FromStr;

use clap::{Parser, ValueEnum};
use tokio::runtime::Builder;

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
    /// tokio's multi-thread runtime without its LIFO slot; only there when built with `--cfg tokio_unstable`.
    #[cfg(tokio_unstable)]
    #[arg(long)]
    pub without_lifo_slot: bool,
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

impl Arguments {
    /// Reads the command line; on a wrong one it says why and ends the process, as clap does.
    pub fn of_command_line() -> Arguments {
        Arguments::parse()
    }

    /// Builds the runtime that was asked for, with network and time.
    ///
    /// # Errors
    /// When the operating system refuses the threads or the event queue.
    pub fn build_runtime(&self) -> io::Result<tokio::runtime::Runtime> {
        let mut builder = match self.runtime {
            Runtime::Current => Builder::new_current_thread(),
            Runtime::Multi(workers) => {
                let mut builder = Builder::new_multi_thread();
                builder.worker_threads(workers);
                builder
            }
        };
        #[cfg(tokio_unstable)]
        if self.without_lifo_slot {
            builder.disable_lifo_slot();
        }
        builder.enable_all().build()
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
