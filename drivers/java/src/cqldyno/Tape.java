package cqldyno;

import com.datastax.oss.driver.api.core.DefaultProtocolVersion;
import com.datastax.oss.driver.api.core.type.codec.TypeCodec;
import java.io.*;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.*;

/** The file of what is issued and what must come back. It is read and decoded one turn at a time. */
final class Tape {
  /** The value of a marker that is not set. */
  static final Object NOT_SET = new Object();

  /** A statement to issue: its values, of a batch row after row, and what must come back; null if no rows are due. */
  record Ticket(Statement statement, Object[] values, Answer due) {}

  /** The rows that are due, cell after cell. */
  record Answer(int check, int rows, int columns, Object[] cells) {
    static final int IN_ORDER = 0, IN_ANY_ORDER = 1;

    /** How often each row is due. */
    Map<List<Object>, Integer> bag() {
      Map<List<Object>, Integer> bag = new HashMap<>();
      for (int row = 0; row < rows; row++) {
        bag.merge(Arrays.asList(cells).subList(row * columns, (row + 1) * columns), 1, Integer::sum);
      }
      return bag;
    }
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
      String magic = new String(in.readNBytes(MAGIC.length()), StandardCharsets.UTF_8);
      if (!magic.equals(MAGIC)) {
        throw wrong("begins with \"" + magic + "\", and " + MAGIC + " was expected");
      }
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
        if (record.get() == 0) {
          pooled.add(record);
        } else {
          tickets[nth++] = ticket(record);
        }
      }
    } catch (EOFException end) {
      throw wrong("ends before the last of " + count + " tickets of a turn");
    } catch (IOException | RuntimeException error) {
      throw error instanceof Failure ? (Failure) error : wrong("cannot be decoded: " + error);
    }
    return tickets;
  }

  private Ticket ticket(ByteBuffer record) {
    int index = Short.toUnsignedInt(record.getShort());
    if (index >= statements.size()) {
      throw wrong("names the statement " + index + " of " + statements.size());
    }
    Statement statement = statements.get(index);
    Object[] values = cells(record, record.getInt(), statement.values);
    return new Ticket(statement, values, switch (record.get()) {
      case 0 -> null;
      case 1 -> answer(record, statement);
      default -> pooled(record.getInt(), index);
    });
  }

  private Answer pooled(int nth, int statement) {
    if (nth < 0 || nth >= pooled.size()) {
      throw wrong("names the answer " + nth + ", and " + pooled.size() + " came before it");
    }
    return answers.computeIfAbsent(List.of(nth, statement), key -> answer(pooled.get(nth).duplicate(), statements.get(statement)));
  }

  private Answer answer(ByteBuffer record, Statement statement) {
    int check = record.get(), rows = record.getInt(), columns = record.getInt();
    if (columns > 0 && columns != statement.columns.size()) {
      throw wrong("has answers of " + columns + " columns for " + statement.name + ", which has " + statement.columns.size());
    }
    return new Answer(check, rows, columns, cells(record, rows * columns, statement.columns));
  }

  private Object[] cells(ByteBuffer record, int count, List<TypeCodec<Object>> codecs) {
    Object[] cells = new Object[count];
    for (int cell = 0; cell < count; cell++) {
      int length = record.getInt();
      if (length == -2) {
        cells[cell] = NOT_SET;
      } else if (length != -1) {
        int begin = length == -3 ? record.getInt() : record.position();
        int size = length == -3 ? record.getInt() : length;
        ByteBuffer bytes = (length == -3 ? pool : record).slice(begin, size);
        record.position(length == -3 ? record.position() : begin + size);
        cells[cell] = codecs.get(cell % codecs.size()).decode(bytes, DefaultProtocolVersion.V4);
      }
    }
    return cells;
  }
}
