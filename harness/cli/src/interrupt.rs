//! Ctrl-C and SIGTERM.

use anyhow::{Context, Result};
use cqldyno_bench::Cancel;
use tokio::signal::unix::{SignalKind, signal};

use crate::progress::Voice;

/// SIGXFSZ: a file has reached the size that `ulimit -f` allows. The write fails, too, and is reported like a full disk.
const FILE_SIZE: i32 = 25;

/// Raises `cancel` at the first Ctrl-C or SIGTERM, and says what becomes of the work in the sentence `ending`. A second one ends the
/// program at once; the system then ends its children.
pub fn on_interrupt(cancel: &Cancel, voice: Voice, ending: &'static str) -> Result<()> {
    let cancel = cancel.clone();
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_io()
        .build()
        .context("signals cannot be heard: there is no runtime")?;
    let (mut interrupt, mut terminate, file_size) = {
        let _context = runtime.enter();
        let heard = |kind| signal(kind).context("signals cannot be heard");
        (heard(SignalKind::interrupt())?, heard(SignalKind::terminate())?, signal(SignalKind::from_raw(FILE_SIZE)))
    };
    std::thread::Builder::new()
        .name("signals".to_owned())
        .spawn(move || {
            // As long as it is handled, it does not end the program.
            let _file_size = file_size;
            runtime.block_on(async {
                tokio::select! { _ = interrupt.recv() => (), _ = terminate.recv() => () }
                cancel.cancel();
                voice.say(&format!("{ending} Press Ctrl-C again to end at once."));
                tokio::select! { _ = interrupt.recv() => (), _ = terminate.recv() => () }
                voice.end();
                std::process::exit(130);
            });
        })
        .context("signals cannot be heard: there is no thread")?;
    Ok(())
}
