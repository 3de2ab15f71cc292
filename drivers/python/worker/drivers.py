"""What the four packages share: how one is found, described and asked."""
import asyncio, importlib, importlib.metadata, platform

from link import Failure
from tape import SCALARS
from window import at_once

# The module for each package, and the end of its versions.
PACKAGES = {"cassandra-driver": ("with_cassandra", ""), "scylla-driver": ("with_cassandra", "-scylladb"),
            "acsylla": ("with_acsylla", "-acsylla"), "scylladb-rs-driver": ("with_scylla", "-rs")}
# The kinds of errors by class, of Python and of those that several packages name alike.
KINDS = {"ConnectionError": "connection_lost", "TimeoutError": "request_timeout", "TypeError": "codec", "ValueError": "codec",
         "OverflowError": "codec", "error": "codec", "Unavailable": "unavailable", "ReadTimeout": "server_timeout",
         "WriteTimeout": "server_timeout", "Unauthorized": "unauthorized", "AlreadyExists": "already_exists",
         "InvalidRequest": "invalid", "SyntaxException": "syntax"}

def option(name, values, default, about, tried=None):
    told = {"name": name, "values": values, "default": default, "about": about}
    return told | ({"tried": tried} if tried else {})

ROUTING = option("routing", "token-aware|round-robin", "token-aware", "Sends each statement to a replica of its row, or to each node in turn.")
TIMESTAMPS = option("timestamps", "server|client", "server", "Leaves the time of a write to the server, or sends one with every statement.")

def nodes(job):
    """The addresses and ports that are given."""
    pairs = (node.rsplit(":", 1) for node in job["target"])
    return [(host.strip("[]"), int(port)) for host, port in pairs]

def found(noop):
    """The driver that is installed, or one that sends nothing in its place."""
    for package, (module, word) in PACKAGES.items():
        try:
            version = importlib.metadata.version(package)
        except importlib.metadata.PackageNotFoundError:
            continue
        driver = importlib.import_module(module).Driver(package, version + word)
        return Noop(driver) if noop else driver
    raise Failure("describe", f"None of {', '.join(PACKAGES)} is installed beside this worker; build it with `native`.")

class Driver:
    """A package. One with tasks is awaited; the others have callbacks, and their coroutines wait for nothing."""
    has_tasks = True
    capabilities = ["request_timeout", "paging", "reprepare", "reconnect", "control_connection", "notices_close", "closes_sessions",
                    "credentials", "tls", "batch", "unprepared", "prepare", "connect"]
    caveats, options, lacks_types, kinds = [], [], [], {}
    def __init__(self, package, version):
        self.package, self.version, self.title = package, version, f"{package} {version.partition('-')[0]}"
    def libraries(self):
        return [{"name": self.package, "version": importlib.metadata.version(self.package)},
                {"name": "python", "version": platform.python_version()}]
    def settings(self, job):
        """The settings that are not the equal ones."""
        return {}
    def begin(self, job):
        """What must be done before the package is imported."""
    def scalars(self):
        """The functions from bytes to values of the types that the package binds and decodes."""
        return SCALARS
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
        kinds, names = KINDS | self.kinds, [one.__name__ for one in type(error).__mro__]
        return next((kinds[name] for name in names if name in kinds), "other"), f"{type(error).__name__}: {error}"

class Noop(Driver):
    """Sends nothing: the rows that are due come back through the event loop at once."""
    capabilities = [*Driver.capabilities, "offline"]
    caveats = ["It sends nothing: its figure is what the worker itself costs, with a task and a callback of asyncio for each statement."]
    def __init__(self, of):
        super().__init__(of.package, of.version)
        self.scalars, self.unset, self.lacks_types = of.scalars, of.unset, of.lacks_types
    async def connect(self, job):
        return self
    async def prepare(self, cql):
        return cql
    async def close(self):
        pass
    def execute(self, *_):
        async def execute(values, due):
            future = self.loop.create_future()
            self.loop.call_soon(future.set_result, due)
            return await future
        return execute
    execute_batch = execute_unprepared = execute
