"""What a window cost: clocks, resource usage, threads, garbage collection."""
import contextlib, gc, os, resource, time

# Fields of `end`, and their names in Python.
COUNTS = {"voluntary_switches": "ru_nvcsw", "involuntary_switches": "ru_nivcsw", "minor_faults": "ru_minflt", "major_faults": "ru_majflt"}

def usage():
    at, used = time.monotonic_ns(), resource.getrusage(resource.RUSAGE_SELF)
    return {"wall_ns": at, "user_us": round(used.ru_utime * 1e6), "sys_us": round(used.ru_stime * 1e6)} | {
        name: getattr(used, of) for name, of in COUNTS.items()}

def since(before):
    now = usage()
    return {"at_ns": now["wall_ns"], **{name: now[name] - before[name] for name in now}}

def moment():
    """Monotonic time, and the CPU time of each thread by the kernel's encoding of its clock (CPUCLOCK_PERTHREAD and CPUCLOCK_SCHED)."""
    cpu = {}
    for task in map(int, os.listdir("/proc/self/task")):
        with contextlib.suppress(OSError):  # It has ended.
            cpu[task] = time.clock_gettime_ns(~task << 3 | 6)
    return time.monotonic_ns(), cpu

def steady(began, before, ended, after, statements):
    """The turn without its edges, unless a thread ended within."""
    cpu = sum(used - before.get(task, 0) for task, used in after.items())
    return {"steady": {"wall_ns": ended - began, "cpu_ns": cpu, "statements": statements}} if before.keys() <= after.keys() else {}

class Collections:
    """The CPU time of the garbage collector so far, by the clock of the thread in which it runs."""
    cpu_ns = 0
    def __init__(self):
        gc.callbacks.append(self.note)
    def note(self, phase, _):
        self.cpu_ns += time.thread_time_ns() * (-1 if phase == "start" else 1)
