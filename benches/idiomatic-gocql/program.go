package main

import (
	"errors"
	"sync"
	"sync/atomic"

	"github.com/apache/cassandra-gocql-driver/v2"
)

// The program that the documentation of gocql would have you write, built with the sources of drivers/gocql: no histogram, no clock read
// per statement, no values of any type.
func init() {
	capabilities = []string{}
	start = func() { serve(describeProgram, connectProgram) }
}

// The statements of the scenarios writes, reads and mixed.
const (
	insert = "INSERT INTO cqldyno.bench (pk, v1, v2) VALUES (?, ?, ?)"
	read   = "SELECT pk, v1, v2 FROM cqldyno.bench WHERE pk = ?"
)

func describeProgram() (message, error) {
	told, err := describe()
	told["name"], told["capabilities"], told["options"], told["lacks_types"] = "idiomatic-gocql", capabilities, []message{}, []string{}
	told["caveats"] = []string{"It is the program that the documentation of gocql would have you write, with its own loop: no histogram, " +
		"and no clock read per statement."}
	return told, err
}

type program struct{ *gocql.Session }

func connectProgram(of *job) (session, error) {
	if of.Mode != "measure" || of.Rate != nil || of.Settings != "equal" || of.Connections != 1 || of.Consistency != "LOCAL_ONE" ||
		of.PageSize != 5000 || of.RequestTimeoutMs != 0 || of.Credentials.User != "" || of.TLS != nil || len(of.Target) != 1 ||
		len(of.Options) > 0 {
		return nil, errors.New("the job asks for something else than the equal settings on one node without a password, TLS, a rate or " +
			"options, and a hand-written program knows nothing else; compare it without the flag that asks for that")
	}
	for _, one := range of.Scenario.Statements {
		if one.CQL != insert && one.CQL != read || one.Operation != "" && one.Operation != "execute" {
			return nil, errors.New("the scenario " + of.Scenario.Name + " was asked for, and a hand-written program knows the built-in " +
				"scenarios writes, reads and mixed alone; compare it with one of these")
		}
	}
	// Pages of 5,000 rows and no retries are the driver's own.
	cluster := gocql.NewCluster(of.Target[0])
	cluster.ProtoVersion = 4
	cluster.Consistency = gocql.LocalOne
	cluster.NumConns = 1
	cluster.Timeout = 0
	cluster.DefaultTimestamp = false
	cluster.PoolConfig.HostSelectionPolicy = gocql.TokenAwareHostPolicy(gocql.RoundRobinHostPolicy())
	session, err := cluster.CreateSession()
	return program{session}, err
}

// A program has a loop of its own, and prepares what it executes.
func (program) prepare(string) ([]gocql.TypeInfo, error) { return nil, nil }
func (program) execute(string, []any, *rows) error       { return nil }
func (program) batch(string, [][]any, bool) error        { return nil }
func (program) settle()                                  {}

// run has as many goroutines as statements may be in flight take tickets until there are none, or one fails.
func (p program) run(r *run) {
	var all sync.WaitGroup
	var verified atomic.Uint64
	for range r.Concurrency {
		all.Add(1)
		go func() {
			defer all.Done()
			right, err := p.loop(r)
			verified.Add(right)
			if err != nil {
				r.Lock()
				defer r.Unlock()
				r.fail(err)
				r.stopped.Store(true)
			}
		}()
	}
	all.Wait()
	r.atEnd()
	for nth := range r.taken() {
		index, _, _ := r.tape.ticket(nth)
		r.byStatement[index]++
	}
	r.answered = r.taken()
	r.failed = r.answered - verified.Load()
}

func (p program) loop(r *run) (verified uint64, err error) {
	for {
		nth, more := r.take()
		if !more {
			return verified, nil
		}
		_, count, of := r.tape.ticket(nth)
		bound := numbers(&of, count)
		if count == 3 {
			if err := p.Query(insert, bound[0], bound[1], bound[2]).Exec(); err != nil {
				return verified, err
			}
			verified++
			continue
		}
		var row [3]int64
		if err := p.Query(read, bound[0]).Scan(&row[0], &row[1], &row[2]); err != nil {
			return verified, err
		}
		if _, _, due := r.tape.due(of); numbers(&due, 3) == row {
			verified++
		}
	}
}

// numbers are the next of the tape.
func numbers(from *reader, count int) (all [3]int64) {
	for i := range count {
		raw, _ := from.cell()
		all[i] = number(raw)
	}
	return all
}
