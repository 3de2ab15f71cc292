package cqldyno;

import com.datastax.oss.driver.api.core.CqlSession;
import com.datastax.oss.driver.api.core.cql.*;
import com.datastax.oss.driver.api.core.type.codec.TypeCodec;
import com.fasterxml.jackson.databind.JsonNode;
import java.util.*;
import java.util.concurrent.*;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.locks.LockSupport;
import java.util.function.BiConsumer;

/** A warm-up or a turn: slots share its tickets, and the driver's callback issues a slot's next statement. */
final class Run {
  private static final long SHORTEST_SLEEP_NS = 50_000, LONGEST_SLEEP_NS = 100_000_000, SECOND_NS = 1_000_000_000, SHORTEST_REPORT_NS = 500_000_000;
  /** The steady part begins after so many rounds of tickets, and only turns of at least so many have one. */
  private static final int FIRST_EDGE = 2, LEAST_ROUNDS = 8;

  /** What all runs of a job share; `offline` completes statements without a driver. */
  record Bench(Link link, JsonNode job, Driver driver, CqlSession session, List<Statement> statements, ExecutorService offline) {}

  final Counts counts;
  private final Bench bench;
  private final Tape.Ticket[] tickets;
  /** The number of the first ticket; statements per second, or 0; how long a trace waits, or below 0. */
  private final long first, rate, patience;
  private final boolean connects;
  private final int concurrency, edge;
  private final AtomicInteger next = new AtomicInteger(), open = new AtomicInteger(1);
  private final ConcurrentLinkedQueue<Slot> idle = new ConcurrentLinkedQueue<>();
  private final CountDownLatch over = new CountDownLatch(1);
  private final long interval;
  private volatile boolean isStopped;
  private volatile long until = Long.MAX_VALUE;
  private volatile Usage begin, quiet, steadyBegin, steadyEnd, end;
  private long toldAt;

  /** The run of a turn, or of the warm-up. If it connects, every ticket has a session of its own. */
  Run(Bench bench, Tape.Ticket[] tickets, long first, boolean isWarmUp) {
    JsonNode job = bench.job;
    this.bench = bench;
    this.tickets = tickets;
    this.first = first;
    counts = new Counts(tickets.length);
    connects = !isWarmUp && job.path("mode").asText().equals("connect");
    rate = isWarmUp ? 0 : job.path("rate").asLong();
    patience = isWarmUp || !job.hasNonNull("trace") ? -1 : TimeUnit.MILLISECONDS.toNanos(job.path("trace").path("patience_ms").asLong());
    concurrency = connects || job.path("scenario").path("submit").asText().equals("sequential") ? 1 : job.path("concurrency").asInt();
    edge = rate == 0 && !connects && tickets.length >= LEAST_ROUNDS * concurrency ? FIRST_EDGE * concurrency : -1;
    long progress = TimeUnit.MILLISECONDS.toNanos(job.path("progress_ms").asLong());
    interval = progress == 0 ? Long.MAX_VALUE : Math.max(progress, SHORTEST_REPORT_NS);
    bench.link.watch(this);
  }

  /** Issues all tickets, and waits for the last answer or for the end of the patience. `quiet` is a moment before, with the threads' clocks. */
  void play(Usage quiet) throws InterruptedException {
    this.quiet = quiet;
    begin = Usage.now();
    toldAt = begin.after;
    until = patience < 0 ? Long.MAX_VALUE : intended(tickets.length - 1) + patience;
    for (int slot = 0; slot < concurrency; slot++) {
      if (rate > 0) idle.add(new Slot());
      else new Slot().start(System.nanoTime());
    }
    if (rate > 0) pace();
    leave();
    long pause = patience < 0 ? interval : LONGEST_SLEEP_NS;
    for (long left; (left = until - System.nanoTime()) > 0 && !over.await(Math.min(left, pause), TimeUnit.NANOSECONDS); ) tellProgress();
    close();
  }

  private void tellProgress() {
    if (System.nanoTime() - toldAt < interval) return;
    toldAt = System.nanoTime();
    bench.link.progress(issued());
  }

  void stop() {
    isStopped = true;
    until = patience < 0 ? until : Math.min(until, System.nanoTime() + patience);
  }

  private int issued() { return Math.min(next.get(), tickets.length); }

  /** CPU time of this run in microseconds. */
  long cpu() { return end.cpuSince(begin); }

  /** The fields of `end`. */
  Map<String, Object> end() {
    Map<String, Object> told = end.since(begin);
    if (steadyBegin != null && steadyEnd != null) told.put("steady", steadyEnd.steadySince(steadyBegin, tickets.length - 1 - edge));
    told.values().removeIf(Objects::isNull);
    return told;
  }

  /** CPU time that Java itself has used since the quiet moment; read after the end, because that takes a while. */
  Map<String, Long> runtime() { return Usage.withThreads(quiet).runtimeSince(quiet); }

  /** The fields of `done`. */
  Map<String, Object> done() {
    return counts.done(Arrays.asList(tickets).subList(0, issued()), first, begin.after, rate, this::intended, patience >= 0);
  }

  /** Starts statements when they are due. A slot with an answer takes by itself what is due. */
  private void pace() {
    Usage.wakeOnTime();
    for (int nth = next.get(); nth < tickets.length && !isStopped; nth = next.get()) {
      long now = System.nanoTime(), early = intended(nth) - now;
      Slot slot = early > 0 ? null : idle.poll();
      if (now > until) return;
      tellProgress();
      if (slot == null) LockSupport.parkNanos(Math.min(Math.max(early, SHORTEST_SLEEP_NS), LONGEST_SLEEP_NS));
      else slot.start(now);
    }
  }

