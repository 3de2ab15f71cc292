//! The behaviour suite, run against the adapter for `cdrs`.

cqldyno_driver_tests::behaviour_suite!(cqldyno_driver_cdrs::CdrsTokio);
