//! The load generator inside a worker, generic over the driver.
