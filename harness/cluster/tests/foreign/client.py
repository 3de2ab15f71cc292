"""The Python driver at its defaults. Arguments: address and port of a node."""

import sys

from cassandra import ConsistencyLevel, Unavailable
from cassandra.cluster import Cluster, NoHostAvailable
from cassandra.query import SimpleStatement

ROWS = 250


def main(address, port):
    session = Cluster([address], port=port).connect()
    session.execute(
        "CREATE KEYSPACE python WITH replication = {'class': 'SimpleStrategy', 'replication_factor': 1}"
    )
    session.set_keyspace("python")
    session.execute("CREATE TABLE t (pk int PRIMARY KEY, v text, l list<int>)")
    insert = session.prepare("INSERT INTO t (pk, v, l) VALUES (?, ?, ?)")
    select = session.prepare("SELECT v, l FROM t WHERE pk = ?")
    for pk in range(ROWS):
        session.execute(insert, (pk, f"value {pk}", [pk, pk + 1]))
    for pk in range(ROWS):
        row = session.execute(select, (pk,)).one()
        assert (row.v, row.l) == (f"value {pk}", [pk, pk + 1]), row
    pages = session.execute(SimpleStatement("SELECT pk FROM t", fetch_size=100))
    assert len(pages.current_rows) == 100 and pages.has_more_pages
    assert {row.pk for row in pages} == set(range(ROWS))
    again = session.execute("INSERT INTO t (pk, v) VALUES (1, 'x') IF NOT EXISTS").one()
    assert (again.applied, again.v) == (False, "value 1"), again
    session.execute("UPDATE t USING TTL 100 SET v = 'y' WHERE pk = 1")
    assert 0 < session.execute("SELECT ttl(v) AS ttl FROM t WHERE pk = 1").one().ttl <= 100
    described = session.execute("DESCRIBE TABLE t").one().create_statement
    assert described.startswith("CREATE TABLE python.t (\n    pk int PRIMARY KEY,\n    v text,\n"), described
    assert set(session.cluster.metadata.keyspaces["python"].tables["t"].columns) == {"pk", "v", "l"}
    session.execute("CREATE KEYSPACE three WITH replication = {'class': 'SimpleStrategy', 'replication_factor': 3}")
    session.execute("CREATE TABLE three.t (pk int PRIMARY KEY)")
    try:
        session.execute(SimpleStatement("SELECT * FROM three.t", consistency_level=ConsistencyLevel.QUORUM))
        raise AssertionError("QUORUM of three replicas was served by one node")
    except NoHostAvailable as tried:
        # By default the driver tries the next node, and there is none.
        [refusal] = tried.errors.values()
        assert isinstance(refusal, Unavailable), refusal
        assert (refusal.required_replicas, refusal.alive_replicas) == (2, 1), refusal
    session.cluster.shutdown()


main(sys.argv[1], int(sys.argv[2]))
print("done")
