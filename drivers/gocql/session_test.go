package main

import (
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/apache/cassandra-gocql-driver/v2"
)

func asked(own map[string]string) *job {
	return &job{Target: []string{"127.0.0.1:9142"}, Connections: 3, Consistency: "LOCAL_ONE", PageSize: 70, Options: own}
}

func TestTheEqualSettingsAreSetAndEveryOptionMovesItsOwn(t *testing.T) {
	equal, err := cluster(asked(nil))
	if err != nil {
		t.Fatal(err)
	}
	if equal.ProtoVersion != 4 || equal.NumConns != 3 || equal.PageSize != 70 || equal.Timeout != 0 || equal.DefaultTimestamp ||
		equal.Port != 9142 || equal.RetryPolicy != nil || equal.Compressor != nil || equal.Consistency.String() != "LOCAL_ONE" {
		t.Errorf("%+v", equal)
	}
	with := func(key, value string) *gocql.ClusterConfig {
		config, err := cluster(asked(map[string]string{key: value}))
		if err != nil {
			t.Fatal(err)
		}
		return config
	}
	if wait := with("coalescing", "off").WriteCoalesceWaitTime; wait != 0 {
		t.Errorf("%v", wait)
	}
	if wait := with("coalescing", "50").WriteCoalesceWaitTime; wait != 50*time.Microsecond {
		t.Errorf("%v", wait)
	}
	if !with("metadata", "each").DisableSkipMetadata || with("metadata", "cached").DisableSkipMetadata {
		t.Error("metadata")
	}
	if !with("timestamps", "client").DefaultTimestamp {
		t.Error("timestamps")
	}
	of := func(config *gocql.ClusterConfig) string {
		return fmt.Sprintf("%T", config.PoolConfig.HostSelectionPolicy)
	}
	if of(with("routing", "round-robin")) == of(equal) {
		t.Error("routing")
	}
	if !isFirst && of(with("shuffle", "on")) != of(equal) {
		t.Error("shuffle")
	}
	byDefault, _ := cluster(&job{Target: []string{"127.0.0.1"}, Settings: "default"})
	if byDefault.NumConns != 2 || !byDefault.DefaultTimestamp || byDefault.Timeout == 0 || byDefault.PoolConfig.HostSelectionPolicy != nil {
		t.Errorf("%+v", byDefault)
	}
}

func TestSettingsSayWhatIsAskedAndWhatIsTheDriversOwn(t *testing.T) {
	said := func(of *job, name string) any {
		for _, one := range settings(of) {
			if one["name"] == name {
				return one["value"]
			}
		}
		return nil
	}
	own := asked(map[string]string{"routing": "round-robin", "timestamps": "client"})
	own.Datacenter, own.RequestTimeoutMs = "dc1", 1500
	byDefault := asked(nil)
	byDefault.Settings = "default"
	for _, one := range []struct {
		of          *job
		name, value string
	}{
		{asked(nil), "routing", "token-aware"}, {asked(nil), "connections", "3 per node"}, {asked(nil), "request timeout", "none"},
		{own, "routing", "round-robin in dc1"}, {own, "timestamps", "client"}, {own, "request timeout", "1.5s"},
		{byDefault, "consistency", "QUORUM"}, {byDefault, "routing", "round robin"}, {byDefault, "page size", "70"},
	} {
		if found := said(one.of, one.name); found != one.value {
			t.Errorf("%s: %v instead of %s", one.name, found, one.value)
		}
	}
}

func TestAnOptionThatThereIsNotAndAValueThatIsNoneAreRefusedByName(t *testing.T) {
	for _, one := range []struct{ key, value, words string }{
		{"colour", "red", "gocql has no option `colour`: it has coalescing, routing"},
		{"routing", "random", "gocql's option `routing` was set to \"random\"; it takes token-aware|round-robin"},
		{"coalescing", "0", "gocql's option `coalescing` was set to \"0\"; it takes off|MICROSECONDS"},
		{"coalescing", "5x", "a whole number from 1 to 999999"},
		{"coalescing", "MICROSECONDS", "a whole number"},
		{"gogc", "-1", "a whole number"},
	} {
		_, err := cluster(asked(map[string]string{one.key: one.value}))
		if err == nil || !strings.Contains(err.Error(), one.words) {
			t.Errorf("%v", err)
		}
	}
}

func TestEveryErrorHasItsKind(t *testing.T) {
	for err, kind := range map[error]string{
		gocql.ErrTimeoutNoResponse:                     "request_timeout",
		gocql.ErrNoStreams:                             "queue_full",
		fmt.Errorf("x: %w", gocql.ErrConnectionClosed): "connection_lost",
		gocql.ErrNoConnections:                         "connection_lost",
		&net.OpError{Op: "dial", Err: errors.New("x")}: "connection_lost",
		io.EOF:                                   "connection_lost",
		fmt.Errorf("x: %w", io.ErrUnexpectedEOF): "connection_lost",
		gocql.MarshalError("x"):                  "codec",
		gocql.UnmarshalError("x"):                "codec",
		errors.New("x"):                          "other",
		fmt.Errorf("x: %w", wrongRow("y")):       "wrong_row",
	} {
		if found := kindOfError(err); found != kind {
			t.Errorf("%v: %s instead of %s", err, found, kind)
		}
	}
}

func TestTheVersionIsThatOfTheBuild(t *testing.T) {
	// A test's executable may not say which modules it has.
	if info, err := describe(); err == nil && (info["version"] == "" || strings.HasPrefix(info["version"].(string), "v")) {
		t.Errorf("%+v", info)
	}
	for _, one := range options {
		if tried, is := one["tried"]; one["default"] != strings.Split(one["values"].(string), "|")[0] && (!is || tried == "") {
			t.Errorf("%+v", one)
		}
	}
}
