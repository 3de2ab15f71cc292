"""The package acsylla: libcassandra, the driver in C++, for asyncio."""
import importlib, ipaddress, pathlib, uuid

import drivers
from drivers import ROUTING, nodes, option
from tape import SCALARS

# Requests that its queue holds by default; a statement that finds it full fails.
REQUEST_QUEUE = 8192

class Driver(drivers.Driver):
    not_as_asked, most_in_flight = ["runtime", "timestamps"], {"default": REQUEST_QUEUE}
    lacks_types = ["varint", "vector", "duration", "time", "udt"]
    # As it returns them unless `native_types` is set.
    scalars = {name: of for name, of in SCALARS.items() if name != "varint"} | {"inet": lambda raw: str(ipaddress.ip_address(raw))} | \
        dict.fromkeys(("uuid", "timeuuid"), lambda raw: str(uuid.UUID(bytes=raw)))
    caveats = [
        "It is libcassandra with a layer in Cython: cassandra-cpp shows what the library alone costs.",
        "Its slots are tasks of asyncio; libcassandra has I/O threads of its own.",
        "It sends a timestamp with every statement: it refuses the generator `server_side`, which it documents.",
        "It has no `varint` and no `vector`, gives a `duration` as text and a user-defined type by names, and rounds a `time` to microseconds.",
    ]
    options = [
        option("io-threads", "COUNT", "1", "I/O threads of libcassandra; each opens its own connections.", "2"),
        option("coalescing", "MICROSECONDS", "200", "How long an I/O thread waits for further requests before it writes.", "50"), ROUTING,
    ]
    def threads(self, job):
        """I/O threads, and the connections that each of them opens to a node."""
        return int(job["options"].get("io-threads", 1)), job["connections"] if job["settings"] == "equal" else 1
    def told(self, job):
        threads, each = self.threads(job)
        return {"connections": threads * each} if threads > 1 else {}
    def settings(self, job):
        threads, each = self.threads(job)
        own = {"timestamps": "client", "runtime": f"one thread of Python, and {threads} of libcassandra"}
        if job["settings"] == "default":
            own |= {"consistency": "LOCAL_ONE", "retries": "libcassandra's", "page size": "none", "request timeout": "12 s"}
        return own | ({"connections": f"{threads * each} per node: {each} for each of {threads} I/O threads"} if threads > 1 else {})
    async def connect(self, job):
        acsylla, options, read = importlib.import_module("acsylla"), job["options"], lambda path: pathlib.Path(path).read_text()
        asked = nodes(job) | {"token_aware_routing": options.get("routing") != "round-robin"}
        names = {"io-threads": "num_threads_io", "coalescing": "coalesce_delay_us"}
        asked |= {names[name]: int(value) for name, value in options.items() if name in names}
        if "credentials" in job:
            asked |= {"username": job["credentials"]["user"], "password": job["credentials"]["password"]}
        if tls := job.get("tls"):
            asked |= {"ssl_enabled": True, "ssl_verify_flags": acsylla.SSLVerifyFlags.NONE}
            if "ca" in tls:
                asked |= {"ssl_trusted_cert": read(tls["ca"]), "ssl_verify_flags": acsylla.SSLVerifyFlags.PEER_IDENTITY}
            if client := tls.get("client"):
                asked |= {"ssl_cert": read(client["certificate"]), "ssl_private_key": read(client["key"])}
        if "datacenter" in job:
            asked["load_balance_dc_aware"] = job["datacenter"]
        if job["settings"] == "equal":
            asked |= {"protocol_version": 4, "consistency": acsylla.Consistency[job["consistency"]], "retry_policy": "fallthrough",
                      "core_connections_per_host": job["connections"], "request_timeout": job.get("request_timeout_ms", 0) / 1000,
                      "queue_size_io": max(REQUEST_QUEUE, 2 * job["concurrency"])}
        session = await acsylla.create_cluster(**asked).create_session()
        return Session(acsylla, session, job["page_size"] if job["settings"] == "equal" else None)

class Session:
    def __init__(self, acsylla, session, page_size):
        self.acsylla, self.session, self.page_size = acsylla, session, page_size
        self.prepare, self.close = session.create_prepared, session.close
    async def rows(self, statement):
        result = await self.session.execute(statement)
        rows = [row.as_tuple() for row in result]
        while result.has_more_pages():
            statement.set_page_state(result.page_state())
            result = await self.session.execute(statement)
            rows += [row.as_tuple() for row in result]
        return rows
    def execute(self, prepared):
        return lambda values, _: self.rows(prepared.bind(values, page_size=self.page_size))
    def execute_unprepared(self, cql, kinds):
        types = [self.acsylla.ValueType[{"smallint": "SMALL_INT", "tinyint": "TINY_INT"}.get(kind, kind.upper())] for kind in kinds]
        return lambda values, _: self.rows(self.session.query(cql, values, types, self.page_size))
    def execute_batch(self, prepared, logged):
        async def execute(rows, _):
            batch = self.acsylla.create_batch_logged() if logged else self.acsylla.create_batch_unlogged()
            for values in rows:
                batch.add_statement(prepared.bind(values))
            return [row.as_tuple() for row in await self.session.execute_batch(batch)]
        return execute
