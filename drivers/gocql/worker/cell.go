package worker

import (
	"errors"
	"fmt"
	"os"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"
	"time"

	"cqldyno/drivers/gocql/workload"
)

const (
	mostInFlight = 1 << 20
	// progressAtMostEvery is the shortest interval of progress, so that it wakes nobody often in the window.
	progressAtMostEvery = 500 * time.Millisecond
)

// Main says hello, carries out the job, and ends the process.
func Main(driver Driver) {
	serve(driver.Describe, driver.Settings, func(c *cell) (string, error) {
		c.driver = driver
		return c.carryOut()
	})
}

// serve says hello, has the job carried out, and ends the process if that fails; an error comes with its kind.
func serve(describe func() (Info, error), settings func(*Options) []Setting, carryOut func(*cell) (string, error)) {
	link, err := openLink()
	if err != nil {
		fmt.Fprintf(os.Stderr, "cqldyno worker: standard output cannot be taken for the protocol: %v\n", err)
		os.Exit(exitFailed)
	}
	defer func() {
		if panicked := recover(); panicked != nil {
			debug.PrintStack()
			link.fail("crash", fmt.Errorf("the driver panicked: %v", panicked))
		}
	}()
	info, err := describe()
	if err != nil {
		link.fail("describe", err)
	}
	equal := &Options{Connections: 1, Consistency: "LOCAL_ONE", PageSize: 5000}
	own := build{Compiler: runtime.Version() + " " + runtime.GOOS + "/" + runtime.GOARCH, Profile: "release"}
	link.say(hello{"hello", protocolVersion, info, settings(equal), own, true}, greeted)
	go link.listen(os.Stdin)
	cell := &cell{link: link, info: info, job: (<-link.inbox).job}
	if kind, err := carryOut(cell); err != nil {
		link.fail(kind, err)
	}
}

type cell struct {
	link     *link
	driver   Driver
	info     Info
	job      *job
	workload *workload.Workload
}

// check refuses a job that cannot be carried out, before anything is connected.
func (c *cell) check() error {
	job := c.job
	known := []struct {
		holds bool
		wrong string
	}{
		{job.Concurrency >= 1 && job.Concurrency <= mostInFlight,
			fmt.Sprintf("a concurrency of %d was asked for; ask for 1 to %d", job.Concurrency, mostInFlight)},
		{job.Runtime.Kind == "current" || job.Runtime.Kind == "multi" && job.Runtime.Workers > 0,
			fmt.Sprintf("the runtime %q of %d threads was asked for; ask for current, or multi of at least 1",
				job.Runtime.Kind, job.Runtime.Workers)},
		{job.Rate == nil || *job.Rate > 0, "a rate of 0 statements per second was asked for; ask for at least 1"},
		{job.Connections > 0, "0 connections per node were asked for; ask for at least 1"},
		{len(job.Target) > 0, "no address of a cluster was given; give at least one"},
		{job.TLS == nil || slices.Contains(c.info.Capabilities, "tls"),
			fmt.Sprintf("TLS was asked for, and %s does not declare the capability tls", c.info.Name)},
		{job.Turns > 0, "0 turns were asked for; ask for at least 1"},
		{job.Mode == "measure" || job.Mode == "connect",
			fmt.Sprintf("the mode %q was asked for, which is for floor; %s knows measure and connect", job.Mode, c.info.Name)},
		{job.Scenario.Submit == "" || job.Scenario.Submit == "slots" || job.Scenario.Submit == "sequential",
			fmt.Sprintf("statements were to be submitted as %s, which is a way of async Rust; %s knows slots and sequential",
				job.Scenario.Submit, c.info.Name)},
	}
	for _, one := range known {
		if !one.holds {
			return errors.New(one.wrong)
		}
	}
	if err := job.checkTrace(); err != nil {
		return err
	}
	for i := range job.Scenario.Statements {
		one := &job.Scenario.Statements[i]
		if one.Operation == workload.Connect && job.Trace != nil {
			return fmt.Errorf("the statement %s of the scenario %s opens a session of its own, so it cannot be traced; use another "+
				"operation, or leave trace out", one.Name, job.Scenario.Name)
		}
		if one.Operation != workload.Execute && !slices.Contains(c.info.Capabilities, string(one.Operation)) {
			return fmt.Errorf("the scenario %s issues the statement %s as %s, and %s does not declare the capability %s",
				job.Scenario.Name, one.Name, one.Operation, c.info.Name, one.Operation)
		}
	}
	var err error
	c.workload, err = workload.New(&job.Scenario, job.Count, job.Warmup, job.Seed)
	return err
}

