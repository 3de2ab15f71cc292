//! The behaviour suite of an adapter, run on the release that is ordered.

use std::collections::BTreeSet;
use std::ffi::{OsStr, OsString};

use super::{Builder, Watch};
use crate::error::BuildError;
use crate::order::Order;

/// What the suite prints before the name of such a capability.
const NOT_DECLARED: &str = "not declared: ";

impl Builder {
    /// Runs the behaviour suite of the family that speaks the order's version, after clippy if `lints`. Returns the capabilities that
    /// the adapter does not declare, as far as the suite looks.
    ///
    /// # Errors
    /// When it cannot be built, or fails.
    pub fn test<'a>(
        &'a self,
        order: &Order,
        lints: bool,
        watch: &mut Watch<'a>,
    ) -> Result<BTreeSet<String>, BuildError> {
        let prepared = self.prepare(order, true, watch)?;
        let _lock = self.lock(&prepared.folder, watch)?;
        let cargo = self.cargo(&prepared, watch);
        self.resolve(order, &prepared, &cargo, watch.progress)?;
        let place = prepared.place();
        let progress = &mut *watch.progress;
        let mut call = |before: &[&'static str], after: &[&'static str]| {
            let (before, after) = (before.iter().map(OsStr::new), after.iter().map(OsStr::new));
            let arguments = before.chain(place.iter().map(OsString::as_os_str)).chain([OsStr::new("--")]).chain(after);
            cargo.hear(arguments, progress)
        };
        if lints {
            let said = call(&["clippy", "--locked", "--lib"], &["-D", "warnings"])?;
            if !said.success {
                return Err(said.failure());
            }
        }
        let said = call(&["test", "--locked", "--test", "behaviour"], &["--show-output"])?;
        let failed: Vec<&str> =
            said.out.lines().filter_map(|line| line.strip_prefix("test ")?.strip_suffix(" ... FAILED")).collect();
        match (said.success, failed.is_empty()) {
            (true, _) => {
                Ok(said.out.lines().filter_map(|line| line.strip_prefix(NOT_DECLARED)).map(str::to_owned).collect())
            }
            (false, false) => Err(BuildError::Failed(format!("these tests fail: {}", failed.join(", ")))),
            (false, true) => Err(said.failure()),
        }
    }
}