  /** When a statement is to start at the rate. */
  private long intended(int nth) { return begin.after + nth / rate * SECOND_NS + nth % rate * SECOND_NS / rate; }

  /** The next ticket that may be issued now; -1 if there is none. */
  private int take(long now) {
    if (isStopped) return -1;
    if (rate > 0) return takeDue(now);
    int nth = next.getAndIncrement();
    if (nth == edge) steadyBegin = Usage.withThreads(null);
    else if (nth == tickets.length - 1 && edge > 0) steadyEnd = Usage.withThreads(steadyBegin);
    return nth < tickets.length ? nth : -1;
  }

  private synchronized int takeDue(long now) {
    int nth = next.get();
    return nth < tickets.length && intended(nth) <= now ? next.getAndIncrement() : -1;
  }

  /** One of the slots has no ticket, or all of them are started; the last to leave had the last answer. */
  private void leave() { if (open.decrementAndGet() == 0) close(); }

  /** The end of the window, which comes once. */
  private synchronized void close() {
    if (end != null) return;
    end = Usage.now();
    isStopped = true;
    counts.close();
    over.countDown();
  }

  /** One statement in flight at a time; the driver calls it with the answer. */
  private final class Slot implements BiConsumer<Object, Throwable> {
    private Tape.Ticket ticket;
    private int nth, rows;
    private String wrong;
    private Map<List<Object>, Long> came;
    /** That of this ticket alone. */
    private CqlSession own;

    void start(long now) {
      open.incrementAndGet();
      follow(issueNext(now));
    }

    @Override
    public void accept(Object answer, Throwable error) { follow(step(answer, error)); }

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
        if (rate > 0) idle.add(this);
        leave();
        return null;
      }
      ticket = tickets[nth];
      counts.issued(nth, now);
      rows = 0;
      wrong = null;
      came = ticket.due().bag() == null ? null : new HashMap<>();
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
        if (answer instanceof AsyncResultSet page) {
          read(page);
          if (page.hasMorePages()) return page.fetchNextPage();
        } else if (answer instanceof Tape.Answer due) {
          readAgain(due);
        }
        long now = System.nanoTime();
        // What comes after the patience does not count.
        if (end != null) return null;
        Throwable error = failed == null ? verdict() : failed;
        if (error == null) counts.right(nth, now);
        else counts.failed(nth, now, Driver.cause(error));
        if (error == null && own == null) return issueNext(now);
        // Elsewhere, so that statements which fail at once do not keep the driver's threads from mending what is broken.
        CompletionStage<?> closed = own == null ? CompletableFuture.completedFuture(null) : own.closeAsync();
        own = null;
        closed.whenCompleteAsync((nothing, ignored) -> follow(issueNext(System.nanoTime())));
      } catch (Throwable crash) {
        bench.link.fail(crash);
      }
      return null;
    }

    /** Reads and compares every column of every row of a page. */
    private void read(AsyncResultSet page) {
      Tape.Answer due = ticket.due();
      List<TypeCodec<Object>> columns = ticket.statement().columns;
      boolean isOrdered = due.check() == Tape.Answer.IN_ORDER, isBag = due.check() == Tape.Answer.IN_ANY_ORDER;
      for (Row row : page.currentPage()) {
        if (row.size() != columns.size()) {
          differs(columns.size() + " columns were expected, and " + row.size() + " came back");
          return;
        }
        Object[] cells = isBag ? new Object[row.size()] : null;
        for (int column = 0; column < row.size(); column++) {
          Object cell = row.isNull(column) ? null : row.get(column, columns.get(column));
          if (isBag) cells[column] = cell;
          else if (isOrdered && rows < due.rows()) compare(due.cells()[rows * row.size() + column], cell, column);
        }
        if (isBag) came.merge(Arrays.asList(cells), 1L, Long::sum);
        rows++;
      }
    }

    /** Without a driver each cell that is due is what came. */
    private void readAgain(Tape.Answer due) {
      for (int cell = 0; cell < due.cells().length; cell++) compare(due.cells()[cell], due.cells()[cell], cell % due.columns());
      rows = due.rows();
      came = due.bag();
    }

    private void compare(Object due, Object came, int column) {
      if (!Objects.equals(due, came)) differs("in row " + rows + ", column " + column + " " + due + " was expected, and " + came + " came back");
    }

    private void differs(String how) { wrong = wrong == null ? how : wrong; }

    /** What is wrong with the rows; null if they are right. */
    private Failure verdict() {
      Tape.Answer due = ticket.due();
      if (rows != due.rows()) differs(due.rows() + " rows were expected, and " + rows + " came back");
      else if (due.bag() != null && !due.bag().equals(came)) differs("the rows " + due.bag().keySet() + " were expected, and " + came.keySet() + " came back");
      return wrong == null ? null : new Failure("wrong_row", "For ticket " + (first + nth) + " (" + ticket.statement().name + ") " + wrong + ".");
    }

    /** Connects, prepares and executes the ticket's statement. The mode `connect` prepares all statements. */
    private CompletionStage<AsyncResultSet> onOwnSession() {
      Statement statement = ticket.statement();
      return bench.driver.open().thenCompose(session -> {
        own = session;
        CompletionStage<PreparedStatement> chosen = CompletableFuture.completedFuture(null);
        for (Statement one : connects ? bench.statements : List.of(statement)) {
          chosen = chosen.thenCompose(before -> session.prepareAsync(one.cql).thenApply(is -> one == statement ? is : before));
        }
        return chosen.thenCompose(is -> session.executeAsync(statement.bound(is, ticket.values(), 0)));
      });
    }
  }
}