func (c *cell) options() *Options {
	job := c.job
	return &Options{
		Target: job.Target, User: job.Credentials.User, Password: job.Credentials.Password, TLS: job.TLS, Datacenter: job.Datacenter,
		Connections: job.Connections,
		Consistency: job.Consistency, PageSize: job.PageSize, RequestTimeout: time.Duration(job.RequestTimeoutMs) * time.Millisecond,
		Default: job.Settings == "default", Own: job.Options,
	}
}

// carryOut does the job; an error comes with its kind.
func (c *cell) carryOut() (string, error) {
	if err := c.check(); err != nil {
		return "job", err
	}
	job, options := c.job, c.options()
	runtime.GOMAXPROCS(max(job.Runtime.Workers, 1))
	session, err := c.driver.Connect(options)
	if err != nil {
		kind := "connect"
		if kindOf(err) == "bad_credentials" {
			kind = "bad_credentials"
		}
		return kind, fmt.Errorf("%s could not connect to %s: %w", c.info.Name, strings.Join(job.Target, ", "), err)
	}
	if settler, settles := session.(Settler); settles {
		settler.Settle()
	}
	bench := &bench{driver: c.driver, options: options, session: session}
	if err := c.prepare(bench); err != nil {
		return "prepare", err
	}
	if err := c.warmUp(bench); err != nil {
		return "warm_up", err
	}
	var last any = ready{"ready", c.driver.Settings(options), len(tasks())}
	for nth := range job.Turns {
		told, kind, err := c.measured(bench, nth, last)
		if err != nil {
			return kind, err
		}
		last = told
	}
	c.link.say(last, closed)
	// The cell is over; a driver that does not close is ended with the process.
	return "", nil
}

func (c *cell) prepare(bench *bench) error {
	for i := range c.job.Scenario.Statements {
		of := &c.job.Scenario.Statements[i]
		one := prepared{of: of, values: workload.Generators(of.Values, of.Stored())}
		if of.Expect != nil {
			one.expect = workload.Generators(of.Expect.Columns, of.Stored())
		}
		statement, err := one.made(bench.session)
		if err != nil {
			return fmt.Errorf("the statement %s (%s) could not be prepared: %w", of.Name, of.CQL, err)
		}
		one.statement = statement
		bench.prepared = append(bench.prepared, one)
	}
	return nil
}

func (c *cell) run(bench *bench, tickets *gauge, issue func(uint64) workload.Issue) *run {
	return &run{
		bench: bench, issue: issue, gauge: tickets, link: c.link, concurrency: c.job.Concurrency, atEnd: func() {},
		counts: newRecorder(len(bench.prepared), false),
	}
}

func (c *cell) warmUp(bench *bench) error {
	if c.job.Warmup == 0 {
		return nil
	}
	run := c.run(bench, &gauge{count: c.job.Warmup}, c.workload.WarmupIssue)
	run.stopAtError = true
	c.link.arm(run.gauge)
	if c.job.ProgressMs > 0 {
		c.link.progress(run.gauge)
	}
	defer c.report(run.gauge)()
	run.closed()
	for kind, first := range run.counts.errors {
		return fmt.Errorf("the warm-up ended after %d of %d statements with %d errors, the first of kind %s: %s",
			run.counts.answered(), c.job.Warmup, run.counts.failed, kind, first.First)
	}
	return nil
}

