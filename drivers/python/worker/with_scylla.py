"""The package scylladb-rs-driver, imported as `scylla`: ScyllaDB's driver in Rust for asyncio."""
import datetime, importlib, ipaddress, os

import drivers
from drivers import ROUTING, TIMESTAMPS, option
from tape import SCALARS, integer

EPOCH = datetime.datetime(1970, 1, 1, tzinfo=datetime.timezone.utc)
OWN = {"timestamp": lambda raw: EPOCH + datetime.timedelta(milliseconds=integer(raw)), "inet": ipaddress.ip_address,
       "date": lambda raw: EPOCH.date() + datetime.timedelta(days=int.from_bytes(raw, "big") - 2**31)}
# Errors have classes for the call that failed alone, so the kind comes from the text.
PHRASES = {}

def part(name, of):
    return getattr(importlib.import_module("scylla." + name), of)

class Driver(drivers.Driver):
    lacks_types = ["duration", "time", "udt"]
    caveats = [
        "It is the crate scylla with a layer in Rust for Python: scylla shows what the crate alone costs.",
        "Its slots are tasks of asyncio; the driver has threads of tokio beside them, as many as the runtime has.",
        "A row is a dictionary, whose values the worker compares; it takes a user-defined type by names, and rounds a `time` to microseconds.",
    ]
    options = [
        option("metadata", "cached|each", "each", ""), ROUTING, TIMESTAMPS,
    ]
