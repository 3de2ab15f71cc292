//! What a worker and its parent say to each other, line by line.

use std::sync::{Mutex, PoisonError};

/// Every line as it was written, in the order in which the parent wrote or read it.
#[derive(Debug, Default)]
pub(crate) struct Transcript(Mutex<String>);

impl Transcript {
    /// A line that neither side wrote.
    pub(crate) fn title(&self, title: &str) {
        self.add("#", title);
    }

    pub(crate) fn add(&self, whose: &str, line: &str) {
        let mut text = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        text.push_str(&format!("{whose} {}\n", line.trim_end()));
    }

    pub(crate) fn into_text(self) -> String {
        self.0.into_inner().unwrap_or_else(PoisonError::into_inner)
    }
}
