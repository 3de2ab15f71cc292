package main

import (
	"errors"
	"io"
	"net"
	"runtime/debug"
	"strconv"
	"sync"
	"time"

	"cqldyno/drivers/gocql/release"
	"cqldyno/drivers/gocql/worker"
	"cqldyno/drivers/gocql/workload"
)

// fillWithin is how long the driver may take to open the connections after the first; it opens them later by itself.
const fillWithin = 5 * time.Second

// session is a session of gocql with the connections to each node that it is to have.
type session struct {
	*release.Session
	observed *connections
	each     int
}

// statement is a text, which gocql looks up among the statements that it has prepared.
type statement struct {
	session *release.Session
	cql     string
	columns []workload.Generator
}

// connections observes how connecting goes.
type connections struct {
	sync.Mutex
	hosts       map[string]bool
	established int
	refused     error
}

// ObserveConnect counts a connection, or keeps why the server refused it.
func (c *connections) ObserveConnect(one release.ObservedConnect) {
	c.Lock()
	defer c.Unlock()
	if one.Err != nil {
		if kindOf(one.Err) == "bad_credentials" {
			c.refused = one.Err
		}
		return
	}
	c.hosts[one.Host.ConnectAddress().String()] = true
	c.established++
}

// filled says whether every node has so many connections, beside the control connection.
func (c *connections) filled(each int) bool {
	c.Lock()
	defer c.Unlock()
	return c.established > each*len(c.hosts)
}

// cluster is the driver's configuration for what is asked.
func cluster(of *worker.Options) (*release.ClusterConfig, error) {
	if err := of.Check("gocql", options); err != nil {
		return nil, err
	}
	cluster := release.NewCluster(of.Target...)
	if _, port, err := net.SplitHostPort(of.Target[0]); err == nil {
		// That of the nodes which the cluster tells of.
		cluster.Port, _ = strconv.Atoi(port)
	}
	if of.User != "" {
		cluster.Authenticator = release.PasswordAuthenticator{Username: of.User, Password: of.Password}
	}
	if of.TLS != nil {
		cluster.SslOpts = &release.SslOptions{
			CaPath: of.TLS.CA, CertPath: of.TLS.Client.Certificate, KeyPath: of.TLS.Client.Key, EnableHostVerification: of.TLS.CA != "",
		}
	}
	if !of.Default {
		consistency, err := release.ParseConsistency(of.Consistency)
		if err != nil {
			return nil, err
		}
		cluster.ProtoVersion = 4
		cluster.Consistency = consistency
		cluster.NumConns = of.Connections
		cluster.PageSize = of.PageSize
		// 0 is no limit.
		cluster.Timeout = of.RequestTimeout
		cluster.DefaultTimestamp = false
		cluster.PoolConfig.HostSelectionPolicy = tokenAware(of)
		cluster.Dialer = &net.Dialer{Timeout: cluster.ConnectTimeout, KeepAlive: -1}
	}
	return cluster, apply(of, cluster)
}

// tokenAware takes a statement's replicas first.
func tokenAware(of *worker.Options) release.HostSelectionPolicy {
	if of.Own["shuffle"] == "on" {
		return release.TokenAwareHostPolicy(inTurn(of), release.ShuffleReplicas())
	}
	return release.TokenAwareHostPolicy(inTurn(of))
}

// inTurn takes the nodes of the datacenter, or of all, in turn.
func inTurn(of *worker.Options) release.HostSelectionPolicy {
	if of.Datacenter != "" {
		return release.DCAwareRoundRobin(of.Datacenter)
	}
	return release.RoundRobinHostPolicy()
}

// apply sets what the contender's options say.
func apply(of *worker.Options, cluster *release.ClusterConfig) error {
	wait, waits, err := number(of, "coalescing")
	if err != nil {
		return err
	}
	if waits || of.Own["coalescing"] == "off" {
		cluster.WriteCoalesceWaitTime = time.Duration(wait) * time.Microsecond
	}
	switch of.Own["routing"] {
	case "round-robin":
		cluster.PoolConfig.HostSelectionPolicy = inTurn(of)
	case "token-aware":
		cluster.PoolConfig.HostSelectionPolicy = tokenAware(of)
	}
	if how, asked := of.Own["metadata"]; asked {
		cluster.DisableSkipMetadata = how == "each"
	}
	if whose, asked := of.Own["timestamps"]; asked {
		cluster.DefaultTimestamp = whose == "client"
	}
	percent, asked, err := number(of, "gogc")
	if asked {
		debug.SetGCPercent(percent)
	}
	return err
}

