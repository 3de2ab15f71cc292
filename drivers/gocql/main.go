// The worker for gocql, in Go; drivers/PROTOCOL.md is what it speaks.
package main

import (
	"bufio"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/apache/cassandra-gocql-driver/v2"
	"golang.org/x/sys/unix"
)

// Limits of the protocol, and exit codes of a worker that failed and of one whose parent is gone.
const maxLine, mostInFlight, exitFailed, exitAbandoned = 16 << 20, 1 << 20, 1, 2

type message map[string]any

// job is what the parent asks for.
type job struct {
	Mode     string
	Scenario struct {
		Name, Submit string
		Statements   []statement `json:"statement"`
	}
	Count, Turns, Warmup uint64
	Concurrency          int
	Rate                 *uint64
	Runtime              struct{ Workers int }
	Target               []string
	Credentials          struct{ User, Password string }
	TLS                  *struct {
		CA     string
		Client struct{ Certificate, Key string }
	}
	Datacenter, Consistency, Settings string
	Connections                       int
	PageSize                          int   `json:"page_size"`
	RequestTimeoutMs                  int64 `json:"request_timeout_ms"`
	ProgressMs                        int64 `json:"progress_ms"`
	Options                           map[string]string
	Trace                             *struct {
		PatienceMs uint64 `json:"patience_ms"`
	}
	Tape *struct {
		Path       string
		Statements []struct{ Values, Columns []string }
	}
}

type heard struct {
	Type string
	AtNs int64 `json:"at_ns"`
	job
}

type link struct {
	sync.Mutex
	output *os.File
	inbox  chan heard
	// awaited is the message that may come, turns are those without an ack, and inWindow says that stop may come, which stops run.
	awaited  string
	turns    uint64
	inWindow bool
	failed   atomic.Bool
	run      *run
}

// say writes a message, after which another is awaited.
func (l *link) say(kind string, told message, awaited string) {
	l.Lock()
	defer l.Unlock()
	l.awaited = awaited
	l.write(kind, told)
}

// progress says how far a run is, as long as its answers are waited for.
func (l *link) progress(of *run) bool {
	l.Lock()
	defer l.Unlock()
	isOn := l.run == of && l.awaited == "" && of.ProgressMs > 0
	if isOn {
		l.write("progress", message{"issued": of.taken()})
	}
	return isOn
}

// fail says why the job cannot go on, and ends the process.
func (l *link) fail(kind string, err error) {
	fmt.Fprintf(os.Stderr, "cqldyno worker: %v\n", err)
	l.failed.Store(true)
	l.write("failed", message{"kind": kind, "message": err.Error()})
	os.Exit(exitFailed)
}

func (l *link) crashed(what string) {
	if panicked := recover(); panicked != nil {
		debug.PrintStack()
		l.fail("crash", fmt.Errorf("%s: %v", what, panicked))
	}
}

func (l *link) write(kind string, told message) {
	told["type"] = kind
	line, err := json.Marshal(told)
	if err == nil {
		_, err = l.output.Write(append(line, '\n'))
	}
	if err != nil {
		fmt.Fprintf(os.Stderr, "cqldyno worker: nobody reads what the worker says: %v\n", err)
		os.Exit(exitAbandoned)
	}
}

// listen hears the parent until it is gone, which it may be after the last ack.
func (l *link) listen(input io.Reader) {
	lines := bufio.NewScanner(input)
	lines.Buffer(nil, maxLine)
	for lines.Scan() {
		came, kind := heard{job: job{Turns: 1}}, "protocol"
		err := json.Unmarshal(lines.Bytes(), &came)
		if came.Type == "job" {
			kind = "job"
		}
		if err != nil {
			l.fail(kind, fmt.Errorf("a message of the worker protocol was expected, and the line %.80q was found: %w", lines.Bytes(), err))
		}
		l.hear(came)
	}
	if l.turns > 0 && !l.failed.Load() {
		fmt.Fprintf(os.Stderr, "cqldyno worker: standard input was closed before the end (%v); this program is started by cqldyno, which speaks "+
			"the worker protocol with it\n", lines.Err())
		os.Exit(exitAbandoned)
	}
}

func (l *link) hear(came heard) {
	l.Lock()
	defer l.Unlock()
	switch {
	case came.Type == "stop" && l.inWindow:
		// One that crossed end on its way stops nothing.
		l.run.stopped.Store(true)
		return
	case came.Type != l.awaited || came.Type == "":
		l.fail("protocol", fmt.Errorf("`%s` was expected from the parent, and `%s` came", cmp.Or(l.awaited, "nothing"), came.Type))
	case came.Type == "job":
		l.turns = came.Turns
	case came.Type == "ack":
		l.turns, l.run = l.turns-1, nil
	}
	l.awaited, l.inWindow = "", came.Type == "go"
	l.inbox <- came
}

