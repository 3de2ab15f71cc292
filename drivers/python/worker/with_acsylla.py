"""The package acsylla: libcassandra, the driver in C++, for asyncio."""
import datetime, importlib, ipaddress, uuid

import drivers
from drivers import ROUTING, nodes, option
from tape import SCALARS, integer

EPOCH = datetime.datetime(1970, 1, 1, tzinfo=datetime.timezone.utc)
# As it returns them without `native_types`.
OWN = {"timestamp": lambda raw: EPOCH + datetime.timedelta(milliseconds=integer(raw)), "inet": lambda raw: str(ipaddress.ip_address(raw)),
       "date": lambda raw: EPOCH.date() + datetime.timedelta(days=int.from_bytes(raw, "big") - 2**31),
       "uuid": lambda raw: str(uuid.UUID(bytes=raw)), "timeuuid": lambda raw: str(uuid.UUID(bytes=raw))}

def read(path):
    with open(path) as file:
        return file.read()

class Driver(drivers.Driver):
    lacks_types = ["varint", "vector", "duration", "time", "udt"]
    caveats = [
        "It is libcassandra with a layer in Cython: cassandra-cpp shows what the library alone costs.",
        "Its slots are tasks of asyncio. libcassandra has I/O threads of its own, which wait up to 200 us for further requests before they write.",
        "It sends a timestamp of the client with every statement: it refuses the generator `server_side` that it documents.",
        "It has no `varint` and no `vector`, gives a `duration` as text and a user-defined type by names, and rounds a `time` to microseconds.",
    ]
    options = [
        option("io-threads", "COUNT", "1", "I/O threads of libcassandra; each opens its own connections.", "2"),
        option("coalescing", "MICROSECONDS", "200", "How long an I/O thread waits for further requests before it writes.", "50"), ROUTING,
    ]
    kinds = {"CassErrorServer" + name: kind for name, kind in {
        "BadCredentials": "bad_credentials", "ProtocolError": "protocol", "Unavailable": "unavailable", "Overloaded": "overloaded",
        "IsBootstrapping": "bootstrapping", "WriteTimeout": "server_timeout", "ReadTimeout": "server_timeout", "SyntaxError": "syntax",
        "Unauthorized": "unauthorized", "InvalidQuery": "invalid", "AlreadyExists": "already_exists", "Unprepared": "unprepared"}.items()} | {
        "CassErrorSourceServer": "server", "CassErrorLibRequestTimedOut": "request_timeout", "CassErrorLibRequestQueueFull": "queue_full",
        "CassErrorLibNoStreams": "queue_full", "CassErrorLibNoHostsAvailable": "connection_lost", "CassErrorLibWriteError": "connection_lost",
        "CassErrorLibUnableToConnect": "connection_lost", "CassErrorLibUnexpectedResponse": "protocol", "CassErrorSourceSsl": "connect"}
    def scalars(self):
        return {name: of for name, of in (SCALARS | OWN).items() if name not in self.lacks_types}
    def settings(self, job):
        threads, own = int(job["options"].get("io-threads", 1)), {"timestamps": "client"}
        own["runtime"] = f"one thread of Python, and {threads} of libcassandra"
        if job["settings"] == "default":
            own |= {"consistency": "LOCAL_ONE", "retries": "libcassandra's", "page size": "none", "request timeout": "12 s"}
        if threads > 1:
            own["connections"] = f"{threads * job['connections']} per node: {job['connections']} for each of {threads} I/O threads"
        return own | {name: job["options"][name] for name in ("routing",) if name in job["options"]}
    async def connect(self, job):
        acsylla, options, equal = importlib.import_module("acsylla"), job["options"], job["settings"] == "equal"
        asked = {"contact_points": [host for host, _ in nodes(job)], "port": nodes(job)[0][1]}
        if "credentials" in job:
            asked |= {"username": job["credentials"]["user"], "password": job["credentials"]["password"]}
        if tls := job.get("tls"):
            asked |= {"ssl_enabled": True, "ssl_verify_flags": acsylla.SSLVerifyFlags.NONE}
            if "ca" in tls:
                asked |= {"ssl_trusted_cert": read(tls["ca"]), "ssl_verify_flags": acsylla.SSLVerifyFlags.PEER_IDENTITY}
            if client := tls.get("client"):
                asked |= {"ssl_cert": read(client["certificate"]), "ssl_private_key": read(client["key"])}
        if equal:
            asked |= {"protocol_version": 4, "consistency": acsylla.Consistency[job["consistency"]], "retry_policy": "fallthrough",
                      "core_connections_per_host": job["connections"], "request_timeout": job.get("request_timeout_ms", 0) / 1000,
                      "queue_size_io": max(8192, 2 * job["concurrency"])}
        if "datacenter" in job:
            asked["load_balance_dc_aware"] = job["datacenter"]
        names = {"io-threads": "num_threads_io", "coalescing": "coalesce_delay_us"}
        asked |= {names[name]: int(value) for name, value in options.items() if name in names}
        asked["token_aware_routing"] = options.get("routing") != "round-robin"
        session = await acsylla.create_cluster(**asked).create_session()
        return Session(acsylla, session, job["page_size"] if equal else None)

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
