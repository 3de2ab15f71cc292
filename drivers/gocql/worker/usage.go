package worker

import (
	"fmt"
	"os"
	"runtime"
	"strconv"

	"golang.org/x/sys/unix"
)

// edge is monotonic time and the process' resource usage at one moment.
type edge struct {
	at    int64
	usage unix.Rusage
}

// beginEdge is where a window begins; the clock is read last.
func beginEdge() (edge, error) {
	var begin edge
	err := unix.Getrusage(unix.RUSAGE_SELF, &begin.usage)
	if err == nil {
		begin.at, err = monotonic()
	}
	return begin, unmeasured(err)
}

// untilNow is the difference from the edge; the clock is read first.
func (e *edge) untilNow() (end, error) {
	var now unix.Rusage
	at, err := monotonic()
	if err == nil {
		err = unix.Getrusage(unix.RUSAGE_SELF, &now)
	}
	return end{
		Type: "end", WallNs: at - e.at, AtNs: at,
		UserUs:              microseconds(now.Utime) - microseconds(e.usage.Utime),
		SysUs:               microseconds(now.Stime) - microseconds(e.usage.Stime),
		VoluntarySwitches:   now.Nvcsw - e.usage.Nvcsw,
		InvoluntarySwitches: now.Nivcsw - e.usage.Nivcsw,
		MinorFaults:         now.Minflt - e.usage.Minflt,
		MajorFaults:         now.Majflt - e.usage.Majflt,
	}, unmeasured(err)
}

// countsAllocations names the file in which the parent has allocations of the C library counted: it is set if they are asked for.
const countsAllocations = "CQLDYNO_ALLOCATIONS"

// allocated is what the runtime records of allocations so far, if they are asked for. Reading it stops the world, so it is read outside
// of the window.
func allocated() *allocations {
	if _, asked := os.LookupEnv(countsAllocations); !asked {
		return nil
	}
	var stats runtime.MemStats
	runtime.ReadMemStats(&stats)
	return &allocations{stats.Mallocs, stats.TotalAlloc, stats.Frees}
}

// since is the difference, if there is one.
func (a *allocations) since(earlier *allocations) *allocations {
	if a == nil || earlier == nil {
		return nil
	}
	return &allocations{a.Count - earlier.Count, a.Bytes - earlier.Bytes, a.Frees - earlier.Frees}
}

// moment is monotonic time and the CPU time of each thread inside the window. The process' own figure would miss up to a tick of every
// thread that is running on another core.
type moment struct {
	at  int64
	cpu map[int]int64
}

func now() *moment { return momentOf(tasks()) }

// later is a later moment of the same process. New threads are looked for when the clocks of the others were read.
func (m *moment) later() *moment {
	known := make([]int, 0, len(m.cpu))
	for task := range m.cpu {
		known = append(known, task)
	}
	is := momentOf(known)
	for task, cpu := range now().cpu {
		if _, has := m.cpu[task]; !has {
			is.cpu[task] = cpu
		}
	}
	return is
}

func momentOf(tasks []int) *moment {
	is := &moment{cpu: make(map[int]int64, len(tasks))}
	for _, task := range tasks {
		var used unix.Timespec
		// The kernel's encoding of a thread's clock (CPUCLOCK_PERTHREAD and CPUCLOCK_SCHED).
		if unix.ClockGettime(int32(^task<<3|6), &used) == nil {
			is.cpu[task] = used.Nano()
		}
	}
	is.at, _ = monotonic()
	return is
}

// since is the time and the CPU time of all threads, unless one of them is gone.
func (m *moment) since(earlier *moment) (wall, cpu int64, whole bool) {
	for task := range earlier.cpu {
		if _, has := m.cpu[task]; !has {
			return 0, 0, false
		}
	}
	for task, used := range m.cpu {
		cpu += used - earlier.cpu[task]
	}
	return m.at - earlier.at, cpu, len(earlier.cpu) > 0
}

func unmeasured(err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("the system does not tell the process' time or resource usage: %w", err)
}

// monotonic is CLOCK_MONOTONIC in nanoseconds, which all processes of a machine share.
func monotonic() (int64, error) {
	var now unix.Timespec
	err := unix.ClockGettime(unix.CLOCK_MONOTONIC, &now)
	return now.Nano(), err
}

func microseconds(time unix.Timeval) int64 {
	return time.Sec*1_000_000 + time.Usec
}

// tasks are the threads of this process.
func tasks() []int {
	entries, _ := os.ReadDir("/proc/self/task")
	tasks := make([]int, 0, len(entries))
	for _, entry := range entries {
		if task, err := strconv.Atoi(entry.Name()); err == nil {
			tasks = append(tasks, task)
		}
	}
	return tasks
}
