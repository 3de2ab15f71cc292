import com.datastax.oss.driver.api.core.CqlSession;
import com.datastax.oss.driver.api.core.cql.BatchStatement;
import com.datastax.oss.driver.api.core.cql.DefaultBatchType;
import com.datastax.oss.driver.api.core.cql.PreparedStatement;
import com.datastax.oss.driver.api.core.cql.ResultSet;
import com.datastax.oss.driver.api.core.cql.Row;
import com.datastax.oss.driver.api.core.cql.SimpleStatement;
import com.datastax.oss.driver.api.core.data.UdtValue;
import com.datastax.oss.driver.api.core.type.UserDefinedType;
import java.net.InetSocketAddress;
import java.util.HashSet;
import java.util.List;
import java.util.Set;

/** The Java driver at its defaults. Arguments: address and port of a node. */
class Client {
  static final int ROWS = 250;

  public static void main(String[] arguments) {
    InetSocketAddress node = new InetSocketAddress(arguments[0], Integer.parseInt(arguments[1]));
    try (CqlSession session = CqlSession.builder().addContactPoint(node).withLocalDatacenter("datacenter1").build()) {
      run(session);
    }
    System.out.println("done");
  }

  static void run(CqlSession session) {
    session.execute("CREATE KEYSPACE java WITH replication = {'class': 'SimpleStrategy', 'replication_factor': 1}");
    session.execute("CREATE TABLE java.t (pk int PRIMARY KEY, v text, l list<int>)");
    PreparedStatement insert = session.prepare("INSERT INTO java.t (pk, v, l) VALUES (?, ?, ?)");
    PreparedStatement select = session.prepare("SELECT v, l FROM java.t WHERE pk = ?");
    for (int pk = 0; pk < ROWS; pk++) {
      session.execute(insert.bind(pk, "value " + pk, List.of(pk, pk + 1)));
    }
    for (int pk = 0; pk < ROWS; pk++) {
      Row row = session.execute(select.bind(pk)).one();
      check(row.getString("v").equals("value " + pk) && row.getList("l", Integer.class).equals(List.of(pk, pk + 1)), row);
    }
    ResultSet pages = session.execute(SimpleStatement.newInstance("SELECT pk FROM java.t").setPageSize(100));
    check(pages.getAvailableWithoutFetching() == 100 && !pages.isFullyFetched(), pages);
    Set<Integer> seen = new HashSet<>();
    pages.forEach(row -> seen.add(row.getInt("pk")));
    check(seen.size() == ROWS, seen.size());
    Row again = session.execute("INSERT INTO java.t (pk, v) VALUES (1, 'x') IF NOT EXISTS").one();
    check(!again.getBoolean("[applied]") && again.getString("v").equals("value 1"), again);
    session.execute("UPDATE java.t USING TTL 100 SET v = 'y' WHERE pk = 1");
    int left = session.execute("SELECT ttl(v) AS left FROM java.t WHERE pk = 1").one().getInt("left");
    check(left > 0 && left <= 100, left);
    String described = session.execute("DESCRIBE TABLE java.t").one().getString("create_statement");
    check(described.startsWith("CREATE TABLE java.t (\n    pk int PRIMARY KEY,\n    v text,\n"), described);
    check(session.getMetadata().getKeyspace("java").get().getTable("t").get().getColumns().size() == 3, "metadata");
    countersTypesAndAlterations(session);
  }

  static void countersTypesAndAlterations(CqlSession session) {
    session.execute("CREATE TABLE java.counts (pk int PRIMARY KEY, c counter)");
    PreparedStatement add = session.prepare("UPDATE java.counts SET c = c + ? WHERE pk = ?");
    session.execute(add.bind(5L, 1));
    session.execute(BatchStatement.newInstance(DefaultBatchType.COUNTER, add.bind(1L, 1), add.bind(2L, 1)));
    long count = session.execute("SELECT c FROM java.counts WHERE pk = 1").one().getLong("c");
    check(count == 8, count);
    session.execute("CREATE TYPE java.place (x int, name text)");
    session.execute("CREATE TABLE java.places (pk int PRIMARY KEY, u place, l list<frozen<place>>)");
    UserDefinedType place = session.getMetadata().getKeyspace("java").get().getUserDefinedType("place").get();
    PreparedStatement insert = session.prepare("INSERT INTO java.places (pk, u, l) VALUES (?, ?, ?)");
    session.execute(insert.bind(1, place.newValue(1, "one"), List.of(place.newValue(2, "two"))));
    PreparedStatement select = session.prepare("SELECT * FROM java.places WHERE pk = ?");
    Row row = session.execute(select.bind(1)).one();
    check(row.getUdtValue("u").getString("name").equals("one"), row);
    check(row.getList("l", UdtValue.class).get(0).getInt("x") == 2, row);
    session.execute("ALTER TYPE java.place ADD more int");
    session.execute("ALTER TABLE java.places ADD v int");
    session.execute("UPDATE java.places SET u.more = 3, v = 4 WHERE pk = 1");
    // In protocol version 4 the driver keeps the columns of a prepared statement.
    check(session.execute(select.bind(1)).one().getInt("pk") == 1, "a statement that was prepared before");
    Row altered = session.execute("SELECT * FROM java.places WHERE pk = 1").one();
    check(altered.getInt("v") == 4 && altered.getUdtValue("u").getInt("more") == 3, altered);
  }

  static void check(boolean holds, Object found) {
    if (!holds) {
      throw new IllegalStateException("not as expected: " + found);
    }
  }
}
