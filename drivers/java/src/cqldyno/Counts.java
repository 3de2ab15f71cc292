package cqldyno;

import java.nio.ByteBuffer;
import java.util.*;
import java.util.concurrent.atomic.AtomicLongArray;
import java.util.function.*;
import org.HdrHistogram.Histogram;

/** When each ticket of a run was issued and answered, by System.nanoTime. All else is counted after the window. */
final class Counts {
  private static final long LONGEST_NS = 3_600_000_000_000L, LATE_AFTER_NS = 1_000_000, SECOND_NS = 1_000_000_000, STRETCH_NS = 10_000_000;

  final Map<String, Map<String, Object>> errors = new TreeMap<>();
  private final long[] issued;
  /** Below 0 if something was wrong with the answer; 0 without one. */
  private final AtomicLongArray came;
  private boolean isClosed;

  Counts(int tickets) {
    issued = new long[tickets];
    came = new AtomicLongArray(tickets);
  }

  void issued(int nth, long now) { issued[nth] = now; }

  void right(int nth, long now) { came.setRelease(nth, now); }

  synchronized void failed(int nth, long now, Throwable error) {
    if (!isClosed) {
      came.setRelease(nth, -now);
      String message = error instanceof Failure ? error.getMessage() : error.toString();
      errors.computeIfAbsent(Driver.kind(error), kind -> new HashMap<>(Map.of("count", 0L, "first", message)))
          .merge("count", 1L, (before, one) -> (Long) before + (Long) one);
    }
  }

  /** What fails from now on fails too late to be counted. */
  synchronized void close() { isClosed = true; }

  /** The fields of `done` for these tickets of a run; `intended` says when each was to be issued, if there is a rate. */
  Map<String, Object> done(List<Tape.Ticket> tickets, long first, long begun, long rate, IntToLongFunction intended, boolean isTraced) {
    long[] ends = new long[tickets.size()], perSecond = {}, rightPer10Ms = {};
    Arrays.setAll(ends, came::getAcquire);
    Histogram latency = histogram(), response = histogram(), lateness = histogram();
    Map<String, Long> byStatement = new TreeMap<>();
    long answered = 0, verified = 0, late = 0, latest = 0, last = begun;
    for (int nth = 0; nth < ends.length; nth++) {
      byStatement.merge(tickets.get(nth).statement().name, 1L, Long::sum);
      if (ends[nth] == 0) {
        continue;
      }
      long end = Math.abs(ends[nth]);
      answered++;
      verified += ends[nth] > 0 ? 1 : 0;
      record(latency, end - issued[nth]);
      perSecond = plusOne(perSecond, (end - begun) / SECOND_NS);
      if (rate > 0) {
        long due = intended.applyAsLong(nth);
        record(response, end - due);
        record(lateness, issued[nth] - due);
        late += issued[nth] - due > LATE_AFTER_NS ? 1 : 0;
        latest = Math.max(latest, issued[nth] - due);
        last = Math.max(last, end);
        rightPer10Ms = ends[nth] > 0 ? plusOne(rightPer10Ms, (end - begun) / STRETCH_NS) : rightPer10Ms;
      }
    }
    Map<String, Object> done = new LinkedHashMap<>(Map.of("issued", ends.length, "answered", answered, "verified", verified, "errors", errors,
        "issued_by_statement", byStatement, "histogram", encoded(latency), "per_second", perSecond));
    if (rate > 0) {
      done.put("pace", Map.of("rate", rate, "lasted_ns", last - begun, "response", encoded(response), "lateness", encoded(lateness),
          "late_after_ns", LATE_AFTER_NS, "late", late, "latest_ns", latest));
    }
    if (isTraced) {
      done.put("trace", Map.of("failed", runs(ends, first, end -> end < 0), "unanswered", runs(ends, first, end -> end == 0),
          "answers_per_10ms", rightPer10Ms));
    }
    return done;
  }

  /** Runs of consecutive tickets that ended so, each with its first number and its length. */
  private static List<long[]> runs(long[] ends, long first, LongPredicate so) {
    List<long[]> runs = new ArrayList<>();
    for (int nth = 0; nth < ends.length; nth++) {
      if (so.test(ends[nth]) && nth > 0 && so.test(ends[nth - 1])) {
        runs.get(runs.size() - 1)[1]++;
      } else if (so.test(ends[nth])) {
        runs.add(new long[] {first + nth, 1});
      }
    }
    return runs;
  }

  private static long[] plusOne(long[] series, long at) {
    long[] longer = at < series.length ? series : Arrays.copyOf(series, (int) at + 1);
    longer[(int) at]++;
    return longer;
  }

  private static Histogram histogram() { return new Histogram(1, LONGEST_NS, 3); }

  private static void record(Histogram into, long nanoseconds) { into.recordValue(Math.min(Math.max(nanoseconds, 1), LONGEST_NS)); }

  private static String encoded(Histogram histogram) {
    ByteBuffer bytes = ByteBuffer.allocate(histogram.getNeededByteBufferCapacity());
    int length = histogram.encodeIntoCompressedByteBuffer(bytes);
    return Base64.getEncoder().encodeToString(Arrays.copyOf(bytes.array(), length));
  }
}
