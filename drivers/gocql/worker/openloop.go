package worker

import (
	"fmt"
	"os"
	"time"

	"golang.org/x/sys/unix"
)

// The open loop, as harness/worker/src/open_loop.rs explains it: statement i is to start at the first one's time plus i over the
// rate. Go's own timers wake an idle process once per millisecond, so a timer of the kernel wakes the pacer.
const (
	shortestSleep = 50 * time.Microsecond
	longestSleep  = 100 * time.Millisecond
)

// due is a statement that may start.
type due struct {
	ticket   uint64
	intended int64
}

// atRate issues all tickets at this rate, and waits for the last answer.
func (r *run) atRate(rate uint64) (*pace, error) {
	alarm, err := newAlarm()
	if err != nil {
		return nil, err
	}
	defer alarm.Close()
	starts := make(chan due)
	r.start(func(s *slot) {
		for one := range starts {
			issue := r.issue(one.ticket)
			issued := r.counts.now()
			came, err := s.execute(issue)
			if r.trace != nil {
				r.traced(s, one, answer{issue.Statement, one.intended, issued, came}, err)
				continue
			}
			s.answers.add(r.counts, answer{issue.Statement, one.intended, issued, came})
			if err != nil {
				r.failed(err)
			}
		}
	})
	<-r.allBegun
	origin := r.counts.now()
	start := func(nth uint64) int64 {
		return origin + int64(nth/rate)*int64(time.Second) + int64(nth%rate*uint64(time.Second)/rate)
	}
	last := start(max(r.gauge.count, 1) - 1)
	if r.trace != nil {
		r.trace.origin = origin
	}
	for nth := uint64(0); nth < r.gauge.count && !r.gauge.stopped.Load(); {
		intended := start(nth)
		if early := time.Duration(intended - r.counts.now()); early > 0 {
			if err = alarm.sleep(min(max(early, shortestSleep), longestSleep)); err != nil {
				break
			}
			continue
		}
		// It waits while all slots are taken; the statement then starts late.
		one := due{r.gauge.first + nth, intended}
		if r.trace == nil {
			starts <- one
		} else if !r.handOver(starts, one, last+r.trace.patience) {
			break
		}
		r.gauge.next.Add(1)
		nth++
	}
	close(starts)
	if r.trace == nil {
		r.slots.Wait()
	} else {
		r.waitUntil(last + r.trace.patience)
	}
	if err != nil {
		return nil, err
	}
	return r.counts.pace(rate, origin)
}

func (r *recorder) pace(rate uint64, origin int64) (*pace, error) {
	p := r.paced
	response, err := encoded(p.response)
	if err != nil || response == "" {
		return nil, err
	}
	lateness, err := encoded(p.lateness)
	told := &pace{rate, p.last - origin, response, lateness, int64(lateAfter), p.late, p.latest}
	return told, err
}

// alarm is a timer of the kernel that wakes a goroutine up.
type alarm struct{ *os.File }

func newAlarm() (alarm, error) {
	fd, err := unix.TimerfdCreate(unix.CLOCK_MONOTONIC, unix.TFD_NONBLOCK|unix.TFD_CLOEXEC)
	if err != nil {
		return alarm{}, noTimer(err)
	}
	return alarm{os.NewFile(uintptr(fd), "timer")}, nil
}

func noTimer(err error) error {
	return fmt.Errorf("statements cannot be started at a rate, because the system refuses a timer (timerfd): %w", err)
}

func (a alarm) sleep(time time.Duration) error {
	connection, err := a.SyscallConn()
	if err == nil {
		var refused error
		err = connection.Control(func(fd uintptr) {
			refused = unix.TimerfdSettime(int(fd), 0, &unix.ItimerSpec{Value: unix.NsecToTimespec(int64(time))}, nil)
		})
		if err == nil {
			err = refused
		}
	}
	if err == nil {
		_, err = a.Read(make([]byte, 8))
	}
	if err != nil {
		return noTimer(err)
	}
	return nil
}
