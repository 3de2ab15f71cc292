//! Consistency levels in the driver's words.

use cqldyno_driver_api::Consistency;
use scylla::statement::Consistency as Level;

/// The driver's name for `consistency`.
pub(crate) fn level(consistency: Consistency) -> Level {
    match consistency {
        Consistency::One => Level::One,
        Consistency::Two => Level::Two,
        Consistency::Three => Level::Three,
        Consistency::Quorum => Level::Quorum,
        Consistency::All => Level::All,
        Consistency::LocalQuorum => Level::LocalQuorum,
        Consistency::EachQuorum => Level::EachQuorum,
        Consistency::LocalOne => Level::LocalOne,
    }
}

/// The level that the release uses if none is set.
pub(crate) fn default() -> Consistency {
    match Level::default() {
        Level::Quorum => Consistency::Quorum,
        _ => Consistency::LocalQuorum,
    }
}
