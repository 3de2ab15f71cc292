//! Clock and CPU time of the window.

use std::time::Instant;

use anyhow::Context;
use nix::sys::resource::{UsageWho, getrusage};
use nix::sys::time::TimeValLike;

/// The measured part of a run: from [`Window::start`] to [`Window::end`].
#[derive(Debug)]
pub struct Window {
    started: Instant,
    user_us: i64,
    sys_us: i64,
}

impl Window {
    /// Starts the window.
    ///
    /// # Errors
    /// When the operating system does not tell the process its CPU time.
    pub fn start() -> anyhow::Result<Window> {
        let (user_us, sys_us) = cpu_us()?;
        Ok(Window { started: Instant::now(), user_us, sys_us })
    }

    /// Ends the window; what it gives is the line to print.
    ///
    /// # Errors
    /// When the operating system does not tell the process its CPU time.
    pub fn end(self, statements: u64, verified: u64) -> anyhow::Result<String> {
        let wall_ns = self.started.elapsed().as_nanos();
        let (user_us, sys_us) = cpu_us()?;
        let (user_us, sys_us) = (user_us - self.user_us, sys_us - self.sys_us);
        Ok(format!(
            r#"{{"wall_ns":{wall_ns},"user_us":{user_us},"sys_us":{sys_us},"statements":{statements},"verified":{verified}}}"#
        ))
    }
}

fn cpu_us() -> anyhow::Result<(i64, i64)> {
    let usage = getrusage(UsageWho::RUSAGE_SELF).context("getrusage gave no CPU time of this process")?;
    Ok((usage.user_time().num_microseconds(), usage.system_time().num_microseconds()))
}
