package main

import (
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"testing"
	"time"

	"cqldyno/drivers/gocql/release"
	"cqldyno/drivers/gocql/worker"
	"cqldyno/drivers/gocql/workload"
)

func asked(own map[string]string) *worker.Options {
	return &worker.Options{Target: []string{"127.0.0.1:9142"}, Connections: 3, Consistency: "LOCAL_ONE", PageSize: 70, Own: own}
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
	with := func(key, value string) *release.ClusterConfig {
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
	of := func(config *release.ClusterConfig) string {
		return fmt.Sprintf("%T", config.PoolConfig.HostSelectionPolicy)
	}
	if of(with("routing", "round-robin")) == of(equal) {
		t.Error("routing")
	}
	if !release.IsFirst && of(with("shuffle", "on")) != of(equal) {
		t.Error("shuffle")
	}
	byDefault, _ := cluster(&worker.Options{Target: []string{"127.0.0.1"}, Default: true})
	if byDefault.NumConns != 2 || !byDefault.DefaultTimestamp || byDefault.Timeout == 0 || byDefault.PoolConfig.HostSelectionPolicy != nil {
		t.Errorf("%+v", byDefault)
	}
}

func TestAnOptionThatThereIsNotAndAValueThatIsNoneAreRefusedByName(t *testing.T) {
	for _, one := range []struct{ key, value, words string }{
		{"colour", "red", "gocql has no option `colour`: it has coalescing, routing"},
		{"routing", "random", "gocql's option `routing` was set to \"random\"; it takes token-aware|round-robin"},
		{"coalescing", "0", "gocql's option `coalescing` was set to \"0\"; it takes a whole number from 1"},
		{"coalescing", "5x", "it takes a whole number"},
		{"gogc", "-1", "it takes a whole number"},
	} {
		_, err := cluster(asked(map[string]string{one.key: one.value}))
		if err == nil || !strings.Contains(err.Error(), one.words) {
			t.Errorf("%v", err)
		}
	}
}

func TestEveryErrorHasItsKind(t *testing.T) {
	for err, kind := range map[error]string{
		release.ErrTimeoutNoResponse:                     "request_timeout",
		release.ErrNoStreams:                             "queue_full",
		fmt.Errorf("x: %w", release.ErrConnectionClosed): "connection_lost",
		release.ErrNoConnections:                         "connection_lost",
		&net.OpError{Op: "dial", Err: errors.New("x")}:   "connection_lost",
		io.EOF:                                   "connection_lost",
		fmt.Errorf("x: %w", io.ErrUnexpectedEOF): "connection_lost",
		release.MarshalError("x"):                "codec",
		release.UnmarshalError("x"):              "codec",
		errors.New("x"):                          "other",
		&worker.Error{Kind: "wrong_row", Err: errPrepared}: "wrong_row",
	} {
		var has *worker.Error
		if !errors.As(known(err), &has) || has.Kind != kind {
			t.Errorf("%v: %v instead of %s", err, has, kind)
		}
	}
}

func TestTheVersionIsThatOfTheBuild(t *testing.T) {
	info, err := gocql{}.Describe()
	// A test's executable may not say which modules it has.
	if err == nil && (info.Version == "" || strings.HasPrefix(info.Version, "v")) {
		t.Errorf("%+v", info)
	}
	for _, option := range info.Options {
		if option.Default != strings.Split(option.Values, "|")[0] && option.Tried == "" {
			t.Errorf("%+v", option)
		}
	}
}

func TestACellOfEveryKindIsATargetOfItsOwn(t *testing.T) {
	kinds := []string{"bigint", "int", "double", "boolean", "timestamp", "uuid", "text", "blob", "null"}
	var columns []workload.Column
	for _, kind := range kinds {
		columns = append(columns, workload.Column{Type: kind, PerKey: 1})
	}
	one := &statement{columns: workload.Generators(columns, 1)}
	seen := map[string]bool{}
	for _, target := range one.Targets(make([]workload.Value, len(kinds))) {
		seen[fmt.Sprintf("%T", target)] = true
	}
	if len(seen) != len(kinds) {
		t.Errorf("%v", seen)
	}
}
