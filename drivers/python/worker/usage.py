"""What a window cost: clocks, resource usage, threads, garbage collection."""
import gc, os, resource, time

def usage():
    used = resource.getrusage(resource.RUSAGE_SELF)
    return {"wall_ns": time.monotonic_ns(), "user_us": round(used.ru_utime * 1e6), "sys_us": round(used.ru_stime * 1e6),
            "voluntary_switches": used.ru_nvcsw, "involuntary_switches": used.ru_nivcsw, "minor_faults": used.ru_minflt,
            "major_faults": used.ru_majflt}

def since(before):
    now = usage()
    return {"at_ns": now["wall_ns"], **{name: now[name] - before[name] for name in now}}

def threads():
    return len(os.listdir("/proc/self/task"))

def moment():
    """Monotonic time, and the CPU time of each thread by the kernel's encoding of its clock (CPUCLOCK_PERTHREAD and CPUCLOCK_SCHED)."""
    cpu = {}
    for task in map(int, os.listdir("/proc/self/task")):
        try:
            cpu[task] = time.clock_gettime_ns(~task << 3 | 6)
        except OSError:
            pass  # It has ended.
    return time.monotonic_ns(), cpu

def steady(first, last, statements):
    """The turn without its edges, unless a thread ended within."""
    (began, before), (ended, after) = first, last
    if before.keys() - after.keys():
        return None
    cpu = sum(used - before.get(task, 0) for task, used in after.items())
    return {"wall_ns": ended - began, "cpu_ns": cpu, "statements": statements}

class Collections:
    """The CPU time of the garbage collector so far, by the clock of the thread in which it runs."""
    def __init__(self):
        self.cpu_ns, self.began = 0, 0
        gc.callbacks.append(self.note)
    def note(self, phase, _):
        if phase == "start":
            self.began = time.thread_time_ns()
        else:
            self.cpu_ns += time.thread_time_ns() - self.began
