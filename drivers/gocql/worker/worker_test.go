package worker

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"reflect"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"cqldyno/drivers/gocql/workload"

	"github.com/HdrHistogram/hdrhistogram-go"
)

// A driver without a server: it answers every SELECT with the row that a vector would have, or as `how` says.
type fake struct{}

const behaviour = "CQLDYNO_FAKE_DRIVER"

func TestMain(m *testing.M) {
	if os.Getenv(behaviour) != "" {
		Main(fake{})
		os.Exit(0)
	}
	os.Exit(m.Run())
}

func (fake) Describe() (Info, error) {
	if os.Getenv(behaviour) == "undescribed" {
		return Info{}, errors.New("there is no library")
	}
	return Info{Name: "fake", Version: "1.0.0", Libraries: []Library{Go()}, Capabilities: []string{"batch"}}, nil
}

func (fake) Settings(of *Options) []Setting { return Equal(of) }

func (fake) Connect(of *Options) (Session, error) {
	fmt.Println("a library that prints")
	switch os.Getenv(behaviour) {
	case "refused":
		return nil, &Error{"bad_credentials", errors.New("user and password do not match")}
	case "panics-at-connect":
		panic("no connection")
	}
	return fake{}, of.Check("fake", nil)
}

func (fake) Value(workload.Value) any { return nil }

func (fake) Close() {}

func (fake) Prepare(cql string, columns []workload.Generator) (Statement, error) {
	return &fakeStatement{how: os.Getenv(behaviour), columns: columns}, nil
}

func (fake) Unprepared(cql string, columns []workload.Generator) Statement {
	return &fakeStatement{how: os.Getenv(behaviour), columns: columns}
}

const mebibyte = 1 << 20

// held holds the last allocation of a driver that allocates a mebibyte per statement.
var held atomic.Pointer[[mebibyte]byte]

type fakeStatement struct {
	how      string
	columns  []workload.Generator
	executed atomic.Int64
}

func (s *fakeStatement) Targets(cells []workload.Value) []any {
	targets := make([]any, len(cells))
	for i := range cells {
		targets[i] = &cells[i]
	}
	return targets
}

func (s *fakeStatement) Execute(values []any, rows *Rows) error {
	nth := s.executed.Add(1)
	if nth > 5 {
		switch s.how {
		case "panics":
			panic("a thread of the driver")
		case "fails":
			return &Error{"unavailable", errors.New("no replica is alive")}
		case "slow":
			time.Sleep(time.Millisecond)
		}
	}
	if s.how == "allocates" {
		held.Store(new([mebibyte]byte))
	}
	if s.how == "hangs-at-times" {
		switch values[0].(int64) % 10 {
		case 3:
			return &Error{"unavailable", errors.New("no replica is alive")}
		case 7:
			select {}
		}
	}
	if !rows.Expected() {
		if s.how == "returns-rows" {
			rows.Came(1)
		}
		return nil
	}
	if s.how == "no-rows" {
		return nil
	}
	key := uint64(values[0].(int64))
	if s.how == "other-keys" {
		key++
	}
	for i, target := range rows.Targets {
		s.columns[i].Put(key, target.(*workload.Value))
	}
	if s.how == "null" {
		rows.Targets[2].(*workload.Value).Kind = workload.Null
	}
	rows.Row()
	if s.how == "twice" {
		rows.Row()
	}
	return nil
}

func (s *fakeStatement) Batch([][]any, bool) error { return nil }

// parent is what speaks with a worker.
type parent struct {
	t       *testing.T
	command *exec.Cmd
	input   io.WriteCloser
	lines   *bufio.Scanner
}

func start(t *testing.T, how string) *parent {
	command := exec.Command(os.Args[0])
	command.Env = append(os.Environ(), behaviour+"="+how)
	input, _ := command.StdinPipe()
	output, _ := command.StdoutPipe()
	if err := command.Start(); err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewScanner(output)
	lines.Buffer(nil, maxLine)
	return &parent{t, command, input, lines}
}

func (p *parent) say(line string) { fmt.Fprintln(p.input, line) }

// next is the worker's next message but progress.
func (p *parent) next() map[string]any {
	for p.lines.Scan() {
		var message map[string]any
		if err := json.Unmarshal(p.lines.Bytes(), &message); err != nil {
			p.t.Fatalf("%q: %v", p.lines.Text(), err)
		}
		if message["type"] != "progress" {
			return message
		}
	}
	return nil
}

func (p *parent) expect(kind string) map[string]any {
	p.t.Helper()
	message := p.next()
	if message["type"] != kind {
		p.t.Fatalf("%s was expected, and this came: %v", kind, message)
	}
	return message
}

