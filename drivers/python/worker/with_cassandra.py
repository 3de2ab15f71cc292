"""The packages cassandra-driver, and scylla-driver, which is its fork: both are imported as `cassandra`, and have callbacks."""
import importlib, itertools, ssl, sys, time
from importlib import machinery

import drivers
from drivers import ROUTING, TIMESTAMPS, nodes, option
from window import answer

EVENT_LOOPS = {"libev": "libevreactor.LibevConnection", "asyncore": "asyncorereactor.AsyncoreConnection",
               "asyncio": "asyncioreactor.AsyncioConnection"}
if sys.version_info >= (3, 12):
    del EVENT_LOOPS["asyncore"]
# Modules that are no translation of Python: without Cython these stay.
COMPILED = ("cassandra.io.libevwrapper", "cassandra.cmurmur3")
SETTLES_WITHIN_S = 5

class WithoutCython:
    """Finds the modules of the package in Python, although those that Cython compiled lie beside them."""
    @staticmethod
    def find_spec(name, path=None, target=None):
        if not name.startswith("cassandra.") or name in COMPILED:
            return None
        for folder in path:
            if spec := machinery.FileFinder(folder, (machinery.SourceFileLoader, machinery.SOURCE_SUFFIXES)).find_spec(name):
                return spec
        raise ModuleNotFoundError(f"{name} is compiled, and cython=off was asked for", name=name)

def secured(tls):
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    if "ca" in tls:
        context.load_verify_locations(tls["ca"])
    else:
        context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    if client := tls.get("client"):
        context.load_cert_chain(client["certificate"], client["key"])
    return context

