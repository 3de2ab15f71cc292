package main

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"maps"
	"net"
	"path"
	"regexp"
	"runtime"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/apache/cassandra-gocql-driver/v2"
)

// module is the driver's import path, for which native puts that of the module before Apache's.
const module = "github.com/apache/cassandra-gocql-driver/v2"

// isFirst says whether this is the module before Apache's, and isFork whether it is ScyllaDB's fork of that.
var (
	isFirst               = module == "github.com/gocql/gocql"
	version, versionError = versionOf(module)
	isFork                = strings.HasSuffix(version, "-scylladb")
)

// versionOf is the version of a module in this executable, as the build recorded it; that of a fork ends with its owner, as 1.19.0-owner.
func versionOf(module string) (string, error) {
	if build, is := debug.ReadBuildInfo(); is {
		for _, one := range build.Deps {
			if fork := one.Replace; one.Path == module && fork != nil && fork.Version != "" {
				return strings.TrimPrefix(fork.Version, "v") + "-" + path.Base(path.Dir(fork.Path)), nil
			} else if one.Path == module {
				return strings.TrimPrefix(one.Version, "v"), nil
			}
		}
	}
	return "", fmt.Errorf("the executable does not say which version of %s it has; build it with Go's modules", module)
}

var capabilities = []string{
	"request_timeout", "paging", "reprepare", "reconnect", "control_connection", "notices_close", "closes_sessions", "credentials", "tls",
	"batch", "unprepared", "connect",
}

// either is the first unless this is the fork.
func either(own, fork string) string {
	if isFork {
		return fork
	}
	return own
}

var options = []message{
	{"name": "coalescing", "values": "off|MICROSECONDS", "default": "200", "tried": "50",
		"about": "How long it waits for further requests before it writes, or that each is written at once."},
	{"name": "routing", "values": "token-aware|round-robin", "default": "token-aware",
		"about": "Sends each statement to a replica of its row, or to each node in turn."},
	{"name": "metadata", "values": "cached|each", "default": either("cached", "each"),
		"about": "Keeps the columns' names and types of its PREPARE, or asks for them with every SELECT."},
	{"name": "timestamps", "values": "server|client", "default": "server",
		"about": "Leaves the time of a write to the server, or sends one of the client's own with every statement."},
	{"name": "gogc", "values": "PERCENT", "default": "100", "tried": "400",
		"about": "How much the heap grows before Go collects garbage, as the environment variable GOGC says."},
	{"name": "compression", "values": "none|" + strings.Join(slices.Sorted(maps.Keys(compressors)), "|"), "default": "none", "tried": "snappy",
		"about": "Whether its frames are compressed, by which of the driver's packages."},
	{"name": "shuffle", "values": "off|on", "default": "off",
		"about": "Sends each statement to the first of its row's replicas in the ring's order, or to one by chance."},
}

// The module before Apache's knows one replica without a keyspace of the session, and the fork always shuffles.
func init() {
	if isFirst {
		options = options[:len(options)-1]
	}
}

func describe() (message, error) {
	// A marker for a tuple takes its fields one by one, and the statement then has more values than markers.
	lacks, replicas := []string{"tuple"}, "It takes a row's replicas in the ring's order unless `shuffle=on` is set."
	if isFirst {
		lacks = append(lacks, "vector")
		replicas = either("For a keyspace that the session does not name, it routes to the first replica of the token alone.",
			"It takes a row's replicas in a random order.")
	}
	return message{
		"name": "gocql", "version": version, "capabilities": capabilities, "lacks_types": lacks, "options": options,
		"libraries": []message{{"name": "go", "version": strings.TrimPrefix(runtime.Version(), "go")}},
		"caveats": []string{
			"Go's garbage collector is in its CPU time and in its memory; `gogc` says how often it runs.",
			"Its slots are goroutines; `current` and `multi:N` are the threads that may run Go code at once (GOMAXPROCS). Go adds threads " +
				"that wait in system calls, and one that watches.",
			"It takes values as `any`: binding a number, text or blob allocates once each.",
			"It waits up to 200 us for further requests before it writes, unless `coalescing` is set.",
			either("It skips the result's metadata unless `metadata=each` is set, so its answers to a SELECT are shorter.",
				"It asks for the result's metadata with every SELECT unless `metadata=cached` is set, so its answers are longer."),
			"It has no call for preparing alone: it prepares what it executes, and keeps 1,000 statements. So unprepared statements are " +
				"prepared, too, and the scenario prepare is not possible.",
			"It sends OPTIONS on each connection every five seconds, which cannot be set.",
			"With TLS it writes each request at once, whatever `coalescing` says.",
			"Its time limit per statement holds for its own queries at connecting, too.",
			replicas,
		},
	}, versionError
}

