package cqldyno;

import com.datastax.oss.driver.api.core.CqlSession;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.io.IOException;
import java.nio.file.*;
import java.util.*;
import java.util.concurrent.*;
import java.util.concurrent.locks.LockSupport;

/** The worker: says hello, carries out one job, and ends. */
final class Main {
  private static final String WORKER = System.getProperty("cqldyno.worker", "");
  /** In the environment, the job that another Java has heard in this process. */
  private static final String HEARD = "CQLDYNO_JAVA_JOB";
  /** The warm-up ends when passes cost as much as the one before, and little of them went into compiling, up to these shares. */
  private static final double NOISE = 0.1, STEADY = 0.01;
  /** The process is idle if it used no more CPU time than this in a wait. */
  private static final long IDLE_US = 200, WAIT_MS = 50;
  private static final int MOST_WAITS = 200;
  private static final int STEADY_PASSES = 5, MOST_PASSES = 100, PRACTICE = 3_000;
  private static final long LONGEST_WARM_UP_NS = 30_000_000_000L;

  private final Link link = new Link();
  private final boolean isOffline = WORKER.endsWith("-noop");
  private JsonNode job;

  public static void main(String[] arguments) {
    Main main = new Main();
    try {
      main.carryOut();
    } catch (Throwable error) {
      main.link.fail(error);
    }
    Runtime.getRuntime().halt(0);
  }

  private void carryOut() throws IOException, InterruptedException {
    String heard = System.getenv(HEARD);
    if (heard == null) {
      hello();
      job = link.hear();
      check();
      takeCollector(job.path("options").path("gc").asText("g1"));
    } else {
      job = Link.JSON.readTree(heard);
    }
    Driver driver = new Driver(job);
    List<Statement> statements = new ArrayList<>();
    JsonNode types = job.path("tape").path("statements");
    job.path("scenario").path("statement").forEach(told -> statements.add(new Statement(told, types.path(statements.size()))));
    int workers = Math.max(job.path("runtime").path("workers").asInt(), 1);
    Run.Bench bench = new Run.Bench(link, job, driver, isOffline ? null : connected(driver, statements), statements,
        isOffline ? Executors.newFixedThreadPool(workers) : null);
    Tape tape = new Tape(job.path("tape").path("path").asText(), statements);
    warmUp(bench, tape.read(job.path("warmup").asInt()));
    turns(bench, tape);
  }

  private void hello() throws IOException {
    ObjectNode driver = Driver.described();
    if (isOffline) driver.put("name", "java-noop").putArray("capabilities").add("offline").add("batch").add("unprepared").add("prepare");
    String compiler = System.getProperty("java.vm.name") + " " + System.getProperty("java.vm.version");
    link.say("hello", Map.of("protocol", 3, "driver", driver, "turns", true, "tape", true, "language", "Java",
        "settings", new Driver(Link.JSON.createObjectNode()).settings(),
        "build", Map.of("id", "", "compiler", compiler, "profile", "release"),
        "machine", Map.of("host", Files.readString(Path.of("/proc/sys/kernel/hostname")).trim(),
            "cores", Runtime.getRuntime().availableProcessors(), "kernel", System.getProperty("os.version"))), "job");
  }

  /** Refuses what the worker cannot do. */
  private void check() throws IOException {
    requires("mode", job.path("mode").asText(), List.of("measure", "connect"));
    requires("way of submitting", job.path("scenario").path("submit").asText("slots"), List.of("slots", "sequential"));
    for (JsonNode statement : job.path("scenario").path("statement")) {
      requires("operation", statement.path("operation").asText("execute"), List.of("execute", "batch", "unprepared", "prepare", "connect"));
    }
    List<String> options = Driver.described().path("options").findValuesAsText("name");
    for (String name : (Iterable<String>) job.path("options")::fieldNames) requires("option", name, options);
    if (!job.hasNonNull("tape")) throw new Failure("job", "The job has no tape, and the worker for Java makes no values itself; run a cqldyno that writes tapes.");
  }

  private static void requires(String what, String asked, List<String> known) {
    if (!known.contains(asked)) throw new Failure("job", "The " + what + " `" + asked + "` was asked for; the Java driver has " + String.join(", ", known) + ".");
  }

