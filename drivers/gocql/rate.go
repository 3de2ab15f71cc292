package main

import (
	"errors"
	"fmt"
	"math"
	"os"
	"time"

	"golang.org/x/sys/unix"
)

const (
	// lateAfter: a statement issued later than this after its intended start is late.
	lateAfter = int64(time.Millisecond)
	// Go's own timers wake an idle process once per millisecond, so a timer of the kernel wakes the pacer.
	shortestSleep = int64(50 * time.Microsecond)
	longestSleep  = int64(100 * time.Millisecond)
	// stretch is that of the right answers of a trace.
	stretch = int64(10 * time.Millisecond)
)

// atRate issues statement i at the first one's time plus i over the rate, as harness/worker/src/open_loop.rs explains. It returns the pace.
func (r *run) atRate(rate uint64) (message, error) {
	timer, err := unix.TimerfdCreate(unix.CLOCK_MONOTONIC, unix.TFD_NONBLOCK|unix.TFD_CLOEXEC)
	if err != nil {
		return nil, fmt.Errorf("statements cannot be started at a rate, because the system refuses a timer (timerfd): %w", err)
	}
	alarm := os.NewFile(uintptr(timer), "timer")
	defer alarm.Close()
	starts := make(chan answer)
	r.response, r.lateness = histogram(), histogram()
	r.start(func(s *slot) {
		for one := range starts {
			one.issued = r.now()
			s.add(s.execute(one))
		}
	})
	<-r.allBegun
	r.from = r.now()
	start := func(nth uint64) int64 {
		return r.from + int64(nth/rate)*int64(time.Second) + int64(nth%rate*uint64(time.Second)/rate)
	}
	over := int64(math.MaxInt64)
	if r.states != nil {
		over = start(max(r.count, 1)-1) + r.patience
	}
	for nth := uint64(0); nth < r.count && !r.stopped.Load() && err == nil; {
		intended := start(nth)
		if early := intended - r.now(); early > 0 {
			until := unix.NsecToTimespec(min(max(early, shortestSleep), longestSleep))
			if err = unix.TimerfdSettime(timer, 0, &unix.ItimerSpec{Value: until}, nil); err == nil {
				_, err = alarm.Read(make([]byte, 8))
			}
		} else if r.handOver(starts, answer{nth: nth, intended: intended}, over) {
			nth = r.next.Add(1)
		} else {
			break
		}
	}
	close(starts)
	r.waitUntil(over)
	if err != nil || r.answered == 0 {
		return nil, err
	}
	told := message{
		"rate": rate, "lasted_ns": r.last - r.from, "late_after_ns": lateAfter, "late": r.late, "latest_ns": r.latest,
	}
	return told, errors.Join(encode(r.response, told, "response"), encode(r.lateness, told, "lateness"))
}

// handOver gives a statement to a slot that is free, which may be late; false if none is before the time is over or the run is stopped.
func (r *run) handOver(starts chan<- answer, one answer, over int64) bool {
	select {
	case starts <- one:
		return true
	default:
	}
	for left := over - r.now(); left > 0 && !r.stopped.Load(); left = over - r.now() {
		select {
		case starts <- one:
			return true
		case <-time.After(time.Duration(min(left, longestSleep))):
		}
	}
	return false
}

// waitUntil waits for all slots, until the time of a trace is over; after a stop for the patience from now on.
func (r *run) waitUntil(over int64) {
	all, left := make(chan struct{}), over-r.now()
	go func() {
		r.slots.Wait()
		close(all)
	}()
	if r.states != nil && r.stopped.Load() {
		left = min(left, r.patience)
	}
	select {
	case <-all:
	case <-time.After(time.Duration(left)):
		r.Lock()
		r.isOver = true
		r.Unlock()
		r.end.Do(r.atEnd)
	}
}

// pace counts when an answer's statement was issued, and when it was to be.
func (r *run) pace(one answer) {
	lateness := one.issued - one.intended
	record(r.response, one.came-one.intended)
	record(r.lateness, lateness)
	r.latest, r.last = max(r.latest, lateness), max(r.last, one.came)
	if lateness > lateAfter {
		r.late++
	}
	if r.states != nil && one.err == nil {
		r.states[one.nth] = right
		r.right[min((one.came-r.from)/stretch, int64(len(r.right)-1))]++
	} else if r.states != nil {
		r.states[one.nth] = failed
	}
}

// state is what became of a ticket, as harness/worker/src/trace.rs keeps it.
type state uint8

const (
	unanswered state = iota
	right
	failed
)

// traces has the run keep track of single statements. The patience is how long answers are waited for after the last intended start.
func (r *run) traces(rate, patienceMs uint64) {
	r.patience, r.states = int64(patienceMs)*int64(time.Millisecond), make([]state, r.count)
	// With a second for answers that come late.
	r.right = make([]uint64, (int64(r.count/rate+2)*int64(time.Second)+r.patience)/stretch)
}

// tell adds what became of single statements. Those without an answer were issued, too.
func (r *run) tell(told message, issued map[string]uint64) {
	used := len(r.right)
	for used > 0 && r.right[used-1] == 0 {
		used--
	}
	runs, count := [failed + 1][][2]uint64{unanswered: {}, failed: {}}, r.answered
	for nth, state := range r.states[:r.taken()] {
		ticket, of := r.first+uint64(nth), &runs[state]
		if last := len(*of) - 1; last >= 0 && (*of)[last][0]+(*of)[last][1] == ticket {
			(*of)[last][1]++
		} else {
			*of = append(*of, [2]uint64{ticket, 1})
		}
		if state == unanswered {
			count++
			index, _, _ := r.tape.ticket(uint64(nth))
			issued[r.tape.statements[index].Name]++
		}
	}
	told["issued"] = count
	told["trace"] = message{"failed": runs[failed], "unanswered": runs[unanswered], "answers_per_10ms": r.right[:used]}
}
