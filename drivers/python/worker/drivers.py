"""What the four packages share: how one is found, described and asked."""
import asyncio, importlib, importlib.metadata, platform, re

from link import Failure
from tape import SCALARS
from window import blocking

# The module for each package, and the end of its versions.
PACKAGES = {"cassandra-driver": ("with_cassandra", ""), "scylla-driver": ("with_cassandra", "-scylladb"),
            "acsylla": ("with_acsylla", "-acsylla"), "scylladb-rs-driver": ("with_scylla", "-rs")}
# The kinds of errors by what distinguishes their classes, or texts if a package has no class for them.
KINDS = {
    "BadCredentials|AuthenticationFailed|Authentication failed": "bad_credentials", "Unavailable|nodes are alive": "unavailable",
    "RequestTimedOut|OperationTimedOut|TimeoutError|client timeout": "request_timeout", "WriteTimeout|ReadTimeout|nodes responded": "server_timeout",
    "Overloaded|is overloaded": "overloaded", "Bootstrapping|still bootstrapping": "bootstrapping", "AlreadyExists|already existing": "already_exists",
    "Syntax|syntax error": "syntax", "Unauthorized|have the right": "unauthorized", "Invalid(Query|Request)|but invalid": "invalid",
    "Unprepared|PreparedQueryNotFound|is not prepared": "unprepared", "QueueFull|NoStreams|Busy|NoConnectionsAvailable|stream id": "queue_full",
    "NoHost|UnableToConnect|LibWriteError|onnection": "connection_lost", "TypeError|ValueError|OverflowError|^error|[sS]erializ": "codec",
    "Protocol|UnexpectedResponse|protocol message": "protocol", "ErrorMessage|ServerServer|SourceServer|Database returned": "server",
}

def option(name, values, default, about, tried=None):
    return {"name": name, "values": values, "default": default, "about": about} | ({"tried": tried} if tried else {})

ROUTING = option("routing", "token-aware|round-robin", "token-aware", "Sends each statement to a replica of its row, or to each node in turn.")
TIMESTAMPS = option("timestamps", "server|client", "server", "Leaves the time of a write to the server, or sends one with every statement.")

def nodes(job):
    """The addresses that are given, and the port that they share."""
    pairs = [node.rsplit(":", 1) for node in job["target"]]
    return {"contact_points": [host.strip("[]") for host, _ in pairs], "port": int(pairs[0][1])}

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
    """A package, for asyncio if it has tasks and otherwise with callbacks. If it has no class for each kind of error, the text tells the kind."""
    has_tasks, has_classes, scalars, lacks_types, unset = True, True, SCALARS, [], None
    capabilities = ["request_timeout", "paging", "reprepare", "reconnect", "control_connection", "notices_close", "closes_sessions",
                    "credentials", "tls", "batch", "unprepared", "prepare", "connect"]
    # The settings that are not as the job asks: Python runs one thread at a time.
    caveats, options, not_as_asked, most_in_flight = [], [], ["runtime"], {}
    def __init__(self, package, version):
        self.package, self.version, self.title = package, version, f"{package} {version.partition('-')[0]}"
        self.libraries = [{"name": package, "version": importlib.metadata.version(package)}, {"name": "python", "version": platform.python_version()}]
    def settings(self, job):
        """The settings that are not the equal ones."""
        return {}
    def told(self, job):
        """What `ready` says besides."""
        return {}
    def begin(self, job):
        """Imports the package, and finds its codecs: `scalars`, and `unset`, which leaves a marker unset."""
    def runner(self):
        if not self.has_tasks:
            return blocking
        self.loop = asyncio.new_event_loop()
        asyncio.set_event_loop(self.loop)
        return self.loop.run_until_complete
    def kind_of(self, error):
        """The kind of an error in the words of the protocol, and its message."""
        message = f"{type(error).__name__}: {error}"
        texts = [one.__name__ for one in type(error).__mro__ if self.has_classes] + [message]
        return next((kind for text in texts for pattern, kind in KINDS.items() if re.search(pattern, text)), "other"), message

class Noop(Driver):
    """Sends nothing: the rows that are due come back through the event loop at once."""
    capabilities = [*Driver.capabilities, "offline"]
    caveats = ["It sends nothing: its figure is what the worker itself costs, with a task and a callback of asyncio for each statement."]
    def __init__(self, of):
        super().__init__(of.package, of.version)
        self.of, self.lacks_types = of, of.lacks_types
    def begin(self, job):
        self.of.begin(job)
        self.scalars, self.unset = self.of.scalars, self.of.unset
    async def connect(self, job): return self
    async def prepare(self, cql): return cql
    async def close(self): """There is nothing to close."""
    def execute(self, *_): return self.echo
    execute_batch = execute_unprepared = execute
    async def echo(self, values, due):
        future = self.loop.create_future()
        self.loop.call_soon(future.set_result, due)
        return await future
