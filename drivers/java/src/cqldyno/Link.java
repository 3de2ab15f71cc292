package cqldyno;

import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.databind.*;
import java.io.*;
import java.util.*;
import java.util.concurrent.LinkedBlockingQueue;

/** Both directions of the worker protocol. What libraries print goes to standard error. */
final class Link {
  static final ObjectMapper JSON = new ObjectMapper();
  private final OutputStream out = new FileOutputStream(FileDescriptor.out);
  private final LinkedBlockingQueue<JsonNode> inbox = new LinkedBlockingQueue<>();
  private String due = "job";
  private Run run;

  Link() {
    System.setOut(System.err);
    Thread reader = new Thread(this::read, "parent");
    reader.setDaemon(true);
    reader.start();
  }

  /** Writes a message, after which the parent may say the one that is due: "end" if that is `stop` alone, "" after the last message. */
  synchronized void say(String type, Map<String, ?> fields, String due) {
    this.due = due;
    Map<String, Object> message = new LinkedHashMap<>(Map.of("type", type));
    message.putAll(fields);
    try {
      out.write((JSON.writeValueAsString(message) + "\n").getBytes("UTF-8"));
    } catch (IOException error) {
      abandon("nobody reads what the worker says: " + error.getMessage());
    }
  }

  synchronized void progress(long issued) { say("progress", Map.of("issued", issued), due); }

  /** The message that is due. */
  JsonNode hear() throws InterruptedException { return inbox.take(); }

  /** Names the run that `stop` stops. */
  synchronized void watch(Run run) { this.run = run; }

  /** Says why the job cannot go on, and ends the process. */
  synchronized void fail(Throwable why) {
    why.printStackTrace();
    Failure failure = why instanceof Failure ? (Failure) why : new Failure("crash", "The worker or the driver failed with " + why + ".");
    say("failed", Map.of("kind", failure.kind, "message", failure.getMessage()), "");
    Runtime.getRuntime().halt(1);
  }

  private synchronized void abandon(String why) {
    if (due.isEmpty()) return;
    System.err.println("cqldyno worker: " + why);
    Runtime.getRuntime().halt(2);
  }

  private void read() {
    try {
      for (MappingIterator<JsonNode> said = JSON.readerFor(JsonNode.class).readValues(System.in); said.hasNextValue(); ) heard(said.nextValue());
      abandon("standard input was closed before the end; this program is started by cqldyno");
    } catch (JsonProcessingException error) {
      fail(new Failure("protocol", "A message of the worker protocol was expected: " + error.getMessage() + "."));
    } catch (IOException | RuntimeException error) {
      fail(error);
    }
  }

  private synchronized void heard(JsonNode message) {
    String type = message.path("type").asText();
    if (type.equals("stop") && (due.equals("end") || due.equals("ack"))) {
      // One that crosses `end` changes nothing.
      run.stop();
    } else if (type.equals(due)) {
      due = type.equals("go") ? "end" : "nothing";
      inbox.add(message);
    } else {
      throw new Failure("protocol", "The parent said `" + type + "`, and `" + due + "` was due.");
    }
  }
}