// session is what statements are executed on: gocql's, a program's of its own, or one that a test makes up.
type session interface {
	// prepare returns gocql's types of the values.
	prepare(cql string) ([]gocql.TypeInfo, error)
	execute(cql string, values []any, rows *rows) error
	batch(cql string, values [][]any, logged bool) error
	settle()
	Close()
}

type worker struct {
	*job
	link    *link
	connect func(*job) (session, error)
	session session
	tape    *tape
}

// start is replaced by the program in benches/idiomatic-gocql.
var start = func() { serve(describe, connect) }

func main() { start() }

// serve says hello, carries out the job, and ends the process if that fails.
func serve(describe func() (message, error), connect func(*job) (session, error)) {
	// The protocol takes standard output, and descriptor 1 points at standard error.
	own, err := unix.FcntlInt(1, unix.F_DUPFD_CLOEXEC, 3)
	if err == nil {
		err = unix.Dup3(2, 1, 0)
	}
	link := &link{output: os.NewFile(uintptr(own), "standard output"), inbox: make(chan heard, 4), turns: 1}
	if err != nil {
		fmt.Fprintf(os.Stderr, "cqldyno worker: standard output cannot be taken for the protocol: %v\n", err)
		os.Exit(exitFailed)
	}
	defer link.crashed("the driver panicked")
	driver, err := describe()
	if err != nil {
		link.fail("describe", err)
	}
	var system unix.Utsname
	_ = unix.Uname(&system)
	link.say("hello", message{
		"protocol": 3, "turns": true, "tape": true, "language": "Go", "driver": driver,
		"settings": settings(&job{Connections: 1, Consistency: "LOCAL_ONE", PageSize: 5000}),
		// It has no id, because its load generator is another than that of the workers in Rust.
		"build": message{"id": "", "compiler": runtime.Version() + " " + runtime.GOOS + "/" + runtime.GOARCH, "profile": "release"},
		"machine": message{"host": unix.ByteSliceToString(system.Nodename[:]), "kernel": unix.ByteSliceToString(system.Release[:]),
			"cores": runtime.NumCPU()},
	}, "job")
	go link.listen(os.Stdin)
	came := <-link.inbox
	w := &worker{job: &came.job, link: link, connect: connect}
	if kind, err := w.carryOut(); err != nil {
		link.fail(kind, err)
	}
}

// check refuses a job that cannot be carried out, before anything is connected.
func (w *worker) check() error {
	submit, trace, name := w.Scenario.Submit, w.Trace, w.Scenario.Name
	switch {
	case w.Concurrency < 1 || w.Concurrency > mostInFlight:
		return fmt.Errorf("a concurrency of %d was asked for; ask for 1 to %d", w.Concurrency, mostInFlight)
	case w.Turns == 0 || w.Connections < 1 || len(w.Target) == 0 || w.Rate != nil && *w.Rate == 0:
		return errors.New("a job needs at least a turn, a connection per node, the address of a node, and, if there is a rate, a statement " +
			"per second; it has none of one of these")
	case w.Mode != "measure" && w.Mode != "connect":
		return fmt.Errorf("the mode %q was asked for, which is for floor; gocql knows measure and connect", w.Mode)
	case trace != nil && (w.Mode != "measure" || w.Rate == nil):
		return errors.New("single statements were to be traced, and the job has neither a rate nor the mode read_back; set one of them, " +
			"or leave trace out")
	case trace != nil && (w.Count > 1_000_000 || w.Count / *w.Rate + trace.PatienceMs/1000 > 3600):
		return fmt.Errorf("%d statements in %d s with the patience were to be traced one by one; at most 1000000 in 3600 s are possible: set a "+
			"higher rate, a lower count or less patience", w.Count, w.Count / *w.Rate + trace.PatienceMs/1000)
	case submit != "" && submit != "slots" && submit != "sequential":
		return fmt.Errorf("statements were to be submitted as %s, which is a way of async Rust; gocql knows slots and sequential", submit)
	}
	for _, one := range w.Scenario.Statements {
		if one.Operation == "connect" && trace != nil {
			return fmt.Errorf("the statement %s of the scenario %s opens a session of its own, so it cannot be traced; use another "+
				"operation, or leave trace out", one.Name, name)
		}
		if !slices.Contains(append(capabilities, "", "execute"), one.Operation) {
			return fmt.Errorf("the scenario %s issues the statement %s as %s, and gocql does not declare the capability %s", name, one.Name,
				one.Operation, one.Operation)
		}
	}
	return nil
}

