//! The behaviour suite, run against the adapter for `scylla`.
// The futures of 1.4 are nested deeper than the compiler's limit allows.
#![recursion_limit = "256"]

cqldyno_driver_tests::behaviour_suite!(cqldyno_driver_scylla::Scylla);
