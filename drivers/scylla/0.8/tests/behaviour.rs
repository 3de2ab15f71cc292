//! The behaviour suite, run against the adapter for `scylla`.

cqldyno_driver_tests::behaviour_suite!(cqldyno_driver_scylla::Scylla);
