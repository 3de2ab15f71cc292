package cqldyno;

import java.io.File;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
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

  final long at;
  private final long[] process = new long[WORDS];
  private final Map<Integer, Long> threads = new HashMap<>();

  /** A beginning, which reads the clock last. The threads' clocks are those of a quiet moment just before, or are read now. */
  Usage(Usage quiet) {
    if (quiet == null) {
      readThreads(this);
    } else {
      threads.putAll(quiet.threads);
    }
    readProcess();
    at = System.nanoTime();
  }

  /** An end, which reads the clock first. The threads' clocks take a millisecond, and may come later. */
  Usage(Usage begin, boolean withThreads) {
    at = System.nanoTime();
    readProcess();
    if (withThreads) {
      readThreads(begin);
    }
  }

  /** Reads the clocks of the threads that were there at an earlier moment, and then of new ones: looking for those takes longer. */
  void readThreads(Usage begin) {
    List.copyOf(begin.threads.keySet()).forEach(this::read);
    tasks().forEach(this::read);
  }

  private void readProcess() {
    if (LIBC.getrusage(0, process) != 0) {
      throw new Failure("job", "The system does not tell the process' resource usage (getrusage); use another one.");
    }
  }

  private void read(int thread) {
    long[] time = new long[2];
    // The kernel's encoding of a thread's clock (CPUCLOCK_PERTHREAD and CPUCLOCK_SCHED).
    if (!threads.containsKey(thread) && LIBC.clock_gettime(~thread << 3 | 6, time) == 0) {
      threads.put(thread, time[0] * 1_000_000_000 + time[1]);
    }
  }

  /** The threads of the process. */
  static List<Integer> tasks() {
    String[] tasks = new File("/proc/self/task").list();
    return tasks == null ? List.of() : Arrays.stream(tasks).map(Integer::valueOf).toList();
  }

  /** Lets the calling thread's sleeps end on time; by default they may last 50 us longer. */
  static void wakeOnTime() {
    LIBC.prctl(SET_TIMER_SLACK, 1, 0, 0, 0);
  }

  /** Replaces the process by this program, with more in its environment. */
  static void become(String program, Map<String, String> environment) {
    environment.forEach((name, value) -> LIBC.setenv(name, value, 1));
    LIBC.execv(program, new String[] {program});
    throw new Failure("job", "The worker could not start itself again with another garbage collector; leave out the option `gc`.");
  }

  private long microseconds(int word) {
    return process[word] * 1_000_000 + process[word + 1];
  }

  /** CPU time of the process since a moment, in microseconds. */
  long cpuSince(Usage begin) {
    return microseconds(USER) + microseconds(SYSTEM) - begin.microseconds(USER) - begin.microseconds(SYSTEM);
  }

  /** The fields of `end`. */
  Map<String, Object> since(Usage begin) {
    Map<String, Object> end = new LinkedHashMap<>(Map.of("wall_ns", at - begin.at, "at_ns", at));
    end.put("user_us", microseconds(USER) - begin.microseconds(USER));
    end.put("sys_us", microseconds(SYSTEM) - begin.microseconds(SYSTEM));
    COUNTS.forEach((name, word) -> end.put(name, process[word] - begin.process[word]));
    return end;
  }

  /** The fields of `steady` from these moments on; null if there are none, or a thread has ended. */
  static Map<String, Object> steady(Usage begin, Usage end, long statements) {
    return begin == null || end == null || !end.threads.keySet().containsAll(begin.threads.keySet()) ? null
        : Map.of("wall_ns", end.at - begin.at, "cpu_ns", end.ofThreads(begin, ""), "statements", statements);
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
