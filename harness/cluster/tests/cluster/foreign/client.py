"""The Python driver at its defaults. Arguments: address and port of a node."""

import sys
from collections import namedtuple

from cassandra import ConsistencyLevel, Unavailable
from cassandra.cluster import Cluster, NoHostAvailable
from cassandra.query import BatchStatement, BatchType, SimpleStatement

ROWS = 250


def counters_types_and_alterations(session):
    session.execute("CREATE TABLE counts (pk int PRIMARY KEY, c counter)")
    add = session.prepare("UPDATE counts SET c = c + ? WHERE pk = ?")
    batch = BatchStatement(BatchType.COUNTER)
    for more in (1, 2, 3):
        session.execute(add, (more, 1))
        batch.add(add, (10 * more, 1))
    session.execute(batch)
    assert session.execute("SELECT c FROM counts WHERE pk = 1").one().c == 66
    session.execute("CREATE TYPE place (x int, name text)")
    session.execute("CREATE TABLE places (pk int PRIMARY KEY, u place, l list<frozen<place>>)")
    Place = namedtuple("Place", "x name more", defaults=[None])
    session.cluster.register_user_type("python", "place", Place)
    insert = session.prepare("INSERT INTO places (pk, u, l) VALUES (?, ?, ?)")
    session.execute(insert, (1, Place(1, "one"), [Place(2, "two")]))
    select = session.prepare("SELECT * FROM places WHERE pk = 1")
    row = session.execute(select).one()
    assert (row.u, row.l) == (Place(1, "one"), [Place(2, "two")]), row
    session.execute("ALTER TYPE place ADD more int")
    assert session.cluster.metadata.keyspaces["python"].user_types["place"].field_names == ["x", "name", "more"]
    session.execute("ALTER TABLE places ADD v int")
    session.execute("UPDATE places SET u.more = 3, v = 4 WHERE pk = 1")
    # The driver prepares it again by itself.
    assert session.execute(select).one().v == 4
    assert set(session.cluster.metadata.keyspaces["python"].tables["places"].columns) == {"pk", "u", "l", "v"}


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
    counters_types_and_alterations(session)
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
