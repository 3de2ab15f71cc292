"""The package scylladb-rs-driver, imported as `scylla`: ScyllaDB's driver in Rust for asyncio."""
import datetime, importlib, ipaddress, os

import drivers
from drivers import ROUTING, TIMESTAMPS, option
from tape import SCALARS, integer

EPOCH = datetime.datetime(1970, 1, 1, tzinfo=datetime.timezone.utc)
OWN = {"timestamp": lambda raw: EPOCH + datetime.timedelta(milliseconds=integer(raw)), "inet": ipaddress.ip_address,
       "date": lambda raw: EPOCH.date() + datetime.timedelta(days=int.from_bytes(raw, "big") - 2**31)}
# Its classes of errors are those of calls, so the kind comes from the texts of the crate.
PHRASES = {
    "exceeded a client timeout": "request_timeout", "Authentication failed": "bad_credentials", "has a syntax error": "syntax",
    "syntactically correct but invalid": "invalid", "that was already existing": "already_exists", "doesn't have the right": "unauthorized",
    "Not enough nodes are alive": "unavailable", "node is overloaded": "overloaded", "still bootstrapping": "bootstrapping",
    "Not enough nodes responded": "server_timeout", "statement that is not prepared": "unprepared", "Invalid protocol message": "protocol",
    "Database returned an error": "server", "Unable to allocate stream id": "queue_full", "serializ": "codec", "onnection": "connection_lost",
}

class Driver(drivers.Driver):
    capabilities = [one for one in drivers.Driver.capabilities if one != "closes_sessions"]
    lacks_types = ["duration", "time", "udt"]
    caveats = [
        "It is the crate scylla with a layer in Rust for Python: the driver scylla shows what the crate alone costs.",
        "Its slots are tasks of asyncio; beside them are threads of tokio, as many as the runtime asks for and some of its own.",
        "A row is a dictionary, whose values the worker compares.",
        "It binds no `duration`, a user-defined type by names alone, and rounds a `time` to microseconds.",
        "It has no call that closes a session, which ends when nothing refers to it.",
    ]
    options = [option("coalescing", "on|off", "on", "Whether it waits a little for further requests before it writes.", "off"), ROUTING, TIMESTAMPS]
    def kind_of(self, error):
        kind, message = super().kind_of(error)
        return next((kind for phrase, kind in PHRASES.items() if phrase in message), kind), message
    def begin(self, job):
        os.environ["TOKIO_WORKER_THREADS"] = str(job["runtime"].get("workers", 1))
    def scalars(self):
        return {name: of for name, of in (SCALARS | OWN).items() if name not in self.lacks_types}
    def unset(self):
        return importlib.import_module("scylla.types").Unset
    def settings(self, job):
        own = {"runtime": f"one thread of Python, and {os.environ.get('TOKIO_WORKER_THREADS', 'as many as cores')} of tokio"}
        if job["settings"] == "default":
            own |= {"consistency": "LOCAL_QUORUM", "serial consistency": "LOCAL_SERIAL", "retries": "DefaultRetryPolicy",
                    "connections": "1 per shard", "request timeout": "30 s"}
        return own | {name: job["options"][name] for name in ("routing", "timestamps") if name in job["options"]}
    async def connect(self, job):
        from scylla import enums, execution_profile, session_builder, tls
        from scylla.policies import load_balancing, retry_policy, timestamp_generator
        options, equal = job["options"], job["settings"] == "equal"
        builder, profile = session_builder.SessionBuilder().contact_points(job["target"]), {}
        if "credentials" in job:
            builder = builder.user(job["credentials"]["user"], job["credentials"]["password"])
        if "tls" in job:
            context, client = tls.TlsContext(), job["tls"].get("client")
            if "ca" in job["tls"]:
                context.load_verify_locations(cafile=job["tls"]["ca"])
            else:
                context.verify_mode = tls.VerifyMode.CERT_NONE
            if client:
                context.load_cert_chain(client["certificate"], client["key"])
            builder = builder.tls_context(context)
        if options.get("coalescing") == "off":
            builder = builder.write_coalescing(None)
        if options.get("timestamps") == "client":
            builder = builder.timestamp_generator(timestamp_generator.MonotonicTimestampGenerator())
        if "datacenter" in job or "routing" in options:
            near = load_balancing.NodeLocationPreference.datacenter(job["datacenter"]) if "datacenter" in job else None
            aware = options.get("routing") != "round-robin"
            profile["load_balancing_policy"] = load_balancing.DefaultPolicy(node_location_preference=near, token_aware=aware)
        if equal:
            builder, limit = builder.pool_size(enums.PoolSize.per_host(job["connections"])), job.get("request_timeout_ms")
            profile |= {"timeout": limit and limit / 1000, "serial_consistency": None, "retry_policy": retry_policy.FallthroughRetryPolicy(),
                        "consistency": getattr(enums.Consistency, job["consistency"].title().replace("_", ""))}
        session = await builder.execution_profile(execution_profile.ExecutionProfile(**profile)).connect()
        return Session(session, job["page_size"] if equal else None)

class Session:
    def __init__(self, session, page_size):
        self.session, self.page_size = session, page_size
    def paged(self, statement):
        return statement.with_page_size(self.page_size) if self.page_size else statement
    async def prepare(self, cql):
        return self.paged(await self.session.prepare(cql))
    async def close(self):
        self.session = None
    async def rows(self, result):
        rows = []
        while result is not None:
            rows += [tuple(row.values()) for row in result.iter_current_page()]
            result = await result.fetch_next_page() if result.has_more_pages() else None
        return rows
    def execute(self, statement):
        async def execute(values, _):
            return await self.rows(await self.session.execute(statement, values))
        return execute
    def execute_unprepared(self, cql, _):
        from scylla.statement import Statement
        return self.execute(self.paged(Statement(cql)))
    def execute_batch(self, prepared, logged):
        from scylla.batch import Batch, BatchType
        async def execute(rows, _):
            batch = Batch(BatchType.Logged if logged else BatchType.Unlogged)
            for values in rows:
                batch.add(prepared, values)
            return await self.rows(await self.session.batch(batch))
        return execute