// settings are what gocql makes of the equal settings, or has by default.
func settings(of *job) (all []message) {
	limit, in, which := "none", "", 1
	if of.Settings == "default" {
		which = 2
	}
	if of.RequestTimeoutMs > 0 {
		limit = (time.Duration(of.RequestTimeoutMs) * time.Millisecond).String()
	}
	if of.Datacenter != "" {
		in = " in " + of.Datacenter
	}
	for _, one := range [][3]string{
		{"protocol version", "v4", "the highest that the server knows"}, {"consistency", of.Consistency, "QUORUM"},
		{"compression", "none", "none"}, {"retries", "none", "none"}, {"speculative execution", "none", "none"},
		{"routing", "token-aware" + in, "round robin"}, {"connections", fmt.Sprintf("%d per node", of.Connections), "2 per node"},
		{"page size", strconv.Itoa(of.PageSize), strconv.Itoa(of.PageSize)}, {"request timeout", limit, "11s"},
		{"timestamps", "server", "client"}, {"serial consistency", "none", "none"},
	} {
		value := one[which]
		if asked := of.Options[one[0]]; asked != "" {
			value = asked + map[string]string{"routing": in}[one[0]]
		}
		all = append(all, message{"name": one[0], "value": value, "as_asked": true})
	}
	return all
}

// checkOptions refuses options that gocql has not, and values that they do not take. A word in capitals is a whole number.
func (j *job) checkOptions() error {
	for key, value := range j.Options {
		takes, names := "", []string{}
		for _, one := range options {
			names = append(names, one["name"].(string))
			if one["name"] == key {
				takes = one["values"].(string)
			}
		}
		pattern := "^(" + regexp.MustCompile("[A-Z]+").ReplaceAllString(takes, "[1-9][0-9]{0,5}") + ")$"
		if takes == "" {
			return fmt.Errorf("gocql has no option `%s`: it has %s", key, strings.Join(names, ", "))
		} else if !regexp.MustCompile(pattern).MatchString(value) {
			return fmt.Errorf("gocql's option `%s` was set to %q; it takes %s, where a word in capitals is a whole number from 1 to 999999",
				key, value, takes)
		}
	}
	return nil
}

// cluster is the driver's configuration for a job.
func cluster(of *job) (*gocql.ClusterConfig, error) {
	if err := of.checkOptions(); err != nil {
		return nil, err
	}
	cluster, own := gocql.NewCluster(of.Target...), of.Options
	if _, port, err := net.SplitHostPort(of.Target[0]); err == nil {
		// That of the nodes which the cluster tells of.
		cluster.Port, _ = strconv.Atoi(port)
	}
	if of.Credentials.User != "" {
		cluster.Authenticator = gocql.PasswordAuthenticator{Username: of.Credentials.User, Password: of.Credentials.Password}
	}
	if tls := of.TLS; tls != nil {
		cluster.SslOpts = &gocql.SslOptions{
			CaPath: tls.CA, CertPath: tls.Client.Certificate, KeyPath: tls.Client.Key, EnableHostVerification: tls.CA != "",
		}
	}
	inTurn := gocql.RoundRobinHostPolicy()
	if of.Datacenter != "" {
		inTurn = gocql.DCAwareRoundRobinPolicy(of.Datacenter)
	}
	routing := own["routing"]
	if of.Settings != "default" {
		var err error
		if cluster.Consistency, err = gocql.ParseConsistencyWrapper(of.Consistency); err != nil {
			return nil, err
		}
		cluster.ProtoVersion, cluster.NumConns, cluster.PageSize = 4, of.Connections, of.PageSize
		// 0 is no limit.
		cluster.Timeout = time.Duration(of.RequestTimeoutMs) * time.Millisecond
		cluster.DefaultTimestamp = false
		cluster.Dialer = &net.Dialer{Timeout: cluster.ConnectTimeout, KeepAlive: -1}
		routing = cmp.Or(routing, "token-aware")
	}
	switch {
	case routing == "token-aware" && own["shuffle"] == "on":
		cluster.PoolConfig.HostSelectionPolicy = gocql.TokenAwareHostPolicy(inTurn, gocql.ShuffleReplicas())
	case routing == "token-aware":
		cluster.PoolConfig.HostSelectionPolicy = gocql.TokenAwareHostPolicy(inTurn)
	case routing != "":
		cluster.PoolConfig.HostSelectionPolicy = inTurn
	}
	if wait, asked := own["coalescing"]; asked {
		// None if it is off.
		microseconds, _ := strconv.Atoi(wait)
		cluster.WriteCoalesceWaitTime = time.Duration(microseconds) * time.Microsecond
	}
	cluster.Compressor = compressors[own["compression"]]
	if how, asked := own["metadata"]; asked {
		cluster.DisableSkipMetadata = how == "each"
	}
	if whose, asked := own["timestamps"]; asked {
		cluster.DefaultTimestamp = whose == "client"
	}
	if percent, err := strconv.Atoi(own["gogc"]); err == nil {
		debug.SetGCPercent(percent)
	}
	return cluster, nil
}

