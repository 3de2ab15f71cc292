//! The worker protocol: one JSON object a line between cqldyno and a worker.
