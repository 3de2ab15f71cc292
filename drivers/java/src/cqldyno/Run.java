package cqldyno;

import com.datastax.oss.driver.api.core.CqlSession;
import com.datastax.oss.driver.api.core.cql.*;
import com.datastax.oss.driver.api.core.type.codec.TypeCodec;
import java.util.*;
import java.util.concurrent.*;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.locks.LockSupport;
import java.util.function.BiConsumer;

/** A warm-up or a turn: slots share its tickets, and the driver's callback issues a slot's next statement. */
final class Run {
  private static final long SHORTEST_SLEEP_NS = 50_000, LONGEST_SLEEP_NS = 100_000_000, SECOND_NS = 1_000_000_000, SHORTEST_REPORT_MS = 500;
  /** The steady part begins after so many rounds of tickets, and only turns of at least so many have one. */
  private static final int FIRST_EDGE = 2, LEAST_ROUNDS = 8;

  /** What all runs of a job share; `offline` completes statements without a driver. */
  record Bench(Link link, Driver driver, CqlSession session, List<Statement> statements, ExecutorService offline, int concurrency, long progress) {}

  /** What came on a session of a statement's own, which is closed by now. */
  private record Closed(long came, AsyncResultSet rows, Throwable error) {}

  final Counts counts = new Counts();
  private final Bench bench;
  private final Tape.Ticket[] tickets;
  private final long first, rate;
  private final boolean connects;
  private final int concurrency, edge;
  private final AtomicInteger next = new AtomicInteger(), open = new AtomicInteger(1);
  private final ConcurrentLinkedQueue<Slot> idle = new ConcurrentLinkedQueue<>();
  private final CountDownLatch over = new CountDownLatch(1);
  private volatile boolean isStopped;
  private volatile Usage begin, steadyBegin, steadyEnd, end;

  /** A run of tickets, the first of which has this number. A rate of 0 is none. If it connects, every ticket has a session of its own. */
  Run(Bench bench, Tape.Ticket[] tickets, long first, long rate, boolean connects) {
    this.bench = bench;
    this.tickets = tickets;
    this.first = first;
    this.rate = rate;
    this.connects = connects;
    concurrency = connects ? 1 : bench.concurrency;
    edge = rate == 0 && !connects && tickets.length >= LEAST_ROUNDS * concurrency ? FIRST_EDGE * concurrency : -1;
    bench.link.watch(this);
  }

  /** Issues all tickets and waits for the last answer. The clocks of the threads are those of a quiet moment before, if there was one. */
  void play(Usage quiet) throws InterruptedException {
    begin = new Usage(quiet);
    if (bench.progress > 0) {
      Thread reporter = new Thread(this::report, "progress");
      reporter.setDaemon(true);
      reporter.start();
    }
    for (int slot = 0; slot < concurrency; slot++) {
      if (rate > 0) {
        idle.add(new Slot());
      } else {
        new Slot().start(System.nanoTime());
      }
    }
    if (rate > 0) {
      pace();
    }
    leave();
    over.await();
  }

  private void report() {
    try {
      while (!over.await(Math.max(bench.progress, SHORTEST_REPORT_MS), TimeUnit.MILLISECONDS)) {
        synchronized (bench.link) {
          if (over.getCount() > 0) {
            bench.link.say("progress", Map.of("issued", issued()), null);
          }
        }
      }
    } catch (InterruptedException interrupted) {
      bench.link.fail(interrupted);
    }
  }

  void stop() {
    isStopped = true;
  }

  private int issued() {
    return Math.min(next.get(), tickets.length);
  }

  /** CPU time of this run in microseconds, and the part that was spent on compilation. */
  long[] cost() {
    readThreads();
    return new long[] {end.cpuSince(begin), end.runtimeSince(begin).get("jit_cpu_ns") / 1000};
  }

  /** The fields of `end`. */
  Map<String, Object> end() {
    Map<String, Object> told = end.since(begin), steady = Usage.steady(steadyBegin, steadyEnd, tickets.length - 1 - edge);
    if (steady != null) {
      told.put("steady", steady);
    }
    return told;
  }

  /** Reads the clocks of the threads at the end, which takes too long to be done before `end` is said. */
  void readThreads() {
    end.readThreads(begin);
  }

