package worker

import (
	"encoding/json"

	"cqldyno/drivers/gocql/workload"
)

// protocolVersion is that of drivers/PROTOCOL.md.
const protocolVersion = 3

type hello struct {
	Type     string    `json:"type"`
	Protocol int       `json:"protocol"`
	Driver   Info      `json:"driver"`
	Settings []Setting `json:"settings"`
	Build    build     `json:"build"`
	Turns    bool      `json:"turns"`
}

// build has no id, because the load generator is another than that of the workers in Rust.
type build struct {
	ID       string `json:"id"`
	Compiler string `json:"compiler"`
	Profile  string `json:"profile"`
}

type ready struct {
	Type     string    `json:"type"`
	Settings []Setting `json:"settings"`
	Threads  int       `json:"threads"`
}

type progress struct {
	Type   string `json:"type"`
	Issued uint64 `json:"issued"`
}

type end struct {
	Type                string  `json:"type"`
	WallNs              int64   `json:"wall_ns"`
	AtNs                int64   `json:"at_ns"`
	UserUs              int64   `json:"user_us"`
	SysUs               int64   `json:"sys_us"`
	VoluntarySwitches   int64   `json:"voluntary_switches"`
	InvoluntarySwitches int64   `json:"involuntary_switches"`
	MinorFaults         int64   `json:"minor_faults"`
	MajorFaults         int64   `json:"major_faults"`
	Steady              *steady `json:"steady,omitempty"`
}

// steady is the part of the window in which all slots were at work.
type steady struct {
	WallNs     int64  `json:"wall_ns"`
	CPUNs      int64  `json:"cpu_ns"`
	Statements uint64 `json:"statements"`
}

type done struct {
	Type              string                 `json:"type"`
	Issued            uint64                 `json:"issued"`
	Answered          uint64                 `json:"answered"`
	Verified          uint64                 `json:"verified"`
	IssuedByStatement map[string]uint64      `json:"issued_by_statement"`
	Errors            map[string]*errorCount `json:"errors"`
	BelowConcurrency  *uint64                `json:"below_concurrency,omitempty"`
	Allocations       *allocations           `json:"allocations,omitempty"`
	Threads           int                    `json:"threads"`
	Histogram         string                 `json:"histogram,omitempty"`
	Pace              *pace                  `json:"pace,omitempty"`
	PerSecond         []uint64               `json:"per_second,omitempty"`
	Trace             *traced                `json:"trace,omitempty"`
}

// allocations are those of the window by the runtime's records.
type allocations struct {
	Count uint64 `json:"count"`
	Bytes uint64 `json:"bytes"`
	Frees uint64 `json:"frees"`
}

type errorCount struct {
	Count uint64 `json:"count"`
	First string `json:"first"`
}

// traced is what became of single statements: tickets as runs of neighbours, each its first ticket and how many there are.
type traced struct {
	Failed         [][2]uint64 `json:"failed"`
	Unanswered     [][2]uint64 `json:"unanswered"`
	AnswersPer10ms []uint64    `json:"answers_per_10ms"`
}

type pace struct {
	Rate        uint64 `json:"rate"`
	LastedNs    int64  `json:"lasted_ns"`
	Response    string `json:"response"`
	Lateness    string `json:"lateness"`
	LateAfterNs int64  `json:"late_after_ns"`
	Late        uint64 `json:"late"`
	LatestNs    int64  `json:"latest_ns"`
}

// failure ends the cell, with a full sentence.
type failure struct {
	Type    string `json:"type"`
	Kind    string `json:"kind"`
	Message string `json:"message"`
}

// job is what the parent asks for.
type job struct {
	Mode        string            `json:"mode"`
	Scenario    workload.Scenario `json:"scenario"`
	Count       uint64            `json:"count"`
	Turns       uint64            `json:"turns"`
	Warmup      uint64            `json:"warmup"`
	Concurrency int               `json:"concurrency"`
	Rate        *uint64           `json:"rate"`
	Seed        uint64            `json:"seed"`
	Runtime     struct {
		Kind    string `json:"kind"`
		Workers int    `json:"workers"`
	} `json:"runtime"`
	Target      []string `json:"target"`
	Credentials struct {
		User     string `json:"user"`
		Password string `json:"password"`
	} `json:"credentials"`
	TLS              *TLS              `json:"tls"`
	Datacenter       string            `json:"datacenter"`
	Connections      int               `json:"connections"`
	Consistency      string            `json:"consistency"`
	PageSize         int               `json:"page_size"`
	RequestTimeoutMs int64             `json:"request_timeout_ms"`
	Settings         string            `json:"settings"`
	Options          map[string]string `json:"options"`
	ProgressMs       int64             `json:"progress_ms"`
	Trace            *struct {
		PatienceMs uint64 `json:"patience_ms"`
	} `json:"trace"`
}

// message is one of the parent's; job is nil but for a job.
type message struct {
	kind string
	job  *job
}

func decode(line []byte) (message, error) {
	var head struct {
		Type string `json:"type"`
	}
	if err := json.Unmarshal(line, &head); err != nil {
		return message{}, err
	}
	if head.Type != "job" {
		return message{kind: head.Type}, nil
	}
	asked := &job{Turns: 1}
	return message{"job", asked}, json.Unmarshal(line, asked)
}
