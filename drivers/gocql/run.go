package main

import (
	"fmt"
	"os"
	"runtime"
	"runtime/debug"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"
	"golang.org/x/sys/unix"
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

	// What follows counts the answers; response, lateness, late, latest and last are for a rate.
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
			defer func() {
				if panicked := recover(); panicked != nil {
					debug.PrintStack()
					r.link.fail("crash", fmt.Errorf("the driver panicked while it executed a statement: %v", panicked))
				}
			}()
			one := r.newSlot()
			if r.begun.Add(1) == r.width {
				close(r.allBegun)
			}
			loop(one)
			if r.left.Add(-1) == 0 {
				r.end.Do(r.atEnd)
			}
			one.count()
		}()
	}
}

// closed has each slot issue its next ticket after an answer, and waits for the last one.
func (r *run) closed() {
	if program, is := r.session.(interface{ run(*run) }); is {
		program.run(r)
		return
	}
	r.start(func(s *slot) {
		before := r.now()
		for nth, more := r.take(); more; nth, more = r.take() {
			steady := r.begun.Load() == r.width
			if !steady {
				s.below++
			}
			is := s.execute(answer{nth: nth, issued: before})
			before = is.came
			s.add(is)
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
}

// slot issues one statement at a time. It counts several answers at once, to lock seldom.
type slot struct {
	*run
	room    []any
	rows    []*rows
	waiting []answer
	below   uint64
}

func (r *run) newSlot() *slot {
	s := &slot{run: r, waiting: make([]answer, 0, 16)}
	if r.states != nil {
		s.waiting = s.waiting[:0:1]
	}
	for i := range r.tape.statements {
		one := &r.tape.statements[i]
		s.room = append(s.room, make([]any, max(len(one.values)-len(s.room), 0))...)
		s.rows = append(s.rows, newRows(one))
	}
	return s
}

// execute issues a ticket of the turn.
func (s *slot) execute(is answer) answer {
	index, count, of := s.tape.ticket(is.nth)
	one, rows, all := &s.tape.statements[index], s.rows[index], s.tape.statements[index:index+1]
	is.statement = index
	if one.Operation == "batch" {
		var batch [][]any
		for range count / max(len(one.values), 1) {
			batch = append(batch, one.bind(&of, make([]any, len(one.values))))
		}
		rows.begin(s.first+is.nth, s.tape, of)
		is.err = s.session.batch(one.CQL, batch, one.Logged)
	} else {
		values, session := one.bind(&of, s.room), s.session
		rows.begin(s.first+is.nth, s.tape, of)
		if s.opens {
			all = s.tape.statements
		}
		if s.opens || one.Operation == "connect" {
			if session, is.err = s.connect(s.job); is.err == nil {
				defer session.Close()
			}
			for i := 0; i < len(all) && is.err == nil; i++ {
				if all[i].Operation != "unprepared" {
					_, is.err = session.prepare(all[i].CQL)
				}
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

func histogram() *hdrhistogram.Histogram { return hdrhistogram.New(1, int64(time.Hour), 3) }

func record(into *hdrhistogram.Histogram, nanoseconds int64) {
	// Within the bounds it has no error.
	_ = into.RecordValue(min(max(nanoseconds, 1), int64(time.Hour)))
}

// now is the time since the run began, in nanoseconds.
func (r *run) now() int64 { return int64(time.Since(r.origin)) }

// add has an answer counted soon, and one of a trace at once.
func (s *slot) add(is answer) {
	if s.waiting = append(s.waiting, is); len(s.waiting) == cap(s.waiting) {
		s.count()
	}
	if is.err != nil {
		s.stopped.Store(s.stopAtError || s.stopped.Load())
		// Without this, a driver that fails at once would keep its own goroutines from mending what is broken.
		runtime.Gosched()
	}
}

// count counts the answers that wait.
func (s *slot) count() {
	r := s.run
	r.Lock()
	defer r.Unlock()
	if r.isOver {
		runtime.Goexit()
	}
	for _, one := range s.waiting {
		record(r.latencies, one.came-one.issued)
		r.byStatement[one.statement]++
		r.answered++
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
	r.below += s.below
	s.waiting, s.below = s.waiting[:0], 0
}

// fail counts an error, if it is one.
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

// encode puts a histogram in V2 form and base64 into a message, if there is anything in it.
func encode(h *hdrhistogram.Histogram, told message, name string) error {
	if h.TotalCount() == 0 {
		return nil
	}
	text, err := h.Encode(hdrhistogram.V2CompressedEncodingCookieBase)
	told[name] = string(text)
	return err
}

// done is what the turn's last message says.
func (r *run) done() (message, error) {
	issued := map[string]uint64{}
	for i, count := range r.byStatement {
		issued[r.tape.statements[i].Name] += count
	}
	told := message{
		"issued": r.answered, "answered": r.answered, "verified": r.answered - min(r.failed, r.answered), "issued_by_statement": issued,
		"errors": r.errors, "per_second": r.perSecond,
	}
	if r.begun.Load() > 0 {
		told["below_concurrency"] = r.below
	}
	if r.states != nil {
		r.tell(told, issued)
	}
	return told, encode(r.latencies, told, "histogram")
}

// clocks are monotonic time and the CPU time of each thread inside the window. The process' own figure would miss up to a tick of every
// thread that is running on another core.
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

// used are the names of what usage has after the time.
var used = []string{
	"user_us", "sys_us", "voluntary_switches", "involuntary_switches", "minor_faults", "major_faults",
}

// usage is monotonic time and the process' resource usage. It reads the clock last where a window begins, and first where it ends.
func (l *link) usage(begins bool) [7]int64 {
	at, _ := clock(unix.CLOCK_MONOTONIC)
	var is unix.Rusage
	if err := unix.Getrusage(unix.RUSAGE_SELF, &is); err != nil {
		l.fail("job", fmt.Errorf("the system does not tell the process' resource usage: %w", err))
	}
	if begins {
		at, _ = clock(unix.CLOCK_MONOTONIC)
	}
	return [7]int64{at, is.Utime.Nano() / 1000, is.Stime.Nano() / 1000, is.Nvcsw, is.Nivcsw, is.Minflt, is.Majflt}
}

// allocations are count, bytes and frees that the runtime records. Reading them stops the world.
func allocations(areAsked bool) [3]uint64 {
	var stats runtime.MemStats
	if areAsked {
		runtime.ReadMemStats(&stats)
	}
	return [3]uint64{stats.Mallocs, stats.TotalAlloc, stats.Frees}
}
