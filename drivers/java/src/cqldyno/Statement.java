package cqldyno;

import com.datastax.oss.driver.api.core.CqlIdentifier;
import com.datastax.oss.driver.api.core.cql.*;
import com.datastax.oss.driver.api.core.detach.AttachmentPoint;
import com.datastax.oss.driver.api.core.type.DataType;
import com.datastax.oss.driver.api.core.type.codec.TypeCodec;
import com.datastax.oss.driver.api.core.type.codec.registry.CodecRegistry;
import com.datastax.oss.driver.internal.core.metadata.schema.parsing.DataTypeCqlNameParser;
import com.fasterxml.jackson.databind.JsonNode;
import java.util.*;
import java.util.stream.StreamSupport;

/** A statement of the scenario, with the driver's codecs of its markers and of the columns that come back. */
final class Statement {
  final String name, cql, operation;
  final boolean isLogged, isRead, isRepeatable;
  List<TypeCodec<Object>> values, columns;
  PreparedStatement prepared;

  /** The statement as the job and its tape tell it. */
  Statement(JsonNode told, JsonNode types) {
    name = told.path("name").asText();
    cql = told.path("cql").asText();
    operation = told.path("operation").asText("execute");
    isLogged = told.path("logged").asBoolean();
    String text = cql.trim().toUpperCase(Locale.ROOT);
    isRead = operation.equals("prepare") || text.startsWith("SELECT");
    isRepeatable = isRead || text.startsWith("INSERT") && !text.contains(" IF ");
    values = codecs(types.path("values"));
    columns = codecs(types.path("columns"));
  }

  /** Takes the types that the server tells, which has the names of user-defined ones. It tells no columns of a conditional write. */
  void prepared(PreparedStatement prepared) {
    this.prepared = prepared;
    values = codecs(prepared.getVariableDefinitions());
    ColumnDefinitions told = prepared.getResultSetDefinitions();
    columns = told.size() == columns.size() ? codecs(told) : columns;
  }

  BoundStatement bound(PreparedStatement prepared, Object[] cells, int first) {
    BoundStatementBuilder bound = prepared.boundStatementBuilder();
    for (int marker = 0; marker < values.size(); marker++) {
      Object value = cells[first + marker];
      if (value == null) bound.setToNull(marker);
      else if (value != Tape.NOT_SET) bound.set(marker, value, values.get(marker));
    }
    return bound.build();
  }

  BatchStatement batch(Object[] cells) {
    BatchStatementBuilder batch = BatchStatement.builder(isLogged ? DefaultBatchType.LOGGED : DefaultBatchType.UNLOGGED);
    for (int first = 0; first < cells.length; first += values.size()) {
      batch.addStatement(bound(prepared, cells, first));
    }
    return batch.build();
  }

  private static List<TypeCodec<Object>> codecs(ColumnDefinitions columns) {
    return StreamSupport.stream(columns.spliterator(), false).map(column -> CodecRegistry.DEFAULT.codecFor(column.getType())).toList();
  }

  private static List<TypeCodec<Object>> codecs(JsonNode texts) {
    return StreamSupport.stream(texts.spliterator(), false).map(text -> CodecRegistry.DEFAULT.codecFor(type(text.asText()))).toList();
  }

  /** The type with this name. A user-defined one has the form of a tuple, and what is always null any type. */
  private static DataType type(String text) {
    CqlIdentifier keyspace = CqlIdentifier.fromCql("cqldyno");
    try {
      DataType type = new DataTypeCqlNameParser().parse(keyspace, text.equals("null") ? "text" : text.replace("udt<", "tuple<"), Map.of(), null);
      type.attach(AttachmentPoint.NONE);
      return type;
    } catch (RuntimeException error) {
      throw new Failure("job", "The tape has the type " + text + ", which the Java driver does not know; leave out this scenario.");
    }
  }
}
