package cqldyno;

import java.nio.ByteBuffer;
import java.util.*;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.stream.LongStream;
import org.HdrHistogram.Histogram;

/** The answers of a run. Each thread counts for itself. */
final class Counts {
  private static final long LONGEST_NS = 3_600_000_000_000L, LATE_AFTER_NS = 1_000_000, SECOND_NS = 1_000_000_000;
  private static final int LATENCY = 0, RESPONSE = 1, LATENESS = 2;

  /** What one thread counts. */
  private static final class Part {
    final Histogram[] histograms = {new Histogram(1, LONGEST_NS, 3), new Histogram(1, LONGEST_NS, 3), new Histogram(1, LONGEST_NS, 3)};
    long[] perSecond = new long[64];
    long late, latest, last;

    void record(int which, long nanoseconds) {
      histograms[which].recordValue(Math.min(Math.max(nanoseconds, 1), LONGEST_NS));
    }
  }

  final Map<String, Map<String, Object>> errors = new TreeMap<>();
  private final ConcurrentLinkedQueue<Part> parts = new ConcurrentLinkedQueue<>();
  private final ThreadLocal<Part> own = new ThreadLocal<>();
  private long failed;

  /** Counts an answer, with or without an error, by times of System.nanoTime; `intended` is 0 without a rate. */
  void answered(long origin, long intended, long issued, long came) {
    Part part = own.get();
    if (part == null) {
      part = new Part();
      parts.add(part);
      own.set(part);
    }
    part.record(LATENCY, came - issued);
    int second = (int) Math.min((came - origin) / SECOND_NS, 1 << 20);
    if (second >= part.perSecond.length) {
      part.perSecond = Arrays.copyOf(part.perSecond, 2 * second);
    }
    part.perSecond[second]++;
    if (intended > 0) {
      part.record(RESPONSE, came - intended);
      part.record(LATENESS, issued - intended);
      part.last = Math.max(part.last, came);
      part.latest = Math.max(part.latest, issued - intended);
      part.late += issued - intended > LATE_AFTER_NS ? 1 : 0;
    }
  }

  synchronized void failed(Throwable error) {
    failed++;
    String message = error instanceof Failure ? error.getMessage() : error.toString();
    errors.computeIfAbsent(Driver.kind(error), kind -> new HashMap<>(Map.of("count", 0L, "first", message)))
        .merge("count", 1L, (before, one) -> (Long) before + (Long) one);
  }

  private String encoded(int which) {
    Histogram all = new Histogram(1, LONGEST_NS, 3);
    parts.forEach(part -> all.add(part.histograms[which]));
    ByteBuffer bytes = ByteBuffer.allocate(all.getNeededByteBufferCapacity());
    int length = all.encodeIntoCompressedByteBuffer(bytes);
    return Base64.getEncoder().encodeToString(Arrays.copyOf(bytes.array(), length));
  }

  private LongStream of(java.util.function.ToLongFunction<Part> figure) {
    return parts.stream().mapToLong(figure);
  }

  /** The fields of `done`. */
  synchronized Map<String, Object> done(long issued, long rate, long origin) {
    Map<String, Object> done = new LinkedHashMap<>(Map.of("issued", issued, "answered", issued, "verified", issued - failed, "errors", errors));
    done.put("histogram", encoded(LATENCY));
    int seconds = (int) of(part -> LongStream.range(0, part.perSecond.length).filter(at -> part.perSecond[(int) at] > 0).max().orElse(-1)).max().orElse(-1) + 1;
    done.put("per_second", LongStream.range(0, seconds)
        .map(second -> of(part -> second < part.perSecond.length ? part.perSecond[(int) second] : 0).sum()).toArray());
    if (rate > 0) {
      done.put("pace", Map.of("rate", rate, "lasted_ns", of(part -> part.last).max().orElse(origin) - origin,
          "response", encoded(RESPONSE), "lateness", encoded(LATENESS), "late_after_ns", LATE_AFTER_NS,
          "late", of(part -> part.late).sum(), "latest_ns", of(part -> part.latest).max().orElse(0)));
    }
    return done;
  }
}
