package main

import (
	"fmt"
	"math"
	"os"
	"runtime"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"
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

// run is the tickets of a warm-up or a turn, and what their slots share.
type run struct {
	*worker
	first, count uint64
	next         atomic.Uint64
	stopped      atomic.Bool
	// width is the number of slots. stopAtError ends the run at the first error, and opens has a session for each statement.
	width              int64
	stopAtError, opens bool
	// edges are the tickets at which the part begins and ends in which all slots are at work; began and steady are of these moments.
	edges  [2]uint64
	began  atomic.Pointer[clocks]
	steady atomic.Value
	// atEnd is called by the slot that had the last answer, before any other work; or when no slot is waited for any more.
	atEnd       func()
	end         sync.Once
	begun, left atomic.Int64
	allBegun    chan struct{}
	slots       sync.WaitGroup

	// response, lateness, late, latest and last are for a rate.
	sync.Mutex
	origin                        time.Time
	latencies, response, lateness *hdrhistogram.Histogram
	byStatement, perSecond        []uint64
	errors                        map[string]*errorCount
	answered, failed, below, late uint64
	latest, last                  int64
	// What a trace has: what became of each ticket, and right answers by 10 ms; later ones count in the last.
	states         []state
	right          []uint64
	patience, from int64
	// isOver: a goroutine that waits for an answer cannot be ended, so what comes after the patience is not counted.
	isOver bool
}

// answer is when a statement was to be issued, was issued and was answered, in nanoseconds, and what was wrong with it.
type answer struct {
	nth                    uint64
	statement              int
	intended, issued, came int64
	err                    error
}

type errorCount struct {
	Count uint64 `json:"count"`
	First string `json:"first"`
}

// run is one of so many tickets, which progress reports and stop stops from now on.
func (w *worker) run(first, count uint64) *run {
	w.link.Lock()
	defer w.link.Unlock()
	w.link.run = &run{
		worker: w, first: first, count: count, width: int64(w.Concurrency), atEnd: func() {}, allBegun: make(chan struct{}),
		origin: time.Now(), latencies: histogram(), byStatement: make([]uint64, len(w.tape.statements)), perSecond: []uint64{},
		errors: map[string]*errorCount{},
	}
	return w.link.run
}

// take is the number of the next ticket in the turn.
func (r *run) take() (uint64, bool) {
	if r.stopped.Load() {
		return 0, false
	}
	nth := r.next.Add(1) - 1
	if r.edges[1] > 0 && nth == r.edges[0] {
		r.began.Store(clocksNow())
	} else if r.edges[1] > 0 && nth == r.edges[1] && r.began.Load() != nil {
		if told := r.began.Load().since(); told != nil {
			told["statements"] = r.edges[1] - r.edges[0]
			r.steady.Store(told)
		}
	}
	return nth, nth < r.count
}

func (r *run) taken() uint64 { return min(r.next.Load(), r.count) }

// start starts the slots, each a goroutine that runs loop.
func (r *run) start(loop func(*slot)) {
	r.left.Store(r.width)
	for range r.width {
		r.slots.Add(1)
		go func() {
			defer r.slots.Done()
			defer r.link.crashed("the driver panicked while it executed a statement")
			one := r.newSlot()
			if r.begun.Add(1) == r.width {
				close(r.allBegun)
			}
			loop(one)
			if r.left.Add(-1) == 0 {
				r.end.Do(r.atEnd)
			}
		}()
	}
}

// closed has each slot issue its next ticket after an answer, and waits for the last one.
func (r *run) closed() (message, error) {
	if program, is := r.session.(interface{ run(*run) }); is {
		program.run(r)
		return nil, nil
	}
	r.start(func(s *slot) {
		before := r.now()
		for nth, more := r.take(); more; nth, more = r.take() {
			steady := r.begun.Load() == r.width
			is := s.execute(answer{nth: nth, issued: before})
			before = is.came
			r.add(is, !steady)
			if !steady {
				// No slot issues a second statement before all have begun.
				<-r.allBegun
			}
			if !steady || r.opens || r.tape.statements[is.statement].Operation == "connect" {
				// Waiting, or closing a session, is not the next statement's.
				before = r.now()
			}
		}
	})
	r.slots.Wait()
	return nil, nil
}

type slot struct {
	*run
	room []any
	rows []*rows
}

func (r *run) newSlot() *slot {
	s := &slot{run: r}
	for i := range r.tape.statements {
		one := &r.tape.statements[i]
		s.room = append(s.room, make([]any, max(len(one.values)-len(s.room), 0))...)
		s.rows = append(s.rows, newRows(one))
	}
	return s
}

func (s *slot) execute(is answer) answer {
	index, count, of := s.tape.ticket(is.nth)
	one, rows, session := &s.tape.statements[index], s.rows[index], s.session
	is.statement = index
	if one.Operation == "batch" {
		var batch [][]any
		for range count / max(len(one.values), 1) {
			batch = append(batch, one.bind(&of, make([]any, len(one.values))))
		}
		rows.begin(s.first+is.nth, s.tape, of)
		is.err = session.batch(one.CQL, batch, one.Logged)
	} else {
		values := one.bind(&of, s.room)
		rows.begin(s.first+is.nth, s.tape, of)
		if s.opens || one.Operation == "connect" {
			if session, is.err = s.open(one); session != nil {
				defer session.Close()
			}
		}
		if is.err == nil {
			is.err = session.execute(one.CQL, values, rows)
		}
	}
	is.came = s.now()
	if is.err == nil {
		is.err = rows.finish()
	}
	return is
}

// open connects, and prepares the statement, or all.
func (r *run) open(of *statement) (session, error) {
	session, err := r.connect(r.job)
	for _, one := range r.tape.statements {
		if err == nil && one.Operation != "unprepared" && (r.opens || one.CQL == of.CQL) {
			_, err = session.prepare(one.CQL)
		}
	}
	return session, err
}

// atRate issues statement i at the first one's time plus i over the rate. With a trace it waits for the patience after the last start or a stop.
func (r *run) atRate() (message, error) {
	timer, err := unix.TimerfdCreate(unix.CLOCK_MONOTONIC, unix.TFD_NONBLOCK|unix.TFD_CLOEXEC)
	if err != nil {
		return nil, fmt.Errorf("statements cannot be started at a rate, because the system refuses a timer (timerfd): %w", err)
	}
	alarm := os.NewFile(uintptr(timer), "timer")
	defer alarm.Close()
	starts, rate := make(chan answer), *r.Rate
	r.response, r.lateness = histogram(), histogram()
	r.start(func(s *slot) {
		for one := range starts {
			one.issued = r.now()
			r.add(s.execute(one), false)
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
	if err != nil || r.answered == 0 {
		return nil, err
	}
	return message{
		"rate": rate, "lasted_ns": r.last - r.from, "late_after_ns": lateAfter, "late": r.late, "latest_ns": r.latest,
		"response": encode(r.response), "lateness": encode(r.lateness),
	}, nil
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
func (r *run) traces() {
	r.patience, r.states = int64(r.Trace.PatienceMs)*int64(time.Millisecond), make([]state, r.count)
	// With a second for answers that come late.
	r.right = make([]uint64, (int64(r.count / *r.Rate + 2)*int64(time.Second)+r.patience)/stretch)
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

func histogram() *hdrhistogram.Histogram { return hdrhistogram.New(1, int64(time.Hour), 3) }

func record(into *hdrhistogram.Histogram, nanoseconds int64) {
	// Within the bounds it has no error.
	_ = into.RecordValue(min(max(nanoseconds, 1), int64(time.Hour)))
}

func (r *run) now() int64 { return int64(time.Since(r.origin)) }

// add counts an answer, whose statement may have been issued below the concurrency.
func (r *run) add(one answer, isBelow bool) {
	if one.err != nil {
		if r.stopAtError {
			r.stopped.Store(true)
		}
		// Without this, a driver that fails at once would keep its own goroutines from mending what is broken.
		defer runtime.Gosched()
	}
	r.Lock()
	defer r.Unlock()
	if r.isOver {
		runtime.Goexit()
	}
	record(r.latencies, one.came-one.issued)
	r.byStatement[one.statement]++
	r.answered++
	if isBelow {
		r.below++
	}
	// A clock that jumps must not cost unbounded memory.
	second := int(min(one.came/int64(time.Second), 1<<20))
	for len(r.perSecond) <= second {
		r.perSecond = append(r.perSecond, 0)
	}
	r.perSecond[second]++
	r.fail(one.err)
	if r.response != nil {
		r.pace(one)
	}
}

func (r *run) fail(err error) {
	if err == nil {
		return
	}
	r.failed++
	kind := kindOfError(err)
	if r.errors[kind] == nil {
		r.errors[kind] = &errorCount{First: err.Error()}
	}
	r.errors[kind].Count++
}

// encode is a histogram in V2 form and base64; nil if there is nothing in it.
func encode(h *hdrhistogram.Histogram) any {
	text, err := h.Encode(hdrhistogram.V2CompressedEncodingCookieBase)
	if err != nil || h.TotalCount() == 0 {
		return nil
	}
	return string(text)
}

// done is what the turn's last message says.
func (r *run) done() message {
	issued := map[string]uint64{}
	for i, count := range r.byStatement {
		issued[r.tape.statements[i].Name] += count
	}
	told := message{
		"issued": r.answered, "answered": r.answered, "verified": r.answered - min(r.failed, r.answered), "issued_by_statement": issued,
		"errors": r.errors, "per_second": r.perSecond, "histogram": encode(r.latencies),
	}
	if r.begun.Load() > 0 {
		told["below_concurrency"] = r.below
	}
	if r.states != nil {
		r.tell(told, issued)
	}
	return told
}

// clocks are monotonic time and the CPU time of each thread. The process' own would miss up to a tick of each that runs on another core.
type clocks struct {
	at  int64
	cpu map[int]int64
}

func clocksNow() *clocks {
	is := &clocks{cpu: map[int]int64{}}
	for _, task := range tasks() {
		is.cpu[task], _ = clock(task)
	}
	is.at, _ = clock(unix.CLOCK_MONOTONIC)
	return is
}

// since is what was used since then; nil if a thread is gone. New threads are looked for when the clocks of the others were read.
func (c *clocks) since() message {
	at, _ := clock(unix.CLOCK_MONOTONIC)
	sum := int64(0)
	for task, then := range c.cpu {
		used, is := clock(task)
		if !is {
			return nil
		}
		sum += used - then
	}
	for _, task := range tasks() {
		if _, known := c.cpu[task]; !known {
			used, _ := clock(task)
			sum += used
		}
	}
	return message{"wall_ns": at - c.at, "cpu_ns": sum}
}

// clock reads one; that of a thread is what tasks has for it.
func clock(id int) (int64, bool) {
	var now unix.Timespec
	err := unix.ClockGettime(int32(id), &now)
	return now.Nano(), err == nil
}

// tasks are the CPU clocks of this process' threads, in the kernel's encoding (CPUCLOCK_PERTHREAD and CPUCLOCK_SCHED).
func tasks() (clocks []int) {
	entries, _ := os.ReadDir("/proc/self/task")
	for _, entry := range entries {
		if task, err := strconv.Atoi(entry.Name()); err == nil {
			clocks = append(clocks, ^task<<3|6)
		}
	}
	return clocks
}

// usage is monotonic time, read last where a window begins and first where it ends, and the process' resource usage.
func (l *link) usage(begins bool) map[string]int64 {
	at, _ := clock(unix.CLOCK_MONOTONIC)
	var is unix.Rusage
	if err := unix.Getrusage(unix.RUSAGE_SELF, &is); err != nil {
		l.fail("job", fmt.Errorf("the system does not tell the process' resource usage: %w", err))
	}
	told := map[string]int64{
		"user_us": is.Utime.Nano() / 1000, "sys_us": is.Stime.Nano() / 1000, "voluntary_switches": is.Nvcsw,
		"involuntary_switches": is.Nivcsw, "minor_faults": is.Minflt, "major_faults": is.Majflt, "wall_ns": at,
	}
	if begins {
		told["wall_ns"], _ = clock(unix.CLOCK_MONOTONIC)
	}
	return told
}
