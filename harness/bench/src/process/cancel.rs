//! The wish to end a run early.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// A flag that the command line raises (Ctrl-C) and that every wait of a run looks at.
#[derive(Clone, Debug, Default)]
pub struct Cancel(Arc<AtomicBool>);

impl Cancel {
    /// A flag that is down.
    pub fn new() -> Cancel {
        Cancel::default()
    }

    /// Raises the flag: worker and server of the running cell are ended, finished cells are kept.
    pub fn cancel(&self) {
        self.0.store(true, Ordering::Relaxed);
    }

    /// Whether the flag is up.
    pub fn is_cancelled(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }
}
