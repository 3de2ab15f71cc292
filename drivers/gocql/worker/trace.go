package worker

import (
	"errors"
	"fmt"
	"runtime"
	"sync"
	"time"
)

// What becomes of single statements, as harness/worker/src/trace.rs keeps it: each ticket has a state of its own. A goroutine that waits
// for an answer cannot be ended, so what comes after the patience is not counted.
const (
	mostTraced   = 1_000_000
	longestTrace = time.Hour
	stretch      = int64(10 * time.Millisecond)
)

// state is what became of a ticket.
type state uint8

const (
	unanswered state = iota
	right
	failed
)

// tracer has the tickets of one window, counted from 0.
type tracer struct {
	sync.Mutex
	// patience is how long answers are waited for after the last intended start, in nanoseconds.
	patience int64
	origin   int64
	states   []state
	// right are the right answers by 10 ms since the first intended start; later ones count in the last.
	right  []uint64
	isOver bool
}

func newTracer(count, rate, patienceMs uint64) *tracer {
	patience := time.Duration(patienceMs) * time.Millisecond
	// With a second for answers that come late.
	lasts := time.Duration(count/rate+2)*time.Second + patience
	return &tracer{patience: int64(patience), states: make([]state, count), right: make([]uint64, int64(lasts)/stretch)}
}

// checkTrace refuses a trace that is impossible.
func (j *job) checkTrace() error {
	switch {
	case j.Trace == nil:
		return nil
	case j.Mode != "measure" || j.Rate == nil:
		return errors.New("single statements were to be traced, and the job has neither a rate nor the mode read_back; set one of them, " +
			"or leave trace out")
	case j.Count > mostTraced:
		return fmt.Errorf("%d statements were to be traced one by one; at most %d are possible: set count to fewer", j.Count, mostTraced)
	}
	seconds := j.Count / *j.Rate + j.Trace.PatienceMs/1000
	if seconds > uint64(longestTrace/time.Second) {
		return fmt.Errorf("a window of %d s with its patience was to be traced; at most %d s are possible: set a higher rate, a lower count "+
			"or less patience", seconds, longestTrace/time.Second)
	}
	return nil
}

// handOver gives a statement to a slot that is free; false if none is before the time is over or the run is stopped.
func (r *run) handOver(starts chan<- due, one due, over int64) bool {
	select {
	case starts <- one:
		return true
	default:
	}
	for left := over - r.counts.now(); left > 0 && !r.gauge.stopped.Load(); left = over - r.counts.now() {
		select {
		case starts <- one:
			return true
		case <-time.After(min(time.Duration(left), longestSleep)):
		}
	}
	return false
}

// traced counts an answer, unless no slot is waited for any more.
func (r *run) traced(s *slot, one due, came answer, err error) {
	r.trace.count(one.ticket-r.gauge.first, err, came.came, func() {
		s.answers.add(r.counts, came)
		r.counts.takeIn(&s.answers)
		if err != nil {
			r.counts.fail(err)
		}
	})
	if err != nil {
		// As without a trace.
		runtime.Gosched()
	}
}

// count notes an answer and has it counted; it ends the goroutine if the patience has ended.
func (t *tracer) count(nth uint64, err error, came int64, also func()) {
	t.Lock()
	defer t.Unlock()
	if t.isOver {
		runtime.Goexit()
	}
	t.states[nth] = failed
	if err == nil {
		t.states[nth] = right
		t.right[min((came-t.origin)/stretch, int64(len(t.right)-1))]++
	}
	also()
}

// waitUntil waits for all slots, until the time is over; after a stop for the patience from now on.
func (r *run) waitUntil(over int64) {
	all := make(chan struct{})
	go func() {
		r.slots.Wait()
		close(all)
	}()
	now := r.counts.now()
	if r.gauge.stopped.Load() {
		over = min(over, now+r.trace.patience)
	}
	select {
	case <-all:
		return
	case <-time.After(time.Duration(over - now)):
	}
	r.trace.Lock()
	r.trace.isOver = true
	r.trace.Unlock()
	r.end.Do(r.atEnd)
}

// tell adds what became of single statements. Those without an answer were issued, too.
func (t *tracer) tell(told *done, r *run, names []string) {
	t.Lock()
	defer t.Unlock()
	for nth, state := range t.states[:r.gauge.taken()] {
		if state == unanswered {
			told.Issued++
			told.IssuedByStatement[names[r.issue(r.gauge.first+uint64(nth)).Statement]]++
		}
	}
	used := len(t.right)
	for used > 0 && t.right[used-1] == 0 {
		used--
	}
	told.Trace = &traced{t.runs(failed, r.gauge), t.runs(unanswered, r.gauge), t.right[:used]}
}

// runs are the issued tickets in this state.
func (t *tracer) runs(in state, of *gauge) [][2]uint64 {
	runs := [][2]uint64{}
	for nth, state := range t.states[:of.taken()] {
		ticket := of.first + uint64(nth)
		if state != in {
			continue
		}
		if last := len(runs) - 1; last >= 0 && runs[last][0]+runs[last][1] == ticket {
			runs[last][1]++
		} else {
			runs = append(runs, [2]uint64{ticket, 1})
		}
	}
	return runs
}
