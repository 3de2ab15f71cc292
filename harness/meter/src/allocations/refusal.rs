//! Why allocations are not counted, and what to change.

use crate::preload::NoLibrary;

/// What stands between the counting library and the worker's allocations. Its text is the sentence of `doctor` and of every cell
/// without a count.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Refusal {
    /// The library was not built, or lies elsewhere.
    #[error("Allocations cannot be counted: {0}.")]
    NoLibrary(NoLibrary),
    /// The file of the counters could not be made.
    #[error("Allocations cannot be counted: the file of the counters could not be made: {0}.")]
    NoArea(String),
    /// The file of the counters could not be read.
    #[error("Allocations cannot be counted: the file of the counters could not be read: {0}.")]
    Unreadable(String),
    /// Nothing is loaded into a static program.
    #[error(
        "Allocations cannot be counted: the worker is linked statically, and into such a program no library can be loaded."
    )]
    Static,
    /// Go's allocator is its own.
    #[error(
        "Allocations cannot be counted: the worker is a Go program, whose memory does not come from the C library."
    )]
    Go,
    /// The JVM's allocator is its own.
    #[error("Allocations cannot be counted: the worker runs a JVM, whose memory does not come from the C library.")]
    Jvm,
    /// The library did not say that it was loaded.
    #[error("Allocations cannot be counted: the library that counts was not loaded into the worker.")]
    NotLoaded,
    /// The library was loaded into another process first.
    #[error(
        "Allocations cannot be counted: the library that counts was loaded into process {found}, not into the worker's \
         process {worker}."
    )]
    Elsewhere {
        /// The process with the library.
        found: u64,
        /// The worker.
        worker: u64,
    },
    /// The library was loaded into a small program for a trial, and counted nothing.
    #[error(
        "Allocations cannot be counted: in a trial with `sh` the library that counts was not loaded or counted nothing{why}."
    )]
    TrialFailed {
        /// What went wrong, with a colon before it, or nothing.
        why: String,
    },
}

impl Refusal {
    /// What to change: full sentences.
    pub fn remedy(&self) -> &'static str {
        match self {
            Refusal::NoLibrary(_) => {
                "Build it with `make build`, and keep it beside cqldyno or in a folder named in CQLDYNO_WORKERS."
            }
            Refusal::NoArea(_) | Refusal::Unreadable(_) => {
                "Have a folder for temporary files that can be written; TMPDIR names another one."
            }
            Refusal::Static => "Link the worker to the C library dynamically.",
            Refusal::Go => "Use Go's own runtime.MemStats for it.",
            Refusal::Jvm => "Use the JVM's own records of allocations for it.",
            Refusal::NotLoaded | Refusal::Elsewhere { .. } => {
                "The worker has to be the process itself, for the same processor and C library as cqldyno, without \
                 set-user-id and without capabilities (`getcap`): the dynamic loader ignores LD_PRELOAD otherwise."
            }
            Refusal::TrialFailed { .. } => {
                "Build cqldyno for this machine's processor and C library with `make build`."
            }
        }
    }

    /// Sentence and remedy.
    pub(super) fn reason(&self) -> String {
        format!("{self} {}", self.remedy())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_reason_has_a_sentence_of_its_own_and_a_remedy() {
        let every = [
            Refusal::NoArea("No space left on device (os error 28)".to_owned()),
            Refusal::Unreadable("failed to fill whole buffer".to_owned()),
            Refusal::Static,
            Refusal::Go,
            Refusal::Jvm,
            Refusal::NotLoaded,
            Refusal::Elsewhere { found: 3, worker: 2 },
            Refusal::TrialFailed { why: String::new() },
        ];
        let mut sentences: Vec<String> = every.iter().map(Refusal::to_string).collect();
        for (refusal, sentence) in every.iter().zip(&sentences) {
            assert!(sentence.starts_with("Allocations cannot be counted: ") && sentence.ends_with('.'), "{sentence}");
            assert!(refusal.remedy().ends_with('.'), "{}", refusal.remedy());
        }
        sentences.sort();
        sentences.dedup();
        assert_eq!(sentences.len(), every.len());
    }
}