// carryOut does the job; an error comes with its kind.
func (w *worker) carryOut() (string, error) {
	err := w.check()
	if err == nil {
		w.tape, err = openTape(w.job)
	}
	if err != nil {
		return "job", err
	}
	runtime.GOMAXPROCS(max(w.Runtime.Workers, 1))
	if w.session, err = w.connect(w.job); err != nil {
		kind := "connect"
		if kindOfError(err) == "bad_credentials" {
			kind = "bad_credentials"
		}
		return kind, fmt.Errorf("gocql could not connect to %s: %w", strings.Join(w.Target, ", "), err)
	}
	w.session.settle()
	for _, one := range w.tape.statements {
		// One that is to be sent unprepared is prepared here alone, because gocql tells the types of its values.
		if one.Operation == "unprepared" && len(one.values) == 0 {
			continue
		}
		infos, err := w.session.prepare(one.CQL)
		if err != nil {
			return "prepare", fmt.Errorf("the statement %s (%s) could not be prepared: %w", one.Name, one.CQL, err)
		}
		copy(one.infos, infos)
	}
	if err := w.tape.turn(w.Warmup); err != nil {
		return "job", err
	}
	if err := w.warmUp(); err != nil {
		return "warm_up", err
	}
	kind, last, first := "ready", message{"settings": settings(w.job), "threads": len(tasks())}, uint64(0)
	for nth := range w.Turns {
		// The next turn begins at count*(nth+1)/turns.
		next := w.Count/w.Turns*(nth+1) + w.Count%w.Turns*(nth+1)/w.Turns
		if err = w.tape.turn(next - first); err == nil {
			last, err = w.turn(w.run(first, next-first), kind, last)
		}
		if err != nil {
			return "job", err
		}
		kind, first = "done", next
	}
	w.link.say(kind, last, "")
	return "", nil
}

func (w *worker) warmUp() error {
	run := w.run(0, w.Warmup)
	run.stopAtError = true
	w.link.progress(run)
	defer run.report()()
	_, _ = run.closed()
	for kind, first := range run.errors {
		return fmt.Errorf("the warm-up ended after %d of %d statements with %d errors, the first of kind %s: %s",
			run.answered, w.Warmup, run.failed, kind, first.First)
	}
	return nil
}

// report says progress, but wakes nobody often, until the function that it returns is called.
func (r *run) report() func() bool {
	every, timer := time.Duration(max(r.ProgressMs, 500))*time.Millisecond, atomic.Pointer[time.Timer]{}
	timer.Store(time.AfterFunc(every, func() {
		if r.link.progress(r) {
			timer.Load().Reset(every)
		}
	}))
	return timer.Load().Stop
}

// turn says the last message, waits for go, has all tickets issued, and waits for ack. It returns what `done` says.
func (w *worker) turn(run *run, kind string, last message) (message, error) {
	// The steady part is that of the load generator in Rust: from two rounds of tickets on, in a turn of at least eight.
	slots := uint64(w.Concurrency)
	if w.Mode == "connect" {
		run.width, run.opens = 1, true
	} else if w.Rate == nil && run.count >= 8*slots {
		run.edges = [2]uint64{2 * slots, run.count - 1}
	}
	if w.Trace != nil {
		run.traces()
	}
	w.link.say(kind, last, "go")
	if at := (<-w.link.inbox).AtNs; at > 0 {
		begins := unix.NsecToTimespec(at)
		for unix.ClockNanosleep(unix.CLOCK_MONOTONIC, unix.TIMER_ABSTIME, &begins, nil) == unix.EINTR {
		}
	}
	// It names the file in which the parent has allocations of the C library counted, if allocations are asked for.
	_, counts := os.LookupEnv("CQLDYNO_ALLOCATIONS")
	var before, after runtime.MemStats
	if counts {
		runtime.ReadMemStats(&before)
	}
	begin := w.link.usage(true)
	stop := run.report()
	run.origin = time.Now()
	run.atEnd = func() {
		now := w.link.usage(false)
		told := message{"at_ns": now["wall_ns"]}
		for name, value := range now {
			told[name] = value - begin[name]
		}
		told["steady"] = run.steady.Load()
		w.link.say("end", told, "ack")
		stop()
	}
	issue := run.closed
	if w.Rate != nil && w.Mode != "connect" {
		issue = run.atRate
	}
	pace, err := issue()
	if err != nil {
		return nil, err
	}
	if counts {
		runtime.ReadMemStats(&after)
	}
	threads := len(tasks())
	<-w.link.inbox
	told := run.done()
	told["threads"], told["pace"] = threads, pace
	if counts {
		told["allocations"] = message{
			"count": after.Mallocs - before.Mallocs, "bytes": after.TotalAlloc - before.TotalAlloc, "frees": after.Frees - before.Frees,
		}
	}
	return told, nil
}
