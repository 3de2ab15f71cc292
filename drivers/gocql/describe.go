package main

import (
	"fmt"
	"strings"

	"cqldyno/drivers/gocql/release"
	"cqldyno/drivers/gocql/worker"
)

// gocql is the driver, at the release that it was built with.
type gocql struct{}

// version is its release; a fork's has a hyphen and the owner at its end.
var version, versionError = worker.VersionOf(release.Module)

// isFork says whether this is ScyllaDB's.
var isFork = strings.HasSuffix(version, "-scylladb")

// either is the first default, or that of the fork.
func either(own, fork string) string {
	if isFork {
		return fork
	}
	return own
}

var options = []worker.Option{
	{Name: "coalescing", Values: "off|MICROSECONDS", Default: "200", Tried: "50",
		About: "How long it waits for further requests before it writes, or that each is written at once."},
	{Name: "routing", Values: "token-aware|round-robin", Default: "token-aware",
		About: "Sends each statement to a replica of its row, or to each node in turn."},
	{Name: "metadata", Values: "cached|each", Default: either("cached", "each"),
		About: "Keeps the columns' names and types of its PREPARE, or asks for them with every SELECT."},
	{Name: "timestamps", Values: "server|client", Default: "server",
		About: "Leaves the time of a write to the server, or sends one of the client's own with every statement."},
	{Name: "gogc", Values: "PERCENT", Default: "100", Tried: "400",
		About: "How much the heap grows before Go collects garbage, as the environment variable GOGC says."},
}

// The module before Apache's knows one replica without a keyspace of the session, and the fork always shuffles.
func init() {
	if !release.IsFirst {
		options = append(options, worker.Option{
			Name: "shuffle", Values: "off|on", Default: "off",
			About: "Sends each statement to the first of its row's replicas in the ring's order, or to one by chance.",
		})
	}
}

func (gocql) Describe() (worker.Info, error) {
	info := worker.Info{
		Name:      "gocql",
		Version:   version,
		Libraries: []worker.Library{worker.Go()},
		Capabilities: []string{
			"request_timeout", "paging", "reprepare", "reconnect", "control_connection", "notices_close", "closes_sessions", "credentials",
			"tls", "batch", "unprepared", "connect",
		},
		Caveats: []string{
			"Go's garbage collector is in its CPU time and in its memory; `gogc` says how often it runs.",
			"Its slots are goroutines; `current` and `multi:N` are the threads that may run Go code at once (GOMAXPROCS). Go adds threads " +
				"that wait in system calls, and one that watches.",
			"It takes values as `any`: binding a number, text or blob allocates once each.",
			"It waits up to 200 us for further requests before it writes, unless `coalescing` is set.",
			either(
				"It skips the result's metadata unless `metadata=each` is set, so its answers to a SELECT are shorter.",
				"It asks for the result's metadata with every SELECT unless `metadata=cached` is set, so its answers are longer.",
			),
			"It has no call for preparing alone: it prepares what it executes, and keeps 1,000 statements. So unprepared statements are " +
				"prepared, too, and the scenario prepare is not possible.",
			"It sends OPTIONS on each connection every five seconds, which cannot be set.",
			"With TLS it writes each request at once, whatever `coalescing` says.",
			"Its time limit per statement holds for its own queries at connecting, too.",
		},
		Options: options,
	}
	// A marker for a tuple takes its fields one by one, and the statement then has more values than markers.
	info.LacksTypes = []string{"tuple"}
	if release.IsFirst {
		info.LacksTypes = append(info.LacksTypes, "vector")
	}
	switch {
	case isFork:
		info.Caveats = append(info.Caveats, "It takes a row's replicas in a random order.")
	case !release.IsFirst:
		info.Caveats = append(info.Caveats, "It takes a row's replicas in the ring's order unless `shuffle=on` is set.")
	default:
		info.Caveats = append(info.Caveats,
			"For a keyspace that the session does not name, it routes to the first replica of the token alone.")
	}
	return info, versionError
}

func (gocql) Settings(of *worker.Options) []worker.Setting {
	var own []worker.Setting
	set := func(name, value string) { own = append(own, worker.Setting{Name: name, Value: value, AsAsked: true}) }
	if of.Default {
		set("protocol version", "the highest that the server knows")
		set("consistency", "QUORUM")
		set("routing", "round robin")
		set("connections", "2 per node")
		set("request timeout", "11s")
		set("timestamps", "client")
	}
	for _, name := range []string{"routing", "timestamps"} {
		if value, asked := of.Own[name]; asked {
			if name == "routing" && of.Datacenter != "" {
				value += " in " + of.Datacenter
			}
			set(name, value)
		}
	}
	return worker.Equal(of, own...)
}

// number is the value of an option as a whole number from 1 on, if it is set to one.
func number(of *worker.Options, name string) (int, bool, error) {
	text, asked := of.Own[name]
	if !asked || text == "off" {
		return 0, false, nil
	}
	var value int
	if _, err := fmt.Sscanf(text+"\n", "%d\n", &value); err != nil || value < 1 || value > 1_000_000 {
		return 0, false, fmt.Errorf("gocql's option `%s` was set to %q; it takes a whole number from 1 to 1000000", name, text)
	}
	return value, true, nil
}
