//! `cqldyno serve`: a node in its own process.

use std::io::{self, BufRead, Write};
use std::time::Duration;

use cqldyno_script::{Played, Step};
use serde::Serialize;
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::mpsc;

use crate::node::control::{Control, ControlError, Listening, PlayedAll};
use crate::node::server::{Node, StartError};
use crate::node::state::NodeOptions;
use crate::system::RELEASE_VERSION;

/// The settings of `cqldyno serve`.
#[derive(Clone, Debug, Default)]
pub struct ServeOptions {
    /// The node.
    pub node: NodeOptions,
    /// Whether a parent sends [`Control`] lines on stdin.
    pub control: bool,
}

/// Why serving failed.
#[derive(Debug, thiserror::Error)]
pub enum ServeError {
    /// The node did not start.
    #[error(transparent)]
    Start(#[from] StartError),
    /// Without signals there is no clean end.
    #[error("The node cannot listen for SIGTERM and SIGINT: {0}")]
    Signals(#[source] io::Error),
    /// The parent closed stdout.
    #[error("The node cannot write to stdout: {0}")]
    Stdout(#[source] io::Error),
}

/// Serves until SIGTERM or SIGINT, or with control lines until `{"shutdown":true}` or the end of stdin. Without control lines it
/// prints its address on stderr.
///
/// Returns what each step of its own script did.
pub fn serve(options: ServeOptions) -> Result<Vec<Played>, ServeError> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().map_err(StartError::Threads)?;
    let (lines, mut received) = mpsc::channel(16);
    let ended = runtime.block_on(async {
        // Before the node is announced: a signal may follow at once.
        let mut terminate = signal(SignalKind::terminate()).map_err(ServeError::Signals)?;
        let mut interrupt = signal(SignalKind::interrupt()).map_err(ServeError::Signals)?;
        let topology = options.node.topology;
        let node = Node::start(options.node)?;
        if options.control {
            say(&Listening {
                listening: node.address(),
                nodes: node.addresses(),
                version: env!("CARGO_PKG_VERSION").to_owned(),
                release_version: RELEASE_VERSION.to_owned(),
                pid: std::process::id(),
            })?;
            // The thread may block in a read: it ends with the process.
            std::thread::spawn(move || read_lines(&lines));
        } else {
            let addresses: Vec<String> = node.addresses().iter().map(ToString::to_string).collect();
            eprintln!(
                "listening on {} as Apache Cassandra {RELEASE_VERSION}, protocol v3 and v4",
                addresses.join(", ")
            );
        }
        loop {
            let line = tokio::select! {
                _ = terminate.recv() => None,
                _ = interrupt.recv() => None,
                line = received.recv(), if options.control => line,
            };
            match line {
                None | Some(Ok(Control::Shutdown(true))) => break,
                Some(Err(error)) => say(&ControlError { error })?,
                Some(Ok(command @ Control::DelayUs(micros))) => {
                    node.set_delay(Duration::from_micros(micros));
                    say(&command)?;
                }
                Some(Ok(Control::Script(steps))) => {
                    let is_right = |step: &Step| {
                        step.check().map_err(|fault| fault.message)?;
                        step.fits(topology.nodes(), topology.shards())
                    };
                    match steps.iter().try_for_each(is_right) {
                        Err(error) => say(&ControlError { error })?,
                        Ok(()) => {
                            say(&Control::Script(steps.clone()))?;
                            node.set_script(steps);
                        }
                    }
                }
                Some(Ok(command @ Control::Play(true))) => {
                    node.play();
                    say(&command)?;
                }
                Some(Ok(Control::Play(false))) => say(&PlayedAll { played: node.end_script() })?,
                Some(Ok(Control::Snapshot(true))) => say(&node.stats())?,
                Some(Ok(Control::Snapshot(false) | Control::Shutdown(false))) => {}
            }
        }
        let played = node.end_script();
        node.stop();
        Ok(played)
    });
    runtime.shutdown_background();
    ended
}

fn read_lines(lines: &mpsc::Sender<Result<Control, String>>) {
    for line in io::stdin().lock().lines() {
        let Ok(line) = line else { return };
        if line.trim().is_empty() {
            continue;
        }
        let command = serde_json::from_str(&line).map_err(|error| {
            format!("{line:?} is no command ({error}): send {{\"snapshot\":true}}, {{\"delay_us\":N}}, {{\"script\":[...]}}, {{\"play\":true}} or {{\"shutdown\":true}}")
        });
        if lines.blocking_send(command).is_err() {
            return;
        }
    }
}

fn say(message: &impl Serialize) -> Result<(), ServeError> {
    let mut out = io::stdout().lock();
    let mut line = serde_json::to_vec(message).map_err(|error| ServeError::Stdout(error.into()))?;
    line.push(b'\n');
    out.write_all(&line).and_then(|()| out.flush()).map_err(ServeError::Stdout)
}
