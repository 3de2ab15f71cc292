//! The behaviour suite, run against floor.

cqldyno_driver_tests::behaviour_suite!(cqldyno_driver_floor::Floor);
