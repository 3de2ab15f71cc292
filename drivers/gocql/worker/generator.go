package worker

import (
	"fmt"
	"runtime"
	"runtime/debug"
	"sync"
	"sync/atomic"

	"cqldyno/drivers/gocql/workload"
)

// prepared is a statement with what a slot needs for it.
type prepared struct {
	statement Statement
	of        *workload.Statement
	values    []workload.Generator
	expect    []workload.Generator
}

// made is the statement on a session: prepared, unless the driver is to be given its text each time.
func (p *prepared) made(session Session) (Statement, error) {
	if p.of.Operation == workload.Unprepared {
		return session.Unprepared(p.of.CQL, p.expect), nil
	}
	return session.Prepare(p.of.CQL, p.expect)
}

// bench is a session and its statements.
type bench struct {
	driver   Driver
	options  *Options
	session  Session
	prepared []prepared
}

// run is what the slots of a turn share.
type run struct {
	*bench
	issue       func(ticket uint64) workload.Issue
	gauge       *gauge
	counts      *recorder
	link        *link
	concurrency int
	// stopAtError ends the run at the first error.
	stopAtError bool
	// trace keeps track of single statements; nil unless the job asks for that.
	trace *tracer
	// atEnd is called by the slot that had the last answer, before any other work; or when no slot is waited for any more.
	atEnd func()
	end   sync.Once

	begun, left atomic.Int64
	allBegun    chan struct{}
	slots       sync.WaitGroup
}

// start starts the slots, each a goroutine that runs loop.
func (r *run) start(loop func(*slot)) {
	r.allBegun = make(chan struct{})
	r.left.Store(int64(r.concurrency))
	for range r.concurrency {
		r.slots.Add(1)
		go func() {
			defer r.slots.Done()
			defer r.crashed()
			one := newSlot(r)
			if r.begun.Add(1) == int64(r.concurrency) {
				close(r.allBegun)
			}
			loop(one)
			if r.left.Add(-1) == 0 {
				r.end.Do(r.atEnd)
			}
			r.counts.takeIn(&one.answers)
		}()
	}
}

// closed issues all tickets, each slot its next one after an answer, and waits for the last answer.
func (r *run) closed() {
	r.start(func(s *slot) {
		before := r.counts.now()
		for {
			ticket, more := r.gauge.take()
			if !more {
				return
			}
			steady := r.begun.Load() == int64(r.concurrency)
			if !steady {
				s.answers.below++
			}
			issue := r.issue(ticket)
			came, err := s.execute(issue)
			s.answers.add(r.counts, answer{statement: issue.Statement, issued: before, came: came})
			before = came
			if err != nil {
				r.failed(err)
			}
			if !steady {
				// No slot issues a second statement before all have begun.
				<-r.allBegun
			}
			if !steady || r.prepared[issue.Statement].of.Operation == workload.Connect {
				// Waiting, or closing a session, is not the next statement's.
				before = r.counts.now()
			}
		}
	})
	r.slots.Wait()
}

func (r *run) failed(err error) {
	r.counts.fail(err)
	if r.stopAtError {
		r.gauge.stopped.Store(true)
	}
	// Without this, a driver that fails at once would keep its own goroutines from mending what is broken.
	runtime.Gosched()
}

// crashed says that the driver panicked, if it did.
func (r *run) crashed() {
	if panicked := recover(); panicked != nil {
		debug.PrintStack()
		r.link.fail("crash", fmt.Errorf("the driver panicked while it executed a statement: %v", panicked))
	}
}

// slot issues one statement at a time.
type slot struct {
	run     *run
	values  []any
	rows    []*Rows
	answers answers
}

func newSlot(r *run) *slot {
	s := &slot{run: r}
	longest := 0
	for i := range r.prepared {
		one := &r.prepared[i]
		longest = max(longest, len(one.values))
		s.rows = append(s.rows, newRows(one.of.Name, one.statement, one.expect))
	}
	s.values = make([]any, longest)
	return s
}

// bind makes the values of the row with this number or, of a statement, those for the key of an issue, in room that the next one takes
// again.
func bind(driver Driver, columns []workload.Generator, of *workload.Statement, row uint64, room []any) []any {
	var value workload.Value
	for i := range columns {
		if of == nil {
			columns[i].Put(row, &value)
		} else {
			columns[i].PutBound(of, row, &value)
		}
		room[i] = value.Any()
		if room[i] == nil && value.Kind != workload.Null {
			room[i] = driver.Value(value)
		}
	}
	return room[:len(columns)]
}

// execute issues a statement; it says when the answer came, and what was wrong with it.
func (s *slot) execute(issue workload.Issue) (int64, error) {
	one, rows := &s.run.prepared[issue.Statement], s.rows[issue.Statement]
	rows.begin(issue.Key, one.of)
	var came int64
	var err error
	switch one.of.Operation {
	case workload.Batch:
		_, size := one.of.Places(issue.Key)
		batch := make([][]any, size)
		for i := range batch {
			batch[i] = bind(s.run.driver, one.values, nil, issue.Key*one.of.Stored()+uint64(i), make([]any, len(one.values)))
		}
		err = one.statement.Batch(batch, one.of.Logged)
		came = s.run.counts.now()
	case workload.Connect:
		values := bind(s.run.driver, one.values, one.of, issue.Key, s.values)
		came, err = s.run.firstAnswer([]prepared{*one}, 0, values, rows, s.run.counts)
	default:
		values := bind(s.run.driver, one.values, one.of, issue.Key, s.values)
		err = one.statement.Execute(values, rows)
		came = s.run.counts.now()
	}
	if err == nil {
		err = rows.finish()
	}
	return came, err
}

// firstAnswer connects, prepares all, executes the statement at this index, and closes; it says when the answer came.
func (b *bench) firstAnswer(all []prepared, index int, values []any, rows *Rows, counts *recorder) (int64, error) {
	session, err := b.driver.Connect(b.options)
	if err != nil {
		return counts.now(), err
	}
	defer session.Close()
	var chosen Statement
	for i := range all {
		statement, err := all[i].made(session)
		if err != nil {
			return counts.now(), err
		}
		if i == index {
			chosen = statement
		}
	}
	err = chosen.Execute(values, rows)
	return counts.now(), err
}