// ends says with which code the worker ended.
func (p *parent) ends() int {
	for p.lines.Scan() {
	}
	_ = p.command.Wait()
	return p.command.ProcessState.ExitCode()
}

const reads = `{"name":"reads","about":"","schema":[],"statement":[{"name":"select","cql":"SELECT","weight":1,"values":[{"type":"bigint"}],
"expect":{"columns":[{"type":"bigint"},{"type":"bigint","times":2},{"type":"text","length":5}]}},
{"name":"insert","cql":"INSERT","weight":1,"values":[{"type":"bigint"}]}]}`

// jobWith is one with these fields instead of the usual ones.
func jobWith(fields string) string {
	usual := map[string]any{
		"type": "job", "mode": "measure", "count": 100, "turns": 1, "warmup": 4, "concurrency": 8, "seed": 7,
		"runtime": map[string]any{"kind": "multi", "workers": 2}, "target": []string{"127.0.0.1:9042"}, "connections": 1,
		"consistency": "LOCAL_ONE", "page_size": 5000, "settings": "equal", "progress_ms": 500, "scenario": json.RawMessage(reads),
	}
	if err := json.Unmarshal([]byte("{"+fields+"}"), &usual); err != nil {
		panic(err)
	}
	line, _ := json.Marshal(usual)
	return string(line)
}

// turn is one turn from go to done.
func (p *parent) turn() map[string]any {
	p.t.Helper()
	p.say(`{"type":"go"}`)
	end := p.expect("end")
	if end["wall_ns"].(float64) <= 0 || end["at_ns"].(float64) <= 0 {
		p.t.Errorf("%v", end)
	}
	p.say(`{"type":"ack"}`)
	return p.expect("done")
}

func TestEveryTurnHasItsShareAndAllTogetherHaveEveryTicketOnce(t *testing.T) {
	p := start(t, "honest")
	hello := p.expect("hello")
	if hello["protocol"].(float64) != 2 || hello["turns"] != true {
		t.Errorf("%v", hello)
	}
	p.say(jobWith(`"turns":3`))
	if ready := p.expect("ready"); ready["threads"].(float64) < 1 || len(ready["settings"].([]any)) != 11 {
		t.Errorf("%v", ready)
	}
	by := map[string]float64{}
	for nth, count := range []float64{33, 33, 34} {
		done := p.turn()
		if done["issued"] != count || done["answered"] != count || done["verified"] != count {
			t.Errorf("turn %d: %v", nth, done)
		}
		for name, issued := range done["issued_by_statement"].(map[string]any) {
			by[name] += issued.(float64)
		}
		histogram, err := hdrhistogram.Decode([]byte(done["histogram"].(string)))
		if err != nil || histogram.TotalCount() != int64(count) || done["per_second"].([]any)[0] != count {
			t.Errorf("turn %d: %v %v", nth, err, done)
		}
	}
	if by["select"] != 50 || by["insert"] != 50 {
		t.Errorf("%v", by)
	}
	if code := p.ends(); code != 0 {
		t.Errorf("code %d", code)
	}
}

func TestAllocationsOfTheWindowAreToldIfTheyAreAskedFor(t *testing.T) {
	allocated := func(how string) map[string]any {
		p := start(t, how)
		p.expect("hello")
		p.say(jobWith(`"turns":2`))
		p.expect("ready")
		p.turn()
		told, _ := p.turn()["allocations"].(map[string]any)
		return told
	}
	if told := allocated("allocates"); told != nil {
		t.Errorf("they were not asked for: %v", told)
	}
	t.Setenv(countsAllocations, "file")
	honest, allocates := allocated("honest"), allocated("allocates")
	more := allocates["bytes"].(float64) - honest["bytes"].(float64)
	if more < 49*mebibyte || more > 60*mebibyte {
		t.Errorf("50 statements allocate a MiB each: %v %v", honest, allocates)
	}
	if count := allocates["count"].(float64); count < 50 || allocates["frees"].(float64) < 1 {
		t.Errorf("%v", allocates)
	}
}

func TestStopEndsATurnEarlyAndALateOneIsIgnored(t *testing.T) {
	p := start(t, "slow")
	p.expect("hello")
	p.say(jobWith(`"count":1000000`))
	p.expect("ready")
	p.say(`{"type":"go"}`)
	time.Sleep(20 * time.Millisecond)
	p.say(`{"type":"stop"}`)
	p.expect("end")
	p.say(`{"type":"stop"}`)
	p.say(`{"type":"ack"}`)
	done := p.expect("done")
	if issued := done["issued"].(float64); issued < 8 || issued >= 1_000_000 || done["answered"] != issued || done["verified"] != issued {
		t.Errorf("%v", done)
	}
}

