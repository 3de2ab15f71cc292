package worker

import (
	"fmt"
	"runtime"
	"sync"

	"cqldyno/drivers/gocql/workload"
)

// The statements of a hand-written program: pk, v1 = 2 * pk and v2 = 3 * pk.
const (
	Insert = "INSERT INTO cqldyno.bench (pk, v1, v2) VALUES (?, ?, ?)"
	Select = "SELECT pk, v1, v2 FROM cqldyno.bench WHERE pk = ?"
)

// Program is what a driver's documentation would have you write, to hold an adapter against: no histogram, no clock read per
// statement, no values of any type.
type Program interface {
	// Connect connects to the node with the equal settings.
	Connect(node string) error
	// Execute is what each slot does: it takes tickets until there are none, and returns the number of right answers.
	Execute(*Tickets) (uint64, error)
}

// Tickets are the statements of a turn or of the warm-up.
type Tickets struct {
	gauge   *gauge
	issue   func(uint64) workload.Issue
	inserts []bool
	shift   int64
}

// Take is the next statement: whether it is Insert or Select, and its key.
func (t *Tickets) Take() (inserts bool, key int64, more bool) {
	ticket, more := t.gauge.take()
	if !more {
		return false, 0, false
	}
	issue := t.issue(ticket)
	return t.inserts[issue.Statement], int64(issue.Key), true
}

// IsRow says whether this is the loaded row of its key.
func (t *Tickets) IsRow(pk, v1, v2, key int64) bool {
	return pk == key && v1 == 2*key+t.shift && v2 == 3*key+t.shift
}

// MainProgram is Main for a hand-written program with this version of a driver.
func MainProgram(name, version string, program Program) {
	describe := func() (Info, error) {
		return Info{
			Name: "idiomatic-" + name, Version: version, Libraries: []Library{Go()}, Capabilities: []string{},
			Caveats: []string{"It is the program that the documentation of " + name +
				" would have you write, with its own loop: no histogram, and no clock read per statement."},
		}, nil
	}
	settings := func(options *Options) []Setting { return Equal(options) }
	serve(describe, settings, func(c *cell) (string, error) { return c.runProgram(program) })
}

// runProgram does the job; an error comes with its kind.
func (c *cell) runProgram(program Program) (string, error) {
	if err := c.check(); err != nil {
		return "job", err
	}
	all, err := c.known()
	if err != nil {
		return "job", err
	}
	runtime.GOMAXPROCS(max(c.job.Runtime.Workers, 1))
	if err := program.Connect(c.job.Target[0]); err != nil {
		return "connect", fmt.Errorf("the program could not connect: %w", err)
	}
	warm := *all
	warm.gauge, warm.issue = &gauge{count: c.job.Warmup}, c.workload.WarmupIssue
	if _, err := c.executeAll(program, &warm); err != nil {
		return "warm_up", fmt.Errorf("the warm-up broke off: %w", err)
	}
	var last any = ready{"ready", Equal(c.options()), len(tasks())}
	for nth := range c.job.Turns {
		tickets := *all
		tickets.gauge, tickets.issue = c.tickets(nth), c.workload.Issue
		tickets.gauge.withEdges(uint64(c.job.Concurrency))
		verified := uint64(0)
		count, allocations, err := c.turn(tickets.gauge, last, func(atEnd func()) (err error) {
			if verified, err = c.executeAll(program, &tickets); err == nil {
				atEnd()
			}
			return err
		})
		if err != nil {
			return "crash", fmt.Errorf("the program broke off at the window's first error: %w", err)
		}
		told := c.told(&tickets, verified, count)
		told.Allocations = allocations
		last = told
	}
	c.link.say(last, closed)
	return "", nil
}

// known refuses what a hand-written program does not know.
func (c *cell) known() (*Tickets, error) {
	job, tickets := c.job, &Tickets{}
	if job.Mode != "measure" || job.Rate != nil || job.Settings != "equal" || job.Connections != 1 || job.Consistency != "LOCAL_ONE" ||
		job.PageSize != 5000 || job.RequestTimeoutMs != 0 || job.Credentials.User != "" || len(job.Target) != 1 || len(job.Options) > 0 {
		return nil, fmt.Errorf("the job asks for something else than the equal settings on one node without a password, a rate or options, " +
			"and a hand-written program knows nothing else; compare it without the flag that asks for that")
	}
	for i := range job.Scenario.Statements {
		one := &job.Scenario.Statements[i]
		if one.CQL != Insert && one.CQL != Select || one.Operation != workload.Execute {
			return nil, fmt.Errorf("the scenario %s was asked for, and a hand-written program knows the built-in scenarios writes, reads and "+
				"mixed alone; compare it with one of these", job.Scenario.Name)
		}
		tickets.inserts = append(tickets.inserts, one.CQL == Insert)
		if one.Expect != nil && len(one.Expect.Columns) == 3 {
			tickets.shift = one.Expect.Columns[1].Plus
		}
	}
	return tickets, nil
}

// executeAll runs the program in as many goroutines as statements are in flight; it returns the number of right answers.
func (c *cell) executeAll(program Program, tickets *Tickets) (uint64, error) {
	var all sync.WaitGroup
	var lock sync.Mutex
	var verified uint64
	var first error
	for range c.job.Concurrency {
		all.Add(1)
		go func() {
			defer all.Done()
			right, err := program.Execute(tickets)
			lock.Lock()
			defer lock.Unlock()
			verified += right
			if first == nil {
				first = err
			}
		}()
	}
	all.Wait()
	return verified, first
}

// told is what is known of a turn after it.
func (c *cell) told(tickets *Tickets, verified uint64, threads int) *done {
	told := &done{
		Type: "done", Issued: tickets.gauge.taken(), Verified: verified, IssuedByStatement: map[string]uint64{},
		Errors: map[string]*errorCount{}, Threads: threads,
	}
	told.Answered = told.Issued
	for ticket := range told.Issued {
		issue := tickets.issue(tickets.gauge.first + ticket)
		told.IssuedByStatement[c.job.Scenario.Statements[issue.Statement].Name]++
	}
	return told
}
