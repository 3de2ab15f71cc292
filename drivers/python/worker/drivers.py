"""What the four packages share: how one is found, described and asked."""
import asyncio, importlib, importlib.metadata, platform

from tape import SCALARS
from window import at_once

# The module for each package, and the end of its versions.
PACKAGES = {"cassandra-driver": ("with_cassandra", ""), "scylla-driver": ("with_cassandra", "-scylladb"),
            "acsylla": ("with_acsylla", "-acsylla"), "scylladb-rs-driver": ("with_scylla", "-rs")}
# The kinds of errors that every package raises of its own or takes from Python.
KINDS = {"ConnectionError": "connection_lost", "TimeoutError": "request_timeout", "TypeError": "codec", "ValueError": "codec",
         "OverflowError": "codec", "struct.error": "codec"}


def found(noop):
    """The driver that is installed, or one that sends nothing in its place."""
    for package, (module, word) in PACKAGES.items():
        try:
            version = importlib.metadata.version(package)
        except importlib.metadata.PackageNotFoundError:
            continue
        return (Noop if noop else importlib.import_module(module).Driver)(package, version + word)
    from link import Failure
    raise Failure("describe", f"None of {', '.join(PACKAGES)} is installed beside this worker; build it with `native`.")


class Driver:
    """A package. A driver with tasks is awaited; the others have callbacks, and their coroutines wait for nothing."""
    has_tasks = True
    capabilities, caveats, options, lacks_types, kinds = [], [], [], [], {}

    def __init__(self, package, version):
        self.package, self.version, self.title = package, version, f"{package} {version.partition('-')[0]}"

    def libraries(self):
        return [{"name": self.package, "version": importlib.metadata.version(self.package)},
                {"name": "python", "version": platform.python_version()}]

    def settings(self, job):
        """The settings that are not the equal ones, each as its value and whether it is as asked."""
        return {}

    def begin(self, job):
        """What must be done before the package is imported."""

    def scalars(self):
        """The functions from bytes to values of the types that the package binds and decodes."""
        return {name: decode for name, decode in SCALARS.items() if name not in self.lacks_types}

    def unset(self):
        """The value that leaves a marker unset; None if there is none."""

    def runner(self):
        if not self.has_tasks:
            return at_once
        self.loop = asyncio.new_event_loop()
        asyncio.set_event_loop(self.loop)
        return self.loop.run_until_complete

    def kind_of(self, error):
        """The kind of an error in the words of the protocol, and its message."""
        kinds = KINDS | self.kinds
        names = [one.__name__ for one in type(error).__mro__]
        return next((kinds[name] for name in names if name in kinds), "other"), f"{type(error).__name__}: {error}"


def option(name, values, default, about, tried=None):
    told = {"name": name, "values": values, "default": default, "about": about}
    return told | ({"tried": tried} if tried else {})


def nodes(job):
    """The addresses and ports that are given."""
    pairs = (node.rsplit(":", 1) for node in job["target"])
    return [(host.strip("[]"), int(port)) for host, port in pairs]


class Noop(Driver):
    """Sends nothing: the rows that are due come back through the event loop at once."""
    capabilities = ["paging", "request_timeout", "credentials", "tls", "batch", "unprepared", "prepare", "connect", "offline"]
    caveats = ["It sends nothing: its figure is what the worker itself costs, with a task and a callback of asyncio for each statement."]

    def scalars(self):
        return SCALARS

    def unset(self):
        return ...

    async def connect(self, job):
        return self

    async def prepare(self, cql):
        return cql

    async def close(self):
        pass

    def execute(self, *_):
        async def at_once(values, due):
            future = self.loop.create_future()
            self.loop.call_soon(future.set_result, due)
            return await future
        return at_once

    execute_batch = execute_unprepared = execute