func TestARateIsKeptAndItsHistogramsHaveEveryStatement(t *testing.T) {
	p := start(t, "honest")
	p.expect("hello")
	p.say(jobWith(`"rate":2000`))
	p.expect("ready")
	done := p.turn()
	pace := done["pace"].(map[string]any)
	// The last of 100 statements is to start after 99 two-thousandths of a second.
	if pace["rate"].(float64) != 2000 || pace["lasted_ns"].(float64) < 49e6 {
		t.Errorf("%v", pace)
	}
	for _, name := range []string{"response", "lateness"} {
		histogram, err := hdrhistogram.Decode([]byte(pace[name].(string)))
		if err != nil || histogram.TotalCount() != 100 {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// ticketsOf are those of 1,000 whose keys end with this digit, as runs.
func ticketsOf(t *testing.T, digit uint64) [][2]uint64 {
	t.Helper()
	var scenario workload.Scenario
	if err := json.Unmarshal([]byte(reads), &scenario); err != nil {
		t.Fatal(err)
	}
	of, err := workload.New(&scenario, 1000, 0, 7)
	if err != nil {
		t.Fatal(err)
	}
	known, all := &tracer{states: make([]state, 1000)}, &gauge{count: 1000}
	all.next.Store(1000)
	for ticket := range known.states {
		if of.Issue(uint64(ticket)).Key%10 == digit {
			known.states[ticket] = failed
		}
	}
	return known.runs(failed, all)
}

func TestAWindowWithStatementsThatHangEndsAfterItsPatienceAndEveryTicketIsAccountedFor(t *testing.T) {
	p := start(t, "hangs-at-times")
	p.expect("hello")
	p.say(jobWith(`"count":1000,"warmup":0,"concurrency":128,"rate":20000,"trace":{"patience_ms":2000}`))
	p.expect("ready")
	p.say(`{"type":"go"}`)
	waited := false
	for p.lines.Scan() && !strings.Contains(p.lines.Text(), `"end"`) {
		waited = waited || strings.Contains(p.lines.Text(), `"issued":1000`)
	}
	if !waited {
		t.Error("the worker must tell that it is there while it waits")
	}
	p.say(`{"type":"ack"}`)
	var told done
	if !p.lines.Scan() || json.Unmarshal(p.lines.Bytes(), &told) != nil || told.Trace == nil {
		t.Fatalf("%s", p.lines.Bytes())
	}
	if told.Issued != 1000 || told.Answered != 900 || told.Verified != 800 || told.Errors["unavailable"].Count != 100 ||
		told.IssuedByStatement["select"] != 500 || told.IssuedByStatement["insert"] != 500 {
		t.Errorf("%+v", told)
	}
	if !reflect.DeepEqual(told.Trace.Failed, ticketsOf(t, 3)) || !reflect.DeepEqual(told.Trace.Unanswered, ticketsOf(t, 7)) {
		t.Errorf("%+v", told.Trace)
	}
	sum := uint64(0)
	for _, count := range told.Trace.AnswersPer10ms {
		sum += count
	}
	response, err := hdrhistogram.Decode([]byte(told.Pace.Response))
	if sum != 800 || err != nil || response.TotalCount() != 900 {
		t.Errorf("%d right answers, %v", sum, err)
	}
	if code := p.ends(); code != 0 {
		t.Errorf("code %d", code)
	}
}

func TestStatementsThatFindEverySlotStuckAreNotIssued(t *testing.T) {
	for _, stops := range []bool{false, true} {
		p := start(t, "hangs-at-times")
		p.expect("hello")
		rate := 20000
		if stops {
			// It would take more than a quarter of an hour.
			rate = 1
		}
		p.say(jobWith(fmt.Sprintf(`"count":1000,"warmup":0,"concurrency":4,"rate":%d,"trace":{"patience_ms":1000}`, rate)))
		p.expect("ready")
		p.say(`{"type":"go"}`)
		if stops {
			p.say(`{"type":"stop"}`)
		}
		p.expect("end")
		p.say(`{"type":"ack"}`)
		done := p.expect("done")
		told := done["trace"].(map[string]any)
		unanswered := 0.0
		for _, run := range told["unanswered"].([]any) {
			unanswered += run.([]any)[1].(float64)
		}
		issued := done["issued"].(float64)
		if issued >= 1000 || issued != done["answered"].(float64)+unanswered || !stops && unanswered != 4 {
			t.Errorf("%v", done)
		}
		if code := p.ends(); code != 0 {
			t.Errorf("code %d", code)
		}
	}
}

func TestNoTraceIsToldUnasked(t *testing.T) {
	p := start(t, "honest")
	p.expect("hello")
	p.say(jobWith(`"turns":2,"rate":20000`))
	p.expect("ready")
	if _, told := p.turn()["trace"]; told {
		t.Error("nobody asked for a trace")
	}
	p.turn()
	// Asked for, the tickets of a later turn are its own.
	p = start(t, "fails")
	p.expect("hello")
	p.say(jobWith(`"turns":2,"warmup":0,"rate":20000,"trace":{"patience_ms":600000}`))
	p.expect("ready")
	p.turn()
	told := p.turn()["trace"].(map[string]any)
	if !reflect.DeepEqual(told["failed"], []any{[]any{50.0, 50.0}}) || len(told["unanswered"].([]any)) != 0 {
		t.Errorf("%v", told)
	}
}

func TestNoWayToMisbehaveIsVerified(t *testing.T) {
	for _, one := range []struct{ how, words string }{
		{"other-keys", "statement select: in the row of key"},
		{"null", "column 3 should be text"},
		{"no-rows", "1 row was expected, and no row came back"},
		{"twice", "1 row was expected, and 2 rows came back"},
		{"returns-rows", "no row was expected, and 1 row came back"},
	} {
		p := start(t, one.how)
		p.expect("hello")
		p.say(jobWith(`"warmup":0`))
		p.expect("ready")
		done := p.turn()
		wrong := done["errors"].(map[string]any)["wrong_row"].(map[string]any)
		if wrong["count"].(float64) != 50 || done["verified"].(float64) != 50 || !strings.Contains(wrong["first"].(string), one.words) {
			t.Errorf("%s: %v", one.how, done)
		}
	}
	p := start(t, "fails")
	p.expect("hello")
	p.say(jobWith(`"warmup":0`))
	p.expect("ready")
	done := p.turn()
	failed := done["errors"].(map[string]any)["unavailable"].(map[string]any)
	if failed["count"].(float64) != 90 || done["verified"].(float64) != 10 || failed["first"] != "no replica is alive" {
		t.Errorf("%v", done)
	}
}

func TestTheRightRowsInAnotherOrderAreToldFromWrongOnes(t *testing.T) {
	var columns []workload.Column
	if err := json.Unmarshal([]byte(`[{"type":"bigint"},{"type":"text","length":5}]`), &columns); err != nil {
		t.Fatal(err)
	}
	expect := workload.Generators(columns, 4)
	for _, one := range []struct {
		numbers []uint64
		words   string
	}{
		{[]uint64{28, 29, 30, 31}, ""},
		{[]uint64{31, 30, 29, 28}, "statement day: the 4 rows of key 7 came in the reverse order of their places; add ORDER BY"},
		{[]uint64{28, 30, 31, 29}, "came in another order than that of their places: the first that differs is row 2, which should be row 3"},
		{[]uint64{28, 30, 31, 31}, "statement day: in row 2 of the 4 of key 7 column 1 should be bigint 29, and bigint 30 was found"},
		{[]uint64{31, 30, 29}, "4 rows were expected, and 3 rows came back"},
	} {
		rows := newRows("day", nil, expect)
		rows.begin(7, expecting(t, `{"rows":4}`))
		for _, number := range one.numbers {
			for column := range expect {
				expect[column].Put(number, &rows.cells[column])
			}
			rows.Row()
		}
		err := rows.finish()
		if (err == nil) != (one.words == "") || err != nil && (!strings.Contains(err.Error(), one.words) || kindOf(err) != "wrong_row") {
			t.Errorf("%v: %v", one.numbers, err)
		}
	}
}

// expecting is a statement with this expectation.
func expecting(t *testing.T, expect string) *workload.Statement {
	t.Helper()
	var statement workload.Statement
	if err := json.Unmarshal([]byte(`{"expect":`+expect+`}`), &statement); err != nil {
		t.Fatal(err)
	}
	return &statement
}

func TestAnAnswerMayBeAPartOfWhatAKeyHasAndInTheOtherOrder(t *testing.T) {
	expect := workload.Generators([]workload.Column{{Type: "bigint", Times: 1, By: "row", PerKey: 1}}, 20)
	for _, one := range []struct {
		expect  string
		numbers []uint64
		right   bool
	}{
		{`{"rows":2,"stored":20,"from":5}`, []uint64{145, 146}, true},
		{`{"rows":2,"stored":20,"from":5}`, []uint64{146, 145}, false},
		{`{"rows":2,"stored":20,"from":18,"descending":true}`, []uint64{159, 158}, true},
		{`{"rows":1,"stored":20,"from":19}`, []uint64{159}, true},
		{`{"rows":1,"stored":20}`, []uint64{7}, false},
		{`{"rows":3,"stored":3,"check":"content"}`, []uint64{22, 23, 21}, true},
		{`{"rows":3,"stored":3,"check":"content"}`, []uint64{23, 22, 21}, true},
		{`{"rows":3,"stored":3,"check":"content"}`, []uint64{22, 22, 21}, false},
		{`{"rows":2,"stored":20,"check":"count"}`, []uint64{1, 2}, true},
		{`{"rows":2,"stored":20,"check":"count"}`, []uint64{1}, false},
	} {
		rows := newRows("day", nil, expect)
		rows.begin(7, expecting(t, one.expect))
		for _, number := range one.numbers {
			expect[0].Put(number, &rows.cells[0])
			rows.Row()
		}
		if err := rows.finish(); (err == nil) != one.right {
			t.Errorf("%+v: %v", one, err)
		}
	}
}

func TestWhatCannotBeDoneIsAFailureWithItsKindAndASentence(t *testing.T) {
	for _, one := range []struct{ how, job, kind, words string }{
		{"undescribed", "", "describe", "there is no library"},
		{"refused", jobWith(``), "bad_credentials", "fake could not connect to 127.0.0.1:9042: user and password do not match"},
		{"panics-at-connect", jobWith(``), "crash", "the driver panicked: no connection"},
		{"panics", jobWith(``), "crash", "the driver panicked while it executed a statement: a thread of the driver"},
		{"fails", jobWith(`"warmup":50`), "warm_up", "the first of kind unavailable: no replica is alive"},
		{"honest", jobWith(`"mode":"load"`), "job", `the mode "load" was asked for, which is for floor`},
		{"honest", jobWith(`"concurrency":0`), "job", "a concurrency of 0 was asked for"},
		{"honest", jobWith(`"rate":0`), "job", "a rate of 0 statements per second"},
		{"honest", jobWith(`"turns":0`), "job", "0 turns were asked for"},
		{"honest", jobWith(`"trace":{"patience_ms":5}`), "job", "the job has neither a rate nor the mode read_back"},
		{"honest", jobWith(`"rate":1000,"count":1000001,"trace":{"patience_ms":5}`), "job", "1000001 statements were to be traced"},
		{"honest", jobWith(`"rate":1,"trace":{"patience_ms":3600000}`), "job", "a window of 3700 s with its patience was to be traced"},
		{"honest", strings.Replace(jobWith(`"rate":1,"trace":{"patience_ms":5}`), `"cql":"SELECT"`, `"cql":"SELECT","operation":"connect"`, 1),
			"job", "opens a session of its own, so it cannot be traced"},
		{"honest", jobWith(`"options":{"x":"y"}`), "connect", "fake has no option `x`"},
		{"honest", jobWith(`"count":1`), "job", "its statement select would be none of them"},
		{"honest", strings.Replace(jobWith(``), `"name":"reads"`, `"name":"reads","submit":"spawn"`, 1), "job", "submitted as spawn"},
		{"honest", strings.Replace(jobWith(``), `"cql":"SELECT"`, `"cql":"SELECT","operation":"prepare"`, 1), "job",
			"fake does not declare the capability prepare"},
		{"honest", `{"type":"go"}`, "protocol", "`job` was expected from the parent, and `go` came"},
		{"honest", "hello", "protocol", `the line "hello" was found`},
	} {
		p := start(t, one.how)
		message := p.next()
		if one.job != "" && message["type"] == "hello" {
			p.say(one.job)
			if message = p.next(); message["type"] == "ready" {
				p.say(`{"type":"go"}`)
				message = p.next()
			}
		}
		said, _ := message["message"].(string)
		if message["type"] != "failed" || message["kind"] != one.kind || !strings.Contains(said, one.words) {
			t.Errorf("%s: %v instead of %s: %s", one.how, message, one.kind, one.words)
		}
		if code := p.ends(); code != exitFailed {
			t.Errorf("%s: code %d", one.how, code)
		}
	}
}

func TestAWorkerEndsWithoutItsParent(t *testing.T) {
	p := start(t, "honest")
	p.expect("hello")
	p.say(jobWith(``))
	p.expect("ready")
	p.input.Close()
	if code := p.ends(); code != exitAbandoned {
		t.Errorf("code %d", code)
	}
}
