package worker

import (
	"fmt"
	"os"

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

// threads is the number of threads of this process.
func threads() int {
	tasks, _ := os.ReadDir("/proc/self/task")
	return len(tasks)
}
