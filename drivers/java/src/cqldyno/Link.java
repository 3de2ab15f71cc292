package cqldyno;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.io.*;
import java.nio.charset.StandardCharsets;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.concurrent.LinkedBlockingQueue;

/** Both directions of the worker protocol. What libraries print goes to standard error. */
final class Link {
  static final ObjectMapper JSON = new ObjectMapper();
  private final OutputStream out = new FileOutputStream(FileDescriptor.out);
  private final LinkedBlockingQueue<JsonNode> inbox = new LinkedBlockingQueue<>();
  private String due = "job";
  private boolean isOver;
  private Run run;

  Link() {
    System.setOut(System.err);
    Thread reader = new Thread(this::read, "parent");
    reader.setDaemon(true);
    reader.start();
  }

  /** Writes a message, after which the parent may say the one that is due: null for the same as before, "nothing" after the last one. */
  synchronized void say(String type, Map<String, ?> fields, String due) {
    this.due = due == null ? this.due : due;
    isOver = "nothing".equals(due);
    Map<String, Object> message = new LinkedHashMap<>(Map.of("type", type));
    message.putAll(fields);
    try {
      out.write((JSON.writeValueAsString(message) + "\n").getBytes(StandardCharsets.UTF_8));
    } catch (IOException error) {
      abandon("nobody reads what the worker says: " + error.getMessage());
    }
  }

  /** The message that is due. */
  JsonNode hear() throws InterruptedException {
    return inbox.take();
  }

  /** Names the run that `stop` stops. */
  synchronized void watch(Run run) {
    this.run = run;
  }

  /** Says why the job cannot go on, and ends the process. */
  synchronized void fail(Throwable why) {
    why.printStackTrace();
    String kind = why instanceof Failure ? ((Failure) why).kind : "crash";
    String message = why instanceof Failure ? why.getMessage() : "The worker or the driver failed with " + why + ".";
    say("failed", Map.of("kind", kind, "message", message), "nothing");
    Runtime.getRuntime().halt(1);
  }

  private synchronized void abandon(String why) {
    if (!isOver) {
      System.err.println("cqldyno worker: " + why);
      Runtime.getRuntime().halt(2);
    }
  }

  private void read() {
    try (BufferedReader in = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8))) {
      for (String line = in.readLine(); line != null; line = in.readLine()) {
        heard(line);
      }
      abandon("standard input was closed before the end; this program is started by cqldyno");
    } catch (IOException error) {
      fail(new Failure("protocol", "The parent's message cannot be read: " + error.getMessage() + "."));
    } catch (RuntimeException error) {
      fail(error);
    }
  }

  private synchronized void heard(String line) throws IOException {
    JsonNode message = JSON.readTree(line);
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