// report says progress now and then until the function that it returns is called.
func (c *cell) report(of *gauge) func() {
	if c.job.ProgressMs == 0 {
		return func() {}
	}
	over := make(chan struct{})
	ticks := time.NewTicker(max(time.Duration(c.job.ProgressMs)*time.Millisecond, progressAtMostEvery))
	go func() {
		for {
			select {
			case <-ticks.C:
				c.link.progress(of)
			case <-over:
				return
			}
		}
	}()
	return func() {
		ticks.Stop()
		close(over)
	}
}

// turn says last, waits for go, has all tickets of the gauge issued, and waits for ack. The function calls atEnd at the last answer.
// It returns the number of threads then, and the allocations since go.
func (c *cell) turn(of *gauge, last any, issueAll func(atEnd func()) error) (int, *allocations, error) {
	c.link.arm(of)
	c.link.say(last, isReady)
	<-c.link.inbox
	before := allocated()
	begin, err := beginEdge()
	if err != nil {
		return 0, nil, err
	}
	stop := c.report(of)
	err = issueAll(func() {
		told, err := begin.untilNow()
		told.Steady = of.steady()
		if err != nil {
			c.link.fail("job", err)
		}
		c.link.say(told, ended)
	})
	inWindow := allocated().since(before)
	stop()
	if err != nil {
		return 0, nil, err
	}
	count := len(tasks())
	<-c.link.inbox
	return count, inWindow, nil
}

// tickets are those of the turn nth.
func (c *cell) tickets(nth uint64) *gauge {
	first, next := workload.Turn(c.job.Count, c.job.Turns, nth), workload.Turn(c.job.Count, c.job.Turns, nth+1)
	return &gauge{first: first, count: next - first}
}

// measured is the turn nth; an error comes with its kind.
func (c *cell) measured(bench *bench, nth uint64, last any) (*done, string, error) {
	run := c.run(bench, c.tickets(nth), c.workload.Issue)
	if c.job.Mode != "connect" && c.job.Rate == nil {
		run.gauge.withEdges(uint64(run.concurrency))
	}
	run.counts = newRecorder(len(bench.prepared), c.job.Rate != nil)
	if c.job.Trace != nil {
		run.trace = newTracer(run.gauge.count, *c.job.Rate, c.job.Trace.PatienceMs)
	}
	var paced *pace
	count, allocations, err := c.turn(run.gauge, last, func(atEnd func()) (err error) {
		run.counts.origin, run.atEnd = time.Now(), atEnd
		switch {
		case c.job.Mode == "connect":
			run.connects()
		case c.job.Rate != nil:
			paced, err = run.atRate(*c.job.Rate)
		default:
			run.closed()
		}
		return err
	})
	if err != nil {
		return nil, "job", err
	}
	var names []string
	for i := range c.job.Scenario.Statements {
		names = append(names, c.job.Scenario.Statements[i].Name)
	}
	told, err := run.counts.done(names)
	if err != nil {
		return nil, "crash", fmt.Errorf("the histogram cannot be written: %w", err)
	}
	told.Threads, told.Pace, told.Allocations = count, paced, allocations
	if run.trace != nil {
		run.trace.tell(told, run, names)
	}
	return told, "", nil
}

// connects takes every ticket in turn: connects, prepares all statements, executes one and closes.
func (r *run) connects() {
	defer r.crashed()
	one := newSlot(r)
	for {
		ticket, more := r.gauge.take()
		if !more {
			break
		}
		issue := r.issue(ticket)
		of, rows := &r.prepared[issue.Statement], one.rows[issue.Statement]
		rows.begin(issue.Key, of.of)
		issued := r.counts.now()
		values := bind(r.driver, of.values, of.of, issue.Key, one.values)
		came, err := r.firstAnswer(r.prepared, issue.Statement, values, rows, r.counts)
		if err == nil {
			err = rows.finish()
		}
		one.answers.add(r.counts, answer{statement: issue.Statement, issued: issued, came: came})
		if err != nil {
			r.failed(err)
		}
	}
	r.atEnd()
	r.counts.takeIn(&one.answers)
}