  /** Starts the worker again in this process if another garbage collector is asked for: Java cannot change it later. */
  private void takeCollector(String name) {
    String option = name.substring(0, 1).toUpperCase() + name.substring(1);
    if (!name.equals("g1")) Usage.become(WORKER, Map.of("CQLDYNO_JAVA_GC", option, HEARD, job.toString()));
  }

  /** A session on which all statements are prepared. */
  private CqlSession connected(Driver driver, List<Statement> statements) {
    String doing = "connect";
    try {
      CqlSession session = driver.open().toCompletableFuture().join();
      doing = "prepare";
      for (Statement statement : statements) statement.prepared(session.prepareAsync(statement.cql).toCompletableFuture().join());
      return session;
    } catch (CompletionException error) {
      Throwable cause = Driver.cause(error);
      String kind = Driver.kind(cause).equals("bad_credentials") ? "bad_credentials" : doing;
      throw new Failure(kind, "The Java driver could not " + doing + " at " + job.path("target") + ": " + cause.getMessage() + ".");
    }
  }

  /** Plays the tickets, and again those that change nothing, until Java has compiled what costs time. */
  private void warmUp(Run.Bench bench, Tape.Ticket[] tickets) throws InterruptedException {
    boolean areRepeatable = bench.statements().stream().allMatch(statement -> statement.isRepeatable);
    Tape.Ticket[] again = Arrays.stream(tickets).filter(ticket -> areRepeatable || ticket.statement().isRead).toArray(Tape.Ticket[]::new), due = tickets;
    long begun = System.nanoTime(), before = 0;
    for (int pass = 0, steady = 0; pass < MOST_PASSES && steady < STEADY_PASSES && System.nanoTime() - begun < LONGEST_WARM_UP_NS && due.length > 0; pass++) {
      Run run = new Run(bench, due, 0, true);
      run.play(Usage.withThreads(null));
      run.counts.errors.forEach((kind, error) -> {
        throw new Failure("warm_up", "The warm-up had " + error.get("count") + " errors of kind " + kind + ", the first: " + error.get("first"));
      });
      // A few percent more or less are noise; that compiling goes on is not.
      boolean isSteady = Math.abs(run.cpu() - before) < NOISE * before && run.runtime().get("jit_cpu_ns") < STEADY * 1000 * run.cpu();
      steady = isSteady ? steady + 1 : 0;
      before = run.cpu();
      due = again;
    }
  }

  /** Has Java compile what reads clocks and messages at a turn's edges, where interpreting it takes milliseconds that no window has. */
  private static void practise() throws IOException {
    for (int nth = 0; nth < PRACTICE; nth++) {
      Usage begin = Usage.withThreads(null), end = Usage.withThreads(begin);
      Map<String, Object> told = end.since(begin);
      told.put("steady", end.steadySince(begin, nth));
      Link.JSON.readTree(Link.JSON.writeValueAsString(told));
    }
  }

  private void turns(Run.Bench bench, Tape tape) throws IOException, InterruptedException {
    practise();
    long turns = job.path("turns").asInt(1), count = job.path("count").asLong();
    Map<String, Object> told = new LinkedHashMap<>(Map.of("settings", bench.driver().settings()));
    for (int turn = 0; turn < turns; turn++) {
      long first = count * turn / turns, next = count * (turn + 1) / turns;
      Run run = new Run(bench, tape.read((int) (next - first)), first, false);
      // Once: later garbage is the driver's, and is collected when Java does it, which the window pays for.
      if (turn == 0) System.gc();
      Usage quiet = settle();
      told.put("threads", Usage.tasks().size());
      link.say(turn == 0 ? "ready" : "done", told, "go");
      for (long at = link.hear().path("at_ns").asLong(); System.nanoTime() < at; ) LockSupport.parkNanos(at - System.nanoTime());
      run.play(quiet);
      link.say("end", run.end(), "ack");
      Map<String, Long> runtime = run.runtime();
      // Other work would be in the parent's figures.
      link.hear();
      told = run.done();
      told.put("runtime", runtime);
    }
    settle();
    told.put("threads", Usage.tasks().size());
    link.say("done", told, "");
  }

  /** Waits until Java has compiled what it is about to. */
  private static Usage settle() throws InterruptedException {
    Usage idle, now = Usage.withThreads(null);
    int waits = 0;
    do {
      idle = Usage.now();
      Thread.sleep(WAIT_MS);
      now = Usage.withThreads(now);
    } while (++waits < MOST_WAITS && now.cpuSince(idle) > IDLE_US);
    return now;
  }
}
