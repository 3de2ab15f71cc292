//! The behaviour suite, run against the adapter for `cdrs-tokio`.

cqldyno_driver_tests::behaviour_suite!(cqldyno_driver_cdrs_tokio::CdrsTokio);
