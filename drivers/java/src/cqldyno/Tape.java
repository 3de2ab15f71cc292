package cqldyno;

import com.datastax.oss.driver.api.core.DefaultProtocolVersion;
import com.datastax.oss.driver.api.core.type.codec.TypeCodec;
import java.io.*;
import java.nio.ByteBuffer;
import java.util.*;
import java.util.stream.*;

/** The file of what is issued and what must come back. It is read and decoded one turn at a time. */
final class Tape {
  /** The value of a marker that is not set. */
  static final Object NOT_SET = new Object();

  /** A statement to issue: its values, of a batch row after row, and what must come back. */
  record Ticket(Statement statement, Object[] values, Answer due) {}

  /** The rows that are due, cell after cell; if they have no order, how often each is due. */
  record Answer(int check, int rows, int columns, Object[] cells, Map<List<Object>, Long> bag) {
    static final int IN_ORDER = 0, IN_ANY_ORDER = 1;
    static final Answer NONE = new Answer(IN_ORDER, 0, 0, new Object[0], null);
  }

  private static final String MAGIC = "CQLTAPE1";
  private final DataInputStream in;
  private final ByteBuffer pool;
  private final List<Statement> statements;
  private final List<ByteBuffer> pooled = new ArrayList<>();
  private final Map<List<Integer>, Answer> answers = new HashMap<>();

  Tape(String path, List<Statement> statements) {
    this.statements = statements;
    try {
      in = new DataInputStream(new BufferedInputStream(new FileInputStream(path), 1 << 20));
      String magic = new String(in.readNBytes(MAGIC.length()), "ISO-8859-1");
      if (!magic.equals(MAGIC)) throw wrong("begins with \"" + magic + "\", and " + MAGIC + " was expected");
      pool = body();
    } catch (IOException error) {
      throw wrong("cannot be read: " + error);
    }
  }

  private static Failure wrong(String what) {
    return new Failure("job", "The tape of the job " + what + "; run a cqldyno of this worker's version.");
  }

  private ByteBuffer body() throws IOException {
    byte[] body = new byte[in.readInt()];
    in.readFully(body);
    return ByteBuffer.wrap(body);
  }

  /** The next tickets. */
  Ticket[] read(int count) {
    Ticket[] tickets = new Ticket[count];
    try {
      for (int nth = 0; nth < count; ) {
        ByteBuffer record = body();
        if (record.get() == 0) pooled.add(record);
        else tickets[nth++] = ticket(record);
      }
    } catch (EOFException end) {
      throw wrong("ends before the last of " + count + " tickets of a turn");
    } catch (IOException | RuntimeException error) {
      throw error instanceof Failure failure ? failure : wrong("cannot be decoded: " + error);
    }
    return tickets;
  }

  private Ticket ticket(ByteBuffer record) {
    int index = Short.toUnsignedInt(record.getShort());
    if (index >= statements.size()) throw wrong("names the statement " + index + " of " + statements.size());
    Statement statement = statements.get(index);
    Object[] values = cells(record, record.getInt(), statement.values);
    return new Ticket(statement, values, switch (record.get()) {
      case 0 -> Answer.NONE;
      case 1 -> answer(record, statement);
      default -> pooled(record.getInt(), index);
    });
  }

  private Answer pooled(int nth, int statement) {
    if (nth < 0 || nth >= pooled.size()) throw wrong("names the answer " + nth + ", and " + pooled.size() + " came before it");
    return answers.computeIfAbsent(List.of(nth, statement), key -> answer(pooled.get(nth).duplicate(), statements.get(statement)));
  }

  private Answer answer(ByteBuffer record, Statement statement) {
    int check = record.get(), rows = record.getInt(), columns = record.getInt(), due = statement.columns.size();
    if (columns > 0 && columns != due) throw wrong("has answers of " + columns + " columns for " + statement.name + ", which has " + due);
    Object[] cells = cells(record, rows * columns, statement.columns);
    return new Answer(check, rows, columns, cells, check != Answer.IN_ANY_ORDER ? null : IntStream.range(0, rows)
        .mapToObj(row -> Arrays.asList(cells).subList(row * columns, (row + 1) * columns)).collect(Collectors.groupingBy(row -> row, Collectors.counting())));
  }

  private Object[] cells(ByteBuffer record, int count, List<TypeCodec<Object>> codecs) {
    Object[] cells = new Object[count];
    for (int cell = 0; cell < count; cell++) {
      int length = record.getInt();
      if (length == -2) cells[cell] = NOT_SET;
      if (length == -3) cells[cell] = codecs.get(cell % codecs.size()).decode(pool.slice(record.getInt(), record.getInt()), DefaultProtocolVersion.V4);
      if (length < 0) continue;
      cells[cell] = codecs.get(cell % codecs.size()).decode(record.slice(record.position(), length), DefaultProtocolVersion.V4);
      record.position(record.position() + length);
    }
    return cells;
  }
}
