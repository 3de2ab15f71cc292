//! The behaviour suite, run against floor, and what statements in flight may do to each other.

#[cfg(test)]
mod in_flight;

cqldyno_driver_tests::behaviour_suite!(cqldyno_driver_floor::Floor);