func (gocql) Connect(of *worker.Options) (worker.Session, error) {
	cluster, err := cluster(of)
	if err != nil {
		return nil, err
	}
	observed := &connections{hosts: map[string]bool{}}
	cluster.ConnectObserver = observed
	made, err := cluster.CreateSession()
	if err != nil {
		observed.Lock()
		defer observed.Unlock()
		if observed.refused != nil {
			err = observed.refused
		}
		return nil, known(err)
	}
	return session{made, observed, cluster.NumConns}, nil
}

// Settle waits for the connections that the driver opens in the background after the first one to each node.
func (s session) Settle() {
	for begun := time.Now(); s.each > 1 && !s.observed.filled(s.each) && time.Since(begun) < fillWithin; {
		time.Sleep(time.Millisecond)
	}
}

// errPrepared ends an execution after its PREPARE.
var errPrepared = errors.New("prepared, and not to be executed")

// Prepare has the driver prepare the statement as if to execute it: it has no other call for that.
func (s session) Prepare(cql string, columns []workload.Generator) (worker.Statement, error) {
	binding := func(*release.QueryInfo) ([]any, error) { return nil, errPrepared }
	if err := s.Bind(cql, binding).Exec(); !errors.Is(err, errPrepared) {
		if err == nil {
			err = errors.New("gocql prepares nothing but SELECT, INSERT, UPDATE, DELETE and BATCH; use operation = \"unprepared\"")
		}
		return nil, known(err)
	}
	return s.Unprepared(cql, columns), nil
}

// Unprepared is the same statement: gocql prepares what it can when it executes it.
func (s session) Unprepared(cql string, columns []workload.Generator) worker.Statement {
	return &statement{s.Session, cql, columns}
}

func (s *statement) Execute(values []any, rows *worker.Rows) error {
	iter := s.session.Query(s.cql, values...).Iter()
	if !rows.Expected() {
		rows.Came(iter.NumRows())
		return known(iter.Close())
	}
	if found := len(iter.Columns()); found > 0 {
		if err := rows.Width(found); err != nil {
			return err
		}
	}
	for iter.Scan(rows.Targets...) {
		rows.Row()
	}
	return known(iter.Close())
}

func (s *statement) Batch(values [][]any, logged bool) error {
	kind := release.UnloggedBatch
	if logged {
		kind = release.LoggedBatch
	}
	batch := s.session.NewBatch(kind)
	for _, row := range values {
		batch.Query(s.cql, row...)
	}
	return known(s.session.ExecuteBatch(batch))
}

// known is the error with its kind.
func known(err error) error {
	var has *worker.Error
	if err == nil || errors.As(err, &has) {
		return err
	}
	return &worker.Error{Kind: kindOf(err), Err: err}
}

// kinds are those of native_protocol_v4.spec section 9 that have a name of their own.
var kinds = map[int]string{
	0x000A: "protocol", 0x0100: "bad_credentials", 0x1000: "unavailable", 0x1001: "overloaded", 0x1002: "bootstrapping",
	0x1100: "server_timeout", 0x1200: "server_timeout", 0x2000: "syntax", 0x2100: "unauthorized", 0x2200: "invalid",
	0x2400: "already_exists", 0x2500: "unprepared",
}

func kindOf(err error) string {
	var server release.RequestError
	if errors.As(err, &server) {
		if kind, named := kinds[server.Code()]; named {
			return kind
		}
		return "server"
	}
	var marshal release.MarshalError
	var unmarshal release.UnmarshalError
	var network net.Error
	switch {
	case errors.Is(err, release.ErrTimeoutNoResponse), errors.Is(err, release.ErrTooManyTimeouts):
		return "request_timeout"
	case errors.Is(err, release.ErrNoStreams):
		return "queue_full"
	case errors.As(err, &marshal), errors.As(err, &unmarshal):
		return "codec"
	case errors.Is(err, release.ErrConnectionClosed), errors.Is(err, release.ErrNoConnections), errors.Is(err, release.ErrSessionClosed),
		errors.Is(err, net.ErrClosed), errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF), errors.As(err, &network):
		return "connection_lost"
	default:
		return "other"
	}
}