  /** The fields of `done`. */
  Map<String, Object> done() {
    Map<String, Object> done = counts.done(issued(), rate, begin.at);
    Map<String, Long> byStatement = new TreeMap<>();
    bench.statements.forEach(statement -> byStatement.put(statement.name, 0L));
    Arrays.stream(tickets, 0, issued()).forEach(ticket -> byStatement.merge(ticket.statement().name, 1L, Long::sum));
    done.put("issued_by_statement", byStatement);
    done.put("runtime", end.runtimeSince(begin));
    return done;
  }

  /** Starts statements when they are due. A slot with an answer takes by itself what is due. */
  private void pace() {
    Usage.wakeOnTime();
    for (int nth = next.get(); nth < tickets.length && !isStopped; nth = next.get()) {
      long now = System.nanoTime(), early = intended(nth) - now;
      Slot slot = early > 0 ? null : idle.poll();
      if (slot == null) {
        LockSupport.parkNanos(Math.min(Math.max(early, SHORTEST_SLEEP_NS), LONGEST_SLEEP_NS));
      } else {
        slot.start(now);
      }
    }
  }

  /** When a statement is to start at the rate. */
  private long intended(int nth) {
    return begin.at + nth / rate * SECOND_NS + nth % rate * SECOND_NS / rate;
  }

  /** The next ticket that may be issued now; -1 if there is none. */
  private int take(long now) {
    int nth = isStopped ? tickets.length : next.get();
    while (rate > 0 && nth < tickets.length && intended(nth) <= now && !next.compareAndSet(nth, nth + 1)) {
      nth = next.get();
    }
    if (rate == 0 && !isStopped) {
      nth = next.getAndIncrement();
      if (nth == edge) {
        steadyBegin = new Usage(null);
      } else if (nth == tickets.length - 1 && edge > 0) {
        steadyEnd = new Usage(steadyBegin, true);
      }
    }
    return nth < tickets.length && (rate == 0 || intended(nth) <= now) ? nth : -1;
  }

  /** One of the slots has no ticket, or all of them are started; the last to leave had the last answer. */
  private void leave() {
    if (open.decrementAndGet() == 0) {
      end = new Usage(begin, false);
      over.countDown();
    }
  }

  /** One statement in flight at a time; the driver calls it with the answer. */
  private final class Slot implements BiConsumer<Object, Throwable> {
    private Tape.Ticket ticket;
    private int nth, rows;
    private long issued;
    private String wrong;
    private Map<List<Object>, Integer> came;

    void start(long now) {
      open.incrementAndGet();
      follow(issueNext(now));
    }

    @Override
    public void accept(Object answer, Throwable error) {
      follow(step(answer, error));
    }

    /** Waits for what was issued. What is answered at once is taken in by a loop: recursion would have no end. */
    private void follow(CompletionStage<?> issued) {
      for (CompletionStage<?> stage = issued; stage != null; ) {
        CompletableFuture<?> future = stage.toCompletableFuture();
        if (!future.isDone()) {
          future.whenComplete(this);
          return;
        }
        Object[] both = future.handle((answer, error) -> new Object[] {answer, error}).join();
        stage = step(both[0], (Throwable) both[1]);
      }
    }

    private CompletionStage<?> issueNext(long now) {
      nth = take(now);
      if (nth < 0) {
        if (rate > 0) {
          idle.add(this);
        }
        leave();
        return null;
      }
      ticket = tickets[nth];
      issued = now;
      rows = 0;
      wrong = null;
      came = null;
      try {
        return bench.offline != null ? CompletableFuture.supplyAsync(ticket::due, bench.offline)
            : connects || ticket.statement().operation.equals("connect") ? onOwnSession()
            : bench.driver.issue(bench.session, ticket.statement(), ticket.values());
      } catch (RuntimeException error) {
        return CompletableFuture.failedFuture(error);
      }
    }

