"""The package acsylla: libcassandra, ScyllaDB's driver in C++, for asyncio."""
import datetime, importlib, ipaddress, logging

import drivers
from drivers import nodes, option

class Driver(drivers.Driver):
    capabilities = ["request_timeout", "paging", "reprepare", "reconnect", "control_connection", "notices_close", "closes_sessions",
                    "credentials", "tls", "batch", "prepare", "connect"]
    caveats = [
        "Its slots are tasks of asyncio on one thread of Python; `current` and `multi:N` change nothing. libcassandra has I/O threads of its own.",
        "It is libcassandra, built by acsylla's authors, with a layer in Cython: see cassandra-cpp for the library alone.",
    ]
    options = [
        option("io-threads", "COUNT", "1", "I/O threads of libcassandra; each opens its own connections.", "2"),
        option("routing", "token-aware|round-robin", "token-aware", "Sends each statement to a replica of its row, or to each node in turn."),
        option("timestamps", "server|client", "server", "Leaves the time of a write to the server, or sends one with every statement."),
        option("coalescing", "MICROSECONDS", "200", "How long an I/O thread waits for further requests before it writes.", "50"),
    ]
    def begin(self, job):
        logging.getLogger("acsylla").setLevel(logging.ERROR)
