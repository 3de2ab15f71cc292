"""The package scylladb-rs-driver, imported as `scylla`: ScyllaDB's driver in Rust for asyncio."""
import importlib, ipaddress, os, time

import drivers
from drivers import ROUTING, TIMESTAMPS, option
from tape import SCALARS

POOL_FILLS_WITHIN_S = 0.25

class Driver(drivers.Driver):
    has_classes = False
    capabilities = [one for one in drivers.Driver.capabilities if one != "closes_sessions"]
    lacks_types = ["duration", "time", "udt"]
    scalars = SCALARS | {"inet": ipaddress.ip_address}
    caveats = [
        "It is the crate scylla with a layer for Python: the driver scylla shows what the crate alone costs.",
        "Its slots are tasks of asyncio; beside them are threads of tokio, as many as the runtime asks for and some of its own.",
        "A row is a dictionary, of which the worker compares the values.",
        "It binds no `duration`, takes a user-defined type by names alone, and rounds a `time` to microseconds.",
        "It has no call that closes a session: one ends when nothing refers to it.",
    ]
    options = [option("coalescing", "on|off", "on", "Whether it waits a little for further requests before it writes.", "off"), ROUTING, TIMESTAMPS]
    def begin(self, job):
        os.environ["TOKIO_WORKER_THREADS"] = str(job["runtime"].get("workers", 1))
        self.unset = importlib.import_module("scylla.types").Unset
    def settings(self, job):
        own = {"runtime": f"one thread of Python, and {os.environ.get('TOKIO_WORKER_THREADS', 'some')} of tokio"}
        return own if job["settings"] == "equal" else own | {
            "consistency": "LOCAL_QUORUM", "serial consistency": "LOCAL_SERIAL", "retries": "DefaultRetryPolicy", "connections": "1 per shard",
            "request timeout": "30 s"}
    async def connect(self, job):
        from scylla import enums, execution_profile, session_builder, tls
        from scylla.policies import load_balancing, retry_policy, timestamp_generator
        options, equal, limit, profile = job["options"], job["settings"] == "equal", job.get("request_timeout_ms"), {}
        builder = session_builder.SessionBuilder().contact_points(job["target"])
        if "credentials" in job:
            builder = builder.user(job["credentials"]["user"], job["credentials"]["password"])
        if "tls" in job:
            context = tls.TlsContext()
            if "ca" in job["tls"]:
                context.load_verify_locations(cafile=job["tls"]["ca"])
            else:
                context.verify_mode = tls.VerifyMode.CERT_NONE
            if client := job["tls"].get("client"):
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
            builder = builder.pool_size(enums.PoolSize.per_host(job["connections"]))
            profile |= {"timeout": limit and limit / 1000, "serial_consistency": None, "retry_policy": retry_policy.FallthroughRetryPolicy(),
                        "consistency": getattr(enums.Consistency, job["consistency"].title().replace("_", ""))}
        session = await builder.execution_profile(execution_profile.ExecutionProfile(**profile)).connect()
        return Session(session, job["page_size"] if equal else None, job["connections"])

class Session:
    def __init__(self, session, page_size, connections):
        self.session, self.page_size, self.connections = session, page_size, connections
    def settle(self):
        """Waits for the connections that the driver opens after the first one, without telling."""
        time.sleep(POOL_FILLS_WITHIN_S if self.connections > 1 else 0)
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
        return self.execute(self.paged(importlib.import_module("scylla.statement").Statement(cql)))
    def execute_batch(self, prepared, logged):
        from scylla.batch import Batch, BatchType
        async def execute(rows, _):
            batch = Batch(BatchType.Logged if logged else BatchType.Unlogged)
            for values in rows:
                batch.add(prepared, values)
            return await self.rows(await self.session.batch(batch))
        return execute