// opened is a session of gocql, which observes how connecting goes.
type opened struct {
	*gocql.Session
	lock    sync.Mutex
	hosts   map[string]bool
	count   int
	each    int
	refused error
}

// ObserveConnect counts a connection, or keeps why the server refused it.
func (s *opened) ObserveConnect(one gocql.ObservedConnect) {
	s.lock.Lock()
	defer s.lock.Unlock()
	if one.Err == nil {
		s.hosts[one.Host.ConnectAddress().String()] = true
		s.count++
	} else if kindOfError(one.Err) == "bad_credentials" {
		s.refused = one.Err
	}
}

func connect(of *job) (session, error) {
	cluster, err := cluster(of)
	if err != nil {
		return nil, err
	}
	s := &opened{hosts: map[string]bool{}, each: cluster.NumConns}
	cluster.ConnectObserver = s
	if s.Session, err = cluster.CreateSession(); err != nil {
		s.lock.Lock()
		defer s.lock.Unlock()
		return nil, cmp.Or(s.refused, err)
	}
	return s, nil
}

// settle waits up to five seconds for what the driver opens by itself after the first connection to each node and the control connection.
func (s *opened) settle() {
	for begun := time.Now(); s.each > 1 && time.Since(begun) < 5*time.Second; time.Sleep(time.Millisecond) {
		s.lock.Lock()
		filled := s.count > s.each*len(s.hosts)
		s.lock.Unlock()
		if filled {
			return
		}
	}
}

// prepare has the driver prepare the statement as if to execute it: it has no other call for that.
func (s *opened) prepare(cql string) (types []gocql.TypeInfo, err error) {
	prepared := errors.New("prepared, and not to be executed")
	err = s.Bind(cql, func(info *gocql.QueryInfo) ([]any, error) {
		for _, one := range info.Args {
			types = append(types, one.TypeInfo)
		}
		return nil, prepared
	}).Exec()
	switch {
	case err == nil:
		err = errors.New("gocql prepares nothing but SELECT, INSERT, UPDATE, DELETE and BATCH; use operation = \"unprepared\"")
	case errors.Is(err, prepared):
		err = nil
	}
	return types, err
}

func (s *opened) execute(cql string, values []any, rows *rows) error {
	iter := s.Query(cql, values...).Iter()
	if len(rows.cells) == 0 {
		rows.came += iter.NumRows()
		return iter.Close()
	}
	if found := len(iter.Columns()); found > 0 && found != len(rows.cells) {
		return rows.wrongRow("a row of %d columns was expected, and one of %d came back", len(rows.cells), found)
	}
	for iter.Scan(rows.targets...) {
		rows.row()
	}
	return iter.Close()
}

func (s *opened) batch(cql string, values [][]any, logged bool) error {
	kind := gocql.UnloggedBatch
	if logged {
		kind = gocql.LoggedBatch
	}
	batch := s.NewBatch(kind)
	for _, row := range values {
		batch.Query(cql, row...)
	}
	return s.ExecuteBatch(batch)
}

// errorKinds are those of native_protocol_v4.spec section 9 that have a name of their own.
var errorKinds = map[int]string{
	0x000A: "protocol", 0x0100: "bad_credentials", 0x1000: "unavailable", 0x1001: "overloaded", 0x1002: "bootstrapping",
	0x1100: "server_timeout", 0x1200: "server_timeout", 0x2000: "syntax", 0x2100: "unauthorized", 0x2200: "invalid",
	0x2400: "already_exists", 0x2500: "unprepared",
}

// wrong is an error of kind wrong_row.
type wrong struct{ error }

func wrongRow(format string, arguments ...any) error { return wrong{fmt.Errorf(format, arguments...)} }

// kindOfError is one of drivers/PROTOCOL.md.
func kindOfError(err error) string {
	var row wrong
	var server gocql.RequestError
	var marshal gocql.MarshalError
	var unmarshal gocql.UnmarshalError
	var network net.Error
	is := func(of ...error) bool {
		return slices.ContainsFunc(of, func(one error) bool { return errors.Is(err, one) })
	}
	switch {
	case errors.As(err, &row):
		return "wrong_row"
	case errors.As(err, &server):
		return cmp.Or(errorKinds[server.Code()], "server")
	case is(gocql.ErrTimeoutNoResponse, gocql.ErrTooManyTimeouts):
		return "request_timeout"
	case is(gocql.ErrNoStreams):
		return "queue_full"
	case errors.As(err, &marshal), errors.As(err, &unmarshal):
		return "codec"
	case is(gocql.ErrConnectionClosed, gocql.ErrNoConnections, gocql.ErrSessionClosed, net.ErrClosed, io.EOF, io.ErrUnexpectedEOF),
		errors.As(err, &network):
		return "connection_lost"
	}
	return "other"
}
