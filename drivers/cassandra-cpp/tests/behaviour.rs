//! The behaviour suite, run against the adapter for `cassandra-cpp`.

cqldyno_driver_tests::behaviour_suite!(cqldyno_driver_cassandra_cpp::CassandraCpp);