    /** Takes in an answer; returns what is issued next. */
    private CompletionStage<?> step(Object answer, Throwable failed) {
      try {
        Closed closed = answer instanceof Closed ? (Closed) answer : null;
        Object result = closed == null ? answer : closed.rows;
        Throwable error = closed == null ? failed : closed.error;
        if (result instanceof AsyncResultSet) {
          AsyncResultSet page = (AsyncResultSet) result;
          read(page);
          if (page.hasMorePages()) {
            return page.fetchNextPage();
          }
        } else if (result instanceof Tape.Answer) {
          readAgain((Tape.Answer) result);
        }
        long now = System.nanoTime();
        error = error == null && !(result instanceof PreparedStatement) ? verdict() : error;
        counts.answered(begin.at, rate == 0 ? 0 : intended(nth), issued, closed == null ? now : closed.came);
        if (error == null) {
          return issueNext(now);
        }
        counts.failed(Driver.cause(error));
        // Elsewhere, so that statements which fail at once do not keep the driver's threads from mending what is broken.
        ForkJoinPool.commonPool().execute(() -> follow(issueNext(System.nanoTime())));
      } catch (Throwable crash) {
        bench.link.fail(crash);
      }
      return null;
    }

    /** Reads and compares every column of every row of a page. */
    private void read(AsyncResultSet page) {
      Tape.Answer due = ticket.due();
      List<TypeCodec<Object>> columns = ticket.statement().columns;
      boolean isOrdered = due != null && due.check() == Tape.Answer.IN_ORDER, isBag = due != null && due.check() == Tape.Answer.IN_ANY_ORDER;
      for (Row row : page.currentPage()) {
        if (row.size() != columns.size()) {
          differs(columns.size() + " columns were expected, and " + row.size() + " came back");
          return;
        }
        Object[] cells = isBag ? new Object[row.size()] : null;
        for (int column = 0; column < row.size(); column++) {
          Object cell = row.isNull(column) ? null : row.get(column, columns.get(column));
          if (isBag) {
            cells[column] = cell;
          } else if (isOrdered && rows < due.rows()) {
            compare(due.cells()[rows * row.size() + column], cell, column);
          }
        }
        if (isBag) {
          came = came == null ? new HashMap<>() : came;
          came.merge(Arrays.asList(cells), 1, Integer::sum);
        }
        rows++;
      }
    }

    /** Without a driver each cell that is due is what came. */
    private void readAgain(Tape.Answer due) {
      for (int cell = 0; cell < due.cells().length; cell++) {
        compare(due.cells()[cell], due.cells()[cell], cell % due.columns());
      }
      rows = due.rows();
      came = due.check() == Tape.Answer.IN_ANY_ORDER ? due.bag() : null;
    }

    private void compare(Object due, Object came, int column) {
      if (!Objects.equals(due, came)) {
        differs("in row " + rows + ", column " + column + " " + due + " was expected, and " + came + " came back");
      }
    }

    private void differs(String how) {
      wrong = wrong == null ? how : wrong;
    }

    /** What is wrong with the rows; null if they are right. */
    private Failure verdict() {
      Tape.Answer due = ticket.due();
      int expected = due == null ? 0 : due.rows();
      if (rows != expected) {
        differs(expected + " rows were expected, and " + rows + " came back");
      } else if (rows > 0 && due.check() == Tape.Answer.IN_ANY_ORDER && !due.bag().equals(came)) {
        differs("the rows " + due.bag().keySet() + " were expected, and " + came.keySet() + " came back");
      }
      return wrong == null ? null : new Failure("wrong_row", "For ticket " + (first + nth) + " (" + ticket.statement().name + ") " + wrong + ".");
    }

    /** Connects, prepares, executes the ticket's statement and closes. The mode `connect` prepares all statements. */
    private CompletionStage<Closed> onOwnSession() {
      Statement statement = ticket.statement();
      List<Statement> prepares = connects ? bench.statements : List.of(statement);
      return bench.driver.open().thenCompose(session -> {
        CompletionStage<PreparedStatement> chosen = CompletableFuture.completedFuture(null);
        for (Statement one : prepares) {
          chosen = chosen.thenCompose(before -> session.prepareAsync(one.cql).thenApply(is -> one == statement ? is : before));
        }
        return chosen.thenCompose(is -> session.executeAsync(statement.bound(is, ticket.values(), 0))).handle((rows, error) -> {
          long came = System.nanoTime();
          return session.closeAsync().handle((closed, ignored) -> new Closed(came, rows, error));
        }).thenCompose(closed -> closed);
      });
    }
  }
}
