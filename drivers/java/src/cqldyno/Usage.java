package cqldyno;

import java.io.*;
import java.nio.file.*;
import java.util.*;
import jnr.ffi.LibraryLoader;
import jnr.ffi.annotations.Out;

/** What the process has used at a moment: getrusage, and the clock of each thread. System.nanoTime is CLOCK_MONOTONIC on Linux. */
final class Usage {
  /** Calls of the C library, through the binding that the driver has for its own calls. */
  public interface LibC {
    int getrusage(int who, @Out long[] usage);
    int clock_gettime(int clock, @Out long[] time);
    int prctl(int option, long value, long b, long c, long d);
    int setenv(String name, String value, int overwrite);
    int execv(String path, String[] arguments);
  }

  private static final LibC LIBC = LibraryLoader.create(LibC.class).load("c");
  private static final int SET_TIMER_SLACK = 29;
  /** Words of `struct rusage`, in which a time has two; the names are those of `end`. */
  private static final int WORDS = 18, USER = 0, SYSTEM = 2;
  private static final Map<String, Integer> COUNTS =
      Map.of("minor_faults", 8, "major_faults", 9, "voluntary_switches", 16, "involuntary_switches", 17);

  /** Before and after the rest was read: a span lasts from the `after` of its beginning to the `at` of its end. */
  final long at = System.nanoTime(), after;
  private final long[] process = new long[WORDS];
  private final Map<Integer, Long> threads = new HashMap<>();

  /** Reads the threads' clocks, too, if some are named: first theirs, because looking for new ones takes longer. */
  private Usage(Set<Integer> known) {
    if (LIBC.getrusage(0, process) != 0) throw new Failure("job", "The system does not tell the process' resource usage (getrusage); use another one.");
    if (known != null) {
      known.forEach(this::read);
      tasks().forEach(this::read);
    }
    after = System.nanoTime();
  }

  static Usage now() { return new Usage(null); }

  /** With the clocks of all threads, of which most were there at an earlier moment; that takes a millisecond. */
  static Usage withThreads(Usage before) { return new Usage(before == null ? Set.of() : before.threads.keySet()); }

  private void read(int thread) {
    long[] time = new long[2];
    // The kernel's encoding of a thread's clock (CPUCLOCK_PERTHREAD and CPUCLOCK_SCHED).
    if (!threads.containsKey(thread) && LIBC.clock_gettime(~thread << 3 | 6, time) == 0) threads.put(thread, time[0] * 1_000_000_000 + time[1]);
  }

  /** The threads of the process. */
  static List<Integer> tasks() {
    String[] tasks = new File("/proc/self/task").list();
    return tasks == null ? List.of() : Arrays.stream(tasks).map(Integer::valueOf).toList();
  }

  /** Lets the calling thread's sleeps end on time; by default they may last 50 us longer. */
  static void wakeOnTime() { LIBC.prctl(SET_TIMER_SLACK, 1, 0, 0, 0); }

  /** Replaces the process by this program, with more in its environment. */
  static void become(String program, Map<String, String> environment) {
    environment.forEach((name, value) -> LIBC.setenv(name, value, 1));
    LIBC.execv(program, new String[] {program});
    throw new Failure("job", "The worker could not start itself again with another garbage collector; leave out the option `gc`.");
  }

  private long since(Usage begin, int word) {
    return (process[word] - begin.process[word]) * 1_000_000 + process[word + 1] - begin.process[word + 1];
  }

  /** CPU time of the process since a moment, in microseconds. */
  long cpuSince(Usage begin) { return since(begin, USER) + since(begin, SYSTEM); }

  /** The fields of `end`. */
  Map<String, Object> since(Usage begin) {
    Map<String, Object> end = new LinkedHashMap<>(
        Map.of("wall_ns", at - begin.after, "at_ns", at, "user_us", since(begin, USER), "sys_us", since(begin, SYSTEM)));
    COUNTS.forEach((name, word) -> end.put(name, process[word] - begin.process[word]));
    return end;
  }

  /** The fields of `steady` since a moment; null if a thread has ended. */
  Map<String, Object> steadySince(Usage begin, long statements) {
    return !threads.keySet().containsAll(begin.threads.keySet()) ? null
        : Map.of("wall_ns", at - begin.after, "cpu_ns", ofThreads(begin, ""), "statements", statements);
  }

  /** CPU time since a moment that Java's threads spent on garbage, and on compilation. */
  Map<String, Long> runtimeSince(Usage begin) {
    return Map.of("gc_cpu_ns", ofThreads(begin, "GC |G1 |Z|VM Thread"), "jit_cpu_ns", ofThreads(begin, "C[12] "));
  }

  /** CPU time of the threads whose names begin so. */
  private long ofThreads(Usage begin, String names) {
    return threads.entrySet().stream().filter(thread -> names.isEmpty() || name(thread.getKey()).matches("(?s)(" + names + ").*"))
        .mapToLong(thread -> thread.getValue() - begin.threads.getOrDefault(thread.getKey(), 0L)).sum();
  }

  private static String name(int thread) {
    try {
      return Files.readString(Path.of("/proc/self/task/" + thread + "/comm"));
    } catch (IOException ended) {
      return "";
    }
  }
}
