//! Which of the ways to sample stacks this machine has.

use std::path::PathBuf;

use super::PerfRefusal;
use crate::preload::NoLibrary;

/// How stacks are sampled on this machine.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Sampling {
    /// By perf, with the kernel's frames.
    Perf,
    /// By a library of ours in the worker, without them.
    Library {
        /// Where the library lies.
        path: PathBuf,
        /// Why not by perf.
        why: PerfRefusal,
    },
}

impl Sampling {
    pub(super) fn choose(
        perf: Result<(), PerfRefusal>,
        library: Result<PathBuf, NoLibrary>,
    ) -> Result<Sampling, NoSampling> {
        match (perf, library) {
            (Ok(()), _) => Ok(Sampling::Perf),
            (Err(why), Ok(path)) => Ok(Sampling::Library { path, why }),
            (Err(perf), Err(library)) => Err(NoSampling { perf, library: Box::new(library) }),
        }
    }

    /// What a reader of the stacks must know: full sentences. `None` where perf samples them.
    pub(super) fn label(&self) -> Option<String> {
        match self {
            Sampling::Perf => None,
            Sampling::Library { why, .. } => Some(format!(
                "By perf: {why} libcqldyno_profiler.so samples them in the worker instead, at 250 Hz and without the kernel's frames. {}",
                why.remedy()
            )),
        }
    }
}

/// Stacks cannot be sampled in either way.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{perf} Nor can they be without perf: {library}.")]
pub struct NoSampling {
    perf: PerfRefusal,
    library: Box<NoLibrary>,
}

impl NoSampling {
    /// What to change: full sentences.
    pub fn remedy(&self) -> String {
        format!("{} Or build the library that samples without perf: `make build`.", self.perf.remedy())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn perf_comes_first_then_the_library_and_without_both_the_reasons_of_both_are_said() {
        let why = PerfRefusal::OutOfReach(String::new());
        let (path, absent) = (PathBuf::from("/x.so"), crate::preload::library("libabsent.so").unwrap_err());
        assert_eq!(Sampling::choose(Ok(()), Ok(path.clone())), Ok(Sampling::Perf));
        assert_eq!(Sampling::Perf.label(), None);
        let label = Sampling::choose(Err(why.clone()), Ok(path)).unwrap().label().unwrap();
        assert!(label.contains("without the kernel's frames. ") && label.ends_with(why.remedy()), "{label}");
        let neither = Sampling::choose(Err(why.clone()), Err(absent)).unwrap_err();
        assert!(neither.to_string().starts_with(&format!("{why} Nor ")), "{neither}");
        assert!(neither.remedy().ends_with("`make build`."), "{}", neither.remedy());
    }
}