class Driver(drivers.Driver):
    has_tasks = False
    capabilities = [one for one in drivers.Driver.capabilities if one != "unprepared"]
    caveats = [
        "It issues with `execute_async`; the callback of an answer issues the next statement of its slot, in the thread of the event loop.",
        "It opens one connection per node and session; for `connections=N` the worker takes N sessions of one cluster in turn.",
        "It has no QUERY with values, but writes them into the text; so unprepared statements are not possible.",
        "Its calls `prepare` and `connect` block: if a scenario issues them, each slot is a thread.",
    ]
    options = [
        option("event-loop", "|".join(EVENT_LOOPS), "libev", "Which event loop reads and writes.", "asyncio"),
        option("cython", "on|off", "on", "Takes the modules that Cython compiled, or the same ones in Python.", "off"),
        option("rows", "named-tuple|tuple", "named-tuple", "Makes each row a named tuple, or a plain one (tuple_factory).", "tuple"),
        option("protocol", "v4|v5", "v4", "The version of the protocol; v5 if the server knows it."), ROUTING, TIMESTAMPS,
    ]
    cluster = None
    def kind_of(self, error):
        inner = getattr(error, "errors", {})  # Of each host that was not available.
        return super().kind_of(next((one for one in inner.values() if isinstance(one, Exception)), error) if isinstance(inner, dict) else error)
    def begin(self, job):
        if job["options"].get("cython") == "off":
            sys.meta_path.insert(0, WithoutCython)
        from cassandra import cqltypes, query
        self.unset = query.UNSET_VALUE
        types = [one for one in vars(cqltypes).values() if getattr(one, "num_subtypes", None) == 0 and hasattr(one, "typename")]
        self.scalars = {of.typename: lambda raw, of=of: of.from_binary(raw, 4) for of in types}
    def settings(self, job):
        own = {"runtime": "one thread of Python at a time: the one that issues, or the driver's event loop"}
        if job["settings"] == "default":
            own |= {"protocol version": "the highest that the server knows", "consistency": "LOCAL_ONE", "retries": "RetryPolicy",
                    "connections": "1 per node", "page size": "5000", "request timeout": "10 s", "timestamps": "client"}
        elif job["connections"] > 1:
            own["connections"] = f"{job['connections']} per node, one for each session and shard"
        if self.cluster:
            compiled = not importlib.import_module("cassandra.protocol").__file__.endswith(".py")
            own |= {"event loop": self.cluster.connection_class.__name__, "cython": "on" if compiled else "off",
                    "protocol version": f"v{self.cluster.protocol_version}"}
        return own
    async def connect(self, job):
        cluster, equal = self.configured(job), job["settings"] == "equal"
        try:
            sessions, shards = [cluster.connect()], 1
            if equal:
                # ScyllaDB's fork opens a connection to each shard.
                shards = max(getattr(getattr(host, "sharding_info", None), "shards_count", 1) for host in cluster.metadata.all_hosts())
                sessions += [cluster.connect() for _ in range(job["connections"] // shards - 1)]
        except BaseException:
            cluster.shutdown()
            raise
        self.cluster = self.cluster or cluster
        for session in sessions:
            session.default_fetch_size = job["page_size"] if equal else session.default_fetch_size
            if equal or "timestamps" in job["options"]:
                session.use_client_timestamp = job["options"].get("timestamps") == "client"
        return Session(cluster, sessions, shards)
    def configured(self, job):
        from cassandra import ConsistencyLevel, auth, cluster, policies, query
        options, equal, limit, profile = job["options"], job["settings"] == "equal", job.get("request_timeout_ms"), {}
        asked = nodes(job)
        if "credentials" in job:
            asked["auth_provider"] = auth.PlainTextAuthProvider(job["credentials"]["user"], job["credentials"]["password"])
        if "tls" in job:
            asked["ssl_context"] = secured(job["tls"])
        if "event-loop" in options:
            module, name = EVENT_LOOPS[options["event-loop"]].split(".")
            asked["connection_class"] = getattr(importlib.import_module("cassandra.io." + module), name)
        if equal or "protocol" in options:
            asked["protocol_version"] = 5 if options.get("protocol") == "v5" else 4
        if equal or "routing" in options:
            in_turn = policies.DCAwareRoundRobinPolicy(job["datacenter"]) if "datacenter" in job else policies.RoundRobinPolicy()
            aware = options.get("routing") != "round-robin"
            profile["load_balancing_policy"] = policies.TokenAwarePolicy(in_turn) if aware else in_turn
        if options.get("rows") == "tuple":
            profile["row_factory"] = query.tuple_factory
        if equal:
            asked["compression"] = False
            profile |= {"consistency_level": ConsistencyLevel.name_to_value[job["consistency"]], "request_timeout": limit and limit / 1000,
                        "retry_policy": policies.FallthroughRetryPolicy()}
        if profile:
            asked["execution_profiles"] = {cluster.EXEC_PROFILE_DEFAULT: cluster.ExecutionProfile(**profile)}
        return cluster.Cluster(**asked)

class Session:
    """As many sessions of one cluster as each node is to have connections; statements take them in turn."""
    def __init__(self, cluster, sessions, shards):
        self.cluster, self.sessions, self.shards, turns = cluster, sessions, shards, itertools.cycle(sessions)
        self.next = turns.__next__ if len(sessions) > 1 else lambda: sessions[0]
    def settle(self):
        """Waits for the connections that the driver opens after the first one."""
        until, hosts = time.monotonic() + SETTLES_WITHIN_S, len(self.cluster.metadata.all_hosts())
        has_all = lambda pools: len(pools) >= hosts and all(pool["open_count"] >= self.shards for pool in pools.values())
        while time.monotonic() < until and not all(has_all(session.get_pool_state()) for session in self.sessions):
            time.sleep(0.001)
    async def prepare(self, cql):
        return self.next().prepare(cql)
    async def close(self):
        self.cluster.shutdown()
    async def rows(self, future):
        rows = await answer(future) or []
        while future.has_more_pages:
            future.start_fetching_next_page()
            rows = rows + (await answer() or [])
        return rows
    def execute(self, prepared):
        return lambda values, _: self.rows(self.next().execute_async(prepared, values))
    def execute_batch(self, prepared, logged):
        from cassandra.query import BatchStatement, BatchType
        def execute(rows, _):
            batch = BatchStatement(BatchType.LOGGED if logged else BatchType.UNLOGGED)
            for values in rows:
                batch.add(prepared, values)
            return self.rows(self.next().execute_async(batch))
        return execute
